/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tutti numio: the stencil with numio's options and numio's report (decimal units). */
#include <string.h>

#include "analysis/result.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/run.h"
#include "plan/config.h"
#include "spec/dialects/numio.h"

static void print_bytes(FILE *out, const char *label, double value, const char *per)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    size_t i = 0;

    for (; value >= 1000 && i + 1 < sizeof units / sizeof *units; i++)
        value /= 1000;
    fprintf(out, "%-22s %.3f %s%s\n", label, value, units[i], per);
}

/* Nine by nine points of the matrix. */
static void print_sample(FILE *out, const json_t *result)
{
    const json_t *rows = tt_member_at(result, "tables/sample");

    if (json_array_size(rows))
        fprintf(out, "Matrix:\n");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);

        for (size_t j = 0; j < json_array_size(row); j++)
            fprintf(out, "%s%.4f", j ? " " : "", json_number_value(json_array_get(row, j)));
        fputc('\n', out);
    }
}

static void print_result(FILE *out, const json_t *result, void *context)
{
    double written = tt_result_metric(result, "bytes_written"),
           read = tt_result_metric(result, "bytes_read");

    (void)context;
    fprintf(out, "%-22s %.6f s\n", "Runtime:", tt_result_metric(result, "runtime"));
    if (written > 0) {
        print_bytes(out, "Written:", written, "");
        print_bytes(out, "Write throughput:", tt_result_metric(result, "write_rate"), "/s");
        print_bytes(out, "Written / runtime:", tt_result_metric(result, "application_rate"), "/s");
        fprintf(out, "%-22s %.6f s\n", "Copy time:", tt_result_metric(result, "copy_time"));
    }
    if (read > 0) {
        print_bytes(out, "Read:", read, "");
        print_bytes(out, "Read throughput:", tt_result_metric(result, "read_rate"), "/s");
    }
    print_bytes(out, "Communicated:", tt_result_metric(result, "bytes_communicated"), "");
    fprintf(out, "%-22s %.3f GFLOP/s\n",
            "Floating-point rate:", tt_result_metric(result, "flop_rate") / 1e9);
    fprintf(out, "%-22s %.1f %%\n", "CPU:", 100 * tt_result_metric(result, "cpu_share"));
    fprintf(out, "%-22s %.15e\n", "Norm of error:", tt_result_metric(result, "residual"));
    print_sample(out, result);
}

static int run(struct tt_invocation *call, struct tt_error *e)
{
    struct tt_settings settings = {0};
    int rc = tt_numio_translate(call->opts, &call->settings, &settings, e);

    if (rc == TT_OK)
        rc = tt_run_settings("stencil", &settings, (struct tt_printer){print_result, NULL});
    tt_settings_free(&settings);
    return rc;
}

const struct tt_command tt_command_numio = {
    .name = "numio",
    .summary = "run with the options of numio",
    .synopsis = "[mpirun -n RANKS] tutti numio -m iter=I,size=N,pert=1|2 [-w ...] [...]",
    .text = "Run the stencil with the options of numio, and print what numio prints.",
    .run = run,
    .options = &tt_numio_options,
    .job = &tt_run_component,
    .also = "run, stencil",
    .as_ranks = true,
};
