/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/helper.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/note.h"

struct tt_helper {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    struct tt_job *first, *last;
    bool stopping;
};

static void *serve(void *argument)
{
    struct tt_helper *h = argument;

    tt_note_as_helper();
    pthread_mutex_lock(&h->lock);
    for (;;) {
        struct tt_job *job = h->first;

        if (!job && h->stopping)
            break;
        if (!job) {
            pthread_cond_wait(&h->work, &h->lock);
            continue;
        }
        h->first = job->next;
        pthread_mutex_unlock(&h->lock);
        tt_error_clear(&job->error);
        job->rc = job->run(job->argument, &job->error);
        pthread_mutex_lock(&h->lock);
        job->done = true;
        pthread_cond_broadcast(&h->done);
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

int tt_helper_start(struct tt_helper **out, struct tt_error *e)
{
    struct tt_helper *h = calloc(1, sizeof *h);
    sigset_t all, before;
    int failed;

    *out = NULL;
    if (!h)
        return tt_fail_nomem(e, "the helper thread");
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->work, NULL);
    pthread_cond_init(&h->done, NULL);
    /* Signals belong to the main thread, whose handler must not meet itself in a library. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(&h->thread, NULL, serve, h);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        free(h);
        return tt_fail_call(e, failed, "pthread_create", NULL, -1);
    }
    *out = h;
    return TT_OK;
}

void tt_helper_submit(struct tt_helper *h, struct tt_job *job)
{
    job->done = false;
    job->next = NULL;
    pthread_mutex_lock(&h->lock);
    if (h->first)
        h->last->next = job;
    else
        h->first = job;
    h->last = job;
    pthread_cond_signal(&h->work);
    pthread_mutex_unlock(&h->lock);
}

int tt_helper_wait(struct tt_helper *h, struct tt_job *job, struct tt_error *e)
{
    uint64_t before = tt_note_waiting(TT_DOING_HELPER);

    pthread_mutex_lock(&h->lock);
    while (!job->done)
        pthread_cond_wait(&h->done, &h->lock);
    pthread_mutex_unlock(&h->lock);
    tt_note_end(before);
    if (job->rc != TT_OK && e->code == TT_OK)
        *e = job->error;
    return job->rc;
}

int tt_helper_call(struct tt_helper *h, int (*run)(void *, struct tt_error *), void *argument,
                   struct tt_error *e)
{
    struct tt_job job = {.run = run, .argument = argument};

    if (!h)
        return run(argument, e);
    tt_helper_submit(h, &job);
    return tt_helper_wait(h, &job, e);
}

void tt_helper_stop(struct tt_helper *h)
{
    if (!h)
        return;
    pthread_mutex_lock(&h->lock);
    h->stopping = true;
    pthread_cond_signal(&h->work);
    pthread_mutex_unlock(&h->lock);
    pthread_join(h->thread, NULL);
    pthread_cond_destroy(&h->work);
    pthread_cond_destroy(&h->done);
    pthread_mutex_destroy(&h->lock);
    free(h);
}
