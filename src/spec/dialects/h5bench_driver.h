/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a workflow says for all of its benchmarks: mpi and file-system. */
#ifndef TT_SPEC_DIALECTS_H5BENCH_DRIVER_H
#define TT_SPEC_DIALECTS_H5BENCH_DRIVER_H

#include <stdbool.h>

#include "spec/settings.h"

/* From the settings of the whole file, whose keys outside of benchmarks are checked, too. */
int tt_h5bench_read_driver(const char *path, const struct tt_settings *file, bool is_hdf5,
                           struct tt_settings *common, struct tt_error *e);

#endif
