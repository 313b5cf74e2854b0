/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "record/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/* Enough for a second of most loops; a crash loses at most this. */
#define BUFFERED 2048
/* How long a dying rank waits for the thread that is writing. */
#define PATIENCE_MS 1000
#define LOOK_NS 50000 /* between two looks whether it has finished */

/* Filled by the main thread. Counts only rise: claimed before it is written, since a signal in the
 * middle must not write it twice, and taken after that, when the place may be filled again. */
struct ring {
    _Atomic size_t put, claimed, taken;
};

struct tt_recorder {
    int fd, sys_errno; /* the first failed write */
    char *path;
    struct tt_records_header header;
    atomic_flag writing;
    pthread_t main;
    volatile sig_atomic_t main_writes; /* a handler in that thread must not wait for it */
    struct ring iterations_ring, epochs_ring;
    struct tt_iteration_record iterations[BUFFERED];
    struct tt_epoch_record epochs[BUFFERED];
};

static void append(struct tt_recorder *r, enum tt_chunk_type type, const void *data, size_t length)
{
    struct tt_chunk_header head = {.type = type, .length = length};
    struct iovec parts[2] = {{&head, sizeof head}, {(void *)data, length}};

    if (length == 0 || r->sys_errno)
        return;
    errno = 0; /* a short write leaves it alone */
    if (writev(r->fd, parts, 2) != (ssize_t)(sizeof head + length))
        r->sys_errno = errno ? errno : ENOSPC;
}

static void drain(struct tt_recorder *r, struct ring *ring, enum tt_chunk_type type,
                  const void *records, size_t size)
{
    size_t from = ring->claimed, to = ring->put;

    ring->claimed = to;
    while (from < to) {
        size_t at = from % BUFFERED, n = to - from < BUFFERED - at ? to - from : BUFFERED - at;

        append(r, type, (const char *)records + at * size, n * size);
        from += n;
    }
    ring->taken = to;
}

/* Only async-signal-safe calls. */
static void drain_all(struct tt_recorder *r)
{
    drain(r, &r->iterations_ring, TT_CHUNK_ITERATIONS, r->iterations, sizeof *r->iterations);
    drain(r, &r->epochs_ring, TT_CHUNK_EPOCHS, r->epochs, sizeof *r->epochs);
}

/* False if another thread has not finished in time. */
static bool lock(struct tt_recorder *r, long looks)
{
    while (atomic_flag_test_and_set(&r->writing)) {
        if (looks-- == 0)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    }
    return true;
}

static void flush(struct tt_recorder *r, bool is_main)
{
    lock(r, -1);
    r->main_writes = is_main;
    drain_all(r);
    r->main_writes = 0;
    atomic_flag_clear(&r->writing);
}

static bool is_filling(const struct ring *ring)
{
    return ring->put - ring->taken > BUFFERED / 4;
}

void tt_recorder_flush(struct tt_recorder *r, bool all)
{
    if (all || is_filling(&r->iterations_ring) || is_filling(&r->epochs_ring))
        flush(r, false);
}

static void set_state(struct tt_recorder *r, enum tt_rank_state state)
{
    const char *bytes = (const char *)r + offsetof(struct tt_recorder, header);

    r->header.state = state;
    errno = 0;
    if (pwrite(r->fd, bytes, sizeof r->header, 0) != (ssize_t)sizeof r->header)
        r->sys_errno = errno ? errno : ENOSPC;
}

static void start_header(struct tt_recorder *r, int rank, int size)
{
    r->header.magic = TT_RECORDS_MAGIC;
    r->header.nphases = TT_NPHASES;
    r->header.rank = (uint32_t)rank;
    r->header.size = (uint32_t)size;
    r->header.pid = (uint32_t)getpid();
    r->header.start_monotonic_ns = tt_now_ns();
    r->header.start_wall_ns = tt_wall_ns();
    gethostname(r->header.host, sizeof r->header.host - 1);
}

int tt_recorder_open(const char *directory, int rank, int size, struct tt_recorder **out,
                     struct tt_error *e)
{
    struct tt_recorder *r = calloc(1, sizeof *r);

    *out = NULL;
    if (!r)
        return tt_fail_nomem(e, "records");
    if (asprintf(&r->path, "%s/records/%05d.ttr", directory, rank) < 0) {
        free(r);
        return tt_fail_nomem(e, "records");
    }
    /* Not O_APPEND: pwrite would then ignore its offset on Linux. */
    r->fd = open(r->path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
    if (r->fd < 0) {
        int rc = tt_fail_call(e, errno, "open", r->path, -1);

        free(r->path);
        free(r);
        return rc;
    }
    r->main = pthread_self();
    start_header(r, rank, size);
    set_state(r, TT_RANK_RUNNING);
    if (lseek(r->fd, sizeof r->header, SEEK_SET) < 0)
        r->sys_errno = errno;
    *out = r;
    return TT_OK;
}

const struct tt_records_header *tt_recorder_header(const struct tt_recorder *r)
{
    return &r->header;
}

void tt_recorder_iteration(struct tt_recorder *r, const struct tt_iteration_record *record)
{
    struct ring *ring = &r->iterations_ring;

    if (ring->put - ring->taken == BUFFERED)
        flush(r, true);
    r->iterations[ring->put % BUFFERED] = *record;
    ring->put++;
}

void tt_recorder_epoch(struct tt_recorder *r, const struct tt_epoch_record *record)
{
    struct ring *ring = &r->epochs_ring;

    if (ring->put - ring->taken == BUFFERED)
        flush(r, true);
    r->epochs[ring->put % BUFFERED] = *record;
    ring->put++;
}

void tt_recorder_calls(struct tt_recorder *r, const struct tt_histogram *calls)
{
    append(r, TT_CHUNK_CALLS, calls, TT_NCALLS * sizeof *calls);
}

void tt_recorder_json(struct tt_recorder *r, const json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT);

    if (!text) {
        r->sys_errno = ENOMEM;
        return;
    }
    append(r, TT_CHUNK_JSON, text, strlen(text));
    free(text);
}

int tt_recorder_close(struct tt_recorder *r, enum tt_rank_state state, struct tt_error *e)
{
    int rc = TT_OK;

    if (!r)
        return TT_OK;
    drain_all(r);
    set_state(r, state);
    if (close(r->fd) != 0 && !r->sys_errno)
        r->sys_errno = errno;
    if (r->sys_errno)
        rc = tt_fail_call(e, r->sys_errno, "write", r->path, -1);
    free(r->path);
    free(r);
    return rc;
}

void tt_recorder_terminate(struct tt_recorder *r, const struct tt_iteration_record *last)
{
    bool is_mine = r->main_writes && pthread_equal(pthread_self(), r->main);

    if (!is_mine && !lock(r, PATIENCE_MS * (1000000L / LOOK_NS)))
        return; /* who holds it is stuck in the file: so would this thread be */
    drain_all(r);
    if (last)
        append(r, TT_CHUNK_ITERATIONS, last, sizeof *last);
    set_state(r, TT_RANK_TERMINATED);
    if (!is_mine)
        atomic_flag_clear(&r->writing);
}
