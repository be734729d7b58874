/* The products of product_tile.h for both dtypes and the instruction sets of x86, chosen at run time. */
#include "product.h"

#include <string.h>

#include "isa.h"
#include "vmath.h"

#if defined(__x86_64__) && defined(__GNUC__)
#    include <immintrin.h>
#endif

enum {
    KC = 256,   /* depths worked on at once: a tile's operands stay in the first caches */
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

#if defined(__x86_64__) && defined(__GNUC__)
/* -- 32 bytes with fused multiply-adds ------------------------------------------------------------------------------- */

#    define TARGET __attribute__((target("avx2,fma")))
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

#    define TARGET __attribute__((target("avx2,fma,avx512f,avx512dq,avx512bw,avx512vl")))
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

void ct__product_run(const ct__product *q, void *work)
{
    typedef void routine(const ct__product *, void *);
#if defined(__x86_64__) && defined(__GNUC__)
    static routine *const f64[] = { product_f64_base, product_f64_avx2, product_f64_avx512 };
    static routine *const f32[] = { product_f32_base, product_f32_avx2, product_f32_avx512 };
#else
    static routine *const f64[] = { product_f64_base }, *const f32[] = { product_f32_base };
#endif
    if (q->m > 0 && q->n > 0) (q->dtype == CT_F64 ? f64 : f32)[ct__best_isa()](q, work);
}

/* Panels of up to 192 bytes a row, the last of them filled up, and HIGH rows of A; a multiple of 64. */
size_t ct__product_work(ct_dtype dtype, int64_t extent)
{
    const int64_t size = (int64_t)ct_dtype_size(dtype), width = 192 / size;
    return (size_t)((min(extent, KC) * min(extent + width, PANELS * width) + 8 * KC) * size + 63) / 64 * 64;
}
