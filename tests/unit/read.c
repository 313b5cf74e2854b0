/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is read from good files and words; tests/invalid has the bad ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "spec/read.h"

struct expected {
    const char *key, *value;
    int line, column; /* of the place; 0 for arguments, whose place is given below */
    const char *place;
};

static void compare(const struct tt_settings *s, const char *path, const struct expected *x)
{
    for (size_t i = 0; i < s->n; i++, x++) {
        char place[128];

        assert_non_null(x->key);
        assert_string_equal(s->list[i].key, x->key);
        if (x->value)
            assert_string_equal(s->list[i].value, x->value);
        else
            assert_null(s->list[i].value);
        snprintf(place, sizeof place, "%s:%d:%d", path, x->line, x->column);
        assert_string_equal(s->list[i].place, x->place ? x->place : place);
    }
    assert_null(x->key);
}

static void read_yaml(const char *text, const char *workload, const struct expected *x)
{
    char path[] = "/tmp/tutti-read-XXXXXX", *named = NULL;
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_settings s = {0};
    int fd = mkstemp(path), rc;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    rc = tt_read_yaml(path, &s, &named, &e);
    unlink(path);
    assert_string_equal(e.text, "");
    assert_int_equal(rc, TT_OK);
    if (workload)
        assert_string_equal(named, workload);
    else
        assert_null(named);
    compare(&s, path, x);
    tt_settings_free(&s);
    free(named);
}

static void nested_keys_are_dotted(void **state)
{
    (void)state;
    read_yaml("# a job\nworkload: stencil\nsize: 64\nlabel: 'a: b'\nempty:\n"
              "write:\n  every: 20\n  pattern: [10, 0, 1]\nlayers: []\n",
              "stencil",
              (const struct expected[]){{"size", "64", 3, 1},
                                        {"label", "a: b", 4, 1},
                                        {"empty", "", 5, 1},
                                        {"write.every", "20", 7, 3},
                                        {"write.pattern", "10,0,1", 8, 3},
                                        {"layers", "", 9, 1},
                                        {0}});
}

static void json_is_yaml(void **state)
{
    (void)state;
    read_yaml(
        "{\"write\": {\"every\": 2, \"path\": \"x\"}}\n", NULL,
        (const struct expected[]){{"write.every", "2", 1, 12}, {"write.path", "x", 1, 24}, {0}});
}

/* Merged keys come first: later settings win, so a key's own value heartbeats the merged one, and
 * the first of a list of mappings heartbeats the second. */
static void anchors_are_resolved(void **state)
{
    (void)state;
    read_yaml("a: &a\n  x: 1\nb: &b {x: 2}\nc: *a\nd:\n  x: 3\n  <<: [*a, *b]\n", NULL,
              (const struct expected[]){{"a.x", "1", 2, 3},
                                        {"b.x", "2", 3, 8},
                                        {"c.x", "1", 2, 3},
                                        {"d.x", "2", 3, 8},
                                        {"d.x", "1", 2, 3},
                                        {"d.x", "3", 6, 3},
                                        {0}});
}

static void a_missing_file_is_a_failed_call(void **state)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_settings s = {0};
    char *workload;

    (void)state;
    assert_int_equal(tt_read_yaml("/nonexistent/job.yaml", &s, &workload, &e), TT_FAILED);
    assert_string_equal(e.file, "/nonexistent/job.yaml");
    tt_error_clear(&e);
    assert_int_equal(tt_read_yaml("/", &s, &workload, &e), TT_FAILED);
    assert_string_equal(e.call, "read");
    tt_settings_free(&s);
}

/* Aliases of aliases describe 10^8 keys in ten lines. */
static void small_files_stay_small(void **state)
{
    char path[] = "/tmp/tutti-read-XXXXXX", *workload;
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_settings s = {0};
    int fd = mkstemp(path), rc;
    FILE *f;

    (void)state;
    assert_true(fd >= 0);
    f = fdopen(fd, "w");
    fprintf(f, "k0: &k0 {x: 1}\n");
    for (int i = 1; i < 10; i++) {
        fprintf(f, "k%d: &k%d {", i, i);
        for (int j = 0; j < 10; j++)
            fprintf(f, "%sa%d: *k%d", j ? ", " : "", j, i - 1);
        fprintf(f, "}\n");
    }
    fclose(f);
    rc = tt_read_yaml(path, &s, &workload, &e);
    unlink(path);
    assert_int_equal(rc, TT_USAGE);
    assert_non_null(strstr(e.text, "too many keys"));
    tt_settings_free(&s);
}

static void words_become_settings(void **state)
{
    static const struct tt_param own[] = {{"keep", TT_PARAM_BOOL, 0, "no", NULL, "a switch"},
                                          {"quiet", TT_PARAM_BOOL, 0, "no", NULL, "another"},
                                          {0}};
    char *words[] = {"--quiet",   "no",      "--keep",  "stencil", "-n",    "2",
                     "--size=64", "--json",  "-",       "--seed",  "-5",    "--a-b",
                     "--set",     "c.d=e=f", "--write", "every=2", "--last"};
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_settings s = {0};
    const char *positional = NULL;
    struct tt_arguments a = {.job = own, .settings = &s, .max_words = 1, .words = &positional};

    (void)state;
    assert_int_equal(tt_read_arguments(sizeof words / sizeof *words, words, &a, &e), TT_OK);
    assert_string_equal(positional, "stencil");
    compare(&s, "",
            (const struct expected[]){{"quiet", "no", .place = "--quiet"},
                                      {"keep", NULL, .place = "--keep"},
                                      {"-n", "2", .place = "-n"},
                                      {"size", "64", .place = "--size"},
                                      {"json", "-", .place = "--json"},
                                      {"seed", "-5", .place = "--seed"},
                                      {"a-b", NULL, .place = "--a-b"},
                                      {"c.d", "e=f", .place = "--set"},
                                      {"write", "every=2", .place = "--write"},
                                      {"last", NULL, .place = "--last"},
                                      {0}});
    tt_settings_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nested_keys_are_dotted), cmocka_unit_test(json_is_yaml),
        cmocka_unit_test(anchors_are_resolved),   cmocka_unit_test(a_missing_file_is_a_failed_call),
        cmocka_unit_test(small_files_stay_small), cmocka_unit_test(words_become_settings),
    };

    return cmocka_run_group_tests_name("read", tests, NULL, NULL);
}
