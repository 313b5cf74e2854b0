/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Epochs joined over ranks, what baseline epochs take off a run, and the figures that hidden
 * fraction and inflation stand on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/run_data.h"
#include "analysis/statistics.h"
#include "base/clock.h"

#define MOST_DRAWN 200 /* epochs, or means of as many neighbours as it takes, in a resample */

static int by_number(const void *a, const void *b)
{
    uint64_t x = ((const struct tt_epoch_record *)a)->epoch;
    uint64_t y = ((const struct tt_epoch_record *)b)->epoch;

    return (x > y) - (x < y);
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* One more rank's record of an epoch; *n counts them. */
static void join(struct tt_epoch *out, size_t *n, const struct tt_epoch_record *r)
{
    bool baseline = r->kind == TT_EPOCH_BASELINE || r->kind == TT_EPOCH_BASELINE_INSIDE;
    bool settling = r->kind == TT_EPOCH_SETTLING;
    double io = tt_seconds(r->io_ns) + tt_seconds(r->files_ns);

    if ((*n)++ == 0)
        *out = (struct tt_epoch){.number = r->epoch,
                                 .baseline = baseline,
                                 .settling = settling,
                                 .iterations = r->iterations,
                                 .complete = true};
    out->span = larger(out->span, tt_seconds(r->span_ns));
    out->compute = larger(out->compute, tt_seconds(r->compute_ns));
    out->write = larger(out->write, tt_seconds(r->io_ns));
    if (io >= out->io) { /* a part of the same rank's */
        out->io = io;
        out->staging = tt_seconds(r->staging_ns);
    }
    out->rest = larger(out->rest, tt_seconds(r->span_ns) - tt_seconds(r->visible_ns));
    out->visible = larger(out->visible, tt_seconds(r->visible_ns));
    out->helper_cpu = larger(out->helper_cpu, tt_seconds(r->helper_cpu_ns));
    out->copy = larger(out->copy, tt_seconds(r->copy_ns));
    out->bytes += (double)r->bytes;
    if (r->iterations != out->iterations || baseline != out->baseline || settling != out->settling)
        out->complete = false;
}

/* The same of what a node has reduced. */
static void join_reduced(struct tt_epoch *out, size_t *n, const struct tt_reduced_epoch *r)
{
    int64_t files = __builtin_sub_overflow(r->io_ns, r->write_ns, &files) ? 0 : files;
    struct tt_epoch_record like = {.epoch = r->epoch,
                                   .kind = r->kind,
                                   .iterations = r->iterations,
                                   .span_ns = r->span_ns,
                                   .compute_ns = r->compute_ns,
                                   .io_ns = r->write_ns,
                                   .files_ns = files,
                                   .visible_ns = r->visible_ns,
                                   .helper_cpu_ns = r->helper_cpu_ns,
                                   .staging_ns = r->staging_ns,
                                   .copy_ns = r->copy_ns,
                                   .bytes = r->bytes};

    join(out, n, &like);
    *n += r->ranks - 1;
    out->rest = larger(out->rest, tt_seconds(r->rest_ns));
    out->complete = out->complete && !r->differs;
}

/* Epochs in their order, and how many ranks each has. */
struct joined {
    size_t n;
    struct tt_epoch *list;
    size_t *ranks;
};

static void free_joined(struct joined *j)
{
    free(j->list);
    free(j->ranks);
    *j = (struct joined){0};
}

/* Two lists in order become one: memory is taken for epochs only, however many ranks there are. */
static bool join_rank(struct joined *all, struct tt_rank_records *r)
{
    struct joined next = {0};
    size_t most = all->n + r->nepochs, i = 0, k = 0;

    if (r->nepochs == 0)
        return true;
    qsort(r->epochs, r->nepochs, sizeof *r->epochs, by_number);
    next.list = malloc(most * sizeof *next.list);
    next.ranks = calloc(most, sizeof *next.ranks);
    if (!next.list || !next.ranks) {
        free_joined(&next);
        return false;
    }
    while (i < all->n || k < r->nepochs) {
        uint64_t number = i < all->n ? all->list[i].number : r->epochs[k].epoch;
        size_t to = next.n++;

        if (k < r->nepochs && r->epochs[k].epoch < number)
            number = r->epochs[k].epoch;
        if (i < all->n && all->list[i].number == number) {
            next.list[to] = all->list[i];
            next.ranks[to] = all->ranks[i++];
        }
        for (; k < r->nepochs && r->epochs[k].epoch == number; k++)
            join(&next.list[to], &next.ranks[to], &r->epochs[k]);
    }
    free_joined(all);
    *all = next;
    return true;
}

static int by_epoch(const void *a, const void *b)
{
    uint64_t x = ((const struct tt_reduced_epoch *)a)->epoch;
    uint64_t y = ((const struct tt_reduced_epoch *)b)->epoch;

    return (x > y) - (x < y);
}

/* Those that nodes have reduced come after the others. */
static bool join_nodes(struct joined *all, struct tt_run_data *run)
{
    size_t most = all->n + run->nreduced_epochs;
    struct tt_epoch *list;
    size_t *ranks;

    if (run->nreduced_epochs == 0)
        return true;
    qsort(run->reduced_epochs, run->nreduced_epochs, sizeof *run->reduced_epochs, by_epoch);
    list = realloc(all->list, most * sizeof *list);
    all->list = list ? list : all->list;
    ranks = list ? realloc(all->ranks, most * sizeof *ranks) : NULL;
    if (!ranks)
        return false;
    all->ranks = ranks;
    for (size_t i = 0; i < run->nreduced_epochs; i++) {
        const struct tt_reduced_epoch *r = &run->reduced_epochs[i];

        if (r->ranks == 0)
            continue;
        if (all->n == 0 || list[all->n - 1].number != r->epoch)
            ranks[all->n++] = 0;
        join_reduced(&list[all->n - 1], &ranks[all->n - 1], r);
    }
    return true;
}

/* Epochs that computed as much and wrote as much can be compared; and an epoch with no computation
 * after its dump shows nothing. */
static bool same_work(const struct tt_epoch *a, const struct tt_epoch *b)
{
    return a->complete && b->complete && a->iterations > 0 && a->iterations == b->iterations &&
           a->bytes == b->bytes;
}

/* Where nothing can run beside the I/O, there is no difference. */
static bool counts_as(const struct tt_run_data *run, const struct tt_epoch *e, bool baseline)
{
    return (e->baseline == baseline && !e->settling) || tt_run_data_is_serial(run);
}

static void count(const struct tt_run_data *run, const struct tt_epoch *like, size_t *overlapped,
                  size_t *baselines)
{
    *overlapped = *baselines = 0;
    for (size_t i = 0; i < run->nepochs; i++)
        if (same_work(&run->epochs[i], like)) {
            *overlapped += counts_as(run, &run->epochs[i], false);
            *baselines += counts_as(run, &run->epochs[i], true);
        }
}

/* The kind of epoch that says most: with the most pairs of overlapped and baseline epochs, and
 * among those the most frequent. A series whose epochs are all different is not searched for long.
 */
static const struct tt_epoch *most_telling(const struct tt_run_data *run)
{
    const struct tt_epoch *best = NULL;
    size_t best_pairs = 0, best_all = 0;
    size_t candidates = run->nepochs < 64 ? run->nepochs : 64;

    for (size_t i = 0; i < candidates; i++) {
        const struct tt_epoch *like = &run->epochs[run->nepochs * i / candidates];
        size_t overlapped, baselines, pairs, all;

        count(run, like, &overlapped, &baselines);
        pairs = overlapped < baselines ? overlapped : baselines;
        all = overlapped + baselines;
        if (pairs > best_pairs || (pairs == best_pairs && all > best_all)) {
            best = like;
            best_pairs = pairs;
            best_all = all;
        }
    }
    return best;
}

/* ---- means and medians ---- */

/* What is drawn as a whole: an epoch, or a row of them. Of overlapped ones span, compute, rest, the
 * helper's CPU time and copy, of baselines rest, io, compute and staging. */
#define COLUMNS 5
_Static_assert(COLUMNS <= TT_DRAWN_WIDTH, "a bootstrap takes rows of this width");
struct units {
    size_t n, epochs; /* epochs: in how many */
    double *values;
};

static void add_unit(struct units *u, const double row[COLUMNS])
{
    memcpy(u->values + COLUMNS * u->n++, row, COLUMNS * sizeof *row);
    u->epochs++;
}

static void take_baselines(const struct tt_run_data *run, const struct tt_epoch *like,
                           struct units *u)
{
    for (size_t i = 0; i < run->nepochs; i++) {
        const struct tt_epoch *x = &run->epochs[i];

        if (counts_as(run, x, true) && same_work(x, like))
            add_unit(u, (double[COLUMNS]){x->rest, x->io, x->compute, x->staging});
    }
}

static void take_overlapped(const struct tt_run_data *run, const struct tt_epoch *like,
                            struct units *u)
{
    for (size_t i = 0; i < run->nepochs; i++) {
        const struct tt_epoch *x = &run->epochs[i];

        if (counts_as(run, x, false) && same_work(x, like))
            add_unit(u, (double[COLUMNS]){x->span, x->compute, x->rest, x->helper_cpu, x->copy});
    }
}

static bool is_asked_for(const struct tt_epoch *x)
{
    return !x->baseline && !x->settling;
}

/* With several dumps in flight an epoch may wait for those of earlier ones, and leave its own to
 * later ones. Only a row of epochs up to a baseline, before which nothing is left in flight, has
 * paid for itself: its mean counts. The row up to the end has one dump more than computations. */
static void take_rows(const struct tt_run_data *run, const struct tt_epoch *like, struct units *u)
{
    for (size_t first = 0, next; first < run->nepochs; first = next + 1) {
        double row[COLUMNS] = {0};
        size_t n;
        bool alike = true;

        for (next = first; next < run->nepochs && is_asked_for(&run->epochs[next]); next++) {
            row[0] += run->epochs[next].span;
            row[1] += run->epochs[next].compute;
            row[2] += run->epochs[next].rest;
            row[3] += run->epochs[next].helper_cpu;
            row[4] += run->epochs[next].copy;
            alike = alike && same_work(&run->epochs[next], like);
        }
        n = next - first;
        if (next == run->nepochs || n == 0 || !alike)
            continue;
        for (size_t c = 0; c < COLUMNS; c++)
            row[c] /= (double)n;
        add_unit(u, row);
        u->epochs += n - 1;
    }
}

static double mean_of(const struct units *u, size_t column)
{
    double sum = 0;

    for (size_t i = 0; i < u->n; i++)
        sum += u->values[COLUMNS * i + column];
    return u->n ? sum / (double)u->n : 0;
}

static double median_of(const struct units *u, size_t column, double *scratch)
{
    for (size_t i = 0; i < u->n; i++)
        scratch[i] = u->values[COLUMNS * i + column];
    return tt_median(scratch, u->n);
}

double tt_hidden_fraction(const struct tt_epoch_times *t)
{
    return 1 - (t->span - t->compute_only) / t->io_only;
}

static double hidden_of_means(const double *overlapped, const double *baseline)
{
    return tt_hidden_fraction(&(struct tt_epoch_times){
        .span = overlapped[0], .compute_only = baseline[0], .io_only = baseline[1]});
}

/* Neighbours become one where there are many: it takes less time, and leaves in what they share. */
static void merge_units(struct units *u)
{
    size_t each = (u->n + MOST_DRAWN - 1) / MOST_DRAWN, n = each ? u->n / each : 0;

    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < COLUMNS; c++) {
            double sum = 0;

            for (size_t k = 0; k < each; k++)
                sum += u->values[COLUMNS * (i * each + k) + c];
            u->values[COLUMNS * i + c] = sum / (double)each;
        }
    u->n = n;
}

static int take_figures(struct tt_run_data *run, struct tt_error *e)
{
    const struct tt_epoch *like = most_telling(run);
    struct tt_epoch_figures *f = &run->figures;
    double *room;
    struct units overlapped, baselines;
    int rc;

    if (!like)
        return TT_OK;
    room = malloc((2 * COLUMNS + 1) * run->nepochs * sizeof *room);
    if (!room)
        return tt_fail_nomem(e, "epochs");
    overlapped = (struct units){.values = room + run->nepochs};
    baselines = (struct units){.values = room + (1 + COLUMNS) * run->nepochs};
    take_baselines(run, like, &baselines);
    if (strtoul(tt_run_data_parameter(run, "inflight"), NULL, 10) > 1)
        take_rows(run, like, &overlapped);
    else
        take_overlapped(run, like, &overlapped);
    f->overlapped = overlapped.epochs;
    f->baselines = baselines.epochs;
    f->bytes = like->bytes;
    f->mean = (struct tt_epoch_times){
        mean_of(&overlapped, 0), mean_of(&overlapped, 1), mean_of(&baselines, 0),
        mean_of(&baselines, 1),  mean_of(&baselines, 2),  mean_of(&overlapped, 2),
        mean_of(&overlapped, 3), mean_of(&baselines, 3),  mean_of(&overlapped, 4)};
    f->median =
        (struct tt_epoch_times){median_of(&overlapped, 0, room), median_of(&overlapped, 1, room),
                                median_of(&baselines, 0, room),  median_of(&baselines, 1, room),
                                median_of(&baselines, 2, room),  median_of(&overlapped, 2, room),
                                median_of(&overlapped, 3, room), median_of(&baselines, 3, room),
                                median_of(&overlapped, 4, room)};
    merge_units(&overlapped);
    merge_units(&baselines);
    rc = tt_bootstrap_means(
        hidden_of_means, &(struct tt_drawn){overlapped.n, COLUMNS, overlapped.values},
        &(struct tt_drawn){baselines.n, COLUMNS, baselines.values}, TT_LEVEL, 1, &f->hidden, e);
    free(room);
    return rc;
}

/* ---- what is left out ---- */

double tt_baselines_inside(const struct tt_rank_records *r)
{
    double ns = 0;

    for (size_t i = 0; i < r->nepochs; i++)
        ns += r->epochs[i].kind == TT_EPOCH_BASELINE_INSIDE ? (double)r->epochs[i].span_ns : 0;
    return 1e-9 * ns;
}

/* The slowest rank's time in what does not count; and whether that counts nevertheless. */
static double excluded_seconds(const struct tt_run_data *run, bool *inside)
{
    double most = 0;

    *inside = false;
    for (size_t i = 0; i < run->nranks; i++) {
        const struct tt_rank_records *r = &run->ranks[i];
        double seconds = tt_baselines_inside(r);

        *inside = *inside || seconds > 0;
        for (size_t k = r->niterations; k < r->niterations + r->nexcluded; k++)
            seconds += tt_seconds(r->iterations[k].span_ns);
        seconds += tt_seconds(r->totals.excluded_ns);
        most = larger(most, seconds);
    }
    return most;
}

static uint64_t iterations_of(const struct tt_run_data *run)
{
    const struct tt_rank_records *r = run->ranks;
    uint64_t last = 0;

    for (size_t i = 0; r && i < r->niterations + r->nexcluded; i++)
        if (r->iterations[i].iteration > last)
            last = r->iterations[i].iteration;
    for (size_t i = 0; i < run->nreduced; i++)
        if ((run->reduced[i].iteration & ~TT_ITERATION_EXCLUDED) > last)
            last = run->reduced[i].iteration & ~TT_ITERATION_EXCLUDED;
    return last;
}

/* Reduced iterations likewise. The one with the mark stands behind that without. */
static uint64_t excluded_of_reduced(const struct tt_run_data *run)
{
    uint64_t n = 0;

    for (size_t i = 0; i < run->nreduced; i++) {
        const struct tt_reduced *x = &run->reduced[i], *before = i > 0 ? x - 1 : NULL;

        if (x->iteration >= TT_ITERATION_EXCLUDED)
            n += !(before && before->iteration == x->iteration - TT_ITERATION_EXCLUDED &&
                   before->start_ns < x->start_ns);
    }
    return n;
}

/* Iterations of a rank that began in what is left out; an epoch begins with the dump at the end of
 * one that counts. Also of an epoch that has no record, since the run was stopped in it. */
static uint64_t excluded_iterations(const struct tt_rank_records *r)
{
    const struct tt_iteration_record *measured = r->iterations, *out = measured + r->niterations;
    uint64_t n = 0;
    size_t at = 0;

    for (size_t i = 0; i < r->nexcluded; i++) {
        uint64_t number = out[i].iteration;

        if (number == 0 || (i > 0 && out[i - 1].iteration == number))
            continue;
        while (at < r->niterations && measured[at].iteration < number)
            at++;
        n += !(at < r->niterations && measured[at].iteration == number &&
               measured[at].start_ns < out[i].start_ns);
    }
    return n;
}

static void count_excluded(struct tt_run_data *run)
{
    struct tt_excluded *x = &run->excluded;
    bool settled = false, apart = run->ranks[0].nexcluded > 0 || excluded_of_reduced(run) > 0;

    for (size_t i = 0; i < run->nepochs; i++)
        if (!is_asked_for(&run->epochs[i])) {
            settled = settled || run->epochs[i].settling;
            x->epochs++;
            x->bytes_written += run->epochs[i].bytes;
            x->iterations += run->epochs[i].iterations;
        }
    if (x->epochs == 0 && !apart)
        return;
    x->iterations = larger(
        x->iterations, (double)(excluded_iterations(&run->ranks[0]) + excluded_of_reduced(run)));
    x->seconds = excluded_seconds(run, &x->inside);
    x->of_iterations = (double)iterations_of(run);
    if (x->inside)
        run->bytes_written -= x->bytes_written;
    if (x->epochs == 0)
        snprintf(x->note, sizeof x->note,
                 "without an epoch that was to measure the baseline (%.3g s), in which it was "
                 "stopped",
                 x->seconds);
    else
        snprintf(x->note, sizeof x->note,
                 "without %zu of %zu epochs (%.3g s): those that measured the baseline%s",
                 x->epochs, run->nepochs, x->seconds, settled ? ", and the next ones" : "");
}

int tt_epochs_collect(struct tt_run_data *run, struct tt_error *e)
{
    struct joined all = {0};

    for (size_t r = 0; r < run->nranks; r++)
        if (!join_rank(&all, &run->ranks[r])) {
            free_joined(&all);
            return tt_fail_nomem(e, "epochs");
        }
    if (!join_nodes(&all, run)) {
        free_joined(&all);
        return tt_fail_nomem(e, "epochs");
    }
    for (size_t i = 0; i < all.n; i++)
        all.list[i].complete = all.list[i].complete && all.ranks[i] == run->size;
    run->epochs = all.list;
    run->nepochs = all.n;
    free(all.ranks);
    if (run->nepochs == 0)
        return TT_OK;
    count_excluded(run);
    return take_figures(run, e);
}
