/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A line through the best values of one key over another, as the paper has one of stripes over
 * nodes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_fit.h>

#include "base/json.h"
#include "base/text.h"
#include "spec/units.h"
#include "study/study.h"

static double leave_one_out(const double *x, const double *y, size_t n, size_t left)
{
    double sx = 0, sy = 0, sxx = 0, sxy = 0, m = (double)(n - 1), slope, intercept;

    for (size_t i = 0; i < n; i++)
        if (i != left) {
            sx += x[i];
            sy += y[i];
        }
    for (size_t i = 0; i < n; i++)
        if (i != left) {
            sxx += (x[i] - sx / m) * (x[i] - sx / m);
            sxy += (x[i] - sx / m) * (y[i] - sy / m);
        }
    slope = sxx > 0 ? sxy / sxx : 0;
    intercept = sy / m - slope * sx / m;
    return fabs((intercept + slope * x[left]) / y[left] - 1);
}

int tt_line_fit(const double *x, const double *y, size_t n, struct tt_line *out, struct tt_error *e)
{
    double c00, c01, c11, rest;

    *out = (struct tt_line){.n = n};
    if (n < 3)
        return tt_fail(e, TT_USAGE, "a line needs three values at least, and there %s %zu",
                       n == 1 ? "is" : "are", n);
    out->low = out->high = x[0];
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i]) || !isfinite(y[i]) || !(y[i] > 0))
            return tt_fail(e, TT_USAGE, "a line needs numbers, and best values above 0");
        out->low = x[i] < out->low ? x[i] : out->low;
        out->high = x[i] > out->high ? x[i] : out->high;
    }
    if (!(out->high > out->low))
        return tt_fail(e, TT_USAGE, "a line needs different values to lie over");
    gsl_fit_linear(x, 1, y, 1, n, &out->intercept, &out->slope, &c00, &c01, &c11, &rest);
    if (fabs(out->intercept) < 1e-9 * fabs(out->slope * out->high)) /* rounding */
        out->intercept = 0;
    for (size_t i = 0; i < n; i++)
        out->error += leave_one_out(x, y, n, i) / (double)n;
    return TT_OK;
}

/* A key of a row as a number; not a number: it is none. */
static double number_in(const struct tt_study *s, const json_t *row, const char *key)
{
    const char *text = tt_text_of(json_object_get(row, "values"), key);
    struct tt_error ignored = TT_ERROR_CLEAR;
    const struct tt_param *param = NULL;
    uint64_t bytes;
    double number;

    for (size_t i = 0; i < s->nfactors; i++)
        if (!strcmp(s->factors[i].key, key))
            param = s->factors[i].param;
    if (tt_value_number(param, text, &number))
        return number;
    return tt_parse_bytes(text, &bytes, &ignored) == TT_OK ? (double)bytes : NAN;
}

/* The best value of y for every x, by the median of the metric. Returns how many x there are. */
static size_t find_best(const struct tt_study *s, const json_t *answer, const char *const keys[2],
                        double *x, double *y, double *tops)
{
    const json_t *finding = json_array_get(json_object_get(answer, "findings"), 0), *row;
    bool higher = !strcmp(tt_text_of(finding, "better"), "higher");
    size_t n = 0, i;

    json_array_foreach(json_object_get(answer, "rows"), i, row)
    {
        const json_t *metrics = json_object_get(row, "metrics");
        double median =
            tt_number_or_nan(json_object_get(metrics, tt_text_of(finding, "metric")), "median");
        double at = number_in(s, row, keys[1]), value = number_in(s, row, keys[0]);
        size_t k = 0;

        if (!isfinite(median) || !isfinite(at) || !isfinite(value))
            continue;
        while (k < n && x[k] != at)
            k++;
        if (k == n || (higher ? median > tops[k] : median < tops[k])) {
            x[k] = at;
            y[k] = value;
            tops[k] = median;
        }
        n += k == n;
    }
    return n;
}

static int split_keys(const struct tt_study *s, char *text, const char *keys[2], struct tt_error *e)
{
    const char **known = calloc(s->nfactors + 1, sizeof *known);
    char *tilde = strchr(text, '~');
    int rc = known ? TT_OK : tt_fail_nomem(e, "the keys");

    if (rc == TT_OK && !tilde)
        rc = tt_fail(e, TT_USAGE, "fit: '%.80s' is not KEY~KEY, such as stripe.count~ranks", text);
    for (size_t i = 0; i < s->nfactors && rc == TT_OK; i++)
        known[i] = s->factors[i].key;
    if (rc == TT_OK) {
        *tilde = '\0';
        keys[0] = text;
        keys[1] = tilde + 1;
    }
    for (size_t i = 0; i < 2 && rc == TT_OK; i++)
        if (!tt_has_word(known, keys[i]))
            rc = tt_fail(e, TT_USAGE, "fit: '%.40s' is not varied%s", keys[i],
                         TT_DID_YOU_MEAN(tt_nearest_word(keys[i], known)));
    free(known);
    return rc;
}

/* As a user would write it. */
static const char *format_number(const struct tt_study *s, const char *key, double value,
                                 char text[TT_UNIT_TEXT])
{
    for (size_t i = 0; i < s->nfactors; i++)
        if (!strcmp(s->factors[i].key, key) && s->factors[i].param && s->factors[i].param->unit &&
            strcmp(s->factors[i].param->unit, "B") == 0)
            return tt_format_bytes(value, text);
    snprintf(text, TT_UNIT_TEXT, "%.4g", value);
    return text;
}

static json_t *line_json(const struct tt_study *s, const struct tt_line *line,
                         const char *const keys[2])
{
    char first[TT_UNIT_TEXT], low[TT_UNIT_TEXT], high[TT_UNIT_TEXT];

    format_number(s, keys[0], line->intercept, first);
    format_number(s, keys[1], line->low, low);
    format_number(s, keys[1], line->high, high);
    return json_pack(
        "{s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:I, s:o}", "of", keys[0], "over", keys[1],
        "intercept", line->intercept, "slope", line->slope, "low", line->low, "high", line->high,
        "error", line->error, "points", (json_int_t)line->n, "text",
        json_sprintf("The best %s is %s %s %.3g x %s, for %s from %s to %s; a best value deviates "
                     "from the line through the %zu others by %.0f %% on average.",
                     keys[0], first, line->slope < 0 ? "-" : "+", fabs(line->slope), keys[1],
                     keys[1], low, high, line->n - 1, 100 * line->error));
}

int tt_study_fit(const struct tt_study *s, json_t *answer, struct tt_error *e)
{
    size_t rows = json_array_size(json_object_get(answer, "rows")), n = 0;
    double *x = calloc(3 * rows + 1, sizeof *x);
    char *text = s->o.fit ? strdup(s->o.fit) : NULL;
    const char *keys[2] = {"", ""};
    struct tt_error why = TT_ERROR_CLEAR;
    struct tt_line line;
    int rc = TT_OK;

    if (s->o.fit && (!x || !text))
        rc = tt_fail_nomem(e, "a line");
    else if (s->o.fit)
        rc = split_keys(s, text, keys, e);
    if (rc == TT_OK && s->o.fit) {
        n = find_best(s, answer, keys, x, x + rows, x + 2 * rows);
        rc = tt_line_fit(x, x + rows, n, &line, &why);
        if (rc != TT_OK)
            tt_fail(e, rc, "fit: %.300s: %s", s->o.fit, why.text);
        else
            json_object_set_new(answer, "fit", line_json(s, &line, keys));
    }
    free(x);
    free(text);
    return rc;
}
