/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>

#include "cli/command.h"
#include "launch/launch.h"

int tt_report_error(const struct tt_error *e)
{
    char line[1024];

    tt_error_format(e, line, sizeof line);
    if (tt_launched_rank() == 0) /* all ranks have the same error */
        fprintf(stderr, "tutti: %s\n", line);
    return tt_exit_status(e->code);
}
