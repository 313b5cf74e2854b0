/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HDF5's filters: by name where it is common, by number in any case. Those that HDF5 does not have
 * itself come from plug-ins in the directories of HDF5_PLUGIN_PATH. */
#include "io/backends/hdf5/parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/notice.h"

enum { ZFP = 32013, ZFP_REVERSIBLE = 5 };

/* The names and numbers that the HDF Group has registered. Parameters are as the filter takes them;
 * those of defaults are passed where none are given. */
static const struct known_filter {
    const char *name;
    H5Z_filter_t number;
    unsigned least, most; /* parameters */
    bool keeps;           /* every value */
    unsigned ndefaults, defaults[2];
} known[] = {
    {"deflate", H5Z_FILTER_DEFLATE, 1, 1, true, 1, {6}}, /* zlib's own default */
    {"shuffle", H5Z_FILTER_SHUFFLE, 0, 0, true},
    {"fletcher32", H5Z_FILTER_FLETCHER32, 0, 0, true},
    {"szip", H5Z_FILTER_SZIP, 2, 2, true, 2, {H5_SZIP_NN_OPTION_MASK, 32}},
    {"nbit", H5Z_FILTER_NBIT, 0, 0, true},
    {"scaleoffset", H5Z_FILTER_SCALEOFFSET, 2, 2, false},
    {"bzip2", 307, 1, 1, true, 1, {9}},
    {"lzf", 32000, 0, 0, true},
    {"blosc", 32001, 0, 7, true},
    {"lz4", 32004, 0, 1, true},
    {"bitshuffle", 32008, 0, 5, true},
    {"zfp", ZFP, 0, 6, false}, /* unless it is reversible */
    {"zstd", 32015, 0, 1, true},
    {"sz3", 32024, 0, HDF5_FILTER_VALUES, false},
};

static const struct known_filter *find_known(const struct hdf5_filter *f)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].number == f->number)
            return &known[i];
    return NULL;
}

/* Up to the next colon; false: it is not a number of at most 32 bits. */
static bool take_number(const char **at, unsigned *out)
{
    char *end;
    unsigned long value = strtoul(*at, &end, 10);

    if (**at < '0' || **at > '9' || (*end && *end != ':') || value > UINT32_MAX)
        return false;
    *at = *end ? end + 1 : end;
    *out = (unsigned)value;
    return end[0] != ':' || end[1]; /* a colon at the end announces one more */
}

static int take_name(const char *word, size_t length, struct hdf5_filter *f, struct tt_error *e)
{
    const char *at = f->name;
    unsigned number;

    snprintf(f->name, sizeof f->name, "%.*s", (int)length, word);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, f->name))
            f->number = known[i].number;
    if (f->number)
        return TT_OK;
    if (take_number(&at, &number) && !*at && number >= 1 && number <= H5Z_FILTER_MAX) {
        f->number = (H5Z_filter_t)number;
        return TT_OK;
    }
    return tt_fail(e, TT_USAGE,
                   "hdf5.filter: '%.80s' is neither a filter's name nor its number, 1 to %d%s",
                   word, H5Z_FILTER_MAX, TT_DID_YOU_MEAN(TT_NEAREST_ROW(f->name, known)));
}

/* Values that HDF5 takes at first, and fails or crashes with when data comes. */
static int check_values(const struct hdf5_filter *f, struct tt_error *e)
{
    const unsigned *v = f->values;

    if (f->number == H5Z_FILTER_DEFLATE && v[0] > 9)
        return tt_fail(e, TT_USAGE, "hdf5.filter: deflate has the levels 0 to 9, not %u", v[0]);
    if (f->number == H5Z_FILTER_SZIP &&
        ((v[0] != H5_SZIP_EC_OPTION_MASK && v[0] != H5_SZIP_NN_OPTION_MASK) || v[1] < 2 ||
         v[1] > H5_SZIP_MAX_PIXELS_PER_BLOCK || v[1] % 2))
        return tt_fail(e, TT_USAGE,
                       "hdf5.filter: szip takes %d (EC) or %d (NN) and an even number of pixels "
                       "from 2 to %d, not %u:%u",
                       H5_SZIP_EC_OPTION_MASK, H5_SZIP_NN_OPTION_MASK, H5_SZIP_MAX_PIXELS_PER_BLOCK,
                       v[0], v[1]);
    if (f->number == H5Z_FILTER_SCALEOFFSET &&
        ((v[0] != H5Z_SO_FLOAT_DSCALE && v[0] != H5Z_SO_INT) || v[1] > 64))
        return tt_fail(e, TT_USAGE,
                       "hdf5.filter: scaleoffset takes %d (real numbers, then decimal places) or "
                       "%d (integers, then bits), and at most 64, not %u:%u",
                       H5Z_SO_FLOAT_DSCALE, H5Z_SO_INT, v[0], v[1]);
    return TT_OK;
}

int tt_hdf5_filter_read(const char *word, struct hdf5_filter *f, struct tt_error *e)
{
    size_t length = strcspn(word, ":");
    const char *at = word + length + (word[length] == ':');
    const struct known_filter *k;

    *f = (struct hdf5_filter){0};
    if (take_name(word, length, f, e) != TT_OK)
        return e->code;
    k = find_known(f);
    if (k && !word[length] && k->ndefaults) {
        f->n = k->ndefaults;
        memcpy(f->values, k->defaults, sizeof k->defaults);
    }
    if (word[length] && !*at)
        return tt_fail(e, TT_USAGE, "hdf5.filter: '%.80s' lacks the number behind ':'", word);
    while (*at) {
        if (f->n == HDF5_FILTER_VALUES)
            return tt_fail(e, TT_USAGE, "hdf5.filter: '%.80s' has more than %d parameters", word,
                           HDF5_FILTER_VALUES);
        if (!take_number(&at, &f->values[f->n++]))
            return tt_fail(e, TT_USAGE,
                           "hdf5.filter: parameters of '%.80s' are not whole numbers of 32 bits; "
                           "write them as %s:1:2",
                           word, f->name);
    }
    if (k && (f->n < k->least || f->n > k->most))
        return tt_fail(e, TT_USAGE, "hdf5.filter: %s takes %s%u parameter%s, not %u", f->name,
                       k->least < k->most ? "at most " : "", k->most, k->most == 1 ? "" : "s",
                       f->n);
    return check_values(f, e);
}

int tt_hdf5_filters_check(const struct hdf5_opts *o, struct tt_error *e)
{
    struct hdf5_filter f[2];

    if (o->filter.n > HDF5_FILTERS)
        return tt_fail(e, TT_USAGE, "hdf5.filter: %zu filters are too many: at most %d",
                       o->filter.n, HDF5_FILTERS);
    for (size_t i = 0; i < o->filter.n; i++) {
        if (tt_hdf5_filter_read(o->filter.words[i], &f[0], e) != TT_OK)
            return e->code;
        for (size_t k = 0; k < i; k++)
            if (tt_hdf5_filter_read(o->filter.words[k], &f[1], e) == TT_OK &&
                f[0].number == f[1].number)
                return tt_fail(e, TT_USAGE, "hdf5.filter: %s is given twice", f[0].name);
    }
    if (o->filter.n > 0 && !o->method)
        return tt_fail(e, TT_USAGE,
                       "hdf5.filter needs hdf5.method=collective: ranks share filtered chunks");
    return TT_OK;
}

double tt_hdf5_filters_loss(const void *opts)
{
    const struct hdf5_opts *o = opts;
    struct tt_error ignored = TT_ERROR_CLEAR;
    struct hdf5_filter f;
    bool loses = false;

    /* Nobody knows what a filter that is not in the table does. */
    for (size_t i = 0; i < o->filter.n; i++)
        if (tt_hdf5_filter_read(o->filter.words[i], &f, &ignored) == TT_OK) {
            const struct known_filter *k = find_known(&f);
            bool reversible = f.number == ZFP && f.n > 0 && f.values[0] == ZFP_REVERSIBLE;

            loses |= !(k && k->keeps) && !reversible;
        }
    return loses ? INFINITY : 0;
}

/* Some libraries have a filter only to read what it has written. */
static bool can_write(H5Z_filter_t number)
{
    unsigned flags = 0;

    return H5Zfilter_avail(number) > 0 && H5Zget_filter_info(number, &flags) >= 0 &&
           flags & H5Z_FILTER_CONFIG_ENCODE_ENABLED;
}

int tt_hdf5_filters_choose(struct tt_file *file, struct tt_error *e)
{
    static bool told; /* of the process, as its stderr is: a run may have a file for every step */
    const struct hdf5_opts *o = file->opts;
    struct hdf5_state *s = file->state;
    int missing[HDF5_FILTERS] = {0};

    for (size_t i = 0; i < o->filter.n; i++) {
        if (tt_hdf5_filter_read(o->filter.words[i], &s->filters[i], e) != TT_OK)
            return e->code;
        missing[i] = !can_write(s->filters[i].number);
    }
    H5Eclear2(H5E_DEFAULT);
    if (o->filter.n == 0 || file->spec->access != TT_CREATE)
        return TT_OK;
    tt_file_max(file, HDF5_FILTERS, missing);
    for (size_t i = 0; i < o->filter.n; i++) {
        s->filters[i].missing = missing[i];
        if (missing[i] && file->rank == 0 && !told)
            tt_notice("hdf5.filter: HDF5 cannot write with filter %s (number %d), so the run goes "
                      "without it; is its plug-in in a directory of HDF5_PLUGIN_PATH?",
                      s->filters[i].name, (int)s->filters[i].number);
    }
    told = true;
    return TT_OK;
}

bool tt_hdf5_is_filtered(const struct tt_file *file)
{
    const struct hdf5_opts *o = file->opts;
    const struct hdf5_state *s = file->state;
    bool any = false;

    for (size_t i = 0; i < o->filter.n; i++)
        any |= !s->filters[i].missing;
    return any;
}

/* Optional, as HDF5's own calls set all but the checksum: a chunk that a filter cannot pack is
 * stored as it is. */
int tt_hdf5_filters_set(const struct tt_file *file, const char *variable, hid_t properties,
                        struct tt_error *e)
{
    const struct hdf5_opts *o = file->opts;
    const struct hdf5_state *s = file->state;

    for (size_t i = 0; i < o->filter.n; i++) {
        const struct hdf5_filter *f = &s->filters[i];
        unsigned flags =
            f->number == H5Z_FILTER_FLETCHER32 ? H5Z_FLAG_MANDATORY : H5Z_FLAG_OPTIONAL;

        herr_t set = f->missing ? 0
                     : f->number == H5Z_FILTER_SZIP /* which adds what its files must have */
                         ? H5Pset_szip(properties, f->values[0], f->values[1])
                         : H5Pset_filter(properties, f->number, flags, f->n, f->values);

        if (set < 0)
            return tt_hdf5_fail(file, "H5Pset_filter", variable, e);
    }
    return TT_OK;
}
