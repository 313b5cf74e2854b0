/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mpiexec on this machine (or in the allocation it finds by itself). */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "build_info.h"
#include "launch/launch.h"
#include "launch/progress.h"
#include "plan/folder.h"

#define MAX_WORDS 48
/* What ranks get to save their records before they are killed. */
#define GRACE_NS 10000000000
/* What ranks get to end after their launcher has. */
#define ORPHANS_NS 5000000000
/* Open files that a launcher cannot do without. */
#define MIN_FILES 64

/* The launcher of the MPI that tutti was built with; a binary that was moved takes what it finds.
 */
static const char *const launcher[] = {TT_MPIEXEC, TT_MPIEXEC_OPTIONS, NULL};
#define LAUNCHER_ON_PATH "mpiexec"

/* Another MPI than Open MPI does not look at these. */
static void set_environment(unsigned ranks)
{
    if (geteuid() == 0) {
        setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
        setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    }
    /* More ranks than cores: whoever waits must let the others run. */
    if ((long)ranks > sysconf(_SC_NPROCESSORS_ONLN))
        setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
}

static int redirect(const char *folder, const char *name, int to)
{
    char *path = tt_folder_path(folder, name);
    int fd = path ? open(path, O_CREAT | O_TRUNC | O_WRONLY | TT_FOLDER_OPEN, 0666) : -1;

    free(path);
    if (fd < 0 || dup2(fd, to) < 0)
        return -1;
    return close(fd);
}

/* In the child; the errno of a failed exec goes to the parent through the pipe. */
static void become(const char *folder, char *const words[], int failure, pid_t parent)
{
    sigset_t none;
    int nothing = open("/dev/null", O_RDONLY), why;

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (nothing >= 0 && dup2(nothing, 0) == 0 && getppid() == parent &&
        redirect(folder, "stdout", 1) == 0 && redirect(folder, "stderr", 2) == 0) {
        execvp(words[0], words);
        if (errno == ENOENT)
            execvp(LAUNCHER_ON_PATH, words);
    }
    why = errno;
    (void)!write(failure, &why, sizeof why);
    _exit(127);
}

static int start(const char *folder, char *const words[], pid_t *child, struct tt_error *e)
{
    pid_t self = getpid();
    int failure[2], why = 0;

    if (pipe2(failure, O_CLOEXEC) != 0)
        return tt_fail_call(e, errno, "pipe", NULL, -1);
    *child = fork();
    if (*child == 0)
        become(folder, words, failure[1], self);
    close(failure[1]);
    if (*child < 0) {
        close(failure[0]);
        return tt_fail_call(e, errno, "fork", NULL, -1);
    }
    if (read(failure[0], &why, sizeof why) != (ssize_t)sizeof why)
        why = 0;
    close(failure[0]);
    if (!why)
        return TT_OK;
    waitpid(*child, NULL, 0);
    if (why == ENOENT)
        return tt_fail(e, TT_FAILED,
                       "there is neither %s nor " LAUNCHER_ON_PATH
                       " on the PATH; install an MPI (make setup) or load its module",
                       words[0]);
    return tt_fail_call(e, why, "exec", words[0], -1);
}

static void watch(sigset_t *signals)
{
    sigemptyset(signals);
    sigaddset(signals, SIGCHLD);
    sigaddset(signals, SIGINT);
    sigaddset(signals, SIGTERM);
    sigaddset(signals, SIGHUP);
}

static void kill_children(void)
{
    char path[64];
    FILE *list;
    int pid;

    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    list = fopen(path, "re");
    while (list && fscanf(list, "%d", &pid) == 1)
        kill(pid, SIGKILL);
    if (list)
        fclose(list);
}

/* Ranks that outlived their launcher have become our children. They are ending, too; none is left.
 */
static void reap_orphans(void)
{
    int64_t deadline = tt_now_ns() + ORPHANS_NS;
    pid_t pid;

    while ((pid = waitpid(-1, NULL, WNOHANG)) >= 0) {
        if (pid > 0)
            continue;
        if (tt_now_ns() > deadline)
            kill_children();
        tt_sleep_until(tt_now_ns() + 5000000);
    }
}

/* Until the launcher ends. Ctrl-C is passed on; a second one, or no answer, kills. */
static int supervise(const char *folder, pid_t child, bool quiet, int *wait_status,
                     struct tt_error *e)
{
    const struct timespec tick = {.tv_nsec = 200000000};
    int64_t deadline = 0;
    sigset_t watched;
    int rc = TT_OK;

    watch(&watched);
    while (waitpid(child, wait_status, WNOHANG) == 0) {
        int got = sigtimedwait(&watched, NULL, &tick);

        if (got == SIGINT || got == SIGTERM || got == SIGHUP) {
            rc = tt_fail(e, TT_INTERRUPTED, "interrupted by signal %d (%s)", got, strsignal(got));
            kill(deadline ? -child : child, deadline ? SIGKILL : SIGTERM);
            deadline = tt_now_ns() + GRACE_NS;
        }
        if (deadline && tt_now_ns() > deadline)
            kill(-child, SIGKILL);
        if (!quiet)
            tt_progress_draw(stderr, folder);
    }
    if (!quiet)
        tt_progress_clear(stderr);
    return rc;
}

/* With too few, Open MPI's launcher waits for ever. */
static int check_open_files(struct tt_error *e)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= MIN_FILES)
        return TT_OK;
    return tt_fail(e, TT_FAILED,
                   "only %llu files may be open, too few for an MPI launcher; raise ulimit -n",
                   (unsigned long long)files.rlim_cur);
}

int tt_launch_local(const char *folder, unsigned ranks, char *const argv[], bool quiet, int *status,
                    struct tt_error *e)
{
    char *words[MAX_WORDS], count[16];
    sigset_t watched, before;
    size_t n = 0;
    pid_t child = -1;
    int rc = check_open_files(e), wait_status = 0;

    if (rc != TT_OK)
        return rc;
    for (int i = 0; launcher[i]; i++)
        words[n++] = (char *)launcher[i];
    snprintf(count, sizeof count, "%u", ranks);
    words[n++] = count;
    for (int i = 0; argv[i] && n + 1 < MAX_WORDS; i++)
        words[n++] = argv[i];
    words[n] = NULL;
    set_environment(ranks);
    watch(&watched);
    sigprocmask(SIG_BLOCK, &watched, &before);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    rc = start(folder, words, &child, e);
    if (rc == TT_OK)
        rc = supervise(folder, child, quiet, &wait_status, e);
    reap_orphans();
    sigprocmask(SIG_SETMASK, &before, NULL);
    *status = WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
    return rc;
}
