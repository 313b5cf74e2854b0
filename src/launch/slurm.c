/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Slurm: a step of the allocation we are in, or a batch job of its own. */
#include "launch/slurm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/run_command.h"
#include "plan/directory.h"

#define SUBMITTED "submitted" /* the number of the batch job, as sbatch prints it */

/* ---- asking Slurm ---- */

/* Where Slurm's default is none, ranks of Open MPI would not find each other. */
static bool offers_pmix(void)
{
    char *words[] = {"srun", "--mpi=list", NULL}, answer[4096];

    tt_run_command(words, answer, sizeof answer);
    return strstr(answer, "pmix") != NULL;
}

int tt_slurm_nodes(struct tt_words *out, struct tt_error *e)
{
    const char *list = getenv("SLURM_JOB_NODELIST");
    char *words[] = {"scontrol", "show", "hostnames", (char *)list, NULL};
    char *answer = malloc(1 << 20), *rest = answer, *line;
    int rc = answer ? TT_OK : tt_fail_nomem(e, "the nodes");

    *out = (struct tt_words){0};
    if (list && answer && !tt_run_command(words, answer, 1 << 20))
        rc = tt_fail(e, TT_FAILED, "scontrol does not tell the nodes of this allocation: %.200s",
                     answer);
    while (list && rc == TT_OK && (line = strsep(&rest, "\n"))) {
        char **longer;

        if (!*line)
            continue;
        longer = realloc(out->words, (out->n + 1) * sizeof *longer);
        if (longer)
            out->words = longer;
        if (!longer || !(out->words[out->n] = strdup(line)))
            rc = tt_fail_nomem(e, "the nodes");
        else
            out->n++;
    }
    free(answer);
    return rc;
}

/* ---- commands ---- */

static bool says_mpi(const struct tt_words *options)
{
    for (size_t i = 0; i < options->n; i++)
        if (!strncmp(options->words[i], "--mpi", 5))
            return true;
    return false;
}

static size_t count_names(const char *list)
{
    size_t n = 1;

    for (; *list; list++)
        n += *list == ',';
    return n;
}

static int add_nodes(const struct tt_launch *l, struct tt_command_line *out, struct tt_error *e)
{
    const struct tt_words *given = &l->options->nodes;
    int rc = TT_OK;

    /* A step on one of them would else be spread over as many nodes as the allocation has. */
    if (l->nodes) {
        rc = tt_command_add(out, e, "--nodes=%zu", count_names(l->nodes));
        if (rc == TT_OK)
            rc = tt_command_add(out, e, "--nodelist=%s", l->nodes);
    } else if (given->n > 0) {
        char *list = NULL;
        size_t size;
        FILE *f = open_memstream(&list, &size);

        for (size_t i = 0; f && i < given->n; i++)
            fprintf(f, "%s%s", i ? "," : "", given->words[i]);
        if (!f || fclose(f) != 0)
            rc = tt_fail_nomem(e, "the nodes");
        if (rc == TT_OK)
            rc = tt_command_add(out, e, "--nodelist=%s", list);
        free(list);
    }
    if (rc == TT_OK && l->options->tasks_per_node > 0)
        rc = tt_command_add(out, e, "--ntasks-per-node=%llu",
                            (unsigned long long)l->options->tasks_per_node);
    return rc;
}

static int slurm_command(const struct tt_launch *l, struct tt_command_line *out, struct tt_error *e)
{
    int rc = TT_OK;

    if (!getenv("SLURM_JOB_ID"))
        return tt_fail(e, TT_USAGE,
                       "launch.by=slurm starts steps of an allocation, and this is none; run it "
                       "within salloc or sbatch, or use launch.by=batch");
    rc = tt_command_add(out, e, "srun");
    if (rc == TT_OK)
        rc = tt_command_add(out, e, "--ntasks=%u", l->ranks);
    if (rc == TT_OK)
        rc = tt_command_add(out, e, "--kill-on-bad-exit=1");
    /* A step would wait for the CPUs of the others, and an ensemble for ever. */
    if (rc == TT_OK)
        rc = tt_command_add(out, e, "%s", l->options->exclusive ? "--exclusive" : "--overlap");
    if (rc == TT_OK && !says_mpi(&l->options->options) && offers_pmix())
        rc = tt_command_add(out, e, "--mpi=pmix");
    if (rc == TT_OK)
        rc = add_nodes(l, out, e);
    if (rc == TT_OK)
        rc = tt_command_add_list(out, &l->options->options, e);
    return rc == TT_OK ? tt_command_add_array(out, l->words, e) : rc;
}

static int write_script(const char *directory, char **path, struct tt_error *e)
{
    int rc = tt_directory_write_text(directory, "job.sh", "#!/bin/sh\nexec srun \"$@\"\n", e);

    *path = rc == TT_OK ? tt_directory_path(directory, "job.sh") : NULL;
    return rc != TT_OK || *path ? rc : tt_fail_nomem(e, "a path");
}

static int batch_command(const struct tt_launch *l, struct tt_command_line *out, struct tt_error *e)
{
    char *script = NULL;
    int rc = write_script(l->directory, &script, e);

    if (rc == TT_OK)
        rc = tt_command_add(out, e, "sbatch");
    if (rc == TT_OK)
        rc = tt_command_add(out, e, "--wait");
    if (rc == TT_OK)
        rc = tt_command_add(out, e, "--parsable");
    if (rc == TT_OK)
        rc = tt_command_add(out, e, "--ntasks=%u", l->ranks);
    if (rc == TT_OK)
        rc = tt_command_add(out, e, "--output=%s/stdout", l->directory);
    if (rc == TT_OK)
        rc = tt_command_add(out, e, "--error=%s/stderr", l->directory);
    if (rc == TT_OK && l->options->exclusive)
        rc = tt_command_add(out, e, "--exclusive");
    if (rc == TT_OK)
        rc = add_nodes(l, out, e);
    if (rc == TT_OK)
        rc = tt_command_add_list(out, &l->options->options, e);
    if (rc == TT_OK) /* by which it is known again */
        rc = tt_command_add(out, e, "--job-name=tutti-%s", tt_directory_id(l->directory));
    if (rc == TT_OK)
        rc = tt_command_add(out, e, "%s", script);
    if (rc == TT_OK && offers_pmix())
        rc = tt_command_add(out, e, "--mpi=pmix");
    free(script);
    return rc == TT_OK ? tt_command_add_array(out, l->words, e) : rc;
}

/* sbatch --wait only waits: the job is ended by its number. The directory may be anybody's: only a
 * job of the run's name is. */
static void batch_cancel(const char *directory)
{
    char id[32] = "", name[320], ignored[256];
    char *words[] = {"scancel", name, id, NULL};
    FILE *f = tt_directory_open_file(directory, SUBMITTED);

    snprintf(name, sizeof name, "--name=tutti-%s", tt_directory_id(directory));
    if (f && fscanf(f, "%31[0-9]", id) == 1)
        tt_run_command(words, ignored, sizeof ignored);
    if (f)
        fclose(f);
}

const struct tt_launcher tt_launcher_slurm = {
    .name = "slurm",
    .command = slurm_command,
};
const struct tt_launcher tt_launcher_batch = {
    .name = "batch",
    .command = batch_command,
    .out = SUBMITTED,
    .cancel = batch_cancel,
};
