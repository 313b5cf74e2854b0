/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/agree.h"
#include "base/clock.h"
#include "spec/units.h"

/* A rank's part in units of UNIT elements: one run, or as many runs with gaps in between. */
enum { UNIT = 8, UNITS_CONTIGUOUS = 65536, UNITS_SCATTERED = 16384, LOOKS = 256 };
#define UNIT_BYTES (UNIT * sizeof(uint64_t))
#define ALLOWED_NS INT64_C(250000000)
#define PAUSE_NS INT64_C(1000000)

struct shape {
    uint64_t units, first, stride; /* place of unit i in the file: first + i * stride, in units */
    struct tt_variable variable;
    struct tt_block block;
    uint64_t *data;
};

static int make_shape(struct shape *s, bool contiguous, int rank, int size, struct tt_error *e)
{
    uint64_t start, stride, block = UNIT, elements;

    s->units = contiguous ? UNITS_CONTIGUOUS : UNITS_SCATTERED;
    s->first = contiguous ? (uint64_t)rank * s->units : (uint64_t)rank;
    s->stride = contiguous ? 1 : (uint64_t)size + 1; /* a gap also with one rank */
    s->variable = (struct tt_variable){.path = "probe", .element = &tt_element_u64, .ndims = 1};
    s->variable.dims[0] = (contiguous ? (uint64_t)size : (uint64_t)size + 1) * s->units * UNIT;
    elements = s->units * UNIT;
    s->data = malloc(elements * sizeof *s->data);
    if (!s->data)
        return tt_fail_nomem(e, "the probe of nonblocking calls");
    for (uint64_t i = 0; i < elements; i++)
        s->data[i] = ((uint64_t)rank << 32 | i) * UINT64_C(0x9e3779b97f4a7c15) + 1;
    start = s->first * UNIT;
    stride = s->stride * UNIT;
    s->block = (struct tt_block){.data = s->data};
    tt_select_slab(&s->block.file, 1, s->variable.dims, &start, &stride, &s->units, &block);
    tt_select_all(&s->block.memory, 1, &elements);
    return TT_OK;
}

/* How much of the content is in the file, from samples all over it. */
static double arrived(const struct shape *s, int fd)
{
    uint64_t seen[UNIT];
    unsigned n = 0;

    for (uint64_t i = 0; i < LOOKS; i++) {
        uint64_t unit = i * (s->units - 1) / (LOOKS - 1);
        off_t offset = (off_t)((s->first + unit * s->stride) * UNIT_BYTES);

        if (pread(fd, seen, sizeof seen, offset) == (ssize_t)sizeof seen)
            n += memcmp(seen, s->data + unit * UNIT, sizeof seen) == 0;
    }
    return (double)n / LOOKS;
}

/* Makes no call into the library. */
static double watch(const struct shape *s, int fd, int64_t *elapsed_ns)
{
    int64_t start = tt_now_ns(), now = start;
    double fraction = arrived(s, fd);

    while (fraction < 1 && now - start < ALLOWED_NS) {
        tt_sleep_until(now + PAUSE_NS);
        fraction = arrived(s, fd);
        now = tt_now_ns();
    }
    *elapsed_ns = now - start;
    return fraction;
}

/* One submitted write, watched and completed. */
static int try_write(struct tt_file *file, const struct shape *s, const char *path,
                     size_t ticket_size, double *fraction, int64_t *elapsed_ns, struct tt_error *e)
{
    struct tt_ticket ticket = {calloc(1, ticket_size)};
    int fd = open(path, O_RDONLY | O_CLOEXEC), rc = TT_OK;
    bool started;

    if (!ticket.state)
        rc = tt_fail_nomem(e, "the probe of nonblocking calls");
    else if (fd < 0)
        rc = tt_fail_call(e, errno, "open", path, -1);
    rc = tt_agree(file->spec->comm, rc, e);
    if (rc == TT_OK)
        rc = tt_agree(file->spec->comm, tt_file_define(file, 0, e), e);
    started = rc == TT_OK;
    if (started)
        rc = tt_file_submit(file, TT_WRITING, 0, &s->block, &ticket, e);
    if (rc == TT_OK)
        *fraction = watch(s, fd, elapsed_ns);
    if (started && rc != TT_UNSUPPORTED) { /* also after a failure: others wait in it */
        int result = tt_file_wait(file, &ticket, e);

        rc = rc == TT_OK ? result : rc;
    }
    if (fd >= 0)
        close(fd);
    free(ticket.state);
    return tt_agree(file->spec->comm, rc, e);
}

/* Collective: the worst of all ranks. */
static void judge(MPI_Comm comm, uint64_t bytes, double fraction, int64_t elapsed_ns,
                  struct tt_probe *out)
{
    double worst[2] = {-fraction, tt_seconds(elapsed_ns)};
    char size[TT_UNIT_TEXT], time[TT_UNIT_TEXT];

    MPI_Allreduce(MPI_IN_PLACE, worst, 2, MPI_DOUBLE, MPI_MAX, comm);
    out->fraction = -worst[0];
    out->seconds = worst[1];
    out->native = out->fraction >= 0.9;
    snprintf(out->text, sizeof out->text, "%.0f %% of %s left within %s without further calls",
             100 * out->fraction, tt_format_bytes((double)bytes, size),
             tt_format_seconds(out->seconds, time));
}

static int probe_file(const struct tt_stack *stack, const struct tt_file_spec *spec,
                      const struct shape *s, struct tt_probe *out, struct tt_error *e)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    struct tt_file *file;
    double fraction = 0;
    int64_t elapsed_ns = 0;
    int rc = tt_file_open(stack, spec, &file, e), rank;

    if (rc != TT_OK)
        return rc;
    rc = try_write(file, s, spec->path, tt_stack_ticket_size(stack), &fraction, &elapsed_ns, e);
    if (rc == TT_OK)
        judge(spec->comm, s->units * UNIT_BYTES, fraction, elapsed_ns, out);
    if (rc == TT_UNSUPPORTED) {
        snprintf(out->text, sizeof out->text, "%.*s", (int)sizeof out->text - 1, e->text);
        tt_error_clear(e);
        rc = TT_OK;
    }
    if (rc == TT_OK)
        rc = tt_file_close(file, e);
    else
        tt_file_close(file, &ignored);
    MPI_Comm_rank(spec->comm, &rank);
    if (rank == 0)
        unlink(spec->path);
    return rc;
}

int tt_probe_native(const struct tt_stack *stack, MPI_Comm comm, const char *path, bool contiguous,
                    struct tt_probe *out, struct tt_error *e)
{
    struct tt_file_spec spec = {.path = path, .access = TT_CREATE, .policy = TT_OVERWRITE};
    struct shape s;
    int rank, size, rc;

    memset(out, 0, sizeof *out);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    rc = tt_agree(comm, make_shape(&s, contiguous, rank, size, e), e);
    if (rc == TT_OK)
        rc =
            tt_agree(comm, tt_fail_mpi(e, MPI_Comm_dup(comm, &spec.comm), "MPI_Comm_dup", NULL), e);
    if (rc == TT_OK) {
        spec.steps = spec.nvariables = 1;
        spec.variables = &s.variable;
        rc = probe_file(stack, &spec, &s, out, e);
        MPI_Comm_free(&spec.comm);
    }
    free(s.data);
    return rc;
}
