/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "record/liveness.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/records.h"
#include "plan/directory.h"

static int check_rank(const char *path, bool has_outcome, bool force, struct tt_error *e)
{
    struct tt_rank_records r = {0};
    char host[sizeof r.header.host] = "";
    int rc = tt_records_load(path, &r, e);

    if (rc != TT_OK &&
        (force || (rc == TT_CORRUPT && has_outcome))) { /* its disk was full, for one */
        tt_error_clear(e);
        return TT_OK;
    }
    if (rc != TT_OK)
        return rc;
    gethostname(host, sizeof host - 1);
    if (r.header.state != TT_RANK_RUNNING || (force && strcmp(host, r.header.host) != 0))
        rc = TT_OK;
    else if (strcmp(host, r.header.host) != 0)
        rc = tt_fail(e, TT_FAILED,
                     "rank %u did not end in order on %s, and only there one sees whether it still "
                     "runs; if it does not, use --force",
                     r.header.rank, r.header.host);
    else if (tt_records_are_held(path, &r.header))
        rc = tt_fail(e, TT_BUSY, "rank %u still runs, as process %u; end the run first",
                     r.header.rank, r.header.pid);
    tt_records_unload(&r);
    return rc;
}

int tt_check_liveness(const char *directory, bool force, struct tt_error *e)
{
    char *records = tt_directory_path(directory, "records"),
         *outcome = tt_directory_path(directory, "outcome.json");
    DIR *list = records ? opendir(records) : NULL;
    bool has_outcome = outcome && access(outcome, F_OK) == 0;
    struct dirent *entry;
    int rc = TT_OK;

    if (!list && !force)
        rc = tt_fail_call(e, errno, "opendir", records ? records : directory, -1);
    while (list && rc == TT_OK && (entry = readdir(list))) {
        char *path = entry->d_name[0] == '.' ? NULL : tt_directory_path(records, entry->d_name);

        if (path)
            rc = check_rank(path, has_outcome, force, e);
        free(path);
    }
    if (list)
        closedir(list);
    free(outcome);
    free(records);
    return rc;
}
