/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bare minimum a dump can cost: every rank writes its part of one file with pwrite, again and
 * again to the same place. Prints bytes/s (all bytes / the slowest rank's time) and the largest
 * resident set of a rank that does nothing else, both as JSON.
 *   pwrite_loop FILE BYTES-PER-RANK ROUNDS */
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"

#define CHUNK (8u << 20)
#define HUGE_PAGE ((size_t)2 << 20)

static int write_part(int fd, const char *data, uint64_t bytes, uint64_t offset)
{
    for (uint64_t done = 0; done < bytes;) {
        uint64_t left = bytes - done;
        ssize_t n = pwrite(fd, data + done, left < CHUNK ? left : CHUNK, (off_t)(offset + done));

        if (n <= 0)
            return -1;
        done += (uint64_t)n;
    }
    return 0;
}

/* Seconds for all rounds, negative on failure. The memory is touched beforehand. */
static double measure(const char *path, uint64_t bytes, unsigned rounds, int rank)
{
    char *data = aligned_alloc(HUGE_PAGE, (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);
    int fd = open(path, O_WRONLY | O_CREAT, 0644);
    int64_t start;
    int rc = !data || fd < 0 ? -1 : 0;

    if (!rc) {
        madvise(data, bytes, MADV_HUGEPAGE); /* as the fields of the stencil: worth 15 % */
        memset(data, rank + 1, bytes);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    start = tt_now_ns();
    for (unsigned i = 0; i < rounds && !rc; i++)
        rc = write_part(fd, data, bytes, (uint64_t)rank * bytes);
    start = tt_now_ns() - start;
    free(data);
    if (fd >= 0 && close(fd))
        rc = -1;
    return rc ? -1 : tt_seconds(start);
}

int main(int argc, char **argv)
{
    int rank, size, level;
    struct rusage usage;
    double local[2], least, most[2];
    uint64_t bytes;
    unsigned rounds;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 4) {
        fprintf(stderr, "usage: pwrite_loop FILE BYTES-PER-RANK ROUNDS\n");
        MPI_Finalize();
        return 2;
    }
    bytes = strtoull(argv[2], NULL, 10);
    rounds = (unsigned)strtoul(argv[3], NULL, 10);
    getrusage(RUSAGE_SELF, &usage);
    local[0] = measure(argv[1], bytes, rounds, rank);
    local[1] = (double)usage.ru_maxrss * 1024;
    MPI_Allreduce(&local[0], &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(local, most, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0 && least >= 0)
        printf("{\"rate\": %.0f, \"peak_memory\": %.0f}\n", (double)bytes * size * rounds / most[0],
               most[1]);
    if (rank == 0 && least < 0)
        fprintf(stderr, "pwrite_loop: cannot write %s\n", argv[1]);
    MPI_Finalize();
    return least < 0;
}
