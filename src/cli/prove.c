/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti prove: what a rank starts to see whether MPI takes addresses of a device's memory. It
 * becomes a job of two ranks on this node, or where there is no mpiexec, one that sends to itself.
 * If MPI does not take them that crashes, and our parent's job goes on. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/command.h"
#include "engine/engine.h"
#include "launch/launch.h"
#include "plan/module.h"

#define LONGEST 60 /* seconds */

/* What the launcher told our parent: with it, MPI would take us for one of the job's ranks. What
 * the user has set for MPI stays. */
static void leave_job(const char *directory)
{
    static const char *const of_job[] = {
        "OMPI_COMM_",      "OMPI_MCA_orte_",  "OMPI_MCA_ess", "OMPI_MCA_pmix", "OMPI_UNIVERSE",
        "OMPI_FILE_",      "OMPI_APP_",       "OMPI_NUM_",    "OMPI_FIRST_",   "OMPI_COMMAND",
        "OMPI_ARGV",       "PMIX_",           "PMI_",         "PRTE_",         "HYDRA_",
        "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "SLURM_",       "PBS_"};
    extern char **environ;
    char name[128];

    for (char **at = environ; *at;) {
        size_t length = strcspn(*at, "="), i = 0;

        while (i < sizeof of_job / sizeof *of_job && strncmp(*at, of_job[i], strlen(of_job[i])))
            i++;
        if (i == sizeof of_job / sizeof *of_job || length >= sizeof name) {
            at++;
            continue;
        }
        snprintf(name, sizeof name, "%.*s", (int)length, *at);
        unsetenv(name); /* the next one takes its place */
    }
    setenv("OMPI_MCA_ess_singleton_isolated", "1", 1); /* no daemon */
    setenv("OMPI_MCA_orte_tmpdir_base", directory, 1);
    setenv("OMPI_MCA_btl_vader_backing_directory", directory, 1);
    setenv("OMPI_MCA_opal_signal", "", 1); /* a crash needs no trace */
}

static int prove(const char *settings, struct tt_error *e)
{
    json_t *keys = json_loads(settings, 0, NULL);
    struct tt_settings list = {0};
    struct tt_config config = {0};
    struct tt_device *device = NULL;
    const char *module = tt_text_of(keys, "module");
    int rc = *module ? tt_module_open_listed(module, e) : TT_OK;

    if (rc == TT_OK)
        rc = tt_settings_from_json(&list, keys, "prove", e);
    if (rc == TT_OK)
        rc = tt_config_make(&config, "stencil", &list, e);
    if (rc == TT_OK) {
        MPI_Init(NULL, NULL);
        rc = tt_device_open(MPI_COMM_WORLD, &config, &device, e);
        if (rc == TT_OK)
            rc = tt_device_prove(device, MPI_COMM_WORLD, e);
        tt_device_close(device);
        if (rc != TT_OK) /* before a launcher sees that the other rank has ended */
            rc = tt_report_error(e);
        MPI_Finalize();
    }
    tt_config_free(&config);
    tt_settings_free(&list);
    json_decref(keys);
    return rc;
}

/* Returns if there is no mpiexec. */
static void become_two(const char *settings, const char *directory)
{
    const struct tt_launch_options options = {0};
    struct tt_error ignored = TT_ERROR_CLEAR;
    struct tt_command_line line = {0};
    char self[PATH_MAX];
    char *words[] = {self, "prove", (char *)settings, (char *)directory, "rank", NULL};
    const struct tt_launch launch = {.options = &options, .ranks = 2, .words = words};

    if (tt_own_program(self, &ignored) == TT_OK &&
        tt_launcher_local.command(&launch, &line, &ignored) == TT_OK &&
        tt_command_check(&line, &ignored) == TT_OK) {
        execvp(line.words[0], line.words);
        execvp(tt_launcher_local.instead, line.words);
    }
    tt_command_free(&line);
}

static int run(struct tt_invocation *call, struct tt_error *e)
{
    const struct rlimit none = {0, 0};

    if (call->nwords < 2)
        return tt_fail(e, TT_USAGE, "prove takes settings and a directory, from tutti itself");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &none);
    alarm(LONGEST);
    if (call->nwords == 2) {
        leave_job(call->words[1]);
        become_two(call->words[0], call->words[1]);
    }
    return prove(call->words[0], e);
}

const struct tt_command tt_command_prove = {
    .name = "prove",
    .summary = "internal: whether MPI takes addresses of a device's memory",
    .synopsis = "tutti prove SETTINGS DIRECTORY [rank]",
    .text = "What a rank starts before it gives addresses of a device's memory to MPI.",
    .run = run,
    .max_words = 3,
    .as_ranks = true,
    .hidden = true,
};
