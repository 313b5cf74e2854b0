/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The method of "how to measure flash storage" as one command: stages, each of them points for the
 * one runner, some of which read what an earlier stage has left behind.
 *
 * The directory of a survey holds survey.json, a directory a stage (with that of an ensemble, whose
 * jobs are the stage's points, each alone) and answer.json. */
#ifndef TT_SURVEY_SURVEY_H
#define TT_SURVEY_SURVEY_H

#include <jansson.h>

#include "plan/config.h"
#include "report/survey.h"

#define TT_SURVEY_PLAN "survey.json"

struct tt_survey_options {
    struct tt_counts nodes, processes;
    struct tt_words transfers, sizes, parts;
    uint64_t size, flush, flushes, iops_transfer, repeat, seed, max_bytes;
    double deadline, max_time;
    char *dir, *min_free, *results, *label, *json, *resume;
    bool buffered_only, quiet, dry_run;
};
extern const struct tt_component tt_survey_component;

/* One configuration of the workload bulk. */
struct tt_survey_point {
    uint64_t nodes, processes, transfer, size; /* size: of a process */
    uint64_t source; /* the point of an earlier stage that wrote its data */
};

struct tt_survey_stage {
    const char *part, *name;             /* of the method, and of the directory */
    const struct tt_survey_table *table; /* that shows what it measured; NULL: none does */
    bool write, read, random, direct, keep, wear_out, flushes;
    uint64_t repeat;
    const struct tt_survey_stage *data; /* NULL: it reads nothing that an earlier stage wrote */
    size_t n;
    struct tt_survey_point *points;
};

#define TT_SURVEY_MAX_STAGES 16
struct tt_survey {
    struct tt_survey_options o;
    struct tt_settings job; /* further keys of every run, such as backend and layers */
    const char *part;       /* whose stages are being added */
    size_t nstages;
    struct tt_survey_stage stages[TT_SURVEY_MAX_STAGES];
};

/* From the settings of a file and the command line; everything is checked. */
int tt_survey_make(struct tt_survey *s, const struct tt_settings *settings, struct tt_error *e);
void tt_survey_free(struct tt_survey *s);

struct tt_survey_estimate {
    uint64_t runs, nodes, bytes_written, bytes_on_disk; /* at most */
    double seconds;                                     /* until all deadlines; 0: there is none */
};
void tt_survey_estimate(const struct tt_survey *s, struct tt_survey_estimate *out);
/* What a stage writes at most. */
uint64_t tt_survey_stage_bytes(const struct tt_survey_stage *stage);
/* Whether the data directory has room for it, and --max-bytes allows it. */
int tt_survey_check_room(const struct tt_survey *s, struct tt_error *e);
/* Whether the keys of every run are good, and there are as many nodes as are asked for. */
int tt_survey_check_jobs(const struct tt_survey *s, struct tt_error *e);

/* Makes <results>/survey-<utc>-<id>/; caller frees the path. */
int tt_survey_create(const struct tt_survey *s, const struct tt_settings *settings,
                     char **directory, struct tt_error *e);
bool tt_survey_is_directory(const char *directory);
/* The settings it was made with. */
int tt_survey_load(const char *directory, struct tt_settings *settings, struct tt_error *e);
/* Run what is still to be run, stage after stage, and remove the data that nobody reads any
 * more. TT_INTERRUPTED after Ctrl-C, TT_LIMIT when the time is over. */
int tt_survey_run(const struct tt_survey *s, const char *directory, struct tt_error *e);
/* What was measured so far: {"samples": [...], "summary": [...]}; a new reference. */
int tt_survey_answer(const struct tt_survey *s, const char *directory, json_t **answer,
                     struct tt_error *e);

#endif
