/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the engine's own files share. */
#ifndef TT_ENGINE_PRIVATE_H
#define TT_ENGINE_PRIVATE_H

#include <stdatomic.h>

#include "node/counters.h"
#include "node/cpu.h"
#include "engine/engine.h"
#include "engine/queue.h"
#include "base/pool.h"
#include "engine/perform.h"
#include "engine/probe.h"
#include "record/recorder.h"
#include "plan/control.h"
#include "plan/removal.h"

/* What this rank made, the newest first, for the signal handler. */
struct tt_made_file {
    struct tt_made_file *next, *next_alike;
    struct tt_made_file *next_part; /* of the same target; they share its fate */
    enum tt_made_kind kind;
    atomic_bool withdrawn;  /* not ours after all */
    atomic_bool identified; /* it is there, and this is what it is: */
    struct tt_identity identity;
    uint64_t pass; /* tt_engine_private.played when it was claimed */
    bool closed;   /* but a layer may still be at it, so it is not marked yet */
    char path[];
};

/* Of a loop in which ranks do not wait for each other; see watch.c. */
struct tt__watch {
    MPI_Request request;
    int reason, heard;    /* heard: reason is rank 0's word */
    bool announced;       /* by rank 0 */
    uint64_t done, total; /* as last told */
    int64_t next_look_ns;
};

enum {
    TT__TOLD_MODE, /* TT_CHOICE_* plus one; 0: there was no such epoch */
    TT__TOLD_SPAN,
    TT__TOLD_COMPUTE,
    TT__TOLD_IO,
    TT__TOLD_STAGING,
    TT__TOLD_COPY,
    TT__TOLD_WAITED,
    TT__NTOLD
};

/* What the agreement that closes a dump brings to all ranks, besides how it went. */
struct tt__closing {
    uint64_t bytes; /* written by all ranks */
    uint64_t room;  /* that rank 0 has seen; 0: not known */
    /* With overlap=auto, of the epoch before this dump: the slowest rank's nanoseconds. */
    uint64_t told[TT__NTOLD];
};

/* Of rank 0's device; the monitor adds to it. */
struct tt__device_seen {
    double utilisation; /* summed over so many looks: */
    uint64_t looks;
    uint64_t memory; /* the most */
};

/* Of this node's wall clock against that of rank 0's node. */
struct tt__clock {
    int64_t offset_ns, error_ns;
};

struct tt_engine_private {
    const char *directory; /* the run directory */
    struct tt_perform_how how;
    uint64_t played,
        last_iteration; /* iterations of earlier passes; the current one of this pass */
    bool ended;         /* told to end, by the driver or a limit */
    uint64_t epochs;    /* that were recorded, of all passes */
    bool apart;         /* ranks do not wait for each other between iterations */
    struct tt_control_listener listener; /* rank 0 only */
    struct tt__monitor *monitor;         /* in the measured time */
    struct tt__watch watch;
    MPI_Comm watch_comm;  /* made when first needed */
    char *data_directory; /* <dir>/tutti-<id> */
    struct tt_owner owner;
    struct tt_made data; /* the data directory, once it is made: owner.data */
    struct tt_stack stack;
    struct tt_recorder *recorder;
    MPI_Comm node;                /* the ranks of this node */
    int node_rank;                /* in it */
    int node_first;               /* the lowest of them, in the run */
    struct tt_counters *counters; /* on one rank of each node */
    struct tt_pool *helper;       /* NULL without overlap */
    struct tt_memory memory;      /* that staging buffers are made of */
    struct tt__device_seen device_seen;
    bool halos_asked, halos_direct; /* whether MPI takes a device's addresses: asked once */
    struct tt_probe probes[2]; /* noncontiguous, contiguous; only if the backend is nonblocking */
    bool may_be_native;        /* probes were made */
    const char *overlap_way;   /* how dumps really overlapped; NULL before the first */
    const char *overlap_executor;    /* the same as a key */
    json_t *choices;                 /* of overlap=auto, by output; NULL: none */
    uint64_t choices_pass;           /* `played`, when they were made */
    char transfers_way[96];          /* how single transfers were made; empty if none were */
    struct tt_stream *prepared;      /* for the next stream; NULL: nothing was, or it is in use */
    struct tt_histogram *calls;      /* TT_NCALLS */
    struct tt_timeline timelines[2]; /* by tt_direction, in the measured time */
    struct tt__requests *requests;   /* sizes, by file; requests.c */
    unsigned nrequests;
    json_t *striping; /* of files, on rank 0; NULL: not known */
    struct tt_iteration_record now;
    int64_t unnamed_ns;            /* of empty records since the last one that was written */
    uint64_t total_ns[TT_NPHASES]; /* since the beginning; IO_* of any thread */
    struct {
        uint64_t iterations, last; /* in which something was computed; number of the last */
        int64_t ns;
    } passes;              /* of `compute` */
    int64_t helper_cpu_ns; /* CPU time of the helper in dumps */
    /* Between a device and the host, by the device's clock; of that, what was written, and of that
     * what the caller waited for. */
    int64_t staging_ns, staged_out_ns, waited_ns;
    uint64_t staged;            /* bytes */
    int64_t step_files_ns;      /* opening and closing files of one step, in any thread */
    int64_t start_ns, stop_ns;  /* of the measured time, monotonic */
    struct tt__clock clocks[2]; /* before the start, and after the end if all got there */
    int64_t go_seen_ns;         /* wall clock of rank 0 when it found the driver's word; 0: none */
    struct tt_cpu_time cpu;     /* at the start, then in the measured time */
    int64_t unmeasured_ns;      /* between start and stop, and no part of the runtime */
    struct tt__unmeasured
        *unmeasured;           /* the accounts when the unmeasured section began; NULL: measured */
    uint64_t bytes_written;    /* by this rank */
    uint64_t read_before;      /* bytes, by this rank, in the records before the current one */
    struct tt__closing closed; /* of dumps completed since limits were looked at */
    uint64_t room;             /* that rank 0 saw at the last look at the clock */
    uint64_t copies;           /* of the last dump */
    uint64_t next_check;       /* iteration of the next look at the clock */
    int progress_fd;           /* rank 0 only, else -1 */
    json_t *results, *tables, *warnings, *facts;
    uint64_t library_bytes[2];
    struct tt_cost costs[TT_MAX_STACK]; /* of the elements of the stack, over all files */
    uint64_t nfiles;                    /* made by this rank */
    struct tt_made_file *_Atomic made;
    struct tt_made_file *made_alike[1024];          /* the same by a hash of their paths */
    const struct tt_collective_options *collective; /* of the filler; NULL: the workload has none */
    void *filler;                                   /* its buffers */
    bool facts_asked[2];                /* of the first file that was closed, written and read */
    struct tt__shared *shared;          /* directories of the user's that all ranks see */
    struct tt_spot_check **spot_checks; /* of what was written, read back after the run */
    uint64_t spot_checked;              /* files that could have been */
    bool spot_checks_broken;            /* no memory for one */
    bool verifies;      /* the layer verify reads everything back, so there are no spot checks */
    bool failure_noted; /* this rank's first failed call is in the directory */
};

/* Dumps of a series in flight at most. Without overlap none is; one may still owe its sync. */
static inline unsigned tt__dumps_in_flight(const struct tt_engine *engine)
{
    const struct tt_run_options *run = engine->config->run;

    return run->overlap == TT_OVERLAP_NONE ? 1 : (unsigned)run->inflight;
}

/* The measured time has ended; never in a run that goes on until it is told to stop. */
static inline bool tt__engine_is_over(const struct tt_engine *engine)
{
    return engine->p->stop_ns != 0;
}

/* Counts a duration that was measured elsewhere. */
static inline void tt__phase_add_ns(struct tt_engine *engine, enum tt_phase phase, int64_t ns)
{
    engine->p->now.phase_ns[phase] += (uint64_t)ns;
    engine->p->total_ns[phase] += (uint64_t)ns;
}

/* Collective, where nothing is in flight: what comes now is not part of the job that was asked for,
 * and is recorded as such. */
int tt__baseline_begin(struct tt_engine *engine, struct tt_error *e);
/* Fails with a rank that has failed since it began and tells the others now. */
int tt__baseline_end(struct tt_engine *engine, struct tt_error *e);

/* The end of the measured time on this rank, also of a run that was stopped; only the first call
 * counts. */
void tt__engine_stop_clock(struct tt_engine *engine);
/* The record of what is under way in the measured time; false if there is none. Async-signal-safe.
 */
bool tt__record_so_far(const struct tt_engine *engine, struct tt_iteration_record *out);
/* monitor.c: from the start of the measured time to its end. */
int tt__monitor_start(struct tt_engine *engine, struct tt_error *e);
void tt__monitor_stop(struct tt_engine *engine);
/* Progress, from rank 0. */
void tt__monitor_tell(struct tt_engine *engine, uint64_t done, uint64_t total, int64_t seen_ns);
/* On rank 0: room in the data directory as seen lately, less what was granted since; 0 if it is not
 * known. Granted bytes may be written soon. */
uint64_t tt__monitor_room(const struct tt_engine *engine);
void tt__monitor_grant(struct tt_engine *engine, uint64_t bytes);
/* On rank 0: TT_OK, or the code of the reason to end after so many seconds. */
int tt__reason_to_end(const struct tt_engine *engine, double seconds);

/* stream.c: what was prepared and is not in use. */
void tt__stream_forget(struct tt_engine_private *p);

/* requests.c: of a series' own file or files; NULL: no memory. */
struct tt__requests *tt__requests_of(struct tt_engine_private *p, const char *path);
/* [{"path": "", for all files that are too many, "write": [[from, below, requests]], "read"}] */
json_t *tt__requests_json(const struct tt_engine_private *p);
void tt__requests_free(struct tt_engine_private *p);

/* node.c: find the ranks of this node. Collective. */
void tt__node_meet(struct tt_engine *engine);
/* node.c: start to collect this node's counters, on one of its ranks. Collective; if it cannot be
 * done, that is a warning. */
void tt__node_watch(struct tt_engine *engine);
/* device.c: opens the device of the configuration, if it has one, and says where staging buffers
 * come from. Collective. */
int tt__device_prepare(struct tt_engine *engine, struct tt_error *e);
/* By rank 0's monitor, now and then: how busy the device is, and how full. */
void tt__device_look(struct tt_engine *engine);
/* At the end of the measured time, after the monitor: results that only the engine knows. */
void tt__device_report(struct tt_engine *engine);
/* clocks.c. Collective. */
struct tt__clock tt__clock_measure(struct tt_engine *engine);

/* data.c */
/* The data directory's own subdirectory, so that concurrent runs never meet. Rank 0 only. */
int tt__data_make_directory(struct tt_engine *engine, struct tt_error *e);
/* The user's data directory is new, and goes with the last thing in it. Rank 0 only. */
int tt__data_adopt_dir(struct tt_engine *engine, struct tt_error *e);
/* All paths of a target, by the one rank that speaks for it: tt_data_claim before it is opened, and
 * tt_data_made afterwards. From then on the target's first path stands for all of them. */
int tt__data_claim_target(struct tt_engine *engine, const struct tt_target *target,
                          struct tt_error *e);
int tt__data_made_target(struct tt_engine *engine, const struct tt_target *target,
                         const struct tt_file *file, struct tt_error *e);
/* Async-signal-safe. */
struct tt_made tt__made(const struct tt_made_file *file);
/* Before a file is opened, on every rank: an MPI library makes files of its own beside it, whose
 * names must not be somebody's. rank is that in the file's communicator; one of them speaks. */
int tt__data_check_beside(struct tt_engine *engine, const char *path, int rank, bool speaks,
                          struct tt_error *e);
/* Only what tutti has made may be changed. */
int tt__data_check_mark(const char *path, struct tt_error *e);
/* Every rank but the first removes the files that it made, all at the same time, and then the first
 * of each node the node's manifest; the first rank removes what manifests still list. Where no
 * manifest is left, all do. Collective. */
void tt__data_remove_own(struct tt_engine *engine);
/* Marks it as tt_data_mark() does; while a layer may still be at it, when the stack has settled. */
void tt__data_closed(struct tt_engine *engine, const char *path);
void tt__data_mark_settled(struct tt_engine *engine);
/* The directories of the run on each node, by the node's first rank. Collective. */
int tt__data_make_caches(struct tt_engine *engine, struct tt_error *e);
int tt__data_remove_caches(struct tt_engine *engine, bool spare, struct tt_error *e);

/* shared.c: whether all ranks see the run's own data directory, and that of a path which is the
 * same on all. Collective; rank 0 may write there. A directory is looked at once. */
int tt__shared_check_own(struct tt_engine *engine, struct tt_error *e);
int tt__shared_check(struct tt_engine *engine, const char *path, struct tt_error *e);
void tt__shared_forget(struct tt_engine_private *p);

/* signals.c: from now on SIGTERM and SIGINT save the records, remove the files this rank made
 * (unless they are kept) and end the process. */
void tt__signals_install(struct tt_engine *engine);
void tt__signals_restore(void);
/* The same without ending it; for the guard. */
void tt__save_and_clean(void);

#endif
