/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The life of a container: opened, defined step by step, flushed, closed, or given up. How blocks
 * are moved: container_move.c. */
#include "io/container.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/disk.h"

enum { METADATA_RESERVE = 64 << 10 }; /* beyond what the library says that it holds */

/* ---- variables ---- */

bool tt_container_has_step(const struct tt_file_spec *spec, const struct tt_variable *v)
{
    return v->per_step && spec->policy == TT_APPEND;
}

bool tt_container_step_grows(const struct tt_file_spec *spec, const struct tt_variable *v)
{
    return tt_container_has_step(spec, v) && (spec->steps == 0 || v->unlimited);
}

bool tt_container_has_own(const struct tt_file_spec *spec, const struct tt_variable *v)
{
    return v->per_step && spec->policy == TT_GROUP;
}

bool tt_container_group_is_own(const struct tt_file_spec *spec, const struct tt_group *g)
{
    return g->per_step && spec->policy == TT_GROUP;
}

struct tt_attribute tt_container_attribute(const struct tt_file_spec *spec,
                                           const struct tt_attribute *a, uint64_t step)
{
    struct tt_attribute now = *a;

    now.real += now.each_step * (double)(spec->first_step + step);
    return now;
}

bool tt_container_has_bytes(const struct tt_file *file, const struct tt_variable *v)
{
    const struct tt_container *c = file->state;
    const struct tt_element *element = v->element;

    return (c->library->byte_kinds >> element->kind & 1) &&
           (element->kind == TT_RECORD || element->size > 1);
}

int tt_container_dims(const struct tt_file *file, const struct tt_variable *v, uint64_t *dims)
{
    const struct tt_container *c = file->state;
    int n = tt_container_has_step(file->spec, v);

    for (int i = 0; i < v->ndims; i++)
        dims[n++] = v->dims[i] ? v->dims[i] : c->library->no_length;
    if (tt_container_has_bytes(file, v))
        dims[n++] = v->element->size;
    return n;
}

bool tt_container_matches(const struct tt_file *file, const struct tt_variable *v, int n,
                          const uint64_t *dims)
{
    int first = tt_container_has_step(file->spec, v);
    uint64_t wanted[TT_CONTAINER_DIMS];
    bool same = n == tt_container_dims(file, v, wanted);

    for (int i = first; same && i < n; i++)
        same = dims[i] == wanted[i] || (i == first && v->unlimited &&
                                        (dims[i] >= v->dims[0] || file->spec->access == TT_UPDATE));
    return same;
}

int tt_container_find(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e)
{
    struct tt_container *c = file->state;
    uint64_t *at_hand = &c->at_hand[variable];
    int rc;

    if (*at_hand == step + 1 ||
        (*at_hand && !tt_container_has_own(file->spec, &file->spec->variables[variable])))
        return TT_OK;
    *at_hand = 0;
    rc = c->library->find(file, variable, step, e);
    if (rc == TT_OK)
        *at_hand = step + 1;
    return rc;
}

/* ---- failure ---- */

int tt_container_fail(const struct tt_file *file, int cause, const char *call, const char *variable,
                      const char *text, struct tt_error *e)
{
    const char *path = file->spec->path;
    int rc;

    /* MPI-IO says at best that a write failed, and libraries above it less. */
    if (!cause && file->spec->access != TT_READ_ONLY && tt_disk_free(path) == 0)
        cause = ENOSPC;
    if (e->code != TT_OK)
        return e->code;
    rc = tt_fail_call(e, cause, call, path, -1);
    snprintf(e->text, sizeof e->text, "%s%s%s%s", variable ? "variable '" : "",
             variable ? variable : "", variable ? "': " : "", text);
    return rc;
}

static bool anywhere(const struct tt_file *file, bool here)
{
    int any = here;

    tt_file_max(file, 1, &any);
    return any;
}

bool tt_container_failed_anywhere(const struct tt_file *file)
{
    return anywhere(file, ((const struct tt_container *)file->state)->failed);
}

/* A rank that fails to write metadata misses the barrier in which HDF5 keeps the others waiting for
 * ever. So it is given nothing to write unless there is space. Collective; ranks have agreed. */
static int check_space(struct tt_file *file, struct tt_error *e)
{
    struct tt_container *c = file->state;
    const char *path = file->spec->path;
    int rc = TT_OK;

    if (!c->library->held)
        return TT_OK;
    if (file->rank == 0 && tt_disk_free(path) < METADATA_RESERVE + c->library->held(file))
        rc = tt_fail_call(e, ENOSPC, c->library->flush_call, path, -1);
    rc = tt_file_agree(file, rc, e);
    c->failed |= rc != TT_OK;
    return rc;
}

/* If there is space for what the library holds. Collective. */
static int flush(struct tt_file *file, struct tt_error *e)
{
    struct tt_container *c = file->state;
    int rc = check_space(file, e);

    if (rc == TT_OK) {
        rc = c->library->flush(file, e);
        c->flush_failed |= rc != TT_OK;
    }
    c->failed |= rc != TT_OK;
    return rc;
}

static int check_complete(const struct tt_file *file, struct tt_error *e)
{
    const struct tt_container *c = file->state;

    if (c->library->check_complete)
        return c->library->check_complete(file, e);
    return file->rank == 0 ? tt_disk_check_full(file->spec->path, e) : TT_OK;
}

/* ---- the end ---- */

int tt_container_sync(struct tt_file *file, struct tt_error *e)
{
    struct tt_container *c = file->state;
    int rc;

    /* The rank that failed has said so; its library may leave the others in a flush for ever. */
    if (file->spec->access == TT_READ_ONLY || tt_container_failed_anywhere(file))
        return TT_OK;
    rc = flush(file, e);
    if (tt_container_failed_anywhere(file))
        return rc;
    rc = c->library->sync ? c->library->sync(file, e) : tt_disk_sync(file->spec->path, e);
    if (rc == TT_OK)
        rc = check_complete(file, e);
    c->failed |= rc != TT_OK;
    return rc;
}

/* HDF5 cannot give up a file, see tt_disk_divert. The first flush after one that failed complains,
 * but cleans up. Where none has failed there must be none: it syncs, and ompio 5 refuses that for
 * ever on a rank whose collective write has failed, which leaves the others in a barrier. */
static void abandon(struct tt_file *file)
{
    struct tt_container *c = file->state;
    struct tt_error ignored = TT_ERROR_CLEAR;

    if (!c->library->held)
        return;
    tt_disk_divert(file->spec->path);
    if (anywhere(file, c->flush_failed))
        c->library->flush(file, &ignored);
}

/* The closing call must not be the first to fail; so everything is flushed before it. Where close
 * is the cheaper flush, since HDF5's own also waits for storage, there has to be room for it. */
static int close_library(struct tt_file *file, struct tt_error *e)
{
    struct tt_container *c = file->state;
    bool writes = file->spec->access != TT_READ_ONLY;
    bool failed = writes && tt_container_failed_anywhere(file);
    struct tt_error ignored = TT_ERROR_CLEAR;
    int rc = TT_OK, closed;

    if (writes && !failed) {
        rc = c->library->close_flushes ? check_space(file, e) : flush(file, e);
        failed = tt_container_failed_anywhere(file);
    }
    if (failed)
        abandon(file);
    closed = c->library->close(file, failed ? &ignored : e);
    if (!failed && c->library->held && anywhere(file, closed != TT_OK))
        tt_disk_divert(file->spec->path); /* what failed is tried again when MPI ends */
    if (rc == TT_OK && !failed)
        rc = closed;
    if (writes && !failed && rc == TT_OK)
        rc = check_complete(file, e);
    return rc;
}

int tt_container_close(struct tt_file *file, struct tt_error *e)
{
    struct tt_container *c = file->state;
    int rc;

    c->library->release(file);
    rc = c->is_open ? close_library(file, e) : TT_OK;
    if (c->info != MPI_INFO_NULL)
        MPI_Info_free(&c->info);
    free(c->at_hand);
    free(c->extents.extents);
    free(c->numbers);
    free(c->boxes);
    free(c->staging);
    return rc;
}

/* ---- opening ---- */

/* What was made goes again. */
static int give_up(struct tt_file *file, int rc, struct tt_error *e)
{
    ((struct tt_container *)file->state)->failed = true;
    tt_container_close(file, e);
    tt_disk_unmake(file);
    return rc;
}

int tt_container_prepare(struct tt_file *file, const struct tt_library *library, struct tt_error *e)
{
    struct tt_container *c = file->state;
    int rc;

    c->library = library;
    c->info = MPI_INFO_NULL;
    c->at_hand = calloc(file->spec->nvariables + 1, sizeof *c->at_hand);
    rc = tt_file_agree(file, c->at_hand ? TT_OK : tt_fail_nomem(e, "the variables"), e);
    if (rc == TT_OK)
        rc = tt_file_agree(file, library->prepare(file, e), e);
    if (rc == TT_OK)
        rc = library->bundle ? tt_disk_open_bundle(file, e) : tt_disk_open_first(file, false, e);
    return rc == TT_OK ? TT_OK : give_up(file, rc, e);
}

/* Groups and variables that are there once, or those of one step. */
static int define_variables(struct tt_file *file, bool own, uint64_t step, struct tt_error *e)
{
    const struct tt_file_spec *spec = file->spec;
    struct tt_container *c = file->state;
    int rc = TT_OK;

    for (unsigned i = 0; rc == TT_OK && i < spec->ngroups; i++)
        if (tt_container_group_is_own(spec, &spec->groups[i]) == own)
            rc = c->library->define_group(file, &spec->groups[i], step, e);
    for (unsigned i = 0; rc == TT_OK && i < spec->nvariables; i++)
        if (tt_container_has_own(spec, &spec->variables[i]) == own) {
            rc = c->library->define(file, i, step, e);
            c->at_hand[i] = rc == TT_OK ? step + 1 : 0;
        }
    if (rc == TT_OK && own)
        c->steps = step + 1;
    return rc;
}

/* Variables with dimensions that grow, but not by steps. */
static int extend_fixed(struct tt_file *file, bool per_step, uint64_t step, struct tt_error *e)
{
    const struct tt_file_spec *spec = file->spec;
    const struct tt_container *c = file->state;
    int rc = TT_OK;

    for (unsigned i = 0; rc == TT_OK && i < spec->nvariables; i++) {
        const struct tt_variable *v = &spec->variables[i];

        if (v->unlimited && v->per_step == per_step && !tt_container_has_step(spec, v))
            rc = c->library->extend(file, i, step, e);
    }
    return rc;
}

static int define_file(struct tt_file *file, struct tt_error *e)
{
    const struct tt_container *c = file->state;
    const struct tt_library *l = c->library;
    bool groups = file->spec->policy == TT_GROUP;
    uint64_t ahead = groups && l->defines_ahead ? file->spec->steps : 0;
    int rc = l->begin_define ? l->begin_define(file, false, e) : TT_OK;

    if (rc == TT_OK)
        rc = define_variables(file, false, 0, e);
    for (uint64_t step = 0; rc == TT_OK && step < ahead; step++)
        rc = define_variables(file, true, step, e);
    rc = tt_file_agree(file, rc, e);
    if (rc == TT_OK && l->begin_data)
        rc = tt_file_agree(file, l->begin_data(file, true, e), e);
    if (rc == TT_OK)
        rc = extend_fixed(file, false, 0, e);
    for (uint64_t step = 0; rc == TT_OK && step < (groups ? ahead : 1); step++)
        rc = extend_fixed(file, true, step, e);
    return rc;
}

int tt_container_open(struct tt_file *file, struct tt_error *e)
{
    struct tt_container *c = file->state;
    const struct tt_library *l = c->library;
    int rc = l->open(file, e);

    rc = tt_file_agree(file, rc, e);
    c->is_open = rc == TT_OK; /* what not all have opened cannot be closed: that is collective */
    if (rc == TT_OK)
        rc = tt_file_agree(file, tt_disk_check_made(file, -1, e), e);
    if (rc == TT_OK && file->spec->access == TT_CREATE)
        rc = tt_file_agree(file, define_file(file, e), e);
    else if (rc == TT_OK && l->begin_data)
        rc = tt_file_agree(file, l->begin_data(file, false, e), e);
    return rc == TT_OK ? TT_OK : give_up(file, rc, e);
}

/* ---- steps ---- */

static int add_own(struct tt_file *file, uint64_t step, struct tt_error *e)
{
    const struct tt_container *c = file->state;
    const struct tt_library *l = c->library;
    int rc = l->begin_define ? l->begin_define(file, true, e) : TT_OK;

    if (rc == TT_OK)
        rc = define_variables(file, true, step, e);
    rc = tt_file_agree(file, rc, e);
    if (rc == TT_OK && l->begin_data)
        rc = tt_file_agree(file, l->begin_data(file, true, e), e);
    return rc == TT_OK ? extend_fixed(file, true, step, e) : rc;
}

/* By one more step; or, in a file that is changed, to where the variables end now. */
static int extend_all(struct tt_file *file, uint64_t step, struct tt_error *e)
{
    const struct tt_file_spec *spec = file->spec;
    struct tt_container *c = file->state;
    bool update = spec->access == TT_UPDATE;
    int rc = TT_OK;

    for (unsigned i = 0; rc == TT_OK && i < spec->nvariables; i++) {
        const struct tt_variable *v = &spec->variables[i];

        if (update ? !v->per_step : !tt_container_step_grows(spec, v))
            continue;
        if (update) { /* ranks that transfer alone may have different ones at hand */
            c->at_hand[i] = 0;
            rc = tt_file_agree(file, tt_container_find(file, i, step, e), e);
        }
        if (rc == TT_OK)
            rc = c->library->extend(file, i, step, e);
    }
    return rc;
}

/* What a layout layer lays its bytes into has no steps, but may have to become longer. */
static bool carries_layout(const struct tt_file *file)
{
    const struct tt_file_spec *spec = file->spec;

    return file->backend->caps & TT_CAP_CARRIES_LAYOUT && spec->policy == TT_OVERWRITE &&
           spec->nvariables == 1 && !spec->variables[0].per_step && spec->variables[0].unlimited;
}

int tt_container_define(struct tt_file *file, uint64_t step, struct tt_error *e)
{
    const struct tt_file_spec *spec = file->spec;
    struct tt_container *c = file->state;
    bool create = spec->access == TT_CREATE, carries = create && carries_layout(file);
    int rc;

    if (spec->access == TT_READ_ONLY ||
        (create && !carries && (spec->policy == TT_OVERWRITE || step < c->steps)))
        return TT_OK;
    rc = check_space(file, e);
    if (rc != TT_OK || tt_container_failed_anywhere(file))
        return rc;
    if (create && spec->steps > 0 && step >= spec->steps)
        rc = tt_fail(e, TT_FAILED, "'%s': step %" PRIu64 ", but only %" PRIu64 " were announced",
                     spec->path, step, spec->steps);
    else if (carries)
        rc = extend_fixed(file, false, step, e);
    else if (create && spec->policy == TT_GROUP)
        rc = add_own(file, step, e);
    else
        rc = extend_all(file, step, e);
    c->failed |= rc != TT_OK;
    if (rc == TT_OK && step >= c->steps)
        c->steps = step + 1;
    return rc;
}
