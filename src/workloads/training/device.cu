/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The computation of work.c on a device: every group of threads makes the same products as a rank of
 * the host does, with a result of its own. The struct is that of device.c. Compiled at run time. */
#define N 64

struct products {
    float *matrices; /* a, b, and then the result of every group */
    u64 passes, groups;
};

/* Each of 256 threads has 16 columns of a row. */
extern "C" __global__ void multiply(products p)
{
    __shared__ float a[N * N], b[N * N];
    float *result = p.matrices + (2 + blockIdx.x) * N * N + threadIdx.x * 16, c[16];
    int row = threadIdx.x / 4, column = threadIdx.x % 4 * 16;

    for (int i = threadIdx.x; i < N * N; i += 256) {
        a[i] = p.matrices[i];
        b[i] = p.matrices[N * N + i];
    }
    __syncthreads();
    for (int j = 0; j < 16; j++)
        c[j] = result[j];
    for (u64 pass = 0; pass < p.passes; pass++) {
        for (int j = 0; j < 16; j++)
            c[j] *= 0.5f;
        for (int k = 0; k < N; k++)
            for (int j = 0; j < 16; j++)
                c[j] += a[row * N + k] * b[k * N + column + j];
    }
    for (int j = 0; j < 16; j++)
        result[j] = c[j];
}
