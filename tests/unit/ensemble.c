/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What settings make of an ensemble, who gets which CPUs, and the stages of a survey: everything
 * that is decided before a process is started. */
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "ensemble/settle.h"
#include "ensemble/shares.h"
#include "ensemble/topology.h"
#include "ensemble/trial.h"
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
    /* Alone twice in every round, as long as something is compared with it. */
    assert_int_equal(x.npoints, 4);
    assert_string_equal(jobs_of(&x, 3), "reference");
    assert_true(x.steps[3].again);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(x.steps[i].base, 0);
    assert_string_equal(jobs_of(&x, 0), "reference");
    assert_string_equal(jobs_of(&x, 1), "reference load load");
    assert_string_equal(jobs_of(&x, 2), "reference load");
    assert_int_equal(tt_ensemble_jobs(&x), 3);
    tt_ensemble_free(&x);
}

static void jobs_have_no_baselines_unless_asked_for(void **unused)
{
    struct tt_ensemble x;

    (void)unused;
    assert_int_equal(make(PLAIN ";load.same=reference;load.baseline=3", false, &x), TT_OK);
    assert_int_equal(tt_step_spec(&x, &x.steps[1], 0)->config.run->baseline, 0);
    assert_int_equal(tt_step_spec(&x, &x.steps[1], 1)->config.run->baseline, 3);
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

static void each_kind_of_load_is_run_alone(void **unused)
{
    struct tt_ensemble x;
    json_t *plan;

    (void)unused;
    assert_int_equal(
        make(PLAIN
             ";load.0.workload=stencil;load.1.command=sleep,1;load.2.same="
             "reference;load.3.command=sleep,1;load.4.workload=stencil;load.4.size=32;others=4",
             false, &x),
        TT_OK);
    /* load.2 does what the reference does, load.3 what load.1 does, and nobody is load.4. */
    assert_int_equal(x.nsteps, 2);
    assert_int_equal(x.npoints, 5);
    assert_string_equal(jobs_of(&x, 3), "load.0");
    assert_string_equal(jobs_of(&x, 4), "load.1");
    assert_true(x.steps[4].is_load && x.steps[4].base == 0 && !x.steps[2].is_load);
    plan = tt_ensemble_to_json(&x);
    for (size_t i = 0; i < x.nspecs; i++) {
        static const char *const expected[] = {"reference", "load.0", "load.1",
                                               "reference", "load.1", NULL};
        const char *alone = json_string_value(
            json_object_get(json_array_get(json_object_get(plan, "jobs"), i), "alone"));

        if (expected[i])
            assert_string_equal(alone, expected[i]);
        else
            assert_null(alone);
    }
    json_decref(plan);
    tt_ensemble_free(&x);
    assert_int_equal(make(PLAIN ";load.workload=stencil;loads_alone=no", false, &x), TT_OK);
    assert_int_equal(x.npoints, 3);
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
    assert_int_equal(x.steps[2].base, 0);
    assert_int_equal(x.steps[4].base, 3);
    assert_int_equal(x.npoints, 8);
    assert_int_equal(x.steps[7].base, 3);
    tt_ensemble_free(&x);
    assert_int_equal(make("set.a.workload=stencil;others=1;alone=1", true, &x), TT_OK);
    assert_int_equal(x.npoints, 2);
    tt_ensemble_free(&x);
    assert_int_equal(make(PLAIN ";others=0", false, &x), TT_OK);
    assert_int_equal(x.npoints, 1);
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
        {PLAIN ";alone=3", "alone", false},
        {PLAIN ";reference.weight=0", "weight must be above 0", false},
        {PLAIN ";reference.szie=1", "reference: test: unknown key 'szie'", false},
        {PLAIN ";stop_when.ci=5g", "stop_when.ci is a share such as 5%", false},
        {PLAIN ";stop_when.metric=write_rat", "did you mean 'write_rate'", false},
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

/* ---- clocks ---- */

static void clocks_of_jobs_differ_by_what_control_files_tell(void **unused)
{
    const int64_t s = 1000000000, t = 1700000000 * s;
    struct tt_clock_difference d;

    (void)unused;
    /* 20 s ahead; each word is seen 10 and 30 ms after it was written. */
    d = tt_clock_between(t + 20 * s, t + s / 100, t + s, t + 21 * s + 3 * s / 100);
    assert_true(d.known && d.offset_ns == 20 * s + s / 100 && d.uncertainty_ns == s / 50);
    d = tt_clock_between(t - 20 * s, t + s / 100, t + s, t - 19 * s + 3 * s / 100);
    assert_true(d.known && d.offset_ns == -20 * s + s / 100 && d.uncertainty_ns == s / 50);
    /* As far as can be told, they are the same. */
    d = tt_clock_between(t, t + s / 100, t + s, t + s + 3 * s / 100);
    assert_true(d.known && d.offset_ns == 0 && d.uncertainty_ns == s / 50);
    /* Not told, or not true. */
    assert_false(tt_clock_between(0, t, t, t).known);
    assert_false(tt_clock_between(t, t, t, 0).known);
    assert_false(tt_clock_between(t + s, t, t, t).known);
    assert_false(tt_clock_between(-1, t, t, INT64_MAX).known);
}

/* ---- at rest ---- */

static void put(const char *root, const char *name, const char *text)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof path, "%s/proc/%s", root, name);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void looks_at_memory_and_devices(void **unused)
{
    char root[] = "/tmp/tutti-settle-XXXXXX", path[64];
    const dev_t both[] = {makedev(8, 1), makedev(259, 0)};
    struct tt_rest r;

    (void)unused;
    assert_non_null(mkdtemp(root));
    snprintf(path, sizeof path, "%s/proc", root);
    assert_int_equal(mkdir(path, 0700), 0);
    tt_rest_look(root, both, 2, &r); /* the kernel says nothing */
    assert_true(r.dirty == 0 && r.writeback == 0 && r.in_flight == 0 && r.done == 0);
    put(root, "meminfo",
        "MemTotal: 1000 kB\nDirty:             40980 kB\nWriteback:          12 kB\n"
        "WritebackTmp:   7 kB\n");
    put(root, "diskstats",
        "   8       0 sda 900 1 2 3 900 5 6 7 9 8 9\n"
        "   8       1 sda1 100 1 2 3 200 5 6 7 3 8 9 10 11 12 13 14 15\n"
        " 259       0 nvme0n1 1000 1 2 3 2000 5 6 7 4 8 9\ngarbage\n");
    tt_rest_look(root, both, 2, &r);
    assert_true(r.dirty == 40980 * 1024.0 && r.writeback == 12 * 1024.0);
    assert_int_equal(r.done, 3300);
    assert_int_equal(r.in_flight, 7);
    tt_rest_look(root, both, 1, &r);
    assert_int_equal(r.in_flight, 3);
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/proc/%s", root, i ? "meminfo" : "diskstats");
        remove(path);
    }
    snprintf(path, sizeof path, "%s/proc", root);
    assert_int_equal(rmdir(path) + rmdir(root), 0);
}

static void rest_is_when_nothing_moves(void **unused)
{
    static const struct {
        struct tt_rest before, now;
        const char *why; /* NULL: at rest */
    } cases[] = {
        {{.dirty = 1e6}, {.dirty = 1e5}, NULL},
        {{.dirty = 9e8}, {.dirty = 9e8}, NULL}, /* of others: nobody writes it now */
        {{.dirty = 9e8}, {.dirty = 8e8}, "memory were still to be written"},
        {{0}, {.writeback = 5e6}, "memory were being written"},
        {{.in_flight = 3}, {.in_flight = 0}, NULL},
        {{0}, {.in_flight = 2}, "2 requests in flight"},
        {{.done = 100}, {.done = 103}, NULL},
        {{.done = 100}, {.done = 200}, "400 requests a second"},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char why[160];

        assert_int_equal(tt_rest_is(&cases[i].before, &cases[i].now, why, sizeof why),
                         !cases[i].why);
        if (cases[i].why && !strstr(why, cases[i].why))
            fail_msg("'%s' instead of '%s'", why, cases[i].why);
    }
}

/* ---- what the kernel says of a group ---- */

static void put_in(const char *group, const char *name, const char *text)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", group, name);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void waits_are_those_of_the_groups(void **unused)
{
    static const char *const names[] = {"cpu.stat", "cpu.pressure", "io.pressure"};
    struct tt_share share = {.cgroup = "/tmp/tutti-group-XXXXXX"};
    struct tt_waits w;
    char path[640];

    (void)unused;
    assert_non_null(mkdtemp(share.cgroup));
    put_in(share.cgroup, "cpu.stat", "nr_periods 10\nnr_throttled 4\nthrottled_time 2500000000\n");
    put_in(share.cgroup, "cpu.pressure",
           "some avg10=1.00 avg60=2.00 avg300=3.00 total=1500000\n"
           "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n");
    put_in(share.cgroup, "io.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=100\n");
    tt_waits_read(&share, &w);
    assert_float_equal(w.seconds[TT_WAIT_quota], 2.5, 1e-9);
    assert_float_equal(w.seconds[TT_WAIT_cpu], 1.5, 1e-9);
    /* Time is added up over the CPUs that were held back at once: of two, it waited half as long.
     */
    CPU_SET(0, &share.set);
    CPU_SET(1, &share.set);
    tt_waits_read(&share, &w);
    assert_float_equal(w.seconds[TT_WAIT_quota], 1.25, 1e-9);
    assert_float_equal(w.seconds[TT_WAIT_cpu], 1.5, 1e-9);
    assert_true(isnan(w.seconds[TT_WAIT_memory])); /* not observed */
    put_in(share.cgroup, "cpu.stat", "usage_usec 1\nthrottled_usec 4000000\n");
    put_in(share.cgroup, "io.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=500100\n");
    tt_waits_since(&share, &w);
    assert_float_equal(w.seconds[TT_WAIT_quota], 0.75, 1e-9);
    assert_float_equal(w.seconds[TT_WAIT_cpu], 0, 1e-9);
    assert_float_equal(w.seconds[TT_WAIT_io], 0.5, 1e-9);
    assert_true(w.at_ns > 0);
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", share.cgroup, names[i]);
        assert_int_equal(remove(path), 0);
    }
    assert_int_equal(rmdir(share.cgroup), 0);
    tt_waits_read(&(struct tt_share){0}, &w); /* a job without groups */
    for (int i = 0; i < TT_NWAITS; i++)
        assert_true(isnan(w.seconds[i]));
}

/* ---- shares ---- */

static void the_machine_is_divided_by_the_most_jobs(void **unused)
{
    struct tt_ensemble x;

    (void)unused;
    assert_int_equal(make(PLAIN ";load.same=reference;load.cpus=0.5;others=0:2", false, &x), TT_OK);
    assert_float_equal(tt_share_wanted(&x, tt_step_spec(&x, &x.steps[0], 0), 8, 8), 2, 0);
    assert_float_equal(tt_share_wanted(&x, tt_step_spec(&x, &x.steps[0], 0), 2, 2), 2.0 / 3, 1e-12);
    assert_float_equal(tt_share_wanted(&x, tt_step_spec(&x, &x.steps[1], 1), 8, 8), 0.5, 0);
    /* 16 cores of two: five whole ones for each of three, not ten CPUs and a bit. */
    assert_float_equal(tt_share_wanted(&x, tt_step_spec(&x, &x.steps[0], 0), 32, 16), 10, 0);
    assert_float_equal(tt_share_wanted(&x, tt_step_spec(&x, &x.steps[0], 0), 8, 4), 2, 0);
    assert_float_equal(tt_share_wanted(&x, tt_step_spec(&x, &x.steps[0], 0), 4, 2), 1, 0);
    tt_ensemble_free(&x);
    assert_int_equal(make(PLAIN ";cpus=3", false, &x), TT_USAGE); /* others are 0,1 */
    tt_ensemble_free(&x);
    assert_int_equal(make(PLAIN ";cpus=3;others=0", false, &x), TT_OK);
    assert_float_equal(tt_share_wanted(&x, x.specs, 8, 4), 3, 0);
    tt_ensemble_free(&x);
}

/* Takes so many CPUs for each job of a machine; text has the sets, as "0-1 2-3". */
static enum tt_placing give_out(const char *machine, const int *wanted, size_t n,
                                const char *chosen, char text[256])
{
    struct tt_topology *t;
    enum tt_placing placing;
    cpu_set_t all, taken;
    size_t used = 0;

    CPU_ZERO(&all);
    CPU_ZERO(&taken);
    for (int i = 0; i < CPU_SETSIZE; i++)
        CPU_SET(i, &all);
    for (int i = 0; chosen && chosen[i]; i++)
        if (chosen[i] == 'x')
            CPU_SET(i, &taken);
    assert_int_equal(tt_topology_load(machine, &all, &t, &e), TT_OK);
    placing = tt_topology_placing(t, wanted, n);
    for (size_t i = 0; i < n; i++) {
        bool shared = false;
        cpu_set_t set;

        if (!tt_topology_take(t, placing, wanted[i], &taken, &set, &shared)) {
            used += (size_t)snprintf(text + used, 256 - used, "%snone", i ? " " : "");
            continue;
        }
        assert_int_equal(CPU_COUNT(&set), wanted[i]);
        used += (size_t)snprintf(text + used, 256 - used, "%s%s", i ? " " : "", shared ? "!" : "");
        for (int k = 0, first = 1; k < CPU_SETSIZE; k++)
            if (CPU_ISSET(k, &set)) {
                used += (size_t)snprintf(text + used, 256 - used, "%s%d", first ? "" : ",", k);
                first = 0;
            }
    }
    tt_topology_free(t);
    return placing;
}

/* Two packages with a NUMA node, eight cores and two CPUs a core each, which real machines number
 * as 0 and 16. */
#define TWO_PACKAGES "pack:2 numa:1 l3:1 core:8 pu:2(indexes=2*16:16*1)"

static void no_two_jobs_are_on_one_core(void **unused)
{
    static const struct {
        const char *machine;
        enum tt_placing placing;
        size_t n;
        int wanted[6];
        const char *chosen, *given;
    } cases[] = {
        /* A core for every CPU, and a cache for every job. */
        {TWO_PACKAGES, TT_CORE_EACH, 3, {4, 6, 4}, NULL, "0,1,2,3 8,9,10,11,12,13 4,5,6,7"},
        /* Too few cores for that: whole cores, with both CPUs. */
        {TWO_PACKAGES,
         TT_WHOLE_CORES,
         3,
         {8, 10, 8},
         NULL,
         "0,1,2,3,16,17,18,19 8,9,10,11,12,24,25,26,27,28 4,5,6,7,20,21,22,23"},
        /* An odd one leaves half a core to nobody. */
        {"core:3 pu:2", TT_WHOLE_CORES, 2, {3, 1}, NULL, "0,1,2 4"},
        {"core:2 pu:2", TT_CORE_EACH, 2, {1, 1}, NULL, "0 2"},
        /* No other way: free cores first. */
        {"core:2 pu:2", TT_SHARED_CORES, 3, {1, 1, 1}, NULL, "0 2 !1"},
        {"core:2 pu:2", TT_SHARED_CORES, 3, {2, 2, 1}, NULL, "0,1 2,3 none"},
        /* The fullest package that has room, and the whole machine for what fits none. */
        {"pack:2 numa:1 core:4 pu:1", TT_CORE_EACH, 3, {3, 4, 1}, NULL, "0,1,2 4,5,6,7 3"},
        {"pack:2 numa:1 core:4 pu:1", TT_CORE_EACH, 2, {6, 2}, NULL, "0,1,2,3,4,5 6,7"},
        /* One cache rather than one NUMA node. */
        {"numa:1 l3:2 core:2 pu:1", TT_CORE_EACH, 3, {1, 2, 1}, NULL, "0 2,3 1"},
        /* A user has chosen a CPU of the first core for a job. */
        {"core:3 pu:2", TT_CORE_EACH, 2, {1, 1}, "x", "2 4"},
        {"core:2 pu:2", TT_CORE_EACH, 2, {1, 1}, "x", "2 !1"},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256] = "";

        assert_int_equal(
            give_out(cases[i].machine, cases[i].wanted, cases[i].n, cases[i].chosen, text),
            cases[i].placing);
        if (strcmp(text, cases[i].given) != 0)
            fail_msg("%s: '%s' instead of '%s'", cases[i].machine, text, cases[i].given);
    }
}

static void places_are_told(void **unused)
{
    struct tt_topology *t;
    cpu_set_t all, set;
    char text[64];

    (void)unused;
    CPU_ZERO(&all);
    CPU_ZERO(&set);
    for (int i = 0; i < 12; i++) /* of a process that may use cores 0 to 11, one CPU of each */
        CPU_SET(i, &all);
    assert_int_equal(tt_topology_load(TWO_PACKAGES, &all, &t, &e), TT_OK);
    assert_int_equal(tt_topology_cores(t), 12);
    CPU_SET(1, &set);
    tt_topology_describe(t, &set, text, sizeof text);
    assert_string_equal(text, "1 core of NUMA node 0");
    tt_topology_describe(t, &all, text, sizeof text);
    assert_string_equal(text, "12 cores of NUMA nodes 0, 1");
    tt_topology_free(t);
    assert_int_equal(tt_topology_load("nonsense", &all, &t, &e), TT_FAILED);
    tt_topology_free(t);
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
        cmocka_unit_test(jobs_have_no_baselines_unless_asked_for),
        cmocka_unit_test(what_is_the_same_can_still_differ),
        cmocka_unit_test(loads_follow_their_weights),
        cmocka_unit_test(each_kind_of_load_is_run_alone),
        cmocka_unit_test(a_matrix_has_everybody_with_everybody),
        cmocka_unit_test(wrong_ensembles_are_explained),
        cmocka_unit_test(clocks_of_jobs_differ_by_what_control_files_tell),
        cmocka_unit_test(looks_at_memory_and_devices),
        cmocka_unit_test(rest_is_when_nothing_moves),
        cmocka_unit_test(waits_are_those_of_the_groups),
        cmocka_unit_test(the_machine_is_divided_by_the_most_jobs),
        cmocka_unit_test(no_two_jobs_are_on_one_core),
        cmocka_unit_test(places_are_told),
        cmocka_unit_test(chosen_cpus_are_given_and_contended),
        cmocka_unit_test(nobody_is_given_what_another_has_chosen),
        cmocka_unit_test(aged_data_is_read_point_by_point),
        cmocka_unit_test(iops_are_read_in_small_transfers),
        cmocka_unit_test(wrong_surveys_are_explained),
    };

    return cmocka_run_group_tests_name("ensemble", tests, NULL, NULL);
}
