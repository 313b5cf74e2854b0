/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A launcher that ends a job gives its ranks a second or so: enough to save what was measured and
 * to take the data files away, with nothing but async-signal-safe calls. */
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "engine/private.h"

/* The one global of the program: a handler has no other way to find the engine. */
static struct tt_engine *_Atomic interrupted_engine;

static void save_and_end(int signal_number)
{
    struct tt_engine *engine = atomic_exchange(&interrupted_engine, NULL);

    while (!engine) /* a second signal, in another thread: the first is being dealt with */
        pause();
    tt_recorder_terminate(engine->p->recorder);
    for (size_t i = 0; !engine->config->run->keep && i < engine->p->made.n; i++)
        unlink(engine->p->made.paths[i]);
    if (engine->p->data_folder_made)
        rmdir(engine->p->data_folder);
    _exit(128 + signal_number);
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

void tt_signals_install(struct tt_engine *engine)
{
    interrupted_engine = engine;
    set_handler(save_and_end);
}

void tt_signals_restore(void)
{
    set_handler(SIG_DFL);
    interrupted_engine = NULL;
}
