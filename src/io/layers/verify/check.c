/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/layers/verify/check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/agree.h"
#include "base/sys.h"

/* This rank's ledgers by name, which sorts those of shared files alike on all ranks. */
struct names {
    size_t n;
    char **paths;
};

static void free_names(struct names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->paths[i]);
    free(names->paths);
    names->paths = NULL;
    names->n = 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int add_name(struct names *names, const char *directory, const char *name)
{
    char **grown = realloc(names->paths, (names->n + 1) * sizeof *grown);

    if (!grown)
        return TT_NOMEM;
    names->paths = grown;
    if (asprintf(&grown[names->n], "%s/verify/%s", directory, name) < 0)
        return TT_NOMEM;
    names->n++;
    return TT_OK;
}

static int list_ledgers(const char *directory, int rank, int size, struct names *names,
                        struct tt_error *e)
{
    char path[4096];
    struct dirent *entry;
    int rc = TT_OK;
    DIR *dir;

    snprintf(path, sizeof path, "%s/verify", directory);
    dir = opendir(path);
    if (!dir)
        return errno == ENOENT ? tt_fail(e, TT_FAILED,
                                         "'%s' has no ledgers: the run was not made with "
                                         "--layers verify, or it did not close its files",
                                         directory)
                               : tt_fail_call(e, errno, "opendir", path, -1);
    while (rc == TT_OK && (entry = readdir(dir)) != NULL) {
        const char *end = strrchr(entry->d_name, '.');
        char *dash;
        long owner = strtol(entry->d_name, &dash, 10);

        if (!end || strcmp(end, ".ttv") || dash == entry->d_name || *dash != '-')
            continue;
        if (owner < 0 || owner >= size)
            rc = tt_fail(e, TT_USAGE, "the run had more than %d ranks; verify with as many", size);
        else if (owner == rank && add_name(names, directory, entry->d_name) != TT_OK)
            rc = tt_fail_nomem(e, "the list of ledgers");
    }
    closedir(dir);
    if (names->n > 0)
        qsort(names->paths, names->n, sizeof *names->paths, by_text);
    return rc;
}

/* The content of files is the business of the layout layers and the backend alone. */
static void without_request_layers(const struct tt_stack *stack, struct tt_stack *out)
{
    *out = *stack;
    out->n = 0;
    for (unsigned i = 0; i < stack->n; i++)
        if (stack->elements[i]->kind != TT_REQUEST_LAYER) {
            out->elements[out->n] = stack->elements[i];
            out->opts[out->n++] = stack->opts[i];
        }
}

/* ---- one file ---- */

struct check {
    struct tt_ledger *ledger;
    struct tt_file *file;
    struct tt_verify_report *report;
    void *buffer;
    size_t capacity;
};

/* Orders entries so that ranks can read variable by variable and step by step together. */
static uint64_t place_of(const struct tt_ledger *l, const struct tt_ledger_entry *x)
{
    return x->step * l->spec.nvariables + x->variable;
}

struct ordered {
    uint64_t place;
    const struct tt_ledger_entry *entry;
};

static int by_place(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;

    return x->place < y->place ? -1 : x->place > y->place;
}

static int reserve(struct check *c, size_t bytes, struct tt_error *e)
{
    if (bytes > c->capacity) {
        free(c->buffer);
        c->buffer = malloc(bytes);
        c->capacity = c->buffer ? bytes : 0;
    }
    return c->buffer || bytes == 0 ? TT_OK : tt_fail_nomem(e, "reading back a block");
}

static int wrong(struct check *c, const struct tt_ledger_entry *x, struct tt_error *e)
{
    c->report->wrong_blocks++;
    return tt_fail(e, TT_CORRUPT,
                   "'%s', variable '%s', step %llu: the content is not what rank %d wrote",
                   c->ledger->spec.path, c->ledger->spec.variables[x->variable].path,
                   (unsigned long long)x->step, c->ledger->rank);
}

/* Read one block; with entry NULL, take part with nothing. */
static int check_entry(struct check *c, uint64_t place, const struct tt_ledger_entry *x,
                       struct tt_error *e)
{
    const struct tt_file_spec *spec = &c->ledger->spec;
    struct tt_block b = {.variable = (unsigned)(place % spec->nvariables)};
    const struct tt_variable *v = &spec->variables[b.variable];
    uint64_t count = x ? tt_selection_count(&c->ledger->selections[x->selection]) : 0;
    int rc = reserve(c, count * v->element->size, e), read;

    if (!x || rc != TT_OK) {
        tt_select_none(&b.file, v->ndims, v->dims);
        tt_select_none(&b.memory, v->ndims, v->dims);
    } else {
        b.file = c->ledger->selections[x->selection];
        tt_select_all(&b.memory, 1, &count);
        memset(c->buffer, 0xa5, count * v->element->size);
    }
    b.data = c->buffer;
    read = tt_file_read(c->file, place / spec->nvariables, &b, e);
    if (!x || rc != TT_OK || read != TT_OK)
        return rc != TT_OK ? rc : read;
    c->report->blocks++;
    c->report->bytes += count * v->element->size;
    return tt_ledger_agrees(c->ledger, x, &b) ? TT_OK : wrong(c, x, e);
}

/* Collective over comm: all ranks read the same place at the same time, and equally often. */
static int check_entries(MPI_Comm comm, struct check *c, const struct ordered *list,
                         struct tt_error *e)
{
    size_t n = c->ledger->nentries, next = 0;
    int first = TT_OK;

    for (;;) {
        uint64_t mine = next < n ? list[next].place : UINT64_MAX, place, count = 0, most;

        MPI_Allreduce(&mine, &place, 1, MPI_UINT64_T, MPI_MIN, comm);
        if (place == UINT64_MAX)
            return first;
        while (next + count < n && list[next + count].place == place)
            count++;
        MPI_Allreduce(&count, &most, 1, MPI_UINT64_T, MPI_MAX, comm);
        for (uint64_t i = 0; i < most; i++) {
            int rc = check_entry(c, place, i < count ? list[next + i].entry : NULL, e);

            first = first != TT_OK ? first : rc;
        }
        next += count;
    }
}

/* The first path before it is read, since it may tell of the others. */
static int check_owner(const struct tt_stack *stack, const char *path,
                       const struct tt_verify_owner *owner, struct tt_error *e)
{
    struct tt_target target = {0};
    int rc = owner->check(owner->id, path, e);

    if (rc == TT_OK)
        rc = tt_stack_target_at(stack, path, &target, e);
    for (size_t i = 1; rc == TT_OK && i < target.n; i++)
        rc = owner->check(owner->id, target.list[i].path, e);
    tt_target_free(&target);
    return rc;
}

/* Collective over comm, the ranks of the file. */
static int check_file(MPI_Comm comm, const struct tt_stack *stack, struct tt_ledger *l,
                      const struct tt_verify_owner *owner, struct tt_verify_report *report,
                      struct tt_error *e)
{
    struct check c = {.ledger = l, .report = report};
    struct ordered *list = malloc(l->nentries * sizeof *list + 1);
    struct tt_error ignored = TT_ERROR_CLEAR;
    int rc = list ? TT_OK : tt_fail_nomem(e, "the order of a ledger");

    if (rc == TT_OK && owner)
        rc = check_owner(stack, l->spec.path, owner, e);
    rc = tt_agree(comm, rc, e);
    for (size_t i = 0; rc == TT_OK && i < l->nentries; i++)
        list[i] = (struct ordered){place_of(l, &l->entries[i]), &l->entries[i]};
    if (rc == TT_OK) {
        qsort(list, l->nentries, sizeof *list, by_place);
        l->spec.access = TT_READ_ONLY;
        MPI_Comm_dup(comm, &l->spec.comm);
        rc = tt_file_open(stack, &l->spec, &c.file, e);
        if (rc == TT_OK)
            rc = check_entries(comm, &c, list, e);
        if (c.file)
            tt_file_close(c.file, &ignored); /* nothing was written: its end cannot lose data */
        MPI_Comm_free(&l->spec.comm);
    }
    free(c.buffer);
    free(list);
    return rc;
}

/* ---- a plain file, past the library ---- */

/* False: it ends before, or cannot be read. */
static bool read_runs(int fd, uint64_t base, size_t size, const struct tt_selection *s, char *to)
{
    struct tt_block b = {.file = *s};
    uint64_t count = tt_selection_count(s);
    struct tt_extent_iter it;
    struct tt_extent x;

    tt_select_all(&b.memory, 1, &count);
    tt_extents_begin(&it, &b, size);
    while (tt_extents_next(&it, &x))
        if (tt_sys_read_at(fd, to + x.memory_offset, x.length, (off_t)(base + x.file_offset)) !=
            (ssize_t)x.length)
            return false;
    return true;
}

/* What O_DIRECT and views forbid, single bytes of any place, the page cache can do. */
static int check_raw_file(struct tt_ledger *l, struct tt_verify_report *report, struct tt_error *e)
{
    struct check c = {.ledger = l, .report = report};
    int fd = open(l->spec.path, O_RDONLY | O_CLOEXEC), rc = TT_OK;

    if (fd < 0)
        return tt_fail_call(e, errno, "open", l->spec.path, -1);
    for (size_t i = 0; i < l->nentries; i++) {
        const struct tt_ledger_entry *x = &l->entries[i];
        const struct tt_selection *s = &l->selections[x->selection];
        size_t size = l->spec.variables[x->variable].element->size;
        uint64_t base = tt_raw_offset(&l->spec, (unsigned)x->variable, x->step, 1);
        uint64_t bytes = tt_selection_count(s) * size;

        rc = reserve(&c, bytes, e);
        if (rc != TT_OK)
            break;
        report->blocks++;
        report->bytes += bytes;
        if (!read_runs(fd, base, size, s, c.buffer) || XXH3_64bits(c.buffer, bytes) != x->hash)
            wrong(&c, x, e);
    }
    close(fd);
    free(c.buffer);
    return rc != TT_OK ? rc : report->wrong_blocks ? TT_CORRUPT : TT_OK;
}

int tt_verify_ledger(MPI_Comm comm, const struct tt_stack *stack, struct tt_ledger *l,
                     struct tt_verify_report *report, struct tt_error *e)
{
    struct tt_stack plain;

    without_request_layers(stack, &plain);
    if (plain.n == 1 && plain.elements[0]->caps & TT_CAP_RAW)
        return check_raw_file(l, report, e);
    return check_file(comm, &plain, l, NULL, report, e);
}

/* ---- all files ---- */

/* Files of this rank alone; the ledgers of shared files stay in the list. */
static int check_own(const struct tt_stack *stack, int size, struct names *names,
                     const struct tt_verify_owner *owner, struct tt_verify_report *report,
                     struct tt_error *e)
{
    size_t kept = 0;
    int first = TT_OK;

    for (size_t i = 0; i < names->n; i++) {
        struct tt_ledger l;
        bool shared = false;
        int rc = tt_ledger_load(&l, names->paths[i], e);

        if (rc == TT_OK) {
            shared = l.size > 1;
            if (!shared)
                rc = check_file(MPI_COMM_SELF, stack, &l, owner, report, e);
            else if (l.size != size)
                rc = tt_fail(e, TT_USAGE, "the run had %d ranks; verify with as many", l.size);
            tt_ledger_free(&l);
        }
        if (shared && rc == TT_OK)
            names->paths[kept++] = names->paths[i];
        else
            free(names->paths[i]);
        first = first != TT_OK ? first : rc;
    }
    names->n = kept;
    return first;
}

/* Ledgers of other ranks may be missing: then nobody may enter a collective that they will not. */
static int check_same(MPI_Comm comm, const struct names *names, struct tt_error *e)
{
    uint64_t mine[2] = {names->n, ~(uint64_t)names->n}, most[2];

    MPI_Allreduce(mine, most, 2, MPI_UINT64_T, MPI_MAX, comm);
    if (most[0] != ~most[1])
        return tt_fail(e, TT_CORRUPT, "ledgers are missing: ranks do not have equally many");
    for (size_t i = 0; i < names->n; i++) {
        const char *key = strrchr(names->paths[i], '-');
        uint64_t h = XXH3_64bits(key, strlen(key));

        mine[0] = h;
        mine[1] = ~h;
        MPI_Allreduce(mine, most, 2, MPI_UINT64_T, MPI_MAX, comm);
        if (most[0] != ~most[1])
            return tt_fail(e, TT_CORRUPT, "ledgers are missing: ranks have those of other files");
    }
    return TT_OK;
}

/* Specs are untrusted: variables must agree, or a collective read would not meet. */
static int check_shared(MPI_Comm comm, const struct tt_stack *stack, const char *path,
                        const struct tt_verify_owner *owner, struct tt_verify_report *report,
                        struct tt_error *e)
{
    struct tt_ledger l;
    uint64_t mine[2], most[2];
    int rc = tt_ledger_load(&l, path, e), agreed = tt_agree(comm, rc, e);

    if (agreed == TT_OK) {
        mine[0] = XXH3_64bits(l.spec.path, strlen(l.spec.path)) ^ l.spec.nvariables;
        mine[1] = ~mine[0];
        MPI_Allreduce(mine, most, 2, MPI_UINT64_T, MPI_MAX, comm);
        agreed = most[0] != ~most[1] ? tt_fail(e, TT_CORRUPT, "'%s' is of another file", path)
                                     : check_file(comm, stack, &l, owner, report, e);
    }
    if (rc == TT_OK)
        tt_ledger_free(&l);
    return agreed;
}

int tt_verify_directory(MPI_Comm comm, const struct tt_stack *stack, const char *directory,
                        const struct tt_verify_owner *owner, struct tt_verify_report *report,
                        struct tt_error *e)
{
    struct tt_stack plain;
    struct names names = {0};
    int rank, size, rc;

    memset(report, 0, sizeof *report);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    without_request_layers(stack, &plain);
    if (!(tt_stack_caps(&plain) & TT_CAP_STORES))
        return tt_fail(e, TT_UNSUPPORTED, "backend %s keeps nothing that could be verified",
                       plain.elements[plain.n - 1]->name);
    rc = list_ledgers(directory, rank, size, &names, e);
    if (rc == TT_OK)
        rc = check_own(&plain, size, &names, owner, report, e);
    if (rc != TT_OK)
        e->rank = rank; /* a file of its own has only a rank 0 */
    rc = tt_agree(comm, rc, e);
    if (rc == TT_OK)
        rc = check_same(comm, &names, e);
    for (size_t i = 0; rc == TT_OK && i < names.n; i++)
        rc = tt_agree(comm, check_shared(comm, &plain, names.paths[i], owner, report, e), e);
    free_names(&names);
    return rc;
}
