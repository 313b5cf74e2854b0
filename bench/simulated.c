/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run of very many ranks, made by the real writer from simulated ones, and what it takes to
 * attribute its time to phases.
 *   simulated make DIRECTORY NODES RANKS ITERATIONS   an empty directory; ranks of each node
 *   simulated look DIRECTORY                          prints {"seconds", "bytes", "reduced"}; bytes
 *                                                     of memory */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "../tests/unit/simulate_ranks.h"
#include "analysis/run_data.h"
#include "base/clock.h"

static int make(char **words, struct tt_error *e)
{
    const struct simulated_run run = {.nodes = (uint32_t)strtoul(words[1], NULL, 10),
                                      .ranks = (uint32_t)strtoul(words[2], NULL, 10),
                                      .iterations = strtoull(words[3], NULL, 10)};

    return simulate_run(words[0], &run, e);
}

static int look(const char *directory, struct tt_error *e)
{
    int64_t start = tt_now_ns();
    struct tt_run_data run;
    struct rusage used;
    json_t *phases;
    int rc = tt_run_data_load(&run, directory, e);

    if (rc != TT_OK)
        return rc;
    phases = tt_phase_times(&run);
    getrusage(RUSAGE_SELF, &used);
    printf("{\"seconds\": %.3f, \"bytes\": %ld, \"reduced\": %zu}\n",
           tt_seconds(tt_now_ns() - start), used.ru_maxrss * 1024L, run.nreduced);
    rc = phases ? TT_OK : tt_fail_nomem(e, "phases");
    json_decref(phases);
    tt_run_data_free(&run);
    return rc;
}

int main(int argc, char **argv)
{
    struct tt_error e = TT_ERROR_CLEAR;
    char why[512];
    int rc = TT_USAGE;

    if (argc == 6 && !strcmp(argv[1], "make"))
        rc = make(argv + 2, &e);
    else if (argc == 3 && !strcmp(argv[1], "look"))
        rc = look(argv[2], &e);
    else
        tt_fail(&e, rc, "usage: simulated make DIRECTORY NODES RANKS ITERATIONS | look DIRECTORY");
    if (rc == TT_OK)
        return 0;
    tt_error_format(&e, why, sizeof why);
    fprintf(stderr, "simulated: %s\n", why);
    return 1;
}
