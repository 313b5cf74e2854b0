/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of the amr workload: its options, levels of boxes and who has them, what is in them,
 * and the HDF5 layout of AMReX. */
#ifndef TT_WORKLOADS_AMR_H
#define TT_WORKLOADS_AMR_H

#include "base/error.h"
#include "io/model.h"
#include "plan/workload.h"
#include "spec/param.h"

enum tt_amr_phase { TT_AMR_WRITE, TT_AMR_READ, TT_AMR_BOTH };
enum tt_amr_content { TT_AMR_LEVEL, TT_AMR_NUMBERED };

struct tt_amr_options {
    uint64_t cells, max_grid, levels, components, particles;
    struct tt_counts ratios;
    uint64_t plot_files, particle_files;
    struct tt_passes compute;
    double pause; /* seconds */
    int phase, content;
    bool verify;
    char *path;
};

/* ---- shape.c ---- */
#define TT_AMR_LEVELS 8
#define TT_AMR_COMPONENTS 64
#define TT_AMR_INTS 6   /* of a particle: 2 and 4 */
#define TT_AMR_REALS 15 /* 3 and 12 */

/* Boxes of one level are cubes in a cube; all numbers are cells of this level. */
struct tt_amr_level {
    uint64_t domain; /* edge of the whole domain */
    uint64_t lo;     /* where the boxes begin, in each dimension */
    uint64_t across; /* boxes in each dimension */
    uint64_t boxes;
    uint64_t ratio; /* to the next finer level; 1 for the finest */
};
struct tt_amr_shape {
    unsigned nlevels;
    struct tt_amr_level levels[TT_AMR_LEVELS];
    uint64_t edge, cells; /* of a box */
    uint64_t values;      /* of a box: cells times components */
    uint64_t particles;   /* of a box of level 0 */
};
/* Without MPI: do the sizes fit each other? */
int tt_amr_shape_make(struct tt_amr_shape *s, const struct tt_amr_options *o, struct tt_error *e);
/* Boxes of a rank: how many, from *first on. They are dealt in their order. */
uint64_t tt_amr_share(uint64_t boxes, uint64_t ranks, uint64_t rank, uint64_t *first);

struct tt_amr_box {
    int32_t lo[3], hi[3]; /* the last cell is inside */
};
struct tt_amr_box tt_amr_box(const struct tt_amr_shape *s, unsigned level, uint64_t i);

/* Values of one box in the file-th plot file, x fastest and components slowest. */
void tt_amr_fill(const struct tt_amr_shape *s, int content, unsigned level, uint64_t box,
                 uint64_t file, double *values);
/* Particles of one box, the numbers of each particle one after the other. */
void tt_amr_fill_particles(const struct tt_amr_shape *s, uint64_t box, uint64_t file, int32_t *ints,
                           double *reals);

/* ---- describe.c ---- */
/* Variables of a level in a plot file, and of the particle file. */
enum { TT_AMR_BOXES, TT_AMR_CENTERS, TT_AMR_OFFSETS, TT_AMR_DATA, TT_AMR_NPLOT };
enum { TT_AMR_PBOXES, TT_AMR_PCOUNTS, TT_AMR_PINTS, TT_AMR_PREALS, TT_AMR_NPARTICLE };
struct tt_amr_file {
    unsigned nvariables, ngroups, nattributes;
    struct tt_variable variables[TT_AMR_LEVELS * TT_AMR_NPLOT];
    struct tt_group groups[TT_AMR_LEVELS + 2];
    struct tt_attribute attributes[TT_AMR_COMPONENTS + 16 * (TT_AMR_LEVELS + 2)];
    char paths[TT_AMR_LEVELS][TT_AMR_NPLOT + 1][40];
    char names[TT_AMR_COMPONENTS][16];
    double dx[TT_AMR_LEVELS][3];
    struct tt_amr_box domains[TT_AMR_LEVELS];
};
void tt_amr_describe_plot(struct tt_amr_file *f, const struct tt_amr_options *o,
                          const struct tt_amr_shape *s);
/* most: boxes of the rank that has most. */
void tt_amr_describe_particles(struct tt_amr_file *f, const struct tt_amr_shape *s, uint64_t most);

/* ---- run.c ---- */
int tt_amr_run(struct tt_engine *engine, struct tt_error *e);

#endif
