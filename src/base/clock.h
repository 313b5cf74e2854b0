/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time. Only the engine takes it; everything measured is in nanoseconds of the monotonic clock. */
#ifndef TT_BASE_CLOCK_H
#define TT_BASE_CLOCK_H

#include <errno.h>
#include <stdint.h>
#include <time.h>

static inline int64_t tt_clock_ns(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Monotonic nanoseconds: only differences mean anything. */
static inline int64_t tt_now_ns(void)
{
    return tt_clock_ns(CLOCK_MONOTONIC);
}

/* Nanoseconds since the epoch, to lay the windows of different jobs and nodes over each other. */
static inline int64_t tt_wall_ns(void)
{
    return tt_clock_ns(CLOCK_REALTIME);
}

static inline double tt_seconds(int64_t ns)
{
    return (double)ns * 1e-9;
}

/* Sleep, through interruptions, until the given instant of tt_now_ns(). */
static inline void tt_sleep_until(int64_t instant_ns)
{
    struct timespec t = {.tv_sec = instant_ns / 1000000000, .tv_nsec = instant_ns % 1000000000};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

#endif
