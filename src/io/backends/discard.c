/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Throws everything away: what is left is the cost of tutti itself. A read leaves memory as it was:
 * who needs what was written asks for TT_CAP_STORES. */
#include "io/file.h"

static int discard_nothing(struct tt_file *file, struct tt_error *e)
{
    (void)file, (void)e;
    return TT_OK;
}

static int discard_transfer(struct tt_file *file, uint64_t step, const struct tt_block *b,
                            struct tt_error *e)
{
    (void)file, (void)step, (void)b, (void)e;
    return TT_OK;
}

const struct tt_backend tt_backend_discard = {
    .name = "discard",
    .caps = TT_CAP_SYNCS_ALONE,
    .summary = "throws data away: the cost of everything but storage",
    .open = discard_nothing,
    .write = discard_transfer,
    .read = discard_transfer,
    .sync = discard_nothing,
    .close = discard_nothing,
};
