/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For unit tests of hdf5, netcdf and pnetcdf: a file that all ranks open, of one variable unless a
 * test adds others. Include after cmocka.h. */
#ifndef TT_TESTS_CONTAINER_FIXTURE_H
#define TT_TESTS_CONTAINER_FIXTURE_H

#include "base/agree.h"
#include "plan/registry.h"
#include "scratch.h"

static const struct {
    const char *backend, *method;
} ways[] = {{"hdf5", "independent"},  {"hdf5", "collective"},     {"netcdf", "independent"},
            {"netcdf", "collective"}, {"pnetcdf", "independent"}, {"pnetcdf", "collective"},
            {"pnetcdf", "aggregated"}};
enum { WAYS = sizeof ways / sizeof *ways };

struct fixture {
    struct scratch scratch;
    const struct tt_backend *backend;
    void *opts;
    struct tt_stack stack;
    struct tt_variable variables[4];
    struct tt_file_spec spec;
    struct tt_file *file;
    struct tt_error e;
    char *path;
};

static inline const struct tt_backend *find_backend(const char *name)
{
    return tt_find_backend(name, &(struct tt_error)TT_ERROR_CLEAR);
}

static inline void fixture_set(struct fixture *f, const char *key, const char *value)
{
    const struct tt_param *p = f->backend->params;

    while (p->key && strcmp(p->key, key) != 0)
        p++;
    if (!p->key)
        fail_msg("no parameter %s", key);
    assert_int_equal(tt_param_set(p, f->opts, value, &f->e), TT_OK);
}

/* False if this build has no such backend. */
static inline bool fixture_make(struct fixture *f, const char *backend, const char *method,
                                enum tt_policy policy)
{
    memset(f, 0, sizeof *f);
    tt_error_clear(&f->e);
    f->backend = find_backend(backend);
    if (!f->backend)
        return false;
    scratch_make(&f->scratch);
    f->path = scratch_path(&f->scratch, "file");
    f->opts = calloc(1, f->backend->opts_size);
    assert_int_equal(tt_params_default(f->backend->params, f->opts, &f->e), TT_OK);
    fixture_set(f, "method", method);
    f->stack = (struct tt_stack){.n = 1, .elements = {f->backend}, .opts = {f->opts}};
    f->spec = (struct tt_file_spec){.path = f->path,
                                    .comm = MPI_COMM_WORLD,
                                    .access = TT_CREATE,
                                    .policy = policy,
                                    .nvariables = 1,
                                    .variables = f->variables};
    return true;
}

static inline void fixture_free(struct fixture *f)
{
    tt_params_free(f->backend->params, f->opts);
    free(f->opts);
    scratch_remove(&f->scratch);
    free(f->path);
}

static inline bool everywhere(bool mine)
{
    int in = mine, all;

    MPI_Allreduce(&in, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    return all;
}

/* All ranks fail together, with the text of their own. */
static inline void assert_ok(int rc, const struct tt_error *e)
{
    char text[1024] = "";

    if (rc != TT_OK)
        tt_error_format(e, text, sizeof text);
    if (!everywhere(rc == TT_OK))
        fail_msg("%s", text);
}

static inline int open_file(struct fixture *f, enum tt_access access)
{
    f->spec.access = access;
    return tt_file_open(&f->stack, &f->spec, &f->file, &f->e);
}

/* A program that some tests need. */
static inline bool has_program(const char *name)
{
    char *path = strdup(getenv("PATH") ? getenv("PATH") : ""), *rest = path;
    bool found = false;

    for (const char *directory; !found && (directory = strsep(&rest, ":"));) {
        char file[4096];

        snprintf(file, sizeof file, "%s/%s", directory, name);
        found = access(file, X_OK) == 0;
    }
    free(path);
    return found;
}

#endif
