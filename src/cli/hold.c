/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti hold: what a launcher starts for a command, as perform is what it starts for a workload. */
#include "launch/hold.h"

#include "cli/command.h"
#include "cli/rank.h"
#include "launch/launch.h"
#include "plan/directory.h"
#include "plan/manifest.h"
#include "plan/module.h"
#include "record/records.h"
#include "report/environment.h"

static int run(struct tt_invocation *call, struct tt_error *e)
{
    const struct tt_worker *worker = call->opts;
    const char *directory = call->words[0];
    struct tt_config config = {0};
    json_t *environment = NULL;
    int rc;

    if (call->nwords < 2)
        return tt_fail(e, TT_USAGE, "hold takes a run directory, -- and a command");
    rc = worker->module ? tt_module_open_listed(worker->module, e) : TT_OK;
    if (rc == TT_OK)
        rc = tt_directory_load_plan(directory, TT_PLAN_TO_RUN, &config, NULL, e);
    if (rc == TT_OK && tt_launched_rank() == 0) /* what is in there is another run's, and stays */
        rc = tt_manifest_check_new(directory, e);
    if (rc == TT_OK && tt_records_have(directory, tt_launched_rank()))
        rc = tt_manifest_fail_used(directory, e);
    if (rc == TT_OK && tt_launched_rank() == 0)
        environment = tt_environment_of(&config);
    if (rc == TT_OK)
        rc = tt_hold(directory, &config, worker->how, (char **)call->words + 1, environment, e);
    json_decref(environment);
    tt_config_free(&config);
    return rc;
}

const struct tt_command tt_command_hold = {
    .name = "hold",
    .summary = "internal: what a launcher starts as ranks of a command",
    .synopsis = "tutti hold DIRECTORY [--held] [--loop] -- COMMAND ...",
    .text = "What a launcher starts where the plan is a command.",
    .run = run,
    .options = &tt_worker_options,
    .max_words = TT_ANY_WORDS,
    .as_ranks = true,
    .hidden = true,
};
