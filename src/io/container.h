/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For backends over libraries whose files hold variables of their own: hdf5, netcdf, pnetcdf,
 * adios2. The container owns what does not depend on the library: opening and cleaning up, the
 * failure that sticks, the check for space before a flush, which variables are defined when, and
 * how a block becomes calls that every rank makes equally often. A library supplies the hooks
 * below.
 *
 * A backend's state begins with a struct tt_container. Its prepare calls
 * tt_container_prepare(); open, define, write, read, sync and close of the table are those of the
 * container, or call them.
 */
#ifndef TT_IO_CONTAINER_H
#define TT_IO_CONTAINER_H

#include "io/file.h"

/* The step before and the bytes of a string or record behind the variable's own dimensions. */
enum { TT_CONTAINER_DIMS = TT_MAX_DIMS + 1 };

/* What one call of the library moves. */
struct tt_piece {
    enum tt_direction direction;
    unsigned variable;
    uint64_t step;
    const struct tt_block *block;
    bool collective; /* every rank makes the call, with nothing if need be */
    bool first;      /* of the block */
    int words[2];    /* the library's own, from its hook check: the greatest of all ranks' */
    bool listed;     /* a list of boxes; otherwise one box, with gaps if stride is above 1 */
    size_t n;        /* boxes; 0: nothing, and starts[0] and counts[0] are zeros */
    MPI_Offset **starts, **counts;
    const MPI_Offset *stride, *blocks; /* of the one; blocks above 1 with hyperslabs only */
    void *data;
    uint64_t bytes;
    const struct tt_selection *memory; /* NULL: data lies in one piece; with hyperslabs only */
    const char *call;                  /* its name, filled in by move */
};

enum tt_lists {
    TT_LISTS_MIX,      /* the same call takes lists and slabs */
    TT_LISTS_TOGETHER, /* another call, which all ranks make if one has a list */
    TT_LISTS_ALONE,    /* no collective call takes a list: every rank transfers its own */
};

/* Hooks of a library; NULL is allowed where it says so. Unless they are collective, they must not
 * wait for other ranks. */
struct tt_library {
    bool hyperslabs;     /* slabs with blocks, and slabs of memory, need not be taken apart */
    bool no_gaps;        /* slabs with gaps are taken apart, too */
    bool sorted;         /* boxes of a list come in the order of the file */
    bool bundle;         /* the file is a directory, which the engine has made */
    bool defines_ahead;  /* all steps whose number is known are defined at open */
    unsigned byte_kinds; /* 1 << kind: elements that get a last dimension of their bytes */
    uint64_t no_length;  /* what a dimension without elements has, if it cannot be 0 */
    enum tt_lists lists;
    size_t round_boxes;     /* boxes in one call, at most */
    uint64_t call_bytes;    /* bytes in one call, at most */
    const char *flush_call; /* name of the call that flush makes */
    bool close_flushes;     /* its close hands over what is held, and does not wait for storage */

    /* Memory, types, container.info and container.collective; release follows also if it fails. A
     * hook that waits for others lets ranks agree before it. */
    int (*prepare)(struct tt_file *file, struct tt_error *e);
    /* The library's own call that makes or opens the file, with container.info. Collective. */
    int (*open)(struct tt_file *file, struct tt_error *e);
    /* May be NULL. Before the first definitions, or (again) before those of a step. Collective. */
    int (*begin_define)(struct tt_file *file, bool again, struct tt_error *e);
    int (*define)(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e);
    /* Make the group if need be, and its attributes; before the variables. */
    int (*define_group)(struct tt_file *file, const struct tt_group *group, uint64_t step,
                        struct tt_error *e);
    /* May be NULL. Something was defined; or a file that is there has been opened. Collective. */
    int (*begin_data)(struct tt_file *file, bool defined, struct tt_error *e);
    /* Look up a variable that is there, and see that it is what the file's spec says. */
    int (*find)(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e);
    /* Let what is unlimited in the variable reach to its end at this step. Collective. */
    int (*extend)(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e);
    /* May be NULL. Can this block be moved? Before ranks agree, with which p->words travel. */
    int (*check)(struct tt_file *file, struct tt_piece *p, struct tt_error *e);
    int (*move)(struct tt_file *file, struct tt_piece *p, struct tt_error *e);
    /* NULL: nothing. Bytes that the library keeps in memory and writes by itself, when it likes. */
    uint64_t (*held)(const struct tt_file *file);
    /* Hand everything to the operating system. Collective. */
    int (*flush)(struct tt_file *file, struct tt_error *e);
    /* NULL: tt_disk_sync. Make it durable. Collective. */
    int (*sync)(struct tt_file *file, struct tt_error *e);
    /* NULL: rank 0 looks for holes on a full disk. Is everything there that was written? */
    int (*check_complete)(const struct tt_file *file, struct tt_error *e);
    /* Let go of variables and memory, before the last flush. */
    void (*release)(struct tt_file *file);
    int (*close)(struct tt_file *file, struct tt_error *e); /* collective */
};

struct tt_container {
    const struct tt_library *library;
    MPI_Info info;      /* hints for open; freed after it */
    bool collective;    /* transfers are */
    bool is_open;       /* in the library */
    uint64_t *at_hand;  /* of each variable: 1 + the step for which it was found; 0: not at hand */
    uint64_t steps;     /* so many have a place in the file */
    uint64_t transfers; /* calls that moved something */
    bool failed;        /* a write or flush of this rank: what is kept can not be flushed */
    bool flush_failed;  /* and this was the flush itself */
    /* kept between transfers: */
    struct tt_extent_list extents;
    MPI_Offset *numbers, **boxes; /* all starts, then all counts, */
    size_t boxes_size;            /* so many have memory */
    void *staging;
    size_t staging_size;
};

/* Opening, in two parts. Preparing does all that is no call of the library: memory, hints, and the
 * file itself, made by rank 0 and seen by every rank. Both are collective, ranks have agreed, and a
 * failure leaves nothing. */
int tt_container_prepare(struct tt_file *file, const struct tt_library *library,
                         struct tt_error *e);
int tt_container_open(struct tt_file *file, struct tt_error *e);

/* Of the backend's table. */
int tt_container_define(struct tt_file *file, uint64_t step, struct tt_error *e);
int tt_container_write(struct tt_file *file, uint64_t step, const struct tt_block *b,
                       struct tt_error *e);
int tt_container_read(struct tt_file *file, uint64_t step, const struct tt_block *b,
                      struct tt_error *e);
int tt_container_sync(struct tt_file *file, struct tt_error *e);
int tt_container_close(struct tt_file *file, struct tt_error *e);

/* ---- for hooks ---- */

/* Whether the step is a dimension of the variable, and whether that one grows. */
bool tt_container_has_step(const struct tt_file_spec *spec, const struct tt_variable *v);
bool tt_container_step_grows(const struct tt_file_spec *spec, const struct tt_variable *v);
/* Whether every step has a variable of its own. */
bool tt_container_has_own(const struct tt_file_spec *spec, const struct tt_variable *v);
bool tt_container_group_is_own(const struct tt_file_spec *spec, const struct tt_group *g);
/* An attribute of a group as it is at this step. */
struct tt_attribute tt_container_attribute(const struct tt_file_spec *spec,
                                           const struct tt_attribute *a, uint64_t step);
/* Whether the variable has a last dimension of its elements' bytes. */
bool tt_container_has_bytes(const struct tt_file *file, const struct tt_variable *v);
/* All dimensions, the step without its length; returns how many. */
int tt_container_dims(const struct tt_file *file, const struct tt_variable *v, uint64_t *dims);
/* Whether what is there has these n dimensions; what is unlimited may have grown, or is to. */
bool tt_container_matches(const struct tt_file *file, const struct tt_variable *v, int n,
                          const uint64_t *dims);
/* Finds the variable of this step unless it is at hand. */
int tt_container_find(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e);
/* Makes the library's call, and sees what became of it. */
int tt_container_move(struct tt_file *file, struct tt_piece *p, struct tt_error *e);

/* A failed call of the library. cause is an errno; 0: not known, and the disk is looked at.
 * variable may be NULL. */
int tt_container_fail(const struct tt_file *file, int cause, const char *call, const char *variable,
                      const char *text, struct tt_error *e);
/* Collective: what a rank knows of itself must not decide whether it takes part in anything. */
bool tt_container_failed_anywhere(const struct tt_file *file);

#endif
