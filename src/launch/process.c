/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launch/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "plan/directory.h"

/* What ranks get to end after their launcher has. */
#define ORPHANS_NS 5000000000
/* Of a child that nobody can ask about any more. */
#define UNKNOWN_STATUS 255

/* Signals are the process's, and so is this: how they were, and how many asked for them. */
static sigset_t signals_before;
static struct sigaction children_before;
static unsigned begun;

static void watched_signals(sigset_t *signals)
{
    sigemptyset(signals);
    sigaddset(signals, SIGCHLD);
    sigaddset(signals, SIGINT);
    sigaddset(signals, SIGTERM);
    sigaddset(signals, SIGHUP);
    sigaddset(signals, SIGQUIT);
}

void tt_processes_begin(void)
{
    const struct sigaction by_default = {.sa_handler = SIG_DFL};
    sigset_t watched;

    if (begun++ > 0)
        return;
    watched_signals(&watched);
    sigprocmask(SIG_BLOCK, &watched, &signals_before);
    /* Whoever started us may ignore it, and then nobody would learn how a child ended. */
    sigaction(SIGCHLD, &by_default, &children_before);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
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
void tt_processes_end(void)
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
    if (--begun > 0)
        return;
    sigaction(SIGCHLD, &children_before, NULL);
    sigprocmask(SIG_SETMASK, &signals_before, NULL);
}

/* ---- starting ---- */

static int redirect(const char *directory, const char *name, int to)
{
    char *path = tt_directory_path(directory, name);
    int fd = -1;

    /* What stands there may be another name of somebody's file. */
    if (path && (unlink(path) == 0 || errno == ENOENT))
        fd = open(path, O_CREAT | O_EXCL | O_WRONLY | TT_DIRECTORY_OPEN, 0666);
    free(path);
    if (fd < 0 || dup2(fd, to) < 0)
        return -1;
    return close(fd);
}

static int enter_cgroup(const char *directory)
{
    char path[512], text[32];
    int fd, length;
    bool entered;

    snprintf(path, sizeof path, "%s/cgroup.procs", directory);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    length = snprintf(text, sizeof text, "%d", (int)getpid());
    entered = write(fd, text, (size_t)length) == length;
    close(fd);
    return entered ? 0 : -1;
}

/* What the child could not do. */
enum step { STDIN, CPUS, CGROUP, OUTPUT, EXEC };
struct failure {
    enum step step;
    int why; /* errno */
};

static int take_place(const struct tt_process_spec *spec, enum step *step)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

    *step = STDIN;
    if (nothing < 0 || dup2(nothing, 0) != 0)
        return -1;
    *step = CPUS;
    if (spec->cpus && sched_setaffinity(0, sizeof *spec->cpus, spec->cpus) != 0)
        return -1;
    *step = CGROUP;
    if (spec->cgroups[0] && enter_cgroup(spec->cgroups[0]) != 0)
        return -1;
    /* An empty group would say that nothing was waited for; one that is gone says nothing. */
    if (spec->cgroups[1] && enter_cgroup(spec->cgroups[1]) != 0)
        rmdir(spec->cgroups[1]);
    *step = OUTPUT;
    if (!spec->directory)
        return 0;
    if (redirect(spec->directory, spec->out ? spec->out : "stdout", 1) != 0)
        return -1;
    return redirect(spec->directory, "stderr", 2);
}

/* In the child; why it failed goes to the parent through the pipe. */
static void become(const struct tt_process_spec *spec, int parents, pid_t parent)
{
    struct failure failure = {0};
    sigset_t none;

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (getppid() == parent && take_place(spec, &failure.step) == 0) {
        failure.step = EXEC;
        execvp(spec->words[0], spec->words);
        if (errno == ENOENT && spec->instead)
            execvp(spec->instead, spec->words);
    }
    failure.why = errno;
    (void)!write(parents, &failure, sizeof failure);
    _exit(127);
}

static int fail_start(const struct tt_process_spec *spec, const struct failure *failure,
                      struct tt_error *e)
{
    switch (failure->step) {
    case STDIN:
        return tt_fail_call(e, failure->why, "open", "/dev/null", -1);
    case CPUS:
        return tt_fail_call(e, failure->why, "sched_setaffinity", NULL, -1);
    case CGROUP:
        return tt_fail_call(e, failure->why, "entering a control group", spec->cgroups[0], -1);
    case OUTPUT:
        return tt_fail_call(e, failure->why, "opening stdout and stderr", spec->directory, -1);
    case EXEC:
        break;
    }
    if (failure->why == ENOENT && spec->instead)
        return tt_fail(
            e, TT_FAILED,
            "there is neither %s nor %s on the PATH; install an MPI (make setup) or load "
            "its module",
            spec->words[0], spec->instead);
    if (failure->why == ENOENT) {
        const char *program = spec->words[0];
        bool slurms = !strcmp(program, "srun") || !strcmp(program, "sbatch");

        return tt_fail(e, TT_FAILED, "there is no program '%s'%s; %s", program,
                       strchr(program, '/') ? "" : " on the PATH",
                       slurms ? "load Slurm's module, or start the ranks here with "
                                "--launch.by local"
                              : "install it, or correct its name");
    }
    return tt_fail_call(e, failure->why, "exec", spec->words[0], -1);
}

int tt_process_start(const struct tt_process_spec *spec, struct tt_process *p, struct tt_error *e)
{
    struct failure failure;
    pid_t self = getpid();
    bool failed;
    int ends[2];

    *p = (struct tt_process){0};
    if (pipe2(ends, O_CLOEXEC) != 0)
        return tt_fail_call(e, errno, "pipe", NULL, -1);
    p->pid = fork();
    if (p->pid == 0)
        become(spec, ends[1], self);
    close(ends[1]);
    if (p->pid < 0) {
        int why = errno;

        close(ends[0]);
        p->pid = 0;
        return tt_fail_call(e, why, "fork", NULL, -1);
    }
    failed = read(ends[0], &failure, sizeof failure) == (ssize_t)sizeof failure;
    close(ends[0]);
    if (!failed)
        return TT_OK;
    waitpid(p->pid, NULL, 0);
    p->pid = 0;
    return fail_start(spec, &failure, e);
}

/* ---- watching and ending ---- */

bool tt_process_poll(struct tt_process *p)
{
    int status = 0;
    pid_t got;

    if (p->pid <= 0 || p->ended)
        return true;
    got = waitpid(p->pid, &status, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR))
        return false;
    p->ended = true;
    p->signal = got > 0 && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    p->status = got < 0 ? UNKNOWN_STATUS : /* somebody else has reaped it: it is gone */
                    WIFSIGNALED(status) ? 128 + WTERMSIG(status)
                                        : WEXITSTATUS(status);
    return true;
}

void tt_process_terminate(struct tt_process *p)
{
    if (p->pid > 0 && !p->ended)
        kill(p->pid, SIGTERM);
}

void tt_process_kill(struct tt_process *p)
{
    if (p->pid > 0 && !p->ended)
        kill(-p->pid, SIGKILL);
}

int tt_signal_wait(double seconds)
{
    struct timespec tick = {.tv_sec = (time_t)seconds,
                            .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    sigset_t watched;
    int got;

    watched_signals(&watched);
    got = sigtimedwait(&watched, NULL, &tick);
    return got == SIGCHLD || got < 0 ? 0 : got;
}
