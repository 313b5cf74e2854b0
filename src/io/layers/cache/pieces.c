/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was read of a target, a file for each request, so that all ranks of the node find it. A
 * piece is found again only by a request for exactly the same bytes. Its time of change says when
 * it was used last. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/sys.h"
#include "io/layers/cache/parts.h"

void tt__piece_name(const struct cache_version *version, uint64_t step, const struct tt_block *b,
                    size_t element_size, char name[CACHE_NAME])
{
    struct tt_block packed = {.file = b->file};
    const uint64_t count = tt_selection_count(&b->file), place[] = {b->variable, step};
    struct tt_extent_iter it;
    struct tt_extent x;
    XXH3_state_t hash;
    XXH128_hash_t h;

    XXH3_128bits_reset(&hash);
    XXH3_128bits_update(&hash, version, sizeof *version);
    XXH3_128bits_update(&hash, place, sizeof place);
    tt_select_all(&packed.memory, 1, &count);
    tt_extents_begin(&it, &packed, element_size);
    while (tt_extents_next(&it, &x)) {
        const uint64_t run[] = {x.file_offset, x.length};

        XXH3_128bits_update(&hash, run, sizeof run);
    }
    h = XXH3_128bits_digest(&hash);
    snprintf(name, CACHE_NAME, "%016llx%016llx" TT_NODE_CACHE_PIECE, (unsigned long long)h.high64,
             (unsigned long long)h.low64);
}

static bool path_of(const struct cache_store *s, const char *name, char path[PATH_MAX])
{
    return snprintf(path, PATH_MAX, "%s/%s", s->directory, name) < PATH_MAX;
}

bool tt__piece_has(const struct cache_store *s, const char *name)
{
    char path[PATH_MAX];

    return path_of(s, name, path) && access(path, R_OK) == 0;
}

/* A hit is a use. One that is damaged is read again from below. */
bool tt__piece_get(struct cache_store *s, const char *name, const struct tt_block *b,
                   size_t element_size)
{
    uint64_t bytes = tt_selection_count(&b->file) * element_size, hash;
    char path[PATH_MAX], *to = NULL, *own = NULL;
    struct tt_run run;
    bool found = false;
    struct stat st;
    int fd = path_of(s, name, path) ? open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;

    if (fd < 0)
        return false;
    if (tt_selection_is_contiguous(&b->memory, &run))
        to = (char *)b->data + run.start * element_size;
    else
        to = own = malloc(bytes);
    if (to && fstat(fd, &st) == 0 && (uint64_t)st.st_size == bytes + sizeof hash)
        found = tt_sys_read_at(fd, to, bytes, 0) == (ssize_t)bytes &&
                tt_sys_read_at(fd, &hash, sizeof hash, (off_t)bytes) == sizeof hash &&
                hash == XXH3_64bits(to, bytes);
    if (found && own)
        tt_block_unpack(b, element_size, own);
    if (found)
        futimens(fd, NULL);
    free(own);
    close(fd);
    return found;
}

/* Under its name only when it is whole; what another rank has put there first stays. */
void tt__piece_put(struct cache_store *s, const char *name, const void *data, uint64_t bytes)
{
    uint64_t hash = XXH3_64bits(data, bytes), size = bytes + sizeof hash;
    char path[PATH_MAX], temporary[PATH_MAX];
    bool linked = false;
    int fd;

    if (s->broken || !path_of(s, name, path) || !path_of(s, ".piece.XXXXXX", temporary))
        return;
    while (!tt__store_reserve(s, size))
        if (tt__store_room(size) > s->limit || !tt__piece_evict(s, size))
            return;
    fd = mkostemp(temporary, O_CLOEXEC);
    if (fd >= 0) {
        linked = tt_sys_write_at(fd, data, bytes, 0) == 0 &&
                 tt_sys_write_at(fd, &hash, sizeof hash, (off_t)bytes) == 0 &&
                 link(temporary, path) == 0;
        close(fd);
        unlink(temporary);
    }
    if (!linked)
        tt__store_unreserve(s, size);
}

/* ---- eviction ---- */

struct piece {
    struct timespec used;
    uint64_t size;
    char name[CACHE_NAME];
};

static int by_use(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;

    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    return (x->used.tv_nsec > y->used.tv_nsec) - (x->used.tv_nsec < y->used.tv_nsec);
}

static size_t list_pieces(DIR *directory, struct piece **out)
{
    size_t n = 0, capacity = 0;
    struct dirent *entry;
    struct stat st;

    *out = NULL;
    while ((entry = readdir(directory))) {
        size_t length = strlen(entry->d_name);

        if (length != 32 + strlen(TT_NODE_CACHE_PIECE) ||
            strcmp(entry->d_name + 32, TT_NODE_CACHE_PIECE) != 0 ||
            fstatat(dirfd(directory), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (n == capacity) {
            size_t more = 2 * capacity + 64;
            struct piece *grown = realloc(*out, more * sizeof *grown);

            if (!grown)
                break;
            *out = grown;
            capacity = more;
        }
        (*out)[n] = (struct piece){.used = st.st_mtim, .size = (uint64_t)st.st_size};
        memcpy((*out)[n++].name, entry->d_name, length + 1);
    }
    return n;
}

/* At least an eighth of the limit, so that the list is not made for every piece. */
bool tt__piece_evict(struct cache_store *s, uint64_t bytes)
{
    DIR *directory = opendir(s->directory);
    struct piece *list = NULL;
    uint64_t freed = 0, wanted = bytes > s->limit / 8 ? bytes : s->limit / 8;
    size_t n = directory ? list_pieces(directory, &list) : 0;

    if (n > 0)
        qsort(list, n, sizeof *list, by_use);
    for (size_t i = 0; i < n && freed < wanted; i++)
        if (unlinkat(dirfd(directory), list[i].name, 0) == 0) { /* else another rank was faster */
            tt__store_unreserve(s, list[i].size);
            freed += list[i].size;
        }
    free(list);
    if (directory)
        closedir(directory);
    return freed > 0;
}

void tt__pieces_remove(struct cache_store *s)
{
    DIR *directory = opendir(s->directory);
    struct piece *list = NULL;
    size_t n = directory ? list_pieces(directory, &list) : 0;

    for (size_t i = 0; i < n; i++)
        unlinkat(dirfd(directory), list[i].name, 0);
    if (directory) {
        unlinkat(dirfd(directory), TT_NODE_CACHE_USAGE, 0);
        closedir(directory);
    }
    free(list);
}
