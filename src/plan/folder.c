/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include <xxhash.h>

#include "plan/clean.h"
#include "plan/tree.h"
#include "plan/workload.h"

#define PLAN_VERSION 1
/* No sane plan or result is larger; a folder is untrusted. */
#define MAX_JSON_BYTES (256l << 20)

char *tt_folder_path(const char *folder, const char *name)
{
    char *path;

    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

const char *tt_folder_id(const char *folder)
{
    const char *slash = strrchr(folder, '/');

    return slash ? slash + 1 : folder;
}

/* ---- whole files ---- */

static int write_all(int fd, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, text, length);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : ENOSPC;
        text += n;
        length -= (size_t)n;
    }
    return 0;
}

static int write_renamed(const char *path, const char *text, struct tt_error *e)
{
    char *temporary;
    int fd, failed, rc = TT_OK;

    /* Two processes may make the same result at once. */
    if (asprintf(&temporary, "%s.%ld.part", path, (long)getpid()) < 0)
        return tt_fail_nomem(e, "a path");
    fd = open(temporary, O_CREAT | O_TRUNC | O_WRONLY | TT_FOLDER_OPEN, 0666);
    failed = fd < 0 ? errno : write_all(fd, text, strlen(text));
    if (fd >= 0 && close(fd) != 0 && !failed)
        failed = errno;
    if (!failed && rename(temporary, path) != 0)
        failed = errno;
    if (failed) {
        rc = tt_fail_call(e, failed, "write", path, -1);
        unlink(temporary);
    }
    free(temporary);
    return rc;
}

int tt_folder_write_text(const char *folder, const char *name, const char *text, struct tt_error *e)
{
    char *path = tt_folder_path(folder, name);
    int rc = path ? write_renamed(path, text, e) : tt_fail_nomem(e, "a path");

    free(path);
    return rc;
}

int tt_folder_write_json(const char *folder, const char *name, const json_t *value,
                         struct tt_error *e)
{
    char *text = json_dumps(value, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    int rc = text ? tt_folder_write_text(folder, name, text, e) : tt_fail_nomem(e, name);

    free(text);
    return rc;
}

int tt_folder_sync(const char *folder, const char *name, struct tt_error *e)
{
    char *path = tt_folder_path(folder, name);
    int fd = path ? open(path, O_RDONLY | TT_FOLDER_OPEN) : -1, rc = TT_OK;

    if (!path)
        return tt_fail_nomem(e, "a path");
    if (fd < 0 || fsync(fd) != 0)
        rc = tt_fail_call(e, errno, "fsync", path, -1);
    if (fd >= 0)
        close(fd);
    free(path);
    return rc;
}

int tt_folder_read_json(const char *folder, const char *name, json_t **value, struct tt_error *e)
{
    char *path = tt_folder_path(folder, name);
    json_error_t why;
    struct stat st;
    int rc = TT_OK;

    *value = NULL;
    if (!path)
        return tt_fail_nomem(e, "a path");
    if (stat(path, &st) != 0)
        rc = tt_fail_call(e, errno, "open", path, -1);
    else if (!S_ISREG(st.st_mode) || st.st_size > MAX_JSON_BYTES)
        rc = tt_fail(e, TT_CORRUPT, "'%s' is no file that tutti wrote", path);
    else if (!(*value = json_load_file(path, JSON_REJECT_DUPLICATES, &why)))
        rc = tt_fail(e, TT_CORRUPT, "%s:%d:%d: %s", path, why.line, why.column, why.text);
    else if (!json_is_object(*value)) {
        json_decref(*value);
        *value = NULL;
        rc = tt_fail(e, TT_CORRUPT, "'%s' does not hold a JSON object", path);
    }
    free(path);
    return rc;
}

/* ---- making a folder ---- */

/* What a result depends on: every parameter but where it is reported, what it is called and
 * who watches. */
static uint64_t hash_parameters(const json_t *parameters)
{
    static const char *const unhashed[] = {"json",    "csv",   "quiet", "dry_run",
                                           "results", "label", "dir",   NULL};
    json_t *copy = json_copy((json_t *)parameters), *value;
    const char *key;
    char *text;
    uint64_t hash;
    void *next;

    for (int i = 0; unhashed[i]; i++)
        json_object_del(copy, unhashed[i]);
    json_object_foreach_safe(copy, next, key, value)
    {
        if (!strncmp(key, "launch.", 7) || !strncmp(key, "counters.", 9))
            json_object_del(copy, key);
    }
    text = json_dumps(copy, JSON_COMPACT | JSON_SORT_KEYS);
    hash = text ? XXH3_64bits(text, strlen(text)) : 0;
    free(text);
    json_decref(copy);
    return hash;
}

static int write_plan(const struct tt_config *config, const char *folder, struct tt_error *e)
{
    json_t *parameters = tt_config_to_json(config), *plan;
    char hash[20];
    int rc;

    if (!parameters)
        return tt_fail_nomem(e, "the plan");
    snprintf(hash, sizeof hash, "%016" PRIx64, hash_parameters(parameters));
    plan = json_pack("{s:i, s:s, s:s, s:I, s:s, s:o}", "version", PLAN_VERSION, "id",
                     tt_folder_id(folder), "workload", config->workload->name, "ranks",
                     (json_int_t)config->run->ranks, "hash", hash, "parameters", parameters);
    if (plan)
        json_object_set_new(plan, "described", tt_config_describe_modules(config));
    rc = plan ? tt_folder_write_json(folder, "plan.json", plan, e) : tt_fail_nomem(e, "the plan");
    json_decref(plan);
    return rc;
}

int tt_folder_make(const char *results, const char *prefix, char **path, struct tt_error *e)
{
    time_t now = time(NULL);
    struct tm utc;
    char stamp[32];
    uint32_t id;

    if (mkdir(results, 0777) != 0 && errno != EEXIST)
        return tt_fail_call(e, errno, "mkdir", results, -1);
    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", gmtime_r(&now, &utc));
    if (getrandom(&id, sizeof id, 0) != sizeof id)
        id = (uint32_t)getpid();
    if (asprintf(path, "%s/%s%s-%08" PRIx32, results, prefix, stamp, id) < 0) {
        *path = NULL;
        return tt_fail_nomem(e, "a path");
    }
    if (mkdir(*path, 0777) != 0)
        return tt_fail_call(e, errno, "mkdir", *path, -1);
    return TT_OK;
}

int tt_folder_create(const struct tt_config *config, char **path, struct tt_error *e)
{
    char *records = NULL;
    int rc;

    *path = NULL;
    rc = tt_folder_make(config->run->results, "", path, e);
    if (rc == TT_OK)
        rc = write_plan(config, *path, e);
    if (rc == TT_OK)
        rc = tt_folder_write_text(*path, "manifest", "", e);
    if (rc == TT_OK) {
        records = tt_folder_path(*path, "records");
        if (!records)
            rc = tt_fail_nomem(e, "a path");
        else if (mkdir(records, 0777) != 0)
            rc = tt_fail_call(e, errno, "mkdir", records, -1);
        free(records);
    }
    if (rc != TT_OK) {
        free(*path);
        *path = NULL;
    }
    return rc;
}

int tt_folder_load_plan(const char *folder, struct tt_config *config, json_t **plan,
                        struct tt_error *e)
{
    struct tt_settings settings = {0};
    json_t *read = NULL;
    const char *workload;
    int rc = tt_folder_read_json(folder, "plan.json", &read, e);

    if (rc == TT_OK && json_integer_value(json_object_get(read, "version")) != PLAN_VERSION)
        rc = tt_fail(e, TT_CORRUPT, "%s/plan.json was made by another version of tutti", folder);
    workload = json_string_value(json_object_get(read, "workload"));
    if (rc == TT_OK && !workload)
        rc = tt_fail(e, TT_CORRUPT, "%s/plan.json names no workload", folder);
    if (rc == TT_OK)
        rc = tt_settings_from_json(&settings, json_object_get(read, "parameters"), "plan.json", e);
    if (rc == TT_OK)
        rc = tt_config_make(config, workload, &settings, e);
    tt_settings_free(&settings);
    if (plan && rc == TT_OK)
        *plan = json_incref(read);
    json_decref(read);
    return rc;
}

/* ---- the manifest ---- */

/* A file is found again from anywhere. */
static int make_line(const char *before, const char *path, char **line)
{
    char here[PATH_MAX];

    if (path[0] == '/' || !getcwd(here, sizeof here))
        return asprintf(line, "%s%s\n", before, path);
    return asprintf(line, "%s%s/%s\n", before, here, strncmp(path, "./", 2) ? path : path + 2);
}

static int append_line(const char *folder, const char *before, const char *path, struct tt_error *e)
{
    char *manifest = tt_folder_path(folder, "manifest"), *line = NULL;
    int fd, failed = 0, rc = TT_OK;

    if (!manifest || make_line(before, path, &line) < 0) {
        free(manifest);
        return tt_fail_nomem(e, "the manifest");
    }
    /* One append is one write: ranks do not disturb each other. */
    fd = open(manifest, O_WRONLY | O_APPEND | O_CLOEXEC);
    failed = fd < 0 ? errno : write_all(fd, line, strlen(line));
    if (fd >= 0)
        close(fd);
    if (failed)
        rc = tt_fail_call(e, failed, "write", manifest, -1);
    free(line);
    free(manifest);
    return rc;
}

int tt_manifest_add(const char *folder, const char *path, struct tt_error *e)
{
    return append_line(folder, "", path, e);
}

/* No path starts with a tab: parameters hold no control characters. */
int tt_manifest_withdraw(const char *folder, const char *path, struct tt_error *e)
{
    return append_line(folder, "\t", path, e);
}

int tt_manifest_check_new(const char *folder, int rank, struct tt_error *e)
{
    char *manifest = tt_folder_path(folder, "manifest"), name[32], *records;
    struct stat st;
    int rc = TT_OK;

    snprintf(name, sizeof name, "records/%05d.ttr", rank);
    records = tt_folder_path(folder, name);
    if (!manifest || !records)
        rc = tt_fail_nomem(e, "a path");
    else if (lstat(manifest, &st) != 0)
        rc = tt_fail_call(e, errno, "open", manifest, -1);
    else if (!S_ISREG(st.st_mode) || st.st_size != 0 || lstat(records, &st) == 0)
        rc = tt_fail(e, TT_USAGE, "'%s' has been performed already", folder);
    free(manifest);
    free(records);
    return rc;
}

/* A later run may have put a file of its own at the same path. */
static bool is_anothers(const char *folder, const char *path)
{
    char mark[256] = "";
    ssize_t n = lgetxattr(path, TT_DATA_MARK, mark, sizeof mark - 1);

    return n > 0 && strcmp(mark, tt_folder_id(folder)) != 0;
}

/* Only one that is known to be of this run: everything in it goes. */
static int remove_tree(const char *folder, const char *path, struct tt_error *e)
{
    char *plain = strndup(path, strlen(path) - 1);
    int rc = plain ? TT_OK : tt_fail_nomem(e, "a path");

    if (rc == TT_OK && tt_data_is_ours(tt_folder_id(folder), plain))
        rc = tt_tree_remove(plain, e);
    free(plain);
    return rc;
}

static int remove_one(void *context, const char *path, struct tt_error *e)
{
    const char *folder = context;

    if (path[0] && path[strlen(path) - 1] == '/')
        return remove_tree(folder, path, e);
    if (is_anothers(folder, path) || unlink(path) == 0 || errno == ENOENT || errno == ENOTDIR)
        return TT_OK;
    if ((errno == EISDIR || errno == EPERM) && rmdir(path) == 0)
        return TT_OK;
    return tt_fail_call(e, errno, "unlink", path, -1);
}

/* Empties the line, and the last one before it with the path it takes back. */
static void withdraw(char **lines, size_t at)
{
    for (size_t i = at; i-- > 0;)
        if (!strcmp(lines[i], lines[at] + 1)) {
            lines[i][0] = 0;
            break;
        }
    lines[at][0] = 0;
}

static int read_lines(FILE *in, char ***lines, size_t *n, struct tt_error *e)
{
    size_t capacity = 0, size = 0;
    char *line = NULL;
    int rc = TT_OK;

    while (rc == TT_OK && getline(&line, &size, in) > 0) {
        if (*n == capacity) {
            char **grown = realloc(*lines, (capacity = 2 * capacity + 16) * sizeof *grown);

            if (!grown) {
                rc = tt_fail_nomem(e, "the manifest");
                break;
            }
            *lines = grown;
        }
        line[strcspn(line, "\n")] = 0;
        if (((*lines)[*n] = strdup(line)))
            (*n)++;
        else
            rc = tt_fail_nomem(e, "the manifest");
    }
    free(line);
    return rc;
}

/* The folder may be anybody's. */
static FILE *open_manifest(const char *folder, struct tt_error *e)
{
    char *manifest = tt_folder_path(folder, "manifest");
    int fd = manifest ? open(manifest, O_RDONLY | TT_FOLDER_OPEN) : -1;
    FILE *in = NULL;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0)
        tt_fail_call(e, errno, "open", manifest ? manifest : folder, -1);
    else if (!S_ISREG(st.st_mode))
        tt_fail(e, TT_CORRUPT, "'%s' is no file", manifest);
    else if (!(in = fdopen(fd, "r")))
        tt_fail_nomem(e, "the manifest");
    if (fd >= 0 && !in)
        close(fd);
    free(manifest);
    return in;
}

int tt_manifest_each(const char *folder, tt_manifest_visit *visit, void *context,
                     struct tt_error *e)
{
    FILE *in = open_manifest(folder, e);
    char **lines = NULL;
    size_t n = 0;
    int rc = in ? read_lines(in, &lines, &n, e) : e->code;

    while (n-- > 0) {
        int now = TT_OK;

        if (lines[n][0] == '\t')
            withdraw(lines, n);
        else if (lines[n][0])
            now = visit(context, lines[n], e);
        rc = rc == TT_OK ? now : rc;
        free(lines[n]);
    }
    if (in)
        fclose(in);
    free(lines);
    return rc;
}

int tt_manifest_remove(const char *folder, struct tt_error *e)
{
    return tt_manifest_each(folder, remove_one, (void *)folder, e);
}

/* ---- progress ---- */

#define PROGRESS_BYTES 80

void tt_progress_write(int fd, const struct tt_progress *p)
{
    char text[PROGRESS_BYTES + 1];

    if (fd < 0)
        return;
    snprintf(text, sizeof text, "%-*s", PROGRESS_BYTES, "");
    snprintf(text, sizeof text, "%" PRIu64 " %" PRIu64 " %.3f", p->iteration, p->total, p->seconds);
    text[strlen(text)] = ' ';
    text[PROGRESS_BYTES - 1] = '\n';
    (void)!pwrite(fd, text, PROGRESS_BYTES, 0);
}

int tt_progress_read(const char *folder, struct tt_progress *p)
{
    char *path = tt_folder_path(folder, "progress"), text[PROGRESS_BYTES + 1] = "";
    int fd = path ? open(path, O_RDONLY | TT_FOLDER_OPEN) : -1, n = 0;

    if (fd >= 0 && read(fd, text, PROGRESS_BYTES) > 0)
        n = sscanf(text, "%" SCNu64 " %" SCNu64 " %lf", &p->iteration, &p->total, &p->seconds);
    if (fd >= 0)
        close(fd);
    free(path);
    return n == 3 ? 0 : -1;
}
