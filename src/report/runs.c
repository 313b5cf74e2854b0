/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs for a terminal, and as JSON and CSV, one at a time, since there may be many. */
#include "report/runs.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/metrics.h"
#include "base/json.h"
#include "base/text.h"
#include "report/outfile.h"
#include "report/paragraph.h"
#include "report/parameter.h"
#include "report/table.h"
#include "spec/units.h"

/* ---- what a list shows ---- */

#define MAX_FIELDS 16
#define ENOUGH 10 /* columns of a label, to tell it from others */

/* A column of the list. */
struct field {
    const char *key, *title;
    int kind;      /* enum tt_stored; -1: a member of struct tt_run_row */
    bool optional; /* left out if no run has it */
    bool varied;   /* not asked for: there because it differs, and as long as there is room */
    int least;     /* it may be cut down to this; 0: never */
    int width;
    char **texts; /* of all runs */
};

struct list {
    struct tt_store *s;
    const struct tt_run_rows *runs;
    bool other_year; /* some are not of this year */
    json_t *varied;
    size_t n;
    struct field fields[MAX_FIELDS];
};

/* What follows the time in the id is enough to name it. */
static const char *short_id(const char *id)
{
    const char *dash = strrchr(id, '-');

    return dash && dash[1] ? dash + 1 : id;
}

/* In UTC, as ids are: "11-16 22:33", or "2025-11-16". */
static void format_date(double seconds, bool year, char out[TT_TIME_TEXT])
{
    char text[TT_TIME_TEXT];

    tt_format_time(seconds, text);
    snprintf(out, TT_TIME_TEXT, "%.*s", year ? 10 : 11, year ? text : text + 5);
    if (!year)
        out[5] = ' ';
}

/* A member of the row; false if the key is none. */
static bool own_text(const struct list *l, const struct tt_run_row *r, const char *key, char **out)
{
    bool wrong = !strcmp(r->status, "done") && !r->valid;
    char date[TT_TIME_TEXT];
    const struct {
        const char *key, *text;
    } members[] = {{"id", short_id(r->id)},
                   {"label", r->label},
                   {"workload", r->workload},
                   {"plan", r->plan_hash},
                   {"status", wrong ? "invalid" : r->status},
                   {"valid", r->valid ? "yes" : "no"},
                   {"directory", r->directory},
                   {"start", date}};

    format_date(r->start_seconds, l->other_year, date);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (!strcmp(members[i].key, key)) {
            *out = strdup(members[i].text);
            return true;
        }
    return false;
}

/* What the list says of a run: with its unit, "-" for a number that was not measured. */
static int read_cell(const struct list *l, const struct tt_run_row *r, const struct field *f,
                     char **out, struct tt_error *e)
{
    const struct tt_metric *m = tt_find_metric(f->key);
    char *text = NULL, shown[256] = "", number[TT_UNIT_TEXT];
    int rc = TT_OK;

    *out = NULL;
    if (f->kind < 0) {
        own_text(l, r, f->key, out);
        return *out ? TT_OK : tt_fail_nomem(e, "a list");
    }
    rc = tt_store_text(l->s, r->key, (enum tt_stored)f->kind, f->key, &text, e);
    if (rc == TT_OK && !text && f->kind != TT_STORED_PARAMETERS)
        snprintf(shown, sizeof shown, "-");
    else if (text && f->kind == TT_STORED_PARAMETERS)
        tt_parameter_format(NULL, f->key, text, shown, sizeof shown);
    else if (text && (m || f->kind == TT_STORED_PHASES))
        snprintf(shown, sizeof shown, "%s",
                 tt_format_value(strtod(text, NULL), m ? m->unit : "s", number));
    else if (text)
        snprintf(shown, sizeof shown, "%s", text);
    free(text);
    *out = strdup(shown);
    return rc == TT_OK && !*out ? tt_fail_nomem(e, "a list") : rc;
}

static bool is_number(const struct field *f)
{
    return f->kind == TT_STORED_METRICS || f->kind == TT_STORED_PHASES || !strcmp(f->key, "ranks");
}

/* Reads the column's cells. */
static int fill(struct list *l, struct field *f, struct tt_error *e)
{
    size_t n = l->runs->n;
    bool any = false;
    int rc;

    f->texts = calloc(n + 1, sizeof *f->texts);
    rc = f->texts ? TT_OK : tt_fail_nomem(e, "a list");
    f->width = (int)strlen(f->title);
    for (size_t i = 0; rc == TT_OK && i < n; i++) {
        rc = read_cell(l, &l->runs->rows[i], f, &f->texts[i], e);
        if (rc == TT_OK) {
            int wide = (int)tt_text_columns(f->texts[i], strlen(f->texts[i]));

            any |= wide > 0 && strcmp(f->texts[i], "-") != 0;
            f->width = wide > f->width ? wide : f->width;
        }
    }
    if (f->optional && !any)
        f->width = 0;
    if (f->least > 0 && f->least < (int)strlen(f->title))
        f->least = (int)strlen(f->title);
    return rc;
}

static int add_field(struct list *l, struct field f, struct tt_error *e)
{
    const struct tt_metric *m = tt_find_metric(f.key);
    const char *dot = strrchr(f.key, '.');

    if (l->n == MAX_FIELDS)
        return tt_fail(e, TT_USAGE, "--columns: at most %d fit", MAX_FIELDS);
    if (tt_store_kind(l->s, f.key, &f.kind, e) != TT_OK)
        return e->code;
    f.title = m && f.kind == TT_STORED_METRICS                  ? m->label
              : dot && dot[1] && f.kind == TT_STORED_PARAMETERS ? dot + 1
                                                                : f.key;
    l->fields[l->n] = f;
    return fill(l, &l->fields[l->n++], e);
}

/* Parameters that have a column anyway, or that change nothing of what is measured. */
static bool is_told_otherwise(const char *key)
{
    static const char *const keys[] = {"ranks", "label",  "context", "results", "dir",
                                       "json",  "csv",    "quiet",   "mode",    "dry_run",
                                       "keep",  "module", "seed"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!strcmp(keys[i], key))
            return true;
    return false;
}

/* With labels and contexts cut down to as many columns, or to the least. */
static int total_width(const struct list *l, int cut)
{
    int total = -1;

    for (size_t i = 0; i < l->n; i++) {
        int least = l->fields[i].least > cut ? l->fields[i].least : cut, width = l->fields[i].width;

        if (width)
            total += 1 + (l->fields[i].least && width > least ? least : width);
    }
    return total;
}

static void drop(struct field *f, size_t runs)
{
    for (size_t i = 0; f->texts && i < runs; i++)
        free(f->texts[i]);
    free(f->texts);
    *f = (struct field){0};
}

/* A column that has the same in all runs makes room for one that has not. */
static bool make_room(struct list *l)
{
    static const char *const keys[] = {"label", "context", "workload", "ranks"};

    for (size_t k = 0; k < sizeof keys / sizeof *keys && l->runs->n > 1; k++)
        for (size_t i = 0; i < l->n; i++) {
            struct field *f = &l->fields[i];
            bool same = f->width && !strcmp(f->key, keys[k]);

            for (size_t r = 1; same && r < l->runs->n; r++)
                same = !strcmp(f->texts[r], f->texts[0]);
            if (same) {
                f->width = 0;
                return true;
            }
        }
    return false;
}

/* What was varied between the runs, as far as there is room: "left" gets the others. */
static int add_varied(struct list *l, struct tt_paragraph *left, struct tt_error *e)
{
    const struct field status = l->fields[l->n - 1];
    int rc = tt_store_varied(l->s, l->runs, &l->varied, e);
    const json_t *key;
    size_t i;

    l->n--; /* it comes back as the last, also after a failure */
    json_array_foreach(l->varied, i, key)
    {
        const char *name = json_string_value(key);
        bool fits = l->n + 1 < MAX_FIELDS;

        if (rc != TT_OK || is_told_otherwise(name))
            continue;
        if (fits) {
            rc = add_field(l, (struct field){.key = name, .varied = true}, e);
            do
                fits = total_width(l, ENOUGH) + 1 + status.width <= TT_WIDTH;
            while (!fits && make_room(l));
        }
        if (!fits) {
            if (l->fields[l->n - 1].varied && l->fields[l->n - 1].key == name)
                drop(&l->fields[--l->n], l->runs->n);
            tt_paragraph_add(left, "%s%s", left->n ? ", " : "", name);
        }
    }
    l->fields[l->n++] = status;
    return rc;
}

/* Date, duration, rates, and what differs. */
static int add_usual(struct list *l, struct tt_paragraph *left, struct tt_error *e)
{
    static const struct field usual[] = {{.key = "id"},
                                         {.key = "start"},
                                         {.key = "label", .optional = true, .least = 5},
                                         {.key = "context", .optional = true, .least = 7},
                                         {.key = "workload", .least = 8},
                                         {.key = "ranks"},
                                         {.key = "runtime"},
                                         {.key = "write_rate", .optional = true},
                                         {.key = "read_rate", .optional = true},
                                         {.key = "status"}};
    int rc = TT_OK;

    for (size_t i = 0; rc == TT_OK && i < sizeof usual / sizeof *usual; i++)
        rc = add_field(l, usual[i], e);
    for (size_t i = l->n; rc == TT_OK && i > 0 && total_width(l, 0) > TT_WIDTH; i--)
        if (l->fields[i - 1].optional && l->fields[i - 1].kind == TT_STORED_METRICS)
            l->fields[i - 1].width = 0; /* all of it would not fit */
    return rc == TT_OK ? add_varied(l, left, e) : rc;
}

static int add_asked(struct list *l, char *asked, struct tt_error *e)
{
    char *rest = asked, *key;
    int rc = TT_OK;

    while (rc == TT_OK && (key = strsep(&rest, ",")))
        rc = add_field(l, (struct field){.key = key}, e);
    return rc;
}

static bool is_other_year(const struct tt_run_rows *runs)
{
    time_t now = time(NULL);
    struct tm first = {.tm_mday = 1}, utc;
    double begin;

    first.tm_year = gmtime_r(&now, &utc)->tm_year;
    begin = (double)timegm(&first);
    for (size_t i = 0; i < runs->n; i++)
        if (runs->rows[i].start_seconds < begin || runs->rows[i].start_seconds > (double)now + 1e6)
            return true;
    return false;
}

/* ---- for a terminal ---- */

/* What a run was before what it measured; asked columns as they were asked for. */
static int place_of(const struct list *l, const struct field *f)
{
    return !l->varied ? 0 : !strcmp(f->key, "status") ? 2 : f->kind == TT_STORED_METRICS;
}

static int print_list(FILE *out, const struct list *l, struct tt_error *e)
{
    struct tt_column columns[MAX_FIELDS];
    struct tt_table t = {columns, 0, .tight = true};
    size_t shown[MAX_FIELDS];

    for (int place = 0; place < 3; place++)
        for (size_t i = 0; i < l->n; i++) {
            const struct field *f = &l->fields[i];

            if (!f->width || place_of(l, f) != place)
                continue;
            shown[t.ncolumns] = i;
            columns[t.ncolumns++] =
                (struct tt_column){.title = f->title, .right = is_number(f), .least = f->least};
        }
    if (t.ncolumns && !columns[t.ncolumns - 1].right) /* never wrapped */
        columns[t.ncolumns - 1].least = l->fields[shown[t.ncolumns - 1]].width;
    for (size_t r = 0; r < l->runs->n; r++)
        for (size_t i = 0; i < t.ncolumns; i++)
            tt_table_add(&t, "%s", l->fields[shown[i]].texts[r]);
    return tt_table_print(&t, out, e);
}

int tt_report_runs(FILE *out, struct tt_store *s, const struct tt_run_rows *runs,
                   const char *columns, struct tt_error *e)
{
    struct list l = {.s = s, .runs = runs, .other_year = is_other_year(runs)};
    char *asked = NULL;
    struct tt_paragraph left = {0};
    int rc = columns ? tt_store_whole_keys(s, "--columns", columns, &asked, e) : TT_OK;

    if (rc == TT_OK)
        rc = asked ? add_asked(&l, asked, e) : add_usual(&l, &left, e);
    if (rc == TT_OK)
        rc = print_list(out, &l, e);
    if (rc == TT_OK && left.n)
        tt_say_marked(out, "! ", "also varied: %s; --columns KEY,... shows them", left.text);
    for (size_t i = 0; i < l.n; i++)
        drop(&l.fields[i], runs->n);
    json_decref(l.varied);
    free(asked);
    return rc;
}

/* ---- JSON ---- */

/* What the list shows; like the whole thing, but with less in it. */
static int add_shown(json_t *run, struct tt_store *s, int64_t key, struct tt_error *e)
{
    static const char *const parameters[] = {"backend", "overlap", "sync"};
    json_t *p = json_object(), *m = json_object();
    int rc = TT_OK, bad = 0;

    for (size_t i = 0; rc == TT_OK && i < sizeof parameters / sizeof *parameters; i++) {
        char *value = NULL;

        rc = tt_store_parameter(s, key, parameters[i], &value, e);
        if (value)
            bad |= json_object_set_new(p, parameters[i],
                                       tt_parameter_json(NULL, parameters[i], value));
        free(value);
    }
    for (int i = 0; rc == TT_OK && i < TT_NMETRICS; i++) {
        double value = 0;
        bool known;

        if (!(tt_metrics[i].shown & TT_SHOWN_LISTED))
            continue;
        rc = tt_store_metric(s, key, tt_metrics[i].name, &known, &value, e);
        bad |= json_object_set_new(m, tt_metrics[i].name,
                                   json_pack("{s:o, s:s}", "value",
                                             known ? json_real(value) : json_null(), "unit",
                                             tt_metrics[i].unit));
    }
    bad |= json_object_set_new(run, "parameters", p);
    bad |= json_object_set_new(run, "metrics", m);
    return rc == TT_OK && bad ? tt_fail_nomem(e, "a run") : rc;
}

static int add_everything(json_t *run, struct tt_store *s, int64_t key, struct tt_error *e)
{
    json_t *parameters = NULL, *metrics = NULL, *phases = NULL, *environment = NULL;
    int bad = 0;

    if (tt_store_parameters(s, key, &parameters, e) == TT_OK &&
        tt_store_values(s, key, TT_STORED_METRICS, &metrics, e) == TT_OK &&
        tt_store_values(s, key, TT_STORED_PHASES, &phases, e) == TT_OK)
        tt_store_environment(s, key, &environment, e);
    bad |= json_object_set_new(run, "parameters", tt_parameters_json(NULL, parameters));
    json_decref(parameters);
    bad |= json_object_set_new(run, "metrics", metrics);
    bad |= json_object_set_new(run, "phases", phases);
    bad |= json_object_set_new(run, "environment", environment);
    return e->code == TT_OK && bad ? tt_fail_nomem(e, "a run") : e->code;
}

static json_t *run_json(const struct tt_run_row *r)
{
    char start[TT_TIME_TEXT];

    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:b, s:s}", "id", tt_json_text(r->id),
                     "label", *r->label ? tt_json_text(r->label) : json_null(), "directory",
                     tt_json_text(r->directory), "workload", tt_json_text(r->workload), "plan",
                     tt_json_text(r->plan_hash), "ranks", (json_int_t)r->ranks, "status",
                     tt_json_text(r->status), "valid", r->valid, "start",
                     tt_format_time(r->start_seconds, start));
}

int tt_report_runs_json(const char *path, struct tt_store *s, const struct tt_run_rows *runs,
                        bool everything, struct tt_error *e)
{
    struct tt_outfile out;
    int rc = tt_outfile_open(&out, path, e);

    if (rc != TT_OK)
        return rc;
    fputs("{\"runs\": [", out.stream);
    for (size_t i = 0; rc == TT_OK && i < runs->n; i++) {
        json_t *run = run_json(&runs->rows[i]);

        rc = (everything ? add_everything : add_shown)(run, s, runs->rows[i].key, e);
        if (rc == TT_OK) {
            fputs(i ? ",\n" : "\n", out.stream);
            json_dumpf(run, out.stream, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
        }
        json_decref(run);
    }
    fputs("\n]}\n", out.stream);
    return rc == TT_OK ? tt_outfile_close(&out, e) : tt_outfile_discard(&out, rc);
}

/* ---- CSV ---- */

static const enum tt_stored in_csv[] = {TT_STORED_PARAMETERS, TT_STORED_METRICS};
#define NGROUPS (sizeof in_csv / sizeof *in_csv)

/* "write_rate_B_per_s": the unit is part of the name, without characters that need quotes in a
 * shell, a spreadsheet or a data frame. */
static char *column_name(const char *key, const char *unit)
{
    size_t size;
    char *name = NULL;
    FILE *f = open_memstream(&name, &size);

    if (!f)
        return NULL;
    fputs(key, f);
    if (*unit && strcmp(unit, "1") != 0)
        fputc('_', f);
    if (!strncmp(unit, "1/", 2)) {
        fputs("per_", f);
        unit += 2;
    }
    for (; *unit && strcmp(unit, "1") != 0; unit++)
        if (*unit == '/')
            fputs("_per_", f);
        else
            fputc(isalnum((unsigned char)*unit) ? *unit : '_', f);
    return fclose(f) == 0 ? name : NULL;
}

/* {"stencil.size_points": "4096", ...} of one run. */
static int named_values(struct tt_store *s, int64_t run, enum tt_stored group, json_t **out,
                        struct tt_error *e)
{
    json_t *values, *value;
    const char *key;
    int bad = 0, rc = tt_store_values(s, run, group, &values, e);

    *out = NULL;
    if (rc != TT_OK)
        return rc;
    *out = json_object();
    json_object_foreach(values, key, value)
    {
        char *name = column_name(key, tt_text_of(value, "unit"));

        bad |= !name || json_object_set(*out, name, json_object_get(value, "value"));
        free(name);
    }
    json_decref(values);
    return bad ? tt_fail_nomem(e, "values") : TT_OK;
}

/* Every column that some run has. */
static int collect_columns(struct tt_store *s, const struct tt_run_rows *runs, enum tt_stored group,
                           json_t *columns, struct tt_error *e)
{
    int rc = TT_OK;

    for (size_t i = 0; rc == TT_OK && i < runs->n; i++) {
        json_t *values;

        rc = named_values(s, runs->rows[i].key, group, &values, e);
        if (rc == TT_OK && json_object_update(columns, values) != 0)
            rc = tt_fail_nomem(e, "columns");
        json_decref(values);
    }
    return rc;
}

static int write_run(struct tt_outfile *f, struct tt_store *s, const struct tt_run_row *r,
                     json_t *const columns[NGROUPS], struct tt_error *e)
{
    char start[TT_TIME_TEXT];
    const char *const texts[] = {r->id,
                                 tt_format_time(r->start_seconds, start),
                                 r->directory,
                                 r->workload,
                                 r->plan_hash,
                                 r->status,
                                 r->valid ? "yes" : "no"};
    const char *name;
    json_t *ignored;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        tt_csv_text(f, texts[i]);
    for (size_t g = 0; g < NGROUPS; g++) {
        json_t *values;

        if (named_values(s, r->key, in_csv[g], &values, e) == TT_OK)
            json_object_foreach(columns[g], name, ignored)
            {
                const json_t *value = json_object_get(values, name);
                char number[40] = "";

                if (json_is_number(value)) /* as exactly as it was measured */
                    snprintf(number, sizeof number, "%.17g", json_number_value(value));
                tt_csv_text(f, json_is_string(value) ? json_string_value(value) : number);
            }
        json_decref(values);
    }
    tt_csv_end_row(f);
    return e->code;
}

static void write_titles(struct tt_outfile *f, json_t *const columns[NGROUPS])
{
    const char *name;
    json_t *ignored;

    fputs("id,start,directory,workload,plan,status,valid", f->stream);
    f->in_row = true;
    for (size_t g = 0; g < NGROUPS; g++)
        json_object_foreach(columns[g], name, ignored) tt_csv_text(f, name);
    tt_csv_end_row(f);
}

int tt_report_runs_csv(const char *path, struct tt_store *s, const struct tt_run_rows *runs,
                       struct tt_error *e)
{
    json_t *columns[NGROUPS] = {NULL};
    struct tt_outfile out;
    int rc = TT_OK;

    for (size_t g = 0; rc == TT_OK && g < NGROUPS; g++) {
        columns[g] = json_object();
        rc = collect_columns(s, runs, in_csv[g], columns[g], e);
    }
    if (rc == TT_OK)
        rc = tt_outfile_open(&out, path, e);
    if (rc == TT_OK) {
        write_titles(&out, columns);
        for (size_t i = 0; rc == TT_OK && i < runs->n; i++)
            rc = write_run(&out, s, &runs->rows[i], columns, e);
        rc = rc == TT_OK ? tt_outfile_close(&out, e) : tt_outfile_discard(&out, rc);
    }
    for (size_t g = 0; g < NGROUPS; g++)
        json_decref(columns[g]);
    return rc;
}
