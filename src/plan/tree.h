/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TT_PLAN_TREE_H
#define TT_PLAN_TREE_H

#include "base/error.h"

/* Removes a folder with everything in it; links are removed, not followed, and other file systems
 * are left alone. What is already gone is no error. */
int tt_tree_remove(const char *path, struct tt_error *e);

#endif
