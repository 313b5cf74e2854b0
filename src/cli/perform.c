/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <mpi.h>

#include "base/agree.h"
#include "cli/command.h"
#include "cli/rank.h"
#include "plan/folder.h"
#include "plan/manifest.h"

/* A plan that cannot be performed: tt_perform, which writes the outcome, is not reached. */
static void note_failure(const char *folder, const struct tt_error *why)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    char text[1024];
    json_t *o;

    tt_error_format(why, text, sizeof text);
    o = json_pack("{s:s, s:s, s:i}", "status", "failed", "error", text, "code", why->code);
    tt_folder_write_json(folder, "outcome.json", o, &ignored);
    json_decref(o);
}

/* The driver that started us reads outcome.json; what is printed here is for its stderr file. */
int tt_cmd_perform(int argc, char **argv)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_settings none = {0};
    struct tt_config config = {0};
    struct tt_perform_how how = {0};
    const char *folder;
    int level, rc, rank, size;

    if (tt_perform_words(argc, argv, &folder, &how, &e) != TT_OK)
        return tt_report_error(&e);
    if (tt_ranks_begin(&none, &level, &e) != TT_OK)
        return tt_exit_status(e.code);
    tt_settings_free(&none);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    rc = tt_agree(MPI_COMM_WORLD, rank == 0 ? tt_manifest_check_new(folder, 0, &e) : TT_OK, &e);
    if (rc != TT_OK) { /* what is in there belongs to another run, and stays */
        e.rank = -1;
        MPI_Finalize();
        return tt_report_error(&e);
    }
    rc = tt_folder_load_plan(folder, &config, NULL, &e);
    if (rc == TT_OK && config.run->ranks != (uint64_t)size)
        rc = tt_fail(&e, TT_USAGE, "the plan is for %llu ranks, but %d were started",
                     (unsigned long long)config.run->ranks, size);
    if (rc == TT_OK)
        rc = tt_perform_here(level, folder, &config, how, &e);
    else if (rank == 0)
        note_failure(folder, &e);
    tt_config_free(&config);
    MPI_Finalize();
    return rc == TT_OK ? 0 : rank == 0 ? tt_report_error(&e) : tt_exit_status(rc);
}
