/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bare minimum that reading samples can cost: every file of a directory is opened, read by one
 * call and closed, again and again: read_loop DIRECTORY EPOCHS. Prints bytes per second. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

#define MOST (16 << 20) /* bytes of a file */

static int is_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static long long read_file(int directory, const char *name, void *buffer)
{
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
    struct stat st;
    long long n = fd >= 0 && fstat(fd, &st) == 0 ? pread(fd, buffer, (size_t)st.st_size, 0) : -1;

    if (n < 0 || close(fd) != 0) {
        perror(name);
        exit(1);
    }
    return n;
}

int main(int argc, char **argv)
{
    void *buffer = aligned_alloc(4096, MOST);
    struct dirent **files;
    int n = argc == 3 ? scandir(argv[1], &files, is_file, NULL) : -1;
    int directory = argc == 3 ? open(argv[1], O_RDONLY | O_DIRECTORY) : -1;
    long epochs = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
    double bytes = 0;
    int64_t since;

    if (n < 0 || directory < 0 || !buffer)
        return 2;
    memset(buffer, 0, MOST);
    since = tt_now_ns();
    for (long epoch = 0; epoch < epochs; epoch++)
        for (int i = 0; i < n; i++)
            bytes += (double)read_file(directory, files[i]->d_name, buffer);
    printf("%.0f\n", bytes / tt_seconds(tt_now_ns() - since));
    return 0;
}
