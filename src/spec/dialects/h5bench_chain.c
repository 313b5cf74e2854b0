/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Benchmarks that use a file one after the other: what is in it, and whether it can be checked. */
#include <string.h>

#include "spec/dialects/h5bench_parts.h"

static bool is_given(const struct h5bench_emitter *to, const char *name)
{
    return tt_h5bench_find(to->out.keys, name) != NULL;
}

void tt_h5bench_adopt(struct h5bench_emitter *to)
{
    struct h5bench_pattern *p = to->p;
    const struct tt_h5bench_content *c = to->content;

    if (!c->is_known || !(tt_h5bench_changes(to->operation) || to->out.b->reads))
        return;
    if (!is_given(to, "DIM_1")) {
        p->num_dims = c->ndims;
        memcpy(p->dims, c->dims, sizeof p->dims);
    }
    if (!is_given(to, "FILE_PATTERN"))
        p->file = c->layout ? H5BENCH_INTERLEAVED : H5BENCH_CONTIG;
    if (!is_given(to, "FILE_PER_PROC"))
        p->file_per_process = c->per_process;
}

static bool covers(const struct h5bench_pattern *p, const struct tt_h5bench_content *c)
{
    bool same_blocks = c->count == 0 || (p->is_strided && p->blocks == c->count &&
                                         p->block[0] == c->block && p->stride[0] == c->stride);

    return c->is_known && c->can_check && p->num_dims == c->ndims && p->steps <= c->steps &&
           !memcmp(p->dims, c->dims, p->num_dims * sizeof *p->dims) && same_blocks &&
           (p->file == H5BENCH_INTERLEAVED) == (c->layout == 1);
}

static void begin_content(const struct h5bench_emitter *to)
{
    const struct h5bench_pattern *p = to->p;
    struct tt_h5bench_content *c = to->content;

    *c = (struct tt_h5bench_content){
        .is_known = true,
        .can_check = true,
        .unlimited = to->operation == TT_H5BENCH_WRITE_UNLIMITED,
        .per_process = p->file_per_process,
        .layout = p->file == H5BENCH_INTERLEAVED,
        .ndims = p->num_dims,
        .steps = p->steps,
        .seed = 1,
        .stride = p->is_strided ? p->stride[0] : 0,
        .block = p->is_strided ? p->block[0] : 0,
        .count = p->is_strided ? p->blocks : 0,
        .deviation = to->operation == TT_H5BENCH_WRITE_NORMAL ? p->deviation : 0,
    };
    memcpy(c->dims, p->dims, sizeof c->dims);
}

/* Other data, so that what is read afterwards tells whether it was written; where the seed says how
 * many particles a rank has, it stays. */
static void overwrite_content(struct h5bench_emitter *to)
{
    struct tt_h5bench_content *c = to->content;
    const struct h5bench_pattern *p = to->p;

    if (!c->is_known || c->deviation > 0)
        return;
    if (!covers(p, c) || p->steps != c->steps || p->is_strided != (c->count > 0))
        c->can_check = false;
    c->seed++;
}

void tt_h5bench_emit_chain(struct h5bench_emitter *to)
{
    struct tt_h5bench_content *c = to->content;
    static const char *const phases[] = {"write", "write", "write", "overwrite", "append", "read"};
    bool checks = to->out.b->reads && covers(to->p, c);

    if (to->out.b->reads && !checks)
        to->out.b->notice = c->is_known && c->can_check
                                ? "not checked: it was not written as it is read"
                                : "not checked: what is in the file is not known for certain";
    tt_h5bench_emit(&to->out, "IO_OPERATION", "particles.phase", phases[to->operation]);
    tt_h5bench_emit(&to->out, "IO_OPERATION", "particles.path", to->out.b->file);
    tt_h5bench_emit(&to->out, "IO_OPERATION", "particles.verify", checks ? "yes" : "no");
    tt_h5bench_emit(&to->out, "IO_OPERATION", "keep", "yes");
    tt_h5bench_emit(&to->out, "IO_OPERATION", "label", to->out.b->name);
    if (to->operation == TT_H5BENCH_OVERWRITE)
        overwrite_content(to);
    if (to->operation == TT_H5BENCH_APPEND && c->is_known)
        tt_h5bench_emit_number(&to->out, "IO_OPERATION", "particles.appended", c->appended++);
    if (to->operation < TT_H5BENCH_OVERWRITE)
        begin_content(to);
    else if (c->is_known)
        tt_h5bench_emit_number(&to->out, "IO_OPERATION", "seed", c->seed);
    if (c->unlimited)
        tt_h5bench_emit(&to->out, "IO_OPERATION", "particles.unlimited", "yes");
}
