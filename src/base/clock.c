/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/clock.h"

#include <errno.h>

void tt_sleep_until(int64_t instant_ns)
{
    struct timespec t = {.tv_sec = instant_ns / 1000000000, .tv_nsec = instant_ns % 1000000000};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}
