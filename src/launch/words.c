/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launch/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void tt_command_add(struct tt_command_line *c, const char *fmt, ...)
{
    va_list args;

    if (c->n + 1 >= c->capacity) {
        size_t capacity = c->capacity ? 2 * c->capacity : 16;
        char **words = c->lost ? NULL : realloc(c->words, capacity * sizeof *words);

        if (!words) {
            c->lost = true;
            return;
        }
        c->words = words;
        c->capacity = capacity;
    }
    va_start(args, fmt);
    if (vasprintf(&c->words[c->n], fmt, args) < 0)
        c->lost = true;
    else
        c->n++;
    va_end(args);
    c->words[c->n] = NULL;
}

void tt_command_add_list(struct tt_command_line *c, const struct tt_words *list)
{
    for (size_t i = 0; i < list->n; i++)
        tt_command_add(c, "%s", list->words[i]);
}

void tt_command_add_array(struct tt_command_line *c, char *const *words)
{
    for (; *words; words++)
        tt_command_add(c, "%s", *words);
}

int tt_command_check(const struct tt_command_line *c, struct tt_error *e)
{
    return c->lost ? tt_fail_nomem(e, "a command") : TT_OK;
}

void tt_command_free(struct tt_command_line *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->words[i]);
    free(c->words);
    *c = (struct tt_command_line){0};
}
