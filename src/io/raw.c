/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/raw.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/agree.h"
#include "base/clock.h"
#include "io/disk.h"

static int fail_direct(const struct tt_file *file, struct tt_error *e)
{
    return tt_fail(e, TT_UNSUPPORTED,
                   "'%s': this file system has no O_DIRECT; leave %s.odirect out, or use --dir on "
                   "another one",
                   file->spec->path, file->backend->name);
}

/* File systems before Linux 6.1, and some of today, do not tell the multiples. */
static int ask_multiples(const struct tt_file *file, struct tt_raw *raw, struct tt_error *e)
{
    struct statx st;

    if (!raw->direct ||
        statx(raw->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_DIOALIGN, &st) != 0 ||
        !(st.stx_mask & STATX_DIOALIGN))
        return TT_OK;
    raw->memory = st.stx_dio_mem_align;
    raw->place = st.stx_dio_offset_align;
    return raw->memory && raw->place ? TT_OK : fail_direct(file, e);
}

static int open_here(struct tt_file *file, int flags, struct tt_raw *raw, struct tt_error *e)
{
    int rc;

    raw->fd = open(file->spec->path, flags | O_CLOEXEC | (raw->direct ? O_DIRECT : 0), 0666);
    if (raw->fd < 0 && errno == EINVAL && raw->direct)
        return fail_direct(file, e);
    if (raw->fd < 0)
        return tt_fail_call(e, errno, "open", file->spec->path, -1);
    rc = ask_multiples(file, raw, e);
    if (rc != TT_OK)
        close(raw->fd);
    return rc;
}

/* Rank 0 makes the file, so that O_EXCL can tell whether somebody else's is there. */
int tt_raw_prepare(struct tt_file *file, bool direct, struct tt_raw *raw, struct tt_error *e)
{
    int64_t t = tt_now_ns();
    int rc = TT_OK;

    *raw = (struct tt_raw){.direct = direct};
    if (file->spec->access != TT_CREATE)
        return TT_OK;
    if (file->rank == 0)
        rc = open_here(file, O_RDWR | O_CREAT | O_EXCL, raw, e);
    file->made_ns = file->rank == 0 ? tt_now_ns() - t : 0;
    if (file->rank == 0 && rc == TT_OK)
        tt_disk_keep_made(file, raw->fd);
    if (file->size == 1)
        return rc;
    rc = tt_agree(file->spec->comm, rc, e);
    if (rc == TT_OK)
        tt_disk_share_made(file);
    return rc;
}

int tt_raw_open(struct tt_file *file, struct tt_raw *raw, struct tt_error *e)
{
    int rc;

    if (file->spec->access == TT_READ_ONLY)
        return open_here(file, O_RDONLY, raw, e);
    if (file->spec->access == TT_UPDATE)
        return open_here(file, O_RDWR, raw, e);
    if (file->rank == 0)
        return TT_OK;
    rc = open_here(file, O_RDWR | O_NOFOLLOW, raw, e);
    if (rc == TT_OK && tt_disk_check_made(file, raw->fd, e) != TT_OK) {
        close(raw->fd);
        rc = e->code;
    }
    return rc;
}

int tt_raw_close(struct tt_file *file, struct tt_raw *raw, struct tt_error *e)
{
    if (close(raw->fd) != 0)
        return tt_fail_call(e, errno, "close", file->spec->path, -1);
    return TT_OK;
}

int tt__raw_check(const struct tt_file *file, const struct tt_raw *raw, const void *memory,
                  uint64_t offset, uint64_t length, struct tt_error *e)
{
    const char *path = file->spec->path;

    if (offset % raw->place)
        return tt_fail(e, TT_UNSUPPORTED,
                       "O_DIRECT on '%s': offset %llu is not a multiple of %u; choose sizes that "
                       "are, or use layer align",
                       path, (unsigned long long)offset, raw->place);
    if (length % raw->place)
        return tt_fail(e, TT_UNSUPPORTED,
                       "O_DIRECT on '%s': %llu bytes at offset %llu are not a multiple of %u, and "
                       "a part of a block, also the last of a file, can only go through the cache",
                       path, (unsigned long long)length, (unsigned long long)offset, raw->place);
    if ((uintptr_t)memory % raw->memory)
        return tt_fail(e, TT_UNSUPPORTED,
                       "O_DIRECT on '%s': the data for offset %llu lie in memory at no multiple of "
                       "%u; what --mode async writes comes from a buffer that does",
                       path, (unsigned long long)offset, raw->memory);
    return TT_OK;
}

unsigned tt_raw_advance(struct iovec *pieces, unsigned n, size_t moved)
{
    unsigned done = 0;

    while (done < n && moved >= pieces[done].iov_len)
        moved -= pieces[done++].iov_len;
    if (done < n) {
        pieces[done].iov_base = (char *)pieces[done].iov_base + moved;
        pieces[done].iov_len -= moved;
    }
    return done;
}

int tt_raw_fail(const struct tt_file *file, const struct tt_raw *raw, enum tt_direction direction,
                int error, int64_t offset, struct tt_error *e)
{
    if (error == 0)
        return tt_fail(e, TT_FAILED, "'%s' ends at offset %lld, before the data asked for",
                       file->spec->path, (long long)offset);
    if (error == EINVAL && raw->direct)
        return tt_fail(e, TT_UNSUPPORTED,
                       "O_DIRECT on '%s' refuses the transfer at offset %lld: memory, offset or "
                       "length is not a multiple of the block, which this file system does not "
                       "tell; 4096 should be one",
                       file->spec->path, (long long)offset);
    return tt_fail_call(e, error, direction == TT_WRITING ? "write" : "read", file->spec->path,
                        offset);
}

int tt_raw_query(const struct tt_raw *raw, const char *key, struct tt_facts *facts,
                 struct tt_error *e)
{
    char how[96] = "the file system takes the flag, but does not tell what it does with it";
    int flags = fcntl(raw->fd, F_GETFL);
    bool set = flags >= 0 && flags & O_DIRECT;
    enum tt_proof proof = !set ? TT_NO_EFFECT : raw->place > 0 ? TT_IN_EFFECT : TT_UNCONFIRMED;

    if (!raw->direct)
        return TT_OK;
    if (proof != TT_UNCONFIRMED)
        snprintf(how, sizeof how,
                 "flags of the open file; multiples of %u in memory and %u in the file",
                 raw->memory, raw->place);
    if (tt_facts_add(facts, key, "yes", set ? "yes" : "no", proof, how) != TT_OK)
        return tt_fail_nomem(e, "facts");
    return TT_OK;
}
