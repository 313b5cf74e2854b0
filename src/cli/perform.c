/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti perform: what a launcher starts as ranks. */
#include <mpi.h>

#include "base/agree.h"
#include "cli/command.h"
#include "cli/rank.h"
#include "engine/guard.h"
#include "launch/launch.h"
#include "plan/directory.h"
#include "plan/manifest.h"
#include "plan/module.h"

/* From before MPI_Init on, which may never return: the launcher says who this is. A directory that
 * was used before is another run's, and stays as it is. */
static void start_guard(const char *directory, const struct tt_config *config)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    int rank = tt_launched_rank();

    tt_guard_start(config ? config->run->patience : TT_PATIENCE);
    if (config && tt_manifest_check_new(directory, rank, &ignored) == TT_OK)
        tt_guard_directory(directory, rank, (int)config->run->ranks);
}

/* What is in the directory belongs to another run, and stays. */
static int check_new(const char *directory, int rank, struct tt_error *e)
{
    int rc = rank == 0 ? tt_manifest_check_new(directory, 0, e) : TT_OK;

    rc = tt_agree(MPI_COMM_WORLD, rc, e);
    if (rc == TT_USAGE)
        e->rank = -1;
    return rc;
}

/* The driver that started us reads outcome.json; what is printed here is for its stderr file. */
static int perform(const char *directory, struct tt_perform_how how, struct tt_error *e)
{
    struct tt_error of_plan = TT_ERROR_CLEAR, ignored = TT_ERROR_CLEAR;
    struct tt_settings none = {0};
    struct tt_config config = {0};
    int level, rc, rank, size;
    int planned = tt_directory_load_plan(directory, TT_PLAN_TO_RUN, &config, NULL, &of_plan);

    start_guard(directory, planned == TT_OK ? &config : NULL);
    if (tt_ranks_begin(&none, &level, e) != TT_OK)
        return tt_exit_status(e->code);
    tt_settings_free(&none);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    rc = check_new(directory, rank, e);
    if (rc == TT_OK) {
        if (planned == TT_OK && config.run->ranks != (uint64_t)size)
            planned = tt_fail(&of_plan, TT_USAGE, "the plan is for %llu ranks, but %d were started",
                              (unsigned long long)config.run->ranks, size);
        *e = of_plan;
        rc = tt_agree(MPI_COMM_WORLD, planned, e);
        if (rc == TT_OK)
            rc = tt_perform_here(level, directory, &config, how, e);
        else if (rank == 0) /* tt_perform, which writes the outcome, is not reached */
            tt_outcome_write(directory, rc, e, &ignored);
    }
    tt_config_free(&config);
    tt_ranks_end();
    return rc == TT_OK || rank == 0 ? rc : tt_exit_status(rc);
}

static int run(struct tt_invocation *call, struct tt_error *e)
{
    const struct tt_worker *worker = call->opts;
    int rc = worker->module ? tt_module_open_listed(worker->module, e) : TT_OK;

    if (call->nwords == 0)
        return tt_fail(e, TT_USAGE, "perform takes a run directory and is started by a launcher");
    return rc == TT_OK ? perform(call->words[0], worker->how, e) : rc;
}

const struct tt_command tt_command_perform = {
    .name = "perform",
    .summary = "internal: what a launcher starts as ranks of a workload",
    .synopsis = "tutti perform DIRECTORY [--held] [--loop]",
    .text = "What a launcher starts as ranks: it runs the plan of a run directory.",
    .run = run,
    .options = &tt_worker_options,
    .max_words = 1,
    .as_ranks = true,
    .hidden = true,
};
