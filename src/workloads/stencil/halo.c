/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workloads/stencil/stencil.h"

#include "base/agree.h"
#include "base/clock.h"
#include "workloads/stencil/device.h"

/* The owned points next to the neighbour in that direction, or the halo points that it owns. */
static int make_type(const struct tt_layout *l, const struct tt_owned *o, const int direction[3],
                     bool halo, MPI_Datatype *out)
{
    int sizes[3], subsizes[3], starts[3], rc;

    for (int d = 0; d < 3; d++) {
        int first = (int)l->owned[d], count = (int)o->count[d];

        sizes[d] = (int)l->dims[d];
        subsizes[d] = direction[d] ? 1 : count;
        starts[d] = first;
        if (direction[d] > 0)
            starts[d] = first + count - 1 + halo;
        else if (direction[d] < 0)
            starts[d] = first - halo;
    }
    rc = MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, out);
    return rc == MPI_SUCCESS ? MPI_Type_commit(out) : rc;
}

static int add_neighbour(struct tt_halo *h, const struct tt_owned *o, const struct tt_layout *l,
                         const int direction[3], int rank, struct tt_error *e)
{
    int tag = (direction[0] + 1) * 9 + (direction[1] + 1) * 3 + direction[2] + 1;
    int rc, i = h->n;
    uint64_t points = 1;

    h->neighbours[i].rank = rank;
    h->neighbours[i].send_tag = tag;
    h->neighbours[i].receive_tag = 26 - tag; /* the neighbour's name of the direction to us */
    rc = make_type(l, o, direction, false, &h->neighbours[i].send);
    if (rc != MPI_SUCCESS)
        return tt_fail_mpi(e, rc, "MPI_Type_create_subarray", NULL);
    rc = make_type(l, o, direction, true, &h->neighbours[i].receive);
    if (rc != MPI_SUCCESS) {
        MPI_Type_free(&h->neighbours[i].send);
        return tt_fail_mpi(e, rc, "MPI_Type_create_subarray", NULL);
    }
    for (int d = 0; d < 3; d++)
        points *= direction[d] ? 1 : o->count[d];
    h->neighbours[i].points = points;
    h->bytes += points * sizeof(double);
    h->n++;
    return TT_OK;
}

int tt_halo_make(struct tt_halo *h, MPI_Comm comm, const struct tt_partition *p,
                 const struct tt_owned *o, const struct tt_layout *l, bool diagonals,
                 struct tt_error *e)
{
    int rc = TT_OK;

    *h = (struct tt_halo){.comm = comm};
    for (int i = 0; i < 2 * TT_MAX_NEIGHBOURS; i++)
        h->requests[i] = MPI_REQUEST_NULL;
    for (int i = 0; i < 27; i++) {
        const int direction[3] = {i / 9 - 1, i / 3 % 3 - 1, i % 3 - 1};
        int moved = (direction[0] != 0) + (direction[1] != 0) + (direction[2] != 0);
        int rank = tt_partition_neighbour(p, o, direction);

        if (rank >= 0 && rc == TT_OK && (moved == 1 || (moved > 1 && diagonals)))
            rc = add_neighbour(h, o, l, direction, rank, e);
    }
    if (rc != TT_OK)
        tt_halo_free(h);
    return rc;
}

/* What a failure left: nothing may come to memory that is given back, or be taken from it. A
 * neighbour that has failed, too, is not waited for: it takes nothing any more. */
static void end_requests(struct tt_halo *h)
{
    int64_t deadline = tt_now_ns() + 1000000000;

    for (int i = 0; i < h->n; i++)
        if (h->requests[i] != MPI_REQUEST_NULL)
            MPI_Cancel(&h->requests[i]);
    while (!tt_halo_test(h) && tt_now_ns() < deadline)
        ;
}

void tt_halo_free(struct tt_halo *h)
{
    end_requests(h);
    tt_halo_free_device(h);
    for (int i = 0; i < h->n; i++) {
        MPI_Type_free(&h->neighbours[i].send);
        MPI_Type_free(&h->neighbours[i].receive);
    }
    h->n = 0;
}

/* From the array itself, or from and to the buffers of a device's halo. */
static int post(struct tt_halo *h, double *values, int i, bool receive)
{
    MPI_Request *request = &h->requests[receive ? i : h->n + i];
    double *data = h->staging ? tt_halo_buffer(h, i, receive) : values;
    MPI_Datatype type = receive ? h->neighbours[i].receive : h->neighbours[i].send;
    int n = 1, rank = h->neighbours[i].rank;

    if (h->staging) {
        n = (int)h->neighbours[i].points; /* tt_halo_to_device() has refused more */
        type = MPI_DOUBLE;
    }
    return receive ? MPI_Irecv(data, n, type, rank, h->neighbours[i].receive_tag, h->comm, request)
                   : MPI_Isend(data, n, type, rank, h->neighbours[i].send_tag, h->comm, request);
}

int tt_halo_post(struct tt_halo *h, double *values, struct tt_error *e)
{
    int rc = MPI_SUCCESS, fetched = TT_OK;

    for (int i = 0; i < 2 * h->n; i++)
        h->requests[i] = MPI_REQUEST_NULL;
    for (int i = 0; i < h->n && rc == MPI_SUCCESS; i++)
        rc = post(h, values, i, true);
    if (h->staging)
        fetched = tt_halo_fetch(h, values, e); /* if it fails, others get what was there */
    for (int i = 0; i < h->n && rc == MPI_SUCCESS; i++)
        rc = post(h, values, i, false);
    return fetched == TT_OK ? tt_fail_mpi(e, rc, "MPI_Isend", NULL) : fetched;
}

bool tt_halo_test(struct tt_halo *h)
{
    int done = 1;

    return MPI_Testall(2 * h->n, h->requests, &done, MPI_STATUSES_IGNORE) != MPI_SUCCESS || done;
}

int tt_halo_wait(struct tt_halo *h, struct tt_error *e)
{
    int rc = tt_fail_mpi(e, MPI_Waitall(2 * h->n, h->requests, MPI_STATUSES_IGNORE), "MPI_Waitall",
                         NULL);

    return rc == TT_OK && h->staging ? tt_halo_deliver(h, e) : rc;
}
