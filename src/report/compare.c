/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A comparison for people: 80 columns, the verdict beside the medians. */
#include <stdbool.h>
#include <string.h>

#include "base/json.h"
#include "report/paragraph.h"
#include "report/report.h"
#include "report/table.h"
#include "spec/units.h"

#define MOST_VALUES 3

static bool is_verdict(const json_t *metric, const char *verdict)
{
    return !strcmp(tt_text_of(metric, "verdict"), verdict);
}

/* ---- what was compared ---- */

static void print_set(FILE *out, const json_t *set, const char *name)
{
    size_t runs = json_array_size(json_object_get(set, "runs"));
    const json_t *left_out = json_object_get(set, "left_out"), *run;
    struct tt_paragraph p = {0};
    size_t i;

    tt_paragraph_add(&p, "%s: %zu run%s", tt_text_of(set, "given"), runs, runs == 1 ? "" : "s");
    if (json_array_size(left_out))
        tt_paragraph_add(&p, "; left out %zu:", json_array_size(left_out));
    json_array_foreach(left_out, i, run)
    {
        if (i == MOST_VALUES) {
            tt_paragraph_add(&p, ", ...");
            break;
        }
        tt_paragraph_add(&p, "%s %s (%s)", i ? "," : "", tt_text_of(run, "id"),
                         tt_text_of(run, "reason"));
    }
    tt_paragraph_print(&p, out, name);
}

/* ---- the table ---- */

/* Where there are too few runs for a median to mean much, the range is shown. */
static bool has_range(const json_t *metric, const char *side)
{
    const json_t *s = json_object_get(metric, side);

    return is_verdict(metric, "too few") && tt_number_of(s, "min") < tt_number_of(s, "max");
}

/* The median in line 0; or "min to", and in line 1 max. */
static void add_value(struct tt_table *t, const json_t *metric, const char *side, int line)
{
    const json_t *s = json_object_get(metric, side);
    bool range = has_range(metric, side);
    const char *what = !range ? "median" : line ? "max" : "min";
    char text[TT_UNIT_TEXT] = "";

    if (json_object_get(s, what) && (range || !line))
        tt_format_value(tt_number_of(s, what), tt_text_of(metric, "unit"), text);
    tt_table_add(t, "%s%s", text, range && !line ? " to" : "");
}

/* Too few runs for a verdict still have a ratio, or a difference of what has no natural zero. */
static void add_verdict_cell(struct tt_table *t, const json_t *m)
{
    const json_t *effect = json_object_get(m, "effect");
    bool ratio = !strcmp(tt_text_of(m, "kind"), "ratio");

    if (!is_verdict(m, "too few"))
        tt_table_add(t, "%s", tt_text_of(m, "text"));
    else if (!tt_has_number(effect, "value"))
        tt_table_add(t, "too few for an interval");
    else if (ratio)
        tt_table_add(t, "%.3g times A", tt_number_of(effect, "value"));
    else
        tt_table_add(t, "%+.3g", tt_number_of(effect, "value"));
}

static void print_metrics(FILE *out, const json_t *metrics)
{
    static const struct tt_column columns[] = {{.title = "metric"},
                                               {.title = "A", .right = true, .width = 13},
                                               {.title = "B", .right = true, .width = 13},
                                               {.title = "B against A"}};
    struct tt_table t = {columns, sizeof columns / sizeof *columns, .indent = 2};
    const json_t *m;
    size_t i;

    json_array_foreach(metrics, i, m)
    {
        tt_table_add(&t, "%s", tt_text_of(m, "label"));
        add_value(&t, m, "a", 0);
        add_value(&t, m, "b", 0);
        add_verdict_cell(&t, m);
        if (!has_range(m, "a") && !has_range(m, "b"))
            continue;
        tt_table_add(&t, "%s", "");
        add_value(&t, m, "a", 1);
        add_value(&t, m, "b", 1);
        tt_table_add(&t, "%s", "");
    }
    fputc('\n', out);
    tt_table_print(&t, out, NULL);
}

/* ---- what differs ---- */

static void add_values(struct tt_paragraph *p, const json_t *values, const char *side)
{
    const json_t *value;
    size_t i;

    json_array_foreach(values, i, value)
    {
        const char *text = json_string_value(value);

        if (i < MOST_VALUES)
            tt_paragraph_add(p, "%s%s", i ? " or " : " ", text && *text ? text : "nothing");
    }
    if (json_array_size(values) > MOST_VALUES)
        tt_paragraph_add(p, " or %zu others", json_array_size(values) - MOST_VALUES);
    tt_paragraph_add(p, "%s in %s", json_array_size(values) ? "" : " missing", side);
}

static void print_differences(FILE *out, const json_t *list, const char *label)
{
    struct tt_paragraph p = {0};
    const json_t *d;
    size_t i;

    json_array_foreach(list, i, d)
    {
        tt_paragraph_add(&p, "%s%s", i ? "; " : "", tt_text_of(d, "key"));
        add_values(&p, json_object_get(d, "a"), "A,");
        add_values(&p, json_object_get(d, "b"), "B");
    }
    if (!p.n)
        tt_paragraph_add(&p, "nothing differs");
    tt_paragraph_print(&p, out, label);
}

/* ---- what follows ---- */

static void add_verdict(struct tt_paragraph *p, const json_t *metrics, const char *verdict)
{
    const char *separator = p->n ? "; " : "";
    bool any = false;
    const json_t *m;
    size_t i;

    json_array_foreach(metrics, i, m) if (is_verdict(m, verdict))
    {
        if (any)
            tt_paragraph_add(p, ", %s", tt_text_of(m, "label"));
        else
            tt_paragraph_add(p, "%s%s: %s", separator, verdict, tt_text_of(m, "label"));
        any = true;
    }
}

/* Each way to be too few once; it is usually the same for all metrics. */
static void print_too_few(FILE *out, const json_t *metrics)
{
    const char *last = "";
    const json_t *m;
    size_t i;

    json_array_foreach(metrics, i, m)
    {
        if (!is_verdict(m, "too few") || !strcmp(last, tt_text_of(m, "text")))
            continue;
        last = tt_text_of(m, "text");
        tt_say_marked(out, "! ", "%s", last);
    }
}

static void print_plan(FILE *out, const json_t *plan)
{
    static const char *const verdicts[] = {"worse",      "better",      "different",
                                           "equivalent", "cannot tell", "not measured"};
    const json_t *metrics = json_object_get(plan, "metrics");
    struct tt_paragraph head = {0}, p = {0};

    tt_paragraph_add(&head, "%s, ", tt_text_of(plan, "workload"));
    if (*tt_text_of(plan, "plan"))
        tt_paragraph_add(&head, "plan %s: ", tt_text_of(plan, "plan"));
    else
        tt_paragraph_add(&head, "any plan: ");
    tt_paragraph_add(&head, "%lld and %lld runs", (long long)tt_integer_of(plan, "a"),
                     (long long)tt_integer_of(plan, "b"));
    tt_paragraph_print_marked(&head, out, "\n");
    print_metrics(out, metrics);
    fputc('\n', out);
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++)
        add_verdict(&p, metrics, verdicts[i]);
    tt_paragraph_print(&p, out, "in short");
    print_differences(out, json_object_get(plan, "parameters"), "parameters");
    print_differences(out, json_object_get(plan, "environment"), "system");
    print_too_few(out, metrics);
}

/* ---- all of it ---- */

static void print_lonely(FILE *out, const json_t *plans, const char *has, const char *lacks)
{
    size_t n = json_array_size(plans), runs = 0, i;
    const json_t *plan;

    json_array_foreach(plans, i, plan) runs += (size_t)tt_integer_of(plan, "runs");
    if (n)
        tt_say_marked(out, "! ", "not compared: %s has %zu plan%s (%zu run%s) that %s has not", has,
                      n, n == 1 ? "" : "s", runs, runs == 1 ? "" : "s", lacks);
}

void tt_report_comparison(FILE *out, const json_t *comparison)
{
    long long both = (long long)tt_integer_of(comparison, "in_both");
    const json_t *plan;
    size_t i;

    fprintf(out, "tutti compare\n\n");
    print_set(out, json_object_get(comparison, "a"), "A");
    print_set(out, json_object_get(comparison, "b"), "B");
    json_array_foreach(json_object_get(comparison, "plans"), i, plan) print_plan(out, plan);
    print_lonely(out, json_object_get(comparison, "only_a"), "A", "B");
    print_lonely(out, json_object_get(comparison, "only_b"), "B", "A");
    if (both)
        tt_say_marked(out, "! ", "%lld run%s in both A and B", both, both == 1 ? " is" : "s are");
}
