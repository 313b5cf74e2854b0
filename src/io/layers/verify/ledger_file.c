/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A ledger on disk. The order of items in the functions put_* and take_* is the format. */
#include "io/layers/verify/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL /* its states on the stack */
#include <xxhash.h>

#define MAGIC UINT64_C(0x0a34565454747574) /* "tutTTV4\n" on little-endian machines */

/* ---- writing ---- */

struct writer {
    FILE *out;
    XXH3_state_t hash;
    int failed; /* errno of the first failure */
};

static void put(struct writer *w, const void *data, size_t n)
{
    XXH3_64bits_update(&w->hash, data, n);
    if (!w->failed && fwrite(data, 1, n, w->out) != n)
        w->failed = errno ? errno : EIO;
}

static void put_word(struct writer *w, uint64_t value)
{
    put(w, &value, sizeof value);
}

static void put_words(struct writer *w, const uint64_t *values, int n)
{
    put(w, values, (size_t)n * sizeof *values);
}

/* Its length with the final 0, then the text padded with zeros to whole words. */
static void put_text(struct writer *w, const char *text)
{
    size_t n = strlen(text) + 1;

    put_word(w, n);
    put(w, text, n);
    put(w, "\0\0\0\0\0\0\0", (8 - n % 8) % 8);
}

static void put_variable(struct writer *w, const struct tt_variable *v)
{
    put_text(w, v->path);
    put_word(w, v->element->kind);
    put_word(w, v->element->size);
    put_word(w, v->element->nfields);
    for (unsigned i = 0; i < v->element->nfields; i++) {
        const struct tt_field *f = &v->element->fields[i];

        put_text(w, f->name);
        put_word(w, f->kind);
        put_word(w, f->count);
        put_word(w, f->offset);
    }
    put_word(w, (uint64_t)v->ndims);
    put_words(w, v->dims, v->ndims);
    put_word(w, v->per_step);
    put_word(w, v->unlimited);
    put_word(w, v->max_blocks);
}

static void put_selection(struct writer *w, const struct tt_selection *s)
{
    put_word(w, s->kind);
    put_word(w, (uint64_t)s->ndims);
    put_words(w, s->dims, s->ndims);
    if (s->kind == TT_SELECT_SLAB) {
        put_words(w, s->start, s->ndims);
        put_words(w, s->stride, s->ndims);
        put_words(w, s->count, s->ndims);
        put_words(w, s->block, s->ndims);
    }
    if (s->kind == TT_SELECT_RUNS) {
        put_word(w, s->nruns);
        put(w, s->runs, s->nruns * sizeof *s->runs);
    }
}

static void put_ledger(struct writer *w, const struct tt_ledger *l)
{
    size_t current = 0;

    put_word(w, MAGIC);
    put_word(w, (uint64_t)l->rank);
    put_word(w, (uint64_t)l->size);
    put_text(w, l->spec.path);
    put_text(w, l->spec.step_group ? l->spec.step_group : "");
    put_word(w, l->spec.first_step);
    put_word(w, l->spec.policy);
    put_word(w, l->spec.steps);
    put_word(w, l->spec.nvariables);
    for (unsigned i = 0; i < l->spec.nvariables; i++)
        put_variable(w, &l->spec.variables[i]);
    put_word(w, l->nselections);
    for (size_t i = 0; i < l->nselections; i++)
        put_selection(w, &l->selections[i]);
    for (size_t i = 0; i < l->nentries; i++)
        current += tt_ledger_is_current(l, &l->entries[i]);
    put_word(w, current);
    for (size_t i = 0; i < l->nentries; i++)
        if (tt_ledger_is_current(l, &l->entries[i]))
            put(w, &l->entries[i], sizeof l->entries[i]);
    put(w, &l->loss, sizeof l->loss);
    for (size_t i = 0; l->loss > 0 && i < l->nentries; i++)
        if (tt_ledger_is_current(l, &l->entries[i]))
            put(w, l->samples + i * TT_LEDGER_SAMPLES, TT_LEDGER_SAMPLES * sizeof *l->samples);
}

int tt_ledger_save(const struct tt_ledger *l, const char *path, struct tt_error *e)
{
    struct writer w = {.out = fopen(path, "wb")};
    uint64_t sum;

    if (!w.out)
        return tt_fail_call(e, errno, "open", path, -1);
    XXH3_64bits_reset(&w.hash);
    put_ledger(&w, l);
    sum = XXH3_64bits_digest(&w.hash);
    put(&w, &sum, sizeof sum);
    if (fclose(w.out) != 0 && !w.failed)
        w.failed = errno;
    return w.failed ? tt_fail_call(e, w.failed, "write", path, -1) : TT_OK;
}

/* ---- reading ---- */

/* All take_* return false past the end or where a value makes no sense. */
struct reader {
    const char *next;
    size_t left;
};

static const void *take(struct reader *r, uint64_t n)
{
    const void *here = r->next;

    if (n > r->left)
        return NULL;
    r->next += n;
    r->left -= n;
    return here;
}

static bool take_word(struct reader *r, uint64_t max, uint64_t *out)
{
    const void *here = take(r, sizeof *out);

    if (!here)
        return false;
    memcpy(out, here, sizeof *out);
    return *out <= max;
}

/* How many items follow; none is smaller than min_size, so memory stays in proportion to the file.
 */
static bool take_count(struct reader *r, size_t min_size, uint64_t *n)
{
    return take_word(r, UINT64_MAX, n) && *n <= r->left / min_size;
}

static bool take_text(struct reader *r, const char **out)
{
    uint64_t n;

    if (!take_count(r, 1, &n) || n == 0)
        return false;
    *out = take(r, (n + 7) / 8 * 8);
    return *out && memchr(*out, 0, n) == *out + n - 1;
}

static bool take_dims(struct reader *r, uint64_t element_size, int *ndims, uint64_t *dims)
{
    uint64_t n, bytes = element_size;

    if (!take_word(r, TT_MAX_DIMS, &n) || n == 0)
        return false;
    *ndims = (int)n;
    for (uint64_t d = 0; d < n; d++)
        if (!take_word(r, INT64_MAX, &dims[d]) || __builtin_mul_overflow(bytes, dims[d], &bytes))
            return false;
    return bytes <= INT64_MAX;
}

static bool take_field(struct reader *r, size_t element_size, struct tt_field *f)
{
    uint64_t kind, count, offset;

    if (!take_text(r, &f->name) || !take_word(r, TT_CHAR, &kind) ||
        !take_word(r, element_size, &count) || !take_word(r, element_size, &offset))
        return false;
    f->kind = (enum tt_kind)kind;
    f->count = (uint32_t)count;
    f->offset = offset;
    return count > 0 && offset + count * tt_kind_size(f->kind) <= element_size;
}

static bool take_element(struct reader *r, struct tt_element *el)
{
    uint64_t kind, size, nfields;
    struct tt_field *fields;

    if (!take_word(r, TT_RECORD, &kind) || !take_word(r, 1u << 20, &size) ||
        !take_count(r, 40, &nfields) || size == 0)
        return false;
    el->kind = (enum tt_kind)kind;
    el->size = size;
    if (el->kind != TT_RECORD)
        return nfields == 0 && size == tt_kind_size(el->kind);
    fields = calloc(nfields + 1, sizeof *fields);
    el->fields = fields;
    el->nfields = (unsigned)nfields;
    for (uint64_t i = 0; i < nfields; i++)
        if (!fields || !take_field(r, size, &fields[i]))
            return false;
    return nfields > 0;
}

static bool take_variable(struct reader *r, struct tt_variable *v, struct tt_element *el)
{
    uint64_t per_step, unlimited, max_blocks;

    v->element = el;
    if (!take_text(r, &v->path) || !take_element(r, el) ||
        !take_dims(r, el->size, &v->ndims, v->dims) || !take_word(r, 1, &per_step) ||
        !take_word(r, 1, &unlimited) || !take_word(r, UINT32_MAX, &max_blocks))
        return false;
    v->per_step = per_step;
    v->unlimited = unlimited;
    v->max_blocks = (unsigned)max_blocks;
    return v->ndims < TT_MAX_DIMS;
}

static bool take_sides(struct reader *r, int ndims, uint64_t *side)
{
    for (int d = 0; d < ndims; d++)
        if (!take_word(r, INT64_MAX, &side[d]))
            return false;
    return true;
}

/* Runs never overlap, so together they are not longer than the array. */
static bool runs_fit(const struct tt_selection *s)
{
    uint64_t size = 1, sum = 0;

    for (int d = 0; d < s->ndims; d++)
        size *= s->dims[d];
    for (size_t i = 0; i < s->nruns; i++) {
        if (s->runs[i].length > size || sum + s->runs[i].length > size)
            return false;
        sum += s->runs[i].length;
    }
    return true;
}

static bool take_selection(struct reader *r, struct tt_selection *s)
{
    uint64_t kind, nruns = 0, dims[TT_MAX_DIMS] = {0};
    const struct tt_run *runs = NULL;
    int ndims;

    if (!take_word(r, TT_SELECT_RUNS, &kind) || !take_dims(r, 1, &ndims, dims))
        return false;
    if (kind == TT_SELECT_RUNS) {
        if (!take_count(r, sizeof *runs, &nruns))
            return false;
        runs = take(r, nruns * sizeof *runs);
        tt_select_runs(s, ndims, dims, nruns, runs);
    } else {
        tt_select_all(s, ndims, dims);
        s->kind = (enum tt_selection_kind)kind;
    }
    if (kind == TT_SELECT_SLAB &&
        (!take_sides(r, ndims, s->start) || !take_sides(r, ndims, s->stride) ||
         !take_sides(r, ndims, s->count) || !take_sides(r, ndims, s->block)))
        return false;
    return tt_selection_is_valid(s) && runs_fit(s);
}

static bool take_header(struct reader *r, struct tt_ledger *l)
{
    uint64_t magic, rank, size, policy, steps, nvariables;
    struct tt_variable *variables;
    struct tt_element *elements;

    if (!take_word(r, UINT64_MAX, &magic) || magic != MAGIC || !take_word(r, INT32_MAX, &rank) ||
        !take_word(r, INT32_MAX, &size) || !take_text(r, &l->spec.path) ||
        !take_text(r, &l->spec.step_group) || !take_word(r, INT64_MAX, &l->spec.first_step) ||
        !take_word(r, TT_GROUP, &policy) || !take_word(r, INT64_MAX, &steps) ||
        !take_count(r, 64, &nvariables) || size == 0 || nvariables == 0)
        return false;
    l->rank = (int)rank;
    l->size = (int)size;
    if (!l->spec.step_group[0])
        l->spec.step_group = NULL;
    l->spec.policy = (enum tt_policy)policy;
    l->spec.steps = steps;
    variables = calloc(nvariables, sizeof *variables);
    elements = calloc(nvariables, sizeof *elements);
    l->latest = calloc(nvariables, sizeof *l->latest);
    l->spec.variables = variables;
    if (!variables || !elements || !l->latest) {
        free(elements);
        return false;
    }
    variables[0].element = elements; /* owned through the first variable */
    for (uint64_t i = 0; i < nvariables; i++) {
        l->spec.nvariables = (unsigned)i + 1;
        if (!take_variable(r, &variables[i], &elements[i]))
            return false;
    }
    return true;
}

static bool fits(const struct tt_selection *s, const struct tt_variable *v)
{
    return s->ndims == v->ndims && !memcmp(s->dims, v->dims, (size_t)v->ndims * sizeof *v->dims);
}

static bool take_entries(struct reader *r, struct tt_ledger *l)
{
    uint64_t n;
    const void *list;

    if (!take_count(r, sizeof *l->entries, &n))
        return false;
    list = take(r, n * sizeof *l->entries);
    l->entries = malloc(n * sizeof *l->entries + 1);
    if (!l->entries)
        return false;
    memcpy(l->entries, list, n * sizeof *l->entries);
    l->nentries = n;
    for (size_t i = 0; i < n; i++) {
        const struct tt_ledger_entry *x = &l->entries[i];

        if (x->variable >= l->spec.nvariables || x->selection >= l->nselections ||
            x->step > INT64_MAX / (l->spec.nvariables + 1) ||
            !fits(&l->selections[x->selection], &l->spec.variables[x->variable]))
            return false;
        l->latest[x->variable] = x->step;
    }
    return true;
}

static bool take_samples(struct reader *r, struct tt_ledger *l)
{
    const void *loss = take(r, sizeof l->loss), *list;
    size_t size = l->nentries * TT_LEDGER_SAMPLES * sizeof *l->samples;

    if (!loss)
        return false;
    memcpy(&l->loss, loss, sizeof l->loss);
    if (l->loss == 0)
        return true;
    list = take(r, size);
    l->samples = list ? malloc(size + 1) : NULL;
    if (!l->samples || !(l->loss > 0) || isinf(l->loss))
        return false;
    memcpy(l->samples, list, size);
    return true;
}

static bool take_ledger(struct reader *r, struct tt_ledger *l)
{
    uint64_t n;

    if (!take_header(r, l) || !take_count(r, 24, &n))
        return false;
    l->selections = calloc(n + 1, sizeof *l->selections);
    if (!l->selections)
        return false;
    for (; l->nselections < n; l->nselections++)
        if (!take_selection(r, &l->selections[l->nselections]))
            return false;
    return take_entries(r, l) && take_samples(r, l) && r->left == 0;
}

static int read_image(const char *path, char **image, size_t *size, struct tt_error *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK),
        rc = TT_OK; /* of a pipe, too, in time */
    FILE *in = fd >= 0 ? fdopen(fd, "rb") : NULL;
    struct stat st;

    if (!in) {
        rc = tt_fail_call(e, errno, "open", path, -1);
        if (fd >= 0)
            close(fd);
        return rc;
    }
    if (fstat(fileno(in), &st) != 0 || !S_ISREG(st.st_mode)) {
        rc = tt_fail(e, TT_CORRUPT, "'%s' is not a plain file", path);
    } else {
        *size = (size_t)st.st_size;
        *image = malloc(*size + 1);
        if (!*image)
            rc = tt_fail_nomem(e, "a ledger");
        else if (fread(*image, 1, *size, in) != *size)
            rc = tt_fail(e, TT_CORRUPT, "'%s' became shorter while it was read", path);
    }
    fclose(in);
    return rc;
}

int tt_ledger_load(struct tt_ledger *l, const char *path, struct tt_error *e)
{
    struct reader r = {NULL, 0};
    uint64_t sum;
    int rc;

    memset(l, 0, sizeof *l);
    rc = read_image(path, &l->image, &r.left, e);
    r.next = l->image;
    if (rc == TT_OK && r.left < sizeof sum)
        rc = tt_fail(e, TT_CORRUPT, "'%s' is cut off", path);
    if (rc == TT_OK) {
        r.left -= sizeof sum;
        memcpy(&sum, r.next + r.left, sizeof sum);
        if (XXH3_64bits(r.next, r.left) != sum)
            rc = tt_fail(e, TT_CORRUPT, "'%s' is damaged: its checksum is wrong", path);
        else if (!take_ledger(&r, l))
            rc = tt_fail(e, TT_CORRUPT, "'%s' is not a ledger of a run", path);
        else if (tt_ledger_index(l) != TT_OK)
            rc = tt_fail_nomem(e, "a ledger");
    }
    if (rc != TT_OK)
        tt_ledger_free(l);
    return rc;
}

int tt_ledger_detach(struct tt_ledger *l)
{
    struct tt_ledger own = {0};
    struct reader r = {NULL, 0};
    struct writer w = {.out = open_memstream(&own.image, &r.left)};

    if (w.out) {
        XXH3_64bits_reset(&w.hash);
        put_ledger(&w, l);
        if (fclose(w.out) != 0)
            w.failed = ENOMEM;
    }
    tt_ledger_free(l);
    r.next = own.image;
    if (!w.out || w.failed || !take_ledger(&r, &own)) {
        tt_ledger_free(&own);
        return TT_NOMEM;
    }
    *l = own;
    return TT_OK;
}

int tt_ledger_move(const char *directory, int rank, const char *from, const char *to,
                   struct tt_error *e)
{
    char *old = tt_ledger_path(directory, rank, from);
    char *new = to ? tt_ledger_path(directory, rank, to) : NULL;
    struct tt_ledger l;
    int rc = !old || (to && !new) ? tt_fail_nomem(e, "a path") : TT_OK;

    if (rc == TT_OK && access(old, F_OK) == 0) {
        if (to && (rc = tt_ledger_load(&l, old, e)) == TT_OK) {
            l.spec.path = to;
            rc = tt_ledger_save(&l, new, e);
            tt_ledger_free(&l);
        }
        unlink(old);
    }
    free(old);
    free(new);
    return rc;
}
