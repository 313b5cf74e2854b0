/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The files that the layer cache keeps on the storage of a node. tutti convert and tutti clean read
 * them without MPI and without the run.
 *
 * A run has one directory on each node, DIR/tutti-ID.HOST.cache, with:
 *
 *   usage                    bytes that the ranks of the node use; they map it
 *   NAME-HASH-RANK.writes    what a rank has written to a target and not moved yet
 *   KEY.piece                what was read of a target, named by what it is; then its checksum
 *
 * A file of writes begins with a text of TT_NODE_CACHE_HEAD bytes:
 *
 *   tutti cache 2
 *   moved 00000000000000000012 b3393e1e
 *                                   requests before this one need not be moved any more; then a
 *                                   checksum of the digits
 *   caches 00000000000000000008 e053d063
 *                                   ranks that have such a file of the target
 *   converted no                    yes: tutti convert has made a whole file
 *   rank 3 of 8
 *   inode 1234                      of the target
 *   sync local
 *   target /path/to/data
 *   end
 *
 * Behind it is a log of one rank (io/log.h). Its index is written only where sync is local: then
 * the requests in it that have not been moved are acknowledged, and may be nowhere else. The call
 * of a request is its number among those of all ranks. */
#ifndef TT_IO_NODE_CACHE_H
#define TT_IO_NODE_CACHE_H

#include <limits.h>

#include "io/log.h"

#define TT_NODE_CACHE_VERSION 2
#define TT_NODE_CACHE_MAGIC "tutti cache "
enum { TT_NODE_CACHE_HEAD = 16384 };
#define TT_NODE_CACHE_WRITES ".writes"
#define TT_NODE_CACHE_NEW ".new" /* of a file of writes while it is being made */
#define TT_NODE_CACHE_PIECE ".piece"
#define TT_NODE_CACHE_USAGE "usage"
/* Of the target while any of it is only in caches: their directory on the node of rank 0; behind
 * "target " where syncs waited for the target, so that nothing acknowledged is only in them. */
#define TT_NODE_CACHE_MARK "user.tutti.cache"
/* Of such a target after all of its caches were converted: it need not be spared any more. */
#define TT_NODE_CACHE_CONVERTED "user.tutti.cache.converted"

/* Of a run on this node; the caller frees. */
char *tt_node_cache_directory(const char *dir, const char *id);
/* Of what a rank writes to a target; the caller frees. */
char *tt_node_cache_writes(const char *directory, const char *target, uint64_t rank);

struct tt_node_cache_head {
    uint64_t moved, caches, rank, ranks, inode;
    bool local, converted;
    char *target; /* absolute */
};
/* The text, TT_NODE_CACHE_HEAD bytes; NULL: no memory. TT_USAGE and NULL if the path is too long.
 */
char *tt_node_cache_text(const struct tt_node_cache_head *head, struct tt_error *e);
/* Says that the process that has the file open uses it. A file system without locks cannot tell. */
void tt_node_cache_claim(int fd);
/* Writes the number into the head of an open file. */
int tt_node_cache_set_moved(int fd, const char *path, uint64_t moved, struct tt_error *e);
int tt_node_cache_set_caches(int fd, const char *path, uint64_t caches, struct tt_error *e);
int tt_node_cache_set_converted(const char *path, struct tt_error *e);

/* A file of writes that was left behind. */
struct tt_node_cache {
    char *path;
    int fd;
    struct tt_node_cache_head head;
    struct tt_log log; /* what was acknowledged, if sync is local */
};
bool tt_node_cache_begins(const char *start, size_t n);
/* Free it in every case. */
int tt_node_cache_load(const char *path, struct tt_node_cache *out, struct tt_error *e);
void tt_node_cache_free(struct tt_node_cache *c);
/* For requests of its log. */
int tt_node_cache_fetch(void *cache, int rc, size_t n, const struct tt_run *runs, void *to,
                        struct tt_error *e);
/* Whether it has anything that was acknowledged and is nowhere else. */
bool tt_node_cache_holds(const struct tt_node_cache *c);

/* The files of writes in a directory, sorted; of one target, or (NULL) of all. *list has *n paths,
 * which the caller frees. Of a file that cannot be read the name tells. */
int tt_node_cache_list(const char *directory, const char *target, char ***list, size_t *n,
                       struct tt_error *e);
/* TT_BUSY and a line while the rank of a file of writes runs: it may acknowledge more. */
int tt_node_cache_check_ended(const char *path, struct tt_error *e);
/* TT_BUSY and a line if any file there has what is nowhere else, or cannot be understood. Of a run
 * that does not keep its data a file whose target has been removed need not be kept either. */
int tt_node_cache_check_moved(const char *directory, bool kept, struct tt_error *e);
/* errno, or 0. */
int tt_node_cache_set_mark(const char *target, const char *directory, bool local);
/* False: it has none, or errno says why it cannot be read. */
bool tt_node_cache_mark(const char *target, char directory[PATH_MAX], bool *local);
/* TT_FAILED and a line if the mark says that the target is not whole. */
int tt_node_cache_check_target(const char *path, struct tt_error *e);
/* TT_BUSY and a line if what was acknowledged of it may be elsewhere, and no conversion has made a
 * whole file of it. */
int tt_node_cache_check_spared(const char *path, struct tt_error *e);
/* Whether the layer makes files of this name in its directory. */
bool tt_node_cache_makes(const char *name);

#endif
