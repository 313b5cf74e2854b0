/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What this node has to count: whatever is not there is no column. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node/sources.h"

#define PATH 512
/* A node with more disks, interfaces or file systems than this is watched in part. */
#define MAX_COLUMNS 2048

/* ---- lists that grow ---- */

/* Names come from the node: what would break the line becomes '_'. */
static void make_plain(char *name)
{
    for (; *name; name++)
        if (strchr(",\"", *name) || !isprint((unsigned char)*name))
            *name = '_';
}

int tt_sources_column(struct tt_sources *s, struct tt_error *e, const char *fmt, ...)
{
    va_list args;
    char *name;
    int n;

    if (s->ncolumns == s->column_capacity) {
        size_t capacity = 2 * s->column_capacity + 64;
        char **columns = realloc(s->columns, capacity * sizeof *columns);
        double *values = columns ? realloc(s->values, capacity * sizeof *values) : NULL;

        s->columns = columns ? columns : s->columns;
        s->values = values ? values : s->values;
        if (!values)
            return tt_fail_nomem(e, "the counters");
        s->column_capacity = capacity;
    }
    va_start(args, fmt);
    n = vasprintf(&name, fmt, args);
    va_end(args);
    if (n < 0)
        return tt_fail_nomem(e, "the counters");
    make_plain(name);
    s->values[s->ncolumns] = NAN;
    s->columns[s->ncolumns++] = name;
    return TT_OK;
}

static int add_key(struct tt_source *source, const char *key, struct tt_error *e)
{
    char **keys = realloc(source->keys, (source->nkeys + 1) * sizeof *keys);

    source->keys = keys ? keys : source->keys;
    if (!keys || !(keys[source->nkeys] = strdup(key)))
        return tt_fail_nomem(e, "the counters");
    source->nkeys++;
    return TT_OK;
}

/* *out is NULL, which is no error, if the file is not there or there are too many columns. It is
 * valid until the next one is added; its columns follow those that there are. */
static int add_source(struct tt_sources *s, const char *path, const struct tt_format *format,
                      struct tt_source **out, struct tt_error *e)
{
    int fd;

    *out = NULL;
    if (s->n == s->capacity) {
        size_t capacity = 2 * s->capacity + 16;
        struct tt_source *list = realloc(s->list, capacity * sizeof *list);

        if (!list)
            return tt_fail_nomem(e, "the counters");
        s->list = list;
        s->capacity = capacity;
    }
    fd = s->ncolumns < MAX_COLUMNS ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return TT_OK;
    *out = &s->list[s->n++];
    **out = (struct tt_source){
        .fd = fd, .format = *format, .limit = TT_SOURCE_BYTES, .first = s->ncolumns};
    return TT_OK;
}

/* A file whose first line holds it all. */
static int add_line(struct tt_sources *s, const char *path, const struct tt_format *format,
                    bool *added, struct tt_error *e)
{
    struct tt_source *source;
    int rc = add_source(s, path, format, &source, e);

    if (source)
        source->nkeys = 1;
    *added = source != NULL;
    return rc;
}

static bool read_start(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* A column that does not change. */
static int add_constant(struct tt_sources *s, double value, struct tt_error *e, const char *kind,
                        const char *name, const char *field)
{
    int rc = tt_sources_column(s, e, "%s.%s.%s", kind, name, field);

    if (rc == TT_OK)
        s->values[s->ncolumns - 1] = value;
    return rc;
}

static int add_columns(struct tt_sources *s, const char *group, const char *name,
                       const char *const *fields, struct tt_error *e)
{
    int rc = TT_OK;

    for (; rc == TT_OK && *fields; fields++)
        rc = tt_sources_column(s, e, "%s%s%s.%s", group, *name ? "." : "", name, *fields);
    return rc;
}

/* ---- CPUs, pressure, memory ---- */

static int add_cpus(struct tt_sources *s, struct tt_error *e)
{
    static const char *const names[] = {"user[ms]",    "nice[ms]",   "system[ms]",
                                        "idle[ms]",    "iowait[ms]", "irq[ms]",
                                        "softirq[ms]", "steal[ms]",  NULL};
    struct tt_format format = {.separators = " ", .absent = NAN, .nfields = 8};
    struct tt_source *source;
    char path[PATH];
    int rc;

    for (unsigned i = 0; i < 8; i++) {
        format.fields[i].word = i + 1;
        format.fields[i].scale = s->tick_ms;
    }
    snprintf(path, sizeof path, "%s/proc/stat", s->root);
    rc = add_source(s, path, &format, &source, e);
    if (!source)
        return rc;
    source->limit = 512; /* the first line sums up what follows */
    rc = add_key(source, "cpu", e);
    return rc == TT_OK ? add_columns(s, "cpu", "", names, e) : rc;
}

static int add_run_queue(struct tt_sources *s, struct tt_error *e)
{
    static const struct tt_format format = {" /", NAN, 1, {{3, 1}}};
    char path[PATH];
    bool added;
    int rc;

    snprintf(path, sizeof path, "%s/proc/loadavg", s->root);
    rc = add_line(s, path, &format, &added, e);
    return rc == TT_OK && added ? tt_sources_column(s, e, "queue.running[1]") : rc;
}

/* Kernels differ in whether they tell the time in which all processes waited for a CPU. */
static int add_pressure(struct tt_sources *s, const char *resource, struct tt_error *e)
{
    static const struct tt_format format = {" =", NAN, 1, {{8, 1}}};
    static const char *const keys[] = {"some", "full"};
    struct tt_source *source;
    char path[PATH], text[256];
    int rc;

    snprintf(path, sizeof path, "%s/proc/pressure/%s", s->root, resource);
    if (!read_start(path, text, sizeof text)) /* it may be there and switched off */
        return TT_OK;
    rc = add_source(s, path, &format, &source, e);
    for (size_t i = 0; source && rc == TT_OK && i < 2; i++) {
        if (!strstr(text, keys[i]))
            continue;
        rc = add_key(source, keys[i], e);
        if (rc == TT_OK)
            rc = tt_sources_column(s, e, "pressure.%s.%s[us]", resource, keys[i]);
    }
    return rc;
}

static int add_memory(struct tt_sources *s, struct tt_error *e)
{
    static const struct tt_format format = {": ", NAN, 1, {{1, 1024}}};
    static const char *const keys[] = {"MemFree", "MemAvailable", "Cached", "Dirty", "Writeback"};
    static const char *const names[] = {"free[B]",  "available[B]", "cached[B]",
                                        "dirty[B]", "writeback[B]", NULL};
    struct tt_source *source;
    char path[PATH];
    int rc;

    snprintf(path, sizeof path, "%s/proc/meminfo", s->root);
    rc = add_source(s, path, &format, &source, e);
    for (size_t i = 0; source && rc == TT_OK && i < sizeof keys / sizeof *keys; i++)
        rc = add_key(source, keys[i], e);
    return source && rc == TT_OK ? add_columns(s, "memory", "", names, e) : rc;
}

/* ---- block devices ---- */

/* Whole devices that hold something: a loop device without a file has no size. Memory disks are
 * left out. */
static bool is_disk(const struct tt_sources *s, const char *name)
{
    char path[PATH], size[32];

    if (name[0] == '.' || !strncmp(name, "ram", 3) || !strncmp(name, "zram", 4))
        return false;
    snprintf(path, sizeof path, "%s/sys/block/%s/size", s->root, name);
    return read_start(path, size, sizeof size) && strtoull(size, NULL, 10) > 0;
}

/* /sys/block/NAME/stat is the device's line of /proc/diskstats. */
static int add_disk(struct tt_sources *s, const char *name, struct tt_error *e)
{
    static const struct tt_format format = {" ", NAN, 4, {{2, 512}, {6, 512}, {9, 1}, {8, 1}}};
    static const char *const names[] = {"read[B]", "written[B]", "busy[ms]", "in_flight[1]", NULL};
    char path[PATH];
    bool added;
    int rc;

    if (!is_disk(s, name))
        return TT_OK;
    snprintf(path, sizeof path, "%s/sys/block/%s/stat", s->root, name);
    rc = add_line(s, path, &format, &added, e);
    return rc == TT_OK && added ? add_columns(s, "disk", name, names, e) : rc;
}

static int add_disks(struct tt_sources *s, struct tt_error *e)
{
    struct dirent **names;
    char path[PATH];
    int n, rc = TT_OK;

    snprintf(path, sizeof path, "%s/sys/block", s->root);
    n = scandir(path, &names, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        if (rc == TT_OK)
            rc = add_disk(s, names[i]->d_name, e);
        free(names[i]);
    }
    if (n >= 0)
        free(names);
    return rc;
}

/* ---- networks ---- */

/* Interfaces that are up or have carried something; a machine may have hundreds that never did. */
static bool is_used(const struct tt_sources *s, const char *name, const char *numbers)
{
    unsigned long long received = 0, sent = 0;
    char path[PATH], state[32];

    if (sscanf(numbers, "%llu %*u %*u %*u %*u %*u %*u %*u %llu", &received, &sent) != 2)
        return false;
    snprintf(path, sizeof path, "%s/sys/class/net/%s/operstate", s->root, name);
    return received || sent || (read_start(path, state, sizeof state) && !strcmp(state, "up\n"));
}

static int add_interface(struct tt_sources *s, struct tt_source *source, char *line,
                         struct tt_error *e)
{
    static const char *const fields[] = {"received[B]", "transmitted[B]", NULL};
    char *colon = strchr(line, ':'), *name = line + strspn(line, " ");
    int rc;

    if (!colon || s->ncolumns >= MAX_COLUMNS)
        return TT_OK;
    *colon = '\0';
    if (!is_used(s, name, colon + 1))
        return TT_OK;
    rc = add_key(source, name, e);
    return rc == TT_OK ? add_columns(s, "net", name, fields, e) : rc;
}

/* What the driver says, in Mbit/s; -1 or an error if it does not know. */
static int add_speed(struct tt_sources *s, const char *name, struct tt_error *e)
{
    char path[PATH], text[32];
    double megabits;

    snprintf(path, sizeof path, "%s/sys/class/net/%s/speed", s->root, name);
    megabits = read_start(path, text, sizeof text) ? strtod(text, NULL) : 0;
    return megabits > 0 ? add_constant(s, megabits * 1e6 / 8, e, "net", name, "speed[B/s]") : TT_OK;
}

static int add_interfaces(struct tt_sources *s, struct tt_error *e)
{
    static const struct tt_format format = {": ", NAN, 2, {{1, 1}, {9, 1}}};
    struct tt_source *source;
    char path[PATH], *line = NULL;
    size_t size = 0;
    FILE *f;
    int rc;

    snprintf(path, sizeof path, "%s/proc/net/dev", s->root);
    rc = add_source(s, path, &format, &source, e);
    f = source ? fopen(path, "re") : NULL;
    while (f && rc == TT_OK && getline(&line, &size, f) > 0)
        rc = add_interface(s, source, line, e);
    if (f)
        fclose(f);
    free(line);
    for (size_t i = 0; source && rc == TT_OK && i < source->nkeys; i++)
        rc = add_speed(s, source->keys[i], e);
    return rc;
}

/* "100 Gb/sec (4X EDR)" */
static double infiniband_speed(const char *port)
{
    char path[PATH], text[64];

    snprintf(path, sizeof path, "%s/rate", port);
    return read_start(path, text, sizeof text) ? strtod(text, NULL) * 1e9 / 8 : 0;
}

/* Data counters of InfiniBand count words of four bytes. */
static int add_port(struct tt_sources *s, const char *port, const char *name, struct tt_error *e)
{
    static const struct tt_format format = {" ", NAN, 1, {{0, 4}}};
    static const char *const files[][2] = {{"port_rcv_data", "received[B]"},
                                           {"port_xmit_data", "transmitted[B]"}};
    double speed = infiniband_speed(port);
    char path[PATH];
    bool added;
    int rc = TT_OK;

    for (int i = 0; rc == TT_OK && i < 2; i++) {
        snprintf(path, sizeof path, "%s/counters/%s", port, files[i][0]);
        rc = add_line(s, path, &format, &added, e);
        if (rc == TT_OK && added)
            rc = tt_sources_column(s, e, "infiniband.%s.%s", name, files[i][1]);
    }
    return rc == TT_OK && speed > 0 ? add_constant(s, speed, e, "infiniband", name, "speed[B/s]")
                                    : rc;
}

/* ---- what has patterns for paths ---- */

typedef int add_fn(struct tt_sources *s, const char *path, struct tt_error *e);

static int each_match(struct tt_sources *s, const char *pattern, add_fn *add, struct tt_error *e)
{
    char path[PATH];
    glob_t found;
    int rc = TT_OK;

    snprintf(path, sizeof path, "%s%s", s->root, pattern);
    if (glob(path, 0, NULL, &found) != 0)
        return TT_OK;
    for (size_t i = 0; rc == TT_OK && i < found.gl_pathc; i++)
        rc = add(s, found.gl_pathv[i], e);
    globfree(&found);
    return rc;
}

/* ".../infiniband/mlx5_0/ports/1" is named mlx5_0/1. */
static int add_matched_port(struct tt_sources *s, const char *path, struct tt_error *e)
{
    const char *device = strstr(path + strlen(s->root), "/infiniband/") + strlen("/infiniband/");
    char name[128];

    snprintf(name, sizeof name, "%.*s/%s", (int)strcspn(device, "/"), device,
             strrchr(path, '/') + 1);
    return add_port(s, path, name, e);
}

/* ".../llite/scratch-ffff9d5a/stats": a line comes with the first call of its kind. */
static int add_lustre(struct tt_sources *s, const char *path, struct tt_error *e)
{
    static const struct tt_format format = {" ", 0, 1, {{6, 1}}};
    static const char *const names[] = {"read[B]", "written[B]", NULL};
    const char *mount = strstr(path + strlen(s->root), "/llite/") + strlen("/llite/");
    struct tt_source *source;
    char name[128];
    int rc = add_source(s, path, &format, &source, e);

    if (!source)
        return rc;
    rc = add_key(source, "read_bytes", e);
    if (rc == TT_OK)
        rc = add_key(source, "write_bytes", e);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(mount, "/"), mount);
    return rc == TT_OK ? add_columns(s, "lustre", name, names, e) : rc;
}

/* ---- the job and the user ---- */

static int add_job(struct tt_sources *s, size_t npids, const int *pids, struct tt_error *e)
{
    char path[PATH];

    if (npids == 0)
        return TT_OK;
    s->pid_fds = malloc(npids * sizeof *s->pid_fds);
    s->pid_ms = calloc(npids, sizeof *s->pid_ms);
    if (!s->pid_fds || !s->pid_ms)
        return tt_fail_nomem(e, "the counters");
    for (; s->npids < npids; s->npids++) {
        snprintf(path, sizeof path, "%s/proc/%d/stat", s->root, pids[s->npids]);
        s->pid_fds[s->npids] = open(path, O_RDONLY | O_CLOEXEC);
    }
    s->job_column = s->ncolumns;
    return tt_sources_column(s, e, "job.cpu[ms]");
}

static int add_watched(struct tt_sources *s, const struct tt_words *watch, struct tt_error *e)
{
    int rc = TT_OK;

    s->watched = calloc(watch->n + 1, sizeof *s->watched);
    if (!s->watched)
        return tt_fail_nomem(e, "the counters");
    for (size_t i = 0; rc == TT_OK && i < watch->n; i++) {
        const char *word = watch->words[i], *equals = strchr(word, '=');

        if (!equals)
            continue; /* refused by tt_counters_check */
        s->watched[s->nwatched++] = (struct tt_watched){equals + 1, s->ncolumns};
        rc = tt_sources_column(s, e, "watched.%.*s.value[1]", (int)(equals - word), word);
    }
    return rc;
}

static int find_all(struct tt_sources *s, const struct tt_counters_options *o, size_t npids,
                    const int *pids, struct tt_error *e)
{
    static const char *const resources[] = {"cpu", "io", "memory"};
    int rc = add_cpus(s, e);

    if (rc == TT_OK)
        rc = add_job(s, npids, pids, e);
    if (rc == TT_OK)
        rc = add_run_queue(s, e);
    for (int i = 0; rc == TT_OK && i < 3; i++)
        rc = add_pressure(s, resources[i], e);
    if (rc == TT_OK)
        rc = add_memory(s, e);
    if (rc == TT_OK)
        rc = add_watched(s, &o->watch, e);
    if (rc == TT_OK)
        rc = add_disks(s, e);
    if (rc == TT_OK)
        rc = add_interfaces(s, e);
    if (rc == TT_OK)
        rc = each_match(s, "/sys/class/infiniband/*/ports/*", add_matched_port, e);
    if (rc == TT_OK)
        rc = each_match(s, "/proc/fs/lustre/llite/*/stats", add_lustre, e);
    if (rc == TT_OK)
        rc = each_match(s, "/sys/kernel/debug/lustre/llite/*/stats", add_lustre, e);
    return rc;
}

int tt_sources_open(struct tt_sources *s, const char *root, const struct tt_counters_options *o,
                    size_t npids, const int *pids, struct tt_error *e)
{
    long hertz = sysconf(_SC_CLK_TCK);
    int rc;

    memset(s, 0, sizeof *s);
    s->root = root;
    s->tick_ms = 1000.0 / (double)(hertz > 0 ? hertz : 100);
    s->buffer = malloc(TT_SOURCE_BYTES);
    rc = s->buffer ? find_all(s, o, npids, pids, e) : tt_fail_nomem(e, "the counters");
    if (rc != TT_OK)
        tt_sources_close(s);
    return rc;
}

static void close_source(struct tt_source *s)
{
    close(s->fd);
    for (size_t i = 0; s->keys && i < s->nkeys; i++)
        free(s->keys[i]);
    free(s->keys);
}

void tt_sources_close(struct tt_sources *s)
{
    for (size_t i = 0; i < s->n; i++)
        close_source(&s->list[i]);
    for (size_t i = 0; i < s->npids; i++)
        if (s->pid_fds[i] >= 0)
            close(s->pid_fds[i]);
    for (size_t i = 0; i < s->ncolumns; i++)
        free(s->columns[i]);
    free(s->list);
    free(s->watched);
    free(s->pid_fds);
    free(s->pid_ms);
    free(s->columns);
    free(s->values);
    free(s->buffer);
    memset(s, 0, sizeof *s);
}
