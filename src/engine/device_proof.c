/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether MPI can be given addresses of a device's memory: it is tried, with the calls of a halo,
 * for a message that goes along with its envelope and one that does not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/agree.h"
#include "base/run_command.h"
#include "base/sys.h"
#include "engine/device_move.h"
#include "engine/engine.h"

#define MOST ((size_t)1 << 20) /* bytes of a message */

static char content(int rank, size_t i)
{
    return (char)(i * 31 + (size_t)rank * 7 + 1);
}

/* Halves of `there`: what is sent, and what is received. Whoever cannot send says so before others
 * wait for it. */
static int exchange(MPI_Comm comm, char *there, size_t bytes, struct tt_error *e)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int rank, size, rc;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    rc = MPI_Irecv(there + MOST, (int)bytes, MPI_CHAR, (rank + size - 1) % size, 0, comm, requests);
    if (rc == MPI_SUCCESS)
        rc = MPI_Isend(there, (int)bytes, MPI_CHAR, (rank + 1) % size, 0, comm, requests + 1);
    rc = tt_agree(comm, tt_fail_mpi(e, rc, "MPI_Isend", NULL), e);
    if (rc == TT_OK)
        rc = tt_fail_mpi(e, MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), "MPI_Waitall", NULL);
    if (requests[0] != MPI_REQUEST_NULL) { /* it failed */
        MPI_Cancel(&requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
    if (requests[1] != MPI_REQUEST_NULL)
        MPI_Request_free(&requests[1]);
    return rc;
}

static int check(struct tt_device *d, char *here, const char *there, int from, size_t bytes,
                 struct tt_error *e)
{
    int rc = tt_device_copy_bytes(d, TT_STREAM_HALO, TT_FROM_DEVICE, here, there + MOST, bytes, e);

    if (rc == TT_OK)
        rc = d->type->drain(d, TT_STREAM_HALO, e);
    for (size_t i = 0; rc == TT_OK && i < bytes; i++)
        if (here[i] != content(from, i))
            rc = tt_fail(e, TT_FAILED, "what MPI brought to device memory is not what was sent");
    return rc;
}

int tt_device_prove(struct tt_device *d, MPI_Comm of, struct tt_error *e)
{
    char *here = malloc(MOST);
    void *there = NULL;
    int rank, size, rc;
    MPI_Comm comm;

    MPI_Comm_dup(of, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN); /* an error is an answer, too */
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (size_t i = 0; here && i < MOST; i++)
        here[i] = content(rank, i);
    rc = here ? d->type->allocate(d, 2 * MOST, &there, e) : tt_fail_nomem(e, "a message");
    if (rc == TT_OK)
        rc = d->type->clear(d, TT_STREAM_HALO, (char *)there + MOST, MOST, e);
    if (rc == TT_OK)
        rc = tt_device_copy_bytes(d, TT_STREAM_HALO, TT_TO_DEVICE, there, here, MOST, e);
    if (rc == TT_OK)
        rc = d->type->drain(d, TT_STREAM_HALO, e);
    rc = tt_agree(comm, rc, e);
    for (size_t bytes = 256; rc == TT_OK && bytes <= MOST; bytes *= MOST / 256) {
        rc = exchange(comm, there, bytes, e);
        if (rc == TT_OK)
            rc = check(d, here, there, (rank + size - 1) % size, bytes, e);
        rc = tt_agree(comm, rc, e);
    }
    if (there)
        d->type->release(d, there);
    free(here);
    MPI_Comm_free(&comm);
    return rc;
}

/* ---- in processes of their own ---- */

/* The keys by which they open the devices, and whether they prepare MPI for threads, which may make
 * another one of it; NULL: no memory. */
static char *settings_of(const struct tt_device *d, unsigned other, const struct tt_config *config)
{
    json_t *all = tt_config_to_json(config), *few = json_object();
    size_t length = strlen(d->type->name);
    const char *key;
    json_t *value;
    char numbers[32], *text;
    int level;

    MPI_Query_thread(&level);
    snprintf(numbers, sizeof numbers, "%u:%u", d->number, other);
    json_object_foreach(all, key, value) if (!strcmp(key, "device") || !strcmp(key, "module") ||
                                             (!strncmp(key, d->type->name, length) &&
                                              key[length] == '.')) json_object_set(few, key, value);
    json_object_set_new(few, "device.map", json_string(numbers));
    json_object_set_new(few, "threads", json_boolean(level == MPI_THREAD_MULTIPLE));
    text = few ? json_dumps(few, JSON_COMPACT) : NULL;
    json_decref(all);
    json_decref(few);
    return text;
}

int tt_device_prove_apart(struct tt_device *d, unsigned other, const struct tt_config *config,
                          struct tt_error *e)
{
    char *settings = settings_of(d, other, config), seconds[32], answer[4096];
    char *words[] = {"/proc/self/exe", "prove", settings, seconds, NULL};
    const char *said;
    int rc = TT_OK;

    if (!settings)
        return tt_fail_nomem(e, "the settings of a device");
    snprintf(seconds, sizeof seconds, "%g", config->run->patience);
    if (!tt_run_command(words, answer, sizeof answer)) {
        said = strstr(answer, "tutti: "); /* or nothing of ours, but a launcher's regrets */
        said = said ? said + strlen("tutti: ") : "they did not end";
        rc = tt_fail(e, TT_UNSUPPORTED, "processes that would try it failed: %.*s",
                     (int)strcspn(said, "\n"), said);
    }
    free(settings);
    return rc;
}
