/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti clean FOLDER: remove the data files of a run that could not do so itself, since it was
 * killed, or was told to keep them. The folder may be anybody's: a file goes only if it carries the
 * mark of this run, or lies in the folder that the run made for its data. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/option.h"
#include "engine/records.h"
#include "plan/folder.h"

/* ---- does it still run? ---- */

static int check_rank(const char *path, struct tt_error *e)
{
    struct tt_rank_records r = {0};
    char host[sizeof r.header.host] = "";
    int rc = tt_records_load(path, &r, e);

    if (rc != TT_OK)
        return rc;
    gethostname(host, sizeof host - 1);
    if (r.header.state != TT_RANK_RUNNING)
        rc = TT_OK;
    else if (strcmp(host, r.header.host) != 0)
        rc = tt_fail(e, TT_FAILED,
                     "rank %u did not end in order on %s, and only there one sees whether it still "
                     "runs; if it does not, use --force",
                     r.header.rank, r.header.host);
    else if (tt_records_are_held(path, &r.header))
        rc = tt_fail(e, TT_FAILED, "rank %u still runs, as process %u; end the run first",
                     r.header.rank, r.header.pid);
    tt_records_unload(&r);
    return rc;
}

static int check_ended(const char *folder, struct tt_error *e)
{
    char *records = tt_folder_path(folder, "records");
    DIR *list = records ? opendir(records) : NULL;
    struct dirent *entry;
    int rc = TT_OK;

    if (!list)
        rc = tt_fail_call(e, errno, "opendir", records ? records : folder, -1);
    while (rc == TT_OK && (entry = readdir(list))) {
        char *path = entry->d_name[0] == '.' ? NULL : tt_folder_path(records, entry->d_name);

        if (path)
            rc = check_rank(path, e);
        free(path);
    }
    if (list)
        closedir(list);
    free(records);
    return rc;
}

/* ---- whose file is it? ---- */

struct cleaning {
    const char *id;
    unsigned long long removed;
};

/* "tutti-ID" */
static bool is_data_folder(const char *id, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    struct stat st;

    return !strncmp(name, "tutti-", 6) && !strcmp(name + 6, id) && lstat(path, &st) == 0 &&
           S_ISDIR(st.st_mode);
}

static bool is_ours(const char *id, const char *path)
{
    const char *slash = strrchr(path, '/');
    char mark[256] = "", *parent;
    ssize_t n = lgetxattr(path, TT_DATA_MARK, mark, sizeof mark - 1);
    bool ours;

    if (n > 0)
        return !strcmp(mark, id);
    parent = slash ? strndup(path, (size_t)(slash - path)) : NULL;
    ours = parent && is_data_folder(id, parent); /* it was not finished, so it has no mark yet */
    free(parent);
    return ours;
}

static int clean_one(void *context, const char *path, struct tt_error *e)
{
    struct cleaning *c = context;
    struct stat st;

    if (lstat(path, &st) != 0)
        return errno == ENOENT || errno == ENOTDIR ? TT_OK
                                                   : tt_fail_call(e, errno, "stat", path, -1);
    if (is_data_folder(c->id, path))
        return rmdir(path) == 0 ? TT_OK : tt_fail_call(e, errno, "rmdir", path, -1);
    if (!S_ISREG(st.st_mode) || !is_ours(c->id, path))
        return tt_fail(e, TT_FAILED,
                       "'%s' is left alone: it carries no mark of this run; if it is of this run, "
                       "remove it yourself",
                       path);
    if (unlink(path) != 0)
        return tt_fail_call(e, errno, "unlink", path, -1);
    c->removed++;
    return TT_OK;
}

static int clean(const char *folder, bool force, struct tt_error *e)
{
    struct cleaning c = {0};
    json_t *plan = NULL;
    int rc = tt_folder_read_json(folder, "plan.json", &plan, e);

    c.id = json_string_value(json_object_get(plan, "id"));
    if (rc == TT_OK && (!c.id || !*c.id || strchr(c.id, '/')))
        rc = tt_fail(e, TT_CORRUPT, "%s/plan.json has no id", folder);
    if (rc == TT_OK && !force)
        rc = check_ended(folder, e);
    if (rc == TT_OK) {
        rc = tt_manifest_each(folder, clean_one, &c, e);
        printf("removed %llu data file%s\n", c.removed, c.removed == 1 ? "" : "s");
    }
    json_decref(plan);
    return rc;
}

int tt_cmd_clean(int argc, char **argv)
{
    struct tt_error e = TT_ERROR_CLEAR;
    const char *folder = NULL;
    bool force = false;
    const struct tt_option options[] = {{"--force", NULL, &force}, {NULL, NULL, NULL}};

    if (tt_take_options(argc, argv, options, &folder, &e) == TT_OK) {
        if (folder)
            clean(folder, force, &e);
        else
            tt_fail(&e, TT_USAGE, "clean needs a run folder; see tutti clean --help");
    }
    return e.code == TT_OK ? 0 : tt_report_error(&e);
}
