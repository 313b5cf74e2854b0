/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A request layer: a write goes to storage of the node and returns, and a thread moves it to the
 * target (io/layers/cache/jobs.c). What is read of a file that is only read is kept there, too, for
 * all ranks of the node, and the next step is read ahead.
 *
 * What does not fit goes through: the caller waits until the mover has come to it. So does all of
 * it after the node's storage has failed; what was only there and cannot be read is an error.
 *
 * A file that is being written is read from the target, after all that was written has been moved
 * there. Left out: keeping what was written for readers after the close, reading ahead in a series
 * of a file per step, changing a file that is there (TT_UPDATE), and blocks of other records in
 * memory. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <xxhash.h>

#include "base/agree.h"
#include "base/sys.h"
#include "io/calls.h"
#include "io/disk.h"
#include "io/layers/cache/parts.h"
#include "spec/units.h"

static const char *const sync_names[] = {
    [CACHE_SYNC_TARGET] = "target", [CACHE_SYNC_LOCAL] = "local", NULL};
static const char *const close_names[] = {
    [CACHE_CLOSE_WAIT] = "wait", [CACHE_CLOSE_RETURN] = "return", NULL};

#define AT(field) offsetof(struct cache_opts, field)
static const struct tt_param params[] = {
    {"dir", TT_PARAM_TEXT, AT(dir), NULL, NULL,
     "a directory on storage of each node, in which the run makes one of its own",
     .placeholder = "DIR"},
    {"size", TT_PARAM_BYTES, AT(size), "1g", "B",
     "bytes that all ranks of a node may have there; a write that finds no room waits until some "
     "was "
     "moved, and what never fits goes to the target itself",
     0, INT64_C(1) << 60},
    {"sync", TT_PARAM_CHOICE, AT(sync), "target", NULL,
     "what a sync waits for: data is durable in the target, or in the storage of the node",
     .choices = sync_names},
    {"close", TT_PARAM_CHOICE, AT(close), "wait", NULL,
     "wait: closing a file waits until all of it has been moved; return: the files of a series "
     "with a file per step are closed in the background, and the end of the series waits",
     .choices = close_names},
    {"read_ahead", TT_PARAM_BOOL, AT(read_ahead), "yes", NULL,
     "after a step was read, read the next one into the cache"},
    {NULL},
};

static int cache_check(const void *opts, struct tt_error *e)
{
    const struct cache_opts *o = opts;

    if (!o->dir || !o->dir[0])
        return tt_fail(e, TT_USAGE,
                       "layer cache needs cache.dir, a directory on storage of the node, such as "
                       "/dev/shm");
    return TT_OK;
}

static const char *cache_local(const void *opts)
{
    return ((const struct cache_opts *)opts)->dir;
}

static struct cache *cache_of(const struct tt_file *file)
{
    return *(struct cache **)file->state;
}

/* ---- files that are closed in the background ---- */

static struct {
    pthread_mutex_t lock;
    struct cache *first, *last;
    struct tt_cost costs[TT_MAX_STACK]; /* of those that are gone, */
    unsigned n;                         /* and of so many elements */
} closing = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void leave_closing(struct cache *c)
{
    pthread_mutex_lock(&closing.lock);
    *(closing.first ? &closing.last->next : &closing.first) = c;
    closing.last = c;
    pthread_mutex_unlock(&closing.lock);
}

static void add_closed(const struct cache *c)
{
    unsigned n = 1;

    for (const struct tt_file *x = c->top->below; x; x = x->below)
        n++;
    pthread_mutex_lock(&closing.lock);
    closing.n = n;
    closing.costs[0].beside_ns += c->busy_ns;
    closing.costs[0].threads_ns += c->busy_cpu_ns;
    tt_below_free(c->top, closing.costs + 1);
    pthread_mutex_unlock(&closing.lock);
}

static struct cache *take_closing(bool ended)
{
    struct cache *c;

    pthread_mutex_lock(&closing.lock);
    c = closing.first;
    if (c && ended && !tt__job_has_ended(&c->closing))
        c = NULL;
    if (c)
        closing.first = c->next;
    pthread_mutex_unlock(&closing.lock);
    return c;
}

/* All of them, or those that have ended. */
static int finish_closing(bool ended, struct tt_error *e)
{
    struct cache *c;
    int rc = TT_OK;

    while ((c = take_closing(ended))) {
        int now = tt__job_wait(&c->closing, e);

        rc = rc == TT_OK ? now : rc;
        add_closed(c);
        tt__cache_free(c);
    }
    return rc;
}

static int cache_settle(struct tt_cost *costs, struct tt_error *e)
{
    int rc = finish_closing(false, e);

    pthread_mutex_lock(&closing.lock);
    for (unsigned i = 0; costs && i < closing.n; i++)
        tt_cost_add(&costs[i], &closing.costs[i]);
    memset(closing.costs, 0, sizeof closing.costs);
    pthread_mutex_unlock(&closing.lock);
    return rc;
}

/* ---- opening ---- */

static int refuse_attributes(const char *path, struct tt_error *e)
{
    return tt_fail(e, TT_UNSUPPORTED,
                   "cache.sync local needs a file system that knows attributes: without them "
                   "nobody could tell after a crash that '%s' is not whole",
                   path);
}

/* Before the target is there: its directory tells. */
static int check_attributes(const struct tt_file *file, struct tt_error *e)
{
    const char *path = file->spec->path, *slash = strrchr(path, '/');
    char *directory = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    int rc = TT_OK;

    if (!directory)
        return tt_fail_nomem(e, "a path");
    if (getxattr(directory, TT_NODE_CACHE_MARK, NULL, 0) < 0 && errno == ENOTSUP)
        rc = refuse_attributes(path, e);
    free(directory);
    return rc;
}

/* Only what tutti convert can complete after a crash may be acknowledged before it is there. */
static int check_local(const struct tt_file *file, struct tt_error *e)
{
    const struct tt_file *x = file->below;
    bool convertible = true;

    for (; x->below; x = x->below)
        convertible = convertible && (x->backend->kind == TT_REQUEST_LAYER ||
                                      x->backend->caps & TT_CAP_CONVERTIBLE);
    if (convertible && x->backend->caps & TT_CAP_RAW)
        return check_attributes(file, e);
    return tt_fail(e, TT_UNSUPPORTED,
                   "cache.sync local needs a file that tutti convert can complete after a crash: "
                   "one of posix, mmap, uring or mpiio, alone or below log, compress or subfile");
}

static bool defines(const struct tt_file *file)
{
    while ((file = file->below))
        if (file->backend->define)
            return true;
    return false;
}

static int prepare(struct tt_file *file, struct cache *c, struct tt_error *e)
{
    const struct cache_opts *o = file->opts;
    const char *slash = file->directory ? strrchr(file->directory, '/') : NULL;
    const char *id = slash ? slash + 1 : file->directory ? file->directory : "alone";
    int rc = TT_OK;

    c->opts = o;
    c->top = file;
    c->below = file->below;
    c->rank = file->rank;
    c->size = file->size;
    c->writes = file->spec->access != TT_READ_ONLY;
    c->alone = file->size == 1 || file->spec->independent;
    c->defines = defines(file);
    c->spec = *file->spec;
    c->path = strdup(file->spec->path);
    c->spec.path = c->path;
    c->spec.in_helper = true;
    c->store.fd = -1;
    tt_error_clear(&c->error);
    pthread_mutex_init(&c->lock, NULL);
    pthread_mutex_init(&c->store.lock, NULL);
    c->closing = tt__job_of(c, CACHE_CLOSE, 0, NULL);
    if (!c->path)
        return tt_fail_nomem(e, "an open file");
    if (c->writes && o->sync == CACHE_SYNC_LOCAL)
        rc = check_local(file, e);
    return rc == TT_OK ? tt__store_open(&c->store, o, id, file->directory != NULL, file->rank, e)
                       : rc;
}

/* Before anything is acknowledged: after a loss of power tutti convert needs the target, and its
 * mark says that it is not whole. */
static int keep_mark(const char *path, struct tt_error *e)
{
    int rc = tt_disk_sync(path, e), why = rc == TT_OK ? tt_sys_sync_name(path) : 0;

    return why ? tt_fail_call(e, why, "fsync", path, -1) : rc;
}

/* What tells the content that is read from another one, and what tells others that this file is not
 * whole. */
static int look_at_target(struct cache *c, struct tt_error *e)
{
    const struct cache_opts *o = c->opts;
    struct stat st;

    c->versioned = stat(c->path, &st) == 0;
    if (c->versioned)
        c->version = (struct cache_version){st.st_dev, st.st_ino, (uint64_t)st.st_size,
                                            (uint64_t)st.st_mtim.tv_sec * 1000000000 +
                                                (uint64_t)st.st_mtim.tv_nsec,
                                            XXH3_64bits(c->path, strlen(c->path))};
    c->marked = c->writes && (o->sync == CACHE_SYNC_LOCAL || o->close == CACHE_CLOSE_RETURN);
    if (!c->marked || c->rank != 0)
        return TT_OK;
    if (tt_node_cache_set_mark(c->path, c->store.directory, c->store.local) != 0)
        /* unless local, only what nobody relies on may be missing */
        return c->store.local ? refuse_attributes(c->path, e) : TT_OK;
    return c->store.local ? keep_mark(c->path, e) : TT_OK;
}

/* A rank whose store cannot be used leaves no cache, and all that it writes goes to the target:
 * nobody shall look for that cache. If this cannot be told, all are looked for. */
static void tell_caches(struct tt_file *file, struct cache *c)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    int n = c->store.fd >= 0;
    MPI_Request request;

    if (file->size > 1) {
        MPI_Iallreduce(MPI_IN_PLACE, &n, 1, MPI_INT, MPI_SUM, file->spec->comm, &request);
        tt_file_wait_requests(file, 1, &request, MPI_STATUS_IGNORE);
    }
    if (n == 0 && file->rank == 0)
        tt_node_cache_set_mark(c->path, c->store.directory, false);
    if (n < file->size && c->store.fd >= 0)
        tt_node_cache_set_caches(c->store.fd, c->store.path, (uint64_t)n, &ignored);
}

/* Below, then the store: its file says which target it belongs to. */
static int open_both(struct tt_file *file, struct cache *c, struct tt_error *e)
{
    int rc;

    if (file->spec->comm != MPI_COMM_SELF)
        MPI_Comm_dup(file->spec->comm, &c->spec.comm);
    tt_calls_begin(c->path);
    rc = tt_file_agree(file, tt__job_call(c, CACHE_OPEN, 0, NULL, e), e);
    if (rc == TT_OK)
        rc = tt_file_agree(file, look_at_target(c, e), e);
    if (rc == TT_OK && c->writes)
        rc =
            tt_file_agree(file, tt__store_begin(&c->store, &c->spec, file->rank, file->size, e), e);
    if (rc == TT_OK && c->writes && c->store.local)
        tell_caches(file, c);
    return rc;
}

/* The mover has judged what is below; the spec goes with the cache. */
static void forget_spec(struct tt_file *file)
{
    for (struct tt_file *x = file->below; x; x = x->below)
        x->spec = NULL;
}

static int cache_open(struct tt_file *file, struct tt_error *e)
{
    struct cache *c = calloc(1, sizeof *c);
    struct tt_error ignored = TT_ERROR_CLEAR;
    int rc = c ? tt__mover_start(e) : tt_fail_nomem(e, "an open file");
    bool started = rc == TT_OK, agreed;

    if (started)
        rc = prepare(file, c, e);
    rc = tt_file_agree(file, rc, e);
    agreed = rc == TT_OK;
    if (agreed)
        rc = open_both(file, c, e);
    if (rc == TT_OK) {
        *(struct cache **)file->state = c;
        return TT_OK;
    }
    if (agreed) { /* all ranks know, and each that has opened the file below closes it */
        tt__job_submit(&c->closing);
        tt__job_wait(&c->closing, &ignored);
    } else if (started) {
        tt__store_close(&c->store, false);
    }
    forget_spec(file);
    if (started)
        tt__cache_free(c);
    else
        free(c);
    return rc;
}

/* ---- writing ---- */

static int cache_define(struct tt_file *file, uint64_t step, struct tt_error *e)
{
    struct cache *c = cache_of(file);

    if (!c->defines)
        return TT_OK;
    return c->writes ? tt__job_leave(c, CACHE_DEFINE, step, NULL, e)
                     : tt__job_call(c, CACHE_DEFINE, step, NULL, e);
}

/* Room in the store: what need not be there goes, then the caller waits for the mover. */
static bool make_room(struct cache *c, uint64_t bytes)
{
    struct cache_store *s = &c->store;

    tt__jobs_reap(c, false);
    while (!s->broken && tt__store_room(bytes) <= s->limit) {
        if (tt__store_reserve(s, bytes))
            return true;
        if (!tt__store_release(s, false) && !tt__piece_evict(s, bytes) && !tt__jobs_reap(c, true) &&
            !tt__store_release(s, true))
            return false;
    }
    return false;
}

/* False: there is no room, or no memory. */
static bool write_to_store(struct cache *c, uint64_t step, const struct tt_block *b, uint64_t bytes)
{
    struct cache_job *j;

    if (!make_room(c, bytes))
        return false;
    j = tt__job_make(c, CACHE_MOVE, step, b);
    if (j && tt__store_append(&c->store, &c->spec, step, c->calls, b, &j->position, &j->blocks)) {
        j->bytes = bytes;
        c->calls++;
        c->counts[CACHE_MOVED] += bytes;
        tt__job_submit(j);
        return true;
    }
    tt__store_unreserve(&c->store, bytes);
    if (j)
        tt__job_drop(j);
    return false;
}

static int write_through(struct cache *c, uint64_t step, const struct tt_block *b, uint64_t bytes,
                         struct tt_error *e)
{
    int rc;

    if (bytes > 0)
        tt__store_pass(&c->store, &c->spec, step, c->calls, b);
    rc = tt__job_call(c, CACHE_THROUGH, step, b, e);
    c->calls++;
    c->counts[CACHE_PASSED] += bytes;
    return rc;
}

/* A rank that moves nothing still makes the call below, for which it need not wait: others may be
 * in it, and a library may count the calls of a dump. */
static int write_nothing(struct cache *c, uint64_t step, const struct tt_block *b,
                         struct tt_error *e)
{
    struct tt_block none = *b;
    int rc;

    if (c->spec.independent)
        return TT_OK;
    none.file.kind = none.memory.kind = TT_SELECT_NONE;
    rc = tt__job_leave(c, CACHE_MOVE, step, &none, e);
    c->calls++;
    return rc;
}

static int cache_write(struct tt_file *file, uint64_t step, const struct tt_block *b,
                       struct tt_error *e)
{
    struct cache *c = cache_of(file);
    uint64_t bytes =
        tt_selection_count(&b->file) * file->spec->variables[b->variable].element->size;
    int rc = tt__cache_failure(c, e), now;

    if (rc != TT_OK || bytes == 0) {
        now = write_nothing(c, step, b, e);
        return rc == TT_OK ? now : rc;
    }
    if (write_to_store(c, step, b, bytes))
        return TT_OK;
    return write_through(c, step, b, bytes, e);
}

/* A sync of the store is one of the target in the background, after which the store need not keep
 * what was acknowledged. */
static int cache_sync(struct tt_file *file, struct tt_error *e)
{
    struct cache *c = cache_of(file);
    bool local = c->writes && c->store.local;
    int rc =
        local ? tt__job_leave(c, CACHE_SYNC, 0, NULL, e) : tt__job_call(c, CACHE_SYNC, 0, NULL, e);

    if (local && tt__store_acknowledge(&c->store, c->calls))
        return tt__cache_failure(c, e);
    if (local)
        tt__job_call(c, CACHE_NOTHING, 0, NULL, e);
    if (rc == TT_OK)
        rc = tt__cache_failure(c, e);
    if (rc == TT_OK)
        tt__store_is_below(&c->store);
    return rc;
}

/* ---- reading ---- */

/* Of a file that is being written: what any rank has written before comes first. */
static int read_written(struct tt_file *file, uint64_t step, const struct tt_block *b,
                        struct tt_error *e)
{
    struct cache *c = cache_of(file);
    size_t element_size = file->spec->variables[b->variable].element->size;
    bool covers = true;
    int rc = TT_OK, now;

    if (!c->alone) {
        now = tt__job_call(c, CACHE_NOTHING, 0, NULL, e);
        rc = tt_file_agree(file, now == TT_OK ? tt__cache_failure(c, e) : now, e);
    } else if (c->size > 1 && tt_selection_count(&b->file) > 0) {
        rc = tt__store_covers(&c->store, step, b, element_size, &covers, e);
    }
    if (rc == TT_OK && !covers)
        rc = tt_fail(e, TT_FAILED,
                     "'%s', variable '%s', step %llu: this rank has not written all that it reads; "
                     "what other ranks have in their caches is found once the file is opened again",
                     c->path, file->spec->variables[b->variable].path, (unsigned long long)step);
    if (rc != TT_OK && c->alone)
        return rc;
    now = tt__job_call(c, CACHE_READ, step, b, e);
    return rc == TT_OK ? now : rc;
}

/* The same selection of the next step, if it is there and not in the cache yet. */
static bool wants_ahead(const struct cache *c, uint64_t step, const struct tt_block *b,
                        char name[CACHE_NAME])
{
    const struct tt_variable *v = &c->spec.variables[b->variable];

    if (tt_selection_count(&b->file) == 0 || !c->versioned)
        return false;
    tt__piece_name(&c->version, step + 1, b, v->element->size, name);
    return !c->store.broken && !tt__piece_has(&c->store, name);
}

static void start_ahead(struct cache *c, uint64_t step, const struct tt_block *b, bool may)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    struct tt_block nothing = *b;
    char name[CACHE_NAME] = "";
    bool wants = may && wants_ahead(c, step, b, name);
    struct cache_job *j;

    if (c->alone && !wants)
        return;
    nothing.file.kind = nothing.memory.kind = TT_SELECT_NONE;
    tt__jobs_reap(c, false);
    j = tt__job_make(c, CACHE_READ_AHEAD, step + 1, wants ? b : &nothing);
    if (!j && !c->alone)
        tt__job_call(c, CACHE_READ_AHEAD, step + 1, &nothing, &ignored);
    if (!j)
        return;
    j->bytes =
        wants ? tt_selection_count(&b->file) * c->spec.variables[b->variable].element->size : 0;
    memcpy(j->name, name, sizeof name);
    tt__job_submit(j);
}

static void keep_piece(struct cache *c, const char *name, const struct tt_block *b,
                       size_t element_size)
{
    uint64_t bytes = tt_selection_count(&b->file) * element_size;
    struct tt_run run;
    char *packed;

    if (tt_selection_is_contiguous(&b->memory, &run)) {
        tt__piece_put(&c->store, name, (char *)b->data + run.start * element_size, bytes);
        return;
    }
    packed = malloc(bytes + 1);
    if (packed) {
        tt_block_pack(b, element_size, packed);
        tt__piece_put(&c->store, name, packed, bytes);
    }
    free(packed);
}

/* Where calls below are made together, all ranks make them as soon as one has to. */
static int cache_read(struct tt_file *file, uint64_t step, const struct tt_block *b,
                      struct tt_error *e)
{
    struct cache *c = cache_of(file);
    const struct tt_variable *v = &file->spec->variables[b->variable];
    uint64_t bytes = tt_selection_count(&b->file) * v->element->size;
    struct tt_block rest = *b;
    char name[CACHE_NAME];
    int missed = 0, below, rc = TT_OK;

    if (c->writes)
        return read_written(file, step, b, e);
    if (bytes > 0) {
        tt__piece_name(&c->version, step, b, v->element->size, name);
        missed = c->store.broken || !c->versioned ||
                 !tt__piece_get(&c->store, name, b, v->element->size);
        c->counts[missed ? CACHE_MISSED : CACHE_FOUND] += bytes;
    }
    if (!missed)
        rest.file.kind = rest.memory.kind = TT_SELECT_NONE;
    below = missed;
    if (!c->alone)
        tt_file_max(file, 1, &below);
    if (below)
        rc = tt__job_call(c, CACHE_READ, step, &rest, e);
    if (rc == TT_OK && missed && c->versioned)
        keep_piece(c, name, b, v->element->size);
    if (c->opts->read_ahead && v->per_step && c->spec.policy != TT_OVERWRITE &&
        step + 1 < c->spec.steps)
        start_ahead(c, step, b, rc == TT_OK);
    return rc;
}

/* ---- the end ---- */

static int cache_close(struct tt_file *file, struct tt_error *e)
{
    struct cache *c = cache_of(file);
    struct tt_file *top = NULL;
    int rc, now;

    if (c->writes && c->opts->close == CACHE_CLOSE_RETURN && file->spec->comm != MPI_COMM_SELF &&
        file->spec->steps == 1)
        top = tt_below_detach(file);
    if (top) {
        c->top = top;
        rc = finish_closing(true, e);
        now = tt__cache_failure(c, e);
        file->cost.beside_ns -= c->waited_ns;
        c->waited_ns = 0;
        tt__job_submit(&c->closing);
        leave_closing(c);
        return rc == TT_OK ? now : rc;
    }
    tt__job_submit(&c->closing);
    rc = tt__job_wait(&c->closing, e);
    file->cost.beside_ns += c->busy_ns - c->waited_ns;
    file->cost.threads_ns += c->busy_cpu_ns;
    forget_spec(file);
    tt__cache_free(c);
    return rc;
}

static void add_up(struct tt_file *file, uint64_t *counts)
{
    MPI_Request request;

    if (file->size == 1)
        return;
    MPI_Iallreduce(MPI_IN_PLACE, counts, CACHE_COUNTS, MPI_UINT64_T, MPI_SUM, file->spec->comm,
                   &request);
    tt_file_wait_requests(file, 1, &request, MPI_STATUS_IGNORE);
}

/* The elements below are asked next, by the caller: the mover rests meanwhile. */
static int cache_query(struct tt_file *file, struct tt_facts *facts, struct tt_error *e)
{
    struct cache *c = cache_of(file);
    char text[128], amounts[3][TT_UNIT_TEXT];
    uint64_t counts[CACHE_COUNTS];
    int64_t waited_ns = c->waited_ns; /* asking is no part of what calls took */
    int rc = tt__job_call(c, CACHE_NOTHING, 0, NULL, e);

    c->waited_ns = waited_ns;
    if (rc != TT_OK)
        return rc;
    c->counts[CACHE_BROKEN] = c->store.broken;
    memcpy(counts, c->counts, sizeof counts);
    add_up(file, counts);
    for (int i = 0; i < 3; i++)
        tt_format_bytes((double)counts[c->writes ? CACHE_MOVED + i : CACHE_FOUND + i], amounts[i]);
    if (c->writes)
        snprintf(text, sizeof text, "%s by the cache, %s past it", amounts[0], amounts[1]);
    else
        snprintf(text, sizeof text, "%s from the cache, %s not; %s read ahead", amounts[0],
                 amounts[1], amounts[2]);
    if (tt_facts_add(facts, c->writes ? "cache.written" : "cache.read", NULL, text, TT_IN_EFFECT,
                     "counted on all ranks, of one file") != TT_OK)
        return tt_fail_nomem(e, "facts");
    snprintf(text, sizeof text, "unusable on %llu of %d ranks",
             (unsigned long long)counts[CACHE_BROKEN], file->size);
    if (counts[CACHE_BROKEN] > 0 &&
        tt_facts_add(facts, "cache.dir", c->opts->dir, text, TT_NO_EFFECT,
                     "from the first call there that failed; the rank's stderr has it") != TT_OK)
        return tt_fail_nomem(e, "facts");
    return TT_OK;
}

const struct tt_backend tt_layer_cache = {
    .name = "cache",
    .summary = "writes go to storage of the node and are moved to the target in the background",
    .kind = TT_REQUEST_LAYER,
    .state_size = sizeof(struct cache *),
    .opts_size = sizeof(struct cache_opts),
    .params = params,
    .check = cache_check,
    .local = cache_local,
    .open = cache_open,
    .define = cache_define,
    .write = cache_write,
    .read = cache_read,
    .sync = cache_sync,
    .close = cache_close,
    .settle = cache_settle,
    .query = cache_query,
};
