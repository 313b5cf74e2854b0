/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A bare loop that makes empty files: creates DIRECTORY NUMBER. Prints files per second. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"

int main(int argc, char **argv)
{
    long n = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
    char path[512];
    int64_t t = tt_now_ns();

    if (n <= 0 || snprintf(path, sizeof path, "%s", argv[1]) >= 400) {
        fprintf(stderr, "creates: usage: creates DIRECTORY NUMBER\n");
        return 1;
    }
    for (long i = 0; i < n; i++) {
        int fd;

        snprintf(path, sizeof path, "%s/file.0.%ld", argv[1], i);
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 || close(fd) != 0)
            return 1;
    }
    printf("%.1f\n", (double)n / tt_seconds(tt_now_ns() - t));
    return 0;
}
