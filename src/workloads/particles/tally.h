/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times as h5bench defines them, of writing or of reading, on this rank: summed over what lies
 * between begin and end, which may come several times. */
#ifndef TT_WORKLOADS_PARTICLES_TALLY_H
#define TT_WORKLOADS_PARTICLES_TALLY_H

#include "engine/engine.h"

struct tt_tally {
    double before[TT_NPHASES], spent[TT_NPHASES], observed; /* seconds */
    int64_t since_ns;
};
void tt_tally_begin(struct tt_tally *t, const struct tt_engine *engine);
void tt_tally_end(struct tt_tally *t, const struct tt_engine *engine);
/* The table "h5bench", see tables.h. */
void tt_tally_report(const struct tt_tally *written, const struct tt_tally *read,
                     struct tt_engine *engine);
/* The table "ranks", of the rows that ranks have and the particles in a row. */
void tt_tally_report_ranks(const uint64_t *rows, uint64_t row, struct tt_engine *engine);

#endif
