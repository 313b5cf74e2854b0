/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes calls fail as storage may: the n-th of its kind, or a random one, on one rank or on all.
 *
 * eintr and short go into the backend's own system calls where it makes them through base/sys.h;
 * it must then recover. Other backends see an error after the fact, or half of the transfer.
 * flip is silent: put verify above fault to find it. lose is what a library does that drops an
 * error: it moves nothing and reports success. A call that is to fail is still made below, with
 * nothing, since other ranks may be waiting in it; absent does not make it, as a library may fail
 * on one rank and leave the others in a collective. submit and wait are left out. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/sys.h"
#include "io/file.h"
#include "spec/units.h"

enum call { OPEN, DEFINE, WRITE, READ, SYNC, CLOSE, ANY };
enum action { FAIL_IO, FAIL_SPACE, ABSENT, INTERRUPT, SHORTEN, FLIP, LOSE };

static const char *const calls[] = {"open", "define", "write", "read",
                                    "sync", "close",  "any",   NULL};
static const char *const actions[] = {"eio",   "enospc", "absent", "eintr",
                                      "short", "flip",   "lose",   NULL};

/* The count goes on over all files of a rank: with a file per step, too, there is an n-th open. So
 * it lives with the options, which belong to the run, and not with a file. */
struct fault_opts {
    int call, action;
    uint64_t nth;
    double rate;
    char *rank;
    atomic_uint_fast64_t count;
};

static const struct tt_param params[] = {
    {"call", TT_PARAM_CHOICE, offsetof(struct fault_opts, call), "write", NULL,
     "kind of call that goes wrong", .choices = calls},
    {"nth", TT_PARAM_COUNT, offsetof(struct fault_opts, nth), "0", NULL,
     "which call of that kind on a rank, from 1; 0: none"},
    {"rate", TT_PARAM_REAL, offsetof(struct fault_opts, rate), "0", NULL,
     "probability that such a call goes wrong, drawn from seed and rank"},
    {"rank", TT_PARAM_TEXT, offsetof(struct fault_opts, rank), "all", NULL, "on this rank, or all"},
    {"action", TT_PARAM_CHOICE, offsetof(struct fault_opts, action), "eio", NULL,
     "fail with an error, fail and let others wait (write, read, sync), be interrupted, move half "
     "of the data, flip a bit of it, or move nothing and report success",
     .choices = actions},
    {NULL},
};

static int fault_check(const void *opts, struct tt_error *e)
{
    const struct fault_opts *o = opts;
    struct tt_error why = TT_ERROR_CLEAR;
    uint64_t rank;

    if (!(o->rate >= 0 && o->rate <= 1))
        return tt_fail(e, TT_USAGE, "fault.rate is a probability: 0 to 1");
    if (!o->rank || (strcmp(o->rank, "all") && tt_parse_count(o->rank, &rank, &why) != TT_OK))
        return tt_fail(e, TT_USAGE, "fault.rank '%s' is neither a rank nor all",
                       o->rank ? o->rank : "");
    if (o->action >= SHORTEN && o->call != WRITE && o->call != READ && o->call != ANY)
        return tt_fail(e, TT_USAGE, "fault.action %s needs data: fault.call write, read or any",
                       actions[o->action]);
    return TT_OK;
}

static uint64_t draw(const struct tt_file *file, int rank, uint64_t n)
{
    uint64_t words[3] = {file->seed, (uint64_t)rank, n};

    return XXH3_64bits(words, sizeof words);
}

/* Counts the call; *random is a number drawn for it. */
static bool is_due(struct tt_file *file, enum call call, uint64_t *random)
{
    /* The options are the run's own, made by its configuration, and not const there. */
    struct fault_opts *o = (struct fault_opts *)file->opts;
    bool moves = call == WRITE || call == READ;
    struct tt_error ignored = TT_ERROR_CLEAR;
    uint64_t n, only = 0;
    int rank;

    if ((o->call != ANY && o->call != (int)call) || (o->action >= SHORTEN && !moves))
        return false;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank); /* a file per process has only a rank 0 */
    if (strcmp(o->rank, "all") && tt_parse_count(o->rank, &only, &ignored) == TT_OK &&
        only != (uint64_t)rank)
        return false;
    n = atomic_fetch_add(&o->count, 1) + 1;
    *random = draw(file, rank, n);
    return n == o->nth || (double)(*random >> 11) * 0x1p-53 < o->rate;
}

static int refuse(struct tt_file *file, enum call call, struct tt_error *e)
{
    static const int numbers[] = {
        [FAIL_IO] = EIO, [FAIL_SPACE] = ENOSPC, [ABSENT] = EIO, [INTERRUPT] = EINTR};
    const struct fault_opts *o = file->opts;

    return tt_fail_call(e, numbers[o->action], calls[call], file->spec->path, -1);
}

/* ---- calls without data: made below as they are, and then reported as failed ---- */

/* A fault that cannot happen would look like a store that survived it. */
static int check_rank(const struct tt_file *file, struct tt_error *e)
{
    const struct fault_opts *o = file->opts;
    struct tt_error ignored = TT_ERROR_CLEAR;
    uint64_t only = 0;
    int size;

    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (tt_parse_count(o->rank, &only, &ignored) == TT_OK && only >= (uint64_t)size)
        return tt_fail(e, TT_USAGE, "fault.rank %s does not exist: ranks are 0 to %d", o->rank,
                       size - 1);
    return TT_OK;
}

static int fault_open(struct tt_file *file, struct tt_error *e)
{
    uint64_t random;
    bool due = is_due(file, OPEN, &random);
    int rc = check_rank(file, e);

    if (rc == TT_OK) /* or on no rank at all */
        rc = tt_below_open(file, file->spec, e);

    return due && rc == TT_OK ? refuse(file, OPEN, e) : rc;
}

static int fault_define(struct tt_file *file, uint64_t step, struct tt_error *e)
{
    uint64_t random;
    bool due = is_due(file, DEFINE, &random);
    int rc = tt_file_define(file->below, step, e);

    return due && rc == TT_OK ? refuse(file, DEFINE, e) : rc;
}

static int fault_sync(struct tt_file *file, struct tt_error *e)
{
    uint64_t random;
    bool due = is_due(file, SYNC, &random);
    const struct fault_opts *o = file->opts;
    int rc = due && o->action == ABSENT ? TT_OK : tt_file_sync(file->below, e);

    return due && rc == TT_OK ? refuse(file, SYNC, e) : rc;
}

static int fault_close(struct tt_file *file, struct tt_error *e)
{
    uint64_t random;
    bool due = is_due(file, CLOSE, &random);
    int rc = tt_below_close(file, e);

    return due && rc == TT_OK ? refuse(file, CLOSE, e) : rc;
}

/* ---- transfers ---- */

static int below(struct tt_file *file, enum call call, uint64_t step, const struct tt_block *b,
                 struct tt_error *e)
{
    return call == WRITE ? tt_file_write(file->below, step, b, e)
                         : tt_file_read(file->below, step, b, e);
}

static void empty(struct tt_block *b)
{
    tt_select_none(&b->file, b->file.ndims, b->file.dims);
    tt_select_none(&b->memory, b->memory.ndims, b->memory.dims);
}

/* Counts, and with lists fills, the runs of the first elements of a block. */
static size_t first_runs(const struct tt_block *b, uint64_t elements, struct tt_run *in_file,
                         struct tt_run *in_memory)
{
    struct tt_extent_iter it;
    struct tt_extent x;
    size_t n = 0;

    tt_extents_begin(&it, b, 1);
    for (; elements > 0 && tt_extents_next(&it, &x); n++) {
        uint64_t length = x.length < elements ? x.length : elements;

        if (in_file) {
            in_file[n] = (struct tt_run){x.file_offset, length};
            in_memory[n] = (struct tt_run){x.memory_offset, length};
        }
        elements -= length;
    }
    return n;
}

/* The first half of a block. *runs: caller frees. */
static int first_half(const struct tt_block *b, struct tt_block *half, struct tt_run **runs)
{
    uint64_t elements = tt_selection_count(&b->file) / 2;
    size_t n = first_runs(b, elements, NULL, NULL);

    *runs = malloc(2 * n * sizeof **runs + 1);
    if (!*runs)
        return TT_NOMEM;
    first_runs(b, elements, *runs, *runs + n);
    *half = *b;
    tt_select_runs(&half->file, b->file.ndims, b->file.dims, n, *runs);
    tt_select_runs(&half->memory, b->memory.ndims, b->memory.dims, n, *runs + n);
    if (n == 0)
        empty(half);
    return TT_OK;
}

static bool calls_system_itself(const struct tt_file *file)
{
    while (file->below)
        file = file->below;
    return file->backend->caps & TT_CAP_SYSTEM_CALLS;
}

static int shorten(struct tt_file *file, enum call call, uint64_t step, const struct tt_block *b,
                   struct tt_error *e)
{
    struct tt_block half = *b;
    struct tt_run *runs = NULL;
    int rc = first_half(b, &half, &runs);

    half.hash = 0;
    if (rc != TT_OK) {
        empty(&half);
        tt_fail_nomem(e, "half of a block");
    }
    rc = below(file, call, step, &half, e);
    free(runs);
    if (rc == TT_OK)
        rc = tt_fail(e, TT_FAILED, "short %s of '%s': only half of the data was moved", calls[call],
                     file->spec->path);
    return rc;
}

/* One bit of a copy on the way down, or of the caller's memory on the way up. */
static int flip(struct tt_file *file, enum call call, uint64_t step, const struct tt_block *b,
                uint64_t random, struct tt_error *e)
{
    size_t element_size = file->spec->variables[b->variable].element->size;
    uint64_t count = tt_selection_count(&b->file), bit = random % (count * element_size * 8);
    struct tt_block copy = *b;
    unsigned char *data = malloc(count * element_size);
    int rc;

    tt_select_all(&copy.memory, 1, &count);
    copy.data = data;
    copy.hash = 0;
    if (!data) {
        empty(&copy);
        tt_fail_nomem(e, "a copy of the data");
        below(file, call, step, &copy, e);
        return TT_NOMEM;
    }
    if (call == WRITE) {
        tt_block_pack(b, element_size, data);
        data[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    rc = below(file, call, step, &copy, e);
    if (call == READ && rc == TT_OK) {
        data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        tt_block_unpack(b, element_size, data);
    }
    free(data);
    return rc;
}

static int transfer(struct tt_file *file, enum call call, uint64_t step, const struct tt_block *b,
                    struct tt_error *e)
{
    const struct fault_opts *o = file->opts;
    struct tt_block nothing = *b;
    uint64_t random;
    int rc;

    if (tt_selection_count(&b->file) == 0 || !is_due(file, call, &random))
        return below(file, call, step, b, e);
    if (o->action == ABSENT)
        return refuse(file, call, e);
    if (o->action == FLIP)
        return flip(file, call, step, b, random, e);
    if (o->action != LOSE && o->action >= INTERRUPT && calls_system_itself(file)) {
        if (o->action == INTERRUPT)
            tt_sys_arm_eintr();
        else
            tt_sys_arm_short();
        rc = below(file, call, step, b, e);
        tt_sys_disarm();
        return rc;
    }
    if (o->action == SHORTEN)
        return shorten(file, call, step, b, e);
    empty(&nothing);
    rc = below(file, call, step, &nothing, e);
    return rc == TT_OK && o->action != LOSE ? refuse(file, call, e) : rc;
}

static int fault_write(struct tt_file *file, uint64_t step, const struct tt_block *b,
                       struct tt_error *e)
{
    return transfer(file, WRITE, step, b, e);
}

static int fault_read(struct tt_file *file, uint64_t step, const struct tt_block *b,
                      struct tt_error *e)
{
    return transfer(file, READ, step, b, e);
}

const struct tt_backend tt_layer_fault = {
    .name = "fault",
    .summary = "makes calls fail, be interrupted, fall short, flip a bit, or get lost",
    .kind = TT_REQUEST_LAYER,
    .state_size = 0,
    .opts_size = sizeof(struct fault_opts),
    .params = params,
    .check = fault_check,
    .open = fault_open,
    .define = fault_define,
    .write = fault_write,
    .read = fault_read,
    .sync = fault_sync,
    .close = fault_close,
};
