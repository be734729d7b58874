/* Sums, maxima and logsumexps over any dimensions. All arithmetic is in f64; the order of operations follows
 * from the shape alone: no atomics. A pair (m, s) stands for what has been seen: m = Σ x, or m = max x and s
 * = Σ exp(x - m). */
#include "block.cuh"
#include "half.cuh"
#include "tensor/loop.h"

#include <math.h>

enum {
    THREADS = CT__BLOCK,
    SIDE = CT__REDUCE_SIDE,
    LANES = THREADS / SIDE, /* threads that share one of the outputs side by side */
    AHEAD = CT__REDUCE_AHEAD,
};

typedef struct axes {
    int64_t n;
    ct__axis axis[CT_MAX_DIMS]; /* strides of x, and of the output */
} axes;
enum { X, OUT };

typedef struct reduction {
    axes keep, over;                /* the last has x's shortest step */
    int64_t outputs, inputs, piece; /* inputs: of an output; piece: of these, in one go */
    int pieces, f;
    int64_t dtype;
    const void *x;
    void *out;
    double *m, *s; /* [piece][output] */
} reduction;

static __device__ __forceinline__ int64_t offset_of(const axes &a, int operand, int64_t i)
{
    int64_t at = 0;
    for (int d = (int)a.n - 1; d > 0; d--) {
        int64_t rest = i / a.axis[d].dim;
        at += (i - rest * a.axis[d].dim) * a.axis[d].stride[operand];
        i = rest;
    }
    return a.n ? at + i * a.axis[0].stride[operand] : 0;
}

/* x[k] = the element at[k] */
template <typename S>
static __device__ __forceinline__ void load(const reduction &r, const int64_t *at, double *x)
{
    CT__UNROLL
    for (int k = 0; k < AHEAD; k++) x[k] = (double)(typename ct__arithmetic<S>::type)((const S *)r.x)[at[k]];
}

static __device__ double start(int f) { return f == CT_REDUCE_SUM ? 0 : -(double)INFINITY; }

/* (m, s) and (m2, s2) together; NaN wins, and an infinite maximum is the answer itself. */
static __device__ void combine(int f, double &m, double &s, double m2, double s2)
{
    if (f == CT_REDUCE_SUM) {
        m += m2;
        return;
    }
    const double top = m2 > m || m2 != m2 ? m2 : m;
    if (f == CT_REDUCE_LOGSUMEXP && isfinite(top))
        s = (s > 0 ? s * exp(m - top) : 0) + (s2 > 0 ? s2 * exp(m2 - top) : 0);
    m = top;
}

/* Inputs from, from + step, ... of an output whose first element is at `base`, in this order. */
static __device__ __forceinline__ void gather(const reduction &r, int64_t base, int64_t from, int64_t to,
                                              int64_t step, double &m, double &s)
{
    for (int64_t i = from; i < to; i += AHEAD * step) {
        int64_t at[AHEAD];
        double x[AHEAD];
        CT__UNROLL
        for (int k = 0; k < AHEAD; k++) /* the last again, where there is no other: not counted */
            at[k] = base + offset_of(r.over, X, i + k * step < to ? i + k * step : i);
#define LOAD(S) load<S>(r, at, x)
        CT__PER_DTYPE(r.dtype, LOAD);
        CT__UNROLL
        for (int k = 0; k < AHEAD; k++)
            if (i + k * step < to) combine(r.f, m, s, x[k], 1);
    }
}

struct seen {
    double m, s;
};

/* What the threads of a block have, together, in all of them. */
static __device__ __forceinline__ void combine_block(int f, double &m, double &s)
{
    const seen all = ct__over_block<THREADS>(seen{ m, s },
                                             [f](seen &a, const seen &b) { combine(f, a.m, a.s, b.m, b.s); });
    m = all.m, s = all.s;
}

static __device__ void put(const reduction &r, int64_t output, double m, double s)
{
    if (r.f == CT_REDUCE_LOGSUMEXP && isfinite(m)) m += log(s);
    int64_t at = offset_of(r.keep, OUT, output);
#define PUT(S) (void)(((S *)r.out)[at] = (S)m)
    CT__PER_DTYPE(r.dtype, PUT);
}

/* What a piece of an output comes to, or the output itself, where that is one piece. */
static __device__ void keep(const reduction &r, int64_t piece, int64_t output, double m, double s)
{
    if (r.pieces == 1)
        put(r, output, m, s);
    else
        r.m[piece * r.outputs + output] = m, r.s[piece * r.outputs + output] = s;
}

/* A thread per output: where there is little to sum. */
static __global__ void single_kernel(reduction r)
{
    CT__EACH(output, r.outputs)
    {
        double m = start(r.f), s = 0;
        gather(r, offset_of(r.keep, X, output), 0, r.inputs, 1, m, s);
        put(r, output, m, s);
    }
}

/* A block per piece of SIDE outputs, LANES threads for each: where neighbouring outputs are neighbours in
 * memory. */
static __global__ void columns_kernel(reduction r)
{
    __shared__ seen room[LANES][SIDE];
    const int x = (int)threadIdx.x % SIDE, lane = (int)threadIdx.x / SIDE;
    const int64_t sides = (r.outputs + SIDE - 1) / SIDE, piece = blockIdx.x / sides,
                  output = blockIdx.x % sides * SIDE + x, from = piece * r.piece,
                  to = from + r.piece < r.inputs ? from + r.piece : r.inputs;
    double m = start(r.f), s = 0;
    if (output < r.outputs) gather(r, offset_of(r.keep, X, output), from + lane, to, LANES, m, s);
    room[lane][x] = seen{ m, s };
    __syncthreads();
    if (lane || output >= r.outputs) return;
    for (int k = 1; k < LANES; k++) combine(r.f, m, s, room[k][x].m, room[k][x].s);
    keep(r, piece, output, m, s);
}

/* A block per output and piece. */
static __global__ void rows_kernel(reduction r)
{
    const int t = (int)threadIdx.x;
    const int64_t output = blockIdx.x % r.outputs, piece = blockIdx.x / r.outputs, from = piece * r.piece;
    const int64_t to = from + r.piece < r.inputs ? from + r.piece : r.inputs;
    double m = start(r.f), s = 0;
    gather(r, offset_of(r.keep, X, output), from + t, to, blockDim.x, m, s);
    combine_block(r.f, m, s);
    if (!t) keep(r, piece, output, m, s);
}

/* A block per output. */
static __global__ void finish_block_kernel(reduction r)
{
    const int64_t output = blockIdx.x;
    double m = start(r.f), s = 0;
    for (int piece = (int)threadIdx.x; piece < r.pieces; piece += THREADS)
        combine(r.f, m, s, r.m[piece * r.outputs + output], r.s[piece * r.outputs + output]);
    combine_block(r.f, m, s);
    if (!threadIdx.x) put(r, output, m, s);
}

/* A thread per output. */
static __global__ void finish_kernel(reduction r)
{
    CT__EACH(output, r.outputs)
    {
        double m = start(r.f), s = 0;
        for (int piece = 0; piece < r.pieces; piece++)
            combine(r.f, m, s, r.m[piece * r.outputs + output], r.s[piece * r.outputs + output]);
        put(r, output, m, s);
    }
}

ct_status ct__cuda_reduce(ct_device *dev, ct_reduction f, const ct_view *x, ct_view *out)
{
    reduction r;
    memset(&r, 0, sizeof r);
    r.outputs = ct__count(out);
    r.inputs = 1;
    if (!r.outputs) return CT_OK;
    for (int d = 0; d < x->ndim; d++) {
        if (x->dim[d] == 1) continue;
        const bool over = out->dim[d] == 1;
        axes *a = over ? &r.over : &r.keep;
        r.inputs *= over ? x->dim[d] : 1;
        ct__axis_insert(a->axis, &a->n, ct__axis{ x->dim[d], { x->stride[d], over ? 0 : out->stride[d] } });
    }
    ct__axis_merge(r.keep.axis, &r.keep.n);
    ct__axis_merge(r.over.axis, &r.over.n);
    r.f = f;
    r.dtype = x->dtype;
    r.x = x->data;
    r.out = out->data;
    const int64_t step_out = r.keep.n ? r.keep.axis[r.keep.n - 1].stride[X] : INT64_MAX,
                  step_in = r.over.n ? r.over.axis[r.over.n - 1].stride[X] : 0;
    const bool columns = step_out < step_in && r.keep.axis[r.keep.n - 1].dim >= SIDE,
               single = r.inputs <= CT__REDUCE_FEW || (!columns && r.inputs <= CT__REDUCE_SOME);
    const int64_t sharing = columns ? (int64_t)LANES : (int64_t)THREADS, /* an output */
        wanted = ct__divide_up(CT__REDUCE_GRID, r.outputs * sharing);
    int64_t pieces = ct__divide_up(r.inputs, CT__REDUCE_RUN * sharing);
    pieces = pieces > wanted ? wanted : pieces;
    pieces = pieces > CT__REDUCE_PIECES ? (int64_t)CT__REDUCE_PIECES : pieces < 1 ? 1 : pieces;
    r.piece = ct__divide_up(r.inputs, pieces);
    r.pieces = (int)pieces;
    ct__scratch partial(dev, pieces > 1 ? 2 * pieces * r.outputs * (int64_t)sizeof(double) : 0);
    if (!partial.data) return CT_ENOMEM;
    r.m = partial;
    r.s = r.m + pieces * r.outputs;
    const char *const what = "reduce";
    ct_status status = single    ? CT__RUN_EACH(dev, what, single_kernel, r.outputs, r)
                       : columns ? CT__RUN_BLOCKS(dev, what, columns_kernel,
                                                  ct__divide_up(r.outputs, SIDE) * pieces, THREADS, r)
                                 : CT__RUN_BLOCKS(dev, what, rows_kernel, r.outputs * pieces,
                                                  ct__threads(ct__divide_up(r.piece, AHEAD), THREADS), r);
    if (status || pieces == 1) return status;
    return pieces > CT__REDUCE_MANY ? CT__RUN_BLOCKS(dev, what, finish_block_kernel, r.outputs, THREADS, r)
                                    : CT__RUN_EACH(dev, what, finish_kernel, r.outputs, r);
}
