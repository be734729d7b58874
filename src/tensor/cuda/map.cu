/* Elementwise functions, from the tables of maps.h. */
#include <math.h>

#include "loop.cuh"

#define CT__FN     static __device__ __attribute__((noinline))
#define CT__CONST  static __device__ const
#define CT__LGAMMA lgamma
#include "tensor/special.h"

/* The functions of <math.h> and these are overloaded for double and float. */
#define FN(name) name
template <typename T> static __device__ __attribute__((noinline)) T ct__lgamma(T x) { return lgamma(x); }
/* e^(-x²) = e^-s (1 - r), where s + r is x² exactly */
template <typename T> static __device__ T ct__gaussian(T x)
{
    const T a = x > CT_GAUSSIAN_FAR || x < -CT_GAUSSIAN_FAR ? (T)CT_GAUSSIAN_FAR : x, s = a * a, y = exp(-s);
    return y - y * fma(a, a, -s);
}
template <typename T> static __device__ T ct__sigmoid(T x)
{
    const T e = exp(-fabs(x));
    return (x < 0 ? e : (T)1) / (1 + e);
}
template <typename T> static __device__ T ct__sech2(T x)
{
    const T e = exp(-2 * fabs(x));
    return 4 * (e / ((1 + e) * (1 + e)));
}
template <typename T> static __device__ T ct__softplus(T x) { return fmax(x, (T)0) + log1p(exp(-fabs(x))); }
template <typename T> static __device__ T ct__polygamma(int k, T x) { return (T)polygamma(k, (double)x); }

/* -- the tables ------------------------------------------------------------------------------------------ */

/* Functions that need many registers or local memory. They have a kernel of their own, so that the others'
 * kernel has enough resident threads to hide memory latency. */
static constexpr __host__ __device__ bool heavy(int64_t f)
{
    return f == CT_MAP_sin || f == CT_MAP_cos || f == CT_MAP_erf || f == CT_MAP_lgamma ||
           f == CT_MAP_polygamma || f == CT_MAP_pow;
}

/* The function of a table, and its parameters; side 1: the gradient by b. */
struct choice {
    int64_t f, side;
    double p[2];
};

enum table { VALUE1, BAR1, VALUE2, BAR2 };

/* f(x), or g f'(x) for y = f(x); f(a, b), or g ∂f/∂a or g ∂f/∂b. */
template <table TABLE, bool HEAVY, typename T>
static __device__ __forceinline__ T result(const choice &c, const T *v)
{
    [[maybe_unused]] const double *p = c.p;
    [[maybe_unused]] const T x = v[1], y = v[2], a = x, b = y, g = v[3];
    if constexpr (TABLE == VALUE1 || TABLE == BAR1) switch (c.f) {
#define MAP(name, value, derivative, vjp) \
    case CT_MAP_##name:                   \
        return heavy(CT_MAP_##name) != HEAVY ? (T)0 : TABLE == BAR1 ? g * (T)(derivative) : (T)(value);
            CT_MAPS1(MAP)
#undef MAP
        }
    else
        switch (c.f) {
#define MAP(name, value, derivative_a, derivative_b, vjp_a, vjp_b) \
    case CT_MAP_##name:                                            \
        return TABLE == VALUE2 ? (T)(value) : g * (c.side ? (T)(derivative_b) : (T)(derivative_a));
            CT_MAPS2(MAP)
#undef MAP
        }
    return 0;
}

/* -- the kernels ----------------------------------------------------------------------------------------- */

/* One kernel serves a whole table: all threads take the same branch, which costs little beside the memory
 * traffic. N: operands, with the output first; S: their element type. */
template <typename S, table TABLE, int N, bool HEAVY> static __global__ void map_kernel(ct__span s, choice c)
{
    typedef typename ct__arithmetic<S>::type T;
    CT__EACH(i, s.count)
    {
        const ct__located<N> at(s, i);
        T v[4] = {};
        CT__UNROLL
        for (int k = 1; k < N; k++) v[k] = (T)((const S *)s.data[k])[at[k]];
        ((S *)s.data[0])[at[0]] = (S)result<TABLE, HEAVY>(c, v);
    }
}

/* n elements from x[at] on, or fewer at the end; with step 0 copies of one number. */
template <typename S, int n>
static __device__ __forceinline__ ct__pack<S, n> read(const S *x, int64_t at, int64_t step, int64_t count)
{
    typedef ct__pack<S, n> pack;
    if (step && at + n <= count) return *(const pack *)(x + at);
    pack p = {};
    CT__UNROLL
    for (int e = 0; e < n; e++)
        if (at + e < count) p.x[e] = x[(at + e) * step];
    return p;
}

template <typename S, int n>
static __device__ __forceinline__ void write(S *to, int64_t at, int64_t count, const ct__pack<S, n> &p)
{
    if (at + n <= count) {
        *(ct__pack<S, n> *)(to + at) = p;
        return;
    }
    CT__UNROLL
    for (int e = 0; e < n; e++)
        if (at + e < count) to[at + e] = p.x[e];
}

/* For operands that are dense or one number: 16 bytes at a time. */
template <typename S, table TABLE, int N> static __global__ void dense_kernel(ct__span s, choice c)
{
    typedef typename ct__arithmetic<S>::type T;
    enum { WIDTH = 16 / sizeof(S) };
    CT__EACH(i, (s.count + WIDTH - 1) / WIDTH)
    {
        ct__pack<S, WIDTH> x[N];
        CT__UNROLL
        for (int k = 1; k < N; k++)
            x[k] = read<S, WIDTH>((const S *)s.data[k], i * WIDTH, s.axis[0].stride[k], s.count);
        CT__UNROLL
        for (int e = 0; e < WIDTH; e++) {
            T v[4] = {};
            CT__UNROLL
            for (int k = 1; k < N; k++) v[k] = (T)x[k].x[e];
            x[0].x[e] = (S)result<TABLE, false>(c, v);
        }
        write((S *)s.data[0], i * WIDTH, s.count, x[0]);
    }
}

/* Whether dense_kernel can take the operands. */
template <int N> static bool dense(const ct__span &s)
{
    bool can = s.ndim == 1 && s.axis[0].stride[0] == 1;
    for (int k = 0; k < N; k++) {
        const int64_t step = s.axis[0].stride[k];
        can = can && (!step || (step == 1 && (uintptr_t)s.data[k] % 16 == 0));
    }
    return can;
}

template <table TABLE, int N>
static ct_status run(ct_device *dev, const char *what, const choice &c, const ct_view *const (&t)[N])
{
    const ct__span s = ct__make_span(t);
#define MAP(S)   CT__RUN_EACH(dev, what, (map_kernel<S, TABLE, N, false>), s.count, s, c)
#define HEAVY(S) CT__RUN_EACH(dev, what, (map_kernel<S, TABLE, N, true>), s.count, s, c)
#define DENSE(S) \
    CT__RUN_EACH(dev, what, (dense_kernel<S, TABLE, N>), ct__divide_up(s.count, 16 / sizeof(S)), s, c)
    if constexpr (TABLE == VALUE1 || TABLE == BAR1)
        if (heavy(c.f)) return CT__PER_DTYPE(s.dtype[0], HEAVY);
    return dense<N>(s) ? CT__PER_DTYPE(s.dtype[0], DENSE) : CT__PER_DTYPE(s.dtype[0], MAP);
}

ct_status ct__cuda_map1(ct_device *dev, ct_map1 f, const double p[2], const ct_view *x, ct_view *out)
{
    return run<VALUE1>(dev, "map1", { f, 0, { p[0], p[1] } }, { out, x });
}

ct_status ct__cuda_map1_bar(ct_device *dev, ct_map1 f, const double p[2], const ct_view *x, const ct_view *y,
                            const ct_view *g, ct_view *out)
{
    return run<BAR1>(dev, "map1_bar", { f, 0, { p[0], p[1] } }, { out, x, y, g });
}

ct_status ct__cuda_map2(ct_device *dev, ct_map2 f, const ct_view *a, const ct_view *b, ct_view *out)
{
    return run<VALUE2>(dev, "map2", { f, 0, {} }, { out, a, b });
}

ct_status ct__cuda_map2_bar(ct_device *dev, ct_map2 f, int side, const ct_view *a, const ct_view *b,
                            const ct_view *g, ct_view *out)
{
    return run<BAR2>(dev, "map2_bar", { f, side, {} }, { out, a, b, g });
}
