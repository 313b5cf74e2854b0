/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TT_ENGINE_CONTENT_KERNEL_H
#define TT_ENGINE_CONTENT_KERNEL_H

#include <stddef.h>
#include <stdint.h>

/* 512 words from 16 states, which are not all zero in any pair of lanes i and i + 8. */
typedef void tt_content_kernel(uint64_t *words, const uint64_t states[16]);
extern tt_content_kernel tt_content_kernel_baseline, tt_content_kernel_avx2,
    tt_content_kernel_avx512;

#endif
