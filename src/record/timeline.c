/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "record/timeline.h"

#define LONGEST_NS (TT_TIMELINE_FIRST_NS << 36) /* 21 years: no run is longer than 256 of them */

static void join_pairs(struct tt_timeline *t)
{
    for (unsigned i = 0; i < TT_TIMELINE_SLOTS; i++) {
        struct tt_timeslot sum = {0, 0};

        for (unsigned k = 2 * i; k < 2 * i + 2 && k < TT_TIMELINE_SLOTS; k++) {
            sum.bytes += t->slots[k].bytes;
            sum.calls += t->slots[k].calls;
        }
        t->slots[i] = sum;
    }
    t->interval_ns *= 2;
    t->begin_ns = t->end_ns = 0;
}

static void reach(struct tt_timeline *t, int64_t ns)
{
    if (t->interval_ns == 0)
        t->interval_ns = TT_TIMELINE_FIRST_NS;
    while (ns / t->interval_ns >= TT_TIMELINE_SLOTS && t->interval_ns < LONGEST_NS)
        join_pairs(t);
}

void tt__timeline_spread(struct tt_timeline *t, int64_t from_ns, int64_t to_ns, uint64_t bytes)
{
    uint64_t given = 0;
    int64_t begin, last;

    from_ns = from_ns < 0 ? 0 : from_ns;
    to_ns = to_ns < from_ns ? from_ns : to_ns;
    reach(t, to_ns);
    last = to_ns / t->interval_ns;
    if (last >= TT_TIMELINE_SLOTS)
        return;
    for (int64_t i = from_ns / t->interval_ns; i < last; i++) {
        double part = (double)((i + 1) * t->interval_ns - from_ns) / (double)(to_ns - from_ns);
        uint64_t until = (uint64_t)((double)bytes * part);

        until = until < given ? given : until > bytes ? bytes : until;
        t->slots[i].bytes += until - given;
        given = until;
    }
    begin = last * t->interval_ns;
    t->slots[last].bytes += bytes - given;
    t->slots[last].calls++;
    t->at = (uint64_t)last;
    t->begin_ns = begin;
    t->end_ns = begin + t->interval_ns;
}

void tt_timeline_merge(struct tt_timeline *into, const struct tt_timeline *from)
{
    struct tt_timeline other = *from;

    if (other.interval_ns == 0)
        return;
    if (into->interval_ns == 0)
        into->interval_ns = other.interval_ns;
    while (into->interval_ns < other.interval_ns)
        join_pairs(into);
    while (other.interval_ns < into->interval_ns)
        join_pairs(&other);
    for (unsigned i = 0; i < TT_TIMELINE_SLOTS; i++) {
        into->slots[i].bytes += other.slots[i].bytes;
        into->slots[i].calls += other.slots[i].calls;
    }
    into->begin_ns = into->end_ns = 0;
}

bool tt_timeline_is_sound(const struct tt_timeline *t)
{
    int64_t interval = TT_TIMELINE_FIRST_NS;

    while (interval < t->interval_ns && interval < LONGEST_NS)
        interval *= 2;
    if (t->interval_ns != 0 && t->interval_ns != interval)
        return false;
    for (unsigned i = 0; i < TT_TIMELINE_SLOTS; i++)
        if (t->slots[i].bytes >> 53 || t->slots[i].calls >> 53 ||
            (t->interval_ns == 0 && (t->slots[i].bytes || t->slots[i].calls)))
            return false;
    return true;
}
