/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What cannot be found out is left out: nothing here makes a run fail. */
#include "report/environment.h"

#include <glob.h>
#include <hwloc.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/text.h"
#include "build_info.h"

static void set(json_t *object, const char *key, json_t *value)
{
    json_object_set_new(object, key, value); /* takes NULL and does nothing */
}

/* ---- build ---- */

static const struct {
    const char *name, *version;
} libraries[] = {TT_LIBRARIES};

static json_t *libraries_json(void)
{
    json_t *all = json_object();

    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        set(all, libraries[i].name, json_string(libraries[i].version));
    return all;
}

json_t *tt_build_modules(void)
{
    static const struct {
        const char *name, *library;
    } modules[] = {TT_MODULES{NULL, NULL}};
    json_t *all = json_object();

    for (size_t i = 0; modules[i].name; i++)
        set(all, modules[i].name, json_string(modules[i].library));
    return all;
}

/* The first line; some libraries answer with a page. */
static json_t *mpi_json(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0, version = 0, minor = 0;

    MPI_Get_library_version(text, &length);
    MPI_Get_version(&version, &minor);
    text[strcspn(text, "\n,")] = '\0';
    for (char *tab = text; (tab = strchr(tab, '\t'));)
        *tab = ' ';
    return json_pack("{s:o, s:o, s:s}", "library", tt_json_text(text), "standard",
                     json_sprintf("%d.%d", version, minor), "launcher", TT_MPIEXEC);
}

/* ---- machine ---- */

/* Sizes of the caches next to the first core, "L1d" to "L3". */
static json_t *caches_json(hwloc_topology_t topology)
{
    json_t *all = json_object();
    hwloc_obj_t at = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PU, 0);

    for (; at; at = at->parent)
        if (hwloc_obj_type_is_dcache(at->type)) {
            char name[16];

            snprintf(name, sizeof name, "L%u", at->attr->cache.depth);
            set(all, name, json_integer((json_int_t)at->attr->cache.size));
        }
    return all;
}

static const char *cpu_name(hwloc_topology_t topology)
{
    hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
    const char *name = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;

    return name ? name : "unknown";
}

static void add_topology(json_t *env)
{
    hwloc_topology_t topology;

    if (hwloc_topology_init(&topology) != 0)
        return;
    if (hwloc_topology_load(topology) == 0) {
        set(env, "cpu", tt_json_text(cpu_name(topology)));
        set(env, "sockets", json_integer(hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE)));
        set(env, "numa_nodes",
            json_integer(hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE)));
        set(env, "cores", json_integer(hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE)));
        set(env, "cpus", json_integer(hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU)));
        set(env, "caches", caches_json(topology));
    }
    hwloc_topology_destroy(topology);
}

static void add_system(json_t *env)
{
    struct utsname name;

    if (uname(&name) != 0)
        return;
    set(env, "host", tt_json_text(name.nodename));
    set(env, "kernel", json_sprintf("%s %s", name.sysname, name.release));
    set(env, "architecture", tt_json_text(name.machine));
    set(env, "memory", json_integer((json_int_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE)));
}

/* ---- what an upgrade changes and nobody remembers ---- */

/* The first line of a file of the system, if there is one that says something. */
static void add_line(json_t *object, const char *key, const char *path)
{
    FILE *f = json_object_get(object, key) ? NULL : fopen(path, "re");
    char line[128] = "";

    if (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        if (line[strspn(line, " ")])
            set(object, key, tt_json_text(line));
    }
    if (f)
        fclose(f);
}

/* PRETTY_NAME="Debian GNU/Linux 12 (bookworm)" */
static void add_distribution(json_t *env)
{
    static const char key[] = "PRETTY_NAME=\"";
    FILE *f = fopen("/etc/os-release", "re");
    char line[256];

    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, key, sizeof key - 1)) {
            line[strcspn(line, "\n")] = '\0';
            line[sizeof key - 1 + strcspn(line + sizeof key - 1, "\"")] = '\0';
            set(env, "distribution", tt_json_text(line + sizeof key - 1));
        }
    if (f)
        fclose(f);
}

/* Of the board, the CPU, the adapters of the network ("fabric.mlx5_0"). */
static json_t *firmware_json(void)
{
    json_t *all = json_object();
    glob_t found = {0};

    add_line(all, "board", "/sys/class/dmi/id/bios_version");
    add_line(all, "cpu", "/sys/devices/system/cpu/cpu0/microcode/version");
    if (glob("/sys/class/infiniband/*/fw_ver", 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++) {
            char key[64];

            snprintf(key, sizeof key, "fabric.%.*s",
                     (int)strcspn(found.gl_pathv[i] + strlen("/sys/class/infiniband/"), "/"),
                     found.gl_pathv[i] + strlen("/sys/class/infiniband/"));
            add_line(all, key, found.gl_pathv[i]);
        }
    globfree(&found);
    return all;
}

/* Of the disk below the data; a partition's disk is one level up. */
static void add_device_firmware(json_t *data, const char *device)
{
    static const char *const places[] = {"device/firmware_rev", "../device/firmware_rev",
                                         "device/rev", "../device/rev"};
    char path[128];

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "/sys/dev/block/%s/%s", device, places[i]);
        add_line(data, "firmware", path);
    }
}

/* Of a file system that is no part of the kernel: lustre, beegfs. */
static void add_client_version(json_t *data)
{
    const char *type = json_string_value(json_object_get(data, "filesystem"));
    char path[128];

    snprintf(path, sizeof path, "/sys/module/%.60s/version", type ? type : "");
    if (type && !strchr(type, '/'))
        add_line(data, "client", path);
}

/* ---- the data directory's file system ---- */

/* "\040" and the like stand for blanks in mountinfo. */
static void unescape(char *text)
{
    char *to = text;

    for (; *text; text++) {
        unsigned code;

        if (text[0] == '\\' && sscanf(text + 1, "%3o", &code) == 1 && strlen(text) >= 4) {
            *to++ = (char)code;
            text += 3;
        } else {
            *to++ = *text;
        }
    }
    *to = '\0';
}

static bool is_inside(const char *path, const char *mount)
{
    size_t n = strlen(mount);

    return !strncmp(path, mount, n) && (path[n] == '/' || path[n] == '\0' || mount[n - 1] == '/');
}

/* One line of mountinfo: "36 35 98:0 /root /mnt rw,noatime master:1 - ext3 /dev/root rw,errors=..."
 * Describes the mount in data, and returns the length of its path, if path is inside of it and the
 * path is not shorter than `longest`. Without a path it is any mount of the device. */
static size_t read_mount(char *line, const char *path, const char *device, size_t longest,
                         json_t *data)
{
    char *save = NULL, *word = strtok_r(line, " \n", &save), *fields[64];
    size_t n = 0, dash = 0;

    for (; word && n < 64; word = strtok_r(NULL, " \n", &save)) {
        if (!dash && n > 5 && !strcmp(word, "-"))
            dash = n;
        fields[n++] = word;
    }
    if (!dash || n < dash + 4)
        return longest;
    unescape(fields[4]);
    unescape(fields[dash + 2]);
    if (path ? strlen(fields[4]) < longest || !is_inside(path, fields[4])
             : strcmp(fields[2], device) != 0)
        return longest;
    set(data, "filesystem", tt_json_text(fields[dash + 1]));
    set(data, "device", tt_json_text(fields[dash + 2]));
    set(data, "mount", tt_json_text(fields[4]));
    set(data, "options", json_sprintf("%s,%s", fields[5], fields[dash + 3]));
    return strlen(fields[4]);
}

static void add_mount(json_t *data, const char *path, const char *device)
{
    FILE *f = fopen("/proc/self/mountinfo", "re");
    char *line = NULL;
    size_t size = 0, longest = 1;

    if (!f)
        return;
    while (getline(&line, &size, f) > 0)
        longest = read_mount(line, path, device, longest, data);
    free(line);
    fclose(f);
}

static json_t *data_json(const char *directory)
{
    json_t *data = json_object();
    char *path = realpath(directory, NULL);
    char device[32] = "";
    struct statvfs fs;
    struct stat st;

    set(data, "path", tt_json_text(path ? path : directory));
    if (stat(directory, &st) == 0) {
        snprintf(device, sizeof device, "%u:%u", major(st.st_dev), minor(st.st_dev));
        set(data, "device_number", json_string(device));
    }
    if (path)
        add_mount(data, path, device);
    if (path && !json_object_get(data, "filesystem")) /* its mount is not seen in a changed root */
        add_mount(data, NULL, device);
    free(path);
    add_device_firmware(data, device);
    add_client_version(data);
    if (statvfs(directory, &fs) == 0) {
        set(data, "size", json_integer((json_int_t)(fs.f_blocks * fs.f_frsize)));
        set(data, "free", json_integer((json_int_t)(fs.f_bavail * fs.f_frsize)));
    }
    return data;
}

json_t *tt_environment_build(void)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o}", "version", TT_VERSION, "revision",
                     TT_REVISION, "compiler", TT_COMPILER, "flags", TT_FLAGS, "build",
                     TT_BUILD_TYPE, "libraries", libraries_json(), "mpi", mpi_json());
}

json_t *tt_environment(const char *data_directory)
{
    json_t *env = tt_environment_build();

    if (!env)
        return NULL;
    add_system(env);
    add_distribution(env);
    set(env, "firmware", firmware_json());
    add_topology(env);
    set(env, "data", data_json(data_directory));
    return env;
}

json_t *tt_environment_of(const struct tt_config *config)
{
    char *dir = tt_config_data_directory(config);
    json_t *env = dir ? tt_environment(dir) : NULL;

    free(dir);
    return env;
}
