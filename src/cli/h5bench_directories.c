/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/h5bench_directories.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "plan/directory.h"
#include "plan/removal.h"

typedef bool visit_function(const char *directory);

/* True: it was for one of them. */
static bool visit_each(const char *parent, visit_function *visit)
{
    DIR *dir = opendir(parent);
    struct dirent *entry;
    bool found = false;

    while (dir && (entry = readdir(dir))) {
        char *directory = entry->d_name[0] == '.' ? NULL : tt_directory_path(parent, entry->d_name);

        if (directory)
            found |= visit(directory);
        free(directory);
    }
    if (dir)
        closedir(dir);
    return found;
}

static bool is_interrupted(const char *directory)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    json_t *outcome = NULL;
    const char *status;
    bool found;

    if (tt_directory_read_json(directory, "outcome.json", &outcome, &ignored) != TT_OK)
        return false;
    status = json_string_value(json_object_get(outcome, "status"));
    found = status && !strcmp(status, "interrupted");
    json_decref(outcome);
    return found;
}

static bool remove_data(const char *directory)
{
    struct tt_error e = TT_ERROR_CLEAR;
    bool failed = tt_manifest_remove(directory, &e) != TT_OK;

    if (e.code != TT_OK)
        tt_report_error(&e);
    return failed;
}

bool tt_h5bench_was_interrupted(const char *parent)
{
    return visit_each(parent, is_interrupted);
}

bool tt_h5bench_remove_data(const char *parent)
{
    return visit_each(parent, remove_data);
}
