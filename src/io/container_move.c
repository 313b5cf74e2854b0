/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A block as calls of a container's library: one slab, or lists of boxes in rounds that keep memory
 * small. Data that does not lie in one piece is gathered first. */
#include "io/container.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ROUND_BYTES = 8 << 20 }; /* of data that must be gathered first */

/* A block on its way. */
struct job {
    struct tt_file *file;
    struct tt_piece piece;
    const struct tt_variable *variable;
    size_t size; /* bytes of an element in memory */
    bool staged; /* a slab that goes through the staging buffer */
    /* Dimensions before and behind the variable's own, which every box of a long list has. */
    bool has_step, has_bytes;
    /* one box: a slab, or nothing */
    MPI_Offset start[TT_CONTAINER_DIMS], count[TT_CONTAINER_DIMS], stride[TT_CONTAINER_DIMS],
        blocks[TT_CONTAINER_DIMS];
    MPI_Offset *starts, *counts; /* the first two */
    /* walking through lists, in elements: divisions show where runs are tiny */
    const struct tt_extent_list *list; /* NULL: the order of the selections */
    size_t next;
    struct tt_extent_iter iter;
    struct tt_extent rest; /* not taken by the last round */
};

/* ---- the walk ---- */

/* The step first if it is a dimension, then the variable's own numbers, then those of the bytes. */
static void widen(const struct job *j, const uint64_t *own, uint64_t step, uint64_t bytes,
                  MPI_Offset *out)
{
    out[0] = (MPI_Offset)step;
    for (int i = 0; i < j->variable->ndims; i++)
        out[j->has_step + i] = (MPI_Offset)own[i];
    if (j->has_bytes)
        out[j->has_step + j->variable->ndims] = (MPI_Offset)bytes;
}

static void walk(struct job *j)
{
    const struct tt_container *c = j->file->state;

    tt_extents_begin(&j->iter, j->piece.block, 1);
    j->list = c->library->sorted ? &c->extents : NULL;
    j->next = 0;
    j->rest.length = 0;
}

static bool has_more(struct job *j)
{
    if (j->rest.length > 0)
        return true;
    if (!j->list)
        return tt_extents_next(&j->iter, &j->rest);
    if (j->next == j->list->n)
        return false;
    j->rest = j->list->extents[j->next++];
    return true;
}

static void take(struct job *j, uint64_t elements)
{
    j->rest.length -= elements;
    if (j->rest.length == 0) /* nearly always; to load what was just stored takes long */
        return;
    j->rest.file_offset += elements;
    j->rest.memory_offset += elements;
}

/* Walks on by as many boxes as one call takes; without boxes they are only counted. False at the
 * end. *packed: they lie in one piece of memory, from the element *memory on. */
static bool next_round(struct job *j, MPI_Offset **boxes, uint64_t *memory, bool *packed)
{
    const struct tt_container *c = j->file->state;
    const struct tt_library *l = c->library;
    struct tt_piece *p = &j->piece;
    uint64_t all = l->call_bytes / j->size, round = ROUND_BYTES / j->size, elements = 0;

    p->n = 0;
    *packed = true;
    for (; p->n < l->round_boxes && has_more(j); p->n++) {
        uint64_t start[TT_MAX_DIMS], count[TT_MAX_DIMS], at = j->rest.memory_offset;
        bool follows = *packed && (p->n == 0 || at == *memory + elements);
        uint64_t most = follows || all < round ? all : round;
        uint64_t fit = most > elements ? most - elements : 0;
        uint64_t taken;

        if (p->n == 0 && fit == 0)
            fit = 1;
        if (fit == 0)
            break;
        if (p->n == 0)
            *memory = at;
        *packed = follows;
        taken = j->rest.length < fit ? j->rest.length : fit;
        if (boxes || taken > 1) { /* one element is a box wherever it is */
            struct tt_run run = {j->rest.file_offset, taken};

            tt_run_take_box(&run, j->variable->ndims, j->variable->dims, start, count);
            taken -= run.length;
        }
        if (boxes) {
            widen(j, start, p->step, 0, boxes[p->n]);
            widen(j, count, 1, j->size, boxes[c->boxes_size + p->n]);
        }
        elements += taken;
        take(j, taken);
    }
    p->bytes = elements * j->size;
    return p->n > 0;
}

/* Between the staging buffer and what the next round takes. */
static void stage_round(struct job again, uint64_t bytes)
{
    const struct tt_container *c = again.file->state;
    char *staged = c->staging, *data = again.piece.block->data;
    uint64_t left = bytes / again.size;

    for (uint64_t n, moved; left > 0 && has_more(&again); left -= n, staged += moved) {
        char *at = data + again.rest.memory_offset * again.size;

        n = again.rest.length < left ? again.rest.length : left;
        moved = n * again.size;
        if (again.piece.direction == TT_WRITING)
            memcpy(staged, at, moved);
        else
            memcpy(at, staged, moved);
        take(&again, n);
    }
}

/* ---- calls ---- */

/* MPI-IO may leave errno as the only trace of a write that was too short. */
int tt_container_move(struct tt_file *file, struct tt_piece *p, struct tt_error *e)
{
    const char *path = file->spec->variables[p->variable].path;
    struct tt_container *c = file->state;
    int rc;

    errno = 0;
    rc = c->library->move(file, p, e);
    if (rc == TT_OK && p->direction == TT_WRITING && (errno == ENOSPC || errno == EDQUOT))
        rc = tt_container_fail(file, errno, p->call, path, strerror(errno), e);
    c->transfers += rc == TT_OK && p->n > 0;
    p->first = false;
    return rc;
}

/* Nobody may miss a collective call, least of all a rank that has failed on the way to it. */
static int move_nothing(struct job *j, struct tt_error *e)
{
    struct tt_piece *p = &j->piece;
    char nowhere = 0;

    for (int i = 0; i < TT_CONTAINER_DIMS; i++) {
        j->start[i] = j->count[i] = 0;
        j->stride[i] = j->blocks[i] = 1;
    }
    p->starts = &j->starts;
    p->counts = &j->counts;
    p->n = 0;
    p->bytes = 0;
    p->data = &nowhere;
    p->memory = NULL;
    return tt_container_move(j->file, p, e);
}

static int move_round(struct job *j, struct tt_error *e)
{
    struct tt_container *c = j->file->state;
    struct tt_piece *p = &j->piece;
    struct job before = *j;
    uint64_t memory = 0;
    bool packed;
    int rc;

    next_round(j, c->boxes, &memory, &packed);
    p->starts = c->boxes;
    p->counts = c->boxes + c->boxes_size;
    p->memory = NULL;
    p->data = packed ? (char *)p->block->data + memory * j->size : c->staging;
    if (!packed && p->direction == TT_WRITING)
        stage_round(before, p->bytes);
    rc = tt_container_move(j->file, p, e);
    if (rc == TT_OK && !packed && p->direction == TT_READING)
        stage_round(before, p->bytes);
    return rc;
}

static int move_slab(struct job *j, struct tt_error *e)
{
    static const uint64_t ones[TT_MAX_DIMS] = {1, 1, 1, 1, 1};
    struct tt_container *c = j->file->state;
    struct tt_piece *p = &j->piece;
    const struct tt_selection *s = &p->block->file;
    struct tt_strided own;
    struct tt_run run = {0, 0};
    bool strided = tt_selection_is_strided(s, &own);
    int rc;

    widen(j, strided ? own.start : s->start, p->step, 0, j->start);
    widen(j, strided ? own.count : s->count, 1, j->size, j->count);
    widen(j, strided ? own.stride : s->stride, 1, 1, j->stride);
    widen(j, strided ? ones : s->block, 1, 1, j->blocks);
    p->starts = &j->starts;
    p->counts = &j->counts;
    p->n = 1;
    p->bytes = tt_selection_count(s) * j->size;
    p->memory = c->library->hyperslabs && !j->staged ? &p->block->memory : NULL;
    if (!p->memory)
        tt_selection_is_contiguous(&p->block->memory, &run);
    p->data = j->staged ? c->staging : (char *)p->block->data + run.start * j->size;
    if (j->staged && p->direction == TT_WRITING)
        tt_block_pack(p->block, j->size, p->data);
    rc = tt_container_move(j->file, p, e);
    if (rc == TT_OK && j->staged && p->direction == TT_READING)
        tt_block_unpack(p->block, j->size, p->data);
    return rc;
}

/* ---- what is needed ---- */

/* Of the variable that has most. */
static int most_dims(const struct tt_file *file)
{
    int most = 0;

    for (uint32_t i = 0; i < file->spec->nvariables; i++) {
        const struct tt_variable *v = &file->spec->variables[i];
        int dims =
            tt_container_has_step(file->spec, v) + v->ndims + tt_container_has_bytes(file, v);

        most = dims > most ? dims : most;
    }
    return most;
}

/* Close to each other: where runs are tiny, caches matter. */
static int reserve_boxes(const struct tt_file *file, size_t n, struct tt_error *e)
{
    struct tt_container *c = file->state;
    MPI_Offset *numbers, **boxes;
    size_t dims;

    if (n <= c->boxes_size)
        return TT_OK;
    dims = (size_t)most_dims(file);
    numbers = realloc(c->numbers, n * 2 * dims * sizeof *numbers);
    if (numbers)
        c->numbers = numbers;
    boxes = realloc(c->boxes, n * 2 * sizeof *boxes);
    if (boxes)
        c->boxes = boxes;
    if (!numbers || !boxes)
        return tt_fail_nomem(e, "a list of boxes");
    c->boxes_size = n;
    for (size_t i = 0; i < 2 * n; i++)
        c->boxes[i] = c->numbers + i * dims;
    return TT_OK;
}

/* How many calls the block needs on this rank, and the memory for them. */
static int plan(struct job *j, int *calls, struct tt_error *e)
{
    struct tt_container *c = j->file->state;
    const struct tt_block *b = j->piece.block;
    uint64_t memory = 0, staging = 0;
    struct tt_run run;
    size_t boxes = 0;
    bool packed;

    *calls = 0;
    if (j->piece.listed) {
        if (c->library->sorted && tt_extents_collect(&c->extents, b, 1) != TT_OK)
            return tt_fail_nomem(e, "a list of runs");
        for (walk(j); next_round(j, NULL, &memory, &packed); ++*calls) {
            boxes = j->piece.n > boxes ? j->piece.n : boxes;
            if (!packed && j->piece.bytes > staging)
                staging = j->piece.bytes;
        }
    } else {
        *calls = 1;
        j->staged = c->library->hyperslabs ? b->memory.kind == TT_SELECT_RUNS
                                           : !tt_selection_is_contiguous(&b->memory, &run);
        staging = j->staged ? tt_selection_count(&b->file) * j->size : 0;
    }
    if (staging > c->staging_size) {
        free(c->staging);
        c->staging = malloc(staging);
        c->staging_size = c->staging ? staging : 0;
        if (!c->staging)
            return tt_fail_nomem(e, "a staging buffer");
    }
    return reserve_boxes(j->file, boxes, e);
}

/* ---- a block ---- */

/* What all ranks must do alike in collective methods. */
enum { CALLS, LISTED, FAILED, WORDS, AGREED = WORDS + 2 };

static bool has_gaps(const struct tt_strided *s, int ndims)
{
    for (int i = 0; i < ndims; i++)
        if (s->stride[i] > 1 && s->count[i] > 1)
            return true;
    return false;
}

/* Decides on lists and on the number of calls: of this rank, and of the rank with most. A rank that
 * finds no variable cannot take part, and after a write has failed further calls might crash or
 * never return: then nobody makes one. */
static int agree_on(struct job *j, int rc, int *mine, int *all, struct tt_error *e)
{
    struct tt_container *c = j->file->state;
    const struct tt_library *l = c->library;
    struct tt_piece *p = &j->piece;
    struct tt_strided strided;
    uint64_t n = rc == TT_OK ? tt_selection_count(&p->block->file) : 0;
    int agreed[AGREED] = {0};

    *mine = n > 0;
    p->listed =
        n > 0 && (l->hyperslabs ? p->block->file.kind == TT_SELECT_RUNS
                                : n > l->call_bytes / j->size ||
                                      !tt_selection_is_strided(&p->block->file, &strided) ||
                                      (l->no_gaps && has_gaps(&strided, j->variable->ndims)));
    if (n > 0 && (!p->listed || l->lists == TT_LISTS_MIX))
        rc = plan(j, mine, e);
    agreed[CALLS] = *mine;
    agreed[LISTED] = p->listed;
    agreed[FAILED] = rc != TT_OK;
    memcpy(&agreed[WORDS], p->words, sizeof p->words);
    if (c->collective)
        tt_file_max(j->file, AGREED, agreed);
    memcpy(p->words, &agreed[WORDS], sizeof p->words);
    if (l->lists != TT_LISTS_MIX && agreed[LISTED] && !agreed[FAILED]) {
        p->listed = true;
        if (n > 0)
            rc = plan(j, mine, e);
        agreed[CALLS] = *mine;
        agreed[FAILED] = rc != TT_OK;
        if (c->collective && l->lists == TT_LISTS_TOGETHER)
            tt_file_max(j->file, FAILED + 1, agreed);
    }
    p->collective = c->collective && !(p->listed && l->lists == TT_LISTS_ALONE);
    *all = agreed[FAILED] ? 0 : agreed[CALLS];
    if (agreed[FAILED]) /* also where it was found: to look again may be collective */
        c->at_hand[p->variable] = 0;
    return rc;
}

static int transfer(struct tt_file *file, enum tt_direction direction, uint64_t step,
                    const struct tt_block *b, struct tt_error *e)
{
    struct tt_container *c = file->state;
    const struct tt_variable *v = &file->spec->variables[b->variable];
    struct job j = {.file = file, .variable = v, .size = tt_block_element_size(b, v)};
    int mine = 0, all = 0, rc;

    j.piece = (struct tt_piece){.direction = direction,
                                .variable = b->variable,
                                .step = step,
                                .block = b,
                                .first = true,
                                .stride = j.stride,
                                .blocks = j.blocks};
    j.has_step = tt_container_has_step(file->spec, v);
    j.has_bytes = tt_container_has_bytes(file, v);
    j.starts = j.start;
    j.counts = j.count;
    rc = tt_container_find(file, b->variable, step, e);
    if (rc == TT_OK && c->library->check)
        rc = c->library->check(file, &j.piece, e);
    if (rc == TT_OK && c->failed)
        rc = tt_fail(e, TT_FAILED, "an earlier write to '%s' has failed", file->spec->path);
    rc = agree_on(&j, rc, &mine, &all, e);
    if (j.piece.listed && mine > 0)
        walk(&j);
    for (int i = 0; i < all; i++) {
        int result;

        if (rc != TT_OK || i >= mine)
            result = j.piece.collective ? move_nothing(&j, e) : TT_OK;
        else
            result = j.piece.listed ? move_round(&j, e) : move_slab(&j, e);
        rc = rc == TT_OK ? result : rc;
    }
    c->failed |= rc != TT_OK && direction == TT_WRITING;
    return rc;
}

int tt_container_write(struct tt_file *file, uint64_t step, const struct tt_block *b,
                       struct tt_error *e)
{
    return transfer(file, TT_WRITING, step, b, e);
}

int tt_container_read(struct tt_file *file, uint64_t step, const struct tt_block *b,
                      struct tt_error *e)
{
    return transfer(file, TT_READING, step, b, e);
}
