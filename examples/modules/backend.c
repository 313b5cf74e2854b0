/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The smallest complete backend: a raw file through C's stdio. Copy it to make your own.
 *
 * Where a format has variables and steps of its own, use them; a raw file takes the places that
 * tt_file_raw_offset() gives, which lets it carry layout layers, too. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "io/file.h"
#include "io/module.h"

struct template_state {
    FILE *stream;
};

static int make_file(struct tt_file *file, struct tt_error *e)
{
    int64_t since = tt_now_ns();
    FILE *made = fopen(file->spec->path, "wbx");

    file->made_ns = tt_now_ns() - since;
    if (!made || fclose(made) != 0)
        return tt_fail_call(e, errno, made ? "fclose" : "fopen", file->spec->path, -1);
    return TT_OK;
}

/* One rank makes the file and fails if it exists ("x"); the others wait for the outcome. The core
 * times the next function as open, and adds made_ns: what rank 0 took to make the file. */
static int template_prepare(struct tt_file *file, struct tt_error *e)
{
    int rc = TT_OK;

    if (file->spec->access == TT_READ_ONLY)
        return TT_OK;
    if (file->rank == 0)
        rc = make_file(file, e);
    return tt_file_agree(file, rc, e);
}

static int template_open(struct tt_file *file, struct tt_error *e)
{
    struct template_state *s = file->state;

    s->stream = fopen(file->spec->path, file->spec->access == TT_READ_ONLY ? "rb" : "r+b");
    if (!s->stream)
        return tt_fail_call(e, errno, "fopen", file->spec->path, -1);
    setvbuf(s->stream, NULL, _IONBF, 0); /* other ranks read what this one has written */
    return TT_OK;
}

/* Both directions: walk the pieces of the block that are contiguous in the file and in memory. */
static int transfer(struct tt_file *file, enum tt_direction direction, uint64_t step,
                    const struct tt_block *b, struct tt_error *e)
{
    struct template_state *s = file->state;
    uint64_t base = tt_file_raw_offset(file, b->variable, step);
    struct tt_extent_iter it;
    struct tt_extent x;

    tt_extents_begin(&it, b, file->spec->variables[b->variable].element->size);
    while (tt_extents_next(&it, &x)) {
        off_t offset = (off_t)(base + x.file_offset);
        char *data = (char *)b->data + x.memory_offset;
        size_t moved;

        if (fseeko(s->stream, offset, SEEK_SET) != 0)
            return tt_fail_call(e, errno, "fseeko", file->spec->path, offset);
        errno = 0;
        moved = direction == TT_WRITING ? fwrite(data, 1, x.length, s->stream)
                                        : fread(data, 1, x.length, s->stream);
        if (moved != x.length && errno)
            return tt_fail_call(e, errno, direction == TT_WRITING ? "fwrite" : "fread",
                                file->spec->path, offset);
        if (moved != x.length)
            return tt_fail(e, TT_FAILED, "'%s' ends before the data asked for", file->spec->path);
    }
    return TT_OK;
}

static int template_write(struct tt_file *file, uint64_t step, const struct tt_block *b,
                          struct tt_error *e)
{
    return transfer(file, TT_WRITING, step, b, e);
}

static int template_read(struct tt_file *file, uint64_t step, const struct tt_block *b,
                         struct tt_error *e)
{
    return transfer(file, TT_READING, step, b, e);
}

static int template_sync(struct tt_file *file, struct tt_error *e)
{
    struct template_state *s = file->state;

    if (fflush(s->stream) != 0 || fsync(fileno(s->stream)) != 0)
        return tt_fail_call(e, errno, "fsync", file->spec->path, -1);
    return TT_OK;
}

static int template_close(struct tt_file *file, struct tt_error *e)
{
    struct template_state *s = file->state;

    if (fclose(s->stream) != 0)
        return tt_fail_call(e, errno, "fclose", file->spec->path, -1);
    return TT_OK;
}

const struct tt_backend tt_backend_template = {
    .name = "template",
    .summary = "a raw file through stdio; the example in docs/extending.md",
    .kind = TT_BACKEND,
    .caps = TT_CAP_STORES | TT_CAP_RAW | TT_CAP_SYNCS_ALONE | TT_CAP_CARRIES_LAYOUT,
    .state_size = sizeof(struct template_state),
    .prepare = template_prepare,
    .open = template_open,
    .write = template_write,
    .read = template_read,
    .sync = template_sync,
    .close = template_close,
};

TT_MODULE(.backend = &tt_backend_template);
