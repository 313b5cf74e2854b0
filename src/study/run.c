/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The directory of a study, and running its points. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/notice.h"
#include "base/text.h"
#include "ensemble/run.h"
#include "launch/process.h"
#include "plan/directory.h"
#include "plan/settings_json.h"
#include "spec/units.h"
#include "study/private.h"

#define PLAN_FORMAT 1
/* Attempts that may fail before anything has worked: then nothing will. */
#define FAILURES_AT_FIRST 5

/* ---- study.json ---- */

/* Where it is shown, and for how long, is not part of it; what was added is by now. */
static bool is_of_this_call(const char *key)
{
    static const char *const keys[] = {"json",     "csv", "quiet", "dry_run", "resume",
                                       "max_time", "add", "sweep", "fit",     NULL};

    return tt_has_word(keys, key);
}

static json_t *options_json(const struct tt_study_options *o)
{
    json_t *all = json_object();

    for (const struct tt_param *p = tt_study_component.params; p->key; p++) {
        char *text = is_of_this_call(p->key) ? NULL : tt_param_get(p, o);

        if (text)
            json_object_set_new(all, p->key, tt_json_bytes(text));
        free(text);
    }
    return all;
}

static json_t *values_json(char *const *values, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, values[i] ? tt_json_bytes(values[i]) : json_null());
    return list;
}

static json_t *study_json(const struct tt_study *s, const char *directory)
{
    json_t *factors = json_array(), *points = json_array(), *steps = json_array();

    for (size_t i = 0; i < s->nfactors; i++) {
        const struct tt_factor *f = &s->factors[i];

        json_array_append_new(factors, json_pack("{s:o, s:o, s:o}", "key", tt_json_bytes(f->key),
                                                 "place", tt_json_text(f->place), "values",
                                                 values_json(f->values, f->n)));
    }
    for (size_t i = 0; i < s->npoints; i++)
        json_array_append_new(points, json_pack("{s:s, s:o}", "hash", s->points[i].hash, "values",
                                                values_json(s->points[i].values, s->nfactors)));
    for (size_t i = 0; i < s->nsteps; i++)
        json_array_append_new(
            steps, json_pack("{s:I, s:I, s:b}", "others", (json_int_t)s->steps[i].others, "base",
                             (json_int_t)s->steps[i].base, "again", s->steps[i].again));
    return json_pack("{s:i, s:s, s:b, s:s?, s:s, s:o, s:o, s:o, s:o, s:o}", "format", PLAN_FORMAT,
                     "id", tt_directory_id(directory), "job", s->is_job, "workload", s->workload,
                     "default", s->usual, "options", options_json(&s->o), "settings",
                     tt_settings_to_json(&s->base), "factors", factors, "points", points, "steps",
                     steps);
}

static int write_plan(const struct tt_study *s, const char *directory, struct tt_error *e)
{
    json_t *plan = study_json(s, directory);
    int rc = plan ? tt_directory_write_json(directory, TT_STUDY_PLAN, plan, e)
                  : tt_fail_nomem(e, "the plan");

    if (rc == TT_OK) /* the journal will name its points */
        rc = tt_directory_sync(directory, TT_STUDY_PLAN, e);
    json_decref(plan);
    return rc;
}

int tt_study_create(const struct tt_study *s, char **directory, struct tt_error *e)
{
    int rc = tt_directory_make(s->o.results, "study-", directory, e);

    return rc == TT_OK ? write_plan(s, *directory, e) : rc;
}

bool tt_study_is_directory(const char *directory)
{
    return tt_directory_has(directory, TT_STUDY_PLAN);
}

/* ---- and back; it may be anybody's ---- */

static int fail_plan(const char *directory, const char *what, struct tt_error *e)
{
    return tt_fail(e, TT_CORRUPT, "%s/" TT_STUDY_PLAN " has no %s that tutti wrote", directory,
                   what);
}

static int load_options(struct tt_study *s, const char *directory, const json_t *options,
                        struct tt_error *e)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    const char *key;
    json_t *value;
    bool good = true;

    json_object_foreach((json_t *)options, key, value)
    {
        const struct tt_param *p = tt_param_find(tt_study_component.params, key);
        char *text = tt_bytes_of_json(value);

        good &= p && text && !is_of_this_call(p->key) &&
                (!*text || tt_param_set(p, &s->o, text, &ignored) == TT_OK);
        free(text);
    }
    return good ? TT_OK : fail_plan(directory, "options", e);
}

/* Programs and modules are the user's to name, not a directory's. */
static bool is_confided(const struct tt_factor *f)
{
    const struct tt_setting one = {.key = f->full};
    const struct tt_settings list = {.n = 1, .list = (struct tt_setting *)&one};
    const char *last = strrchr(f->full, '.');

    return tt_settings_programs(&list) || !strcmp(last ? last + 1 : f->full, "module");
}

static int check_given(const struct tt_study *s, const struct tt_settings *given, size_t factor,
                       const char *value, struct tt_error *e)
{
    bool has;
    int rc = tt_study_has_given(s, given, factor, value, &has, e);

    if (rc == TT_OK && !has)
        rc = tt_fail(e, TT_USAGE,
                     "%.80s=%.80s says what is executed, and a directory is not believed in that: "
                     "give its values again: tutti study FILE --resume DIRECTORY",
                     s->factors[factor].key, value);
    return rc;
}

static int load_factors(struct tt_study *s, const char *directory, const struct tt_settings *given,
                        const json_t *factors, struct tt_error *e)
{
    const json_t *one, *value;
    size_t i, k, index;
    int rc = TT_OK;

    json_array_foreach(factors, i, one)
    {
        const json_t *values = json_object_get(one, "values");
        char *key = tt_bytes_of_json(json_object_get(one, "key"));

        if (rc == TT_OK && (!key || !json_is_array(values)))
            rc = fail_plan(directory, "factors", e);
        if (rc == TT_OK)
            rc = tt_study_factor(s, key, tt_text_of(one, "place"), &index, e);
        if (rc == TT_OK && index != i)
            rc = fail_plan(directory, "factors", e);
        free(key);
        if (rc != TT_OK)
            break;
        s->factors[index].values = calloc(json_array_size(values) + 1, sizeof(char *));
        json_array_foreach(values, k, value)
        {
            char *text = s->factors[index].values ? tt_bytes_of_json(value) : NULL;

            if (!text)
                return fail_plan(directory, "factors", e);
            s->factors[index].values[s->factors[index].n++] = text;
            if (rc == TT_OK && given && is_confided(&s->factors[index]))
                rc = check_given(s, given, index, text, e);
        }
    }
    return rc;
}

/* To be run, it is made again from its values, since nobody's hash is believed; one that tells of
 * another plan would have its runs done again. */
static int load_point(struct tt_study *s, const char *directory, const struct tt_settings *given,
                      const json_t *one, struct tt_error *e)
{
    const char *hash = tt_text_of(one, "hash");
    const json_t *list = json_object_get(one, "values");
    char **values = calloc(s->nfactors + 1, sizeof *values);
    struct tt_point p = {0};
    size_t index;
    int rc = values ? TT_OK : tt_fail_nomem(e, "a point");

    if (rc == TT_OK &&
        (strlen(hash) != TT_HASH_TEXT - 1 || strspn(hash, "0123456789abcdef") != TT_HASH_TEXT - 1 ||
         json_array_size(list) != s->nfactors || json_object_get(s->known, hash)))
        rc = fail_plan(directory, "points", e);
    for (size_t i = 0; rc == TT_OK && i < s->nfactors; i++) {
        values[i] = tt_bytes_of_json(json_array_get(list, i));
        if (!values[i] && !json_is_null(json_array_get(list, i)))
            rc = fail_plan(directory, "points", e);
        else if (given && values[i] && is_confided(&s->factors[i]))
            rc = check_given(s, given, i, values[i], e);
    }
    if (rc == TT_OK && given)
        rc = tt_study_add(s, (const char *const *)values, &index, e);
    if (rc == TT_OK && given && strcmp(s->points[index].hash, hash) != 0)
        rc = tt_fail(e, TT_CORRUPT,
                     "'%s' was begun by a tutti that plans its points otherwise; start it anew",
                     directory);
    if (rc == TT_OK && !given) {
        memcpy(p.hash, hash, sizeof p.hash);
        rc = tt_study_keep_point(s, &p, (const char *const *)values, e);
        if (rc == TT_LIMIT) {
            tt_error_clear(e);
            rc = fail_plan(directory, "number of points", e);
        }
    }
    for (size_t i = 0; values && i < s->nfactors; i++)
        free(values[i]);
    free(values);
    return rc;
}

static int load_steps(struct tt_study *s, const char *directory, const json_t *list,
                      struct tt_error *e)
{
    size_t n = json_array_size(list), i;
    const json_t *one;

    if (n == 0 || !(s->steps = calloc(n, sizeof *s->steps)))
        return n ? tt_fail_nomem(e, "the steps") : fail_plan(directory, "steps", e);
    json_array_foreach(list, i, one)
    {
        struct tt_step *step = &s->steps[s->nsteps++];

        step->others = (uint64_t)tt_integer_of(one, "others");
        step->base = (size_t)tt_integer_of(one, "base");
        step->again = tt_is_true(one, "again");
        if (!step->again && s->nrows++ != i)
            return fail_plan(directory, "steps", e);
    }
    for (i = 0; i < n; i++)
        if (s->steps[i].base >= s->nrows)
            return fail_plan(directory, "steps", e);
    return TT_OK;
}

int tt_study_load(struct tt_study *s, const char *directory, const struct tt_settings *given,
                  struct tt_error *e)
{
    struct tt_settings nothing = {0};
    json_t *plan = NULL, *one;
    int rc = tt_study_begin(s, NULL, &nothing, e);
    size_t i;

    if (rc == TT_OK && !tt_study_is_directory(directory))
        rc = tt_fail(e, TT_FAILED,
                     "'%.200s' is not a study: it has no " TT_STUDY_PLAN
                     "; name the directory study-... that tutti study has made",
                     directory);
    tt_settings_free(&s->base);
    if (rc == TT_OK)
        rc = tt_settings_from_directory(directory, TT_STUDY_PLAN, PLAN_FORMAT, &plan, &s->base, e);
    s->is_job = tt_is_true(plan, "job");
    s->closed = !given;
    snprintf(s->usual, sizeof s->usual, "%s", tt_text_of(plan, "default"));
    if (rc == TT_OK && *tt_text_of(plan, "workload") &&
        !(s->workload = strdup(tt_text_of(plan, "workload"))))
        rc = tt_fail_nomem(e, "a name");
    if (rc == TT_OK)
        rc = load_options(s, directory, json_object_get(plan, "options"), e);
    if (rc == TT_OK)
        rc = load_factors(s, directory, given, json_object_get(plan, "factors"), e);
    if (rc == TT_OK && !given)
        rc = load_steps(s, directory, json_object_get(plan, "steps"), e);
    json_array_foreach(json_object_get(plan, "points"), i, one)
    {
        if (rc == TT_OK)
            rc = load_point(s, directory, given, one, e);
    }
    if (rc == TT_OK && s->npoints == 0)
        rc = fail_plan(directory, "points", e);
    json_decref(plan);
    return rc;
}

/* ---- names ---- */

/* By which the journal knows a step of a point: its hash, of an ensemble with the number of others.
 */
static int name_steps(const struct tt_study *s, char ***names, struct tt_error *e)
{
    size_t n = s->npoints * s->nsteps;

    *names = calloc(n + 1, sizeof **names);
    if (!*names)
        return tt_fail_nomem(e, "the points");
    for (size_t i = 0; i < n; i++) {
        const struct tt_step *step = &s->steps[i % s->nsteps];
        const char *hash = s->points[i / s->nsteps].hash;
        int length = s->is_job ? asprintf(&(*names)[i], "%s", hash)
                               : asprintf(&(*names)[i], "%s-with%" PRIu64 "%s", hash, step->others,
                                          step->again ? "-again" : "");

        if (length < 0) {
            (*names)[i] = NULL;
            return tt_fail_nomem(e, "the points");
        }
    }
    return TT_OK;
}

static void free_names(char **names)
{
    for (char **name = names; name && *name; name++)
        free(*name);
    free(names);
}

int tt_study_journal(const struct tt_study *s, const char *directory,
                     struct tt_runner_report *report, struct tt_error *e)
{
    char **names = NULL;
    int rc = name_steps(s, &names, e);

    *report = (struct tt_runner_report){0};
    if (rc == TT_OK)
        rc = tt_journal_read(directory, (const char *const *)names, s->npoints * s->nsteps, report,
                             e);
    free_names(names);
    return rc;
}

/* ---- the budget ---- */

int tt_study_budget(const struct tt_study *s, const char *directory, const uint64_t *repeat,
                    struct tt_study_budget *out, struct tt_error *e)
{
    size_t n = s->npoints * s->nsteps;
    uint64_t *done = calloc(n + 1, sizeof *done);
    struct tt_runner_report report = {0};
    double spent = 0;
    int rc = done ? TT_OK : tt_fail_nomem(e, "the points");

    *out = (struct tt_study_budget){0};
    if (rc == TT_OK && directory)
        rc = tt_study_journal(s, directory, &report, e);
    for (size_t i = 0; i < report.n; i++) {
        done[report.list[i].point] += report.list[i].complete;
        out->written += (double)report.list[i].bytes;
        spent += report.list[i].seconds;
    }
    out->measured = report.n > 0;
    for (size_t i = 0; i < n && rc == TT_OK; i++) {
        const struct tt_point *p = &s->points[i / s->nsteps];
        uint64_t wanted = repeat ? repeat[i / s->nsteps] : s->o.repeat;
        uint64_t more = wanted > done[i] ? wanted - done[i] : 0;

        out->runs += wanted;
        out->done += wanted - more;
        out->bytes += (double)more * p->bytes;
        out->seconds += (double)more * (out->measured ? spent / (double)report.n : p->seconds);
    }
    free(report.list);
    free(done);
    return rc;
}

int tt_study_check_budget(const struct tt_study *s, const struct tt_study_budget *b,
                          struct tt_error *e)
{
    char need[TT_UNIT_TEXT], cap[TT_UNIT_TEXT];

    if (s->o.max_bytes > 0 && b->written + b->bytes > (double)s->o.max_bytes)
        return tt_fail(e, TT_LIMIT,
                       "the study writes %s in all, more than --max-bytes %s; use fewer values or "
                       "repetitions, skip, or grid: pairwise",
                       tt_format_bytes(b->written + b->bytes, need),
                       tt_format_bytes((double)s->o.max_bytes, cap));
    if (s->o.max_time > 0 && b->seconds > s->o.max_time)
        return tt_fail(e, TT_LIMIT,
                       "the study takes %s%s, more than --max-time %s; use fewer values or "
                       "repetitions, skip, or grid: pairwise",
                       b->measured ? "about " : "at least ", tt_format_seconds(b->seconds, need),
                       tt_format_seconds(s->o.max_time, cap));
    return TT_OK;
}

/* ---- running ---- */

struct owner {
    const struct tt_study *study;
    const char *directory;
    char **names;
    unsigned failures; /* while nothing has worked */
};

static int begin(void *context, const struct tt_repetition *list, size_t n, struct tt_error *e)
{
    const struct owner *c = context;
    int rc = tt_repetitions_continue(c->directory, list, n, e);

    return rc == TT_OK ? write_plan(c->study, c->directory, e) : rc;
}

static int make_point(const struct owner *c, const struct tt_point *p, struct tt_ensemble *x,
                      struct tt_error *e)
{
    const struct tt_study *s = c->study;
    char text[160];
    int rc = tt_point_ensemble(s, (const char *const *)p->values, x, e);

    if (rc != TT_OK)
        return rc;
    x->o.quiet = s->o.quiet;
    tt_point_text(s, (const char *const *)p->values, text, sizeof text);
    x->specs[x->steps[0].reference].title = strdup(text);
    free(x->o.label);
    x->o.label = s->o.label ? strdup(s->o.label) : NULL;
    if (!x->specs[x->steps[0].reference].title || (s->o.label && !x->o.label))
        return tt_fail_nomem(e, "a title");
    return tt_ensemble_calibrate(x, c->directory, true, e);
}

static void tell(const struct owner *c, const struct tt_runner_state *state,
                 const struct tt_repetition *r, const char *title)
{
    const struct tt_study *s = c->study;
    uint64_t others = s->steps[r->point % s->nsteps].others;
    char with[48] = "";

    if (s->o.quiet || (r->complete && tt_notice_is_drawn()))
        return;
    if (others > 0)
        snprintf(with, sizeof with, " with %" PRIu64 " other%s", others, others == 1 ? "" : "s");
    tt_notice("%" PRIu64 " of %" PRIu64 ": %s%s%s%s", state->done + r->complete, state->planned,
              title, with, r->complete ? "" : " is not used: ", r->why);
}

/* A point that is not possible leaves the others; if nothing works, it is the base. */
static int run(void *context, const struct tt_runner_state *state, struct tt_repetition *r,
               struct tt_error *e)
{
    struct owner *c = context;
    const struct tt_study *s = c->study;
    const struct tt_point *p = &s->points[r->point / s->nsteps];
    struct tt_ensemble x = {0};
    int rc = make_point(c, p, &x, e);

    if (rc == TT_OK)
        rc = tt_step_run(&(struct tt_step_run){.ensemble = &x,
                                               .step = &x.steps[r->point % s->nsteps],
                                               .directory = c->directory,
                                               .name = c->names[r->point],
                                               .estimates = p->estimates,
                                               .must_work = c->failures + 1 >= FAILURES_AT_FIRST},
                         state, r, e);
    c->failures += rc == TT_OK && !r->complete && state->done == 0;
    if (rc == TT_OK)
        tell(c, state, r, x.specs[x.steps[0].reference].title);
    tt_ensemble_free(&x);
    return rc;
}

/* Loads go on for as long as their reference does: only the runner sees what they write. */
static uint64_t runners_bytes(const struct tt_study *s)
{
    for (size_t i = 0; i < s->nsteps; i++)
        if (s->steps[i].others > 0)
            return s->o.max_bytes;
    return 0;
}

int tt_study_run(const struct tt_study *s, const char *directory, const uint64_t *repeat,
                 struct tt_error *e)
{
    size_t n = s->npoints * s->nsteps;
    struct tt_runner_point *points = calloc(n + 1, sizeof *points);
    uint64_t *repeats = calloc(n + 1, sizeof *repeats);
    struct owner c = {.study = s, .directory = directory};
    const struct tt_runner_rules rules = {.max_time = s->o.max_time,
                                          .max_bytes = runners_bytes(s),
                                          .seed = s->o.shuffle,
                                          .retry = s->o.resume != NULL};
    struct tt_runner_owner owner = {.context = &c,
                                    .npoints = n,
                                    .points = s->nsteps > 1 ? points : NULL,
                                    .repeat = repeats,
                                    .begin = begin,
                                    .run = run};
    struct tt_runner_report report = {0};
    int rc = points && repeats ? name_steps(s, &c.names, e) : tt_fail_nomem(e, "the points");

    for (size_t i = 0; i < n && rc == TT_OK; i++) {
        const struct tt_step *step = &s->steps[i % s->nsteps];

        points[i] = (struct tt_runner_point){i - i % s->nsteps + step->base, step->others == 0};
        repeats[i] = repeat ? repeat[i / s->nsteps] : s->o.repeat;
    }
    owner.names = (const char *const *)c.names;
    tt_processes_begin(); /* Ctrl-C between two repetitions waits for the next one */
    if (rc == TT_OK)
        rc = tt_runner_run(directory, &rules, &owner, &report, e);
    tt_processes_end();
    if (rc == TT_OK && report.out_of_budget)
        rc = tt_fail(e, TT_LIMIT, "%s", report.why);
    free(report.list);
    free_names(c.names);
    free(points);
    free(repeats);
    return rc;
}
