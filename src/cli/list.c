/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti list: all from the tables. */
#include <string.h>

#include "devices/device.h"
#include "analysis/metrics.h"
#include "cli/command.h"
#include "plan/module.h"
#include "plan/registry.h"
#include "report/paragraph.h"

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

static void list_devices(void)
{
    tt_print_entry(stdout, "host", COLUMN, "no device: memory and CPUs of the node");
    for (size_t i = 0; tt_devices[i]; i++)
        tt_print_entry(stdout, tt_devices[i]->name, COLUMN, tt_devices[i]->summary);
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
    {"workloads", list_workloads}, {"backends", list_backends}, {"layers", list_layers},
    {"devices", list_devices},     {"metrics", list_metrics},
};
#define NKINDS (sizeof kinds / sizeof *kinds)

static int run(struct tt_invocation *call, struct tt_error *e)
{
    tt_module_open_all();
    for (size_t i = 0; i < NKINDS; i++) {
        if (call->nwords == 0)
            printf("%s%s\n", i ? "\n" : "", kinds[i].name);
        if (call->nwords == 0 || !strcmp(call->words[0], kinds[i].name)) {
            kinds[i].print();
            if (call->nwords)
                return TT_OK;
        }
    }
    if (call->nwords == 0)
        return TT_OK;
    return tt_fail(
        e, TT_USAGE,
        "cannot list '%.80s'%s: expected workloads, backends, layers, devices or metrics",
        call->words[0], TT_DID_YOU_MEAN(TT_NEAREST_ROW(call->words[0], kinds)));
}

const struct tt_command tt_command_list = {
    .name = "list",
    .summary = "workloads, backends, layers, devices or metrics",
    .synopsis = "tutti list [workloads|backends|layers|devices|metrics]",
    .text = "List what this build has.",
    .run = run,
    .max_words = 1,
};
