/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the system answered to the libraries. They lose errors: an aggregator's failed write, a
 * short one, an error of close come back as success. So the calls that move or end data pass
 * through this process's own functions of the same names, which remember what was refused and not
 * made good by a later call. They make no call of their own unless one has failed or fell short. */
#ifndef TT_IO_CALLS_H
#define TT_IO_CALLS_H

#include <stdatomic.h>
#include <sys/stat.h>

#include "io/file.h"

/* Calls on a file are looked at while it is open; the path stays where it is until then. */
void tt_calls_begin(const char *path);
void tt_calls_end(const char *path);

/* For a library whose ranks wait for each other after one of them has written. It is told that all
 * is written and closed; what was refused is judged after the call, which all ranks come back from.
 */
void tt_calls_hide(const char *path);

/* After a library's call on a file, or after closing it, which returned rc: a success that the
 * system contradicts becomes a failure, and a failure without a cause gets it. Returns the code. */
static inline int tt_calls_judge(const struct tt_file *file, int rc, bool closed,
                                 struct tt_error *e);
/* Whether a call of any thread was refused and not made good yet: which, on what and why, in e. For
 * whoever must say why a library does not come back. */
bool tt_calls_owed(struct tt_error *e);

/* ---- for src/interpose.c ---- */

/* Files that are looked at, and calls that were refused: with neither there is nothing to do. */
struct tt_calls {
    atomic_uint files, debts;
};
extern struct tt_calls tt_calls;
int tt__calls_judge(const struct tt_file *file, int rc, bool closed, struct tt_error *e);
/* Set by a thread, or a handler of signals, whose calls must wait for nobody. */
extern _Thread_local bool tt_calls_unseen;

enum tt_call_kind { TT_MOVED_OUT, TT_MOVED_IN, TT_ENDED, TT_CLOSED };
/* A transfer that did not move everything, or one that may make another good. at is -1 where the
 * descriptor's own position counts. Returns what the library is told. Keeps errno, as the next. */
ssize_t tt_calls_transfer(const char *call, enum tt_call_kind kind, int fd, off_t at, size_t wanted,
                          ssize_t done);
/* A call on this file failed and moves nothing. */
int tt_calls_refused(const char *call, enum tt_call_kind kind, const struct stat *st, int rc);
/* An open returned fd. Libraries try several ways to open a file, so one that failed is no debt
 * unless it is hidden, but the reason why a library does not come back, if nothing else is. */
int tt_calls_opened(const char *call, const char *path, int flags, int fd);

/* Most calls owe nothing, which is found out by one look. */
static inline int tt_calls_judge(const struct tt_file *file, int rc, bool closed,
                                 struct tt_error *e)
{
    return tt_calls.debts == 0 ? rc : tt__calls_judge(file, rc, closed, e);
}

#endif
