/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/container.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/disk.h"

enum {
    METADATA_RESERVE = 64 << 10, /* beyond what the library says that it holds */
    ROUND_BYTES = 8 << 20,       /* of data that must be gathered first */
};

/* ---- variables ---- */

bool tt_container_has_step(const struct tt_file_spec *spec, const struct tt_variable *v)
{
    return v->per_step && spec->policy == TT_APPEND;
}

bool tt_container_step_grows(const struct tt_file_spec *spec, const struct tt_variable *v)
{
    return tt_container_has_step(spec, v) && (spec->steps == 0 || v->unlimited);
}

bool tt_container_has_own(const struct tt_file_spec *spec, const struct tt_variable *v)
{
    return v->per_step && spec->policy == TT_GROUP;
}

bool tt_container_has_bytes(const struct tt_file *file, const struct tt_variable *v)
{
    const struct tt_container *c = file->state;
    const struct tt_element *element = v->element;

    return (c->library->byte_kinds >> element->kind & 1) &&
           (element->kind == TT_RECORD || element->size > 1);
}

int tt_container_dims(const struct tt_file *file, const struct tt_variable *v, uint64_t *dims)
{
    const struct tt_container *c = file->state;
    int n = tt_container_has_step(file->spec, v);

    for (int i = 0; i < v->ndims; i++)
        dims[n++] = v->dims[i] ? v->dims[i] : c->library->no_length;
    if (tt_container_has_bytes(file, v))
        dims[n++] = v->element->size;
    return n;
}

bool tt_container_matches(const struct tt_file *file, const struct tt_variable *v, int n,
                          const uint64_t *dims)
{
    int first = tt_container_has_step(file->spec, v);
    uint64_t wanted[TT_CONTAINER_DIMS];
    bool same = n == tt_container_dims(file, v, wanted);

    for (int i = first; same && i < n; i++)
        same = dims[i] == wanted[i] || (i == first && v->unlimited &&
                                        (dims[i] >= v->dims[0] || file->spec->access == TT_UPDATE));
    return same;
}

int tt_container_find(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e)
{
    struct tt_container *c = file->state;
    uint64_t *at_hand = &c->at_hand[variable];
    int rc;

    if (*at_hand == step + 1 ||
        (*at_hand && !tt_container_has_own(file->spec, &file->spec->variables[variable])))
        return TT_OK;
    *at_hand = 0;
    rc = c->library->find(file, variable, step, e);
    if (rc == TT_OK)
        *at_hand = step + 1;
    return rc;
}

/* ---- failure ---- */

int tt_container_fail(const struct tt_file *file, int cause, const char *call, const char *variable,
                      const char *text, struct tt_error *e)
{
    const char *path = file->spec->path;
    int rc;

    /* MPI-IO says at best that a write failed, and libraries above it less. */
    if (!cause && file->spec->access != TT_READ_ONLY && tt_disk_free(path) == 0)
        cause = ENOSPC;
    if (e->code != TT_OK)
        return e->code;
    rc = tt_fail_call(e, cause, call, path, -1);
    snprintf(e->text, sizeof e->text, "%s%s%s%s", variable ? "variable '" : "",
             variable ? variable : "", variable ? "': " : "", text);
    return rc;
}

static bool anywhere(const struct tt_file *file, bool here)
{
    int any = here;

    tt_file_max(file, 1, &any);
    return any;
}

bool tt_container_failed_anywhere(const struct tt_file *file)
{
    return anywhere(file, ((const struct tt_container *)file->state)->failed);
}

/* A rank that fails to write metadata misses the barrier in which HDF5 keeps the others waiting for
 * ever. So it is given nothing to write unless there is space. Collective; ranks have agreed. */
static int check_space(struct tt_file *file, struct tt_error *e)
{
    struct tt_container *c = file->state;
    const char *path = file->spec->path;
    int rc = TT_OK;

    if (!c->library->held)
        return TT_OK;
    if (file->rank == 0 && tt_disk_free(path) < METADATA_RESERVE + c->library->held(file))
        rc = tt_fail_call(e, ENOSPC, c->library->flush_call, path, -1);
    rc = tt_file_agree(file, rc, e);
    c->failed |= rc != TT_OK;
    return rc;
}

int tt_container_flush(struct tt_file *file, struct tt_error *e)
{
    struct tt_container *c = file->state;
    int rc = check_space(file, e);

    if (rc == TT_OK) {
        rc = c->library->flush(file, e);
        c->flush_failed |= rc != TT_OK;
    }
    c->failed |= rc != TT_OK;
    return rc;
}

static int check_complete(const struct tt_file *file, struct tt_error *e)
{
    const struct tt_container *c = file->state;

    if (c->library->check_complete)
        return c->library->check_complete(file, e);
    return file->rank == 0 ? tt_disk_check_full(file->spec->path, e) : TT_OK;
}

/* ---- the end ---- */

int tt_container_sync(struct tt_file *file, struct tt_error *e)
{
    struct tt_container *c = file->state;
    int rc;

    /* The rank that failed has said so; its library may leave the others in a flush for ever. */
    if (file->spec->access == TT_READ_ONLY || tt_container_failed_anywhere(file))
        return TT_OK;
    rc = tt_container_flush(file, e);
    if (tt_container_failed_anywhere(file))
        return rc;
    rc = c->library->sync ? c->library->sync(file, e) : tt_disk_sync(file->spec->path, e);
    if (rc == TT_OK)
        rc = check_complete(file, e);
    c->failed |= rc != TT_OK;
    return rc;
}

/* HDF5 cannot give up a file, see tt_disk_divert. The first flush after one that failed complains,
 * but cleans up. Where none has failed there must be none: it syncs, and ompio 5 refuses that for
 * ever on a rank whose collective write has failed, which leaves the others in a barrier. */
static void abandon(struct tt_file *file)
{
    struct tt_container *c = file->state;
    struct tt_error ignored = TT_ERROR_CLEAR;

    if (!c->library->held)
        return;
    tt_disk_divert(file->spec->path);
    if (anywhere(file, c->flush_failed))
        c->library->flush(file, &ignored);
}

/* The closing call must not be the first to fail; so everything is flushed before it. */
static int close_library(struct tt_file *file, struct tt_error *e)
{
    struct tt_container *c = file->state;
    bool writes = file->spec->access != TT_READ_ONLY;
    bool failed = writes && tt_container_failed_anywhere(file);
    struct tt_error ignored = TT_ERROR_CLEAR;
    int rc = TT_OK, closed;

    if (writes && !failed) {
        rc = tt_container_flush(file, e);
        failed = tt_container_failed_anywhere(file);
    }
    if (failed && rc == TT_OK && c->late.code != TT_OK) {
        rc = c->late.code;
        *e = e->code == TT_OK ? c->late : *e;
    }
    if (failed)
        abandon(file);
    closed = c->library->close(file, failed ? &ignored : e);
    if (rc == TT_OK && !failed)
        rc = closed;
    if (writes && !failed && rc == TT_OK)
        rc = check_complete(file, e);
    return rc;
}

int tt_container_close(struct tt_file *file, struct tt_error *e)
{
    struct tt_container *c = file->state;
    int rc;

    c->library->release(file);
    rc = c->is_open ? close_library(file, e) : TT_OK;
    if (c->info != MPI_INFO_NULL)
        MPI_Info_free(&c->info);
    free(c->at_hand);
    free(c->extents.extents);
    free(c->numbers);
    free(c->boxes);
    free(c->staging);
    return rc;
}

/* ---- opening ---- */

/* What was made goes again. */
static int give_up(struct tt_file *file, int rc, struct tt_error *e)
{
    ((struct tt_container *)file->state)->failed = true;
    tt_container_close(file, e);
    tt_disk_unmake(file);
    return rc;
}

static int reserve_boxes(struct tt_container *c, size_t n, struct tt_error *e)
{
    MPI_Offset *numbers, **boxes;

    if (n <= c->boxes_size)
        return TT_OK;
    numbers = realloc(c->numbers, n * 2 * TT_CONTAINER_DIMS * sizeof *numbers);
    if (numbers)
        c->numbers = numbers;
    boxes = realloc(c->boxes, n * 2 * sizeof *boxes);
    if (boxes)
        c->boxes = boxes;
    if (!numbers || !boxes)
        return tt_fail_nomem(e, "a list of boxes");
    c->boxes_size = n;
    for (size_t i = 0; i < 2 * n; i++)
        c->boxes[i] = c->numbers + i * TT_CONTAINER_DIMS;
    return TT_OK;
}

int tt_container_prepare(struct tt_file *file, const struct tt_library *library, struct tt_error *e)
{
    struct tt_container *c = file->state;
    int rc;

    c->library = library;
    c->info = MPI_INFO_NULL;
    tt_error_clear(&c->late);
    c->at_hand = calloc(file->spec->nvariables + 1, sizeof *c->at_hand);
    rc = c->at_hand ? reserve_boxes(c, 1, e) : tt_fail_nomem(e, "the variables");
    if (rc == TT_OK)
        rc = library->prepare(file, e);
    rc = tt_file_agree(file, rc, e);
    if (rc == TT_OK)
        rc = tt_disk_open_first(file, false, e);
    return rc == TT_OK ? TT_OK : give_up(file, rc, e);
}

/* Variables that are there once, or those of one step. */
static int define_variables(struct tt_file *file, bool own, uint64_t step, struct tt_error *e)
{
    const struct tt_file_spec *spec = file->spec;
    struct tt_container *c = file->state;
    int rc = TT_OK;

    for (unsigned i = 0; rc == TT_OK && i < spec->nvariables; i++)
        if (tt_container_has_own(spec, &spec->variables[i]) == own) {
            rc = c->library->define(file, i, step, e);
            c->at_hand[i] = rc == TT_OK ? step + 1 : 0;
        }
    if (rc == TT_OK && own)
        c->steps = step + 1;
    return rc;
}

/* Variables with dimensions that grow, but not by steps. */
static int extend_fixed(struct tt_file *file, bool per_step, uint64_t step, struct tt_error *e)
{
    const struct tt_file_spec *spec = file->spec;
    const struct tt_container *c = file->state;
    int rc = TT_OK;

    for (unsigned i = 0; rc == TT_OK && i < spec->nvariables; i++) {
        const struct tt_variable *v = &spec->variables[i];

        if (v->unlimited && v->per_step == per_step && !tt_container_has_step(spec, v))
            rc = c->library->extend(file, i, step, e);
    }
    return rc;
}

static int define_file(struct tt_file *file, struct tt_error *e)
{
    const struct tt_container *c = file->state;
    const struct tt_library *l = c->library;
    bool groups = file->spec->policy == TT_GROUP;
    uint64_t ahead = groups && l->defines_ahead ? file->spec->steps : 0;
    int rc = l->begin_define ? l->begin_define(file, false, e) : TT_OK;

    if (rc == TT_OK)
        rc = define_variables(file, false, 0, e);
    for (uint64_t step = 0; rc == TT_OK && step < ahead; step++)
        rc = define_variables(file, true, step, e);
    rc = tt_file_agree(file, rc, e);
    if (rc == TT_OK && l->begin_data)
        rc = l->begin_data(file, true, e);
    if (rc == TT_OK)
        rc = extend_fixed(file, false, 0, e);
    for (uint64_t step = 0; rc == TT_OK && step < (groups ? ahead : 1); step++)
        rc = extend_fixed(file, true, step, e);
    return rc;
}

int tt_container_open(struct tt_file *file, struct tt_error *e)
{
    struct tt_container *c = file->state;
    const struct tt_library *l = c->library;
    int rc = l->open(file, e);

    rc = tt_file_agree(file, rc, e);
    c->is_open = rc == TT_OK; /* what not all have opened cannot be closed: that is collective */
    if (rc == TT_OK)
        rc = tt_file_agree(file, tt_disk_check_made(file, -1, e), e);
    if (rc == TT_OK && file->spec->access == TT_CREATE)
        rc = tt_file_agree(file, define_file(file, e), e);
    else if (rc == TT_OK && l->begin_data)
        rc = tt_file_agree(file, l->begin_data(file, false, e), e);
    return rc == TT_OK ? TT_OK : give_up(file, rc, e);
}

/* ---- steps ---- */

static int add_own(struct tt_file *file, uint64_t step, struct tt_error *e)
{
    const struct tt_container *c = file->state;
    const struct tt_library *l = c->library;
    int rc = l->begin_define ? l->begin_define(file, true, e) : TT_OK;

    if (rc == TT_OK)
        rc = define_variables(file, true, step, e);
    rc = tt_file_agree(file, rc, e);
    if (rc == TT_OK && l->begin_data)
        rc = l->begin_data(file, true, e);
    return rc == TT_OK ? extend_fixed(file, true, step, e) : rc;
}

/* By one more step; or, in a file that is changed, to where the variables end now. */
static int extend_all(struct tt_file *file, uint64_t step, struct tt_error *e)
{
    const struct tt_file_spec *spec = file->spec;
    struct tt_container *c = file->state;
    bool update = spec->access == TT_UPDATE;
    int rc = TT_OK;

    for (unsigned i = 0; rc == TT_OK && i < spec->nvariables; i++) {
        const struct tt_variable *v = &spec->variables[i];

        if (update ? !v->per_step : !tt_container_step_grows(spec, v))
            continue;
        if (update) { /* ranks that transfer alone may have different ones at hand */
            c->at_hand[i] = 0;
            rc = tt_file_agree(file, tt_container_find(file, i, step, e), e);
        }
        if (rc == TT_OK)
            rc = c->library->extend(file, i, step, e);
    }
    return rc;
}

int tt_container_define(struct tt_file *file, uint64_t step, struct tt_error *e)
{
    const struct tt_file_spec *spec = file->spec;
    struct tt_container *c = file->state;
    bool create = spec->access == TT_CREATE;
    int rc;

    if (spec->access == TT_READ_ONLY ||
        (create && (spec->policy == TT_OVERWRITE || step < c->steps)))
        return TT_OK;
    rc = check_space(file, e);
    if (rc != TT_OK || tt_container_failed_anywhere(file))
        return rc;
    if (create && spec->steps > 0 && step >= spec->steps)
        rc = tt_fail(e, TT_FAILED, "'%s': step %" PRIu64 ", but only %" PRIu64 " were announced",
                     spec->path, step, spec->steps);
    else if (create && spec->policy == TT_GROUP)
        rc = add_own(file, step, e);
    else
        rc = extend_all(file, step, e);
    c->failed |= rc != TT_OK;
    if (rc == TT_OK && step >= c->steps)
        c->steps = step + 1;
    return rc;
}

/* ---- transfers ---- */

/* A block on its way. */
struct job {
    struct tt_file *file;
    struct tt_piece piece;
    const struct tt_variable *variable;
    size_t size; /* bytes of an element in memory */
    bool staged; /* a slab that goes through the staging buffer */
    /* walking through lists: */
    const struct tt_extent_list *list; /* NULL: the order of the selections */
    size_t next;
    struct tt_extent_iter iter;
    struct tt_extent rest; /* not taken by the last round */
};

/* The step first if it is a dimension, then the variable's own numbers, then those of the bytes. */
static void widen(const struct job *j, const uint64_t *own, uint64_t step, uint64_t bytes,
                  MPI_Offset *out)
{
    int lead = tt_container_has_step(j->file->spec, j->variable);

    out[0] = (MPI_Offset)step;
    for (int i = 0; i < j->variable->ndims; i++)
        out[lead + i] = (MPI_Offset)own[i];
    if (tt_container_has_bytes(j->file, j->variable))
        out[lead + j->variable->ndims] = (MPI_Offset)bytes;
}

static void walk(struct job *j)
{
    const struct tt_container *c = j->file->state;

    tt_extents_begin(&j->iter, j->piece.block, j->size);
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

static void take(struct job *j, uint64_t bytes)
{
    j->rest.file_offset += bytes;
    j->rest.memory_offset += bytes;
    j->rest.length -= bytes;
}

/* Walks on by as many boxes as one call takes; without boxes they are only counted. False at the
 * end. *packed: they lie in one piece of memory, at *memory. */
static bool next_round(struct job *j, MPI_Offset **boxes, uint64_t *memory, bool *packed)
{
    const struct tt_container *c = j->file->state;
    const struct tt_library *l = c->library;
    struct tt_piece *p = &j->piece;

    p->n = 0;
    p->bytes = 0;
    *packed = true;
    for (; p->n < l->round_boxes && has_more(j); p->n++) {
        uint64_t start[TT_MAX_DIMS], count[TT_MAX_DIMS], at = j->rest.memory_offset;
        bool follows = *packed && (p->n == 0 || at == *memory + p->bytes);
        uint64_t most = follows || l->call_bytes < ROUND_BYTES ? l->call_bytes : ROUND_BYTES;
        uint64_t fit = most > p->bytes ? (most - p->bytes) / j->size : 0;
        struct tt_run run = {j->rest.file_offset / j->size, j->rest.length / j->size};
        uint64_t taken;

        if (p->n == 0 && fit == 0)
            fit = 1;
        if (fit == 0)
            break;
        if (p->n == 0)
            *memory = at;
        *packed = follows;
        taken = run.length = run.length < fit ? run.length : fit;
        tt_run_take_box(&run, j->variable->ndims, j->variable->dims, start, count);
        taken = (taken - run.length) * j->size;
        if (boxes) {
            widen(j, start, p->step, 0, boxes[p->n]);
            widen(j, count, 1, j->size, boxes[c->boxes_size + p->n]);
        }
        p->bytes += taken;
        take(j, taken);
    }
    return p->n > 0;
}

/* Between the staging buffer and what the next round takes. */
static void stage_round(struct job again, uint64_t bytes)
{
    const struct tt_container *c = again.file->state;
    char *staged = c->staging, *data = again.piece.block->data;

    for (uint64_t n; bytes > 0 && has_more(&again); bytes -= n, staged += n) {
        n = again.rest.length < bytes ? again.rest.length : bytes;
        if (again.piece.direction == TT_WRITING)
            memcpy(staged, data + again.rest.memory_offset, n);
        else
            memcpy(data + again.rest.memory_offset, staged, n);
        take(&again, n);
    }
}

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
    struct tt_container *c = j->file->state;
    struct tt_piece *p = &j->piece;
    char nowhere = 0;

    memset(c->boxes[0], 0, TT_CONTAINER_DIMS * sizeof *c->boxes[0]);
    memset(c->boxes[c->boxes_size], 0, TT_CONTAINER_DIMS * sizeof *c->boxes[0]);
    for (int i = 0; i < TT_CONTAINER_DIMS; i++)
        c->stride[i] = c->blocks[i] = 1;
    p->n = 0;
    p->bytes = 0;
    p->data = &nowhere;
    p->memory = NULL;
    return tt_container_move(j->file, &j->piece, e);
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
    p->memory = NULL;
    p->data = packed ? (char *)p->block->data + memory : c->staging;
    if (!packed && p->direction == TT_WRITING)
        stage_round(before, p->bytes);
    rc = tt_container_move(j->file, &j->piece, e);
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

    widen(j, strided ? own.start : s->start, p->step, 0, c->boxes[0]);
    widen(j, strided ? own.count : s->count, 1, j->size, c->boxes[c->boxes_size]);
    widen(j, strided ? own.stride : s->stride, 1, 1, c->stride);
    widen(j, strided ? ones : s->block, 1, 1, c->blocks);
    p->n = 1;
    p->bytes = tt_selection_count(s) * j->size;
    p->memory = c->library->hyperslabs && !j->staged ? &p->block->memory : NULL;
    if (!p->memory)
        tt_selection_is_contiguous(&p->block->memory, &run);
    p->data = j->staged ? c->staging : (char *)p->block->data + run.start * j->size;
    if (j->staged && p->direction == TT_WRITING)
        tt_block_pack(p->block, j->size, p->data);
    rc = tt_container_move(j->file, &j->piece, e);
    if (rc == TT_OK && j->staged && p->direction == TT_READING)
        tt_block_unpack(p->block, j->size, p->data);
    return rc;
}

/* How many calls the block needs here, and the memory for them. */
static int plan(struct job *j, int *calls, struct tt_error *e)
{
    struct tt_container *c = j->file->state;
    const struct tt_block *b = j->piece.block;
    uint64_t memory = 0, staging = 0;
    struct tt_run run;
    size_t boxes = 1;
    bool packed;

    *calls = 0;
    if (j->piece.listed) {
        if (c->library->sorted && tt_extents_collect(&c->extents, b, j->size) != TT_OK)
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
    return reserve_boxes(c, boxes, e);
}

/* What all ranks must do alike in collective methods. */
enum { CALLS, LISTED, FAILED, WORDS, AGREED = WORDS + 2 };

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
    p->listed = n > 0 && (l->hyperslabs ? p->block->file.kind == TT_SELECT_RUNS
                                        : n > l->call_bytes / j->size ||
                                              !tt_selection_is_strided(&p->block->file, &strided));
    if (n > 0 && (!p->listed || l->lists == TT_LISTS_MIX))
        rc = plan(j, mine, e);
    agreed[CALLS] = *mine;
    agreed[LISTED] = p->listed;
    agreed[FAILED] = rc != TT_OK;
    memcpy(&agreed[WORDS], p->words, sizeof p->words);
    if (c->collective)
        tt_file_max(j->file, AGREED, agreed);
    *all = agreed[CALLS];
    memcpy(p->words, &agreed[WORDS], sizeof p->words);
    if (l->lists != TT_LISTS_MIX && agreed[LISTED] && !agreed[FAILED]) {
        p->listed = true;
        if (n > 0)
            rc = plan(j, mine, e);
        *all = *mine;
        agreed[CALLS] = *mine;
        agreed[FAILED] = rc != TT_OK;
        if (c->collective && l->lists == TT_LISTS_TOGETHER)
            tt_file_max(j->file, FAILED + 1, agreed);
        *all = agreed[CALLS];
    }
    p->collective = c->collective && !(p->listed && l->lists == TT_LISTS_ALONE);
    if (agreed[FAILED]) {
        *all = 0;
        c->at_hand[p->variable] = 0; /* also where it was found: to look again may be collective */
    }
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
                                .stride = c->stride,
                                .blocks = c->blocks};
    rc = tt_container_find(file, b->variable, step, e);
    if (rc == TT_OK && c->library->check)
        rc = c->library->check(file, &j.piece, e);
    if (rc == TT_OK && c->failed)
        rc = tt_fail(e, TT_FAILED, "an earlier write to '%s' has failed", file->spec->path);
    rc = agree_on(&j, rc, &mine, &all, e);
    j.piece.starts = c->boxes;
    j.piece.counts = c->boxes + c->boxes_size;
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
