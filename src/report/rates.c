/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/json.h"
#include "report/plot.h"
#include "report/report.h"
#include "report/table.h"
#include "spec/units.h"

/* Bytes of one direction, interval by interval, several of them together where there are many. */
static void draw(const json_t *rows, size_t column, bool unicode, char text[TT_PLOT_TEXT])
{
    size_t n = json_array_size(rows), width = (n + TT_PLOT_COLUMNS - 1) / TT_PLOT_COLUMNS;
    double line[TT_PLOT_COLUMNS] = {0};

    for (size_t i = 0; i < n; i++)
        line[i / width] += json_number_value(json_array_get(json_array_get(rows, i), column));
    tt_plot_line(line, TT_PLOT_COLUMNS, unicode, text);
}

void tt_report_rates(FILE *out, const json_t *result)
{
    static const struct tt_column columns[] = {{.title = "rates", .width = 10},
                                               {.title = "min", .right = true, .width = 10},
                                               {.title = "median", .right = true, .width = 10},
                                               {.title = "max", .right = true, .width = 10},
                                               {.title = "from start to end", .least = 10}};
    static const char *const directions[] = {"write", "read"};
    const json_t *rates = json_object_get(result, "rates"), *rows = json_object_get(rates, "rows");
    struct tt_table t = {columns, sizeof columns / sizeof *columns, .indent = 2};
    char line[TT_PLOT_TEXT], text[TT_UNIT_TEXT];

    for (size_t d = 0; d < 2; d++) {
        const json_t *rate = json_object_get(rates, directions[d]);

        if (!tt_has_number(rate, "median"))
            continue;
        tt_table_add(&t, "%s", directions[d]);
        for (size_t k = 1; k < 4; k++)
            tt_table_add(&t, "%s",
                         tt_format_value(tt_number_of(rate, columns[k].title), "B/s", text));
        draw(rows, 1 + 2 * d, tt_shows_unicode(out), line);
        tt_table_add(&t, "%s", line);
    }
    if (t.n)
        fputc('\n', out);
    tt_table_print(&t, out, NULL);
}
