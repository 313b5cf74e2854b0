/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti report: a run, an answer or many runs as one page, or as text. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "cli/choose.h"
#include "cli/command.h"
#include "cli/result.h"
#include "plan/directory.h"
#include "report/figures.h"
#include "report/paragraph.h"
#include "report/render.h"
#include "study/search/search.h"
#include "study/study.h"
#include "survey/survey.h"

#define DEFAULT_FILE "tutti-report.html"
#define GENERATOR "<meta name=\"generator\" content=\"tutti\""

enum format { HTML, TEXT, MARKDOWN, CSV, JSON };
static const char *const formats[] = {"html", "text", "md", "csv", "json", NULL};

struct report {
    char *output, *results;
    int format;
    bool compare, any_plan;
};

#define AT(member) offsetof(struct report, member)
static const struct tt_param params[] = {
    {"output", TT_PARAM_TEXT, AT(output), NULL, NULL,
     "write it there; -: to stdout. Without: " DEFAULT_FILE ", and other formats to stdout",
     .flag = "-o", .placeholder = "FILE"},
    {"format", TT_PARAM_CHOICE, AT(format), "html", NULL,
     "html: a page for a browser; text: tables and small plots of 80 columns; md: tables for "
     "papers; csv: every number, as figure,series,x,y,low,high,run; json: all of it",
     .choices = formats},
    {"compare", TT_PARAM_BOOL, AT(compare), NULL, NULL,
     "the words are two sets of runs, A and B, as tutti compare takes them"},
    {"any_plan", TT_PARAM_BOOL, AT(any_plan), NULL, NULL,
     "--compare: also runs of different plans"},
    {"dir", TT_PARAM_TEXT, AT(results), TT_DEFAULT_RESULTS, NULL,
     "--compare: the results directory that filters search", .placeholder = "DIR"},
    {NULL},
};

/* ---- what it is about ---- */

static int begin(struct tt_document *d, const char *what, const char *name,
                 const struct tt_invocation *call, struct tt_error *e)
{
    char *words = tt_choice_text((size_t)call->argc, (const char *const *)call->argv),
         *title = NULL, *command = NULL;
    int rc = TT_OK;

    if (!words || asprintf(&title, "%s %s", what, name) < 0)
        rc = tt_fail_nomem(e, "a title");
    if (rc == TT_OK && asprintf(&command, "tutti %s", words) < 0)
        rc = tt_fail_nomem(e, "a title");
    if (rc == TT_OK)
        rc = tt_document_begin(d, title, command, e);
    free(words);
    free(title);
    free(command);
    return rc;
}

static int report_run(struct tt_document *d, const char *word, const struct tt_invocation *call,
                      struct tt_error *e)
{
    json_t *result = NULL;
    char *directory;
    int rc = tt_find_run(word, &directory, e);

    if (rc == TT_OK)
        rc = tt_get_result(directory, &result, e);
    if (rc == TT_OK) {
        tt_correct_place(directory, result);
        rc = begin(d, tt_text_of(json_object_get(result, "plan"), "workload"),
                   tt_text_of(result, "id"), call, e);
    }
    if (rc == TT_OK)
        rc = tt_figures_run(d, result, directory, e);
    json_decref(result);
    free(directory);
    return rc;
}

/* What has an answer: how it is known, had and shown. */
static const struct answered {
    const char *what;
    bool (*is)(const char *directory);
    int (*get)(const char *directory, json_t **answer, struct tt_error *e);
    void (*show)(struct tt_document *d, const json_t *answer);
} answers[] = {
    {"search", tt_search_is_directory, tt_get_search_answer, tt_figures_search},
    {"ensemble", tt_is_ensemble_directory, tt_get_ensemble_answer, tt_figures_ensemble},
    {"study", tt_study_is_directory, tt_get_study_answer, tt_figures_study},
    {"survey", tt_survey_is_directory, tt_get_survey_answer, tt_figures_survey},
};

static const struct answered *find_answered(const char *directory)
{
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        if (answers[i].is(directory))
            return &answers[i];
    return NULL;
}

static int report_answer(struct tt_document *d, const struct answered *kind, const char *directory,
                         const struct tt_invocation *call, struct tt_error *e)
{
    json_t *answer = NULL;
    int rc = kind->get(directory, &answer, e);

    if (rc == TT_OK)
        rc = begin(d, kind->what, tt_directory_id(directory), call, e);
    if (rc == TT_OK)
        kind->show(d, answer);
    json_decref(answer);
    return rc;
}

/* Where the runs allow it; most do not. */
static void add_model(struct tt_document *d, struct tt_store *store, const struct tt_run_rows *runs,
                      const struct tt_invocation *call)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    struct tt_overlap_model model;
    struct tt_check check = {0};

    if (tt_get_model(store, runs, call->nwords, call->words, &model, &check, &ignored) == TT_OK)
        tt_figures_model(d, &model, &check);
    free(check.rows);
}

static int report_runs(struct tt_document *d, const struct tt_invocation *call, struct tt_error *e)
{
    struct tt_store *store;
    struct tt_run_rows runs;
    char *given = tt_choice_text(call->nwords, call->words);
    int rc = given ? tt_choose_some_runs(call->nwords, call->words, &store, &runs, e)
                   : tt_fail_nomem(e, "a title");

    if (!given)
        return rc;
    if (rc == TT_OK)
        rc = begin(d, "runs", given, call, e);
    if (rc == TT_OK)
        rc = tt_figures_runs(d, store, &runs, e);
    if (rc == TT_OK)
        add_model(d, store, &runs, call);
    tt_run_rows_free(&runs);
    tt_store_close(store);
    free(given);
    return rc;
}

static int report_comparison(struct tt_document *d, const struct tt_invocation *call,
                             struct tt_error *e)
{
    const struct report *o = call->opts;
    json_t *comparison = NULL;
    char *given = tt_choice_text(call->nwords, call->words);
    int rc = given ? TT_OK : tt_fail_nomem(e, "a title");

    if (rc == TT_OK && call->nwords != 2)
        rc = tt_fail(e, TT_USAGE,
                     "--compare needs two sets of runs, A and B: run directories, or filters such "
                     "as label=nightly");
    if (rc == TT_OK)
        rc = tt_get_comparison(call->words[0], call->words[1], o->results, o->any_plan, &comparison,
                               e);
    if (rc == TT_OK)
        rc = begin(d, "comparison", given, call, e);
    if (rc == TT_OK)
        tt_figures_comparison(d, comparison);
    json_decref(comparison);
    free(given);
    return rc;
}

/* One word may be a run, an answer, or a results directory. */
static int report_one(struct tt_document *d, const char *word, const struct tt_invocation *call,
                      struct tt_error *e)
{
    const struct answered *kind = find_answered(word);
    struct stat st;

    if (kind)
        return report_answer(d, kind, word, call, e);
    if (tt_accept_is_directory(word))
        return tt_fail(e, TT_USAGE,
                       "'%.200s' is a suite; report one of its ensembles, or see tutti show", word);
    if (tt_directory_has(word, "plan.json") || (stat(word, &st) != 0 && !strpbrk(word, "/=<>!")))
        return report_run(d, word, call, e);
    return report_runs(d, call, e);
}

static int collect(struct tt_document *d, const struct tt_invocation *call, struct tt_error *e)
{
    const struct report *o = call->opts;
    char *last = NULL;
    int rc;

    if (o->compare)
        return report_comparison(d, call, e);
    if (call->nwords == 1)
        return report_one(d, call->words[0], call, e);
    if (call->nwords > 1)
        return report_runs(d, call, e);
    rc = tt_find_last(TT_DEFAULT_RESULTS, &last, e);
    if (rc == TT_OK)
        rc = report_one(d, last, call, e);
    free(last);
    return rc;
}

/* ---- where it goes ---- */

static int check_output(const struct report *o, const char *path, struct tt_error *e)
{
    int rc = o->format != HTML || tt_has_page() ? TT_OK : tt_render_html(NULL, NULL, e);

    if (rc == TT_OK)
        rc = tt_outfile_check(path, e);
    if (rc == TT_OK && !o->output && !tt_is_stdout(path)) /* somebody's own stays */
        rc = tt_outfile_check_ours(path, GENERATOR, e);
    return rc;
}

static int write_document(const struct tt_document *d, enum format format, const char *path,
                          struct tt_error *e)
{
    struct tt_outfile f;
    int rc = tt_outfile_open(&f, path, e);

    if (rc != TT_OK)
        return rc;
    switch (format) {
    case HTML:
        rc = tt_render_html(d, f.stream, e);
        break;
    case TEXT:
        rc = tt_render_text(d, f.stream, e);
        break;
    case MARKDOWN:
        rc = tt_render_markdown(d, f.stream, e);
        break;
    case CSV:
        rc = tt_render_csv(d, &f, e);
        break;
    case JSON:
        rc = tt_document_write(d, true, f.stream, e);
        fputc('\n', f.stream);
    }
    return rc == TT_OK ? tt_outfile_close(&f, e) : tt_outfile_discard(&f, rc);
}

static int run(struct tt_invocation *call, struct tt_error *e)
{
    const struct report *o = call->opts;
    const char *path = o->output ? o->output : o->format == HTML ? DEFAULT_FILE : "-";
    struct tt_document d = {0};
    int rc = check_output(o, path, e);

    if (rc == TT_OK)
        rc = collect(&d, call, e);
    if (rc == TT_OK)
        rc = write_document(&d, (enum format)o->format, path, e);
    if (rc == TT_OK && !tt_is_stdout(path)) {
        const json_t *answer = json_array_get(json_object_get(d.root, "answer"), 0);

        if (answer)
            tt_print_wrapped(stdout, "", json_string_value(answer));
        puts(path);
    }
    tt_document_free(&d);
    return rc;
}

const struct tt_command tt_command_report = {
    .name = "report",
    .summary = "one page with every figure, for a browser: tutti report [DIRECTORY]",
    .synopsis = "tutti report [DIRECTORY|ID|[DIR] FILTER ...] [-o FILE] [--format "
                "html|text|md|csv|json] | --compare A B",
    .text = "Make one file that a browser opens without a network: the answer, then figures of a "
            "run, an ensemble, a study, a survey or a search. With a results directory or filters "
            "as in tutti runs: of many runs. Without words: of what was begun last in tutti-runs. "
            "A file that -o names is replaced. The other formats have the same figures without a "
            "browser.",
    .run = run,
    .options = &(const struct tt_options){params, sizeof(struct report)},
    .max_words = TT_MAX_CHOICE_WORDS,
};
