/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/mdtest.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "build_info.h"
#include "base/json.h"
#include "report/paragraph.h"
#include "report/report.h"
#include "spec/units.h"
#include "workloads/metadata/metadata.h"

/* ---- phases ---- */

static bool take_row(const json_t *result, size_t i, double v[TT_METADATA_NCOLUMNS])
{
    const json_t *rows = tt_member_at(result, "tables/operations");
    const json_t *row = json_array_get(rows, i);

    if (json_array_size(row) != TT_METADATA_NCOLUMNS)
        return false;
    for (size_t j = 0; j < TT_METADATA_NCOLUMNS; j++)
        v[j] = json_number_value(json_array_get(row, j));
    return true;
}

static bool is_of_items(const double v[TT_METADATA_NCOLUMNS])
{
    return v[TT_METADATA_OPERATION] != TT_METADATA_TREE &&
           v[TT_METADATA_OPERATION] != TT_METADATA_FELL;
}

/* ---- head ---- */

static void print_line(FILE *out, const char *label, const char *value)
{
    struct tt_paragraph p = {0};

    tt_paragraph_add(&p, "%s", value);
    fprintf(out, "%s: %s\n", label, p.text);
}

/* Ranks are in the order of their nodes or in turn: both are seen. */
static size_t count_nodes(const json_t *ranks)
{
    size_t n = 0;

    for (size_t i = 0; i < json_array_size(ranks); i++) {
        const char *host = tt_text_of(json_array_get(ranks, i), "host");
        size_t k = 0;

        while (k < i && strcmp(tt_text_of(json_array_get(ranks, k), "host"), host) != 0)
            k++;
        n += k == i;
    }
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
    const json_t *parameters = tt_member_at(result, "plan/parameters");
    const char *what = tt_text_of(parameters, "metadata.what");
    double v[TT_METADATA_NCOLUMNS];
    size_t i = 0;

    while (take_row(result, i, v) && !is_of_items(v))
        i++;
    if (take_row(result, i, v))
        fprintf(out, "\n%zu tasks, %.0f %s\n", tasks, v[TT_METADATA_COUNT],
                !strcmp(what, "files")         ? "files"
                : !strcmp(what, "directories") ? "directories"
                                               : "files/directories");
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
static struct rates take_rates(const json_t *result, int operation, int directories)
{
    struct rates r = {.min = INFINITY};
    double v[TT_METADATA_NCOLUMNS];

    for (size_t i = 0; take_row(result, i, v); i++) {
        double rate = v[TT_METADATA_COUNT] / v[TT_METADATA_SECONDS];

        if (v[TT_METADATA_OPERATION] != operation || v[TT_METADATA_OF_DIRECTORIES] != directories ||
            !(v[TT_METADATA_SECONDS] > 0))
            continue;
        r.n++;
        r.max = fmax(r.max, rate);
        r.min = fmin(r.min, rate);
        r.sum += rate;
        r.squares += rate * rate;
    }
    return r;
}

/* Whatever was done in it. */
static unsigned count_iterations(const json_t *result)
{
    double v[TT_METADATA_NCOLUMNS], last = -1;

    for (size_t i = 0; take_row(result, i, v); i++)
        last = fmax(last, v[TT_METADATA_REPETITION]);
    return (unsigned)fmin(last + 1, 1e9);
}

/* As wide as mdtest's own. */
static void print_row(FILE *out, const json_t *result, int operation, int directories,
                      const char *label)
{
    struct rates r = take_rates(result, operation, directories);
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
        int operation, directories;
        const char *label;
    } shown[] = {{TT_METADATA_CREATE, 1, "Directory creation"},
                 {TT_METADATA_STAT, 1, "Directory stat"},
                 {TT_METADATA_RENAME, 1, "Directory rename"},
                 {TT_METADATA_REMOVE, 1, "Directory removal"},
                 {TT_METADATA_CREATE, 0, "File creation"},
                 {TT_METADATA_STAT, 0, "File stat"},
                 {TT_METADATA_OPEN, 0, "File read"},
                 {TT_METADATA_REMOVE, 0, "File removal"},
                 {TT_METADATA_TREE, 1, "Tree creation"},
                 {TT_METADATA_FELL, 1, "Tree removal"}};

    print_head(out, result, command_line);
    fprintf(out, "\nSUMMARY rate (in ops/sec): (of %u iterations)\n", count_iterations(result));
    fprintf(out, "   %-26s  %14s %14s %14s %14s\n", "Operation", "Max", "Min", "Mean", "Std Dev");
    fprintf(out, "   %-26s  %14s %14s %14s %14s\n", "---------", "---", "---", "----", "-------");
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        print_row(out, result, shown[i].operation, shown[i].directories, shown[i].label);
    tt_report_warning_lines(out, result);
}
