/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line and the script files of IOR, as settings of the workload bulk. */
#ifndef TT_SPEC_DIALECTS_IOR_H
#define TT_SPEC_DIALECTS_IOR_H

#include "spec/read.h"

enum tt_ior_format { TT_IOR_TEXT, TT_IOR_JSON, TT_IOR_CSV };

/* Tests in the order in which they are to be made; a command line without a script is one. */
struct tt_ior_tests {
    size_t n;
    struct tt_settings *list;
    unsigned verbose;
    enum tt_ior_format format;
    char *summary_file; /* NULL: stdout */
};

extern const struct tt_options tt_ior_options;

/* opts as read by that table; a script changes them. tutti's own settings come after IOR's in every
 * test, and win. */
int tt_ior_translate(void *opts, const struct tt_settings *own, struct tt_ior_tests *tests,
                     struct tt_error *e);
void tt_ior_free(struct tt_ior_tests *tests);

#endif
