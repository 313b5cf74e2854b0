/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of the netcdf backend share. */
#ifndef TT_IO_BACKENDS_NETCDF_PARTS_H
#define TT_IO_BACKENDS_NETCDF_PARTS_H

#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>

#include "io/mpi_hints.h"
#include "io/file.h"

/* The step before and the bytes of a string behind the variable's own dimensions. */
enum { NETCDF_DIMS = TT_MAX_DIMS + 1 };

struct netcdf_opts {
    int method; /* index: independent, collective */
    struct tt_counts chunk;
    bool fill;
    struct tt_mpi_hints hints;
};

/* A variable's place in the file. */
struct netcdf_slot {
    int group, id; /* NetCDF's; -1: not looked up yet */
    uint64_t step; /* whose variable it is, where every step has its own */
    int access;    /* NC_INDEPENDENT, as at the beginning, or NC_COLLECTIVE */
    nc_type type;
    /* NetCDF takes and gives records as a C compiler would lay them out, which need not be as ours
     * are. */
    size_t *offsets; /* of the fields there; NULL: as ours */
    size_t size;     /* of the record there */
};

struct netcdf_state {
    int file; /* -1: not open */
    struct netcdf_slot *slots;
    uint64_t steps;     /* so many have a place in the file */
    uint64_t variables; /* defined so far */
    void *staging;      /* kept between transfers */
    size_t staging_size;
    uint64_t transfers, lists; /* all, and those whose runs every rank wrote or read by itself */
    struct tt_mpi_proof proof;
    bool failed;      /* a write or sync: what HDF5 keeps can not be flushed */
    bool sync_failed; /* and this was nc_sync itself */
};

/* True if the step is a dimension of the variable. */
static inline bool tt_netcdf_has_step_dim(const struct tt_file_spec *spec,
                                          const struct tt_variable *v)
{
    return v->per_step && spec->policy == TT_APPEND;
}

/* A string has a last dimension of its characters. */
static inline bool tt_netcdf_has_byte_dim(const struct tt_element *element)
{
    return element->kind == TT_CHAR && element->size > 1;
}

/* A dimension that is to have no length cannot have 0: that would make it unlimited. */
static inline uint64_t tt_netcdf_length(uint64_t n)
{
    return n ? n : 1;
}

/* A failed call, in one line. variable may be NULL. */
int tt_netcdf_fail(const struct tt_file *file, int code, const char *call, const char *variable,
                   struct tt_error *e);

/* ---- define.c ---- */
/* Everything that is known at open. */
int tt_netcdf_define_file(struct tt_file *file, struct tt_error *e);
/* Of the policy group: the variables of one step. */
int tt_netcdf_define_step(struct tt_file *file, uint64_t step, struct tt_error *e);
/* The variable of this step. */
int tt_netcdf_find(struct tt_file *file, unsigned variable, uint64_t step,
                   struct netcdf_slot **slot, struct tt_error *e);

/* ---- transfer.c ---- */
/* Let unlimited dimensions reach to the end of the variable at this step. Collective: transfers of
 * single ranks can not do that. */
int tt_netcdf_extend(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e);
int tt_netcdf_write(struct tt_file *file, uint64_t step, const struct tt_block *b,
                    struct tt_error *e);
int tt_netcdf_read(struct tt_file *file, uint64_t step, const struct tt_block *b,
                   struct tt_error *e);

#endif
