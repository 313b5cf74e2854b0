/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "store/private.h"

#define SCHEMA_VERSION 2
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

/* Everything in an older index is in the directories, too: it is made again. */
static int make(struct tt_store *s, struct tt_error *e)
{
    enum state state = EMPTY;
    int rc = tt__sql_run(s, "BEGIN IMMEDIATE", e);

    if (rc != TT_OK)
        return rc;
    rc = judge(s, &state, e); /* again: another tutti may have been faster */
    if (rc == TT_OK && state == OLDER)
        rc = tt__sql_run(s, "DROP TABLE IF EXISTS value; DROP TABLE IF EXISTS run", e);
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

int tt__schema_ready(struct tt_store *s, bool writable, struct tt_error *e)
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
