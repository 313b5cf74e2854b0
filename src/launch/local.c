/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mpiexec on this machine (or in the allocation it finds by itself). */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sys.h"
#include "build_info.h"
#include "launch/launch.h"

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

#define SESSIONS "OMPI_MCA_orte_tmpdir_base"

/* Open MPI 4 keeps the sessions of a user in one directory, which the last to end removes: another
 * one that begins at that moment fails. So every job has a directory of its own, unless the user
 * has named one, or the job may reach other nodes, where nobody would remove it. */
static void make_session(struct tt_job *job)
{
    static bool is_ours;
    const char *within = getenv("TMPDIR");
    int n = snprintf(job->session, sizeof job->session, "%s/tutti-mpi.XXXXXX",
                     within && *within ? within : "/tmp");

    if (is_ours)
        unsetenv(SESSIONS);
    is_ours = !getenv(SESSIONS) && !getenv("OMPI_MCA_orte_local_tmpdir_base") &&
              !getenv("SLURM_JOB_ID") && !getenv("PBS_JOBID") && n < (int)sizeof job->session &&
              mkdtemp(job->session);
    if (is_ours)
        setenv(SESSIONS, job->session, 1);
    else
        job->session[0] = '\0';
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
    int rc = TT_OK;

    if (!l->is_command || l->ranks != 1) {
        rc = check_limits(e);
        set_environment(l);
        tt_command_add(out, "%s", mpiexec[0]);
        tt_command_add_list(out, &l->options->options);
        tt_command_add_array(out, mpiexec + 1);
        tt_command_add(out, "%u", l->ranks);
    }
    tt_command_add_array(out, l->words);
    return rc;
}

/* ---- what needs no job ---- */

static bool is_binary(const char *path)
{
    FILE *f = fopen(path, "re");
    char magic[4] = "";
    bool is = f && fread(magic, sizeof magic, 1, f) == 1 && !memcmp(magic, "\177ELF", sizeof magic);

    if (f)
        fclose(f);
    return is;
}

bool tt_launcher_forks(const char *program, struct tt_words *options)
{
    static const char *const open_mpi[] = {"orterun", "prterun", "mpirun", "mpirun.openmpi",
                                           "mpiexec.openmpi"};
    static char *here[] = {"--host", "localhost:2"};
    static char *fork_here[] = {"-launcher", "fork", "-hosts", "localhost"};
    char path[PATH_MAX];
    const char *name = realpath(program, path) ? strrchr(path, '/') + 1 : NULL;

    if (!name || !is_binary(path))
        return false;
    *options = (struct tt_words){sizeof fork_here / sizeof *fork_here, fork_here};
    if (!strcmp(name, "mpiexec.hydra"))
        return true;
    *options = (struct tt_words){sizeof here / sizeof *here, here};
    for (size_t i = 0; i < sizeof open_mpi / sizeof *open_mpi; i++)
        if (!strcmp(name, open_mpi[i]))
            return true;
    return false;
}

/* ---- what a launcher that was killed leaves ---- */

#define SHARED_MEMORY "/dev/shm"
#define NAMESPACE "PMIX_NAMESPACE="

/* Of the environment that process got from its launcher; 0 if it has none. */
static unsigned long namespace_of(int pid)
{
    unsigned long number = 0;
    char path[64], *variable = NULL;
    size_t room = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/environ", pid);
    f = fopen(path, "re");
    while (f && !number && getdelim(&variable, &room, '\0', f) > 0)
        if (!strncmp(variable, NAMESPACE, strlen(NAMESPACE)))
            number = strtoul(variable + strlen(NAMESPACE), NULL, 10);
    free(variable);
    if (f)
        fclose(f);
    return number;
}

/* Open MPI 4 tells its ranks the number that stands in the names of their segments. */
static void learn_name(struct tt_job *job)
{
    unsigned long number = 0, around_us = namespace_of((int)getpid());
    char path[64];
    FILE *children;
    int pid;

    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)job->process.pid,
             (int)job->process.pid);
    children = fopen(path, "re");
    while (children && !number && fscanf(children, "%d", &pid) == 1)
        number = namespace_of(pid);
    if (children)
        fclose(children);
    if (number && number != around_us)
        snprintf(job->name, sizeof job->name, ".%u.%lx.", (unsigned)geteuid(), number);
}

/* vader_segment.HOST.USER.JOB.RANK */
static bool is_segment_of(const char *entry, const char *job)
{
    const char *at = strstr(entry, job), *rank = at ? at + strlen(job) : "";

    return !strncmp(entry, "vader_segment.", 14) && *rank &&
           rank[strspn(rank, "0123456789")] == '\0';
}

/* Ours: it has our job's name, our user has made it since the job began, and nobody uses it. */
static void sweep(const struct tt_job *job)
{
    DIR *d = job->name[0] ? opendir(SHARED_MEMORY) : NULL;
    struct dirent *entry;
    struct stat st;

    if (job->session[0])
        tt_sys_remove_private(job->session);
    while (d && (entry = readdir(d)))
        if (is_segment_of(entry->d_name, job->name) &&
            fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_ctime >= job->start &&
            !tt_sys_is_mapped(entry->d_name))
            unlinkat(dirfd(d), entry->d_name, 0);
    if (d)
        closedir(d);
}

/* A binary that was moved to another machine takes the mpiexec it finds. */
const struct tt_launcher tt_launcher_local = {
    .name = "local",
    .command = local_command,
    .instead = "mpiexec",
    .prepare = make_session,
    .learn_name = learn_name,
    .sweep = sweep,
};
