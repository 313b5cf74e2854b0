/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/tier.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One append is one write: ranks do not disturb each other. */
int tt_tier_note(const char *log, const char *file, uint64_t bytes, struct tt_error *e)
{
    char line[PATH_MAX + 32];
    int n = snprintf(line, sizeof line, "%" PRIu64 " %s\n", bytes, file);
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666), rc = TT_OK;

    if (fd < 0)
        return tt_fail_call(e, errno, "open", log, -1);
    if (n < 0 || (size_t)n >= sizeof line || write(fd, line, (size_t)n) != n)
        rc = tt_fail_call(e, errno, "write", log, -1);
    close(fd);
    return rc;
}

/* Everything written since the file's first byte of its last writing, itself included. */
int tt_tier_holds(const char *log, const char *file, uint64_t size, bool *holds, struct tt_error *e)
{
    FILE *in = fopen(log, "re");
    char *line = NULL;
    uint64_t since = UINT64_MAX;
    bool same_before = false;
    size_t room = 0;

    *holds = false;
    if (!in)
        return errno == ENOENT ? TT_OK : tt_fail_call(e, errno, "open", log, -1);
    while (getline(&line, &room, in) > 0) {
        uint64_t bytes = 0;
        int at = 0;

        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%" SCNu64 " %n", &bytes, &at) != 1 || at == 0)
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
