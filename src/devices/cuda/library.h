/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions of the CUDA driver, of NVRTC and of NVML that device cuda calls, opened at run
 * time: building tutti takes no toolkit. Prototypes are as the libraries document them; names with
 * a version are those that have been there since CUDA 11. */
#ifndef TT_DEVICES_CUDA_LIBRARY_H
#define TT_DEVICES_CUDA_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef int cu_result;
typedef int cu_device;
typedef uint64_t cu_pointer;
typedef struct cu_context *cu_context;
typedef struct cu_stream *cu_stream;
typedef struct cu_event *cu_event;
typedef struct cu_module *cu_module;
typedef struct cu_function *cu_function;
typedef struct nvrtc_program *nvrtc_program;
typedef struct nvml_device *nvml_device;

enum { CU_OUT_OF_MEMORY = 2, CU_NO_DEVICE = 100 };
/* Why a module is refused: it is of a version that the driver does not know, or of another device.
 */
enum {
    CU_INVALID_IMAGE = 200,
    CU_NO_BINARY_FOR_GPU = 209,
    CU_INVALID_PTX = 218,
    CU_UNSUPPORTED_PTX_VERSION = 222
};
enum { CU_MAX_PITCH = 11, CU_MULTIPROCESSORS = 16, CU_MAJOR = 75, CU_MINOR = 76 };
enum { CU_BLOCKING_SYNC = 1, CU_STREAM_NON_BLOCKING = 1 };

/* cuMemcpy3DAsync's description of a copy between linear memory. */
enum { CU_IN_HOST = 1, CU_IN_DEVICE = 2 };
struct cu_copy_side {
    size_t x, y, z, lod;
    int kind;
    void *host;
    cu_pointer device;
    void *array, *reserved;
    size_t pitch, height;
};
struct cu_copy_3d {
    struct cu_copy_side from, to;
    size_t width, height, depth;
};

struct cu_uuid {
    unsigned char bytes[16];
};
struct nvml_utilization {
    unsigned gpu, memory;
};
struct nvml_memory {
    unsigned long long total, free, used;
};

#define CUDA_DRIVER(X) \
    X(cuInit, (unsigned flags)) \
    X(cuDriverGetVersion, (int *version)) \
    X(cuGetErrorString, (cu_result rc, const char **text)) \
    X(cuDeviceGetCount, (int *n)) \
    X(cuDeviceGet, (cu_device * device, int number)) \
    X(cuDeviceGetName, (char *name, int size, cu_device device)) \
    X(cuDeviceGetAttribute, (int *value, int attribute, cu_device device)) \
    X(cuDeviceGetPCIBusId, (char *text, int size, cu_device device)) \
    X(cuDevicePrimaryCtxRetain, (cu_context * context, cu_device device)) \
    X(cuDevicePrimaryCtxRelease_v2, (cu_device device)) \
    X(cuCtxSetCurrent, (cu_context context)) \
    X(cuMemAlloc_v2, (cu_pointer * out, size_t bytes)) \
    X(cuMemFree_v2, (cu_pointer data)) \
    X(cuMemGetInfo_v2, (size_t * left, size_t * all)) \
    X(cuMemHostAlloc, (void **out, size_t bytes, unsigned flags)) \
    X(cuMemFreeHost, (void *data)) \
    X(cuMemsetD8Async, (cu_pointer data, unsigned char value, size_t n, cu_stream stream)) \
    X(cuMemcpyAsync, (cu_pointer to, cu_pointer from, size_t bytes, cu_stream stream)) \
    X(cuMemcpy3DAsync_v2, (const struct cu_copy_3d *copy, cu_stream stream)) \
    X(cuStreamCreateWithPriority, (cu_stream * out, unsigned flags, int priority)) \
    X(cuStreamDestroy_v2, (cu_stream stream)) \
    X(cuStreamSynchronize, (cu_stream stream)) \
    X(cuStreamWaitEvent, (cu_stream stream, cu_event event, unsigned flags)) \
    X(cuEventCreate, (cu_event * out, unsigned flags)) \
    X(cuEventDestroy_v2, (cu_event event)) \
    X(cuEventRecord, (cu_event event, cu_stream stream)) \
    X(cuEventSynchronize, (cu_event event)) \
    X(cuEventElapsedTime, (float *milliseconds, cu_event from, cu_event to)) \
    X(cuModuleLoadData, (cu_module * out, const void *image)) \
    X(cuModuleUnload, (cu_module module)) \
    X(cuModuleGetFunction, (cu_function * out, cu_module module, const char *name)) \
    X(cuLaunchKernel, (cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, \
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, \
                       cu_stream stream, void **arguments, void **extra))

/* Optional: since CUDA 11.4. */
#define CUDA_UUID(X) X(cuDeviceGetUuid_v2, (struct cu_uuid * out, cu_device device))

#define CUDA_NVRTC(X) \
    X(nvrtcVersion, (int *major, int *minor)) \
    X(nvrtcCreateProgram, (nvrtc_program * out, const char *source, const char *name, \
                           int nheaders, const char *const *headers, const char *const *names)) \
    X(nvrtcDestroyProgram, (nvrtc_program * program)) \
    X(nvrtcCompileProgram, (nvrtc_program program, int noptions, const char *const *options)) \
    X(nvrtcGetProgramLogSize, (nvrtc_program program, size_t * size)) \
    X(nvrtcGetProgramLog, (nvrtc_program program, char *log)) \
    X(nvrtcGetCUBINSize, (nvrtc_program program, size_t * size)) \
    X(nvrtcGetCUBIN, (nvrtc_program program, char *image)) \
    X(nvrtcGetPTXSize, (nvrtc_program program, size_t * size)) \
    X(nvrtcGetPTX, (nvrtc_program program, char *image))

/* Optional, as a whole: since CUDA 11.2. */
#define CUDA_NVRTC_ARCHS(X) \
    X(nvrtcGetNumSupportedArchs, (int *n)) \
    X(nvrtcGetSupportedArchs, (int *archs))

/* Optional, as a whole. */
#define CUDA_NVML(X) \
    X(nvmlInit_v2, (void)) \
    X(nvmlDeviceGetHandleByPciBusId_v2, (const char *text, nvml_device *out)) \
    X(nvmlDeviceGetHandleByUUID, (const char *text, nvml_device *out)) \
    X(nvmlDeviceGetUtilizationRates, (nvml_device device, struct nvml_utilization * out)) \
    X(nvmlDeviceGetMemoryInfo, (nvml_device device, struct nvml_memory * out))

struct tt_cuda_library {
#define X(name, arguments) cu_result(*name) arguments;
    CUDA_DRIVER(X)
    CUDA_UUID(X)
    CUDA_NVRTC(X)
    CUDA_NVRTC_ARCHS(X)
    CUDA_NVML(X)
#undef X
    bool has_archs, has_nvml;
    int driver_version; /* 13000: CUDA 13.0 */
    int nvrtc_major, nvrtc_minor;
    char nvrtc_path[256];
};

/* Opens them once for the process. nvrtc: a path of the user's, or NULL. TT_UNSUPPORTED with one
 * line that says what is missing. */
int tt__cuda_library(const char *nvrtc, const struct tt_cuda_library **out, struct tt_error *e);
/* TT_UNSUPPORTED, with what to do. */
int tt__cuda_no_device(struct tt_error *e);
/* The driver's words. */
const char *tt__cuda_text(const struct tt_cuda_library *l, cu_result rc);
/* TT_OK if rc is 0; else it fails with these words. */
int tt__cuda_check(const struct tt_cuda_library *l, cu_result rc, const char *call,
                   struct tt_error *e);

#endif
