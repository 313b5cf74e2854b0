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
#include "plan/folder.h"

/* What ranks get to end after their launcher has. */
#define ORPHANS_NS 5000000000

/* Signals are the process's, and so is this: how they were, and how many asked for them. */
static sigset_t signals_before;
static unsigned begun;

static void watched_signals(sigset_t *signals)
{
    sigemptyset(signals);
    sigaddset(signals, SIGCHLD);
    sigaddset(signals, SIGINT);
    sigaddset(signals, SIGTERM);
    sigaddset(signals, SIGHUP);
}

void tt_processes_begin(void)
{
    sigset_t watched;

    if (begun++ > 0)
        return;
    watched_signals(&watched);
    sigprocmask(SIG_BLOCK, &watched, &signals_before);
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
    if (--begun == 0)
        sigprocmask(SIG_SETMASK, &signals_before, NULL);
}

/* ---- starting ---- */

static int redirect(const char *folder, const char *name, int to)
{
    char *path = tt_folder_path(folder, name);
    int fd = path ? open(path, O_CREAT | O_TRUNC | O_WRONLY | TT_FOLDER_OPEN, 0666) : -1;

    free(path);
    if (fd < 0 || dup2(fd, to) < 0)
        return -1;
    return close(fd);
}

static int enter_cgroup(const char *folder)
{
    char path[512], text[32];
    int fd, length;
    bool entered;

    snprintf(path, sizeof path, "%s/cgroup.procs", folder);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    length = snprintf(text, sizeof text, "%d", (int)getpid());
    entered = write(fd, text, (size_t)length) == length;
    close(fd);
    return entered ? 0 : -1;
}

static int take_place(const struct tt_process_spec *spec)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (nothing < 0 || dup2(nothing, 0) != 0)
        return -1;
    if (spec->cpus && sched_setaffinity(0, sizeof *spec->cpus, spec->cpus) != 0)
        return -1;
    if (spec->cgroup && enter_cgroup(spec->cgroup) != 0)
        return -1;
    if (!spec->folder)
        return 0;
    if (redirect(spec->folder, spec->out ? spec->out : "stdout", 1) != 0)
        return -1;
    return redirect(spec->folder, "stderr", 2);
}

/* In the child; the errno of a failed exec goes to the parent through the pipe. */
static void become(const struct tt_process_spec *spec, int failure, pid_t parent)
{
    sigset_t none;
    int why;

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (getppid() == parent && take_place(spec) == 0) {
        execvp(spec->words[0], spec->words);
        if (errno == ENOENT && spec->instead)
            execvp(spec->instead, spec->words);
    }
    why = errno;
    (void)!write(failure, &why, sizeof why);
    _exit(127);
}

int tt_process_start(const struct tt_process_spec *spec, struct tt_process *p, struct tt_error *e)
{
    pid_t self = getpid();
    int failure[2], why = 0;

    *p = (struct tt_process){0};
    if (pipe2(failure, O_CLOEXEC) != 0)
        return tt_fail_call(e, errno, "pipe", NULL, -1);
    p->pid = fork();
    if (p->pid == 0)
        become(spec, failure[1], self);
    close(failure[1]);
    if (p->pid < 0) {
        close(failure[0]);
        p->pid = 0;
        return tt_fail_call(e, errno, "fork", NULL, -1);
    }
    if (read(failure[0], &why, sizeof why) != (ssize_t)sizeof why)
        why = 0;
    close(failure[0]);
    if (!why)
        return TT_OK;
    waitpid(p->pid, NULL, 0);
    p->pid = 0;
    if (why == ENOENT && spec->instead)
        return tt_fail(
            e, TT_FAILED,
            "there is neither %s nor %s on the PATH; install an MPI (make setup) or load "
            "its module",
            spec->words[0], spec->instead);
    if (why == ENOENT)
        return tt_fail(e, TT_FAILED, "there is no program '%s' on the PATH", spec->words[0]);
    return tt_fail_call(e, why, "exec", spec->words[0], -1);
}

/* ---- watching and ending ---- */

bool tt_process_poll(struct tt_process *p)
{
    int status;

    if (p->pid <= 0 || p->ended)
        return true;
    if (waitpid(p->pid, &status, WNOHANG) != p->pid)
        return false;
    p->ended = true;
    p->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
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
    return got == SIGINT || got == SIGTERM || got == SIGHUP ? got : 0;
}
