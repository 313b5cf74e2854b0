/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stencils on a device. Compiled at run time (NVRTC, later hiprtc), so without any #include, and
 * always without contracted multiply-adds: the operations and their order are those of kernels.c, so
 * that device and CPU give the same bits. */

/* ---- what the machines call differently ---- */

#if defined(__HIP__) || defined(__HIPCC__)
#define SHUFFLE(value, lane) __shfl(value, lane, 32)
#define LOAD(p) (*(p))
#define STORE(p, value) (*(p) = (value))
#else
#define SHUFFLE(value, lane) __shfl_sync(0xffffffffu, value, lane)
#define LOAD(p) __ldg(p)
#define STORE(p, value) __stcg(p, value)
#endif

#define DEVICE static __device__ __forceinline__

/* What was fastest on an H200; device.c knows the rows, too. Rows that a thread computes from loads
 * that are all under way together: */
#define ROWS_2D 8
#define ROWS_2D_SINE 4
#define ROWS_STAR3D 6
#define ROWS_BOX3D 3
/* Planes under way. */
#define DEPTH_STAR3D 1
#define DEPTH_BOX3D 1
/* The largest block of a sweep, and how many of them are to run on a multiprocessor at least, which
 * caps the registers. */
#define THREADS 128
#define BLOCKS_2D 1
#define BLOCKS_2D_SINE 1
#define BLOCKS_STAR3D 3
#define BLOCKS_BOX3D 3
#define BLOCKS_3D_SINE 1

enum shape { STAR2D, BOX2D, STAR3D, BOX3D };

/* Plane, row, column; counted from the first owned point. */
struct tt_sweep {
    const double *old_values;
    double *new_values;
    const double *sines[2];
    double *residual;
    long long row, plane;
    long long first[3], last[3];
    long long column;
    double h, coefficient;
    unsigned long long work;
};

/* ---- the arithmetic of a point, as kernels.c has it ---- */

DEVICE double sine(double x)
{
    double t = x - 0.5, u = t * t;
    double p = u * 0x1.1678f9078a9b3p-18 - 0x1.b6957b54dd389p-14;

    p = p * u + 0x1.f9d254582ac30p-10;
    p = p * u - 0x1.a6d1efc8c38bep-6;
    p = p * u + 0x1.e1f506813a321p-3;
    p = p * u - 0x1.55d3c7e3bfbf5p+0;
    p = p * u + 0x1.03c1f081b5992p+2;
    p = p * u - 0x1.3bd3cc9be45dbp+2;
    return p * u + 1.0;
}

/* The distance of points, again for each of the rows a thread computes together. The number of a
 * bit that is never set comes in, or the compiler would evaluate the sine once for all of them, and
 * less work would be done than is counted. */
DEVICE double step_of_row(const tt_sweep &a, int i)
{
    return __longlong_as_double(__double_as_longlong(a.h) ^ (a.row >> (44 + i) & 1));
}

DEVICE double row_factor(const tt_sweep &a, long long plane, long long row)
{
    return (a.coefficient * LOAD(a.sines[0] + plane)) * LOAD(a.sines[1] + row);
}

/* The compiler cannot know them to be useless: t stays finite, and v + t * 0 is v. */
DEVICE void extra_work(unsigned long long work, double &x, double &y)
{
    double s = x, t = y;

    for (unsigned long long w = 0; w < work; w++) {
        s = s * 0.5 + 0.25;
        t = t * 0.5 + 0.25;
    }
    x += s * 0.0;
    y += t * 0.0;
}

/* ---- the largest change ---- */

struct change {
    double worst;
};

/* Not for NaN, as fmax(). */
DEVICE void note_change(change &c, double a, double b)
{
    double d = fabs(a - b);

    if (d > c.worst)
        c.worst = d;
}

/* By all threads of the block. Numbers that are not negative sort like their bits. */
DEVICE void share_change(double *residual, double worst)
{
    __shared__ double of_warp[32];
    unsigned me = threadIdx.y * blockDim.x + threadIdx.x, lane = me % 32;
    unsigned warps = (blockDim.x * blockDim.y + 31) / 32;

    for (unsigned far = 16; far > 0; far /= 2) {
        double other = SHUFFLE(worst, (int)(lane ^ far));

        worst = other > worst ? other : worst;
    }
    if (lane == 0)
        of_warp[me / 32] = worst;
    __syncthreads();
    if (me != 0)
        return;
    for (unsigned w = 1; w < warps; w++)
        worst = of_warp[w] > worst ? of_warp[w] : worst;
    atomicMax((unsigned long long *)residual, (unsigned long long)__double_as_longlong(worst));
}

/* ---- two columns a thread ---- */

/* A thread has the columns at and at + 1 (at is even), so that it loads and stores 16 bytes; what
 * lies to the west and east is with its neighbours in the warp, but for the warp's ends. */
struct columns {
    long long at;
    int lane, aside; /* aside: where a warp's end finds what no neighbour has */
    bool end, x, y;  /* x, y: the columns are in the box */
};
struct piece {
    double2 v;
    double side;
};
struct quad {
    double w, x, y, e;
};

/* Lanes beyond the last column load what the last one needs: any address that can be read does, but
 * their neighbours rely on the first of them. */
DEVICE columns my_columns(const tt_sweep &a)
{
    columns c;
    long long start = a.first[2] & -8LL;
    long long at = start + 2 * ((long long)blockIdx.x * blockDim.x + threadIdx.x);

    c.x = at >= a.first[2] && at < a.last[2];
    c.y = at + 1 >= a.first[2] && at + 1 < a.last[2];
    c.at = at < a.last[2] ? at : a.last[2] & -2LL;
    c.lane = (int)(threadIdx.x % 32);
    c.end = c.lane == 0 || c.lane == 31;
    c.aside = c.lane == 0 ? -1 : 2;
    return c;
}

/* No thread of the warp has anything to do. */
DEVICE bool warp_is_beyond(const tt_sweep &a)
{
    long long start = a.first[2] & -8LL;

    return start + 2 * ((long long)blockIdx.x * blockDim.x + threadIdx.x / 32 * 32) >= a.last[2];
}

DEVICE piece load_piece(const columns &c, const double *p)
{
    piece r;

    r.v = LOAD((const double2 *)p);
    r.side = 0.0;
    if (c.end)
        r.side = LOAD(p + c.aside);
    return r;
}

DEVICE double2 load_middle(const double *p)
{
    return LOAD((const double2 *)p);
}

DEVICE quad with_sides(const columns &c, const piece &p)
{
    double w = SHUFFLE(p.v.y, (c.lane + 31) % 32), e = SHUFFLE(p.v.x, (c.lane + 1) % 32);
    quad q = {c.lane == 0 ? p.side : w, p.v.x, p.v.y, c.lane == 31 ? p.side : e};

    return q;
}

/* What the weighted sum is in both columns becomes the new value. */
template <bool SINE>
DEVICE void finish(const tt_sweep &a, const columns &c, double x, double y, double factor,
                   double step, double2 old, double *p, change &worst)
{
    if (SINE) {
        x += factor * sine((double)(a.column + c.at) * step);
        y += factor * sine((double)(a.column + c.at + 1) * step);
    }
    if (a.work)
        extra_work(a.work, x, y);
    if (c.x && c.y) {
        STORE((double2 *)p, make_double2(x, y));
    } else {
        if (c.x)
            STORE(p, x);
        if (c.y)
            STORE(p + 1, y);
    }
    if (a.residual) {
        if (c.x)
            note_change(worst, x, old.x);
        if (c.y)
            note_change(worst, y, old.y);
    }
}

/* ---- 2D ---- */

DEVICE double box2d(double cross, double corners)
{
    return (4.0 * cross + corners) * (1.0 / 20);
}

/* ROWS rows, fewer at the end of the box: there the last row below is loaded again and again, so
 * that no load waits for a decision. */
template <int SHAPE, bool SINE, int ROWS>
DEVICE void tile_2d(const tt_sweep &a, const columns &c, long long plane, long long first,
                    change &worst)
{
    int rows = a.last[1] - first < ROWS ? (int)(a.last[1] - first) : ROWS;
    long long start = plane * a.plane + first * a.row + c.at;
    const double *p = a.old_values + start - a.row;
    piece in[ROWS + 2];
    quad q[3];

#pragma unroll
    for (int i = 0; i < ROWS + 2; i++) {
        in[i] = load_piece(c, p);
        p += i <= rows ? a.row : 0;
    }
    q[1] = with_sides(c, in[0]);
    q[2] = with_sides(c, in[1]);
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        q[0] = q[1];
        q[1] = q[2];
        q[2] = with_sides(c, in[i + 2]);
        double x = q[0].x + q[1].w + q[1].y + q[2].x, y = q[0].y + q[1].x + q[1].e + q[2].y;
        double factor = SINE && i < rows ? row_factor(a, plane, first + i) : 0.0;

        if (SHAPE == STAR2D) {
            x = 0.25 * x;
            y = 0.25 * y;
        } else {
            x = box2d(x, q[0].w + q[0].y + q[2].w + q[2].y);
            y = box2d(y, q[0].x + q[0].e + q[2].x + q[2].e);
        }
        if (i < rows)
            finish<SINE>(a, c, x, y, factor, SINE ? step_of_row(a, i) : 0.0, in[i + 1].v,
                         a.new_values + start + i * a.row, worst);
    }
}

template <int SHAPE, bool SINE, int ROWS> DEVICE void sweep_2d(const tt_sweep &a, change &worst)
{
    columns c = my_columns(a);
    long long step = (long long)gridDim.y * blockDim.y * ROWS;
    long long first = a.first[1] + ((long long)blockIdx.y * blockDim.y + threadIdx.y) * ROWS;

    if (warp_is_beyond(a))
        return;
    for (long long plane = a.first[0] + blockIdx.z; plane < a.last[0]; plane += gridDim.z)
        for (long long row = first; row < a.last[1]; row += step)
            tile_2d<SHAPE, SINE, ROWS>(a, c, plane, row, worst);
}

/* ---- 3D ---- */

/* The planes first <= plane < last of a block: the box is cut into gridDim.z layers. */
DEVICE void my_planes(const tt_sweep &a, long long &first, long long &last)
{
    long long all = a.last[0] - a.first[0], layer = (all + gridDim.z - 1) / gridDim.z;

    first = a.first[0] + layer * blockIdx.z;
    last = first + layer < a.last[0] ? first + layer : a.last[0];
}

/* Part of a plane: a thread's rows and the two around them. */
template <int ROWS> struct level {
    piece row[ROWS + 2];
};

/* at: the row above the thread's first. Without AROUND, no sides of the outer two. */
template <bool AROUND, int ROWS>
DEVICE void load_level(level<ROWS> &l, const tt_sweep &a, const columns &c, long long at)
{
    const double *p = a.old_values + at;

#pragma unroll
    for (int i = 0; i < ROWS + 2; i++) {
        if (AROUND || (i > 0 && i <= ROWS)) {
            l.row[i] = load_piece(c, p);
        } else {
            l.row[i].v = load_middle(p);
            l.row[i].side = 0.0;
        }
        p += a.row;
    }
}

/* The weighted sums of rows below each other become the new values; to: the row above them. */
template <bool SINE, int ROWS>
DEVICE void finish_rows(const tt_sweep &a, const columns &c, double2 *v, long long plane,
                        long long first, double *to, change &worst, const double2 *old)
{
    if (SINE) {
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            double factor = row_factor(a, plane, first + i), step = step_of_row(a, i);

            v[i].x += factor * sine((double)(a.column + c.at) * step);
            v[i].y += factor * sine((double)(a.column + c.at + 1) * step);
        }
    }
    if (a.work) {
#pragma unroll
        for (int i = 0; i < ROWS; i++)
            extra_work(a.work, v[i].x, v[i].y);
    }
    if (c.x && c.y) {
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            to += a.row;
            STORE((double2 *)to, v[i]);
        }
    } else if (c.x || c.y) {
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            to += a.row;
            STORE(to + (c.x ? 0 : 1), c.x ? v[i].x : v[i].y);
        }
    }
    if (a.residual) {
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            if (c.x)
                note_change(worst, v[i].x, old[i].x);
            if (c.y)
                note_change(worst, v[i].y, old[i].y);
        }
    }
}

/* The star's sum but for the plane above. Sums are in the order of kernels.c, in which that plane
 * comes last: so a thread has two planes less to remember. */
template <int ROWS>
DEVICE void star_without_above(double2 *sum, const columns &c, const double2 *below,
                               const level<ROWS> &here)
{
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        quad q = with_sides(c, here.row[i + 1]);
        double2 n = here.row[i].v, s = here.row[i + 2].v;

        sum[i].x = below[i].x + n.x + q.w + q.y + s.x;
        sum[i].y = below[i].y + n.y + q.x + q.e + s.y;
    }
}

/* Up through the planes; DEPTH of them are under way while one is computed. */
template <bool SINE, int ROWS, int DEPTH>
DEVICE void star_column(const tt_sweep &a, const columns &c, long long first, change &worst)
{
    long long plane, last;
    double2 sum[ROWS], here[ROWS];
    level<ROWS> next[DEPTH];

    my_planes(a, plane, last);
    if (plane >= last)
        return;
    long long at = plane * a.plane + (first - 1) * a.row + c.at, ahead = at;
    int more = (int)(last - plane);

#pragma unroll
    for (int i = 0; i < ROWS; i++)
        here[i] = load_middle(a.old_values + at - a.plane + (i + 1) * a.row);
    load_level<false, ROWS>(next[0], a, c, at);
    star_without_above<ROWS>(sum, c, here, next[0]);
#pragma unroll
    for (int i = 0; i < ROWS; i++)
        here[i] = next[0].row[i + 1].v;
#pragma unroll
    for (int d = 0; d < DEPTH; d++) {
        ahead += more-- > 0 ? a.plane : 0;
        load_level<false, ROWS>(next[d], a, c, ahead);
    }
#pragma unroll 1
    for (; plane < last; plane++) {
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            sum[i].x = (sum[i].x + next[0].row[i + 1].v.x) * (1.0 / 6);
            sum[i].y = (sum[i].y + next[0].row[i + 1].v.y) * (1.0 / 6);
        }
        finish_rows<SINE, ROWS>(a, c, sum, plane, first, a.new_values + at, worst, here);
        star_without_above<ROWS>(sum, c, here, next[0]);
#pragma unroll
        for (int i = 0; i < ROWS; i++)
            here[i] = next[0].row[i + 1].v;
#pragma unroll
        for (int d = 1; d < DEPTH; d++)
            next[d - 1] = next[d];
        ahead += more-- > 0 ? a.plane : 0;
        load_level<false, ROWS>(next[DEPTH - 1], a, c, ahead);
        at += a.plane;
    }
}

/* The sums of the box in a thread's two columns and the one aside of a warp's end. */
struct sums {
    double x, y, side;
};

/* Sums of one row that are complete but for the plane above. */
struct box_sums {
    sums next, diagonal;
};

DEVICE quad of_neighbours(const columns &c, const sums &s)
{
    piece p = {make_double2(s.x, s.y), s.side};

    return with_sides(c, p);
}

template <int ROWS>
DEVICE void box_without_above(box_sums *sum, const level<ROWS> &below, const level<ROWS> &here)
{
#define NEXT_TO(m) (below.row[i + 1].m + here.row[i].m + here.row[i + 2].m)
#define DIAGONAL_TO(m) (below.row[i].m + below.row[i + 2].m)
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        sum[i].next = {NEXT_TO(v.x), NEXT_TO(v.y), NEXT_TO(side)};
        sum[i].diagonal = {DIAGONAL_TO(v.x), DIAGONAL_TO(v.y), DIAGONAL_TO(side)};
    }
#undef NEXT_TO
#undef DIAGONAL_TO
}

DEVICE double box3d(double faces, double edges, double corners)
{
    return (14.0 * faces + 3.0 * edges + corners) * (1.0 / 128);
}

/* above: three rows; here: the one that is computed. */
DEVICE double2 box_of_row(const columns &c, const box_sums &sum, const piece *above,
                          const piece &here)
{
#define WITH_ABOVE(m, of) {sum.next.m + above[1].of, sum.diagonal.m + above[0].of + above[2].of}
    double x[2] = WITH_ABOVE(x, v.x), y[2] = WITH_ABOVE(y, v.y), side[2] = WITH_ABOVE(side, side);
#undef WITH_ABOVE
    sums all = {x[0], y[0], side[0]}, others = {x[1], y[1], side[1]};
    quad next = of_neighbours(c, all), diagonal = of_neighbours(c, others);
    quad h = with_sides(c, here);

    return make_double2(box3d(next.x + h.w + h.y, diagonal.x + next.w + next.y,
                              diagonal.w + diagonal.y),
                        box3d(next.y + h.x + h.e, diagonal.y + next.x + next.e,
                              diagonal.x + diagonal.e));
}

template <bool SINE, int ROWS, int DEPTH>
DEVICE void box_column(const tt_sweep &a, const columns &c, long long first, change &worst)
{
    long long plane, last;
    level<ROWS> here, next[DEPTH];
    box_sums sum[ROWS];

    my_planes(a, plane, last);
    if (plane >= last)
        return;
    long long at = plane * a.plane + (first - 1) * a.row + c.at, ahead = at;
    int more = (int)(last - plane);

    load_level<true, ROWS>(next[0], a, c, at - a.plane);
    load_level<true, ROWS>(here, a, c, at);
    box_without_above<ROWS>(sum, next[0], here);
#pragma unroll
    for (int d = 0; d < DEPTH; d++) {
        ahead += more-- > 0 ? a.plane : 0;
        load_level<true, ROWS>(next[d], a, c, ahead);
    }
#pragma unroll 1
    for (; plane < last; plane++) {
        double2 v[ROWS], old[ROWS];

#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            v[i] = box_of_row(c, sum[i], next[0].row + i, here.row[i + 1]);
            old[i] = here.row[i + 1].v;
        }
        finish_rows<SINE, ROWS>(a, c, v, plane, first, a.new_values + at, worst, old);
        box_without_above<ROWS>(sum, here, next[0]);
        here = next[0];
#pragma unroll
        for (int d = 1; d < DEPTH; d++)
            next[d - 1] = next[d];
        ahead += more-- > 0 ? a.plane : 0;
        load_level<true, ROWS>(next[DEPTH - 1], a, c, ahead);
        at += a.plane;
    }
}

/* If the last rows are fewer than ROWS, those before them are computed again, to the same bits. */
template <int SHAPE, bool SINE, int ROWS> DEVICE void sweep_3d(const tt_sweep &a, change &worst)
{
    columns c = my_columns(a);
    long long step = (long long)gridDim.y * blockDim.y * ROWS;
    long long first = a.first[1] + ((long long)blockIdx.y * blockDim.y + threadIdx.y) * ROWS;

    if (warp_is_beyond(a))
        return;
    for (long long n = first; n < a.last[1]; n += step) {
        long long row = n + ROWS <= a.last[1] ? n : a.last[1] - ROWS;

        if (SHAPE == STAR3D)
            star_column<SINE, ROWS, ROWS == 1 ? 1 : DEPTH_STAR3D>(a, c, row, worst);
        else
            box_column<SINE, ROWS, ROWS == 1 ? 1 : DEPTH_BOX3D>(a, c, row, worst);
    }
}

/* ---- thin boxes: a point a thread ---- */

DEVICE double cross(const double *p, long long row)
{
    return LOAD(p - row) + LOAD(p - 1) + LOAD(p + 1) + LOAD(p + row);
}

DEVICE double next_to(const double *p, long long row, long long plane)
{
    return LOAD(p - plane) + LOAD(p - row) + LOAD(p + row) + LOAD(p + plane);
}

DEVICE double diagonal_to(const double *p, long long row, long long plane)
{
    return LOAD(p - row - plane) + LOAD(p + row - plane) + LOAD(p - row + plane) +
           LOAD(p + row + plane);
}

template <int SHAPE> DEVICE double weighted_sum(const double *p, long long row, long long plane)
{
    if (SHAPE == STAR2D)
        return 0.25 * cross(p, row);
    if (SHAPE == BOX2D)
        return box2d(cross(p, row),
                     LOAD(p - row - 1) + LOAD(p - row + 1) + LOAD(p + row - 1) + LOAD(p + row + 1));
    if (SHAPE == STAR3D)
        return (LOAD(p - plane) + LOAD(p - row) + LOAD(p - 1) + LOAD(p + 1) + LOAD(p + row) +
                LOAD(p + plane)) *
               (1.0 / 6);
    return box3d(next_to(p, row, plane) + LOAD(p - 1) + LOAD(p + 1),
                 diagonal_to(p, row, plane) + next_to(p - 1, row, plane) +
                     next_to(p + 1, row, plane),
                 diagonal_to(p - 1, row, plane) + diagonal_to(p + 1, row, plane));
}

template <int SHAPE, bool SINE>
DEVICE void one_point(const tt_sweep &a, long long plane, long long row, long long j, change &worst)
{
    long long at = plane * a.plane + row * a.row + j;
    double v = weighted_sum<SHAPE>(a.old_values + at, a.row, a.plane), unused = 0.0;

    if (SINE)
        v += row_factor(a, plane, row) * sine((double)(a.column + j) * a.h);
    if (a.work)
        extra_work(a.work, v, unused);
    a.new_values[at] = v;
    if (a.residual)
        note_change(worst, v, LOAD(a.old_values + at));
}

template <int SHAPE, bool SINE> DEVICE void sweep_points(const tt_sweep &a, change &worst)
{
    for (long long plane = a.first[0] + blockIdx.z; plane < a.last[0]; plane += gridDim.z)
        for (long long row = a.first[1] + (long long)blockIdx.y * blockDim.y + threadIdx.y;
             row < a.last[1]; row += (long long)gridDim.y * blockDim.y)
            for (long long j = a.first[2] + (long long)blockIdx.x * blockDim.x + threadIdx.x;
                 j < a.last[2]; j += (long long)gridDim.x * blockDim.x)
                one_point<SHAPE, SINE>(a, plane, row, j, worst);
}

/* ---- the sweeps ---- */

#define ROWS_3D(shape) ((shape) == STAR3D ? ROWS_STAR3D : ROWS_BOX3D)

/* Blocks narrower than a warp are for thin boxes. */
template <int SHAPE, bool SINE> DEVICE void sweep(const tt_sweep &a)
{
    change worst = {0.0};

    if (blockDim.x < 32)
        sweep_points<SHAPE, SINE>(a, worst);
    else if (SHAPE == STAR2D || SHAPE == BOX2D)
        sweep_2d<SHAPE, SINE, SINE ? ROWS_2D_SINE : ROWS_2D>(a, worst);
    else if (a.last[1] - a.first[1] < ROWS_3D(SHAPE))
        sweep_3d<SHAPE, SINE, 1>(a, worst);
    else
        sweep_3d<SHAPE, SINE, ROWS_3D(SHAPE)>(a, worst);
    if (a.residual)
        share_change(a.residual, worst.worst);
}

#define SWEEP(name, shape, sine, blocks) \
    extern "C" __global__ void __launch_bounds__(THREADS, blocks) name(tt_sweep a) \
    { \
        sweep<shape, sine>(a); \
    }
SWEEP(sweep_star2d, STAR2D, false, BLOCKS_2D)
SWEEP(sweep_star2d_sine, STAR2D, true, BLOCKS_2D_SINE)
SWEEP(sweep_box2d, BOX2D, false, BLOCKS_2D)
SWEEP(sweep_box2d_sine, BOX2D, true, BLOCKS_2D_SINE)
SWEEP(sweep_star3d, STAR3D, false, BLOCKS_STAR3D)
SWEEP(sweep_star3d_sine, STAR3D, true, BLOCKS_3D_SINE)
SWEEP(sweep_box3d, BOX3D, false, BLOCKS_BOX3D)
SWEEP(sweep_box3d_sine, BOX3D, true, BLOCKS_3D_SINE)

/* Columns that are not in the box are zeros. */
DEVICE double2 load_inside(const columns &c, const double *p)
{
    double2 v = LOAD((const double2 *)p);

    v.x = c.x ? v.x : 0.0;
    v.y = c.y ? v.y : 0.0;
    return v;
}

#define ROWS_DIFFERENCE 4
extern "C" __global__ void __launch_bounds__(256) difference(tt_sweep a)
{
    columns c = my_columns(a);
    long long rows = a.last[1] - a.first[1], all = rows * (a.last[0] - a.first[0]);
    long long step = (long long)gridDim.y * blockDim.y * ROWS_DIFFERENCE;
    long long n = ((long long)blockIdx.y * blockDim.y + threadIdx.y) * ROWS_DIFFERENCE;
    change worst = {0.0};

    for (; n < all; n += step) {
        double2 x[ROWS_DIFFERENCE], y[ROWS_DIFFERENCE];

#pragma unroll
        for (int i = 0; i < ROWS_DIFFERENCE; i++) {
            long long r = n + i < all ? n + i : all - 1;
            long long plane = r / rows, row = r - plane * rows;
            long long at = (a.first[0] + plane) * a.plane + (a.first[1] + row) * a.row + c.at;

            x[i] = load_inside(c, a.old_values + at);
            y[i] = load_inside(c, a.new_values + at);
        }
#pragma unroll
        for (int i = 0; i < ROWS_DIFFERENCE; i++) {
            note_change(worst, x[i].x, y[i].x);
            note_change(worst, x[i].y, y[i].y);
        }
    }
    share_change(a.residual, worst.worst);
}
