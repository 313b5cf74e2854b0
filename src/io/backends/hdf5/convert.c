/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One field of records in memory for a plain dataset, by HDF5's own conversion of compounds.
 *
 * HDF5 does not take a record for a number, and a selection of every eighth number in memory costs
 * it one tiny write each where ranks write alone: 4 MB/s, against 50 MB/s together and 500 MB/s by
 * conversion (1.10.8, two ranks, to memory). So the field alone is a record, too, of the same bytes
 * as the number. */
#include "io/backends/hdf5/parts.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE_BYTES = 1 << 20 }; /* as H5Dwrite converts by itself */

/* From records to the packed field, or back into records that are there. */
struct conversion {
    enum tt_direction direction;
    size_t record, field; /* bytes */
    hid_t record_type, field_type;
    char *piece, *background;
    size_t piece_records;
};

/* HDF5 wants the background in both directions: it assembles records there. */
static herr_t convert_piece(const struct conversion *c, char *records, char *packed, size_t n)
{
    if (c->direction == TT_WRITING) {
        memcpy(c->piece, records, n * c->record);
        if (H5Tconvert(c->record_type, c->field_type, n, c->piece, c->background, H5P_DEFAULT) < 0)
            return -1;
        memcpy(packed, c->piece, n * c->field);
        return 0;
    }
    memcpy(c->piece, packed, n * c->field);
    memcpy(c->background, records, n * c->record);
    if (H5Tconvert(c->field_type, c->record_type, n, c->piece, c->background, H5P_DEFAULT) < 0)
        return -1;
    memcpy(records, c->piece, n * c->record);
    return 0;
}

static herr_t convert_all(const struct conversion *c, const struct tt_block *b, char *packed)
{
    uint64_t n = tt_selection_count(&b->memory);
    struct tt_block whole = *b;
    struct tt_extent_iter it;
    struct tt_extent x;

    tt_select_all(&whole.file, 1, &n);
    tt_extents_begin(&it, &whole, c->record);
    while (tt_extents_next(&it, &x))
        for (uint64_t done = 0, take; done < x.length; done += take * c->record) {
            take = (x.length - done) / c->record;
            if (take > c->piece_records)
                take = c->piece_records;
            if (convert_piece(c, (char *)b->data + x.memory_offset + done,
                              packed + (x.file_offset + done) / c->record * c->field, take) < 0)
                return -1;
        }
    return 0;
}

int tt_hdf5_convert_field(struct tt_file *file, enum tt_direction direction,
                          const struct tt_block *b, void *packed, struct tt_error *e)
{
    const struct tt_variable *v = &file->spec->variables[b->variable];
    const struct tt_element *record = b->memory_element;
    const struct tt_field *found = tt_find_field(record, v->path);
    struct tt_field alone;
    struct tt_element field = {TT_RECORD, v->element->size, 1, &alone};
    struct conversion c = {.direction = direction, .record = record->size, .field = field.size};
    int rc = TT_OK;

    if (!found || found->kind != v->element->kind || found->count != 1)
        return tt_fail(e, TT_UNSUPPORTED, "variable '%s' is not a field of the records in memory",
                       v->path);
    alone = *found;
    alone.offset = 0;
    c.piece_records = PIECE_BYTES / c.record + 1;
    c.piece = malloc(2 * c.piece_records * c.record);
    if (!c.piece)
        return tt_fail_nomem(e, "a buffer for conversion");
    c.background = c.piece + c.piece_records * c.record;
    c.record_type = tt_hdf5_element_type(record);
    c.field_type = tt_hdf5_element_type(&field);
    if (c.record_type < 0 || c.field_type < 0 || convert_all(&c, b, packed) < 0)
        rc = tt_hdf5_fail(file, "H5Tconvert", v->path, e);
    if (c.record_type >= 0)
        H5Tclose(c.record_type);
    if (c.field_type >= 0)
        H5Tclose(c.field_type);
    free(c.piece);
    return rc;
}
