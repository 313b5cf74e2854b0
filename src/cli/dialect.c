/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/dialect.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

char *tt_dialect_line(const struct tt_invocation *call)
{
    char *line = NULL;
    size_t size;
    FILE *f = open_memstream(&line, &size);

    if (!f)
        return NULL;
    fputs("tutti", f);
    for (int i = 0; i < call->argc; i++)
        fprintf(f, " %s", call->argv[i]);
    if (fclose(f) != 0) {
        free(line);
        return NULL;
    }
    return line;
}

const char *tt_dialect_directory(const struct tt_settings *settings, const char *place)
{
    const struct tt_setting *last = tt_settings_find(settings, "dir");

    return last && !strcmp(last->place, place) ? last->value : NULL;
}

int tt_dialect_check_directory(const char *directory, const char *place, struct tt_error *e)
{
    struct stat st;

    if (stat(directory, &st) != 0)
        return tt_fail(e, TT_FAILED, "%s: the directory '%.200s' does not exist; create it", place,
                       directory);
    return S_ISDIR(st.st_mode)
               ? TT_OK
               : tt_fail(e, TT_FAILED, "%s: '%.200s' is not a directory; choose another", place,
                         directory);
}
