/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For workloads whose files describe themselves: lists of attributes, one after the other. The
 * caller has room for them. */
#ifndef TT_IO_ATTRIBUTES_H
#define TT_IO_ATTRIBUTES_H

#include "io/model.h"

struct tt_attributes {
    struct tt_attribute *next;
    unsigned *n; /* of the variable or group that has them */
};

static inline struct tt_attribute *tt_attribute_add(struct tt_attributes *l, const char *name,
                                                    enum tt_kind kind)
{
    *l->next = (struct tt_attribute){.name = name, .kind = kind};
    ++*l->n;
    return l->next++;
}

static inline void tt_attribute_text(struct tt_attributes *l, const char *name, const char *text)
{
    tt_attribute_add(l, name, TT_CHAR)->text = text;
}

static inline void tt_attribute_real(struct tt_attributes *l, const char *name, double real)
{
    tt_attribute_add(l, name, TT_F64)->real = real;
}

static inline void tt_attribute_integer(struct tt_attributes *l, const char *name,
                                        enum tt_kind kind, uint64_t integer)
{
    tt_attribute_add(l, name, kind)->integer = (int64_t)integer;
}

/* The values outlive the list. */
static inline void tt_attribute_array(struct tt_attributes *l, const char *name, enum tt_kind kind,
                                      int n, const void *values)
{
    struct tt_attribute *a = tt_attribute_add(l, name, kind);

    a->n = (unsigned)n;
    a->values = values;
}

#endif
