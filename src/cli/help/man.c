/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Manual pages: tutti.1, tutti-COMMAND.1, and in section 7 a page for each component that is no
 * command, and one for all metrics. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/metrics.h"
#include "build_info.h"
#include "cli/help/parts.h"
#include "report/outfile.h"

#define MARK ".\\\" Written by tutti help \\-\\-man" /* of every page */

/* ---- roff ---- */

/* A backslash, a hyphen that is typed, and what begins a line with a control character. */
static void print_text(FILE *f, const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", f);
    for (; *text; text++)
        if (*text == '\\')
            fputs("\\e", f);
        else if (*text == '-')
            fputs("\\-", f);
        else
            fputc(*text, f);
    fputc('\n', f);
}

static void print_section(FILE *f, const char *title, const char *text)
{
    fprintf(f, ".SH %s\n", title);
    if (text)
        print_text(f, text);
}

static void print_item(FILE *f, const char *name, const char *text)
{
    fputs(".TP\n.B ", f);
    print_text(f, name);
    print_text(f, text);
}

/* name: "tutti\-run" */
static void print_head(FILE *f, const char *name, int section, const char *summary)
{
    fputs(MARK " from the tables of this build.\n", f);
    fprintf(f, ".TH \"%s\" %d \"\" \"tutti %s\" \"tutti\"\n.SH NAME\n%s \\- ", name, section,
            TT_VERSION, name);
    print_text(f, summary);
}

/* ---- the pages ---- */

/* One page, while it is written. */
struct page {
    const char *directory;
    const char *topic; /* whose components are printed */
    FILE *f;
};

typedef void page_fn(struct page *page, const void *context);

static int write_page(struct page *page, const char *name, int section, page_fn *print,
                      const void *context, struct tt_error *e)
{
    struct tt_outfile out;
    char *path;
    int rc;

    if (asprintf(&path, "%s/%s.%d", page->directory, name, section) < 0)
        return tt_fail_nomem(e, "a path");
    rc = tt_outfile_check_ours(path, MARK, e);
    if (rc == TT_OK)
        rc = tt_outfile_open(&out, path, e);
    if (rc == TT_OK) {
        page->f = out.stream;
        print(page, context);
        rc = tt_outfile_close(&out, e);
    }
    free(path);
    return rc;
}

static void print_component(const char *kind, const struct tt_component *c, void *context)
{
    struct page *page = context;
    char name[160], text[1024];

    if (strcmp(tt__topic_name(c), page->topic))
        return;
    snprintf(name, sizeof name, "\"KEYS OF %s (%s)\"", tt__topic_name(c), kind);
    print_section(page->f, name, c->summary);
    for (const struct tt_param *p = c->params; p && p->key; p++) {
        tt__name_key(kind, c, p, name, sizeof name);
        tt__describe_param(p, text, sizeof text);
        print_item(page->f, name, text);
    }
}

static void print_command(struct page *page, const void *context)
{
    const struct tt_command *c = context;
    char name[160], text[1024];

    snprintf(name, sizeof name, "tutti\\-%s", c->name);
    print_head(page->f, name, 1, c->summary);
    print_section(page->f, "SYNOPSIS", c->synopsis);
    print_section(page->f, "DESCRIPTION", c->text);
    if (c->also)
        fprintf(page->f, "It also takes the options of tutti help %s.\n", c->also);
    if (c->options)
        print_section(page->f, "OPTIONS", NULL);
    for (const struct tt_param *o = c->options ? c->options->params : NULL; o && o->key; o++) {
        tt__name_option(o, c->options->style, name, sizeof name);
        tt__describe_param(o, text, sizeof text);
        print_item(page->f, name, text);
    }
    page->topic = c->name;
    tt__each_topic(print_component, page);
    print_section(page->f, "SEE ALSO", "tutti(1)");
}

struct component {
    const char *kind;
    const struct tt_component *c;
};

static void print_topic(struct page *page, const void *context)
{
    const struct component *one = context;
    char name[160];

    snprintf(name, sizeof name, "tutti\\-%s", one->c->name);
    print_head(page->f, name, 7, one->c->summary);
    page->topic = one->c->name;
    tt__each_topic(print_component, page);
    print_section(page->f, "SEE ALSO", "tutti(1), tutti-run(1)");
}

static void print_metrics(struct page *page, const void *context)
{
    (void)context;
    print_head(page->f, "tutti\\-metrics", 7, "every number that tutti measures");
    print_section(page->f, "METRICS", "A unit of 1 is that of a count or a ratio.");
    for (size_t i = 0; i < TT_NMETRICS; i++) {
        char name[80];

        snprintf(name, sizeof name, "%s [%s]", tt_metrics[i].name, tt_metrics[i].unit);
        print_item(page->f, name, tt_metrics[i].definition);
    }
    print_section(page->f, "SEE ALSO", "tutti(1), tutti-explain(1)");
}

static void print_list(const char *kind, const struct tt_component *c, void *context)
{
    struct page *page = context;
    char name[160];

    snprintf(name, sizeof name, "tutti-%s(7), %s", c->name, kind);
    if (*c->name && strcmp(kind, "ensemble") && strcmp(kind, c->name))
        print_item(page->f, name, c->summary);
}

static void print_main(struct page *page, const void *context)
{
    (void)context;
    print_head(page->f, "tutti", 1, "benchmark HPC systems the way they are used");
    print_section(page->f, "SYNOPSIS", "tutti COMMAND ...");
    print_section(page->f, "COMMANDS", NULL);
    for (const struct tt_command *const *c = tt_commands; *c; c++) {
        char name[80];

        snprintf(name, sizeof name, "tutti-%s(1)", (*c)->name);
        if (!(*c)->hidden)
            print_item(page->f, name, (*c)->summary);
    }
    print_section(page->f, "COMPONENTS", NULL);
    tt__each_topic(print_list, page);
    print_section(page->f, "\"EXIT STATUS\"", NULL);
    print_item(page->f, "0", "all was done, and all conditions are met");
    print_item(page->f, "1", "something failed");
    print_item(page->f, "2", "wrong usage");
    print_item(page->f, "3", "a condition is not met");
    print_item(page->f, "4", "whether a condition is met cannot be told");
    print_section(page->f, "FILES", NULL);
    print_item(page->f, "tutti-runs", "results, unless --results names another directory");
    print_section(page->f, "EXAMPLES", "tutti run stencil -n 2 --write every=2000");
    print_section(page->f, "\"SEE ALSO\"", "tutti-metrics(7), tutti-help(1), tutti-explain(1)");
}

/* ---- all of them ---- */

struct writing {
    struct page page;
    int rc;
    struct tt_error *e;
};

static bool is_command(const char *name)
{
    const struct tt_command *const *c = tt_commands;

    while (*c && strcmp((*c)->name, name) != 0)
        c++;
    return *c != NULL;
}

/* Keys of a component that has a command's name are on the command's page. */
static void write_topic(const char *kind, const struct tt_component *c, void *context)
{
    struct writing *w = context;
    struct component one = {kind, c};
    char name[160];

    snprintf(name, sizeof name, "tutti-%s", c->name);
    if (w->rc == TT_OK && *c->name && !is_command(c->name))
        w->rc = write_page(&w->page, name, 7, print_topic, &one, w->e);
}

int tt__write_man(const char *directory, struct tt_error *e)
{
    struct writing w = {.page.directory = directory, .e = e};

    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return tt_fail_call(e, errno, "mkdir", directory, -1);
    w.rc = write_page(&w.page, "tutti", 1, print_main, NULL, e);
    for (const struct tt_command *const *c = tt_commands; *c && w.rc == TT_OK; c++) {
        char name[80];

        snprintf(name, sizeof name, "tutti-%s", (*c)->name);
        if (!(*c)->hidden)
            w.rc = write_page(&w.page, name, 1, print_command, *c, e);
    }
    tt__each_topic(write_topic, &w);
    if (w.rc == TT_OK)
        w.rc = write_page(&w.page, "tutti-metrics", 7, print_metrics, NULL, e);
    return w.rc;
}
