/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "node/counters.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "io/calls.h"
#include "base/pool.h"
#include "node/sources.h"
#include "plan/directory.h"

#define FLUSH_NS 1000000000
/* Of one core. Where a sample takes longer than expected, there are fewer of them. */
#define MAX_SHARE 0.01
/* A number with its comma. */
#define CELL_BYTES 26
/* Nodes of one job that have the same name, as in a testbed on one machine. */
#define MAX_NAMESAKES 1000

struct tt_counters {
    int fd;
    bool broken; /* a write failed: what was written until then is good */
    int64_t interval_ns, flushed_ns;
    struct tt_sources sources;
    size_t cost_column;
    uint64_t samples;

    size_t used, room; /* of rows, which always has room for one more row */
    char *rows;

    struct tt_ticker *ticker;
    int64_t last; /* sample was due then */
};

/* ---- options ---- */

static bool is_name(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (strchr(",\"[]", text[i]) || text[i] <= ' ' || text[i] > '~')
            return false;
    return length > 0 && length <= 64;
}

static int check_watch(const struct tt_words *watch, size_t i, struct tt_error *e)
{
    const char *word = watch->words[i], *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : 0;

    if (!equals || !is_name(word, length) || !equals[1])
        return tt_fail(
            e, TT_USAGE,
            "counters.watch: '%.80s' is not NAME=PATH, with a plain name of at most 64 characters",
            word);
    for (size_t k = 0; k < i; k++)
        if (!strncmp(watch->words[k], word, length + 1))
            return tt_fail(e, TT_USAGE, "counters.watch: '%.*s' is there twice", (int)length, word);
    return TT_OK;
}

int tt_counters_check(const void *options, struct tt_error *e)
{
    const struct tt_counters_options *o = options;
    int rc = TT_OK;

    if (o->interval != 0 && !(o->interval >= 1e-3 && o->interval <= 3600))
        rc = tt_fail(e, TT_USAGE, "counters.interval: must be 0, or between 1ms and 1h");
    for (size_t i = 0; rc == TT_OK && i < o->watch.n; i++)
        rc = check_watch(&o->watch, i, e);
    return rc;
}

/* ---- rows ---- */

static void flush(struct tt_counters *c)
{
    size_t done = 0;

    while (!c->broken && done < c->used) {
        ssize_t n = write(c->fd, c->rows + done, c->used - done);

        if (n <= 0 && errno != EINTR)
            c->broken = true;
        done += n > 0 ? (size_t)n : 0;
    }
    c->used = 0;
}

/* Counters are whole numbers; only a user's series may have fractions. */
static size_t format_cell(char *out, double value)
{
    if (isnan(value))
        return (size_t)snprintf(out, CELL_BYTES, ",");
    if (value >= 0 && value < 0x1p63 && value == (double)(int64_t)value)
        return (size_t)snprintf(out, CELL_BYTES, ",%" PRId64, (int64_t)value);
    return (size_t)snprintf(out, CELL_BYTES, ",%.15g", value);
}

static void sample(struct tt_counters *c, bool all)
{
    struct tt_sources *s = &c->sources;
    int64_t wall = tt_wall_ns(), now = tt_now_ns();

    tt_sources_read(s, all);
    s->values[c->cost_column] = (double)(tt_clock_ns(CLOCK_THREAD_CPUTIME_ID) / 1000);
    c->used += (size_t)snprintf(c->rows + c->used, CELL_BYTES, "%" PRId64, wall);
    for (size_t i = 0; i < s->ncolumns; i++)
        c->used += format_cell(c->rows + c->used, s->values[i]);
    c->rows[c->used++] = '\n';
    c->samples++;
    if (now - c->flushed_ns >= FLUSH_NS || c->room - c->used < (s->ncolumns + 2) * CELL_BYTES) {
        flush(c);
        c->flushed_ns = now;
    }
}

/* ---- the thread ---- */

/* As often as asked, unless that would cost more than a share of a core. */
static int64_t next_instant(const struct tt_counters *c)
{
    int64_t cost = tt_clock_ns(CLOCK_THREAD_CPUTIME_ID) / (int64_t)c->samples;
    int64_t least = (int64_t)((double)cost / MAX_SHARE), now = tt_now_ns();
    int64_t next = c->last + (c->interval_ns > least ? c->interval_ns : least);

    return next > now ? next : now + c->interval_ns;
}

static int64_t collect(void *argument, bool last)
{
    struct tt_counters *c = argument;

    tt_calls_unseen = true; /* they are not those of a library */
    sample(c, last || c->samples == 0);
    if (last)
        flush(c);
    return c->last = next_instant(c);
}

/* ---- start and stop ---- */

static void host_name(char name[HOST_NAME_MAX + 1])
{
    if (gethostname(name, HOST_NAME_MAX) != 0 || !name[0])
        snprintf(name, HOST_NAME_MAX + 1, "unknown");
    name[HOST_NAME_MAX] = '\0';
    for (char *p = name; *p; p++)
        if (*p == '/' || (p == name && *p == '.'))
            *p = '_';
}

static int make_file(struct tt_counters *c, const char *directory, struct tt_error *e)
{
    char host[HOST_NAME_MAX + 1] = "", path[PATH_MAX];

    host_name(host);
    snprintf(path, sizeof path, "%s/" TT_COUNTERS_DIRECTORY, directory);
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return tt_fail_call(e, errno, "mkdir", path, -1);
    for (int i = 1; c->fd < 0 && i <= MAX_NAMESAKES; i++) {
        if (i == 1)
            snprintf(path, sizeof path, "%s/" TT_COUNTERS_DIRECTORY "/%s.csv", directory, host);
        else
            snprintf(path, sizeof path, "%s/" TT_COUNTERS_DIRECTORY "/%s~%d.csv", directory, host,
                     i);
        c->fd = open(path, O_CREAT | O_EXCL | O_WRONLY | TT_DIRECTORY_OPEN, 0666);
        if (c->fd < 0 && errno != EEXIST)
            break;
    }
    return c->fd < 0 ? tt_fail_call(e, errno, "open", path, -1) : TT_OK;
}

/* Room for a second of samples, for one at least, and for the names of the columns. */
static int make_rows(struct tt_counters *c, struct tt_error *e)
{
    const struct tt_sources *s = &c->sources;
    size_t row = (s->ncolumns + 2) * CELL_BYTES, names = 16;

    for (size_t i = 0; i < s->ncolumns; i++)
        names += strlen(s->columns[i]) + 1;
    c->room = names + 16 * row;
    c->rows = malloc(c->room);
    if (!c->rows)
        return tt_fail_nomem(e, "the counters");
    c->used = (size_t)snprintf(c->rows, c->room, "wall[ns]");
    for (size_t i = 0; i < s->ncolumns; i++)
        c->used += (size_t)snprintf(c->rows + c->used, c->room - c->used, ",%s", s->columns[i]);
    c->rows[c->used++] = '\n';
    return TT_OK;
}

static void free_counters(struct tt_counters *c)
{
    tt_sources_close(&c->sources);
    if (c->fd >= 0)
        close(c->fd);
    free(c->rows);
    free(c);
}

int tt_counters_start(const char *directory, const struct tt_counters_options *o, size_t npids,
                      const int *pids, struct tt_counters **out, struct tt_error *e)
{
    struct tt_counters *c;
    int rc = tt_counters_check(o, e);

    *out = NULL;
    if (rc != TT_OK || o->interval == 0)
        return rc;
    c = calloc(1, sizeof *c);
    if (!c)
        return tt_fail_nomem(e, "the counters");
    c->fd = -1;
    c->interval_ns = (int64_t)(o->interval * 1e9);
    c->flushed_ns = c->last = tt_now_ns();
    rc = tt_sources_open(&c->sources, "", o, npids, pids, e);
    c->cost_column = c->sources.ncolumns;
    if (rc == TT_OK)
        rc = tt_sources_column(&c->sources, e, "collector.cpu[us]");
    if (rc == TT_OK)
        rc = make_rows(c, e);
    if (rc == TT_OK)
        rc = make_file(c, directory, e);
    if (rc == TT_OK)
        rc = tt_ticker_start(&c->ticker, collect, c, e);
    if (rc == TT_OK)
        *out = c;
    else
        free_counters(c);
    return rc;
}

void tt_counters_stop(struct tt_counters *c)
{
    if (!c)
        return;
    tt_ticker_stop(c->ticker);
    free_counters(c);
}
