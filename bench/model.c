/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the model and overlap=auto cost, on two ranks. Prints as JSON
 *   fit        seconds that all forms of both rates take, fitted to 100,000 runs
 *   epoch_ns   what auto adds to an epoch: numbers in the agreement that closes a dump, and the
 *              choice; the fastest of several rounds with it less the fastest without */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

#include "analysis/overlap_model.h"
#include "base/agree.h"
#include "base/clock.h"
#include "base/mix.h"

#define RUNS 100000
#define ROUNDS 21
#define EPOCHS 2000

static double noisy(uint64_t i, double value)
{
    return value * (0.95 + 0.1 * (double)(tt_mix(i) >> 11) / 9007199254740992.0);
}

static double time_fit(void)
{
    struct tt_past_run *runs = calloc(RUNS, sizeof *runs);
    static struct tt_overlap_model m;
    struct tt_error e = TT_ERROR_CLEAR;
    int64_t t;

    if (!runs)
        return NAN;
    for (uint64_t i = 0; i < RUNS; i++) {
        double ranks = 1 + (double)(i / 2 % 64), size = 1048576.0 * (double)(1 + i / 128 % 100);

        runs[i] = (struct tt_past_run){.mode = i % 2,
                                       .ranks = ranks,
                                       .size = size,
                                       .storage_rate = noisy(i, size + 1e7 * ranks),
                                       .copy_rate = noisy(i, 10 * size + 1e9 * ranks),
                                       .compute = noisy(i, 1.1),
                                       .alone = 1};
    }
    t = tt_now_ns();
    if (tt_overlap_model_fit(&(struct tt_history){RUNS, runs}, -1, &m, &e) != TT_OK)
        return NAN;
    free(runs);
    return tt_seconds(tt_now_ns() - t);
}

static double time_epochs(bool with)
{
    struct tt_choice choice;
    uint64_t sums[2], most[5];
    struct tt_error e = TT_ERROR_CLEAR;
    int64_t t;

    tt_choice_begin(&choice, EPOCHS);
    MPI_Barrier(MPI_COMM_WORLD);
    t = tt_now_ns();
    for (uint64_t i = 0; i < EPOCHS; i++) {
        sums[0] = sums[1] = most[0] = most[1] = most[2] = most[3] = most[4] = i + 1;
        tt_agree_and_tell(MPI_COMM_WORLD, TT_OK, false,
                          &(struct tt_told){2, sums, with ? 5 : 0, most}, &e);
        if (with)
            tt_choice_next(&choice, &(struct tt_epoch_seen){.mode = choice.mode,
                                                            .span = noisy(most[0], 2),
                                                            .compute = noisy(most[1], 1),
                                                            .io = 1,
                                                            .copy = 0.1});
    }
    return (double)(tt_now_ns() - t) / EPOCHS;
}

int main(int argc, char **argv)
{
    double least[2] = {INFINITY, INFINITY};
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 2 * ROUNDS; i++)
        least[i % 2] = fmin(least[i % 2], time_epochs(i % 2));
    if (rank == 0)
        printf("{\"fit\": %.6f, \"epoch_ns\": %.1f}\n", time_fit(), least[1] - least[0]);
    MPI_Finalize();
    return 0;
}
