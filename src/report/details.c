/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/details.h"

#include "base/json.h"
#include "base/text.h"

/* ---- one function a kind: its rows, each of which begins with the run's id ---- */

static void add_numbers(struct tt_outfile *f, const json_t *row)
{
    const json_t *cell;
    size_t i;

    json_array_foreach(row, i, cell) tt_csv_number(f, json_number_value(cell), 0);
    tt_csv_end_row(f);
}

static void add_latencies(struct tt_outfile *f, const char *id, const json_t *calls)
{
    const char *call;
    json_t *one;

    json_object_foreach((json_t *)calls, call, one)
    {
        const json_t *row;
        size_t i;

        json_array_foreach(json_object_get(one, "histogram"), i, row)
        {
            tt_csv_text(f, id);
            tt_csv_text(f, call);
            add_numbers(f, row);
        }
    }
}

static void add_rates(struct tt_outfile *f, const char *id, const json_t *rates)
{
    double interval = tt_number_of(rates, "interval");
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(rates, "rows"), i, row)
    {
        tt_csv_text(f, id);
        tt_csv_number(f, json_number_value(json_array_get(row, 0)), 3);
        tt_csv_number(f, interval, 3);
        for (size_t k = 1; k < json_array_size(row); k++)
            tt_csv_number(f, json_number_value(json_array_get(row, k)), 0);
        tt_csv_end_row(f);
    }
}

static void add_requests(struct tt_outfile *f, const char *id, const json_t *files)
{
    static const char *const directions[] = {"write", "read"};
    const json_t *file, *row;
    size_t i, k;

    json_array_foreach(files, i, file) for (int d = 0; d < 2; d++)
        json_array_foreach(json_object_get(file, directions[d]), k, row)
    {
        tt_csv_text(f, id);
        tt_csv_text(f, tt_text_of(file, "path"));
        tt_csv_text(f, directions[d]);
        add_numbers(f, row);
    }
}

static const struct {
    const char *name; /* in JSON, as in result.json */
    const char *titles;
    void (*add)(struct tt_outfile *f, const char *id, const json_t *part);
} kinds[] = {
    [TT_DETAIL_LATENCIES] = {"calls", "id,call,from_ns,below_ns,count", add_latencies},
    [TT_DETAIL_RATES] = {"rates",
                         "id,start_s,interval_s,bytes_written,write_calls,bytes_read,read_calls",
                         add_rates},
    [TT_DETAIL_REQUESTS] = {"files", "id,file,direction,from_bytes,below_bytes,count",
                            add_requests},
};

int tt_details_open(struct tt_details *d, const char *path, bool json, enum tt_detail kind,
                    struct tt_error *e)
{
    int rc;

    *d = (struct tt_details){.json = json, .kind = kind, .before = ""};
    rc = tt_outfile_open(&d->out, path, e);
    if (rc == TT_OK && json)
        fputs("{\"runs\": [", d->out.stream);
    else if (rc == TT_OK)
        fprintf(d->out.stream, "%s\n", kinds[kind].titles);
    return rc;
}

int tt_details_add(struct tt_details *d, const json_t *result, struct tt_error *e)
{
    const json_t *part = json_object_get(result, kinds[d->kind].name);
    const char *id = tt_text_of(result, "id");
    json_t *run;
    int bad;

    if (!d->json) {
        kinds[d->kind].add(&d->out, id, part);
        return TT_OK;
    }
    run = json_pack("{s:o, s:O?}", "id", tt_json_text(id), kinds[d->kind].name, part);
    fprintf(d->out.stream, "%s\n", d->before);
    d->before = ",";
    bad = !run || tt_json_print(d->out.stream, run, 0) != 0;
    json_decref(run);
    return bad ? tt_fail_nomem(e, "a run") : TT_OK;
}

int tt_details_close(struct tt_details *d, int rc, struct tt_error *e)
{
    if (rc != TT_OK)
        return tt_outfile_discard(&d->out, rc);
    if (d->json)
        fputs("\n]}\n", d->out.stream);
    return tt_outfile_close(&d->out, e);
}
