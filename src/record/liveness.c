/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "record/liveness.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/directory.h"
#include "record/memory.h"

struct looking {
    const char *directory;
    bool force, has_outcome;
};

static int check_rank(const struct looking *l, const struct tt_records_header *h,
                      struct tt_error *e)
{
    char host[sizeof h->host] = "";

    gethostname(host, sizeof host - 1);
    if (h->state != TT_RANK_RUNNING || (l->force && strcmp(host, h->host) != 0))
        return TT_OK;
    if (strcmp(host, h->host) != 0)
        return tt_fail(e, TT_FAILED,
                       "rank %u did not end in order on %s, and only there one sees whether it "
                       "still runs; if it does not, use --force",
                       h->rank, h->host);
    if (tt_records_are_held(l->directory, h))
        return tt_fail(e, TT_BUSY, "rank %u still runs, as process %u; end the run first", h->rank,
                       h->pid);
    return TT_OK;
}

static int check_node(void *context, const char *path, struct tt_error *e)
{
    const struct looking *l = context;
    struct tt_records_index index;
    int rc = tt_records_index(path, &index, e);

    if (rc != TT_OK &&
        (l->force || (rc == TT_CORRUPT && l->has_outcome))) { /* its disk was full, for one */
        tt_error_clear(e);
        return TT_OK;
    }
    for (size_t i = 0; rc == TT_OK && i < index.nranks; i++)
        rc = check_rank(l, &index.ranks[i], e);
    tt_records_index_free(&index);
    return rc;
}

int tt_check_liveness(const char *directory, bool force, struct tt_error *e)
{
    struct looking l = {directory, force, tt_directory_has(directory, "outcome.json")};
    int rc;

    tt_records_collect(directory);
    rc = tt_each_node_file(directory, check_node, &l, e);
    if (rc != TT_OK && force && !tt_directory_has(directory, "records")) {
        tt_error_clear(e);
        rc = TT_OK;
    }
    return rc;
}
