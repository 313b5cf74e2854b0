/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One thread of a process makes all calls below, for all files: libraries that are not thread-safe
 * are called by nobody else, and collective calls come in the order of the program, which is the
 * same on all ranks. After a failure the calls are still made, with nothing, since other ranks wait
 * in them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "base/agree.h"
#include "base/clock.h"
#include "base/note.h"
#include "base/yield.h"
#include "io/calls.h"
#include "io/layers/cache/parts.h"

/* ---- the thread ---- */

static struct {
    pthread_mutex_t lock;
    unsigned users;
    struct tt_pool *pool;
} mover = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void begin_mover(void)
{
    tt_note_as_mover();
    tt_yield_as_helper();
}

int tt__mover_start(struct tt_error *e)
{
    int rc = TT_OK;

    pthread_mutex_lock(&mover.lock);
    if (mover.users == 0)
        rc = tt_pool_start(&mover.pool, 1, begin_mover, e);
    mover.users += rc == TT_OK;
    pthread_mutex_unlock(&mover.lock);
    return rc;
}

void tt__mover_stop(void)
{
    struct tt_pool *last = NULL;

    pthread_mutex_lock(&mover.lock);
    if (--mover.users == 0) {
        last = mover.pool;
        mover.pool = NULL;
    }
    pthread_mutex_unlock(&mover.lock);
    tt_pool_stop(last);
}

/* ---- failures ---- */

static bool has_failed(struct cache *c)
{
    bool failed;

    pthread_mutex_lock(&c->lock);
    failed = c->rc != TT_OK;
    pthread_mutex_unlock(&c->lock);
    return failed;
}

static void keep_failure(struct cache *c, int rc, const struct tt_error *e)
{
    pthread_mutex_lock(&c->lock);
    if (c->rc == TT_OK) {
        c->rc = rc;
        c->error = *e;
    }
    pthread_mutex_unlock(&c->lock);
}

int tt__cache_failure(struct cache *c, struct tt_error *e)
{
    int rc;

    pthread_mutex_lock(&c->lock);
    rc = c->rc;
    if (rc != TT_OK && e->code == TT_OK)
        *e = c->error;
    pthread_mutex_unlock(&c->lock);
    return rc;
}

/* ---- what a job does, in the mover ---- */

/* What the system answered is judged by the thread that asked. */
static int judge(const struct cache *c, int rc, bool closed, struct tt_error *e)
{
    const struct tt_file *file = c->below;

    while (file->below)
        file = file->below;
    return file->spec ? tt_calls_judge(file, rc, closed, e) : rc;
}

static void select_nothing(const struct cache *c, struct tt_block *b)
{
    const struct tt_variable *v = &c->spec.variables[b->variable];

    tt_select_none(&b->file, v->ndims, v->dims);
    tt_select_none(&b->memory, v->ndims, v->dims);
}

static int open_below(struct cache_job *j, struct tt_error *e)
{
    struct cache *c = j->cache;
    int rc = tt_below_open(c->top, &c->spec, e);

    return judge(c, rc, false, e);
}

static int move(struct cache_job *j, struct tt_error *e)
{
    struct cache *c = j->cache;
    struct tt_block b = j->block;
    int rc = TT_OK, below;

    if (j->bytes > 0 && !has_failed(c))
        rc = tt__store_fetch(&c->store, j->position, j->bytes, j->blocks, &b.data, e);
    if (rc != TT_OK || has_failed(c))
        select_nothing(c, &b);
    below = tt_file_write(c->below, j->step, &b, e);
    rc = rc == TT_OK ? below : rc;
    if (rc == TT_OK && j->bytes > 0 && !has_failed(c))
        rc = tt__store_moved(&c->store, j->call + 1, false, e);
    return rc;
}

/* What is in the store and was written before must not come after it, also in a conversion. */
static int pass_through(struct cache_job *j, struct tt_error *e)
{
    struct cache *c = j->cache;
    struct tt_block b = j->block;
    int rc = TT_OK, below;

    if (!has_failed(c) && c->store.local && c->store.fd >= 0)
        rc = tt_node_cache_set_moved(c->store.fd, c->store.path, j->call, e);
    if (rc != TT_OK || has_failed(c))
        select_nothing(c, &b);
    below = tt_file_write(c->below, j->step, &b, e);
    return rc == TT_OK ? below : rc;
}

/* What cannot be read ahead will be seen when it is read. */
static int read_ahead(struct cache_job *j)
{
    struct cache *c = j->cache;
    struct tt_error ignored = TT_ERROR_CLEAR;
    struct tt_block b = j->block;

    b.data = j->bytes > 0 ? malloc(j->bytes) : NULL;
    if (!b.data)
        select_nothing(c, &b);
    if (tt_file_read(c->below, j->step, &b, &ignored) == TT_OK && b.data) {
        tt__piece_put(&c->store, j->name, b.data, j->bytes);
        c->counts[CACHE_FETCHED] += j->bytes;
    }
    free(b.data);
    return TT_OK;
}

static int sync_below(struct cache_job *j, struct tt_error *e)
{
    struct cache *c = j->cache;
    int rc = tt_file_sync(c->below, e);

    if (rc == TT_OK && c->writes && !has_failed(c))
        rc = tt__store_moved(&c->store, j->call, true, e);
    return rc;
}

/* A later run may have put another file there. */
static int remove_mark(const struct cache *c, struct tt_error *e)
{
    struct stat st;

    if (stat(c->path, &st) == 0 && c->versioned && st.st_ino != c->version.inode)
        return TT_OK;
    return removexattr(c->path, TT_NODE_CACHE_MARK) != 0 && errno != ENODATA && c->store.local
               ? tt_fail_call(e, errno, "removexattr", c->path, -1)
               : TT_OK;
}

/* Only when all ranks have moved what they had is the target whole. */
static int close_below(struct cache_job *j, struct tt_error *e)
{
    struct cache *c = j->cache;
    bool own_comm = c->spec.comm != MPI_COMM_SELF;
    int rc = tt__cache_failure(c, e), below = tt_below_close(c->top, e);

    below = judge(c, below, true, e);
    rc = tt_agree_patiently(c->spec.comm, rc == TT_OK ? below : rc, e);
    tt_calls_end(c->path);
    if (rc == TT_OK && c->marked) {
        if (c->rank == 0)
            rc = remove_mark(c, e);
        /* Nobody may miss a cache of a target that is whole: they go after the mark. */
        rc = tt_agree_patiently(c->spec.comm, rc, e);
    }
    tt__store_close(&c->store, rc != TT_OK);
    if (own_comm)
        MPI_Comm_free(&c->spec.comm);
    return rc;
}

static int act(struct cache_job *j, struct tt_error *e)
{
    struct cache *c = j->cache;

    switch (j->act) {
    case CACHE_OPEN:
        return open_below(j, e);
    case CACHE_DEFINE:
        return tt_file_define(c->below, j->step, e);
    case CACHE_MOVE:
        return move(j, e);
    case CACHE_THROUGH:
        return pass_through(j, e);
    case CACHE_READ:
        return tt_file_read(c->below, j->step, &j->block, e);
    case CACHE_READ_AHEAD:
        return read_ahead(j);
    case CACHE_SYNC:
        return sync_below(j, e);
    case CACHE_CLOSE:
        return close_below(j, e);
    case CACHE_NOTHING:
        break;
    }
    return TT_OK;
}

static int run_job(void *job, struct tt_error *e)
{
    struct cache_job *j = job;
    struct cache *c = j->cache;
    int64_t start = tt_now_ns(), cpu = tt_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    int rc = act(j, e);

    if (rc != TT_OK && c->writes && j->act != CACHE_READ)
        keep_failure(c, rc, e);
    c->busy_ns += tt_now_ns() - start;
    c->busy_cpu_ns += tt_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
    return rc;
}

/* ---- by the caller ---- */

static bool copy_block(struct cache_job *j)
{
    struct tt_block *b = &j->block;
    uint64_t n = tt_selection_count(&b->file);

    b->data = NULL;
    if (b->file.kind == TT_SELECT_NONE)
        return true;
    tt_select_all(&b->memory, 1, &n);
    if (b->file.kind != TT_SELECT_RUNS)
        return true;
    j->runs = malloc(b->file.nruns * sizeof *j->runs);
    if (!j->runs)
        return false;
    memcpy(j->runs, b->file.runs, b->file.nruns * sizeof *j->runs);
    b->file.runs = j->runs;
    return true;
}

struct cache_job tt__job_of(struct cache *c, enum cache_act act, uint64_t step,
                            const struct tt_block *b)
{
    return (struct cache_job){.cache = c,
                              .act = act,
                              .step = step,
                              .call = c->calls,
                              .block = b ? *b : (struct tt_block){0}};
}

struct cache_job *tt__job_make(struct cache *c, enum cache_act act, uint64_t step,
                               const struct tt_block *b)
{
    struct cache_job *j = calloc(1, sizeof *j);

    if (!j)
        return NULL;
    *j = tt__job_of(c, act, step, b);
    j->own = true;
    if (b && !copy_block(j)) {
        tt__job_drop(j);
        return NULL;
    }
    return j;
}

void tt__job_drop(struct cache_job *j)
{
    free(j->runs);
    free(j->blocks);
    if (j->own)
        free(j);
}

void tt__job_submit(struct cache_job *j)
{
    struct cache *c = j->cache;

    j->task = (struct tt_task){.run = run_job, .argument = j, .error = TT_ERROR_CLEAR};
    *(c->newest ? &c->newest->next : &c->oldest) = j;
    c->newest = j;
    tt_pool_submit(mover.pool, &j->task);
}

static void drop_oldest(struct cache *c)
{
    struct cache_job *j = c->oldest;

    c->oldest = j->next;
    if (!c->oldest)
        c->newest = NULL;
    tt__job_drop(j);
}

int tt__job_wait(struct cache_job *j, struct tt_error *e)
{
    struct cache *c = j->cache;
    int64_t start = tt_now_ns();
    int rc = tt_pool_wait(mover.pool, &j->task, e);
    bool last = false;

    c->waited_ns += tt_now_ns() - start;
    while (!last) {
        last = c->oldest == j;
        drop_oldest(c);
    }
    return rc;
}

bool tt__job_has_ended(const struct cache_job *j)
{
    return tt_pool_has_ended(mover.pool, &j->task);
}

int tt__job_call(struct cache *c, enum cache_act act, uint64_t step, const struct tt_block *b,
                 struct tt_error *e)
{
    struct cache_job j = tt__job_of(c, act, step, b);

    tt__job_submit(&j);
    return tt__job_wait(&j, e);
}

int tt__job_leave(struct cache *c, enum cache_act act, uint64_t step, const struct tt_block *b,
                  struct tt_error *e)
{
    struct cache_job *j;

    tt__jobs_reap(c, false);
    j = tt__job_make(c, act, step, b);
    if (!j)
        return tt__job_call(c, act, step, b, e);
    tt__job_submit(j);
    return TT_OK;
}

bool tt__jobs_reap(struct cache *c, bool wait)
{
    struct tt_error ignored = TT_ERROR_CLEAR;

    if (wait && c->oldest)
        tt__job_wait(c->oldest, &ignored); /* what failed is kept */
    else if (wait)
        return false;
    while (c->oldest && tt__job_has_ended(c->oldest))
        drop_oldest(c);
    return true;
}

void tt__cache_free(struct cache *c)
{
    while (c->oldest)
        drop_oldest(c);
    tt__mover_stop();
    pthread_mutex_destroy(&c->lock);
    free(c->path);
    free(c);
}
