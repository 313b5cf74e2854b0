/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kernels FAKE [real]: every kernel that tutti has is compiled by the device cuda, on a driver that
 * computes nothing (cuda.c), and is found under its name. With "real" NVRTC compiles, for several
 * architectures, and says whether the arguments of each are as large as the host believes. Exits
 * with 77 if there is no NVRTC. */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "devices/device.h"
#include "plan/registry.h"
#include "spec/param.h"

/* Found by name, so that they stay in the core. */
#define SOURCE(symbol) {#symbol, NULL},
static struct source {
    const char *symbol, *text;
} sources[] = {SOURCES};
#define NSOURCES (sizeof sources / sizeof *sources)

#define MOST 64
#define UNKNOWN "invalid value for --gpu-architecture"
static const struct tt_kernel *kernels[MOST];
static unsigned nkernels;

/* ---- finding them: whatever in the core's data looks like one, since their tables are static ----
 */

static bool is_within(const struct dl_phdr_info *object, const void *address)
{
    uintptr_t at = (uintptr_t)address - object->dlpi_addr;

    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_LOAD && at >= object->dlpi_phdr[i].p_vaddr &&
            at - object->dlpi_phdr[i].p_vaddr < object->dlpi_phdr[i].p_memsz)
            return true;
    return false;
}

/* Places between variables belong to the sanitizer. */
__attribute__((no_sanitize("address"))) static int look(struct dl_phdr_info *object, size_t size,
                                                        void *unused)
{
    (void)size;
    (void)unused;
    if (!is_within(object, sources[0].text))
        return 0;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        const uintptr_t *first = (const uintptr_t *)(object->dlpi_addr + part->p_vaddr);

        if (part->p_type != PT_LOAD || !(part->p_flags & PF_W))
            continue;
        for (size_t k = 0; k + sizeof(struct tt_kernel) / 8 <= part->p_memsz / 8; k++) {
            const struct tt_kernel *kernel = (const void *)(first + k);

            for (size_t s = 0; s < NSOURCES; s++)
                if (kernel->source == sources[s].text && is_within(object, kernel->name) &&
                    kernel->arguments_size <= 4096 && kernel->naddresses <= 6 &&
                    is_within(object, *(void *const *)(const void *)&kernel->by_host) &&
                    nkernels < MOST)
                    kernels[nkernels++] = kernel;
        }
    }
    return 1;
}

/* ---- compiling them ---- */

/* The text, and whether its arguments have the host's size. */
static char *with_sizes(const char *text, const struct tt_kernel *const *of, unsigned n)
{
    char *all = NULL;
    size_t size;
    FILE *out = open_memstream(&all, &size);

    fprintf(out,
            "%s\ntemplate <class F> struct of_kernel;\ntemplate <class T> struct "
            "of_kernel<void(T)> { static const unsigned size = sizeof(T); };\n",
            text);
    for (unsigned i = 0; i < n; i++)
        if (of[i]->source == text)
            fprintf(out,
                    "static_assert(of_kernel<decltype(%s)>::size == %zu, \"arguments of %s\");\n",
                    of[i]->name, of[i]->arguments_size, of[i]->name);
    fclose(out);
    return all;
}

/* All kernels of a source on a device of its own. */
static int compile(const struct tt_device_type *type, const void *opts, const struct source *s,
                   bool checks_sizes, unsigned *found, struct tt_error *e)
{
    struct tt_device d = {.type = type, .opts = opts, .state = calloc(1, type->state_size)};
    char *text = checks_sizes ? with_sizes(s->text, kernels, nkernels) : strdup(s->text);
    static const char arguments[4096];
    struct tt_kernel copies[MOST]; /* each its own: devices know them by their place */
    int rc = type->open(&d, e);
    bool is_open = rc == TT_OK;

    *found = 0;
    for (unsigned i = 0; rc == TT_OK && i < nkernels; i++) {
        const struct tt_kernel copy = {
            .name = kernels[i]->name, .source = text, .arguments_size = kernels[i]->arguments_size};

        memcpy(&copies[i], &copy, sizeof copy);
        if (kernels[i]->source != s->text)
            continue;
        rc = type->launch(&d, TT_STREAM_COMPUTE, &copies[i],
                          &(struct tt_kernel_grid){{1, 1, 1}, {1, 1, 1}}, arguments, e);
        ++*found;
        if (rc != TT_OK && !strstr(e->text, UNKNOWN))
            fprintf(stderr, "FAILED: %s of %s: %s\n", copies[i].name, s->symbol, e->text);
    }
    if (is_open)
        type->close(&d);
    free(d.state);
    free(text);
    return rc;
}

/* Every architecture that this NVRTC knows: newer ones lose old ones. Returns how many it knows. */
static int compile_all(const struct tt_device_type *type, const void *opts, bool is_real)
{
    static const char *const capabilities[] = {"70", "80", "90"};
    int known = 0, failed = 0;

    for (size_t i = is_real ? 0 : 2; i < 3 && !failed; i++) {
        setenv("FAKE_CUDA_CAPABILITY", capabilities[i], 1);
        for (size_t s = 0; s < NSOURCES && !failed; s++) {
            struct tt_error e = TT_ERROR_CLEAR;
            unsigned found;
            int rc = compile(type, opts, &sources[s], is_real, &found, &e);

            if (rc != TT_OK && s == 0 && strstr(e.text, UNKNOWN))
                break; /* it does not know this one */
            failed = rc != TT_OK || found == 0;
            if (rc == TT_OK && found == 0)
                fprintf(stderr, "FAILED: no kernel of %s was found\n", sources[s].symbol);
            known += s + 1 == NSOURCES;
        }
    }
    return failed ? -1 : known;
}

int main(int argc, char **argv)
{
    bool is_real = argc > 2;
    struct tt_error e = TT_ERROR_CLEAR;
    const struct tt_device_type *type;
    void *fake, *opts;
    int (*version)(int *, int *), major = 0, minor = 0, known;

    setenv("FAKE_CUDA_NVRTC", is_real ? "real" : "none", 1);
    fake = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!fake) {
        fprintf(stderr, "FAILED: %s\n", argc > 1 ? dlerror() : "no driver is named");
        return 1;
    }
    *(void **)&version = dlsym(fake, "nvrtcVersion");
    version(&major, &minor);
    if (is_real && major == 0) {
        printf("SKIP: there is no NVRTC\n");
        return 77;
    }
    type = tt_find_device("cuda", &e);
    opts = type ? calloc(1, type->opts_size) : NULL;
    if (!opts || tt_params_default(type->params, opts, &e) != TT_OK ||
        tt_param_set(&type->params[0], opts, argv[1], &e) != TT_OK) {
        fprintf(stderr, "FAILED: %s\n", e.text);
        return 1;
    }
    for (size_t i = 0; i < NSOURCES; i++)
        sources[i].text = dlsym(RTLD_DEFAULT, sources[i].symbol);
    dl_iterate_phdr(look, NULL);
    known = compile_all(type, opts, is_real);
    printf("%u kernels of %zu sources, NVRTC %d.%d, %d architectures\n", nkernels, NSOURCES, major,
           minor, known);
    tt_params_free(type->params, opts);
    free(opts);
    return known > 0 ? 0 : 1;
}
