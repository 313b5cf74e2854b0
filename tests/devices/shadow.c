/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A device for tests on machines without one. Its addresses have no access: whoever follows one
 * crashes. The device itself works through a second mapping of the same memory. Nothing that is
 * queued happens before somebody waits for it: whoever forgets to wait sees old data. Only copies
 * to memory of the host that is not pinned have happened when they return, as those of CUDA.
 *
 * Environment: SHADOW_MEMORY, bytes that it has (default: no limit); SHADOW_PEAK=FILE, the
 * most that were in use are left there; SHADOW_FAIL=N, the N-th copy
 * fails, SHADOW_LAUNCH=N, the N-th kernel, on rank SHADOW_RANK or on all; SHADOW_BLOCK=N, a copy of
 * N bytes or more for which the main thread would have to wait fails; SHADOW_DEVICES, how many
 * there are (default: 1); SHADOW_PART, each rank has a part of one; SHADOW_PLACES, what CPUs are
 * near each of them ("0-3:4-7"); SHADOW_MPI, MPI says that it takes their addresses; SHADOW_OPEN,
 * and so it can: everybody has access to them; SHADOW_WRONG, but not to what the device itself
 * sees; SHADOW_HANG, processes that would prove it hang; SHADOW_PROOF=FILE, they leave their
 * devices' numbers and MPI's level of threads there; SHADOW_UNPINNED, no memory can be pinned;
 * SHADOW_PITCH=N, copies whose rows are further than N bytes apart fail; SHADOW_USAGE=N, it is busy
 * and has N bytes in use when somebody looks for the first time, and is idle and empty later;
 * SHADOW_KERNELS, a directory with kernels that were compiled for the host (emulate.h): what it
 * does not have is done by the functions that stand for kernels; SHADOW_COMPARE, those do
 * everything once more, and have to do the same; SHADOW_LATE=kernels, one that was neither prepared
 * nor launched before the measured time fails; SHADOW_LATE=all, memory that is asked for then, too.
 */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "devices/device.h"
#include "io/file.h"
#include "io/module.h"

struct tt_device_event {
    uint64_t at; /* tasks of its stream before it */
    enum tt_device_stream stream;
    int64_t ns;
};

enum kind { COPY, CLEAR, LAUNCH, FOLLOW, RECORD };
struct task {
    struct task *next;
    enum kind kind;
    struct tt_device_copy copy;
    const struct tt_kernel *kernel;
    struct tt_kernel_grid how;
    void *arguments;
    void *data;
    size_t bytes;
    uint64_t at;
    struct tt_device_event *event;
    enum tt_device_stream stream; /* of the event that it follows */
};

struct stream {
    struct task *first, *last;
    uint64_t queued, done;
};

struct piece {
    struct piece *next;
    char *address, *shadow; /* what others have, and where the device works */
    size_t bytes;
};

struct shadow {
    pthread_mutex_t lock;
    struct stream streams[TT_NSTREAMS];
    struct piece *pieces;
    struct piece *pinned; /* of the host's memory: they have no shadow */
    size_t used, most;
    long copies, launches, looks;
    const struct tt_kernel *known[64];
};

/* ---- memory ---- */

static size_t pages(size_t bytes)
{
    return (bytes + 4095) / 4096 * 4096 + 4096; /* and one that nobody has */
}

static long setting(const char *name, long otherwise)
{
    const char *text = getenv(name);

    return text ? strtol(text, NULL, 10) : otherwise;
}

/* Of what should have been made before the measured time. */
static bool is_late(const struct tt_device *d, bool kernel)
{
    const char *late = getenv("SHADOW_LATE");

    return d->timed && late && (kernel || !strcmp(late, "all"));
}

static int fail_late(const struct tt_device *d, const char *what, struct tt_error *e)
{
    return tt_fail(e, TT_FAILED, "device %u (%s): %s is made in the measured time", d->number,
                   d->name, what);
}

static int shadow_prepare(struct tt_device *d, const struct tt_kernel *kernel, struct tt_error *e)
{
    struct shadow *s = d->state;
    unsigned i = 0;

    while (i < sizeof s->known / sizeof *s->known && s->known[i] && s->known[i] != kernel)
        i++;
    if (i == sizeof s->known / sizeof *s->known)
        return tt_fail(e, TT_FAILED, "too many kernels");
    if (!s->known[i] && is_late(d, true))
        return fail_late(d, kernel->name, e);
    s->known[i] = kernel;
    return TT_OK;
}

static int shadow_allocate(struct tt_device *d, size_t bytes, void **out, struct tt_error *e)
{
    struct shadow *s = d->state;
    struct piece *p = calloc(1, sizeof *p);
    int fd = memfd_create("shadow", MFD_CLOEXEC);

    if (is_late(d, false)) {
        free(p);
        close(fd);
        return fail_late(d, "memory", e);
    }
    if (setting("SHADOW_MEMORY", 0) && s->used + bytes > (size_t)setting("SHADOW_MEMORY", 0)) {
        free(p);
        close(fd);
        return tt_fail(e, TT_NOMEM, "device %u (%s) has no %zu bytes left", d->number, d->name,
                       bytes);
    }
    if (!p || fd < 0 || ftruncate(fd, (off_t)pages(bytes)) != 0)
        return tt_fail_nomem(e, "a shadow");
    p->bytes = bytes;
    p->address =
        mmap(NULL, pages(bytes), getenv("SHADOW_OPEN") ? PROT_READ | PROT_WRITE : PROT_NONE,
             MAP_SHARED, fd, 0);
    p->shadow = mmap(NULL, pages(bytes), PROT_READ | PROT_WRITE,
                     getenv("SHADOW_WRONG") ? MAP_PRIVATE : MAP_SHARED, fd, 0);
    close(fd);
    if (p->address == MAP_FAILED || p->shadow == MAP_FAILED)
        return tt_fail_nomem(e, "a shadow");
    memset(p->shadow, 0xee, bytes); /* what nobody has written is no zero */
    pthread_mutex_lock(&s->lock);
    p->next = s->pieces;
    s->pieces = p;
    s->used += bytes;
    s->most = s->used > s->most ? s->used : s->most;
    pthread_mutex_unlock(&s->lock);
    *out = p->address;
    return TT_OK;
}

static void shadow_release(struct tt_device *d, void *data)
{
    struct shadow *s = d->state;

    pthread_mutex_lock(&s->lock);
    for (struct piece **p = &s->pieces, *gone; (gone = *p); p = &gone->next)
        if (gone->address == data) {
            *p = gone->next;
            s->used -= gone->bytes;
            munmap(gone->address, pages(gone->bytes));
            munmap(gone->shadow, pages(gone->bytes));
            free(gone);
            break;
        }
    pthread_mutex_unlock(&s->lock);
}

/* The device's own view of an address; anything else is the host's, or a bug. */
static char *translate(const struct shadow *s, const void *address)
{
    for (const struct piece *p = s->pieces; p; p = p->next)
        if ((const char *)address >= p->address && (const char *)address < p->address + p->bytes)
            return p->shadow + ((const char *)address - p->address);
    return NULL;
}

static int shadow_pin(struct tt_device *d, size_t bytes, void **out, struct tt_error *e)
{
    struct shadow *s = d->state;
    struct piece *p = calloc(1, sizeof *p);

    if (is_late(d, false)) {
        free(p);
        return fail_late(d, "pinned memory", e);
    }
    *out = getenv("SHADOW_UNPINNED") ? NULL : aligned_alloc(4096, pages(bytes));
    if (!p || !*out) {
        free(p);
        return tt_fail_nomem(e, "pinned memory");
    }
    pthread_mutex_lock(&s->lock);
    *p = (struct piece){.next = s->pinned, .address = *out, .bytes = bytes};
    s->pinned = p;
    pthread_mutex_unlock(&s->lock);
    return TT_OK;
}

static void shadow_unpin(struct tt_device *d, void *data)
{
    struct shadow *s = d->state;

    pthread_mutex_lock(&s->lock);
    for (struct piece **p = &s->pinned, *gone; (gone = *p); p = &gone->next)
        if (gone->address == data) {
            *p = gone->next;
            free(gone);
            break;
        }
    pthread_mutex_unlock(&s->lock);
    free(data);
}

static bool is_pinned(struct shadow *s, const char *data)
{
    bool found = false;

    pthread_mutex_lock(&s->lock);
    for (const struct piece *p = s->pinned; p && !found; p = p->next)
        found = data >= p->address && data < p->address + p->bytes;
    pthread_mutex_unlock(&s->lock);
    return found;
}

/* ---- what was queued ---- */

/* Whether another stream has still to clear this memory: nothing says which comes first. */
static bool will_be_cleared(const struct shadow *s, const char *to)
{
    for (int i = 0; i < TT_NSTREAMS; i++) {
        const struct task *t = s->streams[i].first;

        for (uint64_t n = s->streams[i].done; t && n < s->streams[i].queued; n++, t = t->next)
            if (t->kind == CLEAR && to >= (char *)t->data && to < (char *)t->data + t->bytes)
                return true;
    }
    return false;
}

static void do_copy(const struct shadow *s, const struct tt_device_copy *c)
{
    char *to = translate(s, c->to);
    const char *from = translate(s, c->from);

    if ((c->direction != TT_FROM_DEVICE) != (to != NULL) ||
        (c->direction != TT_TO_DEVICE) != (from != NULL))
        abort(); /* an address on the wrong side */
    if (c->direction == TT_TO_DEVICE && will_be_cleared(s, c->to))
        abort();
    to = to ? to : c->to;
    from = from ? from : c->from;
    for (size_t z = 0; z < c->depth; z++)
        for (size_t y = 0; y < c->height; y++)
            memcpy(to + z * c->to_slice + y * c->to_row, from + z * c->from_slice + y * c->from_row,
                   c->width);
}

/* The kernel itself; false: it is not there. The library has the name of its text. */
static bool do_emulated(const struct task *t)
{
    const char *directory = getenv("SHADOW_KERNELS");
    bool (*run)(const void *arguments, size_t size, const unsigned *grid, const unsigned *block);
    char path[512], name[64];
    void *library = NULL;
    Dl_info text;

    if (directory && dladdr(t->kernel->source, &text) && text.dli_sname) {
        snprintf(path, sizeof path, "%s/%s.so", directory, text.dli_sname);
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!library && access(path, F_OK) == 0) {
            fprintf(stderr, "shadow: %s\n", dlerror());
            abort();
        }
    }
    if (!library)
        return false;
    snprintf(name, sizeof name, "run_%s", t->kernel->name);
    *(void **)&run = dlsym(library, name);
    if (!run || !run(t->arguments, t->kernel->arguments_size, t->how.grid, t->how.block)) {
        fprintf(stderr, "shadow: kernel %s of %s has other arguments, or is not there\n",
                t->kernel->name, text.dli_sname);
        abort();
    }
    return true;
}

/* The functions that stand for kernels do the same to memory. */
static void do_both(const struct shadow *s, const struct task *t)
{
    char *before = malloc(s->used), *after = malloc(s->used);
    size_t at = 0;

    for (const struct piece *p = s->pieces; p; at += p->bytes, p = p->next)
        memcpy(before + at, p->shadow, p->bytes);
    if (do_emulated(t)) {
        at = 0;
        for (const struct piece *p = s->pieces; p; at += p->bytes, p = p->next) {
            memcpy(after + at, p->shadow, p->bytes);
            memcpy(p->shadow, before + at, p->bytes);
        }
    }
    t->kernel->by_host(t->arguments);
    at = 0;
    for (const struct piece *p = s->pieces; p; at += p->bytes, p = p->next)
        if (memcmp(after + at, p->shadow, p->bytes) != 0) {
            fprintf(stderr, "shadow: kernel %s is not what the host does\n", t->kernel->name);
            abort();
        }
    free(before);
    free(after);
}

static void do_launch(const struct shadow *s, struct task *t)
{
    for (unsigned i = 0; i < t->kernel->naddresses; i++) {
        void *address;

        memcpy(&address, (char *)t->arguments + t->kernel->addresses[i], sizeof address);
        if (address && !(address = translate(s, address)))
            abort(); /* the host's, or none */
        memcpy((char *)t->arguments + t->kernel->addresses[i], &address, sizeof address);
    }
    if (getenv("SHADOW_COMPARE") && getenv("SHADOW_KERNELS"))
        do_both(s, t);
    else if (!do_emulated(t))
        t->kernel->by_host(t->arguments);
}

/* All of a stream up to there, and what of others it has to follow. */
static void run(struct shadow *s, enum tt_device_stream stream, uint64_t until)
{
    struct stream *x = &s->streams[stream];

    while (x->done < until) {
        struct task *t = x->first;

        x->first = t->next;
        x->done++;
        if (t->kind == COPY)
            do_copy(s, &t->copy);
        else if (t->kind == CLEAR)
            memset(translate(s, t->data), 0, t->bytes);
        else if (t->kind == LAUNCH)
            do_launch(s, t);
        else if (t->kind == FOLLOW)
            run(s, t->stream, t->at);
        else
            t->event->ns = tt_now_ns();
        free(t->arguments);
        free(t);
    }
}

static int queue(struct tt_device *d, enum tt_device_stream stream, const struct task *like,
                 struct tt_error *e)
{
    struct shadow *s = d->state;
    struct stream *x = &s->streams[stream];
    struct task *t = malloc(sizeof *t);

    if (!t)
        return tt_fail_nomem(e, "a task");
    *t = *like;
    t->next = NULL;
    pthread_mutex_lock(&s->lock);
    *(x->done < x->queued ? &x->last->next : &x->first) = t;
    x->last = t;
    x->queued++;
    if (t->kind == RECORD) {
        t->event->stream = stream;
        t->event->at = x->queued;
    }
    pthread_mutex_unlock(&s->lock);
    return TT_OK;
}

static int shadow_drain(struct tt_device *d, enum tt_device_stream stream, struct tt_error *e)
{
    struct shadow *s = d->state;

    (void)e;
    pthread_mutex_lock(&s->lock);
    run(s, stream, s->streams[stream].queued);
    pthread_mutex_unlock(&s->lock);
    return TT_OK;
}

/* Whether this one, counted by n, was told to fail. */
static bool is_told(const char *setting_name, long *n)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");

    return __atomic_add_fetch(n, 1, __ATOMIC_RELAXED) == setting(setting_name, 0) &&
           (!rank || !getenv("SHADOW_RANK") || !strcmp(rank, getenv("SHADOW_RANK")));
}

static int shadow_copy(struct tt_device *d, enum tt_device_stream stream,
                       const struct tt_device_copy *copy, struct tt_error *e)
{
    struct shadow *s = d->state;
    bool blocks = copy->direction == TT_FROM_DEVICE && !is_pinned(s, copy->to);
    size_t bytes = copy->width * copy->height * copy->depth;
    int rc;

    if (is_told("SHADOW_FAIL", &s->copies))
        return tt_fail(e, TT_FAILED, "device %u (%s): this copy was told to fail", d->number,
                       d->name);
    if (d->longest_row > 0 && copy->height * copy->depth > 1 &&
        (copy->to_row > d->longest_row || copy->from_row > d->longest_row))
        return tt_fail(e, TT_FAILED, "device %u (%s): the rows of a copy are too far apart",
                       d->number, d->name);
    if (blocks && setting("SHADOW_BLOCK", 0) && bytes >= (size_t)setting("SHADOW_BLOCK", 0) &&
        getpid() == gettid())
        return tt_fail(e, TT_FAILED,
                       "device %u (%s): the main thread waits for a copy of %zu bytes", d->number,
                       d->name, bytes);
    rc = queue(d, stream, &(struct task){.kind = COPY, .copy = *copy}, e);
    return rc == TT_OK && blocks ? shadow_drain(d, stream, e) : rc;
}

static int shadow_clear(struct tt_device *d, enum tt_device_stream stream, void *data, size_t bytes,
                        struct tt_error *e)
{
    return queue(d, stream, &(struct task){.kind = CLEAR, .data = data, .bytes = bytes}, e);
}

static int shadow_launch(struct tt_device *d, enum tt_device_stream stream,
                         const struct tt_kernel *kernel, const struct tt_kernel_grid *how,
                         const void *arguments, struct tt_error *e)
{
    struct shadow *s = d->state;
    void *copy;

    if (is_told("SHADOW_LAUNCH", &s->launches))
        return tt_fail(e, TT_FAILED, "device %u (%s): kernel %s was told to fail", d->number,
                       d->name, kernel->name);
    for (int i = 0; i < 3; i++)
        if (how->grid[i] == 0 || how->block[i] == 0)
            return tt_fail(e, TT_FAILED, "kernel %s is launched with no thread", kernel->name);
    if (shadow_prepare(d, kernel, e) != TT_OK)
        return e->code;
    copy = malloc(kernel->arguments_size);
    if (!copy)
        return tt_fail_nomem(e, "a task");
    memcpy(copy, arguments, kernel->arguments_size);
    return queue(d, stream,
                 &(struct task){.kind = LAUNCH, .kernel = kernel, .how = *how, .arguments = copy},
                 e);
}

/* ---- events ---- */

static int shadow_make_event(struct tt_device *d, struct tt_device_event **out, struct tt_error *e)
{
    (void)d;
    *out = calloc(1, sizeof **out);
    return *out ? TT_OK : tt_fail_nomem(e, "an event");
}

static void shadow_free_event(struct tt_device *d, struct tt_device_event *event)
{
    (void)d;
    free(event);
}

static int shadow_record(struct tt_device *d, struct tt_device_event *event,
                         enum tt_device_stream stream, struct tt_error *e)
{
    return queue(d, stream, &(struct task){.kind = RECORD, .event = event}, e);
}

static int shadow_follow(struct tt_device *d, enum tt_device_stream stream,
                         struct tt_device_event *event, struct tt_error *e)
{
    return queue(d, stream,
                 &(struct task){.kind = FOLLOW, .at = event->at, .stream = event->stream}, e);
}

static int shadow_await(struct tt_device *d, struct tt_device_event *event, struct tt_error *e)
{
    struct shadow *s = d->state;

    (void)e;
    pthread_mutex_lock(&s->lock);
    run(s, event->stream, event->at);
    pthread_mutex_unlock(&s->lock);
    return TT_OK;
}

static int shadow_elapsed(struct tt_device *d, struct tt_device_event *from,
                          struct tt_device_event *to, double *seconds, struct tt_error *e)
{
    (void)d;
    *seconds = tt_seconds(to->ns - from->ns);
    return from->ns && to->ns ? TT_OK : tt_fail(e, TT_FAILED, "an event has not happened yet");
}

/* ---- the rest ---- */

static int shadow_count(const void *opts, unsigned *n, struct tt_error *e)
{
    (void)opts;
    *n = (unsigned)setting("SHADOW_DEVICES", 1);
    return *n ? TT_OK : tt_fail(e, TT_UNSUPPORTED, "device shadow: there is none");
}

static void shadow_place(const void *opts, unsigned number, char out[TT_DEVICE_PLACE])
{
    const char *places = getenv("SHADOW_PLACES");

    (void)opts;
    for (; places && number > 0; number--)
        places = strchr(places, ':') ? strchr(places, ':') + 1 : NULL;
    snprintf(out, TT_DEVICE_PLACE, "%.*s", places ? (int)strcspn(places, ":") : 0, places);
}

static bool shadow_mpi_says(void)
{
    return getenv("SHADOW_MPI") != NULL;
}

static int shadow_open(struct tt_device *d, struct tt_error *e)
{
    const char *proof = getenv("OMPI_MCA_plm") ? getenv("SHADOW_PROOF") : NULL;
    FILE *f = proof ? fopen(proof, "a") : NULL;
    int (*ask)(int *level), level = -1;
    struct shadow *s = d->state;

    (void)e;
    *(void **)&ask = dlsym(RTLD_DEFAULT, "MPI_Query_thread");
    if (f) {
        if (ask)
            ask(&level);
        fprintf(f, "%u:%d\n", d->number, level);
        fclose(f);
    }
    while (getenv("SHADOW_HANG") && getenv("OMPI_MCA_plm")) /* which a proof has */
        pause();
    pthread_mutex_init(&s->lock, NULL);
    snprintf(d->name, sizeof d->name, "shadow");
    snprintf(d->caution, sizeof d->caution, "they take turns");
    d->multiprocessors = 4;
    d->longest_row = (size_t)setting("SHADOW_PITCH", 0);
    d->is_part = getenv("SHADOW_PART");
    d->id = d->is_part && getenv("OMPI_COMM_WORLD_RANK")
                ? strtoull(getenv("OMPI_COMM_WORLD_RANK"), NULL, 10)
                : d->number;
    return TT_OK;
}

/* Nothing may be left: the sanitizers find it. */
static void shadow_close(struct tt_device *d)
{
    struct shadow *s = d->state;
    FILE *f = getenv("SHADOW_PEAK") ? fopen(getenv("SHADOW_PEAK"), "a") : NULL;

    if (f) {
        fprintf(f, "%zu\n", s->most);
        fclose(f);
    }
    for (int i = 0; i < TT_NSTREAMS; i++)
        run(s, (enum tt_device_stream)i, s->streams[i].queued);
    pthread_mutex_destroy(&s->lock);
}

static void shadow_usage(struct tt_device *d, struct tt_device_usage *out)
{
    struct shadow *s = d->state;
    bool first = s->looks++ == 0;

    *out = (struct tt_device_usage){.utilisation = NAN};
    if (getenv("SHADOW_USAGE"))
        *out = (struct tt_device_usage){first, first ? (uint64_t)setting("SHADOW_USAGE", 0) : 1};
}

static int shadow_query(struct tt_device *d, struct tt_facts *facts, struct tt_error *e)
{
    if (tt_facts_add(facts, "shadow.device", NULL, d->name, TT_IN_EFFECT, "") != TT_OK)
        return tt_fail_nomem(e, "facts");
    return TT_OK;
}

extern const struct tt_device_type tt_device_shadow;
const struct tt_device_type tt_device_shadow = {
    .name = "shadow",
    .summary = "for tests: memory that only it can reach",
    .state_size = sizeof(struct shadow),
    .count = shadow_count,
    .place = shadow_place,
    .open = shadow_open,
    .close = shadow_close,
    .allocate = shadow_allocate,
    .release = shadow_release,
    .pin = shadow_pin,
    .unpin = shadow_unpin,
    .clear = shadow_clear,
    .copy = shadow_copy,
    .launch = shadow_launch,
    .prepare = shadow_prepare,
    .make_event = shadow_make_event,
    .free_event = shadow_free_event,
    .record = shadow_record,
    .follow = shadow_follow,
    .await = shadow_await,
    .drain = shadow_drain,
    .elapsed = shadow_elapsed,
    .mpi_says = shadow_mpi_says,
    .usage = shadow_usage,
    .query = shadow_query,
};
TT_MODULE(.device = &tt_device_shadow);
