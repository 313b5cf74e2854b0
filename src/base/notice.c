/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/notice.h"

#include <stdarg.h>
#include <stdio.h>

#define MAX_TEXT 1024

static struct tt_notices notices; /* of the process, as its stderr is */

void tt_notices_to(const struct tt_notices *to)
{
    notices = *to;
}

void tt_notice(const char *fmt, ...)
{
    char text[MAX_TEXT];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (notices.line)
        notices.line(text);
}

bool tt_notice_is_drawn(void)
{
    return notices.draw;
}

void tt_notice_draw(const char *fmt, ...)
{
    char text[MAX_TEXT];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (notices.draw)
        notices.draw(text);
}
