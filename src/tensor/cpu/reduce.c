/* Sums, maxima and logsumexps over any dimensions. All arithmetic is in f64;
 * the order of operations follows from the shape alone: halves of halves down
 * to short runs, so that rounding grows with log n. */
#include "cpu.h"
#include "half.h"
#include "map_vector.h"

#include <math.h>
#include <string.h>

typedef enum pass { SUM, MAX, EXPSUM } pass;

typedef struct axis {
    int64_t n, x, out; /* extent and strides */
} axis;

typedef struct reduction {
    const ct_view *x;
    int kept, reduced; /* numbers of dimensions, at least 1; the last has x's
                        shortest step */
    axis keep[CT_MAX_DIMS], over[CT_MAX_DIMS];
    bool columns;  /* neighbours in memory are different outputs         */
    int64_t block; /* outputs of a unit of work, along the last kept one */
    int pieces;    /* of the reduced elements, worked on in parallel     */
    int team, isa;
} reduction;

static double start(pass f) { return f == MAX ? -INFINITY : 0; }

/* For MAX a NaN on either side wins. */
static inline double combine(pass f, double a, double b)
{
    return f != MAX ? a + b : ((b > a) | (b != b)) ? b : a;
}

/* n <= CT__REDUCE_WIDTH elements as doubles: where they lie, or in buffer. */
static const double *load(const reduction *r, const void *x, int64_t n, int64_t step, double *buffer)
{
    if (r->x->dtype == CT_F64) {
        const double *v = x;
        if (step == 1) return v;
        for (int64_t i = 0; i < n; i++) buffer[i] = v[i * step];
    } else if (r->x->dtype == CT_F32) {
        const float *v = x;
        if (step == 1)
            for (int64_t i = 0; i < n; i++) buffer[i] = (double)v[i];
        else
            for (int64_t i = 0; i < n; i++) buffer[i] = (double)v[i * step];
    } else {
        float v[CT__REDUCE_WIDTH];
        ct__widen_tile(r->isa, r->x->dtype, 1, n, x, 0, step, v, 0);
        for (int64_t i = 0; i < n; i++) buffer[i] = (double)v[i];
    }
    return buffer;
}

/* In lanes, so that every compiler adds in the same order. */
static double sum_run(const double *v, int64_t n)
{
    double lane[CT__REDUCE_LANES] = { 0 }, rest = 0;
    int64_t i = 0;
    for (; i + CT__REDUCE_LANES <= n; i += CT__REDUCE_LANES)
        for (int l = 0; l < CT__REDUCE_LANES; l++) lane[l] += v[i + l];
    for (; i < n; i++) rest += v[i];
    for (int half = CT__REDUCE_LANES / 2; half; half /= 2)
        for (int l = 0; l < half; l++) lane[l] += lane[l + half];
    return lane[0] + rest;
}

static double max_run(const double *v, int64_t n)
{
    double lane[CT__REDUCE_LANES], result = -INFINITY;
    for (int l = 0; l < CT__REDUCE_LANES; l++) lane[l] = -INFINITY;
    int64_t i = 0;
    for (; i + CT__REDUCE_LANES <= n; i += CT__REDUCE_LANES)
        for (int l = 0; l < CT__REDUCE_LANES; l++) lane[l] = combine(MAX, lane[l], v[i + l]);
    for (; i < n; i++) result = combine(MAX, result, v[i]);
    for (int l = 0; l < CT__REDUCE_LANES; l++) result = combine(MAX, result, lane[l]);
    return result;
}

static double run(int isa, pass f, const double *v, int64_t n, double shift)
{
    if (f == SUM) return sum_run(v, n);
    if (f == MAX) return max_run(v, n);
    double term[CT__REDUCE_WIDTH];
    for (int64_t i = 0; i < n; i++) term[i] = v[i] - shift;
    ct__vector_exp(isa, n, term);
    return sum_run(term, n);
}

/* Over n indices of dimension d and all below. */
static double reduce_row(const reduction *r, pass f, int d, int64_t n, const void *x, double shift)
{
    const axis *a = &r->over[d];
    if (d == r->reduced - 1 && n <= CT__REDUCE_LEAF) {
        double buffer[CT__REDUCE_WIDTH], result = start(f);
        for (int64_t i = 0; i < n; i += CT__REDUCE_WIDTH) {
            int64_t length = n - i < CT__REDUCE_WIDTH ? n - i : CT__REDUCE_WIDTH;
            const double *v = load(r, ct__at(x, r->x->dtype, i * a->x), length, a->x, buffer);
            result = combine(f, result, run(r->isa, f, v, length, shift));
        }
        return result;
    }
    if (n == 0) return start(f);
    if (n == 1) return reduce_row(r, f, d + 1, a[1].n, x, shift);
    int64_t half = n / 2;
    return combine(f, reduce_row(r, f, d, half, x, shift),
                   reduce_row(r, f, d, n - half, ct__at(x, r->x->dtype, half * a->x), shift));
}

static void add_row(int isa, pass f, int64_t width, const double *v, const double *shift, double *result)
{
    if (f == SUM)
        for (int64_t j = 0; j < width; j++) result[j] += v[j];
    else if (f == MAX)
        for (int64_t j = 0; j < width; j++) result[j] = combine(MAX, result[j], v[j]);
    else {
        double term[CT__REDUCE_WIDTH];
        for (int64_t j = 0; j < width; j++) term[j] = v[j] - shift[j];
        ct__vector_exp(isa, width, term);
        for (int64_t j = 0; j < width; j++) result[j] += term[j];
    }
}

/* The same for `width` outputs side by side. */
static void reduce_columns(const reduction *r, pass f, int d, int64_t n, const void *x, int64_t width,
                           const double *shift, double *result)
{
    const axis *a = &r->over[d];
    int64_t step = r->keep[r->kept - 1].x;
    if (n == 0 || (d == r->reduced - 1 && n <= CT__REDUCE_ROWS)) {
        for (int64_t j = 0; j < width; j++) result[j] = start(f);
        for (int64_t i = 0; i < n; i++) {
            double buffer[CT__REDUCE_WIDTH];
            add_row(r->isa, f, width, load(r, ct__at(x, r->x->dtype, i * a->x), width, step, buffer), shift,
                    result);
        }
    } else if (n == 1) {
        reduce_columns(r, f, d + 1, a[1].n, x, width, shift, result);
    } else {
        double other[CT__REDUCE_WIDTH];
        int64_t half = n / 2;
        reduce_columns(r, f, d, half, x, width, shift, result);
        reduce_columns(r, f, d, n - half, ct__at(x, r->x->dtype, half * a->x), width, shift, other);
        for (int64_t j = 0; j < width; j++) result[j] = combine(f, result[j], other[j]);
    }
}

static void reduce_part(const reduction *r, pass f, int64_t n, const void *x, int64_t width,
                        const double *shift, double *result)
{
    int64_t step = r->keep[r->kept - 1].x;
    if (r->columns)
        reduce_columns(r, f, 0, n, x, width, shift, result);
    else
        for (int64_t j = 0; j < width; j++)
            result[j] = reduce_row(r, f, 0, n, ct__at(x, r->x->dtype, j * step), shift ? shift[j] : 0);
}

/* The number of pieces is a function of the shape, whatever the threads. */
static void reduce_block(const reduction *r, pass f, const void *x, int64_t width, const double *shift,
                         double *result)
{
    int64_t n = r->over[0].n;
    int pieces = r->pieces;
    if (pieces < 2) {
        reduce_part(r, f, n, x, width, shift, result);
        return;
    }
    double partial[CT__REDUCE_PIECES][CT__REDUCE_WIDTH];
#pragma omp parallel for schedule(static) num_threads(r->team)
    for (int i = 0; i < pieces; i++) {
        int64_t from = ct__part(n, pieces, i);
        int64_t to = ct__part(n, pieces, i + 1);
        reduce_part(r, f, to - from, ct__at(x, r->x->dtype, from * r->over[0].x), width, shift, partial[i]);
    }
    memcpy(result, partial[0], (size_t)width * sizeof *result);
    for (int i = 1; i < pieces; i++)
        for (int64_t j = 0; j < width; j++) result[j] = combine(f, result[j], partial[i][j]);
}

/* logsumexp x = m + log Σ exp(x - m), m = max x; an infinite m is the answer
 * itself. */
static void reduce_unit(const reduction *r, ct_reduction f, int64_t unit, const ct_view *out)
{
    const axis *last = &r->keep[r->kept - 1];
    int64_t blocks = (last->n + r->block - 1) / r->block, j = unit % blocks * r->block, rest = unit / blocks;
    int64_t width = last->n - j < r->block ? last->n - j : r->block, at_x = j * last->x,
            at_out = j * last->out;
    for (int d = r->kept - 1; d-- > 0;) {
        at_x += rest % r->keep[d].n * r->keep[d].x;
        at_out += rest % r->keep[d].n * r->keep[d].out;
        rest /= r->keep[d].n;
    }
    const void *x = ct__at(r->x->data, r->x->dtype, at_x);
    double result[CT__REDUCE_WIDTH];
    reduce_block(r, f == CT_REDUCE_SUM ? SUM : MAX, x, width, NULL, result);
    if (f == CT_REDUCE_LOGSUMEXP) {
        double shift[CT__REDUCE_WIDTH], sum[CT__REDUCE_WIDTH];
        for (int64_t i = 0; i < width; i++) shift[i] = isfinite(result[i]) ? result[i] : 0;
        reduce_block(r, EXPSUM, x, width, shift, sum);
        for (int64_t i = 0; i < width; i++)
            if (isfinite(result[i])) result[i] += log(sum[i]);
    }
    for (int64_t i = 0; i < width; i++) {
        void *to = ct__at(out->data, out->dtype, at_out + i * last->out);
        switch (out->dtype) {
        case CT_F64: *(double *)to = result[i]; break;
        case CT_F32: *(float *)to = (float)result[i]; break;
        default: *(uint16_t *)to = ct__to_half(out->dtype, ct__odd_f32(result[i]));
        }
    }
}

/* Inserts an axis by falling steps of x. */
static void insert(axis *list, int *n, axis a)
{
    int at = (*n)++;
    for (; at > 0 && list[at - 1].x < a.x; at--) list[at] = list[at - 1];
    list[at] = a;
}

static void coalesce(axis *list, int *n)
{
    int kept = 0;
    for (int d = 1; d < *n; d++) {
        axis *a = &list[kept];
        if (a->x == list[d].x * list[d].n && a->out == list[d].out * list[d].n)
            list[kept] = (axis){ a->n * list[d].n, list[d].x, list[d].out };
        else
            list[++kept] = list[d];
    }
    if (*n) *n = kept + 1;
    if (!*n) list[(*n)++] = (axis){ 1, 0, 0 };
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
            insert(r.over, &r.reduced, (axis){ x->dim[d], x->stride[d], 0 });
        } else {
            insert(r.keep, &r.kept, (axis){ x->dim[d], x->stride[d], out->stride[d] });
        }
    }
    coalesce(r.keep, &r.kept);
    coalesce(r.over, &r.reduced);
    const axis *last = &r.keep[r.kept - 1];
    r.columns = last->n > 1 && (r.over[r.reduced - 1].n == 1 || last->x < r.over[r.reduced - 1].x);

    int64_t most = r.columns || !inputs ? CT__REDUCE_WIDTH : CT__REDUCE_PIECE / inputs;
    most = most < 1 ? 1 : most > CT__REDUCE_WIDTH ? CT__REDUCE_WIDTH : most;
    r.block = last->n < most ? last->n : most;
    int64_t units = outputs / last->n * ((last->n + r.block - 1) / r.block);
    int64_t pieces = units < CT__REDUCE_UNITS ? inputs * r.block / CT__REDUCE_PIECE : 1;
    pieces = pieces > CT__REDUCE_PIECES ? CT__REDUCE_PIECES : pieces;
    r.pieces = (int)(pieces > r.over[0].n ? r.over[0].n : pieces);
    r.team = ct__team(dev, dev->threads);
    if (r.pieces > 1 || dev->threads < 2 || !inputs || outputs <= 2 * CT__REDUCE_PIECE / inputs) {
        for (int64_t unit = 0; unit < units; unit++) reduce_unit(&r, f, unit, out);
    } else {
#pragma omp parallel for schedule(static) num_threads(r.team)
        for (int64_t unit = 0; unit < units; unit++) reduce_unit(&r, f, unit, out);
    }
    return CT_OK;
}
