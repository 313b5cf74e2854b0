/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Points over values of keys, run by the one runner.
 *
 * The base is a job or an ensemble. A point is the base with other values of some keys, the
 * factors. It is known by the hash of its plan, so that points may come later and none is run
 * twice. Where the base is an ensemble, each of its steps is a row of its own, and point x step is
 * one flat list for the runner.
 *
 * The directory of a study:
 *
 *   study.json          settings of the base, factors, points
 *   journal             a line a finished repetition (plan/runner.h)
 *   HASH-STEP-runN/     a repetition: the run directories of its jobs, and repetition.json
 *   compute.json        what was calibrated, for all points whose computation is the same
 *   answer.json         what analysis made of it
 *
 * Who searches instead of asking for a grid (advice, tuning) uses the same: tt_study_begin,
 * tt_study_factor and tt_study_add make points, tt_study_run runs some of them so many times, and
 * tt_study_read has the values of metrics; then more points may be added, and so on. */
#ifndef TT_STUDY_STUDY_H
#define TT_STUDY_STUDY_H

#include <jansson.h>

#include "analysis/metrics.h"
#include "ensemble/ensemble.h"

#define TT_STUDY_PLAN "study.json"
#define TT_HASH_TEXT 17

enum tt_grid { TT_GRID_FULL, TT_GRID_LHS, TT_GRID_PAIRWISE };
enum tt_csv_form { TT_CSV_LONG, TT_CSV_WIDE };

struct tt_study_options {
    int grid, csv_form; /* enum tt_grid, enum tt_csv_form */
    uint64_t sample, repeat, add, shuffle, max_bytes;
    double max_time;
    struct tt_words skip, metrics;
    char *sweep; /* only in the table: each becomes a factor */
    char *sort, *pivot, *fit, *results, *label, *json, *csv, *resume;
    bool quiet, dry_run;
};
extern const struct tt_component tt_study_component;

/* A key that is varied. */
struct tt_factor {
    char *key;                    /* as the user wrote it: "transfer" */
    char *full;                   /* as the ensemble of a point has it: "reference.transfer" */
    char *place;                  /* for messages */
    const struct tt_param *param; /* NULL: not known here; its values are words */
    size_t n;
    char **values; /* that the grid has of it; listed points may have others */
};

struct tt_point {
    char hash[TT_HASH_TEXT];
    char **values;                 /* of each factor; NULL: as in the base */
    struct tt_estimate *estimates; /* of a job of each spec of its ensemble; NULL: not to be run */
    double bytes, seconds; /* that a repetition writes, and takes at least; the mean of its steps */
};

struct tt_study {
    struct tt_study_options o;
    bool is_job;             /* the base is one, else an ensemble */
    bool closed;             /* from a directory that is only looked at: it opens no module */
    char *workload;          /* of the job, or of the reference; NULL: a command */
    struct tt_settings base; /* of the ensemble that every point is */
    size_t nfactors, npoints;
    struct tt_factor *factors;
    struct tt_point *points;
    /* Those of every point's ensemble: nrows that the answer tells apart, then the same again. */
    size_t nrows, nsteps;
    struct tt_step *steps;
    json_t *known;            /* {hash: number} of the points */
    char usual[TT_HASH_TEXT]; /* of the base without other values; empty: it is not possible */
    size_t skipped;           /* points of the grid that a condition left out */
};
/* What the answer tells apart: of point p and step k < nrows. */
#define TT_ROW(s, p, k) ((p) * (s)->nrows + (k))

/* ---- points ---- */

/* A base without points. workload: settings are those of a job; NULL: of an ensemble. The options
 * have their defaults. */
int tt_study_begin(struct tt_study *s, const char *workload, const struct tt_settings *base,
                   struct tt_error *e);
/* Adds a factor without values, or finds it. */
int tt_study_factor(struct tt_study *s, const char *key, const char *place, size_t *index,
                    struct tt_error *e);
/* Adds the point with these values of all factors (NULL: as the base), unless it is there; it is
 * checked as `tutti run` would. *index may be NULL. */
int tt_study_add(struct tt_study *s, const char *const *values, size_t *index, struct tt_error *e);
void tt_study_free(struct tt_study *s);

/* Whether settings of a job vary any of its keys. */
bool tt_study_is_asked_for(const struct tt_settings *settings);
/* Everything from the settings of a file and the command line: options, base, factors, grid.
 * workload: of a job; NULL: they are of an ensemble. */
int tt_study_make(struct tt_study *s, const char *workload, const struct tt_settings *settings,
                  struct tt_error *e);
/* The same for a study that was loaded: values and points are added, options replaced, and the base
 * must be the same. Settings may be of a file that is given again; workload as in it, or NULL. */
int tt_study_extend(struct tt_study *s, const char *workload, const struct tt_settings *settings,
                    struct tt_error *e);
/* Whether there are such metrics as its answer is to be about. */
int tt_study_check_metrics(const struct tt_study *s, struct tt_error *e);
/* The ensemble that a point with these values is; to be freed also after an error. */
int tt_point_ensemble(const struct tt_study *s, const char *const *values, struct tt_ensemble *out,
                      struct tt_error *e);
/* "transfer=4k ranks=2", into out; returns out. */
char *tt_point_text(const struct tt_study *s, const char *const *values, char *out, size_t size);

/* ---- values.c ---- */
/* "1,2,8..64*2" as a list of values: plain ones, and of numbers ranges A..B (step 1), A..B+S and
 * A..B*F. A comma in a value is written \,. Caller frees with tt_values_free. */
int tt_values_expand(const struct tt_param *param, const char *text, struct tt_words *out,
                     struct tt_error *e);
void tt_values_free(struct tt_words *list);
/* The number that a value is, in the unit of its parameter; false: it is none. */
bool tt_value_number(const struct tt_param *param, const char *text, double *out);

/* ---- grid.c ---- */
/* Calls take for each combination: numbers[i] is that of factor i's value, below counts[i]. */
typedef int tt_take_combination(void *context, const size_t *numbers, struct tt_error *e);
struct tt_combinations {
    size_t n;
    const size_t *counts;
    tt_take_combination *take;
    bool (*allowed)(void *context, const size_t *numbers); /* NULL: all are */
    void *context;
};
int tt_grid_full(const struct tt_combinations *c, struct tt_error *e);
/* Latin hypercube: n combinations in which every value of a factor occurs equally often, or nearly
 * so. */
int tt_grid_lhs(const struct tt_combinations *c, size_t n, uint64_t seed, struct tt_error *e);
/* Every pair of values of two factors occurs in one combination at least, if one with it is
 * allowed. */
int tt_grid_pairwise(const struct tt_combinations *c, uint64_t seed, struct tt_error *e);

/* ---- skip.c: conditions such as "transfer > block and ranks != 1" ---- */
struct tt_condition;
/* What a key means: its parameter (NULL: there is no such key) and its value in a point. */
struct tt_condition_keys {
    void *context;
    const struct tt_param *(*find)(void *context, const char *key);
    const char *(*value)(void *context, const char *key); /* NULL: none */
    const char *(*near)(void *context, const char *word); /* NULL: no key is */
};
int tt_condition_parse(const char *text, const struct tt_condition_keys *keys,
                       struct tt_condition **out, struct tt_error *e);
bool tt_condition_holds(const struct tt_condition *c, const struct tt_condition_keys *keys);
void tt_condition_free(struct tt_condition *c);

/* ---- run.c ---- */
struct tt_study_budget {
    uint64_t runs, done; /* repetitions of rows that are wanted, and of these complete */
    double bytes;        /* that the others write */
    double written;      /* that has been written so far */
    double seconds;      /* that they take: as measured, else at least */
    bool measured;
};
/* Makes <results>/study-<utc>-<id>/; caller frees the path. */
int tt_study_create(const struct tt_study *s, char **directory, struct tt_error *e);
bool tt_study_is_directory(const char *directory);
/* The settings and points of a directory. given: what the user says of it now, so that it may be
 * run and added to; NULL: it is only looked at, by tt_study_read and tt_study_answer. Values that
 * say what is started must be given again, since a directory is not believed in that. */
int tt_study_load(struct tt_study *s, const char *directory, const struct tt_settings *given,
                  struct tt_error *e);
/* What is still to come; repeat is that of each point, NULL: o.repeat. directory NULL: all is. */
int tt_study_budget(const struct tt_study *s, const char *directory, const uint64_t *repeat,
                    struct tt_study_budget *out, struct tt_error *e);
/* TT_LIMIT if that is more than max_bytes or max_time. */
int tt_study_check_budget(const struct tt_study *s, const struct tt_study_budget *b,
                          struct tt_error *e);
/* Runs what is still to be run, so that every point has so many complete repetitions: repeat[i] of
 * point i, or o.repeat of all if it is NULL. With o.resume, points that failed before are tried
 * again. Keeps points and options that are new in study.json. TT_INTERRUPTED after Ctrl-C, TT_LIMIT
 * when the budget is used up. */
int tt_study_run(const struct tt_study *s, const char *directory, const uint64_t *repeat,
                 struct tt_error *e);

/* ---- read.c ---- */
/* One repetition that counts. */
struct tt_measured {
    size_t row;
    uint64_t number, round;
    char *directory;            /* of the reference's run, below the study's */
    double values[TT_NMETRICS]; /* not a number: not measured */
    double slowdown;            /* of an ensemble, against alone in the same round */
};
struct tt_measurements {
    size_t n;
    struct tt_measured *list; /* by row, and in the order in which they were run */
    size_t *first;            /* of each row in the list; one more than there are rows */
};
/* To be freed also after an error. */
int tt_study_read(const struct tt_study *s, const char *directory, struct tt_measurements *out,
                  struct tt_error *e);
void tt_measurements_free(struct tt_measurements *m);
/* A metric is one of enum tt_metric_id, or TT_METRIC_SLOWDOWN. The values in a row are ascending,
 * in `values`, which has room for all of them. */
#define TT_METRIC_SLOWDOWN TT_NMETRICS
double tt_measured_value(const struct tt_measured *one, int metric);
struct tt_sample tt_row_sample(const struct tt_measurements *m, size_t row, int metric,
                               double *values);

/* ---- answer.c ---- */
/* What report/study.h shows; a new reference. */
int tt_study_answer(const struct tt_study *s, const char *directory, json_t **answer,
                    struct tt_error *e);

/* ---- fit.c ---- */
/* A line through the best values, y = intercept + slope x, and what it is worth. */
struct tt_line {
    size_t n;
    double intercept, slope;
    double low, high; /* of x: where it is valid */
    double error;     /* mean |predicted / y - 1| of points that the line was not fitted to */
};
/* Three points at least, of different x and with y above 0. */
int tt_line_fit(const double *x, const double *y, size_t n, struct tt_line *out,
                struct tt_error *e);
/* Adds to the answer the line that o.fit asks for; nothing if it asks for none. */
int tt_study_fit(const struct tt_study *s, json_t *answer, struct tt_error *e);

#endif
