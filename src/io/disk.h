/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file as the operating system sees it, for backends over libraries that hide what it says. */
#ifndef TT_IO_DISK_H
#define TT_IO_DISK_H

#include "io/file.h"

/* Before a library over MPI-IO opens a file together: rank 0 makes it, atomically, so that what a
 * library truncates afterwards is ours, and then every rank opens it by itself. Libraries lose the
 * system's errno, and where one rank cannot open the file, most leave the others waiting for ever.
 * Nothing stays open: closing it later would drop the library's locks. is_made: rank 0 has made it
 * in another way, also exclusively. Collective; ranks have agreed. */
int tt_disk_open_first(struct tt_file *file, bool is_made, struct tt_error *e);

/* The same where the file is a directory, which the engine has made: there is nothing in it yet,
 * and it is the same one for all ranks. Collective; ranks have agreed. */
int tt_disk_open_bundle(struct tt_file *file, struct tt_error *e);

/* A path is not the file: somebody may put another one there meanwhile. Rank 0 keeps by its
 * descriptor what it has made and shares it (collective), others compare theirs, and after a
 * library has opened the path all look at it once more. */
void tt_disk_keep_made(struct tt_file *file, int fd);
void tt_disk_share_made(struct tt_file *file);
int tt_disk_check_made(const struct tt_file *file, int fd, struct tt_error *e); /* -1: the path */
/* Removes what rank 0 has made after all, unless another file stands there now. */
void tt_disk_unmake(const struct tt_file *file);

/* PnetCDF, and ROMIO below any library, take what stands before a ':' for the name of a file system
 * and open what follows: another file than the one that was looked at, and maybe somebody's. Open
 * MPI's own overflows a buffer if the path is long. Which MPI-IO there is, is known too late. */
int tt_disk_check_name(const struct tt_file *file, struct tt_error *e);

/* Bytes this process may still write there; UINT64_MAX if the file system does not say. */
uint64_t tt_disk_free(const char *path);

/* Open MPI's collective writes return success, and all bytes as written, on a full disk. So a file
 * with holes on a disk without a free block counts as failed. */
int tt_disk_check_full(const char *path, struct tt_error *e);

/* A short write by an aggregator is reported to nobody: the file is too short, or it has holes as
 * above. end is behind everything this rank has written; 0: nothing, and nothing is looked at. */
int tt_disk_check_complete(const char *path, uint64_t end, struct tt_error *e);

/* fsync by a descriptor of our own: everything this node has written to the file is durable. */
int tt_disk_sync(const char *path, struct tt_error *e);

/* HDF5 cannot give up a file: what it could not flush it tries again when MPI ends, in memory freed
 * by the first try. From here on what this process writes to the file goes to memory instead. */
void tt_disk_divert(const char *path);

#endif
