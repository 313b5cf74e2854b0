/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What settings make of an ensemble, who gets which CPUs, and the stages of a survey: everything
 * that is decided before a process is started. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ensemble/shares.h"
#include "survey/survey.h"

static struct tt_error e;

/* "KEY=VALUE;KEY=VALUE" */
static void read_settings(const char *text, struct tt_settings *s)
{
    char *copy = strdup(text), *rest = copy, *key;

    *s = (struct tt_settings){0};
    tt_error_clear(&e);
    while ((key = strsep(&rest, ";"))) {
        char *value = strchr(key, '=');

        *value++ = '\0';
        assert_int_equal(tt_settings_add(s, key, value, "test", &e), TT_OK);
    }
    free(copy);
}

static int make(const char *text, bool is_matrix, struct tt_ensemble *x)
{
    struct tt_settings s;
    int rc;

    read_settings(text, &s);
    rc = tt_ensemble_make(x, &s, is_matrix, &e);
    tt_settings_free(&s);
    return rc;
}

/* The names of what a step plays: "reference load load". */
static const char *jobs_of(const struct tt_ensemble *x, size_t step)
{
    static char text[256];
    size_t used = 0;

    for (uint64_t k = 0; k <= x->steps[step].others; k++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", k ? " " : "",
                                 tt_step_spec(x, &x->steps[step], k)->name);
    return text;
}

#define PLAIN "reference.workload=stencil;reference.size=64"

static void the_reference_alone_comes_first(void **unused)
{
    struct tt_ensemble x;

    (void)unused;
    assert_int_equal(make(PLAIN ";load.same=reference;others=2:1:2", false, &x), TT_OK);
    assert_int_equal(x.nsteps, 3); /* 0 is always there, 2 only once */
    assert_string_equal(jobs_of(&x, 0), "reference");
    assert_string_equal(jobs_of(&x, 1), "reference load load");
    assert_string_equal(jobs_of(&x, 2), "reference load");
    assert_int_equal(tt_ensemble_jobs(&x), 3);
    tt_ensemble_free(&x);
}

static void what_is_the_same_can_still_differ(void **unused)
{
    struct tt_ensemble x;
    const struct tt_job_spec *load;
    json_t *own, *other;

    (void)unused;
    assert_int_equal(
        make(PLAIN ";reference.cpus=2;load.same=reference;load.size=32;dir=/tmp", false, &x),
        TT_OK);
    load = tt_step_spec(&x, &x.steps[1], 1);
    own = tt_config_to_json(&x.specs[x.steps[0].reference].config);
    other = tt_config_to_json(&load->config);
    assert_string_equal(json_string_value(json_object_get(own, "stencil.size")), "64");
    assert_string_equal(json_string_value(json_object_get(other, "stencil.size")), "32");
    assert_string_equal(load->config.run->dir, "/tmp"); /* of the ensemble */
    assert_float_equal(load->o.cpus, 2, 0);
    json_decref(own);
    json_decref(other);
    tt_ensemble_free(&x);
}

static void loads_follow_their_weights(void **unused)
{
    struct tt_ensemble x;

    (void)unused;
    assert_int_equal(make(PLAIN ";load.0.workload=stencil;load.0.weight=2;load.1.command=sleep,1;"
                                "others=6",
                          false, &x),
                     TT_OK);
    assert_string_equal(jobs_of(&x, 1), "reference load.0 load.0 load.1 load.0 load.0 load.1");
    assert_string_equal(tt_step_spec(&x, &x.steps[1], 3)->workload, "command");
    tt_ensemble_free(&x);
}

static void a_matrix_has_everybody_with_everybody(void **unused)
{
    struct tt_ensemble x;

    (void)unused;
    assert_int_equal(make("set.a.workload=stencil;set.b.command=sleep,1;others=1", true, &x),
                     TT_OK);
    assert_int_equal(x.nsteps, 6);
    assert_string_equal(jobs_of(&x, 0), "a");
    assert_string_equal(jobs_of(&x, 1), "a a");
    assert_string_equal(jobs_of(&x, 2), "a b");
    assert_string_equal(jobs_of(&x, 3), "b");
    assert_string_equal(jobs_of(&x, 4), "b a");
    assert_string_equal(jobs_of(&x, 5), "b b");
    tt_ensemble_free(&x);
}

static void wrong_ensembles_are_explained(void **unused)
{
    static const struct {
        const char *settings, *message;
        bool is_matrix;
    } cases[] = {
        {"repeat=1", "an ensemble needs a reference", false},
        {"repeat=1", "a matrix needs a set of jobs", true},
        {"set.a.workload=stencil;limit=2", "limit and require are about one", true},
        {"reference.size=64", "reference: names neither a workload nor a command", false},
        {PLAIN ";reference.command=sleep,1", "give either a workload or a command", false},
        {PLAIN ";others=1", "no load says what they do; add 'load: {same: reference}'", false},
        {PLAIN ";load.same=none", "'none' is not another job with a workload", false},
        {PLAIN ";load.same=reference;load.workload=stencil", "give either same or a workload",
         false},
        {PLAIN ";referense.size=1", "did you mean 'reference'", false},
        {PLAIN ";repaet=1", "did you mean 'repeat'", false},
        {PLAIN ";load=stencil", "load needs keys", false},
        {PLAIN ";repeat=0", "test: ", false},
        {PLAIN ";reference.weight=0", "weight must be above 0", false},
        {PLAIN ";reference.szie=1", "reference: test: unknown key 'szie'", false},
        {PLAIN ";stop_when.ci=5g", "stop_when.ci is a share such as 5%", false},
        {PLAIN ";limit=0.5", "limit is a slowdown", false},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_ensemble x;

        assert_int_equal(make(cases[i].settings, cases[i].is_matrix, &x), TT_USAGE);
        if (!strstr(e.text, cases[i].message))
            fail_msg("%s: '%s' instead of '%s'", cases[i].settings, e.text, cases[i].message);
        tt_ensemble_free(&x);
    }
}

/* ---- shares ---- */

static void the_machine_is_divided_by_the_most_jobs(void **unused)
{
    struct tt_ensemble x;

    (void)unused;
    assert_int_equal(make(PLAIN ";load.same=reference;load.cpus=0.5;others=0:2", false, &x), TT_OK);
    assert_float_equal(tt_share_wanted(&x, tt_step_spec(&x, &x.steps[0], 0), 8), 2, 0);
    assert_float_equal(tt_share_wanted(&x, tt_step_spec(&x, &x.steps[0], 0), 2), 2.0 / 3, 1e-12);
    assert_float_equal(tt_share_wanted(&x, tt_step_spec(&x, &x.steps[1], 1), 8), 0.5, 0);
    tt_ensemble_free(&x);
    assert_int_equal(make(PLAIN ";cpus=3", false, &x), TT_USAGE); /* others are 0,1 */
    tt_ensemble_free(&x);
    assert_int_equal(make(PLAIN ";cpus=3;others=0", false, &x), TT_OK);
    assert_float_equal(tt_share_wanted(&x, x.specs, 8), 3, 0);
    tt_ensemble_free(&x);
}

static int first_cpu(void)
{
    cpu_set_t all;
    int cpu = 0;

    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    while (!CPU_ISSET(cpu, &all))
        cpu++;
    return cpu;
}

static int share_out(const char *chosen, struct tt_shares *shares)
{
    struct tt_ensemble x;
    char settings[256];
    int rc;

    snprintf(settings, sizeof settings,
             PLAIN ";reference.cpu_set=%s;load.workload=stencil;load.cpu_set=%d;others=1", chosen,
             first_cpu());
    assert_int_equal(make(settings, false, &x), TT_OK);
    rc = tt_shares_make(&x, &x.steps[1], "test", shares, &e);
    tt_ensemble_free(&x);
    return rc;
}

static void chosen_cpus_are_given_and_contended(void **unused)
{
    struct tt_shares shares;
    char chosen[16], text[32];

    (void)unused;
    snprintf(chosen, sizeof chosen, "%d", first_cpu());
    snprintf(text, sizeof text, "CPUs %d", first_cpu());
    assert_int_equal(share_out(chosen, &shares), TT_OK);
    assert_string_equal(shares.list[0].text, text);
    assert_true(shares.exceeded);
    assert_string_equal(shares.note, tt_cores() > 1 ? "jobs share CPUs of their cpu_set"
                                                    : "the shares of 2 jobs are 2 CPUs of 1");
    tt_shares_free(&shares);
    assert_int_equal(share_out("3-1", &shares), TT_USAGE);
    assert_string_equal(e.text, "reference: cpu_set: '3-1' is no CPU and no range such as 0-3");
    tt_shares_free(&shares);
    assert_int_equal(share_out("0-1023", &shares), TT_USAGE);
    assert_non_null(strstr(e.text, "may not use all of these CPUs"));
    tt_shares_free(&shares);
}

static void nobody_is_given_what_another_has_chosen(void **unused)
{
    struct tt_ensemble x;
    struct tt_shares shares;
    char settings[256];
    cpu_set_t both;

    (void)unused;
    if (tt_cores() < 2)
        skip();
    snprintf(settings, sizeof settings,
             PLAIN ";reference.cpu_set=%d;load.workload=stencil;load.cpus=1;others=1", first_cpu());
    assert_int_equal(make(settings, false, &x), TT_OK);
    assert_int_equal(tt_shares_make(&x, &x.steps[1], "test", &shares, &e), TT_OK);
    CPU_AND(&both, &shares.list[0].set, &shares.list[1].set);
    assert_int_equal(CPU_COUNT(&both), 0);
    assert_false(shares.exceeded);
    tt_shares_free(&shares);
    tt_ensemble_free(&x);
}

/* ---- surveys ---- */

static int survey(const char *text, struct tt_survey *s)
{
    struct tt_settings settings;
    int rc;

    read_settings(text, &settings);
    rc = tt_survey_make(s, &settings, &e);
    tt_settings_free(&settings);
    return rc;
}

static void aged_data_is_read_point_by_point(void **unused)
{
    static const char *const names[] = {"naive", "aged-write", "aged-flush", "aged-read"};
    const struct tt_survey_stage *written, *read;
    struct tt_survey s;

    (void)unused;
    assert_int_equal(survey("parts=bandwidth;processes=1:2;transfers=4k,64k;size=256k;repeat=3;"
                            "flushes=2;dir=/tmp",
                            &s),
                     TT_OK);
    assert_int_equal(s.nstages, 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(s.stages[i].name, names[i]);
    assert_int_equal(s.stages[0].n, 4);
    assert_int_equal(s.stages[0].repeat, 3);
    written = &s.stages[1];
    read = &s.stages[3];
    assert_int_equal(written->n, 12); /* a point a repetition: each needs data of its own */
    assert_true(written->keep && read->data == written && !read->write);
    for (size_t i = 0; i < read->n; i++) {
        assert_int_equal(read->points[i].source, i);
        assert_int_equal(read->points[i].processes, written->points[i].processes);
        assert_int_equal(read->points[i].transfer, written->points[i].transfer);
    }
    /* As much as the largest job writes, twice. */
    assert_int_equal(s.stages[2].repeat, 2);
    assert_int_equal(s.stages[2].points[0].processes, 2);
    assert_int_equal(tt_survey_stage_bytes(&s.stages[2]), 2 * 2 * (256 << 10));
    tt_survey_free(&s);
}

static void iops_are_read_in_small_transfers(void **unused)
{
    struct tt_survey s;

    (void)unused;
    assert_int_equal(survey("parts=iops,sizes;processes=2;size=4m;iops_transfer=4k;"
                            "buffered_only=yes;flushes=0;dir=/tmp",
                            &s),
                     TT_OK);
    assert_int_equal(s.nstages, 5);
    assert_string_equal(s.stages[1].name, "iops-data");
    assert_int_equal(s.stages[1].points[0].transfer, 1 << 20);
    assert_string_equal(s.stages[2].name, "iops-read");
    assert_true(s.stages[2].random && s.stages[2].data == &s.stages[1]);
    assert_int_equal(s.stages[2].points[0].transfer, 4096);
    assert_string_equal(s.stages[3].name, "sizes-data");
    assert_int_equal(s.stages[3].n, 3);
    assert_int_equal(s.stages[3].points[0].size, 256 << 10); /* a sixteenth, a quarter, all */
    assert_int_equal(s.stages[3].points[2].size, 4 << 20);
    tt_survey_free(&s);
}

static void wrong_surveys_are_explained(void **unused)
{
    static const char *const cases[][2] = {
        {"parts=bandwith", "'bandwith' is none of bandwidth, iops, sizes"},
        {"transfers=3k;size=4k", "are no multiple of a transfer of"},
        {"transfers=0", "transfers: 0 bytes"},
        {"transfers=x", "transfers: "},
        {"sizes=y", "sizes: "},
        {"procesess=1", "did you mean 'processes'"},
        {"repeat=0", "test: "},
        {"dir=", "dir may not be empty"},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_survey s;

        assert_int_equal(survey(cases[i][0], &s), TT_USAGE);
        if (!strstr(e.text, cases[i][1]))
            fail_msg("%s: '%s' instead of '%s'", cases[i][0], e.text, cases[i][1]);
        tt_survey_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reference_alone_comes_first),
        cmocka_unit_test(what_is_the_same_can_still_differ),
        cmocka_unit_test(loads_follow_their_weights),
        cmocka_unit_test(a_matrix_has_everybody_with_everybody),
        cmocka_unit_test(wrong_ensembles_are_explained),
        cmocka_unit_test(the_machine_is_divided_by_the_most_jobs),
        cmocka_unit_test(chosen_cpus_are_given_and_contended),
        cmocka_unit_test(nobody_is_given_what_another_has_chosen),
        cmocka_unit_test(aged_data_is_read_point_by_point),
        cmocka_unit_test(iops_are_read_in_small_transfers),
        cmocka_unit_test(wrong_surveys_are_explained),
    };

    return cmocka_run_group_tests_name("ensemble", tests, NULL, NULL);
}
