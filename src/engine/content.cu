/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Content of transfers in a device's memory, word by word that of content.c; the struct is that of
 * device_content.c. Compiled at run time. */
typedef unsigned long long u64;
typedef unsigned u32;

struct content {
    u64 *data;
    u64 *found; /* compare: bytes from the first wrong one to the end */
    u64 n, offset, signature, owner;
    double duplicate, compressible;
    u32 kind, random; /* random: words of a chunk that are */
};
enum { RANDOM, TIMESTAMP, OFFSET, SCATTER };

static __device__ u64 mix(u64 x)
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

static __device__ u64 chunk_key(const content &c, u64 chunk)
{
    u64 key = mix(mix(mix(c.signature) + c.owner) + chunk);

    if ((double)(key >> 11) / 9007199254740992.0 < c.duplicate)
        return mix(mix(c.signature + 1) + key % 16);
    return key;
}

static __device__ u64 ior_word(const content &c, u64 i)
{
    u64 mine = c.owner << 32;

    if (c.kind != TIMESTAMP && i % 512 == 0)
        return mine | (u32)(c.offset * (i / 512 + 1));
    if (c.kind == SCATTER)
        return mix(mix(c.signature + c.owner) + i);
    return mine | (u32)(c.signature + i);
}

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
    u64 key = chunk_key(c, chunk), a = mix(key + lane) | 1, b = mix(key + 8 + lane) | 1;

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
    u64 all = c.kind == RANDOM ? chunks * 8 : c.n / 8, step = gridDim.x * (u64)blockDim.x;

    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < all; i += step)
        if (c.kind == RANDOM)
            visit_lane<comparing>(c, first + i / 8, (u32)(i % 8));
        else
            visit<comparing>(c, i, ior_word(c, i));
}

extern "C" __global__ void fill(content c)
{
    visit_all<false>(c);
}

extern "C" __global__ void compare(content c)
{
    visit_all<true>(c);
}
