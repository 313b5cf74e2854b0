/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/metrics.h"
#include "base/json.h"
#include "report/outfile.h"
#include "report/paragraph.h"
#include "report/table.h"
#include "spec/units.h"

#define MOST_COLUMNS 24
/* A formatted value has at most so many columns, with the blank before it. */
#define CELL 13

/* ---- the order of rows ---- */

struct row {
    const json_t *row;
    size_t *places; /* of its values among those of each factor */
    double value;   /* that it is sorted by; not a number: none */
};

struct rows {
    size_t n, nfactors;
    struct row *list;
    size_t *places;
    bool higher;  /* is better, of what is sorted by */
    size_t first; /* the factor that is looked at first; nfactors: none */
    size_t pivot; /* the factor whose values are columns; nfactors: none */
};

static const json_t *factor_at(const json_t *answer, size_t i)
{
    return json_array_get(json_object_get(answer, "factors"), i);
}

static const char *key_at(const json_t *answer, size_t i)
{
    return tt_text_of(factor_at(answer, i), "key");
}

static const char *value_at(const json_t *answer, const json_t *row, size_t factor)
{
    return tt_text_of(json_object_get(row, "values"), key_at(answer, factor));
}

static const json_t *summary_of(const json_t *row, const char *metric)
{
    return json_object_get(json_object_get(row, "metrics"), metric);
}

/* Rows that differ only in the pivot are equal. */
static int compare_keys(const void *x, const void *y, void *context)
{
    const struct rows *all = context;
    const struct row *a = x, *b = y;

    for (size_t f = 0; f < all->nfactors; f++)
        if (f != all->pivot && a->places[f] != b->places[f])
            return a->places[f] < b->places[f] ? -1 : 1;
    return 0;
}

static bool is_better(const struct rows *all, double a, double b)
{
    return isfinite(a) && (!isfinite(b) || (all->higher ? a > b : a < b));
}

static int compare_rows(const void *x, const void *y, void *context)
{
    const struct rows *all = context;
    const struct row *a = x, *b = y;
    size_t first = all->first;

    if (is_better(all, a->value, b->value) || is_better(all, b->value, a->value))
        return is_better(all, a->value, b->value) ? -1 : 1;
    if (first < all->nfactors && first != all->pivot && a->places[first] != b->places[first])
        return a->places[first] < b->places[first] ? -1 : 1;
    return compare_keys(x, y, context);
}

/* {value: place} of a factor; a new reference. */
static json_t *number_values(const json_t *factor)
{
    json_t *places = json_object();
    const json_t *value;
    size_t i;

    json_array_foreach(json_object_get(factor, "values"), i, value)
    {
        json_object_set_new(places, json_string_value(value), json_integer((json_int_t)i));
    }
    return places;
}

static int sort_rows(const json_t *answer, const char *sort, struct rows *out, struct tt_error *e)
{
    const json_t *list = json_object_get(answer, "rows"), *row, *finding;
    size_t i;

    *out = (struct rows){.n = json_array_size(list),
                         .nfactors = json_array_size(json_object_get(answer, "factors"))};
    out->first = out->pivot = out->nfactors;
    out->list = calloc(out->n + 1, sizeof *out->list);
    out->places = calloc(out->n * out->nfactors + 1, sizeof *out->places);
    if (!out->list || !out->places)
        return tt_fail_nomem(e, "the rows");
    json_array_foreach(json_object_get(answer, "findings"), i, finding)
    {
        if (sort && !strcmp(tt_text_of(finding, "metric"), sort))
            out->higher = !strcmp(tt_text_of(finding, "better"), "higher");
    }
    json_array_foreach(list, i, row)
    {
        out->list[i] = (struct row){row, out->places + i * out->nfactors,
                                    sort ? tt_number_or_nan(summary_of(row, sort), "median") : NAN};
    }
    for (size_t f = 0; f < out->nfactors; f++) {
        json_t *places = number_values(factor_at(answer, f));

        if (sort && !strcmp(key_at(answer, f), sort))
            out->first = f;
        for (i = 0; i < out->n; i++)
            out->list[i].places[f] = (size_t)json_integer_value(
                json_object_get(places, value_at(answer, out->list[i].row, f)));
        json_decref(places);
    }
    qsort_r(out->list, out->n, sizeof *out->list, compare_rows, out);
    return TT_OK;
}

static void free_rows(struct rows *r)
{
    free(r->list);
    free(r->places);
}

/* ---- tables ---- */

static bool has_intervals(const struct rows *rows, const char *metric)
{
    for (size_t i = 0; i < rows->n; i++)
        if (tt_has_number(summary_of(rows->list[i].row, metric), "low"))
            return true;
    return false;
}

static void add_value(struct tt_table *t, const json_t *o, const char *key, const char *unit)
{
    char text[TT_UNIT_TEXT];

    tt_table_add(t, "%s",
                 tt_has_number(o, key) ? tt_format_value(tt_number_of(o, key), unit, text) : "-");
}

/* Few runs give a range, in parentheses, and no interval. */
static void add_interval(struct tt_table *t, const json_t *o, const char *unit)
{
    char low[TT_UNIT_TEXT], high[TT_UNIT_TEXT];

    if (tt_has_number(o, "low"))
        tt_table_add(t, "%s to %s", tt_format_value(tt_number_of(o, "low"), unit, low),
                     tt_format_value(tt_number_of(o, "high"), unit, high));
    else if (tt_has_number(o, "least") && tt_integer_of(o, "n") > 1)
        tt_table_add(t, "(%s to %s)", tt_format_value(tt_number_of(o, "least"), unit, low),
                     tt_format_value(tt_number_of(o, "most"), unit, high));
    else
        tt_table_add(t, "-");
}

static int print_rows(FILE *out, const json_t *answer, const json_t *finding,
                      const struct rows *rows, struct tt_error *e)
{
    const char *metric = tt_text_of(finding, "metric"), *unit = tt_text_of(finding, "unit");
    size_t keys = rows->nfactors < MOST_COLUMNS - 3 ? rows->nfactors : MOST_COLUMNS - 3;
    struct tt_column columns[MOST_COLUMNS] = {0};
    struct tt_table t = {columns, keys + 3, .indent = 2};

    for (size_t f = 0; f < keys; f++)
        columns[f] = (struct tt_column){.title = key_at(answer, f), .right = true, .least = 4};
    columns[keys] = (struct tt_column){.title = "runs", .right = true};
    columns[keys + 1] = (struct tt_column){.title = "median", .right = true};
    columns[keys + 2] = (struct tt_column){
        .title = has_intervals(rows, metric) ? "95 % interval" : "(least to most)"};
    for (size_t i = 0; i < rows->n; i++) {
        const json_t *row = rows->list[i].row, *summary = summary_of(row, metric);

        if (tt_integer_of(row, "runs") > 0 && tt_integer_of(summary, "n") == 0)
            continue; /* alone there is no slowdown */
        for (size_t f = 0; f < keys; f++)
            tt_table_add(&t, "%s", value_at(answer, row, f));
        tt_table_add(&t, "%lld", (long long)tt_integer_of(summary, "n"));
        add_value(&t, summary, "median", unit);
        add_interval(&t, summary, unit);
    }
    if (t.n > 0)
        fprintf(out, "\n%s (%s)\n", tt_text_of(finding, "label"), metric);
    return tt_table_print(&t, out, e);
}

/* Those from `from` that differ only in the pivot; returns where the next begin. */
static size_t end_of_group(const struct rows *rows, size_t from)
{
    size_t end = from + 1;

    while (end < rows->n && compare_keys(&rows->list[from], &rows->list[end], (void *)rows) == 0)
        end++;
    return end;
}

/* Rows that differ only in the pivot follow each other, and are as good as the best of them. */
static void sort_pivoted(struct rows *rows, size_t pivot)
{
    rows->pivot = pivot;
    qsort_r(rows->list, rows->n, sizeof *rows->list, compare_keys, rows);
    for (size_t i = 0, next; i < rows->n; i = next) {
        double best = NAN;

        next = end_of_group(rows, i);
        for (size_t k = i; k < next; k++)
            best = is_better(rows, rows->list[k].value, best) ? rows->list[k].value : best;
        for (size_t k = i; k < next; k++)
            rows->list[k].value = best;
    }
    qsort_r(rows->list, rows->n, sizeof *rows->list, compare_rows, rows);
}

/* Columns first .. first + n - 1 of the pivoted table. */
static int print_pivot_part(FILE *out, const json_t *answer, const json_t *finding,
                            const struct rows *rows, size_t first, size_t n, struct tt_error *e)
{
    size_t pivot = rows->pivot;
    const char *metric = tt_text_of(finding, "metric"), *unit = tt_text_of(finding, "unit");
    const json_t *values = json_object_get(factor_at(answer, pivot), "values");
    struct tt_column columns[MOST_COLUMNS] = {0};
    struct tt_table t = {columns, 0, .indent = 2};

    for (size_t f = 0; f < rows->nfactors; f++)
        if (f != pivot && t.ncolumns < MOST_COLUMNS - n)
            columns[t.ncolumns++] =
                (struct tt_column){.title = key_at(answer, f), .right = true, .least = 4};
    for (size_t v = 0; v < n; v++)
        columns[t.ncolumns++] = (struct tt_column){
            .title = json_string_value(json_array_get(values, first + v)), .right = true};
    for (size_t i = 0, next; i < rows->n; i = next) {
        size_t added = 0;

        next = end_of_group(rows, i);
        for (size_t f = 0; f < rows->nfactors; f++)
            if (f != pivot && added++ < t.ncolumns - n)
                tt_table_add(&t, "%s", value_at(answer, rows->list[i].row, f));
        for (size_t v = 0; v < n; v++) {
            const json_t *summary = NULL;

            for (size_t k = i; k < next; k++)
                if (rows->list[k].places[pivot] == first + v)
                    summary = summary_of(rows->list[k].row, metric);
            add_value(&t, summary, "median", unit);
        }
    }
    return tt_table_print(&t, out, e);
}

static int print_pivot(FILE *out, const json_t *answer, const json_t *finding, struct rows *rows,
                       const char *pivot, struct tt_error *e)
{
    size_t at = 0, nvalues, room, step;
    int rc = TT_OK;

    while (at < rows->nfactors && strcmp(key_at(answer, at), pivot) != 0)
        at++;
    if (at == rows->nfactors)
        return tt_fail(e, TT_USAGE, "pivot: '%.40s' is not varied", pivot);
    sort_pivoted(rows, at);
    nvalues = json_array_size(json_object_get(factor_at(answer, at), "values"));
    room = 9 * (rows->nfactors - 1) + 2 < TT_WIDTH ? TT_WIDTH - 2 - 9 * (rows->nfactors - 1) : 0;
    step = room / CELL > 0 ? room / CELL : 1;
    fprintf(out, "\n%s (%s): medians, by %s\n", tt_text_of(finding, "label"),
            tt_text_of(finding, "metric"), pivot);
    for (size_t first = 0; first < nvalues && rc == TT_OK; first += step) {
        if (first > 0)
            fputc('\n', out);
        rc = print_pivot_part(out, answer, finding, rows, first,
                              nvalues - first < step ? nvalues - first : step, e);
    }
    return rc;
}

/* ---- which factors matter ---- */

static void add_share(struct tt_table *t, const json_t *share)
{
    tt_table_add(t, "%s", tt_text_of(share, "factor"));
    tt_table_add(t, "%.1f %%", 100 * tt_number_of(share, "share"));
    if (tt_has_number(share, "low"))
        tt_table_add(t, "%.1f to %.1f %%", 100 * tt_number_of(share, "low"),
                     100 * tt_number_of(share, "high"));
    else
        tt_table_add(t, "-");
}

static int print_shares(FILE *out, const json_t *finding, struct tt_error *e)
{
    static const struct tt_column columns[] = {
        {.title = "factor", .width = 14, .least = 10},
        {.title = "explains", .right = true},
        {.title = "95 % interval"},
    };
    const json_t *variance = json_object_get(finding, "variance"), *one;
    struct tt_table t = {columns, 3, .indent = 2};
    size_t i;

    if (json_array_size(json_object_get(variance, "shares")) == 0)
        return TT_OK;
    json_array_foreach(json_object_get(variance, "shares"), i, one)
    {
        add_share(&t, one);
    }
    fprintf(out, "\nvariance of %s%s\n", tt_text_of(finding, "metric"),
            strcmp(tt_text_of(variance, "scale"), "log") ? "" : ", of logarithms");
    return tt_table_print(&t, out, e);
}

static bool is_unbalanced(const json_t *answer)
{
    const json_t *finding;
    size_t i;

    json_array_foreach(json_object_get(answer, "findings"), i, finding)
    {
        const json_t *variance = json_object_get(finding, "variance");

        if (json_is_object(variance) && !tt_is_true(variance, "balanced"))
            return true;
    }
    return false;
}

/* Whether those of any metric add up to more than the whole, as far as they are printed. */
static bool has_too_much(const json_t *answer)
{
    const json_t *finding, *share;
    size_t i, k;

    json_array_foreach(json_object_get(answer, "findings"), i, finding)
    {
        double sum = 0;

        json_array_foreach(json_object_get(json_object_get(finding, "variance"), "shares"), k,
                           share)
        {
            sum += tt_number_of(share, "share");
        }
        if (sum > 1.0005)
            return true;
    }
    return false;
}

/* How many more runs of each point would give every metric its interval. */
static size_t runs_lacking(const json_t *answer)
{
    const size_t needed = tt_runs_for_interval(TT_LEVEL);
    size_t least = needed, i;
    const json_t *row;

    json_array_foreach(json_object_get(answer, "rows"), i, row)
    {
        size_t n = (size_t)tt_integer_of(row, "runs");

        least = n < least ? n : least;
    }
    return needed - least;
}

static void print_notes(FILE *out, const json_t *answer)
{
    const json_t *failures = json_object_get(answer, "failures");
    size_t lacking = runs_lacking(answer);
    long long nfailures = (long long)tt_integer_of(failures, "n");

    if (nfailures > 0)
        tt_say_marked(out, "! ", "%lld run%s failed and %s not count; the first: %s", nfailures,
                      nfailures == 1 ? "" : "s", nfailures == 1 ? "does" : "do",
                      tt_text_of(failures, "first"));
    if (is_unbalanced(answer))
        tt_say_marked(out, "! ",
                      "not every combination of values has equally many runs, so the shares of "
                      "factors overlap");
    else if (has_too_much(answer))
        tt_say_marked(out, "! ",
                      "shares add up to more than 100 %%, since another one, or that of "
                      "combinations, comes out below 0 by chance");
    if (lacking > 0)
        tt_say_marked(out, "! ",
                      "a median or a share has an interval from %zu runs a point on: tutti study "
                      "--resume %s --add %zu",
                      tt_runs_for_interval(TT_LEVEL), tt_text_of(answer, "directory"), lacking);
}

int tt_report_study(FILE *out, const json_t *answer, const char *sort, const char *pivot,
                    struct tt_error *e)
{
    const json_t *findings = json_object_get(answer, "findings"), *finding;
    struct rows rows;
    int rc = sort_rows(answer, sort, &rows, e);
    size_t i;

    fprintf(out, "study %s: %lld points, %zu runs\n", tt_text_of(answer, "id"),
            (long long)tt_integer_of(answer, "points"),
            json_array_size(json_object_get(answer, "runs")));
    json_array_foreach(findings, i, finding)
    {
        if (rc == TT_OK)
            rc = pivot ? print_pivot(out, answer, finding, &rows, pivot, e)
                       : print_rows(out, answer, finding, &rows, e);
    }
    json_array_foreach(findings, i, finding)
    {
        if (rc == TT_OK)
            rc = print_shares(out, finding, e);
    }
    fputc('\n', out);
    if (rc == TT_OK)
        print_notes(out, answer);
    json_array_foreach(findings, i, finding)
    {
        if (rc == TT_OK)
            tt_print_wrapped(out, "", tt_text_of(finding, "text"));
    }
    if (rc == TT_OK && json_object_get(answer, "fit"))
        tt_print_wrapped(out, "", tt_text_of(json_object_get(answer, "fit"), "text"));
    free_rows(&rows);
    return rc;
}

/* ---- CSV ---- */

static const char *unit_of(const char *metric)
{
    const struct tt_metric *m = tt_find_metric(metric);

    return m ? m->unit : "1";
}

/* {metric: true} of those that have a column or rows; a new reference. */
static json_t *chosen_metrics(const json_t *answer, bool chosen)
{
    json_t *metrics = json_object();
    const json_t *one;
    const char *name;
    json_t *value;
    size_t i;

    json_array_foreach(json_object_get(answer, "findings"), i, one)
    {
        json_object_set_new(metrics, tt_text_of(one, "metric"), json_true());
    }
    if (!chosen)
        json_array_foreach(json_object_get(answer, "runs"), i, one)
        {
            json_object_foreach(json_object_get(one, "metrics"), name, value)
            {
                if (!json_object_get(metrics, name))
                    json_object_set_new(metrics, name, json_true());
            }
        }
    return metrics;
}

static void write_header(struct tt_outfile *f, const json_t *answer, bool wide,
                         const json_t *metrics)
{
    static const char *const run[] = {"repetition", "round", "directory"};
    static const char *const more[] = {"metric", "unit", "value"};
    const json_t *factor;
    const char *name;
    json_t *value;
    size_t i;

    tt_csv_text(f, "point");
    json_array_foreach(json_object_get(answer, "factors"), i, factor)
    {
        tt_csv_text(f, tt_text_of(factor, "key"));
    }
    for (i = 0; i < 3; i++)
        tt_csv_text(f, run[i]);
    for (i = 0; !wide && i < 3; i++)
        tt_csv_text(f, more[i]);
    json_object_foreach((json_t *)metrics, name, value)
    {
        if (wide)
            tt_csv_text(f, name);
    }
    tt_csv_end_row(f);
}

static void write_run(struct tt_outfile *f, const json_t *answer, const json_t *run)
{
    const json_t *row =
        json_array_get(json_object_get(answer, "rows"), (size_t)tt_integer_of(run, "row"));
    const json_t *factor;
    size_t i;

    tt_csv_text(f, tt_text_of(row, "point"));
    json_array_foreach(json_object_get(answer, "factors"), i, factor)
    {
        tt_csv_text(f, value_at(answer, row, i));
    }
    tt_csv_number(f, tt_number_of(run, "number"), 0);
    tt_csv_number(f, tt_number_of(run, "round"), 0);
    tt_csv_text(f, tt_text_of(run, "directory"));
}

int tt_report_study_csv(const char *path, const json_t *answer, bool wide, bool chosen,
                        struct tt_error *e)
{
    json_t *metrics = chosen_metrics(answer, chosen), *value;
    struct tt_outfile f;
    int rc = tt_outfile_open(&f, path, e);
    const json_t *run;
    const char *name;
    size_t i;

    if (rc == TT_OK)
        write_header(&f, answer, wide, metrics);
    json_array_foreach(json_object_get(answer, "runs"), i, run)
    {
        const json_t *values = json_object_get(run, "metrics");

        if (rc == TT_OK && wide)
            write_run(&f, answer, run);
        json_object_foreach(metrics, name, value)
        {
            if (rc == TT_OK && !wide && tt_has_number(values, name)) {
                write_run(&f, answer, run);
                tt_csv_text(&f, name);
                tt_csv_text(&f, unit_of(name));
            }
            if (rc == TT_OK && (wide || tt_has_number(values, name)))
                tt_csv_number(&f, tt_number_or_nan(values, name), 9);
            if (rc == TT_OK && !wide && tt_has_number(values, name))
                tt_csv_end_row(&f);
        }
        if (rc == TT_OK && wide)
            tt_csv_end_row(&f);
    }
    json_decref(metrics);
    return rc == TT_OK ? tt_outfile_close(&f, e) : rc;
}
