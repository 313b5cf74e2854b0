/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank does: compute, save its part of the state now and then, and in the end restore all of
 * it, as after a crash: into memory that holds nothing, from files that no cache has.
 *
 * A checkpoint is written under names that end in .part and a number. When all ranks have made
 * their files durable and closed them, each renames its own; then the oldest one goes. Beside
 * computation that is done in the first step in which all ranks have ended writing. With a device
 * the state is in its memory. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/agree.h"
#include "base/sys.h"
#include "engine/content.h"
#include "engine/device_move.h"
#include "engine/device_work.h"
#include "io/file.h"
#include "workloads/checkpoint/checkpoint.h"
#include "workloads/training/training.h"

#define POISON 0xa5

static const char *const kinds[TT_CHECKPOINT_KINDS] = {"model", "optimizer"};

/* What a rank holds of a kind, and where. */
struct part {
    struct tt_checkpoint_state state;
    unsigned char *memory;
    struct tt_block *blocks;
    struct tt_series *series;
    char *path; /* of the series */
};

struct job {
    struct tt_engine *engine;
    const struct tt_checkpoint_options *options;
    uint64_t seed, iteration, iterations;
    uint64_t saved_by, restored_by;
    char *base; /* of all names */
    struct part parts[TT_CHECKPOINT_KINDS];
    struct tt_training_work *work; /* here, or else on the device; neither: nothing is computed */
    struct tt_device_work work_there;
    struct tt_checkpoint_feed *feed; /* to the device, while it is restored */
    uint64_t in_flight;              /* number of the checkpoint that is being written; 0: none */
    int64_t begun_ns;                /* since then */
    double *rows;                    /* of the table */
    double cached, restored_bytes, restore_seconds;
    bool cache_unknown;
    struct tt_histogram opens, reads;
    struct tt_timeline line;
};

/* ---- names and memory ---- */

static char *path_of(const struct job *j, uint64_t number, int kind, uint64_t rank)
{
    char *path;

    return asprintf(&path, "%s.%06llu.%s.%04llu", j->base, (unsigned long long)number, kinds[kind],
                    (unsigned long long)rank) < 0
               ? NULL
               : path;
}

static void release(const struct job *j, struct part *p)
{
    struct tt_device *d = j->engine->device;

    tt_checkpoint_state_free(&p->state);
    if (d && p->memory) {
        tt_device_settle(d);
        d->type->release(d, p->memory);
    } else {
        free(p->memory);
    }
    free(p->blocks);
    free(p->path);
    *p = (struct part){0};
}

/* Of the device, if there is one; it holds nothing that could be taken for the state. */
static int take_memory(const struct job *j, uint64_t bytes, unsigned char **out, struct tt_error *e)
{
    const struct tt_content nonsense = {.signature = ~j->seed};
    struct tt_device *d = j->engine->device;
    void *data = NULL;
    int rc;

    if (d) {
        rc = d->type->allocate(d, bytes, &data, e);
        *out = data;
        return rc == TT_OK ? tt_content_fill_on(d, &nonsense, 0, 0, data, bytes, e) : rc;
    }
    *out = aligned_alloc(4096, bytes);
    if (!*out)
        return tt_fail_nomem(e, "the state of the model");
    memset(*out, POISON, bytes);
    return TT_OK;
}

/* Pieces, with memory for them, of this rank among so many; nothing beyond them. */
static int allocate(struct job *j, uint64_t ranks, struct tt_error *e)
{
    uint64_t rank = (uint64_t)j->engine->rank;
    int rc = TT_OK;

    for (int k = 0; rc == TT_OK && rank < ranks && k < TT_CHECKPOINT_KINDS; k++) {
        struct part *p = &j->parts[k];

        rc = tt_checkpoint_state_make(&p->state, j->options, (enum tt_checkpoint_kind)k, rank,
                                      ranks, e);
        if (rc == TT_OK)
            rc = take_memory(j, p->state.memory, &p->memory, e);
        if (rc != TT_OK)
            return rc;
        p->blocks = calloc(p->state.n, sizeof *p->blocks);
        if (!p->blocks)
            return tt_fail_nomem(e, "the state of the model");
        for (unsigned i = 0; i < p->state.n; i++) {
            const struct tt_variable *v = &p->state.variables[i];

            p->blocks[i] =
                (struct tt_block){.variable = i,
                                  .data = p->memory + p->state.pieces[i].at,
                                  .space = j->engine->device ? TT_IN_DEVICE : TT_IN_HOST};
            tt_select_all(&p->blocks[i].file, 1, v->dims);
            tt_select_all(&p->blocks[i].memory, 1, v->dims);
        }
    }
    return rc;
}

/* ---- saving ---- */

/* The state, and the buffers between the device and storage. */
static int fill(const struct job *j, struct part *p, struct tt_error *e)
{
    struct tt_device *d = j->engine->device;
    int rc;

    if (!d) {
        tt_checkpoint_fill(&p->state, j->seed, p->memory);
        return TT_OK;
    }
    rc = tt_checkpoint_fill_on(d, &p->state, j->seed, p->memory, e);
    if (rc == TT_OK)
        rc = tt_series_rehearse(p->series, TT_WRITING, p->state.n, p->blocks, e);
    return tt_agree(j->engine->comm, rc, e);
}

/* Collective. */
static int open_series(struct job *j, struct tt_error *e)
{
    int rc = TT_OK;

    for (int k = 0; rc == TT_OK && k < TT_CHECKPOINT_KINDS; k++) {
        struct part *p = &j->parts[k];
        struct tt_series_spec spec = {.access = TT_CREATE,
                                      .policy = TT_FILE_PER_STEP,
                                      .per_process = true,
                                      .own_path = true,
                                      .by_helper = true, /* which knows when it has ended */
                                      .steps = j->options->checkpoints + 1,
                                      .nvariables = p->state.n,
                                      .variables = p->state.variables};

        if (asprintf(&p->path, "%s.%s.%04d.part", j->base, kinds[k], j->engine->rank) < 0)
            p->path = NULL;
        rc = tt_agree(j->engine->comm, p->path ? TT_OK : tt_fail_nomem(e, "a path"), e);
        spec.path = p->path;
        if (rc == TT_OK)
            rc = tt_series_open(j->engine, &spec, &p->series, e);
        if (rc == TT_OK)
            rc = fill(j, p, e);
    }
    return rc;
}

static int rename_own(struct job *j, uint64_t number, struct tt_error *e)
{
    int rc = TT_OK;

    for (int k = 0; rc == TT_OK && k < TT_CHECKPOINT_KINDS; k++) {
        char *from = NULL, *to = path_of(j, number, k, (uint64_t)j->engine->rank);
        int64_t t = tt_now_ns();

        if (!to || asprintf(&from, "%s.%06llu", j->parts[k].path, (unsigned long long)number) < 0)
            rc = tt_fail_nomem(e, "a path");
        if (rc == TT_OK)
            rc = tt_data_rename(j->engine, from, to, e);
        tt_call_add(j->engine, TT_METADATA, TT_CALL_RENAME, t);
        free(from);
        free(to);
    }
    return rc;
}

static int sync_directory(const struct job *j, struct tt_error *e)
{
    int why = tt_sys_sync_name(j->base);

    return why ? tt_fail_call(e, why, "fsync", j->base, -1) : TT_OK;
}

static int remove_own(struct job *j, uint64_t number, struct tt_error *e)
{
    int rc = TT_OK;

    for (int k = 0; rc == TT_OK && k < TT_CHECKPOINT_KINDS; k++) {
        char *path = path_of(j, number, k, (uint64_t)j->engine->rank);
        int64_t t = tt_now_ns();

        rc = path ? tt_data_remove(j->engine, path, e) : tt_fail_nomem(e, "a path");
        if (rc == TT_OK)
            tt_data_leave(j->engine, path);
        tt_call_add(j->engine, TT_METADATA, TT_CALL_REMOVE, t);
        free(path);
    }
    return rc;
}

static bool stores(const struct job *j)
{
    return tt_stack_caps(&j->engine->config->stack) & TT_CAP_STORES;
}

/* Collective: the checkpoint in flight is durable on all ranks, then stands in its place, then the
 * one that is too old goes. */
static int finish_save(struct job *j, struct tt_error *e)
{
    uint64_t number = j->in_flight, newest = j->options->keep_newest;
    int64_t since = tt_now_ns();
    double *row;
    int rc = TT_OK;

    if (number == 0)
        return TT_OK;
    row = j->rows + (number - 1) * TT_CHECKPOINT_NCOLUMNS;
    j->in_flight = 0;
    for (int k = 0; k < TT_CHECKPOINT_KINDS; k++) {
        int now = tt_series_complete(j->parts[k].series, 0, e);

        rc = rc == TT_OK ? now : rc;
    }
    if (rc == TT_OK && stores(j))
        rc = tt_agree(j->engine->comm, rename_own(j, number, e), e);
    if (rc == TT_OK && stores(j))
        rc = tt_agree(j->engine->comm, j->engine->rank == 0 ? sync_directory(j, e) : TT_OK, e);
    row[TT_CHECKPOINT_SECONDS] = rc == TT_OK ? tt_seconds(tt_now_ns() - j->begun_ns) : 0;
    if (rc == TT_OK && stores(j) && number > newest)
        rc = tt_agree(j->engine->comm, remove_own(j, number - newest, e), e);
    row[TT_CHECKPOINT_STALL] += tt_seconds(tt_now_ns() - since);
    return rc;
}

static int stamp(struct job *j, uint64_t number, struct tt_error *e)
{
    struct tt_device *d = j->engine->device;
    int rc = TT_OK;

    for (int k = 0; rc == TT_OK && k < TT_CHECKPOINT_KINDS; k++)
        if (d)
            rc = tt_checkpoint_stamp_on(d, &j->parts[k].state, number, j->parts[k].memory, e);
        else
            tt_checkpoint_stamp(&j->parts[k].state, number, j->parts[k].memory);
    return rc;
}

/* Collective. */
static int save(struct job *j, uint64_t number, struct tt_error *e)
{
    double *row = j->rows + (number - 1) * TT_CHECKPOINT_NCOLUMNS;
    uint64_t bytes = 0;
    int rc = finish_save(j, e);
    int64_t since = tt_now_ns();

    if (rc != TT_OK)
        return rc;
    row[TT_CHECKPOINT_NUMBER] = (double)number;
    rc = stamp(j, number, e);
    j->begun_ns = tt_phase_add(j->engine, TT_COMPUTE, since); /* training has changed it */
    rc = tt_device_agree(j->engine, rc, e);
    for (int k = 0; k < TT_CHECKPOINT_KINDS; k++)
        bytes += j->parts[k].state.bytes;
    if (rc == TT_OK)
        rc = tt_limits_check_dump(j->engine, 1, bytes, bytes, e);
    if (rc == TT_OK)
        j->in_flight = number;
    for (int k = 0; rc == TT_OK && k < TT_CHECKPOINT_KINDS; k++)
        rc = tt_series_dump(j->parts[k].series, number, j->parts[k].state.n, j->parts[k].blocks, e);
    row[TT_CHECKPOINT_STALL] = tt_seconds(tt_now_ns() - j->begun_ns);
    if (rc == TT_OK && j->engine->config->run->overlap == TT_OVERLAP_NONE)
        rc = finish_save(j, e);
    return rc;
}

/* Collective: whether all ranks have ended what they write beside the computation. */
static bool has_ended(const struct job *j)
{
    int ended = 1;
    int64_t since = tt_now_ns();

    if (j->in_flight == 0)
        return false;
    for (int k = 0; k < TT_CHECKPOINT_KINDS; k++)
        ended = ended && tt_series_has_ended(j->parts[k].series);
    MPI_Allreduce(MPI_IN_PLACE, &ended, 1, MPI_INT, MPI_MIN, j->engine->comm);
    tt_phase_add(j->engine, TT_COLLECTIVE, since);
    return ended;
}

static int compute(struct job *j, struct tt_error *e)
{
    uint64_t passes = j->options->compute.count;

    if (!j->work)
        return tt_training_work_do_on(&j->work_there, passes, e);
    tt_training_work_do(j->work, passes);
    return TT_OK;
}

/* After the last save, too: otherwise nothing would run beside it, and it would be waited for. */
static int train(struct job *j, struct tt_error *e)
{
    uint64_t every = j->options->every, n = j->options->checkpoints;
    int rc = TT_OK;

    while (rc == TT_OK && j->iteration < tt_checkpoint_steps(j->options)) {
        int64_t since;

        rc = tt_iteration_begin(j->engine, ++j->iteration, j->iterations, e);
        since = tt_now_ns();
        if (rc == TT_OK && j->options->compute.count > 0) {
            rc = compute(j, e);
            tt_passes_add(j->engine, since);
            rc = tt_device_agree(j->engine, rc, e);
        }
        if (rc == TT_OK && has_ended(j))
            rc = finish_save(j, e);
        if (rc == TT_OK && j->iteration % every == 0)
            rc = j->iteration / every <= n ? save(j, j->iteration / every, e) : finish_save(j, e);
        tt_iteration_end(j->engine);
    }
    return rc;
}

/* ---- restoring ---- */

/* A file of some rank's that holds something of what this one needs. */
struct source {
    int kind;
    char *path;
    struct tt_checkpoint_state state;
    unsigned n;
    struct transfer {
        unsigned theirs, mine; /* pieces */
        uint64_t start, count; /* elements of the tensor */
    } * list;
};
struct sources {
    size_t n;
    struct source *list;
};

static void free_sources(struct sources *all)
{
    for (size_t i = 0; i < all->n; i++) {
        tt_checkpoint_state_free(&all->list[i].state);
        free(all->list[i].path);
        free(all->list[i].list);
    }
    free(all->list);
    *all = (struct sources){0};
}

/* What two lists of pieces, both in order, have in common. */
static void intersect(struct source *s, const struct tt_checkpoint_state *mine)
{
    unsigned a = 0, b = 0;

    while (a < s->state.n && b < mine->n) {
        const struct tt_checkpoint_piece *x = &s->state.pieces[a], *y = &mine->pieces[b];
        uint64_t start = x->start > y->start ? x->start : y->start;
        uint64_t ends[2] = {x->start + x->count, y->start + y->count};
        uint64_t end = ends[0] < ends[1] ? ends[0] : ends[1];
        bool same = x->tensor == y->tensor && x->part == y->part;

        if (same && start < end)
            s->list[s->n++] = (struct transfer){a, b, start, end - start};
        a += same || x->tensor < y->tensor || (x->tensor == y->tensor && x->part < y->part);
        b += same || y->tensor < x->tensor || (x->tensor == y->tensor && y->part < x->part);
    }
}

/* Not measured: which files this rank reads, and what of them. */
static int find_sources(struct job *j, uint64_t number, struct sources *all, struct tt_error *e)
{
    int rc = TT_OK;

    all->list = calloc(j->saved_by * TT_CHECKPOINT_KINDS, sizeof *all->list);
    if (!all->list)
        return tt_fail_nomem(e, "the list of files");
    for (int k = 0; rc == TT_OK && k < TT_CHECKPOINT_KINDS; k++)
        for (uint64_t r = 0; rc == TT_OK && r < j->saved_by; r++) {
            const struct tt_checkpoint_state *mine = &j->parts[k].state;
            struct source *s = &all->list[all->n++];

            *s = (struct source){.kind = k, .path = path_of(j, number, k, r)};
            rc = tt_checkpoint_state_make(&s->state, j->options, (enum tt_checkpoint_kind)k, r,
                                          j->saved_by, e);
            s->list = calloc(s->state.n + 1, sizeof *s->list);
            if (rc == TT_OK && (!s->path || !s->list))
                rc = tt_fail_nomem(e, "a path");
            if (rc == TT_OK)
                intersect(s, mine);
            if (s->n > 0 || rc != TT_OK)
                continue;
            tt_checkpoint_state_free(&s->state);
            free(s->path);
            free(s->list);
            all->n--;
        }
    return rc;
}

static uint64_t bytes_of(const struct source *s)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < s->n; i++)
        n += s->list[i].count;
    return n * tt_checkpoint_piece_bytes(&s->state, 0) / s->state.pieces[0].count;
}

/* What is missing is named as what it is, and which others there may be. */
static int find_file(const struct job *j, const struct source *s, uint64_t *bytes,
                     int64_t *resident, struct tt_error *e)
{
    struct tt_error inner = TT_ERROR_CLEAR;
    int rc = tt_data_cached(j->engine, s->path, j->options->cold, bytes, resident, &inner);

    if (rc != TT_OK && inner.sys_errno != ENOENT)
        *e = inner;
    if (rc == TT_OK || inner.sys_errno != ENOENT)
        return rc;
    return tt_fail(e, rc,
                   "checkpoint %llu is not there as a whole: '%s' is missing; checkpoint.path and "
                   "checkpoint.checkpoints say which is restored, and a run leaves only the newest",
                   (unsigned long long)j->options->checkpoints, s->path);
}

static int look_at_cache(struct job *j, const struct sources *all, struct tt_error *e)
{
    const struct tt_stack *stack = &j->engine->config->stack;
    bool raw = stack->n == 1 && stack->elements[0]->caps & TT_CAP_RAW;
    int rc = TT_OK;

    for (size_t i = 0; rc == TT_OK && i < all->n; i++) {
        const struct source *s = &all->list[i];
        int64_t resident = -1;
        uint64_t bytes = 0;

        rc = find_file(j, s, &bytes, &resident, e);
        if (rc == TT_OK && raw && bytes != s->state.bytes)
            rc = tt_fail(e, TT_CORRUPT,
                         "'%s' has %llu bytes instead of %llu: it was saved with other keys, or by "
                         "another number of ranks",
                         s->path, (unsigned long long)bytes, (unsigned long long)s->state.bytes);
        if (rc == TT_OK && bytes > 0) {
            j->cache_unknown = j->cache_unknown || resident < 0;
            j->cached += (double)resident / (double)bytes * (double)bytes_of(s);
        }
    }
    return rc;
}

static int read_block(struct job *j, struct tt_file *f, const struct tt_block *b, uint64_t bytes,
                      struct tt_error *e)
{
    int64_t from = tt_now_ns(), to;
    int rc = tt_file_read(f, 0, b, e);

    to = tt_now_ns();
    tt_histogram_add(&j->reads, to - from);
    tt_timeline_add(&j->line, tt_since_start(j->engine, from), tt_since_start(j->engine, to),
                    bytes);
    tt_count_read(j->engine, bytes);
    return rc;
}

/* A transfer in one read, or to the device in parts, as large as there is room for. */
static int read_piece(struct job *j, const struct source *s, const struct transfer *x,
                      struct tt_file *f, struct tt_error *e)
{
    const struct part *p = &j->parts[s->kind];
    const struct tt_variable *v = &s->state.variables[x->theirs];
    const struct tt_checkpoint_piece *mine = &p->state.pieces[x->mine];
    uint64_t each = tt_checkpoint_piece_bytes(&s->state, 0) / s->state.pieces[0].count;
    uint64_t start = (x->start - s->state.pieces[x->theirs].start) * each, bytes = x->count * each;
    unsigned char *to = p->memory + mine->at + (x->start - mine->start) * each;
    int rc = TT_OK;

    for (uint64_t done = 0, n; rc == TT_OK && done < bytes; done += n) {
        uint64_t first = (start + done) / v->element->size, count;
        struct tt_block b = {.variable = x->theirs};
        unsigned char *buffer = to;

        n = bytes - done;
        if (j->feed) {
            n = n < TT_CHECKPOINT_PART ? n : TT_CHECKPOINT_PART;
            rc = tt_checkpoint_feed_room(j->feed, &buffer, e);
        }
        b.data = buffer;
        count = n / v->element->size;
        tt_select_slab(&b.file, 1, v->dims, &first, NULL, &count, NULL);
        tt_select_all(&b.memory, 1, &count);
        if (rc == TT_OK)
            rc = read_block(j, f, &b, n, e);
        if (rc == TT_OK && j->feed)
            rc = tt_checkpoint_feed_send(j->feed, to + done, n, e);
    }
    return rc;
}

static int read_pieces(struct job *j, const struct source *s, struct tt_file *f, struct tt_error *e)
{
    int rc = TT_OK;

    for (unsigned i = 0; rc == TT_OK && i < s->n; i++)
        rc = read_piece(j, s, &s->list[i], f, e);
    return rc;
}

static int read_source(struct job *j, const struct source *s, struct tt_error *e)
{
    struct tt_file_spec spec = {.path = s->path,
                                .comm = MPI_COMM_SELF,
                                .access = TT_READ_ONLY,
                                .policy = TT_OVERWRITE,
                                .steps = 1,
                                .nvariables = s->state.n,
                                .variables = s->state.variables};
    struct tt_file *f;
    int64_t own, stack;
    int rc = tt_file_open(tt_engine_stack(j->engine), &spec, &f, e), closed;

    if (rc != TT_OK)
        return rc;
    tt_histogram_add(&j->opens, tt_file_open_ns(f));
    rc = read_pieces(j, s, f, e);
    closed = tt_file_close_timed(f, &own, &stack, tt_engine_costs(j->engine), e);
    return rc == TT_OK ? closed : rc;
}

/* Collective, and not measured: memory as after a crash, and no cache that knows the files. */
static int prepare_restore(struct job *j, struct sources *all, struct tt_error *e)
{
    int rc = tt_agree(j->engine->comm, tt_unmeasured_begin(j->engine, e), e), now;

    if (rc != TT_OK)
        return rc;
    for (int k = 0; k < TT_CHECKPOINT_KINDS; k++) {
        now = tt_series_close(j->parts[k].series, e);
        rc = rc == TT_OK ? now : rc;
        release(j, &j->parts[k]);
    }
    if (rc == TT_OK)
        rc = allocate(j, j->restored_by, e);
    if (rc == TT_OK)
        rc = find_sources(j, j->options->checkpoints, all, e);
    if (rc == TT_OK)
        rc = look_at_cache(j, all, e);
    if (rc == TT_OK && j->engine->device)
        rc = tt_checkpoint_feed_make(j->engine, &j->feed, e);
    rc = tt_agree(j->engine->comm, rc, e);
    tt_unmeasured_end(j->engine);
    return rc;
}

/* Collective. */
static int restore(struct job *j, struct tt_error *e)
{
    struct sources all = {0};
    int64_t since, waited_ns = 0;
    int rc = prepare_restore(j, &all, e);

    if (rc == TT_OK)
        rc = tt_iteration_begin(j->engine, ++j->iteration, j->iterations, e);
    if (rc == TT_OK) {
        since = tt_now_ns();
        for (size_t i = 0; rc == TT_OK && i < all.n; i++) {
            rc = read_source(j, &all.list[i], e);
            j->restored_bytes += (double)bytes_of(&all.list[i]);
        }
        if (rc == TT_OK && j->feed)
            rc = tt_checkpoint_feed_end(j->feed, &waited_ns, e);
        tt_phase_add(j->engine, TT_LOAD, since);
        tt_phase_add(j->engine, TT_IO_READ, since + waited_ns); /* which was not reading */
        rc = tt_agree(j->engine->comm, rc, e);
        j->restore_seconds = tt_seconds(tt_now_ns() - since);
        tt_iteration_end(j->engine);
    }
    free_sources(&all);
    return rc;
}

static int check_restored(const struct job *j, struct tt_error *e)
{
    uint64_t number = j->options->checkpoints, offset;
    struct tt_device *d = j->engine->device;
    int rc = TT_OK;

    for (int k = 0; rc == TT_OK && k < TT_CHECKPOINT_KINDS; k++) {
        const struct part *p = &j->parts[k];
        bool is_right = true;
        unsigned piece;

        if (d && p->state.n > 0)
            rc = tt_checkpoint_check_on(d, &p->state, j->seed, number, p->memory, &is_right, &piece,
                                        &offset, e);
        else
            is_right =
                tt_checkpoint_is_right(&p->state, j->seed, number, p->memory, &piece, &offset);
        if (rc == TT_OK && !is_right)
            rc = tt_fail(e, TT_CORRUPT,
                         "checkpoint %llu: byte %llu of %s is not what was saved with these keys "
                         "and this seed",
                         (unsigned long long)number, (unsigned long long)offset,
                         p->state.variables[piece].path);
    }
    return tt_agree(j->engine->comm, rc, e);
}

/* ---- the beginning and the end ---- */

static bool saves(const struct job *j)
{
    return j->options->phase != TT_CHECKPOINT_RESTORE;
}

static bool restores(const struct job *j)
{
    return j->options->phase != TT_CHECKPOINT_SAVE && stores(j);
}

static int prepare(struct job *j, struct tt_error *e)
{
    const struct tt_checkpoint_options *o = j->options;
    uint64_t size = (uint64_t)j->engine->size;
    int rc = TT_OK;

    j->seed = j->engine->config->run->seed;
    j->saved_by = o->saved_by ? o->saved_by : size;
    j->restored_by = o->restore_ranks ? o->restore_ranks : size;
    j->iterations = (saves(j) ? tt_checkpoint_steps(o) : 0) + restores(j);
    j->base = tt_data_path_of(j->engine, o->path, "checkpoint");
    j->rows = calloc(o->checkpoints * TT_CHECKPOINT_NCOLUMNS, sizeof *j->rows);
    if (!j->base || !j->rows)
        return tt_fail_nomem(e, "the checkpoint workload");
    if (j->engine->device)
        rc = tt_checkpoint_prepare_on(j->engine->device, e);
    if (rc == TT_OK && o->compute.count > 0 && j->engine->device)
        rc = tt_training_work_make_on(j->engine->device, j->seed, &j->work_there, e);
    else if (rc == TT_OK && o->compute.count > 0 && !(j->work = tt_training_work_make(j->seed)))
        rc = tt_fail_nomem(e, "the matrices to compute on");
    return rc == TT_OK && saves(j) ? allocate(j, size, e) : rc;
}

/* Collective. Of a checkpoint the slowest rank counts. */
static void report(struct job *j)
{
    const struct tt_checkpoint_options *o = j->options;
    struct tt_checkpoint_shape shape = tt_checkpoint_shape(o);
    double state = 14 * (double)tt_checkpoint_parameters(&shape), n = 0, seconds = 0, stall = 0;
    double sums[3] = {j->restored_bytes, j->cached, j->cache_unknown};

    tt_calls_merge(j->engine, TT_CALL_OPEN, &j->opens);
    tt_calls_merge(j->engine, TT_CALL_READ, &j->reads);
    tt_timeline_join(j->engine, TT_READING, &j->line);
    MPI_Allreduce(MPI_IN_PLACE, j->rows, (int)(o->checkpoints * TT_CHECKPOINT_NCOLUMNS), MPI_DOUBLE,
                  MPI_MAX, j->engine->comm);
    MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_DOUBLE, MPI_SUM, j->engine->comm);
    MPI_Allreduce(MPI_IN_PLACE, &j->restore_seconds, 1, MPI_DOUBLE, MPI_MAX, j->engine->comm);
    for (uint64_t i = 0; i < o->checkpoints; i++) {
        const double *row = j->rows + i * TT_CHECKPOINT_NCOLUMNS;

        n += row[TT_CHECKPOINT_SECONDS] > 0;
        seconds += row[TT_CHECKPOINT_SECONDS];
        stall += row[TT_CHECKPOINT_SECONDS] > 0 ? row[TT_CHECKPOINT_STALL] : 0;
    }
    if (n > 0) {
        tt_result(j->engine, "checkpoint_time", TT_RESULT_SAME, seconds / n);
        tt_result(j->engine, "checkpoint_stall", TT_RESULT_SAME, stall / n);
        tt_result(j->engine, "checkpoint_rate", TT_RESULT_SAME, n * state / seconds);
    }
    if (j->restore_seconds > 0) {
        tt_result(j->engine, "restore_time", TT_RESULT_SAME, j->restore_seconds);
        tt_result(j->engine, "restore_rate", TT_RESULT_SAME, sums[0] / j->restore_seconds);
        if (!(sums[2] > 0))
            tt_result(j->engine, "bytes_cached", TT_RESULT_SAME, sums[1]);
    }
    if (j->work_there.device && saves(j))
        tt_device_work_report(&j->work_there, j->engine, tt_checkpoint_steps(o));
    if (j->engine->rank == 0 && n > 0)
        tt_result_table(j->engine, "checkpoints", (unsigned)n, TT_CHECKPOINT_NCOLUMNS, j->rows);
    if (j->engine->rank == 0 && o->phase == TT_CHECKPOINT_BOTH && !stores(j))
        tt_warning(j->engine, "the backend keeps nothing: saved only, not restored");
}

static int measured(struct job *j, struct tt_error *e)
{
    int rc = tt_engine_start(j->engine, e);

    if (rc == TT_OK && saves(j))
        rc = train(j, e);
    if (rc == TT_OK && restores(j))
        rc = restore(j, e);
    if (rc == TT_OK)
        rc = tt_engine_stop(j->engine, e);
    report(j);
    return rc;
}

int tt_checkpoint_run(struct tt_engine *engine, struct tt_error *e)
{
    struct job j = {.engine = engine, .options = tt_config_opts(engine->config, "checkpoint")};
    int rc = tt_agree(engine->comm, prepare(&j, e), e), closed;

    if (rc == TT_OK && saves(&j))
        rc = open_series(&j, e);
    if (rc == TT_OK)
        rc = measured(&j, e);
    if (rc == TT_OK && restores(&j) && j.options->verify)
        rc = check_restored(&j, e);
    for (int k = 0; k < TT_CHECKPOINT_KINDS; k++) {
        closed = tt_series_close(j.parts[k].series, e);
        rc = rc == TT_OK ? closed : rc;
        release(&j, &j.parts[k]);
    }
    free(j.base);
    free(j.rows);
    free(j.work);
    tt_device_work_free(&j.work_there);
    tt_checkpoint_feed_free(j.feed);
    return rc;
}
