/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one reader of command lines: those of tutti's commands and those of other programs. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/notice.h"
#include "spec/read.h"

#define MAX_OPTIONS 64 /* of a table */

/* ---- the table ---- */

static const struct tt_param *by_flag(const struct tt_param *p, const char *flag)
{
    while (p && p->key && (!p->flag || strcmp(p->flag, flag) != 0))
        p++;
    return p && p->key ? p : NULL;
}

static const struct tt_param *by_name(const struct tt_arguments *a, const char *name, size_t length)
{
    char word[64];

    snprintf(word, sizeof word, "%.*s", length < sizeof word ? (int)length : 0, name);
    for (const struct tt_param *p = a->options->params; p && p->key; p++)
        if (tt_same_key(p->key, word) ||
            (a->options->style == TT_OPTIONS_NAMES && !strcasecmp(p->key, word)))
            return p;
    return NULL;
}

static bool takes_value(const struct tt_param *o)
{
    return o->type != TT_PARAM_BOOL && !(o->placeholder && !*o->placeholder);
}

/* By its letter, or by a name of the given length; NULL: there is none. */
static const struct tt_other_option *find_other(const struct tt_arguments *a, const char *flag,
                                                const char *name, size_t length)
{
    const struct tt_other_option *o = a->options->others;

    for (; o && o->why; o++)
        if ((flag && o->flag && !strcmp(o->flag, flag)) ||
            (name && o->name && strlen(o->name) == length && !strncasecmp(o->name, name, length)))
            return o;
    return NULL;
}

static int take_other(const struct tt_other_option *o, const char *place, const char *value,
                      struct tt_error *e)
{
    if (value && !strcmp(value, "0"))
        return TT_OK;
    if (o->refused)
        return tt_fail(e, TT_USAGE, "%s: %s", place, o->why);
    tt_notice_same("%s has no effect: %s", place, o->why);
    return TT_OK;
}

/* ---- one option ---- */

/* No value is yes, or one more. */
static int set(const struct tt_arguments *a, const struct tt_param *o, const char *value,
               const char *place, struct tt_error *e)
{
    struct tt_error inner = TT_ERROR_CLEAR;
    const char *why = inner.text;
    size_t key = strlen(o->key);
    uint64_t count;
    char text[24] = "yes";
    int rc;

    if (!value && o->type == TT_PARAM_COUNT) {
        memcpy(&count, (char *)a->opts + o->offset, sizeof count);
        snprintf(text, sizeof text, "%llu", (unsigned long long)count + 1);
    }
    rc = tt_param_set(o, a->opts, value ? value : text, &inner);
    if (rc == TT_OK)
        return TT_OK;
    if (!strncmp(why, o->key, key) && why[key] == ':')
        why += key + 2; /* the place names the option already */
    return tt_fail(e, rc, "%s: %s", place, why);
}

/* o is NULL where nobody looks at the value. */
static int needs_value(const struct tt_param *o, const char *place, struct tt_error *e)
{
    const char *value = !o ? "VALUE" : o->placeholder ? o->placeholder : tt_param_values[o->type];

    return tt_fail(e, TT_USAGE, "option %s needs a value: %s %s", place, place, value);
}

/* "-" (standard output) and negative numbers are values, so that the latter are refused as such. */
static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] && !isdigit((unsigned char)word[1]) && word[1] != '.';
}

/* "--json FILE", "--json=FILE" or "-f NAME". Other programs take any word that follows. */
static int read_whole(const struct tt_arguments *a, const struct tt_param *o, int argc, char **argv,
                      int *i, struct tt_error *e)
{
    const char *equals = strchr(argv[*i], '='), *value = equals ? equals + 1 : NULL;
    char place[80];

    snprintf(place, sizeof place, "%.*s", equals ? (int)(equals - argv[*i]) : 79, argv[*i]);
    if (!takes_value(o) && equals && a->options->style == TT_OPTIONS_LONG)
        return tt_fail(e, TT_USAGE, "option %s takes no value", place);
    if (takes_value(o) && !equals && *i + 1 < argc &&
        (a->options->style != TT_OPTIONS_LONG || !is_option(argv[*i + 1])))
        value = argv[++*i];
    if (takes_value(o) && (!value || !*value))
        return needs_value(o, place, e);
    return set(a, o, value, place, e);
}

static int unknown_directive(const struct tt_arguments *a, const char *place, const char *word,
                             struct tt_error *e)
{
    return tt_fail(e, TT_USAGE, "%s: '%s' is not one of the directives that tutti %s knows%s",
                   place, word, a->command,
                   TT_DID_YOU_MEAN(tt_nearest_key(word, a->options->params)));
}

int tt_read_directive(const struct tt_arguments *a, const char *place, const char *text,
                      size_t length, struct tt_error *e)
{
    const char *equals = memchr(text, '=', length);
    size_t name = equals ? (size_t)(equals - text) : length;
    const struct tt_other_option *other;
    const struct tt_param *o;
    char *value = NULL, word[64], where[160];
    int rc;

    while (name > 0 && isspace((unsigned char)text[name - 1]))
        name--;
    snprintf(word, sizeof word, "%.*s", name < 60 ? (int)name : 60, text);
    snprintf(where, sizeof where, "%.90s: %s", place, word);
    o = by_name(a, text, name);
    other = o ? NULL : find_other(a, NULL, text, name);
    if (!o && !other)
        return unknown_directive(a, place, word, e);
    if (!equals && o && !takes_value(o))
        return set(a, o, NULL, place, e);
    while (equals && ++equals < text + length && isspace((unsigned char)*equals))
        ;
    if (equals && !(value = strndup(equals, (size_t)(text + length - equals))))
        return tt_fail_nomem(e, "a value");
    if ((!value || !*value) && (o || other->takes_value))
        rc = tt_fail(e, TT_USAGE, "%s needs a value", where);
    else
        rc = o ? set(a, o, value, place, e) : take_other(other, where, value, e);
    free(value);
    return rc;
}

/* ---- letters ---- */

/* -O a=b,c=d */
static int read_directives(const struct tt_arguments *a, const char *text, struct tt_error *e)
{
    int rc = TT_OK;

    for (size_t n; rc == TT_OK && *text; text += n + (text[n] == ',')) {
        n = strcspn(text, ",");
        rc = tt_read_directive(a, "-O", text, n, e);
    }
    return rc;
}

static int unknown_letter(const struct tt_arguments *a, const char *flag, struct tt_error *e)
{
    return tt_fail(e, TT_USAGE, "%s is not an option that tutti %s knows; tutti help %s lists them",
                   flag, a->command, a->command);
}

/* Letters may be put together as long as they take no value: -wrz. */
static int read_letters(const struct tt_arguments *a, int argc, char **argv, int *i,
                        struct tt_error *e)
{
    int rc = TT_OK;

    for (const char *at = argv[*i] + 1; rc == TT_OK && *at; at++) {
        char place[3] = {'-', *at, '\0'};
        bool directives = *at == 'O' && a->options->style == TT_OPTIONS_NAMES;
        const struct tt_param *o = by_flag(a->options->params, place);
        const struct tt_other_option *other = o ? NULL : find_other(a, place, NULL, 0);
        bool optional = o && o->placeholder && o->placeholder[0] == '[';

        if (!o && !other && !directives)
            return unknown_letter(a, place, e);
        if (o && (!takes_value(o) || (optional && !isdigit((unsigned char)at[1])))) {
            rc = set(a, o, NULL, place, e);
            continue;
        }
        if (other && !other->takes_value) {
            rc = take_other(other, place, NULL, e);
            continue;
        }
        at += at[1] == '=' ? 2 : 1;
        if (!*at)
            at = ++*i < argc ? argv[*i] : "";
        if (!*at)
            return directives ? tt_fail(e, TT_USAGE, "option -O needs a value: -O NAME=VALUE,...")
                              : needs_value(o, place, e);
        if (other)
            return take_other(other, place, at, e);
        return directives ? read_directives(a, at, e) : set(a, o, at, place, e);
    }
    return rc;
}

/* ---- settings ---- */

/* A switch takes the next word only if it cannot be anything else, such as a file to run. */
static bool is_value(const char *word, const struct tt_param *job, const char *key)
{
    for (; job && job->key; job++)
        if (job->type == TT_PARAM_BOOL && tt_same_key(job->key, key))
            return !strcmp(word, "yes") || !strcmp(word, "no");
    return !is_option(word);
}

/* "--key=value" or "--key"; the value is then the next word, if there is one that can be. */
static int read_long_setting(const struct tt_arguments *a, int argc, char **argv, int *i,
                             struct tt_error *e)
{
    const char *word = argv[*i], *equals = strchr(word, '='), *value = equals ? equals + 1 : NULL;
    char *place = equals ? strndup(word, (size_t)(equals - word)) : strdup(word);
    int rc;

    if (!place)
        return tt_fail_nomem(e, "arguments");
    if (!equals && *i + 1 < argc && is_value(argv[*i + 1], a->job, place + 2))
        value = argv[++*i];
    if (!place[2])
        rc = tt_fail(e, TT_USAGE, "'%.80s' is not an option", word);
    else if (value && !value[0] && (!strcmp(place, "--json") || !strcmp(place, "--csv")))
        rc = tt_fail(e, TT_USAGE, "option %s needs a value",
                     place); /* an empty variable of a script */
    else
        rc = tt_settings_add(a->settings, place + 2, value, place, e);
    free(place);
    return rc;
}

static int read_setting(const struct tt_arguments *a, int argc, char **argv, int *i,
                        struct tt_error *e)
{
    const char *word = argv[*i], *pair, *equals;
    char *key;
    int rc;

    if (!strncmp(word, "--", 2) && strcmp(word, "--set") != 0)
        return read_long_setting(a, argc, argv, i, e);
    if (word[1] != '-') {
        const char *value = *i + 1 < argc && !is_option(argv[*i + 1]) ? argv[++*i] : NULL;

        return tt_settings_add(a->settings, word, value, word, e);
    }
    pair = ++*i < argc ? argv[*i] : "";
    equals = strchr(pair, '=');
    if (!equals || equals == pair)
        return tt_fail(e, TT_USAGE, "--set: '%.80s' is not key=value", pair);
    key = strndup(pair, (size_t)(equals - pair));
    rc = key ? tt_settings_add(a->settings, key, equals + 1, "--set", e)
             : tt_fail_nomem(e, "arguments");
    free(key);
    return rc;
}

/* ---- all words ---- */

static int unknown_option(const struct tt_arguments *a, const char *word, struct tt_error *e)
{
    const char *near = tt_nearest_key(word + strspn(word, "-"), a->options->params);
    char option[72] = "";

    if (near)
        snprintf(option, sizeof option, "--%.68s", near);
    for (char *at = option; *at; at++)
        if (*at == '_')
            *at = '-';
    return tt_fail(e, TT_USAGE, "unknown option '%.80s'%s", word,
                   TT_DID_YOU_MEAN(near ? option : NULL));
}

static int take_word(struct tt_arguments *a, const char *word, struct tt_error *e)
{
    if (a->nwords < a->max_words) {
        a->words[a->nwords++] = word;
        return TT_OK;
    }
    return a->nwords ? tt_fail(e, TT_USAGE, "unexpected word '%.80s' after '%.80s'", word,
                               a->words[a->nwords - 1])
                     : tt_fail(e, TT_USAGE, "unexpected word '%.80s'", word);
}

/* The option of the table that a word names whole; NULL: none. */
static const struct tt_param *find_whole(const struct tt_arguments *a, const char *word)
{
    const char *name = word + (word[1] == '-' ? 2 : 1);
    size_t length = strcspn(name, "=");
    const struct tt_param *o;

    switch (a->options->style) {
    case TT_OPTIONS_LONG:
        return word[1] == '-' ? by_name(a, name, length) : by_flag(a->options->params, word);
    case TT_OPTIONS_NAMES:
        return by_name(a, name, length);
    default:
        o = word[1] == '-' ? by_name(a, name, length) : NULL;
        return o && !o->flag ? o : NULL;
    }
}

/* "--refNum=3", "--refNum 3" or "--showHints". */
static int read_whole_other(const struct tt_other_option *o, int argc, char **argv, int *i,
                            struct tt_error *e)
{
    const char *equals = strchr(argv[*i], '='), *value = equals ? equals + 1 : NULL;
    char place[80];

    snprintf(place, sizeof place, "%.*s", equals ? (int)(equals - argv[*i]) : 79, argv[*i]);
    if (o->takes_value && !equals && *i + 1 < argc)
        value = argv[++*i];
    if (o->takes_value && (!value || !*value))
        return needs_value(NULL, place, e);
    return take_other(o, place, value, e);
}

/* given: the options that have been there. */
static int read_option(const struct tt_arguments *a, int argc, char **argv, int *i, bool *given,
                       struct tt_error *e)
{
    const char *word = argv[*i];
    const struct tt_param *o = find_whole(a, word);
    const struct tt_other_option *other = NULL;
    size_t dashes = word[1] == '-' ? 2 : 1;
    size_t row = o ? (size_t)(o - a->options->params) : 0;

    if (o && a->options->style == TT_OPTIONS_LONG && takes_value(o) && row < MAX_OPTIONS) {
        if (given[row])
            return tt_fail(e, TT_USAGE, "option %.*s is given twice", (int)strcspn(word, "="),
                           word);
        given[row] = true;
    }
    if (o)
        return read_whole(a, o, argc, argv, i, e);
    if (word[1] == '-' || a->options->style == TT_OPTIONS_NAMES)
        other = find_other(a, NULL, word + dashes, strcspn(word, "=") - dashes);
    if (!other && by_flag(a->job, word) && (*i + 1 == argc || is_option(argv[*i + 1])))
        other = find_other(a, word, NULL, 0); /* not the job's, which has a value */
    if (other)
        return read_whole_other(other, argc, argv, i, e);
    if (a->options->style != TT_OPTIONS_LONG && word[1] != '-' &&
        (by_flag(a->options->params, word) || !by_flag(a->job, word)))
        return read_letters(a, argc, argv, i, e);
    return a->settings ? read_setting(a, argc, argv, i, e) : unknown_option(a, word, e);
}

int tt_read_arguments(int argc, char **argv, struct tt_arguments *a, struct tt_error *e)
{
    static const struct tt_options none = {0};
    bool only_words = false, given[MAX_OPTIONS] = {false};
    int rc = TT_OK;

    if (!a->options)
        a->options = &none;
    a->nwords = 0;
    for (int i = 0; i < argc && rc == TT_OK; i++) {
        if (!only_words && !strcmp(argv[i], "--"))
            only_words = true;
        else if (!only_words &&
                 (a->settings ? is_option(argv[i]) : argv[i][0] == '-' && argv[i][1]))
            rc = read_option(a, argc, argv, &i, given, e);
        else
            rc = take_word(a, argv[i], e);
    }
    return rc;
}
