/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Analyses of simulated runs whose effects are known: what is there is found, what is not is not
 * claimed, and too little data gives no number. All of it deterministic. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <gsl/gsl_randist.h>

#include "analysis/analyze.h"
#include "analysis/statistics.h"
#include "base/json.h"
#include "report/report.h"
#include "scratch.h"
#include "write_records.h"

static struct tt_error e = TT_ERROR_CLEAR;

/* What multiplies the time of a run. */
struct effects {
    size_t runs, ranks, frames;
    double noise;        /* of single times */
    double between;      /* of runs */
    double rank, first;  /* the last rank, the first frame */
    double style, other; /* of the second level of both keys */
    double slope;        /* over the frames */
    bool together;       /* both keys change at the same time */
};

static struct tt_analysis simulate(const struct effects *x, uint64_t seed)
{
    struct tt_analysis a = {.given = "simulated",
                            .metric = "io_write",
                            .what = "write time of a frame",
                            .unit = "s",
                            .ranks = true,
                            .frames = true,
                            .seed = 1,
                            .nruns = x->runs,
                            .nkeys = 2,
                            .ntested = 2};
    gsl_rng *rng = tt_make_rng(seed);

    a.left_out = json_array();
    a.runs = calloc(x->runs + 1, sizeof *a.runs);
    a.keys = calloc(2, sizeof *a.keys);
    a.keys[0] = strdup("style");
    a.keys[1] = strdup("other");
    for (size_t i = 0; i < x->runs; i++) {
        struct tt_times *t = &a.runs[i].times;
        bool style = i % 2, other = x->together ? style : i / 2 % 2;
        double level = 1e-3 * gsl_ran_lognormal(rng, 0, x->between) * (style ? x->style : 1) *
                       (other ? x->other : 1);

        *t = (struct tt_times){x->ranks, x->frames, calloc(x->frames, sizeof *t->frames),
                               calloc(x->ranks * x->frames, sizeof *t->values),
                               calloc(x->ranks, sizeof *t->ranks)};
        for (size_t r = 0; r < x->ranks; r++)
            t->ranks[r] = (uint32_t)r;
        a.runs[i].id = strdup("run");
        a.runs[i].levels = calloc(2, sizeof *a.runs[i].levels);
        a.runs[i].levels[0] = strdup(style ? "file" : "single");
        a.runs[i].levels[1] = strdup(other ? "big" : "small");
        for (size_t f = 0; f < x->frames; f++) {
            double common = gsl_ran_lognormal(rng, 0, x->noise);

            t->frames[f] = 10 * (f + 1);
            for (size_t r = 0; r < x->ranks; r++)
                t->values[r * x->frames + f] = level * common *
                                               gsl_ran_lognormal(rng, 0, x->noise / 10) *
                                               (1 + x->slope * (double)f) * (f ? 1 : x->first) *
                                               (r + 1 == x->ranks ? x->rank : 1);
        }
    }
    gsl_rng_free(rng);
    return a;
}

static json_t *analysis_of(struct tt_analysis *a)
{
    json_t *out = NULL;

    assert_int_equal(tt_analyze(a, &out, &e), TT_OK);
    assert_non_null(out);
    tt_analysis_free(a);
    return out;
}

static const json_t *factor(const json_t *a, const char *name)
{
    const json_t *f;
    size_t i;

    json_array_foreach(json_object_get(a, "factors"), i,
                       f) if (!strcmp(tt_text_of(f, "factor"), name)) return f;
    return NULL;
}

static void assert_verdict(const json_t *a, const char *name, const char *verdict)
{
    assert_string_equal(tt_text_of(factor(a, name), "verdict"), verdict);
}

static const struct effects quiet = {.runs = 24,
                                     .ranks = 4,
                                     .frames = 20,
                                     .noise = 0.05,
                                     .between = 0.03,
                                     .rank = 1,
                                     .first = 1,
                                     .style = 1,
                                     .other = 1};

static void nothing_is_found_in_quiet_runs(void **unused)
{
    size_t claimed = 0, changed = 0;

    (void)unused;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct tt_analysis simulated = simulate(&quiet, seed);
        json_t *a = analysis_of(&simulated);
        const json_t *f;
        size_t i;

        json_array_foreach(json_object_get(a, "factors"), i, f) claimed +=
            !strcmp(tt_text_of(f, "verdict"), "matters");
        changed += (size_t)tt_integer_of(json_object_get(a, "changes"), "runs");
        assert_int_equal(tt_integer_of(json_object_get(a, "counts"), "samples"), 24 * 4 * 20);
        json_decref(a);
    }
    print_message("20 quiet sets: %zu effects claimed, %zu of 480 runs with a change\n", claimed,
                  changed);
    assert_true(claimed <= 3);
    assert_true(changed <= 12);
}

static void what_matters_is_found(void **unused)
{
    struct effects x = quiet;
    struct tt_analysis simulated;
    const json_t *pair;
    json_t *a;

    (void)unused;
    x.rank = 1.05;
    x.first = 1.4;
    x.style = 1.2;
    x.other = 8; /* hides the style from a test over all runs */
    simulated = simulate(&x, 1);
    a = analysis_of(&simulated);
    assert_verdict(a, "rank", "matters");
    assert_verdict(a, "frame", "matters");
    assert_verdict(a, "style", "matters");
    assert_verdict(a, "other", "matters");
    assert_int_equal(tt_integer_of(factor(a, "style"), "blocks"), 2);
    pair = json_array_get(json_object_get(factor(a, "style"), "pairs"), 0);
    assert_string_equal(tt_text_of(pair, "a"), "file"); /* in the order of the alphabet */
    assert_float_equal(tt_number_of(pair, "effect"), 1 / 1.2, 0.03);
    assert_true(tt_number_of(pair, "delta") < -0.9);
    assert_true(tt_number_of(pair, "fdr") <= tt_number_of(pair, "adjusted"));
    assert_true(json_is_null(json_object_get(pair, "mann_whitney"))); /* there are blocks */
    assert_non_null(strstr(tt_text_of(a, "answer"), "rank, frame, style and other matter."));
    json_decref(a);
}

/* The first frame stands out, and has the number that it had in the run. */
static void levels_have_their_names(void **unused)
{
    struct effects x = quiet;
    struct tt_analysis simulated;
    const json_t *level;
    json_t *a;

    (void)unused;
    x.first = 1.4;
    simulated = simulate(&x, 2);
    a = analysis_of(&simulated);
    level = json_array_get(json_object_get(factor(a, "frame"), "levels"), 0);
    assert_int_equal(tt_integer_of(level, "level"), 10);
    assert_float_equal(tt_number_of(level, "value"), 1.4, 0.05);
    level = json_array_get(json_object_get(factor(a, "style"), "levels"), 0);
    assert_string_equal(tt_text_of(level, "level"), "file");
    assert_int_equal(tt_integer_of(level, "n"), 12);
    json_decref(a);
}

static void drift_is_told(void **unused)
{
    struct effects x = quiet;
    struct tt_analysis simulated;
    json_t *a;

    (void)unused;
    x.slope = 0.01;
    simulated = simulate(&x, 3);
    a = analysis_of(&simulated);
    assert_true(tt_number_of(json_object_get(a, "drift"), "p") < 0.001);
    assert_float_equal(tt_number_of(json_object_get(a, "drift"), "share"), 0.01, 0.002);
    json_decref(a);
}

/* Keys that change together cannot be told apart. */
static void confounded_keys_are_not_tested(void **unused)
{
    struct effects x = quiet;
    struct tt_analysis simulated;
    json_t *a;

    (void)unused;
    x.style = 2;
    x.together = true;
    simulated = simulate(&x, 1);
    a = analysis_of(&simulated);
    assert_verdict(a, "style", "untested");
    assert_string_equal(tt_text_of(factor(a, "style"), "why"),
                        "it never varies while all else stays alike");
    json_decref(a);
}

/* But their common effect can be told. */
static void keys_that_vary_together_are_one(void **unused)
{
    struct effects x = quiet;
    struct tt_analysis simulated;
    json_t *a;

    (void)unused;
    simulated = simulate(&x, 1);
    assert_int_equal(tt_analysis_join_keys(&simulated, &e), TT_OK);
    assert_int_equal(simulated.nkeys, 2); /* every combination is there */
    tt_analysis_free(&simulated);
    x.style = 2;
    x.together = true;
    simulated = simulate(&x, 1);
    simulated.ntested = 1; /* the other one was not asked about */
    assert_int_equal(tt_analysis_join_keys(&simulated, &e), TT_OK);
    assert_int_equal(simulated.nkeys, 1);
    assert_int_equal(simulated.ntested, 1);
    assert_string_equal(simulated.runs[1].levels[0], "file, big");
    a = analysis_of(&simulated);
    assert_verdict(a, "style, other", "matters");
    json_decref(a);
}

static void few_runs_say_how_many_more(void **unused)
{
    struct effects x = quiet;
    struct tt_analysis simulated;
    json_t *a;

    (void)unused;
    x.runs = 4;
    simulated = simulate(&x, 1);
    a = analysis_of(&simulated);
    assert_false(tt_has_number(json_object_get(a, "median"), "low"));
    assert_verdict(a, "style", "too few");
    assert_string_equal(tt_text_of(factor(a, "style"), "why"), "2 more runs of each");
    assert_true(json_is_null(json_object_get(a, "power")));
    assert_non_null(strstr(tt_text_of(a, "answer"), "(2 more runs for an interval)"));
    json_decref(a);
    x.runs = 1;
    simulated = simulate(&x, 1);
    a = analysis_of(&simulated);
    assert_verdict(a, "frame", "untested");
    assert_verdict(a, "style", "untested");
    assert_string_equal(tt_text_of(factor(a, "style"), "why"), "it is the same in all runs");
    json_decref(a);
}

/* A run that no other is like says nothing of chance, however many there are of its kind. */
static void power_needs_repetitions(void **unused)
{
    struct tt_analysis simulated = simulate(&quiet, 1);
    char level[24];
    json_t *a;

    (void)unused;
    for (size_t i = 0; i < simulated.nruns; i++) {
        snprintf(level, sizeof level, "%zu", i < 3 ? 0 : i);
        free(simulated.runs[i].levels[0]);
        free(simulated.runs[i].levels[1]);
        simulated.runs[i].levels[0] = strdup(level);
        simulated.runs[i].levels[1] = strdup("same");
    }
    a = analysis_of(&simulated);
    assert_int_equal(tt_integer_of(json_object_get(a, "counts"), "repeated"), 3);
    assert_true(json_is_null(json_object_get(a, "power"))); /* three are too few */
    json_decref(a);
}

static void equal_values_have_no_effect_and_no_shape(void **unused)
{
    struct effects x = quiet;
    struct tt_analysis simulated;
    json_t *a;
    char *text;

    (void)unused;
    x.noise = x.between = 0;
    simulated = simulate(&x, 1);
    simulated.plots = true;
    a = analysis_of(&simulated);
    assert_verdict(a, "style", "untested");
    assert_string_equal(tt_text_of(factor(a, "style"), "why"), "all values are equal");
    assert_true(json_is_null(json_object_get(a, "modes")));
    assert_true(json_is_null(json_object_get(a, "drift")));
    assert_true(json_is_null(tt_member_at(a, "normality/runs")));
    text = json_dumps(a, 0);
    assert_non_null(text);
    assert_null(strstr(text, "nan"));
    free(text);
    json_decref(a);
}

/* A value that is not above 0 has no ratio: differences are taken, and no power is told. */
static void negative_values_have_no_ratios(void **unused)
{
    struct tt_analysis simulated = simulate(&quiet, 1);
    json_t *a;

    (void)unused;
    for (size_t i = 0; i < simulated.nruns; i++)
        for (size_t k = 0; k < 80; k++)
            simulated.runs[i].times.values[k] -= 1e-3;
    a = analysis_of(&simulated);
    assert_true(json_is_null(json_object_get(a, "power")));
    json_decref(a);
}

/* Most ranks spend no time, so that the median of a block is 0. */
static void medians_of_zero_have_no_ratios(void **unused)
{
    struct tt_analysis simulated = simulate(&quiet, 1);
    char *text = NULL;
    size_t size, i;
    const json_t *level;
    json_t *a;
    FILE *f;

    (void)unused;
    simulated.slowest = true;
    for (i = 0; i < simulated.nruns; i++)
        for (size_t k = 0; k < 60; k++) /* of three of four ranks */
            simulated.runs[i].times.values[k] = 0;
    a = analysis_of(&simulated);
    assert_true(tt_is_true(a, "ratios")); /* of runs */
    assert_verdict(a, "rank", "matters");
    assert_false(tt_is_true(factor(a, "rank"), "ratios"));
    json_array_foreach(json_object_get(factor(a, "rank"), "levels"), i, level)
    {
        assert_true(tt_has_number(level, "value"));
        assert_float_equal(tt_number_of(level, "value"), i == 3 ? 1e-3 : 0, 1e-4);
    }
    json_object_set_new((json_t *)json_array_get(json_object_get(factor(a, "rank"), "levels"), 0),
                        "value", json_null());
    f = open_memstream(&text, &size);
    tt_report_analysis(f, a);
    assert_int_equal(fclose(f), 0);
    assert_non_null(strstr(text, "rank: 0 -; 1 0 s"));
    free(text);
    json_decref(a);
}

static void curves_reach_one(void **unused)
{
    struct tt_analysis simulated = simulate(&quiet, 1);
    const json_t *plot, *points;
    size_t i;
    json_t *a;

    (void)unused;
    simulated.plots = true;
    a = analysis_of(&simulated);
    assert_int_equal(json_array_size(json_object_get(a, "plots")), 5 * 3);
    json_array_foreach(json_object_get(a, "plots"), i, plot)
    {
        points = json_object_get(plot, "points");
        if (!strcmp(tt_text_of(plot, "curve"), "ecdf"))
            assert_float_equal(json_number_value(json_array_get(
                                   json_array_get(points, json_array_size(points) - 1), 1)),
                               1, 0);
    }
    json_decref(a);
}

/* ---- times from records ---- */

static void add_iteration(FILE *f, uint64_t number, uint64_t write_ns, uint64_t sync_ns)
{
    struct tt_iteration_record it = {.iteration = number, .span_ns = 7};

    it.phase_ns[TT_IO_WRITE] = write_ns;
    it.phase_ns[TT_IO_SYNC] = sync_ns;
    write_chunk(f, TT_CHUNK_ITERATIONS, &it, sizeof it);
}

/* Rank 1 wrote in another order, and one frame less; what is excluded or outside of the loop, and
 * the first frame, do not count. */
static void times_are_those_of_the_records(void **state)
{
    const char *directory = *state;
    struct tt_times t;
    uint32_t phases;
    FILE *f;

    f = write_header(directory, (struct tt_records_header){.rank = 1, .size = 2});
    add_iteration(f, 4, 40, 4);
    add_iteration(f, 2, 20, 0);
    assert_int_equal(fclose(f), 0);
    f = write_header(directory, (struct tt_records_header){.rank = 0, .size = 2});
    add_iteration(f, 0, 99, 0);
    add_iteration(f, 2, 1, 1);
    add_iteration(f, 3, 0, 0);
    add_iteration(f, 4, 3, 0);
    add_iteration(f, 4 | TT_ITERATION_EXCLUDED, 99, 0);
    add_iteration(f, 6, 5, 1);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(tt_times_parse("io_write+io_sync", &phases, &e), TT_OK);
    assert_int_equal(tt_times_load(directory, phases, 1, &t, &e), TT_OK);
    assert_int_equal(t.nranks, 2);
    assert_int_equal(t.nframes, 2);
    assert_int_equal(t.frames[0], 4);
    assert_int_equal(t.frames[1], 6);
    assert_float_equal(t.values[0], 3e-9, 1e-18);
    assert_float_equal(t.values[1], 6e-9, 1e-18);
    assert_float_equal(t.values[2], 44e-9, 1e-18);
    assert_true(isnan(t.values[3])); /* no record is no time of 0 */
    assert_int_equal(t.ranks[1], 1);
    assert_int_equal(t.left_out, 0);
    tt_times_free(&t);
    assert_int_equal(tt_times_parse("io_write+wrte", &phases, &e), TT_USAGE);
    assert_non_null(strstr(e.text, "'wrte' is neither a metric"));
    tt_error_clear(&e);
}

/* One node with so many ranks, and the iterations that each has: from first to last, and `common`
 * unless it is 0. */
static void write_node(const char *directory, uint32_t size, const uint64_t *first,
                       const uint64_t *last, uint64_t common)
{
    FILE *f = write_header(directory, (struct tt_records_header){.rank = 0, .size = size});

    for (uint32_t r = 0; r < size; r++) {
        const struct tt_records_header h = {.rank = r, .size = size};
        struct tt_chunk_header chunk = {TT_CHUNK_RANK, 0, r, r, sizeof h};

        if (r > 0)
            write_chunk_of(f, chunk, &h);
        for (uint64_t i = first[r]; i <= last[r] + (common > 0); i++) {
            struct tt_iteration_record it = {.iteration = i <= last[r] ? i : common};

            it.phase_ns[TT_IO_WRITE] = 1000;
            chunk.type = TT_CHUNK_ITERATIONS;
            chunk.length = sizeof it;
            write_chunk_of(f, chunk, &it);
        }
    }
    assert_int_equal(fclose(f), 0);
}

/* Ranks of which late iterations were reduced would take no time in them. */
static void reduced_ranks_do_not_count(void **state)
{
    uint64_t first[256], last[256];
    struct tt_times t;

    for (size_t r = 0; r < 256; r++) {
        first[r] = 1;
        last[r] = r % 4 ? 10 : 20;
    }
    write_node(*state, 256, first, last, 0);
    assert_int_equal(tt_times_load(*state, 1u << TT_IO_WRITE, 0, &t, &e), TT_OK);
    assert_int_equal(t.nranks, 64);
    assert_int_equal(t.nframes, 20);
    assert_int_equal(t.left_out, 192);
    for (size_t r = 0; r < 64; r++)
        assert_int_equal(t.ranks[r], 4 * r);
    for (size_t i = 0; i < 64 * 20; i++)
        assert_float_equal(t.values[i], 1e-6, 1e-15);
    tt_times_free(&t);
}

/* One frame of its own for each rank, and one for all, would be values of each in each. */
static void ranks_without_common_frames_are_refused(void **state)
{
    static uint64_t first[2000], last[2000];
    struct tt_times t;

    for (size_t r = 0; r < 2000; r++)
        first[r] = last[r] = r + 1;
    write_node(*state, 2000, first, last, 3000);
    assert_int_equal(tt_times_load(*state, 1u << TT_IO_WRITE, 0, &t, &e), TT_CORRUPT);
    assert_non_null(strstr(e.text, "has 2000 ranks and 2001 frames, but only 4000 records"));
    tt_error_clear(&e);
}

/* Frames that a rank does not have are no part of its median, nor of that over ranks. */
static void frames_without_a_record_do_not_count(void **unused)
{
    struct effects x = quiet;
    struct tt_analysis simulated;
    json_t *a;

    (void)unused;
    x.noise = x.between = 0;
    simulated = simulate(&x, 1);
    for (size_t i = 0; i < x.runs; i++)
        for (size_t k = 0; k < 60; k++) /* of three of four ranks */
            simulated.runs[i].times.values[k] = k % 20 < 5 ? 1e-3 : NAN;
    a = analysis_of(&simulated);
    assert_int_equal(tt_integer_of(json_object_get(a, "counts"), "samples"), 24 * (20 + 3 * 5));
    assert_float_equal(tt_number_of(json_object_get(a, "distribution"), "min"), 1e-3, 1e-12);
    assert_float_equal(tt_number_of(json_object_get(a, "median"), "value"), 1e-3, 1e-12);
    assert_string_equal(tt_text_of(factor(a, "rank"), "why"), "all values are equal");
    json_decref(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_found_in_quiet_runs),
        cmocka_unit_test(what_matters_is_found),
        cmocka_unit_test(levels_have_their_names),
        cmocka_unit_test(drift_is_told),
        cmocka_unit_test(confounded_keys_are_not_tested),
        cmocka_unit_test(keys_that_vary_together_are_one),
        cmocka_unit_test(few_runs_say_how_many_more),
        cmocka_unit_test(power_needs_repetitions),
        cmocka_unit_test(equal_values_have_no_effect_and_no_shape),
        cmocka_unit_test(negative_values_have_no_ratios),
        cmocka_unit_test(medians_of_zero_have_no_ratios),
        cmocka_unit_test(curves_reach_one),
        cmocka_unit_test(frames_without_a_record_do_not_count),
        cmocka_unit_test_setup_teardown(reduced_ranks_do_not_count, scratch_make_run,
                                        scratch_remove_run),
        cmocka_unit_test_setup_teardown(ranks_without_common_frames_are_refused, scratch_make_run,
                                        scratch_remove_run),
        cmocka_unit_test_setup_teardown(times_are_those_of_the_records, scratch_make_run,
                                        scratch_remove_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
