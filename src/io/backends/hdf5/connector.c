/* SPDX-License-Identifier: GPL-3.0-or-later */
/* VOL connectors, through which all calls on a file go, and the event sets of those that work
 * asynchronously. HDF5 has both in a form that connectors are written for since 1.14.
 *
 * Where a connector comes from is not a setting: it is code, and no run directory may say which
 * code is loaded. HDF5 looks for it where the user's HDF5_PLUGIN_PATH says. */
#include "io/backends/hdf5/parts.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 96 };

/* As hdf5.vol or else the environment has it; NULL: HDF5's own. */
static const char *given_connector(const struct hdf5_opts *o)
{
    const char *from_outside = getenv("HDF5_VOL_CONNECTOR");

    return o->vol ? o->vol : from_outside && *from_outside ? from_outside : NULL;
}

/* The first word; what follows it is for the connector. */
static const char *split(const char *given, char name[NAME_SIZE])
{
    size_t length = strcspn(given, " \t");

    snprintf(name, NAME_SIZE, "%.*s", (int)length, given);
    return given + length + strspn(given + length, " \t");
}

#if TT_HDF5_CONNECTORS

/* Where HDF5 looks for connectors, as "a:b"; cut to its size. */
struct places {
    char text[256];
};

static struct places plugin_path(void)
{
    struct places p = {""};
    unsigned n = 0;
    size_t used = 0;

    H5PLsize(&n);
    for (unsigned i = 0; i < n && used + 2 < sizeof p.text; i++) {
        if (i > 0)
            p.text[used++] = ':';
        if (H5PLget(i, p.text + used, sizeof p.text - used) < 0)
            break;
        used += strlen(p.text + used);
    }
    return p;
}

int tt_hdf5_check_connector(const struct hdf5_opts *o, struct tt_error *e)
{
    (void)o, (void)e;
    return TT_OK;
}

unsigned tt_hdf5_most_submitted(const void *opts)
{
    return given_connector(opts) ? UINT_MAX : 0;
}

/* HDF5 has pass_through built in, but registers it only when its macro is used. */
static hid_t load(const char *name)
{
    if (!strcmp(name, "pass_through") && H5VL_PASSTHRU < 0)
        return -1;
    return H5VLis_connector_registered_by_name(name) > 0
               ? H5VLget_connector_id_by_name(name)
               : H5VLregister_connector_by_name(name, H5P_DEFAULT);
}

int tt_hdf5_set_connector(const struct tt_file *file, hid_t access, struct tt_error *e)
{
    const struct hdf5_opts *o = file->opts;
    char name[NAME_SIZE];
    const char *text = o->vol ? split(o->vol, name) : NULL;
    void *info = NULL;
    hid_t connector;
    herr_t rc;

    if (!o->vol)
        return TT_OK;
    connector = load(name);
    if (connector < 0) {
        H5Eclear2(H5E_DEFAULT);
        return tt_fail(e, TT_FAILED,
                       "hdf5.vol: no connector '%s' can be loaded from '%s'; HDF5_PLUGIN_PATH says "
                       "where it is",
                       name, plugin_path().text);
    }
    rc = *text ? H5VLconnector_str_to_info(text, connector, &info) : 0;
    if (rc >= 0)
        rc = H5Pset_vol(access, connector, info);
    if (info)
        H5VLfree_connector_info(connector, info);
    H5VLclose(connector);
    if (rc >= 0)
        return TT_OK;
    H5Eclear2(H5E_DEFAULT);
    return tt_fail(e, TT_FAILED, "hdf5.vol: connector '%s' does not take '%s'", name, text);
}

int tt_hdf5_query_connector(const struct tt_file *file, struct tt_facts *facts)
{
    const struct hdf5_state *s = file->state;
    const char *given = given_connector(file->opts);
    char name[NAME_SIZE] = "", used[NAME_SIZE] = "";
    int rc;

    if (!given)
        return TT_OK;
    split(given, name);
    H5VLget_connector_name(s->file, used, sizeof used);
    rc = tt_facts_add(facts, "hdf5.vol", given, used,
                      strcmp(name, used) ? TT_NO_EFFECT : TT_IN_EFFECT,
                      "H5VLget_connector_name of the file");
    if (rc == TT_OK && strcmp(used, "native") && strcmp(used, "pass_through"))
        rc = tt_facts_add(facts, "hdf5.vol.path", getenv("HDF5_PLUGIN_PATH"), plugin_path().text,
                          TT_UNCONFIRMED, "HDF5 looks for connectors there");
    if (rc != TT_OK || s->submitted == 0)
        return rc;
    snprintf(name, sizeof name, "%" PRIu64 " of %" PRIu64 " calls went on after they returned",
             s->went_on, s->submitted);
    return tt_facts_add(facts, "hdf5.events", NULL, name, s->went_on ? TT_IN_EFFECT : TT_NO_EFFECT,
                        "H5ESget_count after every call");
}

/* ---- event sets ---- */

herr_t tt_hdf5_call_async(struct hdf5_state *s, const struct tt_piece *p, hid_t type, hid_t memory,
                          hid_t space)
{
    hid_t dataset = s->slots[p->variable].dataset;
    size_t before = 0, after = 0;
    herr_t rc;

    H5ESget_count(s->events, &before);
    rc = p->direction == TT_WRITING
             ? H5Dwrite_async(dataset, type, memory, space, s->transfer, p->data, s->events)
             : H5Dread_async(dataset, type, memory, space, s->transfer, p->data, s->events);
    H5ESget_count(s->events, &after);
    s->submitted++;
    s->went_on += after > before;
    return rc;
}

int tt_hdf5_submit(struct tt_file *file, enum tt_direction direction, uint64_t step,
                   const struct tt_block *b, struct tt_ticket *t, struct tt_error *e)
{
    struct hdf5_state *s = file->state;
    struct hdf5_ticket *ticket = t->state;
    int rc;

    *ticket = (struct hdf5_ticket){H5EScreate(), direction};
    s->events = ticket->events; /* -1: the calls block */
    s->submitting = b;
    rc = direction == TT_WRITING ? tt_hdf5_write(file, step, b, e) : tt_hdf5_read(file, step, b, e);
    s->submitting = NULL;
    if (rc != TT_OK) /* nobody may wait for what was taken before it failed */
        tt_hdf5_wait(file, t, e);
    return rc;
}

/* The first failed call of the event set. */
static int fail_event(const struct tt_file *file, hid_t events, const char *call,
                      struct tt_error *e)
{
    H5ES_err_info_t info;
    size_t n = 0;
    int rc;

    if (H5ESget_err_info(events, 1, &info, &n) < 0 || n == 0)
        return tt_hdf5_fail(file, call, NULL, e);
    rc = tt_hdf5_fail_of(file, info.err_stack_id, info.api_name ? info.api_name : call, NULL, e);
    H5Eclose_stack(info.err_stack_id);
    H5free_memory(info.api_name);
    H5free_memory(info.api_args);
    H5free_memory(info.app_file_name);
    H5free_memory(info.app_func_name);
    return rc;
}

int tt_hdf5_wait(struct tt_file *file, struct tt_ticket *t, struct tt_error *e)
{
    struct hdf5_state *s = file->state;
    struct hdf5_ticket *ticket = t->state;
    hbool_t failed = false;
    size_t running = 0;
    int rc = TT_OK;

    if (ticket->events <= 0)
        return TT_OK;
    if (H5ESwait(ticket->events, H5ES_WAIT_FOREVER, &running, &failed) < 0 || failed)
        rc = fail_event(file, ticket->events, "H5ESwait", e);
    H5ESclose(ticket->events);
    ticket->events = 0;
    s->container.failed |= rc != TT_OK && ticket->direction == TT_WRITING;
    return rc;
}

#else

int tt_hdf5_check_connector(const struct hdf5_opts *o, struct tt_error *e)
{
    if (!o->vol)
        return TT_OK;
    return tt_fail(e, TT_USAGE, "hdf5.vol needs HDF5 1.14 or newer, and this build has %s",
                   H5_VERS_INFO + strlen("HDF5 library version: "));
}

int tt_hdf5_set_connector(const struct tt_file *file, hid_t access, struct tt_error *e)
{
    (void)file, (void)access, (void)e;
    return TT_OK;
}

int tt_hdf5_query_connector(const struct tt_file *file, struct tt_facts *facts)
{
    const char *given = given_connector(file->opts);
    char name[NAME_SIZE];

    if (!given)
        return TT_OK;
    split(given, name);
    return tt_facts_add(facts, "hdf5.vol", given, "native",
                        strcmp(name, "native") ? TT_NO_EFFECT : TT_IN_EFFECT,
                        "HDF5 loads connectors since 1.14");
}

/* Without submit nobody calls it. */
herr_t tt_hdf5_call_async(struct hdf5_state *s, const struct tt_piece *p, hid_t type, hid_t memory,
                          hid_t space)
{
    (void)s, (void)p, (void)type, (void)memory, (void)space;
    return -1;
}

#endif
