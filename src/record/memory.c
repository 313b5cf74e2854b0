/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who is there: making and finding the memory, its locks and areas. */
#include "record/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "plan/directory.h"
#include "record/reduce.h"

#define MAGIC UINT64_C(0x3430316d656d7474) /* "ttmem104" */
#define LOOK_NS 50000
#define PATIENCE_LOOKS (1000000000L / LOOK_NS) /* of whoever collects: a second */
#define CLOCK_STEP_NS INT64_C(3600000000000)   /* more is no correction of a node's clock */

static size_t in_pages(size_t n)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (n + page - 1) / page * page;
}

static size_t head_size(void)
{
    return in_pages(sizeof(struct tt_node_head));
}

static size_t area_size(void)
{
    return in_pages(sizeof(struct tt_area));
}

struct tt_area *tt_memory_area(const struct tt_memory *m, uint32_t i)
{
    return (struct tt_area *)(void *)((char *)m->head + head_size() + i * area_size());
}

/* ---- locks ---- */

/* Byte 0 is whose turn it is to move, byte 1 + i that rank i of this node lives. */
static int lock_byte(int fd, int how, short type, off_t byte)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    int rc = fcntl(fd, how, &lock);

    return rc == 0 && how == F_OFD_GETLK ? lock.l_type : rc;
}

/* A file system without locks says so at once. Where a rank has one already, the kernel is only
 * short of memory. */
bool tt_memory_lock(struct tt_memory *m, long looks)
{
    while (lock_byte(m->fd, F_OFD_SETLK, F_WRLCK, 0) != 0) {
        bool is_taken = errno == EAGAIN || errno == EACCES || errno == EINTR;

        if ((!is_taken && !m->own) || looks-- == 0)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    }
    return true;
}

void tt_memory_unlock(struct tt_memory *m)
{
    lock_byte(m->fd, F_OFD_SETLK, F_UNLCK, 0);
}

static bool is_alive(const struct tt_memory *m, uint32_t i)
{
    if (!tt_memory_area(m, i)->attached)
        return false;
    return i == m->slot || lock_byte(m->fd, F_OFD_GETLK, F_WRLCK, 1 + (off_t)i) != F_UNLCK;
}

/* ---- the view ---- */

/* More ranks may have come. */
bool tt_memory_look(struct tt_memory *m)
{
    uint32_t n = m->head->nareas;
    size_t size = head_size() + n * area_size();
    struct stat st;
    void *moved;

    if (n > TT_MEMORY_AREAS || fstat(m->fd, &st) != 0 || (uint64_t)st.st_size < size)
        return false;
    if (size <= m->mapped)
        return true;
    moved = mremap(m->head, m->mapped, size, MREMAP_MAYMOVE);
    if (moved == MAP_FAILED)
        return false;
    m->head = moved;
    m->mapped = size;
    return true;
}

static bool map_head(struct tt_memory *m, int protection)
{
    void *map = mmap(NULL, head_size(), protection, MAP_SHARED, m->fd, 0);

    m->head = map == MAP_FAILED ? NULL : map;
    m->mapped = m->head ? head_size() : 0;
    return m->head && m->head->magic == MAGIC && m->head->head_size == head_size() &&
           m->head->area_size == area_size();
}

static void leave(struct tt_memory *m)
{
    if (m->own)
        munmap(m->own, area_size());
    if (m->head)
        munmap(m->head, m->mapped);
    if (m->fd >= 0)
        close(m->fd);
    m->own = NULL;
    m->head = NULL;
    m->mapped = 0;
    m->fd = -1;
    m->slot = TT_NODE_SLOT;
}

void tt_memory_close(struct tt_memory *m)
{
    if (!m)
        return;
    leave(m);
    if (m->file >= 0)
        close(m->file);
    free(m->path);
    free(m->records);
    free(m->values);
    free(m->words);
    free(m->buffer);
    free(m);
}

int tt_memory_failed(const struct tt_memory *m)
{
    return m->head->failed;
}

/* ---- questions, and what ranks add up ---- */

bool tt_memory_is_last(struct tt_memory *m)
{
    if (!tt_memory_look(m))
        return false;
    for (uint32_t i = 0; i < m->head->nareas; i++)
        if (is_alive(m, i))
            return false;
    return true;
}

bool tt_memory_is_filling(struct tt_memory *m)
{
    if (!tt_memory_look(m))
        return false;
    for (uint32_t i = 0; i < m->head->nareas; i++) {
        const struct tt_area *a = tt_memory_area(m, i);

        if (a->put[TT_RING_ITERATIONS] - a->taken[TT_RING_ITERATIONS] > TT_AREA_ITERATIONS / 4 ||
            a->put[TT_RING_EPOCHS] - a->taken[TT_RING_EPOCHS] > TT_AREA_EPOCHS / 4 ||
            a->put[TT_RING_CHUNKS] - a->taken[TT_RING_CHUNKS] > TT_AREA_CHUNKS / 4)
            return true;
    }
    return false;
}

void tt_memory_merge_calls(struct tt_memory *m, const struct tt_histogram *calls)
{
    m->head->merging++;
    for (int i = 0; i < TT_NCALLS; i++)
        tt_histogram_merge(&m->head->calls[i], &calls[i]);
    m->head->has_calls = 1;
    m->head->merging--;
}

void tt_memory_merge_timelines(struct tt_memory *m, const struct tt_timeline lines[2])
{
    m->head->merging++;
    for (int i = 0; i < 2; i++)
        tt_timeline_merge(&m->head->timelines[i], &lines[i]);
    m->head->has_timelines = 1;
    m->head->merging--;
}

/* ---- attaching ---- */

/* The directories that may hold it, in the order in which they are tried. */
static const char *place(int i)
{
    const char *temporary = getenv("TMPDIR");

    return i == 0 ? "/dev/shm" : i == 1 ? (temporary && *temporary ? temporary : "/tmp") : NULL;
}

/* However the directory is typed, its memory has one name. The inode tells directories of one name
 * apart, and a copy from what was copied. */
static char *name_memory(const char *where, const char *directory, const char *host)
{
    char *real = realpath(directory, NULL), *path = NULL;
    struct stat st;

    if (!real || stat(real, &st) != 0 ||
        asprintf(&path, "%s/tutti-%s-%" PRIx64 "-%s", where, tt_directory_id(real),
                 (uint64_t)st.st_ino, host) < 0)
        path = NULL;
    free(real);
    return path;
}

static void clean_name(char *name)
{
    for (char *c = name; *c; c++)
        if (*c == '/' || (*c == '.' && c == name))
            *c = '_';
}

/* Nothing is mapped yet. NULL: no memory. */
static struct tt_memory *prepare(const char *directory, const char *host, uint32_t rank)
{
    struct tt_memory *m = calloc(1, sizeof *m);
    char name[64];

    if (!m)
        return NULL;
    m->fd = m->file = -1;
    m->slot = TT_NODE_SLOT;
    snprintf(name, sizeof name, "%s", *host ? host : "unknown");
    clean_name(name);
    snprintf(m->names[0], sizeof m->names[0], "%s.ttr", name);
    snprintf(m->names[1], sizeof m->names[1], "%s~%u.ttr", name, rank);
    m->records = tt_directory_path(directory, "records");
    m->values = malloc(TT_MEMORY_AREAS * sizeof *m->values);
    m->words = malloc(TT_HISTOGRAMS_WORDS(TT_NCALLS) * sizeof *m->words);
    m->buffer = malloc(TT_MEMORY_BUFFER);
    if (!m->records || !m->values || !m->words || !m->buffer) {
        tt_memory_close(m);
        return NULL;
    }
    return m;
}

/* With the lock. Room is taken from the file system now: a store that finds none would end the
 * process. 0, or an errno. */
static int take_area(struct tt_memory *m, const struct tt_records_header *h, uint64_t above)
{
    struct stat st;
    uint32_t n = 0;
    int why = fstat(m->fd, &st) == 0 ? 0 : errno;
    void *own;

    if (why == 0 && st.st_size == 0) {
        why = posix_fallocate(m->fd, 0, (off_t)head_size());
        if (why == 0) {
            const uint64_t sizes[] = {MAGIC, head_size(), area_size(), above};

            why = pwrite(m->fd, sizes, sizeof sizes, 0) == (ssize_t)sizeof sizes ? 0 : errno;
        }
    }
    if (why == 0 && !map_head(m, PROT_READ | PROT_WRITE))
        why = EINVAL;
    if (why == 0 && (n = m->head->nareas) >= TT_MEMORY_AREAS)
        why = ENOSPC;
    if (why == 0)
        why = posix_fallocate(m->fd, (off_t)(head_size() + n * area_size()), (off_t)area_size());
    if (why != 0)
        return why;
    own = mmap(NULL, area_size(), PROT_READ | PROT_WRITE, MAP_SHARED, m->fd,
               (off_t)(head_size() + n * area_size()));
    if (own == MAP_FAILED)
        return errno;
    if (lock_byte(m->fd, F_OFD_SETLK, F_WRLCK, 1 + (off_t)n) != 0)
        why = errno;
    m->own = own;
    m->own->header = *h;
    m->own->state = TT_RANK_RUNNING;
    m->own->attached = 1;
    m->slot = n;
    if (why == 0)
        m->head->nareas = n + 1;
    return why;
}

/* 0, or an errno; EAGAIN: somebody has removed it meanwhile. */
static int attach_at(struct tt_memory *m, const struct tt_records_header *h, uint64_t above)
{
    struct stat st;
    int why;

    m->fd = open(m->path, O_RDWR | O_CREAT | TT_DIRECTORY_OPEN, 0600);
    if (m->fd < 0)
        return errno;
    if (fstat(m->fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid()) {
        leave(m);
        return EPERM;
    }
    if (!tt_memory_lock(m, -1)) {
        why = errno;
        if (st.st_size == 0)
            unlink(m->path);
        leave(m);
        return why;
    }
    why = fstat(m->fd, &st) == 0 && st.st_nlink > 0 ? take_area(m, h, above) : EAGAIN;
    if (why != 0 && why != EAGAIN && (!m->head || m->head->nareas == 0))
        unlink(m->path);
    if (why != 0)
        leave(m);
    else
        tt_memory_unlock(m);
    return why;
}

int tt_memory_attach(const char *directory, const struct tt_records_header *h, uint64_t above,
                     struct tt_memory **out, struct tt_error *e)
{
    struct tt_memory *m = prepare(directory, h->host, h->rank);
    int why = ENOMEM, first = 0;

    *out = NULL;
    if (!m)
        return tt_fail_nomem(e, "records");
    for (int i = 0; why != 0 && place(i); i++) {
        free(m->path);
        m->path = name_memory(place(i), directory, h->host);
        if (!m->path)
            break;
        do
            why = attach_at(m, h, above ? above : TT_REDUCE_ABOVE);
        while (why == EAGAIN);
        first = first ? first : why;
    }
    *out = why == 0 ? m : NULL;
    if (why == 0)
        return TT_OK;
    tt_memory_close(m);
    return tt_fail(e, TT_FAILED,
                   "neither /dev/shm nor TMPDIR has %zu KiB for the records of a rank (%s, %s); "
                   "set TMPDIR to a directory of this node that has",
                   area_size() / 1024, strerror(first), strerror(why));
}

/* ---- from outside ---- */

static bool is_ours(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
           (uint64_t)st.st_size >= head_size() && st.st_nlink > 0;
}

/* The memory of this node at that place; NULL: there is none, and errno says why. */
static struct tt_memory *find(int i, const char *directory, int protection)
{
    char host[sizeof((struct tt_records_header *)0)->host] = "";
    struct tt_memory *m;
    int why;

    gethostname(host, sizeof host - 1);
    m = prepare(directory, host, 0);
    if (!m)
        return NULL;
    m->path = name_memory(place(i), directory, host);
    m->fd = m->path
                ? open(m->path, (protection & PROT_WRITE ? O_RDWR : O_RDONLY) | TT_DIRECTORY_OPEN)
                : -1;
    if (m->fd >= 0 && is_ours(m->fd) && map_head(m, protection))
        return m;
    why = m->fd < 0 ? errno : EINVAL;
    tt_memory_close(m);
    errno = why;
    return NULL;
}

void tt_records_collect(const char *directory)
{
    for (int i = 0; place(i); i++) {
        struct tt_memory *m = find(i, directory, PROT_READ | PROT_WRITE);

        if (m && tt_memory_lock(m, PATIENCE_LOOKS)) {
            if (is_ours(m->fd))
                tt_memory_move(m, NULL, NULL);
            tt_memory_unlock(m);
        }
        tt_memory_close(m);
    }
}

/* From /proc, for what cannot be seen by locks: memory of another mount namespace, or another
 * TMPDIR. Whoever has the process's number now began after the rank's records, or after the node
 * did. */
static bool is_process_of(const struct tt_records_header *h)
{
    int64_t since_boot = tt_clock_ns(CLOCK_BOOTTIME), began;
    char path[64], text[1024] = "", state = 'X';
    const char *behind_name;
    unsigned long long ticks = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%u/stat", h->pid);
    f = fopen(path, "re");
    if (!f)
        return errno != ENOENT; /* it may be the rank */
    behind_name = fread(text, 1, sizeof text - 1, f) > 0 ? strrchr(text, ')') : NULL;
    fclose(f);
    if (!behind_name ||
        sscanf(behind_name,
               ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
               "%*s %*s %*s %llu",
               &state, &ticks) != 2 ||
        state == 'Z' || state == 'X')
        return false;
    began = (int64_t)(ticks * (1000000000ULL / (unsigned long long)sysconf(_SC_CLK_TCK)));
    return tt_now_ns() - (since_boot - began) <= h->start_monotonic_ns &&
           h->start_wall_ns > tt_wall_ns() - since_boot - CLOCK_STEP_NS;
}

/* Whether the area of this rank is in the memory; if so, whether it is alive. */
static bool find_area(struct tt_memory *m, const struct tt_records_header *h, bool *alive)
{
    for (uint32_t i = 0; tt_memory_look(m) && i < m->head->nareas; i++) {
        const struct tt_records_header *its = &tt_memory_area(m, i)->header;

        if (its->rank == h->rank && its->pid == h->pid) {
            *alive = is_alive(m, i);
            return true;
        }
    }
    return false;
}

bool tt_records_are_held(const char *directory, const struct tt_records_header *h)
{
    char host[sizeof h->host] = "";
    bool found = false, held = false;

    gethostname(host, sizeof host - 1);
    if (strcmp(host, h->host) != 0)
        return false;
    for (int i = 0; !found && place(i); i++) {
        struct tt_memory *m = find(i, directory, PROT_READ);

        if (m)
            found = find_area(m, h, &held);
        else
            found = held = errno == EACCES; /* somebody else's: it may be the rank */
        tt_memory_close(m);
    }
    return found ? held : is_process_of(h);
}
