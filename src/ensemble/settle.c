/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ensemble/settle.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "launch/launch.h"
#include "spec/units.h"

#define LOOK_SECONDS 0.25
/* What daemons write now and then: pages under way, pages that became fewer, requests. */
#define IDLE_WRITEBACK 1e6
#define IDLE_DIRTY 4e6
#define IDLE_FALL 1e6
#define IDLE_REQUESTS 16

/* ---- looking ---- */

static FILE *open_below(const char *root, const char *name)
{
    char path[512];

    snprintf(path, sizeof path, "%s%s", root, name);
    return fopen(path, "re");
}

static void look_at_memory(FILE *in, struct tt_rest *out)
{
    char line[256];
    double kib;

    while (in && fgets(line, sizeof line, in))
        if (sscanf(line, "Dirty: %lf", &kib) == 1)
            out->dirty = 1024 * kib;
        else if (sscanf(line, "Writeback: %lf", &kib) == 1)
            out->writeback = 1024 * kib;
}

/* Requests that were completed and are in flight are the 4th and 8th field (read, write), and the
 * 12th. */
static void look_at_devices(FILE *in, const dev_t *devices, size_t n, struct tt_rest *out)
{
    char line[512];

    while (in && fgets(line, sizeof line, in)) {
        uint64_t reads, writes, in_flight;
        unsigned major_of, minor_of;

        if (sscanf(line, "%u %u %*s %" SCNu64 " %*u %*u %*u %" SCNu64 " %*u %*u %*u %" SCNu64,
                   &major_of, &minor_of, &reads, &writes, &in_flight) != 5)
            continue;
        for (size_t i = 0; i < n; i++)
            if (devices[i] == makedev(major_of, minor_of)) {
                out->done += reads + writes;
                out->in_flight += in_flight;
            }
    }
}

void tt_rest_look(const char *root, const dev_t *devices, size_t n, struct tt_rest *out)
{
    FILE *memory = open_below(root, "/proc/meminfo"), *disks = open_below(root, "/proc/diskstats");

    *out = (struct tt_rest){0};
    look_at_memory(memory, out);
    look_at_devices(disks, devices, n, out);
    if (memory)
        fclose(memory);
    if (disks)
        fclose(disks);
}

bool tt_rest_is(const struct tt_rest *before, const struct tt_rest *now, char *why, size_t size)
{
    char text[TT_UNIT_TEXT];

    if (now->writeback > IDLE_WRITEBACK)
        snprintf(why, size, "%s of memory were being written",
                 tt_format_bytes(now->writeback, text));
    else if (now->dirty > IDLE_DIRTY && before->dirty - now->dirty > IDLE_FALL)
        snprintf(why, size, "%s of memory were still to be written",
                 tt_format_bytes(now->dirty, text));
    else if (now->in_flight > 0)
        snprintf(why, size, "the device had %" PRIu64 " requests in flight", now->in_flight);
    else if (now->done - before->done >= IDLE_REQUESTS)
        snprintf(why, size, "the device completed %.0f requests a second",
                 (double)(now->done - before->done) / LOOK_SECONDS);
    else
        why[0] = '\0';
    return !why[0];
}

/* ---- the file systems of the data directories ---- */

/* Shared with a thread, since writing may take longer than anybody waits: whoever is the last to
 * need it frees it. */
struct flush {
    atomic_int users;
    atomic_bool done;
    size_t n;
    dev_t *devices;
    int *fds;
};

static void let_go(struct flush *f)
{
    if (atomic_fetch_sub(&f->users, 1) > 1)
        return;
    for (size_t i = 0; f->fds && i < f->n; i++)
        close(f->fds[i]);
    free(f->devices);
    free(f->fds);
    free(f);
}

static void *write_all(void *context)
{
    struct flush *f = context;

    for (size_t i = 0; i < f->n; i++)
        syncfs(f->fds[i]); /* what cannot be written its job has been told */
    atomic_store(&f->done, true);
    let_go(f);
    return NULL;
}

static void add_directory(struct flush *f, const struct tt_config *config)
{
    char *dir = tt_config_data_directory(config);
    int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    struct statfs kind;
    struct stat st;
    bool wanted = fd >= 0 && fstatfs(fd, &kind) == 0 && fstat(fd, &st) == 0 &&
                  kind.f_type != TMPFS_MAGIC && kind.f_type != RAMFS_MAGIC;

    for (size_t i = 0; wanted && i < f->n; i++)
        wanted = f->devices[i] != st.st_dev;
    if (wanted) {
        f->devices[f->n] = st.st_dev;
        f->fds[f->n++] = fd;
    } else if (fd >= 0) {
        close(fd);
    }
    free(dir);
}

static int start_flush(const struct tt_ensemble *x, struct flush **out, struct tt_error *e)
{
    struct flush *f = calloc(1, sizeof *f);
    pthread_t thread;

    *out = f;
    if (!f)
        return tt_fail_nomem(e, "the data directories");
    atomic_init(&f->users, 1);
    f->devices = calloc(x->nspecs + 1, sizeof *f->devices);
    f->fds = calloc(x->nspecs + 1, sizeof *f->fds);
    if (!f->devices || !f->fds)
        return tt_fail_nomem(e, "the data directories");
    for (size_t i = 0; i < x->nspecs; i++)
        add_directory(f, &x->specs[i].config);
    atomic_init(&f->done, f->n == 0);
    if (f->n == 0)
        return TT_OK;
    atomic_fetch_add(&f->users, 1);
    if (pthread_create(&thread, NULL, write_all, f) == 0)
        pthread_detach(thread);
    else
        write_all(f);
    return TT_OK;
}

/* ---- waiting ---- */

static int wait_for_rest(const struct flush *f, double most, struct tt_settled *out,
                         struct tt_error *e)
{
    int64_t start = tt_now_ns();
    struct tt_rest before, now;
    int got = 0;

    do {
        int64_t until = tt_now_ns() + (int64_t)(LOOK_SECONDS * 1e9);

        tt_rest_look("", f->devices, f->n, &before);
        while (!got && tt_now_ns() < until) /* it returns early when an orphan ends */
            got = tt_signal_wait(tt_seconds(until - tt_now_ns()));
        tt_rest_look("", f->devices, f->n, &now);
        out->seconds = tt_seconds(tt_now_ns() - start);
        if (!atomic_load(&f->done))
            snprintf(out->why, sizeof out->why, "data was still being written");
        else if (tt_rest_is(&before, &now, out->why, sizeof out->why))
            break;
    } while (!got && out->seconds < most);
    return got ? tt_fail(e, TT_INTERRUPTED, "interrupted by signal %d (%s)", got, strsignal(got))
               : TT_OK;
}

int tt_settle(const struct tt_ensemble *x, struct tt_settled *out, struct tt_error *e)
{
    struct flush *f;
    int rc;

    *out = (struct tt_settled){0};
    if (x->o.settle <= 0)
        return TT_OK;
    rc = start_flush(x, &f, e);
    if (rc == TT_OK && f->n > 0)
        rc = wait_for_rest(f, x->o.settle, out, e);
    if (f)
        let_go(f);
    return rc;
}
