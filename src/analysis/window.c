/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a run did in a window of time, and what its phases took. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "analysis/run_data.h"
#include "base/clock.h"
#include "base/json.h"
#include "record/reduce.h"

/* The sum of two times; records may lie, but must not make us overflow. */
static int64_t later(int64_t from, int64_t by)
{
    int64_t sum;

    if (__builtin_add_overflow(from, by, &sum))
        return by > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

/* Exact, however far apart they are. */
static double span(int64_t from, int64_t to)
{
    return (double)((uint64_t)to - (uint64_t)from);
}

/* The instant of the common start, to which the records' times refer: the first record, of what
 * came before the loop, begins with the records themselves. */
static int64_t start_of(const struct tt_rank_records *r)
{
    int64_t begin = tt_rank_begin(r), start = begin;

    if (r->niterations && __builtin_sub_overflow(begin, r->iterations[0].start_ns, &start))
        start = begin;
    return start;
}

static int64_t span_of(const struct tt_rank_records *r)
{
    int64_t span;

    return tt_rank_span(r, &span) && span > 0 ? span : 0;
}

/* The rank's record of that iteration, or NULL. Iterations are asked for in rising order, and *at
 * is where to look on: what stands between them is not the same on all ranks. */
static const struct tt_iteration_record *find(const struct tt_rank_records *r, uint64_t iteration,
                                              size_t *at)
{
    while (*at < r->niterations && r->iterations[*at].iteration < iteration)
        ++*at;
    return *at < r->niterations && r->iterations[*at].iteration == iteration ? &r->iterations[*at]
                                                                             : NULL;
}

struct work {
    double iterations, written, read, communicated;
    double seconds; /* of rank 0 in its iterations */
};

static void add_part(const struct tt_rank_records *r, const struct tt_window *w, struct work *sum)
{
    int64_t start = start_of(r);
    size_t at = 0;

    for (size_t i = 0; i < r->niterations + r->nexcluded; i++) {
        const struct tt_iteration_record *it = &r->iterations[i];
        int64_t from = later(start, it->start_ns), to = later(from, it->span_ns);
        int64_t first = from > w->from_ns ? from : w->from_ns, last = to < w->to_ns ? to : w->to_ns;
        double part = last > first ? span(first, last) / span(from, to) : 0;

        /* one of which a part is in a baseline epoch counts once */
        if (r->header.rank == 0 && it->iteration > 0 &&
            (i < r->niterations || !find(r, it->iteration, &at)))
            sum->iterations += part;
        if (r->header.rank == 0 && it->iteration > 0)
            sum->seconds += part * span(from, to);
        sum->written += part * (double)it->bytes_written;
        sum->read += part * (double)it->bytes_read;
        sum->communicated += part * (double)it->bytes_communicated;
    }
}

/* Of reduced iterations the time is that from the first rank's begin to the last one's end. One of
 * which a part is in a baseline epoch counts once. */
static void add_reduced_part(const struct tt_run_data *run, size_t i, const struct tt_window *w,
                             struct work *sum)
{
    const struct tt_reduced *r = &run->reduced[i];
    int64_t start = start_of(&run->ranks[0]);
    int64_t from = later(start, r->start_ns), to = later(start, r->end_ns);
    int64_t first = from > w->from_ns ? from : w->from_ns, last = to < w->to_ns ? to : w->to_ns;
    double part = last > first ? span(first, last) / span(from, to) : 0;
    bool again = i > 0 && run->reduced[i - 1].iteration == (r->iteration & ~TT_ITERATION_EXCLUDED);

    sum->iterations += again ? 0 : part;
    sum->seconds += part * span(from, to);
    sum->written += part * (double)r->bytes_written;
    sum->read += part * (double)r->bytes_read;
    sum->communicated += part * (double)r->bytes_communicated;
}

json_t *tt_window_work(const struct tt_run_data *run, const struct tt_window *w)
{
    struct work sum = {0};

    for (size_t i = 0; i < run->nranks; i++)
        add_part(&run->ranks[i], w, &sum);
    for (size_t i = 0; run->nranks && i < run->nreduced; i++)
        add_reduced_part(run, i, w, &sum);
    return json_pack("{s:f, s:f, s:f, s:f, s:f}", "iterations", sum.iterations, "seconds",
                     sum.seconds, "bytes_written", sum.written, "bytes_read", sum.read,
                     "bytes_communicated", sum.communicated);
}

static void widen(struct tt_window *w, int64_t from, int64_t to)
{
    w->from_ns = from < w->from_ns ? from : w->from_ns;
    w->to_ns = to > w->to_ns ? to : w->to_ns;
}

bool tt_direction_window(const struct tt_run_data *run, bool reading, struct tt_window *out)
{
    *out = (struct tt_window){INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < run->nranks; i++) {
        const struct tt_rank_records *r = &run->ranks[i];

        for (size_t k = 0; k < r->niterations; k++) {
            const struct tt_iteration_record *it = &r->iterations[k];
            int64_t from = later(start_of(r), it->start_ns);

            if (it->iteration > 0 && (reading ? it->bytes_read : it->bytes_written) > 0)
                widen(out, from, later(from, it->span_ns));
        }
    }
    for (size_t i = 0; run->nranks && i < run->nreduced; i++) {
        const struct tt_reduced *r = &run->reduced[i];
        int64_t start = start_of(&run->ranks[0]);

        if (r->iteration < TT_ITERATION_EXCLUDED &&
            (reading ? r->bytes_read : r->bytes_written) > 0)
            widen(out, later(start, r->start_ns), later(start, r->end_ns));
    }
    return out->from_ns < out->to_ns;
}

/* ---- what ranks do together ---- */

static void add_joint(const uint64_t phase_ns[TT_NPHASES], double sum[TT_NJOINT])
{
    double ns[TT_NJOINT];

    tt_joint_ns(phase_ns, ns);
    for (int j = 0; j < TT_NJOINT; j++)
        sum[j] += 1e-9 * ns[j];
}

/* The lowest iteration that no rank's place has passed; 0: there is none. */
static uint64_t next_iteration(const struct tt_run_data *run, size_t *at)
{
    uint64_t next = UINT64_MAX;
    bool found = false;

    for (size_t i = 0; i < run->nranks; i++) {
        const struct tt_rank_records *r = &run->ranks[i];

        while (at[i] < r->niterations && r->iterations[at[i]].iteration == 0)
            at[i]++;
        if (at[i] < r->niterations && r->iterations[at[i]].iteration <= next) {
            next = r->iterations[at[i]].iteration;
            found = true;
        }
    }
    return found ? next : 0;
}

/* Adds the slowest rank's times in the iteration, or outside of all if it is 0. Records that are
 * out of order count where they stand. */
static void join(struct tt_run_data *run, uint64_t iteration, size_t *at)
{
    double most[TT_NJOINT] = {0};

    for (size_t i = 0; i < run->nranks; i++) {
        const struct tt_rank_records *r = &run->ranks[i];
        double sum[TT_NJOINT] = {0};

        for (size_t k = 0; !iteration && k < r->niterations; k++)
            if (r->iterations[k].iteration == 0)
                add_joint(r->iterations[k].phase_ns, sum);
        for (; at[i] < r->niterations && r->iterations[at[i]].iteration <= iteration; at[i]++)
            if (iteration && r->iterations[at[i]].iteration)
                add_joint(r->iterations[at[i]].phase_ns, sum);
        for (int j = 0; j < TT_NJOINT; j++)
            most[j] = fmax(most[j], sum[j]);
    }
    for (int j = 0; j < TT_NJOINT; j++)
        run->joint[j] += most[j];
}

/* The slowest rank's times in all iterations together, also those that its node has reduced. */
static void join_apart(struct tt_run_data *run)
{
    for (size_t i = 0; i < run->nranks; i++) {
        double sum[TT_NJOINT] = {0};

        add_joint(run->ranks[i].totals.phase_ns, sum);
        for (size_t k = 0; k < run->ranks[i].niterations; k++)
            add_joint(run->ranks[i].iterations[k].phase_ns, sum);
        for (int j = 0; j < TT_NJOINT; j++)
            run->joint[j] = fmax(run->joint[j], sum[j]);
    }
}

int tt_join_iterations(struct tt_run_data *run, struct tt_error *e)
{
    size_t *at = calloc(run->nranks + 1, sizeof *at);
    uint64_t iteration = 0;

    if (!at)
        return tt_fail_nomem(e, "records");
    if (run->apart)
        join_apart(run);
    else
        do
            join(run, iteration, at);
        while ((iteration = next_iteration(run, at)) > 0);
    for (size_t i = 0; !run->apart && i < run->nreduced; i++)
        for (int j = 0; j < TT_NJOINT && run->reduced[i].iteration < TT_ITERATION_EXCLUDED; j++)
            run->joint[j] += 1e-9 * (double)run->reduced[i].joint_ns[j];
    free(at);
    return TT_OK;
}

/* ---- phases ---- */

static double seconds_in(const struct tt_iteration_record *r, int phase)
{
    return tt_seconds((int64_t)r->phase_ns[phase]);
}

static double worked(const struct tt_iteration_record *r)
{
    double ns[TT_NPHASES];

    for (int p = 0; p < TT_NPHASES; p++)
        ns[p] = (double)r->phase_ns[p];
    return tt_worked_ns(ns);
}

/* In these ranks wait for each other: what is more than the shortest is waiting for the last. */
static bool is_shared(int phase)
{
    return phase == TT_HALO || phase == TT_COLLECTIVE || phase == TT_OPEN || phase == TT_CLOSE ||
           phase == TT_OTHER;
}

/* The time of an iteration belongs to what the last rank to arrive was doing, the one that worked
 * longest. I/O itself is beside that: of it the slowest rank's counts. */
static double attributed(const struct tt_run_data *run, uint64_t iteration, int phase, size_t *at)
{
    double longest = -1, of_last = 0, least = INFINITY, most = 0;

    for (size_t i = 0; i < run->nranks; i++) {
        const struct tt_iteration_record *r = find(&run->ranks[i], iteration, &at[i]);
        double own = r ? worked(r) : -1, s = r ? seconds_in(r, phase) : 0;

        if (!r)
            continue;
        if (own > longest) {
            longest = own;
            of_last = s;
        }
        least = fmin(least, s);
        most = fmax(most, s);
    }
    if (!tt_phase_is_main(phase))
        return most;
    return is_shared(phase) && isfinite(least) ? least : of_last;
}

/* The same of what nodes have reduced. */
static double attributed_of(const struct tt_reduced *r, int phase)
{
    return 1e-9 * (double)(!tt_phase_is_main(phase) ? r->max_ns[phase]
                           : is_shared(phase)       ? r->min_ns[phase]
                                                    : r->last_ns[phase]);
}

/* Iterations in which each rank was the last; times has a place for each of run->ranks. */
static size_t count_last(const struct tt_run_data *run, uint32_t *times, size_t *at)
{
    const struct tt_rank_records *first = &run->ranks[0];
    size_t n = 0;

    for (size_t i = 0; i < first->niterations; i++) {
        uint64_t iteration = first->iterations[i].iteration;
        double longest = -1;
        size_t last = 0;

        for (size_t k = 0; iteration > 0 && k < run->nranks; k++) {
            const struct tt_iteration_record *r = find(&run->ranks[k], iteration, &at[k]);
            double own = r ? worked(r) : -1;

            last = own > longest ? k : last;
            longest = fmax(longest, own);
        }
        n += longest > 0;
        times[last] += longest > 0;
    }
    for (size_t i = 0; i < run->nreduced; i++) {
        const struct tt_reduced *r = &run->reduced[i];
        bool counts = r->iteration < TT_ITERATION_EXCLUDED && r->last < run->nranks &&
                      run->ranks[r->last].header.rank == r->last; /* all ranks are there */

        n += counts;
        if (counts)
            times[r->last]++;
    }
    return n;
}

json_t *tt_last_to_arrive(const struct tt_run_data *run)
{
    uint32_t *times = run->nranks > 1 ? calloc(run->nranks, sizeof *times) : NULL;
    size_t *at = calloc(run->nranks + 1, sizeof *at), most = 0, n;
    json_t *out = NULL;

    if (times && at && (n = count_last(run, times, at)) > 0) {
        for (size_t i = 0; i < run->nranks; i++)
            most = times[i] > times[most] ? i : most;
        out = json_pack("{s:I, s:I, s:I}", "rank", (json_int_t)run->ranks[most].header.rank,
                        "iterations", (json_int_t)times[most], "of", (json_int_t)n);
    }
    free(times);
    free(at);
    return out;
}

/* Outside of iterations, but within the measured time: files are opened before it and closed after
 * it, and neither makes the run any longer. */
static double slowest_between(const struct tt_run_data *run, int phase)
{
    double most = 0;

    for (size_t i = 0; i < run->nranks; i++) {
        const struct tt_rank_records *r = &run->ranks[i];
        double sum = 0;

        for (size_t k = 0; k < r->niterations; k++) {
            const struct tt_iteration_record *it = &r->iterations[k];

            if (it->iteration == 0 && it->start_ns >= 0 && it->start_ns < span_of(r))
                sum += tt_seconds((int64_t)it->phase_ns[phase]);
        }
        most = fmax(most, sum);
    }
    return most;
}

/* values has room for all iterations of rank 0, at for a number of each rank. */
static json_t *phase_json(const struct tt_run_data *run, int phase, double *values, size_t *at)
{
    const struct tt_rank_records *first = &run->ranks[0];
    double total = slowest_between(run, phase);
    size_t n = 0;

    memset(at, 0, run->nranks * sizeof *at);
    for (size_t i = 0; i < first->niterations; i++) {
        uint64_t iteration = first->iterations[i].iteration;
        double s = iteration > 0 ? attributed(run, iteration, phase, at) : 0;

        total += s;
        if (s > 0)
            values[n++] = s;
    }
    for (size_t i = 0; i < run->nreduced; i++) {
        double s = run->reduced[i].iteration < TT_ITERATION_EXCLUDED
                       ? attributed_of(&run->reduced[i], phase)
                       : 0;

        total += s;
        if (s > 0)
            values[n++] = s;
    }
    if (total == 0)
        return NULL;
    gsl_sort(values, 1, n);
    return json_pack("{s:f, s:f, s:f, s:I}", "median",
                     n ? gsl_stats_median_from_sorted_data(values, 1, n) : 0, "p99",
                     n ? gsl_stats_quantile_from_sorted_data(values, 1, n, 0.99) : 0, "total",
                     total, "iterations", (json_int_t)n);
}

json_t *tt_phase_times(const struct tt_run_data *run)
{
    size_t n = (run->nranks ? run->ranks[0].niterations : 0) + run->nreduced, *at;
    double *values = malloc((n + 1) * sizeof *values);
    json_t *out = json_object();
    int bad = 0;

    at = malloc((run->nranks + 1) * sizeof *at);
    for (int p = 0; p < TT_NPHASES && run->nranks && values && at; p++) {
        json_t *times = phase_json(run, p, values, at);

        if (times)
            bad |= json_object_set_new(out, tt_phase_names[p], times);
    }
    bad |= !values || !at;
    free(values);
    free(at);
    return tt_json_unless(bad, out);
}
