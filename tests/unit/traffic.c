/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ranks: 2 5 */
/* Who sends to whom; and that a message spoilt on its way is found by the rank that gets it, in
 * every pattern. MPI's profiling interface is where it is spoilt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/perform.h"
#include "plan/directory.h"
#include "scratch.h"
#include "workloads/traffic/traffic.h"

#define SIZE 4096

static int thread_level;

/* ---- the plan ---- */

static void partners_are_one_cycle(void **unused)
{
    int to[100], before[100] = {0}, repeated = 0;

    (void)unused;
    for (int n = 2; n <= 100; n += 7)
        for (uint64_t iteration = 1; iteration <= 20; iteration++) {
            int at = 0, steps = 0;

            tt_traffic_partners(7, iteration, n, to);
            do {
                assert_in_range(to[at], 0, n - 1);
                at = to[at];
            } while (++steps < n && at != 0);
            assert_int_equal(at, 0);
            assert_int_equal(steps, n);
            repeated += n > 20 && !memcmp(to, before, sizeof *to * (size_t)n);
            memcpy(before, to, sizeof to);
        }
    assert_int_equal(repeated, 0);
    tt_traffic_partners(7, 20, 100, before);
    tt_traffic_partners(8, 20, 100, to);
    assert_memory_not_equal(to, before, sizeof to);
}

static uint64_t sent_by_all(enum tt_traffic_pattern pattern, int ranks)
{
    uint64_t sum = 0;

    for (int rank = 0; rank < ranks; rank++)
        sum += tt_traffic_sent(pattern, 1000, 3, rank, ranks);
    return sum;
}

static void bytes_are_counted_per_receiver(void **unused)
{
    (void)unused;
    for (uint64_t n = 1; n < 10; n++) {
        assert_int_equal(sent_by_all(TT_TRAFFIC_INCAST, (int)n), (n - 1) * 3000);
        assert_int_equal(sent_by_all(TT_TRAFFIC_BROADCAST, (int)n), (n - 1) * 3000);
        assert_int_equal(sent_by_all(TT_TRAFFIC_ALLTOALL, (int)n), n * (n - 1) * 3000);
        assert_int_equal(sent_by_all(TT_TRAFFIC_MANY_TO_MANY, (int)n), n * 3000);
    }
}

/* ---- a spoilt message ---- */

/* The next receiving call of this rank that ends loses a bit at this place of its buffer. */
static struct {
    bool armed;
    size_t place;
    unsigned char *buffer;
} spoiler;

static void receives_into(void *buffer)
{
    if (spoiler.armed && !spoiler.buffer)
        spoiler.buffer = buffer;
}

static void spoil(void)
{
    if (!spoiler.buffer)
        return;
    spoiler.buffer[spoiler.place] ^= 0x10;
    spoiler.armed = false;
    spoiler.buffer = NULL;
}

int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    receives_into(buffer);
    return PMPI_Irecv(buffer, count, type, from, tag, comm, request);
}

int MPI_Ibcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
               MPI_Request *request)
{
    receives_into(buffer);
    return PMPI_Ibcast(buffer, count, type, root, comm, request);
}

int MPI_Alltoall(const void *out, int n, MPI_Datatype type, void *in, int m, MPI_Datatype in_type,
                 MPI_Comm comm)
{
    int rc = PMPI_Alltoall(out, n, type, in, m, in_type, comm);

    receives_into(in);
    spoil();
    return rc;
}

int MPI_Waitall(int n, MPI_Request *requests, MPI_Status *statuses)
{
    int rc = PMPI_Waitall(n, requests, statuses);

    spoil();
    return rc;
}

static void add(struct tt_settings *s, const char *key, const char *value)
{
    struct tt_error e = TT_ERROR_CLEAR;

    assert_int_equal(tt_settings_add(s, key, value, "the test", &e), TT_OK);
}

static int perform(const char *pattern, const char *outstanding, struct tt_error *e)
{
    char ranks[16], size[16], directory[4096] = "", *made = NULL;
    struct tt_settings settings = {0};
    struct tt_config config = {0};
    struct scratch s;
    int rc;

    scratch_make(&s);
    snprintf(ranks, sizeof ranks, "%d", s.size);
    snprintf(size, sizeof size, "%d", SIZE);
    add(&settings, "ranks", ranks);
    add(&settings, "dir", s.directory);
    add(&settings, "results", s.directory);
    add(&settings, "pattern", pattern);
    add(&settings, "outstanding", outstanding);
    add(&settings, "size", size);
    add(&settings, "iterations", "20");
    rc = tt_config_make(&config, "traffic", &settings, e);
    assert_int_equal(rc, TT_OK);
    if (s.rank == 0) {
        assert_int_equal(tt_directory_create(&config, &made, e), TT_OK);
        snprintf(directory, sizeof directory, "%s", made);
    }
    MPI_Bcast(directory, sizeof directory, MPI_CHAR, 0, MPI_COMM_WORLD);
    rc = tt_perform(MPI_COMM_WORLD, thread_level, directory, &config, (struct tt_perform_how){0},
                    NULL, e);
    tt_config_free(&config);
    tt_settings_free(&settings);
    free(made);
    scratch_remove(&s);
    return rc;
}

static void spoil_and_perform(const char *pattern, const char *outstanding, int rank, size_t place)
{
    struct tt_error e = TT_ERROR_CLEAR;
    int here;

    MPI_Comm_rank(MPI_COMM_WORLD, &here);
    assert_int_equal(perform(pattern, outstanding, &e), TT_OK);
    spoiler.armed = here == rank;
    spoiler.place = place;
    assert_int_equal(perform(pattern, outstanding, &e), TT_CORRUPT);
    assert_false(spoiler.armed);
    assert_int_equal(e.rank, rank);
    assert_non_null(strstr(e.text, "in iteration 1 did not arrive as sent"));
}

static void a_spoilt_message_is_found(void **unused)
{
    (void)unused;
    spoil_and_perform("incast", "1", 0, 0);
    spoil_and_perform("incast", "3", 0, SIZE - 1);
    spoil_and_perform("broadcast", "2", 1, 0);
    spoil_and_perform("alltoall", "1", 1, SIZE - 1);
    spoil_and_perform("many-to-many", "2", 1, SIZE - 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partners_are_one_cycle),
        cmocka_unit_test(bytes_are_counted_per_receiver),
        cmocka_unit_test(a_spoilt_message_is_found),
    };
    int failed;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &thread_level);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed;
}
