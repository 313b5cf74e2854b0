/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From run folders to rows, in one transaction. Links are not followed, so there are no circles. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/text.h"
#include "plan/folder.h"
#include "plan/registry.h"
#include "spec/units.h"
#include "store/private.h"

/* Folders may be grouped, but a whole disk is no results folder. */
#define MAX_DEPTH 4

enum { FIND, FORGET, SEEN, ADD_RUN, ADD_VALUE, NSTATEMENTS };
static const char *const statements[NSTATEMENTS] = {
    [FIND] = "SELECT stamp FROM run WHERE folder = ?",
    [FORGET] = "DELETE FROM run WHERE folder = ?",
    [SEEN] = "INSERT OR IGNORE INTO temp.seen VALUES(?)",
    [ADD_RUN] = "INSERT INTO run(folder, id, label, workload, plan, status, valid, ranks, start, "
                "stamp) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [ADD_VALUE] = "INSERT OR REPLACE INTO value(run, kind, key, text, number, unit) "
                  "VALUES(?, ?, ?, ?, ?, ?)",
};

struct scan {
    struct tt_store *s;
    struct tt_index_report *report;
    struct tt_error *e;
    sqlite3_stmt *q[NSTATEMENTS];
    int64_t run; /* whose values are being added */
};

static void bind_text(sqlite3_stmt *q, int at, const char *text)
{
    sqlite3_bind_text(q, at, text, -1, SQLITE_TRANSIENT);
}

static int with_folder(struct scan *c, int statement, const char *folder)
{
    bind_text(c->q[statement], 1, folder);
    return tt__sql_step(c->s, c->q[statement], c->e);
}

/* ---- values ---- */

/* The text of a scalar; anything else as JSON. Caller frees. */
static char *text_of(const json_t *value)
{
    return json_is_string(value) ? strdup(json_string_value(value))
                                 : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT |
                                                         JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
}

static int add_value(struct scan *c, enum tt_stored kind, const char *key, const json_t *value,
                     const char *unit)
{
    sqlite3_stmt *q = c->q[ADD_VALUE];
    struct tt_error ignored = TT_ERROR_CLEAR;
    char *text = text_of(value);
    double number;
    int rc;

    if (!text)
        return tt_fail_nomem(c->e, "the index");
    sqlite3_bind_int64(q, 1, c->run);
    bind_text(q, 2, tt__stored_names[kind]);
    bind_text(q, 3, key);
    bind_text(q, 4, json_is_null(value) ? NULL : text);
    if (json_is_number(value))
        sqlite3_bind_double(q, 5, json_number_value(value));
    else if (json_is_string(value) && tt_parse_real(text, &number, &ignored) == TT_OK)
        sqlite3_bind_double(q, 5, number);
    else
        sqlite3_bind_null(q, 5);
    bind_text(q, 6, unit);
    rc = tt__sql_step(c->s, q, c->e);
    free(text);
    return rc;
}

/* Parameters of modules are described by the plan itself. */
static int add_parameters(struct scan *c, const json_t *plan)
{
    const json_t *described = json_object_get(plan, "described");
    json_t *parameters = json_object_get(plan, "parameters");
    const char *key;
    json_t *value;
    int rc = TT_OK;

    json_object_foreach(parameters, key, value)
    {
        const struct tt_param *p = tt_find_param(key);
        const char *unit =
            p ? p->unit
              : json_string_value(json_object_get(json_object_get(described, key), "unit"));

        if (rc == TT_OK)
            rc = add_value(c, TT_STORED_PARAMETERS, key, value, unit ? unit : "");
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
        const char *unit = json_string_value(json_object_get(metric, "unit"));

        if (rc == TT_OK)
            rc = add_value(c, TT_STORED_METRICS, key, json_object_get(metric, "value"), unit);
    }
    return rc;
}

/* {"data": {"size": 1}} as "data.size". */
static int add_nested(struct scan *c, enum tt_stored kind, const char *prefix, const json_t *group,
                      const char *unit)
{
    const char *key;
    json_t *value;
    int rc = TT_OK;

    json_object_foreach((json_t *)group, key, value)
    {
        char *full;

        if (rc != TT_OK)
            break;
        if (asprintf(&full, "%s%s%s", prefix, *prefix ? "." : "", key) < 0)
            return tt_fail_nomem(c->e, "the index");
        rc = json_is_object(value) ? add_nested(c, kind, full, value, unit)
                                   : add_value(c, kind, full, value, unit);
        free(full);
    }
    return rc;
}

/* ---- runs ---- */

/* The first rank's start; a run without one began when its folder was made, which its id tells. */
static double start_of(const json_t *result, const char *id)
{
    json_int_t first = 0, start;
    struct tm utc = {0};
    const json_t *rank;
    size_t i;

    json_array_foreach(json_object_get(result, "ranks"), i, rank)
    {
        start = json_integer_value(json_object_get(rank, "start_wall_ns"));
        if (start > 0 && (!first || start < first))
            first = start;
    }
    if (!first && strptime(id, "%Y%m%dT%H%M%SZ", &utc))
        return (double)timegm(&utc);
    return (double)first * 1e-9;
}

static int add_run(struct scan *c, const char *folder, const char *stamp, const json_t *plan,
                   const json_t *result)
{
    const json_t *parameters = json_object_get(plan, "parameters");
    const char *id = json_string_value(json_object_get(plan, "id"));
    const char *label = json_string_value(json_object_get(parameters, "label"));
    sqlite3_stmt *q = c->q[ADD_RUN];
    int rc;

    id = id ? id : tt_folder_id(folder);
    bind_text(q, 1, folder);
    bind_text(q, 2, id);
    bind_text(q, 3, label ? label : "");
    bind_text(q, 4, json_string_value(json_object_get(plan, "workload")));
    bind_text(q, 5, json_string_value(json_object_get(plan, "hash")));
    bind_text(q, 6, json_string_value(json_object_get(result, "status")));
    sqlite3_bind_int(q, 7, json_is_true(json_object_get(result, "valid")));
    sqlite3_bind_int64(q, 8, json_integer_value(json_object_get(plan, "ranks")));
    sqlite3_bind_double(q, 9, start_of(result, id));
    bind_text(q, 10, stamp);
    rc = tt__sql_step(c->s, q, c->e);
    c->run = sqlite3_last_insert_rowid(c->s->db);
    if (rc == TT_OK)
        rc = add_parameters(c, plan);
    if (rc == TT_OK)
        rc = add_metrics(c, json_object_get(result, "metrics"));
    if (rc == TT_OK)
        rc = add_nested(c, TT_STORED_PHASES, "", json_object_get(result, "phases"), "s");
    if (rc == TT_OK)
        rc = add_nested(c, TT_STORED_ENVIRONMENT, "", json_object_get(result, "environment"), "");
    return rc;
}

/* Plan and result as last written; *done: there is a result. */
static void make_stamp(const char *path, char *stamp, size_t size, bool *done)
{
    static const char *const names[] = {"plan.json", "result.json"};
    size_t used = 0;

    *done = false;
    for (int i = 0; i < 2; i++) {
        char *file = tt_folder_path(path, names[i]);
        struct stat st = {0};

        *done = file && stat(file, &st) == 0;
        used += (size_t)snprintf(stamp + used, size - used, "%lld.%09ld:%lld ",
                                 (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
                                 (long long)st.st_size);
        free(file);
    }
}

static bool is_known(struct scan *c, const char *folder, const char *stamp)
{
    const char *known;
    bool same;

    bind_text(c->q[FIND], 1, folder);
    same = sqlite3_step(c->q[FIND]) == SQLITE_ROW &&
           (known = (const char *)sqlite3_column_text(c->q[FIND], 0)) && !strcmp(known, stamp);
    sqlite3_reset(c->q[FIND]);
    return same;
}

static void refuse(struct scan *c, const char *folder, const struct tt_error *e)
{
    json_t *name = tt_json_text(folder); /* a name need not be UTF-8 */
    char why[1024];

    tt_error_format(e, why, sizeof why);
    if (name)
        json_object_set_new(c->s->refused, json_string_value(name), tt_json_text(why));
    json_decref(name);
    c->report->refused++;
}

/* What is wrong with a folder is its own affair; only what concerns the index ends the scan. */
static int read_folder(struct scan *c, const char *folder, const char *path, char *stamp,
                       size_t size, bool had_result)
{
    struct tt_error why = TT_ERROR_CLEAR;
    json_t *plan = NULL, *result = NULL;
    int rc = tt__run_read(path, &plan, &result, &why);

    if (rc == TT_OK) {
        if (!had_result) /* it was made just now */
            make_stamp(path, stamp, size, &had_result);
        rc = add_run(c, folder, stamp, plan, result);
        if (rc == TT_OK)
            rc = with_folder(c, SEEN, folder);
        c->report->added++;
    } else if (rc == TT_NOMEM) {
        *c->e = why;
    } else if (rc == TT_BUSY) {
        c->report->unfinished++;
        rc = TT_OK;
    } else {
        refuse(c, folder, &why);
        rc = TT_OK;
    }
    json_decref(plan);
    json_decref(result);
    return rc;
}

static int index_folder(struct scan *c, const char *folder, const char *path)
{
    char stamp[160];
    bool done;
    int rc;

    make_stamp(path, stamp, sizeof stamp, &done);
    if (done && is_known(c, folder, stamp)) {
        c->report->kept++;
        return with_folder(c, SEEN, folder);
    }
    rc = with_folder(c, FORGET, folder);
    return rc == TT_OK ? read_folder(c, folder, path, stamp, sizeof stamp, done) : rc;
}

/* ---- the folders below results ---- */

static bool exists(const char *path, const char *name)
{
    char *full = tt_folder_path(path, name);
    struct stat st;
    bool there = full && lstat(full, &st) == 0;

    free(full);
    return there;
}

static int visit(struct scan *c, const char *folder, int depth);

static int visit_below(struct scan *c, const char *folder, const char *path, int depth)
{
    DIR *d = opendir(path);
    struct tt_error why = TT_ERROR_CLEAR;
    struct dirent *entry;
    struct stat st;
    int rc = TT_OK;

    if (!d) {
        tt_fail_call(&why, errno, "opendir", path, -1);
        if (depth == 0)
            *c->e = why;
        else
            refuse(c, folder, &why);
        return depth == 0 ? why.code : TT_OK;
    }
    while (rc == TT_OK && (entry = readdir(d))) {
        char *below;

        if (entry->d_name[0] == '.' ||
            fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(st.st_mode))
            continue;
        if (asprintf(&below, "%s%s%s", folder, *folder ? "/" : "", entry->d_name) < 0)
            rc = tt_fail_nomem(c->e, "a path");
        else {
            rc = visit(c, below, depth + 1);
            free(below);
        }
    }
    closedir(d);
    return rc;
}

static int visit(struct scan *c, const char *folder, int depth)
{
    char *path = *folder ? tt_folder_path(c->s->results, folder) : strdup(c->s->results);
    int rc = TT_OK;

    if (!path)
        return tt_fail_nomem(c->e, "a path");
    if (depth > 0 && exists(path, "plan.json"))
        rc = index_folder(c, folder, path);
    else if (depth < MAX_DEPTH)
        rc = visit_below(c, folder, path, depth);
    free(path);
    return rc;
}

/* ---- all of it ---- */

static int update(struct scan *c, bool rebuild)
{
    struct tt_store *s = c->s;
    int rc = tt__sql_run(s,
                         "CREATE TEMP TABLE IF NOT EXISTS seen(folder TEXT PRIMARY KEY);"
                         "DELETE FROM temp.seen",
                         c->e);

    if (rc == TT_OK && rebuild)
        rc = tt__sql_run(s, "DELETE FROM value; DELETE FROM run", c->e);
    for (int i = 0; i < NSTATEMENTS && rc == TT_OK; i++)
        if (!(c->q[i] = tt__sql_prepare(s, statements[i], c->e)))
            rc = c->e->code;
    if (rc == TT_OK)
        rc = visit(c, "", 0);
    if (rc == TT_OK)
        rc = tt__sql_run(s, "DELETE FROM run WHERE folder NOT IN (SELECT folder FROM temp.seen)",
                         c->e);
    c->report->removed = (uint64_t)sqlite3_changes64(s->db);
    for (int i = 0; i < NSTATEMENTS; i++)
        sqlite3_finalize(c->q[i]);
    return rc;
}

int tt_store_index(struct tt_store *s, bool rebuild, struct tt_index_report *report,
                   struct tt_error *e)
{
    struct scan c = {.s = s, .report = report, .e = e};
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
