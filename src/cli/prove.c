/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti prove: what a rank starts to see whether MPI takes addresses of a device's memory. It
 * starts two processes on this node that try it. If MPI does not take them they crash or hang, and
 * our parent's job goes on. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/sys.h"
#include "build_info.h"
#include "cli/command.h"
#include "engine/engine.h"
#include "launch/launch.h"
#include "plan/directory.h"
#include "plan/module.h"

/* What the launcher told our parent: with it, MPI would take us for one of the job's ranks, or
 * reach for its nodes. What the user has set for MPI stays, but of Open MPI's runtime nothing tells
 * that from what its launcher has set. */
static void leave_job(const char *directory)
{
    static const char *const of_job[] = {
        "OMPI_COMM_",      "OMPI_MCA_orte_",  "OMPI_MCA_ess", "OMPI_MCA_pmix", "OMPI_UNIVERSE",
        "OMPI_FILE_",      "OMPI_APP_",       "OMPI_NUM_",    "OMPI_FIRST_",   "OMPI_COMMAND",
        "OMPI_ARGV",       "PMIX_",           "PMI_",         "PRTE_",         "HYDRA_",
        "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "SLURM_",       "PBS_",          "LSB_",
        "PE_HOSTFILE",     "FLUX_",           "PALS_"};
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
    setenv("OMPI_MCA_plm", "isolated", 1); /* no other node */
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
    int wanted =
        json_is_true(json_object_get(keys, "threads")) ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    int rc = *module ? tt_module_open_listed(module, e) : TT_OK, size, level;

    json_object_del(keys, "threads");
    if (rc == TT_OK)
        rc = tt_settings_from_json(&list, keys, "prove", e);
    if (rc == TT_OK)
        rc = tt_config_make(&config, "stencil", &list, e);
    if (rc == TT_OK) {
        MPI_Init_thread(NULL, NULL, wanted, &level);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        if (level < wanted)
            rc = tt_fail(e, TT_UNSUPPORTED, "MPI does not let several threads in there");
        if (rc == TT_OK && size != 2) /* a message to itself would prove nothing */
            rc = tt_fail(e, TT_UNSUPPORTED, "%s belongs to another MPI than tutti", TT_MPIEXEC);
        if (rc == TT_OK)
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

/* Until they end, the limit is over, or the rank that asked has ended. */
static int wait_for(struct tt_process *p, const char *seconds, struct tt_error *e)
{
    int64_t deadline = tt_now_ns() + (int64_t)(1e9 * strtod(seconds, NULL));
    int got = 0;

    while (!tt_process_poll(p) && !got && tt_now_ns() < deadline)
        got = tt_signal_wait(0.1);
    if (p->ended)
        return p->status == 0 ? TT_OK : tt_fail(e, TT_UNSUPPORTED, "they did not end well");
    tt_process_kill(p);
    return tt_fail(e, TT_UNSUPPORTED, "they did not end within --patience, %s s", seconds);
}

/* Not what launchers and debuggers have to say, which may be long. */
static void repeat_words(const char *directory)
{
    FILE *f = tt_directory_open_file(directory, "stderr");
    char line[512], *said;

    signal(SIGPIPE, SIG_IGN); /* whoever asked may have ended */
    while (f && fgets(line, sizeof line, f))
        if ((said = strstr(line, "tutti: ")))
            fputs(said, stderr);
    if (f)
        fclose(f);
}

/* All that they and their launcher write is below the directory. */
static int start_two(const char *settings, const char *seconds, const char *directory,
                     struct tt_error *e)
{
    struct tt_launch_options options = {0};
    struct tt_command_line line = {0};
    struct tt_process process;
    char self[PATH_MAX];
    char *words[] = {self, "prove", (char *)settings, (char *)seconds, "rank", NULL};
    const struct tt_launch launch = {.options = &options, .ranks = 2, .words = words};
    int rc = tt_own_program(self, e);

    if (rc == TT_OK && !tt_launcher_forks(TT_MPIEXEC, &options.options))
        rc = tt_fail(e, TT_UNSUPPORTED, "nobody knows whether %s would start them here by itself",
                     TT_MPIEXEC);
    if (rc == TT_OK)
        rc = tt_launcher_local.command(&launch, &line, e);
    if (rc == TT_OK)
        rc = tt_command_check(&line, e);
    if (rc == TT_OK) {
        const struct tt_process_spec spec = {.words = line.words, .directory = directory};

        leave_job(directory);
        tt_processes_begin();
        rc = tt_process_start(&spec, &process, e);
        if (rc == TT_OK)
            rc = wait_for(&process, seconds, e);
        tt_processes_end();
    }
    tt_command_free(&line);
    return rc;
}

/* Signals end us when the directory is gone, that of our parent's end, too. If we are killed, the
 * driver sweeps what is below its session's directory. */
static int prove_apart(const char *settings, const char *seconds, struct tt_error *e)
{
    const char *within = getenv("OMPI_MCA_orte_tmpdir_base");
    char directory[256];
    int n, rc;

    if (!within || !*within)
        within = getenv("TMPDIR");
    n = snprintf(directory, sizeof directory, "%s/tutti-prove.XXXXXX",
                 within && *within ? within : "/tmp");
    setpgid(0, 0); /* who kills our parent's group leaves us the time for that */
    tt_processes_begin();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (n >= (int)sizeof directory || !mkdtemp(directory))
        return tt_fail(e, TT_FAILED, "there is no directory for them");
    rc = start_two(settings, seconds, directory, e);
    if (rc != TT_OK)
        repeat_words(directory);
    tt_sys_remove_private(directory);
    return rc;
}

static int run(struct tt_invocation *call, struct tt_error *e)
{
    const struct rlimit none = {0, 0};

    if (call->nwords < 2)
        return tt_fail(e, TT_USAGE, "prove takes settings and seconds, from tutti itself");
    setrlimit(RLIMIT_CORE, &none);
    alarm((unsigned)strtod(call->words[1], NULL) + 30); /* if they cannot even be killed */
    if (call->nwords == 2)
        return prove_apart(call->words[0], call->words[1], e);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    return prove(call->words[0], e);
}

const struct tt_command tt_command_prove = {
    .name = "prove",
    .summary = "internal: whether MPI takes addresses of a device's memory",
    .synopsis = "tutti prove SETTINGS SECONDS [rank]",
    .text = "What a rank starts before it gives addresses of a device's memory to MPI.",
    .run = run,
    .max_words = 3,
    .as_ranks = true,
    .hidden = true,
};
