/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The transfer queue with every executor, on a file that is an array: requests arrive, copies are
 * the caller's no longer, failures are kept and told, and the limit of copies makes wait. Also
 * built with the thread sanitizer, since no MPI is involved. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "engine/queue.h"

enum { VALUES = 8, BLOCKS = 3, STEPS = 40, DEPTH = 4, NOTHING = -1 };

/* ---- a file that is an array ---- */

struct tt_file {
    pthread_mutex_t lock;
    uint64_t values[STEPS][BLOCKS][VALUES];
    int fails_in_step; /* from the second block on */
    int ended, empty, syncs, begins;
    struct tt_request *submitted[DEPTH * BLOCKS];
    unsigned nsubmitted;
    bool refuses; /* what is submitted */
};
static struct tt_file file;

static const struct tt_variable variables[BLOCKS] = {
    {.path = "a", .element = &tt_element_u64, .ndims = 1, .dims = {VALUES}, .per_step = true},
    {.path = "b", .element = &tt_element_u64, .ndims = 1, .dims = {VALUES}, .per_step = true},
    {.path = "c", .element = &tt_element_u64, .ndims = 1, .dims = {VALUES}, .per_step = true},
};

static int begin(struct tt_batch *b, struct tt_error *e)
{
    (void)e;
    b->file = &file;
    file.begins++;
    return TT_OK;
}

static int transfer(struct tt_request *r, struct tt_error *e)
{
    const struct tt_block *b = r->block;
    uint64_t *at = file.values[r->batch->step][b->variable];

    if (b->file.kind == TT_SELECT_NONE) {
        pthread_mutex_lock(&file.lock);
        file.empty++;
        pthread_mutex_unlock(&file.lock);
        return TT_OK;
    }
    if ((int)r->batch->step == file.fails_in_step && b->variable > 0)
        return tt_fail(e, TT_FAILED, "request %d", (int)r->id);
    if (r->batch->direction == TT_WRITING)
        memcpy(at, b->data, sizeof *file.values[0]);
    else
        memcpy(b->data, at, sizeof *file.values[0]);
    return TT_OK;
}

static int submit(struct tt_request *r, struct tt_error *e)
{
    if (file.refuses)
        return tt_fail(e, TT_FAILED, "refused");
    file.submitted[file.nsubmitted++] = r;
    return TT_OK;
}

static int wait_for(struct tt_request *r, struct tt_request **done, struct tt_error *e)
{
    unsigned i = 0;

    while (file.submitted[i] != r)
        i++;
    file.submitted[i] = file.submitted[--file.nsubmitted];
    *done = r;
    return transfer(r, e);
}

/* The newest first. */
static int wait_any(struct tt_request *r, struct tt_request **done, struct tt_error *e)
{
    return wait_for(r ? file.submitted[file.nsubmitted - 1] : NULL, done, e);
}

static int sync_request(struct tt_request *r, struct tt_error *e)
{
    (void)r, (void)e;
    pthread_mutex_lock(&file.lock);
    file.syncs++;
    pthread_mutex_unlock(&file.lock);
    return TT_OK;
}

static int end(struct tt_batch *b, int rc, struct tt_error *e)
{
    (void)b, (void)e;
    file.ended++;
    return rc;
}

static const struct tt_queue_calls dumps = {begin, transfer, submit, wait_for, sync_request, end};
static const struct tt_queue_calls single = {
    .transfer = transfer, .submit = submit, .wait = wait_any, .sync = sync_request};

/* ---- helpers ---- */

static struct tt_queue_spec set(const struct tt_queue_calls *calls, enum tt_executor executor,
                                unsigned threads, unsigned requests)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_queue_spec spec = {.calls = calls,
                                 .executor = executor,
                                 .memory = &tt_host_memory,
                                 .depth = executor == TT_BY_CALLER ? 1 : DEPTH,
                                 .requests = requests,
                                 .in_any_order = requests == 1,
                                 .ticket_size = 1};

    memset(&file, 0, sizeof file);
    pthread_mutex_init(&file.lock, NULL);
    file.fails_in_step = NOTHING;
    if (executor == TT_BY_POOL)
        assert_int_equal(tt_pool_start(&spec.pool, threads, NULL, &e), TT_OK);
    return spec;
}

static uint64_t value(uint64_t step, unsigned block, unsigned i)
{
    return (step * BLOCKS + block) * VALUES + i + 1;
}

static void aim(struct tt_batch *b, uint64_t step, unsigned block, uint64_t *data)
{
    struct tt_block *x = tt_batch_add(b);

    *x = (struct tt_block){.variable = block, .data = data};
    tt_select_all(&x->file, 1, variables[block].dims);
    tt_select_all(&x->memory, 1, variables[block].dims);
    b->step = step;
    b->file = &file;
    for (unsigned i = 0; data && i < VALUES; i++)
        data[i] = value(step, block, i);
}

static void all_are_there(int but)
{
    for (int s = 0; s < STEPS; s++)
        for (unsigned b = 0; b < BLOCKS; b++)
            for (unsigned i = 0; i < VALUES && s != but; i++)
                assert_int_equal(file.values[s][b][i], value((uint64_t)s, b, i));
}

/* ---- dumps: batches in order, closed by an agreement ---- */

/* One array for all steps: only a copy can still hold what it was. */
static void dump_all(struct tt_queue *q, int fails)
{
    static uint64_t data[BLOCKS][VALUES];
    struct tt_error e = TT_ERROR_CLEAR;
    uint64_t completed = 0;

    file.fails_in_step = fails;
    for (uint64_t s = 0; s < STEPS || q->in_flight > 0;) {
        struct tt_batch *b = s < STEPS ? tt_queue_take(q) : NULL;

        if (b) {
            for (unsigned i = 0; i < BLOCKS; i++)
                aim(b, s, i, data[i]);
            if (q->spec.executor != TT_BY_CALLER)
                assert_int_equal(tt_batch_copy(b, variables, &e), TT_OK);
            assert_int_equal(tt_queue_start(q, b, tt_now_ns()), q->spec.executor != TT_BY_CALLER);
            s++;
        }
        if (!b || q->spec.executor == TT_BY_CALLER) {
            b = tt_queue_complete(q);
            tt_error_clear(&e);
            assert_int_equal(b->step, completed);
            assert_int_equal(tt_batch_result(b, &e), (int)completed == fails ? TT_FAILED : TT_OK);
            assert_int_equal(b->failed, (int)completed == fails ? completed * BLOCKS + 2 : 0);
            completed++;
        }
    }
    assert_int_equal(completed, STEPS);
}

static void dumps_complete_in_order_with_every_executor(void **unused)
{
    static const enum tt_executor executors[] = {TT_BY_CALLER, TT_BY_BACKEND, TT_BY_POOL};

    (void)unused;
    for (int i = 0; i < 6; i++) {
        struct tt_queue_spec spec = set(&dumps, executors[i % 3], 1, BLOCKS);
        struct tt_error e = TT_ERROR_CLEAR;
        struct tt_queue q;
        int fails = i < 3 ? NOTHING : 7;

        spec.sync_each = spec.sync_failed = true;
        assert_int_equal(tt_queue_open(&q, &spec, &e), TT_OK);
        dump_all(&q, fails);
        all_are_there(fails);
        assert_int_equal(file.begins, STEPS);
        assert_int_equal(file.ended, STEPS);
        assert_int_equal(file.syncs, STEPS * BLOCKS); /* also of the one that has failed */
        /* What is left of it goes with nothing, unless it was submitted before. */
        assert_int_equal(file.empty, fails != NOTHING && spec.executor != TT_BY_BACKEND);
        assert_int_equal(q.last_id, STEPS * BLOCKS);
        tt_queue_close(&q);
        tt_pool_stop(spec.pool);
    }
}

/* ---- streams: single requests, in any order ---- */

static void single_requests_come_back_once(void **unused)
{
    static const enum tt_executor executors[] = {TT_BY_CALLER, TT_BY_BACKEND, TT_BY_POOL};

    (void)unused;
    for (int i = 0; i < 3; i++) {
        struct tt_queue_spec spec = set(&single, executors[i], DEPTH, 1);
        struct tt_error e = TT_ERROR_CLEAR;
        struct tt_queue q;
        unsigned seen[STEPS] = {0};
        size_t each;

        assert_int_equal(tt_queue_open(&q, &spec, &e), TT_OK);
        assert_int_equal(tt_queue_reserve(&q, VALUES * 8, &each, &e), TT_OK);
        for (uint64_t s = 0; s < STEPS || q.in_flight > 0;) {
            struct tt_batch *b = s < STEPS ? tt_queue_take(&q) : NULL;

            if (b)
                aim(b, s++, 0, (uint64_t *)b->buffer);
            if (!b || !tt_queue_start(&q, b, tt_now_ns())) {
                b = tt_queue_complete(&q);
                seen[b->step]++;
                assert_int_equal(tt_batch_result(b, &e), TT_OK);
            }
        }
        for (uint64_t s = 0; s < STEPS; s++) {
            assert_int_equal(seen[s], 1);
            assert_int_equal(file.values[s][0][1], value(s, 0, 1));
        }
        tt_queue_close(&q);
        tt_pool_stop(spec.pool);
    }
}

/* One after the other by the caller: a failure is that of its own request, and the next one goes
 * on.
 */
static void the_caller_executes_at_once(void **unused)
{
    struct tt_queue_spec spec = set(&single, TT_BY_CALLER, 0, 1);
    struct tt_error e = TT_ERROR_CLEAR;
    uint64_t data[VALUES];
    struct tt_queue q;

    (void)unused;
    spec.sync_each = true;
    file.fails_in_step = 1;
    assert_int_equal(tt_queue_open(&q, &spec, &e), TT_OK);
    for (uint64_t s = 0; s < 3; s++) {
        struct tt_batch *b = tt_queue_take(&q);
        int64_t now_ns = tt_now_ns();

        aim(b, s, 1, data);
        tt_queue_execute(&q, b, now_ns);
        assert_int_equal(q.in_flight, 0);
        assert_ptr_equal(q.free, b);
        tt_error_clear(&e);
        assert_int_equal(tt_batch_result(b, &e), s == 1 ? TT_FAILED : TT_OK);
        assert_int_equal(b->failed, s == 1 ? 2 : 0);
        assert_int_equal(b->submitted_ns, now_ns);
        assert_true(b->requests->ended_ns >= now_ns);
        assert_int_equal(file.values[s][1][3], s == 1 ? 0 : value(s, 1, 3));
    }
    assert_int_equal(file.syncs, 2);
    tt_queue_close(&q);
}

/* Its address means nothing here: it is neither copied nor looked at. */
static void memory_of_no_device_is_refused(void **unused)
{
    struct tt_queue_spec spec = set(&dumps, TT_BY_CALLER, 0, BLOCKS);
    struct tt_error e = TT_ERROR_CLEAR;
    uint64_t data[VALUES];
    struct tt_batch *b;
    struct tt_queue q;

    (void)unused;
    assert_int_equal(tt_queue_open(&q, &spec, &e), TT_OK);
    b = tt_queue_take(&q);
    aim(b, 0, 0, data);
    assert_int_equal(tt_batch_check_memory(b, &b->error), TT_OK);
    aim(b, 0, 1, NULL);
    b->blocks[1].space = TT_IN_DEVICE;
    b->rc = tt_batch_check_memory(b, &b->error);
    tt_queue_start(&q, b, tt_now_ns());
    b = tt_queue_complete(&q);
    assert_int_equal(tt_batch_result(b, &e), TT_UNSUPPORTED);
    assert_string_equal(e.text, "block 1 is in a device's memory, but this run has no device");
    assert_int_equal(file.empty, 2); /* calls that other ranks may wait in are made */
    assert_int_equal(file.ended, 1);
    tt_queue_close(&q);
}

static void what_the_backend_refuses_has_ended(void **unused)
{
    struct tt_queue_spec spec = set(&single, TT_BY_BACKEND, 0, 1);
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_batch *first, *second;
    uint64_t data[VALUES];
    struct tt_queue q;

    (void)unused;
    assert_int_equal(tt_queue_open(&q, &spec, &e), TT_OK);
    first = tt_queue_take(&q);
    aim(first, 0, 0, data);
    assert_true(tt_queue_start(&q, first, tt_now_ns()));
    second = tt_queue_take(&q);
    aim(second, 1, 0, data);
    file.refuses = true;
    assert_false(tt_queue_start(&q, second, tt_now_ns()));
    assert_ptr_equal(tt_queue_complete(&q), second);
    assert_int_equal(tt_batch_result(second, &e), TT_FAILED);
    assert_string_equal(e.text, "refused");
    assert_ptr_equal(tt_queue_complete(&q), first);
    assert_int_equal(first->rc, TT_OK);
    tt_queue_close(&q);
}

/* ---- the limit of copies ---- */

static void copies_in_flight_keep_to_their_limit(void **unused)
{
    struct tt_queue_spec spec = set(&dumps, TT_BY_POOL, 1, BLOCKS);
    struct tt_error e = TT_ERROR_CLEAR;
    static uint64_t data[VALUES];
    struct tt_batch *b;
    struct tt_queue q;

    (void)unused;
    spec.limit = 2 * sizeof data;
    assert_int_equal(tt_queue_open(&q, &spec, &e), TT_OK);
    assert_true(tt_queue_has_room(&q, 100 * sizeof data)); /* else it would never be written */
    for (uint64_t s = 0; s < 2; s++) {
        assert_true(tt_queue_has_room(&q, sizeof data));
        b = tt_queue_take(&q);
        aim(b, s, 0, data);
        assert_int_equal(tt_batch_copy_size(b, variables), sizeof data);
        assert_int_equal(tt_batch_copy(b, variables, &e), TT_OK);
        tt_queue_start(&q, b, tt_now_ns());
    }
    assert_false(tt_queue_has_room(&q, sizeof data));
    tt_queue_complete(&q);
    assert_true(tt_queue_has_room(&q, sizeof data));
    tt_queue_complete(&q);
    assert_int_equal(q.staged, 0);
    for (uint64_t s = 2; s < 7;
         s++) { /* whichever is taken, the buffers are those that are there */
        size_t held = 0;

        if (q.in_flight == 2)
            tt_queue_complete(&q);
        b = tt_queue_take(&q);
        aim(b, s, 0, data);
        tt_batch_take_buffers(b);
        assert_int_equal(b->buffer_size, sizeof data);
        assert_int_equal(tt_batch_copy(b, variables, &e), TT_OK);
        tt_queue_start(&q, b, tt_now_ns());
        for (unsigned i = 0; i < spec.depth; i++)
            held += q.batches[i].buffer_size;
        assert_int_equal(held, spec.limit);
    }
    while (q.in_flight > 0)
        tt_queue_complete(&q);
    tt_queue_close(&q);
    tt_pool_stop(spec.pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dumps_complete_in_order_with_every_executor),
        cmocka_unit_test(single_requests_come_back_once),
        cmocka_unit_test(the_caller_executes_at_once),
        cmocka_unit_test(memory_of_no_device_is_refused),
        cmocka_unit_test(what_the_backend_refuses_has_ended),
        cmocka_unit_test(copies_in_flight_keep_to_their_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
