/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is tried: a row a key. And what the user does with a value that was found: a row a key, or
 * one of its values. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "engine/stripe.h"
#include "plan/registry.h"
#include "report/environment.h"
#include "study/private.h"
#include "study/search/search.h"

/* ---- values that depend on the job ---- */

static uint64_t base_number(const struct tt_study *s, const char *key)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    char *text = NULL;
    uint64_t value = 0;

    if (tt_study_base_value(s, key, &text, &ignored) == TT_OK && text)
        value = strtoull(text, NULL, 10);
    free(text);
    return value;
}

static uint64_t ranks_of(const struct tt_study *s)
{
    uint64_t ranks = base_number(s, "reference.ranks");

    return ranks ? ranks : 1;
}

/* Bytes that a rank writes at a time. */
static uint64_t block_of(const struct tt_study *s)
{
    const struct tt_estimate *job = s->npoints > 0 ? s->points[0].estimates : NULL;

    return job && job->dumps > 0 ? job->bytes_written / job->dumps / ranks_of(s) : 0;
}

static uint64_t nodes_of(void)
{
    const char *nodes = getenv("SLURM_JOB_NUM_NODES");
    uint64_t n = nodes ? strtoull(nodes, NULL, 10) : 0;

    return n ? n : 1;
}

static bool is_striped(const struct tt_study *s)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    json_t *environment;
    enum tt_striped by;
    char *dir = NULL;

    tt_study_base_value(s, "reference.dir", &dir, &ignored);
    environment = tt_environment(dir ? dir : ".");
    by = tt_striped_by(tt_text_of(json_object_get(environment, "data"), "filesystem"));
    json_decref(environment);
    free(dir);
    return by == TT_LUSTRE || by == TT_CEPH;
}

/* "8,4,16" of numbers, without those that occur twice and those above most. */
static char *list_of(const uint64_t *values, size_t n, uint64_t most)
{
    char text[256] = "";
    size_t used = 0;

    for (size_t i = 0; i < n; i++) {
        bool is_new = values[i] > 0 && values[i] <= most;

        for (size_t k = 0; k < i; k++)
            is_new &= values[k] != values[i];
        if (is_new && used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%" PRIu64, used ? "," : "",
                                     values[i]);
    }
    return used ? strdup(text) : NULL;
}

static char *find_stripe_counts(const struct tt_study *s)
{
    uint64_t first = tt_stripe_count_for(nodes_of(), 0);
    const uint64_t values[] = {first, 1, (first + 1) / 2, 2 * first};

    return is_striped(s) ? list_of(values, 4, 2 * first) : NULL;
}

static char *find_stripe_sizes(const struct tt_study *s)
{
    uint64_t values[3];

    return is_striped(s) ? list_of(values, tt_stripe_sizes_for(block_of(s), values), UINT64_MAX)
                         : NULL;
}

/* Without servers to spread over, from one to all ranks. */
static char *find_aggregators(const struct tt_study *s)
{
    uint64_t ranks = ranks_of(s), stripes = tt_stripe_count_for(nodes_of(), 0);
    uint64_t first = is_striped(s)
                         ? tt_aggregators_for(stripes, tt_multiplier_for(block_of(s), ranks), ranks)
                         : nodes_of();
    const uint64_t values[] = {first, 1, (ranks + 1) / 2, ranks};

    return ranks > 1 ? list_of(values, 4, ranks) : NULL;
}

/* Of as many dimensions as the variables have: the part of a rank, and half of it. */
static char *find_chunks(const struct tt_study *s)
{
    uint64_t side = base_number(s, "reference.size"), rows = side / ranks_of(s);
    char *text = NULL;

    if (s->workload && !strcmp(s->workload, "stencil")) /* a square */
        return rows > 1 && asprintf(&text, "%" PRIu64 ":%" PRIu64 ",%" PRIu64 ":%" PRIu64, rows,
                                    side, rows / 2, side) >= 0
                   ? text
                   : NULL;
    return strdup("65536,1048576");
}

/* Only what overlaps has dumps in flight. */
static char *find_inflight(const struct tt_study *s)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    char *mode = NULL, *overlap = NULL;
    bool overlaps;

    tt_study_base_value(s, "reference.mode", &mode, &ignored);
    tt_study_base_value(s, "reference.overlap", &overlap, &ignored);
    overlaps = mode ? !strncmp(mode, "async", 5) : overlap && !strcmp(overlap, "async");
    free(mode);
    free(overlap);
    return overlaps ? strdup("2,4") : NULL;
}

/* Those of this build. */
static char *find_backends(const struct tt_study *s)
{
    static const char *const names[] = {"posix", "mpiio",   "hdf5", "netcdf",
                                        "uring", "pnetcdf", "mmap", NULL};
    char text[128] = "";
    size_t used = 0;

    (void)s;
    for (size_t i = 0; names[i]; i++) {
        struct tt_error ignored = TT_ERROR_CLEAR;

        if (tt_find_backend(names[i], &ignored))
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? "," : "",
                                     names[i]);
    }
    return strdup(text);
}

/* ---- the keys ---- */

static const struct tt_search_key advised[] = {
    {"mode", "async+bg,async,sync,sync+imm", .epochs = true},
    {"backend", .find = find_backends},
    {"write.files", "shared,process"},
    {"files", "shared,process"},
    {0},
};

#define MPI_IO_KEYS(backend) \
    {backend ".cb_nodes", .find = find_aggregators, .proof = true}, \
        {backend ".cb_buffer_size", "4m,16m,64m,1m", .proof = true}, \
        {backend ".romio_cb_write", "enable,disable", .proof = true}, \
    { \
        backend ".romio_ds_write", "disable,enable", .proof = true \
    }

/* What matters most comes first: it is tried first if the budget is small. */
static const struct tt_search_key tuned[] = {
    {"transfer", "1m,4m,64k,16m,4k"},
    {"depth", "4,16,64,1"},
    {"write.files", "shared,process"},
    {"files", "shared,process"},
    {"stripe.count", .find = find_stripe_counts, .proof = true},
    {"stripe.size", .find = find_stripe_sizes, .proof = true},
    {"inflight", .find = find_inflight, .epochs = true},
    {"mpiio.method", "collective,independent"},
    {"hdf5.method", "collective,independent"},
    {"netcdf.method", "collective,independent"},
    {"pnetcdf.method", "collective,independent,aggregated"},
    MPI_IO_KEYS("mpiio"),
    MPI_IO_KEYS("netcdf"),
    MPI_IO_KEYS("pnetcdf"),
    {"hdf5.alignment", "1m,4m,64k"},
    {"hdf5.chunk", .find = find_chunks, .proof = true},
    {"netcdf.chunk", .find = find_chunks, .proof = true},
    {"hdf5.collective_metadata", "yes"},
    {"hdf5.metadata_block", "1m"},
    {"uring.depth", "8,128"},
    {"uring.request", "128k,1m"},
    {"uring.registered", "yes", .proof = true},
    {"posix.odirect", "yes", .proof = true},
    {"uring.odirect", "yes", .proof = true},
    {0},
};

/* ---- their options ---- */

#define AT(member) offsetof(struct tt_search_options, member)
#define OF_APPLICATION \
    {"size",   TT_PARAM_BYTES, \
     AT(size), "0", \
     "B",      "without WORKLOAD: bytes that the application writes at a time, over all ranks"}, \
        {"every",   TT_PARAM_DURATION, \
         AT(every), "0", \
         "s",       "without WORKLOAD: time between two dumps of the application"}, \
    { \
        "compute", TT_PARAM_DURATION, AT(compute), "0", "s", \
            "without WORKLOAD: time of an iteration of the application, of which many lie " \
            "between " \
            "two dumps; 0: not known" \
    }
#define OF_ALL \
    {"max_time", TT_PARAM_DURATION, AT(max_time), "3min", "s", "time that the search may take", 1, \
     -1}, \
        {"max_bytes",   TT_PARAM_BYTES, \
         AT(max_bytes), "0", \
         "B",           "bytes that the search may write; 0: no limit"}, \
        {"sweep", \
         TT_PARAM_TEXT, \
         AT(sweep), \
         NULL, \
         NULL, \
         "values of a key that are tried instead of the usual ones, or of another key; may be " \
         "given again; in a file vary: {KEY: VALUES}", \
         .placeholder = "KEY=VALUES"}, \
        {"fixed", \
         TT_PARAM_WORDS, \
         AT(fixed), \
         NULL, \
         NULL, \
         "keys that stay as they are; all: only those of --sweep are tried", \
         .placeholder = "KEY,..."}, \
        {"metric", TT_PARAM_TEXT,        AT(metric),           "runtime", \
         NULL,     "what is to be best", .placeholder = "NAME"}, \
        {"repeat",   TT_PARAM_COUNT, \
         AT(repeat), "8", \
         NULL,       "fresh runs of the best and of the default at the end; an interval needs six", \
         6,          1000}, \
        {"candidates", \
         TT_PARAM_COUNT, \
         AT(candidates), \
         "0", \
         NULL, \
         "settings that are tried before those near the best; 0: as the budget allows", \
         0, \
         10000}, \
        {"shuffle",   TT_PARAM_COUNT, \
         AT(shuffle), "1", \
         NULL,        "seed of the order of the runs and of the choice of candidates"}, \
        {"results", \
         TT_PARAM_TEXT, \
         AT(results), \
         "tutti-runs", \
         NULL, \
         "where the directory of the search is made", \
         .placeholder = "DIRECTORY"}, \
        {"label", TT_PARAM_TEXT, AT(label), NULL, NULL, "a name to find the runs by"}, \
        {"hints", \
         TT_PARAM_TEXT, \
         AT(hints), \
         NULL, \
         NULL, \
         "file for MPI-IO hints, as ROMIO_HINTS takes it; what else is to be set stands in it as " \
         "a " \
         "comment; -: stdout", \
         .placeholder = "FILE"}, \
        {"yaml", \
         TT_PARAM_TEXT, \
         AT(yaml), \
         NULL, \
         NULL, \
         "file for the job with the settings that were chosen, for tutti run; -: stdout", \
         .placeholder = "FILE"}, \
        {"json", \
         TT_PARAM_TEXT, \
         AT(json), \
         NULL, \
         NULL, \
         "file for the answer; -: stdout", \
         .placeholder = "FILE"}, \
        {"resume", \
         TT_PARAM_TEXT, \
         AT(resume), \
         NULL, \
         NULL, \
         "directory of a search that was interrupted; with its file, if that has launch.*", \
         .placeholder = "DIRECTORY"}, \
        {"quiet", TT_PARAM_BOOL, AT(quiet), "no", NULL, "no progress and no table"}, \
    { \
        "dry_run", TT_PARAM_BOOL, AT(dry_run), "no", NULL, \
            "say what would be done, and do nothing" \
    }

static const struct tt_param advise_params[] = {OF_APPLICATION, OF_ALL, {0}};
static const struct tt_param tune_params[] = {OF_ALL, {0}};

const struct tt_component tt_advise_component = {
    .name = "advise",
    .summary = "how an application should write",
    .params = advise_params,
    .opts_size = sizeof(struct tt_search_options),
};
const struct tt_component tt_tune_component = {
    .name = "tune",
    .summary = "hints and other settings of a workload that are best",
    .params = tune_params,
    .opts_size = sizeof(struct tt_search_options),
};

const struct tt_search_kind tt_search_advise = {"advise", &tt_advise_component, advised, true,
                                                true};
const struct tt_search_kind tt_search_tune = {"tune", &tt_tune_component, tuned, false, false};

/* ---- what the user does with it ---- */

const char *const tt_ways[] = {"hint", "shell", "environment", "code"};

#define SETSTRIPE "lfs setstripe"
#define OF_SETSTRIPE " DIRECTORY"

/* A key beginning with a dot is one of any backend; of the value NULL all are meant. VALUE in the
 * text stands for it, as a number where it is one. */
static const struct {
    const char *key, *value;
    enum tt_way way;
    const char *text;
} ways[] = {
    {"mode", "sync+imm", TT_WAY_CODE, "write and sync (fsync, H5Fflush) before computing on"},
    {"mode", "sync", TT_WAY_CODE,
     "write at once, but sync (fsync, H5Fflush) only just before the next dump"},
    {"mode", "async", TT_WAY_CODE,
     "copy the dump, write it in a thread beside the computation, and sync before the next one"},
    {"mode", "async+bg", TT_WAY_CODE,
     "copy the dump, write and sync it in a thread beside the computation"},
    {"backend", "posix", TT_WAY_CODE, "write by pwrite"},
    {"backend", "mmap", TT_WAY_CODE, "write by a mapping of the file (mmap, msync)"},
    {"backend", "uring", TT_WAY_CODE, "write by io_uring (liburing)"},
    {"backend", "mpiio", TT_WAY_CODE, "write by MPI-IO: MPI_File_write_at_all"},
    {"backend", "hdf5", TT_WAY_CODE,
     "write by HDF5: H5Pset_fapl_mpio, H5Pset_dxpl_mpio(dxpl, H5FD_MPIO_COLLECTIVE)"},
    {"backend", "netcdf", TT_WAY_CODE,
     "write by NetCDF-4: nc_create_par, nc_var_par_access(NC_COLLECTIVE)"},
    {"backend", "pnetcdf", TT_WAY_CODE, "write by PnetCDF: ncmpi_put_vara_all"},
    {"write.files", "process", TT_WAY_CODE, "write a file per process"},
    {"write.files", "shared", TT_WAY_CODE, "write one file for all processes"},
    {"files", "process", TT_WAY_CODE, "write a file per process"},
    {"files", "shared", TT_WAY_CODE, "write one file for all processes"},
    {"inflight", NULL, TT_WAY_CODE, "keep buffers for VALUE dumps in flight"},
    {"transfer", NULL, TT_WAY_CODE, "write VALUE bytes in a call"},
    {"depth", NULL, TT_WAY_CODE, "keep VALUE requests in flight (io_uring, aio, threads)"},
    {"stripe.count", NULL, TT_WAY_SHELL, SETSTRIPE " -c VALUE" OF_SETSTRIPE},
    {"stripe.size", NULL, TT_WAY_SHELL, SETSTRIPE " -S VALUE" OF_SETSTRIPE},
    {".cb_nodes", NULL, TT_WAY_HINT, "cb_nodes VALUE"},
    {".cb_nodes", NULL, TT_WAY_ENVIRONMENT, "OMPI_MCA_io_ompio_num_aggregators=VALUE"},
    {".cb_buffer_size", NULL, TT_WAY_HINT, "cb_buffer_size VALUE"},
    {".striping_factor", NULL, TT_WAY_HINT, "striping_factor VALUE"},
    {".striping_unit", NULL, TT_WAY_HINT, "striping_unit VALUE"},
    {".romio_cb_write", NULL, TT_WAY_HINT, "romio_cb_write VALUE"},
    {".romio_cb_read", NULL, TT_WAY_HINT, "romio_cb_read VALUE"},
    {".romio_ds_write", NULL, TT_WAY_HINT, "romio_ds_write VALUE"},
    {"mpiio.method", "collective", TT_WAY_CODE, "MPI_File_write_at_all"},
    {"mpiio.method", "independent", TT_WAY_CODE, "MPI_File_write_at"},
    {"hdf5.method", "collective", TT_WAY_CODE, "H5Pset_dxpl_mpio(dxpl, H5FD_MPIO_COLLECTIVE)"},
    {"hdf5.method", "independent", TT_WAY_CODE, "H5Pset_dxpl_mpio(dxpl, H5FD_MPIO_INDEPENDENT)"},
    {"netcdf.method", "collective", TT_WAY_CODE,
     "nc_var_par_access(file, variable, NC_COLLECTIVE)"},
    {"netcdf.method", "independent", TT_WAY_CODE,
     "nc_var_par_access(file, variable, NC_INDEPENDENT)"},
    {"pnetcdf.method", "collective", TT_WAY_CODE, "ncmpi_put_vara_all"},
    {"pnetcdf.method", "independent", TT_WAY_CODE, "ncmpi_begin_indep_data, ncmpi_put_vara"},
    {"pnetcdf.method", "aggregated", TT_WAY_CODE, "ncmpi_bput_vara, ncmpi_wait_all"},
    {"hdf5.alignment", NULL, TT_WAY_CODE, "H5Pset_alignment(fapl, 65536, VALUE)"},
    {"hdf5.chunk", NULL, TT_WAY_CODE, "H5Pset_chunk(dcpl, ...) with VALUE elements"},
    {"netcdf.chunk", NULL, TT_WAY_CODE, "nc_def_var_chunking(...) with VALUE elements"},
    {"hdf5.collective_metadata", "yes", TT_WAY_CODE,
     "H5Pset_coll_metadata_write(fapl, 1), H5Pset_all_coll_metadata_ops(fapl, 1)"},
    {"hdf5.metadata_block", NULL, TT_WAY_CODE, "H5Pset_meta_block_size(fapl, VALUE)"},
    {"uring.depth", NULL, TT_WAY_CODE, "io_uring_queue_init(VALUE, ...)"},
    {"uring.request", NULL, TT_WAY_CODE, "requests of VALUE bytes"},
    {"uring.registered", "yes", TT_WAY_CODE, "io_uring_register_files, io_uring_register_buffers"},
    {".odirect", "yes", TT_WAY_CODE, "open with O_DIRECT, and align offsets, lengths and memory"},
};

static bool is_key_of(const char *row, const char *key)
{
    const char *dot = strchr(key, '.');

    return tt_same_key(row, *row == '.' ? (dot ? dot : "") : key);
}

/* VALUE replaced; caller frees. */
static char *put_value(const char *text, const char *value)
{
    const char *at = strstr(text, "VALUE");
    char *out = NULL;

    if (!at)
        return strdup(text);
    return asprintf(&out, "%.*s%s%s", (int)(at - text), text, value, at + 5) < 0 ? NULL : out;
}

/* All striping is one command: a second one would undo the first. True: it is added to that. */
static bool join_setstripe(json_t *list, const char *text)
{
    json_t *one;
    size_t i;

    json_array_foreach(list, i, one)
    {
        const char *before = tt_text_of(one, "text");

        if (strncmp(before, SETSTRIPE, strlen(SETSTRIPE)) != 0 ||
            strncmp(text, SETSTRIPE, strlen(SETSTRIPE)) != 0)
            continue;
        json_object_set_new(one, "text",
                            json_sprintf("%.*s%s", (int)(strlen(before) - strlen(OF_SETSTRIPE)),
                                         before, text + strlen(SETSTRIPE)));
        return true;
    }
    return false;
}

int tt_ways_of(const struct tt_param *param, const char *key, const char *value, json_t *list,
               struct tt_error *e)
{
    char number[32];
    const char *shown = value;
    double plain;
    size_t found = 0;

    if (param && tt_value_number(param, value, &plain) && plain < 1e15) {
        snprintf(number, sizeof number, "%.0f", plain);
        shown = number;
    }
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char *text;

        if (!is_key_of(ways[i].key, key) || (ways[i].value && strcmp(ways[i].value, value) != 0))
            continue;
        text = put_value(ways[i].text, shown);
        if (!text)
            return tt_fail_nomem(e, "the settings");
        if (!join_setstripe(list, text))
            json_array_append_new(list, json_pack("{s:s, s:o}", "way", tt_ways[ways[i].way], "text",
                                                  tt_json_text(text)));
        free(text);
        found++;
    }
    if (found == 0) /* a key of --sweep */
        json_array_append_new(list,
                              json_pack("{s:s, s:o}", "way", tt_ways[TT_WAY_CODE], "text",
                                        json_sprintf("do as tutti does with --%s %s", key, value)));
    return TT_OK;
}
