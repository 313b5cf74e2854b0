/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What this rank is doing, for whoever must say later which rank is stuck, where and with which
 * file. A note is one store to memory and costs nothing beside any call. The memory is a page of
 * the file `notes` in the run directory once that is known, so that the kernel shows it to others
 * also when this process is stopped. Threads that never said who they are leave no notes. */
#ifndef TT_BASE_NOTE_H
#define TT_BASE_NOTE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the order in which they are suspected: calls, then work, then waiting for others. Computation
 * may take long, and whoever waits for messages may wait for that; calls may not. */
#define TT_DOINGS(X) \
    X(OPEN, "open") \
    X(DEFINE, "define") \
    X(WRITE, "write") \
    X(READ, "read") \
    X(SUBMIT, "submit") \
    X(COMPLETE, "wait") \
    X(SYNC, "sync") \
    X(CLOSE, "close") \
    X(QUERY, "query") \
    X(LOOK, "look-up") \
    X(REMOVE, "removal") \
    X(INIT, "MPI_Init_thread") \
    X(FINALIZE, "MPI_Finalize") \
    X(DEVICE, "a call of its device") \
    X(WORK, "computation or communication") \
    X(MESSAGE, "communication") \
    X(RECORD, "a wait for the thread that writes its records") \
    X(HELPER, "a wait for its helper thread") \
    X(AGREE, "a wait for other ranks") \
    X(IDLE, "nothing")
#define TT_DOING(name, text) TT_DOING_##name,
enum tt_doing { TT_DOINGS(TT_DOING) TT_NDOING };
#undef TT_DOING

/* The main thread, its helper, and the thread in which a layer makes calls. */
enum { TT_NOTE_THREADS = 3, TT_NOTE_FILES = 16, TT_NOTE_PATH = 224 };

/* A page of the file. A place is sequence << 32 | doing << 24 | number of the file. */
struct tt_note {
    uint32_t magic, rank, pid;
    uint32_t tasks[TT_NOTE_THREADS]; /* of the kernel */
    char host[64];
    _Atomic int64_t looked_ns; /* wall clock of the guard's last look */
    _Atomic int64_t changed_ns[TT_NOTE_THREADS];
    _Atomic uint64_t places[TT_NOTE_THREADS];
    struct {
        uint32_t number; /* from 1, counted through: an old file's entry is taken by a new one */
        char path[TT_NOTE_PATH];
    } files[TT_NOTE_FILES];
};

extern _Thread_local _Atomic uint64_t *tt_note_place; /* NULL: nobody wants to know */

static inline void tt__note_store(uint64_t what)
{
    uint64_t last = atomic_load_explicit(tt_note_place, memory_order_relaxed);

    atomic_store_explicit(tt_note_place, ((last >> 32) + 1) << 32 | (what & UINT32_MAX),
                          memory_order_relaxed);
}

/* before = tt_note_begin(TT_DOING_WRITE, file); ...; tt_note_end(before); nested as calls are. */
static inline uint64_t tt_note_begin(enum tt_doing doing, uint32_t file)
{
    uint64_t before = 0;

    if (tt_note_place) {
        before = atomic_load_explicit(tt_note_place, memory_order_relaxed);
        tt__note_store((uint64_t)doing << 24 | (file & 0xffffff));
    }
    return before;
}

static inline void tt_note_end(uint64_t before)
{
    if (tt_note_place)
        tt__note_store(before);
}

/* The same with the file of the note before. */
static inline uint64_t tt_note_waiting(enum tt_doing doing)
{
    return tt_note_begin(
        doing,
        tt_note_place ? (uint32_t)atomic_load_explicit(tt_note_place, memory_order_relaxed) : 0);
}

/* The same again: what takes long is under way. */
static inline void tt_note_step(void)
{
    if (tt_note_place)
        tt__note_store(atomic_load_explicit(tt_note_place, memory_order_relaxed));
}

/* A number for a path, to be noted with calls. */
uint32_t tt_note_file(const char *path);

/* The main thread's notes begin; in memory until they are shared. */
void tt_notes_begin(void);
void tt_notes_end(void);
/* This thread is the helper, or that of a layer. */
void tt_note_as_helper(void);
void tt_note_as_mover(void);
/* By the helper: whether the main thread computes or communicates, and waits for no I/O. */
bool tt_note_main_is_at_work(void);
/* From the main thread, while there is no helper. Where the file cannot be had, notes stay in
 * memory. */
void tt_notes_share(const char *path, uint32_t rank);

/* ---- for the guard ---- */
/* NULL: there are none. */
struct tt_note *tt_notes_lock(void);
void tt_notes_unlock(void);

/* What one rank left, read from the file. */
struct tt_note_view {
    bool begun;
    unsigned rank;
    char host[64];
    int64_t looked_ns;
    struct {
        enum tt_doing doing;
        uint32_t sequence;
        int64_t changed_ns;
        char path[TT_NOTE_PATH]; /* empty: none */
    } threads[TT_NOTE_THREADS];
};
/* Of the file that is shared, or of this rank's memory for its own rank. */
void tt_notes_view(unsigned rank, struct tt_note_view *view);
/* When rank 0's guard has looked last, as its file says; 0: it does not. */
int64_t tt_notes_last_look(const char *path);
/* Who keeps the others waiting, in words such as "rank 3 on node2 has been in open of 'x' for 60
 * s". A rank whose guard has not looked for so many seconds is stopped, or its node is. */
void tt_notes_explain(size_t n, const struct tt_note_view *views, double silent_seconds, char *out,
                      size_t size);

#endif
