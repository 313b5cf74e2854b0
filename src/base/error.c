/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tt_error_clear(struct tt_error *e)
{
    memset(e, 0, sizeof *e);
    e->rank = -1;
    e->offset = -1;
}

/* What is too long, a path most often, loses its middle: what happened and what to do stand at the
 * ends. */
static void copy_ends(char *to, size_t room, const char *text)
{
    size_t length = strlen(text), head = room / 3, tail = room - head - sizeof "...";

    if (length < room)
        snprintf(to, room, "%s", text);
    else
        snprintf(to, room, "%.*s...%s", (int)head, text, text + length - tail);
}

int tt_fail(struct tt_error *e, int code, const char *fmt, ...)
{
    if (e && e->code == TT_OK) {
        char *whole;
        va_list args;

        e->code = code;
        va_start(args, fmt);
        if (vasprintf(&whole, fmt, args) >= 0) {
            copy_ends(e->text, sizeof e->text, whole);
            free(whole);
        } else {
            snprintf(e->text, sizeof e->text, "out of memory"); /* also for the message */
        }
        va_end(args);
    }
    return code;
}

int tt_fail_call(struct tt_error *e, int sys_errno, const char *call, const char *file,
                 long long offset)
{
    int code = sys_errno == ENOMEM ? TT_NOMEM : TT_FAILED;

    if (e && e->code == TT_OK) {
        e->code = code;
        e->sys_errno = sys_errno;
        e->offset = offset;
        snprintf(e->call, sizeof e->call, "%s", call);
        copy_ends(e->file, sizeof e->file, file ? file : "");
    }
    return code;
}

int tt_fail_nomem(struct tt_error *e, const char *what)
{
    return tt_fail(e, TT_NOMEM, "out of memory for %s; use a smaller size or more ranks", what);
}

static bool has_word(const char *call, const char *const *words)
{
    while (*words && !strstr(call, *words))
        words++;
    return *words != NULL;
}

/* What the user can do about it; only where that is certain. An open may be for reading as well as
 * for writing. */
static const char *advice(int sys_errno, const char *call)
{
    static const char *const writing[] = {"write", "sync",   "flush",  "close", "truncate", "mkdir",
                                          "rmdir", "rename", "unlink", "put",   NULL};
    bool writes = has_word(call, writing), opens = strstr(call, "open") != NULL;

    switch (sys_errno) {
    case ENOSPC:
        return writes || opens ? "; free space or write less" : "";
    case EDQUOT:
        return writes || opens ? "; your quota is used up" : "";
    case EACCES:
    case EPERM:
        return writes  ? "; you may not write there: choose another directory"
               : opens ? "; get the permission, or choose another path"
                       : "";
    case EROFS:
        return "; choose a writable file system";
    case ENOENT:
        return !strcmp(call, "stat") || !strcmp(call, "read")
                   ? "; write it first, or correct the path"
                   : "; create what is missing, or correct the path";
    case EEXIST:
        return "; tutti never overwrites a file it did not make: remove it or choose another path";
    default:
        return "";
    }
}

int tt_utf8_length(const char *at)
{
    const unsigned char *text = (const unsigned char *)at;
    int n = text[0] < 0x80 ? 1 : text[0] < 0xc2 ? 0 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;

    for (int i = 1; i < n; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    if (text[0] > 0xf4 || (text[0] == 0xe0 && text[1] < 0xa0) ||
        (text[0] == 0xed && text[1] >= 0xa0) || (text[0] == 0xf0 && text[1] < 0x90) ||
        (text[0] == 0xf4 && text[1] >= 0x90))
        return 0;
    return n;
}

void tt_make_plain(char *text)
{
    while (*text) {
        int n = tt_utf8_length(text);

        if (n == 0 || (unsigned char)*text < ' ' || *text == 127)
            *text = '?';
        text += n > 0 ? n : 1;
    }
}

void tt_error_format(const struct tt_error *e, char *out, unsigned long size)
{
    char who[32] = "", where[320] = "", at[40] = "";

    if (e->rank >= 0)
        snprintf(who, sizeof who, "rank %d: ", e->rank);
    if (e->file[0])
        snprintf(where, sizeof where, " of '%s'", e->file);
    if (e->offset >= 0)
        snprintf(at, sizeof at, " at offset %lld", e->offset);
    if (e->call[0])
        snprintf(out, size, "%s%s%s%s: %s%s%s%s", who, e->call, where, at,
                 e->sys_errno ? strerror(e->sys_errno) : "", e->text[0] && e->sys_errno ? ": " : "",
                 e->text, advice(e->sys_errno, e->call));
    else
        snprintf(out, size, "%s%s", who, e->text);
    tt_make_plain(out);
}

int tt_exit_status(int code)
{
    if (code == TT_OK)
        return 0;
    return code == TT_USAGE ? 2 : 1;
}
