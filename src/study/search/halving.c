/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who goes on, who is chosen, and which keys did not matter. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study/search/search.h"

size_t tt_halving(size_t candidates, struct tt_rung rungs[TT_RUNGS])
{
    size_t n = 0;

    for (uint64_t repeat = 1; n < TT_RUNGS && candidates > 0; repeat *= 2) {
        rungs[n++] = (struct tt_rung){candidates, repeat};
        if (candidates == 1)
            break;
        candidates = (candidates + 1) / 2;
    }
    return n;
}

uint64_t tt_halving_runs(size_t candidates)
{
    struct tt_rung rungs[TT_RUNGS];
    size_t n = tt_halving(candidates, rungs);
    uint64_t runs = 0, before = 0;

    for (size_t i = 0; i < n; i++) {
        runs += (rungs[i].repeat - before) * (rungs[i].candidates + 1);
        before = rungs[i].repeat;
    }
    return runs;
}

size_t tt_halving_affordable(double runs)
{
    size_t n = 0;

    while (n < 100000 && (double)tt_halving_runs(n + 1) <= runs)
        n++;
    return n;
}

/* Those without a value last; what changes less first, where two are equal. */
struct ranked {
    struct tt_standing standing;
    size_t place;
    bool higher;
};

static int compare(const void *x, const void *y)
{
    const struct ranked *a = x, *b = y;
    double va = a->standing.median, vb = b->standing.median;

    if (isfinite(va) != isfinite(vb))
        return isfinite(va) ? -1 : 1;
    if (isfinite(va) && va != vb)
        return (va < vb) == !a->higher ? -1 : 1;
    if (a->standing.changed != b->standing.changed)
        return a->standing.changed < b->standing.changed ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

size_t tt_best_of(const struct tt_standing *list, size_t n, size_t keep, bool higher_is_better,
                  size_t *order)
{
    struct ranked *all = calloc(n + 1, sizeof *all);
    size_t best = 0;

    for (size_t i = 0; all && i < n; i++)
        all[i] = (struct ranked){list[i], i, higher_is_better};
    if (all)
        qsort(all, n, sizeof *all, compare);
    while (all && best < n && best < keep && isfinite(all[best].standing.median)) {
        order[best] = all[best].place;
        best++;
    }
    free(all);
    return best;
}

size_t tt_choose(const struct tt_standing *list, size_t n, bool higher_is_better, double tie)
{
    size_t best = n;

    for (size_t i = 0; i < n; i++)
        if (isfinite(list[i].median) &&
            (best == n || (higher_is_better ? list[i].median > list[best].median
                                            : list[i].median < list[best].median)))
            best = i;
    for (size_t i = 0, top = best; top < n && i < n; i++)
        if (isfinite(list[i].median) && list[i].changed < list[best].changed &&
            fabs(list[i].median - list[top].median) <= tie * fabs(list[top].median))
            best = i;
    return best;
}

static bool differ_only_in(const struct tt_tried *a, const struct tt_tried *b, size_t nkeys,
                           size_t key)
{
    for (size_t k = 0; k < nkeys; k++)
        if (k != key && a->numbers[k] != b->numbers[k])
            return false;
    return true;
}

/* Of the group that tried i begins, if it does: largest / least; 0: it has nobody else. */
static double spread_of_group(const struct tt_tried *list, size_t n, size_t nkeys, size_t key,
                              size_t i)
{
    double least = list[i].median, most = list[i].median;
    size_t members = 1;

    if (!(list[i].median > 0) || !isfinite(list[i].median))
        return 0;
    for (size_t j = 0; j < n; j++) {
        if (j == i || !(list[j].median > 0) || !isfinite(list[j].median) ||
            !differ_only_in(&list[i], &list[j], nkeys, key))
            continue;
        if (j < i)
            return 0;
        least = list[j].median < least ? list[j].median : least;
        most = list[j].median > most ? list[j].median : most;
        members++;
    }
    return members > 1 ? most / least : 0;
}

int tt_key_effect(const struct tt_tried *list, size_t n, size_t nkeys, size_t key,
                  struct tt_key_effect *out, struct tt_error *e)
{
    double *spreads = calloc(n + 1, sizeof *spreads);

    *out = (struct tt_key_effect){0};
    if (!spreads)
        return tt_fail_nomem(e, "the effects of keys");
    for (size_t i = 0; i < n; i++) {
        double spread = spread_of_group(list, n, nkeys, key, i);

        if (spread > 0)
            spreads[out->groups++] = spread;
    }
    if (out->groups > 0)
        out->times = tt_median(spreads, out->groups);
    free(spreads);
    return TT_OK;
}
