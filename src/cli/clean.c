/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti clean: remove the data files of runs that could not do so themselves, since
 * they were killed, or were told to keep them. */
#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/result.h"
#include "record/liveness.h"
#include "plan/directory.h"
#include "plan/removal.h"
#include "study/study.h"
#include "survey/survey.h"

struct clean {
    bool force;
};

static const struct tt_param params[] = {
    {"force", TT_PARAM_BOOL, offsetof(struct clean, force), NULL, NULL,
     "remove even if remote ranks may still be running"},
    {NULL},
};

/* A survey, a study, an ensemble or a workflow of h5bench; not any directory, whose runs may be
 * anybody's.
 */
static bool holds_many(const char *directory)
{
    char *path = realpath(directory, NULL);
    const char *name = path ? strrchr(path, '/') : NULL;
    bool workflow = name && !strncmp(name, "/h5bench-", 9);

    free(path);
    return workflow || tt_survey_is_directory(directory) || tt_study_is_directory(directory) ||
           tt_is_ensemble_directory(directory);
}

static int clean_run(const char *directory, bool force, uint64_t *removed, struct tt_error *e)
{
    int rc = tt_check_liveness(directory, force, e);

    return rc == TT_OK ? tt_clean_data(directory, removed, e) : rc;
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
        } else if (entry->fts_info == FTS_D && tt_directory_has(entry->fts_path, "plan.json")) {
            clean_run(entry->fts_path, force, removed, e);
            fts_set(walk, entry, FTS_SKIP);
        }
    }
    fts_close(walk);
    return e->code;
}

static int run(struct tt_invocation *call, struct tt_error *e)
{
    const struct clean *o = call->opts;
    const char *word = call->words[0];
    char *directory = NULL;
    uint64_t removed = 0;
    bool many;
    int rc;

    if (call->nwords == 0)
        return tt_fail(e, TT_USAGE, "clean needs a run directory or an id; see tutti clean --help");
    many = holds_many(word);
    rc = many ? TT_OK : tt_find_run(word, &directory, e);
    if (rc == TT_OK) {
        rc = many ? clean_runs_in(word, o->force, &removed, e)
                  : clean_run(directory, o->force, &removed, e);
        printf("removed %" PRIu64 " data file%s\n", removed, removed == 1 ? "" : "s");
    }
    free(directory);
    return rc;
}

const struct tt_command tt_command_clean = {
    .name = "clean",
    .summary = "remove the data files that a run left behind",
    .synopsis = "tutti clean DIRECTORY|ID [--force]",
    .text = "Remove the data files of a run that was killed with its ranks or that kept them, or "
            "of all runs of an ensemble, a survey, a study or a workflow of h5bench. Files are "
            "removed only "
            "if they carry the run's mark or lie in its own data directory, and not while a rank "
            "still runs.",
    .run = run,
    .options = &(const struct tt_options){params, sizeof(struct clean)},
    .max_words = 1,
};
