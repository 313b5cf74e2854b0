// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Damages a file as chance, a bad disk or somebody hostile would: mutate SEED FILE OUT [WORD...]
 *
 * Bytes are changed, cut out, doubled or moved; numbers, strings and whole lines become others of
 * the same file or one of the words (paths, ids, huge numbers) that the caller and the table below
 * give. The same seed makes the same file.
 */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST (1u << 22)

static const char *const words[] = {"-1",
                                    "0",
                                    "18446744073709551616",
                                    "9223372036854775807",
                                    "1e308",
                                    "-1e-308",
                                    "NaN",
                                    "4294967295",
                                    "1e999",
                                    "null",
                                    "true",
                                    "[]",
                                    "{}",
                                    "\"\"",
                                    "\"..\"",
                                    "\"../..\"",
                                    "\"/\"",
                                    "\"a\\u0000b\"",
                                    "\"\\n\"",
                                    "\"\\\"\"",
                                    "\"thesis\"",
                                    "\"runs\"",
                                    "\"launch.by\"",
                                    "\"template\"",
                                    "&a [*a,*a]",
                                    "!!binary x",
                                    "[[[[[[[[[[[[[[[[",
                                    "{\"a\":{\"a\":{\"a\":",
                                    "%s%s%n",
                                    "\xff\xfe",
                                    "\xc3\x28",
                                    "\r\n",
                                    "\t",
                                    "---\n",
                                    "- ",
                                    ": ",
                                    "1000000000g"};

static uint64_t state;
static char text[MOST + 4096];
static size_t length;

static size_t below(size_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return n ? (size_t)(state * 0x2545F4914F6CDD1DULL >> 33) % n : 0;
}

/* Puts new bytes in place of n at a place. */
static void put(size_t at, size_t n, const char *new, size_t size)
{
    if (length - n + size > MOST)
        return;
    memmove(text + at + size, text + at + n, length - at - n);
    memcpy(text + at, new, size);
    length = length - n + size;
}

/* The value (a number, a string or a word) that stands at or after a place; its size, 0: none. */
static size_t value_at(size_t *at)
{
    size_t i = *at, end;

    while (i < length && !isalnum((unsigned char)text[i]) && text[i] != '"' && text[i] != '/')
        i++;
    *at = i;
    if (i < length && text[i] == '"') {
        for (end = i + 1; end < length && text[end] != '"' && text[end] != '\n'; end++)
            ;
        return end < length ? end - i + 1 : 0;
    }
    for (end = i;
         end < length && !isspace((unsigned char)text[end]) && !strchr(",:}]\"", text[end]); end++)
        ;
    return end - i;
}

static void change_value(int n_given, char **given)
{
    size_t at = below(length), size = value_at(&at), from, other, pick = below(3);
    char copy[4096];
    const char *word;

    if (pick == 0 && n_given > 0) {
        word = given[below((size_t)n_given)];
        /* A string stays one, so that not only the parser sees it. */
        snprintf(copy, sizeof copy, size && text[at] == '"' ? "\"%s\"" : "%s", word);
    } else if (pick == 1) {
        snprintf(copy, sizeof copy, "%s", words[below(sizeof words / sizeof *words)]);
    } else {
        from = below(length);
        other = value_at(&from);
        if (other >= sizeof copy)
            return;
        memcpy(copy, text + from, other);
        copy[other] = '\0';
    }
    put(at, size, copy, strlen(copy));
}

static void change_bytes(void)
{
    size_t at = below(length), n = below(length - at < 64 ? length - at + 1 : 64), from;
    char copy[64];

    switch (below(6)) {
    case 0:
        text[at < length ? at : 0] ^= (char)(1u << below(8));
        break;
    case 1:
        put(at, n, "", 0);
        break;
    case 2:
        length = at;
        break;
    case 3: /* doubled */
        memcpy(copy, text + at, n);
        put(at, 0, copy, n);
        break;
    case 4: /* moved */
        memcpy(copy, text + at, n);
        put(at, n, "", 0);
        from = below(length);
        put(from, 0, copy, n);
        break;
    default:
        for (size_t i = 0; i < n; i++)
            text[at + i] = (char)below(256);
    }
}

/* Of what is in text. */
static void mutate(uint64_t seed, int n_given, char **given)
{
    state = seed * 0x9E3779B97F4A7C15ULL + 1;
    for (size_t n = 1 + below(2) * below(4); n > 0; n--) {
        if (below(3))
            change_value(n_given, given);
        else
            change_bytes();
    }
}

static int read_text(const char *path)
{
    FILE *f = fopen(path, "rb");

    if (!f)
        return -1;
    length = fread(text, 1, MOST, f);
    return fclose(f);
}

static int write_text(const char *path)
{
    FILE *f = fopen(path, "wb");
    size_t n = f ? fwrite(text, 1, length, f) : 0;

    return !f || fclose(f) != 0 || n != length;
}

#ifndef MUTATE_INCLUDED
int main(int argc, char **argv)
{
    if (argc < 4 || read_text(argv[2]))
        return 1;
    mutate(strtoull(argv[1], NULL, 10), argc - 4, argv + 4);
    return write_text(argv[3]);
}
#endif
