/* Elementwise fill, copy between layouts and dtypes, a x + b y, where, and random numbers. */
#include <math.h>

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
static __device__ int64_t integer(long long x) { return x; }

/* Element `at` of the output becomes x: a double, a float or an integer. */
template <typename X> static __device__ void put(const ct__span &s, int64_t at, X x)
{
#define PUT(S) (void)(((S *)s.data[0])[at] = (S)x)
    if (s.dtype[0] == CT_I64)
        ((int64_t *)s.data[0])[at] = integer(x);
    else
        CT__PER_DTYPE(s.dtype[0], PUT);
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

ct_status ct__cuda_fill(ct_device *dev, ct_view *out, double value)
{
    const ct__span s = ct__make_span({ out });
    return CT__RUN_EACH(dev, "fill", fill_kernel, s.count, s, value);
}

/* -- copy ------------------------------------------------------------------------------------------------ */

/* Copies without conversion. */
static __global__ void move_kernel(ct__span s, int bytes)
{
    CT__EACH(i, s.count)
    {
        const ct__located<2> at(s, i);
        ct__move(bytes, s.data[0], at[0], s.data[1], at[1]);
    }
}

template <typename X> static __global__ void convert_kernel(ct__span s)
{
    CT__EACH(i, s.count)
    {
        const ct__located<2> at(s, i);
        put(s, at[0], (typename ct__arithmetic<X>::type)((const X *)s.data[1])[at[1]]);
    }
}

ct_status ct__cuda_copy(ct_device *dev, const ct_view *x, ct_view *out)
{
    const ct__span s = ct__make_span({ out, x });
    if (!s.count) return CT_OK;
    const size_t bytes = ct__size(x->dtype);
    const bool dense = !s.ndim || (s.ndim == 1 && s.axis[0].stride[0] == 1 && s.axis[0].stride[1] == 1);
#define CONVERT(X) CT__RUN_EACH(dev, "copy", convert_kernel<X>, s.count, s)
    if (x->dtype != out->dtype) return CT__PER_ANY(x->dtype, CONVERT);
    if (dense)
        return ct__status(dev, "copy",
                          cudaMemcpyAsync(s.data[0], s.data[1], (size_t)s.count * bytes,
                                          cudaMemcpyDeviceToDevice, ct__cuda_of(dev)->stream));
    return CT__RUN_EACH(dev, "copy", move_kernel, s.count, s, (int)bytes);
}

/* -- a x + b y ------------------------------------------------------------------------------------------- */

template <typename T> static __global__ void axpby_kernel(ct__span s, T a, T b)
{
    CT__EACH(i, s.count)
    {
        const ct__located<3> at(s, i);
        ((T *)s.data[0])[at[0]] = a * ((const T *)s.data[1])[at[1]] + b * ((const T *)s.data[2])[at[2]];
    }
}

ct_status ct__cuda_axpby(ct_device *dev, double a, const ct_view *x, double b, const ct_view *y, ct_view *out)
{
    const ct__span s = ct__make_span({ out, x, y });
#define AXPBY(T) CT__RUN_EACH(dev, "axpby", axpby_kernel<T>, s.count, s, (T)a, (T)b)
    return out->dtype == CT_F64 ? AXPBY(double) : AXPBY(float);
}

/* -- where ----------------------------------------------------------------------------------------------- */

template <typename C> static __global__ void where_kernel(ct__span s, int bytes)
{
    CT__EACH(i, s.count)
    {
        const ct__located<4> at(s, i);
        const bool yes = (typename ct__arithmetic<C>::type)((const C *)s.data[1])[at[1]] != 0;
        ct__move(bytes, s.data[0], at[0], yes ? s.data[2] : s.data[3], yes ? at[2] : at[3]);
    }
}

ct_status ct__cuda_where(ct_device *dev, const ct_view *cond, const ct_view *a, const ct_view *b,
                         ct_view *out)
{
    const ct__span s = ct__make_span({ out, cond, a, b });
#define WHERE(C) CT__RUN_EACH(dev, "where", where_kernel<C>, s.count, s, (int)ct__size(out->dtype))
    return CT__PER_ANY(cond->dtype, WHERE);
}

/* -- random ---------------------------------------------------------------------------------------------- */

/* Element i gets number i of the stream, so the span must be in row-major order. */
static __global__ void random_kernel(ct__span s, bool normal, uint64_t seed, uint64_t stream)
{
    const int per_block = s.dtype[0] == CT_F64 ? 2 : 4;
    CT__EACH(block, (s.count + per_block - 1) / per_block)
    {
        double z[4];
        block_of(normal, s.dtype[0], draw(seed, stream, (uint64_t)block), z);
        for (int j = 0; j < per_block && block * per_block + j < s.count; j++)
            put(s, ct__located<1>(s, block * per_block + j)[0], z[j]);
    }
}

ct_status ct__cuda_random(ct_device *dev, bool normal, uint64_t seed, uint64_t stream, ct_view *out)
{
    ct__span s = { out->ndim, ct__count(out), {}, { out->data }, { out->dtype } };
    for (int d = 0; d < out->ndim; d++) s.axis[d] = ct__axis{ out->dim[d], { out->stride[d] } };
    return CT__RUN_EACH(dev, "random", random_kernel, s.count, s, normal, seed, stream);
}
