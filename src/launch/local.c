/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mpiexec on this machine (or in the allocation it finds by itself). */
#include "launch/local.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "build_info.h"

/* Open files, and bytes in a file, that a launcher cannot do without. */
#define MIN_FILES 64
#define MIN_FILE_BYTES (UINT64_C(8) << 20)

static char *const mpiexec[] = {TT_MPIEXEC, TT_MPIEXEC_OPTIONS, NULL};

/* Another MPI than Open MPI does not look at these. */
static void set_environment(const struct tt_launch *l)
{
    long cpus = l->cpus ? CPU_COUNT(l->cpus) : sysconf(_SC_NPROCESSORS_ONLN);

    if (geteuid() == 0) {
        setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
        setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    }
    /* More ranks than cores: whoever waits must let the others run. */
    if ((long)l->ranks > cpus)
        setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
}

/* With less, Open MPI's launcher waits for ever. */
static int check_limits(struct tt_error *e)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < MIN_FILES)
        return tt_fail(e, TT_FAILED,
                       "only %llu files may be open, too few for an MPI launcher; raise ulimit -n",
                       (unsigned long long)limit.rlim_cur);
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < MIN_FILE_BYTES)
        return tt_fail(e, TT_FAILED,
                       "files may have only %llu bytes, too few for an MPI launcher; raise ulimit "
                       "-f",
                       (unsigned long long)limit.rlim_cur);
    return TT_OK;
}

static int local_command(const struct tt_launch *l, struct tt_command_line *out, struct tt_error *e)
{
    int rc;

    if (l->is_command && l->ranks == 1)
        return tt_command_add_array(out, l->words, e);
    rc = check_limits(e);
    set_environment(l);
    if (rc == TT_OK)
        rc = tt_command_add(out, e, "%s", mpiexec[0]);
    if (rc == TT_OK)
        rc = tt_command_add_list(out, &l->options->options, e);
    if (rc == TT_OK)
        rc = tt_command_add_array(out, mpiexec + 1, e);
    if (rc == TT_OK)
        rc = tt_command_add(out, e, "%u", l->ranks);
    return rc == TT_OK ? tt_command_add_array(out, l->words, e) : rc;
}

/* A binary that was moved to another machine takes the mpiexec it finds. */
const struct tt_launcher tt_launcher_local = {
    .name = "local",
    .command = local_command,
    .instead = "mpiexec",
};
