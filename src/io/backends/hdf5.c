/* SPDX-License-Identifier: GPL-3.0-or-later */
/* needs: hdf5-@mpi@ (package libhdf5-@mpi@-dev) */
/* Parallel HDF5. A variable is a dataset (slashes in its path are groups); with the policy append
 * the step is its slowest dimension, with the policy group every step has a group of its own.
 * Records are compounds, strings have a fixed length, attributes stand on the dataset. Not here:
 * filters but deflate, and event sets. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/agree.h"
#include "io/backends/hdf5/parts.h"
#include "io/chunk.h"
#include "io/disk.h"
#include "io/module.h"

static const char *const methods[] = {"independent", "collective", NULL};
static const char *const libvers[] = {"earliest", "latest", NULL};
static const char *const fills[] = {"never", "ifset", NULL};

#define AT(field) offsetof(struct hdf5_opts, field)
static const struct tt_param params[] = {
    {"method", TT_PARAM_CHOICE, AT(method), "collective", NULL, "how ranks transfer data", 0, 0,
     methods},
    {"chunk", TT_PARAM_COUNTS, AT(chunk), NULL, "elements",
     "chunk of variables with as many dimensions, as a:b:c; empty: contiguous where possible"},
    {"compress", TT_PARAM_COUNT, AT(compress), "0", NULL,
     "deflate at this level, 1 to 9, with chunks as given or of about 1 MiB; 0: off", 0, 9},
    {"delayed_close", TT_PARAM_COUNT, AT(delayed_close), "0", "steps",
     "keep the datasets of a step open for so many steps more", 0, 1 << 20},
    {"alignment", TT_PARAM_BYTES, AT(alignment), "1", "B",
     "large objects start at a multiple of it", 1, INT64_MAX},
    {"alignment_threshold", TT_PARAM_BYTES, AT(alignment_threshold), "64k", "B",
     "objects of at least this size are aligned", 1, INT64_MAX},
    {"collective_metadata", TT_PARAM_BOOL, AT(collective_metadata), "no", NULL,
     "read and write HDF5's own metadata collectively"},
    {"metadata_block", TT_PARAM_BYTES, AT(metadata_block), "2k", "B",
     "metadata is allocated in blocks of this size", 1, INT64_MAX},
    {"libver", TT_PARAM_CHOICE, AT(libver), "earliest", NULL,
     "oldest library that must be able to read the file", 0, 0, libvers},
    {"fill", TT_PARAM_CHOICE, AT(fill), "never", NULL,
     "write fill values into new chunks: never, or ifset as HDF5 does by itself", 0, 0, fills},
    {"hints", TT_PARAM_WORDS, AT(hints), NULL, NULL, "hints for MPI-IO, as key=value,key=value"},
    {NULL},
};

static int check(const void *opts, struct tt_error *e)
{
    const struct hdf5_opts *o = opts;

    if (o->compress && !o->method)
        return tt_fail(e, TT_USAGE,
                       "hdf5.compress needs hdf5.method=collective: ranks share compressed chunks");
    for (size_t i = 0; i < o->hints.n; i++) {
        const char *equals = strchr(o->hints.words[i], '=');

        if (!equals || equals == o->hints.words[i] || !equals[1] ||
            equals - o->hints.words[i] >= MPI_MAX_INFO_KEY)
            return tt_fail(e, TT_USAGE, "hdf5.hints: '%s' is not key=value", o->hints.words[i]);
    }
    return tt_chunk_check(&o->chunk, "hdf5", e);
}

/* Opening and closing */

static hid_t access_properties(const struct tt_file *file, struct tt_error *e)
{
    const struct hdf5_opts *o = file->opts;
    hid_t p = H5Pcreate(H5P_FILE_ACCESS);
    MPI_Info info = MPI_INFO_NULL;
    herr_t rc = p < 0 ? -1 : 0;

    if (o->hints.n)
        MPI_Info_create(&info);
    for (size_t i = 0; i < o->hints.n; i++) {
        const char *word = o->hints.words[i], *equals = strchr(word, '=');
        char key[MPI_MAX_INFO_KEY];

        snprintf(key, sizeof key, "%.*s", (int)(equals - word), word);
        MPI_Info_set(info, key, equals + 1);
    }
    if (rc < 0 || H5Pset_fapl_mpio(p, file->spec->comm, info) < 0 ||
        H5Pset_fclose_degree(p, H5F_CLOSE_STRONG) < 0 ||
        H5Pset_alignment(p, o->alignment_threshold, o->alignment) < 0 ||
        H5Pset_meta_block_size(p, o->metadata_block) < 0 ||
        H5Pset_all_coll_metadata_ops(p, o->collective_metadata) < 0 ||
        H5Pset_coll_metadata_write(p, o->collective_metadata) < 0 ||
        H5Pset_libver_bounds(p, o->libver ? H5F_LIBVER_LATEST : H5F_LIBVER_EARLIEST,
                             H5F_LIBVER_LATEST) < 0) {
        tt_hdf5_fail(file, "H5Pset_fapl_mpio", NULL, e);
        if (p >= 0)
            H5Pclose(p);
        p = -1;
    }
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    return p;
}

static int open_file(struct tt_file *file, struct tt_error *e)
{
    struct hdf5_state *s = file->state;
    const char *path = file->spec->path;
    bool create = file->spec->access == TT_CREATE, update = file->spec->access == TT_UPDATE;
    hid_t access = access_properties(file, e);
    int rc = tt_file_agree(file, access < 0 ? e->code : TT_OK, e);
    void *handle;

    if (rc == TT_OK) {
        s->file = create ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access)
                         : H5Fopen(path, update ? H5F_ACC_RDWR : H5F_ACC_RDONLY, access);
        if (s->file < 0)
            rc = tt_hdf5_fail(file, create ? "H5Fcreate" : "H5Fopen", NULL, e);
        else if (H5Fget_vfd_handle(s->file, access, &handle) < 0)
            rc = tt_hdf5_fail(file, "H5Fget_vfd_handle", NULL, e);
        else
            s->handle = *(MPI_File *)handle;
    }
    if (access >= 0)
        H5Pclose(access);
    return rc;
}

static int prepare(struct tt_file *file, struct tt_error *e)
{
    const struct hdf5_opts *o = file->opts;
    const struct tt_file_spec *spec = file->spec;
    struct hdf5_state *s = file->state;
    int rc = tt_chunk_check_fit(&o->chunk, file, e);

    s->file = s->transfer = -1;
    s->slots = calloc(spec->nvariables ? spec->nvariables : 1, sizeof *s->slots);
    if (!s->slots)
        return tt_fail_nomem(e, "the variables");
    for (unsigned i = 0; i < spec->nvariables; i++)
        s->slots[i].dataset = s->slots[i].space = s->slots[i].type = -1;
    if (rc != TT_OK)
        return rc;
    for (unsigned i = 0; i < spec->nvariables; i++) {
        s->slots[i].late = calloc(o->delayed_close + 1, sizeof *s->slots[i].late);
        if (!s->slots[i].late)
            return tt_fail_nomem(e, "datasets that are closed late");
        s->slots[i].type = tt_hdf5_element_type(spec->variables[i].element);
        if (s->slots[i].type < 0)
            return tt_hdf5_fail(file, "H5Tcreate", spec->variables[i].path, e);
    }
    s->transfer = H5Pcreate(H5P_DATASET_XFER);
    if (s->transfer < 0 ||
        H5Pset_dxpl_mpio(s->transfer, o->method ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT) < 0)
        return tt_hdf5_fail(file, "H5Pset_dxpl_mpio", NULL, e);
    return TT_OK;
}

static int make_variables(struct tt_file *file, struct tt_error *e)
{
    const struct tt_file_spec *spec = file->spec;
    int rc = TT_OK;

    for (unsigned i = 0; rc == TT_OK && spec->access == TT_CREATE && i < spec->nvariables; i++)
        if (spec->policy != TT_GROUP || !spec->variables[i].per_step)
            rc = tt_hdf5_create(file, i, 0, e);
    return rc;
}

static bool anywhere(const struct tt_file *file, bool here)
{
    int any = here;

    MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, file->spec->comm);
    return any;
}

bool tt_hdf5_failed_anywhere(const struct tt_file *file)
{
    return anywhere(file, ((const struct hdf5_state *)file->state)->failed);
}

/* Before HDF5 may write metadata. Collective, and ranks have agreed. */
static int check_space(struct tt_file *file, struct tt_error *e)
{
    struct hdf5_state *s = file->state;
    int rc = tt_file_agree(file, file->rank == 0 ? tt_hdf5_check_space(file, e) : TT_OK, e);

    s->failed |= rc != TT_OK;
    return rc;
}

int tt_hdf5_flush(struct tt_file *file, struct tt_error *e)
{
    struct hdf5_state *s = file->state;
    int rc = check_space(file, e);

    if (rc == TT_OK && H5Fflush(s->file, H5F_SCOPE_GLOBAL) < 0) {
        rc = tt_hdf5_fail(file, "H5Fflush", NULL, e);
        s->flush_failed = true;
    }
    s->failed |= rc != TT_OK;
    return rc;
}

/* The first flush after one that failed complains, but cleans up. Where none has failed there must
 * be none: it syncs, and ompio 5 refuses that for ever on a rank whose collective write has failed,
 * which leaves the others in a barrier. */
static void abandon(struct tt_file *file)
{
    struct hdf5_state *s = file->state;

    tt_disk_divert(file->spec->path);
    if (anywhere(file, s->flush_failed))
        H5Fflush(s->file, H5F_SCOPE_GLOBAL);
}

/* H5Fclose must not be the first to fail, see tt_disk_divert; so everything is flushed before it.
 */
static int close_file(struct tt_file *file, struct tt_error *e)
{
    struct hdf5_state *s = file->state;
    bool writes = file->spec->access != TT_READ_ONLY;
    bool failed = writes && tt_hdf5_failed_anywhere(file);
    int rc = TT_OK;

    if (writes && !failed) {
        rc = tt_hdf5_flush(file, e);
        failed = tt_hdf5_failed_anywhere(file);
    }
    if (failed && rc == TT_OK && s->late.code != TT_OK) {
        rc = s->late.code;
        *e = e->code == TT_OK ? s->late : *e;
    }
    if (failed)
        abandon(file);
    if (H5Fclose(s->file) < 0 && rc == TT_OK)
        rc = tt_hdf5_fail(file, "H5Fclose", NULL, e);
    if (writes && !failed && rc == TT_OK && file->rank == 0)
        rc = tt_disk_check_full(file->spec->path, e);
    return rc;
}

static int hdf5_close(struct tt_file *file, struct tt_error *e)
{
    const struct hdf5_opts *o = file->opts;
    struct hdf5_state *s = file->state;
    int rc = TT_OK;

    for (unsigned i = 0; s->slots && i < file->spec->nvariables; i++) {
        tt_hdf5_close_slot(&s->slots[i]);
        tt_hdf5_close_late(&s->slots[i], o->delayed_close);
        if (s->slots[i].type >= 0)
            H5Tclose(s->slots[i].type);
    }
    if (s->transfer >= 0)
        H5Pclose(s->transfer);
    if (s->file >= 0)
        rc = close_file(file, e);
    free(s->slots);
    free(s->extents.extents);
    free(s->staging);
    return rc;
}

static int hdf5_open(struct tt_file *file, struct tt_error *e)
{
    int rc;

    H5dont_atexit(); /* has effect before the first call only: what failed is not tried again at
                        exit */
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    rc = tt_file_agree(file, prepare(file, e), e);
    if (rc == TT_OK)
        rc = tt_disk_open_first(file, false, e);
    if (rc == TT_OK)
        rc = tt_file_agree(file, open_file(file, e), e);
    if (rc == TT_OK)
        rc = tt_file_agree(file, tt_disk_check_made(file, -1, e), e);
    if (rc == TT_OK)
        rc = tt_file_agree(file, make_variables(file, e), e);
    if (rc == TT_OK)
        return TT_OK;
    ((struct hdf5_state *)file->state)->failed = true;
    hdf5_close(file, e);
    tt_disk_unmake(file);
    return rc;
}

/* Steps */

static int hdf5_define(struct tt_file *file, uint64_t step, struct tt_error *e)
{
    const struct tt_file_spec *spec = file->spec;
    struct hdf5_state *s = file->state;
    int rc = TT_OK;

    if (spec->access == TT_READ_ONLY || (spec->access == TT_CREATE && spec->policy == TT_OVERWRITE))
        return TT_OK;
    rc = check_space(file, e);
    for (unsigned i = 0; rc == TT_OK && i < spec->nvariables; i++) {
        if (!spec->variables[i].per_step)
            continue;
        if (spec->access == TT_UPDATE)
            rc = tt_hdf5_grow(file, i, step, e);
        else if (spec->policy == TT_APPEND)
            rc = tt_hdf5_extend(file, i, step, e);
        else if (spec->policy == TT_GROUP && step >= s->steps)
            rc = tt_hdf5_create(file, i, step, e);
    }
    s->failed |= rc != TT_OK;
    if (rc == TT_OK && step >= s->steps)
        s->steps = step + 1;
    return rc;
}

static int transfer(struct tt_file *file, enum tt_direction direction, uint64_t step,
                    const struct tt_block *b, struct tt_error *e)
{
    struct hdf5_state *s = file->state;
    struct hdf5_slot *slot = &s->slots[b->variable];
    const struct tt_variable *v = &file->spec->variables[b->variable];
    bool own = v->per_step && file->spec->policy == TT_GROUP;

    if (slot->dataset < 0 || (own && slot->step != step)) {
        int rc = tt_hdf5_open_together(file, b->variable, step, e);

        if (rc != TT_OK)
            return rc;
    }
    return tt_hdf5_transfer(file, direction, slot, step, b, e);
}

static int hdf5_write(struct tt_file *file, uint64_t step, const struct tt_block *b,
                      struct tt_error *e)
{
    return transfer(file, TT_WRITING, step, b, e);
}

static int hdf5_read(struct tt_file *file, uint64_t step, const struct tt_block *b,
                     struct tt_error *e)
{
    return transfer(file, TT_READING, step, b, e);
}

/* H5Fflush alone hands everything to the operating system, which may keep it. Its MPI-IO driver
 * calls MPI_File_sync as well (seen in 1.10.8), but does not promise it. */
static int hdf5_sync(struct tt_file *file, struct tt_error *e)
{
    struct hdf5_state *s = file->state;
    int rc, mpi;

    /* The rank that failed has said so; its library may leave the others in a flush for ever. */
    if (file->spec->access == TT_READ_ONLY || tt_hdf5_failed_anywhere(file))
        return TT_OK;
    rc = tt_hdf5_flush(file, e);
    if (tt_hdf5_failed_anywhere(file))
        return rc;
    mpi = MPI_File_sync(s->handle);
    if (mpi != MPI_SUCCESS)
        rc = tt_fail_mpi(e, mpi, "MPI_File_sync", file->spec->path);
    else if (file->rank == 0)
        rc = tt_disk_check_full(file->spec->path, e);
    s->failed |= rc != TT_OK;
    return rc;
}

static bool hdf5_is_collective(const void *opts)
{
    return ((const struct hdf5_opts *)opts)->method != 0;
}

const struct tt_backend tt_backend_hdf5 = {
    .name = "hdf5",
    .summary = "parallel HDF5: one dataset per variable",
    .kind = TT_BACKEND,
    .caps = TT_CAP_STORES | TT_CAP_CONTAINER | TT_CAP_UPDATES | TT_CAP_GROWS | TT_CAP_CONVERTS |
            TT_CAP_BESIDE,
    .library = "hdf5",
    .state_size = sizeof(struct hdf5_state),
    .opts_size = sizeof(struct hdf5_opts),
    .params = params,
    .check = check,
    .is_collective = hdf5_is_collective,
    .open = hdf5_open,
    .define = hdf5_define,
    .write = hdf5_write,
    .read = hdf5_read,
    .sync = hdf5_sync,
    .close = hdf5_close,
    .query = tt_hdf5_query,
};

TT_MODULE(.backend = &tt_backend_hdf5);
