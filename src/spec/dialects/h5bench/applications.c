/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The applications among h5bench's benchmarks: openpmd, amrex, e3sm and macsio. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/notice.h"
#include "spec/dialects/h5bench/parts.h"

static int refuse(struct tt_h5bench_translation *t, const char *why)
{
    t->b->reason = strdup(why);
    return t->b->reason ? TT_OK : tt_fail_nomem(t->e, "a reason");
}

/* What a file says in no key: h5bench's programs never sync, and do nothing twice, as baselines of
 * epochs would. */
static void put_common(struct tt_h5bench_translation *t, bool asynchronous)
{
    t->b->asynchronous = asynchronous;
    tt_h5bench_put(t, "mode", "overlap", "%s", asynchronous ? "async" : "none");
    tt_h5bench_put(t, "mode", "sync", "close");
    tt_h5bench_put(t, "mode", "baseline", "0");
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

/* "8 16 16" as 8:16:16, or as many of them as are needed. */
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
        return tt_fail(t->e, TT_USAGE, "%.200s: '%s' has %" PRIu64 " of %" PRIu64 " numbers",
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

/* The numbers that are patterns, of which D and P are single digits. The original ignores what does
 * not fit, and reads nothing. FDP: blocks of 1/F of every dimension, along the dimension D or, if D
 * is larger, along the diagonal; 4: of rank 0 alone, at the place P. */
static int put_blocks(struct tt_h5bench_translation *t, unsigned long number, uint64_t ndims)
{
    static const char *const places[] = {"middle", "first", "last", "near"};
    static const char *const alongs[] = {"x", "y", "z"};
    unsigned long d = number / 10 % 10, p = number % 10;

    if (d == ndims || (d == 4 && p > 3))
        return refuse(t, "pattern FDP: D is a dimension from 0 on, 4 (then P is 0 to 3) or above");
    tt_h5bench_put(t, "pattern", "openpmd.read", "block");
    tt_h5bench_put(t, "pattern", "openpmd.block_divide", "%lu", number / 100);
    tt_h5bench_put(t, "pattern", "openpmd.block_along", "%s",
                   d < ndims ? alongs[d]
                   : d == 4  ? "one"
                             : "diagonal");
    tt_h5bench_put(t, "pattern", "openpmd.block_place", "%s", d == 4 ? places[p] : "middle");
    return TT_OK;
}

/* YYYXXX: all of it, by so many ranks in y and in x. */
static int put_scan(struct tt_h5bench_translation *t, unsigned long number, uint64_t ndims)
{
    uint64_t ranks = tt_h5bench_ranks(&t->b->settings);
    uint64_t grid[3] = {number % 1000, number / 1000 % 1000, 1}, plane = grid[0] * grid[1];

    if (ndims == 1 || plane == 0 || ranks % plane != 0 || (ndims == 2 && plane != ranks))
        return refuse(t, "pattern YYYXXX: the ranks in x and in y do not divide the ranks, or the "
                         "mesh has one dimension");
    grid[2] = ranks / plane;
    tt_h5bench_put(t, "pattern", "openpmd.read", "full");
    tt_h5bench_put_counts(t, "pattern", "openpmd.read_grid", grid, ndims);
    return TT_OK;
}

/* D5: a plane across the dimension D, of B with 5 more; 7: ids. */
static int put_number(struct tt_h5bench_translation *t, const char *text,
                      const struct tt_settings *writer)
{
    static const char *const planes[10] = {"sx", "sy", "sz", NULL, NULL, "fx", "fy", "fz"};
    const struct tt_setting *sizes = tt_settings_find(writer, "openpmd.min_block");
    uint64_t ndims = 1;
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    const char *plane = n % 10 == 5 ? planes[n / 10 % 10] : NULL;

    for (const char *c = sizes ? sizes->value : ""; *c; c++)
        ndims += *c == ':';
    if (end == text || *end || *text == '-' || n > UINT32_MAX)
        return refuse(t, "pattern: not m, sx, sy, sz, fx, fy, fz or a number of the original");
    if (n >= 10000)
        return put_scan(t, n, ndims);
    if (n >= 100)
        return put_blocks(t, n, ndims);
    if (n != 7 && !plane)
        return refuse(t, "pattern: below 100 only 7, ids, and planes are there: 5, 15, 25 of rho, "
                         "55, 65, 75 of B");
    tt_h5bench_put(t, "pattern", "openpmd.read", "%s", n == 7 ? "ids" : plane);
    return TT_OK;
}

/* Everything but what is read comes from the benchmark that has written the series. */
static int put_reading(struct tt_h5bench_translation *t, const struct openpmd *o,
                       const struct tt_h5bench_benchmark *writer)
{
    static const char *const patterns[] = {"sx", "sy", "sz", "fx", "fy", "fz", NULL};
    bool is_metadata = !strcmp(o->pattern, "m");
    size_t i = 0;
    int rc = TT_OK;

    t->b->reads = true;
    if (!writer)
        return refuse(t, "no benchmark before it writes a series of openPMD");
    while (patterns[i] && strcmp(patterns[i], o->pattern) != 0)
        i++;
    for (size_t k = 0; rc == TT_OK && k < writer->settings.n; k++) {
        const struct tt_setting *s = &writer->settings.list[k];

        if (!strncmp(s->key, "openpmd.", 8))
            rc = tt_settings_add(&t->b->settings, s->key, s->value, s->place, t->e);
    }
    free(t->b->file);
    t->b->file = strdup(writer->file);
    tt_h5bench_put(t, "operation", "openpmd.phase", "read");
    if (patterns[i] || is_metadata)
        tt_h5bench_put(t, "pattern", "openpmd.read", "%s", is_metadata ? "metadata" : patterns[i]);
    else if (rc == TT_OK)
        rc = put_number(t, o->pattern, &writer->settings);
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

enum { SYNC, ASYNC, LOG };
static const char *const modes[] = {"SYNC", "ASYNC", "LOG", NULL};

struct amrex {
    uint64_t cells, max_grid, levels, components, particles, plot_files, particle_files;
    double pause;
    bool restart, from_file;
    int mode;
    char *compression, *ratios;
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
    {"grids_from_file", TT_PARAM_BOOL, AT(from_file), "0"},
    {"ref_ratio_file", TT_PARAM_TEXT, AT(ratios), NULL},
    {"hdf5compression", TT_PARAM_TEXT, AT(compression), NULL},
    {"mode", TT_PARAM_CHOICE, AT(mode), "SYNC", .choices = modes},
    {NULL},
};
#undef AT

/* What AMReX calls its algorithms, and the filter of the hdf5 backend. */
static const struct {
    const char *name, *filter;
    enum { NO_VALUE, WHOLE, REAL } value;
} algorithms[] = {
    {"ZLIB", "deflate", WHOLE},        {"GZIP", "deflate", WHOLE},
    {"ZFP_RATE", "zfp:1:0", REAL},     {"ZFP_PRECISION", "zfp:2:0", WHOLE},
    {"ZFP_ACCURACY", "zfp:3:0", REAL}, {"ZFP_REVERSIBLE", "zfp:5", NO_VALUE},
};

/* ALGORITHM@PARAMETER; the manual of h5bench has #. Chunks have 1024 elements. The filter zfp takes
 * a real number as two words. */
static int put_compression(struct tt_h5bench_translation *t, const char *given)
{
    static const size_t n = sizeof algorithms / sizeof *algorithms;
    size_t length = given ? strcspn(given, "@#") : 0, i = 0;
    const char *value = given && given[length] ? given + length + 1 : "";
    uint32_t words[2];
    char *end;
    double real = strtod(value, &end);

    if (!given || (length == 4 && !strncasecmp(given, "none", 4)))
        return TT_OK;
    while (i < n &&
           (strlen(algorithms[i].name) != length || strncasecmp(given, algorithms[i].name, length)))
        i++;
    if (i == n)
        return refuse(t, "hdf5compression: expected ZLIB@LEVEL, ZFP_RATE@RATE, ZFP_PRECISION@BITS, "
                         "ZFP_ACCURACY@BOUND, ZFP_REVERSIBLE or None@0");
    if (algorithms[i].value != NO_VALUE && (end == value || *end || !(real >= 0)))
        return refuse(t, "hdf5compression: a number of at least 0 is missing behind the @");
    if (!t->is_hdf5)
        return TT_OK;
    memcpy(words, &real, sizeof words);
    if (strncmp(algorithms[i].filter, "zfp", 3) == 0 && algorithms[i].value != NO_VALUE) {
        tt_h5bench_put(t, "hdf5compression", "amr.verify", "no");
        t->b->notice = TT_H5BENCH_LOSES;
    }
    if (algorithms[i].value == REAL)
        tt_h5bench_put(t, "hdf5compression", "hdf5.filter", "%s:%" PRIu32 ":%" PRIu32,
                       algorithms[i].filter, words[0], words[1]);
    else
        tt_h5bench_put(t, "hdf5compression", "hdf5.filter", "%s%s%s", algorithms[i].filter,
                       algorithms[i].value == WHOLE ? ":" : "",
                       algorithms[i].value == WHOLE ? value : "");
    tt_h5bench_put(t, "hdf5compression", "hdf5.chunk", "1024");
    return TT_OK;
}

/* As in the original, ratios belong to the file of grids; "4 2" is 4:2. */
static int put_ratios(struct tt_h5bench_translation *t, const struct amrex *a)
{
    if (!a->from_file || a->levels < 2 || a->plot_files == 0)
        return TT_OK;
    tt_notice_same("amrex: no file of grids is read; a finer level has the middle half of the one "
                   "before it");
    return a->ratios ? put_sizes(t, "ref_ratio_file", "amr.ratios", a->ratios, a->levels - 1)
                     : TT_OK;
}

int tt_h5bench_translate_amrex(struct tt_h5bench_translation *t)
{
    struct amrex a = {0};
    int rc = tt_h5bench_read_keys(t->keys, amrex_params, &a, t->e);

    t->b->workload = "amr";
    if (rc == TT_OK) {
        tt_h5bench_put(t, "ncells", "amr.cells", "%" PRIu64, a.cells);
        tt_h5bench_put(t, "max_grid_size", "amr.max_grid", "%" PRIu64, a.max_grid);
        if (a.plot_files > 0) {
            tt_h5bench_put(t, "nlevs", "amr.levels", "%" PRIu64, a.levels);
            tt_h5bench_put(t, "ncomp", "amr.components", "%" PRIu64, a.components);
        }
        if (a.particle_files > 0)
            tt_h5bench_put(t, "nppc", "amr.particles", "%" PRIu64, a.particles);
        tt_h5bench_put(t, "nplotfile", "amr.plot_files", "%" PRIu64, a.plot_files);
        tt_h5bench_put(t, "nparticlefile", "amr.particle_files", "%" PRIu64, a.particle_files);
        tt_h5bench_put(t, "sleeptime", "amr.pause", "%.9gs", a.pause);
        tt_h5bench_put(t, "restart_check", "amr.phase", "%s", a.restart ? "both" : "write");
        put_common(t, a.mode == ASYNC);
        t->b->logs = a.mode == LOG;
        if (a.mode == LOG && !t->loads_connector)
            tt_h5bench_put(t, "mode", "layers", "log");
        rc = put_ratios(t, &a);
        if (rc == TT_OK)
            rc = put_compression(t, a.compression);
    }
    tt_params_free(amrex_params, &a);
    return rc == TT_OK ? tt_settings_check(&t->b->settings, t->e) : rc;
}

/* ---- e3sm ---- */

static const char *const libraries[] = {"hdf5", "hdf5_md", "hdf5_log", NULL};
static const char *const strategies[] = {"blob", "canonical", "log", NULL};
static const char *const histories[] = {"-1", "0", "1", NULL};

struct e3sm {
    int library, strategy, files;
    uint64_t records, stride, factor;
    bool fill, unsorted, noncontiguous, is_float, keep;
    double pause;
    char *flush, *map, *netcdf, *input, *output, *verbose, *profile, *subfiles;
};

#define AT(member) offsetof(struct e3sm, member)
static const struct tt_param e3sm_params[] = {
    {"map", TT_PARAM_TEXT, AT(map), NULL},
    {"netcdf", TT_PARAM_TEXT, AT(netcdf), NULL}, /* what the manual of h5bench calls it, */
    {"i", TT_PARAM_TEXT, AT(input), NULL},       /* and what older samples do */
    {"a", TT_PARAM_CHOICE, AT(library), "hdf5", .choices = libraries},
    {"x", TT_PARAM_CHOICE, AT(strategy), "blob", .choices = strategies},
    {"r", TT_PARAM_COUNT, AT(records), "1", NULL, NULL, 1, 1 << 24},
    {"y", TT_PARAM_TEXT, AT(flush), "1"},
    {"u", TT_PARAM_BOOL, AT(fill), "no"},
    {"q", TT_PARAM_BOOL, AT(unsorted), "no"},
    {"m", TT_PARAM_BOOL, AT(noncontiguous), "no"},
    {"j", TT_PARAM_BOOL, AT(is_float), "no"},
    {"f", TT_PARAM_CHOICE, AT(files), "-1", .choices = histories},
    {"t", TT_PARAM_DURATION, AT(pause), "0", NULL, NULL, 0, 1000000},
    {"g", TT_PARAM_TEXT, AT(subfiles), "0"},
    {"s", TT_PARAM_COUNT, AT(stride), "1", NULL, NULL, 1, 1 << 24},
    {"e", TT_PARAM_COUNT, AT(factor), "1", NULL, NULL, 1, 1 << 24},
    {"k", TT_PARAM_BOOL, AT(keep), "no"},
    {"o", TT_PARAM_TEXT, AT(output), NULL},
    {"v", TT_PARAM_TEXT, AT(verbose), NULL},
    {"p", TT_PARAM_TEXT, AT(profile), NULL},
    {NULL},
};
#undef AT

/* A size that the workload has other defaults for. */
struct size {
    const char *key;
    uint64_t value;
};
static const struct model {
    const char *word, *name; /* in the names of maps: map_f_case_16p.h5 */
    uint64_t ranks;          /* of the map as in production; the other one is for 16 */
    struct size sizes[4];
} models[] = {
    {"f_case", "F", 21600, {{"columns", 777602}, {"levels", 72}}},
    {"g_case",
     "G",
     9600,
     {{"cells", 3693225}, {"edges", 11135652}, {"vertices", 7441216}, {"levels", 80}}},
    {"i_case", "I", 1344, {{"latitudes", 360}, {"longitudes", 720}, {"land", 24}}},
};

/* "_16p." is the number of ranks, "_866x72_" are columns and levels; 0: it does not say. False if a
 * size is 0. */
static bool read_map_name(const char *name, uint64_t *ranks, uint64_t *columns, uint64_t *levels)
{
    bool right = true;

    *ranks = *columns = *levels = 0;
    for (const char *at = strchr(name, '_'); at; at = strchr(at + 1, '_')) {
        uint64_t number, second;
        char letter = 0;

        if (sscanf(at, "_%" SCNu64 "x%" SCNu64, &number, &second) == 2) {
            *columns = number;
            *levels = second;
            right &= number > 0 && second > 0;
        } else if (sscanf(at, "_%" SCNu64 "%c", &number, &letter) == 2 && letter == 'p') {
            *ranks = number;
            right &= number > 0;
        }
    }
    return right;
}

/* Resolves "." and ".." by the text alone. The result is never longer. */
static void resolve_dots(char *path)
{
    bool is_absolute = *path == '/';
    size_t n = 0, names = 0; /* names: that ".." can take away */

    for (char *at = path; *at; at += strspn(at, "/")) {
        size_t length = strcspn(at, "/");
        bool is_up = length == 2 && !strncmp(at, "..", 2);

        if (length == 0 || (length == 1 && *at == '.') || (is_up && !names && is_absolute)) {
            at += length;
            continue;
        }
        if (is_up && names) {
            while (n > 0 && path[n - 1] != '/')
                n--;
            n -= n > 0;
        } else {
            if (n > 0 || is_absolute)
                path[n++] = '/';
            memmove(path + n, at, length);
            n += length;
        }
        names = is_up ? names - (names > 0) : names + 1;
        at += length;
    }
    path[n] = '\0';
}

/* realpath() of a name that ends in .nc instead. The directory may not be there yet. */
static char *find_classic(const char *directory, const char *given)
{
    const char *slash = strrchr(given, '/'), *dot = strrchr(slash ? slash : given, '.');
    int length = (int)(dot ? dot - given : (long)strlen(given));
    char *path, *found;

    if (asprintf(&path, "%s%s%.*s.nc", directory, *directory ? "/" : "", length, given) < 0)
        return NULL;
    found = realpath(path, NULL);
    if (!found) {
        resolve_dots(path);
        found = realpath(path, NULL);
    }
    free(path);
    return found;
}

/* The classic NetCDF file that a map is, or that lies beside one of another format, as they all
 * come; NULL: there is none. h5bench puts the directory of the data before a path. */
static char *find_map(const struct tt_h5bench_translation *t, const char *given)
{
    char *found = *given == '/' ? NULL : find_classic(t->directory, given);

    return found ? found : find_classic("", given);
}

/* A map that is not there is made up, in the size that its name says. */
static int make_up_map(struct tt_h5bench_translation *t, const char *key, const char *name,
                       const struct model *model)
{
    uint64_t ranks, columns, levels;

    if (!read_map_name(name, &ranks, &columns, &levels))
        return tt_fail(t->e, TT_USAGE, "%.200s: '%.80s': a size in its name is 0",
                       tt_h5bench_place(t, key), name);
    if (!columns && ranks && ranks != 16 && ranks != model->ranks)
        return tt_fail(t->e, TT_USAGE,
                       "%.200s: '%.80s': only the sizes of the maps for 16 and for %" PRIu64
                       " ranks are known",
                       tt_h5bench_place(t, key), name, model->ranks);
    for (size_t i = 0; !columns && ranks == model->ranks && i < 4; i++)
        if (model->sizes[i].key) {
            char size[32];

            snprintf(size, sizeof size, "climate.%s", model->sizes[i].key);
            tt_h5bench_put(t, key, size, "%" PRIu64, model->sizes[i].value);
        }
    if (columns && model == models) {
        tt_h5bench_put(t, key, "climate.columns", "%" PRIu64, columns);
        tt_h5bench_put(t, key, "climate.levels", "%" PRIu64, levels);
    }
    tt_notice_same(
        "e3sm: '%.80s' is not read: there is no classic NetCDF file of that name (.nc), so "
        "the decomposition of case %s is made up for the ranks of this run",
        name, model->name);
    return TT_OK;
}

static int put_map(struct tt_h5bench_translation *t, const struct e3sm *o)
{
    const char *key = o->map ? "map" : o->netcdf ? "netcdf" : "i";
    const char *given = o->map ? o->map : o->netcdf ? o->netcdf : o->input;
    const char *slash = given ? strrchr(given, '/') : NULL, *name = slash ? slash + 1 : given;
    char *found;
    size_t k = 0;

    if (!given)
        return tt_fail(t->e, TT_USAGE, "%.200s: benchmark 'e3sm' needs 'map', a decomposition",
                       t->b->place);
    while (k < 3 && !strcasestr(name, models[k].word))
        k++;
    if (k == 3)
        return tt_fail(t->e, TT_USAGE,
                       "%.200s: '%.80s' does not say of which case it is: name it f_case, g_case "
                       "or i_case",
                       tt_h5bench_place(t, key), name);
    tt_h5bench_put(t, key, "climate.case", "%s", models[k].name);
    if (o->fill && k == 2)
        tt_h5bench_put(t, "u", "climate.fill", "yes");
    found = find_map(t, given);
    if (!found)
        return make_up_map(t, key, name, &models[k]);
    tt_h5bench_put(t, key, "climate.map", "%s", found);
    free(found);
    return TT_OK;
}

/* F's h0 and I's h1 have one. */
static bool has_records(const struct tt_h5bench_translation *t, const struct e3sm *o)
{
    const char *model = tt_settings_find(&t->b->settings, "climate.case")->value;

    return strcmp(histories[o->files], *model == 'F' ? "0" : "1") != 0 || *model == 'G';
}

/* Blobs and logs are written when the file is closed, whatever y says. */
static int put_records(struct tt_h5bench_translation *t, const struct e3sm *o)
{
    bool at_end = strcmp(strategies[o->strategy], "canonical") != 0 || !strcmp(o->flush, "-1");
    char *end;
    unsigned long long flush = at_end ? o->records : strtoull(o->flush, &end, 10);

    if (!at_end && (*end || flush < 1))
        return tt_fail(t->e, TT_USAGE, "%.200s: y: '%.40s' is not a number of records, or -1",
                       tt_h5bench_place(t, "y"), o->flush);
    if (has_records(t, o) && o->records % flush != 0)
        return tt_fail(t->e, TT_USAGE,
                       "%.200s: y: %llu does not divide the %" PRIu64 " records of r; give a "
                       "number that does, or -1 for all of them at once",
                       tt_h5bench_place(t, "y"), flush, o->records);
    if (has_records(t, o)) {
        tt_h5bench_put(t, "r", "climate.records", "%" PRIu64, o->records);
        tt_h5bench_put(t, "y", "climate.flush", "%llu", flush);
    }
    return TT_OK;
}

/* The number of subfiles, which in the original only logs have. */
static int check_subfiles(struct tt_h5bench_translation *t, const struct e3sm *o, bool is_log)
{
    char *end;
    long n = strtol(o->subfiles, &end, 10);

    if (*end || n < -1 || n > INT32_MAX)
        return tt_fail(t->e, TT_USAGE, "%.200s: g: '%.40s' is not a number of subfiles, or -1",
                       tt_h5bench_place(t, "g"), o->subfiles);
    if (is_log && (n < 0 || n > 1))
        return refuse(t, "g: the layer log has no subfiles");
    if (!is_log && n != 0)
        tt_notice_same(
            "e3sm: g has no effect: in E3SM-IO only logs have subfiles; --layers subfile "
            "makes some");
    return TT_OK;
}

static int put_history(struct tt_h5bench_translation *t, const struct e3sm *o)
{
    static const char *const files[] = {"both", "h0", "h1"};
    const struct tt_setting *model = tt_settings_find(&t->b->settings, "climate.case");
    bool is_log =
        !strcmp(libraries[o->library], "hdf5_log") || !strcmp(strategies[o->strategy], "log");

    tt_h5bench_put(t, "x", "climate.layout", "%s",
                   is_log || o->strategy == 1 ? "canonical" : "blob");
    if (is_log)
        tt_h5bench_put(t, "x", "layers", "log");
    if (strcmp(model->value, "G") != 0) { /* which has one, of doubles */
        tt_h5bench_put(t, "f", "climate.files", "%s", files[o->files]);
        tt_h5bench_put(t, "j", "climate.type", "%s", o->is_float ? "float" : "double");
    }
    tt_h5bench_put(t, "q", "climate.sorted", "%s", o->unsorted ? "no" : "yes");
    tt_h5bench_put(t, "m", "climate.memory", "%s", o->noncontiguous ? "interleaved" : "contiguous");
    tt_h5bench_put(t, "t", "climate.pause", "%.9gs", o->pause);
    tt_h5bench_put(t, "file", "climate.path", "%s", t->b->file);
    t->b->keeps = o->keep;
    if (o->stride > 1 || o->factor > 1)
        return refuse(t, o->factor > 1 ? "e: the size is that of the map" : "s: every rank writes");
    return check_subfiles(t, o, is_log);
}

int tt_h5bench_translate_e3sm(struct tt_h5bench_translation *t)
{
    struct e3sm o = {0};
    int rc = tt_h5bench_read_given(t->keys, e3sm_params, &o, t->e);

    t->b->workload = "climate";
    if (rc == TT_OK)
        rc = put_map(t, &o);
    if (rc == TT_OK)
        rc = put_records(t, &o);
    if (rc == TT_OK) {
        put_common(t, false);
        rc = put_history(t, &o);
    }
    tt_params_free(e3sm_params, &o);
    return rc == TT_OK ? tt_settings_check(&t->b->settings, t->e) : rc;
}

/* ---- macsio ---- */

static const char *const meshes[] = {"rectilinear", NULL};
static const char *const macsio_others[] = {"units_prefix_system",
                                            "mesh_decomp",
                                            "part_mesh_dims",
                                            "part_map",
                                            "topology_change_probability",
                                            "meta_type",
                                            "meta_size",
                                            "max_dir_size",
                                            "debug_level",
                                            "log_line_cnt",
                                            "log_line_length",
                                            "alignment",
                                            "fileext",
                                            "read_path",
                                            "num_loads",
                                            "no_validate_read",
                                            "read_mesh",
                                            "read_vars",
                                            "time_randomize",
                                            NULL};

struct macsio {
    uint64_t part_size, variables, dims, dumps, intensity;
    double parts, growth, compute;
    int mesh;
    char *mode, *interface, *filebase, *log, *timings;
};

#define AT(member) offsetof(struct macsio, member)
static const struct tt_param macsio_params[] = {
    {"parallel_file_mode", TT_PARAM_TEXT, AT(mode), "MIF 4"},
    {"part_size", TT_PARAM_BYTES, AT(part_size), "80000", NULL, NULL, 8, INT64_C(1) << 40},
    {"avg_num_parts", TT_PARAM_REAL, AT(parts), "1", NULL, NULL, 1, 100000},
    {"vars_per_part", TT_PARAM_COUNT, AT(variables), "20", NULL, NULL, 1, 10000},
    {"part_dim", TT_PARAM_COUNT, AT(dims), "2", NULL, NULL, 1, 3},
    {"part_type", TT_PARAM_CHOICE, AT(mesh), "rectilinear", .choices = meshes},
    {"num_dumps", TT_PARAM_COUNT, AT(dumps), "10", NULL, NULL, 1, 999999},
    {"dataset_growth", TT_PARAM_REAL, AT(growth), "1", NULL, NULL, 0, 1000},
    {"compute_time", TT_PARAM_DURATION, AT(compute), "0", NULL, NULL, 0, 1000000},
    {"compute_work_intensity", TT_PARAM_COUNT, AT(intensity), "1", NULL, NULL, 1, 3},
    {"interface", TT_PARAM_TEXT, AT(interface), NULL},
    {"filebase", TT_PARAM_TEXT, AT(filebase), NULL},
    {"log_file_name", TT_PARAM_TEXT, AT(log), NULL},
    {"timings_file_name", TT_PARAM_TEXT, AT(timings), NULL},
    {NULL},
};
#undef AT

/* "MIF 8", "MIFFPP" (a file per rank), "SIF" or "SIF 1"; 0 files: one that all ranks share. */
static int read_file_mode(struct tt_h5bench_translation *t, const char *mode, uint64_t *files)
{
    uint64_t ranks = tt_h5bench_ranks(&t->b->settings);
    char word[8] = "", more[2];
    int n = sscanf(mode, "%7s %" SCNu64 " %1s", word, files, more);

    if (!strcmp(word, "SIF") && (n == 1 || (n == 2 && *files == 1))) {
        *files = 0;
        return TT_OK;
    }
    if (!strcmp(word, "MIFFPP") && n == 1) {
        *files = ranks;
        return TT_OK;
    }
    if (strcmp(word, "MIF") != 0 || n != 2 || *files == 0 || *files > UINT32_MAX)
        return tt_fail(t->e, TT_USAGE,
                       "%.200s: parallel_file_mode: '%.40s' is not MIF with a number of files from "
                       "1 on, MIFFPP, or SIF with one file",
                       tt_h5bench_place(t, "parallel_file_mode"), mode);
    if (*files > ranks && ranks > 0) {
        tt_notice_same("macsio: MIF %" PRIu64 " is more files than the %" PRIu64
                       " ranks: every rank has a file of its own",
                       *files, ranks);
        *files = ranks;
    }
    return TT_OK;
}

static void put_parts(struct tt_h5bench_translation *t, const struct macsio *o, uint64_t files)
{
    tt_h5bench_put(t, "parallel_file_mode", "parts.groups", "%" PRIu64, files);
    tt_h5bench_put(t, "part_size", "parts.size", "%" PRIu64, o->part_size);
    tt_h5bench_put(t, "avg_num_parts", "parts.parts", "%.17g", o->parts);
    tt_h5bench_put(t, "vars_per_part", "parts.variables", "%" PRIu64, o->variables);
    tt_h5bench_put(t, "part_dim", "parts.dims", "%" PRIu64, o->dims);
    tt_h5bench_put(t, "num_dumps", "parts.dumps", "%" PRIu64, o->dumps);
    tt_h5bench_put(t, "dataset_growth", "parts.growth", "%.17g", o->growth < 1 ? 1 : o->growth);
    tt_h5bench_put(t, "compute_time", "parts.pause", "%.9gs", o->compute);
    tt_h5bench_put(t, "file", "parts.path", "%s", t->b->file);
    put_common(t, false);
    if (t->is_hdf5 && files > 0) /* one rank at a time */
        tt_h5bench_put(t, "parallel_file_mode", "hdf5.method", "independent");
    if (o->intensity > 1)
        tt_notice_same("macsio: compute_work_intensity has no effect: ranks sleep for "
                       "compute_time; --pause 0 --compute TIME really computes");
}

/* h5bench passes any option on. Of one that has no counterpart here nothing can be run. */
static int refuse_options(struct tt_h5bench_translation *t)
{
    for (size_t i = 0; i < t->keys->n && !t->b->reason; i++) {
        const struct tt_setting *s = &t->keys->list[i];

        if (*s->value && tt_has_word(macsio_others, s->key) &&
            asprintf(&t->b->reason, "%s: an option of MACSio without counterpart", s->key) < 0) {
            t->b->reason = NULL;
            return tt_fail_nomem(t->e, "a reason");
        }
    }
    return TT_OK;
}

int tt_h5bench_translate_macsio(struct tt_h5bench_translation *t)
{
    struct macsio o = {0};
    uint64_t files = 0;
    int rc = refuse_options(t);

    if (rc != TT_OK || t->b->reason)
        return rc;
    t->b->workload = "parts";
    rc = tt_h5bench_read_given(t->keys, macsio_params, &o, t->e);
    if (rc == TT_OK)
        rc = read_file_mode(t, o.mode, &files);
    if (rc == TT_OK)
        put_parts(t, &o, files);
    tt_params_free(macsio_params, &o);
    return rc == TT_OK ? tt_settings_check(&t->b->settings, t->e) : rc;
}
