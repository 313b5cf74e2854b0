/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parameters that every run has: what it does, what --mode means, and how its ranks are
 * started. */
#include <string.h>

#include "plan/config.h"

static const char *const overlaps[] = {"none", "async", "auto", NULL};
static const char *const syncs[] = {"write", "dump",  "deferred", "background",
                                    "close", "never", NULL};

#define AT(member) offsetof(struct tt_run_options, member)
static const struct tt_param run_params[] = {
    {"ranks", TT_PARAM_COUNT, AT(ranks), "1", "ranks", "processes of the job", 1, INT32_MAX, NULL,
     "-n"},
    {"dir", TT_PARAM_TEXT, AT(dir), ".", NULL, "data directory, on the storage to be measured",
     .placeholder = "DIRECTORY"},
    {"results", TT_PARAM_TEXT, AT(results), "tutti-runs", NULL,
     "where run directories are made; better not on the storage to be measured",
     .placeholder = "DIRECTORY"},
    {"backend", TT_PARAM_TEXT, AT(backend), "posix", NULL,
     "how data reaches storage; see tutti list backends"},
    {"layers", TT_PARAM_WORDS, AT(layers), NULL, NULL,
     "stacked above the backend, topmost first; see tutti list layers"},
    {"device", TT_PARAM_TEXT, AT(device), "host", NULL,
     "where the workload's data lies and its computation runs; see tutti list devices"},
    {"module", TT_PARAM_TEXT, AT(module), NULL, NULL,
     "files of backends, layers, workloads or devices that were built outside; see "
     "docs/extending.md",
     .placeholder = "FILE,..."},
    {"mode", TT_PARAM_TEXT, AT(mode), NULL, NULL,
     "short for overlap and sync: sync+imm (none, dump), sync (none, deferred), async (async, "
     "deferred), async+bg (async, background) or auto (auto, background)"},
    {"overlap", TT_PARAM_CHOICE, AT(overlap), "none", NULL,
     "whether computation goes on while a dump is written; auto: decided for every dump by what "
     "earlier ones took",
     .choices = overlaps},
    {"sync", TT_PARAM_CHOICE, AT(sync), "dump", NULL,
     "when data is made durable: after every write, at the end of the dump, just before the next "
     "dump "
     "(deferred), in the helper right after the write (background), before the file is closed, "
     "never",
     .choices = syncs},
    {"inflight", TT_PARAM_COUNT, AT(inflight), "1", "dumps",
     "dumps in flight before a new one has to wait", 1, 64},
    {"staging_limit", TT_PARAM_BYTES, AT(staging_limit), "0", "B",
     "memory of a rank and file for copies of dumps in flight; a dump that finds too little waits "
     "for older ones; 0: no limit"},
    {"baseline", TT_PARAM_COUNT, AT(baseline), "6", "epochs",
     "serialise one epoch in this many, to measure compute-only and I/O-only; it and the next, in "
     "which storage settles, count for nothing else; 0: none"},
    {"seed", TT_PARAM_COUNT, AT(seed), "1", NULL, "of everything that is random"},
    {"label", TT_PARAM_TEXT, AT(label), NULL, NULL, "a name to find the run by"},
    {"context", TT_PARAM_TEXT, AT(context), NULL, NULL,
     "what goes on around the run, such as '3 others'; runs of different contexts are not "
     "compared; ensembles set it"},
    {"keep", TT_PARAM_BOOL, AT(keep), "no", NULL, "leave the data files when the run is over"},
    {"trace", TT_PARAM_BOOL, AT(trace), "no", NULL,
     "record when each thread did what, in 8 MiB of memory per rank; see tutti export --trace"},
    {"quiet", TT_PARAM_BOOL, AT(quiet), "no", NULL, "no progress and no table"},
    {"dry_run", TT_PARAM_BOOL, AT(dry_run), "no", NULL,
     "say what would be written, and do nothing"},
    {"json", TT_PARAM_TEXT, AT(json), NULL, NULL,
     "file for the result with all samples; -: stdout, and no table", .placeholder = "FILE"},
    {"csv", TT_PARAM_TEXT, AT(csv), NULL, NULL,
     "file for a row per rank and iteration; -: stdout, and no table", .placeholder = "FILE"},
    {"max_bytes", TT_PARAM_BYTES, AT(max_bytes), "0", "B", "write no more than this; 0: no limit"},
    {"max_time", TT_PARAM_DURATION, AT(max_time), "0", "s", "run no longer than this; 0: no limit"},
    {"min_free", TT_PARAM_SPACE, AT(min_free), "20%", NULL,
     "minimum free space to preserve in the data directory's file system"},
    {"patience", TT_PARAM_DURATION, AT(patience), "30s", "s",
     "how long a failed rank waits for the others before it ends the run; a run is also ended "
     "twice "
     "this after max_time, and if no rank makes a step for 20 times this"},
    {0},
};

const struct tt_component tt_run_component = {
    .name = "",
    .summary = "what every run has",
    .params = run_params,
    .opts_size = sizeof(struct tt_run_options),
};
#undef AT

/* ---- modes: when the caller gets its buffer back, when and by whom data is made durable ---- */

static const struct {
    const char *name, *meaning;
    int overlap, sync;
} modes[] = {
    {"sync+imm", "overlap=none sync=dump", TT_OVERLAP_NONE, TT_SYNC_DUMP},
    {"sync", "overlap=none sync=deferred", TT_OVERLAP_NONE, TT_SYNC_DEFERRED},
    {"async", "overlap=async sync=deferred", TT_OVERLAP_ASYNC, TT_SYNC_DEFERRED},
    {"async+bg", "overlap=async sync=background", TT_OVERLAP_ASYNC, TT_SYNC_BACKGROUND},
    {"auto", "overlap=auto sync=background", TT_OVERLAP_AUTO, TT_SYNC_BACKGROUND},
};
#define NMODES (sizeof modes / sizeof *modes)

bool tt_is_bound_key(const char *key)
{
    static const char *const bounds[] = {"max_bytes", "max_time", "min_free", "patience", NULL};

    return tt_has_word(bounds, key);
}

const char *tt_mode_meaning(const char *mode)
{
    for (size_t i = 0; i < NMODES; i++)
        if (!strcmp(mode, modes[i].name))
            return modes[i].meaning;
    return NULL;
}

int tt_mode_apply(struct tt_run_options *run, struct tt_error *e)
{
    const char *names[NMODES + 1] = {0}, *near;

    for (size_t i = 0; i < NMODES; i++) {
        names[i] = modes[i].name;
        if (!strcmp(run->mode, modes[i].name)) {
            run->overlap = modes[i].overlap;
            run->sync = modes[i].sync;
            return TT_OK;
        }
    }
    near = tt_nearest_word(run->mode, names);
    return tt_fail(e, TT_USAGE, "'%.80s' is not one of sync+imm, sync, async, async+bg, auto%s",
                   run->mode, TT_DID_YOU_MEAN(near));
}

int tt_mode_check(const struct tt_run_options *run, struct tt_error *e)
{
    if (run->overlap == TT_OVERLAP_ASYNC &&
        (run->sync == TT_SYNC_WRITE || run->sync == TT_SYNC_DUMP))
        return tt_fail(e, TT_USAGE, "sync=%s makes overlap pointless: use sync=background",
                       run->sync == TT_SYNC_WRITE ? "write" : "dump");
    if (run->overlap == TT_OVERLAP_AUTO && run->sync != TT_SYNC_BACKGROUND &&
        run->sync != TT_SYNC_CLOSE && run->sync != TT_SYNC_NEVER)
        return tt_fail(e, TT_USAGE,
                       "overlap=auto syncs right after each write, in whatever mode: use "
                       "sync=background, close or never");
    if (run->overlap == TT_OVERLAP_NONE && run->sync == TT_SYNC_BACKGROUND)
        return tt_fail(e, TT_USAGE, "sync=background needs a helper: use overlap=async");
    return TT_OK;
}

/* ---- launching: keys of the driver, which no rank looks at ---- */

static const char *const launchers[] = {"auto", "local", "slurm", "batch", "template", NULL};

#define AT(member) offsetof(struct tt_launch_options, member)
static const struct tt_param launch_params[] = {
    {"by", TT_PARAM_CHOICE, AT(by), "auto", NULL,
     "local: mpiexec; slurm: a step of this allocation; batch: a job of its own; template: "
     "launch.template; auto: slurm inside an allocation, else local",
     .choices = launchers},
    {"template", TT_PARAM_WORDS, AT(template), NULL, NULL,
     "words of the command that starts ranks, with {ranks} and {command} among them"},
    {"nodes", TT_PARAM_WORDS, AT(nodes), NULL, NULL,
     "Slurm: names of the nodes to use; an ensemble gives each job its share of them"},
    {"tasks_per_node", TT_PARAM_COUNT, AT(tasks_per_node), "0", "ranks",
     "Slurm: ranks per node; 0: as many as fit", 0, INT32_MAX},
    {"exclusive", TT_PARAM_BOOL, AT(exclusive), "no", NULL,
     "Slurm: nobody else on the CPUs of a step, or on the nodes of a batch job"},
    {"options", TT_PARAM_WORDS, AT(options), NULL, NULL,
     "further options for mpiexec, srun or sbatch, such as --mpi=pmi2"},
    {"start_timeout", TT_PARAM_DURATION, AT(start_timeout), "10min", "s",
     "a job that is not ready after this long is given up"},
    {0},
};

const struct tt_component tt_launch_component = {
    .name = "launch",
    .summary = "how the ranks of a job are started",
    .params = launch_params,
    .opts_size = sizeof(struct tt_launch_options),
};
