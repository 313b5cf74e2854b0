/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/option.h"

#include <string.h>

#include "spec/param.h"

static int unknown(const char *arg, const struct tt_option *options, struct tt_error *e)
{
    const char *names[16] = {0}, *near;

    for (size_t i = 0; i < 15 && options[i].name; i++)
        names[i] = options[i].name;
    near = tt_nearest_word(arg, names);
    return tt_fail(e, TT_USAGE, "unknown option '%.80s'%s", arg, TT_DID_YOU_MEAN(near));
}

/* Returns how many words were used, or a negative code. */
static int take(char **argv, const struct tt_option *options, struct tt_error *e)
{
    size_t n = strcspn(argv[0], "=");
    bool joined = argv[0][n] == '=';
    const struct tt_option *o = options;

    while (o->name && (strlen(o->name) != n || strncmp(o->name, argv[0], n) != 0))
        o++;
    if (!o->name)
        return unknown(argv[0], options, e);
    if (o->given)
        *o->given = true;
    if (!o->value)
        return joined ? tt_fail(e, TT_USAGE, "option %s takes no value", o->name) : 1;
    if (*o->value)
        return tt_fail(e, TT_USAGE, "option %s is given twice", o->name);
    *o->value = joined ? argv[0] + n + 1 : argv[1];
    if (!*o->value || !(*o->value)[0])
        return tt_fail(e, TT_USAGE, "option %s needs a value", o->name);
    return joined ? 1 : 2;
}

int tt_take_words(int argc, char **argv, const struct tt_option *options, size_t max,
                  const char **words, size_t *n, struct tt_error *e)
{
    bool only_words = false; /* after -- */

    *n = 0;
    for (int i = 1; i < argc;) {
        int used = 1;

        if (!only_words && !strcmp(argv[i], "--"))
            only_words = true;
        else if (!only_words && argv[i][0] == '-' && argv[i][1])
            used = take(argv + i, options, e);
        else if (*n < max)
            words[(*n)++] = argv[i];
        else
            return tt_fail(e, TT_USAGE, "'%.80s' is one word too many", argv[i]);
        if (used < 0)
            return used;
        i += used;
    }
    return TT_OK;
}

int tt_take_options(int argc, char **argv, const struct tt_option *options, const char **word,
                    struct tt_error *e)
{
    size_t n;

    return tt_take_words(argc, argv, options, word ? 1 : 0, word, &n, e);
}
