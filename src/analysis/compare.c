/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict.h"
#include "base/json.h"
#include "base/text.h"
#include "build_info.h"
#include "plan/directory.h"
#include "spec/param.h"

/* ---- sets ---- */

struct tt_compared_run *tt_compared_add(struct tt_compared_set *s)
{
    struct tt_compared_run *grown = realloc(s->runs, (s->n + 1) * sizeof *grown);

    if (!grown)
        return NULL;
    s->runs = grown;
    grown[s->n] = (struct tt_compared_run){0};
    return &grown[s->n++];
}

void tt_compared_free(struct tt_compared_set *s)
{
    for (size_t i = 0; i < s->n; i++) {
        free(s->runs[i].directory);
        free(s->runs[i].id);
        free(s->runs[i].workload);
        free(s->runs[i].plan);
        json_decref(s->runs[i].parameters);
        json_decref(s->runs[i].environment);
    }
    free(s->runs);
    json_decref(s->left_out);
    *s = (struct tt_compared_set){0};
}

/* The runs of a set with one plan; plan NULL: all. */
struct part {
    size_t n;
    const struct tt_compared_run **runs;
};

static int take_part(const struct tt_compared_set *s, const char *plan, struct part *out)
{
    *out = (struct part){0, malloc((s->n + 1) * sizeof *out->runs)};
    for (size_t i = 0; out->runs && i < s->n; i++)
        if (!plan || !strcmp(s->runs[i].plan, plan))
            out->runs[out->n++] = &s->runs[i];
    return out->runs ? 0 : -1;
}

static size_t count_plan(const struct tt_compared_set *s, const char *plan)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        n += !strcmp(s->runs[i].plan, plan);
    return n;
}

static bool is_first_of_plan(const struct tt_compared_set *s, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (!strcmp(s->runs[k].plan, s->runs[i].plan))
            return false;
    return true;
}

/* ---- what differs ---- */

bool tt_is_silent_key(const char *key)
{
    /* data.path stands for dir */
    static const char *const silent[] = {
        "results", "label",   "json", "csv",       "quiet",
        "mode",    "dry_run", "dir",  "data.free", "data.device_number",
        NULL};

    return tt_has_word(silent, key) || tt_is_bound_key(key);
}

static json_t *as_text(const json_t *value)
{
    char *text;
    json_t *out;

    if (json_is_string(value))
        return json_incref((json_t *)value);
    text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
    out = text ? json_string(text) : NULL;
    free(text);
    return out;
}

/* {"mpi": {"library": ...}} as {"mpi.library": "..."}. Depth is bounded by the reader of JSON. */
static int flatten(const json_t *object, const char *prefix, json_t *flat)
{
    const char *key;
    json_t *value;
    int rc = 0;

    json_object_foreach((json_t *)object, key, value)
    {
        char *name;

        if (asprintf(&name, "%s%s%s", prefix, *prefix ? "." : "", key) < 0)
            return -1;
        if (json_is_object(value))
            rc |= flatten(value, name, flat);
        else if (!tt_is_silent_key(name))
            rc |= json_object_set_new(flat, name, as_text(value));
        free(name);
    }
    return rc;
}

/* {"key": {"value": true, ...}} over the runs: every value that occurs. */
static int collect(const struct part *p, bool environment, json_t *all)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < p->n; i++) {
        json_t *flat = json_object(), *value;
        const char *key;

        rc = flat
                 ? flatten(environment ? p->runs[i]->environment : p->runs[i]->parameters, "", flat)
                 : -1;
        json_object_foreach(flat, key, value)
        {
            json_t *values = json_object_get(all, key);

            if (!values && (rc |= json_object_set_new(all, key, values = json_object())) != 0)
                break;
            rc |= json_object_set_new(values, json_string_value(value), json_true());
        }
        json_decref(flat);
    }
    return rc;
}

static json_t *keys_of(const json_t *object)
{
    json_t *list = json_array(), *value;
    const char *key;

    json_object_foreach((json_t *)object, key, value) json_array_append_new(list, json_string(key));
    return list;
}

static int add_difference(json_t *list, const char *key, const json_t *a, const json_t *b)
{
    if (a && b && json_equal((json_t *)a, (json_t *)b))
        return 0;
    return json_array_append_new(
        list, json_pack("{s:s, s:o, s:o}", "key", key, "a", keys_of(a), "b", keys_of(b)));
}

/* [{"key", "a": [values], "b": [values]}]; NULL: no memory. */
static json_t *differences(const struct part *a, const struct part *b, bool environment)
{
    json_t *in_a = json_object(), *in_b = json_object(), *list = json_array(), *value;
    const char *key;
    int rc = collect(a, environment, in_a) | collect(b, environment, in_b);

    json_object_foreach(in_a, key, value) rc |=
        add_difference(list, key, value, json_object_get(in_b, key));
    json_object_foreach(in_b, key, value) if (!json_object_get(in_a, key)) rc |=
        add_difference(list, key, NULL, value);
    json_decref(in_a);
    json_decref(in_b);
    return tt_json_unless(rc, list);
}

json_t *tt_compare_environments(const struct tt_compared_set *a, const struct tt_compared_set *b)
{
    struct part pa = {0}, pb = {0};
    json_t *list = take_part(a, NULL, &pa) == 0 && take_part(b, NULL, &pb) == 0
                       ? differences(&pa, &pb, true)
                       : NULL;

    free(pa.runs);
    free(pb.runs);
    return list;
}

/* ---- one plan ---- */

/* Measured, and not of a damaged directory whose ratios would overflow. */
static bool is_usable(double value)
{
    return value == 0 || (fabs(value) > 1e-100 && fabs(value) < 1e100);
}

/* The runs that measured it. */
static int take_values(const struct part *p, enum tt_metric_id metric, struct tt_values *out)
{
    *out = (struct tt_values){0, malloc((p->n + 1) * sizeof *out->values)};
    for (size_t i = 0; out->values && i < p->n; i++)
        if (is_usable(p->runs[i]->metrics[metric]))
            out->values[out->n++] = p->runs[i]->metrics[metric];
    return out->values ? 0 : -1;
}

static bool is_wanted(enum tt_metric_id metric, const struct tt_compare_options *o,
                      const struct tt_values *a, const struct tt_values *b)
{
    if (o->named)
        return o->metrics[metric];
    return (tt_metrics[metric].shown & TT_SHOWN_COMPARED) && (a->n || b->n);
}

static int add_metric(json_t *list, enum tt_metric_id metric, const struct part *a,
                      const struct part *b, const struct tt_compare_options *o, struct tt_error *e)
{
    struct tt_values va = {0}, vb = {0};
    json_t *verdict = NULL;
    int rc = TT_OK;

    if (take_values(a, metric, &va) != 0 || take_values(b, metric, &vb) != 0)
        rc = tt_fail_nomem(e, "values");
    else if (is_wanted(metric, o, &va, &vb))
        rc = tt_verdict(metric, &va, &vb, o->margin, o->seed, &verdict, e);
    if (verdict && json_array_append_new(list, verdict) != 0)
        rc = tt_fail_nomem(e, "a comparison");
    free(va.values);
    free(vb.values);
    return rc;
}

static int compare_parts(const char *plan, const struct part *a, const struct part *b,
                         const struct tt_compare_options *o, json_t *plans, struct tt_error *e)
{
    json_t *metrics = json_array(), *parameters, *environment, *one;
    int rc = TT_OK;

    for (int m = 0; rc == TT_OK && m < TT_NMETRICS; m++)
        rc = add_metric(metrics, (enum tt_metric_id)m, a, b, o, e);
    if (rc != TT_OK) {
        json_decref(metrics);
        return rc;
    }
    parameters = differences(a, b, false);
    environment = differences(a, b, true);
    one = json_pack(
        "{s:o, s:o, s:I, s:I, s:o, s:o, s:o}", "plan", plan ? tt_json_text(plan) : json_null(),
        "workload", tt_json_text(a->runs[0]->workload), "a", (json_int_t)a->n, "b",
        (json_int_t)b->n, "metrics", metrics, "parameters", parameters, "environment", environment);
    return json_array_append_new(plans, one) == 0 ? TT_OK : tt_fail_nomem(e, "a comparison");
}

static int compare_plan(const struct tt_compared_set *a, const struct tt_compared_set *b,
                        const char *plan, const struct tt_compare_options *o, json_t *plans,
                        struct tt_error *e)
{
    struct part pa = {0}, pb = {0};
    int rc;

    if (take_part(a, plan, &pa) != 0 || take_part(b, plan, &pb) != 0)
        rc = tt_fail_nomem(e, "runs");
    else
        rc = compare_parts(plan, &pa, &pb, o, plans, e);
    free(pa.runs);
    free(pb.runs);
    return rc;
}

/* ---- both sets ---- */

/* Two runs whose plans are not the same, and the first parameter that makes them so. */
struct pair {
    const struct tt_compared_run *a, *b;
    const char *key;
    size_t n; /* of such parameters */
};

/* The run of B that is most like the first of A; b is NULL: all are of other workloads. */
static struct pair nearest(const struct tt_compared_set *a, const struct tt_compared_set *b)
{
    struct pair best = {.a = &a->runs[0]};

    for (size_t i = 0; i < b->n; i++) {
        struct pair one = {.a = &a->runs[0], .b = &b->runs[i]};

        if (strcmp(one.a->workload, one.b->workload) != 0)
            continue;
        one.n = tt_parameters_differ(one.a->parameters, one.b->parameters, 1, &one.key);
        if (!best.b || one.n < best.n)
            best = one;
    }
    return best;
}

static const char *value_of(const struct tt_compared_run *run, const char *key)
{
    const char *text = tt_text_of(run->parameters, key);

    return *text ? text : "not set";
}

/* Each run that was asked for a time of computation finds its own count: "0.05s=12x0.0042s". */
static bool is_calibrated(const struct pair *p)
{
    return strstr(p->key, ".compute") && strchr(value_of(p->a, p->key), '=') &&
           strchr(value_of(p->b, p->key), '=');
}

static int refuse(const struct tt_compared_set *a, const struct tt_compared_set *b,
                  struct tt_error *e)
{
    struct pair p = nearest(a, b);

    if (!p.b)
        return tt_fail(e, TT_FAILED,
                       "no plan is in both: A ran %.40s, B %.40s; --any-plan compares them",
                       a->runs[0].workload, b->runs[0].workload);
    if (p.n == 0)
        return tt_fail(e, TT_FAILED,
                       "no plan is in both: no parameter differs, so another version of tutti "
                       "wrote one of them; --any-plan compares them");
    return tt_fail(
        e, TT_FAILED,
        "no plan is in both: %.60s is %.60s in A and %.60s in B%s; --any-plan compares them", p.key,
        value_of(p.a, p.key), value_of(p.b, p.key),
        p.n > 1             ? ", and more differs"
        : is_calibrated(&p) ? ", calibrated apart: give both the count"
                            : "");
}

/* The plans of `from` that `other` has not. */
static json_t *lonely_plans(const struct tt_compared_set *from, const struct tt_compared_set *other)
{
    json_t *list = json_array();
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < from->n; i++) {
        const struct tt_compared_run *r = &from->runs[i];

        if (is_first_of_plan(from, i) && !count_plan(other, r->plan))
            rc = json_array_append_new(list,
                                       json_pack("{s:o, s:o, s:I}", "plan", tt_json_text(r->plan),
                                                 "workload", tt_json_text(r->workload), "runs",
                                                 (json_int_t)count_plan(from, r->plan)));
    }
    return tt_json_unless(rc, list);
}

bool tt_compared_has(const struct tt_compared_set *s, const char *id)
{
    for (size_t i = 0; i < s->n; i++)
        if (!strcmp(s->runs[i].id, id))
            return true;
    return false;
}

static size_t count_both(const struct tt_compared_set *a, const struct tt_compared_set *b)
{
    size_t n = 0;

    for (size_t i = 0; i < a->n; i++)
        n += tt_compared_has(b, a->runs[i].id);
    return n;
}

static json_t *set_json(const struct tt_compared_set *s)
{
    json_t *runs = json_array();
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < s->n; i++)
        rc = json_array_append_new(runs,
                                   json_pack("{s:o, s:o, s:o}", "id", tt_json_text(s->runs[i].id),
                                             "directory", tt_json_text(s->runs[i].directory),
                                             "plan", tt_json_text(s->runs[i].plan)));
    if (rc != 0) {
        json_decref(runs);
        return NULL;
    }
    return json_pack("{s:o, s:o, s:o}", "given", tt_json_text(s->given), "runs", runs, "left_out",
                     s->left_out ? json_incref(s->left_out) : json_array());
}

static int compare_plans(const struct tt_compared_set *a, const struct tt_compared_set *b,
                         const struct tt_compare_options *o, json_t *plans, struct tt_error *e)
{
    int rc = TT_OK;

    if (o->any_plan)
        return compare_plan(a, b, NULL, o, plans, e);
    for (size_t i = 0; rc == TT_OK && i < a->n; i++)
        if (is_first_of_plan(a, i) && count_plan(b, a->runs[i].plan))
            rc = compare_plan(a, b, a->runs[i].plan, o, plans, e);
    if (rc == TT_OK && json_array_size(plans) == 0)
        rc = refuse(a, b, e);
    return rc;
}

int tt_compare(const struct tt_compared_set *a, const struct tt_compared_set *b,
               const struct tt_compare_options *o, json_t **out, struct tt_error *e)
{
    size_t both = count_both(a, b);
    json_t *plans = json_array();
    int rc =
        both == a->n && both == b->n
            ? tt_fail(e, TT_FAILED, "A and B are the same %zu run%s: there is nothing to compare",
                      both, both == 1 ? "" : "s")
            : compare_plans(a, b, o, plans, e);

    *out = NULL;
    if (rc != TT_OK) {
        json_decref(plans);
        return rc;
    }
    *out = json_pack("{s:{s:s, s:s, s:i}, s:f, s:f, s:I, s:o, s:o, s:o, s:o, s:o, s:I}", "tutti",
                     "version", TT_VERSION, "revision", TT_REVISION, "format", TT_COMPARISON_FORMAT,
                     "margin", o->margin, "level", TT_LEVEL, "seed", (json_int_t)o->seed, "a",
                     set_json(a), "b", set_json(b), "plans", plans, "only_a",
                     o->any_plan ? json_array() : lonely_plans(a, b), "only_b",
                     o->any_plan ? json_array() : lonely_plans(b, a), "in_both", (json_int_t)both);
    return *out ? TT_OK : tt_fail_nomem(e, "the comparison");
}
