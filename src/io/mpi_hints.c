/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/mpi_hints.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/agree.h"
#include "spec/units.h"

#define COUNTED_WRITES 64

const char *const tt_mpi_switches[] = {"default", "enable", "disable", "automatic", NULL};

/* ---- giving ---- */

struct hint {
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
};

/* The next hint that is given, from *i on, which begins with 0; false at the end. Cray's library
 * has hints of its own for several aggregators per server, which then need locks that are asked for
 * ahead of time; others know how many aggregators there are. */
static bool next_hint(const struct tt_mpi_hints *h, size_t *i, struct hint *out)
{
    const struct {
        const char *key;
        uint64_t number;
        int choice;
    } known[] = {
        {"cb_nodes", h->cb_nodes ? h->cb_nodes : h->multiplier * h->striping_factor, 0},
        {"cray_cb_write_lock_mode", h->multiplier > 1 ? 2 : 0, 0},
        {"cray_cb_nodes_multiplier", h->multiplier > 1 ? h->multiplier : 0, 0},
        {"cb_buffer_size", h->cb_buffer_size, 0},
        {"striping_factor", h->striping_factor, 0},
        {"striping_unit", h->striping_unit, 0},
        {"romio_cb_write", 0, h->romio_cb_write},
        {"romio_cb_read", 0, h->romio_cb_read},
        {"romio_ds_write", 0, h->romio_ds_write},
    };
    const size_t n = sizeof known / sizeof *known;
    const char *word, *equals;

    while (*i < n && known[*i].number == 0 && known[*i].choice == 0)
        ++*i;
    if (*i >= n + h->others.n)
        return false;
    if (*i >= n) {
        word = h->others.words[(*i)++ - n];
        equals = strchr(word, '=');
        snprintf(out->key, sizeof out->key, "%.*s", (int)(equals - word), word);
        snprintf(out->value, sizeof out->value, "%s", equals + 1);
        return true;
    }
    snprintf(out->key, sizeof out->key, "%s", known[*i].key);
    if (known[*i].choice)
        snprintf(out->value, sizeof out->value, "%s", tt_mpi_switches[known[*i].choice]);
    else
        snprintf(out->value, sizeof out->value, "%" PRIu64, known[*i].number);
    ++*i;
    return true;
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

int tt_mpi_hints_info(const struct tt_mpi_hints *h, MPI_Info *info)
{
    struct hint hint;
    size_t i = 0;
    int rc = MPI_SUCCESS;

    *info = MPI_INFO_NULL;
    while (rc == MPI_SUCCESS && next_hint(h, &i, &hint)) {
        if (*info == MPI_INFO_NULL)
            rc = MPI_Info_create(info);
        if (rc == MPI_SUCCESS)
            rc = MPI_Info_set(*info, hint.key, hint.value);
    }
    return rc;
}

/* ---- counting ---- */

/* False if this kernel does not count. */
static bool read_count(bool process, struct tt_io_count *out)
{
    char text[512];
    const char *bytes, *calls;
    int fd = open(process ? "/proc/self/io" : "/proc/thread-self/io", O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return false;
    n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    bytes = strstr(text, "wchar: ");
    calls = strstr(text, "syscw: ");
    return bytes && calls && sscanf(bytes, "wchar: %" SCNu64, &out->bytes) == 1 &&
           sscanf(calls, "syscw: %" SCNu64, &out->calls) == 1;
}

void tt_mpi_proof_before(struct tt_mpi_proof *p)
{
    p->started = p->counted < COUNTED_WRITES && read_count(p->process, &p->before);
}

void tt_mpi_proof_after(struct tt_mpi_proof *p, uint64_t payload)
{
    struct tt_io_count after;

    p->writes++;
    if (!p->started || !read_count(p->process, &after))
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

static int add_hint(const struct hint *h, const char *backend, MPI_Info info, bool ompio,
                    const struct seen *seen, struct tt_facts *facts)
{
    char name[64], back[MPI_MAX_INFO_VAL + 1] = "", how[128] = "";
    enum tt_proof proof = TT_UNCONFIRMED;
    uint64_t number = 0;
    int found = 0;

    if (info != MPI_INFO_NULL)
        MPI_Info_get(info, h->key, MPI_MAX_INFO_VAL, back, &found);
    if (sscanf(h->value, "%" SCNu64, &number) == 1 && is_conclusive(seen)) {
        if (!strcmp(h->key, "cb_nodes"))
            proof = prove_cb_nodes(seen, number, how, sizeof how);
        else if (!strcmp(h->key, "cb_buffer_size"))
            proof = prove_buffer(seen, number, how, sizeof how);
    }
    if (ompio && !strncmp(h->key, "romio_", 6))
        snprintf(how, sizeof how, "meant for romio, but the implementation is ompio");
    snprintf(name, sizeof name, "%s.%.50s", backend, h->key);
    return tt_facts_add(facts, name, h->value, found ? back : NULL, proof, how);
}

/* Which MPI-IO it is. Only romio has a buffer for independent reads, and tells its size unasked. */
static int add_implementation(const struct tt_mpi_hints *h, const char *backend, MPI_Info info,
                              bool *ompio, struct tt_facts *facts)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "", text[96], value[MPI_MAX_INFO_VAL + 1];
    static const char unasked[] = "ind_rd_buffer_size";
    const char *name = "not known";
    char key[64];
    int length = 0, romio = 0;
    bool given = false;

    MPI_Get_library_version(version, &length);
    version[strcspn(version, ",\n")] = '\0';
    if (info != MPI_INFO_NULL)
        MPI_Info_get(info, unasked, MPI_MAX_INFO_VAL, value, &romio);
    for (size_t i = 0; i < h->others.n; i++)
        given |= !strncmp(h->others.words[i], unasked, strlen(unasked)) &&
                 h->others.words[i][strlen(unasked)] == '=';
    if (romio && !given)
        name = "romio";
    else if (!romio && strstr(version, "Open MPI"))
        name = "ompio";
    *ompio = !strcmp(name, "ompio");
    snprintf(text, sizeof text, "%s, %.70s", name, version);
    snprintf(key, sizeof key, "%s.implementation", backend);
    return tt_facts_add(facts, key, NULL, text, TT_UNCONFIRMED, NULL);
}

int tt_mpi_hints_query(struct tt_file *file, MPI_Info info, const struct tt_mpi_hints *h,
                       const struct tt_mpi_proof *p, bool collective, struct tt_facts *facts,
                       struct tt_error *e)
{
    const char *backend = file->backend->name;
    struct seen seen;
    struct hint hint;
    size_t i = 0;
    bool ompio = false;
    int rc = tt_fail_mpi(e, look(file, p, collective, &seen), "MPI_Allreduce", file->spec->path);

    if (rc != TT_OK)
        return rc;
    if (seen.complete && is_conclusive(&seen) && file->rank == 0)
        file->library_bytes[TT_WRITING] = seen.bytes - seen.payload;
    rc = add_implementation(h, backend, info, &ompio, facts);
    while (rc == TT_OK && next_hint(h, &i, &hint))
        rc = add_hint(&hint, backend, info, ompio, &seen, facts);
    return rc == TT_OK ? TT_OK : tt_fail_nomem(e, "facts");
}
