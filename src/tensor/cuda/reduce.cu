/* Sums, maxima and logsumexps over any dimensions. All is added up in f64. The exponentials of f64 are in
 * f64, others in f32. The order of operations follows from the shape alone: no atomics. */
#include "block.cuh"
#include "half.cuh"
#include "loop.cuh"

#include <math.h>

enum {
    THREADS = CT__BLOCK,
    SIDE = CT__REDUCE_SIDE,
    LANES = THREADS / SIDE, /* threads that share one of the outputs side by side */
    AHEAD = CT__REDUCE_AHEAD,
};

typedef struct axes {
    int64_t ndim;
    ct__axis axis[CT_MAX_DIMS]; /* strides of x, and of the output */
} axes;
enum { X, OUT };

/* What has been seen: m = Σ x, or m = max x and s = Σ exp(x - m). */
struct seen {
    double m, s;
};

typedef struct reduction {
    axes keep, over;                /* the last has x's shortest step */
    int64_t outputs, inputs, piece; /* inputs: of an output; piece: of these, in one go */
    int pieces, f;
    int64_t dtype;
    const void *x;
    void *out;
    seen *kept; /* [piece][output] */
} reduction;

/* x[k] = the element at[k] */
template <typename S>
static __device__ __forceinline__ void load(const reduction &r, const int64_t *at, double *x)
{
    CT__UNROLL
    for (int k = 0; k < AHEAD; k++) x[k] = (double)(typename ct__arithmetic<S>::type)((const S *)r.x)[at[k]];
}

static __device__ seen nothing(const reduction &r)
{
    return seen{ r.f == CT_REDUCE_SUM ? 0 : -(double)INFINITY, 0 };
}

/* a and b together; NaN wins, and an infinite maximum is the answer itself. */
static __device__ seen both(const reduction &r, const seen &a, const seen &b)
{
    if (r.f == CT_REDUCE_SUM) return seen{ a.m + b.m, 0 };
    const bool second = b.m > a.m || b.m != b.m;
    const seen &top = second ? b : a, &low = second ? a : b;
    if (r.f == CT_REDUCE_MAX || !isfinite(top.m)) return top;
    const double x = low.m - top.m;
    return seen{ top.m, top.s + low.s * (r.dtype == CT_F64 ? exp(x) : (double)expf((float)x)) };
}

/* Inputs from, from + step, ... of an output whose first element is at `base`, in this order. */
static __device__ __forceinline__ seen gather(const reduction &r, int64_t base, int64_t from, int64_t to,
                                              int64_t step)
{
    seen all = nothing(r);
    for (int64_t i = from; i < to; i += AHEAD * step) {
        int64_t at[AHEAD];
        double x[AHEAD];
        CT__UNROLL
        for (int k = 0; k < AHEAD; k++) /* the last again, where there is no other: not counted */
            at[k] = base + ct__located<2>(r.over, i + k * step < to ? i + k * step : i)[X];
#define LOAD(S) load<S>(r, at, x)
        CT__PER_DTYPE(r.dtype, LOAD);
        CT__UNROLL
        for (int k = 0; k < AHEAD; k++)
            if (i + k * step < to) all = both(r, all, seen{ x[k], 1 });
    }
    return all;
}

static __device__ void put(const reduction &r, int64_t output, const seen &all)
{
    const double y = r.f == CT_REDUCE_LOGSUMEXP && isfinite(all.m) ? all.m + log(all.s) : all.m;
    const int64_t at = ct__located<2>(r.keep, output)[OUT];
#define PUT(S) (void)(((S *)r.out)[at] = (S)y)
    CT__PER_DTYPE(r.dtype, PUT);
}

/* What a piece of an output comes to, or the output itself, where that is one piece. */
static __device__ void keep(const reduction &r, int64_t piece, int64_t output, const seen &all)
{
    if (r.pieces == 1)
        put(r, output, all);
    else
        r.kept[piece * r.outputs + output] = all;
}

/* A thread per output: where there is little to sum. */
static __global__ void single_kernel(reduction r)
{
    CT__EACH(output, r.outputs) put(r, output, gather(r, ct__located<2>(r.keep, output)[X], 0, r.inputs, 1));
}

/* A block per piece of SIDE outputs, LANES threads for each: where neighbouring outputs are neighbours in
 * memory. */
static __global__ void columns_kernel(reduction r)
{
    CT__SHARED(seen, room, [LANES][SIDE]);
    const int x = (int)threadIdx.x % SIDE, lane = (int)threadIdx.x / SIDE;
    const int64_t sides = (r.outputs + SIDE - 1) / SIDE, piece = blockIdx.x / sides,
                  output = blockIdx.x % sides * SIDE + x, from = piece * r.piece,
                  to = from + r.piece < r.inputs ? from + r.piece : r.inputs;
    seen all = nothing(r);
    if (output < r.outputs) all = gather(r, ct__located<2>(r.keep, output)[X], from + lane, to, LANES);
    room[lane][x] = all;
    __syncthreads();
    if (lane || output >= r.outputs) return;
    for (int k = 1; k < LANES; k++) all = both(r, all, room[k][x]);
    keep(r, piece, output, all);
}

/* What the threads of a block have, together. */
template <int COUNT> static __device__ __forceinline__ seen over_block(const reduction &r, const seen &mine)
{
    return ct__over_block<COUNT>(mine, [&r](const seen &a, const seen &b) { return both(r, a, b); });
}

/* A block per output and piece. */
template <int COUNT> static __global__ void rows_kernel(reduction r)
{
    const int64_t output = blockIdx.x % r.outputs, piece = blockIdx.x / r.outputs, from = piece * r.piece,
                  to = from + r.piece < r.inputs ? from + r.piece : r.inputs;
    const seen all =
        over_block<COUNT>(r, gather(r, ct__located<2>(r.keep, output)[X], from + threadIdx.x, to, COUNT));
    if (!threadIdx.x) keep(r, piece, output, all);
}

/* A warp per output. */
static __global__ void finish_kernel(reduction r)
{
    seen all = nothing(r);
    for (int piece = (int)threadIdx.x; piece < r.pieces; piece += CT__WARP)
        all = both(r, all, r.kept[piece * r.outputs + blockIdx.x]);
    all = over_block<CT__WARP>(r, all);
    if (!threadIdx.x) put(r, blockIdx.x, all);
}

ct_status ct__cuda_reduce(ct_device *dev, ct_reduction f, const ct_view *x, ct_view *out)
{
    reduction r = { {}, {}, ct__count(out), 1, 0, 1, f, x->dtype, x->data, out->data, NULL };
    if (!r.outputs) return CT_OK;
    for (int d = 0; d < x->ndim; d++) {
        if (x->dim[d] == 1) continue;
        const bool over = out->dim[d] == 1;
        axes *a = over ? &r.over : &r.keep;
        r.inputs *= over ? x->dim[d] : 1;
        ct__axis_insert(a->axis, &a->ndim,
                        ct__axis{ x->dim[d], { x->stride[d], over ? 0 : out->stride[d] } });
    }
    ct__axis_merge(r.keep.axis, &r.keep.ndim);
    ct__axis_merge(r.over.axis, &r.over.ndim);
    const int64_t step_out = r.keep.ndim ? r.keep.axis[r.keep.ndim - 1].stride[X] : INT64_MAX,
                  step_in = r.over.ndim ? r.over.axis[r.over.ndim - 1].stride[X] : 0;
    const bool columns = step_out < step_in && r.keep.axis[r.keep.ndim - 1].dim >= SIDE,
               single = r.inputs <= CT__REDUCE_FEW || (!columns && r.inputs <= CT__REDUCE_SOME);
    const int64_t sharing = columns ? (int64_t)LANES : (int64_t)THREADS, /* an output */
        wanted = ct__divide_up(CT__REDUCE_GRID, r.outputs * sharing);
    int64_t pieces = ct__smaller(ct__divide_up(r.inputs, CT__REDUCE_RUN * sharing),
                                 ct__smaller(wanted, CT__REDUCE_PIECES));
    if (pieces < 1) pieces = 1;
    r.piece = ct__divide_up(r.inputs, pieces);
    r.pieces = (int)pieces;
    ct__scratch kept(dev, pieces > 1 ? pieces * r.outputs * (int64_t)sizeof(seen) : 0);
    if (!kept.data) return CT_ENOMEM;
    r.kept = kept;
    const char *const what = "reduce";
    ct_status status = single    ? CT__RUN_EACH(dev, what, single_kernel, r.outputs, r)
                       : columns ? CT__RUN_BLOCKS(dev, what, columns_kernel,
                                                  ct__divide_up(r.outputs, SIDE) * pieces, THREADS, r)
                       : r.piece <= CT__REDUCE_WARP
                           ? CT__RUN_BLOCKS(dev, what, rows_kernel<CT__WARP>, r.outputs * pieces, CT__WARP, r)
                           : CT__RUN_BLOCKS(dev, what, rows_kernel<THREADS>, r.outputs * pieces, THREADS, r);
    return status || pieces == 1 ? status : CT__RUN_BLOCKS(dev, what, finish_kernel, r.outputs, CT__WARP, r);
}
