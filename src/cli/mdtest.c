/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti mdtest: the workload metadata with mdtest's options and mdtest's summary. */
#include <math.h>

#include "build_info.h"
#include "cli/command.h"
#include "cli/dialect.h"
#include "report/report.h"
#include "spec/dialects/mdtest.h"
#include "workloads/metadata/metadata.h"

struct rates {
    unsigned n;
    double max, min, sum, squares;
};

/* Of one operation, over its repetitions. */
static struct rates take_rates(const json_t *rows, int operation, int folders)
{
    struct rates r = {.min = INFINITY};

    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        double v[TT_METADATA_NCOLUMNS], rate;

        for (size_t j = 0; j < TT_METADATA_NCOLUMNS; j++)
            v[j] = json_number_value(json_array_get(row, j));
        if (v[TT_METADATA_OPERATION] != operation || v[TT_METADATA_OF_FOLDERS] != folders ||
            !(v[TT_METADATA_SECONDS] > 0))
            continue;
        rate = v[TT_METADATA_COUNT] / v[TT_METADATA_SECONDS];
        r.n++;
        r.max = fmax(r.max, rate);
        r.min = fmin(r.min, rate);
        r.sum += rate;
        r.squares += rate * rate;
    }
    return r;
}

static void print_row(FILE *out, const json_t *rows, int operation, int folders, const char *label)
{
    struct rates r = take_rates(rows, operation, folders);
    double mean;

    if (r.n == 0 || r.max == 0)
        return;
    mean = r.sum / r.n;
    fprintf(out, "   %-19s : %14.3f %14.3f %14.3f %14.3f\n", label, r.max, r.min, mean,
            sqrt(fmax(r.squares / r.n - mean * mean, 0)));
}

static void print_result(FILE *out, const json_t *result, void *context)
{
    static const struct {
        int operation, folders;
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
    const json_t *rows = json_object_get(json_object_get(result, "tables"), "operations");
    const json_t *plan = json_object_get(result, "plan");

    (void)context;
    fprintf(out, "tutti %s (%s): the tests of mdtest, measured by tutti\n%lld task(s)\n\n",
            TT_VERSION, TT_REVISION, (long long)json_integer_value(json_object_get(plan, "ranks")));
    fprintf(out, "SUMMARY rate (in ops/sec): (of %u iterations)\n",
            take_rates(rows, TT_METADATA_TREE, 1).n);
    fprintf(out, "   %-19s   %14s %14s %14s %14s\n", "Operation", "Max", "Min", "Mean", "Std Dev");
    fprintf(out, "   %-19s   %14s %14s %14s %14s\n", "---------", "---", "---", "----", "-------");
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        print_row(out, rows, shown[i].operation, shown[i].folders, shown[i].label);
    tt_report_warning_lines(out, result);
}

int tt_cmd_mdtest(int argc, char **argv)
{
    return tt_dialect_run(argc, argv, "metadata", tt_mdtest_translate, print_result);
}
