/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/ior.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "build_info.h"
#include "analysis/result.h"
#include "analysis/tables.h"
#include "base/json.h"
#include "report/parameter.h"
#include "report/report.h"

#define MIB 1048576.0

/* As the workload numbers them. */
enum access { WRITE, CHECK, READ };
static const char *const accesses[] = {"write", "wcheck", "read"};

/* ---- one access ---- */

struct row {
    const char *access;
    enum access kind;
    unsigned repetition;
    double bytes, transfers, open, transfer, close, total, latency; /* seconds, or as named */
    double deadline, deadline_bytes, least_transfers, most_transfers;
};

static bool take_row(const json_t *result, size_t i, struct row *out)
{
    struct tt_rows t = tt_result_rows(result, "accesses");
    double access = tt_cell(&t, i, "access");

    if (i >= t.n || !(access >= WRITE && access <= READ))
        return false;
    *out = (struct row){.access = accesses[(size_t)access],
                        .kind = (enum access)access,
                        .repetition = (unsigned)fmin(fmax(tt_cell(&t, i, "repetition"), 0), 1e9),
                        .bytes = tt_cell(&t, i, "bytes"),
                        .transfers = tt_cell(&t, i, "transfers"),
                        .open = tt_cell(&t, i, "open"),
                        .transfer = tt_cell(&t, i, "transfer"),
                        .close = tt_cell(&t, i, "close"),
                        .total = tt_cell(&t, i, "total"),
                        .latency = tt_cell(&t, i, "latency"),
                        .deadline = tt_cell(&t, i, "deadline"),
                        .deadline_bytes = tt_cell(&t, i, "deadline_bytes"),
                        .least_transfers = tt_cell(&t, i, "least_transfers"),
                        .most_transfers = tt_cell(&t, i, "most_transfers")};
    return true;
}

static double per(double amount, double seconds)
{
    return seconds > 0 ? amount / seconds : 0;
}

static double rate(const struct row *r)
{
    return per(r->bytes / MIB, r->total);
}

static double operations(const struct row *r)
{
    return per(r->transfers, r->transfer);
}

static json_int_t ranks(const json_t *result)
{
    return tt_integer_of(json_object_get(result, "plan"), "ranks");
}

/* ---- for people ---- */

static void now(char *text, size_t size)
{
    time_t t = time(NULL);
    struct tm local;

    if (strftime(text, size, "%a %b %e %H:%M:%S %Y", localtime_r(&t, &local)) == 0)
        text[0] = '\0';
}

void tt_ior_head(FILE *out, const char *command_line)
{
    char text[64];

    now(text, sizeof text);
    fprintf(out, "tutti %s (%s): the tests of IOR, measured by tutti\n", TT_VERSION, TT_REVISION);
    fprintf(out, "Began               : %s\nCommand line        : %s\n", text, command_line);
}

static void print_option(FILE *out, const char *label, const char *value)
{
    fprintf(out, "%-20s: %s\n", label, value);
}

static void print_options(FILE *out, const json_t *result)
{
    static const struct {
        const char *label, *key;
    } shown[] = {{"api", "backend"},
                 {"test filename", "bulk.paths"},
                 {"access", "bulk.files"},
                 {"ordering in a file", "bulk.order"},
                 {"ordering inter file", "bulk.reorder"},
                 {"data", "bulk.data"},
                 {"segments", "bulk.segments"},
                 {"repetitions", "bulk.repetitions"},
                 {"xfersize (bytes)", "bulk.transfer"},
                 {"blocksize (bytes)", "bulk.block"},
                 {"stonewalling (s)", "bulk.deadline"},
                 {"wear-out", "bulk.wear_out"},
                 {"sync", "sync"}};

    const char *device = tt_result_parameter(result, "device");

    fprintf(out, "\nOptions:\n");
    if (*device && strcmp(device, "host") != 0)
        print_option(out, "buffers of device", device);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        print_option(out, shown[i].label, tt_result_parameter(result, shown[i].key));
    fprintf(out, "%-20s: %lld\n", "tasks", (long long)ranks(result));
}

static void print_hosts(FILE *out, const json_t *result)
{
    const json_t *list = json_object_get(result, "ranks");

    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *host = tt_text_of(json_array_get(list, i), "host");

        fprintf(out, "task %zu on %s\n", i, *host ? host : "?");
    }
    fprintf(out, "signature %s, seed %s\n", tt_result_parameter(result, "bulk.signature"),
            tt_result_parameter(result, "seed"));
}

static void print_row(FILE *out, const json_t *result, const struct row *r)
{
    fprintf(out,
            "%-9s %-10.2f %-10.2f %-11.6f %-10.2f %-10.2f %-10.6f %-10.6f %-10.6f %-10.6f %-4u\n",
            r->access, rate(r), operations(r), r->latency,
            tt_result_setting(result, "bulk.block") / 1024,
            tt_result_setting(result, "bulk.transfer") / 1024, r->open, r->transfer, r->close,
            r->total, r->repetition);
}

static void print_stonewall(FILE *out, const struct row *r)
{
    if (r->deadline > 0 && r->kind != CHECK)
        fprintf(out, "%s: stonewalling after %.2f s, transfers per task %.0f to %.0f\n", r->access,
                r->deadline, r->least_transfers, r->most_transfers);
}

void tt_ior_begin(FILE *out, const json_t *plan, unsigned number_of_test)
{
    json_t *result = json_pack("{s:O}", "plan", plan);

    fprintf(out, "TestID              : %u\n", number_of_test);
    print_options(out, result);
    fprintf(out, "\nResults:\n\n");
    fprintf(out, "access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    "
                 "wr/rd(s)   close(s)   total(s)   iter\n");
    fprintf(out, "------    ---------  ----       ----------  ---------- ---------  --------   "
                 "--------   --------   --------   ----\n");
    json_decref(result);
}

size_t tt_ior_rows(FILE *out, const json_t *result, size_t first, unsigned verbose)
{
    struct row r;

    for (; take_row(result, first, &r); first++) {
        print_row(out, result, &r);
        if (verbose > 0)
            print_stonewall(out, &r);
    }
    return first;
}

void tt_ior_end(FILE *out, const json_t *result, unsigned verbose)
{
    if (verbose > 1)
        print_hosts(out, result);
    tt_report_warnings(out, result, "WARNING: ");
}

/* ---- the summary ---- */

struct statistics {
    unsigned n;
    double max, min, mean, deviation;
};

/* Population deviation, as IOR has it. */
static struct statistics take_statistics(const json_t *result, unsigned kind,
                                         double (*value)(const struct row *))
{
    struct statistics s = {.min = INFINITY};
    double sum = 0, squares = 0;
    struct row r;

    for (size_t i = 0; take_row(result, i, &r); i++) {
        double x = value(&r);

        if (r.kind != kind)
            continue;
        s.n++;
        s.max = fmax(s.max, x);
        s.min = fmin(s.min, x);
        sum += x;
        squares += x * x;
    }
    s.mean = s.n ? sum / s.n : 0;
    s.deviation = s.n ? sqrt(fmax(squares / s.n - s.mean * s.mean, 0)) : 0;
    return s;
}

static double operations_in_all(const struct row *r)
{
    return per(r->transfers, r->total);
}

static double seconds(const struct row *r)
{
    return r->total;
}

static double wall_seconds(const struct row *r)
{
    return r->deadline;
}

static double wall_rate(const struct row *r)
{
    return per(r->deadline_bytes / MIB, r->deadline);
}

static void print_summary_row(FILE *out, const json_t *result, unsigned test, unsigned kind)
{
    struct statistics bw = take_statistics(result, kind, rate);
    struct statistics ops = take_statistics(result, kind, operations_in_all);
    double late = take_statistics(result, kind, wall_seconds).mean;

    if (bw.n == 0)
        return;
    fprintf(out, "%-9s %10.2f %10.2f %10.2f %10.2f %10.2f %10.2f %10.2f %10.2f %10.5f ",
            accesses[kind], bw.max, bw.min, bw.mean, bw.deviation, ops.max, ops.min, ops.mean,
            ops.deviation, take_statistics(result, kind, seconds).mean);
    if (late > 0)
        fprintf(out, "%12.2f %14.2f ", late, take_statistics(result, kind, wall_rate).mean);
    else
        fprintf(out, "%12s %14s ", "NA", "NA");
    fprintf(out, "%5u %6lld %4u %3d %-11s %8.0f %10.0f %10.0f %s\n", test, (long long)ranks(result),
            bw.n, !strcmp(tt_result_parameter(result, "bulk.files"), "process"),
            tt_result_parameter(result, "bulk.reorder"), tt_result_setting(result, "bulk.segments"),
            tt_result_setting(result, "bulk.block"), tt_result_setting(result, "bulk.transfer"),
            tt_result_parameter(result, "backend"));
}

static void print_most(FILE *out, const json_t *results, unsigned kind, const char *label)
{
    double most = 0;

    for (size_t i = 0; i < json_array_size(results); i++)
        most = fmax(most, take_statistics(json_array_get(results, i), kind, rate).max);
    if (most > 0)
        fprintf(out, "Max %s %.2f MiB/sec (%.2f MB/sec)\n", label, most, most * MIB / 1e6);
}

void tt_ior_summary(FILE *out, const json_t *results)
{
    char text[64];

    fprintf(out, "\n");
    print_most(out, results, WRITE, "Write:");
    print_most(out, results, READ, "Read: ");
    fprintf(out,
            "\nSummary of all tests:\n"
            "Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev   Max(OPs)   Min(OPs)  "
            "Mean(OPs)     StdDev    Mean(s) Stonewall(s) Stonewall(MiB) Test# #Tasks reps fPP "
            "reord         segcnt     blksiz      xsize API\n");
    for (size_t i = 0; i < json_array_size(results); i++)
        for (unsigned kind = WRITE; kind <= READ; kind += 2)
            print_summary_row(out, json_array_get(results, i), (unsigned)i, kind);
    now(text, sizeof text);
    fprintf(out, "Finished            : %s\n", text);
}

/* ---- for machines ---- */

static json_t *row_json(const json_t *result, const struct row *r)
{
    return json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:i}", "access", r->access,
                     "bwMiB", rate(r), "blockKiB", tt_result_setting(result, "bulk.block") / 1024,
                     "xferKiB", tt_result_setting(result, "bulk.transfer") / 1024, "iops",
                     operations(r), "latency", r->latency, "openTime", r->open, "wrRdTime",
                     r->transfer, "closeTime", r->close, "totalTime", r->total, "iter",
                     (int)r->repetition);
}

static json_t *test_json(const json_t *result, size_t number_of_test)
{
    const json_t *plan = json_object_get(result, "plan");
    json_t *rows = json_array();
    struct row r;

    for (size_t i = 0; take_row(result, i, &r); i++)
        json_array_append_new(rows, row_json(result, &r));
    return json_pack("{s:I, s:o, s:I, s:o, s:O?, s:O?}", "TestID", (json_int_t)number_of_test,
                     "Parameters", tt_parameters_json(plan, json_object_get(plan, "parameters")),
                     "tasks", ranks(result), "Results", rows, "warnings",
                     json_object_get(result, "warnings"), "directory",
                     json_object_get(result, "directory"));
}

static json_t *summary_json(const json_t *result, size_t number_of_test, unsigned kind)
{
    struct statistics bw = take_statistics(result, kind, rate);
    struct statistics ops = take_statistics(result, kind, operations_in_all);

    return json_pack(
        "{s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:i}", "operation",
        accesses[kind], "bwMaxMIB", bw.max, "bwMinMIB", bw.min, "bwMeanMIB", bw.mean, "bwStdMIB",
        bw.deviation, "OPsMax", ops.max, "OPsMin", ops.min, "OPsMean", ops.mean, "OPsSD",
        ops.deviation, "MeanTime", take_statistics(result, kind, seconds).mean, "TestID",
        (json_int_t)number_of_test, "numTasks", ranks(result), "repetitions", (int)bw.n);
}

json_t *tt_ior_json(const json_t *results, const char *command_line)
{
    json_t *tests = json_array(), *summary = json_array();

    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *result = json_array_get(results, i);

        json_array_append_new(tests, test_json(result, i));
        for (unsigned kind = WRITE; kind <= READ; kind += 2)
            if (take_statistics(result, kind, rate).n > 0)
                json_array_append_new(summary, summary_json(result, i, kind));
    }
    return json_pack("{s:s, s:s, s:o, s:o}", "Version", "tutti " TT_VERSION, "Command line",
                     command_line, "tests", tests, "summary", summary);
}

void tt_ior_csv(FILE *out, const json_t *results)
{
    struct row r;

    fprintf(out, "access,bw(MiB/s),IOPS,Latency(s),block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),"
                 "total(s),numTasks,iter\n");
    for (size_t k = 0; k < json_array_size(results); k++) {
        const json_t *result = json_array_get(results, k);

        for (size_t i = 0; take_row(result, i, &r); i++)
            fprintf(out, "%s,%.4f,%.4f,%.9f,%.2f,%.2f,%.6f,%.6f,%.6f,%.6f,%lld,%u\n", r.access,
                    rate(&r), operations(&r), r.latency,
                    tt_result_setting(result, "bulk.block") / 1024,
                    tt_result_setting(result, "bulk.transfer") / 1024, r.open, r.transfer, r.close,
                    r.total, (long long)ranks(result), r.repetition);
    }
}
