/* SPDX-License-Identifier: GPL-3.0-or-later */
/* needs: liburing (package liburing-dev) */
/* Plain files through io_uring, in the layout of posix: pieces that follow each other in the file
 * are one request, and up to uring.depth requests are in flight.
 *
 * A ring belongs to the thread that uses it: the kernel is faster if it knows that. When calls
 * begin to come from another thread, which they do while nothing is in flight, the ring is made
 * anew.
 *
 * Through the page cache the kernel copies data inside the call that submits them. Large requests
 * of submit therefore go to its own threads; small ones do not, since that takes longer than the
 * copy.
 *
 * Left out: polled completions (IORING_SETUP_IOPOLL), which need devices set up for it, and links
 * between requests. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "io/backends/uring/parts.h"
#include "io/module.h"

/* ---- opening and closing ---- */

/* The ring first: without one no file is made. */
static int uring_prepare(struct tt_file *file, struct tt_error *e)
{
    const struct uring_opts *o = file->opts;
    struct uring_state *s = file->state;
    int rc = tt_uring_make(file, e);

    if (file->size > 1)
        rc = tt_file_agree(file, rc, e);
    if (rc == TT_OK)
        rc = tt_raw_prepare(file, o->odirect, &s->raw, e);
    if (rc != TT_OK)
        tt_uring_free(file);
    return rc;
}

static int uring_open(struct tt_file *file, struct tt_error *e)
{
    struct uring_state *s = file->state;
    int rc = tt_raw_open(file, &s->raw, e);

    if (rc == TT_OK)
        tt_uring_register(file);
    else
        tt_uring_free(file);
    return rc;
}

static int uring_close(struct tt_file *file, struct tt_error *e)
{
    struct uring_state *s = file->state;
    int rc = tt_uring_settle(file, e), closed;

    tt_uring_free(file);
    closed = tt_raw_close(file, &s->raw, e);
    return rc == TT_OK ? closed : rc;
}

/* ---- transfers ---- */

static int transfer(struct tt_file *file, enum tt_direction direction, uint64_t step,
                    const struct tt_block *b, struct tt_error *e)
{
    struct uring_transfer t;
    int rc;

    t.ticket = NULL;
    rc = tt_uring_begin(file, &t, direction, step, b, e);
    return rc == TT_OK ? tt_uring_finish(file, &t, e) : rc;
}

static int uring_write(struct tt_file *file, uint64_t step, const struct tt_block *b,
                       struct tt_error *e)
{
    return transfer(file, TT_WRITING, step, b, e);
}

static int uring_read(struct tt_file *file, uint64_t step, const struct tt_block *b,
                      struct tt_error *e)
{
    return transfer(file, TT_READING, step, b, e);
}

static int uring_submit(struct tt_file *file, enum tt_direction direction, uint64_t step,
                        const struct tt_block *b, struct tt_ticket *ticket, struct tt_error *e)
{
    struct uring_transfer *t = ticket->state;

    t->ticket = ticket;
    return tt_uring_begin(file, t, direction, step, b, e);
}

static int uring_wait(struct tt_file *file, struct tt_ticket *t, struct tt_error *e)
{
    return tt_uring_finish(file, t->state, e);
}

static int fsync_once(struct tt_file *file, int *result, struct tt_error *e)
{
    struct uring_state *s = file->state;
    struct io_uring_sqe *sqe = tt_uring_sqe(s);
    struct io_uring_cqe *cqe;
    int rc;

    io_uring_prep_fsync(sqe, s->fixed_file ? 0 : s->raw.fd, 0);
    io_uring_sqe_set_data(sqe, NULL);
    if (s->fixed_file)
        sqe->flags |= IOSQE_FIXED_FILE;
    rc = tt_uring_enter(file, 1, e);
    if (rc != TT_OK)
        return rc;
    while ((rc = io_uring_wait_cqe(&s->ring, &cqe)) == -EINTR)
        ;
    if (rc < 0)
        return tt_fail_call(e, -rc, "io_uring_enter", file->spec->path, -1);
    *result = cqe->res;
    io_uring_cqe_seen(&s->ring, cqe);
    return TT_OK;
}

static int uring_sync(struct tt_file *file, struct tt_error *e)
{
    int rc = tt_uring_adopt(file, e), result = -EINTR;

    if (rc == TT_OK)
        rc = tt_uring_settle(file, e);
    while (rc == TT_OK && (result == -EINTR || result == -EAGAIN))
        rc = fsync_once(file, &result, e);
    if (rc == TT_OK && result < 0)
        rc = tt_fail_call(e, -result, "fsync", file->spec->path, -1);
    return rc;
}

static int uring_use_buffers(struct tt_file *file, void *base, size_t each, unsigned n,
                             struct tt_error *e)
{
    const struct uring_opts *o = file->opts;
    struct uring_state *s = file->state;
    unsigned most = n < URING_MAX_DEPTH ? n : URING_MAX_DEPTH;
    unsigned depth = o->depth == 0 && most > s->depth ? most : s->depth;
    int rc = tt_uring_settle(file, e);

    if (rc != TT_OK)
        return rc;
    s->buffers.base = base;
    s->buffers.each = each;
    s->buffers.n = n;
    if (depth != s->depth)
        return tt_uring_remake(file, depth, e);
    rc = tt_uring_adopt(file, e);
    if (rc == TT_OK)
        tt_uring_register(file);
    return rc;
}

/* ---- facts ---- */

static int registered_fact(const struct uring_state *s, struct tt_facts *facts)
{
    enum tt_proof proof = s->refused ? TT_NO_EFFECT : TT_IN_EFFECT;
    char how[128], back[96];

    snprintf(back, sizeof back, "file: %s, requests with registered buffers: %llu",
             s->fixed_file ? "yes" : "no", (unsigned long long)s->fixed_transfers);
    snprintf(how, sizeof how, "the kernel has taken all that was offered");
    if (s->refused)
        snprintf(how, sizeof how, "the kernel refused: %s%s", strerror(s->refused),
                 s->refused == ENOMEM ? "; see ulimit -l" : "");
    return tt_facts_add(facts, "uring.registered", "yes", back, proof, how);
}

static int setup_fact(const struct uring_state *s, struct tt_facts *facts)
{
    unsigned flags = s->ring.flags;
    char text[96];

    snprintf(text, sizeof text, "%u requests%s%s%s%s", s->depth,
             flags & IORING_SETUP_SQPOLL ? ", polled by a kernel thread" : "",
             flags & IORING_SETUP_SINGLE_ISSUER ? ", single issuer" : "",
             flags & IORING_SETUP_DEFER_TASKRUN ? ", deferred task work" : "",
             flags & IORING_SETUP_COOP_TASKRUN ? ", cooperative task work" : "");
    return tt_facts_add(facts, "uring.setup", NULL, text, TT_IN_EFFECT, "the ring's own flags");
}

static int uring_query(struct tt_file *file, struct tt_facts *facts, struct tt_error *e)
{
    const struct uring_opts *o = file->opts;
    const struct uring_state *s = file->state;
    int rc = tt_raw_query(&s->raw, "uring.odirect", facts, e);

    if (rc != TT_OK)
        return rc;
    if (setup_fact(s, facts) != TT_OK || (o->registered && registered_fact(s, facts) != TT_OK))
        return tt_fail_nomem(e, "facts");
    return TT_OK;
}

/* ---- options ---- */

static int uring_check(const void *opts, struct tt_error *e)
{
    const struct uring_opts *o = opts;

    if (o->request % 4096)
        return tt_fail(e, TT_USAGE, "uring.request: %llu is not a multiple of 4096",
                       (unsigned long long)o->request);
    return TT_OK;
}

#define AT(field) offsetof(struct uring_opts, field)
static const struct tt_param params[] = {
    {"depth", TT_PARAM_COUNT, AT(depth), "0", "requests",
     "in flight at most; 0: 32, or as many as a workload has transfers in flight", 0,
     URING_MAX_DEPTH},
    {"request", TT_PARAM_BYTES, AT(request), "1g", "B",
     "a contiguous piece is split into requests of at most so much", 4096, INT64_C(1) << 30},
    {"odirect", TT_PARAM_BOOL, AT(odirect), "no", NULL,
     "past the page cache (O_DIRECT); memory, offsets and lengths must be multiples of its block"},
    {"registered", TT_PARAM_BOOL, AT(registered), "no", NULL,
     "register the file, and the buffers of single transfers, with the kernel"},
    {"sqpoll", TT_PARAM_BOOL, AT(sqpoll), "no", NULL,
     "a thread of the kernel polls for requests, which takes a core"},
    {NULL},
};

const struct tt_backend tt_backend_uring = {
    .name = "uring",
    .summary = "plain files through io_uring, many requests in flight",
    .caps = TT_CAP_STORES | TT_CAP_RAW | TT_CAP_SYNCS_ALONE | TT_CAP_CARRIES_LAYOUT |
            TT_CAP_NONBLOCKING | TT_CAP_UPDATES,
    .library = "uring",
    .state_size = sizeof(struct uring_state),
    .ticket_size = sizeof(struct uring_transfer),
    .opts_size = sizeof(struct uring_opts),
    .params = params,
    .check = uring_check,
    .prepare = uring_prepare,
    .open = uring_open,
    .write = uring_write,
    .read = uring_read,
    .submit = uring_submit,
    .wait = uring_wait,
    .wait_any = tt_uring_finish_any,
    .use_buffers = uring_use_buffers,
    .sync = uring_sync,
    .close = uring_close,
    .query = uring_query,
};

TT_MODULE(.backend = &tt_backend_uring);
