/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One job, whoever launches it. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/note.h"
#include "base/notice.h"
#include "engine/guard.h"
#include "engine/perform.h"
#include "launch/launch.h"
#include "plan/control.h"
#include "plan/directory.h"
#include "record/memory.h"
#include "spec/units.h"

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

    *job = (struct tt_job){.launcher = tt_launcher_choose(l->options), .start = time(NULL)};
    snprintf(job->directory, sizeof job->directory, "%s", l->directory);
    if (job->launcher->prepare)
        job->launcher->prepare(job);
    rc = job->launcher->command(l, &command, e);
    if (rc == TT_OK)
        rc = tt_command_check(&command, e);
    if (rc == TT_OK) {
        const struct tt_process_spec spec = {.words = command.words,
                                             .instead = job->launcher->instead,
                                             .directory = l->directory,
                                             .out = job->launcher->out,
                                             .cpus = l->cpus,
                                             .cgroups = {l->cgroups[0], l->cgroups[1]}};

        rc = tt_process_start(&spec, &job->process, e);
    }
    tt_command_free(&command);
    return rc;
}

void tt_job_terminate(struct tt_job *job)
{
    if (job->process.pid <= 0 || job->process.ended)
        return;
    job->told = true;
    if (job->launcher->cancel)
        job->launcher->cancel(job->directory);
    tt_process_terminate(&job->process);
}

void tt_job_kill(struct tt_job *job)
{
    job->told = true;
    if (job->launcher && job->launcher->cancel && !job->process.ended)
        job->launcher->cancel(job->directory);
    tt_process_kill(&job->process);
}

/* ---- the end ---- */

/* Its ranks end with it, and may leave no word of their own. */
static void note_death(const struct tt_job *job)
{
    struct tt_error why = TT_ERROR_CLEAR, ignored = TT_ERROR_CLEAR;

    tt_fail(&why, TT_FAILED, "the launcher was ended by signal %d (%s)", job->process.signal,
            strsignal(job->process.signal));
    if (!tt_directory_has(job->directory, "outcome.json"))
        tt_outcome_write(job->directory, TT_FAILED, &why, &ignored);
}

bool tt_job_poll(struct tt_job *job)
{
    if (!tt_process_poll(&job->process)) {
        if (!job->name[0] && job->launcher->learn_name)
            job->launcher->learn_name(job);
        return false;
    }
    if (!job->noted && !job->told && job->process.signal)
        note_death(job);
    job->noted = true;
    return true;
}

void tt_job_sweep(const struct tt_job *job)
{
    if (!job->launcher) /* of a trial that was interrupted before it was started */
        return;
    tt_records_collect(job->directory);
    if (job->launcher->sweep)
        job->launcher->sweep(job);
}

/* Launchers draw lines around what they say, and tell of signals that they pass on. */
static bool says_something(const char *line)
{
    return line[strspn(line, " -=*\t\r\n")] != '\0' && !strstr(line, ": Forwarding signal ");
}

void tt_job_words(const char *directory, char *line, size_t size)
{
    bool found = false, own = false;
    FILE *f = tt_directory_open_file(directory, "stderr");
    char next[256];

    snprintf(line, size, "it left no reason");
    for (int n = 0; f && !own && n < 100 && fgets(next, sizeof next, f); n++) {
        own = !strncmp(next, "tutti: ", 7);
        next[strcspn(next, "\n")] = '\0';
        if (own || (!found && says_something(next)))
            snprintf(line, size, "%s", own ? next + 7 : next);
        found = found || says_something(next);
    }
    if (f)
        fclose(f);
    tt_make_plain(line);
}

/* ---- progress ---- */

/* Bytes per second in the last seconds: what was seen at least a second ago, and what came since.
 */
struct pace {
    double seconds, rate;
    uint64_t bytes;
};

static void update_pace(struct pace *pace, const struct tt_progress *p)
{
    double since = p->seconds - pace->seconds;

    if (since < 1)
        return;
    pace->rate = p->bytes > pace->bytes ? (double)(p->bytes - pace->bytes) / since : 0;
    pace->bytes = p->bytes;
    pace->seconds = p->seconds;
}

/* From what rank 0 leaves in the run directory. */
static void draw_progress(const char *directory, struct pace *pace)
{
    static const char full[] = "####################";
    const int width = (int)sizeof full - 1;
    char left[TT_UNIT_TEXT], rate[TT_UNIT_TEXT] = "";
    struct tt_progress p;
    double share;
    int filled;

    if (!tt_notice_is_drawn() || tt_progress_read(directory, &p) != 0 || p.total == 0)
        return;
    update_pace(pace, &p);
    if (pace->rate > 0)
        tt_format_rate(pace->rate, rate);
    share = (double)p.iteration / (double)p.total;
    if (share <= 0 || share > 1)
        return;
    filled = (int)(share * width);
    tt_notice_draw("[%.*s%*s] %3.0f %%  %llu of %llu  %s%s%s left", filled, full, width - filled,
                   "", 100 * share, (unsigned long long)p.iteration, (unsigned long long)p.total,
                   rate, *rate ? "  " : "", tt_format_seconds(p.seconds * (1 / share - 1), left));
}

/* ---- rows ---- */

#define MAX_ROW 64 /* columns */

/* Whole lines from *at on; what is no row of numbers is left out. */
static void take_rows(const char *directory, const struct tt_rows_to *to, long *at)
{
    FILE *f = tt_directory_open_file(directory, TT_ROWS_FILE);
    char line[MAX_ROW * 32];

    if (!f || fseek(f, *at, SEEK_SET) != 0)
        line[0] = '\0';
    while (f && fgets(line, sizeof line, f) && strchr(line, '\n')) {
        double values[MAX_ROW];
        char *from = line, *end;
        size_t n = 0;

        for (; n < MAX_ROW; n++, from = end) {
            values[n] = strtod(from, &end);
            if (end == from)
                break;
        }
        *at = ftell(f);
        if (n > 0 && *from == '\n') {
            tt_notice_draw("%s", "");
            to->take(to->context, values, n);
        }
    }
    if (f)
        fclose(f);
}

/* ---- watching ---- */

/* What the driver has seen of a job, and when. Its own clock stands still while it is stopped
 * itself. */
struct sight {
    int64_t last_ns;
    double now, failed, looked; /* seconds; 0: not yet */
    int64_t look;               /* of rank 0's guard */
    bool begun;
};

/* Ranks end themselves in time (engine/guard.h). This is for those that cannot, and for launchers
 * that hang. A batch job may wait in its queue as long as it likes. */
static int check_end(const struct tt_launch *l, const struct tt_job *job, struct sight *s,
                     struct tt_error *e)
{
    const double start = l->options->start_timeout, grace = tt_seconds(GRACE_NS);
    const double patience = l->run->patience;
    double silence = fmax(TT_STALL * patience, l->run->max_time + 2 * patience) + grace;
    char *notes = tt_directory_path(job->directory, "notes");
    int64_t look = notes ? tt_notes_last_look(notes) : 0, last = s->last_ns;
    bool over =
        tt_directory_has(job->directory, "outcome.json"); /* soon rank 0 takes its notes away */

    free(notes);
    s->last_ns = tt_now_ns();
    s->now += fmin(tt_seconds(s->last_ns - last), 10 * TICK_SECONDS);
    s->begun = s->begun || look || tt_control_is_ready(job->directory);
    if (!s->begun && !job->launcher->cancel && s->now > start)
        return tt_fail(e, TT_FAILED,
                       "no rank has begun after launch.start_timeout, %g s; the launcher's words "
                       "are in %s/stderr",
                       start, job->directory);
    if (s->failed == 0 && tt_directory_has(job->directory, "failure"))
        s->failed = s->now;
    if (s->failed > 0 && s->now - s->failed > TT_STALL * patience + grace)
        return tt_fail(e, TT_FAILED, "the job did not end after a rank had failed");
    if (look != s->look || (look == 0 && !over))
        s->looked = s->now;
    s->look = look;
    if (s->now - s->looked > silence && over)
        return tt_fail(e, TT_FAILED, "the run was over, but its launcher did not end for %.0f s",
                       silence);
    if (s->now - s->looked > silence)
        return tt_fail(e, TT_FAILED, "rank 0 has not answered for %.0f s, and the job did not end",
                       silence);
    return TT_OK;
}

/* Until the launcher ends. Ctrl-C is passed on; a second one, or no answer, kills. */
static int supervise(const struct tt_launch *l, struct tt_job *job, bool quiet, struct tt_error *e)
{
    struct sight sight = {.last_ns = tt_now_ns()};
    struct pace pace = {0};
    long rows = 0; /* read so far, in bytes */
    int64_t deadline = 0;
    int rc = TT_OK;

    while (!tt_job_poll(job)) {
        int got = tt_signal_wait(TICK_SECONDS);

        if (!got && !deadline)
            rc = check_end(l, job, &sight, e);
        if (got)
            rc = tt_fail(e, TT_INTERRUPTED, "interrupted by signal %d (%s)", got, strsignal(got));
        if (got || (rc != TT_OK && !deadline)) {
            if (deadline)
                tt_job_kill(job);
            else
                tt_job_terminate(job);
            deadline = tt_now_ns() + GRACE_NS;
        }
        if (deadline && tt_now_ns() > deadline)
            tt_job_kill(job);
        if (l->rows_to)
            take_rows(job->directory, l->rows_to, &rows);
        if (!quiet)
            draw_progress(job->directory, &pace);
    }
    if (l->rows_to)
        take_rows(job->directory, l->rows_to, &rows);
    if (!quiet)
        tt_notice_draw("%s", "");
    return rc;
}

int tt_launch_and_wait(const struct tt_launch *l, bool quiet, int *status, struct tt_error *e)
{
    struct tt_job job;
    int rc;

    tt_processes_begin();
    rc = tt_job_start(l, &job, e);
    if (rc == TT_OK)
        rc = supervise(l, &job, quiet, e);
    tt_processes_end();
    tt_job_sweep(&job);
    *status = job.process.status;
    return rc;
}
