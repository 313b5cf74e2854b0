/* SPDX-License-Identifier: GPL-3.0-or-later */
/* needs: pnetcdf (package libpnetcdf-dev) */
/* Classic NetCDF (CDF-5) through PnetCDF. The format has neither groups nor records nor strings:
 *  - slashes in a path become dots, and the step of the policy group is a prefix: step_000001.E.x;
 *  - a string or record is a last dimension of its bytes; the attribute "fields" says what a record
 *    holds, in the byte order of the machine that wrote it. All other values are big-endian;
 *  - the one unlimited dimension is the step, with the policy append and where the number of steps
 *    is not known or the variable is unlimited; a variable step(step) holds their numbers. Other
 *    unlimited dimensions are reserved.
 * New variables move what comes behind the header, so all steps whose number is known are defined
 * at open. Not here: subfiling, the burst buffer driver and fill values. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/agree.h"
#include "io/backends/pnetcdf/parts.h"
#include "io/disk.h"
#include "io/module.h"

enum { HEADER_ROOM = 1 << 20 }; /* for variables of steps that nobody has announced */

static const char *const methods[] = {"independent", "collective", "aggregated", NULL};

#define AT(field) offsetof(struct pnetcdf_opts, field)
static const struct tt_param params[] = {
    {"method", TT_PARAM_CHOICE, AT(method), "collective", NULL,
     "put_var, put_var_all, or collected (bput) and written at the end of a dump by one wait_all",
     .choices = methods},
    {"buffer", TT_PARAM_BYTES, AT(buffer), "64m", "B",
     "per rank, for the method aggregated; larger blocks are not collected", 64 << 10, INT64_MAX},
    TT_MPI_HINT_PARAMS(struct pnetcdf_opts),
    {NULL},
};

static int check(const void *opts, struct tt_error *e)
{
    return tt_mpi_hints_check(&((const struct pnetcdf_opts *)opts)->hints, "pnetcdf", e);
}

/* ---- errors ---- */

static int errno_of(int code)
{
    switch (code) {
    case NC_ENO_SPACE:
        return ENOSPC;
    case NC_EQUOTA:
        return EDQUOT;
    case NC_EACCESS:
        return EACCES;
    case NC_ENOENT:
        return ENOENT;
    case NC_EEXIST:
        return EEXIST;
    case NC_ENOMEM:
        return ENOMEM;
    default:
        return 0;
    }
}

int tt_pnetcdf_fail(struct tt_file *file, int code, const char *call, const char *variable,
                    struct tt_error *e)
{
    const char *path = file->spec->path;
    int cause = errno_of(code), rc;

    if (!cause && file->spec->access == TT_CREATE && tt_disk_free(path) == 0)
        cause = ENOSPC; /* Open MPI says at best that a write failed */
    if (e->code != TT_OK)
        return e->code;
    rc = tt_fail_call(e, cause, call, path, -1);
    snprintf(e->text, sizeof e->text, "%s%s%s%s", variable ? "variable '" : "",
             variable ? variable : "", variable ? "': " : "", ncmpi_strerror(code));
    return rc;
}

/* ---- modes ---- */

/* From define mode, or from collective to independent data mode. */
static int begin_data(struct tt_file *file, bool defined, struct tt_error *e)
{
    const struct pnetcdf_opts *o = file->opts;
    struct pnetcdf_state *s = file->state;
    MPI_Offset minimum = file->spec->policy == TT_GROUP && !file->spec->steps ? HEADER_ROOM : 0;
    int rc = defined ? ncmpi__enddef(s->file, minimum, 0, 0, 0) : NC_NOERR;

    if (rc != NC_NOERR)
        return tt_pnetcdf_fail(file, rc, "ncmpi_enddef", NULL, e);
    s->in_data_mode = true;
    ncmpi_inq_recsize(s->file, &s->record_size);
    if (o->method == PNETCDF_INDEPENDENT)
        rc = ncmpi_begin_indep_data(s->file);
    return rc == NC_NOERR ? TT_OK : tt_pnetcdf_fail(file, rc, "ncmpi_begin_indep_data", NULL, e);
}

static int end_independent(struct tt_file *file, struct tt_error *e)
{
    const struct pnetcdf_opts *o = file->opts;
    struct pnetcdf_state *s = file->state;
    int rc = o->method == PNETCDF_INDEPENDENT ? ncmpi_end_indep_data(s->file) : NC_NOERR;

    return rc == NC_NOERR ? TT_OK : tt_pnetcdf_fail(file, rc, "ncmpi_end_indep_data", NULL, e);
}

/* Makes the record known to all ranks, which independent writes do not. */
static int add_record(struct tt_file *file, uint64_t step, struct tt_error *e)
{
    struct pnetcdf_state *s = file->state;
    MPI_Offset start = (MPI_Offset)step, count = file->rank == 0;
    long long number = (long long)step;
    int rc = end_independent(file, e), nc;

    if (rc != TT_OK)
        return rc;
    nc = ncmpi_put_vara_longlong_all(s->file, s->step_id, &start, &count, &number);
    if (nc != NC_NOERR)
        rc = tt_pnetcdf_fail(file, nc, "ncmpi_put_vara", "step", e);
    else
        s->steps = step + 1;
    return tt_file_agree(file, rc, e) == TT_OK ? begin_data(file, false, e) : e->code;
}

static int add_group(struct tt_file *file, uint64_t step, struct tt_error *e)
{
    struct pnetcdf_state *s = file->state;
    int rc = end_independent(file, e), nc;

    if (rc != TT_OK)
        return rc;
    nc = ncmpi_redef(s->file);
    if (nc != NC_NOERR)
        return tt_pnetcdf_fail(file, nc, "ncmpi_redef", NULL, e);
    for (unsigned i = 0; i < file->spec->nvariables; i++)
        s->slots[i].id = -1; /* what lies behind the header may move */
    rc = tt_file_agree(file, tt_pnetcdf_define_step(file, step, e), e);
    return rc == TT_OK ? begin_data(file, true, e) : rc;
}

static int pnetcdf_define(struct tt_file *file, uint64_t step, struct tt_error *e)
{
    const struct tt_file_spec *spec = file->spec;
    struct pnetcdf_state *s = file->state;
    int rc = tt_pnetcdf_flush(file, e), failed = s->failed;

    if (spec->access != TT_CREATE || spec->policy == TT_OVERWRITE || step < s->steps)
        return rc;
    tt_file_max(file, 1, &failed);
    if (failed)
        return rc;
    if (spec->policy == TT_APPEND && s->step_id >= 0)
        rc = add_record(file, step, e);
    else if (spec->policy == TT_GROUP && spec->steps == 0)
        rc = add_group(file, step, e);
    else if (step >= spec->steps && spec->steps > 0)
        rc = tt_fail(e, TT_FAILED, "'%s': step %" PRIu64 ", but only %" PRIu64 " were announced",
                     spec->path, step, spec->steps);
    s->failed |= rc != TT_OK;
    return rc;
}

/* ---- opening and closing ---- */

/* PnetCDF would swap bytes in the caller's own memory, which belongs to the computation. */
static int make_info(const struct tt_file *file, MPI_Info *info)
{
    const struct pnetcdf_opts *o = file->opts;
    char value[8];
    int given = 0, rc = tt_mpi_hints_info(&o->hints, info);

    if (rc == MPI_SUCCESS && *info == MPI_INFO_NULL)
        rc = MPI_Info_create(info);
    if (rc == MPI_SUCCESS)
        rc = MPI_Info_get(*info, "nc_in_place_swap", sizeof value - 1, value, &given);
    return rc == MPI_SUCCESS && !given ? MPI_Info_set(*info, "nc_in_place_swap", "disable") : rc;
}

static int open_file(struct tt_file *file, struct tt_error *e)
{
    const struct tt_file_spec *spec = file->spec;
    struct pnetcdf_state *s = file->state;
    bool create = spec->access == TT_CREATE;
    MPI_Info info = MPI_INFO_NULL;
    int rc = tt_fail_mpi(e, make_info(file, &info), "MPI_Info_set", NULL), nc;

    rc = tt_file_agree(file, rc, e);
    if (rc == TT_OK) {
        nc = create
                 ? ncmpi_create(spec->comm, spec->path, NC_CLOBBER | NC_64BIT_DATA, info, &s->file)
                 : ncmpi_open(spec->comm, spec->path, NC_NOWRITE, info, &s->file);
        if (nc != NC_NOERR) {
            s->file = -1;
            rc = tt_pnetcdf_fail(file, nc, create ? "ncmpi_create" : "ncmpi_open", NULL, e);
        }
    }
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    return rc;
}

static int prepare(struct tt_file *file, struct tt_error *e)
{
    struct pnetcdf_state *s = file->state;

    s->file = s->step_id = -1;
    s->slots = calloc(file->spec->nvariables ? file->spec->nvariables : 1, sizeof *s->slots);
    if (!s->slots)
        return tt_fail_nomem(e, "the variables");
    for (unsigned i = 0; i < file->spec->nvariables; i++)
        s->slots[i].id = -1;
    return TT_OK;
}

static int begin(struct tt_file *file, struct tt_error *e)
{
    const struct pnetcdf_opts *o = file->opts;
    struct pnetcdf_state *s = file->state;
    bool create = file->spec->access == TT_CREATE;
    int rc = create ? tt_file_agree(file, tt_pnetcdf_define_file(file, e), e) : TT_OK, nc;

    if (rc == TT_OK)
        rc = begin_data(file, create, e);
    if (rc != TT_OK || !create || o->method != PNETCDF_AGGREGATED)
        return rc;
    nc = ncmpi_buffer_attach(s->file, (MPI_Offset)o->buffer);
    return nc == NC_NOERR ? TT_OK : tt_pnetcdf_fail(file, nc, "ncmpi_buffer_attach", NULL, e);
}

/* ncmpi_abort forgets definitions and removes what never left define mode. */
static int close_file(struct tt_file *file, struct tt_error *e)
{
    struct pnetcdf_state *s = file->state;
    int rc = s->in_data_mode ? ncmpi_close(s->file) : ncmpi_abort(s->file);

    return rc == NC_NOERR ? TT_OK : tt_pnetcdf_fail(file, rc, "ncmpi_close", NULL, e);
}

static int pnetcdf_open(struct tt_file *file, struct tt_error *e)
{
    struct pnetcdf_state *s = file->state;
    int rc = tt_file_agree(file, prepare(file, e), e);

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
    if (s->file >= 0)
        close_file(file, e);
    free(s->slots);
    tt_disk_unmake(file);
    return rc;
}

/* ---- the end ---- */

/* A short write by an aggregator is reported to nobody: the file is too short, or it has holes on a
 * file system without a free block. */
static int check_complete(const struct tt_file *file, struct tt_error *e)
{
    const struct pnetcdf_state *s = file->state;
    const char *path = file->spec->path;
    struct stat st;

    if (stat(path, &st) != 0)
        return tt_fail_call(e, errno, "stat", path, -1);
    if (s->end > 0 && tt_disk_check_full(path, e) != TT_OK)
        return e->code;
    if ((uint64_t)st.st_size >= s->end)
        return TT_OK;
    if (tt_disk_free(path) == 0)
        return tt_fail_call(e, ENOSPC, "write", path, -1);
    return tt_fail(e, TT_CORRUPT, "'%s' has %lld bytes, but %" PRIu64 " were written to it", path,
                   (long long)st.st_size, s->end);
}

static int pnetcdf_sync(struct tt_file *file, struct tt_error *e)
{
    struct pnetcdf_state *s = file->state;
    int rc, failed, nc;

    if (file->spec->access != TT_CREATE)
        return TT_OK;
    rc = tt_pnetcdf_flush(file, e);
    failed = s->failed;
    tt_file_max(file, 1, &failed);
    if (failed)
        return rc; /* the rank that failed has said so, and ompio lets nobody sync after that */
    nc = ncmpi_sync(s->file);
    if (nc != NC_NOERR)
        rc = tt_pnetcdf_fail(file, nc, "ncmpi_sync", NULL, e);
    else
        rc = check_complete(file, e);
    s->failed |= rc != TT_OK;
    return rc;
}

static int pnetcdf_close(struct tt_file *file, struct tt_error *e)
{
    const struct pnetcdf_opts *o = file->opts;
    struct pnetcdf_state *s = file->state;
    int rc = tt_pnetcdf_flush(file, e), closed;

    if (file->spec->access == TT_CREATE && o->method == PNETCDF_AGGREGATED)
        ncmpi_buffer_detach(s->file);
    closed = close_file(file, e);
    if (rc == TT_OK)
        rc = closed;
    if (rc == TT_OK && file->spec->access == TT_CREATE && !s->failed)
        rc = check_complete(file, e);
    free(s->slots);
    free(s->numbers);
    free(s->boxes);
    free(s->staging);
    return rc;
}

static int query_method(struct tt_file *file, struct tt_facts *facts)
{
    static const char *const how[] = {"every rank in independent data mode",
                                      "collective calls for every block", NULL};
    const struct pnetcdf_opts *o = file->opts;
    const struct pnetcdf_state *s = file->state;
    char text[96];

    snprintf(text, sizeof text, "%" PRIu64 " requests of this rank in %" PRIu64 " collective calls",
             s->transfers, s->flushes);
    return tt_facts_add(facts, "pnetcdf.method", methods[o->method], methods[o->method],
                        TT_UNCONFIRMED, o->method == PNETCDF_AGGREGATED ? text : how[o->method]);
}

static int pnetcdf_query(struct tt_file *file, struct tt_facts *facts, struct tt_error *e)
{
    const struct pnetcdf_opts *o = file->opts;
    struct pnetcdf_state *s = file->state;
    MPI_Info info = MPI_INFO_NULL;
    char version[96];
    int rc = tt_pnetcdf_flush(file, e), result;

    snprintf(version, sizeof version, "%s", ncmpi_inq_libvers());
    version[strcspn(version, " ")] = '\0'; /* the rest is when it was made */
    if (tt_facts_add(facts, "pnetcdf.version", NULL, version, TT_IN_EFFECT, "ncmpi_inq_libvers") !=
            TT_OK ||
        query_method(file, facts) != TT_OK)
        rc = tt_fail_nomem(e, "facts");
    if (ncmpi_inq_file_info(s->file, &info) != NC_NOERR)
        info = MPI_INFO_NULL;
    result = tt_mpi_hints_query(file, info, &o->hints, &s->proof, o->method != PNETCDF_INDEPENDENT,
                                facts, e);
    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    return rc == TT_OK ? result : rc;
}

static bool pnetcdf_is_collective(const void *opts)
{
    return ((const struct pnetcdf_opts *)opts)->method != PNETCDF_INDEPENDENT;
}

const struct tt_backend tt_backend_pnetcdf = {
    .name = "pnetcdf",
    .summary = "classic NetCDF (CDF-5) through PnetCDF",
    .kind = TT_BACKEND,
    .caps = TT_CAP_STORES | TT_CAP_BESIDE,
    .library = "mpi",
    .state_size = sizeof(struct pnetcdf_state),
    .opts_size = sizeof(struct pnetcdf_opts),
    .params = params,
    .check = check,
    .is_collective = pnetcdf_is_collective,
    .open = pnetcdf_open,
    .define = pnetcdf_define,
    .write = tt_pnetcdf_write,
    .read = tt_pnetcdf_read,
    .sync = pnetcdf_sync,
    .close = pnetcdf_close,
    .query = pnetcdf_query,
};

TT_MODULE(.backend = &tt_backend_pnetcdf);
