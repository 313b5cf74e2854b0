/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/tree.h"

#include <errno.h>
#include <fts.h>
#include <string.h>
#include <unistd.h>

static int remove_entry(const FTSENT *entry, struct tt_error *e)
{
    switch (entry->fts_info) {
    case FTS_D: /* on the way down */
        return TT_OK;
    case FTS_DP:
        return rmdir(entry->fts_accpath) == 0 || errno == ENOENT
                   ? TT_OK
                   : tt_fail_call(e, errno, "rmdir", entry->fts_path, -1);
    case FTS_DNR:
    case FTS_ERR:
        return tt_fail_call(e, entry->fts_errno, "opendir", entry->fts_path, -1);
    case FTS_NS:
        return entry->fts_errno == ENOENT
                   ? TT_OK
                   : tt_fail_call(e, entry->fts_errno, "stat", entry->fts_path, -1);
    default:
        return unlink(entry->fts_accpath) == 0 || errno == ENOENT
                   ? TT_OK
                   : tt_fail_call(e, errno, "unlink", entry->fts_path, -1);
    }
}

int tt_tree_remove(const char *path, struct tt_error *e)
{
    char *roots[] = {(char *)path, NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
    const FTSENT *entry;
    int rc = TT_OK;

    if (!walk)
        return tt_fail_call(e, errno, "opendir", path, -1);
    while ((errno = 0, entry = fts_read(walk))) {
        int now = remove_entry(entry, e);

        rc = rc == TT_OK ? now : rc;
    }
    fts_close(walk);
    return rc;
}
