/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One container of bytes in several files; the layer subfile writes it. Stripe q, the bytes from
 * q * stripe on, is in file q mod n, at (q / n) * stripe. Nothing here calls MPI.
 *
 * The path itself holds a text that describes the set; NAME.subfile_I_of_N are the files:
 *
 *   tutti subfile 1                      the format's version
 *   subfiles N
 *   stripe BYTES
 *   policy overwrite|append|group        how the steps of the variables follow each other
 *   variable KIND DIMS step|fixed NAME   one for each, in the order in which they lie
 *   size BYTES                           of the container; "open" until it was closed
 *   end */
#ifndef TT_IO_SUBFILE_H
#define TT_IO_SUBFILE_H

#include "io/file.h"

#define TT_SUBFILE_MAGIC "tutti subfile "
#define TT_SUBFILE_VERSION 1
#define TT_SUBFILE_MOST 100000 /* files of one set */
#define TT_SUBFILE_LEAST_STRIPE 512
#define TT_SUBFILE_MOST_STRIPE (INT64_C(1) << 40)

struct tt_subfiles {
    uint64_t n, stripe;
    uint64_t size; /* of the container */
    bool closed;   /* else the size is not known */
};

/* Where a byte of the container is. */
struct tt_subfile_place {
    uint64_t file, offset;
    uint64_t room; /* bytes from there on to the end of the stripe */
};
struct tt_subfile_place tt_subfile_place(const struct tt_subfiles *s, uint64_t offset);
/* Bytes of the i-th file of a container of that size. */
uint64_t tt_subfile_length(const struct tt_subfiles *s, uint64_t i, uint64_t size);
/* The reverse: the smallest container whose i-th file has so many bytes. */
uint64_t tt_subfile_reach(const struct tt_subfiles *s, uint64_t i, uint64_t length);

/* The name of the i-th file. The caller frees; NULL: no memory. */
char *tt_subfile_path(const char *path, uint64_t i, uint64_t n);
/* The text at the path, always of the same length for the same spec. The caller frees; NULL: no
 * memory. */
char *tt_subfile_text(const struct tt_subfiles *s, const struct tt_file_spec *spec);
/* Whether a file that begins with these bytes holds such a text. */
bool tt_subfile_begins(const char *start, size_t n);
/* Reads it; whatever is wrong with it is one line with its place. */
int tt_subfile_load(const char *path, struct tt_subfiles *out, struct tt_error *e);
/* Whether the i-th file is there and, of a set that was closed, complete; *length is its size. */
int tt_subfile_check(const struct tt_subfiles *s, const char *path, uint64_t i, uint64_t *length,
                     struct tt_error *e);

#endif
