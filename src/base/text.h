/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text from elsewhere (paths, host names, damaged files) on its way into JSON. */
#ifndef TT_BASE_TEXT_H
#define TT_BASE_TEXT_H

#include <jansson.h>

/* A JSON string; if text is not UTF-8, every byte that is not ASCII becomes '?'. NULL: no memory.
 */
json_t *tt_json_text(const char *text);

#endif
