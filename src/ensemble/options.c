/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The keys of an ensemble, and those of a job that are not its workload's. */
#include "ensemble/ensemble.h"

static const char *const starts[] = {"steady", "together", NULL};

#define AT(member) offsetof(struct tt_ensemble_options, member)
static const struct tt_param ensemble_params[] = {
    {"others", TT_PARAM_COUNTS, AT(others), "0,1", "jobs",
     "numbers of other jobs around the reference, one step each; 0 is the reference alone and is "
     "always measured",
     0, 100000},
    {"repeat", TT_PARAM_COUNT, AT(repeat), "6", NULL,
     "rounds, each of which runs every step once; fewer than six give a range and no interval", 1,
     10000},
    {"alone", TT_PARAM_COUNT, AT(alone), "2", "runs",
     "how often a round runs the reference alone: the difference of two is the noise", 1, 2},
    {"stop_when.ci", TT_PARAM_SPACE, AT(ci), "0%", NULL,
     "repeat until half the interval of the metric's ratio to alone, or of the metric itself where "
     "there are no others, is at most this share of it; 0%: no such rule",
     .placeholder = "SHARE"},
    {"stop_when.metric", TT_PARAM_TEXT, AT(stop_metric), "runtime", NULL,
     "the metric of the reference whose interval stop_when.ci is about", .placeholder = "NAME"},
    {"stop_when.at_most", TT_PARAM_COUNT, AT(at_most), "20", NULL,
     "but no more often than this, with stop_when.ci", 1, 10000},
    {"loads_alone", TT_PARAM_BOOL, AT(loads_alone), "yes", NULL,
     "in every round run each kind of load alone, too: how much slower do the others get?"},
    {"start", TT_PARAM_CHOICE, AT(start), "steady", NULL,
     "the reference starts when the loads are in a steady state, at a random phase, or all start "
     "together",
     .choices = starts},
    {"warmup", TT_PARAM_DURATION, AT(warmup), "1s", "s",
     "how long loads run at least before the reference starts, with start=steady; alone it waits "
     "as "
     "long"},
    {"settle", TT_PARAM_DURATION, AT(settle), "30s", "s",
     "before a repetition, wait until this machine has written everything and its devices are at "
     "rest, but no longer than this; 0: do not wait"},
    {"watchdog", TT_PARAM_DURATION, AT(watchdog), "10min", "s",
     "a job without progress, or a command without end, for so long is hanging: it is ended"},
    {"cpus", TT_PARAM_REAL, AT(cpus), "0", "CPUs",
     "share of every job, alone and with others, locally; 0: the machine divided by the most jobs "
     "at once"},
    {"dir", TT_PARAM_TEXT, AT(dir), ".", NULL, "data directory of the jobs that name none",
     .placeholder = "DIRECTORY"},
    {"min_free", TT_PARAM_TEXT, AT(min_free), NULL, NULL,
     "minimum free space to preserve in the data directory's file system, for jobs without their "
     "own",
     .placeholder = "SHARE|BYTES"},
    {"results", TT_PARAM_TEXT, AT(results), "tutti-runs", NULL,
     "where the ensemble's directory is made", .placeholder = "DIRECTORY"},
    {"label", TT_PARAM_TEXT, AT(label), NULL, NULL, "a name to find the ensemble by"},
    {"seed", TT_PARAM_COUNT, AT(seed), "1", NULL, "of the order of steps and the phase of loads"},
    {"max_time", TT_PARAM_DURATION, AT(max_time), "0", "s",
     "start no repetition that would end later; 0: no limit"},
    {"max_bytes", TT_PARAM_BYTES, AT(max_bytes), "0", "B",
     "start no repetition that would make all jobs together write more; 0: no limit"},
    {"solo_time", TT_PARAM_DURATION, AT(solo_time), "20s", "s",
     "of a scenario: how long the reference is to take alone, about"},
    {"limit", TT_PARAM_REAL, AT(limit), "0", NULL,
     "slowdown that is still good enough: how many others are possible? 0: not asked"},
    {"require", TT_PARAM_WORDS, AT(require), NULL, NULL,
     "conditions such as 'slowdown(3) <= 2.5' or 'write_rate >= 0.95 * baseline(label=golden)' "
     "that "
     "decide the exit status: 0 pass, 3 fail, 4 cannot be told (docs/gate.md)"},
    {"resume", TT_PARAM_TEXT, AT(resume), NULL, NULL,
     "directory of an ensemble that ended early, to be completed; with its file, if it has a "
     "command "
     "or "
     "launch.*",
     .placeholder = "DIRECTORY"},
    {"quiet", TT_PARAM_BOOL, AT(quiet), "no", NULL, "no progress and no table"},
    {"dry_run", TT_PARAM_BOOL, AT(dry_run), "no", NULL, "say what would be done, and do nothing"},
    {"json", TT_PARAM_TEXT, AT(json), NULL, NULL, "file for the answer; -: stdout",
     .placeholder = "FILE"},
    {"csv", TT_PARAM_TEXT, AT(csv), NULL, NULL, "file for a row per job; -: stdout",
     .placeholder = "FILE"},
    {"junit", TT_PARAM_TEXT, AT(junit), NULL, NULL,
     "file for what require says, as JUnit XML; -: stdout", .placeholder = "FILE"},
    {0},
};
#undef AT

const struct tt_component tt_ensemble_component = {
    .name = "ensemble",
    .summary = "a reference job, alone and with others around it",
    .params = ensemble_params,
    .opts_size = sizeof(struct tt_ensemble_options),
};

#define AT(member) offsetof(struct tt_job_spec_options, member)
static const struct tt_param spec_params[] = {
    {"same", TT_PARAM_TEXT, AT(same), NULL, NULL,
     "take everything from this job; further keys change it"},
    {"workload", TT_PARAM_TEXT, AT(workload), NULL, NULL, "see tutti list workloads"},
    {"command", TT_PARAM_WORDS, AT(command), NULL, NULL,
     "instead of a workload: a program and its arguments"},
    {"weight", TT_PARAM_REAL, AT(weight), "1", NULL, "share of this load among several"},
    {"cpus", TT_PARAM_REAL, AT(cpus), "0", "CPUs", "share of the machine; 0: as all others"},
    {"cpu_set", TT_PARAM_WORDS, AT(cpu_set), NULL, NULL,
     "instead of cpus: the CPUs that are the job's, such as 0-3,8; locally"},
    {"loop", TT_PARAM_BOOL, AT(loop), "yes", NULL,
     "as a load, run again and again until the reference has ended; no: once"},
    {0},
};

const struct tt_component tt_job_spec_component = {
    .name = "job",
    .summary = "a job of an ensemble; all other keys are those of its workload",
    .params = spec_params,
    .opts_size = sizeof(struct tt_job_spec_options),
};
