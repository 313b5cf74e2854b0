/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mix.h"
#include "engine/content.h"
#include "workloads/checkpoint/checkpoint.h"

#define QUAD 4      /* elements: a piece begins at a multiple, as content needs it */
#define PER_LAYER 9 /* tensors */
#define ALIGNMENT 4096
#define MOST_PARTS 3

static const char *const layer_names[PER_LAYER] = {"attention_norm", "q",    "k",  "v",   "o",
                                                   "ffn_norm",       "gate", "up", "down"};
static const char *const part_names[MOST_PARTS] = {"copy", "moment_1", "moment_2"};

/* ---- tensors ---- */

struct tt_checkpoint_shape tt_checkpoint_shape(const struct tt_checkpoint_options *o)
{
    static const struct tt_checkpoint_shape known[] = {
        [TT_CHECKPOINT_8B] = {4096, 14336, 32, 128256, 1024},
        [TT_CHECKPOINT_70B] = {8192, 28672, 80, 128256, 1024},
        [TT_CHECKPOINT_405B] = {16384, 53248, 126, 128256, 1024},
        [TT_CHECKPOINT_1T] = {25872, 98304, 128, 128256, 25872},
    };

    if (o->model != TT_CHECKPOINT_CUSTOM)
        return known[o->model];
    return (struct tt_checkpoint_shape){o->hidden, o->ffn, o->layers, o->vocabulary,
                                        o->kv ? o->kv : o->hidden};
}

static uint64_t tensors_of(const struct tt_checkpoint_shape *s)
{
    return 3 + PER_LAYER * s->layers;
}

/* The first is the embedding; after the layers come a norm and the head. */
static uint64_t elements_of(const struct tt_checkpoint_shape *s, uint64_t tensor)
{
    uint64_t h = s->hidden, last = tensors_of(s) - 1;
    const uint64_t layer[PER_LAYER] = {h, h * h,      h * s->kv,  h * s->kv, h * h,
                                       h, h * s->ffn, h * s->ffn, h * s->ffn};

    if (tensor == 0 || tensor == last)
        return s->vocabulary * h;
    return tensor == last - 1 ? h : layer[(tensor - 1) % PER_LAYER];
}

static char *name_of(const struct tt_checkpoint_shape *s, enum tt_checkpoint_kind kind,
                     uint64_t tensor, unsigned part)
{
    uint64_t last = tensors_of(s) - 1;
    char name[64], *out;

    if (tensor == 0 || tensor + 1 >= last)
        snprintf(name, sizeof name, "%s",
                 tensor == 0      ? "embedding"
                 : tensor == last ? "head"
                                  : "norm");
    else
        snprintf(name, sizeof name, "layer_%llu_%s", (unsigned long long)((tensor - 1) / PER_LAYER),
                 layer_names[(tensor - 1) % PER_LAYER]);
    return asprintf(&out, "%s%s%s", name, kind == TT_CHECKPOINT_OPTIMIZER ? "_" : "",
                    kind == TT_CHECKPOINT_OPTIMIZER ? part_names[part] : "") < 0
               ? NULL
               : out;
}

uint64_t tt_checkpoint_parameters(const struct tt_checkpoint_shape *s)
{
    uint64_t n = 0;

    for (uint64_t t = 0; t < tensors_of(s); t++)
        n += elements_of(s, t);
    return n;
}

static unsigned parts_of(enum tt_checkpoint_kind kind)
{
    return kind == TT_CHECKPOINT_OPTIMIZER ? MOST_PARTS : 1;
}

static uint64_t element_size(enum tt_checkpoint_kind kind)
{
    return kind == TT_CHECKPOINT_OPTIMIZER ? 4 : 2;
}

uint64_t tt_checkpoint_bytes_each(enum tt_checkpoint_kind kind)
{
    return parts_of(kind) * element_size(kind);
}

/* ---- who holds what ---- */

/* The rank's place: which stage of the pipeline, and of the tensors there which share of how many.
 * Ranks of a tensor-parallel group follow each other, then those that only have other data, then
 * stages. The groups share the saving of what they all hold. */
struct seat {
    uint64_t stage, stages, share, shares;
};

static struct seat seat_of(const struct tt_checkpoint_options *o, uint64_t rank, uint64_t ranks)
{
    uint64_t of_stage = ranks / o->pipeline, groups = of_stage / o->tensor;

    if (o->sharding == TT_CHECKPOINT_FULL)
        return (struct seat){0, 1, rank, ranks};
    return (struct seat){rank / of_stage, o->pipeline,
                         rank % o->tensor * groups + rank % of_stage / o->tensor, of_stage};
}

/* Layers are dealt to stages in their order; what comes before and after them goes with the first
 * and with the last. */
static uint64_t stage_of(const struct tt_checkpoint_shape *s, uint64_t tensor, uint64_t stages)
{
    uint64_t last = tensors_of(s) - 1;

    if (tensor == 0)
        return 0;
    return tensor + 1 >= last ? stages - 1 : (tensor - 1) / PER_LAYER * stages / s->layers;
}

static uint64_t cut(uint64_t elements, uint64_t i, uint64_t n)
{
    return i == n ? elements : (uint64_t)((unsigned __int128)(elements / QUAD) * i / n) * QUAD;
}

static int add_piece(struct tt_checkpoint_state *s, const struct tt_checkpoint_shape *shape,
                     struct tt_checkpoint_piece p, struct tt_error *e)
{
    struct tt_variable *v = &s->variables[s->n];
    uint64_t bytes = p.count * element_size(s->kind);

    p.at = s->memory;
    s->pieces[s->n++] = p;
    *v = (struct tt_variable){
        .path = name_of(shape, s->kind, p.tensor, p.part), .ndims = 1, .per_step = true};
    v->element = s->kind == TT_CHECKPOINT_OPTIMIZER ? &tt_element_f32 : &tt_element_u8;
    v->dims[0] = bytes / v->element->size;
    s->bytes += bytes;
    s->memory += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return v->path ? TT_OK : tt_fail_nomem(e, "a tensor's name");
}

int tt_checkpoint_state_make(struct tt_checkpoint_state *s, const struct tt_checkpoint_options *o,
                             enum tt_checkpoint_kind kind, uint64_t rank, uint64_t ranks,
                             struct tt_error *e)
{
    struct tt_checkpoint_shape shape = tt_checkpoint_shape(o);
    struct seat seat = seat_of(o, rank, ranks);
    size_t most = tensors_of(&shape) * parts_of(kind);
    int rc = TT_OK;

    *s = (struct tt_checkpoint_state){.kind = kind,
                                      .pieces = calloc(most, sizeof *s->pieces),
                                      .variables = calloc(most, sizeof *s->variables)};
    if (!s->pieces || !s->variables)
        return tt_fail_nomem(e, "the tensors of a rank");
    for (uint64_t t = 0; rc == TT_OK && t < tensors_of(&shape); t++) {
        uint64_t n = elements_of(&shape, t), start = cut(n, seat.share, seat.shares);
        uint64_t count = cut(n, seat.share + 1, seat.shares) - start;

        if (count == 0 || stage_of(&shape, t, seat.stages) != seat.stage)
            continue;
        for (unsigned part = 0; rc == TT_OK && part < parts_of(kind); part++)
            rc = add_piece(s, &shape, (struct tt_checkpoint_piece){t, part, start, count, 0}, e);
    }
    return rc;
}

void tt_checkpoint_state_free(struct tt_checkpoint_state *s)
{
    for (unsigned i = 0; s->variables && i < s->n; i++)
        free((char *)s->variables[i].path);
    free(s->variables);
    free(s->pieces);
    *s = (struct tt_checkpoint_state){0};
}

uint64_t tt_checkpoint_piece_bytes(const struct tt_checkpoint_state *s, unsigned piece)
{
    return s->pieces[piece].count * element_size(s->kind);
}

uint64_t tt_checkpoint_largest_part(const struct tt_checkpoint_state *s)
{
    uint64_t most = 0;

    for (unsigned i = 0; i < s->n; i++)
        most = tt_checkpoint_piece_bytes(s, i) > most ? tt_checkpoint_piece_bytes(s, i) : most;
    most = (most + 7) / 8 * 8;
    return most < TT_CHECKPOINT_PART ? most : TT_CHECKPOINT_PART;
}

/* Of a stage the last share is the largest: it has what does not divide. */
uint64_t tt_checkpoint_memory(const struct tt_checkpoint_options *o, uint64_t ranks, uint64_t *part)
{
    uint64_t stages = seat_of(o, 0, ranks).stages, most = 0, largest = 0, mine;
    struct tt_error ignored = TT_ERROR_CLEAR;

    for (uint64_t i = 1; i <= stages; i++) {
        uint64_t memory = 0;

        for (int kind = 0; kind < TT_CHECKPOINT_KINDS; kind++) {
            struct tt_checkpoint_state s;

            tt_checkpoint_state_make(&s, o, (enum tt_checkpoint_kind)kind, ranks / stages * i - 1,
                                     ranks, &ignored);
            memory += s.memory;
            mine = tt_checkpoint_largest_part(&s);
            largest = mine > largest ? mine : largest;
            tt_checkpoint_state_free(&s);
        }
        most = memory > most ? memory : most;
    }
    if (part)
        *part = largest;
    return most;
}

uint64_t tt_checkpoint_steps(const struct tt_checkpoint_options *o)
{
    return (o->checkpoints + 1) * o->every;
}

int tt_checkpoint_check_ranks(const struct tt_checkpoint_options *o, uint64_t ranks,
                              struct tt_error *e)
{
    struct tt_checkpoint_shape s = tt_checkpoint_shape(o);
    struct seat seat;

    if (o->sharding == TT_CHECKPOINT_PARALLEL && ranks % (o->tensor * o->pipeline) != 0)
        return tt_fail(e, TT_USAGE,
                       "checkpoint: %llu ranks are not a multiple of tensor %llu x pipeline %llu",
                       (unsigned long long)ranks, (unsigned long long)o->tensor,
                       (unsigned long long)o->pipeline);
    if (o->sharding == TT_CHECKPOINT_PARALLEL && o->pipeline > s.layers)
        return tt_fail(e, TT_USAGE,
                       "checkpoint.pipeline: %llu stages for %llu layers; a stage has at least one",
                       (unsigned long long)o->pipeline, (unsigned long long)s.layers);
    seat = seat_of(o, 0, ranks);
    if (s.hidden * s.ffn / QUAD < seat.shares)
        return tt_fail(
            e, TT_USAGE,
            "checkpoint: the model is too small for %llu ranks; use fewer, or a larger one",
            (unsigned long long)ranks);
    return TT_OK;
}

/* ---- content ---- */

uint64_t tt_checkpoint_owner(const struct tt_checkpoint_state *s, unsigned piece)
{
    const struct tt_checkpoint_piece *p = &s->pieces[piece];

    return p->tensor * (MOST_PARTS + 1) + (s->kind == TT_CHECKPOINT_OPTIMIZER ? 1 + p->part : 0);
}

uint64_t tt_checkpoint_offset(const struct tt_checkpoint_state *s, unsigned piece)
{
    return s->pieces[piece].start * element_size(s->kind);
}

uint64_t tt_checkpoint_stamp_of(uint64_t number)
{
    return tt_mix(number ^ UINT64_C(0x7374616d70));
}

void tt_checkpoint_fill(const struct tt_checkpoint_state *s, uint64_t seed, unsigned char *memory)
{
    const struct tt_content content = {.signature = seed};

    for (unsigned i = 0; i < s->n; i++)
        tt_content_fill(&content, tt_checkpoint_owner(s, i), tt_checkpoint_offset(s, i),
                        memory + s->pieces[i].at, tt_checkpoint_piece_bytes(s, i));
}

uint64_t tt_checkpoint_next_stamp(uint64_t from)
{
    return (from + TT_CHECKPOINT_STAMPS - 1) / TT_CHECKPOINT_STAMPS * TT_CHECKPOINT_STAMPS;
}

void tt_checkpoint_stamp(const struct tt_checkpoint_state *s, uint64_t number,
                         unsigned char *memory)
{
    uint64_t word = tt_checkpoint_stamp_of(number);

    for (unsigned i = 0; i < s->n; i++) {
        uint64_t from = tt_checkpoint_offset(s, i);
        uint64_t end = from + tt_checkpoint_piece_bytes(s, i);

        for (uint64_t at = tt_checkpoint_next_stamp(from); at + sizeof word <= end;
             at += TT_CHECKPOINT_STAMPS)
            memcpy(memory + s->pieces[i].at + (at - from), &word, sizeof word);
    }
}

bool tt_checkpoint_is_right(const struct tt_checkpoint_state *s, uint64_t seed, uint64_t number,
                            const unsigned char *memory, unsigned *piece, uint64_t *offset)
{
    const struct tt_content content = {.signature = seed};
    uint64_t word = tt_checkpoint_stamp_of(number);

    for (*piece = 0; *piece < s->n; ++*piece) {
        const struct tt_checkpoint_piece *p = &s->pieces[*piece];
        uint64_t from = tt_checkpoint_offset(s, *piece), at = from;
        uint64_t end = from + tt_checkpoint_piece_bytes(s, *piece);

        while (at < end) {
            const unsigned char *data = memory + p->at + (at - from);
            uint64_t stop = tt_checkpoint_next_stamp(at + 1);
            size_t wrong;

            *offset = at;
            if (at % TT_CHECKPOINT_STAMPS == 0 && end - at >= sizeof word) {
                if (memcmp(data, &word, sizeof word) != 0)
                    return false;
                at += sizeof word;
                continue;
            }
            stop = stop < end ? stop : end;
            if (!tt_content_matches(&content, tt_checkpoint_owner(s, *piece), at, data, stop - at,
                                    &wrong)) {
                *offset = at + wrong;
                return false;
            }
            at = stop;
        }
    }
    return true;
}
