/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What commands that take another program's options have in common. */
#ifndef TT_CLI_DIALECT_H
#define TT_CLI_DIALECT_H

#include "cli/command.h"
#include "cli/run.h"

/* "tutti ior -b 1m"; NULL: no memory. The caller frees it. */
char *tt_dialect_line(const struct tt_invocation *call);
/* The data directory, if the option at this place has said it last; NULL: another did, or none. */
const char *tt_dialect_directory(const struct tt_settings *settings, const char *place);
/* Whether it is there, in words of that option. */
int tt_dialect_check_directory(const char *directory, const char *place, struct tt_error *e);

#endif
