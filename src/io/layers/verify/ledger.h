/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What one rank has written to one file: selections and the hashes of their content. Kept by the
 * verify layer, saved to DIRECTORY/verify, read back by tt_verify_directory(). Where the stack may
 * lose a part of real numbers, samples of them take the place of the hashes.
 *
 * On disk everything is a 64-bit word in the machine's own order, or a text padded to whole words;
 * the last word is the hash of all others. Readers treat the file as untrusted. */
#ifndef TT_IO_LAYERS_VERIFY_LEDGER_H
#define TT_IO_LAYERS_VERIFY_LEDGER_H

#include "io/file.h"

struct tt_ledger_entry {
    uint64_t variable, selection; /* indices */
    uint64_t step, hash;
};

enum { TT_LEDGER_SAMPLES = 64 }; /* of a block, evenly spread */

/* From a 64-bit key to an index. */
struct tt_ledger_map {
    size_t n, capacity;
    struct tt_ledger_slot *slots;
};

struct tt_ledger {
    int rank, size;           /* in the run; of the file's communicator */
    struct tt_file_spec spec; /* comm and access are not kept */
    size_t nselections, nentries;
    size_t selections_capacity, entries_capacity, samples_capacity;
    struct tt_selection *selections; /* each once, however often it was used */
    struct tt_ledger_entry *entries;
    double loss;      /* of f32 and f64: how far what is read may be from what was written */
    double *samples;  /* TT_LEDGER_SAMPLES of every entry, if loss is above 0 */
    uint64_t *latest; /* by variable: the last step written, for files that overwrite */
    struct tt_ledger_map by_selection, by_entry;
    char *image; /* loaded: the file, into which texts and runs point */
};

/* An empty ledger for a file; spec outlives it. The caller sets loss. TT_OK or TT_NOMEM. */
int tt_ledger_start(struct tt_ledger *l, int rank, int size, const struct tt_file_spec *spec);
void tt_ledger_free(struct tt_ledger *l);

/* A block was written, possibly with nothing. An earlier entry for the same place is replaced;
 * where steps overwrite each other, a new step makes a variable's older entries void, since other
 * ranks may have written there. TT_OK or TT_NOMEM. */
int tt_ledger_note(struct tt_ledger *l, uint64_t step, const struct tt_block *b, uint64_t hash);
/* The entry for exactly this selection, or NULL. */
const struct tt_ledger_entry *tt_ledger_find(const struct tt_ledger *l, uint64_t step,
                                             const struct tt_block *b);
/* Whether the block, which was read from where the entry was written, has its content. */
bool tt_ledger_agrees(const struct tt_ledger *l, const struct tt_ledger_entry *entry,
                      const struct tt_block *b);
/* False for an entry whose place a later step has overwritten. */
bool tt_ledger_is_current(const struct tt_ledger *l, const struct tt_ledger_entry *entry);

/* Make a ledger whose lists are filled ready for tt_ledger_find. TT_OK or TT_NOMEM. */
int tt_ledger_index(struct tt_ledger *l);

/* DIRECTORY/verify/<rank>-<hash of path>.ttv; caller frees; NULL: no memory. */
char *tt_ledger_path(const char *directory, int rank, const char *path);
int tt_ledger_save(const struct tt_ledger *l, const char *path, struct tt_error *e);
/* TT_CORRUPT unless every length, index and selection makes sense. */
int tt_ledger_load(struct tt_ledger *l, const char *path, struct tt_error *e);
/* The file of which a rank has left a ledger, if it has, has another name now, or (NULL) is gone.
 */
int tt_ledger_move(const char *directory, int rank, const char *from, const char *to,
                   struct tt_error *e);
/* From now on it holds by itself what its spec and selections point to; entries that are not
 * current are gone. TT_OK or TT_NOMEM, with the ledger empty. */
int tt_ledger_detach(struct tt_ledger *l);

/* Content of a block in the order of its selections. */
uint64_t tt_block_hash(const struct tt_block *b, size_t element_size);

#endif
