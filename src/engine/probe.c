/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/agree.h"
#include "base/clock.h"
#include "spec/units.h"

/* A rank's part in units of UNIT elements: one run, or as many runs with gaps in between. */
enum { UNIT = 8, UNITS_CONTIGUOUS = 65536, UNITS_SCATTERED = 16384, LOOKS = 256, ATTEMPTS = 5 };
#define UNIT_BYTES (UNIT * sizeof(uint64_t))
#define ALLOWED_NS INT64_C(250000000)
#define PAUSE_NS INT64_C(1000000)
#define NATIVE 0.9   /* at least so much must leave by itself */
#define BLOCKING 0.5 /* and less than so much while the call is made */

struct shape {
    uint64_t units, first, stride; /* place of unit i in the file: first + i * stride, in units */
    struct tt_variable variable;
    struct tt_block block;
    uint64_t *data;
};

/* What was seen of the attempts so far; by all ranks after they have compared. */
struct sight {
    double
        in_submit;   /* fraction that had arrived when submit returned, the least of the attempts */
    double fraction; /* that arrived without further calls, the least */
    double seconds;  /* until then, the most */
};

static int make_shape(struct shape *s, bool contiguous, int rank, int size, struct tt_error *e)
{
    uint64_t start, stride, block = UNIT, elements;

    s->units = contiguous ? UNITS_CONTIGUOUS : UNITS_SCATTERED;
    s->first = contiguous ? (uint64_t)rank * s->units : (uint64_t)rank;
    s->stride = contiguous ? 1 : (uint64_t)size + 1; /* a gap also with one rank */
    s->variable = (struct tt_variable){.path = "probe", .element = &tt_element_u64, .ndims = 1};
    s->variable.dims[0] = (contiguous ? (uint64_t)size : (uint64_t)size + 1) * s->units * UNIT;
    elements = s->units * UNIT;
    s->data = aligned_alloc(4096, elements * sizeof *s->data); /* as a staging buffer is */
    if (!s->data)
        return tt_fail_nomem(e, "the probe of nonblocking calls");
    for (uint64_t i = 0; i < elements; i++)
        s->data[i] = ((uint64_t)rank << 32 | i) * UINT64_C(0x9e3779b97f4a7c15);
    start = s->first * UNIT;
    stride = s->stride * UNIT;
    s->block = (struct tt_block){.data = s->data};
    tt_select_slab(&s->block.file, 1, s->variable.dims, &start, &stride, &s->units, &block);
    tt_select_all(&s->block.memory, 1, &elements);
    return TT_OK;
}

/* Every attempt has content of its own. */
static void renew(struct shape *s)
{
    for (uint64_t i = 0; i < s->units * UNIT; i++)
        s->data[i]++;
}

enum { MOST_INSIDE = 64 }; /* files of a directory that are looked at */

/* The file as others see it. Read through a mapping where that can be had: some file systems let no
 * read pass a write of the same file. */
struct window {
    int fd;
    bool directory; /* fd is one: a library fills it with files, and adds to their ends */
    uint64_t base;  /* where the variable begins */
    size_t length;
    const char *map; /* NULL: by pread */
    unsigned ninside;
    struct {
        ino_t inode;
        off_t size;
    } inside[MOST_INSIDE]; /* before the attempt */
};

/* A raw file begins with the variable, others with the library's own metadata. What has just been
 * written is there once: where this rank's first unit is tells the rest. 0 if it is not found,
 * since then it is not seen to arrive either. */
static uint64_t find_base(const struct shape *s, int fd)
{
    uint64_t first = s->first * UNIT_BYTES, base = 0;
    const char *map, *found;
    struct stat st;

    if (fstat(fd, &st) != 0 || (uint64_t)st.st_size <= first)
        return 0;
    map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return 0;
    found = memmem(map + first, (size_t)st.st_size - first, s->data, UNIT_BYTES);
    if (found)
        base = (uint64_t)(found - map) - first;
    munmap((void *)map, (size_t)st.st_size);
    return base;
}

static void window_open(struct window *w, const struct shape *s, int fd)
{
    struct stat st;
    void *map;

    *w = (struct window){.fd = fd};
    w->directory = fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
    if (w->directory)
        return;
    w->base = find_base(s, fd);
    w->length = w->base + (s->first + (s->units - 1) * s->stride + 1) * UNIT_BYTES;
    if (fstat(fd, &st) != 0 || (uint64_t)st.st_size < w->length)
        return; /* the data is elsewhere, and behind the end a mapping must not be touched */
    map = mmap(NULL, w->length, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
    w->map = map == MAP_FAILED ? NULL : map;
}

static void window_close(struct window *w)
{
    if (w->map)
        munmap((void *)w->map, w->length);
}

static bool is_there(const struct window *w, const struct shape *s, uint64_t unit)
{
    uint64_t offset = w->base + (s->first + unit * s->stride) * UNIT_BYTES, seen[UNIT];
    const void *found = w->map ? w->map + offset : (const char *)seen;

    if (!w->map && pread(w->fd, seen, sizeof seen, (off_t)offset) != (ssize_t)sizeof seen)
        return false;
    return memcmp(found, s->data + unit * UNIT, UNIT_BYTES) == 0;
}

/* ---- a directory ---- */

/* Calls it for every regular file, until it returns a value above 0. */
static double look_inside(struct window *w, const struct shape *s,
                          double (*look)(struct window *, const struct shape *, int,
                                         const struct stat *))
{
    DIR *all = fdopendir(openat(w->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const struct dirent *x;
    double result = 0;

    while (all && result <= 0 && (x = readdir(all))) {
        int fd = openat(w->fd, x->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        struct stat st;

        if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
            result = look(w, s, fd, &st);
        if (fd >= 0)
            close(fd);
    }
    if (all)
        closedir(all);
    return result;
}

static double note_size(struct window *w, const struct shape *s, int fd, const struct stat *st)
{
    (void)s, (void)fd;
    if (w->ninside < MOST_INSIDE) {
        w->inside[w->ninside].inode = st->st_ino;
        w->inside[w->ninside++].size = st->st_size;
    }
    return 0;
}

/* A rank's units lie one after the other there, behind what was in the file before. */
static double count_units(struct window *w, const struct shape *s, int fd, const struct stat *st)
{
    size_t size = (size_t)st->st_size, from = 0;
    const char *map, *first;
    unsigned n = 0;

    for (unsigned i = 0; i < w->ninside; i++)
        if (w->inside[i].inode == st->st_ino)
            from = (size_t)w->inside[i].size;
    map = size > from ? mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (map == MAP_FAILED)
        return 0;
    first = memmem(map + from, size - from, s->data, UNIT_BYTES);
    for (uint64_t i = 0; first && i < LOOKS; i++) {
        uint64_t unit = i * (s->units - 1) / (LOOKS - 1);
        size_t at = (size_t)(first - map) + unit * UNIT_BYTES;

        n += at + UNIT_BYTES <= size && !memcmp(map + at, s->data + unit * UNIT, UNIT_BYTES);
    }
    munmap((void *)map, size);
    return (double)n / LOOKS;
}

/* How much of the content has arrived, from samples all over it; the end, written last, first. */
static double arrived(struct window *w, const struct shape *s)
{
    unsigned n = 0;

    if (w->directory)
        return look_inside(w, s, count_units);
    for (uint64_t i = LOOKS; i-- > 0;)
        n += is_there(w, s, i * (s->units - 1) / (LOOKS - 1));
    return (double)n / LOOKS;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

/* CPU time of this thread and of all, and the clock, in ns. */
struct effort {
    int64_t thread, process, clock;
};

static struct effort effort_now(void)
{
    return (struct effort){tt_clock_ns(CLOCK_THREAD_CPUTIME_ID),
                           tt_clock_ns(CLOCK_PROCESS_CPUTIME_ID), tt_now_ns()};
}

/* Since before submit was called: this thread's part of the CPU time, without that of watching. By
 * this a fast write by another thread can be told from one in the call, even if this thread had to
 * wait for a core in between. */
static double share_of_submit(struct effort before, struct effort after, struct effort now)
{
    double mine = (double)(after.thread - before.thread);
    double all = (double)(now.process - before.process) - (double)(now.thread - after.thread);

    return all > mine ? mine / all : 1;
}

/* Makes no call into the library. */
static void watch(struct window *w, const struct shape *s, struct effort before,
                  struct sight *sight)
{
    struct effort after = effort_now();
    int64_t now = after.clock;
    double fraction = arrived(w, s);

    sight->in_submit = least(sight->in_submit, fraction);
    while (fraction < 1 && now - after.clock < ALLOWED_NS) {
        tt_sleep_until(now + PAUSE_NS);
        fraction = arrived(w, s);
        now = tt_now_ns();
    }
    sight->in_submit = least(sight->in_submit, share_of_submit(before, after, effort_now()));
    sight->fraction = least(sight->fraction, fraction);
    sight->seconds = -least(-sight->seconds, -tt_seconds(tt_now_ns() - before.clock));
}

/* One submitted write, watched (if there is a window yet) and completed. */
static int attempt(struct tt_file *file, struct shape *s, struct window *w,
                   struct tt_ticket *ticket, struct sight *sight, struct tt_error *e)
{
    struct effort before;
    int rc, result;

    renew(s);
    if (w && w->directory) {
        w->ninside = 0;
        look_inside(w, s, note_size);
    }
    before = effort_now();
    rc = tt_file_submit(file, TT_WRITING, 0, &s->block, ticket, e);
    if (rc == TT_UNSUPPORTED)
        return rc;
    if (rc == TT_OK && w)
        watch(w, s, before, sight);
    result = tt_file_wait(file, ticket, e); /* also after a failure: others wait in it */
    return tt_agree(file->spec->comm, rc == TT_OK ? result : rc, e);
}

/* Collective: the worst of all ranks. */
static struct sight compare(MPI_Comm comm, struct sight mine)
{
    double worst[3] = {mine.in_submit, -mine.fraction, mine.seconds};

    MPI_Allreduce(MPI_IN_PLACE, worst, 3, MPI_DOUBLE, MPI_MAX, comm);
    return (struct sight){worst[0], -worst[1], worst[2]};
}

/* A fast write may be complete before one can look: only where that is so in every attempt is
 * submit taken for a blocking call. The first write only makes the file, which cannot be mapped
 * before. */
static int try_writes(struct tt_file *file, struct shape *s, int fd, struct tt_ticket *ticket,
                      struct sight *worst, struct tt_error *e)
{
    struct sight mine = {1, 1, 0};
    struct window w;
    int rc = tt_agree(file->spec->comm, tt_file_define(file, 0, e), e);

    if (rc == TT_OK)
        rc = attempt(file, s, NULL, ticket, &mine, e);
    if (rc != TT_OK)
        return rc;
    window_open(&w, s, fd);
    for (int i = 0; i < ATTEMPTS && rc == TT_OK; i++) {
        rc = attempt(file, s, &w, ticket, &mine, e);
        if (rc == TT_OK)
            *worst = compare(file->spec->comm, mine);
        if (rc == TT_OK && (worst->fraction < NATIVE || worst->in_submit < BLOCKING))
            break;
    }
    window_close(&w);
    return rc;
}

static void judge(uint64_t bytes, const struct sight *worst, struct tt_probe *out)
{
    char size[TT_UNIT_TEXT], time[TT_UNIT_TEXT];

    tt_format_bytes((double)bytes, size);
    tt_format_seconds(worst->seconds, time);
    out->seconds = worst->seconds;
    if (worst->in_submit >= BLOCKING && worst->fraction >= NATIVE) {
        snprintf(out->text, sizeof out->text, "%s were written before the call returned", size);
        return;
    }
    out->fraction = worst->fraction;
    out->native = worst->fraction >= NATIVE;
    snprintf(out->text, sizeof out->text, "%.0f %% of %s left within %s without further calls",
             100 * worst->fraction, size, time);
}

/* The file is open; what this rank needs besides. */
static int try_file(struct tt_file *file, struct shape *s, const char *path, size_t ticket_size,
                    struct tt_probe *out, struct tt_error *e)
{
    struct tt_ticket ticket = {calloc(1, ticket_size)};
    int fd = open(path, O_RDONLY | O_CLOEXEC), rc = TT_OK;
    struct sight worst = {0};

    if (!ticket.state)
        rc = tt_fail_nomem(e, "the probe of nonblocking calls");
    else if (fd < 0)
        rc = tt_fail_call(e, errno, "open", path, -1);
    rc = tt_agree(file->spec->comm, rc, e);
    if (rc == TT_OK)
        rc = try_writes(file, s, fd, &ticket, &worst, e);
    if (rc == TT_OK)
        judge(s->units * UNIT_BYTES, &worst, out);
    if (fd >= 0)
        close(fd);
    free(ticket.state);
    return rc;
}

static int probe_file(const struct tt_stack *stack, const struct tt_file_spec *spec,
                      struct shape *s, struct tt_probe *out, struct tt_error *e)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    struct tt_file *file;
    int rc = tt_file_open(stack, spec, &file, e), rank;
    struct tt_file_identity made;
    struct stat st;

    if (rc != TT_OK)
        return rc;
    rc = try_file(file, s, spec->path, tt_stack_ticket_size(stack), out, e);
    if (rc == TT_UNSUPPORTED) {
        snprintf(out->text, sizeof out->text, "%.*s", (int)sizeof out->text - 1, e->text);
        tt_error_clear(e);
        rc = TT_OK;
    }
    made = tt_file_made(file, 0);
    if (rc == TT_OK)
        rc = tt_file_close(file, e);
    else
        tt_file_close(file, &ignored);
    MPI_Comm_rank(spec->comm, &rank);
    if (rank == 0 && lstat(spec->path, &st) == 0 && (!made.inode || st.st_ino == made.inode))
        unlink(spec->path);
    return rc;
}

int tt_probe_native(const struct tt_stack *stack, MPI_Comm comm, const char *path, bool contiguous,
                    struct tt_probe *out, struct tt_error *e)
{
    struct tt_file_spec spec = {.path = path, .access = TT_CREATE, .policy = TT_OVERWRITE};
    struct shape s;
    int rank, size, rc;

    memset(out, 0, sizeof *out);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    rc = tt_agree(comm, make_shape(&s, contiguous, rank, size, e), e);
    if (rc == TT_OK)
        rc =
            tt_agree(comm, tt_fail_mpi(e, MPI_Comm_dup(comm, &spec.comm), "MPI_Comm_dup", NULL), e);
    if (rc == TT_OK) {
        spec.native = true;
        spec.steps = spec.nvariables = 1;
        spec.variables = &s.variable;
        rc = probe_file(stack, &spec, &s, out, e);
        MPI_Comm_free(&spec.comm);
    }
    free(s.data);
    return rc;
}
