/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A launcher that ends a job gives its ranks a second or so: enough to save what was measured and
 * to take the data files away, with nothing but async-signal-safe calls. */
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/agree.h"
#include "engine/private.h"

/* The one global of the program: a handler has no other way to find the engine. */
static struct tt_engine *_Atomic interrupted_engine;

/* What is said of a rank that is stuck, made before it is needed: a handler may not. */
struct tt__last_words {
    char path[PATH_MAX];
    char line[256];
};

/* If it cannot be said, the launcher's word has to do. */
static void say_last_words(const struct tt_engine *engine)
{
    const struct tt__last_words *words = engine->p->last_words;
    int fd;

    if (!words || engine->p->failure_noted)
        return;
    fd = open(words->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 && write(fd, words->line, strlen(words->line)) >= 0)
        close(fd);
}

static void save_and_clean(struct tt_engine *engine)
{
    struct tt_iteration_record last;

    tt_recorder_terminate(engine->p->recorder, tt__record_so_far(engine, &last) ? &last : NULL);
    for (struct tt_made_file *f = engine->p->made; f && !engine->config->run->keep; f = f->next)
        if (!f->withdrawn && f->kind <= TT_MADE_PARENT) {
            struct tt_made made = tt__made(f);

            tt_remove_made(&engine->p->owner, &made);
        }
}

/* A launcher may ask twice, and another thread may be asked: the first one finishes its work. */
static void save_and_end(int signal_number)
{
    struct tt_engine *engine = atomic_exchange(&interrupted_engine, NULL);

    if (!engine && signal_number != SIGALRM)
        return;
    if (engine && signal_number == SIGALRM)
        say_last_words(engine);
    if (engine)
        save_and_clean(engine);
    _exit(128 + signal_number);
}

/* The others do not answer after this rank's failure: save the records, write the outcome, remove
 * the files this rank made and end the whole job. */
static void give_up(const struct tt_error *e)
{
    struct tt_engine *engine = interrupted_engine;
    struct tt_error why = *e, ignored = TT_ERROR_CLEAR;
    char line[1024];

    interrupted_engine = NULL;
    if (engine) {
        if (why.rank < 0)
            why.rank = engine->rank;
        tt_outcome_write(engine->p->folder, why.code, &why, &ignored);
        save_and_clean(engine);
        tt_error_format(&why, line, sizeof line);
        fprintf(stderr, "tutti: %s; other ranks did not come back from it\n", line);
    }
    MPI_Abort(MPI_COMM_WORLD, 1);
    _exit(1);
}

static void set_handler(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};

    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGTERM);
    sigaddset(&action.sa_mask, SIGINT);
    sigaddset(&action.sa_mask, SIGALRM);
    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
}

void tt_signals_install(struct tt_engine *engine)
{
    const struct tt_last_resort resort = {engine->config->run->patience, give_up};

    interrupted_engine = engine;
    set_handler(save_and_end);
    tt_agree_last_resort(&resort);
}

/* The handler of SIGALRM ends this rank, and so the job. Twice the patience, so that a rank that
 * only waits for the others' agreement can still write the outcome. */
static void end_after(double seconds)
{
    double whole = floor(fmin(seconds, 1e9));
    const struct itimerval once = {
        .it_value = {.tv_sec = (time_t)whole,
                     .tv_usec = (suseconds_t)(1e6 * (fmin(seconds, 1e9) - whole)) + 1}};

    setitimer(ITIMER_REAL, &once, NULL);
}

void tt_signals_watch_failure(const struct tt_engine *engine)
{
    end_after(2 * engine->config->run->patience);
}

void tt_signals_watch_limit(struct tt_engine *engine)
{
    const struct tt_run_options *run = engine->config->run;
    struct tt__last_words *words = malloc(sizeof *words);

    if (run->max_time <= 0 || !words) {
        free(words);
        return;
    }
    snprintf(words->path, sizeof words->path, "%s/failure", engine->p->folder);
    snprintf(
        words->line, sizeof words->line,
        "rank %d: stopped by --max-time %g s and twice --patience %g s: this rank is stuck, or one "
        "that it waits for is\n",
        engine->rank, run->max_time, run->patience);
    engine->p->last_words = words;
    end_after(run->max_time + 2 * run->patience);
}

void tt_signals_limit_is_kept(struct tt_engine *engine)
{
    const struct itimerval never = {0};

    if (!engine->p->failure_noted)
        setitimer(ITIMER_REAL, &never, NULL);
}

void tt_signals_restore(void)
{
    const struct itimerval never = {0};

    setitimer(ITIMER_REAL, &never, NULL);
    tt_agree_last_resort(NULL);
    set_handler(SIG_DFL);
    interrupted_engine = NULL;
}
