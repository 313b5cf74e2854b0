/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A climate model's dump: 200,000 runs of 8 to 64 bytes per rank, interleaved over ranks, through a
 * backend. Prints as JSON what share of the time passed outside of the library below it and how
 * much memory it took per run.
 *   tiny_runs BACKEND FILE
 * Time in the library is taken by standing in front of its calls: what the executable defines comes
 * first, and the real one is the next. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "io/file.h"
#include "plan/registry.h"

#define RUNS 200000u
#define ROWS 72u /* of the array, as an atmosphere has levels */
#define ROUNDS 5

static struct {
    int depth; /* libraries call each other: only the outermost call counts */
    int64_t since_ns, total_ns, calls;
} library;

static void enter(void)
{
    if (library.depth++ == 0)
        library.since_ns = tt_now_ns();
}

static void leave(void)
{
    if (--library.depth == 0) {
        library.total_ns += tt_now_ns() - library.since_ns;
        library.calls++;
    }
}

/* What standing in front of a call costs the caller besides, since it is not tutti's. */
static double cost_of_watching(void)
{
    const int n = 200000;
    int64_t start = tt_now_ns();

    library.total_ns = 0;
    for (int i = 0; i < n; i++) {
        enter();
        leave();
    }
    return (double)(tt_now_ns() - start - library.total_ns) / n;
}

/* hid_t is int64_t and herr_t int: HDF5's header is not needed, nor HDF5 itself. */
typedef int64_t hid;
#define STAND_BEFORE(type, name, parameters, arguments) \
    type name parameters; \
    type name parameters \
    { \
        static type(*next) parameters; \
        type result; \
\
        if (!next) \
            *(void **)&next = dlsym(RTLD_NEXT, #name); \
        enter(); \
        result = next arguments; \
        leave(); \
        return result; \
    }
STAND_BEFORE(ssize_t, pwritev, (int fd, const struct iovec *v, int n, off_t o), (fd, v, n, o))
STAND_BEFORE(int, H5Dwrite, (hid d, hid t, hid m, hid f, hid p, const void *b), (d, t, m, f, p, b))
STAND_BEFORE(int, H5Sselect_elements, (hid s, int op, size_t n, const void *c), (s, op, n, c))
STAND_BEFORE(int, H5Sselect_hyperslab,
             (hid s, int op, const void *a, const void *b, const void *c, const void *d),
             (s, op, a, b, c, d))
STAND_BEFORE(int, H5Sclose, (hid s), (s))
STAND_BEFORE(hid, H5Scopy, (hid s), (s))
STAND_BEFORE(hid, H5Dget_space, (hid d), (d))
STAND_BEFORE(hid, H5Scombine_select, (hid a, int op, hid b), (a, op, b))
STAND_BEFORE(int, MPI_Allreduce,
             (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c),
             (s, r, n, t, o, c))
STAND_BEFORE(int, MPI_File_set_view,
             (MPI_File f, MPI_Offset o, MPI_Datatype e, MPI_Datatype t, const char *r, MPI_Info i),
             (f, o, e, t, r, i))
STAND_BEFORE(int, MPI_File_write_all,
             (MPI_File f, const void *b, int n, MPI_Datatype t, MPI_Status *s), (f, b, n, t, s))
STAND_BEFORE(int, MPI_File_write_at_all,
             (MPI_File f, MPI_Offset o, const void *b, int n, MPI_Datatype t, MPI_Status *s),
             (f, o, b, n, t, s))
STAND_BEFORE(int, MPI_File_write_at,
             (MPI_File f, MPI_Offset o, const void *b, int n, MPI_Datatype t, MPI_Status *s),
             (f, o, b, n, t, s))
STAND_BEFORE(int, MPI_Type_create_hindexed,
             (int n, const int *l, const MPI_Aint *d, MPI_Datatype t, MPI_Datatype *o),
             (n, l, d, t, o))
STAND_BEFORE(int, MPI_Type_commit, (MPI_Datatype * t), (t))
STAND_BEFORE(int, MPI_Type_free, (MPI_Datatype * t), (t))
STAND_BEFORE(int, ncmpi_put_varn_all,
             (int f, int v, int n, MPI_Offset *const *s, MPI_Offset *const *c, const void *b,
              MPI_Offset m, MPI_Datatype t),
             (f, v, n, s, c, b, m, t))

/* Runs of 1 to 8 doubles tile the array; every size-th belongs to this rank. Returns the elements
 * of the array, *mine those of this rank. */
static uint64_t make_runs(struct tt_run *runs, int rank, int size, uint64_t *mine)
{
    uint64_t at = 0, state = 1;

    *mine = 0;
    for (uint64_t i = 0; i < (uint64_t)RUNS * (unsigned)size; i++) {
        uint64_t length;

        state = state * 6364136223846793005u + 1442695040888963407u;
        length = 1 + (state >> 61);
        if (i % (unsigned)size == (unsigned)rank) {
            runs[i / (unsigned)size] = (struct tt_run){at, length};
            *mine += length;
        }
        at += length;
    }
    return at;
}

static double resident(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss * 1024;
}

/* One write per round; what the first one needs once (opening, buffers of the library) is in the
 * memory, but not in the time. */
static int write_runs(struct tt_file *file, const struct tt_block *block, double out[2],
                      struct tt_error *e)
{
    double before = resident(), watching = cost_of_watching(), elapsed;
    int64_t start = 0;
    int rc = tt_file_define(file, 0, e);

    for (int i = 0; i <= ROUNDS && rc == TT_OK; i++) {
        if (i == 1) {
            library.total_ns = library.calls = 0;
            start = tt_now_ns();
        }
        rc = tt_file_write(file, 0, block, e);
    }
    elapsed = (double)(tt_now_ns() - start) - watching * (double)library.calls;
    out[0] = 1 - (double)library.total_ns / elapsed;
    out[1] = (resident() - before) / RUNS;
    return rc;
}

static int measure(const struct tt_backend *backend, const char *path, int rank, int size,
                   double out[2], struct tt_error *e)
{
    struct tt_run *runs = malloc(RUNS * sizeof *runs);
    void *opts = calloc(1, backend->opts_size + 1);
    uint64_t mine, all = make_runs(runs, rank, size, &mine);
    struct tt_variable variable = {.path = "field",
                                   .element = &tt_element_f64,
                                   .ndims = 2,
                                   .dims = {ROWS, (all + ROWS - 1) / ROWS},
                                   .per_step = true};
    struct tt_file_spec spec = {path, MPI_COMM_WORLD, TT_CREATE, TT_OVERWRITE, 1, 1, &variable};
    struct tt_stack stack = {.n = 1, .elements = {backend}, .opts = {opts}};
    double *data = calloc(mine, sizeof *data);
    struct tt_block block = {.data = data};
    struct tt_file *file = NULL;
    int rc = tt_params_default(backend->params, opts, e);

    memset(data, 1, mine * sizeof *data); /* touched before anything is measured */
    tt_select_runs(&block.file, 2, variable.dims, RUNS, runs);
    tt_select_all(&block.memory, 1, &mine);
    if (rc == TT_OK)
        rc = tt_file_open(&stack, &spec, &file, e);
    if (rc == TT_OK) {
        rc = write_runs(file, &block, out, e);
        tt_file_close(file, e);
    }
    free(data);
    free(opts);
    free(runs);
    return rc;
}

int main(int argc, char **argv)
{
    struct tt_error e = TT_ERROR_CLEAR;
    const struct tt_backend *backend;
    double local[2] = {0}, most[2];
    char text[1024];
    int rank, size, level, rc = TT_USAGE;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    backend = argc == 3 ? tt_find_backend(argv[1], &e) : NULL;
    if (backend)
        rc = measure(backend, argv[2], rank, size, local, &e);
    MPI_Reduce(local, most, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    tt_error_format(&e, text, sizeof text);
    if (rank == 0 && rc == TT_OK)
        printf("{\"outside\": %.4f, \"memory_per_run\": %.1f}\n", most[0], most[1]);
    if (rc != TT_OK)
        fprintf(stderr, "tiny_runs: %s\n", backend ? text : "usage: tiny_runs BACKEND FILE");
    MPI_Finalize();
    return rc != TT_OK;
}
