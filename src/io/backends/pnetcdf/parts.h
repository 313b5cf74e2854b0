/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of the pnetcdf backend share. */
#ifndef TT_IO_BACKENDS_PNETCDF_PARTS_H
#define TT_IO_BACKENDS_PNETCDF_PARTS_H

#include <mpi.h>
#include <pnetcdf.h>

#include "io/container.h"
#include "io/mpi_hints.h"

enum pnetcdf_method { PNETCDF_INDEPENDENT, PNETCDF_COLLECTIVE, PNETCDF_AGGREGATED };

struct pnetcdf_opts {
    int method; /* enum pnetcdf_method */
    uint64_t buffer;
    struct tt_mpi_hints hints;
};

/* A variable's place in the file. */
struct pnetcdf_slot {
    int id;
    MPI_Offset offset; /* of its first byte */
};

struct pnetcdf_state {
    struct tt_container container;
    int file;          /* PnetCDF's id */
    bool in_data_mode; /* and, with the method independent, in independent data mode */
    struct pnetcdf_slot *slots;
    int step_id;      /* the coordinate variable of an unlimited step; -1: there is none */
    uint64_t records; /* so many steps are known to all ranks */
    MPI_Offset record_size;
    uint64_t collected; /* bytes used of PnetCDF's buffer */
    uint64_t waiting;   /* of data, there */
    bool is_collecting; /* and whether any rank's may be */
    uint64_t flushes;
    uint64_t end;  /* behind everything this rank has written */
    uint64_t size; /* of the file, when last looked at */
    struct tt_mpi_proof proof;
};

/* A failed call, in one line. variable may be NULL. TT_OK for NC_NOERR. */
int tt_pnetcdf_judge(const struct tt_file *file, int code, const char *call, const char *variable,
                     struct tt_error *e);

/* ---- define.c ---- */
/* The type of a value in memory, one for each type in the file. */
MPI_Datatype tt_pnetcdf_memory_type(const struct tt_element *element);
/* The coordinate variable of the step, if that grows. */
int tt_pnetcdf_define_step(struct tt_file *file, struct tt_error *e);
/* Hooks of the container. */
int tt_pnetcdf_define(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e);
int tt_pnetcdf_define_group(struct tt_file *file, const struct tt_group *group, uint64_t step,
                            struct tt_error *e);
int tt_pnetcdf_find(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e);

/* ---- transfer.c ---- */
/* Hooks of the container. flush writes out what was collected, as the method aggregated does. */
int tt_pnetcdf_check(struct tt_file *file, struct tt_piece *p, struct tt_error *e);
int tt_pnetcdf_move(struct tt_file *file, struct tt_piece *p, struct tt_error *e);
int tt_pnetcdf_flush(struct tt_file *file, struct tt_error *e);

int tt_pnetcdf_write(struct tt_file *file, uint64_t step, const struct tt_block *b,
                     struct tt_error *e);
int tt_pnetcdf_read(struct tt_file *file, uint64_t step, const struct tt_block *b,
                    struct tt_error *e);

#endif
