/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A result of the workload metadata in the words of mdtest. */
#ifndef TT_REPORT_MDTEST_H
#define TT_REPORT_MDTEST_H

#include <jansson.h>
#include <stdio.h>

/* What was run and where, mdtest's summary, and the warnings. */
void tt_mdtest_print(FILE *out, const json_t *result, const char *command_line);

#endif
