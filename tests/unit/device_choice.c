/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which device each rank of a node gets, on machines that hwloc makes up and by given distances. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/device_choice.h"

static unsigned char distance(const char *machine, int first, int last, const char *place)
{
    hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
    hwloc_topology_t m;
    unsigned char d;

    assert_int_equal(hwloc_topology_init(&m), 0);
    assert_int_equal(hwloc_topology_set_synthetic(m, machine), 0);
    assert_int_equal(hwloc_topology_load(m), 0);
    hwloc_bitmap_set_range(cpus, (unsigned)first, last);
    d = tt_device_distance(m, cpus, place);
    hwloc_bitmap_free(cpus);
    hwloc_topology_destroy(m);
    return d;
}

/* Two packages with two groups of four cores each: a device is near its own group, less near the
 * other one of its package. */
static void knows_how_far_a_device_is(void **unused)
{
    static const char machine[] = "package:2 group:2 core:4 pu:1";
    unsigned char own = distance(machine, 5, 5, "4-7"), package = distance(machine, 1, 1, "4-7");
    unsigned char other = distance(machine, 12, 12, "4-7");

    (void)unused;
    assert_true(own < package && package < other);
    assert_int_equal(distance(machine, 0, 7, "4-7"), package);
    assert_int_equal(distance(machine, 0, 15, "4-7"), distance(machine, 0, 15, "8-11"));
    assert_int_equal(distance(machine, 5, 5, "4-99"), TT_DISTANCE_UNKNOWN);
    assert_int_equal(distance(machine, 5, 5, "near"), TT_DISTANCE_UNKNOWN);
    assert_int_equal(distance(machine, 5, 5, "0000:06:00.0"), TT_DISTANCE_UNKNOWN);
}

static void check(int ranks, unsigned n, const unsigned char *distances, const unsigned *expected)
{
    for (int rank = 0; rank < ranks; rank++)
        assert_int_equal(tt_device_nearest(distances, ranks, n, rank), expected[rank]);
}

static void takes_the_nearest(void **unused)
{
    (void)unused;
    check(4, 2, (const unsigned char[]){3, 1, 1, 3, 3, 1, 1, 3}, (const unsigned[]){1, 0, 1, 0});
    /* As far as there is room: nobody shares while a device has nothing to do. */
    check(2, 2, (const unsigned char[]){1, 3, 1, 3}, (const unsigned[]){0, 1});
    check(3, 2, (const unsigned char[]){3, 1, 3, 1, 3, 1}, (const unsigned[]){1, 1, 0});
    check(1, 3, (const unsigned char[]){2, 2, 1}, (const unsigned[]){2});
    /* Those that are free to use any CPU take what comes first. */
    check(4, 3, (const unsigned char[]){4, 4, 4, 4, 4, 4, 4, 4, 1, 4, 4, 4},
          (const unsigned[]){0, 0, 2, 1});
}

static void tells_only_where_there_is_a_difference(void **unused)
{
    (void)unused;
    assert_true(tt_device_distances_tell((const unsigned char[]){4, 4, 1, 4}, 2, 2));
    assert_false(tt_device_distances_tell((const unsigned char[]){4, 4, 1, 1}, 2, 2));
    assert_false(tt_device_distances_tell(
        (const unsigned char[]){1, 4, TT_DISTANCE_UNKNOWN, TT_DISTANCE_UNKNOWN}, 2, 2));
}

static void shares_evenly_where_nothing_is_known(void **unused)
{
    static const unsigned expected[] = {0, 0, 1, 2};

    (void)unused;
    for (int rank = 0; rank < 4; rank++)
        assert_int_equal(tt_device_evenly(4, 3, rank), expected[rank]);
    assert_int_equal(tt_device_evenly(2, 4, 1), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_how_far_a_device_is),
        cmocka_unit_test(takes_the_nearest),
        cmocka_unit_test(tells_only_where_there_is_a_difference),
        cmocka_unit_test(shares_evenly_where_nothing_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
