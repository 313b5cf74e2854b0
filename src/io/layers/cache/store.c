/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank keeps on its node: a file of its writes, and a share of the node's limit. Room of
 * what has been moved is given back by punching holes; where the file system cannot do that, the
 * store fills up. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/notice.h"
#include "base/sys.h"
#include "io/layers/cache/parts.h"

enum {
    BLOCK = 64 << 10,
    CHUNK = 1 << 20, /* bytes of one call */
    PIECES = 256,
    SHORT = 2048, /* pieces that are put together */
    PAGE = 4096,
    SEGMENT = 64 << 20,
    CHAIN = 256 << 10, /* bytes of index records, after which those that are not needed go */
};

/* ---- opening ---- */

/* From now on everything goes through. Told once by a node, or where its ranks share nothing, by
 * the first rank of the file. */
static void break_store(struct cache_store *s, const char *call, int why)
{
    static atomic_bool told;

    if (s->broken)
        return;
    s->broken = true;
    if ((s->usage ? atomic_exchange(&s->usage->told, 1) == 0 : s->tells) &&
        !atomic_exchange(&told, true))
        tt_notice("layer cache writes through from here on: %s in '%s': %s", call, s->directory,
                  strerror(why));
}

/* Filled before anybody sees it, and mapped only then: a store to a page that finds no space ends
 * the process. */
static int make_usage(const char *directory, const char *path)
{
    char temporary[PATH_MAX], page[PAGE] = "";
    int fd, rc = -1, why;

    if (snprintf(temporary, sizeof temporary, "%s/.usage.XXXXXX", directory) >= PATH_MAX)
        return ENAMETOOLONG;
    fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return errno;
    errno = ENOSPC;
    if (write(fd, page, sizeof page) == PAGE)
        rc = link(temporary, path) == 0 || errno == EEXIST ? 0 : -1;
    why = errno;
    close(fd);
    unlink(temporary);
    return rc == 0 ? 0 : why;
}

static int map_usage(struct cache_store *s)
{
    char path[PATH_MAX];
    struct stat st;
    void *map;
    int fd, why = 0;

    if (snprintf(path, sizeof path, "%s/" TT_NODE_CACHE_USAGE, s->directory) >= PATH_MAX)
        return ENAMETOOLONG;
    fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        why = make_usage(s->directory, path);
        fd = why ? -1 : open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    }
    if (fd < 0)
        return why ? why : errno;
    /* Who has just made it takes the other name away. */
    for (int i = 0; (why = fstat(fd, &st) != 0 ? errno : 0) == 0 && st.st_nlink > 1 && i < 1000;
         i++)
        usleep(1000);
    if (!why &&
        (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1 || st.st_size < PAGE))
        why = EINVAL;
    map = why ? MAP_FAILED : mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED)
        s->usage = map;
    else if (!why)
        why = errno;
    close(fd);
    return why;
}

int tt__store_open(struct cache_store *s, const struct cache_opts *opts, const char *id,
                   bool is_made, int rank, struct tt_error *e)
{
    char *dir = realpath(opts->dir, NULL);
    int why = errno;

    s->limit = opts->size;
    s->local = opts->sync == CACHE_SYNC_LOCAL;
    s->tells = rank == 0;
    s->directory = tt_node_cache_directory(dir ? dir : opts->dir, id);
    if (!s->directory)
        return tt_fail_nomem(e, "a path");
    if (!is_made) {
        s->owns_directory = true;
        if (mkdir(s->directory, 0777) != 0 && errno != EEXIST) {
            free(dir);
            return tt_fail_call(e, errno, "mkdir", s->directory, -1);
        }
    }
    why = dir ? map_usage(s) : why;
    free(dir);
    if (why)
        break_store(s, "open", why);
    return TT_OK;
}

static void remove_writes(struct cache_store *s)
{
    struct stat ours, there;

    if (fstat(s->fd, &ours) == 0 && lstat(s->path, &there) == 0 && ours.st_ino == there.st_ino)
        unlink(s->path);
}

/* Under another name until it is whole, in storage, too: what a crash leaves is then no file of
 * writes, and one without a head is damaged. */
static int make_writes(struct cache_store *s, const char *text, const unsigned char *front)
{
    char temporary[PATH_MAX];
    int why;

    if (snprintf(temporary, sizeof temporary, "%s" TT_NODE_CACHE_NEW, s->path) >= PATH_MAX)
        return ENAMETOOLONG;
    s->fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (s->fd < 0)
        return errno;
    tt_node_cache_claim(s->fd);
    why = tt_sys_write_at(s->fd, text, TT_NODE_CACHE_HEAD, 0);
    if (!why && front)
        why = tt_sys_write_at(s->fd, front, s->log.base, TT_NODE_CACHE_HEAD);
    if (!why && s->local && fdatasync(s->fd) != 0)
        why = errno;
    if (!why && link(temporary, s->path) != 0)
        why = errno;
    unlink(temporary);
    if (!why && s->local)
        why = tt_sys_sync_name(s->path);
    return why;
}

/* The head and, where a sync is one of the store, the front of the log. */
static int write_front(struct cache_store *s, const struct tt_node_cache_head *head,
                       struct tt_error *e)
{
    char *text = tt_node_cache_text(head, e);
    unsigned char *front = text && s->local ? tt_log_front(&s->log) : NULL;
    int why = 0;

    if (text && s->local && !front)
        tt_fail_nomem(e, "the head of a log");
    if (e->code == TT_OK)
        why = make_writes(s, text, front);
    free(front);
    free(text);
    if (why) {
        break_store(s, "open", why);
        if (s->fd >= 0) {
            remove_writes(s);
            close(s->fd);
        }
        s->fd = -1;
    }
    return e->code;
}

int tt__store_begin(struct cache_store *s, const struct tt_file_spec *spec, int rank, int size,
                    struct tt_error *e)
{
    struct tt_node_cache_head head = {.caches = (uint64_t)size,
                                      .rank = (uint64_t)rank,
                                      .ranks = (uint64_t)size,
                                      .local = s->local};
    char here[PATH_MAX] = "";
    struct stat st;
    int rc = tt_log_begin(&s->log, spec, 1, SEGMENT, BLOCK, NULL, e);

    s->remembers = spec->independent && size > 1;
    if (rc != TT_OK || s->broken)
        return rc;
    head.target = realpath(spec->path, NULL); /* there is none if the backend stores nothing */
    if (head.target && stat(head.target, &st) == 0)
        head.inode = st.st_ino;
    else if (!head.target && (spec->path[0] == '/' || getcwd(here, sizeof here)) &&
             asprintf(&head.target, "%s%s%s", here, here[0] ? "/" : "", spec->path) < 0)
        head.target = NULL;
    if (head.target)
        s->path = tt_node_cache_writes(s->directory, head.target, head.rank);
    rc = s->path ? write_front(s, &head, e) : tt_fail_nomem(e, "a path");
    free(head.target);
    return rc;
}

/* ---- room ---- */

uint64_t tt__store_room(uint64_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

bool tt__store_reserve(struct cache_store *s, uint64_t bytes)
{
    uint64_t used;

    bytes = tt__store_room(bytes);
    if (!s->usage)
        return false;
    used = atomic_load(&s->usage->bytes);
    while (used <= s->limit && bytes <= s->limit - used)
        if (atomic_compare_exchange_weak(&s->usage->bytes, &used, used + bytes))
            return true;
    return false;
}

void tt__store_unreserve(struct cache_store *s, uint64_t bytes)
{
    atomic_fetch_sub(&s->usage->bytes, tt__store_room(bytes));
}

static uint64_t offset_of(const struct cache_store *s, uint64_t position)
{
    return TT_NODE_CACHE_HEAD + s->log.base + position;
}

/* Takes those before a call from the list; the caller frees. */
static struct cache_stored *take_before(struct cache_store *s, uint64_t call)
{
    struct cache_stored *first = s->oldest, *last = NULL;

    while (s->oldest && s->oldest->call < call) {
        last = s->oldest;
        s->oldest = last->next;
    }
    if (!s->oldest)
        s->newest = NULL;
    if (!last)
        return NULL;
    last->next = NULL;
    return first;
}

static void punch(struct cache_store *s, const struct cache_stored *x)
{
    uint64_t bytes = tt__store_room(x->bytes);

    if (fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  (off_t)offset_of(s, x->position), (off_t)bytes) != 0)
        return;
    tt__store_unreserve(s, bytes);
    pthread_mutex_lock(&s->lock);
    s->held -= bytes;
    pthread_mutex_unlock(&s->lock);
}

bool tt__store_release(struct cache_store *s, bool also_unsafe)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct cache_stored *gone, *next;
    uint64_t until;

    pthread_mutex_lock(&s->lock);
    also_unsafe = also_unsafe && s->local && s->durable >= s->acknowledged;
    until = s->local && !also_unsafe ? s->durable : s->moved;
    gone = take_before(s, until);
    pthread_mutex_unlock(&s->lock);
    if (!gone)
        return false;
    /* The number is in storage before the data is gone, or the data would be missed later. */
    if (s->local &&
        (tt_node_cache_set_moved(s->fd, s->path, until, &e) != TT_OK || fdatasync(s->fd) != 0))
        break_store(s, "fdatasync", errno);
    if (also_unsafe) /* only of a caller; the mover writes nothing here */
        s->unsafe = true;
    for (struct cache_stored *x = gone; x; x = next) {
        next = x->next;
        if (!s->local || !s->broken)
            punch(s, x);
        free(x);
    }
    return true;
}

int tt__store_moved(struct cache_store *s, uint64_t call, bool durable, struct tt_error *e)
{
    pthread_mutex_lock(&s->lock);
    s->moved = call > s->moved ? call : s->moved;
    if (durable)
        s->durable = call;
    pthread_mutex_unlock(&s->lock);
    if (!s->local)
        tt__store_release(s, false);
    else if (durable && s->fd >= 0) /* or a conversion would write older data over newer */
        return tt_node_cache_set_moved(s->fd, s->path, call, e) != TT_OK ? e->code
               : fdatasync(s->fd) != 0 ? tt_fail_call(e, errno, "fdatasync", s->path, -1)
                                       : TT_OK;
    return TT_OK;
}

/* ---- writes ---- */

static bool grow(char **buffer, size_t *size, size_t wanted)
{
    if (*size >= wanted && *buffer)
        return true;
    free(*buffer);
    *buffer = malloc(wanted + 1);
    *size = *buffer ? wanted : 0;
    return *buffer != NULL;
}

static struct tt_log_block *make_blocks(uint64_t bytes, bool stored)
{
    uint64_t n = (bytes + BLOCK - 1) / BLOCK;
    struct tt_log_block *blocks = calloc(n + 1, sizeof *blocks);

    for (uint64_t k = 0; blocks && stored && k < n; k++)
        blocks[k].stored = (uint32_t)(k + 1 < n ? BLOCK : bytes - k * BLOCK);
    return blocks;
}

/* A request on its way to the file: as it lies in memory, but for short pieces, which are put
 * together first. */
struct pouring {
    struct cache_store *s;
    uint64_t offset;             /* in the file, of what comes next */
    struct tt_log_block *blocks; /* that checksums are made of */
    uint64_t hashed;             /* bytes of the request */
    XXH3_state_t hash;
    struct iovec pieces[PIECES];
    int n;
    size_t bytes, staged; /* of the pieces, and of these in s->gathered */
};

static void add_hash(struct pouring *p, const char *from, size_t n)
{
    while (n > 0) {
        struct tt_log_block *block = &p->blocks[p->hashed / BLOCK];
        size_t within = p->hashed % BLOCK, part = block->stored - within;

        part = part < n ? part : n;
        if (within == 0)
            XXH3_64bits_reset(&p->hash);
        XXH3_64bits_update(&p->hash, from, part);
        if (within + part == block->stored)
            block->hash = XXH3_64bits_digest(&p->hash);
        p->hashed += part;
        from += part;
        n -= part;
    }
}

static int pour_out(struct pouring *p)
{
    struct iovec *first = p->pieces;
    int why = 0;

    while (p->n > 0 && !why) {
        ssize_t put = pwritev(p->s->fd, first, p->n, (off_t)p->offset);

        if (put < 0 && errno != EINTR)
            why = errno;
        p->offset += put > 0 ? (size_t)put : 0;
        while (put > 0) {
            size_t part = (size_t)put < first->iov_len ? (size_t)put : first->iov_len;

            first->iov_base = (char *)first->iov_base + part;
            first->iov_len -= part;
            put -= (ssize_t)part;
            if (first->iov_len == 0) {
                first++;
                p->n--;
            }
        }
    }
    p->n = 0;
    p->bytes = p->staged = 0;
    return why;
}

/* At most CHUNK bytes are under way, so short pieces always have room. */
static int pour(struct pouring *p, const char *from, size_t n)
{
    int why = 0;

    while (n > 0 && !why) {
        size_t part = n < CHUNK - p->bytes ? n : CHUNK - p->bytes;
        struct iovec *last = p->n > 0 ? &p->pieces[p->n - 1] : NULL;
        char *stage = p->s->gathered + p->staged;

        add_hash(p, from, part);
        if (part >= SHORT) {
            p->pieces[p->n++] = (struct iovec){(char *)from, part};
        } else {
            memcpy(stage, from, part);
            p->staged += part;
            if (last && (char *)last->iov_base + last->iov_len == stage)
                last->iov_len += part;
            else
                p->pieces[p->n++] = (struct iovec){stage, part};
        }
        p->bytes += part;
        from += part;
        n -= part;
        if (p->bytes == CHUNK || p->n == PIECES)
            why = pour_out(p);
    }
    return why;
}

static int put_request(struct cache_store *s, const struct tt_block *b, size_t element_size,
                       uint64_t offset, struct tt_log_block *blocks)
{
    const uint64_t count = tt_selection_count(&b->file);
    struct tt_block packed = {.memory = b->memory, .data = b->data};
    struct pouring p = {.s = s, .offset = offset, .blocks = blocks};
    struct tt_extent_iter it;
    struct tt_extent x;
    int why = 0;

    tt_select_all(&packed.file, 1, &count);
    tt_extents_begin(&it, &packed, element_size);
    while (!why && tt_extents_next(&it, &x))
        why = pour(&p, (const char *)b->data + x.memory_offset, x.length);
    return why ? why : pour_out(&p);
}

/* What is durable below before the next record needs none. */
static bool note_write(struct cache_store *s, const struct tt_file_spec *spec, uint64_t step,
                       uint64_t call, uint64_t position, const struct tt_block *b,
                       const struct tt_log_block *blocks)
{
    struct tt_log_entry x = {b->variable, 0, step, call, position};
    size_t element_size = spec->variables[b->variable].element->size;

    if (!s->remembers && (!s->local || s->unsafe))
        return true;
    x.bytes = tt_selection_count(&b->file) * element_size;
    return tt_log_index_add(&s->index, &x, b, element_size, blocks, tt_log_nblocks(&s->log, &x)) ==
           TT_OK;
}

bool tt__store_append(struct cache_store *s, const struct tt_file_spec *spec, uint64_t step,
                      uint64_t call, const struct tt_block *b, uint64_t *position,
                      struct tt_log_block **blocks)
{
    size_t element_size = spec->variables[b->variable].element->size;
    uint64_t bytes = tt_selection_count(&b->file) * element_size;
    struct cache_stored *x = calloc(1, sizeof *x);
    struct tt_log_block *made = make_blocks(bytes, true);
    uint64_t index = s->forgotten + s->index.all.n, entry = s->forgotten_entries + s->index.entries;
    int why = x && made && grow(&s->gathered, &s->gathered_size, CHUNK) ? 0 : ENOMEM;

    *position = (s->position + PAGE - 1) / PAGE * PAGE;
    if (!why)
        why = put_request(s, b, element_size, offset_of(s, *position), made);
    if (!why && !note_write(s, spec, step, call, *position, b, made))
        why = ENOMEM;
    if (why) {
        break_store(s, "write", why);
        free(x);
        free(made);
        return false;
    }
    s->position = *position + bytes;
    *x = (struct cache_stored){NULL, call, *position, bytes, index, entry};
    pthread_mutex_lock(&s->lock);
    *(s->newest ? &s->newest->next : &s->oldest) = x;
    s->newest = x;
    s->held += tt__store_room(bytes);
    pthread_mutex_unlock(&s->lock);
    *blocks = made;
    return true;
}

void tt__store_pass(struct cache_store *s, const struct tt_file_spec *spec, uint64_t step,
                    uint64_t call, const struct tt_block *b)
{
    uint64_t bytes = tt_selection_count(&b->file) * spec->variables[b->variable].element->size;
    struct tt_log_block *none = s->remembers ? make_blocks(bytes, false) : NULL;

    if (none)
        note_write(s, spec, step, call, s->position, b, none);
    free(none);
    s->unsafe = true;
}

int tt__store_fetch(struct cache_store *s, uint64_t position, uint64_t bytes,
                    const struct tt_log_block *blocks, void **out, struct tt_error *e)
{
    uint64_t offset = offset_of(s, position);
    ssize_t got;

    if (!grow(&s->fetched, &s->fetched_size, bytes))
        return tt_fail_nomem(e, "a request");
    got = tt_sys_read_at(s->fd, s->fetched, bytes, (off_t)offset);
    if (got < 0)
        return tt_fail_call(e, errno, "read", s->path, (long long)offset);
    if ((uint64_t)got < bytes)
        return tt_fail(e, TT_CORRUPT,
                       "'%s' ends at offset %llu: %llu bytes were only there and are lost", s->path,
                       (unsigned long long)(offset + (uint64_t)got),
                       (unsigned long long)(bytes - (uint64_t)got));
    for (uint64_t k = 0; k * BLOCK < bytes; k++)
        if (XXH3_64bits(s->fetched + k * BLOCK, blocks[k].stored) != blocks[k].hash)
            return tt_fail(e, TT_CORRUPT, "'%s': the block at offset %llu is not what was written",
                           s->path, (unsigned long long)(offset + k * BLOCK));
    *out = s->fetched;
    return TT_OK;
}

/* ---- syncs ---- */

/* Where the index of what is not durable below begins. */
static void find_needed(struct cache_store *s, size_t *from, uint64_t *entry)
{
    *from = s->index.all.n;
    *entry = s->index.entries;
    pthread_mutex_lock(&s->lock);
    for (const struct cache_stored *x = s->oldest; x; x = x->next)
        if (x->call >= s->durable) {
            *from = x->index - s->forgotten;
            *entry = x->entry - s->forgotten_entries;
            break;
        }
    pthread_mutex_unlock(&s->lock);
}

/* The next record leads to none of those that are there, and has all that is needed. What is not
 * goes from memory, too, unless it is looked up. */
static void restart_index(struct cache_store *s)
{
    struct tt_log_index *x = &s->index;
    uint64_t entry;
    size_t from;

    find_needed(s, &from, &entry);
    x->recorded = from;
    x->recorded_entries = entry;
    x->position = x->size = 0;
    if (s->remembers || from == 0)
        return;
    memmove(x->all.data, x->all.data + from, x->all.n - from);
    x->all.n -= from;
    x->entries -= entry;
    x->recorded = x->recorded_entries = 0;
    s->forgotten += from;
    s->forgotten_entries += entry;
}

static bool wants_restart(struct cache_store *s)
{
    uint64_t entry;
    size_t from;

    if (s->chain_bytes <= CHAIN)
        return false;
    find_needed(s, &from, &entry);
    return s->chain_bytes / 2 > s->index.all.n - from;
}

static void free_all(struct cache_stored *x)
{
    for (struct cache_stored *next; x; x = next) {
        next = x->next;
        free(x);
    }
}

/* The slot of the record before is the other one from now on; what only that one led to is
 * unknown. */
static void keep_record(struct cache_store *s, struct cache_stored *x, bool restarted)
{
    for (const struct cache_stored *gone = s->stale; gone; gone = gone->next)
        fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  (off_t)offset_of(s, gone->position), (off_t)tt__store_room(gone->bytes));
    free_all(s->stale);
    s->stale = restarted ? s->chain : NULL;
    x->next = restarted ? NULL : s->chain;
    s->chain_bytes = (restarted ? 0 : s->chain_bytes) + tt__store_room(x->bytes);
    s->chain = x;
}

/* The index of what is new, and the slot that tells where it is. It shares no page with a request,
 * which may become a hole. */
static int write_index(struct cache_store *s)
{
    uint64_t slot = tt_log_slot(&s->log, 0, s->slot);
    struct cache_stored *x = calloc(1, sizeof *x);
    size_t size = 0;
    int why;

    if (wants_restart(s))
        restart_index(s);
    s->position = (s->position + PAGE - 1) / PAGE * PAGE;
    why = x && tt_log_index_record(&s->index, 0, s->position, false, &s->record, &size) == TT_OK
              ? tt_sys_write_at(s->fd, s->record.data, size, (off_t)offset_of(s, s->position))
              : ENOMEM;
    if (!why)
        why = tt_sys_write_at(s->fd, s->record.data + size, TT_LOG_SLOT,
                              (off_t)(TT_NODE_CACHE_HEAD + slot));
    if (!why && fdatasync(s->fd) != 0)
        why = errno;
    if (why) {
        free(x);
        return why;
    }
    *x = (struct cache_stored){.position = s->position, .bytes = size};
    keep_record(s, x, s->index.size == 0);
    tt_log_index_recorded(&s->index, s->position, size);
    s->position += size;
    s->slot ^= 1;
    return 0;
}

bool tt__store_acknowledge(struct cache_store *s, uint64_t call)
{
    struct stat st;
    int why = 0;

    s->synced = true;
    if (s->broken || s->unsafe)
        return false;
    if (fstat(s->fd, &st) != 0 || st.st_nlink == 0)
        why = ENOENT; /* somebody has removed it: after a crash it is nowhere */
    if (!why && s->index.all.n > s->index.recorded)
        why = write_index(s);
    if (why) {
        break_store(s, "sync", why);
        return false;
    }
    pthread_mutex_lock(&s->lock);
    s->acknowledged = call;
    pthread_mutex_unlock(&s->lock);
    return true;
}

/* They need no record, in which requests that have passed, or whose room was given back, would look
 * like damage. */
void tt__store_is_below(struct cache_store *s)
{
    s->unsafe = false;
    restart_index(s);
}

/* ---- reading what is being written ---- */

int tt__store_covers(struct cache_store *s, uint64_t step, const struct tt_block *b,
                     size_t element_size, bool *covers, struct tt_error *e)
{
    struct tt_log *log = &s->log;
    struct tt_extent_iter it;
    struct tt_extent x;
    int rc = tt_log_take(log, 0, &s->index, s->taken, e);

    *covers = true;
    if (rc == TT_OK) {
        s->taken = s->index.all.n;
        rc = tt_log_look_up(log, b->variable, step, e);
    }
    if (rc != TT_OK)
        return rc;
    tt_extents_begin(&it, b, element_size);
    while (*covers && tt_extents_next(&it, &x)) {
        uint64_t at = x.file_offset, end = at + x.length;

        for (size_t i = 0; i < log->nmap && at < end; i++)
            if (log->map[i].start <= at && at < log->map[i].start + log->map[i].length)
                at = log->map[i].start + log->map[i].length;
        *covers = at >= end;
    }
    return TT_OK;
}

/* ---- closing ---- */

void tt__store_close(struct cache_store *s, bool keep)
{
    if (s->fd >= 0) {
        if (!keep || !s->local || !s->synced) /* else a conversion asks for those of all ranks */
            remove_writes(s);
        close(s->fd);
    }
    free_all(s->oldest);
    free_all(s->chain);
    free_all(s->stale);
    if (s->usage) {
        tt__store_unreserve(s, s->held);
        munmap(s->usage, PAGE);
    }
    if (s->owns_directory && !keep) {
        tt__pieces_remove(s);
        rmdir(s->directory);
    }
    pthread_mutex_destroy(&s->lock);
    tt_log_free(&s->log);
    free(s->index.all.data);
    free(s->record.data);
    free(s->gathered);
    free(s->fetched);
    free(s->path);
    free(s->directory);
    *s = (struct cache_store){.fd = -1};
}
