/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/mdtest.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "build_info.h"
#include "analysis/result.h"
#include "analysis/tables.h"
#include "base/json.h"
#include "report/paragraph.h"
#include "report/report.h"
#include "spec/units.h"

/* What a row of the workload's table is about, as it numbers them. */
enum operation { TREE, CREATE, STAT, OPEN, RENAME, REMOVE, FELL };

/* ---- head ---- */

static void print_line(FILE *out, const char *label, const char *value)
{
    struct tt_paragraph p = {0};

    tt_paragraph_add(&p, "%s", value);
    fprintf(out, "%s: %s\n", label, p.text);
}

static size_t count_nodes(const json_t *ranks)
{
    json_t *hosts = tt_hosts_of(ranks);
    size_t n = json_object_size(hosts);

    json_decref(hosts);
    return n;
}

static void print_file_system(FILE *out, const json_t *result)
{
    const json_t *data = tt_member_at(result, "environment/data");
    double size = tt_number_of(data, "size");
    double available = tt_number_of(data, "free");
    struct tt_paragraph p = {0};
    char text[TT_UNIT_TEXT];

    print_line(out, "Path", tt_text_of(data, "path"));
    if (!(size > 0))
        return;
    tt_paragraph_add(&p, "%s   Used FS: %.1f%%   Type: %s on %s", tt_format_bytes(size, text),
                     100 * (1 - available / size), tt_text_of(data, "filesystem"),
                     tt_text_of(data, "device"));
    print_line(out, "FS", p.text);
}

static void print_items(FILE *out, const json_t *result, size_t tasks)
{
    struct tt_rows t = tt_result_rows(result, "operations");
    const char *what = tt_result_parameter(result, "metadata.what");
    size_t working = strtoul(tt_result_parameter(result, "metadata.tasks"), NULL, 10);

    for (size_t i = 0; i < t.n; i++) {
        double operation = tt_cell(&t, i, "operation");

        if (operation == TREE || operation == FELL)
            continue;
        fprintf(out, "\n%zu tasks, %.0f %s\n", working ? working : tasks, tt_cell(&t, i, "count"),
                strcmp(what, "both") ? what : "files/directories");
        return;
    }
}

static void print_head(FILE *out, const json_t *result, const char *command_line)
{
    const json_t *ranks = json_object_get(result, "ranks");
    size_t tasks = json_array_size(ranks);

    fprintf(out, "tutti %s (%s): the tests of mdtest, measured by tutti\n", TT_VERSION,
            TT_REVISION);
    fprintf(out, "launched with %zu total task(s) on %zu node(s)\n", tasks, count_nodes(ranks));
    print_line(out, "Command line used", command_line);
    print_file_system(out, result);
    print_line(out, "Run directory", tt_text_of(result, "directory"));
    print_items(out, result, tasks);
}

/* ---- the summary ---- */

struct rates {
    unsigned n;
    double max, min, sum, squares;
};

/* Of one operation, over its repetitions. */
static struct rates take_rates(const struct tt_rows *t, enum operation operation, int directories)
{
    struct rates r = {.min = INFINITY};

    for (size_t i = 0; i < t->n; i++) {
        double seconds = tt_cell(t, i, "seconds"), rate = tt_cell(t, i, "count") / seconds;

        if (tt_cell(t, i, "operation") != operation ||
            tt_cell(t, i, "directories") != directories || !(seconds > 0))
            continue;
        r.n++;
        r.max = fmax(r.max, rate);
        r.min = fmin(r.min, rate);
        r.sum += rate;
        r.squares += rate * rate;
    }
    return r;
}

/* As wide as mdtest's own. */
static void print_row(FILE *out, const struct tt_rows *t, enum operation operation, int directories,
                      const char *label)
{
    struct rates r = take_rates(t, operation, directories);
    double mean;

    if (r.n == 0 || r.max == 0)
        return;
    mean = r.sum / r.n;
    fprintf(out, "   %-26s: %14.3f %14.3f %14.3f %14.3f\n", label, r.max, r.min, mean,
            sqrt(fmax(r.squares / r.n - mean * mean, 0)));
}

void tt_mdtest_print(FILE *out, const json_t *result, const char *command_line)
{
    static const struct {
        enum operation operation;
        int directories;
        const char *label;
    } shown[] = {{CREATE, 1, "Directory creation"},
                 {STAT, 1, "Directory stat"},
                 {RENAME, 1, "Directory rename"},
                 {REMOVE, 1, "Directory removal"},
                 {CREATE, 0, "File creation"},
                 {STAT, 0, "File stat"},
                 {OPEN, 0, "File read"},
                 {REMOVE, 0, "File removal"},
                 {TREE, 1, "Tree creation"},
                 {FELL, 1, "Tree removal"}};

    struct tt_rows t = tt_result_rows(result, "operations");
    double last = -1;

    for (size_t i = 0; i < t.n; i++)
        last = fmax(last, tt_cell(&t, i, "repetition"));
    print_head(out, result, command_line);
    fprintf(out, "\nSUMMARY rate (in ops/sec): (of %.0f iterations)\n", last + 1);
    fprintf(out, "   %-26s  %14s %14s %14s %14s\n", "Operation", "Max", "Min", "Mean", "Std Dev");
    fprintf(out, "   %-26s  %14s %14s %14s %14s\n", "---------", "---", "---", "----", "-------");
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        print_row(out, &t, shown[i].operation, shown[i].directories, shown[i].label);
    tt_report_warnings(out, result, "WARNING: ");
}
