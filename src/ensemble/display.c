/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ensemble/display.h"

#include <stdio.h>
#include <unistd.h>

#include "plan/cues.h"
#include "plan/folder.h"
#include "spec/units.h"

#define COLUMNS 79

static bool is_shown(const struct tt_stage *s)
{
    return !s->ensemble->o.quiet && isatty(STDERR_FILENO);
}

/* "120/200", "340", "ready", "starting", "ended" */
static int describe(const struct tt_actor *a, char *out, size_t size)
{
    struct tt_progress p;

    if (a->job.process.ended)
        return snprintf(out, size, "ended");
    if (a->go_ns && tt_progress_read(a->folder, &p) == 0 && p.total > 0)
        return snprintf(out, size, "%llu/%llu", (unsigned long long)p.iteration,
                        (unsigned long long)p.total);
    if (a->go_ns && a->iteration > 0)
        return snprintf(out, size, "%llu", (unsigned long long)a->iteration);
    if (a->go_ns)
        return snprintf(out, size, "playing");
    return snprintf(out, size, "%s", tt_cue_read(a->folder, TT_CUE_READY) ? "ready" : "starting");
}

void tt_display_draw(const struct tt_stage *s)
{
    const struct tt_runner_state *state = s->state;
    char line[256], left[TT_UNIT_TEXT];
    int used;

    if (!is_shown(s))
        return;
    used = snprintf(line, sizeof line, "%llu/%llu", (unsigned long long)state->done,
                    (unsigned long long)state->planned);
    if (state->left >= 0)
        used += snprintf(line + used, sizeof line - (size_t)used, ", %s left",
                         tt_format_seconds(state->left, left));
    used +=
        snprintf(line + used, sizeof line - (size_t)used, " | %llu others, no. %llu | reference ",
                 (unsigned long long)s->step->others, (unsigned long long)state->number);
    used += describe(&s->actors[0], line + used, sizeof line - (size_t)used);
    for (size_t i = 1; i < s->n && used < COLUMNS; i++) {
        used += snprintf(line + used, sizeof line - (size_t)used, i == 1 ? " | loads " : ", ");
        used += describe(&s->actors[i], line + used, sizeof line - (size_t)used);
    }
    fprintf(stderr, "\r%.*s\033[K", COLUMNS, line);
    fflush(stderr);
}

void tt_display_clear(const struct tt_stage *s)
{
    if (is_shown(s))
        fprintf(stderr, "\r\033[K");
}
