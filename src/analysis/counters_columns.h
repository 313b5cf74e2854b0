/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The columns of one node's counters, each summed up over a window, or sample by sample. */
#ifndef TT_ANALYSIS_COUNTERS_COLUMNS_H
#define TT_ANALYSIS_COUNTERS_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct tt_counter_column {
    const char *name;                     /* "disk.vda.busy" */
    const char *group, *instance, *field; /* instance is "" if there is none */
    double seconds;                       /* of the window in which it is known */
    double growth;                        /* of a counter, in the window */
    double integral;                      /* of a level over time */
    double min, max;
};

struct tt_columns {
    size_t n;
    struct tt_counter_column *list;
    double seconds; /* of the window that samples cover */
    char *text;     /* the names */
};

/* Between samples a value changes evenly; a counter that falls has started anew. The last line may
 * be cut off. */
int tt_columns_load(const char *path, int64_t from_ns, int64_t to_ns, struct tt_columns *out,
                    struct tt_error *e);
/* The same; take gets each sample in the window and the one before it, by column, which may be no
 * numbers. seconds: between them; at: of the sample. */
typedef int tt_take_counters(void *context, const struct tt_columns *c, int64_t at, double seconds,
                             const double *before, const double *now);
int tt_columns_scan(const char *path, int64_t from_ns, int64_t to_ns, tt_take_counters *take,
                    void *context, struct tt_columns *out, struct tt_error *e);
void tt_columns_free(struct tt_columns *c);

/* By full name; NULL if there is none, or nothing is known of it in the window. */
const struct tt_counter_column *tt_columns_find(const struct tt_columns *c, const char *name);

#endif
