/* Elementwise functions, from the tables of maps.h. */
#include <math.h>

#include "half.cuh"
#include "loop.cuh"

#define CT__FN     static __device__ __attribute__((noinline))
#define CT__CONST  static __device__ const
#define CT__LGAMMA lgamma
#include "tensor/special.h"

static __device__ __attribute__((noinline)) double ct__lgamma(double x) { return lgamma(x); }
static __device__ __attribute__((noinline)) float ct__lgammaf(float x) { return lgammaf(x); }
static __device__ double ct__polygamma(int k, double x) { return polygamma(k, x); }
static __device__ float ct__polygammaf(int k, float x) { return (float)polygamma(k, (double)x); }

#define T        double
#define FN(name) name
#define NAME(n)  n##_f64
#include "map_kernels.cuh"
#undef T
#undef FN
#undef NAME

#define T        float
#define FN(name) name##f
#define NAME(n)  n##_f32
#include "map_kernels.cuh"
#undef T
#undef FN
#undef NAME

#define LAUNCH(name, kernel, ...) CT__RUN_EACH(dev, #name, kernel, s.count, s, __VA_ARGS__)
#define RUN(name, ...)                                                         \
    (out->dtype == CT_F64    ? LAUNCH(name, name##_f64<double>, __VA_ARGS__)   \
     : out->dtype == CT_BF16 ? LAUNCH(name, name##_f32<ct__bf16>, __VA_ARGS__) \
     : out->dtype == CT_F16  ? LAUNCH(name, name##_f32<ct__f16>, __VA_ARGS__)  \
                             : LAUNCH(name, name##_f32<float>, __VA_ARGS__))

ct_status ct__cuda_map1(ct_device *dev, ct_map1 f, const double p[2], const ct_view *x, ct_view *out)
{
    const ct_view *t[] = { out, x };
    ct__span s = ct__make_span(2, t);
    return RUN(value1, (int)f, p[0], p[1]);
}

ct_status ct__cuda_map1_bar(ct_device *dev, ct_map1 f, const double p[2], const ct_view *x, const ct_view *y,
                            const ct_view *g, ct_view *out)
{
    const ct_view *t[] = { out, x, y, g };
    ct__span s = ct__make_span(4, t);
    return RUN(bar1, (int)f, p[0], p[1]);
}

ct_status ct__cuda_map2(ct_device *dev, ct_map2 f, const ct_view *a, const ct_view *b, ct_view *out)
{
    const ct_view *t[] = { out, a, b };
    ct__span s = ct__make_span(3, t);
    return RUN(value2, (int)f);
}

ct_status ct__cuda_map2_bar(ct_device *dev, ct_map2 f, int side, const ct_view *a, const ct_view *b,
                            const ct_view *g, ct_view *out)
{
    const ct_view *t[] = { out, a, b, g };
    ct__span s = ct__make_span(4, t);
    return RUN(bar2, (int)f, side);
}
