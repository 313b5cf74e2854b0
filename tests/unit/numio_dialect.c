/* SPDX-License-Identifier: GPL-3.0-or-later */
/* numio's options become settings; what numio refuses is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "spec/dialects/numio.h"

struct translation {
    struct tt_settings settings;
    struct tt_error error;
    char *words[32];
    char text[512];
    int rc;
};

/* The words of a line, separated by blanks. */
static void translate(struct translation *t, const char *line)
{
    static const struct tt_param job[] = {
        {"keep", TT_PARAM_BOOL}, {"ranks", TT_PARAM_COUNT, .flag = "-n"}, {0}};
    struct tt_settings own = {0};
    struct tt_arguments a = {.command = "numio",
                             .options = &tt_numio_options,
                             .opts = calloc(1, tt_numio_options.size),
                             .job = job,
                             .settings = &own};
    char *rest = t->text;
    int n = 0;

    *t = (struct translation){.error = TT_ERROR_CLEAR};
    rest = strncpy(t->text, line, sizeof t->text - 1);
    for (char *word; (word = strsep(&rest, " "));)
        t->words[n++] = word;
    t->rc = tt_read_arguments(n, t->words, &a, &t->error);
    if (t->rc == TT_OK)
        t->rc = tt_numio_translate(a.opts, &own, &t->settings, &t->error);
    tt_settings_free(&own);
    tt_params_free(tt_numio_options.params, a.opts);
    free(a.opts);
}

/* The last one wins. */
static const char *value(const struct translation *t, const char *key)
{
    for (size_t i = t->settings.n; i-- > 0;)
        if (!strcmp(t->settings.list[i].key, key))
            return t->settings.list[i].value;
    return "(none)";
}

static void gives(const char *line, const char *key, const char *expected)
{
    struct translation t;

    translate(&t, line);
    if (t.rc != TT_OK)
        fail_msg("%s: %s", line, t.error.text);
    assert_string_equal(expected, value(&t, key));
    tt_settings_free(&t.settings);
}

static void refuses(const char *line, const char *why)
{
    struct translation t;

    translate(&t, line);
    assert_int_equal(TT_USAGE, t.rc);
    if (!strstr(t.error.text, why))
        fail_msg("%s: '%s' does not say '%s'", line, t.error.text, why);
    tt_settings_free(&t.settings);
}

static void test_model(void **state)
{
    (void)state;
    gives("-m iter=50,size=20,pert=1", "stencil.iterations", "50");
    gives("-m iter=50,size=20,pert=1", "stencil.size", "20");
    gives("-m iter=50,size=20,pert=1", "stencil.perturbation", "none");
    gives("-miter=200000,size=9,pert=2", "stencil.perturbation", "sine");
    gives("-m iter=1,size=9", "stencil.variable", "data");
    gives("-m iter=1,size=9", "keep", "yes");
    gives("-m iter=1,size=9", "baseline", "0");
    gives("-m iter=1,size=9 -t 4", "stencil.threads", "4");
    refuses("-t 2", "-m");
    refuses("-m", "needs a value");
    refuses("-m size=9,pert=1", "iter");
    refuses("-m iter=5,pert=1", "size");
    refuses("-m iter=0,size=9,pert=1", "iter must be 1 to 200000");
    refuses("-m iter=200001,size=9,pert=1", "iter");
    refuses("-m iter=5,size=8,pert=1", "size must be 9");
    refuses("-m iter=5,size=9,pert=3", "pert");
    refuses("-m iter=1x,size=9,pert=1", "1x");
    refuses("-m itr=5,size=9,pert=1", "did you mean 'iter='");
    refuses("-m iter=1,size=9 -t 0", "threads");
}

static void test_write(void **state)
{
    (void)state;
    gives("-m iter=9,size=9 -w 3,out", "write.every", "3");
    gives("-m iter=9,size=9 -w freq=3,path=out", "write.path", "out");
    gives("-m iter=9,size=9 -w 3,out,pattern=10:0:1", "write.pattern", "10:0:1");
    gives("-m iter=9,size=9 -w 3,out", "sync", "deferred");
    gives("-m iter=9,size=9 -w 3,out,imm", "sync", "dump");
    gives("-m iter=9,size=9 -w 3,out,nofilesync", "sync", "never");
    gives("-m iter=9,size=9 -w 3,out", "write.completion", "early");
    gives("-m iter=9,size=9 -w 3,out -l", "write.files", "process");
    gives("-m iter=9,size=9 -w 3,out --mode async", "sync", "(none)");
    refuses("-m iter=9,size=9 -w 3", "path");
    refuses("-m iter=9,size=9 -w 3,", "path");
    refuses("-m iter=9,size=9 -w x,out", "freq");
    refuses("-m iter=9,size=9 -w -3,out", "freq");
    refuses("-m iter=9,size=9 -w 3,out,imm,nofilesync", "imm");
    refuses("-m iter=9,size=9 -w 3,out,im", "did you mean 'imm'");
    refuses("-m iter=9,size=9 -w 3,out,imm --mode=async", "--mode");
}

static void test_read_and_collective(void **state)
{
    (void)state;
    gives("-m iter=9,size=9 -r 4", "read.every", "4");
    gives("-m iter=9,size=9 -r 4", "read.restart", "yes");
    gives("-m iter=9,size=9 -r 4", "read.path", "(none)");
    gives("-m iter=9,size=9 -r 4,old/m", "read.path", "old/m");
    gives("-m iter=9,size=9 -c 5,265", "collective.every", "5");
    gives("-m iter=9,size=9 -c 5,265", "collective.size", "265000");
    gives("-m iter=9,size=9 -c 5,265", "collective.kind", "allgather");
    refuses("-m iter=9,size=9 -r 4,", "path");
    refuses("-m iter=9,size=9 -c 5", "size");
    refuses("-m iter=9,size=9 -c 5,0", "size");
}

static void test_rest(void **state)
{
    struct translation t;

    (void)state;
    translate(&t, "--backend hdf5 -m iter=9,size=9 --keep -l --dir=/x -n 2");
    assert_int_equal(TT_OK, t.rc);
    assert_true(t.settings.n > 4);
    for (size_t i = 0; i < 4; i++) { /* after numio's own, in their order */
        static const char *const expected[][2] = {
            {"backend", "hdf5"}, {"keep", NULL}, {"dir", "/x"}, {"-n", "2"}};
        const struct tt_setting *s = &t.settings.list[t.settings.n - 4 + i];

        assert_string_equal(expected[i][0], s->key);
        if (expected[i][1])
            assert_string_equal(expected[i][1], s->value);
        else
            assert_null(s->value);
    }
    tt_settings_free(&t.settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_read_and_collective),
        cmocka_unit_test(test_rest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
