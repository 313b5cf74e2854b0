/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Real SQLite files over run directories of known content, of garbage, and of runs that are not
 * over.
 */
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "analysis/result.h"
#include "record/records.h"
#include "plan/directory.h"
#include "store/store.h"
#include "write_records.h"

static char results[64];

/* ---- directories ---- */

static char *path_of(const char *name)
{
    char *path = tt_directory_path(results, name);

    assert_non_null(path);
    return path;
}

static void make_dir(const char *name)
{
    char *path = path_of(name);

    assert_int_equal(mkdir(path, 0777), 0);
    free(path);
}

static void write_file(const char *name, const char *text)
{
    struct tt_error e = TT_ERROR_CLEAR;

    assert_int_equal(tt_directory_write_text(results, name, text, &e), TT_OK);
}

static void write_in(const char *directory, const char *name, const char *text)
{
    char both[128];

    snprintf(both, sizeof both, "%s/%s", directory, name);
    write_file(both, text);
}

/* Give a file an age. */
static void set_age(const char *directory, const char *name, time_t seconds)
{
    struct timespec times[2] = {{time(NULL) - seconds, 0}, {time(NULL) - seconds, 0}};
    char both[128], *path;

    snprintf(both, sizeof both, "%s/%s", directory, name);
    path = path_of(both);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    free(path);
}

struct sample {
    const char *id, *label, *backend, *status;
    int size;
    double rate; /* 0: not measured */
    long long start_ns;
};

static const struct sample samples[] = {
    {"20260101T000000Z-0000000a", "nightly", "posix", "done", 64, 2e6, 3000000000},
    {"20260101T000001Z-0000000b", "", "mpiio", "done", 128, 4e6, 1000000000},
    {"20260101T000002Z-0000000c", "nightly", "posix", "failed", 256, 0, 2000000000},
};

static void write_plan(const struct sample *s)
{
    char text[1024];

    snprintf(text, sizeof text,
             "{\"format\": 2, \"id\": \"%s\", \"workload\": \"stencil\", \"ranks\": 2, \"hash\": "
             "\"00%02x\", \"parameters\": {\"ranks\": \"2\", \"backend\": \"%s\", \"overlap\": "
             "\"none\", \"label\": \"%s\", \"max_time\": \"2.5\", \"stencil.size\": \"%d\"}}",
             tt_directory_id(s->id), s->size & 255, s->backend, s->label, s->size);
    write_in(s->id, "plan.json", text);
}

static void write_result(const struct sample *s)
{
    char *path = path_of(s->id), rate[32] = "null";
    struct tt_error e = TT_ERROR_CLEAR;
    json_t *plan = NULL, *result;

    if (s->rate > 0)
        snprintf(rate, sizeof rate, "%.17g", s->rate);
    assert_int_equal(tt_directory_read_json(path, "plan.json", &plan, &e), TT_OK);
    result = json_pack("{s:{s:i}, s:s, s:b, s:o, s:o, s:{s:{s:f, s:f}}, s:{s:s, s:i, s:{s:s}}, "
                       "s:[{s:I}, {s:I}]}",
                       "tutti", "format", TT_RESULT_FORMAT, "status", s->status, "valid",
                       !strcmp(s->status, "done"), "plan", plan, "metrics", json_object(), "phases",
                       "compute", "min", 1.0, "max", 1.5, "environment", "host", "node1", "cpus", 4,
                       "data", "filesystem", "ext4", "ranks", "start_wall_ns",
                       (json_int_t)s->start_ns + 5, "start_wall_ns", (json_int_t)s->start_ns);
    assert_non_null(result);
    json_object_set_new(
        json_object_get(result, "metrics"), "write_rate",
        json_pack("{s:o, s:s}", "value", json_loads(rate, JSON_DECODE_ANY, NULL), "unit", "B/s"));
    assert_int_equal(tt_directory_write_json(path, "result.json", result, &e), TT_OK);
    json_decref(result);
    free(path);
}

static void make_run(const struct sample *s)
{
    make_dir(s->id);
    write_plan(s);
    write_result(s);
}

/* A rank's records, enough for a result to be made of them. */
static void write_records(const char *directory, enum tt_rank_state state, const char *host)
{
    static const char summary[] = "{\"environment\": {\"host\": \"node1\"}, \"runtime_ns\": 1000}";
    char *path = path_of(directory);
    struct tt_records_header h = {.size = 1, .state = state, .pid = 0x7fffffff};
    FILE *f;

    snprintf(h.host, sizeof h.host, "%s", host);
    f = write_header(path, h);
    write_chunk(f, TT_CHUNK_JSON, summary, sizeof summary - 1);
    assert_int_equal(fclose(f), 0);
    free(path);
}

static void make_unfinished(const struct sample *s)
{
    char records[64];

    snprintf(records, sizeof records, "%s/records", s->id);
    make_dir(s->id);
    make_dir(records);
    write_plan(s);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static void remove_below(const char *name)
{
    char *path = path_of(name);

    assert_int_equal(nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
    free(path);
}

static int make_results(void **unused)
{
    (void)unused;
    snprintf(results, sizeof results, "%s/tutti-store-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    return mkdtemp(results) ? 0 : -1;
}

static int remove_results(void **unused)
{
    (void)unused;
    return nftw(results, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- what is expected ---- */

static struct tt_store *open_store(void)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_store *s;

    if (tt_store_open(results, true, &s, &e) != TT_OK)
        fail_msg("%s", e.text);
    return s;
}

static void expect_index(struct tt_store *s, bool rebuild, const char *expected)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_index_report r;
    char got[96];

    if (tt_store_index(s, rebuild, &r, &e) != TT_OK)
        fail_msg("%s", e.text);
    snprintf(got, sizeof got, "%d added %d kept %d removed %d refused %d unfinished", (int)r.added,
             (int)r.kept, (int)r.removed, (int)r.refused, (int)r.unfinished);
    assert_string_equal(got, expected);
    assert_int_equal(json_object_size(tt_store_refused(s)), r.refused);
}

/* The last letters of the ids found, in order. */
static void expect_found(struct tt_store *s, const char *filter, const char *expected)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_run_rows rows;
    char got[16] = "";

    if (tt_store_find(s, filter ? 1 : 0, &filter, &rows, &e) != TT_OK)
        fail_msg("%s: %s", filter, e.text);
    for (size_t i = 0; i < rows.n && i < sizeof got - 1; i++)
        got[i] = rows.rows[i].id[strlen(rows.rows[i].id) - 1];
    if (strcmp(got, expected))
        fail_msg("%s finds '%s', not '%s'", filter ? filter : "nothing", got, expected);
    tt_run_rows_free(&rows);
}

static void expect_refused(const char *words)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_store *s;

    assert_int_not_equal(tt_store_open(results, true, &s, &e), TT_OK);
    assert_null(s);
    if (!strstr(e.text, words))
        fail_msg("says '%s', not '%s'", e.text, words);
}

static struct tt_store *three_runs(void)
{
    struct tt_store *s;

    for (size_t i = 0; i < 3; i++)
        make_run(&samples[i]);
    s = open_store();
    expect_index(s, false, "3 added 0 kept 0 removed 0 refused 0 unfinished");
    return s;
}

/* ---- tests ---- */

static void only_what_changed_is_read(void **unused)
{
    struct sample faster = samples[1];
    struct tt_store *s = three_runs();

    (void)unused;
    expect_index(s, false, "0 added 3 kept 0 removed 0 refused 0 unfinished");
    faster.rate = 12.5e6;
    write_result(&faster);
    expect_index(s, false, "1 added 2 kept 0 removed 0 refused 0 unfinished");
    expect_found(s, "write_rate>10m", "b");
    remove_below(samples[0].id);
    expect_index(s, false, "0 added 2 kept 1 removed 0 refused 0 unfinished");
    expect_found(s, NULL, "bc");
    expect_index(s, true, "2 added 0 kept 0 removed 0 refused 0 unfinished");
    expect_found(s, NULL, "bc");
    tt_store_close(s);
}

/* A label given later stands in the plan alone; without records there is no new result. */
static void a_result_of_another_plan_is_not_taken(void **unused)
{
    struct sample renamed = samples[0];
    struct tt_store *s = three_runs();

    (void)unused;
    renamed.label = "renamed";
    write_plan(&renamed);
    expect_index(s, false, "0 added 2 kept 0 removed 1 refused 0 unfinished");
    expect_found(s, NULL, "bc");
    tt_store_close(s);
}

static void groups_of_directories_are_searched(void **unused)
{
    struct sample grouped = samples[0];
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_run_rows rows;
    struct tt_store *s;

    (void)unused;
    make_dir("group");
    make_dir("group/.hidden");
    make_dir("empty");
    write_file("a file", "");
    grouped.id = "group/20260101T000003Z-0000000d";
    make_run(&grouped);
    grouped.id = "group/.hidden/20260101T000003Z-0000000e";
    make_run(&grouped);
    s = open_store();
    expect_index(s, false, "1 added 0 kept 0 removed 0 refused 0 unfinished");
    assert_int_equal(tt_store_find(s, 0, NULL, &rows, &e), TT_OK);
    assert_non_null(strstr(rows.rows[0].directory, "/group/2026"));
    assert_int_equal(strncmp(rows.rows[0].directory, results, strlen(results)), 0);
    tt_run_rows_free(&rows);
    tt_store_close(s);
}

static void a_missing_result_is_made(void **unused)
{
    struct tt_store *s = open_store();
    char *path = path_of("20260101T000000Z-0000000a/result.json");

    (void)unused;
    make_unfinished(&samples[0]);
    write_records(samples[0].id, TT_RANK_DONE, "node1");
    write_in(samples[0].id, "outcome.json", "{\"status\": \"done\", \"error\": null}");
    expect_index(s, false, "1 added 0 kept 0 removed 0 refused 0 unfinished");
    expect_found(s, "status=done", "a");
    assert_int_equal(access(path, F_OK), 0);
    expect_index(s, false, "0 added 1 kept 0 removed 0 refused 0 unfinished");
    write_in(samples[0].id, "result.json", "{\"status\": \"do");
    expect_index(s, false, "1 added 0 kept 0 removed 0 refused 0 unfinished");
    expect_found(s, "status=done", "a");
    free(path);
    tt_store_close(s);
}

static void a_run_that_is_not_over_waits(void **unused)
{
    struct tt_store *s = open_store();

    (void)unused;
    make_unfinished(&samples[0]); /* no rank has started yet */
    make_unfinished(&samples[1]); /* runs on another node */
    write_records(samples[1].id, TT_RANK_RUNNING, "another.node");
    expect_index(s, false, "0 added 0 kept 0 removed 0 refused 2 unfinished");
    expect_found(s, NULL, "");
    set_age(samples[1].id, "records/00000.ttr", 100000); /* not heard of for a day */
    set_age(samples[0].id, "plan.json", 100000);
    expect_index(s, false, "2 added 0 kept 0 removed 0 refused 0 unfinished");
    expect_found(s, "status=failed", "ab");
    tt_store_close(s);
}

static void filters_find_runs(void **unused)
{
    static const char *const cases[][2] = {
        {"label=nightly", "ca"},
        {"label=", "b"},
        {"label!=nightly", "b"},
        {"id=20260101T000001Z-0000000b", "b"},
        {"id=0000000b", "b"},
        {"id!=0000000b", "ca"},
        {"workload=stencil", "bca"},
        {"workload=pattern", ""},
        {"status=failed", "c"},
        {"valid=yes", "ba"},
        {"valid=no", "c"},
        {"plan=0040", "a"},
        {"backend=posix", "ca"},
        {"backend!=posix", "b"},
        {"stencil.size=128", "b"},
        {"stencil.size>=128", "bc"},
        {"stencil.size>128", "c"},
        {"size>128", "c"}, /* all are of stencil */
        {"stencil.size<128", "a"},
        {"stencil.size<=128", "ba"},
        {"stencil.size!=128", "ca"},
        {"ranks>0", "bca"},
        {"max-time=2500ms", "bca"},
        {"write_rate>=3m", "b"},
        {"write_rate<3MiB/s", "a"},
        {"write_rate!=1", "ba"}, /* what was not measured does not match */
        {"read_rate>=0", ""},
        {"host=node1", "bca"},
        {"data.filesystem=ext4", "bca"},
        {"cpus>=4", "bca"},
        {"compute.max>1.2", "bca"},
        {"compute.max>2", ""},
    };
    struct tt_store *s = three_runs();
    const char *two[] = {"label=nightly", "stencil.size>=100"};
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_run_rows rows;

    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_found(s, cases[i][0], cases[i][1]);
    assert_int_equal(tt_store_find(s, 2, two, &rows, &e), TT_OK);
    assert_int_equal(rows.n, 1);
    assert_string_equal(rows.rows[0].id, samples[2].id);
    assert_string_equal(rows.rows[0].label, "nightly");
    assert_string_equal(rows.rows[0].plan_hash, "0000");
    assert_string_equal(rows.rows[0].status, "failed");
    assert_int_equal(rows.rows[0].ranks, 2);
    assert_false(rows.rows[0].valid);
    assert_true(rows.rows[0].start_seconds == 2);
    tt_run_rows_free(&rows);
    tt_store_close(s);
}

static void bad_filters_have_their_line(void **unused)
{
    static const char *const cases[][2] = {
        {"label", "'label' is not a filter: expected KEY=VALUE (or != >= <= > <)"},
        {"=nightly", "'=nightly' is not a filter: expected KEY=VALUE (or != >= <= > <)"},
        {"label!nightly", "'label!nightly' is not a filter: expected KEY=VALUE (or != >= <= > <)"},
        {"labl=x", "filter: unknown key 'labl' (did you mean 'label'?)"},
        {"wirte_rate>=1g", "filter: unknown key 'wirte_rate' (did you mean 'write_rate'?)"},
        {"stencil.siez=1", "filter: unknown key 'stencil.siez' (did you mean 'stencil.size'?)"},
        {"block=5", "filter: unknown key 'block' (did you mean 'bulk.block'?)"},
        {"iterations=4k",
         "filter: stencil.iterations: '4k' is not a count: expected a whole number "
         "such as 4096"}, /* all runs are of stencil */
        {"mode=asyncbg",
         "filter: mode: 'asyncbg' is not one of sync+imm, sync, async, async+bg, auto "
         "(did you mean 'async+bg'?)"},
        {"mode>sync",
         "filter: mode is short for overlap and sync: compare it with =, or use those"},
        {"nonsense=5", "filter: unknown key 'nonsense'"},
        {"status=don", "filter: no status is 'don' (did you mean 'done'?): expected done, failed, "
                       "stopped or interrupted"},
        {"valid=maybe", "filter: valid is yes or no, not 'maybe'"},
        {"overlap=asinc", "filter: overlap: 'asinc' is not one of none, async, auto (did you mean "
                          "'async'?)"},
        {"backend>=posix", "filter: 'backend' is not a number: compare it with = or !="},
        {"label<x", "filter: 'label' is not a number: compare it with = or !="},
        {"stencil.size=4k", "filter: stencil.size: '4k' is not a count: expected a whole number "
                            "such as 4096"},
        {"runtime<3parsec", "filter: runtime: '3parsec' has an unknown unit: expected a duration "
                            "such as 5s, 200ms, 3us, 2min or 1h"},
        {"host>5.5x", "filter: 'host' is not a number: compare it with = or !="},
    };
    struct tt_store *s = three_runs();
    struct tt_run_rows rows;

    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tt_error e = TT_ERROR_CLEAR;

        assert_int_equal(tt_store_find(s, 1, &cases[i][0], &rows, &e), TT_USAGE);
        assert_string_equal(e.text, cases[i][1]);
        assert_int_equal(rows.n, 0);
    }
    tt_store_close(s);
}

static void values_are_as_in_the_directory(void **unused)
{
    struct tt_store *s = three_runs();
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_run_rows rows;
    json_t *got, *expected;
    double value = 0;
    char *text;
    bool known;

    (void)unused;
    assert_int_equal(tt_store_find(s, 0, NULL, &rows, &e), TT_OK);
    assert_int_equal(tt_store_metric(s, rows.rows[0].key, "write_rate", &known, &value, &e), TT_OK);
    assert_true(known && value == 4e6);
    assert_int_equal(tt_store_metric(s, rows.rows[1].key, "write_rate", &known, &value, &e), TT_OK);
    assert_false(known);
    assert_int_equal(tt_store_metric(s, rows.rows[0].key, "runtime", &known, &value, &e), TT_OK);
    assert_false(known);
    assert_int_equal(tt_store_parameter(s, rows.rows[0].key, "backend", &text, &e), TT_OK);
    assert_string_equal(text, "mpiio");
    free(text);
    assert_int_equal(tt_store_parameter(s, rows.rows[0].key, "nosuch", &text, &e), TT_OK);
    assert_null(text);

    assert_int_equal(tt_store_parameters(s, rows.rows[0].key, &got, &e), TT_OK);
    expected = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "ranks", "2", "backend", "mpiio",
                         "overlap", "none", "label", "", "max_time", "2.5", "stencil.size", "128");
    assert_true(json_equal(got, expected));
    json_decref(got);
    json_decref(expected);

    assert_int_equal(tt_store_environment(s, rows.rows[0].key, &got, &e), TT_OK);
    expected =
        json_pack("{s:s, s:s, s:s}", "host", "node1", "cpus", "4", "data.filesystem", "ext4");
    assert_true(json_equal(got, expected));
    json_decref(got);
    json_decref(expected);

    assert_int_equal(tt_store_values(s, rows.rows[0].key, TT_STORED_PARAMETERS, &got, &e), TT_OK);
    expected = json_pack("{s:s, s:s}", "value", "128", "unit", "points");
    assert_true(json_equal(json_object_get(got, "stencil.size"), expected));
    json_decref(got);
    json_decref(expected);
    assert_int_equal(tt_store_values(s, rows.rows[1].key, TT_STORED_METRICS, &got, &e), TT_OK);
    expected = json_pack("{s:{s:n, s:s}}", "write_rate", "value", "unit", "B/s");
    assert_true(json_equal(got, expected));
    json_decref(got);
    json_decref(expected);
    tt_run_rows_free(&rows);
    tt_store_close(s);
}

/* ---- bad input ---- */

static void garbage_is_refused_with_its_reason(void **unused)
{
    static const char *const plans[][2] = {
        {"", "plan.json"},
        {"{\"workload\": ", "plan.json:1"},
        {"[]", "does not hold a JSON object"},
        {"{}", "was made by an older tutti"},
        {"{\"format\": 99}", "was made by a newer tutti"},
        {"{\"format\": 2}", "is not a plan"},
        {"{\"format\": 2, \"workload\": \"stencil\", \"hash\": \"1\", \"ranks\": 0, "
         "\"parameters\": {}}",
         "is not a plan"},
        {"{\"format\": 2, \"workload\": \"stencil\", \"hash\": \"1\", \"ranks\": 1, "
         "\"parameters\": []}",
         "is not a plan"},
        {"{\"format\": 2, \"workload\": \"stencil\", \"hash\": \"1\", \"ranks\": 1, "
         "\"parameters\": {}}",
         "records"},
    };
    struct tt_store *s = open_store();
    const char *why;

    (void)unused;
    make_dir("garbage");
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        write_file("garbage/plan.json", plans[i][0]);
        expect_index(s, false, "0 added 0 kept 0 removed 1 refused 0 unfinished");
        why = json_string_value(json_object_get(tt_store_refused(s), "garbage"));
        assert_non_null(why);
        if (!strstr(why, plans[i][1]))
            fail_msg("says '%s', not '%s'", why, plans[i][1]);
    }
    remove_below("garbage/plan.json");
    make_dir("garbage/plan.json");
    expect_index(s, false, "0 added 0 kept 0 removed 1 refused 0 unfinished");
    tt_store_close(s);
}

/* More than a run can have would swell the index. */
static void a_flood_of_values_is_refused(void **unused)
{
    struct tt_store *s = open_store();
    struct tt_error e = TT_ERROR_CLEAR;
    char *path = path_of(samples[0].id), key[16], *text = calloc(1, 100000);
    json_t *result = NULL, *environment;

    (void)unused;
    make_run(&samples[0]);
    assert_int_equal(tt_directory_read_json(path, "result.json", &result, &e), TT_OK);
    environment = json_object_get(result, "environment");
    memset(text, 'x', 99999);
    json_object_set_new(environment, "long", json_string(text));
    assert_int_equal(tt_directory_write_json(path, "result.json", result, &e), TT_OK);
    expect_index(s, false, "0 added 0 kept 0 removed 1 refused 0 unfinished");
    json_object_clear(environment);
    for (int i = 0; i < 5000; i++) {
        snprintf(key, sizeof key, "%d", i);
        json_object_set_new(environment, key, json_integer(i));
    }
    assert_int_equal(tt_directory_write_json(path, "result.json", result, &e), TT_OK);
    expect_index(s, false, "0 added 0 kept 0 removed 1 refused 0 unfinished");
    json_object_clear(environment);
    assert_int_equal(tt_directory_write_json(path, "result.json", result, &e), TT_OK);
    expect_index(s, false, "1 added 0 kept 0 removed 0 refused 0 unfinished");
    json_decref(result);
    free(text);
    free(path);
    tt_store_close(s);
}

static char *read_whole(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    char *data = malloc(1 << 20);

    assert_non_null(f);
    assert_non_null(data);
    *size = fread(data, 1, 1 << 20, f);
    assert_true(*size > 0 && *size < 1 << 20);
    fclose(f);
    return data;
}

static void write_whole(const char *path, const char *data, size_t size)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_true(size == 0 || fwrite(data, size, 1, f) == 1);
    assert_int_equal(fclose(f), 0);
}

/* Whatever a directory holds, it is indexed or refused, and nothing else happens. */
static void mutated_directories_do_no_harm(void **unused)
{
    static const char *const names[] = {"plan.json", "result.json"};
    static const char bytes[] = "\0{}[]\":,09ne-\\\xff";
    struct tt_store *s;

    (void)unused;
    make_run(&samples[0]);
    s = open_store();
    for (int n = 0; n < 2; n++) {
        char name[64], *path, *data;
        size_t size;

        snprintf(name, sizeof name, "%s/%s", samples[0].id, names[n]);
        path = path_of(name);
        data = read_whole(path, &size);
        for (size_t at = 0; at < size; at += 3) {
            struct tt_error e = TT_ERROR_CLEAR;
            struct tt_index_report r;
            char old = data[at];

            data[at] = bytes[at % (sizeof bytes - 1)];
            write_whole(path, data, at % 5 ? size : at);
            data[at] = old;
            if (tt_store_index(s, true, &r, &e) != TT_OK)
                fail_msg("%s at %zu: %s", names[n], at, e.text);
            assert_int_equal(r.added + r.kept + r.refused, 1);
        }
        write_whole(path, data, size);
        free(data);
        free(path);
    }
    expect_index(s, true, "1 added 0 kept 0 removed 0 refused 0 unfinished");
    tt_store_close(s);
}

static void run_sql(const char *sql)
{
    char *file = path_of("index.sqlite");
    sqlite3 *db;

    assert_int_equal(sqlite3_open(file, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    free(file);
}

/* Reading five thousand of them again takes as long as five thousand runs. */
static void what_was_refused_is_remembered(void **unused)
{
    struct tt_store *s = open_store();
    const json_t *refused = tt_store_refused(s);

    (void)unused;
    make_unfinished(&samples[0]);
    write_in(samples[0].id, "outcome.json", "[]");
    expect_index(s, false, "0 added 0 kept 0 removed 1 refused 0 unfinished");
    run_sql("UPDATE refused SET why = 'remembered'");
    expect_index(s, false, "0 added 0 kept 0 removed 1 refused 0 unfinished");
    assert_string_equal(json_string_value(json_object_get(refused, samples[0].id)), "remembered");
    write_in(samples[0].id, "outcome.json", "{}"); /* neither plan nor result has changed */
    write_records(samples[0].id, TT_RANK_DONE, "node1");
    expect_index(s, false, "1 added 0 kept 0 removed 0 refused 0 unfinished");
    write_in(samples[0].id, "plan.json", "[]");
    expect_index(s, false, "0 added 0 kept 0 removed 1 refused 0 unfinished");
    expect_found(s, NULL, "");
    remove_below(samples[0].id);
    expect_index(s, false, "0 added 0 kept 0 removed 0 refused 0 unfinished");
    tt_store_close(s);
}

/* Of the same size and, by its own account, of the same time. */
static void a_result_that_was_put_in_place_is_seen(void **unused)
{
    struct sample other = samples[1];
    struct tt_store *s = three_runs();

    (void)unused;
    set_age(other.id, "result.json", 1000);
    expect_index(s, false, "1 added 2 kept 0 removed 0 refused 0 unfinished");
    other.rate = 9e6;
    write_result(&other);
    set_age(other.id, "result.json", 1000);
    expect_index(s, false, "1 added 2 kept 0 removed 0 refused 0 unfinished");
    expect_found(s, "write_rate>8m", "b");
    tt_store_close(s);
}

/* As they were made by those versions, with a row in each table. */
static const char schema_1[] =
    "CREATE TABLE run(key INTEGER PRIMARY KEY, folder TEXT NOT NULL UNIQUE, id TEXT NOT NULL,"
    " label TEXT NOT NULL, workload TEXT NOT NULL, plan TEXT NOT NULL, status TEXT NOT NULL,"
    " valid INTEGER NOT NULL, ranks INTEGER NOT NULL, start REAL NOT NULL, stamp TEXT NOT NULL);"
    "CREATE INDEX run_by_start ON run(start, folder);"
    "CREATE TABLE value(run INTEGER NOT NULL REFERENCES run ON DELETE CASCADE, kind TEXT NOT NULL,"
    " key TEXT NOT NULL, text TEXT, number REAL, unit TEXT NOT NULL,"
    " PRIMARY KEY(run, kind, key)) WITHOUT ROWID;"
    "CREATE INDEX value_by_key ON value(key, kind, number);"
    "INSERT INTO run VALUES(1, 'a', 'a', '', 'stencil', '', 'done', 1, 2, 0, '');"
    "INSERT INTO value VALUES(1, 'metric', 'write_rate', NULL, 1, 'B/s');"
    "PRAGMA application_id = 1953854580; PRAGMA user_version = 1";
static const char schema_2[] =
    "CREATE TABLE run(key INTEGER PRIMARY KEY, folder TEXT NOT NULL UNIQUE, id TEXT NOT NULL,"
    " label TEXT NOT NULL, workload TEXT NOT NULL, plan TEXT NOT NULL, status TEXT NOT NULL,"
    " valid INTEGER NOT NULL, ranks INTEGER NOT NULL, start REAL NOT NULL, stamp TEXT NOT NULL);"
    "CREATE INDEX run_by_start ON run(start, folder);"
    "CREATE TABLE name(id INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL,"
    " unit TEXT NOT NULL, UNIQUE(kind, key, unit));"
    "CREATE TABLE named(run INTEGER NOT NULL, name INTEGER NOT NULL, text TEXT, number REAL,"
    " PRIMARY KEY(run, name)) WITHOUT ROWID;"
    "CREATE TRIGGER run_is_gone AFTER DELETE ON run"
    " BEGIN DELETE FROM named WHERE run = OLD.key; END;"
    "CREATE VIEW value AS SELECT run, kind, key, coalesce(text, CAST(number AS TEXT)) AS text,"
    " number, unit FROM named JOIN name ON id = name;"
    "CREATE TABLE refused(folder TEXT NOT NULL PRIMARY KEY, stamp TEXT NOT NULL,"
    " why TEXT NOT NULL) WITHOUT ROWID;"
    "INSERT INTO run VALUES(1, 'a', 'a', '', 'stencil', '', 'done', 1, 2, 0, '');"
    "INSERT INTO name VALUES(1, 'metric', 'write_rate', 'B/s');"
    "INSERT INTO named VALUES(1, 1, NULL, 1);"
    "INSERT INTO refused VALUES('b', '', '');"
    "PRAGMA application_id = 1953854580; PRAGMA user_version = 2";

static void older_schemas_are_made_again(void **unused)
{
    const char *const older[] = {schema_1, schema_2};

    (void)unused;
    tt_store_close(three_runs());
    for (size_t i = 0; i < sizeof older / sizeof *older; i++) {
        struct tt_store *s;

        remove_below("index.sqlite");
        run_sql(older[i]);
        s = open_store();
        expect_index(s, false, "3 added 0 kept 0 removed 0 refused 0 unfinished");
        tt_store_close(s);
        s = open_store(); /* nothing of the older one is left: definitions are compared */
        expect_index(s, false, "0 added 3 kept 0 removed 0 refused 0 unfinished");
        tt_store_close(s);
    }
}

/* The tables are the same, but its numbers stand on older definitions. */
static void older_definitions_are_read_again(void **unused)
{
    struct tt_store *s;

    (void)unused;
    tt_store_close(three_runs());
    run_sql("PRAGMA user_version = 3");
    s = open_store();
    expect_index(s, false, "3 added 0 kept 0 removed 0 refused 0 unfinished");
    tt_store_close(s);
}

static void other_schemas_are_told_apart(void **unused)
{
    struct tt_store *s = three_runs();

    (void)unused;
    tt_store_close(s);
    run_sql("PRAGMA user_version = 99");
    expect_refused("was made by a newer tutti (schema 99, this one knows 5)");
    run_sql("PRAGMA user_version = 5");
    run_sql("ALTER TABLE refused RENAME TO kept; CREATE VIEW refused(directory, stamp, why) AS WITH"
            " RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT x, x, x FROM t");
    expect_refused("is not an index of tutti"); /* and not counted to the end */
    run_sql("DROP VIEW refused; ALTER TABLE kept RENAME TO refused;"
            "CREATE TRIGGER more AFTER INSERT ON named BEGIN DELETE FROM run; END");
    expect_refused("is not an index of tutti");
    run_sql("DROP TRIGGER more; PRAGMA application_id = 7");
    expect_refused("is not an index of tutti");
    remove_below("index.sqlite");
    run_sql("CREATE TABLE diary(day)");
    expect_refused("is not an index of tutti");
    write_file("index.sqlite", "This is a letter to a friend, and by no means a database at all.");
    expect_refused("is damaged; delete it");
    remove_below("index.sqlite");
    make_dir("index.sqlite");
    expect_refused("is not an index of tutti");
}

static void wrong_places_are_named(void **unused)
{
    struct tt_error e = TT_ERROR_CLEAR;
    struct tt_store *s;

    (void)unused;
    assert_int_equal(tt_store_open(results, false, &s, &e), TT_FAILED);
    assert_non_null(strstr(e.text, "has no index yet"));
    write_file("plan.json", "{}");
    expect_refused("is itself a run directory");
    results[strlen(results) - 1] ^= 1;
    expect_refused("there is no results directory");
    results[strlen(results) - 1] ^= 1;
}

/* Bytes of the index changed here and there: an answer or an error, never a crash. */
static void a_damaged_index_does_no_harm(void **unused)
{
    static const char *const filters[] = {"stencil.size>=1", "host=node1", "nonsense=1"};
    char *file = path_of("index.sqlite"), *data;
    size_t size;

    (void)unused;
    tt_store_close(three_runs());
    data = read_whole(file, &size);
    for (size_t at = 16; at < size; at += 97) {
        struct tt_error e = TT_ERROR_CLEAR;
        struct tt_run_rows rows;
        struct tt_store *s;
        json_t *values;
        char old = data[at];

        data[at] = (char)(old ^ (1 << at % 8));
        write_whole(file, data, size);
        data[at] = old;
        if (tt_store_open(results, false, &s, &e) != TT_OK)
            continue;
        for (int i = 0; i < 3; i++) {
            tt_error_clear(&e);
            if (tt_store_find(s, 1, &filters[i], &rows, &e) != TT_OK)
                continue;
            for (size_t k = 0; k < rows.n; k++)
                if (tt_store_values(s, rows.rows[k].key, TT_STORED_PHASES, &values, &e) == TT_OK)
                    json_decref(values);
            tt_run_rows_free(&rows);
        }
        tt_store_close(s);
    }
    free(data);
    free(file);
}

/* ---- several at once ---- */

static void two_may_index_at_once(void **unused)
{
    struct tt_store *s;
    pid_t children[4];
    int status;

    (void)unused;
    for (size_t i = 0; i < 3; i++)
        make_run(&samples[i]);
    for (int i = 0; i < 4; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            struct tt_error e = TT_ERROR_CLEAR;
            struct tt_index_report r;
            bool good = tt_store_open(results, true, &s, &e) == TT_OK;

            for (int n = 0; good && n < 5; n++)
                good = tt_store_index(s, n % 2, &r, &e) == TT_OK && r.added + r.kept == 3;
            if (!good)
                fprintf(stderr, "%s\n", e.text);
            _exit(good ? 0 : 1);
        }
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    s = open_store();
    expect_index(s, false, "0 added 3 kept 0 removed 0 refused 0 unfinished");
    expect_found(s, NULL, "bca");
    tt_store_close(s);
}

/* Another process that does not let go: the writer says so, and readers go on. */
static void a_second_writer_is_told(void **unused)
{
    struct tt_error e = TT_ERROR_CLEAR, stale = TT_ERROR_CLEAR;
    struct tt_index_report report;
    struct tt_store *s = three_runs();
    char *file = path_of("index.sqlite");
    int ready[2];
    char byte;
    pid_t holder;

    (void)unused;
    tt_store_close(s);
    assert_int_equal(pipe(ready), 0);
    holder = fork();
    assert_true(holder >= 0);
    if (holder == 0) {
        sqlite3 *db;
        bool held =
            sqlite3_open(file, &db) == SQLITE_OK &&
            sqlite3_exec(db, "PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE; DELETE FROM run", NULL,
                         NULL, NULL) == SQLITE_OK;

        (void)!write(ready[1], held ? "y" : "n", 1);
        pause();
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    assert_int_equal(tt_store_open_updated(results, &s, &report, &stale, &e), TT_OK);
    assert_int_equal(stale.code, TT_BUSY);
    assert_non_null(strstr(stale.text, "is being indexed by another tutti"));
    expect_found(s, "backend=posix", "ca");
    tt_store_close(s);
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);
    s = open_store(); /* what it had not finished is undone */
    expect_index(s, false, "0 added 3 kept 0 removed 0 refused 0 unfinished");
    expect_found(s, "backend=posix", "ca");
    tt_store_close(s);
    close(ready[0]);
    close(ready[1]);
    free(file);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_results, remove_results)
    const struct CMUnitTest tests[] = {
        TEST(only_what_changed_is_read),
        TEST(a_result_of_another_plan_is_not_taken),
        TEST(groups_of_directories_are_searched),
        TEST(a_missing_result_is_made),
        TEST(a_run_that_is_not_over_waits),
        TEST(filters_find_runs),
        TEST(bad_filters_have_their_line),
        TEST(values_are_as_in_the_directory),
        TEST(garbage_is_refused_with_its_reason),
        TEST(a_flood_of_values_is_refused),
        TEST(mutated_directories_do_no_harm),
        TEST(what_was_refused_is_remembered),
        TEST(a_result_that_was_put_in_place_is_seen),
        TEST(older_schemas_are_made_again),
        TEST(older_definitions_are_read_again),
        TEST(other_schemas_are_told_apart),
        TEST(wrong_places_are_named),
        TEST(a_damaged_index_does_no_harm),
        TEST(two_may_index_at_once),
        TEST(a_second_writer_is_told),
    };

    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
