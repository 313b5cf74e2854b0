/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of parameters: from text, to text, freed. */
#include "spec/param.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "spec/units.h"

const char *const tt_param_values[] = {
    [TT_PARAM_BOOL] = "yes|no",
    [TT_PARAM_COUNT] = "COUNT",
    [TT_PARAM_BYTES] = "BYTES",
    [TT_PARAM_RATE] = "RATE",
    [TT_PARAM_DURATION] = "TIME",
    [TT_PARAM_REAL] = "NUMBER",
    [TT_PARAM_TEXT] = "TEXT",
    [TT_PARAM_CHOICE] = "WORD",
    [TT_PARAM_COUNTS] = "N:N:...",
    [TT_PARAM_WORDS] = "A,B,...",
    [TT_PARAM_SPACE] = "SHARE|BYTES",
    [TT_PARAM_PASSES] = "COUNT|TIME",
    NULL,
};

/* A longer one than any campaign is a slip. */
#define LONGEST_COMPUTATION 1e6

union value {
    bool flag;
    int choice;
    uint64_t whole;
    double real;
    char *text;
    struct tt_counts counts;
    struct tt_words words;
    struct tt_space space;
    struct tt_passes passes;
};

static size_t value_size(enum tt_param_type type)
{
    switch (type) {
    case TT_PARAM_BOOL:
        return sizeof(bool);
    case TT_PARAM_COUNT:
    case TT_PARAM_BYTES:
        return sizeof(uint64_t);
    case TT_PARAM_DURATION:
    case TT_PARAM_RATE:
    case TT_PARAM_REAL:
        return sizeof(double);
    case TT_PARAM_CHOICE:
        return sizeof(int);
    case TT_PARAM_TEXT:
        return sizeof(char *);
    case TT_PARAM_COUNTS:
        return sizeof(struct tt_counts);
    case TT_PARAM_WORDS:
        return sizeof(struct tt_words);
    case TT_PARAM_SPACE:
        return sizeof(struct tt_space);
    case TT_PARAM_PASSES:
        return sizeof(struct tt_passes);
    }
    return 0;
}

static void free_value(enum tt_param_type type, union value *v)
{
    if (type == TT_PARAM_TEXT)
        free(v->text);
    if (type == TT_PARAM_COUNTS)
        free(v->counts.values);
    if (type == TT_PARAM_WORDS) {
        for (size_t i = 0; i < v->words.n; i++)
            free(v->words.words[i]);
        free(v->words.words);
    }
}

/* ---- limits ---- */

static bool has_limits(const struct tt_param *p)
{
    return p->min || p->max;
}

static int fail_range(const struct tt_param *p, const char *text, struct tt_error *e)
{
    if (p->max < p->min)
        return tt_fail(e, TT_USAGE, "'%.80s' is out of range: at least %lld", text,
                       (long long)p->min);
    return tt_fail(e, TT_USAGE, "'%.80s' is out of range: %lld to %lld", text, (long long)p->min,
                   (long long)p->max);
}

static int check_whole(const struct tt_param *p, const char *text, uint64_t v, struct tt_error *e)
{
    if (has_limits(p) && ((p->min > 0 && v < (uint64_t)p->min) ||
                          (p->max >= p->min && (p->max < 0 || v > (uint64_t)p->max))))
        return fail_range(p, text, e);
    return TT_OK;
}

/* ---- from text ---- */

static int parse_bool(const char *text, bool *out, struct tt_error *e)
{
    static const char *const words[][2] = {
        {"no", "yes"}, {"false", "true"}, {"off", "on"}, {"0", "1"}};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (int on = 0; on < 2; on++)
            if (!strcasecmp(text, words[i][on])) {
                *out = on;
                return TT_OK;
            }
    return tt_fail(e, TT_USAGE, "'%.80s' is not yes or no", text);
}

static int parse_choice(const struct tt_param *p, const char *text, int *out, struct tt_error *e)
{
    char list[256] = "";
    const char *near;
    size_t used = 0;

    for (int i = 0; p->choices[i]; i++) {
        if (!strcasecmp(text, p->choices[i])) {
            *out = i;
            return TT_OK;
        }
        if (used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "",
                                     p->choices[i]);
    }
    near = tt_nearest_word(text, p->choices);
    return tt_fail(e, TT_USAGE, "'%.80s' is not one of %s%s", text, list, TT_DID_YOU_MEAN(near));
}

static size_t count_parts(const char *text, char separator)
{
    size_t n = 1;

    for (; *text; text++)
        n += *text == separator;
    return n;
}

/* 64x128x32, and nothing that only looks like it: 1x is a slip. */
static bool has_sides(const char *text)
{
    size_t n = strspn(text, "0123456789x");

    return n > 0 && !text[n] && strchr(text, 'x') && text[0] != 'x' && text[n - 1] != 'x' &&
           !strstr(text, "xx");
}

static int parse_counts(const struct tt_param *p, const char *text, struct tt_counts *out,
                        struct tt_error *e)
{
    const char separator = strchr(text, ':') ? ':' : has_sides(text) ? 'x' : ',';
    char *copy = strdup(text), *rest = copy, *part;
    int rc = TT_OK;

    out->n = 0;
    out->values = calloc(count_parts(text, separator), sizeof *out->values);
    if (!copy || !out->values)
        rc = tt_fail_nomem(e, p->key);
    while (rc == TT_OK && (part = strsep(&rest, (char[]){separator, 0}))) {
        uint64_t *value = &out->values[out->n++];

        rc = tt_parse_count(part, value, e);
        if (rc == TT_OK)
            rc = check_whole(p, part, *value, e);
    }
    free(copy);
    if (rc)
        free(out->values);
    return rc;
}

/* Up to the next comma, which *at is left at; a backslash makes the next character an ordinary one.
 */
static char *next_word(const char **at)
{
    char *word = malloc(strlen(*at) + 1), *end = word;

    for (; word && **at && **at != ','; (*at)++) {
        if (**at == '\\' && (*at)[1])
            (*at)++;
        *end++ = **at;
    }
    if (word)
        *end = '\0';
    return word;
}

static int parse_words(const struct tt_param *p, const char *text, struct tt_words *out,
                       struct tt_error *e)
{
    union value v = {.words = {0}};
    const char *at = text;
    int rc = TT_OK;

    if (*text) {
        v.words.words = calloc(count_parts(text, ','), sizeof *v.words.words);
        if (!v.words.words)
            return tt_fail_nomem(e, p->key);
    }
    while (rc == TT_OK && *text) {
        char *word = next_word(&at);

        if (!word)
            rc = tt_fail_nomem(e, p->key);
        else
            v.words.words[v.words.n++] = word;
        if (word && !*word)
            rc = tt_fail(e, TT_USAGE, "'%.80s' has an empty word: expected a list such as a,b",
                         text);
        if (!*at)
            break;
        at++;
    }
    if (rc)
        free_value(TT_PARAM_WORDS, &v);
    *out = v.words;
    return rc;
}

static int parse_space(const char *text, struct tt_space *out, struct tt_error *e)
{
    size_t length = strlen(text);
    struct tt_error inner = TT_ERROR_CLEAR;
    char number[64];

    memset(out, 0, sizeof *out);
    if (!length || text[length - 1] != '%')
        return tt_parse_bytes(text, &out->bytes, e);
    if (length < sizeof number) {
        memcpy(number, text, length - 1);
        number[length - 1] = '\0';
        if (tt_parse_real(number, &out->percent, &inner) == TT_OK && number[0] != '-' &&
            out->percent <= 100)
            return TT_OK;
    }
    return tt_fail(e, TT_USAGE, "'%.80s' is not a share: expected 0%% to 100%%", text);
}

/* What calibration has left: TIME=COUNTxTIME. */
static int parse_calibrated(const char *text, struct tt_passes *out, struct tt_error *e)
{
    struct tt_error inner = TT_ERROR_CLEAR;
    char *copy = strdup(text), *count = copy, *each, *asked = strsep(&count, "=");
    bool good;

    if (!copy)
        return tt_fail_nomem(e, "a value");
    each = strchr(count, 'x');
    if (each)
        *each++ = '\0';
    good = each && tt_parse_duration(asked, &out->seconds, &inner) == TT_OK &&
           tt_parse_count(count, &out->count, &inner) == TT_OK &&
           tt_parse_duration(each, &out->each, &inner) == TT_OK && out->seconds > 0 &&
           out->count > 0 && out->each > 0 && out->seconds <= LONGEST_COMPUTATION &&
           out->each * (double)out->count <= LONGEST_COMPUTATION + out->each;
    free(copy);
    return good ? TT_OK
                : tt_fail(e, TT_USAGE, "'%.80s' is not a calibrated time such as 50ms=12x4.2ms",
                          text);
}

static int parse_passes(const struct tt_param *p, const char *text, struct tt_passes *out,
                        struct tt_error *e)
{
    struct tt_error inner = TT_ERROR_CLEAR;
    int rc;

    if (strchr(text, '='))
        return parse_calibrated(text, out, e);
    if (*text && !text[strspn(text, "0123456789")]) {
        rc = tt_parse_count(text, &out->count, e);
        return rc == TT_OK ? check_whole(p, text, out->count, e) : rc;
    }
    rc = isalpha((unsigned char)text[*text ? strlen(text) - 1 : 0])
             ? tt_parse_duration(text, &out->seconds, &inner)
             : TT_USAGE;
    if (rc == TT_USAGE)
        return tt_fail(
            e, rc, "'%.80s' is neither a count of passes such as 12 nor a time such as 50ms", text);
    if (rc == TT_OK && !(out->seconds > 0 && out->seconds <= LONGEST_COMPUTATION))
        return tt_fail(e, TT_USAGE,
                       "'%.80s' cannot be computed for: expected a time above 0 and up to %gs",
                       text, LONGEST_COMPUTATION);
    return rc == TT_OK ? rc : tt_fail(e, rc, "%s", inner.text);
}

bool tt_passes_read(const char *text, struct tt_passes *out)
{
    struct tt_error ignored = TT_ERROR_CLEAR;

    *out = (struct tt_passes){0};
    return parse_passes(&(struct tt_param){.type = TT_PARAM_PASSES}, text, out, &ignored) == TT_OK;
}

double tt_passes_seconds(const struct tt_passes *p)
{
    return p->each > 0 ? p->each * (double)p->count : p->seconds;
}

static int parse_number(const struct tt_param *p, const char *text, union value *v,
                        struct tt_error *e)
{
    int rc;

    switch (p->type) {
    case TT_PARAM_COUNT:
    case TT_PARAM_BYTES:
        rc = p->type == TT_PARAM_COUNT ? tt_parse_count(text, &v->whole, e)
                                       : tt_parse_bytes(text, &v->whole, e);
        return rc ? rc : check_whole(p, text, v->whole, e);
    case TT_PARAM_DURATION:
        rc = tt_parse_duration(text, &v->real, e);
        break;
    case TT_PARAM_RATE:
        rc = tt_parse_rate(text, &v->real, e);
        break;
    default:
        rc = tt_parse_real(text, &v->real, e);
    }
    if (rc == TT_OK && has_limits(p) &&
        (v->real < (double)p->min || (p->max >= p->min && v->real > (double)p->max)))
        rc = fail_range(p, text, e);
    return rc;
}

static int parse_value(const struct tt_param *p, const char *text, union value *v,
                       struct tt_error *e)
{
    switch (p->type) {
    case TT_PARAM_BOOL:
        return parse_bool(text, &v->flag, e);
    case TT_PARAM_CHOICE:
        return parse_choice(p, text, &v->choice, e);
    case TT_PARAM_TEXT:
        v->text = *text ? strdup(text) : NULL;
        return *text && !v->text ? tt_fail_nomem(e, p->key) : TT_OK;
    case TT_PARAM_COUNTS:
        return parse_counts(p, text, &v->counts, e);
    case TT_PARAM_WORDS:
        return parse_words(p, text, &v->words, e);
    case TT_PARAM_SPACE:
        return parse_space(text, &v->space, e);
    case TT_PARAM_PASSES:
        return parse_passes(p, text, &v->passes, e);
    default:
        return parse_number(p, text, v, e);
    }
}

int tt_param_set(const struct tt_param *p, void *opts, const char *value, struct tt_error *e)
{
    struct tt_error inner = TT_ERROR_CLEAR;
    void *place = (char *)opts + p->offset;
    size_t size = value_size(p->type);
    union value old, new;
    int rc;

    memset(&new, 0, sizeof new);
    rc = parse_value(p, value, &new, &inner);
    if (rc == TT_USAGE)
        return tt_fail(e, rc, "%s: %s", p->key, inner.text);
    if (rc)
        return tt_fail(e, rc, "%s", inner.text);
    memcpy(&old, place, size);
    memcpy(place, &new, size);
    free_value(p->type, &old);
    return TT_OK;
}

/* ---- to text ---- */

/* The shortest decimal that reads back to the same number. */
static char *real_text(double v, const char *suffix)
{
    char digits[40], *out;

    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, v);
        if (strtod(digits, NULL) == v)
            break;
    }
    return asprintf(&out, "%s%s", digits, suffix) < 0 ? NULL : out;
}

static char *whole_text(uint64_t v)
{
    char *out;

    return asprintf(&out, "%llu", (unsigned long long)v) < 0 ? NULL : out;
}

/* Ends what open_memstream() has begun; *out is set by then. */
static char *finish_text(FILE *f, char **out)
{
    if (fclose(f) == 0)
        return *out;
    free(*out);
    return NULL;
}

static char *passes_text(const struct tt_passes *p)
{
    char *asked = real_text(p->seconds, "s"), *each = real_text(p->each, "s"), *out = NULL;

    if (!asked || !each)
        out = NULL;
    else if (p->seconds > 0 && p->count == 0)
        out = strdup(asked);
    else if (p->seconds > 0 &&
             asprintf(&out, "%s=%llux%s", asked, (unsigned long long)p->count, each) < 0)
        out = NULL;
    else if (!(p->seconds > 0))
        out = whole_text(p->count);
    free(asked);
    free(each);
    return out;
}

static char *counts_text(const struct tt_counts *c)
{
    char *out = NULL;
    size_t size;
    FILE *f = open_memstream(&out, &size);

    if (!f)
        return NULL;
    for (size_t i = 0; i < c->n; i++)
        fprintf(f, "%s%llu", i ? ":" : "", (unsigned long long)c->values[i]);
    return finish_text(f, &out);
}

static char *words_text(const struct tt_words *w)
{
    char *out = NULL;
    size_t size;
    FILE *f = open_memstream(&out, &size);

    if (!f)
        return NULL;
    for (size_t i = 0; i < w->n; i++) {
        if (i)
            putc(',', f);
        for (const char *c = w->words[i]; *c; c++)
            fprintf(f, "%s%c", *c == ',' || *c == '\\' ? "\\" : "", *c);
    }
    return finish_text(f, &out);
}

char *tt_param_get(const struct tt_param *p, const void *opts)
{
    union value v;

    memcpy(&v, (const char *)opts + p->offset, value_size(p->type));
    switch (p->type) {
    case TT_PARAM_BOOL:
        return strdup(v.flag ? "yes" : "no");
    case TT_PARAM_COUNT:
    case TT_PARAM_BYTES:
        return whole_text(v.whole);
    case TT_PARAM_DURATION:
    case TT_PARAM_RATE:
    case TT_PARAM_REAL:
        return real_text(v.real, "");
    case TT_PARAM_CHOICE:
        return strdup(p->choices[v.choice]);
    case TT_PARAM_TEXT:
        return strdup(v.text ? v.text : "");
    case TT_PARAM_COUNTS:
        return counts_text(&v.counts);
    case TT_PARAM_WORDS:
        return words_text(&v.words);
    case TT_PARAM_SPACE:
        return v.space.bytes ? whole_text(v.space.bytes) : real_text(v.space.percent, "%");
    case TT_PARAM_PASSES:
        return passes_text(&v.passes);
    }
    return NULL;
}

/* ---- whole tables ---- */

int tt_params_default(const struct tt_param *params, void *opts, struct tt_error *e)
{
    int rc = TT_OK;

    for (const struct tt_param *p = params; rc == TT_OK && p && p->key; p++)
        if (p->default_text)
            rc = tt_param_set(p, opts, p->default_text, e);
    return rc;
}

/* Like one whose default was stored. */
static bool has_default(const struct tt_param *p, const void *opts)
{
    struct tt_param alone = *p;
    struct tt_error ignored = TT_ERROR_CLEAR;
    union value v = {0};
    char *now = tt_param_get(p, opts), *untouched = NULL;
    bool same;

    alone.offset = 0;
    if (!p->default_text || tt_param_set(&alone, &v, p->default_text, &ignored) == TT_OK)
        untouched = tt_param_get(&alone, &v);
    same = now && untouched && !strcmp(now, untouched);
    free_value(p->type, &v);
    free(now);
    free(untouched);
    return same;
}

int tt_params_check_idle(const char *component, const struct tt_param *params, const void *opts,
                         const struct tt_idle *list, size_t n, struct tt_error *e)
{
    for (size_t i = 0; i < n; i++)
        for (const char *at = list[i].keys; list[i].is_idle && *at; at += strspn(at, " ")) {
            int length = (int)strcspn(at, " ");
            const struct tt_param *p = params;

            while (p->key && ((int)strlen(p->key) != length || strncmp(p->key, at, (size_t)length)))
                p++;
            if (p->key && !has_default(p, opts))
                return tt_fail(e, TT_USAGE, "%s.%s has no effect %s: leave it out", component,
                               p->key, list[i].why);
            at += length;
        }
    return TT_OK;
}

void tt_params_free(const struct tt_param *params, void *opts)
{
    for (const struct tt_param *p = params; opts && p && p->key; p++) {
        void *place = (char *)opts + p->offset;
        size_t size = value_size(p->type);
        union value v;

        memcpy(&v, place, size);
        free_value(p->type, &v);
        memset(place, 0, size);
    }
}

/* ---- words ---- */

static int plain(char c)
{
    return c == '-' ? '_' : tolower((unsigned char)c);
}

bool tt_same_key(const char *a, const char *b)
{
    for (; *a && (*a == '-' ? '_' : *a) == (*b == '-' ? '_' : *b); a++, b++)
        ;
    return !*a && !*b;
}

const struct tt_param *tt_param_find(const struct tt_param *params, const char *key)
{
    for (const struct tt_param *p = params; p && p->key; p++)
        if (tt_same_key(p->key, key))
            return p;
    return NULL;
}

#define LONGEST_WORD 63

/* Edits (insert, delete, replace, swap neighbours) from a to b. */
static size_t distance(const char *a, const char *b)
{
    size_t rows[3][LONGEST_WORD + 1], na = strlen(a), nb = strlen(b);
    size_t *before = rows[0], *above = rows[1], *row = rows[2];

    if (na > LONGEST_WORD || nb > LONGEST_WORD)
        return SIZE_MAX;
    for (size_t j = 0; j <= nb; j++)
        above[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *spare = before;

        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t best = above[j - 1] + (plain(a[i - 1]) != plain(b[j - 1]));

            if (above[j] + 1 < best)
                best = above[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            if (i > 1 && j > 1 && plain(a[i - 1]) == plain(b[j - 2]) &&
                plain(a[i - 2]) == plain(b[j - 1]) && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
        before = above;
        above = row;
        row = spare;
    }
    return above[nb];
}

const char *tt_nearest_row(const char *word, const void *rows, size_t n, size_t size)
{
    size_t length = strlen(word);
    size_t least = length < 4 ? 1 : (length < 8 ? 2 : 3);
    const char *best = NULL;

    for (size_t i = 0; i < n; i++) {
        const char *name = *(const char *const *)(const void *)((const char *)rows + i * size);
        size_t d = name ? distance(word, name) : 0;

        if (!name)
            break;
        /* A short word that shares nothing with the candidate is not near, however few the edits.
         */
        if (d <= least && d < length && (!best || d < least)) {
            best = name;
            least = d;
        }
    }
    return best;
}

bool tt_has_word(const char *const *list, const char *word)
{
    while (*list && strcmp(*list, word) != 0)
        list++;
    return *list != NULL;
}

const char *tt_nearest_word(const char *word, const char *const *list)
{
    return tt_nearest_row(word, list, SIZE_MAX, sizeof *list);
}

const char *tt_nearest_key(const char *word, const struct tt_param *params)
{
    return params ? tt_nearest_row(word, params, SIZE_MAX, sizeof *params) : NULL;
}

const char *tt_did_you_mean(const char *near, char out[96])
{
    if (near)
        snprintf(out, 96, " (did you mean '%.70s'?)", near);
    return out;
}
