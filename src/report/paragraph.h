/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text collected piece by piece and printed wrapped at 80 columns. */
#ifndef TT_REPORT_PARAGRAPH_H
#define TT_REPORT_PARAGRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TT_WIDTH 80

/* False also for the terminal that a launcher makes for each rank. */
bool tt_is_terminal(FILE *out);

/* Until TT_PLAIN; nothing at all unless out is a terminal that knows it and NO_COLOR is not set. */
enum tt_style { TT_PLAIN, TT_BOLD, TT_GOOD, TT_DOUBTFUL, TT_BAD };
void tt_style(FILE *out, enum tt_style style);

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
/* Columns of n bytes of UTF-8. */
size_t tt_text_columns(const char *text, size_t n);
/* Words on lines of TT_WIDTH, the first line already filled up to `indent`, and a newline. A word
 * that is longer than a line, a path for instance, stays whole. */
void tt_paragraph_wrap(const char *text, FILE *out, size_t indent);
/* "! text", the lines below indented to the text. */
void tt_paragraph_print_marked(const struct tt_paragraph *p, FILE *out, const char *mark);
/* The same of a text in one piece. */
void tt_say(FILE *out, const char *label, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void tt_say_marked(FILE *out, const char *mark, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for text that is known: "mark text". */
void tt_print_wrapped(FILE *out, const char *mark, const char *text);
/* "  name      text", the text from the given column on; a name that is too long has its text in
 * the next line. */
void tt_print_entry(FILE *out, const char *name, int column, const char *text);

#endif
