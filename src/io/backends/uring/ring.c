/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ring: made with what the kernel has, for one thread at a time. */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "io/backends/uring/parts.h"

/* The best first; a kernel that does not know a flag says EINVAL. */
static const unsigned setups[] = {IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
                                  IORING_SETUP_COOP_TASKRUN, 0};
static const unsigned polled_setups[] = {IORING_SETUP_SQPOLL | IORING_SETUP_SINGLE_ISSUER,
                                         IORING_SETUP_SQPOLL};
/* How long a shortage without requests of ours in the kernel may last: some seconds. */
#define SHORTAGE_TRIES 1000
#define SHORTAGE_PAUSE_NS 2000000
#define COUNT(a) (sizeof(a) / sizeof *(a))

static int fail_setup(int error, struct tt_error *e)
{
    if (error == ENOSYS)
        return tt_fail(e, TT_UNSUPPORTED, "this kernel has no io_uring; use --backend posix");
    if (error == EPERM || error == EACCES)
        return tt_fail(e, TT_UNSUPPORTED,
                       "io_uring is forbidden here, by sysctl kernel.io_uring_disabled or by the "
                       "container; allow it, or use --backend posix");
    return tt_fail_call(e, error, "io_uring_setup", NULL, -1);
}

static int make_ring(struct tt_file *file, struct tt_error *e)
{
    const struct uring_opts *o = file->opts;
    struct uring_state *s = file->state;
    const unsigned *list = o->sqpoll ? polled_setups : setups;
    size_t n = o->sqpoll ? COUNT(polled_setups) : COUNT(setups);
    int error = EINVAL;

    for (size_t i = 0; i < n && error == EINVAL; i++)
        error = -io_uring_queue_init(s->depth, &s->ring, list[i]);
    s->owner = pthread_self();
    return error ? fail_setup(error, e) : TT_OK;
}

static int make_requests(struct uring_state *s, struct tt_error *e)
{
    s->requests = calloc(s->depth, sizeof *s->requests);
    if (!s->requests)
        return tt_fail_nomem(e, "requests of io_uring");
    s->free = NULL;
    for (unsigned i = s->depth; i-- > 0;) {
        s->requests[i].next = s->free;
        s->free = &s->requests[i];
    }
    return TT_OK;
}

int tt_uring_make(struct tt_file *file, struct tt_error *e)
{
    const struct uring_opts *o = file->opts;
    struct uring_state *s = file->state;
    int rc;

    if (s->depth == 0)
        s->depth = o->depth ? (unsigned)o->depth : URING_DEPTH;
    rc = make_requests(s, e);
    if (rc == TT_OK)
        rc = make_ring(file, e);
    if (rc != TT_OK) {
        free(s->requests);
        s->requests = NULL;
    }
    return rc;
}

void tt_uring_free(struct tt_file *file)
{
    struct uring_state *s = file->state;

    if (!s->requests)
        return;
    io_uring_queue_exit(&s->ring);
    free(s->requests);
    s->requests = NULL;
    s->fixed_file = s->fixed_buffers = false;
}

static void register_buffers(struct uring_state *s)
{
    struct iovec *list = s->buffers.n ? calloc(s->buffers.n, sizeof *list) : NULL;
    int error;

    if (!list)
        return;
    for (unsigned i = 0; i < s->buffers.n; i++)
        list[i] = (struct iovec){s->buffers.base + i * s->buffers.each, s->buffers.each};
    error = -io_uring_register_buffers(&s->ring, list, s->buffers.n);
    s->fixed_buffers = error == 0;
    s->refused = error ? error : s->refused;
    free(list);
}

void tt_uring_register(struct tt_file *file)
{
    struct uring_state *s = file->state;
    int error;

    if (!((const struct uring_opts *)file->opts)->registered)
        return;
    if (!s->fixed_file) {
        error = -io_uring_register_files(&s->ring, &s->raw.fd, 1);
        s->fixed_file = error == 0;
        s->refused = error ? error : s->refused;
    }
    if (s->fixed_buffers)
        io_uring_unregister_buffers(&s->ring);
    s->fixed_buffers = false;
    register_buffers(s);
}

int tt_uring_remake(struct tt_file *file, unsigned depth, struct tt_error *e)
{
    struct uring_state *s = file->state;
    int rc;

    tt_uring_free(file);
    s->depth = depth;
    rc = tt_uring_make(file, e);
    if (rc == TT_OK)
        tt_uring_register(file);
    return rc;
}

int tt_uring_adopt(struct tt_file *file, struct tt_error *e)
{
    struct uring_state *s = file->state;

    if (s->requests && pthread_equal(s->owner, pthread_self()))
        return TT_OK;
    if (s->in_flight > 0)
        return tt_fail(e, TT_FAILED, "'%s': two threads have transfers in flight",
                       file->spec->path);
    return tt_uring_remake(file, s->depth, e);
}

/* The ring is of no use any more, and nobody will be told what became of its requests. */
static void abandon(struct tt_file *file)
{
    struct uring_state *s = file->state;

    tt_uring_free(file);
    s->in_flight = 0;
    s->waiting = s->done = (struct uring_queue){0};
}

/* EAGAIN and EBUSY are a shortage that completions end. Where some are there the caller takes them;
 * where they are to come one waits for them. With nothing in the kernel it is a shortage of others'
 * making: that may pass, but not for ever. */
static int wait_out(struct uring_state *s, unsigned *tries)
{
    unsigned prepared = io_uring_sq_ready(&s->ring);
    struct io_uring_cqe *cqe;

    if (s->in_flight > prepared)
        return io_uring_wait_cqe(&s->ring, &cqe);
    if (++*tries > SHORTAGE_TRIES)
        return -ETIME;
    tt_sleep_until(tt_now_ns() + SHORTAGE_PAUSE_NS);
    return 0;
}

int tt_uring_enter(struct tt_file *file, unsigned completions, struct tt_error *e)
{
    struct uring_state *s = file->state;
    unsigned tries = 0;
    int n, waited;

    for (;;) {
        n = completions ? io_uring_submit_and_wait(&s->ring, completions)
                        : io_uring_submit(&s->ring);
        if (n >= 0)
            return TT_OK;
        if (n == -EINTR)
            continue;
        if (n != -EAGAIN && n != -EBUSY)
            break;
        if (io_uring_cq_ready(&s->ring))
            return TT_OK;
        waited = wait_out(s, &tries);
        if (waited < 0 && waited != -EINTR && waited != -EAGAIN)
            break;
    }
    abandon(file);
    return tt_fail_call(e, -n, "io_uring_enter", file->spec->path, -1);
}

/* There are as many places as requests, but a polling thread may be late to give one back. */
struct io_uring_sqe *tt_uring_sqe(struct uring_state *s)
{
    struct io_uring_sqe *sqe;

    while (!(sqe = io_uring_get_sqe(&s->ring)))
        io_uring_sqring_wait(&s->ring);
    return sqe;
}
