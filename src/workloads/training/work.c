/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "engine/device_work.h"
#include "workloads/training/training.h"

#define N TT_TRAINING_MATRIX

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
void tt_training_products(const float *restrict a, const float *restrict b, float *restrict c,
                          uint64_t passes)
{
    while (passes-- > 0)
        for (int i = 0; i < N; i++) {
            float *restrict row = c + i * N;

            for (int j = 0; j < N; j++)
                row[j] *= 0.5f;
            for (int k = 0; k < N; k++)
                for (int j = 0; j < N; j++)
                    row[j] += a[i * N + k] * b[k * N + j];
        }
}

void tt_training_work_do(struct tt_training_work *w, uint64_t passes)
{
    tt_training_products(w->a[0], w->b[0], w->c[0], passes);
}

/* On the host or on a device. */
struct computation {
    struct tt_training_work *work;
    struct tt_device_work on_device;
};

static int make_computation(const struct tt_engine *engine, void **state, struct tt_error *e)
{
    struct computation *c = *state = calloc(1, sizeof *c);
    uint64_t seed = engine->config->run->seed;

    if (c && engine->device)
        return tt_training_work_make_on(engine->device, seed, &c->on_device, e);
    return c && (c->work = tt_training_work_make(seed))
               ? TT_OK
               : tt_fail_nomem(e, "the matrices to compute on");
}

static void do_passes(void *state, uint64_t n)
{
    struct tt_error ignored = TT_ERROR_CLEAR; /* the run itself would fail, too */
    struct computation *c = state;

    if (c->work)
        tt_training_work_do(c->work, n);
    else
        tt_training_work_do_on(&c->on_device, n, &ignored);
}

static void free_computation(void *state)
{
    struct computation *c = state;

    if (c) {
        free(c->work);
        tt_device_work_free(&c->on_device);
    }
    free(c);
}

const struct tt_computation tt_training_computation = {make_computation, do_passes,
                                                       free_computation};
