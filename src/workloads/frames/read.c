/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading frames, from storage and not from the page cache, and checking every byte of them. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/agree.h"
#include "node/page_cache.h"
#include "workloads/frames/job.h"

/* Collective. Every node forgets the file; then rank 0 looks what its own still has. */
static void evict(struct tt_frames_job *f, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int64_t resident = -1;
    struct stat st;

    if (fd >= 0 && f->options->cold)
        tt_cache_evict(fd);
    MPI_Barrier(f->engine->comm);
    if (fd >= 0 && fstat(fd, &st) == 0)
        resident = tt_cache_resident(fd, (uint64_t)st.st_size);
    f->cache_unknown = f->cache_unknown || resident < 0;
    if (resident > 0 && f->engine->rank == 0)
        f->cached += (double)resident;
    if (fd >= 0)
        close(fd);
}

int tt_frames_evict(struct tt_frames_job *f, struct tt_error *e)
{
    uint64_t files = tt_frames_has_files(f->options) ? f->options->frames : 1;
    char *name;
    int rc = TT_OK;

    for (uint64_t i = 0; i < files && rc == TT_OK; i++) {
        int n = tt_frames_has_files(f->options)
                    ? asprintf(&name, "%s.%06llu", f->path, (unsigned long long)i)
                    : asprintf(&name, "%s", f->path);

        rc = tt_agree(f->engine->comm, n < 0 ? tt_fail_nomem(e, "a path") : TT_OK, e);
        if (rc == TT_OK)
            evict(f, name);
        if (n >= 0)
            free(name);
    }
    return rc;
}

static int check_text(const struct tt_frames_job *f, int which, uint64_t frame, struct tt_error *e)
{
    uint64_t size = tt_frames_text_size(f->options, which);

    tt_frames_write_text(f, which, frame, f->right);
    if (memcmp(f->right, f->texts[which], size) == 0)
        return TT_OK;
    return tt_fail(e, TT_CORRUPT, "frame %llu: '%s' is not what was written",
                   (unsigned long long)(frame + 1), f->variables[f->index[which]].path);
}

static int check_frame(const struct tt_frames_job *f, uint64_t frame, const struct tt_block *blocks,
                       unsigned n, struct tt_error *e)
{
    uint64_t wrong;

    for (unsigned i = 0; i < n; i++)
        for (int which = 0; which < TT_FRAMES_NVARIABLES; which++)
            if (which != TT_FRAMES_DATA && blocks[i].data == f->texts[which] &&
                check_text(f, which, frame, e) != TT_OK)
                return TT_CORRUPT;
    if (tt_frames_matches(&f->shape, f->engine->config->run->seed, frame, f->floats, &wrong))
        return TT_OK;
    return tt_fail(e, TT_CORRUPT, "frame %llu: value %llu of element %llu is not what was written",
                   (unsigned long long)(frame + 1), (unsigned long long)(wrong % f->shape.width),
                   (unsigned long long)(wrong / f->shape.width));
}

int tt_frames_read(struct tt_frames_job *f, uint64_t frame, struct tt_error *e)
{
    struct tt_block blocks[TT_FRAMES_NVARIABLES];
    int64_t t = tt_now_ns();
    unsigned n = tt_frames_list_blocks(f, frame, blocks);
    int rc;

    memset(f->floats, 0xff, f->shape.values * sizeof *f->floats);
    for (int i = 0; i < TT_FRAMES_NVARIABLES; i++)
        if (i != TT_FRAMES_DATA)
            memset(f->texts[i], 0, tt_frames_text_size(f->options, i));
    tt_phase_add(f->engine, TT_COMPUTE, t);
    rc = tt_series_load(f->series, frame, n, blocks, e);
    if (rc != TT_OK)
        return rc;
    t = tt_now_ns();
    rc = check_frame(f, frame, blocks, n, e);
    tt_phase_add(f->engine, TT_COMPUTE, t);
    f->nread++;
    return tt_agree(f->engine->comm, rc, e);
}
