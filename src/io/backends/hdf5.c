/* SPDX-License-Identifier: GPL-3.0-or-later */
/* needs: hdf5-@mpi@ (package libhdf5-@mpi@-dev) */
/* Parallel HDF5. A variable is a dataset (slashes in its path are groups); with the policy append
 * the step is its slowest dimension, with the policy group every step has a group of its own.
 * Records are compounds, strings have a fixed length, attributes stand on the dataset or the group.
 */
#include <stdlib.h>

#include "base/agree.h"
#include "io/backends/hdf5/parts.h"
#include "io/chunk.h"
#include "io/disk.h"
#include "io/mpi_hints.h"
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
    {"filter", TT_PARAM_WORDS, AT(filter), NULL, NULL,
     "filters of chunks in their order, by name or number and with their parameters, as "
     "shuffle,deflate:9 or 32004:65536; chunks are as given or of about 1 MiB"},
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
    {"metadata_cache", TT_PARAM_BYTES, AT(metadata_cache), "0", "B",
     "keep all metadata in memory until the file is flushed or closed, in a cache of this size; 0: "
     "as HDF5 does",
     0, 1 << 30},
    {"libver", TT_PARAM_CHOICE, AT(libver), "earliest", NULL,
     "oldest library that must be able to read the file", 0, 0, libvers},
    {"fill", TT_PARAM_CHOICE, AT(fill), "never", NULL,
     "write fill values into new chunks: never, or ifset as HDF5 does by itself", 0, 0, fills},
    {"vol", TT_PARAM_TEXT, AT(vol), NULL, NULL,
     "VOL connector and what it is told, as HDF5_VOL_CONNECTOR has it; found in HDF5_PLUGIN_PATH",
     .placeholder = "NAME INFO"},
    {"hints", TT_PARAM_WORDS, AT(hints), NULL, NULL, "hints for MPI-IO, as key=value,key=value"},
    {NULL},
};

static int check(const void *opts, struct tt_error *e)
{
    const struct hdf5_opts *o = opts;
    const struct tt_mpi_hints hints = {.others = o->hints};
    int rc = tt_mpi_hints_check(&hints, "hdf5", e);

    if (rc == TT_OK)
        rc = tt_hdf5_filters_check(o, e);
    if (rc == TT_OK)
        rc = tt_hdf5_check_connector(o, e);
    return rc == TT_OK ? tt_chunk_check(&o->chunk, "hdf5", e) : rc;
}

/* ---- opening ---- */

static int prepare_slots(struct tt_file *file, struct tt_error *e)
{
    const struct tt_file_spec *spec = file->spec;
    const struct hdf5_opts *o = file->opts;
    struct hdf5_state *s = file->state;

    s->slots = calloc(spec->nvariables + 1, sizeof *s->slots);
    if (!s->slots)
        return tt_fail_nomem(e, "the variables");
    for (unsigned i = 0; i < spec->nvariables; i++)
        s->slots[i].dataset = s->slots[i].space = s->slots[i].type = -1;
    for (unsigned i = 0; i < spec->nvariables; i++) {
        s->slots[i].late = calloc(o->delayed_close + 1, sizeof *s->slots[i].late);
        if (!s->slots[i].late)
            return tt_fail_nomem(e, "datasets that are closed late");
        s->slots[i].type = tt_hdf5_element_type(spec->variables[i].element);
        if (s->slots[i].type < 0)
            return tt_hdf5_fail(file, "H5Tcreate", spec->variables[i].path, e);
    }
    return TT_OK;
}

/* As h5bench has it: nothing is evicted, and the size stays. */
static herr_t set_metadata_cache(hid_t p, uint64_t size)
{
    H5AC_cache_config_t config = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};

    if (size == 0)
        return 0;
    if (H5Pget_mdc_config(p, &config) < 0)
        return -1;
    config.set_initial_size = true;
    config.initial_size = size;
    config.max_size = size > config.max_size ? size : config.max_size;
    config.min_size = size < config.min_size ? size : config.min_size;
    config.evictions_enabled = false;
    config.incr_mode = H5C_incr__off;
    config.flash_incr_mode = H5C_flash_incr__off;
    config.decr_mode = H5C_decr__off;
    return H5Pset_mdc_config(p, &config);
}

static hid_t access_properties(const struct tt_file *file)
{
    const struct hdf5_opts *o = file->opts;
    const struct hdf5_state *s = file->state;
    hid_t p = H5Pcreate(H5P_FILE_ACCESS);

    if (p < 0 || (H5Pset_fapl_mpio(p, file->spec->comm, s->container.info) >= 0 &&
                  H5Pset_fclose_degree(p, H5F_CLOSE_STRONG) >= 0 &&
                  H5Pset_alignment(p, o->alignment_threshold, o->alignment) >= 0 &&
                  H5Pset_meta_block_size(p, o->metadata_block) >= 0 &&
                  H5Pset_all_coll_metadata_ops(p, o->collective_metadata) >= 0 &&
                  H5Pset_coll_metadata_write(p, o->collective_metadata) >= 0 &&
                  set_metadata_cache(p, o->metadata_cache) >= 0 &&
                  H5Pset_libver_bounds(p, o->libver ? H5F_LIBVER_LATEST : H5F_LIBVER_EARLIEST,
                                       H5F_LIBVER_LATEST) >= 0))
        return p;
    H5Pclose(p);
    return -1;
}

/* Properties of access and of transfers; each rank for itself. */
static int make_properties(struct tt_file *file, struct tt_error *e)
{
    const struct hdf5_opts *o = file->opts;
    struct hdf5_state *s = file->state;

    if (tt_hdf5_set_connector(file, s->access, e) != TT_OK)
        return e->code;
    s->transfer = H5Pcreate(H5P_DATASET_XFER);
    if (s->transfer < 0 ||
        H5Pset_dxpl_mpio(s->transfer, o->method ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT) < 0)
        return tt_hdf5_fail(file, "H5Pset_dxpl_mpio", NULL, e);
    return TT_OK;
}

static int prepare(struct tt_file *file, struct tt_error *e)
{
    const struct hdf5_opts *o = file->opts;
    const struct tt_mpi_hints hints = {.others = o->hints};
    struct hdf5_state *s = file->state;
    int rc = tt_chunk_check_fit(&o->chunk, file, e);

    s->container.collective = o->method != 0;
    if (rc == TT_OK)
        rc = tt_fail_mpi(e, tt_mpi_hints_info(&hints, &s->container.info), "MPI_Info_set", NULL);
    if (rc == TT_OK)
        rc = prepare_slots(file, e);
    rc = tt_file_agree(file, rc, e); /* H5Pset_fapl_mpio duplicates the communicator */
    if (rc != TT_OK)
        return rc;
    s->access = access_properties(file);
    rc = s->access < 0 ? tt_hdf5_fail(file, "H5Pset_fapl_mpio", NULL, e) : make_properties(file, e);
    rc = tt_file_agree(file, rc, e); /* a plug-in may be missing on one node */
    return rc == TT_OK ? tt_hdf5_filters_choose(file, e) : rc;
}

static int open_file(struct tt_file *file, struct tt_error *e)
{
    struct hdf5_state *s = file->state;
    const char *path = file->spec->path;
    bool create = file->spec->access == TT_CREATE, update = file->spec->access == TT_UPDATE;
    void *handle;

    s->file = create ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, s->access)
                     : H5Fopen(path, update ? H5F_ACC_RDWR : H5F_ACC_RDONLY, s->access);
    if (s->file < 0)
        return tt_hdf5_fail(file, create ? "H5Fcreate" : "H5Fopen", NULL, e);
    if (H5Fget_vfd_handle(s->file, s->access, &handle) >= 0) {
        s->handle = *(MPI_File *)handle;
    } else { /* a connector may store elsewhere, or not tell */
        s->handle = MPI_FILE_NULL;
        H5Eclear2(H5E_DEFAULT);
    }
    H5Pclose(s->access); /* which also holds a communicator */
    s->access = -1;
    return TT_OK;
}

/* ---- the end ---- */

static uint64_t held(const struct tt_file *file)
{
    const struct hdf5_state *s = file->state;
    size_t most = 0, clean = 0, held = 0;
    int entries = 0;

    H5Fget_mdc_size(s->file, &most, &clean, &held, &entries);
    return held;
}

static int flush(struct tt_file *file, struct tt_error *e)
{
    const struct hdf5_state *s = file->state;

    return H5Fflush(s->file, H5F_SCOPE_GLOBAL) < 0 ? tt_hdf5_fail(file, "H5Fflush", NULL, e)
                                                   : TT_OK;
}

/* H5Fflush alone hands everything to the operating system, which may keep it. Its MPI-IO driver
 * calls MPI_File_sync as well (seen in 1.10.8), but does not promise it. */
static int sync_file(struct tt_file *file, struct tt_error *e)
{
    const struct hdf5_state *s = file->state;

    if (s->handle == MPI_FILE_NULL)
        return tt_disk_sync(file->spec->path, e);
    return tt_fail_mpi(e, MPI_File_sync(s->handle), "MPI_File_sync", file->spec->path);
}

static void release(struct tt_file *file)
{
    const struct hdf5_opts *o = file->opts;
    struct hdf5_state *s = file->state;

    for (unsigned i = 0; s->slots && i < file->spec->nvariables; i++) {
        struct hdf5_slot *slot = &s->slots[i];

        tt_hdf5_close_slot(slot);
        for (uint64_t k = 0; slot->late && k < o->delayed_close; k++)
            if (slot->late[k] > 0)
                H5Dclose(slot->late[k]);
        free(slot->late);
        if (slot->type >= 0)
            H5Tclose(slot->type);
    }
    if (s->access > 0)
        H5Pclose(s->access);
    if (s->transfer > 0)
        H5Pclose(s->transfer);
    free(s->slots);
}

static int close_file(struct tt_file *file, struct tt_error *e)
{
    const struct hdf5_state *s = file->state;

    return H5Fclose(s->file) < 0 ? tt_hdf5_fail(file, "H5Fclose", NULL, e) : TT_OK;
}

static const struct tt_library library = {
    .hyperslabs = true,
    .sorted = true, /* a union of hyperslabs has that order, whatever it was made of */
    .lists = TT_LISTS_MIX,
    .round_boxes = 16384, /* see transfer.c */
    .call_bytes = UINT64_MAX,
    .flush_call = "H5Fflush",
    .close_flushes = true,
    .prepare = prepare,
    .open = open_file,
    .define = tt_hdf5_define,
    .define_group = tt_hdf5_define_group,
    .find = tt_hdf5_find,
    .extend = tt_hdf5_extend,
    .move = tt_hdf5_move,
    .held = held,
    .flush = flush,
    .sync = sync_file,
    .release = release,
    .close = close_file,
};

static int hdf5_prepare(struct tt_file *file, struct tt_error *e)
{
    H5dont_atexit(); /* has effect before the first call only: what failed is not tried again at
                        exit */
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return tt_container_prepare(file, &library, e);
}

static bool hdf5_is_collective(const void *opts)
{
    return ((const struct hdf5_opts *)opts)->method != 0;
}

const struct tt_backend tt_backend_hdf5 = {
    .name = "hdf5",
    .summary = "parallel HDF5: one dataset per variable",
    .kind = TT_BACKEND,
    .caps = TT_CAP_STORES | TT_CAP_CARRIES_LAYOUT | TT_CAP_UPDATES | TT_CAP_GROWS |
            TT_CAP_CONVERTS | TT_CAP_BESIDE | TT_CAP_ONE_THREAD |
            (TT_HDF5_CONNECTORS ? TT_CAP_NONBLOCKING : 0),
    .library = "hdf5",
    .ending = ".h5",
    .state_size = sizeof(struct hdf5_state),
    .opts_size = sizeof(struct hdf5_opts),
    .params = params,
    .check = check,
    .is_collective = hdf5_is_collective,
    .loss = tt_hdf5_filters_loss,
    .prepare = hdf5_prepare,
    .open = tt_container_open,
    .define = tt_container_define,
    .write = tt_hdf5_write,
    .read = tt_hdf5_read,
#if TT_HDF5_CONNECTORS
    .ticket_size = sizeof(struct hdf5_ticket),
    .submit = tt_hdf5_submit,
    .wait = tt_hdf5_wait,
    .most_submitted = tt_hdf5_most_submitted,
#endif
    .sync = tt_container_sync,
    .close = tt_container_close,
    .query = tt_hdf5_query,
};

TT_MODULE(.backend = &tt_backend_hdf5);
