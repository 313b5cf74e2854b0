/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/samples.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/run_data.h"

const char *const tt_sample_columns[TT_SAMPLE_COLUMNS] = {"iteration",
                                                          "start_ns",
                                                          "span_ns",
#define X(id, name, text) #name "_ns",
                                                          TT_PHASES(X)
#undef X
                                                              "written_B",
                                                          "read_B",
                                                          "communicated_B"};

void tt_sample_row(const struct tt_iteration_record *it, int64_t row[TT_SAMPLE_COLUMNS])
{
    *row++ = (int64_t)it->iteration;
    *row++ = it->start_ns;
    *row++ = it->span_ns;
    for (int p = 0; p < TT_NPHASES; p++)
        *row++ = (int64_t)it->phase_ns[p];
    *row++ = (int64_t)it->bytes_written;
    *row++ = (int64_t)it->bytes_read;
    *row++ = (int64_t)it->bytes_communicated;
}

static void look_only(void *context, const struct tt_iteration_record *list, size_t n)
{
    (void)context, (void)list, (void)n;
}

/* A damaged file is left out as a whole, so all of it is looked at before a row is written. */
static int add_rank(void *context, const char *path, struct tt_error *e)
{
    struct tt_error why = TT_ERROR_CLEAR;
    struct tt_samples *s = context;
    struct tt_sampled_rank *grown = realloc(s->ranks, (s->n + 1) * sizeof *grown), *r;

    if (!grown)
        return tt_fail_nomem(e, "the samples");
    s->ranks = grown;
    r = &s->ranks[s->n];
    if (tt_records_scan(path, look_only, NULL, &r->header, &why) != TT_OK)
        return why.code == TT_NOMEM ? tt_fail_nomem(e, "the samples") : TT_OK;
    r->path = strdup(path);
    if (!r->path)
        return tt_fail_nomem(e, "the samples");
    s->n++;
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
    rc = tt_each_rank_file(directory, add_rank, s, e);
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
    for (size_t i = 0; i < s->n; i++)
        free(s->ranks[i].path);
    free(s->ranks);
    *s = (struct tt_samples){0};
}
