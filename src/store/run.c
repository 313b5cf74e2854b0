/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run directory on its way into the index. Whatever is in it, the answer is a run or a reason.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analysis/result.h"
#include "base/json.h"
#include "record/records.h"
#include "plan/directory.h"
#include "plan/members.h"
#include "plan/removal.h"
#include "spec/param.h"
#include "store/private.h"

/* A run that left no outcome, and whose processes cannot be looked for from here, is taken for dead
 * when it has written nothing for so long. */
#define QUIET_SECONDS 600
/* A run has a few hundred values in groups of groups. */
#define MAX_VALUES 4096
#define MAX_NESTING 4
#define MAX_TEXT 65536

static bool changed_lately(const struct stat *st)
{
    return time(NULL) - st->st_mtime < QUIET_SECONDS;
}

struct looking {
    char here[HOST_NAME_MAX + 1];
    bool any, runs;
};

/* A rank of another node that was running when its node last wrote, which is not long ago. */
static int look_at_node(void *context, const char *path, struct tt_error *e)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    struct tt_records_index index;
    struct looking *l = context;
    struct stat st;

    (void)e;
    l->any = true;
    if (l->runs || lstat(path, &st) != 0 || !changed_lately(&st) ||
        tt_records_index(path, &index, &ignored) != TT_OK)
        return TT_OK;
    for (size_t i = 0; i < index.nranks; i++)
        l->runs = l->runs || (index.ranks[i].state == TT_RANK_RUNNING &&
                              strcmp(index.ranks[i].host, l->here) != 0);
    tt_records_index_free(&index);
    return TT_OK;
}

/* Without an outcome. What runs on this node tt_result_make sees by itself. */
static bool may_still_run(const char *directory)
{
    char *plan = tt_directory_path(directory, "plan.json");
    struct tt_error ignored = TT_ERROR_CLEAR;
    struct looking l = {.any = false};
    struct stat st;

    gethostname(l.here, sizeof l.here - 1);
    if (tt_each_node_file(directory, look_at_node, &l, &ignored) == TT_OK &&
        !l.any) /* its ranks may just be starting */
        l.runs = plan && stat(plan, &st) == 0 && changed_lately(&st);
    free(plan);
    return l.runs;
}

static int check_plan(const char *directory, const json_t *plan, struct tt_error *e)
{
    if (!json_is_string(json_object_get(plan, "workload")) ||
        !json_is_string(json_object_get(plan, "hash")) || tt_integer_of(plan, "ranks") < 1 ||
        !json_is_object(json_object_get(plan, "parameters")))
        return tt_fail(e, TT_CORRUPT,
                       "%s/plan.json is not a plan: it needs workload, hash, ranks and parameters",
                       directory);
    return json_object_get(plan, "id") && !tt_plan_id(directory, plan, e) ? TT_CORRUPT : TT_OK;
}

/* Of this plan, and with all that the index takes from it. */
static bool is_whole(const json_t *result, const json_t *plan)
{
    json_t *metrics = json_object_get(result, "metrics"), *metric, *value;
    const char *key;

    json_object_foreach(metrics, key, metric)
    {
        value = json_object_get(metric, "value");
        if ((!json_is_number(value) && !json_is_null(value)) ||
            !json_is_string(json_object_get(metric, "unit")))
            return false;
    }
    return json_is_object(metrics) && tt_has_word(tt__statuses, tt_text_of(result, "status")) &&
           json_is_boolean(json_object_get(result, "valid")) &&
           json_equal(json_object_get(result, "plan"), plan);
}

/* Values of an object and all in it; beyond MAX_VALUES if it is nested too deeply, or one is too
 * long. */
static size_t count_values(const json_t *object, int depth)
{
    size_t n = json_object_size(object);
    const char *key;
    json_t *value;

    if (!json_is_object(object))
        return json_string_length(object) > MAX_TEXT ? MAX_VALUES + 1 : 0;
    if (depth > MAX_NESTING)
        return MAX_VALUES + 1;
    json_object_foreach((json_t *)object, key, value) n += count_values(value, depth + 1);
    return n;
}

static int check_size(const char *directory, const json_t *plan, const json_t *result,
                      struct tt_error *e)
{
    static const char *const groups[] = {"metrics", "phases", "environment"};
    size_t n = count_values(json_object_get(plan, "parameters"), MAX_NESTING);

    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        n += count_values(json_object_get(result, groups[i]), 0);
    return n <= MAX_VALUES
               ? TT_OK
               : tt_fail(e, TT_CORRUPT, "'%s' holds too many values for a run", directory);
}

/* Epochs and tables of a long run are most of it. */
static bool is_indexed(const char *key)
{
    static const char *const keys[] = {"tutti",  "status",      "valid", "plan", "metrics",
                                       "phases", "environment", "ranks", NULL};

    return tt_has_word(keys, key);
}

static int get_result(const char *directory, const json_t *plan, json_t **result,
                      struct tt_error *e)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    int rc = tt_members_read(directory, "result.json", is_indexed, result, &ignored);
    long long format =
        json_integer_value(json_object_get(json_object_get(*result, "tutti"), "format"));

    if (rc == TT_NOMEM)
        return tt_fail_nomem(e, "a result");
    if (rc == TT_OK && format > TT_RESULT_FORMAT)
        return tt_fail(e, TT_CORRUPT, "%s/result.json was made by a newer tutti", directory);
    if (rc == TT_OK && format == TT_RESULT_FORMAT && is_whole(*result, plan))
        return TT_OK;
    json_decref(*result);
    *result = NULL;
    if (!tt_directory_has(directory, "outcome.json") && may_still_run(directory))
        return tt_fail(e, TT_BUSY, "'%s' may still be running", directory);
    rc = tt_result_make(directory, result, e);
    if (rc == TT_OK || !*result)
        return rc;
    tt_error_clear(e); /* a directory that cannot be written to can still be indexed */
    return TT_OK;
}

static void read_run(const char *directory, struct tt__run *r)
{
    *r = (struct tt__run){.why = TT_ERROR_CLEAR};
    r->rc = tt_directory_read_plan(directory, &r->plan, &r->why);
    if (r->rc == TT_OK)
        r->rc = check_plan(directory, r->plan, &r->why);
    if (r->rc == TT_OK)
        r->rc = get_result(directory, r->plan, &r->result, &r->why);
    if (r->rc == TT_OK)
        r->rc = check_size(directory, r->plan, r->result, &r->why);
}

/* ---- many of them ---- */

#define READERS 2
#define AHEAD 32 /* runs in memory at most */
#define FEW 16   /* for so many no thread is worth its while */

struct ahead {
    size_t n, next, taken; /* all, to be read, and handed over */
    char *const *directories;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct slot {
        struct tt__run run;
        bool ready;
    } slots[AHEAD];
};

/* Reading is half of the work of an index, and needs no database. */
static void *read_ahead(void *context)
{
    struct ahead *a = context;

    pthread_mutex_lock(&a->lock);
    while (a->next < a->n) {
        size_t i = a->next;

        if (i >= a->taken + AHEAD) {
            pthread_cond_wait(&a->changed, &a->lock);
            continue;
        }
        a->next++;
        pthread_mutex_unlock(&a->lock);
        read_run(a->directories[i], &a->slots[i % AHEAD].run);
        pthread_mutex_lock(&a->lock);
        a->slots[i % AHEAD].ready = true;
        pthread_cond_broadcast(&a->changed);
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

/* Waits for a run that is being read, or reads it here if no thread could be had. */
static void wait_for(struct ahead *a, size_t i, bool threads)
{
    if (!threads) {
        read_run(a->directories[i], &a->slots[i % AHEAD].run);
        return;
    }
    pthread_mutex_lock(&a->lock);
    while (!a->slots[i % AHEAD].ready)
        pthread_cond_wait(&a->changed, &a->lock);
    pthread_mutex_unlock(&a->lock);
}

static void leave(struct ahead *a, size_t i)
{
    struct slot *slot = &a->slots[i % AHEAD];

    json_decref(slot->run.plan);
    json_decref(slot->run.result);
    pthread_mutex_lock(&a->lock);
    *slot = (struct slot){0};
    a->taken = i + 1;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

int tt__runs_read(size_t n, char *const *directories, tt__take_run *take, void *context)
{
    struct ahead *a = calloc(1, sizeof *a);
    pthread_t readers[READERS];
    size_t nreaders = 0;
    sigset_t every, before;
    int rc = TT_OK;

    if (!a)
        return TT_NOMEM;
    a->n = n;
    a->directories = directories;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    sigfillset(&every); /* signals are for the main thread */
    pthread_sigmask(SIG_SETMASK, &every, &before);
    while (n > FEW && nreaders < READERS &&
           pthread_create(&readers[nreaders], NULL, read_ahead, a) == 0)
        nreaders++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    for (size_t i = 0; i < n && rc == TT_OK; i++) {
        wait_for(a, i, nreaders > 0);
        rc = take(context, i, &a->slots[i % AHEAD].run);
        leave(a, i);
    }
    pthread_mutex_lock(&a->lock);
    a->n = 0; /* after a failure they end here */
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
    while (nreaders > 0)
        pthread_join(readers[--nreaders], NULL);
    for (size_t i = 0; i < AHEAD; i++) {
        json_decref(a->slots[i].run.plan);
        json_decref(a->slots[i].run.result);
    }
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    free(a);
    return rc;
}
