/* The products, substitutions and transposes of product_tile.h for both dtypes and the instruction sets of
 * x86, chosen at run time. */
#include "product.h"

#include <string.h>

#include "isa.h"

enum {
    KC = 256,   /* depths worked on at once: a tile's operands stay in the first caches */
    STRIPS = 8, /* of HIGH rows of A that are packed together                           */
    PANELS = 11 /* of B in the second-level cache                                       */
};

static inline int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }

/* A tile's loops have constant bounds: without this its sums would live in memory. */
#define UNROLL _Pragma("GCC unroll 8")

#define VECTOR_CODE "product_tile.h"
#include "each_vector.h"

void ct__product_run(const ct__product *q, void *work)
{
    static void (*const f64[])(const ct__product *, void *) = { CT__EACH_ISA(product, f64) };
    static void (*const f32[])(const ct__product *, void *) = { CT__EACH_ISA(product, f32) };
    if (q->m > 0 && q->n > 0) (q->dtype == CT_F64 ? f64 : f32)[ct__best_isa()](q, work);
}

void ct__tile_substitute(ct_dtype dtype, const void *c, int64_t rs, int64_t cs, int64_t n, bool unit, void *x,
                         int64_t ldx, int64_t cols)
{
    static void (*const f64[])(const double *, int64_t, int64_t, int64_t, bool, double *, int64_t,
                               int64_t) = { CT__EACH_ISA(substitute, f64) };
    static void (*const f32[])(const float *, int64_t, int64_t, int64_t, bool, float *, int64_t,
                               int64_t) = { CT__EACH_ISA(substitute, f32) };
    if (dtype == CT_F64)
        f64[ct__best_isa()](c, rs, cs, n, unit, x, ldx, cols);
    else
        f32[ct__best_isa()](c, rs, cs, n, unit, x, ldx, cols);
}

void ct__transpose(ct_dtype dtype, int64_t rows, int64_t cols, const void *x, int64_t ldx, void *y,
                   int64_t ldy)
{
    static void (*const f64[])(int64_t, int64_t, const double *, int64_t, double *,
                               int64_t) = { CT__EACH_ISA(transpose, f64) };
    static void (*const f32[])(int64_t, int64_t, const float *, int64_t, float *,
                               int64_t) = { CT__EACH_ISA(transpose, f32) };
    if (dtype == CT_F64)
        f64[ct__best_isa()](rows, cols, x, ldx, y, ldy);
    else
        f32[ct__best_isa()](rows, cols, x, ldx, y, ldy);
}

void ct__symmetric_part(ct_dtype dtype, bool lower, int64_t n, const void *g, int64_t ldg, void *s,
                        int64_t lds)
{
    static void (*const f64[])(bool, int64_t, const double *, int64_t, double *,
                               int64_t) = { CT__EACH_ISA(symmetric_part, f64) };
    static void (*const f32[])(bool, int64_t, const float *, int64_t, float *,
                               int64_t) = { CT__EACH_ISA(symmetric_part, f32) };
    if (dtype == CT_F64)
        f64[ct__best_isa()](lower, n, g, ldg, s, lds);
    else
        f32[ct__best_isa()](lower, n, g, ldg, s, lds);
}

/* Panels of up to 192 bytes a row, the last of them filled up, and STRIPS of HIGH rows of A; a multiple of
 * 64. */
size_t ct__product_work(ct_dtype dtype, int64_t extent)
{
    const int64_t size = (int64_t)ct_dtype_size(dtype), width = 192 / size;
    return (size_t)((min(extent, KC) * min(extent + width, PANELS * width) + 8 * STRIPS * KC) * size + 63) /
           64 * 64;
}
