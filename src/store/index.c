/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From run directories to rows, in one transaction. Links are not followed, so there are no
 * circles. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/json.h"
#include "base/text.h"
#include "build_info.h"
#include "plan/directory.h"
#include "plan/registry.h"
#include "spec/units.h"
#include "store/private.h"

/* Directories may be grouped, but a whole disk is no results directory. */
#define MAX_DEPTH 4
#define STAMP_TEXT 256
#define MAX_KEY 4096

enum {
    FIND,
    FIND_REFUSED,
    FORGET,
    FORGET_REFUSED,
    SEEN,
    REFUSE,
    ADD_NAME,
    FIND_NAME,
    ADD_RUN,
    ADD_VALUE,
    NSTATEMENTS
};
static const char *const statements[NSTATEMENTS] = {
    [FIND] = "SELECT stamp FROM run WHERE directory = ?",
    [FIND_REFUSED] = "SELECT stamp, why FROM refused WHERE directory = ?",
    [FORGET] = "DELETE FROM run WHERE directory = ?",
    [FORGET_REFUSED] = "DELETE FROM refused WHERE directory = ?",
    [SEEN] = "INSERT OR IGNORE INTO temp.seen VALUES(?)",
    [REFUSE] = "INSERT OR REPLACE INTO refused(directory, stamp, why) VALUES(?, ?, ?)",
    [ADD_NAME] = "INSERT OR IGNORE INTO name(kind, key, unit) VALUES(?, ?, ?)",
    [FIND_NAME] = "SELECT id FROM name WHERE kind = ? AND key = ? AND unit = ?",
    [ADD_RUN] =
        "INSERT INTO run(directory, id, label, workload, plan, status, valid, ranks, start, "
        "stamp) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [ADD_VALUE] = "INSERT OR REPLACE INTO named(run, name, text, number) VALUES(?, ?, ?, ?)",
};

/* The name that stood at some place of the last run: that of the next run is most often the same.
 */
struct guess {
    const char *key, *unit; /* of scan.names */
    int64_t id;
};
#define GUESSES 256

struct scan {
    struct tt_store *s;
    struct tt_index_report *report;
    struct tt_error *e;
    int results; /* the directory, open */
    bool any_refused;
    size_t npending;
    struct pending {
        char stamp[STAMP_TEXT];
        bool had_result;
    } * pending;
    char **paths; /* of those */
    sqlite3_stmt *q[NSTATEMENTS];
    int64_t run;                              /* whose values are being added */
    json_t *names[TT_STORED_ENVIRONMENT + 1]; /* {"key": {"unit": id}} of those met so far */
    struct guess guesses[GUESSES];
    size_t place; /* of the value of this run that comes next */
};

/* What is bound lives until the statement has been run. */
static void bind_text(sqlite3_stmt *q, int at, const char *text)
{
    sqlite3_bind_text(q, at, text, -1, SQLITE_STATIC);
}

static int with_directory(struct scan *c, int statement, const char *directory)
{
    bind_text(c->q[statement], 1, directory);
    return tt__sql_step(c->s, c->q[statement], c->e);
}

/* ---- values ---- */

static int number_name(struct scan *c, enum tt_stored kind, const char *key, const char *unit,
                       int64_t *id)
{
    sqlite3_stmt *q[] = {c->q[ADD_NAME], c->q[FIND_NAME]};
    int rc;

    for (int i = 0; i < 2; i++) {
        bind_text(q[i], 1, tt__stored_names[kind]);
        bind_text(q[i], 2, key);
        bind_text(q[i], 3, unit);
    }
    rc = tt__sql_step(c->s, q[0], c->e);
    if (rc == TT_OK && sqlite3_step(q[1]) != SQLITE_ROW)
        rc = tt__sql_fail(c->s, c->e);
    *id = sqlite3_column_int64(q[1], 0);
    sqlite3_reset(q[1]);
    return rc;
}

/* Asking the database for each of a million would take longer than all else. */
static int find_name(struct scan *c, enum tt_stored kind, const char *key, const char *unit,
                     struct guess *found)
{
    json_t *units = json_object_get(c->names[kind], key);
    int rc;

    if (!units && json_object_set_new(c->names[kind], key, units = json_object()) != 0)
        return tt_fail_nomem(c->e, "the index");
    if (!json_object_get(units, unit)) {
        rc = number_name(c, kind, key, unit, &found->id);
        if (rc != TT_OK)
            return rc;
        if (json_object_set_new(units, unit, json_integer(found->id)) != 0)
            return tt_fail_nomem(c->e, "the index");
    }
    found->key = json_object_iter_key(json_object_iter_at(c->names[kind], key));
    found->unit = json_object_iter_key(json_object_iter_at(units, unit));
    found->id = tt_integer_of(units, unit);
    return TT_OK;
}

/* The unit of a parameter is that of the table it stands in, which takes a while to find.
 * Parameters of modules are described by the plan itself. */
static const char *parameter_unit(struct scan *c, const json_t *plan, const char *key)
{
    json_t *known = json_object_get(c->names[TT_STORED_PARAMETERS], key);
    const struct tt_param *p = known ? NULL : tt_find_param(key);

    if (known)
        return json_object_iter_key(json_object_iter(known));
    if (p)
        return p->unit ? p->unit : "";
    return tt_text_of(json_object_get(json_object_get(plan, "described"), key), "unit");
}

/* The number of a name; unit NULL: that of a parameter. */
static int look_up_name(struct scan *c, enum tt_stored kind, const char *key, const char *unit,
                        const json_t *plan, int64_t *id)
{
    struct guess *g = &c->guesses[c->place++ % GUESSES], found;
    bool same = g->key && !strcmp(g->key, key) && (!unit || !strcmp(g->unit, unit));
    int rc =
        same ? TT_OK : find_name(c, kind, key, unit ? unit : parameter_unit(c, plan, key), &found);

    if (rc == TT_OK && !same)
        *g = found;
    *id = g->id;
    return rc;
}

/* A number needs no text; a text that is a number can be compared as one. */
static int add_value(struct scan *c, enum tt_stored kind, const char *key, const json_t *value,
                     const char *unit, const json_t *plan)
{
    bool measured = kind == TT_STORED_METRICS || kind == TT_STORED_PHASES;
    const char *text = json_string_value(value);
    sqlite3_stmt *q = c->q[ADD_VALUE];
    double number = json_number_value(value);
    char *made = NULL;
    int64_t name;
    int rc = look_up_name(c, kind, key, unit, plan, &name);

    if (rc != TT_OK)
        return rc;
    if (!text && !json_is_null(value) && !(measured && json_is_number(value)) &&
        !(text = made = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS |
                                              JSON_REAL_PRECISION(17))))
        return tt_fail_nomem(c->e, "the index");
    sqlite3_bind_int64(q, 1, c->run);
    sqlite3_bind_int64(q, 2, name);
    bind_text(q, 3, text);
    if (json_is_number(value) ||
        (json_is_string(value) && tt_parse_real(text, &number, NULL) == TT_OK))
        sqlite3_bind_double(q, 4, number);
    else
        sqlite3_bind_null(q, 4);
    rc = tt__sql_step(c->s, q, c->e);
    free(made);
    return rc;
}

static int add_parameters(struct scan *c, const json_t *plan)
{
    json_t *parameters = json_object_get(plan, "parameters"), *value;
    const char *key;
    int rc = TT_OK;

    json_object_foreach(parameters, key, value)
    {
        if (rc == TT_OK)
            rc = add_value(c, TT_STORED_PARAMETERS, key, value, NULL, plan);
    }
    return rc;
}

static int add_metrics(struct scan *c, const json_t *metrics)
{
    const char *key;
    json_t *metric;
    int rc = TT_OK;

    json_object_foreach((json_t *)metrics, key, metric)
    {
        const char *unit = tt_text_of(metric, "unit");

        if (rc == TT_OK)
            rc = add_value(c, TT_STORED_METRICS, key, json_object_get(metric, "value"), unit, NULL);
    }
    return rc;
}

/* {"data": {"size": 1}} as "data.size"; prefix has room for a key behind its first n bytes. */
static int add_nested(struct scan *c, enum tt_stored kind, char prefix[MAX_KEY], size_t n,
                      const json_t *group, const char *unit)
{
    const char *key;
    json_t *value;
    int rc = TT_OK;

    json_object_foreach((json_t *)group, key, value)
    {
        size_t length = strlen(key);

        if (rc != TT_OK || n + length + 2 > MAX_KEY)
            break;
        memcpy(prefix + n, key, length + 1);
        if (json_is_object(value)) {
            memcpy(prefix + n + length, ".", 2);
            rc = add_nested(c, kind, prefix, n + length + 1, value, unit);
        } else {
            rc = add_value(c, kind, prefix, value, unit, NULL);
        }
    }
    return rc;
}

/* ---- runs ---- */

/* The first rank's start; a run without one began when its directory was made, which its id tells.
 */
static double start_of(const json_t *result, const char *id)
{
    json_int_t first = 0, start;
    struct tm utc = {0};
    const json_t *rank;
    size_t i;

    json_array_foreach(json_object_get(result, "ranks"), i, rank)
    {
        start = tt_integer_of(rank, "start_wall_ns");
        if (start > 0 && (!first || start < first))
            first = start;
    }
    if (!first && strptime(id, "%Y%m%dT%H%M%SZ", &utc))
        return (double)timegm(&utc);
    return (double)first * 1e-9;
}

static int add_run(struct scan *c, const char *directory, const char *stamp, const json_t *plan,
                   const json_t *result)
{
    const char *id = tt_text_of(plan, "id");
    const char *label = tt_text_of(json_object_get(plan, "parameters"), "label");
    sqlite3_stmt *q = c->q[ADD_RUN];
    char key[MAX_KEY];
    int rc;

    id = *id ? id : tt_directory_id(directory);
    bind_text(q, 1, directory);
    bind_text(q, 2, id);
    bind_text(q, 3, label);
    bind_text(q, 4, tt_text_of(plan, "workload"));
    bind_text(q, 5, tt_text_of(plan, "hash"));
    bind_text(q, 6, tt_text_of(result, "status"));
    sqlite3_bind_int(q, 7, tt_is_true(result, "valid"));
    sqlite3_bind_int64(q, 8, tt_integer_of(plan, "ranks"));
    sqlite3_bind_double(q, 9, start_of(result, id));
    bind_text(q, 10, stamp);
    rc = tt__sql_step(c->s, q, c->e);
    c->run = sqlite3_last_insert_rowid(c->s->db);
    c->place = 0;
    if (rc == TT_OK)
        rc = add_parameters(c, plan);
    if (rc == TT_OK)
        rc = add_metrics(c, json_object_get(result, "metrics"));
    if (rc == TT_OK)
        rc = add_nested(c, TT_STORED_PHASES, key, 0, json_object_get(result, "phases"), "s");
    if (rc == TT_OK)
        rc = add_nested(c, TT_STORED_ENVIRONMENT, key, 0, json_object_get(result, "environment"),
                        "");
    return rc;
}

/* A file as it was last changed, by whoever and however. */
static bool add_stamp(int results, const char *file, char *stamp, size_t *used)
{
    struct stat st = {0};
    bool there = file && fstatat(results, file, &st, 0) == 0;

    *used +=
        (size_t)snprintf(stamp + *used, STAMP_TEXT - *used, "%llx.%lx:%llx:%llx ",
                         (unsigned long long)st.st_ctim.tv_sec, (unsigned long)st.st_ctim.tv_nsec,
                         (unsigned long long)st.st_size, (unsigned long long)st.st_ino);
    return there;
}

/* Plan and result; whether they are there. */
static void make_stamp(const struct scan *c, const char *directory, char *stamp, bool *plan,
                       bool *result)
{
    char *file = tt_directory_path(directory, "plan.json");
    struct stat st;
    size_t used = 0;

    *plan = add_stamp(c->results, file, stamp, &used) || /* or a link that leads nowhere */
            (file && fstatat(c->results, file, &st, AT_SYMLINK_NOFOLLOW) == 0);
    free(file);
    *result = false;
    if (!*plan)
        return;
    file = tt_directory_path(directory, "result.json");
    *result = add_stamp(c->results, file, stamp, &used);
    free(file);
}

/* Whatever may have been the reason: also the other files that results are made of, and this
 * program. */
static void make_refused_stamp(const struct scan *c, const char *directory, char *stamp)
{
    char *outcome = tt_directory_path(directory, "outcome.json"),
         *records = tt_directory_path(directory, "records");
    int fd = records ? openat(c->results, records, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    size_t used = strlen(stamp);
    unsigned long long all = 0; /* in no order: a sum */
    struct dirent *entry;

    add_stamp(c->results, outcome, stamp, &used);
    while (d && (entry = readdir(d))) {
        char one[STAMP_TEXT];
        size_t length = 0;

        if (strcmp(entry->d_name, "..") != 0 && add_stamp(fd, entry->d_name, one, &length))
            all += XXH3_64bits(one, length);
    }
    snprintf(stamp + used, STAMP_TEXT - used, "%llx %.80s", all, TT_VERSION " " TT_REVISION);
    if (d)
        closedir(d);
    else if (fd >= 0)
        close(fd);
    free(outcome);
    free(records);
}

static bool is_known(struct scan *c, int statement, const char *directory, const char *stamp)
{
    const char *known;

    bind_text(c->q[statement], 1, directory);
    return sqlite3_step(c->q[statement]) == SQLITE_ROW &&
           (known = (const char *)sqlite3_column_text(c->q[statement], 0)) && !strcmp(known, stamp);
}

static void refuse(struct scan *c, const char *directory, const char *why)
{
    json_t *name = tt_json_text(directory); /* a name need not be UTF-8 */

    if (name)
        json_object_set_new(c->s->refused, json_string_value(name), tt_json_text(why));
    json_decref(name);
    c->report->refused++;
}

static int refuse_anew(struct scan *c, const char *directory, const char *stamp,
                       const struct tt_error *e)
{
    char why[1024];

    tt_error_format(e, why, sizeof why);
    refuse(c, directory, why);
    bind_text(c->q[REFUSE], 2, stamp);
    bind_text(c->q[REFUSE], 3, why);
    return with_directory(c, REFUSE, directory);
}

/* A directory that is to be read, when all have been looked at. */
static int put_off(struct scan *c, const char *directory, const char *stamp, bool had_result)
{
    bool full = (c->npending & (c->npending - 1)) == 0; /* 0, 1, 2, 4, ... */
    size_t room = 2 * (c->npending + 1);
    struct pending *grown = full ? realloc(c->pending, room * sizeof *c->pending) : c->pending;
    char **paths = full && grown ? realloc(c->paths, room * sizeof *c->paths) : c->paths;
    char *path = tt_directory_path(c->s->results, directory);

    c->pending = grown ? grown : c->pending;
    c->paths = paths ? paths : c->paths;
    if (!grown || !paths || !path) {
        free(path);
        return tt_fail_nomem(c->e, "the index");
    }
    c->paths[c->npending] = path;
    grown[c->npending] = (struct pending){.had_result = had_result};
    snprintf(grown[c->npending++].stamp, STAMP_TEXT, "%s", stamp);
    return TT_OK;
}

/* What is wrong with a directory is its own affair; only what concerns the index ends the scan. */
static int take_run(void *context, size_t i, const struct tt__run *run)
{
    struct scan *c = context;
    struct pending *p = &c->pending[i];
    const char *directory = c->paths[i] + strlen(c->s->results) + 1;
    int rc = run->rc;

    if (rc == TT_OK) {
        bool there;

        if (!p->had_result) /* it was made just now */
            make_stamp(c, directory, p->stamp, &there, &p->had_result);
        rc = add_run(c, directory, p->stamp, run->plan, run->result);
        c->report->added++;
    } else if (rc == TT_NOMEM) {
        *c->e = run->why;
    } else if (rc == TT_BUSY) {
        c->report->unfinished++;
        rc = TT_OK;
    } else {
        make_refused_stamp(c, directory, p->stamp);
        rc = refuse_anew(c, directory, p->stamp, &run->why);
    }
    return rc == TT_OK ? with_directory(c, SEEN, directory) : rc;
}

static int index_directory(struct scan *c, const char *directory, char *stamp, bool done)
{
    char wide[STAMP_TEXT];
    bool run = done && is_known(c, FIND, directory, stamp), refused = false;
    int rc;

    sqlite3_reset(c->q[FIND]);
    if (run) {
        c->report->kept++;
        return with_directory(c, SEEN, directory);
    }
    if (c->any_refused) {
        snprintf(wide, sizeof wide, "%s", stamp);
        make_refused_stamp(c, directory, wide);
        refused = is_known(c, FIND_REFUSED, directory, wide);
        if (refused)
            refuse(c, directory, (const char *)sqlite3_column_text(c->q[FIND_REFUSED], 1));
        sqlite3_reset(c->q[FIND_REFUSED]);
    }
    if (refused)
        return with_directory(c, SEEN, directory);
    rc = with_directory(c, FORGET, directory);
    if (rc == TT_OK)
        rc = with_directory(c, FORGET_REFUSED, directory);
    return rc == TT_OK ? put_off(c, directory, stamp, done) : rc;
}

/* ---- the directories below results ---- */

static int visit(struct scan *c, const char *directory, int depth);

static bool is_directory(DIR *d, const struct dirent *entry)
{
    struct stat st;

    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static int visit_below(struct scan *c, const char *directory, int depth)
{
    int fd = openat(c->results, *directory ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry;
    int rc = TT_OK;

    if (!d) {
        char why[256];

        if (fd >= 0)
            close(fd);
        if (depth == 0)
            return tt_fail_call(c->e, errno, "opendir", c->s->results, -1);
        snprintf(why, sizeof why, "opendir: %s", strerror(errno));
        refuse(c, directory, why);
        return TT_OK;
    }
    while (rc == TT_OK && (entry = readdir(d))) {
        char *below;

        if (entry->d_name[0] == '.' || !is_directory(d, entry))
            continue;
        if (asprintf(&below, "%s%s%s", directory, *directory ? "/" : "", entry->d_name) < 0)
            rc = tt_fail_nomem(c->e, "a path");
        else {
            rc = visit(c, below, depth + 1);
            free(below);
        }
    }
    closedir(d);
    return rc;
}

static int visit(struct scan *c, const char *directory, int depth)
{
    bool plan = false, result = false;
    char stamp[STAMP_TEXT];

    if (depth > 0)
        make_stamp(c, directory, stamp, &plan, &result);
    if (plan)
        return index_directory(c, directory, stamp, result);
    return depth < MAX_DEPTH ? visit_below(c, directory, depth) : TT_OK;
}

/* ---- all of it ---- */

static int prepare(struct scan *c, bool rebuild)
{
    int64_t refused = 0;
    int rc = tt__sql_run(c->s,
                         "CREATE TEMP TABLE IF NOT EXISTS seen(directory TEXT PRIMARY KEY);"
                         "DELETE FROM temp.seen",
                         c->e);

    if (rc == TT_OK && rebuild)
        rc = tt__sql_run(
            c->s, "DELETE FROM named; DELETE FROM name; DELETE FROM run; DELETE FROM refused",
            c->e);
    if (rc == TT_OK)
        rc = tt__sql_integer(c->s, "SELECT count(*) FROM refused", &refused, c->e);
    c->any_refused = refused > 0;
    for (int i = 0; i < NSTATEMENTS && rc == TT_OK; i++)
        if (!(c->q[i] = tt__sql_prepare(c->s, statements[i], c->e)))
            rc = c->e->code;
    for (int i = 0; i <= TT_STORED_ENVIRONMENT && rc == TT_OK; i++)
        if (!(c->names[i] = json_object()))
            rc = tt_fail_nomem(c->e, "the index");
    c->results = rc == TT_OK ? open(c->s->results, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (rc == TT_OK && c->results < 0)
        rc = tt_fail_call(c->e, errno, "open", c->s->results, -1);
    return rc;
}

/* Names that no run has any more are no keys to ask for. */
static int remove_unseen(struct scan *c)
{
    int rc = tt__sql_run(
        c->s, "DELETE FROM run WHERE directory NOT IN (SELECT directory FROM temp.seen)", c->e);

    c->report->removed = (uint64_t)sqlite3_changes64(c->s->db);
    if (rc == TT_OK && c->report->removed > 0)
        rc = tt__sql_run(c->s, "DELETE FROM name WHERE id NOT IN (SELECT name FROM named)", c->e);
    if (rc == TT_OK)
        rc = tt__sql_run(
            c->s, "DELETE FROM refused WHERE directory NOT IN (SELECT directory FROM temp.seen)",
            c->e);
    return rc;
}

static int update(struct scan *c, bool rebuild)
{
    int rc = prepare(c, rebuild);

    if (rc == TT_OK)
        rc = visit(c, "", 0);
    if (rc == TT_OK)
        rc = tt__runs_read(c->npending, c->paths, take_run, c);
    if (rc == TT_NOMEM)
        tt_fail_nomem(c->e, "the index");
    if (rc == TT_OK)
        rc = remove_unseen(c);
    for (size_t i = 0; i < c->npending; i++)
        free(c->paths[i]);
    free(c->paths);
    free(c->pending);
    for (int i = 0; i < NSTATEMENTS; i++)
        sqlite3_finalize(c->q[i]);
    for (int i = 0; i <= TT_STORED_ENVIRONMENT; i++)
        json_decref(c->names[i]);
    if (c->results >= 0)
        close(c->results);
    return rc;
}

int tt_store_index(struct tt_store *s, bool rebuild, struct tt_index_report *report,
                   struct tt_error *e)
{
    struct scan c = {.s = s, .report = report, .e = e, .results = -1};
    int rc = tt__sql_run(s, "BEGIN IMMEDIATE", e);

    *report = (struct tt_index_report){0};
    json_object_clear(s->refused);
    if (rc != TT_OK)
        return rc;
    rc = update(&c, rebuild);
    if (rc == TT_OK)
        rc = tt__sql_run(s, "COMMIT", e);
    if (rc != TT_OK)
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    return rc;
}
