/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "spec/dialects/numio.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec/param.h"
#include "spec/units.h"

struct reader {
    struct tt_settings *s;
    struct tt_error *e;
    bool model, write, immediate, no_sync, mode_given;
};

static int add(struct reader *r, const char *place, const char *key, const char *value)
{
    return tt_settings_add(r->s, key, value, place, r->e);
}

static int add_number(struct reader *r, const char *place, const char *key, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRIu64, value);
    return add(r, place, key, text);
}

/* A whole number in a range; text may be "name=number". */
static int number(struct reader *r, const char *option, const char *name, const char *text,
                  uint64_t min, uint64_t max, uint64_t *out)
{
    struct tt_error inner = TT_ERROR_CLEAR;
    size_t length = strlen(name);

    if (!strncmp(text, name, length) && text[length] == '=')
        text += length + 1;
    if (tt_parse_count(text, out, &inner) != TT_OK)
        return tt_fail(r->e, TT_USAGE, "%s: %s: %s", option, name, inner.text);
    if (*out < min || *out > max)
        return tt_fail(r->e, TT_USAGE, "%s: %s must be %" PRIu64 " to %" PRIu64 ", not %" PRIu64,
                       option, name, min, max, *out);
    return TT_OK;
}

static int unknown(struct reader *r, const char *option, const char *word, const char *const *known)
{
    const char *near = tt_nearest_word(word, known);

    return tt_fail(r->e, TT_USAGE, "%s: unknown '%.80s'%s", option, word, TT_DID_YOU_MEAN(near));
}

/* ---- one function per option; value is a copy that may be cut ---- */

static int read_model(struct reader *r, char *value)
{
    static const char *const known[] = {"iter=", "size=", "pert=", NULL};
    uint64_t iterations = 0, size = 0, perturbation = 1;
    char *rest = value;
    int rc = TT_OK;

    for (char *word; rc == TT_OK && (word = strsep(&rest, ","));) {
        if (!strncmp(word, "iter=", 5))
            rc = number(r, "-m", "iter", word, 1, 200000, &iterations);
        else if (!strncmp(word, "size=", 5))
            rc = number(r, "-m", "size", word, 9, 1 << 30, &size);
        else if (!strncmp(word, "pert=", 5))
            rc = number(r, "-m", "pert", word, 1, 2, &perturbation);
        else
            rc = unknown(r, "-m", word, known);
    }
    if (rc == TT_OK && (iterations == 0 || size == 0))
        rc = tt_fail(r->e, TT_USAGE, "-m needs %s: -m iter=I,size=N,pert=1|2",
                     iterations == 0 ? "iter" : "size");
    r->model = true;
    if (rc == TT_OK)
        rc = add_number(r, "-m iter", "stencil.iterations", iterations);
    if (rc == TT_OK)
        rc = add_number(r, "-m size", "stencil.size", size);
    return rc != TT_OK
               ? rc
               : add(r, "-m pert", "stencil.perturbation", perturbation == 2 ? "sine" : "none");
}

static const char *path_of(const char *word)
{
    return !strncmp(word, "path=", 5) ? word + 5 : word;
}

static int read_write(struct reader *r, char *value)
{
    static const char *const known[] = {"imm", "nofilesync", "pattern=", NULL};
    char *rest = value, *frequency = strsep(&rest, ","), *path = strsep(&rest, ",");
    uint64_t every;
    int rc = number(r, "-w", "freq", frequency, 0, UINT64_MAX, &every);

    if (rc == TT_OK && (!path || !path_of(path)[0]))
        rc = tt_fail(r->e, TT_USAGE, "-w needs a path: -w freq,path");
    if (rc == TT_OK)
        rc = add_number(r, "-w freq", "write.every", every);
    if (rc == TT_OK)
        rc = add(r, "-w path", "write.path", path_of(path));
    for (char *word; rc == TT_OK && (word = strsep(&rest, ","));) {
        if (!strcmp(word, "imm"))
            r->immediate = true;
        else if (!strcmp(word, "nofilesync"))
            r->no_sync = true;
        else if (!strncmp(word, "pattern=", 8))
            rc = add(r, "-w pattern", "write.pattern", word + 8);
        else
            rc = unknown(r, "-w", word, known);
    }
    if (rc == TT_OK && r->immediate && r->no_sync)
        rc = tt_fail(r->e, TT_USAGE, "-w: imm syncs at once, nofilesync never: give one of them");
    r->write = true;
    return rc;
}

/* numio reads into the solver's field. */
static int read_read(struct reader *r, char *value)
{
    char *rest = value, *frequency = strsep(&rest, ",");
    uint64_t every;
    int rc = number(r, "-r", "freq", frequency, 0, UINT64_MAX, &every);

    if (rc == TT_OK)
        rc = add_number(r, "-r freq", "read.every", every);
    if (rc == TT_OK && rest)
        rc = path_of(rest)[0] ? add(r, "-r path", "read.path", path_of(rest))
                              : tt_fail(r->e, TT_USAGE, "-r: the path is empty");
    return rc != TT_OK ? rc : add(r, "-r", "read.restart", "yes");
}

static int read_collective(struct reader *r, char *value)
{
    char *rest = value, *frequency = strsep(&rest, ",");
    uint64_t every, size = 0;
    int rc = number(r, "-c", "freq", frequency, 0, UINT64_MAX, &every);

    if (rc == TT_OK && !rest)
        rc = tt_fail(r->e, TT_USAGE, "-c needs a size: -c freq,size (in 1000 bytes)");
    if (rc == TT_OK)
        rc = number(r, "-c", "size", rest, 1, 1000000000, &size);
    if (rc == TT_OK)
        rc = add_number(r, "-c freq", "collective.every", every);
    if (rc == TT_OK)
        rc = add_number(r, "-c size", "collective.size", size * 1000);
    return rc != TT_OK ? rc : add(r, "-c", "collective.kind", "allgather");
}

static int read_threads(struct reader *r, char *value)
{
    uint64_t threads;
    int rc = number(r, "-t", "threads", value, 1, 4096, &threads);

    return rc == TT_OK ? add_number(r, "-t", "stencil.threads", threads) : rc;
}

static const struct {
    char letter;
    int (*read)(struct reader *r, char *value);
    const char *form;
} options[] = {
    {'m', read_model, "-m iter=I,size=N,pert=1|2"},
    {'w', read_write, "-w freq,path[,imm][,nofilesync][,pattern=a:b:c]"},
    {'r', read_read, "-r freq[,path]"},
    {'c', read_collective, "-c freq,size"},
    {'t', read_threads, "-t threads"},
};

/* The value follows the letter, or is the next word. Returns how many words were used, 0 if this is
 * none of numio's options, or a negative code. */
static int read_option(struct reader *r, int argc, char **argv)
{
    const char *word = argv[0], *value;
    char *copy;
    int rc, used;

    if (!strcmp(word, "-l")) {
        rc = add(r, "-l", "write.files", "process");
        return rc == TT_OK ? 1 : rc;
    }
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (word[0] != '-' || word[1] != options[i].letter)
            continue;
        used = word[2] ? 1 : 2;
        value = word[2] ? word + 2 : argc > 1 ? argv[1] : "";
        if (!value[0])
            return tt_fail(r->e, TT_USAGE, "-%c needs a value: %s", options[i].letter,
                           options[i].form);
        copy = strdup(value);
        rc = copy ? options[i].read(r, copy) : tt_fail_nomem(r->e, "an option");
        free(copy);
        return rc == TT_OK ? used : rc;
    }
    return 0;
}

/* What numio always does. */
static int add_habits(struct reader *r)
{
    static const char *const habits[][2] = {
        {"stencil.dims", "2"},
        {"stencil.shape", "star"},
        {"stencil.halo", "after"},
        {"stencil.variable", "data"},
        {"write.series", "overwrite"},
        {"stencil.decomposition", "rows"},
        {"write.completion", "early"},
        {"keep", "yes"},
        {"baseline", "0"},
    };
    const char *sync = r->immediate ? "dump" : r->no_sync ? "never" : "deferred";
    int rc = TT_OK;

    for (size_t i = 0; i < sizeof habits / sizeof *habits && rc == TT_OK; i++)
        rc = add(r, "numio", habits[i][0], habits[i][1]);
    if (rc == TT_OK && r->mode_given && (r->immediate || r->no_sync))
        return tt_fail(
            r->e, TT_USAGE,
            "-w %s says when to sync, and so does --mode; give one of them, or --overlap",
            r->immediate ? "imm" : "nofilesync");
    return rc == TT_OK && !r->mode_given ? add(r, "numio", "sync", sync) : rc;
}

int tt_numio_translate(int argc, char **argv, struct tt_settings *s, char **rest, int *nrest,
                       struct tt_error *e)
{
    struct reader r = {.s = s, .e = e};

    *nrest = 0;
    for (int i = 0; i < argc;) {
        int used = read_option(&r, argc - i, argv + i);

        if (used < 0)
            return used;
        if (used == 0) {
            r.mode_given |= !strcmp(argv[i], "--mode") || !strncmp(argv[i], "--mode=", 7);
            rest[(*nrest)++] = argv[i];
            used = 1;
        }
        i += used;
    }
    if (!r.model)
        return tt_fail(e, TT_USAGE, "numio needs -m iter=I,size=N,pert=1|2");
    return add_habits(&r);
}
