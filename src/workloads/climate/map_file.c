/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decompositions of a real run, as E3SM's I/O benchmark keeps them: a classic NetCDF file (CDF-1, 2
 * or 5), of which only what is needed is read. The header is a list of dimensions, one of
 * attributes and one of variables, in big-endian words; a map k has the attribute Dk.dims, and the
 * variables Dk.nreqs and Dk.fill_starts with a number for each process, and Dk.offsets and
 * Dk.lengths with a request each, process by process. Requests from fill_starts on only fill holes.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mix.h"
#include "base/sys.h"
#include "workloads/climate/climate.h"

#define MOST_HEADER (UINT64_C(1) << 20)
#define MOST_PROCESSES (UINT64_C(1) << 24)
enum { DIMENSIONS = 10, VARIABLES = 11, ATTRIBUTES = 12, INT = 4 };

enum column { NREQS, FILLS, OFFSETS, LENGTHS, NCOLUMNS };
static const char *const columns[NCOLUMNS] = {"nreqs", "fill_starts", "offsets", "lengths"};

struct tt_climate_map_file {
    int fd;
    const char *path;
    uint64_t nmaps, nprocesses;
    uint64_t dims[TT_CLIMATE_MAPS][3];
    unsigned ndims[TT_CLIMATE_MAPS];
    struct {
        uint64_t begin, n; /* bytes from the start of the file, and numbers; 0: it is not there */
    } columns[TT_CLIMATE_MAPS][NCOLUMNS];
};

/* ---- the header ---- */

struct header {
    const unsigned char *bytes;
    uint64_t size, at;
    int version;
    bool wrong; /* it ended early, or a number in it cannot be */
};

static uint64_t take(struct header *h, unsigned bytes)
{
    uint64_t value = 0;

    h->wrong |= bytes > h->size - h->at;
    for (unsigned i = 0; i < bytes && !h->wrong; i++)
        value = value << 8 | h->bytes[h->at++];
    return value;
}

static uint64_t take_count(struct header *h)
{
    return take(h, h->version == 5 ? 8 : 4);
}

static void skip(struct header *h, uint64_t bytes)
{
    bytes = bytes <= h->size ? (bytes + 3) / 4 * 4 : UINT64_MAX;
    h->wrong |= bytes > h->size - h->at;
    h->at += h->wrong ? 0 : bytes;
}

/* As much of it as matters here; names of maps are short. */
static void take_name(struct header *h, char name[32])
{
    uint64_t length = take_count(h), from = h->at;

    skip(h, length);
    snprintf(name, 32, "%.*s", h->wrong || length > 31 ? 0 : (int)length,
             (const char *)h->bytes + from);
}

/* The number of entries in a list of that kind. */
static uint64_t take_list(struct header *h, uint64_t kind)
{
    uint64_t found = take(h, 4), n = take_count(h);

    h->wrong |= found != kind && (found || n);
    return h->wrong ? 0 : n;
}

static uint64_t size_of(uint64_t type)
{
    static const unsigned char sizes[] = {0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8};

    return type < sizeof sizes ? sizes[type] : 0;
}

/* "D3.what" as 2; TT_CLIMATE_MAPS if it is not of a map. */
static unsigned map_of(const char *name, const char **what)
{
    unsigned k =
        name[0] == 'D' && name[1] && name[2] == '.' ? (unsigned)(name[1] - '1') : TT_CLIMATE_MAPS;

    *what = k < TT_CLIMATE_MAPS ? name + 3 : name;
    return k < TT_CLIMATE_MAPS ? k : TT_CLIMATE_MAPS;
}

static void read_attributes(struct header *h, struct tt_climate_map_file *f)
{
    for (uint64_t n = take_list(h, ATTRIBUTES); n > 0 && !h->wrong; n--) {
        char name[32];
        const char *what;
        uint64_t type, count;
        unsigned k;

        take_name(h, name);
        type = take(h, 4);
        count = take_count(h);
        k = map_of(name, &what);
        h->wrong |= !size_of(type) || count > h->size;
        if (f && k < TT_CLIMATE_MAPS && !strcmp(what, "dims") && type == INT && count <= 3) {
            f->ndims[k] = (unsigned)count;
            for (unsigned d = 0; d < count; d++)
                f->dims[k][d] = take(h, 4);
        } else if (!h->wrong) {
            skip(h, count * size_of(type));
        }
    }
}

static void read_variables(struct header *h, struct tt_climate_map_file *f, const uint64_t *lengths,
                           uint64_t ndims)
{
    for (uint64_t n = take_list(h, VARIABLES); n > 0 && !h->wrong; n--) {
        uint64_t dims, id = 0, type, begin;
        char name[32];
        const char *what;
        unsigned k;

        take_name(h, name);
        dims = take_count(h);
        for (uint64_t d = 0; d < dims && !h->wrong; d++)
            id = take_count(h);
        read_attributes(h, NULL);
        type = take(h, 4);
        take_count(h);
        begin = take(h, h->version == 1 ? 4 : 8);
        k = map_of(name, &what);
        for (int c = 0; c < NCOLUMNS && k < TT_CLIMATE_MAPS && !h->wrong; c++)
            if (!strcmp(what, columns[c]) && type == INT && dims == 1 && id < ndims) {
                f->columns[k][c].begin = begin;
                f->columns[k][c].n = lengths[id];
            }
    }
}

static void read_header(struct header *h, struct tt_climate_map_file *f)
{
    uint64_t n, *lengths;

    h->version = h->size > 4 && !memcmp(h->bytes, "CDF", 3) ? h->bytes[3] : 0;
    h->wrong = h->version != 1 && h->version != 2 && h->version != 5;
    h->at = 4;
    take_count(h);
    n = take_list(h, DIMENSIONS);
    h->wrong |= n > h->size;
    lengths = h->wrong ? NULL : calloc(n + 1, sizeof *lengths);
    h->wrong |= !lengths;
    for (uint64_t i = 0; i < n && !h->wrong; i++) {
        char name[32];

        take_name(h, name);
        lengths[i] = take_count(h);
        if (!strcmp(name, "num_decomp"))
            f->nmaps = lengths[i];
        if (!strcmp(name, "decomp_nprocs"))
            f->nprocesses = lengths[i];
    }
    read_attributes(h, f);
    if (!h->wrong)
        read_variables(h, f, lengths, n);
    free(lengths);
}

/* ---- numbers ---- */

static int fail_file(const struct tt_climate_map_file *f, struct tt_error *e, const char *why)
{
    return tt_fail(e, TT_FAILED, "'%.300s' %s", f->path, why);
}

/* n numbers of a column, from the first-th on. */
static int read_numbers(const struct tt_climate_map_file *f, int map, enum column c, uint64_t first,
                        uint64_t n, uint64_t **out, struct tt_error *e)
{
    uint64_t all = f->columns[map][c].n;
    unsigned char *bytes = NULL;
    int rc = TT_OK;
    ssize_t got;

    *out = NULL;
    if (first > all || n > all - first)
        return tt_fail(e, TT_FAILED, "'%.300s': D%d.%s has %" PRIu64 " numbers, which are too few",
                       f->path, map + 1, columns[c], all);
    *out = malloc((n + 1) * sizeof **out);
    bytes = malloc(n * 4 + 1);
    if (!*out || !bytes)
        rc = tt_fail_nomem(e, "a decomposition");
    if (rc == TT_OK) {
        got = tt_sys_read_at(f->fd, bytes, n * 4, (off_t)(f->columns[map][c].begin + first * 4));
        if (got < 0)
            rc = tt_fail_call(e, errno, "read", f->path, -1);
        else if ((uint64_t)got < n * 4)
            rc = tt_fail(e, TT_FAILED, "'%.300s' is cut short: D%d.%s is not all there", f->path,
                         map + 1, columns[c]);
    }
    for (uint64_t i = 0; rc == TT_OK && i < n; i++)
        (*out)[i] = (uint64_t)bytes[4 * i] << 24 | (uint64_t)bytes[4 * i + 1] << 16 |
                    (uint64_t)bytes[4 * i + 2] << 8 | bytes[4 * i + 3];
    free(bytes);
    return rc;
}

/* ---- a file ---- */

/* The sizes of the case in its maps. */
static int take_sizes(const struct tt_climate_map_file *f, struct tt_climate_options *o,
                      struct tt_error *e)
{
    static const char *const cases = "FGI";

    if (f->nmaps != (uint64_t)tt_climate_nmaps(o))
        return tt_fail(e, TT_USAGE,
                       "climate.map: '%.300s' has %" PRIu64
                       " decompositions, but case %c has %d; give "
                       "climate.case the case of the file",
                       f->path, f->nmaps, cases[o->which], tt_climate_nmaps(o));
    if (o->which == TT_CLIMATE_F) {
        o->columns = f->dims[0][0];
        o->levels = f->dims[2][0];
    } else if (o->which == TT_CLIMATE_G) {
        o->cells = f->dims[0][0];
        o->edges = f->dims[1][0];
        o->vertices = f->dims[4][0];
        o->levels = f->dims[2][1];
    } else {
        o->latitudes = f->dims[0][0];
        o->longitudes = f->dims[0][1];
    }
    return TT_OK;
}

static int check_dims(const struct tt_climate_map_file *f, const struct tt_climate_mesh *m,
                      struct tt_error *e)
{
    for (int k = 0; k < (int)f->nmaps; k++) {
        uint64_t dims[3];
        double size = 1;
        int n = tt_climate_map_dims(m, k, dims);

        for (int d = 0; d < n; d++)
            size *= (double)dims[d];
        if ((int)f->ndims[k] != n || memcmp(f->dims[k], dims, (size_t)n * sizeof *dims) != 0 ||
            !(size >= 1 && size <= 0x1p40))
            return tt_fail(
                e, TT_USAGE,
                "climate.map: in '%.300s' D%d.dims is not what the case and the other maps "
                "make of it",
                f->path, k + 1);
    }
    return TT_OK;
}

int tt_climate_map_file_open(struct tt_climate_mesh *m, const struct tt_climate_options *o,
                             struct tt_error *e)
{
    struct tt_climate_map_file *f = calloc(1, sizeof *f);
    struct header h = {0};
    unsigned char *bytes = malloc(MOST_HEADER);
    ssize_t got;
    int rc = TT_OK;

    m->file = f;
    if (f)
        f->fd = -1;
    if (!f || !bytes) {
        free(bytes);
        return tt_fail_nomem(e, "a decomposition");
    }
    f->path = o->map;
    f->fd = open(o->map, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    got = f->fd < 0 ? -1 : pread(f->fd, bytes, MOST_HEADER, 0);
    if (got < 0)
        rc = tt_fail_call(e, errno, f->fd < 0 ? "open" : "read", o->map, -1);
    h.bytes = bytes;
    h.size = got > 0 ? (uint64_t)got : 0;
    if (rc == TT_OK)
        read_header(&h, f);
    if (rc == TT_OK && (h.wrong || f->nprocesses == 0 || f->nprocesses > MOST_PROCESSES))
        rc = fail_file(f, e,
                       "is not a classic NetCDF file with decompositions of E3SM; of another "
                       "format, nccopy makes one");
    free(bytes);
    m->sizes = *o;
    m->options = &m->sizes;
    if (rc == TT_OK)
        rc = take_sizes(f, &m->sizes, e);
    if (rc == TT_OK) {
        m->levels = m->sizes.levels;
        rc = check_dims(f, m, e);
    }
    if (rc == TT_OK)
        rc = tt_climate_check_size(m->options, e);
    return rc;
}

void tt_climate_map_file_close(struct tt_climate_map_file *f)
{
    if (f && f->fd >= 0)
        close(f->fd);
    free(f);
}

/* Requests of some processes, one after the other, from the first-th of all. */
static int list_requests(const struct tt_climate_mesh *m, int map, uint64_t first, uint64_t n,
                         const uint64_t *nreqs, const uint64_t *fills, struct tt_climate_map *out,
                         struct tt_error *e)
{
    const struct tt_climate_map_file *f = m->file;
    uint64_t *offsets, *lengths = NULL, all = 0, size = 1, dims[3], i = 0;
    int rc;

    for (int d = tt_climate_map_dims(m, map, dims); d-- > 0;)
        size *= dims[d];
    for (uint64_t p = 0; p < n; p++)
        all += nreqs[p];
    rc = read_numbers(f, map, OFFSETS, first, all, &offsets, e);
    if (rc == TT_OK)
        rc = read_numbers(f, map, LENGTHS, first, all, &lengths, e);
    for (uint64_t p = 0; p < n && rc == TT_OK; p++)
        for (uint64_t k = 0; k < nreqs[p] && rc == TT_OK; k++, i++) {
            if (lengths[i] == 0 || offsets[i] >= size || lengths[i] > size - offsets[i])
                rc =
                    tt_fail(e, TT_FAILED,
                            "'%.300s': request %" PRIu64 " of D%d, elements %" PRIu64 " to %" PRIu64
                            ", is not in its array of %" PRIu64,
                            f->path, first + i, map + 1, offsets[i], offsets[i] + lengths[i], size);
            else if (k < fills[p] || m->options->fill)
                rc = tt_climate_map_add(out, offsets[i], lengths[i], e);
            out->listed += lengths[i];
            out->ends += tt_mix(offsets[i]) - tt_mix(offsets[i] + lengths[i]);
        }
    free(offsets);
    free(lengths);
    return rc;
}

int tt_climate_map_file_list(const struct tt_climate_mesh *m, int map, uint64_t rank,
                             struct tt_climate_map *out, struct tt_error *e)
{
    const struct tt_climate_map_file *f = m->file;
    uint64_t from = f->nprocesses * rank / m->ranks, to = f->nprocesses * (rank + 1) / m->ranks;
    uint64_t *nreqs, *fills = NULL, first = 0;
    int rc = read_numbers(f, map, NREQS, 0, to, &nreqs, e);

    if (rc == TT_OK)
        rc = read_numbers(f, map, FILLS, from, to - from, &fills, e);
    for (uint64_t p = 0; rc == TT_OK && p < from; p++)
        first += nreqs[p];
    if (rc == TT_OK)
        rc = list_requests(m, map, first, to - from, nreqs + from, fills, out, e);
    free(nreqs);
    free(fills);
    return rc;
}

static int fail_overlap(const struct tt_climate_mesh *m, int map, struct tt_error *e)
{
    return tt_fail(e, TT_FAILED,
                   "climate.map: D%d of '%.300s' does not tile its array: some requests overlap",
                   map + 1, m->options->map);
}

/* All requests of the file that are made, one after the other by place. */
static int check_overlap(const struct tt_climate_mesh *m, int map, struct tt_error *e)
{
    struct tt_climate_options sorted = *m->options;
    struct tt_climate_mesh alone = *m; /* one rank, which has all of them */
    struct tt_climate_map all;
    uint64_t end = 0;
    int rc;

    sorted.sorted = true;
    alone.options = &sorted;
    alone.ranks = 1;
    rc = tt_climate_map_make(&all, &alone, map, 0, e);
    for (size_t i = 0; rc == TT_OK && i < all.nruns; i++) {
        if (all.runs[i].start < end)
            rc = fail_overlap(m, map, e);
        end = all.runs[i].start + all.runs[i].length;
    }
    tt_climate_map_free(&all);
    return rc;
}

/* Every element has one owner. Where one request ends and the next begins the sum of ends does not
 * change. The land of the I case leaves holes, which the file gives to somebody as well, or to
 * nobody; then the sum tells nothing. */
int tt_climate_map_file_check(const struct tt_climate_mesh *m, int map, const uint64_t sums[3],
                              bool looks, struct tt_error *e)
{
    bool land = m->options->which == TT_CLIMATE_I, holes = land && sums[1] == sums[0];
    uint64_t elements = land ? sums[1] : sums[0], size = 1, dims[3];

    for (int d = tt_climate_map_dims(m, map, dims); d-- > 0;)
        size *= dims[d];
    holes = holes && !m->options->fill;
    if (holes ? elements > size : elements != size)
        return tt_fail(e, TT_FAILED,
                       "climate.map: D%d of '%.300s' does not tile its array: its requests have "
                       "%" PRIu64 " of %" PRIu64 " elements",
                       map + 1, m->options->map, elements, size);
    if (holes)
        return looks ? check_overlap(m, map, e) : TT_OK;
    return sums[2] == tt_mix(0) - tt_mix(size) ? TT_OK : fail_overlap(m, map, e);
}
