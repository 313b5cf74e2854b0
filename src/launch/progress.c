/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launch/progress.h"

#include <string.h>
#include <unistd.h>

#include "plan/directory.h"
#include "spec/units.h"

#define BAR_WIDTH 30

void tt_progress_draw(FILE *out, const char *directory)
{
    static const char full[] = "##############################";
    char left[TT_UNIT_TEXT];
    struct tt_progress p;
    double share;
    int filled;

    if (!isatty(fileno(out)) || tt_progress_read(directory, &p) != 0 || p.total == 0)
        return;
    share = (double)p.iteration / (double)p.total;
    if (share <= 0 || share > 1)
        return;
    filled = (int)(share * BAR_WIDTH);
    fprintf(out, "\r[%.*s%*s] %3.0f %%  %llu of %llu  %s left \033[K", filled, full,
            BAR_WIDTH - filled, "", 100 * share, (unsigned long long)p.iteration,
            (unsigned long long)p.total, tt_format_seconds(p.seconds * (1 / share - 1), left));
    fflush(out);
}

void tt_progress_clear(FILE *out)
{
    if (isatty(fileno(out)))
        fprintf(out, "\r\033[K");
}
