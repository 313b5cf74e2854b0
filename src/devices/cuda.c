/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Devices of NVIDIA. The driver and NVRTC are opened at run time (cuda/library.h), kernels are
 * compiled when they are first used, for the device at hand and without contracted multiply-adds:
 * their results are the host's to the last bit. All ranks use the primary context of their device.
 *
 * Not here: managed memory, which hides the copies that tutti measures, and graphs. */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mix.h"
#include "base/note.h"
#include "devices/cuda/library.h"
#include "devices/device.h"
#include "io/module.h"

struct cuda_opts {
    char *nvrtc;
};

#define AT(member) offsetof(struct cuda_opts, member)
static const struct tt_param params[] = {
    {"nvrtc", TT_PARAM_TEXT, AT(nvrtc), NULL, NULL,
     "the library that compiles kernels; default: looked for in CUDA_HOME, in CUDA_PATH, as the "
     "linker does, and in /usr/local/cuda",
     .placeholder = "FILE"},
    {NULL},
};

/* A source that was compiled, and a function of one. */
#define MOST_SOURCES 16
#define MOST_FUNCTIONS 64
struct compiled {
    const char *source;
    cu_module module;
};
struct function {
    const struct tt_kernel *kernel;
    cu_function function;
};

struct cuda {
    const struct tt_cuda_library *l;
    cu_device device;
    cu_context context;
    cu_stream streams[TT_NSTREAMS];
    int major, minor;
    char bus[32];
    nvml_device nvml;
    pthread_mutex_t compiling;
    unsigned nsources, nfunctions;
    struct compiled sources[MOST_SOURCES];
    struct function functions[MOST_FUNCTIONS];
};

struct tt_device_event {
    cu_event event;
};

/* Any thread may call, and another library of the thread may have made its own context current. */
static int make_current(const struct cuda *c, struct tt_error *e)
{
    return c->context
               ? tt__cuda_check(c->l, c->l->cuCtxSetCurrent(c->context), "cuCtxSetCurrent", e)
               : TT_OK;
}

/* A call of the driver may never return: whoever looks for who is stuck shall see it. */
static _Thread_local uint64_t noted;

static int begin_call(const struct cuda *c, struct tt_error *e)
{
    int rc;

    noted = tt_note_begin(TT_DOING_DEVICE, 0);
    rc = make_current(c, e);
    if (rc != TT_OK)
        tt_note_end(noted);
    return rc;
}

static int end_call(const struct cuda *c, cu_result rc, const char *call, struct tt_error *e)
{
    tt_note_end(noted);
    return tt__cuda_check(c->l, rc, call, e);
}

#define CHECK(call, ...) \
    (begin_call(c, e) == TT_OK ? end_call(c, c->l->call(__VA_ARGS__), #call, e) : e->code)

/* For what gives something back: it cannot fail. */
static struct cuda *enter(struct tt_device *d)
{
    struct tt_error ignored = TT_ERROR_CLEAR;

    make_current(d->state, &ignored);
    return d->state;
}

/* ---- finding and opening ---- */

static int cuda_count(const void *opts, unsigned *n, struct tt_error *e)
{
    const struct cuda_opts *o = opts;
    const struct tt_cuda_library *l;
    int rc = tt__cuda_library(o->nvrtc, &l, e), found = 0;

    if (rc == TT_OK)
        rc = tt__cuda_check(l, l->cuDeviceGetCount(&found), "cuDeviceGetCount", e);
    if (rc == TT_OK && found == 0)
        rc = tt__cuda_no_device(e);
    *n = (unsigned)found;
    return rc;
}

/* Of "0000:06:00.0". */
static uint64_t bus_number(const char *text)
{
    unsigned domain = 0, bus = 0, device = 0;

    return sscanf(text, "%x:%x:%x", &domain, &bus, &device) == 3
               ? (uint64_t)domain << 13 | bus << 5 | device
               : 0;
}

static void cuda_place(const void *opts, unsigned number, char out[TT_DEVICE_PLACE])
{
    const struct cuda_opts *o = opts;
    struct tt_error ignored = TT_ERROR_CLEAR;
    const struct tt_cuda_library *l;
    cu_device device;

    if (tt__cuda_library(o->nvrtc, &l, &ignored) != TT_OK ||
        l->cuDeviceGet(&device, (int)number) != 0 ||
        l->cuDeviceGetPCIBusId(out, TT_DEVICE_PLACE, device) != 0)
        *out = '\0';
}

/* Parts of a GPU (MIG) share its place, but have numbers and names of their own. NVML is asked
 * about the part, or about nothing. */
static void identify(struct tt_device *d, struct cuda *c)
{
    struct cu_uuid uuid;
    bool known = c->l->cuDeviceGetUuid_v2 && c->l->cuDeviceGetUuid_v2(&uuid, c->device) == 0;
    const unsigned char *b = uuid.bytes;
    char text[64];

    d->is_part = strstr(d->name, " MIG ");
    d->id = bus_number(c->bus);
    for (size_t i = 0; known && i < sizeof uuid.bytes; i++)
        d->id = tt_mix(d->id + b[i]);
    if (!c->l->has_nvml)
        return;
    if (!d->is_part) {
        if (c->l->nvmlDeviceGetHandleByPciBusId_v2(c->bus, &c->nvml) != 0)
            c->nvml = NULL;
        return;
    }
    if (known)
        snprintf(text, sizeof text,
                 "MIG-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
                 b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
                 b[14], b[15]);
    if (!known || c->l->nvmlDeviceGetHandleByUUID(text, &c->nvml) != 0)
        c->nvml = NULL;
}

static int describe(struct tt_device *d, struct cuda *c, struct tt_error *e)
{
    int processors = 0, pitch = 0;
    int rc = CHECK(cuDeviceGet, &c->device, (int)d->number);

    if (rc == TT_OK)
        rc = CHECK(cuDeviceGetName, d->name, sizeof d->name, c->device);
    if (rc == TT_OK)
        rc = CHECK(cuDeviceGetAttribute, &processors, CU_MULTIPROCESSORS, c->device);
    if (rc == TT_OK)
        rc = CHECK(cuDeviceGetAttribute, &pitch, CU_MAX_PITCH, c->device);
    if (rc == TT_OK)
        rc = CHECK(cuDeviceGetAttribute, &c->major, CU_MAJOR, c->device);
    if (rc == TT_OK)
        rc = CHECK(cuDeviceGetAttribute, &c->minor, CU_MINOR, c->device);
    if (rc == TT_OK)
        rc = CHECK(cuDeviceGetPCIBusId, c->bus, sizeof c->bus, c->device);
    d->multiprocessors = (unsigned)processors;
    d->longest_row = (size_t)pitch;
    if (rc == TT_OK)
        identify(d, c);
    return rc;
}

static void cuda_close(struct tt_device *d)
{
    struct cuda *c = enter(d);

    for (unsigned i = 0; i < c->nsources; i++)
        c->l->cuModuleUnload(c->sources[i].module);
    for (int i = 0; i < TT_NSTREAMS; i++)
        if (c->streams[i])
            c->l->cuStreamDestroy_v2(c->streams[i]);
    if (c->context)
        c->l->cuDevicePrimaryCtxRelease_v2(c->device);
    pthread_mutex_destroy(&c->compiling);
}

static int cuda_open(struct tt_device *d, struct tt_error *e)
{
    const struct cuda_opts *o = d->opts;
    struct cuda *c = d->state;
    int rc = tt__cuda_library(o->nvrtc, &c->l, e);

    if (rc == TT_OK)
        rc = describe(d, c, e);
    if (rc != TT_OK)
        return rc;
    if (!getenv("CUDA_MPS_PIPE_DIRECTORY") && access("/tmp/nvidia-mps", F_OK) != 0)
        snprintf(d->caution, sizeof d->caution,
                 "without MPS, kernels of different ranks take turns");
    pthread_mutex_init(&c->compiling, NULL);
    rc = CHECK(cuDevicePrimaryCtxRetain, &c->context, c->device);
    /* Halos before what computes: it is short, and others wait for it. */
    for (int i = 0; rc == TT_OK && i < TT_NSTREAMS; i++)
        rc = CHECK(cuStreamCreateWithPriority, &c->streams[i], CU_STREAM_NON_BLOCKING,
                   i == TT_STREAM_HALO ? -1 : 0);
    if (rc != TT_OK)
        cuda_close(d);
    return rc;
}

/* ---- memory ---- */

static int cuda_allocate(struct tt_device *d, size_t bytes, void **out, struct tt_error *e)
{
    struct cuda *c = d->state;
    size_t left = 0, all = 0;
    cu_pointer data = 0;
    cu_result failed;

    if (make_current(c, e) != TT_OK)
        return e->code;
    failed = c->l->cuMemAlloc_v2(&data, bytes ? bytes : 1);
    if (failed == CU_OUT_OF_MEMORY && c->l->cuMemGetInfo_v2(&left, &all) == 0)
        return tt_fail(e, TT_NOMEM,
                       "device %u (%s) has %.1f of %.1f MiB left, and %.1f MiB are needed: use "
                       "fewer ranks per device or less data",
                       d->number, d->name, (double)left / 1048576, (double)all / 1048576,
                       (double)bytes / 1048576);
    *out = (void *)(uintptr_t)data;
    return tt__cuda_check(c->l, failed, "cuMemAlloc", e);
}

static void cuda_release(struct tt_device *d, void *data)
{
    enter(d)->l->cuMemFree_v2((cu_pointer)(uintptr_t)data);
}

static int cuda_pin(struct tt_device *d, size_t bytes, void **out, struct tt_error *e)
{
    struct cuda *c = d->state;
    cu_result failed;

    if (make_current(c, e) != TT_OK)
        return e->code;
    failed = c->l->cuMemHostAlloc(out, bytes ? bytes : 1, 0);
    if (failed == 0)
        return TT_OK;
    return tt_fail(e, failed == CU_OUT_OF_MEMORY ? TT_NOMEM : TT_FAILED,
                   "device cuda: the host cannot pin %.1f MiB of its memory: cuMemHostAlloc: %s "
                   "(error %d)",
                   (double)bytes / 1048576, tt__cuda_text(c->l, failed), failed);
}

static void cuda_unpin(struct tt_device *d, void *data)
{
    enter(d)->l->cuMemFreeHost(data);
}

static int cuda_clear(struct tt_device *d, enum tt_device_stream stream, void *data, size_t bytes,
                      struct tt_error *e)
{
    struct cuda *c = d->state;

    return CHECK(cuMemsetD8Async, (cu_pointer)(uintptr_t)data, 0, bytes, c->streams[stream]);
}

static struct cu_copy_side side(const void *data, bool in_device, size_t row, size_t slice)
{
    struct cu_copy_side s = {.kind = in_device ? CU_IN_DEVICE : CU_IN_HOST,
                             .pitch = row,
                             .height = row ? slice / row : 0};

    if (in_device)
        s.device = (cu_pointer)(uintptr_t)data;
    else
        s.host = (void *)data;
    return s;
}

static int cuda_copy(struct tt_device *d, enum tt_device_stream stream,
                     const struct tt_device_copy *x, struct tt_error *e)
{
    struct cuda *c = d->state;
    struct cu_copy_3d copy = {
        .from = side(x->from, x->direction != TT_TO_DEVICE, x->from_row, x->from_slice),
        .to = side(x->to, x->direction != TT_FROM_DEVICE, x->to_row, x->to_slice),
        .width = x->width,
        .height = x->height,
        .depth = x->depth};

    if (x->height == 1 && x->depth == 1)
        return CHECK(cuMemcpyAsync, (cu_pointer)(uintptr_t)x->to, (cu_pointer)(uintptr_t)x->from,
                     x->width, c->streams[stream]);
    return CHECK(cuMemcpy3DAsync_v2, &copy, c->streams[stream]);
}

/* ---- kernels ---- */

/* The first line that is an error. */
static int fail_compile(const struct cuda *c, nvrtc_program program, struct tt_error *e)
{
    size_t size = 0;
    char *log = NULL, *line;
    int rc;

    if (c->l->nvrtcGetProgramLogSize(program, &size) == 0 && size > 1)
        log = calloc(1, size + 1);
    if (log && c->l->nvrtcGetProgramLog(program, log) != 0)
        *log = '\0';
    line = log ? strstr(log, "error") : NULL;
    if (line)
        line[strcspn(line, "\n")] = '\0';
    rc = tt_fail(e, TT_FAILED,
                 "device cuda: NVRTC %d.%d does not compile the kernels for compute capability "
                 "%d.%d: %.200s",
                 c->l->nvrtc_major, c->l->nvrtc_minor, c->major, c->minor,
                 line ? line : "it does not say why");
    free(log);
    return rc;
}

static int check_nvrtc(const struct cuda *c, cu_result rc, const char *call, struct tt_error *e)
{
    return rc == 0 ? TT_OK
                   : tt_fail(e, TT_FAILED, "device cuda: %s of NVRTC %d.%d: error %d", call,
                             c->l->nvrtc_major, c->l->nvrtc_minor, rc);
}
#define NVRTC(call, ...) check_nvrtc(c, c->l->call(__VA_ARGS__), #call, e)

/* The newest architecture that NVRTC knows and the device can run, as 10 times its capability; the
 * device's own if that cannot be found out. */
static int choose_architecture(const struct cuda *c)
{
    int own = 10 * c->major + c->minor, n = 0, best = 0, *known;

    if (!c->l->has_archs || c->l->nvrtcGetNumSupportedArchs(&n) != 0 || n < 1)
        return own;
    known = calloc((size_t)n, sizeof *known);
    if (known && c->l->nvrtcGetSupportedArchs(known) == 0)
        for (int i = 0; i < n; i++)
            if (known[i] <= own && known[i] > best)
                best = known[i];
    free(known);
    return best ? best : own;
}

static int load(struct cuda *c, const char *image, cu_module *out, struct tt_error *e)
{
    cu_result rc;

    if (make_current(c, e) != TT_OK)
        return e->code;
    rc = c->l->cuModuleLoadData(out, image);
    if (rc != CU_INVALID_IMAGE && rc != CU_NO_BINARY_FOR_GPU && rc != CU_INVALID_PTX &&
        rc != CU_UNSUPPORTED_PTX_VERSION)
        return tt__cuda_check(c->l, rc, "cuModuleLoadData", e);
    return tt_fail(e, TT_UNSUPPORTED,
                   "device cuda: the driver, for CUDA %d.%d, refuses kernels that NVRTC %d.%d has "
                   "compiled: %s (error %d); give NVRTC of CUDA %d or older with --cuda.nvrtc, or "
                   "update the driver",
                   c->l->driver_version / 1000, c->l->driver_version % 1000 / 10, c->l->nvrtc_major,
                   c->l->nvrtc_minor, tt__cuda_text(c->l, rc), rc, c->l->driver_version / 1000);
}

/* A program for the device, or where NVRTC is older than that, PTX, which the driver translates. */
static int compile(struct cuda *c, const char *source, cu_module *out, struct tt_error *e)
{
    int known = choose_architecture(c);
    bool own = known == 10 * c->major + c->minor;
    char architecture[48];
    const char *options[] = {architecture, "--fmad=false", "--std=c++17"};
    nvrtc_program program;
    char *image = NULL;
    size_t size = 0;
    int rc;

    snprintf(architecture, sizeof architecture, "--gpu-architecture=%s_%d", own ? "sm" : "compute",
             known);
    rc = NVRTC(nvrtcCreateProgram, &program, source, "tutti.cu", 0, NULL, NULL);
    if (rc != TT_OK)
        return rc;
    if (c->l->nvrtcCompileProgram(program, sizeof options / sizeof *options, options) != 0)
        rc = fail_compile(c, program, e);
    if (rc == TT_OK)
        rc =
            own ? NVRTC(nvrtcGetCUBINSize, program, &size) : NVRTC(nvrtcGetPTXSize, program, &size);
    if (rc == TT_OK && !(image = malloc(size)))
        rc = tt_fail_nomem(e, "a program for the device");
    if (rc == TT_OK)
        rc = own ? NVRTC(nvrtcGetCUBIN, program, image) : NVRTC(nvrtcGetPTX, program, image);
    c->l->nvrtcDestroyProgram(&program);
    if (rc == TT_OK)
        rc = load(c, image, out, e);
    free(image);
    return rc;
}

static int find_module(struct cuda *c, const char *source, cu_module *out, struct tt_error *e)
{
    int rc;

    for (unsigned i = 0; i < c->nsources; i++)
        if (c->sources[i].source == source) {
            *out = c->sources[i].module;
            return TT_OK;
        }
    if (c->nsources == MOST_SOURCES)
        return tt_fail(e, TT_FAILED, "device cuda: more than %d sources of kernels", MOST_SOURCES);
    rc = compile(c, source, out, e);
    if (rc == TT_OK)
        c->sources[c->nsources++] = (struct compiled){source, *out};
    return rc;
}

static int find_function(struct cuda *c, const struct tt_kernel *kernel, cu_function *out,
                         struct tt_error *e)
{
    cu_module module;
    int rc;

    for (unsigned i = 0; i < c->nfunctions; i++)
        if (c->functions[i].kernel == kernel) {
            *out = c->functions[i].function;
            return TT_OK;
        }
    if (c->nfunctions == MOST_FUNCTIONS)
        return tt_fail(e, TT_FAILED, "device cuda: more than %d kernels", MOST_FUNCTIONS);
    rc = find_module(c, kernel->source, &module, e);
    if (rc == TT_OK)
        rc = CHECK(cuModuleGetFunction, out, module, kernel->name);
    if (rc == TT_OK)
        c->functions[c->nfunctions++] = (struct function){kernel, *out};
    return rc;
}

static int find_for(struct cuda *c, const struct tt_kernel *kernel, cu_function *out,
                    struct tt_error *e)
{
    int rc;

    pthread_mutex_lock(&c->compiling);
    rc = find_function(c, kernel, out, e);
    pthread_mutex_unlock(&c->compiling);
    return rc;
}

/* The driver loads a function when it is asked for it. */
static int cuda_prepare(struct tt_device *d, const struct tt_kernel *kernel, struct tt_error *e)
{
    struct cuda *c = d->state;
    cu_function unused;

    if (make_current(c, e) != TT_OK)
        return e->code;
    return find_for(c, kernel, &unused, e);
}

static int cuda_launch(struct tt_device *d, enum tt_device_stream stream,
                       const struct tt_kernel *kernel, const struct tt_kernel_grid *how,
                       const void *arguments, struct tt_error *e)
{
    struct cuda *c = d->state;
    void *list[] = {(void *)arguments};
    cu_function function;
    int rc = find_for(c, kernel, &function, e);

    if (rc != TT_OK)
        return rc;
    return CHECK(cuLaunchKernel, function, how->grid[0], how->grid[1], how->grid[2], how->block[0],
                 how->block[1], how->block[2], 0, c->streams[stream], list, NULL);
}

/* ---- events ---- */

static int cuda_make_event(struct tt_device *d, struct tt_device_event **out, struct tt_error *e)
{
    struct cuda *c = d->state;
    struct tt_device_event *event = calloc(1, sizeof *event);
    int rc = event ? CHECK(cuEventCreate, &event->event, CU_BLOCKING_SYNC)
                   : tt_fail_nomem(e, "an event");

    if (rc != TT_OK) {
        free(event);
        event = NULL;
    }
    *out = event;
    return rc;
}

static void cuda_free_event(struct tt_device *d, struct tt_device_event *event)
{
    enter(d)->l->cuEventDestroy_v2(event->event);
    free(event);
}

static int cuda_record(struct tt_device *d, struct tt_device_event *event,
                       enum tt_device_stream stream, struct tt_error *e)
{
    struct cuda *c = d->state;

    return CHECK(cuEventRecord, event->event, c->streams[stream]);
}

static int cuda_follow(struct tt_device *d, enum tt_device_stream stream,
                       struct tt_device_event *event, struct tt_error *e)
{
    struct cuda *c = d->state;

    return CHECK(cuStreamWaitEvent, c->streams[stream], event->event, 0);
}

static int cuda_await(struct tt_device *d, struct tt_device_event *event, struct tt_error *e)
{
    struct cuda *c = d->state;

    return CHECK(cuEventSynchronize, event->event);
}

static int cuda_drain(struct tt_device *d, enum tt_device_stream stream, struct tt_error *e)
{
    struct cuda *c = d->state;

    return CHECK(cuStreamSynchronize, c->streams[stream]);
}

static int cuda_elapsed(struct tt_device *d, struct tt_device_event *from,
                        struct tt_device_event *to, double *seconds, struct tt_error *e)
{
    struct cuda *c = d->state;
    float milliseconds = 0;
    int rc = CHECK(cuEventElapsedTime, &milliseconds, from->event, to->event);

    *seconds = (double)milliseconds / 1e3;
    return rc;
}

/* ---- what is known of it ---- */

/* Open MPI, MPICH and MVAPICH have the function, if they have it, under the same name. */
static bool cuda_mpi_says(void)
{
    int (*ask)(void);

    *(void **)&ask = dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support");
    return ask && ask() == 1;
}

static void cuda_usage(struct tt_device *d, struct tt_device_usage *out)
{
    const struct cuda *c = d->state;
    struct nvml_utilization busy;
    struct nvml_memory memory;

    *out = (struct tt_device_usage){.utilisation = NAN};
    if (!c->nvml)
        return;
    if (c->l->nvmlDeviceGetUtilizationRates(c->nvml, &busy) == 0)
        out->utilisation = busy.gpu / 100.0;
    if (c->l->nvmlDeviceGetMemoryInfo(c->nvml, &memory) == 0)
        out->memory_used = memory.used;
}

static int cuda_query(struct tt_device *d, struct tt_facts *facts, struct tt_error *e)
{
    const struct cuda *c = d->state;
    char text[128];

    snprintf(text, sizeof text, "%.40s, %s%.16s, compute capability %d.%d", d->name,
             d->is_part ? "part of the GPU " : "", c->bus, c->major, c->minor);
    if (tt_facts_add(facts, "cuda.device", NULL, text, TT_IN_EFFECT, "the driver says so") != TT_OK)
        return tt_fail_nomem(e, "facts");
    snprintf(text, sizeof text, "driver for CUDA %d.%d, NVRTC %d.%d", c->l->driver_version / 1000,
             c->l->driver_version % 1000 / 10, c->l->nvrtc_major, c->l->nvrtc_minor);
    if (tt_facts_add(facts, "cuda.libraries", NULL, text, TT_IN_EFFECT, c->l->nvrtc_path) != TT_OK)
        return tt_fail_nomem(e, "facts");
    return TT_OK;
}

extern const struct tt_device_type tt_device_cuda;
const struct tt_device_type tt_device_cuda = {
    .name = "cuda",
    .summary = "devices of NVIDIA, by their driver and NVRTC",
    .state_size = sizeof(struct cuda),
    .opts_size = sizeof(struct cuda_opts),
    .params = params,
    .count = cuda_count,
    .place = cuda_place,
    .open = cuda_open,
    .close = cuda_close,
    .allocate = cuda_allocate,
    .release = cuda_release,
    .pin = cuda_pin,
    .unpin = cuda_unpin,
    .clear = cuda_clear,
    .copy = cuda_copy,
    .launch = cuda_launch,
    .prepare = cuda_prepare,
    .make_event = cuda_make_event,
    .free_event = cuda_free_event,
    .record = cuda_record,
    .follow = cuda_follow,
    .await = cuda_await,
    .drain = cuda_drain,
    .elapsed = cuda_elapsed,
    .mpi_says = cuda_mpi_says,
    .usage = cuda_usage,
    .query = cuda_query,
};
TT_MODULE(.device = &tt_device_cuda);
