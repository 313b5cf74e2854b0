/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conditions on the values of a point: comparisons of keys and values with units, and, or, not and
 * parentheses. Left out: arithmetic. */
#include <ctype.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "study/study.h"

#define DEEPEST 32

enum kind { COMPARE, AND, OR, NOT };

struct side {
    char *text;                   /* a key, or a value */
    const struct tt_param *param; /* of the key; NULL: it is a value */
};

struct tt_condition {
    enum kind kind;
    struct tt_condition *a, *b; /* of and, or; not has only a */
    struct side left, right;
    char operation[3];
};

/* ---- reading ---- */

struct reader {
    const char *all, *at;
    const struct tt_condition_keys *keys;
    int depth;
    struct tt_error *e;
};

static int read_or(struct reader *r, struct tt_condition **out);

static bool is_of_word(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("_.%/:-", c));
}

static void skip_blanks(struct reader *r)
{
    while (isspace((unsigned char)*r->at))
        r->at++;
}

/* Whether the next token is this one, which is then taken. */
static bool take(struct reader *r, const char *token)
{
    size_t n = strlen(token);

    skip_blanks(r);
    if (strncmp(r->at, token, n) != 0 || (isalpha((unsigned char)*token) && is_of_word(r->at[n])))
        return false;
    r->at += n;
    return true;
}

static int fail(struct reader *r, const char *expected)
{
    skip_blanks(r);
    return tt_fail(r->e, TT_USAGE,
                   "'%.120s': expected %s %s%.40s; a condition is such as transfer > block and "
                   "ranks != 1",
                   r->all, expected, *r->at ? "at " : "at its end", r->at);
}

static int read_side(struct reader *r, struct side *out)
{
    const char *start;

    skip_blanks(r);
    for (start = r->at; is_of_word(*r->at);)
        r->at++;
    if (r->at == start)
        return fail(r, "a key or a value");
    out->text = strndup(start, (size_t)(r->at - start));
    if (!out->text)
        return tt_fail_nomem(r->e, "a condition");
    out->param = r->keys->find(r->keys->context, out->text);
    return TT_OK;
}

static bool is_order(const struct tt_condition *c)
{
    return c->operation[0] == '<' || c->operation[0] == '>';
}

/* The value beside a key is one of it: what is no number where numbers are compared is a key that
 * does not exist. */
static int check_value(struct reader *r, const struct tt_condition *c, const struct side *key,
                       const struct side *value)
{
    const char *near = r->keys->near(r->keys->context, value->text);
    double number;
    bool counts = tt_value_number(key->param, "1", &number);

    if (value->param) {
        counts &= tt_value_number(value->param, "1", &number);
    } else if (counts && !tt_value_number(key->param, value->text, &number)) {
        return tt_fail(r->e, TT_USAGE, "'%.120s': '%.40s' is neither a key%s nor a value of %.40s",
                       r->all, value->text, TT_DID_YOU_MEAN(near), key->text);
    }
    if (is_order(c) && !counts)
        return tt_fail(r->e, TT_USAGE, "'%.120s': %s compares numbers, and %.40s has none", r->all,
                       c->operation, key->text);
    return TT_OK;
}

static int read_comparison(struct reader *r, struct tt_condition *c)
{
    static const char *const operations[] = {"<=", ">=", "==", "!=", "<", ">", "=", NULL};
    int rc = read_side(r, &c->left), k = 0;

    while (rc == TT_OK && operations[k] && !take(r, operations[k]))
        k++;
    if (rc == TT_OK && !operations[k])
        rc = fail(r, "<, <=, >, >=, == or !=");
    if (rc == TT_OK) {
        snprintf(c->operation, sizeof c->operation, "%s", operations[k]);
        rc = read_side(r, &c->right);
    }
    if (rc != TT_OK)
        return rc;
    if (c->left.param)
        return check_value(r, c, &c->left, &c->right);
    if (c->right.param)
        return check_value(r, c, &c->right, &c->left);
    return tt_fail(r->e, TT_USAGE, "'%.120s': neither '%.40s' nor '%.40s' is a key%s", r->all,
                   c->left.text, c->right.text,
                   TT_DID_YOU_MEAN(r->keys->near(r->keys->context, c->left.text)));
}

static int read_one(struct reader *r, struct tt_condition **out)
{
    int rc;

    if (r->depth >= DEEPEST)
        return tt_fail(r->e, TT_USAGE, "'%.120s': nested too deeply", r->all);
    if (take(r, "(")) {
        r->depth++;
        rc = read_or(r, out);
        r->depth--;
        return rc != TT_OK || take(r, ")") ? rc : fail(r, ")");
    }
    *out = calloc(1, sizeof **out);
    if (!*out)
        return tt_fail_nomem(r->e, "a condition");
    skip_blanks(r);
    if (!take(r, "not") && !(*r->at == '!' && r->at[1] != '=' && take(r, "!")))
        return read_comparison(r, *out);
    (*out)->kind = NOT;
    r->depth++;
    rc = read_one(r, &(*out)->a);
    r->depth--;
    return rc;
}

/* "X and X and X", or the same with or and its parts. */
static int read_chain(struct reader *r, enum kind kind, struct tt_condition **out)
{
    int (*part)(struct reader *, struct tt_condition **) = kind == AND ? read_one : NULL;
    int rc = part ? part(r, out) : read_chain(r, AND, out);

    while (rc == TT_OK &&
           (kind == AND ? take(r, "and") || take(r, "&&") : take(r, "or") || take(r, "||"))) {
        struct tt_condition *both = calloc(1, sizeof *both);

        if (!both)
            return tt_fail_nomem(r->e, "a condition");
        *both = (struct tt_condition){.kind = kind, .a = *out};
        *out = both;
        rc = part ? part(r, &both->b) : read_chain(r, AND, &both->b);
    }
    return rc;
}

static int read_or(struct reader *r, struct tt_condition **out)
{
    return read_chain(r, OR, out);
}

int tt_condition_parse(const char *text, const struct tt_condition_keys *keys,
                       struct tt_condition **out, struct tt_error *e)
{
    struct reader r = {.all = text, .at = text, .keys = keys, .e = e};
    int rc;

    *out = NULL;
    rc = read_or(&r, out);
    skip_blanks(&r);
    if (rc == TT_OK && *r.at)
        rc = fail(&r, "and, or, or the end");
    if (rc != TT_OK) {
        tt_condition_free(*out);
        *out = NULL;
    }
    return rc;
}

void tt_condition_free(struct tt_condition *c)
{
    if (!c)
        return;
    tt_condition_free(c->a);
    tt_condition_free(c->b);
    free(c->left.text);
    free(c->right.text);
    free(c);
}

/* ---- holding ---- */

/* The value as its parameter writes it: "on" is "yes"; caller frees. */
static char *canonical(const struct tt_param *param, const char *text)
{
    alignas(max_align_t) char place[64] = {0};
    struct tt_error ignored = TT_ERROR_CLEAR;
    struct tt_param table[2] = {param ? *param : (struct tt_param){0}};
    char *out = NULL;

    table[0].offset = 0;
    if (param && tt_param_set(&table[0], place, text, &ignored) == TT_OK) {
        out = tt_param_get(&table[0], place);
        tt_params_free(table, place);
    }
    return out ? out : strdup(text);
}

static int compare(const struct tt_param *a, const char *left, const struct tt_param *b,
                   const char *right)
{
    char *x, *y;
    double m, n;
    int order;

    if (tt_value_number(a ? a : b, left, &m) && tt_value_number(b ? b : a, right, &n))
        return (m > n) - (m < n);
    x = canonical(a ? a : b, left);
    y = canonical(b ? b : a, right);
    order = x && y ? strcmp(x, y) : 1;
    free(x);
    free(y);
    return order;
}

static bool compares(const struct tt_condition *c, const struct tt_condition_keys *keys)
{
    const char *left = c->left.param ? keys->value(keys->context, c->left.text) : c->left.text;
    const char *right = c->right.param ? keys->value(keys->context, c->right.text) : c->right.text;
    bool equal = c->operation[1] == '=' || c->operation[0] == '=';
    int order;

    if (!left || !right)
        return false;
    order = compare(c->left.param, left, c->right.param, right);
    if (c->operation[0] == '!')
        return order != 0;
    return (order == 0 && equal) || (order < 0 && c->operation[0] == '<') ||
           (order > 0 && c->operation[0] == '>');
}

bool tt_condition_holds(const struct tt_condition *c, const struct tt_condition_keys *keys)
{
    switch (c->kind) {
    case NOT:
        return !tt_condition_holds(c->a, keys);
    case AND:
        return tt_condition_holds(c->a, keys) && tt_condition_holds(c->b, keys);
    case OR:
        return tt_condition_holds(c->a, keys) || tt_condition_holds(c->b, keys);
    default:
        return compares(c, keys);
    }
}
