/* What the matrices and the gradients of a covariance kernel share: how blocks go through the pairs of
 * points, and what a thread reads of them.
 *
 * A task is 32 rows by some columns. A thread has one row, with neighbours in memory for its neighbours, and
 * 16 bytes of columns at a time, so that reading a node, a weight or a coordinate serves several pairs. The
 * program, the values of its nodes and a tile of the points are in shared memory while there is room, else in
 * global memory: the same code reads both. */
#ifndef CT_TENSOR_CUDA_COVARIANCE_CUH
#define CT_TENSOR_CUDA_COVARIANCE_CUH

#include "cuda.h"

#include <float.h>
#include <math.h>

#include "tensor/covariance.h"

enum {
    CT__LANES = 32, /* rows of a task                                                       */
    CT__WARPS = 4,  /* which share its columns                                              */
    CT__THREADS = CT__LANES * CT__WARPS,
    CT__CHUNK = 64,      /* columns whose points are in shared memory at once               */
    CT__ROOM = 40 << 10, /* bytes of shared memory: for five blocks a processor             */
    CT__PROGRAM = 2048,  /* bytes of a program that goes with the arguments of the kernel   */
};

/* Coordinate d of point i of a tile in shared memory is at [d * pitch + i]. */
struct ct__tile {
    enum { X_PITCH = CT__LANES + 1, Z_PITCH = CT__CHUNK + 1 };
};

/* pairs that a thread has at once */
template <typename T> struct ct__pairs {
    enum { COUNT = 16 / sizeof(T), STEP = COUNT * CT__WARPS };
};

/* Which pairs there are: all, those with j <= i, those with j >= i. */
enum { CT__ALL, CT__LOWER, CT__UPPER };

/* A part of a block's memory, in bytes from the beginning of what it has of shared or of global memory. */
struct ct__place {
    int64_t at, global;
};

typedef struct ct__words {
    int32_t word[CT__PROGRAM / 4];
} ct__words;

/* The arguments of a kernel. Numbers are as wide as what follows: no padding, whose bytes would be
 * anything. */
template <typename T> struct ct__plan {
    ct__words program; /* or, where it is larger, in global memory: */
    const ct_cov_node
        *nodes; /* else NULL, as the next three: blocks make them of `program` and `theta_from` */
    const int32_t *dims;
    const T *theta, *weight;
    const T *theta_from;
    int64_t theta_step;
    int32_t bytes, n_nodes, n_params, n_dims;
    const T *x, *z; /* NULL: nothing */
    int64_t n, m, d, x_row, x_col, z_row, z_col;
    int64_t symmetric, part, columns, row_tiles, tasks;
    int64_t small; /* program and points are in shared memory */
    ct__place program_at, values_at, x_at, z_at;
    int64_t shared, global; /* bytes of a block so far */
    char *room;             /* global memory of the blocks */
};

/* What a thread sees: the program, and its pairs (x, z[p]). SHARED: program and points are in shared
 * memory. */
template <typename T, bool SHARED> struct ct__thread {
    enum { PAIRS = ct__pairs<T>::COUNT };
    const ct_cov_node *nodes;
    const int32_t *dims;
    const T *theta, *weight,
        *slope; /* weight: 1/l² of each active column, in the order of the program's, NaN where it is not to be used: then
                   s is NaN, too; slope: -∂s/∂l by what is summed up, 2/l³ of it, or 2/l where one lengthscale is for all of s */
    T *value; /* of node k and pair p at [(k * PAIRS + p) * CT__THREADS], but the last's */
    const T *x, *z;
    int64_t x_col, z_col, z_row;
    int last;         /* the last pair's distance in columns: less than PAIRS - 1 at the edge of a matrix */
    bool same[PAIRS]; /* a point with itself, in the symmetric matrix */

    __device__ __forceinline__ T x_at(int d) const
    {
        return SHARED ? x[d * ct__tile::X_PITCH] : x[d * x_col];
    }
    __device__ __forceinline__ T z_at(int d, int p) const
    {
        if (SHARED) return z[d * ct__tile::Z_PITCH + p];
        return z[d * z_col + (p < last ? p : last) * z_row];
    }
};

#define CT__EACH_PAIR(p) CT__UNROLL for (int p = 0; p < ct__pairs<T>::COUNT; p++)

/* -- making a plan, on the host: begin, take what else a block needs, points, tasks; then the memory, and fill  */

/* Z NULL: the symmetric matrix of x. */
template <typename T>
void ct__plan_begin(const ct_cov_program *program, const ct_view *theta, const ct_view *x, const ct_view *z,
                    ct__plan<T> *plan);
template <typename T> ct__place ct__plan_take(ct__plan<T> *plan, int64_t bytes);
template <typename T> void ct__plan_points(ct__plan<T> *plan);
/* The tasks, of at most `most` pieces of columns. */
template <typename T> void ct__plan_tasks(ct__plan<T> *plan, int64_t most);
/* How many blocks there is memory for: it is to fit where a factorisation had its panel, which
 * ct_gp_bytes_needed counts. `bytes` more for each, `common` for all. */
template <typename T> unsigned ct__plan_blocks(const ct__plan<T> *plan, int64_t bytes, int64_t common);
/* Bytes of global memory, for all blocks. */
template <typename T>
int64_t ct__plan_bytes(const ct__plan<T> *plan, const ct_cov_program *program, unsigned blocks);
/* Queues what the kernels are to find in `room`. */
template <typename T>
ct_status ct__plan_fill(ct_device *dev, const ct_cov_program *program, ct__plan<T> *plan, unsigned blocks,
                        void *room);

/* -- a block --------------------------------------------------------------------------------------------- */

template <typename P, typename T>
static __device__ __forceinline__ P *ct__find(const ct__plan<T> &p, ct__place place, char *shared)
{
    return (P *)(place.global ? p.room + blockIdx.x * p.global + place.at : shared + place.at);
}

/* theta, weight and slope, one behind the other; by all threads of a block */
template <typename T>
static __device__ __forceinline__ void ct__prepare(const ct__plan<T> &p, const ct_cov_node *nodes, T *theta)
{
    const int t = (int)threadIdx.x, step = (int)blockDim.x;
    T *weight = theta + p.n_params, *slope = weight + p.n_dims;
    for (int i = t; i < p.n_params; i += step) theta[i] = p.theta_from[i * p.theta_step];
    for (int k = 0; k < p.n_nodes; k++) {
        const ct_cov_node *n = &nodes[k];
        if (n->code >= CT_COV_PROFILES) continue;
        for (int i = t; i < n->n_dims; i += step) {
            const T l =
                n->lengthscale < 0 ? (T)1 : p.theta_from[(n->lengthscale + (n->ard ? i : 0)) * p.theta_step];
            const double exact = 1 / ((double)l * (double)l), steep = CT__STEEP(sizeof(T) == 8);
            const T w = (T)(exact <= steep && exact >= 1 / steep ? exact : NAN);
            weight[n->dims + i] = w;
            slope[n->dims + i] = (n->ard ? 2 * w : (T)2) / l;
        }
    }
}

/* The program; by all threads of a block. */
template <typename T, bool SHARED>
static __device__ __forceinline__ void ct__open(const ct__plan<T> &p, char *shared, ct__thread<T, SHARED> &v)
{
    if (SHARED) {
        int32_t *word = (int32_t *)(shared + p.program_at.at);
        for (int i = (int)threadIdx.x; i < p.bytes / 4; i += CT__THREADS) word[i] = p.program.word[i];
        const ct_cov_program *program = (const ct_cov_program *)word;
        v.nodes = (const ct_cov_node *)(program + 1);
        v.dims = (const int32_t *)(v.nodes + p.n_nodes);
        T *theta = (T *)((char *)word + (p.bytes + 7) / 8 * 8);
        v.theta = theta, v.weight = theta + p.n_params;
        __syncthreads();
        ct__prepare(p, v.nodes, theta);
        __syncthreads();
    } else {
        v.nodes = p.nodes, v.dims = p.dims, v.theta = p.theta, v.weight = p.weight;
    }
    v.slope = v.weight + p.n_dims;
    v.value = ct__find<T>(p, p.values_at, shared) + threadIdx.x;
}

/* to[k][i] = column k of point first + i, for i < count; the last of these beyond, up to `whole` */
template <typename T>
static __device__ __forceinline__ void ct__stage(const T *from, int64_t row, int64_t col, int64_t first,
                                                 int count, int whole, int d, T *to, int pitch)
{
    for (int e = (int)threadIdx.x; e < whole * d; e += CT__THREADS) {
        const int i = row < col ? e % whole : e / d, k = row < col ? e / whole : e % d;
        to[k * pitch + i] = from[(first + (i < count ? i : count - 1)) * row + k * col];
    }
}

/* Goes through the tasks. For each: visit.begin(row), visit.pairs(v, i, j, live) by each thread that has a
 * pair (i, j + p) with live[p], and visit.end(i0, rows, piece) by all. Pairs beyond an edge repeat those at
 * it, and count nothing. */
template <typename T, bool SHARED, typename Visitor>
static __device__ __forceinline__ void ct__walk(const ct__plan<T> &p, char *shared, ct__thread<T, SHARED> &v,
                                                Visitor &visit)
{
    enum { PAIRS = ct__pairs<T>::COUNT, STEP = ct__pairs<T>::STEP };
    const int lane = (int)threadIdx.x % CT__LANES, warp = (int)threadIdx.x / CT__LANES, d = (int)p.d,
              n = (int)p.n, m = (int)p.m, columns = (int)p.columns;
    T *x_tile = SHARED ? (T *)(shared + p.x_at.at) : NULL,
      *z_tile = SHARED ? (T *)(shared + p.z_at.at) : NULL;
    v.x_col = p.x_col, v.z_col = p.z_col, v.z_row = p.z_row;
    for (int64_t task = blockIdx.x; task < p.tasks; task += gridDim.x) {
        const int piece = (int)(task / p.row_tiles), i0 = (int)(task % p.row_tiles) * CT__LANES;
        const int rows = n - i0 < CT__LANES ? n - i0 : (int)CT__LANES, row = lane < rows ? lane : rows - 1;
        int j0 = piece * columns, end = m - j0 < columns ? m : j0 + columns;
        if (p.part == CT__LOWER && end > i0 + CT__LANES) end = i0 + CT__LANES;
        if (p.part == CT__UPPER && j0 < i0) j0 = i0;
        v.x = SHARED ? x_tile + row : p.x + (i0 + row) * p.x_row;
        visit.begin(i0 + row);
        for (int j = j0; j < end; j += CT__CHUNK) {
            const int width = end - j < CT__CHUNK ? end - j : (int)CT__CHUNK;
            if (SHARED) {
                __syncthreads();
                if (j == j0) ct__stage(p.x, p.x_row, p.x_col, i0, rows, rows, d, x_tile, ct__tile::X_PITCH);
                ct__stage(p.z, p.z_row, p.z_col, j, width, (width + PAIRS - 1) / PAIRS * PAIRS, d, z_tile,
                          ct__tile::Z_PITCH);
                __syncthreads();
            }
            for (int at = warp * PAIRS; at < width; at += STEP) {
                const int i = i0 + row, first = j + at;
                v.z = SHARED ? z_tile + at : p.z + (int64_t)first * p.z_row;
                v.last = width - 1 - at;
                bool live[PAIRS], any = false;
                CT__EACH_PAIR(q)
                {
                    v.same[q] = p.symmetric && i == first + q;
                    live[q] = lane < rows && at + q < width && (p.part != CT__LOWER || first + q <= i) &&
                              (p.part != CT__UPPER || first + q >= i);
                    any = any || live[q];
                }
                if (any) visit.pairs(v, i, first, live);
            }
        }
        visit.end(i0, rows, piece);
    }
}

/* -- a thread's pairs ------------------------------------------------------------------------------------ */

/* sin²(πt) and sin(2πt), exact at whole t */
template <typename T> static __device__ __forceinline__ void ct__sine_square(T t, T *square, T *slope)
{
    const T f = t - rint(t), s = sin((T)CT__PI * f), c = cos((T)CT__PI * f);
    *square = s * s;
    *slope = 2 * s * c;
}

template <typename T, bool SHARED>
static __device__ __forceinline__ double ct__lengthscale(const ct__thread<T, SHARED> &v, const ct_cov_node *n,
                                                         int k)
{
    return n->lengthscale < 0 ? 1 : (double)v.theta[n->lengthscale + (n->ard ? k : 0)];
}

/* As ct__sine_square; an infinite t is whole. */
static __device__ __forceinline__ void ct__sines(double t, double *square, double *slope)
{
    *square = *slope = 0;
    if (!isinf(t)) ct__sine_square(t, square, slope);
}

/* The largest s of a node. */
template <typename T, bool SHARED>
static __device__ __forceinline__ double ct__far(const ct__thread<T, SHARED> &v, const ct_cov_node *n)
{
    const double far = CT__FAR(sizeof(T) == 8), most = sizeof(T) == 8 ? DBL_MAX : (double)FLT_MAX;
    return n->tail == CT_HEAVY ? fmin(far, (double)v.theta[n->extra] * most) : far;
}

/* s of a pair whatever the range of its parts: differences, sines and coordinates are divided by the
 * lengthscales first. */
template <typename T, bool SHARED>
static __device__ double ct__careful(const ct__thread<T, SHARED> &v, const ct_cov_node *n, int p)
{
    const bool wide = sizeof(T) == 8;
    const int geometry = n->geometry;
    double s = 0, square, slope;
    for (int k = 0; k < n->n_dims; k++) {
        const int d = v.dims[n->dims + k];
        const double a = v.x_at(d), b = v.z_at(d, p), l = ct__lengthscale(v, n, k);
        if (geometry == CT_SINE) {
            ct__sines((a - b) / (double)v.theta[n->extra], &square, &slope);
            s += square / l / l;
        } else {
            s += geometry == CT_DOT ? (a / l) * (b / l) : ((a - b) / l) * ((a - b) / l);
        }
    }
    if (geometry == CT_DOT) return s;
    const bool heavy = n->tail == CT_HEAVY && v.theta[n->extra] < CT__HEAVY(wide);
    return s > CT__FAR(wide) && heavy ? (double)NAN : s > ct__far(v, n) ? ct__far(v, n) : s;
}

/* s of a thread's pairs; whether some of it had to be computed carefully. */
template <typename T, bool SHARED>
static __device__ __forceinline__ bool ct__distances(const ct__thread<T, SHARED> &v, const ct_cov_node *n,
                                                     T *s)
{
    const int geometry = n->geometry, count = n->n_dims;
    const int32_t *dims = v.dims + n->dims;
    const T *weight = v.weight + n->dims, common = n->ard || !count ? (T)1 : weight[0];
    const bool ard = n->ard;
    CT__EACH_PAIR(p) s[p] = 0;
    if (geometry == CT_SINE) {
        const T period = v.theta[n->extra];
        for (int k = 0; k < count; k++) CT__EACH_PAIR(p)
            {
                T square, unused;
                ct__sine_square((v.x_at(dims[k]) - v.z_at(dims[k], p)) / period, &square, &unused);
                s[p] += ard ? weight[k] * square : square;
            }
    } else if (geometry == CT_DOT) {
        for (int k = 0; k < count; k++) {
            const T a = v.x_at(dims[k]), w = ard ? weight[k] : (T)1;
            CT__EACH_PAIR(p) s[p] += w * (a * v.z_at(dims[k], p));
        }
    } else {
        CT__BY_FOUR
        for (int k = 0; k < count; k++) {
            const T a = v.x_at(dims[k]), w = ard ? weight[k] : (T)1;
            CT__EACH_PAIR(p)
            {
                const T difference = a - v.z_at(dims[k], p);
                s[p] += w * (difference * difference);
            }
        }
    }
    const T far = (T)ct__far(v, n);
    bool wild = false;
    CT__EACH_PAIR(p)
    {
        s[p] *= common;
        if (!(fabs(s[p]) <= far)) s[p] = (T)ct__careful(v, n, p), wild = true;
    }
    return wild;
}

template <typename T> static __device__ __forceinline__ T ct__power(T x, int n)
{
    T y = 1;
    for (; n > 0; n >>= 1, x *= x)
        if (n & 1) y *= x;
    return y;
}

/* A profile at a thread's pairs: s, k(s), ∂k/∂s and ∂k/∂a. */
template <typename T> struct ct__leaf {
    int node;
    bool wild; /* s, or some of its parts, left the range of T */
    T s[ct__pairs<T>::COUNT], value[ct__pairs<T>::COUNT], by_s[ct__pairs<T>::COUNT],
        by_a[ct__pairs<T>::COUNT];
};

template <typename T, bool SHARED>
static __device__ __forceinline__ void ct__evaluate(const ct__thread<T, SHARED> &v, int k, ct__leaf<T> &leaf)
{
    const ct_cov_node *n = &v.nodes[k];
    leaf.node = k;
    leaf.wild = ct__distances(v, n, leaf.s);
    const T a = n->extra < 0 ? (T)1 : v.theta[n->extra];
    const int degree = n->degree;
    (void)degree;
    switch (n->code) {
#define EXP(x)     exp((T)(x))
#define LOG1P(x)   log1p((T)(x))
#define SIN2PI(t)  sin((T)(2 * CT__PI) * ((t)-rint((T)(t))))
#define COS2PI(t)  cos((T)(2 * CT__PI) * ((t)-rint((T)(t))))
#define POWI(x, i) ct__power((T)(x), i)
#define PROFILE(CODE, name, text, lengthscales, extra, unit, geometry, tail, first, second, slope, \
                extra_slope)                                                                       \
case CT_COV_##CODE:                                                                                \
    CT__EACH_PAIR(p)                                                                               \
    {                                                                                              \
        const T s = leaf.s[p], r = sqrt(s), r1 = r, u = first, y = second;                         \
        (void)r1, (void)u, (void)y;                                                                \
        leaf.value[p] = y;                                                                         \
        leaf.by_s[p] = slope;                                                                      \
        leaf.by_a[p] = extra_slope;                                                                \
    }                                                                                              \
    break;
        CT_PROFILES(PROFILE)
#undef PROFILE
#undef EXP
#undef LOG1P
#undef SIN2PI
#undef COS2PI
#undef POWI
    default: CT__EACH_PAIR(p) leaf.value[p] = leaf.by_s[p] = leaf.by_a[p] = 0;
    }
}

template <typename T, bool SHARED>
static __device__ __forceinline__ T &ct__value(const ct__thread<T, SHARED> &v, int k, int p)
{
    return v.value[(k * ct__pairs<T>::COUNT + p) * CT__THREADS];
}

/* Node k's value, in `top` and, but for the last's, in its place. `top` was that of the node before: its
 * right child, which in postfix order comes just before it. A profile's is the leaf's. */
template <typename T, bool SHARED>
static __device__ __forceinline__ void ct__up(const ct__thread<T, SHARED> &v, int k, bool last,
                                              const ct__leaf<T> &leaf, T *top)
{
    const ct_cov_node *n = &v.nodes[k];
    switch (n->code) {
    case CT_COV_CONSTANT: CT__EACH_PAIR(p) top[p] = v.theta[n->extra]; break;
    case CT_COV_WHITE: CT__EACH_PAIR(p) top[p] = v.same[p] ? v.theta[n->extra] : (T)0; break;
    case CT_COV_SCALE: CT__EACH_PAIR(p) top[p] *= v.theta[n->extra]; break;
    case CT_COV_SUM: CT__EACH_PAIR(p) top[p] += ct__value(v, n->left, p); break;
    case CT_COV_PRODUCT: CT__EACH_PAIR(p) top[p] *= ct__value(v, n->left, p); break;
    default: CT__EACH_PAIR(p) top[p] = leaf.value[p];
    }
    if (!last) CT__EACH_PAIR(p) ct__value(v, k, p) = top[p];
}

#endif
