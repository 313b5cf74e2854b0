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

#include "base/agree.h"
#include "io/backends/netcdf/parts.h"
#include "io/chunk.h"
#include "io/module.h"

enum { METADATA_PER_VARIABLE = 4 << 10 }; /* that HDF5 may hold back in memory */

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

/* NetCDF's own codes are negative, those of the system positive. "HDF error" is all it says of what
 * happens below. */
int tt_netcdf_fail(const struct tt_file *file, int code, const char *call, const char *variable,
                   struct tt_error *e)
{
    int cause = code > 0 ? code : code == NC_ENOMEM ? ENOMEM : 0;

    return tt_container_fail(file, cause, call, variable, nc_strerror(code), e);
}

static int judge(const struct tt_file *file, int code, const char *call, struct tt_error *e)
{
    return code == NC_NOERR ? TT_OK : tt_netcdf_fail(file, code, call, NULL, e);
}

/* ---- hooks of the container ---- */

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

    if (rc != TT_OK)
        return rc;
    s->container.collective = o->method != 0;
    s->slots = calloc(file->spec->nvariables + 1, sizeof *s->slots);
    if (!s->slots)
        return tt_fail_nomem(e, "the variables");
    for (unsigned i = 0; i < file->spec->nvariables; i++)
        s->slots[i].id = -1;
    if (tt_chunk_check_fit(&o->chunk, file, e) != TT_OK)
        return e->code;
    return tt_fail_mpi(e, tt_mpi_hints_info(&o->hints, &s->container.info), "MPI_Info_set", NULL);
}

static int open_file(struct tt_file *file, struct tt_error *e)
{
    const struct tt_file_spec *spec = file->spec;
    struct netcdf_state *s = file->state;
    MPI_Info info = s->container.info;

    if (spec->access == TT_CREATE)
        return judge(file,
                     nc_create_par(spec->path, NC_CLOBBER | NC_NETCDF4, spec->comm, info, &s->file),
                     "nc_create_par", e);
    return judge(file, nc_open_par(spec->path, NC_NOWRITE, spec->comm, info, &s->file),
                 "nc_open_par", e);
}

static int begin_data(struct tt_file *file, bool defined, struct tt_error *e)
{
    const struct netcdf_state *s = file->state;

    return defined ? judge(file, nc_enddef(s->file), "nc_enddef", e) : TT_OK;
}

/* NetCDF does not say what HDF5 holds back in memory. */
static uint64_t held(const struct tt_file *file)
{
    return ((const struct netcdf_state *)file->state)->variables * METADATA_PER_VARIABLE;
}

/* Hands everything to the operating system, which may keep it. */
static int flush(struct tt_file *file, struct tt_error *e)
{
    return judge(file, nc_sync(((const struct netcdf_state *)file->state)->file), "nc_sync", e);
}

static void release(struct tt_file *file)
{
    struct netcdf_state *s = file->state;

    for (unsigned i = 0; s->slots && i < file->spec->nvariables; i++)
        free(s->slots[i].offsets);
    free(s->slots);
}

static int close_file(struct tt_file *file, struct tt_error *e)
{
    return judge(file, nc_close(((const struct netcdf_state *)file->state)->file), "nc_close", e);
}

static const struct tt_library library = {
    .defines_ahead = true,
    .byte_kinds = 1 << TT_CHAR,
    .no_length = 1, /* 0 would make the dimension unlimited */
    .lists = TT_LISTS_ALONE,
    .round_boxes = 1,
    .call_bytes = UINT64_MAX,
    .flush_call = "nc_sync",
    .prepare = prepare,
    .open = open_file,
    .begin_define = tt_netcdf_define_types,
    .define = tt_netcdf_define,
    .define_group = tt_netcdf_define_group,
    .begin_data = begin_data,
    .find = tt_netcdf_find,
    .extend = tt_netcdf_extend,
    .move = tt_netcdf_move,
    .held = held,
    .flush = flush,
    .release = release,
    .close = close_file,
};

static int netcdf_prepare(struct tt_file *file, struct tt_error *e)
{
    H5dont_atexit(); /* has effect before the first call only: what failed is not tried again */
    return tt_container_prepare(file, &library, e);
}

static int netcdf_write(struct tt_file *file, uint64_t step, const struct tt_block *b,
                        struct tt_error *e)
{
    const struct tt_element *element = file->spec->variables[b->variable].element;
    struct netcdf_state *s = file->state;
    int rc;

    tt_mpi_proof_before(&s->proof);
    rc = tt_container_write(file, step, b, e);
    tt_mpi_proof_after(&s->proof, tt_selection_count(&b->file) * element->size);
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
    lead = tt_container_has_step(file->spec, &file->spec->variables[i]);
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
    .ending = ".nc",
    .state_size = sizeof(struct netcdf_state),
    .opts_size = sizeof(struct netcdf_opts),
    .params = params,
    .check = check,
    .is_collective = netcdf_is_collective,
    .prepare = netcdf_prepare,
    .open = tt_container_open,
    .define = tt_container_define,
    .write = netcdf_write,
    .read = tt_container_read,
    .sync = tt_container_sync,
    .close = tt_container_close,
    .query = netcdf_query,
};

TT_MODULE(.backend = &tt_backend_netcdf);
