/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Golden pairs: every directory of tests/invalid holds what a user may get wrong, as args (a word a
 * line), as input.yaml, or both, and the one line that explains it, in error. */
#include <dirent.h>
#include <libgen.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "plan/config.h"
#include "spec/read.h"

#define MAX_WORDS 32

static char *read_text(const char *path)
{
    static const size_t size = 4096;
    char *text = calloc(1, size);
    FILE *f = fopen(path, "r");

    assert_non_null(text);
    if (!f) {
        free(text);
        return NULL;
    }
    assert_true(fread(text, 1, size - 1, f) < size - 1);
    fclose(f);
    return text;
}

static int split_lines(char *text, char **words)
{
    int n = 0;

    for (char *line = strtok(text, "\n"); line && n < MAX_WORDS; line = strtok(NULL, "\n"))
        words[n++] = strcmp(line, "''") ? line : ""; /* '' is the empty word */
    return n;
}

/* In the directory of the case, so that places read "input.yaml:3:1". */
static int resolve(struct tt_error *e)
{
    char *args = read_text("args"), *words[MAX_WORDS], *named = NULL;
    struct tt_settings s = {0};
    const char *positional = NULL;
    struct tt_arguments a = {
        .job = tt_run_component.params, .settings = &s, .max_words = 1, .words = &positional};
    struct tt_config c = {0};
    int rc = TT_OK;

    if (!access("input.yaml", F_OK))
        rc = tt_read_yaml("input.yaml", &s, &named, e);
    if (rc == TT_OK && args)
        rc = tt_read_arguments(split_lines(args, words), words, &a, e);
    if (rc == TT_OK)
        rc = tt_config_make(&c, positional ? positional : (named ? named : "stencil"), &s, e);
    tt_config_free(&c);
    tt_settings_free(&s);
    free(named);
    free(args);
    return rc;
}

static int is_case(const struct dirent *d)
{
    return d->d_name[0] != '.';
}

static void every_mistake_has_its_line(void **state)
{
    char source[] = __FILE__, directory[PATH_MAX], line[1024];
    struct dirent **cases;
    int n, wrong = 0;

    (void)state;
    snprintf(directory, sizeof directory, "%s/../invalid", dirname(source));
    n = scandir(directory, &cases, is_case, alphasort);
    assert_true(n >= 25);
    assert_int_equal(chdir(directory), 0);
    for (int i = 0; i < n; i++) {
        struct tt_error e = TT_ERROR_CLEAR;
        char *expected;
        int rc;

        assert_int_equal(chdir(cases[i]->d_name), 0);
        expected = read_text("error");
        assert_non_null(expected);
        expected[strcspn(expected, "\n")] = '\0';
        rc = resolve(&e);
        tt_error_format(&e, line, sizeof line);
        if (rc == TT_OK || rc != e.code || strcmp(line, expected)) {
            print_error("%s\n  expected: %s\n  got (%d): %s\n", cases[i]->d_name, expected, rc,
                        line);
            wrong++;
        }
        assert_int_equal(chdir(".."), 0);
        free(expected);
        free(cases[i]);
    }
    free(cases);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_mistake_has_its_line)};

    return cmocka_run_group_tests_name("invalid", tests, NULL, NULL);
}
