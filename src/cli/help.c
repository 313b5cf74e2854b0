/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti help [TOPIC]: commands and every component's parameters, from the tables.
 * tutti help --markdown prints all of it as docs/reference.md. */
#include <stdlib.h>
#include <string.h>

#include "analysis/metrics.h"
#include "cli/command.h"
#include "cli/wrap.h"
#include "ensemble/ensemble.h"
#include "survey/survey.h"
#include "plan/config.h"
#include "plan/registry.h"

#define COLUMN 26

/* ---- commands ---- */

/* Options of a command that are no parameters of a component. */
struct option_text {
    const char *name, *text;
};

static const struct option_text show_options[] = {
    {"--json FILE", "the result with all samples; -: stdout, and no table"},
    {"--csv FILE", "a row per rank and iteration; -: stdout, and no table"},
    {NULL, NULL},
};

static const struct option_text runs_options[] = {
    {"--json FILE", "the list; -: stdout, and no table"},
    {NULL, NULL},
};

static const struct option_text compare_options[] = {
    {"--dir DIR", "the results directory that filters search [default tutti-runs]"},
    {"--baseline A", "B is all other runs, or those that match the filters"},
    {"--margin SHARE", "what is closer than this is equivalent [default 5%]"},
    {"--metric NAME,...", "compare these metrics"},
    {"--any-plan", "compare runs of different plans, too"},
    {"--json FILE", "all numbers; -: stdout, and no table"},
    {NULL, NULL},
};

static const struct option_text export_options[] = {
    {"--csv FILE", "a row per run; -: stdout"},
    {"--json FILE", "with phases and environment; -: stdout"},
    {NULL, NULL},
};

static const struct option_text index_options[] = {
    {"--rebuild", "read every directory again"},
    {NULL, NULL},
};

static const struct option_text clean_options[] = {
    {"--force", "although it cannot be seen from here whether all ranks have ended"},
    {NULL, NULL},
};

static const struct option_text info_options[] = {
    {"--dir DIR", "the data directory to describe [default .]"},
    {"--json", "as JSON"},
    {NULL, NULL},
};

static const struct option_text numio_options[] = {
    {"-m iter=I,size=N,pert=1|2", "iterations, points per side, perturbation (2: sine)"},
    {"-w freq,path[,imm][,nofilesync][,pattern=a:b:c]",
     "write every freq iterations; imm: sync at once; nofilesync: never sync"},
    {"-r freq[,path]", "read every freq iterations, into the field"},
    {"-c freq,size", "an allgather of size x 1000 bytes per rank every freq iterations"},
    {"-t threads", "OpenMP threads per rank [default 1]"},
    {"-l", "a file per process"},
    {"--backend NAME, --mode MODE, ...", "and all options of tutti help run"},
    {NULL, NULL},
};

static const struct option_text ior_options[] = {
    {"-a API", "POSIX, MPIIO, HDF5, NCMPI, URING or DUMMY [default POSIX]; -c: collective"},
    {"-b SIZE, -t SIZE, -s N", "block [1m], transfer [256k], segments [1]"},
    {"-o FILE, -F, -u, -m",
     "name (a@b@c: in turn), a file per task, in directories, per repetition"},
    {"-w, -r, -W, -R", "write, read, check after write, check while reading [default -w -r]"},
    {"-i N, -k, -K, -T MIN", "repetitions, keep files, keep wrong ones, time in all"},
    {"-e, -Y, -g", "fsync at the end, after every write; barriers between phases"},
    {"-z, -zz, -C, -Z, -ZZ, -Q N, -X SEED", "random places; readers of other tasks' data"},
    {"-D SECONDS", "stonewall; -O stoneWallingWearOut=1, stoneWallingStatusFile=FILE"},
    {"-l TYPE, -G SIGNATURE", "timestamp, offset, incompressible or random data"},
    {"-M SIZE|N%", "memory of a node that is held"},
    {"--posix.odirect", "past the page cache"},
    {"-O NAME=VALUE[,...], -f SCRIPT", "any of these by its long name; a script of tests"},
    {"-O summaryFormat=JSON|CSV", "to stdout, or to summaryFile=FILE"},
    {"--max-bytes SIZE, --depth N, ...", "and all options of tutti help run and tutti help bulk"},
    {NULL, NULL},
};

static const struct option_text mdtest_options[] = {
    {"-n ITEMS | -I ITEMS", "of a task in all, or in each directory of the tree"},
    {"-b N, -z N, -L", "branching [1] and depth [0] of the tree; items in its leaves only"},
    {"-F, -D, -u", "files only, directories only; a tree for every task"},
    {"-w BYTES, -e BYTES, -y, -Y", "written, read; fsync per file, sync per phase"},
    {"-C, -T, -E, -r", "only create, stat, read, remove; the tree stays in DIR/tutti-mdtest"},
    {"-N N, -R[SEED]", "stat, read and remove what other tasks made; in random order"},
    {"-W SECONDS, -x FILE", "stonewall of file creation, and where its count is kept"},
    {"-d DIR, -i N", "where, and how often"},
    {"--ranks N, --json FILE, ...", "and all options of tutti help run"},
    {NULL, NULL},
};

static const struct option_text h5bench_options[] = {
    {"-f, --filter NAME,...", "only these benchmarks"},
    {"-v, --validate-mode", "a benchmark that did not run in its MODE has failed"},
    {"-a, --abort-on-failure", "run none after one that failed"},
    {"-d, --debug; -p, --prefix P", "taken, but mean nothing here"},
    {"--json FILE", "the results of all benchmarks; -: stdout, and no tables"},
    {"--keep, --max-bytes SIZE, ...", "and all options of tutti help run, for every benchmark"},
    {NULL, NULL},
};

static const struct {
    const char *name, *synopsis, *text;
    const struct option_text *options;
} synopses[] = {
    {"run", "tutti run WORKLOAD|FILE.yaml [-n RANKS] [--KEY VALUE ...]",
     "Run a workload: its keys are in tutti help WORKLOAD. Started by mpirun or srun it is a rank, "
     "and -n is left out. A component's name takes a list: --write every=20,series=append is "
     "--write.every 20 --write.series append. --set KEY=VALUE comes after the file's settings. "
     "With repeat, stop_when or require (tutti help ensemble) it is run again and again.",
     NULL},
    {"ensemble",
     "tutti ensemble FILE.yaml|SCENARIO|matrix FILE.yaml|show DIRECTORY ... [--KEY VALUE]",
     "Measure a reference job alone and with others around it. A scenario is empty, balanced, "
     "peak:io, peak:cpu, peak:memory or peak:network and is sized to the machine; matrix takes "
     "every job of a set as reference and as load; show prints an answer again, and with "
     "--limit which of several systems suffices. A file has reference: and load: with the "
     "keys of a workload, and the keys below. Status 0: done, 3 or 4: a require failed or is "
     "inconclusive.",
     NULL},
    {"survey",
     "tutti survey flash [FILE.yaml] [--KEY VALUE] | [flash FILE.yaml] --resume DIRECTORY",
     "Measure a store as the all-flash paper does: bandwidth naive and aged, requests per second "
     "buffered and direct, and over the size of the data. What every run has besides stands in "
     "job: "
     "{backend: ..., layers: ...}.",
     NULL},
    {"show", "tutti show DIRECTORY|ID [--json FILE] [--csv FILE]",
     "Print the result of a run, or the answer of an ensemble or survey, again; an ID is one of "
     "tutti runs.",
     show_options},
    {"runs", "tutti runs [DIR] [FILTER ...] [--json FILE]",
     "List the runs below DIR (tutti-runs) that match every filter: KEY=VALUE, or with != >= <= > "
     "or <. A key is id, label, workload, status, plan, valid, a parameter or a metric.",
     runs_options},
    {"compare", "tutti compare A B | --baseline A [FILTER ...]",
     "Say of every metric how B differs from A. Both are run directories, directories of run "
     "directories, ids "
     "or filters: label=nightly,stencil.size=64. Runs are compared with those of the same plan.",
     compare_options},
    {"export", "tutti export [DIR] [FILTER ...] --csv FILE | --json FILE",
     "Write parameters and metrics of the runs that tutti runs would list.", export_options},
    {"index", "tutti index [DIR] [--rebuild]",
     "Bring the index of the runs below DIR up to date, as runs and export do by themselves.",
     index_options},
    {"verify", "tutti verify DIRECTORY|ID [--launch.by local|slurm|batch ...]",
     "Check the kept data files of a run with layer verify against what it wrote.", NULL},
    {"clean", "tutti clean DIRECTORY|ID [--force]",
     "Remove the data files of a run that was killed with its ranks, or that kept them, or of all "
     "runs of an ensemble, a survey or a workflow of h5bench. Only files that carry the run's mark "
     "or lie in its own data directory; not while a rank still runs.",
     clean_options},
    {"list", "tutti list [workloads|backends|layers|metrics]", "What this build has.", NULL},
    {"help", "tutti help [TOPIC | --markdown]",
     "A topic is a command, a workload, a backend, a layer, or write, read, collective.", NULL},
    {"explain", "tutti explain WORD ...",
     "What a word of a report means: a metric, a phase, a call, a column or a parameter.", NULL},
    {"info", "tutti info [--dir DIR] [--json]", "This build and this machine.", info_options},
    {"numio", "[mpirun -n RANKS] tutti numio -m iter=I,size=N,pert=1|2 [-w ...] [...]",
     "Run the stencil with the options of numio, and print what numio prints.", numio_options},
    {"ior", "[mpirun -n TASKS] tutti ior [-a API] [-b SIZE] [-t SIZE] [-s N] [...]",
     "Run the workload bulk with the options of IOR, and print its columns.", ior_options},
    {"mdtest", "[mpirun -n TASKS] tutti mdtest [-n ITEMS] [-d DIR] [...]",
     "Run the workload metadata with the options of mdtest, and print its summary.",
     mdtest_options},
    {"h5bench",
     "tutti h5bench [--filter NAME,...] [--validate-mode] [--abort-on-failure] FILE.json",
     "Run the benchmarks of h5bench's JSON file one after the other as the workload particles, "
     "print h5bench's metrics and one summary. Status 0 only if all of them were done. It starts "
     "the ranks itself, as many as the file says.",
     h5bench_options},
    {"perform", "tutti perform DIRECTORY [--held] [--loop]",
     "What the launcher starts as ranks. Held, it waits for an instant in the file go; looping, it "
     "runs again and again until the file stop says so.",
     NULL},
    {"hold", "tutti hold DIRECTORY [--held] [--loop]",
     "What the launcher starts where the plan is a command.", NULL},
};
#define NSYNOPSES (sizeof synopses / sizeof *synopses)

static const char *topic_name(const struct tt_component *c)
{
    return *c->name ? c->name : "run";
}

/* ---- one parameter ---- */

static const char *value_name(const struct tt_param *p)
{
    return p->placeholder ? p->placeholder : tt_param_values[p->type];
}

/* "1 to 64", "at least 9", "none, async" or nothing. */
static void describe_range(const struct tt_param *p, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    if (p->type == TT_PARAM_CHOICE)
        for (size_t i = 0; p->choices[i] && used < size; i++)
            used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", p->choices[i]);
    else if ((p->min || p->max) && (p->max < p->min || p->max >= INT32_MAX))
        snprintf(out, size, "at least %lld", (long long)p->min);
    else if (p->min || p->max)
        snprintf(out, size, "%lld to %lld", (long long)p->min, (long long)p->max);
}

/* "what it is [range; unit; default]", without brackets where there is nothing to say. */
static void describe(const struct tt_param *p, char *out, size_t size)
{
    char range[256];
    const char *const notes[][2] = {{"", range}, {"", p->unit}, {"default ", p->default_text}};
    const char *separator = " [";
    size_t used;

    describe_range(p, range, sizeof range);
    used = (size_t)snprintf(out, size, "%s", p->text);
    for (size_t i = 0; i < sizeof notes / sizeof *notes && used < size; i++)
        if (notes[i][1] && *notes[i][1]) {
            used += (size_t)snprintf(out + used, size - used, "%s%s%s", separator, notes[i][0],
                                     notes[i][1]);
            separator = "; ";
        }
    if (separator[0] == ';' && used < size)
        snprintf(out + used, size - used, "]");
}

static void print_param(const struct tt_component *c, const char *kind, const struct tt_param *p)
{
    bool own = !*c->name || !strcmp(c->name, "ensemble") || !strcmp(c->name, "survey");
    bool bare = own || !strcmp(kind, "workload") || !strcmp(kind, "ensemble");
    char name[120], text[1024];

    snprintf(name, sizeof name, "%s%s--%s%s%s %s", p->flag ? p->flag : "", p->flag ? ", " : "",
             bare ? "" : c->name, bare ? "" : ".", p->key,
             p->type == TT_PARAM_BOOL && own ? "" : value_name(p));
    for (char *at = name; *at; at++)
        if (*at == '_')
            *at = '-';
    describe(p, text, sizeof text);
    tt_print_entry(stdout, name, COLUMN, text);
}

/* Everything that has keys: the components of a run, of an ensemble, of a survey. */
static void each_topic(tt_component_fn *visit, void *context)
{
    tt_each_component(visit, context);
    visit("ensemble", &tt_ensemble_component, context);
    visit("ensemble", &tt_job_spec_component, context);
    visit("survey", &tt_survey_component, context);
}

/* ---- one topic ---- */

struct topic {
    const char *name;
    int found;
};

static bool print_command(const char *name)
{
    for (size_t i = 0; i < NSYNOPSES; i++)
        if (!strcmp(synopses[i].name, name)) {
            tt_print_wrapped(stdout, "usage: ", synopses[i].synopsis);
            tt_print_entry(stdout, "", 2, synopses[i].text);
            if (synopses[i].options)
                printf("\n");
            for (const struct option_text *o = synopses[i].options; o && o->name; o++)
                tt_print_entry(stdout, o->name, COLUMN, o->text);
            return true;
        }
    return false;
}

static void print_component(const char *kind, const struct tt_component *c, void *context)
{
    struct topic *topic = context;

    if (strcmp(topic_name(c), topic->name))
        return;
    printf("%s%s (%s)\n", topic->found++ ? "\n" : "", topic_name(c), kind);
    tt_print_entry(stdout, "", 2, c->summary);
    if (c->params && c->params->key)
        printf("\n");
    for (const struct tt_param *p = c->params; p && p->key; p++)
        print_param(c, kind, p);
}

/* What a workload uses of the engine is part of its help. */
static void print_used(const char *name)
{
    for (size_t i = 0; tt_workloads[i]; i++)
        if (!strcmp(tt_workloads[i]->name, name)) {
            printf("\nSee also tutti help run");
            for (size_t u = 0; tt_workloads[i]->uses && tt_workloads[i]->uses[u]; u++)
                printf(", %s", tt_workloads[i]->uses[u]);
            printf(".\n");
        }
}

struct names {
    const char *list[256];
    size_t n;
};

static void add_name(const char *kind, const struct tt_component *c, void *context)
{
    struct names *names = context;

    (void)kind;
    if (names->n + 1 < sizeof names->list / sizeof *names->list)
        names->list[names->n++] = topic_name(c);
}

static int fail_unknown(const char *name)
{
    struct names names = {.n = NSYNOPSES};
    struct tt_error e = TT_ERROR_CLEAR;
    const char *near;

    for (size_t i = 0; i < NSYNOPSES; i++)
        names.list[i] = synopses[i].name;
    each_topic(add_name, &names);
    near = tt_nearest_word(name, names.list);
    tt_fail(&e, TT_USAGE, "no help on '%.80s'%s; tutti list names the topics", name,
            TT_DID_YOU_MEAN(near));
    return tt_report_error(&e);
}

static int help_on(const char *name)
{
    struct topic topic = {.name = name};

    topic.found = print_command(name);
    each_topic(print_component, &topic);
    if (!topic.found)
        return fail_unknown(name);
    print_used(name);
    return 0;
}

/* ---- everything, as Markdown ---- */

static void print_escaped(const char *text)
{
    for (; *text; text++) {
        if (*text == '|')
            putchar('\\');
        putchar(*text);
    }
}

static void print_cell(const char *text)
{
    printf(" ");
    print_escaped(text);
    printf(" |");
}

static void print_markdown(const char *kind, const struct tt_component *c, void *context)
{
    (void)context;
    printf("\n## %s (%s)\n\n%s\n", topic_name(c), kind, c->summary);
    if (!c->params || !c->params->key)
        return;
    printf("\n| key | value | default | range | unit | meaning |\n|---|---|---|---|---|---|\n");
    for (const struct tt_param *p = c->params; p->key; p++) {
        char range[256];
        bool bare = !*c->name || !strcmp(kind, "ensemble");

        describe_range(p, range, sizeof range);
        printf("| `%s%s%s` |", bare ? "" : c->name, bare ? "" : ".", p->key);
        print_cell(value_name(p));
        print_cell(p->default_text ? p->default_text : "");
        print_cell(range);
        print_cell(p->unit ? p->unit : "");
        print_cell(p->text);
        printf("\n");
    }
}

static int help_markdown(void)
{
    printf(
        "# Reference\n\nPrinted by `tutti help --markdown` from the tables of this build. On the "
        "command line a key is\n`--key value`, in a file `key: value`; a workload's keys need no "
        "prefix.\n\n## Commands\n\n| command | usage | meaning |\n|---|---|---|\n");
    for (size_t i = 0; i < NSYNOPSES; i++) {
        printf("| %s | `", synopses[i].name);
        print_escaped(synopses[i].synopsis);
        printf("` |");
        print_cell(synopses[i].text);
        printf("\n");
    }
    each_topic(print_markdown, NULL);
    printf("\n## Metrics\n\n| metric | unit | definition |\n|---|---|---|\n");
    for (size_t i = 0; i < TT_NMETRICS; i++) {
        printf("| `%s` |", tt_metrics[i].name);
        print_cell(tt_metrics[i].unit);
        print_cell(tt_metrics[i].definition);
        printf("\n");
    }
    return 0;
}

/* "tutti run stencil --help": the workload's keys, else those of the command. */
int tt_help_asked(int argc, char **argv)
{
    struct tt_error ignored = TT_ERROR_CLEAR;

    if (argc > 1 && !strcmp(argv[0], "run") && tt_find_workload(argv[1], &ignored))
        return help_on(argv[1]);
    return help_on(argv[0]);
}

int tt_cmd_help(int argc, char **argv)
{
    int status = 0;

    if (argc < 2)
        return tt_usage(stdout);
    if (!strcmp(argv[1], "--markdown"))
        return help_markdown();
    for (int i = 1; i < argc && !status; i++) {
        if (i > 1)
            printf("\n");
        status = help_on(argv[i]);
    }
    return status;
}
