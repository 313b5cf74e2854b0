/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/result.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/result.h"
#include "plan/folder.h"
#include "plan/members.h"

static int check_folder(const char *folder, struct tt_error *e)
{
    struct stat st;
    char *plan;
    int rc = TT_OK;

    if (stat(folder, &st) != 0)
        return tt_fail(e, TT_FAILED, "there is no run folder '%s'", folder);
    if (!S_ISDIR(st.st_mode))
        return tt_fail(e, TT_FAILED, "'%s' is not a folder", folder);
    plan = tt_folder_path(folder, "plan.json");
    if (!plan)
        return tt_fail_nomem(e, "a path");
    if (access(plan, F_OK) != 0)
        rc = tt_fail(e, TT_FAILED, "'%s' is no run folder: it has no plan.json", folder);
    free(plan);
    return rc;
}

static int check_version(const char *folder, const json_t *result, struct tt_error *e)
{
    const json_t *made_by = json_object_get(result, "tutti");
    const char *version = json_string_value(json_object_get(made_by, "version"));

    if (json_integer_value(json_object_get(made_by, "format")) <= TT_RESULT_FORMAT)
        return TT_OK;
    return tt_fail(e, TT_FAILED, "'%s' was made by a newer tutti (%.20s); use that one", folder,
                   version ? version : "unknown");
}

static bool is_shown(const char *key)
{
    return strcmp(key, "epochs") != 0;
}

int tt_get_result(const char *folder, json_t **result, struct tt_error *e)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    int rc = check_folder(folder, e);

    *result = NULL;
    if (rc != TT_OK)
        return rc;
    if (tt_members_read(folder, "result.json", is_shown, result, &ignored) != TT_OK) {
        rc = tt_result_make(folder, result, e);
        if (!*result)
            return rc;
        tt_error_clear(e); /* a folder that cannot be written to can still be shown */
    }
    rc = check_version(folder, *result, e);
    if (rc != TT_OK) {
        json_decref(*result);
        *result = NULL;
    }
    return rc;
}
