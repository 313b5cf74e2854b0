/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The keys of a study; all others are those of its base. */
#include "study/study.h"

static const char *const grids[] = {"full", "lhs", "pairwise", NULL};
static const char *const forms[] = {"long", "wide", NULL};

#define AT(member) offsetof(struct tt_study_options, member)
static const struct tt_param params[] = {
    {"sweep", TT_PARAM_TEXT, AT(sweep), NULL, NULL,
     "vary a key of the base: a list, ranks=1,2, or a range, transfer=4k..1m*4 or ranks=1..9+2; "
     "may "
     "be given again; in a file: 'vary: {KEY: VALUES}'",
     .placeholder = "KEY=VALUES"},
    {"grid", TT_PARAM_CHOICE, AT(grid), "full", NULL,
     "which combinations of the varied values are points: all, a Latin hypercube of sample points, "
     "or so few that every pair of values occurs",
     .choices = grids},
    {"sample", TT_PARAM_COUNT, AT(sample), "20", "points", "size of the Latin hypercube", 1,
     1000000},
    {"skip", TT_PARAM_WORDS, AT(skip), NULL, NULL,
     "leave out points for which this holds, such as 'transfer > block'; may be given again",
     .placeholder = "CONDITION"},
    {"repeat", TT_PARAM_COUNT, AT(repeat), "6", NULL,
     "rounds, each of which runs every point once; fewer than six give a range and no interval", 1,
     10000},
    {"add", TT_PARAM_COUNT, AT(add), "0", NULL,
     "with resume: repetitions of every point beyond those that were asked for so far", 0, 10000},
    {"metrics", TT_PARAM_WORDS, AT(metrics), NULL, NULL,
     "metrics that the answer is about, the first of which decides; else those that the job "
     "measures of runtime, write_rate and read_rate",
     .placeholder = "NAME,..."},
    {"sort", TT_PARAM_TEXT, AT(sort), NULL, NULL,
     "order of the rows: a metric, best first, or a varied key; else the order of the grid",
     .placeholder = "NAME"},
    {"pivot", TT_PARAM_TEXT, AT(pivot), NULL, NULL,
     "a varied key whose values become columns of medians", .placeholder = "KEY"},
    {"fit", TT_PARAM_TEXT, AT(fit), NULL, NULL,
     "two varied keys: a line through the best values of the first over the second, as in "
     "stripe.count~ranks",
     .placeholder = "KEY~KEY"},
    {"shuffle", TT_PARAM_COUNT, AT(shuffle), "1", NULL,
     "seed of the order of the runs and of a sampled grid"},
    {"results", TT_PARAM_TEXT, AT(results), "tutti-runs", NULL,
     "where the study's directory is made", .placeholder = "DIRECTORY"},
    {"label", TT_PARAM_TEXT, AT(label), NULL, NULL, "a name to find the runs by"},
    {"max_time", TT_PARAM_DURATION, AT(max_time), "0", "s",
     "refuse a study that takes longer, and start no run that would end later; 0: no limit"},
    {"max_bytes", TT_PARAM_BYTES, AT(max_bytes), "0", "B",
     "refuse a study that writes more in all; 0: no limit"},
    {"resume", TT_PARAM_TEXT, AT(resume), NULL, NULL,
     "directory of a study, to be completed, or to get more values and repetitions; with its file, "
     "if it has a command or launch.*",
     .placeholder = "DIRECTORY"},
    {"quiet", TT_PARAM_BOOL, AT(quiet), "no", NULL, "no progress and no table"},
    {"dry_run", TT_PARAM_BOOL, AT(dry_run), "no", NULL, "say what would be done, and do nothing"},
    {"json", TT_PARAM_TEXT, AT(json), NULL, NULL, "file for the answer; -: stdout",
     .placeholder = "FILE"},
    {"csv", TT_PARAM_TEXT, AT(csv), NULL, NULL, "file for the values of all runs; -: stdout",
     .placeholder = "FILE"},
    {"csv_form", TT_PARAM_CHOICE, AT(csv_form), "long", NULL,
     "a row per run and metric, or a row per run with a column per metric", .choices = forms},
    {0},
};

const struct tt_component tt_study_component = {
    .name = "study",
    .summary = "points over values of keys, and which of the keys matter",
    .params = params,
    .opts_size = sizeof(struct tt_study_options),
};
