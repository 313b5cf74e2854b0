/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/analyze.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/distribution.h"
#include "analysis/factors.h"
#include "analysis/groups.h"
#include "analysis/series.h"
#include "base/json.h"
#include "base/text.h"
#include "build_info.h"
#include "spec/units.h"

#define GRID 512
#define MOST_PEAKS 4
#define PEAK_SHARE 0.1 /* of the highest peak: lower ones are noise of the estimate */
#define LEAST_FOR_MODES 10

void tt_analysis_free(struct tt_analysis *a)
{
    for (size_t i = 0; i < a->nruns; i++) {
        tt_times_free(&a->runs[i].times);
        for (size_t k = 0; a->runs[i].levels && k < a->nkeys; k++)
            free(a->runs[i].levels[k]);
        free(a->runs[i].levels);
        free(a->runs[i].id);
    }
    for (size_t k = 0; k < a->nkeys; k++)
        free(a->keys[k]);
    free(a->keys);
    free(a->runs);
    json_decref(a->left_out);
    *a = (struct tt_analysis){0};
}

/* ---- keys that vary together ---- */

/* For each run the first one that has the same level. Returns whether the key varies, or a negative
 * code. */
static int list_firsts(const struct tt_analysis *a, size_t key, size_t *firsts, struct tt_error *e)
{
    json_t *seen = json_object();
    int varies = 0, bad = !seen;

    for (size_t i = 0; i < a->nruns && !bad; i++) {
        const char *level = a->runs[i].levels[key];
        const json_t *old = json_object_get(seen, level ? level : "\x1e");

        firsts[i] = old ? (size_t)json_integer_value(old) : i;
        varies |= firsts[i] != 0;
        if (!old)
            bad = json_object_set_new_nocheck(seen, level ? level : "\x1e",
                                              json_integer((json_int_t)i));
    }
    json_decref(seen);
    return bad ? tt_fail_nomem(e, "keys") : varies;
}

static bool join_text(char **text, const char *other)
{
    char *both = NULL;

    if (!*text || asprintf(&both, "%s, %s", *text, other ? other : "none") < 0)
        return !*text;
    free(*text);
    *text = both;
    return true;
}

/* The second one goes into the first. */
static int join(struct tt_analysis *a, size_t first, size_t second, struct tt_error *e)
{
    bool ok = join_text(&a->keys[first], a->keys[second]);

    free(a->keys[second]);
    memmove(a->keys + second, a->keys + second + 1, (a->nkeys - second - 1) * sizeof *a->keys);
    for (size_t i = 0; i < a->nruns; i++) {
        char **levels = a->runs[i].levels;

        ok = join_text(&levels[first], levels[second]) && ok;
        free(levels[second]);
        memmove(levels + second, levels + second + 1, (a->nkeys - second - 1) * sizeof *levels);
    }
    a->nkeys--;
    a->ntested -= second < a->ntested;
    return ok ? TT_OK : tt_fail_nomem(e, "keys");
}

int tt_analysis_join_keys(struct tt_analysis *a, struct tt_error *e)
{
    size_t bytes = (a->nruns + 1) * sizeof(size_t);
    size_t *own = malloc(bytes), *other = malloc(bytes);
    int rc = own && other ? TT_OK : tt_fail_nomem(e, "keys");

    for (size_t k = 0; rc >= 0 && k < a->nkeys; k++) {
        rc = list_firsts(a, k, own, e);
        for (size_t j = rc > 0 ? k + 1 : a->nkeys; rc >= 0 && j < a->nkeys;) {
            rc = list_firsts(a, j, other, e);
            if (rc > 0 && !memcmp(own, other, a->nruns * sizeof *own))
                rc = join(a, k, j, e);
            else
                j++;
        }
    }
    free(own);
    free(other);
    return rc < 0 ? rc : TT_OK;
}

/* ---- one value a frame, one value a run ---- */

static double over_ranks(const struct tt_times *t, size_t frame, bool slowest, double *room)
{
    double most = 0;
    size_t n = 0;

    for (size_t r = 0; r < t->nranks; r++)
        if (!isnan(t->values[r * t->nframes + frame])) {
            room[n] = t->values[r * t->nframes + frame];
            most = fmax(most, room[n++]);
        }
    return slowest && t->nranks > 1 ? most : tt_median(room, n);
}

static void measured_free(struct tt_measured *m)
{
    free(m->first);
    free(m->frames);
    free(m->medians);
    *m = (struct tt_measured){0};
}

/* Room for all frames, and for those of a run or the ranks of a frame in *room. */
static int measured_room(const struct tt_analysis *a, struct tt_measured *m, double **room,
                         struct tt_error *e)
{
    size_t frames = 0, most = 0;

    for (size_t i = 0; i < a->nruns; i++) {
        const struct tt_times *t = &a->runs[i].times;

        frames += t->nframes;
        most = t->nframes > most ? t->nframes : most;
        most = t->nranks > most ? t->nranks : most;
    }
    *m = (struct tt_measured){.of = a, .positive = true};
    m->first = calloc(a->nruns + 1, sizeof *m->first);
    m->frames = malloc((frames + 1) * sizeof *m->frames);
    m->medians = malloc((a->nruns + 1) * sizeof *m->medians);
    *room = malloc((most + 1) * sizeof **room);
    return m->first && m->frames && m->medians && *room ? TT_OK : tt_fail_nomem(e, "the values");
}

static int measure(const struct tt_analysis *a, struct tt_measured *m, struct tt_error *e)
{
    double *room;
    size_t n = 0;
    int rc = measured_room(a, m, &room, e);

    for (size_t i = 0; rc == TT_OK && i < a->nruns; i++) {
        const struct tt_times *t = &a->runs[i].times;

        for (size_t f = 0; f < t->nframes; f++)
            m->frames[n++] = over_ranks(t, f, a->slowest, room);
        m->first[i + 1] = n;
        memcpy(room, m->frames + m->first[i], t->nframes * sizeof *room);
        m->medians[i] = tt_median(room, t->nframes);
        m->positive = m->positive && m->medians[i] > 0;
    }
    free(room);
    if (rc != TT_OK)
        measured_free(m);
    return rc;
}

/* ---- how values are distributed ---- */

static struct tt_sample ascending(double *values, size_t n)
{
    tt_median(values, n); /* sorts */
    return (struct tt_sample){n, values};
}

static json_t *median_json(const struct tt_sample *s)
{
    struct tt_interval i = tt_median_estimate(s, TT_LEVEL);

    return json_pack("{s:o, s:o, s:o}", "value", tt_json_real(tt_sample_median(s)), "low",
                     i.known ? tt_json_real(i.low) : json_null(), "high",
                     i.known ? tt_json_real(i.high) : json_null());
}

static int distribution_json(const struct tt_sample *s, json_t **out, struct tt_error *e)
{
    struct tt_summary d;
    int rc = tt_summarize(s, &d, e);

    if (rc == TT_OK)
        *out = json_pack("{s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "n",
                         (json_int_t)d.n, "min", d.min, "q05", d.q05, "q25", d.q25, "median",
                         d.median, "q75", d.q75, "q95", d.q95, "max", d.max, "iqr", d.iqr, "mad",
                         d.mad, "mean", d.mean, "deviation", d.deviation);
    return rc;
}

static json_t *shape_json(const struct tt_shape_test *t, const char *statistic)
{
    return t->known ? json_pack("{s:f, s:f}", statistic, t->statistic, "p", t->p) : json_null();
}

/* Of the runs, each against those that are otherwise alike; and of the frames of each run alone. */
static int normality_json(const struct tt_measured *m, const struct tt_sample *runs, json_t **out,
                          struct tt_error *e)
{
    double *p = malloc((m->of->nruns + 1) * sizeof *p);
    double *values = malloc((m->first[m->of->nruns] + 1) * sizeof *values);
    size_t tested = 0, rejected = 0;
    struct tt_shape_test t;
    int rc = p && values ? TT_OK : tt_fail_nomem(e, "tests");

    for (size_t i = 0; rc == TT_OK && i < m->of->nruns; i++) {
        size_t n = m->first[i + 1] - m->first[i];
        struct tt_sample s;

        memcpy(values, m->frames + m->first[i], n * sizeof *values);
        s = ascending(values, n);
        rc = tt_shapiro_wilk(&s, &t, e);
        if (rc == TT_OK && t.known)
            p[tested++] = t.p;
    }
    if (rc == TT_OK)
        rc = tt_adjust_holm(p, tested, e);
    for (size_t i = 0; rc == TT_OK && i < tested; i++)
        rejected += p[i] <= 1 - TT_LEVEL;
    if (rc == TT_OK)
        rc = tt_shapiro_wilk(runs, &t, e);
    if (rc == TT_OK)
        *out = json_pack("{s:o, s:I, s:I}", "runs", shape_json(&t, "w"), "tested",
                         (json_int_t)tested, "rejected", (json_int_t)rejected);
    free(values);
    free(p);
    return rc;
}

static int modes_json(const struct tt_sample *s, uint64_t seed, json_t **out, struct tt_error *e)
{
    double peaks[MOST_PEAKS];
    struct tt_shape_test t;
    struct tt_density d;
    json_t *list;
    size_t n;
    int rc = tt_dip(s, seed, &t, e);

    *out = json_null();
    if (rc != TT_OK || !t.known || s->n < LEAST_FOR_MODES || tt_density(s, GRID, &d, e) != TT_OK)
        return e->code;
    n = tt_density_peaks(&d, PEAK_SHARE, peaks, MOST_PEAKS);
    list = json_array();
    for (size_t i = 0; i < n && i < MOST_PEAKS; i++)
        json_array_append_new(list, tt_json_real(peaks[i]));
    free(d.at);
    *out = shape_json(&t, "dip");
    json_object_set_new(*out, "peaks", list);
    return TT_OK;
}

/* ---- what happens within runs ---- */

static int drift_json(const struct tt_measured *m, double median, json_t **out, struct tt_error *e)
{
    struct tt_drift *parts = calloc(m->of->nruns + 1, sizeof *parts), all = {0};
    int rc = parts ? TT_OK : tt_fail_nomem(e, "the drift");

    for (size_t i = 0; rc == TT_OK && i < m->of->nruns; i++)
        rc = tt_drift(m->frames + m->first[i], m->first[i + 1] - m->first[i], &parts[i], e);
    if (rc == TT_OK)
        rc = tt_drift_together(parts, m->of->nruns, &all, e);
    if (rc == TT_OK)
        *out = all.known ? json_pack("{s:f, s:f, s:f, s:o}", "tau", all.tau, "p", all.p, "slope",
                                     all.slope, "share", tt_json_real(all.slope / median))
                         : json_null();
    free(parts);
    return rc;
}

static int changes_json(const struct tt_measured *m, json_t **out, struct tt_error *e)
{
    const struct tt_analysis *a = m->of;
    size_t tested = 0, changed = 0;
    json_t *first = json_null();
    int rc = TT_OK;

    for (size_t i = 0; rc == TT_OK && i < a->nruns; i++) {
        size_t n = m->first[i + 1] - m->first[i];
        struct tt_changes found;

        if (n < 2 * TT_LEVEL_LENGTH)
            continue;
        tested++;
        rc = tt_change_points(m->frames + m->first[i], n, TT_ANALYSIS_ALARM, a->seed, &found, e);
        if (rc == TT_OK && found.n && changed++ == 0)
            first = json_pack("{s:o, s:I, s:f, s:f}", "id", tt_json_text(a->runs[i].id), "frame",
                              (json_int_t)a->runs[i].times.frames[found.items[0].at], "before",
                              found.items[0].before, "after", found.items[0].after);
        free(found.items);
    }
    *out = json_null();
    if (rc == TT_OK && tested)
        *out = json_pack("{s:I, s:I, s:f, s:O}", "tested", (json_int_t)tested, "runs",
                         (json_int_t)changed, "expected", TT_ANALYSIS_ALARM * (double)tested,
                         "first", first);
    json_decref(first);
    return rc;
}

/* ---- curves ---- */

static json_t *curve(json_t *plots, const char *key, const char *level, const char *name)
{
    json_t *points = json_array();

    json_array_append_new(plots, json_pack("{s:s, s:o, s:s, s:o}", "key", key, "level",
                                           tt_json_text(level), "curve", name, "points", points));
    return points;
}

static void add_point(json_t *points, double value, double y)
{
    json_array_append_new(points, json_pack("[f, f]", value, y));
}

static int add_curves(json_t *plots, const char *key, const char *level, double *values, size_t n,
                      struct tt_error *e)
{
    static const double shares[] = {0, 0.05, 0.25, 0.5, 0.75, 0.95, 1};
    struct tt_sample s = {n, values};
    size_t steps = n < GRID ? n : GRID;
    struct tt_density d;
    json_t *points;
    int rc;

    tt_median(values, n);
    rc = tt_density(&s, GRID, &d, e);
    if (rc != TT_OK)
        return rc;
    points = curve(plots, key, level, "quantile");
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        add_point(points, tt_quantile(&s, shares[i]), shares[i]);
    points = curve(plots, key, level, "density");
    for (size_t i = 0; i < d.n; i++)
        add_point(points, d.at[i], d.density[i]);
    points = curve(plots, key, level, "ecdf");
    for (size_t i = 1; i <= steps; i++) {
        double value = values[i * n / steps - 1];

        if (i == steps || values[(i + 1) * n / steps - 1] > value)
            add_point(points, value, tt_ecdf(&s, value));
    }
    free(d.at);
    return TT_OK;
}

/* The frames of the runs that have this level; key nkeys: of all runs. */
static size_t take_level(const struct tt_measured *m, size_t key, const char *level, double *values)
{
    size_t n = 0;

    for (size_t i = 0; i < m->of->nruns; i++) {
        const char *own = key < m->of->nkeys ? m->of->runs[i].levels[key] : level;

        if (!own || strcmp(own, level) != 0)
            continue;
        memcpy(values + n, m->frames + m->first[i],
               (m->first[i + 1] - m->first[i]) * sizeof *values);
        n += m->first[i + 1] - m->first[i];
    }
    return n;
}

static int plots_json(const struct tt_measured *m, json_t **out, struct tt_error *e)
{
    const struct tt_analysis *a = m->of;
    double *values = malloc((m->first[a->nruns] + 1) * sizeof *values);
    json_t *plots = json_array();
    int rc = values ? TT_OK : tt_fail_nomem(e, "curves");

    if (rc == TT_OK)
        rc = add_curves(plots, "all", "all", values, take_level(m, a->nkeys, "all", values), e);
    for (size_t k = 0; k < a->ntested; k++) {
        json_t *seen = json_object();

        for (size_t i = 0; rc == TT_OK && i < a->nruns; i++) {
            const char *level = a->runs[i].levels[k];

            if (!level || json_object_get(seen, level))
                continue;
            json_object_set_new(seen, level, json_true());
            rc = add_curves(plots, a->keys[k], level, values, take_level(m, k, level, values), e);
        }
        json_decref(seen);
    }
    free(values);
    *out = rc == TT_OK ? plots : NULL;
    if (rc != TT_OK)
        json_decref(plots);
    return rc;
}

/* ---- the answer ---- */

/* "frame and style matter" */
static void add_names(FILE *f, const json_t *factors, const char *verdict, const char *one,
                      const char *several)
{
    size_t n = 0, said = 0, i;
    const json_t *x;

    json_array_foreach(factors, i, x) n += !strcmp(tt_text_of(x, "verdict"), verdict);
    if (n == 0)
        return;
    json_array_foreach(factors, i, x)
    {
        if (strcmp(tt_text_of(x, "verdict"), verdict) != 0)
            continue;
        fprintf(f, "%s%s",
                said == 0       ? "; "
                : said + 1 == n ? " and "
                                : ", ",
                tt_text_of(x, "factor"));
        said++;
    }
    fprintf(f, " %s", n == 1 ? one : several);
}

static json_t *answer_json(const struct tt_analysis *a, const json_t *all)
{
    const json_t *median = json_object_get(all, "median"),
                 *factors = json_object_get(all, "factors");
    const json_t *runs = tt_member_at(all, "normality/runs");
    char value[TT_UNIT_TEXT], low[TT_UNIT_TEXT], high[TT_UNIT_TEXT], *text = NULL;
    size_t size, few = tt_runs_for_interval(TT_LEVEL);
    FILE *f = open_memstream(&text, &size);
    json_t *out;

    if (!f)
        return NULL;
    fprintf(f, "In %zu run%s the %s has a median of %s", a->nruns, a->nruns == 1 ? "" : "s",
            a->what, tt_format_value(tt_number_of(median, "value"), a->unit, value));
    if (tt_has_number(median, "low"))
        fprintf(f, " (95 %% interval %s to %s)",
                tt_format_value(tt_number_of(median, "low"), a->unit, low),
                tt_format_value(tt_number_of(median, "high"), a->unit, high));
    else if (a->nruns < few)
        fprintf(f, " (%zu more run%s for an interval)", few - a->nruns,
                few - a->nruns == 1 ? "" : "s");
    if (tt_integer_of(json_object_get(all, "normality"), "rejected") > 0 ||
        (json_is_object(runs) && tt_number_of(runs, "p") <= 1 - TT_LEVEL))
        fputs(" and is not normally distributed", f);
    add_names(f, factors, "matters", "matters", "matter");
    add_names(f, factors, "no effect", "shows no effect", "show no effect");
    add_names(f, factors, "too few", "needs more runs", "need more runs");
    fputc('.', f);
    if (fclose(f) != 0) {
        free(text);
        return NULL;
    }
    out = tt_json_text(text);
    free(text);
    return out;
}

static json_t *power_json(const struct tt_measured *m, const struct tt_sample *runs)
{
    double n = m->positive && runs->n >= tt_runs_for_interval(TT_LEVEL)
                   ? tt_runs_to_see(runs, 1 + TT_ANALYSIS_CHANGE, TT_ANALYSIS_POWER)
                   : 0;

    return n > 0 ? json_pack("{s:f, s:f, s:f}", "change", TT_ANALYSIS_CHANGE, "power",
                             TT_ANALYSIS_POWER, "runs", n)
                 : json_null();
}

/* ---- all of it ---- */

/* Ascending: all frames as they are and against runs that are otherwise alike, runs likewise. Of
 * the latter only those that have such a run beside them: one alone is always its own median. */
struct samples {
    struct tt_sample frames, related_frames, medians, repeated;
    double *room; /* that holds them */
    size_t configurations;
};

/* Drops the values of runs whose class has no other; returns how many are left. */
static size_t keep_repeated(double *values, const size_t *classes, size_t n, size_t *counts)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        counts[classes[i]]++;
    for (size_t i = 0; i < n; i++)
        if (counts[classes[i]] > 1)
            values[kept++] = values[i];
    return kept;
}

static json_t *head_json(const struct tt_measured *m, const struct samples *s)
{
    const struct tt_analysis *a = m->of;
    size_t samples = 0, ranks = 0, left_out = 0;

    for (size_t i = 0; i < a->nruns; i++) {
        const struct tt_times *t = &a->runs[i].times;

        for (size_t k = 0; k < t->nranks * t->nframes; k++)
            samples += !isnan(t->values[k]);
        ranks += t->nranks;
        left_out += t->left_out;
    }
    return json_pack(
        "{s:{s:s, s:s, s:i}, s:o, s:o, s:o, s:s, s:o, s:b, s:f, s:I, s:O, s:{s:I, s:I, s:I, s:I, "
        "s:I, s:I, s:I}}",
        "tutti", "version", TT_VERSION, "revision", TT_REVISION, "format", TT_ANALYSIS_FORMAT,
        "given", tt_json_text(a->given), "metric", tt_json_text(a->metric), "what",
        tt_json_text(a->what), "unit", a->unit, "over",
        a->stored ? json_null() : json_string(a->slowest ? "slowest" : "median"), "ratios",
        m->positive, "level", TT_LEVEL, "seed", (json_int_t)a->seed, "left_out", a->left_out,
        "counts", "runs", (json_int_t)a->nruns, "configurations", (json_int_t)s->configurations,
        "repeated", (json_int_t)s->repeated.n, "frames", (json_int_t)m->first[a->nruns], "samples",
        (json_int_t)samples, "ranks", (json_int_t)ranks, "ranks_left_out", (json_int_t)left_out);
}

static int make_samples(const struct tt_measured *m, struct samples *s, struct tt_error *e)
{
    size_t runs = m->of->nruns, frames = m->first[runs];
    size_t *classes = malloc((runs + 1) * sizeof *classes);
    size_t *counts = calloc(runs + 1, sizeof *counts);
    double *all, *related_frames, *medians, *related;
    bool ratios = m->positive;
    int rc = TT_OK;

    s->room = all = malloc(2 * (frames + runs + 1) * sizeof *all);
    if (!classes || !counts || !all)
        rc = tt_fail_nomem(e, "the values");
    else
        rc = tt_classify_runs(m->of, m->of->nkeys, classes, &s->configurations, e);
    if (rc == TT_OK) {
        related_frames = all + frames;
        medians = related_frames + frames;
        related = medians + runs;
        rc = tt_relate(m->medians, classes, runs, s->configurations, &ratios, related, e);
    }
    for (size_t i = 0; rc == TT_OK && i < runs; i++)
        for (size_t k = m->first[i]; k < m->first[i + 1]; k++)
            related_frames[k] = ratios ? m->frames[k] / m->medians[i] * related[i]
                                       : m->frames[k] - m->medians[i] + related[i];
    if (rc == TT_OK) {
        memcpy(all, m->frames, frames * sizeof *all);
        memcpy(medians, m->medians, runs * sizeof *medians);
        s->frames = ascending(all, frames);
        s->related_frames = ascending(related_frames, frames);
        s->medians = ascending(medians, runs);
        s->repeated = ascending(related, keep_repeated(related, classes, runs, counts));
    }
    free(counts);
    free(classes);
    return rc;
}

static int fill(const struct tt_measured *m, const struct samples *s, json_t *out,
                struct tt_error *e)
{
    const struct tt_analysis *a = m->of;
    bool one = s->configurations == 1;
    json_t *distribution = NULL, *normality = NULL, *modes = NULL, *drift = json_null(),
           *changes = json_null(), *factors = NULL, *plots = NULL;
    int rc = distribution_json(&s->frames, &distribution, e);

    if (rc == TT_OK)
        rc = normality_json(m, &s->repeated, &normality, e);
    if (rc == TT_OK)
        rc = modes_json(one ? &s->frames : &s->related_frames, a->seed, &modes, e);
    if (rc == TT_OK && !a->stored)
        rc = drift_json(m, tt_sample_median(&s->medians), &drift, e);
    if (rc == TT_OK && !a->stored)
        rc = changes_json(m, &changes, e);
    if (rc == TT_OK)
        rc = tt_test_factors(m, &factors, e);
    if (rc == TT_OK && a->plots)
        rc = plots_json(m, &plots, e);
    if (json_is_object(modes))
        json_object_set_new(modes, "relative", json_boolean(!one));
    json_object_set_new(out, "median", median_json(&s->medians));
    json_object_set_new(out, "distribution", distribution);
    json_object_set_new(out, "normality", normality);
    json_object_set_new(out, "modes", modes);
    json_object_set_new(out, "drift", drift);
    json_object_set_new(out, "changes", changes);
    json_object_set_new(out, "factors", factors);
    json_object_set_new(out, "power", power_json(m, &s->repeated));
    if (plots)
        json_object_set_new(out, "plots", plots);
    if (rc == TT_OK && json_object_set_new(out, "answer", answer_json(a, out)) != 0)
        rc = tt_fail_nomem(e, "the analysis");
    return rc;
}

int tt_analyze(const struct tt_analysis *a, json_t **out, struct tt_error *e)
{
    struct tt_measured m = {0};
    struct samples s = {0};
    int rc = measure(a, &m, e);

    *out = NULL;
    if (rc == TT_OK)
        rc = make_samples(&m, &s, e);
    if (rc == TT_OK) {
        *out = head_json(&m, &s);
        rc = *out ? fill(&m, &s, *out, e) : tt_fail_nomem(e, "the analysis");
    }
    if (rc != TT_OK) {
        json_decref(*out);
        *out = NULL;
    }
    measured_free(&m);
    free(s.room);
    return rc;
}
