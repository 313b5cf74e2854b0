/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank does: hold memory, then write, check and read, repetition after repetition, and keep
 * a row of figures for each. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/agree.h"
#include "engine/counts.h"
#include "workloads/bulk/run.h"

#define SAMPLE_BYTES ((uint64_t)4 << 20) /* of the data, to be compressed */

/* ---- preparation ---- */

/* Collective. */
static void look_at_nodes(struct tt_bulk *b)
{
    int first_of_mine = b->engine->rank, size, firsts[2] = {0, 0}, mine, nodes;
    MPI_Comm node;

    MPI_Comm_split_type(b->engine->comm, MPI_COMM_TYPE_SHARED, b->engine->rank, MPI_INFO_NULL,
                        &node);
    MPI_Bcast(&first_of_mine, 1, MPI_INT, 0, node);
    MPI_Comm_size(node, &size);
    MPI_Comm_free(&node);
    mine = first_of_mine == b->engine->rank;
    MPI_Allreduce(&mine, &nodes, 1, MPI_INT, MPI_SUM, b->engine->comm);
    firsts[0] = size;
    if (b->engine->size > 1) {
        int shares = b->engine->rank == 1 && first_of_mine == 0;

        MPI_Allreduce(&shares, &firsts[1], 1, MPI_INT, MPI_MAX, b->engine->comm);
    }
    MPI_Bcast(&firsts[0], 1, MPI_INT, 0, b->engine->comm);
    b->nodes = (struct tt_bulk_nodes){(uint64_t)firsts[0], (uint64_t)nodes, firsts[1] != 0};
}

/* One byte of every page, or the kernel would not give it. */
static int hold_ballast(struct tt_bulk *b, struct tt_error *e)
{
    const struct tt_space *space = &b->options->ballast;
    long page = sysconf(_SC_PAGESIZE);
    double node = space->bytes
                      ? (double)space->bytes
                      : space->percent / 100 * (double)sysconf(_SC_PHYS_PAGES) * (double)page;
    size_t bytes = (size_t)(node / (double)b->nodes.ranks_of_first);

    if (bytes == 0)
        return TT_OK;
    b->ballast = malloc(bytes);
    if (!b->ballast)
        return tt_fail_nomem(e, "bulk.ballast");
    for (size_t i = 0; i < bytes; i += (size_t)page)
        ((volatile unsigned char *)b->ballast)[i] = 1;
    return TT_OK;
}

static int prepare_device(struct tt_bulk *b, struct tt_error *e)
{
    struct tt_device *d = b->engine->device;
    int rc = d ? tt_content_prepare_on(d, e) : TT_OK;

    return d && rc == TT_OK ? d->type->allocate(d, sizeof(uint64_t), &b->found, e) : rc;
}

static int prepare(struct tt_bulk *b, struct tt_error *e)
{
    const struct tt_bulk_options *o = b->options;
    int rc;

    b->ranks = (uint64_t)b->engine->size;
    b->rank = (uint64_t)b->engine->rank;
    b->transfers = tt_bulk_transfers(o);
    b->places = b->transfers * (o->files ? 1 : b->ranks);
    b->content = (struct tt_content){
        .kind = (enum tt_content_kind)o->data,
        .signature = o->signature ? o->signature : b->engine->config->run->seed,
        .compressible = o->compressible,
        .duplicate = o->duplicate,
    };
    b->measured = o->repetitions * ((uint64_t)o->write + (o->read || (o->check_read && !o->write)));
    b->planned = b->measured + o->repetitions * (o->write && o->check_write);
    b->written = calloc(b->ranks, sizeof *b->written);
    b->rows = calloc(b->planned * TT_BULK_NCOLUMNS, sizeof *b->rows);
    if (!b->written || !b->rows)
        return tt_fail_nomem(e, "the figures of a run");
    for (uint64_t i = 0; i < b->ranks; i++)
        b->written[i] = b->transfers;
    rc = prepare_device(b, e);
    if (rc == TT_OK)
        rc = tt_stream_prepare(b->engine, (unsigned)o->depth, o->transfer, e);
    return rc == TT_OK ? hold_ballast(b, e) : rc;
}

/* What a store would make of the data, of the transfers that this rank writes first. */
static int measure_content(struct tt_bulk *b, struct tt_error *e)
{
    uint64_t size = b->options->transfer, n = SAMPLE_BYTES / size + 1;
    struct tt_content_ratio ratio;
    struct tt_bulk_walk walk;
    char *data;
    int rc;

    tt_bulk_walk_begin(&walk, b->options, b->places, b->ranks, b->rank,
                       b->engine->config->run->seed, TT_BULK_TO_WRITE);
    n = n < walk.count ? n : walk.count;
    n = size > SAMPLE_BYTES ? 1 : n;
    data = malloc(n * size);
    if (!data)
        return tt_fail_nomem(e, "a sample of the data");
    for (uint64_t i = 0; i < n; i++)
        tt_content_fill(&b->content, b->options->files ? b->rank : 0, tt_bulk_offset(&walk, i),
                        data + i * size, size);
    rc = tt_content_measure(data, n * size, &ratio, e);
    free(data);
    tt_result(b->engine, "data_compressed", TT_RESULT_SAME, ratio.compressed);
    tt_result(b->engine, "data_duplicate", TT_RESULT_SAME, ratio.duplicate);
    return rc;
}

/* ---- figures ---- */

/* Collective: the slowest and the fastest, on the clock that started with a barrier. What tutti
 * does for itself around opening and closing (agreeing, noting whose files they are) is no part of
 * it. */
static void add_row(struct tt_bulk *b, const struct tt_bulk_access_state *a, uint64_t repetition)
{
    double most[] = {tt_seconds(a->open_ns), tt_seconds(a->last - a->began),
                     tt_seconds(a->close_ns), (double)a->done};
    double least[] = {tt_seconds(a->first - a->began), (double)a->done, tt_seconds(a->deadline_ns)};
    double sum[] = {(double)a->bytes, (double)a->done, (double)a->latency_ns * 1e-9,
                    (double)a->at_deadline * (double)a->walk.transfer, a->cut};
    double *row = b->rows + b->nrows * TT_BULK_NCOLUMNS;
    MPI_Comm comm = b->engine->comm;

    MPI_Allreduce(MPI_IN_PLACE, most, 4, MPI_DOUBLE, MPI_MAX, comm);
    MPI_Allreduce(MPI_IN_PLACE, least, 3, MPI_DOUBLE, MPI_MIN, comm);
    MPI_Allreduce(MPI_IN_PLACE, sum, 5, MPI_DOUBLE, MPI_SUM, comm);
    row[TT_BULK_ACCESS] = a->kind;
    row[TT_BULK_REPETITION] = (double)repetition;
    row[TT_BULK_BYTES] = sum[0];
    row[TT_BULK_TRANSFERS] = sum[1];
    row[TT_BULK_OPEN_S] = most[0];
    row[TT_BULK_TRANSFER_S] = most[1] - least[0];
    row[TT_BULK_CLOSE_S] = most[2];
    row[TT_BULK_TOTAL_S] = row[TT_BULK_OPEN_S] + row[TT_BULK_TRANSFER_S] + row[TT_BULK_CLOSE_S];
    row[TT_BULK_LATENCY_S] = sum[1] > 0 ? sum[2] / sum[1] : 0;
    row[TT_BULK_DEADLINE_S] = sum[4] > 0 ? least[2] : 0;
    row[TT_BULK_DEADLINE_BYTES] = sum[4] > 0 ? sum[3] : 0;
    row[TT_BULK_LEAST_TRANSFERS] = least[1];
    row[TT_BULK_MOST_TRANSFERS] = most[3];
    b->nrows++;
    tt_result_row(b->engine, TT_BULK_NCOLUMNS, row);
}

/* ---- the sequence ---- */

static uint64_t reads_data_of(const struct tt_bulk *b, enum tt_bulk_access kind,
                              uint64_t repetition)
{
    const struct tt_bulk_options *o = b->options;
    uint64_t seed = o->reorder_seed ? o->reorder_seed : b->engine->config->run->seed;

    if (kind == TT_BULK_WRITE)
        return b->rank;
    return tt_bulk_reordered_rank(o, &b->nodes, b->ranks, b->rank, kind == TT_BULK_CHECK,
                                  seed + (o->reorder_anew ? repetition : 0));
}

/* Collective. The transfers of each rank, so that whoever stands in for it reads no more. */
static int share_counts(struct tt_bulk *b, const struct tt_bulk_access_state *a, struct tt_error *e)
{
    uint64_t least = b->transfers;
    int rc = TT_OK;

    MPI_Allgather(&a->done, 1, MPI_UINT64_T, b->written, 1, MPI_UINT64_T, b->engine->comm);
    for (uint64_t i = 0; i < b->ranks; i++)
        least = b->written[i] < least ? b->written[i] : least;
    if (b->options->count_file && b->engine->rank == 0)
        rc = tt_counts_save(b->options->count_file, least, e);
    return tt_agree(b->engine->comm, rc, e);
}

static void describe_access(struct tt_bulk *b, struct tt_bulk_access_state *a,
                            enum tt_bulk_access kind, uint64_t repetition)
{
    uint64_t of = reads_data_of(b, kind, repetition);
    const struct tt_config *config = b->engine->config;

    *a = (struct tt_bulk_access_state){
        .engine = b->engine,
        .options = b->options,
        .content = b->content,
        .kind = kind,
        .path = tt_bulk_path_of(b, of, repetition),
        .lockstep = !b->options->files && tt_stack_is_collective(&config->stack),
        .found = b->found,
        .pace = &b->pace,
        .progress = b->progress,
        .progress_total = b->planned * b->transfers,
    };
    tt_bulk_walk_begin(&a->walk, b->options, b->places ? b->places : b->written[of], b->ranks, of,
                       config->run->seed,
                       kind == TT_BULK_WRITE ? TT_BULK_TO_WRITE : b->written[of]);
}

/* Collective: how many of the ranks' data anybody has read. */
static double readers_coverage(const struct tt_bulk *b, uint64_t of)
{
    char *seen = calloc(b->ranks, 1);
    double n = 0;
    int ok = seen != NULL;

    MPI_Allreduce(MPI_IN_PLACE, &ok, 1, MPI_INT, MPI_LAND, b->engine->comm);
    if (ok) {
        seen[of] = 1;
        MPI_Allreduce(MPI_IN_PLACE, seen, (int)b->ranks, MPI_CHAR, MPI_BOR, b->engine->comm);
        for (uint64_t i = 0; i < b->ranks; i++)
            n += seen[i];
    }
    free(seen);
    return ok ? n / (double)b->ranks : 1;
}

/* Collective. */
static void note_doubts(struct tt_bulk *b, const struct tt_bulk_access_state *a)
{
    double start = tt_bulk_pace_start(&b->pace);

    b->coverage = fmin(b->coverage, tt_bulk_coverage(a));
    if (b->options->reorder == TT_BULK_RANDOM_RANK && a->kind == TT_BULK_READ)
        b->coverage = fmin(b->coverage, readers_coverage(b, a->walk.rank));
    if (fabs(log(start)) > fabs(log(b->start)))
        b->start = start;
}

/* Collective. A check of what was written is no part of what is measured. */
static int begin_access(struct tt_bulk *b, const struct tt_bulk_access_state *a, struct tt_error *e)
{
    int rc = a->path ? TT_OK : tt_fail_nomem(e, "a path");

    if (rc == TT_OK && a->kind == TT_BULK_CHECK)
        rc = tt_unmeasured_begin(b->engine, e);
    rc = tt_agree(b->engine->comm, rc, e);
    if (rc == TT_OK && a->kind != TT_BULK_CHECK)
        rc = tt_iteration_begin(b->engine, ++b->accesses, b->measured, e);
    if (rc == TT_OK && a->kind == TT_BULK_WRITE)
        rc = tt_bulk_make_room(b, a->path, e);
    else if (rc == TT_OK)
        rc = tt_agree(b->engine->comm, tt_bulk_look_at_cache(b, a, e), e);
    return rc;
}

/* Collective. */
static int access_once(struct tt_bulk *b, enum tt_bulk_access kind, uint64_t repetition,
                       struct tt_error *e)
{
    struct tt_bulk_access_state a;
    int rc;

    memset(&b->pace, 0, sizeof b->pace);
    describe_access(b, &a, kind, repetition);
    rc = begin_access(b, &a, e);
    if (rc == TT_OK)
        rc = tt_bulk_access_run(&a, e);
    if (kind == TT_BULK_CHECK)
        tt_unmeasured_end(b->engine);
    else
        tt_iteration_end(b->engine);
    b->progress += a.done;
    if (rc == TT_OK) {
        add_row(b, &a, repetition);
        note_doubts(b, &a);
        if (kind == TT_BULK_WRITE)
            rc = share_counts(b, &a, e);
    }
    free(a.touched);
    free(a.expected);
    free(a.path);
    return rc;
}

static int repeat(struct tt_bulk *b, struct tt_error *e)
{
    const struct tt_bulk_options *o = b->options;
    int rc = o->write ? TT_OK : tt_bulk_look_at_old_files(b, e);

    for (uint64_t i = 0; rc == TT_OK && i < o->repetitions; i++) {
        if (o->write)
            rc = access_once(b, TT_BULK_WRITE, i, e);
        if (rc == TT_OK && o->write && o->check_write)
            rc = access_once(b, TT_BULK_CHECK, i, e);
        if (rc == TT_OK && (o->read || (o->check_read && !o->write)))
            rc = access_once(b, TT_BULK_READ, i, e);
    }
    return rc;
}

static void report(struct tt_bulk *b)
{
    int holes = b->holes, unknown = b->cache_unknown;

    MPI_Allreduce(MPI_IN_PLACE, &holes, 1, MPI_INT, MPI_MAX, b->engine->comm);
    MPI_Allreduce(MPI_IN_PLACE, &unknown, 1, MPI_INT, MPI_MAX, b->engine->comm);
    if (b->engine->rank == 0)
        tt_result_table(b->engine, "accesses", (unsigned)b->nrows, TT_BULK_NCOLUMNS, b->rows);
    tt_result(b->engine, "coverage", TT_RESULT_SAME, b->coverage);
    if (b->engine->rank == 0 && b->start > 1.5)
        tt_warning(b->engine,
                   "a fast start: the first tenth of an access went %.2f times as fast as the rest "
                   "of it; write buffers or caches were being filled, or it was too short",
                   b->start);
    if (b->engine->rank == 0 && b->start < 1 / 1.5)
        tt_warning(b->engine,
                   "a slow start: the rest of an access went %.2f times as fast as its first "
                   "tenth; a larger bulk.block makes the start count less",
                   1 / b->start);
    if (!unknown)
        tt_result(b->engine, "bytes_cached", TT_RESULT_SUM, b->cached);
    if (holes && b->engine->rank == 0)
        tt_warning(b->engine, "a file had holes when it was read: reading what was never written "
                              "needs no storage");
}

int tt_bulk_run(struct tt_engine *engine, struct tt_error *e)
{
    struct tt_bulk b = {.engine = engine,
                        .options = tt_config_opts(engine->config, "bulk"),
                        .coverage = 1,
                        .start = 1};
    int rc;

    look_at_nodes(&b);
    rc = prepare(&b, e);
    if (rc == TT_OK && b.options->write)
        rc = measure_content(&b, e);
    rc = tt_agree(engine->comm, rc, e);
    if (rc == TT_OK)
        rc = tt_engine_start(engine, e);
    if (rc == TT_OK)
        rc = repeat(&b, e);
    if (rc == TT_OK)
        rc = tt_engine_stop(engine, e);
    report(&b);
    if (b.found)
        engine->device->type->release(engine->device, b.found);
    free(b.ballast);
    free(b.written);
    free(b.rows);
    return rc;
}
