/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From blocks to requests and back. A transfer waits until there are requests for its pieces; what
 * comes back short or interrupted goes out again. */
#include <errno.h>
#include <string.h>

#include "io/backends/uring/parts.h"

/* From here on handing a request to a thread of the kernel is cheap against copying its data. */
#define WORKER_BYTES ((size_t)64 << 10)

/* ---- queues of transfers ---- */

static void put(struct uring_queue *q, struct uring_transfer *t)
{
    t->next = NULL;
    if (q->first)
        q->last->next = t;
    else
        q->first = t;
    q->last = t;
}

static void take(struct uring_queue *q, struct uring_transfer *t)
{
    struct uring_transfer **link = &q->first, *before = NULL;

    while (*link && *link != t) {
        before = *link;
        link = &before->next;
    }
    if (!*link)
        return;
    *link = t->next;
    if (q->last == t)
        q->last = before;
}

static void complete(struct uring_state *s, struct uring_transfer *t)
{
    t->done = true;
    if (t->ticket)
        put(&s->done, t);
}

/* ---- requests ---- */

static int buffer_of(const struct uring_state *s, const struct iovec *piece)
{
    size_t at = (size_t)((char *)piece->iov_base - s->buffers.base);
    size_t index = s->fixed_buffers ? at / s->buffers.each : 0;

    if (!s->fixed_buffers || (char *)piece->iov_base < s->buffers.base || index >= s->buffers.n ||
        at % s->buffers.each + piece->iov_len > s->buffers.each)
        return -1;
    return (int)index;
}

static void prepare(struct uring_state *s, struct uring_request *r)
{
    struct io_uring_sqe *sqe = tt_uring_sqe(s);
    const struct iovec *p = &r->pieces[r->first];
    bool writing = r->of->direction == TT_WRITING;
    int fd = s->fixed_file ? 0 : s->raw.fd, buffer = r->n == 1 ? buffer_of(s, p) : -1;
    unsigned length = (unsigned)p->iov_len;

    if (r->n > 1 && writing)
        io_uring_prep_writev(sqe, fd, p, r->n, r->offset);
    else if (r->n > 1)
        io_uring_prep_readv(sqe, fd, p, r->n, r->offset);
    else if (buffer >= 0 && writing)
        io_uring_prep_write_fixed(sqe, fd, p->iov_base, length, r->offset, buffer);
    else if (buffer >= 0)
        io_uring_prep_read_fixed(sqe, fd, p->iov_base, length, r->offset, buffer);
    else if (writing)
        io_uring_prep_write(sqe, fd, p->iov_base, length, r->offset);
    else
        io_uring_prep_read(sqe, fd, p->iov_base, length, r->offset);
    s->fixed_transfers += buffer >= 0;
    if (s->fixed_file)
        sqe->flags |= IOSQE_FIXED_FILE;
    if (r->again || (r->of->by_worker && r->bytes >= WORKER_BYTES))
        sqe->flags |= IOSQE_ASYNC;
    io_uring_sqe_set_data(sqe, r);
}

/* The next pieces that follow each other in the file. */
static void fill(struct uring_transfer *t, struct uring_request *r, uint64_t limit)
{
    r->of = t;
    r->offset = t->base + t->x.file_offset;
    r->bytes = 0;
    r->again = false;
    r->first = r->n = 0;
    do {
        uint64_t n = t->x.length < limit - r->bytes ? t->x.length : limit - r->bytes;

        r->pieces[r->n++] = (struct iovec){t->data + t->x.memory_offset, n};
        r->bytes += n;
        t->x.file_offset += n;
        t->x.memory_offset += n;
        t->x.length -= n;
        if (t->x.length == 0)
            t->more = !t->is_one && tt_extents_next(&t->it, &t->x);
    } while (t->more && r->n < URING_MAX_PIECES && r->bytes < limit &&
             t->base + t->x.file_offset == r->offset + r->bytes);
}

static void request_what_waits(struct tt_file *file)
{
    const struct uring_opts *o = file->opts;
    struct uring_state *s = file->state;

    while (s->free && s->waiting.first) {
        struct uring_transfer *t = s->waiting.first;
        struct uring_request *r = s->free;

        s->free = r->next;
        fill(t, r, o->request);
        t->in_flight++;
        s->in_flight++;
        prepare(s, r);
        if (!t->more)
            take(&s->waiting, t);
    }
}

/* What is in flight of a failed transfer ends before the transfer does; nothing else is begun. */
static void fail(struct tt_file *file, struct uring_request *r, int error)
{
    struct uring_state *s = file->state;
    struct uring_transfer *t = r->of;

    if (t->rc == TT_OK) {
        tt_error_clear(&t->error);
        t->rc = tt_raw_fail(file, &s->raw, t->direction, error, (int64_t)r->offset, &t->error);
    }
    if (t->more)
        take(&s->waiting, t);
    t->more = false;
}

static void take_back(struct tt_file *file, struct uring_request *r, int result)
{
    struct uring_state *s = file->state;
    struct uring_transfer *t = r->of;

    if (result == -EINTR || result == -EAGAIN || (result > 0 && (size_t)result < r->bytes)) {
        if (result > 0) {
            unsigned done = tt_raw_advance(&r->pieces[r->first], r->n, (size_t)result);

            r->first += done;
            r->n -= done;
            r->bytes -= (size_t)result;
            r->offset += (uint64_t)result;
        }
        r->again = result == -EAGAIN;
        prepare(s, r);
        return;
    }
    if (result <= 0)
        fail(file, r, -result);
    r->next = s->free;
    s->free = r;
    s->in_flight--;
    if (--t->in_flight == 0 && !t->more)
        complete(s, t);
}

/* Wait for a completion if there is none yet, and take all there are. */
static int go_on(struct tt_file *file, struct tt_error *e)
{
    struct uring_state *s = file->state;
    struct io_uring_cqe *cqe;
    unsigned head, n = 0;
    int rc = TT_OK;

    if (s->in_flight == 0)
        return tt_fail(e, TT_FAILED, "'%s': no transfer is in flight", file->spec->path);
    if (io_uring_cq_ready(&s->ring) == 0)
        rc = tt_uring_enter(file, 1, e);
    if (rc != TT_OK)
        return rc;
    io_uring_for_each_cqe(&s->ring, head, cqe)
    {
        take_back(file, io_uring_cqe_get_data(cqe), cqe->res);
        n++;
    }
    io_uring_cq_advance(&s->ring, n);
    request_what_waits(file);
    return TT_OK;
}

/* Nothing stays prepared when the caller goes away. */
static int hand_over(struct tt_file *file, struct tt_error *e)
{
    struct uring_state *s = file->state;

    return s->requests && io_uring_sq_ready(&s->ring) ? tt_uring_enter(file, 0, e) : TT_OK;
}

/* ---- transfers ---- */

static int check(const struct tt_file *file, const struct uring_transfer *t,
                 const struct tt_block *b, struct tt_error *e)
{
    const struct uring_state *s = file->state;
    struct tt_extent_iter it;
    struct tt_extent x;
    int rc = TT_OK;

    tt_extents_begin(&it, b, t->it.element_size);
    while (rc == TT_OK && tt_extents_next(&it, &x))
        rc = tt_raw_check(file, &s->raw, t->data + x.memory_offset, t->base + x.file_offset,
                          x.length, e);
    return rc;
}

/* A transfer that could not begin is done, with nothing to tell. */
int tt_uring_begin(struct tt_file *file, struct uring_transfer *t, enum tt_direction direction,
                   uint64_t step, const struct tt_block *b, struct tt_error *e)
{
    const struct uring_opts *o = file->opts;
    struct uring_state *s = file->state;
    size_t element_size = file->spec->variables[b->variable].element->size;
    int rc = tt_uring_adopt(file, e);

    t->direction = direction;
    t->data = b->data;
    t->base = tt_file_raw_offset(file, b->variable, step);
    t->in_flight = 0;
    t->rc = TT_OK;
    t->is_one = tt_block_is_one_extent(b, element_size, &t->x);
    if (!t->is_one || s->raw.direct)
        tt_extents_begin(&t->it, b, element_size);
    if (rc == TT_OK && s->raw.direct)
        rc = check(file, t, b, e);
    t->done = rc != TT_OK;
    if (rc != TT_OK)
        return rc;
    /* Writes of a stream would only fight for the file's lock. */
    t->by_worker = t->ticket && !s->raw.direct && !o->sqpoll &&
                   (t->direction == TT_READING || s->buffers.n == 0);
    t->more = t->is_one || tt_extents_next(&t->it, &t->x);
    if (!t->more) {
        complete(s, t);
        return TT_OK;
    }
    put(&s->waiting, t);
    request_what_waits(file);
    return t->ticket ? hand_over(file, e) : TT_OK;
}

static int result_of(const struct uring_transfer *t, struct tt_error *e)
{
    if (t->rc != TT_OK && e->code == TT_OK)
        *e = t->error;
    return t->rc;
}

int tt_uring_finish(struct tt_file *file, struct uring_transfer *t, struct tt_error *e)
{
    struct uring_state *s = file->state;
    int rc = TT_OK;

    while (!t->done && rc == TT_OK)
        rc = go_on(file, e);
    if (rc == TT_OK)
        rc = hand_over(file, e);
    take(&s->done, t);
    return rc == TT_OK ? result_of(t, e) : rc;
}

int tt_uring_finish_any(struct tt_file *file, struct tt_ticket **done, struct tt_error *e)
{
    struct uring_state *s = file->state;
    int rc = TT_OK;

    *done = NULL;
    while (!s->done.first && rc == TT_OK)
        rc = go_on(file, e);
    if (rc == TT_OK)
        rc = hand_over(file, e);
    if (rc != TT_OK)
        return rc;
    *done = s->done.first->ticket;
    rc = result_of(s->done.first, e);
    take(&s->done, s->done.first);
    return rc;
}

int tt_uring_settle(struct tt_file *file, struct tt_error *e)
{
    struct uring_state *s = file->state;
    int rc = TT_OK;

    while (s->in_flight > 0 && rc == TT_OK)
        rc = go_on(file, e);
    return rc;
}
