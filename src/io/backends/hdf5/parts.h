/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of the hdf5 backend share. */
#ifndef TT_IO_BACKENDS_HDF5_PARTS_H
#define TT_IO_BACKENDS_HDF5_PARTS_H

#include <hdf5.h>

#include "io/container.h"

enum { HDF5_FILTERS = 8, HDF5_FILTER_VALUES = 16 };
/* Connectors by name, and event sets. */
#define TT_HDF5_CONNECTORS H5_VERSION_GE(1, 14, 0)

struct hdf5_opts {
    char *vol;  /* NULL: HDF5's default */
    int method; /* index: independent, collective */
    struct tt_counts chunk;
    struct tt_words filter; /* NAME:VALUE:VALUE each, in the order in which they are applied */
    uint64_t delayed_close; /* steps */
    uint64_t alignment, alignment_threshold, metadata_block, metadata_cache;
    bool collective_metadata;
    int libver; /* index: earliest, latest */
    int fill;   /* index: never, ifset */
    struct tt_words hints;
};

struct hdf5_filter {
    char name[32]; /* as given */
    H5Z_filter_t number;
    unsigned n, values[HDF5_FILTER_VALUES];
    bool missing; /* on any rank */
};

/* A variable's open dataset. Opening one per transfer would cost more than many transfers do. */
struct hdf5_slot {
    hid_t type; /* in memory and in the file alike: HDF5 converts only what it is asked to */
    hid_t dataset, space;
    hid_t *late; /* of earlier steps, still open: as many as are closed late, a ring */
    uint64_t nlate;
};

struct hdf5_state {
    struct tt_container container;
    hid_t access, file, transfer; /* properties of access, the file, properties of transfers */
    MPI_File handle;              /* MPI's, below HDF5; belongs to HDF5; MPI_FILE_NULL: none */
    struct hdf5_slot *slots;
    hid_t memory_type; /* of blocks with a memory_element, during the transfer */
    struct hdf5_filter filters[HDF5_FILTERS];
    uint32_t modes, causes; /* all that HDF5 said about collective transfers, or-ed */
    /* while a block is submitted: the block, and the event set of its calls (-1: they block) */
    const struct tt_block *submitting;
    hid_t events;
    uint64_t submitted, went_on; /* calls, and those that had not ended when they returned */
};

struct hdf5_ticket {
    hid_t events; /* 0: none */
    enum tt_direction direction;
};

/* A failed call: the innermost message and errno of HDF5's stack. variable may be NULL. */
int tt_hdf5_fail(const struct tt_file *file, const char *call, const char *variable,
                 struct tt_error *e);

/* The same of another stack of errors than HDF5's current one. */
int tt_hdf5_fail_of(const struct tt_file *file, hid_t stack, const char *call, const char *variable,
                    struct tt_error *e);

/* The type of an element in memory and in the file; the caller closes it. */
hid_t tt_hdf5_element_type(const struct tt_element *element);
/* To a dataset or a group. */
herr_t tt_hdf5_add_attribute(hid_t object, const struct tt_attribute *a);

/* ---- datasets.c: hooks of the container ---- */
int tt_hdf5_define(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e);
int tt_hdf5_define_group(struct tt_file *file, const struct tt_group *group, uint64_t step,
                         struct tt_error *e);
int tt_hdf5_find(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e);
int tt_hdf5_extend(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e);
void tt_hdf5_close_slot(struct hdf5_slot *slot);

/* ---- filters.c ---- */
/* What a word of the setting stands for. */
int tt_hdf5_filter_read(const char *word, struct hdf5_filter *f, struct tt_error *e);
int tt_hdf5_filters_check(const struct hdf5_opts *o, struct tt_error *e);
/* tt_backend.loss: how much a filter loses depends on the filter and its parameters. */
double tt_hdf5_filters_loss(const void *opts);
/* Which of the filters HDF5 has on all ranks; collective. */
int tt_hdf5_filters_choose(struct tt_file *file, struct tt_error *e);
/* Whether new datasets have any. */
bool tt_hdf5_is_filtered(const struct tt_file *file);
int tt_hdf5_filters_set(const struct tt_file *file, const char *variable, hid_t properties,
                        struct tt_error *e);

/* A block whose memory_element has the plain variable as a field: that field between the block's
 * memory and packed values, one after the other. */
int tt_hdf5_convert_field(struct tt_file *file, enum tt_direction direction,
                          const struct tt_block *b, void *packed, struct tt_error *e);

/* ---- transfer.c ---- */
int tt_hdf5_move(struct tt_file *file, struct tt_piece *p, struct tt_error *e); /* hook */
int tt_hdf5_write(struct tt_file *file, uint64_t step, const struct tt_block *b,
                  struct tt_error *e);
int tt_hdf5_read(struct tt_file *file, uint64_t step, const struct tt_block *b, struct tt_error *e);

/* ---- connector.c ---- */
int tt_hdf5_check_connector(const struct hdf5_opts *o, struct tt_error *e);
/* Load the connector that is asked for, for files that are opened with these properties. */
int tt_hdf5_set_connector(const struct tt_file *file, hid_t access, struct tt_error *e);
/* Returns TT_OK or TT_NOMEM. */
int tt_hdf5_query_connector(const struct tt_file *file, struct tt_facts *facts);
/* H5Dwrite or H5Dread of the piece, into the event set of the block that is being submitted. */
herr_t tt_hdf5_call_async(struct hdf5_state *s, const struct tt_piece *p, hid_t type, hid_t memory,
                          hid_t space);
#if TT_HDF5_CONNECTORS
unsigned tt_hdf5_most_submitted(const void *opts);
int tt_hdf5_submit(struct tt_file *file, enum tt_direction direction, uint64_t step,
                   const struct tt_block *b, struct tt_ticket *t, struct tt_error *e);
int tt_hdf5_wait(struct tt_file *file, struct tt_ticket *t, struct tt_error *e);
#endif

/* Settings as given, read back and proven; also fills file->library_bytes. */
int tt_hdf5_query(struct tt_file *file, struct tt_facts *facts, struct tt_error *e);

#endif
