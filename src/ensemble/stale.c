/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ensemble/run.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "record/liveness.h"
#include "ensemble/shares.h"
#include "launch/slurm.h"
#include "plan/config.h"
#include "plan/directory.h"
#include "plan/removal.h"

/* Jobs whose driver was killed are told so by the kernel, and end; not at once. */
#define ENDING_NS 20000000000
#define POLL_NS 100000000

static int wait_until_ended(const char *run, struct tt_error *e)
{
    int64_t deadline = tt_now_ns() + ENDING_NS;
    struct tt_error why = TT_ERROR_CLEAR;

    while (tt_check_liveness(run, &why) == TT_BUSY) {
        if (tt_now_ns() > deadline) {
            *e = why;
            return TT_BUSY;
        }
        tt_sleep_until(tt_now_ns() + POLL_NS);
        tt_error_clear(&why);
    }
    return TT_OK;
}

/* A directory without a plan is of no job yet. */
static int tidy_job(const char *run, struct tt_error *e)
{
    struct tt_error why = TT_ERROR_CLEAR;
    struct tt_config config = {0};
    uint64_t removed = 0;
    char text[700];
    int rc;

    if (tt_directory_load_plan(run, TT_PLAN_TO_LOOK, &config, NULL, &why) != TT_OK)
        return TT_OK;
    tt_launcher_batch.cancel(run);
    rc = wait_until_ended(run, e);
    if (rc == TT_OK && !config.run->keep && tt_clean_data(run, &removed, &why) != TT_OK) {
        tt_error_format(&why, text, sizeof text);
        fprintf(stderr, "tutti: left behind by a driver that was killed: %s\n", text);
    }
    tt_config_free(&config);
    return rc;
}

typedef int visit_directory(void *context, const char *path, const char *name, struct tt_error *e);

/* Directories right below this one; links are none of ours. */
static int each_directory(const char *directory, visit_directory *visit, void *context,
                          struct tt_error *e)
{
    DIR *list = opendir(directory);
    struct dirent *entry;
    int rc = list ? TT_OK : tt_fail_call(e, errno, "opendir", directory, -1);

    while (rc == TT_OK && (entry = readdir(list))) {
        char *path = entry->d_name[0] == '.' ? NULL : tt_directory_path(directory, entry->d_name);
        struct stat st;

        if (path && lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
            rc = visit(context, path, entry->d_name, e);
        free(path);
    }
    if (list)
        closedir(list);
    return rc;
}

static int visit_job(void *context, const char *path, const char *name, struct tt_error *e)
{
    (void)context, (void)name;
    return tidy_job(path, e);
}

struct finished {
    const struct tt_repetition *list;
    size_t n;
};

static int visit_repetition(void *context, const char *path, const char *name, struct tt_error *e)
{
    const struct finished *finished = context;

    for (size_t i = 0; i < finished->n; i++)
        if (!strcmp(finished->list[i].directory, name))
            return TT_OK;
    return each_directory(path, visit_job, NULL, e);
}

int tt_stale_remove(const char *directory, const struct tt_repetition *list, size_t n,
                    struct tt_error *e)
{
    struct finished finished = {list, n};
    int rc = each_directory(directory, visit_repetition, &finished, e);

    tt_shares_tidy();
    return rc;
}
