/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text from elsewhere (paths, host names, damaged files) on its way into JSON, and paths as words
 * of a line. */
#ifndef TT_BASE_TEXT_H
#define TT_BASE_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

/* A JSON string; if text is not UTF-8, every byte that is not ASCII becomes '?'. NULL: no memory.
 */
json_t *tt_json_text(const char *text);

/* The same for what must be itself again when it is read: a byte that belongs to no UTF-8 becomes
 * one of the characters U+10FF80 to U+10FFFF, which nobody else uses. */
json_t *tt_json_bytes(const char *text);
char *tt_bytes_of_json(const json_t *value); /* caller frees; NULL: no memory, or no text */

/* As all results are written, as part of something `depth` levels deep. Returns 0, or -1: no
 * memory. */
int tt_json_print(FILE *out, const json_t *value, int depth);

/* A path may hold anything but NUL: what could end a word or a line is written as %XX. */
void tt_put_escaped(FILE *out, const char *text);
/* The reverse, in place; false: it is not what tt_put_escaped has written. */
bool tt_unescape(char *text);

#endif
