/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line and the script files of IOR, as settings of the workload bulk. */
#ifndef TT_SPEC_DIALECTS_IOR_H
#define TT_SPEC_DIALECTS_IOR_H

#include "spec/settings.h"

enum tt_ior_format { TT_IOR_TEXT, TT_IOR_JSON, TT_IOR_CSV };

/* Tests in the order in which they are to be made; a command line without a script is one. */
struct tt_ior_tests {
    size_t n;
    struct tt_settings *list;
    unsigned verbose;
    enum tt_ior_format format;
    char *summary_file; /* NULL: stdout */
};

/* Words after "tutti ior". IOR's options (-b 1m, -b=1m, -O name=value, -name=value, --name=value)
 * become settings; everything else (--max-bytes, -n ...) is left for tt_read_arguments, in its
 * order: rest has room for argc words, and *nrest says how many there are. */
int tt_ior_translate(int argc, char **argv, struct tt_ior_tests *tests, char **rest, int *nrest,
                     struct tt_error *e);
void tt_ior_free(struct tt_ior_tests *tests);

#endif
