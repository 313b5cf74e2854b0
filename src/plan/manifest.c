/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/manifest.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "plan/control.h"
#include "plan/directory.h"

static const char *const kinds[TT_MADE_KINDS] = {"file",   "directory", "parent", "tree",
                                                 "beside", "bundle",    "cache"};

/* ---- writing ---- */

static int writer; /* the first rank of the node */

void tt_manifest_write_as(int first_rank)
{
    writer = first_rank;
}

static char *file_of(const char *directory, int rank)
{
    char name[32];

    snprintf(name, sizeof name, "manifest-%05d", rank);
    return tt_directory_path(directory, rank > 0 ? name : "manifest");
}

/* One append is one write. A line that was cut short, on a full disk for one, has too few words or,
 * with the next one, too many. */
static int append(const char *directory, const char *words, const char *path, struct tt_error *e)
{
    char *manifest = file_of(directory, writer), *line = NULL, here[PATH_MAX];
    size_t length = 0;
    FILE *out = open_memstream(&line, &length);
    int fd = -1, failed = 0, rc = TT_OK;
    ssize_t n;

    if (out) {
        fprintf(out, "%s ", words);
        if (path[0] != '/' && getcwd(here, sizeof here)) {
            tt_put_escaped(out, here);
            putc('/', out);
            path += strncmp(path, "./", 2) ? 0 : 2;
        }
        tt_put_escaped(out, path);
        putc('\n', out);
    }
    if (!manifest || !out || fclose(out) != 0) {
        rc = tt_fail_nomem(e, "the manifest");
    } else {
        fd = open(manifest, O_WRONLY | O_APPEND | TT_DIRECTORY_OPEN | (writer > 0 ? O_CREAT : 0),
                  0666);
        do
            n = fd < 0 ? -1 : write(fd, line, length);
        while (n < 0 && fd >= 0 && errno == EINTR);
        failed = n < 0 ? errno : (size_t)n < length ? ENOSPC : 0;
    }
    if (fd >= 0)
        close(fd);
    if (failed)
        rc = tt_fail_call(e, failed, "write", manifest, -1);
    free(line);
    free(manifest);
    return rc;
}

int tt_manifest_claim(const char *directory, enum tt_made_kind kind, const char *path,
                      struct tt_error *e)
{
    char words[64];

    snprintf(words, sizeof words, "claim %s %" PRId64, kinds[kind], tt_wall_ns());
    return append(directory, words, path, e);
}

int tt_manifest_made(const char *directory, enum tt_made_kind kind, const char *path,
                     const struct tt_identity *identity, struct tt_error *e)
{
    char words[160];

    snprintf(words, sizeof words, "made %s %" PRIx64 " %" PRIu64 " %" PRIu64 " %" PRId64,
             kinds[kind], identity->place, identity->device, identity->inode, identity->born_ns);
    return append(directory, words, path, e);
}

int tt_manifest_leave(const char *directory, enum tt_made_kind kind, const char *path,
                      struct tt_error *e)
{
    char words[32];

    snprintf(words, sizeof words, "leave %s", kinds[kind]);
    return append(directory, words, path, e);
}

void tt_manifest_drop(const char *directory)
{
    char *manifest = writer > 0 ? file_of(directory, writer) : NULL;

    if (manifest)
        unlink(manifest);
    free(manifest);
}

int tt_manifest_fail_used(const char *directory, struct tt_error *e)
{
    return tt_fail(e, TT_USAGE, "'%s' has been performed already", directory);
}

int tt_manifest_check_new(const char *directory, struct tt_error *e)
{
    char *manifest = tt_directory_path(directory, "manifest");
    struct stat st;
    int rc = TT_OK;

    if (!manifest)
        rc = tt_fail_nomem(e, "a path");
    else if (lstat(manifest, &st) != 0)
        rc = tt_fail_call(e, errno, "open", manifest, -1);
    else if (!S_ISREG(st.st_mode) || st.st_size != 0 || tt_control_is_ready(directory))
        rc = tt_manifest_fail_used(directory, e);
    free(manifest);
    return rc;
}

/* ---- reading ---- */

/* What a line says of a path. */
struct event {
    enum { CLAIM, MADE, LEAVE } verb;
    size_t line; /* and, in the end, the first line of the path */
    struct tt_made made;
};

struct events {
    size_t n, capacity;
    struct event *list;
};

static bool take_number(const char *word, int base, uint64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoull(word, &end, base);
    return isxdigit((unsigned char)*word) && *end == '\0' && errno == 0;
}

/* The line is cut to pieces; what it says points to the path in it. */
static bool take_line(char *line, struct event *ev)
{
    static const char *const verbs[] = {"claim", "made", "leave"};
    static const size_t counts[] = {4, 7, 3};
    char *words[8], *rest = line, *word;
    uint64_t born = 0, claimed = 0;
    size_t n = 0, verb = 0, kind = 0;

    while (n < 8 && (word = strsep(&rest, " ")))
        words[n++] = word;
    while (verb < 3 && strcmp(words[0], verbs[verb]))
        verb++;
    if (verb == 3 || rest || n != counts[verb])
        return false;
    while (kind < TT_MADE_KINDS && strcmp(words[1], kinds[kind]))
        kind++;
    *ev = (struct event){.verb = verb, .line = ev->line};
    ev->made = (struct tt_made){.kind = (enum tt_made_kind)kind, .path = words[n - 1]};
    if (kind == TT_MADE_KINDS || !tt_unescape(ev->made.path) || ev->made.path[0] != '/')
        return false;
    if (verb == CLAIM && !take_number(words[2], 10, &claimed))
        return false;
    if (verb == MADE &&
        (!take_number(words[2], 16, &ev->made.identity.place) ||
         !take_number(words[3], 10, &ev->made.identity.device) ||
         !take_number(words[4], 10, &ev->made.identity.inode) || !take_number(words[5], 10, &born)))
        return false;
    ev->made.claimed_ns = (int64_t)claimed;
    ev->made.identity.born_ns = (int64_t)born;
    return true;
}

static int keep(struct events *all, const struct event *ev, struct tt_error *e)
{
    if (all->n == all->capacity) {
        size_t more = 2 * all->capacity + 16;
        struct event *grown = realloc(all->list, more * sizeof *grown);

        if (!grown)
            return tt_fail_nomem(e, "the manifest");
        all->list = grown;
        all->capacity = more;
    }
    all->list[all->n] = *ev;
    all->list[all->n].made.path = strdup(ev->made.path);
    if (!all->list[all->n].made.path)
        return tt_fail_nomem(e, "the manifest");
    all->n++;
    return TT_OK;
}

/* line goes on from file to file. */
static int read_lines(FILE *in, const char *directory, const char *name, size_t *number,
                      struct events *all, struct tt_error *e)
{
    char *line = NULL;
    size_t size = 0, at = 0;
    ssize_t n;
    int rc = TT_OK;

    while (rc != TT_NOMEM && (n = getline(&line, &size, in)) > 0) {
        struct event ev = {.line = ++*number};
        int now = TT_OK;

        at++;
        if (line[n - 1] != '\n')
            break;
        line[n - 1] = '\0';
        if (strlen(line) + 1 != (size_t)n || !take_line(line, &ev))
            now = tt_fail(e, TT_CORRUPT, "%s/%s:%zu is not a line that tutti wrote", directory,
                          name, at);
        else
            now = keep(all, &ev, e);
        rc = rc == TT_OK ? now : rc;
    }
    free(line);
    return rc;
}

static int is_of_rank(const struct dirent *entry)
{
    const char *name = entry->d_name;

    return !strncmp(name, "manifest-", 9) && name[9] && !name[9 + strspn(name + 9, "0123456789")];
}

static int fail_open(const char *directory, struct tt_error *e)
{
    int why = errno;
    char *path = tt_directory_path(directory, "manifest");

    tt_fail_call(e, why, "open", path ? path : directory, -1);
    free(path);
    return e->code;
}

/* Rank 0's first: it makes the directories in which others have files. */
static int read_files(const char *directory, struct events *all, struct tt_error *e)
{
    FILE *in = tt_directory_open_file(directory, "manifest");
    struct dirent **others = NULL;
    size_t number = 0;
    int n, rc;

    if (!in && (errno == ELOOP || errno == EINVAL))
        return tt_fail(e, TT_CORRUPT, "'%s/manifest' is not a file", directory);
    if (!in)
        return fail_open(directory, e);
    rc = read_lines(in, directory, "manifest", &number, all, e);
    fclose(in);
    n = scandir(directory, &others, is_of_rank, alphasort);
    for (int i = 0; i < n; i++) {
        int now = TT_OK;

        in = rc == TT_NOMEM ? NULL : tt_directory_open_file(directory, others[i]->d_name);
        if (in) {
            now = read_lines(in, directory, others[i]->d_name, &number, all, e);
            fclose(in);
        }
        rc = rc == TT_OK ? now : rc;
        free(others[i]);
    }
    free(others);
    return rc;
}

static int by_path(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    int order = strcmp(x->made.path, y->made.path);

    order = order ? order : (int)x->made.kind - (int)y->made.kind;
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

static int last_first(const void *a, const void *b)
{
    const struct event *x = a, *y = b;

    return (x->line < y->line) - (x->line > y->line);
}

/* All that was said of one path in the order of lines becomes one event, or none. */
static void fold(struct events *all)
{
    size_t n = 0;

    qsort(all->list, all->n, sizeof *all->list, by_path);
    for (size_t i = 0, next; i < all->n; i = next) {
        struct event now = all->list[i];
        bool left = now.verb == LEAVE;

        for (next = i + 1; next < all->n; next++) {
            struct event *ev = &all->list[next];

            if (strcmp(ev->made.path, now.made.path) || ev->made.kind != now.made.kind)
                break;
            left = ev->verb == LEAVE;
            if (ev->verb == CLAIM)
                now.made.claimed_ns = ev->made.claimed_ns;
            now.made.identity = ev->made.identity; /* unknown again after a claim */
            free(ev->made.path);
        }
        if (left)
            free(now.made.path);
        else
            all->list[n++] = now;
    }
    all->n = n;
    qsort(all->list, n, sizeof *all->list, last_first);
}

int tt_manifest_read(const char *directory, struct tt_made_list *out, struct tt_error *e)
{
    struct events all = {0};
    int rc = read_files(directory, &all, e);

    *out = (struct tt_made_list){0};
    if (all.n > 0)
        fold(&all);
    out->list = calloc(all.n + 1, sizeof *out->list);
    for (size_t i = 0; i < all.n; i++) {
        if (out->list)
            out->list[out->n++] = all.list[i].made;
        else
            free(all.list[i].made.path);
    }
    free(all.list);
    return out->list ? rc : tt_fail_nomem(e, "the manifest");
}

void tt_manifest_free(struct tt_made_list *all)
{
    for (size_t i = 0; i < all->n; i++)
        free(all->list[i].path);
    free(all->list);
    *all = (struct tt_made_list){0};
}
