/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file of one line, so that a later run knows how much of a file is there. */
#include "engine/counts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HEAD "tutti work per rank: "

static int read_line(const char *path, char *line, int size, struct tt_error *e)
{
    FILE *file = fopen(path, "re");

    if (!file)
        return tt_fail_call(e, errno, "open", path, -1);
    if (!fgets(line, size, file))
        line[0] = '\0';
    fclose(file);
    return TT_OK;
}

int tt_counts_load(const char *path, uint64_t *count, struct tt_error *e)
{
    char line[96], rest;
    unsigned long long value = 0;
    int rc = read_line(path, line, sizeof line, e);

    if (rc != TT_OK)
        return rc;
    if (strncmp(line, HEAD, strlen(HEAD)) != 0 || line[strlen(HEAD)] == '-' ||
        sscanf(line + strlen(HEAD), "%llu%c", &value, &rest) != 2 || rest != '\n' || value == 0)
        return tt_fail(e, TT_FAILED, "'%s' is not a file of counts that tutti wrote", path);
    *count = value;
    return TT_OK;
}

int tt_counts_save(const char *path, uint64_t count, struct tt_error *e)
{
    uint64_t before;
    char line[96];
    int n = snprintf(line, sizeof line, HEAD "%llu\n", (unsigned long long)count), fd, rc = TT_OK;

    if (access(path, F_OK) == 0) {
        rc = tt_counts_load(path, &before, e);
        if (rc == TT_OK && unlink(path) != 0)
            rc = tt_fail_call(e, errno, "unlink", path, -1);
    }
    if (rc != TT_OK)
        return rc;
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return tt_fail_call(e, errno, "open", path, -1);
    if (write(fd, line, (size_t)n) != n)
        rc = tt_fail_call(e, errno, "write", path, 0);
    if (close(fd) != 0 && rc == TT_OK)
        rc = tt_fail_call(e, errno, "close", path, -1);
    return rc;
}
