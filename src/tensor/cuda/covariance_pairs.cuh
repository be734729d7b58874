/* A covariance kernel at a thread's pairs of points: distances, profiles with slopes, and node values. */
#ifndef CT_TENSOR_CUDA_COVARIANCE_PAIRS_CUH
#define CT_TENSOR_CUDA_COVARIANCE_PAIRS_CUH

#include "covariance_walk.cuh"

#include <float.h>

#define INDEX(name) ct__index_##name
#define INDEX_FN    template <typename T> static __device__
#include "tensor/covariance_index.h"

/* sin²(πt) and sin(2πt), exact at whole t */
template <typename T> static __device__ __forceinline__ void ct__sine_square(T t, T *square, T *slope)
{
    const T f = t - rint(t), s = sin((T)CT__PI * f), c = cos((T)CT__PI * f);
    *square = s * s;
    *slope = 2 * s * c;
}

template <typename T>
static __device__ __forceinline__ double ct__lengthscale(const ct__thread<T> &v, const ct_cov_node *n, int k)
{
    return n->lengthscale < 0 ? 1 : (double)v.theta[n->lengthscale + (n->ard ? k : 0)];
}

/* The largest s of a node. */
template <typename T>
static __device__ __forceinline__ double ct__far(const ct__thread<T> &v, const ct_cov_node *n)
{
    const double far = CT__FAR(sizeof(T) == 8), most = sizeof(T) == 8 ? DBL_MAX : (double)FLT_MAX;
    return n->tail == CT_HEAVY ? fmin(far, (double)v.theta[n->extra] * most) : far;
}

/* [x ≠ z]; NaN if one of them is */
template <typename T> static __device__ __forceinline__ T ct__differ(T x, T z)
{
    return x == z ? (T)0 : x < z || x > z ? (T)1 : (T)NAN;
}

#define CAREFUL(name)                 ct__careful_##name
#define CAREFUL_FN                    static inline __device__
#define SINE_SQUARE(t, square, slope) ct__sine_square(t, square, slope)
#include "tensor/covariance_careful.h"

/* The k-th active column's term of s for a pair. */
template <typename T>
static __device__ double ct__careful_part(const ct__thread<T> &v, const ct_cov_node *n, int k, int p,
                                          double *by_x, double *turns)
{
    const int d = v.dims[n->dims + k];
    return ct__careful_term(n->geometry, v.x_at(d), v.z_at(d, p), ct__lengthscale(v, n, k),
                            n->geometry == CT_SINE ? (double)v.theta[n->extra] : 1, sizeof(T) == 8, by_x,
                            turns);
}

/* s of a pair as the sum of these. */
template <typename T>
static __device__ double ct__careful(const ct__thread<T> &v, const ct_cov_node *n, int p)
{
    const bool wide = sizeof(T) == 8, heavy = n->tail == CT_HEAVY && v.theta[n->extra] < CT__HEAVY(wide);
    double s = 0, by_x, turns;
    for (int k = 0; k < n->n_dims; k++) s += ct__careful_part(v, n, k, p, &by_x, &turns);
    if (n->geometry == CT_DOT) return s;
    return s > CT__FAR(wide) && heavy ? (double)NAN : s > ct__far(v, n) ? ct__far(v, n) : s;
}

/* Computes s of a thread's pairs; returns whether some needed ct__careful. */
template <typename T>
static __device__ __forceinline__ bool ct__distances(const ct__thread<T> &v, const ct_cov_node *n, T *s)
{
    const int geometry = n->geometry, count = n->n_dims;
    const int32_t *dims = v.dims + n->dims;
    const T *weight = v.weight + n->dims, common = n->ard || !count ? (T)1 : weight[0];
    const bool ard = n->ard;
    const auto add = [&](int k, auto part) { /* of the coordinates in column k */
                                             const T a = v.x_at(dims[k]), w = ard ? weight[k] : (T)1;
                                             CT__EACH_PAIR(p) s[p] += w * part(a, v.z_at(dims[k], p));
    };
    CT__EACH_PAIR(p) s[p] = 0;
    if (geometry == CT_SINE) {
        const T period = v.theta[n->extra];
        T square, unused;
        for (int k = 0; k < count; k++)
            add(k, [&](T a, T b) { return ct__sine_square((a - b) / period, &square, &unused), square; });
    } else if (geometry == CT_DOT) {
        for (int k = 0; k < count; k++) add(k, [](T a, T b) { return a * b; });
    } else if (geometry == CT_DIFFER) {
        for (int k = 0; k < count; k++) add(k, [](T a, T b) { return ct__differ(a, b); });
    } else {
        CT__BY_FOUR
        for (int k = 0; k < count; k++) add(k, [](T a, T b) { return (a - b) * (a - b); });
    }
    const T far = (T)ct__far(v, n);
    bool wild = false;
    CT__EACH_PAIR(p)
    {
        s[p] *= common;
        if (!(fabs(s[p]) <= far)) s[p] = (T)ct__careful(v, n, p), wild = true;
    }
    return wild;
}

template <typename T> static __device__ __forceinline__ T ct__power(T x, int n)
{
    T y = 1;
    for (; n > 0; n >>= 1, x *= x)
        if (n & 1) y *= x;
    return y;
}

/* A profile at a thread's pairs: s, k(s), ∂k/∂s and ∂k/∂a. */
template <typename T> struct ct__leaf {
    int node;
    bool wild; /* s, or a term of it, left the range of T */
    T s[ct__pairs<T>::COUNT], value[ct__pairs<T>::COUNT], by_s[ct__pairs<T>::COUNT],
        by_a[ct__pairs<T>::COUNT];
};

template <typename T>
static __device__ __forceinline__ void ct__evaluate(const ct__thread<T> &v, int k, ct__leaf<T> &leaf)
{
    const ct_cov_node *n = &v.nodes[k];
    leaf.node = k;
    leaf.wild = ct__distances(v, n, leaf.s);
    const T a = n->extra < 0 ? (T)1 : v.theta[n->extra];
    [[maybe_unused]] const int degree = n->degree;
    switch (n->code) {
#define EXP(x)     exp((T)(x))
#define LOG1P(x)   log1p((T)(x))
#define SIN2PI(t)  sin((T)(2 * CT__PI) * ((t)-rint((T)(t))))
#define COS2PI(t)  cos((T)(2 * CT__PI) * ((t)-rint((T)(t))))
#define POWI(x, i) ct__power((T)(x), i)
#define PROFILE(CODE, name, text, lengthscales, extra, unit, geometry, tail, first, second, slope, \
                extra_slope)                                                                       \
case CT_COV_##CODE:                                                                                \
    CT__EACH_PAIR(p)                                                                               \
    {                                                                                              \
        [[maybe_unused]] const T s = leaf.s[p], r = sqrt(s), r1 = r, u = first, y = second;        \
        leaf.value[p] = y;                                                                         \
        leaf.by_s[p] = slope;                                                                      \
        leaf.by_a[p] = extra_slope;                                                                \
    }                                                                                              \
    break;
        CT_PROFILES(PROFILE)
#undef PROFILE
#undef EXP
#undef LOG1P
#undef SIN2PI
#undef COS2PI
#undef POWI
    default: CT__EACH_PAIR(p) leaf.value[p] = leaf.by_s[p] = leaf.by_a[p] = 0;
    }
}

template <typename T> static __device__ __forceinline__ T &ct__value(const ct__thread<T> &v, int k, int p)
{
    return v.value[(k * ct__pairs<T>::COUNT + p) * CT__COV_THREADS];
}

/* The arguments of CT_COV_INDEX at a pair: W, its extents, and the two slots. */
#define CT__INDEX(v, n, p)                                                                        \
    v.theta + n->extra, n->levels, n->degree, ct__index_slot(v.x_at(v.dims[n->dims]), n->levels), \
        ct__index_slot(v.z_at(v.dims[n->dims], p), n->levels)

/* Computes node k's value in `top` and, except for the last node, in its place. On entry `top` is the value
 * of the preceding node, in postfix order the right child. A profile's value is in `leaf`. */
template <typename T>
static __device__ __forceinline__ void ct__up(const ct__thread<T> &v, int k, bool last,
                                              const ct__leaf<T> &leaf, T *top)
{
    const ct_cov_node *n = &v.nodes[k];
    switch (n->code) {
    case CT_COV_CONSTANT: CT__EACH_PAIR(p) top[p] = v.theta[n->extra]; break;
    case CT_COV_WHITE: CT__EACH_PAIR(p) top[p] = v.same[p] ? v.theta[n->extra] : (T)0; break;
    case CT_COV_INDEX: CT__EACH_PAIR(p) top[p] = ct__index_value(CT__INDEX(v, n, p)); break;
    case CT_COV_SCALE: CT__EACH_PAIR(p) top[p] *= v.theta[n->extra]; break;
    case CT_COV_SUM: CT__EACH_PAIR(p) top[p] += ct__value(v, n->left, p); break;
    case CT_COV_PRODUCT: CT__EACH_PAIR(p) top[p] *= ct__value(v, n->left, p); break;
    default: CT__EACH_PAIR(p) top[p] = leaf.value[p];
    }
    if (!last) CT__EACH_PAIR(p) ct__value(v, k, p) = top[p];
}

#endif
