/* Elementwise functions in the vector code of vmath.h. The f32 functions compute in f64, so their error is
 * little more than half an ulp; exp has f32 code of its own. */
#include "map_vector.h"

#include "kernel/isa.h"
#include "kernel/vmath.h"

#include <math.h>

#if defined(__clang__)
#    pragma clang diagnostic ignored "-Wpass-failed" /* a loop that a sanitizer keeps scalar */
#endif

/* -- compositions ---------------------------------------------------------------------------------------- */

/* -m / (2 + m) with m = e^(-2|x|) - 1, and the sign of x */
CT__INLINE double tanh_of(double x, bool fused)
{
    double m = ct__expm1(-2 * __builtin_fabs(x), fused);
    return __builtin_copysign(-m / (2 + m), x);
}

CT__INLINE double sigmoid_of(double x, bool fused) { return 1 / (1 + ct__exp(-x, fused)); }

CT__INLINE double softplus_of(double x, bool fused)
{
    return (x > 0 ? x : 0) + ct__log1p(ct__exp(x < 0 ? x : -x, fused), fused);
}

/* x + x E(x²) for |x| < 1; else 1 - e^(-x²) G(t), t = (|x| - 5/2) / (|x| + 5/2), and the sign of x. From |x| =
 * 6 on it is 1. */
CT__INLINE double erf_of(double x, bool fused)
{
    static const double E[] = { 0x1.05ffd737fb32ep-34,  -0x1.389d4f2641625p-30, 0x1.f7b4bf3b13964p-27,
                                -0x1.5f1ecb6f0764cp-23, 0x1.b9df224ca4b97p-20,  -0x1.f4d1e3183f7aep-17,
                                0x1.f9a321d5b8e1ep-14,  -0x1.c02db3dac435fp-11, 0x1.565bcd0dbaa38p-8,
                                -0x1.b82ce31284e00p-6,  0x1.ce2f21a042b30p-4,   -0x1.812746b0379e6p-2,
                                0x1.06eba8214db69p-3 };
    static const double G[] = { -0x1.aa2d5ed17d342p-20, -0x1.2bb032d568ee0p-19, 0x1.f74c7792ffaecp-18,
                                0x1.38006c5e8491ep-16,  -0x1.1eafcc284801bp-15, -0x1.0e4525f30bfc3p-13,
                                0x1.def28f2749997p-13,  0x1.cb3b5c1d1aec7p-11,  -0x1.5a5716b1b771fp-9,
                                -0x1.05bb2fdf6af31p-8,  0x1.470ba1f67a1a9p-5,   -0x1.0011543717910p-3,
                                0x1.01c11a735cd90p-2,   -0x1.7ca88dec2179fp-2,  0x1.afbb3f3b7343bp-3 };
    double a = __builtin_fabs(x), far = a > 6 ? 6 : a, t = (far - 2.5) / (far + 2.5);
    double small = ct__mad(x, ct__horner(13, E, x * x, fused), x, fused);
    double large = 1 - ct__exp(-far * far, fused) * ct__horner(15, G, t, fused);
    return a < 1 ? small : __builtin_copysign(large, x);
}

/* -- rows ------------------------------------------------------------------------------------------------ */

typedef struct vector_map {
    ct__kernel value, bar; /* over out, x; over out, x, y, g */
} vector_map;

#define VECTOR_CODE "tensor/cpu/map_rows.h"
#include "kernel/each_isa.h"

static ct__kernel kernel(int isa, ct_map1 f, bool f32, bool bar)
{
    static const vector_map *const maps[][CT__ISA_COUNT] = CT__EACH(maps);
    return bar ? maps[f32][isa][f].bar : maps[f32][isa][f].value;
}

ct__kernel ct__vector_map(int isa, ct_map1 f, bool f32) { return kernel(isa, f, f32, false); }
ct__kernel ct__vector_map_bar(int isa, ct_map1 f, bool f32) { return kernel(isa, f, f32, true); }

void ct__vector_exp(int isa, int64_t n, double *x)
{
    static const int64_t step[] = { 1, 1 };
    ct__vector_map(isa, CT_MAP_exp, false)(1, n, (void *const[]){ x, x }, step, step, NULL);
}
