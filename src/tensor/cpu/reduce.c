/* Sums, extremes, logsumexps and norms over any dimensions. All arithmetic is in f64. The order of operations
 * depends on the shape alone: ranges are halved recursively down to short runs (pairwise summation), so the
 * rounding error grows with log n. */
#include "cpu.h"
#include "half.h"

#include <math.h>
#include <string.h>

/* A pass adds its terms, or takes their maximum: x, (x s)², e^(x - s), the same but 0 where x = s, x, -x,
 * |x|. */
typedef enum pass { SUM, SQUARES, EXPSUM, OTHERS, MAX, NEGATED, SIZES } pass;

typedef struct reduction {
    const ct_view *x;
    int64_t kept, reduced; /* numbers of dimensions, at least 1; the last has x's shortest stride */
    ct__axis keep[CT_MAX_DIMS], over[CT_MAX_DIMS]; /* strides of x, and of the output */
    bool columns;  /* neighbours in memory belong to different outputs         */
    int64_t block; /* outputs of a unit of work, along the last kept dimension */
    int pieces;    /* parts of the reduced elements, computed in parallel      */
    int team, isa;
} reduction;

static double start(pass f) { return f >= MAX ? -INFINITY : 0; }

/* For a maximum, NaN on either side gives NaN. */
static inline double combine(pass f, double a, double b)
{
    return f < MAX ? a + b : ((b > a) | (b != b)) ? b : a;
}

/* The terms of n <= CT__REDUCE_WIDTH elements as doubles, in place or in buffer. The scales or shifts s are
 * `pitch` apart; no scales: 1. Not inlined, because its loops would run out of registers. */
static __attribute__((noinline)) const double *load(const reduction *r, pass f, const void *x, int64_t n,
                                                    int64_t step, const double *s, int64_t pitch,
                                                    double *buffer)
{
    const double *v = buffer;
    if (r->x->dtype == CT_F64 && step == 1) {
        v = x;
    } else if (r->x->dtype == CT_F64) {
        for (int64_t i = 0; i < n; i++) buffer[i] = ((const double *)x)[i * step];
    } else if (r->x->dtype == CT_F32) {
        const float *u = x;
        if (step == 1)
            for (int64_t i = 0; i < n; i++) buffer[i] = (double)u[i];
        else
            for (int64_t i = 0; i < n; i++) buffer[i] = (double)u[i * step];
    } else {
        float wide[CT__REDUCE_WIDTH];
        ct__widen_tile(r->isa, r->x->dtype, 1, n, x, 0, step, wide, 0);
        for (int64_t i = 0; i < n; i++) buffer[i] = (double)wide[i];
    }
    switch (f) {
    case SQUARES:
        for (int64_t i = 0; i < n; i++) buffer[i] = s ? v[i] * s[i * pitch] : v[i];
        for (int64_t i = 0; i < n; i++) buffer[i] *= buffer[i];
        return buffer;
    case EXPSUM:
    case OTHERS:
        for (int64_t i = 0; i < n; i++) buffer[i] = v[i] - s[i * pitch];
        for (int64_t i = 0; i < n && f == OTHERS; i++) buffer[i] = buffer[i] == 0 ? -INFINITY : buffer[i];
        ct__vector_exp(r->isa, n, buffer);
        return buffer;
    case NEGATED:
        for (int64_t i = 0; i < n; i++) buffer[i] = -v[i];
        return buffer;
    case SIZES:
        for (int64_t i = 0; i < n; i++) buffer[i] = fabs(v[i]);
        return buffer;
    default: return v;
    }
}

/* Combines in explicit lanes, so that every compiler uses the same order. Callers pass a constant f. */
static inline double combine_run(const pass f, const double *v, int64_t n)
{
    double lane[CT__REDUCE_LANES], rest = start(f);
    for (int l = 0; l < CT__REDUCE_LANES; l++) lane[l] = start(f);
    int64_t i = 0;
    for (; i + CT__REDUCE_LANES <= n; i += CT__REDUCE_LANES)
        for (int l = 0; l < CT__REDUCE_LANES; l++) lane[l] = combine(f, lane[l], v[i + l]);
    for (; i < n; i++) rest = combine(f, rest, v[i]);
    for (int half = CT__REDUCE_LANES / 2; half; half /= 2)
        for (int l = 0; l < half; l++) lane[l] = combine(f, lane[l], lane[l + half]);
    return combine(f, lane[0], rest);
}

/* result_j = f(result_j, v_j) */
static inline void combine_row(pass f, int64_t width, const double *v, double *result)
{
    if (f >= MAX)
        for (int64_t j = 0; j < width; j++) result[j] = combine(MAX, result[j], v[j]);
    else
        for (int64_t j = 0; j < width; j++) result[j] = combine(SUM, result[j], v[j]);
}

/* Reduces n indices of the last dimension, for `width` neighbouring outputs. */
static void reduce_leaf(const reduction *r, pass f, int64_t n, const void *x, int64_t width,
                        const double *shift, double *result)
{
    const int64_t step = r->over[r->reduced - 1].stride[0], next = r->keep[r->kept - 1].stride[0];
    double buffer[CT__REDUCE_WIDTH];
    for (int64_t j = 0; j < width; j++) result[j] = start(f);
    for (int64_t i = 0; i < n && r->columns; i++)
        combine_row(f, width, load(r, f, ct__at(x, r->x->dtype, i * step), width, next, shift, 1, buffer),
                    result);
    for (int64_t j = 0; j < width && !r->columns; j++)
        for (int64_t i = 0; i < n; i += CT__REDUCE_WIDTH) {
            const int64_t length = ct__min(n - i, CT__REDUCE_WIDTH);
            const double *v = load(r, f, ct__at(x, r->x->dtype, j * next + i * step), length, step,
                                   shift ? shift + j : NULL, 0, buffer);
            result[j] =
                combine(f, result[j], f >= MAX ? combine_run(MAX, v, length) : combine_run(SUM, v, length));
        }
}

/* Reduces n indices of dimension d and all dimensions after it, by halves. */
static void reduce_part(const reduction *r, pass f, int64_t d, int64_t n, const void *x, int64_t width,
                        const double *shift, double *result)
{
    const ct__axis *a = &r->over[d];
    if (d == r->reduced - 1 && n <= (r->columns ? CT__REDUCE_ROWS : CT__REDUCE_LEAF)) {
        reduce_leaf(r, f, n, x, width, shift, result);
    } else if (n == 1) {
        reduce_part(r, f, d + 1, a[1].dim, x, width, shift, result);
    } else {
        double other[CT__REDUCE_WIDTH];
        const int64_t half = n / 2;
        reduce_part(r, f, d, half, x, width, shift, result);
        reduce_part(r, f, d, n - half, ct__at(x, r->x->dtype, half * a->stride[0]), width, shift, other);
        for (int64_t j = 0; j < width; j++) result[j] = combine(f, result[j], other[j]);
    }
}

/* Reduces a block in pieces. Their number depends on the shape, not on the threads. */
static void reduce_block(const reduction *r, pass f, const void *x, int64_t width, const double *shift,
                         double *result)
{
    const int64_t n = r->over[0].dim;
    const int pieces = r->pieces;
    if (pieces < 2) {
        reduce_part(r, f, 0, n, x, width, shift, result);
        return;
    }
    double partial[CT__REDUCE_PIECES][CT__REDUCE_WIDTH];
#pragma omp parallel for schedule(static) num_threads(r->team)
    for (int i = 0; i < pieces; i++) {
        const int64_t from = ct__part(n, pieces, i), length = ct__part(n, pieces, i + 1) - from;
        reduce_part(r, f, 0, length, ct__at(x, r->x->dtype, from * r->over[0].stride[0]), width, shift,
                    partial[i]);
    }
    memcpy(result, partial[0], (size_t)width * sizeof *result);
    for (int i = 1; i < pieces; i++)
        for (int64_t j = 0; j < width; j++) result[j] = combine(f, result[j], partial[i][j]);
}

/* Whether m + log(sum) is so near 0 that the rounding of sum = 1 + ... costs digits. */
static bool near_zero(double m, double sum) { return sum < 1.5 && fabs(m) < 0.5; }

/* logsumexp x = m + log Σ exp(x - m), m = max x; an infinite m is the result itself. Near 0 it is m + log1p
 * of the others' sum. */
static void logsumexp(const reduction *r, const void *x, int64_t width, double *result)
{
    double shift[CT__REDUCE_WIDTH], sum[CT__REDUCE_WIDTH], others[CT__REDUCE_WIDTH] = { 0 };
    bool near = false;
    for (int64_t i = 0; i < width; i++) shift[i] = isfinite(result[i]) ? result[i] : 0;
    reduce_block(r, EXPSUM, x, width, shift, sum);
    for (int64_t i = 0; i < width; i++) near |= near_zero(result[i], sum[i]);
    if (near) reduce_block(r, OTHERS, x, width, shift, others);
    for (int64_t i = 0; i < width; i++)
        if (isfinite(result[i])) result[i] += near_zero(result[i], sum[i]) ? log1p(others[i]) : log(sum[i]);
}

/* √Σx² = √Σ(x s)² / s, given the sum for s = 1. Where that is outside the range in which no digit is lost, s
 * is the power of two that brings the largest |x| near 1. */
static void norm(const reduction *r, const void *x, int64_t width, double *result)
{
    bool fine = true;
    for (int64_t i = 0; i < width; i++) fine &= result[i] > 1e-280 && result[i] < 1e300;
    double most[CT__REDUCE_WIDTH], scale[CT__REDUCE_WIDTH] = { 0 }, sum[CT__REDUCE_WIDTH] = { 0 };
    if (!fine) {
        reduce_block(r, SIZES, x, width, NULL, most);
        for (int64_t i = 0; i < width; i++)
            scale[i] = most[i] > 0 && isfinite(most[i]) ? ldexp(1, (int)fmin(1000, -logb(most[i]))) : 1;
        reduce_block(r, SQUARES, x, width, scale, sum);
    }
    for (int64_t i = 0; i < width; i++)
        result[i] = result[i] > 1e-280 && result[i] < 1e300 ? sqrt(result[i]) : sqrt(sum[i]) / scale[i];
}

/* The first position of y among the reduced elements, which are of one dimension; of NaN, if y is. */
static int64_t position(const reduction *r, const void *x, double y)
{
    const int64_t n = r->over[0].dim, step = r->over[0].stride[0];
    int64_t i = 0;
    for (; i < n - 1; i++) {
        const double v = ct__get(r->x->dtype, x, i * step);
        if (v == y || (v != v && y != y)) break;
    }
    return i;
}

static void reduce_unit(const reduction *r, ct_reduction f, int64_t unit, const ct_view *out)
{
    const int64_t last = r->kept - 1, *step = r->keep[last].stride, n = r->keep[last].dim;
    const int64_t blocks = (n + r->block - 1) / r->block, j = unit % blocks * r->block, rest = unit / blocks;
    const int64_t width = ct__min(n - j, r->block),
                  at_out = j * step[1] + ct__axis_offset(r->keep, last, 1, rest);
    const void *x = ct__at(r->x->data, r->x->dtype, j * step[0] + ct__axis_offset(r->keep, last, 0, rest));
    static const pass first[] = {
        [CT_REDUCE_SUM] = SUM,       [CT_REDUCE_MAX] = MAX,      [CT_REDUCE_LOGSUMEXP] = MAX,
        [CT_REDUCE_MIN] = NEGATED,   [CT_REDUCE_NORM] = SQUARES, [CT_REDUCE_ARGMAX] = MAX,
        [CT_REDUCE_ARGMIN] = NEGATED
    };
    double result[CT__REDUCE_WIDTH];
    reduce_block(r, first[f], x, width, NULL, result);
    if (f == CT_REDUCE_LOGSUMEXP) logsumexp(r, x, width, result);
    if (f == CT_REDUCE_NORM) norm(r, x, width, result);
    if (first[f] == NEGATED)
        for (int64_t i = 0; i < width; i++) result[i] = -result[i];
    for (int64_t i = 0; i < width; i++) {
        void *to = ct__at(out->data, out->dtype, at_out + i * step[1]);
        switch (out->dtype) {
        case CT_F64: *(double *)to = result[i]; break;
        case CT_F32: *(float *)to = (float)result[i]; break;
        case CT_I64: *(int64_t *)to = position(r, ct__at(x, r->x->dtype, i * step[0]), result[i]); break;
        default: *(uint16_t *)to = ct__to_half(out->dtype, ct__odd_f32(result[i]));
        }
    }
}

ct_status ct__cpu_reduce(ct_device *dev, ct_reduction f, const ct_view *x, ct_view *out)
{
    reduction r = { .x = x, .isa = dev->isa };
    int64_t outputs = ct__count(out), inputs = 1;
    if (!outputs) return CT_OK;
    for (int d = 0; d < x->ndim; d++) {
        if (x->dim[d] == 1) continue;
        if (out->dim[d] == 1) {
            inputs *= x->dim[d];
            ct__axis_insert(r.over, &r.reduced, (ct__axis){ x->dim[d], { x->stride[d] } });
        } else {
            ct__axis_insert(r.keep, &r.kept, (ct__axis){ x->dim[d], { x->stride[d], out->stride[d] } });
        }
    }
    if (!inputs)
        return ct__cpu_fill(dev, out,
                            f == CT_REDUCE_SUM || f == CT_REDUCE_NORM ? 0
                            : f == CT_REDUCE_MIN                      ? INFINITY
                                                                      : -INFINITY);
    if (!r.kept) r.keep[r.kept++].dim = 1;
    if (!r.reduced) r.over[r.reduced++].dim = 1;
    ct__axis_merge(r.keep, &r.kept);
    ct__axis_merge(r.over, &r.reduced);
    const ct__axis *last = &r.keep[r.kept - 1], *inner = &r.over[r.reduced - 1];
    r.columns = last->dim > 1 && (inner->dim == 1 || last->stride[0] < inner->stride[0]);

    const int64_t most = r.columns ? CT__REDUCE_WIDTH : CT__REDUCE_PIECE / inputs;
    r.block = ct__min(last->dim, ct__max(1, ct__min(most, CT__REDUCE_WIDTH)));
    const int64_t units = outputs / last->dim * ((last->dim + r.block - 1) / r.block);
    const int64_t pieces = units < CT__REDUCE_UNITS ? inputs * r.block / CT__REDUCE_PIECE : 1;
    r.pieces = (int)ct__min(ct__min(pieces, CT__REDUCE_PIECES), r.over[0].dim);
    r.team = ct__team(dev, dev->threads);
    if (r.pieces > 1 || dev->threads < 2 || outputs <= 2 * CT__REDUCE_PIECE / inputs) {
        for (int64_t unit = 0; unit < units; unit++) reduce_unit(&r, f, unit, out);
    } else {
#pragma omp parallel for schedule(static) num_threads(r.team)
        for (int64_t unit = 0; unit < units; unit++) reduce_unit(&r, f, unit, out);
    }
    return CT_OK;
}
