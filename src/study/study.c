/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A base, its factors and the points that they make. */
#include "study/study.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/text.h"
#include "ensemble/run.h"
#include "plan/module.h"
#include "plan/registry.h"
#include "study/private.h"

/* Each is a row of the answer; a directory may claim any number of them. */
#define MOST_ROWS 100000

/* ---- keys ---- */

char *tt_study_full_key(const struct tt_study *s, const char *key)
{
    const char *name = strcmp(key, "-n") ? key : "ranks";
    char *full = NULL;

    if (!s->is_job || tt_is_key_of_ensemble(name))
        return strdup(name);
    return asprintf(&full, "reference.%s", name) < 0 ? NULL : full;
}

/* Where the job's own key begins, after "reference.", "load." or "load.2."; the key itself if it is
 * the ensemble's. */
static const char *own_key(const char *full)
{
    const char *rest = full;

    if (!strncmp(full, "reference.", 10))
        return full + 10;
    if (!strncmp(full, "load.", 5)) {
        rest = full + 5 + strspn(full + 5, "0123456789");
        return *rest == '.' ? rest + 1 : full + 5;
    }
    return full;
}

static const struct tt_param *param_of_job(const struct tt_study *s, const char *key)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    const struct tt_param *p = tt_param_find(tt_job_spec_component.params, key);
    const struct tt_workload *w = !s->workload ? NULL
                                  : s->closed  ? tt_find_open(tt_workloads, s->workload)
                                               : tt_find_workload(s->workload, &ignored);

    if (!p && !strchr(key, '.'))
        p = tt_param_find(tt_run_component.params, key);
    if (!p && w)
        p = tt_param_find(w->params, key);
    if (!p && strchr(key, '.') && !(p = tt_find_param(key)) && !s->closed) {
        tt_module_open_all();
        p = tt_find_param(key);
    }
    return p;
}

const struct tt_param *tt_study_param(const struct tt_study *s, const char *full)
{
    const char *own = own_key(full);

    return own == full ? tt_param_find(tt_ensemble_component.params, full) : param_of_job(s, own);
}

/* "write: every=20,series=append" has the value of write.every, too. Caller frees. */
static char *value_in_list(const char *list, const char *key)
{
    char *copy = strdup(list), *rest = copy, *pair, *found = NULL;

    while (copy && !found && (pair = strsep(&rest, ","))) {
        char *equals = strchr(pair, '=');

        if (equals)
            *equals = '\0';
        if (equals && tt_same_key(pair, key))
            found = strdup(equals + 1);
    }
    free(copy);
    return found;
}

int tt_study_base_value(const struct tt_study *s, const char *full, char **value,
                        struct tt_error *e)
{
    const struct tt_param *p = tt_study_param(s, full);
    const char *own = own_key(full), *dot = strchr(own, '.');
    size_t prefix = (size_t)(own - full);

    *value = NULL;
    for (size_t i = s->base.n; i-- > 0 && !*value;) {
        const struct tt_setting *one = &s->base.list[i];
        const char *name = own_key(one->key);

        if ((size_t)(name - one->key) != prefix || strncmp(one->key, full, prefix) != 0 ||
            !one->value)
            continue;
        if (tt_study_param(s, one->key) == p)
            *value = strdup(one->value);
        else if (dot && strlen(name) == (size_t)(dot - own) && !strncmp(name, own, strlen(name)))
            *value = value_in_list(one->value, dot + 1);
    }
    if (!*value && p && p->default_text)
        *value = strdup(p->default_text);
    return *value || !p || !p->default_text ? TT_OK : tt_fail_nomem(e, "a value");
}

/* ---- the base ---- */

static int copy_text(char **to, const char *from, struct tt_error *e)
{
    *to = from ? strdup(from) : NULL;
    return from && !*to ? tt_fail_nomem(e, "a name") : TT_OK;
}

/* It may be gone on with from elsewhere. A directory that does not exist is refused later. */
static int fix_directory(struct tt_study *s, struct tt_error *e)
{
    const char *key = s->is_job ? "reference.dir" : "dir";
    char *dir = NULL, *found;
    int rc = tt_study_base_value(s, key, &dir, e);

    found = dir ? realpath(dir, NULL) : NULL;
    if (rc == TT_OK && found)
        rc = tt_settings_add(&s->base, key, found, "dir", e);
    free(dir);
    free(found);
    return rc;
}

int tt_study_begin(struct tt_study *s, const char *workload, const struct tt_settings *base,
                   struct tt_error *e)
{
    const struct tt_setting *of_reference;
    int rc;

    *s = (struct tt_study){.is_job = workload != NULL, .known = json_object()};
    rc = s->known ? tt_params_default(tt_study_component.params, &s->o, e)
                  : tt_fail_nomem(e, "the points");
    if (rc == TT_OK && workload)
        rc = tt_ensemble_of_job(workload, base, &s->base, e);
    else if (rc == TT_OK) /* noise is seen by the repetitions, and the loads are not asked for */
        rc = tt_settings_add(&s->base, "alone", "1", "study", e);
    if (rc == TT_OK && !workload)
        rc = tt_settings_append(&s->base, base, e);
    if (rc == TT_OK && !workload)
        rc = tt_settings_add(&s->base, "loads_alone", "no", "study", e);
    of_reference = tt_settings_find(&s->base, "reference.workload");
    if (rc == TT_OK)
        rc = copy_text(&s->workload, of_reference ? of_reference->value : NULL, e);
    return rc == TT_OK ? fix_directory(s, e) : rc;
}

size_t tt_study_find_factor(const struct tt_study *s, const char *full)
{
    const struct tt_param *param = tt_study_param(s, full);
    size_t job = (size_t)(own_key(full) - full), i = 0;

    for (; i < s->nfactors; i++) {
        const struct tt_factor *f = &s->factors[i];
        bool same_job = (size_t)(own_key(f->full) - f->full) == job && !strncmp(f->full, full, job);

        if (tt_same_key(f->full, full) || (param && f->param == param && same_job))
            break;
    }
    return i;
}

int tt_study_factor(struct tt_study *s, const char *key, const char *place, size_t *index,
                    struct tt_error *e)
{
    char *full = tt_study_full_key(s, key);
    const struct tt_param *param = full ? tt_study_param(s, full) : NULL;
    struct tt_factor *longer;
    int rc = full ? TT_OK : tt_fail_nomem(e, "a key");

    *index = rc == TT_OK ? tt_study_find_factor(s, full) : 0;
    if (rc == TT_OK && *index < s->nfactors) {
        free(full);
        return TT_OK;
    }
    longer = rc == TT_OK ? reallocarray(s->factors, s->nfactors + 1, sizeof *longer) : NULL;
    if (longer) {
        s->factors = longer;
        longer[s->nfactors] = (struct tt_factor){
            .key = strdup(key), .full = full, .place = strdup(place), .param = param};
        s->nfactors++;
    }
    if (!longer || !longer[s->nfactors - 1].key || !longer[s->nfactors - 1].place)
        rc = tt_fail_nomem(e, "a key");
    if (!longer)
        free(full);
    for (size_t i = 0; rc == TT_OK && i < s->npoints; i++) { /* the others have it as the base */
        char **values = reallocarray(s->points[i].values, s->nfactors, sizeof *values);

        if (!values)
            return tt_fail_nomem(e, "a point");
        s->points[i].values = values;
        values[s->nfactors - 1] = NULL;
    }
    return rc;
}

/* ---- a point ---- */

char *tt_point_text(const struct tt_study *s, const char *const *values, char *out, size_t size)
{
    size_t n = 0;

    *out = '\0';
    for (size_t i = 0; i < s->nfactors && n < size; i++)
        if (values[i])
            n += (size_t)snprintf(out + n, size - n, "%s%s=%s", n ? " " : "", s->factors[i].key,
                                  values[i]);
    if (!*out)
        snprintf(out, size, "the base");
    return out;
}

int tt_point_ensemble(const struct tt_study *s, const char *const *values, struct tt_ensemble *out,
                      struct tt_error *e)
{
    struct tt_settings all = {0};
    int rc = tt_settings_append(&all, &s->base, e);

    *out = (struct tt_ensemble){0};
    for (size_t i = 0; i < s->nfactors && rc == TT_OK; i++)
        if (values[i])
            rc = tt_settings_add(&all, s->factors[i].full, values[i], s->factors[i].place, e);
    if (rc == TT_OK)
        rc = tt_ensemble_make(out, &all, false, e);
    tt_settings_free(&all);
    return rc;
}

/* All that a job's parameters say, but where it is reported and what it is called. */
static json_t *hashed_job(const struct tt_job_spec *p)
{
    static const char *const unhashed[] = {"json",    "csv",   "quiet",  "dry_run",
                                           "results", "label", "context"};
    const struct tt_param set = {.key = "cpu_set", .type = TT_PARAM_WORDS};
    char *cpu_set = tt_param_get(&set, &p->o.cpu_set);
    json_t *parameters = tt_config_to_json(&p->config), *o;

    for (size_t i = 0; i < sizeof unhashed / sizeof *unhashed; i++)
        json_object_del(parameters, unhashed[i]);
    o = json_pack("{s:s, s:s, s:f, s:f, s:b, s:s?, s:o}", "name", p->name, "workload", p->workload,
                  "weight", p->o.weight, "cpus", p->o.cpus, "loop", p->o.loop, "cpu_set", cpu_set,
                  "parameters", parameters);
    free(cpu_set);
    return o;
}

/* And what the ensemble says of all jobs. How many others there are a step says. */
static json_t *hashed_options(const struct tt_ensemble_options *o)
{
    static const char *const unhashed[] = {"others", "results",  "label",     "json",
                                           "csv",    "junit",    "quiet",     "dry_run",
                                           "resume", "max_time", "max_bytes", NULL};
    json_t *all = json_object();

    for (const struct tt_param *p = tt_ensemble_component.params; p->key; p++) {
        char *text = tt_has_word(unhashed, p->key) ? NULL : tt_param_get(p, o);

        if (text)
            json_object_set_new(all, p->key, tt_json_bytes(text));
        free(text);
    }
    return all;
}

static int hash(const struct tt_ensemble *x, char out[TT_HASH_TEXT], struct tt_error *e)
{
    json_t *jobs = json_array(), *all;
    char *text;

    for (size_t i = 0; i < x->nspecs; i++)
        json_array_append_new(jobs, hashed_job(&x->specs[i]));
    all = json_pack("{s:o, s:o}", "jobs", jobs, "options", hashed_options(&x->o));
    text = all ? json_dumps(all, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    if (text)
        snprintf(out, TT_HASH_TEXT, "%016" PRIx64, XXH3_64bits(text, strlen(text)));
    json_decref(all);
    free(text);
    return text ? TT_OK : tt_fail_nomem(e, "a hash");
}

/* Those of the first point are those of all. */
static int take_steps(struct tt_study *s, const struct tt_ensemble *x, struct tt_error *e)
{
    if (s->nsteps > 0)
        return x->npoints == s->nsteps && x->nsteps == s->nrows
                   ? TT_OK
                   : tt_fail(e, TT_USAGE,
                             "alone and loads_alone change the steps of an ensemble, and cannot be "
                             "varied");
    free(s->steps);
    s->steps = calloc(x->npoints, sizeof *s->steps);
    if (!s->steps)
        return tt_fail_nomem(e, "the steps");
    memcpy(s->steps, x->steps, x->npoints * sizeof *s->steps);
    s->nrows = x->nsteps;
    s->nsteps = x->npoints;
    return TT_OK;
}

/* What the base is without other values, if it is possible at all. */
static int find_usual(struct tt_study *s, struct tt_error *e)
{
    const char **none = calloc(s->nfactors + 1, sizeof *none);
    struct tt_error ignored = TT_ERROR_CLEAR;
    struct tt_ensemble x = {0};
    int rc = none ? TT_OK : tt_fail_nomem(e, "a point");

    if (rc == TT_OK && tt_point_ensemble(s, none, &x, &ignored) == TT_OK)
        rc = hash(&x, s->usual, e);
    tt_ensemble_free(&x);
    free(none);
    return rc;
}

int tt_study_keep_point(struct tt_study *s, struct tt_point *p, const char *const *values,
                        struct tt_error *e)
{
    struct tt_point *longer = s->points;

    if ((s->npoints + 1) * s->nsteps > MOST_ROWS)
        return tt_fail(e, TT_LIMIT,
                       "more than %d points times steps; use fewer values, skip, or a sample",
                       MOST_ROWS);
    if ((s->npoints & (s->npoints - 1)) == 0) /* 0, 1, 2, 4, 8 ... */
        longer = reallocarray(s->points, s->npoints ? 2 * s->npoints : 1, sizeof *longer);
    if (!longer)
        return tt_fail_nomem(e, "a point");
    s->points = longer;
    p->values = calloc(s->nfactors + 1, sizeof *p->values);
    if (!p->values)
        return tt_fail_nomem(e, "a point");
    for (size_t i = 0; i < s->nfactors; i++)
        if (values[i] && !(p->values[i] = strdup(values[i])))
            return tt_fail_nomem(e, "a point");
    if (json_object_set_new(s->known, p->hash, json_integer((json_int_t)s->npoints)) != 0)
        return tt_fail_nomem(e, "a point");
    s->points[s->npoints++] = *p;
    *p = (struct tt_point){0};
    return TT_OK;
}

static void free_point(struct tt_point *p, size_t nfactors)
{
    for (size_t i = 0; p->values && i < nfactors; i++)
        free(p->values[i]);
    free(p->values);
    free(p->estimates);
}

/* What is wrong with a point is said with its values. A job does not know that it is a reference.
 */
static int fail_at(const struct tt_study *s, const char *const *values, const struct tt_error *why,
                   struct tt_error *e)
{
    char point[160], text[400];

    tt_error_format(why, text, sizeof text);
    return tt_fail(e, why->code, "%s (point %s)",
                   text + (s->is_job && !strncmp(text, "reference: ", 11) ? 11 : 0),
                   tt_point_text(s, values, point, sizeof point));
}

int tt_study_add(struct tt_study *s, const char *const *values, size_t *index, struct tt_error *e)
{
    struct tt_error why = TT_ERROR_CLEAR;
    struct tt_ensemble x = {0};
    struct tt_point p = {0};
    const json_t *known = NULL;
    int rc = tt_point_ensemble(s, values, &x, &why);

    if (rc == TT_OK)
        rc = hash(&x, p.hash, &why);
    if (rc == TT_OK)
        known = json_object_get(s->known, p.hash);
    if (rc == TT_OK && s->npoints == 0)
        rc = find_usual(s, &why);
    if (rc == TT_OK)
        rc = take_steps(s, &x, &why);
    if (rc == TT_OK && !known)
        rc = tt_ensemble_estimate(&x, &p.estimates, &why);
    if (rc == TT_OK && !known)
        rc = tt_ensemble_fits(&x, p.estimates, &why);
    if (rc == TT_OK && !known) {
        tt_ensemble_expect(&x, p.estimates, &p.bytes, &p.seconds);
        p.bytes /= (double)x.npoints;
        p.seconds /= (double)x.npoints;
        rc = tt_study_keep_point(s, &p, values, &why);
    }
    if (rc == TT_OK && index)
        *index = known ? (size_t)json_integer_value(known) : s->npoints - 1;
    free_point(&p, s->nfactors);
    tt_ensemble_free(&x);
    return rc == TT_OK ? TT_OK : fail_at(s, values, &why, e);
}

void tt_study_free(struct tt_study *s)
{
    for (size_t i = 0; i < s->npoints; i++)
        free_point(&s->points[i], s->nfactors);
    for (size_t i = 0; i < s->nfactors; i++) {
        struct tt_factor *f = &s->factors[i];
        struct tt_words values = {f->n, f->values};

        free(f->key);
        free(f->full);
        free(f->place);
        tt_values_free(&values);
    }
    tt_params_free(tt_study_component.params, &s->o);
    tt_settings_free(&s->base);
    json_decref(s->known);
    free(s->workload);
    free(s->factors);
    free(s->points);
    free(s->steps);
    *s = (struct tt_study){0};
}
