/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/wrap.h"

#include <string.h>

#define WIDTH 80

/* The first line is filled up to column already. */
static void wrap(FILE *out, int column, const char *text)
{
    for (int at = column; *text; text += strspn(text, " ")) {
        int length = (int)strcspn(text, " ");

        if (at > column && at + 1 + length > WIDTH) {
            fprintf(out, "\n%*s", column, "");
            at = column;
        }
        at += fprintf(out, "%s%.*s", at > column ? " " : "", length, text);
        text += length;
    }
    fputc('\n', out);
}

void tt_print_entry(FILE *out, const char *name, int column, const char *text)
{
    int at = fprintf(out, "  %s", name);

    if (at + 2 > column && *name) {
        fputc('\n', out);
        at = 0;
    }
    fprintf(out, "%*s", column - at, "");
    wrap(out, column, text);
}

void tt_print_wrapped(FILE *out, const char *mark, const char *text)
{
    wrap(out, fprintf(out, "%s", mark), text);
}
