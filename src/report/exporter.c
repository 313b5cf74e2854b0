/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/exporter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sys.h"
#include "plan/registry.h"

int tt_export_check(const char *path, struct tt_error *e)
{
    struct stat st;

    if (*path == 0)
        return tt_fail(e, TT_USAGE, "a directory to export to must have a name");
    if (lstat(path, &st) == 0)
        return tt_fail(e, TT_USAGE,
                       "'%s' exists already; name a directory that does not, or remove it", path);
    return errno == ENOENT ? TT_OK : tt_fail_call(e, errno, "lstat", path, -1);
}

/* Whoever makes the same directory meanwhile keeps it. mkdtemp() lets nobody else in. */
static int give_name(const char *temporary, const char *path, struct tt_error *e)
{
    mode_t mask = umask(0);

    umask(mask);
    if (chmod(temporary, 0777 & ~mask) != 0)
        return tt_fail_call(e, errno, "chmod", temporary, -1);
    if (renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
        return TT_OK;
    if (errno == EINVAL && access(path, F_OK) != 0 && rename(temporary, path) == 0)
        return TT_OK; /* a file system that cannot refuse; rename() replaces an empty one at most */
    return tt_fail_call(e, errno, "rename", path, -1);
}

int tt_export_spans(const char *format, const char *path, const char *directory, struct tt_error *e)
{
    const struct tt_exporter *exporter = tt_find_exporter(format, e);
    const char *slash = strrchr(directory, '/');
    char *temporary = NULL;
    struct tt_spans spans;
    int rc = exporter ? tt_export_check(path, e) : TT_USAGE;

    if (rc == TT_OK)
        rc = tt_spans_open_some(directory, &spans, e);
    if (rc != TT_OK)
        return rc;
    if (asprintf(&temporary, "%s.XXXXXX", path) < 0)
        rc = tt_fail_nomem(e, "a path");
    else if (!mkdtemp(temporary))
        rc = tt_fail_call(e, errno, "mkdtemp", path, -1);
    if (rc == TT_OK) {
        rc = exporter->write(temporary, slash && slash[1] ? slash + 1 : directory, &spans, e);
        if (rc == TT_OK)
            rc = give_name(temporary, path, e);
        if (rc != TT_OK)
            tt_sys_remove_private(temporary);
    }
    free(temporary);
    tt_spans_close(&spans);
    return rc;
}
