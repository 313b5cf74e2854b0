/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/mix.h"
#include "workloads/bulk/bulk.h"

#define ORDER_SALT 0x6f72646572u /* so that seeds of different uses do not meet */
#define READING_SALT 0x72656164u
#define REORDER_SALT 0x7374616e64u

uint64_t tt_bulk_transfers(const struct tt_bulk_options *o)
{
    return o->block / o->transfer * o->segments;
}

void tt_bulk_walk_begin(struct tt_bulk_walk *w, const struct tt_bulk_options *o, uint64_t places,
                        uint64_t ranks, uint64_t rank, uint64_t seed, uint64_t written)
{
    bool writing = written == TT_BULK_TO_WRITE;

    *w = (struct tt_bulk_walk){
        .order = (enum tt_bulk_order)o->order,
        .shared = o->files == 0,
        .ranks = ranks,
        .rank = rank,
        .transfer = o->transfer,
        .block = o->block,
        .count = writing ? places / (o->files ? 1 : ranks) : written,
        .slots = places,
        .seed = tt_mix(seed ^ ORDER_SALT) + (o->files ? rank + 1 : 0),
    };
    if (w->order == TT_BULK_RANDOM) {
        w->whole = tt_permutation_make(w->slots, w->seed);
        if (!writing)
            w->written = tt_permutation_make(written, tt_mix(w->seed + rank) ^ READING_SALT);
    }
}

uint64_t tt_bulk_part(const struct tt_bulk_options *o, uint64_t there, uint64_t ranks,
                      uint64_t rank)
{
    uint64_t block = o->block / o->transfer, segment = block * ranks, before = rank * block;
    uint64_t rest = there % segment;

    if (o->files)
        return there;
    if (o->order != TT_BULK_SEQUENTIAL)
        return there / ranks + (rank < there % ranks);
    rest = rest > before ? rest - before : 0;
    return there / segment * block + (rest < block ? rest : block);
}

static uint64_t in_order(const struct tt_bulk_walk *w, uint64_t i)
{
    uint64_t per_block = w->block / w->transfer, segment = i / per_block, j = i % per_block;

    if (!w->shared)
        return i * w->transfer;
    return (segment * w->ranks + w->rank) * w->block + j * w->transfer;
}

uint64_t tt_bulk_offset(const struct tt_bulk_walk *w, uint64_t i)
{
    uint64_t slot;

    switch (w->order) {
    case TT_BULK_SEQUENTIAL:
        return in_order(w, i);
    case TT_BULK_STRIDED:
        return (i * w->ranks + w->rank) * w->transfer;
    case TT_BULK_RANDOM:
        if (w->written.n > 0)
            i = tt_permute(&w->written, i);
        slot = w->shared ? i * w->ranks + w->rank : i;
        return tt_permute(&w->whole, slot) * w->transfer;
    case TT_BULK_REPEATED:
        return tt_mix(tt_mix(w->seed + w->rank) + i) % w->slots * w->transfer;
    }
    return 0;
}

static uint64_t draw_rank(const struct tt_bulk_options *o, const struct tt_bulk_nodes *n,
                          uint64_t ranks, uint64_t rank, uint64_t seed)
{
    uint64_t away = o->reorder_distance < n->nodes ? o->reorder_distance : n->nodes - 1;
    uint64_t least = away * n->ranks_of_first;
    uint64_t room = ranks > least ? ranks - least : 1;

    return (rank + (least + tt_mix(tt_mix(seed ^ REORDER_SALT) + rank) % room)) % ranks;
}

uint64_t tt_bulk_reordered_rank(const struct tt_bulk_options *o, const struct tt_bulk_nodes *n,
                                uint64_t ranks, uint64_t rank, uint64_t extra, uint64_t seed)
{
    uint64_t shift = n->blocked ? n->ranks_of_first : 1;
    struct tt_permutation p;

    switch (o->reorder) {
    case TT_BULK_CONSTANT:
        return (rank + (o->reorder_distance + extra) * shift) % ranks;
    case TT_BULK_RANDOM_RANK:
        return draw_rank(o, n, ranks, rank, seed + extra);
    case TT_BULK_PERMUTATION:
        p = tt_permutation_make(ranks, (seed + extra) ^ REORDER_SALT);
        return tt_permute(&p, rank);
    default:
        return rank;
    }
}
