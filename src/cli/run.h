/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Running a job from its settings: shared by `tutti run` and the dialects. */
#ifndef TT_CLI_RUN_H
#define TT_CLI_RUN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "spec/settings.h"

/* How the result is shown on stdout. */
typedef void tt_print_function(FILE *out, const json_t *result, void *context);
struct tt_printer {
    tt_print_function *print;
    void *context;
    bool always;    /* also where nothing is to be printed: it only takes the result */
    bool dir_later; /* a dry run whose --dir does not exist yet is fine */
    bool new_dir;   /* on the driver or one of the ranks: --dir was made for this run */
    /* Before a run that is going to be printed, with its plan; and a row of its table as soon as
     * it was measured. NULL: nothing is shown until the end. */
    void (*begin)(FILE *out, const json_t *plan, void *context);
    void (*row)(FILE *out, const double *values, size_t n, void *context);
};

/* Checks, plans, launches (or performs, if this process is a rank), analyses, prints.
 * Returns the exit status; errors have been printed. */
int tt_run_settings(const char *workload, struct tt_settings *settings, struct tt_printer printer);
/* The same for several runs of n settings, one after the other, until one fails. */
int tt_run_sequence(const char *workload, size_t n, struct tt_settings *list,
                    struct tt_printer printer);

/* A job with repetitions is an ensemble without others. Whether the settings hold repeat, stop_when
 * or require. */
bool tt_asks_for_repetitions(const struct tt_settings *settings);
/* Returns as a command does. */
int tt_run_repeatedly(const char *workload, const struct tt_settings *job, struct tt_error *e);

/* The settings of a file and its workload (NULL: it names none), or of a workload by its name; the
 * caller frees both, also after an error. */
int tt_read_base(const char *word, struct tt_settings *settings, char **workload,
                 struct tt_error *e);
/* A job or, if workload is NULL, an ensemble whose settings vary some of its keys. Returns as a
 * command does. */
int tt_study_of_settings(const char *workload, const struct tt_settings *settings,
                         struct tt_error *e);
/* An ensemble as a part of something larger. */
struct tt_part {
    char *directory;       /* to be resumed, or else set when it is made; caller frees */
    const json_t *planned; /* settings that it has to have if it is made; NULL: any */
    /* The directory has been made; NULL: nobody asks. */
    int (*made)(void *context, const char *directory, struct tt_error *e);
    void *context;
    json_t *answer;              /* what came out; a new reference, NULL: nothing did */
    int code;                    /* of the error that ended it, which has been printed */
    double runs, bytes, seconds; /* that it has, writes and takes at least: of a dry run */
};
/* Checks, runs or resumes, prints and judges an ensemble. Returns as a command does. A dry run says
 * what would be done also where this machine could not do it. */
int tt_run_part(const struct tt_settings *settings, struct tt_part *part, struct tt_error *e);
/* Whether the settings are those of the ensemble in part->directory, and whether what they require
 * can be told; a baseline that nothing matches yet is a line on stderr. Runs nothing. */
int tt_check_part(const struct tt_settings *settings, const struct tt_part *part,
                  struct tt_error *e);

#endif
