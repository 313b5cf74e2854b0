/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>

#include "spec/units.h"

/* Bytes that are free and that are to stay free; false if there is no limit, as on ramfs. */
static bool judge(const struct statvfs *v, const struct tt_space *min_free, double *free_now,
                  double *reserve)
{
    double size = (double)v->f_blocks * (double)v->f_frsize;

    *free_now = (double)v->f_bavail * (double)v->f_frsize;
    *reserve = min_free->bytes ? (double)min_free->bytes : size * min_free->percent / 100;
    return size > 0;
}

int tt_limits_check_space(const char *dir, const struct tt_space *min_free, uint64_t bytes,
                          struct tt_error *e)
{
    char need[TT_UNIT_TEXT], have[TT_UNIT_TEXT], keep[TT_UNIT_TEXT];
    struct statvfs v;
    double free_now, reserve;

    if (statvfs(dir, &v) != 0)
        return tt_fail_call(e, errno, "statvfs", dir, -1);
    if (!judge(&v, min_free, &free_now, &reserve) || free_now - (double)bytes >= reserve)
        return TT_OK;
    tt_format_bytes(free_now, have);
    tt_format_bytes((double)bytes, need);
    if (reserve <= 0)
        return tt_fail(e, TT_LIMIT,
                       "'%s' has %s free: %s do not fit; write less, or into another directory",
                       dir, have, need);
    return tt_fail(e, TT_LIMIT,
                   "'%s' has %s free; writing %s would leave less than the %s that --min-free "
                   "keeps; write less, into another directory, or lower --min-free",
                   dir, have, need, tt_format_bytes(reserve, keep));
}

int tt_limits_check_room(const struct tt_config *config, uint64_t bytes, struct tt_error *e)
{
    char *dir = tt_config_data_directory(config);
    struct tt_error why = TT_ERROR_CLEAR;

    if (!dir)
        return tt_fail_nomem(e, "a path");
    tt_limits_check_space(dir, &config->run->min_free, bytes, &why);
    free(dir);
    return why.code == TT_LIMIT ? tt_fail(e, TT_LIMIT, "%s", why.text) : TT_OK;
}

uint64_t tt_limits_room(const struct tt_config *config)
{
    char *dir = tt_config_data_directory(config);
    double free_now, reserve, most = 1e18;
    struct statvfs v;
    bool known = dir && statvfs(dir, &v) == 0;

    free(dir);
    if (!known)
        return 0;
    if (judge(&v, &config->run->min_free, &free_now, &reserve) && free_now - reserve < most)
        most = free_now - reserve;
    return most > 0 ? (uint64_t)most : 0;
}

int tt_limits_check_plan(const struct tt_config *config, const struct tt_estimate *estimate,
                         struct tt_error *e)
{
    const struct tt_run_options *run = config->run;
    char need[TT_UNIT_TEXT], cap[TT_UNIT_TEXT];

    if (estimate->at_most)
        return TT_OK;
    if (run->max_bytes > 0 && estimate->bytes_written > run->max_bytes)
        return tt_fail(e, TT_LIMIT, "the run would write %s, more than --max-bytes %s",
                       tt_format_bytes((double)estimate->bytes_written, need),
                       tt_format_bytes((double)run->max_bytes, cap));
    if (estimate->bytes_on_disk == 0 || !(tt_stack_caps(&config->stack) & TT_CAP_STORES))
        return TT_OK;
    return tt_limits_check_room(config, estimate->bytes_on_disk, e);
}
