/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/note.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"

#define MAGIC 0x746e6f74 /* "tont" */

_Thread_local _Atomic uint64_t *tt_note_place;

/* Process-wide, like what they tell of. */
static struct tt_note memory, *notes; /* notes: the memory, or the page of the file */
static int shared = -1;               /* the file */
static _Atomic uint32_t nfiles;
static pthread_mutex_t moving = PTHREAD_MUTEX_INITIALIZER;

static const char *const names[] = {
#define NAME(name, text) [TT_DOING_##name] = text,
    TT_DOINGS(NAME)
#undef NAME
};

/* A page each: on network file systems two nodes must not write to one. */
static size_t page_size(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (sizeof memory + page - 1) / page * page;
}

uint32_t tt_note_file(const char *path)
{
    size_t length = strlen(path), skipped = length < TT_NOTE_PATH ? 0 : length - TT_NOTE_PATH + 1;
    uint32_t number = ++nfiles & 0xffffff;

    if (!notes)
        return 0;
    notes->files[number % TT_NOTE_FILES].number = 0;
    memcpy(notes->files[number % TT_NOTE_FILES].path, path + skipped, length - skipped + 1);
    notes->files[number % TT_NOTE_FILES].number = number;
    return number;
}

/* ---- where they are ---- */

void tt_notes_begin(void)
{
    memory =
        (struct tt_note){.magic = MAGIC, .pid = (uint32_t)getpid(), .tasks = {(uint32_t)gettid()}};
    gethostname(memory.host, sizeof memory.host - 1);
    for (int i = 0; i < TT_NOTE_THREADS; i++)
        memory.places[i] = (uint64_t)TT_DOING_IDLE << 24;
    notes = &memory;
    tt_note_place = &notes->places[0];
}

/* Back to memory. */
static void leave_file(void)
{
    struct tt_note *page = notes;

    if (shared < 0)
        return;
    memcpy(&memory, page, sizeof memory);
    notes = &memory;
    munmap(page, page_size());
    close(shared);
    shared = -1;
}

void tt_notes_end(void)
{
    pthread_mutex_lock(&moving);
    leave_file();
    notes = NULL;
    tt_note_place = NULL;
    pthread_mutex_unlock(&moving);
}

static void note_as(int thread)
{
    tt_note_place = notes ? &notes->places[thread] : NULL;
    if (notes)
        notes->tasks[thread] = (uint32_t)gettid();
}

void tt_note_as_helper(void)
{
    note_as(1);
}

void tt_note_as_mover(void)
{
    note_as(2);
}

bool tt_note_main_is_at_work(void)
{
    enum tt_doing doing = notes ? notes->places[0] >> 24 & 0xff : TT_DOING_IDLE;

    return doing == TT_DOING_WORK || doing == TT_DOING_MESSAGE || doing == TT_DOING_DEVICE;
}

/* Written before it is mapped: a store to a page that finds no space ends the process. */
static struct tt_note *map(int fd, uint32_t rank)
{
    size_t size = page_size();
    off_t at = (off_t)(rank * size);
    char page[4096] = "";
    void *map;

    for (size_t done = 0; done < size; done += sizeof page)
        if (pwrite(fd, page, sizeof page, at + (off_t)done) != (ssize_t)sizeof page)
            return NULL;
    map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);
    return map == MAP_FAILED ? NULL : map;
}

void tt_notes_share(const char *path, uint32_t rank)
{
    struct tt_note *page;
    int fd;

    if (!notes)
        return;
    pthread_mutex_lock(&moving);
    leave_file();
    memory.rank = rank;
    fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    page = fd < 0 ? NULL : map(fd, rank);
    if (page) {
        memcpy(page, &memory, sizeof memory);
        notes = page;
        shared = fd;
    } else if (fd >= 0) {
        close(fd);
    }
    tt_note_place = &notes->places[0];
    pthread_mutex_unlock(&moving);
}

struct tt_note *tt_notes_lock(void)
{
    pthread_mutex_lock(&moving);
    return notes;
}

void tt_notes_unlock(void)
{
    pthread_mutex_unlock(&moving);
}

/* ---- reading them ---- */

void tt_notes_view(unsigned rank, struct tt_note_view *view)
{
    struct tt_note other, *note = &other;

    *view = (struct tt_note_view){.rank = rank};
    pthread_mutex_lock(&moving);
    if (notes && notes->rank == rank)
        other = *notes;
    else if (shared < 0 || pread(shared, &other, sizeof other, (off_t)(rank * page_size())) !=
                               (ssize_t)sizeof other)
        note = NULL;
    pthread_mutex_unlock(&moving);
    if (!note || note->magic != MAGIC || note->rank != rank)
        return;
    view->begun = true;
    snprintf(view->host, sizeof view->host, "%.63s", note->host);
    view->looked_ns = note->looked_ns;
    for (int i = 0; i < TT_NOTE_THREADS; i++) {
        uint64_t place = note->places[i];
        uint32_t file = place & 0xffffff, doing = place >> 24 & 0xff;

        view->threads[i].doing = doing < TT_NDOING ? (enum tt_doing)doing : TT_DOING_IDLE;
        view->threads[i].sequence = (uint32_t)(place >> 32);
        view->threads[i].changed_ns = note->changed_ns[i];
        if (file && note->files[file % TT_NOTE_FILES].number == file)
            snprintf(view->threads[i].path, TT_NOTE_PATH, "%.*s", TT_NOTE_PATH - 1,
                     note->files[file % TT_NOTE_FILES].path);
    }
}

int64_t tt_notes_last_look(const char *path)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct tt_note first = {0};
    bool known = fd >= 0 && pread(fd, &first, sizeof first, 0) == (ssize_t)sizeof first;

    if (fd >= 0)
        close(fd);
    return known ? first.looked_ns : 0;
}

static int suspicion(enum tt_doing doing)
{
    return doing == TT_DOING_WORK ? 1 : doing > TT_DOING_WORK ? 2 : 0;
}

/* A rank that waits for another of its threads is where that is. */
static int thread_of(const struct tt_note_view *v)
{
    int found = 0;

    for (int i = 1; i < TT_NOTE_THREADS; i++)
        if (suspicion(v->threads[i].doing) < suspicion(v->threads[found].doing))
            found = i;
    return found;
}

/* Looks are a fraction of a second apart: what began closer together began at once. */
static bool is_before(int64_t a, int64_t b)
{
    return b - a > 1500000000;
}

/* Whether a is more likely to be the reason than b. */
static bool is_worse(const struct tt_note_view *a, const struct tt_note_view *b)
{
    int i = thread_of(a), j = thread_of(b);
    int more = suspicion(b->threads[j].doing) - suspicion(a->threads[i].doing);

    if (more != 0)
        return more > 0;
    if (is_before(a->threads[i].changed_ns, b->threads[j].changed_ns))
        return true;
    if (is_before(b->threads[j].changed_ns, a->threads[i].changed_ns))
        return false;
    return (int32_t)(a->threads[i].sequence - b->threads[j].sequence) < 0;
}

/* In the same call of the same file, since about the same time: a library's collective call. */
static bool are_together(const struct tt_note_view *a, const struct tt_note_view *b)
{
    int i = thread_of(a), j = thread_of(b);
    int64_t apart = a->threads[i].changed_ns - b->threads[j].changed_ns;

    return a->threads[i].doing == b->threads[j].doing &&
           !strcmp(a->threads[i].path, b->threads[j].path) && !is_before(0, apart) &&
           !is_before(apart, 0);
}

static int64_t newest_look(size_t n, const struct tt_note_view *views)
{
    int64_t newest = 0;

    for (size_t i = 0; i < n; i++)
        if (views[i].begun && views[i].looked_ns > newest)
            newest = views[i].looked_ns;
    return newest;
}

void tt_notes_explain(size_t n, const struct tt_note_view *views, double silent_seconds, char *out,
                      size_t size)
{
    const struct tt_note_view *worst = NULL, *silent = NULL;
    int64_t now = newest_look(n, views);
    size_t alike = 0;
    char where[TT_NOTE_PATH + 64];
    int t;

    for (size_t i = 0; i < n; i++) {
        if (!views[i].begun) {
            snprintf(out, size, "rank %u has not begun", views[i].rank);
            return;
        }
        if (tt_seconds(now - views[i].looked_ns) > silent_seconds &&
            (!silent || is_before(views[i].looked_ns, silent->looked_ns)))
            silent = &views[i];
        if (!worst || is_worse(&views[i], worst))
            worst = &views[i];
    }
    for (size_t i = 0; worst && i < n; i++)
        alike += are_together(worst, &views[i]);
    worst = silent ? silent : worst;
    if (!worst) {
        snprintf(out, size, "no rank left a note");
        return;
    }
    t = thread_of(worst);
    snprintf(where, sizeof where, "%s%s%s%s", names[worst->threads[t].doing],
             worst->threads[t].path[0] ? " of '" : "", worst->threads[t].path,
             worst->threads[t].path[0] ? "'" : "");
    if (silent)
        snprintf(out, size, "rank %u on %s has not answered for %.0f s; its last note is %s",
                 worst->rank, worst->host, tt_seconds(now - worst->looked_ns), where);
    else
        snprintf(out, size, "%srank %u on %s%s been in %s for %.0f s",
                 alike < 2    ? ""
                 : alike == n ? "all ranks, such as "
                              : "some ranks, such as ",
                 worst->rank, worst->host, alike < 2 ? " has" : ", have", where,
                 tt_seconds(now - worst->threads[t].changed_ns));
}
