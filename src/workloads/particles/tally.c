/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workloads/particles/tally.h"

void tt_tally_begin(struct tt_tally *t, const struct tt_engine *engine)
{
    for (int p = 0; p < TT_NPHASES; p++)
        t->before[p] = tt_phase_seconds(engine, (enum tt_phase)p);
    t->since_ns = tt_now_ns();
}

void tt_tally_end(struct tt_tally *t, const struct tt_engine *engine)
{
    t->observed += tt_seconds(tt_now_ns() - t->since_ns);
    for (int p = 0; p < TT_NPHASES; p++)
        t->spent[p] += tt_phase_seconds(engine, (enum tt_phase)p) - t->before[p];
}

/* Without overlap the write that the caller makes has the making of groups and variables in it. */
static void add_row(double *row, const struct tt_tally *t, bool overlaps)
{
    double calls = t->spent[TT_COPY] + t->spent[TT_SUBMIT] + t->spent[TT_WAIT] + t->spent[TT_LOAD];

    row[0] = overlaps ? calls : calls - t->spent[TT_IO_DEFINE];
    row[1] = t->spent[TT_IO_DEFINE];
    row[2] = t->observed;
    row[3] = t->spent[TT_COMPUTE];
}

void tt_tally_report(const struct tt_tally *written, const struct tt_tally *read,
                     struct tt_engine *engine)
{
    bool overlaps = engine->config->run->overlap != TT_OVERLAP_NONE;
    double table[2 * 4];

    add_row(table, written, overlaps);
    add_row(table + 4, read, overlaps);
    tt_result_table(engine, "h5bench", 2, 4, table);
}
