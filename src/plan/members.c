/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/members.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "plan/directory.h"

/* No sane member that somebody wants is larger. */
#define MAX_VALUE (256ul << 20)

struct reader {
    FILE *f;
    char *path;
    unsigned long long before; /* bytes read before those in the buffer */
    size_t at, end;            /* of the buffer */
    char *text;                /* of the value at hand */
    size_t used, room;
    struct tt_error *e;
    char buffer[16384];
};

static int damaged(struct reader *r, const char *what)
{
    unsigned long long at = r->before + r->at;

    if (ferror(r->f))
        return tt_fail_call(r->e, errno, "read", r->path, (long long)at);
    return tt_fail(r->e, TT_CORRUPT, "'%s' is damaged at byte %llu: %s", r->path, at, what);
}

static bool refill(struct reader *r)
{
    r->before += r->end;
    r->at = 0;
    r->end = fread(r->buffer, 1, sizeof r->buffer, r->f);
    return r->end > 0;
}

static int next(struct reader *r)
{
    return r->at < r->end || refill(r) ? (unsigned char)r->buffer[r->at++] : EOF;
}

/* The byte that was read last is to be read again. */
static void back(struct reader *r, int c)
{
    if (c != EOF)
        r->at--;
}

static int next_token(struct reader *r)
{
    int c;

    do
        c = next(r);
    while (c == ' ' || c == '\n' || c == '\t' || c == '\r');
    return c;
}

static int keep(struct reader *r, const char *bytes, size_t n)
{
    while (r->used + n > r->room) {
        size_t room = r->room ? 2 * r->room : 4096;
        char *text = room <= MAX_VALUE ? realloc(r->text, room) : NULL;

        if (!text)
            return room > MAX_VALUE ? damaged(r, "a value is too long")
                                    : tt_fail_nomem(r->e, "a JSON file");
        r->text = text;
        r->room = room;
    }
    memcpy(r->text + r->used, bytes, n);
    r->used += n;
    return TT_OK;
}

/* Bytes that end a run of others: those of a string, and those between its brackets. */
static const bool ends_text[256] = {['"'] = true, ['\\'] = true};
static const bool ends_rest[256] = {
    ['"'] = true, ['{'] = true, ['}'] = true, ['['] = true, [']'] = true};

/* On to the next byte that ends a run, which is *c, and past it. */
static int skip(struct reader *r, const bool ends[256], bool wanted, int *c)
{
    size_t from, n;
    int rc = TT_OK;

    do {
        if (r->at == r->end && !refill(r))
            return damaged(r, "it ends in the middle");
        for (from = r->at; r->at < r->end && !ends[(unsigned char)r->buffer[r->at]];)
            r->at++;
        n = r->at - from + (r->at < r->end);
        if (wanted)
            rc = keep(r, r->buffer + from, n);
    } while (rc == TT_OK && r->at == r->end);
    *c = (unsigned char)r->buffer[r->at++];
    return rc;
}

/* The rest of a string whose first quote has been read. */
static int skip_string(struct reader *r, bool wanted)
{
    char escaped;
    int rc, c = EOF;

    do {
        rc = skip(r, ends_text, wanted, &c);
        if (rc == TT_OK && c == '\\') {
            int next_one = next(r);

            escaped = (char)next_one;
            if (next_one == EOF)
                rc = damaged(r, "it ends in the middle");
            else if (wanted)
                rc = keep(r, &escaped, 1);
        }
    } while (rc == TT_OK && c != '"');
    return rc;
}

/* The text of the value that begins with the next token, or (not wanted) only past it. */
static int scan(struct reader *r, bool wanted)
{
    unsigned long long depth = 0;
    int rc = TT_OK, c = next_token(r);
    char byte = (char)c;

    r->used = 0;
    if (c == EOF)
        return damaged(r, "it ends in the middle");
    if (wanted)
        rc = keep(r, &byte, 1);
    if (!ends_rest[c]) { /* a number or a word */
        while (rc == TT_OK && (c = next(r)) != EOF && !isspace(c) && !strchr(",]}:", c)) {
            byte = (char)c;
            if (wanted)
                rc = keep(r, &byte, 1);
        }
        back(r, c);
        return rc;
    }
    while (rc == TT_OK) {
        if (c == '"') {
            rc = skip_string(r, wanted);
        } else if (c == '{' || c == '[') {
            depth++;
        } else {
            if (depth == 0)
                return damaged(r, "a value is missing");
            depth--;
        }
        if (depth == 0)
            break;
        if (rc == TT_OK)
            rc = skip(r, ends_rest, wanted, &c);
    }
    return rc;
}

static int take(struct reader *r, json_t **value)
{
    json_error_t why;
    int rc = scan(r, true);

    *value = NULL;
    if (rc != TT_OK)
        return rc;
    *value = json_loadb(r->text, r->used, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &why);
    return *value ? TT_OK : damaged(r, why.text);
}

/* ---- lists and objects ---- */

typedef int tt_member(struct reader *r, const char *key, void *context);

/* {"KEY": VALUE, ...} to the end of the file; member takes or passes over each value. */
static int each_member(struct reader *r, tt_member *member, void *context)
{
    int c = next_token(r), rc = TT_OK;

    if (c != '{')
        return tt_fail(r->e, TT_CORRUPT, "'%s' does not hold a JSON object", r->path);
    c = next_token(r);
    if (c != '}')
        back(r, c);
    while (rc == TT_OK && c != '}') {
        json_t *key;

        rc = take(r, &key);
        if (rc == TT_OK && (!json_is_string(key) || next_token(r) != ':'))
            rc = damaged(r, "not \"KEY\": VALUE");
        if (rc == TT_OK)
            rc = member(r, json_string_value(key), context);
        json_decref(key);
        if (rc == TT_OK && (c = next_token(r)) != ',' && c != '}')
            rc = damaged(r, "neither , nor } after a value");
    }
    if (rc == TT_OK && next_token(r) != EOF)
        rc = damaged(r, "there is more after its end");
    return rc;
}

struct wanted {
    bool (*wants)(const char *key);
    json_t *object;
};

static int take_member(struct reader *r, const char *key, void *context)
{
    struct wanted *w = context;
    bool wanted = w->wants(key);
    json_t *value = NULL;
    int rc = wanted ? take(r, &value) : scan(r, false);

    if (rc == TT_OK && json_object_get(w->object, key))
        rc = damaged(r, "a key is there twice");
    if (rc == TT_OK && json_object_set(w->object, key, wanted ? value : json_null()) != 0)
        rc = tt_fail_nomem(r->e, "a JSON file");
    json_decref(value);
    return rc;
}

struct list {
    const char *key;
    void (*element)(void *context, const json_t *value);
    void *context;
};

static int hand_on_list(struct reader *r, const char *key, void *context)
{
    const struct list *l = context;
    int c = next_token(r), rc = TT_OK;

    if (c != '[' || strcmp(key, l->key) != 0) {
        back(r, c);
        return scan(r, false);
    }
    c = next_token(r);
    if (c != ']')
        back(r, c);
    while (rc == TT_OK && c != ']') {
        json_t *value;

        rc = take(r, &value);
        if (rc == TT_OK)
            l->element(l->context, value);
        json_decref(value);
        if (rc == TT_OK && (c = next_token(r)) != ',' && c != ']')
            rc = damaged(r, "neither , nor ] after a value");
    }
    return rc;
}

/* ---- files ---- */

static int walk(const char *directory, const char *name, tt_member *member, void *context,
                struct tt_error *e)
{
    struct reader r;
    int rc;

    memset(&r, 0, offsetof(struct reader, buffer));
    r.path = tt_directory_path(directory, name);
    r.e = e;
    if (!r.path)
        return tt_fail_nomem(e, "a path");
    r.f = tt_directory_open_file(directory, name);
    if (!r.f && (errno == ELOOP || errno == EINVAL))
        rc = tt_fail(e, TT_CORRUPT, "'%s' is not a file that tutti wrote", r.path);
    else if (!r.f)
        rc = tt_fail_call(e, errno, "open", r.path, -1);
    else
        rc = each_member(&r, member, context);
    if (r.f)
        fclose(r.f);
    free(r.text);
    free(r.path);
    return rc;
}

int tt_members_read(const char *directory, const char *name, bool (*wants)(const char *key),
                    json_t **value, struct tt_error *e)
{
    struct wanted w = {.wants = wants, .object = json_object()};
    int rc = w.object ? walk(directory, name, take_member, &w, e) : tt_fail_nomem(e, "a JSON file");

    if (rc != TT_OK)
        json_decref(w.object);
    *value = rc == TT_OK ? w.object : NULL;
    return rc;
}

int tt_members_each(const char *directory, const char *name, const char *key,
                    void (*element)(void *context, const json_t *value), void *context,
                    struct tt_error *e)
{
    struct list l = {key, element, context};

    return walk(directory, name, hand_on_list, &l, e);
}

/* ---- writing ---- */

static int write_list(FILE *out, size_t n, json_t *(*element)(const void *, size_t),
                      const void *context)
{
    int bad = 0;

    fputc('[', out);
    for (size_t i = 0; i < n && !bad; i++) {
        json_t *value = element(context, i);

        fputs(i ? ",\n  " : "\n  ", out);
        bad = !value || tt_json_print(out, value, 2) != 0;
        json_decref(value);
    }
    fputs(n ? "\n ]" : "]", out);
    return bad;
}

int tt_members_write(const char *directory, const char *name, const json_t *object, const char *key,
                     size_t n, json_t *(*element)(const void *context, size_t i),
                     const void *context, struct tt_error *e)
{
    char *path = tt_directory_path(directory, name), *temporary = NULL;
    const char *member, *before = "{\n ";
    int fd = -1, bad = 0, rc = TT_OK;
    FILE *out = NULL;
    json_t *value;

    if (!path || asprintf(&temporary, "%s.%ld.part", path, (long)getpid()) < 0) {
        free(path);
        return tt_fail_nomem(e, "a path");
    }
    fd = open(temporary, O_CREAT | O_TRUNC | O_WRONLY | TT_DIRECTORY_OPEN, 0666);
    out = fd >= 0 ? fdopen(fd, "w") : NULL;
    json_object_foreach((json_t *)object, member, value)
    {
        json_t *text = out && !bad ? json_string(member) : NULL;

        if (!text)
            continue;
        fputs(before, out);
        bad = json_dumpf(text, out, JSON_ENCODE_ANY) != 0 || fputs(": ", out) < 0;
        if (!bad)
            bad = strcmp(member, key) ? tt_json_print(out, value, 1)
                                      : write_list(out, n, element, context);
        json_decref(text);
        before = ",\n ";
    }
    if (out)
        fputs("\n}", out);
    if (bad)
        rc = tt_fail_nomem(e, name);
    if (out && fflush(out) != 0 && !bad) /* fclose would not tell of an earlier one */
        rc = tt_fail_call(e, errno, "write", path, -1);
    else if (out && ferror(out) && !bad)
        rc = tt_fail_call(e, EIO, "write", path, -1);
    if (!out || ((fclose(out) != 0 || (rc == TT_OK && rename(temporary, path) != 0)) && !bad))
        rc = tt_fail_call(e, errno, "write", path, -1);
    if (rc != TT_OK)
        unlink(temporary);
    free(temporary);
    free(path);
    return rc;
}
