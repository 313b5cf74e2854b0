/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From settings to a search, and its directory. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "plan/directory.h"
#include "plan/registry.h"
#include "plan/settings_json.h"
#include "spec/units.h"
#include "study/private.h"
#include "study/search/search.h"

#define PLAN_FORMAT 1
/* Runs that an application is scaled for, and what starting one takes. */
#define USUAL_CANDIDATES 10
#define START_SECONDS 0.5
#define MOST_REPEATED 10000 /* more was not written by tutti */

/* Whose a setting is. */
struct parts {
    struct tt_settings own, varied, job;
};

static void free_parts(struct parts *p)
{
    tt_settings_free(&p->own);
    tt_settings_free(&p->varied);
    tt_settings_free(&p->job);
}

/* --sweep KEY=VALUES is vary.KEY: VALUES. */
static int add_sweep(struct parts *p, const struct tt_setting *s, struct tt_error *e)
{
    const char *equals = s->value ? strchr(s->value, '=') : NULL;
    char *key;
    int rc;

    if (!equals || equals == s->value)
        return tt_fail(e, TT_USAGE, "%.200s: '%.80s' is not KEY=VALUES, such as mode=sync,async",
                       s->place, s->value ? s->value : "");
    key = strndup(s->value, (size_t)(equals - s->value));
    rc = key ? tt_settings_add(&p->varied, key, equals + 1, s->place, e)
             : tt_fail_nomem(e, "settings");
    free(key);
    return rc;
}

static bool is_of_application(const char *key)
{
    return tt_same_key(key, "size") || tt_same_key(key, "every") || tt_same_key(key, "compute");
}

/* What describes an application are keys of the workload, if there is one. */
static int sort_settings(struct parts *p, const struct tt_search_kind *kind, bool described,
                         const struct tt_settings *settings, struct tt_error *e)
{
    int rc = TT_OK;

    for (size_t i = 0; i < settings->n && rc == TT_OK; i++) {
        const struct tt_setting *s = &settings->list[i];
        bool own = tt_param_find(kind->component->params, s->key) &&
                   (described || !is_of_application(s->key));

        if (tt_same_key(s->key, "sweep"))
            rc = add_sweep(p, s, e);
        else if (!strncmp(s->key, "vary.", 5))
            rc = tt_settings_add(&p->varied, s->key + 5, s->value, s->place, e);
        else
            rc = tt_settings_add(own ? &p->own : &p->job, s->key, s->value, s->place, e);
    }
    return rc;
}

static int take_options(struct tt_search *s, const struct tt_settings *own, struct tt_error *e)
{
    const struct tt_param *params = s->kind->component->params;
    int rc = TT_OK;

    for (size_t i = 0; i < own->n && rc == TT_OK; i++)
        rc = tt_setting_apply(&own->list[i], tt_param_find(params, own->list[i].key), &s->o, e);
    for (s->metric = 0; rc == TT_OK && s->metric < TT_NMETRICS; s->metric++)
        if (!strcmp(tt_metrics[s->metric].name, s->o.metric))
            break;
    if (rc == TT_OK && s->metric == TT_NMETRICS)
        rc = tt_fail(e, TT_USAGE,
                     "metric: there is no metric '%.40s'%s; tutti list metrics names them",
                     s->o.metric, TT_DID_YOU_MEAN(TT_NEAREST_ROW(s->o.metric, tt_metrics)));
    if (rc == TT_OK && tt_metrics[s->metric].direction.better == TT_BETTER_NEITHER)
        rc = tt_fail(e, TT_USAGE, "metric: of %s neither more nor less is better", s->o.metric);
    return rc;
}

/* ---- the job ---- */

static uint64_t asked_ranks(const struct tt_settings *job)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    uint64_t ranks = 1;

    for (size_t i = 0; i < job->n; i++)
        if ((!strcmp(job->list[i].key, "-n") || tt_same_key(job->list[i].key, "ranks")) &&
            job->list[i].value)
            tt_parse_count(job->list[i].value, &ranks, &ignored);
    return ranks > 0 ? ranks : 1;
}

/* An application becomes a job that fits the budget. */
static int describe(struct tt_search *s, const char **workload, struct tt_settings *job,
                    struct tt_error *e)
{
    const struct tt_application a = {s->o.size, s->o.every, s->o.compute, asked_ranks(job)};
    double runs = (double)(1 + tt_halving_runs(USUAL_CANDIDATES) + 2 * s->o.repeat);
    double seconds = fmax(s->o.max_time / runs - START_SECONDS, 0.1) * s->shrunk;
    struct tt_settings made = {0};
    struct tt_scaled scaled;
    int rc;

    if (a.size == 0 || !(a.every > 0))
        return tt_fail(e, TT_USAGE,
                       "what does the application do? give --size and --every: how much it "
                       "writes, and how often; or a workload or its file");
    tt_application_scale(&a, seconds, (double)s->o.max_bytes / runs, &scaled);
    rc = tt_application_job(&a, &scaled, workload, &made, e);
    if (rc == TT_OK)
        rc = tt_settings_append(&made, job, e);
    tt_settings_free(job);
    *job = made;
    s->application =
        json_pack("{s:I, s:f, s:f, s:I, s:s, s:f, s:I, s:f, s:I}", "size", (json_int_t)a.size,
                  "every", a.every, "compute", a.compute, "ranks", (json_int_t)a.ranks, "workload",
                  *workload, "factor", scaled.factor, "scaled_size", (json_int_t)scaled.bytes,
                  "scaled_every", scaled.every, "dumps", (json_int_t)scaled.dumps);
    return rc == TT_OK && !s->application ? tt_fail_nomem(e, "the application") : rc;
}

static int keep_text(char **to, const char *from, struct tt_error *e)
{
    free(*to);
    *to = from ? strdup(from) : NULL;
    return from && !*to ? tt_fail_nomem(e, "a name") : TT_OK;
}

static int hand_options(struct tt_search *s, struct tt_error *e)
{
    struct tt_study_options *o = &s->study.o;
    int rc = keep_text(&o->results, s->o.results, e);

    o->quiet = s->o.quiet;
    o->shuffle = s->o.shuffle;
    return rc == TT_OK ? keep_text(&o->label, s->o.label, e) : rc;
}

/* Epochs that are left out of the runtime would make it one of other work in every mode. */
static int begin_study(struct tt_search *s, const char *workload, const struct tt_settings *job,
                       struct tt_error *e)
{
    const struct tt_workload *w = tt_find_workload(workload, e);
    struct tt_settings all = {0};
    int rc = w ? TT_OK : TT_USAGE;

    if (rc == TT_OK && w->has_epochs)
        rc = tt_settings_add(&all, "baseline", "0", s->kind->name, e);
    if (rc == TT_OK)
        rc = tt_settings_append(&all, job, e);
    tt_study_free(&s->study);
    if (rc == TT_OK)
        rc = tt_study_begin(&s->study, workload, &all, e);
    if (rc == TT_OK)
        rc = hand_options(s, e);
    tt_settings_free(&all);
    return rc == TT_OK ? tt_study_add(&s->study, (const char *const[]){NULL}, NULL, e) : rc;
}

/* ---- the keys ---- */

/* Whether the job has it: its workload, what that uses, or its backend. */
static bool has_key(const struct tt_search *s, const struct tt_search_key *row)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    const struct tt_workload *w = tt_find_workload(s->study.workload, &ignored);
    const char *dot = strchr(row->key, '.');
    size_t prefix = dot ? (size_t)(dot - row->key) : 0;
    char *backend = NULL;
    bool found;

    if (!w || (row->epochs && !w->has_epochs))
        return false;
    if (!dot)
        return tt_param_find(w->params, row->key) ||
               tt_param_find(tt_run_component.params, row->key);
    for (size_t i = 0; w->uses && w->uses[i]; i++)
        if (strlen(w->uses[i]) == prefix && !strncmp(w->uses[i], row->key, prefix))
            return true;
    tt_study_base_value(&s->study, "reference.backend", &backend, &ignored);
    found = backend && strlen(backend) == prefix && !strncmp(backend, row->key, prefix);
    free(backend);
    return found;
}

static bool is_fixed(const struct tt_search *s, const char *key)
{
    for (size_t i = 0; i < s->o.fixed.n; i++)
        if (tt_same_key(s->o.fixed.words[i], key) || !strcmp(s->o.fixed.words[i], "all"))
            return true;
    return false;
}

/* What is the default's value is not another one, and what is refused alone is not tried with
 * others. */
static int drop_useless(struct tt_search *s, size_t factor, struct tt_error *e)
{
    struct tt_factor *f = &s->study.factors[factor];
    size_t *numbers = calloc(s->study.nfactors + 1, sizeof *numbers);
    size_t index = 0, kept = 0, n = f->n;
    int rc = numbers ? TT_OK : tt_fail_nomem(e, "a setting");

    for (size_t i = 0; i < n && rc == TT_OK; i++) {
        char *value = f->values[i];

        numbers[factor] = i + 1;
        rc = tt_search_add(s, numbers, &index, e);
        f->values[i] = NULL;
        if (index > 0)
            f->values[kept++] = value;
        else
            free(value);
    }
    if (rc == TT_OK)
        f->n = kept;
    free(numbers);
    return rc;
}

static int add_key(struct tt_search *s, const char *key, const char *values, const char *place,
                   struct tt_error *e)
{
    struct tt_error why = TT_ERROR_CLEAR;
    struct tt_words list = {0};
    size_t factor;
    int rc = tt_study_factor(&s->study, key, place, &factor, e);

    if (rc == TT_OK && s->study.factors[factor].n > 0)
        return tt_fail(e, TT_USAGE, "%.200s: %.40s is there twice", place, key);
    if (rc == TT_OK)
        rc = tt_values_expand(s->study.factors[factor].param, values, &list, &why);
    if (why.code != TT_OK)
        return tt_fail(e, why.code, "%.200s: %.300s", place, why.text);
    if (rc != TT_OK)
        return rc;
    s->study.factors[factor].n = list.n;
    s->study.factors[factor].values = list.words;
    return drop_useless(s, factor, e);
}

/* Of what the user asks for something must be possible. */
static int add_asked_key(struct tt_search *s, const struct tt_setting *asked, struct tt_error *e)
{
    size_t refused = json_array_size(s->refused);
    int rc = add_key(s, asked->key, asked->value ? asked->value : "", asked->place, e);

    if (rc == TT_OK && s->study.factors[s->study.nfactors - 1].n == 0 &&
        json_array_size(s->refused) > refused)
        rc = tt_fail(e, TT_USAGE, "%.400s", tt_text_of(json_array_get(s->refused, refused), "why"));
    return rc;
}

static int add_keys(struct tt_search *s, const struct tt_settings *varied, struct tt_error *e)
{
    int rc = TT_OK;

    for (size_t i = 0; i < varied->n && rc == TT_OK; i++)
        rc = add_asked_key(s, &varied->list[i], e);
    for (const struct tt_search_key *row = s->kind->keys; row->key && rc == TT_OK; row++) {
        bool given = tt_settings_find(varied, row->key) != NULL;
        char *found;

        if (given || is_fixed(s, row->key) || !has_key(s, row))
            continue;
        found = row->find ? row->find(&s->study) : strdup(row->values);
        if (found)
            rc = add_key(s, row->key, found, s->kind->name, e);
        free(found);
    }
    if (rc == TT_OK && s->kind->intervals && s->metric == TT_METRIC_runtime &&
        !tt_settings_find(varied, TT_INTERVAL_KEY) &&
        has_key(s, &(const struct tt_search_key){.key = TT_INTERVAL_KEY}) &&
        tt_search_interval(s) > 0)
        rc = tt_study_factor(&s->study, TT_INTERVAL_KEY, s->kind->name, &s->interval, e);
    if (rc == TT_OK && s->study.npoints == 1)
        rc = json_array_size(s->refused) > 0
                 ? tt_fail(e, TT_USAGE, "no setting but the default is possible: %.300s",
                           tt_text_of(json_array_get(s->refused, 0), "why"))
                 : tt_fail(e, TT_USAGE,
                           "there is nothing to try for %s with this backend; give --sweep "
                           "KEY=VALUES",
                           s->study.workload);
    return rc;
}

int tt_search_add(struct tt_search *s, const size_t *numbers, size_t *index, struct tt_error *e)
{
    struct tt_study *study = &s->study;
    const char **values = calloc(study->nfactors + 1, sizeof *values);
    struct tt_error why = TT_ERROR_CLEAR;
    char text[200], reason[600];
    int rc = TT_OK;

    *index = 0;
    if (!values)
        return tt_fail_nomem(e, "a setting");
    for (size_t i = 0; i < study->nfactors; i++)
        values[i] = numbers[i] ? study->factors[i].values[numbers[i] - 1] : NULL;
    rc = tt_study_add(study, values, index, &why);
    if (rc == TT_NOMEM) {
        tt_fail_nomem(e, "a setting");
    } else if (rc != TT_OK) {
        char *place;

        tt_error_format(&why, reason, sizeof reason);
        place = strstr(reason, " (point ");
        if (place) /* the setting stands beside it */
            *place = '\0';
        json_array_append_new(
            s->refused, json_pack("{s:o, s:o}", "setting",
                                  tt_json_text(tt_point_text(study, values, text, sizeof text)),
                                  "why", tt_json_text(reason)));
        *index = 0;
        rc = TT_OK;
    }
    free(values);
    return rc;
}

/* ---- all of it ---- */

static int begin(struct tt_search *s, const struct tt_search_kind *kind, struct tt_error *e)
{
    *s = (struct tt_search){
        .kind = kind, .refused = json_array(), .shrunk = 1, .interval = SIZE_MAX};
    return s->refused ? tt_params_default(kind->component->params, &s->o, e)
                      : tt_fail_nomem(e, "a search");
}

static int make(struct tt_search *s, const struct tt_search_kind *kind, const char *workload,
                const struct tt_settings *settings, double shrunk, struct tt_error *e)
{
    struct parts p = {0};
    int rc = begin(s, kind, e);

    s->shrunk = shrunk;
    if (rc == TT_OK)
        rc = sort_settings(&p, kind, kind->describes && !workload, settings, e);
    if (rc == TT_OK)
        rc = take_options(s, &p.own, e);
    if (rc == TT_OK && !workload)
        rc = describe(s, &workload, &p.job, e);
    if (rc == TT_OK)
        rc = begin_study(s, workload, &p.job, e);
    if (rc == TT_OK)
        rc = add_keys(s, &p.varied, e);
    free_parts(&p);
    return rc;
}

int tt_search_make(struct tt_search *s, const struct tt_search_kind *kind, const char *workload,
                   const struct tt_settings *settings, struct tt_error *e)
{
    return make(s, kind, workload, settings, 1, e);
}

bool tt_search_may_shrink(const struct tt_search *s)
{
    return s->application && s->planned == 0 && s->seconds > 0 && s->shrunk == 1;
}

/* To half of what would just do. */
int tt_search_shrink(struct tt_search *s, const struct tt_settings *settings, struct tt_error *e)
{
    double allowed = s->o.max_time / (double)tt_search_least_runs(s);
    double shrunk = fmax(allowed - START_SECONDS, 0.02) / 2 / s->seconds;
    const struct tt_search_kind *kind = s->kind;

    tt_search_free(s);
    return make(s, kind, NULL, settings, fmin(shrunk, 0.5), e);
}

void tt_search_free(struct tt_search *s)
{
    if (s->kind)
        tt_params_free(s->kind->component->params, &s->o);
    tt_study_free(&s->study);
    json_decref(s->application);
    json_decref(s->refused);
    *s = (struct tt_search){0};
}

/* ---- the directory ---- */

bool tt_search_is_directory(const char *directory)
{
    return tt_directory_has(directory, TT_SEARCH_PLAN) && tt_study_is_directory(directory);
}

int tt_search_keep(const struct tt_search *s, const char *directory, struct tt_error *e)
{
    json_t *o =
        json_pack("{s:i, s:s, s:O?, s:O, s:I, s:I, s:[I, I], s:s, s:I, s:b}", "format", PLAN_FORMAT,
                  "search", s->kind->name, "application", s->application, "refused", s->refused,
                  "planned", (json_int_t)s->planned, "best", (json_int_t)s->best, "before",
                  (json_int_t)s->before[0], (json_int_t)s->before[1], "metric", s->o.metric,
                  "repeat", (json_int_t)s->o.repeat, "cut_short", s->cut_short);
    int rc = o ? tt_directory_write_json(directory, TT_SEARCH_PLAN, o, e)
               : tt_fail_nomem(e, "the search");

    if (rc == TT_OK)
        rc = tt_directory_sync(directory, TT_SEARCH_PLAN, e);
    json_decref(o);
    return rc;
}

int tt_search_create(const struct tt_search *s, char **directory, struct tt_error *e)
{
    int rc = tt_study_create(&s->study, directory, e);

    return rc == TT_OK ? tt_search_keep(s, *directory, e) : rc;
}

/* ---- and back; it may be anybody's ---- */

static int load_plan(struct tt_search *s, const char *directory, struct tt_error *e)
{
    json_t *o = NULL, *before;
    int rc = tt_directory_read_json(directory, TT_SEARCH_PLAN, &o, e);

    if (rc == TT_OK && strcmp(tt_text_of(o, "search"), s->kind->name) != 0)
        rc = tt_fail(e, TT_USAGE, "'%s' is a search of tutti %.20s; go on with that command",
                     directory, tt_text_of(o, "search"));
    before = json_object_get(o, "before");
    if (rc == TT_OK && (tt_integer_of(o, "format") != PLAN_FORMAT || !*tt_text_of(o, "metric") ||
                        tt_integer_of(o, "planned") < 0 || tt_integer_of(o, "repeat") < 6 ||
                        tt_integer_of(o, "repeat") > 1000 || json_array_size(before) != 2))
        rc = tt_fail(e, TT_CORRUPT, "%s/" TT_SEARCH_PLAN " was not written by this tutti",
                     directory);
    if (rc == TT_OK) {
        s->planned = (size_t)tt_integer_of(o, "planned");
        s->best = (size_t)tt_integer_of(o, "best");
        s->o.repeat = (uint64_t)tt_integer_of(o, "repeat");
        s->cut_short = s->best > 0 && tt_is_true(o, "cut_short"); /* else there is time again */
        for (size_t i = 0; i < 2; i++)
            s->before[i] = (uint64_t)json_integer_value(json_array_get(before, i));
        if (json_is_object(json_object_get(o, "application")))
            s->application = json_incref(json_object_get(o, "application"));
        if (json_is_array(json_object_get(o, "refused"))) {
            json_decref(s->refused);
            s->refused = json_incref(json_object_get(o, "refused"));
        }
        rc = keep_text(&s->o.metric, tt_text_of(o, "metric"), e);
    }
    json_decref(o);
    return rc;
}

static const char *const of_a_call[] = {"resume", "max_time", "max_bytes", "json", "hints",
                                        "yaml",   "quiet",    "dry_run",   NULL};

static int check_own(const struct tt_settings *own, struct tt_error *e)
{
    for (size_t i = 0; i < own->n; i++) {
        size_t k = 0;

        while (of_a_call[k] && !tt_same_key(of_a_call[k], own->list[i].key))
            k++;
        if (!of_a_call[k])
            return tt_fail(e, TT_USAGE,
                           "%.200s: %s would change what is searched; start a search of its own",
                           own->list[i].place, own->list[i].key);
    }
    return TT_OK;
}

/* Runs of different things are not put together, and programs are started only if the user names
 * them again. */
static int check_job(const struct tt_search *s, const char *workload, const struct tt_settings *job,
                     struct tt_error *e)
{
    static const char *const none_may_differ[] = {NULL};
    const struct tt_resume resumed = {.what = "search",
                                      .how = s->kind->describes
                                                 ? "tutti advise FILE --resume DIRECTORY"
                                                 : "tutti tune FILE --resume DIRECTORY",
                                      .may_differ = none_may_differ};
    const struct tt_settings none = {0};
    struct tt_settings base = {0};
    int rc = TT_OK;

    if (workload || job->n > 0)
        rc = tt_ensemble_of_job(workload ? workload : s->study.workload, job, &base, e);
    if (rc == TT_OK)
        rc = tt_settings_check_resumed(&resumed, &s->study.base, &base, &none, false, e);
    tt_settings_free(&base);
    return rc;
}

/* A job whose first point is the default. */
static bool is_searchable(const struct tt_search *s)
{
    const struct tt_study *study = &s->study;

    for (size_t i = 0; i < study->nfactors; i++)
        if (study->points[0].values[i])
            return false;
    return study->is_job && study->nsteps == 1 && s->best < study->npoints &&
           s->before[0] <= MOST_REPEATED && s->before[1] <= MOST_REPEATED &&
           s->planned <= MOST_REPEATED;
}

int tt_search_load(struct tt_search *s, const struct tt_search_kind *kind, const char *directory,
                   const char *workload, const struct tt_settings *settings, struct tt_error *e)
{
    struct parts p = {0};
    int rc = begin(s, kind, e);

    if (rc == TT_OK && !tt_search_is_directory(directory))
        rc = tt_fail(e, TT_USAGE, "'%.200s' is no directory of tutti %s", directory, kind->name);
    if (rc == TT_OK)
        rc = load_plan(s, directory, e);
    if (rc == TT_OK)
        rc = sort_settings(&p, kind, false, settings, e);
    if (rc == TT_OK)
        rc = check_own(&p.own, e);
    if (rc == TT_OK)
        rc = take_options(s, &p.own, e);
    if (rc == TT_OK)
        rc = tt_study_load(&s->study, directory, settings, e);
    if (rc == TT_OK)
        rc = check_job(s, workload, &p.job, e);
    for (size_t i = 0; rc == TT_OK && i < s->study.nfactors; i++)
        if (!strcmp(s->study.factors[i].key, TT_INTERVAL_KEY) && s->study.factors[i].n == 0)
            s->interval = i;
    if (rc == TT_OK && !is_searchable(s))
        rc = tt_fail(e, TT_CORRUPT, "%s/" TT_SEARCH_PLAN " is not that of the study beside it",
                     directory);
    s->study.o.quiet = s->o.quiet;
    free_parts(&p);
    return rc;
}
