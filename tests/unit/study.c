/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists and ranges of values, grids, conditions, and points that are known by their hash. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

#include "analysis/variance.h"
#include "report/study.h"
#include "study/study.h"

/* ---- values ---- */

static const struct tt_param bytes = {.key = "transfer", .type = TT_PARAM_BYTES};
static const struct tt_param count = {.key = "ranks", .type = TT_PARAM_COUNT};
static const struct tt_param extent = {.key = "size", .type = TT_PARAM_COUNTS};
static const struct tt_param duration = {.key = "deadline", .type = TT_PARAM_DURATION};
static const struct tt_param passes = {.key = "compute", .type = TT_PARAM_PASSES};
static const struct tt_param text = {.key = "dir", .type = TT_PARAM_TEXT};

static void expands_to(const struct tt_param *param, const char *given, const char *expected)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_words values = {0};
    char joined[512] = "";

    assert_int_equal(tt_values_expand(param, given, &values, &e), TT_OK);
    for (size_t i = 0; i < values.n; i++)
        snprintf(joined + strlen(joined), sizeof joined - strlen(joined), "%s%s", i ? " " : "",
                 values.words[i]);
    assert_string_equal(joined, expected);
    tt_values_free(&values);
}

static void is_refused(const struct tt_param *param, const char *given, const char *why)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_words values = {0};

    assert_int_equal(tt_values_expand(param, given, &values, &e), TT_USAGE);
    assert_non_null(strstr(e.text, why));
    assert_null(values.words);
}

static void lists_and_ranges(void **unused)
{
    (void)unused;
    expands_to(&bytes, "4k..1m*4", "4k 16k 64k 256k 1m");
    expands_to(&bytes, "1000..3000+1000", "1000 2000 3000");
    expands_to(&bytes, "1k..3k+1k", "1k 2k 3k");
    expands_to(&count, "1..9+2", "1 3 5 7 9");
    expands_to(&count, "1..8+3", "1 4 7");
    expands_to(&count, "1..3", "1 2 3");
    expands_to(&count, "1,2,8..64*2", "1 2 8 16 32 64");
    expands_to(&count, "1..10*1.5", "1 2 2 3 5 8");
    expands_to(&extent, "64..256*2,8:8", "64 128 256 8:8");
    expands_to(&duration, "10ms..10s*10", "10ms 100ms 1s 10s");
    expands_to(&passes, "5ms..20ms*2", "5ms 10ms 20ms");
    expands_to(&passes, "1..4*2", "1 2 4");
    expands_to(&text, "../a,b", "../a b");
    expands_to(&text, "a\\,b,c", "a,b c");
    expands_to(NULL, "1..3,x", "1..3 x");
}

static void ranges_that_are_none(void **unused)
{
    (void)unused;
    is_refused(&count, "", "no values");
    is_refused(&count, "9..1", "the range is empty");
    is_refused(&count, "1..9+0", "a step is above 0");
    is_refused(&count, "1..9*1", "a factor is above 1");
    is_refused(&count, "0..9*2", "begins above 0");
    is_refused(&count, "1..x", "ends of a range");
    is_refused(&count, "..4", "ends of a range");
    is_refused(&count, "1..9*", "not a factor");
    is_refused(&bytes, "1..9+x", "not a step");
    is_refused(&count, "1..99999", "more than");
    is_refused(&count, "1,,2", "empty word");
}

/* ---- grids ---- */

#define MOST_ROWS 4000
#define FACTORS 5

struct taken {
    size_t n, nfactors;
    size_t rows[MOST_ROWS][FACTORS];
    const size_t *forbidden; /* values of factors 0 and 1 that may not be together */
};

static int note(void *context, const size_t *numbers, struct tt_error *e)
{
    struct taken *t = context;

    (void)e;
    assert_true(t->n < MOST_ROWS);
    memcpy(t->rows[t->n++], numbers, t->nfactors * sizeof *numbers);
    return TT_OK;
}

static bool is_allowed(void *context, const size_t *numbers)
{
    const struct taken *t = context;

    return !t->forbidden || numbers[0] != t->forbidden[0] || numbers[1] != t->forbidden[1];
}

static void full_grid(void **unused)
{
    static struct taken t = {.nfactors = 3};
    const size_t counts[] = {2, 3, 4};
    const struct tt_combinations c = {3, counts, note, NULL, &t};
    struct tt_error e = TT_ERROR_CLEAR;

    (void)unused;
    assert_int_equal(tt_grid_full(&c, &e), TT_OK);
    assert_int_equal(t.n, 24);
    for (size_t i = 0; i < t.n; i++)
        assert_int_equal(t.rows[i][0] * 12 + t.rows[i][1] * 4 + t.rows[i][2], i);
    assert_int_equal(
        tt_grid_full(&(struct tt_combinations){3, (size_t[]){1000, 1000, 1000}, note, NULL, &t},
                     &e),
        TT_USAGE);
    assert_non_null(strstr(e.text, "1e+09 points"));
}

/* Every value occurs as often as any other, or once more. */
static void latin_hypercube(void **unused)
{
    static struct taken t, again, other;
    const size_t counts[] = {2, 3, 7, 40, 1};
    struct tt_combinations c = {FACTORS, counts, note, NULL, &t};
    struct tt_error e = TT_ERROR_CLEAR;

    (void)unused;
    t.nfactors = again.nfactors = other.nfactors = FACTORS;
    assert_int_equal(tt_grid_lhs(&c, 40, 7, &e), TT_OK);
    assert_int_equal(t.n, 40);
    for (size_t f = 0; f < FACTORS; f++) {
        size_t seen[40] = {0};

        for (size_t i = 0; i < t.n; i++)
            seen[t.rows[i][f]]++;
        for (size_t v = 0; v < counts[f]; v++) {
            assert_true(seen[v] >= 40 / counts[f]);
            assert_true(seen[v] <= 40 / counts[f] + 1);
        }
    }
    c.context = &again;
    assert_int_equal(tt_grid_lhs(&c, 40, 7, &e), TT_OK);
    assert_memory_equal(t.rows, again.rows, sizeof t.rows);
    c.context = &other;
    assert_int_equal(tt_grid_lhs(&c, 40, 8, &e), TT_OK);
    assert_memory_not_equal(t.rows, other.rows, sizeof t.rows);
}

/* Six of twelve combinations: none of them twice. */
static void sample_of_few_values(void **unused)
{
    static struct taken t;
    const size_t counts[] = {3, 2, 2};
    const struct tt_combinations c = {3, counts, note, NULL, &t};
    struct tt_error e = TT_ERROR_CLEAR;

    (void)unused;
    for (uint64_t seed = 1; seed < 20; seed++) {
        t = (struct taken){.nfactors = 3};
        assert_int_equal(tt_grid_lhs(&c, 6, seed, &e), TT_OK);
        assert_int_equal(t.n, 6);
        for (size_t i = 0; i < t.n; i++)
            for (size_t k = 0; k < i; k++)
                assert_memory_not_equal(t.rows[i], t.rows[k], sizeof t.rows[i]);
    }
}

static bool has_pair(const struct taken *t, size_t i, size_t a, size_t j, size_t b)
{
    for (size_t k = 0; k < t->n; k++)
        if (t->rows[k][i] == a && t->rows[k][j] == b)
            return true;
    return false;
}

static void pairs_are_covered(void **unused)
{
    static struct taken t, none_of_it;
    const size_t counts[] = {4, 3, 5, 2, 3}, forbidden[] = {1, 2};
    struct tt_combinations c = {FACTORS, counts, note, is_allowed, &t};
    struct tt_error e = TT_ERROR_CLEAR;

    (void)unused;
    for (int with = 0; with < 2; with++) {
        t = (struct taken){.nfactors = FACTORS, .forbidden = with ? forbidden : NULL};
        assert_int_equal(tt_grid_pairwise(&c, 3, &e), TT_OK);
        /* 360 combinations, of which 20 are the least that could do. */
        assert_in_range(t.n, 19, 30);
        for (size_t i = 0; i < FACTORS; i++)
            for (size_t j = i + 1; j < FACTORS; j++)
                for (size_t a = 0; a < counts[i]; a++)
                    for (size_t b = 0; b < counts[j]; b++)
                        assert_int_equal(has_pair(&t, i, a, j, b),
                                         !(with && i == 0 && j == 1 && a == 1 && b == 2));
    }
    none_of_it.nfactors = 1;
    c = (struct tt_combinations){1, counts, note, NULL, &none_of_it};
    assert_int_equal(tt_grid_pairwise(&c, 3, &e), TT_OK);
    assert_int_equal(none_of_it.n, 4);
}

/* ---- conditions ---- */

static const struct {
    struct tt_param param;
    const char *value;
} keys[] = {
    {{.key = "transfer", .type = TT_PARAM_BYTES}, "64k"},
    {{.key = "block", .type = TT_PARAM_BYTES}, "1m"},
    {{.key = "ranks", .type = TT_PARAM_COUNT}, "2"},
    {{.key = "deadline", .type = TT_PARAM_DURATION}, "50ms"},
    {{.key = "backend", .type = TT_PARAM_TEXT}, "posix"},
    {{.key = "read", .type = TT_PARAM_BOOL}, "yes"},
    {{.key = "label", .type = TT_PARAM_TEXT}, NULL},
};

static const struct tt_param *find(void *context, const char *key)
{
    (void)context;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!strcmp(keys[i].param.key, key))
            return &keys[i].param;
    return NULL;
}

static const char *value(void *context, const char *key)
{
    (void)context;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!strcmp(keys[i].param.key, key))
            return keys[i].value;
    return NULL;
}

static const char *near(void *context, const char *word)
{
    (void)context;
    return strcmp(word, "blok") ? NULL : "block";
}

static const struct tt_condition_keys of_test = {NULL, find, value, near};

static void holds(const char *given, bool expected)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_condition *c;

    assert_int_equal(tt_condition_parse(given, &of_test, &c, &e), TT_OK);
    assert_int_equal(tt_condition_holds(c, &of_test), expected);
    tt_condition_free(c);
}

static void conditions(void **unused)
{
    (void)unused;
    holds("transfer < block", true);
    holds("block<transfer", false);
    holds("transfer = 65536", true);
    holds("64k == transfer", true);
    holds("transfer >= 64k", true);
    holds("transfer > 64k", false);
    holds("transfer != 1m", true);
}

static void conditions_with_words(void **unused)
{
    (void)unused;
    holds("deadline < 1s", true);
    holds("deadline >= 50000us", true);
    holds("backend == posix", true);
    holds("backend != mpiio", true);
    holds("read == on", true);
    holds("read = no", false);
    holds("label == x", false);
    holds("ranks == 1 or backend == posix", true);
    holds("ranks == 1 and backend == posix", false);
    holds("ranks == 2 or ranks == 1 and read == no", true);
    holds("(ranks == 2 or ranks == 1) and read == no", false);
    holds("not ranks == 1 && !(read == no || transfer > block)", true);
}

static void condition_is_refused(const char *given, const char *why)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_condition *c;

    assert_int_equal(tt_condition_parse(given, &of_test, &c, &e), TT_USAGE);
    assert_non_null(strstr(e.text, why));
    assert_null(c);
}

static void conditions_that_are_none(void **unused)
{
    char deep[200];

    (void)unused;
    condition_is_refused("", "a key or a value");
    condition_is_refused("transfer", "expected <");
    condition_is_refused("transfer >", "a key or a value at its end");
    condition_is_refused("transfer > blok", "neither a key (did you mean 'block'?)");
    condition_is_refused("ranks <= 1.5g", "nor a value of ranks");
    condition_is_refused("blok > 1", "neither 'blok' nor '1' is a key (did you mean 'block'?)");
    condition_is_refused("backend < posix", "compares numbers");
    condition_is_refused("transfer < backend", "compares numbers");
    condition_is_refused("ranks == 1 ranks", "and, or, or the end");
    condition_is_refused("(ranks == 1", "expected )");
    condition_is_refused("ranks == 1)", "and, or, or the end");
    condition_is_refused("ranks == 1 and", "a key or a value");
    memset(deep, '(', 199);
    deep[199] = '\0';
    condition_is_refused(deep, "nested too deeply");
    memcpy(deep, "not ", 4);
    for (size_t i = 4; i < 196; i += 4)
        memcpy(deep + i, "not ", 4);
    deep[196] = '\0';
    condition_is_refused(deep, "nested too deeply");
}

/* ---- points ---- */

static void make(struct tt_study *s, const char *const *words, int expected, struct tt_error *e)
{
    struct tt_settings settings = {0};
    struct tt_error ignored = TT_ERROR_CLEAR;

    for (; *words; words += 2)
        assert_int_equal(tt_settings_add(&settings, words[0], words[1], words[0], &ignored), TT_OK);
    assert_int_equal(tt_settings_add(&settings, "min_free", "0", "test", &ignored), TT_OK);
    assert_int_equal(tt_study_make(s, "bulk", &settings, e), expected);
    tt_settings_free(&settings);
}

static void points_are_known_by_their_plan(void **unused)
{
    static const char *const first[] = {"sweep", "transfer=64k,128k", "sweep", "ranks=1,2", NULL};
    static const char *const same[] = {
        "vary.ranks", "2,1", "vary.bulk.transfer", "128k,65536", "read", "yes", NULL};
    static const char *const other[] = {"sweep", "transfer=64k,128k", "read", "no", NULL};
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_study a, b, c;

    (void)unused;
    make(&a, first, TT_OK, &e);
    make(&b, same, TT_OK, &e);
    make(&c, other, TT_OK, &e);
    assert_int_equal(a.npoints, 4);
    assert_int_equal(b.npoints, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_non_null(json_object_get(b.known, a.points[i].hash));
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(a.points[i].hash, a.points[k].hash);
    }
    for (size_t i = 0; i < c.npoints; i++)
        assert_null(json_object_get(a.known, c.points[i].hash));
    tt_study_free(&a);
    tt_study_free(&b);
    tt_study_free(&c);
}

static void equal_points_are_one(void **unused)
{
    static const char *const words[] = {"sweep", "transfer=64k,65536,128k", NULL};
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_study s;

    (void)unused;
    make(&s, words, TT_OK, &e);
    assert_int_equal(s.npoints, 2);
    tt_study_free(&s);
}

/* Also those that differ only in how an ensemble is run, or where. */
static void every_key_makes_points(void **unused)
{
    static const char *const varied[] = {"settle=0,1s",
                                         "cpus=0,1",
                                         "launch.exclusive=yes,no",
                                         "dir=.,/",
                                         "backend=posix,discard",
                                         "layers=verify,throttle",
                                         "bulk.order=sequential,random",
                                         "counters.interval=0,1s"};

    (void)unused;
    for (size_t i = 0; i < sizeof varied / sizeof *varied; i++) {
        const char *const words[] = {"sweep", varied[i], "block", "4k", "transfer", "4k", NULL};
        struct tt_error e = TT_ERROR_CLEAR;
        struct tt_study s;

        make(&s, words, TT_OK, &e);
        assert_int_equal(s.npoints, 2);
        tt_study_free(&s);
    }
}

static void listed_points_and_conditions(void **unused)
{
    static const char *const words[] = {"points.0.transfer",
                                        "4k",
                                        "points.0.ranks",
                                        "2",
                                        "points.1.transfer",
                                        "8k",
                                        "points.2.block",
                                        "2k",
                                        "points.2.transfer",
                                        "4k",
                                        "skip",
                                        "transfer > block",
                                        NULL};
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_study s;
    char shown[80];

    (void)unused;
    make(&s, words, TT_OK, &e);
    assert_int_equal(s.npoints, 2);
    assert_int_equal(s.skipped, 1);
    assert_string_equal(
        tt_point_text(&s, (const char *const *)s.points[0].values, shown, sizeof shown),
        "transfer=4k ranks=2");
    assert_null(s.points[1].values[1]);
    tt_study_free(&s);
}

static void steps_are_the_same_of_all_points(void **unused)
{
    static const char *const words[] = {
        "reference.workload", "bulk", "load.same", "reference", "others", "1",
        "vary.alone",         "1,2",  "min_free",  "0"};
    struct tt_settings settings = {0};
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_study s;

    (void)unused;
    for (size_t i = 0; i < sizeof words / sizeof *words; i += 2)
        assert_int_equal(tt_settings_add(&settings, words[i], words[i + 1], "test", &e), TT_OK);
    assert_int_equal(tt_study_make(&s, NULL, &settings, &e), TT_USAGE);
    assert_non_null(strstr(e.text, "cannot be varied"));
    tt_study_free(&s);
    tt_settings_free(&settings);
}

static void bad_studies(void **unused)
{
    static const struct {
        const char *words[7], *why;
    } bad[] = {
        {{"sweep", "transfr=4k"}, "(did you mean 'transfer'?)"},
        {{"sweep", "transfer=9k..4k"}, "sweep transfer: '9k..4k': the range is empty"},
        {{"sweep", "transfer"}, "is not KEY=VALUES"},
        {{"sweep", "ranks=1,2", "skip", "ranks > 0"}, "skip leaves none of 2 points"},
        {{"sweep", "ranks=1,2", "skip", "rank > 0"}, "did you mean 'ranks'?"},
        {{"sweep", "ranks=1,2", "metrics", "write_rat"}, "did you mean 'write_rate'?"},
        {{"sweep", "ranks=1,2", "grid", "fulll"}, "full"},
        {{"sweep", "ranks=1,2", "add", "3"}, "--resume"},
        {{"sweep", "ranks=1,2", "require", "x"}, "a study has no require"},
        {{"sweep", "ranks=0"}, "(point ranks=0)"},
        {{"vary", "x"}, "vary needs keys"},
        {{"points.transfer", "4k"}, "points is a list"},
        {{"repeat", "2"}, "nothing is varied"},
        {{"sweep", "others=1,2"}, "no load says what they do"},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct tt_error e = TT_ERROR_CLEAR;
        struct tt_study s;

        make(&s, bad[i].words, TT_USAGE, &e);
        if (!strstr(e.text, bad[i].why))
            fail_msg("'%s' says '%s'", bad[i].words[1], e.text);
        tt_study_free(&s);
    }
}

static void budget_is_refused(void **unused)
{
    static const char *const words[] = {"sweep", "ranks=1,2", "block", "1m", "repeat",
                                        "10",    "max_bytes", "20m",   NULL};
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_study_budget b;
    struct tt_study s;

    (void)unused;
    make(&s, words, TT_OK, &e);
    assert_int_equal(tt_study_budget(&s, NULL, NULL, &b, &e), TT_OK);
    assert_int_equal(b.runs, 20);
    assert_true(b.bytes == 30.0 * (1 << 20));
    assert_int_equal(tt_study_check_budget(&s, &b, &e), TT_LIMIT);
    assert_non_null(strstr(e.text, "30.0 MiB in all, more than --max-bytes 20.0 MiB"));
    tt_error_clear(&e);
    assert_int_equal(tt_study_budget(&s, NULL, (const uint64_t[]){10, 0}, &b, &e), TT_OK);
    assert_int_equal(b.runs, 10);
    assert_int_equal(tt_study_check_budget(&s, &b, &e), TT_OK);
    tt_study_free(&s);
}

/* ---- variance ---- */

/* a and b in a full grid of 3 x 2 cells with 6 runs each: exp(4 a + b) and noise by a fixed rule.
 */
static void known_shares(void **unused)
{
    double values[36];
    size_t cells[36], levels[12];
    const size_t nlevels[] = {3, 2};
    struct tt_share_of_variance shares[2];
    struct tt_variance v = {.factors = shares};
    struct tt_design d = {36, values, cells, 6, 2, levels, nlevels};
    struct tt_error e = TT_ERROR_CLEAR;

    (void)unused;
    for (size_t i = 0; i < 36; i++) {
        size_t c = i / 6;

        levels[2 * c] = c / 2;
        levels[2 * c + 1] = c % 2;
        cells[i] = c;
        values[i] = exp(4 * (double)(c / 2) + (double)(c % 2) + (i % 2 ? 0.1 : -0.1));
    }
    assert_int_equal(tt_variance_explained(&d, 1, &v, &e), TT_OK);
    assert_true(v.known && v.log && v.balanced && v.noise.known);
    /* Squares: 36 x (32 / 3), 36 x 0.25 and 36 x 0.01, without 2 and 1 times 0.36 / 30. */
    assert_true(fabs(shares[0].share - (384 - 2 * 0.36 / 30) / 393.36) < 1e-12);
    assert_true(fabs(shares[1].share - (9 - 0.36 / 30) / 393.36) < 1e-12);
    assert_true(fabs(v.noise.share - 0.36 / 30 * 35 / 393.36) < 1e-12);
    for (size_t f = 0; f < 2; f++) {
        assert_true(shares[f].interval.known);
        assert_true(shares[f].interval.low <= shares[f].share);
        assert_true(shares[f].interval.high >= shares[f].share);
        assert_true(shares[f].interval.high - shares[f].interval.low < 0.05);
    }
}

/* Noise only, in 2 x 2 cells: no share and no interval leaves 0 to 1, and few runs have no
 * interval. */
static void shares_of_noise_are_shares(void **unused)
{
    gsl_rng *random = gsl_rng_alloc(gsl_rng_mt19937);
    const size_t levels[] = {0, 0, 0, 1, 1, 0, 1, 1}, nlevels[] = {2, 2};
    struct tt_share_of_variance shares[3];
    struct tt_variance v = {.factors = shares};
    double values[24];
    size_t cells[24];
    struct tt_error e = TT_ERROR_CLEAR;

    (void)unused;
    for (uint64_t k = 0; k < 200; k++) {
        size_t runs = 2 + k % 5;
        struct tt_design d = {4 * runs, values, cells, 4, 2, levels, nlevels};

        for (size_t i = 0; i < d.n; i++) {
            cells[i] = i / runs;
            values[i] = exp(gsl_ran_gaussian(random, 0.1));
        }
        assert_int_equal(tt_variance_explained(&d, k, &v, &e), TT_OK);
        assert_int_equal(v.runs, runs);
        shares[2] = v.noise;
        for (size_t f = 0; f < 3; f++) {
            assert_int_equal(shares[f].interval.known, runs >= 6);
            assert_true(shares[f].share >= 0 && shares[f].share <= 1);
            assert_true(shares[f].interval.low >= 0 && shares[f].interval.high <= 1);
        }
    }
    gsl_rng_free(random);
}

/* Simulated studies of 4 x 3 points with 6 runs each: intervals have the true share about as often
 * as they say. */
static void intervals_of_shares_cover_them(void **unused)
{
    static const double a[] = {0, 0.3, 0.6, 1}, b[] = {0, 0.2, 0.4};
    const double noise = 0.2, of_a = 0.136875, of_b = 0.08 / 3; /* variances */
    const double whole = of_a + of_b + noise * noise;
    gsl_rng *random = gsl_rng_alloc(gsl_rng_mt19937);
    const size_t nlevels[] = {4, 3};
    size_t cells[72], levels[24], covered[2] = {0};
    struct tt_share_of_variance shares[2];
    struct tt_variance v = {.factors = shares};
    double values[72];
    struct tt_design d = {72, values, cells, 12, 2, levels, nlevels};
    struct tt_error e = TT_ERROR_CLEAR;

    (void)unused;
    for (uint64_t k = 0; k < 200; k++) {
        for (size_t i = 0; i < 72; i++) {
            cells[i] = i / 6;
            levels[2 * (i / 6)] = i / 18;
            levels[2 * (i / 6) + 1] = i / 6 % 3;
            values[i] = exp(a[i / 18] + b[i / 6 % 3] + gsl_ran_gaussian(random, noise));
        }
        assert_int_equal(tt_variance_explained(&d, k, &v, &e), TT_OK);
        covered[0] +=
            shares[0].interval.low <= of_a / whole && shares[0].interval.high >= of_a / whole;
        covered[1] +=
            shares[1].interval.low <= of_b / whole && shares[1].interval.high >= of_b / whole;
    }
    assert_in_range(covered[0], 180, 198);
    assert_in_range(covered[1], 180, 198);
    gsl_rng_free(random);
}

static void shares_above_the_whole_are_said(void **unused)
{
    static const char line[] = "! shares add up to more than 100 %";
    static const double noise[] = {0.25, 0.5};

    (void)unused;
    for (size_t i = 0; i < 2; i++) {
        json_t *answer =
            json_pack("{s:[{s:s, s:s, s:{s:b, s:[{s:s, s:f}, {s:s, s:f}]}}]}", "findings", "metric",
                      "runtime", "text", "", "variance", "balanced", 1, "shares", "factor", "ranks",
                      "share", 0.75, "factor", "repetitions", "share", noise[i]);
        struct tt_error e = TT_ERROR_CLEAR;
        char *shown = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&shown, &size);

        assert_non_null(answer);
        assert_int_equal(tt_report_study(out, answer, NULL, NULL, &e), TT_OK);
        fclose(out);
        assert_int_equal(strstr(shown, line) != NULL, noise[i] > 0.25);
        free(shown);
        json_decref(answer);
    }
}

static void shares_that_are_not_known(void **unused)
{
    double values[] = {1, 2, 3, 4};
    const size_t cells[] = {0, 1, 2, 3}, levels[] = {0, 0, 1, 0, 2, 0, 3, 0}, nlevels[] = {4, 1};
    struct tt_share_of_variance shares[2];
    struct tt_variance v = {.factors = shares};
    struct tt_design d = {4, values, cells, 4, 2, levels, nlevels};
    struct tt_error e = TT_ERROR_CLEAR;

    (void)unused;
    assert_int_equal(tt_variance_explained(&d, 1, &v, &e), TT_OK);
    assert_true(v.known);
    assert_false(shares[0].known || shares[1].known || v.noise.known);
    for (size_t i = 0; i < 4; i++)
        values[i] = 5;
    assert_int_equal(tt_variance_explained(&d, 1, &v, &e), TT_OK);
    assert_false(v.known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_and_ranges),
        cmocka_unit_test(ranges_that_are_none),
        cmocka_unit_test(full_grid),
        cmocka_unit_test(latin_hypercube),
        cmocka_unit_test(sample_of_few_values),
        cmocka_unit_test(pairs_are_covered),
        cmocka_unit_test(conditions),
        cmocka_unit_test(conditions_with_words),
        cmocka_unit_test(conditions_that_are_none),
        cmocka_unit_test(points_are_known_by_their_plan),
        cmocka_unit_test(equal_points_are_one),
        cmocka_unit_test(every_key_makes_points),
        cmocka_unit_test(listed_points_and_conditions),
        cmocka_unit_test(steps_are_the_same_of_all_points),
        cmocka_unit_test(bad_studies),
        cmocka_unit_test(budget_is_refused),
        cmocka_unit_test(known_shares),
        cmocka_unit_test(shares_of_noise_are_shares),
        cmocka_unit_test(intervals_of_shares_cover_them),
        cmocka_unit_test(shares_above_the_whole_are_said),
        cmocka_unit_test(shares_that_are_not_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
