/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The smallest complete workload: the logistic map x -> r x (1 - x) for many r at once, whose
 * orbits make the well-known bifurcation diagram. Copy it to make your own.
 *
 * The values are written as the write.* keys say, and at the end the last dump is read back. */
#include <stdlib.h>
#include <string.h>

#include "base/agree.h"
#include "engine/engine.h"
#include "io/module.h"
#include "plan/workload.h"

struct template_opts {
    uint64_t points, iterations;
};

static const struct tt_param params[] = {
    {"points", TT_PARAM_COUNT, offsetof(struct template_opts, points), "100000", "points",
     "values of r, over all ranks", 1, INT64_C(1) << 40},
    {"iterations", TT_PARAM_COUNT, offsetof(struct template_opts, iterations), "100", NULL,
     "how often the map is applied", 1, INT64_MAX},
    {NULL},
};

static const char *const uses[] = {"write", NULL};

/* Everything a rank has. With a file per process, dims are the rank's own. */
struct orbit {
    struct tt_engine *engine;
    const struct template_opts *opts;
    uint64_t first, count; /* this rank's points */
    double *x, *back;
    struct tt_variable variable;
    struct tt_output *output;
};

static int template_check(const struct tt_config *config, struct tt_error *e)
{
    const struct template_opts *opts = tt_config_opts(config, "template");

    if (opts->points < config->run->ranks)
        return tt_fail(e, TT_USAGE, "template.points: fewer points than ranks");
    return TT_OK;
}

static int template_estimate(const struct tt_config *config, struct tt_estimate *out,
                             struct tt_error *e)
{
    const struct template_opts *opts = tt_config_opts(config, "template");
    const struct tt_write_options *w = tt_config_opts(config, "write");
    uint64_t ranks = config->run->ranks ? config->run->ranks : 1;
    uint64_t dumps, kept, bytes = opts->points * sizeof(double);

    (void)e;
    tt_output_plan(w, opts->iterations, &out->dumps, &dumps);
    kept = w->series == TT_OVERWRITE && dumps > 1 ? 1 : dumps;
    out->bytes_written = bytes * dumps;
    out->bytes_on_disk = bytes * kept;
    out->bytes_read = dumps ? bytes : 0;
    out->files = (w->files ? ranks : 1) * (w->series == TT_FILE_PER_STEP ? dumps : dumps > 0);
    out->memory_per_rank = 2 * (bytes / ranks + sizeof(double));
    return TT_OK;
}

static int prepare(struct orbit *o, struct tt_error *e)
{
    const struct tt_write_options *w = tt_config_opts(o->engine->config, "write");
    uint64_t rank = (uint64_t)o->engine->rank, size = (uint64_t)o->engine->size;

    o->first = o->opts->points / size * rank;
    o->count =
        (rank + 1 == size ? o->opts->points : o->opts->points / size * (rank + 1)) - o->first;
    o->x = malloc(o->count * sizeof *o->x);
    o->back = malloc(o->count * sizeof *o->back);
    if (!o->x || !o->back)
        return tt_fail_nomem(e, "the orbits");
    for (uint64_t i = 0; i < o->count; i++)
        o->x[i] = 0.5;
    o->variable = (struct tt_variable){.path = "x",
                                       .element = &tt_element_f64,
                                       .ndims = 1,
                                       .dims = {w->files ? o->count : o->opts->points},
                                       .per_step = true};
    return TT_OK;
}

/* The same elements in the file, and at data in memory. */
static struct tt_block block_of(const struct orbit *o, double *data)
{
    uint64_t start = o->variable.dims[0] == o->count ? 0 : o->first;
    struct tt_block b = {.variable = 0, .data = data};

    tt_select_slab(&b.file, 1, o->variable.dims, &start, NULL, &o->count, NULL);
    tt_select_all(&b.memory, 1, &o->count);
    return b;
}

/* The engine keeps the accounts of time; a workload says since when, and on what. */
static void compute(struct orbit *o)
{
    int64_t t = tt_now_ns();

    for (uint64_t i = 0; i < o->count; i++) {
        double r = 2.8 + 1.2 * (double)(o->first + i) / (double)o->opts->points;

        o->x[i] = r * o->x[i] * (1.0 - o->x[i]);
    }
    tt_phase_add(o->engine, TT_COMPUTE, t);
}

static int iterate(struct orbit *o, struct tt_error *e)
{
    int rc = TT_OK;

    for (uint64_t i = 1; rc == TT_OK && i <= o->opts->iterations; i++) {
        struct tt_block b = block_of(o, o->x);

        rc = tt_iteration_begin(o->engine, i, o->opts->iterations, e);
        if (rc == TT_OK) {
            compute(o);
            /* Copies x if computation is to go on, so x may change as soon as it returns. */
            rc = tt_output_write(o->output, i, 1, &b, e);
            if (rc == TT_OK && tt_output_is_due(o->output, i))
                memcpy(o->back, o->x, o->count * sizeof *o->x);
        }
        tt_iteration_end(o->engine);
    }
    return rc == TT_OK ? tt_output_drain(o->output, e) : rc;
}

/* back holds what the last dump had; x is free to read into. */
static int read_back(struct orbit *o, struct tt_error *e)
{
    uint64_t step;
    struct tt_series *last = tt_output_last(o->output, &step);
    struct tt_block b = block_of(o, o->x);
    int rc;

    if (!last || !(tt_stack_caps(&o->engine->config->stack) & TT_CAP_STORES))
        return TT_OK;
    rc = tt_series_load(last, step, 1, &b, e);
    if (rc == TT_OK && memcmp(o->x, o->back, o->count * sizeof *o->x))
        rc = tt_fail(e, TT_CORRUPT, "step %llu was not read as written", (unsigned long long)step);
    return tt_agree(o->engine->comm, rc, e);
}

static int measured(struct orbit *o, struct tt_error *e)
{
    int rc = tt_engine_start(o->engine, e);

    if (rc == TT_OK)
        rc = iterate(o, e);
    if (rc == TT_OK)
        rc = read_back(o, e);
    if (rc == TT_OK)
        rc = tt_engine_stop(o->engine, e);
    tt_result(o->engine, "updates", TT_RESULT_SUM, (double)o->count * (double)o->opts->iterations);
    return rc;
}

/* Ranks agree before they part; what was opened is closed in every case. */
static int template_run(struct tt_engine *engine, struct tt_error *e)
{
    struct orbit o = {.engine = engine, .opts = tt_config_opts(engine->config, "template")};
    int rc = tt_agree(engine->comm, prepare(&o, e), e), closed;

    if (rc == TT_OK)
        rc = tt_output_open(engine, "template", o.opts->iterations, 1, &o.variable, &o.output, e);
    if (rc == TT_OK)
        rc = measured(&o, e);
    closed = tt_output_close(o.output, e);
    free(o.x);
    free(o.back);
    return rc == TT_OK ? closed : rc;
}

const struct tt_workload tt_workload_template = {
    .name = "template",
    .summary = "orbits of the logistic map; the example in docs/extending.md",
    .uses = uses,
    .has_epochs = true,
    .params = params,
    .opts_size = sizeof(struct template_opts),
    .check = template_check,
    .estimate = template_estimate,
    .run = template_run,
};

TT_MODULE(.workload = &tt_workload_template);
