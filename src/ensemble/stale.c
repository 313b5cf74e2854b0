/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ensemble/run.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/notice.h"
#include "base/clock.h"
#include "record/liveness.h"
#include "ensemble/shares.h"
#include "launch/launch.h"
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

    while (tt_check_liveness(run, false, &why) == TT_BUSY) {
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
        tt_notice("left behind by a driver that was killed: %s", text);
    }
    tt_config_free(&config);
    return rc;
}

/* Directories right below that of an ensemble are repetitions, unless finished has them, and right
 * below those, jobs; links are none of ours. */
static int tidy(const char *directory, bool is_repetition, const json_t *finished,
                struct tt_error *e)
{
    DIR *entries = opendir(directory);
    struct dirent *entry;
    int rc = entries ? TT_OK : tt_fail_call(e, errno, "opendir", directory, -1);

    while (rc == TT_OK && (entry = readdir(entries))) {
        char *path = entry->d_name[0] == '.' ? NULL : tt_directory_path(directory, entry->d_name);
        struct stat st;

        if (path && lstat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
            if (is_repetition)
                rc = tidy_job(path, e);
            else if (!json_object_get(finished, entry->d_name))
                rc = tidy(path, true, NULL, e);
        }
        free(path);
    }
    if (entries)
        closedir(entries);
    return rc;
}

int tt_stale_remove(const char *directory, const struct tt_repetition *list, size_t n,
                    struct tt_error *e)
{
    json_t *finished = json_object();
    int rc = TT_OK;

    for (size_t i = 0; i < n && rc == TT_OK; i++)
        if (json_object_set_new(finished, list[i].directory, json_true()) != 0)
            rc = tt_fail_nomem(e, "the repetitions");
    if (rc == TT_OK)
        rc = tidy(directory, false, finished, e);
    json_decref(finished);
    tt_shares_tidy();
    return rc;
}
