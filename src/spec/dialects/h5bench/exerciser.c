/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The exerciser among h5bench's benchmarks: one array in tiles, written and read ten times in every
 * size. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/notice.h"
#include "spec/dialects/h5bench/parts.h"

#define DIMS 4
#define REPEATS 10
#define ATTRIBUTES 64

struct exerciser {
    uint64_t ndims, sizes, shift, memory_block, memory_stride, most_checked;
    bool collective_metadata, derived, attributes, independent, keep, chunked;
    char *tile, *growth, *ranks, *file_block, *file_stride;
};

#define AT(member) offsetof(struct exerciser, member)
#define MOST (INT64_C(1) << 30)
static const struct tt_param params[] = {
    {"numdims", TT_PARAM_COUNT, AT(ndims), NULL, NULL, NULL, 1, DIMS},
    {"minels", TT_PARAM_TEXT, AT(tile), NULL},
    {"nsizes", TT_PARAM_COUNT, AT(sizes), "1", NULL, NULL, 1, 64},
    {"bufmult", TT_PARAM_TEXT, AT(growth), NULL},
    {"dimranks", TT_PARAM_TEXT, AT(ranks), NULL},
    {"rshift", TT_PARAM_COUNT, AT(shift), "0", NULL, NULL, 0, 1 << 20},
    {"metacoll", TT_PARAM_BOOL, AT(collective_metadata), "false"},
    {"derivedtype", TT_PARAM_BOOL, AT(derived), "false"},
    {"addattr", TT_PARAM_BOOL, AT(attributes), "false"},
    {"indepio", TT_PARAM_BOOL, AT(independent), "false"},
    {"keepfile", TT_PARAM_BOOL, AT(keep), "false"},
    {"usechunked", TT_PARAM_BOOL, AT(chunked), "false"},
    {"maxcheck", TT_PARAM_BYTES, AT(most_checked), "0"},
    {"memblock", TT_PARAM_COUNT, AT(memory_block), "0", NULL, NULL, 0, MOST},
    {"memstride", TT_PARAM_COUNT, AT(memory_stride), "1", NULL, NULL, 0, MOST},
    {"fileblocks", TT_PARAM_TEXT, AT(file_block), NULL},
    {"filestrides", TT_PARAM_TEXT, AT(file_stride), NULL},
    {NULL},
};

/* "8 16" has a number from 1 on for every dimension, and no more. */
static int read_list(struct tt_h5bench_translation *t, const char *name, const char *text,
                     uint64_t ndims, uint64_t values[DIMS])
{
    char *at = (char *)text;

    for (uint64_t d = 0; d < ndims; d++) {
        char *end;

        at += strspn(at, " ");
        values[d] = strtoull(at, &end, 10);
        if (*at == '-' || end == at || (*end && *end != ' ') || values[d] < 1 || values[d] > MOST ||
            (d + 1 == ndims && end[strspn(end, " ")]))
            return tt_fail(t->e, TT_USAGE,
                           "%.200s: %s: '%.60s' does not have one number from 1 to %" PRId64
                           " for each of %" PRIu64 " dimensions",
                           tt_h5bench_place(t, name), name, text, MOST, ndims);
        at = end;
    }
    return TT_OK;
}

static int put_list(struct tt_h5bench_translation *t, const char *name, const char *key,
                    const char *text, uint64_t ndims)
{
    uint64_t values[DIMS];
    int rc = read_list(t, name, text, ndims, values);

    if (rc == TT_OK)
        tt_h5bench_put_counts(t, name, key, values, ndims);
    return rc;
}

/* As in the original, a product that is not the number of ranks counts as not given: its own sample
 * has one. */
static int put_ranks(struct tt_h5bench_translation *t, const struct exerciser *o)
{
    uint64_t ranks = tt_h5bench_ranks(&t->b->settings), product = 1, values[DIMS];
    int rc = o->ranks ? read_list(t, "dimranks", o->ranks, o->ndims, values) : TT_OK;

    if (rc != TT_OK || !o->ranks)
        return rc;
    for (uint64_t d = 0; d < o->ndims; d++)
        product *= values[d];
    if (product == ranks)
        tt_h5bench_put_counts(t, "dimranks", "arrays.process_grid", values, o->ndims);
    else
        tt_notice_same("exerciser: the product of dimranks '%.60s' is %" PRIu64
                       ", but there are %" PRIu64 " ranks: only the first dimension is divided",
                       o->ranks, product, ranks);
    return TT_OK;
}

/* A stride that is shorter than its block is as long. */
static int put_blocks(struct tt_h5bench_translation *t, const struct exerciser *o)
{
    uint64_t block[DIMS], stride[DIMS] = {0}, memory_stride = o->memory_stride;
    int rc = TT_OK;

    if (o->file_block)
        rc = read_list(t, "fileblocks", o->file_block, o->ndims, block);
    if (rc == TT_OK && o->file_stride)
        rc = read_list(t, "filestrides", o->file_stride, o->ndims, stride);
    if (rc != TT_OK)
        return rc;
    if (o->memory_block > 0) {
        memory_stride = memory_stride < o->memory_block ? o->memory_block : memory_stride;
        tt_h5bench_put(t, "memblock", "arrays.memory_block", "%" PRIu64, o->memory_block);
        tt_h5bench_put(t, "memstride", "arrays.memory_stride", "%" PRIu64, memory_stride);
    }
    if (!o->file_block) {
        if (o->file_stride)
            tt_notice_same("exerciser: filestrides has no effect without fileblocks");
        return TT_OK;
    }
    for (uint64_t d = 0; d < o->ndims; d++)
        stride[d] = stride[d] < block[d] ? block[d] : stride[d];
    tt_h5bench_put_counts(t, "fileblocks", "arrays.file_block", block, o->ndims);
    tt_h5bench_put_counts(t, "filestrides", "arrays.file_stride", stride, o->ndims);
    return TT_OK;
}

static int put_hdf5(struct tt_h5bench_translation *t, const struct exerciser *o)
{
    const struct tt_setting *given = tt_settings_find(t->keys, "metacoll");
    bool collective = o->collective_metadata || (given && !*given->value); /* a word without one */

    if (!t->is_hdf5)
        return TT_OK;
    tt_h5bench_put(t, "indepio", "hdf5.method", "%s",
                   o->independent ? "independent" : "collective");
    tt_h5bench_put(t, "metacoll", "hdf5.collective_metadata", "%s", collective ? "yes" : "no");
    if (!o->chunked)
        return TT_OK;
    return put_list(t, o->file_block ? "fileblocks" : "minels", "hdf5.chunk",
                    o->file_block ? o->file_block : o->tile, o->ndims);
}

static void put_rest(struct tt_h5bench_translation *t, const struct exerciser *o)
{
    bool checks = o->most_checked > 0 || !tt_settings_find(t->keys, "maxcheck");

    tt_h5bench_put(t, "benchmark", "arrays.steps", "1");
    tt_h5bench_put(t, "benchmark", "arrays.arrays", "1");
    tt_h5bench_put(t, "benchmark", "arrays.repeats", "%d", REPEATS);
    tt_h5bench_put(t, "nsizes", "arrays.sizes", "%" PRIu64, o->sizes);
    tt_h5bench_put(t, "rshift", "arrays.shift", "%" PRIu64, o->shift);
    tt_h5bench_put(t, "addattr", "arrays.attributes", "%d", o->attributes ? ATTRIBUTES : 0);
    tt_h5bench_put(t, "derivedtype", "arrays.records", "%s", o->derived ? "yes" : "no");
    tt_h5bench_put(t, "maxcheck", "arrays.verify", "%s", checks ? "yes" : "no");
    tt_h5bench_put(t, "maxcheck", "arrays.verify_most", "%" PRIu64, o->most_checked);
    tt_h5bench_put(t, "file", "arrays.path", "%s", t->b->file);
    tt_h5bench_put(t, "benchmark", "sync", "close");
    tt_h5bench_put(t, "benchmark", "label", "%s", t->b->name);
    t->b->keeps = o->keep;
}

static int translate(struct tt_h5bench_translation *t, const struct exerciser *o)
{
    static const uint64_t twice[DIMS] = {2, 2, 2, 2};
    int rc;

    if (o->ndims == 0 || !o->tile)
        return tt_fail(t->e, TT_USAGE, "%.200s: benchmark 'exerciser' needs numdims and minels",
                       t->b->place);
    if (o->chunked && !o->file_block && o->sizes > 1) {
        t->b->reason = strdup("usechunked: a chunk cannot grow with the sizes; give fileblocks, or "
                              "nsizes 1");
        return t->b->reason ? TT_OK : tt_fail_nomem(t->e, "a reason");
    }
    rc = put_list(t, "minels", "arrays.tile", o->tile, o->ndims);
    if (rc == TT_OK && o->growth)
        rc = put_list(t, "bufmult", "arrays.growth", o->growth, o->ndims);
    else
        tt_h5bench_put_counts(t, "bufmult", "arrays.growth", twice, o->ndims);
    if (rc == TT_OK)
        rc = put_ranks(t, o);
    if (rc == TT_OK)
        rc = put_blocks(t, o);
    if (rc == TT_OK)
        rc = put_hdf5(t, o);
    if (rc == TT_OK)
        put_rest(t, o);
    return rc;
}

int tt_h5bench_translate_exerciser(struct tt_h5bench_translation *t)
{
    struct exerciser o = {0};
    int rc = tt_h5bench_read_given(t->keys, params, &o, t->e);

    t->b->workload = "arrays";
    if (rc == TT_OK)
        rc = translate(t, &o);
    tt_params_free(params, &o);
    return rc == TT_OK ? tt_settings_check(&t->b->settings, t->e) : rc;
}
