/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "engine/engine.h"
#include "workloads/training/training.h"

#define N 64 /* rows and columns; three matrices stay in the nearest caches */

struct tt_training_work {
    float a[N][N], b[N][N], c[N][N];
};

struct tt_training_work *tt_training_work_make(uint64_t seed)
{
    struct tt_training_work *w = malloc(sizeof *w);

    for (uint64_t i = 0; w && i < N * N; i++) {
        w->a[i / N][i % N] = (float)(tt_mix(seed + i) & 0xff) / 256;
        w->b[i / N][i % N] = (float)(tt_mix(seed + i) >> 8 & 0xff) / 256;
        w->c[i / N][i % N] = 0;
    }
    return w;
}

/* Halved before each product is added: values stay where they are. */
void tt_training_work_do(struct tt_training_work *w, uint64_t passes)
{
    while (passes-- > 0)
        for (int i = 0; i < N; i++) {
            float *restrict c = w->c[i];

            for (int j = 0; j < N; j++)
                c[j] *= 0.5f;
            for (int k = 0; k < N; k++) {
                const float *restrict b = w->b[k];
                float a = w->a[i][k];

                for (int j = 0; j < N; j++)
                    c[j] += a * b[j];
            }
        }
}

static int make_computation(const struct tt_engine *engine, void **state, struct tt_error *e)
{
    *state = tt_training_work_make(engine->config->run->seed);
    return *state ? TT_OK : tt_fail_nomem(e, "the matrices to compute on");
}

static void do_passes(void *state, uint64_t n)
{
    tt_training_work_do(state, n);
}

const struct tt_computation tt_training_computation = {make_computation, do_passes, free};
