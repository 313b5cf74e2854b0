/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Boxes as calls of ADIOS2.
 *
 * Writing: a block of ADIOS2 is a box, so every box of a list is put by a call of its own. That
 * takes about a microsecond, and 40 bytes or more of metadata.
 *
 * Reading: ADIOS2 looks at all blocks of a step for every box it is asked for, which is hopeless
 * for a hundred thousand of each. So boxes of a list that lie near each other are read as one
 * window and picked out of it. What was written again is in several steps, and the later one
 * counts. */
#include "io/backends/adios2/parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/mix.h"

enum { WINDOW_MOST = 64 << 20, WINDOW_LEAST = 1 << 20, WINDOW_WASTE = 32 };

/* Part of a variable on its way. */
struct column {
    struct tt_file *file;
    struct tt_piece *piece;
    const struct tt_variable *variable;
    struct adios2_part part;
    adios2_variable *there;
    unsigned lead; /* dimensions of a box before the variable's own */
    size_t ndims;  /* ADIOS2's */
    char *data;    /* boxes one after the other, with nothing but this part */
};

static int failed(const struct column *c, const char *call, struct tt_error *e)
{
    return tt_adios2_fail(c->file, call, c->variable->path, e);
}

/* Returns the elements of the box. */
static uint64_t box_of(const struct column *c, size_t i, size_t *start, size_t *count)
{
    uint64_t elements = 1;

    for (int d = 0; d < c->variable->ndims; d++) {
        start[d] = (size_t)c->piece->starts[i][c->lead + (unsigned)d];
        count[d] = (size_t)c->piece->counts[i][c->lead + (unsigned)d];
        elements *= count[d];
    }
    start[c->variable->ndims] = 0;
    count[c->variable->ndims] = c->part.width;
    return elements;
}

/* ---- writing ---- */

static int put_boxes(const struct column *c, struct tt_error *e)
{
    struct adios2_state *s = c->file->state;
    bool stays = s->ends && !c->piece->listed && tt_adios2_parts(c->variable->element) == 1;
    const char *data = c->data;

    for (size_t i = 0; i < c->piece->n; i++) {
        size_t start[TT_CONTAINER_DIMS + 1], count[TT_CONTAINER_DIMS + 1];
        uint64_t bytes = box_of(c, i, start, count) * c->part.bytes;

        if (adios2_set_selection(c->there, c->ndims, start, count) != adios2_error_none)
            return failed(c, "adios2_set_selection", e);
        /* Memory that stays until the step has ended need not be copied. */
        if (adios2_put(s->engine, c->there, data,
                       stays ? adios2_mode_deferred : adios2_mode_sync) != adios2_error_none)
            return failed(c, "adios2_put", e);
        data += bytes;
        s->pending += bytes + ADIOS2_BOX;
        s->boxes++;
    }
    return TT_OK;
}

/* ---- reading ---- */

/* What one block has of a box, from its corner. False: nothing. */
static bool clip(const adios2_blockinfo *b, int ndims, const size_t *start, const size_t *count,
                 size_t *first, size_t *length)
{
    if (!b->Start || !b->Count)
        return false;
    for (int d = 0; d < ndims; d++) {
        size_t from = b->Start[d] > start[d] ? b->Start[d] : start[d];
        size_t own_end = b->Start[d] + b->Count[d], end = start[d] + count[d];
        size_t until = own_end < end ? own_end : end;

        if (until <= from)
            return false;
        first[d] = from - start[d];
        length[d] = until - from;
    }
    return true;
}

static uint64_t elements_of(int ndims, const size_t *length)
{
    uint64_t n = 1;

    for (int d = 0; d < ndims; d++)
        n *= length[d];
    return n;
}

/* The corners of a part of a box as random numbers, added and subtracted by turns. The sum over
 * parts is that of the box itself only if each element of it is in one of them. */
static uint64_t corners_of(int ndims, const size_t *first, const size_t *length,
                           const size_t *count)
{
    uint64_t sum = 0;

    for (unsigned corner = 0; corner < 1U << ndims; corner++) {
        uint64_t at = 0;
        bool odd = false;

        for (int d = 0; d < ndims; d++) {
            bool end = corner >> d & 1;

            at = at * (count[d] + 1) + first[d] + (end ? length[d] : 0);
            odd = odd != end;
        }
        sum += odd ? -tt_mix(at) : tt_mix(at);
    }
    return sum;
}

/* map has a byte for each element of the box, which is set. */
static void mark(char *map, int ndims, const size_t *first, const size_t *length,
                 const size_t *count)
{
    uint64_t row = length[ndims - 1], rows = elements_of(ndims - 1, length);

    for (uint64_t i = 0; i < rows; i++) {
        uint64_t rest = i, stride = count[ndims - 1], at = first[ndims - 1];

        for (int d = ndims - 2; d >= 0; d--) {
            at += (first[d] + rest % length[d]) * stride;
            rest /= length[d];
            stride *= count[d];
        }
        memset(map + at, 1, row);
    }
}

/* Whether the blocks of one step have all of a box. Only if they overlap it is looked at element by
 * element. */
static bool covers(const struct column *c, size_t step, const size_t *start, const size_t *count)
{
    const struct adios2_state *s = c->file->state;
    adios2_varinfo *info = adios2_inquire_blockinfo(s->reader.engine, c->there, step);
    static const size_t origin[TT_CONTAINER_DIMS + 1];
    size_t first[TT_CONTAINER_DIMS + 1], length[TT_CONTAINER_DIMS + 1];
    int ndims = c->variable->ndims;
    uint64_t wanted = elements_of(ndims, count), sum = 0, corners = 0;
    char *map = NULL;
    bool all = false;

    for (size_t i = 0; info && i < info->nblocks && !all; i++)
        if (clip(&info->BlocksInfo[i], ndims, start, count, first, length)) {
            uint64_t n = elements_of(ndims, length);

            sum += n;
            corners += corners_of(ndims, first, length, count);
            all = n == wanted;
        }
    if (!all && sum == wanted)
        all = corners == corners_of(ndims, origin, count, count);
    if (!all && sum > wanted)
        map = calloc(1, wanted);
    if (map) { /* else earlier steps are read, too */
        for (size_t i = 0; i < info->nblocks; i++)
            if (clip(&info->BlocksInfo[i], ndims, start, count, first, length))
                mark(map, ndims, first, length, count);
        all = !memchr(map, 0, wanted);
    }
    free(map);
    if (info)
        adios2_free_blockinfo(info);
    return all;
}

/* Whether one of ADIOS2's steps in which the variable occurs belongs to the one that is read. With
 * the policy append every such step has every variable that belongs to steps. */
static bool belongs(const struct column *c, size_t step)
{
    const struct adios2_reader *r = &((const struct adios2_state *)c->file->state)->reader;

    return !tt_container_has_step(c->file->spec, c->variable) ||
           (step < r->nsteps && r->steps[step] == c->piece->step);
}

static int get_from(const struct column *c, size_t step, const size_t *start, const size_t *count,
                    void *data, struct tt_error *e)
{
    const struct adios2_state *s = c->file->state;

    if (adios2_set_step_selection(c->there, step, 1) != adios2_error_none)
        return failed(c, "adios2_set_step_selection", e);
    if (adios2_set_selection(c->there, c->ndims, start, count) != adios2_error_none)
        return failed(c, "adios2_set_selection", e);
    return adios2_get(s->reader.engine, c->there, data, adios2_mode_sync) == adios2_error_none
               ? TT_OK
               : failed(c, "adios2_get", e);
}

/* From the last step that has all of the box, or else from the first, up to the last one. */
static int get_box(const struct column *c, const size_t *start, const size_t *count, void *data,
                   struct tt_error *e)
{
    size_t n = 0, from, candidates = 0;
    int rc = TT_OK;

    if (adios2_variable_steps(&n, c->there) != adios2_error_none)
        return failed(c, "adios2_variable_steps", e);
    for (size_t i = 0; i < n; i++)
        candidates += belongs(c, i);
    if (candidates == 0)
        return tt_fail(e, TT_FAILED, "'%s' has no variable '%s' at step %llu", c->file->spec->path,
                       c->variable->path, (unsigned long long)c->piece->step);
    from = n - 1;
    while (from > 0 && (!belongs(c, from) || (candidates > 1 && !covers(c, from, start, count))))
        candidates -= belongs(c, from--);
    for (size_t i = from; rc == TT_OK && i < n; i++)
        if (belongs(c, i))
            rc = get_from(c, i, start, count, data, e);
    return rc;
}

/* So many boxes from the given one on that are worth a single look, and the rows around them. */
static size_t take_window(const struct column *c, size_t first, size_t *start, size_t *count)
{
    uint64_t row = c->part.bytes, wanted = 0, end = 0;
    size_t n = 0;

    for (int d = 1; d < c->variable->ndims; d++) {
        row *= c->variable->dims[d];
        start[d] = 0;
        count[d] = c->variable->dims[d];
    }
    for (; first + n < c->piece->n; n++) {
        size_t at[TT_CONTAINER_DIMS + 1], size[TT_CONTAINER_DIMS + 1];
        uint64_t bytes, elements = box_of(c, first + n, at, size);

        if (n == 0)
            start[0] = at[0];
        bytes = (at[0] + size[0] - start[0]) * row;
        wanted += elements * c->part.bytes;
        if (n > 0 &&
            (bytes > WINDOW_MOST || (bytes > WINDOW_LEAST && bytes / WINDOW_WASTE > wanted)))
            break;
        end = at[0] + size[0] > end ? at[0] + size[0] : end;
    }
    count[0] = (size_t)end - start[0];
    start[c->variable->ndims] = 0;
    count[c->variable->ndims] = c->part.width;
    return n;
}

/* Boxes of a list lie in one piece in the flattened array, and so in the rows of the window. */
static size_t place_in_window(const struct column *c, size_t i, size_t first_row, size_t *bytes)
{
    size_t start[TT_CONTAINER_DIMS + 1], count[TT_CONTAINER_DIMS + 1];
    uint64_t at;

    *bytes = box_of(c, i, start, count) * c->part.bytes;
    at = start[0] - first_row;
    for (int d = 1; d < c->variable->ndims; d++)
        at = at * c->variable->dims[d] + start[d];
    return at * c->part.bytes;
}

/* Memory for which there is nothing in the file stays as it is, as if the box were read alone. */
static int get_window(const struct column *c, size_t first, size_t n, const size_t *start,
                      const size_t *count, char **data, struct tt_error *e)
{
    uint64_t bytes = c->part.bytes;
    char *window, *at = *data;
    size_t length, place;
    int rc;

    for (int d = 0; d < c->variable->ndims; d++)
        bytes *= count[d];
    window = malloc(bytes);
    if (!window)
        return tt_fail_nomem(e, "a window of what is read");
    for (size_t i = first; i < first + n; i++, at += length) {
        place = place_in_window(c, i, start[0], &length);
        memcpy(window + place, at, length);
    }
    rc = get_box(c, start, count, window, e);
    at = *data;
    for (size_t i = first; i < first + n; i++, at += length) {
        place = place_in_window(c, i, start[0], &length);
        memcpy(at, window + place, length);
    }
    *data = at;
    free(window);
    return rc;
}

static int get_boxes(const struct column *c, struct tt_error *e)
{
    size_t start[TT_CONTAINER_DIMS + 1], count[TT_CONTAINER_DIMS + 1];
    char *data = c->data;
    int rc = TT_OK;

    for (size_t i = 0, n; rc == TT_OK && i < c->piece->n; i += n) {
        n = c->piece->listed ? take_window(c, i, start, count) : 1;
        if (n > 1) {
            rc = get_window(c, i, n, start, count, &data, e);
        } else {
            uint64_t elements = box_of(c, i, start, count);

            rc = get_box(c, start, count, data, e);
            data += elements * c->part.bytes;
        }
    }
    return rc;
}

/* ---- both ---- */

/* Between whole elements and one part of each. */
static void stretch(const struct column *c, size_t n, char *elements, bool gather)
{
    size_t size = c->variable->element->size;
    char *part = c->data;

    elements += c->part.offset;
    for (size_t i = 0; i < n; i++, elements += size, part += c->part.bytes) {
        if (gather)
            memcpy(part, elements, c->part.bytes);
        else
            memcpy(elements, part, c->part.bytes);
    }
}

static int move_part(struct column *c, unsigned i, char *buffer, struct tt_error *e)
{
    struct tt_piece *p = c->piece;
    const struct tt_element *element = c->variable->element;
    struct adios2_slot *slot = &((struct adios2_state *)c->file->state)->slots[p->variable];
    size_t n = p->bytes / element->size, unused[TT_CONTAINER_DIMS + 1];
    bool writing = p->direction == TT_WRITING;
    int rc;

    c->part = tt_adios2_part(element, i);
    c->there = (writing ? slot->written : slot->read)[i];
    c->ndims = tt_adios2_shape(c->variable, &c->part, unused);
    c->data = buffer ? buffer : p->data;
    if (buffer)
        stretch(c, n, p->data, true);
    rc = writing ? put_boxes(c, e) : get_boxes(c, e);
    if (rc == TT_OK && buffer && !writing)
        stretch(c, n, p->data, false);
    return rc;
}

int tt_adios2_move(struct tt_file *file, struct tt_piece *p, struct tt_error *e)
{
    struct adios2_state *s = file->state;
    const struct tt_variable *v = &file->spec->variables[p->variable];
    struct column c = {.file = file, .piece = p, .variable = v};
    unsigned n = tt_adios2_parts(v->element);
    char *buffer = NULL;
    int rc = TT_OK;

    p->call = p->direction == TT_WRITING ? "adios2_put" : "adios2_get";
    if (p->n == 0)
        return TT_OK;
    c.lead = tt_container_has_step(file->spec, v);
    if (p->direction == TT_READING)
        rc = tt_adios2_find(file, p->variable, p->step, e);
    if (v->element->kind == TT_RECORD && !(buffer = malloc(p->bytes)))
        return tt_fail_nomem(e, "a part of records");
    for (unsigned i = 0; rc == TT_OK && i < n; i++)
        rc = move_part(&c, i, buffer, e);
    if (p->direction == TT_WRITING)
        s->slots[p->variable].put = true;
    free(buffer);
    return rc;
}
