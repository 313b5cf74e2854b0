/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The printer of tables: widths, gaps, cutting, wrapping, and nothing beyond column 80. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/table.h"

static char *print(struct tt_table *t)
{
    struct tt_error e = TT_ERROR_CLEAR;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    assert_int_equal(tt_table_print(t, out, &e), TT_OK);
    fclose(out);
    return text;
}

#define COLUMNS(c) c, sizeof(c) / sizeof *(c)

static void columns_are_as_wide_as_they_need(void **unused)
{
    static const struct tt_column columns[] = {
        {.title = "name"}, {.title = "n", .right = true, .width = 3}, {.title = "text"}};
    struct tt_table t = {COLUMNS(columns), .indent = 2};
    char *text;

    (void)unused;
    tt_table_add(&t, "a\tlong name");
    tt_table_add(&t, "%d", 7);
    tt_table_add(&t, "x");
    tt_table_add(&t, "b");
    tt_table_add(&t, "%d", 12345);
    tt_table_add(&t, "%s", ""); /* no blanks at the end of a line */
    text = print(&t);
    assert_string_equal(text, "  name            n  text\n"
                              "  a?long name     7  x\n"
                              "  b           12345\n");
    free(text);
}

static void no_rows_no_table(void **unused)
{
    static const struct tt_column columns[] = {{.title = "name"}};
    struct tt_table t = {COLUMNS(columns), 0};
    char *text = print(&t);

    (void)unused;
    assert_string_equal(text, "");
    free(text);
}

static void what_is_empty_is_left_out(void **unused)
{
    static const struct tt_column columns[] = {
        {.title = "a"}, {.title = "none", .optional = true}, {.title = "b"}};
    struct tt_table t = {COLUMNS(columns), .tight = true};
    char *text;

    (void)unused;
    tt_table_add(&t, "1");
    tt_table_add(&t, "%s", "");
    tt_table_add(&t, "2");
    text = print(&t);
    assert_string_equal(text, "a b\n1 2\n");
    free(text);
}

static void wide_columns_are_cut(void **unused)
{
    static const struct tt_column columns[] = {
        {.title = "label", .least = 5}, {.title = "n", .right = true}, {.title = "s", .least = 3}};
    struct tt_table t = {COLUMNS(columns), .tight = true};
    char *text, *line;

    (void)unused;
    tt_table_add(&t, "%0100d", 0);
    tt_table_add(&t, "%d", 42);
    tt_table_add(&t, "\xc3\xa9tat");
    text = print(&t);
    line = strchr(text, '\n') + 1;
    assert_non_null(strstr(line, "0~ 42 \xc3\xa9tat\n"));
    assert_int_equal(strlen(line), 80 + 2); /* a letter of two bytes, and the newline */
    free(text);
}

static void the_last_column_is_wrapped(void **unused)
{
    static const struct tt_column columns[] = {{.title = "a", .width = 60}, {.title = "text"}};
    struct tt_table t = {COLUMNS(columns), 0};
    char *text;

    (void)unused;
    tt_table_add(&t, "x");
    tt_table_add(&t, "one two three four five");
    text = print(&t);
    assert_non_null(strstr(text, " one two three four\n"));
    assert_non_null(strstr(text, "\n                                                             "
                                 "five\n"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_as_wide_as_they_need), cmocka_unit_test(no_rows_no_table),
        cmocka_unit_test(what_is_empty_is_left_out),        cmocka_unit_test(wide_columns_are_cut),
        cmocka_unit_test(the_last_column_is_wrapped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
