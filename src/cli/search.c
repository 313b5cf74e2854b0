/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti advise and tutti tune: one search, which differ only by the keys that they try. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/notice.h"
#include "cli/command.h"
#include "cli/result.h"
#include "cli/run.h"
#include "launch/launch.h"
#include "plan/directory.h"
#include "plan/settings_json.h"
#include "report/outfile.h"
#include "report/paragraph.h"
#include "report/search.h"
#include "spec/units.h"
#include "study/search/search.h"

/* ---- before ---- */

/* Before anything is written. */
static void announce(const struct tt_search *s, FILE *out)
{
    const struct tt_point *usual = &s->study.points[0];
    char bytes[TT_UNIT_TEXT], time[TT_UNIT_TEXT], cap[TT_UNIT_TEXT];
    struct tt_paragraph keys = {0}, limits = {0};

    for (size_t f = 0; f < s->study.nfactors; f++)
        if (s->study.factors[f].n > 0)
            tt_paragraph_add(&keys, "%s%s (%zu)", keys.n ? ", " : "", s->study.factors[f].key,
                             s->study.factors[f].n);
    tt_paragraph_print(&keys, out, "tries");
    if (s->application)
        tt_say(out, "scaled", "to %.3g of the application, as workload %s",
               tt_number_of(s->application, "factor"), s->study.workload);
    tt_say(out, "a run", "writes %s and takes %s at least", tt_format_bytes(usual->bytes, bytes),
           tt_format_seconds(usual->seconds, time));
    tt_paragraph_add(&limits, "%s at most", tt_format_seconds(s->o.max_time, time));
    if (s->o.max_bytes > 0)
        tt_paragraph_add(&limits, ", and writes %s at most",
                         tt_format_bytes((double)s->o.max_bytes, cap));
    tt_paragraph_print(&limits, out, "takes");
}

static int check_files(const struct tt_search_options *o, struct tt_error *e)
{
    const char *const files[] = {o->json, o->hints, o->yaml};
    size_t stdouts = 0;
    int rc = TT_OK;

    for (size_t i = 0; i < 3 && rc == TT_OK; i++) {
        if (files[i])
            rc = tt_outfile_check(files[i], e);
        stdouts += tt_is_stdout(files[i]);
        for (size_t k = 0; k < i && rc == TT_OK; k++)
            if (files[i] && files[k] && !tt_is_stdout(files[i]) && !strcmp(files[i], files[k]))
                rc = tt_fail(e, TT_USAGE, "'%.200s' cannot be two files at once", files[i]);
    }
    if (rc == TT_OK && stdouts > 1)
        rc = tt_fail(e, TT_USAGE, "only one of --json, --hints and --yaml can be stdout");
    return rc;
}

/* ---- after ---- */

static int show_answer(const struct tt_search_options *o, const json_t *answer, struct tt_error *e)
{
    bool taken = tt_is_stdout(o->json) || tt_is_stdout(o->hints) || tt_is_stdout(o->yaml);
    int rc = TT_OK;

    if (!o->quiet)
        tt_report_search(taken ? stderr : stdout, answer);
    if (o->json)
        rc = tt_outfile_json(o->json, answer, e);
    if (rc == TT_OK && o->hints)
        rc = tt_report_hints(o->hints, answer, e);
    if (rc == TT_OK && o->yaml)
        rc = tt_report_chosen_job(o->yaml, answer, e);
    return rc;
}

static int go_on(const struct tt_search *s, const char *directory, const struct tt_error *e)
{
    tt_report_error(e);
    fprintf(stderr, "tutti: go on with: tutti %s %s--resume %s\n", s->kind->name,
            tt_settings_programs(&s->study.base) ? "FILE " : "", directory);
    return 1;
}

/* Why no setting but the default has a result. */
static int fail_alone(const json_t *answer, struct tt_error *e)
{
    const char *why = tt_text_of(json_array_get(json_object_get(answer, "refused"), 0), "why");

    if (*why)
        return tt_fail(e, TT_FAILED, "no other setting counts: %.300s", why);
    if (tt_is_true(answer, "cut_short"))
        return tt_fail(e, TT_FAILED,
                       "the budget ended before another setting was measured; give more "
                       "--max-time or --max-bytes, or a smaller workload");
    return tt_fail(e, TT_FAILED, "no other setting could be measured");
}

/* What is known is shown also if the last runs are not complete. shrink: set if it is to be tried
 * again, smaller; NULL: it may not be. */
static int run_and_show(struct tt_search *s, const char *directory, bool *shrink)
{
    struct tt_error e = TT_ERROR_CLEAR, later = TT_ERROR_CLEAR;
    json_t *answer = NULL;
    int rc = tt_search_run(s, directory, &e);

    if (rc == TT_LIMIT && shrink && tt_search_may_shrink(s)) {
        *shrink = true;
        return 0;
    }
    if (rc == TT_USAGE || rc == TT_BUSY || rc == TT_CORRUPT || rc == TT_FAILED)
        return tt_report_error(&e);
    if (rc != TT_OK && s->best == 0)
        return go_on(s, directory, &e);
    if (tt_search_answer(s, directory, &answer, &later) == TT_OK)
        show_answer(&s->o, answer, &later);
    if (later.code == TT_OK && rc == TT_OK && json_array_size(json_object_get(answer, "tried")) < 2)
        fail_alone(answer, &later);
    json_decref(answer);
    if (rc != TT_OK)
        return go_on(s, directory, &e);
    return later.code == TT_OK ? 0 : tt_report_error(&later);
}

static int run_search(struct tt_search *s, const char *resume, bool *shrink, struct tt_error *e)
{
    char *directory = NULL;
    int rc = check_files(&s->o, e);

    if (rc == TT_OK && s->o.dry_run)
        announce(s, stdout);
    else if (rc == TT_OK && !s->o.quiet)
        announce(s, stderr);
    if (rc == TT_OK && !resume)
        rc = tt_search_check_budget(s, s->study.points[0].seconds, e);
    if (rc != TT_OK || s->o.dry_run)
        return rc;
    if (resume)
        directory = strdup(resume);
    else
        rc = tt_search_create(s, &directory, e);
    if (rc == TT_OK)
        rc = directory ? run_and_show(s, directory, resume ? NULL : shrink)
                       : tt_fail_nomem(e, "a path");
    free(directory);
    return rc;
}

int tt_get_search_answer(const char *directory, json_t **answer, struct tt_error *e)
{
    if (!tt_directory_has(directory, TT_SEARCH_ANSWER))
        return tt_fail(e, TT_FAILED,
                       "'%.200s' is a search without an answer; go on with it by "
                       "--resume, or see tutti study show",
                       directory);
    return tt_directory_read_json(directory, TT_SEARCH_ANSWER, answer, e);
}

int tt_search_show(const char *directory, const char *json, struct tt_error *e)
{
    struct tt_search_options o = {.json = (char *)json};
    json_t *answer = NULL;
    int rc = tt_get_search_answer(directory, &answer, e);

    if (rc == TT_OK)
        rc = show_answer(&o, answer, e);
    json_decref(answer);
    return rc;
}

static int search(const struct tt_search_kind *kind, struct tt_invocation *call, struct tt_error *e)
{
    const struct tt_setting *given = tt_settings_find(&call->settings, "resume");
    const char *word = call->nwords ? call->words[0] : NULL;
    struct tt_settings settings = {0};
    struct tt_search s = {0};
    char *workload = NULL;
    bool shrink = false;
    int rc = TT_OK;

    if (tt_launched_size() > 0)
        return tt_fail(
            e, TT_USAGE,
            "a search launches its runs itself: start tutti without a launcher, with -n");
    if (!word && !given && !kind->describes)
        return tt_fail(e, TT_USAGE,
                       "tune what? tutti tune WORKLOAD ... or tutti tune FILE.yaml; tutti list "
                       "workloads names them");
    if (word)
        rc = tt_read_base(word, &settings, &workload, e);
    if (rc == TT_OK && word && !workload)
        rc = tt_fail(e, TT_USAGE,
                     "%.200s names no workload; add a line such as 'workload: stencil'", word);
    if (rc == TT_OK)
        rc = tt_settings_append(&settings, &call->settings, e);
    if (rc == TT_OK)
        rc = given ? tt_search_load(&s, kind, given->value ? given->value : "", workload, &settings,
                                    e)
                   : tt_search_make(&s, kind, workload, &settings, e);
    if (rc == TT_OK)
        rc = run_search(&s, given ? given->value : NULL, &shrink, e);
    if (shrink) {
        char took[TT_UNIT_TEXT];

        if (!s.o.quiet)
            tt_notice("a run of the default took %s, too long for --max-time; the application is "
                      "scaled down further",
                      tt_format_seconds(s.seconds, took));
        rc = tt_search_shrink(&s, &settings, e);
        if (rc == TT_OK)
            rc = run_search(&s, NULL, &shrink, e);
    }
    tt_search_free(&s);
    tt_settings_free(&settings);
    free(workload);
    return rc;
}

/* ---- the commands ---- */

static int advise(struct tt_invocation *call, struct tt_error *e)
{
    return search(&tt_search_advise, call, e);
}

const struct tt_command tt_command_advise = {
    .name = "advise",
    .summary = "how should an application write? tutti advise --size 2g --every 60s",
    .synopsis = "tutti advise --size BYTES --every TIME [--compute TIME] [-n RANKS] | "
                "WORKLOAD|FILE.yaml [--KEY VALUE ...] | [FILE.yaml] --resume DIRECTORY",
    .text = "Try ways to write, and recommend one if it is better than the default: modes, "
            "backends, one file or one per process. An application is described by how much it "
            "writes and how often, and scaled to the budget; or a workload is given. What is "
            "recommended was measured again after the search, in turns with the default. Keys of "
            "the job (--backend, --layers, --dir) make the default.",
    .run = advise,
    .job = &tt_advise_component,
    .max_words = 1,
};

static int tune(struct tt_invocation *call, struct tt_error *e)
{
    return search(&tt_search_tune, call, e);
}

const struct tt_command tt_command_tune = {
    .name = "tune",
    .summary = "find the best hints and settings of a workload",
    .synopsis = "tutti tune WORKLOAD|FILE.yaml [--KEY VALUE ...] | [FILE.yaml] --resume DIRECTORY",
    .text = "Try hints, striping, aggregators, transfer size, depth, chunks, alignment and "
            "collective transfers of a job, as far as its workload and backend have them. A "
            "setting counts only if it was proved to be in effect, and is recommended only if it "
            "was better than the default in runs after the search. --hints has it as a file for "
            "ROMIO_HINTS, --yaml as a job for tutti run.",
    .run = tune,
    .job = &tt_tune_component,
    .max_words = 1,
};
