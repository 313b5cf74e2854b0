/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/spans.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/run_data.h"
#include "base/json.h"

const char *tt_span_name(unsigned kind)
{
    if (kind < TT_NPHASES)
        return tt_phase_names[kind];
    if (kind >= TT_SPAN_CALL && kind < TT_SPAN_CALL + TT_NCALLS)
        return tt_call_names[kind - TT_SPAN_CALL];
    return "unknown";
}

/* ---- the common clock ---- */

/* Whatever a damaged record says. */
static int64_t add(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? (b > 0 ? INT64_MAX : INT64_MIN) : sum;
}

static uint64_t distance(int64_t from, int64_t to)
{
    return to > from ? (uint64_t)to - (uint64_t)from : 0;
}

struct extent {
    int64_t shift_ns, first_ns, last_ns;
    size_t n;
};

static void find_extent(void *context, const struct tt_span *list, size_t n)
{
    struct extent *x = context;

    for (size_t i = 0; i < n; i++, x->n++) {
        if (x->n == 0 || list[i].start_ns < x->first_ns)
            x->first_ns = list[i].start_ns;
        if (x->n == 0 || list[i].end_ns > x->last_ns)
            x->last_ns = list[i].end_ns;
    }
}

/* The first record of a rank begins when its clocks were read, and tells when that was on the clock
 * of the records; without one both are the same instant. */
static void find_begin(void *context, const struct tt_iteration_record *list, size_t n)
{
    int64_t *begin_ns = context;

    for (size_t i = 0; i < n; i++)
        if (list[i].iteration == 0 && list[i].start_ns < *begin_ns)
            *begin_ns = list[i].start_ns;
}

static int measure(struct tt_spans *s, size_t i, struct extent *x, struct tt_error *e)
{
    const struct tt_sampled_rank *at = &s->ranks.ranks[i];
    struct tt_rank_records rank = {.header = at->header};
    int64_t begin_ns = 0;
    int rc = tt_records_scan_spans(&s->ranks.nodes[at->node], at->slot, find_extent, x,
                                   &rank.summary, e);

    if (rc == TT_OK)
        rc = tt_samples_scan(&s->ranks, i, find_begin, &begin_ns, e);
    x->shift_ns = add(tt_rank_begin(&rank), begin_ns > INT64_MIN ? -begin_ns : INT64_MAX);
    s->dropped += (uint64_t)tt_integer_of(json_object_get(rank.summary, "trace"), "dropped");
    json_decref(rank.summary);
    return rc;
}

static int measure_all(struct tt_spans *s, struct tt_error *e)
{
    int64_t last_ns = INT64_MIN;
    int rc = TT_OK;

    s->earliest_ns = INT64_MAX;
    for (size_t i = 0; rc == TT_OK && i < s->ranks.n; i++) {
        struct extent x = {0};

        rc = measure(s, i, &x, e);
        s->shift_ns[i] = x.shift_ns;
        s->count[i] = x.n;
        s->total += x.n;
        if (x.n && add(x.first_ns, x.shift_ns) < s->earliest_ns)
            s->earliest_ns = add(x.first_ns, x.shift_ns);
        if (x.n && add(x.last_ns, x.shift_ns) > last_ns)
            last_ns = add(x.last_ns, x.shift_ns);
    }
    s->length_ns = distance(s->earliest_ns, last_ns);
    return rc;
}

int tt_spans_open(const char *directory, struct tt_spans *s, struct tt_error *e)
{
    int rc;

    *s = (struct tt_spans){0};
    rc = tt_samples_open(directory, &s->ranks, e);
    if (rc != TT_OK)
        return rc;
    s->shift_ns = calloc(s->ranks.n + 1, sizeof *s->shift_ns);
    s->count = calloc(s->ranks.n + 1, sizeof *s->count);
    rc = s->shift_ns && s->count ? measure_all(s, e) : tt_fail_nomem(e, "a trace");
    if (rc != TT_OK)
        tt_spans_close(s);
    return rc;
}

int tt_spans_open_some(const char *directory, struct tt_spans *s, struct tt_error *e)
{
    int rc = tt_spans_open(directory, s, e);

    if (rc != TT_OK || s->total)
        return rc;
    tt_spans_close(s);
    return tt_fail(e, TT_FAILED,
                   "'%s' has no trace; run it again with --trace, to its end: ranks that are "
                   "killed leave none",
                   directory);
}

void tt_spans_close(struct tt_spans *s)
{
    tt_samples_close(&s->ranks);
    free(s->shift_ns);
    free(s->count);
    *s = (struct tt_spans){0};
}

/* ---- tracks of a rank ---- */

struct loading {
    const struct tt_spans *all;
    int64_t shift_ns;
    size_t room;
    struct tt_rank_spans *out;
};

/* The track is the thread, until all lanes are known. */
static void take(void *context, const struct tt_span *list, size_t n)
{
    struct loading *l = context;

    for (size_t i = 0; i < n && l->out->n < l->room; i++) {
        int64_t start = add(list[i].start_ns, l->shift_ns), end = add(list[i].end_ns, l->shift_ns);

        l->out->list[l->out->n++] = (struct tt_timed_span){
            distance(l->all->earliest_ns, start),
            distance(start, end),
            list[i].id,
            list[i].thread,
            list[i].kind,
            list[i].flags,
        };
    }
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Threads, and behind all of them requests in flight by their threads. */
static int by_thread(const void *a, const void *b)
{
    const struct tt_timed_span *x = a, *y = b;
    int order = compare(x->flags & TT_SPAN_IN_FLIGHT, y->flags & TT_SPAN_IN_FLIGHT);

    if (!order)
        order = compare(x->track, y->track);
    if (!order)
        order = compare(x->start_ns, y->start_ns);
    if (!order)
        order = compare(y->duration_ns, x->duration_ns);
    return order ? order : compare(x->kind, y->kind);
}

static int by_track(const void *a, const void *b)
{
    const struct tt_timed_span *x = a, *y = b;
    int order = compare(x->track, y->track);

    return order ? order : by_thread(a, b);
}

/* Spans of a thread come together, and so do its requests in flight: their tracks are those from
 * `group` on. A lane is free when the last request on it has ended. */
struct assignment {
    size_t group;
    uint64_t *ends; /* per track */
};

static int choose_track(struct tt_rank_spans *r, struct assignment *a,
                        const struct tt_timed_span *s, size_t *chosen)
{
    bool in_flight = s->flags & TT_SPAN_IN_FLIGHT;
    struct tt_track *tracks = r->tracks;
    uint64_t *ends;

    if (r->ntracks && (tracks[a->group].thread != s->track || !tracks[a->group].lane != !in_flight))
        a->group = r->ntracks;
    for (*chosen = a->group; *chosen < r->ntracks; ++*chosen)
        if (!in_flight || a->ends[*chosen] <= s->start_ns)
            return 0;
    tracks = tt_list_room(r->tracks, r->ntracks, sizeof *tracks);
    if (tracks)
        r->tracks = tracks;
    ends = tt_list_room(a->ends, r->ntracks, sizeof *ends);
    if (ends)
        a->ends = ends;
    if (!tracks || !ends)
        return -1;
    tracks[r->ntracks] = (struct tt_track){
        .thread = s->track, .lane = in_flight ? (uint32_t)(r->ntracks - a->group) + 1 : 0};
    r->ntracks++;
    return 0;
}

static void name_track(struct tt_track *t, const json_t *threads)
{
    char number[16];
    const char *name;

    snprintf(number, sizeof number, "%u", t->thread);
    name = json_string_value(json_object_get(threads, number));
    if (t->lane)
        snprintf(t->name, sizeof t->name, "%.15s, in flight %u", name ? name : number, t->lane);
    else
        snprintf(t->name, sizeof t->name, "%.15s", name ? name : number);
}

/* A device does one thing of a track after the other. The host places its spans, and may be late by
 * what it takes to notice their ends. */
static void follow_device(struct tt_timed_span *s, uint64_t end_ns)
{
    uint64_t late = distance((int64_t)s->start_ns, (int64_t)end_ns);

    late = late < s->duration_ns ? late : s->duration_ns;
    s->start_ns += late;
    s->duration_ns -= late;
}

static int make_tracks(struct tt_rank_spans *r, const json_t *threads)
{
    struct assignment a = {0};
    int bad = 0;

    qsort(r->list, r->n, sizeof *r->list, by_thread);
    for (size_t i = 0, chosen; i < r->n; i++) {
        struct tt_timed_span *s = &r->list[i];

        bad = choose_track(r, &a, s, &chosen);
        if (bad)
            break;
        if (r->tracks[chosen].n && s->track >= TT_TRACK_KERNELS)
            follow_device(s, a.ends[chosen]);
        s->track = (uint32_t)chosen;
        if (r->tracks[chosen].n++ == 0 || a.ends[chosen] < s->start_ns + s->duration_ns)
            a.ends[chosen] = s->start_ns + s->duration_ns;
    }
    free(a.ends);
    qsort(r->list, r->n, sizeof *r->list, by_track);
    for (size_t t = 0, first = 0; t < r->ntracks; first += r->tracks[t++].n) {
        r->tracks[t].first = first;
        name_track(&r->tracks[t], threads);
    }
    return bad;
}

int tt_spans_load(const struct tt_spans *s, size_t rank, struct tt_rank_spans *out,
                  struct tt_error *e)
{
    const struct tt_sampled_rank *at = &s->ranks.ranks[rank];
    struct loading l = {s, s->shift_ns[rank], s->count[rank], out};
    json_t *summary = NULL;
    int rc;

    *out = (struct tt_rank_spans){.header = &at->header};
    out->list = calloc(l.room + 1, sizeof *out->list);
    if (!out->list)
        return tt_fail_nomem(e, "a trace");
    rc = tt_records_scan_spans(&s->ranks.nodes[at->node], at->slot, take, &l, &summary, e);
    if (rc == TT_OK &&
        make_tracks(out, json_object_get(json_object_get(summary, "trace"), "threads")) != 0)
        rc = tt_fail_nomem(e, "a trace");
    json_decref(summary);
    if (rc != TT_OK)
        tt_rank_spans_free(out);
    return rc;
}

void tt_rank_spans_free(struct tt_rank_spans *r)
{
    free(r->list);
    free(r->tracks);
    *r = (struct tt_rank_spans){0};
}
