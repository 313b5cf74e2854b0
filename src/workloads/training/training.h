/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of the training workload: its options, the samples, the computation, and what a rank
 * does. */
#ifndef TT_WORKLOADS_TRAINING_H
#define TT_WORKLOADS_TRAINING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mix.h"
#include "plan/workload.h"
#include "spec/param.h"

enum tt_training_shuffle {
    TT_TRAINING_NONE,
    TT_TRAINING_FILES,   /* files in random order, the samples of each as they lie */
    TT_TRAINING_SAMPLES, /* all samples in random order */
};

struct tt_training_options {
    uint64_t files, per_file, size, deviation, align;
    uint64_t batch, epochs, workers, prefetch;
    int shuffle; /* enum tt_training_shuffle */
    struct tt_passes compute;
    double pause; /* seconds */
    bool cold;
    char *path;
};

/* ---- samples.c ---- */
/* Bytes of a sample: a function of seed and number, in whole numbers, so that every machine gets
 * the same. A sum of twelve uniform numbers stands for the normal distribution: it ends at six
 * deviations. */
uint64_t tt_training_size(const struct tt_training_options *o, uint64_t seed, uint64_t sample);
/* That no sample exceeds. */
uint64_t tt_training_most(const struct tt_training_options *o);
/* Sizes of every 64 samples of a file added up beforehand, so that a loader need not add up all of
 * them to find one. None of them: files have fewer, or sizes are equal. */
#define TT_TRAINING_SUMMED 64
struct tt_training_places {
    const struct tt_training_options *options;
    uint64_t seed, *sums; /* free() frees them */
};
int tt_training_places_make(struct tt_training_places *p, const struct tt_training_options *o,
                            uint64_t seed, struct tt_error *e);
/* Bytes of a file, and where a sample lies in its own. */
uint64_t tt_training_file_size(const struct tt_training_places *p, uint64_t file);
uint64_t tt_training_offset(const struct tt_training_places *p, uint64_t sample);
/* Bytes of all files; exact where they are few enough to be added up, else what is expected. */
uint64_t tt_training_bytes(const struct tt_training_options *o, uint64_t seed);

/* Samples that are there, steps of an epoch, and batches that are loaded or wait to be used. */
uint64_t tt_training_samples(const struct tt_training_options *o);
uint64_t tt_training_steps(const struct tt_training_options *o, uint64_t ranks);
uint64_t tt_training_outstanding(const struct tt_training_options *o);
/* Bytes of memory for any sample, and those of a rank, which may be more than there can be. */
uint64_t tt_training_room(const struct tt_training_options *o);
double tt_training_memory(const struct tt_training_options *o);

/* Which sample comes i-th in an epoch. Ranks take equal parts that follow each other. */
struct tt_training_order {
    const struct tt_training_options *options;
    struct tt_permutation permutation;
};
struct tt_training_order tt_training_order_make(const struct tt_training_options *o, uint64_t seed,
                                                uint64_t epoch);
uint64_t tt_training_at(const struct tt_training_order *order, uint64_t i);

/* The file's name in the tree; and whether a name is that of a file, or what an MPI library makes
 * beside one. */
#define TT_TRAINING_NAME 32
void tt_training_name(uint64_t file, char name[TT_TRAINING_NAME]);
bool tt_training_makes(const struct tt_training_options *o, const char *path);

/* ---- work.c ---- */
/* What stands for a step of training: products of small matrices. */
struct tt_training_work;
/* NULL: no memory; free() frees it. */
struct tt_training_work *tt_training_work_make(uint64_t seed);
void tt_training_work_do(struct tt_training_work *w, uint64_t passes);
#define TT_TRAINING_MATRIX 64 /* rows and columns; three matrices stay in the nearest caches */
/* Adds a x b to half of c, so many times. */
void tt_training_products(const float *a, const float *b, float *c, uint64_t passes);
extern const struct tt_computation tt_training_computation;

/* ---- device.c: the same on a device ---- */
struct tt_device;
struct tt_device_work;
/* If it fails, tt_device_work_free. */
int tt_training_work_make_on(struct tt_device *d, uint64_t seed, struct tt_device_work *w,
                             struct tt_error *e);
int tt_training_work_do_on(struct tt_device_work *w, uint64_t passes, struct tt_error *e);

/* ---- run.c ---- */
int tt_training_run(struct tt_engine *engine, struct tt_error *e);
extern const size_t tt_training_slot_size; /* of what a rank keeps beside each batch */

/* The table "epochs", a row each; without the first step of the epoch. */
enum {
    TT_TRAINING_EPOCH,
    TT_TRAINING_SECONDS,
    TT_TRAINING_COMPUTING,
    TT_TRAINING_WAITING,
    TT_TRAINING_COUNT,
    TT_TRAINING_NCOLUMNS,
};

#endif
