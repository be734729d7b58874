/* The tile kernels of tile_kernel.h for both dtypes and for the instruction sets of x86, chosen at run
 * time. */
#include "tile.h"

#include <math.h>

#include "isa.h"
#include "vmath.h"

#if defined(__clang__)
#    pragma clang diagnostic ignored "-Wpass-failed"
#endif

#define T             double
#define NAME(n)       n##_f64
#define NAME2(n, isa) n##_##isa##_f64
#define MAD           ct__mad
#define SQRT          sqrt
#include "tile_kernel.h"
#undef T
#undef NAME
#undef NAME2
#undef MAD
#undef SQRT

#define T             float
#define NAME(n)       n##_f32
#define NAME2(n, isa) n##_##isa##_f32
#define MAD           ct__madf
#define SQRT          sqrtf
#include "tile_kernel.h"
#undef T
#undef NAME
#undef NAME2
#undef MAD
#undef SQRT

#define CHOLESKY_F64(isa, target, fused) cholesky_##isa##_f64,
#define CHOLESKY_F32(isa, target, fused) cholesky_##isa##_f32,
#define PANEL_F64(isa, target, fused)    panel_##isa##_f64,
#define PANEL_F32(isa, target, fused)    panel_##isa##_f32,
#define TRIANGLE_F64(isa, target, fused) triangle_##isa##_f64,
#define TRIANGLE_F32(isa, target, fused) triangle_##isa##_f32,

int64_t ct__tile_cholesky(ct_dtype dtype, void *a, int64_t lda, int64_t n)
{
    static int64_t (*const f64[])(double *, int64_t, int64_t) = { CT__ISAS(CHOLESKY_F64) };
    static int64_t (*const f32[])(float *, int64_t, int64_t) = { CT__ISAS(CHOLESKY_F32) };
    return dtype == CT_F64 ? f64[ct__best_isa()](a, lda, n) : f32[ct__best_isa()](a, lda, n);
}

void ct__tile_triangle(ct_dtype dtype, const void *a, int64_t lda, int64_t n, bool unit, void *m, int64_t ldm)
{
    static void (*const f64[])(const double *, int64_t, int64_t, double *, int64_t,
                               bool) = { CT__ISAS(TRIANGLE_F64) };
    static void (*const f32[])(const float *, int64_t, int64_t, float *, int64_t,
                               bool) = { CT__ISAS(TRIANGLE_F32) };
    if (dtype == CT_F64)
        f64[ct__best_isa()](a, lda, n, m, ldm, unit);
    else
        f32[ct__best_isa()](a, lda, n, m, ldm, unit);
}

void ct__tile_lu(ct_dtype dtype, void *c, int64_t ld, int64_t m, int64_t n, int64_t *pivots)
{
    static void (*const f64[])(double *, int64_t, int64_t, int64_t, int64_t *) = { CT__ISAS(PANEL_F64) };
    static void (*const f32[])(float *, int64_t, int64_t, int64_t, int64_t *) = { CT__ISAS(PANEL_F32) };
    if (dtype == CT_F64)
        f64[ct__best_isa()](c, ld, m, n, pivots);
    else
        f32[ct__best_isa()](c, ld, m, n, pivots);
}
