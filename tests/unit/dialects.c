/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options of IOR and mdtest become settings; what cannot be done is refused with its reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/notice.h"
#include "spec/dialects/ior.h"
#include "spec/dialects/mdtest.h"

static const struct tt_param job[] = {{"ranks", TT_PARAM_COUNT, .flag = "-n"}, {0}};

struct translation {
    struct tt_ior_tests tests; /* also mdtest's */
    struct tt_error error;
    int rc;
};

static char notes[1024];

static void note(const char *text)
{
    size_t n = strlen(notes);

    snprintf(notes + n, sizeof notes - n, "%s\n", text);
}

static int mdtest(const void *opts, const struct tt_settings *own, struct tt_ior_tests *tests,
                  struct tt_error *e)
{
    struct tt_mdtest_tests made = {0};
    int rc = tt_mdtest_translate(opts, own, &made, e);

    tests->list = made.list;
    tests->n = made.n;
    return rc;
}

/* The first word of a line is the dialect. */
static struct translation translate(const char *line)
{
    struct translation t = {.error = TT_ERROR_CLEAR};
    bool is_ior = !strncmp(line, "ior", 3);
    const struct tt_options *options = is_ior ? &tt_ior_options : &tt_mdtest_options;
    char *copy = strdup(line), *rest = copy, *words[32] = {0};
    struct tt_settings own = {0};
    struct tt_arguments a = {.command = strsep(&rest, " "),
                             .options = options,
                             .opts = calloc(1, options->size),
                             .job = job,
                             .settings = &own};
    int n = 0;

    notes[0] = '\0';
    for (char *word; (word = strsep(&rest, " "));)
        words[n++] = word;
    t.rc = tt_params_default(options->params, a.opts, &t.error);
    if (t.rc == TT_OK)
        t.rc = tt_read_arguments(n, words, &a, &t.error);
    if (t.rc == TT_OK)
        t.rc = (is_ior ? tt_ior_translate(a.opts, &own, &t.tests, &t.error)
                       : mdtest(a.opts, &own, &t.tests, &t.error));
    tt_settings_free(&own);
    tt_params_free(options->params, a.opts);
    free(a.opts);
    free(copy);
    return t;
}

static void gives(const char *line, const char *key, const char *expected)
{
    struct translation t = translate(line);
    const struct tt_setting *s;

    if (t.rc != TT_OK)
        fail_msg("%s: %s", line, t.error.text);
    s = tt_settings_find(&t.tests.list[0], key);
    assert_string_equal(expected, s && s->value ? s->value : "(none)");
    tt_ior_free(&t.tests);
}

static void refuses(const char *line, const char *why)
{
    struct translation t = translate(line);

    assert_int_equal(TT_USAGE, t.rc);
    if (!strstr(t.error.text, why))
        fail_msg("%s: '%s' does not say '%s'", line, t.error.text, why);
    tt_ior_free(&t.tests);
}

static void options_of_ior(void **state)
{
    (void)state;
    gives("ior", "bulk.block", "1048576");
    gives("ior", "bulk.write", "yes");
    gives("ior -b 4k", "bulk.block", "4096");
    gives("ior -b4k", "bulk.block", "4096");
    gives("ior -b=4k", "bulk.block", "4096");
    gives("ior --blockSize=4k", "bulk.block", "4096");
    gives("ior -blocksize 4k", "bulk.block", "4096");
    gives("ior -O blockSize=4k,filePerProc=1", "bulk.files", "process");
    gives("ior -O filePerProc=1 -O filePerProc=0", "bulk.files", "shared");
    gives("ior -b 8k -b 4k", "bulk.block", "4096");
    gives("ior -rzz", "bulk.order", "repeated");
    gives("ior -O allocateBufferOnGPU=3", "device", "cuda");
    gives("ior -O allocateBufferOnGPU=3,GPUid=1", "device.map", "1");
    gives("ior -O allocateBufferOnGPU=3,GPUid=-1", "device.map", "(none)");
    gives("ior -rzz", "bulk.write", "no");
    gives("ior -ZZ", "bulk.reorder", "permutation");
    gives("ior -X -5", "bulk.reorder_anew", "yes");
    gives("ior -X -5", "bulk.reorder_seed", "5");
    gives("ior -a MPIIO -c", "mpiio.method", "collective");
    gives("ior -o /a/b,c@/d/e", "bulk.paths", "/a/b\\,c,/d/e");
    gives("ior -o /a/b@/d/e", "dir", "/a");
    gives("ior -n 3", "-n", "3");
    gives("ior --max-bytes 1g", "max-bytes", "1g");
    gives("ior -T 2 --max-time 5s", "max-time", "5s");
    refuses("ior -b", "option -b needs a value: -b SIZE");
    refuses("ior -b 1x", "-b: '1x'");
    gives("ior -N 4", "ranks", "4");
    gives("ior -A 7", "label", "7");
    gives("ior -a HDF5 -J 1m", "hdf5.alignment", "1m");
    gives("ior -a HDF5 -O hdf5.chunkSize=100", "hdf5.chunk", "800");
    gives("ior -a MMAP --mmap.madv_pattern -z", "mmap.advice", "random");
    gives("ior -a DUMMY -r", "backend", "discard");
    gives("ior -B", "posix.odirect", "yes");
    gives("ior -O storeFileOffset=1", "bulk.data", "offset");
    gives("ior --dryRun", "dry_run", "yes");
    gives("ior -n -w", "-n", "(none)"); /* without a number it is noFill */
    refuses("ior -h5", "-h is not an option that tutti ior knows");
    refuses("ior -O filePerProc=2", "-O: '2' is not");
    refuses("ior -O blokSize=1m", "did you mean 'blockSize'");
    refuses("ior -O blockSize", "blockSize needs a value");
    refuses("ior -X x", "-X: ");
    refuses("ior file", "unexpected word 'file'");
    refuses("ior -a S3", "is not one of POSIX");
}

static void script_of_ior(void **state)
{
    char path[] = "/tmp/tutti-unit-XXXXXX", line[64];
    int fd = mkstemp(path);
    struct translation t;

    (void)state;
    assert_true(fd >= 0);
    assert_true(dprintf(fd, "IOR START\n blockSize = 8k # a comment\nRUN\nfilePerProc\nRUN\n"
                            "IOR STOP\ngarbage\n") > 0);
    snprintf(line, sizeof line, "ior -f %s --keep", path);
    t = translate(line);
    assert_int_equal(TT_OK, t.rc);
    assert_int_equal(2, t.tests.n);
    assert_string_equal("shared", tt_settings_find(&t.tests.list[0], "bulk.files")->value);
    assert_string_equal("process", tt_settings_find(&t.tests.list[1], "bulk.files")->value);
    assert_null(tt_settings_find(&t.tests.list[1], "keep")->value); /* as on the command line */
    tt_ior_free(&t.tests);
    close(fd);
    unlink(path);
}

static void options_of_mdtest(void **state)
{
    (void)state;
    gives("mdtest -n 20 -I 5", "metadata.items", "20");
    gives("mdtest -n20", "metadata.items", "20");
    gives("mdtest", "metadata.what", "both");
    gives("mdtest", "metadata.rename", "yes");
    gives("mdtest -F", "metadata.what", "files");
    gives("mdtest -FLu -b 3", "metadata.branch", "3");
    gives("mdtest -FLu", "metadata.leaves_only", "yes");
    gives("mdtest -C", "metadata.stat", "no");
    gives("mdtest -C", "keep", "yes");
    gives("mdtest -CTEr", "keep", "(none)");
    gives("mdtest -R7", "seed", "7");
    gives("mdtest -R7", "metadata.shuffle", "yes");
    gives("mdtest -RF", "metadata.what", "files");
    gives("mdtest -R", "seed", "(none)");
    gives("mdtest -d /x", "dir", "/x");
    gives("mdtest -d /x --dir /y", "dir", "/y");
    gives("mdtest -w 1k --ranks 2", "ranks", "2");
    gives("mdtest -S", "metadata.what", "files");
    gives("mdtest -S", "metadata.shared", "yes");
    gives("mdtest -k", "metadata.mknod", "yes");
    gives("mdtest", "metadata.check", "no");
    gives("mdtest -X", "metadata.check", "yes");
    gives("mdtest --verify-read", "metadata.check", "yes");
    gives("mdtest --verify-write", "metadata.check_write", "yes");
    gives("mdtest -R --random-seed=9", "seed", "9");
    gives("mdtest -R --random-seed 9", "seed", "9");
    gives("mdtest -G 5", "metadata.signature", "5");
    gives("mdtest -a DUMMY", "backend", "discard");
    gives("mdtest -CUr -D", "metadata.rename", "yes");
    gives("mdtest -Cr -D", "metadata.rename", "(none)");
    gives("mdtest -l 4 -f 2 -s 2", "metadata.tasks", "2");
    gives("mdtest -f 2", "metadata.tasks", "(none)"); /* as mdtest has it: -l decides */
    refuses("mdtest -f 3 -l 2", "-f 3 is more than -l 2");
    refuses("mdtest -l 100000", "more than 10000 tests");
    refuses("mdtest -CU", "add -r");
    refuses("mdtest -d /a@/b", "name one");
    refuses("mdtest -a S3", "-a: 'S3'");
    refuses("mdtest -n", "option -n needs a value: -n ITEMS");
}

/* Every option of the manuals: mdtest.1 and `mdtest -h`; IOR's options.rst and `ior -h`, with those
 * of the interfaces that tutti has. taken: without a word; else a part of the note or the error. */
struct manual_row {
    const char *line, *note, *refusal;
};
static const struct manual_row manual[] = {
    {"ior -a POSIX -b 1m -t 1m -s 2 -i 2 -o /x", NULL, NULL},
    {"ior -w -r -W -R -k -K -e -Y -g -F -u -m", NULL, NULL},
    {"ior -a MPIIO -c", NULL, NULL},
    {"ior -c", "-c has no effect on POSIX", NULL},
    {"ior -C -Q 2 -D 3 -T 1 -G 4 -l i -M 1g -v", NULL, NULL},
    {"ior -z -F -Z -X 3", NULL, NULL},
    {"ior -A 1 -B -E -N 2 -J 1", "-J has no effect on POSIX", NULL},
    {"ior -vvvv", "-vvv is the most", NULL},
    {"ior -d 3", "-d has no effect: tests follow each other at once", NULL},
    {"ior -d 0", NULL, NULL},
    {"ior -H", "-H has no effect: hints are in every result", NULL},
    {"ior -I", "-I has no effect", NULL},
    {"ior -j 5", "-j has no effect: stragglers", NULL},
    {"ior -n", "-n has no effect: datasets are never filled", NULL},
    {"ior -wqx", "-q has no effect: every error ends the run", NULL},
    {"ior -x", "-x has no effect: transfers", NULL},
    {"ior -p", NULL, "-p: files are not preallocated"},
    {"ior -P", NULL, "-P: there are no shared file pointers"},
    {"ior -S", NULL, "-S: transfers are made at explicit offsets"},
    {"ior -U hints", "-U has no effect on POSIX", NULL},
    {"ior -V", NULL, "-V: transfers are made at explicit offsets"},
    {"ior -y", NULL, "-y: there is one mount point"},
    {"ior -O stoneWallingWearOut=1,stoneWallingStatusFile=/x,summaryFormat=CSV,summaryFile=/x",
     NULL, NULL},
    {"ior -O stoneWallingWearOutIterations=5", NULL, "stoneWallingStatusFile"},
    {"ior -O stoneWallingWearOutIterations=0,minTimeDuration=0,allocateBufferOnGPU=0", NULL, NULL},
    {"ior -O minTimeDuration=5", NULL, "minTimeDuration: a file is written once"},
    {"ior -O allocateBufferOnGPU=1", "buffers are in the GPU's own memory", NULL},
    {"ior -O allocateBufferOnGPU=4", NULL, "0 to 3"},
    {"ior -O GPUid=2,checkRead=1 -G 1", "GPUid has no effect", NULL},
    {"ior --gpuDirect", NULL, "--gpuDirect: GPUDirect Storage is not tested yet"},
    {"ior -O refNum=3,reorderTasksConstant=1,taskPerNodeOffset=1,useO_DIRECT=1", NULL, NULL},
    {"ior -O platform=x,debug=y", "debug has no effect", NULL},
    {"ior -O numNodes=1,numTasksOnNode0=1", "numTasksOnNode0 has no effect", NULL},
    {"ior -O numTasks=0,quitOnError=0,singleXferAttempt=0,individualDataSets=0,showHelp=0", NULL,
     NULL},
    {"ior -O summaryAlways=1", "summaryAlways has no effect", NULL},
    {"ior --warningAsErrors", "--warningAsErrors has no effect", NULL},
    {"ior -O saveRankPerformanceDetailsCSV=/x", "ranks are in the run directory", NULL},
    {"ior -O savePerOpDataCSV=/x", "calls are in the run directory", NULL},
    {"ior -O interIODelay=5", NULL, "interIODelay: time that is not spent in transfers"},
    {"ior -O memoryPerTask=1g", NULL, "memoryPerTask: use -M"},
    {"ior --randomPrefill=1m", NULL, "--randomPrefill: write the file without -z before"},
    {"ior -O hintsFileName=x", "-U has no effect on POSIX", NULL},
    {"ior --random-offset-seed=3 --dataPacketType=offset --dryRun", NULL, NULL},
    {"ior --posix.odirect", NULL, NULL},
    {"ior --posix.rangelocks", NULL, "--posix.rangelocks: transfers are made without locks"},
    {"ior --posix.lustre.stripecount=4", NULL, "a layout would change the number"},
    {"ior --posix.lustre.stripesize 1048576", NULL, "a layout would change the number"},
    {"ior --posix.lustre.startost=1", NULL, "a layout would change the number"},
    {"ior --posix.lustre.pool=a", NULL, "a layout would change the number"},
    {"ior --posix.lustre.ignorelocks", NULL, "the usual locks"},
    {"ior --posix.beegfs.NumTargets=2", NULL, "a layout would change the number"},
    {"ior --posix.beegfs.ChunkSize=1m", NULL, "a layout would change the number"},
    {"ior --posix.gpfs.hintaccess", NULL, "told nothing in advance"},
    {"ior --posix.gpfs.releasetoken=1", NULL, "told nothing in advance"},
    {"ior --posix.gpfs.finegrainwritesharing", NULL, "told nothing in advance"},
    {"ior --posix.gpfs.finegrainreadsharing", NULL, "told nothing in advance"},
    {"ior --posix.gpfs.createsharing", NULL, "told nothing in advance"},
    {"ior -a MMAP --mmap.madv_dont_need", "no page is mapped yet", NULL},
    {"ior -a MMAP --mmap.madv_pattern", NULL, NULL},
    {"ior --mmap.madv_pattern", "mmap.madv_pattern has no effect on POSIX", NULL},
    {"ior --mpiio.showHints", "hints are in every result", NULL},
    {"ior -a MPIIO --mpiio.hintsFileName=nosuch", NULL, ""},
    {"ior --mpiio.preallocate", NULL, "files are not preallocated"},
    {"ior --mpiio.useStridedDatatype", NULL, "explicit offsets"},
    {"ior --mpiio.useFileView", NULL, "explicit offsets"},
    {"ior -a HDF5 --hdf5.setAlignment=1m --hdf5.collectiveMetadata", NULL, NULL},
    {"ior -a HDF5 --hdf5.noFill", "datasets are never filled", NULL},
    {"ior -a HDF5 --hdf5.individualDataSets", "one dataset in a file", NULL},
    {"ior -a HDF5 --hdf5.showHints", "hints are in every result", NULL},
    {"ior -a HDF5 --hdf5.hintsFileName=nosuch", NULL, ""},
    {"ior -a NCMPI --ncmpi.showHints", "hints are in every result", NULL},
    {"ior -a NCMPI --ncmpi.hintsFileName=nosuch", NULL, ""},
    {"ior -a NCMPI --ncmpi.preallocate", NULL, "files are not preallocated"},
    {"ior -a NCMPI --ncmpi.useStridedDatatype", NULL, "explicit offsets"},
    {"ior -a NCMPI --ncmpi.useFileView", NULL, "explicit offsets"},
    {"ior -a DUMMY", NULL, NULL},
    {"ior -a DUMMY -R -w", NULL, "keeps nothing that could be checked"},
    {"ior -a DUMMY --dummy.delay-create=3", NULL, "time that is not spent in transfers"},
    {"ior -a DUMMY --dummy.delay-close=3", NULL, "time that is not spent in transfers"},
    {"ior -a DUMMY --dummy.delay-sync=3", NULL, "time that is not spent in transfers"},
    {"ior -a DUMMY --dummy.delay-xfer=3", NULL, "time that is not spent in transfers"},
    {"ior -a DUMMY --dummy.delay-xfer=0", NULL, NULL},
    {"ior -a DUMMY --dummy.delay-only-rank0", NULL, "time that is not spent in transfers"},
    {"ior -a CEPHFS", NULL, "is not one of POSIX"},
    {"mdtest -a POSIX -b 2 -d /x -z 3 -I 4 -i 2 -L -u", NULL, NULL},
    {"mdtest -n 3 -N 1 -e 5 -w 5 -W 1 -x /x -X -y -Y -v", NULL, NULL},
    {"mdtest -C -T -E -r -U -D -F", NULL, NULL},
    {"mdtest -f 1 -l 2 -s 1 -G 3 -k -R --random-seed=3 --verify-write", NULL, NULL},
    {"mdtest -S -F", NULL, NULL},
    {"mdtest -B", "-B has no effect: phases always begin and end with a barrier", NULL},
    {"mdtest -p 3", "-p has no effect: iterations follow", NULL},
    {"mdtest -P", "-P has no effect: rates and times", NULL},
    {"mdtest -q", "-q has no effect", NULL},
    {"mdtest -tu", "-t has no effect: making and removing", NULL},
    {"mdtest -V 3", "-V has no effect", NULL},
    {"mdtest -V0", NULL, NULL},
    {"mdtest -Z", "-Z has no effect: the summary has rates", NULL},
    {"mdtest --dataPacketType=t", "what files hold is random", NULL},
    {"mdtest --print-all-procs", "ranks are in the run directory", NULL},
    {"mdtest --showRankStatistics", "ranks are in the run directory", NULL},
    {"mdtest --saveRankPerformanceDetails=/x", "ranks are in the run directory", NULL},
    {"mdtest --savePerOpDataCSV /x", "calls are in the run directory", NULL},
    {"mdtest --warningAsErrors", "warnings are in the result", NULL},
    {"mdtest --GPUid=1", "tutti mdtest keeps its buffers in the host's memory", NULL},
    {"mdtest -c", NULL, "-c: one task would make the files of all"},
    {"mdtest -g", NULL, "-g: directories keep the layout"},
    {"mdtest --run-cmd-before-phase=x", NULL, "no commands are run between phases"},
    {"mdtest --run-cmd-after-phase=x", NULL, "no commands are run between phases"},
    {"mdtest --allocateBufferOnGPU=1", NULL, "tutti mdtest keeps its buffers in the host's memory"},
    {"mdtest --gpuDirect", NULL, "tutti mdtest keeps its buffers in the host's memory"},
    {"mdtest --posix.odirect", NULL, "through the page cache"},
    {"mdtest --posix.rangelocks", NULL, "without locks"},
    {"mdtest --posix.lustre.stripecount=2", NULL, "a layout would change the number"},
    {"mdtest --posix.lustre.stripesize=1m", NULL, "a layout would change the number"},
    {"mdtest --posix.lustre.startost=1", NULL, "a layout would change the number"},
    {"mdtest --posix.lustre.pool=a", NULL, "a layout would change the number"},
    {"mdtest --posix.beegfs.NumTargets=2", NULL, "a layout would change the number"},
    {"mdtest --posix.beegfs.ChunkSize=1m", NULL, "a layout would change the number"},
    {"mdtest -a DUMMY --dummy.delay-create=3", NULL, "time that is not spent in calls"},
    {"mdtest -a DUMMY --dummy.delay-close=3", NULL, "time that is not spent in calls"},
    {"mdtest -a DUMMY --dummy.delay-sync=3", NULL, "time that is not spent in calls"},
    {"mdtest -a DUMMY --dummy.delay-xfer=3", NULL, "time that is not spent in calls"},
    {"mdtest -a DUMMY --dummy.delay-only-rank0", NULL, "time that is not spent in calls"},
    {"mdtest --mpiio.showHints", "--mpiio.showHints has no effect", NULL},
    {"mdtest --mpiio.preallocate", "--mpiio.preallocate has no effect", NULL},
    {"mdtest --mpiio.useStridedDatatype", "--mpiio.useStridedDatatype has no effect", NULL},
    {"mdtest --mpiio.useFileView", "--mpiio.useFileView has no effect", NULL},
    {"mdtest --mpiio.hintsFileName=x", "--mpiio.hintsFileName has no effect", NULL},
    {"mdtest --hdf5.showHints", "--hdf5.showHints has no effect", NULL},
    {"mdtest --hdf5.collectiveMetadata", "--hdf5.collectiveMetadata has no effect", NULL},
    {"mdtest --hdf5.individualDataSets", "--hdf5.individualDataSets has no effect", NULL},
    {"mdtest --hdf5.noFill", "--hdf5.noFill has no effect", NULL},
    {"mdtest --hdf5.chunkSize=8", "--hdf5.chunkSize has no effect", NULL},
    {"mdtest --hdf5.hintsFileName=x", "--hdf5.hintsFileName has no effect", NULL},
    {"mdtest --hdf5.setAlignment=1m", "--hdf5.setAlignment has no effect", NULL},
    {"mdtest --mmap.madv_dont_need", "--mmap.madv_dont_need has no effect", NULL},
    {"mdtest --mmap.madv_pattern", "--mmap.madv_pattern has no effect", NULL},
    {"mdtest --warningAsErrors=0", NULL, NULL},
};

static void options_of_manuals(void **state)
{
    const struct tt_notices to = {.same = note};

    (void)state;
    tt_notices_to(&to);
    for (size_t i = 0; i < sizeof manual / sizeof *manual; i++) {
        const struct manual_row *m = &manual[i];
        struct translation t = translate(m->line);

        if ((t.rc == TT_OK) != !m->refusal)
            fail_msg("%s: %s", m->line, t.rc == TT_OK ? "is taken" : t.error.text);
        if (m->refusal && !strstr(t.error.text, m->refusal))
            fail_msg("%s: '%s' does not say '%s'", m->line, t.error.text, m->refusal);
        if (m->note ? !strstr(notes, m->note) : !m->refusal && notes[0])
            fail_msg("%s: the notes are '%s', not '%s'", m->line, notes, m->note ? m->note : "");
        tt_ior_free(&t.tests);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_of_ior),
        cmocka_unit_test(script_of_ior),
        cmocka_unit_test(options_of_mdtest),
        cmocka_unit_test(options_of_manuals),
    };

    return cmocka_run_group_tests_name("dialects", tests, NULL, NULL);
}
