/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Throws everything away: what is left is the cost of tutti itself. Nothing can be read back. */
#include "io/file.h"

static int discard_nothing(struct tt_file *file, struct tt_error *e)
{
    (void)file, (void)e;
    return TT_OK;
}

static int discard_write(struct tt_file *file, uint64_t step, const struct tt_block *b,
                         struct tt_error *e)
{
    (void)file, (void)step, (void)b, (void)e;
    return TT_OK;
}

static int discard_read(struct tt_file *file, uint64_t step, const struct tt_block *b,
                        struct tt_error *e)
{
    (void)file, (void)step, (void)b;
    return tt_fail(e, TT_UNSUPPORTED, "backend discard keeps nothing, so nothing can be read back");
}

const struct tt_backend tt_backend_discard = {
    .name = "discard",
    .caps = TT_CAP_SYNCS_ALONE,
    .summary = "throws data away: the cost of everything but storage",
    .open = discard_nothing,
    .write = discard_write,
    .read = discard_read,
    .sync = discard_nothing,
    .close = discard_nothing,
};
