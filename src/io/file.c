/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "io/file.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/agree.h"
#include "base/clock.h"
#include "base/note.h"
#include "io/calls.h"
#include "io/disk.h"
#include "io/node_cache.h"

/* ---- facts ---- */

static void copy_text(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from ? from : "");
}

int tt_facts_add(struct tt_facts *facts, const char *key, const char *given, const char *read_back,
                 enum tt_proof proof, const char *how)
{
    struct tt_fact *grown = realloc(facts->list, (facts->n + 1) * sizeof *grown);
    struct tt_fact *f;

    if (!grown)
        return TT_NOMEM;
    facts->list = grown;
    f = &grown[facts->n++];
    copy_text(f->key, sizeof f->key, key);
    copy_text(f->given, sizeof f->given, given);
    copy_text(f->read_back, sizeof f->read_back, read_back);
    copy_text(f->how, sizeof f->how, how);
    f->proof = proof;
    return TT_OK;
}

void tt_facts_free(struct tt_facts *facts)
{
    free(facts->list);
    facts->list = NULL;
    facts->n = 0;
}

/* ---- targets ---- */

int tt_target_add(struct tt_target *target, const char *path, bool is_directory)
{
    struct tt_target_path *grown = realloc(target->list, (target->n + 1) * sizeof *grown);

    if (!grown)
        return TT_NOMEM;
    target->list = grown;
    grown[target->n] = (struct tt_target_path){strdup(path), is_directory};
    if (!grown[target->n].path)
        return TT_NOMEM;
    target->n++;
    return TT_OK;
}

void tt_target_free(struct tt_target *target)
{
    for (size_t i = 0; i < target->n; i++)
        free(target->list[i].path);
    free(target->list);
    *target = (struct tt_target){0};
}

/* All elements are asked, also after one has failed: their answers may be collective. */
int tt_stack_target(const struct tt_stack *stack, const struct tt_file_spec *spec,
                    struct tt_target *target, struct tt_error *e)
{
    int rc = TT_OK;

    *target = (struct tt_target){0};
    if (tt_target_add(target, spec->path, false) != TT_OK)
        rc = tt_fail_nomem(e, "a path");
    for (unsigned i = 0; i < stack->n; i++)
        if (stack->elements[i]->list) {
            int now = stack->elements[i]->list(stack->opts[i], spec, target, e);

            rc = rc == TT_OK ? now : rc;
        }
    return rc;
}

int tt_stack_target_at(const struct tt_stack *stack, const char *path, struct tt_target *target,
                       struct tt_error *e)
{
    const struct tt_file_spec spec = {.path = path, .comm = MPI_COMM_SELF, .access = TT_READ_ONLY};

    return tt_stack_target(stack, &spec, target, e);
}

/* ---- raw layout ---- */

static uint64_t round_up(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) / alignment * alignment;
}

/* Walks the fixed (per_step false) or the per-step variables; stops in front of `until`. */
static uint64_t place(const struct tt_file_spec *spec, bool per_step, unsigned until,
                      uint64_t alignment)
{
    uint64_t offset = 0;

    for (unsigned i = 0; i < spec->nvariables && i < until; i++)
        if (spec->variables[i].per_step == per_step)
            offset = round_up(offset + tt_variable_bytes(&spec->variables[i]), alignment);
    return offset;
}

uint64_t tt_raw_offset(const struct tt_file_spec *spec, unsigned variable, uint64_t step,
                       uint64_t alignment)
{
    uint64_t fixed, record;

    if (!spec->variables[variable].per_step)
        return place(spec, false, variable, alignment);
    fixed = place(spec, false, spec->nvariables, alignment);
    record = place(spec, true, spec->nvariables, alignment);
    return fixed + (spec->policy == TT_OVERWRITE ? 0 : step) * record +
           place(spec, true, variable, alignment);
}

/* A file may have thousands of variables, and as many transfers. Without memory for it each
 * transfer walks them all. */
static void place_all(struct tt_file *file)
{
    const struct tt_file_spec *spec = file->spec;

    file->raw_starts = calloc(spec->nvariables + 1, sizeof *file->raw_starts);
    for (unsigned i = 0; file->raw_starts && i < spec->nvariables; i++) {
        const struct tt_variable *v = &spec->variables[i];
        uint64_t *end = v->per_step ? &file->raw_record : &file->raw_fixed;

        file->raw_starts[i] = *end;
        *end += tt_variable_bytes(v);
    }
}

uint64_t tt_file_raw_offset(const struct tt_file *file, unsigned variable, uint64_t step)
{
    if (!file->raw_starts)
        return tt_raw_offset(file->spec, variable, step, 1);
    if (!file->spec->variables[variable].per_step)
        return file->raw_starts[variable];
    if (file->spec->policy == TT_OVERWRITE)
        step = 0;
    return file->raw_fixed + step * file->raw_record + file->raw_starts[variable];
}

uint64_t tt_raw_size(const struct tt_file_spec *spec, uint64_t steps, uint64_t alignment)
{
    if (spec->policy == TT_OVERWRITE && steps > 1)
        steps = 1;
    return place(spec, false, spec->nvariables, alignment) +
           steps * place(spec, true, spec->nvariables, alignment);
}

void tt_step_group(const struct tt_file_spec *spec, uint64_t step, char name[TT_STEP_GROUP])
{
    step += spec->first_step;
    if (spec->step_group)
        snprintf(name, TT_STEP_GROUP, "%.40s%llu", spec->step_group, (unsigned long long)step);
    else
        snprintf(name, TT_STEP_GROUP, "step_%06llu", (unsigned long long)step);
}

/* ---- the stack ---- */

int tt_stack_check(const struct tt_stack *stack, struct tt_error *e)
{
    const struct tt_backend *backend = stack->elements[stack->n - 1];
    bool layout = false;

    for (unsigned i = 0; i + 1 < stack->n; i++) {
        const struct tt_backend *layer = stack->elements[i];

        if (layer->kind == TT_REQUEST_LAYER && layout)
            return tt_fail(e, TT_USAGE,
                           "layer %s must stand before layout layer %s in --layers: it works on "
                           "variables, which end there",
                           layer->name, stack->elements[i - 1]->name);
        if (layer->kind == TT_LAYOUT_LAYER && layout && !(layer->caps & TT_CAP_CARRIES_LAYOUT))
            return tt_fail(e, TT_USAGE,
                           "layer %s cannot stand on layer %s: each makes a container of its own; "
                           "leave one of them out (only subfile can stand below another)",
                           stack->elements[i - 1]->name, layer->name);
        layout = layout || layer->kind == TT_LAYOUT_LAYER;
        if (layer->caps & TT_CAP_NEEDS_RAW) {
            const struct tt_backend *next = stack->elements[i + 1];
            bool on_layout = next->kind == TT_LAYOUT_LAYER && next->caps & TT_CAP_CARRIES_LAYOUT;

            if (!(backend->caps & TT_CAP_RAW) || on_layout)
                return tt_fail(e, TT_USAGE,
                               "layer %s keeps its bytes in several plain files, which %s does "
                               "not write; use it on posix, mmap, uring or mpiio",
                               layer->name, next->name);
        }
    }
    if (layout && !(backend->caps & TT_CAP_CARRIES_LAYOUT))
        return tt_fail(e, TT_USAGE,
                       "a layout layer needs a backend that stores byte ranges; %s does not",
                       backend->name);
    return TT_OK;
}

unsigned tt_stack_caps(const struct tt_stack *stack)
{
    const unsigned all_or_none = TT_CAP_UPDATES | TT_CAP_GROWS | TT_CAP_CONVERTS;
    unsigned caps = stack->elements[stack->n - 1]->caps;

    for (unsigned i = 0; i < stack->n; i++) {
        if (!stack->elements[i]->submit)
            caps &= ~(unsigned)TT_CAP_NONBLOCKING;
        if (stack->elements[i]->kind == TT_LAYOUT_LAYER)
            caps &= ~(unsigned)TT_CAP_RAW;
        if (stack->elements[i]->kind == TT_LAYOUT_LAYER && stack->elements[i]->is_collective)
            caps &= ~(unsigned)TT_CAP_SYNCS_ALONE;
        caps &= stack->elements[i]->caps | ~all_or_none;
    }
    return caps;
}

unsigned tt_stack_most_submitted(const struct tt_stack *stack)
{
    unsigned last = stack->n - 1;
    const struct tt_backend *backend = stack->elements[last];

    if (!(tt_stack_caps(stack) & TT_CAP_NONBLOCKING))
        return 0;
    return backend->most_submitted ? backend->most_submitted(stack->opts[last]) : UINT_MAX;
}

bool tt_stack_is_collective(const struct tt_stack *stack)
{
    for (unsigned i = 0; i < stack->n; i++)
        if (stack->elements[i]->is_collective && stack->elements[i]->is_collective(stack->opts[i]))
            return true;
    return false;
}

double tt_stack_loss(const struct tt_stack *stack)
{
    double loss = 0;

    for (unsigned i = 0; i < stack->n; i++)
        if (stack->elements[i]->loss)
            loss += stack->elements[i]->loss(stack->opts[i]);
    return loss;
}

int tt_stack_check_loss(const struct tt_stack *stack, const char *instead, struct tt_error *e)
{
    if (!isinf(tt_stack_loss(stack)))
        return TT_OK;
    return tt_fail(e, TT_USAGE,
                   "a filter changes values, and nobody knows how far: what is read cannot be "
                   "checked; use %s",
                   instead);
}

double tt_below_loss(const struct tt_file *file)
{
    double loss = 0;

    while ((file = file->below))
        if (file->backend->loss)
            loss += file->backend->loss(file->opts);
    return loss;
}

/* Libraries with collective transfers flush collectively, whichever transfers are chosen. */
bool tt_stack_syncs_together(const struct tt_stack *stack)
{
    for (unsigned i = 0; i < stack->n; i++)
        if (stack->elements[i]->is_collective)
            return true;
    return false;
}

/* Layers keep accounts of what passes. */
bool tt_stack_is_reentrant(const struct tt_stack *stack)
{
    return stack->n == 1 && !stack->elements[0]->library;
}

int tt_stack_settle(const struct tt_stack *stack, struct tt_cost *costs, struct tt_error *e)
{
    int rc = TT_OK;

    for (unsigned i = 0; i < stack->n; i++)
        if (stack->elements[i]->settle) {
            int now = stack->elements[i]->settle(costs ? costs + i : NULL, e);

            rc = rc == TT_OK ? now : rc;
        }
    return rc;
}

bool tt_stack_has_thread(const struct tt_stack *stack)
{
    for (unsigned i = 0; i < stack->n; i++)
        if (stack->elements[i]->settle)
            return true;
    return false;
}

size_t tt_stack_ticket_size(const struct tt_stack *stack)
{
    size_t size = 1;

    for (unsigned i = 0; i < stack->n; i++)
        if (stack->elements[i]->ticket_size > size)
            size = stack->elements[i]->ticket_size;
    return size;
}

static void free_chain(struct tt_file *file)
{
    while (file) {
        struct tt_file *below = file->below;

        free(file->raw_starts);
        free(file->made_all);
        free(file->state);
        free(file);
        file = below;
    }
}

static struct tt_file *make_element(const struct tt_stack *stack, unsigned i)
{
    struct tt_file *file = calloc(1, sizeof *file);

    if (!file)
        return NULL;
    file->backend = stack->elements[i];
    file->opts = stack->opts[i];
    file->seed = stack->seed;
    file->directory = stack->directory;
    file->layered = stack->n > 1;
    file->state = calloc(1, file->backend->state_size + 1);
    if (!file->state) {
        free(file);
        return NULL;
    }
    return file;
}

static struct tt_file *make_chain(const struct tt_stack *stack)
{
    struct tt_file *below = NULL;

    for (unsigned i = stack->n; i-- > 0;) {
        struct tt_file *file = make_element(stack, i);

        if (!file) {
            free_chain(below);
            return NULL;
        }
        file->below = below;
        below = file;
    }
    return below;
}

/* ---- what calls take ---- */

static struct tt_cost cost_begin(const struct tt_file *f)
{
    return f->layered
               ? (struct tt_cost){.ns = tt_now_ns(), .cpu_ns = tt_clock_ns(CLOCK_THREAD_CPUTIME_ID)}
               : (struct tt_cost){0};
}

/* b: what the call moved; NULL: nothing. */
static void cost_end(struct tt_file *f, const struct tt_cost *start, const struct tt_block *b,
                     enum tt_direction direction)
{
    if (!f->layered)
        return;
    f->cost.ns += tt_now_ns() - start->ns;
    f->cost.cpu_ns += tt_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start->cpu_ns;
    if (b)
        f->cost.bytes[direction] +=
            tt_selection_count(&b->file) * tt_block_moved_size(b, &f->spec->variables[b->variable]);
}

/* ---- opening and closing ---- */

static int open_element(struct tt_file *file, const struct tt_file_spec *spec, struct tt_error *e)
{
    struct tt_cost start = cost_begin(file);
    uint64_t before;
    int64_t t;
    int rc = TT_OK;

    file->spec = spec;
    file->size = 1;
    if (spec->comm != MPI_COMM_SELF) {
        MPI_Comm_rank(spec->comm, &file->rank);
        MPI_Comm_size(spec->comm, &file->size);
    }
    place_all(file);
    file->note = tt_note_file(spec->path);
    before = tt_note_begin(TT_DOING_OPEN, file->note);
    if (file->backend->prepare)
        rc = file->backend->prepare(file, e);
    t = tt_now_ns();
    if (rc == TT_OK)
        rc = file->backend->open(file, e);
    file->open_ns = tt_now_ns() - t + file->made_ns;
    tt_note_end(before);
    cost_end(file, &start, NULL, TT_WRITING);
    file->is_open = rc == TT_OK;
    return rc;
}

/* A layer that failed to open may stand above a file that is open. */
static int close_chain(struct tt_file *file, struct tt_error *e)
{
    struct tt_cost start;
    uint64_t before;
    int64_t t;
    int rc;

    while (file && !file->is_open)
        file = file->below;
    if (!file)
        return TT_OK;
    file->is_open = false;
    start = cost_begin(file);
    before = tt_note_begin(TT_DOING_CLOSE, file->note);
    t = tt_now_ns();
    rc = file->backend->close(file, e);
    file->close_ns = tt_now_ns() - t;
    tt_note_end(before);
    cost_end(file, &start, NULL, TT_WRITING);
    return rc;
}

int tt_below_open(struct tt_file *file, const struct tt_file_spec *spec, struct tt_error *e)
{
    return open_element(file->below, spec, e);
}

int tt_below_close(struct tt_file *file, struct tt_error *e)
{
    return close_chain(file->below, e);
}

struct tt_file *tt_below_detach(struct tt_file *file)
{
    struct tt_file *top = calloc(1, sizeof *top);

    if (!top)
        return NULL;
    top->below = file->below;
    file->below = NULL;
    file->detached = true;
    return top;
}

/* Libraries wait for ever for the other end of a pipe, and HDF5 in a directory. */
static int check_source(const struct tt_stack *stack, const char *path, struct tt_error *e)
{
    struct tt_error ignored = TT_ERROR_CLEAR;
    struct tt_target target;
    bool expected;
    struct stat st;

    if (stat(path, &st) != 0 || S_ISREG(st.st_mode) || S_ISBLK(st.st_mode) || S_ISCHR(st.st_mode))
        return TT_OK; /* what else is wrong with it shows when it is opened */
    expected = S_ISDIR(st.st_mode) && tt_stack_target_at(stack, path, &target, &ignored) == TT_OK &&
               target.list[0].is_directory;
    if (S_ISDIR(st.st_mode))
        tt_target_free(&target);
    if (expected)
        return TT_OK;
    return tt_fail(e, TT_FAILED, "'%s' is a %s and not a file", path,
                   S_ISDIR(st.st_mode) ? "directory" : "pipe or socket");
}

static const struct tt_file *backend_of(const struct tt_file *file)
{
    while (file->below)
        file = file->below;
    return file;
}

static int judged(const struct tt_file *file, int rc, bool closed, struct tt_error *e)
{
    file = backend_of(file);
    if (file->detached) /* a thread may just be at it, and judges itself */
        return rc;
    return file->spec ? tt_calls_judge(file, rc, closed, e) : rc;
}

int tt_file_open(const struct tt_stack *stack, const struct tt_file_spec *spec,
                 struct tt_file **out, struct tt_error *e)
{
    struct tt_file *file = make_chain(stack);
    struct tt_error ignored = TT_ERROR_CLEAR;
    int rc = file ? TT_OK : tt_fail_nomem(e, "an open file");

    *out = NULL;
    if (rc == TT_OK && spec->access == TT_UPDATE && !(tt_stack_caps(stack) & TT_CAP_UPDATES))
        rc = tt_fail(e, TT_UNSUPPORTED, "%s cannot change a file that is there",
                     stack->elements[stack->n - 1]->name);
    if (rc == TT_OK && spec->access != TT_CREATE)
        rc = check_source(stack, spec->path, e);
    if (rc == TT_OK && spec->access != TT_CREATE && backend_of(file)->backend->caps & TT_CAP_STORES)
        rc = tt_node_cache_check_target(spec->path, e);
    rc = tt_agree(spec->comm, rc, e);
    tt_calls_begin(spec->path);
    if (rc == TT_OK)
        rc = tt_agree(spec->comm, judged(file, open_element(file, spec, e), false, e), e);
    if (rc == TT_OK) {
        *out = file;
        return TT_OK;
    }
    if (file)
        close_chain(file, &ignored);
    free_chain(file);
    tt_calls_end(spec->path);
    return rc;
}

struct tt_file_identity tt_file_made(const struct tt_file *file, size_t i)
{
    for (const struct tt_file *f = file; f; f = f->below)
        if (f->made_all)
            return f->made_all[i];
    return i == 0 ? backend_of(file)->made : (struct tt_file_identity){0};
}

/* Of a rank that has no file below: of the layer that has left it out. */
int64_t tt_file_open_ns(const struct tt_file *file)
{
    while (file->below && file->below->is_open)
        file = file->below;
    return file->open_ns;
}

int tt_file_close(struct tt_file *file, struct tt_error *e)
{
    int64_t unused[2];

    return tt_file_close_timed(file, &unused[0], &unused[1], NULL, e);
}

void tt_cost_add(struct tt_cost *sum, const struct tt_cost *x)
{
    sum->ns += x->ns;
    sum->cpu_ns += x->cpu_ns;
    sum->threads_ns += x->threads_ns;
    sum->beside_ns += x->beside_ns;
    sum->bytes[TT_WRITING] += x->bytes[TT_WRITING];
    sum->bytes[TT_READING] += x->bytes[TT_READING];
}

static void add_costs(const struct tt_file *file, struct tt_cost *costs)
{
    for (; file && costs; file = file->below, costs++)
        tt_cost_add(costs, &file->cost);
}

void tt_below_free(struct tt_file *detached, struct tt_cost *costs)
{
    add_costs(detached->below, costs);
    free_chain(detached);
}

int tt_file_close_timed(struct tt_file *file, int64_t *own_ns, int64_t *stack_ns,
                        struct tt_cost *costs, struct tt_error *e)
{
    const struct tt_file_spec *spec = file->spec;
    int rc = judged(file, close_chain(file, e), true, e);

    *stack_ns = file->close_ns;
    *own_ns = backend_of(file)->open_ns ? backend_of(file)->close_ns : *stack_ns;
    add_costs(file, costs);
    free_chain(file);
    tt_calls_end(spec->path);
    return tt_agree(spec->comm, rc, e);
}

/* ---- several files below one ---- */

int tt_part_open(struct tt_file *file, const struct tt_file_spec *spec, struct tt_file **part,
                 struct tt_error *e)
{
    struct tt_file *below = file->below, *x = below;
    const struct tt_stack like = {.n = 1,
                                  .elements = {below->backend},
                                  .opts = {below->opts},
                                  .seed = below->seed,
                                  .directory = below->directory};
    int rc;

    *part = NULL;
    if (below->is_open && !(x = make_element(&like, 0)))
        return tt_fail_nomem(e, "an open file");
    x->layered = true;
    tt_calls_begin(spec->path);
    rc = tt_calls_judge(x, open_element(x, spec, e), false, e);
    if (rc == TT_OK) {
        if (x != below)
            below->open_ns += x->open_ns;
        *part = x;
        return TT_OK;
    }
    if (x->is_open) { /* the library was content, and the system was not */
        struct tt_file gone = {.spec = spec, .made = x->made};
        struct tt_error ignored = TT_ERROR_CLEAR;

        tt_part_close(file, x, &ignored);
        if (spec->access == TT_CREATE)
            tt_disk_unmake(&gone);
        return rc;
    }
    tt_calls_end(spec->path);
    x->spec = NULL;
    if (x != below)
        free_chain(x);
    return rc;
}

/* The spec may go afterwards. */
int tt_part_close(struct tt_file *file, struct tt_file *part, struct tt_error *e)
{
    struct tt_file *below = file->below;
    int rc = tt_calls_judge(part, close_chain(part, e), true, e);

    tt_calls_end(part->spec->path);
    part->spec = NULL;
    if (part == below)
        return rc;
    below->close_ns += part->close_ns;
    add_costs(part, &below->cost);
    free_chain(part);
    return rc;
}

/* ---- dispatch ---- */

/* What the system answered is judged at the bottom of the stack, where libraries call it. */
static int end_call(struct tt_file *f, uint64_t before, int rc, struct tt_error *e)
{
    tt_note_end(before);
    return f->below ? rc : tt_calls_judge(f, rc, false, e);
}

int tt_file_define(struct tt_file *f, uint64_t step, struct tt_error *e)
{
    struct tt_file *passed = f;
    struct tt_cost start, was;
    uint64_t before;
    int rc;

    while (!f->backend->define && f->below)
        f = f->below;
    if (!f->backend->define)
        return TT_OK;
    before = tt_note_begin(TT_DOING_DEFINE, f->note);
    was = f->cost;
    start = cost_begin(f);
    rc = f->backend->define(f, step, e);
    cost_end(f, &start, NULL, TT_WRITING);
    for (; passed != f; passed = passed->below) { /* its own time is what is left of it */
        passed->cost.ns += f->cost.ns - was.ns;
        passed->cost.cpu_ns += f->cost.cpu_ns - was.cpu_ns;
    }
    return end_call(f, before, rc, e);
}

int tt_file_write(struct tt_file *f, uint64_t step, const struct tt_block *b, struct tt_error *e)
{
    uint64_t before = tt_note_begin(TT_DOING_WRITE, f->note);
    struct tt_cost start = cost_begin(f);
    int rc = f->backend->write(f, step, b, e);

    cost_end(f, &start, b, TT_WRITING);
    return end_call(f, before, rc, e);
}

int tt_file_read(struct tt_file *f, uint64_t step, const struct tt_block *b, struct tt_error *e)
{
    uint64_t before = tt_note_begin(TT_DOING_READ, f->note);
    struct tt_cost start = cost_begin(f);
    int rc = f->backend->read(f, step, b, e);

    cost_end(f, &start, b, TT_READING);
    return end_call(f, before, rc, e);
}

int tt_file_submit(struct tt_file *f, enum tt_direction direction, uint64_t step,
                   const struct tt_block *b, struct tt_ticket *t, struct tt_error *e)
{
    uint64_t before;
    int rc;

    if (!f->backend->submit)
        return tt_fail(e, TT_UNSUPPORTED, "%s has no nonblocking transfers", f->backend->name);
    before = tt_note_begin(TT_DOING_SUBMIT, f->note);
    rc = f->backend->submit(f, direction, step, b, t, e);
    tt_note_end(before);
    return rc;
}

int tt_file_wait(struct tt_file *f, struct tt_ticket *t, struct tt_error *e)
{
    uint64_t before = tt_note_begin(TT_DOING_COMPLETE, f->note);

    return end_call(f, before, f->backend->wait(f, t, e), e);
}

int tt_file_wait_any(struct tt_file *f, struct tt_ticket *oldest, struct tt_ticket **done,
                     struct tt_error *e)
{
    uint64_t before = tt_note_begin(TT_DOING_COMPLETE, f->note);
    int rc;

    *done = oldest;
    rc = f->backend->wait_any ? f->backend->wait_any(f, done, e) : f->backend->wait(f, oldest, e);
    return end_call(f, before, rc, e);
}

int tt_file_use_buffers(struct tt_file *f, void *base, size_t each, unsigned n, struct tt_error *e)
{
    return f->backend->use_buffers ? f->backend->use_buffers(f, base, each, n, e) : TT_OK;
}

int tt_file_sync(struct tt_file *f, struct tt_error *e)
{
    uint64_t before = tt_note_begin(TT_DOING_SYNC, f->note);
    struct tt_cost start = cost_begin(f);
    int rc = f->backend->sync(f, e);

    cost_end(f, &start, NULL, TT_WRITING);
    return end_call(f, before, rc, e);
}

int tt_file_query(struct tt_file *f, struct tt_facts *facts, struct tt_error *e)
{
    uint64_t before = tt_note_begin(TT_DOING_QUERY, f->note);
    int rc = f->backend->query ? f->backend->query(f, facts, e) : TT_OK;

    tt_note_end(before);
    if (rc == TT_OK && f->below && f->below->is_open)
        rc = tt_file_query(f->below, facts, e);
    return rc;
}

int tt_file_agree(const struct tt_file *file, int rc, struct tt_error *e)
{
    return file->spec->in_helper ? tt_agree_patiently(file->spec->comm, rc, e)
                                 : tt_agree(file->spec->comm, rc, e);
}

void tt_file_max(const struct tt_file *file, int n, int *values)
{
    if (file->size == 1)
        return;
    if (file->spec->in_helper)
        tt_max_patiently(file->spec->comm, n, values);
    else
        MPI_Allreduce(MPI_IN_PLACE, values, n, MPI_INT, MPI_MAX, file->spec->comm);
}

int tt_file_wait_requests(const struct tt_file *file, int n, MPI_Request *requests,
                          MPI_Status *status)
{
    return tt_wait_any(n, requests, file->spec->in_helper, status);
}
