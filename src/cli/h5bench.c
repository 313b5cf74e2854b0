/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti h5bench: what it is asked for, all checked before the first benchmark is run. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/command.h"
#include "cli/h5bench_past.h"
#include "cli/h5bench_session.h"
#include "plan/config.h"
#include "plan/directory.h"
#include "report/outfile.h"
#include "spec/read.h"

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
static int sort_words(struct tt_h5bench_session *s, int argc, char **argv, char **rest, int *nrest,
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

/* Settings that also say what the session does; --results is where its directory goes. */
static int look_at(struct tt_h5bench_session *s, struct tt_error *e)
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
        else if (tt_same_key(x->key, "dir") && x->value)
            s->data_directory = x->value;
        else if (tt_same_key(x->key, "csv"))
            return tt_fail(e, TT_USAGE, "--csv: benchmarks have a CSV_FILE each");
        else if (tt_same_key(x->key, "ranks") || !strcmp(x->key, "-n"))
            return tt_fail(e, TT_USAGE, "%s: the file says how many ranks, in mpi", x->place);
    }
    return s->json ? tt_outfile_check(s->json, e) : TT_OK;
}

static int read_words(struct tt_h5bench_session *s, int argc, char **argv, struct tt_error *e)
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
static int check_benchmark(struct tt_h5bench_session *s, struct tt_h5bench_benchmark *b,
                           struct tt_error *e)
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

static int make_directory(struct tt_h5bench_session *s, struct tt_error *e)
{
    if (mkdir(s->workflow.directory, 0777) == 0)
        s->made_directory = true;
    else if (errno != EEXIST)
        return tt_fail_call(e, errno, "mkdir", s->workflow.directory, -1);
    return TT_OK;
}

static int prepare(struct tt_h5bench_session *s, struct tt_error *e)
{
    bool is_hdf5 = !s->backend || !strcmp(s->backend, "hdf5");
    struct tt_h5bench_past_context before = {s->results, s->data_directory};
    struct tt_h5bench_past past = {tt_h5bench_look_back, &before};
    int rc = tt_h5bench_read(s->path, s->filter, is_hdf5, &past, &s->workflow, e);

    for (size_t i = 0; rc == TT_OK && i < s->workflow.n; i++)
        rc = check_benchmark(s, &s->workflow.list[i], e);
    if (rc != TT_OK || s->dry_run)
        return rc;
    rc = make_directory(s, e);
    if (rc == TT_OK)
        rc = tt_directory_make(s->results, "h5bench-", &s->directory, e);
    for (size_t i = 0; rc == TT_OK && i < s->workflow.n; i++)
        rc = tt_settings_add(&s->workflow.list[i].settings, "results", s->directory,
                             "tutti h5bench", e);
    return rc;
}

int tt_cmd_h5bench(int argc, char **argv)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_h5bench_session s = {.results = "tutti-runs", .rows = json_array()};
    int status;

    if (read_words(&s, argc - 1, argv + 1, &e) != TT_OK || prepare(&s, &e) != TT_OK)
        status = tt_report_error(&e);
    else if (s.dry_run)
        status = tt_h5bench_dry_run(&s);
    else
        status = tt_h5bench_perform(&s, &e);
    tt_h5bench_free(&s.workflow);
    tt_settings_free(&s.settings);
    free(s.directory);
    json_decref(s.rows);
    return status;
}
