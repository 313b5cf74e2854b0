/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The files that counters come from. Private to counters*.c, and to their test, which feeds trees
 * of recorded files through the root. */
#ifndef TT_NODE_SOURCES_H
#define TT_NODE_SOURCES_H

#include "node/counters.h"

#define TT_MAX_FIELDS 8
/* More than any of the files has on a large node. */
#define TT_SOURCE_BYTES 65536

/* How the lines of a file look: words between separators, numbers at known places. */
struct tt_format {
    const char *separators;
    double absent; /* the value if a key has no line */
    unsigned nfields;
    struct {
        unsigned word; /* from 0, which is the key where there are keys */
        double scale;
    } fields[TT_MAX_FIELDS];
};

/* A file kept open. Its values are nkeys x nfields columns from first on, key by key. */
struct tt_source {
    int fd;
    struct tt_format format;
    size_t limit; /* bytes worth reading */
    size_t first, nkeys;
    char **keys; /* the first word of a line; without keys (nkeys 1) the first line is it */
};

/* A user's file, opened for each sample, since it may be replaced, or not be there yet. */
struct tt_watched {
    const char *path; /* inside the options */
    size_t column;
};

struct tt_sources {
    const char *root; /* "" but in tests */
    size_t n, capacity;
    struct tt_source *list;
    size_t nwatched;
    struct tt_watched *watched;

    size_t npids, next_pid; /* read in turns */
    int *pid_fds;
    double *pid_ms;
    size_t job_column;
    double tick_ms; /* the kernel's unit of CPU time */

    size_t ncolumns, column_capacity;
    char **columns;
    double *values; /* not a number: none */
    char *buffer;
};

/* Find what this node has, and open it. The options must outlive the sources. */
int tt_sources_open(struct tt_sources *s, const char *root, const struct tt_counters_options *o,
                    size_t npids, const int *pids, struct tt_error *e);
void tt_sources_close(struct tt_sources *s);
/* Renew all values. With all set every process is read, otherwise a few in turn. */
void tt_sources_read(struct tt_sources *s, bool all);

/* A new column, its name as printf makes it, without a value. */
int tt_sources_column(struct tt_sources *s, struct tt_error *e, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
