/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the results of single runs of bulk to the tables of a survey. */
#include <math.h>
#include <string.h>

#include "analysis/tables.h"
#include "base/json.h"
#include "base/text.h"
#include "ensemble/run.h"
#include "plan/directory.h"
#include "survey/directory.h"

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

/* Ranks on another number of nodes than was asked for are a warning, too. A new reference. */
static json_t *warnings_of(const json_t *result, uint64_t nodes)
{
    json_t *texts = json_array();
    size_t hosts = count_hosts(result), i;
    const json_t *one;

    json_array_foreach(json_object_get(result, "warnings"), i, one)
    {
        if (json_is_string(json_object_get(one, "text")))
            json_array_append(texts, json_object_get(one, "text"));
    }
    if (hosts > 0 && hosts != nodes)
        json_array_append_new(texts,
                              json_sprintf("on %zu node%s instead of %llu", hosts,
                                           hosts == 1 ? "" : "s", (unsigned long long)nodes));
    return texts;
}

struct gathering {
    const struct tt_survey_stage *stage;
    json_t *samples;
};

/* What a run says of one kind of access, as the workload numbers them: 0 write, 2 read. */
static int add_sample(const struct gathering *g, size_t point, const struct tt_rows *rows,
                      int access, const json_t *result)
{
    const struct tt_survey_point *p = &g->stage->points[point];
    double bytes = 0, transfers = 0, total_s = 0, transfer_s = 0;

    for (size_t i = 0; i < rows->n; i++) {
        if (tt_cell(rows, i, "access") != access)
            continue;
        bytes += tt_cell(rows, i, "bytes");
        transfers += tt_cell(rows, i, "transfers");
        total_s += tt_cell(rows, i, "total");
        transfer_s += tt_cell(rows, i, "transfer");
    }
    if (!(total_s > 0 && transfer_s > 0))
        return 0;
    return json_array_append_new(
        g->samples,
        json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:f, s:f, s:o}", "table", g->stage->table->title,
                  "access", access ? "read" : "write", "nodes", (json_int_t)p->nodes, "processes",
                  (json_int_t)p->processes, "transfer", (json_int_t)p->transfer, "size",
                  (json_int_t)p->size, "bandwidth", bytes / total_s, "iops", transfers / transfer_s,
                  "warnings", warnings_of(result, p->nodes)));
}

static int gather(void *context, size_t point, const char *directory, struct tt_error *e)
{
    json_t *result = NULL;
    int rc = tt_directory_read_json(directory, "result.json", &result, e);
    struct tt_rows rows = tt_result_rows(result, "accesses");

    if (rc == TT_OK && rows.n == 0)
        rc = tt_fail(e, TT_CORRUPT, "%s/result.json is not a result of a run of bulk", directory);
    if (rc == TT_OK && (add_sample(context, point, &rows, 0, result) != 0 ||
                        add_sample(context, point, &rows, 2, result) != 0))
        rc = tt_fail_nomem(e, "a sample");
    json_decref(result);
    return rc;
}

/* ---- the summary ---- */

static json_int_t ranks_of(const json_t *sample)
{
    return tt_integer_of(sample, "nodes") * tt_integer_of(sample, "processes");
}

/* A row stands for all samples with the same number of processes in all, as the paper has it; over
 * size, for those of the same size. */
static bool is_of(const json_t *row, const json_t *sample)
{
    return !strcmp(tt_text_of(row, "table"), tt_text_of(sample, "table")) &&
           !strcmp(tt_text_of(row, "access"), tt_text_of(sample, "access")) &&
           tt_integer_of(row, "ranks") == ranks_of(sample) &&
           (!tt_survey_table_of(row)->over_size ||
            tt_integer_of(row, "size") == tt_integer_of(sample, "size"));
}

static double value_of(const json_t *row, const json_t *sample)
{
    return tt_number_of(sample, tt_survey_table_of(row)->value);
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

/* A row for the sample, unless there is one. */
static void add_row(json_t *summary, const json_t *sample)
{
    json_t *row;
    size_t i;

    json_array_foreach(summary, i, row)
    {
        if (is_of(row, sample))
            return;
    }
    row = json_pack("{s:s, s:s, s:I, s:I, s:s}", "table", tt_text_of(sample, "table"), "access",
                    tt_text_of(sample, "access"), "ranks", ranks_of(sample), "size",
                    tt_integer_of(sample, "size"), "unit", tt_survey_table_of(sample)->unit);
    for (i = 0; i < json_array_size(summary) && comes_before(json_array_get(summary, i), row);)
        i++;
    json_array_insert_new(summary, i, row);
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

/* {"samples", "summary": [{"table", "access", "ranks", "size", "unit", "n", "mean", "deviation",
 * "variation"}], "warnings": [{"text", "rows": [{"table", "access", "ranks", "size", "runs",
 * "of"}]}]}. Warnings that differ in their numbers are one, with the text of the first. */
static int summarise(json_t *samples, json_t **answer, struct tt_error *e)
{
    json_t *summary = json_array(), *one;
    size_t i;

    json_array_foreach(samples, i, one)
    {
        add_row(summary, one);
    }
    json_array_foreach(summary, i, one)
    {
        fill_row(one, samples);
    }
    *answer = json_pack("{s:O, s:o, s:o}", "samples", samples, "summary", summary, "warnings",
                        list_warnings(summary, samples));
    return *answer ? TT_OK : tt_fail_nomem(e, "the answer");
}

int tt_survey_answer(const struct tt_survey *s, const char *directory, json_t **answer,
                     struct tt_error *e)
{
    json_t *samples = json_array();
    int rc = samples ? TT_OK : tt_fail_nomem(e, "the answer");

    for (size_t i = 0; rc == TT_OK && i < s->nstages; i++) {
        struct gathering g = {&s->stages[i], samples};

        if (g.stage->table)
            rc = tt_survey_each_run(directory, g.stage, gather, &g, e);
    }
    if (rc == TT_OK)
        rc = summarise(samples, answer, e);
    if (rc == TT_OK) {
        json_object_set_new(*answer, "directory", tt_json_text(directory));
        rc = tt_answer_keep(directory, *answer, e);
    }
    json_decref(samples);
    return rc;
}
