/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading. A container may be anybody's, so every number is checked before it is used. */
#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "io/log_format.h"

/* ---- taking apart ---- */

struct reader {
    const unsigned char *at, *end;
    bool broken;
};

static uint64_t word_at(const unsigned char *at)
{
    uint64_t value;

    memcpy(&value, at, sizeof value);
    return le64toh(value);
}

static uint64_t take_word(struct reader *r, uint64_t most)
{
    uint64_t value;

    if (r->end - r->at < 8) {
        r->broken = true;
        return 0;
    }
    value = word_at(r->at);
    r->at += 8;
    r->broken |= value > most;
    return value;
}

static uint64_t take_number(struct reader *r, uint64_t most)
{
    uint64_t value = 0;

    for (int shift = 0; r->at < r->end && shift < 64; shift += 7) {
        unsigned char c = *r->at++;

        value |= (uint64_t)(c & 0x7f) << shift;
        if (!(c & 0x80)) {
            r->broken |= value > most;
            return value;
        }
    }
    r->broken = true;
    return 0;
}

static const unsigned char *take(struct reader *r, uint64_t n)
{
    const unsigned char *at = r->at;

    if ((uint64_t)(r->end - r->at) < n) {
        r->broken = true;
        return at;
    }
    r->at += n;
    return at;
}

static bool is_sealed(const unsigned char *words, const void *body, size_t size)
{
    XXH3_state_t hash;

    XXH3_64bits_reset(&hash);
    XXH3_64bits_update(&hash, words, TT_LOG_SLOT - 8);
    XXH3_64bits_update(&hash, body, size);
    return XXH3_64bits_digest(&hash) == word_at(words + TT_LOG_SLOT - 8);
}

/* ---- runs ---- */

void tt_log_walk_begin(struct tt_log_walk *w, const struct tt_log_entry *x)
{
    *w = (struct tt_log_walk){.at = x->runs, .left = x->nruns};
}

static void unfold(struct reader *r, struct tt_log_walk *w)
{
    uint64_t gap;

    w->repeat = take_number(r, INT64_MAX);
    gap = take_number(r, UINT64_MAX);
    w->gap = (int64_t)(gap >> 1 ^ -(gap & 1));
    w->length = take_number(r, INT64_MAX);
}

bool tt_log_walk_next(struct tt_log_walk *w, struct tt_run *run)
{
    if (w->repeat == 0) {
        struct reader r = {w->at, w->at + 3 * TT_LOG_NUMBER, false};

        if (w->left == 0)
            return false;
        w->left--;
        unfold(&r, w); /* was checked when it was taken in */
        w->at = r.at;
    }
    w->repeat--;
    *run = (struct tt_run){w->end + (uint64_t)w->gap, w->length};
    w->end = run->start + run->length;
    return true;
}

/* Whether all runs lie in the instance and have as many bytes as the request says. */
static bool runs_fit(const struct tt_log_entry *x, const unsigned char *end, uint64_t instance)
{
    struct reader r = {x->runs, end, false};
    __int128 at = 0, total = 0;

    for (uint64_t i = 0; i < x->nruns && !r.broken; i++) {
        struct tt_log_walk w = {0};
        __int128 first, last;

        unfold(&r, &w);
        first = at + w.gap;
        at += (__int128)w.repeat * ((__int128)w.gap + w.length);
        last = at - w.length;
        total += (__int128)w.repeat * w.length;
        if (w.repeat == 0 || w.length == 0 || first < 0 || last < 0 || at > instance ||
            first + w.length > instance)
            return false;
    }
    return !r.broken && r.at == end && total == x->bytes;
}

/* ---- requests ---- */

static uint64_t instance_of(const struct tt_log *log, unsigned variable, uint64_t step)
{
    return log->variables[variable].per_step && log->policy != TT_OVERWRITE ? step : 0;
}

static int add_entry(struct tt_log *log, const struct tt_log_entry *x)
{
    if (log->n == log->capacity) {
        size_t capacity = log->capacity ? 2 * log->capacity : 64;
        struct tt_log_entry *grown = realloc(log->entries, capacity * sizeof *grown);

        if (!grown)
            return TT_NOMEM;
        log->entries = grown;
        log->capacity = capacity;
    }
    log->entries[log->n++] = *x;
    if (log->variables[x->variable].per_step && x->step >= log->steps)
        log->steps = x->step + 1;
    return TT_OK;
}

/* The requests of a record, which stays as long as the log. limit: the stream ends there. Without
 * memory it is still seen whether the record makes sense: all ranks find the same. */
static int take_entries(struct tt_log *log, uint64_t rank, struct reader *r, uint64_t entries,
                        uint64_t limit)
{
    int rc = TT_OK;

    for (uint64_t i = 0; i < entries && r->at < r->end; i++) {
        struct tt_log_entry x = {.rank = (uint32_t)rank};
        uint64_t bytes, stored = 0;

        x.variable = (uint32_t)take_number(r, log->nvariables - 1);
        x.step = take_number(r, INT64_MAX);
        x.call = take_number(r, UINT64_MAX);
        x.position = take_number(r, limit);
        x.bytes = take_number(r, INT64_MAX);
        x.nruns = take_number(r, INT64_MAX);
        bytes = take_number(r, INT64_MAX);
        x.runs = take(r, bytes);
        if (r->broken || !runs_fit(&x, r->at, log->variables[x.variable].bytes) ||
            tt_log_nblocks(log, &x) > (uint64_t)(r->end - r->at) / TT_LOG_BLOCK)
            return TT_CORRUPT;
        x.blocks = take(r, tt_log_nblocks(log, &x) * TT_LOG_BLOCK);
        for (uint64_t k = 0; !r->broken && k < tt_log_nblocks(log, &x); k++) {
            uint32_t part;

            memcpy(&part, x.blocks + k * TT_LOG_BLOCK, sizeof part);
            stored += le32toh(part);
            r->broken |= le32toh(part) > tt_log_block_bytes(log, &x, k);
        }
        if (r->broken || stored > limit - x.position)
            return TT_CORRUPT;
        if (rc == TT_OK)
            rc = add_entry(log, &x);
    }
    return r->at == r->end ? rc : TT_CORRUPT;
}

static int keep_image(struct tt_log *log, unsigned char *image)
{
    unsigned char **grown = realloc(log->images, (log->nimages + 1) * sizeof *grown);

    if (!grown)
        return TT_NOMEM;
    log->images = grown;
    grown[log->nimages++] = image;
    return TT_OK;
}

static int compare_entries(const void *a, const void *b, void *context)
{
    const struct tt_log *log = context;
    const struct tt_log_entry *x = a, *y = b;
    uint64_t p, q;

    if (x->variable != y->variable)
        return x->variable < y->variable ? -1 : 1;
    p = instance_of(log, x->variable, x->step);
    q = instance_of(log, y->variable, y->step);
    if (p != q)
        return p < q ? -1 : 1;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (x->call != y->call)
        return x->call < y->call ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static void sort_entries(struct tt_log *log)
{
    if (log->n > 0)
        qsort_r(log->entries, log->n, sizeof *log->entries, compare_entries, log);
    log->mapped = false;
}

int tt_log_take(struct tt_log *log, uint64_t rank, const struct tt_log_index *index, size_t from,
                struct tt_error *e)
{
    size_t size = index->all.n - from, before = log->n;
    unsigned char *image;
    struct reader r;
    int rc;

    if (size == 0)
        return TT_OK;
    image = malloc(size);
    if (!image || keep_image(log, image) != TT_OK) {
        free(image);
        return tt_fail_nomem(e, "the index of a log");
    }
    memcpy(image, index->all.data + from, size);
    r = (struct reader){image, image + size, false};
    rc = take_entries(log, rank, &r, UINT64_MAX, INT64_MAX);
    if (rc != TT_OK)
        log->n = before;
    sort_entries(log);
    return rc == TT_OK ? TT_OK : tt_fail_nomem(e, "the index of a log");
}

/* ---- index records ---- */

/* The record of a rank that is read next. */
struct wanted {
    uint64_t position, size; /* size 0: there is none */
    uint64_t number, end;    /* no record that is left is newer, or reaches behind this */
    uint64_t known;          /* what is not newer has been read */
    bool first, closed;
    bool torn;                  /* something that the slot tells of is missing */
    bool damaged;               /* one of the slots is neither empty nor intact */
    const unsigned char *other; /* what was synced before the newest slot, if it is intact */
};

static bool is_slot(const unsigned char *slot, uint64_t rank)
{
    return word_at(slot) > 0 && is_sealed(slot, NULL, 0) && word_at(slot + 40) == rank &&
           word_at(slot + 8) < INT64_MAX && word_at(slot + 16) < INT64_MAX &&
           word_at(slot + 24) < INT64_MAX;
}

static void want_slot(struct wanted *w, const unsigned char *slot)
{
    w->number = word_at(slot);
    w->position = word_at(slot + 8);
    w->size = word_at(slot + 16);
    w->end = word_at(slot + 24);
    w->closed = word_at(slot + 32);
    w->first = true;
    w->other = NULL;
}

/* The newer of a rank's two slots. */
static void choose_slot(struct tt_log *log, uint64_t rank, const unsigned char *slots,
                        struct wanted *w)
{
    const unsigned char *pair[2] = {slots, slots + TT_LOG_SLOT}, *newest = NULL, *other = NULL;
    static const unsigned char empty[TT_LOG_SLOT];
    bool damaged = false;

    for (int i = 0; i < 2; i++) {
        if (!is_slot(pair[i], rank)) {
            damaged = damaged || memcmp(pair[i], empty, sizeof empty) != 0;
            continue;
        }
        if (newest && word_at(newest) > word_at(pair[i])) {
            other = pair[i];
        } else {
            other = newest;
            newest = pair[i];
        }
    }
    *w = (struct wanted){.known = log->known[rank], .damaged = damaged};
    if (newest && word_at(newest) > w->known) {
        want_slot(w, newest);
        w->other = other;
        log->known[rank] = w->number;
    }
    log->unclosed += !newest || word_at(newest + 32) == 0;
}

static int fail_record(const struct tt_log *log, uint64_t rank, uint64_t position,
                       struct tt_error *e)
{
    struct tt_run run;

    tt_log_runs(log, rank, position, 1, &run);
    return tt_fail(e, TT_CORRUPT,
                   "'%s': the index of rank %" PRIu64 " at offset %" PRIu64 " is damaged",
                   log->path, rank, run.start);
}

/* A record that is not what it should be. Of a salvage the system may have been stopped while it
 * was written, unless it is known to have been synced. */
static int give_up_record(const struct tt_log *log, bool salvage, uint64_t rank, struct wanted *w,
                          struct tt_error *e)
{
    if (!salvage || !(w->first || w->other))
        return fail_record(log, rank, w->position, e);
    w->torn = true;
    w->size = 0;
    return TT_OK;
}

/* Sees what a record says, and which one comes before it. */
static int take_record(struct tt_log *log, bool salvage, uint64_t rank, const unsigned char *at,
                       struct wanted *w, struct tt_error *e)
{
    const uint64_t size = w->size, number = word_at(at + 16);
    struct reader r = {at + TT_LOG_SLOT, at + size, false};
    int rc;

    if (memcmp(at, TT_LOG_RECORD, 8) != 0 || word_at(at + 8) != rank || number == 0 ||
        number > w->number || word_at(at + 32) != size - TT_LOG_SLOT ||
        word_at(at + 40) >= INT64_MAX || word_at(at + 48) >= INT64_MAX ||
        !is_sealed(at, at + TT_LOG_SLOT, size - TT_LOG_SLOT))
        return give_up_record(log, salvage, rank, w, e);
    w->first = false;
    w->size = 0;
    if (number <= w->known)
        return TT_OK;
    rc = take_entries(log, rank, &r, word_at(at + 24), w->end);
    if (rc == TT_CORRUPT)
        return fail_record(log, rank, w->position, e);
    w->number = number - 1; /* older and further ahead each time, so there is an end */
    w->end = w->position;
    w->position = word_at(at + 40);
    w->size = word_at(at + 48);
    return rc == TT_OK ? TT_OK : tt_fail_nomem(e, "the index of a log");
}

/* Whether a record lies where one can, as far as the slot tells. */
static bool is_sound(const struct tt_log *log, const struct wanted *w)
{
    uint64_t row, end;

    return w->size > TT_LOG_SLOT && w->position <= w->end && w->size <= w->end - w->position &&
           !__builtin_mul_overflow(log->ranks, log->segment, &row) &&
           !__builtin_mul_overflow(w->end / log->segment + 1, row, &end) &&
           !__builtin_add_overflow(end, log->base, &end) && end <= TT_LOG_ENDLESS;
}

static bool is_in_file(const struct tt_log *log, uint64_t rank, const struct wanted *w)
{
    struct tt_run last;

    tt_log_runs(log, rank, w->position + w->size - 1, 1, &last);
    return last.start < log->file_size;
}

/* The next record of every rank that has one, in one go. *more: there may be others. A rank that
 * lacks memory goes on to the next fetch, where the others learn of it; what else is wrong all find
 * at the same place. */
static int take_records(struct tt_log *log, int rc, bool salvage, struct wanted *wanted, bool *more,
                        tt_log_fetch *fetch, void *context, struct tt_error *e)
{
    size_t nruns = 0, n = 0, bytes = 0;
    unsigned char *image;
    struct tt_run *runs;

    *more = false;
    for (uint64_t r = 0; r < log->ranks; r++) {
        struct wanted *w = &wanted[r];

        if (w->size > 0 && is_sound(log, w) && !is_in_file(log, r, w) &&
            give_up_record(log, salvage, r, w, e) != TT_OK)
            return e->code;
        if (w->size == 0)
            continue;
        if (!is_sound(log, w) || __builtin_add_overflow(bytes, w->size, &bytes))
            return fail_record(log, r, w->position, e);
        nruns += tt_log_nruns(log, w->size);
    }
    if (bytes == 0)
        return rc;
    image = malloc(bytes);
    runs = malloc(nruns * sizeof *runs);
    if (!image || !runs || keep_image(log, image) != TT_OK) {
        free(image);
        image = NULL;
        rc = tt_fail_nomem(e, "the index of a log");
    }
    for (uint64_t r = 0; rc == TT_OK && r < log->ranks; r++)
        n += tt_log_runs(log, r, wanted[r].position, wanted[r].size, runs + n);
    rc = fetch(context, rc, n, runs, image, e);
    free(runs);
    if (rc != TT_OK)
        return rc;
    for (uint64_t r = 0; r < log->ranks; r++)
        if (wanted[r].size > 0) {
            const unsigned char *at = image;
            int one;

            image += wanted[r].size;
            one = take_record(log, salvage, r, at, &wanted[r], e);
            if (one != TT_OK && one != TT_NOMEM)
                return one;
            rc = rc != TT_OK ? rc : one;
        }
    *more = true;
    return rc;
}

static bool is_whole(const struct tt_log_entry *x, uint64_t k, const void *stored)
{
    return XXH3_64bits(stored, x->starts[k + 1] - x->starts[k]) ==
           word_at(x->blocks + k * TT_LOG_BLOCK + 4);
}

/* What is written between two syncs comes to storage in any order, the slot perhaps first. So where
 * a rank has both slots, its newest one counts only if all blocks are there that came after the
 * other. */
static int check_unsynced(struct tt_log *log, struct wanted *wanted, tt_log_fetch *fetch,
                          void *context, struct tt_error *e)
{
    struct tt_run *runs = malloc(tt_log_nruns(log, log->block) * sizeof *runs);
    unsigned char *stored = malloc(log->block);
    int rc = runs && stored ? TT_OK : tt_fail_nomem(e, "a block");

    for (size_t i = 0; rc == TT_OK && i < log->n; i++) {
        struct tt_log_entry *x = &log->entries[i];
        struct wanted *w = &wanted[x->rank];

        if (!w->other || w->torn || x->call < log->moved || x->position < word_at(w->other + 24))
            continue;
        rc = tt_log_starts(log, x, e);
        for (uint64_t k = 0; rc == TT_OK && !w->torn && k < tt_log_nblocks(log, x); k++) {
            uint64_t n = x->starts[k + 1] - x->starts[k];

            rc = fetch(context, TT_OK,
                       tt_log_runs(log, x->rank, x->position + x->starts[k], n, runs), runs, stored,
                       e);
            w->torn = rc == TT_OK && !is_whole(x, k, stored);
        }
    }
    free(runs);
    free(stored);
    return rc;
}

/* Ranks whose newest slot is torn have what the other one says. */
static void fall_back(struct tt_log *log, struct wanted *wanted)
{
    size_t kept = 0;

    for (size_t i = 0; i < log->n; i++)
        if (wanted[log->entries[i].rank].torn)
            free(log->entries[i].starts);
        else
            log->entries[kept++] = log->entries[i];
    log->n = kept;
    for (uint64_t r = 0; r < log->ranks; r++) {
        struct wanted *w = &wanted[r];

        if (!w->torn)
            continue;
        log->unclosed += w->closed;
        if (w->other)
            want_slot(w, w->other);
        w->first = false; /* it was synced */
    }
}

static int take_index(struct tt_log *log, int rc, bool salvage, bool closed, tt_log_fetch *fetch,
                      void *context, struct tt_error *e)
{
    const struct tt_run slots = {log->slots, log->ranks * 2 * TT_LOG_SLOT};
    struct wanted *wanted = rc == TT_OK ? calloc(log->ranks, sizeof *wanted) : NULL;
    unsigned char *image = rc == TT_OK ? malloc(slots.length) : NULL;
    bool more;

    if (rc == TT_OK && (!wanted || !image))
        rc = tt_fail_nomem(e, "the index of a log");
    rc = fetch(context, rc, 1, &slots, image, e);
    log->unclosed = 0;
    for (uint64_t r = 0; rc == TT_OK && r < log->ranks; r++) {
        choose_slot(log, r, image + r * 2 * TT_LOG_SLOT, &wanted[r]);
        if (closed && log->unclosed > 0)
            rc = tt_fail(e, TT_CORRUPT,
                         "'%s': rank %" PRIu64 " has not closed the log; tutti convert reads what "
                         "was synced",
                         log->path, r);
    }
    for (more = rc == TT_OK; more;)
        rc = take_records(log, rc, salvage, wanted, &more, fetch, context, e);
    if (rc == TT_OK && salvage)
        rc = check_unsynced(log, wanted, fetch, context, e);
    if (rc == TT_OK && salvage)
        fall_back(log, wanted);
    for (more = rc == TT_OK && salvage; more;)
        rc = take_records(log, rc, salvage, wanted, &more, fetch, context, e);
    log->fallen = 0;
    for (uint64_t r = 0; rc == TT_OK && r < log->ranks; r++)
        log->fallen += wanted[r].damaged || wanted[r].torn;
    free(wanted);
    free(image);
    sort_entries(log);
    return rc;
}

int tt_log_refresh(struct tt_log *log, tt_log_fetch *fetch, void *context, struct tt_error *e)
{
    return take_index(log, TT_OK, false, false, fetch, context, e);
}

/* ---- the head ---- */

static int take_variables(struct tt_log *log, struct reader *r, uint64_t n, struct tt_error *e)
{
    log->variables = calloc(n + 1, sizeof *log->variables);
    if (!log->variables)
        return tt_fail_nomem(e, "the variables of a log");
    while (log->nvariables < n && !r->broken) {
        struct tt_log_variable *v = &log->variables[log->nvariables];
        uint64_t length;

        v->bytes = take_word(r, INT64_MAX);
        v->per_step = take_word(r, 1);
        length = take_word(r, 4096);
        v->name = r->broken ? NULL : malloc(length + 1);
        if (!r->broken && !v->name)
            return tt_fail_nomem(e, "the variables of a log");
        log->nvariables += v->name != NULL;
        if (v->name) {
            const unsigned char *text = take(r, (length + 7) / 8 * 8);

            memcpy(v->name, text, r->broken ? 0 : length);
            v->name[r->broken ? 0 : length] = 0;
        }
    }
    return TT_OK;
}

static int take_head(struct tt_log *log, const unsigned char *image, size_t size,
                     struct tt_error *e)
{
    struct reader r = {image + TT_LOG_START, image + size - 8, false};
    uint64_t codec, n;
    int rc;

    if (XXH3_64bits(image, size - 8) != word_at(image + size - 8))
        return tt_fail(e, TT_CORRUPT,
                       "'%s': the head of the log, %zu bytes from offset 0, is "
                       "damaged",
                       log->path, size);
    log->ranks = take_word(&r, INT32_MAX);
    log->segment = take_word(&r, INT64_MAX);
    log->block = take_word(&r, INT32_MAX);
    log->policy = (enum tt_policy)take_word(&r, TT_GROUP);
    codec = take_word(&r, UINT64_MAX);
    n = take_word(&r, size / 24);
    r.broken |= log->ranks == 0 || log->segment == 0 || log->segment % TT_LOG_UNIT ||
                log->block == 0 || n == 0;
    rc = r.broken ? TT_OK : take_variables(log, &r, n, e);
    if (rc != TT_OK)
        return rc;
    if (r.broken || r.at != r.end)
        return tt_fail(e, TT_CORRUPT, "'%s': the head of the log, at offset %td, makes no sense",
                       log->path, r.at - image);
    log->codec = codec ? tt_codec_numbered(codec) : NULL;
    if (codec && !log->codec)
        return tt_fail(e, TT_UNSUPPORTED,
                       "'%s' is packed by codec %" PRIu64
                       ", which this version of tutti does not know",
                       log->path, codec);
    if (codec && log->codec->package)
        return tt_fail(e, TT_UNSUPPORTED,
                       "'%s' is packed by codec %s, which is not in this build; package %s brings "
                       "its library",
                       log->path, log->codec->name, log->codec->package);
    tt__log_place(log, size);
    if (log->file_size < log->slots + log->ranks * 2 * TT_LOG_SLOT)
        return tt_fail(e, TT_CORRUPT,
                       "'%s' ends at offset %" PRIu64 ", before the index of its %" PRIu64 " ranks",
                       log->path, log->file_size, log->ranks);
    log->known = calloc(log->ranks, sizeof *log->known);
    return log->known ? TT_OK : tt_fail_nomem(e, "the index of a log");
}

int tt_log_load(struct tt_log *log, uint64_t file_size, bool salvage, tt_log_fetch *fetch,
                void *context, struct tt_error *e)
{
    struct tt_run run = {0, TT_LOG_START};
    unsigned char start[TT_LOG_START], *image;
    uint64_t version, size;
    int rc = fetch(context, TT_OK, 1, &run, start, e);

    log->file_size = file_size;
    if (rc != TT_OK)
        return rc;
    version = word_at(start + 8);
    size = word_at(start + 16);
    if (memcmp(start, TT_LOG_MAGIC, 8) != 0)
        return tt_fail(e, TT_CORRUPT,
                       "'%s' does not begin like a file of the layers log, compress or subfile",
                       log->path);
    if (version != TT_LOG_VERSION)
        return tt_fail(e, TT_UNSUPPORTED,
                       "'%s' has version %" PRIu64 " of the log's format; this tutti reads %d",
                       log->path, version, TT_LOG_VERSION);
    if (size < TT_LOG_HEAD_WORDS * 8 + 8 || size % 8 || size > INT32_MAX || size > file_size)
        return tt_fail(e, TT_CORRUPT, "'%s': the head of the log, at offset 16, is damaged",
                       log->path);
    image = malloc(size);
    run.length = size;
    rc = fetch(context, image ? TT_OK : tt_fail_nomem(e, "the head of a log"), 1, &run, image, e);
    if (rc == TT_OK) /* if not, on all ranks */
        rc = take_index(log, take_head(log, image, size, e), salvage, !salvage, fetch, context, e);
    free(image);
    return rc;
}

bool tt_log_begins(const char *start)
{
    return !memcmp(start, TT_LOG_MAGIC, strlen(TT_LOG_MAGIC));
}

int tt_log_check(const struct tt_log *log, const struct tt_file_spec *spec, struct tt_error *e)
{
    if (log->nvariables != spec->nvariables || log->policy != spec->policy)
        return tt_fail(e, TT_FAILED,
                       "'%s' was not written as it is read: it has %u variables, "
                       "not %u, or another series",
                       log->path, log->nvariables, spec->nvariables);
    for (unsigned i = 0; i < log->nvariables; i++) {
        const struct tt_log_variable *v = &log->variables[i];

        if (v->bytes != tt_variable_bytes(&spec->variables[i]) ||
            v->per_step != spec->variables[i].per_step)
            return tt_fail(e, TT_FAILED, "'%s': variable '%s' has another type or shape there",
                           log->path, v->name);
    }
    return TT_OK;
}

/* ---- blocks ---- */

uint64_t tt_log_nblocks(const struct tt_log *log, const struct tt_log_entry *x)
{
    return (x->bytes + log->block - 1) / log->block;
}

uint64_t tt_log_block_bytes(const struct tt_log *log, const struct tt_log_entry *x, uint64_t k)
{
    uint64_t left = x->bytes - k * log->block;

    return left < log->block ? left : log->block;
}

int tt_log_starts(const struct tt_log *log, struct tt_log_entry *x, struct tt_error *e)
{
    uint64_t n = tt_log_nblocks(log, x);

    if (x->starts)
        return TT_OK;
    x->starts = malloc((n + 1) * sizeof *x->starts);
    if (!x->starts)
        return tt_fail_nomem(e, "the blocks of a request");
    x->starts[0] = 0;
    for (uint64_t k = 0; k < n; k++) {
        uint32_t stored;

        memcpy(&stored, x->blocks + k * TT_LOG_BLOCK, sizeof stored);
        x->starts[k + 1] = x->starts[k] + le32toh(stored);
    }
    return TT_OK;
}

int tt_log_unpack(const struct tt_log *log, const struct tt_log_entry *x, uint64_t k,
                  const void *stored, void *to, void *state, const void **out, struct tt_error *e)
{
    uint64_t n = x->starts[k + 1] - x->starts[k], size = tt_log_block_bytes(log, x, k);
    bool whole = is_whole(x, k, stored);
    struct tt_run place;

    *out = n == size ? stored : to;
    if (whole && (n == size || (log->codec && log->codec->unpack(state, stored, n, to, size))))
        return TT_OK;
    tt_log_runs(log, x->rank, x->position + x->starts[k], 1, &place);
    return tt_fail(e, TT_CORRUPT,
                   "'%s', variable '%s', step %" PRIu64 ": the block of rank %" PRIu32
                   " at offset %" PRIu64 " %s",
                   log->path, log->variables[x->variable].name, x->step, x->rank, place.start,
                   whole ? "does not unpack" : "is not what was written");
}

/* ---- looking up ---- */

static int compare_starts(const void *a, const void *b)
{
    const struct tt_log_piece *x = a, *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->entry < y->entry ? -1 : x->entry > y->entry;
}

/* A heap of pieces, that of the latest request on top. */
static void sift(const struct tt_log_piece *pieces, size_t *heap, size_t n, size_t i)
{
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        size_t moved = heap[i];

        if (child + 1 < n && pieces[heap[child + 1]].entry > pieces[heap[child]].entry)
            child++;
        if (pieces[moved].entry >= pieces[heap[child]].entry)
            return;
        heap[i] = heap[child];
        heap[child] = moved;
    }
}

static void push(const struct tt_log_piece *pieces, size_t *heap, size_t *n, size_t piece)
{
    size_t i = (*n)++;

    for (; i > 0 && pieces[heap[(i - 1) / 2]].entry < pieces[piece].entry; i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = piece;
}

/* Pieces by their start that may overlap become pieces that do not: walks along the instance, and
 * the latest request at each place wins. Each piece begins and ends once, so at most two come of
 * it. */
static size_t later_wins(const struct tt_log_piece *pieces, size_t n, size_t *heap,
                         struct tt_log_piece *out)
{
    size_t next = 0, active = 0, made = 0, before = n;
    uint64_t at = 0;

    while (next < n || active > 0) {
        const struct tt_log_piece *top;
        uint64_t until;

        if (active == 0)
            at = pieces[next].start;
        while (next < n && pieces[next].start <= at)
            push(pieces, heap, &active, next++);
        top = &pieces[heap[0]];
        if (top->start + top->length <= at) {
            heap[0] = heap[--active];
            sift(pieces, heap, active, 0);
            continue;
        }
        until = top->start + top->length;
        if (next < n && pieces[next].start < until)
            until = pieces[next].start;
        if (before == heap[0])
            out[made - 1].length += until - at;
        else
            out[made++] =
                (struct tt_log_piece){at, until - at, top->entry, top->within + (at - top->start)};
        before = heap[0];
        at = until;
    }
    return made;
}

/* The requests of an instance: first and behind the last. */
static void find_instance(const struct tt_log *log, unsigned variable, uint64_t instance,
                          size_t range[2])
{
    for (int end = 0; end < 2; end++) {
        size_t low = 0, high = log->n;

        while (low < high) {
            size_t middle = (low + high) / 2;
            const struct tt_log_entry *x = &log->entries[middle];
            uint64_t its = instance_of(log, x->variable, x->step);
            bool before = x->variable != variable ? x->variable < variable
                          : its != instance       ? its < instance
                                                  : end == 1;

            if (before)
                low = middle + 1;
            else
                high = middle;
        }
        range[end] = low;
    }
}

static size_t list_pieces(const struct tt_log *log, const size_t range[2],
                          struct tt_log_piece *pieces)
{
    size_t n = 0;

    for (size_t i = range[0]; i < range[1]; i++) {
        struct tt_log_walk w;
        struct tt_run run;
        uint64_t within = 0;

        tt_log_walk_begin(&w, &log->entries[i]);
        for (; tt_log_walk_next(&w, &run); within += run.length, n++)
            if (pieces)
                pieces[n] = (struct tt_log_piece){run.start, run.length, i, within};
    }
    return n;
}

int tt_log_look_up(struct tt_log *log, unsigned variable, uint64_t step, struct tt_error *e)
{
    struct tt_log_piece *pieces, *resolved;
    bool sorted = true, apart = true;
    size_t range[2], n, *heap;

    step = instance_of(log, variable, step);
    if (log->mapped && log->map_variable == variable && log->map_step == step)
        return TT_OK;
    log->mapped = false;
    find_instance(log, variable, step, range);
    n = list_pieces(log, range, NULL);
    pieces = malloc((n + 1) * sizeof *pieces);
    if (!pieces)
        return tt_fail_nomem(e, "the pieces of a variable");
    list_pieces(log, range, pieces);
    for (size_t i = 1; i < n; i++)
        sorted &= pieces[i - 1].start <= pieces[i].start;
    if (!sorted)
        qsort(pieces, n, sizeof *pieces, compare_starts);
    for (size_t i = 1; i < n; i++)
        apart &= pieces[i - 1].start + pieces[i - 1].length <= pieces[i].start;
    if (!apart) {
        resolved = malloc(2 * n * sizeof *resolved);
        heap = malloc(n * sizeof *heap);
        if (!resolved || !heap) {
            free(resolved);
            free(heap);
            free(pieces);
            return tt_fail_nomem(e, "the pieces of a variable");
        }
        n = later_wins(pieces, n, heap, resolved);
        free(heap);
        free(pieces);
        pieces = resolved;
    }
    free(log->map);
    log->map = pieces;
    log->nmap = n;
    log->map_variable = variable;
    log->map_step = step;
    log->mapped = true;
    return TT_OK;
}
