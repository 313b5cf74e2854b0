/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "spec/read.h"

/* "-" (standard output) and negative numbers are values, so that the latter are refused as such. */
static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] && !isdigit((unsigned char)word[1]) && word[1] != '.';
}

static bool is_switch(const char *key, const struct tt_param *own)
{
    for (; own && own->key; own++)
        if (own->type == TT_PARAM_BOOL && tt_same_key(own->key, key))
            return true;
    return false;
}

/* A switch takes the next word only if it cannot be anything else, such as a file to run. */
static bool is_value(const char *word, bool for_switch)
{
    return for_switch ? !strcmp(word, "yes") || !strcmp(word, "no") : !is_option(word);
}

/* "--key=value" or "--key"; the value is then the next word, if there is one that can be. */
static int read_long(int argc, char **argv, int *i, const struct tt_param *own,
                     struct tt_settings *s, struct tt_error *e)
{
    const char *word = argv[*i], *equals = strchr(word, '='), *value = NULL;
    char *place = equals ? strndup(word, (size_t)(equals - word)) : strdup(word);
    int rc;

    if (!place)
        return tt_fail_nomem(e, "arguments");
    if (equals)
        value = equals + 1;
    else if (*i + 1 < argc && is_value(argv[*i + 1], is_switch(place + 2, own)))
        value = argv[++*i];
    if (!place[2])
        rc = tt_fail(e, TT_USAGE, "'%.80s' is not an option", word);
    else if (value && !value[0] && (!strcmp(place, "--json") || !strcmp(place, "--csv")))
        rc = tt_fail(e, TT_USAGE, "option %s needs a value",
                     place); /* an empty variable of a script */
    else
        rc = tt_settings_add(s, place + 2, value, place, e);
    free(place);
    return rc;
}

static int read_short(int argc, char **argv, int *i, struct tt_settings *s, struct tt_error *e)
{
    const char *flag = argv[*i];

    if (*i + 1 == argc || is_option(argv[*i + 1]))
        return tt_settings_add(s, flag, NULL, flag, e);
    return tt_settings_add(s, flag, argv[++*i], flag, e);
}

static int read_set(int argc, char **argv, int *i, struct tt_settings *s, struct tt_error *e)
{
    const char *pair = ++*i < argc ? argv[*i] : "";
    const char *equals = strchr(pair, '=');
    char *key;
    int rc;

    if (!equals || equals == pair)
        return tt_fail(e, TT_USAGE, "--set: '%.80s' is not key=value", pair);
    key = strndup(pair, (size_t)(equals - pair));
    rc = key ? tt_settings_add(s, key, equals + 1, "--set", e) : tt_fail_nomem(e, "arguments");
    free(key);
    return rc;
}

int tt_read_arguments(int argc, char **argv, const struct tt_param *own, struct tt_settings *s,
                      const char **positional, struct tt_error *e)
{
    int rc = TT_OK;

    *positional = NULL;
    for (int i = 0; rc == TT_OK && i < argc; i++) {
        if (!strcmp(argv[i], "--set"))
            rc = read_set(argc, argv, &i, s, e);
        else if (!strncmp(argv[i], "--", 2))
            rc = read_long(argc, argv, &i, own, s, e);
        else if (is_option(argv[i]))
            rc = read_short(argc, argv, &i, s, e);
        else if (*positional)
            rc =
                tt_fail(e, TT_USAGE, "unexpected word '%.80s' after '%.80s'", argv[i], *positional);
        else
            *positional = argv[i];
    }
    return rc;
}
