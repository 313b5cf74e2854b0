/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings resolved in two passes: the run's own keys say which components there are, then the
 * components take theirs. */
#include "plan/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "devices/device.h"
#include "plan/module.h"
#include "plan/registry.h"

enum { RUN = 0, WORKLOAD = 1 }; /* indices of parts */

/* ---- parts ---- */

static int add_part(struct tt_config *c, const struct tt_component *component, struct tt_error *e)
{
    struct tt_config_part *part = &c->parts[c->nparts];

    if (c->nparts == sizeof c->parts / sizeof *c->parts)
        return tt_fail(e, TT_USAGE, "too many components in one job");
    part->opts = calloc(1, component->opts_size ? component->opts_size : 1);
    if (!part->opts)
        return tt_fail_nomem(e, "options");
    part->component = component;
    c->nparts++;
    return tt_params_default(component->params, part->opts, e);
}

/* A workload, backend or layer seen as the owner of its keys. */
static int add_adapted(struct tt_config *c, const char *name, const char *summary,
                       const struct tt_param *params, size_t opts_size, struct tt_error *e)
{
    struct tt_component *a = &c->adapted[c->nparts];

    if (c->nparts == sizeof c->adapted / sizeof *c->adapted)
        return tt_fail(e, TT_USAGE, "too many components in one job");
    *a = (struct tt_component){name, summary, params, opts_size};
    return add_part(c, a, e);
}

static int add_used(struct tt_config *c, const char *name, struct tt_error *e)
{
    for (size_t i = 0; tt_used_components[i]; i++)
        if (!strcmp(tt_used_components[i]->name, name))
            return add_part(c, tt_used_components[i], e);
    return tt_fail(e, TT_FAILED, "workload '%s' uses '%s', which does not exist", c->workload->name,
                   name);
}

static int add_element(struct tt_config *c, const struct tt_backend *b, struct tt_error *e)
{
    int rc;

    if (c->stack.n == TT_MAX_STACK)
        return tt_fail(e, TT_USAGE, "too many layers: at most %d", TT_MAX_STACK - 1);
    rc = add_adapted(c, b->name, b->summary, b->params, b->opts_size, e);
    if (rc)
        return rc;
    c->stack.elements[c->stack.n] = b;
    c->stack.opts[c->stack.n++] = c->parts[c->nparts - 1].opts;
    return TT_OK;
}

static int add_layer(struct tt_config *c, const char *name, bool closed, struct tt_error *e)
{
    const struct tt_backend *layer =
        closed ? tt_find_open(tt_layers, name) : tt_find_layer(name, e);

    if (!layer)
        return closed ? TT_OK : TT_USAGE;
    for (unsigned i = 0; i < c->stack.n; i++)
        if (c->stack.elements[i] == layer)
            return tt_fail(e, TT_USAGE, "layer '%s' is listed twice", name);
    return add_element(c, layer, e);
}

/* ---- places ---- */

/* Pass an error on with the place of the setting that caused it. */
static int fail_at(const struct tt_setting *s, int rc, const char *text, struct tt_error *e)
{
    if (!s || rc != TT_USAGE)
        return tt_fail(e, rc, "%s", text);
    return tt_fail(e, rc, "%.300s: %s", s->place, text);
}

/* ---- keys ---- */

static const struct tt_param *find_in(const struct tt_component *component, const char *key)
{
    for (const struct tt_param *p = component->params; p && p->key; p++)
        if (tt_same_key(p->key, key) || (p->flag && !strcmp(p->flag, key)))
            return p;
    return NULL;
}

static const struct tt_param *find_param(struct tt_config *c, const char *key,
                                         struct tt_config_part **part)
{
    const char *dot = strchr(key, '.');

    for (size_t i = 0; i < c->nparts; i++) {
        const char *name = c->parts[i].component->name;
        bool bare = !dot && i <= WORKLOAD;
        bool full = dot && strlen(name) == (size_t)(dot - key) && !strncmp(name, key, strlen(name));
        const struct tt_param *p = NULL;

        if (bare || (full && i > RUN))
            p = find_in(c->parts[i].component, full ? dot + 1 : key);
        if (p) {
            *part = &c->parts[i];
            return p;
        }
    }
    return NULL;
}

int tt_setting_apply(const struct tt_setting *s, const struct tt_param *p, void *opts,
                     struct tt_error *e)
{
    struct tt_error inner = TT_ERROR_CLEAR;
    const char *value = s->value, *text = inner.text;
    int rc;

    if (!value && p->type != TT_PARAM_BOOL)
        return fail_at(s, TT_USAGE, "needs a value", e);
    rc = tt_param_set(p, opts, value ? value : "yes", &inner);
    if (rc == TT_USAGE && !strncmp(s->place, "--", 2) && tt_same_key(s->place + 2, s->key))
        text += strlen(p->key) + 2; /* the place is the key already */
    return rc ? fail_at(s, rc, text, e) : TT_OK;
}

static int apply(struct tt_config *c, const struct tt_setting *s, bool closed, struct tt_error *e);

/* "--write every=20,series=append": write.every and write.series. */
static int apply_list(struct tt_config *c, const struct tt_setting *s, struct tt_error *e)
{
    char *copy = strdup(s->value ? s->value : ""), *rest = copy, *pair;
    int rc = copy ? TT_OK : tt_fail_nomem(e, "settings");

    while (rc == TT_OK && (pair = strsep(&rest, ","))) {
        char *equals = strchr(pair, '='), *key;
        struct tt_setting one = {.place = s->place};

        if (!equals || equals == pair) {
            rc = tt_fail(e, TT_USAGE,
                         "%.300s: '%.80s' is not key=value; tutti help %.40s lists the keys",
                         s->place, pair, s->key);
            break;
        }
        *equals = '\0';
        if (asprintf(&key, "%s.%s", s->key, pair) < 0) {
            rc = tt_fail_nomem(e, "settings");
            break;
        }
        one.key = key;
        one.value = equals + 1;
        rc = apply(c, &one, false, e);
        free(key);
    }
    free(copy);
    return rc;
}

static int apply(struct tt_config *c, const struct tt_setting *s, bool closed, struct tt_error *e)
{
    struct tt_error inner = TT_ERROR_CLEAR;
    struct tt_config_part *part;
    const struct tt_param *p = find_param(c, s->key, &part);

    if (p)
        return part == &c->parts[RUN] ? TT_OK : tt_setting_apply(s, p, part->opts, e);
    for (size_t i = WORKLOAD; i < c->nparts; i++)
        if (!strcmp(c->parts[i].component->name, s->key))
            return apply_list(c, s, e);
    if (closed)
        return TT_OK;
    return fail_at(s, tt_fail_unknown_key(c, s->key, &inner), inner.text, e);
}

/* ---- passes ---- */

static int resolve_mode(struct tt_config *c, const struct tt_settings *settings, struct tt_error *e)
{
    const struct tt_setting *mode = tt_settings_find(settings, "mode");
    const struct tt_setting *overlap = tt_settings_find(settings, "overlap");
    const struct tt_setting *sync = tt_settings_find(settings, "sync");
    struct tt_error inner = TT_ERROR_CLEAR;
    int rc;

    if (c->run->mode) {
        if (overlap || sync)
            return fail_at(mode, TT_USAGE, "mode sets overlap and sync: give either it or them", e);
        rc = tt_mode_apply(c->run, &inner);
        if (rc)
            return fail_at(mode, rc, inner.text, e);
    }
    if (c->run->overlap == TT_OVERLAP_AUTO && !sync)
        c->run->sync = TT_SYNC_BACKGROUND;
    rc = tt_mode_check(c->run, &inner);
    return rc ? fail_at(sync ? sync : overlap, rc, inner.text, e) : TT_OK;
}

static int resolve_run(struct tt_config *c, const struct tt_settings *settings, struct tt_error *e)
{
    int rc = add_part(c, &tt_run_component, e);

    if (rc)
        return rc;
    c->run = c->parts[RUN].opts;
    for (size_t i = 0; i < settings->n; i++) {
        const struct tt_param *p = find_in(&tt_run_component, settings->list[i].key);

        if (p)
            rc = tt_setting_apply(&settings->list[i], p, c->run, e);
        if (rc)
            return rc;
    }
    if (!c->run->backend || !c->run->dir || !c->run->results)
        return tt_fail(e, TT_USAGE, "backend, dir and results may not be empty");
    if (c->run->patience <= 0 && !settings->closed)
        return fail_at(tt_settings_find(settings, "patience"), TT_USAGE,
                       "no patience would end every run at once; give a time above 0", e);
    return resolve_mode(c, settings, e);
}

static int fail_host_only(const struct tt_config *c, const struct tt_setting *at,
                          struct tt_error *e)
{
    char text[300];
    size_t used = (size_t)snprintf(text, sizeof text,
                                   "workload %.60s keeps its data in the host's memory; leave "
                                   "device out, or choose another of:",
                                   c->workload->name);

    for (size_t i = 0; tt_workloads[i] && used < sizeof text; i++)
        if (tt_workloads[i]->on_device)
            used += (size_t)snprintf(text + used, sizeof text - used, " %s", tt_workloads[i]->name);
    return fail_at(at, TT_USAGE, text, e);
}

static int add_device(struct tt_config *c, const struct tt_settings *settings, struct tt_error *e)
{
    struct tt_error inner = TT_ERROR_CLEAR;
    const struct tt_device_type *d;
    int rc;

    if (!c->run->device)
        return fail_at(tt_settings_find(settings, "device"), TT_USAGE,
                       "the device is empty: name one, such as cuda, or leave --device out", e);
    if (!strcmp(c->run->device, "host"))
        return TT_OK;
    d = settings->closed ? tt_find_open(tt_devices, c->run->device)
                         : tt_find_device(c->run->device, &inner);
    if (!d)
        return settings->closed
                   ? TT_OK
                   : fail_at(tt_settings_find(settings, "device"), TT_USAGE, inner.text, e);
    if (!c->workload->on_device)
        return fail_host_only(c, tt_settings_find(settings, "device"), e);
    rc = add_part(c, &tt_device_component, e);
    if (rc == TT_OK)
        rc = add_adapted(c, d->name, d->summary, d->params, d->opts_size, e);
    c->device = d;
    c->device_opts = c->parts[c->nparts - 1].opts;
    return rc;
}

static int add_components(struct tt_config *c, const struct tt_settings *settings,
                          struct tt_error *e)
{
    const struct tt_workload *w = c->workload;
    struct tt_error inner = TT_ERROR_CLEAR;
    const struct tt_backend *backend;
    int rc = add_adapted(c, w->name, w->summary, w->params, w->opts_size, e);

    if (rc == TT_OK)
        rc = add_part(c, &tt_launch_component, e);
    for (size_t i = 0; rc == TT_OK && w->uses && w->uses[i]; i++)
        rc = add_used(c, w->uses[i], e);
    if (rc == TT_OK)
        rc = add_part(c, &tt_counters_component, e);
    if (rc == TT_OK)
        rc = add_device(c, settings, e);
    if (rc)
        return rc;
    for (size_t i = 0; i < c->run->layers.n; i++) {
        rc = add_layer(c, c->run->layers.words[i], settings->closed, &inner);
        if (rc)
            return fail_at(tt_settings_find(settings, "layers"), rc, inner.text, e);
    }
    backend = settings->closed ? tt_find_open(tt_backends, c->run->backend)
                               : tt_find_backend(c->run->backend, &inner);
    if (!backend && settings->closed)
        return TT_OK;
    if (!backend)
        return fail_at(tt_settings_find(settings, "backend"), TT_USAGE, inner.text, e);
    c->stack.seed = c->run->seed;
    return add_element(c, backend, e);
}

static int check(const struct tt_config *c, struct tt_error *e)
{
    int rc = tt_stack_check(&c->stack, e);

    for (size_t i = 0; rc == TT_OK && i < c->nparts; i++)
        if (c->parts[i].component->check)
            rc = c->parts[i].component->check(c->parts[i].opts, e);
    for (unsigned i = 0; rc == TT_OK && i < c->stack.n; i++)
        if (c->stack.elements[i]->check)
            rc = c->stack.elements[i]->check(c->stack.opts[i], e);
    if (rc == TT_OK && c->workload->check)
        rc = c->workload->check(c, e);
    return rc;
}

/* Whoever asks for it must get it. A plan says what it is, whether somebody has asked or not. */
static int find_workload(struct tt_config *c, const char *name, bool closed, struct tt_error *e)
{
    c->workload = closed ? tt_find_open(tt_workloads, name) : tt_find_workload(name, e);
    if (!c->workload && closed)
        tt_fail(e, TT_USAGE, "workload '%.80s' is not in this build", name);
    return c->workload ? TT_OK : TT_USAGE;
}

/* What has to do with epochs of computation and dump. */
static int check_epochs(const struct tt_config *c, const struct tt_setting *s, struct tt_error *e)
{
    if (c->run->overlap == TT_OVERLAP_AUTO && !c->workload->has_epochs)
        return tt_fail(e, TT_USAGE,
                       "overlap=auto has nothing to decide for %s, which has no epochs of "
                       "computation and dump: use none or async",
                       c->workload->name);
    if (c->run->baseline == 1)
        return tt_fail(e, TT_USAGE,
                       "baseline 1 makes every epoch a baseline, and leaves nothing to measure: "
                       "give 2 or more, or 0 for none");
    if (c->workload->has_epochs || !s || !strcmp(s->place, "plan.json") || c->run->baseline == 0)
        return TT_OK;
    return tt_fail(e, TT_USAGE,
                   "%.300s%s has no effect on %s, which has no epochs of computation and dump: "
                   "leave it out",
                   s->place, strncmp(s->place, "--", 2) ? ": baseline" : "", c->workload->name);
}

int tt_config_make(struct tt_config *c, const char *workload, const struct tt_settings *settings,
                   struct tt_error *e)
{
    int rc;

    memset(c, 0, sizeof *c);
    rc = resolve_run(c, settings, e);
    if (rc == TT_OK && c->run->module)
        rc = tt_module_open_listed(c->run->module, e);
    if (rc == TT_OK)
        rc = find_workload(c, workload, settings->closed, e);
    if (rc == TT_OK)
        rc = add_components(c, settings, e);
    for (size_t i = 0; rc == TT_OK && i < settings->n; i++)
        rc = apply(c, &settings->list[i], settings->closed, e);
    if (rc != TT_OK || settings->closed)
        return rc;
    rc = check(c, e);
    return rc == TT_OK ? check_epochs(c, tt_settings_find(settings, "baseline"), e) : rc;
}

void tt_config_free(struct tt_config *c)
{
    for (size_t i = 0; i < c->nparts; i++) {
        tt_params_free(c->parts[i].component->params, c->parts[i].opts);
        free(c->parts[i].opts);
    }
    memset(c, 0, sizeof *c);
}

const void *tt_config_opts(const struct tt_config *c, const char *component)
{
    for (size_t i = 0; i < c->nparts; i++)
        if (!strcmp(c->parts[i].component->name, component))
            return c->parts[i].opts;
    return NULL;
}

/* ---- where files are ---- */

char *tt_config_path(const struct tt_config *c, const char *given)
{
    char *path;

    /* Open MPI cannot open a path of one letter. */
    if (given[0] == '/' || (!strcmp(c->run->dir, ".") && strlen(given) != 1))
        return strdup(given);
    return asprintf(&path, "%s/%s", c->run->dir, given) < 0 ? NULL : path;
}

/* The first file, if there are several; NULL: new ones in --dir. */
static const char *given_path(const struct tt_config *c)
{
    for (size_t i = WORKLOAD; i < c->nparts; i++) {
        const struct tt_component *component = c->parts[i].component;
        const char *opts = c->parts[i].opts;

        if (i > WORKLOAD && strcmp(component->name, "write") != 0)
            continue;
        for (const struct tt_param *p = component->params; p && p->key; p++) {
            const void *value = opts + p->offset;

            if (!strcmp(p->key, "path") && p->type == TT_PARAM_TEXT && *(char *const *)value)
                return *(char *const *)value;
            if (!strcmp(p->key, "paths") && p->type == TT_PARAM_WORDS &&
                ((const struct tt_words *)value)->n > 0)
                return ((const struct tt_words *)value)->words[0];
        }
    }
    return NULL;
}

char *tt_config_data_directory(const struct tt_config *c)
{
    const char *given = given_path(c);
    char *path = given ? tt_config_path(c, given) : NULL, *slash, *out;
    struct stat st;

    if (!given)
        return strdup(c->run->dir);
    if (!path || (stat(path, &st) == 0 && S_ISDIR(st.st_mode)))
        return path;
    slash = strrchr(path, '/');
    out = !slash ? strdup(".") : strndup(path, slash == path ? 1 : (size_t)(slash - path));
    free(path);
    return out;
}

/* ---- as JSON ---- */

struct tt_passes *tt_config_passes(const struct tt_config *c, const struct tt_param **p)
{
    for (*p = c->workload->params; *p && (*p)->key; (*p)++)
        if ((*p)->type == TT_PARAM_PASSES)
            return (void *)((char *)c->parts[WORKLOAD].opts + (*p)->offset);
    return NULL;
}

struct tt_passes *tt_config_uncalibrated(const struct tt_config *c)
{
    const struct tt_param *p;
    struct tt_passes *passes = tt_config_passes(c, &p);

    return passes && passes->seconds > 0 && passes->count == 0 ? passes : NULL;
}

static int emit(json_t *object, const struct tt_component *component, const struct tt_param *p,
                const void *opts)
{
    char *value = tt_param_get(p, opts), *key = NULL;
    int rc = -1;

    if (asprintf(&key, "%s%s%s", component->name, *component->name ? "." : "", p->key) < 0)
        key = NULL;
    if (key && value && !*value && p->type == TT_PARAM_COUNTS)
        rc = 0; /* an empty list can only be a default; no text means it */
    else if (key && value)
        rc = json_object_set_new(object, key, tt_json_bytes(value));
    free(key);
    free(value);
    return rc;
}

json_t *tt_config_to_json(const struct tt_config *c)
{
    json_t *object = json_object();

    for (size_t i = 0; object && i < c->nparts; i++) {
        const struct tt_component *component = c->parts[i].component;

        for (const struct tt_param *p = component->params; object && p && p->key; p++) {
            if (i == RUN && !strcmp(p->key, "mode")) /* overlap and sync say it */
                continue;
            if (emit(object, component, p, c->parts[i].opts)) {
                json_decref(object);
                object = NULL;
            }
        }
    }
    return object;
}

json_t *tt_config_describe_modules(const struct tt_config *c)
{
    json_t *all = json_object();

    for (size_t i = WORKLOAD; all && i < c->nparts; i++) {
        const struct tt_component *component = c->parts[i].component;

        for (const struct tt_param *p = component->params; p && p->key; p++) {
            char *key;

            if (!tt_module_has(p) || asprintf(&key, "%s.%s", component->name, p->key) < 0)
                continue;
            json_object_set_new(all, key,
                                json_pack("{s:s, s:s, s:s}", "value", tt_param_values[p->type],
                                          "unit", p->unit ? p->unit : "", "default",
                                          p->default_text ? p->default_text : ""));
            free(key);
        }
    }
    return all;
}

int tt_settings_from_json(struct tt_settings *s, const json_t *parameters, const char *place,
                          struct tt_error *e)
{
    const char *key;
    json_t *value;

    if (!json_is_object(parameters))
        return tt_fail(e, TT_CORRUPT, "%.200s: parameters are not an object", place);
    json_object_foreach((json_t *)parameters, key, value)
    {
        char *text;
        int rc;

        /* No directory says which programs are started, or modules opened. */
        if (!strncmp(key, "launch.", 7) || !strcmp(key, "module"))
            continue;
        if (!json_is_string(value))
            return tt_fail(e, TT_CORRUPT, "%.200s: parameter '%.80s' is not text", place, key);
        text = tt_bytes_of_json(value);
        rc = text ? tt_settings_add(s, key, text, place, e) : tt_fail_nomem(e, "settings");
        free(text);
        if (rc)
            return rc;
    }
    return TT_OK;
}
