/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "devices/device.h"
#include "plan/config.h"
#include "plan/module.h"
#include "plan/registry.h"

static bool is_named(const char *name, const char *key, size_t length)
{
    return strlen(name) == length && !strncmp(name, key, length);
}

/* Of a device's keys, where data is in the host's memory. */
static int fail_without_device(const char *key, const struct tt_param *params, struct tt_error *e)
{
    int component = (int)strcspn(key, ".");
    const char *own = key + component + (key[component] == '.'), *near;
    char full[96];

    if (tt_param_find(params, own))
        return tt_fail(e, TT_USAGE,
                       "'%.80s' is for data in a device's memory: add --device, such as "
                       "--device cuda",
                       key);
    near = tt_nearest_key(own, params);
    snprintf(full, sizeof full, "%.*s.%s", component, key, near ? near : "");
    return tt_fail(e, TT_USAGE, "unknown key '%.80s'%s", key, TT_DID_YOU_MEAN(near ? full : NULL));
}

/* The component a key belongs to exists, but this job does not use it. */
static int fail_unused(const struct tt_config *c, const char *key, size_t length,
                       struct tt_error *e)
{
    tt_module_open_all();
    for (size_t i = 0; tt_backends[i]; i++)
        if (is_named(tt_backends[i]->name, key, length))
            return tt_fail(e, TT_USAGE, "'%.80s' belongs to backend '%s', but the backend is '%s'",
                           key, tt_backends[i]->name, c->run->backend);
    for (size_t i = 0; tt_layers[i]; i++)
        if (is_named(tt_layers[i]->name, key, length))
            return tt_fail(e, TT_USAGE, "'%.80s' belongs to layer '%s', which is not in layers",
                           key, tt_layers[i]->name);
    for (size_t i = 0; tt_devices[i]; i++)
        if (is_named("device", key, length))
            return fail_without_device(key, tt_device_component.params, e);
        else if (is_named(tt_devices[i]->name, key, length))
            return fail_without_device(key, tt_devices[i]->params, e);
    for (size_t i = 0; tt_workloads[i]; i++)
        if (is_named(tt_workloads[i]->name, key, length))
            return tt_fail(e, TT_USAGE, "'%.80s' belongs to workload '%s', but this is '%s'", key,
                           tt_workloads[i]->name, c->workload->name);
    for (size_t i = 0; tt_used_components[i]; i++)
        if (is_named(tt_used_components[i]->name, key, length))
            return tt_fail(e, TT_USAGE, "'%.80s' belongs to '%s', which workload '%s' does not use",
                           key, tt_used_components[i]->name, c->workload->name);
    for (const struct tt_missing *m = tt_missing_components; m->name; m++)
        if (is_named(m->name, key, length))
            return tt_fail(e, TT_USAGE,
                           "'%.80s' belongs to '%s', which is not in this build; package %s brings "
                           "its library",
                           key, m->name, m->package);
    return TT_OK;
}

/* How long to compute is said to many workloads by the same key. */
static int fail_without_computation(const struct tt_config *c, const char *key, struct tt_error *e)
{
    for (size_t i = 0; tt_workloads[i]; i++) {
        const struct tt_param *p = tt_param_find(tt_workloads[i]->params, key);

        if (p && p->type == TT_PARAM_PASSES)
            return tt_fail(e, TT_USAGE,
                           "'%.80s' says how much is computed, but workload '%s' does not compute; "
                           "%s does",
                           key, c->workload->name, tt_workloads[i]->name);
    }
    return TT_OK;
}

/* Every key of the configuration as the user may write it: bare for run and workload, full for all;
 * and flags, and the names of components, which take key=value. */
static char **all_keys(const struct tt_config *c, const char *key)
{
    size_t n = 0, used = 0;
    char **keys;

    for (size_t i = 0; i < c->nparts; i++)
        for (const struct tt_param *p = c->parts[i].component->params; p && p->key; p++)
            n += 3;
    keys = calloc(n + c->nparts + 1, sizeof *keys);
    for (size_t i = 0; keys && i < c->nparts; i++) {
        const struct tt_component *component = c->parts[i].component;

        if (component->name[0] && (keys[used] = strdup(component->name)))
            used++;
        for (const struct tt_param *p = component->params; p && p->key; p++) {
            if (p->flag && !strncmp(p->flag, key, strlen(p->flag)) && /* -np for -n */
                (keys[used] = strdup(p->flag)))
                used++;
            if (i < 2 && (keys[used] = strdup(p->key)))
                used++;
            if (i > 0 && asprintf(&keys[used], "%s.%s", component->name, p->key) >= 0)
                used++;
            else
                keys[used] = NULL;
        }
    }
    return keys;
}

/* "component.key" for a key given without its component; NULL if none has it. */
static const char *qualified(const char *key, char *const *keys)
{
    for (; *keys; keys++) {
        const char *dot = strchr(*keys, '.');

        if (dot && tt_same_key(dot + 1, key))
            return *keys;
    }
    return NULL;
}

int tt_fail_unknown_key(const struct tt_config *c, const char *key, struct tt_error *e)
{
    char **keys = all_keys(c, key);
    const char *near = keys ? qualified(key, keys) : NULL;
    bool used = false;

    for (size_t i = 1; i < c->nparts; i++)
        used |= is_named(c->parts[i].component->name, key, strcspn(key, "."));
    if (near || used ||
        (fail_unused(c, key, strcspn(key, "."), e) == TT_OK &&
         fail_without_computation(c, key, e) == TT_OK)) {
        if (keys && !near)
            near = tt_nearest_word(key, (const char *const *)keys);
        tt_fail(e, TT_USAGE, "unknown key '%.80s'%s", key, TT_DID_YOU_MEAN(near));
    }
    for (char **k = keys; k && *k; k++)
        free(*k);
    free(keys);
    return TT_USAGE;
}
