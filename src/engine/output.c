/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Periodic output: when a dump is due, how many copies of it, and the epochs between dumps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/agree.h"
#include "engine/private.h"

struct tt_output {
    struct tt_engine *engine;
    const struct tt_write_options *options;
    uint64_t iterations;
    unsigned ncopies;
    struct tt_series **copies;
    uint64_t *steps; /* dumps so far, per copy */
    char *path;      /* of the files, but for their endings; NULL if the spec is the workload's */
    struct tt_series_spec spec; /* of every copy, but for endings and steps */
    bool in_epoch;
    struct tt_epoch_record epoch;
    int64_t epoch_start_ns;
    uint64_t totals[TT_NPHASES]; /* at the epoch's start */
    int64_t step_files_ns;       /* likewise */
    uint64_t last_iteration;     /* of the epoch's dump */
};

uint64_t tt_output_copies(const struct tt_write_options *w, uint64_t iteration, uint64_t iterations)
{
    size_t n = w->pattern.n;

    if (w->every == 0 || iteration == 0 || iteration % w->every != 0)
        return 0;
    /* ceil(iteration / (iterations / n)) - 1, in whole numbers */
    return n == 0
               ? 1
               : w->pattern.values[((__uint128_t)iteration * n + iterations - 1) / iterations - 1];
}

void tt_output_plan(const struct tt_write_options *w, uint64_t iterations, uint64_t *events,
                    uint64_t *dumps)
{
    *events = *dumps = 0;
    for (uint64_t i = w->every; w->every > 0 && i <= iterations; i += w->every) {
        uint64_t n = tt_output_copies(w, i, iterations);

        *events += n > 0;
        *dumps += n;
    }
}

static uint64_t steps_of_copy(const struct tt_write_options *w, uint64_t iterations, uint64_t copy)
{
    uint64_t n = 0;

    for (uint64_t i = w->every; i <= iterations; i += w->every)
        n += tt_output_copies(w, i, iterations) > copy;
    return n;
}

static unsigned most_copies(const struct tt_write_options *w)
{
    uint64_t most = w->pattern.n == 0;

    for (size_t i = 0; i < w->pattern.n; i++)
        if (w->pattern.values[i] > most)
            most = w->pattern.values[i];
    return (unsigned)most;
}

char *tt_data_path_of(struct tt_engine *engine, const char *given, const char *name)
{
    return given ? tt_config_path(engine->config, given) : tt_data_path(engine, name);
}

static int open_copy(struct tt_output *o, unsigned copy, struct tt_error *e)
{
    struct tt_series_spec spec = o->spec;
    char suffix[16] = "";

    spec.steps = steps_of_copy(o->options, o->iterations, copy);
    if (o->ncopies > 1)
        snprintf(suffix, sizeof suffix, "_r%u", copy);
    spec.suffix = suffix;
    return tt_series_open(o->engine, &spec, &o->copies[copy], e);
}

static int allocate(struct tt_output *o, struct tt_error *e)
{
    o->copies = calloc(o->ncopies, sizeof(struct tt_series *));
    o->steps = calloc(o->ncopies, sizeof *o->steps);
    return o->copies && o->steps ? TT_OK : tt_fail_nomem(e, "the output");
}

/* Opening is collective: nobody may stay away alone. */
static int open_copies(struct tt_output *o, struct tt_error *e)
{
    int rc = tt_agree(o->engine->comm, allocate(o, e), e);

    for (unsigned i = 0; rc == TT_OK && i < o->ncopies; i++)
        rc = open_copy(o, i, e);
    return rc;
}

int tt_output_open_as(struct tt_engine *engine, const struct tt_write_options *rules,
                      const struct tt_series_spec *spec, uint64_t iterations,
                      struct tt_output **out, struct tt_error *e)
{
    struct tt_output *o;
    int rc;

    *out = NULL;
    if (rules->every > iterations && engine->rank == 0)
        tt_warning(engine,
                   "nothing was written: a dump every %llu iterations, of which there are %llu",
                   (unsigned long long)rules->every, (unsigned long long)iterations);
    if (rules->every == 0 || rules->every > iterations || most_copies(rules) == 0)
        return TT_OK;
    o = calloc(1, sizeof *o);
    rc = tt_agree(engine->comm, o ? TT_OK : tt_fail_nomem(e, "the output"), e);
    if (rc == TT_OK) {
        *o = (struct tt_output){.engine = engine,
                                .options = rules,
                                .iterations = iterations,
                                .ncopies = most_copies(rules),
                                .spec = *spec};
        rc = open_copies(o, e);
    }
    if (rc == TT_OK)
        *out = o;
    else
        tt_output_close(o, e);
    return rc;
}

int tt_output_open(struct tt_engine *engine, const char *name, uint64_t iterations,
                   unsigned nvariables, const struct tt_variable *variables, struct tt_output **out,
                   struct tt_error *e)
{
    const struct tt_write_options *w = tt_config_opts(engine->config, "write");
    struct tt_series_spec spec = {
        .access = TT_CREATE, .nvariables = nvariables, .variables = variables};
    char *path = w ? tt_data_path_of(engine, w->path, name) : NULL;
    int rc = tt_agree(engine->comm, path || !w ? TT_OK : tt_fail_nomem(e, "the output"), e);

    *out = NULL;
    if (rc == TT_OK && w) {
        spec.path = path;
        spec.policy = (enum tt_policy)w->series;
        spec.per_process = w->files == 1;
        rc = tt_output_open_as(engine, w, &spec, iterations, out, e);
    }
    if (*out)
        (*out)->path = path;
    else
        free(path);
    return rc;
}

bool tt_output_is_due(const struct tt_output *o, uint64_t iteration)
{
    return o && tt_output_copies(o->options, iteration, o->iterations) > 0;
}

/* ---- epochs ---- */

static int64_t since(const struct tt_output *o, enum tt_phase phase)
{
    return (int64_t)(o->engine->p->total_ns[phase] - o->totals[phase]);
}

static void end_epoch(struct tt_output *o)
{
    if (!o->in_epoch)
        return;
    o->in_epoch = false;
    o->epoch.iterations = (uint32_t)(o->engine->p->now.iteration - o->last_iteration);
    o->epoch.span_ns = tt_now_ns() - o->epoch_start_ns;
    o->epoch.compute_ns = since(o, TT_COMPUTE) + since(o, TT_HALO) + since(o, TT_COLLECTIVE);
    o->epoch.io_ns = since(o, TT_IO_WRITE) + since(o, TT_IO_SYNC);
    o->epoch.files_ns = o->engine->p->step_files_ns - o->step_files_ns;
    o->epoch.visible_ns = since(o, TT_COPY) + since(o, TT_SUBMIT) + since(o, TT_WAIT) +
                          since(o, TT_SYNC) + since(o, TT_OPEN) + since(o, TT_CLOSE);
    tt_recorder_epoch(o->engine->p->recorder, &o->epoch);
}

/* The second of every `baseline` epochs: the first one warms up, and few dumps still give one. */
static bool next_is_baseline(const struct tt_output *o)
{
    uint64_t every = o->engine->config->run->baseline;

    return every > 0 && (every == 1 || o->epoch.epoch % every == 1);
}

static void begin_epoch(struct tt_output *o, uint64_t iteration, bool baseline)
{
    o->in_epoch = true;
    o->last_iteration = iteration;
    o->epoch = (struct tt_epoch_record){.epoch = o->epoch.epoch + 1, .baseline = baseline};
    memcpy(o->totals, o->engine->p->total_ns, sizeof o->totals);
    o->step_files_ns = o->engine->p->step_files_ns;
    o->epoch_start_ns = tt_now_ns();
}

/* ---- dumps ---- */

static int complete_all(struct tt_output *o, unsigned left, struct tt_error *e)
{
    int rc = TT_OK;

    for (unsigned i = 0; i < o->ncopies; i++) {
        int now = tt_series_complete(o->copies[i], left, e);

        rc = rc == TT_OK ? now : rc;
    }
    return rc;
}

static uint64_t bytes_of(const struct tt_output *o, unsigned nblocks, const struct tt_block *blocks)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < nblocks; i++)
        bytes += tt_selection_count(&blocks[i].file) *
                 tt_block_moved_size(&blocks[i], &o->spec.variables[blocks[i].variable]);
    return bytes;
}

static int dump(struct tt_output *o, uint64_t iteration, unsigned nblocks,
                const struct tt_block *blocks, struct tt_error *e)
{
    uint64_t n = tt_output_copies(o->options, iteration, o->iterations);
    uint64_t each = bytes_of(o, nblocks, blocks), bytes = n * each, added = 0;
    bool baseline = next_is_baseline(o);
    unsigned left = baseline ? 0 : tt__dumps_in_flight(o->engine) - 1;
    int rc = complete_all(o, left, e);

    end_epoch(o);
    for (uint64_t i = 0; i < n; i++)
        added += tt_series_growth(o->copies[i], o->steps[i], each);
    if (rc == TT_OK)
        rc = tt_limits_check_dump(o->engine, n, bytes, added, e);
    if (rc != TT_OK)
        return rc;
    begin_epoch(o, iteration, baseline);
    o->epoch.bytes = bytes;
    for (unsigned i = 0; i < n && rc == TT_OK; i++) {
        rc = tt_series_dump(o->copies[i], o->steps[i]++, nblocks, blocks, e);
        if (rc == TT_OK && baseline)
            rc = tt_series_complete(o->copies[i], 0, e);
    }
    return rc;
}

/* numio completes an iteration before the next dump, and at the end. */
static bool completes_early(const struct tt_output *o, uint64_t iteration)
{
    uint64_t f = o->options->every;

    return o->options->completion == 1 &&
           (f == 1 || iteration % f == f - 1 || iteration == o->iterations);
}

int tt_output_write(struct tt_output *o, uint64_t iteration, unsigned nblocks,
                    const struct tt_block *blocks, struct tt_error *e)
{
    int rc = TT_OK;

    if (!o)
        return TT_OK;
    if (tt_output_is_due(o, iteration))
        rc = dump(o, iteration, nblocks, blocks, e);
    if (rc == TT_OK && completes_early(o, iteration))
        rc = complete_all(o, 0, e);
    return rc;
}

struct tt_series *tt_output_last(struct tt_output *o, uint64_t *step)
{
    if (!o || o->steps[0] == 0)
        return NULL;
    *step = o->steps[0] - 1;
    return o->copies[0];
}

int tt_output_drain(struct tt_output *o, struct tt_error *e)
{
    int rc = TT_OK;

    for (unsigned i = 0; o && i < o->ncopies; i++) {
        int now = tt_series_drain(o->copies[i], e);

        rc = rc == TT_OK ? now : rc;
    }
    if (o)
        end_epoch(o);
    return rc;
}

int tt_output_close(struct tt_output *o, struct tt_error *e)
{
    int rc = TT_OK;

    if (!o)
        return TT_OK;
    for (unsigned i = 0; o->copies && i < o->ncopies; i++) {
        int now = tt_series_close(o->copies[i], e);

        rc = rc == TT_OK ? now : rc;
    }
    free(o->copies);
    free(o->steps);
    free(o->path);
    free(o);
    return rc;
}
