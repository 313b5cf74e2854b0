/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TT_LAUNCH_LOCAL_H
#define TT_LAUNCH_LOCAL_H

#include "launch/launch.h"

extern const struct tt_launcher tt_launcher_local;

#endif
