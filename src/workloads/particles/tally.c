/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workloads/particles/tally.h"

#include <math.h>

#include "workloads/particles/tables.h"

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

    row[TT_PARTICLES_RAW] = overlaps ? calls : calls - t->spent[TT_IO_DEFINE];
    row[TT_PARTICLES_METADATA] = t->spent[TT_IO_DEFINE];
    row[TT_PARTICLES_OBSERVED] = t->observed;
    row[TT_PARTICLES_COMPUTATION] = t->spent[TT_COMPUTE];
    row[TT_PARTICLES_OPENING] = t->spent[TT_OPEN];
    row[TT_PARTICLES_SYNCING] = t->spent[TT_SYNC];
    row[TT_PARTICLES_CLOSING] = t->spent[TT_CLOSE];
}

void tt_tally_report(const struct tt_tally *written, const struct tt_tally *read,
                     struct tt_engine *engine)
{
    bool overlaps = engine->config->run->overlap != TT_OVERLAP_NONE;
    double table[2 * TT_PARTICLES_NTIMES];

    add_row(table, written, overlaps);
    add_row(table + TT_PARTICLES_NTIMES, read, overlaps);
    tt_result_table(engine, "h5bench", 2, TT_PARTICLES_NTIMES, table);
}

void tt_tally_report_ranks(const uint64_t *rows, uint64_t row, struct tt_engine *engine)
{
    double table[TT_PARTICLES_NNUMBERS] = {0}, squares = 0, mean;

    for (int r = 0; r < engine->size; r++)
        table[TT_PARTICLES_TOTAL] += (double)rows[r] * (double)row;
    mean = table[TT_PARTICLES_TOTAL] / engine->size;
    for (int r = 0; r < engine->size; r++)
        squares += pow((double)rows[r] * (double)row - mean, 2);
    table[TT_PARTICLES_MEAN] = mean;
    table[TT_PARTICLES_DEVIATION] = sqrt(squares / engine->size);
    tt_result_table(engine, "ranks", 1, TT_PARTICLES_NNUMBERS, table);
}
