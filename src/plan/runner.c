/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/clock.h"
#include "plan/directory.h"
#include "spec/units.h"

#define JOURNAL "journal"
/* More attempts than a point needs, in case some fail. */
#define SPARE_ATTEMPTS 2
#define MAX_LINE 4096

/* ---- the journal ---- */

static int repetition_parse(const char *line, size_t npoints, struct tt_repetition *r)
{
    json_t *o = json_loads(line, 0, NULL);
    const char *directory = "", *why = "";
    json_int_t point, number, bytes;
    int complete, rc;

    *r = (struct tt_repetition){0};
    rc = o ? json_unpack(o, "{s:I, s:I, s:b, s:F, s:I, s:s, s:s}", "point", &point, "number",
                         &number, "complete", &complete, "seconds", &r->seconds, "bytes", &bytes,
                         "directory", &directory, "why", &why)
           : -1;
    if (rc == 0 &&
        (point < 0 || (size_t)point >= npoints || number < 1 || bytes < 0 || !directory[0] ||
         directory[0] == '.' || strchr(directory, '/') || strlen(directory) >= sizeof r->directory))
        rc = -1;
    if (rc == 0) {
        r->point = (size_t)point;
        r->number = (uint64_t)number;
        r->bytes = (uint64_t)bytes;
        r->complete = complete;
        snprintf(r->directory, sizeof r->directory, "%s", directory);
        snprintf(r->why, sizeof r->why, "%s", why);
    }
    json_decref(o);
    return rc;
}

static int append(struct tt_runner_report *report, const struct tt_repetition *r,
                  struct tt_error *e)
{
    struct tt_repetition *list = realloc(report->list, (report->n + 1) * sizeof *list);

    if (!list)
        return tt_fail_nomem(e, "the journal");
    report->list = list;
    list[report->n++] = *r;
    return TT_OK;
}

/* A last line without an end was being written when its writer died: that repetition is run
 * again. */
static int read_lines(FILE *in, const char *directory, size_t npoints,
                      struct tt_runner_report *report, struct tt_error *e)
{
    char line[MAX_LINE];
    int rc = TT_OK;

    for (unsigned n = 1; rc == TT_OK && fgets(line, sizeof line, in); n++) {
        struct tt_repetition r;
        bool whole = strchr(line, '\n') != NULL;

        if (!whole && feof(in))
            break;
        if (!whole || repetition_parse(line, npoints, &r) != 0)
            rc = tt_fail(e, TT_CORRUPT, "%s/" JOURNAL ":%u: is not a repetition that tutti wrote",
                         directory, n);
        else
            rc = append(report, &r, e);
    }
    return rc;
}

int tt_journal_read(const char *directory, size_t npoints, struct tt_runner_report *report,
                    struct tt_error *e)
{
    FILE *in = tt_directory_open_file(directory, JOURNAL);
    int rc;

    *report = (struct tt_runner_report){0};
    if (!in && errno == EINVAL)
        return tt_fail(e, TT_CORRUPT, "'%s/" JOURNAL "' is not a file that tutti wrote", directory);
    if (!in)
        return errno == ENOENT ? TT_OK : tt_directory_fail(directory, JOURNAL, errno, "open", e);
    rc = read_lines(in, directory, npoints, report, e);
    fclose(in);
    return rc;
}

/* Cuts off a line that was never finished, since the next one would be appended to it. */
static int mend(int fd, const char *directory, struct tt_error *e)
{
    off_t size = lseek(fd, 0, SEEK_END);
    char last = '\n';

    while (size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n')
        size--;
    if (size < 0 || ftruncate(fd, size) != 0)
        return tt_directory_fail(directory, JOURNAL, errno, "truncate", e);
    return TT_OK;
}

/* Locked for as long as it is open. */
static int open_journal(const char *directory, int *fd, struct tt_error *e)
{
    struct stat st;
    int rc;

    *fd = tt_directory_open(directory, JOURNAL, O_CREAT | O_RDWR | O_APPEND);
    if (*fd < 0)
        return tt_directory_fail(directory, JOURNAL, errno, "open", e);
    if (fstat(*fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_nlink > 1)
        rc = tt_fail(e, TT_CORRUPT,
                     "'%s/" JOURNAL
                     "' is not a file of tutti's alone: it has another name, or is no "
                     "file; copy it to a new one",
                     directory);
    else if (flock(*fd, LOCK_EX | LOCK_NB) != 0)
        rc = tt_fail(e, TT_BUSY, "another tutti is at work in '%s'", directory);
    else
        rc = mend(*fd, directory, e);
    if (rc != TT_OK)
        close(*fd);
    return rc;
}

/* On disk before the next one is run: a finished repetition is never lost. */
static int write_line(int fd, const struct tt_repetition *r, struct tt_error *e)
{
    json_t *o =
        json_pack("{s:I, s:I, s:b, s:f, s:I, s:s, s:s}", "point", (json_int_t)r->point, "number",
                  (json_int_t)r->number, "complete", r->complete, "seconds", r->seconds, "bytes",
                  (json_int_t)r->bytes, "directory", r->directory, "why", r->why);
    char *text = o ? json_dumps(o, JSON_COMPACT) : NULL, *line = NULL;
    int length = text ? asprintf(&line, "%s\n", text) : -1, rc = TT_OK;

    if (length < 0)
        rc = tt_fail_nomem(e, "the journal");
    else if (write(fd, line, (size_t)length) != length || fsync(fd) != 0)
        rc = tt_fail_call(e, errno ? errno : ENOSPC, "write", JOURNAL, -1);
    if (length >= 0)
        free(line);
    free(text);
    json_decref(o);
    return rc;
}

/* ---- what is still to be done ---- */

struct runner {
    const struct tt_runner_rules *rules;
    const struct tt_runner_owner *owner;
    struct tt_runner_report *report;
    int64_t start_ns;
};

static uint64_t count(const struct runner *r, size_t point, bool complete)
{
    uint64_t n = 0;

    for (size_t i = 0; i < r->report->n; i++)
        n += r->report->list[i].point == point && (r->report->list[i].complete || !complete);
    return n;
}

static bool is_narrow(const struct runner *r, size_t point)
{
    double width = r->rules->width > 0
                       ? r->owner->width(r->owner->context, point, r->report->list, r->report->n)
                       : 0;

    return isfinite(width) && width <= r->rules->width;
}

static uint64_t most(const struct runner *r)
{
    return r->rules->width > 0 && r->rules->at_most > r->rules->repeat ? r->rules->at_most
                                                                       : r->rules->repeat;
}

static bool is_done(const struct runner *r, size_t point)
{
    uint64_t complete = count(r, point, true);

    if (complete >= most(r) || count(r, point, false) >= most(r) + SPARE_ATTEMPTS)
        return true;
    return complete >= r->rules->repeat && is_narrow(r, point);
}

/* The point's own mean, or that of all as long as it has not been run. */
static double expected_seconds(const struct runner *r, size_t point)
{
    double own = 0, all = 0;
    size_t nown = 0;

    for (size_t i = 0; i < r->report->n; i++) {
        bool is_own = r->report->list[i].point == point;

        all += r->report->list[i].seconds;
        own += is_own ? r->report->list[i].seconds : 0;
        nown += is_own;
    }
    if (nown > 0)
        return own / (double)nown;
    return r->report->n ? all / (double)r->report->n : 0;
}

static void look_around(const struct runner *r, size_t point, struct tt_runner_state *s)
{
    *s = (struct tt_runner_state){.point = point,
                                  .npoints = r->owner->npoints,
                                  .number = count(r, point, false) + 1,
                                  .elapsed = tt_seconds(tt_now_ns() - r->start_ns)};
    for (size_t i = 0; i < r->owner->npoints; i++) {
        uint64_t complete = count(r, i, true), left = 0;

        if (!is_done(r, i))
            left = complete < r->rules->repeat ? r->rules->repeat - complete : 1;
        s->done += complete;
        s->planned += complete + left;
        s->left += (double)left * expected_seconds(r, i);
    }
    if (r->report->n == 0)
        s->left = -1;
}

static bool is_affordable(const struct runner *r, const struct tt_runner_state *s)
{
    struct tt_runner_report *report = r->report;
    double time = s->elapsed + expected_seconds(r, s->point);
    char a[TT_UNIT_TEXT], b[TT_UNIT_TEXT];
    uint64_t bytes = 0, largest = 0;

    for (size_t i = 0; i < report->n; i++) {
        bytes += report->list[i].bytes;
        if (report->list[i].bytes > largest)
            largest = report->list[i].bytes;
    }
    if (r->rules->max_time > 0 && time > r->rules->max_time)
        snprintf(report->why, sizeof report->why, "another repetition would exceed --max-time %s",
                 tt_format_seconds(r->rules->max_time, a));
    else if (r->rules->max_bytes > 0 && bytes + largest > r->rules->max_bytes)
        snprintf(report->why, sizeof report->why,
                 "%s were written; another repetition would exceed --max-bytes %s",
                 tt_format_bytes((double)bytes, b),
                 tt_format_bytes((double)r->rules->max_bytes, a));
    report->out_of_budget = report->why[0] != '\0';
    return !report->out_of_budget;
}

/* ---- rounds ---- */

/* Fisher-Yates, a new order for every round. */
static void shuffle(size_t *order, size_t n, uint64_t seed, uint64_t round)
{
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = n; i > 1; i--) {
        const uint64_t place[] = {round, i};
        size_t j = (size_t)(XXH3_64bits_withSeed(place, sizeof place, seed) % i);
        size_t swap = order[i - 1];

        order[i - 1] = order[j];
        order[j] = swap;
    }
}

static int run_one(struct runner *r, int journal, size_t point, struct tt_error *e)
{
    struct tt_repetition repetition = {.point = point};
    struct tt_runner_state state;
    int64_t start = tt_now_ns();
    int rc;

    look_around(r, point, &state);
    if (!is_affordable(r, &state))
        return TT_OK;
    repetition.number = state.number;
    rc = r->owner->run(r->owner->context, &state, &repetition, e);
    if (rc != TT_OK)
        return rc;
    repetition.seconds = tt_seconds(tt_now_ns() - start);
    rc = write_line(journal, &repetition, e);
    return rc == TT_OK ? append(r->report, &repetition, e) : rc;
}

static int run_round(struct runner *r, int journal, uint64_t round, bool *more, struct tt_error *e)
{
    size_t n = r->owner->npoints, *order = malloc((n + 1) * sizeof *order);
    int rc = order ? TT_OK : tt_fail_nomem(e, "the order");

    *more = false;
    if (rc == TT_OK)
        shuffle(order, n, r->rules->seed, round);
    for (size_t i = 0; i < n && rc == TT_OK && !r->report->out_of_budget; i++) {
        if (count(r, order[i], false) >= round || is_done(r, order[i]))
            continue;
        rc = run_one(r, journal, order[i], e);
    }
    for (size_t i = 0; i < n; i++)
        *more |= !is_done(r, i);
    *more &= rc == TT_OK && !r->report->out_of_budget;
    free(order);
    return rc;
}

int tt_runner_run(const char *directory, const struct tt_runner_rules *rules,
                  const struct tt_runner_owner *owner, struct tt_runner_report *report,
                  struct tt_error *e)
{
    struct runner r = {.rules = rules, .owner = owner, .report = report, .start_ns = tt_now_ns()};
    bool more = true;
    int journal, rc;

    *report = (struct tt_runner_report){0};
    rc = open_journal(directory, &journal, e);
    if (rc != TT_OK)
        return rc;
    rc = tt_journal_read(directory, owner->npoints, report, e);
    if (rc == TT_OK && owner->begin)
        rc = owner->begin(owner->context, report->list, report->n, e);
    for (uint64_t round = 1; rc == TT_OK && more; round++)
        rc = run_round(&r, journal, round, &more, e);
    close(journal);
    return rc;
}
