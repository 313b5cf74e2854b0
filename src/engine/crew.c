/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/crew.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

struct member {
    struct tt_crew *crew;
    unsigned number;
    pthread_t thread;
};

struct tt_crew {
    tt_crew_task *act;
    void *context;
    uint64_t tasks;
    atomic_bool stop;
    _Atomic uint64_t advanced, awaited; /* awaited: whoever gets there wakes the main thread */
    pthread_mutex_t lock;               /* of what follows */
    pthread_cond_t progress;
    uint64_t next, done;
    int rc; /* of the first task that failed */
    struct tt_error error;
    unsigned nmembers;
    struct member members[];
};

static void finish(struct tt_crew *c, int rc, const struct tt_error *e)
{
    c->done++;
    if (rc != TT_OK && c->rc == TT_OK) {
        c->rc = rc;
        c->error = *e;
        c->stop = true;
    }
    pthread_cond_signal(&c->progress);
}

static void *work(void *argument)
{
    struct member *m = argument;
    struct tt_crew *c = m->crew;

    pthread_mutex_lock(&c->lock);
    while (c->next < c->tasks && !c->stop) {
        struct tt_error e = TT_ERROR_CLEAR;
        uint64_t task = c->next++;
        int rc;

        pthread_mutex_unlock(&c->lock);
        rc = c->act(c->context, c, m->number, task, &e);
        pthread_mutex_lock(&c->lock);
        finish(c, rc, &e);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* Signals belong to the main thread, whose handler must not meet itself in a library. */
static int start_members(struct tt_crew *c, unsigned members, struct tt_error *e)
{
    sigset_t all, before;
    int failed = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (c->nmembers < members && !failed) {
        struct member *m = &c->members[c->nmembers];

        *m = (struct member){.crew = c, .number = c->nmembers};
        failed = pthread_create(&m->thread, NULL, work, m);
        c->nmembers += !failed;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed ? tt_fail_call(e, failed, "pthread_create", NULL, -1) : TT_OK;
}

int tt_crew_start(struct tt_crew **out, unsigned members, uint64_t tasks, tt_crew_task *act,
                  void *context, struct tt_error *e)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    struct tt_crew *c;
    int rc;

    *out = NULL;
    if (members == 0 || tasks == 0)
        return TT_OK;
    c = calloc(1, sizeof *c + members * sizeof *c->members);
    if (!c)
        return tt_fail_nomem(e, "threads");
    c->act = act;
    c->context = context;
    c->tasks = tasks;
    c->awaited = UINT64_MAX;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->progress, NULL);
    rc = start_members(c, members, e);
    if (rc == TT_OK)
        *out = c;
    else
        tt_crew_end(c, true, &ignored);
    return rc;
}

/* Either the main thread sees the new amount before it sleeps, or this one sees that it waits. */
void tt_crew_advance(struct tt_crew *c, uint64_t amount)
{
    if (atomic_fetch_add(&c->advanced, amount) + amount < c->awaited)
        return;
    pthread_mutex_lock(&c->lock);
    pthread_cond_signal(&c->progress);
    pthread_mutex_unlock(&c->lock);
}

bool tt_crew_should_stop(const struct tt_crew *c)
{
    return c->stop;
}

void tt_crew_wait(struct tt_crew *c, uint64_t amount)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->awaited = amount;
    while (c->advanced < amount && c->done < c->tasks && c->rc == TT_OK)
        pthread_cond_wait(&c->progress, &c->lock);
    c->awaited = UINT64_MAX;
    pthread_mutex_unlock(&c->lock);
}

int tt_crew_end(struct tt_crew *c, bool now, struct tt_error *e)
{
    int rc;

    if (!c)
        return TT_OK;
    if (now)
        c->stop = true;
    for (unsigned i = 0; i < c->nmembers; i++)
        pthread_join(c->members[i].thread, NULL);
    rc = c->rc;
    if (rc != TT_OK && e->code == TT_OK)
        *e = c->error;
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->progress);
    free(c);
    return rc;
}
