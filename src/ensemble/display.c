/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ensemble/trial.h"

#include <stdio.h>
#include <unistd.h>

#include "plan/control.h"
#include "plan/directory.h"
#include "spec/units.h"

#define COLUMNS 79

static bool is_shown(const struct tt_trial *s)
{
    return !s->ensemble->o.quiet && isatty(STDERR_FILENO);
}

enum state { STARTING, READY, PLAYING, ENDED, NSTATES };
static const char *const state_names[] = {"starting", "ready", "running", "ended"};

static enum state state_of(const struct tt_trial_job *a)
{
    if (a->job.process.ended)
        return ENDED;
    if (a->go_ns)
        return PLAYING;
    return tt_control_read(a->directory, TT_CONTROL_READY) ? READY : STARTING;
}

/* "120/200" while it runs and says so, or "ready". */
static int describe_reference(const struct tt_trial_job *a, char *out, size_t size)
{
    enum state state = state_of(a);
    struct tt_progress p;

    if (state == PLAYING && tt_progress_read(a->directory, &p) == 0 && p.total > 0)
        return snprintf(out, size, "%llu/%llu", (unsigned long long)p.iteration,
                        (unsigned long long)p.total);
    return snprintf(out, size, "%s", state_names[state]);
}

/* "loads: 1 starting, 2 ready": there may be too many to name each. */
static int describe_loads(const struct tt_trial *s, char *out, size_t size)
{
    size_t count[NSTATES] = {0};
    int used = 0;

    for (size_t i = 1; i < s->n; i++)
        count[state_of(&s->jobs[i])]++;
    for (int i = 0; i < NSTATES; i++)
        if (count[i] > 0)
            used += snprintf(out + used, size - (size_t)used, "%s %zu %s",
                             used ? "," : " | loads:", count[i], state_names[i]);
    return used;
}

void tt_display_draw(const struct tt_trial *s)
{
    const struct tt_runner_state *state = s->state;
    const char *title = s->jobs[0].spec->title;
    char line[256], left[TT_UNIT_TEXT];
    int used;

    if (!is_shown(s))
        return;
    used = snprintf(line, sizeof line, "%llu/%llu", (unsigned long long)state->done,
                    (unsigned long long)state->planned);
    if (state->left >= 0)
        used += snprintf(line + used, sizeof line - (size_t)used, ", %s left",
                         tt_format_seconds(state->left, left));
    if (!title)
        used += snprintf(line + used, sizeof line - (size_t)used, " | %llu other%s, no. %llu",
                         (unsigned long long)s->step->others, s->step->others == 1 ? "" : "s",
                         (unsigned long long)state->number);
    used += snprintf(line + used, sizeof line - (size_t)used, " | %s", title ? "" : "reference ");
    used += describe_reference(&s->jobs[0], line + used, sizeof line - (size_t)used);
    used += describe_loads(s, line + used, sizeof line - (size_t)used);
    if (title)
        snprintf(line + used, sizeof line - (size_t)used, " | %s", title);
    fprintf(stderr, "\r%.*s\033[K", COLUMNS, line);
    fflush(stderr);
}

void tt_display_clear(const struct tt_trial *s)
{
    if (is_shown(s))
        fprintf(stderr, "\r\033[K");
}
