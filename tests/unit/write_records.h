/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For unit tests of what reads records: files of records as a rank would leave them. */
#ifndef TT_TESTS_WRITE_RECORDS_H
#define TT_TESTS_WRITE_RECORDS_H

#include <stdio.h>

#include "record/records.h"

static inline void write_chunk(FILE *f, uint32_t type, const void *data, size_t length)
{
    struct tt_chunk_header h = {.type = type, .length = length};

    assert_int_equal(fwrite(&h, sizeof h, 1, f), 1);
    assert_int_equal(fwrite(data, length, 1, f), 1);
}

/* The file of a rank with this header, whose magic and size of phases are filled in. */
static inline FILE *write_header(const char *directory, struct tt_records_header h)
{
    char path[128];
    FILE *f;

    h.magic = TT_RECORDS_MAGIC;
    h.nphases = TT_NPHASES;
    snprintf(path, sizeof path, "%s/records/%05u.ttr", directory, h.rank);
    f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(&h, sizeof h, 1, f), 1);
    return f;
}

#endif
