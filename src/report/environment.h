/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a result was measured on: build, libraries, machine, file system of the data directory. */
#ifndef TT_REPORT_ENVIRONMENT_H
#define TT_REPORT_ENVIRONMENT_H

#include "plan/config.h"

/* Of this build alone: version, revision, flags, compiler, libraries, mpi. A new object; NULL: no
 * memory. */
json_t *tt_environment_build(void);
/* {"hdf5": "hdf5-openmpi 1.10.8"}: the modules of this build and their libraries; the same. */
json_t *tt_build_modules(void);
/* A new object: version, revision, flags, compiler, libraries, mpi, host, kernel, cpu, cores,
 * memory, caches, and "data": {path, filesystem, device, mount options, size, free}. Works before
 * MPI_Init and on any rank; NULL: no memory. */
json_t *tt_environment(const char *data_directory);
/* The same where a job's files are. */
json_t *tt_environment_of(const struct tt_config *config);

#endif
