/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/require.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/metrics.h"
#include "base/json.h"
#include "spec/units.h"

enum comparison { AT_MOST, AT_LEAST, BELOW, ABOVE };
struct condition {
    char metric[40]; /* "slowdown", or one of tt_metrics */
    uint64_t others;
    enum comparison comparison;
    double value;
    const char *unit;
};

/* ---- reading ---- */

static int fail(const char *text, const char *what, struct tt_error *e)
{
    return tt_fail(e, TT_USAGE,
                   "require: '%.100s': %s; write it as 'slowdown(3) <= 2.5' or 'write_rate >= 40 "
                   "GB/s'",
                   text, what);
}

static const char *skip(const char *at)
{
    while (isspace((unsigned char)*at))
        at++;
    return at;
}

/* "(3)", or nothing for the reference alone. */
static int read_others(const char *text, const char **at, struct condition *c, struct tt_error *e)
{
    char *end;

    *at = skip(*at);
    if (**at != '(')
        return TT_OK;
    *at = skip(*at + 1);
    errno = 0;
    c->others = strtoull(*at, &end, 10);
    if (errno || !isdigit((unsigned char)**at) || *skip(end) != ')')
        return fail(text, "in brackets stands the number of others", e);
    *at = skip(end) + 1;
    return TT_OK;
}

static int read_comparison(const char *text, const char **at, struct condition *c,
                           struct tt_error *e)
{
    *at = skip(*at);
    if (**at != '<' && **at != '>')
        return fail(text, "expected <=, >=, < or >", e);
    c->comparison = **at == '<' ? BELOW : ABOVE;
    ++*at;
    if (**at == '=') {
        c->comparison = c->comparison == BELOW ? AT_MOST : AT_LEAST;
        ++*at;
    }
    *at = skip(*at);
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

/* Rates and bytes have their usual suffixes; in "40 GB/s" the blank goes. */
static int read_value(const char *text, const char *at, struct condition *c, struct tt_error *e)
{
    struct tt_error why = TT_ERROR_CLEAR;
    char squeezed[64], *end;
    size_t n = 0;
    uint64_t bytes = 0;
    int rc = TT_OK;

    for (; *at && n + 1 < sizeof squeezed; at++)
        if (!isspace((unsigned char)*at))
            squeezed[n++] = *at;
    squeezed[n] = '\0';
    if (*at)
        return fail(text, "the value is too long", e);
    if (c->unit[0] == 'B' && read_decimal(squeezed, c->unit + 1, &c->value)) {
        rc = TT_OK;
    } else if (!strcmp(c->unit, "B/s")) {
        rc = tt_parse_rate(squeezed, &c->value, &why);
    } else if (!strcmp(c->unit, "B")) {
        rc = tt_parse_bytes(squeezed, &bytes, &why);
        c->value = (double)bytes;
    } else if (!strcmp(c->unit, "s")) {
        rc = tt_parse_duration(squeezed, &c->value, &why);
    } else {
        c->value = strtod(squeezed, &end);
        rc = end > squeezed && (*end == '\0' || !strcmp(end, c->unit)) ? TT_OK : TT_USAGE;
    }
    return rc == TT_OK && isfinite(c->value)
               ? TT_OK
               : fail(text, why.text[0] ? why.text : "the value is none", e);
}

static int parse(const char *text, struct condition *c, struct tt_error *e)
{
    const char *at = skip(text);
    size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyz_0123456789");
    const struct tt_metric *m;
    int rc;

    *c = (struct condition){.unit = "1"};
    if (n == 0 || n >= sizeof c->metric)
        return fail(text, "begins with no metric", e);
    memcpy(c->metric, at, n);
    at += n;
    m = tt_find_metric(c->metric);
    if (m)
        c->unit = m->unit;
    else if (strcmp(c->metric, "slowdown"))
        return tt_fail(
            e, TT_USAGE,
            "require: '%.40s' is neither slowdown nor a metric; tutti list metrics names "
            "them",
            c->metric);
    rc = read_others(text, &at, c, e);
    if (rc == TT_OK && !m && c->others == 0)
        return fail(text, "alone nothing is slowed down: slowdown needs a number of others", e);
    if (rc == TT_OK)
        rc = read_comparison(text, &at, c, e);
    return rc == TT_OK ? read_value(text, at, c, e) : rc;
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
                     struct tt_error *e)
{
    struct condition c;
    int rc = TT_OK;

    for (size_t i = 0; i < conditions->n && rc == TT_OK; i++) {
        rc = parse(conditions->words[i], &c, e);
        if (rc == TT_OK && !is_measured(others, c.others))
            rc = tt_fail(e, TT_USAGE,
                         "require: '%.100s': %llu is not among others, so it would not be measured",
                         conditions->words[i], (unsigned long long)c.others);
    }
    return rc;
}

/* ---- judging ---- */

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

/* {"value" or "median", "low", "high"} of what the condition is about; NULL: not measured. */
static const json_t *find_quantity(const struct condition *c, const json_t *step)
{
    if (!strcmp(c->metric, "slowdown"))
        return json_object_get(step, "slowdown");
    return json_object_get(json_object_get(step, "metrics"), c->metric);
}

static enum tt_verdict_kind decide(const struct condition *c, const json_t *q, char *why,
                                   size_t size)
{
    const json_t *low = json_object_get(q, "low"), *high = json_object_get(q, "high");
    const json_t *value = json_object_get(q, "value");
    char a[TT_UNIT_TEXT], b[TT_UNIT_TEXT], m[TT_UNIT_TEXT];
    bool first, second;

    value = value ? value : json_object_get(q, "median");
    if (!json_is_number(value)) {
        snprintf(why, size, "not measured with %llu others", (unsigned long long)c->others);
        return TT_INCONCLUSIVE;
    }
    tt_format_value(json_number_value(value), c->unit, m);
    if (!json_is_number(low) || !json_is_number(high)) {
        snprintf(why, size, "%s, from too few runs for an interval", m);
        return TT_INCONCLUSIVE;
    }
    first = meets(c, json_number_value(low));
    second = meets(c, json_number_value(high));
    snprintf(why, size, "%s, 95 %% interval %s to %s", m,
             tt_format_value(json_number_value(low), c->unit, a),
             tt_format_value(json_number_value(high), c->unit, b));
    return first && second ? TT_PASS : !first && !second ? TT_FAIL : TT_INCONCLUSIVE;
}

/* A reference that was run and does not have the metric at all, such as one in a matrix that
 * never writes, has no part in it. */
static bool is_about(const struct condition *c, const json_t *step)
{
    if (!json_is_integer(json_object_get(step, "others")) ||
        (uint64_t)tt_integer_of(step, "others") != c->others)
        return false;
    return find_quantity(c, step) || tt_integer_of(step, "runs") == 0;
}

/* In a matrix several steps have that many others: all must meet it. */
static enum tt_verdict_kind decide_all(const struct condition *c, const json_t *steps, char *why,
                                       size_t size)
{
    static const int severity[] = {[TT_PASS] = 0, [TT_INCONCLUSIVE] = 1, [TT_FAIL] = 2};
    enum tt_verdict_kind worst = TT_PASS;
    bool found = false;
    const json_t *step;
    size_t i;

    json_array_foreach(steps, i, step)
    {
        enum tt_verdict_kind one;
        char text[160];

        if (!is_about(c, step))
            continue;
        one = decide(c, find_quantity(c, step), text, sizeof text);
        if (!found || severity[one] > severity[worst]) {
            worst = one;
            snprintf(why, size, "%s", text);
        }
        found = true;
    }
    return found ? worst : decide(c, NULL, why, size);
}

int tt_require_judge(const struct tt_words *conditions, const json_t *steps, json_t **out,
                     enum tt_verdict_kind *all, struct tt_error *e)
{
    static const char *const names[] = {"pass", "fail", "inconclusive"};
    int rc = TT_OK;

    *all = TT_PASS;
    *out = json_array();
    for (size_t i = 0; i < conditions->n && rc == TT_OK; i++) {
        enum tt_verdict_kind verdict;
        struct condition c;
        char why[160];

        rc = parse(conditions->words[i], &c, e);
        if (rc != TT_OK)
            break;
        verdict = decide_all(&c, steps, why, sizeof why);
        json_array_append_new(*out, json_pack("{s:s, s:s, s:s}", "condition", conditions->words[i],
                                              "verdict", names[verdict], "text", why));
        if (verdict == TT_FAIL || (verdict == TT_INCONCLUSIVE && *all == TT_PASS))
            *all = verdict;
    }
    return rc;
}
