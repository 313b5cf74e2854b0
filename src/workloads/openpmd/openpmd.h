/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of the openpmd workload: its options, which rank has what of the mesh, what is in it,
 * and how the openPMD standard wants it described. */
#ifndef TT_WORKLOADS_OPENPMD_H
#define TT_WORKLOADS_OPENPMD_H

#include "base/error.h"
#include "io/model.h"
#include "plan/workload.h"
#include "spec/param.h"

enum tt_openpmd_encoding { TT_OPENPMD_FILE, TT_OPENPMD_GROUP, TT_OPENPMD_VARIABLE };
enum tt_openpmd_phase { TT_OPENPMD_WRITE, TT_OPENPMD_READ, TT_OPENPMD_BOTH };
enum tt_openpmd_reading {
    TT_OPENPMD_METADATA,
    TT_OPENPMD_SX,                     /* a plane of rho; SY and SZ follow, */
    TT_OPENPMD_FX = TT_OPENPMD_SX + 3, /* and planes of B */
    TT_OPENPMD_BLOCK = TT_OPENPMD_FX + 3,
    TT_OPENPMD_FULL,
    TT_OPENPMD_IDS,
};
enum tt_openpmd_along { TT_OPENPMD_DIAGONAL = 3, TT_OPENPMD_ONE }; /* x, y and z come before */
enum tt_openpmd_place { TT_OPENPMD_MIDDLE, TT_OPENPMD_FIRST, TT_OPENPMD_LAST, TT_OPENPMD_NEAR };
enum tt_openpmd_meshes { TT_OPENPMD_RHO, TT_OPENPMD_E, TT_OPENPMD_B, TT_OPENPMD_ALL };

struct tt_openpmd_options {
    struct tt_counts min_block, grid; /* cells of a mini-block, and mini-blocks; slowest first */
    bool balanced, rank_blocks, verify;
    uint64_t ratio, steps;
    int encoding, phase, reading, meshes, block_along, block_place;
    uint64_t read_every, block_divide;
    struct tt_counts read_grid;
    struct tt_passes compute;
    char *path;
};

/* ---- shape.c: who has what ---- */
#define TT_OPENPMD_DIMS 3
struct tt_openpmd_shape {
    int ndims;
    uint64_t block[TT_OPENPMD_DIMS], grid[TT_OPENPMD_DIMS], dims[TT_OPENPMD_DIMS];
    uint64_t cells;              /* of a mini-block */
    uint64_t ranks, blocks, own; /* mini-blocks of all, and of a rank */
    int split;          /* the dimension along which ranks lie; -1: each has a run of blocks */
    uint64_t particles; /* of a mini-block */
};
/* Without MPI: do the sizes fit each other, and the ranks? */
int tt_openpmd_shape_make(struct tt_openpmd_shape *s, const struct tt_openpmd_options *o,
                          uint64_t ranks, struct tt_error *e);

struct tt_openpmd_box {
    uint64_t start[TT_OPENPMD_DIMS], count[TT_OPENPMD_DIMS];
};
uint64_t tt_openpmd_cells(const struct tt_openpmd_shape *s, const struct tt_openpmd_box *box);
/* What a rank stores of a component: as one box, or each mini-block by itself. */
uint64_t tt_openpmd_nboxes(const struct tt_openpmd_shape *s, bool whole);
struct tt_openpmd_box tt_openpmd_box(const struct tt_openpmd_shape *s, bool whole, uint64_t rank,
                                     uint64_t i);
/* Whose share a rank writes at a step: that of so many ranks, the first of them in *first. */
unsigned tt_openpmd_shares(const struct tt_openpmd_shape *s, bool balanced, uint64_t step,
                           uint64_t rank, uint64_t *first);
/* What a rank reads of a mesh; false if that is nothing. */
bool tt_openpmd_read_box(const struct tt_openpmd_shape *s, const struct tt_openpmd_options *o,
                         uint64_t rank, struct tt_openpmd_box *box);
/* Ids that a rank reads: how many, from *first on. */
uint64_t tt_openpmd_read_ids(const struct tt_openpmd_shape *s, uint64_t rank, uint64_t *first);

/* ---- content.c ---- */
/* Both are block + 0.01 step + 0.0001 i, where i counts cells or particles of the mini-block: the
 * same however many ranks there are. */
void tt_openpmd_fill(const struct tt_openpmd_shape *s, const struct tt_openpmd_box *box,
                     uint64_t step, double *cells);
/* loss: how far a cell may be from what it was. */
bool tt_openpmd_check(const struct tt_openpmd_shape *s, const struct tt_openpmd_box *box,
                      uint64_t step, const double *cells, double loss);
void tt_openpmd_fill_particles(const struct tt_openpmd_shape *s, uint64_t first, uint64_t n,
                               uint64_t step, double *values, uint64_t *ids);

/* ---- describe.c: the file as the standard has it ---- */
enum {
    TT_OPENPMD_VAR_E = 0, /* and two more components, */
    TT_OPENPMD_VAR_B = 3, /* likewise */
    TT_OPENPMD_VAR_RHO = 6,
    TT_OPENPMD_VAR_ID,
    TT_OPENPMD_VAR_CHARGE,
    TT_OPENPMD_VAR_POSITION,
    TT_OPENPMD_NVARS,
    TT_OPENPMD_NMESH = TT_OPENPMD_VAR_ID, /* components of meshes */
    TT_OPENPMD_NGROUPS = 7,
    TT_OPENPMD_NATTRIBUTES = 12, /* of one object, at most */
};
struct tt_openpmd_file {
    unsigned nvariables, ngroups;
    struct tt_variable variables[TT_OPENPMD_NVARS];
    struct tt_group groups[TT_OPENPMD_NGROUPS];
    struct tt_attribute attributes[TT_OPENPMD_NVARS + TT_OPENPMD_NGROUPS][TT_OPENPMD_NATTRIBUTES];
    char paths[TT_OPENPMD_NVARS + TT_OPENPMD_NGROUPS][64];
    uint64_t particles;
    char format[256]; /* iterationFormat */
};
/* name is that of the series' files, with %06T for the step where each has a file. */
void tt_openpmd_describe(struct tt_openpmd_file *f, const struct tt_openpmd_options *o,
                         const struct tt_openpmd_shape *s, const char *name);
/* A path as the user gives it, of files per step: *prefix comes before the number and *ending after
 * it; the caller frees both. */
int tt_openpmd_split(const char *path, char **prefix, char **ending, struct tt_error *e);

/* ---- run.c ---- */
int tt_openpmd_run(struct tt_engine *engine, struct tt_error *e);

#endif
