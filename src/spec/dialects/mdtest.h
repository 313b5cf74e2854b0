/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line of mdtest, as settings of the workload metadata. */
#ifndef TT_SPEC_DIALECTS_MDTEST_H
#define TT_SPEC_DIALECTS_MDTEST_H

#include "spec/settings.h"

/* Words after "tutti mdtest". Everything that is not mdtest's (--max-bytes, --ranks ...) is left
 * for tt_read_arguments, in its order: rest has room for argc words, and *nrest says how many there
 * are. */
int tt_mdtest_translate(int argc, char **argv, struct tt_settings *s, char **rest, int *nrest,
                        struct tt_error *e);

#endif
