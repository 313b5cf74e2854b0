/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/rates.h"

#include <string.h>

#include "analysis/statistics.h"
#include "base/clock.h"
#include "base/json.h"

#define LEAST_INTERVALS 3
#define MOST_FILES 64 /* are kept apart */

/* The mean over the intervals, from the first or backwards from the last, that make up a quarter of
 * all: what a burst buffer takes is soon over, but may be much of the bytes. */
static double rate_of_quarter(const double *rates, unsigned n, bool last)
{
    double all = 0, sum = 0;
    unsigned k = 0;

    for (unsigned i = 0; i < n; i++)
        all += rates[i];
    while (k < n && sum < all / 4) {
        sum += rates[last ? n - 1 - k : k];
        k++;
    }
    return k ? sum / k : 0;
}

/* Transfers that begin or end within an interval leave a part of it empty, and its rate too low: it
 * counts only if it is above the one beside it all the same, as in a burst. */
static bool is_filled(const struct tt_timeline *t, unsigned i)
{
    uint64_t before = i > 0 ? t->slots[i - 1].bytes : 0, own = t->slots[i].bytes;
    uint64_t after = i + 1 < TT_TIMELINE_SLOTS ? t->slots[i + 1].bytes : 0;

    return own > 0 && (before > 0 || own > after) && (after > 0 || own > before);
}

bool tt_rate_summarize(const struct tt_timeline *t, struct tt_rate_summary *out)
{
    double rates[TT_TIMELINE_SLOTS];
    unsigned n = 0;

    for (unsigned i = 0; i < TT_TIMELINE_SLOTS; i++)
        if (is_filled(t, i))
            rates[n++] = (double)t->slots[i].bytes / tt_seconds(t->interval_ns);
    if (n < LEAST_INTERVALS)
        return false;
    out->intervals = n;
    out->head = rate_of_quarter(rates, n, false);
    out->tail = rate_of_quarter(rates, n, true);
    out->median = tt_median(rates, n); /* which sorts */
    out->min = rates[0];
    out->max = rates[n - 1];
    return true;
}

static json_t *summary_json(const struct tt_timeline *t)
{
    struct tt_rate_summary s;

    return tt_rate_summarize(t, &s)
               ? json_pack("{s:i, s:f, s:f, s:f, s:f, s:f}", "intervals", (int)s.intervals, "min",
                           s.min, "median", s.median, "max", s.max, "first_quarter", s.head,
                           "last_quarter", s.tail)
               : json_null();
}

/* Both directions with the same intervals, up to the last in which anything was moved. */
json_t *tt_rates_json(const struct tt_run_data *run)
{
    struct tt_timeline both = run->timelines[0], write, read;
    json_t *rows = json_array();
    unsigned last = TT_TIMELINE_SLOTS;
    int rc = 0;

    tt_timeline_merge(&both, &run->timelines[1]);
    if (both.interval_ns == 0) {
        json_decref(rows);
        return json_null();
    }
    write = read = (struct tt_timeline){.interval_ns = both.interval_ns};
    tt_timeline_merge(&write, &run->timelines[0]);
    tt_timeline_merge(&read, &run->timelines[1]);
    while (last > 0 && !both.slots[last - 1].bytes && !both.slots[last - 1].calls)
        last--;
    for (unsigned i = 0; rc == 0 && i < last; i++)
        rc = json_array_append_new(
            rows, json_pack("[f, I, I, I, I]", (double)((int64_t)i * both.interval_ns) / 1e9,
                            (json_int_t)write.slots[i].bytes, (json_int_t)write.slots[i].calls,
                            (json_int_t)read.slots[i].bytes, (json_int_t)read.slots[i].calls));
    return json_pack("{s:f, s:[s, s, s, s, s], s:o, s:o, s:o}", "interval",
                     tt_seconds(both.interval_ns), "columns", "start", "bytes_written",
                     "write_calls", "bytes_read", "read_calls", "rows", tt_json_unless(rc, rows),
                     "write", summary_json(&run->timelines[0]), "read",
                     summary_json(&run->timelines[1]));
}

/* ---- files ---- */

static json_t *find_file(json_t *all, const char *path)
{
    json_t *file;
    size_t i;

    json_array_foreach(all, i, file) if (!strcmp(tt_text_of(file, "path"), path)) return file;
    return NULL;
}

/* Where a file's figures go: to an entry of its own, or when there are many, that of all others. */
static json_t *file_of(json_t *all, const char *path)
{
    json_t *file = find_file(all, path);

    if (!file && json_array_size(all) >= MOST_FILES)
        file = find_file(all, path = "");
    if (!file)
        json_array_append_new(all,
                              file = json_pack("{s:s, s:[], s:[]}", "path", path, "write", "read"));
    return file;
}

/* Three numbers, as records should have them. */
static bool is_row(const json_t *row)
{
    return json_array_size(row) == 3 && json_is_integer(json_array_get(row, 0)) &&
           json_is_integer(json_array_get(row, 1)) && json_is_integer(json_array_get(row, 2));
}

/* Adds to [[from, below, requests], ...], both in rising order of sizes. */
static int add_sizes(json_t *into, const json_t *from)
{
    const json_t *row;
    size_t i, at = 0;
    int rc = 0;

    json_array_foreach(from, i, row)
    {
        json_int_t size = json_integer_value(json_array_get(row, 0)), sum;
        const json_t *old;

        if (!is_row(row))
            continue;
        while ((old = json_array_get(into, at)) &&
               json_integer_value(json_array_get(old, 0)) < size)
            at++;
        if (old && json_integer_value(json_array_get(old, 0)) == size &&
            !__builtin_add_overflow(json_integer_value(json_array_get(old, 2)),
                                    json_integer_value(json_array_get(row, 2)), &sum))
            rc |= json_integer_set(json_array_get(old, 2), sum);
        else
            rc |= json_array_insert_new(into, at, json_deep_copy(row));
    }
    return rc;
}

/* Numbers that the file system told, of files that have an entry of their own. */
static int add_striping(const struct tt_run_data *run, json_t *all)
{
    static const char *const keys[][2] = {{"count", "stripe_count"}, {"size", "stripe_size"}};
    const json_t *known = run->nranks ? json_object_get(run->ranks[0].summary, "striping") : NULL;
    const json_t *one;
    size_t i;
    int rc = 0;

    json_array_foreach(known, i, one)
    {
        json_t *file = file_of(all, tt_text_of(one, "path"));

        for (int k = 0; k < 2 && *tt_text_of(file, "path"); k++)
            if (tt_integer_of(one, keys[k][0]) > 0)
                rc |= json_object_set(file, keys[k][1], json_object_get(one, keys[k][0]));
    }
    return rc;
}

int tt_files_add(json_t *all, const json_t *requests)
{
    const json_t *one;
    size_t i;
    int rc = 0;

    json_array_foreach(requests, i, one)
    {
        json_t *file = file_of(all, tt_text_of(one, "path"));

        rc |= !file || add_sizes(json_object_get(file, "write"), json_object_get(one, "write"));
        rc |= !file || add_sizes(json_object_get(file, "read"), json_object_get(one, "read"));
    }
    return rc;
}

json_t *tt_files_json(const struct tt_run_data *run)
{
    json_t *all = json_deep_copy(run->files);

    return tt_json_unless(add_striping(run, all), all);
}
