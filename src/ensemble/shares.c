/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ensemble/shares.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <mntent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

/* Short, so that a job that has used its quota does not stand still for long; but the kernel takes
 * no quota of less than a millisecond, nor a period of more than a second. */
#define PERIOD_US 20000
#define LEAST_QUOTA_US 1000
#define LONGEST_PERIOD_US 1000000
/* What names of control groups begin with; the driver's process id follows. */
#define GROUP "tutti-"

/* ---- control groups ---- */

/* Beside version 1 there may be a mount of version 2 that does not have it. */
static bool offers_cpu(const char *place)
{
    char path[300], word[64];
    bool found = false;
    FILE *f;

    snprintf(path, sizeof path, "%s/cgroup.controllers", place);
    f = fopen(path, "re");
    while (f && !found && fscanf(f, "%63s", word) == 1)
        found = !strcmp(word, "cpu");
    if (f)
        fclose(f);
    return found;
}

/* Where the CPU controller is mounted and we may make groups: version 1 has it as an option of the
 * mount, version 2 among others. */
static bool controller(char *root, size_t size, bool *version_2)
{
    FILE *mounts = setmntent("/proc/mounts", "re");
    struct mntent *m;
    bool found = false;

    while (mounts && !found && (m = getmntent(mounts))) {
        *version_2 = !strcmp(m->mnt_type, "cgroup2");
        found = (*version_2 ? offers_cpu(m->mnt_dir)
                            : !strcmp(m->mnt_type, "cgroup") && hasmntopt(m, "cpu")) &&
                access(m->mnt_dir, W_OK) == 0;
        snprintf(root, size, "%s", m->mnt_dir);
    }
    if (mounts)
        endmntent(mounts);
    return found;
}

static int put(const char *directory, const char *name, const char *text)
{
    char path[640];
    int fd, written;

    snprintf(path, sizeof path, "%s/%s", directory, name);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    written = (int)write(fd, text, strlen(text));
    close(fd);
    return written == (int)strlen(text) ? 0 : -1;
}

static int set_quota(const char *group, double cpus, bool version_2)
{
    double period = fmin(fmax(PERIOD_US, ceil(LEAST_QUOTA_US / cpus)), LONGEST_PERIOD_US);
    char text[64];

    if (version_2) {
        snprintf(text, sizeof text, "%.0f %.0f", cpus * period, period);
        return put(group, "cpu.max", text);
    }
    snprintf(text, sizeof text, "%.0f", period);
    if (put(group, "cpu.cfs_period_us", text) != 0)
        return -1;
    snprintf(text, sizeof text, "%.0f", cpus * period);
    return put(group, "cpu.cfs_quota_us", text);
}

/* The name tells which driver made it. False: this machine or this user has none. */
static bool make_group(struct tt_share *share, const char *id, size_t job)
{
    char root[256];
    bool version_2;

    if (!controller(root, sizeof root, &version_2))
        return false;
    if (version_2 && put(root, "cgroup.subtree_control", "+cpu") != 0)
        return false;
    snprintf(share->cgroup, sizeof share->cgroup, "%s/" GROUP "%d-%.60s-%zu", root, (int)getpid(),
             id, job);
    if (mkdir(share->cgroup, 0755) != 0) {
        share->cgroup[0] = '\0';
        return false;
    }
    if (set_quota(share->cgroup, share->cpus, version_2) == 0)
        return true;
    rmdir(share->cgroup);
    share->cgroup[0] = '\0';
    return false;
}

/* Processes that have just ended may still be in it. */
static void remove_group(const char *group)
{
    for (int i = 0; *group && rmdir(group) != 0 && errno == EBUSY && i < 200; i++)
        tt_sleep_until(tt_now_ns() + 10000000);
}

static bool is_of_dead_driver(const char *name)
{
    char *end;
    long pid;

    if (strncmp(name, GROUP, strlen(GROUP)) != 0)
        return false;
    pid = strtol(name + strlen(GROUP), &end, 10);
    return *end == '-' && pid > 0 && pid <= INT_MAX && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

void tt_shares_tidy(void)
{
    char root[256], path[640];
    struct dirent *entry;
    bool version_2;
    DIR *groups = controller(root, sizeof root, &version_2) ? opendir(root) : NULL;

    while (groups && (entry = readdir(groups)))
        if (is_of_dead_driver(entry->d_name)) {
            snprintf(path, sizeof path, "%s/%s", root, entry->d_name);
            remove_group(path);
        }
    if (groups)
        closedir(groups);
}

/* ---- sets ---- */

static void describe(struct tt_share *share, const cpu_set_t *set)
{
    char list[40] = "";
    size_t used = 0;

    for (int i = 0; i < CPU_SETSIZE && used + 8 < sizeof list; i++) {
        int last = i;

        if (!CPU_ISSET(i, set))
            continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, set))
            last++;
        used += (size_t)snprintf(list + used, sizeof list - used, last > i ? "%s%d-%d" : "%s%d",
                                 used ? "," : "", i, last);
        i = last;
    }
    if (share->cgroup[0])
        snprintf(share->text, sizeof share->text, "%.2f of CPUs %s", share->cpus, list);
    else
        snprintf(share->text, sizeof share->text, "CPUs %s", list);
}

/* The next n CPUs of those we may use, from the first again when all are taken. */
static void take_cpus(const cpu_set_t *all, int n, int *next, cpu_set_t *out)
{
    CPU_ZERO(out);
    for (int taken = 0; taken < n && taken < CPU_COUNT(all);) {
        *next = (*next + 1) % CPU_SETSIZE;
        if (CPU_ISSET(*next, all)) {
            CPU_SET(*next, out);
            taken++;
        }
    }
}

static int read_range(const struct tt_job_spec *p, const char *word, cpu_set_t *out,
                      struct tt_error *e)
{
    int first, last, used = 0;

    if (sscanf(word, "%d-%d%n", &first, &last, &used) != 2 || word[used]) {
        if (sscanf(word, "%d%n", &first, &used) != 1 || word[used])
            first = -1;
        last = first;
    }
    if (first < 0 || last < first || last >= CPU_SETSIZE)
        return tt_fail(e, TT_USAGE, "%s: cpu_set: '%.40s' is no CPU and no range such as 0-3",
                       p->name, word);
    for (int i = first; i <= last; i++)
        CPU_SET(i, out);
    return TT_OK;
}

/* CPUs that the user has chosen for a job; those that another job has, too, are contended. */
static int give_chosen(const struct tt_job_spec *p, const cpu_set_t *all, cpu_set_t *taken,
                       struct tt_share *share, struct tt_shares *out, struct tt_error *e)
{
    cpu_set_t both;
    int rc = TT_OK;

    CPU_ZERO(&share->set);
    for (size_t i = 0; i < p->o.cpu_set.n && rc == TT_OK; i++)
        rc = read_range(p, p->o.cpu_set.words[i], &share->set, e);
    CPU_AND(&both, &share->set, all);
    if (rc == TT_OK && !CPU_EQUAL(&both, &share->set))
        return tt_fail(e, TT_USAGE, "%s: cpu_set: this process may not use all of these CPUs",
                       p->name);
    CPU_AND(&both, &share->set, taken);
    if (CPU_COUNT(&both) > 0) {
        out->exceeded = true;
        snprintf(out->note, sizeof out->note, "jobs share CPUs of their cpu_set");
    }
    share->cpus = CPU_COUNT(&share->set);
    CPU_OR(taken, taken, &share->set);
    describe(share, &share->set);
    return rc;
}

double tt_share_wanted(const struct tt_ensemble *x, const struct tt_job_spec *p, int cores)
{
    double own = p->o.cpus > 0 ? p->o.cpus : x->o.cpus;
    double equal = (double)cores / (double)tt_ensemble_jobs(x);

    if (own > 0)
        return own;
    return equal >= 1 ? floor(equal) : equal;
}

static void give(struct tt_share *share, const cpu_set_t *all, cpu_set_t *taken, int *next,
                 const char *id, size_t job, struct tt_shares *out)
{
    bool whole = share->cpus >= 1 && share->cpus == floor(share->cpus);
    int n = (int)fmin(fmax(share->cpus, 1), CPU_SETSIZE);
    cpu_set_t both, unused;

    if (!whole && make_group(share, id, job)) {
        share->set = *all;
    } else {
        CPU_XOR(&unused, all, taken);
        CPU_AND(&unused, &unused, all);
        take_cpus(CPU_COUNT(&unused) >= n ? &unused : all, n, next, &share->set);
        CPU_AND(&both, &share->set, taken);
        if (CPU_COUNT(&both) > 0) {
            out->exceeded = true;
            snprintf(out->note, sizeof out->note, "%sjobs share CPUs",
                     whole ? ""
                           : "shares of parts of a CPU need control groups, which only root can "
                             "make here, so ");
        }
        CPU_OR(taken, taken, &share->set);
    }
    describe(share, &share->set);
}

int tt_cores(void)
{
    cpu_set_t all;

    return sched_getaffinity(0, sizeof all, &all) == 0 ? CPU_COUNT(&all) : 1;
}

int tt_shares_make(const struct tt_ensemble *x, const struct tt_step *s, const char *id,
                   struct tt_shares *out, struct tt_error *e)
{
    cpu_set_t all, taken;
    int next = CPU_SETSIZE - 1, cores, rc = TT_OK;
    double total = 0;

    *out = (struct tt_shares){.n = (size_t)s->others + 1};
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return tt_fail_call(e, errno, "sched_getaffinity", NULL, -1);
    out->list = calloc(out->n, sizeof *out->list);
    if (!out->list)
        return tt_fail_nomem(e, "the shares");
    cores = CPU_COUNT(&all);
    CPU_ZERO(&taken);
    for (size_t i = 0; i < out->n && rc == TT_OK; i++) {
        const struct tt_job_spec *p = tt_step_spec(x, s, i);

        if (p->o.cpu_set.n > 0) {
            rc = give_chosen(p, &all, &taken, &out->list[i], out, e);
        } else {
            out->list[i].cpus = tt_share_wanted(x, p, cores);
            give(&out->list[i], &all, &taken, &next, id, i, out);
        }
        total += out->list[i].cpus;
    }
    if (total > cores * 1.001) {
        out->exceeded = true;
        snprintf(out->note, sizeof out->note, "the shares of %zu jobs are %.4g CPUs of %d", out->n,
                 total, cores);
    }
    return rc;
}

void tt_shares_free(struct tt_shares *s)
{
    for (size_t i = 0; s->list && i < s->n; i++)
        remove_group(s->list[i].cgroup);
    free(s->list);
    *s = (struct tt_shares){0};
}
