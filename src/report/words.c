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
    {"min", "the least: over ranks for a phase, over intervals for a rate over time"},
    {"median", "the value in the middle: over ranks for a phase, over runs for a metric, over "
               "intervals for a rate over time"},
    {"max", "the most: over ranks for a phase, over calls for a call, over intervals for a rate "
            "over time"},
    {"rates", "bytes per second of all ranks in intervals of equal length, of those in which "
              "something was moved, as in the interval before and after"},
    {"from start to end", "the rate over time, as part of the highest; blank: nothing was moved"},
    {"p50", "half of the calls took no longer; -: of fewer than 2 calls"},
    {"p90", "90 % of the calls took no longer; -: of fewer than 10 calls"},
    {"p99", "99 % of the calls took no longer; -: of fewer than 100 calls"},
    {"p99.9", "99.9 % of the calls took no longer; -: of fewer than 1,000 calls"},
    {"share of runtime (= any thread)",
     "the slowest rank's share of the runtime as a bar; of # the main thread, so that they add up "
     "to the runtime; of = the calls of any thread, inside of other phases or beside them"},
    {"IOPS", "write or read calls per second: write_iops, read_iops"},
    {"messages", "bytes handed to MPI for sending per second: communication_rate"},
    {"gain", "what overlap was good for: the run against one that waits for its I/O"},
    {"frames", "bytes of a frame / time of its write or read calls: the median over frames"},
    {"items", "files or directories per second, by what was done with them"},
    {"start", "when the first rank began, in UTC"},
    {"records", "what was kept of single iterations: of a run of very many ranks, less than all"},
    {"last", "the rank for which the others waited most often: it worked longest"},
    {"run", "parameters of the run itself that do not have their defaults"},
    {"more", "how to see the rest"},
    {"error", "why the run did not end well"},
    {"auto", "of --overlap and --mode: whether a dump is asynchronous is decided for each by what "
             "earlier ones took (docs/overlap.md); in an answer, how many were, and what "
             "that gained by the last prediction"},
    {"decisions", "of overlap=auto: which epochs were of which mode, and how often it was changed"},
    {"decision", "the mode of the epochs from here on, or of this one only where it is a probe"},
    {"if sync", "what the next epoch would take without overlap, by what epochs took lately"},
    {"if async", "what it would take with overlap (docs/overlap.md)"},
    {"computation", "what an epoch takes without its visible I/O, smoothed over epochs"},
    {"I/O", "opening, writing and sync of a dump in whatever thread, smoothed over epochs"},
    {"transfers", "whether a rank made one transfer at a time or several, and how"},
    {"settings", "of libraries: what was asked for, and what is known of its effect"},
    {"layer", "what a layer took by itself, in all ranks together: time, CPU time, bytes that came "
              "to it and as "
              "how many it passed them on"},
    {"verified", "what layer verify found when it read everything back"},
    {"data", "where the data files were, and on which file system"},
    {"kept", "where the data files are that were to be kept"},
    {"unknown", "metrics that could not be measured, and why"},
    {"saturated", "resources that the counters of a node show to be used up (docs/counters.md)"},
    {"idle wave",
     "one rank was late: its neighbours waited for it, and theirs for them an iteration "
     "later, and so on (docs/timelines.md)"},
    {"stall", "most ranks waited in the same iteration, all at once: for a collective, or storage"},
    {"directory", "the run directory, which holds everything that is known of a run"},
    /* a list */
    {"id", "names a run: when its directory was made, and a random number"},
    {"workload", "what the ranks do; tutti list workloads"},
    {"status", "done, failed, stopped (by a limit) or interrupted; invalid: done, but wrong"},
    /* a comparison */
    {"metric", "what is measured; tutti list metrics"},
    {"A", "the first set of runs"},
    {"B", "the second set of runs"},
    {"B against A", "the verdict: what a change of the metric is, and how sure (docs/compare.md)"},
    {"in short", "the metrics by their verdict"},
    {"parameters", "parameters that differ between the sets"},
    {"system", "facts of machine and build that differ between the sets"},
    /* an analysis */
    {"quantiles",
     "so much of the frames took no longer; of all frames of all runs (docs/statistics.md)"},
    {"spread", "IQR: 75 % quantile - 25 % quantile; MAD: 1.4826 x median of |value - median|"},
    {"normal?",
     "whether values have a normal distribution, by Shapiro and Wilk's test: one value a run; "
     "and the frames of each run alone, corrected for the number of runs"},
    {"modes", "whether values gather around more than one place, by Hartigan's dip"},
    {"drift",
     "whether frames take longer or shorter the later they are, by Mann and Kendall's test; the "
     "slope is Theil and Sen's"},
    {"changes",
     "runs in which times change their level, and how many of quiet runs would show that"},
    {"factor", "what might matter: rank, frame, or a key that varies between the runs"},
    {"levels", "different values of a factor"},
    {"epsilon2",
     "epsilon-squared: the share of the ranks' variance that the factor explains, 0 to 1"},
    {"p", "how likely chance alone shows as much, corrected for the number of factors (Holm)"},
    {"does it matter?",
     "yes: p is at most 0.05; within blocks: ranks and frames are compared within "
     "their run, a key among runs that are otherwise alike"},
    {"pairs",
     "levels that differ: ratio of their medians, Cliff's delta (-1 to 1), and p, corrected"},
    {"mixed", "the runs are of several machines, versions of tutti, kernels or stores"},
    {"power", "runs in each of two sets with which a change would be seen"},
    /* a model (docs/model.md) */
    {"history", "the runs that rates are fitted to"},
    {"left out", "runs that say nothing to the model, by the reason"},
    {"asked", "what is to be predicted"},
    {"rate", "storage: write and sync of synchronous runs; copy: to staging buffers of overlapped "
             "ones; bytes of all ranks per second of the slowest"},
    {"form", "of a fit: over size and ranks or over their logarithms, with a constant or without; "
             "*: the one that predictions use"},
    {"by size", "what the rate gains per MiB of a dump; in log forms by a dump twice as large; -: "
                "it was left out of the fit"},
    {"by ranks", "what the rate gains per rank; in log forms by twice as many; -: it was left out"},
    {"constant", "the part of the rate that neither size nor ranks change"},
    {"r2", "1 - squares of what a fit leaves over / squares of the rates: 1 if it explains all of "
           "them (docs/model.md)"},
    {"r2 about", "share of the squares of the rates that the fit explains, about their mean, or "
                 "about zero where it has no constant: the two cannot be compared"},
    {"error",
     "of a fit: root mean square error of each rate by a fit without it, of the mean rate; "
     "of a check: predicted / measured - 1"},
    {"figure", "what is predicted"},
    {"predicted", "by the model; of runs in a check, by a fit without them"},
    {"measured", "the median over runs"},
    {"dump", "its size over all ranks"},
    {"inside", "runs that lie within the 95 % interval of their prediction"},
    {"storage rate", "at which a dump is written and synced where nothing runs beside it"},
    {"I/O of a dump", "size / storage rate"},
    {"copy of a dump", "size / copy rate"},
    {"epoch, sync", "computation + I/O"},
    {"epoch, async", "max(computation, I/O) + copy"},
    {"speed-up", "the synchronous epoch / the overlapped one"},
    {"computation, from", "overlap pays if at least this is computed between two dumps"},
    {"computation, to", "and up to this, beyond which I/O slows computation down by more than it "
                        "hides"},
    {"output interval, from", "time between two dumps below which overlap does not pay"},
    {"steps per output, from", "the same in time steps"},
    {"runtime, sync", "of all epochs, with opening and closing"},
    {"runtime, async", "the same with overlap"},
    /* an ensemble */
    {"others", "jobs that ran at the same time as the reference"},
    {"runs", "complete repetitions"},
    {"slowdown",
     "runtime of the reference with others / its mean runtime alone in the same round, the "
     "median over rounds"},
    {"Noise", "two runs alone of the same round: longer / shorter - 1, the median over rounds"},
    {"95 % interval", "in which the value lies with a confidence of 95 %"},
    {"95 % interval of the median, N runs", "in which the median lies with a confidence of 95 %"},
    {"(least to most)", "the range of the runs, which are too few for an interval"},
    {"all write", "bytes written by all jobs in the reference's time, per second"},
    {"what grew",
     "the phase of the reference that took more time than alone, and how much more; blank: "
     "the runs do not show a slowdown, as fewer than six never do"},
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
    {"other of N", "the other job: how much slower it was than alone"},
    {"others of N", "kinds of the other jobs: how much slower they were than alone"},
    {"jobs", "jobs of this kind at once"},
    {"slowdown, times",
     "what a job gets done a second alone / beside the others, and its interval"},
    {"Fairness", "Jain's index of all jobs' speeds as shares of those alone: 1 if all are slowed "
                 "down alike, 1/n if one does all"},
    {"places", "the CPUs, with their cores and NUMA nodes, or the nodes of each job"},
    {"limit", "the largest number of others for which the slowdown stays below the limit"},
    {"stop_when", "whether the interval became as narrow as asked for, and after how many runs"},
    {"require", "a condition, whether it is met, and by which interval"},
    /* a suite */
    {"part", "of a suite: a job or an ensemble with its conditions; tutti help accept"},
    {"verdict", "pass if the whole interval meets the condition, fail if none of it does, else it "
                "cannot be told (docs/gate.md)"},
    {"condition and what was measured", "what is required, the number that was measured, in the "
                                        "same unit, and its interval"},
    {"not here", "why this machine could not run what a dry run shows"},
    {"variation", "coefficient of variation among repetitions: standard deviation / mean, of the "
                  "runtime if no metric is named (docs/gate.md)"},
    {"baseline", "of require: the median of stored runs with the same plan on the same machine "
                 "(docs/gate.md)"},
    /* a survey */
    {"N x p", "processes in all: nodes times processes on each"},
    {"size", "of the data of one process"},
    {"access", "write or read"},
    {"mean", "over all transfer sizes and repetitions with as many processes"},
    {"deviation", "standard deviation over the same runs"},
    {"CV", "coefficient of variation: deviation / mean"},
    {"levels", "what the tables tell apart"},
    {"figures", "what has been measured so far"},
    /* a study */
    {"factor", "a key that was varied; or the repetitions of one point, which only chance tells "
               "apart"},
    {"explains",
     "share of the variance of all runs that lies between the values of this key alone; what keys "
     "and chance leave over is between their combinations"},
    {"repetitions", "share of the variance that lies between runs of the same point: chance"},
    /* a search */
    {"tries", "keys that are varied, and how many values of each"},
    {"described", "what the application does, as it was said on the command line"},
    {"scaled", "by which factor bytes and seconds of the job are less than the application's"},
    {"tried", "settings that were run, the best first, and their medians during the search"},
    {"setting", "keys that differ from the default, and their values"},
    {"mattered", "keys that changed the metric by more than chance does: largest / least median of "
                 "settings that differ in nothing else"},
    {"did not", "keys that did not matter, with the same figure"},
    {"writing", "what I/O costs if the best setting writes more or less often"},
    {"left out", "settings that failed, were refused, or were not proved to be in effect, and why"},
    {"hint", "a hint for MPI-IO, as ROMIO_HINTS and MPI_Info_set take it"},
    {"shell", "a command that is to be run before the application"},
    {"environment", "a variable that is to be exported"},
    {"code", "what the application has to do itself"},
    /* a device */
    {"staging", "data on its way between a device and the host's memory (docs/gpu.md)"},
    {"pinned", "memory of the host that a device copies to and from at full speed"},
    {"pageable", "ordinary memory of the host; copies to it are slow, and block who asks for them"},
    {"MIG", "a part of a GPU that is used as a device of its own"},
    /* tutti report */
    {"under", "the job that runs beside the reference"},
    {"loaded", "the median with the most others around the job"},
    {"from", "lower end of the 95 % interval of what stands before it; -: too few runs for one"},
    {"to", "upper end of that interval"},
    {"from - to", "the interval of what stands before it; in the notes of the figure, if it is "
                  "something else: least to most, or over ranks"},
    {"from 0 on",
     "the value as a bar, the longest of the figure being the whole line; = and - mark "
     "the interval"},
    {"how many, from min to max",
     "a histogram: how many samples lie in equal parts between the least and the most of all "
     "groups"},
    {"samples", "how many values were measured"},
    {"group", "what the samples of a line have in common"},
    {"series", "a line of the figure"},
    {"points", "how many numbers the line has"},
    {"cells", "how many values the map has"},
    {"job", "the name that an ensemble gives to a job"},
    {"why", "why overlap=auto decided so: probe, pays, or after a probe"},
    {"value", "what was measured, in the unit beside it"},
    {"unit", "of the numbers in its line"},
    {"name", "of the row, as the workload gives it"},
    {"effect", "B / A, or B - A of what has no natural zero, of the medians"},
    {"key", "a parameter"},
    {"way", "how an application gets the setting: a hint, a variable, a command, or in its code"},
    {"text", "what is to be set or done"},
    {"iteration", "number of a step of the workload's loop, from 1 on"},
    {"held-out error", "error of each rate by a fit without it, of the mean rate"},
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

        char full[128];

        if (n && !strncmp(key, c->name, n) && key[n] == '.')
            key += n + 1;
        else if (n && strchr(key, '.'))
            continue;
        snprintf(full, sizeof full, "%s%s%s", c->name, n ? "." : "", p->key);
        if (!strcmp(p->key, key))
            tell(s, full, "parameter", p->unit, p->text);
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

const char *tt_words_text(const char *word)
{
    for (int i = 0; i < TT_NCALLS; i++)
        if (!strcmp(tt_call_names[i], word))
            return tt_call_texts[i];
    for (size_t i = 0; i < NCOLUMNS; i++)
        if (matches(columns[i].word, word))
            return columns[i].text;
    return "";
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
