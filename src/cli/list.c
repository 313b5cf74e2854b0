/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti list [workloads|backends|layers|metrics]: all from the tables. */
#include <string.h>

#include "analysis/metrics.h"
#include "cli/command.h"
#include "cli/wrap.h"
#include "plan/module.h"
#include "plan/registry.h"

#define COLUMN 22

static void list_workloads(void)
{
    for (size_t i = 0; tt_workloads[i]; i++)
        tt_print_entry(stdout, tt_workloads[i]->name, COLUMN, tt_workloads[i]->summary);
}

static void list_backends(void)
{
    for (size_t i = 0; tt_backends[i]; i++)
        tt_print_entry(stdout, tt_backends[i]->name, COLUMN, tt_backends[i]->summary);
    for (const struct tt_missing *m = tt_missing_components; m->name; m++) {
        char text[160];

        snprintf(text, sizeof text, "not in this build; package %s brings its library", m->package);
        tt_print_entry(stdout, m->name, COLUMN, text);
    }
}

static void list_layers(void)
{
    for (size_t i = 0; tt_layers[i]; i++)
        tt_print_entry(stdout, tt_layers[i]->name, COLUMN, tt_layers[i]->summary);
}

static void list_metrics(void)
{
    for (size_t i = 0; i < TT_NMETRICS; i++) {
        char text[512];

        snprintf(text, sizeof text, "[%s] %s", tt_metrics[i].unit, tt_metrics[i].definition);
        tt_print_entry(stdout, tt_metrics[i].name, COLUMN, text);
    }
}

static const struct {
    const char *name;
    void (*print)(void);
} kinds[] = {
    {"workloads", list_workloads},
    {"backends", list_backends},
    {"layers", list_layers},
    {"metrics", list_metrics},
};
#define NKINDS (sizeof kinds / sizeof *kinds)

int tt_cmd_list(int argc, char **argv)
{
    const char *names[NKINDS + 1] = {0}, *near;
    struct tt_error e = TT_ERROR_CLEAR;

    tt_module_open_all();
    for (size_t i = 0; i < NKINDS; i++) {
        names[i] = kinds[i].name;
        if (argc == 2 && !strcmp(argv[1], kinds[i].name)) {
            kinds[i].print();
            return 0;
        }
    }
    if (argc == 1) {
        for (size_t i = 0; i < NKINDS; i++) {
            printf("%s%s\n", i ? "\n" : "", kinds[i].name);
            kinds[i].print();
        }
        return 0;
    }
    near = argc == 2 ? tt_nearest_word(argv[1], names) : NULL;
    tt_fail(&e, TT_USAGE, "cannot list '%.80s'%s: expected workloads, backends, layers or metrics",
            argv[argc - 1], TT_DID_YOU_MEAN(near));
    return tt_report_error(&e);
}
