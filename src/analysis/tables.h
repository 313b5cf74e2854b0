/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables that workloads leave in a result, by the names that the workload gives to columns and
 * rows (plan/workload.h). */
#ifndef TT_ANALYSIS_TABLES_H
#define TT_ANALYSIS_TABLES_H

#include <jansson.h>

#include "plan/workload.h"

struct tt_rows {
    const struct tt_workload_table *described; /* NULL: nobody here knows it */
    const json_t *rows;
    size_t n; /* leading rows that are as described; 0: there is no such table */
};

/* tables: those of a result with this plan. */
struct tt_rows tt_rows_of(const json_t *plan, const json_t *tables, const char *name);
struct tt_rows tt_result_rows(const json_t *result, const char *name);
/* 0 for what is not there. */
double tt_cell(const struct tt_rows *t, size_t row, const char *column);
double tt_cell_of(const struct tt_rows *t, const char *row, const char *column);

/* What a row is called; "" if it has no name. */
const char *tt_row_name(const json_t *plan, const char *table, size_t row);

/* {TABLE: [{"name", "unit", "text"}]} of a workload, for readers of result.json; NULL: no memory.
 */
json_t *tt_tables_described(const json_t *plan);

#endif
