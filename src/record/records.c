/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading records back. The file may be anything: every length is held against what the file really
 * has before memory is taken for it, and counters are checked before anybody adds them up. */
#include "record/records.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/directory.h"

/* A file being read: path for messages, and where it ends. */
struct source {
    int fd;
    const char *path;
    uint64_t offset, size;
    tt_records_take *take_iterations; /* NULL: they are kept, as all else is */
    void *context;
};

static int corrupt(const struct source *s, struct tt_error *e, const char *what)
{
    return tt_fail(e, TT_CORRUPT, "'%s' is damaged at byte %llu: %s", s->path,
                   (unsigned long long)s->offset, what);
}

/* The next n bytes, which the caller knows to be there. */
static int take(struct source *s, void *to, uint64_t n, struct tt_error *e)
{
    for (uint64_t done = 0; done < n;) {
        ssize_t got = pread(s->fd, (char *)to + done, n - done, (off_t)(s->offset + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return tt_fail_call(e, errno, "read", s->path, (long long)(s->offset + done));
        if (got == 0)
            return corrupt(s, e, "it became shorter while it was read");
        done += (uint64_t)got;
    }
    s->offset += n;
    return TT_OK;
}

static int check_header(const struct source *s, struct tt_records_header *h, struct tt_error *e)
{
    if ((h->magic & 0xffffff) == (TT_RECORDS_MAGIC & 0xffffff) && h->magic > TT_RECORDS_MAGIC)
        return tt_fail(e, TT_CORRUPT, "'%s' was written by a newer version of tutti", s->path);
    if (h->magic != TT_RECORDS_MAGIC)
        return tt_fail(e, TT_CORRUPT, "'%s' holds no records of tutti", s->path);
    if (h->nphases != TT_NPHASES)
        return tt_fail(e, TT_CORRUPT, "'%s' was written by another version of tutti", s->path);
    if (h->rank >= h->size || h->state > TT_RANK_TERMINATED)
        return corrupt(s, e, "rank, size or state makes no sense");
    h->host[sizeof h->host - 1] = '\0';
    return TT_OK;
}

/* Append the whole records among the next `length` bytes to *list. */
static int take_list(struct source *s, uint64_t length, size_t item, void **list, size_t *n,
                     struct tt_error *e)
{
    size_t more = (size_t)(length / item);
    char *grown;

    if (more == 0)
        return TT_OK;
    grown = realloc(*list, (*n + more) * item);
    if (!grown)
        return tt_fail_nomem(e, "records");
    *list = grown;
    if (take(s, grown + *n * item, more * item, e) != TT_OK)
        return e->code;
    *n += more;
    return TT_OK;
}

static int histogram_is_sound(const struct tt_histogram *h)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < TT_HISTOGRAM_BUCKETS; i++)
        if (__builtin_add_overflow(sum, h->buckets[i], &sum))
            return 0;
    return sum == h->total && sum < (uint64_t)1 << 53 && h->min_ns >= 0 && h->sum_ns >= 0 &&
           h->min_ns <= h->max_ns;
}

static int take_calls(struct source *s, uint64_t length, struct tt_rank_records *r,
                      struct tt_error *e)
{
    struct tt_histogram *calls;

    if (length != TT_NCALLS * sizeof *calls && length % sizeof *calls == 0)
        return tt_fail(e, TT_CORRUPT, "'%s' was written by another version of tutti", s->path);
    if (length != TT_NCALLS * sizeof *calls)
        return corrupt(s, e, "not the expected number of histograms");
    calls = malloc(length);
    if (!calls)
        return tt_fail_nomem(e, "records");
    free(r->calls);
    r->calls = calls;
    if (take(s, calls, length, e) != TT_OK)
        return e->code;
    for (unsigned i = 0; i < TT_NCALLS; i++)
        if (!histogram_is_sound(&calls[i]))
            return corrupt(s, e, "a histogram contradicts itself");
    return TT_OK;
}

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

static int take_json(struct source *s, uint64_t length, struct tt_rank_records *r,
                     struct tt_error *e)
{
    char *text = malloc(length ? length : 1);
    json_t *object;
    int rc;

    if (!text)
        return tt_fail_nomem(e, "records");
    rc = take(s, text, length, e);
    object = rc == TT_OK ? json_loadb(text, length, 0, NULL) : NULL;
    free(text);
    if (rc != TT_OK)
        return rc;
    if (!json_is_object(object))
        rc = corrupt(s, e, "not a JSON object");
    else if (!r->summary)
        r->summary = json_incref(object);
    else if (merge_json(r->summary, object) != 0)
        rc = tt_fail_nomem(e, "records");
    json_decref(object);
    return rc;
}

/* A chunk of records of one size. One that was cut off gives what it has. */
static int take_records(struct source *s, uint64_t length, size_t item, void **list, size_t *n,
                        struct tt_error *e)
{
    uint64_t there = s->size - s->offset;

    if (length % item != 0)
        return corrupt(s, e, "not a whole number of records");
    return take_list(s, length < there ? length : there, item, list, n, e);
}

/* Those of the next `length` bytes, of which a file that was cut off may have less. */
static int hand_on_iterations(struct source *s, uint64_t length, struct tt_error *e)
{
    struct tt_iteration_record some[128];
    uint64_t left = s->size - s->offset < length ? s->size - s->offset : length;
    int rc = TT_OK;

    if (length % sizeof *some != 0)
        return corrupt(s, e, "not a whole number of records");
    for (size_t n; rc == TT_OK && left >= sizeof *some; left -= n * sizeof *some) {
        n = left < sizeof some ? (size_t)(left / sizeof *some) : sizeof some / sizeof *some;
        rc = take(s, some, n * sizeof *some, e);
        if (rc == TT_OK)
            s->take_iterations(s->context, some, n);
    }
    return rc;
}

static int pass_over(struct source *s, uint64_t length, size_t item, struct tt_error *e)
{
    if (length % item != 0)
        return corrupt(s, e, "not a whole number of records");
    s->offset = s->size - s->offset < length ? s->size : s->offset + length;
    return TT_OK;
}

static int take_chunk(struct source *s, const struct tt_chunk_header *chunk,
                      struct tt_rank_records *r, struct tt_error *e)
{
    void *list;
    int rc;

    r->truncated = chunk->length > s->size - s->offset;
    switch (chunk->type) {
    case TT_CHUNK_ITERATIONS:
        if (s->take_iterations)
            return hand_on_iterations(s, chunk->length, e);
        list = r->iterations;
        rc = take_records(s, chunk->length, sizeof *r->iterations, &list, &r->niterations, e);
        r->iterations = list;
        return rc;
    case TT_CHUNK_EPOCHS:
        if (s->take_iterations)
            return pass_over(s, chunk->length, sizeof *r->epochs, e);
        list = r->epochs;
        rc = take_records(s, chunk->length, sizeof *r->epochs, &list, &r->nepochs, e);
        r->epochs = list;
        return rc;
    case TT_CHUNK_CALLS:
        return r->truncated ? TT_OK : take_calls(s, chunk->length, r, e);
    case TT_CHUNK_JSON:
        return r->truncated ? TT_OK : take_json(s, chunk->length, r, e);
    default:
        return corrupt(s, e, "unknown kind of chunk");
    }
}

static int take_all(struct source *s, struct tt_rank_records *r, struct tt_error *e)
{
    int rc;

    if (s->size < sizeof r->header)
        return tt_fail(e, TT_CORRUPT, "'%s' is too short to hold records", s->path);
    rc = take(s, &r->header, sizeof r->header, e);
    if (rc == TT_OK)
        rc = check_header(s, &r->header, e);
    while (rc == TT_OK && !r->truncated && s->offset < s->size) {
        struct tt_chunk_header chunk;

        if (s->size - s->offset < sizeof chunk) {
            r->truncated = 1;
            break;
        }
        rc = take(s, &chunk, sizeof chunk, e);
        if (rc == TT_OK)
            rc = take_chunk(s, &chunk, r, e);
    }
    return rc;
}

static int take_file(struct source *s, struct tt_rank_records *out, struct tt_error *e)
{
    struct stat st;
    int rc;

    memset(out, 0, sizeof *out);
    s->fd = open(s->path, O_RDONLY | TT_DIRECTORY_OPEN);
    if (s->fd < 0)
        return tt_fail_call(e, errno, "open", s->path, -1);
    if (fstat(s->fd, &st) != 0) {
        rc = tt_fail_call(e, errno, "fstat", s->path, -1);
    } else if (!S_ISREG(st.st_mode)) {
        rc = tt_fail(e, TT_CORRUPT, "'%s' is not a regular file", s->path);
    } else {
        s->size = (uint64_t)st.st_size;
        rc = take_all(s, out, e);
    }
    close(s->fd);
    if (rc != TT_OK)
        tt_records_unload(out);
    return rc;
}

int tt_records_load(const char *path, struct tt_rank_records *out, struct tt_error *e)
{
    return take_file(&(struct source){.path = path}, out, e);
}

int tt_records_scan(const char *path, tt_records_take *taker, void *context,
                    struct tt_records_header *header, struct tt_error *e)
{
    struct tt_rank_records rest;
    int rc = take_file(&(struct source){.path = path, .take_iterations = taker, .context = context},
                       &rest, e);

    if (rc == TT_OK)
        *header = rest.header;
    tt_records_unload(&rest);
    return rc;
}

void tt_records_unload(struct tt_rank_records *r)
{
    free(r->iterations);
    free(r->epochs);
    free(r->calls);
    json_decref(r->summary);
    memset(r, 0, sizeof *r);
}

/* ---- is the rank still there? ---- */

/* One that has ended, but is not reaped yet, has no words. */
static bool has_ended(unsigned pid)
{
    char path[64], first;
    int fd;
    bool ended;

    snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    ended = fd < 0 || read(fd, &first, 1) != 1;
    if (fd >= 0)
        close(fd);
    return ended;
}

/* Whoever has the process's number now holds other files open. */
bool tt_records_are_held(const char *path, const struct tt_records_header *h)
{
    char host[sizeof h->host] = "", name[64 + NAME_MAX];
    struct dirent *entry;
    struct stat file, st;
    bool held = false;
    DIR *fds;

    gethostname(host, sizeof host - 1);
    if (strcmp(host, h->host) != 0 || stat(path, &file) != 0 || has_ended(h->pid))
        return false;
    snprintf(name, sizeof name, "/proc/%u/fd", h->pid);
    fds = opendir(name);
    if (!fds)
        return errno != ENOENT; /* somebody else's: it may be the rank */
    while (!held && (entry = readdir(fds))) {
        snprintf(name, sizeof name, "/proc/%u/fd/%s", h->pid, entry->d_name);
        held = stat(name, &st) == 0 && st.st_dev == file.st_dev && st.st_ino == file.st_ino;
    }
    closedir(fds);
    return held;
}
