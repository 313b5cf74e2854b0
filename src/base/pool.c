/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/pool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/note.h"

struct tt_pool {
    void (*begin)(void);
    pthread_mutex_t lock; /* of what follows, and of the lists of ended tasks */
    pthread_cond_t work, done;
    struct tt_tasks given;
    bool stopping;
    unsigned waiting; /* for tasks to end */
    unsigned n;
    pthread_t threads[];
};

static void put(struct tt_tasks *list, struct tt_task *task)
{
    task->next = NULL;
    *(list->first ? &list->last->next : &list->first) = task;
    list->last = task;
}

static struct tt_task *get(struct tt_tasks *list)
{
    struct tt_task *task = list->first;

    if (task)
        list->first = task->next;
    return task;
}

/* With e clear before and after. The lock is not held. */
static void run_task(struct tt_task *task, struct tt_error *e)
{
    task->rc = task->run(task->argument, e);
    if (task->rc == TT_OK && e->code == TT_OK) {
        task->error.code = TT_OK;
        return;
    }
    task->error = *e;
    tt_error_clear(e);
}

/* Who waits is woken without the lock, on which it would have to sleep again. */
static void *serve(void *argument)
{
    struct tt_pool *pool = argument;
    struct tt_error e = TT_ERROR_CLEAR;
    bool ended = false; /* a task, since the lock was held before */

    if (pool->begin)
        pool->begin();
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        struct tt_task *task = get(&pool->given);
        bool wake = ended && pool->waiting > 0;

        ended = task != NULL;
        if (!task && !wake) {
            if (pool->stopping)
                break;
            pthread_cond_wait(&pool->work, &pool->lock);
            continue;
        }
        pthread_mutex_unlock(&pool->lock);
        if (wake)
            pthread_cond_broadcast(&pool->done);
        if (task)
            run_task(task, &e);
        pthread_mutex_lock(&pool->lock);
        if (task) {
            task->done = true;
            if (task->ended)
                put(task->ended, task);
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

int tt_pool_start(struct tt_pool **out, unsigned threads, void (*begin)(void), struct tt_error *e)
{
    struct tt_pool *pool = calloc(1, sizeof *pool + threads * sizeof *pool->threads);
    sigset_t all, before;
    int failed = 0;

    *out = pool;
    if (!pool)
        return tt_fail_nomem(e, "threads");
    pool->begin = begin;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    /* Signals belong to the main thread, whose handler must not meet itself in a library. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool->n < threads && !failed) {
        failed = pthread_create(&pool->threads[pool->n], NULL, serve, pool);
        pool->n += !failed;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed)
        return TT_OK;
    tt_fail(e, TT_FAILED, "cannot start thread %u of %u: %s", pool->n + 1, threads,
            strerror(failed));
    tt_pool_stop(pool);
    *out = NULL;
    return TT_FAILED;
}

void tt_pool_submit(struct tt_pool *pool, struct tt_task *task)
{
    task->done = false;
    pthread_mutex_lock(&pool->lock);
    put(&pool->given, task);
    pthread_mutex_unlock(&pool->lock);
    pthread_cond_signal(&pool->work);
}

static void wait_for_an_end(struct tt_pool *pool)
{
    pool->waiting++;
    pthread_cond_wait(&pool->done, &pool->lock);
    pool->waiting--;
}

int tt_pool_wait(struct tt_pool *pool, struct tt_task *task, struct tt_error *e)
{
    uint64_t before = tt_note_waiting(TT_DOING_HELPER);

    pthread_mutex_lock(&pool->lock);
    while (!task->done)
        wait_for_an_end(pool);
    pthread_mutex_unlock(&pool->lock);
    tt_note_end(before);
    if (task->rc != TT_OK && e->code == TT_OK)
        *e = task->error;
    return task->rc;
}

bool tt_pool_has_ended(struct tt_pool *pool, const struct tt_task *task)
{
    bool ended;

    pthread_mutex_lock(&pool->lock);
    ended = task->done;
    pthread_mutex_unlock(&pool->lock);
    return ended;
}

struct tt_task *tt_pool_wait_any(struct tt_pool *pool, struct tt_tasks *ended)
{
    uint64_t before = tt_note_waiting(TT_DOING_HELPER);
    struct tt_task *task;

    pthread_mutex_lock(&pool->lock);
    while (!(task = get(ended)))
        wait_for_an_end(pool);
    pthread_mutex_unlock(&pool->lock);
    tt_note_end(before);
    return task;
}

int tt_pool_call(struct tt_pool *pool, int (*run)(void *, struct tt_error *), void *argument,
                 struct tt_error *e)
{
    struct tt_task task = {.run = run, .argument = argument};

    if (!pool)
        return run(argument, e);
    tt_pool_submit(pool, &task);
    return tt_pool_wait(pool, &task, e);
}

void tt_pool_stop(struct tt_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->stopping = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->n; i++)
        pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->work);
    pthread_cond_destroy(&pool->done);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

/* ---- numbered items ---- */

struct worker {
    struct tt_work *work;
    unsigned number;
    struct tt_task task;
};

struct tt_work {
    struct tt_pool *pool;
    tt_work_item *act;
    void *context;
    uint64_t items;
    atomic_bool stop;
    _Atomic uint64_t advanced, awaited; /* awaited: whoever gets there wakes the main thread */
    pthread_mutex_t lock;               /* of what follows */
    pthread_cond_t progress;
    uint64_t next, done;
    int rc; /* of the first item that failed */
    struct tt_error error;
    struct worker workers[];
};

static int work_through(void *argument, struct tt_error *unused)
{
    struct worker *me = argument;
    struct tt_work *w = me->work;

    (void)unused;
    pthread_mutex_lock(&w->lock);
    while (w->next < w->items && !w->stop) {
        struct tt_error e = TT_ERROR_CLEAR;
        uint64_t item = w->next++;
        int rc;

        pthread_mutex_unlock(&w->lock);
        rc = w->act(w->context, w, me->number, item, &e);
        pthread_mutex_lock(&w->lock);
        w->done++;
        if (rc != TT_OK && w->rc == TT_OK) {
            w->rc = rc;
            w->error = e;
            w->stop = true;
        }
        pthread_cond_signal(&w->progress);
    }
    pthread_mutex_unlock(&w->lock);
    return TT_OK;
}

int tt_work_start(struct tt_work **out, unsigned workers, uint64_t items, tt_work_item *act,
                  void *context, struct tt_error *e)
{
    struct tt_work *w;
    int rc;

    *out = NULL;
    if (workers == 0 || items == 0)
        return TT_OK;
    w = calloc(1, sizeof *w + workers * sizeof *w->workers);
    if (!w)
        return tt_fail_nomem(e, "threads");
    w->act = act;
    w->context = context;
    w->items = items;
    w->awaited = UINT64_MAX;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->progress, NULL);
    rc = tt_pool_start(&w->pool, workers, NULL, e);
    if (rc != TT_OK) {
        tt_work_end(w, true, e);
        return rc;
    }
    for (unsigned i = 0; i < workers; i++) {
        struct worker *each = &w->workers[i];

        *each = (struct worker){w, i, {.run = work_through, .argument = each}};
        tt_pool_submit(w->pool, &each->task);
    }
    *out = w;
    return TT_OK;
}

/* Either the main thread sees the new amount before it sleeps, or this one sees that it waits. */
void tt_work_advance(struct tt_work *w, uint64_t amount)
{
    if (atomic_fetch_add(&w->advanced, amount) + amount < w->awaited)
        return;
    pthread_mutex_lock(&w->lock);
    pthread_cond_signal(&w->progress);
    pthread_mutex_unlock(&w->lock);
}

bool tt_work_should_stop(const struct tt_work *w)
{
    return w->stop;
}

void tt_work_wait(struct tt_work *w, uint64_t amount)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->awaited = amount;
    while (w->advanced < amount && w->done < w->items && w->rc == TT_OK)
        pthread_cond_wait(&w->progress, &w->lock);
    w->awaited = UINT64_MAX;
    pthread_mutex_unlock(&w->lock);
}

int tt_work_end(struct tt_work *w, bool now, struct tt_error *e)
{
    int rc;

    if (!w)
        return TT_OK;
    if (now)
        w->stop = true;
    tt_pool_stop(w->pool);
    rc = w->rc;
    if (rc != TT_OK && e->code == TT_OK)
        *e = w->error;
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->progress);
    free(w);
    return rc;
}

/* ---- now and then ---- */

struct tt_ticker {
    tt_tick *tick;
    void *argument;
    struct tt_pool *pool;
    struct tt_task task;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    bool begun, stopping;
};

static int tick_on(void *argument, struct tt_error *unused)
{
    struct tt_ticker *t = argument;
    int64_t next = t->tick(t->argument, false);

    (void)unused;
    pthread_mutex_lock(&t->lock);
    t->begun = true;
    pthread_cond_broadcast(&t->changed);
    for (bool last = false; !last;) {
        struct timespec at = {.tv_sec = next / 1000000000, .tv_nsec = next % 1000000000};

        while (!t->stopping && pthread_cond_timedwait(&t->changed, &t->lock, &at) != ETIMEDOUT)
            continue;
        last = t->stopping;
        pthread_mutex_unlock(&t->lock);
        next = t->tick(t->argument, last);
        pthread_mutex_lock(&t->lock);
    }
    pthread_mutex_unlock(&t->lock);
    return TT_OK;
}

static void free_ticker(struct tt_ticker *t)
{
    tt_pool_stop(t->pool);
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

int tt_ticker_start(struct tt_ticker **out, tt_tick *tick, void *argument, struct tt_error *e)
{
    struct tt_ticker *t = calloc(1, sizeof *t);
    pthread_condattr_t monotonic;
    int rc;

    *out = NULL;
    if (!t)
        return tt_fail_nomem(e, "a thread");
    t->tick = tick;
    t->argument = argument;
    t->task = (struct tt_task){.run = tick_on, .argument = t};
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&t->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&t->lock, NULL);
    rc = tt_pool_start(&t->pool, 1, NULL, e);
    if (rc != TT_OK) {
        free_ticker(t);
        return rc;
    }
    tt_pool_submit(t->pool, &t->task);
    pthread_mutex_lock(&t->lock);
    while (!t->begun)
        pthread_cond_wait(&t->changed, &t->lock);
    pthread_mutex_unlock(&t->lock);
    *out = t;
    return TT_OK;
}

void tt_ticker_stop(struct tt_ticker *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    t->stopping = true;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
    free_ticker(t);
}
