/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Content that can be told again, and orders that leave nothing out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mix.h"
#include "engine/content.h"
#include "engine/content_kernel.h"

#define SAMPLE ((size_t)1 << 20)

static char *sample(const struct tt_content *c, uint64_t owner)
{
    char *data = malloc(SAMPLE);

    assert_non_null(data);
    for (size_t at = 0; at < SAMPLE; at += 65536)
        tt_content_fill(c, owner, at, data + at, 65536);
    return data;
}

static void every_kind_is_told_again(void **state)
{
    (void)state;
    for (int kind = TT_CONTENT_RANDOM; kind <= TT_CONTENT_SCATTER; kind++) {
        const struct tt_content c = {.kind = (enum tt_content_kind)kind, .signature = 7};
        char data[8192 + 24];
        size_t wrong = 0;

        tt_content_fill(&c, 3, 4096, data, sizeof data);
        assert_true(tt_content_matches(&c, 3, 4096, data, sizeof data, &wrong));
        data[5000] ^= 1;
        assert_false(tt_content_matches(&c, 3, 4096, data, sizeof data, &wrong));
        assert_int_equal(wrong, 5000);
        data[5000] ^= 1;
        data[sizeof data - 1] ^= 1;
        assert_false(tt_content_matches(&c, 3, 4096, data, sizeof data, &wrong));
        assert_int_equal(wrong, sizeof data - 1);
    }
}

/* Random content belongs to its place, however it is cut into transfers. */
static void random_content_belongs_to_its_place(void **state)
{
    const struct tt_content c = {.signature = 1, .compressible = 0.25, .duplicate = 0.1};
    char whole[16384], part[5000];

    (void)state;
    tt_content_fill(&c, 0, 8, whole, sizeof whole);
    tt_content_fill(&c, 0, 8 + 4000, part, sizeof part);
    assert_memory_equal(whole + 4000, part, sizeof part);
    tt_content_fill(&c, 1, 8 + 4000, part, sizeof part);
    assert_memory_not_equal(whole + 4000, part, sizeof part);
}

static void instruction_sets_agree(void **state)
{
    static tt_content_kernel *const kernels[] = {
        tt_content_kernel_baseline,
#if defined(__x86_64__)
        tt_content_kernel_avx2,
        tt_content_kernel_avx512,
#endif
    };
    uint64_t states[16], first[512], words[512];

    (void)state;
    for (unsigned i = 0; i < 16; i++)
        states[i] = UINT64_C(0x9e3779b97f4a7c15) * (i + 1);
    kernels[0](first, states);
    for (unsigned k = 1; k < sizeof kernels / sizeof *kernels; k++) {
#if defined(__x86_64__)
        if (k == 1 ? !__builtin_cpu_supports("avx2") : !__builtin_cpu_supports("avx512dq"))
            continue;
#endif
        kernels[k](words, states);
        assert_memory_equal(first, words, sizeof words);
    }
}

static void compressibility_and_duplicates_are_as_asked(void **state)
{
    static const double asked[][2] = {{0, 0}, {0.5, 0}, {0.9, 0}, {0, 0.6}};

    (void)state;
    for (unsigned i = 0; i < sizeof asked / sizeof *asked; i++) {
        const struct tt_content c = {.compressible = asked[i][0], .duplicate = asked[i][1]};
        struct tt_error e = TT_ERROR_CLEAR;
        struct tt_content_ratio ratio;
        char *data = sample(&c, 0);

        assert_int_equal(tt_content_measure(data, SAMPLE, &ratio, &e), TT_OK);
        free(data);
        assert_true(ratio.duplicate > asked[i][1] - 0.15 && ratio.duplicate < asked[i][1] + 0.15);
        if (asked[i][1] == 0) /* within a piece, repeated chunks compress as well */
            assert_true(ratio.compressed > 1 - asked[i][0] - 0.03 &&
                        ratio.compressed < 1 - asked[i][0] + 0.05);
    }
}

static void timestamps_are_what_ior_writes(void **state)
{
    const struct tt_content c = {.kind = TT_CONTENT_OFFSET, .signature = 100};
    uint64_t words[1024];

    (void)state;
    tt_content_fill(&c, 2, 65536, words, sizeof words);
    assert_int_equal(words[0], UINT64_C(2) << 32 | 65536);
    assert_int_equal(words[1], UINT64_C(2) << 32 | 101);
    assert_int_equal(words[512], UINT64_C(2) << 32 | 131072);
}

static void permutations_leave_nothing_out(void **state)
{
    static const uint64_t sizes[] = {1, 2, 3, 4, 5, 63, 64, 65, 1000, 65537};

    (void)state;
    for (unsigned k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        uint64_t n = sizes[k], in_place = 0;
        struct tt_permutation p = tt_permutation_make(n, k);
        char *seen = calloc(n, 1);

        assert_non_null(seen);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t to = tt_permute(&p, i);

            assert_true(to < n && !seen[to]);
            seen[to] = 1;
            in_place += to == i;
        }
        assert_true(n < 60 || in_place < 10);
        free(seen);
    }
}

/* The next transfer of an order over 2^40 of them costs no more than any other. */
static void large_permutations_start_at_once(void **state)
{
    struct tt_permutation p = tt_permutation_make(UINT64_C(1) << 40, 5);
    uint64_t before = tt_permute(&p, 0);

    (void)state;
    for (uint64_t i = 1; i < 1000; i++) {
        uint64_t now = tt_permute(&p, i);

        assert_true(now < UINT64_C(1) << 40 && now != before);
        before = now;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_told_again),
        cmocka_unit_test(random_content_belongs_to_its_place),
        cmocka_unit_test(instruction_sets_agree),
        cmocka_unit_test(compressibility_and_duplicates_are_as_asked),
        cmocka_unit_test(timestamps_are_what_ior_writes),
        cmocka_unit_test(permutations_leave_nothing_out),
        cmocka_unit_test(large_permutations_start_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
