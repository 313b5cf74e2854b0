/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What packing costs the library alone: blocks of a file in memory, one after the other, by one
 * thread, to memory that holds the result: pack_loop FILE BLOCK. Prints the CPU seconds of one pass
 * with lz4, as layer compress calls it. */
#include <fcntl.h>
#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

int main(int argc, char **argv)
{
    int fd = argc == 3 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
    int block = argc == 3 ? (int)strtol(argv[2], NULL, 10) : 0;
    int room = LZ4_compressBound(block);
    void *state = malloc((size_t)LZ4_sizeofState());
    char *to, *data;
    size_t packed = 0;
    int64_t since;
    struct stat st;

    if (block <= 0 || !state || fd < 0 || fstat(fd, &st) != 0)
        return 2;
    data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    to = malloc((size_t)st.st_size / 100 * 101 + (size_t)room);
    if (data == MAP_FAILED || !to)
        return 2;
    since = tt_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (off_t at = 0; at < st.st_size; at += block) {
        int n = st.st_size - at < block ? (int)(st.st_size - at) : block;

        packed += (size_t)LZ4_compress_fast_extState(state, data + at, to + packed, n, room, 1);
    }
    printf("%.9f\n", tt_seconds(tt_clock_ns(CLOCK_THREAD_CPUTIME_ID) - since));
    return packed > 0 ? 0 : 1;
}
