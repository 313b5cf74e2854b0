/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Epochs joined over ranks, and the medians that hidden fraction and inflation stand on. */
#include <stdlib.h>
#include <string.h>

#include "analysis/run_data.h"
#include "analysis/statistics.h"
#include "base/clock.h"

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

/* Records of all ranks in order of epoch, *n of them; NULL if there is none or no memory. */
static struct tt_epoch_record *gather(const struct tt_run_data *run, size_t *n)
{
    struct tt_epoch_record *all;

    *n = 0;
    for (size_t r = 0; r < run->nranks; r++)
        *n += run->ranks[r].nepochs;
    all = *n ? malloc(*n * sizeof *all) : NULL;
    if (!all)
        return NULL;
    *n = 0;
    for (size_t r = 0; r < run->nranks; r++) {
        size_t more = run->ranks[r].nepochs;

        if (more)
            memcpy(all + *n, run->ranks[r].epochs, more * sizeof *all);
        *n += more;
    }
    qsort(all, *n, sizeof *all, by_number);
    return all;
}

/* The records first..first+n-1 are one epoch of n ranks. */
static struct tt_epoch join(const struct tt_epoch_record *first, size_t n, uint64_t size)
{
    struct tt_epoch out = {.number = first->epoch,
                           .baseline = first->baseline != 0,
                           .iterations = first->iterations,
                           .complete = n == size};

    for (size_t i = 0; i < n; i++) {
        out.span = larger(out.span, tt_seconds(first[i].span_ns));
        out.compute = larger(out.compute, tt_seconds(first[i].compute_ns));
        out.io = larger(out.io, tt_seconds(first[i].io_ns) + tt_seconds(first[i].files_ns));
        out.visible = larger(out.visible, tt_seconds(first[i].visible_ns));
        out.bytes += (double)first[i].bytes;
        if (first[i].iterations != out.iterations || (first[i].baseline != 0) != out.baseline)
            out.complete = false;
    }
    return out;
}

/* Epochs that computed as much and wrote as much can be compared; and an epoch with no computation
 * after its dump shows nothing. */
static bool same_work(const struct tt_epoch *a, const struct tt_epoch *b)
{
    return a->complete && b->complete && a->iterations > 0 && a->iterations == b->iterations &&
           a->bytes == b->bytes;
}

static void count(const struct tt_run_data *run, const struct tt_epoch *like, size_t *overlapped,
                  size_t *baselines)
{
    *overlapped = *baselines = 0;
    for (size_t i = 0; i < run->nepochs; i++)
        if (same_work(&run->epochs[i], like))
            ++*(run->epochs[i].baseline ? baselines : overlapped);
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

enum column { SPAN, COMPUTE, IO };

static double value_of(const struct tt_epoch *e, enum column column)
{
    return column == SPAN ? e->span : column == COMPUTE ? e->compute : e->io;
}

static double median_of(const struct tt_run_data *run, const struct tt_epoch *like, bool baseline,
                        enum column column, double *scratch)
{
    size_t n = 0;

    for (size_t i = 0; i < run->nepochs; i++)
        if (run->epochs[i].baseline == baseline && same_work(&run->epochs[i], like))
            scratch[n++] = value_of(&run->epochs[i], column);
    return tt_median(scratch, n);
}

/* With several dumps in flight an epoch may wait for those of earlier ones, and leave its own to
 * later ones. Only a row of epochs up to a baseline, before which nothing is left in flight, has
 * paid for itself: its mean counts. *epochs: in how many of them. */
static double median_of_rows(const struct tt_run_data *run, const struct tt_epoch *like,
                             enum column column, double *scratch, size_t *epochs)
{
    size_t n = 0;

    *epochs = 0;
    for (size_t first = 0, next; first < run->nepochs; first = next + 1) {
        double sum = 0;
        bool alike = true;

        for (next = first; next < run->nepochs && !run->epochs[next].baseline; next++) {
            sum += value_of(&run->epochs[next], column);
            alike = alike && same_work(&run->epochs[next], like);
        }
        if (next == run->nepochs || next == first || !alike)
            continue;
        scratch[n++] = sum / (double)(next - first);
        *epochs += next - first;
    }
    return tt_median(scratch, n);
}

static int take_medians(struct tt_run_data *run, struct tt_error *e)
{
    const struct tt_epoch *like = most_telling(run);
    struct tt_epoch_medians *m = &run->medians;
    double *scratch;

    if (!like)
        return TT_OK;
    scratch = malloc(run->nepochs * sizeof *scratch);
    if (!scratch)
        return tt_fail_nomem(e, "epochs");
    count(run, like, &m->overlapped, &m->baselines);
    if (strtoul(tt_run_data_parameter(run, "inflight"), NULL, 10) > 1) {
        m->span = median_of_rows(run, like, SPAN, scratch, &m->overlapped);
        m->compute = median_of_rows(run, like, COMPUTE, scratch, &m->overlapped);
    } else {
        m->span = median_of(run, like, false, SPAN, scratch);
        m->compute = median_of(run, like, false, COMPUTE, scratch);
    }
    m->compute_only = median_of(run, like, true, COMPUTE, scratch);
    m->io_only = median_of(run, like, true, IO, scratch);
    free(scratch);
    return TT_OK;
}

int tt_epochs_collect(struct tt_run_data *run, struct tt_error *e)
{
    size_t n;
    struct tt_epoch_record *all = gather(run, &n);

    if (n == 0)
        return TT_OK;
    if (all)
        run->epochs = malloc(n * sizeof *run->epochs);
    if (!run->epochs) {
        free(all);
        return tt_fail_nomem(e, "epochs");
    }
    for (size_t first = 0, next; first < n; first = next) {
        for (next = first + 1; next < n && all[next].epoch == all[first].epoch;)
            next++;
        run->epochs[run->nepochs++] = join(&all[first], next - first, run->size);
    }
    free(all);
    return take_medians(run, e);
}
