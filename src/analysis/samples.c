/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/samples.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/run_data.h"

const char *const tt_sample_columns[TT_SAMPLE_COLUMNS] = {"iteration",
                                                          "start_ns",
                                                          "span_ns",
#define X(id, name, colour, text) #name "_ns",
                                                          TT_PHASES(X)
#undef X
                                                              "written_B",
                                                          "read_B",
                                                          "communicated_B",
                                                          "baseline"};

void tt_sample_row(const struct tt_iteration_record *it, int64_t row[TT_SAMPLE_COLUMNS])
{
    *row++ = (int64_t)(it->iteration & ~TT_ITERATION_EXCLUDED);
    *row++ = it->start_ns;
    *row++ = it->span_ns;
    for (int p = 0; p < TT_NPHASES; p++)
        *row++ = (int64_t)it->phase_ns[p];
    *row++ = (int64_t)it->bytes_written;
    *row++ = (int64_t)it->bytes_read;
    *row++ = (int64_t)it->bytes_communicated;
    *row++ = it->iteration >= TT_ITERATION_EXCLUDED;
}

static void look_only(void *context, const struct tt_iteration_record *list, size_t n)
{
    (void)context, (void)list, (void)n;
}

static int check_only(const struct tt_records_index *node, struct tt_error *e)
{
    int rc = TT_OK;

    for (size_t i = 0; rc == TT_OK && i < node->nranks; i++)
        rc = tt_records_scan(node, i, look_only, NULL, e);
    return rc;
}

/* A damaged file is left out as a whole, so all of it is looked at before a row is written. */
static int add_node(void *context, const char *path, struct tt_error *e)
{
    struct tt_error why = TT_ERROR_CLEAR;
    struct tt_samples *s = context;
    struct tt_records_index *nodes = tt_list_room(s->nodes, s->nnodes, sizeof *nodes);

    if (!nodes)
        return tt_fail_nomem(e, "the samples");
    s->nodes = nodes;
    if (tt_records_index(path, &nodes[s->nnodes], &why) != TT_OK)
        return why.code == TT_NOMEM ? tt_fail_nomem(e, "the samples") : TT_OK;
    s->nnodes++;
    if (check_only(&nodes[s->nnodes - 1], &why) != TT_OK) {
        tt_records_index_free(&nodes[--s->nnodes]);
        return TT_OK;
    }
    for (size_t i = 0; i < nodes[s->nnodes - 1].nranks; i++) {
        struct tt_sampled_rank *ranks = tt_list_room(s->ranks, s->n, sizeof *ranks);

        if (!ranks)
            return tt_fail_nomem(e, "the samples");
        s->ranks = ranks;
        ranks[s->n++] = (struct tt_sampled_rank){nodes[s->nnodes - 1].ranks[i], s->nnodes - 1, i};
    }
    return TT_OK;
}

static int by_rank(const void *a, const void *b)
{
    uint32_t x = ((const struct tt_sampled_rank *)a)->header.rank;
    uint32_t y = ((const struct tt_sampled_rank *)b)->header.rank;

    return (x > y) - (x < y);
}

int tt_samples_open(const char *directory, struct tt_samples *s, struct tt_error *e)
{
    int rc;

    *s = (struct tt_samples){0};
    rc = tt_each_node_file(directory, add_node, s, e);
    if (rc == TT_OK && s->n)
        qsort(s->ranks, s->n, sizeof *s->ranks, by_rank);
    for (size_t i = 1; rc == TT_OK && i < s->n; i++)
        if (s->ranks[i].header.rank == s->ranks[i - 1].header.rank ||
            s->ranks[i].header.size != s->ranks[0].header.size)
            rc = tt_fail(e, TT_CORRUPT, "'%s' mixes records of different runs", directory);
    if (rc != TT_OK)
        tt_samples_close(s);
    return rc;
}

void tt_samples_close(struct tt_samples *s)
{
    for (size_t i = 0; i < s->nnodes; i++)
        tt_records_index_free(&s->nodes[i]);
    free(s->nodes);
    free(s->ranks);
    *s = (struct tt_samples){0};
}

int tt_samples_scan(const struct tt_samples *s, size_t i, tt_records_take *taker, void *context,
                    struct tt_error *e)
{
    return tt_records_scan(&s->nodes[s->ranks[i].node], s->ranks[i].slot, taker, context, e);
}
