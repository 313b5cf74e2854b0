/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of many results, as CSV or JSON: what is too much for a row per run. */
#ifndef TT_REPORT_DETAILS_H
#define TT_REPORT_DETAILS_H

#include "report/outfile.h"

/* Names, in the order of the kinds. */
#define TT_DETAILS "latencies", "rates", "requests"
enum tt_detail { TT_DETAIL_LATENCIES, TT_DETAIL_RATES, TT_DETAIL_REQUESTS };

struct tt_details {
    struct tt_outfile out;
    bool json;
    enum tt_detail kind;
    const char *before; /* the next run, in JSON */
};

int tt_details_open(struct tt_details *d, const char *path, bool json, enum tt_detail kind,
                    struct tt_error *e);
int tt_details_add(struct tt_details *d, const json_t *result, struct tt_error *e);
/* Completes the file, or with a failure leaves none; returns rc, or what went wrong here. */
int tt_details_close(struct tt_details *d, int rc, struct tt_error *e);

#endif
