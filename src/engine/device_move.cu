/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Elements of a selection in the device's memory to a dense array, and back; the struct is that of
 * device_move.c. Compiled at run time, behind selection_both.h. */
struct move {
    char *scattered;
    char *dense;
    u64 n, element;
    tt_device_selection memory;
};

template <typename T> static __device__ void gather_as(const move &m)
{
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < m.n; i += gridDim.x * (u64)blockDim.x)
        ((T *)m.dense)[i] = ((const T *)m.scattered)[tt_device_place_of(&m.memory, i)];
}

template <typename T> static __device__ void scatter_as(const move &m)
{
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < m.n; i += gridDim.x * (u64)blockDim.x)
        ((T *)m.scattered)[tt_device_place_of(&m.memory, i)] = ((const T *)m.dense)[i];
}

/* Elements of any other size byte by byte. */
static __device__ void move_bytes(const move &m, bool out)
{
    u64 all = m.n * m.element;

    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < all; i += gridDim.x * (u64)blockDim.x) {
        char *there = m.scattered + tt_device_place_of(&m.memory, i / m.element) * m.element + i % m.element;

        if (out)
            m.dense[i] = *there;
        else
            *there = m.dense[i];
    }
}

extern "C" __global__ void gather(move m)
{
    if (m.element == 8 && ((u64)m.dense | (u64)m.scattered) % 8 == 0)
        gather_as<double>(m);
    else if (m.element == 4 && ((u64)m.dense | (u64)m.scattered) % 4 == 0)
        gather_as<float>(m);
    else
        move_bytes(m, true);
}

extern "C" __global__ void scatter(move m)
{
    if (m.element == 8 && ((u64)m.dense | (u64)m.scattered) % 8 == 0)
        scatter_as<double>(m);
    else if (m.element == 4 && ((u64)m.dense | (u64)m.scattered) % 4 == 0)
        scatter_as<float>(m);
    else
        move_bytes(m, false);
}
