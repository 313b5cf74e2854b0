/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The applications among h5bench's benchmarks: openpmd and amrex. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "spec/dialects/h5bench/parts.h"

static int refuse(struct tt_h5bench_translation *t, const char *why)
{
    t->b->reason = strdup(why);
    return t->b->reason ? TT_OK : tt_fail_nomem(t->e, "a reason");
}

/* What a file says of durability in no key: h5bench's programs never sync. */
static void put_common(struct tt_h5bench_translation *t, bool asynchronous)
{
    t->b->asynchronous = asynchronous;
    tt_h5bench_put(t, "mode", "overlap", "%s", asynchronous ? "async" : "none");
    tt_h5bench_put(t, "mode", "sync", "close");
    tt_h5bench_put(t, "benchmark", "label", "%s", t->b->name);
    if (t->is_hdf5)
        tt_h5bench_put(t, "benchmark", "hdf5.method", "collective");
}

/* ---- openpmd ---- */

static const char *const operations[] = {"write", "read", NULL};
static const char *const encodings[] = {"f", "g", "v", NULL};

struct openpmd {
    int operation, encoding;
    uint64_t dim, ratio, steps;
    bool balanced, rank_blocks;
    char *min_block, *grid, *location, *pattern;
};

#define AT(member) offsetof(struct openpmd, member)
static const struct tt_param openpmd_params[] = {
    {"operation", TT_PARAM_CHOICE, AT(operation), "write", .choices = operations},
    {"fileLocation", TT_PARAM_TEXT, AT(location), NULL},
    {"dim", TT_PARAM_COUNT, AT(dim), "3", NULL, NULL, 1, 3},
    {"balanced", TT_PARAM_BOOL, AT(balanced), "true"},
    {"ratio", TT_PARAM_COUNT, AT(ratio), "1", NULL, NULL, 0, 1000000},
    {"steps", TT_PARAM_COUNT, AT(steps), "1", NULL, NULL, 1, 1000000},
    {"minBlock", TT_PARAM_TEXT, AT(min_block), "64 32 32"},
    {"grid", TT_PARAM_TEXT, AT(grid), NULL},
    {"encoding", TT_PARAM_CHOICE, AT(encoding), "f", .choices = encodings},
    {"rankBlocks", TT_PARAM_BOOL, AT(rank_blocks), "true"},
    {"pattern", TT_PARAM_TEXT, AT(pattern), "m"},
    {NULL},
};
#undef AT

/* "8 16 16" as 8:16:16, or as many of them as there are dimensions. */
static int put_sizes(struct tt_h5bench_translation *t, const char *name, const char *key,
                     const char *text, uint64_t dim)
{
    char sizes[128] = "";
    uint64_t n;

    for (n = 0; *(text += strspn(text, " ")) && n < dim; n++) {
        size_t used = strlen(sizes), length = strcspn(text, " ");

        snprintf(sizes + used, sizeof sizes - used, "%s%.*s", n ? ":" : "", (int)length, text);
        text += length;
    }
    if (n < dim)
        return tt_fail(t->e, TT_USAGE, "%.200s: '%s' has %" PRIu64 " sizes for dim %" PRIu64,
                       tt_h5bench_place(t, name), name, n, dim);
    tt_h5bench_put(t, name, key, "%s", sizes);
    return TT_OK;
}

/* The series has the name of the original, and "file" that of its first file. */
static int name_series(struct tt_h5bench_translation *t, const struct openpmd *o)
{
    char stem[64];
    int n;

    snprintf(stem, sizeof stem, "8a_parallel_%" PRIu64 "D%c", o->dim, o->balanced ? 'b' : 'u');
    tt_h5bench_put(t, "fileLocation", "openpmd.path", "%s%s.h5", stem,
                   o->encoding == 0 ? "_%06T" : "");
    free(t->b->file);
    n = asprintf(&t->b->file, "%s%s.h5", stem, o->encoding == 0 ? "_000000" : "");
    if (n < 0)
        t->b->file = NULL;
    return n < 0 ? tt_fail_nomem(t->e, "a path") : TT_OK;
}

static int put_writing(struct tt_h5bench_translation *t, const struct openpmd *o)
{
    static const char *const names[] = {"file", "group", "variable"};
    int rc = put_sizes(t, "minBlock", "openpmd.min_block", o->min_block, o->dim);

    if (rc == TT_OK && o->grid)
        rc = put_sizes(t, "grid", "openpmd.grid", o->grid, o->dim);
    if (rc != TT_OK)
        return rc;
    tt_h5bench_put(t, "balanced", "openpmd.balanced", "%s", o->balanced ? "yes" : "no");
    tt_h5bench_put(t, "ratio", "openpmd.ratio", "%" PRIu64, o->ratio);
    tt_h5bench_put(t, "steps", "openpmd.steps", "%" PRIu64, o->steps);
    tt_h5bench_put(t, "encoding", "openpmd.encoding", "%s", names[o->encoding]);
    tt_h5bench_put(t, "rankBlocks", "openpmd.rank_blocks", "%s", o->rank_blocks ? "yes" : "no");
    t->b->creates = true;
    return name_series(t, o);
}

/* Everything but what is read comes from the benchmark that has written the series. */
static int put_reading(struct tt_h5bench_translation *t, const struct openpmd *o,
                       const struct tt_h5bench_benchmark *writer)
{
    static const char *const patterns[] = {"sx", "sy", "sz", "fx", "fy", "fz", NULL};
    size_t i = 0;
    int rc = TT_OK;

    t->b->reads = true;
    if (!writer)
        return refuse(t, "no benchmark before it writes a series of openPMD");
    while (patterns[i] && strcmp(patterns[i], o->pattern) != 0)
        i++;
    if (!patterns[i] && strcmp(o->pattern, "m") != 0)
        return refuse(t, "pattern: only m, sx, sy, sz, fx, fy and fz are published");
    for (size_t k = 0; rc == TT_OK && k < writer->settings.n; k++) {
        const struct tt_setting *s = &writer->settings.list[k];

        if (!strncmp(s->key, "openpmd.", 8))
            rc = tt_settings_add(&t->b->settings, s->key, s->value, s->place, t->e);
    }
    free(t->b->file);
    t->b->file = strdup(writer->file);
    tt_h5bench_put(t, "operation", "openpmd.phase", "read");
    tt_h5bench_put(t, "pattern", "openpmd.read", "%s", patterns[i] ? patterns[i] : "metadata");
    return rc == TT_OK && !t->b->file ? tt_fail_nomem(t->e, "a path") : rc;
}

int tt_h5bench_translate_openpmd(struct tt_h5bench_translation *t,
                                 const struct tt_h5bench_benchmark *writer)
{
    struct openpmd o = {0};
    int rc = tt_h5bench_read_keys(t->keys, openpmd_params, &o, t->e);

    t->b->workload = "openpmd";
    if (rc == TT_OK)
        rc = o.operation == 0 ? put_writing(t, &o) : put_reading(t, &o, writer);
    if (rc == TT_OK)
        put_common(t, false);
    tt_params_free(openpmd_params, &o);
    return rc == TT_OK ? tt_settings_check(&t->b->settings, t->e) : rc;
}

/* ---- amrex ---- */

static const char *const modes[] = {"SYNC", "ASYNC", NULL};

struct amrex {
    uint64_t cells, max_grid, levels, components, particles, plot_files, particle_files;
    double pause;
    bool restart;
    int mode;
    char *compression;
};

#define AT(member) offsetof(struct amrex, member)
#define NUMBER(key, member, default_text, most) \
    { \
        key, TT_PARAM_COUNT, AT(member), default_text, NULL, NULL, 0, most \
    }
static const struct tt_param amrex_params[] = {
    NUMBER("ncells", cells, "64", 1 << 30),
    NUMBER("max_grid_size", max_grid, "8", 1 << 12),
    NUMBER("nlevs", levels, "1", 8),
    NUMBER("ncomp", components, "6", 64),
    NUMBER("nppc", particles, "2", 1000),
    NUMBER("nplotfile", plot_files, "2", 99999),
    NUMBER("nparticlefile", particle_files, "2", 99999),
    {"sleeptime", TT_PARAM_DURATION, AT(pause), "2", NULL, NULL, 0, 1000000},
    {"restart_check", TT_PARAM_BOOL, AT(restart), "0"},
    {"hdf5compression", TT_PARAM_TEXT, AT(compression), NULL},
    {"mode", TT_PARAM_CHOICE, AT(mode), "SYNC", .choices = modes},
    {NULL},
};
#undef AT

/* ALGORITHM@PARAMETER; the manual of h5bench has #. Chunks have 1024 elements. */
static int put_compression(struct tt_h5bench_translation *t, const char *given)
{
    size_t length = given ? strcspn(given, "@#") : 0;
    bool deflates =
        length == 4 && (!strncasecmp(given, "zlib", 4) || !strncasecmp(given, "gzip", 4));

    if (!given || (length == 4 && !strncasecmp(given, "none", 4)))
        return TT_OK;
    if (!deflates || !given[length])
        return refuse(t, "hdf5compression: the hdf5 backend compresses only with ZLIB@LEVEL");
    if (t->is_hdf5) {
        tt_h5bench_put(t, "hdf5compression", "hdf5.compress", "%s", given + length + 1);
        tt_h5bench_put(t, "hdf5compression", "hdf5.chunk", "1024");
    }
    return TT_OK;
}

int tt_h5bench_translate_amrex(struct tt_h5bench_translation *t)
{
    struct amrex a = {0};
    int rc = tt_h5bench_read_keys(t->keys, amrex_params, &a, t->e);

    t->b->workload = "amr";
    if (rc == TT_OK) {
        tt_h5bench_put(t, "ncells", "amr.cells", "%" PRIu64, a.cells);
        tt_h5bench_put(t, "max_grid_size", "amr.max_grid", "%" PRIu64, a.max_grid);
        tt_h5bench_put(t, "nlevs", "amr.levels", "%" PRIu64, a.levels);
        tt_h5bench_put(t, "ncomp", "amr.components", "%" PRIu64, a.components);
        tt_h5bench_put(t, "nppc", "amr.particles", "%" PRIu64, a.particles);
        tt_h5bench_put(t, "nplotfile", "amr.plot_files", "%" PRIu64, a.plot_files);
        tt_h5bench_put(t, "nparticlefile", "amr.particle_files", "%" PRIu64, a.particle_files);
        tt_h5bench_put(t, "sleeptime", "amr.pause", "%.9gs", a.pause);
        tt_h5bench_put(t, "restart_check", "amr.phase", "%s", a.restart ? "both" : "write");
        put_common(t, a.mode == 1);
        rc = put_compression(t, a.compression);
    }
    tt_params_free(amrex_params, &a);
    return rc == TT_OK ? tt_settings_check(&t->b->settings, t->e) : rc;
}
