/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank does: make its part of the files, then, epoch after epoch, fetch a batch, compute on
 * it and meet the others. Batches are loaded ahead by threads, each of which takes the next batch
 * that is asked for and reads its samples one after the other.
 *
 * A sample is read through the stack, by a file of this rank alone: opened, read by one call and
 * closed, as data loaders do. What the page cache has of an epoch's files is evicted before the
 * epoch, outside of the measured time. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/agree.h"
#include "base/pool.h"
#include "engine/content.h"
#include "engine/engine.h"
#include "io/file.h"
#include "record/trace.h"
#include "workloads/training/training.h"

struct training;

/* A batch that is being loaded, or used: one thread at a time. */
struct slot {
    struct training *t;
    struct tt_task task;
    uint64_t first; /* of its samples, in the order of the epoch */
    uint64_t bytes;
    unsigned char *data;
    struct tt_histogram opens, reads, closes;
    struct tt_timeline line;
};
const size_t tt_training_slot_size = sizeof(struct slot);

struct training {
    struct tt_engine *engine;
    const struct tt_training_options *options;
    uint64_t seed, steps, mine; /* mine: the first of this rank's samples in an epoch's order */
    uint64_t room;              /* bytes of memory for a sample */
    struct tt_training_places places;
    struct tt_content content;
    struct tt_training_order order;
    char *root;
    unsigned nslots;
    struct slot *slots;
    struct tt_pool *pool;  /* NULL: the main thread loads */
    uint64_t asked, taken; /* batches of this epoch */
    struct tt_training_work *work;
    uint64_t iteration;
    bool cache_unknown;
    double cached;
    struct {
        pthread_mutex_t lock;
        unsigned active; /* batches that are being loaded */
        int64_t since, ns;
    } busy;
    double *rows; /* of the table; NULL in a run that goes on until it is told to stop */
    uint64_t nrows;
    double seconds, computed, fetched; /* of all epochs, without their first steps; samples */
};

/* ---- a file of one rank ---- */

struct place {
    char path[4096];
    struct tt_variable variable;
    struct tt_file_spec spec;
};

static int locate(const struct training *t, uint64_t file, enum tt_access access, struct place *p,
                  struct tt_error *e)
{
    char name[TT_TRAINING_NAME];

    tt_training_name(file, name);
    if ((size_t)snprintf(p->path, sizeof p->path, "%s/%s", t->root, name) >= sizeof p->path)
        return tt_fail(e, TT_USAGE, "'%.200s...' is too long a path", t->root);
    p->variable = (struct tt_variable){.path = "samples",
                                       .element = &tt_element_u8,
                                       .ndims = 1,
                                       .dims = {tt_training_file_size(&t->places, file)}};
    p->spec = (struct tt_file_spec){.path = p->path,
                                    .comm = MPI_COMM_SELF,
                                    .access = access,
                                    .policy = TT_OVERWRITE,
                                    .steps = 1,
                                    .nvariables = 1,
                                    .variables = &p->variable,
                                    .in_helper = access == TT_READ_ONLY && t->pool};
    return TT_OK;
}

static struct tt_block block_of(const struct training *t, const struct place *p, uint64_t sample,
                                void *data)
{
    uint64_t start = tt_training_offset(&t->places, sample);
    uint64_t size = tt_training_size(t->options, t->seed, sample);
    struct tt_block b = {.variable = 0, .data = data};

    tt_select_slab(&b.file, 1, p->variable.dims, &start, NULL, &size, NULL);
    tt_select_all(&b.memory, 1, &size);
    return b;
}

/* ---- making files, before the measured time ---- */

static int make_file(struct training *t, uint64_t file, struct tt_error *e)
{
    uint64_t each = t->options->per_file;
    struct tt_file *f;
    struct place p;
    int rc = locate(t, file, TT_CREATE, &p, e), closed;

    if (rc == TT_OK)
        rc = tt_file_open(tt_engine_stack(t->engine), &p.spec, &f, e);
    if (rc != TT_OK)
        return rc;
    rc = tt_file_define(f, 0, e);
    for (uint64_t s = file * each; rc == TT_OK && s < (file + 1) * each; s++) {
        struct tt_block b = block_of(t, &p, s, t->slots[0].data);

        tt_content_fill(&t->content, s, 0, b.data, tt_selection_count(&b.memory));
        rc = tt_file_write(f, 0, &b, e);
    }
    if (rc == TT_OK)
        rc = tt_file_sync(f, e);
    closed = tt_file_close(f, e);
    tt_count_file(t->engine);
    return rc == TT_OK ? closed : rc;
}

static int make_files(struct training *t, struct tt_error *e)
{
    uint64_t ranks = (uint64_t)t->engine->size, bytes = 0;
    int rc;

    for (uint64_t i = (uint64_t)t->engine->rank; i < t->options->files; i += ranks)
        bytes += tt_training_file_size(&t->places, i);
    rc = tt_limits_check_dump(t->engine, 1, bytes, bytes, e);
    for (uint64_t i = (uint64_t)t->engine->rank; rc == TT_OK && i < t->options->files; i += ranks)
        rc = make_file(t, i, e);
    return tt_agree(t->engine->comm, rc, e);
}

/* Collective. A tree that is there already is read as it is. */
static int find_or_make_files(struct training *t, struct tt_error *e)
{
    int is_there = 0, rc = TT_OK;
    struct stat st;

    if (t->engine->rank == 0) {
        is_there = t->options->path && lstat(t->root, &st) == 0;
        rc = is_there ? tt_data_check_tree(t->engine, t->root, e)
                      : tt_data_make_tree(t->engine, t->root, e);
    }
    rc = tt_agree(t->engine->comm, rc, e);
    if (rc != TT_OK)
        return rc;
    MPI_Bcast(&is_there, 1, MPI_INT, 0, t->engine->comm);
    return is_there ? TT_OK : make_files(t, e);
}

/* ---- loading, in whichever thread ---- */

static void note_loading(struct training *t, bool begins)
{
    int64_t now = tt_now_ns();

    pthread_mutex_lock(&t->busy.lock);
    if (begins && t->busy.active++ == 0)
        t->busy.since = now;
    if (!begins && --t->busy.active == 0)
        t->busy.ns += now - t->busy.since;
    pthread_mutex_unlock(&t->busy.lock);
}

/* One chunk of each sample, another one every time. */
static int check_sample(const struct training *t, const struct place *p, uint64_t sample,
                        const unsigned char *data, uint64_t size, struct tt_error *e)
{
    uint64_t chunks = (size + TT_CONTENT_CHUNK - 1) / TT_CONTENT_CHUNK;
    uint64_t at = tt_mix(sample ^ t->order.permutation.keys[0]) % chunks * TT_CONTENT_CHUNK;
    size_t n = size - at < TT_CONTENT_CHUNK ? size - at : TT_CONTENT_CHUNK, wrong;

    if (tt_content_matches(&t->content, sample, at, data + at, n, &wrong))
        return TT_OK;
    return tt_fail(e, TT_CORRUPT,
                   "'%s': byte %llu of sample %llu is not what was written with these keys and "
                   "this seed",
                   p->path, (unsigned long long)(at + wrong), (unsigned long long)sample);
}

static int load_sample(struct slot *s, uint64_t sample, unsigned char *data, struct tt_error *e)
{
    struct training *t = s->t;
    struct tt_file *f;
    struct tt_block b;
    struct place p;
    uint64_t size;
    int64_t own, stack, from, to;
    int rc = locate(t, sample / t->options->per_file, TT_READ_ONLY, &p, e), closed;

    if (rc == TT_OK)
        rc = tt_file_open(tt_engine_stack(t->engine), &p.spec, &f, e);
    if (rc != TT_OK)
        return rc;
    tt_histogram_add(&s->opens, tt_file_open_ns(f));
    b = block_of(t, &p, sample, data);
    size = tt_selection_count(&b.memory);
    from = tt_now_ns();
    rc = tt_file_read(f, 0, &b, e);
    to = tt_now_ns();
    tt_histogram_add(&s->reads, to - from);
    tt_timeline_add(&s->line, tt_since_start(t->engine, from), tt_since_start(t->engine, to), size);
    tt_trace_call(TT_TRACE_ALL, TT_CALL_READ, 0, from, to);
    closed = tt_file_close_timed(f, &own, &stack, tt_engine_costs(t->engine), e);
    tt_histogram_add(&s->closes, own);
    rc = rc == TT_OK ? closed : rc;
    s->bytes += size;
    return rc == TT_OK ? check_sample(t, &p, sample, data, size, e) : rc;
}

static int load_batch(void *slot, struct tt_error *e)
{
    struct slot *s = slot;
    struct training *t = s->t;
    int rc = TT_OK;

    note_loading(t, true);
    s->bytes = 0;
    for (uint64_t i = 0; rc == TT_OK && i < t->options->batch; i++)
        rc = load_sample(s, tt_training_at(&t->order, s->first + i), s->data + i * t->room, e);
    note_loading(t, false);
    return rc;
}

/* ---- an epoch ---- */

static struct slot *slot_of(struct training *t, uint64_t step)
{
    return &t->slots[step % t->nslots];
}

static void ask_for_one(struct training *t)
{
    struct slot *s = slot_of(t, t->asked);

    s->first = t->mine + t->asked++ * t->options->batch;
    s->task = (struct tt_task){.run = load_batch, .argument = s};
    if (t->pool)
        tt_pool_submit(t->pool, &s->task);
}

/* As soon as a batch is there, one more is asked for: while it is used, as many as before are
 * loaded or wait. */
static int fetch(struct training *t, struct tt_error *e)
{
    struct slot *s = slot_of(t, t->taken++);
    int64_t since = tt_now_ns(), now, loading;
    int rc;

    if (!t->pool)
        ask_for_one(t);
    rc = t->pool ? tt_pool_wait(t->pool, &s->task, e) : load_batch(s, e);
    if (t->pool && t->asked < t->steps)
        ask_for_one(t);
    tt_phase_add(t->engine, TT_LOAD, since);
    tt_count_read(t->engine, s->bytes);
    pthread_mutex_lock(&t->busy.lock);
    now = tt_now_ns();
    if (t->busy.active > 0) {
        t->busy.ns += now - t->busy.since;
        t->busy.since = now;
    }
    loading = t->busy.ns;
    t->busy.ns = 0;
    pthread_mutex_unlock(&t->busy.lock);
    tt_phase_add(t->engine, TT_IO_READ, tt_now_ns() - loading);
    return rc;
}

static void compute(struct training *t)
{
    int64_t since = tt_now_ns();

    if (t->work) {
        tt_training_work_do(t->work, t->options->compute.count);
        tt_passes_add(t->engine, since);
        since = tt_now_ns();
    }
    if (t->options->pause > 0) {
        tt_sleep_until(since + (int64_t)(t->options->pause * 1e9));
        tt_phase_add(t->engine, TT_COMPUTE, since);
    }
}

/* Collective. A rank that has failed meets the others all the same. */
static int take_step(struct training *t, struct tt_error *e)
{
    uint64_t all = t->steps * t->options->epochs;
    int64_t since;
    int rc = tt_iteration_begin(t->engine, ++t->iteration, all, e);

    if (rc == TT_OK) {
        rc = fetch(t, e);
        if (rc == TT_OK)
            compute(t);
        since = tt_now_ns();
        rc = tt_agree(t->engine->comm, rc, e);
        tt_phase_add(t->engine, TT_COLLECTIVE, since);
    }
    tt_iteration_end(t->engine);
    return rc;
}

/* What the cache has of this rank's samples in the epoch; of files with several, their share. */
static int look_at_cache(struct training *t, struct tt_error *e)
{
    const struct tt_stack *stack = &t->engine->config->stack;
    bool raw = stack->n == 1 && stack->elements[0]->caps & TT_CAP_RAW;
    int rc = TT_OK;

    for (uint64_t i = 0; rc == TT_OK && i < t->steps * t->options->batch; i++) {
        uint64_t sample = tt_training_at(&t->order, t->mine + i);
        int64_t resident = -1;
        uint64_t bytes = 0;
        struct place p;

        rc = locate(t, sample / t->options->per_file, TT_READ_ONLY, &p, e);
        if (rc == TT_OK)
            rc = tt_data_cached(t->engine, p.path, t->options->cold, &bytes, &resident, e);
        if (rc == TT_OK && raw && bytes != p.variable.dims[0])
            rc = tt_fail(e, TT_CORRUPT,
                         "'%s' has %llu bytes instead of %llu: it was made with other keys or "
                         "another seed",
                         p.path, (unsigned long long)bytes, (unsigned long long)p.variable.dims[0]);
        if (rc == TT_OK) {
            t->cache_unknown = t->cache_unknown || resident < 0;
            t->cached += (double)resident / (double)(bytes ? bytes : 1) *
                         (double)tt_training_size(t->options, t->seed, sample);
        }
    }
    return rc;
}

/* Collective, and not measured. */
static int begin_epoch(struct training *t, uint64_t epoch, struct tt_error *e)
{
    int rc = tt_agree(t->engine->comm, tt_unmeasured_begin(t->engine, e), e);

    if (rc != TT_OK)
        return rc;
    t->order = tt_training_order_make(t->options, t->seed, epoch);
    rc = tt_agree(t->engine->comm, look_at_cache(t, e), e);
    tt_unmeasured_end(t->engine);
    return rc;
}

/* Also those that nobody will use. */
static void drain(struct training *t)
{
    struct tt_error ignored = TT_ERROR_CLEAR;

    while (t->pool && t->taken < t->asked)
        tt_pool_wait(t->pool, &slot_of(t, t->taken++)->task, &ignored);
}

/* Collective. The first step, which waits for the first batch however fast storage is, counts for
 * the runtime alone. */
static int run_epoch(struct training *t, uint64_t epoch, struct tt_error *e)
{
    double *row =
        t->rows ? t->rows + t->nrows * TT_TRAINING_NCOLUMNS : (double[TT_TRAINING_NCOLUMNS]){0};
    int64_t since;
    int rc = begin_epoch(t, epoch, e);

    t->asked = t->taken = 0;
    for (unsigned i = 1; rc == TT_OK && i < t->nslots && t->asked < t->steps; i++)
        ask_for_one(t);
    if (rc == TT_OK)
        rc = take_step(t, e);
    since = tt_now_ns();
    row[TT_TRAINING_EPOCH] = (double)epoch;
    row[TT_TRAINING_COMPUTING] = -tt_phase_seconds(t->engine, TT_COMPUTE);
    row[TT_TRAINING_WAITING] = -tt_phase_seconds(t->engine, TT_LOAD);
    while (rc == TT_OK && t->taken < t->steps)
        rc = take_step(t, e);
    row[TT_TRAINING_SECONDS] = tt_seconds(tt_now_ns() - since);
    row[TT_TRAINING_COMPUTING] += tt_phase_seconds(t->engine, TT_COMPUTE);
    row[TT_TRAINING_WAITING] += tt_phase_seconds(t->engine, TT_LOAD);
    row[TT_TRAINING_COUNT] =
        t->taken < 2 ? 0 : (double)(t->taken - 1) * (double)t->options->batch * t->engine->size;
    drain(t);
    t->seconds += row[TT_TRAINING_SECONDS];
    t->computed += row[TT_TRAINING_COMPUTING];
    t->fetched += row[TT_TRAINING_COUNT];
    t->nrows += row[TT_TRAINING_COUNT] > 0;
    return rc;
}

/* ---- the beginning and the end ---- */

static int prepare(struct training *t, struct tt_error *e)
{
    const struct tt_training_options *o = t->options;
    uint64_t rank = (uint64_t)t->engine->rank, size = (uint64_t)t->engine->size;

    t->seed = t->engine->config->run->seed;
    t->steps = tt_training_steps(o, size);
    t->mine = (uint64_t)((unsigned __int128)tt_training_samples(o) * rank / size);
    t->content = (struct tt_content){.signature = t->seed};
    t->room = tt_training_room(o);
    t->nslots = (unsigned)tt_training_outstanding(o) + 1;
    t->root = tt_data_path_of(t->engine, o->path, "samples");
    t->slots = calloc(t->nslots, sizeof *t->slots);
    if (!tt_engine_is_endless(t->engine))
        t->rows = calloc(o->epochs * TT_TRAINING_NCOLUMNS, sizeof *t->rows);
    if (!t->root || !t->slots || (!t->rows && !tt_engine_is_endless(t->engine)))
        return tt_fail_nomem(e, "the training workload");
    for (unsigned i = 0; i < t->nslots; i++) {
        t->slots[i].t = t;
        t->slots[i].data = aligned_alloc(4096, o->batch * t->room);
        if (!t->slots[i].data)
            return tt_fail_nomem(e, "batches");
        memset(t->slots[i].data, 0, o->batch * t->room); /* no batch is to pay for new pages */
    }
    if (o->compute.count > 0 && !(t->work = tt_training_work_make(t->seed)))
        return tt_fail_nomem(e, "the matrices to compute on");
    return tt_training_places_make(&t->places, o, t->seed, e);
}

/* Collective. */
static void report(struct training *t)
{
    double sums[3] = {t->computed, t->cached, t->cache_unknown};

    for (unsigned i = 0; i < t->nslots; i++) {
        tt_calls_merge(t->engine, TT_CALL_OPEN, &t->slots[i].opens);
        tt_calls_merge(t->engine, TT_CALL_READ, &t->slots[i].reads);
        tt_calls_merge(t->engine, TT_CALL_CLOSE, &t->slots[i].closes);
        tt_timeline_join(t->engine, TT_READING, &t->slots[i].line);
    }
    MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_DOUBLE, MPI_SUM, t->engine->comm);
    MPI_Bcast(&t->seconds, 1, MPI_DOUBLE, 0, t->engine->comm);
    if (t->fetched > 0 && t->seconds > 0) {
        tt_result(t->engine, "accelerator_utilisation", TT_RESULT_SAME,
                  sums[0] / t->engine->size / t->seconds);
        tt_result(t->engine, "sample_rate", TT_RESULT_SAME, t->fetched / t->seconds);
    }
    if (!(sums[2] > 0))
        tt_result(t->engine, "bytes_cached", TT_RESULT_SAME, sums[1]);
    if (t->engine->rank != 0)
        return;
    if (t->rows)
        tt_result_table(t->engine, "epochs", (unsigned)t->nrows, TT_TRAINING_NCOLUMNS, t->rows);
    if (t->options->pause > 0)
        tt_warning(t->engine, "computation is emulated: ranks sleep for training.pause, and need "
                              "no core meanwhile");
    if (t->steps == 1)
        tt_warning(t->engine, "an epoch has one step, and the first does not count: there is no "
                              "accelerator utilisation");
}

static int measured(struct training *t, struct tt_error *e)
{
    bool endless = tt_engine_is_endless(t->engine);
    int rc = tt_engine_start(t->engine, e);

    for (uint64_t i = 0; rc == TT_OK && (endless || i < t->options->epochs); i++)
        rc = run_epoch(t, i, e);
    if (rc == TT_OK)
        rc = tt_engine_stop(t->engine, e);
    report(t);
    return rc;
}

int tt_training_run(struct tt_engine *engine, struct tt_error *e)
{
    struct training t = {.engine = engine, .options = tt_config_opts(engine->config, "training")};
    int rc = tt_agree(engine->comm, prepare(&t, e), e);

    pthread_mutex_init(&t.busy.lock, NULL);
    if (rc == TT_OK)
        rc = find_or_make_files(&t, e);
    if (rc == TT_OK && t.options->workers > 0)
        rc = tt_pool_start(&t.pool, (unsigned)t.options->workers, NULL, e);
    rc = tt_agree(engine->comm, rc, e);
    if (rc == TT_OK)
        rc = measured(&t, e);
    tt_pool_stop(t.pool);
    pthread_mutex_destroy(&t.busy.lock);
    for (unsigned i = 0; t.slots && i < t.nslots; i++)
        free(t.slots[i].data);
    free(t.slots);
    free(t.rows);
    free(t.root);
    free(t.work);
    free(t.places.sums);
    return rc;
}
