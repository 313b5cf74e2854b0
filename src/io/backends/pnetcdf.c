/* SPDX-License-Identifier: GPL-3.0-or-later */
/* needs: pnetcdf (package libpnetcdf-dev) */
/* Classic NetCDF (CDF-5) through PnetCDF. The format has neither groups nor records nor strings:
 *  - slashes in a path become dots, and the step of the policy group is a prefix: step_000001.E.x;
 *    an attribute of a group is one of the file with such a name; a list of texts is one text;
 *  - a string or record is a last dimension of its bytes; the attribute "fields" says what a record
 *    holds, in the byte order of the machine that wrote it. All other values are big-endian;
 *  - the one unlimited dimension is the step, with the policy append and where the number of steps
 *    is not known or the variable is unlimited; a variable step(step) holds their numbers. Other
 *    unlimited dimensions are reserved.
 * New variables move what comes behind the header, so all steps whose number is known are defined
 * at open. Not here: fill values; subfiling and the burst buffer driver, which put data into files
 * that nobody would check, count or remove: their hints are refused. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

/* word: up to its end or a semicolon. */
static int check_hint(const char *word, const char *given_by, struct tt_error *e)
{
    static const char *const elsewhere[] = {"nc_burst_buf=", "pnetcdf_subfiling="};

    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++) {
        size_t n = strlen(elsewhere[i]);

        if (!strncmp(word, elsewhere[i], n) && strncasecmp(word + n, "disable", 7) != 0)
            return tt_fail(e, TT_USAGE,
                           "%s: '%.*s' would put data into other files than the one that is "
                           "measured; leave it out",
                           given_by, (int)strcspn(word, ";"), word);
    }
    return TT_OK;
}

static int check(const void *opts, struct tt_error *e)
{
    const struct tt_mpi_hints *hints = &((const struct pnetcdf_opts *)opts)->hints;
    const char *word = getenv("PNETCDF_HINTS"); /* PnetCDF prefers these */
    int rc = tt_mpi_hints_check(hints, "pnetcdf", e);

    for (size_t i = 0; i < hints->others.n && rc == TT_OK; i++)
        rc = check_hint(hints->others.words[i], "pnetcdf.hints", e);
    while (rc == TT_OK && word && *(word += strspn(word, "; "))) {
        rc = check_hint(word, "PNETCDF_HINTS", e);
        word += strcspn(word, ";");
    }
    return rc;
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

int tt_pnetcdf_judge(const struct tt_file *file, int code, const char *call, const char *variable,
                     struct tt_error *e)
{
    return code == NC_NOERR
               ? TT_OK
               : tt_container_fail(file, errno_of(code), call, variable, ncmpi_strerror(code), e);
}

/* ---- opening ---- */

/* PnetCDF would swap bytes in the caller's own memory, which belongs to the computation. */
static int make_info(const struct tt_mpi_hints *hints, MPI_Info *info)
{
    char value[8];
    int given = 0, rc = tt_mpi_hints_info(hints, info);

    if (rc == MPI_SUCCESS && *info == MPI_INFO_NULL)
        rc = MPI_Info_create(info);
    if (rc == MPI_SUCCESS)
        rc = MPI_Info_get(*info, "nc_in_place_swap", sizeof value - 1, value, &given);
    return rc == MPI_SUCCESS && !given ? MPI_Info_set(*info, "nc_in_place_swap", "disable") : rc;
}

static int prepare(struct tt_file *file, struct tt_error *e)
{
    const struct pnetcdf_opts *o = file->opts;
    struct pnetcdf_state *s = file->state;

    s->step_id = -1;
    s->container.collective = o->method != PNETCDF_INDEPENDENT;
    s->slots = calloc(file->spec->nvariables + 1, sizeof *s->slots);
    if (!s->slots)
        return tt_fail_nomem(e, "the variables");
    return tt_fail_mpi(e, make_info(&o->hints, &s->container.info), "MPI_Info_set", NULL);
}

static int open_file(struct tt_file *file, struct tt_error *e)
{
    const struct tt_file_spec *spec = file->spec;
    const struct pnetcdf_opts *o = file->opts;
    struct pnetcdf_state *s = file->state;
    MPI_Info info = s->container.info;
    int nc;

    if (spec->access != TT_CREATE)
        return tt_pnetcdf_judge(file,
                                ncmpi_open(spec->comm, spec->path, NC_NOWRITE, info, &s->file),
                                "ncmpi_open", NULL, e);
    nc = ncmpi_create(spec->comm, spec->path, NC_CLOBBER | NC_64BIT_DATA, info, &s->file);
    if (nc != NC_NOERR || o->method != PNETCDF_AGGREGATED)
        return tt_pnetcdf_judge(file, nc, "ncmpi_create", NULL, e);
    return tt_pnetcdf_judge(file, ncmpi_buffer_attach(s->file, (MPI_Offset)o->buffer),
                            "ncmpi_buffer_attach", NULL, e);
}

/* ---- modes ---- */

static int end_independent(struct tt_file *file, struct tt_error *e)
{
    const struct pnetcdf_opts *o = file->opts;
    const struct pnetcdf_state *s = file->state;

    if (o->method != PNETCDF_INDEPENDENT)
        return TT_OK;
    return tt_pnetcdf_judge(file, ncmpi_end_indep_data(s->file), "ncmpi_end_indep_data", NULL, e);
}

static int begin_define(struct tt_file *file, bool again, struct tt_error *e)
{
    const struct pnetcdf_state *s = file->state;
    int rc;

    if (!again)
        return tt_pnetcdf_define_step(file, e);
    rc = end_independent(file, e);
    return rc == TT_OK ? tt_pnetcdf_judge(file, ncmpi_redef(s->file), "ncmpi_redef", NULL, e) : rc;
}

/* From define mode, or from collective to independent data mode. */
static int begin_data(struct tt_file *file, bool defined, struct tt_error *e)
{
    const struct pnetcdf_opts *o = file->opts;
    struct pnetcdf_state *s = file->state;
    MPI_Offset minimum = file->spec->policy == TT_GROUP && !file->spec->steps ? HEADER_ROOM : 0;
    int rc = defined ? ncmpi__enddef(s->file, minimum, 0, 0, 0) : NC_NOERR;

    rc = tt_pnetcdf_judge(file, rc, "ncmpi_enddef", NULL, e);
    if (defined) /* what follows is collective, too */
        rc = tt_file_agree(file, rc, e);
    if (rc != TT_OK)
        return rc;
    for (unsigned i = 0; defined && i < file->spec->nvariables; i++)
        s->container.at_hand[i] = 0; /* what lies behind the header may have moved */
    s->in_data_mode = true;
    ncmpi_inq_recsize(s->file, &s->record_size);
    if (o->method == PNETCDF_INDEPENDENT)
        rc = ncmpi_begin_indep_data(s->file);
    return tt_pnetcdf_judge(file, rc, "ncmpi_begin_indep_data", NULL, e);
}

/* Makes the record of a step known to all ranks, which independent writes do not. Other dimensions
 * are reserved, and all variables that have records have the same. */
static int extend(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e)
{
    struct pnetcdf_state *s = file->state;
    MPI_Offset start = (MPI_Offset)step, count = file->rank == 0;
    long long number = (long long)step;
    int rc;

    if (!tt_container_has_step(file->spec, &file->spec->variables[variable]) || step < s->records)
        return TT_OK;
    rc = end_independent(file, e);
    if (rc != TT_OK)
        return rc;
    rc = tt_pnetcdf_judge(file,
                          ncmpi_put_vara_longlong_all(s->file, s->step_id, &start, &count, &number),
                          "ncmpi_put_vara", "step", e);
    rc = tt_file_agree(file, rc, e);
    if (rc == TT_OK)
        s->records = step + 1;
    return rc == TT_OK ? begin_data(file, false, e) : rc;
}

/* Also writes what was collected of the step before. */
static int define_after_flush(struct tt_file *file, uint64_t step, struct tt_error *e)
{
    int rc = tt_pnetcdf_flush(file, e), defined = tt_container_define(file, step, e);

    return rc == TT_OK ? defined : rc;
}

/* ---- the end ---- */

static int check_complete(const struct tt_file *file, struct tt_error *e)
{
    const struct pnetcdf_state *s = file->state;

    return tt_disk_check_complete(file->spec->path, s->end, e);
}

static int sync_file(struct tt_file *file, struct tt_error *e)
{
    const struct pnetcdf_state *s = file->state;

    return tt_pnetcdf_judge(file, ncmpi_sync(s->file), "ncmpi_sync", NULL, e);
}

static void release(struct tt_file *file)
{
    free(((struct pnetcdf_state *)file->state)->slots);
}

/* ncmpi_abort forgets definitions and removes what never left define mode. */
static int close_file(struct tt_file *file, struct tt_error *e)
{
    const struct pnetcdf_opts *o = file->opts;
    const struct pnetcdf_state *s = file->state;
    int rc = tt_pnetcdf_flush(file, e), nc; /* after a failure nobody has done it before */

    if (file->spec->access == TT_CREATE && o->method == PNETCDF_AGGREGATED)
        ncmpi_buffer_detach(s->file);
    nc = s->in_data_mode ? ncmpi_close(s->file) : ncmpi_abort(s->file);
    return rc == TT_OK ? tt_pnetcdf_judge(file, nc, "ncmpi_close", NULL, e) : rc;
}

static const struct tt_library library = {
    .defines_ahead = true,
    .byte_kinds = 1 << TT_CHAR | 1 << TT_RECORD,
    .no_length = 1, /* 0 would make the dimension unlimited */
    .lists = TT_LISTS_TOGETHER,
    .round_boxes = 1 << 16,
    .call_bytes = 1 << 30, /* PnetCDF refuses 2 GiB in one call */
    .flush_call = "ncmpi_wait_all",
    .prepare = prepare,
    .open = open_file,
    .begin_define = begin_define,
    .define = tt_pnetcdf_define,
    .define_group = tt_pnetcdf_define_group,
    .begin_data = begin_data,
    .find = tt_pnetcdf_find,
    .extend = extend,
    .check = tt_pnetcdf_check,
    .move = tt_pnetcdf_move,
    .flush = tt_pnetcdf_flush,
    .sync = sync_file,
    .check_complete = check_complete,
    .release = release,
    .close = close_file,
};

static int pnetcdf_prepare(struct tt_file *file, struct tt_error *e)
{
    return tt_container_prepare(file, &library, e);
}

/* ---- facts ---- */

static int query_method(struct tt_file *file, struct tt_facts *facts)
{
    static const char *const how[] = {"every rank in independent data mode",
                                      "collective calls for every block", NULL};
    const struct pnetcdf_opts *o = file->opts;
    const struct pnetcdf_state *s = file->state;
    char text[96];

    snprintf(text, sizeof text, "%" PRIu64 " requests of this rank in %" PRIu64 " collective calls",
             s->container.transfers, s->flushes);
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
    .ending = ".nc",
    .state_size = sizeof(struct pnetcdf_state),
    .opts_size = sizeof(struct pnetcdf_opts),
    .params = params,
    .check = check,
    .is_collective = pnetcdf_is_collective,
    .prepare = pnetcdf_prepare,
    .open = tt_container_open,
    .define = define_after_flush,
    .write = tt_pnetcdf_write,
    .read = tt_pnetcdf_read,
    .sync = tt_container_sync,
    .close = tt_container_close,
    .query = pnetcdf_query,
};

TT_MODULE(.backend = &tt_backend_pnetcdf);
