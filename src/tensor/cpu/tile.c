/* The tile kernels of tile_kernel.h for both dtypes and for the instruction sets of x86, chosen at run time. */
#include "tile.h"

#include <math.h>

#include "vmath.h"

#if defined(__clang__)
#    pragma clang diagnostic ignored "-Wpass-failed"
#endif

/* M(name, attribute, whether it has fused multiply-adds); the best last */
#if defined(__x86_64__) && defined(__GNUC__)
#    define ISAS(M)                                        \
        M(base, , false)                                   \
        M(avx2, __attribute__((target("avx2,fma"))), true) \
        M(avx512, __attribute__((target("avx2,fma,avx512f,avx512dq,avx512bw,avx512vl"))), true)
static int best_isa(void)
{
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 0;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")
               ? 2
               : 1;
}
#else
#    ifdef FP_FAST_FMA
#        define ISAS(M) M(base, , true)
#    else
#        define ISAS(M) M(base, , false)
#    endif
static int best_isa(void) { return 0; }
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
#define TRIANGLE_F64(isa, target, fused) triangle_##isa##_f64,
#define TRIANGLE_F32(isa, target, fused) triangle_##isa##_f32,

int64_t ct__tile_cholesky(ct_dtype dtype, void *a, int64_t lda, int64_t n, void *m, int64_t ldm)
{
    static int64_t (*const f64[])(double *, int64_t, int64_t, double *, int64_t) = { ISAS(CHOLESKY_F64) };
    static int64_t (*const f32[])(float *, int64_t, int64_t, float *, int64_t) = { ISAS(CHOLESKY_F32) };
    return dtype == CT_F64 ? f64[best_isa()](a, lda, n, m, ldm) : f32[best_isa()](a, lda, n, m, ldm);
}

void ct__tile_triangle(ct_dtype dtype, const void *a, int64_t lda, int64_t n, bool unit, void *m, int64_t ldm)
{
    static void (*const f64[])(const double *, int64_t, int64_t, double *, int64_t,
                               bool) = { ISAS(TRIANGLE_F64) };
    static void (*const f32[])(const float *, int64_t, int64_t, float *, int64_t,
                               bool) = { ISAS(TRIANGLE_F32) };
    if (dtype == CT_F64)
        f64[best_isa()](a, lda, n, m, ldm, unit);
    else
        f32[best_isa()](a, lda, n, m, ldm, unit);
}
