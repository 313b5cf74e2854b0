/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One metric of many runs: how is it distributed, and what matters for it? The run is the unit:
 * what varies between runs is tested on one value a run, what varies within runs (rank, frame) with
 * runs as blocks. */
#ifndef TT_ANALYSIS_ANALYZE_H
#define TT_ANALYSIS_ANALYZE_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "analysis/times.h"

/* Of analyses in JSON. */
#define TT_ANALYSIS_FORMAT 1
/* A series without a change shows one with this probability. */
#define TT_ANALYSIS_ALARM 0.01
/* The change for which the number of runs is told, and how likely they see it. */
#define TT_ANALYSIS_CHANGE 0.05
#define TT_ANALYSIS_POWER 0.8

struct tt_analyzed_run {
    char *id;
    struct tt_times times; /* of a stored metric one rank and one frame, whose number is 0 */
    char **levels;         /* the values of the keys; NULL: the run has no such key */
};

struct tt_analysis {
    const char *given;         /* how the runs were asked for */
    const char *metric, *unit; /* as it was named; "s" */
    const char *what;          /* in words: "write time of a frame" */
    bool stored;               /* one value a run: no ranks and no frames */
    bool slowest;              /* a frame takes as long as its slowest rank; else their median */
    bool plots;                /* with densities and the like */
    uint64_t seed;
    bool ranks, frames; /* whether these are asked about */
    size_t nruns, nkeys;
    struct tt_analyzed_run *runs;
    char **keys;      /* what varies between the runs */
    size_t ntested;   /* so many of them, the first, are asked about; the others are kept alike */
    json_t *left_out; /* [{"id", "reason"}] */
};
void tt_analysis_free(struct tt_analysis *a);
/* Keys of which each has its own level wherever another has, as overlap and sync of two modes,
 * cannot be told apart: they become one, "overlap, sync", with levels such as "async, background".
 */
int tt_analysis_join_keys(struct tt_analysis *a, struct tt_error *e);

/* A new object: tutti, given, metric, what, unit, over ("median", "slowest" or null), left_out,
 * ratios (false: not all values are above 0, and differences stand in their place), and
 *   counts        {runs, configurations, repeated: runs that another one is like, frames, samples,
 *                 ranks, ranks_left_out}
 *   median        {value, low, high}: of the runs' medians; low and high null: too few runs
 *   distribution  of all frames (of all runs for a stored metric): see tt_summary
 *   normality     {runs: {w, p} or null, tested, rejected}: of single runs, by their frames
 *   modes         {dip, p, peaks: [values], relative} or null
 *   drift         {tau, p, slope, share: slope / median} or null
 *   changes       {tested, runs, expected, first: {id, frame, before, after}} or null
 *   factors       [{factor, kind: "rank", "frame" or "key", count: levels, verdict: "matters",
 *                 "no effect", "too few" or "untested", why}], and of what was tested
 *                 {n, blocks, h, df, p, adjusted, epsilon}, of what matters and of keys
 *                 {relative, ratios, levels: [{level, n, value, low, high}], pairs: [{a, b, effect,
 *                 delta, p, adjusted (Holm), fdr (Benjamini and Hochberg), mann_whitney}]}
 *   power         {change, power, runs} or null; by repeated runs, as normality/runs is
 *   plots         [{key, level, curve: "density", "ecdf" or "quantile", points: [[value, y]]}]
 *   answer        a sentence
 * relative: values are ratios to the median of the block, or differences; of modes, to that of runs
 * that are otherwise alike. mann_whitney is null where there are blocks.
 */
int tt_analyze(const struct tt_analysis *a, json_t **out, struct tt_error *e);

#endif
