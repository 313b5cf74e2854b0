/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/module.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/module.h"
#include "plan/registry.h"

static const char *const kinds[] = {"backend", "layer", "workload", "exporter", "device"};

/* Tables begin with their name, by which lists are sorted. The first of a name wins: what is built
 * in, then a module in TUTTI_MODULE_PATH, then tutti's own. */
static int add(const void **list, const void *component, const char *file, struct tt_error *e)
{
    const char *name = *(const char *const *)component;
    size_t n = 0, at = 0;

    for (; list[n]; n++) {
        int order = strcmp(*(const char *const *)list[n], name);

        if (order == 0)
            return TT_OK;
        at += order < 0;
    }
    if (n == TT_MAX_COMPONENTS)
        return tt_fail(e, TT_USAGE, "'%s': more than %d components of a kind", file,
                       TT_MAX_COMPONENTS);
    memmove(list + at + 1, list + at, (n - at) * sizeof *list);
    list[at] = component;
    return TT_OK;
}

static int check(const struct tt_module *m, const char *file, struct tt_error *e)
{
    if (!m)
        return tt_fail(e, TT_USAGE, "'%s' is not a module of tutti: it has no TT_MODULE line",
                       file);
    if (m->abi != TT_MODULE_ABI || m->sizes != TT_MODULE_SIZES)
        return tt_fail(e, TT_USAGE,
                       "'%s' was built for another version of tutti (module ABI %zu, this is %d); "
                       "build it again",
                       file, m->abi, TT_MODULE_ABI);
    if (!!m->backend + !!m->workload + !!m->exporter + !!m->device != 1)
        return tt_fail(e, TT_USAGE, "'%s' must name one table in its TT_MODULE line", file);
    return TT_OK;
}

/* What dlopen() says begins with the path, most often. */
static int fail_open(const char *path, const char *file, struct tt_error *e)
{
    const char *said = dlerror();
    char why[256];

    if (said && !strncmp(said, path, strlen(path)) && !strncmp(said + strlen(path), ": ", 2))
        said += strlen(path) + 2;
    snprintf(why, sizeof why, "%s", said ? said : "unknown");
    tt_make_plain(why);
    return tt_fail(e, TT_USAGE, "cannot open module '%.120s': %s", file, why);
}

/* Its table, the kind of that, and the list it joins. */
static const void *table_of(const struct tt_module *m, const char **kind, const void ***list)
{
    bool layer = m->backend && m->backend->kind != TT_BACKEND;
    const struct {
        const void *table;
        const char *kind;
        void *list;
    } all[] = {{m->workload, "workload", tt_workloads},
               {m->exporter, "exporter", tt_exporters},
               {m->device, "device", tt_devices},
               {m->backend, layer ? "layer" : "backend", layer ? tt_layers : tt_backends}};
    size_t i = 0;

    while (!all[i].table)
        i++;
    *kind = all[i].kind;
    *list = all[i].list;
    return all[i].table;
}

/* Modules stay open until the process ends: tables are referred to from everywhere. */
static int open_module(const char *file, const struct tt_module **m, struct tt_error *e)
{
    void *handle = NULL;
    struct stat st;
    char *path;
    int rc = TT_OK;

    if (asprintf(&path, "%s%s", strchr(file, '/') ? "" : "./", file) < 0) /* else it is searched */
        return tt_fail_nomem(e, "a path");
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) /* opening a fifo would not come back */
        rc = tt_fail(e, TT_USAGE, "cannot open module '%.120s': it is not a regular file", file);
    else if (!(handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)))
        rc = fail_open(path, file, e);
    free(path);
    if (rc != TT_OK)
        return rc;
    *m = dlsym(handle, "tt_module");
    rc = check(*m, file, e);
    if (rc == TT_OK) {
        const void **list, *table;
        const char *kind;

        table = table_of(*m, &kind, &list);
        rc = add(list, table, file, e);
    }
    return rc;
}

/* A file that is no module, one of another version, a library that it misses: TT_USAGE. */
static int open_file(const char *file, struct tt_error *e)
{
    const struct tt_module *m;

    return open_module(file, &m, e);
}

int tt_module_open_listed(const char *list, struct tt_error *e)
{
    static const struct tt_param param[] = {{"module", TT_PARAM_WORDS, 0, NULL, NULL, ""}, {NULL}};
    struct tt_words files = {0};
    int rc = tt_param_set(param, &files, list, e);

    for (size_t i = 0; rc == TT_OK && i < files.n; i++)
        rc = open_file(files.words[i], e);
    tt_params_free(param, &files);
    return rc;
}

/* ---- where they are ---- */

typedef bool directory_fn(const char *directory, void *context);

/* TUTTI_MODULE_PATH, then the directory beside the core, wherever that is: the build tree or an
 * installation. Stops when visit says so. */
static void each_directory(directory_fn *visit, void *context)
{
    const char *given = getenv("TUTTI_MODULE_PATH");
    char *list = strdup(given ? given : ""), *rest = list, *one, *own, *slash;
    bool found = false;
    Dl_info core;

    while (list && !found && (one = strsep(&rest, ":")))
        found = *one && visit(one, context);
    free(list);
    if (found || !dladdr(kinds, &core) || !(slash = strrchr(core.dli_fname, '/')))
        return;
    if (asprintf(&own, "%.*s/modules", (int)(slash - core.dli_fname), core.dli_fname) < 0)
        return;
    visit(own, context);
    free(own);
}

bool tt_module_has(const void *table)
{
    Dl_info core, other;

    return dladdr(kinds, &core) && dladdr(table, &other) && other.dli_fbase != core.dli_fbase;
}

struct search {
    const char *kind, *name;
    struct tt_error *e;
    int rc;
};

static bool open_here(const char *directory, void *context)
{
    struct search *s = context;
    const struct tt_module *m;
    struct stat st;
    char *file;

    if (asprintf(&file, "%s/%s_%s.so", directory, s->kind, s->name) < 0) {
        s->rc = tt_fail_nomem(s->e, "a path");
        return true;
    }
    if (lstat(file, &st) != 0) { /* a link that leads nowhere is one that somebody meant */
        free(file);
        return false;
    }
    s->rc = open_module(file, &m, s->e);
    if (s->rc == TT_OK) {
        const void **list, *table;
        const char *kind, *name;

        table = table_of(m, &kind, &list);
        name = *(const char *const *)table;
        if (strcmp(kind, s->kind) != 0 || strcmp(name, s->name) != 0)
            s->rc = tt_fail(s->e, TT_USAGE,
                            "'%s' holds %s '%s'; file and table must have the same name", file,
                            kind, name);
    }
    free(file);
    return true;
}

int tt_module_open_named(const char *kind, const char *name, struct tt_error *e)
{
    struct search s = {kind, name, e, TT_OK};

    if (name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")] == 0)
        each_directory(open_here, &s);
    return s.rc;
}

static bool is_module(const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strncmp(name, kinds[i], strlen(kinds[i])) && name[strlen(kinds[i])] == '_')
            return length > 3 && !strcmp(name + length - 3, ".so");
    return false;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static bool open_directory(const char *directory, void *context)
{
    struct dirent **entries;
    int n = scandir(directory, &entries, NULL, by_name);

    (void)context;
    for (int i = 0; i < n; i++) {
        struct tt_error ignored = TT_ERROR_CLEAR;
        char *file;

        if (is_module(entries[i]->d_name) &&
            asprintf(&file, "%s/%s", directory, entries[i]->d_name) >= 0) {
            open_file(file, &ignored);
            free(file);
        }
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    return false;
}

void tt_module_open_all(void)
{
    each_directory(open_directory, NULL);
}
