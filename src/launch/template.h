/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TT_LAUNCH_TEMPLATE_H
#define TT_LAUNCH_TEMPLATE_H

#include "launch/launch.h"

extern const struct tt_launcher tt_launcher_template;

#endif
