/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The keys of a survey, and the stages that they make. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec/units.h"
#include "survey/survey.h"

#define AT(member) offsetof(struct tt_survey_options, member)
static const struct tt_param params[] = {
    {"parts", TT_PARAM_WORDS, AT(parts), "bandwidth,iops,sizes", NULL,
     "what is measured: bandwidth (naive and aged), iops, sizes (iops over the size of the data)"},
    {"nodes", TT_PARAM_COUNTS, AT(nodes), "1", "nodes", "numbers of nodes", 1, 1 << 20},
    {"processes", TT_PARAM_COUNTS, AT(processes), "1,2", "processes", "numbers of them on a node",
     1, 1 << 16},
    {"transfers", TT_PARAM_WORDS, AT(transfers), "4k,1m", NULL,
     "sizes of a request, for bandwidth"},
    {"size", TT_PARAM_BYTES, AT(size), "256m", "B",
     "of the data of a process at most; a deadline may end it earlier", 4096, INT64_C(1) << 50},
    {"deadline", TT_PARAM_DURATION, AT(deadline), "45s", "s",
     "of every write and read; 0: always the whole size"},
    {"flush", TT_PARAM_BYTES, AT(flush), "0", "B",
     "thrown away between writing and reading, each time, to empty write buffers; 0: as much as "
     "the "
     "largest job writes",
     0, INT64_C(1) << 60},
    {"flushes", TT_PARAM_COUNT, AT(flushes), "8", NULL, "how often that is written", 0, 10000},
    {"iops_transfer", TT_PARAM_BYTES, AT(iops_transfer), "4k", "B", "size of a request, for iops",
     8, 1 << 30},
    {"sizes", TT_PARAM_WORDS, AT(sizes), NULL, NULL,
     "of the data of a process, for sizes; none: size, and a quarter and a sixteenth of it"},
    {"buffered_only", TT_PARAM_BOOL, AT(buffered_only), "no", NULL,
     "iops only through the page cache, not also past it (posix.odirect, uring.odirect)"},
    {"repeat", TT_PARAM_COUNT, AT(repeat), "5", NULL, "repetitions of every point", 1, 10000},
    {"dir", TT_PARAM_TEXT, AT(dir), ".", NULL, "data directory, on the storage to be measured",
     .placeholder = "DIRECTORY"},
    {"min_free", TT_PARAM_TEXT, AT(min_free), "20%", NULL,
     "minimum free space to preserve in the data directory's file system",
     .placeholder = "SHARE|BYTES"},
    {"results", TT_PARAM_TEXT, AT(results), "tutti-runs", NULL,
     "where the survey's directory is made", .placeholder = "DIRECTORY"},
    {"label", TT_PARAM_TEXT, AT(label), NULL, NULL, "a name to find the runs by"},
    {"seed", TT_PARAM_COUNT, AT(seed), "1", NULL, "of the order of the points and of the data"},
    {"max_bytes", TT_PARAM_BYTES, AT(max_bytes), "0", "B",
     "do not start if more than this may be written; 0: no limit"},
    {"max_time", TT_PARAM_DURATION, AT(max_time), "0", "s",
     "start no run that would end later, in each stage; 0: no limit"},
    {"resume", TT_PARAM_TEXT, AT(resume), NULL, NULL,
     "directory of a survey that ended early, to be completed", .placeholder = "DIRECTORY"},
    {"quiet", TT_PARAM_BOOL, AT(quiet), "no", NULL, "no progress and no tables"},
    {"dry_run", TT_PARAM_BOOL, AT(dry_run), "no", NULL, "say what would be done, and do nothing"},
    {"json", TT_PARAM_TEXT, AT(json), NULL, NULL, "file for the answer; -: stdout",
     .placeholder = "FILE"},
    {0},
};

const struct tt_component tt_survey_component = {
    .name = "survey",
    .summary = "stages of runs that tell naive from aged figures of a store",
    .params = params,
    .opts_size = sizeof(struct tt_survey_options),
};

/* ---- stages ---- */

static struct tt_survey_stage *add_stage(struct tt_survey *s, const char *name,
                                         const struct tt_survey_table *table)
{
    struct tt_survey_stage *stage = &s->stages[s->nstages++];

    *stage = (struct tt_survey_stage){.part = s->part, .name = name, .table = table, .repeat = 1};
    return stage;
}

static int add_point(struct tt_survey_stage *stage, struct tt_survey_point p, struct tt_error *e)
{
    struct tt_survey_point *grown;

    if (p.transfer > p.size || p.size % p.transfer != 0)
        return tt_fail(e, TT_USAGE,
                       "survey: %llu bytes per process are no multiple of a transfer of "
                       "%llu bytes",
                       (unsigned long long)p.size, (unsigned long long)p.transfer);
    grown = realloc(stage->points, (stage->n + 1) * sizeof *stage->points);
    if (!grown)
        return tt_fail_nomem(e, "the points of a survey");
    stage->points = grown;
    stage->points[stage->n++] = p;
    return TT_OK;
}

/* Every number of nodes with every number of processes. */
static int add_grid(struct tt_survey *s, struct tt_survey_stage *stage, uint64_t transfer,
                    uint64_t size, uint64_t copies, struct tt_error *e)
{
    int rc = TT_OK;

    for (size_t i = 0; i < s->o.nodes.n; i++)
        for (size_t j = 0; j < s->o.processes.n; j++)
            for (uint64_t k = 0; rc == TT_OK && k < copies; k++)
                rc = add_point(stage,
                               (struct tt_survey_point){.nodes = s->o.nodes.values[i],
                                                        .processes = s->o.processes.values[j],
                                                        .transfer = transfer,
                                                        .size = size,
                                                        .source = stage->n},
                               e);
    return rc;
}

static int add_transfers(struct tt_survey *s, struct tt_survey_stage *stage, uint64_t copies,
                         struct tt_error *e)
{
    struct tt_error inner = TT_ERROR_CLEAR;
    uint64_t transfer;
    int rc = TT_OK;

    for (size_t i = 0; rc == TT_OK && i < s->o.transfers.n; i++)
        if (tt_parse_bytes(s->o.transfers.words[i], &transfer, &inner) != TT_OK || transfer == 0)
            rc = tt_fail(e, TT_USAGE, "transfers: %s", inner.text[0] ? inner.text : "0 bytes");
        else
            rc = add_grid(s, stage, transfer, s->o.size, copies, e);
    return rc;
}

static uint64_t largest(const struct tt_counts *c)
{
    uint64_t most = 1;

    for (size_t i = 0; i < c->n; i++)
        most = c->values[i] > most ? c->values[i] : most;
    return most;
}

/* Throw-away data, so that what was written before is no longer in a write buffer. */
static int add_flush(struct tt_survey *s, const char *name, struct tt_error *e)
{
    uint64_t nodes = largest(&s->o.nodes), processes = largest(&s->o.processes);
    uint64_t transfer = UINT64_C(1) << 20;
    uint64_t each = s->o.flush ? s->o.flush / (nodes * processes) : s->o.size;
    struct tt_survey_stage *stage;

    if (s->o.flushes == 0)
        return TT_OK;
    stage = add_stage(s, name, NULL);
    stage->write = stage->flushes = true;
    stage->repeat = s->o.flushes;
    if (each < transfer)
        transfer = each < 8 ? 8 : each - each % 8;
    return add_point(stage,
                     (struct tt_survey_point){.nodes = nodes,
                                              .processes = processes,
                                              .transfer = transfer,
                                              .size = each / transfer * transfer},
                     e);
}

static int copy_points(struct tt_survey_stage *to, const struct tt_survey_stage *from,
                       uint64_t transfer, struct tt_error *e)
{
    int rc = TT_OK;

    to->data = from;
    to->read = true;
    for (size_t i = 0; rc == TT_OK && i < from->n; i++) {
        struct tt_survey_point p = from->points[i];

        p.source = i;
        p.transfer = transfer ? transfer : p.transfer;
        rc = add_point(to, p, e);
    }
    return rc;
}

/* Naive: read what has just been written. Aged: write all, throw data away, read all. */
static int add_bandwidth(struct tt_survey *s, struct tt_error *e)
{
    struct tt_survey_stage *naive = add_stage(s, "naive", &tt_survey_tables[TT_SURVEY_NAIVE]);
    struct tt_survey_stage *written, *read;
    int rc;

    naive->write = naive->read = naive->wear_out = true;
    naive->repeat = s->o.repeat;
    rc = add_transfers(s, naive, 1, e);
    written = add_stage(s, "aged-write", &tt_survey_tables[TT_SURVEY_AGED]);
    written->write = written->keep = written->wear_out = true;
    if (rc == TT_OK)
        rc = add_transfers(s, written, s->o.repeat, e);
    if (rc == TT_OK)
        rc = add_flush(s, "aged-flush", e);
    read = add_stage(s, "aged-read", &tt_survey_tables[TT_SURVEY_AGED]);
    read->wear_out = true;
    return rc == TT_OK ? copy_points(read, written, 0, e) : rc;
}

static int add_random(struct tt_survey *s, const char *name, const struct tt_survey_table *table,
                      bool direct, const struct tt_survey_stage *data, struct tt_error *e)
{
    struct tt_survey_stage *stage = add_stage(s, name, table);

    stage->random = true;
    stage->direct = direct;
    stage->repeat = s->o.repeat;
    stage->write = !data;
    return data ? copy_points(stage, data, s->o.iops_transfer, e)
                : add_grid(s, stage, s->o.iops_transfer, s->o.size, 1, e);
}

static struct tt_survey_stage *add_data(struct tt_survey *s, const char *name)
{
    struct tt_survey_stage *stage = add_stage(s, name, NULL);

    stage->write = stage->keep = true;
    stage->wear_out = s->o.deadline > 0;
    return stage;
}

static uint64_t generating_transfer(const struct tt_survey *s, uint64_t size)
{
    uint64_t transfer = UINT64_C(1) << 20;

    return size % transfer == 0 ? transfer : s->o.iops_transfer;
}

static int add_iops(struct tt_survey *s, struct tt_error *e)
{
    struct tt_survey_stage *data;
    int rc = add_random(s, "iops-write", &tt_survey_tables[TT_SURVEY_BUFFERED], false, NULL, e);

    if (rc == TT_OK && !s->o.buffered_only)
        rc = add_random(s, "direct-write", &tt_survey_tables[TT_SURVEY_DIRECT], true, NULL, e);
    data = add_data(s, "iops-data");
    if (rc == TT_OK)
        rc = add_grid(s, data, generating_transfer(s, s->o.size), s->o.size, 1, e);
    if (rc == TT_OK)
        rc = add_flush(s, "iops-flush", e);
    if (rc == TT_OK)
        rc = add_random(s, "iops-read", &tt_survey_tables[TT_SURVEY_BUFFERED], false, data, e);
    if (rc == TT_OK && !s->o.buffered_only)
        rc = add_random(s, "direct-read", &tt_survey_tables[TT_SURVEY_DIRECT], true, data, e);
    return rc;
}

static int add_size(struct tt_survey *s, struct tt_survey_stage *stage, uint64_t size,
                    struct tt_error *e)
{
    return add_point(stage,
                     (struct tt_survey_point){.nodes = largest(&s->o.nodes),
                                              .processes = largest(&s->o.processes),
                                              .transfer = generating_transfer(s, size),
                                              .size = size},
                     e);
}

static int add_sizes(struct tt_survey *s, struct tt_error *e)
{
    struct tt_survey_stage *data = add_data(s, "sizes-data");
    struct tt_error inner = TT_ERROR_CLEAR;
    uint64_t size, unit = s->o.iops_transfer;
    int rc = TT_OK;

    for (size_t i = 0; rc == TT_OK && i < s->o.sizes.n; i++)
        rc = tt_parse_bytes(s->o.sizes.words[i], &size, &inner) == TT_OK
                 ? add_size(s, data, size, e)
                 : tt_fail(e, TT_USAGE, "sizes: %s", inner.text);
    for (uint64_t part = 16; rc == TT_OK && s->o.sizes.n == 0 && part > 0; part /= 4)
        if (s->o.size / part / unit > 0)
            rc = add_size(s, data, s->o.size / part / unit * unit, e);
    if (rc == TT_OK)
        rc = add_flush(s, "sizes-flush", e);
    return rc == TT_OK
               ? add_random(s, "sizes-read", &tt_survey_tables[TT_SURVEY_OVER_SIZE], false, data, e)
               : rc;
}

static int add_parts(struct tt_survey *s, struct tt_error *e)
{
    static const struct {
        const char *name;
        int (*add)(struct tt_survey *, struct tt_error *);
    } parts[] = {{"bandwidth", add_bandwidth}, {"iops", add_iops}, {"sizes", add_sizes}};
    bool seen[3] = {false};
    int rc = TT_OK;

    for (size_t i = 0; rc == TT_OK && i < s->o.parts.n; i++) {
        size_t k = 0;

        while (k < 3 && strcmp(parts[k].name, s->o.parts.words[i]) != 0)
            k++;
        if (k == 3)
            return tt_fail(e, TT_USAGE, "parts: '%.40s' is none of bandwidth, iops, sizes",
                           s->o.parts.words[i]);
        s->part = parts[k].name;
        if (!seen[k])
            rc = parts[k].add(s, e);
        seen[k] = true;
    }
    return rc;
}

/* ---- settings ---- */

static int take(struct tt_survey *s, const struct tt_setting *one, struct tt_error *e)
{
    const char *words[32] = {"job"}, *near;
    const struct tt_param *found = tt_param_find(params, one->key);
    size_t n = 1;

    if (!strncmp(one->key, "job.", 4))
        return tt_settings_add(&s->job, one->key + 4, one->value, one->place, e);
    if (found)
        return tt_setting_apply(one, found, &s->o, e);
    for (const struct tt_param *p = params; p->key; p++)
        words[n++] = p->key;
    near = tt_nearest_word(one->key, words);
    return tt_fail(e, TT_USAGE,
                   "%.300s: unknown key '%.80s'%s; a survey has the keys of tutti help survey, "
                   "and job: {...} for those of every run",
                   one->place, one->key, TT_DID_YOU_MEAN(near));
}

/* It may be gone on with from elsewhere. A directory that does not exist is refused later. */
static int find_dir(struct tt_survey *s, struct tt_error *e)
{
    char *found = realpath(s->o.dir ? s->o.dir : "", NULL);

    if (!s->o.dir)
        return tt_fail(e, TT_USAGE, "survey: dir may not be empty");
    if (found) {
        free(s->o.dir);
        s->o.dir = found;
    }
    return TT_OK;
}

int tt_survey_make(struct tt_survey *s, const struct tt_settings *settings, struct tt_error *e)
{
    int rc;

    *s = (struct tt_survey){0};
    rc = tt_params_default(params, &s->o, e);
    for (size_t i = 0; i < settings->n && rc == TT_OK; i++)
        rc = take(s, &settings->list[i], e);
    if (rc == TT_OK)
        rc = find_dir(s, e);
    if (rc == TT_OK)
        rc = add_parts(s, e);
    if (rc == TT_OK && (s->nstages == 0 || s->stages[0].n == 0))
        rc = tt_fail(e, TT_USAGE,
                     "survey: nothing to measure; parts, nodes, processes and transfers each need "
                     "a value");
    return rc;
}

void tt_survey_free(struct tt_survey *s)
{
    for (size_t i = 0; i < s->nstages; i++)
        free(s->stages[i].points);
    tt_params_free(params, &s->o);
    tt_settings_free(&s->job);
    *s = (struct tt_survey){0};
}
