/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TT_WORKLOADS_COMMAND_H
#define TT_WORKLOADS_COMMAND_H

#include "spec/param.h"

struct tt_command_options {
    struct tt_words words;
};

#endif
