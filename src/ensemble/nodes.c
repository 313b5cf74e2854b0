/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ensemble/nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/slurm.h"

/* "4(x3)": CPUs of a node. */
static uint64_t cpus_per_node(void)
{
    const char *text = getenv("SLURM_JOB_CPUS_PER_NODE");
    long n = text ? strtol(text, NULL, 10) : 0;

    return n > 0 ? (uint64_t)n : 1;
}

static uint64_t nodes_needed(const struct tt_actor *a, const struct tt_launch_options *o)
{
    uint64_t ranks = a->player->config.run->ranks;
    uint64_t per_node = o->tasks_per_node ? o->tasks_per_node : cpus_per_node();

    return (ranks + per_node - 1) / per_node;
}

static int take_nodes(struct tt_actor *a, const struct tt_words *nodes, uint64_t n, size_t *next,
                      struct tt_error *e)
{
    size_t used = 0;

    if (n > nodes->n)
        return tt_fail(e, TT_USAGE, "%s needs %llu nodes, and there are %zu", a->player->name,
                       (unsigned long long)n, nodes->n);
    for (uint64_t i = 0; i < n; i++) {
        const char *node = nodes->words[(*next)++ % nodes->n];

        if (used + strlen(node) + 2 > sizeof a->nodes)
            return tt_fail(e, TT_FAILED, "the node list of %s is too long", a->player->name);
        used +=
            (size_t)snprintf(a->nodes + used, sizeof a->nodes - used, "%s%s", i ? "," : "", node);
    }
    return TT_OK;
}

int tt_nodes_spread(struct tt_stage *s, struct tt_error *e)
{
    struct tt_words allocated = {0};
    size_t next = 0, own_next = 0;
    int rc = TT_OK;

    for (size_t i = 0; i < s->n && rc == TT_OK; i++) {
        struct tt_actor *a = &s->actors[i];
        const struct tt_launch_options *o = tt_config_opts(&a->player->config, "launch");
        bool own = o->nodes.n > 0;

        if (tt_launcher_choose(o) != &tt_launcher_slurm)
            continue;
        if (!own && allocated.n == 0)
            rc = tt_slurm_nodes(&allocated, e);
        if (rc == TT_OK && (own || allocated.n > 0))
            rc = take_nodes(a, own ? &o->nodes : &allocated, nodes_needed(a, o),
                            own ? &own_next : &next, e);
    }
    for (size_t i = 0; i < allocated.n; i++)
        free(allocated.words[i]);
    free(allocated.words);
    return rc;
}
