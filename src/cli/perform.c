/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti perform: what a launcher starts as ranks. */
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

#include "base/agree.h"
#include "cli/command.h"
#include "cli/rank.h"
#include "engine/guard.h"
#include "launch/launch.h"
#include "plan/directory.h"
#include "plan/manifest.h"
#include "plan/module.h"
#include "record/records.h"

/* From before MPI_Init on, which may never return: the launcher says who this is. A directory that
 * was used before is another run's, and stays as it is. */
static void start_guard(const char *directory, const struct tt_worker *worker)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    int rank = tt_launched_rank();

    tt_guard_start(worker->patience > 0 ? worker->patience : TT_PATIENCE);
    if (worker->ranks > 0 && tt_manifest_check_new(directory, &ignored) == TT_OK)
        tt_guard_directory(directory, rank, (int)worker->ranks);
}

/* One rank reads the plan, and the others get it from there: many that open one file at the same
 * time are a load of its own. Collective. */
static int share_plan(const char *directory, int rank, struct tt_config *config, struct tt_error *e)
{
    json_t *plan = NULL;
    char *text = NULL;
    uint64_t length = 0;
    int rc = rank == 0 ? tt_directory_read_plan(directory, &plan, e) : TT_OK;

    if (rc == TT_OK && rank == 0 && !(text = json_dumps(plan, JSON_COMPACT)))
        rc = tt_fail_nomem(e, "the plan");
    rc = tt_agree(MPI_COMM_WORLD, rc, e);
    if (rc == TT_OK) {
        length = text ? strlen(text) : 0;
        MPI_Bcast(&length, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
        if (rank > 0 && !(text = malloc(length)))
            rc = tt_fail_nomem(e, "the plan");
        rc = tt_agree(MPI_COMM_WORLD, rc, e);
    }
    if (rc == TT_OK)
        MPI_Bcast(text, (int)length, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rc == TT_OK && rank > 0 && !(plan = json_loadb(text, length, 0, NULL)))
        rc = tt_fail_nomem(e, "the plan");
    if (rc == TT_OK)
        rc = tt_directory_use_plan(directory, TT_PLAN_TO_RUN, plan, config, e);
    json_decref(plan);
    free(text);
    return rc;
}

/* What is in the directory belongs to another run, and stays. */
static int check_new(const char *directory, int rank, struct tt_error *e)
{
    int rc = rank == 0 ? tt_manifest_check_new(directory, e) : TT_OK;

    if (rc == TT_OK && rank == 0 && tt_records_have(directory, TT_ANY_RANK))
        rc = tt_manifest_fail_used(directory, e);
    rc = tt_agree(MPI_COMM_WORLD, rc, e);
    if (rc == TT_USAGE)
        e->rank = -1;
    return rc;
}

/* The driver that started us reads outcome.json; what is printed here is for its stderr file. */
static int perform(const char *directory, const struct tt_worker *worker, struct tt_error *e)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    struct tt_settings none = {0};
    struct tt_config config = {0};
    int level, rc, rank, size;

    start_guard(directory, worker);
    if (tt_ranks_begin(&none, worker->overlap, &level, e) != TT_OK)
        return tt_exit_status(e->code);
    tt_settings_free(&none);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    rc = check_new(directory, rank, e);
    if (rc == TT_OK) {
        rc = share_plan(directory, rank, &config, e);
        if (rc == TT_OK && config.run->ranks != (uint64_t)size)
            rc = tt_fail(e, TT_USAGE, "the plan is for %llu ranks, but %d were started",
                         (unsigned long long)config.run->ranks, size);
        rc = tt_agree(MPI_COMM_WORLD, rc, e);
        if (rc == TT_OK)
            rc = tt_perform_here(level, directory, &config, worker->how, e);
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
    return rc == TT_OK ? perform(call->words[0], worker, e) : rc;
}

const struct tt_command tt_command_perform = {
    .name = "perform",
    .summary = "internal: what a launcher starts as ranks of a workload",
    .synopsis = "tutti perform DIRECTORY [--held] [--loop] [--calibrate]",
    .text = "What a launcher starts as ranks: it runs the plan of a run directory.",
    .run = run,
    .options = &tt_worker_options,
    .max_words = 1,
    .as_ranks = true,
    .hidden = true,
};
