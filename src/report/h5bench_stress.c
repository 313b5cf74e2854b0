/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/h5bench_stress.h"

#include <string.h>

#include "analysis/result.h"
#include "analysis/tables.h"
#include "base/json.h"

#define MIB 1048576.0

/* Columns that are parameters. */
static const struct {
    const char *name, *key;
} settings[] = {
    {"steps", "arrays.steps"},
    {"arrays", "arrays.arrays"},
    {"rows", "arrays.rows"},
    {"cols", "arrays.columns"},
    {"scaling", "arrays.scaling"},
    {"proc-rows", "arrays.process_rows"},
    {"proc-cols", "arrays.process_columns"},
    {"slowdim", "arrays.slowest"},
    {"rank", "arrays.rank"},
    {"layout", NULL}, /* chunked, if there is a chunk */
    {"mpi-io", "hdf5.method"},
};
#define NSETTINGS (sizeof settings / sizeof *settings)

/* Columns that are times, each a minimum and a maximum over ranks; some have a rate. */
static const struct {
    const char *name, *label, *row;
    const char *rate, *rate_label;
} times[] = {
    {"write-phase", "Write phase [s]", "write_phase", NULL, NULL},
    {"creat", "Create time [s]", "create", NULL, NULL},
    {"write", "Write time [s]", "write", "write-rate", "Write rate [MiB/s]"},
    {"read-phase", "Read phase [s]", "read_phase", NULL, NULL},
    {"read", "Read time [s]", "read", "read-rate", "Read rate [MiB/s]"},
};
#define NTIMES (sizeof times / sizeof *times)
static const char *const ends[] = {"min", "max"};

static double cell(const json_t *result, const char *row, int end)
{
    struct tt_rows t = tt_result_rows(result, "arrays");

    return tt_cell_of(&t, row, ends[end]);
}

static int add(json_t *figures, const char *name, const char *end, double value)
{
    char key[40];

    snprintf(key, sizeof key, "%s%s%s", name, *end ? "-" : "", end);
    return json_object_set_new(figures, key, json_real(value));
}

static double per(double amount, double seconds)
{
    return seconds > 0 ? amount / seconds : 0;
}

/* Rates are of one rank's bytes: the lowest is that of the longest time. */
static int add_times(json_t *figures, const json_t *result, double rank_bytes)
{
    int failed = 0;

    for (size_t i = 0; i < NTIMES; i++)
        for (int end = 0; end < 2; end++) {
            double other = cell(result, times[i].row, !end);

            failed |= add(figures, times[i].name, ends[end], cell(result, times[i].row, end));
            if (times[i].rate)
                failed |= add(figures, times[i].rate, ends[end], per(rank_bytes, other));
        }
    return failed;
}

static json_t *setting(const json_t *parameters, size_t i)
{
    if (!settings[i].key)
        return json_string(*tt_text_of(parameters, "hdf5.chunk") ? "chunked" : "contiguous");
    return json_string(tt_text_of(parameters, settings[i].key));
}

json_t *tt_h5bench_stress_figures(const json_t *result)
{
    const json_t *plan = json_object_get(result, "plan");
    const json_t *parameters = json_object_get(plan, "parameters");
    json_int_t ranks = tt_integer_of(plan, "ranks");
    double bytes = tt_result_metric(result, "bytes_written");
    json_t *figures = json_pack("{s:s, s:I}", "operation", "metadata", "ranks", ranks);
    int failed = figures ? 0 : -1;

    for (size_t i = 0; !failed && i < NSETTINGS; i++)
        failed = json_object_set_new(figures, settings[i].name, setting(parameters, i));
    if (!failed)
        failed =
            add(figures, "wall", "", tt_result_metric(result, "runtime")) |
            add(figures, "fsize", "", cell(result, "file_size", 1)) |
            add_times(figures, result, ranks > 0 ? bytes / (double)ranks : 0) |
            add(figures, "total size", "", bytes) |
            add(figures, "raw rate", "", per(bytes, cell(result, "write", 1))) |
            add(figures, "observed rate (wall)", "", per(bytes, cell(result, "write_phase", 1)));
    if (failed)
        json_decref(figures);
    return failed ? NULL : figures;
}

static double value(const json_t *figures, const char *name, const char *end)
{
    char key[40];

    snprintf(key, sizeof key, "%s-%s", name, end);
    return tt_number_of(figures, key);
}

static void print_both(FILE *out, const json_t *figures, const char *label, const char *name,
                       double unit)
{
    fprintf(out, "%-18s %16.6f %16.6f\n", label, value(figures, name, "min") / unit,
            value(figures, name, "max") / unit);
}

void tt_h5bench_stress_print(FILE *out, const json_t *figures)
{
    fprintf(out, "%-18s %16.6f\n", "Wall clock [s]", tt_number_of(figures, "wall"));
    fprintf(out, "%-18s %16.0f\n", "File size [B]", tt_number_of(figures, "fsize"));
    fprintf(out, "%-18s %16s %16s   (over MPI ranks)\n", "Measurement", "MIN", "MAX");
    for (size_t i = 0; i < NTIMES; i++) {
        print_both(out, figures, times[i].label, times[i].name, 1);
        if (times[i].rate)
            print_both(out, figures, times[i].rate_label, times[i].rate, MIB);
    }
    fprintf(out, "Rates are of one rank's bytes.\n");
}

static void write_names(FILE *out)
{
    for (size_t i = 0; i < NSETTINGS; i++)
        fprintf(out, "%s,", settings[i].name);
    fprintf(out, "wall [s],fsize [B]");
    for (size_t i = 0; i < NTIMES; i++) {
        for (int end = 0; end < 2; end++)
            fprintf(out, ",%s-%s [s]", times[i].name, ends[end]);
        for (int end = 0; times[i].rate && end < 2; end++)
            fprintf(out, ",%s-%s [MiB/s]", times[i].rate, ends[end]);
    }
    fputc('\n', out);
}

void tt_h5bench_stress_csv(FILE *out, const json_t *figures)
{
    write_names(out);
    for (size_t i = 0; i < NSETTINGS; i++)
        fprintf(out, "%s,", tt_text_of(figures, settings[i].name));
    fprintf(out, "%.9g,%.0f", tt_number_of(figures, "wall"), tt_number_of(figures, "fsize"));
    for (size_t i = 0; i < NTIMES; i++) {
        for (int end = 0; end < 2; end++)
            fprintf(out, ",%.9g", value(figures, times[i].name, ends[end]));
        for (int end = 0; times[i].rate && end < 2; end++)
            fprintf(out, ",%.9g", value(figures, times[i].rate, ends[end]) / MIB);
    }
    fputc('\n', out);
}
