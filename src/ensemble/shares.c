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
#include "ensemble/topology.h"

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

/* A group of version 2, without any limit, that only counts. */
static bool watching_root(char *root, size_t size)
{
    FILE *mounts = setmntent("/proc/mounts", "re");
    struct mntent *m;
    bool found = false;

    while (mounts && !found && (m = getmntent(mounts))) {
        found = !strcmp(m->mnt_type, "cgroup2") && access(m->mnt_dir, W_OK) == 0;
        snprintf(root, size, "%s", m->mnt_dir);
    }
    if (mounts)
        endmntent(mounts);
    return found;
}

/* A quota of version 2 is in such a group already. */
static void watch(struct tt_share *share, const char *id)
{
    char root[256], path[640];

    snprintf(path, sizeof path, "%s/cpu.pressure", share->cgroup);
    if ((share->cgroup[0] && access(path, R_OK) == 0) || !watching_root(root, sizeof root))
        return;
    snprintf(share->watched, sizeof share->watched, "%s/" GROUP "%d-%.60s-w", root, (int)getpid(),
             id);
    if (mkdir(share->watched, 0755) != 0)
        share->watched[0] = '\0';
}

/* The number behind a word of a file; not a number if it is not there. */
static double number_in(const char *group, const char *name, const char *word)
{
    char path[640], line[256];
    const char *found = NULL;
    double value = NAN;
    FILE *f = NULL;

    snprintf(path, sizeof path, "%s/%s", group, name);
    if (*group)
        f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof line, f))
        if ((found = strstr(line, word)))
            value = strtod(found + strlen(word), NULL);
    if (f)
        fclose(f);
    return value;
}

void tt_waits_read(const struct tt_share *s, struct tt_waits *out)
{
    static const char *const files[TT_NWAITS] = {[TT_WAIT_cpu] = "cpu.pressure",
                                                 [TT_WAIT_io] = "io.pressure",
                                                 [TT_WAIT_memory] = "memory.pressure"};
    const char *group = s->watched[0] ? s->watched : s->cgroup;
    double version_1 = 1e-9 * number_in(s->cgroup, "cpu.stat", "throttled_time ");
    double version_2 = 1e-6 * number_in(s->cgroup, "cpu.stat", "throttled_usec ");

    out->at_ns = tt_now_ns();
    /* The kernel adds up what each CPU of the group was held back. */
    out->seconds[TT_WAIT_quota] = (isfinite(version_1) ? version_1 : version_2) /
                                  (CPU_COUNT(&s->set) > 0 ? CPU_COUNT(&s->set) : 1);
    for (int i = TT_WAIT_cpu; i < TT_NWAITS; i++)
        out->seconds[i] = 1e-6 * number_in(group, files[i], "total="); /* of the line "some" */
}

void tt_waits_since(const struct tt_share *s, struct tt_waits *io)
{
    struct tt_waits now;

    tt_waits_read(s, &now);
    io->at_ns = now.at_ns - io->at_ns;
    for (int i = 0; i < TT_NWAITS; i++)
        io->seconds[i] = now.seconds[i] - io->seconds[i];
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

static void tidy(const char *root)
{
    struct dirent *entry;
    char path[640];
    DIR *groups = opendir(root);

    while (groups && (entry = readdir(groups)))
        if (is_of_dead_driver(entry->d_name)) {
            snprintf(path, sizeof path, "%s/%s", root, entry->d_name);
            remove_group(path);
        }
    if (groups)
        closedir(groups);
}

void tt_shares_tidy(void)
{
    char root[256];
    bool version_2;

    if (controller(root, sizeof root, &version_2))
        tidy(root);
    if (watching_root(root, sizeof root))
        tidy(root);
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

double tt_share_wanted(const struct tt_ensemble *x, const struct tt_job_spec *p, int cpus,
                       int cores)
{
    double own = p->o.cpus > 0 ? p->o.cpus : x->o.cpus;
    int jobs = (int)fmin((double)tt_ensemble_jobs(x), INT_MAX);

    if (own > 0)
        return own;
    if (jobs <= cores)
        return cores / jobs * (cpus / cores);
    return jobs <= cpus ? cpus / jobs : (double)cpus / jobs;
}

/* ---- who gets which ---- */

static bool is_whole(double cpus)
{
    return cpus >= 1 && cpus == floor(cpus);
}

/* What is known while shares are given out. */
struct giving {
    struct tt_topology *topology;
    enum tt_placing placing;
    cpu_set_t all, taken;
    int next; /* CPU to begin with when all are taken */
};

static void give(struct giving *g, struct tt_share *share, const char *id, size_t job,
                 struct tt_shares *out)
{
    int n = (int)fmin(fmax(share->cpus, 1), CPU_SETSIZE);
    bool whole = is_whole(share->cpus), shared = false;

    if (!whole && make_group(share, id, job)) {
        share->set = g->all;
    } else if (tt_topology_take(g->topology, g->placing, n, &g->taken, &share->set, &shared)) {
        out->share_cores |= shared;
    } else {
        take_cpus(&g->all, n, &g->next, &share->set);
        out->exceeded = true;
        snprintf(out->note, sizeof out->note, "%sjobs share CPUs",
                 whole ? ""
                       : "shares of parts of a CPU need control groups, which only root can "
                         "make here, so ");
    }
    describe(share, &share->set);
}

int tt_cores(void)
{
    cpu_set_t all;

    return sched_getaffinity(0, sizeof all, &all) == 0 ? CPU_COUNT(&all) : 1;
}

/* The worst that any step needs, so that a job has the same CPUs in all of them. */
static int choose_placing(const struct tt_ensemble *x, struct giving *g, struct tt_error *e)
{
    int *wanted = calloc(tt_ensemble_jobs(x) + 1, sizeof *wanted), cpus = CPU_COUNT(&g->all);

    if (!wanted)
        return tt_fail_nomem(e, "the shares");
    for (size_t i = 0; i < x->nsteps; i++) {
        enum tt_placing placing;
        size_t n = 0;

        for (uint64_t k = 0; k <= x->steps[i].others; k++) {
            const struct tt_job_spec *p = tt_step_spec(x, &x->steps[i], k);
            double share = tt_share_wanted(x, p, cpus, tt_topology_cores(g->topology));

            wanted[n++] = p->o.cpu_set.n == 0 && is_whole(share) ? (int)share : 0;
        }
        placing = tt_topology_placing(g->topology, wanted, n);
        g->placing = placing > g->placing ? placing : g->placing;
    }
    free(wanted);
    return TT_OK;
}

static int begin_giving(const struct tt_ensemble *x, struct giving *g, struct tt_error *e)
{
    int rc;

    *g = (struct giving){.next = CPU_SETSIZE - 1};
    if (sched_getaffinity(0, sizeof g->all, &g->all) != 0)
        return tt_fail_call(e, errno, "sched_getaffinity", NULL, -1);
    rc = tt_topology_load(NULL, &g->all, &g->topology, e);
    return rc == TT_OK ? choose_placing(x, g, e) : rc;
}

int tt_share_here(const struct tt_ensemble *x, const struct tt_job_spec *p, double *cpus,
                  struct tt_error *e)
{
    struct giving g;
    int rc = begin_giving(x, &g, e);

    if (rc == TT_OK)
        *cpus = tt_share_wanted(x, p, CPU_COUNT(&g.all), tt_topology_cores(g.topology));
    tt_topology_free(g.topology);
    return rc;
}

static int give_all(const struct tt_ensemble *x, const struct tt_step *s, const char *id,
                    struct giving *g, struct tt_shares *out, struct tt_error *e)
{
    int cpus = CPU_COUNT(&g->all), rc = TT_OK;
    double total = 0;

    for (size_t i = 0; i < out->n && rc == TT_OK; i++) {
        const struct tt_job_spec *p = tt_step_spec(x, s, i);
        struct tt_share *share = &out->list[i];

        if (p->o.cpu_set.n > 0) {
            rc = give_chosen(p, &g->all, &g->taken, share, out, e);
        } else {
            share->cpus = tt_share_wanted(x, p, cpus, tt_topology_cores(g->topology));
            give(g, share, id, i, out);
        }
        tt_topology_describe(g->topology, &share->set, share->place, sizeof share->place);
        total += share->cpus;
    }
    if (rc == TT_OK)
        watch(&out->list[0], id);
    if (total > cpus * 1.001) {
        out->exceeded = true;
        snprintf(out->note, sizeof out->note, "the shares of %zu jobs are %.4g CPUs of %d", out->n,
                 total, cpus);
    }
    return rc;
}

int tt_shares_make(const struct tt_ensemble *x, const struct tt_step *s, const char *id,
                   struct tt_shares *out, struct tt_error *e)
{
    struct giving g;
    int rc = begin_giving(x, &g, e);

    *out = (struct tt_shares){.n = (size_t)s->others + 1};
    out->list = calloc(out->n, sizeof *out->list);
    if (!out->list && rc == TT_OK)
        rc = tt_fail_nomem(e, "the shares");
    if (rc == TT_OK)
        rc = give_all(x, s, id, &g, out, e);
    tt_topology_free(g.topology);
    return rc;
}

void tt_shares_free(struct tt_shares *s)
{
    for (size_t i = 0; s->list && i < s->n; i++) {
        remove_group(s->list[i].cgroup);
        remove_group(s->list[i].watched);
    }
    free(s->list);
    *s = (struct tt_shares){0};
}
