/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "spec/units.h"
#include "workloads/pattern/pattern.h"

static const char *const kinds = "u8, i32, u32, i64, u64, f32, f64 or char";

static int take_kind(const char *text, enum tt_kind *kind, struct tt_error *e)
{
    if (tt_kind_from_name(text, kind) && *kind != TT_RECORD)
        return TT_OK;
    return tt_fail(e, TT_USAGE, "pattern.element: '%s' is not a type; use %s", text, kinds);
}

/* "tag:char*8" */
static int take_field(char *text, struct tt_field *f, struct tt_error *e)
{
    char *kind = strchr(text, ':'), *star;
    uint64_t count = 1;
    int rc;

    if (!kind || kind == text)
        return tt_fail(e, TT_USAGE, "pattern.element: '%s' is not name:type", text);
    *kind++ = '\0';
    star = strchr(kind, '*');
    if (star) {
        *star++ = '\0';
        rc = tt_parse_count(star, &count, e);
        if (rc != TT_OK)
            return rc;
        if (count < 1 || count > TT_PATTERN_MAX_ELEMENT)
            return tt_fail(e, TT_USAGE, "pattern.element: a field has 1 to %d values",
                           TT_PATTERN_MAX_ELEMENT);
    }
    f->name = text;
    f->count = (uint32_t)count;
    return take_kind(kind, &f->kind, e);
}

int tt_pattern_element(const char *text, struct tt_element *element, struct tt_field *fields,
                       char **names, struct tt_error *e)
{
    char *rest, *word;
    int rc = TT_OK;

    memset(element, 0, sizeof *element);
    *names = NULL;
    if (!strchr(text, ':')) {
        rc = take_kind(text, &element->kind, e);
        element->size = rc == TT_OK ? tt_kind_size(element->kind) : 0;
        return rc;
    }
    *names = rest = strdup(text);
    if (!rest)
        return tt_fail_nomem(e, "the fields");
    element->kind = TT_RECORD;
    element->fields = fields;
    while (rc == TT_OK && (word = strsep(&rest, ",")) != NULL) {
        struct tt_field *f = &fields[element->nfields];

        if (element->nfields == TT_PATTERN_MAX_FIELDS)
            return tt_fail(e, TT_USAGE, "pattern.element: at most %d fields",
                           TT_PATTERN_MAX_FIELDS);
        rc = take_field(word, f, e);
        if (rc == TT_OK && tt_find_field(element, f->name))
            rc = tt_fail(e, TT_USAGE, "pattern.element: two fields are called '%s'", f->name);
        if (rc != TT_OK)
            break;
        f->offset = element->size;
        element->size += f->count * tt_kind_size(f->kind);
        element->nfields++;
        if (element->size > TT_PATTERN_MAX_ELEMENT)
            rc = tt_fail(e, TT_USAGE, "pattern.element: a record has at most %d bytes",
                         TT_PATTERN_MAX_ELEMENT);
    }
    return rc;
}
