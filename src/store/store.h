/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An SQLite index over run directories. The directories are the truth: the index can be deleted and
 * made again at any time, and holds nothing that is not in them. One writer at a time; readers are
 * not disturbed. No write-ahead log and no memory mapping, so that it works on network file
 * systems. */
#ifndef TT_STORE_STORE_H
#define TT_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/error.h"

struct tt_store;

struct tt_index_report {
    uint64_t added, kept, removed; /* a run whose result changed is added */
    uint64_t refused;              /* directories that hold garbage */
    uint64_t unfinished;           /* runs that are not over yet: not in the index */
};

/* <results>/index.sqlite. A newer schema than this program knows is an error that says so. */
int tt_store_open(const char *results, bool writable, struct tt_store **out, struct tt_error *e);
/* The same, brought up to date. If another tutti is at it just now, or the results cannot be
 * written to, the index is taken as it is, and *stale (else clear) has the reason. */
int tt_store_open_updated(const char *results, struct tt_store **out,
                          struct tt_index_report *report, struct tt_error *stale,
                          struct tt_error *e);
void tt_store_close(struct tt_store *s);

/* Bring the index up to date with the directories below results; rebuild starts from nothing.
 * TT_BUSY if another one does. */
int tt_store_index(struct tt_store *s, bool rebuild, struct tt_index_report *report,
                   struct tt_error *e);
/* {"directory": "why"} of what the last tt_store_index refused; borrowed. */
const json_t *tt_store_refused(const struct tt_store *s);

/* One indexed run. */
struct tt_run_row {
    int64_t key;
    char *directory, *id, *label, *workload, *plan_hash, *status; /* label: "" if it has none */
    bool valid;
    uint64_t ranks;
    double start_seconds; /* wall clock */
};
struct tt_run_rows {
    size_t n;
    struct tt_run_row *rows;
};
/* Filters are words "key=value" or "key>=value" ...: id, label, workload, status, plan, valid,
 * directory, start (start>2026-11-15), any parameter (stencil.size=4096) or metric
 * (write_rate>=1g), or whatever else is indexed; size for stencil.size where all runs are of one
 * workload, and mode=async+bg for overlap and sync. All must hold; a run that lacks the key does
 * not match. Oldest first. */
int tt_store_find(struct tt_store *s, size_t nfilters, const char *const *filters,
                  struct tt_run_rows *out, struct tt_error *e);
/* Cuts "label=a,stencil.size=64" at the commas that another filter follows: a value may have
 * commas, too. Returns how many, at most `most`; they point into text. */
size_t tt_filters_split(char *text, const char **filters, size_t most);
void tt_run_rows_free(struct tt_run_rows *r);

/* Value of a metric; TT_OK with *known false if the run did not measure it. */
int tt_store_metric(struct tt_store *s, int64_t run, const char *metric, bool *known, double *value,
                    struct tt_error *e);
/* Value of a parameter; caller frees; NULL if the run has no such key. */
int tt_store_parameter(struct tt_store *s, int64_t run, const char *key, char **value,
                       struct tt_error *e);
/* {"key": "value"} of all parameters, and the environment, as indexed; new references. */
int tt_store_parameters(struct tt_store *s, int64_t run, json_t **out, struct tt_error *e);
int tt_store_environment(struct tt_store *s, int64_t run, json_t **out, struct tt_error *e);

enum tt_stored { TT_STORED_PARAMETERS, TT_STORED_METRICS, TT_STORED_PHASES, TT_STORED_ENVIRONMENT };
/* "size,mode" as "stencil.size,overlap,sync": keys of filters as users may write them, as they are
 * indexed; caller frees. An unknown one is an error that names the nearest, and begins with where.
 */
int tt_store_whole_keys(struct tt_store *s, const char *where, const char *keys, char **out,
                        struct tt_error *e);
/* Which of these a whole key is; -1: a member of struct tt_run_row. */
int tt_store_kind(struct tt_store *s, const char *key, int *kind, struct tt_error *e);
/* Value of anything as text; caller frees; NULL if the run has none. */
int tt_store_text(struct tt_store *s, int64_t run, enum tt_stored kind, const char *key,
                  char **value, struct tt_error *e);
/* ["key", ...] of the parameters that do not have the same value in all of the runs that have them;
 * those of the run itself first. */
int tt_store_varied(struct tt_store *s, const struct tt_run_rows *runs, json_t **out,
                    struct tt_error *e);
/* {"key": {"value": ..., "unit": "..."}}: text for parameters and the environment, a number or null
 * for metrics and phases ("compute.max": min, median, max over ranks of a phase's total). */
int tt_store_values(struct tt_store *s, int64_t run, enum tt_stored kind, json_t **out,
                    struct tt_error *e);

#endif
