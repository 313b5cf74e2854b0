/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank does: hold memory, then write, check and read, repetition after repetition, and keep
 * a row of figures for each. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/agree.h"
#include "engine/cache.h"
#include "engine/counts.h"
#include "spec/units.h"
#include "workloads/bulk/access.h"

#define SAMPLE_BYTES ((uint64_t)4 << 20) /* of the data, to be compressed */

struct bulk {
    struct tt_engine *engine;
    const struct tt_bulk_options *options;
    struct tt_content content;
    struct tt_bulk_nodes nodes;
    uint64_t ranks, rank;
    uint64_t transfers; /* of every rank, for which the file has room */
    uint64_t *written;  /* of every rank; all of them unless a deadline came */
    unsigned char *ballast;
    uint64_t accesses;          /* begun, of those that are measured */
    uint64_t measured, planned; /* without checks, and with them */
    uint64_t progress;
    size_t nrows;
    double *rows;                   /* rank 0: TT_BULK_NCOLUMNS each */
    double cached, coverage, start; /* coverage: the least; start: of the pace, see access.h */
    struct tt_bulk_pace pace;       /* of the last access */
    bool holes, cache_unknown;
};

/* ---- preparation ---- */

/* Collective. */
static void look_at_nodes(struct bulk *b)
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
static int hold_ballast(struct bulk *b, struct tt_error *e)
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

static int prepare(struct bulk *b, struct tt_error *e)
{
    const struct tt_bulk_options *o = b->options;

    b->ranks = (uint64_t)b->engine->size;
    b->rank = (uint64_t)b->engine->rank;
    b->transfers = tt_bulk_transfers(o);
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
    return hold_ballast(b, e);
}

/* What a store would make of the data, of the transfers that this rank writes first. */
static int measure_content(struct bulk *b, struct tt_error *e)
{
    uint64_t size = b->options->transfer, n = SAMPLE_BYTES / size + 1;
    struct tt_content_ratio ratio;
    struct tt_bulk_walk walk;
    char *data;
    int rc;

    tt_bulk_walk_begin(&walk, b->options, b->transfers, b->ranks, b->rank,
                       b->engine->config->run->seed, 0);
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

/* ---- files ---- */

static char *in_folder_of(const char *path, uint64_t rank)
{
    const char *slash = strrchr(path, '/');
    int head = slash ? (int)(slash - path) : 1;
    char *out;

    return asprintf(&out, "%.*s/%llu/%s", head, slash ? path : ".", (unsigned long long)rank,
                    slash ? slash + 1 : path) < 0
               ? NULL
               : out;
}

/* The file that holds a rank's data in a repetition. */
static char *path_of(struct bulk *b, uint64_t rank, uint64_t repetition)
{
    const struct tt_bulk_options *o = b->options;
    char *base =
        o->paths.n ? strdup(o->paths.words[rank % o->paths.n]) : tt_data_path(b->engine, "bulk");
    char number[32] = "", repeated[32] = "", *placed, *out = NULL;

    if (o->files)
        snprintf(number, sizeof number, ".%08llu", (unsigned long long)rank);
    if (o->numbered)
        snprintf(repeated, sizeof repeated, ".%llu", (unsigned long long)repetition);
    placed = base && o->own_folders ? in_folder_of(base, rank) : base;
    if (placed != base)
        free(base);
    if (placed && asprintf(&out, "%s%s%s", placed, number, repeated) < 0)
        out = NULL;
    free(placed);
    return out;
}

/* How much an existing file holds where it is nothing but the data: of a shared one as much as it
 * has of every rank. */
static int count_from_size(struct bulk *b, const char *path, uint64_t *transfers,
                           struct tt_error *e)
{
    const struct tt_bulk_options *o = b->options;
    bool in_blocks = o->order == TT_BULK_SEQUENTIAL && !o->files;
    uint64_t each = in_blocks ? o->block : o->transfer, all = each * (o->files ? 1 : b->ranks);
    uint64_t there;
    struct stat st;

    if (stat(path, &st) != 0)
        return tt_fail_call(e, errno, "stat", path, -1);
    there = (uint64_t)st.st_size / all * (each / o->transfer);
    *transfers = there < b->transfers ? there : b->transfers;
    if (*transfers == 0)
        return tt_fail(e, TT_FAILED,
                       "'%s' holds %lld bytes, less than a %s%s: choose a smaller one", path,
                       (long long)st.st_size, in_blocks ? "block" : "transfer",
                       o->files ? "" : " of every rank");
    return TT_OK;
}

/* Unless a deadline or a count says that less than everything is to be expected. */
static void warn_of_short_files(struct bulk *b)
{
    const struct tt_bulk_options *o = b->options;
    uint64_t planned = tt_bulk_transfers(o);
    char some[TT_UNIT_TEXT], all[TT_UNIT_TEXT];

    if (b->transfers < planned && o->deadline <= 0 && b->engine->rank == 0)
        tt_warning(b->engine,
                   "short files: there were only %s of the %s that each rank was to read",
                   tt_format_bytes((double)(b->transfers * o->transfer), some),
                   tt_format_bytes((double)(planned * o->transfer), all));
}

static bool is_plain_file(const struct bulk *b)
{
    const struct tt_stack *stack = &b->engine->config->stack;

    return stack->elements[stack->n - 1]->caps & TT_CAP_CONTAINER &&
           strcmp(stack->elements[stack->n - 1]->name, "hdf5") != 0;
}

/* Collective. Files of an earlier run may be shorter than planned: a deadline had ended it. */
static int look_at_old_files(struct bulk *b, struct tt_error *e)
{
    char *path = path_of(b, b->rank, 0);
    uint64_t there = b->transfers, least;
    int rc = path ? TT_OK : tt_fail_nomem(e, "a path");

    if (rc == TT_OK && b->options->count_file)
        rc = tt_counts_load(b->options->count_file, &there, e);
    else if (rc == TT_OK && is_plain_file(b) && b->options->order != TT_BULK_REPEATED)
        rc = count_from_size(b, path, &there, e);
    free(path);
    rc = tt_agree(b->engine->comm, rc, e);
    MPI_Allreduce(&there, &least, 1, MPI_UINT64_T, MPI_MIN, b->engine->comm);
    if (!b->options->count_file)
        b->transfers = least;
    for (uint64_t i = 0; i < b->ranks; i++)
        b->written[i] = least < b->transfers ? least : b->transfers;
    if (rc == TT_OK)
        warn_of_short_files(b);
    return rc;
}

static int make_folder(struct bulk *b, const char *path, struct tt_error *e)
{
    char *folder = strdup(path);
    int rc = TT_OK;

    if (!folder)
        return tt_fail_nomem(e, "a path");
    *strrchr(folder, '/') = '\0';
    if (mkdir(folder, 0777) == 0)
        rc = tt_data_own_folder(b->engine, folder, e);
    else if (errno != EEXIST)
        rc = tt_fail_call(e, errno, "mkdir", folder, -1);
    free(folder);
    return rc;
}

/* Collective. What was written before makes room, outside of any timing. */
static int make_room(struct bulk *b, const char *path, struct tt_error *e)
{
    int rc = TT_OK;

    if (b->options->files || b->engine->rank == 0)
        rc = tt_data_remove(b->engine, path, e);
    if (rc == TT_OK && b->options->own_folders)
        rc = make_folder(b, path, e);
    return tt_agree(b->engine->comm, rc, e);
}

/* Whether places may be read that nobody has written. Libraries leave gaps between what is theirs.
 */
static bool may_read_holes(const struct bulk *b)
{
    const struct tt_bulk_options *o = b->options;

    return is_plain_file(b) && ((!o->write && !o->count_file) || o->order == TT_BULK_REPEATED);
}

/* What the page cache still holds of a file that is about to be read, and whether parts of it were
 * never written. */
static void look_at_cache(struct bulk *b, const struct tt_bulk_access_state *a)
{
    int fd = open(a->path, O_RDONLY | O_CLOEXEC);
    int64_t resident;
    struct stat st;
    off_t hole;

    if (fd < 0 || fstat(fd, &st) != 0) {
        if (fd >= 0)
            close(fd);
        return; /* opening it for reading will say why */
    }
    if (b->options->cold)
        tt_cache_evict(fd);
    if (a->kind == TT_BULK_READ) {
        resident = tt_cache_resident(fd, (uint64_t)st.st_size);
        b->cache_unknown = b->cache_unknown || resident < 0;
        if (resident > 0 && (b->options->files || b->engine->rank == 0))
            b->cached += (double)resident;
        hole = may_read_holes(b) ? lseek(fd, 0, SEEK_HOLE) : -1;
        b->holes = b->holes || (hole >= 0 && hole < st.st_size);
    }
    close(fd);
}

/* ---- figures ---- */

/* Collective: the slowest and the fastest, on the clock that started with a barrier. */
static void add_row(struct bulk *b, const struct tt_bulk_access_state *a, uint64_t repetition)
{
    double most[] = {tt_seconds(a->opened - a->began), tt_seconds(a->last - a->began),
                     tt_seconds(a->closed - a->began), tt_seconds(a->closed - a->closing),
                     (double)a->done};
    double least[] = {tt_seconds(a->first - a->began), (double)a->done, tt_seconds(a->deadline_ns)};
    double sum[] = {(double)a->bytes, (double)a->done, (double)a->latency_ns * 1e-9,
                    (double)a->at_deadline * (double)a->walk.transfer, a->cut};
    double *row = b->rows + b->nrows * TT_BULK_NCOLUMNS;
    MPI_Comm comm = b->engine->comm;

    MPI_Allreduce(MPI_IN_PLACE, most, 5, MPI_DOUBLE, MPI_MAX, comm);
    MPI_Allreduce(MPI_IN_PLACE, least, 3, MPI_DOUBLE, MPI_MIN, comm);
    MPI_Allreduce(MPI_IN_PLACE, sum, 5, MPI_DOUBLE, MPI_SUM, comm);
    row[TT_BULK_ACCESS] = a->kind;
    row[TT_BULK_REPETITION] = (double)repetition;
    row[TT_BULK_BYTES] = sum[0];
    row[TT_BULK_TRANSFERS] = sum[1];
    row[TT_BULK_OPEN_S] = most[0];
    row[TT_BULK_TRANSFER_S] = most[1] - least[0];
    row[TT_BULK_CLOSE_S] = most[3];
    row[TT_BULK_TOTAL_S] = most[2];
    row[TT_BULK_LATENCY_S] = sum[1] > 0 ? sum[2] / sum[1] : 0;
    row[TT_BULK_DEADLINE_S] = sum[4] > 0 ? least[2] : 0;
    row[TT_BULK_DEADLINE_BYTES] = sum[4] > 0 ? sum[3] : 0;
    row[TT_BULK_LEAST_TRANSFERS] = least[1];
    row[TT_BULK_MOST_TRANSFERS] = most[4];
    b->nrows++;
}

/* ---- the sequence ---- */

static uint64_t reads_data_of(const struct bulk *b, enum tt_bulk_access kind, uint64_t repetition)
{
    const struct tt_bulk_options *o = b->options;
    uint64_t seed = o->reorder_seed ? o->reorder_seed : b->engine->config->run->seed;

    if (kind == TT_BULK_WRITE)
        return b->rank;
    return tt_bulk_stand_in(o, &b->nodes, b->ranks, b->rank, kind == TT_BULK_CHECK,
                            seed + (o->reorder_anew ? repetition : 0));
}

/* Collective. The transfers of each rank, so that whoever stands in for it reads no more. */
static void share_counts(struct bulk *b, const struct tt_bulk_access_state *a)
{
    MPI_Allgather(&a->done, 1, MPI_UINT64_T, b->written, 1, MPI_UINT64_T, b->engine->comm);
}

static int save_count(struct bulk *b, struct tt_error *e)
{
    uint64_t least = b->transfers;
    int rc = TT_OK;

    for (uint64_t i = 0; i < b->ranks; i++)
        least = b->written[i] < least ? b->written[i] : least;
    if (b->options->count_file && b->engine->rank == 0)
        rc = tt_counts_save(b->options->count_file, least, e);
    return tt_agree(b->engine->comm, rc, e);
}

static void describe_access(struct bulk *b, struct tt_bulk_access_state *a,
                            enum tt_bulk_access kind, uint64_t repetition)
{
    uint64_t of = reads_data_of(b, kind, repetition);
    const struct tt_config *config = b->engine->config;

    *a = (struct tt_bulk_access_state){
        .engine = b->engine,
        .options = b->options,
        .content = b->content,
        .kind = kind,
        .path = path_of(b, of, repetition),
        .lockstep = !b->options->files && tt_stack_is_collective(&config->stack),
        .pace = &b->pace,
        .progress = b->progress,
        .progress_total = b->planned * b->transfers,
    };
    tt_bulk_walk_begin(&a->walk, b->options, b->transfers, b->ranks, of, config->run->seed,
                       kind == TT_BULK_WRITE ? 0 : b->written[of]);
}

/* Collective: how many of the ranks' data anybody has read. */
static double readers_coverage(const struct bulk *b, uint64_t of)
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
static void note_doubts(struct bulk *b, const struct tt_bulk_access_state *a)
{
    double start = tt_bulk_pace_start(&b->pace);

    b->coverage = fmin(b->coverage, tt_bulk_coverage(a));
    if (b->options->reorder == TT_BULK_RANDOM_RANK && a->kind == TT_BULK_READ)
        b->coverage = fmin(b->coverage, readers_coverage(b, a->walk.rank));
    if (fabs(log(start)) > fabs(log(b->start)))
        b->start = start;
}

/* Collective. A check of what was written is no part of what is measured. */
static int begin_access(struct bulk *b, const struct tt_bulk_access_state *a, struct tt_error *e)
{
    int rc = a->path ? TT_OK : tt_fail_nomem(e, "a path");

    if (rc == TT_OK && a->kind == TT_BULK_CHECK)
        rc = tt_aside_begin(b->engine, e);
    rc = tt_agree(b->engine->comm, rc, e);
    if (rc == TT_OK && a->kind != TT_BULK_CHECK)
        rc = tt_iteration_begin(b->engine, ++b->accesses, b->measured, e);
    if (rc == TT_OK && a->kind == TT_BULK_WRITE)
        rc = make_room(b, a->path, e);
    else if (rc == TT_OK)
        look_at_cache(b, a);
    return rc;
}

static void end_access(struct bulk *b, const struct tt_bulk_access_state *a)
{
    if (a->kind == TT_BULK_CHECK)
        tt_aside_end(b->engine);
    else
        tt_iteration_end(b->engine);
    b->progress += a->done;
}

/* Collective. */
static int access_once(struct bulk *b, enum tt_bulk_access kind, uint64_t repetition,
                       struct tt_error *e)
{
    struct tt_bulk_access_state a;
    int rc;

    memset(&b->pace, 0, sizeof b->pace);
    describe_access(b, &a, kind, repetition);
    rc = begin_access(b, &a, e);
    if (rc == TT_OK)
        rc = tt_bulk_access_run(&a, e);
    end_access(b, &a);
    if (rc == TT_OK) {
        add_row(b, &a, repetition);
        note_doubts(b, &a);
        if (kind == TT_BULK_WRITE) {
            share_counts(b, &a);
            rc = save_count(b, e);
        }
    }
    free(a.touched);
    free(a.expected);
    free(a.path);
    return rc;
}

static int repeat(struct bulk *b, struct tt_error *e)
{
    const struct tt_bulk_options *o = b->options;
    int rc = o->write ? TT_OK : look_at_old_files(b, e);

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

static void report(struct bulk *b)
{
    int holes = b->holes, unknown = b->cache_unknown;

    MPI_Allreduce(MPI_IN_PLACE, &holes, 1, MPI_INT, MPI_MAX, b->engine->comm);
    MPI_Allreduce(MPI_IN_PLACE, &unknown, 1, MPI_INT, MPI_MAX, b->engine->comm);
    if (b->engine->rank == 0)
        tt_result_table(b->engine, "accesses", (unsigned)b->nrows, TT_BULK_NCOLUMNS, b->rows);
    tt_result(b->engine, "coverage", TT_RESULT_SAME, b->coverage);
    if (b->engine->rank == 0 && (b->start > 1.5 || b->start < 1 / 1.5))
        tt_warning(b->engine,
                   "warm-up: the first tenth of an access went %.2f times as fast as the rest of "
                   "it; write buffers or caches were being filled, or it was too short",
                   b->start);
    if (!unknown)
        tt_result(b->engine, "bytes_cached", TT_RESULT_SUM, b->cached);
    if (holes && b->engine->rank == 0)
        tt_warning(b->engine, "a file had holes when it was read: reading what was never written "
                              "needs no storage");
}

int tt_bulk_run(struct tt_engine *engine, struct tt_error *e)
{
    struct bulk b = {.engine = engine,
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
    free(b.ballast);
    free(b.written);
    free(b.rows);
    return rc;
}
