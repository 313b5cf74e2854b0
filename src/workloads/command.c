/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any program, so that it can be measured and can be a load: fio, a shell script, an application.
 * It is not run by the engine: launch/hold.c starts it at the common instant and measures how
 * long it takes; what it does inside is its own. */
#include "workloads/command.h"

#include <string.h>
#include <unistd.h>

#include "plan/config.h"
#include "plan/workload.h"

static const struct tt_param params[] = {
    {"words", TT_PARAM_WORDS, offsetof(struct tt_program_options, words), NULL, NULL,
     "the program and its arguments; with several ranks it is an MPI program"},
    {NULL},
};

static int command_check(const struct tt_config *config, struct tt_error *e)
{
    const struct tt_program_options *o = tt_config_opts(config, "command");

    if (o->words.n == 0)
        return tt_fail(e, TT_USAGE, "command.words: no program; give it as a list: sleep,1");
    if (o->words.n == 1 && strchr(o->words.words[0], ' ') && access(o->words.words[0], X_OK) != 0)
        return tt_fail(
            e, TT_USAGE,
            "'%.80s' is not a program; give a program and its arguments as a list, such as "
            "[sleep, 1], or leave it to a shell: [sh, -c, '...']",
            o->words.words[0]);
    return TT_OK;
}

/* Nobody knows what it will write. */
static int command_estimate(const struct tt_config *config, struct tt_estimate *out,
                            struct tt_error *e)
{
    (void)config, (void)e;
    *out = (struct tt_estimate){0};
    return TT_OK;
}

static int command_run(struct tt_engine *engine, struct tt_error *e)
{
    (void)engine;
    return tt_fail(e, TT_USAGE,
                   "a command is launched by tutti itself: tutti run command -n RANKS, without "
                   "mpirun");
}

static const char *const shown[] = {"words", NULL};

const struct tt_workload tt_workload_command = {
    .name = "command",
    .summary = "any program, started at the common instant and timed",
    .params = params,
    .opts_size = sizeof(struct tt_program_options),
    .shown = shown,
    .check = command_check,
    .estimate = command_estimate,
    .run = command_run,
};
