/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of the adios2 backend share. */
#ifndef TT_IO_BACKENDS_ADIOS2_PARTS_H
#define TT_IO_BACKENDS_ADIOS2_PARTS_H

#include <mpi.h>

#include <adios2_c.h>

#include "io/calls.h"
#include "io/container.h"

enum { ADIOS2_BOX = 128 }; /* metadata of a block, about */
enum adios2_method { ADIOS2_COLLECTIVE, ADIOS2_INDEPENDENT };

struct adios2_opts {
    int method, aggregation;
    bool async;
    uint64_t aggregators, subfiles, chunk, shm, stats;
    struct tt_words parameters; /* key=value */
};

/* A variable is one of ADIOS2, or one for each field of its records. */
struct adios2_part {
    adios2_type type;
    size_t offset;  /* in the element */
    size_t bytes;   /* that an element has of it */
    uint64_t width; /* values in an element; above 1 they are a last dimension */
};

struct adios2_slot {
    adios2_variable **written, **read; /* one for each part */
    unsigned reader;                   /* in which opening of the reader it was found, */
    uint64_t found;                    /* and for which step */
    bool put;                          /* in the step that is open */
    bool occurs;                       /* in a step, as rank 0 knows */
};

/* What has just been written is read by an engine of its own. */
struct adios2_reader {
    adios2_io *io;
    adios2_engine *engine;
    unsigned opened; /* so often, each time under a name of its own */
    size_t nsteps;
    uint64_t *steps; /* which of the workload's each one belongs to */
};

struct adios2_state {
    struct tt_container container;
    adios2_adios *adios;
    adios2_io *io;
    adios2_engine *engine;
    adios2_variable *step_variable;
    struct adios2_slot *slots;
    struct adios2_reader reader;
    char *real_path;       /* as the system shows it of descriptors */
    bool in_step;          /* between ADIOS2's begin and end */
    bool dirty;            /* something was put into the step */
    bool in_flight;        /* the last step is being written, and not in the index yet */
    bool unread;           /* something was written that the reader does not know */
    bool fixed_written;    /* by a dump before */
    bool streams;          /* transfers come one by one: no number of them makes a step */
    bool ends;             /* the block that is being put is the last one of its step */
    bool named;            /* the directory's entries are durable */
    uint64_t step;         /* the workload's */
    uint64_t left;         /* blocks of the dump that are still to come */
    uint64_t pending;      /* bytes put by this rank that have not left, with their metadata */
    uint64_t ended, boxes; /* steps that were ended; boxes that were put */
};

struct adios2_ticket {
    uint64_t step; /* of ADIOS2, counted from 1: the one that the block is in; 0: it is complete */
};

/* A failed call, in one line. variable may be NULL. */
int tt_adios2_fail(const struct tt_file *file, const char *call, const char *variable,
                   struct tt_error *e);
static inline int tt_adios2_judge(const struct tt_file *file, adios2_error code, const char *call,
                                  struct tt_error *e)
{
    int rc = code == adios2_error_none ? TT_OK : tt_adios2_fail(file, call, NULL, e);

    return tt_calls_judge(file, rc, false, e);
}

/* ---- define.c: names, types, attributes ---- */
unsigned tt_adios2_parts(const struct tt_element *element);
struct adios2_part tt_adios2_part(const struct tt_element *element, unsigned i);
/* All dimensions of a part; returns how many. */
size_t tt_adios2_shape(const struct tt_variable *v, const struct adios2_part *part, size_t *shape);
int tt_adios2_define(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e);
int tt_adios2_define_group(struct tt_file *file, const struct tt_group *group, uint64_t step,
                           struct tt_error *e);
/* In the file that is read; what is written was defined. */
int tt_adios2_find(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e);

/* ---- transfer.c: boxes ---- */
int tt_adios2_move(struct tt_file *file, struct tt_piece *p, struct tt_error *e);

#endif
