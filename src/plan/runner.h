/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs points with repetitions. What a point is only its owner knows: an ensemble, a study or a
 * survey generates points for this one runner.
 *
 * Every round runs all points once, in a new random order, so that drift of the machine does not
 * look like an effect of a point. A point that is compared with another one, its base, is worth
 * something only in a round that has both. What is finished is in the journal of the directory, a
 * line a repetition; a runner that is started again on the same directory goes on from there, also
 * within a round. */
#ifndef TT_PLAN_RUNNER_H
#define TT_PLAN_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/error.h"

struct tt_runner_rules {
    uint64_t repeat;    /* complete repetitions of every point, each with its base's, at least */
    double width;       /* go on until the interval is this narrow (0.05: 5 %); 0: no such rule */
    uint64_t at_most;   /* but no more than so many */
    double max_time;    /* seconds; 0: no limit */
    uint64_t max_bytes; /* written by all jobs together; 0: no limit */
    uint64_t seed;      /* of the order */
    bool retry;         /* attempts that failed in an earlier call are not held against a point */
};

/* One repetition, as it stands in the journal. */
struct tt_repetition {
    size_t point;
    uint64_t number;    /* of the point's attempts, from 1 */
    uint64_t round;     /* in which it was run, from 1 */
    bool complete;      /* may be used */
    double seconds;     /* that it took, all in all */
    uint64_t bytes;     /* written by its jobs */
    char directory[64]; /* below the runner's */
    char why[512];      /* it is not complete */
};

/* Where the runner is, for a display of progress. */
struct tt_runner_state {
    size_t point, npoints;
    uint64_t number, round; /* of the repetition that is about to be run */
    uint64_t done, planned; /* complete repetitions, over all points */
    double elapsed, left;   /* seconds; left is negative while nothing is known */
};

struct tt_runner_point {
    size_t base; /* the point that it is compared with; itself: none */
    bool joins;  /* it runs in every round in which another point of its base does */
};

struct tt_runner_owner {
    void *context;
    size_t npoints;
    const struct tt_runner_point *points; /* NULL: nothing is compared */
    /* By which the journal knows the points, so that there may be others the next time; NULL: it
     * numbers them. */
    const char *const *names;
    const uint64_t *repeat; /* of each point, instead of rules.repeat; 0: not run; NULL: no such */
    /* Before anything is run, with what the journal holds: nobody else is at work in the directory,
     * so what an earlier runner left unfinished may be removed. May be NULL. */
    int (*begin)(void *context, const struct tt_repetition *list, size_t n, struct tt_error *e);
    /* Run one repetition: point and number are given, the rest is to be filled. Anything but TT_OK
     * ends the runner; a repetition that merely failed is TT_OK and not complete. */
    int (*run)(void *context, const struct tt_runner_state *state, struct tt_repetition *r,
               struct tt_error *e);
    /* Half the width of the interval of what the point measures, as a share of it; not a number as
     * long as there is none. May be NULL without rules.width. */
    double (*width)(void *context, size_t point, const struct tt_repetition *list, size_t n);
};

struct tt_runner_report {
    size_t n;
    struct tt_repetition *list; /* all that are in the journal, in order */
    bool out_of_budget;         /* ended by a limit, not because everything was done */
    char why[256];              /* which one */
};

/* Goes on until all points have what the rules ask for, a limit is reached or a run fails. The
 * report is filled in every case; caller frees its list. A point that fails again and again is left
 * after two more attempts than it needs; rules.retry tries it again. */
int tt_runner_run(const char *directory, const struct tt_runner_rules *rules,
                  const struct tt_runner_owner *owner, struct tt_runner_report *report,
                  struct tt_error *e);
/* Only read the journal; names as in struct tt_runner_owner. */
int tt_journal_read(const char *directory, const char *const *names, size_t npoints,
                    struct tt_runner_report *report, struct tt_error *e);

#endif
