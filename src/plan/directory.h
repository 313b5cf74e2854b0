/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The run directory: everything one run left behind, and the truth.
 *
 *   plan.json               what is to be done: resolved parameters and their hash
 *   ready                   written by rank 0 when all ranks are prepared
 *   go                      the wall-clock instant (ns) at which they start
 *   stop                    the driver's word that a load has run long enough (plan/control.h)
 *   records/HOST.ttr        what the ranks of a node recorded (record/records.h)
 *   counters/HOST.csv       what each node counted meanwhile (node/counters.h)
 *   manifest, manifest-N    what the nodes of rank 0 and of rank N, the first of its node, made
 *                           elsewhere (plan/manifest.h)
 *   progress                where the loop is; overwritten in place
 *   rows                    a line per row of a table, as soon as it is known; only if somebody
 *                           shows them
 *   failure                 the first failed call of a rank, or who is stuck
 *   notes                   a page a rank: what it is doing now (base/note.h)
 *   outcome.json            how the ranks ended, by rank 0: {"status", "error"}
 *   result.json             what analysis made of the records
 *   stdout, stderr          of the ranks, where a driver launched them
 *
 * Only what a manifest lists is ever deleted. failure is for the case that nobody lives to write
 * the outcome; notes are removed when all is well. */
#ifndef TT_PLAN_DIRECTORY_H
#define TT_PLAN_DIRECTORY_H

#include <fcntl.h>
#include <stdio.h>

#include <jansson.h>

#include "base/error.h"
#include "plan/config.h"

/* Make the directory <results>/<prefix><utc>-<id>/, and results if need be. *path: caller frees. */
int tt_directory_make(const char *results, const char *prefix, char **path, struct tt_error *e);
/* Make <results>/<utc>-<id>/ with plan.json, records/ and an empty manifest. *path: caller frees.
 */
int tt_directory_create(const struct tt_config *config, char **path, struct tt_error *e);
/* Put the count that was calibrated into plan.json. */
int tt_directory_keep_passes(const char *directory, const struct tt_config *config,
                             struct tt_error *e);
/* Of what a result depends on: every parameter but where it is reported, what it is called, who
 * watches and what it may not exceed. */
uint64_t tt_parameters_hash(const json_t *parameters);
/* How many parameters make these hashes differ. The first keys of them, max at most, are borrowed
 * from a and b. */
size_t tt_parameters_differ(const json_t *a, const json_t *b, size_t max, const char **keys);
/* Read plan.json and resolve it again; plan (may be NULL) is a new reference. The directory may be
 * anybody's: how ranks are started (launch.*) is never taken from there. */
enum tt_plan_use {
    TT_PLAN_TO_LOOK, /* opens no module: a backend that is one is not in the stack */
    TT_PLAN_TO_RUN,  /* or to verify */
};
int tt_directory_load_plan(const char *directory, enum tt_plan_use use, struct tt_config *config,
                           json_t **plan, struct tt_error *e);
/* The same of a plan that has been read. */
int tt_directory_use_plan(const char *directory, enum tt_plan_use use, const json_t *plan,
                          struct tt_config *config, struct tt_error *e);
/* plan.json as it is; a new reference, also to be released after a failure. */
#define TT_PLAN_FORMAT 2
int tt_directory_read_plan(const char *directory, json_t **plan, struct tt_error *e);
/* Whether "format", a number that changes with what the file means, is the one that is read here.
 */
int tt_directory_check_format(const char *directory, const char *name, const json_t *object,
                              int format, struct tt_error *e);
/* "<directory>/<name>"; caller frees; NULL: no memory. */
char *tt_directory_path(const char *directory, const char *name);
const char *tt_directory_id(const char *directory); /* its last component */

/* How files in a directory are opened to be written: one that somebody sent may hold a link to a
 * file of ours, or a pipe that nobody reads from. */
#define TT_DIRECTORY_OPEN (O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)

/* A file of a directory by its name, with these flags besides; -1, and errno: it cannot be had. */
int tt_directory_open(const char *directory, const char *name, int flags);
/* What a call on such a file failed with. */
int tt_directory_fail(const char *directory, const char *name, int sys_errno, const char *call,
                      struct tt_error *e);
/* A regular file of a directory that may be anybody's, to be read; NULL, and errno: there is none.
 * ELOOP: it is a link. EINVAL: it is no file. */
FILE *tt_directory_open_file(const char *directory, const char *name);

/* Whole files, written to a temporary name and renamed, so that readers never see half of one. */
int tt_directory_write_json(const char *directory, const char *name, const json_t *value,
                            struct tt_error *e);
int tt_directory_read_json(const char *directory, const char *name, json_t **value,
                           struct tt_error *e);
/* On disk, before something refers to it. */
int tt_directory_sync(const char *directory, const char *name, struct tt_error *e);
int tt_directory_write_text(const char *directory, const char *name, const char *text,
                            struct tt_error *e);
bool tt_directory_has(const char *directory, const char *name);
/* The file `failure`: false if it is there already, since the first one counts. */
bool tt_directory_note_failure(const char *directory, const char *line);
/* What it says: the call that failed first, if a rank could still note it. */
bool tt_directory_read_failure(const char *directory, char *line, size_t size);

#define TT_ROWS_FILE "rows"

struct tt_progress {
    uint64_t iteration, total;
    double seconds; /* since the start of the loop */
    uint64_t bytes; /* written and read so far: those of rank 0, times the ranks */
};
void tt_progress_write(int fd, const struct tt_progress *p);
int tt_progress_read(const char *directory,
                     struct tt_progress *p); /* 0, or -1 if there is none yet */

#endif
