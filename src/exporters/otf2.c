/* SPDX-License-Identifier: GPL-3.0-or-later */
/* needs: otf2 (package libopen-trace-format2-dev) */
/* The Open Trace Format 2: a process per rank below its host, a location per thread, a region per
 * phase and per call. Requests in flight overlap each other, which Enter and Leave of one location
 * must not: each lane of them (analysis/spans.h) is a location of its own. */
#include <otf2/otf2.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "io/module.h"
#include "report/exporter.h"

#define EVENTS_CHUNK (1 << 20)
#define DEFINITIONS_CHUNK (4 << 20)
#define NREGIONS (TT_NPHASES + TT_NCALLS)
enum { REQUEST }; /* attributes */

struct otf2 {
    OTF2_Archive *archive;
    OTF2_GlobalDefWriter *definitions;
    const struct tt_spans *spans;
    uint64_t locations; /* so far */
    uint32_t strings, hosts;
    const char **host_names; /* below the root, in the order of their nodes */
    struct tt_error *e;
    int rc;
};

/* The first failure counts. */
static void check(struct otf2 *o, OTF2_ErrorCode code, const char *what)
{
    if (code != OTF2_SUCCESS && o->rc == TT_OK)
        o->rc =
            tt_fail(o->e, TT_FAILED, "OTF2 cannot %s: %s", what, OTF2_Error_GetDescription(code));
}

/* The library would print. */
static OTF2_ErrorCode keep_silent(void *context, const char *file, uint64_t line,
                                  const char *function, OTF2_ErrorCode code, const char *format,
                                  va_list arguments)
{
    (void)file, (void)line, (void)function, (void)format, (void)arguments;
    if (code != OTF2_WARNING && code != OTF2_DEPRECATED)
        check(context, code, "write the trace");
    return code;
}

static OTF2_FlushType flush(void *data, OTF2_FileType type, OTF2_LocationRef location, void *caller,
                            bool final)
{
    (void)data, (void)type, (void)location, (void)caller, (void) final;
    return OTF2_FLUSH;
}

static OTF2_StringRef string(struct otf2 *o, const char *text)
{
    check(o, OTF2_GlobalDefWriter_WriteString(o->definitions, o->strings, text), "write a string");
    return o->strings++;
}

/* ---- events ---- */

static OTF2_RegionRef region_of(const struct tt_timed_span *s)
{
    return tt_span_is_phase(s->kind) ? s->kind : TT_NPHASES + s->kind - TT_SPAN_CALL;
}

static bool is_known(const struct tt_timed_span *s)
{
    return s->kind < TT_NPHASES || (s->kind >= TT_SPAN_CALL && s->kind < TT_SPAN_CALL + TT_NCALLS);
}

struct open_span {
    uint64_t end_ns;
    OTF2_RegionRef region;
};

/* Spans of a track nest; one of a damaged record that does not is cut where the one around it ends.
 */
static void write_track(struct otf2 *o, OTF2_EvtWriter *to, const struct tt_timed_span *list,
                        size_t n, struct open_span *open, OTF2_AttributeList *attributes)
{
    size_t depth = 0;

    for (size_t i = 0; i <= n; i++) {
        uint64_t now = i < n ? list[i].start_ns : UINT64_MAX, end;

        for (; depth && open[depth - 1].end_ns <= now; depth--)
            check(o, OTF2_EvtWriter_Leave(to, NULL, open[depth - 1].end_ns, open[depth - 1].region),
                  "write an event");
        if (i == n || !is_known(&list[i]))
            continue;
        if (list[i].id)
            OTF2_AttributeList_AddUint64(attributes, REQUEST, list[i].id);
        check(o, OTF2_EvtWriter_Enter(to, attributes, now, region_of(&list[i])), "write an event");
        end = now + list[i].duration_ns;
        if (depth && end > open[depth - 1].end_ns)
            end = open[depth - 1].end_ns;
        open[depth++] = (struct open_span){end, region_of(&list[i])};
    }
}

/* ---- definitions ---- */

static void define_regions(struct otf2 *o)
{
    OTF2_StringRef none = string(o, "");

    for (unsigned i = 0; i < NREGIONS; i++) {
        bool phase = i < TT_NPHASES;
        const char *name = phase ? tt_phase_names[i] : tt_call_names[i - TT_NPHASES];
        OTF2_RegionRole role = OTF2_REGION_ROLE_FILE_IO;
        char shown[64];

        if (!strcmp(name, "compute") || !strcmp(name, "copy") || !strcmp(name, "other"))
            role = OTF2_REGION_ROLE_CODE;
        else if (!strcmp(name, "halo"))
            role = OTF2_REGION_ROLE_POINT2POINT;
        else if (!strcmp(name, "collective"))
            role = OTF2_REGION_ROLE_COLL_OTHER;
        snprintf(shown, sizeof shown, "%s%s", phase ? "" : "call ", name);
        check(o,
              OTF2_GlobalDefWriter_WriteRegion(
                  o->definitions, i, string(o, shown), string(o, name),
                  string(o, phase ? tt_phase_texts[i] : tt_call_texts[i - TT_NPHASES]), role,
                  OTF2_PARADIGM_USER, OTF2_REGION_FLAG_NONE, none, 0, 0),
              "define a region");
    }
    check(o,
          OTF2_GlobalDefWriter_WriteAttribute(o->definitions, REQUEST, string(o, "request"),
                                              string(o, "counts through the queue of its file"),
                                              OTF2_TYPE_UINT64),
          "define an attribute");
}

/* The node of the tree that is this host: 0 is the whole machine. */
static OTF2_SystemTreeNodeRef host_node(struct otf2 *o, const char *host)
{
    uint32_t i = 0;

    while (i < o->hosts && strcmp(o->host_names[i], host) != 0)
        i++;
    if (i == o->hosts) {
        o->host_names[o->hosts++] = host;
        check(o,
              OTF2_GlobalDefWriter_WriteSystemTreeNode(o->definitions, i + 1, string(o, host),
                                                       string(o, "node"), 0),
              "define a host");
        check(o,
              OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(o->definitions, i + 1,
                                                             OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY),
              "define a host");
    }
    return i + 1;
}

static void define_all(struct otf2 *o, const char *title)
{
    const struct tt_spans *s = o->spans;

    check(o,
          OTF2_GlobalDefWriter_WriteClockProperties(o->definitions, 1000000000, 0, s->length_ns + 1,
                                                    (uint64_t)s->earliest_ns),
          "define the clock");
    define_regions(o);
    check(o,
          OTF2_GlobalDefWriter_WriteSystemTreeNode(o->definitions, 0, string(o, title),
                                                   string(o, "run"),
                                                   OTF2_UNDEFINED_SYSTEM_TREE_NODE),
          "define the machine");
}

/* ---- a rank after the other ---- */

static void define_rank(struct otf2 *o, const struct tt_rank_spans *r, uint32_t group)
{
    char name[32];

    snprintf(name, sizeof name, "rank %u", r->header->rank);
    check(o,
          OTF2_GlobalDefWriter_WriteLocationGroup(
              o->definitions, group, string(o, name), OTF2_LOCATION_GROUP_TYPE_PROCESS,
              host_node(o, r->header->host), OTF2_UNDEFINED_LOCATION_GROUP),
          "define a rank");
}

static int write_rank(struct otf2 *o, const struct tt_rank_spans *r, uint32_t group)
{
    struct open_span *open = calloc(r->n + 1, sizeof *open);
    OTF2_AttributeList *attributes = OTF2_AttributeList_New();

    define_rank(o, r, group);
    for (size_t t = 0; open && attributes && o->rc == TT_OK && t < r->ntracks; t++) {
        const struct tt_track *track = &r->tracks[t];
        OTF2_LocationRef location = o->locations++;
        OTF2_EvtWriter *events = OTF2_Archive_GetEvtWriter(o->archive, location);
        OTF2_DefWriter *own = OTF2_Archive_GetDefWriter(o->archive, location);
        uint64_t n = 0;

        if (!events || !own) {
            check(o, OTF2_ERROR_MEM_ALLOC_FAILED, "begin a thread");
            break;
        }
        write_track(o, events, r->list + track->first, track->n, open, attributes);
        OTF2_EvtWriter_GetNumberOfEvents(events, &n);
        check(o, OTF2_Archive_CloseEvtWriter(o->archive, events), "write events");
        check(o, OTF2_Archive_CloseDefWriter(o->archive, own), "write definitions");
        check(o,
              OTF2_GlobalDefWriter_WriteLocation(o->definitions, location, string(o, track->name),
                                                 OTF2_LOCATION_TYPE_CPU_THREAD, n, group),
              "define a thread");
    }
    if ((!open || !attributes) && o->rc == TT_OK)
        o->rc = tt_fail_nomem(o->e, "a trace");
    OTF2_AttributeList_Delete(attributes);
    free(open);
    return o->rc;
}

static void write_all(struct otf2 *o, const char *title)
{
    static const OTF2_FlushCallbacks flushing = {flush, NULL};
    char dropped[32];

    snprintf(dropped, sizeof dropped, "%llu", (unsigned long long)o->spans->dropped);
    check(o, OTF2_Archive_SetFlushCallbacks(o->archive, &flushing, NULL), "begin");
    check(o, OTF2_Archive_SetSerialCollectiveCallbacks(o->archive), "begin");
    check(o, OTF2_Archive_SetCreator(o->archive, "tutti"), "begin");
    check(o, OTF2_Archive_SetDescription(o->archive, title), "begin");
    check(o, OTF2_Archive_SetProperty(o->archive, "TUTTI::DROPPED", dropped, true), "begin");
    check(o, OTF2_Archive_OpenEvtFiles(o->archive), "open files");
    check(o, OTF2_Archive_OpenDefFiles(o->archive), "open files");
    o->definitions = OTF2_Archive_GetGlobalDefWriter(o->archive);
    if (o->definitions && o->rc == TT_OK)
        define_all(o, title);
    for (size_t i = 0; o->definitions && o->rc == TT_OK && i < o->spans->ranks.n; i++) {
        struct tt_rank_spans r;

        o->rc = tt_spans_load(o->spans, i, &r, o->e);
        if (o->rc == TT_OK) {
            write_rank(o, &r, (uint32_t)i);
            tt_rank_spans_free(&r);
        }
    }
    check(o, OTF2_Archive_CloseDefFiles(o->archive), "close files");
    check(o, OTF2_Archive_CloseEvtFiles(o->archive), "close files");
}

static int write_otf2(const char *directory, const char *title, const struct tt_spans *spans,
                      struct tt_error *e)
{
    struct otf2 o = {.spans = spans, .e = e, .rc = TT_OK};

    OTF2_Error_RegisterCallback(keep_silent, &o);
    o.host_names = calloc(spans->ranks.n + 1, sizeof *o.host_names);
    o.archive = OTF2_Archive_Open(directory, "traces", OTF2_FILEMODE_WRITE, EVENTS_CHUNK,
                                  DEFINITIONS_CHUNK, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (o.archive && o.host_names) {
        write_all(&o, title);
        check(&o, OTF2_Archive_Close(o.archive), "write the trace");
    } else if (o.rc == TT_OK) {
        o.rc = tt_fail_nomem(e, "a trace");
    }
    OTF2_Error_RegisterCallback(NULL, NULL);
    free(o.host_names);
    return o.rc;
}

static const struct tt_exporter tt_exporter_otf2 = {
    .name = "otf2",
    .summary = "Open Trace Format 2, for Vampir, Scalasca and otf2-print",
    .write = write_otf2,
};
TT_MODULE(.exporter = &tt_exporter_otf2);
