/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When ranks did what, and waited: a map of waiting by rank and iteration, in which idle waves are
 * diagonals, and the spans of --trace. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/idle_waves.h"
#include "analysis/samples.h"
#include "analysis/spans.h"
#include "base/json.h"
#include "base/text.h"
#include "report/figures.h"
#include "report/idle_waves.h"

#define GROUP "Over time"
#define MOST_CELLS 1000000
#define MOST_SPANS 2000000
#define MOST_WAVES 8

/* ---- waiting ---- */

struct map {
    size_t ranks, iterations;       /* that were recorded */
    size_t by_ranks, by_iterations; /* of a cell */
    size_t nx, ny;
    float *cells;
    size_t rank; /* at hand */
    bool any;    /* somebody waited */
};

static bool is_shown(const struct tt_iteration_record *it)
{
    return it->iteration > 0 && it->iteration < TT_ITERATION_EXCLUDED;
}

static void find_last(void *context, const struct tt_iteration_record *list, size_t n)
{
    struct map *m = context;

    for (size_t i = 0; i < n; i++)
        if (is_shown(&list[i]) && list[i].iteration > m->iterations)
            m->iterations = list[i].iteration;
}

/* The longest of those that share a cell. */
static void fill_cells(void *context, const struct tt_iteration_record *list, size_t n)
{
    struct map *m = context;

    for (size_t i = 0; i < n; i++) {
        size_t x = (list[i].iteration - 1) / m->by_iterations;
        float waited = (float)(tt_waited_ns(&list[i]) * 1e-9);

        if (!is_shown(&list[i]) || x >= m->nx)
            continue;
        m->any |= waited > 0;
        x += m->rank / m->by_ranks * m->nx;
        if (!(m->cells[x] >= waited))
            m->cells[x] = waited;
    }
}

/* Whichever side has more cells gives way first. */
static void choose_cells(struct map *m)
{
    m->by_ranks = m->by_iterations = 1;
    for (;;) {
        m->nx = (m->iterations + m->by_iterations - 1) / m->by_iterations;
        m->ny = (m->ranks + m->by_ranks - 1) / m->by_ranks;
        if (m->nx <= MOST_CELLS / m->ny)
            return;
        if (m->nx > m->ny)
            m->by_iterations += 1 + m->by_iterations / 16;
        else
            m->by_ranks += 1 + m->by_ranks / 16;
    }
}

static int load_map(const char *directory, struct map *m, struct tt_error *e)
{
    struct tt_samples samples;
    int rc = tt_samples_open(directory, &samples, e);

    if (rc != TT_OK)
        return rc;
    m->ranks = samples.n;
    for (size_t i = 0; rc == TT_OK && i < samples.n; i++)
        rc = tt_samples_scan(&samples, i, find_last, m, e);
    if (rc == TT_OK && m->ranks > 1 && m->iterations > 0) {
        choose_cells(m);
        m->cells = malloc(m->nx * m->ny * sizeof *m->cells);
        if (!m->cells)
            rc = tt_fail_nomem(e, "waiting times");
        for (size_t i = 0; m->cells && i < m->nx * m->ny; i++)
            m->cells[i] = NAN;
        for (size_t i = 0; rc == TT_OK && i < samples.n; i++) {
            m->rank = i;
            rc = tt_samples_scan(&samples, i, fill_cells, m, e);
        }
    }
    tt_samples_close(&samples);
    return rc;
}

/* A front from its origin on; one that went around a ring has no straight line. */
static void add_front(struct tt_document *d, json_t *lines, const json_t *wave, bool up)
{
    const json_t *front = json_object_get(wave, up ? "up" : "down");
    double rank = tt_number_of(wave, "rank"), last = tt_number_of(front, "last_rank");
    char name[96];

    if (!json_is_object(front) || (up ? last < rank : last > rank))
        return;
    snprintf(name, sizeof name, "idle wave from rank %.0f, iteration %.0f", rank,
             tt_number_of(wave, "iteration"));
    tt_document_append(d, lines,
                       json_pack("{s:s, s:[f,f], s:[f,f]}", "name", name, "x",
                                 tt_number_of(wave, "iteration"),
                                 tt_number_of(front, "last_iteration"), "y", rank, last));
}

static void add_waves(struct tt_document *d, json_t *figure, const json_t *result)
{
    const json_t *found = json_object_get(result, "idle_waves"),
                 *waves = json_object_get(found, "waves"), *wave;
    json_t *lines = json_array();
    size_t i;

    tt_document_set(d, figure, "lines", lines);
    json_array_foreach(waves, i, wave)
    {
        struct tt_paragraph p = {0};

        if (i == MOST_WAVES || !lines)
            break;
        tt_idle_wave_sentence(wave, &p);
        tt_figure_note(d, figure, "%s.", p.text);
        add_front(d, lines, wave, true);
        add_front(d, lines, wave, false);
    }
    if (json_array_size(waves) > MOST_WAVES)
        tt_figure_note(d, figure, "%zu further, smaller ones are in result.json.",
                       json_array_size(waves) - MOST_WAVES);
    if (json_array_size(json_object_get(found, "stalls")))
        tt_figure_note(d, figure,
                       "In %zu iterations most ranks waited at once: stalls, which are no waves.",
                       json_array_size(json_object_get(found, "stalls")));
}

static int add_waiting(struct tt_document *d, const json_t *result, const char *directory,
                       struct tt_error *e)
{
    const json_t *reduced = json_object_get(result, "reduced");
    struct map m = {0};
    json_t *figure;
    int rc = load_map(directory, &m, e);

    if (rc == TT_OK && m.any) {
        figure = tt_figure(d, "heat", "waiting", GROUP, "Who waited when",
                           "Seconds that each rank waited in each iteration: halo + collective + "
                           "wait. A rank that is late makes its neighbours wait, and these theirs "
                           "an iteration later: such an idle wave is a diagonal.");
        tt_figure_axis(d, figure, "x", "iteration", "", "count");
        tt_figure_axis(d, figure, "y", "rank", "", "count");
        tt_figure_axis(d, figure, "value", "waiting", "s", "linear");
        if (m.by_ranks > 1 || m.by_iterations > 1)
            tt_figure_note(d, figure,
                           "A cell is the longest wait of %zu ranks in %zu iterations: %zu x %zu "
                           "are too many for single ones.",
                           m.by_ranks, m.by_iterations, m.ranks, m.iterations);
        if (tt_number_of(reduced, "iterations") > 0)
            tt_figure_note(d, figure,
                           "After iteration %.0f only a sample of ranks has records of its own.",
                           tt_number_of(reduced, "whole"));
        tt_figure_grid(
            d, figure,
            &(struct tt_heat_grid){m.nx, m.ny, 1, (double)m.by_iterations, 0, (double)m.by_ranks},
            tt_numbers_take(d, TT_NUMBER_F32, m.nx * m.ny, m.cells));
        m.cells = NULL;
        add_waves(d, figure, result);
    }
    free(m.cells);
    return rc;
}

/* ---- spans ---- */

/* Spans by the logarithm of their duration, in steps of a sixteenth of a power of two. */
#define BINS (64 * 16)
static size_t bin_of(const struct tt_timed_span *s)
{
    return s->duration_ns ? (size_t)(16 * log2((double)s->duration_ns)) : 0;
}

struct timeline {
    size_t n, room, shortest; /* shortest: bin of what is kept */
    double *start;
    float *duration;
    uint32_t *ids;
    uint8_t *kinds;
    json_t *tracks;
};

/* Which bins are kept, so that not too many are: the longest. */
static int choose_spans(const struct tt_spans *spans, struct timeline *t, struct tt_error *e)
{
    size_t counts[BINS + 1] = {0};
    int rc = TT_OK;

    t->room = spans->total;
    for (size_t i = 0; rc == TT_OK && spans->total > MOST_SPANS && i < spans->ranks.n; i++) {
        struct tt_rank_spans r;

        rc = tt_spans_load(spans, i, &r, e);
        for (size_t k = 0; rc == TT_OK && k < r.n; k++)
            counts[bin_of(&r.list[k])]++;
        if (rc == TT_OK)
            tt_rank_spans_free(&r);
    }
    for (; rc == TT_OK && t->room > MOST_SPANS && t->shortest < BINS; t->shortest++)
        t->room -= counts[t->shortest];
    return rc;
}

static void add_track(struct tt_document *d, struct timeline *t, const struct tt_rank_spans *r,
                      const struct tt_track *track)
{
    size_t first = t->n;
    char name[96];

    for (size_t i = track->first; i < track->first + track->n && t->n < t->room; i++) {
        const struct tt_timed_span *s = &r->list[i];

        if (bin_of(s) < t->shortest || (s->kind >= TT_NPHASES && s->kind < TT_SPAN_CALL) ||
            s->kind >= TT_SPAN_CALL + TT_NCALLS)
            continue;
        t->start[t->n] = (double)s->start_ns * 1e-9;
        t->duration[t->n] = (float)((double)s->duration_ns * 1e-9);
        t->ids[t->n] = s->id < UINT32_MAX ? (uint32_t)s->id : UINT32_MAX;
        t->kinds[t->n++] =
            (uint8_t)(tt_span_is_phase(s->kind) ? s->kind : TT_NPHASES + s->kind - TT_SPAN_CALL);
    }
    if (t->n == first)
        return;
    snprintf(name, sizeof name, "rank %u, %s", r->header->rank, track->name);
    tt_document_append(d, t->tracks,
                       json_pack("{s:o, s:I, s:I, s:I}", "name", tt_json_text(name), "rank",
                                 (json_int_t)r->header->rank, "first", (json_int_t)first, "n",
                                 (json_int_t)(t->n - first)));
}

/* Phases, and behind them calls, which have the colour of the phase of their name. */
static json_t *list_kinds(struct tt_document *d)
{
    json_t *kinds = json_array();

    for (int i = 0; i < TT_NPHASES; i++)
        tt_document_append(d, kinds,
                           json_pack("{s:s, s:s, s:i}", "name", tt_phase_names[i], "text",
                                     tt_phase_texts[i], "colour", tt_phase_colours[i]));
    for (int i = 0; i < TT_NCALLS; i++) {
        int like = TT_METADATA;
        char name[64];

        for (int p = 0; p < TT_NPHASES; p++)
            if (!strcmp(tt_phase_names[p], tt_call_names[i]) ||
                (p >= TT_IO_WRITE && !strcmp(tt_phase_names[p] + 3, tt_call_names[i])))
                like = p;
        snprintf(name, sizeof name, "call %s", tt_call_names[i]);
        tt_document_append(d, kinds,
                           json_pack("{s:s, s:s, s:i}", "name", name, "text", tt_call_texts[i],
                                     "colour", tt_phase_colours[like]));
    }
    return kinds;
}

/* Takes the columns. */
static void add_timeline(struct tt_document *d, const struct tt_spans *spans, struct timeline *t)
{
    json_t *figure =
        tt_figure(d, "timeline", "timeline", GROUP, "What each thread did when",
                  "The spans of --trace: phases of the main thread, calls in the thread that made "
                  "them, and kernels and staging of a device. Times of all nodes are on the clock "
                  "of rank 0's. Requests in flight "
                  "overlap, and have lanes of their own.");

    tt_document_set(d, figure, "tracks", json_incref(t->tracks));
    tt_document_set(d, figure, "kinds", list_kinds(d));
    tt_document_set(d, figure, "start", tt_numbers_take(d, TT_NUMBER_F64, t->n, t->start));
    tt_document_set(d, figure, "duration", tt_numbers_take(d, TT_NUMBER_F32, t->n, t->duration));
    tt_document_set(d, figure, "spanKind", tt_numbers_take(d, TT_NUMBER_U8, t->n, t->kinds));
    tt_document_set(d, figure, "ids", tt_numbers_take(d, TT_NUMBER_U32, t->n, t->ids));
    t->start = NULL, t->duration = NULL, t->kinds = NULL, t->ids = NULL;
    if (t->n < spans->total)
        tt_figure_note(d, figure,
                       "Of %zu spans the %zu longest: those of at least %.3g s. tutti export "
                       "--trace has all.",
                       spans->total, t->n, 1e-9 * exp2((double)t->shortest / 16));
    if (spans->dropped)
        tt_figure_note(d, figure, "%llu spans found no room in the memory of their ranks.",
                       (unsigned long long)spans->dropped);
}

static int load_timeline(struct tt_document *d, const struct tt_spans *spans, struct timeline *t,
                         struct tt_error *e)
{
    int rc = choose_spans(spans, t, e);

    t->start = malloc((t->room + 1) * sizeof *t->start);
    t->duration = malloc((t->room + 1) * sizeof *t->duration);
    t->ids = malloc((t->room + 1) * sizeof *t->ids);
    t->kinds = malloc((t->room + 1) * sizeof *t->kinds);
    t->tracks = json_array();
    if (rc == TT_OK && (!t->start || !t->duration || !t->ids || !t->kinds || !t->tracks))
        rc = tt_fail_nomem(e, "a trace");
    for (size_t i = 0; rc == TT_OK && i < spans->ranks.n; i++) {
        struct tt_rank_spans r;

        rc = tt_spans_load(spans, i, &r, e);
        if (rc != TT_OK)
            break;
        for (size_t k = 0; k < r.ntracks; k++)
            add_track(d, t, &r, &r.tracks[k]);
        tt_rank_spans_free(&r);
    }
    return rc;
}

static int add_spans(struct tt_document *d, const char *directory, struct tt_error *e)
{
    struct timeline t = {0};
    struct tt_spans spans;
    int rc = tt_spans_open(directory, &spans, e);

    if (rc == TT_OK && spans.total) {
        rc = load_timeline(d, &spans, &t, e);
        if (rc == TT_OK)
            add_timeline(d, &spans, &t);
        free(t.start);
        free(t.duration);
        free(t.ids);
        free(t.kinds);
        json_decref(t.tracks);
    }
    tt_spans_close(&spans);
    return rc;
}

int tt_figures_timelines(struct tt_document *d, const json_t *result, const char *directory,
                         struct tt_error *e)
{
    const json_t *wave = tt_notable_idle_wave(result);
    struct tt_paragraph p = {0};
    char why[1024];
    int rc;

    if (wave) {
        tt_idle_wave_sentence(wave, &p);
        tt_document_say(d, "%s.", p.text);
    }
    rc = add_waiting(d, result, directory, e);
    if (rc == TT_OK)
        rc = add_spans(d, directory, e);
    if (rc == TT_OK || rc == TT_NOMEM)
        return rc;
    tt_error_format(e, why, sizeof why); /* the rest can still be shown */
    tt_document_warn(d, "the timeline cannot be shown", why, -1);
    tt_error_clear(e);
    return TT_OK;
}
