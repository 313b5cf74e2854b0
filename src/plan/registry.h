/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lists of components. The build writes them from the files in their directories: a file
 * io/backends/NAME.c defines tt_backend_NAME, io/layers/NAME.c tt_layer_NAME, workloads/NAME.c
 * tt_workload_NAME, devices/NAME.c tt_device_NAME, exporters/NAME.c tt_exporter_NAME. One that
 * needs a library of its own is a module instead (plan/module.h), and joins the list when it is
 * opened. */
#ifndef TT_PLAN_REGISTRY_H
#define TT_PLAN_REGISTRY_H

#include "io/file.h"
#include "plan/workload.h"

#define TT_MAX_COMPONENTS 63
extern const struct tt_backend *tt_backends[TT_MAX_COMPONENTS + 1]; /* NULL-terminated, as all */
extern const struct tt_backend *tt_layers[TT_MAX_COMPONENTS + 1];
extern const struct tt_workload *tt_workloads[TT_MAX_COMPONENTS + 1];
struct tt_device_type; /* devices/device.h */
extern const struct tt_device_type *tt_devices[TT_MAX_COMPONENTS + 1];
struct tt_exporter; /* report/exporter.h */
extern const struct tt_exporter *tt_exporters[TT_MAX_COMPONENTS + 1];

/* Known to the source but not to this build: name and the package that brings the library. */
struct tt_missing {
    const char *name, *package;
};
extern struct tt_missing tt_missing_components[TT_MAX_COMPONENTS + 1]; /* ends with a NULL name */

/* Opens the module of that name if need be. NULL and a usage error with the nearest name if there
 * is none. */
const struct tt_backend *tt_find_backend(const char *name, struct tt_error *e);
const struct tt_backend *tt_find_layer(const char *name, struct tt_error *e);
const struct tt_workload *tt_find_workload(const char *name, struct tt_error *e);
const struct tt_exporter *tt_find_exporter(const char *name, struct tt_error *e);
const struct tt_device_type *tt_find_device(const char *name, struct tt_error *e);
/* The same among what is open already; NULL if it is not. */
const void *tt_find_open(const void *list, const char *name);

/* Every component, also of modules that are found, which are opened for it; kind: "run", "engine",
 * "workload", "backend", "layer" or "device". */
typedef void tt_component_fn(const char *kind, const struct tt_component *c, void *context);
void tt_each_component(tt_component_fn *visit, void *context);
/* The parameter with a full key ("stencil.size", "backend") among what is open, or NULL. */
const struct tt_param *tt_find_param(const char *key);

#endif
