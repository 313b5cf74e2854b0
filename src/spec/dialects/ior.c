/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What IOR can be told, in one table; unlike IOR, nothing unknown, unsupported or half understood
 * is passed over. Left out: what its other tests, file systems and obsolete interfaces had. */
#include "spec/dialects/ior.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "spec/units.h"

#define MAX_LINE 512 /* of a script */

/* IOR's parameters, as far as they are known here. */
struct ior {
    char *api, *file, *memory, *data, *format, *summary, *status_file, *script;
    char *reorder_seed, *offset_seed; /* may be negative */
    uint64_t block, transfer, segments, repetitions, distance, signature, minutes;
    uint64_t random_offset, reorder_random, verbose;
    double deadline;
    bool write, read, check_write, check_read, keep, keep_wrong, fsync, fsync_per_write;
    bool barriers, per_process, unique_directories, multi_file, wear_out, collective, direct;
    bool reorder;
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
          "POSIX, MPIIO, HDF5, NCMPI, URING or DUMMY"),
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
    SWITCH(NULL, "posix.odirect", direct, "bypass the page cache"),
    VALUE("-f", "scriptFile", TT_PARAM_TEXT, script, NULL, "SCRIPT", "run the tests of a script"),
    VALUE(NULL, "summaryFormat", TT_PARAM_TEXT, format, "default", "FORMAT",
          "default, JSON or CSV"),
    VALUE(NULL, "summaryFile", TT_PARAM_TEXT, summary, NULL, "FILE",
          "where JSON or CSV goes instead of stdout"),
    {NULL},
};

static const struct tt_refused_option refused[] = {
    {"-A", "reference numbers are labels here: use --label"},
    {"-B", "use --posix.odirect"},
    {"-d", "there is no delay between repetitions"},
    {"-E", "a file that is there is never written over"},
    {"-H", "hints are in every result: see --json"},
    {"-I", "there is one dataset in a file"},
    {"-j", "stragglers are warned about in every result"},
    {"-J", "use --hdf5.alignment"},
    {"-L", "logs go to the run directory"},
    {"-N", "the launcher says how many tasks there are"},
    {"-p", "files are not preallocated"},
    {"-P", "there are no shared file pointers"},
    {"-q", "every error ends the run"},
    {"-S", "use the workload pattern"},
    {"-U", "use the hints of the backend, such as --mpiio.hints"},
    {"-V", "mpiio makes file views where a transfer needs one"},
    {"-x", "transfers that move less than asked are always continued"},
    {"-y", "there is one mount point"},
    {NULL, NULL},
};

const struct tt_options tt_ior_options = {params, sizeof(struct ior), TT_OPTIONS_NAMES, refused};

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
    {"POSIX", "posix", NULL},        {"MPIIO", "mpiio", "mpiio.method"},
    {"HDF5", "hdf5", "hdf5.method"}, {"NCMPI", "pnetcdf", "pnetcdf.method"},
    {"URING", "uring", NULL},        {"DUMMY", "discard", NULL},
};

static int put_api(struct tt_settings *s, const struct ior *p, struct tt_error *e)
{
    size_t i = 0;

    while (i < sizeof apis / sizeof *apis && strcasecmp(apis[i].api, p->api) != 0)
        i++;
    if (i == sizeof apis / sizeof *apis)
        return tt_fail(e, TT_USAGE,
                       "-a: '%.40s' is not one of POSIX, MPIIO, HDF5, NCMPI, URING, DUMMY", p->api);
    tt_settings_put(s, "-a", "backend", "%s", apis[i].backend);
    if (apis[i].method)
        tt_settings_put(s, "-c", apis[i].method, p->collective ? "collective" : "independent");
    else if (p->collective)
        return tt_fail(e, TT_USAGE, "-c: %s has no collective transfers", p->api);
    if (p->direct) {
        char key[32];

        snprintf(key, sizeof key, "%s.odirect", apis[i].backend);
        tt_settings_put(s, "--posix.odirect", key, "yes");
    }
    return TT_OK;
}

static int put_data(struct tt_settings *s, const struct ior *p, struct tt_error *e)
{
    static const char *const names[] = {"timestamp", "offset", "incompressible", "random"};
    static const char *const ours[] = {"timestamp", "offset", "scatter", "random"};

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

static bool asks_to_read(const struct ior *p)
{
    return p->read || p->check_read || p->check_write || !p->write;
}

static int check(const struct ior *p, struct tt_error *e)
{
    if (!strcasecmp(p->api, "DUMMY") && asks_to_read(p))
        return tt_fail(e, TT_USAGE, "-a DUMMY keeps nothing that could be read: use -w alone");
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
        return tt_fail(e, TT_USAGE, "-vvvv: single offsets are not printed; -vvv is the most");
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
    int rc = grown ? check(p, e) : tt_fail_nomem(e, "tests");

    if (grown)
        tests->list = grown;
    if (rc != TT_OK)
        return rc;
    s = &tests->list[tests->n++];
    *s = (struct tt_settings){0};
    rc = put_api(s, p, e);
    if (rc == TT_OK)
        rc = put_data(s, p, e);
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
