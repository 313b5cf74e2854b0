/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Preloaded, adds a line to the file $LIBRARY_TIME for each process that wrote data: the seconds
 * from its first transfer to the end of its last, and those of them that were spent in the
 * libraries below tutti. Waiting for other ranks counts as the library's. Only the thread that made
 * the first transfer is observed. The libraries that modules open must be preloaded behind this
 * one: only then are theirs the next functions of a name. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>

#include "base/clock.h"

struct sum {
    int64_t ns, calls;
};
static _Thread_local struct {
    int depth; /* libraries call each other: only the outermost call counts */
    int64_t since_ns, first_ns, last_ns;
    struct sum now, at_last; /* in calls, from the first transfer on, and until the last ended */
} library;

static void enter(bool transfers)
{
    if (library.depth++ > 0)
        return;
    library.since_ns = tt_now_ns();
    if (transfers && library.first_ns == 0) {
        library.first_ns = library.since_ns;
        library.now = (struct sum){0};
    }
}

static void leave(bool transfers)
{
    int64_t end_ns;

    if (--library.depth > 0)
        return;
    end_ns = tt_now_ns();
    library.now.ns += end_ns - library.since_ns;
    library.now.calls++;
    if (transfers) {
        library.last_ns = end_ns;
        library.at_last = library.now;
    }
}

/* What observing a call costs the caller outside of what counts as the call. */
static double cost_of_observing(void)
{
    const int n = 200000;
    int64_t start;

    library.now = (struct sum){0};
    start = tt_now_ns();
    for (int i = 0; i < n; i++) {
        enter(false);
        leave(false);
    }
    return (double)(tt_now_ns() - start - library.now.ns) / n;
}

static void __attribute__((destructor)) tell(void)
{
    const char *name = getenv("LIBRARY_TIME");
    FILE *file = name && library.last_ns ? fopen(name, "ae") : NULL;
    double all = (double)(library.last_ns - library.first_ns);

    if (!file)
        return;
    all -= cost_of_observing() * (double)library.at_last.calls;
    fprintf(file, "%.9f %.9f\n", 1e-9 * all, 1e-9 * (double)library.at_last.ns);
    fclose(file);
}

/* hid_t is int64_t and herr_t int: HDF5's header is not needed, nor HDF5 itself. */
typedef int64_t hid;
#define STAND_BEFORE(transfers, type, name, parameters, arguments) \
    type name parameters; \
    type name parameters \
    { \
        static type(*next) parameters; \
        type result; \
\
        if (!next) \
            *(void **)&next = dlsym(RTLD_NEXT, #name); \
        enter(transfers); \
        result = next arguments; \
        leave(transfers); \
        return result; \
    }
STAND_BEFORE(true, ssize_t, pwritev, (int fd, const struct iovec *v, int n, off_t o), (fd, v, n, o))
STAND_BEFORE(true, int, H5Dwrite, (hid d, hid t, hid m, hid f, hid p, const void *b),
             (d, t, m, f, p, b))
STAND_BEFORE(false, hid, H5Dcreate2, (hid l, const char *n, hid t, hid s, hid a, hid b, hid c),
             (l, n, t, s, a, b, c))
STAND_BEFORE(false, int, H5Dclose, (hid d), (d))
STAND_BEFORE(false, int, H5Sselect_elements, (hid s, int op, size_t n, const void *c),
             (s, op, n, c))
STAND_BEFORE(false, int, H5Sselect_hyperslab,
             (hid s, int op, const void *a, const void *b, const void *c, const void *d),
             (s, op, a, b, c, d))
STAND_BEFORE(false, int, H5Sclose, (hid s), (s))
STAND_BEFORE(false, hid, H5Scopy, (hid s), (s))
STAND_BEFORE(false, hid, H5Dget_space, (hid d), (d))
STAND_BEFORE(false, hid, H5Scombine_select, (hid a, int op, hid b), (a, op, b))
STAND_BEFORE(false, int, MPI_Iallreduce,
             (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c, MPI_Request *q),
             (s, r, n, t, o, c, q))
STAND_BEFORE(false, int, MPI_Allreduce,
             (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c),
             (s, r, n, t, o, c))
STAND_BEFORE(false, int, MPI_Wait, (MPI_Request * q, MPI_Status *s), (q, s))
STAND_BEFORE(false, int, MPI_Barrier, (MPI_Comm c), (c))
STAND_BEFORE(true, int, MPI_File_set_view,
             (MPI_File f, MPI_Offset o, MPI_Datatype e, MPI_Datatype t, const char *r, MPI_Info i),
             (f, o, e, t, r, i))
STAND_BEFORE(true, int, MPI_File_write_at_all,
             (MPI_File f, MPI_Offset o, const void *b, int n, MPI_Datatype t, MPI_Status *s),
             (f, o, b, n, t, s))
STAND_BEFORE(true, int, MPI_File_write_at,
             (MPI_File f, MPI_Offset o, const void *b, int n, MPI_Datatype t, MPI_Status *s),
             (f, o, b, n, t, s))
STAND_BEFORE(false, int, MPI_Type_create_hindexed,
             (int n, const int *l, const MPI_Aint *d, MPI_Datatype t, MPI_Datatype *o),
             (n, l, d, t, o))
STAND_BEFORE(false, int, MPI_Type_commit, (MPI_Datatype * t), (t))
STAND_BEFORE(false, int, MPI_Type_free, (MPI_Datatype * t), (t))
STAND_BEFORE(true, int, ncmpi_put_varn_all,
             (int f, int v, int n, MPI_Offset *const *s, MPI_Offset *const *c, const void *b,
              MPI_Offset m, MPI_Datatype t),
             (f, v, n, s, c, b, m, t))
