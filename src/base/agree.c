/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/agree.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/note.h"

/* Process-wide like the death it stands for. */
static struct tt_last_resort last_resort;

void tt_agree_last_resort(const struct tt_last_resort *resort)
{
    last_resort = resort ? *resort : (struct tt_last_resort){0};
}

/* Wait for a request, sleeping longer and longer between looks; false if the deadline (0: none)
 * came first. */
static bool wait_asleep(MPI_Request *request, int64_t deadline_ns)
{
    int64_t pause_ns = 10000;
    int done = 0;

    for (;;) {
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (done)
            return true;
        if (deadline_ns && tt_now_ns() > deadline_ns)
            return false;
        tt_sleep_until(tt_now_ns() + pause_ns);
        if (pause_ns < 500000)
            pause_ns *= 2;
    }
}

static bool is_wanted(int code)
{
    return code == TT_LIMIT || code == TT_STOPPED || code == TT_INTERRUPTED;
}

/* The least of all ranks' numbers. */
static int first_failure(MPI_Comm comm, int mine, struct tt_error *e, bool patiently)
{
    /* Others may be at work for long after this one was told to end. */
    bool failed = e->code != TT_OK && !is_wanted(e->code) && last_resort.give_up;
    int64_t deadline = failed ? tt_now_ns() + (int64_t)(1e9 * last_resort.seconds) : 0;
    MPI_Request request;
    int first;

    /* Nonblocking on every rank: a blocking collective does not match it. */
    MPI_Iallreduce(&mine, &first, 1, MPI_INT, MPI_MIN, comm, &request);
    if (!patiently && !failed)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    else if (!wait_asleep(&request, deadline))
        last_resort.give_up(e);
    return first;
}

static int agree(MPI_Comm comm, int rc, struct tt_error *e, bool patiently)
{
    uint64_t before;
    int rank, size, first, mine;

    if (rc != TT_OK && e->code == TT_OK)
        tt_fail(e, rc, "failed without saying why (code %d)", rc);
    if (comm == MPI_COMM_SELF)
        return rc == TT_OK ? TT_OK : e->code;
    before = tt_note_waiting(TT_DOING_AGREE);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    /* A rank that failed comes before one that only ends as it was told to. */
    mine = rc == TT_OK ? 2 * size : is_wanted(rc) ? size + rank : rank;
    first = first_failure(comm, mine, e, patiently);
    if (first == 2 * size) {
        tt_note_end(before);
        return TT_OK;
    }
    first %= size;
    /* Alone, a rank's number says nothing: a file of its own has a communicator of its own. Nor
     * does it where the run was ended on purpose. */
    if (first == rank && e->rank < 0 && size > 1 && !is_wanted(e->code))
        e->rank = rank;
    MPI_Bcast(e, (int)sizeof *e, MPI_BYTE, first, comm);
    tt_note_end(before);
    return e->code;
}

int tt_agree(MPI_Comm comm, int rc, struct tt_error *e)
{
    return agree(comm, rc, e, false);
}

int tt_agree_patiently(MPI_Comm comm, int rc, struct tt_error *e)
{
    return agree(comm, rc, e, true);
}

int tt_agree_and_tell(MPI_Comm comm, int rc, bool patiently, const struct tt_told *told,
                      struct tt_error *e)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};

    MPI_Iallreduce(MPI_IN_PLACE, told->sums, told->nsums, MPI_UINT64_T, MPI_SUM, comm,
                   &requests[0]);
    if (told->nmost > 0)
        MPI_Iallreduce(MPI_IN_PLACE, told->most, told->nmost, MPI_UINT64_T, MPI_MAX, comm,
                       &requests[1]);
    rc = agree(comm, rc, e, patiently);
    for (int i = 0; i < 2; i++)
        if (patiently)
            wait_asleep(&requests[i], 0);
        else
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    return rc;
}

void tt_max_patiently(MPI_Comm comm, int n, int *values)
{
    uint64_t before = tt_note_waiting(TT_DOING_AGREE);
    MPI_Request request;

    MPI_Iallreduce(MPI_IN_PLACE, values, n, MPI_INT, MPI_MAX, comm, &request);
    wait_asleep(&request, 0);
    tt_note_end(before);
}

int tt_wait_any(int n, MPI_Request *requests, bool patiently, MPI_Status *status)
{
    uint64_t before = tt_note_waiting(TT_DOING_AGREE);
    int64_t pause_ns = 10000;
    int at = MPI_UNDEFINED, done = 0;

    if (!patiently)
        MPI_Waitany(n, requests, &at, status);
    while (patiently && !done) {
        MPI_Testany(n, requests, &at, &done, status);
        if (done)
            break;
        tt_sleep_until(tt_now_ns() + pause_ns);
        if (pause_ns < 500000)
            pause_ns *= 2;
    }
    tt_note_end(before);
    return at;
}

int tt_fail_mpi(struct tt_error *e, int mpi_code, const char *call, const char *file)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;

    if (mpi_code == MPI_SUCCESS)
        return TT_OK;
    MPI_Error_string(mpi_code, text, &length);
    if (e->code == TT_OK) {
        tt_fail(e, TT_FAILED, "%.*s", (int)sizeof e->text - 1, text);
        snprintf(e->call, sizeof e->call, "%s", call);
        snprintf(e->file, sizeof e->file, "%s", file ? file : "");
    }
    return TT_FAILED;
}
