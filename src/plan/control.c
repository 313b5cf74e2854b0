/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/control.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "plan/directory.h"

/* A driver that has not been heard of for so long is dead. */
#define SILENCE_NS 60000000000

static int put(const char *directory, const char *file, int how, const char *text,
               struct tt_error *e)
{
    int fd = tt_directory_open(directory, file, O_CREAT | O_WRONLY | how), rc = TT_OK;
    size_t length = strlen(text);

    if (fd < 0)
        return tt_directory_fail(directory, file, errno, "open", e);
    if (write(fd, text, length) != (ssize_t)length)
        rc = tt_directory_fail(directory, file, errno ? errno : ENOSPC, "write", e);
    close(fd);
    return rc;
}

int tt_control_prepare(const char *directory, struct tt_error *e)
{
    static const char *const files[] = {TT_CONTROL_READY, TT_CONTROL_GO, TT_CONTROL_STOP};
    int rc = TT_OK;

    for (size_t i = 0; i < sizeof files / sizeof *files && rc == TT_OK; i++)
        rc = put(directory, files[i], O_EXCL, "", e);
    return rc;
}

int tt_control_write(const char *directory, const char *file, int64_t wall_ns, struct tt_error *e)
{
    char text[32];

    snprintf(text, sizeof text, "%" PRId64 "\n", wall_ns);
    return put(directory, file, 0, text, e);
}

bool tt_control_is_ready(const char *directory)
{
    char *path = tt_directory_path(directory, TT_CONTROL_READY);
    struct stat st;
    bool ready = path && lstat(path, &st) == 0 && st.st_size > 0;

    free(path);
    return ready;
}

int64_t tt_control_read(const char *directory, const char *file)
{
    int fd = tt_directory_open(directory, file, O_RDONLY);
    char text[32] = "", *end;
    int64_t instant = 0;

    /* Without its end it is still being written; anything but a number nobody has written here. */
    if (fd >= 0 && read(fd, text, sizeof text - 1) > 0) {
        instant = strtoll(text, &end, 10);
        if (instant < 0 || instant == INT64_MAX || strcmp(end, "\n") != 0)
            instant = 0;
    }
    if (fd >= 0)
        close(fd);
    return instant;
}

int tt_control_heartbeat(const char *directory, bool stop, struct tt_error *e)
{
    return put(directory, TT_CONTROL_STOP, O_APPEND, stop ? "!" : ".", e);
}

static bool says_stop(const char *directory, int64_t *heartbeats)
{
    int fd = tt_directory_open(directory, TT_CONTROL_STOP, O_RDONLY);
    struct stat st;
    char last = 0;

    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0) {
        *heartbeats = st.st_size;
        if (pread(fd, &last, 1, st.st_size - 1) != 1)
            last = 0;
    }
    if (fd >= 0)
        close(fd);
    return last == '!';
}

int tt_control_listen(const char *directory, struct tt_control_listener *l)
{
    int64_t heartbeats = l->heartbeats, now = tt_now_ns();

    if (says_stop(directory, &heartbeats))
        return TT_STOPPED;
    if (heartbeats != l->heartbeats || l->heard_ns == 0) {
        l->heartbeats = heartbeats;
        l->heard_ns = now;
    }
    return now - l->heard_ns > SILENCE_NS ? TT_INTERRUPTED : TT_OK;
}

int tt_control_await_go(const char *directory, struct tt_control_listener *l, int64_t *go,
                        struct tt_error *e)
{
    *go = tt_control_read(directory, TT_CONTROL_GO);
    if (*go != 0)
        return TT_OK;
    switch (tt_control_listen(directory, l)) {
    case TT_OK:
        return TT_OK;
    case TT_STOPPED:
        return tt_fail(e, TT_INTERRUPTED, "told to end before it was started");
    default:
        return tt_fail(e, TT_INTERRUPTED, "the driver of this run is gone");
    }
}
