/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ranks: 1 2 5 */
/* The mpiio backend against raw files made here element by element, by all methods; and failures
 * that the libraries hide. Ranks agree on what they saw before they assert, so that none is left
 * behind. */
#include <setjmp.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>
#include <mpi.h>

#include "base/agree.h"
#include "plan/registry.h"
#include "io/mpi_hints.h"

enum { STEPS = 3, GAP = 0xee, MANY = 20000, FEW = 203 };

static int rank, size;       /* set once, before the first test */
static uint64_t nruns = FEW; /* of a rank */
static char directory[] = "/tmp/tutti-mpiio-XXXXXX";

struct particle {
    double x[3];
    char name[5];
    int32_t id;
};
static const struct tt_field particle_fields[] = {
    {"x", TT_F64, 3, offsetof(struct particle, x)},
    {"name", TT_CHAR, 5, offsetof(struct particle, name)},
    {"id", TT_I32, 1, offsetof(struct particle, id)},
};
static const struct tt_element particle = {TT_RECORD, sizeof(struct particle), 3, particle_fields};

/* How a variable is divided between the ranks. */
enum part { ROWS, STRIDED, RUNS, ODD_RANKS_EMPTY, NPARTS };
static const struct {
    const char *name;
    const struct tt_element *element;
    bool per_step;
} variables[NPARTS] = {
    [ROWS] = {"rows", &tt_element_f64, true},
    [STRIDED] = {"strided", &particle, true},
    [RUNS] = {"runs", &tt_element_i32, true},
    [ODD_RANKS_EMPTY] = {"odd", &tt_element_u8, false},
};

enum memory { PACKED, SLAB, BACKWARDS };

struct scene {
    const char *method;
    enum tt_policy policy;
    enum memory memory;
    bool submit;
};

/* ---- what a rank has: indices of its elements in the order of the selection ---- */

static void dims_of(enum part part, struct tt_variable *v)
{
    *v = (struct tt_variable){.path = variables[part].name,
                              .element = variables[part].element,
                              .ndims = part == STRIDED ? 2 : 1,
                              .per_step = variables[part].per_step};
    v->dims[0] = part == RUNS ? nruns * size * 8 : 1001;
    if (part == STRIDED) {
        v->dims[0] = 4 * (uint64_t)size + 1;
        v->dims[1] = 30;
    }
}

static size_t indices_of(enum part part, int r, uint64_t *at, struct tt_run *runs)
{
    size_t n = 0;

    if (part == STRIDED) {
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 15; j++)
                at[n++] =
                    (uint64_t)((i / 2 * 2 * size + 2 * r + i % 2) * 30 + 1 + j / 3 * 5 + j % 3);
    } else if (part == RUNS) {
        for (uint64_t k = 0; k < nruns; k++) {
            runs[k].start = (k * 7919 % nruns * size + r) * 8;
            runs[k].length = k % 7;
            for (uint64_t i = 0; i < runs[k].length; i++)
                at[n++] = runs[k].start + i;
        }
    } else if (part == ROWS || r % 2 == 0) {
        for (uint64_t i = 1001ull * r / size; i < 1001ull * (r + 1) / size; i++)
            at[n++] = i;
    }
    return n;
}

static void select_file(enum part part, int r, const struct tt_variable *v, size_t n,
                        const uint64_t *at, const struct tt_run *runs, struct tt_selection *s)
{
    uint64_t count = n;

    if (part == RUNS)
        tt_select_runs(s, v->ndims, v->dims, nruns, runs);
    else if (part == STRIDED)
        tt_select_slab(s, 2, v->dims, (uint64_t[]){2 * (uint64_t)r, 1},
                       (uint64_t[]){2 * (uint64_t)size, 5}, (uint64_t[]){2, 5}, (uint64_t[]){2, 3});
    else if (n == 0)
        tt_select_none(s, v->ndims, v->dims);
    else
        tt_select_slab(s, 1, v->dims, at, NULL, &count, NULL);
}

/* Byte b of element i. */
static unsigned char content(enum part part, uint64_t step, uint64_t i, size_t b)
{
    return (unsigned char)(i * 31 + i / 256 + b * 7 + step * 13 + part * 3 + 1);
}

/* ---- a block with all it points to ---- */

struct piece {
    struct tt_variable variable;
    struct tt_block block;
    struct tt_run *runs, *memory_runs;
    uint64_t *at, *memory_at;
    size_t n, bytes;
};

static void select_memory(struct piece *p, enum memory memory)
{
    uint64_t dims = 2 * p->n + 3, start = 1, stride = 2, count = p->n;

    for (uint64_t i = 0; i < p->n; i++) {
        p->memory_at[i] = memory == PACKED ? i : memory == SLAB ? 1 + 2 * i : dims - 1 - 2 * i;
        p->memory_runs[i] = (struct tt_run){p->memory_at[i], 1};
    }
    stride = memory == PACKED ? 1 : 2;
    start = memory == PACKED ? 0 : 1;
    if (p->n == 0)
        tt_select_none(&p->block.memory, 1, &dims);
    else if (memory == BACKWARDS)
        tt_select_runs(&p->block.memory, 1, &dims, p->n, p->memory_runs);
    else
        tt_select_slab(&p->block.memory, 1, &dims, &start, &stride, &count, NULL);
}

static void make_piece(struct piece *p, enum part part, int r, enum memory memory)
{
    size_t most = part == RUNS ? 7 * nruns : 1001;

    memset(p, 0, sizeof *p);
    dims_of(part, &p->variable);
    p->at = malloc(most * sizeof *p->at);
    p->memory_at = malloc(most * sizeof *p->memory_at);
    p->memory_runs = malloc(most * sizeof *p->memory_runs);
    p->runs = malloc(nruns * sizeof *p->runs);
    p->n = indices_of(part, r, p->at, p->runs);
    p->bytes = (2 * p->n + 3) * p->variable.element->size;
    p->block.variable = part;
    p->block.data = malloc(p->bytes);
    select_file(part, r, &p->variable, p->n, p->at, p->runs, &p->block.file);
    select_memory(p, memory);
}

static void free_piece(struct piece *p)
{
    free(p->at);
    free(p->memory_at);
    free(p->memory_runs);
    free(p->runs);
    free(p->block.data);
}

static void fill(struct piece *p, uint64_t step, unsigned char *to)
{
    size_t element = p->variable.element->size;

    memset(to, GAP, p->bytes);
    for (size_t i = 0; i < p->n; i++)
        for (size_t b = 0; b < element; b++)
            to[p->memory_at[i] * element + b] = content(p->block.variable, step, p->at[i], b);
}

/* ---- the file as it must be; what nobody wrote may be anything (romio fills holes) ---- */

static void paint(unsigned char *image, bool *painted, const struct scene *scene, enum part part,
                  uint64_t step)
{
    uint64_t offset = 0, record = 0, before = 0;
    struct tt_variable v;
    size_t element;

    for (enum part i = 0; i < NPARTS; i++) {
        dims_of(i, &v);
        offset += v.per_step ? 0 : tt_variable_bytes(&v);
        before += v.per_step && i < part ? tt_variable_bytes(&v) : 0;
        record += v.per_step ? tt_variable_bytes(&v) : 0;
    }
    dims_of(part, &v);
    element = v.element->size;
    offset = v.per_step ? offset + before + (scene->policy == TT_OVERWRITE ? 0 : step) * record : 0;
    for (int r = 0; r < size; r++) {
        struct piece p;

        make_piece(&p, part, r, PACKED);
        for (size_t i = 0; i < p.n; i++)
            for (size_t b = 0; b < element; b++) {
                image[offset + p.at[i] * element + b] = content(part, step, p.at[i], b);
                painted[offset + p.at[i] * element + b] = true;
            }
        free_piece(&p);
    }
}

static bool file_is(const char *path, const struct scene *scene)
{
    struct tt_variable v[NPARTS];
    struct tt_file_spec spec = {.policy = scene->policy, .nvariables = NPARTS, .variables = v};
    uint64_t most;
    unsigned char *image, *found;
    bool *painted;
    FILE *f = fopen(path, "rb");
    bool same;
    size_t n;

    for (enum part i = 0; i < NPARTS; i++)
        dims_of(i, &v[i]);
    most = tt_raw_size(&spec, STEPS, 1);
    image = calloc(1, most);
    found = calloc(1, most + 1);
    painted = calloc(most, sizeof *painted);
    for (uint64_t step = 0; step < STEPS; step++)
        for (enum part i = 0; i < NPARTS; i++)
            if (variables[i].per_step || step == 0)
                paint(image, painted, scene, i, step);
    n = f ? fread(found, 1, most + 1, f) : 0;
    same = n > 0 && n <= most;
    for (size_t i = 0; i < most && same; i++)
        same = !painted[i] || image[i] == found[i];
    if (f)
        fclose(f);
    free(image);
    free(found);
    free(painted);
    return same;
}

/* ---- running the backend ---- */

struct rig {
    struct tt_stack stack;
    void *opts;
    struct tt_file_spec spec;
    struct tt_variable variables[NPARTS];
    char path[64];
};

static bool all(bool mine)
{
    int in = mine, out;

    MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return out;
}

static void rig_set(struct rig *r, const char *key, const char *value)
{
    struct tt_error e = TT_ERROR_CLEAR;

    for (const struct tt_param *p = r->stack.elements[0]->params; p->key; p++)
        if (!strcmp(p->key, key))
            assert_int_equal(tt_param_set(p, r->opts, value, &e), TT_OK);
}

static void rig_make(struct rig *r, const char *method, enum tt_policy policy)
{
    struct tt_error e = TT_ERROR_CLEAR;
    const struct tt_backend *mpiio = tt_find_backend("mpiio", &e);

    memset(r, 0, sizeof *r);
    assert_non_null(mpiio);
    r->stack.n = 1;
    r->stack.elements[0] = mpiio;
    r->stack.opts[0] = r->opts = calloc(1, mpiio->opts_size);
    assert_int_equal(tt_params_default(mpiio->params, r->opts, &e), TT_OK);
    rig_set(r, "method", method);
    for (enum part i = 0; i < NPARTS; i++)
        dims_of(i, &r->variables[i]);
    snprintf(r->path, sizeof r->path, "%s/file", directory);
    r->spec = (struct tt_file_spec){.path = r->path,
                                    .policy = policy,
                                    .steps = STEPS,
                                    .nvariables = NPARTS,
                                    .variables = r->variables};
    MPI_Comm_dup(MPI_COMM_WORLD, &r->spec.comm);
}

static void rig_free(struct rig *r)
{
    tt_params_free(r->stack.elements[0]->params, r->opts);
    free(r->opts);
    MPI_Comm_free(&r->spec.comm);
    if (rank == 0)
        unlink(r->path);
    MPI_Barrier(MPI_COMM_WORLD);
}

static struct tt_file *rig_open(struct rig *r, enum tt_access access)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_file *file;
    char text[1024];

    r->spec.access = access;
    if (tt_file_open(&r->stack, &r->spec, &file, &e) != TT_OK) {
        tt_error_format(&e, text, sizeof text);
        print_error("%s\n", text);
    }
    assert_non_null(file);
    return file;
}

static int transfer_step(struct tt_file *file, enum tt_direction direction, uint64_t step,
                         struct piece *pieces, bool submit, struct tt_error *e)
{
    size_t ticket_size = file->backend->ticket_size;
    char *states = calloc(NPARTS, ticket_size);
    int rc = tt_file_define(file, step, e), result;

    for (enum part i = 0; i < NPARTS; i++) {
        struct tt_ticket t = {states + i * ticket_size};
        const struct tt_block *b = &pieces[i].block;

        if (submit)
            result = tt_file_submit(file, direction, step, b, &t, e);
        else if (direction == TT_WRITING)
            result = tt_file_write(file, step, b, e);
        else
            result = tt_file_read(file, step, b, e);
        rc = rc == TT_OK ? result : rc;
    }
    for (enum part i = 0; submit && i < NPARTS; i++) {
        struct tt_ticket t = {states + i * ticket_size};

        result = tt_file_wait(file, &t, e);
        rc = rc == TT_OK ? result : rc;
    }
    free(states);
    return rc;
}

static void make_pieces(struct piece *pieces, int r, enum memory memory)
{
    for (enum part i = 0; i < NPARTS; i++)
        make_piece(&pieces[i], i, r, memory);
}

static void free_pieces(struct piece *pieces)
{
    for (enum part i = 0; i < NPARTS; i++)
        free_piece(&pieces[i]);
}

static int write_file(struct rig *r, const struct scene *scene, struct tt_error *e)
{
    struct tt_file *file = rig_open(r, TT_CREATE);
    struct piece pieces[NPARTS];
    int rc = TT_OK, result;

    make_pieces(pieces, rank, scene->memory);
    for (uint64_t step = 0; step < STEPS; step++) {
        for (enum part i = 0; i < NPARTS; i++)
            fill(&pieces[i], variables[i].per_step ? step : 0, pieces[i].block.data);
        result = transfer_step(file, TT_WRITING, step, pieces, scene->submit, e);
        rc = rc == TT_OK ? result : rc;
        result = tt_file_sync(file, e);
        rc = rc == TT_OK ? result : rc;
    }
    free_pieces(pieces);
    result = tt_file_close(file, e);
    return rc == TT_OK ? result : rc;
}

/* The part of the next rank, with everything around it untouched. */
static bool read_back(struct rig *r, const struct scene *scene, struct tt_error *e)
{
    struct tt_file *file = rig_open(r, TT_READ_ONLY);
    struct piece pieces[NPARTS];
    bool same = true;

    make_pieces(pieces, (rank + 1) % size, scene->memory);
    for (uint64_t step = 0; step < STEPS; step++) {
        for (enum part i = 0; i < NPARTS; i++)
            memset(pieces[i].block.data, GAP, pieces[i].bytes);
        if (transfer_step(file, TT_READING, step, pieces, scene->submit, e) != TT_OK)
            same = false;
        for (enum part i = 0; i < NPARTS && same; i++) {
            uint64_t last = scene->policy == TT_OVERWRITE ? STEPS - 1 : step;
            unsigned char *expected = malloc(pieces[i].bytes);

            fill(&pieces[i], variables[i].per_step ? last : 0, expected);
            same = memcmp(expected, pieces[i].block.data, pieces[i].bytes) == 0;
            free(expected);
        }
    }
    free_pieces(pieces);
    return tt_file_close(file, e) == TT_OK && same;
}

static void check_scene(const struct scene *scene)
{
    struct tt_error e = TT_ERROR_CLEAR;
    char text[1024];
    struct rig r;
    bool ok;

    rig_make(&r, scene->method, scene->policy);
    ok = write_file(&r, scene, &e) == TT_OK;
    ok = all(ok && (rank != 0 || file_is(r.path, scene)));
    ok = ok && all(read_back(&r, scene, &e));
    if (!ok) {
        tt_error_format(&e, text, sizeof text);
        print_error("%s, policy %d, memory %d, submit %d: %s\n", scene->method, scene->policy,
                    scene->memory, scene->submit, text);
    }
    rig_free(&r);
    assert_true(ok);
}

static const char *const methods[] = {"independent", "collective", "split", "nonblocking"};

static void every_method_writes_the_same_file(void **state)
{
    (void)state;
    for (size_t m = 0; m < 4; m++)
        for (enum memory memory = PACKED; memory <= BACKWARDS; memory++) {
            struct scene scene = {methods[m], memory == SLAB ? TT_OVERWRITE : TT_APPEND, memory,
                                  false};

            check_scene(&scene);
            scene.submit = true;
            if (m >= 2)
                check_scene(&scene);
        }
}

static void lists_may_be_long(void **state)
{
    (void)state;
    nruns = MANY / (unsigned)size; /* of all ranks together: the sanitizers make MPI slow */
    for (size_t m = 0; m < 2; m++) {
        struct scene scene = {methods[m], TT_OVERWRITE, BACKWARDS, false};

        check_scene(&scene);
    }
    nruns = FEW;
}

/* ---- failures ---- */

static void blocking_methods_do_not_submit(void **state)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_ticket t = {calloc(1, 4096)};
    struct tt_file *file;
    struct piece p;
    struct rig r;

    (void)state;
    rig_make(&r, "collective", TT_OVERWRITE);
    file = rig_open(&r, TT_CREATE);
    make_piece(&p, ROWS, rank, PACKED);
    assert_int_equal(tt_file_submit(file, TT_WRITING, 0, &p.block, &t, &e), TT_UNSUPPORTED);
    tt_error_clear(&e);
    assert_int_equal(tt_file_close(file, &e), TT_OK);
    free_piece(&p);
    free(t.state);
    rig_free(&r);
}

static void foreign_file_is_refused(void **state)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_file *file;
    struct rig r;
    FILE *f;

    (void)state;
    rig_make(&r, "collective", TT_OVERWRITE);
    f = rank == 0 ? fopen(r.path, "wb") : NULL;
    if (f)
        fclose(f);
    MPI_Barrier(MPI_COMM_WORLD);
    assert_int_not_equal(tt_file_open(&r.stack, &r.spec, &file, &e), TT_OK);
    assert_null(file);
    assert_int_equal(e.sys_errno, EEXIST); /* so that nobody deletes it */
    rig_free(&r);
}

static void missing_directory_is_named(void **state)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_file *file;
    struct rig r;

    (void)state;
    rig_make(&r, "independent", TT_OVERWRITE);
    r.spec.path = "/nonexistent/file";
    assert_int_not_equal(tt_file_open(&r.stack, &r.spec, &file, &e), TT_OK);
    assert_int_equal(e.sys_errno, ENOENT);
    assert_string_equal(e.file, "/nonexistent/file");
    rig_free(&r);
}

static void short_files_are_noticed(void **state)
{
    (void)state;
    for (size_t m = 0; m < 4; m++) {
        struct scene scene = {methods[m], TT_APPEND, PACKED, m >= 2};
        struct tt_error e = TT_ERROR_CLEAR;
        struct rig r;
        bool ok;

        rig_make(&r, scene.method, scene.policy);
        ok = all(write_file(&r, &scene, &e) == TT_OK);
        if (rank == 0)
            ok = truncate(r.path, 4000) == 0 && ok;
        ok = all(ok) && all(!read_back(&r, &scene, &e) && strstr(e.text, "ends at offset 4000"));
        rig_free(&r);
        assert_true(ok);
    }
}

/* A limit on the size of files fails writes as a full disk does, on the ranks that make them. */
static void lost_writes_are_noticed(void **state)
{
    const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY}, limit = {30000, RLIM_INFINITY};

    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    for (size_t m = 0; m < 4; m++) {
        struct scene scene = {methods[m], TT_APPEND, PACKED, m >= 2};
        struct tt_error e = TT_ERROR_CLEAR;
        struct rig r;
        int rc;

        rig_make(&r, scene.method, scene.policy);
        setrlimit(RLIMIT_FSIZE, &limit);
        rc = write_file(&r, &scene, &e);
        rc = tt_agree(MPI_COMM_WORLD, rc, &e);
        setrlimit(RLIMIT_FSIZE, &none);
        rig_free(&r);
        assert_int_not_equal(rc, TT_OK);
    }
}

/* ---- settings ---- */

static const struct tt_fact *find_fact(const struct tt_facts *facts, const char *key)
{
    for (size_t i = 0; i < facts->n; i++)
        if (!strcmp(facts->list[i].key, key))
            return &facts->list[i];
    return NULL;
}

static void hints_are_given_and_read_back(void **state)
{
    struct scene scene = {"collective", TT_OVERWRITE, PACKED, false};
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_facts facts = {0};
    struct piece pieces[NPARTS];
    const struct tt_fact *fact;
    struct tt_file *file;
    struct rig r;
    int rc;

    (void)state;
    rig_make(&r, scene.method, scene.policy);
    rig_set(&r, "cb_nodes", "1");
    rig_set(&r, "hints", "made_up=17");
    file = rig_open(&r, TT_CREATE);
    make_pieces(pieces, rank, PACKED);
    for (enum part i = 0; i < NPARTS; i++)
        fill(&pieces[i], 0, pieces[i].block.data);
    rc = transfer_step(file, TT_WRITING, 0, pieces, false, &e);
    rc = rc == TT_OK ? tt_file_query(file, &facts, &e) : rc;
    rc = tt_agree(MPI_COMM_WORLD, rc, &e);
    assert_int_equal(rc, TT_OK);
    assert_int_equal(tt_file_close(file, &e), TT_OK);
    fact = find_fact(&facts, "mpiio.cb_nodes");
    assert_non_null(fact);
    assert_string_equal(fact->given, "1");
    print_message("cb_nodes: proof %d, %s\n", fact->proof, fact->how);
    fact = find_fact(&facts, "mpiio.made_up");
    assert_non_null(fact);
    assert_string_equal(fact->given, "17");
    assert_int_equal(fact->proof, TT_UNCONFIRMED);
    assert_non_null(find_fact(&facts, "mpiio.implementation"));
    tt_facts_free(&facts);
    free_pieces(pieces);
    rig_free(&r);
}

/* So many aggregators for every server, and what Cray's library calls it. */
static void aggregators_are_counted_by_servers(void **state)
{
    static const char *const expected[][2] = {{"cb_nodes", "6"},
                                              {"striping_factor", "2"},
                                              {"cray_cb_write_lock_mode", "2"},
                                              {"cray_cb_nodes_multiplier", "3"}};
    struct tt_mpi_hints h = {.striping_factor = 2, .multiplier = 3};
    struct tt_error e = TT_ERROR_CLEAR;
    char value[MPI_MAX_INFO_VAL + 1];
    MPI_Info info;
    int found;

    (void)state;
    assert_int_equal(tt_mpi_hints_check(&h, "mpiio", &e), TT_OK);
    assert_int_equal(tt_mpi_hints_info(&h, &info), MPI_SUCCESS);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        MPI_Info_get(info, expected[i][0], MPI_MAX_INFO_VAL, value, &found);
        assert_true(found);
        assert_string_equal(value, expected[i][1]);
    }
    MPI_Info_free(&info);
    h.multiplier = 1; /* one per server needs no lock-ahead, and what was said outright holds */
    h.cb_nodes = 5;
    assert_int_equal(tt_mpi_hints_info(&h, &info), MPI_SUCCESS);
    MPI_Info_get(info, "cray_cb_nodes_multiplier", MPI_MAX_INFO_VAL, value, &found);
    assert_false(found);
    MPI_Info_get(info, "cb_nodes", MPI_MAX_INFO_VAL, value, &found);
    assert_true(found);
    assert_string_equal(value, "5");
    MPI_Info_free(&info);
    h = (struct tt_mpi_hints){.striping_factor = INT32_MAX, .multiplier = 2};
    assert_int_equal(tt_mpi_hints_check(&h, "mpiio", &e), TT_USAGE);
}

static void bad_hints_are_refused(void **state)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct rig r;

    (void)state;
    rig_make(&r, "collective", TT_OVERWRITE);
    rig_set(&r, "hints", "good=1,bad");
    assert_int_equal(r.stack.elements[0]->check(r.opts, &e), TT_USAGE);
    assert_non_null(strstr(e.text, "'bad'"));
    rig_free(&r);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method_writes_the_same_file),
        cmocka_unit_test(lists_may_be_long),
        cmocka_unit_test(blocking_methods_do_not_submit),
        cmocka_unit_test(foreign_file_is_refused),
        cmocka_unit_test(missing_directory_is_named),
        cmocka_unit_test(short_files_are_noticed),
        cmocka_unit_test(lost_writes_are_noticed),
        cmocka_unit_test(hints_are_given_and_read_back),
        cmocka_unit_test(aggregators_are_counted_by_servers),
        cmocka_unit_test(bad_hints_are_refused),
    };
    int failed, provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0 && !mkdtemp(directory))
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Bcast(directory, sizeof directory, MPI_CHAR, 0, MPI_COMM_WORLD);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (rank == 0)
        rmdir(directory);
    MPI_Finalize();
    return failed != 0;
}
