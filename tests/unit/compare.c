/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two sets of runs with known numbers, compared plan by plan. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/compare.h"

static struct tt_error e;
static const struct tt_compare_options usual = {.margin = 0.05, .seed = 1};

static size_t metric(const char *name)
{
    return (size_t)(tt_find_metric(name) - tt_metrics);
}

/* A run of a plan that took so long; parameters and environment as JSON text. */
static struct tt_compared_run *add(struct tt_compared_set *s, const char *id, const char *plan,
                                   double runtime, const char *parameters, const char *environment)
{
    struct tt_compared_run *r = tt_compared_add(s);

    assert_non_null(r);
    s->given = "a test";
    r->directory = strdup("/nowhere");
    r->id = strdup(id);
    r->workload = strdup("stencil");
    r->plan = strdup(plan);
    r->parameters = json_loads(parameters, 0, NULL);
    r->environment = json_loads(environment, 0, NULL);
    for (size_t m = 0; m < TT_NMETRICS; m++)
        r->metrics[m] = NAN;
    r->metrics[metric("runtime")] = runtime;
    r->metrics[metric("write_rate")] = 1e9 / runtime;
    return r;
}

/* Eight runs around 10 s times a factor. */
static void fill(struct tt_compared_set *s, const char *name, const char *plan, double factor,
                 const char *parameters, const char *environment)
{
    static const double seconds[] = {10.0, 10.3, 9.9, 10.1, 9.8, 10.2, 10.05, 9.95};
    char id[32];

    for (int i = 0; i < 8; i++) {
        snprintf(id, sizeof id, "%s-%d", name, i);
        add(s, id, plan, seconds[i] * factor, parameters, environment);
    }
}

static json_t *compare(const struct tt_compared_set *a, const struct tt_compared_set *b,
                       const struct tt_compare_options *o)
{
    json_t *out = NULL;

    tt_error_clear(&e);
    if (tt_compare(a, b, o, &out, &e) != TT_OK)
        assert_null(out);
    return out;
}

/* What is said of a metric in the first plan. */
static const json_t *said(const json_t *out, const char *name)
{
    const json_t *one;
    size_t i;

    json_array_foreach(json_object_get(json_array_get(json_object_get(out, "plans"), 0), "metrics"),
                       i, one)
    {
        if (!strcmp(json_string_value(json_object_get(one, "metric")), name))
            return one;
    }
    return NULL;
}

static const char *verdict(const json_t *out, const char *name)
{
    return json_string_value(json_object_get(said(out, name), "verdict"));
}

static const char *text(const json_t *out, const char *name)
{
    return json_string_value(json_object_get(said(out, name), "text"));
}

static void times_and_rates_have_their_own_directions(void **unused)
{
    struct tt_compared_set a = {0}, slow = {0};
    const json_t *effect;
    json_t *out;

    (void)unused;
    fill(&a, "a", "p", 1, "{}", "{}");
    fill(&slow, "slow", "p", 1.12, "{}", "{}");
    out = compare(&a, &slow, &usual);
    assert_string_equal(verdict(out, "runtime"), "worse");
    assert_non_null(strstr(text(out, "runtime"), "slower by 12 % ("));
    assert_non_null(strstr(text(out, "write_rate"), "slower by 11 % ("));
    effect = json_object_get(said(out, "runtime"), "effect");
    assert_in_range((uint64_t)(1000 * json_number_value(json_object_get(effect, "low"))), 1080,
                    1119);
    assert_in_range((uint64_t)(1000 * json_number_value(json_object_get(effect, "high"))), 1120,
                    1160);
    assert_null(said(out, "read_rate")); /* measured by nobody */
    json_decref(out);
    out = compare(&slow, &a, &usual);
    assert_string_equal(verdict(out, "runtime"), "better");
    assert_non_null(strstr(text(out, "runtime"), "faster by 11 % ("));
    json_decref(out);
    tt_compared_free(&a);
    tt_compared_free(&slow);
}

static void the_same_is_never_different(void **unused)
{
    struct tt_compare_options fine = {.margin = 0.005, .named = true, .seed = 1};
    struct tt_compared_set a = {0}, same = {0};
    json_t *out, *again;

    (void)unused;
    fill(&a, "a", "p", 1, "{}", "{}");
    fill(&same, "same", "p", 1.001, "{}", "{}");
    out = compare(&a, &same, &usual);
    again = compare(&a, &same, &usual);
    assert_string_equal(verdict(out, "runtime"), "equivalent");
    assert_string_equal(text(out, "runtime"), "equivalent within 5 %");
    assert_true(json_equal(out, again));
    json_decref(again);
    json_decref(out);
    fine.metrics[metric("runtime")] = fine.metrics[metric("read_rate")] = true;
    out = compare(&a, &same, &fine);
    assert_string_equal(verdict(out, "runtime"), "cannot tell");
    assert_non_null(strstr(text(out, "runtime"), " runs each needed)"));
    assert_string_equal(verdict(out, "read_rate"), "not measured"); /* asked for by name */
    assert_null(said(out, "write_rate"));
    json_decref(out);
    assert_null(compare(&a, &a, &usual));
    assert_string_equal(e.text, "A and B are the same 8 runs: there is nothing to compare");
    add(&a, "one more", "p", 10, "{}", "{}");
    fill(&same, "a", "p", 1, "{}", "{}");
    out = compare(&a, &same, &usual);
    assert_string_equal(verdict(out, "runtime"), "equivalent");
    assert_int_equal(json_integer_value(json_object_get(out, "in_both")), 8);
    json_decref(out);
    tt_compared_free(&a);
    tt_compared_free(&same);
}

static void few_runs_give_no_interval(void **unused)
{
    struct tt_compared_set a = {0}, b = {0};
    json_t *out;

    (void)unused;
    add(&a, "a", "p", 10, "{}", "{}");
    fill(&b, "b", "p", 1, "{}", "{}");
    out = compare(&a, &b, &usual);
    assert_string_equal(text(out, "runtime"),
                        "too few for an interval (1 and 8 runs; six each are needed)");
    assert_true(
        json_is_number(json_object_get(json_object_get(said(out, "runtime"), "effect"), "value")));
    assert_true(
        json_is_null(json_object_get(json_object_get(said(out, "runtime"), "effect"), "low")));
    json_decref(out);
    b.runs[0].metrics[metric("runtime")] = NAN;
    out = compare(&b, &a, &usual);
    assert_non_null(strstr(text(out, "runtime"), "(7 and 1 runs;"));
    json_decref(out);
    a.runs[0].metrics[metric("runtime")] = NAN;
    out = compare(&b, &a, &usual);
    assert_string_equal(text(out, "runtime"), "not measured in B");
    json_decref(out);
    tt_compared_free(&a);
    tt_compared_free(&b);
}

static void plans_are_compared_with_their_like(void **unused)
{
    const struct tt_compare_options any = {.margin = 0.05, .any_plan = true, .seed = 1};
    struct tt_compared_set a = {0}, b = {0};
    const json_t *plan;
    json_t *out;

    (void)unused;
    fill(&a, "a", "small", 1, "{\"stencil.size\": \"32\", \"label\": \"x\"}", "{}");
    fill(&b, "b", "large", 2, "{\"stencil.size\": \"48\", \"label\": \"y\"}", "{}");
    assert_null(compare(&a, &b, &usual));
    assert_string_equal(e.text, "no plan is in both: stencil.size is 32 in A and 48 in B; "
                                "--any-plan compares them");
    out = compare(&a, &b, &any);
    plan = json_array_get(json_object_get(out, "plans"), 0);
    assert_true(json_is_null(json_object_get(plan, "plan")));
    assert_int_equal(json_array_size(json_object_get(plan, "parameters")), 1); /* no label */
    json_decref(out);
    add(&b, "b-9", "small", 10, "{\"stencil.size\": \"32\"}", "{}");
    out = compare(&a, &b, &usual);
    assert_int_equal(json_array_size(json_object_get(out, "plans")), 1);
    assert_int_equal(json_array_size(json_object_get(out, "only_a")), 0);
    plan = json_array_get(json_object_get(out, "only_b"), 0);
    assert_string_equal(json_string_value(json_object_get(plan, "plan")), "large");
    assert_int_equal(json_integer_value(json_object_get(plan, "runs")), 8);
    json_decref(out);
    tt_compared_free(&a);
    tt_compared_free(&b);
}

/* The sets have values in common; the plans that are named have not. */
static void a_key_is_named_that_differs(void **unused)
{
    struct tt_compared_set a = {0}, b = {0};

    (void)unused;
    add(&a, "a", "1", 10, "{\"seed\": \"1\", \"stencil.size\": \"32\"}", "{}");
    add(&b, "b", "2", 10, "{\"seed\": \"2\", \"stencil.size\": \"48\"}", "{}");
    add(&b, "c", "3", 10, "{\"seed\": \"1\", \"stencil.size\": \"48\", \"max_time\": \"5\"}", "{}");
    assert_null(compare(&a, &b, &usual));
    assert_string_equal(e.text, "no plan is in both: stencil.size is 32 in A and 48 in B; "
                                "--any-plan compares them");
    tt_compared_free(&b);
    add(&b, "d", "4", 10, "{\"seed\": \"1\", \"stencil.size\": \"32\"}", "{}");
    assert_null(compare(&a, &b, &usual));
    assert_non_null(strstr(e.text, "no parameter differs, so another version of tutti wrote one"));
    tt_compared_free(&a);
    tt_compared_free(&b);
}

static void what_differs_around_them_is_listed(void **unused)
{
    struct tt_compared_set a = {0}, b = {0};
    const json_t *list, *one;
    json_t *out;

    (void)unused;
    add(&a, "a", "p", 10, "{}", "{\"libraries\": {\"hdf5\": \"1.10\"}, \"data\": {\"free\": 1}}");
    add(&b, "b", "p", 10, "{}", "{\"libraries\": {\"hdf5\": \"9.9\"}, \"data\": {\"free\": 2}}");
    out = compare(&a, &b, &usual);
    list = json_object_get(json_array_get(json_object_get(out, "plans"), 0), "environment");
    assert_int_equal(json_array_size(list), 1); /* what is free is another number every time */
    one = json_array_get(list, 0);
    assert_string_equal(json_string_value(json_object_get(one, "key")), "libraries.hdf5");
    assert_string_equal(json_string_value(json_array_get(json_object_get(one, "b"), 0)), "9.9");
    json_decref(out);
    tt_compared_free(&a);
    tt_compared_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_and_rates_have_their_own_directions),
        cmocka_unit_test(the_same_is_never_different),
        cmocka_unit_test(few_runs_give_no_interval),
        cmocka_unit_test(plans_are_compared_with_their_like),
        cmocka_unit_test(a_key_is_named_that_differs),
        cmocka_unit_test(what_differs_around_them_is_listed),
    };

    return cmocka_run_group_tests_name("compare", tests, NULL, NULL);
}
