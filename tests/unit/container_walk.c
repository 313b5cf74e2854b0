/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ranks: 1 3 */
/* How a container cuts blocks into calls, seen by a library that keeps its file in memory and takes
 * very little at a time: every element arrives once, no call is too large, and ranks make equally
 * many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <mpi.h>

#include "io/container.h"
#include "scratch.h"

enum { STEPS = 2, NDIMS = 3, ELEMENTS = 7 * 5 * 6, ROOM = 3 * ELEMENTS };

static struct tt_library library; /* changed between tests */
static const uint64_t dims[NDIMS] = {7, 5, 6};
static const struct tt_variable variable = {.path = "data",
                                            .element = &tt_element_i32,
                                            .ndims = NDIMS,
                                            .dims = {7, 5, 6},
                                            .per_step = true};

struct memory_state {
    struct tt_container container;
    int32_t file[STEPS][ELEMENTS]; /* of this rank: its own writes */
    int calls;
};

static uint64_t random_state;

static uint64_t draw(uint64_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % n;
}

/* ---- the library ---- */

static int prepare(struct tt_file *file, struct tt_error *e)
{
    (void)e;
    ((struct memory_state *)file->state)->container.collective = true;
    return TT_OK;
}

static int do_nothing(struct tt_file *file, struct tt_error *e)
{
    (void)file, (void)e;
    return TT_OK;
}

static int do_nothing_to(struct tt_file *file, unsigned i, uint64_t step, struct tt_error *e)
{
    (void)file, (void)i, (void)step, (void)e;
    return TT_OK;
}

static void release(struct tt_file *file)
{
    (void)file;
}

/* One box after the other, element by element. */
static int move(struct tt_file *file, struct tt_piece *p, struct tt_error *e)
{
    struct memory_state *s = file->state;
    int32_t *data = p->data;

    (void)e;
    p->call = "move";
    s->calls++;
    assert_true(p->n <= library.round_boxes && (p->listed || p->n <= 1));
    assert_true(p->bytes <= library.call_bytes || p->bytes == sizeof *data);
    for (size_t b = 0; b < p->n; b++) {
        const MPI_Offset *start = p->starts[b], *count = p->counts[b];

        assert_int_equal(start[0], (MPI_Offset)p->step);
        assert_int_equal(count[0], 1);
        for (MPI_Offset i = 0; i < count[1] * count[2] * count[3]; i++) {
            MPI_Offset at[] = {i / count[3] / count[2], i / count[3] % count[2], i % count[3]};
            uint64_t place = 0;

            for (int d = 0; d < NDIMS; d++)
                place = place * dims[d] +
                        (uint64_t)(start[1 + d] + at[d] * (p->listed ? 1 : p->stride[1 + d]));
            if (p->direction == TT_WRITING)
                s->file[p->step][place] = *data++;
            else
                *data++ = s->file[p->step][place];
        }
    }
    assert_int_equal((char *)data - (char *)p->data, p->bytes);
    return TT_OK;
}

static int memory_open(struct tt_file *file, struct tt_error *e)
{
    int rc = tt_container_prepare(file, &library, e);

    return rc == TT_OK ? tt_container_open(file, e) : rc;
}

static const struct tt_backend backend = {
    .name = "memory",
    .state_size = sizeof(struct memory_state),
    .open = memory_open,
    .define = tt_container_define,
    .write = tt_container_write,
    .read = tt_container_read,
    .sync = tt_container_sync,
    .close = tt_container_close,
};

/* ---- blocks ---- */

struct blocks {
    struct tt_block block;
    struct tt_run file[ELEMENTS], memory[ELEMENTS];
    int32_t data[ROOM];
};

/* Runs of n elements, with gaps, in any order. */
static size_t make_runs(uint64_t n, uint64_t most, uint64_t end, struct tt_run *runs)
{
    uint64_t gaps = end - n, at = 0;
    size_t count = 0;

    for (; n > 0; count++) {
        uint64_t length = 1 + draw(n < most ? n : most), gap = draw(gaps < 3 ? gaps + 1 : 3);

        runs[count] = (struct tt_run){at + gap, length};
        at += gap + length;
        gaps -= gap;
        n -= length;
    }
    for (size_t i = count; i > 1; i--) {
        size_t j = draw(i);
        struct tt_run t = runs[i - 1];

        runs[i - 1] = runs[j];
        runs[j] = t;
    }
    return count;
}

static void make_block(struct blocks *b)
{
    uint64_t room = ROOM, start[NDIMS], stride[NDIMS], count[NDIMS], n;

    memset(b, 0, sizeof *b);
    b->block.data = b->data;
    for (int d = 0; d < NDIMS; d++) {
        stride[d] = 1 + draw(2);
        start[d] = draw(dims[d]);
        count[d] = 1 + draw((dims[d] - 1 - start[d]) / stride[d] + 1);
    }
    if (draw(4) == 0)
        tt_select_none(&b->block.file, NDIMS, dims);
    else if (draw(2) == 0)
        tt_select_slab(&b->block.file, NDIMS, dims, start, stride, count, NULL);
    else
        tt_select_runs(&b->block.file, NDIMS, dims,
                       make_runs(draw(ELEMENTS), 40, ELEMENTS, b->file), b->file);
    n = tt_selection_count(&b->block.file);
    if (draw(3) == 0)
        tt_select_all(&b->block.memory, 1, &n);
    else
        tt_select_runs(&b->block.memory, 1, &room, make_runs(n, 40, ROOM, b->memory), b->memory);
}

/* What a transfer must give, by the one walk that has tests of its own. */
static void expect(const struct blocks *b, int32_t *file, int32_t *memory, bool writing)
{
    struct tt_extent_iter it;
    struct tt_extent x;

    tt_extents_begin(&it, &b->block, 1);
    while (tt_extents_next(&it, &x))
        for (uint64_t i = 0; i < x.length; i++)
            if (writing)
                file[x.file_offset + i] = memory[x.memory_offset + i];
            else
                memory[x.memory_offset + i] = file[x.file_offset + i];
}

static bool is_same_everywhere(int mine)
{
    int values[2] = {mine, -mine};

    MPI_Allreduce(MPI_IN_PLACE, values, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return values[0] == -values[1];
}

static void move_blocks(struct tt_file *file, int rank)
{
    static int32_t wanted[STEPS][ELEMENTS], memory[ROOM];
    struct memory_state *s = file->state;
    struct tt_error e = TT_ERROR_CLEAR;
    static struct blocks b;

    memset(wanted, 0, sizeof wanted);
    for (int i = 0; i < 200; i++) {
        uint64_t step = (uint64_t)i % STEPS;

        random_state = (uint64_t)(i * 64 + rank);
        make_block(&b);
        for (int k = 0; k < ROOM; k++)
            memory[k] = b.data[k] = i * ROOM + k + 1;
        assert_int_equal(tt_file_write(file, step, &b.block, &e), TT_OK);
        expect(&b, wanted[step], b.data, true);
        assert_memory_equal(s->file, wanted, sizeof wanted);
        assert_memory_equal(b.data, memory, sizeof memory);
        make_block(&b);
        memset(memory, 0, sizeof memory);
        assert_int_equal(tt_file_read(file, step, &b.block, &e), TT_OK);
        expect(&b, wanted[step], memory, false);
        assert_memory_equal(b.data, memory, sizeof memory);
        if (library.lists != TT_LISTS_ALONE)
            assert_true(is_same_everywhere(s->calls));
    }
}

static void every_way(void **state)
{
    static const struct {
        enum tt_lists lists;
        bool sorted;
        size_t boxes;
        uint64_t bytes;
    } ways[] = {
        {TT_LISTS_TOGETHER, false, 3, 64}, {TT_LISTS_TOGETHER, false, 1000, UINT64_MAX},
        {TT_LISTS_TOGETHER, true, 2, 4},   {TT_LISTS_ALONE, false, 1, UINT64_MAX},
        {TT_LISTS_MIX, true, 5, 100},      {TT_LISTS_TOGETHER, true, 1000, 3},
    };
    struct scratch scratch;

    (void)state;
    scratch_make(&scratch);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char *path = scratch_path(&scratch, "file");
        struct tt_stack stack = {.n = 1, .elements = {&backend}, .opts = {NULL}};
        struct tt_file_spec spec = {path, MPI_COMM_WORLD, TT_CREATE, TT_APPEND, STEPS,
                                    1,    &variable};
        struct tt_error e = TT_ERROR_CLEAR;
        struct tt_file *file;

        library = (struct tt_library){.sorted = ways[i].sorted,
                                      .lists = ways[i].lists,
                                      .round_boxes = ways[i].boxes,
                                      .call_bytes = ways[i].bytes,
                                      .prepare = prepare,
                                      .open = do_nothing,
                                      .define = do_nothing_to,
                                      .find = do_nothing_to,
                                      .extend = do_nothing_to,
                                      .move = move,
                                      .flush = do_nothing,
                                      .release = release,
                                      .close = do_nothing};
        assert_int_equal(tt_file_open(&stack, &spec, &file, &e), TT_OK);
        move_blocks(file, scratch.rank);
        assert_int_equal(tt_file_close(file, &e), TT_OK);
        MPI_Barrier(MPI_COMM_WORLD);
        if (scratch.rank == 0)
            unlink(path);
        MPI_Barrier(MPI_COMM_WORLD);
        free(path);
    }
    scratch_remove(&scratch);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_way)};
    int failed;

    MPI_Init(&argc, &argv);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed != 0;
}
