/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/idle_waves.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_fit.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>

#include "analysis/run_data.h"

#define DEVIATIONS 6.0
#define OF_ITERATION 0.1 /* least excess, as a part of the median iteration */
#define OF_SEED 0.25     /* least excess of a cell, as a part of the hottest one's */
#define BESIDE 0.5       /* weight of a cell that is one iteration off its line */
#define CERTAIN 0.25     /* largest error of a speed, as a part of it */
#define STALLED 0.6      /* of the ranks */
#define MOST_GAP 2      /* ranks on a front that waited elsewhere, for rank 0's word for instance */
#define MOST_SPARSE 8   /* iterations per record; of damaged records any number may come */
#define LEAST_RANKS 4   /* with fewer nobody can tell a wave from a stall */
#define LEAST_CELLS 3   /* of a front alone; of two that meet 2 each */
#define MOST_SEEDS 2000 /* in a run full of noise */
#define MAD_TO_DEVIATION 1.4826

/* Iterations that a front needs for one rank. */
static const double slopes[] = {0.2, 0.25, 1.0 / 3, 0.5, 0.75, 1, 1.5, 2};

struct search {
    const struct tt_wait_matrix *m;
    float *excess;                       /* of cells that are hot and in no wave yet, else 0 */
    double *row;                         /* a rank's worth of numbers, or an iteration's */
    double *wait_medians, *busy_medians; /* per rank */
    size_t *seeds, nseeds;
    struct cell {
        double rank, iteration; /* rank: beyond the last one it is not wrapped */
        double excess, weight;
    } * cells; /* of the front at hand; behind them room for another */
};

static float at(const float *of, const struct search *s, size_t rank, size_t iteration)
{
    return of[rank * s->m->iterations + iteration];
}

/* ---- which cells are hot ---- */

/* Median of what a rank has recorded; *deviation may be NULL. */
static double robust_median(struct search *s, const float *row, double *deviation)
{
    size_t n = 0;
    double median;

    for (size_t i = 0; i < s->m->iterations; i++)
        if (isfinite(row[i]))
            s->row[n++] = row[i];
    if (n == 0)
        return 0;
    gsl_sort(s->row, 1, n);
    median = gsl_stats_median_from_sorted_data(s->row, 1, n);
    if (!deviation)
        return median;
    for (size_t i = 0; i < n; i++)
        s->row[i] = fabs(s->row[i] - median);
    gsl_sort(s->row, 1, n);
    *deviation = MAD_TO_DEVIATION * gsl_stats_median_from_sorted_data(s->row, 1, n);
    return median;
}

static void find_hot(struct search *s)
{
    const struct tt_wait_matrix *m = s->m;

    for (size_t r = 0; r < m->ranks; r++) {
        const float *wait = m->wait + r * m->iterations;
        double deviation = 0, least;

        s->wait_medians[r] = robust_median(s, wait, &deviation);
        s->busy_medians[r] = m->busy ? robust_median(s, m->busy + r * m->iterations, NULL) : 0;
        least =
            fmax(DEVIATIONS * deviation, OF_ITERATION * (s->wait_medians[r] + s->busy_medians[r]));
        for (size_t i = 0; i < m->iterations; i++) {
            double excess = wait[i] - s->wait_medians[r];

            if (excess > least && excess > 0)
                s->excess[r * m->iterations + i] = (float)excess;
        }
    }
}

static int by_seconds(const void *a, const void *b)
{
    double x = ((const struct tt_stall *)a)->seconds, y = ((const struct tt_stall *)b)->seconds;

    return (x < y) - (x > y);
}

/* Keeps the longest ones: a new one takes the place of the last. */
static void add_stall(struct tt_idle_waves *out, const struct tt_stall *stall)
{
    if (out->nstalls < TT_MOST_IDLE_WAVES)
        out->stalls[out->nstalls++] = *stall;
    else if (stall->seconds > out->stalls[out->nstalls - 1].seconds)
        out->stalls[out->nstalls - 1] = *stall;
    qsort(out->stalls, out->nstalls, sizeof *out->stalls, by_seconds);
}

/* Cells of a stall are hot no more. */
static void find_stalls(struct search *s, struct tt_idle_waves *out)
{
    for (size_t i = 0; i < s->m->iterations; i++) {
        size_t n = 0;

        for (size_t r = 0; r < s->m->ranks; r++)
            if (at(s->excess, s, r, i) > 0)
                s->row[n++] = at(s->excess, s, r, i);
        if (n < LEAST_RANKS || (double)n < STALLED * (double)s->m->ranks)
            continue;
        gsl_sort(s->row, 1, n);
        add_stall(out, &(struct tt_stall){i, n, gsl_stats_median_from_sorted_data(s->row, 1, n)});
        for (size_t r = 0; r < s->m->ranks; r++)
            s->excess[r * s->m->iterations + i] = 0;
    }
}

static int by_excess(const void *a, const void *b, void *excess)
{
    float x = ((float *)excess)[*(const size_t *)a], y = ((float *)excess)[*(const size_t *)b];

    if (x != y)
        return x < y ? 1 : -1;
    return *(const size_t *)a < *(const size_t *)b ? -1 : 1;
}

static int list_seeds(struct search *s)
{
    size_t n = s->m->ranks * s->m->iterations;

    for (size_t i = 0; i < n; i++)
        s->nseeds += s->excess[i] > 0;
    s->seeds = malloc((s->nseeds + 1) * sizeof *s->seeds);
    if (!s->seeds)
        return -1;
    s->nseeds = 0;
    for (size_t i = 0; i < n; i++)
        if (s->excess[i] > 0)
            s->seeds[s->nseeds++] = i;
    qsort_r(s->seeds, s->nseeds, sizeof *s->seeds, by_excess, s->excess);
    return 0;
}

/* ---- a front ---- */

struct line {
    size_t rank, iteration; /* the seed */
    int direction;          /* 1: to higher ranks, -1 */
    double slope;           /* iterations a rank */
    double least;           /* excess */
    bool certain;           /* the slope is known from elsewhere */
};

static size_t wrapped(const struct search *s, double rank)
{
    long n = (long)s->m->ranks, r = lround(rank) % n;

    return (size_t)(r < 0 ? r + n : r);
}

/* The hot cell of that rank on the line, or within one iteration of it, and not outside of the
 * given iterations: a front never goes back in time. */
static bool find_cell(const struct search *s, const struct line *l, long hops, long earliest,
                      long latest, struct cell *found)
{
    long middle = lround((double)l->iteration + (double)hops * l->slope);
    size_t rank;

    *found = (struct cell){.rank = (double)l->rank + (double)(hops * l->direction)};
    rank = wrapped(s, found->rank);
    for (int beside = 0; beside < 3; beside++) { /* on it, before, behind */
        long i = middle + (beside == 2 ? 1 : -beside);

        if (i < earliest || i > latest || i < 0 || (size_t)i >= s->m->iterations ||
            at(s->excess, s, rank, (size_t)i) < l->least ||
            at(s->excess, s, rank, (size_t)i) <= found->excess)
            continue;
        found->iteration = (double)i;
        found->excess = at(s->excess, s, rank, (size_t)i);
        found->weight = found->excess * (beside ? BESIDE : 1);
    }
    return found->excess > 0;
}

/* The next cell after the last of n, forwards in time or backwards; ring: also past the last rank.
 * Behind a gap it must be in another iteration: on the other side of the origin it is not. */
static bool find_next(struct search *s, const struct line *l, size_t n, bool forwards, bool ring)
{
    const struct cell *last = &s->cells[n - 1];
    int most = !ring && (n >= LEAST_CELLS || l->certain) ? MOST_GAP : 0;

    for (int gap = 0; gap <= most; gap++) {
        double next = last->rank + (1 + gap) * (forwards ? l->direction : -l->direction);
        long hops = lround(next - (double)l->rank) * l->direction;
        long bound = (long)last->iteration + (!gap ? 0 : forwards ? 1 : -1);

        if (!ring && (next < 0 || next >= (double)s->m->ranks))
            return false;
        if (find_cell(s, l, hops, forwards ? bound : 0, forwards ? LONG_MAX : bound, &s->cells[n]))
            return true;
    }
    return false;
}

static size_t follow_on(struct search *s, const struct line *l, size_t n, bool forwards, bool ring)
{
    while (n < s->m->ranks && find_next(s, l, n, forwards, ring))
        n++;
    return n;
}

static void reverse(struct search *s, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        struct cell other = s->cells[i];

        s->cells[i] = s->cells[n - 1 - i];
        s->cells[n - 1 - i] = other;
    }
}

/* Follows the line from its seed, backwards and forwards in time, up to where no rank has such a
 * cell. Fills s->cells from the earliest on; the sum of their weights. A front that has come
 * to the last rank may look as if it went on at the first one, where the other front is: past that
 * rank it is followed later. */
static double follow(struct search *s, const struct line *l, size_t *ncells)
{
    double sum = 0;

    *ncells = 0;
    if (!find_cell(s, l, 0, 0, LONG_MAX, &s->cells[0]))
        return 0;
    *ncells = follow_on(s, l, 1, false, false);
    reverse(s, *ncells);
    *ncells = follow_on(s, l, *ncells, true, false);
    if (s->cells[*ncells - 1].iteration > s->cells[0].iteration) {
        reverse(s, *ncells);
        *ncells = follow_on(s, l, *ncells, false, true);
        reverse(s, *ncells);
    }
    for (size_t i = 0; i < *ncells; i++)
        sum += s->cells[i].weight;
    return sum;
}

/* The rank that is late may itself wait in that iteration: such a cell stands beside the line that
 * the others make, since its neighbour waits at the same time. */
static bool begins_with_origin(const struct search *s, size_t n)
{
    double rest = n > 2 ? (s->cells[n - 1].iteration - s->cells[1].iteration) / (double)(n - 2) : 0;

    return n > LEAST_CELLS && rest > 0.75 && s->cells[1].iteration == s->cells[0].iteration;
}

static void fit(struct search *s, size_t n, struct tt_idle_front *f)
{
    size_t skip = begins_with_origin(s, n) ? 1 : 0, stride = sizeof *s->cells / sizeof(double);
    double c0, slope = 0, c00, c01, c11 = 0, squares = 0, mean = 0, total = 0;

    n -= skip;
    if (n > 1)
        gsl_fit_linear(&s->cells[skip].rank, stride, &s->cells[skip].iteration, stride, n, &c0,
                       &slope, &c00, &c01, &c11, &squares);
    for (size_t i = 0; i < n; i++)
        mean += s->cells[skip + i].iteration / (double)n;
    for (size_t i = 0; i < n; i++)
        total += pow(s->cells[skip + i].iteration - mean, 2);
    *f = (struct tt_idle_front){
        .cells = n,
        .hops = (size_t)lround(fabs(s->cells[skip + n - 1].rank - s->cells[skip].rank)),
        .speed = slope ? 1 / fabs(slope) : 0,
        .error = n > 2 && slope ? sqrt(fmax(c11, 0)) / (slope * slope) : 0,
        .r2 = total > 0 ? 1 - squares / total : 0,
        .first = wrapped(s, s->cells[skip].rank),
        .last = wrapped(s, s->cells[skip + n - 1].rank),
        .from = (size_t)s->cells[skip].iteration,
        .to = (size_t)s->cells[skip + n - 1].iteration,
    };
}

/* The best line of a direction through the seed; its cells stay in s->cells, *ncells of them. */
static double best_line(struct search *s, struct line *l, size_t *ncells)
{
    double best = 0, slope = 0;

    for (size_t i = 0; i < sizeof slopes / sizeof *slopes; i++) {
        double sum;

        l->slope = slopes[i];
        sum = follow(s, l, ncells);
        if (sum > best * 1.001) {
            best = sum;
            slope = slopes[i];
        }
    }
    l->slope = slope;
    return follow(s, l, ncells);
}

/* From `from` on the cells are in no other wave; their excess goes to s->row. */
static void use_cells(struct search *s, size_t from, size_t n, size_t *nvalues)
{
    for (size_t i = from; i < n; i++) {
        s->row[(*nvalues)++] = s->cells[i].excess;
        s->excess[wrapped(s, s->cells[i].rank) * s->m->iterations + (size_t)s->cells[i].iteration] =
            0;
    }
}

/* ---- a wave ---- */

/* The first cell of the other front: beside the rank before the first one's first cell, or that
 * rank itself, in about the same iteration. */
static bool find_other_seed(const struct search *s, const struct line *l,
                            const struct tt_idle_front *front, struct line *other)
{
    *other = (struct line){front->first, front->from, -l->direction, l->slope, l->least};
    for (long hops = 1; hops <= 3; hops++) {
        struct line level = {front->first, front->from, -l->direction, 0, l->least};
        struct cell found;

        if (find_cell(s, &level, hops, 0, LONG_MAX, &found)) {
            other->rank = wrapped(s, found.rank);
            other->iteration = (size_t)found.iteration;
            return true;
        }
    }
    return false;
}

/* Of a rank that was late, in which of the two iterations before its neighbour waited, or in the
 * same one: the time that it worked, or waited, longer than usual. */
static double find_cause(const struct search *s, const float *of, const double *medians,
                         size_t rank, size_t neighbour, size_t *iteration)
{
    double best = 0;

    for (size_t i = neighbour > 2 ? neighbour - 2 : 0; of && i <= neighbour; i++)
        if (at(of, s, rank, i) - medians[rank] > best) {
            best = at(of, s, rank, i) - medians[rank];
            *iteration = i;
        }
    return best;
}

/* Whether something of the wave is on both ends of the ranks, as on a ring. */
static bool is_around(const struct search *s, const struct tt_idle_wave *w)
{
    const struct tt_idle_front *up = &w->fronts[TT_UPWARDS], *down = &w->fronts[TT_DOWNWARDS];

    return (up->cells && up->last < up->first) || (down->cells && down->last > down->first) ||
           (up->cells && down->cells &&
            labs((long)up->first - (long)down->first) > (long)s->m->ranks / 2);
}

/* Who worked longer than usual, of the ranks before the first front's first cell. */
static bool find_late_worker(const struct search *s, int direction, size_t first, size_t neighbour,
                             struct tt_idle_wave *w)
{
    double best = w->seconds / 2;
    bool found = false;

    for (int hops = 0; hops <= 2; hops++) {
        double rank = (double)first - hops * direction;
        size_t iteration = 0;
        double late;

        if ((rank < 0 || rank >= (double)s->m->ranks) && !is_around(s, w))
            break;
        late = find_cause(s, s->m->busy, s->busy_medians, wrapped(s, rank), neighbour, &iteration);
        if (late <= best)
            continue;
        best = late;
        w->rank = wrapped(s, rank);
        w->iteration = iteration;
        found = true;
    }
    return found;
}

/* A rank that was late without working waited for something else than its neighbours: it is the one
 * between the fronts, or the one with which they begin, or nobody knows. */
static void find_origin(const struct search *s, int direction, struct tt_idle_wave *w)
{
    const struct tt_idle_front *first = &w->fronts[direction > 0 ? TT_UPWARDS : TT_DOWNWARDS],
                               *other = &w->fronts[direction > 0 ? TT_DOWNWARDS : TT_UPWARDS];
    size_t neighbour = other->cells && other->from < first->from ? other->from : first->from;
    bool adjacent = other->cells && wrapped(s, (double)first->first - direction) == other->first;
    double before = (double)first->first - direction;

    if (find_late_worker(s, direction, first->first, neighbour, w))
        return;
    if (adjacent)
        before = (double)(other->from < first->from ? other->first : first->first);
    else if (!other->cells && (s->m->busy || before < 0 || before >= (double)s->m->ranks))
        before = (double)first->first; /* the one before it did nothing to explain it */
    w->rank = wrapped(s, before);
    w->iteration = neighbour;
    find_cause(s, s->m->wait, s->wait_medians, w->rank, neighbour, &w->iteration);
}

static bool is_front(const struct tt_idle_front *f, size_t least)
{
    return f->cells >= least && f->to > f->from && f->speed > 0 && f->error <= CERTAIN * f->speed;
}

static int compare_waves(const void *a, const void *b)
{
    double x = ((const struct tt_idle_wave *)a)->seconds;
    double y = ((const struct tt_idle_wave *)b)->seconds;

    return (x < y) - (x > y);
}

/* The line through the seed that has most. */
static double best_direction(struct search *s, size_t seed, struct line *best, size_t *ncells)
{
    double most = 0;

    for (int direction = 1; direction >= -1; direction -= 2) {
        struct line l = {seed / s->m->iterations, seed % s->m->iterations, direction, 0,
                         OF_SEED * s->excess[seed]};
        double sum = best_line(s, &l, ncells);

        if (sum > most) {
            most = sum;
            *best = l;
        }
    }
    return follow(s, best, ncells);
}

/* Past the end of a ring, when both fronts are known; a single cell there may be chance. */
static void extend(struct search *s, const struct line *l, size_t n, struct tt_idle_front *front,
                   size_t *nvalues)
{
    size_t more = follow_on(s, l, n, true, true);

    if (more < n + 2)
        return;
    use_cells(s, n, more, nvalues);
    fit(s, more, front);
}

/* The front that began where this one did. */
static size_t find_other(struct search *s, const struct line *l, const struct tt_idle_front *first,
                         struct line *other, struct tt_idle_front *front)
{
    size_t n = 0;

    if (!find_other_seed(s, l, first, other))
        return 0;
    best_line(s, other, &n);
    if (n < LEAST_CELLS) { /* too few for a speed of its own */
        other->slope = l->slope;
        other->certain = true;
        follow(s, other, &n);
    }
    fit(s, n, front);
    if (n > 1 && !is_front(front, 2)) {
        *front = (struct tt_idle_front){0};
        n = 0;
    }
    return n;
}

/* Through this cell, if there is one. */
static bool find_wave(struct search *s, size_t seed, struct tt_idle_wave *w)
{
    struct cell *own = s->cells, *others = s->cells + s->m->ranks;
    struct tt_idle_front first, second = {0};
    size_t n, nother, nvalues = 0;
    struct line line, other;
    bool up;

    best_direction(s, seed, &line, &n);
    fit(s, n, &first);
    if (!is_front(&first, 2))
        return false;
    use_cells(s, 0, n, &nvalues);
    s->cells = others;
    nother = find_other(s, &line, &first, &other, &second);
    use_cells(s, 0, nother, &nvalues);
    if (nother)
        extend(s, &other, nother, &second, &nvalues);
    s->cells = own;
    extend(s, &line, n, &first, &nvalues);
    if (first.cells < LEAST_CELLS && second.cells < 2)
        return false;
    gsl_sort(s->row, 1, nvalues);
    *w = (struct tt_idle_wave){.seconds = gsl_stats_median_from_sorted_data(s->row, 1, nvalues)};
    up = line.direction > 0;
    w->fronts[up ? TT_UPWARDS : TT_DOWNWARDS] = first;
    w->fronts[up ? TT_DOWNWARDS : TT_UPWARDS] = second;
    find_origin(s, line.direction, w);
    return true;
}

/* Seeds come with the hottest first, so what is found first is what waited longest, or nearly. */
static void find_waves(struct search *s, struct tt_idle_waves *out)
{
    for (size_t i = 0; i < s->nseeds && i < MOST_SEEDS && out->nwaves < TT_MOST_IDLE_WAVES; i++)
        if (s->excess[s->seeds[i]] > 0 && find_wave(s, s->seeds[i], &out->waves[out->nwaves]))
            out->nwaves++;
    qsort(out->waves, out->nwaves, sizeof *out->waves, compare_waves);
}

int tt_idle_waves_find(const struct tt_wait_matrix *m, struct tt_idle_waves *out,
                       struct tt_error *e)
{
    size_t longest = 2 * m->ranks > m->iterations ? 2 * m->ranks : m->iterations;
    struct search s = {.m = m};
    int rc = TT_OK;

    *out = (struct tt_idle_waves){0};
    if (m->ranks < LEAST_RANKS || m->iterations < LEAST_CELLS)
        return TT_OK;
    s.excess = calloc(m->ranks * m->iterations, sizeof *s.excess);
    s.row = malloc(longest * sizeof *s.row);
    s.wait_medians = malloc(m->ranks * sizeof *s.wait_medians);
    s.busy_medians = malloc(m->ranks * sizeof *s.busy_medians);
    s.cells = malloc(2 * m->ranks * sizeof *s.cells);
    if (s.excess && s.row && s.wait_medians && s.busy_medians && s.cells) {
        find_hot(&s);
        find_stalls(&s, out);
        if (list_seeds(&s) == 0)
            find_waves(&s, out);
        else
            rc = tt_fail_nomem(e, "idle waves");
    } else {
        rc = tt_fail_nomem(e, "idle waves");
    }
    free(s.excess);
    free(s.row);
    free(s.wait_medians);
    free(s.busy_medians);
    free(s.seeds);
    free(s.cells);
    return rc;
}

/* ---- of a run ---- */

/* The record of a rank in that iteration, or NULL. */
static const struct tt_iteration_record *record_of(const struct tt_rank_records *r,
                                                   uint64_t iteration)
{
    for (size_t i = 0; i < r->niterations; i++)
        if (r->iterations[i].iteration == iteration)
            return &r->iterations[i];
    return NULL;
}

/* Cells are allowed for a number of records, of which damaged ones may tell of any iteration. */
static bool is_dense(const struct tt_run_data *run, uint64_t iterations)
{
    uint64_t records = 0;

    for (size_t r = 0; r < run->nranks; r++)
        records += run->ranks[r].niterations + run->ranks[r].nexcluded;
    return run->nranks > 0 && iterations / MOST_SPARSE <= records / run->nranks;
}

/* How far all ranks have records of their own. What came after the loop is a record, too. */
static uint64_t last_iteration(const struct tt_run_data *run)
{
    uint64_t last = run->nreduced ? tt_run_data_whole(run) : UINT64_MAX;

    for (size_t r = 0; r < run->nranks; r++) {
        const struct tt_rank_records *rank = &run->ranks[r];
        size_t n = rank->niterations;

        while (n > 0 && rank->iterations[n - 1].iteration == 0)
            n--;
        if (n == 0 || rank->iterations[n - 1].iteration < last)
            last = n ? rank->iterations[n - 1].iteration : 0;
    }
    return last == UINT64_MAX ? 0 : last;
}

int tt_wait_matrix_of(const struct tt_run_data *run, struct tt_wait_matrix *m, struct tt_error *e)
{
    uint64_t last = last_iteration(run);

    *m = (struct tt_wait_matrix){0};
    if (last == 0 || !is_dense(run, last))
        return TT_OK;
    m->wait = malloc(run->nranks * last * sizeof *m->wait);
    m->busy = malloc(run->nranks * last * sizeof *m->busy);
    if (!m->wait || !m->busy) {
        tt_wait_matrix_free(m);
        return tt_fail_nomem(e, "idle waves");
    }
    m->ranks = run->nranks;
    m->iterations = last;
    for (size_t i = 0; i < m->ranks * m->iterations; i++)
        m->wait[i] = m->busy[i] = NAN;
    for (size_t r = 0; r < run->nranks; r++)
        for (size_t i = 0; i < run->ranks[r].niterations; i++) {
            const struct tt_iteration_record *it = &run->ranks[r].iterations[i];
            size_t cell = r * last + it->iteration - 1;

            if (it->iteration == 0 || it->iteration > last)
                continue;
            m->wait[cell] = (float)(tt_waited_ns(it) * 1e-9);
            m->busy[cell] = (float)(((double)it->span_ns - tt_waited_ns(it)) * 1e-9);
        }
    return TT_OK;
}

void tt_wait_matrix_free(struct tt_wait_matrix *m)
{
    free(m->wait);
    free(m->busy);
    *m = (struct tt_wait_matrix){0};
}

/* When a rank had done an iteration, after the start of the measured time. */
static double end_of(const struct tt_run_data *run, size_t rank, size_t iteration)
{
    const struct tt_iteration_record *it = record_of(&run->ranks[rank], iteration + 1);

    return it ? ((double)it->start_ns + (double)it->span_ns) * 1e-9 : NAN;
}

static json_t *describe_front(const struct tt_run_data *run, const struct tt_idle_front *f)
{
    double took = end_of(run, f->last, f->to) - end_of(run, f->first, f->from);
    json_t *o;

    if (f->cells == 0)
        return json_null();
    o = json_pack("{s:I, s:I, s:I, s:I, s:I}", "ranks", (json_int_t)f->cells, "first_rank",
                  (json_int_t)run->ranks[f->first].header.rank, "first_iteration",
                  (json_int_t)f->from + 1, "last_rank", (json_int_t)run->ranks[f->last].header.rank,
                  "last_iteration", (json_int_t)f->to + 1);
    if (o && f->speed > 0) {
        json_object_set_new(o, "speed", json_real(f->speed));
        json_object_set_new(o, "speed_error", json_real(f->error));
        json_object_set_new(o, "r2", json_real(f->r2));
        if (took > 0)
            json_object_set_new(o, "ranks_per_second", json_real((double)f->hops / took));
    }
    return o;
}

static json_t *describe(const struct tt_run_data *run, const struct tt_idle_waves *found)
{
    json_t *o = json_pack("{s:[], s:[]}", "waves", "stalls");

    for (size_t i = 0; o && i < found->nwaves; i++) {
        const struct tt_idle_wave *w = &found->waves[i];
        const struct tt_iteration_record *it = record_of(&run->ranks[w->rank], w->iteration + 1);

        json_array_append_new(
            json_object_get(o, "waves"),
            json_pack("{s:I, s:I, s:f, s:f, s:o, s:o}", "rank",
                      (json_int_t)run->ranks[w->rank].header.rank, "iteration",
                      (json_int_t)w->iteration + 1, "start", it ? (double)it->start_ns * 1e-9 : 0.0,
                      "seconds", w->seconds, "up", describe_front(run, &w->fronts[TT_UPWARDS]),
                      "down", describe_front(run, &w->fronts[TT_DOWNWARDS])));
    }
    for (size_t i = 0; o && i < found->nstalls; i++)
        json_array_append_new(json_object_get(o, "stalls"),
                              json_pack("{s:I, s:I, s:f}", "iteration",
                                        (json_int_t)found->stalls[i].iteration + 1, "ranks",
                                        (json_int_t)found->stalls[i].ranks, "seconds",
                                        found->stalls[i].seconds));
    return o;
}

int tt_idle_waves_of(const struct tt_run_data *run, json_t **found, struct tt_error *e)
{
    struct tt_idle_waves waves;
    struct tt_wait_matrix m;
    int rc;

    *found = NULL;
    if (run->apart || run->nranks != run->size) /* nobody waits, or nobody knows for whom */
        return TT_OK;
    rc = tt_wait_matrix_of(run, &m, e);
    if (rc == TT_OK)
        rc = tt_idle_waves_find(&m, &waves, e);
    if (rc == TT_OK && (waves.nwaves || waves.nstalls) && !(*found = describe(run, &waves)))
        rc = tt_fail_nomem(e, "idle waves");
    tt_wait_matrix_free(&m);
    return rc;
}
