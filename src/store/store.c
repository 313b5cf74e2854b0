/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/directory.h"
#include "store/private.h"

#define FILE_NAME "index.sqlite"
/* How long to wait for another tutti; a commit takes less. */
#define PATIENCE_MS 5000

/* ---- the database ---- */

int tt__sql_fail(const struct tt_store *s, struct tt_error *e)
{
    switch (sqlite3_errcode(s->db) & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return tt_fail(e, TT_BUSY, "'%s' is being indexed by another tutti", s->results);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return tt_fail(e, TT_CORRUPT, "'%s' is damaged; delete it, and it is made again", s->file);
    case SQLITE_NOMEM:
        return tt_fail_nomem(e, s->file);
    default:
        return tt_fail(e, TT_FAILED, "'%s': %s", s->file, sqlite3_errmsg(s->db));
    }
}

int tt__sql_run(struct tt_store *s, const char *sql, struct tt_error *e)
{
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? TT_OK : tt__sql_fail(s, e);
}

sqlite3_stmt *tt__sql_prepare(struct tt_store *s, const char *sql, struct tt_error *e)
{
    sqlite3_stmt *q = NULL;

    if (sqlite3_prepare_v2(s->db, sql, -1, &q, NULL) != SQLITE_OK)
        tt__sql_fail(s, e);
    return q;
}

int tt__sql_integer(struct tt_store *s, const char *sql, int64_t *out, struct tt_error *e)
{
    sqlite3_stmt *q = tt__sql_prepare(s, sql, e);
    int rc = q && sqlite3_step(q) == SQLITE_ROW ? TT_OK : tt__sql_fail(s, e);

    if (rc == TT_OK)
        *out = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    return rc;
}

int tt__sql_step(struct tt_store *s, sqlite3_stmt *q, struct tt_error *e)
{
    int rc = sqlite3_step(q) == SQLITE_DONE ? TT_OK : tt__sql_fail(s, e);

    sqlite3_reset(q);
    return rc;
}

/* ---- opening ---- */

static bool is_run_directory(const char *results)
{
    char *plan = tt_directory_path(results, "plan.json");
    bool there = plan && access(plan, F_OK) == 0;

    free(plan);
    return there;
}

/* SQLite believes a journal that it finds beside the file, also in which files to delete. tutti
 * keeps its own in memory, since the index can be made again, so any that is there is not ours. */
static int check_journals(const struct tt_store *s, struct tt_error *e)
{
    static const char *const endings[] = {"-journal", "-wal", "-shm"};
    struct stat st;
    int rc = TT_OK;

    for (size_t i = 0; rc == TT_OK && i < sizeof endings / sizeof *endings; i++) {
        char *path;

        if (asprintf(&path, "%s%s", s->file, endings[i]) < 0)
            return tt_fail_nomem(e, "a path");
        if (lstat(path, &st) == 0)
            rc = tt_fail(e, TT_FAILED,
                         "'%s' is not tutti's; move it away, and the index with it, which is made "
                         "again",
                         path);
        free(path);
    }
    return rc;
}

/* Check first: SQLite's messages are unhelpful, and it blocks on FIFOs. */
static int check_place(const struct tt_store *s, bool writable, struct tt_error *e)
{
    struct stat st;
    bool there;

    if (stat(s->results, &st) != 0)
        return tt_fail(e, TT_FAILED, "there is no results directory '%s'", s->results);
    if (!S_ISDIR(st.st_mode))
        return tt_fail(e, TT_FAILED, "'%s' is not a directory", s->results);
    if (is_run_directory(s->results))
        return tt_fail(e, TT_USAGE, "'%s' is itself a run directory: name the directory it lies in",
                       s->results);
    there = lstat(s->file, &st) == 0;
    if (there && (!S_ISREG(st.st_mode) || st.st_nlink > 1))
        return tt_fail(e, TT_FAILED, "'%s' is not an index of tutti; move it away", s->file);
    if (!there && !writable)
        return tt_fail(e, TT_FAILED, "'%s' has no index yet: run tutti index", s->results);
    if (writable && (access(s->results, W_OK) != 0 || (there && access(s->file, W_OK) != 0)))
        return tt_fail(e, TT_FAILED, "cannot write an index into '%s': %s", s->results,
                       strerror(errno));
    return check_journals(s, e);
}

/* The file may come from anywhere, so its schema is not trusted. Without spilling, a transaction
 * keeps readers out only while it commits. */
static int configure(struct tt_store *s, struct tt_error *e)
{
    sqlite3_busy_timeout(s->db, PATIENCE_MS);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    return tt__sql_run(s,
                       "PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY; PRAGMA cache_spill = OFF;"
                       "PRAGMA journal_mode = MEMORY;"
                       "PRAGMA cell_size_check = ON",
                       e);
}

static int open_database(struct tt_store *s, bool writable, struct tt_error *e)
{
    int flags = SQLITE_OPEN_NOMUTEX | /* no thread but ours */
                (writable ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY);

    if (sqlite3_open_v2(s->file, &s->db, flags, NULL) != SQLITE_OK)
        return s->db ? tt__sql_fail(s, e) : tt_fail_nomem(e, s->file);
    return configure(s, e);
}

int tt_store_open(const char *results, bool writable, struct tt_store **out, struct tt_error *e)
{
    struct tt_store *s = calloc(1, sizeof *s);
    int rc;

    *out = NULL;
    if (!s || !(s->results = strdup(results)) ||
        !(s->file = tt_directory_path(results, FILE_NAME)) || !(s->refused = json_object())) {
        tt_store_close(s);
        return tt_fail_nomem(e, "the index");
    }
    rc = check_place(s, writable, e);
    if (rc == TT_OK)
        rc = open_database(s, writable, e);
    if (rc == TT_OK)
        rc = tt__schema_ready(s, writable, e);
    if (rc == TT_OK)
        *out = s;
    else
        tt_store_close(s);
    return rc;
}

int tt_store_open_updated(const char *results, struct tt_store **out,
                          struct tt_index_report *report, struct tt_error *stale,
                          struct tt_error *e)
{
    int rc = tt_store_open(results, true, out, stale);

    *report = (struct tt_index_report){0};
    if (rc == TT_OK)
        rc = tt_store_index(*out, false, report, stale);
    if (rc != TT_OK) {
        tt_store_close(*out);
        if (tt_store_open(results, false, out, e) != TT_OK) {
            *e = *stale; /* why there is no index tells more than that there is none */
            return e->code;
        }
    }
    /* One snapshot until the store is closed; else each of thousands of questions takes a lock. */
    return tt__sql_run(*out, "BEGIN", e);
}

void tt_store_close(struct tt_store *s)
{
    if (!s)
        return;
    sqlite3_finalize(s->one_value);
    sqlite3_close(s->db);
    json_decref(s->refused);
    free(s->file);
    free(s->results);
    free(s);
}

const json_t *tt_store_refused(const struct tt_store *s)
{
    return s->refused;
}
