/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti clean DIRECTORY|ID: remove the data files of runs that could not do so themselves, since
 * they were killed, or were told to keep them. */
#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/option.h"
#include "cli/result.h"
#include "record/liveness.h"
#include "plan/directory.h"
#include "plan/removal.h"
#include "survey/survey.h"

/* A survey, an ensemble or a workflow of h5bench; not any directory, whose runs may be anybody's.
 */
static bool holds_many(const char *directory)
{
    char *path = realpath(directory, NULL);
    const char *name = path ? strrchr(path, '/') : NULL;
    bool workflow = name && !strncmp(name, "/h5bench-", 9);

    free(path);
    return workflow || tt_survey_is_directory(directory) || tt_is_ensemble_directory(directory);
}

static int clean_run(const char *directory, bool force, uint64_t *removed, struct tt_error *e)
{
    int rc = force ? TT_OK : tt_check_liveness(directory, e);

    return rc == TT_OK ? tt_clean_data(directory, removed, e) : rc;
}

static bool is_run(const char *directory)
{
    char *plan = tt_directory_path(directory, "plan.json");
    bool is = plan && access(plan, F_OK) == 0;

    free(plan);
    return is;
}

/* One that cannot be cleaned does not keep the others. */
static int clean_runs_in(const char *directory, bool force, uint64_t *removed, struct tt_error *e)
{
    char *roots[] = {(char *)directory, NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    FTSENT *entry;

    if (!walk)
        return tt_fail_call(e, errno, "read", directory, -1);
    while ((entry = fts_read(walk))) {
        if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR || entry->fts_info == FTS_NS) {
            tt_fail_call(e, entry->fts_errno, "read", entry->fts_path, -1);
        } else if (entry->fts_info == FTS_D && is_run(entry->fts_path)) {
            clean_run(entry->fts_path, force, removed, e);
            fts_set(walk, entry, FTS_SKIP);
        }
    }
    fts_close(walk);
    return e->code;
}

static int clean(const char *word, bool force, struct tt_error *e)
{
    bool many = holds_many(word);
    uint64_t removed = 0;
    char *directory = NULL;
    int rc = many ? TT_OK : tt_find_run(word, &directory, e);

    if (rc == TT_OK) {
        rc = many ? clean_runs_in(word, force, &removed, e)
                  : clean_run(directory, force, &removed, e);
        printf("removed %" PRIu64 " data file%s\n", removed, removed == 1 ? "" : "s");
    }
    free(directory);
    return rc;
}

int tt_cmd_clean(int argc, char **argv)
{
    struct tt_error e = TT_ERROR_CLEAR;
    const char *directory = NULL;
    bool force = false;
    const struct tt_option options[] = {{"--force", NULL, &force}, {NULL, NULL, NULL}};

    if (tt_take_options(argc, argv, options, &directory, &e) == TT_OK) {
        if (directory)
            clean(directory, force, &e);
        else
            tt_fail(&e, TT_USAGE, "clean needs a run directory or an id; see tutti clean --help");
    }
    return e.code == TT_OK ? 0 : tt_report_error(&e);
}
