/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text collected piece by piece and printed wrapped at 80 columns. */
#ifndef TT_REPORT_PARAGRAPH_H
#define TT_REPORT_PARAGRAPH_H

#include <stddef.h>
#include <stdio.h>

/* Starts zeroed. What does not fit ends in "...". */
struct tt_paragraph {
    size_t n;
    char text[2048];
};

/* Control characters become '?', in place. */
void tt_disarm(char *text);
/* Disarmed. */
void tt_paragraph_add(struct tt_paragraph *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* "  label      text", the lines below indented to the text; nothing if there is no text. */
void tt_paragraph_print(const struct tt_paragraph *p, FILE *out, const char *label);
/* "! text", the lines below indented to the text. */
void tt_paragraph_print_marked(const struct tt_paragraph *p, FILE *out, const char *mark);

#endif
