/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workloads/bulk/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/agree.h"
#include "engine/counts.h"
#include "spec/units.h"

static char *in_directory_of(const char *path, uint64_t rank)
{
    const char *slash = strrchr(path, '/');
    int head = slash ? (int)(slash - path) : 1;
    char *out;

    return asprintf(&out, "%.*s/%llu/%s", head, slash ? path : ".", (unsigned long long)rank,
                    slash ? slash + 1 : path) < 0
               ? NULL
               : out;
}

char *tt_bulk_path_of(struct tt_bulk *b, uint64_t rank, uint64_t repetition)
{
    const struct tt_bulk_options *o = b->options;
    char *base =
        tt_data_path_of(b->engine, o->paths.n ? o->paths.words[rank % o->paths.n] : NULL, "bulk");
    char number[32] = "", repeated[32] = "", *placed, *out = NULL;

    if (o->files)
        snprintf(number, sizeof number, ".%08llu", (unsigned long long)rank);
    if (o->numbered)
        snprintf(repeated, sizeof repeated, ".%llu", (unsigned long long)repetition);
    placed = base && o->own_directories ? in_directory_of(base, rank) : base;
    if (placed != base)
        free(base);
    if (placed && asprintf(&out, "%s%s%s", placed, number, repeated) < 0)
        out = NULL;
    free(placed);
    return out;
}

/* How many transfers an existing file holds where it is nothing but the data. */
static int count_from_size(struct tt_bulk *b, const char *path, uint64_t *there, struct tt_error *e)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return tt_fail_call(e, errno, "stat", path, -1);
    *there = (uint64_t)st.st_size / b->options->transfer;
    if (*there > b->places)
        *there = b->places;
    if (*there == 0)
        return tt_fail(e, TT_FAILED,
                       "'%s' holds %lld bytes, less than a transfer: choose a smaller one", path,
                       (long long)st.st_size);
    return TT_OK;
}

/* Collective: what there is of every rank, in a file that may end anywhere. */
static void share_out(struct tt_bulk *b, uint64_t there)
{
    const struct tt_bulk_options *o = b->options;

    if (!o->files)
        MPI_Allreduce(MPI_IN_PLACE, &there, 1, MPI_UINT64_T, MPI_MIN, b->engine->comm);
    b->places = o->files ? 0 : there;
    there = tt_bulk_part(o, there, b->ranks, b->rank);
    MPI_Allgather(&there, 1, MPI_UINT64_T, b->written, 1, MPI_UINT64_T, b->engine->comm);
    b->transfers = 0;
    for (uint64_t i = 0; i < b->ranks; i++)
        b->transfers = b->written[i] > b->transfers ? b->written[i] : b->transfers;
}

/* Unless a deadline or a count says that less than everything is to be expected. */
static void warn_of_short_files(struct tt_bulk *b)
{
    const struct tt_bulk_options *o = b->options;
    uint64_t planned = tt_bulk_transfers(o), least = planned;
    char some[TT_UNIT_TEXT], all[TT_UNIT_TEXT];

    for (uint64_t i = 0; i < b->ranks; i++)
        least = b->written[i] < least ? b->written[i] : least;
    if (least < planned && o->deadline <= 0 && b->engine->rank == 0)
        tt_warning(b->engine,
                   "short files: there were only %s of the %s that each rank was to read",
                   tt_format_bytes((double)(least * o->transfer), some),
                   tt_format_bytes((double)(planned * o->transfer), all));
}

static bool is_plain_file(const struct tt_bulk *b)
{
    return tt_stack_caps(&b->engine->config->stack) & TT_CAP_RAW;
}

int tt_bulk_look_at_old_files(struct tt_bulk *b, struct tt_error *e)
{
    char *path = tt_bulk_path_of(b, b->rank, 0);
    bool by_size =
        !b->options->count_file && is_plain_file(b) && b->options->order != TT_BULK_REPEATED;
    uint64_t there = b->transfers, least;
    int rc = path ? TT_OK : tt_fail_nomem(e, "a path");

    if (rc == TT_OK && b->options->count_file)
        rc = tt_counts_load(b->options->count_file, &there, e);
    else if (rc == TT_OK && by_size)
        rc = count_from_size(b, path, &there, e);
    free(path);
    rc = tt_agree(b->engine->comm, rc, e);
    if (rc != TT_OK)
        return rc;
    if (by_size) {
        share_out(b, there);
    } else {
        MPI_Allreduce(&there, &least, 1, MPI_UINT64_T, MPI_MIN, b->engine->comm);
        for (uint64_t i = 0; i < b->ranks; i++)
            b->written[i] = least < b->transfers ? least : b->transfers;
    }
    if (!b->options->count_file)
        warn_of_short_files(b);
    return TT_OK;
}

int tt_bulk_make_room(struct tt_bulk *b, const char *path, struct tt_error *e)
{
    int rc = TT_OK;

    if (b->options->files || b->engine->rank == 0)
        rc = tt_data_remove(b->engine, path, e);
    if (rc == TT_OK && b->options->own_directories) {
        char *directory = strndup(path, (size_t)(strrchr(path, '/') - path));

        rc =
            directory ? tt_data_own_directory(b->engine, directory, e) : tt_fail_nomem(e, "a path");
        free(directory);
    }
    return tt_agree(b->engine->comm, rc, e);
}

int tt_bulk_look_at_cache(struct tt_bulk *b, const struct tt_bulk_access_state *a,
                          struct tt_error *e)
{
    const struct tt_bulk_options *o = b->options;
    /* Whether places may be read that nobody has written. Libraries leave gaps between their own.
     */
    bool may_read_holes =
        is_plain_file(b) && ((!o->write && !o->count_file) || o->order == TT_BULK_REPEATED);
    struct tt_error ignored = TT_ERROR_CLEAR;
    int fd = open(a->path, O_RDONLY | O_CLOEXEC);
    int64_t resident = -1;
    uint64_t bytes;
    off_t hole;
    int rc = TT_OK;

    if (fd < 0)
        return TT_OK; /* opening it for reading will say why */
    if (o->cold)
        rc = tt_data_cached(b->engine, a->path, true, &bytes, &resident, e);
    if (rc == TT_OK && a->kind == TT_BULK_READ) {
        if (!o->cold &&
            tt_data_cached(b->engine, a->path, false, &bytes, &resident, &ignored) != TT_OK)
            resident = -1;
        b->cache_unknown = b->cache_unknown || resident < 0;
        if (resident > 0 && (o->files || b->engine->rank == 0))
            b->cached += (double)resident;
        hole = may_read_holes ? lseek(fd, 0, SEEK_HOLE) : -1;
        b->holes = b->holes || (hole >= 0 && hole < lseek(fd, 0, SEEK_END));
    }
    close(fd);
    return rc;
}
