/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stddef.h>

#include "workloads/frames/frames.h"

static const uint64_t widths[] = {
    [TT_FRAMES_FLOAT] = 1, [TT_FRAMES_VECTOR] = 3, [TT_FRAMES_BLOCK] = 16};

/* The k-th occurrence of a prime among the factors of the number goes to the k-th axis, counted in
 * a circle. More of a prime therefore never takes one away from an axis, whatever else is
 * multiplied. */
void tt_frames_parts(enum tt_frames_decomposition how, uint64_t ranks, uint64_t parts[3])
{
    static const unsigned first_axis[] = {0, 2, 1}; /* of 2, 3 and 5, of 7, 11 and 13, ... */
    unsigned primes = 0;

    parts[0] = parts[1] = parts[2] = 1;
    if (how == TT_FRAMES_1D) {
        parts[0] = ranks;
        return;
    }
    for (uint64_t p = 2; p <= ranks; p++) {
        unsigned axis = first_axis[primes % 3];
        bool is_prime = true;

        for (uint64_t d = 2; d * d <= p && is_prime; d++)
            is_prime = p % d != 0;
        primes += is_prime;
        for (; is_prime && ranks % p == 0; ranks /= p) {
            parts[axis] *= p;
            axis = (axis + 1) % 3;
        }
    }
}

/* edge^3 x 8 bytes, however large an element is; the cube stays one where it can. */
static int block_of_edge(const struct tt_frames_options *o, uint64_t block[3], struct tt_error *e)
{
    const char *what = o->element == TT_FRAMES_VECTOR ? "12-byte vectors" : "64-byte blocks";
    uint64_t edge = o->edge;

    block[0] = block[1] = edge;
    block[2] = o->element == TT_FRAMES_VECTOR ? edge / 3 * 2 : edge * 2;
    if (o->element == TT_FRAMES_BLOCK)
        block[0] = block[1] = block[2] = edge / 2;
    if ((o->element == TT_FRAMES_VECTOR && edge % 3 != 0) ||
        (o->element == TT_FRAMES_BLOCK && edge % 2 != 0))
        return tt_fail(e, TT_USAGE,
                       "frames.edge %llu: %llu^3 x 8 bytes cannot be cut into %s; take a multiple "
                       "of %d, or frames.dims",
                       (unsigned long long)edge, (unsigned long long)edge, what,
                       o->element == TT_FRAMES_VECTOR ? 3 : 2);
    return TT_OK;
}

static int block_of_dims(const struct tt_frames_options *o, uint64_t block[3], struct tt_error *e)
{
    if (o->dims.n != 3)
        return tt_fail(e, TT_USAGE, "frames.dims: 3 dimensions, not %zu", o->dims.n);
    for (int d = 0; d < 3; d++) {
        block[d] = o->dims.values[d];
        if (block[d] == 0)
            return tt_fail(e, TT_USAGE, "frames.dims: a dimension is 0");
    }
    return TT_OK;
}

/* All frames of all ranks, as doubles: larger than anything that is allocated or written. */
static int check_size(const struct tt_frames_shape *s, const struct tt_frames_options *o,
                      struct tt_error *e)
{
    double all = sizeof(double) * (double)s->width;

    for (int d = 0; d < 3; d++)
        all *= (double)s->block[d] * (double)s->parts[d];
    all = (all + (double)(2 * o->metadata + o->header)) * (double)o->frames;
    return all < 0x1p62
               ? TT_OK
               : tt_fail(e, TT_USAGE, "frames: blocks x ranks x frames.frames is too large");
}

int tt_frames_shape_make(struct tt_frames_shape *s, const struct tt_frames_options *o,
                         uint64_t ranks, uint64_t rank, struct tt_error *e)
{
    int rc = o->dims.n ? block_of_dims(o, s->block, e) : block_of_edge(o, s->block, e);

    s->width = widths[o->element];
    tt_frames_parts((enum tt_frames_decomposition)o->decomposition, ranks, s->parts);
    if (rc == TT_OK)
        rc = check_size(s, o, e);
    if (rc != TT_OK)
        return rc;
    s->values = s->width;
    for (int d = 2; d >= 0; d--) {
        s->dims[d] = s->parts[d] * s->block[d];
        s->start[d] = rank % s->parts[d] * s->block[d];
        rank /= s->parts[d];
        s->values *= s->block[d];
    }
    return TT_OK;
}

uint64_t tt_frames_block_bytes(const struct tt_frames_shape *s)
{
    return s->values * sizeof(float);
}

uint64_t tt_frames_frame_bytes(const struct tt_frames_shape *s, const struct tt_frames_options *o)
{
    return tt_frames_block_bytes(s) * s->parts[0] * s->parts[1] * s->parts[2] + 2 * o->metadata;
}
