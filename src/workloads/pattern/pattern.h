/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of the pattern workload: its options, what a rank selects, and what it writes there. */
#ifndef TT_WORKLOADS_PATTERN_H
#define TT_WORKLOADS_PATTERN_H

#include "base/error.h"
#include "io/model.h"
#include "plan/workload.h"
#include "spec/param.h"

enum tt_pattern_selection {
    TT_PATTERN_SLAB,
    TT_PATTERN_COLUMNS,
    TT_PATTERN_STRIDED,
    TT_PATTERN_RUNS
};
enum tt_pattern_order { TT_PATTERN_SORTED, TT_PATTERN_SHUFFLED };
enum tt_pattern_balance { TT_PATTERN_EVEN, TT_PATTERN_UNEVEN, TT_PATTERN_SOME_EMPTY };
enum tt_pattern_memory { TT_PATTERN_PACKED, TT_PATTERN_GAPS, TT_PATTERN_SCATTERED };
enum tt_pattern_phase { TT_PATTERN_BOTH, TT_PATTERN_WRITE, TT_PATTERN_READ };

struct tt_pattern_options {
    uint64_t variables, fixed, blocks, steps;
    char *element;
    struct tt_counts dims;
    bool unlimited;
    int selection, order, balance, memory; /* of the enums above */
    uint64_t runs, run_min, run_max;
    int series; /* enum tt_policy */
    int files;  /* 0 shared, 1 a file per process */
    int phase;
    bool reopen, shift, prefetch;
    char *path;
};

/* ---- element.c ---- */
#define TT_PATTERN_MAX_FIELDS 64
#define TT_PATTERN_MAX_ELEMENT 4096 /* bytes */
/* "f64", or a record "x:f64,id:i64,tag:char*8", its fields packed. fields needs room for
 * TT_PATTERN_MAX_FIELDS; *names holds their names: caller frees. */
int tt_pattern_element(const char *text, struct tt_element *element, struct tt_field *fields,
                       char **names, struct tt_error *e);

/* ---- shape.c ---- */
struct tt_pattern_piece {
    struct tt_selection file, memory;
    uint64_t count;           /* elements */
    uint64_t memory_start;    /* where its array starts in the buffer of a variable, in elements */
    uint64_t memory_elements; /* of that array, gaps included */
    struct tt_run *memory_runs; /* or NULL */
};
/* What one rank writes of every variable in every step. */
struct tt_pattern_shape {
    int ndims;
    uint64_t dims[TT_MAX_DIMS]; /* of the file's variables */
    unsigned npieces;
    struct tt_pattern_piece *pieces;
    struct tt_run *runs;
    uint64_t memory_elements; /* of all pieces together */
};
/* Without MPI: is there something to select with so many ranks? */
int tt_pattern_shape_check(const struct tt_pattern_options *o, int size, struct tt_error *e);
/* Elements that a rank selects of a variable. */
uint64_t tt_pattern_shape_count(const struct tt_pattern_options *o, int rank, int size);
int tt_pattern_shape_make(struct tt_pattern_shape *s, const struct tt_pattern_options *o, int rank,
                          int size, struct tt_error *e);
void tt_pattern_shape_free(struct tt_pattern_shape *s);

/* ---- content.c ---- */
/* The seed of one variable's content in one step; origin tells files of ranks apart. */
uint64_t tt_pattern_seed(uint64_t seed, uint64_t origin, unsigned variable, uint64_t step);
/* The index-th element of a variable. */
void tt_pattern_put(const struct tt_element *element, uint64_t seed, uint64_t index,
                    unsigned char *to);
void tt_pattern_fill(const struct tt_block *b, const struct tt_element *element, uint64_t seed);
/* Compares what was read; every element that is right becomes 0xa5 bytes, so that a second look at
 * the whole buffer shows what was written beside them. False: *index and texts of the first wrong
 * element. */
#define TT_PATTERN_TEXT 40
bool tt_pattern_check(const struct tt_block *b, const struct tt_element *element, uint64_t seed,
                      uint64_t *index, char expected[TT_PATTERN_TEXT], char found[TT_PATTERN_TEXT]);
#define TT_PATTERN_POISON 0xa5

/* ---- device.c ---- */
struct tt_device;
struct tt_device_place;
struct tt_device_selection;
/* The memory of all variables on a device; there is what kernels need of the shape that is written,
 * and of the one that is read. */
struct tt_pattern_device {
    struct tt_device *device;
    unsigned char *data;
    size_t size;
    uint64_t *found;
    struct tt_pattern_there {
        struct tt_device_place *lists;
        struct tt_device_selection *selections; /* of every piece, in the file and in memory */
    } there[2];
};
/* If it fails, tt_pattern_device_free. */
int tt_pattern_device_make(struct tt_pattern_device *m, struct tt_device *device, size_t size,
                           const struct tt_pattern_shape *written,
                           const struct tt_pattern_shape *read, struct tt_error *e);
/* Without MPI, for estimates: bytes on the device of this rank of so many. */
int tt_pattern_device_memory(const struct tt_config *config, const struct tt_element *element,
                             int rank, int size, uint64_t *out, struct tt_error *e);
void tt_pattern_device_free(struct tt_pattern_device *m); /* also if it is all zeros */
/* All of it becomes TT_PATTERN_POISON. */
int tt_pattern_device_spoil(struct tt_pattern_device *m, struct tt_error *e);
/* All of it, to the host's memory. */
int tt_pattern_device_copy(const struct tt_pattern_device *m, void *to, struct tt_error *e);
struct tt_pattern_blocks {
    unsigned n, npieces; /* blocks; pieces of the shape, of which every variable has a block each */
    const struct tt_block *blocks;
    const uint64_t *seeds; /* of each */
    const struct tt_element *element;
};
int tt_pattern_device_fill(struct tt_pattern_device *m, const struct tt_pattern_blocks *b,
                           struct tt_error *e);
/* What was read, which is spoilt if it is right; then, whether the rest of the memory still is. */
int tt_pattern_device_check(struct tt_pattern_device *m, const struct tt_pattern_blocks *b,
                            bool *is_right, bool *is_clean, struct tt_error *e);

/* ---- run.c ---- */
int tt_pattern_run(struct tt_engine *engine, struct tt_error *e);

#endif
