/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti explain METRIC: its unit and its one definition; or of a phase what it is. */
#include <string.h>
#include <strings.h>

#include "analysis/metrics.h"
#include "cli/command.h"
#include "cli/wrap.h"
#include "record/phases.h"

/* By its name, or by the label it has in the table. */
static const struct tt_metric *find(const char *name)
{
    for (size_t i = 0; i < TT_NMETRICS; i++)
        if (!strcasecmp(tt_metrics[i].label, name))
            return &tt_metrics[i];
    return tt_find_metric(name);
}

/* "hidden" for hidden_fraction is a start, not a slip of the finger. */
static const char *beginning_with(const char *name)
{
    for (size_t i = 0; *name && i < TT_NMETRICS; i++)
        if (!strncmp(tt_metrics[i].name, name, strlen(name)))
            return tt_metrics[i].name;
    return NULL;
}

static bool explain_phase(const char *name)
{
    for (int i = 0; i < TT_NPHASES; i++)
        if (!strcasecmp(tt_phase_names[i], name)) {
            printf("%s: phase of a rank, unit s\n", tt_phase_names[i]);
            tt_print_entry(stdout, "", 2, tt_phase_texts[i]);
            return true;
        }
    return false;
}

static int fail_unknown(const char *name)
{
    const char *names[TT_NMETRICS + 1] = {0}, *near;
    struct tt_error e = TT_ERROR_CLEAR;

    for (size_t i = 0; i < TT_NMETRICS; i++)
        names[i] = tt_metrics[i].name;
    near = beginning_with(name);
    if (!near)
        near = tt_nearest_word(name, names);
    tt_fail(&e, TT_USAGE, "unknown metric '%.80s'%s; tutti list metrics names them", name,
            TT_DID_YOU_MEAN(near));
    return tt_report_error(&e);
}

int tt_cmd_explain(int argc, char **argv)
{
    struct tt_error e = TT_ERROR_CLEAR;

    if (argc < 2) {
        tt_fail(&e, TT_USAGE, "usage: tutti explain METRIC ...; tutti list metrics names them");
        return tt_report_error(&e);
    }
    for (int i = 1; i < argc; i++) {
        const struct tt_metric *m = find(argv[i]);

        if (!m && explain_phase(argv[i]))
            continue;
        if (!m)
            return fail_unknown(argv[i]);
        printf("%s: %s, unit %s\n", m->name, m->label, m->unit);
        tt_print_entry(stdout, "", 2, m->definition);
    }
    return 0;
}
