/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti convert: a file that was written through a layout layer becomes the file that posix writes
 * without it. What a run has left in caches of nodes comes on top of it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/notice.h"
#include "base/sys.h"
#include "cli/command.h"
#include "io/log.h"
#include "io/node_cache.h"
#include "io/subfile.h"
#include "report/paragraph.h"
#include "spec/units.h"

struct convert {
    bool partial;
};

static const struct tt_param params[] = {
    {"partial", TT_PARAM_BOOL, offsetof(struct convert, partial), NULL, NULL,
     "take what is here if caches of the layer cache are missing"},
    {NULL},
};

struct conversion {
    const char *from, *to;
    int in, out;
    uint64_t size;          /* of the container that is read */
    struct tt_subfiles set; /* that has its bytes; n is 0: they are in the one file */
    char *base;             /* its files are called like it, also where SRC is a link */
    uint64_t number;        /* of the subfile that is open */
    bool is_log;            /* of the layers log or compress; else the bytes are the file itself */
    struct tt_log log;
    struct tt_file_spec spec; /* of the canonical file, */
    struct tt_variable *variables;
    unsigned char *stored, *unpacked; /* one block */
    void *state;                      /* of the codec */
    uint64_t bytes;
    bool cached; /* it was written through the layer cache */
    bool local;  /* its mark says that the ranks alone may have what was acknowledged */
    struct tt_node_cache *caches; /* what has not been moved to it */
    size_t ncaches;
    bool partial;      /* take what is here */
    char missing[160]; /* whose caches are not here; "": all are */
    uint64_t applied;  /* requests of caches */
    bool spared; /* tutti clean must go on to spare SRC: DST may lack what it has, or be lost */
};

/* Behind the end there is nothing: a record that should be there is then seen to be damaged. */
static int get(struct conversion *c, char *to, uint64_t n, uint64_t offset, struct tt_error *e)
{
    ssize_t got = tt_sys_read_at(c->in, to, n, (off_t)offset);

    if (got < 0)
        return tt_fail_call(e, errno, "read", c->from, (long long)offset);
    memset(to + got, 0, n - (uint64_t)got);
    return TT_OK;
}

/* One at a time: a set may have more files than a process may open. */
static int open_subfile(struct conversion *c, uint64_t number, struct tt_error *e)
{
    char *path;

    if (c->in >= 0 && c->number == number)
        return TT_OK;
    path = tt_subfile_path(c->base, number, c->set.n);
    if (!path)
        return tt_fail_nomem(e, "the name of a subfile");
    if (c->in >= 0)
        close(c->in);
    c->number = number;
    c->in = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (c->in < 0)
        tt_fail_call(e, errno, "open", path, -1);
    free(path);
    return c->in < 0 ? e->code : TT_OK;
}

static int fetch(void *context, int rc, size_t n, const struct tt_run *runs, void *to,
                 struct tt_error *e)
{
    struct conversion *c = context;
    char *at = to;

    for (size_t i = 0; rc == TT_OK && i < n; i++)
        for (uint64_t done = 0, part; rc == TT_OK && done < runs[i].length; done += part) {
            struct tt_subfile_place p = {0, runs[i].start, runs[i].length};

            if (c->set.n > 0) {
                p = tt_subfile_place(&c->set, runs[i].start + done);
                rc = open_subfile(c, p.file, e);
            }
            part = p.room < runs[i].length - done ? p.room : runs[i].length - done;
            if (rc == TT_OK)
                rc = get(c, at, part, p.offset, e);
            at += part;
        }
    return rc;
}

static int put(struct conversion *c, const void *data, uint64_t n, uint64_t offset,
               struct tt_error *e)
{
    int why = tt_sys_write_at(c->out, data, n, (off_t)offset);

    return why ? tt_fail_call(e, why, "write", c->to, (long long)offset) : TT_OK;
}

/* Requests come in the order in which they win, so what was written over is written over again. */
static int convert_request(struct conversion *c, const struct tt_log *log, tt_log_fetch *get_runs,
                           void *context, struct tt_log_entry *x, struct tt_error *e)
{
    uint64_t base = tt_raw_offset(&c->spec, x->variable, x->step, 1);
    struct tt_run run = {0}, runs[3];
    struct tt_log_walk walk;
    int rc = tt_log_starts(log, x, e);

    tt_log_walk_begin(&walk, x);
    for (uint64_t k = 0; rc == TT_OK && k < tt_log_nblocks(log, x); k++) {
        uint64_t stored = x->starts[k + 1] - x->starts[k], done = 0;
        uint64_t size = tt_log_block_bytes(log, x, k);
        struct tt_run *list = runs;
        const void *data;

        if (tt_log_nruns(log, stored) > sizeof runs / sizeof *runs)
            list = malloc(tt_log_nruns(log, stored) * sizeof *list);
        rc = list ? get_runs(context, TT_OK,
                             tt_log_runs(log, x->rank, x->position + x->starts[k], stored, list),
                             list, c->stored, e)
                  : tt_fail_nomem(e, "the runs of a block");
        if (list != runs)
            free(list);
        if (rc == TT_OK)
            rc = tt_log_unpack(log, x, k, c->stored, c->unpacked, c->state, &data, e);
        while (rc == TT_OK && done < size && (run.length > 0 || tt_log_walk_next(&walk, &run))) {
            uint64_t part = run.length < size - done ? run.length : size - done;

            rc = put(c, (const char *)data + done, part, base + run.start, e);
            done += part;
            run.start += part;
            run.length -= part;
        }
        c->bytes += size;
    }
    return rc;
}

/* All files are looked at first. Of a set that was not closed the farthest byte is its size. */
static int load_set(struct conversion *c, struct tt_error *e)
{
    uint64_t length, end;
    int rc = tt_subfile_load(c->from, &c->set, e);

    c->base = realpath(c->from, NULL);
    if (rc == TT_OK && !c->base)
        rc = tt_fail_call(e, errno, "realpath", c->from, -1);
    c->size = c->set.size;
    for (uint64_t i = 0; rc == TT_OK && i < c->set.n; i++) {
        rc = tt_subfile_check(&c->set, c->base, i, &length, e);
        if (rc == TT_OK && length > (UINT64_C(1) << 62) / c->set.n)
            rc = tt_fail(e, TT_CORRUPT, "'%s': subfile %" PRIu64 " is too long for one of %" PRIu64,
                         c->from, i, c->set.n);
        end = tt_subfile_reach(&c->set, i, length);
        if (!c->set.closed && end > c->size)
            c->size = end;
    }
    close(c->in);
    c->in = -1;
    return rc;
}

/* NAME.subfile_I_of_N beside NAME: converted by itself, a part would look like a whole file. */
static int refuse_part(const char *path, struct tt_error *e)
{
    const char *ending = strstr(path, ".subfile_"), *next;
    unsigned long long i, n;
    char *base;
    int end = 0, rc = TT_OK;

    while (ending && (next = strstr(ending + 1, ".subfile_")))
        ending = next;
    if (!ending || sscanf(ending, ".subfile_%llu_of_%llu%n", &i, &n, &end) != 2 || ending[end])
        return TT_OK;
    base = strndup(path, (size_t)(ending - path));
    if (!base)
        return tt_fail_nomem(e, "the name of a set of subfiles");
    if (access(base, F_OK) == 0)
        rc = tt_fail(e, TT_FAILED, "'%s' is one part of the set '%s'; give '%s'", path, base, base);
    free(base);
    return rc;
}

static int check_source(struct conversion *c, struct tt_error *e)
{
    static const char hdf5[] = "\211HDF\r\n\032\n";
    const struct tt_run start = {0, 16};
    char found[16];
    struct stat st;

    c->in = open(c->from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (c->in < 0 || fstat(c->in, &st) != 0)
        return tt_fail_call(e, errno, "open", c->from, -1);
    if (!S_ISREG(st.st_mode))
        return tt_fail(e, TT_FAILED, "'%s' is not a file", c->from);
    c->size = (uint64_t)st.st_size;
    if (refuse_part(c->from, e) != TT_OK)
        return e->code;
    if (fetch(c, TT_OK, 1, &start, found, e) != TT_OK)
        return e->code;
    if (tt_subfile_begins(found, sizeof found))
        return load_set(c, e);
    if (!memcmp(found, hdf5, sizeof hdf5 - 1))
        return tt_fail(e, TT_UNSUPPORTED,
                       "'%s' is an HDF5 file: the bytes of its container lie in chunks that only "
                       "HDF5 finds; convert reads files of posix, mmap, uring and mpiio",
                       c->from);
    return TT_OK;
}

/* The variables as plain bytes: the canonical file knows nothing else of them. */
static int describe(struct conversion *c, const struct tt_log *log, struct tt_error *e)
{
    free(c->variables);
    free(c->stored);
    free(c->unpacked);
    c->variables = calloc(log->nvariables, sizeof *c->variables);
    c->stored = malloc(log->block);
    c->unpacked = malloc(log->block);
    if (log->codec && !c->state)
        c->state = log->codec->start(true);
    if (!c->variables || !c->stored || !c->unpacked || (log->codec && !c->state))
        return tt_fail_nomem(e, "the conversion");
    for (unsigned i = 0; i < log->nvariables; i++)
        c->variables[i] = (struct tt_variable){.path = log->variables[i].name,
                                               .element = &tt_element_u8,
                                               .ndims = 1,
                                               .dims = {log->variables[i].bytes},
                                               .per_step = log->variables[i].per_step};
    c->spec = (struct tt_file_spec){
        .policy = log->policy, .nvariables = log->nvariables, .variables = c->variables};
    return TT_OK;
}

/* The container as it is, which without another layout layer is the file itself. */
static int copy_container(struct conversion *c, struct tt_error *e)
{
    const uint64_t most = 4 << 20;
    char *buffer = malloc(most);
    int rc = buffer ? TT_OK : tt_fail_nomem(e, "the conversion");

    for (uint64_t at = 0, n; rc == TT_OK && at < c->size; at += n) {
        n = c->size - at < most ? c->size - at : most;
        rc = fetch(c, TT_OK, 1, &(struct tt_run){at, n}, buffer, e);
        if (rc == TT_OK)
            rc = put(c, buffer, n, at, e);
    }
    c->bytes = c->size;
    free(buffer);
    return rc;
}

/* ---- caches of nodes ---- */

/* A request that has not been moved. */
struct pending {
    struct tt_node_cache *cache;
    struct tt_log_entry *entry;
};

/* The order in which requests win. */
static int by_call(const void *a, const void *b)
{
    const struct pending *x = a, *y = b;

    if (x->entry->step != y->entry->step)
        return x->entry->step < y->entry->step ? -1 : 1;
    if (x->entry->call != y->entry->call)
        return x->entry->call < y->entry->call ? -1 : 1;
    return x->cache->head.rank < y->cache->head.rank ? -1 : 1;
}

static int apply_caches(struct conversion *c, struct tt_error *e)
{
    struct pending *list;
    size_t n = 0;
    int rc = TT_OK;

    for (size_t i = 0; i < c->ncaches; i++)
        n += c->caches[i].log.n;
    list = calloc(n + 1, sizeof *list);
    if (!list)
        return tt_fail_nomem(e, "the conversion");
    n = 0;
    for (size_t i = 0; i < c->ncaches; i++)
        for (size_t k = 0; k < c->caches[i].log.n; k++)
            if (c->caches[i].log.entries[k].call >= c->caches[i].head.moved)
                list[n++] = (struct pending){&c->caches[i], &c->caches[i].log.entries[k]};
    if (n > 0) {
        qsort(list, n, sizeof *list, by_call);
        rc = describe(c, &list[0].cache->log, e);
    }
    for (size_t i = 0; rc == TT_OK && i < n; i++)
        rc = convert_request(c, &list[i].cache->log, tt_node_cache_fetch, list[i].cache,
                             list[i].entry, e);
    c->applied = n;
    free(list);
    return rc;
}

/* What is in DST need not be spared any more, if that is whole. */
static void mark_converted(const struct conversion *c)
{
    struct tt_error ignored = TT_ERROR_CLEAR;

    if (!c->cached || c->missing[0] || c->spared)
        return;
    for (size_t i = 0; i < c->ncaches; i++)
        if (tt_node_cache_set_converted(c->caches[i].path, &ignored) != TT_OK)
            tt_notice("'%s' cannot be changed, so tutti clean will spare it", c->caches[i].path);
    /* The mark stays: the target itself is no more whole than before. */
    if (getxattr(c->from, TT_NODE_CACHE_MARK, NULL, 0) >= 0 &&
        setxattr(c->from, TT_NODE_CACHE_CONVERTED, "yes", 3, 0) != 0)
        tt_notice("'%s' cannot be changed, so tutti clean may spare it", c->from);
}

/* Whether both were written to a file of the same form by the same ranks. */
static bool are_alike(const struct tt_node_cache *a, const struct tt_node_cache *b)
{
    bool alike = a->head.ranks == b->head.ranks && a->head.local == b->head.local &&
                 a->log.block == b->log.block && a->log.policy == b->log.policy &&
                 a->log.nvariables == b->log.nvariables;

    for (unsigned i = 0; alike && i < a->log.nvariables; i++)
        alike = a->log.variables[i].bytes == b->log.variables[i].bytes &&
                a->log.variables[i].per_step == b->log.variables[i].per_step;
    return alike;
}

static int add_cache(struct conversion *c, const char *path, struct tt_error *e)
{
    struct tt_node_cache *grown, *now;
    int rc = tt_node_cache_check_ended(path, e);

    if (rc != TT_OK)
        return rc;
    grown = realloc(c->caches, (c->ncaches + 1) * sizeof *grown);
    if (!grown)
        return tt_fail_nomem(e, "the conversion");
    c->caches = grown;
    now = &grown[c->ncaches++];
    rc = tt_node_cache_load(path, now, e);
    now->log.path = now->path;
    c->spared = c->spared || now->log.fallen > 0;
    if (rc == TT_OK && strcmp(now->head.target, grown[0].head.target) != 0)
        rc = tt_fail(e, TT_FAILED, "'%s' belongs to '%s', but '%s' to '%s'; give those of one",
                     grown[0].path, grown[0].head.target, path, now->head.target);
    if (rc == TT_OK && !are_alike(&grown[0], now))
        rc = tt_fail(e, TT_CORRUPT,
                     "'%s' and '%s' are not of one run: ranks, variables or blocks differ",
                     grown[0].path, path);
    return rc;
}

static int add_directory(struct conversion *c, const char *directory, const char *target,
                         struct tt_error *e)
{
    char **list;
    size_t n;
    int rc = tt_node_cache_list(directory, target, &list, &n, e);

    for (size_t i = 0; i < n; i++) {
        if (rc == TT_OK)
            rc = add_cache(c, list[i], e);
        free(list[i]);
    }
    free(list);
    return rc;
}

/* The caches that were given may be copies: those that the ranks use tell whether these run. */
static int check_originals(const struct conversion *c, struct tt_error *e)
{
    char directory[PATH_MAX], **list;
    int rc = TT_OK;
    bool local;
    size_t n;

    if (!tt_node_cache_mark(c->from, directory, &local) || access(directory, F_OK) != 0)
        return TT_OK;
    rc = tt_node_cache_list(directory, c->from, &list, &n, e);
    for (size_t i = 0; i < n; i++) {
        if (rc == TT_OK)
            rc = tt_node_cache_check_ended(list[i], e);
        free(list[i]);
    }
    free(list);
    return rc;
}

static int find_caches(struct conversion *c, struct tt_error *e)
{
    char directory[PATH_MAX], *target;
    int rc;

    c->cached = tt_node_cache_mark(c->from, directory, &c->local);
    if (!c->cached || access(directory, F_OK) != 0)
        return TT_OK;
    target = realpath(c->from, NULL);
    rc = target ? add_directory(c, directory, target, e) : tt_fail_nomem(e, "a path");
    free(target);
    return rc;
}

/* A rank whose cache is here. */
struct holder {
    uint64_t rank;
    const char *path;
};

static int by_rank(const void *a, const void *b)
{
    const struct holder *x = a, *y = b;

    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* "ranks 1, 3-5 of 8": those that have a cache are counted in each of them, once all know. */
static void name_missing(struct conversion *c, const struct holder *list, size_t n)
{
    const uint64_t ranks = c->caches[0].head.ranks;
    uint64_t caches = ranks;
    char *text = c->missing, *end = text + sizeof c->missing;
    const char *before = ranks - n == 1 ? "rank " : "ranks ";
    uint64_t next = 0;

    for (size_t i = 0; i < c->ncaches; i++)
        if (c->caches[i].head.caches < caches)
            caches = c->caches[i].head.caches;
    if (n >= caches)
        return;
    for (size_t i = 0; i <= n && next < ranks && end - text > 90; i++) {
        uint64_t rank = i < n && list[i].rank < ranks ? list[i].rank : ranks;

        if (rank > next) {
            text += snprintf(text, (size_t)(end - text), "%s%" PRIu64, before, next);
            before = ", ";
        }
        if (rank > next + 1)
            text += snprintf(text, (size_t)(end - text), "-%" PRIu64, rank - 1);
        next = rank + 1;
    }
    text +=
        snprintf(text, (size_t)(end - text), "%s of %" PRIu64, next < ranks ? ", ..." : "", ranks);
    if (caches < ranks)
        snprintf(text, (size_t)(end - text), ", of which %" PRIu64 " made one", caches - n);
}

/* All ranks of the target, each once; and the target is the one that they belong to. */
static int check_caches(struct conversion *c, struct tt_error *e)
{
    struct holder *list = calloc(c->ncaches + 1, sizeof *list);
    size_t n = list ? c->ncaches : 0;
    int rc = list ? TT_OK : tt_fail_nomem(e, "the conversion");
    struct stat st;

    for (size_t i = 0; i < n; i++)
        list[i] = (struct holder){c->caches[i].head.rank, c->caches[i].path};
    if (rc == TT_OK && stat(c->from, &st) != 0)
        rc = tt_fail_call(e, errno, "open", c->from, -1);
    for (size_t i = 0; rc == TT_OK && i < c->ncaches; i++)
        if (c->caches[i].head.inode != st.st_ino)
            rc = tt_fail(e, TT_FAILED,
                         "'%s' belongs to another file than the one that is at '%s' now",
                         c->caches[i].path, c->from);
    if (rc == TT_OK)
        qsort(list, n, sizeof *list, by_rank);
    for (size_t i = 1; rc == TT_OK && i < n; i++)
        if (list[i].rank == list[i - 1].rank)
            rc = tt_fail(e, TT_FAILED, "'%s' and '%s' are both of rank %" PRIu64, list[i - 1].path,
                         list[i].path, list[i].rank);
    /* What others than local syncs have acknowledged is in the target. */
    if (rc == TT_OK && c->ncaches == 0 && c->local)
        snprintf(c->missing, sizeof c->missing, "all ranks");
    else if (rc == TT_OK && c->ncaches > 0 && c->caches[0].head.local)
        name_missing(c, list, n);
    free(list);
    return rc;
}

/* What was acknowledged may be in a cache that is not here. */
static int check_missing(const struct conversion *c, struct tt_error *e)
{
    char directory[PATH_MAX];
    bool local, marked = tt_node_cache_mark(c->from, directory, &local);

    if (!c->missing[0] || c->partial)
        return TT_OK;
    return tt_fail(e, TT_FAILED,
                   "'%s' cannot be made whole: the caches of %s are not here%s%s%s; give those of "
                   "all nodes, or take what is here with --partial",
                   c->from, c->missing, marked ? " (rank 0 had its own in '" : "", directory,
                   marked ? "')" : "");
}

static bool is_cache(const char *path)
{
    char start[16] = "";
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    bool is = fd >= 0 && read(fd, start, sizeof start) == (ssize_t)sizeof start &&
              tt_node_cache_begins(start, sizeof start);

    if (fd >= 0)
        close(fd);
    return is;
}

/* The sources are one target, or files and directories of caches, which name it. */
static int choose_sources(struct conversion *c, const char **words, size_t n, struct tt_error *e)
{
    struct stat st;
    int rc = TT_OK;

    c->from = words[0];
    if (n == 1 && !is_cache(words[0]) && (stat(words[0], &st) != 0 || !S_ISDIR(st.st_mode)))
        rc = find_caches(c, e);
    else
        for (size_t i = 0; rc == TT_OK && i < n; i++)
            rc = stat(words[i], &st) == 0 && S_ISDIR(st.st_mode)
                     ? add_directory(c, words[i], NULL, e)
                     : add_cache(c, words[i], e);
    if (rc == TT_OK && c->ncaches == 0 && stat(words[0], &st) == 0 && S_ISDIR(st.st_mode))
        rc = tt_fail(e, TT_FAILED,
                     "'%s' is not a file, and has no cache that names a target; give the target",
                     words[0]);
    if (rc == TT_OK && c->ncaches > 0) {
        c->from = c->caches[0].head.target;
        c->cached = true;
        rc = check_originals(c, e);
    }
    if (rc == TT_OK && c->cached)
        rc = check_caches(c, e);
    if (rc == TT_OK)
        rc = check_missing(c, e);
    c->log.path = c->from;
    return rc;
}

/* DST while it is not whole: a handler of signals takes it away. */
static char part[PATH_MAX];

static void end_early(int number)
{
    unlink(part);
    signal(number, SIG_DFL);
    raise(number);
}

static void handle_signals(void (*handler)(int))
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (signal(ends[i], handler) == SIG_IGN)
            signal(ends[i], SIG_IGN);
}

/* It has its name once it is whole and in storage; and so has the name: clean may remove what it
 * was made of. */
static int name_target(struct conversion *c, struct tt_error *e)
{
    int why;

    if (tt_sys_move(part, c->to) != 0)
        return tt_fail_call(e, errno, "rename", c->to, -1);
    why = tt_sys_sync_name(c->to);
    if (why == EACCES) { /* of a directory that may be changed but not read */
        c->spared = true;
        tt_notice("'%s' is whole, but its directory may not be read and so not be synced: a loss "
                  "of power may lose it",
                  c->to);
        return TT_OK;
    }
    if (!why)
        return TT_OK;
    unlink(c->to);
    return tt_fail_call(e, why, "fsync of the directory", c->to, -1);
}

/* What is there belongs to somebody; what was made here goes if it is not whole. */
static int make_target(struct conversion *c, struct tt_error *e)
{
    struct stat st;
    int rc = TT_OK;

    if (lstat(c->to, &st) == 0)
        return tt_fail_call(e, EEXIST, "open", c->to, -1);
    if (snprintf(part, sizeof part, "%s.part", c->to) >= PATH_MAX)
        return tt_fail_call(e, ENAMETOOLONG, "open", c->to, -1);
    c->out = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (c->out < 0)
        return tt_fail_call(e, errno, "open", part, -1);
    handle_signals(end_early);
    if (!c->is_log)
        rc = copy_container(c, e);
    for (size_t i = 0; rc == TT_OK && i < c->log.n; i++)
        rc = convert_request(c, &c->log, fetch, c, &c->log.entries[i], e);
    if (rc == TT_OK && c->ncaches > 0)
        rc = apply_caches(c, e);
    if (rc == TT_OK && fsync(c->out) != 0)
        rc = tt_fail_call(e, errno, "fsync", c->to, -1);
    if (close(c->out) != 0 && rc == TT_OK)
        rc = tt_fail_call(e, errno, "close", c->to, -1);
    if (rc == TT_OK)
        rc = name_target(c, e);
    if (rc != TT_OK)
        unlink(part);
    handle_signals(SIG_DFL);
    return rc;
}

static void print_done(const struct conversion *c)
{
    /* Then the caches have what was acknowledged and the target lacks. */
    bool complete = c->ncaches > 0 && c->caches[0].head.local && !c->missing[0];
    char line[2 * PATH_MAX + 512], bytes[TT_UNIT_TEXT], size[TT_UNIT_TEXT], replaced[96] = "";
    struct stat st = {0};

    tt_format_bytes((double)c->bytes, bytes);
    tt_format_bytes(stat(c->to, &st) == 0 ? (double)st.st_size : 0, size);
    if (c->bytes > (uint64_t)st.st_size)
        snprintf(replaced, sizeof replaced, " (%s, later requests replace earlier ones)", bytes);
    if (c->is_log)
        snprintf(line, sizeof line, "%s: %s, from %zu requests of %llu ranks%s", c->to, size,
                 c->log.n, (unsigned long long)c->log.ranks, replaced);
    else
        snprintf(line, sizeof line, "%s: %s, from %llu subfiles", c->to, size,
                 (unsigned long long)c->set.n);
    if (c->cached)
        snprintf(line, sizeof line,
                 "%s: %s, from '%s' and %llu request%s of the caches of %zu rank%s%s%s", c->to,
                 size, c->from, (unsigned long long)c->applied, c->applied == 1 ? "" : "s",
                 c->ncaches, c->ncaches == 1 ? "" : "s",
                 c->missing[0] ? "; partial, without the caches of " : "", c->missing);
    tt_disarm(line);
    puts(line);
    for (size_t i = 0; i < c->ncaches; i++)
        if (c->caches[i].log.fallen > 0)
            tt_notice("'%s': the newest state of rank %" PRIu64 " is damaged, and an older one was "
                      "taken; what it acknowledged since may be missing, so tutti clean spares "
                      "'%s' and its caches",
                      c->caches[i].path, c->caches[i].head.rank, c->from);
    if (c->cached && c->log.fallen > 0)
        tt_notice("'%s': the newest state of %" PRIu64 " of its %" PRIu64 " ranks is damaged, and "
                  "an older one was taken; what was moved there since may be missing, so tutti "
                  "clean spares it and its caches",
                  c->from, c->log.fallen, c->log.ranks);
    if (c->set.n > 0 && !c->set.closed && !c->is_log && !complete)
        tt_notice("'%s' was not closed: what was written after its last sync may be missing",
                  c->from);
    if (c->log.unclosed > 0 && !complete)
        tt_notice("%llu of %llu ranks have not closed '%s': what they wrote after their last whole "
                  "sync is missing",
                  (unsigned long long)c->log.unclosed, (unsigned long long)c->log.ranks, c->from);
}

static int run(struct tt_invocation *call, struct tt_error *e)
{
    const struct convert *o = call->opts;
    struct conversion c = {.in = -1, .partial = o->partial};
    char start[8];
    int rc;

    if (call->nwords < 2)
        return tt_fail(e, TT_USAGE, "convert needs two files: the one to be read and a new one");
    c.to = call->words[call->nwords - 1];
    rc = choose_sources(&c, call->words, call->nwords - 1, e);
    if (rc == TT_OK)
        rc = check_source(&c, e);
    if (rc == TT_OK)
        rc = fetch(&c, TT_OK, 1, &(struct tt_run){0, sizeof start}, start, e);
    c.is_log = rc == TT_OK && tt_log_begins(start);
    if (rc == TT_OK && c.set.n == 0 && !c.cached && !c.is_log) /* else it may hold anything */
        rc = tt_fail(e, TT_CORRUPT,
                     "'%s' needs no conversion: it is a plain file, unless layer align wrote it or "
                     "it is a copy of a target of layer cache, whose mark a copy loses",
                     c.from);
    if (c.is_log)
        rc = tt_log_load(&c.log, c.size, true, fetch, &c, e);
    c.spared = c.spared || c.log.fallen > 0;
    if (rc == TT_OK && c.is_log)
        rc = describe(&c, &c.log, e);
    if (rc == TT_OK)
        rc = make_target(&c, e);
    if (rc == TT_OK) {
        mark_converted(&c);
        print_done(&c);
    }
    if (c.in >= 0)
        close(c.in);
    if (c.state)
        c.log.codec->end(c.state, true);
    tt_log_free(&c.log);
    free(c.base);
    free(c.variables);
    free(c.stored);
    free(c.unpacked);
    for (size_t i = 0; i < c.ncaches; i++)
        tt_node_cache_free(&c.caches[i]);
    free(c.caches);
    return rc;
}

const struct tt_command tt_command_convert = {
    .name = "convert",
    .summary = "make the plain file of one that layers wrote",
    .synopsis = "tutti convert SRC... DST [--partial]",
    .text =
        "Read SRC, which was written through the layers log, compress or subfile on posix, "
        "mmap, uring or mpiio, and make DST, byte for byte the file that posix writes without the "
        "layer. DST "
        "must not exist. If a run was killed, DST has what was written before the last sync. "
        "What was acknowledged and is still in caches of the layer cache is added: those on "
        "this node are found by SRC; give the files or directories of caches instead of SRC "
        "if they are elsewhere. The run must have ended. If caches are missing, nothing is made "
        "unless --partial is given.",
    .run = run,
    .options = &(const struct tt_options){params, sizeof(struct convert)},
    .max_words = TT_ANY_WORDS,
};
