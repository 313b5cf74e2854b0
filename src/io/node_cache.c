/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/node_cache.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/sys.h"
#include "base/text.h"

enum {
    DIGITS = 20,
    NUMBER_BYTES = DIGITS + 1 + 8,
    MOVED_AT = sizeof TT_NODE_CACHE_MAGIC - 1 + sizeof "2\nmoved " - 1,
    CACHES_AT = MOVED_AT + NUMBER_BYTES + sizeof "\ncaches " - 1,
    CONVERTED_AT = CACHES_AT + NUMBER_BYTES + sizeof "\nconverted " - 1,
};

/* ---- names ---- */

char *tt_node_cache_directory(const char *dir, const char *id)
{
    char *path, host[65] = "";

    gethostname(host, sizeof host - 1);
    return asprintf(&path, "%s/tutti-%s.%s.cache", dir, id, host) < 0 ? NULL : path;
}

char *tt_node_cache_writes(const char *directory, const char *target, uint64_t rank)
{
    const char *slash = strrchr(target, '/'), *name = slash ? slash + 1 : target;
    char *path;

    return asprintf(&path, "%s/%.100s-%08x-%05" PRIu64 TT_NODE_CACHE_WRITES, directory, name,
                    XXH32(target, strlen(target), 0), rank) < 0
               ? NULL
               : path;
}

static bool ends_with(const char *name, const char *ending)
{
    size_t n = strlen(name), m = strlen(ending);

    return n > m && !strcmp(name + n - m, ending);
}

/* NAME-HASH-RANK, and what follows. */
static bool is_named(const char *name, const char *ending)
{
    const char *last = strrchr(name, '-');
    size_t digits = last ? strspn(last + 1, "0123456789") : 0;

    return digits >= 5 && !strcmp(last + 1 + digits, ending) && last - name >= 9 &&
           last[-9] == '-' && strspn(last - 8, "0123456789abcdef") == 8;
}

/* Also while it is being made. */
static bool is_temporary(const char *name, const char *kind)
{
    size_t n = strlen(kind);

    return name[0] == '.' && !strncmp(name + 1, kind, n) && name[n + 1] == '.' &&
           strlen(name + n + 2) == 6;
}

bool tt_node_cache_makes(const char *name)
{
    return !strcmp(name, TT_NODE_CACHE_USAGE) || is_named(name, TT_NODE_CACHE_WRITES) ||
           is_named(name, TT_NODE_CACHE_WRITES TT_NODE_CACHE_NEW) ||
           ends_with(name, TT_NODE_CACHE_PIECE) || is_temporary(name, TT_NODE_CACHE_USAGE) ||
           is_temporary(name, TT_NODE_CACHE_PIECE + 1);
}

/* ---- the head ---- */

/* With a checksum: a number that is changed would hide requests or caches without a word. */
static void format_number(uint64_t number, char text[NUMBER_BYTES + 1])
{
    int n = snprintf(text, NUMBER_BYTES + 1, "%0*" PRIu64, DIGITS, number);

    snprintf(text + n, (size_t)(NUMBER_BYTES + 1 - n), " %08x", XXH32(text, (size_t)n, 0));
}

char *tt_node_cache_text(const struct tt_node_cache_head *head, struct tt_error *e)
{
    char *text = NULL, *whole, moved[NUMBER_BYTES + 1], caches[NUMBER_BYTES + 1];
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);

    if (out) {
        format_number(head->moved, moved);
        format_number(head->caches, caches);
        fprintf(out, TT_NODE_CACHE_MAGIC "%d\nmoved %s\ncaches %s\n", TT_NODE_CACHE_VERSION, moved,
                caches);
        fprintf(out,
                "converted no \nrank %" PRIu64 " of %" PRIu64 "\ninode %" PRIu64
                "\nsync %s\ntarget ",
                head->rank, head->ranks, head->inode, head->local ? "local" : "target");
        tt_put_escaped(out, head->target);
        fprintf(out, "\nend\n");
    }
    if (!out || fclose(out) != 0) {
        free(text);
        tt_fail_nomem(e, "the head of a cache file");
        return NULL;
    }
    whole = length < TT_NODE_CACHE_HEAD ? calloc(1, TT_NODE_CACHE_HEAD) : NULL;
    if (whole)
        memcpy(whole, text, length);
    else
        tt_fail(e, TT_USAGE, "'%.200s...' is too long a path for layer cache", head->target);
    free(text);
    return whole;
}

/* It ends with the descriptor, so also with a process that is killed. */
void tt_node_cache_claim(int fd)
{
    fcntl(fd, F_OFD_SETLK, &(struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET});
}

static int set_number(int fd, const char *path, uint64_t number, off_t at, struct tt_error *e)
{
    char text[NUMBER_BYTES + 1];

    format_number(number, text);
    return pwrite(fd, text, NUMBER_BYTES, at) == NUMBER_BYTES
               ? TT_OK
               : tt_fail_call(e, errno, "write", path, (long long)at);
}

int tt_node_cache_set_moved(int fd, const char *path, uint64_t moved, struct tt_error *e)
{
    return set_number(fd, path, moved, MOVED_AT, e);
}

int tt_node_cache_set_caches(int fd, const char *path, uint64_t caches, struct tt_error *e)
{
    return set_number(fd, path, caches, CACHES_AT, e);
}

int tt_node_cache_set_converted(const char *path, struct tt_error *e)
{
    int fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC), rc = TT_OK;

    if (fd < 0)
        return tt_fail_call(e, errno, "open", path, -1);
    if (pwrite(fd, "yes", 3, CONVERTED_AT) != 3)
        rc = tt_fail_call(e, errno, "write", path, CONVERTED_AT);
    close(fd);
    return rc;
}

static bool take_number(const char **at, const char *key, uint64_t *out)
{
    size_t n = strlen(key);
    char *end;

    if (strncmp(*at, key, n) != 0 || !isdigit((unsigned char)(*at)[n]))
        return false;
    errno = 0;
    *out = strtoull(*at + n, &end, 10);
    *at = end;
    return errno == 0;
}

static bool take_checked(const char *line, const char *key, uint64_t *out)
{
    const char *start = line;
    char text[NUMBER_BYTES + 1];

    if (!take_number(&line, key, out))
        return false;
    format_number(*out, text);
    return !strcmp(start + strlen(key), text);
}

static bool take_target(const char *text, char **out)
{
    return text[0] == '/' && (*out = strdup(text)) && tt_unescape(*out);
}

/* What a line says; false: it is none that belongs there. */
static bool take_line(const char *line, size_t number, struct tt_node_cache_head *head)
{
    switch (number) {
    case 2:
        return take_checked(line, "moved ", &head->moved);
    case 3:
        return take_checked(line, "caches ", &head->caches);
    case 4:
        head->converted = !strcmp(line, "converted yes");
        return head->converted || !strcmp(line, "converted no ");
    case 5:
        return take_number(&line, "rank ", &head->rank) &&
               take_number(&line, " of ", &head->ranks) && !*line && head->rank < head->ranks &&
               head->caches > 0 && head->caches <= head->ranks;
    case 6:
        return take_number(&line, "inode ", &head->inode) && !*line;
    case 7:
        head->local = !strcmp(line, "sync local");
        return head->local || !strcmp(line, "sync target");
    case 8:
        return !strncmp(line, "target ", 7) && take_target(line + 7, &head->target);
    default:
        return !strcmp(line, "end");
    }
}

static int parse(const char *path, char *text, struct tt_node_cache_head *head, struct tt_error *e)
{
    char *rest = text, *line;
    const char *at;
    uint64_t version;

    for (size_t number = 1; number <= 9; number++) {
        if (!rest || !strchr(rest, '\n'))
            return tt_fail(e, TT_CORRUPT, "'%s' is cut short: line %zu of its head is missing",
                           path, number);
        at = line = strsep(&rest, "\n");
        if (number > 1 ? !take_line(line, number, head)
                       : !take_number(&at, TT_NODE_CACHE_MAGIC, &version) || *at)
            return tt_fail(e, TT_CORRUPT, "'%s', line %zu: '%.60s' is not what tutti writes there",
                           path, number, line);
        if (number == 1 && version != TT_NODE_CACHE_VERSION)
            return tt_fail(e, TT_UNSUPPORTED,
                           "'%s' has version %" PRIu64 " of the cache's format; this tutti reads "
                           "version %d",
                           path, version, TT_NODE_CACHE_VERSION);
    }
    return TT_OK;
}

bool tt_node_cache_begins(const char *start, size_t n)
{
    size_t length = strlen(TT_NODE_CACHE_MAGIC);

    return n >= length && !memcmp(start, TT_NODE_CACHE_MAGIC, length);
}

/* ---- a file that was left ---- */

/* Behind the end there is nothing: what should be there is then seen to be damaged. */
static int get(const struct tt_node_cache *c, char *to, uint64_t n, uint64_t offset,
               struct tt_error *e)
{
    ssize_t got = tt_sys_read_at(c->fd, to, n, (off_t)offset);

    if (got < 0)
        return tt_fail_call(e, errno, "read", c->path, (long long)offset);
    memset(to + got, 0, n - (uint64_t)got);
    return TT_OK;
}

int tt_node_cache_fetch(void *cache, int rc, size_t n, const struct tt_run *runs, void *to,
                        struct tt_error *e)
{
    char *at = to;

    for (size_t i = 0; rc == TT_OK && i < n; at += runs[i++].length)
        rc = get(cache, at, runs[i].length, TT_NODE_CACHE_HEAD + runs[i].start, e);
    return rc;
}

int tt_node_cache_load(const char *path, struct tt_node_cache *out, struct tt_error *e)
{
    char text[TT_NODE_CACHE_HEAD + 1] = "";
    struct stat st;
    int rc;

    *out = (struct tt_node_cache){.path = strdup(path), .fd = -1};
    if (!out->path)
        return tt_fail_nomem(e, "a path");
    out->log.path = out->path;
    out->fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (out->fd < 0 || fstat(out->fd, &st) != 0)
        return tt_fail_call(e, errno, "open", path, -1);
    if (!S_ISREG(st.st_mode))
        return tt_fail(e, TT_FAILED, "'%s' is not a file", path);
    if (st.st_size < TT_NODE_CACHE_HEAD)
        return tt_fail(
            e, TT_CORRUPT,
            "'%s' is shorter than its head, so what was acknowledged in it is lost; take "
            "it away, and tutti convert --partial makes what is left",
            path);
    rc = get(out, text, TT_NODE_CACHE_HEAD, 0, e);
    if (rc == TT_OK && !tt_node_cache_begins(text, sizeof text))
        rc = tt_fail(e, TT_CORRUPT, "'%s' does not begin like a file of the layer cache", path);
    if (rc == TT_OK)
        rc = parse(path, text, &out->head, e);
    out->log.moved = out->head.moved; /* and its room was given back */
    if (rc == TT_OK && out->head.local)
        rc = tt_log_load(&out->log, (uint64_t)st.st_size - TT_NODE_CACHE_HEAD, true,
                         tt_node_cache_fetch, out, e);
    if (rc == TT_OK && out->head.local && (out->log.ranks != 1 || out->log.codec))
        rc = tt_fail(e, TT_CORRUPT, "'%s': its log is not one of a rank that packs nothing", path);
    return rc;
}

void tt_node_cache_free(struct tt_node_cache *c)
{
    if (c->fd >= 0)
        close(c->fd);
    tt_log_free(&c->log);
    free(c->head.target);
    free(c->path);
    *c = (struct tt_node_cache){.fd = -1};
}

bool tt_node_cache_holds(const struct tt_node_cache *c)
{
    for (size_t i = 0; i < c->log.n && !c->head.converted; i++)
        if (c->log.entries[i].call >= c->head.moved)
            return true;
    return false;
}

/* ---- a directory of them ---- */

static int is_writes(const struct dirent *entry)
{
    return ends_with(entry->d_name, TT_NODE_CACHE_WRITES);
}

/* Whether the layer gives this name for the target, or (NULL) for any. */
static bool is_named_for(const char *name, const char *target)
{
    char *first = target ? tt_node_cache_writes("", target, 0) : NULL;
    bool is = is_named(name, TT_NODE_CACHE_WRITES) &&
              (!first || !strncmp(name, first + 1, (size_t)(strrchr(first, '-') - first)));

    free(first);
    return is;
}

/* What cannot be read and has no such name is somebody's. */
static bool is_of(const char *path, const char *target)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    struct tt_node_cache c;
    bool is = tt_node_cache_load(path, &c, &ignored) != TT_OK
                  ? is_named_for(strrchr(path, '/') + 1, target)
                  : !target || !strcmp(c.head.target, target);

    tt_node_cache_free(&c);
    return is;
}

int tt_node_cache_list(const char *directory, const char *target, char ***list, size_t *n,
                       struct tt_error *e)
{
    struct dirent **entries = NULL;
    int found = scandir(directory, &entries, is_writes, alphasort), rc = TT_OK;

    *n = 0;
    *list = found < 0 ? NULL : calloc((size_t)found + 1, sizeof **list);
    if (found < 0)
        return tt_fail_call(e, errno, "opendir", directory, -1);
    for (int i = 0; i < found; i++) {
        char *path = NULL;

        if (!*list || asprintf(&path, "%s/%s", directory, entries[i]->d_name) < 0)
            rc = tt_fail_nomem(e, "the files of a cache");
        else if (is_of(path, target))
            (*list)[(*n)++] = path;
        else
            free(path);
        free(entries[i]);
    }
    free(entries);
    return rc;
}

static bool is_locked(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* A process that was killed gives its locks back only some time after it is seen no more. */
int tt_node_cache_check_ended(const char *path, struct tt_error *e)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), rc = TT_OK;

    if (fd < 0)
        return tt_fail_call(e, errno, "open", path, -1);
    for (int i = 0; i < 50 && is_locked(fd); i++)
        usleep(10000);
    if (is_locked(fd))
        rc = tt_fail(e, TT_BUSY,
                     "'%s' is in use: its rank still runs and may acknowledge more; end the run "
                     "first",
                     path);
    close(fd);
    return rc;
}

/* Whether both directories are of one run, "tutti-ID.HOST.cache". */
static bool are_of_one_run(const char *a, const char *b)
{
    const char *x = strrchr(a, '/'), *y = strrchr(b, '/');
    const char *dot = x ? strchr(x, '.') : NULL;

    return dot && y && !strncmp(x, y, (size_t)(dot + 1 - x));
}

/* The target has been removed, or what stands there is another file. */
static bool has_lost_target(const struct tt_node_cache *c)
{
    const char *slash = strrchr(c->path, '/');
    char directory[PATH_MAX], marked[PATH_MAX];
    struct stat st;
    bool local;

    if (!is_named_for(slash + 1, c->head.target)) /* one of the two is damaged */
        return false;
    if (lstat(c->head.target, &st) != 0)
        return errno == ENOENT || errno == ENOTDIR;
    snprintf(directory, sizeof directory, "%.*s", (int)(slash - c->path), c->path);
    return st.st_ino != c->head.inode && !(tt_node_cache_mark(c->head.target, marked, &local) &&
                                           are_of_one_run(directory, marked));
}

static bool is_converted(const char *target)
{
    return lgetxattr(target, TT_NODE_CACHE_CONVERTED, NULL, 0) >= 0;
}

static int check_moved(const char *path, bool kept, struct tt_error *e)
{
    struct tt_error why = TT_ERROR_CLEAR;
    struct tt_node_cache c;
    int rc = tt_node_cache_load(path, &c, &why);
    bool lost = rc == TT_OK && has_lost_target(&c);
    char text[400];

    if (rc != TT_OK) {
        tt_error_format(&why, text, sizeof text);
        rc = tt_fail(e, TT_BUSY, "%s; the cache it is in is left alone", text);
    } else if (lost && !kept) {
        rc = TT_OK;
    } else if (lost && tt_node_cache_holds(&c)) {
        rc = tt_fail(e, TT_BUSY,
                     "'%s' is left alone: it has what was acknowledged of '%s', which is not "
                     "there any more; if you do not need it, remove the cache yourself",
                     path, c.head.target);
    } else if (c.log.fallen > 0 && !c.head.converted) {
        rc = tt_fail(e, TT_BUSY,
                     "'%s' is left alone, with its run's data: its newest state is damaged; tutti "
                     "convert '%s' DST takes an older one; then remove them yourself",
                     path, c.head.target);
    } else if (tt_node_cache_holds(&c) && is_converted(c.head.target)) {
        rc = tt_fail(e, TT_BUSY,
                     "'%s' is left alone, with its run's data: '%s' was converted with a copy of "
                     "it; if that was made after the run had ended, remove the cache yourself",
                     path, c.head.target);
    } else if (tt_node_cache_holds(&c)) {
        rc = tt_fail(e, TT_BUSY,
                     "'%s' is left alone, with its run's data: it has what was acknowledged of "
                     "'%s' and was not moved; tutti convert '%s' DST finishes that",
                     path, c.head.target, c.head.target);
    }
    tt_node_cache_free(&c);
    return rc;
}

int tt_node_cache_check_moved(const char *directory, bool kept, struct tt_error *e)
{
    char **list;
    size_t n;
    int rc;

    if (access(directory, F_OK) != 0 && errno == ENOENT)
        return TT_OK;
    rc = tt_node_cache_list(directory, NULL, &list, &n, e);
    for (size_t i = 0; i < n; i++) {
        if (rc == TT_OK)
            rc = check_moved(list[i], kept, e);
        free(list[i]);
    }
    free(list);
    return rc;
}

#define TARGET "target "

int tt_node_cache_set_mark(const char *target, const char *directory, bool local)
{
    char mark[PATH_MAX + sizeof TARGET];
    int n = snprintf(mark, sizeof mark, "%s%s", local ? "" : TARGET, directory);

    if (n >= (int)sizeof mark)
        return ENAMETOOLONG;
    return setxattr(target, TT_NODE_CACHE_MARK, mark, (size_t)n, 0) == 0 ? 0 : errno;
}

bool tt_node_cache_mark(const char *target, char directory[PATH_MAX], bool *local)
{
    char mark[PATH_MAX + sizeof TARGET];
    ssize_t n = getxattr(target, TT_NODE_CACHE_MARK, mark, sizeof mark - 1);
    int why = errno;
    size_t skip;

    mark[n < 0 ? 0 : n] = '\0';
    *local = strncmp(mark, TARGET, strlen(TARGET)) != 0;
    skip = *local ? 0 : strlen(TARGET);
    snprintf(directory, PATH_MAX, "%.*s", PATH_MAX - 1, mark + skip);
    errno = why;
    return n >= 0;
}

/* errno is of a mark that was not found. One that cannot be read may be there. */
static int check_unread(const char *path, struct tt_error *e)
{
    return errno == EIO || errno == ESTALE ? tt_fail_call(e, errno, "getxattr", path, -1) : TT_OK;
}

int tt_node_cache_check_target(const char *path, struct tt_error *e)
{
    char directory[PATH_MAX];
    bool local;

    if (!tt_node_cache_mark(path, directory, &local))
        return check_unread(path, e);
    return tt_fail(e, TT_FAILED,
                   "'%s' is not whole: its run ended while some of it was only in '%s'; tutti "
                   "convert '%s' DST takes what was acknowledged from both",
                   path, directory, path);
}

int tt_node_cache_check_spared(const char *path, struct tt_error *e)
{
    char directory[PATH_MAX];
    bool local;

    if (is_converted(path))
        return TT_OK;
    if (!tt_node_cache_mark(path, directory, &local))
        return check_unread(path, e);
    if (!local)
        return TT_OK;
    return tt_fail(e, TT_BUSY,
                   "'%s' is left alone: some of it may be only in '%s', or in caches of other "
                   "nodes; tutti convert finishes that; if they are lost, remove the file yourself",
                   path, directory);
}
