/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TT_CLI_WRAP_H
#define TT_CLI_WRAP_H

#include <stdio.h>

/* "  name      text", the text from the given column on and never beyond column 80; a name that is
 * too long has its text in the next line. */
void tt_print_entry(FILE *out, const char *name, int column, const char *text);

/* "mark text", the lines below indented to the text. */
void tt_print_wrapped(FILE *out, const char *mark, const char *text);

#endif
