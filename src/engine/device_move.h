/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Selections of a device's memory to and from dense arrays: boxes of long rows by the copies that
 * devices have, other slabs by a kernel (device_move.cu). */
#ifndef TT_ENGINE_DEVICE_MOVE_H
#define TT_ENGINE_DEVICE_MOVE_H

#include "devices/device.h"
#include "io/model.h"

/* Queues the copy of a block's memory selection, at an address of the device, to a dense array:
 * within the device, or to the host's if tt_device_copies_well. */
int tt_device_gather(struct tt_device *device, enum tt_device_stream stream,
                     const struct tt_block *b, size_t element_size,
                     enum tt_device_direction direction, void *dense, struct tt_error *e);
/* The reverse: within the device, or from the host. */
int tt_device_scatter(struct tt_device *device, enum tt_device_stream stream,
                      const struct tt_block *b, size_t element_size,
                      enum tt_device_direction direction, const void *dense, struct tt_error *e);
/* Whether copies by the device's own engine move the selection, without a kernel. */
bool tt_device_copies_well(const struct tt_block *b, size_t element_size);
/* Waits for everything that is queued, before memory is freed that it may use; also after a
 * failure. */
void tt_device_settle(struct tt_device *device);
/* Queues the copy of bytes in one piece. */
int tt_device_copy_bytes(struct tt_device *device, enum tt_device_stream stream,
                         enum tt_device_direction direction, void *to, const void *from,
                         size_t bytes, struct tt_error *e);

#endif
