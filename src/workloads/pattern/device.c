/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Data in a device's memory, made and checked by its kernels (device.cu). The lists of runs of all
 * pieces are copied there once. */
#include <stdlib.h>
#include <string.h>

#include "engine/device_move.h"
#include "engine/engine.h"
#include "workloads/pattern/pattern.h"

extern const char tt_pattern_source[]; /* device.cu */

/* As device.cu declares it. */
struct content {
    unsigned char *data;
    uint64_t *found;
    struct tt_device_selection file, memory;
    uint64_t n, seed;
    uint32_t size, nfields;
    struct {
        uint32_t kind, count, offset, width;
    } fields[TT_PATTERN_MAX_FIELDS];
};

/* ---- the kernels, by the host ---- */

enum what { FILL, COMPARE, SPOIL };

static void visit_all(const struct content *c, enum what act)
{
    struct tt_field fields[TT_PATTERN_MAX_FIELDS];
    struct tt_element element = {TT_RECORD, c->size, c->nfields, fields};
    unsigned char right[TT_PATTERN_MAX_ELEMENT];

    for (uint32_t i = 0; i < c->nfields; i++)
        fields[i] = (struct tt_field){NULL, (enum tt_kind)c->fields[i].kind, c->fields[i].count,
                                      c->fields[i].offset};
    for (uint64_t i = 0; i < c->n; i++) {
        unsigned char *to = c->data + tt_device_place_of(&c->memory, i) * c->size;

        tt_pattern_put(&element, c->seed, tt_device_place_of(&c->file, i), right);
        if (act == COMPARE && memcmp(to, right, c->size))
            *c->found = 1;
        else if (act == FILL)
            memcpy(to, right, c->size);
        else if (act == SPOIL)
            memset(to, TT_PATTERN_POISON, c->size);
    }
}

static void fill(const void *arguments)
{
    visit_all(arguments, FILL);
}

static void compare(const void *arguments)
{
    visit_all(arguments, COMPARE);
}

static void spoil(const void *arguments)
{
    visit_all(arguments, SPOIL);
}

static void spoil_memory(const void *arguments)
{
    const struct content *c = arguments;

    memset(c->data, TT_PATTERN_POISON, c->n);
}

static void look_at_memory(const void *arguments)
{
    const struct content *c = arguments;

    for (uint64_t i = 0; i < c->n; i++)
        if (c->data[i] != TT_PATTERN_POISON)
            *c->found = 1;
}

#define KERNEL(function) \
    { \
        .name = #function, .source = tt_pattern_source, .arguments_size = sizeof(struct content), \
        .naddresses = 4, \
        .addresses = {offsetof(struct content, data), offsetof(struct content, found), \
                      offsetof(struct content, file.list), offsetof(struct content, memory.list)}, \
        .by_host = function \
    }
static const struct tt_kernel kernels[] = {
    [FILL] = KERNEL(fill), [COMPARE] = KERNEL(compare), [SPOIL] = KERNEL(spoil)};
static const struct tt_kernel spoiling = KERNEL(spoil_memory), looking = KERNEL(look_at_memory);

/* ---- the memory ---- */

static size_t lists_of(const struct tt_pattern_shape *s)
{
    size_t n = 0;

    for (unsigned i = 0; i < s->npieces; i++)
        n +=
            tt_device_list_length(&s->pieces[i].file) + tt_device_list_length(&s->pieces[i].memory);
    return n;
}

/* The list of a selection, if it has one, from *at on. */
static void place_list(const struct tt_selection *s, const struct tt_device_place *there,
                       struct tt_device_place *lists, size_t *at, struct tt_device_selection *out)
{
    size_t n = tt_device_list_length(s);

    *out = tt_device_select(s, there + *at);
    if (n > 0)
        tt_device_list_make(s, lists + *at);
    *at += n;
}

/* What kernels need to know of a shape. */
static int send_shape(struct tt_pattern_device *m, const struct tt_pattern_shape *s,
                      struct tt_pattern_there *t, struct tt_error *e)
{
    struct tt_device *d = m->device;
    size_t n = lists_of(s), at = 0;
    struct tt_device_place *lists = malloc((n + 1) * sizeof *lists);
    void *there = NULL;
    int rc = TT_OK;

    t->selections = calloc(2 * s->npieces + 1, sizeof *t->selections);
    if (!lists || !t->selections)
        rc = tt_fail_nomem(e, "lists of runs");
    if (rc == TT_OK && n > 0)
        rc = d->type->allocate(d, n * sizeof *lists, &there, e);
    t->lists = there;
    for (unsigned i = 0; rc == TT_OK && i < s->npieces; i++) {
        place_list(&s->pieces[i].file, there, lists, &at, &t->selections[2 * i]);
        place_list(&s->pieces[i].memory, there, lists, &at, &t->selections[2 * i + 1]);
    }
    if (rc == TT_OK && n > 0)
        rc = tt_device_copy_now(d, TT_TO_DEVICE, there, lists, n * sizeof *lists, e);
    free(lists);
    return rc;
}

static int ask(struct tt_pattern_device *m, bool *is_right, struct tt_error *e)
{
    uint64_t found = 1;
    int rc = tt_device_copy_now(m->device, TT_FROM_DEVICE, &found, m->found, sizeof found, e);

    *is_right = found == 0;
    return rc;
}

static int look(struct tt_pattern_device *m, const struct tt_kernel *kernel, struct tt_error *e)
{
    const struct content c = {.data = m->data, .found = m->found, .n = m->size};

    return tt_device_launch(m->device, kernel, c.n, &c, e);
}

int tt_pattern_device_make(struct tt_pattern_device *m, struct tt_device *d, size_t size,
                           const struct tt_pattern_shape *written,
                           const struct tt_pattern_shape *read, struct tt_error *e)
{
    const struct tt_kernel *const all[] = {&kernels[FILL], &kernels[COMPARE], &kernels[SPOIL],
                                           &spoiling, &looking};
    void *data = NULL, *found = NULL;
    int rc;

    m->device = d;
    m->size = size;
    rc = tt_device_prepare(d, sizeof all / sizeof *all, all, e);
    if (rc == TT_OK)
        rc = d->type->allocate(d, size, &data, e);
    m->data = data;
    if (rc == TT_OK)
        rc = d->type->allocate(d, sizeof *m->found, &found, e);
    m->found = found;
    if (rc == TT_OK)
        rc = send_shape(m, written, &m->there[TT_WRITING], e);
    return rc == TT_OK ? send_shape(m, read, &m->there[TT_READING], e) : rc;
}

/* The data, lists of runs of what is written and read, and for every dump in flight and a load
 * those in memory and a dense copy, if kernels make it. */
int tt_pattern_device_memory(const struct tt_config *config, const struct tt_element *element,
                             int rank, int size, uint64_t *out, struct tt_error *e)
{
    const struct tt_pattern_options *o = tt_config_opts(config, "pattern");
    bool writes = o->phase != TT_PATTERN_READ, reads = o->phase != TT_PATTERN_WRITE, packs = false;
    uint64_t dense = 0, lists = 0, dumps;
    struct tt_pattern_shape s = {0};
    int rc = tt_pattern_shape_make(&s, o, rank, size, e);

    for (unsigned i = 0; rc == TT_OK && i < s.npieces; i++) {
        const struct tt_block b = {.memory = s.pieces[i].memory};

        dense += s.pieces[i].count * element->size * o->variables;
        lists += tt_device_list_length(&b.memory) * o->variables * sizeof(struct tt_device_place);
        packs = packs || (s.pieces[i].count > 0 && !tt_device_copies_well(NULL, &b, element->size));
    }
    dumps = tt_dumps_at_once(config, dense);
    *out = s.memory_elements * element->size * o->variables +
           2 * lists_of(&s) * sizeof(struct tt_device_place) + (writes * dumps + reads) * lists +
           (writes * tt_device_snapshots(config, dense, packs) + (reads && packs)) * dense;
    tt_pattern_shape_free(&s);
    return rc;
}

void tt_pattern_device_free(struct tt_pattern_device *m)
{
    struct tt_device *d = m->device;

    if (!d)
        return;
    tt_device_settle(d);
    for (int i = 0; i < 2; i++) {
        if (m->there[i].lists)
            d->type->release(d, m->there[i].lists);
        free(m->there[i].selections);
    }
    if (m->data)
        d->type->release(d, m->data);
    if (m->found)
        d->type->release(d, m->found);
}

int tt_pattern_device_spoil(struct tt_pattern_device *m, struct tt_error *e)
{
    int rc = look(m, &spoiling, e);

    return rc == TT_OK ? m->device->type->drain(m->device, TT_STREAM_COMPUTE, e) : rc;
}

int tt_pattern_device_copy(const struct tt_pattern_device *m, void *to, struct tt_error *e)
{
    return tt_device_copy_now(m->device, TT_FROM_DEVICE, to, m->data, m->size, e);
}

/* ---- blocks ---- */

/* Blocks of all variables, each with the pieces of the shape. */
static int visit_blocks(struct tt_pattern_device *m, enum what act, enum tt_direction direction,
                        const struct tt_pattern_blocks *b, struct tt_error *e)
{
    const struct tt_element *x = b->element;
    const struct tt_field whole = {NULL, x->kind, 1, 0};
    const struct tt_field *fields = x->kind == TT_RECORD ? x->fields : &whole;
    struct content c = {.found = m->found,
                        .size = (uint32_t)x->size,
                        .nfields = x->kind == TT_RECORD ? x->nfields : 1};
    int rc = TT_OK;

    for (uint32_t i = 0; i < c.nfields; i++) {
        c.fields[i].kind = (uint32_t)fields[i].kind;
        c.fields[i].count = fields[i].count;
        c.fields[i].offset = (uint32_t)fields[i].offset;
        c.fields[i].width = (uint32_t)tt_kind_size(fields[i].kind);
    }
    for (unsigned i = 0; rc == TT_OK && i < b->n; i++) {
        const struct tt_device_selection *s = m->there[direction].selections + 2 * (i % b->npieces);

        c.data = b->blocks[i].data;
        c.file = s[0];
        c.memory = s[1];
        c.n = tt_selection_count(&b->blocks[i].file);
        c.seed = b->seeds[i];
        rc = tt_device_launch(m->device, &kernels[act], c.n, &c, e);
    }
    return rc;
}

int tt_pattern_device_fill(struct tt_pattern_device *m, const struct tt_pattern_blocks *b,
                           struct tt_error *e)
{
    int rc = visit_blocks(m, FILL, TT_WRITING, b, e);

    return rc == TT_OK ? m->device->type->drain(m->device, TT_STREAM_COMPUTE, e) : rc;
}

int tt_pattern_device_check(struct tt_pattern_device *m, const struct tt_pattern_blocks *b,
                            bool *is_right, bool *is_clean, struct tt_error *e)
{
    struct tt_device *d = m->device;
    int rc = d->type->clear(d, TT_STREAM_COMPUTE, m->found, sizeof *m->found, e);

    *is_right = *is_clean = true;
    if (rc == TT_OK)
        rc = visit_blocks(m, COMPARE, TT_READING, b, e);
    if (rc == TT_OK)
        rc = ask(m, is_right, e);
    if (rc != TT_OK || !*is_right)
        return rc;
    rc = visit_blocks(m, SPOIL, TT_READING, b, e);
    if (rc == TT_OK)
        rc = look(m, &looking, e);
    return rc == TT_OK ? ask(m, is_clean, e) : rc;
}
