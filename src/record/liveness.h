/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TT_RECORD_LIVENESS_H
#define TT_RECORD_LIVENESS_H

#include <stdbool.h>

#include "base/error.h"

/* Whether all ranks of a run have ended: TT_BUSY if one still runs on this node, TT_FAILED if one
 * did not end in order on another. With force what cannot be seen from here has ended. */
int tt_check_liveness(const char *directory, bool force, struct tt_error *e);

#endif
