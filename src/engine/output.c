/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Periodic output: when a dump is due, how many copies of it, and the epochs between dumps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/agree.h"
#include "engine/overlap_choice.h"
#include "engine/series.h"
#include "spec/units.h"

struct tt_output {
    struct tt_engine *engine;
    const struct tt_write_options *options;
    uint64_t iterations, events; /* events: dumps that will be made, copies counting once */
    unsigned ncopies;
    struct tt_series **copies;
    uint64_t *steps; /* dumps so far, per copy */
    char *path;      /* of the files, but for their endings; NULL if the spec is the workload's */
    struct tt_series_spec spec; /* of every copy, but for endings and steps */
    bool in_epoch;
    struct tt_epoch_record epoch;
    uint64_t epochs_before; /* of earlier passes of a run that is run again and again */
    int64_t epoch_start_ns;
    uint64_t totals[TT_NPHASES]; /* at the epoch's start */
    int64_t step_files_ns;       /* likewise */
    int64_t helper_cpu_ns;       /* likewise */
    int64_t staged_out_ns;       /* likewise */
    int64_t waited_ns;           /* likewise */
    uint64_t last_iteration;     /* of the epoch's dump */
    struct choices *choices;     /* overlap=auto; else NULL */
};

#define MOST_DECISIONS 1000 /* that are kept one by one */

/* Of overlap=auto: the choice, and what became of it. */
struct choices {
    struct tt_choice choice;
    uint64_t epochs[TT_NCHOICES], switches, probes;
    json_t *decisions; /* on rank 0; else NULL */
};

uint64_t tt_output_copies(const struct tt_write_options *w, uint64_t iteration, uint64_t iterations)
{
    size_t n = w->pattern.n;

    if (w->every == 0 || iteration == 0 || iteration % w->every != 0)
        return 0;
    /* ceil(iteration / (iterations / n)) - 1, in whole numbers */
    return n == 0
               ? 1
               : w->pattern.values[((__uint128_t)iteration * n + iterations - 1) / iterations - 1];
}

void tt_output_plan(const struct tt_write_options *w, uint64_t iterations, uint64_t *events,
                    uint64_t *dumps)
{
    uint64_t parts = w->pattern.n ? w->pattern.n : 1, before = 0;

    *events = *dumps = 0;
    for (uint64_t part = 0; w->every > 0 && part < parts; part++) {
        uint64_t copies = w->pattern.n ? w->pattern.values[part] : 1;
        uint64_t until = (uint64_t)((__uint128_t)iterations * (part + 1) / parts) / w->every;

        *events += copies > 0 ? until - before : 0;
        *dumps += tt_times(until - before, copies);
        before = until;
    }
}

static unsigned most_copies(const struct tt_write_options *w)
{
    uint64_t most = w->pattern.n == 0;

    for (size_t i = 0; i < w->pattern.n; i++)
        if (w->pattern.values[i] > most)
            most = w->pattern.values[i];
    return (unsigned)most;
}

char *tt_data_path_of(struct tt_engine *engine, const char *given, const char *name)
{
    return given ? tt_config_path(engine->config, given) : tt_data_path(engine, name);
}

static int open_copy(struct tt_output *o, unsigned copy, struct tt_error *e)
{
    const struct tt_write_options *w = o->options;
    struct tt_series_spec spec = o->spec;
    char suffix[16] = "";

    spec.steps = 0;
    for (uint64_t i = w->every; i <= o->iterations; i += w->every)
        spec.steps += tt_output_copies(w, i, o->iterations) > copy;
    if (o->ncopies > 1)
        snprintf(suffix, sizeof suffix, "_r%u", copy);
    spec.suffix = suffix;
    return tt_series_open(o->engine, &spec, &o->copies[copy], e);
}

/* Opening is collective: nobody may stay away alone. */
static int open_copies(struct tt_output *o, struct tt_error *e)
{
    int rc;

    o->copies = calloc(o->ncopies, sizeof(struct tt_series *));
    o->steps = calloc(o->ncopies, sizeof *o->steps);
    rc = o->copies && o->steps ? TT_OK : tt_fail_nomem(e, "the output");
    rc = tt_agree(o->engine->comm, rc, e);
    for (unsigned i = 0; rc == TT_OK && i < o->ncopies; i++)
        rc = open_copy(o, i, e);
    return rc;
}

static int begin_choices(struct tt_output *o, struct tt_error *e)
{
    if (o->engine->config->run->overlap != TT_OVERLAP_AUTO)
        return TT_OK;
    o->choices = calloc(1, sizeof *o->choices);
    if (!o->choices)
        return tt_fail_nomem(e, "the output");
    tt_choice_begin(&o->choices->choice, o->events);
    if (o->engine->rank == 0)
        o->choices->decisions = json_array();
    return TT_OK;
}

int tt_output_open_as(struct tt_engine *engine, const struct tt_write_options *rules,
                      const struct tt_series_spec *spec, uint64_t iterations,
                      struct tt_output **out, struct tt_error *e)
{
    struct tt_output *o;
    uint64_t dumps;
    int rc;

    *out = NULL;
    if (rules->every > iterations && engine->rank == 0)
        tt_warning(engine,
                   "nothing was written: a dump every %llu iterations, of which there are %llu",
                   (unsigned long long)rules->every, (unsigned long long)iterations);
    if (rules->every == 0 || rules->every > iterations || most_copies(rules) == 0)
        return TT_OK;
    o = calloc(1, sizeof *o);
    rc = tt_agree(engine->comm, o ? TT_OK : tt_fail_nomem(e, "the output"), e);
    if (rc == TT_OK) {
        *o = (struct tt_output){.engine = engine,
                                .epochs_before = engine->p->epochs,
                                .options = rules,
                                .iterations = iterations,
                                .ncopies = most_copies(rules),
                                .spec = *spec};
        tt_output_plan(rules, iterations, &o->events, &dumps);
        rc = tt_agree(engine->comm, begin_choices(o, e), e);
        if (rc == TT_OK)
            rc = open_copies(o, e);
    }
    if (rc == TT_OK)
        *out = o;
    else
        tt_output_close(o, e);
    return rc;
}

int tt_output_open(struct tt_engine *engine, const char *name, uint64_t iterations,
                   unsigned nvariables, const struct tt_variable *variables, struct tt_output **out,
                   struct tt_error *e)
{
    const struct tt_write_options *w = tt_config_opts(engine->config, "write");
    struct tt_series_spec spec = {
        .access = TT_CREATE, .nvariables = nvariables, .variables = variables};
    char *path = w ? tt_data_path_of(engine, w->path, name) : NULL;
    int rc = tt_agree(engine->comm, path || !w ? TT_OK : tt_fail_nomem(e, "the output"), e);

    *out = NULL;
    if (rc == TT_OK && w) {
        spec.path = path;
        spec.policy = (enum tt_policy)w->series;
        spec.per_process = w->files == 1;
        rc = tt_output_open_as(engine, w, &spec, iterations, out, e);
    }
    if (*out)
        (*out)->path = path;
    else
        free(path);
    return rc;
}

bool tt_output_is_due(const struct tt_output *o, uint64_t iteration)
{
    return o && tt_output_copies(o->options, iteration, o->iterations) > 0;
}

/* ---- epochs ---- */

static int64_t since(const struct tt_output *o, enum tt_phase phase)
{
    return (int64_t)(o->engine->p->total_ns[phase] - o->totals[phase]);
}

/* next: the kind of epoch that follows. */
static int end_epoch(struct tt_output *o, uint32_t next, struct tt_error *e)
{
    struct tt_epoch_record record;

    if (!o->in_epoch)
        return TT_OK;
    o->in_epoch = false;
    /* Not now.iteration, which is 0 when the loop has ended and the rest is drained. */
    o->epoch.iterations = (uint32_t)(o->engine->p->last_iteration - o->last_iteration);
    o->epoch.span_ns = tt_now_ns() - o->epoch_start_ns;
    o->epoch.compute_ns = since(o, TT_COMPUTE) + since(o, TT_HALO) + since(o, TT_COLLECTIVE);
    o->epoch.io_ns = since(o, TT_IO_WRITE) + since(o, TT_IO_SYNC);
    o->epoch.staging_ns = o->engine->p->staged_out_ns - o->staged_out_ns;
    o->epoch.files_ns = o->engine->p->step_files_ns - o->step_files_ns + o->epoch.staging_ns;
    o->epoch.helper_cpu_ns = o->engine->p->helper_cpu_ns - o->helper_cpu_ns;
    o->epoch.copy_ns = since(o, TT_COPY);
    o->epoch.visible_ns = o->epoch.copy_ns + since(o, TT_SUBMIT) + since(o, TT_WAIT) +
                          since(o, TT_SYNC) + since(o, TT_OPEN) + since(o, TT_CLOSE);
    record = o->epoch;
    record.epoch += o->epochs_before;
    tt_recorder_epoch(o->engine->p->recorder, &record);
    if (record.epoch > o->engine->p->epochs)
        o->engine->p->epochs = record.epoch;
    return o->epoch.kind != TT_EPOCH_OVERLAPPED && next != TT_EPOCH_SETTLING
               ? tt__baseline_end(o->engine, e)
               : TT_OK;
}

/* Where the caller writes and syncs at once, every epoch is as a baseline would be; and auto tries
 * the other mode by itself, as part of the job. */
static bool needs_no_baseline(const struct tt_run_options *run)
{
    return run->overlap == TT_OVERLAP_AUTO ||
           (run->overlap == TT_OVERLAP_NONE &&
            (run->sync == TT_SYNC_WRITE || run->sync == TT_SYNC_DUMP));
}

/* The second of every `baseline` epochs measures the baseline: the first one warms up, and few
 * dumps still give one. While it computes, storage has nothing to do: it catches up, or may go
 * faster for a while, so the epoch after it is not that of the job, either. Neither is the last: it
 * ends with the run, and few dumps would leave nothing to measure. */
static uint32_t next_kind(const struct tt_output *o)
{
    const struct tt_run_options *run = o->engine->config->run;
    uint64_t every = needs_no_baseline(run) ? 0 : run->baseline;

    if (every == 0 || o->epoch.epoch + 1 >= o->events)
        return TT_EPOCH_OVERLAPPED;
    if (o->epoch.kind == TT_EPOCH_BASELINE)
        return every > 2 ? TT_EPOCH_SETTLING : TT_EPOCH_OVERLAPPED;
    return o->epoch.epoch % every == 1 && !o->engine->p->unmeasured /* another output's baseline */
               ? TT_EPOCH_BASELINE
               : TT_EPOCH_OVERLAPPED;
}

static void begin_epoch(struct tt_output *o, uint64_t iteration, uint32_t kind)
{
    o->in_epoch = true;
    o->last_iteration = iteration;
    o->epoch = (struct tt_epoch_record){.epoch = o->epoch.epoch + 1, .kind = kind};
    memcpy(o->totals, o->engine->p->total_ns, sizeof o->totals);
    o->step_files_ns = o->engine->p->step_files_ns;
    o->helper_cpu_ns = o->engine->p->helper_cpu_ns;
    o->staged_out_ns = o->engine->p->staged_out_ns;
    o->waited_ns = o->engine->p->waited_ns;
    o->epoch_start_ns = tt_now_ns();
}

/* ---- overlap=auto ---- */

/* What all ranks know of the oldest epoch that was agreed since; false: of none. */
static bool take_agreed(struct tt_series *s, struct tt_epoch_seen *seen)
{
    const uint64_t *t = s->agreed;

    if (t[TT__TOLD_MODE] == 0)
        return false;
    *seen = (struct tt_epoch_seen){.mode = t[TT__TOLD_MODE] - 1 == TT_CHOICE_ASYNC,
                                   .span = tt_seconds((int64_t)t[TT__TOLD_SPAN]),
                                   .compute = tt_seconds((int64_t)t[TT__TOLD_COMPUTE]),
                                   .io = tt_seconds((int64_t)t[TT__TOLD_IO]),
                                   .staging = tt_seconds((int64_t)t[TT__TOLD_STAGING]),
                                   .copy = tt_seconds((int64_t)t[TT__TOLD_COPY]),
                                   .waited = tt_seconds((int64_t)t[TT__TOLD_WAITED])};
    memset(s->agreed, 0, sizeof s->agreed);
    return true;
}

static void note_decision(struct choices *all, uint64_t epoch, enum tt_choice_reason why)
{
    static const char *const reasons[] = {[TT_CHOICE_PAYS] = "pays",
                                          [TT_CHOICE_PROBES] = "probe",
                                          [TT_CHOICE_RETURNS] = "after a probe"};
    const struct tt_choice *c = &all->choice;

    all->switches += why == TT_CHOICE_PAYS;
    all->probes += why == TT_CHOICE_PROBES;
    if (why == TT_CHOICE_STAYS || !all->decisions ||
        json_array_size(all->decisions) >= MOST_DECISIONS)
        return;
    json_array_append_new(all->decisions,
                          json_pack("{s:I, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f}", "epoch",
                                    (json_int_t)epoch, "mode", tt_choice_names[c->mode], "why",
                                    reasons[why], "sync", c->predicted[TT_CHOICE_SYNC], "async",
                                    c->predicted[TT_CHOICE_ASYNC], "compute",
                                    c->compute.of[c->usual], "io", c->io.of[c->usual], "staging",
                                    c->staging.of[c->usual], "copy", c->copy));
}

/* Before a dump, when the epoch before it has ended: the mode of the next epoch, and what this dump
 * is to tell the others of the last one. The choice is made of agreed numbers only, so every rank
 * makes the same one. */
static void choose(struct tt_output *o)
{
    struct choices *all = o->choices;
    struct tt_series *s = o->copies[0];
    const struct tt_epoch_record *last = &o->epoch;
    struct tt_epoch_seen seen;
    int mode = all->choice.mode;

    if (last->epoch > 0) {
        enum tt_choice_reason why =
            tt_choice_next(&all->choice, take_agreed(s, &seen) ? &seen : NULL);

        note_decision(all, last->epoch + 1, why);
        s->told[TT__TOLD_MODE] = (uint64_t)mode + 1;
        s->told[TT__TOLD_SPAN] = (uint64_t)last->span_ns;
        s->told[TT__TOLD_COMPUTE] = (uint64_t)(last->span_ns - last->visible_ns);
        s->told[TT__TOLD_IO] = (uint64_t)(last->io_ns + last->files_ns - last->staging_ns);
        s->told[TT__TOLD_STAGING] = (uint64_t)last->staging_ns;
        s->told[TT__TOLD_COPY] = (uint64_t)since(o, TT_COPY);
        s->told[TT__TOLD_WAITED] = (uint64_t)(o->engine->p->waited_ns - o->waited_ns);
    }
    mode = all->choice.mode;
    all->epochs[mode]++;
    for (unsigned i = 0; i < o->ncopies; i++)
        o->copies[i]->waits = mode == TT_CHOICE_SYNC;
}

/* Of a run that goes on until it is told to stop, only the last pass is kept. */
static void end_choices(struct tt_output *o)
{
    const struct choices *all = o->choices;
    struct tt_engine_private *p = o->engine->p;

    if (all && all->decisions) {
        if (!p->choices)
            p->choices = json_array();
        if (p->choices_pass != p->played)
            json_array_clear(p->choices);
        p->choices_pass = p->played;
        json_array_append_new(p->choices,
                              json_pack("{s:I, s:I, s:I, s:I, s:f, s:o}", "sync",
                                        (json_int_t)all->epochs[TT_CHOICE_SYNC], "async",
                                        (json_int_t)all->epochs[TT_CHOICE_ASYNC], "switches",
                                        (json_int_t)all->switches, "probes",
                                        (json_int_t)all->probes, "lost_by_probes",
                                        all->choice.lost_by_probes, "decisions", all->decisions));
    }
    free(o->choices);
}

/* ---- dumps ---- */

static int complete_all(struct tt_output *o, unsigned left, struct tt_error *e)
{
    int rc = TT_OK;

    for (unsigned i = 0; i < o->ncopies; i++) {
        int now = tt_series_complete(o->copies[i], left, e);

        rc = rc == TT_OK ? now : rc;
    }
    return rc;
}

static uint64_t bytes_of(const struct tt_output *o, unsigned nblocks, const struct tt_block *blocks)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < nblocks; i++)
        bytes += tt_selection_count(&blocks[i].file) *
                 tt_block_moved_size(&blocks[i], &o->spec.variables[blocks[i].variable]);
    return bytes;
}

static int dump(struct tt_output *o, uint64_t iteration, unsigned nblocks,
                const struct tt_block *blocks, struct tt_error *e)
{
    uint64_t n = tt_output_copies(o->options, iteration, o->iterations);
    uint64_t each = bytes_of(o, nblocks, blocks), bytes = n * each, added = 0;
    uint32_t kind = next_kind(o);
    bool baseline = kind == TT_EPOCH_BASELINE;
    /* What is excluded and what is not have no dump in common. */
    bool parts = baseline || o->epoch.kind == TT_EPOCH_SETTLING;
    int rc = complete_all(o, parts ? 0 : tt__dumps_in_flight(o->engine) - 1, e);
    int ended = end_epoch(o, kind, e);

    rc = rc == TT_OK ? ended : rc;
    for (uint64_t i = 0; i < n; i++)
        added += tt_series_growth(o->copies[i], o->steps[i], each);
    if (rc == TT_OK)
        rc = tt_limits_check_dump(o->engine, n, bytes, added, e);
    if (rc == TT_OK && baseline)
        rc = tt__baseline_begin(o->engine, e);
    if (rc != TT_OK)
        return rc;
    if (o->choices)
        choose(o);
    begin_epoch(o, iteration, kind);
    o->epoch.bytes = bytes;
    for (unsigned i = 0; i < n && rc == TT_OK; i++) {
        rc = tt_series_dump(o->copies[i], o->steps[i]++, nblocks, blocks, e);
        if (rc == TT_OK && baseline)
            rc = tt_series_complete(o->copies[i], 0, e);
    }
    return rc;
}

/* numio completes an iteration before the next dump, and at the end. */
static bool completes_early(const struct tt_output *o, uint64_t iteration)
{
    uint64_t f = o->options->every;

    return o->options->completion == 1 &&
           (f == 1 || iteration % f == f - 1 || iteration == o->iterations);
}

int tt_output_write(struct tt_output *o, uint64_t iteration, unsigned nblocks,
                    const struct tt_block *blocks, struct tt_error *e)
{
    int rc = TT_OK;

    if (!o)
        return TT_OK;
    if (tt_output_is_due(o, iteration))
        rc = dump(o, iteration, nblocks, blocks, e);
    if (rc == TT_OK && completes_early(o, iteration))
        rc = complete_all(o, 0, e);
    return rc;
}

int tt_output_rehearse(struct tt_output *o, enum tt_direction direction, unsigned nblocks,
                       const struct tt_block *blocks, struct tt_error *e)
{
    unsigned n = !o ? 0 : direction == TT_WRITING ? o->ncopies : 1; /* copy 0 is read */
    int rc = TT_OK;

    for (unsigned i = 0; rc == TT_OK && i < n; i++)
        rc = tt_series_rehearse(o->copies[i], direction, nblocks, blocks, e);
    return rc;
}

struct tt_series *tt_output_last(struct tt_output *o, uint64_t *step)
{
    if (!o || o->steps[0] == 0)
        return NULL;
    *step = o->steps[0] - 1;
    return o->copies[0];
}

int tt_output_drain(struct tt_output *o, struct tt_error *e)
{
    int rc = TT_OK, ended;

    for (unsigned i = 0; o && i < o->ncopies; i++) {
        int now = tt_series_drain(o->copies[i], e);

        rc = rc == TT_OK ? now : rc;
    }
    ended = o ? end_epoch(o, TT_EPOCH_OVERLAPPED, e) : TT_OK;
    return rc == TT_OK ? ended : rc;
}

int tt_output_close(struct tt_output *o, struct tt_error *e)
{
    int rc = TT_OK;

    if (!o)
        return TT_OK;
    for (unsigned i = 0; o->copies && i < o->ncopies; i++) {
        int now = tt_series_close(o->copies[i], e);

        rc = rc == TT_OK ? now : rc;
    }
    end_choices(o);
    free(o->copies);
    free(o->steps);
    free(o->path);
    free(o);
    return rc;
}
