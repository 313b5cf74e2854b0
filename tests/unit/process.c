/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Child processes: how they end, why they cannot start, also under a parent that ignores SIGCHLD.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/launch.h"
#include "launch/process.h"

static char *const seven[] = {"sh", "-c", "exit 7", NULL};
static char *const sleeper[] = {"sleep", "1000", NULL};

static void wait_for(struct tt_process *p)
{
    while (!tt_process_poll(p))
        tt_signal_wait(0.1);
}

static void its_status_is_known(void **unused)
{
    const struct tt_process_spec spec = {.words = seven}, long_one = {.words = sleeper};
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_process p;

    (void)unused;
    tt_processes_begin();
    assert_int_equal(tt_process_start(&spec, &p, &e), TT_OK);
    wait_for(&p);
    assert_int_equal(p.status, 7);
    assert_int_equal(tt_process_start(&long_one, &p, &e), TT_OK);
    assert_false(tt_process_poll(&p));
    tt_process_terminate(&p);
    wait_for(&p);
    assert_int_equal(p.status, 128 + SIGTERM);
    tt_processes_end();
}

static void ignored_signals_hide_nothing(void **unused)
{
    struct sigaction now;

    signal(SIGCHLD, SIG_IGN);
    its_status_is_known(unused);
    sigaction(SIGCHLD, NULL, &now);
    assert_ptr_equal(now.sa_handler, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
}

static void fails(const struct tt_process_spec *spec, const char *part)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_process p;
    char text[512];

    tt_processes_begin();
    assert_int_not_equal(tt_process_start(spec, &p, &e), TT_OK);
    assert_int_equal(p.pid, 0);
    assert_true(tt_process_poll(&p));
    tt_processes_end();
    tt_error_format(&e, text, sizeof text);
    if (!strstr(text, part))
        fail_msg("'%s' does not say '%s'", text, part);
}

/* What was missing is named, not the program that was to be started. */
static void it_says_why_it_cannot_start(void **unused)
{
    static char *const nobody[] = {"no-such-program", NULL};
    const cpu_set_t none = {0};

    (void)unused;
    fails(&(struct tt_process_spec){.words = nobody}, "no program 'no-such-program'");
    fails(&(struct tt_process_spec){.words = nobody, .instead = "nor-such"}, "neither");
    fails(&(struct tt_process_spec){.words = seven, .cgroups = {"/nowhere", NULL}},
          "control group");
    fails(&(struct tt_process_spec){.words = seven, .directory = "/nowhere"}, "stdout");
    fails(&(struct tt_process_spec){.words = seven, .cpus = &none}, "affinity");
}

/* A group that only counts costs no run. It goes, so that nobody reads zeros from it. */
static void it_starts_without_being_counted(void **unused)
{
    char group[] = "/tmp/tutti-unit-XXXXXX"; /* where no cgroup.procs is */
    const struct tt_process_spec spec = {.words = seven, .cgroups = {NULL, mkdtemp(group)}};
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_process p;

    (void)unused;
    tt_processes_begin();
    assert_int_equal(tt_process_start(&spec, &p, &e), TT_OK);
    wait_for(&p);
    assert_int_equal(p.status, 7);
    tt_processes_end();
    assert_int_not_equal(access(group, F_OK), 0);
}

/* Only a program of a known name forks here, whatever it is called; a script may do anything. */
static void a_launcher_is_known(void **unused)
{
    static const struct {
        const char *name, *content;
        bool forks;
    } programs[] = {{"orterun", "\177ELF", true},       {"mpiexec.hydra", "\177ELF", true},
                    {"mpirun", "#!/bin/srun\n", false}, {"srun", "\177ELF", false},
                    {"mpiexec", "\177ELF", false},      {"orterun", "", false}};
    char directory[] = "/tmp/tutti-unit-XXXXXX", path[64], link[64];
    struct tt_words options;
    FILE *f;

    (void)unused;
    assert_non_null(mkdtemp(directory));
    snprintf(link, sizeof link, "%s/link", directory);
    assert_false(tt_launcher_forks(link, &options));
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        snprintf(path, sizeof path, "%s/%s", directory, programs[i].name);
        assert_non_null(f = fopen(path, "w"));
        fputs(programs[i].content, f);
        fclose(f);
        assert_int_equal(symlink(path, link), 0);
        if (tt_launcher_forks(link, &options) != programs[i].forks)
            fail_msg("%s is taken for what it is not", path);
        unlink(link);
        unlink(path);
    }
    rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_status_is_known),
        cmocka_unit_test(ignored_signals_hide_nothing),
        cmocka_unit_test(it_says_why_it_cannot_start),
        cmocka_unit_test(it_starts_without_being_counted),
        cmocka_unit_test(a_launcher_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
