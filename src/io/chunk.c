/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/chunk.h"

enum { CHUNK_BYTES = 1 << 20 };

int tt_chunk_check(const struct tt_counts *wish, const char *backend, struct tt_error *e)
{
    for (size_t i = 0; i < wish->n; i++)
        if (wish->values[i] == 0)
            return tt_fail(e, TT_USAGE, "%s.chunk: a chunk cannot have 0 elements", backend);
    return TT_OK;
}

int tt_chunk_check_fit(const struct tt_counts *wish, const struct tt_file *file, struct tt_error *e)
{
    bool fits = wish->n == 0;

    for (unsigned i = 0; i < file->spec->nvariables; i++)
        fits |= wish->n == (size_t)file->spec->variables[i].ndims;
    return fits ? TT_OK
                : tt_fail(e, TT_USAGE, "%s.chunk has %zu dimensions, but no variable has as many",
                          file->backend->name, wish->n);
}

bool tt_chunk_choose(const struct tt_counts *wish, const struct tt_variable *v, int lead,
                     bool grows, uint64_t *chunk)
{
    bool given = wish->n == (size_t)v->ndims;
    uint64_t bytes = v->element->size;

    if (!given && !grows)
        return false;
    chunk[0] = 1;
    for (int i = 0; i < v->ndims; i++) {
        uint64_t most = v->dims[i] ? v->dims[i] : 1, side = given ? wish->values[i] : most;

        chunk[lead + i] = side < most ? side : most;
        bytes *= chunk[lead + i];
    }
    for (int i = 0; !given && i < v->ndims; i++) {
        uint64_t inner = bytes / chunk[lead + i], fit = CHUNK_BYTES / (inner ? inner : 1);

        if (fit < chunk[lead + i])
            chunk[lead + i] = fit ? fit : 1;
        bytes = inner * chunk[lead + i];
    }
    return true;
}
