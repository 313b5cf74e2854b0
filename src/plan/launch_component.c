/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How the ranks of a job are started: keys of the driver, which no rank looks at. */
#include "plan/config.h"

static const char *const launchers[] = {"auto", "local", "slurm", "batch", "template", NULL};

#define AT(member) offsetof(struct tt_launch_options, member)
static const struct tt_param params[] = {
    {"by", TT_PARAM_CHOICE, AT(by), "auto", NULL,
     "local: mpiexec; slurm: a step of this allocation; batch: a job of its own; template: "
     "launch.template; auto: slurm inside an allocation, else local",
     .choices = launchers},
    {"template", TT_PARAM_WORDS, AT(template), NULL, NULL,
     "words of the command that starts ranks, with {ranks} and {command} among them"},
    {"nodes", TT_PARAM_WORDS, AT(nodes), NULL, NULL,
     "Slurm: names of the nodes to use; an ensemble gives each job its share of them"},
    {"tasks_per_node", TT_PARAM_COUNT, AT(tasks_per_node), "0", "ranks",
     "Slurm: ranks per node; 0: as many as fit", 0, INT32_MAX},
    {"exclusive", TT_PARAM_BOOL, AT(exclusive), "no", NULL,
     "Slurm: nobody else on the CPUs of a step, or on the nodes of a batch job"},
    {"options", TT_PARAM_WORDS, AT(options), NULL, NULL,
     "further options for mpiexec, srun or sbatch, such as --mpi=pmi2"},
    {"start_timeout", TT_PARAM_DURATION, AT(start_timeout), "10min", "s",
     "a job that is not ready after this long is given up"},
    {0},
};

const struct tt_component tt_launch_component = {
    .name = "launch",
    .summary = "how the ranks of a job are started",
    .params = params,
    .opts_size = sizeof(struct tt_launch_options),
};
