/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Striping, set on the data directory before files are made in it, and read back from one of them:
 * Lustre by the program lfs, CephFS by an extended attribute. GlusterFS cuts files as its volume
 * says; that is only read. */
#ifndef TT_ENGINE_STRIPE_H
#define TT_ENGINE_STRIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/error.h"

struct tt_engine;
struct tt_config;

/* 0: not given. */
struct tt_stripe_options {
    uint64_t count, size;
};
int tt_stripe_check(const void *opts, struct tt_error *e);
/* Whether the user asks for striping that files with a path of their own (key) would not get; for
 * the check of a workload that uses this. */
int tt_stripe_check_path(const struct tt_config *config, bool own_path, const char *key,
                         struct tt_error *e);

/* Collective, once the data directory is there and before anything is in it. environment is known
 * on rank 0. */
int tt_stripe_apply(struct tt_engine *engine, const json_t *environment, struct tt_error *e);
/* On rank 0, while files of the run are still there: what they really have becomes facts, and a
 * list of some of rank 0's own files in the record. */
void tt_stripe_look(struct tt_engine *engine, const json_t *environment);

/* ---- what file systems say, as pure functions ---- */
enum tt_striped { TT_NOT_STRIPED, TT_LUSTRE, TT_CEPH, TT_GLUSTER };
/* By the type in mountinfo. */
enum tt_striped tt_striped_by(const char *filesystem);
struct tt_striping {
    uint64_t count, size; /* 0: not told */
    bool composite;       /* of the first component of several */
};
/* "lfs getstripe FILE" */
bool tt_striping_from_lfs(const char *text, struct tt_striping *out);
/* The attribute ceph.file.layout: "stripe_unit=4194304 stripe_count=1 object_size=4194304 ..." */
bool tt_striping_from_ceph(const char *text, struct tt_striping *out);
/* MOUNT/.meta/graphs/active/VOLUME-shard/private: "shard-block-size = 64.0MB" among other lines */
bool tt_striping_from_gluster(const char *text, struct tt_striping *out);
/* The value of ceph.dir.layout that asks for this. An object holds whole pieces. */
void tt_ceph_layout(const struct tt_stripe_options *want, char *text, size_t size);

#endif
