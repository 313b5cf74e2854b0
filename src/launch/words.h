/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A command as a list of words; no shell ever sees it. */
#ifndef TT_LAUNCH_WORDS_H
#define TT_LAUNCH_WORDS_H

#include <stddef.h>

#include "base/error.h"
#include "spec/param.h"

struct tt_command_line {
    size_t n, capacity;
    char **words; /* NULL-terminated once there is one */
};

int tt_command_add(struct tt_command_line *c, struct tt_error *e, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
int tt_command_add_list(struct tt_command_line *c, const struct tt_words *list, struct tt_error *e);
int tt_command_add_array(struct tt_command_line *c, char *const *words, struct tt_error *e);
void tt_command_free(struct tt_command_line *c);

#endif
