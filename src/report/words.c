/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/words.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "analysis/metrics.h"
#include "plan/registry.h"
#include "record/phases.h"
#include "report/paragraph.h"

/* Columns and labels of reports that are neither metrics, phases, calls nor parameters. N stands
 * for any number. */
static const struct {
    const char *word, *text;
} columns[] = {
    /* a result */
    {"phases", "what ranks spent their time on; the columns are over ranks"},
    {"calls", "how long single calls took, over all ranks"},
    {"count", "number of calls of all ranks"},
    {"min", "the least: over ranks for a phase"},
    {"median", "the value in the middle: over ranks for a phase, over runs for a metric"},
    {"max", "the most: over ranks for a phase, over calls for a call"},
    {"p50", "half of the calls took no longer"},
    {"p90", "90 % of the calls took no longer"},
    {"p99", "99 % of the calls took no longer"},
    {"p99.9", "99.9 % of the calls took no longer"},
    {"share of runtime (= any thread)",
     "the slowest rank's share of the runtime as a bar; of # the main thread, so that they add up "
     "to the runtime; of = the calls of any thread, inside of other phases or beside them"},
    {"error", "why the run did not end well"},
    {"transfers", "how single requests were made, several at a time"},
    {"settings", "of libraries: what was asked for, and what is known of its effect"},
    {"verified", "what layer verify found when it read everything back"},
    {"data", "where the data files were, and on which file system"},
    {"kept", "where the data files are that were to be kept"},
    {"unknown", "metrics that could not be measured, and why"},
    {"saturated", "resources that the counters of a node show to be used up (docs/counters.md)"},
    {"directory", "the run directory, which holds everything that is known of a run"},
    /* a list */
    {"id", "names a run: when its directory was made, and a random number"},
    {"workload", "what the ranks do; tutti list workloads"},
    {"overlap/sync", "the parameters overlap and sync"},
    {"status", "done, failed, stopped (by a limit) or interrupted; invalid: done, but wrong"},
    /* a comparison */
    {"metric", "what is measured; tutti list metrics"},
    {"A", "the first set of runs"},
    {"B", "the second set of runs"},
    {"B against A", "the verdict: what a change of the metric is, and how sure (docs/compare.md)"},
    {"in short", "the metrics by their verdict"},
    {"parameters", "parameters that differ between the sets"},
    {"system", "facts of machine and build that differ between the sets"},
    /* an ensemble */
    {"others", "jobs that ran at the same time as the reference"},
    {"runs", "complete repetitions"},
    {"slowdown", "median runtime of the reference with others / median runtime alone"},
    {"95 % interval", "in which the value lies with a confidence of 95 %"},
    {"95 % interval of the median, N runs", "in which the median lies with a confidence of 95 %"},
    {"(least to most)", "the range of the runs, which are too few for an interval"},
    {"all write", "bytes written by all jobs in the reference's time, per second"},
    {"what grew", "the phase of the reference that took more time than alone, and how much more"},
    {"with N other", "the phases of the reference beside so many other jobs"},
    {"with N others", "the phases of the reference beside so many other jobs"},
    {"total", "time of the phase in a run"},
    {"more", "that time minus the time alone"},
    {"median, times", "median over iterations / median alone, and its interval; -: no time alone"},
    {"p99, times", "99th percentile of iterations / that alone, and its interval"},
    {"reference", "the job whose slowdown is measured"},
    {"load", "a job that runs beside the reference"},
    {"alone", "the reference without other jobs"},
    {"with N", "the reference beside so many other jobs"},
    {"times", "value beside others / value alone, and its interval"},
    {"fairness", "Jain's index of what equal jobs got done: 1 if all the same, 1/n if one got all"},
    {"places", "the CPUs or nodes of each job"},
    {"limit", "the largest number of others for which the slowdown stays below the limit"},
    {"require", "a condition, whether it is met, and by which interval"},
    /* a survey */
    {"N x p", "processes in all: nodes times processes on each"},
    {"size", "of the data of one process"},
    {"access", "write or read"},
    {"mean", "over all transfer sizes and repetitions with as many processes"},
    {"deviation", "standard deviation over the same runs"},
    {"CV", "coefficient of variation: deviation / mean"},
    {"levels", "what the tables tell apart"},
    {"figures", "what has been measured so far"},
};
#define NCOLUMNS (sizeof columns / sizeof *columns)

/* Whether the word is the pattern; N in it stands for a number, and blanks count once. */
static bool matches(const char *pattern, const char *word)
{
    for (;; pattern++, word++) {
        while (*word == ' ' && (word[1] == ' ' || !word[1]))
            word++;
        if (*pattern == 'N' && isdigit((unsigned char)*word)) {
            while (isdigit((unsigned char)word[1]))
                word++;
            continue;
        }
        if (tolower((unsigned char)*pattern) != tolower((unsigned char)*word))
            return false;
        if (!*pattern)
            return true;
    }
}

struct search {
    FILE *out;
    const char *word;
    bool found;
};

static void tell(struct search *s, const char *word, const char *what, const char *unit,
                 const char *text)
{
    fprintf(s->out, "%s: %s%s%s\n", word, what, unit && *unit ? ", unit " : "", unit ? unit : "");
    tt_say_marked(s->out, "  ", "%s", text);
    s->found = true;
}

static void look_into_component(const char *kind, const struct tt_component *c, void *context)
{
    struct search *s = context;
    size_t n = strlen(c->name);

    if (*c->name && !strcasecmp(c->name, s->word))
        tell(s, c->name, kind, NULL, c->summary);
    for (const struct tt_param *p = c->params; p && p->key; p++) {
        const char *key = s->word;

        if (n && !strncmp(key, c->name, n) && key[n] == '.')
            key += n + 1;
        else if (n)
            continue;
        if (!strcmp(p->key, key))
            tell(s, s->word, "parameter", p->unit, p->text);
    }
}

bool tt_words_explain(FILE *out, const char *word)
{
    struct search s = {out, word, false};

    for (size_t i = 0; i < TT_NMETRICS; i++)
        if (!strcmp(tt_metrics[i].name, word) || !strcasecmp(tt_metrics[i].label, word))
            tell(&s, tt_metrics[i].name, tt_metrics[i].label, tt_metrics[i].unit,
                 tt_metrics[i].definition);
    for (int i = 0; i < TT_NPHASES; i++)
        if (!strcmp(tt_phase_names[i], word))
            tell(&s, word, "phase", "s", tt_phase_texts[i]);
    for (int i = 0; i < TT_NCALLS; i++)
        if (!strcmp(tt_call_names[i], word))
            tell(&s, word, "call", "s", tt_call_texts[i]);
    for (size_t i = 0; i < NCOLUMNS; i++)
        if (matches(columns[i].word, word))
            tell(&s, columns[i].word, "in reports", NULL, columns[i].text);
    tt_each_component(look_into_component, &s);
    return s.found;
}

const char *tt_words_nearest(const char *word)
{
    const char *names[TT_NMETRICS + TT_NPHASES + TT_NCALLS + NCOLUMNS + 1] = {0};
    size_t n = 0;

    for (size_t i = 0; i < TT_NMETRICS; i++)
        names[n++] = tt_metrics[i].name;
    for (size_t i = 0; i < TT_NPHASES; i++)
        names[n++] = tt_phase_names[i];
    for (size_t i = 0; i < TT_NCALLS; i++)
        names[n++] = tt_call_names[i];
    for (size_t i = 0; i < NCOLUMNS; i++)
        names[n++] = columns[i].word;
    /* "hidden" for hidden_fraction is a start, not a slip of the finger. */
    for (size_t i = 0; *word && i < n; i++)
        if (!strncmp(names[i], word, strlen(word)))
            return names[i];
    return tt_nearest_word(word, names);
}
