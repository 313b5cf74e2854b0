/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plain files through pwritev and preadv. Pieces that follow each other in the file go out in one
 * call; pieces with gaps between them in one call each: no data sieving, no aggregation. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/agree.h"
#include "base/sys.h"
#include "io/file.h"

#define MAX_PIECES 512 /* of one call; below IOV_MAX everywhere */
#define MAX_BYTES \
    ((size_t)1 << 30) /* of one call; Linux moves a little less than 2 GiB at most \
                       */

struct posix_state {
    int fd;
};

/* Pieces that follow each other in the file. */
struct batch {
    int n;
    size_t bytes;
    off_t offset; /* of the first piece in the file */
    struct iovec pieces[MAX_PIECES];
};

static int open_here(struct tt_file *file, int flags, struct tt_error *e)
{
    struct posix_state *s = file->state;

    s->fd = open(file->spec->path, flags | O_CLOEXEC, 0666);
    if (s->fd >= 0)
        return TT_OK;
    return tt_fail_call(e, errno, "open", file->spec->path, -1);
}

/* Rank 0 makes the file, so that O_EXCL can tell whether somebody else's is there. */
static int posix_open(struct tt_file *file, struct tt_error *e)
{
    int rc = TT_OK;

    if (file->spec->access == TT_READ_ONLY)
        return open_here(file, O_RDONLY, e);
    if (file->rank == 0)
        rc = open_here(file, O_RDWR | O_CREAT | O_EXCL, e);
    if (file->size == 1)
        return rc;
    rc = tt_agree(file->spec->comm, rc, e);
    if (rc == TT_OK && file->rank != 0)
        rc = open_here(file, O_RDWR, e);
    return rc;
}

static int posix_define(struct tt_file *file, uint64_t step, struct tt_error *e)
{
    (void)file, (void)step, (void)e;
    return TT_OK;
}

/* Drop what has been moved from the front of the batch. */
static void advance(struct batch *b, size_t moved)
{
    int i = 0;

    b->bytes -= moved;
    b->offset += (off_t)moved;
    while (i < b->n && moved >= b->pieces[i].iov_len)
        moved -= b->pieces[i++].iov_len;
    b->n -= i;
    memmove(b->pieces, b->pieces + i, (size_t)b->n * sizeof *b->pieces);
    if (b->n > 0) {
        b->pieces[0].iov_base = (char *)b->pieces[0].iov_base + moved;
        b->pieces[0].iov_len -= moved;
    }
}

static int move(struct tt_file *file, enum tt_direction direction, struct batch *b,
                struct tt_error *e)
{
    struct posix_state *s = file->state;

    while (b->bytes > 0) {
        ssize_t n = direction == TT_WRITING ? tt_sys_pwritev(s->fd, b->pieces, b->n, b->offset)
                                            : tt_sys_preadv(s->fd, b->pieces, b->n, b->offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return tt_fail_call(e, errno, direction == TT_WRITING ? "write" : "read",
                                file->spec->path, b->offset);
        if (n == 0)
            return tt_fail(e, TT_FAILED, "'%s' ends at offset %lld, before the data asked for",
                           file->spec->path, (long long)b->offset);
        advance(b, (size_t)n);
    }
    b->n = 0;
    return TT_OK;
}

static bool continues(const struct batch *b, off_t offset, size_t n)
{
    return b->n < MAX_PIECES && b->bytes + n <= MAX_BYTES && offset == b->offset + (off_t)b->bytes;
}

static int transfer(struct tt_file *file, enum tt_direction direction, uint64_t step,
                    const struct tt_block *block, struct tt_error *e)
{
    uint64_t base = tt_raw_offset(file->spec, block->variable, step, 1);
    struct tt_extent_iter it;
    struct tt_extent x;
    struct batch b;

    b.n = 0;
    b.bytes = 0;
    tt_extents_begin(&it, block, file->spec->variables[block->variable].element->size);
    while (tt_extents_next(&it, &x)) {
        for (uint64_t done = 0, n; done < x.length; done += n) {
            off_t offset = (off_t)(base + x.file_offset + done);
            int rc = TT_OK;

            n = x.length - done < MAX_BYTES ? x.length - done : MAX_BYTES;
            if (b.n > 0 && !continues(&b, offset, n))
                rc = move(file, direction, &b, e);
            if (rc != TT_OK)
                return rc;
            if (b.n == 0)
                b.offset = offset;
            b.pieces[b.n++] = (struct iovec){(char *)block->data + x.memory_offset + done, n};
            b.bytes += n;
        }
    }
    return move(file, direction, &b, e);
}

static int posix_write(struct tt_file *file, uint64_t step, const struct tt_block *b,
                       struct tt_error *e)
{
    return transfer(file, TT_WRITING, step, b, e);
}

static int posix_read(struct tt_file *file, uint64_t step, const struct tt_block *b,
                      struct tt_error *e)
{
    return transfer(file, TT_READING, step, b, e);
}

static int posix_sync(struct tt_file *file, struct tt_error *e)
{
    struct posix_state *s = file->state;

    if (fsync(s->fd) != 0)
        return tt_fail_call(e, errno, "fsync", file->spec->path, -1);
    return TT_OK;
}

static int posix_close(struct tt_file *file, struct tt_error *e)
{
    struct posix_state *s = file->state;

    if (close(s->fd) != 0)
        return tt_fail_call(e, errno, "close", file->spec->path, -1);
    return TT_OK;
}

const struct tt_backend tt_backend_posix = {
    .name = "posix",
    .summary = "plain files through pwritev and preadv",
    .caps = TT_CAP_STORES | TT_CAP_CONTAINER | TT_CAP_SYSTEM_CALLS,
    .state_size = sizeof(struct posix_state),
    .open = posix_open,
    .define = posix_define,
    .write = posix_write,
    .read = posix_read,
    .sync = posix_sync,
    .close = posix_close,
};
