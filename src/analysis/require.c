/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/require.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_sort.h>

#include "base/json.h"
#include "spec/units.h"

#define SEED 1
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyz_0123456789"

const char *const tt_verdict_names[] = {"pass", "fail", "cannot be told"};

int tt_verdict_status(enum tt_verdict_kind kind)
{
    return kind == TT_PASS ? 0 : kind == TT_FAIL ? TT_EXIT_FAIL : TT_EXIT_UNDECIDED;
}

enum tt_verdict_kind tt_verdict_worst(enum tt_verdict_kind a, enum tt_verdict_kind b)
{
    return a == TT_FAIL || b == TT_FAIL ? TT_FAIL : a == TT_PASS ? b : a;
}

enum quantity_kind { METRIC, SLOWDOWN, VARIATION };
enum comparison { AT_MOST, AT_LEAST, BELOW, ABOVE };
struct condition {
    enum quantity_kind kind;
    const struct tt_metric *metric; /* of a variation that whose values vary; NULL: slowdown */
    uint64_t others;
    enum comparison comparison;
    double value;       /* or the factor before the baseline */
    const char *unit;   /* of the value: as metrics have it */
    char asked[12];     /* the unit as it was written; "": none, or one that is no name for it */
    double scale;       /* what one of it is */
    char baseline[256]; /* conditions of stored runs; "": the value itself is the bound */
    bool has_baseline;
};

/* ---- reading ---- */

struct reader {
    const char *text, *at;
    struct tt_error *e;
};

/* Names the place, counted from 1, and what stands there. */
static int fail(const struct reader *r, const char *what, const char *near)
{
    return tt_fail(r->e, TT_USAGE,
                   "require: '%.100s', at %zu ('%.20s'): %s%s; write it as 'slowdown(3) <= 2.5', "
                   "'write_rate >= 40 GB/s' or 'runtime <= 1.05 * baseline(label=golden)'",
                   r->text, (size_t)(r->at - r->text) + 1, r->at, what, TT_DID_YOU_MEAN(near));
}

static void skip(struct reader *r)
{
    while (isspace((unsigned char)*r->at))
        r->at++;
}

static bool take(struct reader *r, char wanted)
{
    skip(r);
    if (*r->at != wanted)
        return false;
    r->at++;
    skip(r);
    return true;
}

/* The word at this place, without taking it; "": there is none, or it is longer than any name. */
static size_t peek_word(struct reader *r, char word[40])
{
    size_t n;

    skip(r);
    n = strspn(r->at, NAME_CHARACTERS);
    snprintf(word, 40, "%.*s", n < 40 ? (int)n : 0, r->at);
    return n < 40 ? n : 0;
}

static int read_number_of_others(struct reader *r, struct condition *c)
{
    char *end;

    errno = 0;
    c->others = strtoull(r->at, &end, 10);
    if (errno || !isdigit((unsigned char)*r->at))
        return fail(r, "in brackets stands the number of others", NULL);
    r->at = end;
    return TT_OK;
}

static int fail_metric(const struct reader *r, const char *word, const char *what)
{
    static const char *const words[] = {"slowdown", "variation", NULL};
    const char *near = TT_NEAREST_ROW(word, tt_metrics);

    return fail(r, what, near ? near : tt_nearest_word(word, words));
}

/* "(3)", "(write_rate)", "(write_rate, 3)", or nothing. Only a variation names its metric there. */
static int read_brackets(struct reader *r, struct condition *c)
{
    char word[40];
    size_t n;
    int rc = TT_OK;

    if (!take(r, '('))
        return TT_OK;
    n = peek_word(r, word);
    if (c->kind == VARIATION && n > 0 && !isdigit((unsigned char)word[0])) {
        c->metric = tt_find_metric(word);
        if (!c->metric)
            return fail_metric(r, word, "there is no such metric");
        r->at += n;
        if (take(r, ','))
            rc = read_number_of_others(r, c);
    } else {
        rc = read_number_of_others(r, c);
    }
    if (rc == TT_OK && !take(r, ')'))
        rc = fail(r, "in brackets stands the number of others, then ')'", NULL);
    return rc;
}

static int read_quantity(struct reader *r, struct condition *c)
{
    char word[40];
    size_t n = peek_word(r, word);

    if (n == 0)
        return fail(r, "it begins with no metric", NULL);
    c->metric = tt_find_metric(word);
    c->kind = !strcmp(word, "slowdown")    ? SLOWDOWN
              : !strcmp(word, "variation") ? VARIATION
                                           : METRIC;
    if (c->kind == METRIC && !c->metric)
        return fail_metric(r, word,
                           "this is neither slowdown, variation nor a metric (tutti list "
                           "metrics)");
    if (c->kind == VARIATION)
        c->metric = &tt_metrics[TT_METRIC_runtime];
    c->unit = c->kind == METRIC ? c->metric->unit : "1";
    r->at += n;
    if (read_brackets(r, c) != TT_OK)
        return r->e->code;
    if (c->kind == SLOWDOWN && c->others == 0)
        return fail(r, "alone nothing is slowed down: slowdown needs a number of others", NULL);
    return TT_OK;
}

static int read_comparison(struct reader *r, struct condition *c)
{
    skip(r);
    if (*r->at != '<' && *r->at != '>')
        return fail(r, "expected <=, >=, < or >", NULL);
    c->comparison = *r->at == '<' ? BELOW : ABOVE;
    r->at++;
    if (*r->at == '=') {
        c->comparison = c->comparison == BELOW ? AT_MOST : AT_LEAST;
        r->at++;
    }
    skip(r);
    return TT_OK;
}

/* "40GB/s": what a system was sold by, powers of ten. Elsewhere such a unit is refused, since sizes
 * of data are mostly meant as powers of two. */
static bool read_decimal(const char *text, const char *after, double *value)
{
    static const char letters[] = "kmgtp";
    char *end;
    double number = strtod(text, &end);
    const char *letter = *end ? strchr(letters, tolower((unsigned char)*end)) : NULL;

    if (end == text || number < 0 || !letter || end[1] != 'B' || strcmp(end + 2, after) != 0)
        return false;
    *value = number * pow(1000, (double)(letter - letters + 1));
    return true;
}

/* A number and its unit, without blanks. Rates, bytes and times have their usual suffixes; what has
 * no unit may be told in percent. */
static int parse_value(const char *text, const char *unit, double *value, struct tt_error *e)
{
    uint64_t bytes = 0;
    char *end;
    int rc;

    if (unit[0] == 'B' && read_decimal(text, unit + 1, value))
        return TT_OK;
    if (!strcmp(unit, "B/s"))
        return tt_parse_rate(text, value, e);
    if (!strcmp(unit, "s"))
        return tt_parse_duration(text, value, e);
    if (!strcmp(unit, "B")) {
        rc = tt_parse_bytes(text, &bytes, e);
        *value = (double)bytes;
        return rc;
    }
    *value = strtod(text, &end);
    if (end > text && !strcmp(unit, "1") && !strcmp(end, "%"))
        *value /= 100;
    else if (end == text || (*end && strcmp(end, unit) != 0))
        return TT_USAGE;
    return TT_OK;
}

/* The unit in which the answer is told: what stands after the number, if it is more than one of the
 * letters that stand for a power. */
static void keep_unit(const char *squeezed, struct condition *c)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    const char *after = squeezed + strspn(squeezed, "+-.0123456789");
    char one[16];

    if ((*after == 'e' || *after == 'E') && strspn(after + 1, "+-0123456789"))
        after += 1 + strspn(after + 1, "+-0123456789");
    if (strlen(after) >= sizeof c->asked ||
        (!strchr(after, 'B') && strcmp(c->unit, "s") && strcmp(after, "%")))
        return;
    snprintf(one, sizeof one, "1%s", after);
    if (parse_value(one, c->unit, &c->scale, &ignored) == TT_OK && c->scale > 0)
        snprintf(c->asked, sizeof c->asked, "%s", after);
}

/* In "40 GB/s" the blank goes. The value ends at a '*', or with the text. */
static int read_value(struct reader *r, struct condition *c)
{
    struct tt_error why = TT_ERROR_CLEAR;
    const char *at = r->at;
    char squeezed[64];
    size_t n = 0;

    for (; *at && *at != '*' && n + 1 < sizeof squeezed; at++)
        if (!isspace((unsigned char)*at))
            squeezed[n++] = *at;
    squeezed[n] = '\0';
    if (*at && *at != '*')
        return fail(r, "the value is too long", NULL);
    if (parse_value(squeezed, *at == '*' ? "1" : c->unit, &c->value, &why) != TT_OK ||
        !isfinite(c->value))
        return fail(r, why.text[0] ? why.text : "this is no value", NULL);
    if (!*at)
        keep_unit(squeezed, c);
    r->at = at;
    return TT_OK;
}

/* "baseline(label=golden)", up to the last bracket: conditions may have brackets of their own. */
static int read_baseline(struct reader *r, struct condition *c)
{
    static const char *const words[] = {"baseline", NULL};
    const char *end = r->text + strlen(r->text);
    char word[40];
    size_t n = peek_word(r, word);

    if (strcmp(word, "baseline"))
        return fail(r, "expected baseline(CONDITIONS)", tt_nearest_word(word, words));
    if (c->kind != METRIC)
        return fail(r, "stored runs have metrics, and neither slowdown nor variation", NULL);
    r->at += n;
    if (!take(r, '('))
        return fail(r, "expected baseline(CONDITIONS)", NULL);
    while (end > r->at && isspace((unsigned char)end[-1]))
        end--;
    if (end == r->at || end[-1] != ')')
        return fail(r, "expected ')' at the end", NULL);
    end--;
    if (end == r->at || (size_t)(end - r->at) >= sizeof c->baseline)
        return fail(r, "conditions name stored runs, as in baseline(label=golden)", NULL);
    if (c->value <= 0)
        return fail(r, "the factor before a baseline is above 0", NULL);
    snprintf(c->baseline, sizeof c->baseline, "%.*s", (int)(end - r->at), r->at);
    c->has_baseline = true;
    return TT_OK;
}

static int parse(const char *text, struct condition *c, struct tt_error *e)
{
    struct reader r = {text, text, e};

    *c = (struct condition){.value = 1, .scale = 1};
    if (read_quantity(&r, c) != TT_OK || read_comparison(&r, c) != TT_OK)
        return e->code;
    if (isalpha((unsigned char)*r.at) && strchr(r.at, '('))
        return read_baseline(&r, c);
    if (read_value(&r, c) != TT_OK)
        return e->code;
    return take(&r, '*') ? read_baseline(&r, c) : TT_OK;
}

/* Alone is always measured. */
static bool is_measured(const struct tt_counts *others, uint64_t n)
{
    for (size_t i = 0; i < others->n; i++)
        if (others->values[i] == n)
            return true;
    return n == 0;
}

int tt_require_check(const struct tt_words *conditions, const struct tt_counts *others,
                     const struct tt_baseline_source *source, struct tt_error *e)
{
    struct condition c;
    int rc = TT_OK;

    for (size_t i = 0; i < conditions->n && rc == TT_OK; i++) {
        rc = parse(conditions->words[i], &c, e);
        if (rc == TT_OK && !is_measured(others, c.others))
            rc = tt_fail(e, TT_USAGE,
                         "require: '%.100s': %llu is not among others, so it would not be measured",
                         conditions->words[i], (unsigned long long)c.others);
        if (rc == TT_OK && c.has_baseline && source)
            rc = source->check(source->context, c.baseline, e);
    }
    return rc;
}

/* ---- judging ---- */

/* What a condition is about, of one step. */
struct quantity {
    bool known;
    double value;
    struct tt_interval interval;
    size_t needed;  /* runs for an interval */
    char text[300]; /* what else is to be said; why it is not known */
};

static bool meets(const struct condition *c, double value)
{
    switch (c->comparison) {
    case AT_MOST:
        return value <= c->value;
    case AT_LEAST:
        return value >= c->value;
    case BELOW:
        return value < c->value;
    default:
        return value > c->value;
    }
}

/* The metric in a step's answer; NULL: not measured. */
static const json_t *metric_of(const struct condition *c, const json_t *step)
{
    return json_object_get(json_object_get(step, "metrics"), c->metric->name);
}

/* The numbers of a JSON array; returns how many. */
static size_t take_numbers(const json_t *list, double **out)
{
    size_t n = 0, i;
    const json_t *value;

    *out = calloc(json_array_size(list) + 1, sizeof **out);
    if (*out)
        json_array_foreach(list, i, value) if (json_is_number(value))(*out)[n++] =
            json_number_value(value);
    return n;
}

static int take_variation(const struct condition *c, const json_t *step, struct quantity *q,
                          struct tt_error *e)
{
    double *values;
    size_t n = take_numbers(json_object_get(metric_of(c, step), "values"), &values);
    int rc = values ? tt_bootstrap_variation(values, n, TT_LEVEL, SEED, &q->interval, e)
                    : tt_fail_nomem(e, "the runs");

    q->needed = TT_RUNS_FOR_VARIATION;
    if (rc == TT_OK) {
        q->value = tt_variation(values, n);
        q->known = isfinite(q->value);
    }
    if (n > 0 && !q->known)
        snprintf(q->text, sizeof q->text, "%s",
                 n < 2 ? "one run does not vary" : "the mean of the runs is not above 0");
    free(values);
    return rc;
}

/* A ratio of medians needs numbers above 0. */
static bool are_positive(const double *sorted, size_t n)
{
    return n > 0 && sorted[0] > 0 && isfinite(sorted[n - 1] / sorted[0]);
}

static int compare_with(const struct condition *c, const struct tt_baseline *b,
                        const double *values, size_t n, struct quantity *q, struct tt_error *e)
{
    const struct tt_sample from = {b->n, b->values}, to = {n, values};
    char now[TT_UNIT_TEXT], then[TT_UNIT_TEXT];
    int rc;

    if (!are_positive(values, n) || !are_positive(b->values, b->n)) {
        snprintf(q->text, sizeof q->text, "not all values are above 0, and there is no ratio");
        return TT_OK;
    }
    rc = tt_bootstrap_effect(TT_RATIO, &from, &to, TT_LEVEL, SEED, &q->interval, e);
    q->known = true;
    q->value = tt_effect(TT_RATIO, &from, &to);
    snprintf(q->text, sizeof q->text, " times the baseline; median %s here, %s in its %zu runs",
             tt_format_value(tt_sample_median(&to), c->unit, now),
             tt_format_value(tt_sample_median(&from), c->unit, then), b->n);
    return rc;
}

static int take_ratio(const struct condition *c, const json_t *step,
                      const struct tt_baseline_source *source, struct quantity *q,
                      struct tt_error *e)
{
    struct tt_baseline b = {.why = "there is no index of stored runs"};
    double *values;
    size_t n = take_numbers(json_object_get(metric_of(c, step), "values"), &values);
    int rc = values ? TT_OK : tt_fail_nomem(e, "the runs");

    if (rc == TT_OK && n > 0 && source) {
        b.why[0] = '\0';
        rc = source->find(source->context, c->baseline, c->metric, c->others, &b, e);
    }
    if (rc == TT_OK && n > 0 && b.why[0]) {
        snprintf(q->text, sizeof q->text, "%s", b.why);
    } else if (rc == TT_OK && n > 0) {
        gsl_sort(values, 1, n);
        gsl_sort(b.values, 1, b.n);
        rc = compare_with(c, &b, values, n, q, e);
    }
    free(b.values);
    free(values);
    return rc;
}

/* What the answer has: {"value" or "median", "low", "high"}. */
static void take_answer(const struct condition *c, const json_t *step, struct quantity *q)
{
    const json_t *o = c->kind == SLOWDOWN ? json_object_get(step, "slowdown") : metric_of(c, step);
    const char *name = tt_has_number(o, "value") ? "value" : "median";

    q->known = tt_has_number(o, name);
    q->value = tt_number_of(o, name);
    q->interval.known = tt_has_number(o, "low") && tt_has_number(o, "high");
    q->interval.low = tt_number_of(o, "low");
    q->interval.high = tt_number_of(o, "high");
}

static int take_quantity(const struct condition *c, const json_t *step,
                         const struct tt_baseline_source *source, struct quantity *q,
                         struct tt_error *e)
{
    *q = (struct quantity){.needed = tt_runs_for_interval(TT_LEVEL)};
    if (c->kind == VARIATION)
        return take_variation(c, step, q, e);
    if (c->has_baseline)
        return take_ratio(c, step, source, q, e);
    take_answer(c, step, q);
    return TT_OK;
}

#define AMOUNT_TEXT 40
/* In the unit that was asked for. */
static const char *format(const struct condition *c, double value, char out[AMOUNT_TEXT])
{
    char text[TT_UNIT_TEXT];

    double asked = value / c->scale;

    if (c->has_baseline)
        snprintf(out, AMOUNT_TEXT, "%.4g", value);
    else if (c->asked[0] && fabs(asked) >= 1e4 && fabs(asked) < 1e15) /* without an exponent */
        snprintf(out, AMOUNT_TEXT, "%.0f %s", asked, c->asked);
    else if (c->asked[0])
        snprintf(out, AMOUNT_TEXT, "%.4g %s", asked, c->asked);
    else
        snprintf(out, AMOUNT_TEXT, "%s", tt_format_value(value, c->unit, text));
    return out;
}

static enum tt_verdict_kind decide(const struct condition *c, const struct quantity *q, char *why,
                                   size_t size)
{
    char value[AMOUNT_TEXT], low[AMOUNT_TEXT], high[AMOUNT_TEXT];
    bool first, second;

    if (!q->known) {
        if (q->text[0])
            snprintf(why, size, "%s", q->text);
        else if (c->others > 0)
            snprintf(why, size, "not measured with %llu others", (unsigned long long)c->others);
        else
            snprintf(why, size, "not measured; tutti explain %s says what it needs",
                     c->metric->name);
        return TT_UNDECIDED;
    }
    format(c, q->value, value);
    if (!q->interval.known) {
        snprintf(why, size, "%s%s, from too few runs for an interval: %zu are needed", value,
                 q->text, q->needed);
        return TT_UNDECIDED;
    }
    first = meets(c, q->interval.low);
    second = meets(c, q->interval.high);
    snprintf(why, size, "%s, %.0f %% interval %s to %s%s", value, 100 * TT_LEVEL,
             format(c, q->interval.low, low), format(c, q->interval.high, high), q->text);
    return first && second ? TT_PASS : !first && !second ? TT_FAIL : TT_UNDECIDED;
}

/* A reference that was run and does not have the metric at all, such as one in a matrix that
 * never writes, has no part in it. */
static bool is_about(const struct condition *c, const json_t *step)
{
    if (!json_is_integer(json_object_get(step, "others")) ||
        (uint64_t)tt_integer_of(step, "others") != c->others)
        return false;
    return (c->kind == SLOWDOWN ? json_object_get(step, "slowdown") : metric_of(c, step)) ||
           tt_integer_of(step, "runs") == 0;
}

/* In a matrix several steps have that many others: all must meet it. */
static int decide_all(const struct condition *c, const json_t *steps,
                      const struct tt_baseline_source *source, enum tt_verdict_kind *worst,
                      char *why, size_t size, struct tt_error *e)
{
    struct quantity q = {.known = false};
    bool found = false;
    const json_t *step;
    size_t i;
    int rc = TT_OK;

    *worst = decide(c, &q, why, size);
    json_array_foreach(steps, i, step)
    {
        enum tt_verdict_kind one;
        char text[512];

        if (rc != TT_OK || !is_about(c, step))
            continue;
        rc = take_quantity(c, step, source, &q, e);
        one = decide(c, &q, text, sizeof text);
        if (!found || (one != *worst && tt_verdict_worst(one, *worst) == one)) {
            *worst = one;
            snprintf(why, size, "%s", text);
        }
        found = true;
    }
    return rc;
}

int tt_require_judge(const struct tt_words *conditions, const json_t *steps,
                     const struct tt_baseline_source *source, json_t **out,
                     enum tt_verdict_kind *all, struct tt_error *e)
{
    int rc = TT_OK;

    *all = TT_PASS;
    *out = json_array();
    for (size_t i = 0; i < conditions->n && rc == TT_OK; i++) {
        enum tt_verdict_kind verdict = TT_PASS;
        struct condition c;
        char why[512];

        rc = parse(conditions->words[i], &c, e);
        if (rc == TT_OK)
            rc = decide_all(&c, steps, source, &verdict, why, sizeof why, e);
        if (rc != TT_OK)
            break;
        tt_make_plain(why);
        json_array_append_new(*out, json_pack("{s:s, s:s, s:s}", "condition", conditions->words[i],
                                              "verdict", tt_verdict_names[verdict], "text", why));
        *all = tt_verdict_worst(*all, verdict);
    }
    return rc;
}

/* ---- when to stop ---- */

/* "with 2: met: 8 runs, interval of +-3.1 %, wanted 5 %" */
static json_t *judge_step(const char *metric, double share, const json_t *step)
{
    const json_t *q = json_object_get(json_object_get(step, "metrics"), metric);
    long long others = (long long)tt_integer_of(step, "others"),
              runs = (long long)tt_integer_of(step, "runs");
    char who[32] = "alone", text[200];
    double middle, half;
    bool met;

    if (others > 0) {
        snprintf(who, sizeof who, "with %lld", others);
        q = json_object_get(q, "ratio");
    }
    middle = tt_number_of(q, others > 0 ? "value" : "median");
    half = (tt_number_or_nan(q, "high") - tt_number_or_nan(q, "low")) / 2 / middle;
    met = isfinite(half) && half <= share;
    if (isfinite(half))
        snprintf(text, sizeof text, "%s, %s: %s: %lld runs, interval of +-%.2g %%, wanted %.3g %%",
                 metric, who, met ? "met" : "not met", runs, 100 * half, 100 * share);
    else
        snprintf(text, sizeof text, "%s, %s: not met: %s", metric, who,
                 q ? "too few runs for an interval" : "not measured");
    return json_pack("{s:I, s:b, s:s}", "others", (json_int_t)others, "met", met, "text", text);
}

json_t *tt_stop_judge(const char *metric, double share, const json_t *steps)
{
    bool any_others = false;
    json_t *list = json_array();
    const json_t *step;
    size_t i;
    int rc = 0;

    json_array_foreach(steps, i, step) any_others |= tt_integer_of(step, "others") > 0;
    json_array_foreach(steps, i, step)
    {
        if (any_others == (tt_integer_of(step, "others") > 0))
            rc |= json_array_append_new(list, judge_step(metric, share, step));
    }
    return tt_json_unless(rc, list);
}
