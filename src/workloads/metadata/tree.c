/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/metadata/metadata.h"

/* Of one level. */
static uint64_t width(const struct tt_metadata_options *o, uint64_t level)
{
    uint64_t n = 1;

    while (level-- > 0)
        if (__builtin_mul_overflow(n, o->branch, &n))
            return 0;
    return n;
}

uint64_t tt_metadata_directories(const struct tt_metadata_options *o)
{
    uint64_t all = 0;

    for (uint64_t level = 0; level <= o->depth; level++) {
        uint64_t n = width(o, level);

        if (n == 0 || __builtin_add_overflow(all, n, &all))
            return 0;
    }
    return all;
}

uint64_t tt_metadata_holders(const struct tt_metadata_options *o)
{
    return o->leaves_only ? width(o, o->depth) : tt_metadata_directories(o);
}

uint64_t tt_metadata_tasks(const struct tt_metadata_options *o, uint64_t ranks)
{
    return o->tasks ? o->tasks : ranks;
}

uint64_t tt_metadata_items(const struct tt_metadata_options *o)
{
    uint64_t n;

    if (o->per_directory == 0)
        return o->items;
    return __builtin_mul_overflow(o->per_directory, tt_metadata_holders(o), &n) ? 0 : n;
}

int tt_metadata_names_begin(struct tt_metadata_names *n, const struct tt_metadata_options *o,
                            const char *root, uint64_t rank, struct tt_error *e)
{
    uint64_t holders = tt_metadata_holders(o);
    int length = o->own_directories
                     ? snprintf(n->path, sizeof n->path, "%s/%llu", root, (unsigned long long)rank)
                     : snprintf(n->path, sizeof n->path, "%s", root);

    /* room for the deepest directory and the longest name */
    if (length < 0 || (size_t)length + 22 * TT_METADATA_MAX_DEPTH + 96 > sizeof n->path)
        return tt_fail(e, TT_USAGE, "'%.200s...' is too long a path", root);
    n->options = o;
    n->rank = rank;
    n->root = (size_t)length;
    n->holder = UINT64_MAX;
    n->per_holder = (tt_metadata_items(o) + holders - 1) / holders;
    return TT_OK;
}

/* Children of directory i are i * branch + 1 and the following. */
const char *tt_metadata_directory(struct tt_metadata_names *n, uint64_t i)
{
    uint64_t chain[TT_METADATA_MAX_DEPTH + 1];
    size_t length = n->root;
    unsigned levels = 0;

    for (; i > 0; i = (i - 1) / n->options->branch)
        chain[levels++] = i;
    while (levels-- > 0)
        length += (size_t)snprintf(n->path + length, sizeof n->path - length, "/%llu",
                                   (unsigned long long)chain[levels]);
    n->path[length] = '\0';
    n->directory = length;
    n->holder = UINT64_MAX;
    return n->path;
}

static char *put_number(char *at, uint64_t number)
{
    char digits[20];
    size_t n = 0;

    do
        digits[n++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    while (n > 0)
        *at++ = digits[--n];
    return at;
}

/* A file system makes a file in microseconds: snprintf would be seen in the figures. */
const char *tt_metadata_item(struct tt_metadata_names *n, uint64_t i, bool is_directory,
                             bool renamed)
{
    const struct tt_metadata_options *o = n->options;
    uint64_t holder = i / n->per_holder;
    const char *kind = is_directory ? "/directory." : "/file.";
    char *at;

    if (holder != n->holder) {
        tt_metadata_directory(
            n, holder + (o->leaves_only ? tt_metadata_directories(o) - tt_metadata_holders(o) : 0));
        n->holder = holder;
    }
    at = n->path + n->directory;
    memcpy(at, kind, strlen(kind));
    at = put_number(at + strlen(kind), n->rank);
    *at++ = '.';
    at = put_number(at, i);
    if (renamed)
        *at++ = 'r';
    *at = '\0';
    return n->path;
}

/* A number as it is written into names, up to a character that ends it. */
static bool take_number(const char **at, const char *ends, uint64_t *out)
{
    const char *from = *at;
    char *end;

    if (*from < '0' || *from > '9' || (*from == '0' && from[1] >= '0' && from[1] <= '9') ||
        strspn(from, "0123456789") > 18)
        return false;
    *out = strtoull(from, &end, 10);
    *at = end;
    return !*end || strchr(ends, *end);
}

static bool makes_item(const struct tt_metadata_options *o, const char *name, uint64_t first_rank,
                       uint64_t end_rank, uint64_t holder, bool is_directory)
{
    const char *kind = is_directory ? "directory." : "file.", *at = name + strlen(kind);
    uint64_t items = tt_metadata_items(o), holders = tt_metadata_holders(o), rank, i;

    if (strncmp(name, kind, strlen(kind)) != 0 ||
        o->what == (is_directory ? TT_METADATA_FILES : TT_METADATA_DIRECTORIES) ||
        !take_number(&at, ".", &rank) || *at++ != '.' || !take_number(&at, "r", &i))
        return false;
    if (*at == 'r' && is_directory && o->rename)
        at++;
    if (o->leaves_only)
        holder -= tt_metadata_directories(o) - holders; /* no leaf: beyond all */
    return !*at && rank >= first_rank && rank < end_rank && i < items &&
           i / ((items + holders - 1) / holders) == holder;
}

bool tt_metadata_makes(const struct tt_metadata_options *o, uint64_t ranks, const char *path,
                       bool is_directory)
{
    uint64_t directory = 0, level = 0, first = 0, end = ranks;
    const char *at = path;

    if (!strcmp(path, TT_METADATA_COUNT_FILE) ||
        !strcmp(path, TT_METADATA_COUNT_FILE ".directories"))
        return !is_directory;
    if (o->own_directories) {
        if (!take_number(&at, "/", &first) || first >= ranks)
            return false;
        end = first + 1;
        at += *at == '/';
    }
    while (*at >= '0' && *at <= '9') {
        uint64_t next;

        if (!take_number(&at, "/", &next) || level++ >= o->depth || next <= directory * o->branch ||
            next > directory * o->branch + o->branch)
            return false;
        directory = next;
        at += *at == '/';
    }
    if (!*at)
        return is_directory;
    return !strchr(at, '/') && makes_item(o, at, first, end, directory, is_directory);
}
