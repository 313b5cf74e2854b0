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
#include "plan/config.h"
#include "record/phases.h"
#include "report/idle_waves.h"
#include "report/paragraph.h"
#include "report/parameter.h"
#include "report/report.h"
#include "report/table.h"
#include "spec/units.h"

#define BAR 28
#define LEAST_OTHER 0.01 /* of the runtime, for what no phase names to be shown */

/* A result as it is printed. */
struct view {
    FILE *out;
    tt_tell_answer *tell;
    void *context; /* of tell */
    const json_t *result, *plan, *metrics;
    const char *workload;
    bool all; /* also what has its default, is 0 or is not known */
};

/* ---- the answer ---- */

/* One line of the answer: the metrics of it that are known. */
struct answer {
    const char *label;
    struct part {
        const char *metric, *before, *after;
    } parts[5];
};

static const struct answer moved[] = {
    {"training",
     {{"sample_rate", "", " samples/s"},
      {"accelerator_utilisation", "the accelerator busy ", " of the time"}}},
    {"checkpoint",
     {{"checkpoint_time", "saved in ", ""},
      {"checkpoint_stall", "training stalled ", " (removal of old files included)"},
      {"restore_time", "restored in ", ""}}},
    {"write", {{"write_rate", "", ""}, {"write_iops", "", " IOPS"}, {"write_p99", "p99 ", ""}}},
    {"read", {{"read_rate", "", ""}, {"read_iops", "", " IOPS"}, {"read_p99", "p99 ", ""}}},
    {"staging", {{"staging_rate", "", " for a rank"}, {"epoch_staging", "", " per epoch"}}},
    {"frames",
     {{"frame_rate", "", " each when written"}, {"frame_read_rate", "", " each when read"}}},
    {"items",
     {{"create_rate", "create ", ""},
      {"stat_rate", "stat ", ""},
      {"open_rate", "open ", ""},
      {"rename_rate", "rename ", ""},
      {"remove_rate", "remove ", ""}}},
};
/* Of a run that moved nothing. */
static const struct answer worked[] = {
    {"compute", {{"update_rate", "", " updates/s"}, {"flop_rate", "", ""}}},
    {"messages", {{"communication_rate", "", ""}}},
};

/* "3.84 k" of "3.84 k/s" before a word that says it; a share in percent. */
static const char *format_part(double value, const struct tt_metric *m, const char *after,
                               char text[TT_UNIT_TEXT])
{
    bool per_second = !strcmp(m->unit, "1/s") && *after;

    if (!strcmp(m->unit, "1")) {
        snprintf(text, TT_UNIT_TEXT, "%.0f %%", 100 * value);
        return text;
    }
    return per_second ? tt_format_quantity(value, text) : tt_format_value(value, m->unit, text);
}

/* Returns whether there was anything to say. */
static bool tell_answer(const struct view *v, const struct answer *answer)
{
    struct tt_paragraph p = {0};

    for (size_t i = 0; i < sizeof answer->parts / sizeof *answer->parts; i++) {
        const struct part *part = &answer->parts[i];
        const struct tt_metric *m = part->metric ? tt_find_metric(part->metric) : NULL;
        double value = m ? tt_result_metric(v->result, m->name) : 0;
        char text[TT_UNIT_TEXT];

        if (value > 0)
            tt_paragraph_add(&p, "%s%s%s%s", p.n ? ", " : "", part->before,
                             format_part(value, m, part->after, text), part->after);
    }
    if (p.n)
        v->tell(v->context, answer->label, &p);
    return p.n > 0;
}

/* "98 % of the I/O hidden": a share a little above 1 is noise, one below 0 a loss. */
static void add_hidden(struct tt_paragraph *p, bool further, double hidden)
{
    const char *separator = further ? ", " : " ";

    if (hidden < 0.005)
        tt_paragraph_add(p, "%snone of the I/O hidden", separator);
    else
        tt_paragraph_add(p, "%s%.0f %% of the I/O hidden", separator, 100 * fmin(hidden, 1));
}

/* More than all of the I/O cannot be hidden: beyond noise the baselines are wrong, and so is what
 * is compared with them. */
#define MOST_HIDDEN 1.1

/* What overlap was good for, in a sentence. */
static void tell_gain(const struct view *v)
{
    const char *kind = tt_result_parameter(v->result, "overlap");
    const json_t *hidden = json_object_get(v->metrics, "hidden_fraction");
    double speedup = tt_result_metric(v->result, "speedup");
    const char *note = tt_text_of(hidden, "note");
    struct tt_paragraph p = {0};

    if (!*kind || !strcmp(kind, "none") || !strcmp(kind, "auto") || !hidden ||
        !strcmp(note, TT_NOT_REPORTED) || !(tt_result_metric(v->result, "bytes_written") > 0))
        return;
    if (tt_number_of(hidden, "value") > MOST_HIDDEN) {
        tt_paragraph_add(&p, "asynchronous, but the gain cannot be told: baseline epochs were "
                             "slowed down by something else");
        v->tell(v->context, "gain", &p);
        return;
    }
    if (speedup > 0 || tt_has_number(hidden, "value"))
        tt_paragraph_add(&p, "asynchronous:");
    if (speedup >= 1.02)
        tt_paragraph_add(&p, " %.2f x faster", speedup);
    else if (speedup > 0 && speedup <= 0.98)
        tt_paragraph_add(&p, " %.2f x slower", 1 / speedup);
    else if (speedup > 0)
        tt_paragraph_add(&p, " no faster");
    if (tt_has_number(hidden, "value"))
        add_hidden(&p, speedup > 0, tt_number_of(hidden, "value"));
    if (!p.n && *note)
        tt_paragraph_add(&p, "asynchronous, but the gain is not known: %s", note);
    if (p.n)
        v->tell(v->context, "gain", &p);
}

/* What overlap=auto decided of all outputs, and what that gained by its last prediction. */
static void tell_auto(const struct view *v)
{
    const json_t *outputs = tt_member_at(v->result, "overlap/auto"), *output, *d;
    double sync = 0, async = 0, speedup = 0;
    struct tt_paragraph p = {0};
    size_t i, k;

    json_array_foreach(outputs, i, output)
    {
        sync += tt_number_of(output, "sync");
        async += tt_number_of(output, "async");
        json_array_foreach(json_object_get(output, "decisions"), k,
                           d) if (tt_number_of(d, "sync") > 0 && tt_number_of(d, "async") > 0)
            speedup = tt_number_of(d, "sync") / tt_number_of(d, "async");
    }
    if (!(sync + async > 0))
        return;
    tt_paragraph_add(&p, "%.0f of %.0f epochs async; ", async, sync + async);
    if (speedup >= 1.02)
        tt_paragraph_add(&p, "predicted %.2f x faster than sync", speedup);
    else if (speedup > 0 && speedup <= 0.98)
        tt_paragraph_add(&p, "predicted %.2f x slower than sync", 1 / speedup);
    else
        tt_paragraph_add(&p, speedup > 0 ? "predicted no faster than sync"
                                         : "too few to predict what sync ones take");
    v->tell(v->context, "auto", &p);
}

/* What a user came for, before everything else. */
static void tell_answers(const struct view *v)
{
    const char *status = tt_text_of(v->result, "status");
    bool any = false;

    for (size_t i = 0; i < sizeof moved / sizeof *moved; i++)
        any |= tell_answer(v, &moved[i]);
    for (size_t i = 0; i < sizeof worked / sizeof *worked && !any; i++)
        any = tell_answer(v, &worked[i]);
    tell_gain(v);
    tell_auto(v);
    if (tt_has_number(json_object_get(v->metrics, "runtime"), "value")) {
        struct tt_paragraph p = {0};
        char text[TT_UNIT_TEXT];

        tt_paragraph_add(&p, "%s%s",
                         tt_format_seconds(tt_result_metric(v->result, "runtime"), text),
                         !strcmp(status, "done") ? "" : ", until it ended early");
        v->tell(v->context, "runtime", &p);
    }
}

void tt_report_answers(const json_t *result, tt_tell_answer *tell, void *context)
{
    struct view v = {.tell = tell,
                     .context = context,
                     .result = result,
                     .metrics = json_object_get(result, "metrics")};

    tell_answers(&v);
}

static void print_answer(void *context, const char *label, const struct tt_paragraph *p)
{
    tt_paragraph_print(p, context, label);
}

/* ---- what ran, where and how ---- */

/* Parameters of the run that a line of their own says, or that change nothing of what is measured.
 */
static bool is_said_elsewhere(const char *key)
{
    static const char *const keys[] = {"ranks",   "dir",  "results", "backend", "layers", "module",
                                       "overlap", "sync", "label",   "context", "keep",   "quiet",
                                       "dry_run", "json", "csv",     "mode"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!strcmp(keys[i], key))
            return true;
    return false;
}

/* "size 4096, iterations 200": the parameters of one component, or of the run itself (""), that
 * are not what they would be anyway. */
static void add_component(struct tt_paragraph *p, const struct view *v, const char *component)
{
    json_t *all = json_object_get(v->plan, "parameters"), *value;
    size_t n = strlen(component);
    const char *key;

    json_object_foreach(all, key, value)
    {
        const char *text = json_string_value(value);
        const char *own = n ? key + n + 1 : key;
        char shown[256];

        if (n ? strncmp(key, component, n) != 0 || key[n] != '.'
              : strchr(key, '.') || is_said_elsewhere(key))
            continue;
        if (!text || !text[0] ||
            (!v->all && (tt_is_bound_key(key) || tt_parameter_is_default(v->plan, key, text))))
            continue;
        tt_parameter_format(v->plan, key, text, shown, sizeof shown);
        tt_paragraph_add(p, "%s%s %s", p->n ? ", " : "", own, shown);
    }
}

static void print_component(const struct view *v, const char *component)
{
    struct tt_paragraph p = {0};

    add_component(&p, v, component);
    tt_paragraph_print(&p, v->out, *component ? component : "run");
}

json_t *tt_hosts_of(const json_t *ranks)
{
    json_t *hosts = json_object();
    const json_t *rank;
    size_t i;

    json_array_foreach(ranks, i, rank)
        json_object_set_new(hosts, tt_text_of(rank, "host"), json_true());
    return hosts;
}

static void print_ranks(FILE *out, const json_t *result)
{
    const json_t *ranks = json_object_get(result, "ranks"), *ignored;
    const json_t *env = json_object_get(result, "environment");
    struct tt_paragraph p = {0};
    char memory[TT_UNIT_TEXT];
    json_t *hosts;
    const char *host;
    size_t n = 0;

    if (json_array_size(ranks) == 0)
        return;
    hosts = tt_hosts_of(ranks);
    tt_paragraph_add(&p, "%zu", json_array_size(ranks));
    json_object_foreach(hosts, host, ignored)
    {
        if (n < 4)
            tt_paragraph_add(&p, "%s%s", n ? ", " : " on ", host);
        n++;
    }
    json_decref(hosts);
    if (n > 4)
        tt_paragraph_add(&p, " and %zu more nodes", n - 4);
    if (env && tt_number_of(env, "cpus") > 0)
        tt_paragraph_add(&p, " (%.0f CPUs, %s, %s)", tt_number_of(env, "cpus"),
                         tt_text_of(env, "cpu"),
                         tt_format_bytes(tt_number_of(env, "memory"), memory));
    tt_paragraph_print(&p, out, "ranks");
}

/* Only of very large runs. */
static void print_reduced(FILE *out, const json_t *result)
{
    const json_t *reduced = json_object_get(result, "reduced"),
                 *last = json_object_get(result, "last_to_arrive");

    if (!(tt_number_of(reduced, "iterations") > 0))
        return;
    tt_say(out, "records",
           "of iterations after number %.0f each node kept minimum, median, maximum, the last rank "
           "to arrive and a sample of ranks",
           tt_number_of(reduced, "whole"));
    if (tt_number_of(last, "of") > 0)
        tt_say(
            out, "last", "rank %.0f arrived last in %.0f of %.0f iterations, more often than any",
            tt_number_of(last, "rank"), tt_number_of(last, "iterations"), tt_number_of(last, "of"));
}

static void print_backend(const struct view *v)
{
    const char *layers = tt_result_parameter(v->result, "layers"),
               *backend = tt_result_parameter(v->result, "backend");
    struct tt_paragraph p = {0}, options = {0};

    tt_paragraph_add(&p, "%s", backend);
    if (layers[0])
        tt_paragraph_add(&p, " under %s", layers);
    if (*backend)
        add_component(&options, v, backend);
    if (options.n)
        tt_paragraph_add(&p, ": %s", options.text);
    tt_paragraph_print(&p, v->out, "backend");
}

static void print_layers(const struct view *v)
{
    const char *layers = tt_result_parameter(v->result, "layers");

    while (*layers) {
        size_t n = strcspn(layers, ",");
        char name[64];

        snprintf(name, sizeof name, "%.*s", (int)n, layers);
        if (*name)
            print_component(v, name);
        layers += n + (layers[n] == ',');
    }
}

/* Whether a name is one of a list "a,b". */
static bool is_listed(const char *list, const char *name, size_t n)
{
    for (; *list; list += strcspn(list, ","), list += *list == ',')
        if (strcspn(list, ",") == n && !strncmp(list, name, n))
            return true;
    return false;
}

/* What is neither the workload's, the backend's nor a layer's: write, read, launch, counters... */
static void print_other_components(const struct view *v)
{
    const char *backend = tt_result_parameter(v->result, "backend"),
               *layers = tt_result_parameter(v->result, "layers");
    json_t *all = json_object_get(v->plan, "parameters"), *ignored;
    char last[64] = "", name[64];
    const char *key;

    json_object_foreach(all, key, ignored)
    {
        size_t n = strcspn(key, ".");

        if (!key[n] || n == 0 || n >= sizeof name || is_listed(v->workload, key, n) ||
            is_listed(backend, key, n) || is_listed(layers, key, n))
            continue;
        snprintf(name, sizeof name, "%.*s", (int)n, key);
        if (strcmp(name, last) != 0)
            print_component(v, name);
        snprintf(last, sizeof last, "%s", name);
    }
}

/* A workload that makes single requests has no dumps. */
static const char *sync_in_words(const char *sync, bool has_dumps)
{
    static const char *const words[][3] = {
        {"write", "after every write call", "after every write call"},
        {"dump", "by the caller, at the end of each dump", "once, after the last write to a file"},
        {"deferred", "by the caller, just before the next dump",
         "once, after the last write to a file"},
        {"background", "by the helper, right after the write",
         "once, after the last write to a file"},
        {"close", "once, before the file is closed", "once, after the last write to a file"},
        {"never", "nobody waits until data is durable", "nobody waits until data is durable"},
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(sync, words[i][0]))
            return words[i][has_dumps ? 1 : 2];
    return "";
}

#define MOST_DECISIONS 8 /* shown */

/* What overlap=auto decided, and by which predictions. */
static void print_decisions(FILE *out, const json_t *decisions)
{
    static const struct tt_column columns[] = {
        {.title = "epoch", .right = true},   {.title = "decision"},
        {.title = "if sync", .right = true}, {.title = "if async", .right = true},
        {.title = "compute", .right = true}, {.title = "I/O", .right = true},
        {.title = "copy", .right = true},    {.title = "staging", .right = true}};
    static const char *const figures[] = {"sync", "async", "compute", "io", "copy", "staging"};
    bool staged = tt_number_of(json_array_get(decisions, 0), "staging") > 0; /* on a device */
    size_t ncolumns = sizeof columns / sizeof *columns - !staged, i;
    struct tt_table t = {columns, ncolumns, .indent = 2};
    const json_t *d;

    json_array_foreach(decisions, i, d)
    {
        if (!strcmp(tt_text_of(d, "why"), "after a probe") || t.n / t.ncolumns == MOST_DECISIONS)
            continue;
        tt_table_add(&t, "%lld", (long long)tt_integer_of(d, "epoch"));
        tt_table_add(&t, "%s%s", !strcmp(tt_text_of(d, "why"), "probe") ? "probe " : "",
                     tt_text_of(d, "mode"));
        for (size_t k = 0; k + 2 < ncolumns; k++)
            tt_table_add(&t, "%s",
                         tt_format_seconds(tt_number_of(d, figures[k]), (char[TT_UNIT_TEXT]){0}));
    }
    tt_table_print(&t, out, NULL);
}

/* "epochs 1 to 12 async, from 13 on sync; 1 switch, 2 probes of one epoch", of one output. */
static void print_choices(FILE *out, const json_t *output)
{
    const json_t *decisions = json_object_get(output, "decisions"), *d;
    long long from = 1, switches = (long long)tt_integer_of(output, "switches"),
              probes = (long long)tt_integer_of(output, "probes");
    const char *mode = "async";
    struct tt_paragraph p = {0};
    size_t i, shown = 0;

    tt_paragraph_add(&p, "epochs");
    json_array_foreach(decisions, i, d)
    {
        long long epoch = (long long)tt_integer_of(d, "epoch");

        if (strcmp(tt_text_of(d, "why"), "pays") != 0)
            continue;
        if (shown++ < MOST_DECISIONS)
            tt_paragraph_add(&p, " %lld to %lld %s,", from, epoch - 1, mode);
        else if (shown == MOST_DECISIONS + 1)
            tt_paragraph_add(&p, " ...,");
        mode = tt_text_of(d, "mode");
        from = epoch;
    }
    tt_paragraph_add(&p, " from %lld on %s; %lld switch%s, %lld probe%s of one epoch", from, mode,
                     switches, switches == 1 ? "" : "es", probes, probes == 1 ? "" : "s");
    tt_paragraph_print(&p, out, "decisions");
    print_decisions(out, decisions);
}

static void print_overlap(FILE *out, const json_t *result)
{
    const json_t *overlap = json_object_get(result, "overlap");
    const char *kind = tt_result_parameter(result, "overlap"),
               *sync = tt_result_parameter(result, "sync");
    const char *transfers = tt_text_of(overlap, "transfers");
    const json_t *output;
    size_t i;

    if (*transfers)
        tt_say(out, "transfers", "%s", transfers);
    else if (!strcmp(kind, "none"))
        tt_say(out, "overlap", "none: computation waits for each write");
    else if (*kind)
        tt_say(out, "overlap", "%s%s%s", kind, overlap ? ": " : "", tt_text_of(overlap, "how"));
    json_array_foreach(json_object_get(overlap, "auto"), i, output) print_choices(out, output);
    if (*sync)
        tt_say(out, "sync", "%s: %s", sync, sync_in_words(sync, !*transfers));
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

/* Of a layer that stores other bytes than came to it: both, and how many times fewer they are. */
static void add_change(struct tt_paragraph *p, const char *verb, double given, double stored)
{
    char bytes[2][TT_UNIT_TEXT];

    if (given <= 0)
        return;
    tt_paragraph_add(p, "; %s %s", verb, tt_format_bytes(given, bytes[0]));
    if (stored > 0 && stored != given)
        tt_paragraph_add(p, " as %s (%.3g : 1)", tt_format_bytes(stored, bytes[1]), given / stored);
}

/* What each layer cost by itself, in all ranks together. */
static void print_layer_costs(FILE *out, const json_t *result)
{
    const json_t *layer;
    size_t i;

    json_array_foreach(json_object_get(result, "layers"), i, layer)
    {
        struct tt_paragraph p = {0};
        char time[2][TT_UNIT_TEXT];

        if (tt_number_of(layer, "seconds") <= 0)
            continue;
        tt_paragraph_add(&p, "%s %s, %s of CPU", tt_text_of(layer, "name"),
                         tt_format_seconds(tt_number_of(layer, "seconds"), time[0]),
                         tt_format_seconds(tt_number_of(layer, "cpu_seconds"), time[1]));
        add_change(&p, "wrote", tt_number_of(layer, "bytes_written"),
                   tt_number_of(layer, "passed_on"));
        add_change(&p, "read", tt_number_of(layer, "bytes_read"), tt_number_of(layer, "fetched"));
        tt_paragraph_print(&p, out, "layer");
    }
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
static void print_io(const struct view *v)
{
    bool wrote = may_have(v->result, "bytes_written");
    bool calls = tt_member_at(v->result, "tables/operations") != NULL;

    if (!wrote && !calls && !may_have(v->result, "bytes_read"))
        return;
    print_backend(v);
    print_layers(v);
    if (wrote && !calls)
        print_overlap(v->out, v->result);
    print_facts(v->out, v->result);
    print_layer_costs(v->out, v->result);
    print_verified(v->out, v->result);
    print_data(v->out, v->result);
    print_kept(v->out, v->result);
}

static void print_title(const struct view *v)
{
    const char *status = tt_text_of(v->result, "status");
    bool done = !strcmp(status, "done"), valid = tt_is_true(v->result, "valid");
    struct tt_paragraph title = {0};
    char right[64];

    snprintf(right, sizeof right, "%.24s", done && !valid ? "done, but not valid" : status);
    tt_paragraph_add(&title, "tutti %-50.50s", v->workload);
    tt_disarm(right);
    tt_style(v->out, TT_BOLD);
    fputs(title.text, v->out);
    tt_style(v->out, TT_PLAIN);
    tt_style(v->out, done && valid ? TT_GOOD : TT_BAD);
    fprintf(v->out, "%24s", right);
    tt_style(v->out, TT_PLAIN);
    fputc('\n', v->out);
}

static void print_what(const struct view *v)
{
    fputc('\n', v->out);
    tt_say(v->out, "label", "%s", tt_text_of(v->result, "label"));
    tt_say(v->out, "context", "%s", tt_result_parameter(v->result, "context"));
    tt_say(v->out, "start", "%s", tt_text_of(v->result, "start"));
    if (*v->workload)
        print_component(v, v->workload);
    print_component(v, "");
    print_ranks(v->out, v->result);
    print_other_components(v);
    print_io(v);
    tt_say(v->out, "runtime", "%s", tt_text_of(json_object_get(v->metrics, "runtime"), "note"));
    print_reduced(v->out, v->result);
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

        if (!metric || tt_has_number(metric, "value") || (tt_metrics[i].shown & TT_SHOWN_CALLS) ||
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

/* Known values in two columns, in the order of their list; a 0 says nothing that was asked for. */
/* Nothing hidden is an answer where something could have been. */
static bool is_telling_zero(const struct view *v, const struct tt_metric *m)
{
    return !strncmp(m->name, "hidden_", strlen("hidden_")) &&
           strcmp(tt_result_parameter(v->result, "overlap"), "none") != 0;
}

static void print_metrics(const struct view *v)
{
    int ids[TT_NMETRICS], n = 0, rows;

    for (int i = 0; i < TT_NMETRICS; i++) {
        const json_t *metric = json_object_get(v->metrics, tt_metrics[i].name);

        if (!(tt_metrics[i].shown & TT_SHOWN_CALLS) && tt_has_number(metric, "value") &&
            (v->all || tt_number_of(metric, "value") != 0 || is_telling_zero(v, &tt_metrics[i])))
            ids[n++] = i;
    }
    fputc('\n', v->out);
    rows = (n + 1) / 2;
    for (int i = 0; i < rows; i++) {
        print_metric(v->out, v->metrics, ids[i], rows + i < n ? "    " : "\n");
        if (rows + i < n)
            print_metric(v->out, v->metrics, ids[rows + i], "\n");
    }
    if (v->all)
        print_unknown(v->out, v->metrics);
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

/* "-" for a percentile of too few calls. */
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
            tt_table_add(&t, "%s",
                         tt_has_number(call, columns[k].title)
                             ? tt_format_seconds(tt_number_of(call, columns[k].title), text)
                             : "-");
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
    {
        tt_style(out, TT_DOUBTFUL);
        tt_say_marked(out, mark, "%s", tt_text_of(warning, "text"));
        tt_style(out, TT_PLAIN);
    }
}

void tt_report_text(FILE *out, const json_t *result, bool all)
{
    const json_t *plan = json_object_get(result, "plan");
    struct view v = {out,
                     print_answer,
                     out,
                     result,
                     plan,
                     json_object_get(result, "metrics"),
                     tt_text_of(plan, "workload"),
                     all};

    print_title(&v);
    if (*tt_text_of(result, "error")) {
        fputc('\n', out);
        tt_say(out, "error", "%s", tt_text_of(result, "error"));
    }
    if (tt_has_number(json_object_get(v.metrics, "runtime"), "value"))
        fputc('\n', out);
    tt_style(out, TT_BOLD);
    tell_answers(&v);
    tt_style(out, TT_PLAIN);
    if (json_array_size(json_object_get(result, "warnings")))
        fputc('\n', out);
    tt_report_warnings(out, result, "! ");
    print_what(&v);
    print_metrics(&v);
    print_phases(out, result);
    print_calls(out, result);
    tt_report_rates(out, result);
    print_saturated(out, result);
    tt_report_idle_waves(out, result, all);
    fputc('\n', out);
    tt_say(out, "directory", "%s", tt_text_of(result, "directory"));
    if (!all)
        tt_say(out, "more", "tutti show --all has all parameters and metrics");
}
