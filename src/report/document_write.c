/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A document as JSON. The tree is walked and not copied: its arrays of numbers may be large. */
#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "report/document.h"

#define MOST_INLINE 64    /* numbers; more of them are a column of the page */
#define CHUNK (3 * 16384) /* bytes, which make whole groups of base64 */

struct writer {
    const struct tt_document *d;
    FILE *out;
    bool plain;
    size_t ncolumns; /* of the page, so far */
    size_t *written; /* their numbers in the document */
    int rc;
    struct tt_error *e;
};

/* ---- columns ---- */

static const struct {
    const char *name;
    size_t size;
} types[] = {[TT_NUMBER_F64] = {"f64", 8},
             [TT_NUMBER_F32] = {"f32", 4},
             [TT_NUMBER_U32] = {"u32", 4},
             [TT_NUMBER_U8] = {"u8", 1}};

/* Little-endian bytes of the numbers from `at` on, as many as fit; returns their number. */
static size_t pack(const struct tt_numbers *c, size_t at, unsigned char *bytes)
{
    size_t size = types[c->type].size, n = c->n - at, room = CHUNK / size;

    n = n < room ? n : room;
    memcpy(bytes, (const unsigned char *)c->values + at * size, n * size);
#if __BYTE_ORDER == __BIG_ENDIAN
    for (size_t i = 0; i < n * size; i += size)
        for (size_t k = 0; k < size / 2; k++) {
            unsigned char byte = bytes[i + k];

            bytes[i + k] = bytes[i + size - 1 - k];
            bytes[i + size - 1 - k] = byte;
        }
#endif
    return n;
}

/* At most CHUNK bytes. */
static void put_base64(FILE *out, const unsigned char *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char text[CHUNK / 3 * 4], *to = text;

    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i;
        unsigned bits = (unsigned)bytes[i] << 16 | (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0) |
                        (left > 2 ? bytes[i + 2] : 0);

        *to++ = digits[bits >> 18];
        *to++ = digits[bits >> 12 & 63];
        *to++ = left > 1 ? digits[bits >> 6 & 63] : '=';
        *to++ = left > 2 ? digits[bits & 63] : '=';
    }
    fwrite(text, 1, (size_t)(to - text), out);
}

/* Deflates what is given; whole chunks of the output, or with `flush` all of it, are written. */
static void deflate_some(z_stream *z, int flush, unsigned char *room, FILE *out)
{
    int rc;

    do {
        rc = deflate(z, flush);
        if (z->avail_out == 0 || (flush == Z_FINISH && rc == Z_STREAM_END)) {
            put_base64(out, room, CHUNK - z->avail_out);
            z->next_out = room;
            z->avail_out = CHUNK;
        }
    } while (z->avail_in > 0 || (flush == Z_FINISH && rc == Z_OK));
}

static void put_column(struct writer *w, const struct tt_numbers *c)
{
    unsigned char *bytes = malloc(2 * CHUNK);
    z_stream z = {0};

    if (!bytes || deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8,
                               Z_DEFAULT_STRATEGY) != Z_OK) {
        w->rc = tt_fail_nomem(w->e, "a column of a report");
        free(bytes);
        return;
    }
    fprintf(w->out, "{\"type\":\"%s\",\"n\":%zu,\"data\":\"", types[c->type].name, c->n);
    z.next_out = bytes + CHUNK;
    z.avail_out = CHUNK;
    for (size_t at = 0, n; at < c->n; at += n) {
        n = pack(c, at, bytes);
        z.next_in = bytes;
        z.avail_in = (unsigned)(n * types[c->type].size);
        deflate_some(&z, Z_NO_FLUSH, bytes + CHUNK, w->out);
    }
    deflate_some(&z, Z_FINISH, bytes + CHUNK, w->out);
    fputs("\"}", w->out);
    deflateEnd(&z);
    free(bytes);
}

static void put_columns(struct writer *w)
{
    fputc('[', w->out);
    for (size_t i = 0; i < w->ncolumns && w->rc == TT_OK; i++) {
        fputs(i ? ",\n" : "", w->out);
        put_column(w, &w->d->columns[w->written[i]]);
    }
    fputc(']', w->out);
}

/* ---- everything else ---- */

const char *tt_number_text(double value, char out[32])
{
    out[0] = '\0';
    if (isfinite(value))
        snprintf(out, 32, "%.15g", value);
    if (*out && strtod(out, NULL) != value)
        snprintf(out, 32, "%.17g", value);
    return out;
}

static void put_number(FILE *out, double value)
{
    char text[32];

    fputs(isfinite(value) ? tt_number_text(value, text) : "null", out);
}

static void put_numbers(struct writer *w, const json_t *numbers, size_t column)
{
    size_t n = tt_numbers_count(w->d, numbers);

    if (!w->plain && n > MOST_INLINE && w->ncolumns < w->d->ncolumns) {
        fprintf(w->out, "{\"column\":%zu}", w->ncolumns);
        w->written[w->ncolumns++] = column;
        return;
    }
    fputc('[', w->out);
    for (size_t i = 0; i < n; i++) {
        fputs(i ? "," : "", w->out);
        put_number(w->out, tt_numbers_at(w->d, numbers, i));
    }
    fputc(']', w->out);
}

/* A piece of text as JSON in ASCII, in which no tag can begin or end. */
static void put_text(struct writer *w, const char *text)
{
    json_t *value = json_string(text);
    char *escaped = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);

    json_decref(value);
    if (!escaped) {
        w->rc = tt_fail_nomem(w->e, "a report");
        return;
    }
    for (const char *c = escaped; *c; c++) {
        if (*c == '<' || *c == '>' || *c == '&')
            fprintf(w->out, "\\u%04x", (unsigned)*c);
        else
            fputc(*c, w->out);
    }
    free(escaped);
}

static void put(struct writer *w, const json_t *value);

static void put_members(struct writer *w, json_t *object)
{
    const char *before = "", *key;
    json_t *member;

    fputc('{', w->out);
    json_object_foreach(object, key, member)
    {
        fputs(before, w->out);
        put_text(w, key);
        fputc(':', w->out);
        if (object == w->d->root && !strcmp(key, "columns"))
            put_columns(w);
        else
            put(w, member);
        before = object == w->d->root ? ",\n" : ",";
    }
    fputc('}', w->out);
}

static void put(struct writer *w, const json_t *value)
{
    const json_t *column = json_object_get(value, "column"), *item;
    size_t i;

    if (json_is_integer(column)) {
        put_numbers(w, value, (size_t)json_integer_value(column));
    } else if (json_is_object(value)) {
        put_members(w, (json_t *)value);
    } else if (json_is_array(value)) {
        fputc('[', w->out);
        json_array_foreach(value, i, item)
        {
            fputs(i ? "," : "", w->out);
            put(w, item);
        }
        fputc(']', w->out);
    } else if (json_is_string(value)) {
        put_text(w, json_string_value(value));
    } else if (json_is_number(value)) {
        put_number(w->out, json_number_value(value));
    } else {
        fputs(json_is_true(value) ? "true" : json_is_false(value) ? "false" : "null", w->out);
    }
}

int tt_document_write(const struct tt_document *d, bool plain, FILE *out, struct tt_error *e)
{
    struct writer w = {d, out, plain, .written = calloc(d->ncolumns + 1, sizeof *w.written),
                       .e = e};

    if (d->failed || !w.written)
        w.rc = tt_fail_nomem(e, "a report");
    else
        put(&w, d->root);
    free(w.written);
    return w.rc;
}
