/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How fast random content is made and checked, of copying memory on one core, and what the first
 * places of a random order cost. Prints ratios as JSON, each the median of several rounds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mix.h"
#include "engine/content.h"

#define BYTES ((size_t)256 << 20) /* beyond the caches */
#define TRANSFER ((size_t)1 << 20)
#define ROUNDS 7
#define PLACES 1000000

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof *values, by_value);
    return values[ROUNDS / 2];
}

static double copy(char *to, const char *from)
{
    int64_t t = tt_now_ns();

    for (size_t at = 0; at < BYTES; at += TRANSFER)
        memcpy(to + at, from + at, TRANSFER);
    return tt_seconds(tt_now_ns() - t);
}

static double fill(const struct tt_content *c, char *data)
{
    int64_t t = tt_now_ns();

    for (size_t at = 0; at < BYTES; at += TRANSFER)
        tt_content_fill(c, 0, at, data + at, TRANSFER);
    return tt_seconds(tt_now_ns() - t);
}

static double check(const struct tt_content *c, const char *data, bool *right)
{
    int64_t t = tt_now_ns();
    size_t wrong;

    for (size_t at = 0; at < BYTES; at += TRANSFER)
        *right = *right && tt_content_matches(c, 0, at, data + at, TRANSFER, &wrong);
    return tt_seconds(tt_now_ns() - t);
}

static double walk(uint64_t n, uint64_t *sum)
{
    int64_t t = tt_now_ns();
    struct tt_permutation p = tt_permutation_make(n, 1);

    for (uint64_t i = 0; i < PLACES; i++)
        *sum += tt_permute(&p, i);
    return tt_seconds(tt_now_ns() - t);
}

int main(void)
{
    const struct tt_content c = {.signature = 1};
    double made[ROUNDS], checked[ROUNDS], order[ROUNDS];
    char *a = malloc(BYTES), *b = malloc(BYTES);
    bool right = true;
    uint64_t sum = 0;

    if (!a || !b)
        return 1;
    memset(a, 1, BYTES);
    memset(b, 2, BYTES);
    for (int i = 0; i < ROUNDS; i++) {
        double copied = copy(a, b);

        made[i] = copied / fill(&c, a);
        checked[i] = copied / check(&c, a, &right);
        order[i] = walk(UINT64_C(1) << 40, &sum) / walk(UINT64_C(1) << 20, &sum);
    }
    printf("{\"made\": %.4f, \"checked\": %.4f, \"order\": %.4f, \"right\": %s}\n", median(made),
           median(checked), median(order), right && sum ? "true" : "false");
    free(a);
    free(b);
    return !right;
}
