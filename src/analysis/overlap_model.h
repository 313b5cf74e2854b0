/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The model of asynchronous output: what an epoch of computation and one dump takes with and
 * without overlap, by rates that are fitted to runs of the past. Equations are those of the paper
 * that docs/model.md names. Pure functions; the command fills the history from the store. */
#ifndef TT_ANALYSIS_OVERLAP_MODEL_H
#define TT_ANALYSIS_OVERLAP_MODEL_H

#include "analysis/rate_fit.h"
#include "engine/overlap_choice.h"

/* What one run contributes; NaN: it was not measured. Seconds, bytes, bytes per second. */
struct tt_past_run {
    int mode;    /* TT_CHOICE_SYNC: sync+imm; TT_CHOICE_ASYNC: async+bg */
    double size; /* of a dump, over all ranks */
    double ranks;
    double storage_rate; /* write and sync, where nothing ran beside them */
    double staging_rate; /* of what was in a device's memory, before storage gets it */
    double copy_rate;    /* of what computation waits for: to staging buffers, or on the device */
    double waited;       /* 1: staging is what computation waits for; else 0 */
    double epoch;
    double compute;    /* of an epoch, without its visible I/O, as it was in this mode */
    double alone;      /* the same with no I/O beside it */
    double init, term; /* before and after all epochs */
};
struct tt_history {
    size_t n;
    struct tt_past_run *runs;
};

/* low <= value <= high; NaN: unknown; high may be infinite. */
struct tt_range {
    double value, low, high;
};

enum { TT_MODEL_STORAGE, TT_MODEL_STAGING, TT_MODEL_COPY, TT_NMODEL_RATES };
extern const char *const tt_model_rates[];

struct tt_overlap_model {
    struct tt_rate_fit fits[TT_NMODEL_RATES][TT_NRATE_FORMS]; /* n is 0 for what has too few runs */
    int chosen[TT_NMODEL_RATES];                              /* a form; negative: there is none */
    size_t rows[TT_NMODEL_RATES];                             /* runs that there were for each */
    struct tt_range inflation; /* compute beside I/O / alone: median and range of the runs */
    double waited;             /* share of staging that is in the copy */
    double init[TT_NCHOICES], term[TT_NCHOICES]; /* medians */
};

/* form: of both rates; negative: for each the one that predicts left-out runs best. Without enough
 * synchronous runs TT_FAILED, and *e says how many more it takes. Without enough overlapped ones
 * there is no copy rate, and nothing is known of overlap. Staging is fitted where runs had any, of
 * either mode. */
int tt_overlap_model_fit(const struct tt_history *h, int form, struct tt_overlap_model *out,
                         struct tt_error *e);

struct tt_overlap_question {
    double ranks, size, compute; /* compute: of an epoch, with no I/O beside it */
    double epochs, steps;        /* of the run; of the computation in an epoch; 0: not asked */
    enum tt_epoch_form form;
};
struct tt_overlap_answer {
    struct tt_rate_guess rates[TT_NMODEL_RATES];
    struct tt_range io, copy; /* of a dump: equation 3; io: staging and storage */
    struct tt_range staging;  /* of that; 0 if no run had data in a device's memory */
    struct tt_range epoch[TT_NCHOICES], speedup;
    /* Overlap pays between these computation times; least is NaN if it never does. */
    struct tt_range least_compute, most_compute;
    struct tt_range interval, steps;      /* between two outputs, below which it does not pay */
    struct tt_range runtime[TT_NCHOICES]; /* of all epochs: equation 1 */
};
/* Intervals hold with a confidence of TT_LEVEL together: each rate has one that is wider. */
void tt_overlap_predict(const struct tt_overlap_model *m, const struct tt_overlap_question *q,
                        struct tt_overlap_answer *out);

/* Runs of one configuration and mode, predicted by a fit without them. */
struct tt_checked {
    double ranks, size;
    int mode;
    size_t n, inside;                  /* inside: of the interval */
    double measured, predicted, error; /* medians; error: predicted / measured - 1, NaN: unknown */
};
struct tt_check {
    size_t n, folds;
    struct tt_checked *rows;   /* caller frees */
    bool by_run;               /* there is one configuration, so runs of it were held out */
    size_t predicted, inside;  /* runs */
    size_t unbounded;          /* runs whose interval has no upper end */
    double error[TT_NCHOICES]; /* median of the absolute error; NaN: none was predicted */
};
int tt_overlap_check(const struct tt_history *h, int form, enum tt_epoch_form epochs,
                     struct tt_check *out, struct tt_error *e);

#endif
