/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank does: make its files, then read them with a work of threads, pass after pass. The
 * main thread only keeps the books: an iteration is over when another portion of the data has been
 * read, of whatever files. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL /* its states on the stack */
#include <xxhash.h>

#include "base/agree.h"
#include "base/sys.h"
#include "base/pool.h"
#include "engine/engine.h"
#include "node/page_cache.h"
#include "record/trace.h"
#include "workloads/reader/reader.h"

struct file {
    char *path;
    uint64_t number, size; /* of a file that was made */
    uint64_t hash;
    bool hash_known;
};

/* What a thread has to itself. */
struct worker {
    unsigned char *buffer; /* transfer bytes */
    struct tt_histogram opens, reads;
    struct tt_timeline line;
};

struct reader {
    struct tt_engine *engine;
    const struct tt_reader_options *options;
    uint64_t nfiles, bytes;    /* this rank's */
    uint64_t mine, iterations; /* of a pass: until this rank has read all; and every rank */
    struct file *files;
    unsigned nworkers;
    struct worker *workers;
    struct tt_work *work;
    int64_t since;           /* until when reading has been accounted for */
    uint64_t iteration;      /* through all passes */
    _Atomic uint64_t unread; /* bytes that threads have read, not yet accounted for */
    _Atomic uint64_t cached; /* bytes that were in the page cache when a file was opened */
    atomic_bool cache_unknown;
    int failed;
    struct tt_error failure; /* not yet known to all ranks */
};

/* ---- which files ---- */

static bool makes_files(const struct reader *r)
{
    return !r->options->path;
}

/* Every size-th file, from the rank-th on. */
static int share_files(struct reader *r, uint64_t all, struct tt_error *e)
{
    uint64_t rank = (uint64_t)r->engine->rank, size = (uint64_t)r->engine->size;

    r->nfiles = all / size + (rank < all % size);
    r->files = calloc(r->nfiles + 1, sizeof *r->files);
    if (!r->files)
        return tt_fail_nomem(e, "the list of files");
    for (uint64_t i = 0; i < r->nfiles; i++)
        r->files[i].number = rank + i * size;
    return TT_OK;
}

static int name_new_files(struct reader *r, struct tt_error *e)
{
    int rc = share_files(r, r->options->files, e);
    char name[48];

    for (uint64_t i = 0; rc == TT_OK && i < r->nfiles; i++) {
        struct file *f = &r->files[i];

        snprintf(name, sizeof name, "reader-%06llu", (unsigned long long)f->number);
        f->size = tt_reader_size(r->options, r->engine->config->run->seed, f->number);
        r->bytes += f->size;
        f->path = tt_data_path(r->engine, name);
        if (!f->path)
            rc = tt_fail_nomem(e, "a path");
    }
    return rc;
}

/* The paths that belong to this rank, of a list with all of them. How large the files are now is
 * only needed to divide the reading into iterations. */
static int take_paths(struct reader *r, const char *paths, uint64_t all, struct tt_error *e)
{
    uint64_t rank = (uint64_t)r->engine->rank, size = (uint64_t)r->engine->size;
    int rc = share_files(r, all, e);
    struct stat st;

    for (uint64_t i = 0; rc == TT_OK && i < all; i++, paths += strlen(paths) + 1) {
        if (i % size != rank)
            continue;
        r->files[i / size].path = strdup(paths);
        if (!r->files[i / size].path)
            rc = tt_fail_nomem(e, "a path");
        else if (stat(paths, &st) == 0)
            r->bytes += (uint64_t)st.st_size;
    }
    return rc;
}

/* Collective. Rank 0 looks, so that all ranks share the same files. */
static int find_files(struct reader *r, struct tt_error *e)
{
    struct tt_reader_list list = {0};
    uint64_t size[2];
    int rc = TT_OK;

    if (r->engine->rank == 0)
        rc = tt_reader_list_of(r->engine->config, &list, e);
    if (rc == TT_OK && list.length > INT_MAX)
        rc = tt_fail(e, TT_USAGE, "'%s' holds more files than can be listed", r->options->path);
    rc = tt_agree(r->engine->comm, rc, e);
    size[0] = list.n;
    size[1] = list.length;
    if (rc == TT_OK)
        MPI_Bcast(size, 2, MPI_UINT64_T, 0, r->engine->comm);
    if (rc == TT_OK && r->engine->rank != 0 && !(list.paths = malloc(size[1])))
        rc = tt_fail_nomem(e, "the list of files");
    rc = tt_agree(r->engine->comm, rc, e);
    if (rc == TT_OK) {
        MPI_Bcast(list.paths, (int)size[1], MPI_CHAR, 0, r->engine->comm);
        rc = take_paths(r, list.paths, size[0], e);
    }
    free(list.paths);
    return rc;
}

/* Collective. Every rank has at least one iteration, in which it reads what files hold in the end.
 */
static void count_iterations(struct reader *r)
{
    uint64_t portion = r->options->portion;

    r->mine = r->bytes > portion ? (r->bytes + portion - 1) / portion : 1;
    MPI_Allreduce(&r->mine, &r->iterations, 1, MPI_UINT64_T, MPI_MAX, r->engine->comm);
}

static int allocate_workers(struct reader *r, struct tt_error *e)
{
    const struct tt_reader_options *o = r->options;
    uint64_t n = r->nfiles < o->concurrency ? r->nfiles : o->concurrency;

    r->workers = calloc(n + 1, sizeof *r->workers);
    if (!r->workers)
        return tt_fail_nomem(e, "threads");
    while (r->nworkers < n)
        if (posix_memalign((void **)&r->workers[r->nworkers++].buffer, 4096, o->transfer) != 0)
            return tt_fail_nomem(e, "the threads' buffers");
    return TT_OK;
}

/* ---- making files, before the measured time ---- */

/* One after the other, in the main thread: they are ours from here on. */
static int claim_files(struct reader *r, struct tt_error *e)
{
    int rc = TT_OK;

    for (uint64_t i = 0; rc == TT_OK && i < r->nfiles; i++) {
        const char *path = r->files[i].path;
        int fd;

        rc = tt_data_claim(r->engine, path, e);
        if (rc != TT_OK)
            return rc;
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0) {
            rc = tt_fail_call(e, errno, "open", path, -1);
            if (e->sys_errno == EEXIST)
                tt_data_withdraw(r->engine, path);
            return rc;
        }
        close(fd);
        rc = tt_data_made(r->engine, path, 0, e);
    }
    return rc;
}

static int write_all(int fd, const char *path, const unsigned char *data, size_t n, off_t offset,
                     struct tt_error *e)
{
    while (n > 0) {
        struct iovec piece = {(void *)data, n};
        ssize_t moved = tt_sys_pwritev(fd, &piece, 1, offset);

        if (moved < 0 && errno == EINTR)
            continue;
        if (moved < 0)
            return tt_fail_call(e, errno, "write", path, offset);
        data += moved;
        n -= (size_t)moved;
        offset += moved;
    }
    return TT_OK;
}

static int make_file(void *context, struct tt_work *work, unsigned number, uint64_t task,
                     struct tt_error *e)
{
    struct reader *r = context;
    struct file *f = &r->files[task];
    unsigned char *buffer = r->workers[number].buffer;
    uint64_t piece = r->options->transfer / 8 * 8; /* content is words */
    int fd = open(f->path, O_WRONLY | O_CLOEXEC), rc = TT_OK;
    XXH3_state_t state;

    if (fd < 0)
        return tt_fail_call(e, errno, "open", f->path, -1);
    XXH3_64bits_reset(&state);
    for (uint64_t at = 0, n; rc == TT_OK && at < f->size && !tt_work_should_stop(work); at += n) {
        n = f->size - at < piece ? f->size - at : piece;
        tt_reader_fill(r->engine->config->run->seed, f->number, at, buffer, n);
        if (r->options->checksum == TT_READER_XXHASH)
            XXH3_64bits_update(&state, buffer, n);
        rc = write_all(fd, f->path, buffer, n, (off_t)at, e);
    }
    f->hash = XXH3_64bits_digest(&state);
    f->hash_known = true;
    if (rc == TT_OK && fsync(fd) != 0)
        rc = tt_fail_call(e, errno, "fsync", f->path, -1);
    if (close(fd) != 0 && rc == TT_OK)
        rc = tt_fail_call(e, errno, "close", f->path, -1);
    return rc;
}

/* Collective. */
static int make_files(struct reader *r, struct tt_error *e)
{
    int rc = tt_limits_check_dump(r->engine, 1, r->bytes, r->bytes, e);

    if (rc != TT_OK)
        return rc;
    rc = claim_files(r, e);
    if (rc == TT_OK)
        rc = tt_work_start(&r->work, r->nworkers, r->nfiles, make_file, r, e);
    if (rc == TT_OK)
        rc = tt_work_end(r->work, false, e);
    r->work = NULL;
    for (uint64_t i = 0; rc == TT_OK && i < r->nfiles; i++)
        tt_data_mark(r->engine, r->files[i].path);
    return rc;
}

/* ---- reading, by threads ---- */

/* A file that is there may have become a pipe since it was listed. */
static int open_file(const char *path, struct worker *worker, struct stat *st, int *fd,
                     struct tt_error *e)
{
    int64_t t = tt_now_ns(), now;

    *fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    now = tt_now_ns();
    tt_histogram_add(&worker->opens, now - t);
    tt_trace_call(TT_TRACE_ALL, TT_CALL_OPEN, 0, t, now);
    if (*fd < 0 || fstat(*fd, st) != 0)
        return tt_fail_call(e, errno, "open", path, -1);
    return S_ISREG(st->st_mode) ? TT_OK : tt_fail(e, TT_FAILED, "'%s' is not a regular file", path);
}

static int look_into_cache(struct reader *r, int fd, const char *path, uint64_t size,
                           struct tt_error *e)
{
    int rc = r->options->cold ? tt_cache_evict(fd, path, e) : TT_OK;
    int64_t resident;

    resident = tt_cache_resident(fd, size);
    if (resident >= 0)
        r->cached += (uint64_t)resident;
    else
        r->cache_unknown = true;
    return rc;
}

/* From beginning to end, or until told to stop; *at is how far it came. */
static int read_through(struct reader *r, int fd, const char *path, struct worker *worker,
                        XXH3_state_t *state, struct tt_work *work, uint64_t *at, struct tt_error *e)
{
    struct iovec piece = {worker->buffer, r->options->transfer};

    for (*at = 0; !tt_work_should_stop(work);) {
        int64_t t = tt_now_ns(), now;
        ssize_t n = tt_sys_preadv(fd, &piece, 1, (off_t)*at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return tt_fail_call(e, errno, "read", path, (long long)*at);
        if (n == 0)
            break;
        now = tt_now_ns();
        tt_histogram_add(&worker->reads, now - t);
        tt_timeline_add(&worker->line, tt_since_start(r->engine, t), tt_since_start(r->engine, now),
                        (uint64_t)n);
        tt_trace_call(TT_TRACE_ALL, TT_CALL_READ, 0, t, now);
        r->unread += (uint64_t)n;
        tt_work_advance(work, (uint64_t)n);
        *at += (uint64_t)n;
        if (r->options->checksum == TT_READER_XXHASH)
            XXH3_64bits_update(state, worker->buffer, (size_t)n);
    }
    return TT_OK;
}

static int compare(const struct reader *r, struct file *f, uint64_t bytes, uint64_t hash,
                   struct tt_error *e)
{
    if (makes_files(r) && bytes != f->size)
        return tt_fail(e, TT_CORRUPT, "'%s' has %llu bytes instead of %llu", f->path,
                       (unsigned long long)bytes, (unsigned long long)f->size);
    if (r->options->checksum == TT_READER_XXHASH && f->hash_known && hash != f->hash)
        return tt_fail(e, TT_CORRUPT, "'%s' was not read as it was %s", f->path,
                       makes_files(r) ? "written" : "in the first pass");
    f->hash = hash;
    f->hash_known = true;
    return TT_OK;
}

static int read_file(void *context, struct tt_work *work, unsigned number, uint64_t task,
                     struct tt_error *e)
{
    struct reader *r = context;
    struct file *f = &r->files[task];
    struct worker *worker = &r->workers[number];
    XXH3_state_t state;
    uint64_t bytes = 0;
    struct stat st;
    int fd, rc = open_file(f->path, worker, &st, &fd, e);

    XXH3_64bits_reset(&state);
    if (rc == TT_OK)
        rc = look_into_cache(r, fd, f->path, (uint64_t)st.st_size, e);
    if (rc == TT_OK)
        rc = read_through(r, fd, f->path, worker, &state, work, &bytes, e);
    if (rc == TT_OK && !tt_work_should_stop(work))
        rc = compare(r, f, bytes, XXH3_64bits_digest(&state), e);
    if (fd >= 0)
        close(fd);
    return rc;
}

/* ---- the books, by the main thread ---- */

/* The main thread was waiting since then; if the threads were still at it, they have been reading
 * since the last entry, also while ranks met at the beginning of this iteration. */
static void account(struct reader *r, int64_t waiting_since, bool reading)
{
    tt_phase_add(r->engine, TT_LOAD, waiting_since);
    if (reading)
        tt_phase_add(r->engine, TT_IO_READ, r->since);
    r->since = tt_now_ns();
    tt_count_read(r->engine, atomic_exchange(&r->unread, 0));
}

static void end_work(struct reader *r, bool now)
{
    int rc = tt_work_end(r->work, now, &r->failure);

    r->failed = r->failed == TT_OK ? rc : r->failed;
    r->work = NULL;
}

/* A rank that has failed, or has less to read than others, still takes part in every iteration. */
static int read_pass(struct reader *r, uint64_t total, struct tt_error *e)
{
    int rc = TT_OK;

    tt_iterations_apart(r->engine);
    r->since = tt_now_ns();
    r->failed = tt_work_start(&r->work, r->nworkers, r->nfiles, read_file, r, &r->failure);
    for (uint64_t i = 1; rc == TT_OK && i <= r->iterations; i++) {
        bool reading = r->work && i <= r->mine;
        int64_t t;

        rc = tt_iteration_begin(r->engine, ++r->iteration, total, e);
        t = tt_now_ns();
        if (rc == TT_OK && reading)
            tt_work_wait(r->work, i * r->options->portion);
        if (rc != TT_OK || i >= r->mine)
            end_work(r, rc != TT_OK);
        account(r, t, reading);
        tt_iteration_end(r->engine);
    }
    r->failed = tt_agree(r->engine->comm, r->failed, &r->failure);
    if (r->failed != TT_OK)
        *e = r->failure; /* outweighs the reason to stop */
    return r->failed != TT_OK ? r->failed : rc;
}

/* Collective. */
static void report(struct reader *r)
{
    int mine = r->cache_unknown, unknown;

    for (unsigned i = 0; i < r->nworkers; i++) {
        tt_calls_merge(r->engine, TT_CALL_OPEN, &r->workers[i].opens);
        tt_calls_merge(r->engine, TT_CALL_READ, &r->workers[i].reads);
        tt_timeline_join(r->engine, TT_READING, &r->workers[i].line);
    }
    MPI_Allreduce(&mine, &unknown, 1, MPI_INT, MPI_MAX, r->engine->comm);
    if (!unknown)
        tt_result(r->engine, "bytes_cached", TT_RESULT_SUM, (double)r->cached);
}

static int measured(struct reader *r, struct tt_error *e)
{
    bool endless = tt_engine_is_endless(r->engine);
    int rc = tt_engine_start(r->engine, e);

    for (uint64_t pass = 0; rc == TT_OK && (endless || pass < r->options->passes); pass++)
        rc = read_pass(r, r->options->passes * r->iterations, e);
    if (rc == TT_OK)
        rc = tt_engine_stop(r->engine, e);
    report(r);
    return rc;
}

static void free_reader(struct reader *r)
{
    for (uint64_t i = 0; r->files && i < r->nfiles; i++)
        free(r->files[i].path);
    for (unsigned i = 0; i < r->nworkers; i++)
        free(r->workers[i].buffer);
    free(r->files);
    free(r->workers);
}

int tt_reader_run(struct tt_engine *engine, struct tt_error *e)
{
    struct reader r = {.engine = engine,
                       .options = tt_config_opts(engine->config, "reader"),
                       .failure = TT_ERROR_CLEAR};
    int rc = makes_files(&r) ? name_new_files(&r, e) : find_files(&r, e);

    if (rc == TT_OK)
        rc = allocate_workers(&r, e);
    rc = tt_agree(engine->comm, rc, e);
    if (rc == TT_OK)
        count_iterations(&r);
    if (rc == TT_OK && makes_files(&r))
        rc = tt_agree(engine->comm, make_files(&r, e), e);
    if (rc == TT_OK)
        rc = measured(&r, e);
    free_reader(&r);
    return rc;
}
