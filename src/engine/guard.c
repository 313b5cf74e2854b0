/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/note.h"
#include "engine/private.h"
#include "io/calls.h"

/* What saving, removing and the last words may take on storage that hangs. */
#define LAST_SECONDS 10
/* For the one that found the reason to write it down; the launcher may end it with the others. */
#define WORDS_NS INT64_C(3000000000)

/* One a process, as its end is. */
static struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t woken;
    bool running, stopping, failed;
    double patience, max_time;
    enum tt_guarded part;
    int64_t looked_ns, now_ns;  /* the clock at the last look; time that this process had */
    int64_t part_ns, failed_ns; /* since when, in that time */
    int64_t resumed_ns;         /* likewise, after the whole job may have been suspended */
    char directory[PATH_MAX];
    int rank, size;
    uint64_t places[TT_NOTE_THREADS]; /* as last seen */
    int64_t moved_ns;                 /* when that was new */
} guard = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- looking ---- */

static double tick(void)
{
    return fmax(0.02, fmin(1, guard.patience / 8));
}

/* In the measured time storage may be slow: a thread that waits in the kernel is no deadlock. */
static bool is_in_kernel(uint32_t task)
{
    char path[64], text[512] = "", *end;
    int fd;

    snprintf(path, sizeof path, "/proc/self/task/%u/stat", task);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    (void)!read(fd, text, sizeof text - 1);
    close(fd);
    end = strrchr(text, ')'); /* of the name, which may hold anything */
    return end && !strncmp(end, ") D", 3);
}

static void look(void)
{
    struct tt_note *note = tt_notes_lock();
    int64_t now = tt_now_ns(), wall = tt_wall_ns();
    bool late;

    /* A job that was suspended is not stuck, and the others may go on a moment later. */
    if (tt_seconds(now - guard.looked_ns) > TT_STALL * guard.patience / 2)
        guard.resumed_ns = guard.now_ns;
    guard.now_ns += (int64_t)fmin((double)(now - guard.looked_ns), 4e9 * tick());
    guard.looked_ns = now;
    late = guard.part == TT_GUARD_MEASURED &&
           tt_seconds(guard.now_ns - guard.moved_ns) > TT_STALL * guard.patience / 4;
    for (int i = 0; note && i < TT_NOTE_THREADS; i++) {
        uint64_t place = note->places[i];

        if (place == guard.places[i] && note->looked_ns != 0 &&
            !(late && is_in_kernel(note->tasks[i])))
            continue;
        guard.places[i] = place;
        guard.moved_ns = guard.now_ns;
        note->changed_ns[i] = wall;
    }
    if (note)
        note->looked_ns = wall;
    tt_notes_unlock();
}

/* Whether any rank has made a step in the last so many seconds, as far as one can see, or computes
 * in the measured time, in which a step may be long; not if it is stopped, or its node is. */
static bool somebody_moves(double seconds)
{
    int64_t since = tt_wall_ns() - (int64_t)(1e9 * seconds);
    struct tt_note_view view;

    for (int rank = 0; rank < guard.size; rank++) {
        tt_notes_view((unsigned)rank, &view);
        if (guard.part == TT_GUARD_MEASURED && view.threads[0].doing == TT_DOING_WORK &&
            view.looked_ns > since)
            return true;
        for (int i = 0; view.begun && i < TT_NOTE_THREADS; i++)
            if (view.threads[i].changed_ns > since)
                return true;
    }
    return false;
}

/* ---- the end ---- */

/* Empty while another rank is about to say something. */
static bool has_words(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && st.st_size > 0;
}

static void explain(const char *why, char *line, size_t size)
{
    struct tt_note_view *views = calloc((size_t)guard.size, sizeof *views);
    char who[512] = "a rank is stuck";

    for (int rank = 0; views && rank < guard.size; rank++)
        tt_notes_view((unsigned)rank, &views[rank]);
    if (views)
        tt_notes_explain((size_t)guard.size, views, fmax(1, guard.patience / 2), who, sizeof who);
    free(views);
    snprintf(line, size, "%s; the run was ended %s", who, why);
    tt_make_plain(line);
}

/* One rank speaks: the first to make the file. Without one, as before the run directory is known,
 * all do. */
static void say(const char *line)
{
    char path[PATH_MAX + 16];
    int64_t until = tt_now_ns() + WORDS_NS;
    int fd = -1;

    snprintf(path, sizeof path, "%s/failure", guard.directory);
    if (guard.directory[0])
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && guard.directory[0] && errno == EEXIST) {
        while (!has_words(path) && tt_now_ns() < until)
            tt_sleep_until(tt_now_ns() + 10000000);
        return;
    }
    if (fd >= 0 && write(fd, line, strlen(line)) >= 0)
        close(fd);
    dprintf(2, "tutti: %s\n", line);
}

static void end(const char *line)
{
    const struct sigaction by_default = {.sa_handler = SIG_DFL};

    sigaction(SIGALRM, &by_default, NULL);
    alarm(LAST_SECONDS);
    say(line);
    tt__save_and_clean();
    if (getenv("SLURM_STEP_ID")) /* unless it was told otherwise, srun lets the others wait */
        MPI_Abort(MPI_COMM_WORLD, 1);
    _exit(1);
}

static void end_stuck(const char *why)
{
    char line[1024];

    explain(why, line, sizeof line);
    end(line);
}

/* The cause that the library keeps for itself. */
static void end_refused(struct tt_error *why)
{
    char cause[800], line[1024];

    why->rank = guard.rank;
    tt_error_format(why, cause, sizeof cause);
    snprintf(line, sizeof line, "%s; the library did not come back from it for --patience %g s",
             cause, guard.patience);
    end(line);
}

/* Whether a thread of this rank is inside a library's call. */
static bool is_in_call(void)
{
    struct tt_note_view view;

    tt_notes_view((unsigned)guard.rank, &view);
    for (int i = 0; view.begun && i < TT_NOTE_THREADS; i++)
        if (view.threads[i].doing <= TT_DOING_QUERY)
            return true;
    return false;
}

/* ---- the thread ---- */

static void judge(void)
{
    int64_t now = guard.now_ns;
    double stall = TT_STALL * guard.patience;
    struct tt_error refused = TT_ERROR_CLEAR;
    char why[128];

    if (guard.failed && tt_seconds(now - guard.failed_ns) > 2 * guard.patience &&
        tt_seconds(now - guard.moved_ns) > 2 * guard.patience)
        end_stuck("since a failed rank waited for twice --patience");
    if (tt_seconds(now - guard.moved_ns) > guard.patience && is_in_call() &&
        tt_calls_owed(&refused))
        end_refused(&refused);
    if (guard.part == TT_GUARD_MEASURED && guard.max_time > 0 &&
        tt_seconds(now - guard.part_ns) > guard.max_time + 2 * guard.patience) {
        snprintf(why, sizeof why, "by --max-time %g s and twice --patience %g s", guard.max_time,
                 guard.patience);
        end_stuck(why);
    }
    if (guard.part == TT_GUARD_HELD || tt_seconds(now - guard.moved_ns) < stall ||
        tt_seconds(now - guard.part_ns) < stall || tt_seconds(now - guard.resumed_ns) < stall ||
        somebody_moves(stall - 2 * tick()))
        return;
    snprintf(why, sizeof why, "after nothing moved for %d times --patience %g s", TT_STALL,
             guard.patience);
    end_stuck(why);
}

static void *watch(void *unused)
{
    tt_calls_unseen = true;
    pthread_mutex_lock(&guard.lock);
    while (!guard.stopping) {
        int64_t next = tt_now_ns() + (int64_t)(1e9 * tick());
        struct timespec at = {.tv_sec = next / 1000000000, .tv_nsec = next % 1000000000};

        look();
        judge();
        pthread_cond_timedwait(&guard.woken, &guard.lock, &at);
    }
    pthread_mutex_unlock(&guard.lock);
    return unused;
}

void tt_guard_start(double patience)
{
    pthread_condattr_t clock;
    sigset_t all, before;

    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&guard.woken, &clock);
    pthread_condattr_destroy(&clock);
    guard.patience = patience;
    guard.size = 1;
    guard.looked_ns = tt_now_ns();
    tt_notes_begin();
    /* Signals belong to the main thread. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    guard.running = pthread_create(&guard.thread, NULL, watch, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void tt_guard_stop(void)
{
    if (!guard.running)
        return;
    pthread_mutex_lock(&guard.lock);
    guard.stopping = true;
    pthread_cond_signal(&guard.woken);
    pthread_mutex_unlock(&guard.lock);
    pthread_join(guard.thread, NULL);
    guard.running = false;
    tt_notes_end();
}

void tt_guard_directory(const char *directory, int rank, int size)
{
    char path[PATH_MAX + 16];

    if (!guard.running)
        return;
    pthread_mutex_lock(&guard.lock);
    guard.rank = rank;
    guard.size = size;
    if (strcmp(guard.directory, directory) != 0) {
        snprintf(guard.directory, sizeof guard.directory, "%s", directory);
        snprintf(path, sizeof path, "%s/notes", directory);
        tt_notes_share(path, (uint32_t)rank);
    }
    pthread_mutex_unlock(&guard.lock);
}

void tt_guard_forget(void)
{
    char path[PATH_MAX + 16];

    snprintf(path, sizeof path, "%s/notes", guard.directory);
    if (guard.running)
        unlink(path);
}

void tt_guard_limits(double patience, double max_time)
{
    pthread_mutex_lock(&guard.lock);
    guard.patience = patience;
    guard.max_time = max_time;
    guard.failed = false;
    pthread_mutex_unlock(&guard.lock);
}

void tt_guard_enter(enum tt_guarded part)
{
    pthread_mutex_lock(&guard.lock);
    guard.part = part;
    guard.part_ns = guard.now_ns;
    pthread_mutex_unlock(&guard.lock);
}

void tt_guard_failed(void)
{
    pthread_mutex_lock(&guard.lock);
    if (!guard.failed) {
        guard.failed = true;
        guard.failed_ns = guard.now_ns;
    }
    pthread_mutex_unlock(&guard.lock);
}

void tt_guard_agreed(void)
{
    pthread_mutex_lock(&guard.lock);
    guard.failed = false;
    pthread_mutex_unlock(&guard.lock);
}
