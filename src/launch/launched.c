/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Launchers tell their children who they are in the environment. */
#include <stdlib.h>
#include <unistd.h>

#include "launch/launch.h"

/* srun sets SLURM_STEP_NUM_TASKS for its tasks only; a batch script has just SLURM_NTASKS. */
static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS",
                                    "SLURM_STEP_NUM_TASKS", NULL};
static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "MPI_LOCALRANKID",
                                    "SLURM_PROCID", NULL};

static const char *const local_ranks[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                          "SLURM_LOCALID", NULL};

static int number(const char *const *names, int none)
{
    for (int i = 0; names[i]; i++) {
        const char *value = getenv(names[i]);
        char *end;
        long n = value ? strtol(value, &end, 10) : -1;

        if (value && end != value && *end == 0 && n >= 0 && n < 1 << 30)
            return (int)n;
    }
    return none;
}

int tt_launched_size(void)
{
    return number(sizes, 0);
}

bool tt_launched_alone_by_slurm(void)
{
    const char *tasks = getenv("SLURM_STEP_NUM_TASKS");

    return tasks && !getenv("OMPI_COMM_WORLD_SIZE") && tt_launched_size() == 1;
}

int tt_launched_rank(void)
{
    return number(ranks, 0);
}

int tt_launched_local_rank(void)
{
    return number(local_ranks, tt_launched_rank());
}

int tt_own_program(char path[PATH_MAX], struct tt_error *e)
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);

    path[length < 0 ? 0 : length] = '\0';
    return length < 0 ? tt_fail(e, TT_FAILED, "cannot find my own program file") : TT_OK;
}
