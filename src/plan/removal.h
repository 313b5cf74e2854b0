/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whose a file is, and deleting it: the one place that does either. What stands at a path decides,
 * not what a file says of it: the entry is looked at through a handle of its directory, and goes by
 * that handle. */
#ifndef TT_PLAN_REMOVAL_H
#define TT_PLAN_REMOVAL_H

#include "plan/config.h"
#include "plan/manifest.h"

/* The extended attribute of what tutti has made: the id of the run, the inode, and " open" behind
 * them until the file is finished. */
#define TT_DATA_MARK "user.tutti.run"
#define TT_MARK_SIZE 64

/* The one form an id has: 20261116T151448Z-0123abcd. */
#define TT_ID_LENGTH 25
bool tt_id_is_valid(const char *id);
/* The id of a plan; NULL and TT_CORRUPT if it is none. */
const char *tt_plan_id(const char *directory, const json_t *plan, struct tt_error *e);

/* ---- one file ---- */

/* Whose belongings are removed. */
struct tt_owner {
    const char *id;
    uint64_t place; /* tt_place_here() */
    /* Whether the manifest may be anybody's: then what it says of a file proves nothing, and the
     * file itself must carry the mark or lie in the run's own data directory. */
    bool anybodys;
    /* The data directory, <dir>/tutti-<id>, which goes with what the run made in it only as long as
     * it is the one that was made. NULL: there is none. */
    const struct tt_made *data;
    const struct tt_config *config; /* says what is made in a tree; NULL: trees stay */
};

/* A number for this node as long as it runs; never 0. */
uint64_t tt_place_here(void);

enum tt_removal {
    TT_REMOVED,
    TT_GONE,          /* nothing stands there */
    TT_NOT_OURS,      /* what stands there is not what was made */
    TT_UNPROVEN,      /* or nobody can tell */
    TT_NOT_EMPTY,     /* a directory that holds something else */
    TT_REMOVAL_FAILED /* errno says why */
};
/* A file or an empty directory. Async-signal-safe. */
enum tt_removal tt_remove_made(const struct tt_owner *owner, const struct tt_made *made);
/* The same with a line for everything but TT_REMOVED and TT_GONE, for which it returns TT_OK. */
int tt_removal_check(enum tt_removal how, const char *path, struct tt_error *e);

/* What has just been made at a path, by us: its identity, and our mark on it. TT_FAILED, and errno,
 * if it is not there, or is not of this kind, or is another inode than the given one (0: any). */
int tt_identify(const char *path, enum tt_made_kind kind, const char *id, uint64_t place,
                uint64_t inode, struct tt_identity *out);
/* It is finished; nothing happens if something else stands there now. */
void tt_mark_finished(const struct tt_owner *owner, const struct tt_made *made);
/* The id of the finished file or tree of a run that stands at a path, "" if there is none. */
void tt_mark_read(const char *path, enum tt_made_kind kind, char id[TT_ID_LENGTH + 1]);
/* Makes room: removes the finished file of any run. */
int tt_remove_finished(const char *path, struct tt_error *e);
/* Whether a file that a run directory names may be believed to be of its run, for reading it. */
int tt_check_data(const char *id, const char *path, struct tt_error *e);

/* ---- trees, and all of it ---- */

/* A directory with what config's workload says that it makes in it; everything else stays. Of a
 * bundle every file and directory. */
int tt_remove_tree(const struct tt_owner *owner, const struct tt_made *made, struct tt_error *e);
/* Everything that the manifest of a run lists, by the process that made the run directory. Goes on
 * after an error, and returns the first; what is left alone is told once. */
int tt_manifest_remove(const char *directory, struct tt_error *e);
/* Of a run that has ended: gives a notice of each cache on this node that has what is nowhere else.
 */
void tt_tell_caches(const char *directory);
/* As tt_manifest_remove, for a directory that may be anybody's. *removed is increased. */
int tt_clean_data(const char *directory, uint64_t *removed, struct tt_error *e);

#endif
