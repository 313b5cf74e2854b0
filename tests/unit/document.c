/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a report hands to its page is read back as it was put in: numbers, text, and what is
 * missing. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/json.h"
#include "report/document.h"

static char *written(const struct tt_document *d, bool plain)
{
    struct tt_error e = TT_ERROR_CLEAR;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    assert_int_equal(tt_document_write(d, plain, out, &e), TT_OK);
    assert_int_equal(fclose(out), 0);
    return text;
}

static json_t *parsed(const struct tt_document *d, bool plain)
{
    char *text = written(d, plain);
    json_t *value = json_loads(text, 0, NULL);

    assert_non_null(value);
    free(text);
    return value;
}

static struct tt_document begun(const char *title)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_document d;

    assert_int_equal(tt_document_begin(&d, title, "tutti report", &e), TT_OK);
    return d;
}

static unsigned char *from_base64(const char *text, size_t *n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t length = strlen(text);
    unsigned char *out = malloc(length + 1);
    unsigned bits = 0;

    *n = 0;
    assert_int_equal(length % 4, 0);
    for (size_t i = 0; i < length && text[i] != '='; i++) {
        assert_non_null(strchr(digits, text[i]));
        bits = bits << 6 | (unsigned)(strchr(digits, text[i]) - digits);
        if (i % 4)
            out[(*n)++] = (unsigned char)(bits >> (6 - 2 * (i % 4)));
    }
    return out;
}

/* The numbers of a column of the page. */
static void *inflated(const json_t *document, const json_t *numbers, const char *type, size_t n,
                      size_t size)
{
    const json_t *column = json_array_get(json_object_get(document, "columns"),
                                          (size_t)tt_integer_of(numbers, "column"));
    unsigned char *room = malloc(n * size), *bytes;
    z_stream z = {0};
    size_t length;

    assert_string_equal(tt_text_of(column, "type"), type);
    assert_int_equal(tt_integer_of(column, "n"), n);
    bytes = from_base64(tt_text_of(column, "data"), &length);
    assert_int_equal(inflateInit2(&z, -MAX_WBITS), Z_OK);
    z.next_in = bytes;
    z.avail_in = (unsigned)length;
    z.next_out = room;
    z.avail_out = (unsigned)(n * size);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(z.total_out, n * size);
    inflateEnd(&z);
    free(bytes);
    return room;
}

static const json_t *first_series(const json_t *document, const char *member)
{
    const json_t *figure = json_array_get(json_object_get(document, "figures"), 0);

    return json_object_get(json_array_get(json_object_get(figure, "series"), 0), member);
}

static void test_column_round_trip(void **state)
{
    size_t n = 100003; /* several chunks, and a rest */
    struct tt_document d = begun("columns");
    double *values = malloc(n * sizeof *values), *back;
    json_t *document, *figure = tt_figure(&d, "lines", "a", "g", "t", "");

    (void)state;
    for (size_t i = 0; i < n; i++)
        values[i] = sin((double)i) * 1e9;
    values[7] = NAN;
    values[8] = INFINITY;
    tt_figure_series(&d, figure, "s", &(struct tt_points){n, .x = values, .y = values});
    document = parsed(&d, false);
    back = inflated(document, first_series(document, "y"), "f64", n, sizeof *back);
    for (size_t i = 0; i < n; i++) {
        if (i == 7 || i == 8)
            assert_true(isnan(back[i]));
        else
            assert_true(back[i] == values[i]);
    }
    free(back);
    json_decref(document);
    tt_document_free(&d);
    free(values);
}

/* Those of spans: numbers of other types. */
static void test_small_types(void **state)
{
    struct tt_document d = begun("types");
    json_t *document, *figure = tt_figure(&d, "timeline", "a", "g", "t", ""), *got;
    uint32_t *wide = malloc(1000 * sizeof *wide), *wide_back;
    uint8_t *narrow = malloc(1000), *narrow_back;

    (void)state;
    for (size_t i = 0; i < 1000; i++) {
        wide[i] = (uint32_t)(i * 4000001u);
        narrow[i] = (uint8_t)i;
    }
    tt_document_set(&d, figure, "ids", tt_numbers_take(&d, TT_NUMBER_U32, 1000, wide));
    tt_document_set(&d, figure, "spanKind", tt_numbers_take(&d, TT_NUMBER_U8, 1000, narrow));
    document = parsed(&d, false);
    got = json_array_get(json_object_get(document, "figures"), 0);
    wide_back = inflated(document, json_object_get(got, "ids"), "u32", 1000, 4);
    narrow_back = inflated(document, json_object_get(got, "spanKind"), "u8", 1000, 1);
    assert_memory_equal(wide, wide_back, 4000);
    assert_memory_equal(narrow, narrow_back, 1000);
    free(wide_back);
    free(narrow_back);
    json_decref(document);
    tt_document_free(&d);
}

static void test_few_numbers_stand_inline(void **state)
{
    double values[] = {1, NAN, 0.1, 1e300};
    struct tt_document d = begun("inline");
    json_t *figure = tt_figure(&d, "lines", "a", "g", "t", ""), *document;
    const json_t *x, *y;

    (void)state;
    tt_figure_series(&d, figure, "s", &(struct tt_points){4, .y = values});
    document = parsed(&d, false);
    x = first_series(document, "x");
    y = first_series(document, "y");
    assert_int_equal(json_array_size(y), 4);
    assert_true(json_number_value(json_array_get(x, 3)) == 3);
    assert_true(json_is_null(json_array_get(y, 1)));
    assert_true(json_number_value(json_array_get(y, 2)) == 0.1);
    assert_true(json_number_value(json_array_get(y, 3)) == 1e300);
    assert_int_equal(json_array_size(json_object_get(document, "columns")), 0);
    json_decref(document);
    tt_document_free(&d);
}

/* Plain JSON has every number in its place. */
static void test_plain(void **state)
{
    struct tt_document d = begun("plain");
    json_t *figure = tt_figure(&d, "lines", "a", "g", "t", ""), *document;
    double values[200];

    (void)state;
    for (size_t i = 0; i < 200; i++)
        values[i] = (double)i / 3;
    tt_figure_series(&d, figure, "s", &(struct tt_points){200, .y = values});
    document = parsed(&d, true);
    assert_int_equal(json_array_size(first_series(document, "y")), 200);
    assert_true(json_number_value(json_array_get(first_series(document, "y"), 199)) == values[199]);
    json_decref(document);
    tt_document_free(&d);
}

/* Nothing that a name holds can end the script or begin a tag; all of it comes back. */
static void test_names_are_no_markup(void **state)
{
    static const char evil[] = "</script><!--&\"'\\\n\xe2\x80\xa8\xe2\x80\xa9 \xc3\xa4";
    struct tt_document d = begun(evil);
    char *text;
    json_t *document;

    (void)state;
    tt_figure(&d, "table", "A <b>", evil, evil, evil);
    tt_figure(&d, "table", "A <b>", evil, evil, evil);
    tt_document_say(&d, "%s", evil);
    tt_document_say(&d, "not UTF-8: %s", "\xff\xfe");
    text = written(&d, false);
    assert_null(strpbrk(text, "<>&"));
    for (const char *c = text; *c; c++)
        assert_in_range((unsigned char)*c, 1, 126);
    free(text);
    document = parsed(&d, false);
    assert_string_equal(tt_text_of(document, "title"), evil);
    assert_string_equal(json_string_value(json_array_get(json_object_get(document, "answer"), 1)),
                        "not UTF-8: ??");
    assert_string_equal(tt_text_of(json_array_get(json_object_get(document, "figures"), 0), "id"),
                        "a--b-");
    assert_string_equal(tt_text_of(json_array_get(json_object_get(document, "figures"), 1), "id"),
                        "a--b--2");
    json_decref(document);
    tt_document_free(&d);
}

/* One sample, equal ones and a few have no density; the median of what is there is told. */
static void test_samples(void **state)
{
    double one[] = {3}, equal[] = {2, 2, 2, 2, 2, 2, 2}, some[] = {5, 1, 4, 2, 3, 6, NAN}, many[24];
    struct tt_document d = begun("samples");
    json_t *figure = tt_figure(&d, "samples", "a", "g", "t", ""), *groups;

    (void)state;
    tt_figure_samples(&d, figure, "one", 1, one, NULL);
    tt_figure_samples(&d, figure, "equal", 7, equal, NULL);
    tt_figure_samples(&d, figure, "some", 7, some, NULL);
    tt_figure_samples(&d, figure, "none", 0, some, NULL);
    for (int i = 0; i < 24; i++)
        many[i] = i;
    tt_figure_samples(&d, figure, "many", 24, many, NULL);
    groups = json_object_get(figure, "groups");
    assert_true(tt_number_of(json_array_get(groups, 0), "median") == 3);
    assert_true(json_is_null(json_object_get(json_array_get(groups, 0), "low")));
    assert_null(json_object_get(json_array_get(groups, 0), "density"));
    assert_null(json_object_get(json_array_get(groups, 1), "density"));
    assert_true(tt_number_of(json_array_get(groups, 2), "median") == 3.5);
    assert_null(json_object_get(json_array_get(groups, 2), "density"));
    assert_non_null(json_object_get(json_array_get(groups, 4), "density"));
    assert_true(json_is_null(json_object_get(json_array_get(groups, 3), "median")));
    assert_false(d.failed);
    tt_document_free(&d);
}

static void add_run(struct tt_document *d, const char *size, const char *mode)
{
    tt_document_run(d, json_pack("{s:{s:s, s:s*}}", "keys", "size", size, "mode", mode));
}

/* Values of runs are anybody's: what looks like numbers beside the tree is at most shown as such.
 */
static void test_foreign_columns(void **state)
{
    struct tt_document d = begun("foreign");
    double values[100] = {0};
    json_t *document;

    (void)state;
    values[99] = 1;
    for (int i = 0; i < 20; i++)
        tt_document_run(&d, json_pack("{s:{s:i}}", "keys", "column", i % 3));
    tt_figure_series(&d, tt_figure(&d, "lines", "f", "", "", ""), "s",
                     &(struct tt_points){100, .y = values});
    document = parsed(&d, false);
    assert_true(json_array_size(json_object_get(document, "columns")) <= 2);
    json_decref(document);
    tt_document_free(&d);
}

static void test_categories(void **state)
{
    struct tt_document d = begun("categories");
    json_t *axis =
        tt_figure_axis(&d, tt_figure(&d, "bars", "f", "", "", ""), "x", "phase", "", "category");

    (void)state;
    tt_axis_category(&d, axis, "halo");
    tt_axis_category(&d, axis, "wait");
    assert_string_equal(tt_axis_name(axis, 0), "halo");
    assert_string_equal(tt_axis_name(axis, 1), "wait");
    assert_null(tt_axis_name(axis, 2));
    assert_null(tt_axis_name(axis, -1));
    assert_null(tt_axis_name(axis, 1e300));
    assert_null(tt_axis_name(axis, NAN));
    assert_null(tt_axis_name(NULL, 0));
    tt_document_free(&d);
}

static void test_varied_keys(void **state)
{
    struct tt_document d = begun("varied");
    const json_t *varied;

    (void)state;
    add_run(&d, "64", "sync");
    add_run(&d, "64", NULL);
    tt_document_find_varied(&d);
    varied = json_object_get(d.root, "varied");
    assert_int_equal(json_array_size(varied), 1);
    assert_string_equal(json_string_value(json_array_get(varied, 0)), "mode");
    tt_document_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_column_round_trip),
                                       cmocka_unit_test(test_small_types),
                                       cmocka_unit_test(test_few_numbers_stand_inline),
                                       cmocka_unit_test(test_plain),
                                       cmocka_unit_test(test_names_are_no_markup),
                                       cmocka_unit_test(test_samples),
                                       cmocka_unit_test(test_foreign_columns),
                                       cmocka_unit_test(test_categories),
                                       cmocka_unit_test(test_varied_keys)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
