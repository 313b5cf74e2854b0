/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The trace event format of Chrome: times in microseconds from the earliest span on. Spans of
 * nonblocking calls overlap each other, so they are not of a thread but events with an id. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/spans.h"
#include "base/json.h"
#include "base/text.h"
#include "report/outfile.h"
#include "report/report.h"

struct writing {
    FILE *f;
    unsigned rank;
    bool any;
    unsigned long long in_flight; /* so far, as their ids */
};

static void begin_event(struct writing *w, const char *phase, const char *name, const char *kind,
                        uint32_t thread, double at)
{
    fprintf(w->f,
            "%s\n{\"ph\": \"%s\", \"name\": \"%s\", \"cat\": \"%s\", \"pid\": %u, \"tid\": %u, "
            "\"ts\": %.3f",
            w->any ? "," : "", phase, name, kind, w->rank, thread, at);
    w->any = true;
}

static void write_in_flight(struct writing *w, const struct tt_timed_span *s, uint32_t thread)
{
    const char *const phases[] = {"b", "e"};

    w->in_flight++;
    for (int i = 0; i < 2; i++) {
        begin_event(w, phases[i], tt_span_name(s->kind), "in flight", thread,
                    (double)(s->start_ns + (i ? s->duration_ns : 0)) / 1000);
        fprintf(w->f, ", \"id\": \"%u.%llu\", \"args\": {\"request\": %llu}}", w->rank,
                w->in_flight, (unsigned long long)s->id);
    }
}

static void write_spans(struct writing *w, const struct tt_rank_spans *r)
{
    for (size_t i = 0; i < r->n; i++) {
        const struct tt_timed_span *s = &r->list[i];
        uint32_t thread = r->tracks[s->track].thread;

        if (s->flags & TT_SPAN_IN_FLIGHT) {
            write_in_flight(w, s, thread);
            continue;
        }
        begin_event(w, "X", tt_span_name(s->kind),
                    thread >= TT_TRACK_KERNELS  ? "device"
                    : tt_span_is_phase(s->kind) ? "phase"
                                                : "call",
                    thread, (double)s->start_ns / 1000);
        fprintf(w->f, ", \"dur\": %.3f", (double)s->duration_ns / 1000);
        if (s->id)
            fprintf(w->f, ", \"args\": {\"request\": %llu}", (unsigned long long)s->id);
        fputc('}', w->f);
    }
}

/* {"ph": "M"}: what a process or a thread is called. */
static int write_name(struct writing *w, const char *what, unsigned thread, json_t *name)
{
    char *text = name ? json_dumps(name, JSON_ENCODE_ANY) : NULL;

    if (text) {
        fprintf(w->f,
                "%s\n{\"ph\": \"M\", \"name\": \"%s\", \"pid\": %u, \"tid\": %u, \"args\": "
                "{\"name\": %s}}",
                w->any ? "," : "", what, w->rank, thread, text);
        w->any = true;
    }
    json_decref(name);
    free(text);
    return text ? 0 : -1;
}

static int write_names(struct writing *w, const struct tt_rank_spans *r)
{
    char rank[128];
    int bad;

    snprintf(rank, sizeof rank, "rank %u on %s", r->header->rank, r->header->host);
    bad = write_name(w, "process_name", 0, tt_json_text(rank));
    for (size_t i = 0; i < r->ntracks; i++)
        if (r->tracks[i].lane == 0)
            bad |=
                write_name(w, "thread_name", r->tracks[i].thread, tt_json_text(r->tracks[i].name));
    return bad;
}

static int write_trace(FILE *f, const struct tt_spans *spans, struct tt_error *e)
{
    struct writing w = {.f = f};
    int rc = TT_OK;

    fputs("{\"displayTimeUnit\": \"ms\", \"traceEvents\": [", f);
    for (size_t i = 0; rc == TT_OK && i < spans->ranks.n; i++) {
        struct tt_rank_spans r;

        rc = tt_spans_load(spans, i, &r, e);
        if (rc != TT_OK)
            break;
        w.rank = r.header->rank;
        write_spans(&w, &r);
        if (write_names(&w, &r) != 0)
            rc = tt_fail_nomem(e, "a trace");
        tt_rank_spans_free(&r);
    }
    fprintf(f, "\n], \"otherData\": {\"dropped\": %llu}}\n", (unsigned long long)spans->dropped);
    return rc;
}

int tt_report_trace(const char *path, const char *directory, struct tt_error *e)
{
    struct tt_outfile out;
    struct tt_spans spans;
    int rc = tt_spans_open_some(directory, &spans, e);

    if (rc != TT_OK)
        return rc;
    if ((rc = tt_outfile_open(&out, path, e)) == TT_OK) {
        rc = write_trace(out.stream, &spans, e);
        rc = rc == TT_OK ? tt_outfile_close(&out, e) : tt_outfile_discard(&out, rc);
    }
    tt_spans_close(&spans);
    return rc;
}
