/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/backends/mpiio/counts.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool tt_io_count_read(bool process, struct tt_io_count *out)
{
    char text[512];
    const char *bytes, *calls;
    int fd = open(process ? "/proc/self/io" : "/proc/thread-self/io", O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return false;
    n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    bytes = strstr(text, "wchar: ");
    calls = strstr(text, "syscw: ");
    return bytes && calls && sscanf(bytes, "wchar: %" SCNu64, &out->bytes) == 1 &&
           sscanf(calls, "syscw: %" SCNu64, &out->calls) == 1;
}
