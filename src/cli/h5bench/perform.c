/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The benchmarks of a workflow one after the other, each with ranks of its own. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/result.h"
#include "base/json.h"
#include "base/text.h"
#include "build_info.h"
#include "cli/command.h"
#include "cli/h5bench/session.h"
#include "cli/run.h"
#include "plan/directory.h"
#include "plan/removal.h"
#include "report/h5bench.h"
#include "report/outfile.h"
#include "report/report.h"

/* ---- the run directories of the benchmarks ---- */

typedef bool visit_function(const struct tt_h5bench_session *s, const char *directory);

/* True: it was for one of them. */
static bool visit_each(const struct tt_h5bench_session *s, visit_function *visit)
{
    DIR *dir = opendir(s->directory);
    struct dirent *entry;
    bool found = false;

    while (dir && (entry = readdir(dir))) {
        char *directory =
            entry->d_name[0] == '.' ? NULL : tt_directory_path(s->directory, entry->d_name);

        if (directory)
            found |= visit(s, directory);
        free(directory);
    }
    if (dir)
        closedir(dir);
    return found;
}

static bool is_interrupted(const struct tt_h5bench_session *s, const char *directory)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    json_t *outcome = NULL;
    const char *status;
    bool found;

    (void)s;
    if (tt_directory_read_json(directory, "outcome.json", &outcome, &ignored) != TT_OK)
        return false;
    status = json_string_value(json_object_get(outcome, "status"));
    found = status && !strcmp(status, "interrupted");
    json_decref(outcome);
    return found;
}

/* Whether the file says that what this run has made stays. */
static bool is_kept(const struct tt_h5bench_session *s, const char *directory)
{
    for (size_t i = 0; i < json_array_size(s->rows); i++) {
        const json_t *result = json_object_get(json_array_get(s->rows, i), "result");

        if (s->workflow.list[i].keeps && !strcmp(tt_text_of(result, "directory"), directory))
            return true;
    }
    return false;
}

static bool remove_data(const struct tt_h5bench_session *s, const char *directory)
{
    struct tt_error e = TT_ERROR_CLEAR;
    bool failed = !is_kept(s, directory) && tt_manifest_remove(directory, &e) != TT_OK;

    if (e.code != TT_OK)
        tt_report_error(&e);
    return failed;
}

/* ---- one benchmark ---- */

static void take_result(FILE *out, const json_t *result, void *context)
{
    struct tt_h5bench_session *s = context;

    (void)out;
    s->result = json_deep_copy(result);
}

static bool prints(const struct tt_h5bench_session *s)
{
    return !s->quiet && !tt_is_stdout(s->o->json);
}

static int write_csv(const struct tt_h5bench_session *s, const struct tt_h5bench_benchmark *b,
                     const json_t *figures, struct tt_error *e)
{
    const char *directory = json_string_value(json_object_get(s->result, "directory"));
    const char *slash = strrchr(b->csv_file, '/'), *name = slash ? slash + 1 : b->csv_file;
    char *path = directory ? tt_directory_path(directory, name) : NULL;
    struct tt_outfile file;
    int rc = path ? TT_OK : tt_fail_nomem(e, "a path");

    /* What the run itself has left there is not replaced. */
    if (rc == TT_OK &&
        (!*name || !strcmp(name, ".") || !strcmp(name, "..") || access(path, F_OK) == 0))
        rc = tt_fail(e, TT_USAGE, "CSV_FILE: '%.80s' cannot name a new file", b->csv_file);
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
static const char *wrong_mode(const struct tt_h5bench_session *s,
                              const struct tt_h5bench_benchmark *b)
{
    const json_t *plan = json_object_get(s->result, "plan");
    const char *overlap = json_string_value(tt_member_at(plan, "parameters/overlap"));
    bool is_async = overlap && !strcmp(overlap, "async");
    bool is_log = strstr(tt_result_parameter(s->result, "layers"), "log") ||
                  *tt_result_parameter(s->result, "hdf5.vol");

    if (!s->o->validate_mode)
        return NULL;
    if (b->logs && !is_log)
        return "it ran without a log, not in MODE LOG";
    if (is_async == b->asynchronous)
        return NULL;
    if (b->logs)
        return "it ran asynchronously, not in MODE LOG";
    return is_async ? "it ran asynchronously, not in MODE SYNC"
                    : "it ran synchronously, not in MODE ASYNC";
}

/* Bytes of a compressed file that a benchmark has written; 0: it is not one. */
static double stored_bytes(const struct tt_h5bench_session *s, const struct tt_h5bench_benchmark *b)
{
    const char *directory = s->data_directory ? s->data_directory : s->workflow.directory;
    const char *filter = json_string_value(tt_member_at(s->result, "plan/parameters/hdf5.filter"));
    char *path = tt_h5bench_file(directory, b->file, false);
    struct stat st;
    double bytes = 0;

    if (path && b->creates && !b->per_process && filter && *filter && stat(path, &st) == 0)
        bytes = (double)st.st_size;
    free(path);
    return bytes;
}

/* Whether what was read was compared with what had been written. */
static bool was_verified(const struct tt_h5bench_session *s, const struct tt_h5bench_benchmark *b)
{
    char key[64];
    const char *verify;

    snprintf(key, sizeof key, "plan/parameters/%s.verify", b->workload);
    verify = json_string_value(tt_member_at(s->result, key));

    return b->reads && verify && !strcmp(verify, "yes");
}

static int add_row(struct tt_h5bench_session *s, const struct tt_h5bench_benchmark *b,
                   const char *status, const char *reason, json_t *figures, struct tt_error *e)
{
    const char *notice = figures ? b->notice : NULL;
    const char *connector = figures && b->asynchronous ? s->workflow.connector : NULL;
    json_t *row = json_pack("{s:s, s:s?, s:b, s:s, s:s?, s:s?, s:s?, s:o?, s:O?}", "benchmark",
                            b->name, "file", b->file, "reads", b->reads, "status", status, "reason",
                            reason, "notice", notice, "connector_not_loaded", connector, "figures",
                            figures, "result", s->result);
    double stored = figures ? stored_bytes(s, b) : 0;

    if (stored > 0)
        json_object_set_new(row, "stored", json_real(stored));
    if (figures && was_verified(s, b))
        json_object_set_new(row, "verified", json_true());
    return json_array_append_new(s->rows, row) ? tt_fail_nomem(e, "a row") : TT_OK;
}

/* What is wrong with a benchmark that has been run; NULL: nothing. */
static const char *shortcoming(const struct tt_h5bench_session *s,
                               const struct tt_h5bench_benchmark *b, const json_t *figures,
                               struct tt_error *why)
{
    const char *wrong = wrong_mode(s, b);

    if (!b->csv_file || write_csv(s, b, figures, why) == TT_OK)
        return wrong;
    tt_report_error(why);
    return wrong ? wrong : "its CSV_FILE could not be written, see the error above";
}

static int run_benchmark(struct tt_h5bench_session *s, struct tt_h5bench_benchmark *b,
                         struct tt_error *e)
{
    int status =
        tt_run_settings(b->workload, &b->settings, (struct tt_printer){take_result, s, true});
    struct tt_error why = TT_ERROR_CLEAR;
    json_t *figures;
    const char *wrong;
    int rc;

    if (status != 0 || !s->result)
        return add_row(s, b, visit_each(s, is_interrupted) ? "interrupted" : "failed",
                       "see the error above", NULL, e);
    figures = tt_h5bench_figures(s->result, b->operation, b->reads);
    if (!figures)
        return tt_fail_nomem(e, "figures");
    wrong = shortcoming(s, b, figures, &why);
    rc = add_row(s, b, wrong ? "failed" : "done", wrong, figures, e);
    if (rc == TT_OK && prints(s))
        tt_h5bench_results(stdout, json_array_get(s->rows, json_array_size(s->rows) - 1),
                           json_array_size(s->rows), s->workflow.n);
    fflush(stdout);
    return rc;
}

/* ---- files of earlier benchmarks ---- */

static bool has_status(const struct tt_h5bench_session *s, size_t i, const char *status)
{
    const json_t *row = json_array_get(s->rows, i);

    return !strcmp(json_string_value(json_object_get(row, "status")), status);
}

static bool share_file(const struct tt_h5bench_session *s, size_t i, size_t j)
{
    const struct tt_h5bench_benchmark *list = s->workflow.list;

    return list[i].file && list[j].file && !strcmp(list[i].file, list[j].file);
}

/* Whether it is in doubt what is in the file, because the last one to write it failed. */
static bool is_spoilt(const struct tt_h5bench_session *s, size_t i)
{
    for (size_t j = i; j-- > 0;) {
        const struct tt_h5bench_benchmark *b = &s->workflow.list[j];
        const json_t *row = json_array_get(s->rows, j);
        bool was_run = has_status(s, j, "done") || has_status(s, j, "failed");

        if (!share_file(s, i, j) || b->reads || (!was_run && !b->unusable))
            continue;
        if (!json_is_object(json_object_get(row, "figures")))
            return true;
        if (strcmp(b->operation, "append") != 0) /* which leaves the rest as it was */
            return false;
    }
    return false;
}

static const char *why_missing(const struct tt_h5bench_session *s, size_t i)
{
    size_t j = i;

    while (j > 0 && !(s->workflow.list[j - 1].creates && share_file(s, i, j - 1)))
        j--;
    if (j == 0)
        return "no benchmark before it makes it";
    if (has_status(s, j - 1, "skipped"))
        return "--filter leaves out the benchmark that makes it";
    return has_status(s, j - 1, "done") ? "it was made, and is gone"
                                        : "the benchmark that makes it was not done";
}

static int check_file(const struct tt_h5bench_session *s, size_t i, struct tt_error *why)
{
    const struct tt_h5bench_benchmark *b = &s->workflow.list[i];
    const char *directory = s->data_directory ? s->data_directory : s->workflow.directory;
    char *path = tt_h5bench_file(directory, b->file, b->per_process);
    int rc = TT_OK;

    if (path && access(path, F_OK) != 0 && errno == ENOENT)
        rc = tt_fail(why, TT_FAILED, "benchmark '%.40s': '%.300s' is not there: %s", b->name, path,
                     why_missing(s, i));
    free(path);
    return rc;
}

static int run_on_file(struct tt_h5bench_session *s, size_t i, struct tt_error *e)
{
    struct tt_h5bench_benchmark *b = &s->workflow.list[i];
    struct tt_error why = TT_ERROR_CLEAR;
    char key[64];

    if ((b->reads || b->changes) && check_file(s, i, &why) != TT_OK) {
        tt_report_error(&why);
        return add_row(s, b, "failed", why.text, NULL, e);
    }
    if (b->reads && is_spoilt(s, i)) {
        b->notice = "not checked: an earlier benchmark failed to write the file";
        snprintf(key, sizeof key, "%s.verify", b->workload);
        tt_settings_put(&b->settings, "tutti h5bench", key, "no");
    }
    return run_benchmark(s, b, e);
}

/* ---- all benchmarks ---- */

static bool has_failed(const struct tt_h5bench_session *s)
{
    for (size_t i = 0; i < json_array_size(s->rows); i++)
        if (has_status(s, i, "failed"))
            return true;
    return false;
}

static int run_all(struct tt_h5bench_session *s, struct tt_error *e)
{
    const char *stop = NULL;
    int rc = TT_OK;

    for (size_t i = 0; rc == TT_OK && i < s->workflow.n; i++) {
        struct tt_h5bench_benchmark *b = &s->workflow.list[i];

        s->result = NULL;
        if (b->skipped)
            rc = add_row(s, b, "skipped", NULL, NULL, e);
        else if (b->reason || stop)
            rc = add_row(s, b, "not run", b->reason ? b->reason : stop, NULL, e);
        else
            rc = run_on_file(s, i, e);
        json_decref(s->result);
        if (rc == TT_OK && !stop && has_status(s, i, "interrupted"))
            stop = "the workflow was interrupted";
        else if (!stop && has_failed(s) && s->o->abort_on_failure)
            stop = "an earlier benchmark failed, and --abort-on-failure was given";
    }
    return rc;
}

int tt_h5bench_dry_run(struct tt_h5bench_session *s)
{
    int status = 0;
    bool left_out = false;

    tt_h5bench_connector(stdout, s->workflow.connector);
    for (size_t i = 0; i < s->workflow.n; i++) {
        struct tt_h5bench_benchmark *b = &s->workflow.list[i];

        printf("%s%s%s%s\n", b->name,
               b->reason    ? ": "
               : b->skipped ? ": skipped"
                            : "",
               b->reason ? b->reason : "", b->reason || b->skipped ? "" : ":");
        left_out |= b->unusable;
        if (!b->reason && !b->skipped && status == 0)
            status = tt_run_settings(
                b->workload, &b->settings,
                (struct tt_printer){
                    .print = take_result, .context = s, .always = true, .dir_later = true});
    }
    return status == 0 && left_out ? 1 : status;
}

static int write_json(const struct tt_h5bench_session *s, struct tt_error *e)
{
    json_t *rows = json_array(), *row, *all;
    size_t i;
    int rc;

    json_array_foreach(s->rows, i, row)
    {
        const json_t *result = json_object_get(row, "result");
        json_t *copy = json_copy(row);

        if (json_is_object(result))
            json_object_set_new(copy, "result", tt_report_typed(result));
        json_array_append_new(rows, copy);
    }
    all = json_pack("{s:s, s:o, s:o, s:o}", "tutti", TT_VERSION, "workflow", tt_json_text(s->path),
                    "directory", tt_json_text(s->directory), "benchmarks", rows);
    rc = all ? tt_outfile_json(s->o->json, all, e) : tt_fail_nomem(e, "the results");
    json_decref(all);
    return rc;
}

/* 0 only if everything that was asked for was done. */
static int exit_status(const struct tt_h5bench_session *s)
{
    for (size_t i = 0; i < json_array_size(s->rows); i++)
        if (has_status(s, i, "failed") || has_status(s, i, "interrupted") ||
            has_status(s, i, "not run"))
            return 1;
    return 0;
}

static int add_to_path(const char *name, const char *more, struct tt_error *e)
{
    const char *before = getenv(name);
    char *text = NULL;
    int rc = TT_OK;

    if (!more)
        return TT_OK;
    if (asprintf(&text, "%s%s%s", before ? before : "", before && *before ? ":" : "", more) < 0 ||
        setenv(name, text, 1) != 0)
        rc = tt_fail_nomem(e, name);
    free(text);
    return rc;
}

/* As h5bench has it for connectors; all that is started from here on gets it. */
static int set_environment(const struct tt_h5bench_workflow *w, struct tt_error *e)
{
    int rc = add_to_path("LD_LIBRARY_PATH", w->library, e);

    if (rc == TT_OK)
        rc = add_to_path("LD_PRELOAD", w->preload, e);
    if (rc == TT_OK && w->path &&
        (setenv("HDF5_PLUGIN_PATH", w->path, 1) != 0 ||
         setenv("ABT_THREAD_STACKSIZE", "100000", 1) != 0))
        rc = tt_fail_nomem(e, "HDF5_PLUGIN_PATH");
    return rc;
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

int tt_h5bench_perform(struct tt_h5bench_session *s, struct tt_error *e)
{
    sigset_t before;
    bool left = false;
    int rc;

    hold_signals(&before);
    if (prints(s)) {
        tt_h5bench_head(stdout, s->path, s->directory);
        tt_h5bench_connector(stdout, s->workflow.connector);
    }
    fflush(stdout);
    rc = set_environment(&s->workflow, e);
    if (rc == TT_OK)
        rc = run_all(s, e);
    if (!s->keep)
        left = visit_each(s, remove_data);
    if (s->made_directory)
        rmdir(s->workflow.directory); /* if it is empty */
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (rc == TT_OK && prints(s))
        tt_h5bench_summary(stdout, s->rows);
    if (rc == TT_OK && s->o->json)
        rc = write_json(s, e);
    return rc != TT_OK ? rc : left ? 1 : exit_status(s);
}
