/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An analysis for people: how values are distributed, what matters, and a sentence to quote. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "report/outfile.h"
#include "report/paragraph.h"
#include "report/report.h"
#include "report/table.h"
#include "spec/units.h"

#define MOST_LEVELS 6
#define MOST_LEFT_OUT 3

static const char *value_text(const json_t *analysis, const json_t *of, const char *key,
                              char text[TT_UNIT_TEXT])
{
    return tt_format_value(tt_number_of(of, key), tt_text_of(analysis, "unit"), text);
}

/* "p = 0.012", "p < 0.001" */
static const char *p_text(double p, char text[16])
{
    snprintf(text, 16, p < 0.001 ? "p < 0.001" : "p = %.3f", p);
    return text;
}

/* What a relative value is to what it is relative to. */
static const char *beside(const json_t *related)
{
    return tt_is_true(related, "ratios") ? "times" : "more than";
}

static const char *plural(json_int_t n)
{
    return n == 1 ? "" : "s";
}

/* ---- what was analysed ---- */

/* A fit refuses such runs; a distribution can be asked of them, but it is of all that differs. */
static void print_mixed(FILE *out, const json_t *a)
{
    const json_t *mixed = json_object_get(a, "mixed"), *count;
    struct tt_paragraph p = {0};
    const char *what;

    json_object_foreach((json_t *)mixed, what, count)
    {
        tt_paragraph_add(&p, "%s%lld %s", p.n ? ", " : "", (long long)json_integer_value(count),
                         what);
    }
    if (p.n) {
        tt_paragraph_add(&p, ": what differs between them is in these numbers; choose by host=, "
                             "version=, kernel= or data.mount=");
        tt_paragraph_print(&p, out, "mixed");
    }
}

static void print_head(FILE *out, const json_t *a)
{
    const json_t *counts = json_object_get(a, "counts"), *left = json_object_get(a, "left_out"), *x;
    json_int_t runs = tt_integer_of(counts, "runs"), frames = tt_integer_of(counts, "frames"),
               samples = tt_integer_of(counts, "samples"), ranks = tt_integer_of(counts, "ranks"),
               reduced = tt_integer_of(counts, "ranks_left_out"),
               settings = tt_integer_of(counts, "configurations");
    struct tt_paragraph p = {0};
    size_t i;

    tt_paragraph_add(&p, "%s: %lld run%s", tt_text_of(a, "given"), (long long)runs, plural(runs));
    if (settings > 1)
        tt_paragraph_add(&p, " of %lld configurations", (long long)settings);
    if (*tt_text_of(a, "over"))
        tt_paragraph_add(&p, ", %lld frame%s, %lld sample%s", (long long)frames, plural(frames),
                         (long long)samples, plural(samples));
    if (reduced)
        tt_paragraph_add(&p, " of %lld of %lld ranks (of the others late frames were not kept)",
                         (long long)ranks, (long long)(ranks + reduced));
    json_array_foreach(left, i, x)
    {
        if (i == MOST_LEFT_OUT) {
            tt_paragraph_add(&p, ", ...");
            break;
        }
        if (i == 0)
            tt_paragraph_add(&p, "; left out %zu:", json_array_size(left));
        tt_paragraph_add(&p, "%s %s (%s)", i ? "," : "", tt_text_of(x, "id"),
                         tt_text_of(x, "reason"));
    }
    tt_paragraph_print(&p, out, "runs");
    if (*tt_text_of(a, "over"))
        tt_say(out, "metric", "%s: %s, %s", tt_text_of(a, "what"), tt_text_of(a, "metric"),
               strcmp(tt_text_of(a, "over"), "slowest") ? "the median over ranks"
                                                        : "of the slowest rank");
    else
        tt_say(out, "metric", "%s, one value a run", tt_text_of(a, "metric"));
    print_mixed(out, a);
}

/* ---- how values are distributed ---- */

/* No two runs are alike: nothing tells what chance does to one of them. */
static bool is_unrepeated(const json_t *a)
{
    return tt_integer_of(json_object_get(a, "counts"), "repeated") == 0;
}
#define UNREPEATED "no configuration was repeated"

static void print_median(FILE *out, const json_t *a)
{
    const json_t *median = json_object_get(a, "median"), *d = json_object_get(a, "distribution");
    json_int_t runs = tt_integer_of(json_object_get(a, "counts"), "runs");
    char v[7][TT_UNIT_TEXT];

    if (tt_has_number(median, "low"))
        tt_say(out, "median", "%s, 95 %% interval %s to %s, by %lld runs",
               value_text(a, median, "value", v[0]), value_text(a, median, "low", v[1]),
               value_text(a, median, "high", v[2]), (long long)runs);
    else
        tt_say(out, "median", "%s, by %lld run%s: too few for an interval",
               value_text(a, median, "value", v[0]), (long long)runs, plural(runs));
    tt_say(out, "quantiles", "least %s, 5 %% %s, 25 %% %s, 50 %% %s, 75 %% %s, 95 %% %s, most %s",
           value_text(a, d, "min", v[0]), value_text(a, d, "q05", v[1]),
           value_text(a, d, "q25", v[2]), value_text(a, d, "median", v[3]),
           value_text(a, d, "q75", v[4]), value_text(a, d, "q95", v[5]),
           value_text(a, d, "max", v[6]));
    tt_say(out, "spread", "IQR %s, MAD %s, standard deviation %s", value_text(a, d, "iqr", v[0]),
           value_text(a, d, "mad", v[1]), value_text(a, d, "deviation", v[2]));
}

static void print_normality(FILE *out, const json_t *a)
{
    const json_t *n = json_object_get(a, "normality"), *runs = json_object_get(n, "runs");
    json_int_t tested = tt_integer_of(n, "tested");
    struct tt_paragraph p = {0};
    char text[16];

    if (json_is_object(runs))
        tt_paragraph_add(&p, "runs: %s (W = %.3f, %s)",
                         tt_number_of(runs, "p") <= 0.05 ? "no" : "nothing speaks against it",
                         tt_number_of(runs, "w"), p_text(tt_number_of(runs, "p"), text));
    if (tested)
        tt_paragraph_add(&p, "%sframes: no in %lld of %lld run%s", p.n ? "; " : "",
                         (long long)tt_integer_of(n, "rejected"), (long long)tested,
                         plural(tested));
    if (!p.n)
        tt_paragraph_add(&p, "not tested: %s",
                         is_unrepeated(a) ? UNREPEATED : "that takes three values that differ");
    tt_paragraph_print(&p, out, "normal?");
}

static void print_modes(FILE *out, const json_t *a)
{
    const json_t *m = json_object_get(a, "modes"), *peaks = json_object_get(m, "peaks"), *peak;
    bool several = tt_number_of(m, "p") <= 0.05, relative = tt_is_true(m, "relative");
    struct tt_paragraph p = {0};
    char text[TT_UNIT_TEXT];
    size_t i;

    if (!json_is_object(m)) {
        tt_say(out, "modes", "not tested: %s",
               is_unrepeated(a) && !*tt_text_of(a, "over") ? UNREPEATED
                                                           : "that takes ten values that differ");
        return;
    }
    tt_paragraph_add(&p, "%s (dip %.4f, %s)", several ? "more than one" : "one",
                     tt_number_of(m, "dip"), p_text(tt_number_of(m, "p"), text));
    json_array_foreach(peaks, i, peak) if (several)
    {
        tt_paragraph_add(&p, "%s", i ? ", " : "; peaks at ");
        if (relative)
            tt_paragraph_add(&p, "%.3g", json_number_value(peak));
        else
            tt_paragraph_add(&p, "%s",
                             tt_format_value(json_number_value(peak), tt_text_of(a, "unit"), text));
    }
    if (several && relative)
        tt_paragraph_add(&p, " %s the median of a configuration", beside(a));
    tt_paragraph_print(&p, out, "modes");
}

static void print_within(FILE *out, const json_t *a)
{
    const json_t *d = json_object_get(a, "drift"), *c = json_object_get(a, "changes"),
                 *first = json_object_get(c, "first");
    char text[16], before[TT_UNIT_TEXT], after[TT_UNIT_TEXT];
    struct tt_paragraph p = {0};

    if (json_is_object(d))
        tt_say(out, "drift", "%s: %+.2g %% a frame, tau = %.3f, %s",
               tt_number_of(d, "p") <= 0.05 ? "within runs" : "none shown",
               100 * tt_number_of(d, "share"), tt_number_of(d, "tau"),
               p_text(tt_number_of(d, "p"), text));
    if (!json_is_object(c))
        return;
    tt_paragraph_add(&p, "in %lld of %lld run%s; chance alone: %.2g",
                     (long long)tt_integer_of(c, "runs"), (long long)tt_integer_of(c, "tested"),
                     plural(tt_integer_of(c, "tested")), tt_number_of(c, "expected"));
    if (json_is_object(first))
        tt_paragraph_add(&p, "; the first in %s at frame %lld, from %s to %s",
                         tt_text_of(first, "id"), (long long)tt_integer_of(first, "frame"),
                         value_text(a, first, "before", before),
                         value_text(a, first, "after", after));
    tt_paragraph_print(&p, out, "changes");
}

/* ---- what matters ---- */

static void print_factors(FILE *out, const json_t *factors)
{
    static const struct tt_column columns[] = {{.title = "factor", .least = 24},
                                               {.title = "levels", .right = true},
                                               {.title = "epsilon2", .right = true},
                                               {.title = "p", .right = true},
                                               {.title = "does it matter?"}};
    struct tt_table t = {columns, sizeof columns / sizeof *columns, .indent = 2};
    const json_t *f;
    size_t i;

    json_array_foreach(factors, i, f)
    {
        const char *verdict = tt_text_of(f, "verdict"), *why = tt_text_of(f, "why");
        bool key = !strcmp(tt_text_of(f, "kind"), "key"), tested = strcmp(verdict, "untested") != 0;
        double p = tt_number_of(f, "adjusted");
        long long blocks = (long long)tt_integer_of(f, "blocks");
        char where[80] = "";

        tt_table_add(&t, "%s", tt_text_of(f, "factor"));
        tt_table_add(&t, "%lld", (long long)tt_integer_of(f, "count"));
        if (tested) {
            tt_table_add(&t, "%.3f", tt_number_of(f, "epsilon"));
            tt_table_add(&t, p < 0.001 ? "< 0.001" : "%.3f", p);
        } else {
            tt_table_add(&t, "-");
            tt_table_add(&t, "-");
        }
        if (!key)
            snprintf(where, sizeof where, ", within %lld block%s", blocks, plural(blocks));
        else if (blocks > 1)
            snprintf(where, sizeof where, ", within %lld configurations of the others", blocks);
        if (!tested)
            tt_table_add(&t, "not tested: %s", why);
        else if (!strcmp(verdict, "too few"))
            tt_table_add(&t, "cannot tell%s: %s needed", where, why);
        else
            tt_table_add(&t, "%s%s", strcmp(verdict, "matters") ? "no effect shown" : "yes", where);
    }
    tt_table_print(&t, out, NULL);
}

static void add_level(struct tt_paragraph *p, const json_t *a, const json_t *f, const json_t *level,
                      const char *before)
{
    const json_t *name = json_object_get(level, "level");
    char v[3][TT_UNIT_TEXT];

    if (json_is_string(name))
        tt_paragraph_add(p, "%s%s%s ", p->n ? "; " : "", before,
                         *json_string_value(name) ? json_string_value(name) : "nothing");
    else
        tt_paragraph_add(p, "%s%s%lld ", p->n ? "; " : "", before,
                         (long long)json_integer_value(name));
    if (!tt_has_number(level, "value"))
        tt_paragraph_add(p, "-");
    else if (tt_is_true(f, "relative") && tt_is_true(f, "ratios")) {
        tt_paragraph_add(p, "%.3g", tt_number_of(level, "value"));
        if (tt_has_number(level, "low"))
            tt_paragraph_add(p, " (%.3g to %.3g)", tt_number_of(level, "low"),
                             tt_number_of(level, "high"));
    } else {
        tt_paragraph_add(p, "%s", value_text(a, level, "value", v[0]));
        if (tt_has_number(level, "low"))
            tt_paragraph_add(p, " (%s to %s)", value_text(a, level, "low", v[1]),
                             value_text(a, level, "high", v[2]));
    }
}

/* All levels, or where there are many the lowest and the highest. */
static void print_levels(FILE *out, const json_t *a, const json_t *f)
{
    const json_t *levels = json_object_get(f, "levels"), *level, *low = NULL, *high = NULL;
    size_t n = json_array_size(levels), i;
    struct tt_paragraph head = {0}, p = {0};

    json_array_foreach(levels, i, level)
    {
        if (n <= MOST_LEVELS)
            add_level(&p, a, f, level, "");
        if (!tt_has_number(level, "value"))
            continue;
        if (!low || tt_number_of(level, "value") < tt_number_of(low, "value"))
            low = level;
        if (!high || tt_number_of(level, "value") > tt_number_of(high, "value"))
            high = level;
    }
    if (n > MOST_LEVELS && low) {
        add_level(&p, a, f, low, "lowest at ");
        add_level(&p, a, f, high, "highest at ");
    }
    if (tt_is_true(f, "relative"))
        tt_paragraph_add(&p, ", %s the median of %s", beside(f),
                         strcmp(tt_text_of(f, "kind"), "key") ? "the run"
                                                              : "what is otherwise alike");
    tt_paragraph_add(&head, "%s: %s", tt_text_of(f, "factor"), p.text);
    tt_paragraph_print(&head, out, "levels");
}

static void print_pairs(FILE *out, const json_t *a, const json_t *f)
{
    const json_t *pairs = json_object_get(f, "pairs"), *pair;
    struct tt_paragraph p = {0};
    size_t i, left = 0;
    char text[16];

    json_array_foreach(pairs, i, pair)
    {
        if (tt_number_of(pair, "adjusted") > 0.05)
            continue;
        if (i >= 2 * MOST_LEVELS) {
            left++;
            continue;
        }
        tt_paragraph_add(&p, "%s%s against %s: %.3g %s, delta %+.2f, %s", p.n ? "; " : "",
                         tt_text_of(pair, "b"), tt_text_of(pair, "a"), tt_number_of(pair, "effect"),
                         tt_is_true(a, "ratios") ? "times" : "more", tt_number_of(pair, "delta"),
                         p_text(tt_number_of(pair, "adjusted"), text));
    }
    if (left)
        tt_paragraph_add(&p, "; and %zu more (--json)", left);
    tt_paragraph_print(&p, out, "pairs");
}

void tt_report_analysis(FILE *out, const json_t *a)
{
    const json_t *factors = json_object_get(a, "factors"), *f;
    const json_t *power = json_object_get(a, "power");
    size_t i;

    fprintf(out, "tutti analyze\n\n");
    print_head(out, a);
    fprintf(out, "\nHow is it distributed?\n");
    print_median(out, a);
    print_normality(out, a);
    print_modes(out, a);
    print_within(out, a);
    if (json_array_size(factors))
        fprintf(out, "\nWhat matters?\n");
    print_factors(out, factors);
    json_array_foreach(factors, i, f) if (!strcmp(tt_text_of(f, "verdict"), "matters"))
    {
        print_levels(out, a, f);
        print_pairs(out, a, f);
    }
    if (json_is_object(power))
        tt_say(out, "power", "%.0f runs each show a change of %.0f %% four times in five",
               tt_number_of(power, "runs"), 100 * tt_number_of(power, "change"));
    else if (is_unrepeated(a))
        tt_say(out, "power", "unknown: " UNREPEATED);
    fputc('\n', out);
    tt_say_marked(out, "", "%s", tt_text_of(a, "answer"));
}

int tt_report_curves(const char *path, const json_t *a, struct tt_error *e)
{
    const json_t *curve, *point;
    struct tt_outfile f;
    size_t i, k;
    int rc = tt_outfile_open(&f, path, e);

    if (rc != TT_OK)
        return rc;
    tt_csv_text(&f, "key");
    tt_csv_text(&f, "level");
    tt_csv_text(&f, "curve");
    tt_csv_text(&f, "value");
    tt_csv_text(&f, "y");
    tt_csv_end_row(&f);
    json_array_foreach(json_object_get(a, "plots"), i, curve)
        json_array_foreach(json_object_get(curve, "points"), k, point)
    {
        tt_csv_text(&f, tt_text_of(curve, "key"));
        tt_csv_text(&f, tt_text_of(curve, "level"));
        tt_csv_text(&f, tt_text_of(curve, "curve"));
        tt_csv_number(&f, json_number_value(json_array_get(point, 0)), 9);
        tt_csv_number(&f, json_number_value(json_array_get(point, 1)), 9);
        tt_csv_end_row(&f);
    }
    return tt_outfile_close(&f, e);
}
