/* SPDX-License-Identifier: GPL-3.0-or-later */
/* needs: netcdf-mpi hdf5-@mpi@ (package libnetcdf-mpi-dev) */
/* NetCDF-4 through parallel HDF5. Slashes in a path are groups, and so are the steps of the policy
 * group (/step_000001); with append the step is the slowest dimension. Records are compounds, a
 * string is a last dimension of its characters. Every definition makes NetCDF look at all of them
 * again, so all steps whose number is known are defined at open. Not here: filters.
 *
 * NetCDF hides HDF5's file, but not its habits: see backends/hdf5.c for what happens to a file that
 * cannot be flushed. */
#include <errno.h>
#include <hdf5.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/agree.h"
#include "io/backends/netcdf/parts.h"
#include "io/chunk.h"
#include "io/disk.h"
#include "io/module.h"

/* What HDF5 may hold back in memory: at least, and per variable. */
enum { METADATA_RESERVE = 64 << 10, METADATA_PER_VARIABLE = 4 << 10 };

static const char *const methods[] = {"independent", "collective", NULL};

#define AT(field) offsetof(struct netcdf_opts, field)
static const struct tt_param params[] = {
    {"method", TT_PARAM_CHOICE, AT(method), "collective", NULL,
     "how ranks transfer data; lists of runs are always independent", .choices = methods},
    {"chunk", TT_PARAM_COUNTS, AT(chunk), NULL, "elements",
     "chunk of variables with as many dimensions, as a:b:c; empty: contiguous where possible"},
    {"fill", TT_PARAM_BOOL, AT(fill), "no", NULL, "write fill values before the data"},
    TT_MPI_HINT_PARAMS(struct netcdf_opts),
    {NULL},
};

static int check(const void *opts, struct tt_error *e)
{
    const struct netcdf_opts *o = opts;
    int rc = tt_mpi_hints_check(&o->hints, "netcdf", e);

    return rc == TT_OK ? tt_chunk_check(&o->chunk, "netcdf", e) : rc;
}

/* NetCDF's own codes are negative, those of the system positive. */
int tt_netcdf_fail(const struct tt_file *file, int code, const char *call, const char *variable,
                   struct tt_error *e)
{
    const char *path = file->spec->path;
    int cause = code > 0 ? code : code == NC_ENOMEM ? ENOMEM : 0, rc;

    if (!cause && file->spec->access == TT_CREATE && tt_disk_free(path) == 0)
        cause = ENOSPC; /* "HDF error" is all NetCDF says */
    if (e->code != TT_OK)
        return e->code;
    rc = tt_fail_call(e, cause, call, path, -1);
    snprintf(e->text, sizeof e->text, "%s%s%s%s", variable ? "variable '" : "",
             variable ? variable : "", variable ? "': " : "", nc_strerror(code));
    return rc;
}

/* ---- what HDF5 holds back ---- */

static bool anywhere(const struct tt_file *file, bool here)
{
    int any = here;

    tt_file_max(file, 1, &any);
    return any;
}

/* A rank that fails to write metadata misses the barrier in which HDF5 keeps the others waiting for
 * ever. So it is given nothing to write unless there is space. Collective; ranks have agreed. */
static int check_space(struct tt_file *file, struct tt_error *e)
{
    struct netcdf_state *s = file->state;
    uint64_t needed = METADATA_RESERVE + s->variables * METADATA_PER_VARIABLE;
    int rc = TT_OK;

    if (file->rank == 0 && tt_disk_free(file->spec->path) < needed)
        rc = tt_fail_call(e, ENOSPC, "nc_sync", file->spec->path, -1);
    rc = tt_file_agree(file, rc, e);
    s->failed |= rc != TT_OK;
    return rc;
}

/* Ranks agree on whether it may be tried. */
static int flush(struct tt_file *file, struct tt_error *e)
{
    struct netcdf_state *s = file->state;
    int rc = check_space(file, e), nc;

    if (rc != TT_OK)
        return rc;
    nc = nc_sync(s->file);
    if (nc == NC_NOERR)
        return TT_OK;
    s->failed = s->sync_failed = true;
    return tt_netcdf_fail(file, nc, "nc_sync", NULL, e);
}

/* nc_close must not be the first to fail, see tt_disk_divert; so everything is flushed before it.
 */
static int close_file(struct tt_file *file, struct tt_error *e)
{
    struct netcdf_state *s = file->state;
    bool create = file->spec->access == TT_CREATE, failed = create && anywhere(file, s->failed);
    int rc = TT_OK, nc;

    if (create && !failed) {
        rc = flush(file, e);
        failed = anywhere(file, s->failed);
    }
    if (failed) {
        tt_disk_divert(file->spec->path);
        if (anywhere(file, s->sync_failed))
            nc_sync(s->file); /* complains once more, but cleans up */
    }
    nc = nc_close(s->file);
    if (nc != NC_NOERR && rc == TT_OK && !failed)
        rc = tt_netcdf_fail(file, nc, "nc_close", NULL, e);
    if (create && !failed && rc == TT_OK && file->rank == 0)
        rc = tt_disk_check_full(file->spec->path, e);
    return rc;
}

/* ---- opening and closing ---- */

static int netcdf_close(struct tt_file *file, struct tt_error *e)
{
    struct netcdf_state *s = file->state;
    int rc = s->file >= 0 ? close_file(file, e) : TT_OK;

    for (unsigned i = 0; s->slots && i < file->spec->nvariables; i++)
        free(s->slots[i].offsets);
    free(s->slots);
    free(s->staging);
    return rc;
}

/* NetCDF passes over blanks at the beginning of a path and takes '\\' for '/': it would truncate
 * another file than the one that was made, and maybe somebody's. */
static int check_name(const char *path, struct tt_error *e)
{
    if ((unsigned char)path[0] > ' ' && !strchr(path, '\\'))
        return TT_OK;
    return tt_fail(
        e, TT_FAILED,
        "'%s': NetCDF takes a path with '\\', or with a blank at its beginning, for that "
        "of another file; choose another data directory or path, or another backend",
        path);
}

static int prepare(struct tt_file *file, struct tt_error *e)
{
    const struct netcdf_opts *o = file->opts;
    struct netcdf_state *s = file->state;
    int rc = check_name(file->spec->path, e);

    s->file = -1;
    if (rc != TT_OK)
        return rc;
    s->slots = calloc(file->spec->nvariables ? file->spec->nvariables : 1, sizeof *s->slots);
    if (!s->slots)
        return tt_fail_nomem(e, "the variables");
    for (unsigned i = 0; i < file->spec->nvariables; i++)
        s->slots[i].id = -1;
    return tt_chunk_check_fit(&o->chunk, file, e);
}

static int open_file(struct tt_file *file, struct tt_error *e)
{
    const struct tt_file_spec *spec = file->spec;
    const struct netcdf_opts *o = file->opts;
    struct netcdf_state *s = file->state;
    bool create = spec->access == TT_CREATE;
    MPI_Info info = MPI_INFO_NULL;
    int rc = tt_fail_mpi(e, tt_mpi_hints_info(&o->hints, &info), "MPI_Info_set", NULL), nc;

    rc = tt_file_agree(file, rc, e);
    if (rc == TT_OK) {
        nc = create ? nc_create_par(spec->path, NC_CLOBBER | NC_NETCDF4, spec->comm, info, &s->file)
                    : nc_open_par(spec->path, NC_NOWRITE, spec->comm, info, &s->file);
        if (nc != NC_NOERR) {
            s->file = -1;
            rc = tt_netcdf_fail(file, nc, create ? "nc_create_par" : "nc_open_par", NULL, e);
        }
    }
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    return rc;
}

/* Variables with dimensions that grow, but not by steps. */
static int extend_fixed(struct tt_file *file, uint64_t step, bool per_step, struct tt_error *e)
{
    const struct tt_file_spec *spec = file->spec;
    int rc = TT_OK;

    for (unsigned i = 0; rc == TT_OK && i < spec->nvariables; i++) {
        const struct tt_variable *v = &spec->variables[i];

        if (v->unlimited && v->per_step == per_step && !tt_netcdf_has_step_dim(spec, v))
            rc = tt_netcdf_extend(file, i, step, e);
    }
    return rc;
}

static int begin(struct tt_file *file, struct tt_error *e)
{
    const struct tt_file_spec *spec = file->spec;
    int rc;

    if (spec->access != TT_CREATE)
        return TT_OK;
    rc = tt_file_agree(file, tt_netcdf_define_file(file, e), e);
    if (rc == TT_OK)
        rc = extend_fixed(file, 0, false, e);
    for (uint64_t i = 0; rc == TT_OK && i < (spec->policy == TT_GROUP ? spec->steps : 1); i++)
        rc = extend_fixed(file, i, true, e);
    return rc;
}

static int netcdf_open(struct tt_file *file, struct tt_error *e)
{
    int rc;

    H5dont_atexit(); /* has effect before the first call only: what failed is not tried again */
    rc = tt_file_agree(file, prepare(file, e), e);
    if (rc == TT_OK)
        rc = tt_disk_open_first(file, false, e);
    if (rc == TT_OK)
        rc = tt_file_agree(file, open_file(file, e), e);
    if (rc == TT_OK)
        rc = tt_file_agree(file, tt_disk_check_made(file, -1, e), e);
    if (rc == TT_OK)
        rc = tt_file_agree(file, begin(file, e), e);
    if (rc == TT_OK)
        return TT_OK;
    ((struct netcdf_state *)file->state)->failed = true;
    netcdf_close(file, e);
    tt_disk_unmake(file);
    return rc;
}

/* ---- steps ---- */

static int add_group(struct tt_file *file, uint64_t step, struct tt_error *e)
{
    struct netcdf_state *s = file->state;
    int rc = tt_netcdf_define_step(file, step, e), nc;

    if (rc != TT_OK)
        return rc;
    nc = nc_enddef(s->file);
    if (nc != NC_NOERR)
        return tt_netcdf_fail(file, nc, "nc_enddef", NULL, e);
    return extend_fixed(file, step, true, e);
}

static int add_record(struct tt_file *file, uint64_t step, struct tt_error *e)
{
    const struct tt_file_spec *spec = file->spec;
    struct netcdf_state *s = file->state;
    int rc = TT_OK;

    for (unsigned i = 0; rc == TT_OK && i < spec->nvariables; i++)
        if (tt_netcdf_has_step_dim(spec, &spec->variables[i]) &&
            (spec->steps == 0 || spec->variables[i].unlimited))
            rc = tt_netcdf_extend(file, i, step, e);
    s->steps = step + 1;
    return rc;
}

static int netcdf_define(struct tt_file *file, uint64_t step, struct tt_error *e)
{
    const struct tt_file_spec *spec = file->spec;
    struct netcdf_state *s = file->state;
    int rc;

    if (spec->access != TT_CREATE || spec->policy == TT_OVERWRITE || step < s->steps)
        return TT_OK;
    rc = check_space(file, e);
    if (rc != TT_OK || anywhere(file, s->failed))
        return rc;
    if (spec->steps > 0 && step >= spec->steps)
        rc = tt_fail(e, TT_FAILED, "'%s': step %" PRIu64 ", but only %" PRIu64 " were announced",
                     spec->path, step, spec->steps);
    else
        rc = spec->policy == TT_GROUP ? add_group(file, step, e) : add_record(file, step, e);
    s->failed |= rc != TT_OK;
    return rc;
}

/* nc_sync hands everything to the operating system, which may keep it. */
static int netcdf_sync(struct tt_file *file, struct tt_error *e)
{
    struct netcdf_state *s = file->state;
    int rc;

    if (file->spec->access != TT_CREATE || anywhere(file, s->failed))
        return TT_OK; /* the rank that failed has said so */
    rc = flush(file, e);
    if (rc == TT_OK)
        rc = tt_disk_sync(file->spec->path, e);
    if (rc == TT_OK && file->rank == 0)
        rc = tt_disk_check_full(file->spec->path, e);
    s->failed |= rc != TT_OK;
    return rc;
}

/* ---- facts ---- */

static int query_method(const struct tt_file *file, struct tt_facts *facts)
{
    const struct netcdf_opts *o = file->opts;
    const struct netcdf_state *s = file->state;
    const char *given = methods[o->method];

    if (o->method && s->lists > 0)
        return tt_facts_add(facts, "netcdf.method", given,
                            s->lists == s->transfers ? "independent" : "mixed", TT_NO_EFFECT,
                            "lists of runs have no collective call");
    return tt_facts_add(facts, "netcdf.method", given, NULL, TT_UNCONFIRMED,
                        "NetCDF does not pass on what HDF5 did");
}

/* Of the first variable with as many dimensions as the setting has. */
static int query_chunk(const struct tt_file *file, struct tt_facts *facts)
{
    const struct netcdf_opts *o = file->opts;
    const struct netcdf_state *s = file->state;
    size_t chunk[NC_MAX_VAR_DIMS], used[2] = {0, 0};
    char text[2][96] = {"", ""};
    int storage = NC_CONTIGUOUS, lead = 0;
    unsigned i = 0;
    bool same = true;

    while (i < file->spec->nvariables && (size_t)file->spec->variables[i].ndims != o->chunk.n)
        i++;
    if (o->chunk.n == 0 || i == file->spec->nvariables || s->slots[i].id < 0 ||
        nc_inq_var_chunking(s->slots[i].group, s->slots[i].id, &storage, chunk) != NC_NOERR)
        return TT_OK;
    lead = tt_netcdf_has_step_dim(file->spec, &file->spec->variables[i]);
    for (size_t d = 0; d < o->chunk.n && used[0] < 72 && used[1] < 72; d++) {
        const char *colon = d ? ":" : "";

        used[0] += (size_t)snprintf(text[0] + used[0], sizeof text[0] - used[0], "%s%" PRIu64,
                                    colon, o->chunk.values[d]);
        used[1] += (size_t)snprintf(text[1] + used[1], sizeof text[1] - used[1], "%s%zu", colon,
                                    storage == NC_CHUNKED ? chunk[(size_t)lead + d] : 0);
        same &= storage == NC_CHUNKED && chunk[(size_t)lead + d] == o->chunk.values[d];
    }
    return tt_facts_add(facts, "netcdf.chunk", text[0], text[1], same ? TT_IN_EFFECT : TT_NO_EFFECT,
                        "nc_inq_var_chunking");
}

static int query_fill(const struct tt_file *file, struct tt_facts *facts)
{
    const struct netcdf_opts *o = file->opts;
    const struct netcdf_state *s = file->state;
    int off = 0;

    if (file->spec->nvariables == 0 || s->slots[0].id < 0 ||
        nc_inq_var_fill(s->slots[0].group, s->slots[0].id, &off, NULL) != NC_NOERR)
        return TT_OK;
    return tt_facts_add(facts, "netcdf.fill", o->fill ? "yes" : "no", off ? "no" : "yes",
                        TT_UNCONFIRMED, "nc_inq_var_fill");
}

static int netcdf_query(struct tt_file *file, struct tt_facts *facts, struct tt_error *e)
{
    const struct netcdf_opts *o = file->opts;
    struct netcdf_state *s = file->state;
    bool created = file->spec->access == TT_CREATE;
    char version[96];
    int rc, result;

    snprintf(version, sizeof version, "%s", nc_inq_libvers());
    version[strcspn(version, " ")] = '\0'; /* the rest is when it was built */
    rc = tt_facts_add(facts, "netcdf.version", NULL, version, TT_IN_EFFECT, "nc_inq_libvers");
    if (rc == TT_OK)
        rc = query_method(file, facts);
    if (rc == TT_OK && created)
        rc = query_chunk(file, facts);
    if (rc == TT_OK && created)
        rc = query_fill(file, facts);
    result =
        tt_mpi_hints_query(file, MPI_INFO_NULL, &o->hints, &s->proof, o->method != 0, facts, e);
    return rc == TT_OK ? result : tt_fail_nomem(e, "facts about the settings");
}

static bool netcdf_is_collective(const void *opts)
{
    return ((const struct netcdf_opts *)opts)->method != 0;
}

const struct tt_backend tt_backend_netcdf = {
    .name = "netcdf",
    .summary = "NetCDF-4 through parallel HDF5",
    .kind = TT_BACKEND,
    .caps = TT_CAP_STORES | TT_CAP_BESIDE,
    .library = "hdf5",
    .state_size = sizeof(struct netcdf_state),
    .opts_size = sizeof(struct netcdf_opts),
    .params = params,
    .check = check,
    .is_collective = netcdf_is_collective,
    .open = netcdf_open,
    .define = netcdf_define,
    .write = tt_netcdf_write,
    .read = tt_netcdf_read,
    .sync = netcdf_sync,
    .close = netcdf_close,
    .query = netcdf_query,
};

TT_MODULE(.backend = &tt_backend_netcdf);
