/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/tables.h"

#include <string.h>

#include "base/json.h"
#include "plan/registry.h"

static const struct tt_workload_table *tables_of(const json_t *plan)
{
    static const struct tt_workload_table none = {NULL, NULL, NULL};
    const struct tt_workload *w = tt_find_open(tt_workloads, tt_text_of(plan, "workload"));

    return w && w->tables ? w->tables : &none;
}

static size_t count_columns(const struct tt_workload_table *t)
{
    size_t n = 0;

    while (t->columns[n].name)
        n++;
    return n;
}

struct tt_rows tt_rows_of(const json_t *plan, const json_t *tables, const char *name)
{
    const struct tt_workload_table *d = tables_of(plan);
    struct tt_rows t = {.rows = json_object_get(tables, name)};

    while (d->name && strcmp(d->name, name) != 0)
        d++;
    if (!d->name)
        return t;
    t.described = d;
    while (t.n < json_array_size(t.rows) &&
           json_array_size(json_array_get(t.rows, t.n)) == count_columns(d))
        t.n++;
    return t;
}

struct tt_rows tt_result_rows(const json_t *result, const char *name)
{
    return tt_rows_of(json_object_get(result, "plan"), json_object_get(result, "tables"), name);
}

double tt_cell(const struct tt_rows *t, size_t row, const char *column)
{
    size_t i = 0;

    if (row >= t->n)
        return 0;
    while (t->described->columns[i].name && strcmp(t->described->columns[i].name, column) != 0)
        i++;
    return json_number_value(json_array_get(json_array_get(t->rows, row), i));
}

double tt_cell_of(const struct tt_rows *t, const char *row, const char *column)
{
    size_t i = 0;

    if (!t->described || !t->described->rows)
        return 0;
    while (t->described->rows[i] && strcmp(t->described->rows[i], row) != 0)
        i++;
    return t->described->rows[i] ? tt_cell(t, i, column) : 0;
}

const char *tt_row_name(const json_t *plan, const char *table, size_t row)
{
    const struct tt_workload_table *t = tables_of(plan);
    size_t n = 0;

    while (t->name && strcmp(t->name, table) != 0)
        t++;
    if (!t->name || !t->rows)
        return "";
    while (n < row && t->rows[n])
        n++;
    return t->rows[n] ? t->rows[n] : "";
}

json_t *tt_tables_described(const json_t *plan)
{
    json_t *all = json_object();
    int bad = 0;

    for (const struct tt_workload_table *t = tables_of(plan); t->name; t++) {
        json_t *columns = json_array();

        for (const struct tt_workload_column *c = t->columns; c->name; c++)
            bad |= json_array_append_new(columns, json_pack("{s:s, s:s, s:s}", "name", c->name,
                                                            "unit", c->unit, "text", c->text));
        bad |= json_object_set_new(all, t->name, columns);
    }
    return tt_json_unless(bad, all);
}
