/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti analyze: how a metric of many runs is distributed, and what matters for it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analyze.h"
#include "analysis/compare.h"
#include "analysis/metrics.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/choose.h"
#include "cli/command.h"
#include "report/outfile.h"
#include "report/report.h"
#include "spec/param.h"

#define SEED 1

enum over { OVER_AUTO, OVER_MEDIAN, OVER_SLOWEST };
static const char *const overs[] = {"auto", "median", "slowest", NULL};

struct analyze {
    char *metric, *json, *csv;
    struct tt_words by;
    int over;
};

#define AT(member) offsetof(struct analyze, member)
static const struct tt_param params[] = {
    {"metric", TT_PARAM_TEXT, AT(metric), NULL, NULL,
     "a metric, one value a run; or phases, one value a rank and iteration: io_write+io_sync, "
     "span; "
     "default: the time of writing, else of reading, else of an iteration",
     .placeholder = "NAME"},
    {"by", TT_PARAM_WORDS, AT(by), NULL, NULL,
     "ask only whether these matter: rank, frame, or keys; default: rank, frame and every key that "
     "varies",
     .placeholder = "KEY,..."},
    {"over", TT_PARAM_CHOICE, AT(over), "auto", NULL,
     "a frame takes as long as the median or the slowest of its ranks; auto: the median for the "
     "workload frames, else the slowest",
     .choices = overs},
    {"csv", TT_PARAM_TEXT, AT(csv), NULL, NULL,
     "write densities, distribution functions and quantiles, of all frames and by key",
     .placeholder = "FILE"},
    {"json", TT_PARAM_TEXT, AT(json), NULL, NULL,
     "write all numbers; -: to stdout, instead of the text", .placeholder = "FILE"},
    {NULL},
};

/* ---- what is measured ---- */

/* How values are taken from runs. */
struct source {
    const struct tt_metric *stored; /* NULL: phases from the records */
    uint32_t phases;
    bool usual; /* phases that nobody named: with opening where that counts */
};

static bool moved(struct tt_store *s, const struct tt_run_rows *rows, const char *metric)
{
    struct tt_error ignored = TT_ERROR_CLEAR;

    for (size_t i = 0; i < rows->n; i++) {
        bool known = false;
        double value = 0;

        if (rows->rows[i].valid &&
            tt_store_metric(s, rows->rows[i].key, metric, &known, &value, &ignored) == TT_OK &&
            known)
            return value > 0;
    }
    return false;
}

/* What the runs are about: what they wrote, else what they read, else their iterations. */
static void choose_usual(struct tt_store *s, const struct tt_run_rows *rows, struct source *from,
                         struct tt_analysis *a)
{
    from->usual = true;
    if (moved(s, rows, "bytes_written")) {
        from->phases = 1u << TT_IO_WRITE | 1u << TT_IO_SYNC;
        a->metric = "io_write+io_sync, and open where it counts";
        a->what = "write time of a frame";
    } else if (moved(s, rows, "bytes_read")) {
        from->phases = 1u << TT_IO_READ;
        a->metric = "io_read";
        a->what = "read time of a frame";
    } else {
        from->phases = TT_TIMES_SPAN;
        a->metric = "span";
        a->what = "time of an iteration";
    }
}

static int choose_source(const char *metric, struct tt_store *s, const struct tt_run_rows *rows,
                         struct source *from, struct tt_analysis *a, struct tt_error *e)
{
    a->unit = "s";
    if (!metric) {
        choose_usual(s, rows, from, a);
        return TT_OK;
    }
    a->metric = metric;
    a->what = "time of these phases in a frame";
    from->stored = tt_find_metric(metric);
    if (!from->stored)
        return tt_times_parse(metric, &from->phases, e);
    a->unit = from->stored->unit;
    a->what = from->stored->label;
    a->stored = true;
    return TT_OK;
}

/* ---- what varies ---- */

static int add_key(struct tt_analysis *a, const char *key, struct tt_error *e)
{
    char **grown = realloc(a->keys, (a->nkeys + 1) * sizeof *grown);

    if (grown)
        a->keys = grown;
    if (!grown || !(a->keys[a->nkeys] = strdup(key)))
        return tt_fail_nomem(e, "keys");
    a->nkeys++;
    return TT_OK;
}

static bool has_key(const struct tt_analysis *a, const char *key)
{
    for (size_t k = 0; k < a->nkeys; k++)
        if (!strcmp(a->keys[k], key))
            return true;
    return false;
}

/* A key of filters, asked for: an error if nobody knows it. One that is short for several is all of
 * them. */
static int add_wanted(struct tt_analysis *a, struct tt_store *s, const char *word,
                      struct tt_error *e)
{
    char *keys, *rest, *key;
    int rc;

    if (!strcmp(word, "rank") || !strcmp(word, "frame")) {
        *(*word == 'r' ? &a->ranks : &a->frames) = true;
        return a->stored ? tt_fail(e, TT_USAGE,
                                   "--by %s: '%.40s' has one value a run; take phases, such as "
                                   "--metric io_write",
                                   word, a->metric)
                         : TT_OK;
    }
    rc = tt_store_whole_keys(s, "--by", word, &keys, e);
    rest = keys;
    while (rc == TT_OK && (key = strsep(&rest, ",")))
        rc = has_key(a, key) ? TT_OK : add_key(a, key, e);
    free(keys);
    return rc;
}

/* Those that are asked for, then what else varies: that has to be alike where the former are
 * compared. */
static int choose_keys(const struct tt_words *by, struct tt_store *s,
                       const struct tt_run_rows *rows, struct tt_analysis *a, struct tt_error *e)
{
    static const char *const harmless[] = {"seed", "keep", "context", "module", "trace", NULL};
    json_t *varied = NULL, *key;
    int rc = TT_OK;
    size_t i;

    a->ranks = a->frames = by->n == 0 && !a->stored;
    for (i = 0; rc == TT_OK && i < by->n; i++)
        rc = add_wanted(a, s, by->words[i], e);
    a->ntested = a->nkeys;
    if (rc == TT_OK)
        rc = tt_store_varied(s, rows, &varied, e);
    json_array_foreach(varied, i, key)
    {
        const char *name = json_string_value(key);

        if (rc == TT_OK && !tt_is_silent_key(name) && !tt_has_word(harmless, name) &&
            !has_key(a, name))
            rc = add_key(a, name, e);
    }
    json_decref(varied);
    if (by->n == 0)
        a->ntested = a->nkeys;
    return rc;
}

/* Each run that was asked for a time of computation finds its own count; they were asked for the
 * same. */
static void forget_calibration(char *level)
{
    struct tt_passes p;

    if (level && strchr(level, '=') && tt_passes_read(level, &p))
        *strchr(level, '=') = '\0';
}

static int take_level(struct tt_store *s, const struct tt_run_row *row, const char *key,
                      char **level, struct tt_error *e)
{
    const struct {
        const char *key, *value;
    } own[] = {{"label", row->label}, {"workload", row->workload}, {"plan", row->plan_hash},
               {"id", row->id},       {"status", row->status},     {"directory", row->directory}};
    int kind, rc;

    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!strcmp(key, own[i].key)) {
            *level = strdup(own[i].value);
            return *level ? TT_OK : tt_fail_nomem(e, "a level");
        }
    rc = tt_store_kind(s, key, &kind, e);
    if (rc == TT_OK && kind < 0)
        return tt_fail(e, TT_USAGE, "--by %.40s: it is no parameter of runs", key);
    if (rc == TT_OK)
        rc = tt_store_text(s, row->key, (enum tt_stored)kind, key, level, e);
    forget_calibration(*level);
    return rc;
}

/* ---- runs ---- */

static int leave_out(struct tt_analysis *a, const char *id, const char *reason, struct tt_error *e)
{
    json_t *one = json_pack("{s:o, s:o}", "id", tt_json_text(id), "reason", tt_json_text(reason));

    return json_array_append_new(a->left_out, one) == 0 ? TT_OK : tt_fail_nomem(e, "a run");
}

/* The parameter WORKLOAD.NAME of a run, or NULL. */
static char *own_parameter(struct tt_store *s, const struct tt_run_row *row, const char *name)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    char key[128], *value = NULL;

    snprintf(key, sizeof key, "%s.%s", row->workload, name);
    tt_store_parameter(s, row->key, key, &value, &ignored);
    return value;
}

/* The frames of a run, without those that the workload itself leaves out; with a usual source also
 * the time of opening where the workload counts it. */
static int load_times(struct tt_store *s, const struct tt_run_row *row, const struct source *from,
                      struct tt_times *out, struct tt_error *e)
{
    char *drop = own_parameter(s, row, "drop_first"), *style = own_parameter(s, row, "style");
    uint32_t phases = from->phases;
    int rc;

    if (from->usual && phases & 1u << TT_IO_WRITE && style && !strcmp(style, "file+open"))
        phases |= 1u << TT_OPEN;
    rc = tt_times_load(row->directory, phases, drop ? strtoul(drop, NULL, 10) : 0, out, e);
    free(drop);
    free(style);
    return rc;
}

static int load_metric(struct tt_store *s, const struct tt_run_row *row, const struct source *from,
                       struct tt_times *out, struct tt_error *e)
{
    bool known = false;
    double value;
    int rc = tt_store_metric(s, row->key, from->stored->name, &known, &value, e);

    *out = (struct tt_times){0};
    if (rc != TT_OK || !known || !isfinite(value))
        return rc;
    *out = (struct tt_times){1, 1, calloc(1, sizeof *out->frames), malloc(sizeof *out->values)};
    if (!out->frames || !out->values) {
        tt_times_free(out);
        return tt_fail_nomem(e, "a value");
    }
    out->values[0] = value;
    return TT_OK;
}

/* A run whose directory cannot be read, or which did not measure it, is left out with the reason.
 */
static int take_run(struct tt_store *s, const struct tt_run_row *row, const struct source *from,
                    struct tt_analysis *a, struct tt_error *e)
{
    struct tt_analyzed_run *run = &a->runs[a->nruns];
    struct tt_error why = TT_ERROR_CLEAR;
    char reason[600];
    int rc = from->stored ? load_metric(s, row, from, &run->times, &why)
                          : load_times(s, row, from, &run->times, &why);

    if (rc == TT_NOMEM)
        return tt_fail_nomem(e, "a run");
    if (rc != TT_OK) {
        tt_error_format(&why, reason, sizeof reason);
        return leave_out(a, row->id, reason, e);
    }
    if (!run->times.nframes)
        return leave_out(a, row->id, from->stored ? "not measured" : "no such time", e);
    a->nruns++;
    run->id = strdup(row->id);
    run->levels = calloc(a->nkeys + 1, sizeof *run->levels);
    if (!run->id || !run->levels)
        return tt_fail_nomem(e, "a run");
    rc = TT_OK;
    for (size_t k = 0; rc == TT_OK && k < a->nkeys; k++)
        rc = take_level(s, row, a->keys[k], &run->levels[k], e);
    return rc;
}

static int take_runs(struct tt_store *s, const struct tt_run_rows *rows, const struct source *from,
                     struct tt_analysis *a, struct tt_error *e)
{
    int rc = TT_OK;

    a->left_out = json_array();
    a->runs = calloc(rows->n + 1, sizeof *a->runs);
    if (!a->left_out || !a->runs)
        return tt_fail_nomem(e, "runs");
    for (size_t i = 0; rc == TT_OK && i < rows->n; i++)
        rc = rows->rows[i].valid ? take_run(s, &rows->rows[i], from, a, e)
                                 : leave_out(a, rows->rows[i].id, rows->rows[i].status, e);
    if (rc != TT_OK || a->nruns)
        return rc;
    return tt_fail(e, TT_FAILED, "none of %zu runs has a %.60s; the first one is left out: %.200s",
                   rows->n, a->what,
                   json_string_value(json_object_get(json_array_get(a->left_out, 0), "reason")));
}

/* ---- where they were measured ---- */

/* How many machines and the like the runs are of, where there are several: {"machines": 2}. */
static int find_mixed(struct tt_store *s, const struct tt_run_rows *rows, json_t *analysis,
                      struct tt_error *e)
{
    static const struct {
        const char *key, *what;
    } kinds[] = {{"host", "machines"},
                 {"version", "versions of tutti"},
                 {"kernel", "kernels"},
                 {"data.mount", "stores"}};
    enum { NKINDS = sizeof kinds / sizeof *kinds };
    json_t *values[NKINDS], *mixed = json_object();
    int rc = mixed ? TT_OK : tt_fail_nomem(e, "environments");

    for (int k = 0; k < NKINDS; k++)
        values[k] = json_object();
    for (size_t i = 0; rc == TT_OK && i < rows->n; i++) {
        json_t *environment = NULL;

        if (rows->rows[i].valid)
            rc = tt_store_environment(s, rows->rows[i].key, &environment, e);
        for (int k = 0; environment && k < NKINDS; k++)
            json_object_set_new(values[k], tt_text_of(environment, kinds[k].key), json_true());
        json_decref(environment);
    }
    for (int k = 0; k < NKINDS; k++) {
        if (json_object_size(values[k]) > 1)
            json_object_set_new(mixed, kinds[k].what,
                                json_integer((json_int_t)json_object_size(values[k])));
        json_decref(values[k]);
    }
    json_object_set_new(analysis, "mixed", mixed);
    return rc;
}

/* ---- doing it ---- */

static int analyze(const struct analyze *o, struct tt_store *s, const struct tt_run_rows *rows,
                   struct tt_analysis *a, struct tt_error *e)
{
    struct source from = {0};
    json_t *analysis = NULL;
    int rc = choose_source(o->metric, s, rows, &from, a, e);

    a->slowest = o->over == OVER_SLOWEST ||
                 (o->over == OVER_AUTO && rows->n && strcmp(rows->rows[0].workload, "frames") != 0);
    if (rc == TT_OK)
        rc = choose_keys(&o->by, s, rows, a, e);
    if (rc == TT_OK)
        rc = take_runs(s, rows, &from, a, e);
    if (rc == TT_OK)
        rc = tt_analysis_join_keys(a, e);
    if (rc == TT_OK)
        rc = tt_analyze(a, &analysis, e);
    if (rc == TT_OK)
        rc = find_mixed(s, rows, analysis, e);
    if (rc == TT_OK && o->csv)
        rc = tt_report_curves(o->csv, analysis, e);
    json_object_del(analysis, "plots");
    if (rc == TT_OK && !tt_is_stdout(o->json) && !tt_is_stdout(o->csv))
        tt_report_analysis(stdout, analysis);
    if (rc == TT_OK && o->json)
        rc = tt_outfile_json(o->json, analysis, e);
    json_decref(analysis);
    return rc;
}

static int run(struct tt_invocation *call, struct tt_error *e)
{
    const struct analyze *o = call->opts;
    struct tt_analysis a = {.seed = SEED, .plots = o->csv != NULL};
    struct tt_run_rows rows = {0};
    struct tt_store *s = NULL;
    char *given = NULL;
    int rc = tt_outfiles_check(o->json, o->csv, e);

    if (rc == TT_OK)
        rc = tt_choose_some_runs(call->nwords, call->words, &s, &rows, e);
    if (rc == TT_OK) {
        a.given = given =
            call->nwords ? tt_choice_text(call->nwords, call->words) : strdup(TT_DEFAULT_RESULTS);
        rc = given ? TT_OK : tt_fail_nomem(e, "a name");
    }
    if (rc == TT_OK)
        rc = analyze(o, s, &rows, &a, e);
    tt_analysis_free(&a);
    tt_run_rows_free(&rows);
    tt_store_close(s);
    free(given);
    return rc;
}

const struct tt_command tt_command_analyze = {
    .name = "analyze",
    .summary = "how times are distributed, and what matters for them",
    .synopsis = "tutti analyze [DIR] [FILTER ...] [--metric NAME] [--by KEY,...]",
    .text =
        "Describe one metric of the runs in DIR (tutti-runs, or one run directory) that match "
        "every filter: median with its interval, quantiles, normality, modes, drift and changes "
        "within runs; and test whether rank, frame, or a key that varies matters. The run is "
        "the unit: frames of one run are not independent.",
    .run = run,
    .options = &(const struct tt_options){params, sizeof(struct analyze)},
    .max_words = TT_MAX_CHOICE_WORDS,
};
