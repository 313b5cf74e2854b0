/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/counters.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/counters_columns.h"
#include "base/json.h"
#include "base/text.h"
#include "node/counters.h"
#include "plan/directory.h"
#include "spec/units.h"

#define MAX_HOSTS 100000

enum how { RATE, MEAN, LEAST, MOST };

static double number(const struct tt_counter_column *c, enum how how)
{
    switch (how) {
    case RATE:
        return c->growth / c->seconds;
    case MEAN:
        return c->integral / c->seconds;
    case LEAST:
        return c->min;
    default:
        return c->max;
    }
}

/* ---- one number of a node ---- */

static const struct {
    const char *column, *key;
    enum how how;
    double scale;
} of_node[] = {
    {"job.cpu", "job_cpus", RATE, 1e-3},
    {"pressure.cpu.some", "cpu_pressure", RATE, 1e-6},
    {"pressure.io.some", "io_pressure", RATE, 1e-6},
    {"pressure.io.full", "io_pressure_full", RATE, 1e-6},
    {"pressure.memory.some", "memory_pressure", RATE, 1e-6},
    {"pressure.memory.full", "memory_pressure_full", RATE, 1e-6},
    {"memory.available", "memory_available", LEAST, 1},
    {"memory.dirty", "dirty", MOST, 1},
    {"memory.writeback", "writeback", MOST, 1},
    {"collector.cpu", "collector_cpus", RATE, 1e-6},
};

static int add_node_numbers(const struct tt_columns *c, json_t *host)
{
    int rc = 0;

    for (size_t i = 0; i < sizeof of_node / sizeof *of_node; i++) {
        const struct tt_counter_column *column = tt_columns_find(c, of_node[i].column);

        if (column)
            rc |= json_object_set_new(
                host, of_node[i].key,
                tt_json_real(number(column, of_node[i].how) * of_node[i].scale));
    }
    return rc;
}

/* The one that read the list was running, too. */
static int add_run_queue(const struct tt_columns *c, json_t *host)
{
    const struct tt_counter_column *queue = tt_columns_find(c, "queue.running");

    return queue ? json_object_set_new(host, "run_queue",
                                       tt_json_real(fmax(number(queue, MEAN) - 1, 0)))
                 : 0;
}

static double growth(const struct tt_columns *c, const char *name)
{
    const struct tt_counter_column *column = tt_columns_find(c, name);

    return column ? column->growth : 0;
}

/* Shares of the time of all CPUs. What the hypervisor took away could not be used, either. */
static int add_cpus(const struct tt_columns *c, json_t *host)
{
    static const char *const busy[] = {"cpu.user", "cpu.nice",    "cpu.system",
                                       "cpu.irq",  "cpu.softirq", "cpu.steal"};
    double waiting = growth(c, "cpu.iowait"), taken = 0, all = waiting + growth(c, "cpu.idle");
    int rc = 0;

    for (size_t i = 0; i < sizeof busy / sizeof *busy; i++)
        taken += growth(c, busy[i]);
    all += taken;
    if (!(all > 0))
        return 0;
    rc |= json_object_set_new(host, "cpu_busy", tt_json_real(taken / all));
    rc |= json_object_set_new(host, "cpu_iowait", tt_json_real(waiting / all));
    rc |= json_object_set_new(host, "cpu_steal", tt_json_real(growth(c, "cpu.steal") / all));
    return rc;
}

/* ---- numbers of the things a node has ---- */

static const struct {
    const char *group, *field, *parent, *key;
    enum how how;
    double scale;
} of_thing[] = {
    {"disk", "busy", "devices", "busy", RATE, 1e-3},
    {"disk", "read", "devices", "read_rate", RATE, 1},
    {"disk", "written", "devices", "write_rate", RATE, 1},
    {"disk", "in_flight", "devices", "in_flight", MEAN, 1},
    {"net", "received", "interfaces", "receive_rate", RATE, 1},
    {"net", "transmitted", "interfaces", "transmit_rate", RATE, 1},
    {"net", "speed", "interfaces", "speed", MEAN, 1},
    {"infiniband", "received", "infiniband", "receive_rate", RATE, 1},
    {"infiniband", "transmitted", "infiniband", "transmit_rate", RATE, 1},
    {"infiniband", "speed", "infiniband", "speed", MEAN, 1},
    {"lustre", "read", "lustre", "read_rate", RATE, 1},
    {"lustre", "written", "lustre", "write_rate", RATE, 1},
    {"watched", "value", "watched", "mean", MEAN, 1},
    {"watched", "value", "watched", "min", LEAST, 1},
    {"watched", "value", "watched", "max", MOST, 1},
};

/* The object below that key, made if it is not there; NULL: no memory. */
static json_t *inside(json_t *object, const char *key)
{
    json_t *found = json_object_get(object, key);

    if (!found && json_object_set_new(object, key, json_object()) == 0)
        found = json_object_get(object, key);
    return found;
}

static int add_thing(const struct tt_counter_column *c, json_t *host)
{
    int rc = 0;

    for (size_t i = 0; i < sizeof of_thing / sizeof *of_thing; i++) {
        double value = number(c, of_thing[i].how) * of_thing[i].scale;

        if (!strcmp(c->group, of_thing[i].group) && !strcmp(c->field, of_thing[i].field))
            rc |= json_object_set_new(inside(inside(host, of_thing[i].parent), c->instance),
                                      of_thing[i].key,
                                      c->seconds > 0 ? tt_json_real(value) : json_null());
    }
    return rc;
}

/* The direction that used more of the speed that the driver knows of, if it does. */
static int add_use_of_speed(json_t *links)
{
    const char *name;
    json_t *link;
    int rc = 0;

    json_object_foreach(links, name, link)
    {
        double speed = tt_number_of(link, "speed");
        double most = fmax(tt_number_of(link, "transmit_rate"), tt_number_of(link, "receive_rate"));

        if (!(speed > 0))
            rc |= json_object_set_new(link, "speed", json_null());
        rc |=
            json_object_set_new(link, "busy", speed > 0 ? tt_json_real(most / speed) : json_null());
    }
    return rc;
}

static json_t *host_json(const struct tt_columns *c, double window)
{
    json_t *host = json_object();
    int rc = json_object_set_new(host, "covered", tt_json_real(c->seconds / window));

    rc |= json_object_set_new(host, "seconds", tt_json_real(c->seconds));
    rc |= add_cpus(c, host) | add_run_queue(c, host) | add_node_numbers(c, host);
    for (size_t i = 0; i < c->n; i++)
        rc |= add_thing(&c->list[i], host);
    rc |= add_use_of_speed(json_object_get(host, "interfaces"));
    rc |= add_use_of_speed(json_object_get(host, "infiniband"));
    return tt_json_unless(rc, host);
}

/* ---- what was used up ---- */

/* Below a second, or half of the window, ticks of 10 ms and a few samples prove nothing. */
#define MIN_SECONDS 1.0
#define MIN_COVERED 0.5
/* The reasons for the thresholds are in docs/counters.md. */
#define BUSY_CPUS 0.95
#define CPU_PRESSURE 0.20
#define MEMORY_PRESSURE 0.10
#define BUSY_DEVICE 0.95
#define BUSY_LINK 0.90

static int claim(json_t *list, const char *host, const char *resource, const char *text)
{
    return json_array_append_new(
        list, json_pack("{s:s, s:s, s:s}", "host", host, "resource", resource, "text", text));
}

static int judge_cpus(const char *name, const json_t *host, json_t *list)
{
    double busy = tt_number_of(host, "cpu_busy"), pressure = tt_number_of(host, "cpu_pressure");
    char text[160];
    int rc = 0;

    snprintf(text, sizeof text,
             "the CPUs were busy for %.0f %% of the time; this job used %.1f of them", 100 * busy,
             tt_number_of(host, "job_cpus"));
    if (busy >= BUSY_CPUS)
        rc |= claim(list, name, "cpu", text);
    snprintf(text, sizeof text, "some process waited for a CPU for %.0f %% of the time",
             100 * pressure);
    if (pressure >= CPU_PRESSURE)
        rc |= claim(list, name, "cpu pressure", text);
    return rc;
}

static int judge_memory(const char *name, const json_t *host, json_t *list)
{
    double full = tt_number_of(host, "memory_pressure_full");
    char text[160];

    snprintf(text, sizeof text, "everything waited for memory for %.0f %% of the time", 100 * full);
    return full >= MEMORY_PRESSURE ? claim(list, name, "memory", text) : 0;
}

static int judge_devices(const char *name, const json_t *host, json_t *list)
{
    const char *device;
    json_t *numbers;
    int rc = 0;

    json_object_foreach(json_object_get(host, "devices"), device, numbers)
    {
        double busy = tt_number_of(numbers, "busy");
        char resource[96], text[160], written[TT_UNIT_TEXT], read[TT_UNIT_TEXT];

        if (busy < BUSY_DEVICE)
            continue;
        snprintf(resource, sizeof resource, "device %.80s", device);
        snprintf(text, sizeof text,
                 "%.80s was busy for %.0f %% of the time, writing %s and reading %s", device,
                 100 * fmin(busy, 1), tt_format_rate(tt_number_of(numbers, "write_rate"), written),
                 tt_format_rate(tt_number_of(numbers, "read_rate"), read));
        rc |= claim(list, name, resource, text);
    }
    return rc;
}

static int judge_links(const char *name, const json_t *host, const char *parent, const char *kind,
                       json_t *list)
{
    const char *link;
    json_t *numbers;
    int rc = 0;

    json_object_foreach(json_object_get(host, parent), link, numbers)
    {
        double busy = tt_number_of(numbers, "busy");
        char resource[96], text[160], speed[TT_UNIT_TEXT];

        if (busy < BUSY_LINK)
            continue;
        snprintf(resource, sizeof resource, "%s %.80s", kind, link);
        snprintf(text, sizeof text, "%.80s moved %.0f %% of the %s that it can", link, 100 * busy,
                 tt_format_rate(tt_number_of(numbers, "speed"), speed));
        rc |= claim(list, name, resource, text);
    }
    return rc;
}

static int judge(const char *name, const json_t *host, json_t *list)
{
    if (tt_number_of(host, "seconds") < MIN_SECONDS || tt_number_of(host, "covered") < MIN_COVERED)
        return 0;
    return judge_cpus(name, host, list) | judge_memory(name, host, list) |
           judge_devices(name, host, list) |
           judge_links(name, host, "interfaces", "interface", list) |
           judge_links(name, host, "infiniband", "infiniband", list);
}

/* ---- all nodes ---- */

struct summary {
    int64_t from, to;
    json_t *hosts, *saturated, *unreadable;
};

static int is_series(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');

    return entry->d_name[0] != '.' && dot && !strcmp(dot, ".csv");
}

/* The text as a JSON key or value may have it. */
static json_t *host_text(const char *file)
{
    char name[256];

    snprintf(name, sizeof name, "%.*s", (int)(strrchr(file, '.') - file), file);
    return tt_json_text(name);
}

/* A node whose file is damaged is named; the others count. */
static int add_host(struct summary *s, const char *directory, const char *file, struct tt_error *e)
{
    char *path = tt_directory_path(directory, file), why[400];
    struct tt_error error = TT_ERROR_CLEAR;
    json_t *name = host_text(file), *host = NULL;
    struct tt_columns columns = {0};
    int rc = path && name ? TT_OK : TT_NOMEM;

    if (rc == TT_OK)
        rc = tt_columns_load(path, s->from, s->to, &columns, &error);
    if (rc == TT_OK && columns.seconds > 0) {
        host = host_json(&columns, 1e-9 * (double)(s->to - s->from));
        if (!host || judge(json_string_value(name), host, s->saturated) != 0 ||
            json_object_set(s->hosts, json_string_value(name), host) != 0)
            rc = TT_NOMEM;
    } else if (rc != TT_OK && rc != TT_NOMEM) {
        tt_error_format(&error, why, sizeof why);
        rc = json_object_set_new(s->unreadable, json_string_value(name), tt_json_text(why));
    }
    tt_columns_free(&columns);
    json_decref(host);
    json_decref(name);
    free(path);
    return rc == TT_OK ? TT_OK : tt_fail_nomem(e, "the counters");
}

static int add_hosts(struct summary *s, const char *directory, struct tt_error *e)
{
    struct dirent **files;
    int n = scandir(directory, &files, is_series, alphasort), rc = TT_OK;

    if (n < 0)
        return errno == ENOMEM ? tt_fail_nomem(e, "the counters") : TT_OK;
    for (int i = 0; i < n; i++) {
        if (rc == TT_OK && i < MAX_HOSTS)
            rc = add_host(s, directory, files[i]->d_name, e);
        free(files[i]);
    }
    free(files);
    return rc;
}

int tt_counters_summary(const char *directory, int64_t from_wall_ns, int64_t to_wall_ns,
                        json_t **out, struct tt_error *e)
{
    struct summary s = {.from = from_wall_ns, .to = to_wall_ns};
    char *path = tt_directory_path(directory, TT_COUNTERS_DIRECTORY);
    int rc = TT_OK;

    s.hosts = json_object();
    s.saturated = json_array();
    s.unreadable = json_object();
    *out = json_pack("{s:O, s:O, s:O}", "hosts", s.hosts, "saturated", s.saturated, "unreadable",
                     s.unreadable);
    if (!path || !*out)
        rc = tt_fail_nomem(e, "the counters");
    else if (from_wall_ns >= 0 && to_wall_ns > from_wall_ns)
        rc = add_hosts(&s, path, e);
    json_decref(s.hosts);
    json_decref(s.saturated);
    json_decref(s.unreadable);
    free(path);
    if (rc != TT_OK) {
        json_decref(*out);
        *out = NULL;
    }
    return rc;
}
