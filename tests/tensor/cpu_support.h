/* Tensors of every layout and their elements one by one, for comparing primitives with naive loops. */
#ifndef TESTS_TENSOR_CPU_SUPPORT_H
#define TESTS_TENSOR_CPU_SUPPORT_H

#include "check.h"
#include "tensor/half.h"
#include "tensor/internal.h"

enum { CONTIGUOUS, TRANSPOSED, SLICED, REVERSED_DIMS, BROADCAST, LAYOUTS, OUT_LAYOUTS = BROADCAST };

static inline double element(const ct_tensor *t, int64_t i)
{
    int64_t offset = 0;
    for (int d = t->view.ndim; d-- > 0;) {
        offset += i % t->view.dim[d] * t->view.stride[d];
        i /= t->view.dim[d];
    }
    if (t->view.dtype == CT_F64) return ((double *)t->view.data)[offset];
    if (t->view.dtype == CT_F32) return (double)((float *)t->view.data)[offset];
    if (t->view.dtype == CT_I64) return (double)((int64_t *)t->view.data)[offset];
    return (double)ct__from_half(t->view.dtype, ((uint16_t *)t->view.data)[offset]);
}

/* All elements in order, to be freed, for loops that read them many times. */
static inline double *numbers(const ct_tensor *t)
{
    const int64_t n = ct_tensor_count(t);
    double *x = malloc((size_t)(n + 1) * sizeof *x);
    assert_non_null(x);
    for (int64_t i = 0; i < n; i++) x[i] = element(t, i);
    return x;
}

/* Element (i, j) of batch member b. */
static inline double entry(const ct_tensor *t, int64_t b, int64_t i, int64_t j)
{
    int64_t rows = t->view.dim[t->view.ndim - 2], cols = t->view.dim[t->view.ndim - 1];
    return element(t, (b * rows + i) * cols + j);
}

/* A view of that shape and layout over memory that is NaN elsewhere (-77 for i64). */
static inline ct_tensor *blank(ct_device *dev, ct_dtype dtype, ct_shape shape, int layout)
{
    int n = shape.ndim, order[CT_MAX_DIMS];
    ct_shape base = shape;
    for (int d = 0; d < n; d++) order[d] = d;
    if (layout == TRANSPOSED && n > 1) order[n - 1] = n - 2, order[n - 2] = n - 1;
    if (layout == REVERSED_DIMS)
        for (int d = 0; d < n; d++) order[d] = n - 1 - d;
    for (int d = 0; d < n; d++) base.dim[order[d]] = shape.dim[d];
    if (layout == BROADCAST)
        for (int d = 0; d < n; d++) base.dim[d] = d % 2 == n % 2 ? 1 : shape.dim[d];
    if (layout == SLICED)
        for (int d = 0; d < n; d++) base.dim[d] = 2 * shape.dim[d] + 3;
    ct_tensor *t = ct_full(dev, dtype, base, dtype == CT_I64 ? -77 : NAN), *view = ct_retain(t);
    for (int d = 0; d < n && layout == SLICED; d++) {
        ct_tensor *next = ct_tensor_slice(view, d, 1, 1 + 2 * shape.dim[d], 2);
        ct_release(view);
        view = next;
    }
    if (layout == TRANSPOSED || layout == REVERSED_DIMS) {
        ct_release(view);
        view = ct_tensor_permute(t, order);
    }
    if (layout == BROADCAST) {
        ct_release(view);
        view = ct_tensor_broadcast(t, shape);
    }
    ct_release(t);
    assert_non_null(view);
    assert_true(ct_shape_equal(ct_tensor_shape(view), shape));
    return view;
}

/* The same with standard normal values; integers 0..6 for i64. */
static inline ct_tensor *sample(ct_device *dev, ct_dtype dtype, ct_shape shape, int layout, uint64_t seed)
{
    ct_tensor *t = blank(dev, dtype, shape, layout);
    for (int64_t i = 0; i < ct_tensor_count(t); i++) {
        int64_t offset = 0, rest = i;
        for (int d = t->view.ndim; d-- > 0;) {
            offset += rest % t->view.dim[d] * t->view.stride[d];
            rest /= t->view.dim[d];
        }
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        double u = (double)(seed >> 11) * 0x1p-53, value = 3 * (u - 0.5);
        if (t->view.dtype == CT_F64)
            ((double *)t->view.data)[offset] = value;
        else if (t->view.dtype == CT_F32)
            ((float *)t->view.data)[offset] = (float)value;
        else if (t->view.dtype == CT_I64)
            ((int64_t *)t->view.data)[offset] = (int64_t)(u * 7);
        else
            ((uint16_t *)t->view.data)[offset] = ct__to_half(t->view.dtype, (float)value);
    }
    return t;
}

/* Checks that nothing was written beside the elements of a SLICED view from blank(), for floating tensors. */
static inline void assert_contained(const ct_tensor *t)
{
    int64_t all = 1, inside = 0, found = 0;
    for (int d = 0; d < t->view.ndim; d++) all *= 2 * t->view.dim[d] + 3;
    ct_tensor memory = { .view.data = t->view.storage->data,
                         .view.dtype = t->view.dtype,
                         .view.ndim = 1,
                         .view.dim = { all },
                         .view.stride = { 1 } };
    for (int64_t i = 0; i < all; i++) found += !isnan(element(&memory, i));
    for (int64_t i = 0; i < ct_tensor_count(t); i++) inside += !isnan(element(t, i));
    assert_int_equal(found, inside);
}

/* The tolerance for sums of a few hundred products: one rounding of the result, half a unit of 2^-7 or 2^-10
 * in bf16 or f16. */
static inline double tolerance(ct_dtype dtype)
{
    static const double of[] = {
        [CT_F64] = 1e-13, [CT_F32] = 2e-5, [CT_BF16] = 2e-5 + 0x1p-8, [CT_F16] = 2e-5 + 0x1p-11
    };
    return of[dtype];
}

static inline ct_device *open_cpu(int threads)
{
    ct_device_options options = { .threads = threads };
    ct_device *dev = ct_device_open_with("cpu", &options);
    assert_int_equal(ct_device_status(dev), CT_OK);
    return dev;
}

#endif
