/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The nodes' counters: files as real nodes have them, the collector on this node against other
 * observers of the same things, and the analysis of known and of hostile series. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/counters.h"
#include "base/clock.h"
#include "node/sources.h"

#define SECOND INT64_C(1000000000)
#define MIB 1048576.0

/* ---- directories ---- */

static char top[64];

static int make_top(void **state)
{
    (void)state;
    strcpy(top, "/tmp/tutti-counters-XXXXXX");
    return !mkdtemp(top);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static int remove_top(void **state)
{
    (void)state;
    return nftw(top, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static const char *below(const char *name)
{
    static char path[512];

    snprintf(path, sizeof path, "%s/%s", top, name);
    return path;
}

/* A file with the directories that lead to it. */
static void put(const char *name, const char *text)
{
    char path[512];
    FILE *f;

    snprintf(path, sizeof path, "%s", below(name));
    for (char *slash = path + strlen(top) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0777);
        *slash = '/';
    }
    f = fopen(path, "w");
    if (!f)
        fail_msg("cannot make %s", path);
    fputs(text, f);
    fclose(f);
}

/* ---- files as real nodes have them ---- */

static void put_node(void)
{
    put("proc/stat", "cpu  100 2 30 4000 50 6 7 8 0 0\ncpu0 50 1 15 2000 25 3 3 4 0 0\n"
                     "intr 26069714 0 0\nprocs_running 9\n");
    put("proc/loadavg", "0.20 0.18 0.12 3/1025 11206\n");
    put("proc/pressure/cpu", "some avg10=64.87 avg60=17.22 avg300=10.64 total=7474406136\n");
    put("proc/pressure/io", "some avg10=0.08 avg60=0.18 avg300=2.68 total=670018809\n"
                            "full avg10=0.00 avg60=0.14 avg300=2.05 total=256099480\n");
    put("proc/meminfo", "MemTotal:       24657088 kB\nMemFree:        22159412 kB\n"
                        "MemAvailable:   24065000 kB\nBuffers:            1234 kB\n"
                        "Cached:          1961672 kB\nDirty:             56464 kB\n"
                        "Writeback:            20 kB\nWritebackTmp:          7 kB\n");
    put("proc/77/stat", "77 (a) b (c) S 1 77 77 0 -1 4194560 1 2 3 4 11 22 33 44 20 0 1 0 5 6 7\n");
    put("sys/block/nvme0n1/size", "1000215216\n");
    put("sys/block/nvme0n1/stat",
        "  463538    42263 10364430   258996   649083   251996 154422376 "
        "  473511        3   151412   803692   432927       69 193493376\n");
    put("sys/block/loop3/size", "0\n");
    put("sys/block/loop3/stat", "0 0 0 0 0 0 0 0 0 0 0\n");
}

static void put_networks(void)
{
    put("proc/net/dev",
        "Inter-|   Receive                                                |  Transmit\n"
        " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets\n"
        "    lo: 441805689 1631346    0    0    0     0          0         0 441805690 1631346    0"
        "    0    0     0       0          0\n"
        "  ifb0:       0       0    0    0    0     0          0         0        0       0    0"
        "    0    0     0       0          0\n"
        "bond0.17:654168225   23967    0    0    0     0          0         0  1206845   16555    0"
        "    0    0     0       0          0\n");
    put("sys/class/net/ifb0/operstate", "down\n");
    put("sys/class/net/bond0.17/operstate", "up\n");
    put("sys/class/net/bond0.17/speed", "25000\n");
    put("sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data", "1000\n");
    put("sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data", "2000\n");
    put("sys/class/infiniband/mlx5_0/ports/1/rate", "100 Gb/sec (4X EDR)\n");
    put("proc/fs/lustre/llite/scratch-ffff9d5a/stats",
        "snapshot_time             1519064264.188273 secs.nsecs\n"
        "read_bytes                12 samples [bytes] 4096 1048576 5242880\n"
        "write_bytes               14 samples [bytes] 1 4194304 33554432 9223372036854775807\n"
        "open                      4 samples [regs]\n");
    put("sys/kernel/debug/lustre/llite/home-ffff0001/stats",
        "snapshot_time             1519064264.188273 secs.nsecs\n");
}

static double value_of(const struct tt_sources *s, const char *column)
{
    for (size_t i = 0; i < s->ncolumns; i++)
        if (!strcmp(s->columns[i], column))
            return s->values[i];
    return NAN;
}

static const struct {
    const char *column;
    double ticks, rest; /* the value: ticks of the kernel, in ms, or anything else */
} expected[] = {
    {"cpu.user[ms]", 100, 0},
    {"cpu.idle[ms]", 4000, 0},
    {"cpu.steal[ms]", 8, 0},
    {"job.cpu[ms]", 11 + 22 + 33 + 44, 0},
    {"queue.running[1]", 0, 3},
    {"pressure.cpu.some[us]", 0, 7474406136.0},
    {"pressure.io.full[us]", 0, 256099480},
    {"memory.available[B]", 0, 24065000 * 1024.0},
    {"memory.dirty[B]", 0, 56464 * 1024.0},
    {"memory.writeback[B]", 0, 20 * 1024.0},
    {"disk.nvme0n1.read[B]", 0, 10364430 * 512.0},
    {"disk.nvme0n1.written[B]", 0, 154422376 * 512.0},
    {"disk.nvme0n1.busy[ms]", 0, 151412},
    {"disk.nvme0n1.in_flight[1]", 0, 3},
    {"net.lo.received[B]", 0, 441805689},
    {"net.lo.transmitted[B]", 0, 441805690},
    {"net.bond0.17.transmitted[B]", 0, 1206845},
    {"net.bond0.17.speed[B/s]", 0, 25e9 / 8},
    {"infiniband.mlx5_0/1.transmitted[B]", 0, 4000},
    {"infiniband.mlx5_0/1.received[B]", 0, 8000},
    {"infiniband.mlx5_0/1.speed[B/s]", 0, 100e9 / 8},
    {"lustre.scratch-ffff9d5a.read[B]", 0, 5242880},
    {"lustre.scratch-ffff9d5a.written[B]", 0, 33554432},
    {"lustre.home-ffff0001.written[B]", 0, 0},
    {"watched.power.value[1]", 0, -41.5},
};

static void files_of_a_node(void **state)
{
    static const char *const nowhere[] = {"pressure.cpu.full[us]", "pressure.memory.some[us]",
                                          "disk.loop3.read[B]", "net.ifb0.received[B]",
                                          "net.lo.speed[B/s]"};
    char watch[600], *words[] = {watch};
    struct tt_counters_options o = {.interval = 0.1, .watch = {1, words}};
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_sources s;
    int pid = 77;

    (void)state;
    put_node();
    put_networks();
    put("power", "power: -41.5 W\n");
    snprintf(watch, sizeof watch, "power=%s", below("power"));
    assert_int_equal(tt_sources_open(&s, top, &o, 1, &pid, &e), TT_OK);
    tt_sources_read(&s, true);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        double want = expected[i].ticks * s.tick_ms + expected[i].rest;
        double got = value_of(&s, expected[i].column);

        if (!(got == want))
            fail_msg("%s is %g instead of %g", expected[i].column, got, want);
    }
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++)
        assert_true(isnan(value_of(&s, nowhere[i])));
    tt_sources_close(&s);
}

/* Nothing at all is no error, either. */
static void node_without_anything(void **state)
{
    struct tt_counters_options o = {.interval = 0.1};
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_sources s;

    (void)state;
    assert_int_equal(tt_sources_open(&s, top, &o, 0, NULL, &e), TT_OK);
    tt_sources_read(&s, true);
    assert_int_equal(s.ncolumns, 0);
    tt_sources_close(&s);
}

/* ---- this node ---- */

static json_t *summary(int64_t from, int64_t to)
{
    struct tt_error e = TT_ERROR_CLEAR;
    json_t *all = NULL;

    assert_int_equal(tt_counters_summary(top, from, to, &all, &e), TT_OK);
    assert_int_equal(json_object_size(json_object_get(all, "unreadable")), 0);
    return all;
}

/* The only host of a summary. */
static const json_t *only_host(const json_t *all)
{
    json_t *hosts = json_object_get(all, "hosts"), *host = NULL;
    const char *name;

    assert_int_equal(json_object_size(hosts), 1);
    json_object_foreach(hosts, name, host) break;
    return host;
}

static double of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (!json_is_number(value))
        fail_msg("there is no number %s", key);
    return json_number_value(value);
}

static struct tt_counters *start(double interval, char *watch, int pid)
{
    struct tt_counters_options o = {.interval = interval};
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_counters *c = NULL;

    o.watch = (struct tt_words){watch ? 1 : 0, &watch};
    assert_int_equal(tt_counters_start(top, &o, 1, &pid, &c, &e), TT_OK);
    assert_non_null(c);
    return c;
}

static double own_cpu(void)
{
    struct rusage r;

    getrusage(RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
           1e-6 * (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

static void burn(double cpu_seconds)
{
    double until = own_cpu() + cpu_seconds;

    while (own_cpu() < until)
        continue;
}

/* Against getrusage, which counts the same in another way: by ticks it may be one off at each end.
 */
static void cpu_of_this_process(void **state)
{
    double before = own_cpu(), all, inner;
    struct tt_counters *c = start(0.02, NULL, getpid());
    int64_t from = tt_wall_ns();
    const json_t *host;
    json_t *found;

    (void)state;
    inner = own_cpu();
    burn(0.5);
    inner = own_cpu() - inner;
    tt_counters_stop(c);
    all = own_cpu() - before;
    found = summary(from - SECOND, tt_wall_ns());
    host = only_host(found);
    assert_true(of(host, "job_cpus") * of(host, "seconds") > inner - 0.05);
    assert_true(of(host, "job_cpus") * of(host, "seconds") < all + 0.05);
    assert_true(of(host, "cpu_busy") > 0 && of(host, "cpu_busy") <= 1);
    assert_true(of(host, "collector_cpus") > 0);
    json_decref(found);
}

static void process_that_ended(void **state)
{
    int64_t from = tt_wall_ns();
    struct tt_counters *c;
    const json_t *host;
    json_t *found;
    pid_t child = fork();

    (void)state;
    if (child == 0) {
        burn(0.3);
        _exit(0);
    }
    c = start(0.01, NULL, child);
    assert_int_equal(waitpid(child, NULL, 0), child);
    tt_counters_stop(c);
    found = summary(from, tt_wall_ns());
    host = only_host(found);
    assert_true(of(host, "job_cpus") * of(host, "seconds") > 0.1);
    json_decref(found);
}

/* The whole device that holds the file, from what the kernel says of its number; NULL: none. */
static const char *device_of(int fd, char name[256])
{
    char link[64], path[PATH_MAX], *slash;
    struct stat st;
    ssize_t n;

    fstat(fd, &st);
    snprintf(link, sizeof link, "/sys/dev/block/%u:%u", major(st.st_dev), minor(st.st_dev));
    n = readlink(link, path, sizeof path - 20);
    if (n < 0)
        return NULL;
    path[n] = '\0';
    snprintf(link + strlen(link), sizeof link - strlen(link), "/partition");
    slash = strrchr(path, '/');
    if (access(link, F_OK) == 0) {
        *slash = '\0';
        slash = strrchr(path, '/');
    }
    snprintf(name, 256, "%s", slash + 1);
    return name;
}

static double diskstats_written(const char *device)
{
    FILE *f = fopen("/proc/diskstats", "r");
    char line[512], name[256];
    unsigned long long sectors;
    double bytes = NAN;

    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "%*u %*u %255s %*u %*u %*u %*u %*u %*u %llu", name, &sectors) == 2 &&
            !strcmp(name, device))
            bytes = 512.0 * (double)sectors;
    fclose(f);
    return bytes;
}

static void write_and_sync(int fd, size_t bytes)
{
    char *data = malloc(bytes);

    assert_non_null(data);
    for (size_t i = 0; i < bytes; i++)
        data[i] = (char)(i * 2654435761u >> 13);
    assert_int_equal(write(fd, data, bytes), bytes);
    assert_int_equal(fsync(fd), 0);
    free(data);
}

/* What the collector saw lies between what /proc/diskstats says just inside and just outside. */
static void bytes_of_a_device(void **state)
{
    char path[] = "/var/tmp/tutti-counters-XXXXXX", device[256];
    int fd = mkstemp(path);
    double outside, inside, seen;
    struct tt_counters *c;
    int64_t from = tt_wall_ns();
    const json_t *host;
    json_t *found;

    (void)state;
    assert_true(fd >= 0);
    unlink(path);
    if (!device_of(fd, device)) {
        close(fd);
        print_message("SKIP: /var/tmp is on no block device\n");
        return;
    }
    outside = diskstats_written(device);
    c = start(0.05, NULL, getpid());
    inside = diskstats_written(device);
    write_and_sync(fd, 64 << 20);
    inside = diskstats_written(device) - inside;
    tt_counters_stop(c);
    outside = diskstats_written(device) - outside;
    found = summary(from, tt_wall_ns());
    host = only_host(found);
    seen = of(json_object_get(json_object_get(host, "devices"), device), "write_rate") *
           of(host, "seconds");
    assert_true(inside >= 64 * MIB);
    assert_true(seen > inside - 1 && seen < outside + 1);
    json_decref(found);
    close(fd);
}

static void series_of_a_user(void **state)
{
    char watch[600];
    int64_t from = tt_wall_ns();
    struct tt_counters *c;
    const json_t *series;
    json_t *found;

    (void)state;
    put("level", "3 of 9");
    snprintf(watch, sizeof watch, "level=%s", below("level"));
    c = start(0.005, watch, getpid());
    put("level", "1.5");
    usleep(500000);
    put("level", "8e3");
    tt_counters_stop(c);
    found = summary(from, tt_wall_ns());
    series = json_object_get(json_object_get(only_host(found), "watched"), "level");
    assert_true(of(series, "min") == 1.5);
    assert_true(of(series, "max") == 8000);
    json_decref(found);
}

static void starting_and_not(void **state)
{
    struct tt_counters_options o = {.interval = 0};
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_counters *c, *d;
    int64_t from = tt_wall_ns();
    json_t *found;

    (void)state;
    assert_int_equal(tt_counters_start(top, &o, 0, NULL, &c, &e), TT_OK);
    assert_null(c);
    tt_counters_stop(c);
    o.interval = 0.1;
    assert_int_equal(tt_counters_start(below("nowhere"), &o, 0, NULL, &c, &e), TT_FAILED);
    assert_null(c);
    assert_int_equal(e.sys_errno, ENOENT);
    /* Two nodes of a testbed are one machine; each has its own file. */
    c = start(0.1, NULL, getpid());
    d = start(0.1, NULL, getpid());
    tt_counters_stop(c);
    tt_counters_stop(d);
    found = summary(from, tt_wall_ns());
    assert_int_equal(json_object_size(json_object_get(found, "hosts")), 2);
    json_decref(found);
}

static void wrong_options(void **state)
{
    char *twice[] = {"a=/x", "b=/y", "a=/z"}, *bare[] = {"/x"}, *comma[] = {"a b=/x"};
    struct tt_counters_options o = {.interval = 1e-6};
    struct tt_error e = TT_ERROR_CLEAR;

    (void)state;
    assert_int_equal(tt_counters_check(&o, &e), TT_USAGE);
    o = (struct tt_counters_options){0.1, {3, twice}};
    assert_int_equal(tt_counters_check(&o, &e), TT_USAGE);
    o.watch.n = 2;
    assert_int_equal(tt_counters_check(&o, &e), TT_OK);
    o.watch = (struct tt_words){1, bare};
    assert_int_equal(tt_counters_check(&o, &e), TT_USAGE);
    o.watch = (struct tt_words){1, comma};
    assert_int_equal(tt_counters_check(&o, &e), TT_USAGE);
}

/* ---- known series ---- */

static void close_to(double a, double b)
{
    if (!(fabs(a - b) < 1e-9 * (1 + fabs(b))))
        fail_msg("%g instead of %g", a, b);
}

/* Samples at 0, 2 and 4 s; the window is from 1 to 3 s. */
static void known_numbers(void **state)
{
    const json_t *host, *disk, *net;
    json_t *found;

    (void)state;
    put("counters/n1.csv",
        "wall[ns],cpu.user[ms],cpu.idle[ms],pressure.cpu.some[us],job.cpu[ms],queue.running[1],"
        "memory.dirty[B],disk.sda.written[B],disk.sda.busy[ms],disk.sda.in_flight[1],"
        "net.a.b.received[B],net.a.b.transmitted[B],net.a.b.speed[B/s],watched.x.value[1]\n"
        "1000000000,0,0,0,0,1,5,100,0,0,0,0,400,\n"
        "3000000000,400,3600,100000,1000,3,9,300,200,4,100,200,400,\n"
        "5000000000,4400,3600,2100000,3000,3,7,100,2200,4,100,600,400,\n"
        "7000000000,4400,3600,21");
    found = summary(2 * SECOND, 4 * SECOND);
    host = only_host(found);
    close_to(of(host, "covered"), 1);
    close_to(of(host, "cpu_busy"), (200 + 2000) / (200 + 2000 + 1800.0));
    close_to(of(host, "cpu_pressure"), (0.05 + 1) / 2);
    close_to(of(host, "job_cpus"), (0.5 + 1) / 2);
    close_to(of(host, "run_queue"), 2.5 - 1);
    close_to(of(host, "dirty"), 9);
    disk = json_object_get(json_object_get(host, "devices"), "sda");
    close_to(of(disk, "write_rate"), 100 / 2); /* then it began anew */
    close_to(of(disk, "busy"), (0.1 + 1) / 2);
    close_to(of(disk, "in_flight"), 3);
    net = json_object_get(json_object_get(host, "interfaces"), "a.b");
    close_to(of(net, "transmit_rate"), 150);
    close_to(of(net, "busy"), 150 / 400.0);
    assert_true(json_is_null(
        json_object_get(json_object_get(json_object_get(host, "watched"), "x"), "mean")));
    assert_null(json_object_get(host, "memory_pressure"));
    json_decref(found);
}

/* A value between two gaps is one that was there, although nobody knows for how long. */
static void value_between_gaps(void **state)
{
    const json_t *series;
    json_t *found;

    (void)state;
    put("counters/n1.csv", "wall[ns],watched.x.value[1]\n0,2\n1000000000,2\n2000000000,\n"
                           "3000000000,7\n4000000000,\n");
    found = summary(0, 4 * SECOND);
    series = json_object_get(json_object_get(only_host(found), "watched"), "x");
    close_to(of(series, "mean"), 2);
    close_to(of(series, "max"), 7);
    json_decref(found);
}

static bool is_claimed(const json_t *all, const char *resource)
{
    const json_t *claim;
    size_t i;

    json_array_foreach(json_object_get(all, "saturated"), i,
                       claim) if (!strcmp(json_string_value(json_object_get(claim, "resource")),
                                          resource)) return true;
    return false;
}

/* Ten seconds; numbers just above their thresholds, or just below. */
static void put_load(int cpu, int pressure, int memory, int device, int link)
{
    char text[1024];

    snprintf(text, sizeof text,
             "wall[ns],cpu.user[ms],cpu.idle[ms],pressure.cpu.some[us],pressure.memory.full[us],"
             "disk.sda.busy[ms],net.e.received[B],net.e.speed[B/s],infiniband.m/1.received[B],"
             "infiniband.m/1.speed[B/s],net.f.received[B]\n"
             "0,0,0,0,0,0,0,1000,0,1000,0\n"
             "10000000000,%d,%d,%d,%d,%d,%d,1000,%d,1000,1000000\n",
             cpu, 100 - cpu, pressure * 100000, memory * 100000, device * 100, link * 100,
             link * 100);
    put("counters/n1.csv", text);
}

static void what_is_used_up(void **state)
{
    static const char *const all[] = {"cpu",        "cpu pressure", "memory",
                                      "device sda", "interface e",  "infiniband m/1"};
    json_t *found;

    (void)state;
    put_load(96, 21, 11, 96, 91);
    found = summary(0, 10 * SECOND);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!is_claimed(found, all[i]))
            fail_msg("%s is not named", all[i]);
    assert_int_equal(json_array_size(json_object_get(found, "saturated")), 6);
    json_decref(found);
    found = summary(0, SECOND / 2); /* too short to say */
    assert_int_equal(json_array_size(json_object_get(found, "saturated")), 0);
    json_decref(found);
    found = summary(0, 21 * SECOND); /* most of it was not seen */
    assert_int_equal(json_array_size(json_object_get(found, "saturated")), 0);
    json_decref(found);
    put_load(94, 19, 9, 94, 89);
    found = summary(0, 10 * SECOND);
    assert_int_equal(json_array_size(json_object_get(found, "saturated")), 0);
    json_decref(found);
}

/* ---- hostile series ---- */

static void refused(const char *text)
{
    struct tt_error e = TT_ERROR_CLEAR;
    json_t *all = NULL;

    put("counters/bad.csv", text);
    put("counters/good.csv", "wall[ns],cpu.user[ms]\n0,1\n1000000000,2\n");
    assert_int_equal(tt_counters_summary(top, 0, SECOND, &all, &e), TT_OK);
    if (!json_object_get(json_object_get(all, "unreadable"), "bad"))
        fail_msg("accepted: %.60s", text);
    assert_non_null(json_object_get(json_object_get(all, "hosts"), "good"));
    json_decref(all);
}

static void damaged_series(void **state)
{
    char *endless = malloc(3 << 20);

    (void)state;
    assert_non_null(endless);
    memset(endless, 'x', 3 << 20);
    endless[(3 << 20) - 1] = '\0';
    refused("");
    refused("wall[ns]");
    refused("wall[ns]\n1\n2\n");
    refused("time,a.b[1]\n1,2\n");
    refused("wall[ns],a.b[1]\n1,2\n2,3,4\n");
    refused("wall[ns],a.b[1]\n1,2\n2\n");
    refused("wall[ns],a.b[1]\nnever,2\n");
    refused("wall[ns],a.b[1]\n99999999999999999999,2\n");
    refused(endless);
    memset(endless, ',', 9000);
    memcpy(endless, "wall[ns]", 8);
    strcpy(endless + 9000, "\n");
    refused(endless);
    free(endless);
}

/* Values that are no numbers, names that are no names, clocks that run backwards. */
static void odd_series(void **state)
{
    json_t *found;

    (void)state;
    put("counters/n\xff.csv",
        "wall[ns],cpu.user[ms],disk..busy[ms],disk.\x01\xff.busy[ms],disk[,x,,.,..,"
        "memory.dirty[B],watched.w.value[1]\n"
        "0,nan,0,0,1,2,3,4,5,1e308,-1e308\n"
        "500000000,inf,0x10,7,1,2,3,4,5,1e308,1e308\n"
        "400000000,3,,bad,1,2,3,4,5,1e308,1\n"
        "1000000000,4,1,1,1,2,3,4,5,1e308,1\n");
    put("counters/.hidden.csv", "garbage");
    found = summary(0, SECOND);
    assert_non_null(json_object_get(json_object_get(found, "hosts"), "n?"));
    json_decref(found);
    found = summary(-5, SECOND);
    assert_int_equal(json_object_size(json_object_get(found, "hosts")), 0);
    json_decref(found);
    found = summary(SECOND, 0);
    assert_int_equal(json_object_size(json_object_get(found, "hosts")), 0);
    json_decref(found);
}

/* A pipe nobody writes to, and a link to a file of ours. */
static void things_that_are_no_files(void **state)
{
    struct tt_error e = TT_ERROR_CLEAR;
    json_t *all = NULL;

    (void)state;
    put("mine", "wall[ns],cpu.user[ms]\n0,1\n1000000000,2\n");
    put("counters/x", "");
    assert_int_equal(mkfifo(below("counters/pipe.csv"), 0600), 0);
    assert_int_equal(symlink("../mine", below("counters/link.csv")), 0);
    assert_int_equal(tt_counters_summary(top, 0, SECOND, &all, &e), TT_OK);
    assert_int_equal(json_object_size(json_object_get(all, "hosts")), 0);
    assert_int_equal(json_object_size(json_object_get(all, "unreadable")), 2);
    json_decref(all);
}

#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, make_top, remove_top)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(files_of_a_node),     IN_DIRECTORY(node_without_anything),
        IN_DIRECTORY(cpu_of_this_process), IN_DIRECTORY(process_that_ended),
        IN_DIRECTORY(bytes_of_a_device),   IN_DIRECTORY(series_of_a_user),
        IN_DIRECTORY(starting_and_not),    cmocka_unit_test(wrong_options),
        IN_DIRECTORY(known_numbers),       IN_DIRECTORY(value_between_gaps),
        IN_DIRECTORY(what_is_used_up),     IN_DIRECTORY(damaged_series),
        IN_DIRECTORY(odd_series),          IN_DIRECTORY(things_that_are_no_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
