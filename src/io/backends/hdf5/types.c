/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Elements and attributes as HDF5's types. */
#include "io/backends/hdf5/parts.h"

#include <stdlib.h>
#include <string.h>

static hid_t plain_type(enum tt_kind kind)
{
    switch (kind) {
    case TT_U8:
        return H5T_NATIVE_UINT8;
    case TT_I32:
        return H5T_NATIVE_INT32;
    case TT_U32:
        return H5T_NATIVE_UINT32;
    case TT_I64:
        return H5T_NATIVE_INT64;
    case TT_U64:
        return H5T_NATIVE_UINT64;
    case TT_F32:
        return H5T_NATIVE_FLOAT;
    case TT_F64:
        return H5T_NATIVE_DOUBLE;
    default:
        return -1;
    }
}

/* All n characters count; there need be no terminator. */
static hid_t text_type(size_t n)
{
    hid_t type = H5Tcopy(H5T_C_S1);

    if (type >= 0 && (H5Tset_size(type, n) < 0 || H5Tset_strpad(type, H5T_STR_NULLPAD) < 0)) {
        H5Tclose(type);
        return -1;
    }
    return type;
}

static hid_t field_type(enum tt_kind kind, uint32_t count)
{
    hsize_t n = count;

    if (kind == TT_CHAR)
        return text_type(count);
    return count > 1 ? H5Tarray_create2(plain_type(kind), 1, &n) : H5Tcopy(plain_type(kind));
}

hid_t tt_hdf5_element_type(const struct tt_element *element)
{
    hid_t record;

    if (element->kind == TT_CHAR)
        return text_type(element->size);
    if (element->kind != TT_RECORD)
        return H5Tcopy(plain_type(element->kind));
    record = H5Tcreate(H5T_COMPOUND, element->size);
    for (unsigned i = 0; record >= 0 && i < element->nfields; i++) {
        const struct tt_field *f = &element->fields[i];
        hid_t type = field_type(f->kind, f->count);
        herr_t rc = type < 0 ? -1 : H5Tinsert(record, f->name, f->offset, type);

        H5Tclose(type);
        if (rc < 0) {
            H5Tclose(record);
            return -1;
        }
    }
    return record;
}

/* Texts of an array have the length of the longest; packed holds them one after the other. */
static hid_t pack_texts(const struct tt_attribute *a, char **packed)
{
    const char *const *texts = a->values;
    size_t longest = 1;

    for (unsigned i = 0; i < a->n; i++)
        longest = strlen(texts[i]) > longest ? strlen(texts[i]) : longest;
    *packed = calloc(a->n, longest);
    for (unsigned i = 0; *packed && i < a->n; i++)
        memcpy(*packed + i * longest, texts[i], strlen(texts[i]));
    return *packed ? text_type(longest) : -1;
}

/* The types in memory and in the file, and the value; *packed is to be freed. */
static const void *attribute_value(const struct tt_attribute *a, hid_t *memory, hid_t *type,
                                   char **packed)
{
    const char *text = a->text ? a->text : "";

    *packed = NULL;
    if (a->kind == TT_CHAR) {
        *type = a->n ? pack_texts(a, packed) : text_type(*text ? strlen(text) : 1);
        *memory = H5Tcopy(*type);
        return a->n ? *packed : text;
    }
    if (a->kind == TT_RECORD) {
        *type = tt_hdf5_element_type(a->record);
        *memory = H5Tcopy(*type);
        return a->values;
    }
    *type = H5Tcopy(plain_type(a->kind));
    *memory = H5Tcopy(a->n                ? plain_type(a->kind)
                      : a->kind == TT_F64 ? H5T_NATIVE_DOUBLE
                                          : H5T_NATIVE_INT64);
    return a->n                ? a->values
           : a->kind == TT_F64 ? (const void *)&a->real
                               : (const void *)&a->integer;
}

herr_t tt_hdf5_add_attribute(hid_t object, const struct tt_attribute *a)
{
    char *packed;
    hid_t memory, type;
    const void *value = attribute_value(a, &memory, &type, &packed);
    hsize_t n = a->n;
    hid_t space = a->n ? H5Screate_simple(1, &n, NULL) : H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(object, a->name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    herr_t rc = attribute < 0 ? -1 : H5Awrite(attribute, memory, value);

    if (attribute >= 0)
        H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
    H5Tclose(memory);
    free(packed);
    return rc;
}
