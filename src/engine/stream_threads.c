/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/stream_threads.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct queue {
    struct tt_job *first, *last;
    pthread_cond_t filled;
};

struct tt_stream_threads {
    pthread_mutex_t lock;
    struct queue given, ended;
    bool stopping;
    unsigned n;
    pthread_t threads[];
};

static void put(struct queue *q, struct tt_job *job)
{
    job->next = NULL;
    if (q->first)
        q->last->next = job;
    else
        q->first = job;
    q->last = job;
    pthread_cond_signal(&q->filled);
}

static struct tt_job *get(struct queue *q)
{
    struct tt_job *job = q->first;

    if (job)
        q->first = job->next;
    return job;
}

static void *serve(void *argument)
{
    struct tt_stream_threads *t = argument;

    pthread_mutex_lock(&t->lock);
    while (!t->stopping) {
        struct tt_job *job = get(&t->given);

        if (!job) {
            pthread_cond_wait(&t->given.filled, &t->lock);
            continue;
        }
        pthread_mutex_unlock(&t->lock);
        tt_error_clear(&job->error);
        job->rc = job->run(job->argument, &job->error);
        pthread_mutex_lock(&t->lock);
        put(&t->ended, job);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

int tt_stream_threads_start(unsigned n, struct tt_stream_threads **out, struct tt_error *e)
{
    struct tt_stream_threads *t = calloc(1, sizeof *t + n * sizeof *t->threads);
    sigset_t all, before;
    int failed = 0;

    *out = t;
    if (!t)
        return tt_fail_nomem(e, "threads");
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->given.filled, NULL);
    pthread_cond_init(&t->ended.filled, NULL);
    /* Signals belong to the main thread, whose handler must not meet itself in a library. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (t->n < n && !failed) {
        failed = pthread_create(&t->threads[t->n], NULL, serve, t);
        t->n += !failed;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed)
        return TT_OK;
    tt_fail(e, TT_FAILED, "cannot start thread %u of %u: %s", t->n + 1, n, strerror(failed));
    tt_stream_threads_stop(t);
    *out = NULL;
    return TT_FAILED;
}

void tt_stream_threads_give(struct tt_stream_threads *t, struct tt_job *job)
{
    pthread_mutex_lock(&t->lock);
    put(&t->given, job);
    pthread_mutex_unlock(&t->lock);
}

struct tt_job *tt_stream_threads_take(struct tt_stream_threads *t)
{
    struct tt_job *job;

    pthread_mutex_lock(&t->lock);
    while (!(job = get(&t->ended)))
        pthread_cond_wait(&t->ended.filled, &t->lock);
    pthread_mutex_unlock(&t->lock);
    return job;
}

void tt_stream_threads_stop(struct tt_stream_threads *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    t->stopping = true;
    pthread_cond_broadcast(&t->given.filled);
    pthread_mutex_unlock(&t->lock);
    for (unsigned i = 0; i < t->n; i++)
        pthread_join(t->threads[i], NULL);
    pthread_cond_destroy(&t->given.filled);
    pthread_cond_destroy(&t->ended.filled);
    pthread_mutex_destroy(&t->lock);
    free(t);
}
