/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ranks: 1 2 5 */
/* hdf5, netcdf and pnetcdf write and another rank reads back: selections, policies, types,
 * settings. What is expected is enumerated here element by element, by other code than the
 * backends'. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <mpi.h>

#include "container_fixture.h"

enum { STEPS = 2, SENTINEL = 0xee };

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

/* How one rank's part of a variable is chosen. */
enum part { BLOCKS, STRIDED, RUNS };

struct shape {
    const char *path;
    const struct tt_element *element;
    int ndims;
    uint64_t dims[TT_MAX_DIMS];
    bool per_step, unlimited;
    enum part part;
    bool memory_runs;  /* runs in memory, too, in another order */
    bool some_nothing; /* odd ranks have nothing */
};

struct scene {
    enum tt_policy policy;
    uint64_t announced; /* steps known at open */
    const char *settings[6][2];
    struct shape shapes[5]; /* ends with a NULL path */
};

/* A block with all it points to, and where its elements are, in order. */
struct piece {
    struct tt_block block;
    struct tt_run *file_runs, *memory_runs;
    uint64_t n, *file_at, *memory_at, memory_elements;
};

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static unsigned char content(unsigned variable, uint64_t step, uint64_t element, size_t byte)
{
    return (unsigned char)mix(((variable * 64 + step) << 40) + element * 64 + byte + 1);
}

static uint64_t product(int n, const uint64_t *dims)
{
    uint64_t p = 1;

    for (int i = 0; i < n; i++)
        p *= dims[i];
    return p;
}

static void swap_runs(struct tt_run *a, struct tt_run *b)
{
    struct tt_run t = *a;

    *a = *b;
    *b = t;
}

/* Short runs, dealt to ranks by chance, in an order by chance. */
static size_t deal_runs(uint64_t elements, int rank, int size, struct tt_run *runs)
{
    size_t n = 0;

    for (uint64_t at = 0; at < elements;) {
        uint64_t length = 1 + mix(at) % 12;

        length = length > elements - at ? elements - at : length;
        if (mix(at + 1) % (uint64_t)size == (uint64_t)rank)
            runs[n++] = (struct tt_run){at, length};
        at += length;
    }
    for (size_t i = n; i > 1; i--)
        swap_runs(&runs[i - 1], &runs[mix(i) % i]);
    return n;
}

static void place_slab(struct tt_selection *s, const struct shape *shape, int rank, int size)
{
    uint64_t start[TT_MAX_DIMS], stride[TT_MAX_DIMS], count[TT_MAX_DIMS], block[TT_MAX_DIMS];

    for (int i = 0; i < shape->ndims; i++) {
        start[i] = 0;
        stride[i] = block[i] = 1;
        count[i] = shape->dims[i];
    }
    if (shape->part == BLOCKS) {
        start[0] = shape->dims[0] * (uint64_t)rank / (uint64_t)size;
        count[0] = shape->dims[0] * (uint64_t)(rank + 1) / (uint64_t)size - start[0];
    } else {
        int last = shape->ndims - 1;

        start[last] = 1;
        stride[last] = 3;
        block[last] = 2;
        count[last] = shape->dims[last] / 3;
        start[0] = 2 * (uint64_t)rank + (last == 0);
        stride[0] = 2 * (uint64_t)size;
        block[0] = 2;
        count[0] = (shape->dims[0] - 2) / stride[0];
    }
    tt_select_slab(s, shape->ndims, shape->dims, start, stride, count, block);
}

/* The selected elements, in order, found the slow way. */
static uint64_t enumerate(const struct tt_selection *s, uint64_t *at)
{
    uint64_t n = 0, all = product(s->ndims, s->dims);

    for (size_t r = 0; s->kind == TT_SELECT_RUNS && r < s->nruns; r++)
        for (uint64_t i = 0; i < s->runs[r].length; i++)
            at[n++] = s->runs[r].start + i;
    for (uint64_t i = 0; s->kind != TT_SELECT_RUNS && s->kind != TT_SELECT_NONE && i < all; i++) {
        uint64_t rest = i;
        bool in = true;

        for (int d = s->ndims - 1; d >= 0; rest /= s->dims[d--]) {
            uint64_t x = rest % s->dims[d] - s->start[d];

            in = in && (s->kind == TT_SELECT_ALL ||
                        (rest % s->dims[d] >= s->start[d] && x / s->stride[d] < s->count[d] &&
                         x % s->stride[d] < s->block[d]));
        }
        if (in)
            at[n++] = i;
    }
    return n;
}

/* Memory is larger than the selection, so that writing beside it shows. */
static void place_memory(struct piece *p, const struct shape *shape)
{
    uint64_t at = 3, dims, start = 5, count = p->n;
    size_t n = 0;

    p->memory_elements = dims = 2 * p->n + 16;
    p->memory_runs = calloc(p->n + 1, sizeof *p->memory_runs);
    if (!shape->memory_runs) {
        tt_select_slab(&p->block.memory, 1, &dims, &start, NULL, &count, NULL);
        if (p->n == 0)
            tt_select_none(&p->block.memory, 1, &dims);
        return;
    }
    for (uint64_t left = p->n; left > 0; n++) {
        uint64_t length = 1 + mix(left) % 5;

        length = length > left ? left : length;
        p->memory_runs[n] = (struct tt_run){at, length};
        at += length + (mix(left) % 3 == 0);
        left -= length;
    }
    for (size_t i = n; i > 1; i -= i > 7 ? 7 : i - 1)
        swap_runs(&p->memory_runs[i - 1], &p->memory_runs[mix(i) % i]);
    tt_select_runs(&p->block.memory, 1, &dims, n, p->memory_runs);
}

static void piece_make(struct piece *p, const struct shape *shape, unsigned variable, int rank,
                       int size)
{
    uint64_t elements = product(shape->ndims, shape->dims);

    memset(p, 0, sizeof *p);
    p->block.variable = variable;
    p->file_runs = calloc(elements + 1, sizeof *p->file_runs);
    p->file_at = calloc(elements + 1, sizeof *p->file_at);
    p->memory_at = calloc(elements + 1, sizeof *p->memory_at);
    if (shape->some_nothing && rank % 2 == 1)
        tt_select_none(&p->block.file, shape->ndims, shape->dims);
    else if (shape->part == RUNS)
        tt_select_runs(&p->block.file, shape->ndims, shape->dims,
                       deal_runs(elements, rank, size, p->file_runs), p->file_runs);
    else if (shape->part == BLOCKS && size == 1)
        tt_select_all(&p->block.file, shape->ndims, shape->dims);
    else
        place_slab(&p->block.file, shape, rank, size);
    p->n = enumerate(&p->block.file, p->file_at);
    place_memory(p, shape);
    enumerate(&p->block.memory, p->memory_at);
    p->block.data = malloc(p->memory_elements * shape->element->size);
    memset(p->block.data, SENTINEL, p->memory_elements * shape->element->size);
}

static void piece_free(struct piece *p)
{
    free(p->file_runs);
    free(p->memory_runs);
    free(p->file_at);
    free(p->memory_at);
    free(p->block.data);
}

/* Fill the selected elements of memory with what belongs at their places in the file. */
static void piece_fill(struct piece *p, size_t element_size, uint64_t step)
{
    unsigned char *data = p->block.data;

    for (uint64_t i = 0; i < p->n; i++)
        for (size_t k = 0; k < element_size; k++)
            data[p->memory_at[i] * element_size + k] =
                content(p->block.variable, step, p->file_at[i], k);
}

/* Also: memory beside the selection is untouched. */
static bool piece_is_right(const struct shape *shape, unsigned variable, int rank, int size,
                           const void *data, uint64_t step)
{
    struct piece p;
    bool same;

    piece_make(&p, shape, variable, rank, size);
    piece_fill(&p, shape->element->size, step);
    same = memcmp(p.block.data, data, p.memory_elements * shape->element->size) == 0;
    piece_free(&p);
    return same;
}

static const struct tt_attribute attributes[] = {
    {"units", TT_CHAR, .text = "kelvin"},
    {"level", TT_I64, .integer = -7},
    {"dx", TT_F64, .real = 0.5},
};

/* False if this build has no such backend. */
static bool make(struct fixture *f, const struct scene *scene, const char *backend,
                 const char *method)
{
    if (!fixture_make(f, backend, method, scene->policy))
        return false;
    for (int i = 0; scene->settings[i][0]; i++)
        fixture_set(f, scene->settings[i][0], scene->settings[i][1]);
    assert_int_equal(f->backend->check(f->opts, &f->e), TT_OK);
    f->spec.steps = scene->announced;
    f->spec.nvariables = 0;
    for (const struct shape *s = scene->shapes; s->path; s++) {
        struct tt_variable *v = &f->variables[f->spec.nvariables++];

        *v = (struct tt_variable){.path = s->path,
                                  .element = s->element,
                                  .ndims = s->ndims,
                                  .per_step = s->per_step,
                                  .unlimited = s->unlimited,
                                  .nattributes = 3,
                                  .attributes = attributes};
        memcpy(v->dims, s->dims, sizeof v->dims);
    }
    return true;
}

static void write_all(struct fixture *o, const struct scene *scene)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct piece p;

    for (uint64_t step = 0; step < STEPS; step++) {
        assert_ok(tt_file_define(o->file, step, &e), &e);
        for (unsigned v = 0; v < o->spec.nvariables; v++) {
            if (!scene->shapes[v].per_step && step > 0)
                continue;
            piece_make(&p, &scene->shapes[v], v, o->scratch.rank, o->scratch.size);
            piece_fill(&p, scene->shapes[v].element->size, step);
            assert_ok(tt_file_write(o->file, step, &p.block, &e), &e);
            piece_free(&p);
        }
    }
}

/* Every rank reads what its neighbour wrote. */
static void read_all(struct fixture *o, const struct scene *scene)
{
    struct tt_error e = TT_ERROR_CLEAR;
    int other = (o->scratch.rank + 1) % o->scratch.size;
    struct piece p;

    for (uint64_t step = 0; step < STEPS; step++)
        for (unsigned v = 0; v < o->spec.nvariables; v++) {
            const struct shape *s = &scene->shapes[v];
            uint64_t of = !s->per_step ? 0 : scene->policy == TT_OVERWRITE ? STEPS - 1 : step;

            piece_make(&p, s, v, other, o->scratch.size);
            assert_ok(tt_file_read(o->file, step, &p.block, &e), &e);
            if (!everywhere(piece_is_right(s, v, other, o->scratch.size, p.block.data, of)))
                fail_msg("variable %s is wrong at step %d", s->path, (int)step);
            piece_free(&p);
        }
}

static void play(const struct scene *scene, const char *backend, const char *method)
{
    struct fixture f;

    if (!make(&f, scene, backend, method))
        return;
    assert_ok(open_file(&f, TT_CREATE), &f.e);
    write_all(&f, scene);
    assert_ok(tt_file_sync(f.file, &f.e), &f.e);
    assert_ok(tt_file_close(f.file, &f.e), &f.e);
    assert_ok(open_file(&f, TT_READ_ONLY), &f.e);
    read_all(&f, scene);
    assert_ok(tt_file_close(f.file, &f.e), &f.e);
    fixture_free(&f);
}

static void play_everywhere(const struct scene *scene)
{
    for (size_t i = 0; i < WAYS; i++)
        play(scene, ways[i].backend, ways[i].method);
}

static void play_collective(const struct scene *scene)
{
    play(scene, "hdf5", "collective");
    play(scene, "netcdf", "collective");
    play(scene, "pnetcdf", "collective");
}

/* The same variables for every policy; filled in per test. */
#define SHAPES \
    { \
        {"mask", &tt_element_u8, 1, {1000}, false, false, BLOCKS, false, false}, \
            {"fields/T", &tt_element_f64, 2, {60, 37}, true, false, STRIDED, false, true}, \
            {"fields/particles", &particle, 3, {6, 5, 11}, true, false, RUNS, true, false}, \
    }

static void policies(void **state)
{
    static const struct {
        enum tt_policy policy;
        uint64_t announced;
    } all[] = {
        {TT_OVERWRITE, 0}, {TT_APPEND, STEPS}, {TT_APPEND, 0}, {TT_GROUP, 0}, {TT_GROUP, STEPS},
    };

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const struct scene s = {all[i].policy, all[i].announced, {{NULL}}, SHAPES};

        play_everywhere(&s);
    }
}

static void growing_variables(void **state)
{
    struct scene s = {TT_APPEND, STEPS, {{NULL}}, SHAPES};

    (void)state;
    for (int i = 0; i < 3; i++)
        s.shapes[i].unlimited = true;
    play_collective(&s);
    s.policy = TT_GROUP;
    play_collective(&s);
    s.policy = TT_OVERWRITE;
    play_collective(&s);
}

static void settings(void **state)
{
    const struct scene s = {TT_APPEND,
                            STEPS,
                            {{"chunk", "7:9"},
                             {"alignment", "4k"},
                             {"alignment_threshold", "1k"},
                             {"collective_metadata", "yes"},
                             {"libver", "latest"}},
                            SHAPES};
    const struct scene fill = {
        TT_GROUP,
        0,
        {{"fill", "ifset"}, {"metadata_block", "64k"}, {"hints", "cb_nodes=1"}},
        SHAPES};

    (void)state;
    play(&s, "hdf5", "collective");
    play(&fill, "hdf5", "collective");
}

static void dimensions(void **state)
{
    struct scene s = {TT_APPEND, STEPS, {{NULL}}, {{NULL}}};

    (void)state;
    for (enum part part = BLOCKS; part <= RUNS; part++)
        for (int memory_runs = 0; memory_runs < 2; memory_runs++) {
            for (int n = 1; n <= 4; n++)
                s.shapes[n - 1] = (struct shape){(const char *[]){"a", "b", "c", "d"}[n - 1],
                                                 &tt_element_i32,
                                                 n,
                                                 {23, 6, 7, 9},
                                                 true,
                                                 false,
                                                 part,
                                                 memory_runs,
                                                 n == 2};
            play_collective(&s);
        }
}

/* More than fits in one round, on ranks that need different numbers of rounds; netcdf has none. */
static void many_runs(void **state)
{
    const struct scene s = {
        TT_OVERWRITE,
        0,
        {{NULL}},
        {{"data", &tt_element_f64, 2, {1100, 100}, true, false, RUNS, true, false},
         {"odd", &tt_element_f64, 1, {30000}, true, false, RUNS, false, true}}};

    (void)state;
    play(&s, "hdf5", "collective");
    play(&s, "pnetcdf", "collective");
}

static const struct tt_fact *fact(const struct tt_facts *facts, const char *key)
{
    for (size_t i = 0; i < facts->n; i++)
        if (strcmp(facts->list[i].key, key) == 0)
            return &facts->list[i];
    fail_msg("no fact %s", key);
    return NULL;
}

static void facts_are_proven(void **state)
{
    const struct scene s = {TT_OVERWRITE,
                            0,
                            {{"chunk", "7:9"},
                             {"alignment", "4k"},
                             {"alignment_threshold", "1k"},
                             {"libver", "latest"},
                             {"hints", "cb_nodes=1"}},
                            {{"big", &tt_element_f64, 1, {1000}, true},
                             {"chunked", &tt_element_f64, 2, {60, 37}, true}}};
    struct tt_facts facts = {0, NULL};
    struct fixture f;

    (void)state;
    if (!make(&f, &s, "hdf5", "collective"))
        skip();
    assert_ok(open_file(&f, TT_CREATE), &f.e);
    write_all(&f, &s);
    assert_ok(tt_file_query(f.file, &facts, &f.e), &f.e);
    assert_int_equal(fact(&facts, "hdf5.method")->proof, TT_IN_EFFECT);
    assert_int_equal(fact(&facts, "hdf5.chunk")->proof, TT_IN_EFFECT);
    assert_string_equal(fact(&facts, "hdf5.chunk")->read_back, "7:9");
    assert_int_equal(fact(&facts, "hdf5.alignment")->proof, TT_IN_EFFECT);
    assert_int_equal(fact(&facts, "hdf5.libver")->proof, TT_IN_EFFECT);
    assert_int_equal(fact(&facts, "hdf5.hints.cb_nodes")->proof, TT_UNCONFIRMED);
    assert_non_null(strchr(fact(&facts, "hdf5.version")->read_back, '.'));
    if (f.scratch.rank == 0)
        assert_true(f.file->library_bytes[TT_WRITING] > 0);
    tt_facts_free(&facts);
    assert_ok(tt_file_close(f.file, &f.e), &f.e);
    fixture_free(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(policies),  cmocka_unit_test(growing_variables),
        cmocka_unit_test(settings),  cmocka_unit_test(dimensions),
        cmocka_unit_test(many_runs), cmocka_unit_test(facts_are_proven),
    };
    int failed;

    if (!find_backend("hdf5") && !find_backend("netcdf") && !find_backend("pnetcdf"))
        return 77;
    MPI_Init(&argc, &argv);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed != 0;
}
