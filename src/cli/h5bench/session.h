/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A workflow of h5bench that is being run. */
#ifndef TT_CLI_H5BENCH_SESSION_H
#define TT_CLI_H5BENCH_SESSION_H

#include <jansson.h>

#include "spec/dialects/h5bench.h"

/* The options of the command. */
struct tt_h5bench_options {
    char *filter, *json, *prefix;
    bool validate_mode, abort_on_failure, debug;
};

struct tt_h5bench_session {
    const struct tt_h5bench_options *o;
    const struct tt_settings *settings; /* from the command line: they win */
    const char *path, *results, *backend;
    const char *data_directory; /* NULL: the workflow's */
    bool keep, quiet, dry_run, made_directory;
    char *directory; /* of this session's run directories */
    struct tt_h5bench_workflow workflow;
    json_t *rows;
    json_t *result; /* of the current benchmark; NULL: it has none */
};

/* ---- perform.c ---- */
/* All benchmarks, or what they would be. Both return as a command does. */
int tt_h5bench_perform(struct tt_h5bench_session *s, struct tt_error *e);
int tt_h5bench_dry_run(struct tt_h5bench_session *s);

/* ---- past.c ---- */
/* The file, or rank 0's; caller frees. NULL: no memory. */
char *tt_h5bench_file(const char *directory, const char *file, bool per_process);

struct tt_h5bench_past_context {
    const char *results;   /* where earlier runs have their directories */
    const char *directory; /* of data, if it is not the workflow's; may be NULL */
};
/* A look of struct tt_h5bench_past. A file says which run has made it; if its directory is at hand
 * and nobody has changed the file since, its plan says what is in it. */
void tt_h5bench_look_back(void *context, const char *directory, const char *file,
                          struct tt_h5bench_content *content);

#endif
