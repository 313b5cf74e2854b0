/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The data model that every workload writes and every backend understands: variables of elements,
 * selections of their elements, and blocks that join a selection in the file to one in memory. */
#ifndef TT_IO_MODEL_H
#define TT_IO_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Four dimensions for the user, and one for the step where a format keeps it as a dimension. */
#define TT_MAX_DIMS 5

enum tt_kind {
    TT_U8,
    TT_I32,
    TT_U32,
    TT_I64,
    TT_U64,
    TT_F32,
    TT_F64,
    TT_CHAR,   /* a fixed-length string is a field of TT_CHAR with count > 1 */
    TT_RECORD, /* several fields */
};

/* Size in bytes of one value of a kind (0 for TT_RECORD). */
size_t tt_kind_size(enum tt_kind kind);
const char *tt_kind_name(enum tt_kind kind);
bool tt_kind_from_name(const char *name, enum tt_kind *); /* "u8", "f64", ...; false if unknown */

struct tt_field {
    const char *name;
    enum tt_kind kind; /* never TT_RECORD */
    uint32_t count;    /* values in the field, usually 1 */
    size_t offset;     /* bytes from the start of the record */
};

struct tt_element {
    enum tt_kind kind;
    size_t size;      /* bytes per element, in memory and in raw files alike */
    unsigned nfields; /* records only */
    const struct tt_field *fields;
};

/* NULL: the record has no such field. */
const struct tt_field *tt_find_field(const struct tt_element *record, const char *name);

extern const struct tt_element tt_element_u8, tt_element_i32, tt_element_i64, tt_element_u64,
    tt_element_f32, tt_element_f64;

struct tt_attribute {
    const char *name;
    enum tt_kind kind; /* TT_CHAR (text), TT_I32, TT_U32, TT_I64, TT_U64, TT_F64 or TT_RECORD */
    const char *text;
    int64_t integer; /* of every integer kind */
    double real;
    double each_step;                /* added to real once for every step before; of a group only */
    unsigned n;                      /* above 0: an array of this many values instead, which are */
    const void *values;              /* const char *, or numbers of the kind */
    const struct tt_element *record; /* of TT_RECORD, always at values; its fields have one kind */
};

struct tt_variable {
    const char *path; /* "field", "fields/E/x": slashes are groups where the format has them */
    const struct tt_element *element;
    int ndims; /* 1 to 4 */
    uint64_t dims[TT_MAX_DIMS];
    bool per_step;       /* one instance per step; otherwise written once, at any step */
    bool unlimited;      /* dims[0] may grow in formats that know growth; raw files reserve dims */
    bool idle;           /* it has its place in the file, but no dump or load moves any of it */
    unsigned max_blocks; /* blocks of it in one dump, the same on all ranks; 0 means 1 */
    unsigned nattributes;
    const struct tt_attribute *attributes;
};

/* Attributes of a group, where the format has any. */
struct tt_group {
    const char *path; /* as that of a variable; "" is the file itself, or the group of a step */
    bool per_step;    /* with the policy group: inside the group of each step */
    unsigned nattributes;
    const struct tt_attribute *attributes;
};

/* Elements and bytes of one instance of a variable. */
uint64_t tt_variable_elements(const struct tt_variable *v);
uint64_t tt_variable_bytes(const struct tt_variable *v);
/* Whether a value, which is not the right one, is as near to it as a stack with that loss may bring
 * it: f32 and f64 only. */
bool tt_is_near(const struct tt_element *element, const void *value, const void *right,
                double loss);

/* How dumps of successive steps lie in storage. */
enum tt_policy {
    TT_OVERWRITE,     /* every step at the same place of one file */
    TT_APPEND,        /* one file; the step is the slowest dimension */
    TT_GROUP,         /* one file; a group per step (raw files: the same bytes as append) */
    TT_FILE_PER_STEP, /* a file per step; the engine opens them, backends never see this value */
};

enum tt_selection_kind {
    TT_SELECT_NONE, /* takes part, with nothing */
    TT_SELECT_ALL,
    TT_SELECT_SLAB, /* a hyperslab with stride and block, as in HDF5 */
    TT_SELECT_RUNS, /* a list of runs in row-major element order, any order, never overlapping */
};

struct tt_run {
    uint64_t start, length; /* in elements of the flattened array */
};

/* Elements of an array of the given dims, in a defined order: row-major for a slab, list order for
 * runs. The n-th element of a block's file selection is the n-th of its memory selection. */
struct tt_selection {
    enum tt_selection_kind kind;
    int ndims;
    uint64_t dims[TT_MAX_DIMS];
    uint64_t start[TT_MAX_DIMS], stride[TT_MAX_DIMS], count[TT_MAX_DIMS], block[TT_MAX_DIMS];
    size_t nruns;
    const struct tt_run *runs; /* belongs to the caller and outlives the selection */
    /* Set by tt_select_runs, since a list can be long and is asked for them again and again. */
    uint64_t nelements;
    bool ascending; /* the runs are in rising order */
};

/* Constructors; dims is the array selected from. */
void tt_select_none(struct tt_selection *s, int ndims, const uint64_t *dims);
void tt_select_all(struct tt_selection *s, int ndims, const uint64_t *dims);
/* stride and block may be NULL: all ones. */
void tt_select_slab(struct tt_selection *s, int ndims, const uint64_t *dims, const uint64_t *start,
                    const uint64_t *stride, const uint64_t *count, const uint64_t *block);
void tt_select_runs(struct tt_selection *s, int ndims, const uint64_t *dims, size_t nruns,
                    const struct tt_run *runs);

uint64_t tt_selection_count(const struct tt_selection *s); /* elements selected */
/* The first element behind all that are selected, in the flattened array; 0: there are none. */
uint64_t tt_selection_end(const struct tt_selection *s);
/* True if every selected element lies inside dims and (slabs) blocks do not overlap. */
bool tt_selection_is_valid(const struct tt_selection *s);
/* True if the selection is one contiguous run; its place in *run. */
bool tt_selection_is_contiguous(const struct tt_selection *s, struct tt_run *run);

/* Where a library knows start, count and stride, but neither blocks nor lists. False if the
 * selection is none of those; otherwise stride is 1 in dimensions without gaps. */
struct tt_strided {
    uint64_t start[TT_MAX_DIMS], count[TT_MAX_DIMS], stride[TT_MAX_DIMS];
};
bool tt_selection_is_strided(const struct tt_selection *s, struct tt_strided *out);

/* The largest box of an array that begins where the run does and holds nothing else; the run is
 * shortened by it. A run is at most 2 * ndims - 1 boxes. */
static inline void tt_run_take_box(struct tt_run *run, int ndims, const uint64_t *dims,
                                   uint64_t *start, uint64_t *count)
{
    uint64_t inner = 1, rest = run->start, take;
    int d = ndims - 1;

    for (int i = d; i > 0; i--) { /* divisions show where runs are tiny: none that is not needed */
        start[i] = rest % dims[i];
        count[i] = 1;
        rest /= dims[i];
    }
    start[0] = rest;
    count[0] = 1;
    while (d > 0 && start[d] == 0 && run->length >= inner * dims[d]) {
        count[d] = dims[d];
        inner *= dims[d--];
    }
    take = dims[d] - start[d];
    if (take > run->length / inner)
        take = run->length / inner;
    count[d] = take;
    run->start += take * inner;
    run->length -= take * inner;
}

/* Where data lies. The engine moves blocks of a device's memory to the host's and back: layers and
 * backends see the host's memory only. */
enum tt_memory_space { TT_IN_HOST, TT_IN_DEVICE };

/* One transfer: elements of a variable and their place in memory. A write never changes data. */
struct tt_block {
    unsigned variable; /* index in the file's variables */
    struct tt_selection file;
    struct tt_selection memory; /* of an array of elements at data */
    void *data;
    /* What memory holds instead of the variable's elements; NULL: those. Always a record, and its
     * fields are matched by name: a variable of records takes these fields, and keeps its others as
     * they are; a plain variable takes the field that is called like it. With TT_CAP_CONVERTS only.
     */
    const struct tt_element *memory_element;
    enum tt_memory_space space; /* of data */
    /* Of the data (tt_block_hash) when a transfer that does not copy it was asked for, so that
     * layer verify finds data that changed before it was moved; 0: nobody has hashed it. */
    uint64_t hash;
};
/* Bytes in memory of one element of a block of this variable, and how many of them it moves. */
size_t tt_block_element_size(const struct tt_block *b, const struct tt_variable *v);
size_t tt_block_moved_size(const struct tt_block *b, const struct tt_variable *v);

enum tt_direction { TT_WRITING, TT_READING };

/* A submitted transfer, one for the whole stack. The backend keeps what it needs in state
 * (ticket_size bytes), a layer nothing. It is zeroed once and then used again: submit sets all of
 * it. */
struct tt_ticket {
    void *state;
};

/* A piece that is contiguous in the file and in memory. */
struct tt_extent {
    uint64_t file_offset;   /* bytes from the start of the variable's instance */
    uint64_t memory_offset; /* bytes from block->data */
    uint64_t length;        /* bytes */
};

/* Walks the extents of a block in the order of its selections, neighbours merged. Needs no memory.
 */
struct tt_extent_iter {
    const struct tt_selection *file, *memory;
    size_t element_size;
    struct tt_run file_run, memory_run; /* what is left of the current runs */
    uint64_t file_index, memory_index;  /* number of the next run of each selection */
};
void tt_extents_begin(struct tt_extent_iter *it, const struct tt_block *b, size_t element_size);
bool tt_extents_next(struct tt_extent_iter *it, struct tt_extent *out);
/* Whether that is one extent, as in most single transfers, for who moves very many: seen without a
 * walk, or not at all. */
static inline bool tt_block_is_one_extent(const struct tt_block *b, size_t element_size,
                                          struct tt_extent *out)
{
    const struct tt_selection *s = &b->file;

    if (s->kind != TT_SELECT_SLAB || s->ndims != 1 || b->memory.kind != TT_SELECT_ALL ||
        b->memory.ndims != 1 || s->block[0] != s->stride[0])
        return false;
    out->file_offset = s->start[0] * element_size;
    out->memory_offset = 0;
    out->length = s->count[0] * s->block[0] * element_size;
    return out->length > 0 && out->length == b->memory.dims[0] * element_size;
}

/* All extents at once, sorted by file offset (MPI file views and hyperslabs demand it). The array
 * grows in *list, which starts as {0} and is kept by the caller for reuse; free(list->extents). */
struct tt_extent_list {
    size_t n, capacity;
    struct tt_extent *extents;
};
int tt_extents_collect(struct tt_extent_list *list, const struct tt_block *b, size_t element_size);

/* Gather a block's memory selection into a packed buffer, or scatter it back. */
void tt_block_pack(const struct tt_block *b, size_t element_size, void *packed);
void tt_block_unpack(const struct tt_block *b, size_t element_size, const void *packed);

#endif
