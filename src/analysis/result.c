/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/result.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analysis/idle_waves.h"
#include "analysis/latency.h"
#include "analysis/rates.h"
#include "analysis/run_data.h"
#include "analysis/statistics.h"
#include "analysis/tables.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "build_info.h"
#include "launch/launch.h"
#include "plan/directory.h"
#include "plan/members.h"
#include "record/memory.h"
#include "spec/units.h"

static int set(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value);
}

static json_t *metrics_json(const struct tt_run_data *run)
{
    json_t *all = json_object();
    int rc = 0;

    for (int i = 0; i < TT_NMETRICS; i++) {
        const struct tt_value *v = &run->metrics[i];
        json_t *m;

        if (tt_metrics[i].source == TT_FROM_CALLS && v->note && !strcmp(v->note, TT_NO_SUCH_CALL))
            continue;
        m = json_object();
        rc |= set(m, "value", v->known ? json_real(v->value) : json_null());
        rc |= set(m, "unit", json_string(tt_metrics[i].unit));
        if (v->note)
            rc |= set(m, "note", json_string(v->note));
        rc |= set(all, tt_metrics[i].name, m);
    }
    return tt_json_unless(rc, all);
}

static json_t *phases_json(const struct tt_run_data *run)
{
    json_t *all = json_object();
    double *seconds = malloc((run->nranks + 1) * sizeof *seconds);
    int rc = seconds ? 0 : -1;

    for (int p = 0; rc == 0 && p < TT_NPHASES && run->nranks; p++) {
        double median;

        for (size_t r = 0; r < run->nranks; r++)
            seconds[r] = run->seconds[r][p];
        median = tt_median(seconds, run->nranks);
        rc = set(all, tt_phase_names[p],
                 json_pack("{s:f, s:f, s:f, s:f}", "min", seconds[0], "median", median, "max",
                           seconds[run->nranks - 1], "outside", run->outside[p]));
    }
    free(seconds);
    return tt_json_unless(rc, all);
}

static json_t *epoch_json(const void *context, size_t i)
{
    const struct tt_epoch *e = (const struct tt_epoch *)context + i;

    return json_pack("{s:I, s:b, s:b, s:I, s:f, s:f, s:f, s:f, s:f}", "epoch",
                     (json_int_t)e->number, "baseline", e->baseline, "settling", e->settling,
                     "iterations", (json_int_t)e->iterations, "span", e->span, "compute",
                     e->compute, "io", e->io, "visible", e->visible, "bytes", e->bytes);
}

/* All at once, for a directory that cannot be written to: they take thirty times their size. */
static json_t *epochs_json(const struct tt_run_data *run)
{
    json_t *all = json_array();
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < run->nepochs; i++)
        rc = json_array_append_new(all, epoch_json(run->epochs, i));
    return tt_json_unless(rc, all);
}

static json_t *ranks_json(const struct tt_run_data *run)
{
    static const char *const states[] = {"running", "done", "failed", "terminated"};
    json_t *all = json_array();
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < run->nranks; i++) {
        const struct tt_records_header *h = &run->ranks[i].header;

        rc = json_array_append_new(
            all, json_pack("{s:I, s:o, s:I, s:s, s:I, s:O?}", "rank", (json_int_t)h->rank, "host",
                           tt_json_text(h->host), "pid", (json_int_t)h->pid, "state",
                           states[h->state], "start_wall_ns", (json_int_t)h->start_wall_ns, "clock",
                           json_object_get(run->ranks[i].summary, "clock")));
    }
    return tt_json_unless(rc, all);
}

/* Sum over ranks of a number inside a rank's summary: summary[key][name]. */
static double sum_of(const struct tt_run_data *run, const char *key, const char *name, size_t index)
{
    double sum = 0;

    for (size_t i = 0; i < run->nranks; i++) {
        const json_t *group = json_object_get(run->ranks[i].summary, key);

        sum +=
            json_number_value(name ? json_object_get(group, name) : json_array_get(group, index));
    }
    return sum;
}

static json_t *verify_json(const struct tt_run_data *run)
{
    if (!run->nranks || !json_object_get(run->ranks[0].summary, "verify"))
        return json_null();
    return json_pack("{s:f, s:f, s:f}", "blocks", sum_of(run, "verify", "blocks", 0), "bytes",
                     sum_of(run, "verify", "bytes", 0), "wrong_blocks",
                     sum_of(run, "verify", "wrong_blocks", 0));
}

/* Of all ranks together: what each layer took by itself, what came to it, and what it passed on. */
static json_t *layers_json(const struct tt_run_data *run)
{
    const char *names = tt_run_data_parameter(run, "layers");
    json_t *layers = json_array();

    for (size_t i = 0; *names; i++) {
        double n[6];

        for (size_t k = 0; k < 6; k++)
            n[k] = sum_of(run, "layer_costs", NULL, 6 * i + k);
        json_array_append_new(layers,
                              json_pack("{s:s%, s:f, s:f, s:f, s:f, s:f, s:f}", "name", names,
                                        strcspn(names, ","), "seconds", n[0] * 1e-9, "cpu_seconds",
                                        n[1] * 1e-9, "bytes_written", n[2], "passed_on", n[3],
                                        "bytes_read", n[4], "fetched", n[5]));
        names += strcspn(names, ",");
        names += *names == ',';
    }
    return layers;
}

/* ---- how it ended ---- */

static const struct tt_rank_records *first_in_state(const struct tt_run_data *run,
                                                    enum tt_rank_state state)
{
    for (size_t i = 0; i < run->nranks; i++)
        if (run->ranks[i].header.state == state)
            return &run->ranks[i];
    return NULL;
}

static unsigned long long last_iteration(const struct tt_rank_records *r)
{
    unsigned long long last = 0;

    for (size_t i = 0; i < r->niterations + r->nexcluded; i++)
        if (r->iterations[i].iteration > last)
            last = r->iterations[i].iteration;
    return last + r->totals.iterations;
}

/* Ranks are in order, but some may be missing. */
static const struct tt_rank_records *find_rank(const struct tt_run_data *run, uint32_t rank)
{
    size_t first = 0, last = run->nranks;

    while (first < last) {
        size_t middle = first + (last - first) / 2;

        if (run->ranks[middle].header.rank < rank)
            first = middle + 1;
        else
            last = middle;
    }
    return first < run->nranks && run->ranks[first].header.rank == rank ? &run->ranks[first] : NULL;
}

/* A launcher kills the others at once when one rank dies, and knows which was the first: "process
 * rank 1 with PID 12 on node a exited on signal 9", "Process name: [[51,1],1]", "a: task 1:
 * Killed".
 */
static const struct tt_rank_records *first_to_end(const struct tt_run_data *run)
{
    static const struct {
        const char *first, *all;
    } words[] = {{"process rank ", "process rank %u "},
                 {"Process name: ", "Process name: [[%*u,%*u],%u]"},
                 {"task ", "task %u: "}};
    FILE *f = tt_directory_open_file(run->directory, "stderr");
    const struct tt_rank_records *dead;
    char line[512];
    unsigned rank;

    while (f && fgets(line, sizeof line, f))
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            const char *at = strstr(line, words[i].first);

            if (!at || sscanf(at, words[i].all, &rank) != 1)
                continue;
            dead = find_rank(run, rank);
            if (dead && (dead->header.state == TT_RANK_RUNNING ||
                         dead->header.state == TT_RANK_TERMINATED)) {
                fclose(f);
                return dead;
            }
        }
    if (f)
        fclose(f);
    return first_in_state(run, TT_RANK_RUNNING);
}

/* What the records tell of a run that did not say itself how it ended. */
static const char *infer_status(const struct tt_run_data *run, char *why, size_t size)
{
    const struct tt_rank_records *killed = first_in_state(run, TT_RANK_RUNNING);
    const struct tt_rank_records *dead = killed ? first_to_end(run) : NULL;
    const struct tt_rank_records *failed = first_in_state(run, TT_RANK_FAILED);
    unsigned long long missing = 0;
    char words[256];

    if (tt_directory_read_failure(run->directory, why, size))
        return "failed";
    if (dead && dead->header.state == TT_RANK_TERMINATED) {
        snprintf(why, size,
                 "rank %u (pid %u on %s) was told to end by a signal, and the others ended with it",
                 dead->header.rank, dead->header.pid, dead->header.host);
        return "failed";
    }
    if (dead) {
        snprintf(why, size, "rank %u (pid %u on %s) died; its records end at iteration %llu",
                 dead->header.rank, dead->header.pid, dead->header.host, last_iteration(dead));
        return "failed";
    }
    if (failed) {
        snprintf(why, size, "rank %u (pid %u on %s) failed", failed->header.rank,
                 failed->header.pid, failed->header.host);
        return "failed";
    }
    while (missing < run->nranks && run->ranks[missing].header.rank == missing)
        missing++;
    if (first_in_state(run, TT_RANK_TERMINATED)) {
        snprintf(why, size, "the ranks were told to end before they were done");
        return "interrupted";
    }
    tt_job_words(run->directory, words, sizeof words);
    if (run->damage[0])
        snprintf(why, size, "%s", run->damage);
    else if (run->nranks == 0)
        snprintf(why, size, "no rank has started: %s", words);
    else
        snprintf(why, size, "rank %llu left no records", missing);
    return "failed";
}

static const char *known_status(const struct tt_run_data *run)
{
    static const char *const all[] = {"done", "failed", "stopped", "interrupted"};
    const char *status = tt_text_of(run->outcome, "status");

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(status, all[i]))
            return all[i];
    return NULL;
}

/* A guard may have given up on a rank that came back, and said it was done. */
static bool was_ended(const char *directory)
{
    char why[2];

    return tt_directory_read_failure(directory, why, sizeof why);
}

/* Status, error and validity. The ranks' own words are believed unless their records contradict. */
static int judge(const struct tt_run_data *run, json_t *result)
{
    const char *status = known_status(run);
    const char *said = tt_text_of(run->outcome, "error");
    bool dead = first_in_state(run, TT_RANK_RUNNING) != NULL;
    bool wrong = sum_of(run, "verify", "wrong_blocks", 0) > 0;
    char why[1024] = "";
    int rc = 0;

    if (!status || (!strcmp(status, "done") && (!run->finished || was_ended(run->directory))) ||
        (!strcmp(status, "failed") && dead)) {
        status = infer_status(run, why, sizeof why);
        if (*said && strcmp(said, why) && strlen(why) + strlen(said) + 3 < sizeof why)
            snprintf(why + strlen(why), sizeof why - strlen(why), "; %s", said);
    } else {
        snprintf(why, sizeof why, "%s", said);
    }
    rc |= set(result, "status", json_string(status));
    rc |= set(result, "error", why[0] ? tt_json_text(why) : json_null());
    rc |= set(result, "valid", json_boolean(!strcmp(status, "done") && run->finished && !wrong));
    return rc;
}

/* Without an outcome the run may just not be over: its process is still there. */
static const struct tt_rank_records *alive(const struct tt_run_data *run)
{
    for (size_t i = 0; i < run->nranks && !run->outcome; i++) {
        const struct tt_records_header *h = &run->ranks[i].header;

        if (h->state == TT_RANK_RUNNING && tt_records_are_held(run->directory, h))
            return &run->ranks[i];
    }
    return NULL;
}

static json_t *null_for(json_t *made)
{
    return made ? made : json_null();
}

static json_t *or_null(const json_t *value)
{
    return value ? json_deep_copy(value) : json_null();
}

/* Of the first rank; a run without one began when its directory was made, which its id tells. */
static json_t *start_json(const struct tt_run_data *run, const char *id)
{
    struct tm utc = {0};
    int64_t first = 0;
    double seconds;
    char text[TT_TIME_TEXT];

    for (size_t i = 0; i < run->nranks; i++) {
        int64_t start = (int64_t)run->ranks[i].header.start_wall_ns;

        if (start > 0 && (!first || start < first))
            first = start;
    }
    seconds = first                                  ? (double)first * 1e-9
              : strptime(id, "%Y%m%dT%H%M%SZ", &utc) ? (double)timegm(&utc)
                                                     : 0;
    return seconds > 0 ? json_string(tt_format_time(seconds, text)) : json_null();
}

static int fill(const struct tt_run_data *run, json_t *result)
{
    const char *label = tt_run_data_parameter(run, "label");
    const char *id = tt_text_of(run->plan, "id");
    json_t *warnings = json_array();
    int rc = 0;

    id = *id ? id : tt_directory_id(run->directory);
    rc |= set(result, "tutti",
              json_pack("{s:s, s:s, s:i}", "version", TT_VERSION, "revision", TT_REVISION, "format",
                        TT_RESULT_FORMAT));
    rc |= set(result, "id", tt_json_text(id));
    rc |= set(result, "start", start_json(run, id));
    rc |= set(result, "label", label[0] ? json_string(label) : json_null());
    rc |= set(result, "directory", tt_json_text(run->directory));
    rc |= judge(run, result);
    rc |= set(result, "plan", or_null(run->plan));
    rc |= set(result, "metrics", metrics_json(run));
    rc |= set(result, "phases", phases_json(run));
    rc |= set(result, "calls", tt_calls_json(run));
    rc |= set(result, "rates", tt_rates_json(run));
    rc |= set(result, "files", tt_files_json(run));
    rc |= set(result, "epochs", json_null()); /* only in the file */
    rc |= set(result, "excluded",
              json_pack("{s:I, s:I, s:f, s:f}", "epochs", (json_int_t)run->excluded.epochs, "of",
                        (json_int_t)run->nepochs, "seconds", run->excluded.seconds, "bytes_written",
                        run->excluded.bytes_written));
    rc |= set(result, "last_to_arrive", null_for(tt_last_to_arrive(run)));
    rc |= set(result, "reduced",
              json_pack("{s:I, s:I}", "iterations", (json_int_t)run->nreduced, "whole",
                        (json_int_t)tt_run_data_whole(run)));
    rc |= set(result, "facts", run->facts ? json_deep_copy(run->facts) : json_array());
    rc |= set(result, "library_bytes",
              json_pack("{s:f, s:f}", "written", sum_of(run, "library_bytes", NULL, 0), "read",
                        sum_of(run, "library_bytes", NULL, 1)));
    rc |= set(result, "layers", layers_json(run));
    rc |= set(result, "verify", verify_json(run));
    rc |= set(result, "counters", or_null(run->counters));
    rc |= tt_warnings_collect(run, warnings);
    rc |= set(result, "warnings", warnings);
    rc |= set(result, "environment", or_null(run->environment));
    rc |= set(result, "overlap", or_null(run->overlap));
    rc |= set(result, "tables", run->tables ? json_deep_copy(run->tables) : json_object());
    rc |= set(result, "columns", tt_tables_described(run->plan));
    rc |= set(result, "ranks", ranks_json(run));
    return rc;
}

const char *tt_result_parameter(const json_t *result, const char *key)
{
    return tt_text_of(tt_member_at(result, "plan/parameters"), key);
}

double tt_result_setting(const json_t *result, const char *key)
{
    double value = 0;

    return sscanf(tt_result_parameter(result, key), "%lf", &value) == 1 ? value : 0;
}

double tt_result_metric(const json_t *result, const char *name)
{
    return tt_number_of(json_object_get(json_object_get(result, "metrics"), name), "value");
}

int tt_result_of(struct tt_run_data *run, json_t **result, struct tt_error *e)
{
    const struct tt_rank_records *running = alive(run);
    json_t *made, *waves = NULL;
    int rc;

    if (running)
        return tt_fail(e, TT_BUSY, "'%s' is still running (rank %u is process %u)", run->directory,
                       running->header.rank, running->header.pid);
    rc = tt_run_data_load_counters(run, e);
    if (rc != TT_OK)
        return rc;
    rc = tt_idle_waves_of(run, &waves, e);
    if (rc != TT_OK)
        return rc;
    made = json_object();
    if (set(made, "idle_waves", null_for(waves)) != 0 || fill(run, made) != 0)
        rc = tt_fail_nomem(e, "the result");
    else
        rc = tt_members_write(run->directory, "result.json", made, "epochs", run->nepochs,
                              epoch_json, run->epochs, e);
    if (rc != TT_OK && rc != TT_NOMEM && set(made, "epochs", epochs_json(run)) != 0)
        rc = tt_fail_nomem(e, "the result");
    if (rc != TT_NOMEM)
        *result = json_incref(made);
    json_decref(made);
    return rc;
}

static bool is_of_origin(const char *key)
{
    return !strcmp(key, "tutti") || !strcmp(key, "status");
}

/* Whether there is a result of a run that ended well, made under other definitions. */
static bool has_older_result(const char *directory)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    json_t *old = NULL;
    bool older = tt_members_read(directory, "result.json", is_of_origin, &old, &ignored) == TT_OK &&
                 !strcmp(tt_text_of(old, "status"), "done") &&
                 json_integer_value(json_object_get(json_object_get(old, "tutti"), "format")) !=
                     TT_RESULT_FORMAT;

    json_decref(old);
    return older;
}

/* An older result is not replaced by one made from nothing. */
static int cannot_make_again(const char *directory, const char *why, struct tt_error *e)
{
    return tt_fail(e, TT_FAILED,
                   "the result of '%s' stands on older definitions of metrics, and cannot be made "
                   "again: %s",
                   directory, why);
}

int tt_result_make(const char *directory, json_t **result, struct tt_error *e)
{
    struct tt_error why = TT_ERROR_CLEAR;
    struct tt_run_data run;
    json_t *made = NULL;
    char text[400];
    int rc = tt_run_data_load(&run, directory, &why);

    if (rc != TT_OK) {
        tt_error_format(&why, text, sizeof text);
        if (rc != TT_NOMEM && has_older_result(directory))
            return cannot_make_again(directory, text, e);
        *e = why;
        return rc;
    }
    if (run.nranks == 0 && has_older_result(directory)) {
        snprintf(text, sizeof text, "%.380s", run.damage[0] ? run.damage : "its records are gone");
        tt_run_data_free(&run);
        return cannot_make_again(directory, text, e);
    }
    rc = tt_result_of(&run, &made, e);
    tt_run_data_free(&run);
    if (result)
        *result = json_incref(made);
    json_decref(made);
    return rc;
}
