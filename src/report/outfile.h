/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file for a report: written under a temporary name and renamed when it is whole. */
#ifndef TT_REPORT_OUTFILE_H
#define TT_REPORT_OUTFILE_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include "base/error.h"

struct tt_outfile {
    FILE *stream; /* write here */
    const char *path;
    char *temporary;  /* NULL: straight to path, which is stdout or no regular file */
    sigset_t signals; /* blocked while there is a temporary: those before */
    bool in_row;      /* of CSV: a cell stands before the next one */
};

/* "-"; path may be NULL. */
bool tt_is_stdout(const char *path);
/* Whether such a file could be made, before the run whose result it shall hold; makes nothing. */
int tt_outfile_check(const char *path, struct tt_error *e);
/* The same for several, up to one without an option; a path may be NULL. They are different, and
 * one at most is stdout. */
struct tt_outfile_option {
    const char *option, *path;
};
int tt_outfiles_differ(const struct tt_outfile_option *files, struct tt_error *e);
int tt_outfiles_check(const char *json, const char *csv, struct tt_error *e);
/* There is no such file yet, or tutti has made it: the mark is in its first 4 KiB. */
int tt_outfile_check_ours(const char *path, const char *mark, struct tt_error *e);
/* path "-" is stdout. A regular file is replaced; a pipe or device is written to.
 * While a regular file is written, signals that end a program wait until it is closed. */
int tt_outfile_open(struct tt_outfile *f, const char *path, struct tt_error *e);
/* Everything reached the file, or an error and no half file. */
int tt_outfile_close(struct tt_outfile *f, struct tt_error *e);
/* What to write could not be had: no file at all. Returns rc. */
int tt_outfile_discard(struct tt_outfile *f, int rc);

/* The whole of such a file. */
int tt_outfile_json(const char *path, const json_t *value, struct tt_error *e);

/* Cells of CSV, one after the other; what fails is said when the file is closed. Text may hold what
 * separates cells. A number that is not finite is an empty cell; digits: after the point. */
void tt_csv_text(struct tt_outfile *f, const char *text);
void tt_csv_number(struct tt_outfile *f, double value, int digits);
void tt_csv_end_row(struct tt_outfile *f);

#endif
