/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti watch: one run a night, held against those of the nights before. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analysis/canary.h"
#include "analysis/compare.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/run.h"
#include "plan/config.h"
#include "plan/directory.h"
#include "report/junit.h"
#include "report/outfile.h"
#include "report/paragraph.h"
#include "spec/units.h"
#include "store/store.h"

#define LOCK_FILE "watch.lock"
#define FALSE_ALARMS 0.01
#define SEED 1
/* What changed is told of so many keys. */
#define MAX_CHANGES 8

struct watch {
    struct tt_words metrics;
    struct tt_space margin;
    uint64_t history;
    char *since, *junit;
    bool always;
};

#define AT(member) offsetof(struct watch, member)
static const struct tt_param watch_params[] = {
    {"metric", TT_PARAM_WORDS, AT(metrics), "runtime", NULL,
     "what is watched; with several, each gets its part of the false alarms"},
    {"history", TT_PARAM_COUNT, AT(history), "60", "runs",
     "so many runs before this one are looked at", 1, 100000},
    {"margin", TT_PARAM_SPACE, AT(margin), "3%", NULL, "smaller changes count as none",
     .placeholder = "SHARE"},
    {"since", TT_PARAM_TEXT, AT(since), NULL, NULL,
     "leave out runs that began before, since a change was meant", .placeholder = "DATE"},
    {"always", TT_PARAM_BOOL, AT(always), "no", NULL,
     "say where the run lies also when all is well"},
    {"junit", TT_PARAM_TEXT, AT(junit), NULL, NULL,
     "file for the verdict on each metric, as JUnit XML; -: stdout", .placeholder = "FILE"},
    {0},
};
#undef AT

static const struct tt_component watch_component = {
    .name = "watch",
    .summary = "what a canary run is held against",
    .params = watch_params,
    .opts_size = sizeof(struct watch),
};

/* ---- settings ---- */

/* "watch.metric" of the file, "metric" of the command line; NULL: it is the run's. */
static const struct tt_param *own_param(const struct tt_setting *s, bool is_word)
{
    const char *key = !strncmp(s->key, "watch.", 6) ? s->key + 6 : is_word ? s->key : "";

    return tt_param_find(watch_params, key);
}

static int take(const struct tt_settings *from, bool are_words, struct watch *o,
                struct tt_settings *job, struct tt_error *e)
{
    int rc = TT_OK;

    for (size_t i = 0; i < from->n && rc == TT_OK; i++) {
        const struct tt_setting *s = &from->list[i];
        const struct tt_param *own = own_param(s, are_words);

        if (!own && !strncmp(s->key, "watch.", 6))
            rc = tt_fail(e, TT_USAGE, "%.200s: watch has no key '%.40s'%s", s->place, s->key + 6,
                         TT_DID_YOU_MEAN(tt_nearest_key(s->key + 6, watch_params)));
        else if (own)
            rc = tt_setting_apply(s, own, o, e);
        else
            rc = tt_settings_add(job, s->key, s->value, s->place, e);
    }
    return rc;
}

static int check(const struct watch *o, const struct tt_settings *job, struct tt_error *e)
{
    struct tt_error why = TT_ERROR_CLEAR;
    double since, length;
    size_t least;

    if (tt_asks_for_repetitions(job))
        return tt_fail(e, TT_USAGE,
                       "watch makes one run a night: leave out repeat, stop_when and require");
    if (o->metrics.n == 0)
        return tt_fail(e, TT_USAGE, "watch.metric names no metric");
    for (size_t i = 0; i < o->metrics.n; i++) {
        const struct tt_metric *m = tt_find_metric(o->metrics.words[i]);

        if (!m)
            return tt_fail(e, TT_USAGE, "watch.metric: there is no metric '%.40s'%s",
                           o->metrics.words[i],
                           TT_DID_YOU_MEAN(TT_NEAREST_ROW(o->metrics.words[i], tt_metrics)));
        if (m->direction.better == TT_BETTER_NEITHER)
            return tt_fail(e, TT_USAGE, "watch.metric: %s has no better or worse", m->name);
    }
    least = tt_canary_least(FALSE_ALARMS / (double)o->metrics.n) - 1;
    if (o->history < least)
        return tt_fail(e, TT_USAGE,
                       "watch.history is too short to tell anything of %zu metric%s: use %zu or "
                       "more",
                       o->metrics.n, o->metrics.n == 1 ? "" : "s", least);
    if (o->margin.bytes > 0 || o->margin.percent >= 100)
        return tt_fail(e, TT_USAGE, "watch.margin is a share such as 3%%");
    if (o->since && tt_parse_time(o->since, &since, &length, &why) != TT_OK)
        return tt_fail(e, TT_USAGE, "watch.since: %s", why.text);
    if (o->since && since > (double)time(NULL))
        return tt_fail(e, TT_USAGE, "watch.since: '%.40s' is in the future", o->since);
    return o->junit ? tt_outfile_check(o->junit, e) : TT_OK;
}

static int read_file(const struct tt_invocation *call, struct watch *o, struct tt_settings *job,
                     char **workload, struct tt_error *e)
{
    struct tt_settings file = {0};
    int rc;

    if (call->nwords == 0)
        return tt_fail(e, TT_USAGE, "watch what? tutti watch FILE.yaml, with a run in it");
    rc = tt_read_yaml(call->words[0], &file, workload, e);
    if (rc == TT_OK && !*workload)
        rc = tt_fail(e, TT_USAGE, "%s names no workload; add a line such as 'workload: bulk'",
                     call->words[0]);
    if (rc == TT_OK)
        rc = take(&file, false, o, job, e);
    if (rc == TT_OK)
        rc = take(&call->settings, true, o, job, e);
    if (rc == TT_OK)
        rc = check(o, job, e);
    tt_settings_free(&file);
    return rc;
}

/* ---- the run ---- */

/* Two runs at once would disturb each other. Held until the descriptor is closed. */
static int lock(const char *results, int *fd, struct tt_error *e)
{
    if (mkdir(results, 0777) != 0 && errno != EEXIST)
        return tt_fail_call(e, errno, "mkdir", results, -1);
    *fd = tt_directory_open(results, LOCK_FILE, O_CREAT | O_RDWR);
    if (*fd < 0)
        return tt_directory_fail(results, LOCK_FILE, errno, "open", e);
    if (flock(*fd, LOCK_EX | LOCK_NB) == 0)
        return TT_OK;
    return tt_fail(e, TT_BUSY, "another tutti watches with results in '%.200s'; try again later",
                   results);
}

/* What the history is found by. */
struct tonight {
    char *id, *plan, *label, *workload;
    json_t *parameters;
};

static void keep(FILE *out, const json_t *result, void *context)
{
    struct tonight *t = context;

    (void)out;
    t->id = strdup(tt_text_of(result, "id"));
    t->plan = strdup(tt_text_of(json_object_get(result, "plan"), "hash"));
    t->label = strdup(tt_text_of(result, "label"));
    t->workload = strdup(tt_text_of(json_object_get(result, "plan"), "workload"));
    t->parameters = json_incref(json_object_get(json_object_get(result, "plan"), "parameters"));
}

/* ---- the history ---- */

/* Valid runs, oldest first, tonight's last. */
struct history {
    struct tt_store *store;
    struct tt_run_rows rows; /* all that were found */
    size_t n;
    const struct tt_run_row **runs;
    size_t invalid, unmeasured; /* left out */
    size_t others;              /* runs of the same label and another plan */
    char other[200];            /* what makes the last of them so */
};

static void free_history(struct history *h)
{
    free(h->runs);
    tt_run_rows_free(&h->rows);
    tt_store_close(h->store);
}

static const char *value_of(const json_t *parameters, const char *key)
{
    const char *text = tt_text_of(parameters, key);

    return *text ? text : "not set";
}

/* "bulk.block is 2097152 there, 1048576 here" */
static int say_difference(struct history *h, const struct tt_run_row *there,
                          const struct tonight *t, struct tt_error *e)
{
    json_t *parameters = NULL;
    const char *key;
    int rc = tt_store_parameters(h->store, there->key, &parameters, e);

    if (rc == TT_OK && strcmp(there->workload, t->workload) != 0)
        snprintf(h->other, sizeof h->other, "workload is %.40s there, %.40s here", there->workload,
                 t->workload);
    else if (rc == TT_OK && tt_parameters_differ(parameters, t->parameters, 1, &key) > 0)
        snprintf(h->other, sizeof h->other, "%.60s is %.40s there, %.40s here", key,
                 value_of(parameters, key), value_of(t->parameters, key));
    else
        snprintf(h->other, sizeof h->other, "another version of tutti wrote theirs");
    json_decref(parameters);
    return rc;
}

/* Of the runs with the label, those of another plan. */
static int look_at_others(struct history *h, const struct tt_run_rows *all, const struct tonight *t,
                          struct tt_error *e)
{
    const struct tt_run_row *last = NULL;

    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->rows[i].plan_hash, t->plan) != 0) {
            last = &all->rows[i];
            h->others++;
        }
    return last ? say_difference(h, last, t, e) : TT_OK;
}

static int find_rows(struct history *h, const struct tonight *t, const struct watch *o,
                     struct tt_error *e)
{
    char plan[64], *label = NULL, *since = NULL;
    const char *filters[3] = {plan};
    size_t n = 1;
    int rc = TT_OK;

    snprintf(plan, sizeof plan, "plan=%s", t->plan);
    if (*t->label && asprintf(&label, "label=%s", t->label) >= 0)
        filters[n++] = label;
    if (o->since && asprintf(&since, "start>=%s", o->since) >= 0)
        filters[n++] = since;
    if ((*t->label && !label) || (o->since && !since))
        rc = tt_fail_nomem(e, "the history");
    if (rc == TT_OK)
        rc = tt_store_find(h->store, n, filters, &h->rows, e);
    if (rc == TT_OK && label) {
        struct tt_run_rows all = {0};

        rc = tt_store_find(h->store, n - 1, filters + 1, &all, e);
        if (rc == TT_OK)
            rc = look_at_others(h, &all, t, e);
        tt_run_rows_free(&all);
    }
    free(label);
    free(since);
    return rc;
}

/* Tonight's is the last, also if clocks were set back. */
static void move_to_end(struct history *h, const char *id)
{
    for (size_t i = 0; i < h->n; i++)
        if (!strcmp(h->runs[i]->id, id)) {
            const struct tt_run_row *own = h->runs[i];

            memmove(h->runs + i, h->runs + i + 1, (h->n - 1 - i) * sizeof *h->runs);
            h->runs[h->n - 1] = own;
            return;
        }
}

static int load_history(struct history *h, const char *results, const struct tonight *t,
                        const struct watch *o, struct tt_error *e)
{
    struct tt_error stale = TT_ERROR_CLEAR;
    struct tt_index_report report;
    int rc = tt_store_open_updated(results, &h->store, &report, &stale, e);

    if (rc == TT_OK)
        rc = find_rows(h, t, o, e);
    if (rc == TT_OK && !(h->runs = calloc(h->rows.n + 1, sizeof *h->runs)))
        rc = tt_fail_nomem(e, "the history");
    if (rc != TT_OK)
        return rc;
    for (size_t i = 0; i < h->rows.n; i++)
        if (h->rows.rows[i].valid)
            h->runs[h->n++] = &h->rows.rows[i];
        else
            h->invalid++;
    move_to_end(h, t->id);
    if (h->n == 0 || strcmp(h->runs[h->n - 1]->id, t->id))
        return tt_fail(e, TT_FAILED, "the run %s is not in the index of '%.200s'%s%s", t->id,
                       results, stale.code ? ": " : "; see tutti index", stale.text);
    if (h->n > o->history + 1) {
        memmove(h->runs, h->runs + h->n - (o->history + 1), (o->history + 1) * sizeof *h->runs);
        h->n = o->history + 1;
    }
    return TT_OK;
}

/* ---- the verdict ---- */

static const char *day_of(const struct tt_run_row *run, char out[TT_TIME_TEXT])
{
    tt_format_time(run->start_seconds, out);
    out[strlen("2026-11-16T22:33")] = '\0';
    return out;
}

static int load_environments(struct tt_store *s, const struct tt_run_row *const *runs, size_t n,
                             struct tt_compared_set *out, struct tt_error *e)
{
    int rc = TT_OK;

    for (size_t i = 0; i < n && rc == TT_OK; i++) {
        struct tt_compared_run *run = tt_compared_add(out);

        rc = run ? tt_store_environment(s, runs[i]->key, &run->environment, e)
                 : tt_fail_nomem(e, "a run");
    }
    return rc;
}

/* Whether no value of b occurs in a: the hosts of a cluster come and go, and are not new. */
static bool is_new(const json_t *difference)
{
    const json_t *a = json_object_get(difference, "a"), *b = json_object_get(difference, "b");
    const json_t *x, *y;
    size_t i, k;

    json_array_foreach(b, i, x)
    {
        json_array_foreach(a, k, y)
        {
            if (json_equal(x, y))
                return false;
        }
    }
    return true;
}

static const char *last_value(const json_t *difference, const char *side)
{
    const json_t *values = json_object_get(difference, side);
    const char *text = json_string_value(json_array_get(values, json_array_size(values) - 1));

    return text && *text ? text : "nothing";
}

/* What no run before had, and the runs since have. */
static int say_changes(const struct history *h, const struct tt_canary *c, struct tt_paragraph *p,
                       struct tt_error *e)
{
    struct tt_compared_set before = {0}, after = {0};
    json_t *list = NULL;
    const json_t *one;
    size_t i, said = 0;
    int rc = load_environments(h->store, h->runs + c->from, c->n, &before, e);

    if (rc == TT_OK)
        rc = load_environments(h->store, h->runs + c->since, h->n - c->since, &after, e);
    if (rc == TT_OK && !(list = tt_compare_environments(&before, &after)))
        rc = tt_fail_nomem(e, "what changed");
    json_array_foreach(list, i, one)
    {
        if (!is_new(one) || said++ >= MAX_CHANGES)
            continue;
        tt_paragraph_add(p, "%s %s from %.60s to %.60s", said == 1 ? " What changed with it:" : ";",
                         tt_text_of(one, "key"), last_value(one, "a"), last_value(one, "b"));
    }
    if (rc == TT_OK && said > MAX_CHANGES)
        tt_paragraph_add(p, "; and %zu more", said - MAX_CHANGES);
    if (rc == TT_OK)
        tt_paragraph_add(p,
                         said ? "." : " Nothing that results tell of the system changed with it.");
    json_decref(list);
    tt_compared_free(&before);
    tt_compared_free(&after);
    return rc;
}

/* Why the history has fewer runs than came before. */
static void say_left_out(const struct history *h, const struct tt_canary *c, struct tt_paragraph *p)
{
    const struct {
        size_t n;
        const char *why;
    } parts[] = {{h->n - 1 - c->from - c->n, "judged together with tonight's"},
                 {c->from, "from before the level changed"},
                 {h->unmeasured, "without it"},
                 {h->invalid, "not valid"}};
    bool said = false;

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].n > 0) {
            tt_paragraph_add(p, "%s %zu %s", said ? "," : " (left out:", parts[i].n, parts[i].why);
            said = true;
        }
    if (said)
        tt_paragraph_add(p, ")");
}

/* "; no alarm: runs vary that much (limit 12.1 s for three nights in a row, 14.0 s for one)" */
static void say_quiet(const struct history *h, const struct tt_metric *m, double value,
                      const struct tt_canary *c, struct tt_paragraph *p)
{
    char three[TT_UNIT_TEXT], one[TT_UNIT_TEXT];
    bool is_worse = m->direction.better == TT_BETTER_HIGHER ? value < c->median : value > c->median;

    say_left_out(h, c, p);
    if (!is_worse) {
        tt_paragraph_add(p, "; all is well");
        return;
    }
    tt_paragraph_add(p, "; no alarm: runs vary that much (limit %s for three nights in a row",
                     tt_format_value(c->limit, m->unit, three));
    if (isfinite(c->limit_of_one))
        tt_paragraph_add(p, ", %s for one", tt_format_value(c->limit_of_one, m->unit, one));
    tt_paragraph_add(p, ")");
}

/* "runtime: 11.2 s, 12 % slower than the median 10.0 s of 30 runs since 2026-10-17T02:00; ..." */
static void say_place(const struct history *h, const struct tt_metric *m, double value,
                      const struct tt_canary *c, struct tt_paragraph *p)
{
    char now[TT_UNIT_TEXT], usual[TT_UNIT_TEXT], limit[TT_UNIT_TEXT], day[TT_TIME_TEXT];
    double change = c->median != 0 ? value / c->median - 1 : NAN;

    tt_paragraph_add(p, "%s: %s", m->name, tt_format_value(value, m->unit, now));
    if (isfinite(change))
        tt_paragraph_add(p, ", %.2g %% %s than", 100 * fabs(change),
                         change > 0 ? m->direction.up : m->direction.down);
    else
        tt_paragraph_add(p, ", against");
    tt_paragraph_add(p, " the median %s of %zu runs since %s",
                     tt_format_value(c->median, m->unit, usual), c->n,
                     day_of(h->runs[c->from], day));
    if (c->rule == TT_CANARY_LEVEL)
        tt_paragraph_add(p, "; the level changed");
    else if (c->rule == TT_CANARY_FAR)
        tt_paragraph_add(p, "; far beyond the limit of %s",
                         tt_format_value(c->limit, m->unit, limit));
    else if (c->rule != TT_CANARY_QUIET)
        tt_paragraph_add(p, "; the last %s runs are all beyond the limit of %s",
                         c->rule == TT_CANARY_TWO ? "two" : "three",
                         tt_format_value(c->limit, m->unit, limit));
    else
        say_quiet(h, m, value, c, p);
    tt_paragraph_add(p, ".");
}

static int say_verdict(const struct history *h, const struct tt_metric *m, double value,
                       const struct tt_canary *c, struct tt_paragraph *p, struct tt_error *e)
{
    char day[TT_TIME_TEXT];

    say_place(h, m, value, c, p);
    if (c->kind != TT_FAIL)
        return TT_OK;
    tt_paragraph_add(p, " It began with the run of %s (%s).", day_of(h->runs[c->since], day),
                     h->runs[c->since]->id);
    return say_changes(h, c, p, e);
}

/* Runs that did not measure it have no part in it. */
static int collect(const struct history *h, const struct tt_metric *m, struct history *with,
                   double *values, struct tt_error *e)
{
    int rc = TT_OK;

    *with = (struct history){
        .store = h->store, .runs = calloc(h->n + 1, sizeof *with->runs), .invalid = h->invalid};
    if (!with->runs)
        return tt_fail_nomem(e, "the history");
    for (size_t i = 0; i < h->n && rc == TT_OK; i++) {
        bool known = false;

        rc = tt_store_metric(h->store, h->runs[i]->key, m->name, &known, &values[with->n], e);
        if (rc == TT_OK && known && isfinite(values[with->n]))
            with->runs[with->n++] = h->runs[i];
    }
    with->unmeasured = h->n - with->n;
    if (rc == TT_OK && (with->n == 0 || with->runs[with->n - 1] != h->runs[h->n - 1]))
        rc = tt_fail(e, TT_FAILED, "watch: tonight's run did not measure %s; see tutti show %s",
                     m->name, h->runs[h->n - 1]->directory);
    return rc;
}

static void say_too_short(const struct history *h, size_t n, const struct tt_metric *m,
                          const struct tt_canary *c, struct tt_paragraph *p)
{
    tt_paragraph_add(p, "%s cannot be told yet: %zu run%s of this plan; %zu more night%s", m->name,
                     n, n == 1 ? "" : "s", c->more, c->more == 1 ? "" : "s");
    if (h->others)
        tt_paragraph_add(p, " (%zu of this label ha%s another plan: %s)", h->others,
                         h->others == 1 ? "s" : "ve", h->other);
}

static int judge_metric(const struct history *h, const struct tt_metric *m, const struct watch *o,
                        enum tt_verdict_kind *worst, json_t *cases, struct tt_error *e)
{
    const struct tt_canary_options how = {.alarm = FALSE_ALARMS / (double)o->metrics.n,
                                          .margin = o->margin.percent / 100,
                                          .seed = SEED};
    double *values = calloc(h->n + 1, sizeof *values);
    struct tt_paragraph p = {0};
    struct history with = {0};
    struct tt_canary c = {0};
    int rc = values ? collect(h, m, &with, values, e) : tt_fail_nomem(e, "the history");

    if (rc == TT_OK)
        rc = tt_canary_judge(values, with.n, m->direction.better, &how, &c, e);
    if (rc == TT_OK && c.kind == TT_UNDECIDED)
        say_too_short(h, with.n, m, &c, &p);
    else if (rc == TT_OK)
        rc = say_verdict(&with, m, values[with.n - 1], &c, &p, e);
    if (rc == TT_OK && c.kind == TT_UNDECIDED)
        fprintf(stderr, "tutti: watch: %s\n", p.text);
    else if (rc == TT_OK && (c.kind == TT_FAIL || o->always))
        tt_paragraph_print_marked(&p, tt_is_stdout(o->junit) ? stderr : stdout,
                                  c.kind == TT_FAIL ? "! " : "  ");
    if (rc == TT_OK && tt_case_add(cases, m->name, tt_verdict_names[c.kind], p.text) != 0)
        rc = tt_fail_nomem(e, "the verdict");
    if (rc == TT_OK)
        *worst = tt_verdict_worst(*worst, c.kind);
    free(with.runs);
    free(values);
    return rc;
}

static int judge(const char *results, const struct tonight *t, const struct watch *o, json_t *cases,
                 struct tt_error *e)
{
    enum tt_verdict_kind worst = TT_PASS;
    struct history h = {0};
    int rc = load_history(&h, results, t, o, e);

    for (size_t i = 0; i < o->metrics.n && rc == TT_OK; i++)
        rc = judge_metric(&h, tt_find_metric(o->metrics.words[i]), o, &worst, cases, e);
    free_history(&h);
    return rc == TT_OK ? tt_verdict_status(worst) : rc;
}

/* ---- the command ---- */

/* Without a verdict the run, or finding those before it, failed. Returns rc, unless that failed,
 * too. */
static int write_junit(const char *path, const struct tt_settings *job, json_t *cases, int rc,
                       const struct tt_error *why)
{
    const struct tt_setting *label = tt_settings_find(job, "label");
    struct tt_error e = TT_ERROR_CLEAR;
    int failed = 0, written;

    if (rc < 0 || json_array_size(cases) == 0)
        failed = tt_case_add(cases, "tonight's run", TT_CASE_NOT_MEASURED,
                             rc < 0 ? why->text : "it failed; stderr says why");
    written = tt_report_junit(
        path, "watch",
        tt_json_unless(
            failed,
            json_pack("[o]", tt_case_suite(label && label->value ? label->value : "watch", cases))),
        &e);
    if (written != TT_OK && rc >= 0)
        return tt_report_error(&e);
    return rc;
}

static int run_and_judge(const char *workload, struct tt_settings *job, const struct watch *o,
                         struct tt_error *e)
{
    const struct tt_setting *given = tt_settings_find(job, "results");
    const char *results = given && given->value ? given->value : "tutti-runs";
    json_t *cases = json_array();
    struct tonight t = {0};
    int fd = -1, rc = lock(results, &fd, e);

    if (rc == TT_OK)
        rc = tt_settings_add(job, "quiet", "yes", "watch", e);
    if (rc == TT_OK)
        rc = tt_run_settings(workload, job,
                             (struct tt_printer){.print = keep, .context = &t, .always = true});
    if (rc == TT_OK && t.id && t.plan && t.label && t.workload)
        rc = judge(results, &t, o, cases, e);
    if (fd >= 0)
        close(fd);
    if (o->junit)
        rc = write_junit(o->junit, job, cases, rc, e);
    else
        json_decref(cases);
    free(t.id);
    free(t.plan);
    free(t.label);
    free(t.workload);
    json_decref(t.parameters);
    return rc;
}

static int run(struct tt_invocation *call, struct tt_error *e)
{
    struct tt_settings job = {0};
    struct watch o = {0};
    char *workload = NULL;
    int rc = tt_params_default(watch_params, &o, e);

    if (rc == TT_OK)
        rc = read_file(call, &o, &job, &workload, e);
    if (rc == TT_OK)
        rc = run_and_judge(workload, &job, &o, e);
    tt_params_free(watch_params, &o);
    tt_settings_free(&job);
    free(workload);
    return rc;
}

const struct tt_command tt_command_watch = {
    .name = "watch",
    .summary = "one run a night, held against those before: tutti watch FILE.yaml",
    .synopsis = "tutti watch FILE.yaml [--KEY VALUE ...]",
    .text =
        "Run the file once, from cron or as a batch job, and hold it against the runs before of "
        "the same plan and label in the results directory. Silent when all is well; else a "
        "paragraph says what became worse, since when, and what changed with it. The keys below "
        "stand in the file as watch: {metric: write_rate}. Exit status: 0 if all is well, 3 if "
        "something became worse, 4 if the history is too short to tell, 1 if the run failed.",
    .run = run,
    .job = &watch_component,
    .also = "run",
    .max_words = 1,
};
