/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launch/hold.h"

#include <string.h>

#include "cli/command.h"
#include "cli/rank.h"
#include "launch/launch.h"
#include "plan/directory.h"
#include "plan/manifest.h"
#include "report/environment.h"

/* What a launcher starts for a command, as perform is what it starts for a workload. */
int tt_cmd_hold(int argc, char **argv)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_perform_how how = {0};
    struct tt_config config = {0};
    json_t *environment = NULL;
    const char *directory;
    int own = 1, rc;

    while (own < argc && strcmp(argv[own], "--"))
        own++;
    rc = tt_perform_words(own, argv, &directory, &how, &e);
    if (rc == TT_OK && own + 1 >= argc)
        rc = tt_fail(&e, TT_USAGE, "hold takes a run directory, -- and a command");
    if (rc == TT_OK)
        rc = tt_directory_load_plan(directory, TT_PLAN_TO_RUN, &config, NULL, &e);
    if (rc == TT_OK) /* what is in there belongs to another run, and stays */
        rc = tt_manifest_check_new(directory, tt_launched_rank(), &e);
    if (rc == TT_OK && tt_launched_rank() == 0)
        environment = tt_environment_of(&config);
    if (rc == TT_OK)
        rc = tt_hold(directory, &config, how, argv + own + 1, environment, &e);
    json_decref(environment);
    tt_config_free(&config);
    return rc == TT_OK ? 0 : tt_report_error(&e);
}
