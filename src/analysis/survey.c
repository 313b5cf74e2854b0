/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/survey.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "workloads/bulk/bulk.h"

/* The totals of one kind of access in a result. */
struct totals {
    double bytes, transfers, total_s, transfer_s;
};

static struct totals add_up(const json_t *result, int access)
{
    const json_t *rows = tt_member_at(result, "tables/accesses");
    struct totals t = {0};

    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        double v[TT_BULK_NCOLUMNS];

        for (size_t j = 0; j < TT_BULK_NCOLUMNS; j++)
            v[j] = json_number_value(json_array_get(row, j));
        if (v[TT_BULK_ACCESS] != access)
            continue;
        t.bytes += v[TT_BULK_BYTES];
        t.transfers += v[TT_BULK_TRANSFERS];
        t.total_s += v[TT_BULK_TOTAL_S];
        t.transfer_s += v[TT_BULK_TRANSFER_S];
    }
    return t;
}

/* ---- a run ---- */

/* Nodes its ranks ran on; 0: not known. */
static size_t count_hosts(const json_t *result)
{
    json_t *seen = json_object();
    const json_t *rank;
    size_t i, n;

    json_array_foreach(json_object_get(result, "ranks"), i, rank)
    {
        const char *host = tt_text_of(rank, "host");

        if (*host)
            json_object_set_new(seen, host, json_true());
    }
    n = json_object_size(seen);
    json_decref(seen);
    return n;
}

/* A new reference. */
static json_t *warnings_of(const json_t *result, const struct tt_survey_place *place)
{
    json_t *texts = json_array();
    size_t hosts = count_hosts(result), i;
    const json_t *one;

    json_array_foreach(json_object_get(result, "warnings"), i, one)
    {
        if (json_is_string(json_object_get(one, "text")))
            json_array_append(texts, json_object_get(one, "text"));
    }
    if (hosts > 0 && hosts != place->nodes)
        json_array_append_new(texts, json_sprintf("on %zu node%s instead of %llu", hosts,
                                                  hosts == 1 ? "" : "s",
                                                  (unsigned long long)place->nodes));
    return texts;
}

int tt_survey_sample(const json_t *result, const struct tt_survey_place *place, json_t *samples,
                     struct tt_error *e)
{
    for (int access = TT_BULK_WRITE; access <= TT_BULK_READ; access += 2) {
        struct totals t = add_up(result, access);
        json_t *one;

        if (!(t.total_s > 0 && t.transfer_s > 0))
            continue;
        one = json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:f, s:f, s:o}", "table", place->title,
                        "access", access == TT_BULK_WRITE ? "write" : "read", "nodes",
                        (json_int_t)place->nodes, "processes", (json_int_t)place->processes,
                        "transfer", (json_int_t)place->transfer, "size", (json_int_t)place->size,
                        "bandwidth", t.bytes / t.total_s, "iops", t.transfers / t.transfer_s,
                        "warnings", warnings_of(result, place));
        if (json_array_append_new(samples, one) != 0)
            return tt_fail_nomem(e, "a sample");
    }
    return TT_OK;
}

/* ---- the summary ---- */

static json_int_t ranks_of(const json_t *sample)
{
    return tt_integer_of(sample, "nodes") * tt_integer_of(sample, "processes");
}

static bool is_of(const json_t *row, const json_t *sample)
{
    bool over_size = strstr(tt_text_of(sample, "table"), "over size") != NULL;

    return !strcmp(tt_text_of(row, "table"), tt_text_of(sample, "table")) &&
           !strcmp(tt_text_of(row, "access"), tt_text_of(sample, "access")) &&
           tt_integer_of(row, "ranks") == ranks_of(sample) &&
           (!over_size || tt_integer_of(row, "size") == tt_integer_of(sample, "size"));
}

static double value_of(const json_t *row, const json_t *sample)
{
    return tt_number_of(sample, strcmp(tt_text_of(row, "unit"), "B/s") ? "iops" : "bandwidth");
}

/* Few processes or little data first, writing before reading. */
static bool comes_before(const json_t *a, const json_t *b)
{
    int table = strcmp(tt_text_of(a, "table"), tt_text_of(b, "table"));
    json_int_t of = tt_integer_of(a, "ranks") - tt_integer_of(b, "ranks");
    json_int_t size = tt_integer_of(a, "size") - tt_integer_of(b, "size");

    if (table != 0)
        return table < 0;
    if (of != 0 || size != 0)
        return of != 0 ? of < 0 : size < 0;
    return strcmp(tt_text_of(a, "access"), tt_text_of(b, "access")) > 0;
}

static void insert(json_t *summary, json_t *row)
{
    size_t i = 0;

    while (i < json_array_size(summary) && comes_before(json_array_get(summary, i), row))
        i++;
    json_array_insert_new(summary, i, row);
}

static json_t *find_row(json_t *summary, const json_t *sample)
{
    bool is_rate = !strncmp(tt_text_of(sample, "table"), "bandwidth", 9);
    json_t *row;
    size_t i;

    json_array_foreach(summary, i, row)
    {
        if (is_of(row, sample))
            return row;
    }
    row = json_pack("{s:s, s:s, s:I, s:I, s:s}", "table", tt_text_of(sample, "table"), "access",
                    tt_text_of(sample, "access"), "ranks", ranks_of(sample), "size",
                    tt_integer_of(sample, "size"), "unit", is_rate ? "B/s" : "1/s");
    insert(summary, row);
    return row;
}

/* Mean, deviation and its share of the mean, as the paper has them. */
static void fill_row(json_t *row, const json_t *samples)
{
    double sum = 0, squares = 0, mean, deviation;
    size_t n = 0, i;
    json_t *sample;

    json_array_foreach(samples, i, sample)
    {
        if (!is_of(row, sample))
            continue;
        sum += value_of(row, sample);
        n++;
    }
    mean = n ? sum / (double)n : 0;
    json_array_foreach(samples, i, sample)
    {
        double x = is_of(row, sample) ? value_of(row, sample) - mean : 0;

        squares += x * x;
    }
    deviation = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
    json_object_set_new(row, "n", json_integer((json_int_t)n));
    json_object_set_new(row, "mean", json_real(mean));
    json_object_set_new(row, "deviation", n > 1 ? json_real(deviation) : json_null());
    json_object_set_new(row, "variation",
                        n > 1 && mean > 0 ? json_real(deviation / mean) : json_null());
}

/* ---- warnings ---- */

/* The same words, whatever the first number in them, and what follows it. */
static bool is_same_warning(const char *a, const char *b)
{
    static const char digits[] = "0123456789";
    size_t n = strcspn(a, digits);

    return n == strcspn(b, digits) && !strncmp(a, b, n) && (n > 0 || !strcmp(a, b));
}

static bool has_warning(const json_t *sample, const char *warning)
{
    const json_t *one;
    size_t i;

    json_array_foreach(json_object_get(sample, "warnings"), i, one)
    {
        if (is_same_warning(warning, json_string_value(one)))
            return true;
    }
    return false;
}

/* Of how many of its runs a row's figure is made that have this warning. */
static json_int_t count_warned(const json_t *row, const json_t *samples, const char *warning)
{
    const json_t *sample;
    json_int_t n = 0;
    size_t i;

    json_array_foreach(samples, i, sample)
    {
        n += is_of(row, sample) && has_warning(sample, warning);
    }
    return n;
}

static json_t *concerned_rows(const json_t *summary, const json_t *samples, const char *warning)
{
    json_t *rows = json_array();
    const json_t *row;
    size_t i;

    json_array_foreach(summary, i, row)
    {
        json_int_t runs = count_warned(row, samples, warning);

        if (runs > 0)
            json_array_append_new(
                rows, json_pack("{s:s, s:s, s:I, s:I, s:I, s:I}", "table", tt_text_of(row, "table"),
                                "access", tt_text_of(row, "access"), "ranks",
                                tt_integer_of(row, "ranks"), "size", tt_integer_of(row, "size"),
                                "runs", runs, "of", tt_integer_of(row, "n")));
    }
    return rows;
}

static bool is_listed(const json_t *list, const char *warning)
{
    const json_t *one;
    size_t i;

    json_array_foreach(list, i, one)
    {
        if (is_same_warning(tt_text_of(one, "text"), warning))
            return true;
    }
    return false;
}

static json_t *list_warnings(const json_t *summary, const json_t *samples)
{
    const json_t *sample, *one;
    json_t *list = json_array();
    size_t i, k;

    json_array_foreach(samples, i, sample)
    {
        json_array_foreach(json_object_get(sample, "warnings"), k, one)
        {
            const char *warning = json_string_value(one);

            if (!is_listed(list, warning))
                json_array_append_new(list, json_pack("{s:O, s:o}", "text", one, "rows",
                                                      concerned_rows(summary, samples, warning)));
        }
    }
    return list;
}

int tt_survey_summarise(json_t *samples, json_t **answer, struct tt_error *e)
{
    json_t *summary = json_array(), *one;
    size_t i;

    json_array_foreach(samples, i, one)
    {
        find_row(summary, one);
    }
    json_array_foreach(summary, i, one)
    {
        fill_row(one, samples);
    }
    *answer = json_pack("{s:O, s:o, s:o}", "samples", samples, "summary", summary, "warnings",
                        list_warnings(summary, samples));
    return *answer ? TT_OK : tt_fail_nomem(e, "the answer");
}
