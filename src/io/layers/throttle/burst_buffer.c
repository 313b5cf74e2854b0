/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/layers/throttle/burst_buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* In every line, so that ranks need not agree on who writes the first one. */
#define MARK "tutti burst buffer: "

/* Only a log of ours, which a pipe is not: opening that must not wait. */
static int open_log(const char *log, int flags, int *fd, struct tt_error *e)
{
    char start[sizeof MARK - 1];
    struct stat st;
    ssize_t n;

    *fd = open(log, flags | O_NONBLOCK | O_CLOEXEC, 0666);
    if (*fd < 0)
        return tt_fail_call(e, errno, "open", log, -1);
    if (fstat(*fd, &st) == 0 && S_ISREG(st.st_mode)) {
        n = pread(*fd, start, sizeof start, 0);
        if (n == 0 || (n == sizeof start && !memcmp(start, MARK, sizeof start)))
            return TT_OK;
    }
    close(*fd);
    return tt_fail(
        e, TT_FAILED,
        "'%s' is not a log of a write buffer that this version of tutti wrote; choose another "
        "throttle.buffer_log",
        log);
}

int tt_burst_buffer_check(const char *log, struct tt_error *e)
{
    int fd, rc = open_log(log, O_RDWR | O_CREAT | O_APPEND, &fd, e);

    if (rc == TT_OK)
        close(fd);
    return rc;
}

/* One append is one write: ranks do not disturb each other. */
int tt_burst_buffer_note(const char *log, const char *file, uint64_t bytes, struct tt_error *e)
{
    char line[PATH_MAX + 48];
    int n = snprintf(line, sizeof line, MARK "%" PRIu64 " %s\n", bytes, file);
    int fd, rc = open_log(log, O_RDWR | O_CREAT | O_APPEND, &fd, e);

    if (rc != TT_OK)
        return rc;
    if (n < 0 || (size_t)n >= sizeof line || write(fd, line, (size_t)n) != n)
        rc = tt_fail_call(e, errno, "write", log, -1);
    close(fd);
    return rc;
}

/* Everything written since the file's first byte of its last writing, itself included. */
int tt_burst_buffer_holds(const char *log, const char *file, uint64_t size, bool *holds,
                          struct tt_error *e)
{
    char *line = NULL;
    uint64_t since = UINT64_MAX;
    bool same_before = false;
    size_t room = 0;
    FILE *in;
    int fd, rc;

    *holds = false;
    rc = open_log(log, O_RDONLY, &fd, e);
    if (rc != TT_OK && e->sys_errno == ENOENT) { /* nothing was written yet */
        tt_error_clear(e);
        return TT_OK;
    }
    if (rc != TT_OK)
        return rc;
    in = fdopen(fd, "r");
    if (!in) {
        close(fd);
        return tt_fail_nomem(e, "a log");
    }
    while (getline(&line, &room, in) > 0) {
        uint64_t bytes = 0;
        int at = 0;

        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, MARK "%" SCNu64 " %n", &bytes, &at) != 1 || at == 0)
            continue;
        /* the ranks of a shared file note their parts one after the other */
        if (!strcmp(line + at, file))
            since = same_before ? since + bytes : bytes;
        else if (since != UINT64_MAX)
            since += bytes;
        same_before = !strcmp(line + at, file);
    }
    free(line);
    fclose(in);
    *holds = since <= size;
    return TT_OK;
}
