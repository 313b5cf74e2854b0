/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/run.h"

#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/result.h"
#include "base/agree.h"
#include "cli/command.h"
#include "cli/rank.h"
#include "devices/device.h"
#include "engine/guard.h"
#include "launch/hold.h"
#include "launch/launch.h"
#include "plan/directory.h"
#include "plan/removal.h"
#include "plan/limits.h"
#include "plan/workload.h"
#include "report/outfile.h"
#include "report/report.h"
#include "spec/read.h"
#include "spec/units.h"
#include "study/study.h"

/* ---- before ---- */

static const char *plural(unsigned long long n)
{
    return n == 1 ? "" : "s";
}

/* Whether all ranks are to be on this node and need more memory than it has. */
static bool is_too_large(const struct tt_config *config, const struct tt_estimate *x, double *all,
                         double *there)
{
    const struct tt_launch_options *options = tt_config_opts(config, "launch");
    const struct tt_launcher *launcher = tt_launcher_choose(options);

    *all = (double)x->memory_per_rank * (double)config->run->ranks;
    *there = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    /* Options may name other nodes. */
    return tt_launched_size() == 0 && !strcmp(launcher->name, "local") && options->options.n == 0 &&
           *all > *there;
}

static void print_subfiles(FILE *out, const struct tt_config *config)
{
    const struct tt_stack *stack = &config->stack;

    for (unsigned i = 0; i < stack->n; i++) {
        unsigned long long n;

        if (!stack->elements[i]->subfiles)
            continue;
        n = stack->elements[i]->subfiles(stack->opts[i], config->run->ranks);
        if (n > 0)
            fprintf(out, ", each with %llu subfile%s", n, plural(n));
        else
            fprintf(out, ", each with one subfile for each node");
    }
    fprintf(out, "\n");
}

static void print_obstacle(FILE *out, const char *why)
{
    tt_paragraph_wrap(why, out, (size_t)fprintf(out, "%-12s", "not here"));
}

/* Sizes for another machine can be asked for here: what stands against them is a line of its own.
 */
static void print_estimate(FILE *out, const struct tt_config *config, const struct tt_estimate *x)
{
    struct tt_error limit = TT_ERROR_CLEAR, none = TT_ERROR_CLEAR;
    unsigned long long ranks = config->run->ranks, dumps = x->dumps, files = x->files;
    double moved = (double)x->bytes_written + (double)x->bytes_read, all, there;
    char a[TT_UNIT_TEXT], b[TT_UNIT_TEXT];
    const struct tt_param *param;
    const struct tt_passes *passes = tt_config_passes(config, &param);

    fprintf(out, "would run   %s on %llu rank%s, backend %s, data in %s\n", config->workload->name,
            ranks, plural(ranks), config->run->backend, config->run->dir);
    fprintf(out, "writes      %s%s", x->at_most ? "at most " : "",
            tt_format_bytes((double)x->bytes_written, a));
    if (config->workload->has_epochs)
        fprintf(out, " in %llu dump%s", dumps, plural(dumps));
    fprintf(out, ", at most %s at a time in %llu file%s",
            tt_format_bytes((double)x->bytes_on_disk, b), files, plural(files));
    print_subfiles(out, config);
    fprintf(out, "reads       %s\n", tt_format_bytes((double)x->bytes_read, a));
    fprintf(out, "memory      %s per rank at most%s\n",
            tt_format_bytes((double)x->memory_per_rank, a),
            is_too_large(config, x, &all, &there) ? ": more in all than this node has" : "");
    if (*x->pieces)
        fprintf(out, "pieces      %s\n", x->pieces);
    if (config->device)
        fprintf(out, "device      %s of its memory per rank\n",
                tt_format_bytes((double)x->device_memory, a));
    if (x->compute_seconds > x->sleep_seconds)
        fprintf(out, "computes    about %s (%s)\n",
                tt_format_seconds(x->compute_seconds - x->sleep_seconds, a),
                passes && passes->seconds > 0 ? "as asked" : "kernel measured here just now");
    if (x->sleep_seconds > 0)
        fprintf(out, "sleeps      about %s (as asked)\n", tt_format_seconds(x->sleep_seconds, a));
    if (tt_limits_check_plan(config, x, &limit) != TT_OK)
        print_obstacle(out, limit.text);
    if (config->device && tt_device_check(config, &none) != TT_OK)
        print_obstacle(out, none.text);
    if (moved > 0)
        fprintf(out, "I/O time    %s if storage does 1 GiB/s, %s at 100 MiB/s\n",
                tt_format_seconds(moved / (1 << 30), a), tt_format_seconds(moved / (100 << 20), b));
}

static int check_directory(const char *dir, struct tt_error *e)
{
    struct stat st;

    if (stat(dir, &st) != 0)
        return tt_fail(e, TT_FAILED,
                       "data directory '%s' does not exist; create it, or choose another", dir);
    if (!S_ISDIR(st.st_mode))
        return tt_fail(e, TT_FAILED, "'%s' is not a directory; choose another", dir);
    return TT_OK;
}

static int check_memory(const struct tt_config *config, const struct tt_estimate *x,
                        struct tt_error *e)
{
    char need[TT_UNIT_TEXT], have[TT_UNIT_TEXT];
    double all, there;

    if (config->run->dry_run || !is_too_large(config, x, &all, &there))
        return TT_OK;
    return tt_fail(e, TT_LIMIT,
                   "the run needs %s of memory on this node, which has %s; use a smaller size, or "
                   "more nodes",
                   tt_format_bytes(all, need), tt_format_bytes(there, have));
}

/* Limits before anything is written. */
static int check_plan(const struct tt_config *config, bool dir_later, struct tt_estimate *x,
                      struct tt_error *e)
{
    char *dir = tt_config_data_directory(config);
    int rc = dir ? config->workload->estimate(config, x, e) : tt_fail_nomem(e, "a path");

    if (rc == TT_OK && dir_later && config->run->dry_run && access(dir, F_OK) != 0) {
        free(dir);
        return TT_OK;
    }
    if (rc == TT_OK)
        rc = check_directory(config->run->dir, e);
    if (rc == TT_OK)
        rc = check_directory(dir, e);
    free(dir);
    if (rc == TT_OK && !config->run->dry_run)
        rc = tt_limits_check_plan(config, x, e);
    if (rc == TT_OK)
        rc = check_memory(config, x, e);
    return rc == TT_OK ? tt_outfiles_check(config->run->json, config->run->csv, e) : rc;
}

static void say_mode(const struct tt_config *config)
{
    const char *mode = config->run->mode;

    if (mode && !config->run->quiet)
        fprintf(stderr, "tutti: --mode %s is %s\n", mode, tt_mode_meaning(mode));
}

/* ---- after ---- */

/* stdout belongs to the export if there is one. The table does not go to stderr instead: the
 * launcher of Open MPI 5 now and then moves a piece of what one rank writes there to stdout. */
static bool has_table(const struct tt_run_options *run)
{
    return !run->quiet && !tt_is_stdout(run->json) && !tt_is_stdout(run->csv);
}

/* A run that reached its limit has measured what it did until then. A dialect's own lines are for
 * whole runs. */
static int finish_run(const struct tt_run_options *run, const char *directory,
                      struct tt_printer printer)
{
    struct tt_error e = TT_ERROR_CLEAR;
    json_t *result = NULL;
    const char *why, *end;
    bool stopped;
    int status = 0;

    if (tt_result_make(directory, &result, &e) != TT_OK)
        return tt_report_error(&e);
    why = json_string_value(json_object_get(result, "error"));
    end = json_string_value(json_object_get(result, "status"));
    stopped = end && !strcmp(end, "stopped");
    if (stopped && has_table(run))
        tt_report_text(stdout, result, false);
    else if ((!why || stopped) && (has_table(run) || printer.always))
        printer.print(stdout, result, printer.context);
    if (why) {
        const char *quote = !strpbrk(directory, " \t'\"$&;()<>|*?`\\") ? ""
                            : strchr(directory, '\'')                  ? "\""
                                                                       : "'";

        fprintf(stderr, "tutti: %s (more: tutti show %s%s%s)\n", why, quote, directory, quote);
        tt_tell_caches(directory);
        status = 1;
    }
    if (run->json)
        tt_report_json(run->json, result, directory, &e);
    if (run->csv && e.code == TT_OK)
        tt_report_csv(run->csv, result, directory, &e);
    if (e.code != TT_OK)
        status = tt_report_error(&e);
    json_decref(result);
    fflush(stdout);
    return status;
}

/* ---- meanwhile ---- */

static void print_row(void *context, const double *values, size_t n)
{
    const struct tt_printer *printer = context;

    printer->row(stdout, values, n, printer->context);
    fflush(stdout);
}

/* Returns where rows go, NULL if nobody prints them. */
static const struct tt_rows_to *begin_printing(const struct tt_config *config,
                                               struct tt_printer *printer, struct tt_rows_to *to)
{
    json_t *plan, *parameters;

    if (!printer->begin || !has_table(config->run))
        return NULL;
    parameters = tt_config_to_json(config);
    plan = json_pack("{s:s, s:I, s:o*}", "workload", config->workload->name, "ranks",
                     (json_int_t)config->run->ranks, "parameters", parameters);
    printer->begin(stdout, plan, printer->context);
    fflush(stdout);
    json_decref(plan);
    *to = (struct tt_rows_to){print_row, printer};
    return to;
}

/* ---- the driver ---- */

/* The launcher has ended; what the ranks could not clean up any more is removed here. What they
 * have left alone they have told. */
static int clean_up(const struct tt_config *config, const char *directory)
{
    struct tt_error e = TT_ERROR_CLEAR;

    if (config->run->keep || tt_manifest_remove(directory, &e) == TT_OK || e.sys_errno == ENOENT ||
        e.code == TT_BUSY)
        return 0; /* a directory that is gone, or not empty, has been told of as such */
    return tt_report_error(&e);
}

static int launch(const struct tt_config *config, const char *directory, struct tt_printer *printer,
                  struct tt_error *e)
{
    struct tt_rows_to to;
    const struct tt_rows_to *rows_to = begin_printing(config, printer, &to);
    struct tt_perform_how how = {.new_dir = printer->new_dir, .rows = rows_to != NULL};
    struct tt_error ignored = TT_ERROR_CLEAR;
    struct tt_command_line worker = {0};
    int rc = tt_worker_command(config, directory, how, &worker, e), status = 0;

    if (rc == TT_OK)
        rc = tt_launch_and_wait(
            &(struct tt_launch){.options = tt_config_opts(config, "launch"),
                                .directory = directory,
                                .ranks = (unsigned)config->run->ranks,
                                .is_command = !strcmp(config->workload->name, "command"),
                                .words = worker.words,
                                .run = config->run,
                                .rows_to = rows_to},
            config->run->quiet, &status, e);
    tt_command_free(&worker);
    if (rc != TT_OK) /* what no rank can say any more, or never could */
        tt_outcome_write(directory, rc, e, &ignored);
    return rc == TT_INTERRUPTED ? ignored.code : rc;
}

static int drive(const struct tt_config *config, struct tt_printer printer)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_estimate x = {0};
    char *directory = NULL;
    int status, cleaned;

    if (check_plan(config, printer.dir_later, &x, &e) != TT_OK)
        return tt_report_error(&e);
    if (config->run->dry_run) {
        print_estimate(stdout, config, &x);
        return 0;
    }
    if (tt_directory_create(config, &directory, &e) != TT_OK)
        return tt_report_error(&e);
    say_mode(config);
    if (launch(config, directory, &printer, &e) != TT_OK) {
        free(directory);
        return tt_report_error(&e);
    }
    cleaned = clean_up(config, directory);
    status = finish_run(config->run, directory, printer);
    free(directory);
    return status ? status : cleaned;
}

/* ---- as a rank ---- */

static int plan_as_ranks(MPI_Comm comm, const struct tt_config *config, char **directory,
                         struct tt_error *e)
{
    struct tt_estimate x = {0};
    char path[PATH_MAX] = "";
    int rank, rc = TT_OK;

    MPI_Comm_rank(comm, &rank);
    if (rank == 0) {
        rc = check_plan(config, false, &x, e);
        if (rc == TT_OK && config->run->dry_run)
            print_estimate(stdout, config, &x);
        else if (rc == TT_OK)
            rc = tt_directory_create(config, directory, e);
        if (*directory)
            snprintf(path, sizeof path, "%s", *directory);
    }
    rc = tt_agree(comm, rc, e);
    e->rank = -1; /* a plan has no rank */
    MPI_Bcast(path, (int)sizeof path, MPI_CHAR, 0, comm);
    if (rc == TT_OK && rank != 0 && !(*directory = strdup(path)))
        rc = tt_fail_nomem(e, "a path");
    return rc;
}

static int perform_as_ranks(struct tt_config *config, int thread_level, struct tt_printer printer)
{
    struct tt_error e = TT_ERROR_CLEAR;
    char *directory = NULL;
    bool new_dir = printer.new_dir;
    struct tt_perform_how how = {.alone = true};
    struct tt_rows_to to;
    int status = 0, rank, rc;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(MPI_IN_PLACE, &new_dir, 1, MPI_C_BOOL, MPI_LOR, MPI_COMM_WORLD);
    how.new_dir = new_dir;
    rc = plan_as_ranks(MPI_COMM_WORLD, config, &directory, &e);
    if (rc != TT_OK) {
        status = rank == 0 ? tt_report_error(&e) : tt_exit_status(rc);
    } else if (!config->run->dry_run) {
        if (rank == 0)
            say_mode(config);
        if (rank == 0)
            how.rows_to = begin_printing(config, &printer, &to);
        rc = tt_perform_here(thread_level, directory, config, how, &e);
        status = rank == 0 ? finish_run(config->run, directory, printer) : tt_exit_status(rc);
    }
    free(directory);
    return status;
}

/* What is wrong with a later run is said before the first begins. */
static int check_sequence(const char *workload, size_t n, struct tt_settings *list,
                          struct tt_error *e)
{
    int rc = TT_OK;

    for (size_t i = 0; rc == TT_OK && n > 1 && i < n; i++) {
        struct tt_error inner = TT_ERROR_CLEAR;
        struct tt_config config = {0};

        rc = tt_config_make(&config, workload, &list[i], &inner);
        tt_config_free(&config);
        if (rc != TT_OK)
            tt_fail(e, rc, "test %zu of %zu: %s", i + 1, n, inner.text);
    }
    return rc;
}

static bool is_said_by_all(const char *key)
{
    return strcmp(key, "json") != 0 && strcmp(key, "csv") != 0 && strcmp(key, "quiet") != 0;
}

/* What rank 0 has, and this one has not. */
static int compare_settings(const char *theirs, const json_t *own, struct tt_error *e)
{
    json_t *first = json_loads(theirs, 0, NULL), *value;
    const char *key;
    int rc = first ? TT_OK : tt_fail_nomem(e, "the settings");

    json_object_foreach(first, key, value)
    {
        if (rc == TT_OK && is_said_by_all(key) && !json_equal(value, json_object_get(own, key)))
            rc = tt_fail(e, TT_USAGE,
                         "%s is not what rank 0 has; give all ranks the same settings, by the same "
                         "file",
                         key);
    }
    json_decref(first);
    return rc;
}

/* Each rank has read its own words, and files that may be others on its node. Collective. */
static int check_same_settings(const struct tt_config *config, struct tt_error *e)
{
    json_t *own = tt_config_to_json(config);
    char *text = own ? json_dumps(own, JSON_COMPACT) : NULL;
    int rank, length = text ? (int)strlen(text) + 1 : 0, rc = TT_OK;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank != 0) {
        free(text);
        text = length ? malloc((size_t)length) : NULL;
    }
    rc = tt_agree(MPI_COMM_WORLD, own && text ? TT_OK : tt_fail_nomem(e, "the settings"), e);
    if (rc == TT_OK) {
        MPI_Bcast(text, length, MPI_CHAR, 0, MPI_COMM_WORLD);
        rc = tt_agree(MPI_COMM_WORLD, compare_settings(text, own, e), e);
    }
    free(text);
    json_decref(own);
    return rc;
}

/* Collective: what is wrong on one rank, whose node may lack a file, ends all. */
static int make_config(struct tt_config *config, const char *workload,
                       const struct tt_settings *settings, struct tt_error *e)
{
    int rc = tt_agree(MPI_COMM_WORLD, tt_config_make(config, workload, settings, e), e);

    if (rc == TT_OK)
        rc = check_same_settings(config, e);
    if (e->rank == 0)
        e->rank = -1; /* what is wrong on all is nobody's */
    return rc;
}

/* What is wrong with settings is said later, when ranks can agree on it. */
static bool may_overlap(const char *workload, size_t n, const struct tt_settings *list)
{
    bool may = false;

    for (size_t i = 0; i < n && !may; i++) {
        struct tt_error ignored = TT_ERROR_CLEAR;
        struct tt_config config = {0};

        may = tt_config_make(&config, workload, &list[i], &ignored) == TT_OK &&
              (config.run->overlap != TT_OVERLAP_NONE || tt_stack_has_thread(&config.stack));
        tt_config_free(&config);
    }
    return may;
}

/* The launcher has said how many ranks there are, for all of the runs. */
static int run_as_ranks(const char *workload, size_t n, struct tt_settings *list,
                        struct tt_printer printer)
{
    struct tt_error e = TT_ERROR_CLEAR;
    int level, size, status, rc = TT_OK;
    char ranks[16];

    tt_guard_start(TT_PATIENCE);
    if (tt_ranks_begin(&list[0], may_overlap(workload, n, list), &level, &e) != TT_OK)
        return tt_exit_status(e.code);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(ranks, sizeof ranks, "%d", size);
    for (size_t i = 1; i < n && rc == TT_OK; i++) {
        rc = tt_ranks_check(&list[i], size, &e);
        if (rc == TT_OK)
            rc = tt_settings_add(&list[i], "ranks", ranks, "the launcher", &e);
    }
    if (rc == TT_OK)
        rc = check_sequence(workload, n, list, &e);
    rc = tt_agree(MPI_COMM_WORLD, rc, &e);
    e.rank = -1; /* a plan has no rank */
    status = rc == TT_OK ? 0 : tt_report_error(&e);
    for (size_t i = 0; i < n && status == 0; i++) {
        struct tt_config config = {0};

        rc = make_config(&config, workload, &list[i], &e);
        status = rc == TT_OK ? perform_as_ranks(&config, level, printer) : tt_report_error(&e);
        tt_config_free(&config);
        MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    tt_ranks_end();
    return status;
}

/* ---- the command ---- */

int tt_run_sequence(const char *workload, size_t n, struct tt_settings *list,
                    struct tt_printer printer)
{
    struct tt_error e = TT_ERROR_CLEAR;
    int status = 0;

    if (tt_is_rank(&list[0]))
        return run_as_ranks(workload, n, list, printer);
    if (check_sequence(workload, n, list, &e) != TT_OK)
        return tt_report_error(&e);
    for (size_t i = 0; i < n && status == 0; i++) {
        struct tt_config config;

        status = tt_config_make(&config, workload, &list[i], &e) == TT_OK ? drive(&config, printer)
                                                                          : tt_report_error(&e);
        tt_config_free(&config);
    }
    return status;
}

int tt_run_settings(const char *workload, struct tt_settings *settings, struct tt_printer printer)
{
    return tt_run_sequence(workload, 1, settings, printer);
}

static void print_text(FILE *out, const json_t *result, void *context)
{
    (void)context;
    tt_report_text(out, result, false);
}

static bool is_file_name(const char *word)
{
    const char *dot = strrchr(word, '.');

    return strchr(word, '/') ||
           (dot && (!strcmp(dot, ".yaml") || !strcmp(dot, ".yml") || !strcmp(dot, ".json")));
}

int tt_read_base(const char *word, struct tt_settings *settings, char **workload,
                 struct tt_error *e)
{
    if (is_file_name(word))
        return tt_read_yaml(word, settings, workload, e);
    *workload = strdup(word);
    return *workload ? TT_OK : tt_fail_nomem(e, "a name");
}

/* The file's settings first: the command line wins. */
static int read_job(const struct tt_invocation *call, struct tt_settings *settings, char **workload,
                    struct tt_error *e)
{
    int rc;

    if (call->nwords == 0)
        return tt_fail(e, TT_USAGE,
                       "run what? tutti run WORKLOAD ... or tutti run FILE.yaml; tutti list "
                       "workloads names them");
    rc = tt_read_base(call->words[0], settings, workload, e);
    if (rc == TT_OK && !*workload)
        rc = tt_fail(e, TT_USAGE, "%s names no workload; add a line such as 'workload: stencil'",
                     call->words[0]);
    return rc == TT_OK ? tt_settings_append(settings, &call->settings, e) : rc;
}

static int run(struct tt_invocation *call, struct tt_error *e)
{
    struct tt_settings settings = {0};
    char *workload = NULL;
    int rc = read_job(call, &settings, &workload, e);

    if (rc == TT_OK && tt_study_is_asked_for(&settings))
        rc = tt_study_of_settings(workload, &settings, e);
    else if (rc == TT_OK && tt_asks_for_repetitions(&settings))
        rc = tt_run_repeatedly(workload, &settings, e);
    else if (rc == TT_OK && tt_settings_find(&settings, "junit"))
        rc = tt_fail(e, TT_USAGE, "junit is for conditions: add require, or leave it out");
    else if (rc == TT_OK)
        rc = tt_run_settings(workload, &settings, (struct tt_printer){print_text, NULL});
    tt_settings_free(&settings);
    free(workload);
    return rc;
}

const struct tt_command tt_command_run = {
    .name = "run",
    .summary = "run a workload: tutti run stencil -n 2 ...",
    .synopsis = "tutti run WORKLOAD|FILE.yaml [-n RANKS] [--KEY VALUE ...]",
    .text = "Run a workload; tutti help WORKLOAD lists its keys. Under mpirun or srun it runs as a "
            "rank: leave out -n. A component's name takes a list: --write every=20,series=append "
            "is --write.every 20 --write.series append. The command line wins over the file; "
            "--set KEY=VALUE is the same as --KEY VALUE. With repeat, stop_when or require (tutti "
            "help ensemble) the run is repeated; with --sweep KEY=VALUES it is a study (tutti help "
            "study).",
    .run = run,
    .job = &tt_run_component,
    .max_words = 1,
    .as_ranks = true,
};
