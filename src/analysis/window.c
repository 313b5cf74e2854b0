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
    int64_t start = r->header.start_wall_ns;

    if (r->niterations && __builtin_sub_overflow(start, r->iterations[0].start_ns, &start))
        start = r->header.start_wall_ns;
    return start;
}

static int64_t span_of(const struct tt_rank_records *r)
{
    int64_t span;

    return tt_rank_span(r, &span) && span > 0 ? span : 0;
}

struct work {
    double iterations, written, read, communicated;
};

static void add_part(const struct tt_rank_records *r, const struct tt_window *w, struct work *sum)
{
    int64_t start = start_of(r);

    for (size_t i = 0; i < r->niterations; i++) {
        const struct tt_iteration_record *it = &r->iterations[i];
        int64_t from = later(start, it->start_ns), to = later(from, it->span_ns);
        int64_t first = from > w->from_ns ? from : w->from_ns, last = to < w->to_ns ? to : w->to_ns;
        double part = last > first ? span(first, last) / span(from, to) : 0;

        if (r->header.rank == 0 && it->iteration > 0)
            sum->iterations += part;
        sum->written += part * (double)it->bytes_written;
        sum->read += part * (double)it->bytes_read;
        sum->communicated += part * (double)it->bytes_communicated;
    }
}

json_t *tt_window_work(const struct tt_run_data *run, const struct tt_window *w)
{
    struct work sum = {0};

    for (size_t i = 0; i < run->nranks; i++)
        add_part(&run->ranks[i], w, &sum);
    return json_pack("{s:f, s:f, s:f, s:f}", "iterations", sum.iterations, "bytes_written",
                     sum.written, "bytes_read", sum.read, "bytes_communicated", sum.communicated);
}

/* ---- phases ---- */

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

static double slowest(const struct tt_run_data *run, uint64_t iteration, int phase, size_t *at)
{
    double most = 0;

    for (size_t i = 0; i < run->nranks; i++) {
        const struct tt_iteration_record *r = find(&run->ranks[i], iteration, &at[i]);

        if (r)
            most = fmax(most, tt_seconds((int64_t)r->phase_ns[phase]));
    }
    return most;
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

/* values has room for the iterations of rank 0, at for a number of each rank. */
static json_t *phase_json(const struct tt_run_data *run, int phase, double *values, size_t *at)
{
    const struct tt_rank_records *first = &run->ranks[0];
    double total = slowest_between(run, phase);
    size_t n = 0;

    memset(at, 0, run->nranks * sizeof *at);
    for (size_t i = 0; i < first->niterations; i++) {
        uint64_t iteration = first->iterations[i].iteration;
        double s = iteration > 0 ? slowest(run, iteration, phase, at) : 0;

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
    size_t n = run->nranks ? run->ranks[0].niterations : 0, *at;
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
