/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file for a report: written under a temporary name and renamed when it is whole. */
#ifndef TT_REPORT_OUTFILE_H
#define TT_REPORT_OUTFILE_H

#include <stdio.h>

#include "base/error.h"

struct tt_outfile {
    FILE *stream; /* write here */
    const char *path;
    char *temporary; /* NULL: straight to path, which is stdout or no regular file */
};

/* Whether such a file could be made, before the run whose result it shall hold; makes nothing. */
int tt_outfile_check(const char *path, struct tt_error *e);
/* The same for two, either of which may be NULL; only one of them can be stdout. */
int tt_outfiles_check(const char *json, const char *csv, struct tt_error *e);
/* path "-" is stdout. A regular file is replaced; a pipe or device is written to. */
int tt_outfile_open(struct tt_outfile *f, const char *path, struct tt_error *e);
/* Everything reached the file, or an error and no half file. */
int tt_outfile_close(struct tt_outfile *f, struct tt_error *e);
/* What to write could not be had: no file at all. Returns rc. */
int tt_outfile_discard(struct tt_outfile *f, int rc);

#endif
