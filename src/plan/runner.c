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

/* The numbers of points by their names, as a JSON object; NULL without names. */
static int number_names(const char *const *names, size_t npoints, json_t **numbers,
                        struct tt_error *e)
{
    int failed = 0;

    *numbers = names ? json_object() : NULL;
    for (size_t i = 0; names && i < npoints; i++)
        failed |= json_object_set_new(*numbers, names[i], json_integer((json_int_t)i));
    return failed ? tt_fail_nomem(e, "the points") : TT_OK;
}

static int repetition_parse(const char *line, const json_t *numbers, size_t npoints,
                            struct tt_repetition *r)
{
    json_t *o = json_loads(line, 0, NULL);
    const char *directory = "", *why = "";
    const json_t *point = json_object_get(o, "point");
    json_int_t number, bytes, round = 0, index;
    int complete, rc;

    *r = (struct tt_repetition){0};
    rc = o ? json_unpack(o, "{s:I, s?I, s:b, s:F, s:I, s:s, s:s}", "number", &number, "round",
                         &round, "complete", &complete, "seconds", &r->seconds, "bytes", &bytes,
                         "directory", &directory, "why", &why)
           : -1;
    if (numbers && json_is_string(point))
        point = json_object_get(numbers, json_string_value(point));
    index = json_is_integer(point) ? json_integer_value(point) : -1;
    if (rc == 0 && (index < 0 || (size_t)index >= npoints || number < 1 || bytes < 0 || round < 0 ||
                    !directory[0] || directory[0] == '.' || strchr(directory, '/') ||
                    strlen(directory) >= sizeof r->directory))
        rc = -1;
    if (rc == 0) {
        r->point = (size_t)index;
        r->number = (uint64_t)number;
        r->round = (uint64_t)(round ? round : number); /* journals used to have none */
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
static int read_lines(FILE *in, const char *directory, const char *const *names, size_t npoints,
                      struct tt_runner_report *report, struct tt_error *e)
{
    char line[MAX_LINE];
    json_t *numbers;
    int rc = number_names(names, npoints, &numbers, e);

    for (unsigned n = 1; rc == TT_OK && fgets(line, sizeof line, in); n++) {
        struct tt_repetition r;
        bool whole = strchr(line, '\n') != NULL;

        if (!whole && feof(in))
            break;
        if (!whole || repetition_parse(line, numbers, npoints, &r) != 0)
            rc = tt_fail(e, TT_CORRUPT, "%s/" JOURNAL ":%u: is not a repetition that tutti wrote",
                         directory, n);
        else
            rc = append(report, &r, e);
    }
    json_decref(numbers);
    return rc;
}

int tt_journal_read(const char *directory, const char *const *names, size_t npoints,
                    struct tt_runner_report *report, struct tt_error *e)
{
    FILE *in = tt_directory_open_file(directory, JOURNAL);
    int rc;

    *report = (struct tt_runner_report){0};
    if (!in && errno == EINVAL)
        return tt_fail(e, TT_CORRUPT, "'%s/" JOURNAL "' is not a file that tutti wrote", directory);
    if (!in)
        return errno == ENOENT ? TT_OK : tt_directory_fail(directory, JOURNAL, errno, "open", e);
    rc = read_lines(in, directory, names, npoints, report, e);
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
static int write_line(int fd, const char *const *names, const struct tt_repetition *r,
                      struct tt_error *e)
{
    json_t *point = names ? json_string(names[r->point]) : json_integer((json_int_t)r->point);
    json_t *o = json_pack("{s:o, s:I, s:I, s:b, s:f, s:I, s:s, s:s}", "point", point, "number",
                          (json_int_t)r->number, "round", (json_int_t)r->round, "complete",
                          r->complete, "seconds", r->seconds, "bytes", (json_int_t)r->bytes,
                          "directory", r->directory, "why", r->why);
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

/* What the journal holds of a point, kept up with every line of it: a grid may have thousands. */
struct tally {
    uint64_t attempts, complete;
    uint64_t forgiven;       /* attempts of earlier calls that did not count */
    uint64_t counted;        /* complete ones with their base's beside them */
    uint64_t waiting;        /* complete ones of the last round whose base is still to come */
    uint64_t round, success; /* the last in which it was run, and was complete */
    double seconds;
    /* As it was looked at last: */
    uint64_t lacks; /* more repetitions the point itself needs, as far as it is known now */
    uint64_t later; /* rounds after this one that it needs, if all goes well in this one */
};

struct runner {
    const struct tt_runner_rules *rules;
    const struct tt_runner_owner *owner;
    struct tt_runner_report *report;
    struct tally *tallies;
    uint64_t *lacked, *later; /* the most that a point of each base lacks, and needs later */
    double seconds;           /* of all repetitions */
    uint64_t bytes, largest;
    int64_t start_ns;
};

static size_t base_of(const struct runner *r, size_t point)
{
    return r->owner->points ? r->owner->points[point].base : point;
}

/* A point's repetition counts when its base has been complete in the same round, in whichever order
 * the two were run. */
static void count(struct runner *r, const struct tt_repetition *one)
{
    struct tally *t = &r->tallies[one->point];
    size_t base = base_of(r, one->point);

    t->attempts++;
    t->seconds += one->seconds;
    r->seconds += one->seconds;
    r->bytes += one->bytes;
    r->largest = one->bytes > r->largest ? one->bytes : r->largest;
    if (t->round != one->round)
        t->waiting = 0;
    t->round = one->round;
    if (!one->complete)
        return;
    t->complete++;
    t->success = one->round;
    if (r->tallies[base].success == one->round)
        t->counted++;
    else
        t->waiting++;
    for (size_t i = 0; r->owner->points && base == one->point && i < r->owner->npoints; i++)
        if (base_of(r, i) == base && r->tallies[i].round == one->round) {
            r->tallies[i].counted += r->tallies[i].waiting;
            r->tallies[i].waiting = 0;
        }
}

static bool is_narrow(const struct runner *r, size_t point)
{
    double width = r->rules->width > 0
                       ? r->owner->width(r->owner->context, point, r->report->list, r->report->n)
                       : 0;

    return isfinite(width) && width <= r->rules->width;
}

static uint64_t repeat_of(const struct runner *r, size_t point)
{
    return r->owner->repeat ? r->owner->repeat[point] : r->rules->repeat;
}

static uint64_t lacks(const struct runner *r, size_t point)
{
    const struct tally *t = &r->tallies[point];
    uint64_t repeat = repeat_of(r, point), most = repeat;

    if (r->rules->width > 0 && r->rules->at_most > repeat)
        most = r->rules->at_most;
    if (t->counted >= most || t->attempts - t->forgiven >= most + SPARE_ATTEMPTS)
        return 0;
    if (t->counted < repeat)
        return repeat - t->counted;
    return !is_narrow(r, point);
}

static bool was_run(const struct runner *r, size_t point, uint64_t round)
{
    return r->tallies[point].round == round;
}

/* Every point once, and then what the points need that a point joins. */
static void look_at_points(struct runner *r, uint64_t round)
{
    for (size_t i = 0; i < r->owner->npoints; i++)
        r->lacked[i] = r->later[i] = 0;
    for (size_t i = 0; i < r->owner->npoints; i++) {
        struct tally *t = &r->tallies[i];
        size_t base = base_of(r, i);
        bool is_counted = was_run(r, i, round) && was_run(r, base, round);

        t->lacks = lacks(r, i);
        t->later = t->lacks - (t->lacks > 0 && !is_counted);
        r->lacked[base] = t->lacks > r->lacked[base] ? t->lacks : r->lacked[base];
        r->later[base] = t->later > r->later[base] ? t->later : r->later[base];
    }
}

static bool joins(const struct runner *r, size_t point)
{
    return r->owner->points && r->owner->points[point].joins;
}

static bool is_needed(const struct runner *r, size_t point)
{
    return (joins(r, point) ? r->lacked[base_of(r, point)] : r->tallies[point].lacks) > 0;
}

/* Repetitions of the point that are still to come. */
static uint64_t to_come(const struct runner *r, size_t point, uint64_t round)
{
    uint64_t later = joins(r, point) ? r->later[base_of(r, point)] : r->tallies[point].later;

    return later + (is_needed(r, point) && !was_run(r, point, round));
}

/* The point's own mean, or that of all as long as it has not been run. */
static double expected_seconds(const struct runner *r, size_t point)
{
    const struct tally *t = &r->tallies[point];

    if (t->attempts > 0)
        return t->seconds / (double)t->attempts;
    return r->report->n ? r->seconds / (double)r->report->n : 0;
}

static void look_around(struct runner *r, size_t point, uint64_t round, struct tt_runner_state *s)
{
    *s = (struct tt_runner_state){.point = point,
                                  .npoints = r->owner->npoints,
                                  .number = r->tallies[point].attempts + 1,
                                  .round = round,
                                  .elapsed = tt_seconds(tt_now_ns() - r->start_ns)};
    look_at_points(r, round);
    for (size_t i = 0; i < r->owner->npoints; i++) {
        uint64_t more = to_come(r, i, round);

        if (i == point && more == 0) /* it joined one that is done by now */
            more = 1;
        s->done += r->tallies[i].complete;
        s->planned += r->tallies[i].complete + more;
        s->left += (double)more * expected_seconds(r, i);
    }
    if (r->report->n == 0)
        s->left = -1;
}

static bool is_affordable(const struct runner *r, const struct tt_runner_state *s)
{
    struct tt_runner_report *report = r->report;
    double time = s->elapsed + expected_seconds(r, s->point);
    char a[TT_UNIT_TEXT], b[TT_UNIT_TEXT];

    if (r->rules->max_time > 0 && time > r->rules->max_time)
        snprintf(report->why, sizeof report->why, "another repetition would exceed --max-time %s",
                 tt_format_seconds(r->rules->max_time, a));
    else if (r->rules->max_bytes > 0 && r->bytes + r->largest > r->rules->max_bytes)
        snprintf(report->why, sizeof report->why,
                 "%s were written; another repetition would exceed --max-bytes %s",
                 tt_format_bytes((double)r->bytes, b),
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

static int run_one(struct runner *r, int journal, size_t point, uint64_t round, struct tt_error *e)
{
    struct tt_repetition repetition = {.point = point, .round = round};
    struct tt_runner_state state;
    int64_t start = tt_now_ns();
    int rc;

    look_around(r, point, round, &state);
    if (!is_affordable(r, &state))
        return TT_OK;
    repetition.number = state.number;
    rc = r->owner->run(r->owner->context, &state, &repetition, e);
    if (rc != TT_OK)
        return rc;
    repetition.seconds = tt_seconds(tt_now_ns() - start);
    rc = write_line(journal, r->owner->names, &repetition, e);
    if (rc == TT_OK)
        rc = append(r->report, &repetition, e);
    if (rc == TT_OK)
        count(r, &repetition);
    return rc;
}

/* What joins others is decided before the round begins: the last of them may be done within it. */
static int run_round(struct runner *r, int journal, uint64_t round, bool *more, struct tt_error *e)
{
    size_t n = r->owner->npoints, *order = malloc((n + 1) * sizeof *order);
    bool *wanted = calloc(n + 1, sizeof *wanted);
    int rc = order && wanted ? TT_OK : tt_fail_nomem(e, "the order");

    *more = false;
    if (rc == TT_OK)
        shuffle(order, n, r->rules->seed, round);
    look_at_points(r, round);
    for (size_t i = 0; i < n && rc == TT_OK; i++)
        wanted[i] = is_needed(r, i) && !was_run(r, i, round);
    for (size_t i = 0; i < n && rc == TT_OK && !r->report->out_of_budget; i++)
        if (wanted[order[i]])
            rc = run_one(r, journal, order[i], round, e);
    look_at_points(r, round);
    for (size_t i = 0; i < n && rc == TT_OK && !*more; i++)
        *more = is_needed(r, i);
    *more &= !r->report->out_of_budget;
    free(order);
    free(wanted);
    return rc;
}

/* All rounds, from the one that the journal ends with. */
static int run_rounds(struct runner *r, int journal, struct tt_error *e)
{
    const struct tt_runner_report *report = r->report;
    uint64_t round = report->n > 0 ? report->list[report->n - 1].round : 1;
    size_t n = r->owner->npoints + 1;
    bool more = true;
    int rc;

    r->tallies = calloc(n, sizeof *r->tallies);
    r->lacked = calloc(n, sizeof *r->lacked);
    r->later = calloc(n, sizeof *r->later);
    rc = r->tallies && r->lacked && r->later ? TT_OK : tt_fail_nomem(e, "the points");
    for (size_t i = 0; rc == TT_OK && i < report->n; i++)
        count(r, &report->list[i]);
    for (size_t i = 0; rc == TT_OK && r->rules->retry && i < r->owner->npoints; i++)
        r->tallies[i].forgiven = r->tallies[i].attempts - r->tallies[i].counted;
    for (; rc == TT_OK && more; round++)
        rc = run_round(r, journal, round, &more, e);
    free(r->tallies);
    free(r->lacked);
    free(r->later);
    return rc;
}

int tt_runner_run(const char *directory, const struct tt_runner_rules *rules,
                  const struct tt_runner_owner *owner, struct tt_runner_report *report,
                  struct tt_error *e)
{
    struct runner r = {.rules = rules, .owner = owner, .report = report, .start_ns = tt_now_ns()};
    int journal, rc;

    *report = (struct tt_runner_report){0};
    rc = open_journal(directory, &journal, e);
    if (rc != TT_OK)
        return rc;
    rc = tt_journal_read(directory, owner->names, owner->npoints, report, e);
    if (rc == TT_OK && owner->begin)
        rc = owner->begin(owner->context, report->list, report->n, e);
    if (rc == TT_OK)
        rc = run_rounds(&r, journal, e);
    close(journal);
    return rc;
}
