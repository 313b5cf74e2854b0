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

static void say(void (*to)(const char *text), const char *fmt, va_list args)
{
    char text[MAX_TEXT];

    vsnprintf(text, sizeof text, fmt, args);
    if (to)
        to(text);
}

void tt_notice(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    say(notices.line, fmt, args);
    va_end(args);
}

void tt_notice_same(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    say(notices.same, fmt, args);
    va_end(args);
}

bool tt_notice_is_drawn(void)
{
    return notices.draw;
}

void tt_notice_draw(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    say(notices.draw, fmt, args);
    va_end(args);
}
