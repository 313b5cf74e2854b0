/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The manifest of a run directory: what the run made outside of it, and nothing else is ever
 * deleted. The ranks of a node append to one file, a line each by one write:
 *
 *   claim KIND NS PATH                          about to be made, at this instant of the wall clock
 *   made KIND PLACE DEVICE INODE BORN_NS PATH   it was; what it is
 *   leave KIND PATH                             it is somebody else's after all
 *
 * KIND is file, directory, parent (a directory that others may use too, so it may stay), tree (a
 * directory with what the workload says it makes in it), bundle (a directory that is one data file:
 * a library makes what is in it, and all of it goes with the directory), cache (one on storage of
 * the node, of the layer cache; tutti clean spares it while it has what is nowhere else) or beside
 * (what an MPI library makes beside a file while it opens it: PATH.locktest.RANK). A blank, a
 * control character and '%' of a path are written as %XX, so every path is one word of one line. A
 * last line without an end was being written when its writer died, and counts for nothing. */
#ifndef TT_PLAN_MANIFEST_H
#define TT_PLAN_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum tt_made_kind {
    TT_MADE_FILE,
    TT_MADE_DIRECTORY,
    TT_MADE_PARENT,
    TT_MADE_TREE,
    TT_MADE_BESIDE,
    TT_MADE_BUNDLE,
    TT_MADE_CACHE,
    TT_MADE_KINDS
};

/* What tells a file from another one that stands at its path later. Inode numbers are used again,
 * so the time of birth counts, where the file system knows it. The number of a device means
 * something on one node until that is started again: that is its place. */
struct tt_identity {
    uint64_t place; /* 0: nothing is known of the file */
    uint64_t device, inode;
    int64_t born_ns; /* 0: the file system does not tell */
};

struct tt_made {
    enum tt_made_kind kind;
    char *path;
    int64_t claimed_ns;
    struct tt_identity identity;
};

struct tt_made_list {
    size_t n;
    struct tt_made *list; /* the last one first: a directory comes after what is in it */
};

/* The first rank of this node: each node has a file of its own, manifest-RANK and for rank 0
 * manifest, since nodes that append to one file over a network overwrite each other. Within a node
 * the kernel keeps appends apart. */
void tt_manifest_write_as(int first_rank);
/* An absolute path for a relative one, since a file is to be found again from anywhere. */
int tt_manifest_claim(const char *directory, enum tt_made_kind kind, const char *path,
                      struct tt_error *e);
int tt_manifest_made(const char *directory, enum tt_made_kind kind, const char *path,
                     const struct tt_identity *identity, struct tt_error *e);
int tt_manifest_leave(const char *directory, enum tt_made_kind kind, const char *path,
                      struct tt_error *e);
/* Takes away the file of this node, of which nothing is left; that of rank 0 stays. */
void tt_manifest_drop(const char *directory);
/* A directory is performed once: refuse one whose manifest is not the empty file it is made with,
 * or whose ranks have been ready. */
int tt_manifest_check_new(const char *directory, struct tt_error *e);
/* What is said then. */
int tt_manifest_fail_used(const char *directory, struct tt_error *e);

/* What was made and not left, each path once. The directory may be anybody's: TT_CORRUPT for a line
 * that is none. Free it in every case. */
int tt_manifest_read(const char *directory, struct tt_made_list *out, struct tt_error *e);
void tt_manifest_free(struct tt_made_list *all);

#endif
