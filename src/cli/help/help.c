/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti help: commands, their options and every component's parameters, from the tables; also as
 * docs/reference.md, as manual pages and as completions of a shell. */
#include <stdlib.h>
#include <string.h>

#include "analysis/metrics.h"
#include "cli/command.h"
#include "cli/help/parts.h"
#include "ensemble/ensemble.h"
#include "plan/config.h"
#include "plan/registry.h"
#include "report/paragraph.h"

#define COLUMN 26

struct help {
    bool markdown;
    int completion; /* enum tt__shell */
    char *man;
};

static const char *const shells[] = {"none", "bash", "zsh", NULL};

static const struct tt_param params[] = {
    {"markdown", TT_PARAM_BOOL, offsetof(struct help, markdown), NULL, NULL,
     "print everything, as docs/reference.md has it"},
    {"completion", TT_PARAM_CHOICE, offsetof(struct help, completion), "none", NULL,
     "print the completion of command lines: eval \"$(tutti help --completion bash)\"",
     .choices = shells, .placeholder = "SHELL"},
    {"man", TT_PARAM_TEXT, offsetof(struct help, man), NULL, NULL,
     "write manual pages to a directory: tutti.1, one per command and one per component",
     .placeholder = "DIRECTORY"},
    {NULL},
};

const char *tt__topic_name(const struct tt_component *c)
{
    return *c->name ? c->name : "run";
}

/* ---- one parameter ---- */

const char *tt__value_name(const struct tt_param *p)
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
    else if ((p->min || p->max) && (p->max < p->min || p->max > INT32_MAX))
        snprintf(out, size, "at least %lld", (long long)p->min);
    else if (p->min || p->max)
        snprintf(out, size, "%lld to %lld", (long long)p->min, (long long)p->max);
}

/* "what it is [range; unit; default]", without brackets where there is nothing to say. */
void tt__describe_param(const struct tt_param *p, char *out, size_t size)
{
    char range[256] = "";
    const char *const notes[][2] = {{"", range}, {"", p->unit}, {"default ", p->default_text}};
    const char *separator = " [";
    size_t used;

    if (!p->placeholder || *p->placeholder) /* else it only counts how often it is given */
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

/* "-f, --filter NAME,..." or "--write.every COUNT"; a switch needs no value. */
static void name_param(const struct tt_param *p, const char *prefix, bool named, bool has_switches,
                       char *out, size_t size)
{
    const char *value = p->type == TT_PARAM_BOOL && has_switches ? "" : tt__value_name(p);
    const char *space = *value && *value != '[' ? " " : "";
    char key[128] = "";

    if (named || !p->flag)
        snprintf(key, sizeof key, "%s--%s%s", p->flag ? ", " : "", prefix, p->key);
    for (char *at = key; *at; at++)
        if (*at == '_')
            *at = '-';
    snprintf(out, size, "%s%s%s%s", p->flag ? p->flag : "", key, space, value);
}

void tt__name_option(const struct tt_param *p, enum tt_option_style style, char *out, size_t size)
{
    name_param(p, "", style != TT_OPTIONS_LETTERS, true, out, size);
}

/* The keys of a command's own files, such as those of an ensemble, have its name. */
static bool has_own_keys(const struct tt_command *c)
{
    return c->job && !strcmp(c->job->name, c->name);
}

/* Everything that has keys: the components of a run, and what commands have besides. */
void tt__each_topic(tt_component_fn *visit, void *context)
{
    tt_each_component(visit, context);
    for (const struct tt_command *const *c = tt_commands; *c; c++) {
        if (has_own_keys(*c))
            visit((*c)->name, (*c)->job, context);
        if (*c == &tt_command_ensemble)
            visit("ensemble", &tt_job_spec_component, context);
    }
}

void tt__name_key(const char *kind, const struct tt_component *c, const struct tt_param *p,
                  char *out, size_t size)
{
    bool own = !*c->name || !strcmp(kind, c->name);
    bool bare = own || !strcmp(kind, "workload") || !strcmp(kind, "ensemble");
    char prefix[64];

    snprintf(prefix, sizeof prefix, "%s%s", bare ? "" : c->name, bare ? "" : ".");
    name_param(p, prefix, true, own, out, size);
}

/* ---- one topic ---- */

struct topic {
    const char *name;
    int found;
};

static bool print_command(const char *name)
{
    const struct tt_command *const *c = tt_commands;
    char option[120], text[1024];

    while (*c && strcmp((*c)->name, name) != 0)
        c++;
    if (!*c)
        return false;
    tt_print_wrapped(stdout, "usage: ", (*c)->synopsis);
    tt_print_entry(stdout, "", 2, (*c)->text);
    if ((*c)->options)
        printf("\n");
    for (const struct tt_param *o = (*c)->options ? (*c)->options->params : NULL; o && o->key;
         o++) {
        tt__name_option(o, (*c)->options->style, option, sizeof option);
        tt__describe_param(o, text, sizeof text);
        tt_print_entry(stdout, option, COLUMN, text);
    }
    if ((*c)->also) {
        snprintf(text, sizeof text, "It also takes the options of tutti help %s.", (*c)->also);
        printf("\n");
        tt_print_entry(stdout, "", 2, text);
    }
    return true;
}

static void print_component(const char *kind, const struct tt_component *c, void *context)
{
    struct topic *topic = context;
    char name[160], text[1024];

    if (strcmp(tt__topic_name(c), topic->name))
        return;
    printf("%s%s (%s)\n", topic->found++ ? "\n" : "", tt__topic_name(c), kind);
    tt_print_entry(stdout, "", 2, c->summary);
    if (c->params && c->params->key)
        printf("\n");
    for (const struct tt_param *p = c->params; p && p->key; p++) {
        tt__name_key(kind, c, p, name, sizeof name);
        tt__describe_param(p, text, sizeof text);
        tt_print_entry(stdout, name, COLUMN, text);
    }
}

/* What a workload uses of the engine is part of its help. */
static void print_used(const char *name)
{
    for (size_t i = 0; tt_workloads[i]; i++)
        if (!strcmp(tt_workloads[i]->name, name)) {
            printf("\nSee also tutti help run");
            for (size_t u = 0; tt_workloads[i]->uses && tt_workloads[i]->uses[u]; u++)
                printf(", %s", tt_workloads[i]->uses[u]);
            if (tt_workloads[i]->on_device)
                printf(", device");
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
        names->list[names->n++] = tt__topic_name(c);
}

static int help_on(const char *name, struct tt_error *e)
{
    struct topic topic = {.name = name};
    struct names names = {0};

    topic.found = print_command(name);
    tt__each_topic(print_component, &topic);
    if (topic.found) {
        print_used(name);
        return TT_OK;
    }
    for (; tt_commands[names.n]; names.n++)
        names.list[names.n] = tt_commands[names.n]->name;
    tt__each_topic(add_name, &names);
    return tt_fail(e, TT_USAGE, "no help on '%.80s'%s; tutti list names the topics", name,
                   TT_DID_YOU_MEAN(tt_nearest_word(name, names.list)));
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
    printf("\n## %s (%s)\n\n%s\n", tt__topic_name(c), kind, c->summary);
    if (!c->params || !c->params->key)
        return;
    printf("\n| key | value | default | range | unit | meaning |\n|---|---|---|---|---|---|\n");
    for (const struct tt_param *p = c->params; p->key; p++) {
        char range[256];
        bool bare = !*c->name || !strcmp(kind, "ensemble");

        describe_range(p, range, sizeof range);
        printf("| `%s%s%s` |", bare ? "" : c->name, bare ? "" : ".", p->key);
        print_cell(tt__value_name(p));
        print_cell(p->default_text ? p->default_text : "");
        print_cell(range);
        print_cell(p->unit ? p->unit : "");
        print_cell(p->text);
        printf("\n");
    }
}

static void print_markdown_command(const struct tt_command *c)
{
    char option[120], text[1024];

    if (c->hidden)
        return;
    printf("\n### tutti %s\n\n`%s`\n\n%s", c->name, c->synopsis, c->text);
    if (c->also)
        printf(" It also takes the options of `tutti help %s`.", c->also);
    printf("\n");
    if (!c->options)
        return;
    printf("\n| option | meaning |\n|---|---|\n");
    for (const struct tt_param *o = c->options->params; o->key; o++) {
        tt__name_option(o, c->options->style, option, sizeof option);
        tt__describe_param(o, text, sizeof text);
        printf("| `");
        print_escaped(option);
        printf("` |");
        print_cell(text);
        printf("\n");
    }
}

static void print_reference(void)
{
    printf(
        "# Reference\n\nPrinted by `tutti help --markdown` from the tables of this build. On the "
        "command line a key is\n`--key value`, in a file `key: value`; a workload's keys need no "
        "prefix.\n\n## Commands\n");
    for (size_t i = 0; tt_commands[i]; i++)
        print_markdown_command(tt_commands[i]);
    tt__each_topic(print_markdown, NULL);
    printf("\n## Metrics\n\n| metric | unit | definition |\n|---|---|---|\n");
    for (size_t i = 0; i < TT_NMETRICS; i++) {
        printf("| `%s` |", tt_metrics[i].name);
        print_cell(tt_metrics[i].unit);
        print_cell(tt_metrics[i].definition);
        printf("\n");
    }
}

/* ---- the command ---- */

/* "tutti run stencil --help": the workload's keys, else those of the command. */
int tt_help_asked(int argc, char **argv)
{
    struct tt_error e = TT_ERROR_CLEAR, ignored = TT_ERROR_CLEAR;
    bool workload = argc > 1 && !strcmp(argv[0], "run") && tt_find_workload(argv[1], &ignored);

    return help_on(argv[workload], &e) == TT_OK ? 0 : tt_report_error(&e);
}

static int run(struct tt_invocation *call, struct tt_error *e)
{
    const struct help *o = call->opts;
    int rc = TT_OK;

    if (o->markdown)
        print_reference();
    else if (o->completion)
        tt__print_completion((enum tt__shell)o->completion);
    else if (o->man)
        return tt__write_man(o->man, e);
    else if (call->nwords == 0)
        return tt_usage(stdout);
    for (size_t i = 0; i < call->nwords && rc == TT_OK; i++) {
        if (i > 0)
            printf("\n");
        rc = help_on(call->words[i], e);
    }
    return rc;
}

const struct tt_command tt_command_help = {
    .name = "help",
    .summary = "the options of a command, the keys of a workload, backend or layer",
    .synopsis = "tutti help [TOPIC ... | --markdown | --completion bash|zsh | --man DIRECTORY]",
    .text = "A topic is a command, a workload, a backend, a layer, or one of write, read, "
            "collective, launch, counters.",
    .run = run,
    .options = &(const struct tt_options){params, sizeof(struct help)},
    .max_words = TT_ANY_WORDS,
};
