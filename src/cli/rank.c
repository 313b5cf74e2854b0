/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/rank.h"

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/note.h"
#include "cli/command.h"
#include "engine/guard.h"
#include "engine/perform.h"
#include "launch/launch.h"
#include "report/environment.h"

#define AT(member) offsetof(struct tt_worker, member)
static const struct tt_param params[] = {
    {"held", TT_PARAM_BOOL, AT(how.held), NULL, NULL,
     "start at the instant that the control file go names"},
    {"loop", TT_PARAM_BOOL, AT(how.loop), NULL, NULL, "repeat until the control file stop appears"},
    {"new_dir", TT_PARAM_BOOL, AT(how.new_dir), NULL, NULL, "--dir was made for this run"},
    {"module", TT_PARAM_TEXT, AT(module), NULL, NULL, "modules to open", .placeholder = "FILE,..."},
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

static int check_size(const struct tt_settings *settings, int size, struct tt_error *e)
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

int tt_ranks_begin(struct tt_settings *settings, int *thread_level, struct tt_error *e)
{
    uint64_t before = tt_note_begin(TT_DOING_INIT, 0);
    char text[16];
    int size, rc;

    /* A launcher that dies takes its ranks along, with the records saved. */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, thread_level);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tt_note_end(before);
    rc = check_size(settings, size, e);
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

int tt_perform_here(int thread_level, const char *directory, const struct tt_config *config,
                    struct tt_perform_how how, struct tt_error *e)
{
    json_t *environment = NULL;
    int rank, rc;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        environment = tt_environment_of(config);
    rc = tt_perform(MPI_COMM_WORLD, thread_level, directory, config, how, environment, e);
    tt_guard_enter(TT_GUARD_HELD); /* rank 0 makes the result, and the others wait */
    json_decref(environment);
    return rc;
}
