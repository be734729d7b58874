/* Elementwise functions in the vector code of vmath.h. The f32 functions compute in f64, where a few more
 * operations bring the error to little more than half an ulp; exp has f32 code of its own. */
#include "map_vector.h"

#include "kernel/isa.h"
#include "kernel/vmath.h"

#if defined(__clang__)
#    pragma clang diagnostic ignored "-Wpass-failed" /* a loop that a sanitizer keeps scalar */
#endif

/* -- in f64, for results in f32 -------------------------------------------------------------------------- */

/* 1 - 2/(e^2|x| + 1); near 0 its series */
CT__INLINE double tanh_of(double x, bool fused)
{
    double a = x < 0 ? -x : x, square = x * x, large = 1 - 2 / (ct__exp(2 * a, fused) + 1);
    double small = x * (1 - square * (1. / 3 - square * (2. / 15)));
    return a < 0x1p-10 ? small : x < 0 ? -large : large;
}

CT__INLINE double expm1_of(double x, bool fused)
{
    double a = x < 0 ? -x : x, small = x * (1 + x * (1. / 2 + x * (1. / 6 + x * (1. / 24))));
    return a < 0x1p-10 ? small : ct__exp(x, fused) - 1;
}

CT__INLINE double sigmoid_of(double x, bool fused) { return 1 / (1 + ct__exp(-x, fused)); }

CT__INLINE double softplus_of(double x, bool fused)
{
    return (x > 0 ? x : 0) + ct__log1p(ct__exp(x < 0 ? x : -x, fused), fused);
}

/* -- rows ------------------------------------------------------------------------------------------------ */

#define VECTOR_CODE "tensor/cpu/map_rows.h"
#include "kernel/each_isa.h"

ct__kernel ct__vector_map(int isa, ct_map1 f, bool f32)
{
    static const ct__kernel *const maps[][CT__ISA_COUNT] = CT__EACH(maps);
    return maps[f32][isa][f];
}

void ct__vector_exp(int isa, int64_t n, double *x)
{
    static const int64_t step[] = { 1, 1 };
    ct__vector_map(isa, CT_MAP_exp, false)(1, n, (void *const[]){ x, x }, step, step, NULL);
}
