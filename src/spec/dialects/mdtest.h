/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line of mdtest, as settings of the workload metadata. */
#ifndef TT_SPEC_DIALECTS_MDTEST_H
#define TT_SPEC_DIALECTS_MDTEST_H

#include "spec/read.h"

extern const struct tt_options tt_mdtest_options;

#define TT_MDTEST_MAX_TESTS 10000

/* One for each number of tasks that was asked for, in their order. */
struct tt_mdtest_tests {
    size_t n;
    struct tt_settings *list;
};

/* opts as read by that table. tutti's own settings come after mdtest's, and win. */
int tt_mdtest_translate(const void *opts, const struct tt_settings *own,
                        struct tt_mdtest_tests *tests, struct tt_error *e);
void tt_mdtest_free(struct tt_mdtest_tests *tests);

#endif
