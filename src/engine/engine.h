/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a workload sees of the engine. A workload
 *   1. allocates and opens, then calls tt_engine_start();
 *   2. loops: tt_iteration_begin(), work inside phases, tt_output_write(), tt_iteration_end();
 *   3. calls tt_engine_stop(), closes and frees, and reports its results.
 * The engine times, counts, overlaps, syncs, checks limits and records. */
#ifndef TT_ENGINE_ENGINE_H
#define TT_ENGINE_ENGINE_H

#include <mpi.h>

#include "base/clock.h"
#include "devices/device.h"
#include "record/histogram.h"
#include "record/phases.h"
#include "record/timeline.h"
#include "io/model.h"
#include "plan/config.h"

struct tt_engine {
    /* Of all ranks, for the main thread: the workload's own messages, and those of the collective
     * functions below, which use it, too. Files and helper threads have others. */
    MPI_Comm comm;
    int rank, size;
    const struct tt_config *config;
    struct tt_device *device; /* where the workload computes; NULL: on the host */
    struct tt_engine_private *p;
};

/* ---- devices ---- */
/* The device that this rank computes on; *out stays NULL where that is the host. Collective. The
 * engine opens its own. */
int tt_device_open(MPI_Comm comm, const struct tt_config *config, struct tt_device **out,
                   struct tt_error *e);
void tt_device_close(struct tt_device *device);
/* Whether MPI may be given addresses of the device's memory for halos, as device.halo asks and as
 * has been proved; the result says which way they go. Collective. */
int tt_device_gives_halos(struct tt_engine *engine, bool *out, struct tt_error *e);
/* Sends a little of the device's memory from every rank to the next one, and checks what arrives.
 * Collective, the outcome is the same on all. */
int tt_device_prove(struct tt_device *device, MPI_Comm comm, struct tt_error *e);
/* The same by two processes of their own on this node, which may crash (tutti prove): one on this
 * device, and one on that with the other number. */
int tt_device_prove_apart(struct tt_device *device, unsigned other, const struct tt_config *config,
                          struct tt_error *e);

/* For a workload that reads past the series below: memory of the host, of the kind that
 * device.staging asks for, and counting what was copied from there to the device, by its clock. */
void *tt_staging_allocate(struct tt_engine *engine, size_t bytes, struct tt_error *e);
void tt_staging_release(struct tt_engine *engine, void *data);
void tt_count_staged(struct tt_engine *engine, uint64_t bytes, int64_t ns);

/* ---- time ---- */
/* t = tt_now_ns(); ...; tt_phase_add(engine, TT_COMPUTE, t): everything since t was that phase.
 * Returns the clock that it has read. */
int64_t tt_phase_add(struct tt_engine *engine, enum tt_phase phase, int64_t since_ns);
/* The same, and one latency sample of that call. */
int64_t tt_call_add(struct tt_engine *engine, enum tt_phase phase, enum tt_call call,
                    int64_t since_ns);
/* The same of what `compute` asks for in an iteration, or a part of it: a result compares it with
 * what it took when it was calibrated. */
int64_t tt_passes_add(struct tt_engine *engine, int64_t since_ns);
/* What this rank has spent on a phase so far, for results that the metrics do not have. */
double tt_phase_seconds(const struct tt_engine *engine, enum tt_phase phase);
/* What this rank has spent on the parts of a run between begin and end, added up: by phases, and by
 * the clock, less what baseline epochs took. */
struct tt_tally {
    double spent[TT_NPHASES], observed;
};
void tt_tally_begin(const struct tt_engine *engine, struct tt_tally *tally);
void tt_tally_end(const struct tt_engine *engine, struct tt_tally *tally);
void tt_count_communicated(struct tt_engine *engine, uint64_t bytes);
/* For a workload that reads with threads of its own, past the series below: what they have read,
 * and the latencies they have seen. Like everything here from the main thread. */
void tt_count_read(struct tt_engine *engine, uint64_t bytes);
/* The same for one that writes past them, and makes files that are not claimed one by one. */
void tt_count_written(struct tt_engine *engine, uint64_t bytes);
void tt_count_file(struct tt_engine *engine);
void tt_calls_merge(struct tt_engine *engine, enum tt_call call, const struct tt_histogram *seen);
/* And when: times of a timeline are those after the start. */
int64_t tt_since_start(const struct tt_engine *engine, int64_t instant_ns);
void tt_timeline_join(struct tt_engine *engine, enum tt_direction direction,
                      const struct tt_timeline *seen);

/* ---- the loop ---- */
/* Collective: all ranks are ready; waits for the common start. */
int tt_engine_start(struct tt_engine *engine, struct tt_error *e);
/* Collective now and then: TT_LIMIT when a limit is reached, TT_STOPPED when the driver tells the
 * run to stop and TT_INTERRUPTED when the driver is gone, the same on all ranks. total is for the
 * progress display. */
int tt_iteration_begin(struct tt_engine *engine, uint64_t iteration, uint64_t total,
                       struct tt_error *e);
void tt_iteration_end(struct tt_engine *engine);
/* Ranks do not wait for each other between iterations: the slowest rank of all of them counts, not
 * that of each. */
void tt_iterations_apart(struct tt_engine *engine);
/* Collective: the end of the measured time (after the last drain). */
int tt_engine_stop(struct tt_engine *engine, struct tt_error *e);
/* What is done between these two, such as a check of what was written, is no part of the run: none
 * of its time, calls and bytes count. Not within an iteration. */
int tt_unmeasured_begin(struct tt_engine *engine, struct tt_error *e);
void tt_unmeasured_end(struct tt_engine *engine);
/* True for a run that goes on until it is told to stop. A workload that can go on for ever does so
 * then; any other is run again from its beginning. */
bool tt_engine_is_endless(const struct tt_engine *engine);

/* ---- results of the workload ---- */
/* A metric the workload knows ("residual", "flops", "updates"); the same value on all ranks for
 * TT_RESULT_SAME, summed over ranks for TT_RESULT_SUM. A name that is not a row of
 * analysis/metrics.h with the source WORKLOAD is left out of the result, which says so. */
enum tt_result_kind { TT_RESULT_SAME, TT_RESULT_SUM };
void tt_result(struct tt_engine *engine, const char *name, enum tt_result_kind kind, double value);
/* A row that will stand in such a table, told as soon as it is known; of rank 0. Outside of
 * iterations: it may be printed. */
void tt_result_row(struct tt_engine *engine, unsigned columns, const double *row);
/* Numbers to be shown as they are, such as a sample of the field; rank 0's are kept. */
void tt_result_table(struct tt_engine *engine, const char *name, unsigned rows, unsigned columns,
                     const double *values);
/* What the run found out of its settings (tt_facts_add); rank 0's count. */
void tt_facts_keep(struct tt_engine *engine, const struct tt_facts *facts);
void tt_warning(struct tt_engine *engine, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- series: files of variables over steps, with overlap and sync as configured ---- */
struct tt_series;
/* What one step took on this rank, in whatever thread; opening is that of a file of its own. */
struct tt_step_times {
    int64_t open_ns, write_ns, sync_ns, read_ns;
    bool excluded; /* in a baseline epoch: not part of the job that was asked for */
};
struct tt_series_spec {
    const char *path; /* absolute or relative to the working directory; see tt_data_path() */
    enum tt_access access;
    enum tt_policy policy;
    bool per_process;   /* a file per rank: "_l<rank>" is appended, and dims are this rank's */
    bool own_path;      /* with per_process: path is this rank's already, nothing is appended */
    bool alone;         /* with own_path and without overlap: no call waits for other ranks, and a
                         * file of this run may be updated, which other ranks have closed; the
                         * caller marks it when all have written */
    bool independent;   /* used by a stream whose ranks do not wait for each other */
    bool plain;         /* see struct tt_file_spec */
    bool by_helper;     /* never by nonblocking calls, of which it is not known when they ended */
    const char *suffix; /* appended after that; NULL: none */
    uint64_t steps;     /* 0: not known */
    unsigned nvariables;
    const struct tt_variable *variables; /* outlives the series */
    /* See struct tt_file_spec. With a file per step each has the group of its step if step_group is
     * given, and else none. */
    const char *step_group;
    const char *step_ending;       /* a step's own file: PATH000007 and this; NULL: PATH.000007 */
    unsigned step_digits;          /* of that number; 0: 6 */
    unsigned ngroups;              /* see struct tt_file_spec, */
    const struct tt_group *groups; /* and outlives the series */
    /* One for each of steps, filled when its dump or load has ended; NULL: nobody asks. */
    struct tt_step_times *times;
};
/* <dir>/tutti-<run id>/<name>; the directory is made. Caller frees; NULL: no memory. */
char *tt_data_path(struct tt_engine *engine, const char *name);

/* The same for a path of the user's, which is relative to the data directory; NULL: name as above.
 */
char *tt_data_path_of(struct tt_engine *engine, const char *given, const char *name);

/* A series does this by itself; a workload that makes files in another way calls it for each, on
 * one rank. Makes room for a new file: refuses a foreign one, removes one that tutti made, adds it
 * to the manifest. */
int tt_data_claim(struct tt_engine *engine, const char *path, struct tt_error *e);
/* It is made, and has this inode (0: any): from here on the run knows it from any other that may
 * stand there later. */
int tt_data_made(struct tt_engine *engine, const char *path, uint64_t inode, struct tt_error *e);
/* The claimed file could not be made since somebody else's is there now: it is left alone. */
void tt_data_withdraw(struct tt_engine *engine, const char *path);
/* For a workload that makes more files than a manifest can list: a new directory that goes with
 * everything in it that the workload makes (see struct tt_workload). On one rank. */
int tt_data_make_tree(struct tt_engine *engine, const char *path, struct tt_error *e);
/* Whether there is such a directory, of any run. */
int tt_data_check_tree(struct tt_engine *engine, const char *path, struct tt_error *e);
/* Makes a directory for files of this run, which goes with them; one that is there stays. */
int tt_data_own_directory(struct tt_engine *engine, const char *path, struct tt_error *e);
/* A file of this run, made by whichever rank, is left when the run is over. */
void tt_data_leave(struct tt_engine *engine, const char *path);
/* Removes a file that this run has made and closed. */
int tt_data_remove(struct tt_engine *engine, const char *path, struct tt_error *e);
/* Gives a finished file of this rank another name, at which nothing stands but what tutti may
 * replace. Whenever the run ends, also between any two calls here, what stands at either name is
 * known as this run's. */
int tt_data_rename(struct tt_engine *engine, const char *from, const char *to, struct tt_error *e);
/* What the page cache of this node holds of a file of the stack, with all paths of its target;
 * cold: after it was told to forget it. -1: the kernel does not say. *bytes is the size of them
 * all. */
int tt_data_cached(struct tt_engine *engine, const char *path, bool cold, uint64_t *bytes,
                   int64_t *resident, struct tt_error *e);
/* The size alone, as it is now, though a layer may still be closing the file; 0: it cannot be seen.
 */
uint64_t tt_data_size(struct tt_engine *engine, const char *path);
/* Marks a finished file as made by tutti, so that a later run may replace it. */
void tt_data_mark(struct tt_engine *engine, const char *path);

int tt_series_open(struct tt_engine *engine, const struct tt_series_spec *spec,
                   struct tt_series **out, struct tt_error *e);
/* Write one step: up to max_blocks blocks of every per-step variable, none for what is not
 * mentioned. Variables that are not per step can be written in the first dump only. Collective:
 * every rank calls it, also with nothing. Returns when data may be changed again. */
int tt_series_dump(struct tt_series *s, uint64_t step, unsigned nblocks,
                   const struct tt_block *blocks, struct tt_error *e);
/* Of a dump of so many bytes of this rank those by which its file will grow: what is written over,
 * or into a file that replaces another, needs no new room. */
uint64_t tt_series_growth(const struct tt_series *s, uint64_t step, uint64_t bytes);
/* Before dumps of this many bytes on this rank, by which its files grow so much; copies, how many
 * dumps, is the same on all ranks: --max-bytes and
 * --min-free once more. Collective; a workload that does not use tt_output calls it itself. */
int tt_limits_check_dump(struct tt_engine *engine, uint64_t copies, uint64_t bytes, uint64_t added,
                         struct tt_error *e);
/* Read; waits for dumps in flight on this series first. Collective. After tt_engine_stop() it
 * counts and times nothing: a workload may check then what it has read or written. */
int tt_series_load(struct tt_series *s, uint64_t step, unsigned nblocks,
                   const struct tt_block *blocks, struct tt_error *e);
/* Start reading a step in the background; the blocks' data must stay until tt_series_load of the
 * same step, which then only waits. Without overlap it does nothing. */
int tt_series_prefetch(struct tt_series *s, uint64_t step, unsigned nblocks,
                       const struct tt_block *blocks, struct tt_error *e);
/* See tt_output_rehearse. */
int tt_series_rehearse(struct tt_series *s, enum tt_direction direction, unsigned nblocks,
                       const struct tt_block *blocks, struct tt_error *e);
/* Wait until at most `left` dumps are in flight; then sync if sync is deferred. Collective. */
int tt_series_complete(struct tt_series *s, unsigned left, struct tt_error *e);
/* Whether on this rank nothing is left to wait for but what completing does itself. For a series
 * that overlaps by_helper. */
bool tt_series_has_ended(const struct tt_series *s);
/* Complete and sync whatever the sync policy still owes. */
int tt_series_drain(struct tt_series *s, struct tt_error *e);
/* Drains, closes, frees, in every case. Collective. With own_ns: how long this rank's own call
 * that closed the one file took, without what is agreed and noted around it. */
int tt_series_close(struct tt_series *s, struct tt_error *e);
int tt_series_close_timed(struct tt_series *s, int64_t *own_ns, struct tt_error *e);

/* ---- files that a workload opens by itself (io/file.h) ---- */
/* With the run's seed and directory, which that of the configuration does not have. */
const struct tt_stack *tt_engine_stack(const struct tt_engine *engine);
/* What tt_file_close_timed() adds to, of a file that a workload opens by itself, in one thread at a
 * time. */
struct tt_cost *tt_engine_costs(const struct tt_engine *engine);

/* ---- a stream: single transfers of a series, several in flight ---- */
/* For workloads that measure how storage serves requests, where a dump would be one request. The
 * series may have one file only, and no dump or load goes on beside a stream. Unless the stack is
 * collective (tt_stack_is_collective), ranks make as many transfers as they like; if it is, all
 * make the same number, with TT_SELECT_NONE where they have nothing. */
struct tt_stream;
struct tt_stream_spec {
    enum tt_direction direction;
    uint64_t step;
    unsigned depth;     /* transfers in flight at most */
    bool overlapping;   /* a place may be written several times, with different content */
    size_t buffer_size; /* bytes of each; buffers are aligned to pages */
};
struct tt_stream_slot {
    void *buffer;
    struct tt_block block; /* what is or was transferred; the stream sets data and space */
    bool complete;         /* a transfer of this slot has finished, without an error */
    uint64_t bytes;        /* of what is or was transferred */
    int64_t took_ns;       /* the finished transfer, with its own sync */
    int64_t ready_ns;      /* the caller's clock, read just before the start; 0: it was not */
    uint64_t tag;          /* the caller's own, 0 at first; and so is prepared */
    bool prepared;
};
/* Whether the stack can have so many transfers in flight, and if not, why. Without MPI. */
int tt_stream_check_depth(const struct tt_config *config, unsigned depth, struct tt_error *e);
/* Makes buffers and threads now, which the streams of such a depth and such buffers use one after
 * the other, and not when each of them is opened. Once for a run, by each rank. */
int tt_stream_prepare(struct tt_engine *engine, unsigned depth, size_t buffer_size,
                      struct tt_error *e);
/* Collective. */
int tt_stream_open(struct tt_series *s, const struct tt_stream_spec *spec, struct tt_stream **out,
                   struct tt_error *e);
/* How long this rank's own calls took that opened the series' file, defined what is to be written
 * and told it the buffers, without what is agreed and noted around them. */
int64_t tt_stream_open_ns(const struct tt_stream *stream);
/* A slot with nothing in flight; waits for one if need be, and hands it out also if its transfer
 * has failed. If it is complete, its block and buffer are those of the finished transfer until it
 * is started again. */
int tt_stream_take(struct tt_stream *stream, struct tt_stream_slot **slot, struct tt_error *e);
/* The clock as a call of the stream read it last: when what it waited for had ended, or when it was
 * about to return. Who does little between calls need not read it again. */
int64_t tt_stream_clock(const struct tt_stream *stream);
/* Transfers slot->block, whose memory selection is of the slot's buffer. */
int tt_stream_start(struct tt_stream *stream, struct tt_stream_slot *slot, struct tt_error *e);
/* A finished transfer that the caller has not seen; waits for one in flight. *slot is NULL when
 * there is none left. */
int tt_stream_complete(struct tt_stream *stream, struct tt_stream_slot **slot, struct tt_error *e);
/* Everything written by all ranks is durable. Collective, with nothing in flight, also of ranks
 * that have failed; own_ns is how long this rank's own part took. */
int tt_stream_sync(struct tt_stream *stream, int64_t *own_ns, struct tt_error *e);
/* Collective, in every case: waits for what is in flight, frees, and fails on all ranks if a
 * transfer of any has failed. */
int tt_stream_close(struct tt_stream *stream, struct tt_error *e);

/* ---- loops in which ranks do not wait for each other ---- */
/* Collective: from here on tt_watch() says on every rank when rank 0 has seen a reason to end. */
void tt_watch_begin(struct tt_engine *engine);
/* TT_OK, or why the loop is to end: TT_LIMIT, TT_STOPPED, TT_INTERRUPTED. Cheap enough to be called
 * after every transfer, and never waits. done of total is for the progress display. */
int tt_watch(struct tt_engine *engine, uint64_t done, uint64_t total, struct tt_error *e);
/* The same for a caller that has just read the clock. */
int tt_watch_at(struct tt_engine *engine, int64_t now_ns, uint64_t done, uint64_t total,
                struct tt_error *e);
/* Collective, in every case after tt_watch_begin(): the same reason on all ranks, or TT_OK. */
int tt_watch_end(struct tt_engine *engine, struct tt_error *e);

/* ---- periodic output: the write.* keys, dump patterns and epochs ---- */
struct tt_write_options {
    uint64_t every;           /* iterations; 0: never */
    struct tt_counts pattern; /* copies per write event over the run, e.g. 10:0:1 */
    int series;               /* enum tt_policy */
    int files;                /* 0 shared, 1 a file per process */
    char *path;               /* NULL: a new file in the data directory */
    int completion;           /* 0 when the buffer is needed, 1 numio's rule: an iteration early */
};
struct tt_read_options {
    uint64_t every;
    char *path;   /* NULL: what this run has written */
    bool restart; /* continue from what was read */
};
struct tt_collective_options {
    uint64_t every;
    uint64_t size; /* bytes per rank */
    int kind;      /* 0 allgather, 1 allreduce, 2 alltoall */
};

struct tt_output;
/* Opens max(pattern) series with these variables. iterations is the length of the loop. *out stays
 * NULL, which all calls accept, if write.every is 0. name is the file's base name. */
int tt_output_open(struct tt_engine *engine, const char *name, uint64_t iterations,
                   unsigned nvariables, const struct tt_variable *variables, struct tt_output **out,
                   struct tt_error *e);
/* The same for a workload with keys of its own: rules in place of write.*, of which neither path
 * nor files nor series count, and the files as spec says. What both point to outlives the output.
 */
int tt_output_open_as(struct tt_engine *engine, const struct tt_write_options *rules,
                      const struct tt_series_spec *spec, uint64_t iterations,
                      struct tt_output **out, struct tt_error *e);
/* True if a dump is due at the end of this iteration. */
bool tt_output_is_due(const struct tt_output *o, uint64_t iteration);
/* If due: completes earlier dumps until one more fits --inflight, or all of them where a baseline
 * epoch begins; then checks limits and starts the new one. With numio's rule, completes all an
 * iteration before the next is due. Collective where it does either. */
int tt_output_write(struct tt_output *o, uint64_t iteration, unsigned nblocks,
                    const struct tt_block *blocks, struct tt_error *e);
/* The series that holds copy 0 and the last step written to it; NULL before the first dump. */
struct tt_series *tt_output_last(struct tt_output *o, uint64_t *step);
/* Before the start, where blocks are in a device's memory: makes the buffers that dumps like this
 * one will take, and stages it once, so that the first dump is like the others. Of reading, the
 * buffers of loads of the last step. What is rehearsed later is no part of the run. */
int tt_output_rehearse(struct tt_output *o, enum tt_direction direction, unsigned nblocks,
                       const struct tt_block *blocks, struct tt_error *e);
int tt_output_drain(struct tt_output *o, struct tt_error *e);
int tt_output_close(struct tt_output *o, struct tt_error *e);
/* Files written at the end of an iteration: the pattern spread evenly over all iterations, in every
 * write.every-th of them. Without MPI. */
uint64_t tt_output_copies(const struct tt_write_options *w, uint64_t iteration,
                          uint64_t iterations);
/* Without MPI, for estimates: write events and files written over the whole run. */
void tt_output_plan(const struct tt_write_options *w, uint64_t iterations, uint64_t *events,
                    uint64_t *dumps);

/* Without MPI, for estimates: dumps of so many bytes of a rank that are in flight at most, and
 * their copies in a device's memory. packs: a kernel has to make them dense, since copies of the
 * device's own engine do not. */
uint64_t tt_dumps_at_once(const struct tt_config *config, uint64_t bytes);
uint64_t tt_device_snapshots(const struct tt_config *config, uint64_t bytes, bool packs);

/* ---- collective filler: the collective.* keys ---- */
int tt_collective_filler(struct tt_engine *engine, uint64_t iteration, struct tt_error *e);

#endif
