/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Content of pattern in a device's memory, element by element that of content.c; the struct is that
 * of device.c. Compiled at run time, behind selection_both.h. */
struct field {
    u32 kind, count, offset, width;
};
struct content {
    unsigned char *data;
    u64 *found; /* not 0: something is wrong */
    tt_device_selection file, memory;
    u64 n, seed; /* elements; of whole memory: bytes */
    u32 size, nfields;
    field fields[64];
};
enum { U8, I32, U32, I64, U64, F32, F64, CHAR }; /* as io/model.h has them */
enum { POISON = 0xa5 };

/* The bytes of a value, the first one lowest. */
static __device__ u64 bits_of(u32 kind, u64 h)
{
    if (kind == CHAR)
        return 'a' + h % 26;
    if (kind == F32)
        return __float_as_uint((float)(h >> 40) * 0x1p-24f);
    if (kind == F64)
        return (u64)__double_as_longlong((double)(h >> 11) * 0x1p-53);
    return h;
}

enum what { FILL, COMPARE, SPOIL };

/* False: something is not what it should be. */
template <what act> static __device__ bool visit(const content &c, u64 i)
{
    u64 h = tt_mix(c.seed + tt_device_place_of(&c.file, i)), bits;
    unsigned char *element = c.data + tt_device_place_of(&c.memory, i) * c.size;

    for (u32 f = 0; f < c.nfields; f++)
        for (u32 j = 0; j < c.fields[f].count; j++) {
            unsigned char *to = element + c.fields[f].offset + j * c.fields[f].width;

            bits = bits_of(c.fields[f].kind, h);
            for (u32 k = 0; k < c.fields[f].width; k++) {
                unsigned char right = act == SPOIL ? POISON : (unsigned char)(bits >> 8 * k);

                if (act == COMPARE && to[k] != right)
                    return false;
                if (act != COMPARE)
                    to[k] = right;
            }
            h = tt_mix(h);
        }
    return true;
}

template <what act> static __device__ void visit_all(const content &c)
{
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < c.n; i += gridDim.x * (u64)blockDim.x)
        if (!visit<act>(c, i))
            *c.found = 1;
}

extern "C" __global__ void fill(content c)
{
    visit_all<FILL>(c);
}

extern "C" __global__ void compare(content c)
{
    visit_all<COMPARE>(c);
}

extern "C" __global__ void spoil(content c)
{
    visit_all<SPOIL>(c);
}

/* All of the memory, between the selections, too. */
extern "C" __global__ void spoil_memory(content c)
{
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < c.n; i += gridDim.x * (u64)blockDim.x)
        c.data[i] = POISON;
}

extern "C" __global__ void look_at_memory(content c)
{
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < c.n; i += gridDim.x * (u64)blockDim.x)
        if (c.data[i] != POISON)
            *c.found = 1;
}
