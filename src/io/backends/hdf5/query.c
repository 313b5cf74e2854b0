/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings as given, as HDF5 and MPI report them, and as the file proves them. */
#include "io/backends/hdf5/parts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The text of a fact, cut to its size. */
struct words {
    char text[96];
};

static struct words words(const char *format, ...) __attribute__((format(printf, 1, 2)));

static struct words words(const char *format, ...)
{
    struct words w;
    va_list args;

    va_start(args, format);
    vsnprintf(w.text, sizeof w.text, format, args);
    va_end(args);
    return w;
}

static struct words list(size_t n, const hsize_t *values)
{
    struct words w = {""};
    size_t used = 0;

    for (size_t i = 0; i < n && used < sizeof w.text; i++)
        used += (size_t)snprintf(w.text + used, sizeof w.text - used, "%s%" PRIu64, i ? ":" : "",
                                 (uint64_t)values[i]);
    return w;
}

static const struct {
    uint32_t bit;
    const char *why;
} causes[] = {
    {H5D_MPIO_DATATYPE_CONVERSION, "types are converted"},
    {H5D_MPIO_DATA_TRANSFORMS, "data is transformed"},
    {H5D_MPIO_MPI_OPT_TYPES_ENV_VAR_DISABLED, "HDF5_MPI_OPT_TYPES is off"},
    {H5D_MPIO_NOT_SIMPLE_OR_SCALAR_DATASPACES, "a dataspace is not simple"},
    {H5D_MPIO_NOT_CONTIGUOUS_OR_CHUNKED_DATASET, "a dataset is neither contiguous nor chunked"},
};

static const char *cause_in_words(uint32_t bits)
{
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        if (bits & causes[i].bit)
            return causes[i].why;
    return "HDF5 gives another cause";
}

/* Facts so far; after the first that found no memory no more are added. */
struct query {
    struct tt_file *file;
    const struct hdf5_opts *opts;
    const struct hdf5_state *state;
    hid_t access;
    struct tt_facts *facts;
    int rc;
};

static void add(struct query *q, const char *key, const char *given, const char *read_back,
                enum tt_proof proof, const char *how)
{
    if (q->rc == TT_OK)
        q->rc = tt_facts_add(q->facts, key, given, read_back, proof, how);
}

/* Collective, since a rank may not have seen what another has. */
static void query_method(struct query *q)
{
    static const char key[] = "hdf5.method";
    const struct hdf5_state *s = q->state;
    uint32_t seen[4] = {s->container.transfers > 0, s->modes, s->causes, s->went_on > 0};
    bool really;

    MPI_Allreduce(MPI_IN_PLACE, seen, 4, MPI_UINT32_T, MPI_BOR, q->file->spec->comm);
    really = seen[1] & (H5D_MPIO_CHUNK_COLLECTIVE | H5D_MPIO_CONTIGUOUS_COLLECTIVE);
    if (!q->opts->method)
        add(q, key, "independent", "independent", seen[0] ? TT_IN_EFFECT : TT_UNCONFIRMED,
            "every rank transfers alone");
    else if (!seen[0])
        add(q, key, "collective", NULL, TT_UNCONFIRMED, "nothing was transferred");
    else if (seen[3])
        add(q, key, "collective", NULL, TT_UNCONFIRMED,
            "HDF5 does not say how asynchronous transfers were made");
    else if (really && !(seen[1] & H5D_MPIO_CHUNK_INDEPENDENT) && !seen[2])
        add(q, key, "collective", "collective", TT_IN_EFFECT,
            "H5Pget_mpio_actual_io_mode after every transfer");
    else
        add(q, key, "collective", really ? "mixed" : "independent", TT_NO_EFFECT,
            seen[2] ? cause_in_words(seen[2]) : "HDF5 chose independent for chunks");
}

/* Of the first variable with as many dimensions as the setting has, if its dataset is open. */
static void query_chunk(struct query *q)
{
    const struct tt_file_spec *spec = q->file->spec;
    const struct tt_counts *wish = &q->opts->chunk;
    hsize_t chunk[H5S_MAX_RANK], given[H5S_MAX_RANK];
    hid_t dataset = -1, properties;
    int lead = 0, n = -1;
    bool same;

    if (wish->n == 0)
        return;
    for (size_t i = 0; i < wish->n; i++)
        given[i] = wish->values[i];
    for (unsigned i = 0; dataset < 0 && i < spec->nvariables; i++)
        if ((size_t)spec->variables[i].ndims == wish->n) {
            lead = tt_container_has_step(spec, &spec->variables[i]);
            dataset = q->state->slots[i].dataset;
        }
    properties = dataset >= 0 ? H5Dget_create_plist(dataset) : -1;
    if (properties >= 0) {
        if (H5Pget_layout(properties) == H5D_CHUNKED)
            n = H5Pget_chunk(properties, H5S_MAX_RANK, chunk);
        H5Pclose(properties);
    }
    if (n < 0) {
        add(q, "hdf5.chunk", list(wish->n, given).text, NULL,
            dataset >= 0 ? TT_NO_EFFECT : TT_UNCONFIRMED,
            dataset >= 0 ? "the dataset is contiguous" : "no dataset is open");
        return;
    }
    same = memcmp(chunk + lead, given, wish->n * sizeof *given) == 0;
    add(q, "hdf5.chunk", list(wish->n, given).text, list((size_t)(n - lead), chunk + lead).text,
        same ? TT_IN_EFFECT : TT_NO_EFFECT,
        same ? "H5Pget_chunk of the dataset" : "cut to the variable's dimensions");
}

/* A filter of a dataset as it has it; its parameters may be more than were given. skipped is NULL
 * if nobody knows. */
static void query_filter(struct query *q, const struct hdf5_filter *f, const char *given,
                         hid_t properties, const unsigned *skipped)
{
    struct words key = words("hdf5.filter.%s", f->name), back = {""};
    int place = 0, n = properties >= 0 ? H5Pget_nfilters(properties) : 0;
    unsigned values[2 * HDF5_FILTER_VALUES], flags;
    size_t nvalues = sizeof values / sizeof *values;
    hsize_t numbers[2 * HDF5_FILTER_VALUES];

    if (f->missing) {
        add(q, key.text, given, NULL, TT_NO_EFFECT, "HDF5 has no such filter to write with");
        return;
    }
    if (properties < 0) {
        add(q, key.text, given, NULL, TT_UNCONFIRMED, "no dataset is open");
        return;
    }
    for (; place < n; place++, nvalues = sizeof values / sizeof *values)
        if (H5Pget_filter2(properties, (unsigned)place, &flags, &nvalues, values, 0, NULL, NULL) ==
            f->number)
            break;
    /* HDF5 tells how many there are, also if that is more than there was room for. */
    if (nvalues > sizeof values / sizeof *values)
        nvalues = sizeof values / sizeof *values;
    for (size_t i = 0; place < n && i < nvalues; i++)
        numbers[i] = values[i];
    if (place < n)
        back = list(nvalues, numbers);
    if (place == n || (skipped && *skipped >> place & 1))
        add(q, key.text, given, place < n ? back.text : NULL, TT_NO_EFFECT,
            place < n ? "HDF5 stored the first chunk without it" : "the dataset does not have it");
    else
        add(q, key.text, given, back.text, skipped ? TT_IN_EFFECT : TT_UNCONFIRMED,
            skipped ? "H5Pget_filter of the dataset" : "HDF5 does not say how it stored a chunk");
}

/* A bit for each filter that HDF5 left out of the first chunk; false if it does not tell, as where
 * nothing was written. */
static bool find_skipped(const struct hdf5_slot *slot, unsigned *mask)
{
#if H5_VERSION_GE(1, 10, 5)
    hsize_t place[H5S_MAX_RANK], size;
    haddr_t at;

    if (H5Dget_chunk_info(slot->dataset, slot->space, 0, place, mask, &at, &size) >= 0)
        return true;
    H5Eclear2(H5E_DEFAULT);
#else
    (void)slot, (void)mask;
#endif
    return false;
}

/* The filters of the first dataset that is open, and what all that are open gained. */
static void query_filters(struct query *q)
{
    const struct tt_file_spec *spec = q->file->spec;
    const struct hdf5_slot *first = NULL;
    hid_t properties = -1;
    double stored = 0, plain = 0;
    unsigned skipped = 0;
    bool told = false;

    for (unsigned i = 0; i < spec->nvariables; i++) {
        const struct hdf5_slot *slot = &q->state->slots[i];

        if (slot->dataset < 0)
            continue;
        first = first ? first : slot;
        stored += (double)H5Dget_storage_size(slot->dataset);
        plain += (double)H5Sget_simple_extent_npoints(slot->space) *
                 (double)spec->variables[i].element->size;
    }
    if (first) {
        properties = H5Dget_create_plist(first->dataset);
        told = find_skipped(first, &skipped);
    }
    for (size_t i = 0; i < q->opts->filter.n; i++)
        query_filter(q, &q->state->filters[i], q->opts->filter.words[i], properties,
                     told ? &skipped : NULL);
    if (properties >= 0)
        H5Pclose(properties);
    if (q->opts->filter.n > 0 && plain > 0)
        add(q, "hdf5.stored", NULL,
            words("%.0f B, %.3g of the data (ratio %.3g)", stored, stored / plain,
                  stored > 0 ? plain / stored : 0)
                .text,
            TT_IN_EFFECT, "H5Dget_storage_size of the datasets that are open");
}

static void query_delayed_close(struct query *q)
{
    ssize_t open = H5Fget_obj_count(q->state->file, H5F_OBJ_DATASET);

    if (q->opts->delayed_close > 0)
        add(q, "hdf5.delayed_close", words("%" PRIu64, q->opts->delayed_close).text,
            words("%zd datasets open at the end", open).text,
            open > (ssize_t)q->file->spec->nvariables ? TT_IN_EFFECT : TT_NO_EFFECT,
            "H5Fget_obj_count");
}

static void query_alignment(struct query *q)
{
    const struct tt_file_spec *spec = q->file->spec;
    enum tt_proof proof = TT_UNCONFIRMED;
    hsize_t threshold = 0, alignment = 0;

    if (q->opts->alignment == 1)
        return;
    H5Pget_alignment(q->access, &threshold, &alignment);
    for (unsigned i = 0; i < spec->nvariables; i++) {
        hid_t dataset = q->state->slots[i].dataset;
        haddr_t at = dataset < 0 ? HADDR_UNDEF : H5Dget_offset(dataset);

        if (at == HADDR_UNDEF ||
            tt_variable_bytes(&spec->variables[i]) < q->opts->alignment_threshold)
            continue;
        if (at % q->opts->alignment != 0)
            proof = TT_NO_EFFECT;
        else if (proof == TT_UNCONFIRMED)
            proof = TT_IN_EFFECT;
    }
    add(q, "hdf5.alignment", words("%" PRIu64, q->opts->alignment).text,
        words("%" PRIu64, (uint64_t)alignment).text, proof,
        proof == TT_UNCONFIRMED ? "no contiguous dataset reaches the threshold"
                                : "H5Dget_offset of the datasets");
}

static void query_libver(struct query *q)
{
    bool latest = q->opts->libver == 1;
    H5F_info2_t info;

    if (H5Fget_info2(q->state->file, &info) >= 0)
        add(q, "hdf5.libver", latest ? "latest" : "earliest",
            words("superblock version %u", info.super.version).text,
            (info.super.version >= 2) == latest ? TT_IN_EFFECT : TT_NO_EFFECT,
            "the file's superblock");
}

static void query_metadata(struct query *q)
{
    hsize_t block = 0;
    hbool_t collective = 0;
    H5AC_cache_config_t cache = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};

    H5Pget_meta_block_size(q->access, &block);
    H5Pget_coll_metadata_write(q->access, &collective);
    add(q, "hdf5.metadata_block", words("%" PRIu64, q->opts->metadata_block).text,
        words("%" PRIu64, (uint64_t)block).text, TT_UNCONFIRMED, "H5Fget_access_plist");
    add(q, "hdf5.collective_metadata", q->opts->collective_metadata ? "yes" : "no",
        collective ? "yes" : "no", TT_UNCONFIRMED, "H5Fget_access_plist");
    if (q->opts->metadata_cache > 0 && H5Fget_mdc_config(q->state->file, &cache) >= 0)
        add(q, "hdf5.metadata_cache", words("%" PRIu64, q->opts->metadata_cache).text,
            cache.evictions_enabled ? "metadata is evicted" : "no metadata is evicted",
            cache.evictions_enabled ? TT_NO_EFFECT : TT_IN_EFFECT, "H5Fget_mdc_config");
}

/* MPI returns any nonsense it was given, so a hint that comes back proves nothing. */
static void query_hints(struct query *q)
{
    const struct tt_words *hints = &q->opts->hints;
    MPI_Info info = MPI_INFO_NULL;

    if (hints->n == 0 || q->state->handle == MPI_FILE_NULL ||
        MPI_File_get_info(q->state->handle, &info) != MPI_SUCCESS)
        return;
    for (size_t i = 0; i < hints->n; i++) {
        const char *word = hints->words[i], *equals = strchr(word, '=');
        char key[MPI_MAX_INFO_KEY], value[96] = "";
        int found = 0;

        snprintf(key, sizeof key, "%.*s", (int)(equals - word), word);
        MPI_Info_get(info, key, sizeof value - 1, value, &found);
        add(q, words("hdf5.hints.%.40s", key).text, equals + 1, found ? value : NULL,
            TT_UNCONFIRMED, "MPI_File_get_info");
    }
    MPI_Info_free(&info);
}

/* What the file holds beyond the payload: metadata, padding, parts of chunks. Only a flush would
 * tell its final size, and it waits for storage: metadata behind the last data that HDF5 still
 * holds in memory is not counted. */
static void account(struct tt_file *file)
{
    const struct tt_file_spec *spec = file->spec;
    const struct hdf5_state *s = file->state;
    uint64_t payload = 0, steps = spec->policy == TT_OVERWRITE ? 1 : s->container.steps;
    MPI_Offset size = 0;

    if (spec->access != TT_CREATE || file->rank != 0 || s->handle == MPI_FILE_NULL ||
        MPI_File_get_size(s->handle, &size) != MPI_SUCCESS)
        return;
    if (spec->policy == TT_APPEND && spec->steps > steps)
        steps = spec->steps;
    for (unsigned i = 0; i < spec->nvariables; i++)
        payload +=
            tt_variable_bytes(&spec->variables[i]) * (spec->variables[i].per_step ? steps : 1);
    if ((uint64_t)size > payload)
        file->library_bytes[TT_WRITING] = (uint64_t)size - payload;
}

int tt_hdf5_query(struct tt_file *file, struct tt_facts *facts, struct tt_error *e)
{
    const struct hdf5_state *s = file->state;
    struct query q = {file, file->opts, s, H5Fget_access_plist(s->file), facts, TT_OK};
    unsigned major = 0, minor = 0, release = 0;

    account(file);
    H5get_libversion(&major, &minor, &release);
    add(&q, "hdf5.version", NULL, words("%u.%u.%u", major, minor, release).text, TT_IN_EFFECT,
        "H5get_libversion");
    if (q.rc == TT_OK)
        q.rc = tt_hdf5_query_connector(file, facts);
    query_method(&q);
    if (file->spec->access == TT_CREATE) {
        query_chunk(&q);
        query_filters(&q);
    }
    query_delayed_close(&q);
    if (file->spec->access == TT_CREATE) {
        query_alignment(&q);
        query_libver(&q);
        add(&q, "hdf5.fill", q.opts->fill ? "ifset" : "never", NULL, TT_UNCONFIRMED, NULL);
    }
    query_metadata(&q);
    query_hints(&q);
    if (q.access >= 0)
        H5Pclose(q.access);
    return q.rc == TT_OK ? TT_OK : tt_fail_nomem(e, "facts about the settings");
}
