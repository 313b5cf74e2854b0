/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of the particles workload: its options, who has which particles, what is in them, and
 * how they lie in memory. */
#ifndef TT_WORKLOADS_PARTICLES_H
#define TT_WORKLOADS_PARTICLES_H

#include "base/error.h"
#include "devices/device.h"
#include "io/model.h"
#include "plan/workload.h"
#include "spec/param.h"

enum tt_particles_layout { TT_PARTICLES_ARRAYS, TT_PARTICLES_RECORDS };
enum tt_particles_conversion { TT_PARTICLES_ENGINE, TT_PARTICLES_LIBRARY };
enum tt_particles_pattern { TT_PARTICLES_CONTIGUOUS, TT_PARTICLES_STRIDED };
enum tt_particles_phase {
    TT_PARTICLES_WRITE,
    TT_PARTICLES_READ,
    TT_PARTICLES_BOTH,
    TT_PARTICLES_OVERWRITE,
    TT_PARTICLES_APPEND,
};
enum tt_particles_reading {
    TT_PARTICLES_READ_FULL,
    TT_PARTICLES_READ_PARTIAL,
    TT_PARTICLES_READ_STRIDED,
    TT_PARTICLES_READ_PLANE,
    TT_PARTICLES_READ_LDC, /* blocks of h5bench, in a plane */
    TT_PARTICLES_READ_RDC,
    TT_PARTICLES_READ_PRL,
    TT_PARTICLES_READ_CS,
};

struct tt_particles_options {
    struct tt_counts dims; /* of a rank, slowest first */
    double deviation;      /* of dims[0] over ranks */
    uint64_t steps;
    int memory, file; /* enum tt_particles_layout */
    int conversion, pattern, phase, reading;
    struct tt_counts stride, block;
    uint64_t count, read_count;
    uint64_t plane_dimension, plane_index;
    struct tt_passes compute;
    double pause; /* seconds */
    bool prefetch, verify, unlimited;
    uint64_t memory_limit; /* bytes per rank in flight; 0: what inflight says */
    uint64_t appended;     /* how often the file at path was appended to before */
    int files;             /* 0 shared, 1 a file per process */
    char *path;
};

#define TT_PARTICLE_FIELDS 8
#define TT_PARTICLE_DIMS 3
struct tt_particle {
    float x, y, z, px, py, pz;
    int32_t id_1;
    float id_2;
};
extern const struct tt_element tt_particle_element; /* a whole particle */
/* One property of it: its name, its type alone, and a record with this field only. */
struct tt_particle_property {
    const char *name;
    const struct tt_element *plain;
    struct tt_element record;
};
extern const struct tt_particle_property tt_particle_properties[TT_PARTICLE_FIELDS];

/* ---- shape.c ---- */
/* Rows of the slowest dimension that a rank has: dims[0], or as the deviation says; never less than
 * 1, the same wherever it is asked. */
uint64_t tt_particles_rows(const struct tt_particles_options *o, uint64_t seed, uint64_t rank);

/* What one rank does with every variable of every step, as a selection of the file's array. */
struct tt_particles_shape {
    int ndims;
    uint64_t dims[TT_MAX_DIMS]; /* of the file's variables */
    uint64_t origin; /* index of the file's first particle, where every process has its own */
    uint64_t most;   /* particles of the largest rank */
    uint64_t rows;   /* of all ranks together, without what was appended */
    uint64_t row;    /* particles in a row of the slowest dimension */
    uint64_t count;  /* particles selected */
    struct tt_selection file;
    struct tt_run *runs;
    void *runs_there; /* the same for the kernels of a device; the caller releases it */
};
/* Without MPI: do sizes, strides and blocks fit together? */
int tt_particles_shape_check(const struct tt_particles_options *o, struct tt_error *e);
/* Rows of every rank in rows[0..size-1]; reads is what a reading phase asks for. */
int tt_particles_shape_make(struct tt_particles_shape *s, const struct tt_particles_options *o,
                            const uint64_t *rows, int rank, int size, bool reads,
                            struct tt_error *e);
void tt_particles_shape_free(struct tt_particles_shape *s);

/* ---- content.c ---- */
/* Particles are a function of seed, step and place in the whole; only every TT_PARTICLES_STAMP-th
 * depends on the step, so that a new step costs nothing and is still told from another. */
#define TT_PARTICLES_STAMP 1024
struct tt_particles_content {
    uint64_t seed;
    uint64_t rows, row; /* see struct tt_particles_shape */
    double loss;        /* how far a value that was read may be from it */
};
struct tt_particle tt_particle_at(const struct tt_particles_content *c, uint64_t step,
                                  uint64_t index);
/* Particles in memory: records, or arrays of n properties one after the other, as a layout says. */
void tt_particles_fill(const struct tt_particles_content *c, const struct tt_particles_shape *s,
                       int layout, void *data, uint64_t step, bool stamps_only);
/* False: *index is the first wrong particle, *property which of its properties. */
bool tt_particles_check(const struct tt_particles_content *c, const struct tt_particles_shape *s,
                        int layout, const void *data, uint64_t step, uint64_t *index,
                        unsigned *property);

/* ---- repack.c ---- */
/* From n records to arrays of n values one after the other, and back. Memory does not overlap. */
void tt_particles_to_arrays(const struct tt_particle *records, uint64_t n, void *arrays);
void tt_particles_to_records(const void *arrays, uint64_t n, struct tt_particle *records);

/* ---- work.c ---- */
#define TT_PARTICLES_COMPUTED 65536 /* 1.5 MiB */
struct tt_particles_work;
extern const size_t tt_particles_work_size;
/* NULL: no memory; free() frees it. */
struct tt_particles_work *tt_particles_work_make(uint64_t seed);
void tt_particles_work_do(struct tt_particles_work *w, uint64_t passes);
extern const struct tt_computation tt_particles_computation;

/* ---- device.c: the same in a device's memory, to the last bit; all return when it is done ---- */
/* What kernels need to know of a shape that is a list of blocks. */
int tt_particles_shape_to_device(struct tt_particles_shape *s, struct tt_device *d,
                                 struct tt_error *e);
int tt_particles_prepare_on(struct tt_device *d, struct tt_error *e); /* all kernels but push */
int tt_particles_fill_on(struct tt_device *d, const struct tt_particles_content *c,
                         const struct tt_particles_shape *s, int layout, void *data, uint64_t step,
                         bool stamps_only, struct tt_error *e);
/* `found` is 8 bytes of the device's memory for the answer. */
int tt_particles_check_on(struct tt_device *d, const struct tt_particles_content *c,
                          const struct tt_particles_shape *s, int layout, const void *data,
                          uint64_t step, void *found, bool *right, uint64_t *index,
                          unsigned *property, struct tt_error *e);
/* n records to arrays, or the arrays to records. */
int tt_particles_repack_on(struct tt_device *d, bool to_arrays, void *records, void *arrays,
                           uint64_t n, struct tt_error *e);
/* The computation of work.c. */
struct tt_device_work;
int tt_particles_push_make(struct tt_device *d, uint64_t seed, struct tt_device_work *push,
                           struct tt_error *e);
int tt_particles_push_do(struct tt_device_work *push, uint64_t passes, struct tt_error *e);

/* ---- run.c ---- */
int tt_particles_run(struct tt_engine *engine, struct tt_error *e);

/* ---- the tables that it leaves in a result ---- */

/* "h5bench": rank 0's seconds, as h5bench defines them; a row for writing, one for reading. */
enum {
    TT_PARTICLES_RAW,      /* in calls that move data, and waiting for them */
    TT_PARTICLES_METADATA, /* making groups and variables */
    TT_PARTICLES_OBSERVED,
    TT_PARTICLES_COMPUTATION,
    TT_PARTICLES_OPENING, /* of the file */
    TT_PARTICLES_SYNCING,
    TT_PARTICLES_CLOSING,
    TT_PARTICLES_NTIMES,
};

/* "ranks", where their numbers of particles differ: one row. */
enum {
    TT_PARTICLES_TOTAL, /* of all ranks */
    TT_PARTICLES_MEAN,
    TT_PARTICLES_DEVIATION, /* standard deviation of what ranks have */
    TT_PARTICLES_NNUMBERS,
};

#endif
