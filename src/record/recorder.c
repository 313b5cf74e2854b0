/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "record/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"

/* Enough that a second of the shortest iterations fits; a crash loses at most this or 1 s. */
#define BUFFERED 2048
#define FLUSH_NS 1000000000

struct tt_recorder {
    int fd, sys_errno; /* the first failed write */
    char *path;
    int64_t flushed_ns;
    struct tt_records_header header;
    volatile size_t niterations, nepochs; /* read by a signal handler */
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

static void flush(struct tt_recorder *r)
{
    size_t n = r->niterations, m = r->nepochs;

    r->niterations = r->nepochs = 0;
    append(r, TT_CHUNK_ITERATIONS, r->iterations, n * sizeof *r->iterations);
    append(r, TT_CHUNK_EPOCHS, r->epochs, m * sizeof *r->epochs);
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
    int64_t now = record->start_ns + record->span_ns;

    r->iterations[r->niterations] = *record;
    r->niterations++;
    if (r->niterations == BUFFERED || now - r->flushed_ns > FLUSH_NS) {
        flush(r);
        r->flushed_ns = now;
    }
}

void tt_recorder_epoch(struct tt_recorder *r, const struct tt_epoch_record *record)
{
    r->epochs[r->nepochs] = *record;
    r->nepochs++;
    if (r->nepochs == BUFFERED)
        flush(r);
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
    flush(r);
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
    flush(r);
    if (last)
        append(r, TT_CHUNK_ITERATIONS, last, sizeof *last);
    set_state(r, TT_RANK_TERMINATED);
}
