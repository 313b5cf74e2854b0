/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti h5bench: the benchmarks of a workflow one after the other, each with ranks of its own. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "build_info.h"
#include "cli/command.h"
#include "cli/run.h"
#include "plan/config.h"
#include "plan/folder.h"
#include "report/h5bench.h"
#include "report/outfile.h"
#include "spec/dialects/h5bench.h"
#include "spec/read.h"

struct session {
    const char *path, *filter, *json, *results, *backend;
    bool validate_mode, abort_on_failure, keep, quiet, dry_run;
    bool made_directory;
    char *folder;                /* of this session's run folders */
    struct tt_settings settings; /* from the command line: they win */
    struct tt_h5bench_workflow workflow;
    json_t *rows;
    json_t *result; /* of the current benchmark; NULL: it has none */
};

/* ---- words ---- */

struct own_option {
    const char *name, *letter;
    const char **value; /* NULL: takes none */
    bool *given;
};

/* "--filter write", "--filter=write", "-f write"; 0: none of them. */
static int take_own(const struct own_option *list, int argc, char **argv, int *i,
                    struct tt_error *e)
{
    for (; list->name; list++) {
        size_t length = strlen(list->name);
        bool whole = !strcmp(argv[*i], list->name) || !strcmp(argv[*i], list->letter);
        bool joined = !strncmp(argv[*i], list->name, length) && argv[*i][length] == '=';

        if (!whole && !(joined && list->value))
            continue;
        if (list->given)
            *list->given = true;
        if (joined)
            *list->value = argv[*i] + length + 1;
        else if (list->value && ++*i == argc)
            return tt_fail(e, TT_USAGE, "%s needs a value", list->name);
        else if (list->value)
            *list->value = argv[*i];
        return 1;
    }
    return 0;
}

/* What h5bench has for installing and debugging it is taken, and means nothing here. */
static int sort_words(struct session *s, int argc, char **argv, char **rest, int *nrest,
                      struct tt_error *e)
{
    const char *ignored = NULL;
    const struct own_option own[] = {
        {"--filter", "-f", &s->filter, NULL},
        {"--prefix", "-p", &ignored, NULL},
        {"--json", "--json", &s->json, NULL},
        {"--validate-mode", "-v", NULL, &s->validate_mode},
        {"--abort-on-failure", "-a", NULL, &s->abort_on_failure},
        {"--debug", "-d", NULL, NULL},
        {NULL, NULL, NULL, NULL},
    };

    for (int i = 0; i < argc; i++) {
        int rc = take_own(own, argc, argv, &i, e);

        if (rc < 0)
            return rc;
        if (rc == 0)
            rest[(*nrest)++] = argv[i];
    }
    return TT_OK;
}

static bool is_yes(const struct tt_setting *s)
{
    return !s->value || !strcmp(s->value, "yes") || !strcmp(s->value, "true") ||
           !strcmp(s->value, "on") || !strcmp(s->value, "1");
}

/* Settings that also say what the session does; --results is where its folder goes. */
static int look_at(struct session *s, struct tt_error *e)
{
    for (size_t i = 0; i < s->settings.n; i++) {
        const struct tt_setting *x = &s->settings.list[i];

        if (tt_same_key(x->key, "keep"))
            s->keep = is_yes(x);
        else if (tt_same_key(x->key, "quiet"))
            s->quiet = is_yes(x);
        else if (tt_same_key(x->key, "dry_run"))
            s->dry_run = is_yes(x);
        else if (tt_same_key(x->key, "backend") && x->value)
            s->backend = x->value;
        else if (tt_same_key(x->key, "results") && x->value)
            s->results = x->value;
        else if (tt_same_key(x->key, "csv"))
            return tt_fail(e, TT_USAGE, "--csv: benchmarks have a CSV_FILE each");
        else if (tt_same_key(x->key, "ranks") || !strcmp(x->key, "-n"))
            return tt_fail(e, TT_USAGE, "%s: the file says how many ranks, in mpi", x->place);
    }
    return s->json ? tt_outfile_check(s->json, e) : TT_OK;
}

static int read_words(struct session *s, int argc, char **argv, struct tt_error *e)
{
    char **rest = calloc((size_t)argc + 1, sizeof *rest);
    int nrest = 0, rc;

    if (!rest)
        return tt_fail_nomem(e, "arguments");
    rc = sort_words(s, argc, argv, rest, &nrest, e);
    if (rc == TT_OK)
        rc = tt_read_arguments(nrest, rest, tt_run_component.params, &s->settings, &s->path, e);
    if (rc == TT_OK && !s->path)
        rc = tt_fail(e, TT_USAGE, "h5bench needs a workflow: tutti h5bench FILE.json");
    if (rc == TT_OK)
        rc = look_at(s, e);
    free(rest);
    return rc;
}

/* ---- before ---- */

/* All are checked before the first is run. */
static int check_benchmark(struct session *s, struct tt_h5bench_benchmark *b, struct tt_error *e)
{
    struct tt_error inner = TT_ERROR_CLEAR;
    struct tt_config config;
    int rc = TT_OK;

    if (b->skipped || b->reason)
        return TT_OK;
    for (size_t i = 0; rc == TT_OK && i < s->settings.n; i++)
        rc = tt_settings_add(&b->settings, s->settings.list[i].key, s->settings.list[i].value,
                             s->settings.list[i].place, e);
    if (rc == TT_OK)
        rc = tt_settings_add(&b->settings, "keep", "yes", "tutti h5bench", e);
    if (rc != TT_OK)
        return rc;
    rc = tt_config_make(&config, b->workload, &b->settings, &inner);
    tt_config_free(&config);
    return rc == TT_OK
               ? TT_OK
               : tt_fail(e, rc, "%.100s: benchmark '%.40s': %s", b->place, b->name, inner.text);
}

static int make_directory(struct session *s, struct tt_error *e)
{
    if (mkdir(s->workflow.directory, 0777) == 0)
        s->made_directory = true;
    else if (errno != EEXIST)
        return tt_fail_call(e, errno, "mkdir", s->workflow.directory, -1);
    return TT_OK;
}

static int prepare(struct session *s, struct tt_error *e)
{
    bool is_hdf5 = !s->backend || !strcmp(s->backend, "hdf5");
    int rc = tt_h5bench_read(s->path, s->filter, is_hdf5, &s->workflow, e);

    for (size_t i = 0; rc == TT_OK && i < s->workflow.n; i++)
        rc = check_benchmark(s, &s->workflow.list[i], e);
    if (rc != TT_OK || s->dry_run)
        return rc;
    rc = make_directory(s, e);
    if (rc == TT_OK)
        rc = tt_folder_make(s->results, "h5bench-", &s->folder, e);
    for (size_t i = 0; rc == TT_OK && i < s->workflow.n; i++)
        rc = tt_settings_add(&s->workflow.list[i].settings, "results", s->folder, "tutti h5bench",
                             e);
    return rc;
}

/* ---- one benchmark ---- */

static void take_result(FILE *out, const json_t *result, void *context)
{
    struct session *s = context;

    (void)out;
    s->result = json_deep_copy(result);
}

static bool prints(const struct session *s)
{
    return !s->quiet && !(s->json && !strcmp(s->json, "-"));
}

static int write_csv(const struct session *s, const struct tt_h5bench_benchmark *b,
                     const json_t *figures, struct tt_error *e)
{
    const char *folder = json_string_value(json_object_get(s->result, "folder"));
    const char *slash = strrchr(b->csv_file, '/'), *name = slash ? slash + 1 : b->csv_file;
    char *path = folder ? tt_folder_path(folder, name) : NULL;
    struct tt_outfile file;
    int rc = path ? TT_OK : tt_fail_nomem(e, "a path");

    /* What the run itself has left there is not replaced. */
    if (rc == TT_OK &&
        (!*name || !strcmp(name, ".") || !strcmp(name, "..") || access(path, F_OK) == 0))
        rc = tt_fail(e, TT_USAGE, "CSV_FILE: '%.80s' is no name for a new file", b->csv_file);
    if (rc == TT_OK)
        rc = tt_outfile_open(&file, path, e);
    if (rc == TT_OK) {
        tt_h5bench_csv(file.stream, figures);
        rc = tt_outfile_close(&file, e);
    }
    free(path);
    return rc;
}

/* The mode that was asked for in the file, whatever the command line says. */
static const char *wrong_mode(const struct session *s, const struct tt_h5bench_benchmark *b)
{
    const json_t *plan = json_object_get(s->result, "plan");
    const char *overlap =
        json_string_value(json_object_get(json_object_get(plan, "parameters"), "overlap"));
    bool is_async = overlap && !strcmp(overlap, "async");

    if (!s->validate_mode || is_async == b->asynchronous)
        return NULL;
    return is_async ? "it ran asynchronously, not in MODE SYNC"
                    : "it ran synchronously, not in MODE ASYNC";
}

static int add_row(struct session *s, const struct tt_h5bench_benchmark *b, const char *status,
                   const char *reason, json_t *figures)
{
    json_t *row = json_pack("{s:s, s:s?, s:b, s:s, s:s?, s:o?, s:O?}", "benchmark", b->name, "file",
                            b->file, "reads", b->reads, "status", status, "reason", reason,
                            "figures", figures, "result", s->result);

    return json_array_append_new(s->rows, row);
}

static int run_benchmark(struct session *s, struct tt_h5bench_benchmark *b, struct tt_error *e)
{
    int status =
        tt_run_settings(b->workload, &b->settings, (struct tt_printer){take_result, s, true});
    json_t *figures = NULL;
    const char *wrong;
    int rc = TT_OK;

    if (status != 0 || !s->result)
        return add_row(s, b, "failed", "see the error above", NULL) ? tt_fail_nomem(e, "a row")
                                                                    : TT_OK;
    wrong = wrong_mode(s, b);
    figures = tt_h5bench_figures(s->result, b->operation, b->reads);
    if (!figures || add_row(s, b, wrong ? "failed" : "done", wrong, json_incref(figures)))
        rc = tt_fail_nomem(e, "a row");
    if (rc == TT_OK && prints(s))
        tt_h5bench_results(stdout, json_array_get(s->rows, json_array_size(s->rows) - 1),
                           json_array_size(s->rows), s->workflow.n);
    if (rc == TT_OK && b->csv_file)
        rc = write_csv(s, b, figures, e);
    fflush(stdout);
    json_decref(figures);
    return rc;
}

static bool has_failed(const struct session *s)
{
    for (size_t i = 0; i < json_array_size(s->rows); i++) {
        const json_t *status = json_object_get(json_array_get(s->rows, i), "status");

        if (!strcmp(json_string_value(status), "failed"))
            return true;
    }
    return false;
}

/* ---- run folders ---- */

typedef void visit_function(struct session *s, const char *folder, bool *found);

static bool each_folder(struct session *s, visit_function *visit)
{
    DIR *dir = opendir(s->folder);
    struct dirent *entry;
    bool found = false;

    while (dir && (entry = readdir(dir))) {
        char *folder = entry->d_name[0] == '.' ? NULL : tt_folder_path(s->folder, entry->d_name);

        if (folder)
            visit(s, folder, &found);
        free(folder);
    }
    if (dir)
        closedir(dir);
    return found;
}

static void look_for_interruption(struct session *s, const char *folder, bool *found)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    json_t *outcome = NULL;
    const char *status;

    (void)s;
    if (tt_folder_read_json(folder, "outcome.json", &outcome, &ignored) != TT_OK)
        return;
    status = json_string_value(json_object_get(outcome, "status"));
    *found |= status && !strcmp(status, "interrupted");
    json_decref(outcome);
}

static void remove_data(struct session *s, const char *folder, bool *found)
{
    struct tt_error e = TT_ERROR_CLEAR;

    (void)s;
    *found |= tt_manifest_remove(folder, &e) != TT_OK;
    if (e.code != TT_OK)
        tt_report_error(&e);
}

/* ---- all benchmarks ---- */

static int run_all(struct session *s, struct tt_error *e)
{
    const char *stop = NULL;
    int rc = TT_OK;

    for (size_t i = 0; rc == TT_OK && i < s->workflow.n; i++) {
        struct tt_h5bench_benchmark *b = &s->workflow.list[i];

        s->result = NULL;
        if (b->skipped)
            rc = add_row(s, b, "skipped", NULL, NULL) ? tt_fail_nomem(e, "a row") : TT_OK;
        else if (b->reason || stop)
            rc = add_row(s, b, "not run", b->reason ? b->reason : stop, NULL)
                     ? tt_fail_nomem(e, "a row")
                     : TT_OK;
        else
            rc = run_benchmark(s, b, e);
        json_decref(s->result);
        if (!stop && has_failed(s) && each_folder(s, look_for_interruption))
            stop = "the workflow was interrupted";
        else if (!stop && has_failed(s) && s->abort_on_failure)
            stop = "an earlier benchmark failed, and --abort-on-failure was given";
    }
    return rc;
}

static int dry_run(struct session *s)
{
    int status = 0;

    for (size_t i = 0; i < s->workflow.n; i++) {
        struct tt_h5bench_benchmark *b = &s->workflow.list[i];

        printf("%s%s%s%s\n", b->name,
               b->reason    ? ": "
               : b->skipped ? ": skipped"
                            : "",
               b->reason ? b->reason : "", b->reason || b->skipped ? "" : ":");
        if (!b->reason && !b->skipped && status == 0)
            status = tt_run_settings(b->workload, &b->settings,
                                     (struct tt_printer){take_result, s, true});
    }
    return status;
}

static int write_json(const struct session *s, struct tt_error *e)
{
    json_t *all = json_pack("{s:s, s:s, s:s, s:O}", "tutti", TT_VERSION, "workflow", s->path,
                            "folder", s->folder, "benchmarks", s->rows);
    struct tt_outfile file;
    int rc = all ? tt_outfile_open(&file, s->json, e) : tt_fail_nomem(e, "the results");

    if (rc == TT_OK) {
        int failed = json_dumpf(all, file.stream, JSON_INDENT(1) | JSON_REAL_PRECISION(17));

        fputc('\n', file.stream);
        rc = failed ? tt_outfile_discard(&file, tt_fail_nomem(e, "the results"))
                    : tt_outfile_close(&file, e);
    }
    json_decref(all);
    return rc;
}

/* 0 only if everything that was asked for was done. */
static int exit_status(const struct session *s)
{
    for (size_t i = 0; i < json_array_size(s->rows); i++) {
        const json_t *status = json_object_get(json_array_get(s->rows, i), "status");

        if (!strcmp(json_string_value(status), "failed") ||
            !strcmp(json_string_value(status), "not run"))
            return 1;
    }
    return 0;
}

/* A signal between two benchmarks waits for the next one, which it ends: files that later ones were
 * to use are removed in any case. */
static void hold_signals(sigset_t *before)
{
    sigset_t held;

    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGTERM);
    sigaddset(&held, SIGHUP);
    sigprocmask(SIG_BLOCK, &held, before);
}

static int perform(struct session *s, struct tt_error *e)
{
    sigset_t before;
    bool left = false;
    int rc;

    hold_signals(&before);
    if (prints(s))
        tt_h5bench_head(stdout, s->path, s->folder);
    fflush(stdout);
    rc = run_all(s, e);
    if (!s->keep)
        left = each_folder(s, remove_data);
    if (s->made_directory)
        rmdir(s->workflow.directory); /* if it is empty */
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (rc == TT_OK && prints(s))
        tt_h5bench_summary(stdout, s->rows);
    if (rc == TT_OK && s->json)
        rc = write_json(s, e);
    return rc != TT_OK ? tt_report_error(e) : left ? 1 : exit_status(s);
}

int tt_cmd_h5bench(int argc, char **argv)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct session s = {.results = "tutti-runs", .rows = json_array()};
    int status;

    if (read_words(&s, argc - 1, argv + 1, &e) != TT_OK || prepare(&s, &e) != TT_OK)
        status = tt_report_error(&e);
    else if (s.dry_run)
        status = dry_run(&s);
    else
        status = perform(&s, &e);
    tt_h5bench_free(&s.workflow);
    tt_settings_free(&s.settings);
    free(s.folder);
    json_decref(s.rows);
    return status;
}
