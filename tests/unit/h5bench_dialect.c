/* SPDX-License-Identifier: GPL-3.0-or-later */
/* h5bench's workflows become settings; nonsense is refused with its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "spec/dialects/h5bench.h"

struct reading {
    struct tt_h5bench_workflow workflow;
    struct tt_error error;
    int rc;
};

static const struct tt_h5bench_past *past; /* of the next reading */

static void read_text(struct reading *r, const char *text, const char *filter,
                      enum tt_h5bench_backend backend)
{
    char path[] = "/tmp/tutti-unit-XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(strlen(text), write(fd, text, strlen(text)));
    close(fd);
    *r = (struct reading){.error = TT_ERROR_CLEAR};
    r->rc = tt_h5bench_read(path, filter, backend, past, &r->workflow, &r->error);
    unlink(path);
}

/* A workflow with these benchmarks, which begin in line 4. */
#define MPI "\"mpi\": {\"command\": \"mpirun\", \"ranks\": \"4\"}"
static char *around(const char *mpi, const char *benchmarks)
{
    char *text;

    assert_true(asprintf(&text,
                         "{%s,\n\"vol\": {}, \"file-system\": {},\n\"directory\": \"/scratch\", "
                         "\"benchmarks\": [\n%s]}",
                         mpi, benchmarks) > 0);
    return text;
}

static void read_benchmarks(struct reading *r, const char *mpi, const char *benchmarks)
{
    char *text = around(mpi, benchmarks);

    read_text(r, text, NULL, true);
    free(text);
}

#define ONE(name, keys) \
    "{\"benchmark\": \"" name "\", \"file\": \"x.h5\", \"configuration\": {\"TIMESTEPS\": \"2\", " \
    "\"DIM_1\": \"100\", " keys "}}"

/* The last one wins. */
static const char *value(const struct tt_settings *s, const char *key)
{
    for (size_t i = s->n; i-- > 0;)
        if (!strcmp(s->list[i].key, key))
            return s->list[i].value;
    return "(none)";
}

static const char *value_of(const struct reading *r, size_t i, const char *key)
{
    if (r->rc != TT_OK)
        fail_msg("%s", r->error.text);
    assert_true(i < r->workflow.n);
    return value(&r->workflow.list[i].settings, key);
}

static void gives(const char *benchmarks, const char *key, const char *expected)
{
    struct reading r;

    read_benchmarks(&r, MPI, benchmarks);
    assert_string_equal(expected, value_of(&r, r.workflow.n - 1, key));
    tt_h5bench_free(&r.workflow);
}

static void refuses(const char *mpi, const char *benchmarks, const char *why)
{
    struct reading r;

    read_benchmarks(&r, mpi, benchmarks);
    if (r.rc == TT_OK) { /* one is, not the file */
        const struct tt_h5bench_benchmark *last = &r.workflow.list[r.workflow.n - 1];

        assert_true(last->unusable);
        if (!strstr(last->reason, why))
            fail_msg("'%s' does not say '%s'", last->reason, why);
    } else {
        assert_int_equal(TT_USAGE, r.rc);
        if (!strstr(r.error.text, why))
            fail_msg("'%s' does not say '%s'", r.error.text, why);
    }
    tt_h5bench_free(&r.workflow);
}

static void refuses_file(const char *text, const char *why)
{
    struct reading r;

    read_text(&r, text, NULL, true);
    assert_int_equal(TT_USAGE, r.rc);
    if (!strstr(r.error.text, why))
        fail_msg("'%s' does not say '%s'", r.error.text, why);
    tt_h5bench_free(&r.workflow);
}

static void test_units(void **state)
{
    (void)state;
    gives(ONE("write", "\"NUM_DIMS\": 2, \"DIM_2\": \"16 M\""), "particles.dims", "100:16777216");
    gives(ONE("write", "\"NUM_DIMS\": 2, \"DIM_2\": \"16M\""), "particles.dims", "100:16777216");
    gives(ONE("write", "\"DIM_2\": \"7\""), "particles.dims", "100");
    gives(ONE("write", "\"EMULATED_COMPUTE_TIME_PER_TIMESTEP\": \"500 ms\""), "particles.pause",
          "0.5");
    gives(ONE("write", "\"EMULATED_COMPUTE_TIME_PER_TIMESTEP\": \"500000us\""), "particles.pause",
          "0.5");
    gives(ONE("write", "\"EMULATED_COMPUTE_TIME_PER_TIMESTEP\": \"2 min\""), "particles.pause",
          "120");
    gives(ONE("write", "\"EMULATED_COMPUTE_TIME_PER_TIMESTEP\": 1"), "particles.pause", "1");
    gives(ONE("write", "\"EMULATED_COMPUTE_TIME_PER_TIMESTEP\": \"5 sec\""), "particles.pause",
          "5");
    gives(ONE("write", "\"NUM_DIMS\": 2, \"DIM_2\": \"2 Ks\""), "particles.dims", "100:2048");
}

static void test_patterns(void **state)
{
    (void)state;
    gives(ONE("write", "\"MEM_PATTERN\": \"INTERLEAVED\""), "particles.memory", "records");
    gives(ONE("write", "\"FILE_PATTERN\": \"INTERLEAVED\""), "particles.file", "records");
    gives(ONE("write", "\"FILE_PATTERN\": \"STRIDED\", \"STRIDE_SIZE\": \"10\""),
          "particles.pattern", "strided");
    gives(ONE("read", "\"READ_OPTION\": \"PRL\", \"BLOCK_SIZE\": 4, \"BLOCK_SIZE_2\": 3"),
          "particles.block", "4:3");
    gives(ONE("read", "\"READ_OPTION\": \"PARTIAL\", \"TO_READ_NUM_PARTICLES\": 30"),
          "particles.read_count", "30");
    gives(ONE("read", "\"TO_READ_NUM_PARTICLES\": 30, \"NUM_PARTICLES\": 20"),
          "particles.read_count", "20");
    gives(ONE("read", "\"NUM_PARTICLES\": \"16 M\""), "particles.read", "(none)");
    gives(ONE("read", "\"READ_OPTION\": \"PARTIAL\""), "particles.read", "(none)");
    gives(ONE("write", "\"NUM_PARTICLES\": \"16 M\""), "particles.dims", "100");
    gives(ONE("write", "\"FILE_PER_PROC\": \"YES\""), "particles.files", "process");
    gives(ONE("write-normal-dist", "\"STDEV_DIM_1\": 7"), "particles.deviation", "7");
    gives(ONE("write", "\"STDEV_DIM_1\": 7"), "particles.deviation", "(none)");
}

static void test_modes(void **state)
{
    (void)state;
    gives(ONE("write", "\"MODE\": \"SYNC\""), "overlap", "none");
    gives(ONE("write", "\"MODE\": \"ASYNC\""), "overlap", "async");
    gives(ONE("write", "\"MODE\": \"ASYNC\", \"DELAYED_CLOSE_TIMESTEPS\": 2"), "inflight", "3");
    gives(ONE("write", "\"MODE\": \"SYNC\", \"DELAYED_CLOSE_TIMESTEPS\": 2"), "inflight", "(none)");
    gives(ONE("write", "\"MODE\": \"ASYNC\", \"DELAYED_CLOSE_TIMESTEPS\": 3"), "hdf5.delayed_close",
          "3");
    gives(ONE("write", "\"DELAYED_CLOSE_TIMESTEPS\": 3"), "hdf5.delayed_close", "2");
    gives(ONE("read", "\"MODE\": \"ASYNC\""), "particles.prefetch", "yes");
    gives(ONE("write", "\"IO_MEM_LIMIT\": \"4 K\""), "particles.memory_limit", "4096");
    gives(ONE("write", "\"COLLECTIVE_DATA\": \"NO\""), "hdf5.method", "independent");
    gives(ONE("write", "\"COMPRESS\": \"YES\""), "hdf5.method", "collective");
    gives(ONE("write", "\"COMPRESS\": \"YES\", \"CHUNK_DIM_1\": 10"), "hdf5.chunk", "10");
    gives(ONE("write", "\"COMPRESS\": \"YES\", \"COMPRESS_FILTER\": \"GZIP\""), "hdf5.filter",
          "deflate:9");
    gives(ONE("write", "\"COMPRESS\": \"YES\", \"COMPRESS_FILTER\": \"N_BIT\""), "hdf5.filter",
          "nbit");
    gives(ONE("write", "\"COMPRESS\": \"YES\", \"COMPRESS_FILTER\": \"ZFP\", \"COMPRESS_PARAMS\": "
                       "\"2, 0 16\""),
          "hdf5.filter", "zfp:2:0:16");
    gives(ONE("write", "\"COMPRESS\": \"YES\"") "," ONE("read", "\"NUM_DIMS\": 1"),
          "particles.verify", "yes");
    gives(ONE("write", "\"COMPRESS\": \"YES\", \"COMPRESS_FILTER\": \"SZ3\"") "," ONE(
              "read", "\"NUM_DIMS\": 1"),
          "particles.verify", "no"); /* nobody knows how far it changes values */
    gives(ONE("write", "\"COMPRESS\": \"NO\", \"COMPRESS_FILTER\": \"SZIP\""), "hdf5.filter",
          "(none)");
    gives(ONE("read", "\"COLLECTIVE_METADATA\": \"NO\""), "hdf5.collective_metadata", "yes");
    gives(ONE("write", "\"COLLECTIVE_METADATA\": \"NO\""), "hdf5.metadata_cache", "16m");
    gives(ONE("write", "\"ALIGN\": \"YES\", \"ALIGN_LEN\": \"1M\""), "hdf5.alignment", "1048576");
}

static void test_chains(void **state)
{
    (void)state;
    gives(ONE("read", "\"IO_OPERATION\": \"READ\""), "particles.verify", "no");
    gives(ONE("write", "\"ALIGN\": \"NO\"") "," ONE("read", "\"ALIGN\": \"NO\""),
          "particles.verify", "yes");
    gives(ONE("write", "\"ALIGN\": \"NO\"") "," ONE("read", "\"NUM_DIMS\": 2"), "particles.verify",
          "no");
    gives("{\"benchmark\": \"write\", \"file\": \"x.h5\", \"configuration\": {\"TIMESTEPS\": 5, "
          "\"NUM_DIMS\": 2, \"DIM_1\": 3, \"DIM_2\": 4, \"FILE_PATTERN\": \"INTERLEAVED\"}},"
          "{\"benchmark\": \"read\", \"file\": \"x.h5\", \"configuration\": {\"TIMESTEPS\": 5}}",
          "particles.dims", "3:4");
    gives(ONE("write", "\"ALIGN\": \"NO\"") "," ONE("overwrite", "\"ALIGN\": \"NO\"") "," ONE(
              "read", "\"ALIGN\": \"NO\""),
          "seed", "2");
    gives(ONE("write-unlimited", "\"ALIGN\": \"NO\"") "," ONE(
              "append", "\"ALIGN\": \"NO\"") "," ONE("append", "\"ALIGN\": \"NO\""),
          "particles.appended", "1");
}

static void test_launch(void **state)
{
    static const char words[] =
        "\"mpi\": {\"command\": \"srun\", \"ranks\": \"4\", \"configuration\": "
        "\"--cpu_bind=cores -n 8 --x=a,b\"}";
    struct reading r;

    (void)state;
    read_benchmarks(&r, words, ONE("write", "\"ALIGN\": \"NO\""));
    assert_string_equal("8", value_of(&r, 0, "ranks"));
    assert_string_equal("slurm", value_of(&r, 0, "launch.by"));
    assert_string_equal("--cpu_bind=cores,--x=a\\,b", value_of(&r, 0, "launch.options"));
    assert_string_equal("/scratch", value_of(&r, 0, "dir"));
    tt_h5bench_free(&r.workflow);
    gives(ONE("write", "\"ALIGN\": \"NO\""), "ranks", "4");
    gives(ONE("write", "\"ALIGN\": \"NO\""), "launch.by", "(none)");
    refuses("\"mpi\": {\"command\": \"mpirun\", \"configuration\": \"-np 2; reboot\"}",
            ONE("write", "\"ALIGN\": \"NO\""), "no shell");
    refuses("\"mpi\": {\"command\": \"mpirun\", \"configuration\": \"-np\"}",
            ONE("write", "\"ALIGN\": \"NO\""), "ends where the number of ranks should be");
    refuses("\"mpi\": {\"command\": \"mpirun\"}", ONE("write", "\"ALIGN\": \"NO\""),
            "how many ranks");
    refuses("\"mpi\": {\"command\": \"sh\", \"ranks\": 2}", ONE("write", "\"ALIGN\": \"NO\""),
            "is not one of mpirun, mpiexec, srun");
}

static void test_surroundings(void **state)
{
    static const char lustre[] =
        "{" MPI ", \"vol\": {\"library\": \"/lib\", \"connector\": \"async under_vol=0\"}, "
        "\"file-system\": {\"lustre\": {\"stripe-size\": \"4M\", \"stripe-count\": \"8\"}}, "
        "\"directory\": \"d\", \"benchmarks\": [" ONE("write", "\"ALIGN\": \"NO\"") "]}";
    struct reading r;

    (void)state;
    read_text(&r, lustre, NULL, true);
    assert_string_equal("striping_unit=4194304,striping_factor=8", value_of(&r, 0, "hdf5.hints"));
    tt_h5bench_free(&r.workflow);
    read_text(&r, lustre, NULL, false);
    assert_string_equal("(none)", value_of(&r, 0, "hdf5.hints"));
    assert_string_equal("(none)", value_of(&r, 0, "hdf5.method"));
    assert_string_equal("engine", value_of(&r, 0, "particles.conversion"));
    tt_h5bench_free(&r.workflow);
}

static void test_connectors(void **state)
{
    static const char text[] =
        "{" MPI ", \"vol\": {\"connector\": \"cache_ext config=x\", \"library\": \"/l\", \"path\": "
        "[\"/a\", \"/b\"], \"preload\": \"liba.so\"}, \"file-system\": {}, "
        "\"directory\": \"d\", \"benchmarks\": [" ONE("write", "\"MODE\": \"SYNC\"") "," ONE(
            "write", "\"MODE\": \"ASYNC\"") "," ONE("write",
                                                    "\"MODE\": \"LOG\"") "," ONE("append",
                                                                                 "\"MODE\": "
                                                                                 "\"LOG\"") ","
                                                                                            "{\"ben"
                                                                                            "chmark"
                                                                                            "\": "
                                                                                            "\"amre"
                                                                                            "x\", "
                                                                                            "\"file"
                                                                                            "\": "
                                                                                            "\"a\","
                                                                                            " \"con"
                                                                                            "figura"
                                                                                            "tion\""
                                                                                            ": "
                                                                                            "{\"mod"
                                                                                            "e\": "
                                                                                            "\"LOG"
                                                                                            "\"}}]"
                                                                                            "}";
    struct reading r;

    (void)state;
    read_text(&r, text, NULL, true);
    assert_int_equal(TT_OK, r.rc);
    assert_null(r.workflow.list[0].reason); /* no connector is loaded for it anyway */
    assert_non_null(strstr(r.workflow.list[1].reason, "HDF5 loads connectors since 1.14"));
    for (size_t i = 2; i < 5; i++)
        assert_non_null(strstr(r.workflow.list[i].reason, "MODE LOG"));
    assert_null(r.workflow.path);
    tt_h5bench_free(&r.workflow);
    read_text(&r, text, NULL, TT_H5BENCH_HDF5_CONNECTORS);
    assert_null(r.workflow.list[1].reason);
    assert_string_equal("(none)", value_of(&r, 0, "hdf5.vol"));
    assert_string_equal("cache_ext config=x", value_of(&r, 1, "hdf5.vol"));
    for (size_t i = 2; i < 5; i++) { /* what is in a log is the connector's affair */
        assert_null(r.workflow.list[i].reason);
        assert_string_equal("cache_ext config=x", value_of(&r, i, "hdf5.vol"));
        assert_string_equal("(none)", value_of(&r, i, "layers"));
        assert_string_equal("none", value_of(&r, i, "overlap"));
    }
    assert_string_equal("/l", r.workflow.library);
    assert_string_equal("/a:/b", r.workflow.path);
    assert_string_equal("liba.so", r.workflow.preload);
    tt_h5bench_free(&r.workflow);
    read_text(&r,
              "{" MPI ", \"vol\": {\"preload\": \"/not/there.so\"}, \"file-system\": {}, "
              "\"directory\": \"d\", \"benchmarks\": [" ONE("write", "\"MODE\": \"ASYNC\"") "]}",
              NULL, TT_H5BENCH_HDF5_CONNECTORS);
    assert_non_null(strstr(r.error.text, "'vol.preload' cannot be read"));
    tt_h5bench_free(&r.workflow);
}

static void test_logs(void **state)
{
    (void)state;
    gives(ONE("write", "\"MODE\": \"LOG\""), "layers", "log");
    gives("{\"benchmark\": \"amrex\", \"file\": \"a\", \"configuration\": {\"mode\": \"LOG\"}}",
          "layers", "log");
}

static void test_what_cannot_be_done(void **state)
{
#define MAPPED \
    "{\"benchmark\": \"e3sm\", \"file\": \"x\", \"configuration\": {\"map\": \"f_case_16p.h5\", "
    static const char *const benchmarks[][2] = {
        {"{\"benchmark\": \"openpmd\", \"configuration\": {\"operation\": \"read\"}}",
         "no benchmark before it writes a series"},
        {"{\"benchmark\": \"amrex\", \"file\": \"y\", \"configuration\": "
         "{\"hdf5compression\": \"SZ@1\"}}",
         "expected ZLIB@LEVEL"},
        {ONE("append", "\"MODE\": \"LOG\""), "a log that is closed cannot be changed"},
        {"{\"benchmark\": \"exerciser\", \"configuration\": {\"numdims\": 1, \"minels\": 9, "
         "\"nsizes\": 2, \"usechunked\": \"true\"}}",
         "a chunk cannot grow"},
        {"{\"benchmark\": \"macsio\", \"file\": \"x\", \"configuration\": {\"meta_type\": "
         "\"tabular\"}}",
         "meta_type: an option of MACSio without counterpart"},
        {MAPPED "\"x\": \"log\", \"g\": -1}}", "g: the layer log has no subfiles"},
        {MAPPED "\"s\": 2}}", "s: every rank writes"},
        {MAPPED "\"e\": 2}}", "e: the size is that of the map"},
        {"{\"benchmark\": \"dlio\", \"configuration\": {\"train\": \"true\"}}", "not planned"},
        {ONE("cuda_write", "\"DYNAMIC_VFD_NAME\": \"gds\""),
         "GPUDirect Storage has not been tested"},
        {ONE("write", "\"DYNAMIC_VFD_NAME\": \"mirror\""), "loads no file drivers"},
        {ONE("write", "\"SUBFILING\": \"YES\""), "without subfiles"},
        {ONE("write", "\"MEM_PATTERN\": \"STRIDED\""), "MEM_PATTERN STRIDED"},
    };
    struct reading r;

    (void)state;
    for (size_t i = 0; i < sizeof benchmarks / sizeof *benchmarks; i++) {
        read_benchmarks(&r, MPI, benchmarks[i][0]);
        if (r.rc != TT_OK)
            fail_msg("%s", r.error.text);
        assert_non_null(r.workflow.list[0].reason);
        assert_non_null(strstr(r.workflow.list[0].reason, benchmarks[i][1]));
        tt_h5bench_free(&r.workflow);
    }
}

static void test_filter(void **state)
{
    char *text =
        around(MPI, ONE("write", "\"ALIGN\": \"NO\"") "," ONE("read", "\"ALIGN\": \"NO\""));
    struct reading r;

    (void)state;
    read_text(&r, text, "read", true);
    assert_int_equal(TT_OK, r.rc);
    assert_true(r.workflow.list[0].skipped);
    assert_false(r.workflow.list[1].skipped);
    assert_string_equal("no", value_of(&r, 1, "particles.verify")); /* nobody has made it */
    tt_h5bench_free(&r.workflow);
    read_text(&r, text, "read,raed", true);
    assert_int_equal(TT_USAGE, r.rc);
    tt_h5bench_free(&r.workflow);
    free(text);
}

/* The file is not what benchmarks that are not run would have made of it. */
static void test_filtered_chain(void **state)
{
    char *text =
        around(MPI, ONE("write", "\"ALIGN\": \"NO\"") "," ONE(
                        "overwrite", "\"ALIGN\": \"NO\"") "," ONE("read", "\"ALIGN\": \"NO\""));
    struct reading r;

    (void)state;
    read_text(&r, text, "write,read", true);
    assert_string_equal("yes", value_of(&r, 2, "particles.verify"));
    assert_string_equal("1", value_of(&r, 2, "seed"));
    assert_null(r.workflow.list[2].notice);
    tt_h5bench_free(&r.workflow);
    free(text);
    text = around(MPI, ONE("write", "\"ALIGN\": \"NO\"") "," ONE(
                           "write", "\"SUBFILING\": \"YES\"") "," ONE("read", "\"ALIGN\": \"NO\""));
    read_text(&r, text, NULL, true);
    assert_string_equal("yes", value_of(&r, 2, "particles.verify"));
    tt_h5bench_free(&r.workflow);
    free(text);
}

static void look(void *context, const char *directory, const char *file,
                 struct tt_h5bench_content *content)
{
    *content = *(struct tt_h5bench_content *)context;
    assert_string_equal("/scratch", directory);
    assert_string_equal("x.h5", file);
}

static void test_past(void **state)
{
    struct tt_h5bench_content content = {
        .is_known = true, .can_check = true, .ndims = 1, .dims = {100}, .steps = 2, .seed = 7};

    (void)state;
    past = &(struct tt_h5bench_past){look, &content};
    gives(ONE("read", "\"ALIGN\": \"NO\""), "particles.verify", "yes");
    gives(ONE("read", "\"ALIGN\": \"NO\""), "seed", "7");
    gives(ONE("overwrite", "\"ALIGN\": \"NO\"") "," ONE("read", "\"ALIGN\": \"NO\""), "seed", "8");
    gives(ONE("write", "\"ALIGN\": \"NO\"") "," ONE("read", "\"ALIGN\": \"NO\""), "seed", "1");
    content.ranks = 3;
    gives(ONE("read", "\"ALIGN\": \"NO\""), "seed", "(none)");
    content.ranks = 4;
    content.can_check = false;
    gives(ONE("read", "\"ALIGN\": \"NO\""), "particles.verify", "no");
    past = NULL;
}

static void test_metadata(void **state)
{
#define STRESS(keys) \
    "{\"benchmark\": \"metadata\", \"file\": \"x\", \"configuration\": {\"arrays\": 7, " keys "}}"
#define STRONG "\"scaling\": \"strong\", \"rows\": 20, \"columns\": 30, \"process-rows\": 4"
    (void)state;
    gives(STRESS("\"steps\": \"3\""), "arrays.steps", "3");
    gives(STRESS("\"steps\": \"3\", \"version\": \"0\""), "hdf5.method", "independent");
    refuses(MPI, STRESS("\"version\": \"1\""), "version");
    gives(STRESS("\"slowest-dimension\": \"array\""), "arrays.slowest", "array");
    gives(STRESS("\"layout\": \"contiguous\""), "hdf5.chunk", "(none)");
    gives(STRESS("\"layout\": \"chunked\""), "hdf5.chunk", "1:7:100:200");
    gives(STRESS("\"layout\": \"chunked\", \"slowest-dimension\": \"array\""), "hdf5.chunk",
          "7:1:100:200");
    gives(STRESS("\"layout\": \"chunked\", \"dataset-rank\": 3, " STRONG), "hdf5.chunk", "1:5:30");
    gives(STRESS("\"layout\": \"chunked\", \"dataset-rank\": 2, " STRONG), "hdf5.chunk", "5:30");
    refuses(MPI, STRESS("\"dataset-rank\": 5"), "out of range: 2 to 4");
    refuses(MPI, STRESS("\"TIMESTEPS\": 5"), "is not a key of h5bench");
    refuses(MPI, STRESS("\"mpi-io\": \"posix\""), "is not one of independent, collective");
}

static void test_applications(void **state)
{
#define SERIES(keys) "{\"benchmark\": \"openpmd\", \"configuration\": {" keys "}}"
#define WRITTEN SERIES("\"operation\": \"write\", \"minBlock\": \"8 16 16\", \"steps\": 6")
#define PATTERN(text) SERIES("\"operation\": \"read\", \"pattern\": \"" text "\"")
#define AMREX(keys) \
    "{\"benchmark\": \"amrex\", \"file\": \"x\", \"configuration\": {\"ncells\": 32, " keys "}}"
    (void)state;
    gives(WRITTEN, "openpmd.min_block", "8:16:16");
    gives(WRITTEN, "openpmd.path", "8a_parallel_3Db_%06T.h5");
    gives(SERIES("\"dim\": 2, \"balanced\": \"false\", \"encoding\": \"g\""), "openpmd.path",
          "8a_parallel_2Du.h5");
    gives(SERIES("\"dim\": 2, \"grid\": \"4  2 9\""), "openpmd.grid", "4:2");
    gives(WRITTEN "," SERIES("\"operation\": \"read\", \"pattern\": \"fz\""), "openpmd.read", "fz");
    gives(WRITTEN "," SERIES("\"operation\": \"read\""), "openpmd.steps", "6");
    gives(WRITTEN "," PATTERN("65"), "openpmd.read", "fy");
    gives(WRITTEN "," PATTERN("7"), "openpmd.read", "ids");
    gives(WRITTEN "," PATTERN("1210"), "openpmd.block_divide", "12");
    gives(WRITTEN "," PATTERN("1210"), "openpmd.block_along", "y");
    gives(WRITTEN "," PATTERN("450"), "openpmd.block_along", "diagonal");
    gives(WRITTEN "," PATTERN("442"), "openpmd.block_along", "one");
    gives(WRITTEN "," PATTERN("442"), "openpmd.block_place", "last");
    gives(WRITTEN "," PATTERN("1002002"), "openpmd.read_grid", "2:2:1");
    gives(WRITTEN "," PATTERN("12001"), "openpmd.read", "(none)"); /* 4 ranks */
    gives(WRITTEN "," PATTERN("435"), "openpmd.read", "(none)");   /* 3 dimensions */
    gives(WRITTEN "," PATTERN("13"), "openpmd.read", "(none)");
    gives(WRITTEN "," PATTERN("5x"), "openpmd.read", "(none)");
    refuses(MPI, SERIES("\"operation\": \"append\""), "is not one of write, read");
    refuses(MPI, SERIES("\"minBlock\": \"8 16\""), "'minBlock' has 2 of 3 numbers");
    refuses(MPI, SERIES("\"minBlock\": \"\""), "'minBlock' is empty");
    refuses(MPI, WRITTEN "," PATTERN(""), "'pattern' is empty");
    refuses(MPI, SERIES("\"dim\": 2, \"grid\": \" 8 \""), "'grid' has 1 of 2 numbers");
    gives(AMREX("\"sleeptime\": 2"), "amr.pause", "2s");
    gives(AMREX("\"restart_check\": \"1\""), "amr.phase", "both");
    gives(AMREX("\"hdf5compression\": \"ZLIB@3\""), "hdf5.filter", "deflate:3");
    gives(AMREX("\"hdf5compression\": \"ZFP_ACCURACY#0.5\""), "hdf5.filter",
          "zfp:3:0:0:1071644672");
    gives(AMREX("\"hdf5compression\": \"ZFP_ACCURACY#0.5\""), "amr.verify", "no");
    gives(AMREX("\"hdf5compression\": \"ZFP_REVERSIBLE\""), "hdf5.filter", "zfp:5");
    gives(AMREX("\"hdf5compression\": \"ZFP_REVERSIBLE\""), "amr.verify", "(none)");
    gives(AMREX("\"hdf5compression\": \"None@0\""), "hdf5.filter", "(none)");
    gives(AMREX("\"mode\": \"ASYNC\""), "overlap", "async");
    gives(AMREX("\"nlevs\": 3, \"grids_from_file\": 1, \"ref_ratio_file\": \"4 2\""), "amr.ratios",
          "4:2");
    gives(AMREX("\"nlevs\": 3, \"ref_ratio_file\": \"4 2\""), "amr.ratios", "(none)");
    refuses(MPI, AMREX("\"nlevs\": 3, \"grids_from_file\": 1, \"ref_ratio_file\": \"4\""),
            "'ref_ratio_file' has 1 of 2 numbers");
    refuses(MPI, AMREX("\"nlevels\": 2"), "did you mean 'nlevs'");
}

static void test_e3sm(void **state)
{
#define E3SM(name, keys) \
    "{\"benchmark\": \"e3sm\", \"file\": \"x.h5\", \"configuration\": {\"map\": \"../d/" name \
    "\", \"r\": 6, " keys "}}"
#define SMALL(keys) E3SM("map_f_case_16p.h5", keys)
    (void)state;
    gives(SMALL("\"k\": \"\""), "climate.case", "F");
    gives(SMALL("\"k\": \"\""), "climate.layout", "blob");
    gives(SMALL("\"y\": 2"), "climate.flush", "6"); /* blobs are written at the end */
    gives(SMALL("\"x\": \"canonical\", \"y\": 2"), "climate.flush", "2");
    gives(SMALL("\"x\": \"canonical\", \"y\": -1"), "climate.flush", "6");
    gives(SMALL("\"x\": \"log\""), "layers", "log");
    gives(SMALL("\"q\": 1, \"m\": 1"), "climate.memory", "interleaved");
    gives(SMALL("\"f\": 1"), "climate.files", "h1");
    gives(SMALL("\"t\": 2"), "climate.pause", "2s");
    gives(SMALL("\"u\": 1"), "climate.fill", "(none)"); /* only case I has holes */
    gives(E3SM("map_i_case_16p.h5", "\"u\": 1"), "climate.fill", "yes");
    gives(E3SM("map_G_CASE_9600p.nc", "\"u\": 1"), "climate.edges", "11135652");
    gives(E3SM("map_g_case_16p.nc", "\"u\": 1"), "climate.edges", "(none)");
    gives(E3SM("f_case_48602x72_512p.nc", "\"u\": 1"), "climate.columns", "48602");
    refuses(MPI, E3SM("map.h5", "\"u\": 1"), "does not say of which case it is");
    refuses(MPI, E3SM("map_f_case_0x72_16p.h5", "\"u\": 1"), "a size in its name is 0");
    refuses(MPI, E3SM("map_f_case_0p.h5", "\"u\": 1"), "a size in its name is 0");
    refuses(MPI, E3SM("map_f_case_7p.h5", "\"u\": 1"), "for 16 and for 21600 ranks are known");
    gives(E3SM("map_g_case_16p.nc", "\"f\": 1"), "climate.files", "(none)");
    gives(SMALL("\"g\": -1, \"p\": 1"), "climate.layout", "blob");
    refuses(MPI, SMALL("\"g\": \"all\""), "g: 'all' is not a number of subfiles, or -1");
    refuses(MPI, SMALL("\"x\": \"canonical\", \"y\": \"2x\""), "is not a number of records");
    refuses(MPI, SMALL("\"mapp\": 1"), "did you mean 'map'");
    refuses(MPI, "{\"benchmark\": \"e3sm\", \"file\": \"x\", \"configuration\": {\"r\": 1}}",
            "needs 'map'");
}

static void test_exerciser(void **state)
{
#define TILED(keys) \
    "{\"benchmark\": \"exerciser\", \"configuration\": {\"numdims\": 2, \"minels\": \"8 " \
    "6\", " keys "}}"
    (void)state;
    gives(TILED("\"nsizes\": 3"), "arrays.tile", "8:6");
    gives(TILED("\"nsizes\": 3"), "arrays.growth", "2:2");
    gives(TILED("\"nsizes\": 3"), "arrays.sizes", "3");
    gives(TILED("\"nsizes\": 3"), "arrays.repeats", "10");
    gives(TILED("\"nsizes\": 3"), "arrays.path", "exerciser-1.h5");
    gives(TILED("\"bufmult\": \"3 1\""), "arrays.growth", "3:1");
    gives(TILED("\"dimranks\": \"2 2\""), "arrays.process_grid", "2:2");
    gives(TILED("\"dimranks\": \"8 4\""), "arrays.process_grid", "(none)"); /* of 4 ranks */
    gives(TILED("\"rshift\": 1"), "arrays.shift", "1");
    gives(TILED("\"indepio\": \"\""), "hdf5.method", "collective");
    gives(TILED("\"indepio\": \"true\""), "hdf5.method", "independent");
    gives(TILED("\"metacoll\": \"\""), "hdf5.collective_metadata", "yes");
    gives(TILED("\"metacoll\": \"false\""), "hdf5.collective_metadata", "no");
    gives(TILED("\"addattr\": \"true\""), "arrays.attributes", "64");
    gives(TILED("\"derivedtype\": \"true\""), "arrays.records", "yes");
    gives(TILED("\"nsizes\": 3"), "arrays.records", "no");
    gives(TILED("\"usechunked\": \"true\""), "hdf5.chunk", "8:6");
    gives(TILED("\"usechunked\": \"true\", \"nsizes\": 2, \"fileblocks\": \"4 2\""), "hdf5.chunk",
          "4:2");
    gives(TILED("\"fileblocks\": \"4 2\", \"filestrides\": \"5 1\""), "arrays.file_stride", "5:2");
    gives(TILED("\"filestrides\": \"5 1\""), "arrays.file_stride", "(none)");
    gives(TILED("\"memblock\": 4"), "arrays.memory_stride", "4");
    gives(TILED("\"maxcheck\": 0"), "arrays.verify", "no");
    gives(TILED("\"maxcheck\": 4096"), "arrays.verify_most", "4096");
    refuses(MPI, TILED("\"dimranks\": \"4\""), "for each of 2 dimensions");
    refuses(MPI, TILED("\"dimranks\": \"4 0\""), "dimranks: '4 0' does not have one number from 1");
    refuses(MPI, TILED("\"dimranks\": \"2 2 1\""), "dimranks: '2 2 1' does not have one number");
    refuses(MPI, TILED("\"fileblocks\": \"4 x\""), "fileblocks: '4 x'");
    refuses(MPI, TILED("\"nsize\": 3"), "did you mean 'nsizes'");
    refuses(MPI, TILED("\"addattr\": \"perhaps\""), "is not yes or no");
    refuses(MPI, "{\"benchmark\": \"exerciser\", \"configuration\": {\"numdims\": 5}}",
            "out of range");
    refuses(MPI, "{\"benchmark\": \"exerciser\", \"configuration\": {\"numdims\": 2}}",
            "needs numdims and minels");
}

static void test_macsio(void **state)
{
#define MACSIO(mode, keys) \
    "{\"benchmark\": \"macsio\", \"file\": \"x.h5\", \"configuration\": {" keys \
    "\"parallel_file_mode\": \"" mode "\"}}"
    (void)state;
    gives(MACSIO("MIF 3", ""), "parts.groups", "3");
    gives(MACSIO("MIF 8", ""), "parts.groups", "4"); /* ranks */
    gives(MACSIO("MIFFPP", ""), "parts.groups", "4");
    gives(MACSIO("", ""), "parts.groups", "4");
    gives(MACSIO("MIF 3", ""), "hdf5.method", "independent");
    gives(MACSIO("SIF", ""), "parts.groups", "0");
    gives(MACSIO("SIF 1", ""), "hdf5.method", "collective");
    gives(MACSIO("SIF", "\"part_size\": \"1M\", "), "parts.size", "1048576");
    gives(MACSIO("SIF", "\"part_size\": \"80000B\", "), "parts.size", "80000");
    gives(MACSIO("SIF", "\"meta_type\": \"\", "), "parts.groups", "0");
    gives(MACSIO("SIF", "\"avg_num_parts\": \"2.5\", "), "parts.parts", "2.5");
    gives(MACSIO("SIF", "\"dataset_growth\": \"0\", "), "parts.growth", "1");
    gives(MACSIO("SIF", "\"compute_time\": 3, "), "parts.pause", "3s");
    refuses(MPI, MACSIO("MIF 0", ""), "'MIF 0' is not MIF with a number of files from 1 on");
    refuses(MPI, MACSIO("MIF -1", ""), "'MIF -1' is not MIF");
    refuses(MPI, MACSIO("MIF 2", "\"num_dumps\": \"1 6\", "), "1 6"); /* not 16 */
    refuses(MPI, MACSIO("MIF", ""), "'MIF' is not MIF");
    refuses(MPI, MACSIO("MIF 2 x", ""), "'MIF 2 x' is not MIF");
    refuses(MPI, MACSIO("SIF 2", ""), "SIF with one file");
    refuses(MPI, MACSIO("SIF", "\"part_type\": \"arbitrary\", "), "is not one of rectilinear");
    refuses(MPI, MACSIO("SIF", "\"num_dump\": 3, "), "did you mean 'num_dumps'");
}

static void test_nonsense(void **state)
{
    (void)state;
    refuses(MPI, ONE("write", "\"DIM_4\": 3"), ":4:");
    refuses(MPI, ONE("write", "\"DIM_4\": 3"),
            "'DIM_4' is not a key of h5bench (did you mean 'DIM_");
    refuses(MPI, ONE("write", "\"DIM_2\": \"16 X\""), "DIM_2: '16X' has an unknown unit");
    refuses(MPI, ONE("write", "\"DIM_2\": \"-3\""), "is negative");
    refuses(MPI, ONE("write", "\"NUM_DIMS\": 4"), "out of range");
    refuses(MPI, ONE("write", "\"ALIGN\": \"maybe\""), "is not yes or no");
    refuses(MPI, ONE("write", "\"ALIGN\": \"YES\""), "ALIGN needs ALIGN_LEN");
    refuses(MPI, ONE("write", "\"READ_OPTION\": \"ALL\""), "is not one of FULL");
    refuses(MPI, ONE("write", "\"IO_OPERATION\": \"READ\""), "does not match benchmark 'write'");
    refuses(MPI, ONE("write", "\"IO_MEM_LIMIT\": 3200"),
            "more than the bytes of a rank's step, 3200");
    refuses(MPI, ONE("read", "\"TO_READ_NUM_PARTICLES\": 101"), "a rank has only 100 particles");
    refuses(MPI, ONE("write", "\"SUBFILING\": \"YES\", \"COLLECTIVE_DATA\": \"YES\""),
            "does not go");
    refuses(MPI, ONE("write", "\"NUM_DIMS\": 3, \"DIM_2\": \"1 T\", \"DIM_3\": \"1 T\""),
            "too many");
    refuses(MPI, ONE("wirte", "\"ALIGN\": \"NO\""),
            "not a benchmark of h5bench (did you mean 'write'?)");
    refuses(MPI, "{\"benchmark\": \"write\", \"file\": \"x\", \"configuration\": {}}", "TIMESTEPS");
    refuses(MPI, "{\"benchmark\": \"write\", \"configuration\": {\"TIMESTEPS\": 1}}", "no 'file'");
    refuses(MPI, "{\"file\": \"x\", \"configuration\": {\"TIMESTEPS\": 1}}", "its name");
    refuses(MPI, "{\"benchmark\": \"write\", \"fil\": \"x\"}", "is not one of benchmark, file");
    refuses(MPI, "{\"read\": {\"file\": \"x\", \"configuration\": {}}}", "of an old h5bench");
    refuses(MPI, "3", "is not an object");
    refuses(MPI, "", "there are no benchmarks");
}

/* The file in the format that can be read, beside the one that is named; any number of processes.
 */
static void test_maps(void **state)
{
    char directory[] = "/tmp/tutti-unit-XXXXXX", path[64], benchmark[256];
    FILE *f;

    (void)state;
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/map_f_case_7p.nc", directory);
    f = fopen(path, "w");
    assert_non_null(f);
    fclose(f);
    snprintf(benchmark, sizeof benchmark,
             "{\"benchmark\": \"e3sm\", \"file\": \"x.h5\", \"configuration\": {\"map\": "
             "\"%s/map_f_case_7p.h5\"}}",
             directory);
    gives(benchmark, "climate.map", path);
    gives(benchmark, "climate.case", "F");
    unlink(path);
    rmdir(directory);
}

static void test_wrong_files(void **state)
{
    (void)state;
    refuses_file("{\n\"mpi\": {,}\n}", ":2:");
    refuses_file("{}", "'mpi' is required");
    refuses_file("{" MPI ", \"vol\": {}, \"directory\": \"d\", \"benchmarks\": [{}]}",
                 "'file-system' is required");
    refuses_file("{" MPI ", \"vol\": {}, \"file-system\": {}, \"directory\": \"d\", \"more\": 1, "
                 "\"benchmarks\": [{}]}",
                 "'more' is not one of mpi");
    refuses_file("{" MPI ", \"vol\": {\"conector\": \"async\"}, \"file-system\": {}, "
                 "\"directory\": \"d\", \"benchmarks\": [{}]}",
                 "'vol.conector' is not a key of h5bench");
    refuses_file("{" MPI ", \"vol\": {}, \"file-system\": {}, \"directory\": \"d\", "
                 "\"benchmarks\": [{\"benchmark\": \"write\", \"file\": null}]}",
                 ":1:132: 'benchmarks.0.file' is null: give a value, or leave it out");
    refuses_file("{" MPI ", \"vol\": {}, \"file-system\": {}, \"directory\": \"d\", "
                 "\"benchmarks\": [{\"benchmark\": \"write\", \"configuration\": {\"DIM_1\": "
                 "null}}]}",
                 "'benchmarks.0.configuration.DIM_1' is null: give a value");
    refuses_file("{\"mpi\": {\"command\": \"mpirun\",\n\"ranks\": null}, \"vol\": {}, "
                 "\"file-system\": {}, \"directory\": \"d\", \"benchmarks\": [{}]}",
                 ":2:1: 'mpi.ranks' is null");
    refuses_file("{" MPI ", \"vol\": {\"path\": [\"a\", null]}, \"file-system\": {}, "
                 "\"directory\": \"d\", \"benchmarks\": [{}]}",
                 ": 'vol.path' is null");
    refuses_file("{" MPI ", \"vol\": {}, \"file-system\": {\"lustre\": null}, "
                 "\"directory\": \"d\", \"benchmarks\": [{}]}",
                 ": 'file-system.lustre' is null");
    refuses_file("{" MPI ", \"vol\": {}, \"file-system\": {\"lustre\": {\"stripe-size\": \"x\"}}, "
                 "\"directory\": \"d\", \"benchmarks\": [{}]}",
                 "stripe-size: 'x'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_chains),
        cmocka_unit_test(test_launch),
        cmocka_unit_test(test_surroundings),
        cmocka_unit_test(test_connectors),
        cmocka_unit_test(test_logs),
        cmocka_unit_test(test_what_cannot_be_done),
        cmocka_unit_test(test_filter),
        cmocka_unit_test(test_metadata),
        cmocka_unit_test(test_filtered_chain),
        cmocka_unit_test(test_past),
        cmocka_unit_test(test_applications),
        cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_macsio),
        cmocka_unit_test(test_exerciser),
        cmocka_unit_test(test_e3sm),
        cmocka_unit_test(test_wrong_files),
        cmocka_unit_test(test_maps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
