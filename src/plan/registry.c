/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/registry.h"

#include <string.h>

#include "plan/config.h"
#include "devices/device.h"
#include "plan/module.h"

const struct tt_component *const tt_used_components[] = {
    &tt_write_component, &tt_read_component, &tt_collective_component, &tt_stripe_component, NULL};

/* The nearest name may be that of a module. */
static void fail_unknown(const void *const *list, const char *kind, const char *name,
                         struct tt_error *e)
{
    const char *names[TT_MAX_COMPONENTS + 1] = {0}, *near;

    tt_module_open_all();
    for (size_t i = 0; list[i]; i++)
        names[i] = *(const char *const *)list[i];
    near = tt_nearest_word(name, names);
    if (!near && !strcmp(kind, "device") && !strcmp(name, "gpu"))
        near = "cuda";
    if (!strcmp(kind, "layer") && strpbrk(name, ":+; ")) {
        tt_fail(e, TT_USAGE, "unknown layer '%.80s': separate layers by commas", name);
        return;
    }
    tt_fail(e, TT_USAGE, "unknown %s '%.80s'%s; tutti list %ss names them%s", kind, name,
            TT_DID_YOU_MEAN(near), kind,
            near ? ""
                 : "; modules are looked for in TUTTI_MODULE_PATH and beside tutti's own, or named "
                   "with --module");
}

const void *tt_find_open(const void *list, const char *name)
{
    const void *const *at = list;

    while (*at && strcmp(*(const char *const *)*at, name) != 0) /* tables begin with their name */
        at++;
    return *at;
}

static const void *find(const void *const *list, const char *kind, const char *name,
                        struct tt_error *e)
{
    const void *found = tt_find_open(list, name);

    if (!found && tt_module_open_named(kind, name, e) != TT_OK)
        return NULL;
    if (found || (found = tt_find_open(list, name)))
        return found;
    for (const struct tt_missing *m = tt_missing_components; m->name; m++)
        if (!strcmp(m->name, name)) {
            tt_fail(e, TT_USAGE, "%s '%s' is not in this build; package %s brings its library",
                    kind, name, m->package);
            return NULL;
        }
    fail_unknown(list, kind, name, e);
    return NULL;
}

const struct tt_backend *tt_find_backend(const char *name, struct tt_error *e)
{
    return find((const void *const *)tt_backends, "backend", name, e);
}

const struct tt_backend *tt_find_layer(const char *name, struct tt_error *e)
{
    return find((const void *const *)tt_layers, "layer", name, e);
}

const struct tt_workload *tt_find_workload(const char *name, struct tt_error *e)
{
    return find((const void *const *)tt_workloads, "workload", name, e);
}

const struct tt_exporter *tt_find_exporter(const char *name, struct tt_error *e)
{
    return find((const void *const *)tt_exporters, "exporter", name, e);
}

const struct tt_device_type *tt_find_device(const char *name, struct tt_error *e)
{
    return find((const void *const *)tt_devices, "device", name, e);
}

static void each_element(const struct tt_backend **list, const char *kind, tt_component_fn *visit,
                         void *context)
{
    for (; *list; list++) {
        struct tt_component c = {(*list)->name, (*list)->summary, (*list)->params,
                                 (*list)->opts_size};

        visit(kind, &c, context);
    }
}

static void each_open(tt_component_fn *visit, void *context)
{
    visit("run", &tt_run_component, context);
    visit("run", &tt_launch_component, context);
    for (size_t i = 0; tt_used_components[i]; i++)
        visit("engine", tt_used_components[i], context);
    visit("engine", &tt_counters_component, context);
    visit("engine", &tt_device_component, context);
    for (size_t i = 0; tt_workloads[i]; i++) {
        const struct tt_workload *w = tt_workloads[i];
        struct tt_component c = {w->name, w->summary, w->params, w->opts_size};

        visit("workload", &c, context);
    }
    each_element(tt_backends, "backend", visit, context);
    each_element(tt_layers, "layer", visit, context);
    for (size_t i = 0; tt_devices[i]; i++) {
        const struct tt_device_type *d = tt_devices[i];
        struct tt_component c = {d->name, d->summary, d->params, d->opts_size};

        visit("device", &c, context);
    }
}

void tt_each_component(tt_component_fn *visit, void *context)
{
    tt_module_open_all();
    each_open(visit, context);
}

struct wanted {
    const char *key;
    const struct tt_param *found;
};

static void look_in(const char *kind, const struct tt_component *c, void *context)
{
    struct wanted *wanted = context;
    const char *dot = strchr(wanted->key, '.'), *rest = dot ? dot + 1 : wanted->key;
    size_t length = dot ? (size_t)(dot - wanted->key) : 0;

    (void)kind;
    if (strlen(c->name) != length || strncmp(c->name, wanted->key, length) != 0)
        return;
    if (tt_param_find(c->params, rest))
        wanted->found = tt_param_find(c->params, rest);
}

const struct tt_param *tt_find_param(const char *key)
{
    struct wanted wanted = {key, NULL};

    each_open(look_in, &wanted);
    return wanted.found;
}
