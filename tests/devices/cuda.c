/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A driver of CUDA, NVRTC and NVML, for tests on machines without a GPU. Memory is the host's,
 * copies happen at once, and kernels compute nothing: they only have to be in what was compiled.
 * NVRTC passes its calls on to a real one, or takes the text for the program; it insists on the
 * options that tutti's results depend on.
 *
 * Environment: FAKE_CUDA_FAIL=CALL=CODE@N, the N-th call of that name fails with this code of CUDA,
 * and after it everything on the device, on rank FAKE_CUDA_RANK or on all; the code kill ends the
 * process instead, and hang never returns. FAKE_CUDA_VERSION, of the driver, default 13000.
 * FAKE_CUDA_MEMORY, bytes that it has. FAKE_CUDA_MIG, each rank has a part of its own of the one
 * GPU. FAKE_CUDA_CAPABILITY=90. FAKE_CUDA_BUILTINS, NVRTC opens its second library by name, as the
 * real one does. FAKE_CUDA_NVRTC=real looks for one; else FAKE_CUDA_ARCH is the only architecture
 * that NVRTC knows (default: that of the device). */
#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "devices/cuda/library.h"

#define X(name, arguments) cu_result name arguments;
CUDA_DRIVER(X)
CUDA_UUID(X)
CUDA_NVRTC(X)
CUDA_NVRTC_ARCHS(X)
CUDA_NVML(X)
#undef X

enum { OUT_OF_MEMORY = 2, NO_CONTEXT = 201, NOT_RECORDED = 400, NOT_FOUND = 500, NOT_READY = 600 };

/* Of the events that were recorded on it, so many have been waited for. */
struct cu_stream {
    long recorded, done;
};
struct cu_event {
    struct timespec at;
    cu_stream stream;
    long number; /* on its stream */
};
struct cu_module {
    size_t size;
    char image[];
};

static size_t used;
static _Thread_local cu_context current;
static int calls, lost;

/* What this call was told to return; 0: to work. */
static cu_result told(const char *name)
{
    const char *how = getenv("FAKE_CUDA_FAIL"), *mine = getenv("OMPI_COMM_WORLD_RANK");
    const char *rank = getenv("FAKE_CUDA_RANK");
    size_t length = strlen(name);

    if (lost || !how || (rank && mine && strcmp(rank, mine) != 0) ||
        strncmp(how, name, length) != 0 || how[length] != '=')
        return lost;
    if (__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) < atoi(strchr(how, '@') + 1))
        return 0;
    if (!strncmp(how + length + 1, "kill", 4))
        raise(SIGKILL);
    while (!strncmp(how + length + 1, "hang", 4))
        pause();
    lost = atoi(how + length + 1);
    return lost;
}
#define UNLESS_TOLD \
    do { \
        cu_result rc = told(__func__); \
\
        if (rc != 0) \
            return rc; \
    } while (0)
#define NEEDS_CONTEXT \
    do { \
        if (!current) \
            return NO_CONTEXT; \
        UNLESS_TOLD; \
    } while (0)

/* ---- the device ---- */

cu_result cuInit(unsigned flags)
{
    (void)flags;
    UNLESS_TOLD;
    return 0;
}

cu_result cuDriverGetVersion(int *version)
{
    const char *told_version = getenv("FAKE_CUDA_VERSION");

    *version = told_version ? atoi(told_version) : 13000;
    return 0;
}

cu_result cuGetErrorString(cu_result rc, const char **text)
{
    static const struct {
        cu_result rc;
        const char *text;
    } known[] = {{46, "CUDA-capable device(s) is/are busy or unavailable"},
                 {214, "uncorrectable ECC error encountered"},
                 {100, "no CUDA-capable device is detected"},
                 {201, "invalid device context"},
                 {222, "the provided PTX was compiled with an unsupported toolchain."},
                 {500, "named symbol not found"},
                 {719, "unspecified launch failure"},
                 {801, "operation not supported"},
                 {803, "system has unsupported display driver / cuda driver combination"}};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].rc == rc) {
            *text = known[i].text;
            return 0;
        }
    return 1;
}

cu_result cuDeviceGetCount(int *n)
{
    UNLESS_TOLD;
    *n = 1;
    return 0;
}

cu_result cuDeviceGet(cu_device *device, int number)
{
    *device = number;
    return 0;
}

cu_result cuDeviceGetName(char *name, int size, cu_device device)
{
    (void)device;
    snprintf(name, (size_t)size, getenv("FAKE_CUDA_MIG") ? "fake MIG 1g.10gb" : "fake");
    return 0;
}

cu_result cuDeviceGetUuid_v2(struct cu_uuid *out, cu_device device)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");

    memset(out, device, sizeof *out);
    out->bytes[15] = (unsigned char)(getenv("FAKE_CUDA_MIG") && rank ? *rank : 0);
    return 0;
}

cu_result cuDeviceGetAttribute(int *value, int attribute, cu_device device)
{
    const char *capability = getenv("FAKE_CUDA_CAPABILITY");
    int both = capability ? atoi(capability) : 90;

    (void)device;
    *value = attribute == CU_MAX_PITCH ? INT_MAX
             : attribute == CU_MAJOR   ? both / 10
             : attribute == CU_MINOR   ? both % 10
                                       : 4;
    return 0;
}

cu_result cuDeviceGetPCIBusId(char *text, int size, cu_device device)
{
    snprintf(text, (size_t)size, "0000:%02x:00.0", device);
    return 0;
}

cu_result cuDevicePrimaryCtxRetain(cu_context *context, cu_device device)
{
    (void)device;
    UNLESS_TOLD;
    *context = (cu_context)&used;
    return 0;
}

cu_result cuDevicePrimaryCtxRelease_v2(cu_device device)
{
    (void)device;
    return 0;
}

cu_result cuCtxSetCurrent(cu_context context)
{
    UNLESS_TOLD;
    current = context;
    return 0;
}

/* NVRTC asks for one. */
cu_result cuGetExportTable(const void **table, const void *id);
cu_result cuGetExportTable(const void **table, const void *id)
{
    (void)id;
    *table = NULL;
    return NOT_FOUND;
}

/* ---- memory ---- */

cu_result cuMemGetInfo_v2(size_t *left, size_t *all)
{
    const char *memory = getenv("FAKE_CUDA_MEMORY");

    *all = memory ? strtoull(memory, NULL, 10) : SIZE_MAX;
    *left = *all - used;
    return 0;
}

/* Its size stands before it. */
cu_result cuMemAlloc_v2(cu_pointer *out, size_t bytes)
{
    size_t left, all;
    char *data;

    NEEDS_CONTEXT;
    cuMemGetInfo_v2(&left, &all);
    if (bytes > left || !(data = calloc(1, bytes + 256)))
        return OUT_OF_MEMORY;
    *(size_t *)(void *)data = bytes;
    used += bytes;
    *out = (cu_pointer)(uintptr_t)data + 256;
    return 0;
}

cu_result cuMemFree_v2(cu_pointer data)
{
    char *begin = (char *)(uintptr_t)data - 256;

    used -= *(size_t *)(void *)begin;
    free(begin);
    return told(__func__);
}

cu_result cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
    (void)flags;
    NEEDS_CONTEXT;
    *out = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    return *out ? 0 : OUT_OF_MEMORY;
}

cu_result cuMemFreeHost(void *data)
{
    free(data);
    return told(__func__);
}

cu_result cuMemsetD8Async(cu_pointer data, unsigned char value, size_t n, cu_stream stream)
{
    (void)stream;
    NEEDS_CONTEXT;
    memset((void *)(uintptr_t)data, value, n);
    return 0;
}

cu_result cuMemcpyAsync(cu_pointer to, cu_pointer from, size_t bytes, cu_stream stream)
{
    (void)stream;
    NEEDS_CONTEXT;
    memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
    return 0;
}

static char *address(const struct cu_copy_side *s)
{
    return s->kind == CU_IN_DEVICE ? (char *)(uintptr_t)s->device : s->host;
}

cu_result cuMemcpy3DAsync_v2(const struct cu_copy_3d *c, cu_stream stream)
{
    (void)stream;
    NEEDS_CONTEXT;
    for (size_t z = 0; z < c->depth; z++)
        for (size_t y = 0; y < c->height; y++)
            memcpy(address(&c->to) + (z * c->to.height + y) * c->to.pitch,
                   address(&c->from) + (z * c->from.height + y) * c->from.pitch, c->width);
    return 0;
}

/* ---- streams and events ---- */

cu_result cuStreamCreateWithPriority(cu_stream *out, unsigned flags, int priority)
{
    (void)flags;
    (void)priority;
    NEEDS_CONTEXT;
    *out = calloc(1, sizeof **out);
    return *out ? 0 : OUT_OF_MEMORY;
}

cu_result cuStreamDestroy_v2(cu_stream stream)
{
    free(stream);
    return 0;
}

cu_result cuStreamSynchronize(cu_stream stream)
{
    NEEDS_CONTEXT;
    __atomic_store_n(&stream->done, stream->recorded, __ATOMIC_RELAXED);
    return 0;
}

cu_result cuStreamWaitEvent(cu_stream stream, cu_event event, unsigned flags)
{
    (void)stream;
    (void)event;
    (void)flags;
    return told(__func__);
}

cu_result cuEventCreate(cu_event *out, unsigned flags)
{
    (void)flags;
    NEEDS_CONTEXT;
    *out = calloc(1, sizeof **out);
    return *out ? 0 : OUT_OF_MEMORY;
}

cu_result cuEventDestroy_v2(cu_event event)
{
    free(event);
    return told(__func__);
}

cu_result cuEventRecord(cu_event event, cu_stream stream)
{
    NEEDS_CONTEXT;
    event->stream = stream;
    event->number = __atomic_add_fetch(&stream->recorded, 1, __ATOMIC_RELAXED);
    clock_gettime(CLOCK_MONOTONIC, &event->at);
    return 0;
}

cu_result cuEventSynchronize(cu_event event)
{
    NEEDS_CONTEXT;
    if (event->stream && event->number > event->stream->done)
        __atomic_store_n(&event->stream->done, event->number, __ATOMIC_RELAXED);
    return 0;
}

cu_result cuEventElapsedTime(float *milliseconds, cu_event from, cu_event to)
{
    NEEDS_CONTEXT;
    if (!from->stream || !to->stream)
        return NOT_RECORDED;
    if (from->number > from->stream->done || to->number > to->stream->done)
        return NOT_READY;
    *milliseconds = (float)(to->at.tv_sec - from->at.tv_sec) * 1e3f +
                    (float)(to->at.tv_nsec - from->at.tv_nsec) / 1e6f;
    return 0;
}

/* ---- programs ---- */

static size_t size_of(const void *image)
{
    const Elf64_Ehdr *elf = image;

    return memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0
               ? strlen(image)
               : elf->e_shoff + (size_t)elf->e_shnum * elf->e_shentsize;
}

cu_result cuModuleLoadData(cu_module *out, const void *image)
{
    size_t size = size_of(image);

    NEEDS_CONTEXT;
    *out = malloc(sizeof **out + size);
    if (!*out)
        return OUT_OF_MEMORY;
    (*out)->size = size;
    memcpy((*out)->image, image, size);
    return 0;
}

cu_result cuModuleUnload(cu_module module)
{
    free(module);
    return 0;
}

static int is_word(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* In a text as a word, in a program as the end of a section's name. */
cu_result cuModuleGetFunction(cu_function *out, cu_module module, const char *name)
{
    size_t length = strlen(name);
    const char *end = module->image + module->size, *at = module->image;

    NEEDS_CONTEXT;
    while ((at = memmem(at, (size_t)(end - at), name, length))) {
        if (at > module->image && !is_word(at[-1]) && at + length < end && !is_word(at[length])) {
            *out = (cu_function)module;
            return 0;
        }
        at += length;
    }
    return NOT_FOUND;
}

cu_result cuLaunchKernel(cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                         unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                         cu_stream stream, void **arguments, void **extra)
{
    (void)function;
    (void)shared;
    (void)stream;
    (void)arguments;
    (void)extra;
    NEEDS_CONTEXT;
    return grid_x && grid_y && grid_z && block_x && block_y && block_z ? 0 : 1;
}

/* ---- NVML ---- */

cu_result nvmlInit_v2(void)
{
    return 0;
}

cu_result nvmlDeviceGetHandleByPciBusId_v2(const char *text, nvml_device *out)
{
    *out = (nvml_device)&used;
    return strcmp(text, "0000:00:00.0") != 0;
}

cu_result nvmlDeviceGetHandleByUUID(const char *text, nvml_device *out)
{
    *out = (nvml_device)&lost;
    return strncmp(text, "MIG-00000000-0000-0000-0000-0000000000", 38) != 0 || strlen(text) != 40;
}

cu_result nvmlDeviceGetUtilizationRates(nvml_device device, struct nvml_utilization *out)
{
    (void)device;
    *out = (struct nvml_utilization){.gpu = 40, .memory = 7};
    return 0;
}

cu_result nvmlDeviceGetMemoryInfo(nvml_device device, struct nvml_memory *out)
{
    bool part = device == (nvml_device)&lost;

    *out =
        (struct nvml_memory){.total = 3 << 20, .free = 2 << 20, .used = part ? 1 << 19 : 1 << 20};
    return 0;
}

/* ---- NVRTC ---- */

struct nvrtc_program {
    nvrtc_program real; /* NULL: there is none */
    char *text;
    const char *log;
    int is_virtual;
};
static struct {
#define X(name, arguments) cu_result(*name) arguments;
    CUDA_NVRTC(X)
    CUDA_NVRTC_ARCHS(X)
#undef X
} real;

static void *open_real(void)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                        "libnvrtc.so"};
    const char *const homes[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    void *handle = NULL;
    char path[512];

    for (size_t i = 0; !handle && i < sizeof names / sizeof *names; i++)
        handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; !handle && i < sizeof homes / sizeof *homes; i++) {
        snprintf(path, sizeof path, "%s/lib64/libnvrtc.so", homes[i] ? homes[i] : "");
        handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return handle;
}

__attribute__((constructor)) static void find_real(void)
{
    const char *wanted = getenv("FAKE_CUDA_NVRTC");
    void *handle = wanted && !strcmp(wanted, "real") ? open_real() : NULL;

    if (!handle)
        return;
#define X(name, arguments) *(void **)&real.name = dlsym(handle, #name);
    CUDA_NVRTC(X)
    CUDA_NVRTC_ARCHS(X)
#undef X
}

cu_result nvrtcVersion(int *major, int *minor)
{
    *major = *minor = 0;
    return real.nvrtcVersion ? real.nvrtcVersion(major, minor) : 0;
}

static int known_arch(void)
{
    const char *arch = getenv("FAKE_CUDA_ARCH"), *own = getenv("FAKE_CUDA_CAPABILITY");

    return arch ? atoi(arch) : own ? atoi(own) : 90;
}

cu_result nvrtcGetNumSupportedArchs(int *n)
{
    *n = 1;
    return real.nvrtcGetNumSupportedArchs ? real.nvrtcGetNumSupportedArchs(n) : 0;
}

cu_result nvrtcGetSupportedArchs(int *archs)
{
    if (real.nvrtcGetSupportedArchs)
        return real.nvrtcGetSupportedArchs(archs);
    *archs = known_arch();
    return 0;
}

cu_result nvrtcCreateProgram(nvrtc_program *out, const char *source, const char *name, int nheaders,
                             const char *const *headers, const char *const *names)
{
    UNLESS_TOLD;
    *out = calloc(1, sizeof **out);
    if (!*out)
        return 1;
    (*out)->text = strdup(source);
    return real.nvrtcVersion
               ? real.nvrtcCreateProgram(&(*out)->real, source, name, nheaders, headers, names)
               : 0;
}

cu_result nvrtcDestroyProgram(nvrtc_program *program)
{
    if ((*program)->real)
        real.nvrtcDestroyProgram(&(*program)->real);
    free((*program)->text);
    free(*program);
    return 0;
}

cu_result nvrtcCompileProgram(nvrtc_program program, int noptions, const char *const *options)
{
    int contracts = 1, knows = 0;
    char own[48], other[48];

    snprintf(own, sizeof own, "--gpu-architecture=sm_%d", known_arch());
    snprintf(other, sizeof other, "--gpu-architecture=compute_%d", known_arch());
    for (int i = 0; i < noptions; i++) {
        contracts &= strcmp(options[i], "--fmad=false") != 0;
        knows |= program->real || !strcmp(options[i], own) || !strcmp(options[i], other);
        program->is_virtual |= !strncmp(options[i], other, strlen("--gpu-architecture=c"));
    }
    if (!knows)
        program->log = "nvrtc: error: invalid value for --gpu-architecture (-arch)\n";
    else if (contracts)
        program->log = "error: --fmad=false is missing: results would not be the host's\n";
    else if (getenv("FAKE_CUDA_BUILTINS") && !dlopen("libnvrtc-builtins.so.0.0", RTLD_NOW))
        program->log = "nvrtc: error: failed to open libnvrtc-builtins.so.0.0.\n";
    else if (told(__func__))
        program->log = "tutti.cu(7): error: identifier \"u65\" is undefined\n1 error detected\n";
    else
        return program->real ? real.nvrtcCompileProgram(program->real, noptions, options) : 0;
    lost = 0; /* the device is well */
    return 6;
}

cu_result nvrtcGetProgramLogSize(nvrtc_program program, size_t *size)
{
    if (program->real && !program->log)
        return real.nvrtcGetProgramLogSize(program->real, size);
    *size = program->log ? strlen(program->log) + 1 : 1;
    return 0;
}

cu_result nvrtcGetProgramLog(nvrtc_program program, char *log)
{
    if (program->real && !program->log)
        return real.nvrtcGetProgramLog(program->real, log);
    strcpy(log, program->log ? program->log : "");
    return 0;
}

cu_result nvrtcGetCUBINSize(nvrtc_program program, size_t *size)
{
    if (program->real)
        return real.nvrtcGetCUBINSize(program->real, size);
    *size = strlen(program->text) + 1;
    return program->is_virtual ? 4 : 0;
}

cu_result nvrtcGetPTXSize(nvrtc_program program, size_t *size)
{
    if (program->real)
        return real.nvrtcGetPTXSize(program->real, size);
    *size = strlen(program->text) + 1;
    return 0;
}

cu_result nvrtcGetPTX(nvrtc_program program, char *image)
{
    UNLESS_TOLD;
    if (program->real)
        return real.nvrtcGetPTX(program->real, image);
    memcpy(image, program->text, strlen(program->text) + 1);
    return 0;
}

cu_result nvrtcGetCUBIN(nvrtc_program program, char *image)
{
    UNLESS_TOLD;
    if (program->real)
        return real.nvrtcGetCUBIN(program->real, image);
    memcpy(image, program->text, strlen(program->text) + 1);
    return 0;
}
