/* Sums, maxima and logsumexps over any dimensions. Accumulation is in f64, exponentials in f64 for f64 and in
 * f32 for others. The order of operations depends on the shape alone: no atomics. */
#include "loop.cuh"

#include <math.h>

enum { THREADS = CT__BLOCK };

typedef struct axes {
    int64_t ndim;
    ct__axis axis[CT_MAX_DIMS]; /* strides: of x, of the output */
} axes;
enum { X, OUT };

/* A partial result: m = Σ x, or m = max x and s = Σ exp(x - m). */
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
    const bool second = b.m > a.m || b.m != b.m;
    const double m = second ? b.m : a.m, low = second ? a.m : b.m, s = second ? b.s : a.s;
    if (r.f == CT_REDUCE_MAX || !isfinite(m)) return seen{ m, s };
    const double x = low - m;
    return seen{ m, s + (second ? a.s : b.s) * (r.dtype == CT_F64 ? exp(x) : (double)expf((float)x)) };
}

/* Adds the inputs from, from + step, ... of an output, with its first element at `base`, to `all` in
 * order. */
template <typename S>
static __device__ __forceinline__ seen gather(const reduction &r, int64_t base, int64_t from, int64_t to,
                                              int64_t step, seen all)
{
    CT__BY_FOUR
    for (int64_t i = from; i < to; i += step) {
        const S x = ((const S *)r.x)[base + ct__located<2>(r.over, i)[X]];
        all = both(r, all, seen{ (double)(typename ct__arithmetic<S>::type)x, 1 });
    }
    return all;
}

template <typename S> static __device__ void put(const reduction &r, int64_t output, const seen &all)
{
    const double y = r.f == CT_REDUCE_LOGSUMEXP && isfinite(all.m) ? all.m + log(all.s) : all.m;
    ((S *)r.out)[ct__located<2>(r.keep, output)[OUT]] = (S)y;
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
    seen all = { r.f == CT_REDUCE_SUM ? 0 : -(double)INFINITY, 0 };
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
