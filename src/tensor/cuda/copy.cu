/* fill, copy between layouts and dtypes, where, random numbers: elementwise, whatever the dtype. */
#include <math.h>

#include "half.cuh"
#include "loop.cuh"

#include <Random123/philox.h>

#define CT__FN    static __device__
#define CT__CONST static __device__ const
#include "tensor/random.h"

/* -- numbers of any dtype -------------------------------------------------------------------------------- */

/* Rounds towards zero; saturates; NaN becomes 0. */
static __device__ int64_t integer(double x)
{
    if (x != x) return 0;
    if (x >= 9223372036854775808.0) return INT64_MAX;
    return x < -9223372036854775808.0 ? INT64_MIN : (int64_t)x;
}
static __device__ int64_t integer(float x) { return integer((double)x); }
static __device__ int64_t integer(int64_t x) { return x; }

template <typename X> static __device__ void put(const ct__span &s, int64_t at, X x)
{
    switch (s.dtype[0]) {
    case CT_F64: ((double *)s.data[0])[at] = (double)x; break;
    case CT_F32: ((float *)s.data[0])[at] = (float)x; break;
    case CT_BF16: ((ct__bf16 *)s.data[0])[at] = ct__bf16(x); break;
    case CT_F16: ((ct__f16 *)s.data[0])[at] = ct__f16(x); break;
    default: ((int64_t *)s.data[0])[at] = integer(x); break;
    }
}

/* -- fill ------------------------------------------------------------------------------------------------ */

static __global__ void fill_kernel(ct__span s, double value)
{
    CT__EACH(i, s.count)
    {
        const ct__located<1> at(s, i);
        put(s, at[0], value);
    }
}

ct_status ct__cuda_fill(ct_device *dev, double value, ct_view *out)
{
    const ct_view *t[] = { out };
    ct__span s = ct__make_span(1, t);
    return CT__RUN_EACH(dev, "fill", fill_kernel, s.count, s, value);
}

/* -- copy ------------------------------------------------------------------------------------------------ */

/* Bits as they are. */
template <typename W> static __global__ void move_kernel(ct__span s)
{
    CT__EACH(i, s.count)
    {
        const ct__located<2> at(s, i);
        ((W *)s.data[0])[at[0]] = ((const W *)s.data[1])[at[1]];
    }
}

static __global__ void convert_kernel(ct__span s)
{
    CT__EACH(i, s.count)
    {
        const ct__located<2> at(s, i);
        switch (s.dtype[1]) {
        case CT_F64: put(s, at[0], ((const double *)s.data[1])[at[1]]); break;
        case CT_F32: put(s, at[0], ((const float *)s.data[1])[at[1]]); break;
        case CT_BF16: put(s, at[0], (float)((const ct__bf16 *)s.data[1])[at[1]]); break;
        case CT_F16: put(s, at[0], (float)((const ct__f16 *)s.data[1])[at[1]]); break;
        default: put(s, at[0], ((const int64_t *)s.data[1])[at[1]]); break;
        }
    }
}

ct_status ct__cuda_copy(ct_device *dev, const ct_view *x, ct_view *out)
{
    const ct_view *t[] = { out, x };
    ct__span s = ct__make_span(2, t);
    if (!s.count) return CT_OK;
    const size_t bytes = ct__size(x->dtype);
    const bool dense = !s.ndim || (s.ndim == 1 && s.axis[0].stride[0] == 1 && s.axis[0].stride[1] == 1);
    if (x->dtype != out->dtype) return CT__RUN_EACH(dev, "copy", convert_kernel, s.count, s);
    if (dense)
        return ct__cuda_status(dev, "copy",
                               cudaMemcpyAsync(s.data[0], s.data[1], (size_t)s.count * bytes,
                                               cudaMemcpyDeviceToDevice, ct__cuda_of(dev)->stream));
    return bytes == 8   ? CT__RUN_EACH(dev, "copy", move_kernel<uint64_t>, s.count, s)
           : bytes == 4 ? CT__RUN_EACH(dev, "copy", move_kernel<uint32_t>, s.count, s)
                        : CT__RUN_EACH(dev, "copy", move_kernel<uint16_t>, s.count, s);
}

/* -- where ----------------------------------------------------------------------------------------------- */

static __global__ void where_kernel(ct__span s, int bytes)
{
    CT__EACH(i, s.count)
    {
        const ct__located<4> at(s, i);
        bool yes;
        switch (s.dtype[1]) {
        case CT_F64: yes = ((const double *)s.data[1])[at[1]] != 0; break;
        case CT_F32: yes = ((const float *)s.data[1])[at[1]] != 0; break;
        default: yes = ((const int64_t *)s.data[1])[at[1]] != 0; break;
        }
        ct__move(bytes, s.data[0], at[0], yes ? s.data[2] : s.data[3], yes ? at[2] : at[3]);
    }
}

ct_status ct__cuda_where(ct_device *dev, const ct_view *cond, const ct_view *a, const ct_view *b,
                         ct_view *out)
{
    const ct_view *t[] = { out, cond, a, b };
    ct__span s = ct__make_span(4, t);
    return CT__RUN_EACH(dev, "where", where_kernel, s.count, s, (int)ct__size(out->dtype));
}

/* -- random ---------------------------------------------------------------------------------------------- */

/* `shape` in row-major order: which element a number is, is part of the contract. */
typedef struct layout {
    int64_t ndim;
    int64_t dim[CT_MAX_DIMS], stride[CT_MAX_DIMS], count;
    void *data;
} layout;

static __global__ void random_kernel(layout t, bool f64, bool normal, uint64_t seed, uint64_t stream)
{
    const int per_block = f64 ? 2 : 4;
    CT__EACH(block, (t.count + per_block - 1) / per_block)
    {
        double z[4];
        block_of(normal, f64 ? CT_F64 : CT_F32, draw(seed, stream, (uint64_t)block), z);
        for (int j = 0; j < per_block && block * per_block + j < t.count; j++) {
            int64_t i = block * per_block + j, at = 0;
            for (int d = (int)t.ndim - 1; d >= 0; d--) {
                at += i % t.dim[d] * t.stride[d];
                i /= t.dim[d];
            }
            if (f64)
                ((double *)t.data)[at] = z[j];
            else
                ((float *)t.data)[at] = (float)z[j];
        }
    }
}

ct_status ct__cuda_random(ct_device *dev, bool normal, uint64_t seed, uint64_t stream, ct_view *out)
{
    layout t;
    memset(&t, 0, sizeof t);
    t.ndim = out->ndim;
    t.count = ct__count(out);
    t.data = out->data;
    for (int d = 0; d < out->ndim; d++) t.dim[d] = out->dim[d], t.stride[d] = out->stride[d];
    return CT__RUN_EACH(dev, "random", random_kernel, t.count, t, out->dtype == CT_F64, normal, seed, stream);
}
