/* What the matrices and the gradients of a covariance kernel share: the program on the device, and one pair of points. */
#ifndef CT_TENSOR_CUDA_COVARIANCE_CUH
#define CT_TENSOR_CUDA_COVARIANCE_CUH

#include "cuda.h"

#include <math.h>

#include "../covariance.h"

enum { CT__FEW_NODES = 16, CT__MOST_NODES = 256 }; /* that a thread has room for, in two sizes */

/* A program with its parameters, in device memory. */
template <typename T> struct ct__plan {
    const ct_cov_node *nodes;
    const int32_t *dims;
    int n_nodes, n_params;
    int64_t symmetric;
    const T *theta, *weight; /* weight: 1/l² of each active column, in the order of the program's */
    const T *x, *z;
    int64_t x_row, x_col, z_row, z_col;
};

/* Uploads the program, by way of kernel arguments, and theta; `room` holds ct__plan_bytes. */
int64_t ct__plan_bytes(const ct_cov_program *program);
template <typename T>
ct_status ct__make_plan(ct_device *dev, const ct_cov_program *program, const ct_tensor *theta,
                        const ct_tensor *x, const ct_tensor *z, void *room, ct__plan<T> *plan);

static __device__ __forceinline__ int ct__geometry_of(int code)
{
    switch (code) {
#define GEOMETRY(code, geometry, u, value, ds, da) \
case code: return geometry;
        CT_PROFILES(GEOMETRY)
#undef GEOMETRY
    default: return CT_DISTANCE;
    }
}

static __device__ __forceinline__ double ct__bound(double) { return 1e300; }
static __device__ __forceinline__ float ct__bound(float) { return 1e36f; }

/* sin²(πt) and sin(2πt), exact at whole t */
template <typename T> static __device__ __forceinline__ void ct__sine_square(T t, T *square, T *slope)
{
    const T f = t - rint(t), s = sin((T)CT__PI * f), c = cos((T)CT__PI * f);
    *square = s * s;
    *slope = 2 * s * c;
}

template <typename T>
static __device__ T ct__distance(const ct__plan<T> &p, const ct_cov_node *n, const T *x, const T *z)
{
    const int geometry = ct__geometry_of(n->code);
    T s = 0;
    for (int k = 0; k < n->n_dims; k++) {
        const int64_t d = p.dims[n->dims + k];
        const T a = x[d * p.x_col], b = z[d * p.z_col], w = n->ard ? p.weight[n->dims + k] : (T)1;
        T square = a * b, unused;
        if (geometry == CT_SINE)
            ct__sine_square((a - b) / p.theta[n->extra], &square, &unused);
        else if (geometry != CT_DOT)
            square = (a - b) * (a - b);
        s += w * square;
    }
    if (!n->ard) s *= p.weight[n->dims];
    return s > ct__bound(s) ? ct__bound(s) : s;
}

template <typename T> static __device__ __forceinline__ T ct__power(T x, int n)
{
    T y = 1;
    for (; n > 0; n >>= 1, x *= x)
        if (n & 1) y *= x;
    return y;
}

/* k(s), ∂k/∂s and ∂k/∂a of a profile */
template <typename T>
static __device__ void ct__profile(const ct_cov_node *n, T s, T a, T *value, T *by_s, T *by_a)
{
    const int degree = n->degree;
    const T r = sqrt(s);
    (void)degree, (void)r;
    switch (n->code) {
#define EXP(x)     exp((T)(x))
#define LOG1P(x)   log1p((T)(x))
#define SIN2PI(t)  sin((T)(2 * CT__PI) * ((t)-rint((T)(t))))
#define COS2PI(t)  cos((T)(2 * CT__PI) * ((t)-rint((T)(t))))
#define POWI(x, i) ct__power((T)(x), i)
#define PROFILE(code, geometry, first, second, slope, extra_slope) \
case code: {                                                       \
    const T u = first, y = second;                                 \
    (void)u, (void)y;                                              \
    *value = y;                                                    \
    *by_s = slope;                                                 \
    *by_a = extra_slope;                                           \
    break;                                                         \
}
        CT_PROFILES(PROFILE)
#undef PROFILE
#undef EXP
#undef LOG1P
#undef SIN2PI
#undef COS2PI
#undef POWI
    default: *value = *by_s = *by_a = 0;
    }
}

/* All nodes' values at the pair (x, z); the last is the kernel's. */
template <typename T>
static __device__ void ct__values(const ct__plan<T> &p, const T *x, const T *z, bool same, T *value)
{
    for (int k = 0; k < p.n_nodes; k++) {
        const ct_cov_node *n = &p.nodes[k];
        T unused_s, unused_a;
        switch (n->code) {
        case CT_COV_CONSTANT: value[k] = p.theta[n->extra]; break;
        case CT_COV_WHITE: value[k] = same ? p.theta[n->extra] : (T)0; break;
        case CT_COV_SCALE: value[k] = p.theta[n->extra] * value[n->right]; break;
        case CT_COV_SUM: value[k] = value[n->left] + value[n->right]; break;
        case CT_COV_PRODUCT: value[k] = value[n->left] * value[n->right]; break;
        default:
            ct__profile(n, ct__distance(p, n, x, z), n->extra < 0 ? (T)1 : p.theta[n->extra], &value[k],
                        &unused_s, &unused_a);
        }
    }
}

#endif
