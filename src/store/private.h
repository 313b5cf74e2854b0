/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the store's own files share. */
#ifndef TT_STORE_PRIVATE_H
#define TT_STORE_PRIVATE_H

#include <sqlite3.h>

#include "store/store.h"

struct tt_store {
    char *results, *file;
    sqlite3 *db;
    sqlite3_stmt *one_value; /* kept because lists ask for thousands */
    json_t *refused;
};

/* Names of enum tt_stored in the table of values. */
extern const char *const tt__stored_names[];
/* How a run can have ended; NULL-terminated. */
extern const char *const tt__statuses[];

/* The last failure of the database as one line. */
int tt__sql_fail(const struct tt_store *s, struct tt_error *e);
int tt__sql_run(struct tt_store *s, const char *sql, struct tt_error *e);
/* The integer a statement yields. */
int tt__sql_integer(struct tt_store *s, const char *sql, int64_t *out, struct tt_error *e);
/* NULL and an error. The caller finalises it. */
sqlite3_stmt *tt__sql_prepare(struct tt_store *s, const char *sql, struct tt_error *e);
/* Run a statement that yields nothing, and make it ready for the next time. */
int tt__sql_step(struct tt_store *s, sqlite3_stmt *q, struct tt_error *e);

/* A run directory as untrusted input; result.json is made if it is missing and the run is over.
 * TT_BUSY if the run is not over. */
struct tt__run {
    json_t *plan, *result;
    int rc;
    struct tt_error why;
};
/* Hands over the runs of the directories in their order, in this thread, until `take` fails; where
 * there are many they are read ahead by others. The runs are freed afterwards. */
typedef int tt__take_run(void *context, size_t i, const struct tt__run *run);
int tt__runs_read(size_t n, char *const *directories, tt__take_run *take, void *context);

#endif
