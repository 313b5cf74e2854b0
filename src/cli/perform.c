/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <mpi.h>

#include "base/agree.h"
#include "cli/command.h"
#include "cli/rank.h"
#include "engine/guard.h"
#include "launch/launch.h"
#include "plan/directory.h"
#include "plan/manifest.h"

/* A plan that cannot be performed: tt_perform, which writes the outcome, is not reached. */
static void note_failure(const char *directory, const struct tt_error *why)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    char text[1024];
    json_t *o;

    tt_error_format(why, text, sizeof text);
    o = json_pack("{s:s, s:s, s:i}", "status", "failed", "error", text, "code", why->code);
    tt_directory_write_json(directory, "outcome.json", o, &ignored);
    json_decref(o);
}

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

/* The driver that started us reads outcome.json; what is printed here is for its stderr file. */
int tt_cmd_perform(int argc, char **argv)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_settings none = {0};
    struct tt_config config = {0};
    struct tt_perform_how how = {0};
    const char *directory;
    struct tt_error other = TT_ERROR_CLEAR;
    int level, rc, rank, size;

    if (tt_perform_words(argc, argv, &directory, &how, &e) != TT_OK)
        return tt_report_error(&e);
    rc = tt_directory_load_plan(directory, TT_PLAN_TO_RUN, &config, NULL, &e);
    start_guard(directory, rc == TT_OK ? &config : NULL);
    if (tt_ranks_begin(&none, &level, &other) != TT_OK)
        return tt_exit_status(other.code);
    tt_settings_free(&none);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (tt_agree(MPI_COMM_WORLD, rank == 0 ? tt_manifest_check_new(directory, 0, &other) : TT_OK,
                 &other) != TT_OK) { /* what is in there belongs to another run, and stays */
        if (other.code == TT_USAGE)
            other.rank = -1;
        tt_ranks_end();
        tt_config_free(&config);
        return tt_report_error(&other);
    }
    if (rc == TT_OK && config.run->ranks != (uint64_t)size)
        rc = tt_fail(&e, TT_USAGE, "the plan is for %llu ranks, but %d were started",
                     (unsigned long long)config.run->ranks, size);
    rc = tt_agree(MPI_COMM_WORLD, rc, &e);
    if (rc == TT_OK)
        rc = tt_perform_here(level, directory, &config, how, &e);
    else if (rank == 0)
        note_failure(directory, &e);
    tt_config_free(&config);
    tt_ranks_end();
    return rc == TT_OK ? 0 : rank == 0 ? tt_report_error(&e) : tt_exit_status(rc);
}
