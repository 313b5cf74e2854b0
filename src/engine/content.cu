/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Content of transfers in a device's memory, word by word that of content.c; the struct is that of
 * device_content.c. Compiled at run time, behind content_both.h. */
struct content {
    u64 *data;
    u64 *found; /* compare: bytes from the first wrong one to the end */
    u64 n, offset, signature, owner;
    double duplicate, compressible;
    u32 kind, random; /* random: words of a chunk that are */
};

template <bool comparing> static __device__ void visit(const content &c, u64 i, u64 word)
{
    if (!comparing)
        c.data[i] = word;
    else if (c.data[i] != word)
        atomicMax(c.found, c.n - 8 * i - (__ffsll((long long)(c.data[i] ^ word)) - 1) / 8);
}

/* Eight threads a chunk, one for each of its generators. */
template <bool comparing> static __device__ void visit_lane(const content &c, u64 chunk, u32 lane)
{
    u64 key = tt_content_chunk_key(c.signature, c.owner, c.duplicate, chunk), a = tt_mix(key + lane) | 1, b = tt_mix(key + 8 + lane) | 1;

    for (u32 w = lane; w < 512; w += 8) {
        u64 x = a, y = b, place = chunk * 4096 + w * 8;

        a = y;
        x ^= x << 23;
        x ^= x >> 18 ^ y ^ y >> 5;
        b = x;
        if (place >= c.offset && place - c.offset < c.n)
            visit<comparing>(c, (place - c.offset) / 8, w < c.random ? x + y : key);
    }
}

template <bool comparing> static __device__ void visit_all(const content &c)
{
    u64 first = c.offset / 4096, chunks = (c.offset + c.n + 4095) / 4096 - first;
    u64 all = c.kind == TT_CONTENT_RANDOM ? chunks * 8 : c.n / 8, step = gridDim.x * (u64)blockDim.x;

    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < all; i += step)
        if (c.kind == TT_CONTENT_RANDOM)
            visit_lane<comparing>(c, first + i / 8, (u32)(i % 8));
        else
            visit<comparing>(c, i, tt_content_ior_word((int)c.kind, c.signature, c.owner, c.offset, i));
}

extern "C" __global__ void fill(content c)
{
    visit_all<false>(c);
}

extern "C" __global__ void compare(content c)
{
    visit_all<true>(c);
}
