/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options of IOR and mdtest become settings; what cannot be done is refused with its reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "spec/dialects/ior.h"
#include "spec/dialects/mdtest.h"

static const struct tt_param job[] = {{"ranks", TT_PARAM_COUNT, .flag = "-n"}, {0}};

struct translation {
    struct tt_ior_tests tests; /* of mdtest there is one */
    struct tt_error error;
    int rc;
};

static int mdtest(const void *opts, const struct tt_settings *own, struct tt_ior_tests *tests,
                  struct tt_error *e)
{
    tests->list = calloc(1, sizeof *tests->list);
    tests->n = 1;
    return tt_mdtest_translate(opts, own, tests->list, e);
}

/* The first word of a line is the dialect. */
static struct translation translate(const char *line)
{
    struct translation t = {.error = TT_ERROR_CLEAR};
    bool is_ior = !strncmp(line, "ior", 3);
    const struct tt_options *options = is_ior ? &tt_ior_options : &tt_mdtest_options;
    char *copy = strdup(line), *rest = copy, *words[32] = {0};
    struct tt_settings own = {0};
    struct tt_arguments a = {.command = strsep(&rest, " "),
                             .options = options,
                             .opts = calloc(1, options->size),
                             .job = job,
                             .settings = &own};
    int n = 0;

    for (char *word; (word = strsep(&rest, " "));)
        words[n++] = word;
    t.rc = tt_params_default(options->params, a.opts, &t.error);
    if (t.rc == TT_OK)
        t.rc = tt_read_arguments(n, words, &a, &t.error);
    if (t.rc == TT_OK)
        t.rc = (is_ior ? tt_ior_translate(a.opts, &own, &t.tests, &t.error)
                       : mdtest(a.opts, &own, &t.tests, &t.error));
    tt_settings_free(&own);
    tt_params_free(options->params, a.opts);
    free(a.opts);
    free(copy);
    return t;
}

static void gives(const char *line, const char *key, const char *expected)
{
    struct translation t = translate(line);
    const struct tt_setting *s;

    if (t.rc != TT_OK)
        fail_msg("%s: %s", line, t.error.text);
    s = tt_settings_find(&t.tests.list[0], key);
    assert_string_equal(expected, s && s->value ? s->value : "(none)");
    tt_ior_free(&t.tests);
}

static void refuses(const char *line, const char *why)
{
    struct translation t = translate(line);

    assert_int_equal(TT_USAGE, t.rc);
    if (!strstr(t.error.text, why))
        fail_msg("%s: '%s' does not say '%s'", line, t.error.text, why);
    tt_ior_free(&t.tests);
}

static void options_of_ior(void **state)
{
    (void)state;
    gives("ior", "bulk.block", "1048576");
    gives("ior", "bulk.write", "yes");
    gives("ior -b 4k", "bulk.block", "4096");
    gives("ior -b4k", "bulk.block", "4096");
    gives("ior -b=4k", "bulk.block", "4096");
    gives("ior --blockSize=4k", "bulk.block", "4096");
    gives("ior -blocksize 4k", "bulk.block", "4096");
    gives("ior -O blockSize=4k,filePerProc=1", "bulk.files", "process");
    gives("ior -O filePerProc=1 -O filePerProc=0", "bulk.files", "shared");
    gives("ior -b 8k -b 4k", "bulk.block", "4096");
    gives("ior -rzz", "bulk.order", "repeated");
    gives("ior -rzz", "bulk.write", "no");
    gives("ior -ZZ", "bulk.reorder", "permutation");
    gives("ior -X -5", "bulk.reorder_anew", "yes");
    gives("ior -X -5", "bulk.reorder_seed", "5");
    gives("ior -a MPIIO -c", "mpiio.method", "collective");
    gives("ior -o /a/b,c@/d/e", "bulk.paths", "/a/b\\,c,/d/e");
    gives("ior -o /a/b@/d/e", "dir", "/a");
    gives("ior -n 3", "-n", "3");
    gives("ior --max-bytes 1g", "max-bytes", "1g");
    gives("ior -T 2 --max-time 5s", "max-time", "5s");
    refuses("ior -b", "option -b needs a value: -b SIZE");
    refuses("ior -b 1x", "-b: '1x'");
    refuses("ior -q", "-q: every error ends the run");
    refuses("ior -wq", "-q: every error ends the run");
    refuses("ior -h5", "-h is not an option that tutti ior knows");
    refuses("ior -O filePerProc=2", "-O: '2' is not");
    refuses("ior -O blokSize=1m", "did you mean 'blockSize'");
    refuses("ior -O blockSize", "blockSize needs a value");
    refuses("ior -X x", "-X: ");
    refuses("ior -vvvv", "-vvv is the most");
    refuses("ior file", "unexpected word 'file'");
    refuses("ior -a S3", "is not one of POSIX");
}

static void script_of_ior(void **state)
{
    char path[] = "/tmp/tutti-unit-XXXXXX", line[64];
    int fd = mkstemp(path);
    struct translation t;

    (void)state;
    assert_true(fd >= 0);
    assert_true(dprintf(fd, "IOR START\n blockSize = 8k # a comment\nRUN\nfilePerProc\nRUN\n"
                            "IOR STOP\ngarbage\n") > 0);
    snprintf(line, sizeof line, "ior -f %s --keep", path);
    t = translate(line);
    assert_int_equal(TT_OK, t.rc);
    assert_int_equal(2, t.tests.n);
    assert_string_equal("shared", tt_settings_find(&t.tests.list[0], "bulk.files")->value);
    assert_string_equal("process", tt_settings_find(&t.tests.list[1], "bulk.files")->value);
    assert_null(tt_settings_find(&t.tests.list[1], "keep")->value); /* as on the command line */
    tt_ior_free(&t.tests);
    close(fd);
    unlink(path);
}

static void options_of_mdtest(void **state)
{
    (void)state;
    gives("mdtest -n 20 -I 5", "metadata.items", "20");
    gives("mdtest -n20", "metadata.items", "20");
    gives("mdtest", "metadata.what", "both");
    gives("mdtest", "metadata.rename", "yes");
    gives("mdtest -F", "metadata.what", "files");
    gives("mdtest -FLu -b 3", "metadata.branch", "3");
    gives("mdtest -FLu", "metadata.leaves_only", "yes");
    gives("mdtest -C", "metadata.stat", "no");
    gives("mdtest -C", "keep", "yes");
    gives("mdtest -CTEr", "keep", "(none)");
    gives("mdtest -R7", "seed", "7");
    gives("mdtest -R7", "metadata.shuffle", "yes");
    gives("mdtest -RF", "metadata.what", "files");
    gives("mdtest -R", "seed", "(none)");
    gives("mdtest -d /x", "dir", "/x");
    gives("mdtest -d /x --dir /y", "dir", "/y");
    gives("mdtest -w 1k --ranks 2", "ranks", "2");
    refuses("mdtest -S", "-S: a file shared by all");
    refuses("mdtest -a S3", "-a: 'S3'");
    refuses("mdtest -n", "option -n needs a value: -n ITEMS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_of_ior),
        cmocka_unit_test(script_of_ior),
        cmocka_unit_test(options_of_mdtest),
    };

    return cmocka_run_group_tests_name("dialects", tests, NULL, NULL);
}
