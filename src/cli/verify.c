/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti verify: kept data files against the ledgers that the verify layer left in the run
 * directory. */
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/command.h"
#include "cli/rank.h"
#include "cli/result.h"
#include "engine/guard.h"
#include "io/layers/verify/check.h"
#include "launch/launch.h"
#include "plan/directory.h"
#include "record/records.h"
#include "plan/module.h"
#include "plan/removal.h"
#include "spec/units.h"

/* What an earlier verify has left beside the ledgers. */
static void forget_earlier(const char *directory)
{
    static const char *const left[] = {"outcome.json", "notes", "failure"};

    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        char *path = NULL;

        if (asprintf(&path, "%s/verify/%s", directory, left[i]) >= 0)
            unlink(path);
        free(path);
    }
}

/* ---- as ranks ---- */

/* From before MPI_Init on. The notes of rank 0 tell the driver that it has begun; they are a new
 * file, since the directory may be anybody's. */
static void start_guard(const char *directory, const struct tt_config *config)
{
    char *ledgers = config ? tt_directory_path(directory, "verify") : NULL;

    tt_guard_start(config ? config->run->patience : TT_PATIENCE);
    if (ledgers && tt_launched_rank() == 0) {
        forget_earlier(directory);
        tt_guard_directory(ledgers, 0, 1);
    }
    free(ledgers);
}

static int verify_here(const char *directory, const struct tt_config *config, const char *id,
                       struct tt_verify_report *all, struct tt_error *e)
{
    const struct tt_verify_owner owner = {id, tt_check_data};
    struct tt_verify_report mine = {0};
    uint64_t counts[3], sums[3];
    int size, rc = TT_OK;

    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (config->run->ranks != (uint64_t)size)
        return tt_fail(e, TT_USAGE, "the run had %llu ranks, so verify needs as many, not %d",
                       (unsigned long long)config->run->ranks, size);
    rc = tt_verify_directory(MPI_COMM_WORLD, &config->stack, directory, &owner, &mine, e);
    counts[0] = mine.blocks;
    counts[1] = mine.bytes;
    counts[2] = mine.wrong_blocks;
    MPI_Allreduce(counts, sums, 3, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    *all = (struct tt_verify_report){sums[0], sums[1], sums[2]};
    return rc;
}

static int write_outcome(const char *directory, const struct tt_verify_report *r, int rc,
                         const struct tt_error *why, struct tt_error *e)
{
    char text[1024] = "";
    json_t *o;

    if (rc != TT_OK)
        tt_error_format(why, text, sizeof text);
    o = json_pack("{s:I, s:I, s:I, s:s, s:i}", "blocks", (json_int_t)r->blocks, "bytes",
                  (json_int_t)r->bytes, "wrong_blocks", (json_int_t)r->wrong_blocks, "error", text,
                  "code", rc);
    rc = tt_directory_write_json(directory, "verify/outcome.json", o, e);
    json_decref(o);
    return rc;
}

static int verify_as_ranks(const char *directory)
{
    struct tt_error e = TT_ERROR_CLEAR, later = TT_ERROR_CLEAR;
    struct tt_verify_report report = {0};
    struct tt_settings none = {0};
    struct tt_config config = {0};
    json_t *plan = NULL;
    int level, rank, rc = tt_directory_load_plan(directory, TT_PLAN_TO_RUN, &config, &plan, &e);

    start_guard(directory, rc == TT_OK ? &config : NULL);
    if (tt_ranks_begin(&none, false, &level, &later) != TT_OK)
        return tt_exit_status(later.code);
    tt_settings_free(&none);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rc == TT_OK)
        rc = verify_here(directory, &config, tt_plan_id(directory, plan, &e), &report, &e);
    json_decref(plan);
    if (rank == 0 && rc != TT_USAGE && write_outcome(directory, &report, rc, &e, &later) != TT_OK)
        rc = rc == TT_OK ? later.code : rc;
    if (rank == 0)
        tt_guard_forget();
    tt_config_free(&config);
    tt_ranks_end();
    return rc == TT_OK ? 0 : rank == 0 ? tt_report_error(e.code ? &e : &later) : tt_exit_status(rc);
}

/* ---- the driver ---- */

static int print_outcome(const char *directory, const char *ledgers, struct tt_error *e)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    char bytes[TT_UNIT_TEXT], words[256];
    json_t *o = NULL;
    const char *why;
    int rc = tt_directory_read_json(directory, "verify/outcome.json", &o, &ignored);

    if (rc != TT_OK) {
        tt_job_words(ledgers, words, sizeof words);
        return tt_fail(e, TT_FAILED, "verifying has no outcome: %s (more: %s/stderr)", words,
                       ledgers);
    }
    why = json_string_value(json_object_get(o, "error"));
    if (why && why[0])
        rc = tt_fail(e, TT_CORRUPT, "%s", why);
    else if (tt_integer_of(o, "blocks") == 0)
        rc = tt_fail(e, TT_CORRUPT, "%s has no block to verify: its ledgers are empty or gone",
                     directory);
    else
        printf("verified %lld blocks, %s: all as written\n", (long long)tt_integer_of(o, "blocks"),
               tt_format_bytes((double)tt_integer_of(o, "bytes"), bytes));
    json_decref(o);
    return rc;
}

/* A directory is untrusted: it must not send us elsewhere, nor make us start more ranks than it
 * had.
 */
static int check_directory(const char *directory, const char *ledgers, uint64_t ranks,
                           struct tt_error *e)
{
    struct stat st;

    if (!ledgers || lstat(ledgers, &st) != 0 || !S_ISDIR(st.st_mode))
        return tt_fail(e, TT_USAGE,
                       "%s has no ledgers: run with --layers verify --keep to verify later",
                       directory);
    if (!tt_records_have(directory, (long long)ranks - 1))
        return tt_fail(e, TT_CORRUPT,
                       "%s has no records of rank %llu, although its plan has that rank", directory,
                       (unsigned long long)ranks - 1);
    return TT_OK;
}

/* How ranks are started is never taken from the directory, but from words of this command. */
static int take_launch(const struct tt_settings *words, struct tt_launch_options *out,
                       struct tt_error *e)
{
    int rc = tt_params_default(tt_launch_component.params, out, e);

    for (size_t i = 0; rc == TT_OK && i < words->n; i++) {
        const struct tt_setting *s = &words->list[i];
        const struct tt_param *p = tt_launch_component.params;

        if (!strcmp(s->key, "module"))
            continue;
        while (p->key && (strncmp(s->key, "launch.", 7) != 0 || !tt_same_key(p->key, s->key + 7)))
            p++;
        if (!p->key || (!s->value && p->type != TT_PARAM_BOOL))
            return tt_fail(e, TT_USAGE,
                           "%.80s: verify takes a run directory, --module and the options "
                           "--launch.*, each with a value; tutti help launch lists them",
                           s->place);
        rc = tt_param_set(p, out, s->value ? s->value : "yes", e);
    }
    return rc;
}

static int drive(const char *directory, const struct tt_settings *words, struct tt_error *e)
{
    struct tt_launch_options launch = {0};
    char self[PATH_MAX] = "";
    const struct tt_setting *module = tt_settings_find(words, "module");
    char *argv[] = {self,
                    "verify",
                    (char *)directory,
                    module ? "--module" : NULL,
                    module ? module->value : NULL,
                    NULL};
    char *ledgers = tt_directory_path(directory, "verify");
    struct tt_config config = {0};
    int rc = take_launch(words, &launch, e), status;

    if (rc == TT_OK)
        rc = tt_directory_load_plan(directory, TT_PLAN_TO_RUN, &config, NULL, e);
    if (rc == TT_OK)
        rc = check_directory(directory, ledgers, config.run->ranks, e);
    if (rc == TT_OK)
        rc = tt_own_program(self, e);
    if (rc == TT_OK)
        forget_earlier(directory);
    if (rc == TT_OK)
        rc = tt_launch_and_wait(&(struct tt_launch){.options = &launch,
                                                    .directory = ledgers,
                                                    .ranks = (unsigned)config.run->ranks,
                                                    .words = argv,
                                                    .run = config.run},
                                true, &status, e);
    if (rc == TT_OK)
        rc = print_outcome(directory, ledgers, e);
    tt_params_free(tt_launch_component.params, &launch);
    tt_config_free(&config);
    free(ledgers);
    return rc;
}

static int run(struct tt_invocation *call, struct tt_error *e)
{
    const struct tt_setting *module = tt_settings_find(&call->settings, "module");
    char *directory = NULL;
    int rc = TT_OK;

    if (call->nwords == 0)
        return tt_fail(e, TT_USAGE,
                       "verify takes a run directory or an id: tutti verify DIRECTORY|ID");
    if (module && module->value)
        rc = tt_module_open_listed(module->value, e);
    if (rc == TT_OK && tt_launched_size() > 0)
        return verify_as_ranks(call->words[0]);
    if (rc == TT_OK)
        rc = tt_find_run(call->words[0], &directory, e);
    if (rc == TT_OK)
        rc = drive(directory, &call->settings, e);
    free(directory);
    return rc;
}

const struct tt_command tt_command_verify = {
    .name = "verify",
    .summary = "check the kept data files of a run against what it wrote",
    .synopsis = "tutti verify DIRECTORY|ID [--launch.by local|slurm|batch ...]",
    .text = "Check the data files that a run with the layer verify has kept.",
    .run = run,
    .job = &tt_launch_component,
    .also = "launch",
    .max_words = 1,
    .as_ranks = true,
};
