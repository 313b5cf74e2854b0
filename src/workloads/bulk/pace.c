/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workloads/bulk/access.h"

#define FIRST_APART_NS 20000000
#define LEAST_INSTANTS 10

/* Keeps every other instant. */
static void thin_out(struct tt_bulk_pace *p)
{
    for (size_t i = 0; i < TT_BULK_INSTANTS / 2; i++) {
        p->at_ns[i] = p->at_ns[2 * i + 1];
        p->done[i] = p->done[2 * i + 1];
    }
    p->n = TT_BULK_INSTANTS / 2;
    p->apart_ns *= 2;
}

void tt_bulk_pace_note(struct tt_bulk_pace *p, int64_t at_ns, uint64_t done)
{
    if (p->apart_ns == 0)
        p->apart_ns = FIRST_APART_NS;
    if (at_ns - (p->n ? p->at_ns[p->n - 1] : 0) < p->apart_ns)
        return;
    if (p->n == TT_BULK_INSTANTS)
        thin_out(p);
    p->at_ns[p->n] = at_ns;
    p->done[p->n++] = done;
}

double tt_bulk_pace_start(const struct tt_bulk_pace *p)
{
    size_t tenth = p->n / 10;
    double early, late;

    if (p->n < LEAST_INSTANTS)
        return 1;
    early = (double)p->done[tenth] / (double)p->at_ns[tenth];
    late = (double)(p->done[p->n - 1] - p->done[tenth]) /
           (double)(p->at_ns[p->n - 1] - p->at_ns[tenth]);
    return late > 0 ? early / late : 1;
}
