/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of the stencil workload: which rank owns which block of the grid, the block in memory
 * and the sweeps over it, the exchange of what lies around it, its options, and what a rank does.
 */
#ifndef TT_WORKLOADS_STENCIL_H
#define TT_WORKLOADS_STENCIL_H

#include <mpi.h>

#include "base/error.h"
#include "spec/param.h"
#include "workloads/stencil/kernels.h"

struct tt_computation;
struct tt_device;
struct tt_engine;

/* ---- decomposition.c ---- */
/* Every point, boundary included, has one owner. */
enum tt_decomposition { TT_ROWS, TT_BLOCKS };

/* Plane, row, column; a 2D grid is not cut in the first and has one plane. */
struct tt_partition {
    int ndims;
    uint64_t size[3]; /* points along each side; of a 2D grid the first is 1 */
    int parts[3];
};
struct tt_owned {
    int coords[3];
    uint64_t start[3], count[3];
};

/* rows cuts the slowest dimension only; blocks cuts so that the surface is smallest. TT_USAGE if
 * the ranks do not fit. */
int tt_partition_make(struct tt_partition *p, int ndims, const uint64_t size[3],
                      enum tt_decomposition how, int ranks, struct tt_error *e);
/* "64", or "64x128x32" if sides differ. */
#define TT_SIZE_TEXT 64
const char *tt_partition_text(const struct tt_partition *p, char text[TT_SIZE_TEXT]);
/* The first (size mod parts) blocks in a direction have one point more. */
void tt_partition_owned(const struct tt_partition *p, int rank, struct tt_owned *out);
/* The rank that many blocks away in every direction, or -1 outside the grid. */
int tt_partition_neighbour(const struct tt_partition *p, const struct tt_owned *o,
                           const int offset[3]);

/* Where the points of a block lie: rows aligned, one halo point all around, also at the edge of the
 * grid, where it stays unused. */
struct tt_layout {
    uint64_t dims[3];     /* of the padded array; dims[2] is the pitch of a row */
    uint64_t owned[3];    /* place of the first owned point in it */
    ptrdiff_t row, plane; /* doubles from one row, and one plane, to the next */
    size_t origin;        /* index of the first owned point */
    size_t total;         /* doubles in the array, with what kernels may read beyond the end */
};
void tt_layout_make(struct tt_layout *l, int ndims, const struct tt_owned *o);

/* Points first <= index < last of the block, counted from its first owned point. */
struct tt_box {
    int64_t first[3], last[3];
};
bool tt_box_is_empty(const struct tt_box *b);
/* The points to be computed: all but those on the grid's boundary. */
struct tt_box tt_box_computed(const struct tt_partition *p, const struct tt_owned *o);
/* Take from *inner what needs the halo; returns how many boxes that gave, at most 6. */
int tt_box_shell(const struct tt_partition *p, const struct tt_owned *o, struct tt_box *inner,
                 struct tt_box shell[6]);

/* ---- problem.c ---- */
struct tt_problem {
    enum tt_stencil_shape shape;
    enum tt_stencil_perturbation perturbation;
    uint64_t size[3]; /* as struct tt_partition has it */
    uint64_t work;
    uint64_t field; /* its number; boundary and source are field + 1 times those of the first */
};
/* The part of a side between two points. */
static inline double tt_problem_step(const struct tt_problem *p, int d)
{
    return 1.0 / (double)(p->size[d] - 1);
}
/* Value on the grid's boundary at global plane, row and column. */
double tt_problem_boundary(const struct tt_problem *p, const uint64_t at[3]);
/* Floating-point operations per point. */
double tt_problem_flops(const struct tt_problem *p);

/* ---- grid.c ---- */
struct tt_grid {
    struct tt_layout layout;
    struct tt_owned owned;
    struct tt_problem problem;
    const struct tt_stencil_kernels *kernels;
    double *memory;     /* what both arrays are part of */
    double *values[2];  /* values[0] is the newest; swapped by tt_grid_swap */
    double *sines[2];   /* sin(pi x) of the owned planes and rows; NULL without perturbation */
    double coefficient; /* of their product in the source */
    int threads;
    bool stream;      /* write past the caches */
    uint64_t tile[2]; /* rows and columns that are swept together, to stay in cache */
    /* Where values and sines are, and what else is there; NULL: they are the host's. */
    struct tt_device *device;
    double *residual;
    bool finds_residual;     /* sweeps do, until it is asked for */
    struct tt_error failure; /* the first of what was queued */
};
/* Bytes of the second-level and of the last-level cache. */
struct tt_caches {
    uint64_t second, last;
};
struct tt_caches tt_caches_find(void);

/* neighbours: grids that share the last-level cache, of all ranks, this one included. */
int tt_grid_make(struct tt_grid *g, const struct tt_problem *problem, const struct tt_partition *p,
                 int rank, int threads, const struct tt_caches *caches, int neighbours,
                 struct tt_error *e);
/* The same in the memory of a device; the host never has the whole arrays. */
int tt_grid_make_on_device(struct tt_grid *g, const struct tt_problem *problem,
                           const struct tt_partition *p, int rank, struct tt_device *device,
                           struct tt_error *e);
void tt_grid_free(struct tt_grid *g);
/* n rows of the padded array as they are before the first iteration, first of all its rows. */
void tt_grid_first_rows(const struct tt_grid *g, uint64_t first, uint64_t n, double *out);
/* Bytes of both arrays. */
uint64_t tt_grid_bytes(int ndims, const struct tt_owned *o);

/* Compute the box of values[1] from values[0]; on a device, as soon as it gets there. */
void tt_grid_sweep(struct tt_grid *g, const struct tt_box *box);
void tt_grid_swap(struct tt_grid *g);
/* Largest |values[0] - values[1]| over the box. */
double tt_grid_difference(struct tt_grid *g, const struct tt_box *box);
/* Sweeps since then have ended when it returns; their failures are those of devices. */
int tt_grid_finish(struct tt_grid *g, struct tt_error *e);

/* ---- halo.c ---- */
/* Exchange of the points around a block, with all neighbours at once. */
#define TT_MAX_NEIGHBOURS 26

struct tt_halo {
    MPI_Comm comm;
    int n;
    struct {
        int rank, send_tag, receive_tag;
        uint64_t points; /* each way */
        MPI_Datatype send, receive;
    } neighbours[TT_MAX_NEIGHBOURS];
    MPI_Request requests[2 * TT_MAX_NEIGHBOURS];
    uint64_t bytes;                  /* sent in one exchange */
    struct tt_halo_staging *staging; /* of a device; NULL: MPI takes it from the array itself */
};
int tt_halo_make(struct tt_halo *h, MPI_Comm comm, const struct tt_partition *p,
                 const struct tt_owned *o, const struct tt_layout *l, bool diagonals,
                 struct tt_error *e);
void tt_halo_free(struct tt_halo *h);

/* values: the padded array. Its halo and its outermost owned points must not change until done. */
int tt_halo_post(struct tt_halo *h, double *values, struct tt_error *e);
/* Let MPI make progress; true when all is done. */
bool tt_halo_test(struct tt_halo *h);
int tt_halo_wait(struct tt_halo *h, struct tt_error *e);

/* ---- stencil.c ---- */
#define TT_STENCIL_FIELDS 64 /* at most */
enum tt_halo_mode { TT_HALO_AFTER, TT_HALO_OVERLAP };

struct tt_stencil_options {
    struct tt_counts size; /* one for all sides, or each */
    uint64_t iterations, threads, work, fields, residual;
    struct tt_passes compute;
    int dims;                                     /* 0: as many as size has, 1: two, 2: three */
    int shape, perturbation, decomposition, halo; /* choices */
    char *variable;
};
int tt_stencil_ndims(const struct tt_stencil_options *o);
/* Of one of the fields, the first is 0. */
struct tt_problem tt_stencil_problem(const struct tt_stencil_options *o, uint64_t field);
int tt_stencil_partition(const struct tt_stencil_options *o, int ranks, struct tt_partition *p,
                         struct tt_error *e);

/* ---- run.c ---- */
extern const struct tt_computation tt_stencil_computation;
int tt_stencil_run(struct tt_engine *engine, struct tt_error *e);

#endif
