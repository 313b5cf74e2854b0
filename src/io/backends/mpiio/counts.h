/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the kernel saw of a library's writes: the only witness of settings that libraries echo. */
#ifndef TT_MPIIO_COUNTS_H
#define TT_MPIIO_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

struct tt_io_count {
    uint64_t bytes, calls; /* by write calls of all kinds, also those to pipes and sockets */
};

/* Of the calling thread, or of the whole process where a library writes by threads of its own.
 * False if this kernel does not count. */
bool tt_io_count_read(bool process, struct tt_io_count *out);

#endif
