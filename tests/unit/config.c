/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Resolution of settings, with a registry of its own: a small workload above real backends and
 * layers. tests/unit/invalid.c holds the messages for wrong settings of the real ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "engine/engine.h"
#include "plan/config.h"
#include "plan/registry.h"
#include "spec/read.h"

/* ---- the registry ---- */

struct probe_options {
    uint64_t size, seed;
    bool loud;
};
#define AT(member) offsetof(struct probe_options, member)
static const struct tt_param probe_params[] = {
    {"size", TT_PARAM_COUNT, AT(size), "8", "points", "length"},
    {"seed", TT_PARAM_COUNT, AT(seed), "5", NULL, "hidden behind the run's own without prefix"},
    {"loud", TT_PARAM_BOOL, AT(loud), "no", NULL, "a switch of the workload"},
    {0},
};
static const char *const uses[] = {"write", "read", NULL};

static int probe_check(const struct tt_config *config, struct tt_error *e)
{
    const struct probe_options *o = tt_config_opts(config, "probe");

    if (config->run->ranks > o->size)
        return tt_fail(e, TT_USAGE, "more ranks than points");
    return TT_OK;
}

static const struct tt_workload probe = {
    .name = "probe",
    .summary = "for tests",
    .uses = uses,
    .params = probe_params,
    .opts_size = sizeof(struct probe_options),
    .check = probe_check,
};

extern const struct tt_backend tt_backend_posix, tt_backend_discard, tt_layer_throttle,
    tt_layer_align;

/* A build of few components. */
static void choose_components(void)
{
    tt_backends[0] = &tt_backend_discard;
    tt_backends[1] = &tt_backend_posix;
    tt_layers[0] = &tt_layer_align;
    tt_layers[1] = &tt_layer_throttle;
    tt_workloads[0] = &probe;
    tt_backends[2] = tt_layers[2] = NULL;
    tt_workloads[1] = NULL;
    tt_missing_components[0] = (struct tt_missing){"absent", "libabsent-dev"};
    tt_missing_components[1] = (struct tt_missing){NULL, NULL};
}

/* ---- helpers ---- */

static int make(struct tt_config *c, struct tt_error *e, char **words)
{
    struct tt_settings s = {0};
    const char *word = "probe";
    struct tt_arguments a = {
        .job = tt_run_component.params, .settings = &s, .max_words = 1, .words = &word};
    int argc = 0, rc;

    while (words[argc])
        argc++;
    tt_error_clear(e);
    memset(c, 0, sizeof *c);
    rc = tt_read_arguments(argc, words, &a, e);
    if (rc == TT_OK)
        rc = tt_config_make(c, word, &s, e);
    tt_settings_free(&s);
    return rc;
}
#define MAKE(c, e, ...) make(c, e, (char *[]){__VA_ARGS__, NULL})

static void expect_error(const char *text, char **words)
{
    struct tt_config c;
    struct tt_error e;

    assert_int_equal(make(&c, &e, words), TT_USAGE);
    assert_string_equal(e.text, text);
    tt_config_free(&c);
    tt_config_free(&c); /* twice does no harm */
}
#define EXPECT_ERROR(text, ...) expect_error(text, (char *[]){__VA_ARGS__, NULL})

/* ---- tests ---- */

static void defaults(void **state)
{
    struct tt_config c;
    struct tt_error e;

    (void)state;
    assert_int_equal(MAKE(&c, &e, "probe"), TT_OK);
    assert_int_equal(c.nparts, 7);
    assert_int_equal(c.run->ranks, 1);
    assert_string_equal(c.run->dir, ".");
    assert_int_equal(c.run->overlap, TT_OVERLAP_NONE);
    assert_int_equal(c.run->sync, TT_SYNC_DUMP);
    assert_int_equal(c.run->inflight, 1);
    assert_int_equal(c.run->baseline, 6);
    assert_true(c.run->min_free.percent == 20);
    assert_null(c.run->mode);
    assert_int_equal(c.stack.n, 1);
    assert_ptr_equal(c.stack.elements[0], &tt_backend_posix);
    assert_int_equal(((const struct probe_options *)tt_config_opts(&c, "probe"))->size, 8);
    assert_non_null(tt_config_opts(&c, "write"));
    assert_null(tt_config_opts(&c, "collective"));
    tt_config_free(&c);
}

static void keys_find_their_owner(void **state)
{
    const struct tt_write_options *w;
    const struct probe_options *o;
    struct tt_config c;
    struct tt_error e;

    (void)state;
    assert_int_equal(MAKE(&c, &e, "--keep", "probe", "-n", "2", "--size=16", "--seed", "9",
                          "--probe.seed", "7", "--write", "every=20,pattern=10:0:1",
                          "--write.series", "append", "--max-bytes", "1g", "--set", "max_time=5s",
                          "--layers", "throttle,align", "--throttle.rate", "50m", "--size", "17",
                          "--loud", "--label", "a=b", "--json", "-"),
                     TT_OK);
    o = tt_config_opts(&c, "probe");
    w = tt_config_opts(&c, "write");
    assert_true(c.run->keep);
    assert_int_equal(c.run->ranks, 2);
    assert_int_equal(o->size, 17); /* the later one wins */
    assert_int_equal(c.run->seed, 9);
    assert_int_equal(c.stack.seed, 9);
    assert_int_equal(o->seed, 7);
    assert_true(o->loud);
    assert_int_equal(w->every, 20);
    assert_int_equal(w->pattern.n, 3);
    assert_int_equal(w->series, TT_APPEND);
    assert_int_equal(c.run->max_bytes, 1 << 30);
    assert_true(c.run->max_time == 5);
    assert_string_equal(c.run->label, "a=b");
    assert_string_equal(c.run->json, "-");
    assert_int_equal(c.stack.n, 3);
    assert_ptr_equal(c.stack.elements[0], &tt_layer_throttle);
    assert_ptr_equal(c.stack.elements[2], &tt_backend_posix);
    tt_config_free(&c);
}

static void modes_set_overlap_and_sync(void **state)
{
    static const struct {
        char *mode;
        int overlap, sync;
    } cases[] = {
        {"sync+imm", TT_OVERLAP_NONE, TT_SYNC_DUMP},
        {"sync", TT_OVERLAP_NONE, TT_SYNC_DEFERRED},
        {"async", TT_OVERLAP_ASYNC, TT_SYNC_DEFERRED},
        {"async+bg", TT_OVERLAP_ASYNC, TT_SYNC_BACKGROUND},
    };
    struct tt_config c;
    struct tt_error e;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(MAKE(&c, &e, "--mode", cases[i].mode), TT_OK);
        assert_int_equal(c.run->overlap, cases[i].overlap);
        assert_int_equal(c.run->sync, cases[i].sync);
        assert_non_null(tt_mode_meaning(cases[i].mode));
        tt_config_free(&c);
    }
    assert_null(tt_mode_meaning("other"));
    assert_int_equal(MAKE(&c, &e, "--overlap", "async", "--sync", "never"), TT_OK);
    tt_config_free(&c);
    EXPECT_ERROR("--mode: mode sets overlap and sync: give either it or them", "--mode", "async",
                 "--sync", "close");
    EXPECT_ERROR("--overlap: sync=dump makes overlap pointless: use sync=background", "--overlap",
                 "async");
    EXPECT_ERROR("--sync: sync=write makes overlap pointless: use sync=background", "--overlap",
                 "async", "--sync", "write");
    EXPECT_ERROR("--sync: sync=background needs a helper: use overlap=async", "--sync",
                 "background");
}

static void wrong_settings_are_explained(void **state)
{
    (void)state;
    EXPECT_ERROR("unknown workload 'prob' (did you mean 'probe'?); tutti list workloads names them",
                 "prob");
    EXPECT_ERROR("--backend: backend 'absent' is not in this build; package libabsent-dev brings "
                 "its library",
                 "--backend", "absent");
    EXPECT_ERROR("--absent.x: 'absent.x' belongs to 'absent', which is not in this build; package "
                 "libabsent-dev brings its library",
                 "--absent.x", "1");
    EXPECT_ERROR("--collective.size: 'collective.size' belongs to 'collective', which workload "
                 "'probe' does not use",
                 "--collective.size", "1m");
    EXPECT_ERROR("--every: unknown key 'every' (did you mean 'write.every'?)", "--every", "2");
    EXPECT_ERROR("--layers: layer 'throttle' is listed twice", "--layers", "throttle,throttle");
    EXPECT_ERROR("--size: needs a value", "--size");
    EXPECT_ERROR("--write: every: '1x' is not a count: expected a whole number such as 4096",
                 "--write", "every=1x");
    EXPECT_ERROR("--write: 'every' is not key=value; tutti help write lists the keys", "--write",
                 "every");
    EXPECT_ERROR("more ranks than points", "-n", "9");
}

static void plans_resolve_to_the_same(void **state)
{
    struct tt_settings s = {0};
    struct tt_config c, again;
    struct tt_error e;
    json_t *first, *second;

    (void)state;
    assert_int_equal(MAKE(&c, &e, "--mode", "async+bg", "--layers", "throttle,align",
                          "--throttle.rate", "0.3k", "--max-time", "3us", "--min-free", "10g",
                          "--write", "every=3,pattern=2:0", "--label", "x \"y\"", "--dir",
                          "a\nb\xff\xc3\xa9\xf4\x8f\xbf\xbf\xc3", "--probe.seed",
                          "18446744073709551615", "--quiet", "-n", "3"),
                     TT_OK);
    first = tt_config_to_json(&c);
    assert_non_null(first);
    assert_null(json_object_get(first, "mode"));
    assert_string_equal(json_string_value(json_object_get(first, "overlap")), "async");
    assert_string_equal(json_string_value(json_object_get(first, "sync")), "background");
    assert_string_equal(json_string_value(json_object_get(first, "write.pattern")), "2:0");
    assert_string_equal(json_string_value(json_object_get(first, "throttle.rate")), "307.2");
    assert_int_equal(tt_settings_from_json(&s, first, "plan.json", &e), TT_OK);
    assert_int_equal(tt_config_make(&again, "probe", &s, &e), TT_OK);
    second = tt_config_to_json(&again);
    assert_true(json_equal(first, second));
    assert_string_equal(again.run->dir, c.run->dir); /* every byte of it */
    json_decref(first);
    json_decref(second);
    tt_settings_free(&s);
    tt_config_free(&c);
    tt_config_free(&again);
}

static void plans_are_not_trusted(void **state)
{
    struct tt_settings s = {0};
    struct tt_error e = TT_ERROR_CLEAR;
    json_t *number = json_pack("{s:i}", "probe.size", 3), *list = json_array();

    (void)state;
    assert_int_equal(tt_settings_from_json(&s, number, "plan.json", &e), TT_CORRUPT);
    assert_string_equal(e.text, "plan.json: parameter 'probe.size' is not text");
    assert_int_equal(tt_settings_from_json(&s, list, "plan.json", &e), TT_CORRUPT);
    json_decref(number);
    json_decref(list);
    tt_settings_free(&s);
}

/* ---- out of memory, from the n-th allocation on ---- */

#ifndef __SANITIZE_ADDRESS__
static long allocations_left = -1; /* negative: all succeed */

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

static bool refuse(void)
{
    if (allocations_left < 0)
        return false;
    if (allocations_left == 0)
        return true;
    allocations_left--;
    return false;
}

void *malloc(size_t size)
{
    return refuse() ? NULL : __libc_malloc(size);
}
void *calloc(size_t n, size_t size)
{
    return refuse() ? NULL : __libc_calloc(n, size);
}
void *realloc(void *old, size_t size)
{
    return refuse() ? NULL : __libc_realloc(old, size);
}

static void memory_may_run_out_anywhere(void **state)
{
    struct tt_config c;
    struct tt_error e;
    long n;
    int rc;

    (void)state;
    for (n = 0;; n++) {
        json_t *plan = NULL;

        allocations_left = n;
        rc = MAKE(&c, &e, "probe", "--layers", "throttle", "--write", "every=2,pattern=1:2",
                  "--label=x", "--mode", "async");
        if (rc == TT_OK)
            plan = tt_config_to_json(&c);
        allocations_left = -1;
        tt_config_free(&c);
        json_decref(plan);
        if (plan)
            break;
        assert_true(rc == TT_OK || rc == TT_NOMEM);
        assert_true(rc == TT_OK || e.code == TT_NOMEM);
    }
    assert_true(n > 50);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(keys_find_their_owner),
        cmocka_unit_test(modes_set_overlap_and_sync),
        cmocka_unit_test(wrong_settings_are_explained),
        cmocka_unit_test(plans_resolve_to_the_same),
        cmocka_unit_test(plans_are_not_trusted),
#ifndef __SANITIZE_ADDRESS__
        cmocka_unit_test(memory_may_run_out_anywhere),
#endif
    };

    choose_components();
    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
