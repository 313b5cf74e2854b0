/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "spec/dialects/numio.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "spec/units.h"

struct numio {
    char *model, *write, *read, *collective, *threads;
    bool own_files;
};

#define AT(member) offsetof(struct numio, member)
static const struct tt_param params[] = {
    {"model", TT_PARAM_TEXT, AT(model), NULL, NULL,
     "iterations, points per side, perturbation (2: sine)", .flag = "-m",
     .placeholder = "iter=I,size=N,pert=1|2"},
    {"write", TT_PARAM_TEXT, AT(write), NULL, NULL,
     "write every freq iterations; imm: sync at once; nofilesync: never sync", .flag = "-w",
     .placeholder = "freq,path[,imm][,nofilesync][,pattern=a:b:c]"},
    {"read", TT_PARAM_TEXT, AT(read), NULL, NULL, "read every freq iterations, into the field",
     .flag = "-r", .placeholder = "freq[,path]"},
    {"collective", TT_PARAM_TEXT, AT(collective), NULL, NULL,
     "an allgather of size x 1000 bytes per rank every freq iterations", .flag = "-c",
     .placeholder = "freq,size"},
    {"threads", TT_PARAM_TEXT, AT(threads), NULL, NULL, "OpenMP threads per rank", .flag = "-t",
     .placeholder = "threads"},
    {"own_files", TT_PARAM_BOOL, AT(own_files), NULL, NULL, "a file per process", .flag = "-l"},
    {NULL},
};

const struct tt_options tt_numio_options = {params, sizeof(struct numio), TT_OPTIONS_LETTERS};

struct reader {
    struct tt_settings *s;
    struct tt_error *e;
    bool immediate, no_sync;
};

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

/* ---- one function per option with a value, a copy that may be cut ---- */

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
    tt_settings_put(r->s, "-m iter", "stencil.iterations", "%" PRIu64, iterations);
    tt_settings_put(r->s, "-m size", "stencil.size", "%" PRIu64, size);
    tt_settings_put(r->s, "-m pert", "stencil.perturbation", perturbation == 2 ? "sine" : "none");
    return rc;
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
    if (rc != TT_OK)
        return rc;
    tt_settings_put(r->s, "-w freq", "write.every", "%" PRIu64, every);
    tt_settings_put(r->s, "-w path", "write.path", "%s", path_of(path));
    for (char *word; rc == TT_OK && (word = strsep(&rest, ","));) {
        if (!strcmp(word, "imm"))
            r->immediate = true;
        else if (!strcmp(word, "nofilesync"))
            r->no_sync = true;
        else if (!strncmp(word, "pattern=", 8))
            tt_settings_put(r->s, "-w pattern", "write.pattern", "%s", word + 8);
        else
            rc = unknown(r, "-w", word, known);
    }
    if (rc == TT_OK && r->immediate && r->no_sync)
        rc = tt_fail(r->e, TT_USAGE, "-w: imm syncs at once, nofilesync never: give one of them");
    return rc;
}

/* numio reads into the solver's field. */
static int read_read(struct reader *r, char *value)
{
    char *rest = value, *frequency = strsep(&rest, ",");
    uint64_t every;
    int rc = number(r, "-r", "freq", frequency, 0, UINT64_MAX, &every);

    if (rc == TT_OK && rest && !path_of(rest)[0])
        rc = tt_fail(r->e, TT_USAGE, "-r: the path is empty");
    if (rc != TT_OK)
        return rc;
    tt_settings_put(r->s, "-r freq", "read.every", "%" PRIu64, every);
    if (rest)
        tt_settings_put(r->s, "-r path", "read.path", "%s", path_of(rest));
    tt_settings_put(r->s, "-r", "read.restart", "yes");
    return TT_OK;
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
    if (rc != TT_OK)
        return rc;
    tt_settings_put(r->s, "-c freq", "collective.every", "%" PRIu64, every);
    tt_settings_put(r->s, "-c size", "collective.size", "%" PRIu64, size * 1000);
    tt_settings_put(r->s, "-c", "collective.kind", "allgather");
    return TT_OK;
}

static int read_threads(struct reader *r, char *value)
{
    uint64_t threads;
    int rc = number(r, "-t", "threads", value, 1, 4096, &threads);

    if (rc == TT_OK)
        tt_settings_put(r->s, "-t", "stencil.threads", "%" PRIu64, threads);
    return rc;
}

/* What numio always does. */
static void put_habits(struct tt_settings *s)
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

    for (size_t i = 0; i < sizeof habits / sizeof *habits; i++)
        tt_settings_put(s, "numio", habits[i][0], "%s", habits[i][1]);
}

static int read_options(struct reader *r, const struct numio *o)
{
    const struct {
        const char *value;
        int (*read)(struct reader *r, char *value);
    } options[] = {{o->model, read_model},
                   {o->write, read_write},
                   {o->read, read_read},
                   {o->collective, read_collective},
                   {o->threads, read_threads}};
    int rc = TT_OK;

    for (size_t i = 0; rc == TT_OK && i < sizeof options / sizeof *options; i++) {
        char *copy = options[i].value ? strdup(options[i].value) : NULL;

        if (copy)
            rc = options[i].read(r, copy);
        else if (options[i].value)
            rc = tt_fail_nomem(r->e, "an option");
        free(copy);
    }
    if (rc == TT_OK && o->own_files)
        tt_settings_put(r->s, "-l", "write.files", "process");
    return rc;
}

int tt_numio_translate(const void *opts, const struct tt_settings *own, struct tt_settings *s,
                       struct tt_error *e)
{
    const struct numio *o = opts;
    struct reader r = {.s = s, .e = e};
    bool mode_given = tt_settings_find(own, "mode") != NULL;
    int rc = o->model ? read_options(&r, o)
                      : tt_fail(e, TT_USAGE, "numio needs -m iter=I,size=N,pert=1|2");

    if (rc == TT_OK && mode_given && (r.immediate || r.no_sync))
        rc = tt_fail(e, TT_USAGE,
                     "-w %s says when to sync, and so does --mode; give one of them, or --overlap",
                     r.immediate ? "imm" : "nofilesync");
    if (rc != TT_OK)
        return rc;
    put_habits(s);
    if (!mode_given)
        tt_settings_put(s, "numio", "sync",
                        r.immediate ? "dump"
                        : r.no_sync ? "never"
                                    : "deferred");
    return tt_settings_append(s, own, e);
}
