/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/spot_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/agree.h"
#include "base/mix.h"
#include "engine/private.h"
#include "io/disk.h"
#include "io/layers/verify/ledger.h"
#include "io/layers/verify/check.h"

enum {
    MOST_FILES = 32,
    MOST_DUMPS = 16,     /* of a file */
    MOST_BLOCKS = 16,    /* of a dump */
    MOST_TRANSFERS = 64, /* of a file */
    MOST_PLACES = 16,    /* of a block */
    MOST_RUNS = 4096,    /* of a selection that is walked through */
    PLACE_BYTES = 8,     /* at least, and one element */
};
#define BYTES_APART (UINT64_C(1) << 20) /* places of a large block */
#define MOST_BYTES (UINT64_C(64) << 10) /* of a block */

struct tt_spot_check {
    struct tt_ledger ledger; /* entry i has selection i, until it is settled */
    struct tt_engine *engine;
    bool settled;
    uint64_t dumps, transfers; /* so far */
    uint64_t kept[MOST_DUMPS]; /* their steps */
    unsigned nkept;
    char path[];
};

/* ---- places of a selection ---- */

/* Where the n-th selected elements lie, for rising n. */
struct cursor {
    const struct tt_selection *s;
    size_t run;
    uint64_t before; /* elements of the runs before */
};

static uint64_t index_of(struct cursor *c, uint64_t n)
{
    const struct tt_selection *s = c->s;
    uint64_t index = 0, size = 1;

    if (s->kind == TT_SELECT_ALL)
        return n;
    if (s->kind == TT_SELECT_RUNS) {
        while (n - c->before >= s->runs[c->run].length)
            c->before += s->runs[c->run++].length;
        return s->runs[c->run].start + n - c->before;
    }
    for (int d = s->ndims - 1; d >= 0; d--) {
        uint64_t here = n % (s->count[d] * s->block[d]);

        n /= s->count[d] * s->block[d];
        index += (s->start[d] + here / s->block[d] * s->stride[d] + here % s->block[d]) * size;
        size *= s->dims[d];
    }
    return index;
}

/* Elements that a cursor reaches without a long walk. */
static uint64_t reach(const struct tt_selection *s)
{
    uint64_t n = 0;

    if (s->kind != TT_SELECT_RUNS || s->nruns <= MOST_RUNS)
        return tt_selection_count(s);
    for (size_t i = 0; i < MOST_RUNS; i++)
        n += s->runs[i].length;
    return n;
}

/* A number below n by one that is mixed well. */
static uint64_t below(uint64_t n, uint64_t mixed)
{
    return (uint64_t)((unsigned __int128)mixed * n >> 64);
}

/* Of n places of so many elements each the i-th: the first, the last, and random ones between. */
static uint64_t place(uint64_t elements, unsigned n, unsigned i, uint64_t each, uint64_t seed)
{
    uint64_t stratum = elements / n;

    if (i == 0)
        return 0;
    if (i + 1 == n)
        return elements - each;
    return i * stratum + below(stratum - each + 1, tt_mix(seed + i));
}

/* ---- what was written ---- */

static size_t field_bytes(const struct tt_field *f)
{
    return f->count * tt_kind_size(f->kind);
}

/* The blocks of a dump, in which the fields of an element may come one by one. */
struct blocks {
    unsigned n;
    const struct tt_block *list;
};

/* Where a field of the n-th element of a block lies in memory, which here or in another block for
 * the same place holds records of its own; NULL: nowhere. */
static const char *find_value(const struct blocks *blocks, const struct tt_block *b,
                              const struct tt_field *wanted, uint64_t n)
{
    for (unsigned i = 0; i < blocks->n; i++) {
        const struct tt_block *x = &blocks->list[i];
        struct cursor c = {&x->memory};
        const struct tt_field *f;

        if (x->variable != b->variable || !x->memory_element ||
            memcmp(&x->file, &b->file, sizeof x->file) != 0)
            continue;
        f = tt_find_field(x->memory_element, wanted->name);
        if (f && f->kind == wanted->kind && f->count == wanted->count)
            return (char *)x->data + index_of(&c, n) * x->memory_element->size + f->offset;
    }
    return NULL;
}

/* The n-th element of a block as it is in the file. False if not all of it is known. */
static bool convert(const struct blocks *blocks, const struct tt_block *b,
                    const struct tt_variable *v, uint64_t n, char *out)
{
    const struct tt_element *to = v->element;
    struct tt_field whole = {v->path, to->kind, 1, 0};
    const struct tt_field *fields = to->kind == TT_RECORD ? to->fields : &whole;
    unsigned nfields = to->kind == TT_RECORD ? to->nfields : 1;
    size_t filled = 0;

    for (unsigned i = 0; i < nfields; i++) {
        const char *from = find_value(blocks, b, &fields[i], n);

        if (!from)
            return false;
        memcpy(out + fields[i].offset, from, field_bytes(&fields[i]));
        filled += field_bytes(&fields[i]);
    }
    return filled == to->size; /* else what lies between the fields is not */
}

/* How many places of a block are looked at, and how many elements each has; 0: there is none. */
static uint64_t count_places(const struct tt_block *b, size_t size, uint64_t *elements,
                             uint64_t *each)
{
    uint64_t n, most;

    *elements = reach(&b->file);
    if (reach(&b->memory) < *elements)
        *elements = reach(&b->memory);
    *each = size < PLACE_BYTES ? PLACE_BYTES / size : 1;
    most = MOST_BYTES / (*each * size) + 1;
    n = 3 + *elements * size / BYTES_APART;
    n = n < MOST_PLACES ? n : MOST_PLACES;
    n = n < most ? n : most;
    if (n * *each <= *elements)
        return n;
    *each = *each < *elements ? *each : *elements;
    return *elements > 0;
}

/* A few places of a block: their runs and the hash of what they hold. False: none. */
static bool look_at_block(const struct blocks *blocks, const struct tt_variable *v,
                          const struct tt_block *b, uint64_t seed, struct tt_selection *selection,
                          uint64_t *hash)
{
    size_t size = v->element->size;
    uint64_t elements, each, n = count_places(b, size, &elements, &each);
    struct cursor file = {&b->file}, memory = {&b->memory};
    struct tt_run *runs;
    size_t nruns = 0;
    char *data;
    bool known = true;

    if (n == 0)
        return false;
    runs = malloc(n * each * sizeof *runs);
    data = malloc(n * each * size);
    for (uint64_t i = 0, k = 0; runs && data && known && i < n; i++) {
        uint64_t at = place(elements, (unsigned)n, (unsigned)i, each, seed);

        for (uint64_t j = 0; known && j < each; j++, k++) {
            uint64_t index = index_of(&file, at + j);

            if (nruns > 0 && runs[nruns - 1].start + runs[nruns - 1].length == index)
                runs[nruns - 1].length++;
            else
                runs[nruns++] = (struct tt_run){index, 1};
            if (b->memory_element)
                known = convert(blocks, b, v, at + j, data + k * size);
            else
                memcpy(data + k * size, (char *)b->data + index_of(&memory, at + j) * size, size);
        }
    }
    known = known && runs && data;
    if (known) {
        *hash = XXH3_64bits(data, n * each * size);
        tt_select_runs(selection, b->file.ndims, b->file.dims, nruns, runs);
    } else {
        free(runs);
    }
    free(data);
    return known;
}

/* ---- entries of a file ---- */

static void drop_entry(struct tt_ledger *l, size_t i)
{
    free((void *)l->selections[i].runs);
    l->selections[i] = l->selections[--l->nselections];
    l->entries[i] = l->entries[--l->nentries];
    l->entries[i].selection = i;
}

static void put_entry(struct tt_spot_check *s, size_t i, uint64_t step, const struct blocks *blocks,
                      const struct tt_block *b)
{
    struct tt_ledger *l = &s->ledger;
    uint64_t seed = tt_mix(s->engine->config->run->seed ^ (step + 1)) + (uint64_t)l->rank;
    struct tt_selection selection;
    uint64_t hash;

    if (!look_at_block(blocks, &l->spec.variables[b->variable], b, seed, &selection, &hash))
        return;
    if (i < l->nentries) {
        free((void *)l->selections[i].runs);
    } else {
        i = l->nentries++;
        l->nselections++;
    }
    l->selections[i] = selection;
    l->entries[i] = (struct tt_ledger_entry){b->variable, i, step, hash};
}

/* Files that overwrite hold the last step only; of others a random choice of steps is kept. False:
 * not this one. */
static bool keep_step(struct tt_spot_check *s, uint64_t step)
{
    uint64_t seed = s->engine->config->run->seed ^ s->dumps, victim = s->nkept;
    bool overwrites = s->ledger.spec.policy == TT_OVERWRITE;
    struct tt_ledger *l = &s->ledger;

    for (unsigned i = 0; i < s->nkept; i++)
        if (s->kept[i] == step || overwrites)
            victim = i;
    s->dumps++;
    if (victim == MOST_DUMPS)
        victim = tt_mix(seed) % s->dumps;
    if (victim >= MOST_DUMPS)
        return false;
    for (size_t i = l->nentries; victim < s->nkept && i-- > 0;)
        if (l->entries[i].step == s->kept[victim] &&
            l->spec.variables[l->entries[i].variable].per_step)
            drop_entry(l, i);
    s->nkept += victim == s->nkept;
    s->kept[victim] = step;
    return true;
}

void tt__spot_check_dump(struct tt_spot_check *s, uint64_t step, unsigned nblocks,
                         const struct tt_block *blocks)
{
    const struct blocks all = {nblocks, blocks};
    unsigned n = nblocks < MOST_BLOCKS ? nblocks : MOST_BLOCKS;

    if (!s)
        return;
    for (unsigned v = 0; v < s->ledger.spec.nvariables; v++)
        s->ledger.latest[v] = s->ledger.spec.variables[v].per_step ? step : 0;
    if (!keep_step(s, step))
        return;
    for (unsigned i = 0; i < n && s->ledger.nentries < s->ledger.entries_capacity; i++)
        put_entry(s, SIZE_MAX, step, &all, &blocks[place(nblocks, n, i, 1, s->dumps)]);
}

bool tt__spot_check_transfer(struct tt_spot_check *s, uint64_t step, const struct tt_block *b)
{
    const struct blocks alone = {1, b};
    uint64_t i;

    if (!s)
        return false;
    s->ledger.latest[b->variable] = step;
    i = s->transfers++;
    if (i >= MOST_TRANSFERS)
        i = below(s->transfers, tt_mix(s->engine->config->run->seed ^ i));
    if (i >= MOST_TRANSFERS)
        return false;
    put_entry(s, i, step, &alone, b);
    return true;
}

/* ---- files ---- */

static void free_spot_check(struct tt_spot_check *s)
{
    if (s)
        tt_ledger_free(&s->ledger);
    free(s);
}

/* The place in the list for a new file, or -1. A file that is open keeps its place. */
static int find_place(struct tt_engine_private *p, uint64_t seed)
{
    uint64_t n = p->spot_checked++;

    for (int i = 0; i < MOST_FILES; i++)
        if (!p->spot_checks[i])
            return i;
    n = tt_mix(seed ^ n) % (n + 1);
    return n < MOST_FILES && p->spot_checks[n]->settled ? (int)n : -1;
}

static struct tt_spot_check *make_spot_check(struct tt_engine *engine,
                                             const struct tt_file_spec *spec)
{
    struct tt_spot_check *s = calloc(1, sizeof *s + strlen(spec->path) + 1);
    size_t most = spec->policy == TT_OVERWRITE ? MOST_TRANSFERS : MOST_DUMPS * MOST_BLOCKS;
    struct tt_ledger *l;
    int size;

    if (!s)
        return NULL;
    l = &s->ledger;
    MPI_Comm_size(spec->comm, &size);
    s->engine = engine;
    memcpy(s->path, spec->path, strlen(spec->path) + 1);
    if (tt_ledger_start(l, engine->rank, size, spec) == TT_OK) {
        l->spec.path = s->path;
        l->entries_capacity = l->selections_capacity = most;
        l->entries = calloc(most, sizeof *l->entries);
        l->selections = calloc(most, sizeof *l->selections);
    }
    if (l->entries && l->selections)
        return s;
    free_spot_check(s);
    return NULL;
}

struct tt_spot_check *tt__spot_check_begin(struct tt_engine *engine,
                                           const struct tt_file_spec *spec)
{
    struct tt_engine_private *p = engine->p;
    unsigned caps = tt_stack_caps(&p->stack);
    int at;

    if (spec->access == TT_READ_ONLY || !(caps & TT_CAP_STORES) || p->verifies ||
        tt_stack_loss(&p->stack) > 0)
        return NULL;
    if (!p->spot_checks)
        p->spot_checks = calloc(MOST_FILES, sizeof *p->spot_checks);
    if (!p->spot_checks) {
        p->spot_checks_broken = true;
        return NULL;
    }
    for (int i = 0; i < MOST_FILES; i++)
        if (p->spot_checks[i] && !strcmp(p->spot_checks[i]->path, spec->path)) {
            free_spot_check(p->spot_checks[i]);
            p->spot_checks[i] = NULL;
        }
    at = find_place(p, engine->config->run->seed);
    if (at < 0)
        return NULL;
    free_spot_check(p->spot_checks[at]);
    p->spot_checks[at] = make_spot_check(engine, spec);
    p->spot_checks_broken = p->spot_checks_broken || !p->spot_checks[at];
    return p->spot_checks[at];
}

void tt__spot_check_settle(struct tt_spot_check *s)
{
    if (!s)
        return;
    s->settled = true;
    if (tt_ledger_detach(&s->ledger) != TT_OK)
        s->engine->p->spot_checks_broken = true;
}

int tt__spot_check_move(struct tt_engine *engine, const char *from, const char *to,
                        struct tt_error *e)
{
    struct tt_engine_private *p = engine->p;

    for (int i = 0; p->spot_checks && i < MOST_FILES; i++) {
        struct tt_spot_check *s = p->spot_checks[i], *grown;

        if (!s || strcmp(s->path, from) != 0)
            continue;
        grown = to ? realloc(s, sizeof *s + strlen(to) + 1) : NULL;
        p->spot_checks[i] = grown;
        if (!grown)
            free_spot_check(s);
        if (!grown && to)
            return tt_fail_nomem(e, "a spot check");
        if (grown) {
            memcpy(grown->path, to, strlen(to) + 1);
            grown->ledger.spec.path = grown->path;
        }
    }
    return p->verifies ? tt_ledger_move(p->directory, engine->rank, from, to, e) : TT_OK;
}

void tt__spot_checks_free(struct tt_engine *engine)
{
    struct tt_engine_private *p = engine->p;

    for (int i = 0; p->spot_checks && i < MOST_FILES; i++)
        free_spot_check(p->spot_checks[i]);
    free(p->spot_checks);
    p->spot_checks = NULL;
}

/* ---- reading back ---- */

static int sync_target(const struct tt_stack *stack, const char *path, struct tt_error *e)
{
    struct tt_target target;
    int rc = tt_stack_target_at(stack, path, &target, e);

    for (size_t i = 0; rc == TT_OK && i < target.n; i++)
        if (!target.list[i].is_directory)
            rc = tt_disk_sync(target.list[i].path, e);
    tt_target_free(&target);
    return rc;
}

/* What is asked for here was not asked for by the user: where it cannot be done, it is left. */
static int check_file(struct tt_engine *engine, struct tt_spot_check *s, struct tt_error *e)
{
    const struct tt_stack *stack = &engine->p->stack;
    const struct tt_backend *backend = stack->elements[stack->n - 1];
    struct tt_verify_report report = {0};
    struct tt_error why = TT_ERROR_CLEAR;
    int rc = TT_OK;

    /* An error of writing back that was told to a library; whoever syncs alone syncs by tutti's own
     * calls. */
    if (engine->config->run->sync != TT_SYNC_NEVER && !(backend->caps & TT_CAP_SYNCS_ALONE))
        rc = sync_target(stack, s->path, &why);
    if (s->ledger.size > 1)
        rc = tt_agree(engine->comm, rc, &why);
    if (rc == TT_OK)
        rc = tt_verify_ledger(s->ledger.size > 1 ? engine->comm : MPI_COMM_SELF, stack, &s->ledger,
                              &report, &why);
    if (rc == TT_OK || rc == TT_UNSUPPORTED)
        return TT_OK;
    if (rc == TT_CORRUPT && report.wrong_blocks > 0)
        tt_fail(
            e, rc,
            "%s reported success, but %llu of %llu sampled blocks are wrong (first: %s); do not "
            "trust it here",
            backend->name, (unsigned long long)report.wrong_blocks,
            (unsigned long long)report.blocks, why.text);
    else if (e->code == TT_OK) {
        *e = why;
        snprintf(e->text, sizeof e->text,
                 "%s reported success, but a sample cannot be read back%s%.380s", backend->name,
                 why.text[0] ? ": " : "", why.text);
    }
    return rc;
}

int tt__spot_checks_verify(struct tt_engine *engine, struct tt_error *e)
{
    struct tt_engine_private *p = engine->p;
    int rc = p->spot_checks_broken ? tt_fail_nomem(e, "spot checks of what was written") : TT_OK;

    rc = tt_agree(engine->comm, rc, e);
    for (int i = 0; rc == TT_OK && p->spot_checked > 0 && i < MOST_FILES; i++)
        if (p->spot_checks[i]) {
            int found = check_file(engine, p->spot_checks[i], e);

            if (found != TT_OK && e->rank < 0)
                e->rank = engine->rank;
            rc = tt_agree(engine->comm, found, e);
            if (found != TT_OK)
                tt_warning(engine, "lost data: %s", e->text);
        }
    return rc;
}

/* ---- memory that is read into ---- */

/* Where eight bytes of an element begin that all belong to fields a read fills; -1: nowhere. */
static long solid_bytes(const struct tt_variable *v, const struct tt_block *b)
{
    const struct tt_element *x = b->memory_element ? b->memory_element : v->element;
    size_t end;

    if (x->kind != TT_RECORD)
        return 0;
    if (b->memory_element && v->element->kind != TT_RECORD) {
        const struct tt_field *f = tt_find_field(x, v->path);

        return f && field_bytes(f) >= sizeof(uint64_t) ? (long)f->offset : -1;
    }
    end = x->fields[0].offset;
    for (unsigned i = 0; i < x->nfields && x->fields[i].offset == end; i++)
        end += field_bytes(&x->fields[i]);
    return end - x->fields[0].offset >= sizeof(uint64_t) ? (long)x->fields[0].offset : -1;
}

/* Another for each read, since content that happens to be the same word would be an accident. */
static uint64_t draw_word(void)
{
    static _Thread_local uint64_t drawn;

    if (drawn == 0)
        drawn = tt_mix((uint64_t)tt_now_ns());
    return tt_mix(++drawn);
}

void tt__spoil(struct tt_spoilt *spoilt, const struct tt_variable *v, const struct tt_block *b)
{
    size_t size = tt_block_element_size(b, v);
    uint64_t elements = reach(&b->memory), each = size < 8 ? 8 / size : 1;
    long offset = solid_bytes(v, b);
    struct cursor c = {&b->memory};

    spoilt->n = 0;
    if (elements < TT_SPOILT * each || offset < 0)
        return;
    spoilt->word = draw_word();
    for (unsigned i = 0; i < TT_SPOILT; i++) {
        uint64_t at = place(elements, TT_SPOILT, i, each, spoilt->word);
        uint64_t first = at;

        if (b->memory.kind != TT_SELECT_ALL) {
            first = index_of(&c, at);
            if (index_of(&c, at + each - 1) - first != each - 1)
                continue;
        }
        spoilt->at[spoilt->n] = (char *)b->data + first * size + offset;
        memcpy(spoilt->at[spoilt->n++], &spoilt->word, sizeof spoilt->word);
    }
}

bool tt__is_spoilt(const struct tt_spoilt *spoilt)
{
    for (unsigned i = 0; i < spoilt->n; i++)
        if (!memcmp(spoilt->at[i], &spoilt->word, sizeof spoilt->word))
            return true;
    return false;
}
