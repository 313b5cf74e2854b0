/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "record/reduce.h"

#include <math.h>
#include <string.h>

uint64_t tt_reduce_after(uint32_t size, uint64_t above)
{
    return size < TT_REDUCE_RANKS ? TT_ITERATION_EXCLUDED - 1 : above / size;
}

bool tt_reduce_samples(uint32_t rank, uint32_t size)
{
    uint32_t every = size / TT_REDUCE_SAMPLE;

    return every == 0 || rank % every == 0;
}

double tt_worked_ns(const double ns[TT_NPHASES])
{
    double in_calls = ns[TT_SUBMIT] + ns[TT_WAIT] + ns[TT_SYNC] + ns[TT_LOAD];
    double own = ns[TT_IO_WRITE] + ns[TT_IO_SYNC] + ns[TT_IO_READ];

    return ns[TT_COMPUTE] + ns[TT_COPY] + ns[TT_METADATA] + fmin(in_calls, own);
}

void tt_joint_ns(const uint64_t ns[TT_NPHASES], double joint[TT_NJOINT])
{
    joint[TT_JOINT_WRITE] = (double)ns[TT_IO_WRITE] + (double)ns[TT_IO_SYNC];
    joint[TT_JOINT_READ] = (double)ns[TT_IO_READ];
    joint[TT_JOINT_COMMUNICATION] = (double)ns[TT_HALO] + (double)ns[TT_COLLECTIVE];
    joint[TT_JOINT_LOAD] = (double)ns[TT_LOAD];
    joint[TT_JOINT_COPY] = (double)ns[TT_COPY];
}

/* ---- iterations ---- */

void tt_reduced_begin(struct tt_reduced *r, const struct tt_iteration_record *it, uint32_t rank)
{
    *r = (struct tt_reduced){
        .iteration = it->iteration, .start_ns = it->start_ns, .end_ns = INT64_MIN};
    for (int p = 0; p < TT_NPHASES; p++)
        r->min_ns[p] = INFINITY;
    tt_reduced_add(r, it, rank);
}

static void take_last(struct tt_reduced *r, const double ns[TT_NPHASES], uint32_t rank,
                      double worked)
{
    for (int p = 0; p < TT_NPHASES; p++)
        r->last_ns[p] = (float)ns[p];
    r->last = rank;
    r->worked_ns = worked;
}

void tt_reduced_add(struct tt_reduced *r, const struct tt_iteration_record *it, uint32_t rank)
{
    double ns[TT_NPHASES], joint[TT_NJOINT], worked;
    int64_t end;

    if (__builtin_add_overflow(it->start_ns, it->span_ns, &end))
        end = it->start_ns;
    r->start_ns = it->start_ns < r->start_ns ? it->start_ns : r->start_ns;
    r->end_ns = end > r->end_ns ? end : r->end_ns;
    r->bytes_written += it->bytes_written;
    r->bytes_read += it->bytes_read;
    r->bytes_communicated += it->bytes_communicated;
    for (int p = 0; p < TT_NPHASES; p++) {
        ns[p] = (double)it->phase_ns[p];
        r->min_ns[p] = fminf(r->min_ns[p], (float)ns[p]);
        r->max_ns[p] = fmaxf(r->max_ns[p], (float)ns[p]);
    }
    tt_joint_ns(it->phase_ns, joint);
    for (int j = 0; j < TT_NJOINT; j++)
        r->joint_ns[j] = fmaxf(r->joint_ns[j], (float)joint[j]);
    worked = tt_worked_ns(ns);
    if (r->ranks++ == 0 || worked > r->worked_ns)
        take_last(r, ns, rank, worked);
}

void tt_reduced_merge(struct tt_reduced *into, const struct tt_reduced *from)
{
    float part = (float)from->ranks / ((float)into->ranks + (float)from->ranks);

    for (int p = 0; p < TT_NPHASES; p++) {
        into->min_ns[p] = fminf(into->min_ns[p], from->min_ns[p]);
        into->max_ns[p] = fmaxf(into->max_ns[p], from->max_ns[p]);
        into->median_ns[p] += part * (from->median_ns[p] - into->median_ns[p]);
    }
    for (int j = 0; j < TT_NJOINT; j++)
        into->joint_ns[j] = fmaxf(into->joint_ns[j], from->joint_ns[j]);
    if (from->worked_ns > into->worked_ns) {
        memcpy(into->last_ns, from->last_ns, sizeof into->last_ns);
        into->last = from->last;
        into->worked_ns = from->worked_ns;
    }
    into->ranks += from->ranks;
    into->bytes_written += from->bytes_written;
    into->bytes_read += from->bytes_read;
    into->bytes_communicated += from->bytes_communicated;
    into->start_ns = from->start_ns < into->start_ns ? from->start_ns : into->start_ns;
    into->end_ns = from->end_ns > into->end_ns ? from->end_ns : into->end_ns;
}

/* Hoare's selection of the k-th smallest: qsort may allocate, which a handler must not. */
static float select_nth(float *v, size_t n, size_t k)
{
    size_t low = 0, high = n - 1;

    while (low < high) {
        float pivot = v[low + (high - low) / 2];
        size_t i = low, j = high;

        for (;;) {
            while (v[i] < pivot)
                i++;
            while (v[j] > pivot)
                j--;
            if (i >= j)
                break;
            float other = v[i];

            v[i++] = v[j];
            v[j--] = other;
        }
        if (k <= j)
            high = j;
        else
            low = j + 1;
    }
    return v[k];
}

float tt_select_median(float *values, size_t n)
{
    if (n == 0)
        return 0;
    return n % 2 ? select_nth(values, n, n / 2)
                 : (select_nth(values, n, n / 2 - 1) + select_nth(values, n, n / 2)) / 2;
}

/* ---- bytes ---- */

struct head {
    uint64_t iteration;
    uint64_t bytes[3];
    int64_t start_ns, end_ns;
    uint32_t ranks, last;
    float joint_ns[TT_NJOINT];
    uint32_t phases; /* a bit each of those that follow */
};
_Static_assert(sizeof(struct head) == TT_REDUCED_HEAD, "there is no gap");
_Static_assert(TT_NPHASES <= 32, "a bit each");

size_t tt_reduced_pack(const struct tt_reduced *r, unsigned char to[TT_REDUCED_MOST])
{
    struct head h = {.iteration = r->iteration,
                     .bytes = {r->bytes_written, r->bytes_read, r->bytes_communicated},
                     .start_ns = r->start_ns,
                     .end_ns = r->end_ns,
                     .ranks = r->ranks,
                     .last = r->last};
    size_t at = sizeof h;

    memcpy(h.joint_ns, r->joint_ns, sizeof h.joint_ns);
    for (int p = 0; p < TT_NPHASES; p++)
        if (r->max_ns[p] > 0) {
            const float four[4] = {r->last_ns[p], r->min_ns[p], r->median_ns[p], r->max_ns[p]};

            h.phases |= UINT32_C(1) << p;
            memcpy(to + at, four, sizeof four);
            at += sizeof four;
        }
    memcpy(to, &h, sizeof h);
    return at;
}

/* A time that no run has, or that is none. */
static bool is_sound(float ns)
{
    return ns >= 0 && ns < 9e18f;
}

size_t tt_reduced_unpack(const unsigned char *from, size_t n, struct tt_reduced *out)
{
    double ns[TT_NPHASES] = {0};
    struct head h;
    size_t at = sizeof h;
    bool sound = true;

    if (n < sizeof h)
        return 0;
    memcpy(&h, from, sizeof h);
    if (h.ranks == 0 || (h.iteration & ~TT_ITERATION_EXCLUDED) == 0 || h.phases >> TT_NPHASES ||
        n - sizeof h < 16 * (size_t)__builtin_popcount(h.phases))
        return 0;
    *out = (struct tt_reduced){.iteration = h.iteration,
                               .ranks = h.ranks,
                               .last = h.last,
                               .bytes_written = h.bytes[0],
                               .bytes_read = h.bytes[1],
                               .bytes_communicated = h.bytes[2],
                               .start_ns = h.start_ns,
                               .end_ns = h.end_ns};
    memcpy(out->joint_ns, h.joint_ns, sizeof h.joint_ns);
    for (int j = 0; j < TT_NJOINT; j++)
        sound = sound && is_sound(h.joint_ns[j]);
    for (int p = 0; p < TT_NPHASES; p++)
        if (h.phases >> p & 1) {
            float four[4];

            memcpy(four, from + at, sizeof four);
            at += sizeof four;
            for (int k = 0; k < 4; k++)
                sound = sound && is_sound(four[k]);
            ns[p] = out->last_ns[p] = four[0];
            out->min_ns[p] = four[1];
            out->median_ns[p] = four[2];
            out->max_ns[p] = four[3];
        }
    out->worked_ns = tt_worked_ns(ns);
    return sound ? at : 0;
}

/* ---- epochs and totals ---- */

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void tt_reduced_epoch_add(struct tt_reduced_epoch *r, const struct tt_epoch_record *e)
{
    int64_t io, rest;

    if (__builtin_add_overflow(e->io_ns, e->files_ns, &io))
        io = e->io_ns;
    if (__builtin_sub_overflow(e->span_ns, e->visible_ns, &rest))
        rest = e->span_ns;
    if (r->ranks++ == 0) {
        r->epoch = e->epoch;
        r->kind = e->kind;
        r->iterations = e->iterations;
    }
    r->differs = r->differs || e->kind != r->kind || e->iterations != r->iterations;
    r->span_ns = larger(r->span_ns, e->span_ns);
    r->compute_ns = larger(r->compute_ns, e->compute_ns);
    r->write_ns = larger(r->write_ns, e->io_ns);
    if (io >= r->io_ns) { /* a part of the same rank's */
        r->io_ns = io;
        r->staging_ns = e->staging_ns;
    }
    r->rest_ns = larger(r->rest_ns, rest);
    r->visible_ns = larger(r->visible_ns, e->visible_ns);
    r->helper_cpu_ns = larger(r->helper_cpu_ns, e->helper_cpu_ns);
    r->copy_ns = larger(r->copy_ns, e->copy_ns);
    r->bytes += e->bytes;
}

void tt_totals_add(struct tt_rank_totals *t, const struct tt_iteration_record *it)
{
    int64_t end;

    if (!__builtin_add_overflow(it->start_ns, it->span_ns, &end) && end > t->end_ns)
        t->end_ns = end;
    t->iterations++;
    if (it->iteration >= TT_ITERATION_EXCLUDED) {
        t->excluded_ns += it->span_ns;
        return;
    }
    for (int p = 0; p < TT_NPHASES; p++)
        t->phase_ns[p] += it->phase_ns[p];
    t->bytes_written += it->bytes_written;
    t->bytes_read += it->bytes_read;
    t->bytes_communicated += it->bytes_communicated;
}
