/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ensemble/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/notice.h"
#include "ensemble/shares.h"
#include "spec/units.h"

/* Iterations of the reference whose duration tells how many it can do. */
#define TRIAL_ITERATIONS 200
#define DUMP_EVERY 10
/* What another job must add to the sum of all for the resource not to be saturated. */
#define LEAST_GAIN 0.1

/* What follows are settings, KEY=VALUE with blanks between them. The same job in every scenario, so
 * that they can be compared: it computes, communicates and writes. */
static const char reference[] =
    "reference.workload=stencil reference.size=1024 reference.write.every=10 "
    "reference.collective.every=10 reference.collective.size=256k reference.mode=sync";

/* The three kinds of numio's background jobs, with the traffic and the bytes that they lacked. */
static const char balanced[] =
    "load.0.workload=traffic load.0.pattern=alltoall load.0.ranks=2 "
    "load.1.workload=stencil load.1.size=512 load.1.perturbation=sine load.1.work=20 "
    "load.1.iterations=200 "
    "load.2.workload=stencil load.2.size=1024 load.2.write.every=1 load.2.iterations=200 "
    "load.2.mode=sync+imm others=0,3";
static const char io[] = "load.workload=stencil load.size=1024 load.iterations=200 "
                         "load.write.every=1 load.mode=sync+imm";
static const char cpu[] = "load.workload=stencil load.size=256 load.iterations=400 "
                          "load.perturbation=sine load.work=50";
/* Larger than any cache. */
static const char memory[] = "load.workload=stencil load.size=4096 load.iterations=100";
static const char network[] = "load.0.workload=traffic load.0.pattern=incast load.0.ranks=2 "
                              "load.1.workload=traffic load.1.pattern=broadcast load.1.ranks=2 "
                              "load.2.workload=traffic load.2.pattern=alltoall load.2.ranks=2 "
                              "load.3.workload=traffic load.3.pattern=many-to-many load.3.ranks=2";
static const char empty[] = "others=0";
/* Of whatever is only tried. */
#define TRIAL " repeat=1 alone=1 loads_alone=no require= quiet=yes label=trial"

static const struct scenario {
    const char *name;
    const char *settings;
    const char *rate; /* what saturates, summed over all jobs; NULL: nothing is to be saturated */
    bool is_of_iterations; /* else of bytes */
} scenarios[] = {
    {"empty", empty, NULL},
    {"balanced", balanced, NULL},
    {"peak:io", io, "total_write_rate"},
    {"peak:cpu", cpu, "total_iteration_rate", true},
    {"peak:memory", memory, "total_iteration_rate", true},
    {"peak:network", network, "total_communication_rate"},
};

static const struct scenario *find(const char *name)
{
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        if (!strcmp(scenarios[i].name, name))
            return &scenarios[i];
    return NULL;
}

bool tt_is_scenario(const char *name)
{
    return find(name) || !strncmp(name, "peak:", 5);
}

/* ---- settings ---- */

static int add_pairs(struct tt_settings *s, const char *pairs, const char *place,
                     struct tt_error *e)
{
    char *copy = strdup(pairs), *rest = copy, *key;
    int rc = copy ? TT_OK : tt_fail_nomem(e, "settings");

    while (rc == TT_OK && (key = strsep(&rest, " "))) {
        char *value = strchr(key, '=');

        *value++ = '\0';
        rc = tt_settings_add(s, key, value, place, e);
    }
    free(copy);
    return rc;
}

/* ---- trials ---- */

/* The scenario as far as it is known, with the user's words and what is tried; free both. */
static int make(const struct tt_settings *scenario, const struct tt_settings *words,
                const char *trial, struct tt_settings *all, struct tt_ensemble *x,
                struct tt_error *e)
{
    int rc = tt_settings_append(all, scenario, e);

    if (rc == TT_OK)
        rc = tt_settings_append(all, words, e);
    if (rc == TT_OK && trial)
        rc = add_pairs(all, trial, "a trial", e);
    return rc == TT_OK ? tt_ensemble_make(x, all, false, e) : rc;
}

/* Run the given settings once for each number of others; *answer is a new reference. */
static int try(const struct tt_settings *scenario, const struct tt_settings *words,
               const char *trial, json_t **answer, struct tt_error *e)
{
    struct tt_settings all = {0};
    struct tt_runner_report report = {0};
    struct tt_ensemble x = {0};
    char *directory = NULL;
    int rc = make(scenario, words, trial, &all, &x, e);

    if (rc == TT_OK)
        rc = tt_ensemble_create(&x, &all, false, &directory, e);
    if (rc == TT_OK)
        rc = tt_ensemble_run(&x, directory, &report, e);
    if (rc == TT_OK)
        rc = tt_ensemble_answer(&x, directory, answer, e);
    free(report.list);
    free(directory);
    tt_ensemble_free(&x);
    tt_settings_free(&all);
    return rc;
}

/* The share of the CPUs that the reference will have among the most jobs at once: it is not to be
 * tried on more of the machine than that. */
static int share(const struct tt_settings *scenario, const struct tt_settings *words, double *cpus,
                 struct tt_error *e)
{
    struct tt_settings all = {0};
    struct tt_ensemble x = {0};
    int rc = make(scenario, words, NULL, &all, &x, e);

    if (rc == TT_OK)
        rc = tt_share_here(&x, tt_step_spec(&x, &x.steps[0], 0), cpus, e);
    tt_ensemble_free(&x);
    tt_settings_free(&all);
    return rc;
}

/* The reference alone, to see how long an iteration takes. */
static int choose_iterations(const struct tt_settings *words, struct tt_settings *out,
                             struct tt_error *e)
{
    const struct tt_setting *given = tt_settings_find(words, "solo_time");
    struct tt_error ignored = TT_ERROR_CLEAR;
    char trial[192], text[TT_UNIT_TEXT];
    double wanted = 20, seconds, cpus = 0;
    json_t *answer = NULL;
    uint64_t iterations;
    int rc;

    if (tt_settings_find(words, "reference.iterations"))
        return TT_OK;
    if (given && given->value)
        tt_parse_duration(given->value, &wanted, &ignored);
    rc = share(out, words, &cpus, e);
    snprintf(trial, sizeof trial, "reference.iterations=%d cpus=%.6g others=0" TRIAL,
             TRIAL_ITERATIONS, cpus);
    if (rc == TT_OK)
        rc = try(out, words, trial, &answer, e);
    if (rc != TT_OK)
        return rc;
    seconds = tt_number_of(
        json_object_get(json_array_get(json_object_get(answer, "steps"), 0), "runtime"), "median");
    json_decref(answer);
    if (seconds <= 0)
        return tt_fail(e, TT_FAILED, "the reference alone took no time in the trial");
    iterations = (uint64_t)(wanted / seconds * TRIAL_ITERATIONS);
    iterations = (iterations / DUMP_EVERY + 1) * DUMP_EVERY;
    tt_notice("%llu iterations, so that the reference takes about %s alone",
              (unsigned long long)iterations, tt_format_seconds(wanted, text));
    tt_settings_put(out, "the scenario", "reference.iterations", "%llu",
                    (unsigned long long)iterations);
    return tt_settings_check(out, e);
}

static double rate_with(const json_t *answer, const char *rate, uint64_t jobs)
{
    const json_t *r;
    size_t i;

    json_array_foreach(json_object_get(answer, "repetitions"), i, r)
    {
        if ((uint64_t)tt_integer_of(r, "others") == jobs && tt_is_true(r, "complete"))
            return tt_number_of(r, rate);
    }
    return 0;
}

/* Jobs of the load: sums of different ones can be compared only if all of them run. */
static uint64_t kinds_of_load(const struct scenario *scenario)
{
    uint64_t n = 0;

    for (const char *at = scenario->settings; (at = strstr(at, ".workload=")); at++)
        n++;
    return n;
}

static void say_chosen(const struct scenario *scenario, uint64_t chosen, bool is_most, double rate)
{
    char text[TT_UNIT_TEXT];

    tt_notice("%llu load%s, which do %s%s together: %s", (unsigned long long)chosen,
              chosen == 1 ? "" : "s",
              scenario->is_of_iterations ? tt_format_value(rate, "1/s", text)
                                         : tt_format_rate(rate, text),
              scenario->is_of_iterations ? " (iterations)" : "",
              is_most ? "as many as were tried; more might add to it"
                      : "twice as many add less than 10 %");
}

/* How many loads saturate the resource: those after which another one adds little to the sum. The
 * reference of the trial only keeps the time. */
static int choose_others(const struct scenario *scenario, const struct tt_settings *words,
                         struct tt_settings *out, struct tt_error *e)
{
    uint64_t kinds = kinds_of_load(scenario), chosen = kinds;
    uint64_t most = 2 * ((uint64_t)tt_cores() > kinds ? (uint64_t)tt_cores() : kinds);
    char others[64], trial[192];
    const struct tt_settings none = {0};
    struct tt_settings loads = {0};
    json_t *answer = NULL;
    size_t used = 0;
    double before;
    int rc;

    if (tt_settings_find(words, "others") || !scenario->rate)
        return TT_OK;
    for (uint64_t n = kinds; n <= most && used < sizeof others; n *= 2)
        used += (size_t)snprintf(others + used, sizeof others - used, "%s%llu", used ? "," : "",
                                 (unsigned long long)n);
    tt_notice("trying %s loads, a few seconds each", others);
    rc = add_pairs(&loads, scenario->settings, scenario->name, e);
    for (size_t i = 0; i < words->n && rc == TT_OK; i++)
        if (strncmp(words->list[i].key, "reference.", 10))
            rc = tt_settings_add(&loads, words->list[i].key, words->list[i].value,
                                 words->list[i].place, e);
    snprintf(trial, sizeof trial, "reference.command=sleep,2 others=%s" TRIAL, others);
    if (rc == TT_OK)
        rc = try(&loads, &none, trial, &answer, e);
    tt_settings_free(&loads);
    if (rc != TT_OK)
        return rc;
    before = rate_with(answer, scenario->rate, kinds);
    for (uint64_t n = 2 * kinds; n <= most; n *= 2) {
        double now = rate_with(answer, scenario->rate, n);

        if (now <= 0 || now < before * (1 + LEAST_GAIN))
            break;
        chosen = n;
        before = now;
    }
    json_decref(answer);
    say_chosen(scenario, chosen, 2 * chosen > most, before);
    snprintf(others, sizeof others, "0,%llu", (unsigned long long)chosen);
    return tt_settings_add(out, "others", others, scenario->name, e);
}

int tt_scenario_make(const char *name, const struct tt_settings *words, struct tt_settings *out,
                     struct tt_error *e)
{
    const struct scenario *scenario = find(name);
    int rc;

    if (!scenario)
        return tt_fail(e, TT_USAGE,
                       "unknown scenario '%.40s'; there are peak:io, peak:cpu, peak:memory and "
                       "peak:network",
                       name);
    rc = add_pairs(out, reference, name, e);
    if (rc == TT_OK)
        rc = add_pairs(out, scenario->settings, name, e);
    if (rc == TT_OK)
        rc = tt_settings_add(out, "reference.ranks", tt_cores() >= 4 ? "2" : "1", name, e);
    if (rc == TT_OK)
        rc = choose_others(scenario, words, out, e);
    return rc == TT_OK ? choose_iterations(words, out, e) : rc;
}
