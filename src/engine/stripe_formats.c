/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/stripe.h"

#define CEPH_OBJECT ((uint64_t)4 << 20) /* bytes, unless somebody has changed it */

enum tt_striped tt_striped_by(const char *filesystem)
{
    static const struct {
        const char *name;
        enum tt_striped by;
    } known[] = {{"lustre", TT_LUSTRE},
                 {"ceph", TT_CEPH},
                 {"fuse.ceph", TT_CEPH},
                 {"fuse.ceph-fuse", TT_CEPH},
                 {"fuse.glusterfs", TT_GLUSTER}};

    for (size_t i = 0; filesystem && i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, filesystem))
            return known[i].by;
    return TT_NOT_STRIPED;
}

/* The number behind the first occurrence of key, if it is one; *rest is what follows. */
static bool number_after(const char *text, const char *key, uint64_t *number, const char **rest)
{
    const char *at = strstr(text, key);
    int used = 0;

    if (!at || sscanf(at + strlen(key), "%*[ \t]%n", &used) < 0)
        return false;
    at += strlen(key) + used;
    if (*at < '0' || *at > '9' || sscanf(at, "%" SCNu64 "%n", number, &used) != 1)
        return false;
    *rest = at + used;
    return true;
}

bool tt_striping_from_lfs(const char *text, struct tt_striping *out)
{
    const char *after_count, *after_size;

    *out = (struct tt_striping){0};
    if (!number_after(text, "lmm_stripe_count:", &out->count, &after_count) ||
        !number_after(text, "lmm_stripe_size:", &out->size, &after_size))
        return false;
    out->composite = strstr(after_count, "lmm_stripe_count:") != NULL;
    return true;
}

bool tt_striping_from_ceph(const char *text, struct tt_striping *out)
{
    const char *rest;

    *out = (struct tt_striping){0};
    return number_after(text, "stripe_unit=", &out->size, &rest) &&
           number_after(text, "stripe_count=", &out->count, &rest);
}

bool tt_striping_from_gluster(const char *text, struct tt_striping *out)
{
    static const char units[] = "KMGT";
    const char *at = strstr(text, "shard-block-size = "), *unit;
    double number;
    char letter;

    *out = (struct tt_striping){0};
    if (!at || sscanf(at, "shard-block-size = %lf%cB", &number, &letter) != 2)
        return false;
    unit = strchr(units, letter);
    if (!unit || !*unit || !(number > 0 && number < 1e6))
        return false;
    out->size = (uint64_t)(number * (double)(UINT64_C(1024) << 10 * (unit - units)));
    return true;
}

void tt_ceph_layout(const struct tt_stripe_options *want, char *text, size_t size)
{
    bool fits = want->size > 0 && CEPH_OBJECT % want->size == 0;
    int n = 0;

    *text = '\0';
    if (want->size > 0)
        n = snprintf(text, size, "stripe_unit=%" PRIu64 " object_size=%" PRIu64 "%s", want->size,
                     fits ? CEPH_OBJECT : want->size, want->count ? " " : "");
    if (want->count > 0)
        snprintf(text + n, size - (size_t)n, "stripe_count=%" PRIu64, want->count);
}
