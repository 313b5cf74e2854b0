/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The result readable by people, its samples a row a line. */
#include <jansson.h>

#include "report/outfile.h"
#include "report/report.h"

static void write_key(FILE *f, const char *key, const char **separator)
{
    json_t *text = json_string(key);

    fprintf(f, "%s\n", *separator);
    json_dumpf(text, f, JSON_ENCODE_ANY);
    fputs(": ", f);
    json_decref(text);
    *separator = ",";
}

static void write_samples(FILE *f, const json_t *samples)
{
    const char *outer = "";
    json_t *rank, *row;
    size_t i, k;

    fputs("{\"columns\": ", f);
    json_dumpf(json_object_get(samples, "columns"), f, JSON_COMPACT);
    fputs(", \"ranks\": [", f);
    json_array_foreach(json_object_get(samples, "ranks"), i, rank)
    {
        const char *inner = "";

        fprintf(f, "%s\n{\"rank\": %lld, \"rows\": [", outer,
                (long long)json_integer_value(json_object_get(rank, "rank")));
        json_array_foreach(json_object_get(rank, "rows"), k, row)
        {
            fprintf(f, "%s\n", inner);
            json_dumpf(row, f, JSON_COMPACT);
            inner = ",";
        }
        fputs("]}", f);
        outer = ",";
    }
    fputs("]}", f);
}

int tt_report_json(const char *path, const json_t *result, const json_t *samples,
                   struct tt_error *e)
{
    const char *key, *separator = "";
    struct tt_outfile out;
    json_t *value;

    if (tt_outfile_open(&out, path, e) != TT_OK)
        return e->code;
    fputc('{', out.stream);
    json_object_foreach((json_t *)result, key, value)
    {
        write_key(out.stream, key, &separator);
        json_dumpf(value, out.stream, JSON_ENCODE_ANY | JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    }
    if (samples) {
        write_key(out.stream, "samples", &separator);
        write_samples(out.stream, samples);
    }
    fputs("\n}\n", out.stream);
    return tt_outfile_close(&out, e);
}
