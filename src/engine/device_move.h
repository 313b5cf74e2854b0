/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Selections of a device's memory to and from dense arrays: boxes of long rows by the copies that
 * devices have, others by a kernel (device_move.cu). */
#ifndef TT_ENGINE_DEVICE_MOVE_H
#define TT_ENGINE_DEVICE_MOVE_H

#include "devices/device.h"
#include "engine/selection_both.h"
#include "io/model.h"

/* Rows that are shorter cost a copy more than their bytes do. */
#define TT_DEVICE_SHORTEST_ROW 512
/* Entries of the list that a selection needs, which may be none; and filling them. */
size_t tt_device_list_length(const struct tt_selection *s);
void tt_device_list_make(const struct tt_selection *s, struct tt_device_place *list);
/* The selection must not be empty; list: its own, in the device's memory, if it needs one. */
struct tt_device_selection tt_device_select(const struct tt_selection *s,
                                            const struct tt_device_place *list);
/* Threads for so many elements, of a kernel that strides through them. */
struct tt_kernel_grid tt_device_threads(uint64_t n);
/* Before the start: what their first launches would take. */
int tt_device_prepare(struct tt_device *device, unsigned n, const struct tt_kernel *const *kernels,
                      struct tt_error *e);
/* The kernels of gather and scatter. */
int tt_device_prepare_moves(struct tt_device *device, struct tt_error *e);
/* Queues such a kernel on TT_STREAM_COMPUTE; without threads nothing. */
int tt_device_launch(struct tt_device *device, const struct tt_kernel *kernel, uint64_t threads,
                     const void *arguments, struct tt_error *e);
/* The same, of a kernel that leaves a number at found, in the device's memory: 0 if it leaves none.
 * Waits for it. */
int tt_device_find(struct tt_device *device, const struct tt_kernel *kernel, uint64_t threads,
                   const void *arguments, uint64_t *found, uint64_t *out, struct tt_error *e);

/* Queues the copy of a block's memory selection, at an address of the device, to a dense array:
 * within the device, or to the host's if tt_device_copies_well. The list is that of the selection,
 * in the device's memory. */
int tt_device_gather(struct tt_device *device, enum tt_device_stream stream,
                     const struct tt_block *b, size_t element_size,
                     enum tt_device_direction direction, void *dense,
                     const struct tt_device_place *list, struct tt_error *e);
/* The reverse: within the device, or from the host. */
int tt_device_scatter(struct tt_device *device, enum tt_device_stream stream,
                      const struct tt_block *b, size_t element_size,
                      enum tt_device_direction direction, const void *dense,
                      const struct tt_device_place *list, struct tt_error *e);
/* Whether copies by the device's own engine move the selection, without a kernel. Without a device:
 * if rows may be as long as they want. */
bool tt_device_copies_well(const struct tt_device *device, const struct tt_block *b,
                           size_t element_size);
/* Waits for everything that is queued, before memory is freed that it may use; also after a
 * failure. */
void tt_device_settle(struct tt_device *device);
/* Memory that holds zeros: dumps are rehearsed before anybody has made their data. Waits for
 * TT_STREAM_COMPUTE. */
int tt_device_allocate_zeros(struct tt_device *device, size_t bytes, void **out,
                             struct tt_error *e);
/* Queues the copy of bytes in one piece. */
int tt_device_copy_bytes(struct tt_device *device, enum tt_device_stream stream,
                         enum tt_device_direction direction, void *to, const void *from,
                         size_t bytes, struct tt_error *e);
/* The same after all that is queued on TT_STREAM_COMPUTE, and waits for it. */
int tt_device_copy_now(struct tt_device *device, enum tt_device_direction direction, void *to,
                       const void *from, size_t bytes, struct tt_error *e);

#endif
