/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chunks of variables in formats that have them. */
#ifndef TT_IO_CHUNK_H
#define TT_IO_CHUNK_H

#include "io/file.h"

/* Without MPI: is no side of the chunk empty? backend: whose key "chunk" it is. */
int tt_chunk_check(const struct tt_counts *wish, const char *backend, struct tt_error *e);

/* The wish holds for variables with as many dimensions; there must be one, if there is a wish. */
int tt_chunk_check_fit(const struct tt_counts *wish, const struct tt_file *file,
                       struct tt_error *e);

/* The chunk of a variable with lead dimensions before its own: the wish where it fits, else about 1
 * MiB. False if none is wished for and none is needed, since the variable does not grow. */
bool tt_chunk_choose(const struct tt_counts *wish, const struct tt_variable *v, int lead,
                     bool grows, uint64_t *chunk);

#endif
