/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A word such as "write_rate>=1g" as a condition on runs. Private to the store. */
#ifndef TT_STORE_FILTER_H
#define TT_STORE_FILTER_H

#include "store/private.h"

struct tt_filter {
    const char *column;   /* of the table of runs; NULL: a value of the given kind */
    const char *kind;     /* "metric", ... */
    const char *operator; /* as in SQL */
    char *key;
    bool is_number;
    double number;
    char *text; /* if it is no number */
};

/* A key or value that makes no sense is TT_USAGE, with the nearest good word. */
int tt_filter_parse(struct tt_store *s, const char *word, struct tt_filter *f, struct tt_error *e);
void tt_filter_free(struct tt_filter *f);

#endif
