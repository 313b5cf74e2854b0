/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How bytes reach the rank that makes the calls on their subfile.
 *
 * All ranks first add up how many messages there are for each file. Then each sends its messages, a
 * few at a time, and each concentrator takes what comes, from whomever, until it has had as many as
 * were announced. A message holds runs of one file and, of a write, their bytes; a read is answered
 * by the bytes. Since a concentrator takes any message at any time, no order of sending can make
 * two ranks wait for each other. A rank that failed still takes part: it drops what it is sent. */
#include <stdlib.h>
#include <string.h>

#include "io/layers/subfile/parts.h"

enum { TAG_MESSAGE = 1, TAG_ANSWER = 2 }; /* TAG_ANSWER + the number of the asking buffer */

struct head {
    uint64_t file, nruns, bytes, asker;
};

#define ROUND_UP(n) \
    (((n) + SUBFILE_ALIGNMENT - 1) / SUBFILE_ALIGNMENT * (uint64_t)SUBFILE_ALIGNMENT)
#define FRONT ROUND_UP(sizeof(struct head) + SUBFILE_RUNS * sizeof(struct tt_run))
#define BUFFER (FRONT + SUBFILE_BYTES)

/* A place in the list of pieces. */
struct cursor {
    size_t piece;
    uint64_t within;
};

/* What goes into one message, and where its pieces begin. */
struct plan {
    struct cursor from;
    struct head head;
};

struct exchange {
    struct tt_file *file;
    struct subfile_state *s;
    enum tt_direction direction;
    char *data;
    struct cursor next; /* piece that no message has yet */
    struct plan plans[SUBFILE_WINDOW];
    int expected; /* messages that this rank has still to take, beyond those it waits for */
    /* being sent, answers to them, being served, answers to those */
    MPI_Request requests[4 * SUBFILE_WINDOW];
    int rc;
    struct tt_error *e;
};
enum { SENT, ANSWERED, SERVED, REPLIED };

struct subfile_own *tt_subfile_own(struct subfile_state *s, uint64_t number)
{
    for (size_t i = 0; i < s->nown; i++)
        if (s->own[i].number == number)
            return &s->own[i];
    return NULL;
}

int tt_subfile_exchange_start(struct tt_file *file, struct tt_error *e)
{
    struct subfile_state *s = file->state;
    size_t bytes = (size_t)SUBFILE_WINDOW * BUFFER;

    if (file->size == 1)
        return TT_OK;
    s->counts = malloc((s->set.n + 1) * sizeof *s->counts);
    s->sent = aligned_alloc(SUBFILE_ALIGNMENT, bytes);
    s->served = s->nown > 0 ? aligned_alloc(SUBFILE_ALIGNMENT, bytes) : NULL;
    return s->counts && s->sent && (s->served || s->nown == 0)
               ? TT_OK
               : tt_fail_nomem(e, "the messages of subfiles");
}

void tt_subfile_exchange_end(struct subfile_state *s)
{
    free(s->counts);
    free(s->sent);
    free(s->served);
    free(s->pieces);
    free(s->in_file);
    free(s->in_memory);
}

/* ---- the pieces of a block ---- */

static bool grow(struct subfile_state *s)
{
    size_t capacity = s->capacity ? 2 * s->capacity : 64;
    struct subfile_piece *pieces = realloc(s->pieces, capacity * sizeof *pieces);
    struct tt_run *runs;

    if (!pieces)
        return false;
    s->pieces = pieces;
    for (int i = 0; i < 2; i++) {
        struct tt_run **list = i ? &s->in_memory : &s->in_file;

        if (!(runs = realloc(*list, capacity * sizeof *runs)))
            return false;
        *list = runs;
    }
    s->capacity = capacity;
    return true;
}

static bool add_piece(struct subfile_state *s, const struct subfile_piece *x)
{
    struct subfile_piece *last = s->npieces ? &s->pieces[s->npieces - 1] : NULL;

    if (last && last->file == x->file && last->offset + last->length == x->offset &&
        last->memory + last->length == x->memory) {
        last->length += x->length;
        return true;
    }
    if (s->npieces == s->capacity && !grow(s))
        return false;
    s->pieces[s->npieces++] = *x;
    return true;
}

static int by_place(const void *a, const void *b)
{
    const struct subfile_piece *x = a, *y = b;

    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* By their place, so that storage sees what lies together at once. */
static int list_pieces(struct tt_file *file, enum tt_direction direction, uint64_t step,
                       const struct tt_block *b, struct tt_error *e)
{
    struct subfile_state *s = file->state;
    uint64_t base = tt_file_raw_offset(file, b->variable, step);
    struct tt_extent_iter it;
    bool sorted = true;
    struct tt_extent x;

    s->npieces = 0;
    tt_extents_begin(&it, b, file->spec->variables[b->variable].element->size);
    while (tt_extents_next(&it, &x)) {
        uint64_t at = base + x.file_offset, end = at + x.length, memory = x.memory_offset;

        if (direction == TT_READING && end > s->set.size)
            return tt_fail(e, TT_FAILED, "'%s' ends before the data asked for", file->spec->path);
        if (direction == TT_WRITING && end > s->end)
            s->end = end;
        for (uint64_t part; at < end; at += part, memory += part) {
            struct tt_subfile_place p = tt_subfile_place(&s->set, at);

            part = p.room < end - at ? p.room : end - at;
            if (!add_piece(s, &(struct subfile_piece){p.file, p.offset, memory, part}))
                return tt_fail_nomem(e, "the pieces of a block");
        }
    }
    for (size_t i = 1; i < s->npieces && sorted; i++)
        sorted = by_place(&s->pieces[i - 1], &s->pieces[i]) < 0;
    if (!sorted)
        qsort(s->pieces, s->npieces, sizeof *s->pieces, by_place);
    return TT_OK;
}

/* ---- calls below ---- */

/* Runs of a subfile, one after the other in memory unless there is a list of their places. */
static int move_runs(struct subfile_own *own, enum tt_direction direction, size_t n,
                     const struct tt_run *runs, const struct tt_run *in_memory, void *data,
                     struct tt_error *e)
{
    struct tt_block b = {.data = data};
    uint64_t bytes = 0;

    for (size_t i = 0; i < n; i++) {
        const struct tt_run *x = in_memory ? &in_memory[i] : &runs[i];
        uint64_t end = in_memory ? x->start + x->length : bytes + x->length;

        bytes = end > bytes ? end : bytes;
        if (direction == TT_WRITING && runs[i].start + runs[i].length > own->end)
            own->end = runs[i].start + runs[i].length;
    }
    tt_select_runs(&b.file, 1, own->spec.variables->dims, n, runs);
    if (in_memory)
        tt_select_runs(&b.memory, 1, &bytes, n, in_memory);
    else
        tt_select_all(&b.memory, 1, &bytes);
    return direction == TT_WRITING ? tt_file_write(own->file, 0, &b, e)
                                   : tt_file_read(own->file, 0, &b, e);
}

/* What this rank has of its own subfiles goes there without a message. */
static int move_own(struct tt_file *file, enum tt_direction direction, char *data,
                    struct tt_error *e)
{
    struct subfile_state *s = file->state;
    int rc = TT_OK;

    for (size_t i = 0, end; rc == TT_OK && i < s->npieces; i = end) {
        uint64_t number = s->pieces[i].file;

        for (end = i; end < s->npieces && s->pieces[end].file == number; end++) {
            s->in_file[end] = (struct tt_run){s->pieces[end].offset, s->pieces[end].length};
            s->in_memory[end] = (struct tt_run){s->pieces[end].memory, s->pieces[end].length};
        }
        if (s->owners[number] == file->rank)
            rc = move_runs(tt_subfile_own(s, number), direction, end - i, s->in_file + i,
                           s->in_memory + i, data, e);
    }
    return rc;
}

/* ---- messages ---- */

/* The next part of a piece, of at most so many bytes. */
static struct subfile_piece take(const struct subfile_state *s, struct cursor *c, uint64_t most)
{
    struct subfile_piece x = s->pieces[c->piece];

    x.offset += c->within;
    x.memory += c->within;
    x.length -= c->within;
    if (x.length > most)
        x.length = most;
    c->within += x.length;
    if (c->within == s->pieces[c->piece].length)
        *c = (struct cursor){c->piece + 1, 0};
    return x;
}

/* False: there is no further message. Pieces that follow each other in the file are one run. */
static bool plan_message(const struct tt_file *file, struct cursor *next, struct plan *p)
{
    const struct subfile_state *s = file->state;
    uint64_t end = 0;

    while (next->piece < s->npieces && s->owners[s->pieces[next->piece].file] == file->rank)
        *next = (struct cursor){next->piece + 1, 0};
    if (next->piece == s->npieces)
        return false;
    *p = (struct plan){.from = *next, .head = {.file = s->pieces[next->piece].file}};
    while (next->piece < s->npieces && s->pieces[next->piece].file == p->head.file &&
           p->head.bytes < SUBFILE_BYTES) {
        bool new = p->head.bytes == 0 || s->pieces[next->piece].offset + next->within != end;
        struct subfile_piece x;

        if (new && p->head.nruns == SUBFILE_RUNS)
            break;
        x = take(s, next, SUBFILE_BYTES - p->head.bytes);
        p->head.nruns += new;
        p->head.bytes += x.length;
        end = x.offset + x.length;
    }
    return true;
}

static size_t front_of(const struct head *h)
{
    return ROUND_UP(sizeof *h + h->nruns * sizeof(struct tt_run));
}

/* Head, runs and, of a write, the bytes. */
static int fill(const struct exchange *x, const struct plan *p, unsigned char *buffer)
{
    struct tt_run *runs = (struct tt_run *)(buffer + sizeof p->head);
    unsigned char *to = buffer + front_of(&p->head);
    struct cursor c = p->from;
    size_t n = 0;

    memcpy(buffer, &p->head, sizeof p->head);
    for (uint64_t done = 0; done < p->head.bytes;) {
        struct subfile_piece part = take(x->s, &c, p->head.bytes - done);

        if (n > 0 && runs[n - 1].start + runs[n - 1].length == part.offset)
            runs[n - 1].length += part.length;
        else
            runs[n++] = (struct tt_run){part.offset, part.length};
        if (x->direction == TT_WRITING)
            memcpy(to + done, x->data + part.memory, part.length);
        done += part.length;
    }
    return (int)(front_of(&p->head) + (x->direction == TT_WRITING ? p->head.bytes : 0));
}

static void scatter(const struct exchange *x, const struct plan *p, const unsigned char *from)
{
    struct cursor c = p->from;

    for (uint64_t done = 0; done < p->head.bytes;) {
        struct subfile_piece part = take(x->s, &c, p->head.bytes - done);

        memcpy(x->data + part.memory, from + done, part.length);
        done += part.length;
    }
}

static void start_message(struct exchange *x, int k)
{
    unsigned char *buffer = x->s->sent + (size_t)k * BUFFER;
    struct plan *p = &x->plans[k];
    MPI_Comm comm = x->file->spec->comm;
    int to;

    if (!plan_message(x->file, &x->next, p))
        return;
    p->head.asker = (uint64_t)k;
    to = x->s->owners[p->head.file];
    if (x->direction == TT_READING)
        MPI_Irecv(buffer + FRONT, (int)p->head.bytes, MPI_BYTE, to, TAG_ANSWER + k, comm,
                  &x->requests[ANSWERED * SUBFILE_WINDOW + k]);
    MPI_Isend(buffer, fill(x, p, buffer), MPI_BYTE, to, TAG_MESSAGE, comm,
              &x->requests[SENT * SUBFILE_WINDOW + k]);
}

static void await_message(struct exchange *x, int k)
{
    if (x->expected == 0)
        return;
    x->expected--;
    MPI_Irecv(x->s->served + (size_t)k * BUFFER, (int)BUFFER, MPI_BYTE, MPI_ANY_SOURCE, TAG_MESSAGE,
              x->file->spec->comm, &x->requests[SERVED * SUBFILE_WINDOW + k]);
}

static void serve(struct exchange *x, int k, int source)
{
    unsigned char *buffer = x->s->served + (size_t)k * BUFFER;
    bool writes = x->direction == TT_WRITING;
    struct head h;
    int rc = TT_OK;

    memcpy(&h, buffer, sizeof h);
    if (x->rc == TT_OK)
        rc = move_runs(tt_subfile_own(x->s, h.file), x->direction, h.nruns,
                       (const struct tt_run *)(buffer + sizeof h), NULL,
                       buffer + (writes ? front_of(&h) : FRONT), x->e);
    x->rc = x->rc == TT_OK ? rc : x->rc;
    if (writes)
        await_message(x, k);
    else
        MPI_Isend(buffer + FRONT, (int)h.bytes, MPI_BYTE, source, TAG_ANSWER + (int)h.asker,
                  x->file->spec->comm, &x->requests[REPLIED * SUBFILE_WINDOW + k]);
}

static void completed(struct exchange *x, int request, const MPI_Status *status)
{
    int k = request % SUBFILE_WINDOW;

    switch (request / SUBFILE_WINDOW) {
    case SENT:
        if (x->direction == TT_WRITING)
            start_message(x, k);
        break;
    case ANSWERED:
        MPI_Wait(&x->requests[SENT * SUBFILE_WINDOW + k], MPI_STATUS_IGNORE);
        scatter(x, &x->plans[k], x->s->sent + (size_t)k * BUFFER + FRONT);
        start_message(x, k);
        break;
    case SERVED:
        serve(x, k, status->MPI_SOURCE);
        break;
    default:
        await_message(x, k);
    }
}

static int exchange(struct tt_file *file, enum tt_direction direction, char *data, int expected,
                    struct tt_error *e)
{
    struct exchange x = {.file = file,
                         .s = file->state,
                         .direction = direction,
                         .data = data,
                         .expected = expected,
                         .e = e};
    MPI_Status status;
    int at;

    for (int i = 0; i < 4 * SUBFILE_WINDOW; i++)
        x.requests[i] = MPI_REQUEST_NULL;
    for (int k = 0; k < SUBFILE_WINDOW; k++) {
        await_message(&x, k);
        start_message(&x, k);
    }
    x.rc = move_own(file, direction, data, e);
    while ((at = tt_file_wait_requests(file, 4 * SUBFILE_WINDOW, x.requests, &status)) !=
           MPI_UNDEFINED)
        completed(&x, at, &status);
    return x.rc;
}

/* How many messages there will be for each file; or *failed, if any rank has. */
static int announce(struct tt_file *file, int rc, bool *failed)
{
    struct subfile_state *s = file->state;
    struct cursor next = {0};
    MPI_Request request;
    int expected = 0;
    struct plan p;

    memset(s->counts, 0, (s->set.n + 1) * sizeof *s->counts);
    s->counts[s->set.n] = rc != TT_OK;
    while (rc == TT_OK && plan_message(file, &next, &p))
        s->counts[p.head.file]++;
    MPI_Iallreduce(MPI_IN_PLACE, s->counts, (int)s->set.n + 1, MPI_INT, MPI_SUM, file->spec->comm,
                   &request);
    tt_file_wait_requests(file, 1, &request, MPI_STATUS_IGNORE);
    for (size_t i = 0; i < s->nown; i++)
        expected += s->counts[s->own[i].number];
    *failed = s->counts[s->set.n] > 0;
    return expected;
}

int tt_subfile_transfer(struct tt_file *file, enum tt_direction direction, uint64_t step,
                        const struct tt_block *b, struct tt_error *e)
{
    int rc = list_pieces(file, direction, step, b, e), expected;
    bool failed;

    if (file->size == 1)
        return rc == TT_OK ? move_own(file, direction, b->data, e) : rc;
    expected = announce(file, rc, &failed);
    if (!failed)
        rc = exchange(file, direction, b->data, expected, e);
    return tt_file_agree(file, rc, e);
}
