/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The setting of a job that is best, among many: advice and tuning are this search over different
 * keys.
 *
 * A search is a study (study/study.h): its factors are the keys that are tried, its base is the
 * default, and a candidate is a point. The default is run once, which tells how many candidates the
 * budget is good for. Candidates are halved: all are run once, the better half twice, the better
 * half of these four times. Then what differs from the best in one key is tried, as long as that
 * finds a better one. The best and the default are run again at the end, in turns, and only these
 * fresh runs decide: the best of many is partly lucky, and its own runs would say so as gain.
 *
 * What is decided during the search depends only on the journal, so a search that was interrupted
 * makes the same decisions again when it goes on. Its directory is that of the study, and
 *
 *   search.json   settings of the search, how many candidates there are, how the job was scaled
 *   advice.json   the answer
 */
#ifndef TT_STUDY_SEARCH_SEARCH_H
#define TT_STUDY_SEARCH_SEARCH_H

#include "study/study.h"

#define TT_SEARCH_PLAN "search.json"
#define TT_SEARCH_ANSWER "advice.json"

/* ---- halving.c: pure ---- */
struct tt_rung {
    size_t candidates;
    uint64_t repeat; /* of each, with those of earlier rungs */
};
#define TT_RUNGS 3
/* Half of the candidates go on to the next rung, with twice the repetitions. Returns how many rungs
 * there are, at most TT_RUNGS. */
size_t tt_halving(size_t candidates, struct tt_rung rungs[TT_RUNGS]);
/* Runs of all rungs, with those of the default, which is in every one. */
uint64_t tt_halving_runs(size_t candidates);
/* The most candidates whose halving takes no more than this; 0: not even one does. */
size_t tt_halving_affordable(double runs);
/* What is known of a candidate: its medians over the runs that count; not a number: it cannot be
 * chosen. changed: how many keys differ from the default. */
struct tt_standing {
    double median;
    size_t changed;
};
/* The best `keep` of n candidates, best first, into order, which has room for n; returns how many
 * there are. */
size_t tt_best_of(const struct tt_standing *list, size_t n, size_t keep, bool higher_is_better,
                  size_t *order);
/* The one to choose: the one that changes least among those that are as good as the best but for
 * the share `tie`; n: there is none. */
#define TT_TIE 0.02
size_t tt_choose(const struct tt_standing *list, size_t n, bool higher_is_better, double tie);

/* What a key does: candidates that differ in nothing else are compared. */
struct tt_tried {
    const size_t *numbers; /* of the value of each key */
    double median;         /* not a number: not measured */
};
struct tt_key_effect {
    size_t groups; /* of candidates that differ in this key alone */
    double times;  /* largest / least median of such a group, the median over groups */
};
int tt_key_effect(const struct tt_tried *list, size_t n, size_t nkeys, size_t key,
                  struct tt_key_effect *out, struct tt_error *e);

/* ---- heuristics.c: where a search begins; pure ---- */
/* Of Lustre, by the number of nodes: 5.6 x nodes + 4.9 up to 8 nodes, then all. targets: that there
 * are; 0: not known, as many as the paper's file system had. */
uint64_t tt_stripe_count_for(uint64_t nodes, uint64_t targets);
/* By the bytes that a rank writes at a time: the block, half and a quarter of it, as multiples of
 * 64 KiB. Returns how many there are. */
size_t tt_stripe_sizes_for(uint64_t block, uint64_t out[3]);
/* Ranks that write to a stripe. Above 1 it needs Cray's lock-ahead. */
uint64_t tt_multiplier_for(uint64_t block, uint64_t ranks);
uint64_t tt_aggregators_for(uint64_t stripes, uint64_t multiplier, uint64_t ranks);

/* ---- application.c: from what an application does to a job that does the same; pure ---- */
struct tt_application {
    uint64_t size;         /* bytes of a dump, of all ranks */
    double every, compute; /* seconds between two dumps, and of an iteration; 0: not given */
    uint64_t ranks;
};
struct tt_scaled {
    double factor; /* bytes and seconds of the job / those of the application */
    uint64_t bytes, dumps;
    double every; /* seconds of computation between two dumps */
};
/* The job, in as many seconds and bytes as a run may take. */
void tt_application_scale(const struct tt_application *a, double seconds, double bytes,
                          struct tt_scaled *out);
/* Its workload and settings. The workload is a name that lives for ever. */
int tt_application_job(const struct tt_application *a, const struct tt_scaled *s,
                       const char **workload, struct tt_settings *out, struct tt_error *e);

/* ---- keys.c: what is tried, and how an application does it ---- */
struct tt_search_key {
    const char *key;
    const char *values;                      /* a list; NULL: `find` makes one */
    char *(*find)(const struct tt_study *s); /* NULL: nothing to try; caller frees */
    bool epochs;                             /* only of workloads that compute between dumps */
    bool proof;                              /* counts only if a fact says that it was in effect */
};
struct tt_search_kind {
    const char *name; /* of the command */
    const struct tt_component *component;
    const struct tt_search_key *keys; /* up to one without a key */
    bool describes;                   /* without a workload, options describe an application */
    bool intervals;                   /* in the end it is tried to write more and less often */
};
extern const struct tt_search_kind tt_search_advise, tt_search_tune;
extern const struct tt_component tt_advise_component, tt_tune_component;

/* Lines about a setting: what stands in a hints file ("cb_nodes 4"), in a shell ("lfs setstripe -c
 * 8 DIR"), or in the program. */
enum tt_way { TT_WAY_HINT, TT_WAY_SHELL, TT_WAY_ENVIRONMENT, TT_WAY_CODE };
extern const char *const tt_ways[]; /* "hint", "shell", "environment", "code" */
/* Appends [{way, text}, ...] for a key and its value; param may be NULL. */
int tt_ways_of(const struct tt_param *param, const char *key, const char *value, json_t *list,
               struct tt_error *e);

/* ---- make.c ---- */
struct tt_search_options {
    uint64_t size; /* of an application, as its every and compute */
    double every, compute;
    uint64_t repeat, candidates, shuffle, max_bytes;
    double max_time;
    struct tt_words fixed; /* keys that are not tried */
    char *sweep;           /* the last one; all of them are in the settings */
    char *metric, *results, *label, *json, *hints, *yaml, *resume;
    bool quiet, dry_run;
};

/* What is known of a point of the study: a value of each factor, 0 being that of the base. */
struct tt_candidate {
    size_t *numbers, changed;
    bool aside;     /* no candidate: it writes more or less often than the default */
    uint64_t tried; /* attempts to run it */
    char why[512];  /* it cannot be chosen; empty: it can */
};

struct tt_search {
    const struct tt_search_kind *kind;
    struct tt_search_options o;
    int metric;
    struct tt_study study; /* the first point is the default */
    json_t *application;   /* what was described, and how it was scaled; NULL: a workload was */
    json_t *refused;       /* [{setting, why}, ...] of those that are no point */
    size_t planned;        /* candidates that the budget is good for; 0: not known yet */
    size_t interval;       /* the factor of how often is written; SIZE_MAX: there is none */
    size_t best;           /* the point that is measured again, once it is known; 0: none is */
    uint64_t before[2];    /* runs of the default and of the best until then */
    bool cut_short;        /* the budget ended the search early */
    double shrunk;         /* by how much more the application was scaled than by its own times */
    double seconds;        /* that a run of the default took; 0: none has ended */
    int64_t began;
};

/* From settings of a file and the command line. workload NULL: the options describe an application.
 */
int tt_search_make(struct tt_search *s, const struct tt_search_kind *kind, const char *workload,
                   const struct tt_settings *settings, struct tt_error *e);
/* Anew, if a run of the default took so long that no search fits the budget, and an application was
 * described: it is scaled down by what is missing. False: it cannot be. */
bool tt_search_may_shrink(const struct tt_search *s);
int tt_search_shrink(struct tt_search *s, const struct tt_settings *settings, struct tt_error *e);
/* The same for a directory, to go on; the settings may hold what is of this call only, and those of
 * the file again. */
int tt_search_load(struct tt_search *s, const struct tt_search_kind *kind, const char *directory,
                   const char *workload, const struct tt_settings *settings, struct tt_error *e);
void tt_search_free(struct tt_search *s);
bool tt_search_is_directory(const char *directory);
int tt_search_create(const struct tt_search *s, char **directory, struct tt_error *e);
/* Keeps in search.json how far it is. */
int tt_search_keep(const struct tt_search *s, const char *directory, struct tt_error *e);
/* The key that says how often a job writes: not searched, since writing less is always faster. */
#define TT_INTERVAL_KEY "write.every"
/* Adds the point with these numbers of values; *index is 0, the default, if it is refused, which is
 * then noted. */
int tt_search_add(struct tt_search *s, const size_t *numbers, size_t *index, struct tt_error *e);

/* ---- search.c ---- */
/* Runs of the smallest search that there is. */
uint64_t tt_search_least_runs(const struct tt_search *s);
/* TT_LIMIT, and how much is needed, if the budget is too small for that. seconds: of a run. */
int tt_search_check_budget(const struct tt_search *s, double seconds, struct tt_error *e);
/* Searches, and measures the best again. TT_INTERRUPTED after Ctrl-C; TT_LIMIT: the budget was too
 * small, and there is no answer. */
int tt_search_run(struct tt_search *s, const char *directory, struct tt_error *e);
/* What is known of all points, by journal and facts; caller frees. */
int tt_search_judge(const struct tt_search *s, const char *directory,
                    const struct tt_measurements *m, struct tt_candidate **list,
                    struct tt_error *e);
void tt_candidates_free(const struct tt_search *s, struct tt_candidate *list);
/* The metric in runs number `from` to `to` (not included) of a point, in the order in which they
 * were run; returns how many. */
size_t tt_search_values(const struct tt_search *s, const struct tt_measurements *m, size_t point,
                        uint64_t from, uint64_t to, double *values);

/* How often the default writes, in iterations; 0: not known. */
uint64_t tt_search_interval(const struct tt_search *s);
/* How much two runs of one setting differ: larger / smaller, the median over settings; 1 if no
 * setting was run twice. */
double tt_search_noise(const struct tt_search *s, const struct tt_measurements *m);

/* ---- answer.c ---- */
/* What report/search.h shows, and advice.json keeps; a new reference. */
int tt_search_answer(const struct tt_search *s, const char *directory, json_t **answer,
                     struct tt_error *e);

#endif
