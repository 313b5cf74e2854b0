/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of the pnetcdf backend share. */
#ifndef TT_IO_BACKENDS_PNETCDF_PARTS_H
#define TT_IO_BACKENDS_PNETCDF_PARTS_H

#include <mpi.h>
#include <pnetcdf.h>

#include "io/mpi_hints.h"
#include "io/file.h"

enum pnetcdf_method { PNETCDF_INDEPENDENT, PNETCDF_COLLECTIVE, PNETCDF_AGGREGATED };

/* The step before and the bytes of a record behind the variable's own dimensions. */
enum { PNETCDF_DIMS = TT_MAX_DIMS + 1 };

struct pnetcdf_opts {
    int method; /* enum pnetcdf_method */
    uint64_t buffer;
    struct tt_mpi_hints hints;
};

/* A variable's place in the file. */
struct pnetcdf_slot {
    int id;            /* of the variable; -1: not looked up yet */
    uint64_t step;     /* whose variable it is, where every step has its own */
    MPI_Offset offset; /* of its first byte */
};

struct pnetcdf_state {
    int file;          /* PnetCDF's id; -1: not open */
    bool in_data_mode; /* and, with the method independent, in independent data mode */
    struct pnetcdf_slot *slots;
    int step_id;    /* the coordinate variable of an unlimited step; -1: there is none */
    uint64_t steps; /* so many have a place in the file */
    MPI_Offset record_size;
    MPI_Offset *numbers; /* starts and counts of boxes, kept between transfers, as are */
    MPI_Offset **boxes;  /* pointers to them: all starts, then all counts, */
    size_t boxes_size;   /* so many have memory, */
    void *staging;       /* and the buffer */
    size_t staging_size; /* of so many bytes */
    uint64_t collected;  /* bytes used of PnetCDF's buffer */
    uint64_t waiting;    /* of data, there */
    bool is_collecting;  /* and whether any rank's may be */
    uint64_t flushes, transfers;
    uint64_t end;  /* behind everything this rank has written */
    uint64_t size; /* of the file, when last looked at */
    struct tt_mpi_proof proof;
    bool failed; /* a call of this rank that wrote: it may not be in step with the others' */
};

/* True if the step is a dimension of the variable. */
static inline bool tt_pnetcdf_has_step_dim(const struct tt_file_spec *spec,
                                           const struct tt_variable *v)
{
    return v->per_step && spec->policy == TT_APPEND;
}

/* Strings and records have a last dimension of their bytes. */
static inline bool tt_pnetcdf_has_byte_dim(const struct tt_element *element)
{
    return element->kind == TT_RECORD || (element->kind == TT_CHAR && element->size > 1);
}

/* A failed call, in one line. variable may be NULL. */
int tt_pnetcdf_fail(struct tt_file *file, int code, const char *call, const char *variable,
                    struct tt_error *e);

/* ---- define.c ---- */
/* The type of a value in memory, one for each type in the file. */
MPI_Datatype tt_pnetcdf_memory_type(const struct tt_element *element);
/* Everything that is known at open. */
int tt_pnetcdf_define_file(struct tt_file *file, struct tt_error *e);
/* Of the policy group: the variables of one step. */
int tt_pnetcdf_define_step(struct tt_file *file, uint64_t step, struct tt_error *e);
/* The variable of this step. */
int tt_pnetcdf_find(struct tt_file *file, unsigned variable, uint64_t step,
                    const struct pnetcdf_slot **slot, struct tt_error *e);

/* ---- transfer.c ---- */
int tt_pnetcdf_write(struct tt_file *file, uint64_t step, const struct tt_block *b,
                     struct tt_error *e);
int tt_pnetcdf_read(struct tt_file *file, uint64_t step, const struct tt_block *b,
                    struct tt_error *e);

/* Write out what was collected. Collective; only the method aggregated collects. */
int tt_pnetcdf_flush(struct tt_file *file, struct tt_error *e);

#endif
