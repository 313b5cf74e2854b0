/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <xxhash.h>

#include "plan/registry.h"
#include "plan/removal.h"
#include "plan/workload.h"

/* No sane plan or result is larger; a directory is untrusted. */
#define MAX_JSON_BYTES (256l << 20)

char *tt_directory_path(const char *directory, const char *name)
{
    char *path;

    return asprintf(&path, "%s/%s", directory, name) < 0 ? NULL : path;
}

bool tt_directory_has(const char *directory, const char *name)
{
    char *path = tt_directory_path(directory, name);
    bool has = path && access(path, F_OK) == 0;

    free(path);
    return has;
}

const char *tt_directory_id(const char *directory)
{
    const char *slash = strrchr(directory, '/');

    return slash ? slash + 1 : directory;
}

int tt_directory_open(const char *directory, const char *name, int flags)
{
    char *path = tt_directory_path(directory, name);
    int fd = path ? open(path, flags | TT_DIRECTORY_OPEN, 0666) : -1, why = path ? errno : ENOMEM;

    free(path);
    errno = why;
    return fd;
}

int tt_directory_fail(const char *directory, const char *name, int sys_errno, const char *call,
                      struct tt_error *e)
{
    char *path = tt_directory_path(directory, name);
    int rc = tt_fail_call(e, sys_errno, call, path ? path : name, -1);

    free(path);
    return rc;
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
    fd = open(temporary, O_CREAT | O_TRUNC | O_WRONLY | TT_DIRECTORY_OPEN, 0666);
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

int tt_directory_write_text(const char *directory, const char *name, const char *text,
                            struct tt_error *e)
{
    char *path = tt_directory_path(directory, name);
    int rc = path ? write_renamed(path, text, e) : tt_fail_nomem(e, "a path");

    free(path);
    return rc;
}

bool tt_directory_note_failure(const char *directory, const char *line)
{
    int fd = tt_directory_open(directory, "failure", O_WRONLY | O_CREAT | O_EXCL);
    bool noted = fd >= 0 && write(fd, line, strlen(line)) >= 0;

    if (fd >= 0)
        close(fd);
    return noted;
}

int tt_directory_write_json(const char *directory, const char *name, const json_t *value,
                            struct tt_error *e)
{
    char *text = json_dumps(value, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    int rc = text ? tt_directory_write_text(directory, name, text, e) : tt_fail_nomem(e, name);

    free(text);
    return rc;
}

int tt_directory_sync(const char *directory, const char *name, struct tt_error *e)
{
    int fd = tt_directory_open(directory, name, O_RDONLY), rc = TT_OK;

    if (fd < 0 || fsync(fd) != 0)
        rc = tt_directory_fail(directory, name, errno, "fsync", e);
    if (fd >= 0)
        close(fd);
    return rc;
}

FILE *tt_directory_open_file(const char *directory, const char *name)
{
    int fd = tt_directory_open(directory, name, O_RDONLY), why = errno;
    FILE *file = NULL;
    struct stat st;

    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)))
        why = EINVAL;
    else if (fd >= 0 && !(file = fdopen(fd, "r")))
        why = errno;
    if (fd >= 0 && !file)
        close(fd);
    errno = why;
    return file;
}

bool tt_directory_read_failure(const char *directory, char *line, size_t size)
{
    FILE *f = tt_directory_open_file(directory, "failure");
    bool found = f && fgets(line, (int)size, f);

    if (found)
        line[strcspn(line, "\n")] = '\0';
    if (f)
        fclose(f);
    return found;
}

/* In one piece: jansson takes a stream byte by byte, which is slow for thousands of files. */
static json_t *load_json(FILE *in, size_t size, json_error_t *why)
{
    char *text = malloc(size + 1);
    size_t n = text ? fread(text, 1, size, in) : 0;
    json_t *value = json_loadb(text ? text : "", n, JSON_REJECT_DUPLICATES, why);

    free(text);
    return value;
}

int tt_directory_read_json(const char *directory, const char *name, json_t **value,
                           struct tt_error *e)
{
    char *path = tt_directory_path(directory, name);
    FILE *in = path ? tt_directory_open_file(directory, name) : NULL;
    json_error_t why;
    struct stat st;
    int rc = TT_OK;

    *value = NULL;
    if (!path)
        return tt_fail_nomem(e, "a path");
    if (!in && errno != ELOOP && errno != EINVAL)
        rc = tt_fail_call(e, errno, "open", path, -1);
    else if (!in || fstat(fileno(in), &st) != 0 || st.st_size > MAX_JSON_BYTES)
        rc = tt_fail(e, TT_CORRUPT, "'%s' is not a file that tutti wrote", path);
    else if (!(*value = load_json(in, (size_t)st.st_size, &why)))
        rc = tt_fail(e, TT_CORRUPT, "%s:%d:%d: %s", path, why.line, why.column, why.text);
    else if (!json_is_object(*value)) {
        json_decref(*value);
        *value = NULL;
        rc = tt_fail(e, TT_CORRUPT, "'%s' does not hold a JSON object", path);
    }
    if (in)
        fclose(in);
    free(path);
    return rc;
}

/* ---- making a directory ---- */

/* Where it is reported, what it is called, who watches, and what it may not exceed tell nothing of
 * what was done. */
static bool is_hashed(const char *key)
{
    static const char *const unhashed[] = {"json",    "csv",   "quiet", "dry_run",
                                           "results", "label", "dir",   NULL};

    return !tt_has_word(unhashed, key) && !tt_is_bound_key(key) && strncmp(key, "launch.", 7) &&
           strncmp(key, "counters.", 9);
}

/* Only what is done, not how it was found: of "50ms=12x4.2ms" the count. A new reference. */
static json_t *hashed_value(const char *key, json_t *value)
{
    const struct tt_param *p = tt_find_param(key);
    const char *given = json_string_value(value), *count = given ? strchr(given, '=') : NULL;

    return p && p->type == TT_PARAM_PASSES && count
               ? json_stringn(count + 1, strcspn(count + 1, "x"))
               : json_incref(value);
}

uint64_t tt_parameters_hash(const json_t *parameters)
{
    json_t *hashed = json_object(), *value;
    const char *key;
    char *text;
    uint64_t hash;

    json_object_foreach((json_t *)parameters, key, value)
    {
        if (is_hashed(key))
            json_object_set_new(hashed, key, hashed_value(key, value));
    }
    text = json_dumps(hashed, JSON_COMPACT | JSON_SORT_KEYS);
    hash = text ? XXH3_64bits(text, strlen(text)) : 0;
    free(text);
    json_decref(hashed);
    return hash;
}

static bool differs(const json_t *a, const json_t *b, const char *key)
{
    json_t *in_a = json_object_get(a, key), *in_b = json_object_get(b, key), *one, *two;
    bool are_equal;

    if (!is_hashed(key) || !in_a || !in_b)
        return is_hashed(key) && in_a != in_b;
    one = hashed_value(key, in_a);
    two = hashed_value(key, in_b);
    are_equal = json_equal(one, two);
    json_decref(one);
    json_decref(two);
    return !are_equal;
}

size_t tt_parameters_differ(const json_t *a, const json_t *b, size_t max, const char **keys)
{
    const json_t *sides[] = {a, b};
    const char *key;
    json_t *value;
    size_t n = 0;

    for (int side = 0; side < 2; side++)
        json_object_foreach((json_t *)sides[side], key, value)
        {
            if ((side && json_object_get(a, key)) || !differs(a, b, key))
                continue;
            if (n < max)
                keys[n] = key;
            n++;
        }
    return n;
}

static int set_hash(json_t *plan)
{
    char hash[20];

    snprintf(hash, sizeof hash, "%016" PRIx64,
             tt_parameters_hash(json_object_get(plan, "parameters")));
    return json_object_set_new(plan, "hash", json_string(hash));
}

static int write_plan(const struct tt_config *config, const char *directory, struct tt_error *e)
{
    json_t *parameters = tt_config_to_json(config), *plan;
    int rc;

    if (!parameters)
        return tt_fail_nomem(e, "the plan");
    plan = json_pack("{s:i, s:s, s:s, s:I, s:s, s:o}", "format", TT_PLAN_FORMAT, "id",
                     tt_directory_id(directory), "workload", config->workload->name, "ranks",
                     (json_int_t)config->run->ranks, "hash", "", "parameters", parameters);
    if (plan)
        json_object_set_new(plan, "described", tt_config_describe_modules(config));
    rc = plan && set_hash(plan) == 0 ? tt_directory_write_json(directory, "plan.json", plan, e)
                                     : tt_fail_nomem(e, "the plan");
    json_decref(plan);
    return rc;
}

int tt_directory_keep_passes(const char *directory, const struct tt_config *config,
                             struct tt_error *e)
{
    const struct tt_param *p;
    const void *passes = tt_config_passes(config, &p);
    char *text = passes ? tt_param_get(p, (const char *)passes - p->offset) : NULL, key[80];
    json_t *plan = NULL;
    int rc = tt_directory_read_plan(directory, &plan, e);

    snprintf(key, sizeof key, "%.40s.%.30s", config->workload->name, text ? p->key : "");
    if (rc == TT_OK &&
        (!text ||
         json_object_set_new(json_object_get(plan, "parameters"), key, json_string(text)) != 0 ||
         set_hash(plan) != 0))
        rc = tt_fail_nomem(e, "the plan");
    if (rc == TT_OK)
        rc = tt_directory_write_json(directory, "plan.json", plan, e);
    json_decref(plan);
    free(text);
    return rc;
}

int tt_directory_make(const char *results, const char *prefix, char **path, struct tt_error *e)
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
    /* Launchers get it as a word, which must not look like an option. */
    if (asprintf(path, "%s%s/%s%s-%08" PRIx32, results[0] == '-' ? "./" : "", results, prefix,
                 stamp, id) < 0) {
        *path = NULL;
        return tt_fail_nomem(e, "a path");
    }
    if (mkdir(*path, 0777) != 0)
        return tt_fail_call(e, errno, "mkdir", *path, -1);
    return TT_OK;
}

int tt_directory_create(const struct tt_config *config, char **path, struct tt_error *e)
{
    char *records = NULL;
    int rc;

    *path = NULL;
    rc = tt_directory_make(config->run->results, "", path, e);
    if (rc == TT_OK)
        rc = write_plan(config, *path, e);
    if (rc == TT_OK)
        rc = tt_directory_write_text(*path, "manifest", "", e);
    if (rc == TT_OK) {
        records = tt_directory_path(*path, "records");
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

int tt_directory_check_format(const char *directory, const char *name, const json_t *object,
                              int format, struct tt_error *e)
{
    long long found = json_integer_value(json_object_get(object, "format"));

    if (found == format)
        return TT_OK;
    return tt_fail(e, TT_CORRUPT,
                   "%s/%s was made by %s tutti: it has format %lld, and this one reads %d",
                   directory, name, found < format ? "an older" : "a newer", found, format);
}

int tt_directory_read_plan(const char *directory, json_t **plan, struct tt_error *e)
{
    int rc = tt_directory_read_json(directory, "plan.json", plan, e);

    return rc == TT_OK ? tt_directory_check_format(directory, "plan.json", *plan, TT_PLAN_FORMAT, e)
                       : rc;
}

int tt_directory_use_plan(const char *directory, enum tt_plan_use use, const json_t *plan,
                          struct tt_config *config, struct tt_error *e)
{
    struct tt_settings settings = {.closed = use == TT_PLAN_TO_LOOK};
    const char *workload = json_string_value(json_object_get(plan, "workload"));
    int rc = TT_OK;

    if (!workload)
        rc = tt_fail(e, TT_CORRUPT, "%s/plan.json names no workload", directory);
    if (rc == TT_OK && !tt_plan_id(directory, plan, e))
        rc = TT_CORRUPT;
    if (rc == TT_OK)
        rc = tt_settings_from_json(&settings, json_object_get(plan, "parameters"), "plan.json", e);
    if (rc == TT_OK)
        rc = tt_config_make(config, workload, &settings, e);
    tt_settings_free(&settings);
    return rc;
}

int tt_directory_load_plan(const char *directory, enum tt_plan_use use, struct tt_config *config,
                           json_t **plan, struct tt_error *e)
{
    json_t *read = NULL;
    int rc = tt_directory_read_plan(directory, &read, e);

    if (rc == TT_OK)
        rc = tt_directory_use_plan(directory, use, read, config, e);
    if (plan && rc == TT_OK)
        *plan = json_incref(read);
    json_decref(read);
    return rc;
}

/* ---- progress ---- */

#define PROGRESS_BYTES 80

void tt_progress_write(int fd, const struct tt_progress *p)
{
    char text[PROGRESS_BYTES + 1];

    if (fd < 0)
        return;
    snprintf(text, sizeof text, "%-*s", PROGRESS_BYTES, "");
    snprintf(text, sizeof text, "%" PRIu64 " %" PRIu64 " %.3f %" PRIu64, p->iteration, p->total,
             p->seconds, p->bytes);
    text[strlen(text)] = ' ';
    text[PROGRESS_BYTES - 1] = '\n';
    (void)!pwrite(fd, text, PROGRESS_BYTES, 0);
}

int tt_progress_read(const char *directory, struct tt_progress *p)
{
    char text[PROGRESS_BYTES + 1] = "";
    int fd = tt_directory_open(directory, "progress", O_RDONLY), n = 0;

    if (fd >= 0 && read(fd, text, PROGRESS_BYTES) > 0)
        n = sscanf(text, "%" SCNu64 " %" SCNu64 " %lf %" SCNu64, &p->iteration, &p->total,
                   &p->seconds, &p->bytes);
    if (fd >= 0)
        close(fd);
    return n == 4 ? 0 : -1;
}
