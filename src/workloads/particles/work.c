/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What stands for the simulation between two steps: particles that fly through a periodic box. They
 * are apart from those in files, and always as many, so that a pass is short however many particles
 * a rank has, and however few of them are read. */
#include "engine/device_work.h"
#include "workloads/particles/particles.h"

#include <stdlib.h>

#define PARTICLES TT_PARTICLES_COMPUTED
#define DT 0.001f

struct tt_particles_work {
    float place[3][PARTICLES], momentum[3][PARTICLES];
};
const size_t tt_particles_work_size = sizeof(struct tt_particles_work);

struct tt_particles_work *tt_particles_work_make(uint64_t seed)
{
    struct tt_particles_work *w = malloc(sizeof *w);

    for (uint64_t i = 0; w && i < PARTICLES; i++)
        for (uint64_t d = 0; d < 3; d++) {
            w->place[d][i] = (float)((i * 40503 + seed * 31 + d) % PARTICLES) / PARTICLES;
            w->momentum[d][i] = (float)((i * 30011 + d) % 1000) / 1000;
        }
    return w;
}

/* A momentum is below 1, so a step never leaves the box by more than its length. */
void tt_particles_work_do(struct tt_particles_work *w, uint64_t passes)
{
    while (passes-- > 0)
        for (int d = 0; d < 3; d++) {
            float *restrict place = w->place[d];
            const float *restrict momentum = w->momentum[d];

            for (int i = 0; i < PARTICLES; i++) {
                float next = place[i] + momentum[i] * DT;

                place[i] = next >= 1.0f ? next - 1.0f : next;
            }
        }
}

/* On the host or on a device. */
struct computation {
    struct tt_particles_work *work;
    struct tt_device_work push;
};

static int make_computation(const struct tt_engine *engine, void **state, struct tt_error *e)
{
    struct computation *c = *state = calloc(1, sizeof *c);
    uint64_t seed = engine->config->run->seed;

    if (c && engine->device)
        return tt_particles_push_make(engine->device, seed, &c->push, e);
    return c && (c->work = tt_particles_work_make(seed))
               ? TT_OK
               : tt_fail_nomem(e, "the particles to compute on");
}

static void do_passes(void *state, uint64_t n)
{
    struct tt_error ignored = TT_ERROR_CLEAR; /* the run itself would fail, too */
    struct computation *c = state;

    if (c->push.device)
        tt_particles_push_do(&c->push, n, &ignored);
    else
        tt_particles_work_do(c->work, n);
}

static void free_computation(void *state)
{
    struct computation *c = state;

    if (c) {
        tt_device_work_free(&c->push);
        free(c->work);
    }
    free(c);
}

const struct tt_computation tt_particles_computation = {make_computation, do_passes,
                                                        free_computation};
