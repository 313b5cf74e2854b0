/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the system answered to the libraries. They lose errors: an aggregator's failed write, a
 * short one, an error of close come back as success. So the calls that move or end data pass
 * through this process's own functions of the same names, which remember what was refused and not
 * made good by a later call. They make no call of their own unless one has failed or fell short. */
#ifndef TT_IO_CALLS_H
#define TT_IO_CALLS_H

#include "io/file.h"

/* Calls on a file are looked at while it is open; the path stays where it is until then. */
void tt_calls_begin(const char *path);
void tt_calls_end(const char *path);

/* After a library's call on a file, or after closing it, which returned rc: a success that the
 * system contradicts becomes a failure, and a failure without a cause gets it. Returns the code. */
int tt_calls_judge(const struct tt_file *file, int rc, bool closed, struct tt_error *e);

#endif
