/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The file is read twice: by jansson, which knows what JSON is and that an empty "vol" is there,
 * and as settings, which know their places. */
#include "spec/dialects/h5bench.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "spec/dialects/h5bench/parts.h"
#include "spec/read.h"

#define NOT_PLANNED -1
enum { METADATA = 100, OPENPMD, AMREX, E3SM, MACSIO, EXERCISER }; /* beside those of pattern.c */
static const struct {
    const char *name;
    int operation;
    const char *called; /* by h5bench itself, in its results */
    bool on_gpu;        /* data comes from there, or goes there */
} known[] = {
    {"write", TT_H5BENCH_WRITE, "write"},
    {"write-unlimited", TT_H5BENCH_WRITE_UNLIMITED, "write unlimited"},
    {"write_var_normal_dist", TT_H5BENCH_WRITE_NORMAL, "write_var_normal_dist"},
    {"write-normal-dist", TT_H5BENCH_WRITE_NORMAL, "write_var_normal_dist"},
    {"overwrite", TT_H5BENCH_OVERWRITE, "overwrite"},
    {"append", TT_H5BENCH_APPEND, "append"},
    {"read", TT_H5BENCH_READ, "read"},
    {"metadata", METADATA, "metadata"},
    {"openpmd", OPENPMD, "openpmd"},
    {"amrex", AMREX, "amrex"},
    {"e3sm", E3SM, "e3sm"},
    {"exerciser", EXERCISER, "exerciser"},
    {"macsio", MACSIO, "macsio"},
    {"dlio", NOT_PLANNED, NULL},
    {"qmcpack", NOT_PLANNED, NULL},
    {"cuda_write", TT_H5BENCH_WRITE, "write", true},
    {"cuda_read", TT_H5BENCH_READ, "read", true},
    {"write_var_data_dist", NOT_PLANNED, NULL},
};
#define NKNOWN (sizeof known / sizeof *known)

struct reader {
    const char *path;
    bool is_hdf5, loads_connectors;
    struct tt_settings file;   /* all of it, with dotted keys */
    struct tt_settings common; /* for every benchmark */
    struct tt_settings *keys;  /* of every benchmark's configuration */
    const struct tt_h5bench_past *past;
    struct tt_h5bench_workflow *w;
    struct tt_error *e;
};

static int fail_at(const struct reader *r, const struct tt_setting *s, const char *why)
{
    return tt_fail(r->e, TT_USAGE, "%.200s: '%.60s' %s", s->place, s->key, why);
}

/* ---- the structure ---- */

/* The path of the first null, as keys of settings are: "mpi.ranks". False: there is none. */
static bool find_null(const json_t *at, char *path, size_t size)
{
    size_t used = strlen(path), i;
    const char *key, *dot = used ? "." : "";
    json_t *value;

    if (json_is_null(at))
        return true;
    json_object_foreach((json_t *)at, key, value)
    {
        snprintf(path + used, size - used, "%s%s", dot, key);
        if (find_null(value, path, size))
            return true;
    }
    json_array_foreach(at, i, value)
    {
        snprintf(path + used, size - used, "%s%zu", dot, i);
        if (find_null(value, path, size))
            return true;
    }
    path[used] = '\0';
    return false;
}

/* In a list of values an element has no place of its own. */
static int fail_null(const struct reader *r, char *path)
{
    const struct tt_setting *s = tt_settings_find(&r->file, path);
    char *dot = strrchr(path, '.');

    if (!s && dot) {
        *dot = '\0';
        s = tt_settings_find(&r->file, path);
        *dot = s ? '\0' : '.';
    }
    return tt_fail(r->e, TT_USAGE, "%.200s: '%.80s' is null: give a value, or leave it out",
                   s ? s->place : r->path, path);
}

static int check_structure(const char *path, const json_t *root, struct tt_error *e)
{
    static const struct {
        const char *key, *what;
        json_type type;
    } required[] = {{"mpi", "an object", JSON_OBJECT},
                    {"vol", "an object, which may be empty", JSON_OBJECT},
                    {"file-system", "an object, which may be empty", JSON_OBJECT},
                    {"directory", "a text", JSON_STRING},
                    {"benchmarks", "a list", JSON_ARRAY}};
    const size_t n = sizeof required / sizeof *required;
    const char *key;
    json_t *value;
    size_t i;

    for (i = 0; i < n; i++) {
        value = json_object_get(root, required[i].key);
        if (!value || json_typeof(value) != required[i].type)
            return tt_fail(e, TT_USAGE, "%.200s: '%s' is required and must be %s", path,
                           required[i].key, required[i].what);
    }
    json_object_foreach((json_t *)root, key, value)
    {
        for (i = 0; i < n && strcmp(key, required[i].key) != 0;)
            i++;
        if (i == n)
            return tt_fail(e, TT_USAGE,
                           "%.200s: '%.80s' is not one of mpi, vol, file-system, directory, "
                           "benchmarks",
                           path, key);
    }
    value = json_object_get(root, "benchmarks");
    for (i = 0; i < json_array_size(value); i++) {
        if (!json_is_object(json_array_get(value, i)))
            return tt_fail(e, TT_USAGE, "%.200s: benchmark %zu is not an object", path, i + 1);
    }
    return i > 0 ? TT_OK : tt_fail(e, TT_USAGE, "%.200s: there are no benchmarks", path);
}

static int load(struct reader *r)
{
    json_error_t why;
    json_t *root = json_load_file(r->path, JSON_REJECT_DUPLICATES, &why);
    struct tt_h5bench_workflow *w = r->w;
    char *workload = NULL, null[256] = "";
    bool has_null;
    int rc;

    if (!root && why.line < 0)
        return tt_fail(r->e, TT_USAGE, "%.300s", why.text);
    if (!root)
        return tt_fail(r->e, TT_USAGE, "%.200s:%d:%d: %.200s", r->path, why.line, why.column,
                       why.text);
    rc = check_structure(r->path, root, r->e);
    if (rc == TT_OK) {
        w->n = json_array_size(json_object_get(root, "benchmarks"));
        w->directory = strdup(json_string_value(json_object_get(root, "directory")));
        w->list = calloc(w->n, sizeof *w->list);
        r->keys = calloc(w->n, sizeof *r->keys);
        if (!w->directory || !w->list || !r->keys)
            rc = tt_fail_nomem(r->e, r->path);
    }
    has_null = find_null(root, null, sizeof null);
    json_decref(root);
    if (rc == TT_OK)
        rc = tt_read_yaml(r->path, &r->file, &workload, r->e);
    free(workload);
    return rc == TT_OK && has_null ? fail_null(r, null) : rc;
}

/* ---- benchmarks ---- */

static int keep_text(const struct reader *r, char **to, const char *text)
{
    free(*to);
    *to = strdup(text);
    return *to ? TT_OK : tt_fail_nomem(r->e, r->path);
}

/* {"write": {"file": ..., "configuration": {...}}}, which h5bench does not take any more. */
static bool is_old_form(const char *name)
{
    size_t length = strcspn(name, "."), k = 0;

    while (k < NKNOWN && (strlen(known[k].name) != length || strncmp(known[k].name, name, length)))
        k++;
    return k < NKNOWN;
}

/* "benchmarks.2.configuration.DIM_1" */
static int take_benchmark_key(struct reader *r, const struct tt_setting *s)
{
    static const char within[] = "configuration.";
    char *name;
    size_t i = strtoul(s->key + strlen("benchmarks."), &name, 10);
    struct tt_h5bench_benchmark *b;

    if (*name != '.' || i >= r->w->n)
        return fail_at(r, s, "is not a key of h5bench");
    b = &r->w->list[i];
    name++;
    if (!strcmp(name, "benchmark")) {
        int rc = keep_text(r, &b->place, s->place);

        return rc == TT_OK ? keep_text(r, &b->name, s->value) : rc;
    }
    if (!strcmp(name, "file"))
        return keep_text(r, &b->file, s->value);
    if (is_old_form(name))
        return fail_at(r, s, "is of an old h5bench: give {benchmark, file, configuration}");
    if (strncmp(name, within, sizeof within - 1) != 0)
        return fail_at(r, s, "is not one of benchmark, file, configuration");
    return tt_settings_add(&r->keys[i], name + sizeof within - 1, s->value, s->place, r->e);
}

static bool is_listed(const char *list, const char *name)
{
    char *copy = strdup(list), *rest = copy, *word;
    bool found = false;

    while (copy && (word = strsep(&rest, ",")))
        found |= tt_same_key(word, name);
    free(copy);
    return found;
}

static int check_filter(const struct reader *r, const char *filter)
{
    char *copy = strdup(filter ? filter : ""), *rest = copy, *word;
    int rc = copy ? TT_OK : tt_fail_nomem(r->e, "a filter");

    while (filter && rc == TT_OK && (word = strsep(&rest, ","))) {
        size_t i = 0;

        while (i < r->w->n && (!r->w->list[i].name || !tt_same_key(r->w->list[i].name, word)))
            i++;
        if (i == r->w->n)
            rc =
                tt_fail(r->e, TT_USAGE, "--filter: %.200s has no benchmark '%.80s'", r->path, word);
    }
    free(copy);
    return rc;
}

/* What the last benchmark that is run on the same file leaves in it, or what was there before. */
static struct tt_h5bench_content *content_of(const struct reader *r,
                                             struct tt_h5bench_content *contents, size_t i)
{
    const struct tt_h5bench_benchmark *b = &r->w->list[i];

    for (size_t j = i; j-- > 0;) {
        const struct tt_h5bench_benchmark *before = &r->w->list[j];

        if (!before->skipped && !before->reason && before->file && !strcmp(before->file, b->file)) {
            contents[i] = contents[j];
            return &contents[i];
        }
    }
    if (r->past && !b->creates)
        r->past->look(r->past->context, r->w->directory, b->file, &contents[i]);
    if (contents[i].ranks > 0 && contents[i].ranks != tt_h5bench_ranks(&r->common))
        contents[i] = (struct tt_h5bench_content){0}; /* a rank has another part of it */
    return &contents[i];
}

/* NULL: none is given. */
static const struct tt_setting *given_connector(const struct reader *r)
{
    const struct tt_setting *given = tt_settings_find(&r->file, "vol.connector");

    return given && strcspn(given->value, " ") > 0 ? given : NULL;
}

/* h5bench loads a connector in MODE ASYNC and LOG only. Where HDF5 cannot, overlap does what the
 * asynchronous connector would do, and the layer log what that of the log would. */
static int check_connector(const struct reader *r, struct tt_h5bench_benchmark *b)
{
    const struct tt_setting *given = given_connector(r);
    const char *name = given ? given->value : "async";
    size_t length = strcspn(name, " ");

    if ((!b->asynchronous && !b->logs) || b->reason)
        return TT_OK;
    if (given && r->loads_connectors) {
        tt_settings_put(&b->settings, given->place, "hdf5.vol", "%s", name);
        return TT_OK;
    }
    if (b->logs)
        return !given || (length == 3 && !strncasecmp(name, "log", 3))
                   ? TT_OK
                   : keep_text(r, &b->reason,
                               "MODE LOG with a vol.connector other than LOG: HDF5 loads "
                               "connectors since 1.14");
    if (length == 5 && !strncmp(name, "async", 5))
        return given && !r->w->connector ? keep_text(r, &r->w->connector, name) : TT_OK;
    return keep_text(r, &b->reason,
                     "MODE ASYNC with a vol.connector other than async: HDF5 loads connectors "
                     "since 1.14");
}

/* A list becomes a search path. Of what is preloaded, the loader itself only says that it is
 * ignored. */
static int keep_place(const struct reader *r, const char *key, char **to)
{
    const struct tt_setting *s = tt_settings_find(&r->file, key);
    int rc = s && *s->value ? keep_text(r, to, s->value) : TT_OK;

    for (char *c = *to; rc == TT_OK && c && *c; c++)
        if (*c == ',')
            *c = ':';
    if (rc == TT_OK && to == &r->w->preload && *to && **to == '/' && !strpbrk(*to, ": ") &&
        access(*to, R_OK) != 0)
        rc = fail_at(r, s, "cannot be read, and so not be loaded");
    return rc;
}

static int read_places(const struct reader *r)
{
    int rc = keep_place(r, "vol.library", &r->w->library);

    if (rc == TT_OK)
        rc = keep_place(r, "vol.path", &r->w->path);
    return rc == TT_OK ? keep_place(r, "vol.preload", &r->w->preload) : rc;
}

/* The last benchmark before it that is run and writes a series of openPMD; NULL: none. */
static const struct tt_h5bench_benchmark *series_before(const struct reader *r, size_t i)
{
    while (i-- > 0) {
        const struct tt_h5bench_benchmark *b = &r->w->list[i];

        if (!b->skipped && !b->reason && b->creates && b->workload &&
            !strcmp(b->workload, "openpmd"))
            return b;
    }
    return NULL;
}

static int translate(struct reader *r, size_t i, int operation, struct tt_h5bench_content *contents)
{
    struct tt_h5bench_benchmark *b = &r->w->list[i];
    struct tt_h5bench_translation t = {
        &r->keys[i], b, r->is_hdf5, r->w->directory, r->loads_connectors && given_connector(r),
        r->e};
    int rc;

    if (operation == METADATA)
        return tt_h5bench_translate_metadata(&t);
    if (operation == OPENPMD)
        return tt_h5bench_translate_openpmd(&t, series_before(r, i));
    if (operation == E3SM)
        return tt_h5bench_translate_e3sm(&t);
    if (operation == MACSIO)
        return tt_h5bench_translate_macsio(&t);
    if (operation == EXERCISER)
        return tt_h5bench_translate_exerciser(&t);
    if (operation == AMREX) {
        rc = tt_h5bench_translate_amrex(&t);
        return rc == TT_OK ? check_connector(r, b) : rc;
    }
    rc = tt_h5bench_translate(&t, (enum tt_h5bench_operation)operation, content_of(r, contents, i));
    return rc == TT_OK ? check_connector(r, b) : rc;
}

static size_t find_known(const struct tt_h5bench_benchmark *b)
{
    size_t k = 0;

    while (k < NKNOWN && (!b->name || !tt_same_key(known[k].name, b->name)))
        k++;
    return k;
}

static int read_benchmark(struct reader *r, size_t i, struct tt_h5bench_content *contents)
{
    struct tt_h5bench_benchmark *b = &r->w->list[i];
    size_t k = find_known(b);
    int rc;

    if (!b->name)
        return tt_fail(r->e, TT_USAGE, "%.200s: benchmark %zu has no 'benchmark', its name",
                       r->path, i + 1);
    if (k == NKNOWN)
        return tt_fail(r->e, TT_USAGE, "%.200s: '%.80s' is not a benchmark of h5bench%s", b->place,
                       b->name, TT_DID_YOU_MEAN(TT_NEAREST_ROW(b->name, known)));
    b->operation = known[k].called;
    if (known[k].operation < 0)
        return keep_text(r, &b->reason, "not planned");
    if (known[k].operation == EXERCISER && !b->file &&
        asprintf(&b->file, "exerciser-%zu.h5", i + 1) < 0) {
        b->file = NULL;
        return tt_fail_nomem(r->e, r->path);
    }
    if (known[k].operation != OPENPMD && (!b->file || !*b->file))
        return tt_fail(r->e, TT_USAGE, "%.200s: benchmark '%.40s' has no 'file'", b->place,
                       b->name);
    rc = tt_settings_append(&b->settings, &r->common, r->e);
    tt_settings_put(&b->settings, "directory", "dir", "%s", r->w->directory);
    tt_settings_put(&b->settings, "tutti h5bench", "backend", "hdf5");
    b->on_gpu = known[k].on_gpu;
    if (b->on_gpu)
        tt_settings_put(&b->settings, b->place, "device", "cuda");
    return rc == TT_OK ? translate(r, i, known[k].operation, contents) : rc;
}

/* What is wrong with one benchmark concerns no other. */
static int try_benchmark(struct reader *r, size_t i, struct tt_h5bench_content *contents)
{
    struct tt_h5bench_benchmark *b = &r->w->list[i];
    struct tt_error inner = TT_ERROR_CLEAR, *outer = r->e;
    int rc;

    r->e = &inner;
    rc = read_benchmark(r, i, contents);
    r->e = outer;
    if (rc == TT_OK)
        return TT_OK;
    b->unusable = rc == TT_USAGE && b->name;
    return b->unusable ? keep_text(r, &b->reason, inner.text)
                       : tt_fail(outer, rc, "%s", inner.text);
}

static int read_benchmarks(struct reader *r, const char *filter)
{
    struct tt_h5bench_content *contents = calloc(r->w->n, sizeof *contents);
    int rc = contents ? TT_OK : tt_fail_nomem(r->e, r->path);

    for (size_t i = 0; rc == TT_OK && i < r->file.n; i++)
        if (!strncmp(r->file.list[i].key, "benchmarks.", 11))
            rc = take_benchmark_key(r, &r->file.list[i]);
    if (rc == TT_OK)
        rc = check_filter(r, filter);
    for (size_t i = 0; rc == TT_OK && i < r->w->n; i++) {
        struct tt_h5bench_benchmark *b = &r->w->list[i];
        size_t k = find_known(b);

        b->skipped = filter && b->name && !is_listed(filter, b->name);
        b->creates =
            k < NKNOWN && known[k].operation >= 0 && known[k].operation < TT_H5BENCH_OVERWRITE;
        if (!b->skipped)
            rc = try_benchmark(r, i, contents);
    }
    free(contents);
    return rc;
}

/* ---- all of it ---- */

int tt_h5bench_read(const char *path, const char *filter, enum tt_h5bench_backend backend,
                    const struct tt_h5bench_past *past, struct tt_h5bench_workflow *w,
                    struct tt_error *e)
{
    struct reader r = {.path = path,
                       .is_hdf5 = backend != TT_H5BENCH_OTHER,
                       .loads_connectors = backend == TT_H5BENCH_HDF5_CONNECTORS,
                       .past = past,
                       .w = w,
                       .e = e};
    int rc;

    *w = (struct tt_h5bench_workflow){0};
    rc = load(&r);
    if (rc == TT_OK)
        rc = tt_h5bench_read_driver(path, &r.file, r.is_hdf5, &r.common, e);
    if (rc == TT_OK && r.loads_connectors)
        rc = read_places(&r);
    if (rc == TT_OK)
        rc = read_benchmarks(&r, filter);
    for (size_t i = 0; r.keys && i < w->n; i++)
        tt_settings_free(&r.keys[i]);
    free(r.keys);
    tt_settings_free(&r.file);
    tt_settings_free(&r.common);
    return rc;
}

void tt_h5bench_free(struct tt_h5bench_workflow *w)
{
    for (size_t i = 0; w->list && i < w->n; i++) {
        struct tt_h5bench_benchmark *b = &w->list[i];

        free(b->name);
        free(b->place);
        free(b->file);
        free(b->csv_file);
        free(b->reason);
        tt_settings_free(&b->settings);
    }
    free(w->list);
    free(w->directory);
    free(w->connector);
    free(w->library);
    free(w->path);
    free(w->preload);
}
