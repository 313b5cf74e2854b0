/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the engine's own bookkeeping costs: an event (two looks at the clock, a sum, a latency) and
 * an iteration (its record, written out now and then). Prints both as JSON, in nanoseconds.
 *   measuring DIRECTORY       an empty directory for the records */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "engine/private.h"
#include "record/recorder.h"
#include "plan/directory.h"

#define ITERATIONS 200000
#define EVENTS 20

/* The seconds of all iterations with so many events in each. */
static double play(struct tt_engine *engine, int events, struct tt_error *e)
{
    int64_t start = tt_now_ns();

    for (uint64_t i = 1; i <= ITERATIONS; i++) {
        tt_iteration_begin(engine, i, ITERATIONS, e);
        for (int k = 0; k < events; k++)
            tt_call_add(engine, TT_COMPUTE, TT_CALL_WRITE, tt_now_ns());
        tt_iteration_end(engine);
    }
    return tt_seconds(tt_now_ns() - start);
}

int main(int argc, char **argv)
{
    struct tt_engine_private *p = calloc(1, sizeof *p);
    struct tt_histogram *calls = calloc(TT_NCALLS, sizeof *calls);
    struct tt_engine engine = {.size = 1, .p = p};
    struct tt_error e = TT_ERROR_CLEAR;
    char *records = argc == 2 ? tt_directory_path(argv[1], "records") : NULL;
    double without, with;
    int rc = p && calls && records ? TT_OK : TT_USAGE;

    if (rc == TT_OK && mkdir(records, 0777) != 0)
        rc = TT_FAILED;
    if (rc == TT_OK)
        rc = tt_recorder_open(argv[1], &(struct tt_recorder_how){.size = 1, .writes = true},
                              &p->recorder, &e);
    if (rc == TT_OK) {
        p->calls = calls;
        p->next_check = UINT64_MAX; /* looking at the clock for all ranks is no event */
        without = play(&engine, 0, &e);
        with = play(&engine, EVENTS, &e);
        rc = tt_recorder_close(p->recorder, TT_RANK_DONE, &e);
        printf("{\"event_ns\": %.1f, \"iteration_ns\": %.1f}\n",
               (with - without) / ITERATIONS / EVENTS * 1e9, without / ITERATIONS * 1e9);
    }
    if (rc != TT_OK)
        fprintf(stderr, "measuring: usage: measuring DIRECTORY\n");
    free(records);
    free(calls);
    free(p);
    return rc != TT_OK;
}
