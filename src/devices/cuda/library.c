/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "devices/cuda/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct tt_cuda_library library;
static struct tt_error failure;
static int outcome;
static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
static bool tried;

/* The first that can be opened; otherwise *why is the reason that the linker gives for the first.
 */
static void *open_any(const char *const *names, char *why, size_t size)
{
    void *handle = NULL;
    const char *said;

    *why = '\0';
    for (; *names && !handle; names++) {
        handle = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
        said = handle ? NULL : dlerror();
        if (said && !*why)
            snprintf(why, size, "%s", said);
    }
    return handle;
}

static void *find(void *handle, const char *name, const char **missing)
{
    void *symbol = dlsym(handle, name);

    if (!symbol && !*missing)
        *missing = name;
    return symbol;
}

static int open_driver(struct tt_error *e)
{
    static const char *const names[] = {"libcuda.so.1", "libcuda.so", NULL};
    char why[160];
    void *handle = open_any(names, why, sizeof why);
    const char *missing = NULL;
    cu_result rc;

    if (!handle)
        return tt_fail(e, TT_UNSUPPORTED,
                       "device cuda: the CUDA driver cannot be opened: %s; use a machine with an "
                       "NVIDIA GPU and its driver, or leave --device out",
                       why);
#define X(name, arguments) *(void **)&library.name = find(handle, #name, &missing);
    CUDA_DRIVER(X)
#undef X
    *(void **)&library.cuDeviceGetUuid_v2 = dlsym(handle, "cuDeviceGetUuid_v2");
    if (missing)
        return tt_fail(e, TT_UNSUPPORTED,
                       "device cuda: the CUDA driver is older than needed: it has no %s", missing);
    rc = library.cuInit(0);
    if (rc == CU_NO_DEVICE)
        return tt__cuda_no_device(e);
    if (rc != 0)
        return tt__cuda_check(&library, rc, "cuInit", e);
    return tt__cuda_check(&library, library.cuDriverGetVersion(&library.driver_version),
                          "cuDriverGetVersion", e);
}

/* A file of the user's; a fifo or a device would be waited for. Otherwise *why is the reason. */
static void *open_file(const char *path, char *why, size_t size)
{
    struct stat st;
    void *handle = NULL;

    if (stat(path, &st) != 0)
        snprintf(why, size, "%s", strerror(errno));
    else if (!S_ISREG(st.st_mode))
        snprintf(why, size, "it is not a file");
    else if (!(handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)))
        snprintf(why, size, "%s", dlerror());
    return handle;
}

/* Of a toolkit, whatever its directory of libraries is called. */
static void *open_below(const char *home, const char *const *names)
{
    static const char *const below[] = {"lib64", "lib", "targets/x86_64-linux/lib",
                                        "targets/sbsa-linux/lib"};
    void *handle = NULL;

    for (size_t i = 0; home && !handle && i < sizeof below / sizeof *below; i++)
        for (size_t k = 0; names[k] && !handle; k++) {
            char path[512], unused[8];

            if (snprintf(path, sizeof path, "%s/%s/%s", home, below[i], names[k]) <
                (int)sizeof path)
                handle = open_file(path, unused, sizeof unused);
        }
    return handle;
}

/* NVRTC of the driver's version and of those before it, the newest first: one that is newer than
 * the driver makes what the driver does not take. CUDA 11 has names of its own. */
#define MOST_NAMES 32
static void name_nvrtc(char text[MOST_NAMES][24], const char **names)
{
    static const char *const rest[] = {"libnvrtc.so.11.2", "libnvrtc.so.11.1", "libnvrtc.so"};
    size_t n = 0;

    for (int major = library.driver_version / 1000; major >= 12 && n < MOST_NAMES - 5; major--) {
        snprintf(text[n], sizeof text[n], "libnvrtc.so.%d", major);
        names[n] = text[n];
        n++;
    }
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        names[n++] = rest[i];
    names[n] = NULL;
}

/* Of CUDA_HOME or CUDA_PATH, as the linker finds it, or in the usual place. */
static void *look_for_nvrtc(void)
{
    char text[MOST_NAMES][24];
    const char *names[MOST_NAMES];
    char unused[8];
    void *handle;

    name_nvrtc(text, names);
    handle = open_below(getenv("CUDA_HOME"), names);
    if (!handle)
        handle = open_below(getenv("CUDA_PATH"), names);
    if (!handle)
        handle = open_any(names, unused, sizeof unused);
    return handle ? handle : open_below("/usr/local/cuda", names);
}

/* When it compiles, NVRTC opens a second library by name only. It lies beside NVRTC, where the
 * linker need not look; one that is open already is found. */
static void open_builtins(void)
{
    const char *name = strrchr(library.nvrtc_path, '/');
    int directory = name ? (int)(name + 1 - library.nvrtc_path) : 0;
    char path[sizeof library.nvrtc_path + 48];

    snprintf(path, sizeof path, "%.*slibnvrtc-builtins.so.%d.%d", directory, library.nvrtc_path,
             library.nvrtc_major, library.nvrtc_minor);
    dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static int find_nvrtc(const char *given, struct tt_error *e)
{
    char why[200];
    void *handle = given ? open_file(given, why, sizeof why) : look_for_nvrtc();
    const char *missing = NULL;
    struct link_map *map;

    if (!handle && given)
        return tt_fail(e, TT_USAGE,
                       "cuda.nvrtc: '%.200s' cannot be opened: %s; give the path of libnvrtc.so",
                       given, why);
    if (!handle)
        return tt_fail(
            e, TT_UNSUPPORTED,
            "device cuda: the driver is here, but not NVRTC (libnvrtc.so), which compiles "
            "the kernels; set CUDA_HOME or give cuda.nvrtc");
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0)
        snprintf(library.nvrtc_path, sizeof library.nvrtc_path, "%s", map->l_name);
#define X(name, arguments) *(void **)&library.name = find(handle, #name, &missing);
    CUDA_NVRTC(X)
#undef X
    if (missing)
        return tt_fail(
            e, TT_UNSUPPORTED,
            "device cuda: '%.200s' is not NVRTC, or older than needed: it has no %s; give "
            "another one with cuda.nvrtc",
            library.nvrtc_path, missing);
#define X(name, arguments) *(void **)&library.name = find(handle, #name, &missing);
    CUDA_NVRTC_ARCHS(X)
#undef X
    library.has_archs = !missing;
    library.nvrtcVersion(&library.nvrtc_major, &library.nvrtc_minor);
    open_builtins();
    return TT_OK;
}

static void find_nvml(void)
{
    static const char *const names[] = {"libnvidia-ml.so.1", "libnvidia-ml.so", NULL};
    char unused[8];
    void *handle = open_any(names, unused, sizeof unused);
    const char *missing = NULL;

    if (!handle)
        return;
#define X(name, arguments) *(void **)&library.name = find(handle, #name, &missing);
    CUDA_NVML(X)
#undef X
    library.has_nvml = !missing && library.nvmlInit_v2() == 0;
}

int tt__cuda_library(const char *nvrtc, const struct tt_cuda_library **out, struct tt_error *e)
{
    pthread_mutex_lock(&once);
    if (!tried) {
        tried = true;
        tt_error_clear(&failure);
        outcome = open_driver(&failure);
        if (outcome == TT_OK)
            outcome = find_nvrtc(nvrtc, &failure);
        if (outcome == TT_OK)
            find_nvml();
    }
    pthread_mutex_unlock(&once);
    *out = &library;
    if (outcome != TT_OK && e->code == TT_OK)
        *e = failure;
    return outcome;
}

int tt__cuda_no_device(struct tt_error *e)
{
    return tt_fail(e, TT_UNSUPPORTED,
                   "device cuda: the driver is here, but sees no device; use a machine with an "
                   "NVIDIA GPU (CUDA_VISIBLE_DEVICES may hide it), or leave --device out");
}

const char *tt__cuda_text(const struct tt_cuda_library *l, cu_result rc)
{
    const char *text = NULL;

    return l->cuGetErrorString(rc, &text) == 0 && text ? text : "unknown error";
}

int tt__cuda_check(const struct tt_cuda_library *l, cu_result rc, const char *call,
                   struct tt_error *e)
{
    if (rc == 0)
        return TT_OK;
    if (rc == CU_OUT_OF_MEMORY)
        return tt_fail(e, TT_NOMEM, "device cuda: %s: the device has no memory left for this",
                       call);
    return tt_fail(e, TT_FAILED, "device cuda: %s: %s (error %d)", call, tt__cuda_text(l, rc), rc);
}
