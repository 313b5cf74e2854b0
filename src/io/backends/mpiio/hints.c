/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/backends/mpiio/hints.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/agree.h"
#include "spec/units.h"

#define COUNTED_WRITES 64

const char *const tt_mpi_switches[] = {"default", "enable", "disable", "automatic", NULL};

/* ---- giving ---- */

/* Calls take(key, value) for every hint given, until it returns something else than 0. */
struct taker {
    int (*take)(struct taker *, const char *key, const char *value);
    MPI_Info info;
    const struct seen *seen;
    struct tt_facts *facts;
    const char *backend;
    bool ompio;
};

static int take_number(struct taker *t, const char *key, uint64_t value)
{
    char text[32];

    if (value == 0)
        return 0;
    snprintf(text, sizeof text, "%" PRIu64, value);
    return t->take(t, key, text);
}

static int take_switch(struct taker *t, const char *key, int value)
{
    return value == 0 ? 0 : t->take(t, key, tt_mpi_switches[value]);
}

static int take_other(struct taker *t, const char *word)
{
    char key[MPI_MAX_INFO_KEY + 1];
    const char *equals = strchr(word, '=');

    snprintf(key, sizeof key, "%.*s", (int)(equals - word), word);
    return t->take(t, key, equals + 1);
}

/* Cray's library has hints of its own for several aggregators per server, which then need locks
 * that are asked for ahead of time; others know how many aggregators there are. */
static int take_aggregators(const struct tt_mpi_hints *h, struct taker *t)
{
    uint64_t nodes = h->cb_nodes ? h->cb_nodes : h->multiplier * h->striping_factor;
    int rc = take_number(t, "cb_nodes", nodes);

    if (rc == 0 && h->multiplier > 1)
        rc = take_number(t, "cray_cb_write_lock_mode", 2);
    if (rc == 0 && h->multiplier > 1)
        rc = take_number(t, "cray_cb_nodes_multiplier", h->multiplier);
    return rc;
}

static int for_each_hint(const struct tt_mpi_hints *h, struct taker *t)
{
    int rc = take_aggregators(h, t);

    if (rc == 0)
        rc = take_number(t, "cb_buffer_size", h->cb_buffer_size);
    if (rc == 0)
        rc = take_number(t, "striping_factor", h->striping_factor);
    if (rc == 0)
        rc = take_number(t, "striping_unit", h->striping_unit);
    if (rc == 0)
        rc = take_switch(t, "romio_cb_write", h->romio_cb_write);
    if (rc == 0)
        rc = take_switch(t, "romio_cb_read", h->romio_cb_read);
    if (rc == 0)
        rc = take_switch(t, "romio_ds_write", h->romio_ds_write);
    for (size_t i = 0; i < h->others.n && rc == 0; i++)
        rc = take_other(t, h->others.words[i]);
    return rc;
}

int tt_mpi_hints_check(const struct tt_mpi_hints *h, const char *backend, struct tt_error *e)
{
    if (h->multiplier * h->striping_factor > INT32_MAX)
        return tt_fail(e, TT_USAGE, "%s.multiplier x %s.striping_factor is too large", backend,
                       backend);
    for (size_t i = 0; i < h->others.n; i++) {
        const char *word = h->others.words[i], *equals = strchr(word, '=');

        if (!equals || equals == word || !equals[1])
            return tt_fail(e, TT_USAGE, "%s.hints: '%s' is not of the form key=value", backend,
                           word);
        if (equals - word >= MPI_MAX_INFO_KEY || strlen(equals + 1) >= MPI_MAX_INFO_VAL)
            return tt_fail(e, TT_USAGE, "%s.hints: '%.40s...' is too long for MPI", backend, word);
    }
    return TT_OK;
}

static int take_into_info(struct taker *t, const char *key, const char *value)
{
    int rc = MPI_SUCCESS;

    if (t->info == MPI_INFO_NULL)
        rc = MPI_Info_create(&t->info);
    return rc == MPI_SUCCESS ? MPI_Info_set(t->info, key, value) : rc;
}

int tt_mpi_hints_info(const struct tt_mpi_hints *h, MPI_Info *info)
{
    struct taker t = {.take = take_into_info, .info = MPI_INFO_NULL};
    int rc = for_each_hint(h, &t);

    *info = t.info;
    return rc;
}

/* ---- counting ---- */

void tt_mpi_proof_before(struct tt_mpi_proof *p)
{
    p->started = p->counted < COUNTED_WRITES && tt_io_count_read(p->process, &p->before);
}

void tt_mpi_proof_after(struct tt_mpi_proof *p, uint64_t payload)
{
    struct tt_io_count after;

    p->writes++;
    if (!p->started || !tt_io_count_read(p->process, &after))
        return;
    p->counted++;
    p->payload += payload;
    p->sum.bytes += after.bytes - p->before.bytes;
    p->sum.calls += after.calls - p->before.calls;
}

/* ---- proving ---- */

/* What all ranks' counts say together. */
struct seen {
    bool complete;    /* every write was counted */
    bool collective;  /* the method aggregates */
    uint64_t payload; /* of the counted writes */
    uint64_t bytes;   /* written by system calls, without the noise of ranks that hardly wrote */
    uint64_t calls, writers, ranks;
};

static int look(const struct tt_file *file, const struct tt_mpi_proof *p, bool collective,
                struct seen *seen)
{
    uint64_t total = p->payload, mine[4] = {0};
    int complete = p->writes == p->counted, all = 0, rc;

    memset(seen, 0, sizeof *seen);
    rc = MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_UINT64_T, MPI_SUM, file->spec->comm);
    if (rc == MPI_SUCCESS)
        rc = MPI_Allreduce(&complete, &all, 1, MPI_INT, MPI_MIN, file->spec->comm);
    /* the library's own messages and wake-ups are writes, too, but small */
    if (p->sum.bytes > 0 && p->sum.bytes >= total / (uint64_t)file->size / 100) {
        mine[0] = p->sum.bytes;
        mine[1] = p->sum.calls;
        mine[2] = 1;
    }
    if (rc == MPI_SUCCESS)
        rc = MPI_Allreduce(MPI_IN_PLACE, mine, 3, MPI_UINT64_T, MPI_SUM, file->spec->comm);
    seen->complete = all;
    seen->collective = collective;
    seen->payload = total;
    seen->bytes = mine[0];
    seen->calls = mine[1];
    seen->writers = mine[2];
    seen->ranks = (uint64_t)file->size;
    return rc;
}

/* Without writes, with fewer bytes than the payload (mapped memory, a kernel that does not count)
 * or with far more (sockets) the counts prove nothing. */
static bool is_conclusive(const struct seen *s)
{
    return s->writers > 0 && s->payload > 0 && s->bytes >= s->payload &&
           s->bytes <= s->payload + s->payload / 2;
}

static enum tt_proof prove_cb_nodes(const struct seen *s, uint64_t nodes, char *how, size_t size)
{
    if (!s->collective) {
        snprintf(how, size, "only collective calls aggregate");
        return TT_NO_EFFECT;
    }
    snprintf(how, size, "%" PRIu64 " of %" PRIu64 " ranks issued writes", s->writers, s->ranks);
    if (nodes >= s->ranks && s->writers == s->ranks)
        return TT_UNCONFIRMED; /* so it might be without the hint */
    return s->writers == nodes ? TT_IN_EFFECT : TT_NO_EFFECT;
}

/* Only writers with more than one buffer to write can show its size. */
static enum tt_proof prove_buffer(const struct seen *s, uint64_t buffer, char *how, size_t size)
{
    uint64_t mean = s->calls ? s->bytes / s->calls : 0;
    char text[TT_UNIT_TEXT];

    snprintf(how, size, "%s per write call on average", tt_format_bytes((double)mean, text));
    if (mean > buffer)
        return TT_NO_EFFECT;
    if (s->collective && s->bytes / s->writers >= 2 * buffer && mean > buffer / 2)
        return TT_IN_EFFECT;
    return TT_UNCONFIRMED;
}

static int take_into_facts(struct taker *t, const char *key, const char *value)
{
    char name[64], back[MPI_MAX_INFO_VAL + 1] = "", how[128] = "";
    enum tt_proof proof = TT_UNCONFIRMED;
    uint64_t number = 0;
    int found = 0;

    if (t->info != MPI_INFO_NULL)
        MPI_Info_get(t->info, key, MPI_MAX_INFO_VAL, back, &found);
    if (sscanf(value, "%" SCNu64, &number) == 1 && is_conclusive(t->seen)) {
        if (!strcmp(key, "cb_nodes"))
            proof = prove_cb_nodes(t->seen, number, how, sizeof how);
        else if (!strcmp(key, "cb_buffer_size"))
            proof = prove_buffer(t->seen, number, how, sizeof how);
    }
    if (t->ompio && !strncmp(key, "romio_", 6))
        snprintf(how, sizeof how, "meant for romio, but the implementation is ompio");
    snprintf(name, sizeof name, "%s.%.50s", t->backend, key);
    return tt_facts_add(t->facts, name, value, found ? back : NULL, proof, how);
}

static bool is_given(const struct tt_mpi_hints *h, const char *key)
{
    for (size_t i = 0; i < h->others.n; i++)
        if (!strncmp(h->others.words[i], key, strlen(key)))
            return true;
    return false;
}

/* Only romio has a buffer for independent reads, and tells its size unasked. */
static int add_implementation(const struct tt_mpi_hints *h, struct taker *t)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "", text[96], value[MPI_MAX_INFO_VAL + 1];
    const char *name = "not known";
    char key[64];
    int length = 0, romio = 0;

    MPI_Get_library_version(version, &length);
    version[strcspn(version, ",\n")] = '\0';
    if (t->info != MPI_INFO_NULL)
        MPI_Info_get(t->info, "ind_rd_buffer_size", MPI_MAX_INFO_VAL, value, &romio);
    if (romio && !is_given(h, "ind_rd_buffer_size="))
        name = "romio";
    else if (!romio && strstr(version, "Open MPI"))
        name = "ompio";
    t->ompio = !strcmp(name, "ompio");
    snprintf(text, sizeof text, "%s, %.70s", name, version);
    snprintf(key, sizeof key, "%s.implementation", t->backend);
    return tt_facts_add(t->facts, key, NULL, text, TT_UNCONFIRMED, NULL);
}

int tt_mpi_hints_query(struct tt_file *file, MPI_Info info, const struct tt_mpi_hints *h,
                       const struct tt_mpi_proof *p, bool collective, struct tt_facts *facts,
                       struct tt_error *e)
{
    struct seen seen;
    struct taker t = {.take = take_into_facts,
                      .info = info,
                      .seen = &seen,
                      .facts = facts,
                      .backend = file->backend->name};
    int rc = tt_fail_mpi(e, look(file, p, collective, &seen), "MPI_Allreduce", file->spec->path);

    if (rc != TT_OK)
        return rc;
    if (seen.complete && is_conclusive(&seen) && file->rank == 0)
        file->library_bytes[TT_WRITING] = seen.bytes - seen.payload;
    if (add_implementation(h, &t) != TT_OK || for_each_hint(h, &t) != TT_OK)
        rc = tt_fail_nomem(e, "facts");
    return rc;
}
