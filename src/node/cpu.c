/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What this process and everything else on the node took of the CPUs, from the kernel's counters:
 * a rank that had to wait for a CPU is told from one that computed for long. */
#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "node/cpu.h"

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

static double own_time(void)
{
    struct rusage self, children;

    getrusage(RUSAGE_SELF, &self);
    getrusage(RUSAGE_CHILDREN, &children);
    return seconds(self.ru_utime) + seconds(self.ru_stime) + seconds(children.ru_utime) +
           seconds(children.ru_stime);
}

/* Time this thread was ready and had no CPU; not a number where the kernel does not count it. */
static double waiting_time(void)
{
    FILE *f = fopen("/proc/thread-self/schedstat", "re");
    unsigned long long ran, waited;
    int n = f ? fscanf(f, "%llu %llu", &ran, &waited) : 0;

    if (f)
        fclose(f);
    return n == 2 ? 1e-9 * (double)waited : NAN;
}

/* Time that all CPUs of the node were taken: all but idle and iowait. */
static double node_time(void)
{
    FILE *f = fopen("/proc/stat", "re");
    unsigned long long user, nice, system, idle, iowait, irq, softirq, steal;
    int n = f ? fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system,
                       &idle, &iowait, &irq, &softirq, &steal)
              : 0;
    long hertz = sysconf(_SC_CLK_TCK);

    if (f)
        fclose(f);
    if (n != 8 || hertz <= 0)
        return NAN;
    return (double)(user + nice + system + irq + softirq + steal) / (double)hertz;
}

struct tt_cpu_time tt_cpu_now(void)
{
    return (struct tt_cpu_time){own_time(), waiting_time(), node_time()};
}

struct tt_cpu_time tt_cpu_since(struct tt_cpu_time then)
{
    struct tt_cpu_time now = tt_cpu_now();

    return (struct tt_cpu_time){now.own - then.own, now.waiting - then.waiting,
                                now.node - then.node};
}
