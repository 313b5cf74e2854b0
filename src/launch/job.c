/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One job, whoever launches it. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "launch/launch.h"
#include "launch/local.h"
#include "launch/progress.h"
#include "launch/slurm.h"
#include "launch/template.h"

/* What ranks get to save their records before they are killed. */
#define GRACE_NS 10000000000
#define TICK_SECONDS 0.2

const struct tt_launcher *tt_launcher_choose(const struct tt_launch_options *options)
{
    static const struct tt_launcher *const launchers[] = {
        [TT_LAUNCH_LOCAL] = &tt_launcher_local,
        [TT_LAUNCH_SLURM] = &tt_launcher_slurm,
        [TT_LAUNCH_BATCH] = &tt_launcher_batch,
        [TT_LAUNCH_TEMPLATE] = &tt_launcher_template,
    };

    if (options->by != TT_LAUNCH_AUTO)
        return launchers[options->by];
    if (options->template.n > 0)
        return &tt_launcher_template;
    return getenv("SLURM_JOB_ID") ? &tt_launcher_slurm : &tt_launcher_local;
}

int tt_job_start(const struct tt_launch *l, struct tt_job *job, struct tt_error *e)
{
    struct tt_command_line command = {0};
    int rc;

    *job = (struct tt_job){.launcher = tt_launcher_choose(l->options)};
    snprintf(job->folder, sizeof job->folder, "%s", l->folder);
    rc = job->launcher->command(l, &command, e);
    if (rc == TT_OK) {
        const struct tt_process_spec spec = {.words = command.words,
                                             .instead = job->launcher->instead,
                                             .folder = l->folder,
                                             .out = job->launcher->out,
                                             .cpus = l->cpus,
                                             .cgroup = l->cgroup};

        rc = tt_process_start(&spec, &job->process, e);
    }
    tt_command_free(&command);
    return rc;
}

void tt_job_terminate(struct tt_job *job)
{
    if (job->process.pid <= 0 || job->process.ended)
        return;
    if (job->launcher->cancel)
        job->launcher->cancel(job->folder);
    tt_process_terminate(&job->process);
}

void tt_job_kill(struct tt_job *job)
{
    if (job->launcher && job->launcher->cancel && !job->process.ended)
        job->launcher->cancel(job->folder);
    tt_process_kill(&job->process);
}

/* Until the launcher ends. Ctrl-C is passed on; a second one, or no answer, kills. */
static int supervise(struct tt_job *job, bool quiet, struct tt_error *e)
{
    int64_t deadline = 0;
    int rc = TT_OK;

    while (!tt_process_poll(&job->process)) {
        int got = tt_signal_wait(TICK_SECONDS);

        if (got) {
            rc = tt_fail(e, TT_INTERRUPTED, "interrupted by signal %d (%s)", got, strsignal(got));
            if (deadline)
                tt_job_kill(job);
            else
                tt_job_terminate(job);
            deadline = tt_now_ns() + GRACE_NS;
        }
        if (deadline && tt_now_ns() > deadline)
            tt_job_kill(job);
        if (!quiet)
            tt_progress_draw(stderr, job->folder);
    }
    if (!quiet)
        tt_progress_clear(stderr);
    return rc;
}

int tt_launch_and_wait(const struct tt_launch *l, bool quiet, int *status, struct tt_error *e)
{
    struct tt_job job;
    int rc;

    tt_processes_begin();
    rc = tt_job_start(l, &job, e);
    if (rc == TT_OK)
        rc = supervise(&job, quiet, e);
    tt_processes_end();
    *status = job.process.status;
    return rc;
}
