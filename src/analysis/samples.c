/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every iteration of every rank as rows of integers: nanoseconds and bytes, nothing rounded. */
#include "analysis/evidence.h"
#include "analysis/result.h"

static json_t *columns_json(void)
{
    return json_pack("[s, s, s, "
#define X(id, name, text) "s,"
                     TT_PHASES(X)
#undef X
                         "s, s, s]",
                     "iteration", "start_ns", "span_ns",
#define X(id, name, text) #name "_ns",
                     TT_PHASES(X)
#undef X
                         "written_B",
                     "read_B", "communicated_B");
}

static json_t *row_json(const struct tt_iteration_record *it)
{
    const uint64_t bytes[] = {it->bytes_written, it->bytes_read, it->bytes_communicated};
    json_t *row = json_array();
    int rc = 0;

    rc |= json_array_append_new(row, json_integer((json_int_t)it->iteration));
    rc |= json_array_append_new(row, json_integer(it->start_ns));
    rc |= json_array_append_new(row, json_integer(it->span_ns));
    for (int p = 0; p < TT_NPHASES; p++)
        rc |= json_array_append_new(row, json_integer((json_int_t)it->phase_ns[p]));
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        rc |= json_array_append_new(row, json_integer((json_int_t)bytes[i]));
    if (rc == 0)
        return row;
    json_decref(row);
    return NULL;
}

static json_t *rank_json(const struct tt_rank_records *r)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < r->niterations; i++)
        if (json_array_append_new(rows, row_json(&r->iterations[i])) != 0) {
            json_decref(rows);
            return NULL;
        }
    return json_pack("{s:I, s:o}", "rank", (json_int_t)r->header.rank, "rows", rows);
}

int tt_result_samples(const char *folder, json_t **samples, struct tt_error *e)
{
    struct tt_evidence ev;
    json_t *ranks;
    int bad = 0, rc = tt_evidence_load(&ev, folder, e);

    if (rc != TT_OK)
        return rc;
    ranks = json_array();
    for (size_t i = 0; i < ev.nranks && !bad; i++)
        bad = json_array_append_new(ranks, rank_json(&ev.ranks[i]));
    tt_evidence_free(&ev);
    *samples = bad ? NULL : json_pack("{s:o, s:O}", "columns", columns_json(), "ranks", ranks);
    json_decref(ranks);
    return *samples ? TT_OK : tt_fail_nomem(e, "the samples");
}
