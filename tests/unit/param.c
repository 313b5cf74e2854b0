/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "spec/param.h"

struct options {
    bool flag;
    uint64_t count, bytes;
    double duration, rate, real;
    int choice;
    char *text;
    struct tt_counts counts;
    struct tt_words words;
    struct tt_space space;
    struct tt_passes passes;
};

static const char *const colours[] = {"red", "green", "blue", NULL};

enum { FLAG, COUNT, BYTES, DURATION, RATE, REAL, CHOICE, TEXT, COUNTS, WORDS, SPACE, PASSES };
#define AT(member) offsetof(struct options, member)
static const struct tt_param params[] = {
    {"flag", TT_PARAM_BOOL, AT(flag), "no", NULL, "a switch"},
    {"count", TT_PARAM_COUNT, AT(count), "3", NULL, "1 to 64", 1, 64},
    {"bytes", TT_PARAM_BYTES, AT(bytes), "4k", "B", "at least 512", 512, 0},
    {"duration", TT_PARAM_DURATION, AT(duration), "200ms", "s", "any"},
    {"rate", TT_PARAM_RATE, AT(rate), "50m", "B/s", "any"},
    {"real", TT_PARAM_REAL, AT(real), "0.1", NULL, "0 to 1", 0, 1},
    {"choice", TT_PARAM_CHOICE, AT(choice), "green", NULL, "a colour", .choices = colours},
    {"text", TT_PARAM_TEXT, AT(text), NULL, NULL, "any"},
    {"counts", TT_PARAM_COUNTS, AT(counts), "10:0:1", NULL, "any"},
    {"words", TT_PARAM_WORDS, AT(words), "a,b", NULL, "any"},
    {"space", TT_PARAM_SPACE, AT(space), "20%", NULL, "any"},
    {"passes", TT_PARAM_PASSES, AT(passes), "1", NULL, "1 to 1000", 1, 1000},
    {0},
};

static void defaults_are_set(void **state)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct options o = {0};

    (void)state;
    assert_int_equal(tt_params_default(params, &o, &e), TT_OK);
    assert_false(o.flag);
    assert_int_equal(o.count, 3);
    assert_int_equal(o.bytes, 4096);
    assert_true(o.duration == 0.2 && o.rate == 52428800 && o.real == 0.1);
    assert_int_equal(o.choice, 1);
    assert_null(o.text);
    assert_int_equal(o.counts.n, 3);
    assert_int_equal(o.counts.values[0], 10);
    assert_int_equal(o.counts.values[1], 0);
    assert_int_equal(o.counts.values[2], 1);
    assert_int_equal(o.words.n, 2);
    assert_string_equal(o.words.words[1], "b");
    assert_true(o.space.percent == 20 && o.space.bytes == 0);
    tt_params_free(params, &o);
    assert_null(o.words.words);
    tt_params_free(params, &o); /* twice does no harm */
}

static void values_survive_the_way_to_text_and_back(void **state)
{
    static const struct {
        int param;
        const char *given, *canonical;
    } cases[] = {
        {FLAG, "on", "yes"},
        {FLAG, "FALSE", "no"},
        {COUNT, "64", "64"},
        {BYTES, "1.5g", "1610612736"},
        {DURATION, "3us", "3e-06"},
        {DURATION, "0.1", "0.1"},
        {DURATION, "2min", "120"},
        {RATE, "0.3k", "307.2"},
        {RATE, "1e-7", "1e-07"},
        {REAL, "0.30000000000000004", "0.30000000000000004"},
        {CHOICE, "Blue", "blue"},
        {TEXT, "two words", "two words"},
        {TEXT, "", ""},
        {COUNTS, "4,5", "4:5"},
        {COUNTS, "7", "7"},
        {COUNTS, "64x128x32", "64:128:32"},
        {WORDS, "", ""},
        {WORDS, "x,y,z", "x,y,z"},
        {WORDS, "a\\,b,\\\\", "a\\,b,\\\\"},
        {SPACE, "10g", "10737418240"},
        {SPACE, "12.5%", "12.5%"},
        {SPACE, "0", "0%"},
        {PASSES, "12", "12"},
        {PASSES, "50ms", "0.05s"},
        {PASSES, "2min", "120s"},
        {PASSES, "50ms=12x4ms", "0.05s=12x0.004s"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct tt_param *p = &params[cases[i].param];
        struct tt_error e = TT_ERROR_CLEAR;
        struct options o = {0}, again = {0};
        char *text, *second;

        assert_int_equal(tt_param_set(p, &o, cases[i].given, &e), TT_OK);
        text = tt_param_get(p, &o);
        assert_string_equal(text, cases[i].canonical);
        assert_int_equal(tt_param_set(p, &again, text, &e), TT_OK);
        second = tt_param_get(p, &again);
        assert_string_equal(second, text);
        free(text);
        free(second);
        tt_params_free(params, &o);
        tt_params_free(params, &again);
    }
}

static void refused_values_change_nothing(void **state)
{
    static const struct {
        int param;
        const char *value, *text;
    } cases[] = {
        {FLAG, "maybe", "flag: 'maybe' is not yes or no"},
        {COUNT, "0", "count: '0' is out of range: 1 to 64"},
        {COUNT, "65", "count: '65' is out of range: 1 to 64"},
        {COUNT, "2k", "count: '2k' is not a count: expected a whole number such as 4096"},
        {BYTES, "511", "bytes: '511' is out of range: at least 512"},
        {REAL, "1.5", "real: '1.5' is out of range: 0 to 1"},
        {REAL, "-0.5", "real: '-0.5' is out of range: 0 to 1"},
        {CHOICE, "gren", "choice: 'gren' is not one of red, green, blue (did you mean 'green'?)"},
        {CHOICE, "xyzzy", "choice: 'xyzzy' is not one of red, green, blue"},
        {COUNTS, "", "counts: '' is empty: expected a whole number such as 4096"},
        {COUNTS, "1x", "counts: '1x' is not a count: expected a whole number such as 4096"},
        {COUNTS, "1xx2", "counts: '1xx2' is not a count: expected a whole number such as 4096"},
        {COUNTS, "1:", "counts: '' is empty: expected a whole number such as 4096"},
        {COUNTS, "1:x", "counts: 'x' is not a count: expected a whole number such as 4096"},
        {COUNTS, "1:2,3", "counts: '2,3' is not a count: expected a whole number such as 4096"},
        {WORDS, "a,,b", "words: 'a,,b' has an empty word: expected a list such as a,b"},
        {WORDS, "a,", "words: 'a,' has an empty word: expected a list such as a,b"},
        {SPACE, "101%", "space: '101%' is not a share: expected 0% to 100%"},
        {SPACE, "-1%", "space: '-1%' is not a share: expected 0% to 100%"},
        {SPACE, "%", "space: '%' is not a share: expected 0% to 100%"},
        {PASSES, "0", "passes: '0' is out of range: 1 to 1000"},
        {PASSES, "0ms",
         "passes: '0ms' cannot be computed for: expected a time above 0 and up to 1e+06s"},
        {PASSES, "1.5",
         "passes: '1.5' is neither a count of passes such as 12 nor a time such as 50ms"},
        {PASSES, "", "passes: '' is neither a count of passes such as 12 nor a time such as 50ms"},
        {PASSES, "5parsec",
         "passes: '5parsec' is neither a count of passes such as 12 nor a time such as 50ms"},
        {PASSES, "50ms=", "passes: '50ms=' is not a calibrated time such as 50ms=12x4.2ms"},
        {PASSES, "50ms=0x1ms",
         "passes: '50ms=0x1ms' is not a calibrated time such as 50ms=12x4.2ms"},
        {PASSES, "1s=9999999999999x1s",
         "passes: '1s=9999999999999x1s' is not a calibrated time such as 50ms=12x4.2ms"},
        {PASSES, "50ms=3x0s", "passes: '50ms=3x0s' is not a calibrated time such as 50ms=12x4.2ms"},
    };
    struct tt_error e = TT_ERROR_CLEAR;
    struct options o = {0};

    (void)state;
    assert_int_equal(tt_params_default(params, &o, &e), TT_OK);
    assert_int_equal(tt_param_set(&params[TEXT], &o, "kept", &e), TT_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct tt_param *p = &params[cases[i].param];
        char *before = tt_param_get(p, &o), *after;

        tt_error_clear(&e);
        assert_int_equal(tt_param_set(p, &o, cases[i].value, &e), TT_USAGE);
        assert_string_equal(e.text, cases[i].text);
        after = tt_param_get(p, &o);
        assert_string_equal(after, before);
        free(before);
        free(after);
    }
    tt_params_free(params, &o);
}

static void nearest_words(void **state)
{
    static const char *const words[] = {"stripe_count", "stripe_size", "sync", "async", "n", NULL};

    (void)state;
    assert_string_equal(tt_nearest_word("stripe_cout", words), "stripe_count");
    assert_string_equal(tt_nearest_word("stripe-size", words), "stripe_size");
    assert_string_equal(tt_nearest_word("snyc", words), "sync");
    assert_string_equal(tt_nearest_word("asnyc", words), "async");
    assert_string_equal(tt_nearest_word("SYNC", words), "sync");
    assert_null(tt_nearest_word("elephant", words));
    assert_null(tt_nearest_word("", words));
    assert_null(tt_nearest_word("x", words));
}

static void dashes_are_underscores(void **state)
{
    (void)state;
    assert_true(tt_same_key("max-bytes", "max_bytes"));
    assert_true(tt_same_key("", ""));
    assert_false(tt_same_key("max_bytes", "max_byte"));
    assert_false(tt_same_key("max", "max_bytes"));
    assert_false(tt_same_key("Max", "max"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_set),
        cmocka_unit_test(values_survive_the_way_to_text_and_back),
        cmocka_unit_test(refused_values_change_nothing),
        cmocka_unit_test(nearest_words),
        cmocka_unit_test(dashes_are_underscores),
    };

    return cmocka_run_group_tests_name("param", tests, NULL, NULL);
}
