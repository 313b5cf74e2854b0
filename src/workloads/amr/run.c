/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank does: plot files, then particle files, with computation between them; then a restart
 * from the last of each, which compares all that was read with what ought to be there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/agree.h"
#include "engine/engine.h"
#include "workloads/amr/amr.h"
#include "workloads/particles/particles.h"

#define POISON 0xa5
#define DIGITS 5 /* of the number in a file's name */

enum { PLOT, PARTICLES, NKINDS };

/* One kind of files. Of every variable there is what this rank has of it, or all of a table. */
struct kind {
    struct tt_amr_file file;
    uint64_t files;
    char *ending; /* of their names, behind the number */
    char *content[TT_AMR_LEVELS * TT_AMR_NPLOT], *read[TT_AMR_LEVELS * TT_AMR_NPLOT];
    size_t sizes[TT_AMR_LEVELS * TT_AMR_NPLOT]; /* bytes of each */
    struct tt_write_options rules;              /* in which iterations they are written */
    struct tt_output *output;
    struct tt_series *series;
};

struct job {
    struct tt_engine *engine;
    const struct tt_amr_options *options;
    struct tt_amr_shape shape;
    struct kind kinds[NKINDS];
    char *path;
    uint64_t first[TT_AMR_LEVELS], count[TT_AMR_LEVELS]; /* this rank's boxes */
    struct tt_block *blocks;
    struct tt_particles_work *work; /* NULL: nothing is computed */
    uint64_t iteration, iterations;
};

/* ---- preparation ---- */

static bool writes(const struct job *j)
{
    return j->options->phase != TT_AMR_READ;
}

static bool reads(const struct job *j)
{
    return j->options->phase != TT_AMR_WRITE &&
           (tt_stack_caps(&j->engine->config->stack) & TT_CAP_STORES);
}

/* Values of a variable for each box, where ranks have parts of it; 0: it is a table. */
static uint64_t per_box(const struct tt_amr_shape *s, int kind, unsigned variable)
{
    if (kind == PLOT)
        return variable % TT_AMR_NPLOT == TT_AMR_DATA ? s->values : 0;
    return variable == TT_AMR_PINTS    ? s->particles * TT_AMR_INTS
           : variable == TT_AMR_PREALS ? s->particles * TT_AMR_REALS
                                       : 0;
}

static unsigned level_of(int kind, unsigned variable)
{
    return kind == PLOT ? variable / TT_AMR_NPLOT : 0;
}

static int allocate_kind(struct job *j, int which, struct tt_error *e)
{
    struct kind *k = &j->kinds[which];
    uint64_t plots = j->kinds[PLOT].files, all = plots + j->kinds[PARTICLES].files;

    k->rules = (struct tt_write_options){
        .every = 1, .pattern = {.n = all, .values = calloc(all, sizeof(uint64_t))}};
    if (!k->rules.pattern.values)
        return tt_fail_nomem(e, "the files");
    for (uint64_t i = 0; i < all; i++)
        k->rules.pattern.values[i] = (i < plots) == (which == PLOT);
    for (unsigned v = 0; k->files > 0 && v < k->file.nvariables; v++) {
        const struct tt_variable *x = &k->file.variables[v];
        uint64_t each = per_box(&j->shape, which, v);
        uint64_t n = each ? each * j->count[level_of(which, v)] : x->dims[0];

        k->sizes[v] = n * x->element->size;
        k->content[v] = calloc(1, k->sizes[v] + 1);
        k->read[v] = reads(j) ? malloc(k->sizes[v] + 1) : NULL;
        if (!k->content[v] || (reads(j) && !k->read[v]))
            return tt_fail_nomem(e, "the boxes");
    }
    return TT_OK;
}

/* A raw file has no ending, but must not be called like the directory of the particles. */
static int name_files(struct job *j, struct tt_error *e)
{
    const struct tt_stack *stack = &j->engine->config->stack;
    const char *ending = stack->elements[stack->n - 1]->ending;

    if (!ending)
        ending = ".raw";
    j->path = tt_data_path_of(j->engine, j->options->path, "plt");
    j->kinds[PLOT].ending = strdup(ending);
    if (asprintf(&j->kinds[PARTICLES].ending, "/particle0/particle0%s", ending) < 0)
        j->kinds[PARTICLES].ending = NULL;
    return j->path && j->kinds[PLOT].ending && j->kinds[PARTICLES].ending
               ? TT_OK
               : tt_fail_nomem(e, "a path");
}

static int allocate(struct job *j, struct tt_error *e)
{
    const struct tt_amr_options *o = j->options;
    uint64_t rank = (uint64_t)j->engine->rank, ranks = (uint64_t)j->engine->size, most;
    int rc = tt_amr_shape_make(&j->shape, o, e);

    if (rc == TT_OK)
        rc = name_files(j, e);
    if (rc != TT_OK)
        return rc;
    for (unsigned l = 0; l < j->shape.nlevels; l++)
        j->count[l] = tt_amr_share(j->shape.levels[l].boxes, ranks, rank, &j->first[l]);
    most = (j->shape.levels[0].boxes + ranks - 1) / ranks;
    j->kinds[PLOT].files = o->plot_files;
    j->kinds[PARTICLES].files = o->particle_files;
    tt_amr_describe_plot(&j->kinds[PLOT].file, o, &j->shape);
    tt_amr_describe_particles(&j->kinds[PARTICLES].file, &j->shape, most);
    for (int k = 0; rc == TT_OK && k < NKINDS; k++)
        rc = allocate_kind(j, k, e);
    j->blocks = calloc(TT_AMR_LEVELS * TT_AMR_NPLOT + 2 * (size_t)most, sizeof *j->blocks);
    if (rc == TT_OK && !j->blocks)
        rc = tt_fail_nomem(e, "the blocks of a file");
    if (rc == TT_OK && o->compute.count > 0 &&
        !(j->work = tt_particles_work_make(j->engine->config->run->seed)))
        rc = tt_fail_nomem(e, "the particles to compute on");
    return rc;
}

/* Of the particle files, which lie in directories with the names of the plot files. By rank 0. */
static int make_directories(struct job *j, struct tt_error *e)
{
    static const char *const names[] = {"", "/particle0"};
    int rc = TT_OK;

    for (uint64_t i = 0; i < 2 * j->kinds[PARTICLES].files && rc == TT_OK; i++) {
        char *path;

        if (asprintf(&path, "%s%0*llu%s", j->path, DIGITS, (unsigned long long)i / 2,
                     names[i % 2]) < 0)
            return tt_fail_nomem(e, "a path");
        rc = tt_data_own_directory(j->engine, path, e);
        free(path);
    }
    return rc;
}

static struct tt_series_spec spec_of(const struct job *j, const struct kind *k,
                                     enum tt_access access)
{
    return (struct tt_series_spec){.path = j->path,
                                   .access = access,
                                   .policy = TT_FILE_PER_STEP,
                                   .nvariables = k->file.nvariables,
                                   .variables = k->file.variables,
                                   .ngroups = k->file.ngroups,
                                   .groups = k->file.groups,
                                   .step_ending = k->ending,
                                   .step_digits = DIGITS};
}

/* Opened when the one before is complete, since epochs are counted through; no file is, as yet.
 * Iterations are counted through, too: the rules say which of them are of this kind. */
static int open_to_write(struct job *j, struct kind *k, struct tt_error *e)
{
    uint64_t all = j->kinds[PLOT].files + j->kinds[PARTICLES].files;
    struct tt_series_spec spec = spec_of(j, k, TT_CREATE);

    if (k->files == 0)
        return TT_OK;
    return tt_output_open_as(j->engine, &k->rules, &spec, all, &k->output, e);
}

/* ---- files ---- */

static void compute(struct job *j)
{
    int64_t t = tt_now_ns();

    if (j->work) {
        tt_particles_work_do(j->work, j->options->compute.count);
        t = tt_passes_add(j->engine, t);
    }
    if (j->options->pause > 0) {
        tt_sleep_until(t + (int64_t)(j->options->pause * 1e9));
        tt_phase_add(j->engine, TT_COMPUTE, t);
    }
}

static void fill_plot(struct job *j, uint64_t file)
{
    const struct tt_amr_shape *s = &j->shape;

    for (unsigned l = 0; l < s->nlevels; l++) {
        char **content = &j->kinds[PLOT].content[l * TT_AMR_NPLOT];
        struct tt_amr_box *boxes = (void *)content[TT_AMR_BOXES];
        int64_t *offsets = (void *)content[TT_AMR_OFFSETS];
        double *values = (void *)content[TT_AMR_DATA];

        for (uint64_t b = 0; b <= s->levels[l].boxes; b++) {
            if (b < s->levels[l].boxes)
                boxes[b] = tt_amr_box(s, l, b);
            offsets[b] = (int64_t)(b * s->values);
        }
        for (uint64_t b = 0; b < j->count[l]; b++)
            tt_amr_fill(s, j->options->content, l, j->first[l] + b, file, values + b * s->values);
    }
}

static void fill_particles(struct job *j, uint64_t file)
{
    const struct tt_amr_shape *s = &j->shape;
    char **content = j->kinds[PARTICLES].content;
    struct tt_amr_box *boxes = (void *)content[TT_AMR_PBOXES];
    int32_t *counts = (void *)content[TT_AMR_PCOUNTS], *ints = (void *)content[TT_AMR_PINTS];
    double *reals = (void *)content[TT_AMR_PREALS];

    for (uint64_t b = 0; b < s->levels[0].boxes; b++) {
        boxes[b] = tt_amr_box(s, 0, b);
        counts[b] = (int32_t)s->particles;
    }
    for (uint64_t b = 0; b < j->count[0]; b++)
        tt_amr_fill_particles(s, j->first[0] + b, file, ints + b * s->particles * TT_AMR_INTS,
                              reals + b * s->particles * TT_AMR_REALS);
}

static void fill(struct job *j, int which, uint64_t file)
{
    if (which == PLOT)
        fill_plot(j, file);
    else
        fill_particles(j, file);
}

/* Tables are written by rank 0, and read by all. Cells are one slab of a rank, particles one slab
 * of a box. */
static unsigned list_blocks(struct job *j, int which, char **buffers, bool tables)
{
    const struct kind *k = &j->kinds[which];
    unsigned n = 0;

    for (unsigned v = 0; v < k->file.nvariables; v++) {
        const struct tt_variable *x = &k->file.variables[v];
        uint64_t each = per_box(&j->shape, which, v), level = level_of(which, v);
        uint64_t boxes = each ? j->count[level] : tables;
        uint64_t pieces = each && which == PLOT && boxes > 0 ? 1 : boxes;
        uint64_t count = each ? boxes * each / (pieces ? pieces : 1) : x->dims[0];

        for (uint64_t i = 0; i < pieces; i++) {
            struct tt_block *b = &j->blocks[n++];
            uint64_t start = each ? j->first[level] * each + i * count : 0;

            *b =
                (struct tt_block){.variable = v, .data = buffers[v] + i * count * x->element->size};
            tt_select_slab(&b->file, 1, x->dims, &start, NULL, &count, NULL);
            tt_select_all(&b->memory, 1, &count);
        }
    }
    return n;
}

static int write_file(struct job *j, int which, uint64_t file, struct tt_error *e)
{
    struct kind *k = &j->kinds[which];
    int64_t t;
    unsigned n;

    if (j->iteration > 1)
        compute(j);
    t = tt_now_ns();
    fill(j, which, file);
    tt_phase_add(j->engine, TT_COMPUTE, t);
    n = list_blocks(j, which, k->content, j->engine->rank == 0);
    return tt_output_write(k->output, j->iteration, n, j->blocks, e);
}

static bool is_right(const struct job *j, const struct kind *k, unsigned v)
{
    const struct tt_element *element = k->file.variables[v].element;
    double loss = tt_stack_loss(&j->engine->config->stack);

    if (loss == 0)
        return !memcmp(k->content[v], k->read[v], k->sizes[v]);
    for (size_t at = 0; at < k->sizes[v]; at += element->size)
        if (memcmp(k->content[v] + at, k->read[v] + at, element->size) != 0 &&
            !tt_is_near(element, k->read[v] + at, k->content[v] + at, loss))
            return false;
    return true;
}

static int compare(const struct job *j, int which, uint64_t file, struct tt_error *e)
{
    const struct kind *k = &j->kinds[which];

    for (unsigned v = 0; v < k->file.nvariables; v++)
        if (!is_right(j, k, v))
            return tt_fail(e, TT_CORRUPT,
                           "%s file %llu: %s is not what was written with these keys",
                           which == PLOT ? "plot" : "particle", (unsigned long long)file,
                           k->file.variables[v].path);
    return TT_OK;
}

static int read_file(struct job *j, int which, uint64_t file, struct tt_error *e)
{
    struct kind *k = &j->kinds[which];
    unsigned n = list_blocks(j, which, k->read, true);
    int64_t t;
    int rc;

    for (unsigned v = 0; v < k->file.nvariables; v++)
        memset(k->read[v], POISON, k->sizes[v]);
    rc = tt_series_load(k->series, file, n, j->blocks, e);
    if (rc != TT_OK)
        return rc;
    t = tt_now_ns();
    fill(j, which, file);
    if (j->options->verify)
        rc = compare(j, which, file, e);
    tt_phase_add(j->engine, TT_COMPUTE, t);
    return tt_agree(j->engine->comm, rc, e);
}

static int each_file(struct job *j, int which, uint64_t from,
                     int (*act)(struct job *, int, uint64_t, struct tt_error *), struct tt_error *e)
{
    int rc = TT_OK;

    for (uint64_t file = from; rc == TT_OK && file < j->kinds[which].files; file++) {
        rc = tt_iteration_begin(j->engine, ++j->iteration, j->iterations, e);
        if (rc == TT_OK)
            rc = act(j, which, file, e);
        tt_iteration_end(j->engine);
    }
    return rc;
}

/* ---- the whole ---- */

static int restart(struct job *j, struct tt_error *e)
{
    int rc = TT_OK;

    for (int i = 0; rc == TT_OK && i < NKINDS; i++) {
        struct kind *k = &j->kinds[i];
        struct tt_series_spec spec = spec_of(j, k, TT_READ_ONLY);

        if (k->files == 0)
            continue;
        rc = tt_series_open(j->engine, &spec, &k->series, e);
        if (rc == TT_OK)
            rc = each_file(j, i, k->files - 1, read_file, e);
    }
    return rc;
}

static int measured(struct job *j, struct tt_error *e)
{
    struct kind *k = j->kinds;
    int rc = tt_engine_start(j->engine, e);

    j->iterations = (writes(j) ? k[PLOT].files + k[PARTICLES].files : 0) +
                    (reads(j) ? (k[PLOT].files > 0) + (k[PARTICLES].files > 0) : 0);
    for (int i = 0; rc == TT_OK && writes(j) && i < NKINDS; i++) {
        rc = open_to_write(j, &k[i], e);
        if (rc == TT_OK)
            rc = each_file(j, i, 0, write_file, e);
        if (rc == TT_OK)
            rc = tt_output_drain(k[i].output, e);
    }
    if (rc == TT_OK && reads(j))
        rc = restart(j, e);
    return rc == TT_OK ? tt_engine_stop(j->engine, e) : rc;
}

static int close_all(struct job *j, int rc, struct tt_error *e)
{
    for (int i = 0; i < NKINDS; i++) {
        struct kind *k = &j->kinds[i];
        int closed = tt_output_close(k->output, e);

        rc = rc == TT_OK ? closed : rc;
        closed = tt_series_close(k->series, e);
        rc = rc == TT_OK ? closed : rc;
        for (unsigned v = 0; v < k->file.nvariables; v++) {
            free(k->content[v]);
            free(k->read[v]);
        }
        free(k->ending);
        free(k->rules.pattern.values);
    }
    free(j->blocks);
    free(j->path);
    free(j->work);
    return rc;
}

int tt_amr_run(struct tt_engine *engine, struct tt_error *e)
{
    struct job *j = calloc(1, sizeof *j); /* its descriptions are large */
    int rc = tt_agree(engine->comm, j ? TT_OK : tt_fail_nomem(e, "the job"), e);

    if (rc != TT_OK) {
        free(j);
        return rc;
    }
    j->engine = engine;
    j->options = tt_config_opts(engine->config, "amr");
    rc = tt_agree(engine->comm, allocate(j, e), e);
    if (rc == TT_OK && writes(j))
        rc = tt_agree(engine->comm, engine->rank == 0 ? make_directories(j, e) : TT_OK, e);
    if (rc == TT_OK)
        rc = measured(j, e);
    if (rc == TT_OK && j->options->phase == TT_AMR_BOTH && !reads(j))
        tt_warning(engine, "the backend keeps nothing: written only, not read back");
    rc = close_all(j, rc, e);
    free(j);
    return rc;
}
