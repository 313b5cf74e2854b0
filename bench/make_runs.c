/* SPDX-License-Identifier: GPL-3.0-or-later */
/* make_runs RUN RESULTS RUNS RANKS FRAMES: copies of a finished run, whose ranks spent random times
 * writing. The runs differ by 3 %, their frames by 10 %, from a fixed seed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <gsl/gsl_randist.h>

#include "analysis/statistics.h"
#include "record/records.h"

static int fail(const char *what)
{
    perror(what);
    return -1;
}

static int copy(const char *from, const char *to, const char *name)
{
    char path[4096], data[1 << 18];
    FILE *in, *out;
    size_t n;

    snprintf(path, sizeof path, "%s/%s", from, name);
    in = fopen(path, "r");
    if (!in)
        return fail(path);
    n = fread(data, 1, sizeof data, in);
    fclose(in);
    snprintf(path, sizeof path, "%s/%s", to, name);
    out = fopen(path, "w");
    if (!out || fwrite(data, 1, n, out) != n || fclose(out) != 0)
        return fail(path);
    return 0;
}

static void write_rank(FILE *out, uint32_t rank, uint32_t ranks, size_t frames, double level,
                       gsl_rng *rng)
{
    const struct tt_records_header h = {.rank = rank, .size = ranks, .state = TT_RANK_DONE};
    struct tt_chunk_header chunk = {
        .type = TT_CHUNK_RANK, .slot = rank, .rank = rank, .length = sizeof h};

    fwrite(&chunk, sizeof chunk, 1, out);
    fwrite(&h, sizeof h, 1, out);
    chunk.type = TT_CHUNK_ITERATIONS;
    chunk.item = sizeof(struct tt_iteration_record);
    chunk.length = frames * sizeof(struct tt_iteration_record);
    fwrite(&chunk, sizeof chunk, 1, out);
    for (size_t i = 0; i < frames; i++) {
        struct tt_iteration_record it = {.iteration = i + 1, .bytes_written = 4096};

        it.phase_ns[TT_IO_WRITE] = (uint64_t)(1e6 * level * gsl_ran_lognormal(rng, 0, 0.1));
        fwrite(&it, sizeof it, 1, out);
    }
}

/* One node has all ranks. */
static int write_records(const char *run, uint32_t ranks, size_t frames, double level, gsl_rng *rng)
{
    const struct tt_records_start start = {TT_RECORDS_MAGIC, TT_NPHASES};
    char path[4096];
    FILE *out;

    snprintf(path, sizeof path, "%s/records/node.ttr", run);
    out = fopen(path, "w");
    if (!out)
        return fail(path);
    fwrite(&start, sizeof start, 1, out);
    for (uint32_t r = 0; r < ranks; r++)
        write_rank(out, r, ranks, frames, level, rng);
    return fclose(out) == 0 ? 0 : fail(path);
}

int main(int argc, char **argv)
{
    gsl_rng *rng = tt_make_rng(1);
    int rc = argc == 6 && rng ? 0 : -1;
    unsigned long numbers[3] = {0}; /* of runs, ranks, frames */

    for (int i = 0; rc == 0 && i < 3; i++)
        numbers[i] = strtoul(argv[3 + i], NULL, 10);
    for (unsigned long i = 0; rc == 0 && i < numbers[0]; i++) {
        double level = gsl_ran_lognormal(rng, 0, 0.03);
        char run[2048], records[2100];

        snprintf(run, sizeof run, "%s/run-%lu", argv[2], i);
        snprintf(records, sizeof records, "%s/records", run);
        if (mkdir(run, 0777) != 0 || mkdir(records, 0777) != 0)
            rc = fail(run);
        if (rc == 0)
            rc = copy(argv[1], run, "plan.json") | copy(argv[1], run, "result.json");
        if (rc == 0)
            rc = write_records(run, (uint32_t)numbers[1], numbers[2], level, rng);
    }
    gsl_rng_free(rng);
    return rc == 0 ? 0 : 1;
}
