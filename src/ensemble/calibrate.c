/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How much the jobs of an ensemble compute: each computation is calibrated once, alone and with its
 * share of the CPUs, before the first repetition. All repetitions, steps and mixes have that count,
 * or a loaded run would calibrate its slowdown away; so does an ensemble that is resumed. Jobs that
 * differ only in their I/O have one count, else they could not be compared. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/notice.h"
#include "ensemble/run.h"
#include "ensemble/trial.h"
#include "plan/directory.h"
#include "spec/units.h"

#define KEPT "compute.json"      /* {HASH: "0.05s=12x0.0042s", ...}, by what the count depends on */
#define DIRECTORY ".calibration" /* not for the index of runs: nothing is measured there */

/* The count that a run left in its plan, or why there is none. */
static int read_count(const struct tt_job_spec *p, const char *directory, json_t **text,
                      struct tt_error *e)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    json_t *outcome = NULL, *plan = NULL;
    const struct tt_param *param;
    char key[80], words[256];
    int rc;

    tt_config_passes(&p->config, &param);
    snprintf(key, sizeof key, "%.40s.%.30s", p->workload, param->key);
    tt_directory_read_json(directory, "outcome.json", &outcome, &ignored);
    if (!strcmp(tt_text_of(outcome, "status"), "done")) {
        rc = tt_directory_read_plan(directory, &plan, e);
        *text = json_incref(json_object_get(json_object_get(plan, "parameters"), key));
    } else {
        tt_job_words(directory, words, sizeof words);
        rc = tt_fail(e, TT_FAILED, "%s cannot be calibrated: %s", p->name,
                     *tt_text_of(outcome, "error") ? tt_text_of(outcome, "error") : words);
    }
    json_decref(outcome);
    json_decref(plan);
    return rc;
}

/* As a step of its own, in which the job is the reference and nobody is around it. */
static int calibrate(const struct tt_ensemble *x, size_t spec, const char *directory, json_t **text,
                     struct tt_error *e)
{
    const struct tt_runner_state state = {0};
    const struct tt_step alone = {.reference = spec};
    char *below = tt_directory_path(directory, DIRECTORY);
    struct tt_trial trial = {0};
    int rc = TT_OK;

    if (!below)
        rc = tt_fail_nomem(e, "a path");
    else if (mkdir(below, 0777) != 0 && errno != EEXIST)
        rc = tt_fail_call(e, errno, "mkdir", below, -1);
    if (rc == TT_OK)
        rc = tt_trial_make(&trial, x, &alone, &state, below, e);
    if (rc == TT_OK)
        rc = tt_trial_calibrate(&trial, e);
    if (rc == TT_OK)
        rc = read_count(&x->specs[spec], trial.jobs[0].directory, text, e);
    tt_trial_free(&trial);
    free(below);
    return rc;
}

/* The directory may be anybody's: the value goes through the parameter's own reader. */
static int use(struct tt_job_spec *p, const char *text, struct tt_error *e)
{
    const struct tt_param *param;
    struct tt_error why = TT_ERROR_CLEAR;
    int rc;

    tt_config_passes(&p->config, &param);
    rc = tt_settings_add(&p->settings, param->key, text, KEPT, e);
    if (rc != TT_OK)
        return rc;
    tt_config_free(&p->config);
    rc = tt_config_make(&p->config, p->workload, &p->settings, &why);
    if (rc == TT_OK && tt_config_uncalibrated(&p->config))
        rc = tt_fail(&why, TT_CORRUPT, "'%.80s' is not a count", text);
    return rc == TT_OK ? rc : tt_fail(e, TT_CORRUPT, "%s: %s", p->name, why.text);
}

static void tell(const struct tt_ensemble *x, const struct tt_job_spec *p)
{
    char asked[TT_UNIT_TEXT], alone[TT_UNIT_TEXT];
    const struct tt_param *param;
    const struct tt_passes *passes = tt_config_passes(&p->config, &param);

    if (!x->o.quiet)
        tt_notice("%s: compute %s asked, %s alone (%llu passes), in all repetitions", p->name,
                  tt_format_seconds(passes->seconds, asked),
                  tt_format_seconds(tt_passes_seconds(passes), alone),
                  (unsigned long long)passes->count);
}

/* Of what the count of a job depends on: its workload with all keys of its own, its ranks and CPUs.
 */
static void make_key(const struct tt_ensemble *x, const struct tt_job_spec *p, char out[20])
{
    const struct tt_param set = {.key = "cpu_set", .type = TT_PARAM_WORDS};
    char *cpu_set = tt_param_get(&set, &p->o.cpu_set);
    json_t *all = tt_config_to_json(&p->config), *value;
    json_t *its = json_pack("{s:s, s:f, s:s?}", "workload", p->workload, "cpus",
                            p->o.cpus > 0 ? p->o.cpus : x->o.cpus, "cpu_set", cpu_set);
    size_t length = strlen(p->workload);
    const char *key;

    json_object_foreach(all, key, value)
    {
        if (!strcmp(key, "ranks") || (!strncmp(key, p->workload, length) && key[length] == '.'))
            json_object_set(its, key, value);
    }
    snprintf(out, 20, "%016" PRIx64, tt_parameters_hash(its));
    free(cpu_set);
    json_decref(its);
    json_decref(all);
}

/* Ensembles used to keep counts by the names of jobs. */
static int settle_count(struct tt_ensemble *x, size_t spec, const char *directory, json_t *kept,
                        bool may_run, struct tt_error *e)
{
    struct tt_job_spec *p = &x->specs[spec];
    const json_t *known;
    json_t *text = NULL;
    char key[20];
    int rc;

    make_key(x, p, key);
    known = json_object_get(kept, key);
    known = known ? known : json_object_get(kept, p->name);
    if (known)
        return use(p, json_is_string(known) ? json_string_value(known) : "", e);
    if (!may_run)
        return TT_OK;
    rc = calibrate(x, spec, directory, &text, e);
    if (rc == TT_OK)
        rc = use(p, text ? json_string_value(text) : "", e);
    if (rc == TT_OK) {
        tell(x, p);
        json_object_set(kept, key, text);
        rc = tt_directory_write_json(directory, KEPT, kept, e);
        if (rc == TT_OK)
            rc = tt_directory_sync(directory, KEPT, e);
    }
    json_decref(text);
    return rc;
}

int tt_ensemble_calibrate(struct tt_ensemble *x, const char *directory, bool may_run,
                          struct tt_error *e)
{
    json_t *kept = NULL;
    int rc = TT_OK;

    if (tt_directory_has(directory, KEPT))
        rc = tt_directory_read_json(directory, KEPT, &kept, e);
    else
        kept = json_object();
    for (size_t i = 0; i < x->nspecs && rc == TT_OK; i++)
        if (tt_config_uncalibrated(&x->specs[i].config))
            rc = settle_count(x, i, directory, kept, may_run, e);
    json_decref(kept);
    return rc;
}
