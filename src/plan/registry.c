/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/registry.h"

#include <string.h>

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
