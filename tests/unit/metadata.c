/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where items lie in their tree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "workloads/metadata/metadata.h"

static void trees_are_counted(void **state)
{
    struct tt_metadata_options o = {.branch = 3, .depth = 2, .items = 10};

    (void)state;
    assert_int_equal(tt_metadata_directories(&o), 13);
    assert_int_equal(tt_metadata_holders(&o), 13);
    assert_int_equal(tt_metadata_items(&o), 10);
    o.leaves_only = true;
    o.per_directory = 4;
    assert_int_equal(tt_metadata_holders(&o), 9);
    assert_int_equal(tt_metadata_items(&o), 36);
    o.branch = 1 << 20;
    o.depth = 4;
    assert_int_equal(tt_metadata_directories(&o), 0);
}

static void items_fill_one_directory_after_the_other(void **state)
{
    const struct tt_metadata_options o = {
        .branch = 2, .depth = 2, .per_directory = 3, .leaves_only = true};
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_metadata_names n;

    (void)state;
    assert_int_equal(tt_metadata_names_begin(&n, &o, "/t", 7, &e), TT_OK);
    assert_string_equal(tt_metadata_directory(&n, 0), "/t");
    assert_string_equal(tt_metadata_directory(&n, 6), "/t/2/6");
    assert_string_equal(tt_metadata_item(&n, 0, false, false), "/t/1/3/file.7.0");
    assert_string_equal(tt_metadata_item(&n, 2, false, false), "/t/1/3/file.7.2");
    assert_string_equal(tt_metadata_item(&n, 3, true, true), "/t/1/4/directory.7.3r");
    assert_string_equal(tt_metadata_item(&n, 11, true, false), "/t/2/6/directory.7.11");
}

static void every_rank_has_a_tree_if_asked(void **state)
{
    const struct tt_metadata_options o = {
        .branch = 1, .depth = 1, .items = 5, .own_directories = true};
    char root[5000];
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_metadata_names n;

    (void)state;
    assert_int_equal(tt_metadata_names_begin(&n, &o, "/t", 2, &e), TT_OK);
    assert_string_equal(tt_metadata_item(&n, 2, false, false), "/t/2/file.2.2");
    assert_string_equal(tt_metadata_item(&n, 3, false, false), "/t/2/1/file.2.3");
    memset(root, 'x', sizeof root - 1);
    root[sizeof root - 1] = '\0';
    assert_int_equal(tt_metadata_names_begin(&n, &o, root, 2, &e), TT_USAGE);
}

/* Every entry that names are made for, and nothing else. */
static void a_tree_knows_its_entries(void **state)
{
    const struct tt_metadata_options shapes[] = {
        {.branch = 2, .depth = 2, .items = 11, .what = TT_METADATA_BOTH, .rename = true},
        {.branch = 3, .depth = 1, .items = 7, .what = TT_METADATA_BOTH, .leaves_only = true},
        {.branch = 1, .depth = 1, .items = 5, .what = TT_METADATA_BOTH, .own_directories = true},
    };
    static const char *const foreign[] = {
        "thesis", "2024",         "00",         "file.0.0.",  "file.0.00",  "file.2.0", "file.0.99",
        "file.0", "directory..0", "1/file.0.9", ".items/x",   "file.0.0r",  "2/2",      "1/1/1/1",
        "0x1",    "-1",           "file.-1.0",  "file.0.0/x", "file.+0.+0", "",
    };

    (void)state;
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        const struct tt_metadata_options *o = &shapes[k];
        struct tt_error e = TT_ERROR_CLEAR;
        struct tt_metadata_names n;

        for (uint64_t rank = 0; rank < 2; rank++) {
            assert_int_equal(tt_metadata_names_begin(&n, o, "/t", rank, &e), TT_OK);
            for (uint64_t i = !o->own_directories; i < tt_metadata_directories(o); i++)
                assert_true(tt_metadata_makes(o, 2, tt_metadata_directory(&n, i) + 3, true));
            for (uint64_t i = 0; i < o->items; i++) {
                assert_true(
                    tt_metadata_makes(o, 2, tt_metadata_item(&n, i, false, false) + 3, false));
                assert_false(
                    tt_metadata_makes(o, 2, tt_metadata_item(&n, i, false, false) + 3, true));
                assert_true(
                    tt_metadata_makes(o, 2, tt_metadata_item(&n, i, true, o->rename) + 3, true));
            }
        }
        for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
            assert_false(tt_metadata_makes(o, 2, foreign[i], false));
        assert_true(tt_metadata_makes(o, 2, ".items", false));
        assert_false(tt_metadata_makes(o, 2, ".items", true));
        assert_false(tt_metadata_makes(o, 2, "2024", true));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_are_counted),
        cmocka_unit_test(items_fill_one_directory_after_the_other),
        cmocka_unit_test(every_rank_has_a_tree_if_asked),
        cmocka_unit_test(a_tree_knows_its_entries),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
