/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The calls into the stack, by whoever executes a batch: the caller, the helper thread, or one of a
 * stream's threads. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/agree.h"
#include "base/note.h"
#include "engine/guard.h"
#include "engine/series.h"
#include "plan/directory.h"
#include "record/trace.h"

/* A call on a file that has just returned. */
static void latency(struct tt_series *s, enum tt_call call, int64_t ns)
{
    tt_histogram_add(&s->engine->p->calls[call], ns);
    if (tt_trace_wants(TT_TRACE_FILES)) {
        int64_t now = tt_now_ns();

        tt_trace_call(TT_TRACE_FILES, call, 0, now - ns, now);
    }
}

int tt__noted(struct tt_series *s, int rc, const struct tt_error *e)
{
    struct tt_error why = *e;
    char line[1024];

    if (rc == TT_OK || s->engine->p->failure_noted)
        return rc;
    s->engine->p->failure_noted = true;
    if (why.rank < 0)
        why.rank = s->engine->rank;
    tt_error_format(&why, line, sizeof line);
    tt_directory_note_failure(s->engine->p->directory, line);
    tt_guard_failed();
    return rc;
}

/* ---- opening ---- */

static int open_file(struct tt_series *s, const struct tt_file_spec *spec, struct tt_file **file,
                     struct tt_error *e)
{
    uint64_t before = tt_note_begin(TT_DOING_OPEN, tt_note_file(spec->path));
    bool speaks = s->spec.per_process || s->engine->rank == 0;
    bool claims = spec->access == TT_CREATE && speaks;
    const struct tt_stack *stack = &s->engine->p->stack;
    struct tt_target target = {0};
    int rc = TT_OK, rank;

    if (spec->access == TT_CREATE)
        rc = tt_stack_target(stack, spec, &target, e);
    if (rc == TT_OK && claims)
        rc = tt__data_claim_target(s->engine, &target, e);
    if (spec->access == TT_UPDATE && speaks && !s->spec.alone)
        rc = tt__data_check_mark(spec->path, e);
    MPI_Comm_rank(s->file_comm, &rank); /* libraries name what they make beside it by that */
    if (rc == TT_OK)
        rc = tt__data_check_beside(s->engine, spec->path, rank, speaks, e);
    for (size_t i = 1; claims && rc == TT_OK && i < target.n; i++) /* a rank opens each alone */
        rc = tt__data_check_beside(s->engine, target.list[i].path, 0, true, e);
    *file = NULL;
    rc = tt_agree(s->comm, rc, e);
    if (rc == TT_OK) {
        rc = tt_file_open(stack, spec, file, e);
        if (rc == TT_OK)
            latency(s, TT_CALL_OPEN, tt_file_open_ns(*file));
        if (claims && rc != TT_OK && e->sys_errno == EEXIST)
            tt_data_withdraw(s->engine, spec->path);
        else if (claims && rc == TT_OK)
            rc = tt__data_made_target(s->engine, &target, *file, e);
        rc = tt_agree(s->comm, rc, e);
    }
    tt_target_free(&target);
    tt_note_end(before);
    if (rc != TT_OK && *file) { /* another rank's own file could not be opened */
        struct tt_error ignored = TT_ERROR_CLEAR;

        tt_file_close(*file, &ignored);
        tt_stack_settle(stack, NULL, &ignored); /* it may go on, with the caller's spec */
        *file = NULL;
    }
    return rc;
}

int tt__open_series_file(void *series, struct tt_error *e)
{
    struct tt_series *s = series;

    return open_file(s, &s->file_spec, &s->file, e);
}

/* A step's own file keeps its own spec: the files of several steps may be open at once. */
static int open_step_file(struct tt__dump *d, enum tt_access access, struct tt_error *e)
{
    int64_t t = tt_now_ns();
    int rc;

    d->file_spec = d->series->file_spec;
    d->file_spec.path = d->path;
    d->file_spec.first_step = d->step;
    d->file_spec.access = access;
    rc = open_file(d->series, &d->file_spec, &d->file, e);
    d->open_ns = tt_now_ns() - t;
    return rc;
}

int tt__define_step(struct tt_series *s, struct tt_file *file, uint64_t step, struct tt_error *e)
{
    if (s->spec.policy != TT_FILE_PER_STEP) {
        if (step < s->defined)
            return TT_OK;
        s->defined = step + 1;
    }
    return tt__noted(s, tt_file_define(file, step, e), e);
}

/* ---- closing ---- */

/* A file that is read has most of the settings of the one that was written; what only one of them
 * can prove is said once. */
static bool is_known(const json_t *facts, const char *key)
{
    const json_t *known;
    size_t i;

    json_array_foreach(facts, i, known)
    {
        if (!strcmp(json_string_value(json_object_get(known, "key")), key))
            return true;
    }
    return false;
}

void tt_facts_keep(struct tt_engine *engine, const struct tt_facts *facts)
{
    static const char *const proofs[] = {"unconfirmed", "in effect", "no effect"};

    for (size_t i = 0; i < facts->n; i++) {
        const struct tt_fact *f = &facts->list[i];
        json_t *fact =
            json_pack("{s:s, s:s, s:s, s:s, s:s}", "key", f->key, "given", f->given, "read_back",
                      f->read_back, "proof", proofs[f->proof], "how", f->how);

        if (fact && is_known(engine->p->facts, f->key))
            json_decref(fact);
        else
            json_array_append_new(engine->p->facts, fact);
    }
}

/* Facts are asked once of a file that was written and of one that was read: all files are opened
 * with the same settings. */
static void keep_facts(struct tt_series *s, struct tt_file *file)
{
    struct tt_engine_private *p = s->engine->p;
    bool *asked = &p->facts_asked[s->spec.access == TT_READ_ONLY];
    struct tt_facts facts = {0};
    struct tt_error ignored = TT_ERROR_CLEAR;

    if (!*asked && tt_file_query(file, &facts, &ignored) == TT_OK)
        tt_facts_keep(s->engine, &facts);
    *asked = true;
    tt_facts_free(&facts);
    for (; file; file = file->below) {
        p->library_bytes[0] += file->library_bytes[0];
        p->library_bytes[1] += file->library_bytes[1];
    }
}

/* A collective call waits for the last rank to make it. Whoever is early waits before, so that the
 * time of the call is storage's and not that of somebody's computation. */
static int meet(const struct tt_series *s, bool patient, struct tt_error *e)
{
    return patient ? tt_agree_patiently(s->comm, TT_OK, e) : tt_agree(s->comm, TT_OK, e);
}

static int sync_file(struct tt__dump *d, bool patient, struct tt_error *e)
{
    struct tt_series *s = d->series;
    int met = TT_OK, rc;
    int64_t t;

    if (!s->spec.per_process && tt_stack_syncs_together(&s->engine->p->stack))
        met = meet(s, patient, e);
    t = tt_now_ns();
    rc = tt__noted(s, tt_file_sync(d->file, e), e);
    t = tt_now_ns() - t;
    d->sync_ns += t;
    latency(s, TT_CALL_SYNC, t);
    return rc == TT_OK ? met : rc;
}

int tt__sync_file(void *dump, struct tt_error *e)
{
    struct tt__dump *d = dump;

    return tt_agree(d->series->comm, sync_file(d, false, e), e);
}

int tt__close_file(void *dump, struct tt_error *e)
{
    struct tt__dump *d = dump;
    struct tt_series *s = d->series;
    int synced = TT_OK, rc;
    uint64_t before;
    int64_t own_ns;

    if (s->engine->config->run->sync == TT_SYNC_CLOSE && s->spec.access != TT_READ_ONLY &&
        !s->synced)
        synced = tt__sync_file(d, e);
    before = tt_note_begin(TT_DOING_CLOSE, tt_note_file(d->path));
    if (!s->failed) /* asking is collective, and a library may not survive it after a failure */
        keep_facts(s, d->file);
    rc = tt_file_close_timed(d->file, &own_ns, &d->close_ns, s->engine->p->costs, e);
    latency(s, TT_CALL_CLOSE, own_ns);
    rc = tt_agree(s->comm, rc, e);
    if (rc == TT_OK && s->spec.access == TT_CREATE && !s->spec.alone &&
        (s->spec.per_process || s->engine->rank == 0))
        tt__data_closed(s->engine, d->path);
    tt_note_end(before);
    return synced == TT_OK ? rc : synced;
}

/* ---- one request ---- */

/* A read that left any of the spoilt words has not read. */
static int judge_read(struct tt_request *r, struct tt_error *e)
{
    const struct tt_file *file = r->batch->file, *bottom = file;

    if (!tt__is_spoilt(&r->spoilt))
        return TT_OK;
    while (bottom->below)
        bottom = bottom->below;
    if (!(bottom->backend->caps & TT_CAP_STORES))
        return TT_OK; /* there is nothing to be read */
    if (e->code != TT_OK)
        return e->code; /* an earlier request of the batch has failed, which tells more */
    tt_fail_call(e, 0, "read", file->spec->path, -1);
    snprintf(e->text, sizeof e->text,
             "variable '%s', step %llu: %s reported success, but left memory as it was; do not "
             "trust it here",
             file->spec->variables[r->block->variable].path, (unsigned long long)r->batch->step,
             bottom->backend->name);
    return TT_FAILED;
}

static int transfer(struct tt_request *r, struct tt_error *e)
{
    const struct tt_batch *b = r->batch;

    return b->direction == TT_WRITING ? tt_file_write(b->file, b->step, r->block, e)
                                      : tt_file_read(b->file, b->step, r->block, e);
}

static int submit(struct tt_request *r, struct tt_error *e)
{
    const struct tt_batch *b = r->batch;

    return tt_file_submit(b->file, b->direction, b->step, r->block, &r->ticket, e);
}

/* ---- dumps and loads ---- */

static struct tt_series *series_of(const struct tt_batch *b)
{
    return ((struct tt__dump *)b->owner)->series;
}

static int meet_before(const struct tt_batch *b, struct tt__dump *d, struct tt_error *e)
{
    const struct tt_series *s = d->series;
    int64_t t = tt_now_ns();
    int rc;

    if (b->queue->spec.executor == TT_BY_BACKEND || s->spec.policy == TT_FILE_PER_STEP ||
        s->spec.per_process || !tt_stack_is_collective(&s->engine->p->stack))
        return TT_OK;
    rc = meet(s, b->queue->spec.executor == TT_BY_POOL, e);
    d->met_ns = tt_now_ns() - t;
    return rc;
}

static int begin_dump(struct tt_batch *b, struct tt_error *e)
{
    struct tt__dump *d = b->owner;
    struct tt_series *s = d->series;
    bool writing = b->direction == TT_WRITING;
    int rc = TT_OK;

    d->file = s->file;
    if (s->spec.policy == TT_FILE_PER_STEP)
        rc = open_step_file(d, writing ? TT_CREATE : TT_READ_ONLY, e);
    b->file = d->file;
    if (rc == TT_OK)
        rc = meet_before(b, d, e);
    if (writing && rc == TT_OK) {
        int64_t t = tt_now_ns();

        rc = tt__define_step(s, d->file, b->step, e);
        d->define_ns = tt_now_ns() - t;
    }
    if (b->rc != TT_OK) /* then blocks may lie where this thread cannot write */
        return rc;
    for (unsigned i = 0; !writing && rc == TT_OK && i < b->n; i++)
        tt__spoil(&b->requests[i].spoilt, &s->spec.variables[b->requests[i].block->variable],
                  b->requests[i].block);
    return rc;
}

static int transfer_noted(struct tt_request *r, struct tt_error *e)
{
    return tt__noted(series_of(r->batch), transfer(r, e), e);
}

static int wait_one(struct tt_request *r, struct tt_request **done, struct tt_error *e)
{
    *done = r;
    return tt_file_wait(r->batch->file, &r->ticket, e);
}

static int sync_noted(struct tt_request *r, struct tt_error *e)
{
    return tt__noted(series_of(r->batch), tt_file_sync(r->batch->file, e), e);
}

static int end_load(struct tt__dump *d, int rc, struct tt_error *e)
{
    int now;

    rc = tt_agree(d->series->comm, rc, e);
    if (d->series->spec.policy != TT_FILE_PER_STEP)
        return rc;
    now = tt_agree(d->series->comm, tt_file_close(d->file, e), e);
    return rc == TT_OK ? now : rc;
}

/* The agreement that closes a dump carries what limits and overlap=auto need. In the helper it is
 * patient: the core it would spin on belongs to the computation, unless that waits. */
static int end_dump(struct tt_batch *b, int rc, struct tt_error *e)
{
    struct tt__dump *d = b->owner;
    struct tt_series *s = d->series;
    int sync = s->engine->config->run->sync;
    bool patient = b->queue->spec.executor == TT_BY_POOL && !d->waited_for;
    int64_t moved = b->moved_ns - b->begun_ns - d->open_ns - d->met_ns;
    struct tt_told told;

    if (b->direction == TT_READING) {
        d->read_ns = moved;
        return end_load(d, rc, e);
    }
    for (unsigned i = 0; i < b->n; i++)
        d->sync_ns += b->requests[i].sync_ns;
    d->write_ns = moved - d->sync_ns;
    if (sync == TT_SYNC_DUMP || sync == TT_SYNC_BACKGROUND) {
        int now = sync_file(d, patient, e);

        rc = rc == TT_OK ? now : rc;
    }
    if (s->engine->rank == 0)
        d->closing.room = tt__monitor_room(s->engine);
    told = (struct tt_told){2, &d->closing.bytes,
                            s->engine->config->run->overlap == TT_OVERLAP_AUTO ? TT__NTOLD : 0,
                            d->closing.told};
    return tt_agree_and_tell(s->comm, rc, patient, &told, e);
}

static int judge_noted(struct tt_request *r, struct tt_error *e)
{
    return tt__noted(series_of(r->batch), judge_read(r, e), e);
}

const struct tt_queue_calls tt__dump_calls = {begin_dump,  transfer_noted,  submit,
                                              wait_one,    sync_noted,      end_dump,
                                              judge_noted, tt__look_at_dump};

/* ---- streams, whose owner notes failures and counts ---- */

static int wait_any(struct tt_request *r, struct tt_request **done, struct tt_error *e)
{
    struct tt_ticket *ticket;
    int rc = tt_file_wait_any(r->batch->file, &r->ticket, &ticket, e);

    if (ticket)
        *done = (struct tt_request *)((char *)ticket - offsetof(struct tt_request, ticket));
    return rc;
}

static int sync_transfer(struct tt_request *r, struct tt_error *e)
{
    return tt_file_sync(r->batch->file, e);
}

const struct tt_queue_calls tt__stream_calls = {.transfer = transfer,
                                                .submit = submit,
                                                .wait = wait_any,
                                                .sync = sync_transfer,
                                                .judge = judge_read,
                                                .arrived = tt__look_at_transfer};
