/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Particles of eight properties, written and read by steps, as VPIC-IO, BD-CATS-IO and h5bench do.
 * Its parts are in particles/. */
#include <string.h>

#include "engine/engine.h"
#include "plan/config.h"
#include "workloads/particles/particles.h"

static const char *const layouts[] = {"arrays", "records", NULL};
static const char *const conversions[] = {"engine", "library", NULL};
static const char *const patterns[] = {"contiguous", "strided", NULL};
static const char *const phases[] = {"write", "read", "both", "overwrite", "append", NULL};
static const char *const readings[] = {"full", "partial", "strided", "plane", "ldc",
                                       "rdc",  "prl",     "cs",      NULL};
static const char *const files[] = {"shared", "process", NULL};

#define AT(member) offsetof(struct tt_particles_options, member)
static const struct tt_param params[] = {
    {"dims", TT_PARAM_COUNTS, AT(dims), "4194304", "particles",
     "what a rank has, 1 to 3 dimensions, slowest first; ranks follow each other in the first"},
    {"deviation", TT_PARAM_REAL, AT(deviation), "0", "particles",
     "standard deviation of what ranks have, around dims, normally distributed"},
    {"steps", TT_PARAM_COUNT, AT(steps), "5", NULL, "time steps", 1, INT64_C(1) << 32},
    {"memory", TT_PARAM_CHOICE, AT(memory), "arrays", NULL,
     "in memory a property is an array, or a particle is a record", .choices = layouts},
    {"file", TT_PARAM_CHOICE, AT(file), "arrays", NULL,
     "in the file there is an array per property, or one of records", .choices = layouts},
    {"conversion", TT_PARAM_CHOICE, AT(conversion), "engine", NULL,
     "who converts where memory and file differ: tutti, or the I/O library",
     .choices = conversions},
    {"pattern", TT_PARAM_CHOICE, AT(pattern), "contiguous", NULL,
     "a rank writes all it has, or count blocks of block particles, each stride after the last",
     .choices = patterns},
    {"stride", TT_PARAM_COUNTS, AT(stride), NULL, "particles",
     "from the start of a block to that of the next; rows:columns with read=cs"},
    {"block", TT_PARAM_COUNTS, AT(block), NULL, "particles",
     "size of a block; rows:columns with read=ldc, rdc, prl, cs"},
    {"count", TT_PARAM_COUNT, AT(count), "0", NULL, "strided blocks per rank", 0, INT64_C(1) << 40},
    {"phase", TT_PARAM_CHOICE, AT(phase), "write", NULL,
     "write, read, or both; overwrite or append to what an earlier run has kept at path",
     .choices = phases},
    {"read", TT_PARAM_CHOICE, AT(reading), "full", NULL,
     "all that the rank has, its first read_count particles, strided blocks, a plane; or by rank 0 "
     "alone two corners of its particles (ldc, rdc), their frame (prl), blocks down the diagonal "
     "(cs)",
     .choices = readings},
    {"read_count", TT_PARAM_COUNT, AT(read_count), "0", "particles", "with read=partial", 0,
     INT64_C(1) << 40},
    {"plane_dimension", TT_PARAM_COUNT, AT(plane_dimension), "1", NULL,
     "with read=plane: the dimension that the plane leaves out, 1 is the slowest", 1,
     TT_PARTICLE_DIMS},
    {"plane_index", TT_PARAM_COUNT, AT(plane_index), "0", NULL,
     "with read=plane: where in that dimension", 0, INT64_C(1) << 40},
    {"compute", TT_PARAM_PASSES, AT(compute), "0", "passes",
     "computation between two steps, each over 65536 particles in memory; or for how long, which "
     "is "
     "calibrated once",
     0, INT64_C(1) << 40},
    {"pause", TT_PARAM_DURATION, AT(pause), "0", "s",
     "sleep between two steps, as h5bench does: a rank that sleeps needs no core", 0, 1000000},
    {"prefetch", TT_PARAM_BOOL, AT(prefetch), "no", NULL,
     "read the next step while computing; needs overlap"},
    {"verify", TT_PARAM_BOOL, AT(verify), "yes", NULL,
     "after the measured time, read again what was read, and check every byte"},
    {"memory_limit", TT_PARAM_BYTES, AT(memory_limit), "0", "B",
     "bytes per rank in flight at most, if that is less than --inflight steps; 0: no limit", 0,
     INT64_MAX},
    {"unlimited", TT_PARAM_BOOL, AT(unlimited), "no", NULL,
     "the first dimension may grow later; append needs it"},
    {"appended", TT_PARAM_COUNT, AT(appended), "0", NULL,
     "how often path was appended to before; what was appended last is read or overwritten", 0,
     1000000},
    {"files", TT_PARAM_CHOICE, AT(files), "shared", NULL, "one file, or one per process",
     .choices = files},
    {"path", TT_PARAM_TEXT, AT(path), NULL, NULL,
     "the file, relative to --dir; default: a new one there", .placeholder = "FILE"},
    {NULL},
};

static bool converts(const struct tt_particles_options *o)
{
    return o->memory != o->file;
}

static bool creates(const struct tt_particles_options *o)
{
    return o->phase == TT_PARTICLES_WRITE || o->phase == TT_PARTICLES_BOTH;
}

static int impossible(const struct tt_config *config, const char *what, const char *why,
                      struct tt_error *e)
{
    return tt_fail(e, TT_USAGE, "%s is not possible on %s%s, because %s", what,
                   config->run->backend, config->stack.n > 1 ? " under these layers" : "", why);
}

static int check_stack(const struct tt_config *config, const struct tt_particles_options *o,
                       struct tt_error *e)
{
    unsigned caps = tt_stack_caps(&config->stack);
    bool checks = o->verify && (o->phase == TT_PARTICLES_READ || o->phase == TT_PARTICLES_BOTH);

    if (checks && tt_stack_check_loss(&config->stack, "particles.verify=no", e) != TT_OK)
        return TT_USAGE;
    if (o->phase == TT_PARTICLES_READ && !(caps & TT_CAP_STORES))
        return impossible(config, "particles.phase=read", "it keeps nothing", e);
    if (o->phase == TT_PARTICLES_OVERWRITE && !(caps & TT_CAP_UPDATES))
        return impossible(config, "particles.phase=overwrite", "it does not change a finished file",
                          e);
    if (o->phase == TT_PARTICLES_APPEND && !(caps & TT_CAP_GROWS))
        return impossible(config, "particles.phase=append",
                          "variables of its finished files cannot grow", e);
    if (converts(o) && o->conversion == TT_PARTICLES_LIBRARY && !(caps & TT_CAP_CONVERTS))
        return impossible(config, "particles.conversion=library",
                          "it moves bytes as they are; use conversion=engine", e);
    return TT_OK;
}

static uint64_t rank_bytes(const struct tt_particles_options *o)
{
    uint64_t n = sizeof(struct tt_particle);

    for (size_t d = 0; d < o->dims.n; d++)
        n *= o->dims.values[d];
    return n;
}

static int check_sizes(const struct tt_config *config, const struct tt_particles_options *o,
                       struct tt_error *e)
{
    double all =
        (double)rank_bytes(o) * 10.0 * (double)(config->run->ranks + 1) * (double)(o->appended + 2);

    if (all * (double)o->steps > 0x1p62)
        return tt_fail(e, TT_USAGE, "particles.dims: all ranks and steps together are too large");
    if (o->memory_limit && o->memory_limit < rank_bytes(o))
        return tt_fail(e, TT_USAGE,
                       "particles.memory_limit: %llu bytes are less than a step of a rank, %llu",
                       (unsigned long long)o->memory_limit, (unsigned long long)rank_bytes(o));
    return TT_OK;
}

static int particles_check(const struct tt_config *config, struct tt_error *e)
{
    const struct tt_particles_options *o = tt_config_opts(config, "particles");
    int rc = tt_particles_shape_check(o, e);

    if (rc == TT_OK)
        rc = check_sizes(config, o, e);
    if (rc != TT_OK)
        return rc;
    if (!creates(o) && !o->path)
        return tt_fail(e, TT_USAGE, "particles.phase=%s needs particles.path", phases[o->phase]);
    if (creates(o) && o->appended)
        return tt_fail(e, TT_USAGE, "particles.appended is for a file that is there already");
    if (o->prefetch && config->run->overlap == TT_OVERLAP_NONE)
        return tt_fail(e, TT_USAGE, "particles.prefetch needs --overlap async, or --mode async");
    if (o->prefetch && o->phase != TT_PARTICLES_READ && o->phase != TT_PARTICLES_BOTH)
        return tt_fail(e, TT_USAGE, "particles.prefetch needs a phase that reads");
    return check_stack(config, o, e);
}

/* A rank's share of what is written or read in a step, of those rows. */
static uint64_t moved(const struct tt_particles_options *o, uint64_t rows, bool strided)
{
    uint64_t n = strided ? o->count * o->block.values[0] : rows;

    for (size_t d = 1; d < o->dims.n; d++)
        n *= o->dims.values[d];
    return n * sizeof(struct tt_particle);
}

/* Of blocks at the most: all of it. */
static uint64_t moved_by_reading(const struct tt_particles_options *o, uint64_t rows)
{
    if (o->reading == TT_PARTICLES_READ_PARTIAL && o->read_count < rows)
        rows = o->read_count;
    if (o->reading == TT_PARTICLES_READ_PLANE)
        return moved(o, rows, false) /
               (o->plane_dimension == 1 ? rows : o->dims.values[o->plane_dimension - 1]);
    return moved(o, rows, o->reading == TT_PARTICLES_READ_STRIDED);
}

static int particles_estimate(const struct tt_config *config, struct tt_estimate *out,
                              struct tt_error *e)
{
    const struct tt_particles_options *o = tt_config_opts(config, "particles");
    uint64_t ranks = config->run->ranks ? config->run->ranks : 1;
    uint64_t written = 0, read = 0, extent = 0, dump = 0, load = 0, most;

    (void)e;
    for (uint64_t r = 0; r < ranks; r++) {
        uint64_t rows = tt_particles_rows(o, config->run->seed, r), own;

        extent += moved(o, rows, false);
        own = moved(o, rows, o->pattern == TT_PARTICLES_STRIDED);
        dump = own > dump ? own : dump;
        written += own;
        own = moved_by_reading(o, rows);
        load = own > load ? own : load;
        read += own;
    }
    if (o->phase != TT_PARTICLES_READ) {
        out->bytes_written = written * o->steps;
        out->bytes_on_disk = o->phase == TT_PARTICLES_OVERWRITE ? 0 : extent * o->steps;
        out->dumps = o->steps;
        out->files = creates(o) ? (o->files ? ranks : 1) : 0;
    }
    if ((o->phase == TT_PARTICLES_READ || o->phase == TT_PARTICLES_BOTH) &&
        (tt_stack_caps(&config->stack) & TT_CAP_STORES))
        out->bytes_read = read * o->steps; /* at most */
    most = out->bytes_read && load > dump ? load : dump;
    out->memory_per_rank =
        most * (1 + (converts(o) && o->conversion == TT_PARTICLES_ENGINE) + o->prefetch);
    if (config->device) { /* the host has the staging buffers only */
        out->device_memory = out->memory_per_rank;
        if (o->phase != TT_PARTICLES_READ)
            out->device_memory += tt_device_snapshots(config, dump, false) * dump;
        out->memory_per_rank =
            config->run->overlap == TT_OVERLAP_NONE || out->bytes_read ? most : 0;
    }
    if (config->run->overlap != TT_OVERLAP_NONE && o->phase != TT_PARTICLES_READ)
        out->memory_per_rank += dump * config->run->inflight;
    out->sleep_seconds = o->pause * (double)(o->steps - 1);
    out->compute_seconds =
        out->sleep_seconds + tt_passes_seconds(&o->compute) * (double)(o->steps - 1);
    return TT_OK;
}

static const struct tt_workload_column time_columns[] = {
    [TT_PARTICLES_RAW] = {"raw", "s", "in calls that move data, and waiting for them"},
    [TT_PARTICLES_METADATA] = {"metadata", "s", "making groups and variables"},
    [TT_PARTICLES_OBSERVED] = {"observed", "s", "all of it"},
    [TT_PARTICLES_COMPUTATION] = {"computation", "s", "between two steps"},
    [TT_PARTICLES_OPENING] = {"opening", "s", "of the file"},
    [TT_PARTICLES_SYNCING] = {"syncing", "s", "of the file"},
    [TT_PARTICLES_CLOSING] = {"closing", "s", "of the file"},
    [TT_PARTICLES_NTIMES] = {NULL, NULL, NULL},
};
static const char *const time_rows[] = {"write", "read", NULL};
static const struct tt_workload_column number_columns[] = {
    [TT_PARTICLES_TOTAL] = {"total", "1", "particles of all ranks"},
    [TT_PARTICLES_MEAN] = {"mean", "1", "particles of a rank"},
    [TT_PARTICLES_DEVIATION] = {"deviation", "1", "standard deviation of what ranks have"},
    [TT_PARTICLES_NNUMBERS] = {NULL, NULL, NULL},
};
static const struct tt_workload_table tables[] = {
    {"h5bench", time_columns, time_rows}, {"ranks", number_columns, NULL}, {NULL, NULL, NULL}};
static const char *const shown[] = {"phase", "steps", NULL};

const struct tt_workload tt_workload_particles = {
    .name = "particles",
    .summary = "particles of eight properties by steps: VPIC-IO, BD-CATS-IO, h5bench",
    .on_device = true,
    .has_epochs = true,
    .params = params,
    .opts_size = sizeof(struct tt_particles_options),
    .shown = shown,
    .computation = &tt_particles_computation,
    .tables = tables,
    .check = particles_check,
    .estimate = particles_estimate,
    .run = tt_particles_run,
};
