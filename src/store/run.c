/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run directory on its way into the index. Whatever is in it, the answer is a run or a reason.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
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

/* A rank of another node that was running when it last wrote, which is not long ago. */
static bool runs_elsewhere(int directory, const char *name, const char *here)
{
    struct tt_records_header h;
    struct stat st;
    int fd = openat(directory, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    bool runs = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && changed_lately(&st) &&
                read(fd, &h, sizeof h) == sizeof h && h.magic == TT_RECORDS_MAGIC &&
                h.state == TT_RANK_RUNNING && strncmp(h.host, here, sizeof h.host - 1) != 0;

    if (fd >= 0)
        close(fd);
    return runs;
}

/* Without an outcome. What runs on this node tt_result_make sees by itself. */
static bool may_still_run(const char *directory)
{
    char *records = tt_directory_path(directory, "records"),
         *plan = tt_directory_path(directory, "plan.json");
    char here[HOST_NAME_MAX + 1] = "";
    DIR *d = records ? opendir(records) : NULL;
    struct dirent *entry;
    bool any = false, runs = false;
    struct stat st;

    gethostname(here, sizeof here - 1);
    while (d && !runs && (entry = readdir(d)))
        if (entry->d_name[0] != '.') {
            any = true;
            runs = runs_elsewhere(dirfd(d), entry->d_name, here);
        }
    if (d && !any) /* its ranks may just be starting */
        runs = plan && stat(plan, &st) == 0 && changed_lately(&st);
    if (d)
        closedir(d);
    free(records);
    free(plan);
    return runs;
}

static bool has_outcome(const char *directory)
{
    char *outcome = tt_directory_path(directory, "outcome.json");
    bool there = outcome && access(outcome, F_OK) == 0;

    free(outcome);
    return there;
}

static int check_plan(const char *directory, const json_t *plan, struct tt_error *e)
{
    if (!json_is_string(json_object_get(plan, "workload")) ||
        !json_is_string(json_object_get(plan, "hash")) || tt_integer_of(plan, "ranks") < 1 ||
        !json_is_object(json_object_get(plan, "parameters")))
        return tt_fail(e, TT_CORRUPT,
                       "%s/plan.json is no plan: it needs workload, hash, ranks and parameters",
                       directory);
    return json_object_get(plan, "id") && !tt_plan_id(directory, plan, e) ? TT_CORRUPT : TT_OK;
}

static bool is_status(const char *word)
{
    for (const char *const *known = tt__statuses; *known; known++)
        if (!strcmp(word, *known))
            return true;
    return false;
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
    return json_is_object(metrics) && is_status(tt_text_of(result, "status")) &&
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
    int i = 0;

    while (keys[i] && strcmp(keys[i], key) != 0)
        i++;
    return keys[i];
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
    if (!has_outcome(directory) && may_still_run(directory))
        return tt_fail(e, TT_BUSY, "'%s' may still be running", directory);
    rc = tt_result_make(directory, result, e);
    if (rc == TT_OK || !*result)
        return rc;
    tt_error_clear(e); /* a directory that cannot be written to can still be indexed */
    return TT_OK;
}

int tt__run_read(const char *directory, json_t **plan, json_t **result, struct tt_error *e)
{
    int rc = tt_directory_read_plan(directory, plan, e);

    *result = NULL;
    if (rc == TT_OK)
        rc = check_plan(directory, *plan, e);
    if (rc == TT_OK)
        rc = get_result(directory, *plan, result, e);
    if (rc == TT_OK)
        rc = check_size(directory, *plan, *result, e);
    return rc;
}
