/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Remembers the hash of every block written, compares what is read later with it, and leaves a
 * ledger in the run directory from which tt_verify_directory() checks the files after the run or in
 * another one.
 *
 * Hashing happens inside the write call, so it costs there; how much is reported as a fact. Only a
 * read of exactly a selection that was written can be compared at once. submit and wait are left
 * out: a read could only be compared in wait. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "io/layers/verify/ledger.h"

struct verify_state {
    struct tt_ledger ledger;
    uint64_t hashed_bytes;
    int64_t hashing_ns;
    uint64_t compared; /* blocks */
};

/* What was written by this run to a file that is now read. Without a ledger nothing is compared. */
static int find_ledger(struct tt_file *file, int rank, struct tt_ledger *l, struct tt_error *e)
{
    char *path = tt_ledger_path(file->directory, rank, file->spec->path);
    int rc = TT_OK;

    if (!path)
        return tt_fail_nomem(e, "a path");
    if (access(path, F_OK) == 0)
        rc = tt_ledger_load(l, path, e);
    if (rc == TT_OK && l->image &&
        (l->spec.nvariables != file->spec->nvariables || l->spec.policy != file->spec->policy))
        tt_ledger_free(l); /* read as something else than it was written as */
    free(path);
    return rc;
}

static int verify_open(struct tt_file *file, struct tt_error *e)
{
    struct verify_state *s = file->state;
    int rank, rc = TT_OK, below;

    if (isinf(tt_below_loss(file)))
        return tt_fail(
            e, TT_UNSUPPORTED,
            "layer verify cannot check '%s': what is below it changes values, and nobody "
            "knows how far; leave verify out",
            file->spec->path);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (file->spec->access == TT_READ_ONLY && file->directory)
        rc = find_ledger(file, rank, &s->ledger, e);
    if (rc == TT_OK && !s->ledger.image &&
        tt_ledger_start(&s->ledger, rank, file->size, file->spec) != TT_OK)
        rc = tt_fail_nomem(e, "the ledger of a file");
    if (rc == TT_OK && !s->ledger.image)
        s->ledger.loss = tt_below_loss(file);
    below = tt_below_open(file, file->spec, e);
    if (rc == TT_OK)
        rc = below;
    if (rc != TT_OK)
        tt_ledger_free(&s->ledger);
    return rc;
}

static void account(struct tt_file *file, const struct tt_block *b, int64_t start)
{
    struct verify_state *s = file->state;

    s->hashing_ns += tt_now_ns() - start;
    s->hashed_bytes +=
        tt_selection_count(&b->file) * file->spec->variables[b->variable].element->size;
}

static int verify_write(struct tt_file *file, uint64_t step, const struct tt_block *b,
                        struct tt_error *e)
{
    struct verify_state *s = file->state;
    int64_t start = tt_now_ns(); /* before anything below can touch the data */
    uint64_t h =
        b->hash ? b->hash : tt_block_hash(b, file->spec->variables[b->variable].element->size);
    int rc;

    account(file, b, start);
    rc = tt_file_write(file->below, step, b, e);
    if (rc == TT_OK && tt_ledger_note(&s->ledger, step, b, h) != TT_OK)
        rc = tt_fail_nomem(e, "the ledger of a file");
    return rc;
}

static int verify_read(struct tt_file *file, uint64_t step, const struct tt_block *b,
                       struct tt_error *e)
{
    struct verify_state *s = file->state;
    const struct tt_ledger_entry *entry;
    int64_t start;
    bool agrees;
    int rc = tt_file_read(file->below, step, b, e);

    if (rc != TT_OK || tt_selection_count(&b->file) == 0)
        return rc;
    entry = tt_ledger_find(&s->ledger, step, b);
    if (!entry)
        return TT_OK;
    s->compared++;
    start = tt_now_ns();
    agrees = tt_ledger_agrees(&s->ledger, entry, b);
    account(file, b, start);
    if (!agrees)
        return tt_fail(
            e, TT_CORRUPT, "'%s', variable '%s', step %llu: what was read is not what was written",
            file->spec->path, file->spec->variables[b->variable].path, (unsigned long long)step);
    return TT_OK;
}

static int verify_sync(struct tt_file *file, struct tt_error *e)
{
    return tt_file_sync(file->below, e);
}

static int save(struct tt_file *file, struct tt_error *e)
{
    struct verify_state *s = file->state;
    char *path = tt_ledger_path(file->directory, s->ledger.rank, file->spec->path);
    char *directory = NULL;
    int rc = TT_OK;

    if (!path || asprintf(&directory, "%s/verify", file->directory) < 0) {
        free(path);
        return tt_fail_nomem(e, "a path");
    }
    /* also for a file that was only read: an empty directory says that nothing is missing */
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        rc = tt_fail_call(e, errno, "mkdir", directory, -1);
    if (rc == TT_OK && file->spec->access == TT_CREATE)
        rc = tt_ledger_save(&s->ledger, path, e);
    free(directory);
    free(path);
    return rc;
}

static int verify_close(struct tt_file *file, struct tt_error *e)
{
    struct verify_state *s = file->state;
    int rc = TT_OK, below;

    if (file->directory)
        rc = save(file, e);
    below = tt_below_close(file, e);
    tt_ledger_free(&s->ledger);
    return rc != TT_OK ? rc : below;
}

static int verify_query(struct tt_file *file, struct tt_facts *facts, struct tt_error *e)
{
    const struct verify_state *s = file->state;
    bool reading = file->spec->access == TT_READ_ONLY;
    char text[128], compared[48] = "";

    if (s->compared > 0)
        snprintf(compared, sizeof compared, ", %llu blocks compared",
                 (unsigned long long)s->compared);
    snprintf(text, sizeof text, "%.6f s for %llu B%s", tt_seconds(s->hashing_ns),
             (unsigned long long)s->hashed_bytes, compared);
    if (tt_facts_add(facts, reading ? "verify.comparing" : "verify.hashing", NULL, text,
                     TT_IN_EFFECT,
                     "measured on this rank; part of its write and read calls") != TT_OK)
        return tt_fail_nomem(e, "facts");
    return TT_OK;
}

const struct tt_backend tt_layer_verify = {
    .name = "verify",
    .summary = "remembers the content of every block and checks it when it is read back",
    .kind = TT_REQUEST_LAYER,
    .state_size = sizeof(struct verify_state),
    .open = verify_open,
    .write = verify_write,
    .read = verify_read,
    .sync = verify_sync,
    .close = verify_close,
    .query = verify_query,
};
