/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The result for people: 80 columns of plain ASCII, a unit at every number. What a result contains
 * may come from a foreign directory, so nothing of it reaches the terminal as a control character.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "analysis/metrics.h"
#include "analysis/result.h"
#include "base/json.h"
#include "record/phases.h"
#include "report/paragraph.h"
#include "report/parameter.h"
#include "report/report.h"
#include "report/table.h"
#include "spec/units.h"

#define BAR 28
#define LEAST_OTHER 0.01 /* of the runtime, for what no phase names to be shown */

/* ---- head: what ran, where and how ---- */

/* "size 4096, iterations 200": the parameters of one component that have a value; with brief set
 * only those that say something. */
static void add_component(struct tt_paragraph *p, const json_t *result, const char *component,
                          bool brief)
{
    const json_t *plan = json_object_get(result, "plan");
    json_t *all = json_object_get(plan, "parameters"), *value;
    size_t n = strlen(component);
    const char *key;

    json_object_foreach(all, key, value)
    {
        const char *text = json_string_value(value);
        char shown[256];

        if (n == 0 || strncmp(key, component, n) != 0 || key[n] != '.' || !text || !text[0] ||
            (brief && tt_parameter_is_silent(plan, key, text)))
            continue;
        tt_parameter_format(plan, key, text, shown, sizeof shown);
        tt_paragraph_add(p, "%s%s %s", p->n ? ", " : "", key + n + 1, shown);
    }
}

static void print_component(FILE *out, const json_t *result, const char *component, bool brief)
{
    struct tt_paragraph p = {0};

    add_component(&p, result, component, brief);
    tt_paragraph_print(&p, out, component);
}

/* An engine component that does something only every so many iterations. */
static void print_periodic(FILE *out, const json_t *result, const char *component)
{
    char key[64];
    const char *every;

    snprintf(key, sizeof key, "%s.every", component);
    every = tt_result_parameter(result, key);
    if (every[0] && strcmp(every, "0") != 0)
        print_component(out, result, component, false);
}

static bool seen_before(const json_t *ranks, size_t i, const char *host)
{
    for (size_t k = 0; k < i; k++)
        if (!strcmp(tt_text_of(json_array_get(ranks, k), "host"), host))
            return true;
    return false;
}

static void print_ranks(FILE *out, const json_t *result)
{
    const json_t *ranks = json_object_get(result, "ranks"), *rank;
    const json_t *env = json_object_get(result, "environment");
    struct tt_paragraph p = {0};
    char memory[TT_UNIT_TEXT];
    size_t i, hosts = 0;

    if (json_array_size(ranks) == 0)
        return;
    tt_paragraph_add(&p, "%zu", json_array_size(ranks));
    json_array_foreach(ranks, i, rank)
    {
        const char *host = tt_text_of(rank, "host");

        if (seen_before(ranks, i, host))
            continue;
        if (hosts < 4)
            tt_paragraph_add(&p, "%s%s", hosts ? ", " : " on ", host);
        hosts++;
    }
    if (hosts > 4)
        tt_paragraph_add(&p, " and %zu more nodes", hosts - 4);
    if (env && tt_number_of(env, "cpus") > 0)
        tt_paragraph_add(&p, " (%.0f CPUs, %s, %s)", tt_number_of(env, "cpus"),
                         tt_text_of(env, "cpu"),
                         tt_format_bytes(tt_number_of(env, "memory"), memory));
    tt_paragraph_print(&p, out, "ranks");
}

static void print_backend(FILE *out, const json_t *result)
{
    const char *layers = tt_result_parameter(result, "layers"),
               *backend = tt_result_parameter(result, "backend");
    struct tt_paragraph p = {0}, options = {0};

    tt_paragraph_add(&p, "%s", backend);
    if (layers[0])
        tt_paragraph_add(&p, " under %s", layers);
    add_component(&options, result, backend, true);
    if (options.n)
        tt_paragraph_add(&p, ": %s", options.text);
    tt_paragraph_print(&p, out, "backend");
}

static void print_layers(FILE *out, const json_t *result)
{
    const char *layers = tt_result_parameter(result, "layers");

    while (*layers) {
        size_t n = strcspn(layers, ",");
        char name[64];

        snprintf(name, sizeof name, "%.*s", (int)n, layers);
        print_component(out, result, name, true);
        layers += n + (layers[n] == ',');
    }
}

static const char *sync_in_words(const char *sync)
{
    static const char *const words[][2] = {
        {"write", "after every write call"},
        {"dump", "by the caller, at the end of each dump"},
        {"deferred", "by the caller, just before the next dump"},
        {"background", "by the helper, right after the write"},
        {"close", "once, before the file is closed"},
        {"never", "data may stay in memory"},
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(sync, words[i][0]))
            return words[i][1];
    return "";
}

static void print_overlap(FILE *out, const json_t *result)
{
    const json_t *overlap = json_object_get(result, "overlap");
    const char *kind = tt_result_parameter(result, "overlap"),
               *sync = tt_result_parameter(result, "sync");
    const char *transfers = tt_text_of(overlap, "transfers");

    if (*transfers)
        tt_say(out, "transfers", "%s", transfers);
    else if (!strcmp(kind, "none"))
        tt_say(out, "overlap", "none: computation waits for each write");
    else if (*kind)
        tt_say(out, "overlap", "%s%s%s", kind, overlap ? ": " : "", tt_text_of(overlap, "how"));
    if (*sync)
        tt_say(out, "sync", "%s: %s", sync, sync_in_words(sync));
}

static void print_data(FILE *out, const json_t *result)
{
    const json_t *data = tt_member_at(result, "environment/data");
    struct tt_paragraph p = {0};
    char available[TT_UNIT_TEXT];

    if (!data)
        return;
    tt_paragraph_add(&p, "%s", tt_text_of(data, "path"));
    if (tt_text_of(data, "filesystem")[0])
        tt_paragraph_add(&p, ", %s on %s", tt_text_of(data, "filesystem"),
                         tt_text_of(data, "device"));
    if (json_object_get(data, "free"))
        tt_paragraph_add(&p, ", %s free", tt_format_bytes(tt_number_of(data, "free"), available));
    tt_paragraph_print(&p, out, "data");
}

/* " became 2 (no effect)", " (in effect: superblock version 0)"; nothing was asked of a fact that
 * was not given. */
static void add_proof(struct tt_paragraph *p, const char *given, const char *read_back,
                      const char *proof)
{
    bool differs = read_back[0] && strcmp(given, read_back) != 0;

    if (!given[0])
        return;
    if (differs && !strcmp(proof, "in effect")) {
        tt_paragraph_add(p, " (%s: %s)", proof, read_back);
        return;
    }
    if (differs)
        tt_paragraph_add(p, " became %s", read_back);
    if (proof[0])
        tt_paragraph_add(p, " (%s)", proof);
}

/* The workload's own word for where its files are; empty: in the data directory. */
static const char *own_path(const json_t *result)
{
    static const char *const keys[] = {"path", "paths"};
    const char *path = tt_result_parameter(result, "write.path");
    char key[96];

    for (size_t i = 0; i < sizeof keys / sizeof *keys && !path[0]; i++) {
        snprintf(key, sizeof key, "%.60s.%s",
                 tt_text_of(json_object_get(result, "plan"), "workload"), keys[i]);
        path = tt_result_parameter(result, key);
    }
    return path;
}

/* Where files were left that would have been removed. */
static void print_kept(FILE *out, const json_t *result)
{
    const char *path = own_path(result);
    bool absolute = path[0] == '/';

    if (strcmp(tt_result_parameter(result, "keep"), "yes") != 0 ||
        !(tt_result_metric(result, "files") > 0))
        return;
    if (*path)
        tt_say(out, "kept", "%s%s%s", absolute ? "" : tt_result_parameter(result, "dir"),
               absolute ? "" : "/", path);
    else
        tt_say(out, "kept", "%s/tutti-%s",
               tt_text_of(tt_member_at(result, "environment/data"), "path"),
               tt_text_of(result, "id"));
}

/* Settings of libraries, with what is known about their effect. */
static void print_facts(FILE *out, const json_t *result)
{
    const json_t *fact;
    struct tt_paragraph p = {0};
    size_t i;

    json_array_foreach(json_object_get(result, "facts"), i, fact)
    {
        const char *given = tt_text_of(fact, "given"), *read_back = tt_text_of(fact, "read_back");

        tt_paragraph_add(&p, "%s%s %s", p.n ? ", " : "", tt_text_of(fact, "key"),
                         given[0] ? given : read_back);
        add_proof(&p, given, read_back, tt_text_of(fact, "proof"));
    }
    tt_paragraph_print(&p, out, "settings");
}

/* What the layer verify found when it read everything back after the run. */
static void print_verified(FILE *out, const json_t *result)
{
    const json_t *verify = json_object_get(result, "verify");
    double wrong = tt_number_of(verify, "wrong_blocks");
    char found[64] = "all as written", bytes[TT_UNIT_TEXT];

    if (!json_is_object(verify))
        return;
    if (wrong > 0)
        snprintf(found, sizeof found, "%.0f are not what was written", wrong);
    tt_say(out, "verified", "%.0f blocks, %s, read back after the run: %s",
           tt_number_of(verify, "blocks"), tt_format_bytes(tt_number_of(verify, "bytes"), bytes),
           found);
}

/* Unless it is known to be none. */
static bool may_have(const json_t *result, const char *metric)
{
    const json_t *value =
        json_object_get(json_object_get(json_object_get(result, "metrics"), metric), "value");

    return !json_is_number(value) || json_number_value(value) > 0;
}

/* How data went to storage and back, of a run that moved any, or that measured the calls of a file
 * system by themselves. */
static void print_io(FILE *out, const json_t *result)
{
    bool wrote = may_have(result, "bytes_written");
    bool calls = tt_member_at(result, "tables/operations") != NULL;

    if (!wrote && !calls && !may_have(result, "bytes_read"))
        return;
    print_backend(out, result);
    print_layers(out, result);
    if (wrote && !calls)
        print_overlap(out, result);
    print_facts(out, result);
    print_verified(out, result);
    print_data(out, result);
    print_kept(out, result);
}

static void print_head(FILE *out, const json_t *result)
{
    const char *workload = tt_text_of(json_object_get(result, "plan"), "workload");
    const char *status = tt_text_of(result, "status");
    struct tt_paragraph title = {0};

    tt_paragraph_add(&title, "tutti %-50.50s%24.24s", workload,
                     tt_is_true(result, "valid") || strcmp(status, "done") ? status
                                                                           : "done, but not valid");
    fprintf(out, "%s\n\n", title.text);
    tt_say(out, "label", "%s", tt_text_of(result, "label"));
    tt_say(out, "context", "%s", tt_result_parameter(result, "context"));
    tt_say(out, "error", "%s", tt_text_of(result, "error"));
    print_component(out, result, workload, false);
    print_ranks(out, result);
    print_periodic(out, result, "write");
    print_periodic(out, result, "read");
    print_periodic(out, result, "collective");
    print_io(out, result);
}

/* ---- metrics ---- */

static void print_metric(FILE *out, const json_t *all, int id, const char *end)
{
    const struct tt_metric *m = &tt_metrics[id];
    double value = tt_number_of(json_object_get(all, m->name), "value");
    char text[TT_UNIT_TEXT];

    fprintf(out, "  %-22.22s %12.12s%s", m->label, tt_format_value(value, m->unit, text), end);
}

/* "read rate (nothing was read)": metrics without a value, those with the same reason together. */
static void print_unknown(FILE *out, const json_t *all)
{
    struct tt_paragraph p = {0};
    const char *reason = "";

    for (int i = 0; i < TT_NMETRICS; i++) {
        const json_t *metric = json_object_get(all, tt_metrics[i].name);

        if (!metric || tt_has_number(metric, "value") ||
            !strcmp(tt_text_of(metric, "note"), TT_NOT_REPORTED))
            continue;
        if (p.n && strcmp(reason, tt_text_of(metric, "note")) != 0)
            tt_paragraph_add(&p, " (%s); ", reason);
        else if (p.n)
            tt_paragraph_add(&p, ", ");
        tt_paragraph_add(&p, "%s", tt_metrics[i].label);
        reason = tt_text_of(metric, "note");
    }
    if (p.n)
        tt_paragraph_add(&p, " (%s)", reason);
    tt_paragraph_print(&p, out, "unknown");
}

/* Known values in two columns, in the order of their list. */
static void print_metrics(FILE *out, const json_t *result)
{
    const json_t *all = json_object_get(result, "metrics");
    int ids[TT_NMETRICS], n = 0, rows;

    for (int i = 0; i < TT_NMETRICS; i++)
        if (tt_has_number(json_object_get(all, tt_metrics[i].name), "value"))
            ids[n++] = i;
    fputc('\n', out);
    rows = (n + 1) / 2;
    for (int i = 0; i < rows; i++) {
        print_metric(out, all, ids[i], rows + i < n ? "    " : "\n");
        if (rows + i < n)
            print_metric(out, all, ids[rows + i], "\n");
    }
    print_unknown(out, all);
}

/* ---- phases and calls ---- */

/* The slowest rank's share of the runtime as a bar. */
static void add_share(struct tt_table *t, const json_t *phase, double whole, char mark)
{
    double inside = tt_number_of(phase, "max") - tt_number_of(phase, "outside");
    double share = whole > 0 ? inside / whole : 0;
    size_t length = share >= 1 ? BAR : share > 0 ? (size_t)ceil(share * BAR) : 0;
    char bar[BAR + 1] = "";

    memset(bar, mark, length);
    tt_table_add(t, "%s", inside > 0 ? bar : "before or after the runtime");
}

/* Phases that took time. The I/O calls' own duration is inside of other phases or beside them, so
 * it has another bar. */
static void print_phases(FILE *out, const json_t *result)
{
    const json_t *all = json_object_get(result, "phases");
    double whole = tt_result_metric(result, "runtime");
    const struct tt_column columns[] = {
        {.title = "phases", .width = 10},
        {.title = "min", .right = true, .width = 10},
        {.title = "median", .right = true, .width = 10},
        {.title = "max", .right = true, .width = 10},
        {.title = whole > 0 ? "share of runtime (= any thread)" : ""}};
    struct tt_table t = {columns, sizeof columns / sizeof *columns, .indent = 2};
    char text[TT_UNIT_TEXT];

    for (int i = 0; i < TT_NPHASES; i++) {
        const json_t *phase = json_object_get(all, tt_phase_names[i]);

        if (!(tt_number_of(phase, "max") > (i == TT_OTHER ? LEAST_OTHER * whole : 0)))
            continue;
        tt_table_add(&t, "%s", tt_phase_names[i]);
        for (size_t k = 1; k < 4; k++)
            tt_table_add(&t, "%s", tt_format_seconds(tt_number_of(phase, columns[k].title), text));
        add_share(&t, phase, whole, tt_phase_is_main(i) ? '#' : '=');
    }
    if (t.n)
        fputc('\n', out);
    tt_table_print(&t, out, NULL);
}

static void print_calls(FILE *out, const json_t *result)
{
    static const struct tt_column columns[] = {{.title = "calls", .width = 10},
                                               {.title = "count", .right = true, .width = 10},
                                               {.title = "p50", .right = true, .width = 10},
                                               {.title = "p90", .right = true, .width = 10},
                                               {.title = "p99", .right = true, .width = 10},
                                               {.title = "p99.9", .right = true, .width = 10},
                                               {.title = "max", .right = true, .width = 10}};
    struct tt_table t = {columns, sizeof columns / sizeof *columns, .indent = 2};
    char text[TT_UNIT_TEXT];

    for (int i = 0; i < TT_NCALLS; i++) {
        const json_t *call = tt_member_at(json_object_get(result, "calls"), tt_call_names[i]);

        if (!call)
            continue;
        tt_table_add(&t, "%s", tt_call_names[i]);
        tt_table_add(&t, "%.0f", tt_number_of(call, "count"));
        for (size_t k = 2; k < t.ncolumns; k++)
            tt_table_add(&t, "%s", tt_format_seconds(tt_number_of(call, columns[k].title), text));
    }
    if (t.n)
        fputc('\n', out);
    tt_table_print(&t, out, NULL);
}

/* What a counter showed to be used up, on which node; nothing if nothing was. */
static void print_saturated(FILE *out, const json_t *result)
{
    const json_t *all = tt_member_at(result, "counters/saturated"), *claim;
    size_t i, n = json_array_size(all);
    struct tt_paragraph p = {0};

    json_array_foreach(all, i, claim)
    {
        if (i < 4)
            tt_paragraph_add(&p, "%s%s: %s", i ? "; " : "", tt_text_of(claim, "host"),
                             tt_text_of(claim, "text"));
    }
    if (n > 4)
        tt_paragraph_add(&p, "; and %zu more", n - 4);
    if (n)
        fputc('\n', out);
    tt_paragraph_print(&p, out, "saturated");
}

void tt_report_warnings(FILE *out, const json_t *result, const char *mark)
{
    const json_t *warning;
    size_t i;

    json_array_foreach(json_object_get(result, "warnings"), i, warning)
        tt_say_marked(out, mark, "%s", tt_text_of(warning, "text"));
}

void tt_report_text(FILE *out, const json_t *result)
{
    print_head(out, result);
    print_metrics(out, result);
    print_phases(out, result);
    print_calls(out, result);
    print_saturated(out, result);
    if (json_array_size(json_object_get(result, "warnings")))
        fputc('\n', out);
    tt_report_warnings(out, result, "! ");
    fputc('\n', out);
    tt_say(out, "directory", "%s", tt_text_of(result, "directory"));
}
