/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A workflow of h5bench that is being run. */
#ifndef TT_CLI_H5BENCH_SESSION_H
#define TT_CLI_H5BENCH_SESSION_H

#include <jansson.h>

#include "spec/dialects/h5bench.h"

struct tt_h5bench_session {
    const char *path, *filter, *json, *results, *backend;
    const char *data_directory; /* NULL: the workflow's */
    bool validate_mode, abort_on_failure, keep, quiet, dry_run;
    bool made_directory;
    char *directory;             /* of this session's run directories */
    struct tt_settings settings; /* from the command line: they win */
    struct tt_h5bench_workflow workflow;
    json_t *rows;
    json_t *result; /* of the current benchmark; NULL: it has none */
};

/* All benchmarks, or what they would be. Returns the exit status; errors have been printed. */
int tt_h5bench_perform(struct tt_h5bench_session *s, struct tt_error *e);
int tt_h5bench_dry_run(struct tt_h5bench_session *s);

#endif
