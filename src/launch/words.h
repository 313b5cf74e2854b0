/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A command as a list of words; no shell ever sees it. */
#ifndef TT_LAUNCH_WORDS_H
#define TT_LAUNCH_WORDS_H

#include <stddef.h>

#include "base/error.h"
#include "spec/param.h"

/* Starts zeroed. It keeps the error: tt_command_check() returns it once, after the last word. */
struct tt_command_line {
    size_t n, capacity;
    char **words; /* NULL-terminated once there is one */
    bool lost;    /* memory ran out */
};

void tt_command_add(struct tt_command_line *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void tt_command_add_list(struct tt_command_line *c, const struct tt_words *list);
void tt_command_add_array(struct tt_command_line *c, char *const *words); /* up to NULL */
int tt_command_check(const struct tt_command_line *c, struct tt_error *e);
void tt_command_free(struct tt_command_line *c);

#endif
