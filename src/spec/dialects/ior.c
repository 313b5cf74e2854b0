/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What IOR can be told, in one table; unlike IOR, nothing unknown, unsupported or half understood
 * is passed over. Left out: what its other tests, file systems and obsolete interfaces had. */
#include "spec/dialects/ior.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "spec/param.h"
#include "spec/units.h"

#define TEXT 512

/* IOR's parameters, as far as they are known here. */
struct parameters {
    char api[32], block[TEXT], transfer[TEXT], file[TEXT], memory[TEXT], data[32], format[16];
    char summary[TEXT], status_file[TEXT], script[TEXT];
    uint64_t segments, repetitions, distance, signature, minutes;
    double deadline;
    int64_t reorder_seed, offset_seed;
    unsigned write, read, check_write, check_read, keep, keep_wrong, fsync, fsync_per_write;
    unsigned barriers, per_process, unique_directories, multi_file, wear_out, collective, direct;
    unsigned random_offset, reorder, reorder_random, verbose;
};

enum kind {
    NAME,
    SIZE,
    COUNT,
    SIGNED,
    SECONDS,
    FLAG,  /* given: 1; -O name=0 or 1 */
    LEVEL, /* counts how often it is given */
};

struct option {
    char letter; /* 0: none */
    const char *name;
    enum kind kind;
    size_t offset, size;
};

#define AT(member) offsetof(struct parameters, member), sizeof(((struct parameters *)0)->member)
static const struct option options[] = {
    {'a', "api", NAME, AT(api)},
    {'b', "blockSize", SIZE, AT(block)},
    {'t', "transferSize", SIZE, AT(transfer)},
    {'s', "segmentCount", COUNT, AT(segments)},
    {'F', "filePerProc", FLAG, AT(per_process)},
    {'o', "testFile", NAME, AT(file)},
    {'u', "uniqueDir", FLAG, AT(unique_directories)},
    {'m', "multiFile", FLAG, AT(multi_file)},
    {'i', "repetitions", COUNT, AT(repetitions)},
    {'w', "writeFile", FLAG, AT(write)},
    {'r', "readFile", FLAG, AT(read)},
    {'W', "checkWrite", FLAG, AT(check_write)},
    {'R', "checkRead", FLAG, AT(check_read)},
    {'k', "keepFile", FLAG, AT(keep)},
    {'K', "keepFileWithError", FLAG, AT(keep_wrong)},
    {'e', "fsync", FLAG, AT(fsync)},
    {'Y', "fsyncPerWrite", FLAG, AT(fsync_per_write)},
    {'g', "intraTestBarriers", FLAG, AT(barriers)},
    {'D', "deadlineForStonewalling", SECONDS, AT(deadline)},
    {0, "stoneWallingWearOut", FLAG, AT(wear_out)},
    {0, "stoneWallingStatusFile", NAME, AT(status_file)},
    {'M', "memoryPerNode", NAME, AT(memory)},
    {'G', "setTimeStampSignature", COUNT, AT(signature)},
    {'v', "verbose", LEVEL, AT(verbose)},
    {'z', "randomOffset", LEVEL, AT(random_offset)},
    {0, "random-offset-seed", SIGNED, AT(offset_seed)},
    {'C', "reorderTasks", FLAG, AT(reorder)},
    {'Z', "reorderTasksRandom", LEVEL, AT(reorder_random)},
    {'Q', "taskPerNodeOffset", COUNT, AT(distance)},
    {'X', "reorderTasksRandomSeed", SIGNED, AT(reorder_seed)},
    {'T', "maxTimeDuration", COUNT, AT(minutes)},
    {'c', "collective", FLAG, AT(collective)},
    {'l', "dataPacketType", NAME, AT(data)},
    {0, "posix.odirect", FLAG, AT(direct)},
    {'f', "scriptFile", NAME, AT(script)},
    {0, "summaryFormat", NAME, AT(format)},
    {0, "summaryFile", NAME, AT(summary)},
};

static const struct {
    const char *word, *why;
} unsupported[] = {
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
};

/* ---- values ---- */

static int store_number(const struct option *o, struct parameters *p, const char *place,
                        const char *value, struct tt_error *e)
{
    struct tt_error inner = TT_ERROR_CLEAR;
    bool negative = o->kind == SIGNED && value[0] == '-';
    uint64_t number = 0;
    double seconds = 0;
    int rc;

    if (o->kind == SECONDS)
        rc = tt_parse_duration(value, &seconds, &inner);
    else if (o->kind == SIZE)
        rc = tt_parse_bytes(value, &number, &inner);
    else
        rc = tt_parse_count(value + negative, &number, &inner);
    if (rc != TT_OK || number > INT64_MAX)
        return tt_fail(e, TT_USAGE, "%s: %s", place, rc != TT_OK ? inner.text : "too large");
    if (o->kind == SECONDS)
        memcpy((char *)p + o->offset, &seconds, sizeof seconds);
    else if (o->kind == SIZE)
        snprintf((char *)p + o->offset, o->size, "%llu", (unsigned long long)number);
    else
        *(uint64_t *)(void *)((char *)p + o->offset) = negative ? -number : number;
    return TT_OK;
}

static int store(const struct option *o, struct parameters *p, const char *place, const char *value,
                 struct tt_error *e)
{
    unsigned *level = (unsigned *)(void *)((char *)p + o->offset);
    int n;

    switch (o->kind) {
    case NAME:
        n = snprintf((char *)p + o->offset, o->size, "%s", value);
        return n > 0 && (size_t)n < o->size
                   ? TT_OK
                   : tt_fail(e, TT_USAGE, "%s: '%.80s' is empty or too long", place, value);
    case FLAG:
    case LEVEL:
        if (value[0] < '0' || value[0] > '9' || value[1] || (o->kind == FLAG && value[0] > '1'))
            return tt_fail(e, TT_USAGE, "%s: '%.80s' is not %s", place, value,
                           o->kind == FLAG ? "0 or 1" : "a level, 0 to 9");
        *level = (unsigned)(value[0] - '0');
        return TT_OK;
    default:
        return store_number(o, p, place, value, e);
    }
}

static const struct option *by_letter(char letter)
{
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].letter == letter && letter)
            return &options[i];
    return NULL;
}

static const struct option *by_name(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (strlen(options[i].name) == length && !strncasecmp(options[i].name, name, length))
            return &options[i];
    return NULL;
}

static int unknown_name(const char *place, const char *name, size_t length, struct tt_error *e)
{
    const char *names[sizeof options / sizeof *options + 1] = {0};
    char word[64];
    const char *near;

    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        names[i] = options[i].name;
    snprintf(word, sizeof word, "%.*s", length < 60 ? (int)length : 60, name);
    near = tt_nearest_word(word, names);
    return tt_fail(e, TT_USAGE, "%s: '%s' is none of the directives that tutti ior knows%s", place,
                   word, TT_DID_YOU_MEAN(near));
}

/* "name=value", or a flag's name alone. */
static int read_directive(struct parameters *p, const char *place, const char *text, size_t length,
                          struct tt_error *e)
{
    const char *equals = memchr(text, '=', length);
    size_t name = equals ? (size_t)(equals - text) : length;
    const struct option *o;
    char value[TEXT];

    while (name > 0 && isspace((unsigned char)text[name - 1]))
        name--;
    o = by_name(text, name);
    if (!o)
        return unknown_name(place, text, name, e);
    if (!equals)
        return o->kind == FLAG ? store(o, p, place, "1", e)
                               : tt_fail(e, TT_USAGE, "%s: %s needs a value", place, o->name);
    for (equals++; equals < text + length && isspace((unsigned char)*equals);)
        equals++;
    snprintf(value, sizeof value, "%.*s", (int)(text + length - equals), equals);
    return store(o, p, place, value, e);
}

/* ---- settings ---- */

struct emitter {
    struct tt_settings *s;
    struct tt_error *e;
    int rc;
};

static void emit(struct emitter *to, const char *place, const char *key, const char *value)
{
    if (to->rc == TT_OK)
        to->rc = tt_settings_add(to->s, key, value, place, to->e);
}

static void emit_number(struct emitter *to, const char *place, const char *key, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    emit(to, place, key, text);
}

static void emit_flag(struct emitter *to, const char *place, const char *key, bool value)
{
    emit(to, place, key, value ? "yes" : "no");
}

static const struct {
    const char *api, *backend, *method;
} apis[] = {
    {"POSIX", "posix", NULL},        {"MPIIO", "mpiio", "mpiio.method"},
    {"HDF5", "hdf5", "hdf5.method"}, {"NCMPI", "pnetcdf", "pnetcdf.method"},
    {"URING", "uring", NULL},        {"DUMMY", "discard", NULL},
};

static int emit_api(struct emitter *to, const struct parameters *p)
{
    size_t i = 0;

    while (i < sizeof apis / sizeof *apis && strcasecmp(apis[i].api, p->api) != 0)
        i++;
    if (i == sizeof apis / sizeof *apis)
        return tt_fail(to->e, TT_USAGE,
                       "-a: '%.40s' is none of POSIX, MPIIO, HDF5, NCMPI, URING, DUMMY", p->api);
    emit(to, "-a", "backend", apis[i].backend);
    if (apis[i].method)
        emit(to, "-c", apis[i].method, p->collective ? "collective" : "independent");
    else if (p->collective)
        return tt_fail(to->e, TT_USAGE, "-c: %s has no collective transfers", p->api);
    if (p->direct) {
        char key[32];

        snprintf(key, sizeof key, "%s.odirect", apis[i].backend);
        emit(to, "--posix.odirect", key, "yes");
    }
    return TT_OK;
}

static int emit_data(struct emitter *to, const struct parameters *p)
{
    static const char *const names[] = {"timestamp", "offset", "incompressible", "random"};
    static const char *const ours[] = {"timestamp", "offset", "scatter", "random"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcasecmp(p->data, names[i]) ||
            (tolower((unsigned char)p->data[0]) == names[i][0] && !p->data[1])) {
            emit(to, "-l", "bulk.data", ours[i]);
            return TT_OK;
        }
    return tt_fail(to->e, TT_USAGE,
                   "-l: '%.40s' is none of timestamp, offset, incompressible, random", p->data);
}

/* Names joined by '@' become words of a list, whose commas are written "\,". */
static void emit_paths(struct emitter *to, const char *file)
{
    char list[2 * TEXT + 1];
    size_t n = 0;

    for (; *file; file++) {
        if (*file == ',' || *file == '\\')
            list[n++] = '\\';
        list[n++] = *file == '@' ? ',' : *file;
    }
    list[n] = '\0';
    emit(to, "-o", "bulk.paths", list);
}

/* Whatever else belongs to the run is beside the (first) file; a relative one starts at --dir. */
static void emit_directory(struct emitter *to, const char *file)
{
    char directory[TEXT];
    char *end;

    snprintf(directory, sizeof directory, "%.*s", (int)strcspn(file, "@"), file);
    end = strrchr(directory, '/');
    if (end)
        end[end == directory] = '\0';
    if (directory[0] == '/')
        emit(to, "-o", "dir", directory);
}

static bool asks_to_read(const struct parameters *p)
{
    return p->read || p->check_read || p->check_write || !p->write;
}

static int check(const struct parameters *p, struct tt_error *e)
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
    if (p->check_read && !p->write && p->random_offset && p->offset_seed == 0)
        return tt_fail(e, TT_USAGE, "-R with -z needs --random-offset-seed");
    if (p->check_write && !p->write)
        return tt_fail(
            e, TT_USAGE,
            "-W checks what -w has written: add -w, or check a file that is there with -R");
    if (p->verbose > 3)
        return tt_fail(e, TT_USAGE, "-vvvv: single offsets are not printed; -vvv is the most");
    return TT_OK;
}

static void emit_sizes(struct emitter *to, const struct parameters *p)
{
    emit(to, "-b", "bulk.block", p->block);
    emit(to, "-t", "bulk.transfer", p->transfer);
    emit_number(to, "-s", "bulk.segments", p->segments);
    emit(to, "-F", "bulk.files", p->per_process ? "process" : "shared");
    emit_number(to, "-i", "bulk.repetitions", p->repetitions);
    emit_flag(to, "-m", "bulk.numbered", p->multi_file);
    emit_flag(to, "-u", "bulk.own_directories", p->unique_directories);
    if (p->memory[0])
        emit(to, "-M", "bulk.ballast", p->memory);
    if (p->minutes) {
        char minutes[24];

        snprintf(minutes, sizeof minutes, "%llumin", (unsigned long long)p->minutes);
        emit(to, "-T", "max_time", minutes);
    }
}

static void emit_accesses(struct emitter *to, const struct parameters *p)
{
    bool any = p->write || p->read || p->check_write || p->check_read;

    emit_flag(to, "-w", "bulk.write", !any || p->write);
    emit_flag(to, "-r", "bulk.read", !any || p->read || p->check_read);
    emit_flag(to, "-W", "bulk.check_write", p->check_write);
    emit_flag(to, "-R", "bulk.check_read", p->check_read);
    emit(to, "-R", "bulk.timed_check", "yes"); /* as IOR times it */
    emit(to, "tutti ior", "bulk.cold", "no");
    emit_flag(to, "-k", "keep", p->keep);
    emit_flag(to, "-K", "bulk.keep_wrong", p->keep_wrong);
    emit(to, "-e", "sync", p->fsync_per_write ? "write" : p->fsync ? "dump" : "never");
    emit_flag(to, "-g", "bulk.barriers", p->barriers);
    if (p->deadline > 0) {
        char text[40];

        snprintf(text, sizeof text, "%.9g", p->deadline);
        emit(to, "-D", "bulk.deadline", text);
    }
    emit_flag(to, "stoneWallingWearOut", "bulk.wear_out", p->wear_out);
    if (p->status_file[0])
        emit(to, "stoneWallingStatusFile", "bulk.count_file", p->status_file);
}

static void emit_orders(struct emitter *to, const struct parameters *p)
{
    static const char *const orders[] = {"sequential", "random", "repeated"};
    static const char *const reorders[] = {"none", "random", "permutation"};
    uint64_t seed = (uint64_t)(p->reorder_seed < 0 ? -p->reorder_seed : p->reorder_seed);

    emit(to, "-z", "bulk.order", orders[p->random_offset < 2 ? p->random_offset : 2]);
    emit(to, "-Z", "bulk.reorder",
         p->reorder ? "constant" : reorders[p->reorder_random < 2 ? p->reorder_random : 2]);
    emit_number(to, "-Q", "bulk.reorder_distance", p->distance);
    emit_number(to, "-X", "bulk.reorder_seed", seed);
    emit_flag(to, "-X", "bulk.reorder_anew", p->reorder_seed < 0);
    emit_number(to, "-G", "bulk.signature", p->signature);
    if (p->offset_seed)
        emit_number(to, "--random-offset-seed", "seed",
                    (uint64_t)(p->offset_seed < 0 ? -p->offset_seed : p->offset_seed));
}

static int add_test(struct tt_ior_tests *tests, const struct parameters *p, struct tt_error *e)
{
    struct tt_settings *grown = realloc(tests->list, (tests->n + 1) * sizeof *grown);
    struct emitter to = {.e = e, .rc = TT_OK};
    int rc = grown ? check(p, e) : tt_fail_nomem(e, "tests");

    if (grown)
        tests->list = grown;
    if (rc != TT_OK)
        return rc;
    to.s = &tests->list[tests->n++];
    *to.s = (struct tt_settings){0};
    rc = emit_api(&to, p);
    if (rc == TT_OK)
        rc = emit_data(&to, p);
    emit_sizes(&to, p);
    emit_accesses(&to, p);
    emit_orders(&to, p);
    emit_paths(&to, p->file);
    emit_directory(&to, p->file);
    return rc == TT_OK ? to.rc : rc;
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
static int read_script_line(struct tt_ior_tests *tests, struct parameters *p, const char *place,
                            char *line, bool *over, struct tt_error *e)
{
    line = trim(line);
    if (!*line || !strcasecmp(line, "IOR START"))
        return TT_OK;
    if (!strcasecmp(line, "IOR STOP")) {
        *over = true;
        return TT_OK;
    }
    return !strcasecmp(line, "RUN") ? add_test(tests, p, e)
                                    : read_directive(p, place, line, strlen(line), e);
}

static int read_script(struct tt_ior_tests *tests, struct parameters *p, struct tt_error *e)
{
    char line[TEXT], place[TEXT + 24];
    FILE *file = fopen(p->script, "re");
    bool over = false;
    int rc = TT_OK;

    if (!file)
        return tt_fail_call(e, errno, "open", p->script, -1);
    for (unsigned n = 1; rc == TT_OK && !over && fgets(line, sizeof line, file); n++) {
        snprintf(place, sizeof place, "%s:%u", p->script, n);
        if (!strchr(line, '\n') && !feof(file))
            rc = tt_fail(e, TT_USAGE, "%s: the line is too long", place);
        else
            rc = read_script_line(tests, p, place, line, &over, e);
    }
    fclose(file);
    if (rc == TT_OK && tests->n == 0)
        rc = tt_fail(e, TT_USAGE, "%s: there is no line RUN, so no test", p->script);
    return rc;
}

/* ---- the command line ---- */

static const char *why_not(const char *word)
{
    for (size_t i = 0; i < sizeof unsupported / sizeof *unsupported; i++)
        if (!strncmp(word, unsupported[i].word, 2))
            return unsupported[i].why;
    return NULL;
}

/* -O a=b,c=d */
static int read_list(struct parameters *p, const char *text, struct tt_error *e)
{
    int rc = TT_OK;

    for (size_t n; rc == TT_OK && *text; text += n + (text[n] == ',')) {
        n = strcspn(text, ",");
        rc = read_directive(p, "-O", text, n, e);
    }
    return rc;
}

/* Letters may be put together as long as they take no value: -wrz. */
static int read_letters(struct parameters *p, int argc, char **argv, int *i, struct tt_error *e)
{
    const char *word = argv[*i];

    for (const char *at = word + 1; *at; at++) {
        const struct option *o = by_letter(*at);
        char place[3] = {'-', *at, '\0'};
        int rc;

        if (!o && *at != 'O')
            return tt_fail(e, TT_USAGE, "%s: %s", place,
                           why_not(place)
                               ? why_not(place)
                               : "no option of IOR that tutti ior knows; see docs/ior.md");
        if (o && (o->kind == FLAG || o->kind == LEVEL)) {
            *(unsigned *)(void *)((char *)p + o->offset) += 1;
            continue;
        }
        at += at[1] == '=' ? 2 : 1;
        if (!*at && ++*i >= argc)
            return tt_fail(e, TT_USAGE, "%s needs a value", place);
        at = *at ? at : argv[*i];
        rc = o ? store(o, p, place, at, e) : read_list(p, at, e);
        return rc;
    }
    return TT_OK;
}

/* -name=value and --name=value; "-name" alone only if it cannot be letters. */
static bool is_directive(const char *word)
{
    const char *name = word + (word[1] == '-' ? 2 : 1);

    return by_name(name, strcspn(name, "=")) != NULL;
}

static int read_word(struct parameters *p, int argc, char **argv, int *i, char **rest, int *nrest,
                     struct tt_error *e)
{
    char *word = argv[*i];
    const char *name = word + (word[0] && word[1] == '-' ? 2 : 1);
    const struct option *o;

    if (word[0] == '-' && word[1] && is_directive(word)) {
        o = by_name(name, strcspn(name, "="));
        if (strchr(name, '=') || o->kind == FLAG)
            return read_directive(p, word, name, strlen(name), e);
        if (++*i >= argc)
            return tt_fail(e, TT_USAGE, "%s needs a value", word);
        return store(o, p, word, argv[*i], e);
    }
    if (word[0] != '-')
        return tt_fail(e, TT_USAGE, "unexpected word '%.80s'", word);
    if (word[1] == '-' || !strcmp(word, "-n")) {
        rest[(*nrest)++] = word;
        if (!strchr(word, '=') && *i + 1 < argc && argv[*i + 1][0] != '-')
            rest[(*nrest)++] = argv[++*i];
        return TT_OK;
    }
    return read_letters(p, argc, argv, i, e);
}

static int take_output(struct tt_ior_tests *tests, const struct parameters *p, struct tt_error *e)
{
    static const char *const formats[] = {"default", "JSON", "CSV"};

    tests->verbose = p->verbose;
    if (p->summary[0] && !(tests->summary_file = strdup(p->summary)))
        return tt_fail_nomem(e, "a name");
    for (int i = 0; i < 3; i++)
        if (!strcasecmp(p->format, formats[i])) {
            tests->format = (enum tt_ior_format)i;
            return TT_OK;
        }
    return tt_fail(e, TT_USAGE, "summaryFormat: '%.40s' is none of default, JSON, CSV", p->format);
}

int tt_ior_translate(int argc, char **argv, struct tt_ior_tests *tests, char **rest, int *nrest,
                     struct tt_error *e)
{
    struct parameters p = {.api = "POSIX",
                           .block = "1m",
                           .transfer = "256k",
                           .file = "testFile",
                           .data = "timestamp",
                           .format = "default",
                           .segments = 1,
                           .repetitions = 1,
                           .distance = 1};
    int rc = TT_OK;

    *nrest = 0;
    for (int i = 0; i < argc && rc == TT_OK; i++)
        rc = read_word(&p, argc, argv, &i, rest, nrest, e);
    if (rc == TT_OK)
        rc = p.script[0] ? read_script(tests, &p, e) : add_test(tests, &p, e);
    return rc == TT_OK ? take_output(tests, &p, e) : rc;
}

void tt_ior_free(struct tt_ior_tests *tests)
{
    for (size_t i = 0; i < tests->n; i++)
        tt_settings_free(&tests->list[i]);
    free(tests->list);
    free(tests->summary_file);
}
