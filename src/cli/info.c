/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti info: this build and this machine. */
#include <fcntl.h>
#include <mpi.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/command.h"
#include "devices/device.h"
#include "launch/launch.h"
#include "plan/module.h"
#include "plan/registry.h"
#include "report/environment.h"
#include "report/paragraph.h"
#include "spec/units.h"

#define COLUMN 16
#define PATIENCE_MS 20000

struct info {
    char *dir;
    bool json, build;
};

static const struct tt_param params[] = {
    {"dir", TT_PARAM_TEXT, offsetof(struct info, dir), ".", NULL, "the data directory to describe",
     .placeholder = "DIR"},
    {"build", TT_PARAM_BOOL, offsetof(struct info, build), NULL, NULL,
     "only this build, as tutti --version prints it"},
    {"json", TT_PARAM_BOOL, offsetof(struct info, json), NULL, NULL, "print JSON"},
    {NULL},
};

/* ---- the thread level MPI gives ---- */

static const char *level_name(int level)
{
    switch (level) {
    case MPI_THREAD_SINGLE:
        return "MPI_THREAD_SINGLE";
    case MPI_THREAD_FUNNELED:
        return "MPI_THREAD_FUNNELED";
    case MPI_THREAD_SERIALIZED:
        return "MPI_THREAD_SERIALIZED";
    case MPI_THREAD_MULTIPLE:
        return "MPI_THREAD_MULTIPLE";
    default:
        return "unknown: MPI does not start here without a launcher";
    }
}

static void ask_in_child(int to)
{
    int level = -1, null = open("/dev/null", O_WRONLY);

    if (null >= 0)
        dup2(null, STDERR_FILENO);
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level) != MPI_SUCCESS)
        level = -1;
    if (write(to, &level, sizeof level) == (ssize_t)sizeof level)
        MPI_Finalize();
    _exit(0);
}

/* Only MPI_Init_thread knows, and it may end the process or never return: so a child asks. */
static const char *thread_level(void)
{
    struct pollfd answer = {.events = POLLIN};
    int ends[2], level = -1, status;
    pid_t child;

    if (tt_launched_size() > 0)
        return "not asked: started by a launcher";
    if (pipe2(ends, O_CLOEXEC) != 0)
        return level_name(-1);
    child = fork();
    if (child == 0)
        ask_in_child(ends[1]);
    close(ends[1]);
    answer.fd = ends[0];
    if (child > 0 && poll(&answer, 1, PATIENCE_MS) == 1 &&
        read(ends[0], &level, sizeof level) != (ssize_t)sizeof level)
        level = -1;
    close(ends[0]);
    if (child > 0 && level < 0)
        kill(child, SIGKILL);
    if (child > 0)
        waitpid(child, &status, 0);
    return level_name(level);
}

/* ---- everything as JSON ---- */

/* Of tables, which begin with their name. */
static json_t *names_json(const void *list)
{
    json_t *all = json_array();

    for (const char *const *const *table = list; *table; table++)
        json_array_append_new(all, json_string(**table));
    return all;
}

/* How many of each kind this node has, or why none. */
static json_t *devices_json(void)
{
    json_t *all = json_object();

    for (size_t i = 0; tt_devices[i]; i++) {
        void *opts = calloc(1, tt_devices[i]->opts_size ? tt_devices[i]->opts_size : 1);
        struct tt_error why = TT_ERROR_CLEAR;
        const char *name = tt_devices[i]->name, *text = why.text;
        unsigned n = 0;

        if (opts && tt_devices[i]->count(opts, &n, &why) == TT_OK)
            snprintf(why.text, sizeof why.text, "%u here", n);
        if (!strncmp(text, "device ", 7) && !strncmp(text + 7, name, strlen(name)))
            text += 7 + strlen(name) + strlen(": ");
        json_object_set_new(all, name, json_string(text));
        free(opts);
    }
    return all;
}

static json_t *gather(const struct info *o)
{
    json_t *info = o->build ? tt_environment_build() : tt_environment(o->dir);
    json_t *missing = json_object();

    for (const struct tt_missing *m = tt_missing_components; m->name; m++)
        json_object_set_new(missing, m->name, json_string(m->package));
    json_object_set_new(info, "missing", missing);
    json_object_set_new(info, "modules", tt_build_modules());
    if (o->build)
        return info;
    json_object_set_new(json_object_get(info, "mpi"), "thread_level", json_string(thread_level()));
    json_object_set_new(info, "workloads", names_json(tt_workloads));
    json_object_set_new(info, "backends", names_json(tt_backends));
    json_object_set_new(info, "layers", names_json(tt_layers));
    json_object_set_new(info, "devices", devices_json());
    return info;
}

/* ---- and as text ---- */

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "unknown";
}

static void entry(const char *name, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void entry(const char *name, const char *fmt, ...)
{
    char text[1024];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    tt_print_entry(stdout, name, COLUMN, text);
}

/* "a 1.0, b 2.0" of an object, or "a, b" of an array; values between before and after. */
static void list_entry(const char *name, const char *before, const char *after, json_t *list)
{
    char text[1024] = "";
    size_t used = 0, i;
    const char *key;
    json_t *value;

    json_array_foreach(list, i, value) if (used < sizeof text) used += (size_t)snprintf(
        text + used, sizeof text - used, "%s%s", used ? ", " : "", json_string_value(value));
    json_object_foreach(list, key, value) if (used < sizeof text) used +=
        (size_t)snprintf(text + used, sizeof text - used, "%s%s %s%s%s", used ? ", " : "", key,
                         before, json_string_value(value), after);
    if (used)
        entry(name, "%s", text);
}

static void print_machine(const json_t *info)
{
    char text[160] = "", size[TT_UNIT_TEXT];
    size_t used = 0;
    const char *key;
    json_t *value;

    entry("host", "%s, %s, %s", text_of(info, "host"), text_of(info, "kernel"),
          text_of(info, "architecture"));
    entry("CPU", "%s; sockets %.0f, cores %.0f, CPUs %.0f, NUMA nodes %.0f", text_of(info, "cpu"),
          tt_number_of(info, "sockets"), tt_number_of(info, "cores"), tt_number_of(info, "cpus"),
          tt_number_of(info, "numa_nodes"));
    json_object_foreach(json_object_get(info, "caches"), key, value) if (used < sizeof text) used +=
        (size_t)snprintf(text + used, sizeof text - used, "%s%s %s", used ? ", " : "", key,
                         tt_format_bytes(json_number_value(value), size));
    if (used)
        entry("caches", "%s", text);
    entry("memory", "%s", tt_format_bytes(tt_number_of(info, "memory"), size));
}

static void print_data(const json_t *data)
{
    char size[TT_UNIT_TEXT], available[TT_UNIT_TEXT];

    entry("data directory", "%s", text_of(data, "path"));
    if (!json_object_get(data, "size")) {
        entry("file system", "unknown: the directory does not exist");
        return;
    }
    entry("file system", "%s on %s, mounted at %s: %s, %s free", text_of(data, "filesystem"),
          text_of(data, "device"), text_of(data, "mount"),
          tt_format_bytes(tt_number_of(data, "size"), size),
          tt_format_bytes(tt_number_of(data, "free"), available));
    entry("mounted with", "%s", text_of(data, "options"));
}

static void print_build(const json_t *info)
{
    const json_t *mpi = json_object_get(info, "mpi");
    const char *name;
    json_t *package;

    entry("build", "%s, %s, flags %s", text_of(info, "build"), text_of(info, "compiler"),
          text_of(info, "flags"));
    entry("MPI", "%s (standard %s)", text_of(mpi, "library"), text_of(mpi, "standard"));
    entry("launcher", "%s", text_of(mpi, "launcher"));
    list_entry("modules", "(", ")", json_object_get(info, "modules"));
    list_entry("libraries", "", "", json_object_get(info, "libraries"));
    json_object_foreach(json_object_get(info, "missing"), name, package)
        entry("missing", "%s: package %s brings its library", name, json_string_value(package));
}

static void print_info(const json_t *info)
{
    entry("version", "tutti %s (%s)", text_of(info, "version"), text_of(info, "revision"));
    print_build(info);
    entry("thread level", "%s", text_of(json_object_get(info, "mpi"), "thread_level"));
    list_entry("workloads", "", "", json_object_get(info, "workloads"));
    list_entry("backends", "", "", json_object_get(info, "backends"));
    list_entry("layers", "", "", json_object_get(info, "layers"));
    list_entry("devices", "(", ")", json_object_get(info, "devices"));
    print_machine(info);
    print_data(json_object_get(info, "data"));
}

static int run(struct tt_invocation *call, struct tt_error *e)
{
    const struct info *o = call->opts;
    json_t *info;

    if (!o->build)
        tt_module_open_all();
    info = gather(o);
    if (!info)
        return tt_fail_nomem(e, "what this machine is");
    if (o->json) {
        json_dumpf(info, stdout, JSON_INDENT(1));
        putchar('\n');
    } else if (o->build) {
        printf("tutti %s (%s)\n", text_of(info, "version"), text_of(info, "revision"));
        print_build(info);
    } else {
        print_info(info);
    }
    json_decref(info);
    return TT_OK;
}

const struct tt_command tt_command_info = {
    .name = "info",
    .summary = "this build and this machine",
    .synopsis = "tutti info [--dir DIR] [--build] [--json]",
    .text = "Describe this build, this machine and the data directory.",
    .run = run,
    .options = &(const struct tt_options){params, sizeof(struct info)},
};
