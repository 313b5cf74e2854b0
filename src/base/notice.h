/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a user should know while something runs. Nothing below cli/ prints: it gives a notice, and
 * cli/ says where notices go. Left out: the last words of a rank that ends itself. */
#ifndef TT_BASE_NOTICE_H
#define TT_BASE_NOTICE_H

#include <stdbool.h>

struct tt_notices {
    void (*line)(const char *text);
    void (*same)(const char *text); /* what all ranks say alike, before they know each other */
    void (*draw)(const char *text); /* on a terminal, over what was drawn before; NULL: none */
};
/* Until then they go nowhere. */
void tt_notices_to(const struct tt_notices *to);

void tt_notice(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void tt_notice_same(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Progress; "" removes it. Ask first whether anybody sees it, if finding it out costs something. */
bool tt_notice_is_drawn(void);
void tt_notice_draw(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
