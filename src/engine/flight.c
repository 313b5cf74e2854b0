/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One dump or load on its way: what makes the calls into the stack, in whatever thread does. */
#include "engine/flight.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/agree.h"
#include "base/note.h"
#include "engine/guard.h"
#include "plan/directory.h"

#define STEP_SUFFIX 24 /* "." and a 64-bit number */

unsigned tt__variable_slots(const struct tt_variable *v)
{
    return v->max_blocks ? v->max_blocks : 1;
}

static void latency(struct tt_series *s, enum tt_call call, int64_t since_ns)
{
    tt_histogram_add(&s->engine->p->calls[call], tt_now_ns() - since_ns);
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

/* ---- opening and closing files; run by whoever makes the library calls ---- */

static int open_file(struct tt_series *s, const struct tt_file_spec *spec, struct tt_file **file,
                     struct tt_error *e)
{
    int64_t t = tt_now_ns();
    uint64_t before = tt_note_begin(TT_DOING_OPEN, tt_note_file(spec->path));
    bool speaks = s->spec.per_process || s->engine->rank == 0;
    bool claims = spec->access == TT_CREATE && speaks;
    int rc = claims ? tt_data_claim(s->engine, spec->path, e) : TT_OK, rank;

    if (spec->access == TT_UPDATE && speaks)
        rc = tt_data_check_mark(spec->path, e);
    MPI_Comm_rank(s->file_comm, &rank); /* libraries name what they make beside it by that */
    if (rc == TT_OK)
        rc = tt_data_check_beside(s->engine, spec->path, rank, speaks, e);
    *file = NULL;
    rc = tt_agree(s->comm, rc, e);
    if (rc == TT_OK) {
        rc = tt_file_open(&s->engine->p->stack, spec, file, e);
        latency(s, TT_CALL_OPEN, t);
        if (claims && rc != TT_OK && e->sys_errno == EEXIST)
            tt_data_withdraw(s->engine, spec->path);
        else if (claims && rc == TT_OK)
            rc = tt_data_made(s->engine, spec->path, tt_file_made(*file).inode, e);
        rc = tt_agree(s->comm, rc, e);
    }
    tt_note_end(before);
    if (rc != TT_OK && *file) { /* another rank's own file could not be opened */
        struct tt_error ignored = TT_ERROR_CLEAR;

        tt_file_close(*file, &ignored);
        *file = NULL;
    }
    return rc;
}

/* A step's own file keeps its own spec: the files of several steps may be open at once. */
static int open_step_file(struct tt__flight *f, enum tt_access access, struct tt_error *e)
{
    int64_t t = tt_now_ns();
    int rc;

    f->file_spec = f->series->file_spec;
    f->file_spec.path = f->path;
    f->file_spec.access = access;
    rc = open_file(f->series, &f->file_spec, &f->file, e);
    f->open_ns = tt_now_ns() - t;
    return rc;
}

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

void tt__facts_keep(struct tt_engine *engine, const struct tt_facts *facts)
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
        tt__facts_keep(s->engine, &facts);
    *asked = true;
    tt_facts_free(&facts);
    for (; file; file = file->below) {
        p->library_bytes[0] += file->library_bytes[0];
        p->library_bytes[1] += file->library_bytes[1];
    }
}

static int close_file(struct tt_series *s, struct tt_file *file, const char *path,
                      struct tt_error *e)
{
    uint64_t before = tt_note_begin(TT_DOING_CLOSE, tt_note_file(path));
    int64_t t;
    int rc;

    if (!s->failed) /* asking is collective, and a library may not survive it after a failure */
        keep_facts(s, file);
    t = tt_now_ns();
    rc = tt_agree(s->comm, tt_file_close(file, e), e);
    latency(s, TT_CALL_CLOSE, t);
    if (rc == TT_OK && s->spec.access == TT_CREATE && (s->spec.per_process || s->engine->rank == 0))
        tt_data_mark(s->engine, path);
    tt_note_end(before);
    return rc;
}

static int sync_file(struct tt_series *s, struct tt_file *file, int64_t *ns, struct tt_error *e)
{
    int64_t t = tt_now_ns();
    int rc = tt__noted(s, tt_file_sync(file, e), e);

    *ns += tt_now_ns() - t;
    latency(s, TT_CALL_SYNC, t);
    return rc;
}

/* ---- running a flight ---- */

/* A rank that has failed still makes every call, with nothing. */
static void make_empty(struct tt_block *b)
{
    b->file.kind = TT_SELECT_NONE;
    b->memory.kind = TT_SELECT_NONE;
}

static int define_step(struct tt__flight *f, uint64_t step, struct tt_error *e)
{
    int64_t t = tt_now_ns();
    int rc = tt__noted(f->series, tt_file_define(f->file, step, e), e);

    f->define_ns = tt_now_ns() - t;
    return rc;
}

static int prepare_step(struct tt__flight *f, struct tt_error *e)
{
    struct tt_series *s = f->series;

    f->file = s->file;
    if (s->spec.policy == TT_FILE_PER_STEP) {
        int rc = open_step_file(f, TT_CREATE, e);

        return rc == TT_OK ? define_step(f, 0, e) : rc;
    }
    if (f->step < s->defined)
        return TT_OK;
    s->defined = f->step + 1;
    return define_step(f, f->step, e);
}

static uint64_t file_step(const struct tt__flight *f)
{
    return f->series->spec.policy == TT_FILE_PER_STEP ? 0 : f->step;
}

static int write_blocks(struct tt__flight *f, int rc, struct tt_error *e)
{
    struct tt_series *s = f->series;
    bool sync_each = s->engine->config->run->sync == TT_SYNC_WRITE;

    for (unsigned i = 0; i < f->nblocks; i++) {
        struct tt_block *b = &f->blocks[i];
        int64_t t = tt_now_ns();
        int now;

        if (rc != TT_OK)
            make_empty(b);
        now = tt__noted(s, tt_file_write(f->file, file_step(f), b, e), e);
        if (b->file.kind != TT_SELECT_NONE)
            latency(s, TT_CALL_WRITE, t);
        if (sync_each) {
            int synced = sync_file(s, f->file, &f->sync_ns, e);

            now = now == TT_OK ? synced : now;
        }
        rc = rc == TT_OK ? now : rc;
    }
    return rc;
}

int tt__run_dump(void *argument, struct tt_error *e)
{
    struct tt__flight *f = argument;
    struct tt_series *s = f->series;
    int sync = s->engine->config->run->sync;
    int64_t t = tt_now_ns();
    int rc = prepare_step(f, e);

    if (!f->file) /* all ranks know */
        return rc;
    if (f->rc != TT_OK && rc == TT_OK) {
        *e = f->error;
        rc = f->rc;
    }
    rc = write_blocks(f, rc, e);
    f->write_ns = tt_now_ns() - t - f->open_ns - f->sync_ns;
    if (sync == TT_SYNC_DUMP || sync == TT_SYNC_BACKGROUND) {
        int now = sync_file(s, f->file, &f->sync_ns, e);

        rc = rc == TT_OK ? now : rc;
    }
    return s->way == TT__HELPER ? tt_agree_patiently(s->comm, rc, e) : tt_agree(s->comm, rc, e);
}

void tt__flight_submit(struct tt__flight *f)
{
    int rc = prepare_step(f, &f->error);

    f->rc = f->rc == TT_OK ? rc : f->rc;
    if (!f->file)
        return;
    for (unsigned i = 0; i < f->nblocks; i++) {
        int now;

        if (f->rc != TT_OK)
            make_empty(&f->blocks[i]);
        now = tt_file_submit(f->file, TT_WRITING, file_step(f), &f->blocks[i], &f->tickets[i],
                             &f->error);
        f->rc = f->rc == TT_OK ? now : f->rc;
    }
}

int tt__flight_wait(struct tt__flight *f, struct tt_error *e)
{
    for (unsigned i = 0; f->file && i < f->nblocks; i++) {
        int now = tt_file_wait(f->file, &f->tickets[i], &f->error);

        f->rc = f->rc == TT_OK ? now : f->rc;
    }
    /* From outside only the whole span is known: the write's own duration if it was waited for at
     * once, as in a baseline epoch, else an upper bound. */
    f->write_ns = tt_now_ns() - f->submitted_ns - f->open_ns;
    if (f->rc != TT_OK && e->code == TT_OK)
        *e = f->error;
    return f->file ? tt_agree(f->series->comm, f->rc, e) : f->rc;
}

int tt__run_open(void *argument, struct tt_error *e)
{
    struct tt_series *s = argument;

    return open_file(s, &s->file_spec, &s->file, e);
}

/* ---- making a flight ---- */

static void add_block(struct tt__flight *f, const struct tt_series *s, unsigned variable,
                      const struct tt_block *given)
{
    const struct tt_variable *v = &s->spec.variables[variable];
    struct tt_block *b = &f->blocks[f->nblocks++];

    if (given) {
        *b = *given;
        return;
    }
    *b = (struct tt_block){.variable = variable};
    tt_select_none(&b->file, v->ndims, v->dims);
    tt_select_none(&b->memory, v->ndims, v->dims);
}

static int pad_blocks(struct tt__flight *f, bool with_fixed, unsigned nblocks,
                      const struct tt_block *blocks, struct tt_error *e)
{
    struct tt_series *s = f->series;
    unsigned used = 0;

    f->nblocks = 0;
    for (unsigned v = 0; v < s->spec.nvariables; v++) {
        unsigned slots = tt__variable_slots(&s->spec.variables[v]), filled = 0;

        if (!s->spec.variables[v].per_step && !with_fixed)
            continue;
        for (unsigned i = 0; i < nblocks && filled < slots; i++)
            if (blocks[i].variable == v) {
                add_block(f, s, v, &blocks[i]);
                filled++;
            }
        used += filled;
        while (filled++ < slots)
            add_block(f, s, v, NULL);
    }
    if (used != nblocks)
        return tt_fail(e, TT_FAILED,
                       "a dump has %u blocks of which only %u fit their variables' max_blocks, or "
                       "writes a fixed variable after the first dump",
                       nblocks, used);
    return TT_OK;
}

int tt__flight_fill(struct tt__flight *f, uint64_t step, bool with_fixed, unsigned nblocks,
                    const struct tt_block *blocks)
{
    f->step = step;
    f->file = NULL;
    f->open_ns = f->define_ns = f->write_ns = f->sync_ns = f->read_ns = 0;
    snprintf(f->path, strlen(f->series->path) + STEP_SUFFIX, TT__STEP_PATH, f->series->path,
             (unsigned long long)step);
    tt_error_clear(&f->error);
    f->rc = pad_blocks(f, with_fixed, nblocks, blocks, &f->error);
    return f->rc;
}

static uint64_t block_bytes(const struct tt_series *s, const struct tt_block *b)
{
    return tt_selection_count(&b->file) * tt_block_moved_size(b, &s->spec.variables[b->variable]);
}

uint64_t tt__flight_bytes(const struct tt__flight *f)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < f->nblocks; i++)
        bytes += block_bytes(f->series, &f->blocks[i]);
    return bytes;
}

/* Several fields of the same records in memory, one block each: if all of it is taken, it is copied
 * once. */
static bool shares_memory(const struct tt_block *b, const struct tt_block *before)
{
    return before && b->memory_element && b->memory_element == before->memory_element &&
           b->data == before->data && b->memory.kind == TT_SELECT_ALL &&
           before->memory.kind == TT_SELECT_ALL &&
           tt_selection_count(&b->memory) == tt_selection_count(&before->memory);
}

static uint64_t staged_bytes(const struct tt_series *s, const struct tt_block *b)
{
    return tt_selection_count(&b->file) * tt_block_element_size(b, &s->spec.variables[b->variable]);
}

static uint64_t staging_needed(const struct tt__flight *f)
{
    const struct tt_block *before = NULL;
    uint64_t bytes = 0;

    for (unsigned i = 0; i < f->nblocks; i++)
        if (!shares_memory(&f->blocks[i], before)) {
            before = &f->blocks[i];
            bytes += staged_bytes(f->series, before);
        }
    return bytes;
}

int tt__flight_stage(struct tt__flight *f, struct tt_error *e)
{
    uint64_t bytes = staging_needed(f), at = 0;
    struct tt_block before;
    char *copy = NULL;

    if (bytes > f->staging_size) {
        free(f->staging);
        f->staging = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
        f->staging_size = f->staging ? bytes : 0;
        if (!f->staging)
            return tt_fail_nomem(e, "a staging buffer");
    }
    for (unsigned i = 0; i < f->nblocks; i++) {
        struct tt_block *b = &f->blocks[i];
        uint64_t n = tt_selection_count(&b->file);

        if (n == 0)
            continue;
        if (!shares_memory(b, copy ? &before : NULL)) {
            before = *b;
            copy = f->staging + at;
            tt_block_pack(b, tt_block_element_size(b, &f->series->spec.variables[b->variable]),
                          copy);
            at += staged_bytes(f->series, b);
        }
        b->data = copy;
        tt_select_all(&b->memory, 1, &n);
    }
    return TT_OK;
}

int tt__flight_allocate(struct tt_series *s, struct tt__flight *f)
{
    size_t ticket = tt_stack_ticket_size(&s->engine->p->stack);

    f->series = s;
    f->path = malloc(strlen(s->path) + STEP_SUFFIX);
    f->blocks = calloc(s->slots, sizeof *f->blocks);
    f->tickets = calloc(s->slots, sizeof *f->tickets);
    f->ticket_states = calloc(s->slots, ticket);
    if (!f->path || !f->blocks || !f->tickets || !f->ticket_states)
        return TT_NOMEM;
    for (unsigned i = 0; i < s->slots; i++)
        f->tickets[i].state = f->ticket_states + i * ticket;
    return TT_OK;
}

void tt__flight_free(struct tt__flight *f)
{
    free(f->blocks);
    free(f->tickets);
    free(f->ticket_states);
    free(f->staging);
    free(f->path);
}

int tt__run_sync(void *argument, struct tt_error *e)
{
    struct tt__flight *f = argument;

    return tt_agree(f->series->comm, sync_file(f->series, f->file, &f->sync_ns, e), e);
}

int tt__run_close(void *argument, struct tt_error *e)
{
    struct tt__flight *f = argument;
    struct tt_series *s = f->series;
    int rc = TT_OK, closed;

    if (s->engine->config->run->sync == TT_SYNC_CLOSE && s->spec.access != TT_READ_ONLY &&
        !s->synced)
        rc = tt__run_sync(f, e);
    closed = close_file(s, f->file, f->path, e);
    return rc == TT_OK ? closed : rc;
}

/* ---- reading ---- */

/* A read that left any of the spoilt words has not read. */
int tt__judge_read(const struct tt_file *file, uint64_t step, const struct tt_block *b,
                   const struct tt__spoilt *spoilt, struct tt_error *e)
{
    const struct tt_file *bottom = file;

    if (!tt__is_spoilt(spoilt))
        return TT_OK;
    while (bottom->below)
        bottom = bottom->below;
    tt_fail_call(e, 0, "read", file->spec->path, -1);
    snprintf(e->text, sizeof e->text,
             "variable '%s', step %llu: %s reported success, but left memory as it was; do not "
             "trust it here",
             file->spec->variables[b->variable].path, (unsigned long long)step,
             bottom->backend->name);
    return TT_FAILED;
}

static int read_block(struct tt_file *file, uint64_t step, const struct tt_block *b,
                      struct tt_error *e)
{
    struct tt__spoilt spoilt;
    int rc;

    tt__spoil(&spoilt, &file->spec->variables[b->variable], b);
    rc = tt_file_read(file, step, b, e);
    return rc == TT_OK ? tt__judge_read(file, step, b, &spoilt, e) : rc;
}

static int read_blocks(struct tt__flight *f, int rc, struct tt_error *e)
{
    for (unsigned i = 0; i < f->nblocks; i++) {
        struct tt_block *b = &f->blocks[i];
        int64_t t = tt_now_ns();
        int now;

        if (rc != TT_OK)
            make_empty(b);
        now = tt__noted(f->series, read_block(f->file, file_step(f), b, e), e);
        if (b->file.kind != TT_SELECT_NONE && !tt_engine_is_over(f->series->engine))
            latency(f->series, TT_CALL_READ, t);
        rc = rc == TT_OK ? now : rc;
    }
    return rc;
}

int tt__run_load(void *argument, struct tt_error *e)
{
    struct tt__flight *f = argument;
    struct tt_series *s = f->series;
    bool own_file = s->spec.policy == TT_FILE_PER_STEP;
    int64_t t;
    int rc = TT_OK, now;

    f->file = s->file;
    if (own_file)
        rc = open_step_file(f, TT_READ_ONLY, e);
    if (!f->file)
        return rc;
    if (f->rc != TT_OK) {
        *e = f->error;
        rc = f->rc;
    }
    t = tt_now_ns();
    rc = read_blocks(f, rc, e);
    f->read_ns = tt_now_ns() - t;
    rc = tt_agree(s->comm, rc, e);
    if (own_file) {
        now = tt_agree(s->comm, tt_file_close(f->file, e), e);
        rc = rc == TT_OK ? now : rc;
    }
    return rc;
}
