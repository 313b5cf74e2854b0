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

/* The search goes on after a failure, but adds nothing any more. */
struct search {
    struct tt_sources *s;
    int rc;
    struct tt_error *e;
};

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

static void add_column(struct search *f, const char *group, const char *name, const char *field)
{
    if (f->rc == TT_OK)
        f->rc = tt_sources_column(f->s, f->e, "%s%s%s.%s", group, *name ? "." : "", name, field);
}

static void add_columns(struct search *f, const char *group, const char *name,
                        const char *const *fields)
{
    for (; *fields; fields++)
        add_column(f, group, name, *fields);
}

/* A column that does not change. */
static void add_speed(struct search *f, double value, const char *group, const char *name)
{
    if (!(value > 0))
        return;
    add_column(f, group, name, "speed[B/s]");
    if (f->rc == TT_OK)
        f->s->values[f->s->ncolumns - 1] = value;
}

static void add_key(struct search *f, struct tt_source *source, const char *key)
{
    char **keys;

    if (f->rc != TT_OK)
        return;
    keys = realloc(source->keys, (source->nkeys + 1) * sizeof *keys);
    source->keys = keys ? keys : source->keys;
    if (!keys || !(keys[source->nkeys] = strdup(key)))
        f->rc = tt_fail_nomem(f->e, "the counters");
    else
        source->nkeys++;
}

/* NULL if the file is not there or there are too many columns. It is valid until the next one is
 * added; its columns follow those that there are. */
static struct tt_source *add_source(struct search *f, const char *path,
                                    const struct tt_format *format)
{
    struct tt_sources *s = f->s;
    struct tt_source *source;
    int fd;

    if (f->rc != TT_OK || s->ncolumns >= MAX_COLUMNS)
        return NULL;
    if (s->n == s->capacity) {
        size_t capacity = 2 * s->capacity + 16;
        struct tt_source *list = realloc(s->list, capacity * sizeof *list);

        if (!list) {
            f->rc = tt_fail_nomem(f->e, "the counters");
            return NULL;
        }
        s->list = list;
        s->capacity = capacity;
    }
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    source = &s->list[s->n++];
    *source = (struct tt_source){
        .fd = fd, .format = *format, .limit = TT_SOURCE_BYTES, .first = s->ncolumns};
    return source;
}

/* A file whose first line holds it all. */
static void add_line(struct search *f, const char *path, const struct tt_format *format,
                     const char *group, const char *name, const char *const *fields)
{
    struct tt_source *source = add_source(f, path, format);

    if (!source)
        return;
    source->nkeys = 1;
    add_columns(f, group, name, fields);
}

/* A file with a line for each key. */
static struct tt_source *add_lines(struct search *f, const char *path,
                                   const struct tt_format *format, const char *const *keys,
                                   const char *group, const char *name, const char *const *fields)
{
    struct tt_source *source = add_source(f, path, format);

    if (!source)
        return NULL;
    for (; *keys; keys++)
        add_key(f, source, *keys);
    add_columns(f, group, name, fields);
    return source;
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

/* ---- CPUs, pressure, memory ---- */

static void add_cpus(struct search *f)
{
    static const char *const keys[] = {"cpu", NULL};
    static const char *const names[] = {"user[ms]",    "nice[ms]",   "system[ms]",
                                        "idle[ms]",    "iowait[ms]", "irq[ms]",
                                        "softirq[ms]", "steal[ms]",  NULL};
    struct tt_format format = {.separators = " ", .absent = NAN, .nfields = 8};
    struct tt_source *source;
    char path[PATH];

    for (unsigned i = 0; i < 8; i++) {
        format.fields[i].word = i + 1;
        format.fields[i].scale = f->s->tick_ms;
    }
    snprintf(path, sizeof path, "%s/proc/stat", f->s->root);
    source = add_lines(f, path, &format, keys, "cpu", "", names);
    if (source)
        source->limit = 512; /* the first line sums up what follows */
}

static void add_run_queue(struct search *f)
{
    static const struct tt_format format = {" /", NAN, 1, {{3, 1}}};
    static const char *const names[] = {"running[1]", NULL};
    char path[PATH];

    snprintf(path, sizeof path, "%s/proc/loadavg", f->s->root);
    add_line(f, path, &format, "queue", "", names);
}

/* Kernels differ in whether they tell the time in which all processes waited for a CPU. */
static void add_pressure(struct search *f, const char *resource)
{
    static const struct tt_format format = {" =", NAN, 1, {{8, 1}}};
    static const char *const keys[][2] = {{"some", "some[us]"}, {"full", "full[us]"}};
    struct tt_source *source;
    char path[PATH], text[256];

    snprintf(path, sizeof path, "%s/proc/pressure/%s", f->s->root, resource);
    if (!read_start(path, text, sizeof text)) /* it may be there and switched off */
        return;
    source = add_source(f, path, &format);
    for (size_t i = 0; source && i < 2; i++)
        if (strstr(text, keys[i][0])) {
            add_key(f, source, keys[i][0]);
            add_column(f, "pressure", resource, keys[i][1]);
        }
}

static void add_memory(struct search *f)
{
    static const struct tt_format format = {": ", NAN, 1, {{1, 1024}}};
    static const char *const keys[] = {"MemFree", "MemAvailable", "Cached",
                                       "Dirty",   "Writeback",    NULL};
    static const char *const names[] = {"free[B]",  "available[B]", "cached[B]",
                                        "dirty[B]", "writeback[B]", NULL};
    char path[PATH];

    snprintf(path, sizeof path, "%s/proc/meminfo", f->s->root);
    add_lines(f, path, &format, keys, "memory", "", names);
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
static void add_disks(struct search *f)
{
    static const struct tt_format format = {" ", NAN, 4, {{2, 512}, {6, 512}, {9, 1}, {8, 1}}};
    static const char *const fields[] = {"read[B]", "written[B]", "busy[ms]", "in_flight[1]", NULL};
    struct dirent **names;
    char path[PATH];
    int n;

    snprintf(path, sizeof path, "%s/sys/block", f->s->root);
    n = scandir(path, &names, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const char *name = names[i]->d_name;

        if (is_disk(f->s, name)) {
            snprintf(path, sizeof path, "%s/sys/block/%s/stat", f->s->root, name);
            add_line(f, path, &format, "disk", name, fields);
        }
        free(names[i]);
    }
    if (n >= 0)
        free(names);
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

static void add_interface(struct search *f, struct tt_source *source, char *line)
{
    static const char *const fields[] = {"received[B]", "transmitted[B]", NULL};
    char *colon = strchr(line, ':'), *name = line + strspn(line, " ");

    if (!colon || f->s->ncolumns >= MAX_COLUMNS)
        return;
    *colon = '\0';
    if (!is_used(f->s, name, colon + 1))
        return;
    add_key(f, source, name);
    add_columns(f, "net", name, fields);
}

/* What the driver says, in Mbit/s; -1 or an error if it does not know. */
static double interface_speed(const struct tt_sources *s, const char *name)
{
    char path[PATH], text[32];

    snprintf(path, sizeof path, "%s/sys/class/net/%s/speed", s->root, name);
    return read_start(path, text, sizeof text) ? strtod(text, NULL) * 1e6 / 8 : 0;
}

static void add_interfaces(struct search *f)
{
    static const struct tt_format format = {": ", NAN, 2, {{1, 1}, {9, 1}}};
    struct tt_source *source;
    char path[PATH], *line = NULL;
    size_t size = 0;
    FILE *file;

    snprintf(path, sizeof path, "%s/proc/net/dev", f->s->root);
    source = add_source(f, path, &format);
    file = source ? fopen(path, "re") : NULL;
    while (file && getline(&line, &size, file) > 0)
        add_interface(f, source, line);
    if (file)
        fclose(file);
    free(line);
    for (size_t i = 0; source && i < source->nkeys; i++)
        add_speed(f, interface_speed(f->s, source->keys[i]), "net", source->keys[i]);
}

/* "100 Gb/sec (4X EDR)" */
static double infiniband_speed(const char *port)
{
    char path[PATH], text[64];

    snprintf(path, sizeof path, "%s/rate", port);
    return read_start(path, text, sizeof text) ? strtod(text, NULL) * 1e9 / 8 : 0;
}

/* ---- what has patterns for paths ---- */

typedef void add_fn(struct search *f, const char *path);

static void each_match(struct search *f, const char *pattern, add_fn *add)
{
    char path[PATH];
    glob_t found;

    snprintf(path, sizeof path, "%s%s", f->s->root, pattern);
    if (glob(path, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        add(f, found.gl_pathv[i]);
    globfree(&found);
}

/* ".../infiniband/mlx5_0/ports/1" is named mlx5_0/1. Data counters count words of four bytes. */
static void add_port(struct search *f, const char *port)
{
    static const struct tt_format format = {" ", NAN, 1, {{0, 4}}};
    static const char *const files[] = {"port_rcv_data", "port_xmit_data"};
    static const char *const fields[][2] = {{"received[B]", NULL}, {"transmitted[B]", NULL}};
    const char *device = strstr(port + strlen(f->s->root), "/infiniband/") + strlen("/infiniband/");
    char name[128], path[PATH];

    snprintf(name, sizeof name, "%.*s/%s", (int)strcspn(device, "/"), device,
             strrchr(port, '/') + 1);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/counters/%s", port, files[i]);
        add_line(f, path, &format, "infiniband", name, fields[i]);
    }
    add_speed(f, infiniband_speed(port), "infiniband", name);
}

/* ".../llite/scratch-ffff9d5a/stats": a line comes with the first call of its kind. */
static void add_lustre(struct search *f, const char *path)
{
    static const struct tt_format format = {" ", 0, 1, {{6, 1}}};
    static const char *const keys[] = {"read_bytes", "write_bytes", NULL};
    static const char *const names[] = {"read[B]", "written[B]", NULL};
    const char *mount = strstr(path + strlen(f->s->root), "/llite/") + strlen("/llite/");
    char name[128];

    snprintf(name, sizeof name, "%.*s", (int)strcspn(mount, "/"), mount);
    add_lines(f, path, &format, keys, "lustre", name, names);
}

/* ---- the job and the user ---- */

static void add_job(struct search *f, size_t npids, const int *pids)
{
    struct tt_sources *s = f->s;
    char path[PATH];

    if (npids == 0 || f->rc != TT_OK)
        return;
    s->pid_fds = malloc(npids * sizeof *s->pid_fds);
    s->pid_ms = calloc(npids, sizeof *s->pid_ms);
    if (!s->pid_fds || !s->pid_ms) {
        f->rc = tt_fail_nomem(f->e, "the counters");
        return;
    }
    for (; s->npids < npids; s->npids++) {
        snprintf(path, sizeof path, "%s/proc/%d/stat", s->root, pids[s->npids]);
        s->pid_fds[s->npids] = open(path, O_RDONLY | O_CLOEXEC);
    }
    s->job_column = s->ncolumns;
    add_column(f, "job", "", "cpu[ms]");
}

static void add_watched(struct search *f, const struct tt_words *watch)
{
    struct tt_sources *s = f->s;

    s->watched = calloc(watch->n + 1, sizeof *s->watched);
    if (!s->watched)
        f->rc = tt_fail_nomem(f->e, "the counters");
    for (size_t i = 0; f->rc == TT_OK && i < watch->n; i++) {
        const char *word = watch->words[i], *equals = strchr(word, '=');

        if (!equals)
            continue; /* refused by tt_counters_check */
        s->watched[s->nwatched++] = (struct tt_watched){equals + 1, s->ncolumns};
        f->rc = tt_sources_column(s, f->e, "watched.%.*s.value[1]", (int)(equals - word), word);
    }
}

int tt_sources_open(struct tt_sources *s, const char *root, const struct tt_counters_options *o,
                    size_t npids, const int *pids, struct tt_error *e)
{
    struct search f = {.s = s, .e = e};
    long hertz = sysconf(_SC_CLK_TCK);

    memset(s, 0, sizeof *s);
    s->root = root;
    s->tick_ms = 1000.0 / (double)(hertz > 0 ? hertz : 100);
    s->buffer = malloc(TT_SOURCE_BYTES);
    if (!s->buffer)
        return tt_fail_nomem(e, "the counters");
    add_cpus(&f);
    add_job(&f, npids, pids);
    add_run_queue(&f);
    add_pressure(&f, "cpu");
    add_pressure(&f, "io");
    add_pressure(&f, "memory");
    add_memory(&f);
    add_watched(&f, &o->watch);
    add_disks(&f);
    add_interfaces(&f);
    each_match(&f, "/sys/class/infiniband/*/ports/*", add_port);
    each_match(&f, "/proc/fs/lustre/llite/*/stats", add_lustre);
    each_match(&f, "/sys/kernel/debug/lustre/llite/*/stats", add_lustre);
    if (f.rc != TT_OK)
        tt_sources_close(s);
    return f.rc;
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
