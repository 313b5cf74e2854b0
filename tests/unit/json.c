/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON of another form than expected reads as empty, and harms nobody. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/text.h"

static void members_of_any_type(void **unused)
{
    json_t *o = json_pack("{s:s, s:i, s:f, s:b, s:n}", "text", "a", "integer", 3, "real", 1.5,
                          "true", 1, "null");

    (void)unused;
    assert_string_equal(tt_text_of(o, "text"), "a");
    assert_string_equal(tt_text_of(o, "integer"), "");
    assert_string_equal(tt_text_of(o, "missing"), "");
    assert_string_equal(tt_text_of(NULL, "text"), "");
    assert_true(tt_number_of(o, "integer") == 3);
    assert_true(tt_number_of(o, "real") == 1.5);
    assert_true(tt_number_of(o, "text") == 0);
    assert_true(tt_number_or_nan(o, "real") == 1.5);
    assert_true(isnan(tt_number_or_nan(o, "null")));
    assert_true(tt_integer_of(o, "integer") == 3);
    assert_true(tt_integer_of(o, "real") == 0);
    assert_true(tt_is_true(o, "true"));
    assert_false(tt_is_true(o, "integer"));
    assert_true(tt_has_number(o, "real"));
    assert_false(tt_has_number(o, "null"));
    json_decref(o);
}

static void members_of_members(void **unused)
{
    json_t *o = json_pack("{s:{s:{s:s}}, s:i}", "plan", "parameters", "stencil.size", "64", "n", 1);

    (void)unused;
    assert_string_equal(tt_text_of(tt_member_at(o, "plan/parameters"), "stencil.size"), "64");
    assert_null(tt_member_at(o, "plan/other/further"));
    assert_null(tt_member_at(o, "n/parameters"));
    assert_null(tt_member_at(NULL, "plan"));
    json_decref(o);
}

static void values_are_whole_or_null(void **unused)
{
    json_t *o = json_object(), *real = tt_json_real(2), *none = tt_json_real(INFINITY);

    (void)unused;
    assert_ptr_equal(tt_json_unless(0, o), o);
    assert_null(tt_json_unless(-1, o));
    assert_true(json_number_value(real) == 2);
    assert_true(json_is_null(none));
    json_decref(real);
}

/* A list of numbers is one line; what is in a string, and lists of anything else, stay. */
static void lists_of_numbers_are_lines(void **unused)
{
    json_t *value = json_pack("{s:[i,f], s:[[i,i,i],[]], s:[s], s:[i,s], s:s}", "a", -1, 0.5, "b",
                              1, 2, 3, "c", "]", "d", 1, "x", "e", "[\n1\n]");
    json_t *again;
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);

    (void)unused;
    assert_int_equal(tt_json_print(f, value, 2), 0);
    fclose(f);
    assert_non_null(strstr(text, "\n   \"a\": [-1,0.5],\n"));
    assert_non_null(strstr(text, "\n    [1,2,3],\n    []\n   ]"));
    again = json_loads(text, 0, NULL);
    assert_true(json_equal(value, again));
    json_decref(value);
    json_decref(again);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_of_any_type),
        cmocka_unit_test(members_of_members),
        cmocka_unit_test(values_are_whole_or_null),
        cmocka_unit_test(lists_of_numbers_are_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
