// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A preloaded library that puts the wall clock of one host wrong:
 *
 *   LD_PRELOAD=$CLOCK TUTTI_CLOCK="node2 1.5 200" ...
 *
 * On host node2 CLOCK_REALTIME is 1.5 s ahead when a program begins, and gains 200 ppm from there
 * on.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int is_wrong;
static double offset, ppm;
static int64_t begin_ns;

static int64_t real(clockid_t id, struct timespec *t)
{
    return syscall(SYS_clock_gettime, id, t) == 0 ? (int64_t)t->tv_sec * 1000000000 + t->tv_nsec
                                                  : -1;
}

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("TUTTI_CLOCK");
    char host[64] = "", own[64] = "";
    struct timespec t;

    gethostname(own, sizeof own - 1);
    is_wrong = text && sscanf(text, "%63s %lf %lf", host, &offset, &ppm) == 3 && !strcmp(host, own);
    begin_ns = real(CLOCK_MONOTONIC, &t);
}

int clock_gettime(clockid_t id, struct timespec *t)
{
    int64_t now = real(id, t), wrong;
    struct timespec monotonic;

    if (now < 0 || id != CLOCK_REALTIME || !is_wrong)
        return now < 0 ? -1 : 0;
    wrong = now + (int64_t)(1e9 * offset) +
            (int64_t)(1e-6 * ppm * (double)(real(CLOCK_MONOTONIC, &monotonic) - begin_ns));
    t->tv_sec = wrong / 1000000000;
    t->tv_nsec = wrong % 1000000000;
    return 0;
}
