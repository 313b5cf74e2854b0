/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line of numio, as settings of the workload stencil. All is checked as numio does;
 * "freq=", "path=" and "size=" may stand before these values. */
#ifndef TT_SPEC_DIALECTS_NUMIO_H
#define TT_SPEC_DIALECTS_NUMIO_H

#include "spec/read.h"

extern const struct tt_options tt_numio_options;

/* opts as read by that table. tutti's own settings come after numio's, and win. */
int tt_numio_translate(const void *opts, const struct tt_settings *own, struct tt_settings *s,
                       struct tt_error *e);

#endif
