/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/page.h"

#include <string.h>

#include "base/json.h"
#include "report/render.h"

bool tt_has_page(void)
{
    return tt_page_template_size > 0;
}

static void put_escaped(FILE *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            fputc(*text, out);
        }
    }
}

/* Writes what stands before the mark; returns what follows it, or NULL. */
static const char *put_up_to(FILE *out, const char *from, const char *end, const char *mark)
{
    const char *at = memmem(from, (size_t)(end - from), mark, strlen(mark));

    if (!at)
        return NULL;
    fwrite(from, 1, (size_t)(at - from), out);
    return at + strlen(mark);
}

int tt_render_html(const struct tt_document *d, FILE *out, struct tt_error *e)
{
    const char *end = tt_page_template + tt_page_template_size, *at;
    int rc;

    if (!tt_has_page())
        return tt_fail(e, TT_UNSUPPORTED,
                       "this tutti was built without the page: npm was missing when it was built; "
                       "use --format json, md or text");
    at = put_up_to(out, tt_page_template, end, TT_PAGE_TITLE);
    if (at) {
        put_escaped(out, tt_text_of(d->root, "title"));
        at = put_up_to(out, at, end, TT_PAGE_DOCUMENT);
    }
    if (!at)
        return tt_fail(e, TT_FAILED, "the page of this build is damaged; build tutti again");
    rc = tt_document_write(d, false, out, e);
    fwrite(at, 1, (size_t)(end - at), out);
    return rc;
}
