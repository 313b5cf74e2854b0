/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page cache. cachestat tells what it holds (Linux 6.5 and later), mincore elsewhere; both only
 * to those who could write the file. */
#include "node/page_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_cachestat
#define SYS_cachestat 451 /* on every architecture but alpha */
#endif

int tt_cache_evict(int fd, const char *path, struct tt_error *e)
{
    /* What is not on storage yet cannot be forgotten. Some file systems have nothing to sync. */
    if (fsync(fd) != 0 && errno != EINVAL && errno != EROFS && errno != EINTR)
        return tt_fail_call(e, errno, "fsync", path, -1);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    return TT_OK;
}

static int64_t by_cachestat(int fd, uint64_t size)
{
    struct {
        uint64_t offset, length;
    } range = {0, size};
    struct {
        uint64_t cached, dirty, writeback, evicted, recently_evicted;
    } pages = {0};

    if (syscall(SYS_cachestat, fd, &range, &pages, 0) != 0)
        return -1;
    return (int64_t)pages.cached * sysconf(_SC_PAGESIZE);
}

/* mincore calls everything resident of a file that is none of the caller's business. */
static bool is_ours(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && (geteuid() == 0 || st.st_uid == geteuid());
}

#define WINDOW 16384 /* pages asked for at a time */

static int64_t by_mincore(int fd, uint64_t size)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), window = WINDOW * page;
    unsigned char in_core[WINDOW];
    int64_t resident = 0;

    if (!is_ours(fd))
        return -1;
    for (uint64_t at = 0; at < size; at += window) {
        uint64_t n = size - at < window ? size - at : window;
        void *map = mmap(NULL, n, PROT_READ, MAP_SHARED, fd, (off_t)at);
        int failed;

        if (map == MAP_FAILED)
            return -1;
        failed = mincore(map, n, in_core);
        munmap(map, n);
        if (failed)
            return -1;
        for (uint64_t i = 0; i < (n + page - 1) / page; i++)
            resident += in_core[i] & 1;
    }
    return resident * (int64_t)page;
}

int64_t tt_cache_resident(int fd, uint64_t size)
{
    int64_t bytes;

    if (size == 0)
        return 0;
    bytes = by_cachestat(fd, size);
    if (bytes < 0)
        bytes = by_mincore(fd, size);
    return bytes < (int64_t)size ? bytes : (int64_t)size; /* the last page is not full */
}
