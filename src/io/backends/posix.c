/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plain files through pwritev and preadv. Pieces that follow each other in the file go out in one
 * call; pieces with gaps between them in one call each: no data sieving, no aggregation. */
#include <errno.h>
#include <unistd.h>

#include "base/sys.h"
#include "io/raw.h"

#define MAX_PIECES 512 /* of one call; below IOV_MAX everywhere */
#define MAX_BYTES \
    ((size_t)1 << 30) /* of one call; Linux moves a little less than 2 GiB at most \
                       */

static const struct tt_param params[] = {
    {"odirect", TT_PARAM_BOOL, offsetof(struct tt_raw_opts, odirect), "no", NULL,
     "past the page cache (O_DIRECT); memory, offsets and lengths must be multiples of its block"},
    {NULL},
};

struct posix_state {
    struct tt_raw raw;
};

/* Pieces that follow each other in the file. */
struct batch {
    unsigned n;
    size_t bytes;
    off_t offset; /* of the first piece in the file */
    struct iovec pieces[MAX_PIECES];
};

static int posix_prepare(struct tt_file *file, struct tt_error *e)
{
    struct posix_state *s = file->state;

    return tt_raw_prepare(file, ((const struct tt_raw_opts *)file->opts)->odirect, &s->raw, e);
}

static int posix_open(struct tt_file *file, struct tt_error *e)
{
    struct posix_state *s = file->state;

    return tt_raw_open(file, &s->raw, e);
}

static ssize_t move_once(int fd, enum tt_direction direction, const struct iovec *pieces,
                         unsigned n, off_t offset)
{
    return direction == TT_WRITING ? tt_sys_pwritev(fd, pieces, (int)n, offset)
                                   : tt_sys_preadv(fd, pieces, (int)n, offset);
}

static int move(struct tt_file *file, enum tt_direction direction, struct batch *b,
                struct tt_error *e)
{
    const struct posix_state *s = file->state;
    struct iovec *rest = b->pieces;
    unsigned left = b->n;

    b->n = 0;
    for (;;) {
        ssize_t n = move_once(s->raw.fd, direction, rest, left, b->offset);
        unsigned done;

        if (n == (ssize_t)b->bytes)
            break;
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return tt_raw_fail(file, &s->raw, direction, n < 0 ? errno : 0, b->offset, e);
        done = tt_raw_advance(rest, left, (size_t)n);
        rest += done;
        left -= done;
        b->bytes -= (size_t)n;
        b->offset += n;
    }
    b->bytes = 0;
    return TT_OK;
}

static int transfer_extent(struct tt_file *file, enum tt_direction direction, uint64_t base,
                           const struct tt_block *block, const struct tt_extent *x,
                           struct tt_error *e)
{
    const struct posix_state *s = file->state;
    char *data = (char *)block->data + x->memory_offset;
    uint64_t offset = base + x->file_offset;
    struct batch b;
    int rc = tt_raw_check(file, &s->raw, data, offset, x->length, e);

    if (rc != TT_OK)
        return rc;
    b.n = 1;
    b.bytes = x->length;
    b.offset = (off_t)offset;
    b.pieces[0] = (struct iovec){data, x->length};
    return move(file, direction, &b, e);
}

static int transfer(struct tt_file *file, enum tt_direction direction, uint64_t step,
                    const struct tt_block *block, struct tt_error *e)
{
    uint64_t base = tt_file_raw_offset(file, block->variable, step);
    size_t element_size = file->spec->variables[block->variable].element->size;
    struct tt_extent_iter it;
    struct tt_extent x;
    struct batch b;

    if (tt_block_is_one_extent(block, element_size, &x) && x.length <= MAX_BYTES)
        return transfer_extent(file, direction, base, block, &x, e);
    b.n = 0;
    b.bytes = 0;
    tt_extents_begin(&it, block, element_size);
    while (tt_extents_next(&it, &x)) {
        const struct posix_state *s = file->state;
        char *data = (char *)block->data + x.memory_offset;
        uint64_t offset = base + x.file_offset;
        int rc = tt_raw_check(file, &s->raw, data, offset, x.length, e);

        if (rc != TT_OK)
            return rc;
        for (uint64_t n; x.length > 0; offset += n, data += n, x.length -= n) {
            n = x.length < MAX_BYTES ? x.length : MAX_BYTES;
            if (b.n > 0 &&
                (b.n == MAX_PIECES || b.bytes + n > MAX_BYTES ||
                 offset != (uint64_t)b.offset + b.bytes) &&
                (rc = move(file, direction, &b, e)) != TT_OK)
                return rc;
            if (b.n == 0)
                b.offset = (off_t)offset;
            b.pieces[b.n++] = (struct iovec){data, n};
            b.bytes += n;
        }
    }
    return b.n > 0 ? move(file, direction, &b, e) : TT_OK;
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

    if (fsync(s->raw.fd) != 0)
        return tt_fail_call(e, errno, "fsync", file->spec->path, -1);
    return TT_OK;
}

static int posix_close(struct tt_file *file, struct tt_error *e)
{
    struct posix_state *s = file->state;

    return tt_raw_close(file, &s->raw, e);
}

static int posix_query(struct tt_file *file, struct tt_facts *facts, struct tt_error *e)
{
    const struct posix_state *s = file->state;

    return tt_raw_query(&s->raw, "posix.odirect", facts, e);
}

const struct tt_backend tt_backend_posix = {
    .name = "posix",
    .summary = "plain files through pwritev and preadv",
    .caps = TT_CAP_STORES | TT_CAP_RAW | TT_CAP_SYNCS_ALONE | TT_CAP_CARRIES_LAYOUT |
            TT_CAP_SYSTEM_CALLS | TT_CAP_UPDATES,
    .state_size = sizeof(struct posix_state),
    .opts_size = sizeof(struct tt_raw_opts),
    .params = params,
    .prepare = posix_prepare,
    .open = posix_open,
    .write = posix_write,
    .read = posix_read,
    .sync = posix_sync,
    .close = posix_close,
    .query = posix_query,
};
