/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists and ranges of values, as text in the words of a parameter. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec/units.h"
#include "study/study.h"

#define MOST_VALUES 10000

bool tt_value_number(const struct tt_param *param, const char *text, double *out)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    struct tt_passes passes;
    uint64_t whole = 0;
    int rc;

    switch (param ? param->type : TT_PARAM_REAL) {
    case TT_PARAM_COUNT:
    case TT_PARAM_COUNTS: /* a single one */
        rc = tt_parse_count(text, &whole, &ignored);
        *out = (double)whole;
        return rc == TT_OK;
    case TT_PARAM_BYTES:
        rc = tt_parse_bytes(text, &whole, &ignored);
        *out = (double)whole;
        return rc == TT_OK;
    case TT_PARAM_DURATION:
        return tt_parse_duration(text, out, &ignored) == TT_OK;
    case TT_PARAM_RATE:
        return tt_parse_rate(text, out, &ignored) == TT_OK;
    case TT_PARAM_REAL:
        return tt_parse_real(text, out, &ignored) == TT_OK;
    case TT_PARAM_PASSES:
        if (!tt_passes_read(text, &passes))
            return false;
        *out = passes.seconds > 0 ? passes.seconds : (double)passes.count;
        return true;
    default:
        return false;
    }
}

/* 4096 bytes are 4k, 0.05 seconds 50ms: as short as it is exact. */
static char *number_text(const struct tt_param *param, bool is_time, double value)
{
    static const char *const sizes[] = {"", "k", "m", "g", "t"};
    char *text = NULL;
    size_t unit = 0;
    int n;

    if (is_time) {
        bool tiny = value > 0 && value<1e-3, small = value> 0 && value < 1;

        n = asprintf(&text, "%.9g%s",
                     tiny    ? value * 1e6
                     : small ? value * 1e3
                             : value,
                     tiny    ? "us"
                     : small ? "ms"
                             : "s");
    } else if (param->type == TT_PARAM_BYTES || param->type == TT_PARAM_RATE) {
        for (; unit < 4 && value >= 1024 && fmod(value, 1024) == 0; unit++)
            value /= 1024;
        n = asprintf(&text, "%.17g%s", value, sizes[unit]);
    } else {
        n = asprintf(&text, "%.15g", value);
    }
    return n < 0 ? NULL : text;
}

static int append(struct tt_words *out, char *word, struct tt_error *e)
{
    char **longer = word ? reallocarray(out->words, out->n + 1, sizeof *longer) : NULL;

    if (!longer) {
        free(word);
        return tt_fail_nomem(e, "values");
    }
    out->words = longer;
    out->words[out->n++] = word;
    return TT_OK;
}

struct range {
    double first, last, step;
    bool times; /* step is a factor */
};

/* "4k..1m*4" in three parts, which are cut out of the text. */
static int read_range(const struct tt_param *param, char *text, struct range *r, struct tt_error *e)
{
    char *dots = strstr(text, ".."), *last = dots + 2;
    char *sign = strpbrk(last, "*+"), *whole = strdup(text);
    int rc = whole ? TT_OK : tt_fail_nomem(e, "values");

    *r = (struct range){.step = 1, .times = sign && *sign == '*'};
    *dots = '\0';
    if (sign)
        *sign = '\0';
    if (rc == TT_OK &&
        (!tt_value_number(param, text, &r->first) || !tt_value_number(param, last, &r->last)))
        rc = tt_fail(e, TT_USAGE,
                     "'%.80s': the ends of a range are values of %.40s, as in A..B, A..B+STEP or "
                     "A..B*FACTOR",
                     whole, param->key);
    else if (rc == TT_OK && sign &&
             !(r->times ? tt_value_number(NULL, sign + 1, &r->step)
                        : tt_value_number(param, sign + 1, &r->step)))
        rc = tt_fail(e, TT_USAGE, "'%.80s': '%.40s' is not a %s", whole, sign + 1,
                     r->times ? "factor" : "step");
    else if (rc == TT_OK && (r->times ? r->step <= 1 || r->first <= 0 : r->step <= 0))
        rc = tt_fail(e, TT_USAGE, "'%.80s': %s", whole,
                     r->times ? "a factor is above 1, and such a range begins above 0"
                              : "a step is above 0");
    else if (rc == TT_OK && r->first > r->last)
        rc = tt_fail(e, TT_USAGE, "'%.80s': the range is empty; give the lower end first", whole);
    free(whole);
    return rc;
}

static int expand_range(const struct tt_param *param, char *text, struct tt_words *out,
                        struct tt_error *e)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    bool is_whole = param->type == TT_PARAM_COUNT || param->type == TT_PARAM_COUNTS ||
                    param->type == TT_PARAM_BYTES;
    bool is_time = param->type == TT_PARAM_DURATION;
    struct range r;
    uint64_t count;
    int rc;

    if (param->type == TT_PARAM_PASSES) { /* a count, or a time */
        is_whole = tt_parse_count(strstr(text, "..") + 2, &count, &ignored) == TT_OK ||
                   !strpbrk(text, "smuhn");
        is_time = !is_whole;
    }
    rc = read_range(param, text, &r, e);
    for (double value = r.first; rc == TT_OK && value <= r.last * (1 + 1e-12);
         value = r.times ? value * r.step : value + r.step) {
        if (out->n == MOST_VALUES)
            return tt_fail(e, TT_USAGE, "more than %d values", MOST_VALUES);
        rc = append(out, number_text(param, is_time, is_whole ? round(value) : value), e);
    }
    return rc;
}

static bool has_numbers(const struct tt_param *param)
{
    double ignored;

    return param && tt_value_number(param, "1", &ignored);
}

int tt_values_expand(const struct tt_param *param, const char *text, struct tt_words *out,
                     struct tt_error *e)
{
    const struct tt_param list = {.key = "values", .type = TT_PARAM_WORDS};
    struct tt_words words = {0};
    int rc = tt_param_set(&list, &words, text, e);

    *out = (struct tt_words){0};
    if (rc == TT_OK && words.n == 0)
        rc = tt_fail(e, TT_USAGE, "no values; give a list such as 1,2 or a range such as 1..8*2");
    for (size_t i = 0; i < words.n && rc == TT_OK; i++)
        rc = has_numbers(param) && strstr(words.words[i], "..")
                 ? expand_range(param, words.words[i], out, e)
                 : append(out, strdup(words.words[i]), e);
    if (rc == TT_OK && out->n > MOST_VALUES)
        rc = tt_fail(e, TT_USAGE, "more than %d values", MOST_VALUES);
    tt_values_free(&words);
    if (rc != TT_OK)
        tt_values_free(out);
    return rc;
}

void tt_values_free(struct tt_words *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->words[i]);
    free(list->words);
    *list = (struct tt_words){0};
}
