/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The smallest complete layer: counts what passes and reports it. Copy it to make your own.
 *
 * It is a request layer: what stands above and below it sees the same variables and blocks. */
#include <inttypes.h>
#include <stdio.h>

#include "io/file.h"
#include "io/module.h"

struct template_state {
    uint64_t calls[2], bytes[2]; /* by enum tt_direction */
};

static void count(struct tt_file *file, enum tt_direction direction, const struct tt_block *b)
{
    struct template_state *s = file->state;

    s->calls[direction]++;
    s->bytes[direction] +=
        tt_selection_count(&b->file) * file->spec->variables[b->variable].element->size;
}

static int template_open(struct tt_file *file, struct tt_error *e)
{
    return tt_below_open(file, file->spec, e);
}

static int template_write(struct tt_file *file, uint64_t step, const struct tt_block *b,
                          struct tt_error *e)
{
    count(file, TT_WRITING, b);
    return tt_file_write(file->below, step, b, e);
}

static int template_read(struct tt_file *file, uint64_t step, const struct tt_block *b,
                         struct tt_error *e)
{
    count(file, TT_READING, b);
    return tt_file_read(file->below, step, b, e);
}

/* Without submit and wait a stack has no native asynchrony; the helper thread takes its place. */
static int template_submit(struct tt_file *file, enum tt_direction direction, uint64_t step,
                           const struct tt_block *b, struct tt_ticket *t, struct tt_error *e)
{
    count(file, direction, b);
    return tt_file_submit(file->below, direction, step, b, t, e);
}

static int template_wait(struct tt_file *file, struct tt_ticket *t, struct tt_error *e)
{
    return tt_file_wait(file->below, t, e);
}

static int template_sync(struct tt_file *file, struct tt_error *e)
{
    return tt_file_sync(file->below, e);
}

static int template_close(struct tt_file *file, struct tt_error *e)
{
    return tt_below_close(file, e);
}

static int template_query(struct tt_file *file, struct tt_facts *facts, struct tt_error *e)
{
    static const char *const keys[2] = {"template.written", "template.read"};
    const struct template_state *s = file->state;

    for (int d = 0; d < 2; d++) {
        char text[96];

        snprintf(text, sizeof text, "%" PRIu64 " calls, %" PRIu64 " B", s->calls[d], s->bytes[d]);
        if (tt_facts_add(facts, keys[d], NULL, text, TT_IN_EFFECT, "counted by the layer") != TT_OK)
            return tt_fail_nomem(e, "facts");
    }
    return TT_OK;
}

const struct tt_backend tt_layer_template = {
    .name = "template",
    .summary = "counts calls and bytes; the example in docs/extending.md",
    .kind = TT_REQUEST_LAYER,
    .state_size = sizeof(struct template_state),
    .open = template_open,
    .write = template_write,
    .read = template_read,
    .submit = template_submit,
    .wait = template_wait,
    .sync = template_sync,
    .close = template_close,
    .query = template_query,
};

TT_MODULE(.backend = &tt_layer_template);
