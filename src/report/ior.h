/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results of the workload bulk in the columns of IOR. */
#ifndef TT_REPORT_IOR_H
#define TT_REPORT_IOR_H

#include <jansson.h>
#include <stdio.h>

/* Above everything else: which program this is, and how it was called. */
void tt_ior_head(FILE *out, const char *command_line);
/* The options of one test, which counts from 0, and the titles of its rows. */
void tt_ior_begin(FILE *out, const json_t *plan, unsigned number);
/* The rows of a result from the given one on; returns how many there are. */
size_t tt_ior_rows(FILE *out, const json_t *result, size_t first, unsigned verbose);
/* What is known when the test is over. */
void tt_ior_end(FILE *out, const json_t *result, unsigned verbose);
/* A row for writing and one for reading of each of the results in an array. */
void tt_ior_summary(FILE *out, const json_t *results);

/* All of it for machines; NULL: no memory. */
json_t *tt_ior_json(const json_t *results, const char *command_line);
void tt_ior_csv(FILE *out, const json_t *results);

#endif
