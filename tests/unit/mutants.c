/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inputs of users, damaged hundreds of times each: a reader takes them, or refuses them with one
 * line. The sanitizers see the rest. MUTANTS=N tries more, MUTANTS_FROM=SEED others. */
#include <glob.h>
#include <libgen.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>
#include <cmocka.h>

#include "ensemble/ensemble.h"
#include "plan/config.h"
#include "spec/dialects/h5bench.h"
#include "spec/dialects/ior.h"
#include "spec/read.h"

#define MUTATE_INCLUDED
#include "../faults/mutate.c"

#define FILE_NAME "mutant"

static unsigned long from = 1, many = 500;
static char here[PATH_MAX];

static int read_yaml(struct tt_error *e)
{
    struct tt_settings s = {0};
    struct tt_config c = {0};
    char *workload = NULL;
    int rc = tt_read_yaml(FILE_NAME, &s, &workload, e);

    if (rc == TT_OK && workload) {
        rc = tt_config_make(&c, workload, &s, e);
        tt_config_free(&c);
    }
    free(workload);
    tt_settings_free(&s);
    return rc;
}

static int read_ensemble(struct tt_error *e)
{
    struct tt_settings s = {0};
    struct tt_ensemble x = {0};
    char *workload = NULL;
    int rc = tt_read_yaml(FILE_NAME, &s, &workload, e);

    if (rc == TT_OK) {
        rc = tt_ensemble_make(&x, &s, false, e);
        tt_ensemble_free(&x);
    }
    free(workload);
    tt_settings_free(&s);
    return rc;
}

static int read_h5bench(struct tt_error *e)
{
    struct tt_h5bench_workflow w = {0};
    int rc = tt_h5bench_read(FILE_NAME, NULL, true, NULL, &w, e);

    tt_h5bench_free(&w);
    return rc;
}

static int read_ior(struct tt_error *e)
{
    struct tt_ior_tests tests = {0};
    const struct tt_settings own = {0};
    char *argv[] = {"-f", FILE_NAME};
    struct tt_arguments a = {
        .command = "ior", .options = &tt_ior_options, .opts = calloc(1, tt_ior_options.size)};
    int rc = tt_params_default(tt_ior_options.params, a.opts, e);

    if (rc == TT_OK)
        rc = tt_read_arguments(2, argv, &a, e);
    if (rc == TT_OK)
        rc = tt_ior_translate(a.opts, &own, &tests, e);
    tt_ior_free(&tests);
    tt_params_free(tt_ior_options.params, a.opts);
    free(a.opts);
    return rc;
}

typedef int reader(struct tt_error *e);

static void try_all(const char *name, reader *read)
{
    unsigned long taken = 0, refused = 0;
    glob_t files = {0};
    char pattern[2 * PATH_MAX], line[1024];

    snprintf(pattern, sizeof pattern, "%s/../../examples/%s", here, name);
    assert_int_equal(glob(strchr(name, '.') ? pattern : name, 0, NULL, &files), 0);
    for (unsigned long i = 0; i < many; i++) {
        struct tt_error e = TT_ERROR_CLEAR;

        assert_int_equal(read_text(files.gl_pathv[i % files.gl_pathc]), 0);
        mutate(from + i, 0, NULL);
        assert_int_equal(write_text(FILE_NAME), 0);
        if (read(&e) == TT_OK) {
            taken++;
            continue;
        }
        refused++;
        tt_error_format(&e, line, sizeof line);
        if (e.code == TT_OK || !line[0] || strchr(line, '\n'))
            fail_msg("mutant %lu of %s: '%s' is not one line", from + i,
                     files.gl_pathv[i % files.gl_pathc], line);
    }
    print_message("%lu mutants of %s: %lu taken, %lu refused\n", many, name, taken, refused);
    globfree(&files);
}

static void yaml(void **state_)
{
    (void)state_;
    try_all("*.yaml", read_yaml);
}

static void ensembles(void **state_)
{
    (void)state_;
    try_all("[amew]*.yaml", read_ensemble);
}

static void h5bench(void **state_)
{
    (void)state_;
    try_all("h5bench.json", read_h5bench);
}

static void ior(void **state_)
{
    static const char script[] =
        "IOR START\n\tapi=POSIX\n\ttestFile=data\n\trepetitions=3\n\treadFile=1\n\twriteFile=1\n"
        "\tfilePerProc=0\n\tblockSize=1048576\n\ttransferSize=256k\n\tsegmentCount=2\nRUN\n"
        "\tblocksize=2m\nRUN\nIOR STOP\n";

    (void)state_;
    memcpy(text, script, length = sizeof script - 1);
    assert_int_equal(write_text("script"), 0);
    try_all("script", read_ior);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(yaml), cmocka_unit_test(ensembles),
                                       cmocka_unit_test(h5bench), cmocka_unit_test(ior)};
    char place[] = "/tmp/tutti-mutants.XXXXXX", file[] = __FILE__;
    int failed;

    if (getenv("MUTANTS"))
        many = strtoul(getenv("MUTANTS"), NULL, 10);
    if (getenv("MUTANTS_FROM"))
        from = strtoul(getenv("MUTANTS_FROM"), NULL, 10);
    if (!realpath(dirname(file), here) || !mkdtemp(place) || chdir(place))
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(FILE_NAME);
    unlink("script");
    return chdir("/") || rmdir(place) || failed;
}
