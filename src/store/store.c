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

/* ---- the schema ---- */

#define SCHEMA_VERSION 5
/* Marks the file as ours: nobody else's database is touched. */
#define APPLICATION_ID 1953854580 /* "tutt" */

#define TEXT_OF(x) #x
#define NUMBER(x) TEXT_OF(x)

const char *const tt__stored_names[] = {"parameter", "metric", "phase", "environment"};
const char *const tt__statuses[] = {"done", "failed", "stopped", "interrupted", NULL};

/* What a component has is rows: a new one changes no schema. Names are kept apart, since every run
 * has the same two hundred; the view puts both together for whoever asks. Directories are relative
 * to the results directory, which may be moved. A directory that was refused is not read again
 * until it changes. */
static const char schema[] =
    "CREATE TABLE run(key INTEGER PRIMARY KEY, directory TEXT NOT NULL UNIQUE, id TEXT NOT NULL,"
    " label TEXT NOT NULL, workload TEXT NOT NULL, plan TEXT NOT NULL, status TEXT NOT NULL,"
    " valid INTEGER NOT NULL, ranks INTEGER NOT NULL, start REAL NOT NULL, stamp TEXT NOT NULL);"
    "CREATE INDEX run_by_start ON run(start, directory);"
    "CREATE TABLE name(id INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL,"
    " unit TEXT NOT NULL, UNIQUE(kind, key, unit));"
    "CREATE TABLE named(run INTEGER NOT NULL, name INTEGER NOT NULL, text TEXT, number REAL,"
    " PRIMARY KEY(run, name)) WITHOUT ROWID;"
    "CREATE TRIGGER run_is_gone AFTER DELETE ON run"
    " BEGIN DELETE FROM named WHERE run = OLD.key; END;"
    "CREATE VIEW value AS SELECT run, kind, key, coalesce(text, CAST(number AS TEXT)) AS text,"
    " number, unit FROM named JOIN name ON id = name;"
    "CREATE TABLE refused(directory TEXT NOT NULL PRIMARY KEY, stamp TEXT NOT NULL,"
    " why TEXT NOT NULL) WITHOUT ROWID;"
    "PRAGMA application_id = " NUMBER(APPLICATION_ID) ";"
                                                      "PRAGMA user_version = " NUMBER(
                                                          SCHEMA_VERSION) ";";

enum state { READY, EMPTY, OLDER };

static int judge(struct tt_store *s, enum state *state, struct tt_error *e)
{
    int64_t version, application, objects;

    if (tt__sql_integer(s, "PRAGMA user_version", &version, e) != TT_OK ||
        tt__sql_integer(s, "PRAGMA application_id", &application, e) != TT_OK ||
        tt__sql_integer(s, "SELECT count(*) FROM sqlite_schema", &objects, e) != TT_OK)
        return e->code;
    *state = objects == 0 ? EMPTY : version < SCHEMA_VERSION ? OLDER : READY;
    if (*state != EMPTY && application != APPLICATION_ID)
        return tt_fail(e, TT_FAILED, "'%s' is not an index of tutti; move it away", s->file);
    if (version > SCHEMA_VERSION)
        return tt_fail(e, TT_FAILED,
                       "'%s' was made by a newer tutti (schema %lld, this one knows %d); use that "
                       "one, or delete the file to have it made again",
                       s->file, (long long)version, SCHEMA_VERSION);
    return TT_OK;
}

/* Whatever an older tutti has defined: indices and triggers go with their tables. */
static int drop_all(struct tt_store *s, struct tt_error *e)
{
    sqlite3_stmt *q =
        tt__sql_prepare(s,
                        "SELECT group_concat(printf('DROP %s \"%w\"', type, name), ';')"
                        " FROM sqlite_schema WHERE type IN ('table', 'view')"
                        " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
                        e);
    char *drops = NULL;
    int rc = q && sqlite3_step(q) == SQLITE_ROW ? TT_OK : tt__sql_fail(s, e);

    if (rc == TT_OK) {
        const unsigned char *text = sqlite3_column_text(q, 0);

        drops = strdup(text ? (const char *)text : "");
    }
    sqlite3_finalize(q); /* first: nothing is dropped while it is being read */
    if (rc == TT_OK)
        rc = drops ? tt__sql_run(s, drops, e) : tt_fail_nomem(e, s->file);
    free(drops);
    return rc;
}

/* Everything in an older index is in the directories, too: it is made again. */
static int make(struct tt_store *s, struct tt_error *e)
{
    enum state state = EMPTY;
    int rc = tt__sql_run(s, "BEGIN IMMEDIATE", e);

    if (rc != TT_OK)
        return rc;
    rc = judge(s, &state, e); /* again: another tutti may have been faster */
    if (rc == TT_OK && state == OLDER)
        rc = drop_all(s, e);
    if (rc == TT_OK && state != READY)
        rc = tt__sql_run(s, schema, e);
    if (rc == TT_OK)
        rc = tt__sql_run(s, "COMMIT", e);
    if (rc != TT_OK)
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    return rc;
}

/* All that is defined in a database; NULL: it cannot be said. */
static char *definitions(sqlite3 *db)
{
    sqlite3_stmt *q = NULL;
    const char *text = NULL;
    char *out;

    if (sqlite3_prepare_v2(db,
                           "SELECT group_concat(name || ' ' || coalesce(sql, ''), ';')"
                           " FROM (SELECT name, sql FROM sqlite_schema ORDER BY name)",
                           -1, &q, NULL) == SQLITE_OK &&
        sqlite3_step(q) == SQLITE_ROW)
        text = (const char *)sqlite3_column_text(q, 0);
    out = text ? strdup(text) : NULL;
    sqlite3_finalize(q);
    return out;
}

/* The file may come from anywhere, and a view in the place of a table can go on for ever. */
static int check_definitions(struct tt_store *s, struct tt_error *e)
{
    char *is = definitions(s->db), *must = NULL;
    sqlite3 *db = NULL;
    int rc = TT_OK;

    if (sqlite3_open(":memory:", &db) == SQLITE_OK &&
        sqlite3_exec(db, schema, NULL, NULL, NULL) == SQLITE_OK)
        must = definitions(db);
    if (!is)
        rc = tt__sql_fail(s, e);
    else if (!must)
        rc = tt_fail_nomem(e, "the index");
    else if (strcmp(is, must) != 0)
        rc = tt_fail(e, TT_FAILED, "'%s' is not an index of tutti; move it away", s->file);
    sqlite3_close(db);
    free(is);
    free(must);
    return rc;
}

static int make_schema_ready(struct tt_store *s, bool writable, struct tt_error *e)
{
    enum state state = EMPTY;
    int rc = tt__sql_run(s, "BEGIN", e);

    /* One snapshot: between two looks another tutti may make the tables. */
    if (rc == TT_OK)
        rc = judge(s, &state, e);
    if (rc == TT_OK && state == READY)
        rc = check_definitions(s, e);
    sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    if (rc != TT_OK || state == READY)
        return rc;
    if (writable)
        return make(s, e);
    return tt_fail(e, TT_FAILED, "'%s' is not ready: run tutti index '%s'", s->file, s->results);
}

/* ---- opening ---- */

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
    if (tt_directory_has(s->results, "plan.json"))
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
        rc = make_schema_ready(s, writable, e);
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
