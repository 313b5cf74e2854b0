/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Backend uring: what its files share. */
#ifndef TT_IO_BACKENDS_URING_PARTS_H
#define TT_IO_BACKENDS_URING_PARTS_H

#include <liburing.h>
#include <pthread.h>

#include "io/raw.h"

#define URING_DEPTH 32        /* requests in flight if nobody wants more */
#define URING_MAX_DEPTH 32768 /* what kernels take */
#define URING_MAX_PIECES 64   /* of one request */

struct uring_opts {
    uint64_t depth; /* 0: URING_DEPTH, or what a stream has in flight if that is more */
    uint64_t request;
    bool odirect, registered, sqpoll;
};

/* A block on its way, as many requests as it takes. The state of a ticket. */
struct uring_transfer {
    struct uring_transfer *next;
    struct tt_ticket *ticket; /* NULL: the caller waits for it */
    enum tt_direction direction;
    char *data;
    uint64_t base; /* of the variable in the file */
    bool is_one;   /* extent, and there is no walk */
    struct tt_extent_iter it;
    struct tt_extent x; /* what is left of the current one */
    bool more;          /* x is still to be requested */
    bool by_worker; /* large requests are for the kernel's threads, so that the caller goes on */
    bool done;
    unsigned in_flight; /* requests */
    int rc;
    struct tt_error error; /* if rc is one */
};

/* Pieces that follow each other in the file. */
struct uring_request {
    struct uring_request *next; /* free */
    struct uring_transfer *of;
    uint64_t offset;
    size_t bytes;
    bool again; /* the kernel could not start it by itself */
    unsigned first, n;
    struct iovec pieces[URING_MAX_PIECES];
};

struct uring_queue {
    struct uring_transfer *first, *last;
};

struct uring_state {
    struct tt_raw raw;
    struct io_uring ring;
    pthread_t owner; /* the only thread that the kernel lets use the ring */
    unsigned depth, in_flight;
    struct uring_request *requests, *free;
    struct uring_queue waiting, done; /* with pieces to request; complete, but not seen */
    struct {
        char *base;
        size_t each;
        unsigned n;
    } buffers; /* that a stream uses */
    bool fixed_file, fixed_buffers;
    int refused;              /* errno of a registration */
    uint64_t fixed_transfers; /* requests with a registered buffer */
};

/* ring.c */
int tt_uring_make(struct tt_file *file, struct tt_error *e);
void tt_uring_free(struct tt_file *file);
/* File and buffers, if that was asked for; what cannot be is a fact, no failure. */
void tt_uring_register(struct tt_file *file);
/* Nothing is in flight: a ring for the calling thread, and so many requests. */
int tt_uring_remake(struct tt_file *file, unsigned depth, struct tt_error *e);
/* A new ring if another thread calls than before. */
int tt_uring_adopt(struct tt_file *file, struct tt_error *e);
/* Hand over what was prepared; wait for so many completions. */
int tt_uring_enter(struct tt_file *file, unsigned completions, struct tt_error *e);
struct io_uring_sqe *tt_uring_sqe(struct uring_state *s);

/* transfer.c */
int tt_uring_begin(struct tt_file *file, struct uring_transfer *t, enum tt_direction direction,
                   uint64_t step, const struct tt_block *b, struct tt_error *e);
int tt_uring_finish(struct tt_file *file, struct uring_transfer *t, struct tt_error *e);
/* The first that is complete. */
int tt_uring_finish_any(struct tt_file *file, struct tt_ticket **done, struct tt_error *e);
/* Until nothing is in flight; results are kept. */
int tt_uring_settle(struct tt_file *file, struct tt_error *e);

#endif
