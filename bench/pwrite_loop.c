/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bare minimum a dump can cost: every rank writes its part of one file with pwrite, again and
 * again to the same place, then reads it once. Prints bytes/s of both (all bytes / the slowest
 * rank's time) and the largest resident set of a rank that does nothing else, as JSON. With a
 * request all calls are of that size and take the same memory, else what is written lies in memory
 * as it lies in the file.
 *   pwrite_loop FILE BYTES-PER-RANK ROUNDS [REQUEST] */
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

struct part {
    int fd;
    char *data;
    uint64_t bytes, offset, request, step; /* step: from one call to the next, in memory */
};

static int write_part(const struct part *p)
{
    for (uint64_t done = 0; done < p->bytes;) {
        uint64_t left = p->bytes - done;
        ssize_t n = pwrite(p->fd, p->data + done * p->step, left < p->request ? left : p->request,
                           (off_t)(p->offset + done));

        if (n <= 0)
            return -1;
        done += (uint64_t)n;
    }
    return 0;
}

static int read_part(const struct part *p)
{
    for (uint64_t done = 0; done < p->bytes;) {
        uint64_t left = p->bytes - done;
        ssize_t n = pread(p->fd, p->data + done * p->step, left < p->request ? left : p->request,
                          (off_t)(p->offset + done));

        if (n <= 0)
            return -1;
        done += (uint64_t)n;
    }
    return 0;
}

static double seconds_of(int (*move)(const struct part *), const struct part *p, unsigned rounds)
{
    int64_t start;
    int rc = 0;

    MPI_Barrier(MPI_COMM_WORLD);
    start = tt_now_ns();
    for (unsigned i = 0; i < rounds && !rc; i++)
        rc = move(p);
    return rc ? -1 : tt_seconds(tt_now_ns() - start);
}

/* Seconds for all rounds of writing and for one of reading, negative on failure. The memory is
 * touched beforehand. */
static void measure(const char *path, struct part p, unsigned rounds, int rank, double seconds[2])
{
    size_t memory = p.step ? p.bytes : p.request;

    seconds[0] = seconds[1] = -1;
    p.data = aligned_alloc(HUGE_PAGE, (memory + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);
    p.fd = open(path, O_RDWR | O_CREAT, 0644);
    if (p.data) {
        if (p.step)
            madvise(p.data, memory, MADV_HUGEPAGE); /* as the fields of the stencil: worth 15 % */
        memset(p.data, rank + 1, memory);
    }
    if (!p.data || p.fd < 0)
        p.bytes = 0; /* but others wait in the barrier */
    seconds[0] = seconds_of(write_part, &p, rounds);
    seconds[1] = seconds_of(read_part, &p, 1);
    if (!p.data || p.fd < 0 || close(p.fd))
        seconds[0] = -1;
    free(p.data);
}

int main(int argc, char **argv)
{
    int rank, size, level;
    struct rusage usage;
    double local[3], least, most[3];
    struct part part;
    unsigned rounds;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 4 && argc != 5) {
        fprintf(stderr, "usage: pwrite_loop FILE BYTES-PER-RANK ROUNDS [REQUEST]\n");
        MPI_Finalize();
        return 2;
    }
    part = (struct part){.bytes = strtoull(argv[2], NULL, 10), .request = CHUNK, .step = 1};
    part.offset = (uint64_t)rank * part.bytes;
    rounds = (unsigned)strtoul(argv[3], NULL, 10);
    if (argc == 5) {
        part.request = strtoull(argv[4], NULL, 10);
        part.step = 0;
    }
    getrusage(RUSAGE_SELF, &usage);
    measure(argv[1], part, rounds, rank, local);
    least = local[0] < local[1] ? local[0] : local[1];
    local[2] = (double)usage.ru_maxrss * 1024;
    MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(local, most, 3, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0 && least >= 0)
        printf("{\"rate\": %.0f, \"read_rate\": %.0f, \"peak_memory\": %.0f}\n",
               (double)part.bytes * size * rounds / most[0], (double)part.bytes * size / most[1],
               most[2]);
    if (rank == 0 && least < 0)
        fprintf(stderr, "pwrite_loop: cannot write and read %s\n", argv[1]);
    MPI_Finalize();
    return least < 0;
}
