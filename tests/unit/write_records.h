/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For unit tests of what reads records: files of records as nodes with one rank each would leave
 * them. */
#ifndef TT_TESTS_WRITE_RECORDS_H
#define TT_TESTS_WRITE_RECORDS_H

#include <stdio.h>

#include "record/records.h"

static uint32_t written_rank; /* of the file that was opened last */

static inline void write_chunk_of(FILE *f, struct tt_chunk_header h, const void *data)
{
    assert_int_equal(fwrite(&h, sizeof h, 1, f), 1);
    assert_int_equal(fwrite(data, h.length, 1, f), 1);
}

static inline void write_chunk(FILE *f, uint32_t type, const void *data, size_t length)
{
    write_chunk_of(
        f, (struct tt_chunk_header){.type = type, .rank = written_rank, .length = length}, data);
}

static inline void write_calls_of_node(FILE *f, const struct tt_histogram *calls)
{
    static uint64_t words[TT_HISTOGRAMS_WORDS(TT_NCALLS)];
    size_t n = tt_histograms_pack(calls, TT_NCALLS, words);

    write_chunk_of(f,
                   (struct tt_chunk_header){
                       .type = TT_CHUNK_CALLS, .slot = TT_NODE_SLOT, .length = n * sizeof *words},
                   words);
}

static inline FILE *open_records(const char *directory, uint32_t rank, const char *mode)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof path, "%s/records/%05u.ttr", directory, rank);
    f = fopen(path, mode);
    assert_non_null(f);
    written_rank = rank;
    return f;
}

/* The file of a node that has the rank with this header. */
static inline FILE *write_header(const char *directory, struct tt_records_header h)
{
    const struct tt_records_start start = {TT_RECORDS_MAGIC, TT_NPHASES};
    FILE *f = open_records(directory, h.rank, "wb");

    assert_int_equal(fwrite(&start, sizeof start, 1, f), 1);
    write_chunk(f, TT_CHUNK_RANK, &h, sizeof h);
    return f;
}

#endif
