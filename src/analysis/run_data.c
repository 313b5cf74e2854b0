/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/run_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/counters.h"
#include "analysis/rates.h"
#include "base/json.h"
#include "plan/directory.h"
#include "plan/removal.h"
#include "record/memory.h"
#include "record/reduce.h"

#define MOST_WORDS 100 /* of ranks: each may say something else */

const char *tt_run_data_parameter(const struct tt_run_data *run, const char *key)
{
    return tt_text_of(json_object_get(run->plan, "parameters"), key);
}

bool tt_run_data_is_serial(const struct tt_run_data *run)
{
    const char *sync = tt_run_data_parameter(run, "sync");

    return !strcmp(tt_run_data_parameter(run, "overlap"), "none") &&
           (!strcmp(sync, "write") || !strcmp(sync, "dump"));
}

double tt_run_data_slowest(const struct tt_run_data *run, enum tt_phase a, enum tt_phase b)
{
    double slowest = 0;

    for (size_t i = 0; i < run->nranks; i++) {
        double seconds = run->seconds[i][a] + (a == b ? 0 : run->seconds[i][b]);

        if (seconds > slowest)
            slowest = seconds;
    }
    return slowest;
}

static int by_rank(const void *a, const void *b)
{
    uint32_t x = ((const struct tt_rank_records *)a)->header.rank;
    uint32_t y = ((const struct tt_rank_records *)b)->header.rank;

    return (x > y) - (x < y);
}

/* ---- nodes ---- */

/* What the workload reported: the same on all ranks, or to be summed. */
static int merge_results(struct tt_run_data *run, json_t *results)
{
    json_t *result, *old;
    const char *name;
    int bad = 0;

    json_object_foreach(results, name, result)
    {
        const json_t *value = json_object_get(result, "value");
        const char *kind = tt_text_of(result, "kind");

        old = json_object_get(run->results, name);
        if (!old)
            bad |= json_object_set_new(
                run->results, name,
                json_is_number(value) && *kind
                    ? json_pack("{s:s, s:f}", "kind", kind, "value", json_number_value(value))
                    : json_object());
        else if (json_is_number(value) && strcmp(kind, "same") != 0)
            bad |= json_real_set(json_object_get(old, "value"),
                                 tt_number_of(old, "value") + json_number_value(value));
    }
    return bad;
}

static int merge_words(struct tt_run_data *run, const json_t *words)
{
    const json_t *text;
    size_t i;
    int bad = 0;

    json_array_foreach(words, i,
                       text) if (json_is_string(text) && json_object_size(run->words) < MOST_WORDS)
        bad |= json_object_set_new(run->words, json_string_value(text), json_true());
    return bad;
}

/* What is only needed over all ranks is not kept of each: of 100,000 ranks it would fill the
 * memory.
 */
static int merge_rank(struct tt_run_data *run, struct tt_rank_records *r)
{
    static const char *const merged[] = {"results", "warnings", "requests"};
    int bad = merge_results(run, json_object_get(r->summary, merged[0]));

    bad |= merge_words(run, json_object_get(r->summary, merged[1]));
    bad |= tt_files_add(run->files, json_object_get(r->summary, merged[2]));
    for (size_t i = 0; r->summary && i < sizeof merged / sizeof *merged; i++)
        json_object_del(r->summary, merged[i]);
    return bad;
}

static int by_iteration(const void *a, const void *b)
{
    uint64_t x = ((const struct tt_reduced *)a)->iteration,
             y = ((const struct tt_reduced *)b)->iteration;
    uint64_t p = x & ~TT_ITERATION_EXCLUDED, q = y & ~TT_ITERATION_EXCLUDED;

    return p != q ? (p > q) - (p < q) : (x > y) - (x < y);
}

/* Two lists become one, in which each iteration stands once. */
static int merge_reduced(struct tt_run_data *run, struct tt_node_records *node)
{
    size_t most = run->nreduced + node->nreduced, n = 0;
    struct tt_reduced *all;

    if (node->nreduced == 0)
        return 0;
    qsort(node->reduced, node->nreduced, sizeof *node->reduced, by_iteration);
    all = malloc(most * sizeof *all);
    if (!all)
        return -1;
    for (size_t i = 0, k = 0; i < run->nreduced || k < node->nreduced;) {
        bool mine = k == node->nreduced ||
                    (i < run->nreduced && by_iteration(&run->reduced[i], &node->reduced[k]) <= 0);
        const struct tt_reduced *next = mine ? &run->reduced[i++] : &node->reduced[k++];

        if (n > 0 && all[n - 1].iteration == next->iteration)
            tt_reduced_merge(&all[n - 1], next);
        else
            all[n++] = *next;
    }
    free(run->reduced);
    run->reduced = all;
    run->nreduced = n;
    return 0;
}

static int merge_node(struct tt_run_data *run, struct tt_node_records *node)
{
    struct tt_reduced_epoch *epochs;
    int bad = merge_reduced(run, node);

    for (size_t i = 0; i < node->nranks; i++) {
        struct tt_rank_records *room = tt_list_room(run->ranks, run->nranks, sizeof *room);

        if (!room)
            return -1;
        run->ranks = room;
        bad |= merge_rank(run, &node->ranks[i]);
        run->ranks[run->nranks++] = node->ranks[i];
        node->ranks[i] = (struct tt_rank_records){0};
    }
    for (size_t i = 0; i < node->nreduced_epochs; i++) {
        epochs = tt_list_room(run->reduced_epochs, run->nreduced_epochs, sizeof *epochs);
        if (!epochs)
            return -1;
        run->reduced_epochs = epochs;
        epochs[run->nreduced_epochs++] = node->reduced_epochs[i];
    }
    for (int c = 0; node->calls && c < TT_NCALLS; c++)
        tt_histogram_merge(&run->calls[c], &node->calls[c]);
    for (int i = 0; node->timelines && i < 2; i++)
        tt_timeline_merge(&run->timelines[i], &node->timelines[i]);
    return bad;
}

/* One more node's file; an unreadable one is noted, and the others still count. */
static int load_node(void *context, const char *path, struct tt_error *e)
{
    struct tt_error why = TT_ERROR_CLEAR;
    struct tt_run_data *run = context;
    struct tt_node_records node;
    int rc = tt_records_load(path, &node, &why);

    if (rc == TT_NOMEM)
        *e = why;
    else if (rc == TT_OK && merge_node(run, &node) != 0)
        rc = tt_fail_nomem(e, "records");
    else if (rc != TT_OK && !run->damage[0])
        tt_error_format(&why, run->damage, sizeof run->damage);
    tt_records_unload(&node);
    return rc == TT_NOMEM ? rc : TT_OK;
}

/* In their order. Ranks that contradict each other cannot be one run. */
static int load_ranks(struct tt_run_data *run, struct tt_error *e)
{
    int rc;

    run->results = json_object();
    run->words = json_object();
    run->files = json_array();
    if (!run->results || !run->words || !run->files)
        return tt_fail_nomem(e, "records");
    tt_records_collect(run->directory);
    rc = tt_each_node_file(run->directory, load_node, run, e);
    if (rc == TT_OK && run->nranks)
        qsort(run->ranks, run->nranks, sizeof *run->ranks, by_rank);
    for (size_t i = 1; i < run->nranks && rc == TT_OK; i++)
        if (run->ranks[i].header.rank == run->ranks[i - 1].header.rank ||
            run->ranks[i].header.size != run->ranks[0].header.size)
            rc = tt_fail(e, TT_CORRUPT, "'%s' mixes records of different runs", run->directory);
    return rc;
}

uint64_t tt_run_data_whole(const struct tt_run_data *run)
{
    return run->nreduced ? (run->reduced[0].iteration & ~TT_ITERATION_EXCLUDED) - 1 : 0;
}

/* ---- adding up ---- */

bool tt_rank_span(const struct tt_rank_records *r, int64_t *ns)
{
    const json_t *span = json_object_get(r->summary, "span_ns");

    if (!json_is_integer(span)) /* of a command, or of a run before there was any difference */
        span = json_object_get(r->summary, "runtime_ns");
    *ns = json_integer_value(span);
    return json_is_integer(span);
}

/* Files are opened before the clock starts, and closed after it has stopped. */
static bool is_outside(const struct tt_rank_records *r, const struct tt_iteration_record *it)
{
    int64_t span;

    return it->iteration == 0 &&
           (it->start_ns < 0 || (tt_rank_span(r, &span) && it->start_ns >= span));
}

static void add_iteration(struct tt_run_data *run, size_t rank,
                          const struct tt_iteration_record *it, double outside[TT_NPHASES])
{
    bool apart = is_outside(&run->ranks[rank], it);

    for (int p = 0; p < TT_NPHASES; p++) {
        double seconds = (double)it->phase_ns[p] * 1e-9;

        run->seconds[rank][p] += seconds;
        outside[p] += apart ? seconds : 0;
    }
    run->bytes_written += (double)it->bytes_written;
    run->bytes_read += (double)it->bytes_read;
    run->bytes_communicated += (double)it->bytes_communicated;
}

static int add_up(struct tt_run_data *run, struct tt_error *e)
{
    run->seconds = calloc(run->nranks + 1, sizeof *run->seconds);
    if (!run->seconds)
        return tt_fail_nomem(e, "records");
    for (size_t r = 0; r < run->nranks; r++) {
        double outside[TT_NPHASES] = {0};

        for (size_t i = 0; i < run->ranks[r].niterations; i++)
            add_iteration(run, r, &run->ranks[r].iterations[i], outside);
        for (int p = 0; p < TT_NPHASES; p++)
            run->seconds[r][p] += (double)run->ranks[r].totals.phase_ns[p] * 1e-9;
        for (int p = 0; p < TT_NPHASES; p++)
            if (outside[p] > run->outside[p])
                run->outside[p] = outside[p];
    }
    for (size_t i = 0; i < run->nreduced; i++)
        if (run->reduced[i].iteration < TT_ITERATION_EXCLUDED) {
            run->bytes_written += (double)run->reduced[i].bytes_written;
            run->bytes_read += (double)run->reduced[i].bytes_read;
            run->bytes_communicated += (double)run->reduced[i].bytes_communicated;
        }
    return tt_join_iterations(run, e);
}

static void judge_end(struct tt_run_data *run)
{
    const json_t *first = run->nranks ? run->ranks[0].summary : NULL;
    long long planned = strtoll(tt_run_data_parameter(run, "ranks"), NULL, 10);

    run->size = run->nranks ? run->ranks[0].header.size : (uint64_t)(planned > 0 ? planned : 0);
    run->finished = run->complete = run->nranks > 0 && run->nranks == run->size;
    for (size_t i = 0; i < run->nranks; i++) {
        if (run->ranks[i].header.state != TT_RANK_DONE)
            run->finished = false;
        if (!run->ranks[i].summary)
            run->finished = run->complete = false;
    }
    if (run->nranks && run->ranks[0].header.rank == 0) {
        run->environment = json_object_get(first, "environment");
        run->overlap = json_object_get(first, "overlap");
        run->facts = json_object_get(first, "facts");
        run->apart = json_is_true(json_object_get(first, "apart"));
        run->tables = json_object_get(first, "tables");
    }
}

/* A run that was killed leaves no outcome. */
static int load_outcome(struct tt_run_data *run, struct tt_error *e)
{
    return tt_directory_has(run->directory, "outcome.json")
               ? tt_directory_read_json(run->directory, "outcome.json", &run->outcome, e)
               : TT_OK;
}

/* ---- counters ---- */

int64_t tt_rank_begin(const struct tt_rank_records *r)
{
    int64_t offset = tt_integer_of(json_object_get(r->summary, "clock"), "offset_ns"), begin;

    return __builtin_sub_overflow(r->header.start_wall_ns, offset, &begin) ? r->header.start_wall_ns
                                                                           : begin;
}

/* The measured time of a rank on the wall clock; of one that did not finish, as far as it got. The
 * first record tells how long before the start the clocks were read. */
static bool rank_window(const struct tt_rank_records *r, int64_t *from, int64_t *to)
{
    int64_t length;
    bool known = tt_rank_span(r, &length);

    if (r->niterations == 0 || r->iterations[0].start_ns > 0 ||
        __builtin_sub_overflow(tt_rank_begin(r), r->iterations[0].start_ns, from))
        return false;
    for (size_t i = 0; !known && i < r->niterations + r->nexcluded; i++) {
        int64_t end;

        if (!__builtin_add_overflow(r->iterations[i].start_ns, r->iterations[i].span_ns, &end) &&
            end > length)
            length = end;
    }
    if (!known && r->totals.end_ns > length)
        length = r->totals.end_ns;
    return length > 0 && !__builtin_add_overflow(*from, length, to);
}

bool tt_run_data_window(const struct tt_run_data *run, struct tt_window *out)
{
    *out = (struct tt_window){INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < run->nranks; i++) {
        int64_t first, last;

        if (!rank_window(&run->ranks[i], &first, &last))
            continue;
        out->from_ns = first < out->from_ns ? first : out->from_ns;
        out->to_ns = last > out->to_ns ? last : out->to_ns;
    }
    return out->from_ns < out->to_ns;
}

int tt_run_data_load_counters(struct tt_run_data *run, struct tt_error *e)
{
    struct tt_window w;

    if (!tt_run_data_window(run, &w))
        return TT_OK;
    return tt_counters_summary(run->directory, w.from_ns, w.to_ns, &run->counters, e);
}

int tt_run_data_load(struct tt_run_data *run, const char *directory, struct tt_error *e)
{
    int rc;

    memset(run, 0, sizeof *run);
    run->directory = directory;
    run->calls = calloc(TT_NCALLS, sizeof *run->calls);
    rc =
        run->calls ? tt_directory_read_plan(directory, &run->plan, e) : tt_fail_nomem(e, "records");
    if (rc == TT_OK && json_object_get(run->plan, "id") && !tt_plan_id(directory, run->plan, e))
        rc = TT_CORRUPT;
    if (rc == TT_OK)
        rc = load_outcome(run, e);
    if (rc == TT_OK)
        rc = load_ranks(run, e);
    if (rc == TT_OK) {
        judge_end(run); /* also says how times of ranks join */
        rc = add_up(run, e);
    }
    if (rc == TT_OK)
        rc = tt_epochs_collect(run, e);
    if (rc == TT_OK)
        tt_metrics_compute(run);
    else
        tt_run_data_free(run);
    return rc;
}

void tt_run_data_free(struct tt_run_data *run)
{
    for (size_t i = 0; i < run->nranks; i++)
        tt_rank_records_free(&run->ranks[i]);
    free(run->ranks);
    free(run->reduced);
    free(run->reduced_epochs);
    json_decref(run->results);
    json_decref(run->words);
    json_decref(run->files);
    free(run->seconds);
    free(run->epochs);
    free(run->calls);
    json_decref(run->plan);
    json_decref(run->outcome);
    json_decref(run->counters);
    memset(run, 0, sizeof *run);
}
