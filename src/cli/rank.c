/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/rank.h"

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/agree.h"
#include "base/note.h"
#include "base/yield.h"
#include "cli/command.h"
#include "engine/calibrate.h"
#include "engine/guard.h"
#include "engine/perform.h"
#include "launch/launch.h"
#include "plan/directory.h"
#include "report/environment.h"

#define AT(member) offsetof(struct tt_worker, member)
static const struct tt_param params[] = {
    {"held", TT_PARAM_BOOL, AT(how.held), NULL, NULL,
     "start at the instant that the control file go names"},
    {"loop", TT_PARAM_BOOL, AT(how.loop), NULL, NULL, "repeat until the control file stop appears"},
    {"calibrate", TT_PARAM_BOOL, AT(how.calibrate), NULL, NULL,
     "only calibrate how much is computed, and put that into the plan"},
    {"new_dir", TT_PARAM_BOOL, AT(how.new_dir), NULL, NULL, "--dir was made for this run"},
    {"rows", TT_PARAM_BOOL, AT(how.rows), NULL, NULL, "leave rows of tables as they are made"},
    {"module", TT_PARAM_TEXT, AT(module), NULL, NULL, "modules to open", .placeholder = "FILE,..."},
    {"patience", TT_PARAM_DURATION, AT(patience), NULL, NULL, "that of the plan"},
    {"ranks", TT_PARAM_COUNT, AT(ranks), NULL, NULL, "those of the plan"},
    {"overlap", TT_PARAM_BOOL, AT(overlap), NULL, NULL, "the plan has any"},
    {NULL},
};
const struct tt_options tt_worker_options = {params, sizeof(struct tt_worker)};

/* A short option is still itself here: nobody has looked it up yet. */
static bool asks_for_ranks(const struct tt_setting *s)
{
    return (!strcmp(s->key, "ranks") || !strcmp(s->key, "-n")) && strcmp(s->place, "plan.json");
}

bool tt_is_rank(const struct tt_settings *settings)
{
    for (size_t i = 0; i < settings->n && tt_launched_alone_by_slurm(); i++)
        if (asks_for_ranks(&settings->list[i]) && settings->list[i].value &&
            strtol(settings->list[i].value, NULL, 10) > 1)
            return false;
    return tt_launched_size() > 0;
}

int tt_ranks_check(const struct tt_settings *settings, int size, struct tt_error *e)
{
    int announced = tt_launched_size();

    if (announced > 0 && announced != size)
        return tt_fail(
            e, TT_USAGE,
            "the launcher started %d processes, but MPI sees %d: it belongs to another MPI "
            "than tutti was built with (with srun, try --mpi=pmix)",
            announced, size);
    for (size_t i = 0; i < settings->n; i++)
        if (asks_for_ranks(&settings->list[i]) && settings->list[i].value &&
            strtol(settings->list[i].value, NULL, 10) != size)
            return tt_fail(
                e, TT_USAGE,
                "%s %s, but the launcher started %d ranks; leave it out under a launcher",
                settings->list[i].place, settings->list[i].value, size);
    return TT_OK;
}

int tt_ranks_begin(struct tt_settings *settings, bool overlaps, int *thread_level,
                   struct tt_error *e)
{
    uint64_t before = tt_note_begin(TT_DOING_INIT, 0);
    char text[16];
    int size, rc;

    /* A launcher that dies takes its ranks along, with the records saved. */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (overlaps)
        tt_yield_ask_mpi();
    /* Locks of MPI cost time that a synchronous application does not spend, and Open MPI leaves
     * out data sieving where threads may call it. */
    MPI_Init_thread(NULL, NULL, overlaps ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, thread_level);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tt_note_end(before);
    rc = tt_ranks_check(settings, size, e);
    snprintf(text, sizeof text, "%d", size);
    if (rc == TT_OK)
        rc = tt_settings_add(settings, "ranks", text, "the launcher", e);
    if (rc != TT_OK) {
        tt_report_error(e);
        tt_ranks_end();
    }
    return rc;
}

void tt_ranks_end(void)
{
    tt_note_begin(TT_DOING_FINALIZE, 0);
    tt_guard_enter(TT_GUARD_OUTSIDE);
    MPI_Finalize();
    tt_guard_stop();
}

static int calibrate(const char *directory, struct tt_config *config, int rank, struct tt_error *e)
{
    int rc;

    if (!tt_config_uncalibrated(config))
        return TT_OK;
    rc = tt_calibrate(MPI_COMM_WORLD, config, e);
    if (rc == TT_OK && rank == 0)
        rc = tt_directory_keep_passes(directory, config, e);
    rc = tt_agree(MPI_COMM_WORLD, rc, e);
    if (rc == TT_USAGE)
        e->rank = -1; /* a plan has no rank */
    return rc;
}

int tt_perform_here(int thread_level, const char *directory, struct tt_config *config,
                    struct tt_perform_how how, struct tt_error *e)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    json_t *environment = NULL;
    int rank, rc;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    rc = calibrate(directory, config, rank, e);
    if (rc != TT_OK || how.calibrate) {
        if (rank == 0)
            tt_outcome_write(directory, rc, e, &ignored);
        return rc;
    }
    if (rank == 0)
        environment = tt_environment_of(config);
    rc = tt_perform(MPI_COMM_WORLD, thread_level, directory, config, how, environment, e);
    tt_guard_enter(TT_GUARD_HELD); /* rank 0 makes the result, and the others wait */
    json_decref(environment);
    return rc;
}
