/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For authors of backends, layers, workloads, devices and exporters that are shared objects, inside
 * or outside of this tree. A module ends with one line that names its table:
 *
 *   TT_MODULE(.backend = &tt_backend_mine);     also of a layer
 *   TT_MODULE(.workload = &tt_workload_mine);
 *
 * and is called backend_mine.so, layer_mine.so or workload_mine.so. An exporter (report/exporter.h)
 * is exporter_mine.so, and a device (devices/device.h) device_mine.so. */
#ifndef TT_IO_MODULE_H
#define TT_IO_MODULE_H

#include "devices/device.h"
#include "io/file.h"

struct tt_workload;
struct tt_exporter;

/* Goes up with every change of what modules and the core share; the sizes notice most changes that
 * forgot to. */
#define TT_MODULE_ABI 8
#define TT_MODULE_SIZES \
    (sizeof(struct tt_backend) * 31 + sizeof(struct tt_file) * 17 + \
     sizeof(struct tt_file_spec) * 13 + sizeof(struct tt_block) * 7 + \
     sizeof(struct tt_variable) * 5 + sizeof(struct tt_device_type) * 3 + sizeof(struct tt_param))

struct tt_module {
    size_t abi, sizes;
    const struct tt_backend *backend; /* or layer */
    const struct tt_workload *workload;
    const struct tt_exporter *exporter;
    const struct tt_device_type *device;
};

#define TT_MODULE(...) \
    extern const struct tt_module tt_module; \
    const struct tt_module tt_module = {TT_MODULE_ABI, TT_MODULE_SIZES, __VA_ARGS__}

#endif
