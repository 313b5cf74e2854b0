/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/result.h"
#include "cli/choose.h"
#include "ensemble/run.h"
#include "plan/directory.h"
#include "plan/members.h"

static int check_directory(const char *directory, struct tt_error *e)
{
    struct stat st;

    if (stat(directory, &st) != 0)
        return tt_fail(e, TT_FAILED, "there is no run directory '%s'", directory);
    if (!S_ISDIR(st.st_mode))
        return tt_fail(e, TT_FAILED, "'%s' is not a directory", directory);
    if (!tt_directory_has(directory, "plan.json"))
        return tt_fail(e, TT_FAILED, "'%s' is not a run directory: it has no plan.json", directory);
    return TT_OK;
}

/* The directory of a run of tutti-runs; NULL if there is none. */
static char *directory_of_id(const char *id)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    struct tt_store *store = NULL;
    struct tt_run_rows runs = {0};
    char *filter, *directory = NULL;

    if (strpbrk(id, "/.") || access(id, F_OK) == 0 || asprintf(&filter, "id=%s", id) < 0)
        return NULL;
    if (tt_choose_runs(1, (const char *const *)&filter, &store, &runs, &ignored) == TT_OK &&
        runs.n == 1)
        directory = strdup(runs.rows[0].directory);
    tt_run_rows_free(&runs);
    tt_store_close(store);
    free(filter);
    return directory;
}

int tt_find_run(const char *word, char **directory, struct tt_error *e)
{
    *directory = directory_of_id(word);
    if (!*directory && !(*directory = strdup(word)))
        return tt_fail_nomem(e, "a path");
    return check_directory(*directory, e);
}

bool tt_is_ensemble_directory(const char *directory)
{
    return tt_directory_has(directory, TT_ENSEMBLE_PLAN);
}

static bool is_shown(const char *key)
{
    return strcmp(key, "epochs") != 0;
}

int tt_get_result(const char *directory, json_t **result, struct tt_error *e)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    int rc = check_directory(directory, e);
    const json_t *made_by;
    const char *version;
    json_int_t format;

    *result = NULL;
    if (rc != TT_OK)
        return rc;
    rc = tt_members_read(directory, "result.json", is_shown, result, &ignored);
    made_by = json_object_get(*result, "tutti");
    format = json_integer_value(json_object_get(made_by, "format"));
    if (rc == TT_OK && format == TT_RESULT_FORMAT)
        return TT_OK;
    if (rc == TT_OK && format > TT_RESULT_FORMAT) {
        version = json_string_value(json_object_get(made_by, "version"));
        rc = tt_fail(e, TT_FAILED, "'%s' was made by a newer tutti (%.20s); use that one",
                     directory, version ? version : "unknown");
    } else {
        rc = TT_OK;
    }
    json_decref(*result);
    *result = NULL;
    if (rc == TT_OK)
        rc = tt_result_make(directory, result, e);
    if (rc != TT_OK && *result) { /* a directory that cannot be written to can still be shown */
        tt_error_clear(e);
        rc = TT_OK;
    }
    return rc;
}
