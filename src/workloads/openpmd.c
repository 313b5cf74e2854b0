/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Meshes and particles in the layout of openPMD, written in mini-blocks and read by planes, blocks
 * and scans, as the parallel benchmarks of openPMD-api do. Its parts are in openpmd/. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/config.h"
#include "workloads/openpmd/openpmd.h"
#include "workloads/particles/particles.h"

static const char *const encodings[] = {"file", "group", "variable", NULL};
static const char *const phases[] = {"write", "read", "both", NULL};
static const char *const readings[] = {"metadata", "sx",    "sy",   "sz",  "fx", "fy",
                                       "fz",       "block", "full", "ids", NULL};
static const char *const alongs[] = {"x", "y", "z", "diagonal", "one", NULL};
static const char *const places[] = {"middle", "first", "last", "near", NULL};
static const char *const meshes[] = {"rho", "E", "B", "all", NULL};

#define AT(member) offsetof(struct tt_openpmd_options, member)
static const struct tt_param params[] = {
    {"min_block", TT_PARAM_COUNTS, AT(min_block), "64:32:32", "cells",
     "a mini-block, 1 to 3 dimensions, slowest first"},
    {"grid", TT_PARAM_COUNTS, AT(grid), NULL, "mini-blocks",
     "the mesh, in mini-blocks; default: ranks:8:8"},
    {"balanced", TT_PARAM_BOOL, AT(balanced), "yes", NULL,
     "all ranks write in every step; no: in every third step some are idle, and their neighbours "
     "write both shares"},
    {"rank_blocks", TT_PARAM_BOOL, AT(rank_blocks), "yes", NULL,
     "a rank stores all it has of a component at once; no: each mini-block by itself"},
    {"ratio", TT_PARAM_COUNT, AT(ratio), "1", NULL, "particles per cell; 0: none", 0, 1000000},
    {"steps", TT_PARAM_COUNT, AT(steps), "1", NULL, "iterations", 1, 1000000},
    {"encoding", TT_PARAM_CHOICE, AT(encoding), "file", NULL,
     "every step has a file, a group in one file, or a place in the first dimension of one file's "
     "variables",
     .choices = encodings},
    {"phase", TT_PARAM_CHOICE, AT(phase), "write", NULL, "write, read, or both", .choices = phases},
    {"read", TT_PARAM_CHOICE, AT(reading), "full", NULL,
     "what is read: metadata; a plane of rho (sx, sy, sz) or of B (fx, fy, fz), another one for "
     "every rank; blocks of meshes; by all ranks together the whole of meshes; the ids of "
     "particles",
     .choices = readings},
    {"meshes", TT_PARAM_CHOICE, AT(meshes), "rho", NULL, "with read=block and read=full",
     .choices = meshes},
    {"read_every", TT_PARAM_COUNT, AT(read_every), "5", "steps",
     "from one step that is read to the next", 1, 1000000},
    {"read_grid", TT_PARAM_COUNTS, AT(read_grid), NULL, "ranks",
     "with read=full: ranks in each dimension; default: all in the first"},
    {"block_divide", TT_PARAM_COUNT, AT(block_divide), "2", NULL,
     "with read=block: a block has one part of so many in every dimension, and as many ranks, from "
     "0 on, read one each",
     1, 1000000},
    {"block_along", TT_PARAM_CHOICE, AT(block_along), "x", NULL,
     "with read=block: the blocks follow each other along a dimension, and lie in the middle of "
     "the others, or along the diagonal; one: rank 0 alone reads one",
     .choices = alongs},
    {"block_place", TT_PARAM_CHOICE, AT(block_place), "middle", NULL,
     "with block_along=one: where the block lies in every dimension; near: a third of a block "
     "before the middle",
     .choices = places},
    {"compute", TT_PARAM_PASSES, AT(compute), "0", "passes",
     "computation between two steps, as that of the workload particles; or for how long, which is "
     "calibrated once",
     0, INT64_C(1) << 40},
    {"verify", TT_PARAM_BOOL, AT(verify), "yes", NULL,
     "after the measured time, read again what was read, and check every number"},
    {"path", TT_PARAM_TEXT, AT(path), NULL, NULL,
     "the series, relative to --dir; where every step has a file %06T stands for the step; "
     "default: 8a_parallel_3Db in a new directory there",
     .placeholder = "FILE"},
    {NULL},
};

/* A series is read with the keys that it was written with. */
static int check_idle(const struct tt_openpmd_options *o, struct tt_error *e)
{
    bool writes = o->phase == TT_OPENPMD_WRITE, blocks = o->reading == TT_OPENPMD_BLOCK;
    const struct tt_idle idle[] = {
        {writes, "read meshes read_every read_grid block_divide block_along block_place",
         "with openpmd.phase=write"},
        {!blocks && o->reading != TT_OPENPMD_FULL, "meshes",
         "without openpmd.read=block or openpmd.read=full"},
        {o->reading != TT_OPENPMD_FULL, "read_grid", "without openpmd.read=full"},
        {!blocks, "block_divide block_along block_place", "without openpmd.read=block"},
    };

    return tt_params_check_idle("openpmd", params, o, idle, sizeof idle / sizeof *idle, e);
}

static int openpmd_check(const struct tt_config *config, struct tt_error *e)
{
    const struct tt_openpmd_options *o = tt_config_opts(config, "openpmd");
    uint64_t ranks = config->run->ranks ? config->run->ranks : 1;
    char *prefix = NULL, *ending = NULL;
    struct tt_openpmd_shape s;
    int rc = tt_openpmd_shape_make(&s, o, ranks, e);

    if (rc == TT_OK)
        rc = check_idle(o, e);
    if (rc != TT_OK)
        return rc;
    if ((double)(s.blocks * (s.cells + s.particles)) * (double)o->steps > 0x1p55)
        return tt_fail(e, TT_USAGE, "openpmd.steps: all of them together are too large");
    if (o->phase != TT_OPENPMD_WRITE && o->verify &&
        tt_stack_check_loss(&config->stack, "openpmd.verify=no", e) != TT_OK)
        return TT_USAGE;
    if (o->phase == TT_OPENPMD_READ && !o->path)
        return tt_fail(e, TT_USAGE, "openpmd.phase=read needs openpmd.path");
    if (o->phase == TT_OPENPMD_READ && !(tt_stack_caps(&config->stack) & TT_CAP_STORES))
        return tt_fail(e, TT_USAGE,
                       "openpmd.phase=read is not possible on %s, because it keeps "
                       "nothing",
                       config->run->backend);
    if (o->path && o->encoding == TT_OPENPMD_FILE)
        rc = tt_openpmd_split(o->path, &prefix, &ending, e);
    free(prefix);
    free(ending);
    return rc;
}

/* Of a step, by one rank. */
static uint64_t read_bytes(const struct tt_openpmd_shape *s, const struct tt_openpmd_options *o,
                           uint64_t rank)
{
    struct tt_openpmd_box box;
    uint64_t first, n = o->reading >= TT_OPENPMD_FX && o->reading < TT_OPENPMD_BLOCK ? 3 : 1;

    if (o->reading == TT_OPENPMD_IDS)
        return tt_openpmd_read_ids(s, rank, &first) * sizeof(uint64_t);
    if (!tt_openpmd_read_box(s, o, rank, &box))
        return 0;
    if (o->reading >= TT_OPENPMD_BLOCK)
        n = o->meshes == TT_OPENPMD_ALL ? TT_OPENPMD_NMESH : o->meshes == TT_OPENPMD_RHO ? 1 : 3;
    return tt_openpmd_cells(s, &box) * n * sizeof(double);
}

/* Blocks and planes that do not cover a mesh, or that ranks have in common. */
static void tell_pieces(const struct tt_openpmd_shape *s, const struct tt_openpmd_options *o,
                        char *out, size_t size)
{
    unsigned long long ranks = s->ranks, parts = o->block_divide;
    bool even = true;
    char cells[72] = "";

    if (o->reading >= TT_OPENPMD_SX && o->reading < TT_OPENPMD_BLOCK) {
        unsigned long long planes = s->dims[(o->reading - TT_OPENPMD_SX) % 3];

        if (ranks > planes)
            snprintf(out, size, "%llu planes for %llu ranks: some read the same one", planes,
                     ranks);
    }
    if (o->reading != TT_OPENPMD_BLOCK)
        return;
    for (int d = 0; d < s->ndims; d++) {
        size_t used = strlen(cells);

        even &= s->dims[d] % o->block_divide == 0;
        snprintf(cells + used, sizeof cells - used, "%s%llu", d ? " x " : "",
                 (unsigned long long)(s->dims[d] / o->block_divide));
    }
    if (o->block_along == TT_OPENPMD_ONE)
        ranks = parts = 1;
    if (even && ranks == parts)
        return;
    snprintf(out, size, "%llu block%s of %s cells, one for a rank%s", ranks < parts ? ranks : parts,
             (ranks < parts ? ranks : parts) == 1 ? "" : "s", cells,
             even ? "" : "; what is left over is not read");
}

static int openpmd_estimate(const struct tt_config *config, struct tt_estimate *out,
                            struct tt_error *e)
{
    const struct tt_openpmd_options *o = tt_config_opts(config, "openpmd");
    uint64_t ranks = config->run->ranks ? config->run->ranks : 1, own, most = 0;
    uint64_t reads = (o->steps + o->read_every - 1) / o->read_every;
    struct tt_openpmd_shape s;
    int rc = tt_openpmd_shape_make(&s, o, ranks, e);

    if (rc != TT_OK)
        return rc;
    own = s.own * (s.cells * TT_OPENPMD_NMESH + s.particles * 3) * sizeof(double);
    if (o->phase != TT_OPENPMD_READ) {
        out->bytes_written = out->bytes_on_disk = own * ranks * o->steps;
        out->dumps = o->steps;
        out->files = o->encoding == TT_OPENPMD_FILE ? o->steps : 1;
        out->memory_per_rank = own * (o->balanced ? 1 : 2);
        if (config->run->overlap != TT_OVERLAP_NONE)
            out->memory_per_rank *= 1 + config->run->inflight;
        out->compute_seconds = tt_passes_seconds(&o->compute) * (double)(o->steps - 1);
    }
    if (o->phase == TT_OPENPMD_WRITE || !(tt_stack_caps(&config->stack) & TT_CAP_STORES))
        return TT_OK;
    tell_pieces(&s, o, out->pieces, sizeof out->pieces);
    for (uint64_t r = 0; r < ranks; r++) {
        uint64_t bytes = read_bytes(&s, o, r);

        out->bytes_read += bytes * reads;
        most = bytes > most ? bytes : most;
    }
    out->memory_per_rank += most;
    out->compute_seconds += tt_passes_seconds(&o->compute) * (double)(reads - 1);
    return TT_OK;
}

static const char *const shown[] = {"phase", "encoding", "steps", NULL};

const struct tt_workload tt_workload_openpmd = {
    .name = "openpmd",
    .summary = "meshes and particles in the layout of openPMD, in mini-blocks",
    .has_epochs = true,
    .params = params,
    .opts_size = sizeof(struct tt_openpmd_options),
    .shown = shown,
    .computation = &tt_particles_computation,
    .check = openpmd_check,
    .estimate = openpmd_estimate,
    .run = tt_openpmd_run,
};
