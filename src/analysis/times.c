/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/times.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/run_data.h"
#include "record/reduce.h"
#include "spec/param.h"

/* Values that a run may have for each record, if they are many: nearly all ranks have nearly all
 * frames, unless somebody made the records up. */
#define MOST_PER_RECORD 64
#define MANY (1 << 20)

_Static_assert(TT_NPHASES < 32, "phases are bits of a word");

static int refuse(const char *name, struct tt_error *e)
{
    const char *names[TT_NPHASES + TT_NMETRICS + 2] = {"span"}, *near;
    size_t n = 1;

    for (int p = 0; p < TT_NPHASES; p++)
        names[n++] = tt_phase_names[p];
    for (int m = 0; m < TT_NMETRICS; m++)
        names[n++] = tt_metrics[m].name;
    near = tt_nearest_word(name, names);
    return tt_fail(e, TT_USAGE,
                   "--metric: '%.40s' is neither a metric (tutti list metrics) nor a phase%s%s%s",
                   name, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

int tt_times_parse(const char *text, uint32_t *phases, struct tt_error *e)
{
    const char *at = text;

    *phases = 0;
    for (;;) {
        int length = (int)strcspn(at, "+"), found = -1;
        char name[32];

        snprintf(name, sizeof name, "%.*s", length, at);
        for (int p = 0; p < TT_NPHASES; p++)
            if (!strcmp(name, tt_phase_names[p]))
                found = p;
        if (found < 0 && strcmp(name, "span") != 0)
            return refuse(name, e);
        *phases |= found < 0 ? TT_TIMES_SPAN : 1u << found;
        if (!at[length])
            return TT_OK;
        at += length + 1;
    }
}

/* ---- reading ---- */

struct point {
    uint64_t frame;
    double seconds;
};
struct rank {
    uint32_t number, size;
    size_t first, n; /* of the points */
};
struct reading {
    uint32_t phases;
    bool failed; /* no memory */
    size_t npoints, nranks;
    struct point *points;
    struct rank *ranks;
};

static void take_points(void *context, const struct tt_iteration_record *list, size_t n)
{
    struct reading *r = context;

    for (size_t i = 0; i < n && !r->failed; i++) {
        struct point *room;
        uint64_t ns =
            r->phases & TT_TIMES_SPAN && list[i].span_ns > 0 ? (uint64_t)list[i].span_ns : 0;

        /* An iteration with the mark of a baseline epoch is above all others. */
        if (list[i].iteration == 0 || list[i].iteration >= TT_ITERATION_EXCLUDED)
            continue;
        for (int p = 0; p < TT_NPHASES; p++)
            if (r->phases >> p & 1)
                ns += list[i].phase_ns[p];
        room = tt_list_room(r->points, r->npoints, sizeof *room);
        r->failed = !room;
        if (room) {
            r->points = room;
            room[r->npoints++] = (struct point){list[i].iteration, (double)ns / 1e9};
        }
    }
}

static int read_node(void *context, const char *path, struct tt_error *e)
{
    struct reading *r = context;
    struct tt_records_index node;
    int rc = tt_records_index(path, &node, e);

    if (rc != TT_OK)
        return rc;
    for (size_t i = 0; rc == TT_OK && i < node.nranks; i++) {
        struct rank *room = tt_list_room(r->ranks, r->nranks, sizeof *room);
        size_t first = r->npoints;

        if (room) {
            r->ranks = room;
            rc = tt_records_scan(&node, i, take_points, r, e);
        }
        if (!room || r->failed)
            rc = tt_fail_nomem(e, "the times of a run");
        if (rc == TT_OK)
            r->ranks[r->nranks++] =
                (struct rank){node.ranks[i].rank, node.ranks[i].size, first, r->npoints - first};
    }
    tt_records_index_free(&node);
    return rc;
}

/* ---- arranging ---- */

static int by_rank(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;

    return (x->number > y->number) - (x->number < y->number);
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static uint64_t last_of(const struct reading *r, const struct rank *one)
{
    uint64_t last = 0;

    for (size_t i = one->first; i < one->first + one->n; i++)
        last = r->points[i].frame > last ? r->points[i].frame : last;
    return last;
}

/* Where late iterations were reduced, the ranks that have all of them are left: the slowest of all
 * ranks first and of some later would look like a change. Returns how many are not. */
static size_t keep_sampled(struct reading *r)
{
    uint64_t sampled = 0, others = UINT64_MAX;
    size_t n = 0, all = r->nranks;

    for (size_t i = 0; i < all; i++) {
        uint64_t last = last_of(r, &r->ranks[i]);

        if (tt_reduce_samples(r->ranks[i].number, r->ranks[i].size))
            sampled = last > sampled ? last : sampled;
        else
            others = last < others ? last : others;
    }
    if (sampled <= others)
        return 0;
    for (size_t i = 0; i < all; i++)
        if (tt_reduce_samples(r->ranks[i].number, r->ranks[i].size))
            r->ranks[n++] = r->ranks[i];
    r->nranks = n;
    return all - n;
}

/* The frames of these ranks, each once. */
static size_t list_frames(const struct reading *r, uint64_t *frames)
{
    size_t n = 0, different = 0;

    for (size_t k = 0; k < r->nranks; k++)
        for (size_t i = r->ranks[k].first; i < r->ranks[k].first + r->ranks[k].n; i++)
            if (r->points[i].seconds > 0)
                frames[n++] = r->points[i].frame;
    qsort(frames, n, sizeof *frames, by_number);
    for (size_t i = 0; i < n; i++)
        if (different == 0 || frames[i] != frames[different - 1])
            frames[different++] = frames[i];
    return different;
}

/* Frames usually follow each other, so the next place is tried first. False: it has none of them.
 */
static bool place(const struct reading *r, const struct rank *f, const struct tt_times *t,
                  double *row)
{
    bool any = false;
    size_t at = 0;

    for (size_t i = 0; i < t->nframes; i++)
        row[i] = NAN;
    for (size_t i = f->first; i < f->first + f->n; i++) {
        uint64_t frame = r->points[i].frame;

        if (at >= t->nframes || t->frames[at] != frame) {
            const uint64_t *found = bsearch(&frame, t->frames, t->nframes, sizeof frame, by_number);

            if (!found) /* it was dropped, or is none */
                continue;
            at = (size_t)(found - t->frames);
        }
        row[at] = (isnan(row[at]) ? 0 : row[at]) + r->points[i].seconds;
        any = true;
        at++;
    }
    return any;
}

static int arrange(struct reading *r, const char *directory, size_t drop, struct tt_times *out,
                   struct tt_error *e)
{
    qsort(r->ranks, r->nranks, sizeof *r->ranks, by_rank);
    for (size_t i = 1; i < r->nranks; i++)
        if (r->ranks[i].number == r->ranks[i - 1].number || r->ranks[i].size != r->ranks[0].size)
            return tt_fail(e, TT_CORRUPT, "'%s' mixes records of different runs", directory);
    out->left_out = keep_sampled(r);
    out->frames = malloc((r->npoints + 1) * sizeof *out->frames);
    out->ranks = malloc((r->nranks + 1) * sizeof *out->ranks);
    if (!out->frames || !out->ranks)
        return tt_fail_nomem(e, "the times of a run");
    out->nframes = list_frames(r, out->frames);
    drop = drop < out->nframes ? drop : out->nframes;
    out->nframes -= drop;
    memmove(out->frames, out->frames + drop, out->nframes * sizeof *out->frames);
    if (r->nranks * out->nframes > MANY && r->nranks * out->nframes / MOST_PER_RECORD > r->npoints)
        return tt_fail(e, TT_CORRUPT, "'%s' has %zu ranks and %zu frames, but only %zu records",
                       directory, r->nranks, out->nframes, r->npoints);
    out->values = malloc((r->nranks * out->nframes + 1) * sizeof *out->values);
    if (!out->values)
        return tt_fail_nomem(e, "the times of a run");
    for (size_t i = 0; i < r->nranks; i++)
        if (place(r, &r->ranks[i], out, out->values + out->nranks * out->nframes))
            out->ranks[out->nranks++] = r->ranks[i].number;
    return TT_OK;
}

int tt_times_load(const char *directory, uint32_t phases, size_t drop, struct tt_times *out,
                  struct tt_error *e)
{
    struct reading r = {.phases = phases};
    int rc = tt_each_node_file(directory, read_node, &r, e);

    *out = (struct tt_times){0};
    if (rc == TT_OK && r.nranks)
        rc = arrange(&r, directory, drop, out, e);
    if (rc != TT_OK)
        tt_times_free(out);
    free(r.points);
    free(r.ranks);
    return rc;
}

void tt_times_free(struct tt_times *t)
{
    free(t->frames);
    free(t->ranks);
    free(t->values);
    *t = (struct tt_times){0};
}
