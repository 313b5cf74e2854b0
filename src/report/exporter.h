/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A format for the spans of --trace that needs a library of its own: src/exporters/NAME.c defines
 * tt_exporter_NAME, a module that `tutti export` opens. What it writes is a new directory. */
#ifndef TT_REPORT_EXPORTER_H
#define TT_REPORT_EXPORTER_H

#include "analysis/spans.h"
#include "base/error.h"

struct tt_exporter {
    const char *name;
    const char *summary;
    /* Into this directory, which is there and empty. title: what the run is called. */
    int (*write)(const char *directory, const char *title, const struct tt_spans *spans,
                 struct tt_error *e);
};

/* Whether such a directory could be made: there is nothing yet at that path. */
int tt_export_check(const char *path, struct tt_error *e);
/* The spans of the run in `directory` in the format of that name. The new directory gets its name
 * when it is whole; after an error nothing is left. */
int tt_export_spans(const char *format, const char *path, const char *directory,
                    struct tt_error *e);

#endif
