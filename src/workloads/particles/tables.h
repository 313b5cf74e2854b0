/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables that the workload particles leaves in a result. */
#ifndef TT_WORKLOADS_PARTICLES_TABLES_H
#define TT_WORKLOADS_PARTICLES_TABLES_H

/* "h5bench": rank 0's seconds, as h5bench defines them; a row for writing, one for reading. */
enum {
    TT_PARTICLES_RAW,      /* in calls that move data, and waiting for them */
    TT_PARTICLES_METADATA, /* making groups and variables */
    TT_PARTICLES_OBSERVED,
    TT_PARTICLES_COMPUTATION,
    TT_PARTICLES_OPENING, /* of the file */
    TT_PARTICLES_SYNCING,
    TT_PARTICLES_CLOSING,
    TT_PARTICLES_NTIMES,
};

/* "ranks", where their numbers of particles differ: one row. */
enum {
    TT_PARTICLES_TOTAL, /* of all ranks */
    TT_PARTICLES_MEAN,
    TT_PARTICLES_DEVIATION, /* standard deviation of what ranks have */
    TT_PARTICLES_NNUMBERS,
};

#endif
