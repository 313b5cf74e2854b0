/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/registry.h"

#include <string.h>

#include "plan/config.h"

#define MAX_NAMES 64

static void fail_unknown(const char *kind, const char *name, const char *const *names,
                         struct tt_error *e)
{
    const char *near = tt_nearest_word(name, names);

    tt_fail(e, TT_USAGE, "unknown %s '%.80s'%s%s%s; tutti list %ss names them", kind, name,
            near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "", kind);
}

static const struct tt_backend *find_element(const struct tt_backend *const *list, const char *kind,
                                             const char *name, struct tt_error *e)
{
    const char *names[MAX_NAMES + 1] = {0};

    for (size_t i = 0; list[i]; i++) {
        if (!strcmp(list[i]->name, name))
            return list[i];
        if (i < MAX_NAMES)
            names[i] = list[i]->name;
    }
    for (const struct tt_missing *m = tt_missing_backends; m->name; m++)
        if (!strcmp(m->name, name)) {
            tt_fail(e, TT_USAGE, "%s '%s' is not in this build; package %s brings its library",
                    kind, name, m->package);
            return NULL;
        }
    fail_unknown(kind, name, names, e);
    return NULL;
}

const struct tt_backend *tt_find_backend(const char *name, struct tt_error *e)
{
    return find_element(tt_backends, "backend", name, e);
}

const struct tt_backend *tt_find_layer(const char *name, struct tt_error *e)
{
    return find_element(tt_layers, "layer", name, e);
}

const struct tt_workload *tt_find_workload(const char *name, struct tt_error *e)
{
    const char *names[MAX_NAMES + 1] = {0};

    for (size_t i = 0; tt_workloads[i]; i++) {
        if (!strcmp(tt_workloads[i]->name, name))
            return tt_workloads[i];
        if (i < MAX_NAMES)
            names[i] = tt_workloads[i]->name;
    }
    fail_unknown("workload", name, names, e);
    return NULL;
}

static void each_element(const struct tt_backend *const *list, const char *kind,
                         tt_component_fn *visit, void *context)
{
    for (; *list; list++) {
        struct tt_component c = {(*list)->name, (*list)->summary, (*list)->params,
                                 (*list)->opts_size};

        visit(kind, &c, context);
    }
}

void tt_each_component(tt_component_fn *visit, void *context)
{
    visit("run", &tt_run_component, context);
    visit("run", &tt_launch_component, context);
    visit("engine", &tt_write_component, context);
    visit("engine", &tt_read_component, context);
    visit("engine", &tt_collective_component, context);
    visit("engine", &tt_stripe_component, context);
    visit("engine", &tt_counters_component, context);
    for (size_t i = 0; tt_workloads[i]; i++) {
        const struct tt_workload *w = tt_workloads[i];
        struct tt_component c = {w->name, w->summary, w->params, w->opts_size};

        visit("workload", &c, context);
    }
    each_element(tt_backends, "backend", visit, context);
    each_element(tt_layers, "layer", visit, context);
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
    for (const struct tt_param *p = c->params; p && p->key; p++)
        if (tt_same_key(p->key, rest))
            wanted->found = p;
}

const struct tt_param *tt_find_param(const char *key)
{
    struct wanted wanted = {key, NULL};

    tt_each_component(look_in, &wanted);
    return wanted.found;
}
