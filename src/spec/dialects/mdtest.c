/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "spec/dialects/mdtest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "spec/units.h"

static const struct option {
    char letter;
    bool takes_value;
    const char *key; /* NULL: looked at below */
} options[] = {
    {'b', true, "metadata.branch"},
    {'z', true, "metadata.depth"},
    {'I', true, "metadata.per_directory"},
    {'n', true, "metadata.items"},
    {'L', false, "metadata.leaves_only"},
    {'u', false, "metadata.own_directories"},
    {'w', true, "metadata.write"},
    {'e', true, "metadata.read"},
    {'y', false, "metadata.fsync"},
    {'Y', false, "metadata.sync_phases"},
    {'N', true, "metadata.shift"},
    {'W', true, "metadata.deadline"},
    {'x', true, "metadata.count_file"},
    {'i', true, "metadata.repetitions"},
    {'F', false, NULL},
    {'D', false, NULL},
    {'C', false, NULL},
    {'T', false, NULL},
    {'E', false, NULL},
    {'r', false, NULL},
    {'R', false, NULL},
    {'d', true, NULL},
    {'a', true, NULL},
    {'v', false, NULL},
};

static const struct {
    char letter;
    const char *why;
} unsupported[] = {
    {'B', "phases always begin with a barrier"},
    {'c', "one task makes the shared tree, every task its own"},
    {'f', "the launcher says how many tasks there are"},
    {'G', "data is a function of the seed: use --seed"},
    {'k', "use mknod in a program of your own"},
    {'l', "the launcher says how many tasks there are"},
    {'p', "there is no delay between phases"},
    {'P', "rates and times are both in every result: see --json"},
    {'q', "every error ends the run"},
    {'s', "the launcher says how many tasks there are"},
    {'S', "a file shared by all tasks is what tutti run bulk does"},
    {'t', "one tree is used at a time"},
    {'V', "use -v"},
    {'X', "what is read is always compared with what was written"},
    {'Z', "times are in every result: see --json"},
};

struct reading {
    struct tt_settings *s;
    struct tt_error *e;
    bool files, directories, create, stat, open, remove;
    const char *directory;
};

static int add(struct reading *r, const char *place, const char *key, const char *value)
{
    return tt_settings_add(r->s, key, value, place, r->e);
}

static const struct option *find(char letter)
{
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].letter == letter)
            return &options[i];
    return NULL;
}

static int unknown(struct reading *r, char letter)
{
    for (size_t i = 0; i < sizeof unsupported / sizeof *unsupported; i++)
        if (unsupported[i].letter == letter)
            return tt_fail(r->e, TT_USAGE, "-%c: %s", letter, unsupported[i].why);
    return tt_fail(r->e, TT_USAGE, "-%c is no option of mdtest that tutti mdtest knows", letter);
}

static int shuffle(struct reading *r, const char *seed)
{
    int rc = add(r, "-R", "metadata.shuffle", "yes");

    return rc == TT_OK && *seed ? add(r, "-R", "seed", seed) : rc;
}

static int take_flag(struct reading *r, char letter)
{
    switch (letter) {
    case 'F':
        r->files = true;
        break;
    case 'D':
        r->directories = true;
        break;
    case 'C':
        r->create = true;
        break;
    case 'T':
        r->stat = true;
        break;
    case 'E':
        r->open = true;
        break;
    case 'r':
        r->remove = true;
        break;
    default: /* -v: everything is in the run directory anyway */
        break;
    }
    return TT_OK;
}

static int take_value(struct reading *r, char letter, const char *value)
{
    if (letter == 'd')
        r->directory = value;
    else if (strcasecmp(value, "POSIX") != 0)
        return tt_fail(r->e, TT_USAGE, "-a: '%.40s' is not POSIX, whose calls are what is measured",
                       value);
    return TT_OK;
}

/* Letters may be put together as long as they take no value. */
static int read_letters(struct reading *r, int argc, char **argv, int *i)
{
    int rc = TT_OK;

    for (const char *at = argv[*i] + 1; rc == TT_OK && *at; at++) {
        const struct option *o = find(*at);
        char place[3] = {'-', *at, '\0'};

        if (!o)
            return unknown(r, *at);
        if (*at == 'R' && (!at[1] || isdigit((unsigned char)at[1])))
            return shuffle(r, at + 1); /* a seed may follow at once */
        if (*at == 'R') {
            rc = shuffle(r, "");
            continue;
        }
        if (!o->takes_value) {
            rc = o->key ? add(r, place, o->key, "yes") : take_flag(r, *at);
            continue;
        }
        at += at[1] == '=' ? 2 : 1;
        if (!*at && ++*i >= argc)
            return tt_fail(r->e, TT_USAGE, "%s needs a value", place);
        at = *at ? at : argv[*i];
        return o->key ? add(r, place, o->key, at) : take_value(r, place[1], at);
    }
    return rc;
}

static const char *yes(bool value)
{
    return value ? "yes" : "no";
}

/* Only some phases: the tree stays where a later call finds it. */
static int add_phases(struct reading *r)
{
    bool some = r->create || r->stat || r->open || r->remove;
    int rc;

    if (!some)
        return TT_OK;
    rc = add(r, "-d", "metadata.path", "tutti-mdtest");
    if (rc == TT_OK)
        rc = add(r, "-C", "metadata.create", yes(r->create));
    if (rc == TT_OK)
        rc = add(r, "-T", "metadata.stat", yes(r->stat));
    if (rc == TT_OK)
        rc = add(r, "-E", "metadata.open", yes(r->open));
    if (rc == TT_OK)
        rc = add(r, "-r", "metadata.remove", yes(r->remove));
    return rc == TT_OK && r->create && !r->remove ? add(r, "-r", "keep", "yes") : rc;
}

static int finish(struct reading *r)
{
    bool both = r->files == r->directories;
    int rc = add(r, "-F", "metadata.what", both ? "both" : r->files ? "files" : "directories");

    if (rc == TT_OK && (both || r->directories) && !r->stat && !r->create && !r->open && !r->remove)
        rc = add(r, "-D", "metadata.rename", "yes");
    if (rc == TT_OK && r->directory)
        rc = add(r, "-d", "dir", r->directory);
    return rc == TT_OK ? add_phases(r) : rc;
}

int tt_mdtest_translate(int argc, char **argv, struct tt_settings *s, char **rest, int *nrest,
                        struct tt_error *e)
{
    struct reading r = {.s = s, .e = e};
    int rc = TT_OK;

    *nrest = 0;
    for (int i = 0; i < argc && rc == TT_OK; i++) {
        char *word = argv[i];

        if (word[0] != '-' || !word[1])
            return tt_fail(e, TT_USAGE, "unexpected word '%.80s'", word);
        if (word[1] != '-') {
            rc = read_letters(&r, argc, argv, &i);
            continue;
        }
        rest[(*nrest)++] = word;
        if (!strchr(word, '=') && i + 1 < argc && argv[i + 1][0] != '-')
            rest[(*nrest)++] = argv[++i];
    }
    return rc == TT_OK ? finish(&r) : rc;
}
