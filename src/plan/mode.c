/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/mode.h"

#include <string.h>

static const struct {
    const char *name, *meaning;
    int overlap, sync;
} modes[] = {
    {"sync+imm", "overlap=none sync=dump", TT_OVERLAP_NONE, TT_SYNC_DUMP},
    {"sync", "overlap=none sync=deferred", TT_OVERLAP_NONE, TT_SYNC_DEFERRED},
    {"async", "overlap=async sync=deferred", TT_OVERLAP_ASYNC, TT_SYNC_DEFERRED},
    {"async+bg", "overlap=async sync=background", TT_OVERLAP_ASYNC, TT_SYNC_BACKGROUND},
};
#define NMODES (sizeof modes / sizeof *modes)

const char *tt_mode_meaning(const char *mode)
{
    for (size_t i = 0; i < NMODES; i++)
        if (!strcmp(mode, modes[i].name))
            return modes[i].meaning;
    return NULL;
}

int tt_mode_apply(struct tt_run_options *run, struct tt_error *e)
{
    const char *names[NMODES + 1] = {0}, *near;

    for (size_t i = 0; i < NMODES; i++) {
        names[i] = modes[i].name;
        if (!strcmp(run->mode, modes[i].name)) {
            run->overlap = modes[i].overlap;
            run->sync = modes[i].sync;
            return TT_OK;
        }
    }
    near = tt_nearest_word(run->mode, names);
    return tt_fail(e, TT_USAGE, "'%.80s' is not one of sync+imm, sync, async, async+bg%s",
                   run->mode, TT_DID_YOU_MEAN(near));
}

int tt_mode_check(const struct tt_run_options *run, struct tt_error *e)
{
    if (run->overlap == TT_OVERLAP_ASYNC &&
        (run->sync == TT_SYNC_WRITE || run->sync == TT_SYNC_DUMP))
        return tt_fail(e, TT_USAGE, "sync=%s makes overlap pointless: use sync=background",
                       run->sync == TT_SYNC_WRITE ? "write" : "dump");
    if (run->overlap == TT_OVERLAP_NONE && run->sync == TT_SYNC_BACKGROUND)
        return tt_fail(e, TT_USAGE, "sync=background needs a helper: use overlap=async");
    return TT_OK;
}
