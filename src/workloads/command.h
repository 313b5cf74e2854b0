/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TT_WORKLOADS_COMMAND_H
#define TT_WORKLOADS_COMMAND_H

#include "spec/param.h"

/* Of the workload `command`, which runs a program: not of a command of tutti itself. */
struct tt_program_options {
    struct tt_words words; /* the program and its arguments */
};

#endif
