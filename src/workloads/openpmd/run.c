/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank does: a step, computation, the next step; written, read, or first the one and then
 * the other. Checking comes after the measured time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/agree.h"
#include "engine/engine.h"
#include "workloads/openpmd/openpmd.h"
#include "workloads/particles/particles.h"

#define POISON 0xa5
#define VALUE sizeof(double) /* every element of every variable */

struct job {
    struct tt_engine *engine;
    const struct tt_openpmd_options *options;
    struct tt_openpmd_shape shape;
    struct tt_openpmd_file file, read_file; /* the same, but for what is not read */
    char *path, *ending;                    /* of the series */
    uint64_t rank, shares;                  /* of a step, at most */
    char *buffers[TT_OPENPMD_NVARS];        /* of each variable, what is written or read */
    struct tt_block *blocks;
    struct tt_openpmd_box read_box;
    uint64_t read_first, read_count; /* elements of each variable that is read; ids have a first */
    struct tt_write_options rules;
    struct tt_particles_work *work; /* NULL: nothing is computed */
    struct tt_output *output;
    struct tt_series *series;
    uint64_t iteration, iterations;
};

/* ---- preparation ---- */

static bool writes(const struct job *j)
{
    return j->options->phase != TT_OPENPMD_READ;
}

static bool reads(const struct job *j)
{
    return j->options->phase != TT_OPENPMD_WRITE &&
           (tt_stack_caps(&j->engine->config->stack) & TT_CAP_STORES);
}

static bool is_read(const struct tt_openpmd_options *o, unsigned variable)
{
    bool rho = variable == TT_OPENPMD_VAR_RHO, e = variable < TT_OPENPMD_VAR_B,
         b = !e && variable < TT_OPENPMD_VAR_RHO;

    if (o->reading == TT_OPENPMD_METADATA)
        return true;
    if (o->reading == TT_OPENPMD_IDS)
        return variable == TT_OPENPMD_VAR_ID;
    if (o->reading < TT_OPENPMD_BLOCK)
        return o->reading < TT_OPENPMD_FX ? rho : b;
    return (rho && o->meshes == TT_OPENPMD_RHO) || (e && o->meshes == TT_OPENPMD_E) ||
           (b && o->meshes == TT_OPENPMD_B) ||
           (variable < TT_OPENPMD_NMESH && o->meshes == TT_OPENPMD_ALL);
}

/* Elements of a variable that a rank has, of its own share. */
static uint64_t own_elements(const struct job *j, unsigned variable)
{
    const struct tt_openpmd_shape *s = &j->shape;

    return s->own * (variable < TT_OPENPMD_NMESH ? s->cells : s->particles);
}

static void describe(struct job *j, const char *name)
{
    const struct tt_openpmd_options *o = j->options;
    uint64_t boxes = tt_openpmd_nboxes(&j->shape, o->rank_blocks);

    tt_openpmd_describe(&j->file, o, &j->shape, name);
    tt_openpmd_describe(&j->read_file, o, &j->shape, name);
    for (unsigned v = 0; v < j->file.nvariables; v++) {
        if (v < TT_OPENPMD_NMESH)
            j->file.variables[v].max_blocks = (unsigned)boxes * (o->balanced ? 1 : 2);
        j->read_file.variables[v].idle = !is_read(o, v);
    }
}

/* The name that openPMD-api's benchmark gives its series, unless the user has one. */
static int name_series(struct job *j, struct tt_error *e)
{
    const struct tt_openpmd_options *o = j->options;
    const struct tt_stack *stack = &j->engine->config->stack;
    const char *ending = stack->elements[stack->n - 1]->ending, *slash;
    char name[64], *whole, *format = NULL;
    int rc = TT_OK;

    snprintf(name, sizeof name, "8a_parallel_%dD%c%s", j->shape.ndims, o->balanced ? 'b' : 'u',
             ending ? ending : "");
    whole = tt_data_path_of(j->engine, o->path, name);
    if (!whole)
        return tt_fail_nomem(e, "a path");
    if (o->encoding == TT_OPENPMD_FILE) {
        rc = tt_openpmd_split(whole, &j->path, &j->ending, e);
        free(whole);
    } else {
        j->path = whole;
    }
    if (rc != TT_OK)
        return rc;
    slash = strrchr(j->path, '/');
    if (asprintf(&format, "%s%s%s", slash ? slash + 1 : j->path, j->ending ? "%06T" : "",
                 j->ending ? j->ending : "") < 0)
        return tt_fail_nomem(e, "a path");
    describe(j, format);
    free(format);
    return TT_OK;
}

/* One buffer per variable serves writing and reading. */
static int allocate(struct job *j, struct tt_error *e)
{
    const struct tt_openpmd_options *o = j->options;
    uint64_t boxes, first;
    int rc = tt_openpmd_shape_make(&j->shape, o, (uint64_t)j->engine->size, e);

    j->rank = (uint64_t)j->engine->rank;
    if (rc == TT_OK)
        rc = name_series(j, e);
    if (rc != TT_OK)
        return rc;
    boxes = tt_openpmd_nboxes(&j->shape, o->rank_blocks);
    for (uint64_t step = 0; step < 2; step++) {
        unsigned n = tt_openpmd_shares(&j->shape, o->balanced, step, j->rank, &first);

        j->shares = n > j->shares ? n : j->shares;
    }
    if (o->reading == TT_OPENPMD_IDS)
        j->read_count = tt_openpmd_read_ids(&j->shape, j->rank, &j->read_first);
    else if (tt_openpmd_read_box(&j->shape, o, j->rank, &j->read_box))
        j->read_count = tt_openpmd_cells(&j->shape, &j->read_box);
    for (unsigned v = 0; v < j->file.nvariables; v++) {
        uint64_t n = writes(j) ? own_elements(j, v) * j->shares : 0;

        if (reads(j) && is_read(o, v) && j->read_count > n)
            n = j->read_count;
        j->buffers[v] = malloc((n + 1) * VALUE);
        if (!j->buffers[v])
            return tt_fail_nomem(e, "the meshes and particles");
        memset(j->buffers[v], POISON, (n + 1) * VALUE); /* no step is to pay for new pages */
    }
    j->blocks = calloc(TT_OPENPMD_NMESH * boxes * 2 + TT_OPENPMD_NVARS, sizeof *j->blocks);
    if (!j->blocks)
        return tt_fail_nomem(e, "the blocks of a step");
    j->rules = (struct tt_write_options){.every = 1};
    if (o->compute.count > 0 && !(j->work = tt_particles_work_make(j->engine->config->run->seed)))
        return tt_fail_nomem(e, "the particles to compute on");
    return TT_OK;
}

static struct tt_series_spec spec_of(const struct job *j, const struct tt_openpmd_file *f,
                                     enum tt_access access)
{
    static const enum tt_policy policies[] = {TT_FILE_PER_STEP, TT_GROUP, TT_APPEND};

    return (struct tt_series_spec){.path = j->path,
                                   .access = access,
                                   .policy = policies[j->options->encoding],
                                   .steps = j->options->steps,
                                   .nvariables = f->nvariables,
                                   .variables = f->variables,
                                   .ngroups = f->ngroups,
                                   .groups = f->groups,
                                   .step_group = "data/",
                                   .step_ending = j->ending};
}

static int open_to_write(struct job *j, struct tt_error *e)
{
    struct tt_series_spec spec = spec_of(j, &j->file, TT_CREATE);

    return tt_output_open_as(j->engine, &j->rules, &spec, j->options->steps, &j->output, e);
}

static int open_to_read(struct job *j, struct tt_error *e)
{
    struct tt_series_spec spec = spec_of(j, &j->read_file, TT_READ_ONLY);

    return tt_series_open(j->engine, &spec, &j->series, e);
}

/* ---- steps ---- */

static void compute(struct job *j)
{
    int64_t t = tt_now_ns();

    if (!j->work)
        return;
    tt_particles_work_do(j->work, j->options->compute.count);
    tt_passes_add(j->engine, t);
}

static void add_block(struct job *j, unsigned *n, unsigned variable, const uint64_t *start,
                      const uint64_t *count, void *data)
{
    const struct tt_variable *v = &j->file.variables[variable];
    struct tt_block *b = &j->blocks[(*n)++];

    *b = (struct tt_block){.variable = variable, .data = data};
    tt_select_slab(&b->file, v->ndims, v->dims, start, NULL, count, NULL);
    tt_select_all(&b->memory, v->ndims, count);
}

/* What this rank writes at a step, with its content. */
static unsigned make_step(struct job *j, uint64_t step)
{
    const struct tt_openpmd_options *o = j->options;
    const struct tt_openpmd_shape *s = &j->shape;
    uint64_t boxes = tt_openpmd_nboxes(s, o->rank_blocks), first, at = 0;
    unsigned shares = tt_openpmd_shares(s, o->balanced, step, j->rank, &first), n = 0;
    uint64_t particles = s->own * s->particles, start = first * particles,
             count = shares * particles;

    for (uint64_t i = 0; i < shares * boxes; i++) {
        struct tt_openpmd_box box = tt_openpmd_box(s, o->rank_blocks, first + i / boxes, i % boxes);
        uint64_t cells = tt_openpmd_cells(s, &box);

        tt_openpmd_fill(s, &box, step, (double *)j->buffers[0] + at);
        for (unsigned v = 0; v < TT_OPENPMD_NMESH; v++) {
            char *data = j->buffers[v] + at * VALUE;

            if (v > 0)
                memcpy(data, j->buffers[0] + at * VALUE, cells * VALUE);
            add_block(j, &n, v, box.start, box.count, data);
        }
        at += cells;
    }
    if (count == 0)
        return n;
    tt_openpmd_fill_particles(s, start, count, step, (double *)j->buffers[TT_OPENPMD_VAR_CHARGE],
                              (uint64_t *)j->buffers[TT_OPENPMD_VAR_ID]);
    memcpy(j->buffers[TT_OPENPMD_VAR_POSITION], j->buffers[TT_OPENPMD_VAR_CHARGE], count * VALUE);
    for (unsigned v = TT_OPENPMD_VAR_ID; v < TT_OPENPMD_NVARS; v++)
        add_block(j, &n, v, &start, &count, j->buffers[v]);
    return n;
}

static int write_step(struct job *j, uint64_t step, struct tt_error *e)
{
    unsigned n;
    int64_t t;

    if (step > 0)
        compute(j);
    t = tt_now_ns();
    n = make_step(j, step);
    tt_phase_add(j->engine, TT_COMPUTE, t);
    return tt_output_write(j->output, step + 1, n, j->blocks, e);
}

static int load(struct job *j, uint64_t step, struct tt_error *e)
{
    const struct tt_openpmd_options *o = j->options;
    bool ids = o->reading == TT_OPENPMD_IDS;
    unsigned n = 0;

    for (unsigned v = 0; j->read_count > 0 && v < j->file.nvariables; v++)
        if (is_read(o, v))
            add_block(j, &n, v, ids ? &j->read_first : j->read_box.start,
                      ids ? &j->read_count : j->read_box.count, j->buffers[v]);
    return tt_series_load(j->series, step, n, j->blocks, e);
}

static int read_step(struct job *j, uint64_t step, struct tt_error *e)
{
    if (step > 0)
        compute(j);
    return load(j, step, e);
}

static int each_step(struct job *j, uint64_t every,
                     int (*act)(struct job *, uint64_t, struct tt_error *), struct tt_error *e)
{
    int rc = TT_OK;

    for (uint64_t step = 0; rc == TT_OK && step < j->options->steps; step += every) {
        rc = tt_iteration_begin(j->engine, ++j->iteration, j->iterations, e);
        if (rc == TT_OK)
            rc = act(j, step, e);
        tt_iteration_end(j->engine);
    }
    return rc;
}

/* ---- checking ---- */

static bool is_right(const struct job *j, unsigned v, uint64_t step)
{
    const uint64_t *ids = (const uint64_t *)j->buffers[v];

    if (j->options->reading != TT_OPENPMD_IDS)
        return tt_openpmd_check(&j->shape, &j->read_box, step, (const double *)j->buffers[v],
                                tt_stack_loss(&j->engine->config->stack));
    for (uint64_t i = 0; i < j->read_count; i++)
        if (ids[i] != j->read_first + i)
            return false;
    return true;
}

/* What an earlier step left in the buffer would look right. */
static int check_step(struct job *j, uint64_t step, struct tt_error *e)
{
    int rc;

    for (unsigned v = 0; v < j->file.nvariables; v++)
        if (is_read(j->options, v))
            memset(j->buffers[v], POISON, j->read_count * VALUE);
    rc = load(j, step, e);
    if (rc != TT_OK)
        return rc;
    for (unsigned v = 0; j->read_count > 0 && v < j->file.nvariables; v++)
        if (is_read(j->options, v) && !is_right(j, v, step))
            rc = tt_fail(e, TT_CORRUPT, "step %llu: %s is not what was written with these keys",
                         (unsigned long long)step, j->file.variables[v].path);
    return tt_agree(j->engine->comm, rc, e);
}

/* ---- the whole ---- */

static int close_output(struct job *j, struct tt_error *e)
{
    int rc = tt_output_close(j->output, e);

    j->output = NULL;
    return rc;
}

static int measured(struct job *j, struct tt_error *e)
{
    const struct tt_openpmd_options *o = j->options;
    int rc = tt_engine_start(j->engine, e);

    j->iterations = (writes(j) ? o->steps : 0) +
                    (reads(j) ? (o->steps + o->read_every - 1) / o->read_every : 0);
    if (rc == TT_OK && writes(j)) {
        rc = each_step(j, 1, write_step, e);
        if (rc == TT_OK)
            rc = tt_output_drain(j->output, e);
        if (rc == TT_OK && reads(j))
            rc = close_output(j, e);
        if (rc == TT_OK && reads(j))
            rc = open_to_read(j, e);
    }
    if (rc == TT_OK && reads(j))
        rc = each_step(j, o->read_every, read_step, e);
    return rc == TT_OK ? tt_engine_stop(j->engine, e) : rc;
}

static void release(struct job *j)
{
    for (unsigned v = 0; v < TT_OPENPMD_NVARS; v++)
        free(j->buffers[v]);
    free(j->blocks);
    free(j->path);
    free(j->ending);
    free(j->work);
}

int tt_openpmd_run(struct tt_engine *engine, struct tt_error *e)
{
    struct job j = {.engine = engine, .options = tt_config_opts(engine->config, "openpmd")};
    int rc = tt_agree(engine->comm, allocate(&j, e), e), closed;

    if (rc == TT_OK)
        rc = writes(&j) ? open_to_write(&j, e) : open_to_read(&j, e);
    if (rc == TT_OK)
        rc = measured(&j, e);
    if (reads(&j) && j.options->verify && !tt_engine_is_endless(engine))
        for (uint64_t step = 0; rc == TT_OK && step < j.options->steps;
             step += j.options->read_every)
            rc = check_step(&j, step, e);
    if (rc == TT_OK && j.options->phase == TT_OPENPMD_BOTH && !reads(&j))
        tt_warning(engine, "the backend keeps nothing: written only, not read back");
    closed = close_output(&j, e);
    rc = rc == TT_OK ? closed : rc;
    closed = tt_series_close(j.series, e);
    rc = rc == TT_OK ? closed : rc;
    release(&j);
    return rc;
}
