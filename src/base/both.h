/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For code that the host and devices share: the host includes it, and the build puts its text
 * before that of kernels, which include nothing. So it is C and C++, and needs no library. */
#ifndef TT_BASE_BOTH_H
#define TT_BASE_BOTH_H

#if defined __CUDACC_RTC__ || defined __HIPCC_RTC__ || defined __device__ /* or emulated */
typedef unsigned long long u64, tt_u64;
typedef unsigned u32;
#define TT_BOTH static __device__
#else
#include <stdint.h>
typedef uint64_t tt_u64;
#define TT_BOTH static inline
#endif

/* A well mixed function of its argument: the finaliser of splitmix64. */
TT_BOTH tt_u64 tt_mix(tt_u64 x)
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

#endif
