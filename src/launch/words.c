/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launch/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static int make_room(struct tt_command_line *c, struct tt_error *e)
{
    size_t capacity = c->capacity ? 2 * c->capacity : 16;
    char **words;

    if (c->n + 1 < c->capacity)
        return TT_OK;
    words = realloc(c->words, capacity * sizeof *words);
    if (!words)
        return tt_fail_nomem(e, "a command");
    c->words = words;
    c->capacity = capacity;
    return TT_OK;
}

int tt_command_add(struct tt_command_line *c, struct tt_error *e, const char *fmt, ...)
{
    int rc = make_room(c, e), length;
    va_list args;

    if (rc != TT_OK)
        return rc;
    va_start(args, fmt);
    length = vasprintf(&c->words[c->n], fmt, args);
    va_end(args);
    if (length < 0) {
        c->words[c->n] = NULL;
        return tt_fail_nomem(e, "a command");
    }
    c->words[++c->n] = NULL;
    return TT_OK;
}

int tt_command_add_list(struct tt_command_line *c, const struct tt_words *list, struct tt_error *e)
{
    int rc = TT_OK;

    for (size_t i = 0; i < list->n && rc == TT_OK; i++)
        rc = tt_command_add(c, e, "%s", list->words[i]);
    return rc;
}

int tt_command_add_array(struct tt_command_line *c, char *const *words, struct tt_error *e)
{
    int rc = TT_OK;

    for (; *words && rc == TT_OK; words++)
        rc = tt_command_add(c, e, "%s", *words);
    return rc;
}

void tt_command_free(struct tt_command_line *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->words[i]);
    free(c->words);
    *c = (struct tt_command_line){0};
}
