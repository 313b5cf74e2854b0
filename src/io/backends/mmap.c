/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plain files through memory mappings. A new file gets its whole length when it is made, as IOR has
 * it, and is cut to what was written when it is closed. A page that cannot be had, on a full disk
 * or behind the end of a file that somebody cut, raises SIGBUS in the thread that touches it: that
 * becomes an error. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/raw.h"

enum advice { NONE, SEQUENTIAL, RANDOM };
static const char *const advices[] = {"none", "sequential", "random", NULL};

struct mmap_opts {
    int advice;
};

static const struct tt_param params[] = {
    {"advice", TT_PARAM_CHOICE, offsetof(struct mmap_opts, advice), "none", NULL,
     "what the kernel is told of the order of transfers (madvise)", .choices = advices},
    {NULL},
};

struct mmap_state {
    struct tt_raw raw;
    char *map; /* NULL: nothing is mapped yet */
    uint64_t size;
    uint64_t end; /* behind everything this rank has written */
};

static int fail(const struct tt_file *file, const char *call, struct tt_error *e)
{
    return tt_fail_call(e, errno, call, file->spec->path, -1);
}

/* ---- pages that cannot be had ---- */

/* NULL: this thread touches no mapping. Volatile: only the handler reads what is set before a copy,
 * and a compiler that does not know of it may leave that out. */
static _Thread_local sigjmp_buf *volatile landing;
static _Thread_local bool is_unblocked;
static struct sigaction before; /* of the process, as signals are */

static void on_bus_error(int number)
{
    if (landing)
        siglongjmp(*landing, 1);
    sigaction(SIGBUS, &before, NULL);
    raise(number);
}

static void catch_bus_errors(void)
{
    const struct sigaction ours = {.sa_handler = on_bus_error, .sa_flags = SA_NODEFER};
    struct sigaction now;

    if (sigaction(SIGBUS, NULL, &now) == 0 && now.sa_handler != on_bus_error) {
        before = now;
        sigaction(SIGBUS, &ours, NULL);
    }
}

/* In a thread of a pool all signals are blocked, and the kernel kills where this one is. */
static void unblock(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGBUS);
    is_unblocked = pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0;
}

/* Behind the end of a file that was cut, or on a disk that is full. */
static int fail_page(struct tt_file *file, enum tt_direction direction, uint64_t at, size_t length,
                     struct tt_error *e)
{
    struct mmap_state *s = file->state;
    struct stat st;

    if (fstat(s->raw.fd, &st) == 0 && (uint64_t)st.st_size < at + length)
        return tt_fail(e, TT_FAILED,
                       "'%s' ends at offset %lld: somebody cut it while it was mapped; run again "
                       "where nobody else changes files",
                       file->spec->path, (long long)st.st_size);
    return tt_raw_fail(file, &s->raw, direction, direction == TT_WRITING ? ENOSPC : EIO,
                       (int64_t)at, e);
}

static int copy(struct tt_file *file, enum tt_direction direction, uint64_t at, char *memory,
                size_t length, struct tt_error *e)
{
    struct mmap_state *s = file->state;
    sigjmp_buf place;

    if (!is_unblocked)
        unblock();
    if (sigsetjmp(place, 0)) {
        landing = NULL;
        return fail_page(file, direction, at, length, e);
    }
    landing = &place;
    if (direction == TT_WRITING)
        memcpy(s->map + at, memory, length);
    else
        memcpy(memory, s->map + at, length);
    landing = NULL;
    return TT_OK;
}

/* ---- the file ---- */

/* Maps the file up to this size, and keeps what was mapped if it cannot. */
static int map(struct tt_file *file, uint64_t size, struct tt_error *e)
{
    const struct mmap_opts *o = file->opts;
    struct mmap_state *s = file->state;
    int protection = PROT_READ | (file->spec->access == TT_READ_ONLY ? 0 : PROT_WRITE);
    char *now = s->map ? mremap(s->map, s->size, size, MREMAP_MAYMOVE)
                       : mmap(NULL, size, protection, MAP_SHARED, s->raw.fd, 0);

    if (now == MAP_FAILED)
        return fail(file, s->map ? "mremap" : "mmap", e);
    s->map = now;
    s->size = size;
    if (o->advice != NONE &&
        madvise(now, size, o->advice == RANDOM ? MADV_RANDOM : MADV_SEQUENTIAL) != 0)
        return fail(file, "madvise", e);
    return TT_OK;
}

static int map_existing(struct tt_file *file, struct tt_error *e)
{
    const struct mmap_state *s = file->state;
    struct stat st;

    if (fstat(s->raw.fd, &st) != 0)
        return fail(file, "fstat", e);
    return st.st_size > 0 ? map(file, (uint64_t)st.st_size, e) : TT_OK;
}

/* How long the file will be; 0: that is not known. */
static uint64_t room(const struct tt_file *file)
{
    return file->spec->steps ? tt_raw_size(file->spec, file->spec->steps, 1) : 0;
}

/* Rank 0 makes the file that long. */
static int make_room(struct tt_file *file, struct tt_error *e)
{
    const struct mmap_state *s = file->state;

    if (file->rank != 0 || room(file) == 0)
        return TT_OK;
    return ftruncate(s->raw.fd, (off_t)room(file)) == 0 ? TT_OK : fail(file, "ftruncate", e);
}

static int mmap_prepare(struct tt_file *file, struct tt_error *e)
{
    struct mmap_state *s = file->state;

    return tt_raw_prepare(file, false, &s->raw, e);
}

static int mmap_open(struct tt_file *file, struct tt_error *e)
{
    struct mmap_state *s = file->state;
    int rc = tt_raw_open(file, &s->raw, e);
    bool open = rc == TT_OK;

    catch_bus_errors();
    if (rc == TT_OK && file->spec->access == TT_CREATE)
        rc = make_room(file, e);
    rc = tt_file_agree(file, rc, e);
    if (rc == TT_OK)
        rc = tt_file_agree(file, map_existing(file, e), e); /* closing is collective */
    if (rc != TT_OK && s->map)
        munmap(s->map, s->size);
    if (rc != TT_OK && open)
        close(s->raw.fd);
    return rc;
}

/* Longer by the last byte of what is about to be written, which belongs to no other rank. */
static int grow(struct tt_file *file, uint64_t end, char last, struct tt_error *e)
{
    const struct mmap_state *s = file->state;
    struct stat st;

    if (fstat(s->raw.fd, &st) != 0)
        return fail(file, "fstat", e);
    if ((uint64_t)st.st_size < end && pwrite(s->raw.fd, &last, 1, (off_t)end - 1) != 1)
        return fail(file, "write", e);
    return map(file, (uint64_t)st.st_size > end ? (uint64_t)st.st_size : end, e);
}

static int transfer(struct tt_file *file, enum tt_direction direction, uint64_t step,
                    const struct tt_block *block, struct tt_error *e)
{
    uint64_t base = tt_file_raw_offset(file, block->variable, step);
    struct mmap_state *s = file->state;
    struct tt_extent_iter it;
    struct tt_extent x;
    int rc = TT_OK;

    tt_extents_begin(&it, block, file->spec->variables[block->variable].element->size);
    while (rc == TT_OK && tt_extents_next(&it, &x)) {
        uint64_t at = base + x.file_offset, end = at + x.length;
        char *memory = (char *)block->data + x.memory_offset;

        if (end > s->size && direction == TT_WRITING)
            rc = grow(file, end, memory[x.length - 1], e);
        else if (end > s->size) /* somebody may have written since */
            rc = map_existing(file, e);
        if (rc == TT_OK && end > s->size)
            rc = tt_raw_fail(file, &s->raw, direction, 0, (int64_t)s->size, e);
        if (rc == TT_OK)
            rc = copy(file, direction, at, memory, x.length, e);
        if (rc == TT_OK && direction == TT_WRITING && end > s->end)
            s->end = end;
    }
    return rc;
}

static int mmap_write(struct tt_file *file, uint64_t step, const struct tt_block *b,
                      struct tt_error *e)
{
    return transfer(file, TT_WRITING, step, b, e);
}

static int mmap_read(struct tt_file *file, uint64_t step, const struct tt_block *b,
                     struct tt_error *e)
{
    return transfer(file, TT_READING, step, b, e);
}

static int mmap_sync(struct tt_file *file, struct tt_error *e)
{
    const struct mmap_state *s = file->state;

    return !s->map || msync(s->map, s->size, MS_SYNC) == 0 ? TT_OK : fail(file, "msync", e);
}

/* What make_room() made and nobody has written is cut off again; a length that somebody else gave
 * the file stays. Collective where several ranks have the file. */
static int cut(struct tt_file *file, struct tt_error *e)
{
    const struct mmap_state *s = file->state;
    uint64_t end = s->end;

    if (room(file) == 0)
        return TT_OK;
    if (file->size > 1)
        MPI_Allreduce(&s->end, &end, 1, MPI_UINT64_T, MPI_MAX, file->spec->comm);
    if (file->rank != 0 || end >= s->size)
        return TT_OK;
    return ftruncate(s->raw.fd, (off_t)end) == 0 ? TT_OK : fail(file, "ftruncate", e);
}

static int mmap_close(struct tt_file *file, struct tt_error *e)
{
    struct mmap_state *s = file->state;
    int rc = TT_OK, closed;

    if (s->map && munmap(s->map, s->size) != 0)
        rc = fail(file, "munmap", e);
    if (file->spec->access == TT_CREATE) {
        closed = cut(file, e);
        rc = rc == TT_OK ? closed : rc;
    }
    closed = tt_raw_close(file, &s->raw, e);
    return rc == TT_OK ? closed : rc;
}

const struct tt_backend tt_backend_mmap = {
    .name = "mmap",
    .summary = "plain files through memory mappings",
    .caps =
        TT_CAP_STORES | TT_CAP_RAW | TT_CAP_SYNCS_ALONE | TT_CAP_CARRIES_LAYOUT | TT_CAP_UPDATES,
    .library = "mmap", /* a mapping that grows moves: one thread at a time */
    .state_size = sizeof(struct mmap_state),
    .opts_size = sizeof(struct mmap_opts),
    .params = params,
    .prepare = mmap_prepare,
    .open = mmap_open,
    .write = mmap_write,
    .read = mmap_read,
    .sync = mmap_sync,
    .close = mmap_close,
};
