/* Sums, extremes, logsumexps and norms over any dimensions. Accumulation is in f64, exponentials in f64 for
 * f64 and in f32 for others. The order of operations depends on the shape alone: no atomics. */
#include "loop.cuh"

#include <math.h>

enum { THREADS = CT__BLOCK };

typedef struct axes {
    int64_t ndim;
    ct__axis axis[CT_MAX_DIMS]; /* strides: of x, of the output */
} axes;
enum { X, OUT };

/* A partial result: m = Σ x; m = max x and s = Σ exp(x - m); m = max |x| and s = Σ (x / m)²; or an extreme m
 * (of -x for a smallest x) and its position s. */
struct seen {
    double m, s;
};

typedef struct reduction {
    axes keep, over;                        /* the last axis has x's shortest stride */
    int64_t outputs, inputs, piece, pieces; /* inputs: per output; piece: inputs per block */
    int lanes, lane_step;                   /* threads per output, and their distance in the block */
    int64_t f, dtype;
    const void *x;
    void *out;
    seen *kept; /* [piece][output] */
} reduction;

/* Combines a and b. NaN wins; an infinite maximum is the result. */
static __device__ seen both(const reduction &r, const seen &a, const seen &b)
{
    if (r.f == CT_REDUCE_SUM) return seen{ a.m + b.m, 0 };
    if (r.f >= CT_REDUCE_ARGMAX && (a.m == b.m || (a.m != a.m && b.m != b.m))) return a.s < b.s ? a : b;
    const bool second = b.m > a.m || b.m != b.m;
    const double m = second ? b.m : a.m, low = second ? a.m : b.m, s = second ? b.s : a.s;
    if (!(r.f == CT_REDUCE_LOGSUMEXP || r.f == CT_REDUCE_NORM) || !isfinite(m)) return seen{ m, s };
    if (r.f == CT_REDUCE_NORM) {
        const double q = m > 0 ? low / m : 0;
        return seen{ m, s + (second ? a.s : b.s) * q * q };
    }
    const double x = low - m;
    return seen{ m, s + (1 + (second ? a.s : b.s)) * (r.dtype == CT_F64 ? exp(x) : (double)expf((float)x)) };
}

/* Input i as a partial result. */
template <typename S> static __device__ __forceinline__ seen one(const reduction &r, S element, int64_t i)
{
    const double x = (double)(typename ct__arithmetic<S>::type)element;
    switch (r.f) {
    case CT_REDUCE_MIN: return seen{ -x, 0 };
    case CT_REDUCE_NORM: return seen{ fabs(x), 1 };
    case CT_REDUCE_LOGSUMEXP: return seen{ x, 0 };
    case CT_REDUCE_ARGMAX: return seen{ x, (double)i };
    case CT_REDUCE_ARGMIN: return seen{ -x, (double)i };
    default: return seen{ x, 1 };
    }
}

/* What no input gives. If the extreme is this one, all inputs are equal, and the first is at 0. */
static __device__ seen none(const reduction &r)
{
    return seen{ r.f == CT_REDUCE_SUM || r.f == CT_REDUCE_NORM ? 0 : -(double)INFINITY, 0 };
}

/* Adds the inputs from, from + step, ... of an output, with its first element at `base`, to `all` in
 * order. */
template <typename S>
static __device__ __forceinline__ seen gather(const reduction &r, int64_t base, int64_t from, int64_t to,
                                              int64_t step, seen all)
{
    CT__BY_FOUR
    for (int64_t i = from; i < to; i += step) {
        all = both(r, all, one<S>(r, ((const S *)r.x)[base + ct__located<2>(r.over, i)[X]], i));
    }
    return all;
}

template <typename S> static __device__ void put(const reduction &r, int64_t output, const seen &all)
{
    const int64_t at = ct__located<2>(r.keep, output)[OUT];
    double y = r.f == CT_REDUCE_MIN ? -all.m : all.m;
    if (r.f == CT_REDUCE_LOGSUMEXP && isfinite(y)) y += log1p(all.s);
    if (r.f == CT_REDUCE_NORM && isfinite(y)) y *= sqrt(all.s);
    if (r.f >= CT_REDUCE_ARGMAX)
        ((int64_t *)r.out)[at] = (int64_t)all.s;
    else
        ((S *)r.out)[at] = (S)y;
}

/* A block computes THREADS / lanes outputs from one piece of their inputs. A lane takes every lanes-th input;
 * then the second half of the lanes is added to the first until one is left. SECOND: the inputs are the
 * pieces' results. */
template <typename S, bool SECOND> static __global__ void reduce_kernel(reduction r)
{
    CT__SHARED(seen, partial, [THREADS]);
    const int t = (int)threadIdx.x, width = THREADS / r.lanes, /* outputs of the block */
        lane = r.lane_step == 1 ? t % r.lanes : t / width, x = r.lane_step == 1 ? t / r.lanes : t % width;
    const int64_t blocks = (r.outputs + width - 1) / width, piece = blockIdx.x / blocks,
                  output = blockIdx.x % blocks * width + x, from = piece * r.piece,
                  to = from + r.piece < r.inputs ? from + r.piece : r.inputs;
    seen all = none(r);
    if (SECOND)
        for (int64_t k = lane; k < r.pieces && output < r.outputs; k += r.lanes)
            all = both(r, all, r.kept[k * r.outputs + output]);
    else if (output < r.outputs)
        all = gather<S>(r, ct__located<2>(r.keep, output)[X], from + lane, to, r.lanes, all);
    partial[t] = all;
    for (int half = r.lanes / 2; half; half /= 2) {
        __syncthreads();
        if (lane < half) partial[t] = all = both(r, all, partial[t + half * r.lane_step]);
    }
    if (lane || output >= r.outputs) return;
    if (SECOND || r.pieces == 1)
        put<S>(r, output, all);
    else
        r.kept[piece * r.outputs + output] = all;
}

ct_status ct__cuda_reduce(ct_device *dev, ct_reduction f, const ct_view *x, ct_view *out)
{
    reduction r = { {}, {}, ct__count(out), 1, 0, 1, 1, 1, f, x->dtype, x->data, out->data, NULL };
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
    const bool columns = step_out < step_in && r.keep.axis[r.keep.ndim - 1].dim >= CT__WARP;
    const int most = columns ? THREADS / CT__WARP : (int)THREADS;
    while (r.lanes < most && r.lanes * CT__REDUCE_FEW < r.inputs) r.lanes *= 2;
    r.lane_step = columns ? THREADS / r.lanes : 1; /* neighbouring threads read neighbours */
    const int64_t pieces = ct__min(ct__divide_up(r.inputs, CT__REDUCE_RUN * r.lanes),
                                   ct__divide_up(CT__REDUCE_GRID, r.outputs * r.lanes));
    r.pieces = ct__min(pieces < 1 ? 1 : pieces, CT__REDUCE_PIECES);
    r.piece = ct__divide_up(r.inputs, r.pieces);
    ct__scratch kept(dev, r.pieces > 1 ? r.pieces * r.outputs * (int64_t)sizeof(seen) : 0);
    if (!kept.data) return CT_ENOMEM;
    r.kept = kept;
    const int64_t blocks = ct__divide_up(r.outputs, THREADS / r.lanes) * r.pieces;
#define REDUCE(S) CT__RUN_BLOCKS(dev, "reduce", (reduce_kernel<S, false>), blocks, THREADS, r)
    ct_status s = CT__PER_DTYPE(r.dtype, REDUCE);
    if (s || r.pieces == 1) return s;
    r.lanes = CT__WARP, r.lane_step = 1;
    const int64_t rest = ct__divide_up(r.outputs, THREADS / r.lanes);
#define AGAIN(S) CT__RUN_BLOCKS(dev, "reduce", (reduce_kernel<S, true>), rest, THREADS, r)
    return CT__PER_DTYPE(r.dtype, AGAIN);
}
