/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti model: what overlap would gain elsewhere, by rates fitted to the runs in the store. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/json.h"
#include "cli/choose.h"
#include "cli/command.h"
#include "cli/result.h"
#include "ensemble/ensemble.h"
#include "report/outfile.h"
#include "report/overlap_model.h"

static const char *const forms[] = {"physical", "paper", NULL};
static const char *const fits[] = {"best", "linear",        "linear+intercept",
                                   "log",  "log+intercept", NULL};

struct model {
    uint64_t ranks, size, epochs, steps;
    double compute;
    int form, fit; /* fit: 0 is the best, else an enum tt_rate_form plus one */
    bool mixed;
    char *json, *csv;
};

#define AT(member) offsetof(struct model, member)
static const struct tt_param params[] = {
    {"ranks", TT_PARAM_COUNT, AT(ranks), NULL, "ranks", "predict: processes of the job", 1,
     INT32_MAX, NULL, "-n"},
    {"size", TT_PARAM_BYTES, AT(size), NULL, "B", "predict: bytes of a dump, over all ranks"},
    {"compute", TT_PARAM_DURATION, AT(compute), NULL, "s",
     "predict: computation between two dumps, without I/O beside it"},
    {"epochs", TT_PARAM_COUNT, AT(epochs), NULL, "epochs",
     "predict: the runtime of this many dumps and computations, too"},
    {"steps", TT_PARAM_COUNT, AT(steps), NULL, "steps",
     "predict: time steps in that computation; says how many are too few for overlap"},
    {"form", TT_PARAM_CHOICE, AT(form), "physical", NULL,
     "of an epoch with overlap: physical, max(computation, I/O) + copy; paper, as it was printed, "
     "max(computation, I/O - computation) + copy",
     .choices = forms},
    {"fit", TT_PARAM_CHOICE, AT(fit), "best", NULL,
     "of a rate over size and ranks, or over their logarithms; best: the one that predicts each "
     "run best from the others",
     .choices = fits},
    {"mixed", TT_PARAM_BOOL, AT(mixed), NULL, NULL,
     "also fit runs of different machines, versions, workloads or stores together"},
    {"json", TT_PARAM_TEXT, AT(json), NULL, NULL,
     "write all numbers; -: to stdout, instead of the table", .placeholder = "FILE"},
    {"csv", TT_PARAM_TEXT, AT(csv), NULL, NULL,
     "write the table; -: to stdout, instead of the table", .placeholder = "FILE"},
    {NULL},
};

/* ---- the history ---- */

/* What all runs of a fit have in common, unless the user wants them mixed. */
static const struct {
    const char *key, *what; /* key: of a filter, too */
    bool of_machine;        /* a fact of the environment; else a parameter */
} common[] = {
    {"workload", "workloads", false},
    {"backend", "backends", false},
    {"layers", "stacks of layers", false},
    {"device", "devices", false},
    {"host", "machines", true},
    {"version", "versions of tutti", true},
    {"kernel", "kernels", true},
    {"data.mount", "stores", true},
};
enum { WORKLOAD = 0, BACKEND = 1, HOST = 4, NCOMMON = sizeof common / sizeof *common };

/* Runs that may be fitted, and what is said of the others. */
struct gathered {
    struct tt_store *store;
    struct tt_run_rows found, taken; /* taken: rows of found, borrowed */
    struct tt_history history;       /* of taken */
    char *(*common)[NCOMMON];        /* likewise */
    json_t *left_out, *varied;
};

static void leave_out(struct gathered *g, const char *why)
{
    json_object_set_new(g->left_out, why, json_integer(tt_integer_of(g->left_out, why) + 1));
}

static int take_metrics(struct tt_store *s, int64_t key, struct tt_past_run *r, struct tt_error *e)
{
    double staging = NAN;
    const struct {
        const char *name;
        double *to;
    } wanted[] = {{"epoch_bytes", &r->size},    {"write_rate", &r->storage_rate},
                  {"copy_rate", &r->copy_rate}, {"epoch_time", &r->epoch},
                  {"epoch_staging", &staging},  {"epoch_compute", &r->compute},
                  {"compute_only", &r->alone},  {"t_init", &r->init},
                  {"t_term", &r->term}};
    int rc = TT_OK;

    for (size_t i = 0; rc == TT_OK && i < sizeof wanted / sizeof *wanted; i++) {
        bool known = false;

        rc = tt_store_metric(s, key, wanted[i].name, &known, wanted[i].to, e);
        if (!known)
            *wanted[i].to = NAN;
    }
    r->staging_rate = r->size / staging;
    return rc;
}

/* Why a run says nothing to the model; NULL if it does. */
static const char *unfit(const struct tt_run_row *row, const json_t *parameters, bool mixed,
                         const struct tt_past_run *r)
{
    double rate = r->mode == TT_CHOICE_SYNC ? r->storage_rate : r->copy_rate;

    if (!row->valid)
        return "not valid";
    if (r->mode < 0)
        return "neither sync+imm nor async+bg";
    if (!tt_context_is_alone(tt_text_of(parameters, "context")) && !mixed)
        return "beside other jobs";
    if (!(isfinite(r->size) && r->size > 0))
        return "without dumps of equal size";
    return isfinite(rate) && rate > 0 ? NULL : "without a rate";
}

static int mode_of(const json_t *parameters)
{
    const char *overlap = tt_text_of(parameters, "overlap"), *sync = tt_text_of(parameters, "sync");

    if (!strcmp(overlap, "none") && !strcmp(sync, "dump"))
        return TT_CHOICE_SYNC;
    return !strcmp(overlap, "async") && !strcmp(sync, "background") ? TT_CHOICE_ASYNC : -1;
}

/* Adds a run to what is taken, if it is fit for that. */
static int take_row(struct gathered *g, const struct tt_run_row *row, bool mixed,
                    struct tt_error *e)
{
    struct tt_past_run r = {.ranks = (double)row->ranks};
    json_t *parameters = NULL, *environment = NULL;
    const char *why;
    int rc = tt_store_parameters(g->store, row->key, &parameters, e);

    r.mode = mode_of(parameters);
    r.waited = !strcmp(tt_text_of(parameters, "device.snapshot"), "no");
    if (rc == TT_OK)
        rc = tt_store_environment(g->store, row->key, &environment, e);
    if (rc == TT_OK)
        rc = take_metrics(g->store, row->key, &r, e);
    why = rc == TT_OK ? unfit(row, parameters, mixed, &r) : NULL;
    if (why) {
        leave_out(g, why);
    } else if (rc == TT_OK) {
        char **values = g->common[g->taken.n];

        for (int k = 0; k < NCOMMON; k++) {
            const json_t *from = common[k].of_machine ? environment : parameters;

            values[k] = strdup(k == WORKLOAD ? row->workload : tt_text_of(from, common[k].key));
            rc = values[k] ? rc : tt_fail_nomem(e, "the history");
        }
        g->history.runs[g->history.n++] = r;
        g->taken.rows[g->taken.n++] = *row;
    }
    json_decref(parameters);
    json_decref(environment);
    return rc;
}

/* Unless the user has chosen by the host, runs of this machine are taken if there are any. */
static void prefer_this_host(struct gathered *g, size_t nwords, const char *const *words)
{
    struct utsname here = {0};
    bool any = false;
    size_t n = 0;

    for (size_t i = 0; i < nwords; i++)
        if (!strncmp(words[i], "host", 4))
            return;
    uname(&here);
    for (size_t i = 0; i < g->taken.n; i++)
        any = any || !strcmp(g->common[i][HOST], here.nodename);
    for (size_t i = 0; any && i < g->taken.n; i++) {
        char *theirs[NCOMMON];

        if (strcmp(g->common[i][HOST], here.nodename) != 0) {
            leave_out(g, "of other machines");
            continue;
        }
        memcpy(theirs, g->common[n], sizeof theirs); /* exchanged, so that all are freed */
        memcpy(g->common[n], g->common[i], sizeof theirs);
        memcpy(g->common[i], theirs, sizeof theirs);
        g->history.runs[n] = g->history.runs[i];
        g->taken.rows[n++] = g->taken.rows[i];
    }
    if (any)
        g->history.n = g->taken.n = n;
}

static int check_common(const struct gathered *g, struct tt_error *e)
{
    for (int k = 0; k < NCOMMON; k++)
        for (size_t i = 1; i < g->taken.n; i++) {
            const char *a = g->common[0][k], *b = g->common[i][k];

            if (strcmp(a, b) != 0)
                return tt_fail(
                    e, TT_FAILED,
                    "the runs are of several %s ('%.40s' and '%.40s' among them): choose "
                    "by %s=%.40s, or fit them together with --mixed",
                    common[k].what, a, b, common[k].key, *a ? a : b);
        }
    return TT_OK;
}

/* Parameters that differ and are neither the model's nor the workload's own. */
static int find_varied(struct gathered *g, struct tt_error *e)
{
    static const char *const ours[] = {
        "ranks",       "mode",     "overlap",  "sync",      "seed",    "label",
        "context",     "keep",     "trace",    "quiet",     "json",    "csv",
        "dir",         "results",  "baseline", "module",    "dry_run", "min_free",
        "write.every", "patience", "max_time", "max_bytes", NULL};
    const char *workload = g->taken.n ? g->taken.rows[0].workload : "";
    size_t length = strlen(workload), i;
    json_t *all = NULL;
    const json_t *key;
    int rc = tt_store_varied(g->store, &g->taken, &all, e);

    json_array_foreach(all, i, key)
    {
        const char *name = json_string_value(key);

        if (name && !tt_has_word(ours, name) && strncmp(name, "launch.", 7) != 0 &&
            !(!strncmp(name, workload, length) && name[length] == '.'))
            json_array_append(g->varied, (json_t *)key);
    }
    json_decref(all);
    return rc;
}

/* Of the runs that were found by these words, those that may be fitted. */
static int take_found(struct gathered *g, size_t nwords, const char *const *words, bool mixed,
                      struct tt_error *e)
{
    size_t n = g->found.n;
    int rc = TT_OK;

    g->left_out = json_object();
    g->varied = json_array();
    g->history.runs = calloc(n + 1, sizeof *g->history.runs);
    g->taken.rows = calloc(n + 1, sizeof *g->taken.rows);
    g->common = calloc(n + 1, sizeof *g->common);
    if (!g->history.runs || !g->taken.rows || !g->common || !g->left_out || !g->varied)
        return tt_fail_nomem(e, "the history");
    for (size_t i = 0; rc == TT_OK && i < n; i++)
        rc = take_row(g, &g->found.rows[i], mixed, e);
    if (rc == TT_OK && !mixed) {
        prefer_this_host(g, nwords, words);
        rc = check_common(g, e);
    }
    return rc == TT_OK ? find_varied(g, e) : rc;
}

static void free_taken(struct gathered *g)
{
    for (size_t i = 0; g->common && i <= g->found.n; i++)
        for (int k = 0; k < NCOMMON; k++)
            free(g->common[i][k]);
    free(g->common);
    free(g->taken.rows);
    free(g->history.runs);
    json_decref(g->left_out);
    json_decref(g->varied);
}

int tt_get_model(struct tt_store *s, const struct tt_run_rows *runs, size_t nwords,
                 const char *const *words, struct tt_overlap_model *model, struct tt_check *check,
                 struct tt_error *e)
{
    struct gathered g = {.store = s, .found = *runs};
    int rc = take_found(&g, nwords, words, false, e);

    if (rc == TT_OK)
        rc = tt_overlap_model_fit(&g.history, -1, model, e);
    if (rc == TT_OK)
        rc = tt_overlap_check(&g.history, -1, TT_EPOCH_PHYSICAL, check, e);
    free_taken(&g);
    return rc;
}

/* ---- doing it ---- */

static const char *in_common(const struct gathered *g, int k)
{
    for (size_t i = 1; i < g->taken.n; i++)
        if (strcmp(g->common[0][k], g->common[i][k]) != 0)
            return "several";
    return g->taken.n ? g->common[0][k] : "nothing";
}

static int check_question(const struct model *o, bool predicts, struct tt_error *e)
{
    bool asked = o->ranks || o->size || o->compute > 0 || o->epochs || o->steps;

    if (!predicts && asked)
        return tt_fail(e, TT_USAGE,
                       "--ranks, --size, --compute, --epochs and --steps are for tutti model "
                       "predict");
    if (predicts && (!o->ranks || !o->size || !(o->compute > 0)))
        return tt_fail(e, TT_USAGE,
                       "predict needs --ranks, --size (of a dump, over all ranks) and --compute "
                       "(between two dumps)");
    return tt_outfiles_check(o->json, o->csv, e);
}

static struct tt_overlap_question question_of(const struct model *o)
{
    return (struct tt_overlap_question){.ranks = (double)o->ranks,
                                        .size = (double)o->size,
                                        .compute = o->compute,
                                        .epochs = (double)o->epochs,
                                        .steps = (double)o->steps,
                                        .form = (enum tt_epoch_form)o->form};
}

static int show(const struct tt_model_report *report, const struct model *o, struct tt_error *e)
{
    json_t *all = NULL;
    int rc = TT_OK;

    if (!tt_is_stdout(o->json) && !tt_is_stdout(o->csv))
        tt_report_model(stdout, report);
    if (o->json) {
        all = tt_report_model_json(report);
        rc = all ? tt_outfile_json(o->json, all, e) : tt_fail_nomem(e, "a report");
        json_decref(all);
    }
    return rc == TT_OK && o->csv ? tt_report_model_csv(o->csv, report, e) : rc;
}

static int run(struct tt_invocation *call, struct tt_error *e)
{
    static const char *const verbs[] = {"fit", "predict", "check", NULL};
    const struct model *o = call->opts;
    const char *verb = call->nwords ? call->words[0] : "";
    bool predicts = !strcmp(verb, "predict"), checks = !strcmp(verb, "check");
    struct tt_overlap_question question = question_of(o);
    struct tt_overlap_answer answer;
    struct tt_overlap_model model;
    struct tt_check check = {0};
    struct gathered g = {0};
    int rc;

    if (!tt_has_word(verbs, verb))
        return tt_fail(e, TT_USAGE, "model needs fit, predict or check%s",
                       TT_DID_YOU_MEAN(*verb ? tt_nearest_word(verb, verbs) : NULL));
    rc = check_question(o, predicts, e);
    if (rc == TT_OK)
        rc = tt_choose_runs(call->nwords - 1, call->words + 1, &g.store, &g.found, e);
    if (rc == TT_OK)
        rc = take_found(&g, call->nwords - 1, call->words + 1, o->mixed, e);
    if (rc == TT_OK)
        rc = tt_overlap_model_fit(&g.history, o->fit - 1, &model, e);
    if (rc == TT_OK && checks)
        rc = tt_overlap_check(&g.history, o->fit - 1, question.form, &check, e);
    if (rc == TT_OK && predicts)
        tt_overlap_predict(&model, &question, &answer);
    if (rc == TT_OK) {
        struct tt_model_source source = {in_common(&g, WORKLOAD),
                                         in_common(&g, BACKEND),
                                         in_common(&g, HOST),
                                         &g.history,
                                         g.left_out,
                                         g.varied};

        rc = show(&(struct tt_model_report){.source = &source,
                                            .model = &model,
                                            .question = predicts ? &question : NULL,
                                            .answer = predicts ? &answer : NULL,
                                            .check = checks ? &check : NULL},
                  o, e);
    }
    free(check.rows);
    free_taken(&g);
    tt_run_rows_free(&g.found);
    tt_store_close(g.store);
    return rc;
}

const struct tt_command tt_command_model = {
    .name = "model",
    .summary = "predict what overlap gains, by rates fitted to earlier runs",
    .synopsis = "tutti model fit | predict --ranks N --size BYTES --compute TIME | check "
                "[DIR] [FILTER ...]",
    .text =
        "Fit storage rate and copy rate over size and ranks to the runs in DIR (tutti-runs) that "
        "match every filter, of this machine and of one workload and backend: synchronous ones "
        "(sync+imm) and overlapped ones (async+bg). predict says what an epoch takes in both "
        "modes and where overlap stops paying; check predicts runs that were held out from the "
        "fit. See docs/model.md.",
    .run = run,
    .options = &(const struct tt_options){params, sizeof(struct model)},
    .max_words = TT_MAX_CHOICE_WORDS,
};
