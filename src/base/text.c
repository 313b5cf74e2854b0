/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

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
