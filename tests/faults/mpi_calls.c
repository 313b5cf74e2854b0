// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A preloaded library that counts calls of MPI:
 *
 *   LD_PRELOAD=$MPI_CALLS TUTTI_MPI_CALLS=FILE mpirun -n 2 tutti ...
 *
 * Rank 0 appends to FILE, when MPI ends: the level of threads that was asked for, and how often
 * each of the functions below was called by the program and the libraries above MPI. What MPI's own
 * libraries call inside themselves does not pass here.
 *
 * TUTTI_MPI_DELAY="RANK N SECONDS" lets that rank sleep where it next begins an OpenMP region after
 * its N-th MPI_Waitall: in its computation.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define COUNTED(X) \
    X(Allreduce) \
    X(Barrier) \
    X(Waitall) \
    X(File_get_size) X(File_sync) X(File_write_at_all) X(File_read_at_all) X(File_read_at)
#define NUMBER(name) CALLS_##name,
enum { COUNTED(NUMBER) NCALLS };
#define NAME(name) #name,
static const char *const names[] = {COUNTED(NAME)};
static unsigned long calls[NCALLS];
static int level;
static bool delayed; /* since the last MPI_Waitall */

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    level = required;
    return PMPI_Init_thread(argc, argv, required, provided);
}

int MPI_Finalize(void)
{
    const char *path = getenv("TUTTI_MPI_CALLS");
    FILE *out;
    int rank;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    out = path && rank == 0 ? fopen(path, "a") : NULL;
    if (out) {
        fprintf(out, "level %s\n", level == MPI_THREAD_MULTIPLE ? "multiple" : "funneled");
        for (int i = 0; i < NCALLS; i++)
            fprintf(out, "%s %lu\n", names[i], calls[i]);
        fclose(out);
    }
    return PMPI_Finalize();
}

int MPI_Allreduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    calls[CALLS_Allreduce]++;
    return PMPI_Allreduce(from, to, n, type, op, comm);
}

int MPI_Barrier(MPI_Comm comm)
{
    calls[CALLS_Barrier]++;
    return PMPI_Barrier(comm);
}

int MPI_File_get_size(MPI_File file, MPI_Offset *size)
{
    calls[CALLS_File_get_size]++;
    return PMPI_File_get_size(file, size);
}

int MPI_File_sync(MPI_File file)
{
    calls[CALLS_File_sync]++;
    return PMPI_File_sync(file);
}

int MPI_File_write_at_all(MPI_File file, MPI_Offset at, const void *data, int n, MPI_Datatype type,
                          MPI_Status *status)
{
    calls[CALLS_File_write_at_all]++;
    return PMPI_File_write_at_all(file, at, data, n, type, status);
}

int MPI_File_read_at_all(MPI_File file, MPI_Offset at, void *data, int n, MPI_Datatype type,
                         MPI_Status *status)
{
    calls[CALLS_File_read_at_all]++;
    return PMPI_File_read_at_all(file, at, data, n, type, status);
}

int MPI_File_read_at(MPI_File file, MPI_Offset at, void *data, int n, MPI_Datatype type,
                     MPI_Status *status)
{
    calls[CALLS_File_read_at]++;
    return PMPI_File_read_at(file, at, data, n, type, status);
}

int MPI_Waitall(int n, MPI_Request *requests, MPI_Status *statuses)
{
    int rc = PMPI_Waitall(n, requests, statuses);

    calls[CALLS_Waitall]++;
    delayed = false;
    return rc;
}

/* What gcc makes of `#pragma omp parallel`. */
void GOMP_parallel(void (*function)(void *), void *data, unsigned threads, unsigned flags);
void GOMP_parallel(void (*function)(void *), void *data, unsigned threads, unsigned flags)
{
    void (*original)(void (*)(void *), void *, unsigned, unsigned);
    const char *delay = getenv("TUTTI_MPI_DELAY");
    unsigned long nth;
    double seconds;
    int own, rank;

    *(void **)&original = dlsym(RTLD_NEXT, "GOMP_parallel");
    if (delay && !delayed && sscanf(delay, "%d %lu %lf", &rank, &nth, &seconds) == 3 &&
        nth == calls[CALLS_Waitall] && PMPI_Comm_rank(MPI_COMM_WORLD, &own) == MPI_SUCCESS &&
        own == rank) {
        struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};

        nanosleep(&t, NULL);
        delayed = true;
    }
    original(function, data, threads, flags);
}
