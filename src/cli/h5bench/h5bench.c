/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti h5bench: what it is asked for, all checked before the first benchmark is run. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/notice.h"
#include "cli/command.h"
#include "cli/h5bench/session.h"
#include "plan/config.h"
#include "plan/directory.h"
#include "plan/registry.h"
#include "report/outfile.h"

/* ---- what it is asked for ---- */

#define AT(member) offsetof(struct tt_h5bench_options, member)
static const struct tt_param params[] = {
    {"filter", TT_PARAM_TEXT, AT(filter), NULL, NULL, "run only these benchmarks", .flag = "-f",
     .placeholder = "NAME,..."},
    {"validate_mode", TT_PARAM_BOOL, AT(validate_mode), NULL, NULL,
     "a benchmark that did not run in its MODE has failed", .flag = "-v"},
    {"abort_on_failure", TT_PARAM_BOOL, AT(abort_on_failure), NULL, NULL,
     "run no further benchmark after one that failed", .flag = "-a"},
    {"json", TT_PARAM_TEXT, AT(json), NULL, NULL,
     "write the results of all benchmarks; -: to stdout, instead of the tables",
     .placeholder = "FILE"},
    {"debug", TT_PARAM_BOOL, AT(debug), NULL, NULL, "accepted, without effect", .flag = "-d"},
    {"prefix", TT_PARAM_TEXT, AT(prefix), NULL, NULL, "accepted, without effect", .flag = "-p",
     .placeholder = "DIR"},
    {NULL},
};

static bool is_yes(const struct tt_setting *s)
{
    return !s->value || !strcmp(s->value, "yes") || !strcmp(s->value, "true") ||
           !strcmp(s->value, "on") || !strcmp(s->value, "1");
}

/* Settings that also say what the session does; --results is where its directory goes. */
static int look_at(struct tt_h5bench_session *s, struct tt_error *e)
{
    for (size_t i = 0; i < s->settings->n; i++) {
        const struct tt_setting *x = &s->settings->list[i];

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
        else if (tt_same_key(x->key, "dir") && x->value)
            s->data_directory = x->value;
        else if (tt_same_key(x->key, "csv"))
            return tt_fail(e, TT_USAGE, "--csv: benchmarks have a CSV_FILE each");
        else if (tt_same_key(x->key, "ranks") || !strcmp(x->key, "-n"))
            return tt_fail(e, TT_USAGE, "%s: the file says how many ranks, in mpi", x->place);
    }
    return s->o->json ? tt_outfile_check(s->o->json, e) : TT_OK;
}

/* ---- before ---- */

/* The key is there with a device only, and the user may want none. */
static void put_staging(const struct tt_settings *given, struct tt_h5bench_benchmark *b)
{
    const struct tt_setting *device = tt_settings_find(given, "device");

    if (b->on_gpu && !(device && !strcmp(device->value, "host")))
        tt_settings_put(&b->settings, b->place, "device.staging", "pageable");
}

/* All are checked before the first is run. What is wrong with one is its reason not to be. */
static int check_benchmark(struct tt_h5bench_session *s, struct tt_h5bench_benchmark *b,
                           struct tt_error *e)
{
    struct tt_error inner = TT_ERROR_CLEAR;
    struct tt_config config;
    int rc;

    if (b->skipped || b->reason)
        return TT_OK;
    put_staging(s->settings, b);
    rc = tt_settings_append(&b->settings, s->settings, e);
    tt_settings_put(&b->settings, "tutti h5bench", "keep", "yes");
    if (rc != TT_OK)
        return rc;
    rc = tt_config_make(&config, b->workload, &b->settings, &inner);
    tt_config_free(&config);
    if (rc != TT_OK &&
        asprintf(&b->reason, "%.100s: benchmark '%.40s': %s", b->place, b->name, inner.text) < 0)
        return tt_fail_nomem(e, "a reason");
    b->unusable = rc != TT_OK;
    return TT_OK;
}

/* Benchmarks that cannot be used are left out, unless no other is left, or none may fail. */
static int leave_out(const struct tt_h5bench_session *s, struct tt_error *e)
{
    const struct tt_h5bench_benchmark *wrong = NULL;
    size_t usable = 0;

    for (size_t i = s->workflow.n; i-- > 0;) {
        const struct tt_h5bench_benchmark *b = &s->workflow.list[i];

        usable += !b->skipped && !b->reason;
        wrong = b->unusable ? b : wrong;
    }
    if (wrong && (usable == 0 || s->o->abort_on_failure))
        return tt_fail(e, TT_USAGE, "%s", wrong->reason);
    for (size_t i = 0; i < s->workflow.n; i++)
        if (s->workflow.list[i].unusable)
            tt_notice_same("%s; benchmark %zu is left out", s->workflow.list[i].reason, i + 1);
    return TT_OK;
}

/* Event sets came to HDF5 with connectors that use them. */
static enum tt_h5bench_backend backend_of(const struct tt_h5bench_session *s)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    const struct tt_backend *hdf5 = tt_find_backend("hdf5", &ignored);

    if (s->backend && strcmp(s->backend, "hdf5") != 0)
        return TT_H5BENCH_OTHER;
    return hdf5 && hdf5->caps & TT_CAP_NONBLOCKING ? TT_H5BENCH_HDF5_CONNECTORS : TT_H5BENCH_HDF5;
}

static int prepare(struct tt_h5bench_session *s, struct tt_error *e)
{
    struct tt_h5bench_past_context before = {s->results, s->data_directory};
    struct tt_h5bench_past past = {tt_h5bench_look_back, &before};
    int rc = tt_h5bench_read(s->path, s->o->filter, backend_of(s), &past, &s->workflow, e);

    for (size_t i = 0; rc == TT_OK && i < s->workflow.n; i++)
        rc = check_benchmark(s, &s->workflow.list[i], e);
    if (rc == TT_OK)
        rc = leave_out(s, e);
    if (rc != TT_OK || s->dry_run)
        return rc;
    s->made_directory = mkdir(s->workflow.directory, 0777) == 0;
    if (!s->made_directory && errno != EEXIST)
        rc = tt_fail_call(e, errno, "mkdir", s->workflow.directory, -1);
    if (rc == TT_OK)
        rc = tt_directory_make(s->results, "h5bench-", &s->directory, e);
    for (size_t i = 0; rc == TT_OK && i < s->workflow.n; i++)
        rc = tt_settings_add(&s->workflow.list[i].settings, "results", s->directory,
                             "tutti h5bench", e);
    return rc;
}

static int run(struct tt_invocation *call, struct tt_error *e)
{
    struct tt_h5bench_session s = {.o = call->opts,
                                   .settings = &call->settings,
                                   .path = call->words[0],
                                   .results = "tutti-runs",
                                   .rows = json_array()};
    int rc = call->nwords
                 ? look_at(&s, e)
                 : tt_fail(e, TT_USAGE, "h5bench needs a workflow: tutti h5bench FILE.json");

    if (rc == TT_OK)
        rc = prepare(&s, e);
    if (rc == TT_OK)
        rc = s.dry_run ? tt_h5bench_dry_run(&s) : tt_h5bench_perform(&s, e);
    tt_h5bench_free(&s.workflow);
    free(s.directory);
    json_decref(s.rows);
    return rc;
}

const struct tt_command tt_command_h5bench = {
    .name = "h5bench",
    .summary = "run a workflow of h5bench: tutti h5bench FILE.json",
    .synopsis =
        "tutti h5bench [--filter NAME,...] [--validate-mode] [--abort-on-failure] FILE.json",
    .text = "Run the benchmarks of h5bench's JSON file one after the other, as workloads of "
            "tutti, and print h5bench's metrics and one summary. It starts the ranks itself, "
            "as many as the file says. The exit status is 0 only if all benchmarks were done.",
    .run = run,
    .options = &(const struct tt_options){params, sizeof(struct tt_h5bench_options)},
    .job = &tt_run_component,
    .also = "run, for every benchmark",
    .max_words = 1,
};
