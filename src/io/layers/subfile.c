/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A layout layer: the bytes of a container are striped over several files (io/subfile.h). One rank,
 * the concentrator, makes all calls on a file; the others send it their bytes
 * (io/layers/subfile/exchange.c). Transfers and syncs are therefore collective.
 *
 * The path itself is a text of rank 0. It says "open" until every file is closed, so a set of which
 * anything may be missing is not read by accident.
 *
 * Left out: changing a file that is there (TT_UPDATE), and threads that serve while the
 * concentrator computes; with overlap the helper thread does. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/agree.h"
#include "base/sys.h"
#include "io/disk.h"
#include "io/layers/subfile/parts.h"
#include "spec/units.h"

#define ENDLESS (UINT64_C(1) << 62)
#define FILES_OF_OTHERS 64 /* that MPI and tutti have open in a rank */

struct subfile_opts {
    uint64_t stripe, count, ranks;
};

#define AT(field) offsetof(struct subfile_opts, field)
static const struct tt_param params[] = {
    {"stripe", TT_PARAM_BYTES, AT(stripe), "32m", "B",
     "bytes that lie together in one file before the next file follows", TT_SUBFILE_LEAST_STRIPE,
     TT_SUBFILE_MOST_STRIPE},
    {"count", TT_PARAM_COUNT, AT(count), "0", "files", "0: one for each node", 0, TT_SUBFILE_MOST},
    {"ranks", TT_PARAM_COUNT, AT(ranks), "0", "ranks",
     "one file for so many ranks, instead of subfile.count", 0, INT64_C(1) << 40},
    {NULL},
};

static int subfile_check(const void *opts, struct tt_error *e)
{
    const struct subfile_opts *o = opts;

    if (o->count > 0 && o->ranks > 0)
        return tt_fail(e, TT_USAGE,
                       "subfile.count and subfile.ranks both say how many files there are: leave "
                       "one of them out");
    return TT_OK;
}

static bool subfile_is_collective(const void *opts)
{
    (void)opts;
    return true;
}

/* ---- who makes what ---- */

/* The lowest rank of each node, in their order; the caller frees. Collective, and ranks have
 * agreed.
 */
static int find_leaders(const struct tt_file_spec *spec, int **out, int *n, struct tt_error *e)
{
    int size = 1, rank = 0, leader = 0, rc;
    MPI_Comm node;

    if (spec->comm != MPI_COMM_SELF) {
        MPI_Comm_size(spec->comm, &size);
        MPI_Comm_rank(spec->comm, &rank);
    }
    *n = 0;
    *out = calloc((size_t)size, sizeof **out);
    rc = *out ? TT_OK : tt_fail_nomem(e, "the ranks of subfiles");
    rc = spec->in_helper ? tt_agree_patiently(spec->comm, rc, e) : tt_agree(spec->comm, rc, e);
    if (rc == TT_OK && size > 1) {
        leader = rank;
        MPI_Comm_split_type(spec->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
        MPI_Bcast(&leader, 1, MPI_INT, 0, node);
        MPI_Comm_free(&node);
        MPI_Allgather(&leader, 1, MPI_INT, *out, 1, MPI_INT, spec->comm);
    }
    for (int i = 0; rc == TT_OK && i < size; i++)
        if ((*out)[i] == i)
            (*out)[(*n)++] = i;
    if (rc != TT_OK) {
        free(*out);
        *out = NULL;
    }
    return rc;
}

static uint64_t choose_count(const struct subfile_opts *o, uint64_t ranks, uint64_t nodes)
{
    return o->count ? o->count : o->ranks ? (ranks + o->ranks - 1) / o->ranks : nodes;
}

/* One on each node where there are as many files as nodes, else spread evenly. */
static int choose_owners(struct tt_file *file, const int *leaders, int nleaders, struct tt_error *e)
{
    struct subfile_state *s = file->state;
    uint64_t n = s->set.n, size = (uint64_t)file->size;
    struct rlimit limit;

    s->owners = malloc(n * sizeof *s->owners);
    if (!s->owners)
        return tt_fail_nomem(e, "the ranks of subfiles");
    for (uint64_t i = 0; i < n; i++) {
        s->owners[i] = n == (uint64_t)nleaders ? leaders[i]
                       : n <= size             ? (int)(i * size / n)
                                               : (int)(i % size);
        s->nown += s->owners[i] == file->rank;
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && s->nown + FILES_OF_OTHERS > limit.rlim_cur)
        return tt_fail(e, TT_FAILED,
                       "a rank would have %zu of the %" PRIu64 " subfiles open, but may have only "
                       "%llu files; use fewer subfiles or more ranks, or raise ulimit -n",
                       s->nown, n, (unsigned long long)limit.rlim_cur);
    s->own = calloc(s->nown + 1, sizeof *s->own);
    return s->own ? TT_OK : tt_fail_nomem(e, "the subfiles of a rank");
}

static int add_paths(const char *path, uint64_t n, struct tt_target *target, struct tt_error *e)
{
    int rc = TT_OK;

    for (uint64_t i = 0; rc == TT_OK && i < n; i++) {
        char *name = tt_subfile_path(path, i, n);

        if (!name || tt_target_add(target, name, false) != TT_OK)
            rc = tt_fail_nomem(e, "the names of subfiles");
        free(name);
    }
    return rc;
}

static uint64_t subfile_subfiles(const void *opts, uint64_t ranks)
{
    return choose_count(opts, ranks, 0);
}

static int subfile_list(const void *opts, const struct tt_file_spec *spec, struct tt_target *target,
                        struct tt_error *e)
{
    struct tt_subfiles set = {0};
    int *leaders = NULL, nleaders, size = 1, rc;

    if (spec->access != TT_CREATE) {
        rc = tt_subfile_load(spec->path, &set, e);
        return rc == TT_OK ? add_paths(spec->path, set.n, target, e) : rc;
    }
    if (spec->comm != MPI_COMM_SELF)
        MPI_Comm_size(spec->comm, &size);
    rc = find_leaders(spec, &leaders, &nleaders, e);
    free(leaders);
    if (rc != TT_OK)
        return rc;
    return add_paths(spec->path, choose_count(opts, (uint64_t)size, (uint64_t)nleaders), target, e);
}

/* ---- the text at the path; rank 0 ---- */

static int write_text(struct tt_file *file, struct tt_error *e)
{
    struct subfile_state *s = file->state;
    char *text = tt_subfile_text(&s->set, file->spec);
    int why = text ? tt_sys_write_at(s->config, text, strlen(text), 0) : ENOMEM;

    free(text);
    return why ? tt_fail_call(e, why, "write", file->spec->path, 0) : TT_OK;
}

static int make_text(struct tt_file *file, struct tt_error *e)
{
    struct subfile_state *s = file->state;
    const char *path = file->spec->path;

    s->config = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (s->config < 0)
        return tt_fail_call(e, errno, "open", path, -1);
    tt_disk_keep_made(file, s->config);
    return write_text(file, e);
}

/* ---- opening ---- */

/* What the set is, on all ranks. Collective, and ranks have agreed. */
static int learn_set(struct tt_file *file, int nleaders, struct tt_error *e)
{
    const struct subfile_opts *o = file->opts;
    struct subfile_state *s = file->state;
    int rc = TT_OK;

    if (file->spec->access == TT_CREATE) {
        s->set = (struct tt_subfiles){choose_count(o, (uint64_t)file->size, (uint64_t)nleaders),
                                      o->stripe, 0, false};
        return TT_OK;
    }
    if (file->rank == 0)
        rc = tt_subfile_load(file->spec->path, &s->set, e);
    if (rc == TT_OK && file->rank == 0 && !s->set.closed)
        rc = tt_fail(e, TT_FAILED,
                     "'%s' was not closed, so subfiles may be incomplete; tutti convert reads what "
                     "is there",
                     file->spec->path);
    rc = tt_file_agree(file, rc, e);
    if (rc == TT_OK && file->size > 1)
        MPI_Bcast(&s->set, (int)sizeof s->set, MPI_BYTE, 0, file->spec->comm);
    return rc;
}

static int open_own(struct tt_file *file, struct subfile_own *own, uint64_t number,
                    struct tt_error *e)
{
    struct subfile_state *s = file->state;
    uint64_t length;
    int rc = TT_OK;

    own->number = number;
    own->path = tt_subfile_path(file->spec->path, number, s->set.n);
    own->spec = *file->spec;
    own->spec.path = own->path;
    own->spec.comm = MPI_COMM_SELF;
    own->spec.policy = TT_OVERWRITE;
    own->spec.steps = 0; /* nor is it known how long the file becomes */
    own->spec.nvariables = 1;
    own->spec.variables = &s->container;
    own->spec.plain = false;
    own->spec.ngroups = 0;
    if (!own->path)
        return tt_fail_nomem(e, "the name of a subfile");
    if (file->spec->access != TT_CREATE)
        rc = tt_subfile_check(&s->set, file->spec->path, number, &length, e);
    return rc == TT_OK ? tt_part_open(file, &own->spec, &own->file, e) : rc;
}

static int open_all(struct tt_file *file, struct tt_error *e)
{
    struct subfile_state *s = file->state;
    size_t k = 0;
    int rc = TT_OK;

    s->container = (struct tt_variable){.path = "container",
                                        .element = &tt_element_u8,
                                        .ndims = 1,
                                        .dims = {ENDLESS},
                                        .unlimited = true};
    for (uint64_t i = 0; rc == TT_OK && i < s->set.n; i++)
        if (s->owners[i] == file->rank)
            rc = open_own(file, &s->own[k++], i, e);
    if (rc == TT_OK)
        rc = tt_subfile_exchange_start(file, e);
    return rc;
}

/* What stands at every path, for the rank that speaks for them. */
static int share_made(struct tt_file *file, struct tt_error *e)
{
    struct subfile_state *s = file->state;
    struct tt_file_identity *all = calloc(s->set.n + 1, sizeof *all);
    int rc = tt_file_agree(file, all ? TT_OK : tt_fail_nomem(e, "the subfiles of a file"), e);
    MPI_Request request;

    if (rc != TT_OK) {
        free(all);
        return rc;
    }
    if (file->rank == 0)
        all[0] = file->made;
    for (size_t i = 0; i < s->nown; i++)
        all[s->own[i].number + 1] = s->own[i].file->made;
    if (file->size > 1) {
        MPI_Iallreduce(MPI_IN_PLACE, all, 2 * (int)(s->set.n + 1), MPI_UINT64_T, MPI_MAX,
                       file->spec->comm, &request);
        tt_file_wait_requests(file, 1, &request, MPI_STATUS_IGNORE);
    }
    file->made_all = all;
    return TT_OK;
}

/* Closes what is open; with unmake, what was made goes. */
static int close_all(struct tt_file *file, bool unmake, struct tt_error *e)
{
    struct subfile_state *s = file->state;
    int rc = TT_OK;

    for (size_t i = 0; s->own && i < s->nown; i++) {
        struct subfile_own *own = &s->own[i];
        struct tt_file_identity made = own->file ? own->file->made : (struct tt_file_identity){0};
        struct tt_file gone = {.spec = &own->spec, .made = made};
        int now = own->file ? tt_part_close(file, own->file, e) : TT_OK;

        own->file = NULL;
        if (unmake)
            tt_disk_unmake(&gone);
        rc = rc == TT_OK ? now : rc;
    }
    return rc;
}

static int free_all(struct tt_file *file, int rc, struct tt_error *e)
{
    struct subfile_state *s = file->state;

    if (s->config >= 0 && close(s->config) != 0 && rc == TT_OK)
        rc = tt_fail_call(e, errno, "close", file->spec->path, -1);
    for (size_t i = 0; s->own && i < s->nown; i++)
        free(s->own[i].path);
    free(s->own);
    free(s->owners);
    tt_subfile_exchange_end(s);
    return rc;
}

static int subfile_open(struct tt_file *file, struct tt_error *e)
{
    struct subfile_state *s = file->state;
    bool creates = file->spec->access == TT_CREATE;
    struct tt_error ignored = TT_ERROR_CLEAR;
    int *leaders = NULL, nleaders = 0, rc;

    s->config = -1;
    rc = find_leaders(file->spec, &leaders, &nleaders, e);
    if (rc == TT_OK)
        rc = learn_set(file, nleaders, e);
    if (rc == TT_OK)
        rc = choose_owners(file, leaders, nleaders, e);
    if (rc == TT_OK && creates && file->rank == 0)
        rc = make_text(file, e);
    rc = tt_file_agree(file, rc, e);
    if (rc == TT_OK)
        rc = tt_file_agree(file, open_all(file, e), e);
    if (rc == TT_OK && creates)
        rc = share_made(file, e);
    free(leaders);
    if (rc == TT_OK)
        return TT_OK;
    close_all(file, creates, &ignored);
    if (creates)
        tt_disk_unmake(file);
    free_all(file, rc, &ignored);
    return rc;
}

/* Raw files are not told of steps. */
static int subfile_define(struct tt_file *file, uint64_t step, struct tt_error *e)
{
    (void)file;
    (void)step;
    (void)e;
    return TT_OK;
}

/* ---- transfers ---- */

/* A file may be shorter than its share of the container, where nobody has written its end: that is
 * zero, as in every other file. */
static int lengthen(struct subfile_own *own, uint64_t length, struct tt_error *e)
{
    int fd, rc = TT_OK;

    if (own->end >= length)
        return TT_OK;
    fd = open(own->path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return tt_fail_call(e, errno, "open", own->path, -1);
    rc = tt_disk_check_made(own->file, fd, e);
    if (rc == TT_OK && ftruncate(fd, (off_t)length) != 0)
        rc = tt_fail_call(e, errno, "ftruncate", own->path, (long long)length);
    close(fd);
    if (rc == TT_OK)
        own->end = length;
    return rc;
}

/* All files get the lengths that belong to what was written. Collective, and ranks have agreed. */
static int settle(struct tt_file *file, struct tt_error *e)
{
    struct subfile_state *s = file->state;
    uint64_t size = s->end;
    MPI_Request request;
    int rc = TT_OK;

    if (!s->unsettled)
        return TT_OK;
    s->unsettled = false;
    if (file->size > 1) {
        MPI_Iallreduce(MPI_IN_PLACE, &size, 1, MPI_UINT64_T, MPI_MAX, file->spec->comm, &request);
        tt_file_wait_requests(file, 1, &request, MPI_STATUS_IGNORE);
    }
    s->set.size = size;
    for (size_t i = 0; rc == TT_OK && i < s->nown; i++)
        rc = lengthen(&s->own[i], tt_subfile_length(&s->set, s->own[i].number, size), e);
    rc = tt_file_agree(file, rc, e);
    s->failed |= rc != TT_OK;
    return rc;
}

static int subfile_write(struct tt_file *file, uint64_t step, const struct tt_block *b,
                         struct tt_error *e)
{
    struct subfile_state *s = file->state;
    int rc;

    s->unsettled = true;
    rc = tt_subfile_transfer(file, TT_WRITING, step, b, e);
    s->failed |= rc != TT_OK;
    return rc;
}

static int subfile_read(struct tt_file *file, uint64_t step, const struct tt_block *b,
                        struct tt_error *e)
{
    int rc = settle(file, e);

    return rc == TT_OK ? tt_subfile_transfer(file, TT_READING, step, b, e) : rc;
}

/* ---- the end ---- */

/* What a rank wrote is durable when the concentrators have synced it, so all wait for them. */
static int subfile_sync(struct tt_file *file, struct tt_error *e)
{
    struct subfile_state *s = file->state;
    int rc = s->failed ? TT_OK : settle(file, e);

    s->synced = true;
    for (size_t i = 0; i < s->nown; i++) {
        int now = tt_file_sync(s->own[i].file, e);

        rc = rc == TT_OK ? now : rc;
    }
    if (rc == TT_OK && s->config >= 0 && fsync(s->config) != 0)
        rc = tt_fail_call(e, errno, "fsync", file->spec->path, -1);
    return tt_file_agree(file, rc, e);
}

static int subfile_close(struct tt_file *file, struct tt_error *e)
{
    struct subfile_state *s = file->state;
    int rc = s->failed ? TT_OK : settle(file, e), closed = close_all(file, false, e);

    rc = tt_file_agree(file, rc == TT_OK ? closed : rc, e);
    if (rc == TT_OK && s->config >= 0 && !s->failed) {
        s->set.closed = true;
        rc = write_text(file, e);
        if (rc == TT_OK && s->synced &&
            fsync(s->config) != 0) /* data that is durable can be read */
            rc = tt_fail_call(e, errno, "fsync", file->spec->path, -1);
    }
    return free_all(file, rc, e);
}

static int subfile_query(struct tt_file *file, struct tt_facts *facts, struct tt_error *e)
{
    const struct subfile_opts *o = file->opts;
    const struct subfile_state *s = file->state;
    char given[32] = "", is[96], bytes[TT_UNIT_TEXT];

    if (o->count)
        snprintf(given, sizeof given, "%" PRIu64, o->count);
    snprintf(is, sizeof is, "%" PRIu64 " files with stripes of %s", s->set.n,
             tt_format_bytes((double)s->set.stripe, bytes));
    if (tt_facts_add(facts, "subfile.count", o->count ? given : NULL, is, TT_IN_EFFECT,
                     "the text at the path") != TT_OK)
        return tt_fail_nomem(e, "facts");
    return TT_OK;
}

const struct tt_backend tt_layer_subfile = {
    .name = "subfile",
    .summary = "bytes are striped over several files; one rank makes all calls on each",
    .kind = TT_LAYOUT_LAYER,
    .caps = TT_CAP_CARRIES_LAYOUT | TT_CAP_NEEDS_RAW | TT_CAP_CONVERTIBLE,
    .state_size = sizeof(struct subfile_state),
    .opts_size = sizeof(struct subfile_opts),
    .params = params,
    .check = subfile_check,
    .list = subfile_list,
    .subfiles = subfile_subfiles,
    .open = subfile_open,
    .define = subfile_define,
    .write = subfile_write,
    .read = subfile_read,
    .is_collective = subfile_is_collective,
    .sync = subfile_sync,
    .close = subfile_close,
    .query = subfile_query,
};
