/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of the hdf5 backend share. */
#ifndef TT_IO_BACKENDS_HDF5_PARTS_H
#define TT_IO_BACKENDS_HDF5_PARTS_H

#include <hdf5.h>

#include "io/file.h"

struct hdf5_opts {
    int method; /* index: independent, collective */
    struct tt_counts chunk;
    uint64_t delayed_close; /* steps */
    uint64_t compress, alignment, alignment_threshold, metadata_block;
    bool collective_metadata;
    int libver; /* index: earliest, latest */
    int fill;   /* index: never, ifset */
    struct tt_words hints;
};

/* A variable's open dataset. Opening one per transfer would cost more than many transfers do. */
struct hdf5_slot {
    hid_t
        type; /* in memory and in the file alike, so that HDF5 only converts what it is asked to */
    hid_t dataset, space;
    uint64_t step; /* whose dataset it is, where every step has its own */
    hid_t *late;   /* of earlier steps, still open: as many as are closed late, a ring */
    uint64_t nlate;
};

struct hdf5_state {
    hid_t file, transfer;
    MPI_File handle; /* MPI's, below HDF5; belongs to HDF5 */
    struct hdf5_slot *slots;
    uint64_t steps;                /* so many have a place in the file */
    struct tt_extent_list extents; /* kept between transfers, as is the buffer */
    void *staging;
    size_t staging_size;
    uint64_t transfers;
    uint32_t modes, causes; /* all that HDF5 said about collective transfers, or-ed */
    bool failed;            /* a transfer or sync failed: what HDF5 keeps can not be flushed */
    bool flush_failed;      /* and this was H5Fflush itself */
    struct tt_error late;   /* of a flush that nobody asked for; told by close */
};

/* True if the step is a dimension of the variable's dataset. */
static inline bool tt_hdf5_has_step_dim(const struct tt_file_spec *spec,
                                        const struct tt_variable *v)
{
    return v->per_step && spec->policy == TT_APPEND;
}

/* A failed call: the innermost message and errno of HDF5's stack. variable may be NULL. */
int tt_hdf5_fail(const struct tt_file *file, const char *call, const char *variable,
                 struct tt_error *e);

/* A rank that fails to write metadata misses the barrier in which HDF5 keeps the others waiting
 * forever. So nothing is flushed unless there is space for all metadata HDF5 holds. */
int tt_hdf5_check_space(const struct tt_file *file, struct tt_error *e);
/* Collective, as is every flush: what a rank knows of itself must not decide whether it takes part.
 */
bool tt_hdf5_failed_anywhere(const struct tt_file *file);
int tt_hdf5_flush(struct tt_file *file, struct tt_error *e);

/* The type of an element in memory and in the file; the caller closes it. */
hid_t tt_hdf5_element_type(const struct tt_element *element);
herr_t tt_hdf5_add_attribute(hid_t dataset, const struct tt_attribute *a);

/* The dataset of a variable into its slot: a new one, one that is there (ranks have agreed), one
 * more step long, or as long as the variable is now. What was in the slot is closed. */
int tt_hdf5_create(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e);
int tt_hdf5_open_together(struct tt_file *file, unsigned variable, uint64_t step,
                          struct tt_error *e);
int tt_hdf5_extend(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e);
int tt_hdf5_grow(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e);
void tt_hdf5_close_slot(struct hdf5_slot *slot);
/* Also those of earlier steps; frees. */
void tt_hdf5_close_late(struct hdf5_slot *slot, uint64_t n);

/* A block whose memory_element has the plain variable as a field: that field between the block's
 * memory and packed values, one after the other. */
int tt_hdf5_convert_field(struct tt_file *file, enum tt_direction direction,
                          const struct tt_block *b, void *packed, struct tt_error *e);

/* Write or read a block; called by all ranks equally often if the transfer is collective. */
int tt_hdf5_transfer(struct tt_file *file, enum tt_direction direction, struct hdf5_slot *slot,
                     uint64_t step, const struct tt_block *b, struct tt_error *e);

/* Settings as given, read back and proven; also fills file->library_bytes. */
int tt_hdf5_query(struct tt_file *file, struct tt_facts *facts, struct tt_error *e);

#endif
