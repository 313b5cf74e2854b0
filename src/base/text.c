/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

json_t *tt_json_text(const char *text)
{
    json_t *value = json_string(text);
    char *clean;

    if (value)
        return value;
    clean = strdup(text);
    if (!clean)
        return NULL;
    for (char *c = clean; *c; c++)
        if ((unsigned char)*c > 126)
            *c = '?';
    value = json_string(clean);
    free(clean);
    return value;
}

/* F4 8F BE 80 to F4 8F BF BF: one of the characters that stand for bytes. */
static bool is_byte(const char *text)
{
    const unsigned char *t = (const unsigned char *)text;

    return t[0] == 0xf4 && t[1] == 0x8f && (t[2] & 0xfe) == 0xbe && (t[3] & 0xc0) == 0x80;
}

json_t *tt_json_bytes(const char *text)
{
    char *out = malloc(4 * strlen(text) + 1), *to = out;
    json_t *value;

    if (!out)
        return NULL;
    while (*text) {
        int n = is_byte(text) ? 0 : tt_utf8_length(text);

        if (n > 0) {
            memcpy(to, text, (size_t)n);
            to += n;
            text += n;
        } else {
            unsigned char byte = (unsigned char)*text++;

            *to++ = (char)0xf4;
            *to++ = (char)0x8f;
            *to++ = (char)(0xbc | byte >> 6);
            *to++ = (char)(0x80 | (byte & 0x3f));
        }
    }
    *to = '\0';
    value = json_string(out);
    free(out);
    return value;
}

char *tt_bytes_of_json(const json_t *value)
{
    const char *text = json_string_value(value);
    char *out = text ? malloc(strlen(text) + 1) : NULL, *to = out;

    if (!out)
        return NULL;
    while (*text)
        if (is_byte(text)) {
            *to++ = (char)((unsigned char)text[2] << 6 | ((unsigned char)text[3] & 0x3f));
            text += 4;
        } else {
            *to++ = *text++;
        }
    *to = '\0';
    return out;
}

/* Where the list ends that begins at this line, if it holds numbers only; else NULL. */
static const char *end_of_numbers(const char *line)
{
    for (;; line = strchr(line, '\n') + 1) {
        line += strspn(line, " ");
        if (*line == ']')
            return line;
        if (!strchr("-0123456789", *line))
            return NULL;
    }
}

/* Line by line, but a list of numbers in one. */
int tt_json_print(FILE *out, const json_t *value, int depth)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_INDENT(1) | JSON_REAL_PRECISION(17));

    for (const char *line = text, *end, *numbers; line; line = end) {
        end = strchr(line, '\n'); /* none is inside a string */
        numbers = end && end > line && end[-1] == '[' ? end_of_numbers(end + 1) : NULL;
        if (line != text)
            fprintf(out, "%*s", depth, "");
        for (; numbers && line < numbers; line++)
            if (*line == '\n')
                line += strspn(line + 1, " ");
            else
                fputc(*line, out);
        if (numbers)
            end = strchr(line, '\n');
        end = end ? end + 1 : NULL;
        fwrite(line, 1, end ? (size_t)(end - line) : strlen(line), out);
    }
    free(text);
    return text ? 0 : -1;
}

void tt_put_escaped(FILE *out, const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text <= ' ' || *text == 127 || *text == '%')
            fprintf(out, "%%%02X", (unsigned char)*text);
        else
            putc(*text, out);
}

bool tt_unescape(char *text)
{
    char *to = text;

    for (; *text; text++) {
        if (*text != '%') {
            *to++ = *text;
            continue;
        }
        if (!isxdigit((unsigned char)text[1]) || !isxdigit((unsigned char)text[2]))
            return false;
        *to = (char)strtol((char[]){text[1], text[2], 0}, NULL, 16);
        if (!*to++)
            return false;
        text += 2;
    }
    *to = '\0';
    return true;
}
