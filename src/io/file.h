/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For authors of backends and layers: the table of operations and the file they work on.
 * examples/modules/ has the smallest complete ones. */
#ifndef TT_IO_FILE_H
#define TT_IO_FILE_H

#include <mpi.h>

#include "base/error.h"
#include "io/model.h"
#include "spec/param.h"

struct tt_file;
struct tt_cost;

enum tt_access {
    TT_CREATE, /* the file must not exist yet: tutti never overwrites what it did not make */
    TT_READ_ONLY,
    TT_UPDATE, /* steps that are there already are written again; with TT_CAP_UPDATES only */
};

/* What is opened. Strings and arrays outlive the file. The same on every rank of comm, except for
 * path and variables when every rank has a file of its own (then comm has one rank). */
struct tt_file_spec {
    const char *path;
    /* The file's own, duplicated: no other traffic on it. Or MPI_COMM_SELF itself: opening and
     * closing then make no MPI calls of their own, so that any thread may, if the backend's library
     * lets it. */
    MPI_Comm comm;
    enum tt_access access;
    enum tt_policy policy; /* never TT_FILE_PER_STEP */
    uint64_t steps;        /* how many steps there will be; 0 if not known */
    unsigned nvariables;
    const struct tt_variable *variables;
    bool in_helper; /* calls come from a helper thread while another one uses MPI */
    bool native; /* dumps are submitted, since a probe has seen that they overlap; or by a probe */
    /* Ranks make as many transfers as they like, each on its own: write, read, submit and wait must
     * not wait for other ranks. Never with settings for which is_collective() says yes. */
    bool independent;
    /* Every block of every rank lies in one piece, in the file and in memory, and has at most 1
     * GiB: ranks need not agree on how a collective transfer is made. A layout layer takes it back.
     */
    bool plain;
    const char *step_group; /* what groups of steps are called, before their number; NULL: step_ */
    uint64_t first_step;    /* added to the numbers of steps in names of groups and attributes */
    unsigned ngroups;
    const struct tt_group *groups; /* those with attributes, each before the groups inside it */
};

/* What one opened file is in storage: spec->path first, and what else a backend or layer makes for
 * it. A directory is made by the engine, and everything in it belongs to it; a file is made by
 * whoever lists it, exclusively. */
struct tt_target_path {
    char *path;
    bool is_directory;
};
struct tt_target {
    size_t n;
    struct tt_target_path *list;
};
/* Returns TT_OK or TT_NOMEM. */
int tt_target_add(struct tt_target *target, const char *path, bool is_directory);
void tt_target_free(struct tt_target *target);

/* A setting as the user gave it, as the library reports it, and whether anything proves it. */
enum tt_proof {
    TT_UNCONFIRMED, /* reported back at best; many libraries echo any nonsense */
    TT_IN_EFFECT,   /* the file or the requests show it */
    TT_NO_EFFECT,   /* the file or the requests show that it was ignored */
};
struct tt_fact {
    char key[64], given[96], read_back[96], how[128];
    enum tt_proof proof;
};
struct tt_facts {
    size_t n;
    struct tt_fact *list; /* grown by tt_facts_add */
};
/* Any of given, read_back and how may be NULL. Returns TT_OK or TT_NOMEM. */
int tt_facts_add(struct tt_facts *facts, const char *key, const char *given, const char *read_back,
                 enum tt_proof proof, const char *how);
void tt_facts_free(struct tt_facts *facts);

enum tt_capability {
    TT_CAP_STORES = 1 << 0, /* what is written can be read again (discard cannot) */
    /* Can carry a layout layer: a single u8 variable, written by byte runs, of which nobody knows
     * how long it will be. A file that is not raw is told by define: the layer raises dims[0]
     * before it, on all ranks. Also of a layout layer that others may stand on. */
    TT_CAP_CARRIES_LAYOUT = 1 << 1,
    TT_CAP_NONBLOCKING = 1 << 2, /* submit and wait exist; the engine probes whether they overlap */
    TT_CAP_SYSTEM_CALLS = 1 << 3, /* moves data by base/sys.h, where the fault layer can reach it */
    TT_CAP_RAW = 1 << 9, /* variables lie where tt_raw_offset() says, and nothing else is there */
    TT_CAP_SYNCS_ALONE = 1 << 7, /* sync waits for no other rank */
    TT_CAP_ONE_THREAD = 1 << 10, /* not even two files may be used by two threads at a time */
    TT_CAP_BESIDE = 1 << 8,      /* opens by MPI-IO, which may make PATH.locktest.RANK meanwhile */
    TT_CAP_KEEPS = 1 << 12,      /* what is overwritten stays in the file: every dump adds to it */
    /* Of a layout layer: tutti convert finds out by itself how to read what it writes. */
    TT_CAP_CONVERTIBLE = 1 << 13,
    /* Of a stack only if every layer has them, too. A layer cannot take the others away. */
    TT_CAP_UPDATES = 1 << 4,    /* opens files with TT_UPDATE */
    TT_CAP_GROWS = 1 << 5,      /* and lets unlimited variables grow then */
    TT_CAP_CONVERTS = 1 << 6,   /* takes blocks with a memory_element */
    TT_CAP_NEEDS_RAW = 1 << 11, /* of a layout layer: stands only on raw files */
};

enum tt_stack_kind { TT_BACKEND, TT_REQUEST_LAYER, TT_LAYOUT_LAYER };

/* Operations of a backend or layer. Rules for all of them:
 *  - return TT_OK or a negative code with *e filled by tt_fail*(); never print, exit or abort;
 *  - keep all state in the instance: several files are open at once, also of one backend;
 *  - never take the time: the engine does.
 * All calls on one library come from one thread. open, define, sync and close are collective over
 * spec->comm. write, read, submit and wait are called by every rank equally often and in the same
 * order, with TT_SELECT_NONE from a rank that has nothing (or has failed), so they may be
 * collective, too. A layer keeps that promise: whatever it does itself, also when it fails a call
 * on purpose, it makes the matching call below (with TT_SELECT_NONE) on every rank. The caller lets
 * ranks agree after open, after the transfers of a dump, after sync and after close; a backend need
 * not. NULL is allowed for check, list, subfiles, local, prepare, define, submit and wait (both),
 * wait_any, use_buffers, most_submitted, is_collective, loss, settle and query. tt_file_query asks
 * every element of a stack in turn. */
struct tt_backend {
    const char *name; /* also the file's name in its directory and the prefix of its keys */
    const char *summary;
    enum tt_stack_kind kind;
    unsigned caps;       /* of enum tt_capability; those of the file below pass through a layer, but
                          * without submit the stack is not TT_CAP_NONBLOCKING, and with a layout
                          * layer it is not TT_CAP_RAW */
    const char *library; /* calls into one library share a thread; NULL: none (reentrant) */
    const char *ending;  /* of names of its files, which other readers expect; NULL: none */
    size_t state_size;   /* file->state, allocated zeroed by the core */
    size_t ticket_size;
    size_t opts_size; /* file->opts, filled from params */
    const struct tt_param *params;

    /* Validate options against each other, without MPI; may be NULL. */
    int (*check)(const void *opts, struct tt_error *e);
    /* What the target has besides spec->path, which is in it already; where that is a directory, it
     * says so. With TT_CREATE what opening will make: collective over spec->comm. Otherwise what is
     * there, as far as this process can see, without MPI. NULL: the one file. */
    int (*list)(const void *opts, const struct tt_file_spec *spec, struct tt_target *target,
                struct tt_error *e);
    /* How many subfiles belong to the one file if so many ranks share it; 0: one for each node.
     * NULL: none. */
    uint64_t (*subfiles)(const void *opts, uint64_t ranks);
    /* A directory on the storage of each node, in which a layer keeps files of the run. The engine
     * makes tutti-ID.HOST.cache there before the first file is opened, and removes it at the end.
     */
    const char *(*local)(const void *opts);
    /* What comes before the library's own call: ranks agree, properties and hints are made, rank 0
     * makes the file, which alone of this is timed as open. Collective, and ranks have agreed when
     * it returns. It leaves nothing behind if it fails; else open is next. May be NULL. */
    int (*prepare)(struct tt_file *file, struct tt_error *e);
    /* Make or open file->spec->path. A layer opens file->below by tt_below_open(). If it fails,
     * close is not called on it; a layer leaves the file below as it is then: others may be waiting
     * in a collective, and the core closes what is open once ranks have agreed. */
    int (*open)(struct tt_file *file, struct tt_error *e);
    /* Before the first transfer of a new step: make groups or datasets, extend. NULL: there is
     * nothing to do, and a layer passes it on. */
    int (*define)(struct tt_file *file, uint64_t step, struct tt_error *e);
    int (*write)(struct tt_file *file, uint64_t step, const struct tt_block *b, struct tt_error *e);
    int (*read)(struct tt_file *file, uint64_t step, const struct tt_block *b, struct tt_error *e);
    /* Start a transfer; the block and its data stay untouched until wait. */
    int (*submit)(struct tt_file *file, enum tt_direction direction, uint64_t step,
                  const struct tt_block *b, struct tt_ticket *t, struct tt_error *e);
    int (*wait)(struct tt_file *file, struct tt_ticket *t, struct tt_error *e);
    /* Wait for any submitted transfer; *done is its ticket, also if it has failed. NULL where the
     * library completes transfers in order, or cannot tell. */
    int (*wait_any)(struct tt_file *file, struct tt_ticket **done, struct tt_error *e);
    /* Transfers will come from n buffers of the same size, one after the other at base, each of
     * them one at a time; n is 0 when they are about to go. */
    int (*use_buffers)(struct tt_file *file, void *base, size_t each, unsigned n,
                       struct tt_error *e);
    /* How many transfers may be submitted with these options and not yet have been waited for;
     * NULL: any number, if there is submit. */
    unsigned (*most_submitted)(const void *opts);
    /* Whether transfers with these options are collective; NULL: never. */
    bool (*is_collective)(const void *opts);
    /* How far values of f32 and f64 variables that are read may be from what was written, with
     * these options; INFINITY: that is not known, also of other types. NULL: never. */
    double (*loss)(const void *opts);
    /* Everything written so far by this rank is durable when it returns. */
    int (*sync)(struct tt_file *file, struct tt_error *e);
    /* Frees everything in every case; the first error is kept and the clean-up still finished. */
    int (*close)(struct tt_file *file, struct tt_error *e);
    /* Of a layer with a thread that makes the calls below: waits until files are closed that were
     * left to it, on this rank, and returns the first failure since it was asked last. What their
     * calls took is added to costs, of this element and those below; NULL: nobody asks. */
    int (*settle)(struct tt_cost *costs, struct tt_error *e);
    /* Settings as given, read back and proven. Collective; called before close. */
    int (*query)(struct tt_file *file, struct tt_facts *facts, struct tt_error *e);
};

/* Which file it is, on this node and on others that see the same. */
struct tt_file_identity {
    uint64_t device, inode; /* both 0: not known */
};

/* What the calls of one element of a stack took, with those of the elements below; kept by the core
 * where there are layers. */
struct tt_cost {
    int64_t ns, cpu_ns; /* cpu_ns: of the calling thread */
    int64_t threads_ns; /* CPU time of other threads that worked for this element, which adds it */
    /* Where a thread of this element makes the calls below: how long it worked, less how long
     * callers waited for it, so that ns and this together hold the time below. */
    int64_t beside_ns;
    uint64_t bytes[2]; /* of the blocks that came to it, by enum tt_direction */
};

void tt_cost_add(struct tt_cost *sum, const struct tt_cost *x);

/* One open file of one element of a stack. */
struct tt_file {
    const struct tt_backend *backend;
    const void *opts;
    struct tt_file *below; /* the next element of the stack; NULL for a backend */
    const struct tt_file_spec *spec;
    void *state;
    int rank, size;        /* in spec->comm */
    uint64_t seed;         /* of the run, for layers that draw random numbers */
    const char *directory; /* run directory, where a layer may leave records; NULL in unit tests */
    bool is_open;          /* kept by the core, and so are the durations of the calls themselves */
    int64_t open_ns, close_ns;
    int64_t
        made_ns; /* the part of open in which rank 0 made the file, before the library opens it */
    struct tt_file_identity made; /* by TT_CREATE: what stands at the path until it is removed */
    /* The same for each path of the target, on all ranks, where it has several; freed by the core.
     */
    struct tt_file_identity *made_all;
    uint32_t note; /* the file's number in what the rank notes of its calls */
    bool detached; /* what was below it is closed later; see tt_below_detach */
    bool layered;  /* it is a layer, or below one */
    struct tt_cost cost;
    uint64_t library_bytes[2];    /* bytes moved beyond the payload, where the backend knows */
    struct tt_file_spec own_spec; /* a layout layer's spec for the file below */
    uint64_t *raw_starts;         /* of every variable in a raw file, kept by the core */
    uint64_t raw_record;          /* bytes of one step there; the first begins at raw_fixed */
    uint64_t raw_fixed;
};

/* Where a variable's instance starts in a raw file. Fixed variables come first, in the
 * order of definition, then a record per step with all per-step variables. A file of one variable
 * that overwrites is therefore the plain array. alignment (>= 1) rounds every start up. */
uint64_t tt_raw_offset(const struct tt_file_spec *spec, unsigned variable, uint64_t step,
                       uint64_t alignment);
/* The same for an open file without alignment, which does not walk all variables each time. */
uint64_t tt_file_raw_offset(const struct tt_file *file, unsigned variable, uint64_t step);
/* Bytes of the whole file after the given number of steps. */
uint64_t tt_raw_size(const struct tt_file_spec *spec, uint64_t steps, uint64_t alignment);

/* The name of a step's group, as in step_000007 or Timestep_7. */
#define TT_STEP_GROUP 64
void tt_step_group(const struct tt_file_spec *spec, uint64_t step, char name[TT_STEP_GROUP]);

/* A stack, top first: layers, then the backend. opts[i] belongs to elements[i]. */
#define TT_MAX_STACK 8
struct tt_stack {
    unsigned n;
    const struct tt_backend *elements[TT_MAX_STACK];
    const void *opts[TT_MAX_STACK];
    uint64_t seed;
    const char *directory; /* run directory; NULL outside of a run */
};
/* Checks the order: request layers above layout layers above a backend that carries one; a layout
 * layer stands only on another that carries one, too. */
int tt_stack_check(const struct tt_stack *stack, struct tt_error *e);
unsigned tt_stack_caps(const struct tt_stack *stack);
/* Transfers that may be submitted and not yet have been waited for; 0: it cannot be done. */
unsigned tt_stack_most_submitted(const struct tt_stack *stack);
/* Whether ranks have to make their transfers together. */
bool tt_stack_is_collective(const struct tt_stack *stack);
/* What the elements of the stack lose together. */
double tt_stack_loss(const struct tt_stack *stack);
/* TT_USAGE if nobody knows how much that is, so that a workload cannot check what it reads; instead
 * are the settings that leave the check out. */
int tt_stack_check_loss(const struct tt_stack *stack, const char *instead, struct tt_error *e);
/* And those below a layer that is open. */
double tt_below_loss(const struct tt_file *file);
/* Whether ranks wait for each other inside the sync of a file that they share. */
bool tt_stack_syncs_together(const struct tt_stack *stack);
/* Whether several threads may make transfers at the same time. */
bool tt_stack_is_reentrant(const struct tt_stack *stack);

/* The paths of a target; see list of struct tt_backend. Free it in every case. */
int tt_stack_target(const struct tt_stack *stack, const struct tt_file_spec *spec,
                    struct tt_target *target, struct tt_error *e);
/* What is there of a target, by its path alone. */
int tt_stack_target_at(const struct tt_stack *stack, const char *path, struct tt_target *target,
                       struct tt_error *e);

/* Waits for what layers do after a file was closed; see settle of struct tt_backend. costs has
 * TT_MAX_STACK. Not collective. */
int tt_stack_settle(const struct tt_stack *stack, struct tt_cost *costs, struct tt_error *e);
/* Whether a layer makes calls in a thread of its own, for which MPI has to be prepared. */
bool tt_stack_has_thread(const struct tt_stack *stack);

/* Open the whole stack; collective, and ranks have agreed when it returns. *out is NULL on failure.
 */
int tt_file_open(const struct tt_stack *stack, const struct tt_file_spec *spec,
                 struct tt_file **out, struct tt_error *e);
/* What opening it has made at the i-th path of its target, where the stack knows. */
struct tt_file_identity tt_file_made(const struct tt_file *file, size_t i);
/* How long the backend's own call took, and on rank 0 making the file (tt_disk_open_first);
 * without the rest of preparing and agreement. */
int64_t tt_file_open_ns(const struct tt_file *file);
/* Closes and frees; collective, and ranks have agreed. */
int tt_file_close(struct tt_file *file, struct tt_error *e);
/* The same; *own_ns is how long the backend's own call took, *stack_ns that of the whole stack.
 * What all calls took is added to costs, which has TT_MAX_STACK; NULL: nobody asks. */
int tt_file_close_timed(struct tt_file *file, int64_t *own_ns, int64_t *stack_ns,
                        struct tt_cost *costs, struct tt_error *e);

/* For layers: open the element below on the given spec (a request layer passes file->spec), and the
 * other operations on it. */
int tt_below_open(struct tt_file *file, const struct tt_file_spec *spec, struct tt_error *e);
int tt_below_close(struct tt_file *file, struct tt_error *e);
/* For a layer that closes the elements below after its own close has returned: takes them away from
 * the file, under a file of their own, which the layer closes by tt_below_close and frees. Until
 * then it keeps the spec they were opened on. */
struct tt_file *tt_below_detach(struct tt_file *file);
void tt_below_free(struct tt_file *detached, struct tt_cost *costs);
/* For layers that keep several files below, each of this rank alone (MPI_COMM_SELF): opens one of
 * them. The first is file->below itself, whose facts are asked for. *part is NULL on failure. */
int tt_part_open(struct tt_file *file, const struct tt_file_spec *spec, struct tt_file **part,
                 struct tt_error *e);
int tt_part_close(struct tt_file *file, struct tt_file *part, struct tt_error *e);

/* For backends: tt_agree on the file's communicator, without spinning in a helper. Collective. */
int tt_file_agree(const struct tt_file *file, int rc, struct tt_error *e);
/* For backends: the greatest of all ranks' values, without spinning in a helper. Collective. */
void tt_file_max(const struct tt_file *file, int n, int *values);
/* For layers: MPI_Waitany, without spinning in a helper. */
int tt_file_wait_requests(const struct tt_file *file, int n, MPI_Request *requests,
                          MPI_Status *status);

/* Dispatch to an element of the stack. */
int tt_file_define(struct tt_file *f, uint64_t step, struct tt_error *e);
int tt_file_write(struct tt_file *f, uint64_t step, const struct tt_block *b, struct tt_error *e);
int tt_file_read(struct tt_file *f, uint64_t step, const struct tt_block *b, struct tt_error *e);
int tt_file_submit(struct tt_file *f, enum tt_direction direction, uint64_t step,
                   const struct tt_block *b, struct tt_ticket *t, struct tt_error *e);
int tt_file_wait(struct tt_file *f, struct tt_ticket *t, struct tt_error *e);
/* The oldest is the one to wait for where the stack cannot wait for any. */
int tt_file_wait_any(struct tt_file *f, struct tt_ticket *oldest, struct tt_ticket **done,
                     struct tt_error *e);
/* Does nothing where the top of the stack has no use for it. */
int tt_file_use_buffers(struct tt_file *f, void *base, size_t each, unsigned n, struct tt_error *e);
int tt_file_sync(struct tt_file *f, struct tt_error *e);
int tt_file_query(struct tt_file *f, struct tt_facts *facts, struct tt_error *e);
/* Bytes of ticket state the stack needs; allocated by the engine. */
size_t tt_stack_ticket_size(const struct tt_stack *stack);

#endif
