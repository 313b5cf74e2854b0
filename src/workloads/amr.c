/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plot and particle files of adaptive meshes in the HDF5 layout of AMReX, and a restart from them.
 * Its parts are in amr/. */
#include <stdio.h>

#include "plan/config.h"
#include "workloads/amr/amr.h"
#include "workloads/particles/particles.h"

static const char *const phases[] = {"write", "read", "both", NULL};
static const char *const contents[] = {"level", "numbered", NULL};

#define AT(member) offsetof(struct tt_amr_options, member)
static const struct tt_param params[] = {
    {"cells", TT_PARAM_COUNT, AT(cells), "64", "cells",
     "edge of the coarsest level, which is a cube", 1, 1 << 30},
    {"max_grid", TT_PARAM_COUNT, AT(max_grid), "8", "cells", "edge of a box; divides cells", 1,
     1 << 12},
    {"levels", TT_PARAM_COUNT, AT(levels), "1", NULL,
     "of refinement; each has the middle half, in every dimension, of the one before", 1,
     TT_AMR_LEVELS},
    {"ratios", TT_PARAM_COUNTS, AT(ratios), "2", NULL,
     "between two levels, coarsest first; the last one counts for all that follow"},
    {"components", TT_PARAM_COUNT, AT(components), "6", NULL, "values per cell", 1,
     TT_AMR_COMPONENTS},
    {"particles", TT_PARAM_COUNT, AT(particles), "2", NULL, "per cell of the coarsest level", 0,
     1000},
    {"plot_files", TT_PARAM_COUNT, AT(plot_files), "2", NULL, "plot files; 0: none", 0, 99999},
    {"particle_files", TT_PARAM_COUNT, AT(particle_files), "2", NULL,
     "particle files, after the plot files; 0: none", 0, 99999},
    {"compute", TT_PARAM_PASSES, AT(compute), "0", "passes",
     "computation before every file but the first, as that of the workload particles; or for how "
     "long, which is calibrated once",
     0, INT64_C(1) << 40},
    {"pause", TT_PARAM_DURATION, AT(pause), "0", "s",
     "sleep before every file but the first, as the original does: a rank that sleeps needs no "
     "core",
     0, 1000000},
    {"phase", TT_PARAM_CHOICE, AT(phase), "write", NULL,
     "write; or read the last file of each kind; or both", .choices = phases},
    {"verify", TT_PARAM_BOOL, AT(verify), "yes", NULL, "compare all that is read"},
    {"content", TT_PARAM_CHOICE, AT(content), "level", NULL,
     "values of cells: the number of their level, or another for each cell and component",
     .choices = contents},
    {"path", TT_PARAM_TEXT, AT(path), NULL, NULL,
     "what names of files begin with, relative to --dir; default: plt in a new directory there",
     .placeholder = "PREFIX"},
    {NULL},
};

/* Of one plot file and one particle file. */
static void file_bytes(const struct tt_amr_shape *s, uint64_t *plot, uint64_t *particles)
{
    uint64_t boxes = s->levels[0].boxes;

    *plot = 0;
    for (unsigned l = 0; l < s->nlevels; l++)
        *plot += s->levels[l].boxes * (s->values * sizeof(double) + 24 + 12) +
                 (s->levels[l].boxes + 1) * sizeof(int64_t);
    *particles =
        boxes * (24 + 4) +
        boxes * s->particles * (TT_AMR_INTS * sizeof(int32_t) + TT_AMR_REALS * sizeof(double));
}

/* Of the rank that has most: its boxes, and all of each table. */
static uint64_t bytes_of_rank(const struct tt_amr_shape *s, const struct tt_amr_options *o,
                              uint64_t ranks)
{
    uint64_t most = (s->levels[0].boxes + ranks - 1) / ranks, bytes = 0;

    for (unsigned l = 0; l < s->nlevels && o->plot_files > 0; l++) {
        uint64_t boxes = s->levels[l].boxes;

        bytes += (boxes + ranks - 1) / ranks * s->values * sizeof(double) + boxes * (24 + 12) +
                 (boxes + 1) * sizeof(int64_t);
    }
    if (o->particle_files > 0)
        bytes +=
            most * s->particles * (TT_AMR_INTS * sizeof(int32_t) + TT_AMR_REALS * sizeof(double)) +
            s->levels[0].boxes * (24 + 4);
    return bytes;
}

/* A restart has the keys of the files that it reads. */
static int check_idle(const struct tt_amr_options *o, struct tt_error *e)
{
    const struct tt_idle idle[] = {
        {o->plot_files == 0, "levels components content", "without amr.plot_files"},
        {o->particle_files == 0, "particles", "without amr.particle_files"},
        {o->levels == 1, "ratios", "with one level"},
    };

    if (o->levels > 1 && o->ratios.n >= o->levels)
        return tt_fail(e, TT_USAGE,
                       "amr.ratios: %zu ratios are more than there are between %llu levels",
                       o->ratios.n, (unsigned long long)o->levels);
    return tt_params_check_idle("amr", params, o, idle, sizeof idle / sizeof *idle, e);
}

static int amr_check(const struct tt_config *config, struct tt_error *e)
{
    const struct tt_amr_options *o = tt_config_opts(config, "amr");
    struct tt_amr_shape s;
    int rc = tt_amr_shape_make(&s, o, e);

    if (rc != TT_OK)
        return rc;
    if (o->plot_files + o->particle_files == 0)
        return tt_fail(
            e, TT_USAGE,
            "amr.plot_files and amr.particle_files are both 0: nothing would be written");
    if (o->particle_files > 0 && o->particles == 0)
        return tt_fail(e, TT_USAGE, "amr.particles is 0, but there are particle_files");
    if (check_idle(o, e) != TT_OK)
        return TT_USAGE;
    if (o->phase != TT_AMR_WRITE && o->verify &&
        tt_stack_check_loss(&config->stack, "amr.verify=no", e) != TT_OK)
        return TT_USAGE;
    if (o->phase == TT_AMR_READ && !o->path)
        return tt_fail(e, TT_USAGE, "amr.phase=read needs amr.path");
    if (o->phase == TT_AMR_READ && !(tt_stack_caps(&config->stack) & TT_CAP_STORES))
        return tt_fail(e, TT_USAGE,
                       "amr.phase=read is not possible on %s, because it keeps nothing",
                       config->run->backend);
    return TT_OK;
}

/* The first level whose boxes the ranks cannot share equally. */
static void tell_boxes(const struct tt_amr_shape *s, uint64_t ranks, char *out, size_t size)
{
    for (unsigned l = 0; l < s->nlevels; l++) {
        unsigned long long boxes = s->levels[l].boxes, each = boxes / ranks;

        if (boxes % ranks == 0)
            continue;
        snprintf(out, size, "%llu boxes of level %u on %llu ranks: %llu or %llu each", boxes, l,
                 (unsigned long long)ranks, each, each + 1);
        return;
    }
}

static int amr_estimate(const struct tt_config *config, struct tt_estimate *out, struct tt_error *e)
{
    const struct tt_amr_options *o = tt_config_opts(config, "amr");
    uint64_t ranks = config->run->ranks ? config->run->ranks : 1, plot, particles, files;
    struct tt_amr_shape s;
    int rc = tt_amr_shape_make(&s, o, e);

    if (rc != TT_OK)
        return rc;
    file_bytes(&s, &plot, &particles);
    tell_boxes(&s, ranks, out->pieces, sizeof out->pieces);
    files = o->plot_files + o->particle_files;
    if (o->phase != TT_AMR_READ) {
        out->bytes_written = out->bytes_on_disk =
            plot * o->plot_files + particles * o->particle_files;
        out->dumps = out->files = files;
        out->sleep_seconds = o->pause * (double)(files - 1);
        out->compute_seconds =
            out->sleep_seconds + tt_passes_seconds(&o->compute) * (double)(files - 1);
    }
    /* Every rank reads the tables of boxes. */
    if (o->phase != TT_AMR_WRITE && (tt_stack_caps(&config->stack) & TT_CAP_STORES)) {
        for (unsigned l = 0; l < s.nlevels && o->plot_files; l++)
            out->bytes_read += s.levels[l].boxes * s.values * sizeof(double) +
                               ranks * (s.levels[l].boxes * (24 + 12 + 8) + 8);
        if (o->particle_files)
            out->bytes_read += particles + (ranks - 1) * s.levels[0].boxes * (24 + 4);
    }
    out->memory_per_rank = bytes_of_rank(&s, o, ranks) * (o->phase == TT_AMR_WRITE ? 1 : 2);
    if (config->run->overlap != TT_OVERLAP_NONE && o->phase != TT_AMR_READ)
        out->memory_per_rank *= 1 + config->run->inflight;
    return TT_OK;
}

static const char *const shown[] = {"phase", "cells", "levels", NULL};

const struct tt_workload tt_workload_amr = {
    .name = "amr",
    .summary = "plot and particle files of adaptive meshes, as AMReX writes them",
    .has_epochs = true,
    .params = params,
    .opts_size = sizeof(struct tt_amr_options),
    .shown = shown,
    .computation = &tt_particles_computation,
    .check = amr_check,
    .estimate = amr_estimate,
    .run = tt_amr_run,
};
