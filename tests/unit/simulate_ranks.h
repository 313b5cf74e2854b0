/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run of as many nodes and ranks as one likes, by the real writer: ranks of a node take turns in
 * one process, and nodes follow each other. Times are a function of rank and iteration. */
#ifndef TT_TESTS_SIMULATE_RANKS_H
#define TT_TESTS_SIMULATE_RANKS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mix.h"
#include "plan/directory.h"
#include "record/recorder.h"

#define SIMULATED_NS INT64_C(10000000) /* an iteration */
#define SIMULATED_EPOCH 10             /* iterations; the fourth epoch of ten is a baseline */

struct simulated_run {
    uint32_t nodes, ranks; /* ranks of a node */
    uint64_t iterations;
    uint64_t above; /* of tt_recorder_how */
};

/* 0 to 1. */
static inline double simulated_chance(uint64_t rank, uint64_t iteration, uint64_t what)
{
    return (double)(tt_mix(tt_mix(rank) ^ tt_mix(iteration << 8 | what)) >> 11) * 0x1p-53;
}

static inline int simulated_is_baseline(uint64_t iteration)
{
    return (iteration - 1) / SIMULATED_EPOCH % 10 == 3;
}

static inline struct tt_iteration_record simulated_iteration(uint64_t rank, uint64_t i)
{
    struct tt_iteration_record it = {.iteration =
                                         simulated_is_baseline(i) ? i | TT_ITERATION_EXCLUDED : i,
                                     .start_ns = (int64_t)(i - 1) * SIMULATED_NS,
                                     .span_ns = SIMULATED_NS,
                                     .bytes_communicated = 4096};
    double work = 0.5 + 0.3 * simulated_chance(rank, i, 0);

    it.phase_ns[TT_COMPUTE] = (uint64_t)(work * (double)SIMULATED_NS);
    it.phase_ns[TT_HALO] = (uint64_t)((0.9 - work) * (double)SIMULATED_NS);
    it.phase_ns[TT_OTHER] = (uint64_t)SIMULATED_NS / 100;
    if (i % SIMULATED_EPOCH == 0) {
        it.phase_ns[TT_SUBMIT] = (uint64_t)SIMULATED_NS / 20;
        it.phase_ns[TT_IO_WRITE] =
            (uint64_t)(simulated_chance(rank, i, 1) * (double)SIMULATED_NS / 10);
        it.phase_ns[TT_IO_SYNC] = (uint64_t)SIMULATED_NS / 50;
        it.bytes_written = 65536;
    }
    return it;
}

static inline void simulate_step(struct tt_recorder *r, uint64_t rank, uint64_t i)
{
    struct tt_iteration_record it = simulated_iteration(rank, i);

    tt_recorder_iteration(r, &it);
    if (i % SIMULATED_EPOCH == 0)
        tt_recorder_epoch(
            r, &(struct tt_epoch_record){
                   .epoch = i / SIMULATED_EPOCH,
                   .kind = simulated_is_baseline(i) ? TT_EPOCH_BASELINE : TT_EPOCH_OVERLAPPED,
                   .iterations = SIMULATED_EPOCH,
                   .span_ns = SIMULATED_EPOCH * SIMULATED_NS + (int64_t)it.phase_ns[TT_IO_WRITE],
                   .compute_ns = (int64_t)it.phase_ns[TT_COMPUTE] * SIMULATED_EPOCH,
                   .io_ns = (int64_t)(it.phase_ns[TT_IO_WRITE] + it.phase_ns[TT_IO_SYNC]),
                   .files_ns = (int64_t)it.phase_ns[TT_IO_WRITE] / 7,
                   .visible_ns = (int64_t)it.phase_ns[TT_SUBMIT],
                   .bytes = it.bytes_written});
}

static inline void simulate_summary(struct tt_recorder *r, const struct simulated_run *run)
{
    const json_int_t span = (json_int_t)run->iterations * SIMULATED_NS;
    json_t *o = json_pack(
        "{s:{s:{s:s, s:f}}, s:[], s:f, s:I, s:I, s:I, s:[I, I], s:I, s:f, s:f,"
        " s:{s:I, s:I, s:I, s:I, s:I}, s:[{s:s, s:[[I, I, I]], s:[]}]}",
        "results", "updates", "kind", "sum", "value", 1e6, "warnings", "cpu_seconds", 1.5,
        "peak_memory", (json_int_t)1 << 20, "runtime_ns", span, "files", (json_int_t)1,
        "library_bytes", (json_int_t)1, (json_int_t)0, "span_ns", span, "cpu_waiting_seconds", 0.1,
        "node_cpu_seconds", 200.0, "clock", "offset_ns", (json_int_t)5, "error_ns", (json_int_t)9,
        "end_offset_ns", (json_int_t)5, "end_error_ns", (json_int_t)9, "go_seen_ns", (json_int_t)0,
        "requests", "path", "/data/all", "write", (json_int_t)65536, (json_int_t)131072,
        (json_int_t)run->iterations / SIMULATED_EPOCH, "read");

    tt_recorder_json(r, o);
    json_decref(o);
}

static inline int simulate_node(const char *directory, const struct simulated_run *run,
                                uint32_t node, struct tt_error *e)
{
    struct tt_recorder **ranks = calloc(run->ranks, sizeof *ranks);
    static struct tt_histogram calls[TT_NCALLS];
    static struct tt_timeline lines[2];
    int rc = ranks ? TT_OK : TT_NOMEM;
    char host[32];

    snprintf(host, sizeof host, "node%05u", node);
    memset(calls, 0, sizeof calls);
    tt_histogram_add(&calls[TT_CALL_WRITE], 1000 + node);
    for (uint32_t r = 0; rc == TT_OK && r < run->ranks; r++) {
        const struct tt_recorder_how how = {.rank = (int)(node * run->ranks + r),
                                            .size = (int)(run->nodes * run->ranks),
                                            .writes = r == 0,
                                            .host = host,
                                            .above = run->above};

        rc = tt_recorder_open(directory, &how, &ranks[r], e);
        if (rc == TT_OK)
            tt_recorder_iteration(ranks[r], &(struct tt_iteration_record){.start_ns = -SIMULATED_NS,
                                                                          .span_ns = SIMULATED_NS});
    }
    for (uint64_t i = 1; rc == TT_OK && i <= run->iterations; i++) {
        for (uint32_t r = 0; r < run->ranks; r++)
            simulate_step(ranks[r], node * run->ranks + r, i);
        if (i % 100 == 0)
            tt_recorder_flush(ranks[0], true);
    }
    for (uint32_t r = run->ranks; rc == TT_OK && r-- > 0;) {
        tt_recorder_calls(ranks[r], calls);
        tt_recorder_timelines(ranks[r], lines);
        simulate_summary(ranks[r], run);
        rc = tt_recorder_close(ranks[r], TT_RANK_DONE, e);
    }
    free(ranks);
    return rc;
}

/* The directory is there, and empty. */
static inline int simulate_run(const char *directory, const struct simulated_run *run,
                               struct tt_error *e)
{
    const int size = (int)(run->nodes * run->ranks);
    char *records = tt_directory_path(directory, "records"), text[16];
    json_t *plan, *outcome = json_pack("{s:s, s:n}", "status", "done", "error");
    int rc = records && mkdir(records, 0777) == 0 ? TT_OK : TT_FAILED;

    snprintf(text, sizeof text, "%d", size);
    plan = json_pack("{s:i, s:s, s:i, s:s, s:{s:s, s:s, s:s, s:s}}", "format", TT_PLAN_FORMAT,
                     "workload", "stencil", "ranks", size, "hash", "00ff", "parameters", "ranks",
                     text, "overlap", "async", "sync", "background", "backend", "posix");
    if (rc == TT_OK)
        rc = tt_directory_write_json(directory, "plan.json", plan, e);
    for (uint32_t n = 0; rc == TT_OK && n < run->nodes; n++)
        rc = simulate_node(directory, run, n, e);
    if (rc == TT_OK)
        rc = tt_directory_write_json(directory, "outcome.json", outcome, e);
    json_decref(plan);
    json_decref(outcome);
    free(records);
    return rc;
}

#endif
