/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of the netcdf backend share. */
#ifndef TT_IO_BACKENDS_NETCDF_PARTS_H
#define TT_IO_BACKENDS_NETCDF_PARTS_H

#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>

#include "io/container.h"
#include "io/mpi_hints.h"

struct netcdf_opts {
    int method; /* index: independent, collective */
    struct tt_counts chunk;
    bool fill;
    struct tt_mpi_hints hints;
};

/* A variable's place in the file. */
struct netcdf_slot {
    int group, id; /* NetCDF's; -1: not looked up yet */
    nc_type type;
    /* NetCDF takes and gives records as a C compiler would lay them out, which need not be as ours
     * are. */
    size_t *offsets; /* of the fields there; NULL: as ours */
    size_t size;     /* of the record there */
};

struct netcdf_state {
    struct tt_container container;
    int file;
    struct netcdf_slot *slots;
    uint64_t variables;        /* defined so far */
    uint64_t transfers, lists; /* all, and those whose runs every rank wrote or read by itself */
    struct tt_mpi_proof proof;
};

/* A failed call, in one line. variable may be NULL. */
int tt_netcdf_fail(const struct tt_file *file, int code, const char *call, const char *variable,
                   struct tt_error *e);

/* ---- define.c: hooks of the container ---- */
int tt_netcdf_define_types(struct tt_file *file, bool again, struct tt_error *e);
int tt_netcdf_define(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e);
int tt_netcdf_define_group(struct tt_file *file, const struct tt_group *group, uint64_t step,
                           struct tt_error *e);
int tt_netcdf_find(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e);

/* ---- transfer.c: hooks of the container ---- */
int tt_netcdf_extend(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e);
int tt_netcdf_move(struct tt_file *file, struct tt_piece *p, struct tt_error *e);

#endif
