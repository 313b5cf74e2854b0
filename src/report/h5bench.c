/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/h5bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/result.h"
#include "analysis/tables.h"
#include "base/json.h"
#include "build_info.h"
#include "report/paragraph.h"
#include "report/report.h"
#include "report/table.h"
#include "spec/units.h"

/* ---- figures ---- */

static double duration(const json_t *result, const char *key)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    double seconds = 0;

    tt_parse_duration(tt_result_parameter(result, key), &seconds, &ignored);
    return seconds;
}

static json_t *rate(double bytes, double seconds)
{
    return seconds > 0 ? json_real(bytes / seconds) : json_null();
}

static const char *answer(const json_t *result, const char *key, const char *yes)
{
    return strcmp(tt_result_parameter(result, key), yes) ? "NO" : "YES";
}

/* Of the slowest rank, within the run. */
static double phase(const json_t *result, const char *name)
{
    const json_t *times = json_object_get(json_object_get(result, "phases"), name);

    return tt_number_of(times, "max") - tt_number_of(times, "outside");
}

/* Calls that move data, without syncs, which h5bench's applications do not have. */
static double moving_time(const json_t *result, bool reads)
{
    return phase(result, reads ? "io_read" : "io_write");
}

/* Rank 0's seconds, as h5bench defines them. */
static double seconds(const json_t *result, bool reads, const char *column)
{
    struct tt_rows t = tt_result_rows(result, "h5bench");

    return tt_cell_of(&t, reads ? "read" : "write", column);
}

static int add_times(json_t *figures, const json_t *result, double bytes, bool reads)
{
    double raw = seconds(result, reads, "raw"), observed = seconds(result, reads, "observed");
    struct tt_passes passes = {0};
    double compute;

    tt_passes_read(tt_result_parameter(result, "particles.compute"), &passes);
    compute = (tt_result_setting(result, "particles.steps") - 1) *
              (duration(result, "particles.pause") + tt_passes_seconds(&passes));

    return json_object_set_new(figures, "total compute time", json_real(compute)) |
           json_object_set_new(figures, "total size", json_real(bytes)) |
           json_object_set_new(figures, "raw time", json_real(raw)) |
           json_object_set_new(figures, "raw rate", rate(bytes, raw)) |
           json_object_set_new(figures, "metadata time",
                               json_real(seconds(result, reads, "metadata"))) |
           json_object_set_new(figures, "observed rate", rate(bytes, observed - compute)) |
           json_object_set_new(figures, "observed time", json_real(observed));
}

/* h5bench prints them, but has no rows for them. */
static int add_calls(json_t *figures, const json_t *result)
{
    return json_object_set_new(figures, "H5Fcreate() time",
                               json_real(seconds(result, false, "opening"))) |
           json_object_set_new(figures, "H5Fflush() time",
                               json_real(seconds(result, false, "syncing"))) |
           json_object_set_new(figures, "H5Fclose() time",
                               json_real(seconds(result, false, "closing")));
}

static bool modifies(const char *operation)
{
    return !strcmp(operation, "overwrite") || !strcmp(operation, "append");
}

/* Numbers that vary by rank, as they came out. */
static int add_particles(json_t *figures, const json_t *result)
{
    struct tt_rows t = tt_result_rows(result, "ranks");

    return json_object_set_new(figures, "Total number of particles",
                               json_real(tt_cell(&t, 0, "total"))) |
           json_object_set_new(figures, "Final mean particles", json_real(tt_cell(&t, 0, "mean"))) |
           json_object_set_new(figures, "Final standard deviation",
                               json_real(tt_cell(&t, 0, "deviation")));
}

static int add_answers(json_t *figures, const json_t *result, bool has_subfiling)
{
    int failed =
        json_object_set_new(figures, "collective data",
                            json_string(answer(result, "hdf5.method", "collective"))) |
        json_object_set_new(figures, "collective meta",
                            json_string(answer(result, "hdf5.collective_metadata", "yes")));

    return has_subfiling ? failed | json_object_set_new(figures, "subfiling", json_string("NO"))
                         : failed;
}

/* Between the host and a device: the mean over ranks, of which each has its own time. */
static int add_staging(json_t *figures, const json_t *result, double ranks, bool reads)
{
    double spent = tt_result_metric(result, "staging_time") / ranks;

    if (!(spent > 0))
        return 0;
    return json_object_set_new(figures, reads ? "raw h2d time" : "raw d2h time", json_real(spent)) |
           json_object_set_new(figures, reads ? "raw h2d rate" : "raw d2h rate",
                               rate(tt_result_metric(result, "staged"), spent));
}

/* What only we have, behind h5bench's. */
static int add_others(json_t *figures, const json_t *result, double bytes, bool reads)
{
    double observed = seconds(result, reads, "observed");
    double computation = seconds(result, reads, "computation");
    double io_rate = tt_result_metric(result, reads ? "read_rate" : "write_rate");

    return json_object_set_new(figures, "observed rate (wall)", rate(bytes, observed)) |
           json_object_set_new(figures, "observed rate (not hidden)",
                               rate(bytes, observed - computation)) |
           json_object_set_new(figures, "I/O rate", json_real(io_rate));
}

/* Rows as the programs of h5bench have them. */
static json_t *particles_figures(const json_t *result, const char *operation, bool reads)
{
    double bytes = tt_result_metric(result, reads ? "bytes_read" : "bytes_written");
    const json_t *plan = json_object_get(result, "plan");
    json_int_t ranks = tt_integer_of(plan, "ranks");
    json_t *figures = json_pack("{s:s, s:I}", "operation", operation, "ranks", ranks);
    int failed = figures ? 0 : -1;

    if (!failed && !strcmp(operation, "write_var_normal_dist"))
        failed = add_particles(figures, result);
    if (!failed && !modifies(operation))
        failed = add_answers(figures, result, strcmp(operation, "write unlimited") != 0);
    if (!failed)
        failed = add_times(figures, result, bytes, reads);
    if (!failed && !reads && !modifies(operation))
        failed = add_calls(figures, result);
    if (!failed)
        failed = add_staging(figures, result, (double)ranks, reads);
    if (!failed)
        failed = add_others(figures, result, bytes, reads);
    if (failed)
        json_decref(figures);
    return failed ? NULL : figures;
}

/* ---- the workload arrays in the words of hdf5-iotest, which is h5bench's metadata ---- */

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

static double stress_cell(const json_t *result, const char *row, int end)
{
    struct tt_rows t = tt_result_rows(result, "arrays");

    return tt_cell_of(&t, row, ends[end]);
}

static int add_figure(json_t *figures, const char *name, const char *end, double value)
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
static int add_stress_times(json_t *figures, const json_t *result, double rank_bytes)
{
    int failed = 0;

    for (size_t i = 0; i < NTIMES; i++)
        for (int end = 0; end < 2; end++) {
            double other = stress_cell(result, times[i].row, !end);

            failed |= add_figure(figures, times[i].name, ends[end],
                                 stress_cell(result, times[i].row, end));
            if (times[i].rate)
                failed |= add_figure(figures, times[i].rate, ends[end], per(rank_bytes, other));
        }
    return failed;
}

static json_t *stress_setting(const json_t *parameters, size_t i)
{
    if (!settings[i].key)
        return json_string(*tt_text_of(parameters, "hdf5.chunk") ? "chunked" : "contiguous");
    return json_string(tt_text_of(parameters, settings[i].key));
}

static json_t *stress_figures(const json_t *result)
{
    const json_t *plan = json_object_get(result, "plan");
    const json_t *parameters = json_object_get(plan, "parameters");
    json_int_t ranks = tt_integer_of(plan, "ranks");
    double bytes = tt_result_metric(result, "bytes_written");
    json_t *figures = json_pack("{s:s, s:I}", "operation", "metadata", "ranks", ranks);
    int failed = figures ? 0 : -1;

    for (size_t i = 0; !failed && i < NSETTINGS; i++)
        failed = json_object_set_new(figures, settings[i].name, stress_setting(parameters, i));
    if (!failed)
        failed = add_figure(figures, "wall", "", tt_result_metric(result, "runtime")) |
                 add_figure(figures, "fsize", "", stress_cell(result, "file_size", 1)) |
                 add_stress_times(figures, result, ranks > 0 ? bytes / (double)ranks : 0) |
                 add_figure(figures, "total size", "", bytes) |
                 add_figure(figures, "raw rate", "", per(bytes, stress_cell(result, "write", 1))) |
                 add_figure(figures, "observed rate (wall)", "",
                            per(bytes, stress_cell(result, "write_phase", 1)));
    if (failed)
        json_decref(figures);
    return failed ? NULL : figures;
}

static double end_of(const json_t *figures, const char *name, const char *end)
{
    char key[40];

    snprintf(key, sizeof key, "%s-%s", name, end);
    return tt_number_of(figures, key);
}

static void print_both(FILE *out, const json_t *figures, const char *label, const char *name,
                       double unit)
{
    fprintf(out, "%-18s %16.6f %16.6f\n", label, end_of(figures, name, "min") / unit,
            end_of(figures, name, "max") / unit);
}

static void stress_print(FILE *out, const json_t *figures)
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

static void stress_csv(FILE *out, const json_t *figures)
{
    write_names(out);
    for (size_t i = 0; i < NSETTINGS; i++)
        fprintf(out, "%s,", tt_text_of(figures, settings[i].name));
    fprintf(out, "%.9g,%.0f", tt_number_of(figures, "wall"), tt_number_of(figures, "fsize"));
    for (size_t i = 0; i < NTIMES; i++) {
        for (int end = 0; end < 2; end++)
            fprintf(out, ",%.9g", end_of(figures, times[i].name, ends[end]));
        for (int end = 0; times[i].rate && end < 2; end++)
            fprintf(out, ",%.9g", end_of(figures, times[i].rate, ends[end]) / MIB);
    }
    fputc('\n', out);
}

/* ---- the workload climate in the words of E3SM-IO ---- */

static const struct {
    const char *name, *label, *row;
} history_times[] = {
    {"open", "Open [s]", "open"},    {"def", "Define [s]", "define"},
    {"post", "Post [s]", "post"},    {"flush", "Flush [s]", "flush"},
    {"close", "Close [s]", "close"}, {"end-to-end", "End to end [s]", "end_to_end"},
};
#define NHISTORY (sizeof history_times / sizeof *history_times)

/* Nothing of E3SM-IO syncs. Without overlap, "flush" is sync alone. What it writes at the end, as
 * blobs and logs, is written while it closes the file. */
static int add_history_rates(json_t *figures, const json_t *result, double bytes)
{
    bool overlaps = strcmp(tt_result_parameter(result, "overlap"), "none") != 0;
    bool at_end = !strcmp(tt_result_parameter(result, "climate.layout"), "blob") ||
                  strstr(tt_result_parameter(result, "layers"), "log");
    double flush = end_of(figures, "flush", "max"), sync = overlaps ? 0 : flush;
    double moving = end_of(figures, "post", "max") + flush - sync +
                    (at_end ? end_of(figures, "close", "max") : 0);

    return add_figure(figures, "raw rate", "", per(bytes, moving)) |
           add_figure(figures, "raw rate (with sync)", "", per(bytes, moving + sync)) |
           add_figure(figures, "observed rate", "",
                      per(bytes, end_of(figures, "end-to-end", "max") - sync)) |
           add_figure(figures, "observed rate (wall)", "",
                      tt_result_metric(result, "open_to_close_rate"));
}

static json_t *history_figures(const json_t *result)
{
    struct tt_rows t = tt_result_rows(result, "climate");
    json_int_t ranks = tt_integer_of(json_object_get(result, "plan"), "ranks");
    double bytes = tt_result_metric(result, "bytes_written");
    json_t *figures =
        json_pack("{s:s, s:I, s:f, s:f}", "operation", "e3sm", "ranks", ranks, "requests",
                  tt_result_metric(result, "requests"), "total size", bytes);
    int failed = figures ? 0 : -1;

    for (size_t i = 0; !failed && i < NHISTORY; i++)
        failed = add_figure(figures, history_times[i].name, "min",
                            tt_cell_of(&t, history_times[i].row, "write_least")) |
                 add_figure(figures, history_times[i].name, "max",
                            tt_cell_of(&t, history_times[i].row, "write_most"));
    if (!failed)
        failed = add_history_rates(figures, result, bytes);
    if (failed)
        json_decref(figures);
    return failed ? NULL : figures;
}

static void history_print(FILE *out, const json_t *figures)
{
    fprintf(out, "%-18s %16.0f\n", "Write requests", tt_number_of(figures, "requests"));
    fprintf(out, "%-18s %16.6f\n", "Amount [MiB]", tt_number_of(figures, "total size") / MIB);
    fprintf(out, "%-18s %16s %16s   (over MPI ranks)\n", "Measurement", "MIN", "MAX");
    for (size_t i = 0; i < NHISTORY; i++)
        print_both(out, figures, history_times[i].label, history_times[i].name, 1);
    fprintf(out, "%-18s %16s %16s\n", "Rate [MiB/s]", "WITHOUT SYNC", "WITH SYNC");
    fprintf(out, "%-18s %16.6f %16.6f\n", "Write-only", tt_number_of(figures, "raw rate") / MIB,
            tt_number_of(figures, "raw rate (with sync)") / MIB);
    fprintf(out, "%-18s %16.6f %16.6f\n", "Open-to-close",
            tt_number_of(figures, "observed rate") / MIB,
            tt_number_of(figures, "observed rate (wall)") / MIB);
}

/* ---- the workload arrays in the words of the exerciser ---- */

/* Columns of every size; a rate is the bytes of all ranks over the time before it. */
static const struct {
    const char *name, *column;
    bool is_rate;
} exercises[] = {
    {"H5DWrite", "write", false}, {"RawWrBDWTH", "write", true}, {"H5Dread", "read", false},
    {"RawRdBDWTH", "read", true}, {"H5Fopen", "open", false},    {"H5Fclose", "close", false},
    {"H5Fflush", "sync", false},
};
#define NEXERCISES (sizeof exercises / sizeof *exercises)
static const char *const moments[] = {"Min", "Med", "Max", "Avg", "Std"};
#define NMOMENTS (sizeof moments / sizeof *moments)

static int compare_values(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static json_t *moments_of(double *values, size_t n)
{
    double sum = 0, squares = 0;

    qsort(values, n, sizeof *values, compare_values);
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    for (size_t i = 0; i < n; i++)
        squares += (values[i] - sum / (double)n) * (values[i] - sum / (double)n);
    return json_pack("[f, f, f, f, f]", values[0], (values[(n - 1) / 2] + values[n / 2]) / 2,
                     values[n - 1], sum / (double)n, sqrt(squares / (double)n));
}

/* The rows [from, to) are repeats of one size. */
static json_t *size_figures(const struct tt_rows *t, size_t from, size_t to, double ranks,
                            double *values)
{
    double tile = tt_cell(t, from, "tile");
    json_t *size = json_pack("{s:f}", "Bufsize", tile);

    for (size_t k = 0; size && k < NEXERCISES; k++) {
        for (size_t i = from; i < to; i++) {
            double seconds = tt_cell(t, i, exercises[k].column);

            values[i - from] = exercises[k].is_rate ? per(tile * ranks, seconds) : seconds;
        }
        json_object_set_new(size, exercises[k].name, moments_of(values, to - from));
    }
    return size;
}

static json_t *exerciser_figures(const json_t *result)
{
    struct tt_rows t = tt_result_rows(result, "repeats");
    json_int_t ranks = tt_integer_of(json_object_get(result, "plan"), "ranks");
    double bytes = tt_result_metric(result, "bytes_written");
    double *values = calloc(t.n + 1, sizeof *values);
    json_t *sizes = json_array();
    size_t to;

    for (size_t from = 0; values && from < t.n; from = to) {
        for (to = from + 1; to < t.n && tt_cell(&t, to, "round") == tt_cell(&t, from, "round");)
            to++;
        json_array_append_new(sizes, size_figures(&t, from, to, (double)ranks, values));
    }
    free(values);
    return json_pack("{s:s, s:I, s:f, s:f, s:f, s:f, s:o}", "operation", "exerciser", "ranks",
                     ranks, "total size", bytes, "raw rate", per(bytes, moving_time(result, false)),
                     "raw rate (with sync)", tt_result_metric(result, "write_rate"),
                     "observed rate (wall)", tt_result_metric(result, "application_rate"), "sizes",
                     sizes);
}

static void exerciser_print(FILE *out, const json_t *figures)
{
    const json_t *size;
    size_t i;

    fprintf(out, "%12s", "Bufsize");
    for (size_t k = 0; k < NEXERCISES; k++)
        fprintf(out, " %*s", exercises[k].is_rate ? 10 : 8, exercises[k].name);
    fputc('\n', out);
    json_array_foreach(json_object_get(figures, "sizes"), i, size)
    {
        for (size_t m = 0; m < NMOMENTS; m++) {
            fprintf(out, "%s %8.0f", moments[m], tt_number_of(size, "Bufsize"));
            for (size_t k = 0; k < NEXERCISES; k++) {
                const json_t *value = json_array_get(json_object_get(size, exercises[k].name), m);
                double unit = exercises[k].is_rate ? MIB : 1;

                fprintf(out, exercises[k].is_rate ? " %10.3f" : " %8.6f",
                        json_number_value(value) / unit);
            }
            fputc('\n', out);
        }
    }
    fprintf(out, "Seconds and MiB/s; H5Fopen has the group, dataset and attributes in it.\n");
}

/* ---- openpmd, amrex and macsio, which have no figures of their own in h5bench ---- */

/* Sleep that was asked for, between files or dumps. */
static double requested_sleep(const json_t *result)
{
    double files = tt_result_setting(result, "amr.plot_files") +
                   tt_result_setting(result, "amr.particle_files");
    double dumps = tt_result_setting(result, "parts.dumps");

    return dumps > 0   ? (dumps - 1) * duration(result, "parts.pause")
           : files > 0 ? (files - 1) * duration(result, "amr.pause")
                       : 0;
}

/* From the first dump to the end of the last, without the restart after it; or all of the run. */
static double own_time(const json_t *result, double bytes, bool reads)
{
    double application = tt_result_metric(result, "application_rate");

    return !reads && application > 0 ? bytes / application : tt_result_metric(result, "runtime");
}

/* The time of openPMD-api's benchmarks is that of the whole series. */
static json_t *application_figures(const json_t *result, const char *operation, bool reads)
{
    double bytes = tt_result_metric(result, reads ? "bytes_read" : "bytes_written");
    double io = tt_result_metric(result, reads ? "read_rate" : "write_rate");
    double compute = requested_sleep(result), wall = own_time(result, bytes, reads);
    bool overlaps = strcmp(tt_result_parameter(result, "overlap"), "none") != 0;
    double sync = reads ? 0 : phase(result, overlaps ? "sync" : "io_sync"); /* also of others */
    json_int_t ranks = tt_integer_of(json_object_get(result, "plan"), "ranks");
    json_t *figures =
        json_pack("{s:s, s:I, s:f, s:f, s:f}", "operation", operation, "ranks", ranks,
                  "total compute time", compute, "total size", bytes, "observed time", wall);

    if (figures &&
        (json_object_set_new(figures, "raw rate", rate(bytes, moving_time(result, reads))) ||
         (!reads && json_object_set_new(figures, "raw rate (with sync)", json_real(io))) ||
         json_object_set_new(figures, "observed rate", rate(bytes, wall - compute - sync)) ||
         json_object_set_new(figures, "observed rate (wall)", rate(bytes, wall)))) {
        json_decref(figures);
        return NULL;
    }
    return figures;
}

/* ---- one of them ---- */

json_t *tt_h5bench_figures(const json_t *result, const char *operation, bool reads)
{
    if (!strcmp(operation, "metadata"))
        return stress_figures(result);
    if (!strcmp(operation, "e3sm"))
        return history_figures(result);
    if (!strcmp(operation, "exerciser"))
        return exerciser_figures(result);
    if (!strcmp(operation, "openpmd") || !strcmp(operation, "amrex") ||
        !strcmp(operation, "macsio"))
        return application_figures(result, operation, reads);
    return particles_figures(result, operation, reads);
}

/* ---- values ---- */

enum kind { PLAIN, SECONDS, BYTES, RATE };

static enum kind kind_of(const char *name)
{
    if (strstr(name, "rate"))
        return RATE;
    if (strstr(name, "time"))
        return SECONDS;
    return strstr(name, "size") ? BYTES : PLAIN;
}

/* The largest unit of 1024s in which the value is at least 1. */
static double scale(double value, char *unit, size_t size, const char *per)
{
    static const char *const prefixes[] = {"", "K", "M", "G", "T"};
    size_t i = 0;

    for (; value >= 1024 && i + 1 < sizeof prefixes / sizeof *prefixes; i++)
        value /= 1024;
    snprintf(unit, size, "%sB%s", prefixes[i], per);
    return value;
}

static void format(const json_t *value, enum kind kind, char *text, size_t size, char *unit,
                   size_t unit_size)
{
    double x = json_number_value(value);

    unit[0] = '\0';
    if (kind == SECONDS)
        snprintf(unit, unit_size, "seconds");
    else if (kind != PLAIN)
        x = scale(x, unit, unit_size, kind == RATE ? "/s" : "");
    if (json_is_string(value))
        snprintf(text, size, "%s", json_string_value(value));
    else if (json_is_null(value))
        snprintf(text, size, "inf");
    else if (kind == PLAIN)
        snprintf(text, size, "%.15g", x);
    else
        snprintf(text, size, "%.6f", x);
}

void tt_h5bench_csv(FILE *out, const json_t *figures)
{
    const char *name;
    json_t *value;

    if (!strcmp(tt_text_of(figures, "operation"), "metadata")) {
        stress_csv(out, figures);
        return;
    }
    fprintf(out, "metric, value, unit\n");
    json_object_foreach((json_t *)figures, name, value)
    {
        char text[64], unit[16];

        format(value, kind_of(name), text, sizeof text, unit, sizeof unit);
        fprintf(out, "%s, %s, %s\n", name, text, unit);
    }
}

/* ---- for people ---- */

void tt_h5bench_head(FILE *out, const char *path, const char *directory)
{
    fprintf(out, "tutti %s (%s): the benchmarks of h5bench, measured by tutti\n", TT_VERSION,
            TT_REVISION);
    fprintf(out, "workflow   %s\nresults    %s\n", path, directory);
}

static void print_line(FILE *out, const json_t *figures, const char *name, const char *label,
                       const char *suffix)
{
    const json_t *value = json_object_get(figures, name);
    enum kind kind = kind_of(name);
    char text[64], unit[16];

    if (!value)
        return;
    format(value, kind, text, sizeof text, unit, sizeof unit);
    fprintf(out, "%s%s: %s%s%s\n", label, suffix, text, kind == PLAIN ? "" : " ",
            kind == SECONDS ? "s" : unit);
}

/* The lines of h5bench, with the verb between the two parts of a label that has two. */
static void print_lines(FILE *out, const json_t *figures, const char *mode, const char *verb)
{
    static const struct {
        const char *name, *before, *after;
    } lines[] = {
        {"Total number of particles", "Total number of particles", NULL},
        {"Final mean particles", "Final mean particles", NULL},
        {"Final standard deviation", "Final standard deviation", NULL},
        {"total compute time", "Total emulated compute time", NULL},
        {"total size", "Total ", " size"},
        {"raw h2d time", "Raw h2d time", NULL},
        {"raw d2h time", "Raw d2h time", NULL},
        {"raw time", "Raw ", " time"},
        {"metadata time", "Metadata time", NULL},
        {"H5Fcreate() time", "H5Fcreate() time", NULL},
        {"H5Fflush() time", "H5Fflush() time", NULL},
        {"H5Fclose() time", "H5Fclose() time", NULL},
    };
    char label[64];

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        snprintf(label, sizeof label, "%s%s%s", lines[i].before, lines[i].after ? verb : "",
                 lines[i].after ? lines[i].after : "");
        print_line(out, figures, lines[i].name, label, "");
    }
    snprintf(label, sizeof label, "Observed %s%scompletion time", strcmp(verb, "write") ? verb : "",
             strcmp(verb, "write") ? " " : "");
    print_line(out, figures, "observed time", label, "");
    for (int i = 0; i < 2; i++) {
        snprintf(label, sizeof label, "%s Raw %s rate", mode, i ? "d2h" : "h2d");
        print_line(out, figures, i ? "raw d2h rate" : "raw h2d rate", label, "");
    }
    snprintf(label, sizeof label, "%s Raw %s rate", mode, verb);
    print_line(out, figures, "raw rate", label, "");
    print_line(out, figures, "raw rate (with sync)", label, " (with sync)");
    snprintf(label, sizeof label, "%s Observed %s rate", mode, verb);
    print_line(out, figures, "observed rate", label, "");
    print_line(out, figures, "observed rate (wall)", label, " (wall)");
    print_line(out, figures, "observed rate (not hidden)", label, " (not hidden)");
    print_line(out, figures, "I/O rate", "I/O rate, hidden or not", "");
}

void tt_h5bench_results(FILE *out, const json_t *row, size_t n, size_t total)
{
    const json_t *figures = json_object_get(row, "figures");
    const json_t *result = json_object_get(row, "result");
    const char *operation = tt_text_of(figures, "operation");
    const char *mode = strcmp(tt_result_parameter(result, "overlap"), "async") ? "SYNC" : "ASYNC";
    struct tt_paragraph head = {0};

    tt_paragraph_add(&head, "Benchmark %zu of %zu: %s, file %s", n, total,
                     tt_text_of(row, "benchmark"), tt_text_of(row, "file"));
    fprintf(out, "\n%s\n", head.text);
    if (!strcmp(operation, "metadata")) {
        stress_print(out, figures);
    } else if (!strcmp(operation, "e3sm")) {
        history_print(out, figures);
    } else if (!strcmp(operation, "exerciser")) {
        exerciser_print(out, figures);
    } else {
        fprintf(out, "=================== Performance Results ==================\n");
        fprintf(out, "Total number of ranks: %lld\n", (long long)tt_integer_of(figures, "ranks"));
        print_lines(out, figures, mode,
                    modifies(operation)        ? "modify"
                    : tt_is_true(row, "reads") ? "read"
                                               : "write");
        fprintf(out, "===========================================================\n");
    }
    if (tt_number_of(row, "stored") > 0)
        fprintf(out, "Stored size: %.6f MB, compressed to %.1f %% (ratio %.2f)\n",
                tt_number_of(row, "stored") / 1048576,
                100 * tt_number_of(row, "stored") / tt_number_of(figures, "total size"),
                tt_number_of(figures, "total size") / tt_number_of(row, "stored"));
    if (tt_is_true(row, "verified"))
        fprintf(out, "Verified: every byte that was read is what had been written\n");
    tt_report_warnings(out, result, "! ");
    tt_say_marked(out, "! ", "%s", tt_text_of(row, "notice"));
}

void tt_h5bench_connector(FILE *out, const char *connector)
{
    if (connector)
        tt_say_marked(
            out, "vol: ",
            "the connector '%.60s' is not loaded; MODE ASYNC overlaps by tutti's own queue",
            connector);
}

/* ---- the summary ---- */

static void add_rate(struct tt_table *t, const json_t *figures, const char *name)
{
    const json_t *value = json_object_get(figures, name);
    char text[TT_UNIT_TEXT];

    tt_table_add(t, "%s",
                 !value                  ? "-"
                 : json_is_number(value) ? tt_format_rate(json_number_value(value), text)
                                         : "inf");
}

void tt_h5bench_summary(FILE *out, const json_t *rows)
{
    static const struct tt_column columns[] = {
        {.title = "no.", .right = true},      {.title = "benchmark", .least = 9},
        {.title = "file", .least = 6},        {.title = "ranks", .right = true},
        {.title = "size", .right = true},     {.title = "raw rate", .right = true},
        {.title = "observed", .right = true}, {.title = "observed", .right = true},
        {.title = "status", .least = 8}};
    struct tt_table t = {columns, sizeof columns / sizeof *columns, .tight = true};
    char size[TT_UNIT_TEXT];

    for (size_t i = 0; i < 6; i++) /* a second line of titles */
        tt_table_add(&t, "%s", "");
    tt_table_add(&t, "(h5bench)");
    tt_table_add(&t, "(wall)");
    tt_table_add(&t, "%s", "");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i), *figures = json_object_get(row, "figures");
        bool known = json_is_object(figures);

        tt_table_add(&t, "%zu", i + 1);
        tt_table_add(&t, "%s", tt_text_of(row, "benchmark"));
        tt_table_add(&t, "%s", tt_text_of(row, "file"));
        if (known)
            tt_table_add(&t, "%lld", (long long)tt_integer_of(figures, "ranks"));
        else
            tt_table_add(&t, "-");
        tt_table_add(&t, "%s",
                     known ? tt_format_bytes(tt_number_of(figures, "total size"), size) : "-");
        add_rate(&t, figures, "raw rate");
        add_rate(&t, figures, "observed rate");
        add_rate(&t, figures, "observed rate (wall)");
        tt_table_add(&t, "%s",
                     tt_is_true(row, "verified") && !strcmp(tt_text_of(row, "status"), "done")
                         ? "verified"
                         : tt_text_of(row, "status"));
    }
    fputc('\n', out);
    tt_table_print(&t, out, NULL);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);

        if (*tt_text_of(row, "reason"))
            tt_say_marked(out, "! ", "%zu %s %s: %s", i + 1, tt_text_of(row, "benchmark"),
                          tt_text_of(row, "status"), tt_text_of(row, "reason"));
    }
}
