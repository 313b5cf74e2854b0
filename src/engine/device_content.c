/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Content in a device's memory, made and checked by its kernels (content.cu). */
#include "engine/content.h"
#include "engine/device_move.h"

extern const char tt_content_source[]; /* content.cu */

/* As content.cu declares it. */
struct arguments {
    void *data;
    uint64_t *found; /* compare: bytes from the first wrong one to the end */
    uint64_t n, offset, signature, owner;
    double duplicate, compressible;
    uint32_t kind, random; /* random: words of a chunk that are */
};

static struct tt_content content_of(const struct arguments *a)
{
    return (struct tt_content){(enum tt_content_kind)a->kind, a->signature, a->compressible,
                               a->duplicate};
}

static void fill(const void *arguments)
{
    const struct arguments *a = arguments;
    struct tt_content c = content_of(a);

    tt_content_fill(&c, a->owner, a->offset, a->data, a->n);
}

static void compare(const void *arguments)
{
    const struct arguments *a = arguments;
    struct tt_content c = content_of(a);
    size_t wrong;

    if (!tt_content_matches(&c, a->owner, a->offset, a->data, a->n, &wrong))
        *a->found = a->n - wrong;
}

#define KERNEL(function) \
    { \
        .name = #function, .source = tt_content_source, \
        .arguments_size = sizeof(struct arguments), .naddresses = 2, \
        .addresses = {offsetof(struct arguments, data), offsetof(struct arguments, found)}, \
        .by_host = function \
    }
static const struct tt_kernel filling = KERNEL(fill), comparing = KERNEL(compare);

int tt_content_prepare_on(struct tt_device *d, struct tt_error *e)
{
    return tt_device_prepare(d, 2, (const struct tt_kernel *const[]){&filling, &comparing}, e);
}

static struct arguments arguments_of(const struct tt_content *c, uint64_t owner, uint64_t offset,
                                     const void *data, size_t n, uint64_t *found)
{
    return (struct arguments){
        .data = (void *)data,
        .found = found,
        .n = n,
        .offset = offset,
        .signature = c->signature,
        .owner = owner,
        .duplicate = c->duplicate,
        .compressible = c->compressible,
        .kind = c->kind,
        .random = (uint32_t)tt_content_random_words(c),
    };
}

int tt_content_fill_on(struct tt_device *d, const struct tt_content *c, uint64_t owner,
                       uint64_t offset, void *data, size_t n, struct tt_error *e)
{
    struct arguments a = arguments_of(c, owner, offset, data, n, NULL);
    int rc = tt_device_launch(d, &filling, (n + 7) / 8, &a, e);

    return rc == TT_OK ? d->type->drain(d, TT_STREAM_COMPUTE, e) : rc;
}

int tt_content_compare_on(struct tt_device *d, const struct tt_content *c, uint64_t owner,
                          uint64_t offset, const void *data, size_t n, void *found, size_t *wrong,
                          struct tt_error *e)
{
    struct arguments a = arguments_of(c, owner, offset, data, n, found);
    uint64_t rest = 0;
    int rc = tt_device_find(d, &comparing, (n + 7) / 8, &a, found, &rest, e);

    *wrong = n - rest;
    return rc;
}
