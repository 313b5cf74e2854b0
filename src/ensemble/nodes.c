/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ensemble/trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/launch.h"

/* "4(x3)": CPUs of a node. */
static uint64_t cpus_per_node(void)
{
    const char *text = getenv("SLURM_JOB_CPUS_PER_NODE");
    long n = text ? strtol(text, NULL, 10) : 0;

    return n > 0 ? (uint64_t)n : 1;
}

static uint64_t nodes_needed(const struct tt_job_spec *p, const struct tt_launch_options *o)
{
    uint64_t ranks = p->config.run->ranks;
    uint64_t per_node = o->tasks_per_node ? o->tasks_per_node : cpus_per_node();

    return (ranks + per_node - 1) / per_node;
}

static int take_nodes(struct tt_trial_job *a, const struct tt_words *nodes, uint64_t n,
                      size_t *next, struct tt_error *e)
{
    size_t used = 0;

    if (n > nodes->n)
        return tt_fail(e, TT_USAGE, "%s needs %llu nodes, and there are %zu", a->spec->name,
                       (unsigned long long)n, nodes->n);
    for (uint64_t i = 0; i < n; i++) {
        const char *node = nodes->words[(*next)++ % nodes->n];

        if (used + strlen(node) + 2 > sizeof a->nodes)
            return tt_fail(e, TT_FAILED, "the node list of %s is too long", a->spec->name);
        used +=
            (size_t)snprintf(a->nodes + used, sizeof a->nodes - used, "%s%s", i ? "," : "", node);
    }
    return TT_OK;
}

static void free_nodes(struct tt_words *nodes)
{
    for (size_t i = 0; i < nodes->n; i++)
        free(nodes->words[i]);
    free(nodes->words);
}

int tt_nodes_spread(struct tt_trial *s, struct tt_error *e)
{
    struct tt_words allocated = {0};
    size_t next = 0, own_next = 0;
    int rc = TT_OK;

    for (size_t i = 0; i < s->n && rc == TT_OK; i++) {
        struct tt_trial_job *a = &s->jobs[i];
        const struct tt_launch_options *o = tt_config_opts(&a->spec->config, "launch");
        bool own = o->nodes.n > 0;

        if (tt_launcher_choose(o) != &tt_launcher_slurm)
            continue;
        if (!own && allocated.n == 0)
            rc = tt_slurm_nodes(&allocated, e);
        if (rc == TT_OK && (own || allocated.n > 0))
            rc = take_nodes(a, own ? &o->nodes : &allocated, nodes_needed(a->spec, o),
                            own ? &own_next : &next, e);
    }
    free_nodes(&allocated);
    return rc;
}

/* How many nodes there are for steps of this job. */
static int count_nodes(const struct tt_launch_options *o, size_t *n, struct tt_error *e)
{
    struct tt_words allocated = {0};
    int rc = o->nodes.n > 0 ? TT_OK : tt_slurm_nodes(&allocated, e);

    *n = o->nodes.n > 0 ? o->nodes.n : allocated.n;
    free_nodes(&allocated);
    return rc;
}

int tt_nodes_check(const struct tt_job_spec *p, uint64_t nodes, struct tt_error *e)
{
    const struct tt_launch_options *o = tt_config_opts(&p->config, "launch");
    const struct tt_launcher *launcher = tt_launcher_choose(o);
    unsigned long long wanted = nodes;
    size_t n = 0;
    int rc = TT_OK;

    if (nodes <= 1 || (launcher != &tt_launcher_local && launcher != &tt_launcher_slurm))
        return TT_OK;
    if (launcher == &tt_launcher_slurm)
        rc = count_nodes(o, &n, e);
    if (rc == TT_OK && n == 0)
        return tt_fail(e, TT_USAGE,
                       "nodes: %llu, but this is no Slurm allocation; run it within salloc -N %llu "
                       "or sbatch -N %llu, or let launch.by=batch submit every job",
                       wanted, wanted, wanted);
    if (rc == TT_OK && n < nodes)
        rc = tt_fail(e, TT_USAGE, "nodes: %llu, but this allocation has %zu; ask for -N %llu",
                     wanted, n, wanted);
    return rc;
}

/* ---- idle nodes ---- */

/* Marks the nodes that a job of this job takes: its own, or the next ones in turn. */
static void mark(const struct tt_job_spec *p, const struct tt_words *allocated, size_t *next,
                 bool *used)
{
    const struct tt_launch_options *o = tt_config_opts(&p->config, "launch");

    if (tt_launcher_choose(o) != &tt_launcher_slurm)
        return;
    for (size_t i = 0; i < o->nodes.n; i++)
        for (size_t k = 0; k < allocated->n; k++)
            used[k] |= !strcmp(allocated->words[k], o->nodes.words[i]);
    for (uint64_t i = 0; o->nodes.n == 0 && i < nodes_needed(p, o) && i < allocated->n; i++)
        used[(*next)++ % allocated->n] = true;
}

/* The most nodes that jobs of one step take. */
static size_t most_used(const struct tt_ensemble *x, const struct tt_words *allocated, bool *used)
{
    size_t most = 0;

    for (size_t i = 0; i < x->nsteps; i++) {
        const struct tt_step *s = &x->steps[i];
        size_t next = 0, n = 0;

        memset(used, 0, allocated->n * sizeof *used);
        for (uint64_t k = 0; k <= s->others; k++)
            mark(tt_step_spec(x, s, k), allocated, &next, used);
        for (size_t k = 0; k < allocated->n; k++)
            n += used[k];
        most = n > most ? n : most;
    }
    return most;
}

int tt_nodes_idle(const struct tt_ensemble *x, size_t *idle, size_t *all, struct tt_error *e)
{
    struct tt_words allocated = {0};
    bool *used = NULL;
    int rc = TT_OK;

    *idle = *all = 0;
    for (size_t i = 0; i < x->nspecs; i++) {
        const struct tt_launcher *l =
            tt_launcher_choose(tt_config_opts(&x->specs[i].config, "launch"));

        /* Only of these we know where they start ranks: a batch job is not in this allocation. */
        if (l != &tt_launcher_slurm && l != &tt_launcher_batch)
            return TT_OK;
    }
    rc = tt_slurm_nodes(&allocated, e);
    if (rc == TT_OK && allocated.n > 0) {
        used = calloc(allocated.n, sizeof *used);
        rc = used ? TT_OK : tt_fail_nomem(e, "the nodes");
    }
    if (used) {
        *all = allocated.n;
        *idle = allocated.n - most_used(x, &allocated, used);
    }
    free(used);
    free_nodes(&allocated);
    return rc;
}
