/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ensemble/trial.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/notice.h"
#include "plan/control.h"
#include "plan/directory.h"
#include "spec/units.h"

#define COLUMNS 79

static bool is_shown(const struct tt_trial *s)
{
    return !s->ensemble->o.quiet && tt_notice_is_drawn();
}

enum state { STARTING, READY, RUNNING, ENDED, NSTATES };
static const char *const state_names[] = {"starting", "ready", "running", "ended"};

static enum state state_of(const struct tt_trial_job *a)
{
    if (a->job.process.ended)
        return ENDED;
    if (a->go_ns)
        return RUNNING;
    return tt_control_read(a->directory, TT_CONTROL_READY) ? READY : STARTING;
}

/* "120/200" while it runs and says so, or "ready". */
static void put_reference(FILE *out, const struct tt_trial_job *a)
{
    enum state state = state_of(a);
    struct tt_progress p;

    if (state == RUNNING && tt_progress_read(a->directory, &p) == 0 && p.total > 0)
        fprintf(out, "%" PRIu64 "/%" PRIu64, p.iteration, p.total);
    else
        fputs(state_names[state], out);
}

/* "loads: 1 starting, 2 ready": there may be too many to name each. */
static void put_loads(FILE *out, const struct tt_trial *s)
{
    const char *before = " | loads:";
    size_t count[NSTATES] = {0};

    for (size_t i = 1; i < s->n; i++)
        count[state_of(&s->jobs[i])]++;
    for (int i = 0; i < NSTATES; i++)
        if (count[i] > 0) {
            fprintf(out, "%s %zu %s", before, count[i], state_names[i]);
            before = ",";
        }
}

void tt_display_draw(const struct tt_trial *s)
{
    const struct tt_runner_state *state = s->state;
    const char *title = s->jobs[0].spec->title;
    char line[256] = "", left[TT_UNIT_TEXT];
    FILE *out = is_shown(s) ? fmemopen(line, sizeof line, "w") : NULL;

    if (!out)
        return;
    fprintf(out, "%" PRIu64 "/%" PRIu64, state->done, state->planned);
    if (state->left >= 0)
        fprintf(out, ", %s left", tt_format_seconds(state->left, left));
    if (!title)
        fprintf(out, " | %" PRIu64 " other%s, no. %" PRIu64, s->step->others,
                s->step->others == 1 ? "" : "s", state->number);
    fprintf(out, " | %s", title ? "" : "reference ");
    put_reference(out, &s->jobs[0]);
    put_loads(out, s);
    if (title)
        fprintf(out, " | %s", title);
    fclose(out);
    tt_notice_draw("%.*s", COLUMNS, line);
}

void tt_display_clear(const struct tt_trial *s)
{
    if (is_shown(s))
        tt_notice_draw("%s", "");
}
