/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What frames took on all ranks. */
#include <stdlib.h>

#include "base/agree.h"
#include "workloads/frames/job.h"

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double sort_and_take_middle(double *seconds, uint64_t n)
{
    qsort(seconds, n, sizeof *seconds, by_value);
    return (seconds[(n - 1) / 2] + seconds[n / 2]) / 2;
}

void tt_frames_row_times(double *row, double *seconds, uint64_t ranks)
{
    static const int columns[] = {TT_FRAMES_MEDIAN_S, TT_FRAMES_CONVERT_S, TT_FRAMES_OPEN_S,
                                  TT_FRAMES_TRANSFER_S, TT_FRAMES_SYNC_S};

    for (int part = 0; part < TT_FRAMES_NPARTS; part++)
        row[columns[part]] = sort_and_take_middle(seconds + (uint64_t)part * ranks, ranks);
    row[TT_FRAMES_LEAST_S] = seconds[0];
    row[TT_FRAMES_MOST_S] = seconds[ranks - 1];
}

static void times_of(const struct tt_frames_job *f, bool reading, uint64_t frame, double *parts)
{
    const struct tt_step_times *t = reading ? &f->read[frame] : &f->written[frame];
    const struct tt_frames_options *o = f->options;

    parts[TT_FRAMES_CONVERTING] = reading ? 0 : f->converting[frame];
    parts[TT_FRAMES_OPENING] = tt_seconds(t->open_ns);
    parts[TT_FRAMES_TRANSFERRING] = tt_seconds(reading ? t->read_ns : t->write_ns);
    parts[TT_FRAMES_SYNCING] = tt_seconds(t->sync_ns);
    parts[TT_FRAMES_TOTAL] = parts[TT_FRAMES_TRANSFERRING] + parts[TT_FRAMES_SYNCING];
    if (o->timed_convert)
        parts[TT_FRAMES_TOTAL] += parts[TT_FRAMES_CONVERTING];
    if (o->style == TT_FRAMES_FILES_AND_OPEN)
        parts[TT_FRAMES_TOTAL] += parts[TT_FRAMES_OPENING];
}

/* Collective. */
static void gather_row(const struct tt_frames_job *f, bool reading, uint64_t frame, double *seconds,
                       double *row)
{
    const struct tt_frames_options *o = f->options;
    bool header = o->header > 0 && (tt_frames_has_files(o) || frame == 0);
    double parts[TT_FRAMES_NPARTS];
    uint64_t ranks = (uint64_t)f->engine->size;

    times_of(f, reading, frame, parts);
    for (int i = 0; i < TT_FRAMES_NPARTS; i++)
        MPI_Gather(&parts[i], 1, MPI_DOUBLE, seconds + (uint64_t)i * ranks, 1, MPI_DOUBLE, 0,
                   f->engine->comm);
    if (f->engine->rank != 0)
        return;
    row[TT_FRAMES_ACCESS] = reading;
    row[TT_FRAMES_FRAME] = (double)(frame + 1);
    row[TT_FRAMES_BYTES] = (double)(tt_frames_frame_bytes(&f->shape, o) + (header ? o->header : 0));
    row[TT_FRAMES_COUNTED] = frame >= o->drop_first;
    tt_frames_row_times(row, seconds, ranks);
}

int tt_frames_report(struct tt_frames_job *f, struct tt_error *e)
{
    uint64_t n = f->nwritten + f->nread;
    double *rows = calloc(n + 1, TT_FRAMES_NCOLUMNS * sizeof *rows);
    double *seconds = calloc((size_t)f->engine->size, TT_FRAMES_NPARTS * sizeof *seconds);
    int rc = tt_agree(f->engine->comm,
                      rows && seconds ? TT_OK : tt_fail_nomem(e, "the figures of frames"), e);
    int unknown = f->cache_unknown;

    for (uint64_t i = 0; rc == TT_OK && i < n; i++)
        gather_row(f, i >= f->nwritten, i < f->nwritten ? i : i - f->nwritten, seconds,
                   rows + i * TT_FRAMES_NCOLUMNS);
    if (rc == TT_OK && f->engine->rank == 0)
        tt_result_table(f->engine, "frames", (unsigned)n, TT_FRAMES_NCOLUMNS, rows);
    MPI_Allreduce(MPI_IN_PLACE, &unknown, 1, MPI_INT, MPI_MAX, f->engine->comm);
    if (f->options->read && !unknown)
        tt_result(f->engine, "bytes_cached", TT_RESULT_SUM, f->cached);
    free(rows);
    free(seconds);
    return rc;
}
