/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A launcher that ends a job gives its ranks a second or so: enough to save what was measured and
 * to take the data files away, with nothing but async-signal-safe calls. */
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/agree.h"
#include "engine/private.h"
#include "io/calls.h"
#include "plan/directory.h"

/* The one global of the program: a handler has no other way to find the engine. */
static struct tt_engine *_Atomic interrupted_engine;
static bool installed;
/* Of rank 0, where no driver speaks for it: if nothing is left behind, and if something is. */
static char last_words[2][PATH_MAX + 96];

/* There is no time, and no safe way, to walk a tree. */
static bool leaves_tree(const struct tt_engine *engine)
{
    for (const struct tt_made_file *f = engine->p->made; f && !engine->config->run->keep;
         f = f->next)
        if (!f->withdrawn &&
            (f->kind == TT_MADE_TREE || f->kind == TT_MADE_BUNDLE || f->kind == TT_MADE_CACHE))
            return true;
    return false;
}

static void save_and_clean(struct tt_engine *engine)
{
    int attempts = leaves_tree(engine) ? 0 : 50;
    struct tt_iteration_record last;

    tt_recorder_terminate(engine->p->recorder, tt__record_so_far(engine, &last) ? &last : NULL);
    for (struct tt_made_file *f = engine->p->made; f && !engine->config->run->keep; f = f->next) {
        struct tt_made made = tt__made(f);

        if (f->withdrawn || f->kind == TT_MADE_BESIDE || f->kind > TT_MADE_PARENT)
            continue;
        /* Other ranks may not have removed theirs from the data directory yet. */
        for (int i = 0; tt_remove_made(&engine->p->owner, &made) == TT_NOT_EMPTY &&
                        f->kind == TT_MADE_DIRECTORY && i < attempts;
             i++)
            nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
}

/* The first rank that ends makes Open MPI's mpirun kill the others at once: its sleep before
 * SIGKILL ends with any child. So every rank gives the others a tenth of a second to save their
 * records, and half of one to empty the data directory, which rank 0 removes last. */
static void wait_for_others(const struct tt_engine *engine)
{
    const char *data = engine->p->data_directory;

    if (engine->size == 1)
        return;
    for (int i = 0; i < 50; i++) {
        if (i >= 10 && (engine->config->run->keep || !data || access(data, F_OK) != 0))
            return;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
}

/* A launcher may ask twice, and another thread may be asked: the first one finishes its work. */
static void save_and_end(int signal_number)
{
    struct tt_engine *engine = atomic_exchange(&interrupted_engine, NULL);
    const char *words;

    if (!engine)
        return;
    tt_calls_unseen = true;
    /* First of all: a launcher may not wait until everything is cleaned. */
    words = last_words[leaves_tree(engine)];
    (void)!write(2, words, strlen(words));
    save_and_clean(engine);
    wait_for_others(engine);
    _exit(128 + signal_number);
}

void tt__save_and_clean(void)
{
    struct tt_engine *engine = atomic_exchange(&interrupted_engine, NULL);

    if (engine)
        save_and_clean(engine);
}

/* The others do not answer after this rank's failure: save the records, write the outcome, remove
 * the files this rank made and end the whole job. */
static void give_up(const struct tt_error *e)
{
    struct tt_engine *engine = atomic_exchange(&interrupted_engine, NULL);
    struct tt_error why = *e, ignored = TT_ERROR_CLEAR;
    char line[1024];

    if (engine && why.rank < 0)
        why.rank = engine->rank;
    tt_error_format(&why, line, sizeof line);
    if (engine &&
        (tt_directory_note_failure(engine->p->directory, line) || engine->p->failure_noted)) {
        tt_outcome_write(engine->p->directory, why.code, &why, &ignored);
        fprintf(stderr, "tutti: %s; other ranks did not come back from it\n", line);
    }
    if (engine)
        save_and_clean(engine);
    MPI_Abort(MPI_COMM_WORLD, 1);
    _exit(1);
}

/* A library may take the process along. What it was doing, and what the system had refused it, is
 * noted before the process ends as it would have; the launcher ends the others, and whoever finds
 * the manifest removes the files. Not all of this is safe here, and nothing depends on it. */
static void say_and_die(int signal_number)
{
    struct tt_engine *engine = atomic_exchange(&interrupted_engine, NULL);
    struct tt_error why = TT_ERROR_CLEAR;
    char cause[800] = "", line[1024];

    tt_calls_unseen = true;
    signal(SIGALRM, SIG_DFL);
    alarm(2);
    if (engine && !engine->p->failure_noted) {
        if (tt_calls_owed(&why)) {
            tt_error_format(&why, cause, sizeof cause);
            snprintf(line, sizeof line, "rank %d: %s; the library did not survive it (signal %d)",
                     engine->rank, cause, signal_number);
        } else {
            snprintf(line, sizeof line, "rank %d died of signal %d (%s)", engine->rank,
                     signal_number, strsignal(signal_number));
        }
        tt_directory_note_failure(engine->p->directory, line);
    }
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* A sanitizer has handlers of its own, which say more. */
static void set_crash_handler(void (*handler)(int))
{
#ifndef __SANITIZE_ADDRESS__
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESETHAND | SA_NODEFER};

    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        sigaction(crashes[i], &action, NULL);
#else
    (void)handler;
    (void)say_and_die;
#endif
}

static void set_handler(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};

    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGTERM);
    sigaddset(&action.sa_mask, SIGINT);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
}

void tt__signals_install(struct tt_engine *engine)
{
    const struct tt_last_resort resort = {engine->config->run->patience, give_up};

    last_words[0][0] = last_words[1][0] = '\0';
    if (engine->p->how.alone && engine->rank == 0) {
        snprintf(last_words[0], sizeof last_words[0],
                 "tutti: interrupted; what was measured: tutti show %s\n", engine->p->directory);
        snprintf(last_words[1], sizeof last_words[1],
                 "tutti: interrupted; remove the files it left behind: tutti clean %s\n",
                 engine->p->directory);
    }
    interrupted_engine = engine;
    installed = true;
    set_handler(save_and_end);
    set_crash_handler(say_and_die);
    tt_agree_last_resort(&resort);
}

/* A guard that has taken the engine is about to end the process: it is not freed below its feet. */
void tt__signals_restore(void)
{
    while (installed && !atomic_exchange(&interrupted_engine, NULL))
        pause();
    installed = false;
    tt_agree_last_resort(NULL);
    set_crash_handler(SIG_DFL);
    set_handler(SIG_DFL);
}
