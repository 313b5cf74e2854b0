/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/wrap.h"

#include "report/paragraph.h"

void tt_print_entry(FILE *out, const char *name, int column, const char *text)
{
    int at = fprintf(out, "  %s", name);

    if (at + 2 > column && *name) {
        fputc('\n', out);
        at = 0;
    }
    fprintf(out, "%*s", column - at, "");
    tt_paragraph_wrap(text, out, (size_t)column);
}

void tt_print_wrapped(FILE *out, const char *mark, const char *text)
{
    tt_paragraph_wrap(text, out, (size_t)fprintf(out, "%s", mark));
}
