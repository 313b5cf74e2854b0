/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/run_data.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/counters.h"
#include "base/json.h"
#include "plan/directory.h"
#include "plan/removal.h"

#define MAX_RANKS 100000

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

/* One more rank's file; an unreadable one is noted, and the others still count. */
static int load_rank(void *context, const char *path, struct tt_error *e)
{
    struct tt_error why = TT_ERROR_CLEAR;
    struct tt_run_data *run = context;
    struct tt_rank_records *grown = realloc(run->ranks, (run->nranks + 1) * sizeof *grown);
    int rc;

    if (!grown)
        return tt_fail_nomem(e, "records");
    run->ranks = grown;
    rc = tt_records_load(path, &run->ranks[run->nranks], &why);
    if (rc == TT_NOMEM) {
        *e = why;
        return rc;
    }
    if (rc == TT_OK)
        run->nranks++;
    else if (!run->damage[0])
        tt_error_format(&why, run->damage, sizeof run->damage);
    return TT_OK;
}

static bool is_record_name(const char *name)
{
    size_t digits = strspn(name, "0123456789");

    return digits > 0 && !strcmp(name + digits, ".ttr");
}

int tt_each_rank_file(const char *directory, tt_rank_file *file, void *context, struct tt_error *e)
{
    char *records = tt_directory_path(directory, "records");
    struct dirent *entry;
    size_t n = 0;
    DIR *d;
    int rc = TT_OK;

    if (!records)
        return tt_fail_nomem(e, "records");
    d = opendir(records);
    if (!d)
        rc = tt_fail_call(e, errno, "opendir", records, -1);
    while (rc == TT_OK && (entry = readdir(d)) && n < MAX_RANKS)
        if (is_record_name(entry->d_name)) {
            char *path = tt_directory_path(records, entry->d_name);

            rc = path ? file(context, path, e) : tt_fail_nomem(e, "records");
            free(path);
            n++;
        }
    if (d)
        closedir(d);
    free(records);
    return rc;
}

static int load_ranks(struct tt_run_data *run, struct tt_error *e)
{
    int rc = tt_each_rank_file(run->directory, load_rank, run, e);

    if (rc == TT_OK && run->nranks)
        qsort(run->ranks, run->nranks, sizeof *run->ranks, by_rank);
    return rc;
}

/* Ranks that contradict each other cannot be one run. */
static int check_ranks(const struct tt_run_data *run, struct tt_error *e)
{
    for (size_t i = 1; i < run->nranks; i++)
        if (run->ranks[i].header.rank == run->ranks[i - 1].header.rank ||
            run->ranks[i].header.size != run->ranks[0].header.size)
            return tt_fail(e, TT_CORRUPT, "'%s' mixes records of different runs", run->directory);
    return TT_OK;
}

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
            if (outside[p] > run->outside[p])
                run->outside[p] = outside[p];
    }
    return TT_OK;
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
        run->tables = json_object_get(first, "tables");
    }
}

/* A run that was killed leaves no outcome. */
static int load_outcome(struct tt_run_data *run, struct tt_error *e)
{
    char *path = tt_directory_path(run->directory, "outcome.json");
    bool there = path && access(path, F_OK) == 0;

    if (!path)
        return tt_fail_nomem(e, "the outcome");
    free(path);
    return there ? tt_directory_read_json(run->directory, "outcome.json", &run->outcome, e) : TT_OK;
}

/* ---- counters ---- */

/* The measured time of a rank on the wall clock; of one that did not finish, as far as it got. The
 * first record tells how long before the start the clocks were read. */
static bool rank_window(const struct tt_rank_records *r, int64_t *from, int64_t *to)
{
    int64_t length;
    bool known = tt_rank_span(r, &length);

    if (r->niterations == 0 || r->iterations[0].start_ns > 0 ||
        __builtin_sub_overflow(r->header.start_wall_ns, r->iterations[0].start_ns, from))
        return false;
    for (size_t i = 0; !known && i < r->niterations; i++) {
        int64_t end;

        if (!__builtin_add_overflow(r->iterations[i].start_ns, r->iterations[i].span_ns, &end) &&
            end > length)
            length = end;
    }
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
    rc = tt_directory_read_plan(directory, &run->plan, e);
    if (rc == TT_OK && json_object_get(run->plan, "id") && !tt_plan_id(directory, run->plan, e))
        rc = TT_CORRUPT;
    if (rc == TT_OK)
        rc = load_outcome(run, e);
    if (rc == TT_OK)
        rc = load_ranks(run, e);
    if (rc == TT_OK)
        rc = check_ranks(run, e);
    if (rc == TT_OK)
        rc = add_up(run, e);
    if (rc == TT_OK)
        judge_end(run);
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
        tt_records_unload(&run->ranks[i]);
    free(run->ranks);
    free(run->seconds);
    free(run->epochs);
    json_decref(run->plan);
    json_decref(run->outcome);
    json_decref(run->counters);
    memset(run, 0, sizeof *run);
}
