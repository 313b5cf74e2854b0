/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading records back. The file may be anything: every length is held against what the file really
 * has before memory is taken for it, and counters are checked before anybody adds them up. */
#include "record/records.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/directory.h"
#include "record/reduce.h"

#define LEAST_PART 8 /* records that have grown more than this are of no version that there was */

/* A file being read: path for messages, where it ends, and what was read ahead. */
struct source {
    int fd;
    const char *path;
    uint64_t offset, size;
    uint64_t ahead_at, ahead;
    unsigned char buffer[1 << 16];
};

static int corrupt(const struct source *s, struct tt_error *e, const char *what)
{
    return tt_fail(e, TT_CORRUPT, "'%s' is damaged at byte %llu: %s", s->path,
                   (unsigned long long)s->offset, what);
}

/* Most chunks of a node are short: they are read many at a time. */
static int read_ahead(struct source *s, struct tt_error *e)
{
    ssize_t got;

    do
        got = pread(s->fd, s->buffer, sizeof s->buffer, (off_t)s->offset);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return tt_fail_call(e, errno, "read", s->path, (long long)s->offset);
    if (got == 0)
        return corrupt(s, e, "it became shorter while it was read");
    s->ahead_at = s->offset;
    s->ahead = (uint64_t)got;
    return TT_OK;
}

/* The next n bytes, which the caller knows to be there. */
static int take(struct source *s, void *to, uint64_t n, struct tt_error *e)
{
    while (n > 0) {
        uint64_t at = s->offset - s->ahead_at, part;

        if (s->offset < s->ahead_at || at >= s->ahead) {
            if (read_ahead(s, e) != TT_OK)
                return e->code;
            at = 0;
        }
        part = s->ahead - at < n ? s->ahead - at : n;
        memcpy(to, s->buffer + at, part);
        to = (char *)to + part;
        s->offset += part;
        n -= part;
    }
    return TT_OK;
}

static int check_start(const struct source *s, const struct tt_records_start *h, struct tt_error *e)
{
    if ((h->magic & 0xffffff) == (TT_RECORDS_MAGIC & 0xffffff) && h->magic != TT_RECORDS_MAGIC)
        return tt_fail(e, TT_CORRUPT, "'%s' was written by %s version of tutti", s->path,
                       h->magic > TT_RECORDS_MAGIC ? "a newer" : "an older");
    if (h->magic != TT_RECORDS_MAGIC)
        return tt_fail(e, TT_CORRUPT, "'%s' holds no records of tutti", s->path);
    if (h->nphases != TT_NPHASES)
        return tt_fail(e, TT_CORRUPT,
                       "'%s' was written by another version of tutti: it knows %u phases, this one "
                       "%d",
                       s->path, h->nphases, TT_NPHASES);
    return TT_OK;
}

/* The next n records, of which the file has `item` bytes each and the reader knows `size`. */
static int take_items(struct source *s, size_t item, void *to, size_t size, size_t n,
                      struct tt_error *e)
{
    size_t both = item < size ? item : size;

    if (item == size)
        return take(s, to, n * size, e);
    memset(to, 0, n * size);
    for (size_t i = 0; i < n; i++) {
        if (take(s, (char *)to + i * size, both, e) != TT_OK)
            return e->code;
        s->offset += item - both;
    }
    return TT_OK;
}

/* How many whole records of a chunk are there, each of *item bytes; one that was cut off gives what
 * it has. */
static int count_items(const struct source *s, const struct tt_chunk_header *chunk, size_t size,
                       size_t *item, uint64_t *n, struct tt_error *e)
{
    uint64_t there = s->size - s->offset;

    *item = chunk->item ? chunk->item : size;
    if (chunk->length % *item != 0)
        return corrupt(s, e, "not a whole number of records");
    if (*item < size / LEAST_PART && chunk->length > 0)
        return corrupt(s, e, "its records are too short");
    *n = (chunk->length < there ? chunk->length : there) / *item;
    return TT_OK;
}

/* Appends them to *list, which has *n of them. A file of short records needs more memory than it
 * has bytes, but not many times more. */
static int take_records(struct source *s, const struct tt_chunk_header *chunk, size_t size,
                        void **list, size_t *n, struct tt_error *e)
{
    uint64_t more = 0;
    size_t item = 0, all;
    char *grown;

    if (count_items(s, chunk, size, &item, &more, e) != TT_OK)
        return e->code;
    if (more == 0)
        return TT_OK;
    if (__builtin_mul_overflow(*n + more, size, &all) || !(grown = realloc(*list, all)))
        return tt_fail_nomem(e, "records");
    *list = grown;
    if (take_items(s, item, grown + *n * size, size, more, e) != TT_OK)
        return e->code;
    *n += more;
    return TT_OK;
}

/* One record that is not cut off. */
static int take_one(struct source *s, const struct tt_chunk_header *chunk, void *to, size_t size,
                    struct tt_error *e)
{
    uint64_t n = 0;
    size_t item = 0;

    if (count_items(s, chunk, size, &item, &n, e) != TT_OK)
        return e->code;
    return n == 1 ? take_items(s, item, to, size, 1, e) : corrupt(s, e, "not one record");
}

/* ---- what is the node's ---- */

/* All bytes of a chunk; the caller frees. */
static int take_bytes(struct source *s, uint64_t length, unsigned char **out, struct tt_error *e)
{
    *out = malloc(length + 1);
    return *out ? take(s, *out, length, e) : tt_fail_nomem(e, "records");
}

static int take_calls(struct source *s, const struct tt_chunk_header *chunk,
                      struct tt_node_records *n, struct tt_error *e)
{
    struct tt_histogram *more = malloc(TT_NCALLS * sizeof *more);
    unsigned char *words = NULL;
    int rc = take_bytes(s, chunk->length, &words, e);

    if (!n->calls)
        n->calls = calloc(TT_NCALLS, sizeof *n->calls);
    if (rc == TT_OK && (!n->calls || !more))
        rc = tt_fail_nomem(e, "records");
    if (rc == TT_OK && (chunk->length % sizeof(uint64_t) ||
                        !tt_histograms_unpack((const uint64_t *)(const void *)words,
                                              chunk->length / sizeof(uint64_t), more, TT_NCALLS)))
        rc = corrupt(s, e, "a histogram contradicts itself");
    for (int i = 0; rc == TT_OK && i < TT_NCALLS; i++)
        tt_histogram_merge(&n->calls[i], &more[i]);
    free(words);
    free(more);
    return rc;
}

static int take_timelines(struct source *s, const struct tt_chunk_header *chunk,
                          struct tt_node_records *n, struct tt_error *e)
{
    size_t size = sizeof *n->timelines;

    if (chunk->length != 2 * size || (chunk->item && chunk->item != size))
        return TT_OK; /* of another version, which had other slots */
    free(n->timelines);
    n->timelines = malloc(2 * size);
    if (!n->timelines)
        return tt_fail_nomem(e, "records");
    if (take(s, n->timelines, 2 * size, e) != TT_OK)
        return e->code;
    if (!tt_timeline_is_sound(&n->timelines[0]) || !tt_timeline_is_sound(&n->timelines[1]))
        return corrupt(s, e, "rates over time make no sense");
    return TT_OK;
}

static int take_reduced(struct source *s, const struct tt_chunk_header *chunk,
                        struct tt_node_records *n, struct tt_error *e)
{
    unsigned char *bytes = NULL;
    int rc = take_bytes(s, chunk->length, &bytes, e);

    for (uint64_t at = 0; rc == TT_OK && at < chunk->length;) {
        struct tt_reduced *room = tt_list_room(n->reduced, n->nreduced, sizeof *room);
        size_t used;

        if (!room) {
            rc = tt_fail_nomem(e, "records");
            break;
        }
        n->reduced = room;
        used = tt_reduced_unpack(bytes + at, chunk->length - at, &room[n->nreduced]);
        if (used == 0)
            rc = corrupt(s, e, "not what iterations are reduced to");
        at += used;
        n->nreduced += used > 0;
    }
    free(bytes);
    return rc;
}

static int take_of_node(struct source *s, const struct tt_chunk_header *chunk,
                        struct tt_node_records *n, struct tt_error *e)
{
    void *list = n->reduced_epochs;
    int rc;

    switch (chunk->type) {
    case TT_CHUNK_CALLS:
        return n->truncated ? TT_OK : take_calls(s, chunk, n, e);
    case TT_CHUNK_TIMELINES:
        return n->truncated ? TT_OK : take_timelines(s, chunk, n, e);
    case TT_CHUNK_REDUCED:
        return n->truncated ? TT_OK : take_reduced(s, chunk, n, e);
    case TT_CHUNK_REDUCED_EPOCHS:
        rc = take_records(s, chunk, sizeof *n->reduced_epochs, &list, &n->nreduced_epochs, e);
        n->reduced_epochs = list;
        return rc;
    default:
        return TT_OK;
    }
}

/* ---- what is a rank's ---- */

/* Objects are merged, lists joined, everything else replaced. */
static int merge_json(json_t *into, json_t *from)
{
    const char *key;
    json_t *value;

    json_object_foreach(from, key, value)
    {
        json_t *old = json_object_get(into, key);
        int rc;

        if (json_is_object(old) && json_is_object(value))
            rc = merge_json(old, value);
        else if (json_is_array(old) && json_is_array(value))
            rc = json_array_extend(old, value);
        else
            rc = json_object_set(into, key, value);
        if (rc != 0)
            return -1;
    }
    return 0;
}

static int take_json(struct source *s, uint64_t length, json_t **summary, struct tt_error *e)
{
    unsigned char *text = NULL;
    int rc = take_bytes(s, length, &text, e);
    json_t *object = rc == TT_OK ? json_loadb((char *)text, length, 0, NULL) : NULL;

    free(text);
    if (rc != TT_OK)
        return rc;
    if (!json_is_object(object))
        rc = corrupt(s, e, "not a JSON object");
    else if (!*summary)
        *summary = json_incref(object);
    else if (merge_json(*summary, object) != 0)
        rc = tt_fail_nomem(e, "records");
    json_decref(object);
    return rc;
}

/* The header of a rank: of a new one, which has the next slot, or again, with another state. */
static int take_rank(struct source *s, const struct tt_chunk_header *chunk, size_t nranks,
                     struct tt_records_header *h, struct tt_error *e)
{
    if (take_one(s, chunk, h, sizeof *h, e) != TT_OK)
        return e->code;
    if (chunk->slot > nranks || h->rank != chunk->rank || h->rank >= h->size ||
        h->state > TT_RANK_TERMINATED)
        return corrupt(s, e, "rank, size or state makes no sense");
    h->host[sizeof h->host - 1] = '\0';
    return TT_OK;
}

static int add_rank(struct source *s, const struct tt_chunk_header *chunk,
                    struct tt_node_records *n, struct tt_error *e)
{
    struct tt_rank_records *room;
    struct tt_records_header h;

    if (take_rank(s, chunk, n->nranks, &h, e) != TT_OK)
        return e->code;
    if (chunk->slot == n->nranks) {
        room = tt_list_room(n->ranks, n->nranks, sizeof *room);
        if (!room)
            return tt_fail_nomem(e, "records");
        n->ranks = room;
        n->ranks[n->nranks++] = (struct tt_rank_records){0};
    } else if (n->ranks[chunk->slot].header.rank != h.rank) {
        return corrupt(s, e, "two ranks have one place");
    }
    n->ranks[chunk->slot].header = h;
    return TT_OK;
}

static int take_of_rank(struct source *s, const struct tt_chunk_header *chunk, bool truncated,
                        struct tt_rank_records *r, struct tt_error *e)
{
    void *list;
    int rc = TT_OK;

    switch (chunk->type) {
    case TT_CHUNK_ITERATIONS:
        list = r->iterations;
        rc = take_records(s, chunk, sizeof *r->iterations, &list, &r->niterations, e);
        r->iterations = list;
        return rc;
    case TT_CHUNK_EPOCHS:
        list = r->epochs;
        rc = take_records(s, chunk, sizeof *r->epochs, &list, &r->nepochs, e);
        r->epochs = list;
        return rc;
    case TT_CHUNK_TOTALS:
        return truncated ? TT_OK : take_one(s, chunk, &r->totals, sizeof r->totals, e);
    case TT_CHUNK_JSON:
        return truncated ? TT_OK : take_json(s, chunk->length, &r->summary, e);
    default:
        return TT_OK;
    }
}

/* ---- files ---- */

/* What is done with one chunk; the source stands behind its header. */
typedef int take_chunk(struct source *s, const struct tt_chunk_header *chunk, bool truncated,
                       void *context, struct tt_error *e);

static int take_all(struct source *s, take_chunk *taker, void *context, struct tt_error *e)
{
    struct tt_records_start start;
    bool truncated = false;
    int rc;

    if (s->size == 0) /* whoever made it was killed before it wrote anything */
        return TT_OK;
    if (s->size < sizeof start)
        return tt_fail(e, TT_CORRUPT, "'%s' is too short to hold records", s->path);
    rc = take(s, &start, sizeof start, e);
    if (rc == TT_OK)
        rc = check_start(s, &start, e);
    while (rc == TT_OK && !truncated && s->offset < s->size) {
        struct tt_chunk_header chunk;
        uint64_t there, after;

        if (s->size - s->offset < sizeof chunk)
            return taker(s, NULL, true, context, e);
        rc = take(s, &chunk, sizeof chunk, e);
        there = s->size - s->offset;
        after = s->offset + (chunk.length < there ? chunk.length : there);
        truncated = chunk.length > there;
        if (rc == TT_OK && (chunk.type == 0 || chunk.type > TT_CHUNK_HIGHEST))
            rc = corrupt(s, e, "not a kind of records");
        if (rc == TT_OK)
            rc = taker(s, &chunk, truncated, context, e);
        s->offset = rc == TT_OK ? after : s->offset;
    }
    return rc;
}

static int open_source(struct source *s, struct tt_error *e)
{
    struct stat st;

    s->ahead = s->ahead_at = 0;
    s->fd = open(s->path, O_RDONLY | TT_DIRECTORY_OPEN);
    if (s->fd < 0)
        return tt_fail_call(e, errno, "open", s->path, -1);
    if (fstat(s->fd, &st) != 0)
        return tt_fail_call(e, errno, "fstat", s->path, -1);
    if (!S_ISREG(st.st_mode))
        return tt_fail(e, TT_CORRUPT, "'%s' is not a regular file", s->path);
    s->size = (uint64_t)st.st_size;
    return TT_OK;
}

static int take_file(const char *path, take_chunk *taker, void *context, struct tt_error *e)
{
    struct source *s = malloc(sizeof *s);
    int rc;

    if (!s)
        return tt_fail_nomem(e, "records");
    s->path = path;
    s->offset = 0;
    rc = open_source(s, e);
    if (rc == TT_OK)
        rc = take_all(s, taker, context, e);
    if (s->fd >= 0)
        close(s->fd);
    free(s);
    return rc;
}

static int load_chunk(struct source *s, const struct tt_chunk_header *chunk, bool truncated,
                      void *context, struct tt_error *e)
{
    struct tt_node_records *n = context;

    n->truncated = truncated;
    if (!chunk || (truncated && chunk->type == TT_CHUNK_RANK))
        return TT_OK;
    if (chunk->slot == TT_NODE_SLOT)
        return take_of_node(s, chunk, n, e);
    if (chunk->type == TT_CHUNK_RANK)
        return add_rank(s, chunk, n, e);
    if (chunk->slot >= n->nranks || n->ranks[chunk->slot].header.rank != chunk->rank)
        return corrupt(s, e, "records of a rank that is not there");
    return take_of_rank(s, chunk, truncated, &n->ranks[chunk->slot], e);
}

/* Those of baseline epochs go behind the others; else the order stays. */
static int set_excluded_apart(struct tt_rank_records *r, struct tt_error *e)
{
    struct tt_iteration_record *list = r->iterations, *apart;
    size_t measured = 0, excluded = 0;

    for (size_t i = 0; i < r->niterations; i++)
        excluded += list[i].iteration >= TT_ITERATION_EXCLUDED;
    if (excluded == 0)
        return TT_OK;
    apart = malloc(excluded * sizeof *apart);
    if (!apart)
        return tt_fail_nomem(e, "records");
    excluded = 0;
    for (size_t i = 0; i < r->niterations; i++)
        if (list[i].iteration < TT_ITERATION_EXCLUDED) {
            list[measured++] = list[i];
        } else {
            apart[excluded] = list[i];
            apart[excluded++].iteration -= TT_ITERATION_EXCLUDED;
        }
    memcpy(&list[measured], apart, excluded * sizeof *apart);
    free(apart);
    r->niterations = measured;
    r->nexcluded = excluded;
    return TT_OK;
}

int tt_records_load(const char *path, struct tt_node_records *out, struct tt_error *e)
{
    int rc;

    *out = (struct tt_node_records){0};
    rc = take_file(path, load_chunk, out, e);
    for (size_t i = 0; rc == TT_OK && i < out->nranks; i++)
        rc = set_excluded_apart(&out->ranks[i], e);
    if (rc != TT_OK)
        tt_records_unload(out);
    return rc;
}

void tt_rank_records_free(struct tt_rank_records *r)
{
    free(r->iterations);
    free(r->epochs);
    json_decref(r->summary);
}

void tt_records_unload(struct tt_node_records *n)
{
    for (size_t i = 0; i < n->nranks; i++)
        tt_rank_records_free(&n->ranks[i]);
    free(n->ranks);
    free(n->reduced);
    free(n->reduced_epochs);
    free(n->calls);
    free(n->timelines);
    *n = (struct tt_node_records){0};
}

/* ---- one rank after the other ---- */

struct tt_records_place {
    struct tt_chunk_header chunk;
    uint64_t offset, there; /* there: bytes of it that the file has */
};

static int note_place(struct source *s, const struct tt_chunk_header *chunk, bool truncated,
                      void *context, struct tt_error *e)
{
    struct tt_records_index *index = context;
    struct tt_records_place *places;
    struct tt_records_header h, *ranks;

    if (!chunk || chunk->slot == TT_NODE_SLOT || (truncated && chunk->type == TT_CHUNK_RANK))
        return TT_OK;
    if (chunk->type == TT_CHUNK_RANK) {
        if (take_rank(s, chunk, index->nranks, &h, e) != TT_OK)
            return e->code;
        ranks = chunk->slot < index->nranks
                    ? index->ranks
                    : tt_list_room(index->ranks, index->nranks, sizeof *ranks);
        if (!ranks)
            return tt_fail_nomem(e, "records");
        index->ranks = ranks;
        index->nranks += chunk->slot == index->nranks;
        ranks[chunk->slot] = h;
        return TT_OK;
    }
    if (chunk->slot >= index->nranks || index->ranks[chunk->slot].rank != chunk->rank)
        return corrupt(s, e, "records of a rank that is not there");
    if (chunk->type != TT_CHUNK_ITERATIONS && chunk->type != TT_CHUNK_SAMPLES &&
        chunk->type != TT_CHUNK_SPANS && chunk->type != TT_CHUNK_JSON)
        return TT_OK;
    places = tt_list_room(index->places, index->nplaces, sizeof *places);
    if (!places)
        return tt_fail_nomem(e, "records");
    index->places = places;
    places[index->nplaces++] = (struct tt_records_place){
        *chunk, s->offset, truncated ? s->size - s->offset : chunk->length};
    return TT_OK;
}

static int by_slot(const void *a, const void *b)
{
    const struct tt_records_place *x = a, *y = b;

    return x->chunk.slot != y->chunk.slot
               ? (x->chunk.slot > y->chunk.slot) - (x->chunk.slot < y->chunk.slot)
               : (x->offset > y->offset) - (x->offset < y->offset);
}

int tt_records_index(const char *path, struct tt_records_index *out, struct tt_error *e)
{
    int rc;

    *out = (struct tt_records_index){.path = strdup(path)};
    rc = out->path ? take_file(path, note_place, out, e) : tt_fail_nomem(e, "records");
    if (rc == TT_OK && out->nplaces)
        qsort(out->places, out->nplaces, sizeof *out->places, by_slot);
    if (rc != TT_OK)
        tt_records_index_free(out);
    return rc;
}

void tt_records_index_free(struct tt_records_index *index)
{
    free(index->path);
    free(index->ranks);
    free(index->places);
    *index = (struct tt_records_index){0};
}

/* Whom the records of a rank are handed to. */
struct takers {
    tt_records_take *iterations;
    tt_records_take_spans *spans; /* NULL: iterations are wanted */
    void *context;
    json_t **summary;
};

/* Iterations or spans, some at a time. */
static int hand_on(struct source *s, const struct tt_chunk_header *chunk, const struct takers *to,
                   struct tt_error *e)
{
    union {
        struct tt_iteration_record iterations[128];
        struct tt_span spans[128];
    } some;
    size_t size = to->spans ? sizeof *some.spans : sizeof *some.iterations, item = 0;
    uint64_t left = 0;
    int rc = count_items(s, chunk, size, &item, &left, e);

    for (size_t n; rc == TT_OK && left > 0; left -= n) {
        n = left < 128 ? (size_t)left : 128;
        rc = take_items(s, item, &some, size, n, e);
        if (rc == TT_OK && to->spans)
            to->spans(to->context, some.spans, n);
        else if (rc == TT_OK)
            to->iterations(to->context, some.iterations, n);
    }
    return rc;
}

static int scan_place(struct source *s, const struct tt_records_place *place,
                      const struct takers *to, struct tt_error *e)
{
    bool of_iteration =
        place->chunk.type == TT_CHUNK_ITERATIONS || place->chunk.type == TT_CHUNK_SAMPLES;

    s->offset = place->offset;
    s->size = place->offset + place->there;
    if (to->spans ? place->chunk.type == TT_CHUNK_SPANS : of_iteration)
        return hand_on(s, &place->chunk, to, e);
    if (to->summary && place->chunk.type == TT_CHUNK_JSON && place->there == place->chunk.length)
        return take_json(s, place->there, to->summary, e);
    return TT_OK;
}

static size_t first_place(const struct tt_records_index *index, size_t rank)
{
    size_t first = 0, last = index->nplaces;

    while (first < last) {
        size_t middle = first + (last - first) / 2;

        if (index->places[middle].chunk.slot < rank)
            first = middle + 1;
        else
            last = middle;
    }
    return first;
}

static int scan(const struct tt_records_index *index, size_t rank, const struct takers *to,
                struct tt_error *e)
{
    struct source *s = malloc(sizeof *s);
    int rc;

    if (!s)
        return tt_fail_nomem(e, "records");
    s->path = index->path;
    rc = open_source(s, e);
    for (size_t i = first_place(index, rank);
         rc == TT_OK && i < index->nplaces && index->places[i].chunk.slot == rank; i++)
        rc = scan_place(s, &index->places[i], to, e);
    if (s->fd >= 0)
        close(s->fd);
    free(s);
    return rc;
}

int tt_records_scan(const struct tt_records_index *index, size_t rank, tt_records_take *taker,
                    void *context, struct tt_error *e)
{
    return scan(index, rank, &(struct takers){.iterations = taker, .context = context}, e);
}

int tt_records_scan_spans(const struct tt_records_index *index, size_t rank,
                          tt_records_take_spans *taker, void *context, json_t **summary,
                          struct tt_error *e)
{
    *summary = NULL;
    return scan(index, rank,
                &(struct takers){.spans = taker, .context = context, .summary = summary}, e);
}

/* ---- a directory ---- */

void *tt_list_room(void *list, size_t n, size_t size)
{
    size_t most = n ? 2 * n : 1, bytes;

    if (n & (n - 1))
        return list;
    return __builtin_mul_overflow(most, size, &bytes) ? NULL : realloc(list, bytes);
}

static bool is_record_name(const char *name)
{
    size_t n = strlen(name);

    return n > 4 && name[0] != '.' && !strcmp(name + n - 4, ".ttr");
}

int tt_each_node_file(const char *directory, tt_node_file *file, void *context, struct tt_error *e)
{
    char *records = tt_directory_path(directory, "records");
    struct dirent *entry;
    DIR *d;
    int rc = TT_OK;

    if (!records)
        return tt_fail_nomem(e, "records");
    d = opendir(records);
    if (!d)
        rc = tt_fail_call(e, errno, "opendir", records, -1);
    while (rc == TT_OK && (entry = readdir(d)))
        if (is_record_name(entry->d_name)) {
            char *path = tt_directory_path(records, entry->d_name);

            rc = path ? file(context, path, e) : tt_fail_nomem(e, "records");
            free(path);
        }
    if (d)
        closedir(d);
    free(records);
    return rc;
}

struct wanted {
    long long rank;
    bool found;
};

static int look_for(void *context, const char *path, struct tt_error *e)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    struct tt_records_index index;
    struct wanted *w = context;

    (void)e;
    w->found = w->found || w->rank == TT_ANY_RANK;
    if (w->found || tt_records_index(path, &index, &ignored) != TT_OK)
        return TT_OK;
    for (size_t i = 0; i < index.nranks; i++)
        w->found = w->found || index.ranks[i].rank == w->rank;
    tt_records_index_free(&index);
    return TT_OK;
}

bool tt_records_have(const char *directory, long long rank)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    struct wanted w = {.rank = rank};

    tt_each_node_file(directory, look_for, &w, &ignored);
    return w.found;
}
