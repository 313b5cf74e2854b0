/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks as selections of HDF5.
 *
 * A list of runs becomes a union of hyperslabs. Adding one hyperslab to a union walks all of it, so
 * unions are joined pairwise in a balanced tree, in rounds of so many runs that memory stays small.
 * Measured once each with HDF5 1.10.8 on a shared machine of 2 cores, 2 ranks, 200,000 sorted runs
 * of 1 to 8 doubles each, collective, to memory; bytes are HDF5's own, the list of extents adds 24:
 *   the tree, 16,384 runs a round     0.76 s,   37 bytes a run
 *   the tree in one round             0.80 s,  365 bytes a run
 *   points, 65,536 a round            0.60 s,   69 bytes a run
 *   points, 16,384 a round            1.18 s,   17 bytes a run
 *   points in one round               0.81 s,  436 bytes a run
 *   unions of 128 to 2048 a round     6.7 to 9.3 s
 * With runs of 100 elements the tree takes a quarter of the time of points, and it needs no second
 * way for long runs. */
#include "io/backends/hdf5/parts.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROUND_RUNS = 16384,
    ROUND_BYTES = 8 << 20, /* of data that must be gathered first */
    LEAF_BOXES = 16,       /* a small union is faster than the tree */
    TREE_DEPTH = 64,
};

/* Unions waiting to be joined with another of their level. */
struct tree {
    hid_t nodes[TREE_DEPTH];
    int levels[TREE_DEPTH];
    int n;
    unsigned boxes; /* in the last leaf */
};

static void tree_drop(struct tree *t)
{
    while (t->n > 0)
        H5Sclose(t->nodes[--t->n]);
}

static herr_t tree_join(struct tree *t)
{
    hid_t both = H5Scombine_select(t->nodes[t->n - 2], H5S_SELECT_OR, t->nodes[t->n - 1]);

    if (both < 0)
        return -1;
    H5Sclose(t->nodes[--t->n]);
    H5Sclose(t->nodes[t->n - 1]);
    t->nodes[t->n - 1] = both;
    t->levels[t->n - 1]++;
    return 0;
}

static herr_t tree_add(struct tree *t, hid_t space, const hsize_t *start, const hsize_t *count)
{
    bool leaf = t->n == 0 || t->boxes == LEAF_BOXES;

    if (leaf) {
        while (t->n > 1 && t->levels[t->n - 1] == t->levels[t->n - 2])
            if (tree_join(t) < 0)
                return -1;
        t->nodes[t->n] = H5Scopy(space);
        if (t->nodes[t->n] < 0)
            return -1;
        t->levels[t->n++] = 0;
        t->boxes = 0;
    }
    t->boxes++;
    return H5Sselect_hyperslab(t->nodes[t->n - 1], leaf ? H5S_SELECT_SET : H5S_SELECT_OR, start,
                               NULL, count, NULL);
}

static herr_t add_run(struct tree *t, hid_t space, const struct tt_variable *v, int lead,
                      hsize_t step, struct tt_run run)
{
    while (run.length > 0) {
        hsize_t from[TT_MAX_DIMS] = {step}, count[TT_MAX_DIMS] = {1};
        uint64_t box_start[TT_MAX_DIMS], box_count[TT_MAX_DIMS];

        tt_run_take_box(&run, v->ndims, v->dims, box_start, box_count);
        for (int i = 0; i < v->ndims; i++) {
            from[lead + i] = box_start[i];
            count[lead + i] = box_count[i];
        }
        if (tree_add(t, space, from, count) < 0)
            return -1;
    }
    return 0;
}

/* What one call of H5Dwrite or H5Dread moves. */
struct round {
    size_t first, end; /* extents */
    uint64_t bytes;
    bool packed; /* lies in memory as in the file, in one piece */
};

static bool next_round(const struct tt_extent_list *list, struct round *r)
{
    const struct tt_extent *x = list->extents;
    size_t i = r->end;

    if (i == list->n)
        return false;
    *r = (struct round){i, i + 1, x[i].length, true};
    for (i++; i < list->n && i - r->first < ROUND_RUNS; i++) {
        bool follows = r->packed && x[i].memory_offset == x[r->first].memory_offset + r->bytes;

        if (!follows && r->bytes + x[i].length > ROUND_BYTES)
            break;
        r->packed = follows;
        r->bytes += x[i].length;
    }
    r->end = i;
    return true;
}

/* One transfer on its way. */
struct job {
    struct tt_file *file;
    enum tt_direction direction;
    struct hdf5_slot *slot;
    uint64_t step;
    const struct tt_block *block;
    const struct tt_variable *variable;
    size_t size; /* bytes of an element in memory */
    hid_t type;  /* in memory */
};

static int fail(const struct job *j, const char *call, struct tt_error *e)
{
    return tt_hdf5_fail(j->file, call, j->variable->path, e);
}

static int reserve(struct hdf5_state *s, size_t bytes, struct tt_error *e)
{
    if (bytes > s->staging_size) {
        free(s->staging);
        s->staging = malloc(bytes);
        s->staging_size = s->staging ? bytes : 0;
    }
    return s->staging || bytes == 0 ? TT_OK : tt_fail_nomem(e, "a staging buffer");
}

static int move(const struct job *j, hid_t memory, hid_t space, void *data, struct tt_error *e)
{
    struct hdf5_state *s = j->file->state;
    const struct hdf5_opts *o = j->file->opts;
    const struct hdf5_slot *slot = j->slot;
    uint32_t local = 0, global = 0;
    H5D_mpio_actual_io_mode_t mode = H5D_MPIO_NO_COLLECTIVE;
    herr_t rc = j->direction == TT_WRITING
                    ? H5Dwrite(slot->dataset, j->type, memory, space, s->transfer, data)
                    : H5Dread(slot->dataset, j->type, memory, space, s->transfer, data);

    if (rc < 0) {
        s->failed = true;
        return fail(j, j->direction == TT_WRITING ? "H5Dwrite" : "H5Dread", e);
    }
    s->transfers++;
    if (o->method && H5Pget_mpio_actual_io_mode(s->transfer, &mode) >= 0 &&
        H5Pget_mpio_no_collective_cause(s->transfer, &local, &global) >= 0) {
        s->modes |= (uint32_t)mode;
        s->causes |= local | global;
    }
    return TT_OK;
}

/* Nobody may miss a collective call, least of all a rank that has failed on the way to it. */
static int move_nothing(const struct job *j, struct tt_error *e)
{
    const struct hdf5_opts *o = j->file->opts;
    hid_t none;
    int rc;
    char nowhere = 0;

    if (!o->method)
        return TT_OK;
    none = H5Scopy(j->slot->space);
    if (none < 0 || H5Sselect_none(none) < 0)
        rc = fail(j, "H5Sselect_none", e);
    else
        rc = move(j, none, none, &nowhere, e);
    H5Sclose(none);
    return rc;
}

/* An array and the selected part of it; the step, if it is a dimension, comes first. */
static herr_t select_slab(hid_t space, const struct tt_selection *sel, int lead, hsize_t step)
{
    hsize_t start[TT_MAX_DIMS] = {step}, stride[TT_MAX_DIMS] = {1}, count[TT_MAX_DIMS] = {1},
            block[TT_MAX_DIMS] = {1};
    bool all = sel->kind == TT_SELECT_ALL;

    for (int i = 0; i < sel->ndims; i++) {
        start[lead + i] = all ? 0 : sel->start[i];
        stride[lead + i] = all ? 1 : sel->stride[i];
        count[lead + i] = all ? sel->dims[i] : sel->count[i];
        block[lead + i] = all ? 1 : sel->block[i];
    }
    return H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, block);
}

static hid_t memory_slab(const struct tt_selection *sel)
{
    hsize_t dims[TT_MAX_DIMS];
    hid_t space;

    for (int i = 0; i < sel->ndims; i++)
        dims[i] = sel->dims[i];
    space = H5Screate_simple(sel->ndims, dims, NULL);
    if (space >= 0 && select_slab(space, sel, 0, 0) < 0) {
        H5Sclose(space);
        return -1;
    }
    return space;
}

static void gather(const struct job *j, const struct round *r, bool scatter)
{
    struct hdf5_state *s = j->file->state;
    char *staged = s->staging, *data = j->block->data;

    for (size_t i = r->first; i < r->end; i++) {
        const struct tt_extent *x = &s->extents.extents[i];

        if (scatter)
            memcpy(data + x->memory_offset, staged, x->length);
        else
            memcpy(staged, data + x->memory_offset, x->length);
        staged += x->length;
    }
}

static int select_round(const struct job *j, const struct round *r, struct tree *t,
                        struct tt_error *e)
{
    const struct hdf5_state *s = j->file->state;
    size_t size = j->size;
    int lead = tt_hdf5_has_step_dim(j->file->spec, j->variable);

    for (size_t i = r->first; i < r->end; i++) {
        const struct tt_extent *x = &s->extents.extents[i];
        struct tt_run run = {x->file_offset / size, x->length / size};

        if (add_run(t, j->slot->space, j->variable, lead, j->step, run) < 0)
            return fail(j, "H5Sselect_hyperslab", e);
    }
    while (t->n > 1)
        if (tree_join(t) < 0)
            return fail(j, "H5Scombine_select", e);
    return TT_OK;
}

static int move_round(const struct job *j, const struct round *r, struct tt_error *e)
{
    struct hdf5_state *s = j->file->state;
    char *data = (char *)j->block->data + s->extents.extents[r->first].memory_offset;
    hsize_t n = r->bytes / j->size;
    struct tree t = {.n = 0};
    hid_t memory = H5Screate_simple(1, &n, NULL);
    int rc = memory < 0 ? fail(j, "H5Screate_simple", e) : select_round(j, r, &t, e);

    if (rc == TT_OK && !r->packed) {
        rc = reserve(s, r->bytes, e);
        data = s->staging;
        if (rc == TT_OK && j->direction == TT_WRITING)
            gather(j, r, false);
    }
    if (rc == TT_OK)
        rc = move(j, memory, t.nodes[0], data, e);
    else
        move_nothing(j, e);
    if (rc == TT_OK && !r->packed && j->direction == TT_READING)
        gather(j, r, true);
    tree_drop(&t);
    H5Sclose(memory);
    return rc;
}

/* A slab in the file: one call. Runs in memory are packed first. */
static int move_slab(const struct job *j, struct tt_error *e)
{
    struct hdf5_state *s = j->file->state;
    const struct tt_block *b = j->block;
    size_t size = j->size;
    bool pack = b->memory.kind == TT_SELECT_RUNS;
    hsize_t n = tt_selection_count(&b->file);
    int lead = tt_hdf5_has_step_dim(j->file->spec, j->variable), rc = TT_OK;
    hid_t space = H5Scopy(j->slot->space);
    hid_t memory = pack ? H5Screate_simple(1, &n, NULL) : memory_slab(&b->memory);
    void *data = b->data;

    if (space < 0 || memory < 0 || select_slab(space, &b->file, lead, j->step) < 0)
        rc = fail(j, "H5Sselect_hyperslab", e);
    if (rc == TT_OK && pack) {
        rc = reserve(s, n * size, e);
        data = s->staging;
        if (rc == TT_OK && j->direction == TT_WRITING)
            tt_block_pack(b, size, data);
    }
    if (rc == TT_OK)
        rc = move(j, memory, space, data, e);
    else
        move_nothing(j, e);
    if (rc == TT_OK && pack && j->direction == TT_READING)
        tt_block_unpack(b, size, data);
    H5Sclose(memory);
    H5Sclose(space);
    return rc;
}

static unsigned count_rounds(const struct tt_extent_list *list)
{
    struct round r = {0};
    unsigned n = 0;

    while (next_round(list, &r))
        n++;
    return n;
}

static int transfer(const struct job *j, struct tt_error *e)
{
    const struct hdf5_opts *o = j->file->opts;
    struct hdf5_state *s = j->file->state;
    const struct tt_block *b = j->block;
    unsigned mine = 0, all, done = 0;
    struct round r = {0};
    int rc = TT_OK;

    if (tt_selection_count(&b->file) == 0)
        mine = 0;
    else if (b->file.kind != TT_SELECT_RUNS)
        mine = 1;
    else if (tt_extents_collect(&s->extents, b, j->size) == TT_OK)
        mine = count_rounds(&s->extents);
    else
        rc = tt_fail_nomem(e, "a list of runs");
    all = mine;
    /* Ranks need different numbers of rounds, and nobody may leave before the last of them. */
    if (o->method && j->file->size > 1)
        MPI_Allreduce(&mine, &all, 1, MPI_UNSIGNED, MPI_MAX, j->file->spec->comm);
    for (; done < all; done++) {
        if (rc != TT_OK)
            move_nothing(j, e);
        else if (done >= mine)
            rc = move_nothing(j, e);
        else if (b->file.kind != TT_SELECT_RUNS)
            rc = move_slab(j, e);
        else if (next_round(&s->extents, &r))
            rc = move_round(j, &r, e);
    }
    return rc;
}

/* Some fields of the records in the file: H5Dwrite and H5Dread leave the others alone. A rank that
 * has failed takes part with nothing. */
static int transfer_fields(struct job *j, struct tt_error *e)
{
    struct tt_block nothing = *j->block;
    int rc = TT_OK, moved;

    j->type = tt_hdf5_element_type(j->block->memory_element);
    j->size = j->block->memory_element->size;
    if (j->type < 0) {
        rc = fail(j, "H5Tcreate", e);
        tt_select_none(&nothing.file, nothing.file.ndims, nothing.file.dims);
        j->block = &nothing;
        j->type = j->slot->type;
    }
    moved = transfer(j, e);
    if (j->type != j->slot->type)
        H5Tclose(j->type);
    return rc == TT_OK ? moved : rc;
}

/* One field of the records in memory, packed for the transfer. */
static int transfer_field(struct job *j, struct tt_error *e)
{
    const struct tt_block *b = j->block;
    struct tt_block plain = *b;
    uint64_t n = tt_selection_count(&b->file);
    int rc = TT_OK, moved;

    plain.data = malloc(n * j->size + 1);
    tt_select_all(&plain.memory, 1, &n);
    if (!plain.data)
        rc = tt_fail_nomem(e, "a converted field");
    else if (n > 0 && j->direction == TT_WRITING)
        rc = tt_hdf5_convert_field(j->file, TT_WRITING, b, plain.data, e);
    if (rc != TT_OK)
        tt_select_none(&plain.file, plain.file.ndims, plain.file.dims);
    j->block = &plain;
    moved = transfer(j, e);
    rc = rc == TT_OK ? moved : rc;
    if (rc == TT_OK && n > 0 && j->direction == TT_READING)
        rc = tt_hdf5_convert_field(j->file, TT_READING, b, plain.data, e);
    free(plain.data);
    return rc;
}

int tt_hdf5_transfer(struct tt_file *file, enum tt_direction direction, struct hdf5_slot *slot,
                     uint64_t step, const struct tt_block *b, struct tt_error *e)
{
    const struct tt_variable *v = &file->spec->variables[b->variable];
    struct job j = {file, direction, slot, step, b, v, v->element->size, slot->type};

    if (!b->memory_element)
        return transfer(&j, e);
    return v->element->kind == TT_RECORD ? transfer_fields(&j, e) : transfer_field(&j, e);
}
