/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fts.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mix.h"
#include "plan/config.h"
#include "workloads/reader/reader.h"

/* ---- files that are made ---- */

uint64_t tt_reader_size(const struct tt_reader_options *o, uint64_t seed, uint64_t file)
{
    double fraction = (double)(tt_mix(tt_mix(seed) + file) >> 11) * 0x1p-53, bytes;

    if (o->size_max <= o->size)
        return o->size;
    bytes = (double)o->size * pow((double)o->size_max / (double)o->size, fraction);
    if (bytes <= (double)o->size)
        return o->size;
    return bytes < (double)o->size_max ? (uint64_t)bytes : o->size_max;
}

void tt_reader_fill(uint64_t seed, uint64_t file, uint64_t offset, unsigned char *data, size_t n)
{
    uint64_t base = tt_mix(tt_mix(seed ^ file << 32) + file) + offset / sizeof(uint64_t);

    for (size_t i = 0; i < n; i += sizeof base) {
        uint64_t word = tt_mix(base++);

        memcpy(data + i, &word, n - i < sizeof word ? n - i : sizeof word);
    }
}

/* ---- files that are there ---- */

static int add(struct tt_reader_list *list, const char *path, uint64_t bytes, struct tt_error *e)
{
    size_t n = strlen(path) + 1;

    if (list->length + n > list->capacity) {
        size_t capacity = 2 * list->capacity + n + 4096;
        char *grown = realloc(list->paths, capacity);

        if (!grown)
            return tt_fail_nomem(e, "the list of files");
        list->paths = grown;
        list->capacity = capacity;
    }
    memcpy(list->paths + list->length, path, n);
    list->length += n;
    list->n++;
    list->bytes += bytes;
    return TT_OK;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int visit(struct tt_reader_list *list, const FTSENT *entry, struct tt_error *e)
{
    switch (entry->fts_info) {
    case FTS_F:
        return add(list, entry->fts_path, (uint64_t)entry->fts_statp->st_size, e);
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS:
        return tt_fail_call(e, entry->fts_errno, "open", entry->fts_path, -1);
    default:
        return TT_OK;
    }
}

int tt_reader_list(const char *directory, struct tt_reader_list *out, struct tt_error *e)
{
    char *const roots[] = {(char *)directory, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
    const FTSENT *entry;
    int rc = TT_OK;

    memset(out, 0, sizeof *out);
    if (!tree)
        return tt_fail_call(e, errno, "open", directory, -1);
    errno = 0;
    while (rc == TT_OK && (entry = fts_read(tree)) != NULL)
        rc = visit(out, entry, e);
    if (rc == TT_OK && errno != 0)
        rc = tt_fail_call(e, errno, "open", directory, -1);
    fts_close(tree);
    if (rc == TT_OK && out->n == 0)
        rc = tt_fail(e, TT_FAILED, "'%s' holds no files to read; choose another reader.path",
                     directory);
    return rc;
}

int tt_reader_list_of(const struct tt_config *config, struct tt_reader_list *out,
                      struct tt_error *e)
{
    const struct tt_reader_options *o = tt_config_opts(config, "reader");
    char *directory = tt_config_path(config, o->path);
    int rc = directory ? tt_reader_list(directory, out, e) : tt_fail_nomem(e, "a path");

    free(directory);
    return rc;
}
