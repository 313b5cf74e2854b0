/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ensemble/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ensemble/run.h"
#include "ensemble/shares.h"
#include "spec/units.h"

/* Iterations of the reference whose duration tells how many it can do. */
#define TRIAL_ITERATIONS 200
#define DUMP_EVERY 10
/* What another job must add to the sum of all for the resource not to be saturated. */
#define LEAST_GAIN 0.1

struct pair {
    const char *key, *value;
};

/* The same job in every scenario, so that they can be compared: it computes, communicates and
 * writes. */
static const struct pair reference[] = {{"reference.workload", "stencil"},
                                        {"reference.size", "1024"},
                                        {"reference.write.every", "10"},
                                        {"reference.collective.every", "10"},
                                        {"reference.collective.size", "256k"},
                                        {"reference.mode", "sync"},
                                        {NULL, NULL}};

/* The three kinds of numio's background jobs, with the traffic and the bytes that they lacked. */
static const struct pair balanced[] = {{"load.0.workload", "traffic"},
                                       {"load.0.pattern", "alltoall"},
                                       {"load.0.ranks", "2"},
                                       {"load.1.workload", "stencil"},
                                       {"load.1.size", "512"},
                                       {"load.1.perturbation", "sine"},
                                       {"load.1.work", "20"},
                                       {"load.1.iterations", "200"},
                                       {"load.2.workload", "stencil"},
                                       {"load.2.size", "1024"},
                                       {"load.2.write.every", "1"},
                                       {"load.2.iterations", "200"},
                                       {"load.2.mode", "sync+imm"},
                                       {"others", "0,3"},
                                       {NULL, NULL}};
static const struct pair io[] = {{"load.workload", "stencil"}, {"load.size", "1024"},
                                 {"load.iterations", "200"},   {"load.write.every", "1"},
                                 {"load.mode", "sync+imm"},    {NULL, NULL}};
static const struct pair cpu[] = {{"load.workload", "stencil"}, {"load.size", "256"},
                                  {"load.iterations", "400"},   {"load.perturbation", "sine"},
                                  {"load.work", "50"},          {NULL, NULL}};
/* Larger than any cache. */
static const struct pair memory[] = {
    {"load.workload", "stencil"}, {"load.size", "4096"}, {"load.iterations", "100"}, {NULL, NULL}};
static const struct pair network[] = {{"load.0.workload", "traffic"},
                                      {"load.0.pattern", "incast"},
                                      {"load.0.ranks", "2"},
                                      {"load.1.workload", "traffic"},
                                      {"load.1.pattern", "broadcast"},
                                      {"load.1.ranks", "2"},
                                      {"load.2.workload", "traffic"},
                                      {"load.2.pattern", "alltoall"},
                                      {"load.2.ranks", "2"},
                                      {"load.3.workload", "traffic"},
                                      {"load.3.pattern", "many-to-many"},
                                      {"load.3.ranks", "2"},
                                      {NULL, NULL}};
static const struct pair empty[] = {{"others", "0"}, {NULL, NULL}};

static const struct scenario {
    const char *name;
    const struct pair *settings;
    const char *rate; /* what saturates, summed over all jobs; NULL: nothing is to be saturated */
} scenarios[] = {
    {"empty", empty, NULL},
    {"balanced", balanced, NULL},
    {"peak:io", io, "total_write_rate"},
    {"peak:cpu", cpu, "total_iteration_rate"},
    {"peak:memory", memory, "total_iteration_rate"},
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

static int add_pairs(struct tt_settings *s, const struct pair *pairs, const char *place,
                     struct tt_error *e)
{
    int rc = TT_OK;

    for (; pairs->key && rc == TT_OK; pairs++)
        rc = tt_settings_add(s, pairs->key, pairs->value, place, e);
    return rc;
}

static int add_all(struct tt_settings *to, const struct tt_settings *from, struct tt_error *e)
{
    int rc = TT_OK;

    for (size_t i = 0; i < from->n && rc == TT_OK; i++)
        rc = tt_settings_add(to, from->list[i].key, from->list[i].value, from->list[i].place, e);
    return rc;
}

static int add_number(struct tt_settings *s, const char *key, uint64_t value, struct tt_error *e)
{
    char text[32];

    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    return tt_settings_add(s, key, text, "the scenario", e);
}

/* ---- trials ---- */

/* Run the given settings once for each number of others; *answer is a new reference. */
static int try(const struct tt_settings *scenario, const struct tt_settings *words,
               const struct pair *trial, json_t **answer, struct tt_error *e)
{
    struct tt_settings all = {0};
    struct tt_runner_report report = {0};
    struct tt_ensemble x = {0};
    char *directory = NULL;
    int rc = add_all(&all, scenario, e);

    if (rc == TT_OK)
        rc = add_all(&all, words, e);
    if (rc == TT_OK)
        rc = add_pairs(&all, trial, "a trial", e);
    if (rc == TT_OK)
        rc = tt_ensemble_make(&x, &all, false, e);
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

static double solo_time(const struct tt_settings *words)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    double seconds = 20;

    for (size_t i = 0; i < words->n; i++)
        if (tt_same_key(words->list[i].key, "solo_time") && words->list[i].value)
            tt_parse_duration(words->list[i].value, &seconds, &ignored);
    return seconds;
}

static bool is_given(const struct tt_settings *words, const char *key)
{
    for (size_t i = 0; i < words->n; i++)
        if (tt_same_key(words->list[i].key, key))
            return true;
    return false;
}

/* The share of the CPUs that the reference will have among the most jobs at once: it is not to be
 * tried on more of the machine than that. */
static int share(const struct tt_settings *scenario, const struct tt_settings *words, char *out,
                 size_t size, struct tt_error *e)
{
    struct tt_settings all = {0};
    struct tt_ensemble x = {0};
    int rc = add_all(&all, scenario, e);

    if (rc == TT_OK)
        rc = add_all(&all, words, e);
    if (rc == TT_OK)
        rc = tt_ensemble_make(&x, &all, false, e);
    if (rc == TT_OK)
        snprintf(out, size, "%.6g", tt_share_wanted(&x, x.steps[0].reference, tt_cores()));
    tt_ensemble_free(&x);
    tt_settings_free(&all);
    return rc;
}

/* The reference alone, to see how long an iteration takes. */
static int choose_iterations(const struct tt_settings *words, struct tt_settings *out,
                             struct tt_error *e)
{
    char trial_iterations[16], cpus[32];
    const struct pair trial[] = {{"reference.iterations", trial_iterations},
                                 {"cpus", cpus},
                                 {"others", "0"},
                                 {"repeat", "1"},
                                 {"require", ""},
                                 {"quiet", "yes"},
                                 {"label", "trial"},
                                 {NULL, NULL}};
    double wanted = solo_time(words), seconds;
    json_t *answer = NULL;
    uint64_t iterations;
    char text[TT_UNIT_TEXT];
    int rc;

    if (is_given(words, "reference.iterations"))
        return TT_OK;
    snprintf(trial_iterations, sizeof trial_iterations, "%d", TRIAL_ITERATIONS);
    rc = share(out, words, cpus, sizeof cpus, e);
    if (rc == TT_OK)
        rc = try(out, words, trial, &answer, e);
    if (rc != TT_OK)
        return rc;
    seconds = json_number_value(json_object_get(
        json_object_get(json_array_get(json_object_get(answer, "steps"), 0), "runtime"), "median"));
    json_decref(answer);
    if (seconds <= 0)
        return tt_fail(e, TT_FAILED, "the reference alone took no time in the trial");
    iterations = (uint64_t)(wanted / seconds * TRIAL_ITERATIONS);
    iterations = (iterations / DUMP_EVERY + 1) * DUMP_EVERY;
    fprintf(stderr, "tutti: %llu iterations, so that the reference takes about %s alone\n",
            (unsigned long long)iterations, tt_format_seconds(wanted, text));
    return add_number(out, "reference.iterations", iterations, e);
}

static double rate_with(const json_t *answer, const char *rate, uint64_t jobs)
{
    const json_t *r;
    size_t i;

    json_array_foreach(json_object_get(answer, "repetitions"), i, r)
    {
        if ((uint64_t)json_integer_value(json_object_get(r, "others")) == jobs &&
            json_is_true(json_object_get(r, "complete")))
            return json_number_value(json_object_get(r, rate));
    }
    return 0;
}

/* Jobs of the load: sums of different ones can be compared only if all of them run. */
static uint64_t kinds_of_load(const struct scenario *scenario)
{
    uint64_t n = 0;

    for (const struct pair *p = scenario->settings; p->key; p++) {
        size_t length = strlen(p->key);

        n += length > 9 && !strcmp(p->key + length - 9, ".workload");
    }
    return n;
}

static void say_chosen(const struct scenario *scenario, uint64_t chosen, bool is_most, double rate)
{
    char text[TT_UNIT_TEXT];

    fprintf(stderr, "tutti: %llu load%s, which do %s%s together: %s\n", (unsigned long long)chosen,
            chosen == 1 ? "" : "s",
            strstr(scenario->rate, "iteration") ? tt_format_value(rate, "1/s", text)
                                                : tt_format_rate(rate, text),
            strstr(scenario->rate, "iteration") ? " (iterations)" : "",
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
    char others[64];
    const struct pair trial[] = {{"reference.command", "sleep,2"},
                                 {"others", others},
                                 {"repeat", "1"},
                                 {"require", ""},
                                 {"quiet", "yes"},
                                 {"label", "trial"},
                                 {NULL, NULL}};
    const struct tt_settings none = {0};
    struct tt_settings loads = {0};
    json_t *answer = NULL;
    size_t used = 0;
    double before;
    int rc;

    if (is_given(words, "others") || !scenario->rate)
        return TT_OK;
    for (uint64_t n = kinds; n <= most && used < sizeof others; n *= 2)
        used += (size_t)snprintf(others + used, sizeof others - used, "%s%llu", used ? "," : "",
                                 (unsigned long long)n);
    fprintf(stderr, "tutti: trying %s loads, a few seconds each\n", others);
    rc = add_pairs(&loads, scenario->settings, scenario->name, e);
    for (size_t i = 0; i < words->n && rc == TT_OK; i++)
        if (strncmp(words->list[i].key, "reference.", 10))
            rc = tt_settings_add(&loads, words->list[i].key, words->list[i].value,
                                 words->list[i].place, e);
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
