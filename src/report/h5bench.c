/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/h5bench.h"

#include <string.h>

#include "build_info.h"
#include "report/h5bench_stress.h"
#include "report/paragraph.h"
#include "spec/units.h"

/* Columns of the table "h5bench" of a result. */
enum { RAW, METADATA, OBSERVED, COMPUTATION, NCOLUMNS };

/* ---- figures ---- */

static const char *parameter(const json_t *result, const char *key)
{
    const json_t *all = json_object_get(json_object_get(result, "plan"), "parameters");
    const char *value = json_string_value(json_object_get(all, key));

    return value ? value : "";
}

static double number(const json_t *result, const char *key)
{
    double value = 0;

    return sscanf(parameter(result, key), "%lf", &value) == 1 ? value : 0;
}

static double duration(const json_t *result, const char *key)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    double seconds = 0;

    tt_parse_duration(parameter(result, key), &seconds, &ignored);
    return seconds;
}

static double metric(const json_t *result, const char *name)
{
    const json_t *m = json_object_get(json_object_get(result, "metrics"), name);

    return json_number_value(json_object_get(m, "value"));
}

static json_t *rate(double bytes, double seconds)
{
    return seconds > 0 ? json_real(bytes / seconds) : json_null();
}

static const char *answer(const json_t *result, const char *key, const char *yes)
{
    return strcmp(parameter(result, key), yes) ? "NO" : "YES";
}

static int add_times(json_t *figures, const json_t *result, double bytes, bool reads)
{
    const json_t *rows = json_object_get(json_object_get(result, "tables"), "h5bench");
    const json_t *row = json_array_get(rows, reads);
    double t[NCOLUMNS], compute;

    for (size_t i = 0; i < NCOLUMNS; i++)
        t[i] = json_number_value(json_array_get(row, i));
    compute = (number(result, "particles.steps") - 1) * duration(result, "particles.compute");
    return json_object_set_new(figures, "total compute time", json_real(compute)) |
           json_object_set_new(figures, "total size", json_real(bytes)) |
           json_object_set_new(figures, "raw time", json_real(t[RAW])) |
           json_object_set_new(figures, "raw rate", rate(bytes, t[RAW])) |
           json_object_set_new(figures, "metadata time", json_real(t[METADATA])) |
           json_object_set_new(figures, "observed rate", rate(bytes, t[OBSERVED] - compute)) |
           json_object_set_new(figures, "observed time", json_real(t[OBSERVED])) |
           json_object_set_new(figures, "observed rate (wall)", rate(bytes, t[OBSERVED])) |
           json_object_set_new(figures, "observed rate (not hidden)",
                               rate(bytes, t[OBSERVED] - t[COMPUTATION]));
}

/* Numbers that vary by rank: those of all ranks together, and what they were drawn from. */
static int add_particles(json_t *figures, const json_t *result, double bytes, json_int_t ranks)
{
    double n = bytes / 32 / number(result, "particles.steps");

    return json_object_set_new(figures, "total particles", json_real(n)) |
           json_object_set_new(figures, "mean", json_real(n / (double)ranks)) |
           json_object_set_new(figures, "standard deviation",
                               json_real(number(result, "particles.deviation")));
}

static json_t *particles_figures(const json_t *result, const char *benchmark, bool reads)
{
    double bytes = metric(result, reads ? "bytes_read" : "bytes_written");
    const json_t *plan = json_object_get(result, "plan");
    json_int_t ranks = json_integer_value(json_object_get(plan, "ranks"));
    bool changes = !strcmp(benchmark, "overwrite") || !strcmp(benchmark, "append");
    json_t *figures = json_pack("{s:s, s:I}", "operation", benchmark, "ranks", ranks);
    int failed = figures ? 0 : -1;

    if (!failed && !changes)
        failed =
            json_object_set_new(figures, "collective data",
                                json_string(answer(result, "hdf5.method", "collective"))) |
            json_object_set_new(figures, "collective meta",
                                json_string(answer(result, "hdf5.collective_metadata", "yes"))) |
            json_object_set_new(figures, "subfiling", json_string("NO"));
    if (!failed)
        failed = add_times(figures, result, bytes, reads);
    if (!failed)
        failed = json_object_set_new(figures, "I/O rate",
                                     json_real(metric(result, reads ? "read_rate" : "write_rate")));
    if (!failed && number(result, "particles.deviation") > 0)
        failed = add_particles(figures, result, bytes, ranks);
    if (failed)
        json_decref(figures);
    return failed ? NULL : figures;
}

json_t *tt_h5bench_figures(const json_t *result, const char *benchmark, bool reads)
{
    if (!strcmp(benchmark, "metadata"))
        return tt_h5bench_stress_figures(result);
    return particles_figures(result, benchmark, reads);
}

/* ---- values ---- */

static const char *word(const json_t *row, const char *key)
{
    const char *value = json_string_value(json_object_get(row, key));

    return value ? value : "";
}

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
    static const char *const prefixes[] = {"", "K", "M", "G", "T", "P"};
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

    if (!strcmp(word(figures, "operation"), "metadata")) {
        tt_h5bench_stress_csv(out, figures);
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

void tt_h5bench_head(FILE *out, const char *path, const char *folder)
{
    fprintf(out, "tutti %s (%s): the benchmarks of h5bench, measured by tutti\n", TT_VERSION,
            TT_REVISION);
    fprintf(out, "workflow   %s\nresults    %s\n", path, folder);
}

static void print_line(FILE *out, const json_t *figures, const char *name, const char *label,
                       const char *suffix)
{
    char text[64], unit[16];
    enum kind kind = kind_of(name);

    format(json_object_get(figures, name), kind, text, sizeof text, unit, sizeof unit);
    fprintf(out, "%s%s: %s %s\n", label, suffix, text, kind == SECONDS ? "s" : unit);
}

static void print_warnings(FILE *out, const json_t *result)
{
    const json_t *list = json_object_get(result, "warnings");

    for (size_t i = 0; i < json_array_size(list); i++) {
        struct tt_paragraph p = {0};

        tt_paragraph_add(&p, "%s", word(json_array_get(list, i), "text"));
        tt_paragraph_print_marked(&p, out, "! ");
    }
}

void tt_h5bench_results(FILE *out, const json_t *row, size_t n, size_t total)
{
    const json_t *figures = json_object_get(row, "figures");
    const json_t *result = json_object_get(row, "result");
    const char *verb = json_is_true(json_object_get(row, "reads")) ? "read" : "write";
    const char *mode = strcmp(parameter(result, "overlap"), "async") ? "SYNC" : "ASYNC";
    struct tt_paragraph head = {0};
    char label[64];

    tt_paragraph_add(&head, "Benchmark %zu of %zu: %s, file %s", n, total, word(row, "benchmark"),
                     word(row, "file"));
    fprintf(out, "\n%s\n", head.text);
    if (!strcmp(word(row, "benchmark"), "metadata")) {
        tt_h5bench_stress_print(out, figures);
        print_warnings(out, result);
        return;
    }
    fprintf(out, "=================== Performance Results ==================\n");
    fprintf(out, "Total number of ranks: %lld\n",
            (long long)json_integer_value(json_object_get(figures, "ranks")));
    print_line(out, figures, "total compute time", "Total emulated compute time", "");
    snprintf(label, sizeof label, "Total %s size", verb);
    print_line(out, figures, "total size", label, "");
    snprintf(label, sizeof label, "Raw %s time", verb);
    print_line(out, figures, "raw time", label, "");
    print_line(out, figures, "metadata time", "Metadata time", "");
    snprintf(label, sizeof label, "Observed %s completion time", verb);
    print_line(out, figures, "observed time", label, "");
    snprintf(label, sizeof label, "%s Raw %s rate", mode, verb);
    print_line(out, figures, "raw rate", label, "");
    snprintf(label, sizeof label, "%s Observed %s rate", mode, verb);
    print_line(out, figures, "observed rate", label, " (h5bench)");
    print_line(out, figures, "observed rate (wall)", label, " (wall)");
    print_line(out, figures, "observed rate (not hidden)", label, " (not hidden)");
    print_line(out, figures, "I/O rate", "I/O rate, hidden or not", "");
    fprintf(out, "==========================================================\n");
    print_warnings(out, result);
}

/* ---- the summary ---- */

static const char *rate_cell(const json_t *figures, const char *name, char out[TT_UNIT_TEXT])
{
    const json_t *value = json_object_get(figures, name);

    if (!value)
        return "-";
    return json_is_number(value) ? tt_format_rate(json_number_value(value), out) : "inf";
}

static void print_summary_row(FILE *out, const json_t *row)
{
    const json_t *figures = json_object_get(row, "figures");
    char ranks[24] = "-", a[TT_UNIT_TEXT], b[TT_UNIT_TEXT], c[TT_UNIT_TEXT], d[TT_UNIT_TEXT];

    if (json_is_object(figures))
        snprintf(ranks, sizeof ranks, "%lld",
                 (long long)json_integer_value(json_object_get(figures, "ranks")));
    fprintf(out, "%-21.21s %5s %9s %11s %10s %10s  %s\n", word(row, "benchmark"), ranks,
            json_is_object(figures)
                ? tt_format_bytes(json_number_value(json_object_get(figures, "total size")), a)
                : "-",
            rate_cell(figures, "raw rate", b), rate_cell(figures, "observed rate", c),
            rate_cell(figures, "observed rate (wall)", d), word(row, "status"));
}

void tt_h5bench_summary(FILE *out, const json_t *rows)
{
    fprintf(out, "\n%-21s %5s %9s %11s %10s %10s  %s\n", "benchmark", "ranks", "size", "raw rate",
            "observed", "observed", "status");
    fprintf(out, "%-21s %5s %9s %11s %10s %10s\n", "", "", "", "", "(h5bench)", "(wall)");
    for (size_t i = 0; i < json_array_size(rows); i++)
        print_summary_row(out, json_array_get(rows, i));
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        struct tt_paragraph p = {0};

        if (!*word(row, "reason"))
            continue;
        tt_paragraph_add(&p, "%s %s: %s", word(row, "benchmark"), word(row, "status"),
                         word(row, "reason"));
        tt_paragraph_print_marked(&p, out, "! ");
    }
}
