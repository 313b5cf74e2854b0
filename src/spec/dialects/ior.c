/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What IOR can be told, in two tables: what is done here, and what is taken with a note or refused
 * because the number would be another's. Unlike in IOR, nothing unknown or half understood is
 * passed over. Left out: interfaces that no backend has. */
#include "spec/dialects/ior.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/notice.h"
#include "spec/units.h"

#define MAX_LINE 512 /* of a script */

/* IOR's parameters, as far as they are known here. */
struct ior {
    char *api, *file, *memory, *data, *format, *summary, *status_file, *script;
    char *reorder_seed, *offset_seed; /* may be negative */
    char *label, *alignment, *hints, *gpu;
    uint64_t block, transfer, segments, repetitions, distance, signature, minutes, tasks, chunk;
    uint64_t random_offset, reorder_random, verbose, on_gpu;
    double deadline;
    bool write, read, check_write, check_read, keep, keep_wrong, fsync, fsync_per_write;
    bool barriers, per_process, unique_directories, multi_file, wear_out, collective, direct;
    bool reorder, madvise, existing, offsets, collective_metadata, dry_run;
};

#define VALUE(letter, key, type, member, default_text, value, text) \
    { \
        key, type, offsetof(struct ior, member), default_text, NULL, text, .flag = letter, \
                                                                           .placeholder = value \
    }
#define SWITCH(letter, key, member, text) \
    { \
        key, TT_PARAM_BOOL, offsetof(struct ior, member), NULL, NULL, text, .flag = letter \
    }
#define LEVEL(letter, key, member, text) \
    { \
        key, TT_PARAM_COUNT, offsetof(struct ior, member), NULL, NULL, text, 0, 9, \
            .flag = letter, .placeholder = "" \
    }
static const struct tt_param params[] = {
    VALUE("-a", "api", TT_PARAM_TEXT, api, "POSIX", "API",
          "POSIX, MMAP, MPIIO, HDF5, NCMPI, URING or DUMMY"),
    VALUE("-b", "blockSize", TT_PARAM_BYTES, block, "1m", "SIZE",
          "what a task transfers contiguously in each segment"),
    VALUE("-t", "transferSize", TT_PARAM_BYTES, transfer, "256k", "SIZE", "bytes per transfer"),
    VALUE("-s", "segmentCount", TT_PARAM_COUNT, segments, "1", "N", "number of segments"),
    SWITCH("-F", "filePerProc", per_process, "a file per task"),
    VALUE("-o", "testFile", TT_PARAM_TEXT, file, "testFile", "FILE",
          "the file; of FILE@FILE... the tasks take one each, in turn"),
    SWITCH("-u", "uniqueDir", unique_directories, "a directory per file with -F"),
    SWITCH("-m", "multiFile", multi_file, "a file per repetition"),
    VALUE("-i", "repetitions", TT_PARAM_COUNT, repetitions, "1", "N", "number of repetitions"),
    SWITCH("-w", "writeFile", write, "write; without -w, -r, -W and -R: write and read"),
    SWITCH("-r", "readFile", read, "read"),
    SWITCH("-W", "checkWrite", check_write, "check after writing"),
    SWITCH("-R", "checkRead", check_read, "check while reading"),
    SWITCH("-k", "keepFile", keep, "keep the files"),
    SWITCH("-K", "keepFileWithError", keep_wrong, "keep files whose check failed"),
    SWITCH("-e", "fsync", fsync, "fsync after the last write"),
    SWITCH("-Y", "fsyncPerWrite", fsync_per_write, "fsync after each write"),
    SWITCH("-g", "intraTestBarriers", barriers, "barriers between open, transfers and close"),
    VALUE("-D", "deadlineForStonewalling", TT_PARAM_DURATION, deadline, NULL, "SECONDS",
          "stop each phase after this time"),
    SWITCH(NULL, "stoneWallingWearOut", wear_out,
           "after -D, all tasks do as many transfers as the fastest"),
    VALUE(NULL, "stoneWallingStatusFile", TT_PARAM_TEXT, status_file, NULL, "FILE",
          "where the number of transfers of -D is kept"),
    VALUE("-M", "memoryPerNode", TT_PARAM_TEXT, memory, NULL, "SIZE|N%",
          "memory of each node to hold while it runs"),
    VALUE("-G", "setTimeStampSignature", TT_PARAM_COUNT, signature, NULL, "N",
          "signature in the data"),
    LEVEL("-v", "verbose", verbose, "more output; up to -vvv"),
    LEVEL("-z", "randomOffset", random_offset,
          "random order of transfers; -zz: random places, which may repeat"),
    VALUE(NULL, "random-offset-seed", TT_PARAM_TEXT, offset_seed, NULL, "SEED", "seed of -z"),
    SWITCH("-C", "reorderTasks", reorder, "read what another task has written"),
    LEVEL("-Z", "reorderTasksRandom", reorder_random,
          "read what a random task has written; -ZZ: a permutation of tasks"),
    VALUE("-Q", "taskPerNodeOffset", TT_PARAM_COUNT, distance, "1", "N",
          "distance to the other task of -C and -Z"),
    VALUE("-X", "reorderTasksRandomSeed", TT_PARAM_TEXT, reorder_seed, NULL, "SEED",
          "seed of -Z; negative: a new order in each repetition"),
    VALUE("-T", "maxTimeDuration", TT_PARAM_COUNT, minutes, NULL, "MINUTES",
          "time limit for the whole run"),
    SWITCH("-c", "collective", collective, "collective transfers"),
    VALUE("-l", "dataPacketType", TT_PARAM_TEXT, data, "timestamp", "TYPE",
          "timestamp, offset, incompressible or random"),
    SWITCH(NULL, "storeFileOffset", offsets, "the same as -l offset"),
    SWITCH("-B", "useO_DIRECT", direct, "bypass the page cache"),
    SWITCH(NULL, "posix.odirect", direct, "the same"),
    SWITCH(NULL, "mmap.madv_pattern", madvise, "tell the kernel the order with MMAP"),
    SWITCH("-E", "useExistingTestFile", existing, "do not remove the file before writing"),
    VALUE("-N", "numTasks", TT_PARAM_COUNT, tasks, NULL, "N",
          "number of tasks: what the launcher says, or the tasks to start"),
    VALUE("-A", "refNum", TT_PARAM_TEXT, label, NULL, "N", "becomes the label of the run"),
    VALUE("-J", "setAlignment", TT_PARAM_TEXT, alignment, NULL, "SIZE",
          "alignment of datasets in HDF5"),
    VALUE(NULL, "hdf5.setAlignment", TT_PARAM_TEXT, alignment, NULL, "SIZE", "the same"),
    VALUE(NULL, "hdf5.chunkSize", TT_PARAM_COUNT, chunk, NULL, "N",
          "chunks of N elements of 8 bytes in HDF5"),
    SWITCH(NULL, "hdf5.collectiveMetadata", collective_metadata, "collective metadata in HDF5"),
    VALUE("-U", "hintsFileName", TT_PARAM_TEXT, hints, NULL, "FILE",
          "hints for MPI-IO, IOR_HINT__MPI__KEY=VALUE a line; the environment may have such, too"),
    VALUE(NULL, "mpiio.hintsFileName", TT_PARAM_TEXT, hints, NULL, "FILE", "the same"),
    VALUE(NULL, "hdf5.hintsFileName", TT_PARAM_TEXT, hints, NULL, "FILE", "the same"),
    VALUE(NULL, "ncmpi.hintsFileName", TT_PARAM_TEXT, hints, NULL, "FILE", "the same"),
    {"allocateBufferOnGPU", TT_PARAM_COUNT, offsetof(struct ior, on_gpu), NULL, NULL,
     "buffers in the memory of an NVIDIA GPU; 1 and 2, managed memory in IOR, are as 3", 0, 3,
     .placeholder = "0..3"},
    VALUE(NULL, "GPUid", TT_PARAM_TEXT, gpu, NULL, "N",
          "the GPU of every node to use; -1: its ranks share all"),
    SWITCH(NULL, "dryRun", dry_run, "check everything and print an estimate only"),
    SWITCH(NULL, "reorderTasksConstant", reorder, "the same as -C"),
    VALUE("-f", "scriptFile", TT_PARAM_TEXT, script, NULL, "SCRIPT", "run the tests of a script"),
    VALUE(NULL, "summaryFormat", TT_PARAM_TEXT, format, "default", "FORMAT",
          "default, JSON or CSV"),
    VALUE(NULL, "summaryFile", TT_PARAM_TEXT, summary, NULL, "FILE",
          "where JSON or CSV goes instead of stdout"),
    {NULL},
};

#define NOTE(letter, name, value, why) \
    { \
        letter, name, value, false, why \
    }
#define REFUSE(letter, name, value, why) \
    { \
        letter, name, value, true, why \
    }
static const char layout[] = "a layout would change the number: set it for the directory, or use "
                             "tutti run bulk --stripe.count";
static const char slow[] = "time that is not spent in transfers would be in the number";
static const char views[] = "transfers are made at explicit offsets: use tutti run pattern";
static const struct tt_other_option others[] = {
    NOTE("-d", "interTestDelay", true, "tests follow each other at once"),
    NOTE("-H", "showHints", false, "hints are in every result: see --json"),
    NOTE("-I", "individualDataSets", false, "there is one dataset in a file, as in IOR"),
    NOTE("-j", "outlierThreshold", true, "stragglers are warned about in every result"),
    NOTE("-n", "noFill", false, "datasets are never filled"),
    NOTE("-q", "quitOnError", false, "every error ends the run"),
    NOTE("-x", "singleXferAttempt", false,
         "transfers that move less than asked are always continued"),
    NOTE(NULL, "debug", true, "everything is in the run directory"),
    NOTE(NULL, "platform", true, "the environment is in every result"),
    NOTE(NULL, "numNodes", true, "the launcher says how many nodes there are"),
    NOTE(NULL, "numTasksOnNode0", true, "the launcher says where tasks are"),
    NOTE(NULL, "showHelp", false, "tutti help ior lists the options"),
    NOTE(NULL, "summaryAlways", true, "the summary is always printed"),
    NOTE(NULL, "warningAsErrors", false, "warnings are in the result: see tutti show"),
    NOTE(NULL, "saveRankPerformanceDetailsCSV", true, "ranks are in the run directory"),
    NOTE(NULL, "savePerOpDataCSV", true, "calls are in the run directory: see tutti export"),
    NOTE(NULL, "hdf5.noFill", false, "datasets are never filled"),
    NOTE(NULL, "hdf5.individualDataSets", false, "there is one dataset in a file, as in IOR"),
    NOTE(NULL, "hdf5.showHints", false, "hints are in every result: see --json"),
    NOTE(NULL, "mpiio.showHints", false, "hints are in every result: see --json"),
    NOTE(NULL, "ncmpi.showHints", false, "hints are in every result: see --json"),
    NOTE(NULL, "mmap.madv_dont_need", false, "no page is mapped yet when a file is opened"),
    REFUSE("-p", "preallocate", false, "files are not preallocated"),
    REFUSE("-P", "useSharedFilePointer", false, "there are no shared file pointers"),
    REFUSE("-S", "useStridedDatatype", false, views),
    REFUSE("-V", "useFileView", false, views),
    REFUSE("-y", "dualMount", false, "there is one mount point"),
    REFUSE(NULL, "interIODelay", true, slow),
    REFUSE(NULL, "minTimeDuration", true, "a file is written once: use -D, or a larger -s"),
    REFUSE(NULL, "memoryPerTask", true, "use -M, the memory of each node"),
    REFUSE(NULL, "randomPrefill", true, "write the file without -z before, and keep it with -k"),
    REFUSE(NULL, "stoneWallingWearOutIterations", true,
           "name the file that has the count: -O stoneWallingStatusFile=FILE"),
    REFUSE(
        NULL, "gpuDirect", false,
        "GPUDirect Storage is not tested yet: use -O allocateBufferOnGPU=3, which copies through "
        "the host"),
    REFUSE(NULL, "mpiio.preallocate", false, "files are not preallocated"),
    REFUSE(NULL, "mpiio.useStridedDatatype", false, views),
    REFUSE(NULL, "mpiio.useFileView", false, views),
    REFUSE(NULL, "ncmpi.preallocate", false, "files are not preallocated"),
    REFUSE(NULL, "ncmpi.useStridedDatatype", false, views),
    REFUSE(NULL, "ncmpi.useFileView", false, views),
    REFUSE(NULL, "posix.rangelocks", false, "transfers are made without locks"),
    REFUSE(NULL, "posix.lustre.stripecount", true, layout),
    REFUSE(NULL, "posix.lustre.stripesize", true, layout),
    REFUSE(NULL, "posix.lustre.startost", true, layout),
    REFUSE(NULL, "posix.lustre.pool", true, layout),
    REFUSE(NULL, "posix.lustre.ignorelocks", false, "transfers are made with the usual locks"),
    REFUSE(NULL, "posix.beegfs.NumTargets", true, layout),
    REFUSE(NULL, "posix.beegfs.ChunkSize", true, layout),
    REFUSE(NULL, "posix.gpfs.hintaccess", false, "the file system is told nothing in advance"),
    REFUSE(NULL, "posix.gpfs.releasetoken", true, "the file system is told nothing in advance"),
    REFUSE(NULL, "posix.gpfs.finegrainwritesharing", false,
           "the file system is told nothing in advance"),
    REFUSE(NULL, "posix.gpfs.finegrainreadsharing", false,
           "the file system is told nothing in advance"),
    REFUSE(NULL, "posix.gpfs.createsharing", false, "the file system is told nothing in advance"),
    REFUSE(NULL, "dummy.delay-create", true, slow),
    REFUSE(NULL, "dummy.delay-close", true, slow),
    REFUSE(NULL, "dummy.delay-sync", true, slow),
    REFUSE(NULL, "dummy.delay-xfer", true, slow),
    REFUSE(NULL, "dummy.delay-only-rank0", false, slow),
    {0},
};

const struct tt_options tt_ior_options = {params, sizeof(struct ior), TT_OPTIONS_NAMES, others};

/* ---- settings ---- */

static const char *yes(bool value)
{
    return value ? "yes" : "no";
}

/* A seed that may be negative; NULL is 0. */
static int read_seed(const char *text, const char *place, uint64_t *seed, bool *negative,
                     struct tt_error *e)
{
    struct tt_error inner = TT_ERROR_CLEAR;
    int rc;

    *negative = text && text[0] == '-';
    *seed = 0;
    rc = text ? tt_parse_count(text + *negative, seed, &inner) : TT_OK;
    if (rc == TT_OK && *seed <= INT64_MAX)
        return TT_OK;
    return tt_fail(e, TT_USAGE, "%s: %s", place, rc != TT_OK ? inner.text : "too large");
}

static const struct {
    const char *api, *backend, *method;
} apis[] = {
    {"POSIX", "posix", NULL},
    {"MMAP", "mmap", NULL},
    {"MPIIO", "mpiio", "mpiio.method"},
    {"HDF5", "hdf5", "hdf5.method"},
    {"NCMPI", "pnetcdf", "pnetcdf.method"},
    {"URING", "uring", NULL},
    {"DUMMY", "discard", NULL},
};

/* What an interface does not have, IOR passes over. */
static void pass_over(const struct ior *p, const char *option)
{
    tt_notice_same("%s has no effect on %s", option, p->api);
}

/* IOR_HINT__MPI__KEY=VALUE as a word of a list, whose commas are written "\,"; IOR hands those of
 * GPFS to MPI as well. Anything that is not called IOR_HINT is somebody else's, or a comment. */
static int add_hint(FILE *list, const char *text, const char *place, struct tt_error *e)
{
    static const char prefix[] = "IOR_HINT__";
    const char *key = text + sizeof prefix - 1;

    if (strncmp(text, prefix, sizeof prefix - 1) != 0)
        return TT_OK;
    if (!strncmp(key, "MPI__", 5))
        key += 5;
    else if (!strncmp(key, "GPFS__", 6))
        key += 6;
    else
        return tt_fail(e, TT_USAGE, "%s: '%.60s' is not a hint of MPI or GPFS", place, text);
    if (ftell(list) > 0)
        fputc(',', list);
    for (const char *at = key; *at; at++) {
        if (*at == ',' || *at == '\\')
            fputc('\\', list);
        if (!isspace((unsigned char)*at))
            fputc(*at, list);
    }
    return TT_OK;
}

static int read_hints(FILE *list, const char *name, struct tt_error *e)
{
    FILE *file = fopen(name, "re");
    char text[MAX_LINE], place[MAX_LINE + 24];
    int rc = file ? TT_OK : tt_fail_call(e, errno, "open", name, -1);

    for (unsigned n = 1; rc == TT_OK && fgets(text, sizeof text, file); n++) {
        snprintf(place, sizeof place, "%s:%u", name, n);
        rc = strchr(text, '\n') || feof(file)
                 ? add_hint(list, text, place, e)
                 : tt_fail(e, TT_USAGE, "%s: the line is too long", place);
    }
    if (rc == TT_OK && ferror(file))
        rc = tt_fail_call(e, errno, "read", name, -1);
    if (file)
        fclose(file);
    return rc;
}

/* Those of the file come last, as in IOR, and win. */
static int put_hints(struct tt_settings *s, const struct ior *p, const char *backend,
                     struct tt_error *e)
{
    char *text = NULL, key[32];
    size_t size = 0;
    FILE *list = open_memstream(&text, &size);
    int rc = list ? TT_OK : tt_fail_nomem(e, "hints");

    for (char **variable = environ; rc == TT_OK && *variable; variable++)
        rc = add_hint(list, *variable, "the environment", e);
    if (rc == TT_OK && p->hints)
        rc = read_hints(list, p->hints, e);
    if (list && fclose(list) != 0 && rc == TT_OK)
        rc = tt_fail_nomem(e, "hints");
    snprintf(key, sizeof key, "%s.hints", backend);
    if (rc == TT_OK && size > 0)
        tt_settings_put(s, p->hints ? "-U" : "IOR_HINT__", key, "%s", text);
    free(text);
    return rc;
}

static void put_hdf5(struct tt_settings *s, const struct ior *p)
{
    bool is_hdf5 = !strcasecmp(p->api, "HDF5");

    if (p->alignment && is_hdf5)
        tt_settings_put(s, "-J", "hdf5.alignment", "%s", p->alignment);
    else if (p->alignment)
        pass_over(p, "-J");
    if (p->chunk && is_hdf5) /* elements of 8 bytes there, bytes here */
        tt_settings_put(s, "hdf5.chunkSize", "hdf5.chunk", "%" PRIu64, 8 * p->chunk);
    else if (p->chunk)
        pass_over(p, "hdf5.chunkSize");
    if (p->collective_metadata && is_hdf5)
        tt_settings_put(s, "hdf5.collectiveMetadata", "hdf5.collective_metadata", "yes");
    else if (p->collective_metadata)
        pass_over(p, "hdf5.collectiveMetadata");
}

static int put_api(struct tt_settings *s, const struct ior *p, struct tt_error *e)
{
    size_t i = 0;

    while (i < sizeof apis / sizeof *apis && strcasecmp(apis[i].api, p->api) != 0)
        i++;
    if (i == sizeof apis / sizeof *apis)
        return tt_fail(e, TT_USAGE,
                       "-a: '%.40s' is not one of POSIX, MMAP, MPIIO, HDF5, NCMPI, URING, DUMMY",
                       p->api);
    tt_settings_put(s, "-a", "backend", "%s", apis[i].backend);
    if (apis[i].method)
        tt_settings_put(s, "-c", apis[i].method, p->collective ? "collective" : "independent");
    else if (p->collective)
        pass_over(p, "-c");
    if (!apis[i].method && p->hints)
        pass_over(p, "-U");
    put_hdf5(s, p);
    if (p->madvise && !strcasecmp(p->api, "MMAP"))
        tt_settings_put(s, "mmap.madv_pattern", "mmap.advice",
                        p->random_offset ? "random" : "sequential");
    else if (p->madvise)
        pass_over(p, "mmap.madv_pattern");
    if (p->direct && strcasecmp(p->api, "POSIX") != 0 && strcasecmp(p->api, "URING") != 0) {
        pass_over(p, "--posix.odirect");
    } else if (p->direct) {
        char key[32];

        snprintf(key, sizeof key, "%s.odirect", apis[i].backend);
        tt_settings_put(s, "--posix.odirect", key, "yes");
    }
    return apis[i].method ? put_hints(s, p, apis[i].backend, e) : TT_OK;
}

/* Managed memory would be copied by the driver when it likes, so its buffers are plain ones, too.
 */
static void put_gpu(struct tt_settings *s, const struct ior *p)
{
    if (p->on_gpu == 1 || p->on_gpu == 2)
        tt_notice_same("allocateBufferOnGPU=%llu: buffers are in the GPU's own memory, and not in "
                       "managed memory",
                       (unsigned long long)p->on_gpu);
    if (p->on_gpu)
        tt_settings_put(s, "allocateBufferOnGPU", "device", "cuda");
    if (p->on_gpu && p->gpu && strcmp(p->gpu, "-1") != 0) /* the ranks of a node take turns */
        tt_settings_put(s, "GPUid", "device.map", "%s", p->gpu);
    else if (p->gpu && !p->on_gpu)
        tt_notice_same("GPUid has no effect without allocateBufferOnGPU");
}

static int put_data(struct tt_settings *s, const struct ior *p, struct tt_error *e)
{
    static const char *const names[] = {"timestamp", "offset", "incompressible", "random"};
    static const char *const ours[] = {"timestamp", "offset", "scatter", "random"};

    if (p->offsets) {
        tt_settings_put(s, "storeFileOffset", "bulk.data", "offset");
        return TT_OK;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcasecmp(p->data, names[i]) ||
            (tolower((unsigned char)p->data[0]) == names[i][0] && !p->data[1])) {
            tt_settings_put(s, "-l", "bulk.data", "%s", ours[i]);
            return TT_OK;
        }
    return tt_fail(e, TT_USAGE,
                   "-l: '%.40s' is not one of timestamp, offset, incompressible, random", p->data);
}

/* Names joined by '@' become words of a list, whose commas are written "\,". Whatever else belongs
 * to the run is beside the (first) file; a relative one starts at --dir. */
static int put_paths(struct tt_settings *s, const char *file, struct tt_error *e)
{
    char *list = calloc(2, strlen(file) + 1), *directory = strdup(file), *end;
    size_t n = 0;

    if (!list || !directory) {
        free(list);
        free(directory);
        return tt_fail_nomem(e, "a path");
    }
    for (const char *at = file; *at; at++) {
        if (*at == ',' || *at == '\\')
            list[n++] = '\\';
        list[n++] = *at == '@' ? ',' : *at;
    }
    tt_settings_put(s, "-o", "bulk.paths", "%s", list);
    directory[strcspn(directory, "@")] = '\0';
    end = strrchr(directory, '/');
    if (end)
        end[end == directory] = '\0';
    if (directory[0] == '/')
        tt_settings_put(s, "-o", "dir", "%s", directory);
    free(list);
    free(directory);
    return TT_OK;
}

/* A first write is not the same as writing over what is there. */
static bool is_there(const struct ior *p)
{
    char path[4096];

    snprintf(path, sizeof path, "%.*s%s", (int)strcspn(p->file, "@"), p->file,
             p->per_process ? ".00000000" : "");
    return access(path, F_OK) == 0;
}

static int check(const struct ior *p, struct tt_error *e)
{
    bool writes = p->write || !(p->read || p->check_read || p->check_write);

    if (!strcasecmp(p->api, "DUMMY") && (p->check_read || p->check_write))
        return tt_fail(e, TT_USAGE,
                       "-a DUMMY keeps nothing that could be checked: leave out -W "
                       "and -R");
    if (p->existing && writes && is_there(p))
        return tt_fail(e, TT_USAGE,
                       "-E: '%.200s' is there and would be made anew, not written over; remove it",
                       p->file);
    if (p->reorder && p->reorder_random)
        return tt_fail(e, TT_USAGE, "-C and -Z exclude each other");
    if (p->random_offset && (p->reorder || p->reorder_random) && !p->per_process)
        return tt_fail(e, TT_USAGE,
                       "-z with -C or -Z needs -F: a shared file has no file per task "
                       "to be read by another");
    if (p->check_read && !p->write && p->signature == 0)
        return tt_fail(e, TT_USAGE, "-R without -w needs -G, the signature of what was written");
    if (p->check_read && !p->write && p->random_offset && !p->offset_seed)
        return tt_fail(e, TT_USAGE, "-R with -z needs --random-offset-seed");
    if (p->check_write && !p->write)
        return tt_fail(
            e, TT_USAGE,
            "-W checks what -w has written: add -w, or check a file that is there with -R");
    if (p->verbose > 3)
        tt_notice_same("-vvvv has no effect: single offsets are not printed; -vvv is the most");
    return TT_OK;
}

static void put_sizes(struct tt_settings *s, const struct ior *p)
{
    tt_settings_put(s, "-b", "bulk.block", "%" PRIu64, p->block);
    tt_settings_put(s, "-t", "bulk.transfer", "%" PRIu64, p->transfer);
    tt_settings_put(s, "-s", "bulk.segments", "%" PRIu64, p->segments);
    tt_settings_put(s, "-F", "bulk.files", p->per_process ? "process" : "shared");
    tt_settings_put(s, "-i", "bulk.repetitions", "%" PRIu64, p->repetitions);
    tt_settings_put(s, "-m", "bulk.numbered", "%s", yes(p->multi_file));
    tt_settings_put(s, "-u", "bulk.own_directories", "%s", yes(p->unique_directories));
    if (p->memory)
        tt_settings_put(s, "-M", "bulk.ballast", "%s", p->memory);
    if (p->tasks)
        tt_settings_put(s, "-N", "ranks", "%" PRIu64, p->tasks);
    if (p->label)
        tt_settings_put(s, "-A", "label", "%s", p->label);
    if (p->dry_run)
        tt_settings_put(s, "dryRun", "dry_run", "yes");
    if (p->minutes)
        tt_settings_put(s, "-T", "max_time", "%" PRIu64 "min", p->minutes);
}

static void put_accesses(struct tt_settings *s, const struct ior *p)
{
    bool any = p->write || p->read || p->check_write || p->check_read;

    tt_settings_put(s, "-w", "bulk.write", "%s", yes(!any || p->write));
    tt_settings_put(s, "-r", "bulk.read", "%s", yes(!any || p->read || p->check_read));
    tt_settings_put(s, "-W", "bulk.check_write", "%s", yes(p->check_write));
    tt_settings_put(s, "-R", "bulk.check_read", "%s", yes(p->check_read));
    tt_settings_put(s, "-R", "bulk.timed_check", "yes"); /* as IOR times it */
    tt_settings_put(s, "tutti ior", "bulk.cold", "no");
    tt_settings_put(s, "-k", "keep", "%s", yes(p->keep));
    tt_settings_put(s, "-K", "bulk.keep_wrong", "%s", yes(p->keep_wrong));
    tt_settings_put(s, "-e", "sync", p->fsync_per_write ? "write" : p->fsync ? "dump" : "never");
    tt_settings_put(s, "-g", "bulk.barriers", "%s", yes(p->barriers));
    if (p->deadline > 0)
        tt_settings_put(s, "-D", "bulk.deadline", "%.9g", p->deadline);
    tt_settings_put(s, "stoneWallingWearOut", "bulk.wear_out", "%s", yes(p->wear_out));
    if (p->status_file)
        tt_settings_put(s, "stoneWallingStatusFile", "bulk.count_file", "%s", p->status_file);
}

static int put_orders(struct tt_settings *s, const struct ior *p, struct tt_error *e)
{
    static const char *const orders[] = {"sequential", "random", "repeated"};
    static const char *const reorders[] = {"none", "random", "permutation"};
    uint64_t reorder_seed, seed;
    bool anew, negative;
    int rc = read_seed(p->reorder_seed, "-X", &reorder_seed, &anew, e);

    if (rc == TT_OK)
        rc = read_seed(p->offset_seed, "--random-offset-seed", &seed, &negative, e);
    if (rc != TT_OK)
        return rc;
    tt_settings_put(s, "-z", "bulk.order", "%s",
                    orders[p->random_offset < 2 ? p->random_offset : 2]);
    tt_settings_put(s, "-Z", "bulk.reorder", "%s",
                    p->reorder ? "constant"
                               : reorders[p->reorder_random < 2 ? p->reorder_random : 2]);
    tt_settings_put(s, "-Q", "bulk.reorder_distance", "%" PRIu64, p->distance);
    tt_settings_put(s, "-X", "bulk.reorder_seed", "%" PRIu64, reorder_seed);
    tt_settings_put(s, "-X", "bulk.reorder_anew", "%s", yes(anew));
    tt_settings_put(s, "-G", "bulk.signature", "%" PRIu64, p->signature);
    if (seed)
        tt_settings_put(s, "--random-offset-seed", "seed", "%" PRIu64, seed);
    return TT_OK;
}

static int add_test(struct tt_ior_tests *tests, const struct ior *p, const struct tt_settings *own,
                    struct tt_error *e)
{
    struct tt_settings *grown = realloc(tests->list, (tests->n + 1) * sizeof *grown), *s;
    const struct tt_setting *ranks = tt_settings_find(own, "ranks");
    int rc = grown ? check(p, e) : tt_fail_nomem(e, "tests");

    if (grown)
        tests->list = grown;
    if (rc == TT_OK && p->tasks && ranks && strtoull(ranks->value, NULL, 10) != p->tasks)
        rc = tt_fail(e, TT_USAGE, "-N %" PRIu64 ", but %s %s: leave one of them out", p->tasks,
                     ranks->place, ranks->value);
    if (rc != TT_OK)
        return rc;
    s = &tests->list[tests->n++];
    *s = (struct tt_settings){0};
    rc = put_api(s, p, e);
    if (rc == TT_OK)
        rc = put_data(s, p, e);
    put_gpu(s, p);
    put_sizes(s, p);
    put_accesses(s, p);
    if (rc == TT_OK)
        rc = put_orders(s, p, e);
    if (rc == TT_OK)
        rc = put_paths(s, p->file, e);
    return rc == TT_OK ? tt_settings_append(s, own, e) : rc;
}

/* ---- script files ---- */

static char *trim(char *line)
{
    char *end;

    while (isspace((unsigned char)*line))
        line++;
    line[strcspn(line, "#")] = '\0';
    for (end = line + strlen(line); end > line && isspace((unsigned char)end[-1]);)
        *--end = '\0';
    return line;
}

/* "IOR START", directives, "RUN" for a test with what holds so far, "IOR STOP". */
static int read_script(struct tt_ior_tests *tests, struct ior *p, const struct tt_settings *own,
                       struct tt_error *e)
{
    const struct tt_arguments script = {.command = "ior", .options = &tt_ior_options, .opts = p};
    char text[MAX_LINE], *name = strdup(p->script); /* which a line may change */
    FILE *file = name ? fopen(name, "re") : NULL;
    bool over = false;
    int rc = TT_OK;

    if (!file)
        rc = name ? tt_fail_call(e, errno, "open", name, -1) : tt_fail_nomem(e, "a name");
    for (unsigned n = 1; file && rc == TT_OK && !over && fgets(text, sizeof text, file); n++) {
        bool whole = strchr(text, '\n') || feof(file);
        char place[MAX_LINE + 24], *line = trim(text);

        snprintf(place, sizeof place, "%s:%u", name, n);
        if (!whole)
            rc = tt_fail(e, TT_USAGE, "%s: the line is too long", place);
        else if (!strcasecmp(line, "IOR STOP"))
            over = true;
        else if (!strcasecmp(line, "RUN"))
            rc = add_test(tests, p, own, e);
        else if (*line && strcasecmp(line, "IOR START") != 0)
            rc = tt_read_directive(&script, place, line, strlen(line), e);
    }
    if (file)
        fclose(file);
    if (rc == TT_OK && tests->n == 0)
        rc = tt_fail(e, TT_USAGE, "%s: there is no line RUN, so no test", name);
    free(name);
    return rc;
}

/* ---- all of it ---- */

int tt_ior_translate(void *opts, const struct tt_settings *own, struct tt_ior_tests *tests,
                     struct tt_error *e)
{
    static const char *const formats[] = {"default", "JSON", "CSV"};
    struct ior *p = opts;
    int rc = p->script ? read_script(tests, p, own, e) : add_test(tests, p, own, e);

    if (rc != TT_OK)
        return rc;
    tests->verbose = (unsigned)p->verbose;
    if (p->summary && !(tests->summary_file = strdup(p->summary)))
        return tt_fail_nomem(e, "a name");
    for (int i = 0; i < 3; i++)
        if (!strcasecmp(p->format, formats[i])) {
            tests->format = (enum tt_ior_format)i;
            return TT_OK;
        }
    return tt_fail(e, TT_USAGE, "summaryFormat: '%.40s' is not one of default, JSON, CSV",
                   p->format);
}

void tt_ior_free(struct tt_ior_tests *tests)
{
    for (size_t i = 0; i < tests->n; i++)
        tt_settings_free(&tests->list[i]);
    free(tests->list);
    free(tests->summary_file);
}
