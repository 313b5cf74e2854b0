/* SPDX-License-Identifier: GPL-3.0-or-later */
/* needs: adios2 (package libadios2-mpi-c-dev) */
/* ADIOS2's BP5: a directory with metadata and a file of data for each aggregator.
 *
 * A dump is a step of ADIOS2, which ends, and is written, with the last block of the dump. A sync
 * within a dump ends the step as well, and the rest comes in another one; the variable /step says
 * to which dump each belongs. BP5 never writes to a place again: a dump that overwrites is a
 * further step, and the last one counts. So the file grows with every dump.
 *
 * ADIOS2 has no call that waits for storage. Sync ends the step and calls fsync on the descriptors
 * that the library has open.
 *
 * Not here: changing a file that is there, layout layers (there are no byte ranges), operators.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/agree.h"
#include "io/backends/adios2/parts.h"
#include "io/disk.h"
#include "io/module.h"

enum { STEP_RESERVE = 64 << 10 }; /* for the metadata of a step */

static const char *const methods[] = {"collective", "independent", NULL};
static const char *const aggregations[] = {"default", "everyone", "serial", "shm", NULL};

#define AT(field) offsetof(struct adios2_opts, field)
static const struct tt_param params[] = {
    {"method", TT_PARAM_CHOICE, AT(method), "collective", NULL,
     "collective: a dump is written when its last block is there; independent: blocks are "
     "collected "
     "in memory until the next step, a sync or close",
     .choices = methods},
    {"async", TT_PARAM_BOOL, AT(async), "yes", NULL,
     "AsyncWrite: dumps may overlap by the library's own thread, if the probe sees it write"},
    {"aggregation", TT_PARAM_CHOICE, AT(aggregation), "everyone", NULL,
     "AggregationType: everyone (EveryoneWrites), serial (EveryoneWritesSerial), shm "
     "(TwoLevelShm), "
     "default (the library's)",
     .choices = aggregations},
    {"aggregators", TT_PARAM_COUNT, AT(aggregators), "0", "ranks",
     "NumAggregators: ranks that write; 0: not given", 0, INT32_MAX},
    {"subfiles", TT_PARAM_COUNT, AT(subfiles), "0", "files",
     "NumSubFiles: files of data; 0: not given", 0, INT32_MAX},
    {"chunk", TT_PARAM_BYTES, AT(chunk), "0", "B",
     "BufferChunkSize: piece of the buffer in which a rank collects data; 0: not given", 0,
     INT64_MAX},
    {"shm", TT_PARAM_BYTES, AT(shm), "0", "B",
     "MaxShmSize: memory that ranks of a node share with aggregation shm; 0: not given", 0,
     INT64_MAX},
    {"stats", TT_PARAM_COUNT, AT(stats), "1", NULL,
     "StatsLevel: 1: the least and greatest value of every block; 0: none", 0, 1},
    {"parameters", TT_PARAM_WORDS, AT(parameters), NULL, NULL,
     "other parameters of the engine BP5, each key=value"},
    {NULL},
};

/* ADIOS2 ignores what it does not know. */
/* clang-format off */
static const char *const known[] = {
    "AggregatorRatio", "AsyncOpen", "BufferVType", "CollectiveMetadata", "DirectIO",
    "DirectIOAlignBuffer", "DirectIOAlignOffset", "GrowthFactor", "InitialBufferSize",
    "MaxOpenFilesAtOnce", "MinDeferredSize", "Profile", "ProfileUnits", "StatsBlockSize",
    "StripeSize", "Threads", "UseOneTimeAttributes", NULL};
/* clang-format on */

static int check_parameter(const char *word, struct tt_error *e)
{
    static const char *const keys[][2] = {{"AsyncWrite", "async"},
                                          {"AggregationType", "aggregation"},
                                          {"NumAggregators", "aggregators"},
                                          {"NumSubFiles", "subfiles"},
                                          {"BufferChunkSize", "chunk"},
                                          {"MaxShmSize", "shm"},
                                          {"StatsLevel", "stats"}};
    size_t n = strcspn(word, "=");
    char key[64];

    if (word[n] != '=' || n == 0 || n >= sizeof key)
        return tt_fail(e, TT_USAGE, "adios2.parameters: '%s' is not key=value", word);
    snprintf(key, sizeof key, "%.*s", (int)n, word);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!strcasecmp(key, keys[i][0]))
            return tt_fail(e, TT_USAGE, "adios2.parameters: give '%s' by adios2.%s", key,
                           keys[i][1]);
    if (!strncasecmp(key, "BurstBuffer", strlen("BurstBuffer")))
        return tt_fail(e, TT_USAGE,
                       "adios2.parameters: '%s' would put data into other files than the one that "
                       "is measured; leave it out",
                       key);
    for (size_t i = 0; known[i]; i++)
        if (!strcasecmp(key, known[i]))
            return TT_OK;
    return tt_fail(e, TT_USAGE, "adios2.parameters: unknown parameter '%s' of BP5%s", key,
                   TT_DID_YOU_MEAN(tt_nearest_word(key, known)));
}

static int check(const void *opts, struct tt_error *e)
{
    const struct adios2_opts *o = opts;
    int rc = TT_OK;

    for (size_t i = 0; rc == TT_OK && i < o->parameters.n; i++)
        rc = check_parameter(o->parameters.words[i], e);
    return rc;
}

/* ---- errors ---- */

/* The C interface returns a number, and prints what went wrong. It prints by a function of its own
 * library, for which the linker takes the one here instead: a module comes before the libraries
 * that it brings. So the text is in our line of error, and not beside it. */
struct cxx_string {
    const char *text;
    size_t length;
};
static _Thread_local char complaint[256];

void tt_adios2_log(const struct cxx_string *component, const struct cxx_string *source,
                   const struct cxx_string *activity, const struct cxx_string *message, int rank,
                   int all, int priority, int verbosity,
                   char mode) __asm__("_ZN6adios26helper3LogERKNSt7__cxx1112basic_stringIcSt11char_"
                                      "traitsIcESaIcEEES8_S8_S8_"
                                      "iiiiNS0_7LogModeE");

/* Without time, place and colours: what stands behind the last "> : ". */
void tt_adios2_log(const struct cxx_string *component, const struct cxx_string *source,
                   const struct cxx_string *activity, const struct cxx_string *message, int rank,
                   int all, int priority, int verbosity, char mode)
{
    const char *end = message->text + message->length, *at = message->text;
    size_t n = 0;

    (void)component, (void)source, (void)activity, (void)rank, (void)all, (void)priority;
    (void)verbosity, (void)mode;
    for (const char *x = at; x + 4 < end; x++)
        if (!strncmp(x, "> : ", 4))
            at = x + 4;
    for (; at < end && n + 1 < sizeof complaint; at++) {
        if (*at == '\033')
            while (at < end && *at != 'm')
                at++;
        else if ((unsigned char)*at >= ' ')
            complaint[n++] = *at;
    }
    complaint[n] = '\0';
}

int tt_adios2_fail(const struct tt_file *file, const char *call, const char *variable,
                   struct tt_error *e)
{
    int rc = tt_container_fail(file, 0, call, variable,
                               complaint[0] ? complaint : "ADIOS2 does not say why", e);

    complaint[0] = '\0';
    return rc;
}

/* ---- steps ---- */

/* Calls that one dump makes, the same on all ranks. */
static uint64_t blocks_of_dump(const struct tt_file *file, bool with_fixed)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < file->spec->nvariables; i++) {
        const struct tt_variable *v = &file->spec->variables[i];

        if (!v->idle && (v->per_step || with_fixed))
            n += v->max_blocks ? v->max_blocks : 1;
    }
    return n;
}

/* Where the last step is still being written, this waits for it. */
static int begin_step(struct tt_file *file, struct tt_error *e)
{
    struct adios2_state *s = file->state;
    adios2_step_status status = adios2_step_status_ok;
    int rc;

    if (s->in_step)
        return TT_OK;
    rc = tt_adios2_judge(file, adios2_begin_step(s->engine, adios2_step_mode_append, -1, &status),
                         "adios2_begin_step", e);
    s->in_step = rc == TT_OK;
    s->in_flight = s->in_flight && rc != TT_OK;
    return rc;
}

/* A variable is in the file if it was put, and ADIOS2 counts its steps by those in which it occurs.
 * With a block of nothing from rank 0 every variable is there, and those of the dumps occur in all
 * steps and have the same numbers. */
static int put_nothing(struct tt_file *file, unsigned variable, struct tt_error *e)
{
    static const size_t zeros[TT_CONTAINER_DIMS];
    const struct tt_variable *v = &file->spec->variables[variable];
    struct adios2_state *s = file->state;
    uint64_t nothing[8] = {0};
    int rc = TT_OK;

    for (unsigned i = 0; rc == TT_OK && i < tt_adios2_parts(v->element); i++) {
        struct adios2_part part = tt_adios2_part(v->element, i);
        size_t unused[TT_CONTAINER_DIMS], ndims = tt_adios2_shape(v, &part, unused);
        adios2_variable *there = s->slots[variable].written[i];

        if (adios2_set_selection(there, ndims, zeros, zeros) != adios2_error_none ||
            adios2_put(s->engine, there, nothing, adios2_mode_sync) != adios2_error_none)
            rc = tt_adios2_fail(file, "adios2_put", v->path, e);
    }
    return rc;
}

/* What rank 0 adds to a step. */
static int complete_step(struct tt_file *file, struct tt_error *e)
{
    struct adios2_state *s = file->state;
    int rc = TT_OK;

    for (unsigned i = 0; rc == TT_OK && i < file->spec->nvariables; i++) {
        const struct tt_variable *v = &file->spec->variables[i];

        if (!s->slots[i].put && (v->per_step || !s->slots[i].occurs) && s->slots[i].written)
            rc = put_nothing(file, i, e);
        s->slots[i].occurs = true;
    }
    if (rc == TT_OK &&
        adios2_put(s->engine, s->step_variable, &s->step, adios2_mode_sync) != adios2_error_none)
        rc = tt_adios2_fail(file, "adios2_put", "step", e);
    return rc;
}

/* Before a collective call of the library, in which a rank that fails leaves the others: either all
 * make it, or none does. */
static int agree_to_write(struct tt_file *file, int rc, bool ends, struct tt_error *e)
{
    struct adios2_state *s = file->state;
    const char *path = file->spec->path;
    uint64_t bytes = s->pending;
    struct tt_told told = {1, &bytes, 0, NULL};

    rc = tt_agree_and_tell(file->spec->comm, rc, file->spec->in_helper, &told, e);
    if (rc == TT_OK && file->rank == 0) {
        if (tt_disk_free(path) < bytes + STEP_RESERVE)
            rc = tt_fail_call(e, ENOSPC, ends ? "adios2_end_step" : "adios2_perform_data_write",
                              path, -1);
        else if (ends)
            rc = complete_step(file, e);
    }
    rc = tt_file_agree(file, rc, e);
    s->container.failed |= rc != TT_OK;
    return rc;
}

static int end_step(struct tt_file *file, int rc, struct tt_error *e)
{
    const struct adios2_opts *o = file->opts;
    struct adios2_state *s = file->state;

    rc = agree_to_write(file, rc, true, e);
    if (rc != TT_OK)
        return rc;
    rc = tt_adios2_judge(file, adios2_end_step(s->engine), "adios2_end_step", e);
    for (unsigned i = 0; i < file->spec->nvariables; i++)
        s->slots[i].put = false;
    s->in_step = s->dirty = false;
    s->in_flight = o->async && file->spec->native;
    s->pending = 0;
    s->ended++;
    s->unread = true;
    s->container.failed |= rc != TT_OK;
    return rc;
}

/* Data leaves, and the step goes on. */
static int flush_data(struct tt_file *file, int rc, struct tt_error *e)
{
    struct adios2_state *s = file->state;

    rc = agree_to_write(file, rc, false, e);
    if (rc == TT_OK)
        rc = tt_adios2_judge(file, adios2_perform_data_write(s->engine),
                             "adios2_perform_data_write", e);
    s->pending = 0;
    s->container.failed |= rc != TT_OK;
    return rc;
}

/* Where ranks write as they like, some may have put nothing. Collective. */
static bool is_dirty_anywhere(const struct tt_file *file)
{
    int dirty = ((const struct adios2_state *)file->state)->dirty;

    tt_file_max(file, 1, &dirty);
    return dirty != 0;
}

/* Everything that was put is with the operating system, and in the index. Collective. */
static int flush(struct tt_file *file, struct tt_error *e)
{
    struct adios2_state *s = file->state;
    int rc = is_dirty_anywhere(file) ? end_step(file, begin_step(file, e), e) : TT_OK;

    if (rc == TT_OK && s->in_flight)
        rc = begin_step(file, e);
    s->container.failed |= rc != TT_OK;
    return rc;
}

static int adios2_define(struct tt_file *file, uint64_t step, struct tt_error *e)
{
    struct adios2_state *s = file->state;
    int rc = TT_OK;

    if (file->spec->access == TT_READ_ONLY)
        return TT_OK;
    if (is_dirty_anywhere(file) && !tt_container_failed_anywhere(file))
        rc = end_step(file, begin_step(file, e), e);
    s->step = step;
    s->left = blocks_of_dump(file, !s->fixed_written);
    s->fixed_written = true;
    return rc == TT_OK ? tt_container_define(file, step, e) : rc;
}

static int adios2_write(struct tt_file *file, uint64_t step, const struct tt_block *b,
                        struct tt_error *e)
{
    const struct adios2_opts *o = file->opts;
    struct adios2_state *s = file->state;
    bool streams = s->streams || s->left == 0;
    int rc = s->container.failed ? TT_OK : begin_step(file, e);

    s->step = step;
    s->dirty = true;
    s->left -= s->left > 0;
    s->ends = o->method == ADIOS2_COLLECTIVE && !streams && s->left == 0;
    if (rc == TT_OK)
        rc = tt_container_write(file, step, b, e);
    if (o->method != ADIOS2_COLLECTIVE)
        return rc;
    if (s->ends)
        return end_step(file, rc, e);
    return streams ? flush_data(file, rc, e) : rc;
}

static int adios2_use_buffers(struct tt_file *file, void *base, size_t each, unsigned n,
                              struct tt_error *e)
{
    (void)base, (void)each, (void)e;
    ((struct adios2_state *)file->state)->streams = n > 0;
    return TT_OK;
}

/* ---- reading ---- */

static int close_reader(struct tt_file *file, struct tt_error *e)
{
    struct adios2_reader *r = &((struct adios2_state *)file->state)->reader;
    int rc = TT_OK;

    if (r->engine)
        rc = tt_adios2_judge(file, adios2_close(r->engine), "adios2_close", e);
    r->engine = NULL;
    free(r->steps);
    r->steps = NULL;
    return rc;
}

static int read_steps(struct tt_file *file, struct tt_error *e)
{
    struct adios2_reader *r = &((struct adios2_state *)file->state)->reader;
    adios2_variable *v = adios2_inquire_variable(r->io, "/step");
    adios2_type type;
    size_t ndims = 0;

    r->nsteps = 0;
    if (!v)
        return TT_OK; /* not tutti's, or nothing was written */
    if (adios2_variable_type(&type, v) != adios2_error_none ||
        adios2_variable_ndims(&ndims, v) != adios2_error_none)
        return tt_adios2_fail(file, "adios2_inquire_variable", "step", e);
    if (type != adios2_type_uint64_t || ndims != 0)
        return TT_OK; /* somebody else's: there would be more to get than there is room for */
    if (adios2_variable_steps(&r->nsteps, v) != adios2_error_none)
        return tt_adios2_fail(file, "adios2_variable_steps", "step", e);
    r->steps = calloc(r->nsteps + 1, sizeof *r->steps);
    if (!r->steps)
        return tt_fail_nomem(e, "the steps");
    if (r->nsteps > 0 && (adios2_set_step_selection(v, 0, r->nsteps) != adios2_error_none ||
                          adios2_get(((struct adios2_state *)file->state)->reader.engine, v,
                                     r->steps, adios2_mode_sync) != adios2_error_none))
        return tt_adios2_fail(file, "adios2_get", "step", e);
    return TT_OK;
}

static int open_reader(struct tt_file *file, struct tt_error *e)
{
    struct adios2_state *s = file->state;
    struct adios2_reader *r = &s->reader;
    char name[32];

    snprintf(name, sizeof name, "read %u", ++r->opened);
    r->io = adios2_declare_io(s->adios, name);
    if (!r->io || adios2_set_engine(r->io, "BP5") != adios2_error_none)
        return tt_adios2_fail(file, "adios2_declare_io", NULL, e);
    r->engine = adios2_open(r->io, file->spec->path, adios2_mode_readRandomAccess);
    if (!r->engine)
        return tt_adios2_fail(file, "adios2_open", NULL, e);
    /* The first time, ranks ask together whether the writer is still there, and later not. */
    if (adios2_perform_gets(r->engine) != adios2_error_none)
        return tt_adios2_fail(file, "adios2_perform_gets", NULL, e);
    return read_steps(file, e);
}

/* Everything that is there is also there for the reader. Collective. */
static int renew_reader(struct tt_file *file, struct tt_error *e)
{
    struct adios2_state *s = file->state;
    int rc = flush(file, e);

    rc = tt_file_agree(file, rc, e);
    if (rc != TT_OK || !s->unread)
        return rc;
    rc = close_reader(file, e);
    if (rc == TT_OK)
        rc = open_reader(file, e);
    s->unread = false;
    return tt_file_agree(file, rc, e);
}

static int adios2_read(struct tt_file *file, uint64_t step, const struct tt_block *b,
                       struct tt_error *e)
{
    struct adios2_state *s = file->state;
    int rc = TT_OK;

    if (file->spec->access != TT_READ_ONLY && (s->dirty || s->unread)) {
        if (file->spec->independent)
            return tt_fail(e, TT_UNSUPPORTED,
                           "adios2 reads what was written once all ranks have ended the step; sync "
                           "or close '%s' before",
                           file->spec->path);
        rc = tt_container_failed_anywhere(file) ? TT_OK : renew_reader(file, e);
    }
    return rc == TT_OK ? tt_container_read(file, step, b, e) : rc;
}

/* ---- nonblocking ---- */

/* ADIOS2 has taken the data when the step ends, and a thread of its own writes it. One step is
 * written at a time: the next one begins when it is complete. */
static int adios2_submit(struct tt_file *file, enum tt_direction direction, uint64_t step,
                         const struct tt_block *b, struct tt_ticket *t, struct tt_error *e)
{
    const struct adios2_opts *o = file->opts;
    struct adios2_state *s = file->state;
    struct adios2_ticket *ticket = t->state;
    int rc;

    if (!o->async || o->method != ADIOS2_COLLECTIVE)
        return tt_fail(e, TT_UNSUPPORTED,
                       "adios2 writes by itself only with adios2.method "
                       "collective, and adios2.async yes");
    if (direction == TT_READING) {
        *ticket = (struct adios2_ticket){0};
        return adios2_read(file, step, b, e);
    }
    if (s->left == 0) /* a block that no dump has announced is one by itself */
        s->left = 1;
    rc = adios2_write(file, step, b, e);
    ticket->step = s->ended + s->dirty;
    return rc;
}

/* The next step begins where the one before is complete. Its own blocks may come later. */
static int adios2_wait(struct tt_file *file, struct tt_ticket *t, struct tt_error *e)
{
    const struct adios2_ticket *ticket = t->state;
    const struct adios2_state *s = file->state;

    if (ticket->step < s->ended || (ticket->step == s->ended && !s->in_flight) ||
        tt_container_failed_anywhere(file))
        return TT_OK;
    return flush(file, e);
}

/* By the blocks of dumps. Single transfers are put one after the other. */
static unsigned adios2_most_submitted(const void *opts)
{
    const struct adios2_opts *o = opts;

    return o->async && o->method == ADIOS2_COLLECTIVE;
}

/* ---- hooks of the container ---- */

static int list_directory(const void *opts, const struct tt_file_spec *spec,
                          struct tt_target *target, struct tt_error *e)
{
    (void)opts, (void)spec, (void)e;
    target->list[0].is_directory = true;
    return TT_OK;
}

static bool is_given(const struct adios2_opts *o, const char *key)
{
    for (size_t i = 0; i < o->parameters.n; i++)
        if (!strncasecmp(o->parameters.words[i], key, strlen(key)) &&
            o->parameters.words[i][strlen(key)] == '=')
            return true;
    return false;
}

static int set(struct tt_file *file, const char *key, const char *value, struct tt_error *e)
{
    const struct adios2_state *s = file->state;

    return tt_adios2_judge(file, adios2_set_parameter(s->io, key, value), "adios2_set_parameter",
                           e);
}

static int set_number(struct tt_file *file, const char *key, uint64_t value, struct tt_error *e)
{
    char text[24];

    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    return value ? set(file, key, text, e) : TT_OK;
}

static int set_others(struct tt_file *file, struct tt_error *e)
{
    const struct adios2_opts *o = file->opts;
    int rc = TT_OK;

    for (size_t i = 0; rc == TT_OK && i < o->parameters.n; i++) {
        char *key = strdup(o->parameters.words[i]), *equals;

        if (!key)
            return tt_fail_nomem(e, "a parameter");
        equals = strchr(key, '=');
        *equals = '\0';
        rc = set(file, key, equals + 1, e);
        free(key);
    }
    return rc;
}

/* A file that is opened by a thread fails when nobody looks, and a protocol of times would be one
 * more file in the directory. */
static int set_parameters(struct tt_file *file, struct tt_error *e)
{
    static const char *const types[] = {"", "EveryoneWrites", "EveryoneWritesSerial",
                                        "TwoLevelShm"};
    const struct adios2_opts *o = file->opts;
    int rc = set(file, "StatsLevel", o->stats ? "1" : "0", e);

    if (rc == TT_OK && o->aggregation)
        rc = set(file, "AggregationType", types[o->aggregation], e);
    if (rc == TT_OK && o->async && file->spec->native)
        rc = set(file, "AsyncWrite", "naive", e);
    if (rc == TT_OK)
        rc = set_number(file, "NumAggregators", o->aggregators, e);
    if (rc == TT_OK)
        rc = set_number(file, "NumSubFiles", o->subfiles, e);
    if (rc == TT_OK)
        rc = set_number(file, "BufferChunkSize", o->chunk, e);
    if (rc == TT_OK)
        rc = set_number(file, "MaxShmSize", o->shm, e);
    if (rc == TT_OK && !is_given(o, "AsyncOpen"))
        rc = set(file, "AsyncOpen", "off", e);
    if (rc == TT_OK && !is_given(o, "Profile"))
        rc = set(file, "Profile", "off", e);
    return rc == TT_OK ? set_others(file, e) : rc;
}

static int check_names(const struct tt_file *file, struct tt_error *e)
{
    for (unsigned i = 0; i < file->spec->nvariables; i++)
        if (!strcmp(file->spec->variables[i].path, "step"))
            return tt_fail(e, TT_UNSUPPORTED,
                           "adios2: a variable 'step' is where the number of the step is kept; "
                           "give the workload's another name");
    return TT_OK;
}

static int prepare(struct tt_file *file, struct tt_error *e)
{
    struct adios2_state *s = file->state;
    int rc = check_names(file, e);

    s->slots = calloc(file->spec->nvariables + 1, sizeof *s->slots);
    s->real_path = realpath(file->spec->path, NULL);
    if (rc == TT_OK && !s->slots)
        rc = tt_fail_nomem(e, "the variables");
    if (rc == TT_OK && !s->real_path)
        rc = tt_fail_call(e, errno, "realpath", file->spec->path, -1);
    rc = tt_file_agree(file, rc, e);
    if (rc != TT_OK)
        return rc;
    s->adios = adios2_init_mpi(file->spec->comm);
    if (!s->adios)
        return tt_adios2_fail(file, "adios2_init_mpi", NULL, e);
    if (file->spec->access == TT_READ_ONLY)
        return TT_OK;
    s->io = adios2_declare_io(s->adios, "write");
    if (!s->io || adios2_set_engine(s->io, "BP5") != adios2_error_none)
        return tt_adios2_fail(file, "adios2_declare_io", NULL, e);
    return set_parameters(file, e);
}

static int open_file(struct tt_file *file, struct tt_error *e)
{
    struct adios2_state *s = file->state;

    if (file->spec->access == TT_READ_ONLY)
        return open_reader(file, e);
    s->step_variable = adios2_define_variable(s->io, "/step", adios2_type_uint64_t, 0, NULL, NULL,
                                              NULL, adios2_constant_dims_true);
    if (!s->step_variable)
        return tt_adios2_fail(file, "adios2_define_variable", "step", e);
    /* A rank that has seen a write fail would leave the others waiting inside the library. */
    tt_calls_hide(file->spec->path);
    s->engine = adios2_open(s->io, file->spec->path, adios2_mode_write);
    return s->engine ? TT_OK : tt_adios2_fail(file, "adios2_open", NULL, e);
}

/* What was just written is looked up when it is read. */
static int find(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e)
{
    return file->spec->access == TT_READ_ONLY ? tt_adios2_find(file, variable, step, e) : TT_OK;
}

/* Variables need no room before they are written. */
static int extend(struct tt_file *file, unsigned variable, uint64_t step, struct tt_error *e)
{
    (void)file, (void)variable, (void)step, (void)e;
    return TT_OK;
}

/* A failed write-back may be told only to the descriptor that wrote, which is the library's. */
static int sync_descriptors(const struct tt_file *file, struct tt_error *e)
{
    const struct adios2_state *s = file->state;
    size_t n = strlen(s->real_path);
    DIR *fds = opendir("/proc/self/fd");
    const struct dirent *x;
    int rc = fds ? TT_OK : tt_fail_call(e, errno, "opendir", "/proc/self/fd", -1);

    while (rc == TT_OK && (x = readdir(fds))) {
        int fd = (int)strtol(x->d_name, NULL, 10);
        char path[PATH_MAX];
        ssize_t length = readlinkat(dirfd(fds), x->d_name, path, sizeof path - 1);

        if (length <= (ssize_t)n || strncmp(path, s->real_path, n) != 0 || path[n] != '/' ||
            (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
            continue;
        path[length] = '\0';
        if (fsync(fd) != 0)
            rc = tt_fail_call(e, errno, "fsync", path, -1);
    }
    if (fds)
        closedir(fds);
    return rc;
}

static int sync_file(struct tt_file *file, struct tt_error *e)
{
    struct adios2_state *s = file->state;
    int rc = sync_descriptors(file, e), fd;

    if (rc != TT_OK || file->rank != 0 || s->named)
        return rc;
    fd = open(file->spec->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) != 0)
        rc = tt_fail_call(e, errno, "fsync", file->spec->path, -1);
    if (fd >= 0)
        close(fd);
    s->named = rc == TT_OK;
    return rc;
}

/* The library tells what it could not write, and so do the system's calls. */
static int check_complete(const struct tt_file *file, struct tt_error *e)
{
    (void)file, (void)e;
    return TT_OK;
}

static void release(struct tt_file *file)
{
    (void)file; /* the step that is open needs its variables */
}

static void free_all(struct adios2_state *s, unsigned nvariables)
{
    for (unsigned i = 0; s->slots && i < nvariables; i++) {
        free(s->slots[i].written);
        free(s->slots[i].read);
    }
    free(s->slots);
    free(s->reader.steps);
    free(s->real_path);
    s->slots = NULL;
    s->reader.steps = NULL;
    s->real_path = NULL;
}

/* After a failure nobody closes: closing writes, together with ranks that may not come. */
static int close_file(struct tt_file *file, struct tt_error *e)
{
    struct adios2_state *s = file->state;
    bool writes = file->spec->access != TT_READ_ONLY;
    int rc = TT_OK, now;

    if (writes && tt_container_failed_anywhere(file))
        return TT_OK;
    if (writes && is_dirty_anywhere(file))
        rc = end_step(file, begin_step(file, e), e);
    if (writes && tt_container_failed_anywhere(file))
        return rc;
    rc = close_reader(file, e);
    if (writes) {
        now = tt_adios2_judge(file, adios2_close(s->engine), "adios2_close", e);
        rc = rc == TT_OK ? now : rc;
    }
    now = tt_adios2_judge(file, adios2_finalize(s->adios), "adios2_finalize", e);
    return rc == TT_OK ? now : rc;
}

static const struct tt_library library = {
    .bundle = true,
    .no_gaps = true,
    .sorted = true,
    .lists = TT_LISTS_MIX,
    .round_boxes = 1 << 16,
    .call_bytes = UINT64_MAX,
    .flush_call = "adios2_end_step",
    .close_flushes = true,
    .prepare = prepare,
    .open = open_file,
    .define = tt_adios2_define,
    .define_group = tt_adios2_define_group,
    .find = find,
    .extend = extend,
    .move = tt_adios2_move,
    .flush = flush,
    .sync = sync_file,
    .check_complete = check_complete,
    .release = release,
    .close = close_file,
};

static int adios2_prepare(struct tt_file *file, struct tt_error *e)
{
    int rc = tt_container_prepare(file, &library, e);

    if (rc != TT_OK)
        free_all(file->state, file->spec->nvariables);
    return rc;
}

static int adios2_open_file(struct tt_file *file, struct tt_error *e)
{
    int rc = tt_container_open(file, e);

    if (rc != TT_OK)
        free_all(file->state, file->spec->nvariables);
    return rc;
}

static int adios2_close_file(struct tt_file *file, struct tt_error *e)
{
    int rc = tt_container_close(file, e);

    free_all(file->state, file->spec->nvariables);
    return rc;
}

/* ---- facts ---- */

static unsigned count_data_files(const char *path)
{
    DIR *all = opendir(path);
    const struct dirent *x;
    unsigned n = 0;

    while (all && (x = readdir(all)))
        n += !strncmp(x->d_name, "data.", strlen("data."));
    if (all)
        closedir(all);
    return n;
}

static int adios2_query(struct tt_file *file, struct tt_facts *facts, struct tt_error *e)
{
    const struct adios2_opts *o = file->opts;
    const struct adios2_state *s = file->state;
    uint64_t wanted = o->subfiles ? o->subfiles : o->aggregators;
    char given[24] = "", found[24], name[64] = "";
    size_t length = sizeof name - 1;
    int rc;

    rc = tt_facts_add(facts, "adios2.version", NULL, ADIOS2_VERSION_STR, TT_IN_EFFECT,
                      "ADIOS2_VERSION_STR");
    if (rc == TT_OK && s->engine &&
        adios2_engine_get_type(name, &length, s->engine) == adios2_error_none)
        rc = tt_facts_add(facts, "adios2.engine", "BP5", name, TT_IN_EFFECT,
                          "adios2_engine_get_type");
    if (wanted)
        snprintf(given, sizeof given, "%llu", (unsigned long long)wanted);
    snprintf(found, sizeof found, "%u", count_data_files(file->spec->path));
    if (rc == TT_OK)
        rc = tt_facts_add(facts, "adios2.subfiles", given, found,
                          !wanted || !strcmp(given, found) ? TT_IN_EFFECT : TT_NO_EFFECT,
                          "files of data in the directory");
    snprintf(found, sizeof found, "%llu", (unsigned long long)s->ended);
    if (rc == TT_OK && s->engine)
        rc =
            tt_facts_add(facts, "adios2.steps", NULL, found, TT_IN_EFFECT, "steps that were ended");
    return rc == TT_OK ? TT_OK : tt_fail_nomem(e, "facts about the settings");
}

static bool adios2_is_collective(const void *opts)
{
    return ((const struct adios2_opts *)opts)->method == ADIOS2_COLLECTIVE;
}

const struct tt_backend tt_backend_adios2 = {
    .name = "adios2",
    .summary = "ADIOS2's BP5: a directory, and a step per dump",
    .kind = TT_BACKEND,
    .caps = TT_CAP_STORES | TT_CAP_NONBLOCKING | TT_CAP_ONE_THREAD | TT_CAP_KEEPS,
    .library = "adios2",
    .ending = ".bp",
    .state_size = sizeof(struct adios2_state),
    .ticket_size = sizeof(struct adios2_ticket),
    .opts_size = sizeof(struct adios2_opts),
    .params = params,
    .check = check,
    .list = list_directory,
    .is_collective = adios2_is_collective,
    .prepare = adios2_prepare,
    .open = adios2_open_file,
    .define = adios2_define,
    .write = adios2_write,
    .read = adios2_read,
    .submit = adios2_submit,
    .wait = adios2_wait,
    .most_submitted = adios2_most_submitted,
    .use_buffers = adios2_use_buffers,
    .sync = tt_container_sync,
    .close = adios2_close_file,
    .query = adios2_query,
};

TT_MODULE(.backend = &tt_backend_adios2);
