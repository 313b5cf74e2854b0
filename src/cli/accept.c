/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti accept: a suite of jobs and ensembles, one after the other, with one table of verdicts.
 * Each part is an ensemble with its own directory; that of the suite only says which:
 *
 *   suite.json    {"format", "suite": [NAME of every part],
 *                  "settings": {NAME: those of the part},
 *                  "parts": {NAME: directory of the ensemble, beside this one}}
 *   report.json   the answers of all parts and their verdicts
 */
#include <ctype.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/require.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/result.h"
#include "cli/run.h"
#include "ensemble/ensemble.h"
#include "plan/directory.h"
#include "plan/settings_json.h"
#include "report/junit.h"
#include "report/outfile.h"
#include "report/paragraph.h"
#include "report/table.h"
#include "spec/units.h"

#define SUITE_FILE "suite.json"
#define REPORT_FILE "report.json"
#define FORMAT 2
#define MAX_PARTS 64

struct accept {
    char *size, *json, *junit, *resume;
    struct tt_words only;
    bool quiet, dry_run;
};

#define AT(member) offsetof(struct accept, member)
static const struct tt_param params[] = {
    {"size", TT_PARAM_TEXT, AT(size), NULL, NULL, "take the values below sizes: NAME of the file",
     .placeholder = "NAME"},
    {"part", TT_PARAM_WORDS, AT(only), NULL, NULL, "only these parts of the suite",
     .placeholder = "NAME,..."},
    {"resume", TT_PARAM_TEXT, AT(resume), NULL, NULL,
     "go on with a suite that ended early: its directory", .placeholder = "DIRECTORY"},
    {"json", TT_PARAM_TEXT, AT(json), NULL, NULL, "file for verdicts and answers; -: stdout",
     .placeholder = "FILE"},
    {"junit", TT_PARAM_TEXT, AT(junit), NULL, NULL, "file for verdicts as JUnit XML; -: stdout",
     .placeholder = "FILE"},
    {"quiet", TT_PARAM_BOOL, AT(quiet), NULL, NULL, "only the table of verdicts, no other"},
    {"dry_run", TT_PARAM_BOOL, AT(dry_run), NULL, NULL, "say what would be done, and do nothing"},
    {0},
};
#undef AT

struct item {
    char *name;
    struct tt_settings settings;
    char *workload; /* NULL: an ensemble */
    struct tt_part part;
    char error[256]; /* why it did not run to its end */
    int status;
    bool left_out; /* not asked for this time */
};

struct suite {
    char *directory;          /* NULL: a dry run */
    json_t *parts, *settings; /* of suite.json */
    size_t n;
    struct item items[MAX_PARTS];
};

static void free_suite(struct suite *s)
{
    for (size_t i = 0; i < s->n; i++) {
        free(s->items[i].name);
        free(s->items[i].workload);
        free(s->items[i].part.directory);
        json_decref(s->items[i].part.answer);
        tt_settings_free(&s->items[i].settings);
    }
    free(s->directory);
    json_decref(s->parts);
    json_decref(s->settings);
}

/* ---- reading ---- */

/* "easy" of "suite.easy.block" if the key begins with that prefix; *rest is "block". */
static bool split(const char *key, const char *prefix, char name[64], const char **rest)
{
    size_t n = strlen(prefix), length;

    if (strncmp(key, prefix, n))
        return false;
    length = strcspn(key + n, ".");
    if (length == 0 || length >= 64 || key[n + length] != '.')
        return false;
    snprintf(name, 64, "%.*s", (int)length, key + n);
    *rest = key + n + length + 1;
    return true;
}

static struct item *find_part(struct suite *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (!strcmp(s->items[i].name, name))
            return &s->items[i];
    return NULL;
}

static struct item *add_part(struct suite *s, const char *name, struct tt_error *e)
{
    struct item *p = find_part(s, name);

    if (p)
        return p;
    if (s->n == MAX_PARTS) {
        tt_fail(e, TT_USAGE, "a suite has at most %d parts", MAX_PARTS);
        return NULL;
    }
    p = &s->items[s->n];
    p->name = strdup(name);
    if (!p->name) {
        tt_fail_nomem(e, "a part");
        return NULL;
    }
    s->n++;
    return p;
}

static bool is_about_suite(const char *key)
{
    return !strncmp(key, "suite.", 6) || !strncmp(key, "sizes.", 6) || !strcmp(key, "suite") ||
           !strcmp(key, "sizes");
}

/* Which parts there are, in the order of the file, and what all of them have. */
static int find_parts(const struct tt_settings *file, struct suite *s, struct tt_error *e)
{
    int rc = TT_OK;

    for (size_t i = 0; i < file->n && rc == TT_OK; i++) {
        const char *rest;
        char name[64];

        if (split(file->list[i].key, "suite.", name, &rest) && !add_part(s, name, e))
            rc = e->code;
    }
    if (rc == TT_OK && s->n == 0)
        rc = tt_fail(e, TT_USAGE,
                     "this file has no suite; write it as 'suite: {easy: {workload: bulk, repeat: "
                     "6, require: [write_rate >= 1g]}}'");
    for (size_t i = 0; i < file->n; i++)
        for (size_t k = 0; k < s->n && rc == TT_OK; k++)
            if (!is_about_suite(file->list[i].key))
                rc = tt_settings_add(&s->items[k].settings, file->list[i].key, file->list[i].value,
                                     file->list[i].place, e);
    return rc;
}

/* What stands below a prefix goes to its parts. */
static int take_below(const struct tt_settings *file, const char *prefix, struct suite *s,
                      bool *found, struct tt_error *e)
{
    int rc = TT_OK;

    for (size_t i = 0; i < file->n && rc == TT_OK; i++) {
        const struct tt_setting *one = &file->list[i];
        const char *rest;
        struct item *p;
        char name[64];

        if (!split(one->key, prefix, name, &rest))
            continue;
        *found = true;
        p = find_part(s, name);
        rc = p ? tt_settings_add(&p->settings, rest, one->value, one->place, e)
               : tt_fail(e, TT_USAGE, "%.200s: the suite has no part '%.40s'", one->place, name);
    }
    return rc;
}

static int take_size(const struct tt_settings *file, const char *size, struct suite *s,
                     struct tt_error *e)
{
    char prefix[128];
    bool found = false;
    int rc;

    if (!size)
        return TT_OK;
    snprintf(prefix, sizeof prefix, "sizes.%.100s.", size);
    rc = take_below(file, prefix, s, &found, e);
    if (rc == TT_OK && !found)
        rc = tt_fail(e, TT_USAGE, "--size: the file has no 'sizes: {%.80s: ...}'", size);
    return rc;
}

/* stdout belongs to the export if there is one. */
static bool is_quiet(const struct accept *o)
{
    return o->quiet || (tt_is_stdout(o->json) && !o->dry_run);
}

/* A part without a reference is a single job, and that is the reference of an ensemble. */
static int complete_part(struct item *p, const struct accept *o, const struct tt_settings *words,
                         struct tt_error *e)
{
    struct tt_settings job = {0}, all = {0};
    bool is_ensemble = false;
    int rc = tt_settings_append(&p->settings, words, e);

    tt_settings_put(&p->settings, "accept", "quiet", is_quiet(o) ? "yes" : "no");
    tt_settings_put(&p->settings, "accept", "dry_run", o->dry_run ? "yes" : "no");
    for (size_t i = 0; i < p->settings.n; i++)
        is_ensemble |= !strncmp(p->settings.list[i].key, "reference.", 10);
    for (size_t i = 0; i < p->settings.n && rc == TT_OK && !is_ensemble; i++) {
        const struct tt_setting *one = &p->settings.list[i];

        if (strcmp(one->key, "workload")) {
            rc = tt_settings_add(&job, one->key, one->value, one->place, e);
        } else {
            free(p->workload);
            p->workload = strdup(one->value ? one->value : "");
        }
    }
    if (rc == TT_OK && !is_ensemble && !p->workload)
        rc = tt_fail(e, TT_USAGE,
                     "part '%s' has neither a workload nor a reference: 'workload: bulk' makes it "
                     "a job, 'reference: {workload: bulk}' an ensemble",
                     p->name);
    if (rc == TT_OK && !is_ensemble)
        rc = tt_ensemble_of_job(p->workload, &job, &all, e);
    if (rc == TT_OK)
        rc = tt_settings_check(&p->settings, e);
    if (rc == TT_OK && !is_ensemble) {
        tt_settings_free(&p->settings);
        p->settings = all;
        all = (struct tt_settings){0};
    }
    tt_settings_free(&job);
    tt_settings_free(&all);
    return rc;
}

static int choose_parts(struct suite *s, const struct tt_words *only, struct tt_error *e)
{
    const char *names[MAX_PARTS + 1] = {0};

    for (size_t i = 0; i < s->n; i++) {
        names[i] = s->items[i].name;
        s->items[i].left_out = only->n > 0;
    }
    for (size_t i = 0; i < only->n; i++) {
        struct item *p = find_part(s, only->words[i]);

        if (!p)
            return tt_fail(e, TT_USAGE, "--part: the suite has no part '%.40s'%s", only->words[i],
                           TT_DID_YOU_MEAN(tt_nearest_word(only->words[i], names)));
        p->left_out = false;
    }
    return TT_OK;
}

static int read_suite(const struct tt_invocation *call, struct suite *s, struct tt_error *e)
{
    const struct accept *o = call->opts;
    struct tt_settings file = {0};
    char *workload = NULL;
    bool found = false;
    int rc;

    if (call->nwords == 0)
        return tt_fail(e, TT_USAGE, "accept what? tutti accept FILE.yaml, with a suite in it");
    rc = tt_read_yaml(call->words[0], &file, &workload, e);
    if (rc == TT_OK && workload)
        rc = tt_fail(e, TT_USAGE, "%s: 'workload' belongs inside a part of the suite",
                     call->words[0]);
    if (rc == TT_OK)
        rc = find_parts(&file, s, e);
    if (rc == TT_OK)
        rc = take_below(&file, "suite.", s, &found, e);
    if (rc == TT_OK)
        rc = take_size(&file, o->size, s, e);
    if (rc == TT_OK)
        rc = choose_parts(s, &o->only, e);
    for (size_t i = 0; i < s->n && rc == TT_OK; i++)
        rc = complete_part(&s->items[i], o, &call->settings, e);
    tt_settings_free(&file);
    free(workload);
    return rc;
}

/* ---- the directory ---- */

static json_t *names_of(const struct suite *s)
{
    json_t *names = json_array();

    for (size_t i = 0; i < s->n; i++)
        json_array_append_new(names, tt_json_text(s->items[i].name));
    return names;
}

static int write_suite(const struct suite *s, struct tt_error *e)
{
    json_t *all = json_pack("{s:i, s:o, s:O, s:O?}", "format", FORMAT, "suite", names_of(s),
                            "parts", s->parts, "settings", s->settings);
    int rc = all ? tt_directory_write_json(s->directory, SUITE_FILE, all, e)
                 : tt_fail_nomem(e, "the suite");

    json_decref(all);
    return rc;
}

static int make_directory(struct suite *s, struct tt_error *e)
{
    const struct tt_setting *given = tt_settings_find(&s->items[0].settings, "results");
    int rc;

    s->parts = json_object();
    s->settings = json_object();
    for (size_t i = 0; i < s->n; i++)
        json_object_set_new(s->settings, s->items[i].name,
                            tt_settings_to_json(&s->items[i].settings));
    rc = s->parts && s->settings
             ? tt_directory_make(given && given->value ? given->value : "tutti-runs", "accept-",
                                 &s->directory, e)
             : tt_fail_nomem(e, "the suite");
    return rc == TT_OK ? write_suite(s, e) : rc;
}

/* Ensembles lie beside the suite; a directory that somebody sent names no other place. */
static int find_ensemble(const struct suite *s, struct item *p, struct tt_error *e)
{
    const char *name = json_string_value(json_object_get(s->parts, p->name));
    char *copy;
    int rc = TT_OK;

    if (!name)
        return TT_OK;
    if (strncmp(name, "ensemble-", 9) || name[strspn(name, "ensmbl-0123456789TZacdf")])
        return tt_fail(e, TT_CORRUPT, "'%.200s/" SUITE_FILE "': part '%s' is no ensemble",
                       s->directory, p->name);
    copy = strdup(s->directory);
    if (!copy || asprintf(&p->part.directory, "%s/%s", dirname(copy), name) < 0)
        rc = tt_fail_nomem(e, "a path");
    free(copy);
    return rc;
}

/* What an earlier call has found out of a part. */
static void take_verdict(struct item *p, const json_t *one)
{
    json_t *answer = json_object_get(one, "answer");
    long long status = tt_integer_of(one, "status");

    p->status = status >= 0 && status <= TT_EXIT_UNDECIDED ? (int)status : 1;
    snprintf(p->error, sizeof p->error, "%s", tt_text_of(one, "error"));
    json_decref(p->part.answer);
    p->part.answer = json_is_object(answer) ? json_incref(answer) : NULL;
}

static int read_report(const char *directory, json_t **all, struct tt_error *e)
{
    int rc = tt_directory_read_json(directory, REPORT_FILE, all, e);

    if (rc == TT_OK)
        rc = tt_directory_check_format(directory, REPORT_FILE, *all, FORMAT, e);
    if (rc == TT_OK && json_array_size(json_object_get(*all, "parts")) == 0)
        rc = tt_fail(e, TT_CORRUPT, "'%.200s/" REPORT_FILE "' has no parts", directory);
    return rc;
}

/* Parts that are not run now keep their verdicts. */
static int keep_verdicts(struct suite *s, struct tt_error *e)
{
    json_t *all = NULL;
    const json_t *one;
    size_t i;
    int rc = TT_OK;

    if (tt_directory_has(s->directory, REPORT_FILE)) /* else the first call was killed */
        rc = read_report(s->directory, &all, e);
    json_array_foreach(json_object_get(all, "parts"), i, one)
    {
        struct item *p = rc == TT_OK ? find_part(s, tt_text_of(one, "name")) : NULL;

        if (p && !p->part.answer)
            take_verdict(p, one);
    }
    json_decref(all);
    return rc;
}

/* Parts of different suites are never put together. */
static int check_same_suite(const struct suite *s, const json_t *all, struct tt_error *e)
{
    const json_t *theirs = json_object_get(all, "suite");
    const char *first = json_string_value(json_array_get(theirs, 0));
    json_t *ours = names_of(s);
    bool is_same = json_equal(theirs, ours);

    json_decref(ours);
    return is_same ? TT_OK
                   : tt_fail(e, TT_USAGE,
                             "'%.200s' is of another suite, which begins with part '%.40s'; give "
                             "the file that it was made from",
                             s->directory, first ? first : "");
}

static int load_directory(struct suite *s, const char *directory, struct tt_error *e)
{
    json_t *all = NULL;
    size_t length = strlen(directory);
    int rc = tt_directory_read_json(directory, SUITE_FILE, &all, e);

    while (length > 1 && directory[length - 1] == '/')
        length--;
    s->directory = strndup(directory, length);
    if (rc == TT_OK)
        rc = tt_directory_check_format(directory, SUITE_FILE, all, FORMAT, e);
    if (rc == TT_OK && (!json_is_object(json_object_get(all, "parts")) ||
                        !json_is_array(json_object_get(all, "suite"))))
        rc = tt_fail(e, TT_CORRUPT, "'%.200s/" SUITE_FILE "' has no parts", directory);
    if (rc == TT_OK)
        rc = check_same_suite(s, all, e);
    if (rc == TT_OK)
        s->parts = json_incref(json_object_get(all, "parts"));
    s->settings = json_incref(json_object_get(all, "settings")); /* older versions have none */
    for (size_t i = 0; i < s->n && rc == TT_OK; i++) {
        s->items[i].part.planned = json_object_get(s->settings, s->items[i].name);
        rc = find_ensemble(s, &s->items[i], e);
    }
    if (rc == TT_OK)
        rc = keep_verdicts(s, e);
    json_decref(all);
    return rc;
}

/* Everything is understood before anything is run. */
static int check_parts(const struct suite *s, struct tt_error *e)
{
    struct tt_error why = TT_ERROR_CLEAR;
    int rc = TT_OK;

    for (size_t i = 0; i < s->n && rc == TT_OK; i++) {
        const struct item *p = &s->items[i];

        if (!p->left_out && tt_check_part(&p->settings, &p->part, &why) != TT_OK)
            rc = tt_fail(e, why.code, "part '%s': %s", p->name, why.text);
    }
    return rc;
}

/* ---- running ---- */

struct made {
    struct suite *suite;
    const struct item *item;
};

/* On disk before its first repetition, so that a suite that was killed goes on with it. */
static int note_made(void *context, const char *directory, struct tt_error *e)
{
    const struct made *m = context;

    if (!m->suite->directory)
        return TT_OK;
    if (json_object_set_new(m->suite->parts, m->item->name,
                            tt_json_text(tt_directory_id(directory))) != 0)
        return tt_fail_nomem(e, "the suite");
    return write_suite(m->suite, e);
}

/* One part that cannot be measured does not keep the others from it; Ctrl-C does. */
static bool run_part(struct suite *s, struct item *p, const struct accept *o)
{
    struct made made = {s, p};
    struct tt_error e = TT_ERROR_CLEAR;

    if (!is_quiet(o) || o->dry_run)
        printf("\npart %s\n", p->name);
    fflush(stdout);
    json_decref(p->part.answer);
    p->part.answer = NULL;
    p->error[0] = '\0';
    p->part.made = note_made;
    p->part.context = &made;
    p->status = tt_run_part(&p->settings, &p->part, &e);
    if (p->status < 0) {
        p->part.code = p->status;
        tt_error_format(&e, p->error, sizeof p->error);
        p->status = tt_report_error(&e);
    } else if (p->part.code != TT_OK) {
        snprintf(p->error, sizeof p->error, "ended early");
    }
    return p->part.code != TT_INTERRUPTED;
}

/* ---- the report ---- */

/* Neither now nor before. */
static bool was_left_out(const struct item *p)
{
    return p->left_out && !p->part.answer && !p->error[0];
}

static const char *state_of(const struct item *p)
{
    return was_left_out(p)   ? "left out"
           : p->error[0]     ? "not done"
           : !p->part.answer ? "not begun"
           : p->status == 1  ? "not complete"
                             : "done";
}

/* A verdict is to be read with what was odd when it was measured. */
static void add_cautions(const struct item *p, struct tt_table *t)
{
    const json_t *steps = json_object_get(p->part.answer, "steps"), *step, *found = NULL;
    const char *first = NULL;
    size_t n = 0, i;

    json_array_foreach(steps, i, step)
    {
        const json_t *warnings = json_object_get(step, "warnings");

        n += json_array_size(warnings);
        if (!first && (first = json_string_value(json_array_get(warnings, 0))))
            found = step;
    }
    if (!first)
        return;
    tt_table_add(t, "%s", "");
    tt_table_add(t, n == 1 ? "! 1 caution" : "! %zu cautions", n);
    if (tt_integer_of(found, "others") > 0)
        tt_table_add(t, "with %lld others: %s", (long long)tt_integer_of(found, "others"), first);
    else
        tt_table_add(t, "alone: %s", first);
}

/* A row per condition; a part without one has a row that says how it went. */
static void add_verdicts(const struct item *p, struct tt_table *t)
{
    const json_t *require = json_object_get(p->part.answer, "require"), *one;
    size_t i;

    json_array_foreach(require, i, one)
    {
        tt_table_add(t, "%s", i ? "" : p->name);
        tt_table_add(t, "%s", tt_text_of(one, "verdict"));
        tt_table_add(t, "%s: %s", tt_text_of(one, "condition"), tt_text_of(one, "text"));
    }
    if (json_array_size(require) > 0 && !p->error[0])
        return;
    tt_table_add(t, "%s", json_array_size(require) ? "" : p->name);
    tt_table_add(t, "%s", state_of(p));
    tt_table_add(t, "%s", p->error);
}

static void print_table(const struct suite *s, FILE *out)
{
    static const struct tt_column columns[] = {{.title = "part", .width = 10},
                                               {.title = "verdict", .width = 14},
                                               {.title = "condition and what was measured"}};
    struct tt_table t = {columns, sizeof columns / sizeof *columns, .indent = 2};

    for (size_t i = 0; i < s->n; i++) {
        add_verdicts(&s->items[i], &t);
        add_cautions(&s->items[i], &t);
    }
    fprintf(out, "\n");
    tt_table_print(&t, out, NULL);
}

/* What was measured decides first, then what was not. */
static int status_of(const struct suite *s)
{
    bool undecided = false, missing = false;

    for (size_t i = 0; i < s->n; i++) {
        const struct item *p = &s->items[i];

        if (was_left_out(p))
            continue;
        if (p->status == TT_EXIT_FAIL)
            return TT_EXIT_FAIL;
        undecided |= p->status == TT_EXIT_UNDECIDED;
        missing |= p->error[0] || !p->part.answer || p->status == 1 || p->status == 2;
    }
    return missing ? 1 : undecided ? TT_EXIT_UNDECIDED : 0;
}

static void say_in_short(const struct suite *s, FILE *out)
{
    int status = status_of(s);
    bool all = true;

    for (size_t i = 0; i < s->n; i++)
        all &= !was_left_out(&s->items[i]);
    fprintf(out, "\n");
    tt_say(out, "in short", "%s",
           status == TT_EXIT_FAIL        ? "the machine does not meet the conditions"
           : status == TT_EXIT_UNDECIDED ? "what was measured does not tell; repeat more often"
           : status                      ? "not all parts were measured"
           : all                         ? "the machine meets all conditions"
                                         : "the machine meets the conditions of these parts");
    tt_say(out, "directory", "%s", s->directory);
}

static json_t *report_json(const struct suite *s)
{
    json_t *parts = json_array();

    for (size_t i = 0; i < s->n; i++)
        json_array_append_new(
            parts,
            json_pack("{s:o, s:s, s:o, s:i, s:O?}", "name", tt_json_text(s->items[i].name), "state",
                      state_of(&s->items[i]), "error", tt_json_text(s->items[i].error), "status",
                      s->items[i].status, "answer", s->items[i].part.answer));
    return json_pack("{s:i, s:i, s:o}", "format", FORMAT, "status", status_of(s), "parts", parts);
}

static json_t *junit_suite(const struct item *p)
{
    const char *state = state_of(p);
    bool is_done = !strcmp(state, "done");

    return tt_case_suite_of(p->name, p->part.answer,
                            was_left_out(p) ? TT_CASE_LEFT_OUT
                            : is_done       ? tt_verdict_names[TT_PASS]
                                            : TT_CASE_NOT_MEASURED,
                            p->error[0] ? p->error : state);
}

static int write_junit(const struct suite *s, const char *path, struct tt_error *e)
{
    json_t *suites = json_array();
    int failed = 0;

    for (size_t i = 0; i < s->n; i++)
        failed |= json_array_append_new(suites, junit_suite(&s->items[i]));
    return tt_report_junit(path, "accept", tt_json_unless(failed, suites), e);
}

/* Returns the exit status. */
static int print_report(const struct suite *s, const json_t *all, const char *json,
                        const char *junit, struct tt_error *e)
{
    FILE *out = tt_is_stdout(json) || tt_is_stdout(junit) ? stderr : stdout;
    int rc = TT_OK;

    print_table(s, out);
    say_in_short(s, out);
    if (json)
        rc = tt_outfile_json(json, all, e);
    if (rc == TT_OK && junit)
        rc = write_junit(s, junit, e);
    return rc == TT_OK ? status_of(s) : rc;
}

static int report(const struct suite *s, const struct accept *o, struct tt_error *e)
{
    json_t *all = report_json(s);
    int written = all ? tt_directory_write_json(s->directory, REPORT_FILE, all, e)
                      : tt_fail_nomem(e, "the report");
    bool is_kept = written == TT_OK;
    int rc = print_report(s, all, is_kept ? o->json : NULL, is_kept ? o->junit : NULL, e);

    json_decref(all);
    return written == TT_OK ? rc : written;
}

/* ---- shown again ---- */

bool tt_accept_is_directory(const char *directory)
{
    return tt_directory_has(directory, SUITE_FILE);
}

int tt_accept_show(const char *directory, const char *json, const char *junit, struct tt_error *e)
{
    struct suite *s = calloc(1, sizeof *s);
    json_t *all = NULL;
    const json_t *one;
    size_t i;
    int rc = s && (s->directory = strdup(directory)) ? TT_OK : tt_fail_nomem(e, "the suite");

    if (rc == TT_OK && !tt_directory_has(directory, REPORT_FILE))
        rc = tt_fail(e, TT_FAILED, "'%.200s' has no verdicts yet; go on with tutti accept --resume",
                     directory);
    if (rc == TT_OK)
        rc = read_report(directory, &all, e);
    json_array_foreach(json_object_get(all, "parts"), i, one)
    {
        struct item *p = rc == TT_OK ? add_part(s, tt_text_of(one, "name"), e) : NULL;

        if (!p) {
            rc = e->code;
            break;
        }
        p->left_out = !strcmp(tt_text_of(one, "state"), "left out");
        take_verdict(p, one);
    }
    if (rc == TT_OK)
        rc = print_report(s, all, json, junit, e);
    json_decref(all);
    if (s)
        free_suite(s);
    free(s);
    return rc;
}

/* ---- the command ---- */

/* What does not end by itself, such as other jobs around a reference, may take and write more. */
static void say_total(const struct suite *s)
{
    char bytes[TT_UNIT_TEXT], time[TT_UNIT_TEXT];
    double runs = 0, written = 0, seconds = 0;

    for (size_t i = 0; i < s->n; i++) {
        runs += s->items[i].part.runs;
        written += s->items[i].part.bytes;
        seconds += s->items[i].part.seconds;
    }
    printf("\n");
    tt_say(stdout, "in all",
           "%.0f runs write at least %s, and take at least %s if storage moves 1 GiB/s", runs,
           tt_format_bytes(written, bytes), tt_format_seconds(seconds, time));
}

static int run_parts(struct suite *s, const struct accept *o, const char *file, struct tt_error *e)
{
    bool go_on = true, failed = false;
    int rc;

    for (size_t i = 0; i < s->n && go_on; i++)
        if (!s->items[i].left_out) {
            go_on = run_part(s, &s->items[i], o);
            failed |= s->items[i].error[0] != '\0';
        }
    if (o->dry_run) {
        say_total(s);
        return failed;
    }
    rc = report(s, o, e);
    if (rc == 1)
        fprintf(stderr, "tutti: go on with: tutti accept %s --resume %s\n", file, s->directory);
    return rc;
}

static int run(struct tt_invocation *call, struct tt_error *e)
{
    const struct accept *o = call->opts;
    struct suite *s = calloc(1, sizeof *s);
    int rc = s ? read_suite(call, s, e) : tt_fail_nomem(e, "the suite");

    if (rc == TT_OK)
        rc = tt_outfiles_differ(
            (const struct tt_outfile_option[]){{"--json", o->json}, {"--junit", o->junit}, {NULL}},
            e);
    if (rc == TT_OK && o->resume)
        rc = load_directory(s, o->resume, e);
    if (rc == TT_OK)
        rc = check_parts(s, e);
    if (rc == TT_OK && !o->resume && !o->dry_run)
        rc = make_directory(s, e);
    if (rc == TT_OK)
        rc = run_parts(s, o, call->words[0], e);
    if (s)
        free_suite(s);
    free(s);
    return rc;
}

const struct tt_command tt_command_accept = {
    .name = "accept",
    .summary = "a suite of jobs and ensembles, with conditions",
    .synopsis = "tutti accept FILE.yaml [--size NAME] [--part NAME,...] [--dry-run] [--resume "
                "DIRECTORY] [--KEY VALUE ...]",
    .text =
        "Run the parts of a suite one after the other, each as an ensemble or a repeated job, "
        "and print one table of what they require. suite: {NAME: {...}} holds the parts, sizes: "
        "{NAME: {PART: {...}}} values for --size, and every other key is for all parts. Exit "
        "status: 0 if everything is met, 3 if something is not, 4 if something cannot be told, "
        "1 if a part was not measured.",
    .run = run,
    .options = &(const struct tt_options){params, sizeof(struct accept)},
    .job = &tt_ensemble_component,
    .also = "ensemble",
    .max_words = 1,
};
