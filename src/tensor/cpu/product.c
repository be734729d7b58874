/* The products, substitutions and transposes of product_tile.h for both dtypes and the instruction sets of x86, chosen at run time. */
#include "product.h"

#include <string.h>

#include "isa.h"
#include "vmath.h"

enum {
    KC = 256,   /* depths worked on at once: a tile's operands stay in the first caches */
    STRIPS = 8, /* of HIGH rows of A that are packed together                           */
    PANELS = 11 /* of B in the second-level cache                                       */
};

static inline int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }

/* A tile's loops have constant bounds: without this its sums would live in memory. */
#define UNROLL _Pragma("GCC unroll 8")

#define ZIP2(a, b, h) __builtin_shufflevector(a, b, h, 2 + h)
#define ZIP4(a, b, h) __builtin_shufflevector(a, b, h, 4 + h, h + 1, 5 + h)
#define ZIP8(a, b, h) __builtin_shufflevector(a, b, h, 8 + h, h + 1, 9 + h, h + 2, 10 + h, h + 3, 11 + h)
#define ZIP16(a, b, h)                                                                                   \
    __builtin_shufflevector(a, b, h, 16 + h, h + 1, 17 + h, h + 2, 18 + h, h + 3, 19 + h, h + 4, 20 + h, \
                            h + 5, 21 + h, h + 6, 22 + h, h + 7, 23 + h)

/* -- any machine: 16 bytes ------------------------------------------------------------------------------------------- */

#define TARGET
#define HIGH           4
#define WIDE           2
#define ADD(sum, a, b) ((sum) += (a) * (b))

#define T              double
#define NAME(n)        n##_f64_base
#define LANES          2
#define ZIP_LOW(a, b)  ZIP2(a, b, 0)
#define ZIP_HIGH(a, b) ZIP2(a, b, 1)
#include "product_tile.h"
#undef T
#undef NAME
#undef LANES
#undef ZIP_LOW
#undef ZIP_HIGH

#define T              float
#define NAME(n)        n##_f32_base
#define LANES          4
#define ZIP_LOW(a, b)  ZIP4(a, b, 0)
#define ZIP_HIGH(a, b) ZIP4(a, b, 2)
#include "product_tile.h"
#undef T
#undef NAME
#undef LANES
#undef ZIP_LOW
#undef ZIP_HIGH

#undef TARGET
#undef HIGH
#undef WIDE
#undef ADD

#if CT__X86
/* -- 32 bytes with fused multiply-adds ------------------------------------------------------------------------------- */

#    define TARGET CT__AVX2
#    define HIGH   4
#    define WIDE   3
/* As an instruction that works in place: gcc 12 else copies every sum to memory in each turn of the loop. */
#    define ADD(sum, a, b)                                                                         \
        (sizeof *(T *)0 == 8 ? __extension__({                                                     \
            __asm__("vfmadd231pd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));                        \
        })                                                                                         \
                             : __extension__({                                                     \
                                   __asm__("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b)); \
                               }))

#    define T              double
#    define NAME(n)        n##_f64_avx2
#    define LANES          4
#    define ZIP_LOW(a, b)  ZIP4(a, b, 0)
#    define ZIP_HIGH(a, b) ZIP4(a, b, 2)
#    include "product_tile.h"
#    undef T
#    undef NAME
#    undef LANES
#    undef ZIP_LOW
#    undef ZIP_HIGH

#    define T              float
#    define NAME(n)        n##_f32_avx2
#    define LANES          8
#    define ZIP_LOW(a, b)  ZIP8(a, b, 0)
#    define ZIP_HIGH(a, b) ZIP8(a, b, 4)
#    include "product_tile.h"
#    undef T
#    undef NAME
#    undef LANES
#    undef ZIP_LOW
#    undef ZIP_HIGH

#    undef TARGET
#    undef HIGH

/* -- 64 bytes --------------------------------------------------------------------------------------------------------- */

#    define TARGET CT__AVX512
#    define HIGH   8

#    define T              double
#    define NAME(n)        n##_f64_avx512
#    define LANES          8
#    define ZIP_LOW(a, b)  ZIP8(a, b, 0)
#    define ZIP_HIGH(a, b) ZIP8(a, b, 4)
#    include "product_tile.h"
#    undef T
#    undef NAME
#    undef LANES
#    undef ZIP_LOW
#    undef ZIP_HIGH

#    define T              float
#    define NAME(n)        n##_f32_avx512
#    define LANES          16
#    define ZIP_LOW(a, b)  ZIP16(a, b, 0)
#    define ZIP_HIGH(a, b) ZIP16(a, b, 8)
#    include "product_tile.h"
#    undef T
#    undef NAME
#    undef LANES
#    undef ZIP_LOW
#    undef ZIP_HIGH

#    undef TARGET
#    undef HIGH
#    undef WIDE
#    undef ADD
#endif

#if CT__X86
#    define EACH(routine, type) routine##_##type##_base, routine##_##type##_avx2, routine##_##type##_avx512
#else
#    define EACH(routine, type) routine##_##type##_base
#endif

void ct__product_run(const ct__product *q, void *work)
{
    static void (*const f64[])(const ct__product *, void *) = { EACH(product, f64) };
    static void (*const f32[])(const ct__product *, void *) = { EACH(product, f32) };
    if (q->m > 0 && q->n > 0) (q->dtype == CT_F64 ? f64 : f32)[ct__best_isa()](q, work);
}

void ct__tile_substitute(ct_dtype dtype, const void *c, int64_t rs, int64_t cs, int64_t n, bool unit, void *x,
                         int64_t ldx, int64_t cols)
{
    static void (*const f64[])(const double *, int64_t, int64_t, int64_t, bool, double *, int64_t,
                               int64_t) = { EACH(substitute, f64) };
    static void (*const f32[])(const float *, int64_t, int64_t, int64_t, bool, float *, int64_t,
                               int64_t) = { EACH(substitute, f32) };
    if (dtype == CT_F64)
        f64[ct__best_isa()](c, rs, cs, n, unit, x, ldx, cols);
    else
        f32[ct__best_isa()](c, rs, cs, n, unit, x, ldx, cols);
}

void ct__transpose(ct_dtype dtype, int64_t rows, int64_t cols, const void *x, int64_t ldx, void *y,
                   int64_t ldy)
{
    static void (*const f64[])(int64_t, int64_t, const double *, int64_t, double *,
                               int64_t) = { EACH(transpose, f64) };
    static void (*const f32[])(int64_t, int64_t, const float *, int64_t, float *,
                               int64_t) = { EACH(transpose, f32) };
    if (dtype == CT_F64)
        f64[ct__best_isa()](rows, cols, x, ldx, y, ldy);
    else
        f32[ct__best_isa()](rows, cols, x, ldx, y, ldy);
}

void ct__symmetric_part(ct_dtype dtype, bool lower, int64_t n, const void *g, int64_t ldg, void *s,
                        int64_t lds)
{
    static void (*const f64[])(bool, int64_t, const double *, int64_t, double *,
                               int64_t) = { EACH(symmetric_part, f64) };
    static void (*const f32[])(bool, int64_t, const float *, int64_t, float *,
                               int64_t) = { EACH(symmetric_part, f32) };
    if (dtype == CT_F64)
        f64[ct__best_isa()](lower, n, g, ldg, s, lds);
    else
        f32[ct__best_isa()](lower, n, g, ldg, s, lds);
}

/* Panels of up to 192 bytes a row, the last of them filled up, and STRIPS of HIGH rows of A; a multiple of 64. */
size_t ct__product_work(ct_dtype dtype, int64_t extent)
{
    const int64_t size = (int64_t)ct_dtype_size(dtype), width = 192 / size;
    return (size_t)((min(extent, KC) * min(extent + width, PANELS * width) + 8 * STRIPS * KC) * size + 63) /
           64 * 64;
}
