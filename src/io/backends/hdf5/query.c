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

/* Collective, since a rank may not have seen what another has. */
static int query_method(struct tt_file *file, struct tt_facts *facts)
{
    const struct hdf5_opts *o = file->opts;
    struct hdf5_state *s = file->state;
    uint32_t mine[3] = {s->container.transfers > 0, s->modes, s->causes}, all[3];
    bool really;

    MPI_Allreduce(mine, all, 3, MPI_UINT32_T, MPI_BOR, file->spec->comm);
    if (!o->method)
        return tt_facts_add(facts, "hdf5.method", "independent", "independent",
                            all[0] ? TT_IN_EFFECT : TT_UNCONFIRMED, "every rank transfers alone");
    if (!all[0])
        return tt_facts_add(facts, "hdf5.method", "collective", NULL, TT_UNCONFIRMED,
                            "nothing was transferred");
    really = all[1] & (H5D_MPIO_CHUNK_COLLECTIVE | H5D_MPIO_CONTIGUOUS_COLLECTIVE);
    if (really && !(all[1] & H5D_MPIO_CHUNK_INDEPENDENT) && !all[2])
        return tt_facts_add(facts, "hdf5.method", "collective", "collective", TT_IN_EFFECT,
                            "H5Pget_mpio_actual_io_mode after every transfer");
    return tt_facts_add(facts, "hdf5.method", "collective", really ? "mixed" : "independent",
                        TT_NO_EFFECT,
                        all[2] ? cause_in_words(all[2]) : "HDF5 chose independent for chunks");
}

/* The first variable with as many dimensions as the setting has; NULL if its dataset is not open.
 */
static const struct hdf5_slot *chunked_slot(const struct tt_file *file, int *lead)
{
    const struct hdf5_opts *o = file->opts;
    const struct hdf5_state *s = file->state;

    for (unsigned i = 0; i < file->spec->nvariables; i++) {
        const struct tt_variable *v = &file->spec->variables[i];

        *lead = tt_container_has_step(file->spec, v);
        if ((size_t)v->ndims == o->chunk.n && s->slots[i].dataset >= 0)
            return &s->slots[i];
    }
    return NULL;
}

static int query_chunk(const struct tt_file *file, struct tt_facts *facts)
{
    const struct hdf5_opts *o = file->opts;
    hsize_t chunk[H5S_MAX_RANK], given[H5S_MAX_RANK];
    int lead = 0, n = -1;
    const struct hdf5_slot *slot;
    hid_t properties;
    bool same;

    if (o->chunk.n == 0)
        return TT_OK;
    for (size_t i = 0; i < o->chunk.n; i++)
        given[i] = o->chunk.values[i];
    slot = chunked_slot(file, &lead);
    properties = slot ? H5Dget_create_plist(slot->dataset) : -1;
    if (properties >= 0) {
        n = H5Pget_layout(properties) == H5D_CHUNKED ? H5Pget_chunk(properties, H5S_MAX_RANK, chunk)
                                                     : -1;
        H5Pclose(properties);
    }
    if (n < 0)
        return tt_facts_add(facts, "hdf5.chunk", list(o->chunk.n, given).text, NULL,
                            slot ? TT_NO_EFFECT : TT_UNCONFIRMED,
                            slot ? "the dataset is contiguous" : "no dataset is open");
    same = memcmp(chunk + lead, given, o->chunk.n * sizeof *given) == 0;
    return tt_facts_add(facts, "hdf5.chunk", list(o->chunk.n, given).text,
                        list((size_t)(n - lead), chunk + lead).text,
                        same ? TT_IN_EFFECT : TT_NO_EFFECT,
                        same ? "H5Pget_chunk of the dataset" : "cut to the variable's dimensions");
}

/* The filter of the first dataset that is open, and what it gained there. */
static int query_compress(const struct tt_file *file, struct tt_facts *facts)
{
    const struct hdf5_opts *o = file->opts;
    const struct hdf5_state *s = file->state;
    unsigned flags, level[1] = {0}, i = 0;
    size_t n = 1;
    hid_t properties;
    bool found;
    double stored, plain;

    if (o->compress == 0)
        return TT_OK;
    while (i < file->spec->nvariables && s->slots[i].dataset < 0)
        i++;
    if (i == file->spec->nvariables)
        return tt_facts_add(facts, "hdf5.compress", words("%" PRIu64, o->compress).text, NULL,
                            TT_UNCONFIRMED, "no dataset is open");
    properties = H5Dget_create_plist(s->slots[i].dataset);
    found = properties >= 0 && H5Pget_filter_by_id2(properties, H5Z_FILTER_DEFLATE, &flags, &n,
                                                    level, 0, NULL, NULL) >= 0;
    if (properties >= 0)
        H5Pclose(properties);
    stored = (double)H5Dget_storage_size(s->slots[i].dataset);
    plain = (double)H5Sget_simple_extent_npoints(s->slots[i].space) *
            (double)file->spec->variables[i].element->size;
    return tt_facts_add(facts, "hdf5.compress", words("%" PRIu64, o->compress).text,
                        words("level %u, '%.30s' to %.3g of its size", level[0],
                              file->spec->variables[i].path, plain > 0 ? stored / plain : 1.0)
                            .text,
                        found && level[0] == o->compress ? TT_IN_EFFECT : TT_NO_EFFECT,
                        "filter and storage of the dataset");
}

static int query_delayed_close(const struct tt_file *file, struct tt_facts *facts)
{
    const struct hdf5_opts *o = file->opts;
    const struct hdf5_state *s = file->state;
    ssize_t open = H5Fget_obj_count(s->file, H5F_OBJ_DATASET);

    if (o->delayed_close == 0)
        return TT_OK;
    return tt_facts_add(facts, "hdf5.delayed_close", words("%" PRIu64, o->delayed_close).text,
                        words("%zd datasets open at the end", open).text,
                        open > (ssize_t)file->spec->nvariables ? TT_IN_EFFECT : TT_NO_EFFECT,
                        "H5Fget_obj_count");
}

static int query_alignment(const struct tt_file *file, hid_t access, struct tt_facts *facts)
{
    const struct hdf5_opts *o = file->opts;
    const struct hdf5_state *s = file->state;
    enum tt_proof proof = TT_UNCONFIRMED;
    hsize_t threshold = 0, alignment = 0;

    if (o->alignment == 1)
        return TT_OK;
    H5Pget_alignment(access, &threshold, &alignment);
    for (unsigned i = 0; i < file->spec->nvariables; i++) {
        haddr_t at = s->slots[i].dataset < 0 ? HADDR_UNDEF : H5Dget_offset(s->slots[i].dataset);

        if (at == HADDR_UNDEF ||
            tt_variable_bytes(&file->spec->variables[i]) < o->alignment_threshold)
            continue;
        if (at % o->alignment != 0)
            proof = TT_NO_EFFECT;
        else if (proof == TT_UNCONFIRMED)
            proof = TT_IN_EFFECT;
    }
    return tt_facts_add(facts, "hdf5.alignment", words("%" PRIu64, o->alignment).text,
                        words("%" PRIu64, (uint64_t)alignment).text, proof,
                        proof == TT_UNCONFIRMED ? "no contiguous dataset reaches the threshold"
                                                : "H5Dget_offset of the datasets");
}

static int query_libver(const struct tt_file *file, struct tt_facts *facts)
{
    const struct hdf5_opts *o = file->opts;
    const struct hdf5_state *s = file->state;
    H5F_info2_t info;

    if (H5Fget_info2(s->file, &info) < 0)
        return TT_OK;
    return tt_facts_add(facts, "hdf5.libver", o->libver ? "latest" : "earliest",
                        words("superblock version %u", info.super.version).text,
                        (info.super.version >= 2) == (o->libver == 1) ? TT_IN_EFFECT : TT_NO_EFFECT,
                        "the file's superblock");
}

static int query_metadata(const struct tt_file *file, hid_t access, struct tt_facts *facts)
{
    const struct hdf5_opts *o = file->opts;
    hsize_t block = 0;
    hbool_t collective = 0;
    int rc;

    H5Pget_meta_block_size(access, &block);
    H5Pget_coll_metadata_write(access, &collective);
    rc = tt_facts_add(facts, "hdf5.metadata_block", words("%" PRIu64, o->metadata_block).text,
                      words("%" PRIu64, (uint64_t)block).text, TT_UNCONFIRMED,
                      "H5Fget_access_plist");
    if (rc != TT_OK)
        return rc;
    return tt_facts_add(facts, "hdf5.collective_metadata", o->collective_metadata ? "yes" : "no",
                        collective ? "yes" : "no", TT_UNCONFIRMED, "H5Fget_access_plist");
}

/* MPI returns any nonsense it was given, so a hint that comes back proves nothing. */
static int query_hints(const struct tt_file *file, struct tt_facts *facts)
{
    const struct hdf5_opts *o = file->opts;
    const struct hdf5_state *s = file->state;
    MPI_Info info = MPI_INFO_NULL;
    int rc = TT_OK;

    if (o->hints.n == 0 || MPI_File_get_info(s->handle, &info) != MPI_SUCCESS)
        return TT_OK;
    for (size_t i = 0; rc == TT_OK && i < o->hints.n; i++) {
        const char *word = o->hints.words[i], *equals = strchr(word, '=');
        char key[MPI_MAX_INFO_KEY], value[96] = "";
        int found = 0;

        snprintf(key, sizeof key, "%.*s", (int)(equals - word), word);
        MPI_Info_get(info, key, sizeof value - 1, value, &found);
        rc = tt_facts_add(facts, words("hdf5.hints.%.40s", key).text, equals + 1,
                          found ? value : NULL, TT_UNCONFIRMED, "MPI_File_get_info");
    }
    MPI_Info_free(&info);
    return rc;
}

/* What the file holds beyond the payload: metadata, padding, parts of chunks. HDF5 over MPI-IO
 * knows no file size after a write; the file has its final size once it is flushed. */
static void account(struct tt_file *file)
{
    const struct tt_file_spec *spec = file->spec;
    struct hdf5_state *s = file->state;
    uint64_t payload = 0, steps = spec->policy == TT_OVERWRITE ? 1 : s->container.steps;
    MPI_Offset size = 0;

    if (spec->access != TT_CREATE || tt_container_failed_anywhere(file))
        return;
    tt_error_clear(&s->container.late);
    tt_container_flush(file, &s->container.late);
    if (tt_container_failed_anywhere(file) || MPI_File_get_size(s->handle, &size) != MPI_SUCCESS ||
        file->rank != 0)
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
    const struct hdf5_opts *o = file->opts;
    bool created = file->spec->access == TT_CREATE;
    hid_t access = H5Fget_access_plist(s->file);
    unsigned major = 0, minor = 0, release = 0;
    int rc;

    account(file);
    H5get_libversion(&major, &minor, &release);
    rc = tt_facts_add(facts, "hdf5.version", NULL, words("%u.%u.%u", major, minor, release).text,
                      TT_IN_EFFECT, "H5get_libversion");
    if (rc == TT_OK)
        rc = query_method(file, facts);
    else
        query_method(file, &(struct tt_facts){0});
    if (rc == TT_OK && created)
        rc = query_chunk(file, facts);
    if (rc == TT_OK && created)
        rc = query_compress(file, facts);
    if (rc == TT_OK)
        rc = query_delayed_close(file, facts);
    if (rc == TT_OK && created)
        rc = query_alignment(file, access, facts);
    if (rc == TT_OK && created)
        rc = query_libver(file, facts);
    if (rc == TT_OK && created)
        rc = tt_facts_add(facts, "hdf5.fill", o->fill ? "ifset" : "never", NULL, TT_UNCONFIRMED,
                          NULL);
    if (rc == TT_OK)
        rc = query_metadata(file, access, facts);
    if (rc == TT_OK)
        rc = query_hints(file, facts);
    if (access >= 0)
        H5Pclose(access);
    return rc == TT_OK ? TT_OK : tt_fail_nomem(e, "facts about the settings");
}
