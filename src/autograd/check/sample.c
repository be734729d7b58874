/* Draws inputs for an op. Input i of seed s is a function of (s, i, shape) alone, so every dtype (rounded)
 * and every device gets the same numbers. */
#include "sample.h"

#include <math.h>
#include <string.h>

#include "tensor/internal.h"

static void fail(ct_sample *s, ct_status status)
{
    if (s->status == CT_OK) s->status = status;
}

void ct_sample_fail(ct_sample *s, ct_status status, const char *why)
{
    ct__fail(s->device, status ? status : CT_EINVAL, "sample: %s", why ? why : "failed");
    fail(s, status ? status : CT_EINVAL);
}

/* Takes over t, the f64 draw of input i. */
static void give(ct_sample *s, int i, ct__sample_kind kind, ct_tensor *t)
{
    const ct_dtype dtype = kind == CT__SAMPLE_INDEX ? CT_I64 : s->dtype;
    ct_tensor *drawn = t && dtype != CT_F64 ? ct_tensor_cast(t, dtype) : ct_retain(t);
    ct_release(t);
    if (!drawn) {
        fail(s, ct_last_status(s->device));
        return;
    }
    ct_release(s->in[i]);
    s->in[i] = drawn;
    s->kind[i] = kind;
    if (kind == CT__SAMPLE_SPD) s->symmetric |= (uint64_t)1 << i;
    if (i >= s->n_in) s->n_in = i + 1;
}

/* Whether input i may be drawn; *shape becomes batch + trailing. */
static bool begin(ct_sample *s, int i, ct_shape *shape)
{
    if (s->status != CT_OK) return false;
    if (i < 0 || i >= CT_MAX_INPUTS) {
        fail(s, ct__fail(s->device, CT_EINVAL, "sample: input %d is outside 0..%d", i, CT_MAX_INPUTS - 1));
        return false;
    }
    ct_shape full = { .ndim = s->unbatched ? 0 : s->batch.ndim };
    for (int k = 0; k < full.ndim; k++) full.dim[k] = s->batch.dim[k];
    if (shape->ndim < 0 || full.ndim + shape->ndim > CT_MAX_DIMS) {
        fail(s, ct__fail(s->device, CT_ESHAPE, "sample: input %d would have %d dimensions, at most %d", i,
                         full.ndim + shape->ndim, CT_MAX_DIMS));
        return false;
    }
    for (int k = 0; k < shape->ndim; k++) full.dim[full.ndim++] = shape->dim[k];
    if (ct_shape_count(full) < 0) {
        fail(s, ct__fail(s->device, CT_ESHAPE, "sample: the shape of input %d is too large or negative", i));
        return false;
    }
    *shape = full;
    s->batched = s->batched || (!s->unbatched && s->batch.ndim > 0);
    return true;
}

/* Computes element `at` of the edited numbers from the drawn numbers x, whose last extent is n. */
typedef double edit(const double *x, int64_t at, int64_t n, const double *p);

/* Edits t, which is taken over, on the host. */
static ct_tensor *edited(ct_sample *s, ct_tensor *t, edit *e, const double *p)
{
    const ct_shape shape = ct_tensor_shape(t);
    const int64_t count = ct_tensor_count(t), n = ct_tensor_dim(t, -1);
    const size_t bytes = (size_t)count * sizeof(double);
    double *x = t ? ct__host_alloc(s->device, 2 * bytes) : NULL;
    ct_tensor *result = NULL;
    if (x && ct_read(t, x, bytes) == CT_OK) {
        for (int64_t at = 0; at < count; at++) x[count + at] = e(x, at, n, p);
        result = ct_from(s->device, CT_F64, shape, x + count);
    }
    ct__host_free(s->device, x, 2 * bytes);
    ct_release(t);
    return result;
}

/* p: the number of values, then the values */
static double to_values(const double *x, int64_t at, int64_t n, const double *p)
{
    (void)n;
    return p[1 + (int)(x[at] * p[0])];
}

/* One number in twelve becomes a zero with the same sign. */
static double to_some_zeros(const double *x, int64_t at, int64_t n, const double *p)
{
    (void)n, (void)p;
    return x[at] > -0.1 && x[at] < 0.1 ? 0 * x[at] : x[at];
}

static double to_interval(const double *x, int64_t at, int64_t n, const double *p)
{
    (void)n;
    return p[0] + (p[1] - p[0]) * x[at];
}

static double to_integers(const double *x, int64_t at, int64_t n, const double *p)
{
    (void)n;
    return fmin(floor(x[at] * p[0]), p[0] - 1);
}

/* A = R Rᵀ / n + I */
static double to_spd(const double *x, int64_t at, int64_t n, const double *p)
{
    (void)p;
    int64_t row = at / n % n, col = at % n;
    const double *R = x + at - row * n - col;
    double sum = 0;
    for (int64_t k = 0; k < n; k++) sum += R[row * n + k] * R[col * n + k];
    return sum / (double)n + (row == col);
}

/* 1 + |r| on the diagonal, r / (n + 1) off it, zero in the other triangle; p[0] is 1 for upper. */
static double to_triangle(const double *x, int64_t at, int64_t n, const double *p)
{
    int64_t row = at / n % n, col = at % n;
    if (row == col) return 1 + fabs(x[at]);
    return (col < row) != (p[0] != 0) ? x[at] / (double)(n + 1) : 0;
}

/* r / (n + 1), but 2 + |r| at a permutation's places. It is a cycle of the first three rows, so det > 0. */
static double to_invertible(const double *x, int64_t at, int64_t n, const double *p)
{
    (void)p;
    int64_t row = at / n % n, col = at % n, place = n >= 3 && row < 3 ? (row + 1) % 3 : row;
    return col == place ? 2 + fabs(x[at]) : x[at] / (double)(n + 1);
}

/* Draws input i: uniform numbers in [0, 1) or standard normal ones, then edited. */
static void draw(ct_sample *s, int i, ct_shape shape, ct__sample_kind kind, bool uniform, edit *e,
                 const double *p)
{
    if (!begin(s, i, &shape)) return;
    ct_tensor *t =
        (uniform ? ct_rand_uniform : ct_rand_normal)(s->device, CT_F64, shape, s->seed, (uint64_t)i);
    give(s, i, kind, edited(s, t, e, p));
}

int64_t ct_sample_size(const ct_sample *s) { return s->size; }

int ct_sample_variant(ct_sample *s, int n)
{
    if (n < 1) {
        fail(s, ct__fail(s->device, CT_EINVAL, "sample: %d variants declared, at least 1", n));
        n = 1;
    }
    s->n_variants = n;
    return s->variant >= 0 && s->variant < n ? s->variant : 0;
}

void ct_sample_attr(ct_sample *s, const void *attr, size_t size)
{
    if (s->status != CT_OK) return;
    if (size > sizeof s->attr || (size > 0 && !attr)) {
        fail(s, ct__fail(s->device, CT_EINVAL, "sample: attributes of %zu bytes, at most %zu", size,
                         sizeof s->attr));
        return;
    }
    if (size > 0) memcpy(s->attr, attr, size);
    s->attr_size = size;
}

void ct_sample_normal(ct_sample *s, int i, ct_shape trailing)
{
    draw(s, i, trailing, CT__SAMPLE_NORMAL, false, to_some_zeros, NULL);
}

void ct_sample_among(ct_sample *s, int i, ct_shape trailing, const double *values, int n)
{
    double p[1 + CT__SAMPLE_VALUES] = { n };
    if (n < 1 || n > CT__SAMPLE_VALUES || !values) {
        fail(s,
             ct__fail(s->device, CT_EINVAL, "sample: input %d is drawn among %d values, 1 to %d are possible",
                      i, n, CT__SAMPLE_VALUES));
        return;
    }
    memcpy(p + 1, values, (size_t)n * sizeof *p);
    draw(s, i, trailing, CT__SAMPLE_UNIFORM, true, to_values, p);
}

void ct_sample_uniform(ct_sample *s, int i, ct_shape trailing, double lo, double hi)
{
    draw(s, i, trailing, CT__SAMPLE_UNIFORM, true, to_interval, (double[]){ lo, hi });
}

void ct_sample_spd(ct_sample *s, int i, int64_t n)
{
    draw(s, i, ct_shape2(n, n), CT__SAMPLE_SPD, false, to_spd, NULL);
}

void ct_sample_lower(ct_sample *s, int i, int64_t n)
{
    draw(s, i, ct_shape2(n, n), CT__SAMPLE_LOWER, false, to_triangle, (double[]){ 0 });
}

void ct_sample_invertible(ct_sample *s, int i, int64_t n)
{
    draw(s, i, ct_shape2(n, n), CT__SAMPLE_NORMAL, false, to_invertible, NULL);
}

void ct_sample_upper(ct_sample *s, int i, int64_t n)
{
    draw(s, i, ct_shape2(n, n), CT__SAMPLE_UPPER, false, to_triangle, (double[]){ 1 });
}

void ct_sample_index(ct_sample *s, int i, ct_shape trailing, int64_t below)
{
    if (s->status == CT_OK && below < 1 && ct_shape_count(trailing) > 0)
        fail(s, ct__fail(s->device, CT_EINVAL, "sample: input %d has no integer in [0, %lld) to draw", i,
                         (long long)below));
    draw(s, i, trailing, CT__SAMPLE_INDEX, true, to_integers, (double[]){ (double)below });
}

void ct_sample_unbatched(ct_sample *s) { s->unbatched = true; }
void ct_sample_kinks(ct_sample *s) { s->kinks = true; }

ct_status ct__sample_draw(ct_sample *s, const ct_op *op)
{
    *s = (ct_sample){ .device = s->device,
                      .dtype = s->dtype,
                      .size = s->size,
                      .batch = s->batch,
                      .seed = s->seed,
                      .variant = s->variant,
                      .n_variants = 1 };
    op->sample(s);
    for (int i = 0; i < s->n_in && s->status == CT_OK; i++)
        if (!s->in[i])
            fail(s, ct__fail(s->device, CT_EINVAL, "sample of %s draws input %d, but not input %d", op->name,
                             s->n_in - 1, i));
    if (s->status == CT_OK && op->n_in >= 0 && s->n_in != op->n_in)
        fail(s, ct__fail(s->device, CT_EINVAL, "sample of %s draws %d inputs, the op has %d", op->name,
                         s->n_in, op->n_in));
    if (s->status != CT_OK) ct__sample_clear(s);
    return s->status;
}

void ct__sample_clear(ct_sample *s)
{
    for (int i = 0; i < s->n_in; i++) ct_release(s->in[i]), s->in[i] = NULL;
    s->n_in = 0;
}
