/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/overlap_model.h"

#include <math.h>
#include <string.h>

#include "analysis/statistics.h"
#include "base/json.h"
#include "base/text.h"
#include "report/outfile.h"
#include "report/paragraph.h"
#include "report/table.h"
#include "spec/units.h"

#define MIB 1048576.0
#define STRONG 0.7 /* r2 from which the paper calls a correlation strong */

static bool has_logarithms(enum tt_rate_form form)
{
    return form == TT_RATE_LOG || form == TT_RATE_LOG_INTERCEPT;
}

/* About what the squares of r2 are taken. */
static const char *about(enum tt_rate_form form)
{
    return form == TT_RATE_LINEAR_INTERCEPT || form == TT_RATE_LOG_INTERCEPT ? "mean" : "zero";
}

static const char *const regressors[TT_NREGRESSORS] = {"size", "ranks"};

/* ---- figures of an answer, one list for all that show them ---- */

struct shown {
    const char *key, *label, *unit;
    struct tt_range range;
};
#define MOST_SHOWN 15

static struct tt_range rate_range(const struct tt_rate_guess *g)
{
    return g->known ? (struct tt_range){g->value, g->low, g->high}
                    : (struct tt_range){NAN, NAN, NAN};
}

static size_t list_figures(const struct tt_model_report *r, struct shown out[MOST_SHOWN])
{
    const struct tt_overlap_answer *a = r->answer;
    const struct shown all[] = {
        {"storage_rate", "storage rate", "B/s", rate_range(&a->rates[TT_MODEL_STORAGE])},
        {"staging_rate", "staging rate", "B/s", rate_range(&a->rates[TT_MODEL_STAGING])},
        {"copy_rate", "copy rate", "B/s", rate_range(&a->rates[TT_MODEL_COPY])},
        {"io", "I/O of a dump", "s", a->io},
        {"staging", "of that staging", "s", a->staging},
        {"copy", "copy of a dump", "s", a->copy},
        {"epoch_sync", "epoch, sync", "s", a->epoch[TT_CHOICE_SYNC]},
        {"epoch_async", "epoch, async", "s", a->epoch[TT_CHOICE_ASYNC]},
        {"speedup", "speed-up", "1", a->speedup},
        {"least_compute", "computation, from", "s", a->least_compute},
        {"most_compute", "computation, to", "s", a->most_compute},
        {"interval", "output interval, from", "s", a->interval},
        {"steps", "steps per output, from", "1", a->steps},
        {"runtime_sync", "runtime, sync", "s", a->runtime[TT_CHOICE_SYNC]},
        {"runtime_async", "runtime, async", "s", a->runtime[TT_CHOICE_ASYNC]},
    };
    size_t n = 0;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *key = all[i].key;
        bool asked = !strncmp(key, "runtime", 7)   ? r->question->epochs > 0
                     : !strncmp(key, "staging", 7) ? r->model->rows[TT_MODEL_STAGING] > 0
                                                   : strcmp(key, "steps") || r->question->steps > 0;

        if (asked)
            out[n++] = all[i];
    }
    return n;
}

/* ---- heads ---- */

static size_t runs_of(const struct tt_history *h, int mode)
{
    size_t n = 0;

    for (size_t i = 0; i < h->n; i++)
        n += h->runs[i].mode == mode;
    return n;
}

static void print_source(FILE *out, const struct tt_model_source *s)
{
    struct tt_paragraph p = {0}, rest = {0};
    const json_t *value;
    const char *key;
    size_t i;

    tt_paragraph_add(&p,
                     "%s on %s, host %s: %zu synchronous runs (sync+imm), %zu overlapped "
                     "(async+bg)",
                     s->workload, s->backend, s->host, runs_of(s->history, TT_CHOICE_SYNC),
                     runs_of(s->history, TT_CHOICE_ASYNC));
    tt_paragraph_print(&p, out, "history");
    json_object_foreach(s->left_out, key, value) tt_paragraph_add(
        &rest, "%s%lld %s", rest.n ? "; " : "", (long long)json_integer_value(value), key);
    tt_paragraph_print(&rest, out, "left out");
    if (json_array_size(s->varied) == 0)
        return;
    p = (struct tt_paragraph){0};
    json_array_foreach(s->varied, i, value)
        tt_paragraph_add(&p, "%s%s", i ? ", " : "", json_string_value(value));
    tt_say_marked(out, "! ",
                  "runs also differ in what the model does not know (%s): choose among them by "
                  "filters",
                  p.text);
}

/* ---- fits ---- */

/* What the rate gains by a MiB or a rank, or by twice as much. */
static const char *slope_text(const struct tt_rate_fit *f, int c, char out[TT_UNIT_TEXT])
{
    double by = has_logarithms(f->form) ? M_LN2 : c == TT_OF_SIZE ? MIB : 1;

    return f->dropped[c] ? "-" : tt_format_rate(f->slope[c] * by, out);
}

static void add_fit(struct tt_table *t, const char *rate, const struct tt_rate_fit *f, bool chosen)
{
    char size[TT_UNIT_TEXT], ranks[TT_UNIT_TEXT], constant[TT_UNIT_TEXT];

    tt_table_add(t, "%s", rate);
    tt_table_add(t, "%s%s", tt_rate_forms[f->form], chosen ? " *" : "");
    tt_table_add(t, "%s", slope_text(f, TT_OF_SIZE, size));
    tt_table_add(t, "%s", slope_text(f, TT_OF_RANKS, ranks));
    tt_table_add(t, "%s",
                 strcmp(about(f->form), "mean") ? "-" : tt_format_rate(f->intercept, constant));
    if (f->r2_known)
        tt_table_add(t, "%.3f %s", f->r2, about(f->form));
    else
        tt_table_add(t, "-");
    tt_table_add(t, "%.1f %%", 100 * f->left_out);
}

/* Why a regressor of a chosen form has no slope. */
static void print_dropped(FILE *out, const struct tt_overlap_model *m, int rate)
{
    const struct tt_rate_fit *f = &m->fits[rate][m->chosen[rate]];

    for (int c = 0; c < TT_NREGRESSORS; c++)
        if (f->least[c] == f->most[c])
            tt_say_marked(out, "! ", "%s rate: %s did not vary: %s effect is unknown",
                          tt_model_rates[rate], regressors[c], c == TT_OF_RANKS ? "their" : "its");
        else if (f->dropped[c])
            tt_say_marked(out, "! ", "%s rate: %s was left out of the fit: %s",
                          tt_model_rates[rate], regressors[c], f->dropped[c]);
}

/* Whether there is a line, and whether it says much. */
static void print_doubts(FILE *out, const struct tt_overlap_model *m, int rate)
{
    const struct tt_rate_fit *f;

    if (m->chosen[rate] < 0 && rate == TT_MODEL_STAGING) {
        if (m->rows[rate] > 0)
            tt_say_marked(out, "! ", "nothing is known of staging: too few runs have a rate");
        return;
    }
    if (m->chosen[rate] < 0) {
        size_t needed = tt_rate_rows_needed(TT_RATE_LINEAR);

        tt_say_marked(out, "! ",
                      "nothing is known of overlap: %zu run%s of mode async+bg, and a fit of the "
                      "copy rate needs %zu: run %zu more",
                      m->rows[rate], m->rows[rate] == 1 ? "" : "s", needed,
                      needed > m->rows[rate] ? needed - m->rows[rate] : 1);
        return;
    }
    f = &m->fits[rate][m->chosen[rate]];
    if (!f->r2_known)
        tt_say_marked(out, "! ", "%s rate: r2 is unknown, since all rates are the same",
                      tt_model_rates[rate]);
    else if (f->r2 < STRONG)
        tt_say_marked(out, "! ",
                      "%s rate: size and ranks explain %.0f %% of it only; %.0f %% would be a "
                      "strong relation",
                      tt_model_rates[rate], 100 * fmax(0, f->r2), 100 * STRONG);
}

static void print_fits(FILE *out, const struct tt_overlap_model *m)
{
    static const struct tt_column columns[] = {{.title = "rate"},
                                               {.title = "form", .least = 10},
                                               {.title = "by size", .right = true},
                                               {.title = "by ranks", .right = true},
                                               {.title = "constant", .right = true},
                                               {.title = "r2 about", .right = true},
                                               {.title = "error", .right = true}};
    struct tt_table t = {columns, sizeof columns / sizeof *columns, .indent = 2};

    for (int rate = 0; rate < TT_NMODEL_RATES; rate++)
        for (int form = 0; form < TT_NRATE_FORMS; form++)
            if (m->fits[rate][form].n > 0)
                add_fit(&t, tt_model_rates[rate], &m->fits[rate][form], form == m->chosen[rate]);
    fputc('\n', out);
    tt_table_print(&t, out, NULL);
    fputc('\n', out);
    tt_say(out, "by size", "per MiB of a dump; in log forms, per doubling");
    tt_say(out, "by ranks", "per rank; in log forms, per doubling");
    if (isfinite(m->inflation.value))
        tt_say(out, "inflation", "computation takes %.3g times as long beside I/O (%.3g to %.3g)",
               m->inflation.value, m->inflation.low, m->inflation.high);
    else if (m->chosen[TT_MODEL_COPY] >= 0)
        tt_say(out, "inflation",
               "unknown, taken as 1: no overlapped run has baseline epochs (--baseline)");
    for (int rate = 0; rate < TT_NMODEL_RATES; rate++) {
        if (m->chosen[rate] >= 0)
            print_dropped(out, m, rate);
        print_doubts(out, m, rate);
    }
}

/* "2 to 8", or what both are. */
static void add_extent(struct tt_paragraph *p, const char *low, const char *high)
{
    tt_paragraph_add(p, "%s", low);
    if (strcmp(low, high) != 0)
        tt_paragraph_add(p, " to %s", high);
}

/* The range of the runs. */
static void add_data(struct tt_paragraph *p, const struct tt_rate_fit *f)
{
    char low[TT_UNIT_TEXT], high[TT_UNIT_TEXT];

    snprintf(low, sizeof low, "%g", f->least[TT_OF_RANKS]);
    snprintf(high, sizeof high, "%g", f->most[TT_OF_RANKS]);
    add_extent(p, low, high);
    tt_paragraph_add(p, " rank%s and dumps of ", f->most[TT_OF_RANKS] > 1 ? "s" : "");
    add_extent(p, tt_format_bytes(f->least[TT_OF_SIZE], low),
               tt_format_bytes(f->most[TT_OF_SIZE], high));
}

/* How good the fit of a rate is. */
static void add_quality(struct tt_paragraph *p, int rate, const struct tt_rate_fit *f)
{
    tt_paragraph_add(p, " give the %s rate within %.1f %% (r2 ", tt_model_rates[rate],
                     100 * f->left_out);
    if (f->r2_known)
        tt_paragraph_add(p, "%.3f about %s", f->r2, about(f->form));
    else
        tt_paragraph_add(p, "unknown");
    tt_paragraph_add(p, "), by the form %s", tt_rate_forms[f->form]);
}

static void conclude_fit(FILE *out, const struct tt_overlap_model *m)
{
    const struct tt_rate_fit *f = &m->fits[TT_MODEL_STORAGE][m->chosen[TT_MODEL_STORAGE]];
    struct tt_paragraph p = {0};

    tt_paragraph_add(&p, "%zu runs with ", f->n);
    add_data(&p, f);
    add_quality(&p, TT_MODEL_STORAGE, f);
    if (m->chosen[TT_MODEL_COPY] >= 0) {
        f = &m->fits[TT_MODEL_COPY][m->chosen[TT_MODEL_COPY]];
        tt_paragraph_add(&p, "; %zu overlapped ones", f->n);
        add_quality(&p, TT_MODEL_COPY, f);
    }
    if (m->chosen[TT_MODEL_STAGING] >= 0) {
        f = &m->fits[TT_MODEL_STAGING][m->chosen[TT_MODEL_STAGING]];
        tt_paragraph_add(&p, "; %zu of both kinds", f->n);
        add_quality(&p, TT_MODEL_STAGING, f);
    }
    tt_paragraph_add(&p, ".");
    tt_paragraph_print(&p, out, "in short");
}

/* ---- predictions ---- */

static void add_range(struct tt_table *t, const struct shown *s)
{
    char value[TT_UNIT_TEXT], low[TT_UNIT_TEXT], high[TT_UNIT_TEXT];

    tt_table_add(t, "%s", s->label);
    if (isnan(s->range.value)) {
        tt_table_add(t, "unknown");
        tt_table_add(t, "%s", "");
        return;
    }
    tt_table_add(t, "%s",
                 isinf(s->range.value) ? "any" : tt_format_value(s->range.value, s->unit, value));
    tt_format_value(s->range.low, s->unit, low);
    if (isinf(s->range.low))
        tt_table_add(t, "%s", "");
    else if (isinf(s->range.high))
        tt_table_add(t, "%s or more", low);
    else if (s->range.low > 0)
        tt_table_add(t, "%s to %s", low, tt_format_value(s->range.high, s->unit, high));
    else
        tt_table_add(t, "%s or less", tt_format_value(s->range.high, s->unit, high));
}

static void print_question(FILE *out, const struct tt_overlap_question *q)
{
    char size[TT_UNIT_TEXT], compute[TT_UNIT_TEXT];

    tt_say(out, "asked", "%g rank%s, %s a dump, %s of computation between dumps; the %s form",
           q->ranks, q->ranks == 1 ? "" : "s", tt_format_bytes(q->size, size),
           tt_format_seconds(q->compute, compute),
           q->form == TT_EPOCH_PAPER ? "paper's" : "physical");
}

/* Another form that gives a rate there, the best of them by its runs; NULL: there is none. */
static const char *form_that_reaches(const struct tt_overlap_model *m, int rate,
                                     const struct tt_overlap_question *q)
{
    const struct tt_rate_fit *best = NULL;

    for (int form = 0; form < TT_NRATE_FORMS; form++) {
        const struct tt_rate_fit *f = &m->fits[rate][form];

        if (form != m->chosen[rate] && f->n > 0 &&
            tt_rate_predict(f, q->size, q->ranks, TT_LEVEL).known &&
            (!best || f->left_out < best->left_out))
            best = f;
    }
    return best ? tt_rate_forms[best->form] : NULL;
}

static void print_fall(FILE *out, const struct tt_model_report *r, int rate)
{
    const char *other = form_that_reaches(r->model, rate, r->question);
    char fallen[TT_UNIT_TEXT];

    tt_format_rate(r->answer->rates[rate].value, fallen);
    if (other)
        tt_say_marked(
            out, "! ",
            "%s rate: unknown, since the fit falls to %s there; take --fit %s, or measure "
            "nearer to it",
            tt_model_rates[rate], fallen, other);
    else
        tt_say_marked(
            out, "! ",
            "%s rate: unknown, since the fit falls to %s there, and no other form gives a "
            "rate: vary size and ranks, up to what is asked",
            tt_model_rates[rate], fallen);
}

static void print_untold(FILE *out, const struct tt_model_report *r, int rate)
{
    const struct tt_rate_fit *f = &r->model->fits[rate][r->model->chosen[rate]];
    char had[TT_UNIT_TEXT], asked[TT_UNIT_TEXT];

    if (r->answer->rates[rate].untold[TT_OF_SIZE])
        tt_say_marked(out, "! ",
                      "%s rate: all runs have dumps of %s; what %s does to it is unknown, and is "
                      "taken as nothing: measure with that size, too",
                      tt_model_rates[rate], tt_format_bytes(f->least[TT_OF_SIZE], had),
                      tt_format_bytes(r->question->size, asked));
    if (r->answer->rates[rate].untold[TT_OF_RANKS])
        tt_say_marked(out, "! ",
                      "%s rate: all runs have %g rank%s; what %g do to it is unknown, and is taken "
                      "as nothing: measure with as many, too",
                      tt_model_rates[rate], f->least[TT_OF_RANKS],
                      f->least[TT_OF_RANKS] == 1 ? "" : "s", r->question->ranks);
}

static void print_reach(FILE *out, const struct tt_model_report *r)
{
    for (int rate = 0; rate < TT_NMODEL_RATES; rate++) {
        const struct tt_rate_guess *g = &r->answer->rates[rate];
        int form = r->model->chosen[rate];
        const struct tt_rate_fit *f = &r->model->fits[rate][form < 0 ? 0 : form];

        if (form < 0)
            continue;
        if (!g->known)
            print_fall(out, r, rate);
        print_untold(out, r, rate);
        if (g->outside) {
            struct tt_paragraph data = {0};

            add_data(&data, f);
            tt_say_marked(
                out, "! ",
                "%s rate: this leaves the data (%s); the interval is %.2g times as wide as "
                "inside, and holds only if the line goes on",
                tt_model_rates[rate], data.text, g->widened);
        }
        if (g->known && !(g->low > 0))
            tt_say_marked(out, "! ", "%s rate: its interval reaches 0, so times have no upper end",
                          tt_model_rates[rate]);
    }
}

static bool is_untold(const struct tt_overlap_answer *a, int c)
{
    bool untold = false;

    for (int rate = 0; rate < TT_NMODEL_RATES; rate++)
        untold = untold || a->rates[rate].untold[c];
    return untold;
}

/* A regressor that never varied says nothing of what is asked, however narrow the interval is. */
static bool is_guesswork(const struct tt_overlap_answer *a)
{
    return is_untold(a, TT_OF_SIZE) || is_untold(a, TT_OF_RANKS);
}

static const char *verdict_on(const struct tt_overlap_answer *a)
{
    if (is_guesswork(a))
        return is_untold(a, TT_OF_SIZE)
                   ? "whether overlap pays cannot be told, since the effect of size is unknown"
                   : "whether overlap pays cannot be told, since the effect of ranks is unknown";
    return a->speedup.low > 1    ? "overlap pays"
           : a->speedup.high < 1 ? "overlap does not pay"
                                 : "whether overlap pays cannot be told";
}

/* Between which computation times overlap pays. */
static void add_reach(struct tt_paragraph *p, const struct tt_overlap_answer *a)
{
    char least[TT_UNIT_TEXT], most[TT_UNIT_TEXT];

    tt_format_seconds(a->least_compute.value, least);
    if (is_guesswork(a))
        tt_paragraph_add(p, ".");
    else if (isfinite(a->most_compute.value))
        tt_paragraph_add(p, "; it pays while %s to %s is computed between two outputs.", least,
                         tt_format_seconds(a->most_compute.value, most));
    else
        tt_paragraph_add(p, "; it stops paying when less than %s is computed between two outputs.",
                         least);
}

static void conclude_prediction(FILE *out, const struct tt_model_report *r)
{
    const struct tt_overlap_answer *a = r->answer;
    char sync[TT_UNIT_TEXT], async[TT_UNIT_TEXT];
    struct tt_paragraph p = {0};

    if (isnan(a->epoch[TT_CHOICE_SYNC].value)) {
        tt_say(out, "in short", "Nothing can be predicted there.");
    } else if (isnan(a->speedup.value)) {
        tt_say(out, "in short", "An epoch takes %s synchronously; nothing is known of overlap.",
               tt_format_seconds(a->epoch[TT_CHOICE_SYNC].value, sync));
    } else if (isnan(a->least_compute.value)) {
        tt_say(out, "in short",
               "The copy takes longer than overlap could hide: with %s instead of %s an epoch, %s.",
               tt_format_seconds(a->epoch[TT_CHOICE_ASYNC].value, async),
               tt_format_seconds(a->epoch[TT_CHOICE_SYNC].value, sync), verdict_on(a));
    } else {
        tt_paragraph_add(&p,
                         "With %s instead of %s an epoch (%.3g times as fast, %.3g to %.3g), %s",
                         tt_format_seconds(a->epoch[TT_CHOICE_ASYNC].value, async),
                         tt_format_seconds(a->epoch[TT_CHOICE_SYNC].value, sync), a->speedup.value,
                         a->speedup.low, a->speedup.high, verdict_on(a));
        add_reach(&p, a);
        tt_paragraph_print(&p, out, "in short");
    }
}

static void print_answer(FILE *out, const struct tt_model_report *r)
{
    static const struct tt_column columns[] = {
        {.title = "figure"}, {.title = "predicted", .right = true}, {.title = "95 % interval"}};
    struct tt_table t = {columns, sizeof columns / sizeof *columns, .indent = 2};
    struct shown figures[MOST_SHOWN];
    size_t n = list_figures(r, figures);

    print_question(out, r->question);
    for (size_t i = 0; i < n; i++)
        add_range(&t, &figures[i]);
    fputc('\n', out);
    tt_table_print(&t, out, NULL);
    fputc('\n', out);
    print_reach(out, r);
    for (int rate = 0; rate < TT_NMODEL_RATES; rate++)
        print_doubts(out, r->model, rate);
    conclude_prediction(out, r);
}

/* ---- checks ---- */

static void print_check(FILE *out, const struct tt_check *c)
{
    static const struct tt_column columns[] = {{.title = "ranks", .right = true},
                                               {.title = "dump", .right = true},
                                               {.title = "mode"},
                                               {.title = "runs", .right = true},
                                               {.title = "measured", .right = true},
                                               {.title = "predicted", .right = true},
                                               {.title = "error", .right = true},
                                               {.title = "inside", .right = true}};
    struct tt_table t = {columns, sizeof columns / sizeof *columns, .indent = 2};
    char text[TT_UNIT_TEXT];

    for (size_t i = 0; i < c->n; i++) {
        const struct tt_checked *x = &c->rows[i];

        tt_table_add(&t, "%g", x->ranks);
        tt_table_add(&t, "%s", tt_format_bytes(x->size, text));
        tt_table_add(&t, "%s", tt_choice_names[x->mode]);
        tt_table_add(&t, "%zu", x->n);
        tt_table_add(&t, "%s", isnan(x->measured) ? "-" : tt_format_seconds(x->measured, text));
        if (isnan(x->predicted)) {
            tt_table_add(&t, "unknown");
            tt_table_add(&t, "-");
            tt_table_add(&t, "-");
            continue;
        }
        tt_table_add(&t, "%s", tt_format_seconds(x->predicted, text));
        tt_table_add(&t, "%+.1f %%", 100 * x->error);
        tt_table_add(&t, "%zu of %zu", x->inside, x->n);
    }
    fputc('\n', out);
    tt_table_print(&t, out, NULL);
    fputc('\n', out);
}

static void conclude_check(FILE *out, const struct tt_check *c)
{
    struct tt_paragraph p = {0};

    tt_paragraph_add(&p,
                     "Epochs of %s that the fit had not seen were predicted with a median error "
                     "of",
                     c->by_run ? "runs" : "configurations");
    for (int mode = 0; mode < TT_NCHOICES; mode++)
        if (isnan(c->error[mode]))
            tt_paragraph_add(&p, " unknown (%s)%s", tt_choice_names[mode], mode ? ";" : " and");
        else
            tt_paragraph_add(&p, " %.1f %% (%s)%s", 100 * c->error[mode], tt_choice_names[mode],
                             mode ? ";" : " and");
    tt_paragraph_add(&p, " %zu of %zu runs are within their 95 %% intervals", c->inside,
                     c->predicted);
    if (c->unbounded > 0)
        tt_paragraph_add(&p, ", of which %zu %s no upper end", c->unbounded,
                         c->unbounded == 1 ? "has" : "have");
    tt_paragraph_add(&p, ".");
    tt_paragraph_print(&p, out, "in short");
}

void tt_report_model(FILE *out, const struct tt_model_report *r)
{
    fprintf(out, "tutti model\n\n");
    print_source(out, r->source);
    if (r->answer) {
        print_answer(out, r);
    } else if (r->check) {
        print_check(out, r->check);
        conclude_check(out, r->check);
    } else {
        print_fits(out, r->model);
        conclude_fit(out, r->model);
    }
}

/* ---- for machines ---- */

static json_t *range_json(const struct tt_range *r)
{
    return json_pack("{s:o, s:o, s:o}", "value", tt_json_real(r->value), "low",
                     tt_json_real(r->low), "high", tt_json_real(r->high));
}

static json_t *fit_json(const struct tt_rate_fit *f, bool chosen)
{
    json_t *dropped = json_object();

    for (int c = 0; c < TT_NREGRESSORS; c++)
        if (f->dropped[c])
            json_object_set_new(dropped, regressors[c], json_string(f->dropped[c]));
    return json_pack("{s:s, s:b, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o}", "form",
                     tt_rate_forms[f->form], "chosen", chosen, "runs", (json_int_t)f->n, "freedom",
                     (json_int_t)f->freedom, "intercept", tt_json_real(f->intercept), "size",
                     tt_json_real(f->slope[TT_OF_SIZE]), "ranks",
                     tt_json_real(f->slope[TT_OF_RANKS]), "dropped", dropped, "r2",
                     f->r2_known ? tt_json_real(f->r2) : json_null(), "r2_about", about(f->form),
                     "sigma", tt_json_real(f->sigma), "left_out_error", tt_json_real(f->left_out));
}

static json_t *fits_json(const struct tt_overlap_model *m)
{
    json_t *rates = json_object();

    for (int rate = 0; rate < TT_NMODEL_RATES; rate++) {
        json_t *forms = json_array();

        for (int form = 0; form < TT_NRATE_FORMS; form++)
            if (m->fits[rate][form].n > 0)
                json_array_append_new(forms,
                                      fit_json(&m->fits[rate][form], form == m->chosen[rate]));
        json_object_set_new(rates, tt_model_rates[rate], forms);
    }
    return rates;
}

static json_t *answer_json(const struct tt_model_report *r)
{
    struct shown figures[MOST_SHOWN];
    size_t n = list_figures(r, figures);
    json_t *all = json_object(), *untold = json_array();
    bool outside = false;

    for (size_t i = 0; i < n; i++) {
        json_t *one = range_json(&figures[i].range);

        json_object_set_new(one, "unit", json_string(figures[i].unit));
        json_object_set_new(all, figures[i].key, one);
    }
    for (int rate = 0; rate < TT_NMODEL_RATES; rate++)
        outside = outside || r->answer->rates[rate].outside;
    json_object_set_new(all, "outside", json_boolean(outside));
    for (int c = 0; c < TT_NREGRESSORS; c++)
        if (is_untold(r->answer, c))
            json_array_append_new(untold, json_string(regressors[c]));
    json_object_set_new(all, "untold", untold);
    return all;
}

static json_t *check_json(const struct tt_check *c)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < c->n; i++) {
        const struct tt_checked *x = &c->rows[i];

        json_array_append_new(
            rows,
            json_pack("{s:f, s:f, s:s, s:I, s:I, s:o, s:o, s:o}", "ranks", x->ranks, "size",
                      x->size, "mode", tt_choice_names[x->mode], "runs", (json_int_t)x->n, "inside",
                      (json_int_t)x->inside, "measured", tt_json_real(x->measured), "predicted",
                      tt_json_real(x->predicted), "error", tt_json_real(x->error)));
    }
    return json_pack("{s:o, s:s, s:I, s:I, s:I, s:o, s:o}", "rows", rows, "held_out",
                     c->by_run ? "runs" : "configurations", "predicted", (json_int_t)c->predicted,
                     "inside", (json_int_t)c->inside, "unbounded", (json_int_t)c->unbounded,
                     "median_error_sync", tt_json_real(c->error[TT_CHOICE_SYNC]),
                     "median_error_async", tt_json_real(c->error[TT_CHOICE_ASYNC]));
}

json_t *tt_report_model_json(const struct tt_model_report *r)
{
    const struct tt_model_source *s = r->source;
    json_t *o =
        json_pack("{s:{s:o, s:o, s:o, s:I, s:I, s:O, s:O}}", "history", "workload",
                  tt_json_text(s->workload), "backend", tt_json_text(s->backend), "host",
                  tt_json_text(s->host), "sync", (json_int_t)runs_of(s->history, TT_CHOICE_SYNC),
                  "async", (json_int_t)runs_of(s->history, TT_CHOICE_ASYNC), "left_out",
                  s->left_out, "varied", s->varied);
    int failed = !o;

    if (r->model)
        failed |= json_object_set_new(o, "fits", fits_json(r->model)) |
                  json_object_set_new(o, "inflation", range_json(&r->model->inflation));
    if (r->answer)
        failed |= json_object_set_new(
                      o, "asked",
                      json_pack("{s:f, s:f, s:f, s:s}", "ranks", r->question->ranks, "size",
                                r->question->size, "compute", r->question->compute, "form",
                                r->question->form == TT_EPOCH_PAPER ? "paper" : "physical")) |
                  json_object_set_new(o, "predicted", answer_json(r));
    if (r->check)
        failed |= json_object_set_new(o, "check", check_json(r->check));
    return tt_json_unless(failed, o);
}

static void csv_titles(struct tt_outfile *f, const char *const *titles)
{
    for (; *titles; titles++)
        tt_csv_text(f, *titles);
    tt_csv_end_row(f);
}

static void csv_answer(struct tt_outfile *f, const struct tt_model_report *r)
{
    struct shown figures[MOST_SHOWN];
    size_t n = list_figures(r, figures);

    csv_titles(f, (const char *const[]){"figure", "unit", "predicted", "low", "high", NULL});
    for (size_t i = 0; i < n; i++) {
        tt_csv_text(f, figures[i].key);
        tt_csv_text(f, figures[i].unit);
        tt_csv_number(f, figures[i].range.value, 9);
        tt_csv_number(f, figures[i].range.low, 9);
        tt_csv_number(f, figures[i].range.high, 9);
        tt_csv_end_row(f);
    }
}

static void csv_check(struct tt_outfile *f, const struct tt_check *c)
{
    csv_titles(f, (const char *const[]){"ranks", "size", "mode", "runs", "inside", "measured",
                                        "predicted", "error", NULL});
    for (size_t i = 0; i < c->n; i++) {
        const struct tt_checked *x = &c->rows[i];

        tt_csv_number(f, x->ranks, 0);
        tt_csv_number(f, x->size, 0);
        tt_csv_text(f, tt_choice_names[x->mode]);
        tt_csv_number(f, (double)x->n, 0);
        tt_csv_number(f, (double)x->inside, 0);
        tt_csv_number(f, x->measured, 9);
        tt_csv_number(f, x->predicted, 9);
        tt_csv_number(f, x->error, 6);
        tt_csv_end_row(f);
    }
}

static void csv_fits(struct tt_outfile *f, const struct tt_overlap_model *m)
{
    csv_titles(f,
               (const char *const[]){"rate", "form", "chosen", "runs", "intercept", "size", "ranks",
                                     "r2", "r2_about", "sigma", "left_out_error", NULL});
    for (int rate = 0; rate < TT_NMODEL_RATES; rate++)
        for (int form = 0; form < TT_NRATE_FORMS; form++) {
            const struct tt_rate_fit *x = &m->fits[rate][form];

            if (x->n == 0)
                continue;
            tt_csv_text(f, tt_model_rates[rate]);
            tt_csv_text(f, tt_rate_forms[form]);
            tt_csv_text(f, form == m->chosen[rate] ? "yes" : "no");
            tt_csv_number(f, (double)x->n, 0);
            tt_csv_number(f, x->intercept, 9);
            tt_csv_number(f, x->slope[TT_OF_SIZE], 9);
            tt_csv_number(f, x->slope[TT_OF_RANKS], 9);
            tt_csv_number(f, x->r2_known ? x->r2 : NAN, 9);
            tt_csv_text(f, about(x->form));
            tt_csv_number(f, x->sigma, 9);
            tt_csv_number(f, x->left_out, 9);
            tt_csv_end_row(f);
        }
}

int tt_report_model_csv(const char *path, const struct tt_model_report *r, struct tt_error *e)
{
    struct tt_outfile f;
    int rc = tt_outfile_open(&f, path, e);

    if (rc != TT_OK)
        return rc;
    if (r->answer)
        csv_answer(&f, r);
    else if (r->check)
        csv_check(&f, r->check);
    else
        csv_fits(&f, r->model);
    return tt_outfile_close(&f, e);
}
