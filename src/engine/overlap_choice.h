/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an epoch takes with and without overlap, and which of them to choose for the next one. Pure
 * functions: the same measurements give the same choice on every rank, and in a replay. */
#ifndef TT_ENGINE_OVERLAP_CHOICE_H
#define TT_ENGINE_OVERLAP_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- the model of an epoch; all in seconds ---- */

/* Physical: with one dump in flight an epoch is over when both computation and I/O are. Paper: the
 * printed form, whose I/O term is only what is left of the I/O after the computation. */
enum tt_epoch_form { TT_EPOCH_PHYSICAL, TT_EPOCH_PAPER };
double tt_epoch_sync(double compute, double io);
double tt_epoch_async(enum tt_epoch_form form, double compute, double io, double copy);

/* ---- overlap=auto ---- */

enum { TT_CHOICE_SYNC, TT_CHOICE_ASYNC, TT_NCHOICES };
extern const char *const tt_choice_names[]; /* "sync", "async" */

/* What an epoch took, agreed by all ranks: the slowest rank's. */
struct tt_epoch_seen {
    int mode;
    double span;
    double compute; /* of it, without what is visible of its I/O */
    double io;      /* opening, writing and sync of its dump, in whatever thread */
    double staging; /* before that, of what was in a device's memory */
    /* With overlap only: before the computation goes on, and how much of it is staging. */
    double copy, waited;
};

enum tt_choice_reason {
    TT_CHOICE_STAYS,
    TT_CHOICE_PAYS,    /* the other mode would have saved enough by now */
    TT_CHOICE_PROBES,  /* for one epoch, to see what the other mode takes today */
    TT_CHOICE_RETURNS, /* from a probe */
};

/* A duration, smoothed, by mode. The mode that is not in use follows the one that is. */
struct tt_tracked {
    double of[TT_NCHOICES];
    double probe; /* that was seen last, of the other mode; 0: more has been seen since */
};

struct tt_choice {
    int mode;        /* of the next epoch */
    int usual;       /* what it is but for probes */
    uint64_t epochs; /* that there will be */
    uint64_t seen;
    bool known[TT_NCHOICES]; /* an epoch of that mode was seen */
    struct tt_tracked compute, io, staging;
    double copy, waited;
    double bias[TT_NCHOICES];      /* what epochs took, of what the model says */
    double predicted[TT_NCHOICES]; /* of the next epoch */
    double elapsed, lost_by_staying, lost_by_probes;
    uint64_t since_probe, probe_gap;
    double probed_compute, probed_io; /* of the usual mode, when the other was last in use */
};

/* The first epochs overlap: they alone show copy, computation and I/O. */
void tt_choice_begin(struct tt_choice *c, uint64_t epochs);
/* Says in c->mode what the next epoch is to be, and why. seen is one more epoch, the oldest that
 * has not been told; NULL: none has ended since. It may be of either mode: what an epoch took is
 * agreed when later ones are under way. */
enum tt_choice_reason tt_choice_next(struct tt_choice *c, const struct tt_epoch_seen *seen);

#endif
