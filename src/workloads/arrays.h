/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table "arrays" of a result: minimum and maximum over ranks, in seconds. */
#ifndef TT_WORKLOADS_ARRAYS_H
#define TT_WORKLOADS_ARRAYS_H

enum {
    TT_ARRAYS_WRITE_PHASE, /* from before the file is made to after it is closed */
    TT_ARRAYS_CREATE,      /* making it and all variables */
    TT_ARRAYS_WRITE,       /* in transfers */
    TT_ARRAYS_READ_PHASE,
    TT_ARRAYS_OPEN,
    TT_ARRAYS_READ,
    TT_ARRAYS_FILE_SIZE, /* bytes */
    TT_ARRAYS_NROWS,
};

#endif
