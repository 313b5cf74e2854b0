/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What Lustre, CephFS and GlusterFS say of striping, in texts as they were recorded there, and what
 * is said to them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/run_command.h"
#include "base/sys.h"
#include "engine/private.h"
#include "engine/stripe.h"

static void file_systems_are_told_apart(void **state)
{
    (void)state;
    assert_int_equal(tt_striped_by("lustre"), TT_LUSTRE);
    assert_int_equal(tt_striped_by("ceph"), TT_CEPH);
    assert_int_equal(tt_striped_by("fuse.ceph-fuse"), TT_CEPH);
    assert_int_equal(tt_striped_by("fuse.glusterfs"), TT_GLUSTER);
    assert_int_equal(tt_striped_by("ext4"), TT_NOT_STRIPED);
    assert_int_equal(tt_striped_by("fuse"), TT_NOT_STRIPED);
    assert_int_equal(tt_striped_by(""), TT_NOT_STRIPED);
    assert_int_equal(tt_striped_by(NULL), TT_NOT_STRIPED);
}

static void lfs_is_understood(void **state)
{
    static const char plain[] = "/mnt/lustre/tutti-1/frames\n"
                                "lmm_stripe_count:  8\n"
                                "lmm_stripe_size:   1048576\n"
                                "lmm_pattern:       raid0\n"
                                "lmm_layout_gen:    0\n"
                                "lmm_stripe_offset: 5\n"
                                "\tobdidx\t\t objid\t\t objid\t\t group\n"
                                "\t     5\t     157834736\t    0x9685df0\t   0xac0000400\n";
    static const char old[] =
        "t6.txt\nlmm_stripe_count: 2\nlmm_stripe_size: 65536\nlmm_pattern: 1\n";
    static const char mirrored[] = "/mnt/testfs/file1\n"
                                   "  lcm_layout_gen:    2\n"
                                   "  lcm_mirror_count:  2\n"
                                   "  lcm_entry_count:   2\n"
                                   "    lcme_id:             65537\n"
                                   "    lcme_extent.e_end:   EOF\n"
                                   "      lmm_stripe_count:  2\n"
                                   "      lmm_stripe_size:   4194304\n"
                                   "      lmm_pattern:       raid0\n"
                                   "      lmm_objects:\n"
                                   "      - 0: { l_ost_idx: 1, l_fid: [0x100010000:0x2:0x0] }\n"
                                   "    lcme_id:             131074\n"
                                   "      lmm_stripe_count:  3\n"
                                   "      lmm_stripe_size:   1048576\n";
    struct tt_striping s;

    (void)state;
    assert_true(tt_striping_from_lfs(plain, &s));
    assert_true(s.count == 8 && s.size == 1048576 && !s.composite);
    assert_true(tt_striping_from_lfs(old, &s));
    assert_true(s.count == 2 && s.size == 65536 && !s.composite);
    assert_true(tt_striping_from_lfs(mirrored, &s));
    assert_true(s.count == 2 && s.size == 4194304 && s.composite);
    assert_false(tt_striping_from_lfs("", &s));
    assert_false(tt_striping_from_lfs("x has no stripe info\n", &s));
    assert_false(tt_striping_from_lfs("lmm_stripe_count:  -1\nlmm_stripe_size: 1\n", &s));
    assert_false(tt_striping_from_lfs("lmm_stripe_count:", &s));
    assert_false(tt_striping_from_lfs("lmm_stripe_count: 4\nlmm_stripe_size:\n", &s));
}

static void ceph_is_understood(void **state)
{
    struct tt_striping s;

    (void)state;
    assert_true(tt_striping_from_ceph(
        "stripe_unit=4194304 stripe_count=1 object_size=4194304 pool=cephfs_data", &s));
    assert_true(s.count == 1 && s.size == 4194304);
    assert_false(tt_striping_from_ceph("stripe_unit=4194304", &s));
    assert_false(tt_striping_from_ceph("stripe_unit=x stripe_count=1", &s));
    assert_false(tt_striping_from_ceph("", &s));
}

static void gluster_is_understood(void **state)
{
    struct tt_striping s;

    (void)state;
    assert_true(tt_striping_from_gluster("[features/shard.store-shard]\n"
                                         "shard-block-size = 4.0MB\ninode-count = 0\n",
                                         &s));
    assert_true(s.count == 0 && s.size == 4194304);
    assert_true(tt_striping_from_gluster("shard-block-size = 1.5GB\n", &s));
    assert_true(s.size == UINT64_C(1610612736));
    assert_false(tt_striping_from_gluster("shard-block-size = many\n", &s));
    assert_false(tt_striping_from_gluster("shard-block-size = 4.0XB\n", &s));
    assert_false(tt_striping_from_gluster("shard-block-size = 1e300TB\n", &s));
    assert_false(tt_striping_from_gluster("", &s));
}

static void ceph_gets_whole_pieces_in_an_object(void **state)
{
    static const struct {
        struct tt_stripe_options want;
        const char *layout;
    } cases[] = {
        {{8, 0}, "stripe_count=8"},
        {{0, 1 << 20}, "stripe_unit=1048576 object_size=4194304"},
        {{4, 1 << 20}, "stripe_unit=1048576 object_size=4194304 stripe_count=4"},
        {{4, 3 << 16}, "stripe_unit=196608 object_size=196608 stripe_count=4"},
        {{1, 1 << 24}, "stripe_unit=16777216 object_size=16777216 stripe_count=1"},
    };
    char text[128];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tt_ceph_layout(&cases[i].want, text, sizeof text);
        assert_string_equal(text, cases[i].layout);
    }
}

static void pieces_are_multiples_of_what_file_systems_take(void **state)
{
    struct tt_stripe_options good = {3, 3 << 16}, bad = {3, 100000};
    struct tt_error e = TT_ERROR_CLEAR;

    (void)state;
    assert_int_equal(tt_stripe_check(&good, &e), TT_OK);
    assert_int_equal(tt_stripe_check(&bad, &e), TT_USAGE);
    assert_non_null(strstr(e.text, "64 KiB"));
}

static void programs_are_asked(void **state)
{
    char *echo[] = {"echo", "a;b $HOME", NULL}, *no[] = {"false", NULL};
    char *none[] = {"no-such-program-of-ours", NULL}, answer[64], little[4];

    (void)state;
    assert_true(tt_run_command(echo, answer, sizeof answer));
    assert_string_equal(answer, "a;b $HOME\n");
    tt_run_command(echo, little, sizeof little);
    assert_string_equal(little, "a;b");
    assert_false(tt_run_command(no, answer, sizeof answer));
    assert_false(tt_run_command(none, answer, sizeof answer));
    assert_non_null(strstr(answer, "no-such-program-of-ours"));
}

/* What lfs says of a directory is what new files get; so a file in it is asked. */
static void a_file_of_a_directory_is_asked(void **state)
{
    char directory[] = "/tmp/tutti-stripe.XXXXXX";
    struct tt_component stripe = {.name = "stripe"};
    struct tt_stripe_options options = {0};
    struct tt_config config = {.nparts = 1, .parts = {{&stripe, &options}}};
    struct tt_engine_private p = {.facts = json_array()};
    struct tt_engine engine = {.config = &config, .p = &p};
    json_t *environment = json_pack("{s:{s:s}}", "data", "filesystem", "lustre");
    char command[4096], *path = strdup(getenv("PATH"));

    (void)state;
    assert_non_null(mkdtemp(directory));
    p.made = calloc(1, sizeof *p.made + 64);
    p.made->kind = TT_MADE_BUNDLE;
    snprintf(p.made->path, 64, "%s/bundle", directory);
    snprintf(command, sizeof command,
             "cd %s && mkdir -p bundle/sub && : >bundle/sub/data && printf '#!/bin/sh\\ntest -f $3 "
             "&& echo lmm_stripe_count: 2 && echo lmm_stripe_size: 65536' >lfs && chmod +x lfs",
             directory);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof command, "%s:%s", directory, path);
    setenv("PATH", command, 1);
    tt_stripe_look(&engine, environment);
    setenv("PATH", path, 1);
    assert_int_equal(json_array_size(p.striping), 1);
    snprintf(command, sizeof command, "%s/bundle/sub/data", directory);
    assert_string_equal(json_string_value(json_object_get(json_array_get(p.striping, 0), "path")),
                        command);
    tt_sys_remove_private(directory);
    json_decref(p.striping);
    json_decref(p.facts);
    json_decref(environment);
    free(p.made);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_systems_are_told_apart),
        cmocka_unit_test(lfs_is_understood),
        cmocka_unit_test(ceph_is_understood),
        cmocka_unit_test(gluster_is_understood),
        cmocka_unit_test(ceph_gets_whole_pieces_in_an_object),
        cmocka_unit_test(pieces_are_multiples_of_what_file_systems_take),
        cmocka_unit_test(programs_are_asked),
        cmocka_unit_test(a_file_of_a_directory_is_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
