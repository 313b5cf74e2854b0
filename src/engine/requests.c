/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is known of single transfers besides their latency: when they moved how much, and the sizes
 * that each file was asked for. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "engine/series.h"

/* A rank keeps so many files apart; the last entry is that of all others. */
#define MOST_FILES 32
#define NSIZES 64 /* powers of two */

struct tt__requests {
    char *path;
    uint64_t sizes[2][NSIZES]; /* by tt_direction: of 2^i up to 2^(i+1) bytes, and 0 in the first */
};

/* NULL: no memory, and nothing is counted. */
struct tt__requests *tt__requests_of(struct tt_engine_private *p, const char *path)
{
    struct tt__requests *r;

    if (!p->requests)
        p->requests = calloc(MOST_FILES, sizeof *p->requests);
    for (unsigned i = 0; p->requests && i < p->nrequests; i++)
        if (!strcmp(p->requests[i].path, path))
            return &p->requests[i];
    if (!p->requests || p->nrequests == MOST_FILES)
        return p->requests ? &p->requests[MOST_FILES - 1] : NULL;
    r = &p->requests[p->nrequests];
    r->path = strdup(p->nrequests + 1 < MOST_FILES ? path : "");
    p->nrequests += r->path != NULL;
    return r->path ? r : NULL;
}

void tt__count_transfer(struct tt_series *s, enum tt_direction direction, int64_t from_ns,
                        int64_t to_ns, uint64_t bytes)
{
    struct tt_engine_private *p = s->engine->p;

    if (p->start_ns == 0 || p->stop_ns != 0 || p->unmeasured)
        return;
    tt_timeline_add(&p->timelines[direction], from_ns - p->start_ns, to_ns - p->start_ns, bytes);
    if (s->requests)
        s->requests->sizes[direction][63 - __builtin_clzll(bytes | 1)]++;
}

int64_t tt_since_start(const struct tt_engine *engine, int64_t instant_ns)
{
    return instant_ns - engine->p->start_ns;
}

void tt_timeline_join(struct tt_engine *engine, enum tt_direction direction,
                      const struct tt_timeline *seen)
{
    tt_timeline_merge(&engine->p->timelines[direction], seen);
}

/* [[from_bytes, below_bytes, requests], ...] */
static json_t *sizes_json(const uint64_t sizes[NSIZES])
{
    json_t *all = json_array();

    for (unsigned i = 0; i < NSIZES - 1; i++)
        if (sizes[i])
            json_array_append_new(all, json_pack("[I, I, I]", i ? (json_int_t)1 << i : 0,
                                                 (json_int_t)1 << (i + 1), (json_int_t)sizes[i]));
    return all;
}

json_t *tt__requests_json(const struct tt_engine_private *p)
{
    json_t *all = json_array();

    for (unsigned i = 0; i < p->nrequests; i++)
        json_array_append_new(all, json_pack("{s:o, s:o, s:o}", "path",
                                             tt_json_text(p->requests[i].path), "write",
                                             sizes_json(p->requests[i].sizes[TT_WRITING]), "read",
                                             sizes_json(p->requests[i].sizes[TT_READING])));
    return all;
}

void tt__requests_free(struct tt_engine_private *p)
{
    for (unsigned i = 0; i < p->nrequests; i++)
        free(p->requests[i].path);
    free(p->requests);
}
