/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics of runs as node-exporter's textfile collector reads them: no timestamps, which it
 * refuses, and no sample twice. So of runs that have the same labels only the newest counts; when
 * it was, and whether it was valid, are samples of their own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/metrics.h"
#include "report/outfile.h"
#include "report/runs.h"

/* The name of a metric ends in its unit, in words. */
static const char *suffix_of(const char *unit)
{
    static const struct {
        const char *unit, *suffix;
    } suffixes[] = {{"s", "_seconds"},
                    {"B", "_bytes"},
                    {"B/s", "_bytes_per_second"},
                    {"1/s", "_per_second"},
                    {"flop/s", "_per_second"}};

    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (!strcmp(suffixes[i].unit, unit))
            return suffixes[i].suffix;
    return ""; /* a ratio, a number of something */
}

/* With what the format needs before a quote, a backslash and a line break. */
static void write_escaped(FILE *f, const char *text)
{
    for (; *text; text++)
        if (*text == '\n')
            fputs("\\n", f);
        else if (*text == '\\' || *text == '"')
            fprintf(f, "\\%c", *text);
        else
            fputc(*text, f);
}

static void write_family(FILE *f, const char *name, const char *suffix, const char *help)
{
    fprintf(f, "# HELP tutti_%s%s ", name, suffix);
    for (; *help; help++)
        fprintf(f, *help == '\\' ? "\\\\" : "%c", *help);
    fprintf(f, "\n# TYPE tutti_%s%s gauge\n", name, suffix);
}

/* {workload="bulk",label="nightly",...} of a run; caller frees. Runs that have them all in common
 * measure the same on the same machine. */
static int labels_of(struct tt_store *s, const struct tt_run_row *r, char **out, struct tt_error *e)
{
    char *host = NULL, *context = NULL;
    size_t size;
    FILE *f;
    int rc = tt_store_text(s, r->key, TT_STORED_ENVIRONMENT, "host", &host, e);

    if (rc == TT_OK)
        rc = tt_store_text(s, r->key, TT_STORED_PARAMETERS, "context", &context, e);
    *out = NULL;
    f = rc == TT_OK ? open_memstream(out, &size) : NULL;
    if (f) {
        const char *const labels[][2] = {{"{workload", r->workload},
                                         {",label", r->label},
                                         {",plan", r->plan_hash},
                                         {",host", host ? host : ""},
                                         {",context", context ? context : ""}};

        for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
            fprintf(f, "%s=\"", labels[i][0]);
            write_escaped(f, labels[i][1]);
            fputc('"', f);
        }
        fputc('}', f);
    }
    if (rc == TT_OK && (!f || fclose(f) != 0))
        rc = tt_fail_nomem(e, "labels");
    free(host);
    free(context);
    return rc;
}

/* {labels: number of the newest run that has them}; rows are oldest first. */
static int choose_newest(struct tt_store *s, const struct tt_run_rows *runs, json_t **out,
                         struct tt_error *e)
{
    int rc = TT_OK;

    *out = json_object();
    for (size_t i = 0; i < runs->n && rc == TT_OK; i++) {
        char *labels = NULL;

        rc = labels_of(s, &runs->rows[i], &labels, e);
        if (rc == TT_OK && json_object_set_new(*out, labels, json_integer((json_int_t)i)) != 0)
            rc = tt_fail_nomem(e, "labels");
        free(labels);
    }
    return rc;
}

static void write_runs(FILE *f, const struct tt_run_rows *runs, json_t *newest)
{
    const char *labels;
    json_t *i;

    write_family(f, "run_start_timestamp", "_seconds", "when the run began, since 1970 in UTC");
    json_object_foreach(newest, labels, i)
        fprintf(f, "tutti_run_start_timestamp_seconds%s %.3f\n", labels,
                runs->rows[json_integer_value(i)].start_seconds);
    write_family(f, "run_valid", "", "1: the run ended well; 0: it did not, and has no metrics");
    json_object_foreach(newest, labels, i)
        fprintf(f, "tutti_run_valid%s %d\n", labels, runs->rows[json_integer_value(i)].valid);
}

/* Nothing at all of a metric that no run has. */
static int write_metric(FILE *f, struct tt_store *s, const struct tt_run_rows *runs, json_t *newest,
                        const struct tt_metric *m, struct tt_error *e)
{
    const char *labels, *suffix = suffix_of(m->unit);
    bool begun = false;
    json_t *i;
    int rc = TT_OK;

    json_object_foreach(newest, labels, i)
    {
        const struct tt_run_row *r = &runs->rows[json_integer_value(i)];
        bool known = false;
        double value = NAN;

        if (rc == TT_OK && r->valid)
            rc = tt_store_metric(s, r->key, m->name, &known, &value, e);
        if (rc != TT_OK || !known || !isfinite(value))
            continue;
        if (!begun)
            write_family(f, m->name, suffix, m->definition);
        begun = true;
        fprintf(f, "tutti_%s%s%s %.17g\n", m->name, suffix, labels, value);
    }
    return rc;
}

int tt_report_runs_prometheus(const char *path, struct tt_store *s, const struct tt_run_rows *runs,
                              struct tt_error *e)
{
    json_t *newest = NULL;
    struct tt_outfile out;
    int rc = choose_newest(s, runs, &newest, e);

    if (rc == TT_OK && (rc = tt_outfile_open(&out, path, e)) == TT_OK) {
        write_runs(out.stream, runs, newest);
        for (size_t i = 0; i < TT_NMETRICS && rc == TT_OK; i++)
            rc = write_metric(out.stream, s, runs, newest, &tt_metrics[i], e);
        rc = rc == TT_OK ? tt_outfile_close(&out, e) : tt_outfile_discard(&out, rc);
    }
    json_decref(newest);
    return rc;
}
