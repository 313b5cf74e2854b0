/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From settings to jobs, mixes and steps. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/metrics.h"
#include "base/text.h"
#include "ensemble/ensemble.h"
#include "plan/registry.h"
#include "plan/workload.h"

#define MAX_SPECS 4096

/* ---- jobs by name ---- */

static struct tt_job_spec *find_spec(const struct tt_ensemble *x, const char *name)
{
    for (size_t i = 0; i < x->nspecs; i++)
        if (!strcmp(x->specs[i].name, name))
            return &x->specs[i];
    return NULL;
}

static struct tt_job_spec *add_spec(struct tt_ensemble *x, const char *name, struct tt_error *e)
{
    struct tt_job_spec *p = find_spec(x, name);

    if (p)
        return p;
    if (x->nspecs == MAX_SPECS) {
        tt_fail(e, TT_USAGE, "more than %d kinds of jobs", MAX_SPECS);
        return NULL;
    }
    p = &x->specs[x->nspecs];
    p->name = strdup(name);
    if (!p->name || tt_params_default(tt_job_spec_component.params, &p->o, e) != TT_OK) {
        tt_fail_nomem(e, "a job");
        return NULL;
    }
    x->nspecs++;
    return p;
}

/* ---- keys ---- */

static int fail_unknown(const struct tt_setting *s, bool is_matrix, struct tt_error *e)
{
    const char *words[40] = {"reference", "load", "set"}, *near;
    char first[40];
    size_t n = 3;

    for (const struct tt_param *p = tt_ensemble_component.params; p->key && n < 39; p++)
        words[n++] = p->key;
    snprintf(first, sizeof first, "%.*s", (int)strcspn(s->key, "."), s->key);
    near = tt_nearest_word(s->key, words);
    near = near ? near : tt_nearest_word(first, words);
    return tt_fail(e, TT_USAGE,
                   "%.300s: unknown key '%.80s'%s; an ensemble has %s and the keys of tutti "
                   "help ensemble",
                   s->place, s->key, TT_DID_YOU_MEAN(near),
                   is_matrix ? "a set of jobs" : "reference, load");
}

/* "load.2.write.every" is job "load.2" and its key "write.every". */
static bool split(const char *key, bool is_matrix, char *spec, size_t size, const char **rest)
{
    const char *dot = strchr(key, '.');
    size_t length = dot ? (size_t)(dot - key) : 0;
    bool is_set = is_matrix && length == 3 && !strncmp(key, "set", 3);
    bool is_load = !is_matrix && length == 4 && !strncmp(key, "load", 4);
    const char *start = key, *end = dot;

    if (!dot ||
        !(is_set || is_load || (!is_matrix && length == 9 && !strncmp(key, "reference", 9))))
        return false;
    if (is_set)
        start = dot + 1;
    if (is_set || (is_load && dot[1] >= '0' && dot[1] <= '9'))
        end = strchr(dot + 1, '.');
    if (!end || (size_t)(end - start) >= size)
        return false;
    memcpy(spec, start, (size_t)(end - start));
    spec[end - start] = '\0';
    *rest = end + 1;
    return true;
}

static int take(struct tt_ensemble *x, const struct tt_setting *s, bool is_matrix,
                struct tt_error *e)
{
    const struct tt_param *param = tt_param_find(tt_ensemble_component.params, s->key);
    struct tt_job_spec *spec;
    const char *rest;
    char name[64];

    if (param)
        return tt_setting_apply(s, param, &x->o, e);
    if (!strcmp(s->key, "reference") || !strcmp(s->key, "load") || !strcmp(s->key, "set"))
        return tt_fail(e, TT_USAGE, "%.300s: %s needs keys, as in '%s'", s->place, s->key,
                       is_matrix ? "set: {a: {workload: stencil}}"
                                 : "load: {workload: stencil, size: 512}");
    if (!split(s->key, is_matrix, name, sizeof name, &rest))
        return fail_unknown(s, is_matrix, e);
    spec = add_spec(x, name, e);
    if (!spec)
        return e->code;
    param = tt_param_find(tt_job_spec_component.params, rest);
    return param ? tt_setting_apply(s, param, &spec->o, e)
                 : tt_settings_add(&spec->settings, rest, s->value, s->place, e);
}

/* ---- jobs ---- */

static int copy_words(struct tt_words *to, const struct tt_words *from, struct tt_error *e)
{
    to->words = calloc(from->n + 1, sizeof *to->words);
    if (!to->words)
        return tt_fail_nomem(e, "a job");
    for (to->n = 0; to->n < from->n; to->n++)
        if (!(to->words[to->n] = strdup(from->words[to->n])))
            return tt_fail_nomem(e, "a job");
    return TT_OK;
}

/* What another job has comes first: the own keys win. */
static int follow_same(struct tt_ensemble *x, struct tt_job_spec *p, struct tt_error *e)
{
    const struct tt_job_spec *other = p->o.same ? find_spec(x, p->o.same) : NULL;
    struct tt_settings all = {0};
    int rc;

    if (!p->o.same)
        return TT_OK;
    if (!other || other == p || other->o.same)
        return tt_fail(e, TT_USAGE, "%s: same: '%.80s' is not another job with a workload", p->name,
                       p->o.same);
    if (p->o.workload || p->o.command.n > 0)
        return tt_fail(e, TT_USAGE, "%s: give either same or a workload or command", p->name);
    rc = tt_settings_append(&all, &other->settings, e);
    if (rc == TT_OK)
        rc = tt_settings_append(&all, &p->settings, e);
    tt_settings_free(&p->settings);
    p->settings = all;
    if (rc == TT_OK && other->o.workload && !(p->o.workload = strdup(other->o.workload)))
        rc = tt_fail_nomem(e, "a job");
    if (rc == TT_OK && other->o.command.n > 0)
        rc = copy_words(&p->o.command, &other->o.command, e);
    if (p->o.cpus == 0 && p->o.cpu_set.n == 0)
        p->o.cpus = other->o.cpus;
    return rc;
}

static int add_command_words(struct tt_job_spec *p, struct tt_error *e)
{
    const struct tt_param words = {.key = "words", .type = TT_PARAM_WORDS};
    char *text = tt_param_get(&words, &p->o.command);
    int rc = text ? tt_settings_add(&p->settings, "words", text, "command", e)
                  : tt_fail_nomem(e, "a command");

    free(text);
    return rc;
}

static int resolve_spec(struct tt_ensemble *x, struct tt_job_spec *p, struct tt_error *e)
{
    struct tt_settings first = {0};
    struct tt_error inner = TT_ERROR_CLEAR;
    int rc;

    if (p->o.command.n > 0 && p->o.workload)
        return tt_fail(e, TT_USAGE, "%s: give either a workload or a command", p->name);
    if (p->o.command.n == 0 && !p->o.workload)
        return tt_fail(e, TT_USAGE, "%s: names neither a workload nor a command", p->name);
    p->workload = p->o.workload ? p->o.workload : "command";
    p->is_command = !strcmp(p->workload, "command");
    rc = p->o.command.n > 0 ? add_command_words(p, e) : TT_OK;
    if (rc == TT_OK && !p->is_command) /* all of a job is to be beside the others */
        rc = tt_settings_add(&first, "baseline", "0", "ensemble", e);
    if (rc == TT_OK && x->o.dir)
        rc = tt_settings_add(&first, "dir", x->o.dir, "dir", e);
    if (rc == TT_OK && x->o.min_free)
        rc = tt_settings_add(&first, "min_free", x->o.min_free, "min_free", e);
    if (rc == TT_OK)
        rc = tt_settings_append(&first, &p->settings, e);
    tt_settings_free(&p->settings);
    p->settings = first;
    if (rc == TT_OK)
        rc = tt_config_make(&p->config, p->workload, &p->settings, &inner);
    if (rc != TT_OK && e->code == TT_OK)
        return tt_fail(e, rc, "%s: %s", p->name, inner.text);
    if (rc == TT_OK && (p->o.weight <= 0 || p->o.cpus < 0 || p->o.cpus > CPU_SETSIZE))
        return tt_fail(e, TT_USAGE, "%s: weight must be above 0, and cpus 0 to %d", p->name,
                       CPU_SETSIZE);
    return rc;
}

/* ---- mixes and steps ---- */

static bool is_load(const struct tt_job_spec *p)
{
    return !strncmp(p->name, "load", 4) && (p->name[4] == '\0' || p->name[4] == '.');
}

/* Each job is of the job that is furthest behind its share. */
static int order_loads(const struct tt_ensemble *x, struct tt_mix *mix, struct tt_error *e)
{
    double given[MAX_SPECS] = {0};
    uint64_t most = 0;

    for (size_t i = 0; i < x->o.others.n; i++)
        if (x->o.others.values[i] > most)
            most = x->o.others.values[i];
    mix->order = calloc(most + 1, sizeof *mix->order);
    if (!mix->order)
        return tt_fail_nomem(e, "the mix");
    for (uint64_t k = 0; mix->n > 0 && k < most; k++) {
        size_t next = 0;

        for (size_t j = 1; j < mix->n; j++)
            if ((given[j] + 1) / x->specs[mix->specs[j]].o.weight <
                (given[next] + 1) / x->specs[mix->specs[next]].o.weight)
                next = j;
        given[next]++;
        mix->order[k] = mix->specs[next];
    }
    return TT_OK;
}

/* A load without keys would never have become a job: "load: {same: reference}" has one. */
static int make_mixes(struct tt_ensemble *x, bool is_matrix, struct tt_error *e)
{
    int rc = TT_OK;

    x->nmixes = is_matrix ? x->nspecs : 1;
    x->mixes = calloc(x->nmixes + 1, sizeof *x->mixes);
    if (!x->mixes)
        return tt_fail_nomem(e, "the mix");
    for (size_t m = 0; m < x->nmixes && rc == TT_OK; m++) {
        struct tt_mix *mix = &x->mixes[m];

        mix->specs = calloc(x->nspecs + 1, sizeof *mix->specs);
        if (!mix->specs)
            return tt_fail_nomem(e, "the mix");
        for (size_t i = 0; i < x->nspecs; i++)
            if (is_matrix ? i == m : is_load(&x->specs[i]))
                mix->specs[mix->n++] = i;
        rc = order_loads(x, mix, e);
    }
    return rc;
}

static int append_step(struct tt_ensemble *x, struct tt_step step, struct tt_error *e)
{
    struct tt_step *longer = realloc(x->steps, (x->npoints + 1) * sizeof *longer);

    if (!longer)
        return tt_fail_nomem(e, "the steps");
    x->steps = longer;
    x->steps[x->npoints++] = step;
    return TT_OK;
}

/* The reference alone is added before what is compared with it. */
static int add_step(struct tt_ensemble *x, size_t reference, size_t mix, uint64_t others,
                    struct tt_error *e)
{
    size_t base = x->npoints;

    for (size_t i = 0; i < x->npoints; i++) {
        if (x->steps[i].reference != reference)
            continue;
        if (x->steps[i].others == 0)
            base = i;
        if (x->steps[i].others == others && (others == 0 || x->steps[i].mix == mix))
            return TT_OK;
    }
    return append_step(x, (struct tt_step){reference, mix, others, base, false, false}, e);
}

/* What is only repeated has nothing that noise could be mistaken for. */
static int add_again(struct tt_ensemble *x, struct tt_error *e)
{
    int rc = TT_OK;

    x->nsteps = x->npoints;
    for (size_t i = 0; i < x->nsteps && x->o.alone > 1 && rc == TT_OK; i++)
        if (tt_step_is_base(x, i)) {
            struct tt_step again = x->steps[i];

            again.again = true;
            rc = append_step(x, again, e);
        }
    return rc;
}

/* Whether two jobs do the same on as many CPUs. */
static bool are_equal(const struct tt_job_spec *a, const struct tt_job_spec *b)
{
    json_t *x = tt_config_to_json(&a->config), *y = tt_config_to_json(&b->config);
    bool equal = !strcmp(a->workload, b->workload) && a->o.cpus == b->o.cpus &&
                 a->o.cpu_set.n == 0 && b->o.cpu_set.n == 0 && json_equal(x, y);

    json_decref(x);
    json_decref(y);
    return equal;
}

/* The job whose runs alone are also those of this one; NULL: there are none. */
static const struct tt_job_spec *alone_as(const struct tt_ensemble *x, const struct tt_job_spec *p)
{
    for (size_t i = 0; i < x->npoints; i++) {
        const struct tt_job_spec *other = &x->specs[x->steps[i].reference];

        if (x->steps[i].others == 0 && (other == p || are_equal(other, p)))
            return other;
    }
    return NULL;
}

/* Once for each kind of load that any step has. */
static int add_loads(struct tt_ensemble *x, struct tt_error *e)
{
    const struct tt_mix *mix = &x->mixes[0];
    uint64_t most = tt_ensemble_jobs(x) - 1;
    int rc = TT_OK;

    for (size_t i = 0; i < mix->n && x->o.loads_alone && rc == TT_OK; i++) {
        size_t spec = mix->specs[i];
        bool used = false;

        for (uint64_t k = 0; k < most && !used; k++)
            used = mix->order[k] == spec;
        if (used && !alone_as(x, &x->specs[spec]))
            rc = append_step(
                x, (struct tt_step){.reference = spec, .base = x->steps[0].base, .is_load = true},
                e);
    }
    return rc;
}

/* Alone first: it is what everything else is compared with. */
static int make_steps(struct tt_ensemble *x, bool is_matrix, struct tt_error *e)
{
    size_t nreferences = is_matrix ? x->nspecs : 1;
    int rc = TT_OK;

    for (size_t r = 0; r < nreferences && rc == TT_OK; r++) {
        size_t reference = is_matrix ? r : (size_t)(find_spec(x, "reference") - x->specs);

        rc = add_step(x, reference, 0, 0, e);
        for (size_t m = 0; m < x->nmixes && rc == TT_OK; m++)
            for (size_t i = 0; i < x->o.others.n && rc == TT_OK; i++) {
                uint64_t others = x->o.others.values[i];

                if (others > 0 && x->mixes[m].n == 0)
                    return tt_fail(e, TT_USAGE,
                                   "others: %llu, but no load says what they do; add 'load: {same: "
                                   "reference}'",
                                   (unsigned long long)others);
                rc = add_step(x, reference, m, others, e);
            }
    }
    if (rc == TT_OK)
        rc = add_again(x, e);
    return rc == TT_OK && !is_matrix ? add_loads(x, e) : rc;
}

static int check(const struct tt_ensemble *x, bool is_matrix, struct tt_error *e)
{
    if (is_matrix && x->nspecs == 0)
        return tt_fail(e, TT_USAGE, "a matrix needs a set of jobs: 'set: {a: {workload: ...}}'");
    if (!is_matrix && !find_spec(x, "reference"))
        return tt_fail(e, TT_USAGE, "an ensemble needs a reference: 'reference: {workload: ...}'");
    if (is_matrix && (x->o.limit > 0 || x->o.require.n > 0))
        return tt_fail(e, TT_USAGE,
                       "a matrix has many references, and limit and require are about one");
    if (x->o.ci.bytes > 0 || x->o.ci.percent > 100)
        return tt_fail(e, TT_USAGE, "stop_when.ci is a share such as 5%%");
    if (x->o.stop_metric && !tt_find_metric(x->o.stop_metric))
        return tt_fail(e, TT_USAGE, "stop_when.metric: there is no metric '%.40s'%s",
                       x->o.stop_metric,
                       TT_DID_YOU_MEAN(TT_NEAREST_ROW(x->o.stop_metric, tt_metrics)));
    if (x->o.cpus < 0 || x->o.cpus > CPU_SETSIZE)
        return tt_fail(e, TT_USAGE, "cpus is 0 to %d", CPU_SETSIZE);
    if (x->o.limit != 0 && x->o.limit < 1)
        return tt_fail(e, TT_USAGE, "limit is a slowdown such as 2.5: at least 1, or 0 for none");
    return TT_OK;
}

int tt_ensemble_make(struct tt_ensemble *x, const struct tt_settings *settings, bool is_matrix,
                     struct tt_error *e)
{
    int rc;

    *x = (struct tt_ensemble){.specs = calloc(MAX_SPECS, sizeof *x->specs)};
    rc = x->specs ? tt_params_default(tt_ensemble_component.params, &x->o, e)
                  : tt_fail_nomem(e, "the jobs");
    for (size_t i = 0; i < settings->n && rc == TT_OK; i++)
        rc = take(x, &settings->list[i], is_matrix, e);
    if (rc == TT_OK)
        rc = check(x, is_matrix, e);
    for (size_t i = 0; i < x->nspecs && rc == TT_OK; i++)
        rc = follow_same(x, &x->specs[i], e);
    for (size_t i = 0; i < x->nspecs && rc == TT_OK; i++)
        rc = resolve_spec(x, &x->specs[i], e);
    if (rc == TT_OK)
        rc = make_mixes(x, is_matrix, e);
    return rc == TT_OK ? make_steps(x, is_matrix, e) : rc;
}

void tt_ensemble_free(struct tt_ensemble *x)
{
    for (size_t i = 0; i < x->nspecs; i++) {
        struct tt_job_spec *p = &x->specs[i];

        free(p->name);
        free(p->title);
        tt_params_free(tt_job_spec_component.params, &p->o);
        tt_settings_free(&p->settings);
        tt_config_free(&p->config);
    }
    for (size_t m = 0; x->mixes && m < x->nmixes; m++) {
        free(x->mixes[m].specs);
        free(x->mixes[m].order);
    }
    tt_params_free(tt_ensemble_component.params, &x->o);
    free(x->specs);
    free(x->mixes);
    free(x->steps);
    *x = (struct tt_ensemble){0};
}

/* ---- a single job ---- */

bool tt_is_key_of_ensemble(const char *key)
{
    static const char *const jobs[] = {"dir", "min_free", "seed", "cpus", NULL};

    for (size_t i = 0; jobs[i]; i++)
        if (tt_same_key(jobs[i], key))
            return false;
    for (const struct tt_param *p = tt_ensemble_component.params; p->key; p++)
        if (tt_same_key(p->key, key))
            return true;
    return false;
}

/* A run that is repeated is the run it would be alone, while jobs of an ensemble have no baselines.
 */
static void put_baseline(const char *workload, struct tt_settings *out)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    const struct tt_workload *w = tt_find_workload(workload, &ignored);

    for (const struct tt_param *p = tt_run_component.params; w && w->has_epochs && p->key; p++)
        if (tt_same_key(p->key, "baseline"))
            tt_settings_put(out, "run", "reference.baseline", "%s", p->default_text);
}

/* A job does not know the keys of an ensemble, and could not say which one was meant. */
static int check_key(const struct tt_workload *w, const struct tt_setting *s, struct tt_error *e)
{
    const char *near = tt_nearest_key(s->key, tt_ensemble_component.params);
    bool is_known = strpbrk(s->key, ".-") || tt_is_key_of_ensemble(s->key) ||
                    tt_param_find(tt_run_component.params, s->key) ||
                    tt_param_find(w->params, s->key) ||
                    tt_param_find(tt_job_spec_component.params, s->key);

    for (size_t i = 0; tt_used_components[i]; i++)
        is_known |= !strcmp(tt_used_components[i]->name, s->key);
    if (is_known || !near || tt_nearest_key(s->key, w->params))
        return TT_OK;
    return tt_fail(e, TT_USAGE, "%.300s: unknown key '%.80s'%s", s->place, s->key,
                   TT_DID_YOU_MEAN(near));
}

int tt_ensemble_of_job(const char *workload, const struct tt_settings *job, struct tt_settings *out,
                       struct tt_error *e)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    const struct tt_workload *w = tt_find_workload(workload, &ignored);
    int rc = TT_OK;

    tt_settings_put(out, "run", "reference.workload", "%s", workload);
    tt_settings_put(out, "run", "others", "0");
    put_baseline(workload, out);
    for (size_t i = 0; i < job->n && rc == TT_OK; i++) {
        const struct tt_setting *s = &job->list[i];
        const char *name = strcmp(s->key, "-n") ? s->key : "ranks";
        char *key = NULL;

        if (asprintf(&key, "%s%s", tt_is_key_of_ensemble(name) ? "" : "reference.", name) < 0)
            return tt_fail_nomem(e, "settings");
        rc = w ? check_key(w, s, e) : TT_OK;
        if (rc == TT_OK)
            rc = tt_settings_add(out, key, s->value, s->place, e);
        free(key);
    }
    return rc;
}

/* ---- what others ask ---- */

const struct tt_job_spec *tt_step_spec(const struct tt_ensemble *x, const struct tt_step *s,
                                       uint64_t k)
{
    return &x->specs[k == 0 ? s->reference : x->mixes[s->mix].order[k - 1]];
}

bool tt_step_is_base(const struct tt_ensemble *x, size_t step)
{
    for (size_t i = 0; i < x->nsteps; i++)
        if (i != step && x->steps[i].base == step)
            return true;
    return false;
}

uint64_t tt_ensemble_jobs(const struct tt_ensemble *x)
{
    uint64_t most = 0;

    for (size_t i = 0; i < x->nsteps; i++)
        if (x->steps[i].others > most)
            most = x->steps[i].others;
    return most + 1;
}

/* Keys that a report shows of a job: a command has neither backend nor dumps; the workload says
 * which of its own. */
static json_t *shown_json(const struct tt_workload *w)
{
    static const char *const run[] = {"ranks", "backend", "overlap", "sync"};
    json_t *keys = json_array();

    for (size_t i = 0; i < (strcmp(w->name, "command") ? sizeof run / sizeof *run : 1); i++)
        json_array_append_new(keys, json_string(run[i]));
    for (size_t i = 0; w->shown && w->shown[i]; i++)
        json_array_append_new(keys, json_sprintf("%s.%s", w->name, w->shown[i]));
    if (strcmp(w->name, "command"))
        json_array_append_new(keys, json_string("write.every"));
    return keys;
}

static json_t *spec_json(const struct tt_ensemble *x, const struct tt_job_spec *p)
{
    const struct tt_job_spec *alone = alone_as(x, p);

    return json_pack("{s:s, s:s, s:f, s:f, s:b, s:o, s:s?, s:o}", "name", p->name, "workload",
                     p->workload, "weight", p->o.weight, "cpus", p->o.cpus, "loop", p->o.loop,
                     "shown", shown_json(p->config.workload), "alone", alone ? alone->name : NULL,
                     "parameters", tt_config_to_json(&p->config));
}

json_t *tt_ensemble_to_json(const struct tt_ensemble *x)
{
    json_t *specs = json_array(), *steps = json_array();

    for (size_t i = 0; i < x->nspecs; i++)
        json_array_append_new(specs, spec_json(x, &x->specs[i]));
    for (size_t i = 0; i < x->nsteps; i++) {
        const struct tt_step *s = &x->steps[i];
        json_t *loads = json_array();

        for (uint64_t k = 1; k <= s->others; k++)
            json_array_append_new(loads, json_string(tt_step_spec(x, s, k)->name));
        json_array_append_new(steps,
                              json_pack("{s:s, s:I, s:o}", "reference", x->specs[s->reference].name,
                                        "others", (json_int_t)s->others, "loads", loads));
    }
    return json_pack("{s:o, s:o}", "jobs", specs, "steps", steps);
}
