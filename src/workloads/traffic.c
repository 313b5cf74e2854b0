/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Network load in the patterns that congest networks: incast, broadcast, all-to-all, and pairs of
 * ranks that change all the time. What is planned without MPI is in traffic/.
 *
 * The first and last word of every message are checked: they tell a message that did not arrive, or
 * the wrong one; bytes between them are the network's business. */
#include <stdlib.h>
#include <string.h>

#include "base/agree.h"
#include "base/mix.h"
#include "engine/engine.h"
#include "plan/workload.h"
#include "workloads/traffic/traffic.h"

/* Senders of small messages may run ahead of their receivers, whose memory keeps what has arrived;
 * every so many iterations they wait for each other, and hear of failures. */
#define AGREE_EVERY 16

struct traffic_opts {
    int pattern; /* enum tt_traffic_pattern */
    uint64_t size, iterations, outstanding;
    double pause;
};

static const char *const patterns[] = {"incast", "broadcast", "alltoall", "many-to-many", NULL};

#define AT(member) offsetof(struct traffic_opts, member)
static const struct tt_param params[] = {
    {"pattern", TT_PARAM_CHOICE, AT(pattern), "alltoall", NULL,
     "all ranks to rank 0, rank 0 to all, all to all, or each to another one by a random "
     "permutation that is new in every iteration",
     .choices = patterns},
    {"size", TT_PARAM_BYTES, AT(size), "1m", "B", "of a message from one rank to one other", 16,
     1 << 30},
    {"iterations", TT_PARAM_COUNT, AT(iterations), "10000", NULL, "rounds of messages", 1,
     INT64_MAX},
    {"outstanding", TT_PARAM_COUNT, AT(outstanding), "1", NULL,
     "messages from each sender to each receiver in a round, all in flight at once", 1, 1024},
    {"pause", TT_PARAM_DURATION, AT(pause), "0", "s", "between rounds", 0, 3600},
    {NULL},
};

struct traffic {
    struct tt_engine *engine;
    const struct traffic_opts *opts;
    uint64_t iterations;
    unsigned char *out, *in;   /* messages of opts->size bytes */
    uint64_t out_slots, slots; /* how many of them: to be sent, in both together */
    MPI_Request *requests;
    int nrequests;
    int *partners;
    int failed; /* the first message that was wrong, not yet known to all ranks */
    struct tt_error failure;
};

/* ---- plan ---- */

/* Room for how many messages a rank needs to send and to receive. */
static void count_slots(const struct traffic_opts *o, int rank, int ranks, uint64_t *out,
                        uint64_t *in)
{
    uint64_t n = (uint64_t)ranks;

    *out = *in = o->outstanding;
    if (o->pattern == TT_TRAFFIC_INCAST) {
        *out = rank == 0 ? 0 : o->outstanding;
        *in = rank == 0 ? (n - 1) * o->outstanding : 0;
    } else if (o->pattern == TT_TRAFFIC_BROADCAST) {
        *out = 0; /* the root sends what the others receive into */
    } else if (o->pattern == TT_TRAFFIC_ALLTOALL) {
        *out = *in = n * o->outstanding;
    }
}

static int traffic_check(const struct tt_config *config, struct tt_error *e)
{
    if (config->run->ranks < 2)
        return tt_fail(
            e, TT_USAGE,
            "traffic needs two ranks or more, since one has nobody to send to; use -n 2");
    return TT_OK;
}

static int traffic_estimate(const struct tt_config *config, struct tt_estimate *out,
                            struct tt_error *e)
{
    const struct traffic_opts *o = tt_config_opts(config, "traffic");
    uint64_t sent, received;

    (void)e;
    for (int rank = 0; rank < 2; rank++) { /* the root, and any other */
        count_slots(o, rank, (int)config->run->ranks, &sent, &received);
        if ((sent + received) * o->size > out->memory_per_rank)
            out->memory_per_rank = (sent + received) * o->size;
    }
    return TT_OK;
}

/* ---- messages ---- */

static unsigned char *slot(const struct traffic *t, unsigned char *area, uint64_t index)
{
    return area + index * t->opts->size;
}

static void stamp(const struct traffic *t, uint64_t iteration, int to, uint64_t message,
                  unsigned char *data)
{
    uint64_t word = tt_traffic_stamp(iteration, t->engine->rank, to, message);

    memcpy(data, &word, sizeof word);
    memcpy(data + t->opts->size - sizeof word, &word, sizeof word);
}

static void check(struct traffic *t, uint64_t iteration, int from, int to, uint64_t message,
                  const unsigned char *data)
{
    uint64_t word = tt_traffic_stamp(iteration, from, to, message);

    if (memcmp(data, &word, sizeof word) ||
        memcmp(data + t->opts->size - sizeof word, &word, sizeof word))
        t->failed = tt_fail(&t->failure, TT_CORRUPT,
                            "a message of rank %d in iteration %llu did not arrive as sent", from,
                            (unsigned long long)iteration);
}

/* Synchronous: a message counts as in flight until its receiver has taken it. */
static void send_to(struct traffic *t, uint64_t iteration, int to)
{
    for (uint64_t m = 0; m < t->opts->outstanding; m++) {
        unsigned char *data = slot(t, t->out, m);

        stamp(t, iteration, to, m, data);
        MPI_Issend(data, (int)t->opts->size, MPI_BYTE, to, (int)m, t->engine->comm,
                   &t->requests[t->nrequests++]);
    }
}

static void receive_from(struct traffic *t, int from, uint64_t first_slot)
{
    for (uint64_t m = 0; m < t->opts->outstanding; m++)
        MPI_Irecv(slot(t, t->in, first_slot + m), (int)t->opts->size, MPI_BYTE, from, (int)m,
                  t->engine->comm, &t->requests[t->nrequests++]);
}

static void wait_for_all(struct traffic *t)
{
    MPI_Waitall(t->nrequests, t->requests, MPI_STATUSES_IGNORE);
    t->nrequests = 0;
}

/* ---- patterns ---- */

static void incast(struct traffic *t, uint64_t iteration)
{
    uint64_t n = t->opts->outstanding;

    if (t->engine->rank != 0)
        send_to(t, iteration, 0);
    else
        for (int from = 1; from < t->engine->size; from++)
            receive_from(t, from, (uint64_t)(from - 1) * n);
    wait_for_all(t);
    for (int from = 1; t->engine->rank == 0 && from < t->engine->size; from++)
        for (uint64_t m = 0; m < n; m++)
            check(t, iteration, from, 0, m, slot(t, t->in, (uint64_t)(from - 1) * n + m));
}

/* A single one is the blocking call, whose algorithms are those applications meet. */
static void broadcast(struct traffic *t, uint64_t iteration)
{
    int size = (int)t->opts->size;

    for (uint64_t m = 0; m < t->opts->outstanding; m++) {
        unsigned char *data = slot(t, t->in, m);

        if (t->engine->rank == 0)
            stamp(t, iteration, 0, m, data);
        if (t->opts->outstanding == 1)
            MPI_Bcast(data, size, MPI_BYTE, 0, t->engine->comm);
        else
            MPI_Ibcast(data, size, MPI_BYTE, 0, t->engine->comm, &t->requests[t->nrequests++]);
    }
    wait_for_all(t);
    for (uint64_t m = 0; m < t->opts->outstanding; m++)
        check(t, iteration, 0, 0, m, slot(t, t->in, m));
}

static void alltoall(struct traffic *t, uint64_t iteration)
{
    int size = (int)t->opts->size, ranks = t->engine->size;
    MPI_Comm comm = t->engine->comm;

    for (uint64_t m = 0; m < t->opts->outstanding; m++) {
        unsigned char *out = slot(t, t->out, m * (uint64_t)ranks);
        unsigned char *in = slot(t, t->in, m * (uint64_t)ranks);

        for (int to = 0; to < ranks; to++)
            stamp(t, iteration, to, m, slot(t, out, (uint64_t)to));
        if (t->opts->outstanding == 1)
            MPI_Alltoall(out, size, MPI_BYTE, in, size, MPI_BYTE, comm);
        else
            MPI_Ialltoall(out, size, MPI_BYTE, in, size, MPI_BYTE, comm,
                          &t->requests[t->nrequests++]);
    }
    wait_for_all(t);
    for (uint64_t i = 0; i < t->opts->outstanding * (uint64_t)ranks; i++)
        check(t, iteration, (int)(i % (uint64_t)ranks), t->engine->rank, i / (uint64_t)ranks,
              slot(t, t->in, i));
}

static void many_to_many(struct traffic *t, uint64_t iteration)
{
    int rank = t->engine->rank, from = 0;

    tt_traffic_partners(t->engine->config->run->seed, iteration, t->engine->size, t->partners);
    while (t->partners[from] != rank)
        from++;
    receive_from(t, from, 0);
    send_to(t, iteration, t->partners[rank]);
    wait_for_all(t);
    for (uint64_t m = 0; m < t->opts->outstanding; m++)
        check(t, iteration, from, rank, m, slot(t, t->in, m));
}

typedef void pattern(struct traffic *t, uint64_t iteration);
static pattern *const acts[] = {
    [TT_TRAFFIC_INCAST] = incast,
    [TT_TRAFFIC_BROADCAST] = broadcast,
    [TT_TRAFFIC_ALLTOALL] = alltoall,
    [TT_TRAFFIC_MANY_TO_MANY] = many_to_many,
};

/* ---- the run ---- */

static int allocate(struct traffic *t, struct tt_error *e)
{
    uint64_t in, words;

    count_slots(t->opts, t->engine->rank, t->engine->size, &t->out_slots, &in);
    t->slots = t->out_slots + in;
    t->out = malloc(t->slots * t->opts->size);
    t->requests = calloc(t->slots, sizeof *t->requests);
    t->partners = calloc((size_t)t->engine->size, sizeof *t->partners);
    if (!t->out || !t->requests || !t->partners)
        return tt_fail_nomem(e, "messages");
    t->in = slot(t, t->out, t->out_slots);
    words = t->slots * t->opts->size / sizeof(uint64_t);
    for (uint64_t i = 0; i < words; i++) { /* of no use to a network that compresses */
        uint64_t word = tt_mix(t->engine->config->run->seed + i);

        memcpy(t->out + i * sizeof word, &word, sizeof word);
    }
    return TT_OK;
}

/* Timed as a whole: stamps are a few words, and waiting for each other belongs to the pattern. */
static int communicate(struct traffic *t, uint64_t iteration)
{
    const struct traffic_opts *o = t->opts;
    bool meet = iteration % AGREE_EVERY == 0 || iteration == t->iterations;
    int64_t start = tt_now_ns();

    acts[o->pattern](t, iteration);
    if (meet)
        t->failed = tt_agree(t->engine->comm, t->failed, &t->failure);
    tt_call_add(t->engine, TT_COLLECTIVE, TT_CALL_COLLECTIVE, start);
    tt_count_communicated(t->engine,
                          tt_traffic_sent((enum tt_traffic_pattern)o->pattern, o->size,
                                          o->outstanding, t->engine->rank, t->engine->size));
    return meet ? t->failed : TT_OK;
}

static int iterate(struct traffic *t, struct tt_error *e)
{
    const struct traffic_opts *o = t->opts;
    int rc = TT_OK;

    tt_iterations_apart(t->engine);
    for (uint64_t it = 1; rc == TT_OK && it <= t->iterations; it++) {
        rc = tt_iteration_begin(t->engine, it, t->iterations, e);
        if (rc == TT_OK)
            rc = communicate(t, it);
        tt_iteration_end(t->engine);
        if (rc == TT_OK && o->pause > 0 && it < t->iterations)
            tt_sleep_until(tt_now_ns() + (int64_t)(o->pause * 1e9));
    }
    return rc;
}

static int measured(struct traffic *t, struct tt_error *e)
{
    int rc = tt_engine_start(t->engine, e);

    if (rc == TT_OK)
        rc = iterate(t, e);
    if (rc == TT_OK)
        return tt_engine_stop(t->engine, e);
    /* Stopped between two meetings: a wrong message outweighs the reason. */
    t->failed = tt_agree(t->engine->comm, t->failed, &t->failure);
    if (t->failed != TT_OK)
        *e = t->failure;
    return t->failed != TT_OK ? t->failed : rc;
}

static int traffic_run(struct tt_engine *engine, struct tt_error *e)
{
    struct traffic t = {.engine = engine,
                        .opts = tt_config_opts(engine->config, "traffic"),
                        .failure = TT_ERROR_CLEAR};
    int rc = tt_agree(engine->comm, allocate(&t, e), e);

    t.iterations = tt_engine_is_endless(engine) ? UINT64_MAX : t.opts->iterations;
    if (rc == TT_OK)
        rc = measured(&t, e);
    free(t.out);
    free(t.requests);
    free(t.partners);
    return rc;
}

static const char *const shown[] = {"pattern", "size", NULL};

const struct tt_workload tt_workload_traffic = {
    .name = "traffic",
    .summary = "network load: incast, broadcast, all-to-all, many-to-many",
    .params = params,
    .opts_size = sizeof(struct traffic_opts),
    .shown = shown,
    .check = traffic_check,
    .estimate = traffic_estimate,
    .run = traffic_run,
};
