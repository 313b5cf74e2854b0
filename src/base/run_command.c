/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/run_command.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Who asks may be waiting for signals; what is asked must not block them, too. */
static int spawn(char *const words[], int output, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    int failed;

    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    posix_spawn_file_actions_adddup2(&actions, output, 2);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    failed = posix_spawnp(pid, words[0], &actions, &attributes, words, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed;
}

bool tt_run_command(char *const words[], char *answer, size_t size)
{
    int ends[2], failed, status = 0;
    size_t used = 0;
    ssize_t n;
    pid_t pid;

    *answer = '\0';
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    failed = spawn(words, ends[1], &pid);
    close(ends[1]);
    while (!failed && used + 1 < size && (n = read(ends[0], answer + used, size - 1 - used)) > 0)
        used += (size_t)n;
    close(ends[0]); /* whoever says more than there is room for shall not wait for us */
    answer[used] = '\0';
    if (failed)
        snprintf(answer, size, "%s: %s", words[0], strerror(failed));
    return !failed && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}
