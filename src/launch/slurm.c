/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Slurm: a step of the allocation we are in, or a batch job of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/run_command.h"
#include "launch/launch.h"
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
        rc = tt_fail(e, TT_FAILED, "scontrol cannot list the nodes of this allocation: %.200s",
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

    /* A step on one of them would else be spread over as many nodes as the allocation has. */
    if (l->nodes) {
        tt_command_add(out, "--nodes=%zu", count_names(l->nodes));
        tt_command_add(out, "--nodelist=%s", l->nodes);
    } else if (given->n > 0) {
        char *list = NULL;
        size_t size;
        FILE *f = open_memstream(&list, &size);
        int rc = TT_OK;

        for (size_t i = 0; f && i < given->n; i++)
            fprintf(f, "%s%s", i ? "," : "", given->words[i]);
        if (!f || fclose(f) != 0)
            rc = tt_fail_nomem(e, "the nodes");
        else
            tt_command_add(out, "--nodelist=%s", list);
        free(list);
        if (rc != TT_OK)
            return rc;
    }
    if (l->options->tasks_per_node > 0)
        tt_command_add(out, "--ntasks-per-node=%llu",
                       (unsigned long long)l->options->tasks_per_node);
    return TT_OK;
}

static int slurm_command(const struct tt_launch *l, struct tt_command_line *out, struct tt_error *e)
{
    int rc;

    if (!getenv("SLURM_JOB_ID"))
        return tt_fail(e, TT_USAGE,
                       "launch.by=slurm needs an allocation; run it within salloc or sbatch, or "
                       "use launch.by=batch");
    tt_command_add(out, "srun");
    tt_command_add(out, "--ntasks=%u", l->ranks);
    tt_command_add(out, "--kill-on-bad-exit=1");
    /* A step would wait for the CPUs of the others, and an ensemble for ever. */
    tt_command_add(out, "%s", l->options->exclusive ? "--exclusive" : "--overlap");
    if (!says_mpi(&l->options->options) && offers_pmix())
        tt_command_add(out, "--mpi=pmix");
    rc = add_nodes(l, out, e);
    tt_command_add_list(out, &l->options->options);
    tt_command_add_array(out, l->words);
    return rc;
}

static int batch_command(const struct tt_launch *l, struct tt_command_line *out, struct tt_error *e)
{
    int rc = tt_directory_write_text(l->directory, "job.sh", "#!/bin/sh\nexec srun \"$@\"\n", e);

    tt_command_add(out, "sbatch");
    tt_command_add(out, "--wait");
    tt_command_add(out, "--parsable");
    tt_command_add(out, "--ntasks=%u", l->ranks);
    tt_command_add(out, "--output=%s/stdout", l->directory);
    tt_command_add(out, "--error=%s/stderr", l->directory);
    if (l->options->exclusive)
        tt_command_add(out, "--exclusive");
    if (rc == TT_OK)
        rc = add_nodes(l, out, e);
    tt_command_add_list(out, &l->options->options);
    tt_command_add(out, "--job-name=tutti-%s", tt_directory_id(l->directory)); /* known by it */
    tt_command_add(out, "%s/job.sh", l->directory);
    if (rc == TT_OK && offers_pmix())
        tt_command_add(out, "--mpi=pmix");
    tt_command_add_array(out, l->words);
    return rc;
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
