/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/h5bench_stress.h"

#include <string.h>

#include "spec/units.h"
#include "workloads/arrays.h"

/* Columns that are parameters. */
static const struct {
    const char *name, *key;
} settings[] = {
    {"steps", "arrays.steps"},
    {"arrays", "arrays.arrays"},
    {"rows", "arrays.rows"},
    {"columns", "arrays.columns"},
    {"scaling", "arrays.scaling"},
    {"process-rows", "arrays.process_rows"},
    {"process-columns", "arrays.process_columns"},
    {"slowest-dimension", "arrays.slowest"},
    {"dataset-rank", "arrays.rank"},
    {"chunk", "hdf5.chunk"},
    {"mpi-io", "hdf5.method"},
};

/* Columns that are times, each a minimum and a maximum over ranks; some have a rate. */
static const struct {
    const char *name;
    int row;
    const char *rate;
} times[] = {
    {"write-phase", TT_ARRAYS_WRITE_PHASE, NULL}, {"creat", TT_ARRAYS_CREATE, NULL},
    {"write", TT_ARRAYS_WRITE, "write-rate"},     {"read-phase", TT_ARRAYS_READ_PHASE, NULL},
    {"read", TT_ARRAYS_READ, "read-rate"},
};
static const char *const ends[] = {"min", "max"};

static double metric(const json_t *result, const char *name)
{
    const json_t *m = json_object_get(json_object_get(result, "metrics"), name);

    return json_number_value(json_object_get(m, "value"));
}

static double cell(const json_t *result, int row, int column)
{
    const json_t *rows = json_object_get(json_object_get(result, "tables"), "arrays");

    return json_number_value(json_array_get(json_array_get(rows, (size_t)row), (size_t)column));
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

    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        for (int end = 0; end < 2; end++) {
            double other = cell(result, times[i].row, !end);

            failed |= add(figures, times[i].name, ends[end], cell(result, times[i].row, end));
            if (times[i].rate)
                failed |= add(figures, times[i].rate, ends[end], per(rank_bytes, other));
        }
    return failed;
}

json_t *tt_h5bench_stress_figures(const json_t *result)
{
    const json_t *plan = json_object_get(result, "plan");
    const json_t *parameters = json_object_get(plan, "parameters");
    json_int_t ranks = json_integer_value(json_object_get(plan, "ranks"));
    double bytes = metric(result, "bytes_written");
    json_t *figures = json_pack("{s:s, s:I}", "operation", "metadata", "ranks", ranks);
    int failed = figures ? 0 : -1;

    for (size_t i = 0; !failed && i < sizeof settings / sizeof *settings; i++) {
        json_t *value = json_object_get(parameters, settings[i].key);

        failed = json_object_set(figures, settings[i].name, value ? value : json_null());
    }
    if (!failed)
        failed = add(figures, "wall", "", metric(result, "runtime")) |
                 add(figures, "fsize", "", cell(result, TT_ARRAYS_FILE_SIZE, 1)) |
                 add_times(figures, result, ranks > 0 ? bytes / (double)ranks : 0) |
                 add(figures, "total size", "", bytes) |
                 add(figures, "raw rate", "", per(bytes, cell(result, TT_ARRAYS_WRITE, 1))) |
                 add(figures, "observed rate (wall)", "",
                     per(bytes, cell(result, TT_ARRAYS_WRITE_PHASE, 1)));
    if (failed)
        json_decref(figures);
    return failed ? NULL : figures;
}

static double value(const json_t *figures, const char *name, const char *end)
{
    char key[40];

    snprintf(key, sizeof key, "%s-%s", name, end);
    return json_number_value(json_object_get(figures, key));
}

void tt_h5bench_stress_print(FILE *out, const json_t *figures)
{
    char a[TT_UNIT_TEXT], b[TT_UNIT_TEXT];

    fprintf(out, "%-12s %12s %12s   (over ranks)\n", "", "min", "max");
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        fprintf(out, "%-12s %12s %12s\n", times[i].name,
                tt_format_seconds(value(figures, times[i].name, "min"), a),
                tt_format_seconds(value(figures, times[i].name, "max"), b));
        if (times[i].rate)
            fprintf(out, "%-12s %12s %12s   (of one rank's bytes)\n", times[i].rate,
                    tt_format_rate(value(figures, times[i].rate, "min"), a),
                    tt_format_rate(value(figures, times[i].rate, "max"), b));
    }
    fprintf(out, "%-12s %12s\n%-12s %12s\n", "wall",
            tt_format_seconds(json_number_value(json_object_get(figures, "wall")), a), "fsize",
            tt_format_bytes(json_number_value(json_object_get(figures, "fsize")), b));
}

static const char *unit_of(const char *name)
{
    if (!strcmp(name, "fsize") || !strcmp(name, "total size"))
        return " [B]";
    return strstr(name, "rate") ? " [B/s]" : " [s]";
}

void tt_h5bench_stress_csv(FILE *out, const json_t *figures)
{
    const char *name, *separator = "";
    json_t *v;

    json_object_foreach((json_t *)figures, name, v)
    {
        fprintf(out, "%s%s%s", separator, name, json_is_real(v) ? unit_of(name) : "");
        separator = ",";
    }
    separator = "\n";
    json_object_foreach((json_t *)figures, name, v)
    {
        if (json_is_string(v))
            fprintf(out, "%s%s", separator, json_string_value(v));
        else if (json_is_null(v))
            fprintf(out, "%s", separator);
        else
            fprintf(out, "%s%.9g", separator, json_number_value(v));
        separator = ",";
    }
    fputc('\n', out);
}
