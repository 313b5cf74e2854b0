/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For unit tests that open stacks: a directory of their own, the same on all ranks. */
#ifndef TT_TESTS_SCRATCH_H
#define TT_TESTS_SCRATCH_H

#include <ftw.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCRATCH_PATH 256

struct scratch {
    char directory[SCRATCH_PATH];
    int rank, size;
};

static inline int scratch_remove_one(const char *path, const struct stat *st, int type,
                                     struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

/* The directory of a run without ranks, as setup and teardown of a test: *state is its path. */
static inline int scratch_make_run(void **state)
{
    static char directory[] = "/tmp/tutti-unit-XXXXXX";
    char records[64];

    memset(directory + sizeof directory - 7, 'X', 6);
    *state = mkdtemp(directory);
    snprintf(records, sizeof records, "%s/records", directory);
    return *state && mkdir(records, 0777) == 0 ? 0 : -1;
}

static inline int scratch_remove_run(void **state)
{
    return nftw(*state, scratch_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static inline void scratch_make(struct scratch *s)
{
    const char *top = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";

    MPI_Comm_rank(MPI_COMM_WORLD, &s->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &s->size);
    snprintf(s->directory, sizeof s->directory, "%s/tutti-unit-XXXXXX", top);
    if (s->rank == 0 && !mkdtemp(s->directory))
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Bcast(s->directory, sizeof s->directory, MPI_CHAR, 0, MPI_COMM_WORLD);
}

static inline void scratch_remove(const struct scratch *s)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (s->rank == 0)
        nftw(s->directory, scratch_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static inline char *scratch_path(const struct scratch *s, const char *name)
{
    char *path = malloc(SCRATCH_PATH + 64);

    snprintf(path, SCRATCH_PATH + 64, "%s/%s", s->directory, name);
    return path;
}

#endif
