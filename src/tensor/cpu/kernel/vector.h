/* Vector code is compiled once for each type and instruction set (meson.build), with
 *
 *     F64      1 for double, 0 for float
 *     ISA      the instruction set's number (isa.h): 0 any machine's 16 bytes, 1 AVX2 and FMA, 2 AVX-512
 *     VARIANT  the names of both, which NAME(n) appends to n
 *
 * Each of its files includes this header, for the arithmetic and for what they share: the product of a
 * register tile, packing, transposes. It exports one struct of functions, NAME(name), which isa.h
 * tabulates. */
#ifndef CT_TENSOR_CPU_VECTOR_H
#define CT_TENSOR_CPU_VECTOR_H

#include "../cpu.h"
#include "config.h"
#include "isa.h"
#include "vmath_f32.h"

#include <math.h>

#if ISA > 0
#    include <immintrin.h>
#endif

#if defined(__clang__)
#    pragma clang diagnostic ignored "-Wpass-failed" /* loops that a call or a sanitizer keeps scalar */
#endif

#define PASTE_(n, variant) n##variant
#define PASTE(n, variant)  PASTE_(n, variant)
#define NAME(n)            PASTE(n, VARIANT)

/* T, and the C library's f for it. A vector has L numbers and any address. */
#if F64
typedef double T;
#    define FN(name) name
#else
typedef float T;
#    define FN(name) name##f
#endif
#define L ((16 << ISA) / (F64 ? 8 : 4))
typedef T vec __attribute__((vector_size(L * sizeof(T)), aligned(sizeof(T)), may_alias));
#define LOAD(x) (*(const vec *)(const void *)(x))
#define VEC(x)  (*(vec *)(void *)(x))

/* Rows and vectors of a register tile. */
#define HIGH CT__TILE_ROWS(ISA)
#define WIDE CT__TILE_VECTORS(ISA)

/* Unrolls a loop with constant bounds over an array, so that the array stays in registers. */
#define UNROLL _Pragma("GCC unroll 16")

/* ZIP: the halves of a and b from number h on, interleaved. */
#if L == 2
#    define ZIP(a, b, h) __builtin_shufflevector(a, b, h, 2 + h)
#elif L == 4
#    define ZIP(a, b, h) __builtin_shufflevector(a, b, h, 4 + h, h + 1, 5 + h)
#elif L == 8
#    define ZIP(a, b, h) __builtin_shufflevector(a, b, h, 8 + h, h + 1, 9 + h, h + 2, 10 + h, h + 3, 11 + h)
#else
#    define ZIP(a, b, h)                                                                                     \
        __builtin_shufflevector(a, b, h, 16 + h, h + 1, 17 + h, h + 2, 18 + h, h + 3, 19 + h, h + 4, 20 + h, \
                                h + 5, 21 + h, h + 6, 22 + h, h + 7, 23 + h)
#endif

/* FUSED: whether there are fused multiply-adds. MAD: a b + c, fused if so. STREAM: *to = v, past the
 * caches. */
#if ISA == 0
#    ifdef FP_FAST_FMA
#        define FUSED true
#    else
#        define FUSED false
#    endif
#    define MAD(a, b, c)  ((a) * (b) + (c))
#    define STREAM(to, v) (*(to) = (v))
#else
#    define FUSED true
#    if ISA == 1 && F64
#        define INTRINSIC(f) _mm256_##f##_pd
typedef __m256d intrinsic;
#    elif ISA == 1
#        define INTRINSIC(f) _mm256_##f##_ps
typedef __m256 intrinsic;
#    elif F64
#        define INTRINSIC(f) _mm512_##f##_pd
typedef __m512d intrinsic;
#    else
#        define INTRINSIC(f) _mm512_##f##_ps
typedef __m512 intrinsic;
#    endif
#    define MAD(a, b, c)  ((vec)INTRINSIC(fmadd)((intrinsic)(a), (intrinsic)(b), (intrinsic)(c)))
#    define STREAM(to, v) INTRINSIC(stream)((void *)(to), (intrinsic)(v))
#endif

/* sum += a b, by an instruction that works in place. Where the sums soon leave their registers, gcc 12 would
 * otherwise copy each of them to memory in every iteration. Where they do not, it copies them because of this
 * instruction, so callers choose (in_place). */
#if ISA == 0
#    define ADD_PRODUCT(sum, a, b) ((sum) += (a) * (b))
#elif F64
#    define ADD_PRODUCT(sum, a, b) __asm__("vfmadd231pd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b))
#else
#    define ADD_PRODUCT(sum, a, b) __asm__("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b))
#endif

/* The product of a register tile: sum_rv += Σ_p x_rp b_p for `rows` rows r and `vectors` vectors v, with x_rp
 * at x[r][p step] and b_p at b + p ld. in_place: uses ADD_PRODUCT. b_p is prefetched `early` rows ahead; 0:
 * not at all. Callers pass constants for the first four. */
CT__INLINE void add_products(const int rows, const int vectors, const bool in_place, const int early,
                             int64_t depth, const T *const *x, int64_t step, const T *b, int64_t ld, vec *sum)
{
    const vec zero = { 0 };
    for (int64_t at = 0; depth > 0; depth--, at += step, b += ld) {
        vec row[4];
        UNROLL for (int v = 0; v < vectors && early; v++) __builtin_prefetch(b + early * ld + v * L);
        UNROLL for (int v = 0; v < vectors; v++) row[v] = LOAD(b + v * L);
        UNROLL for (int r = 0; r < rows; r++)
        {
            const vec s = x[r][at] - zero;
            UNROLL for (int v = 0; v < vectors; v++)
            {
                vec *to = &sum[r * vectors + v];
                if (in_place)
                    ADD_PRODUCT(*to, s, row[v]);
                else
                    *to = MAD(s, row[v], *to);
            }
        }
    }
}

/* The same. In place, it prefetches the rows of a panel that exceeds the first-level cache. */
CT__INLINE void accumulate(const int rows, const int vectors, const bool in_place, int64_t depth,
                           const T *const *x, int64_t step, const T *b, int64_t ld, vec *sum)
{
    if (in_place && depth > CT__NEAR)
        add_products(rows, vectors, in_place, CT__AHEAD, depth, x, step, b, ld, sum);
    else
        add_products(rows, vectors, in_place, 0, depth, x, step, b, ld, sum);
}

/* Transposes the L rows of r. With AVX2 by pairs of numbers, pairs of pairs and halves of vectors, as numbers
 * cross from one half to the other only in an instruction of its own. Else by log2 L rounds, each of which
 * interleaves row i with row i + L/2. */
#if ISA == 1
#    if F64
#        define PAIRS(a, b, h)  __builtin_shufflevector(a, b, h, 4 + h, 2 + h, 6 + h)
#        define HALVES(a, b, h) __builtin_shufflevector(a, b, 2 * h, 2 * h + 1, 4 + 2 * h, 5 + 2 * h)
#    else
#        define PAIRS(a, b, h)                                                                           \
            __builtin_shufflevector(a, b, 2 * h, 8 + 2 * h, 2 * h + 1, 9 + 2 * h, 4 + 2 * h, 12 + 2 * h, \
                                    5 + 2 * h, 13 + 2 * h)
#        define FOURS(a, b, h)                                                                          \
            __builtin_shufflevector(a, b, 2 * h, 2 * h + 1, 8 + 2 * h, 9 + 2 * h, 4 + 2 * h, 5 + 2 * h, \
                                    12 + 2 * h, 13 + 2 * h)
#        define HALVES(a, b, h)                                                                         \
            __builtin_shufflevector(a, b, 4 * h, 4 * h + 1, 4 * h + 2, 4 * h + 3, 8 + 4 * h, 9 + 4 * h, \
                                    10 + 4 * h, 11 + 4 * h)
#    endif
CT__INLINE void transpose_rows(vec *r)
{
    vec next[L];
    UNROLL for (int i = 0; i < L; i += 2) next[i] = PAIRS(r[i], r[i + 1], 0),
                                          next[i + 1] = PAIRS(r[i], r[i + 1], 1);
#    if !F64
    UNROLL for (int i = 0; i < L; i += 4) UNROLL for (int k = 0; k < 2; k++)
    {
        r[i + 2 * k] = FOURS(next[i + k], next[i + k + 2], 0);
        r[i + 2 * k + 1] = FOURS(next[i + k], next[i + k + 2], 1);
    }
    UNROLL for (int i = 0; i < L; i++) next[i] = r[i];
#    endif
    UNROLL for (int i = 0; i < L / 2; i++)
    {
        r[i] = HALVES(next[i], next[i + L / 2], 0);
        r[i + L / 2] = HALVES(next[i], next[i + L / 2], 1);
    }
}
#else
CT__INLINE void transpose_rows(vec *r)
{
    vec next[L];
    UNROLL for (int n = 1; n < L; n *= 2)
    {
        UNROLL for (int i = 0; i < L / 2; i++)
        {
            next[2 * i] = ZIP(r[i], r[i + L / 2], 0);
            next[2 * i + 1] = ZIP(r[i], r[i + L / 2], L / 2);
        }
        UNROLL for (int i = 0; i < L; i++) r[i] = next[i];
    }
}
#endif

/* to (L × L, `ld` apart) = sign from (L × L, `step` apart), transposed. With sign = 1 any bits may be
 * transposed: a product would change those of a signalling NaN. */
CT__INLINE void transpose_tile(const T *from, int64_t step, T *to, int64_t ld, const T sign)
{
    const vec zero = { 0 }, f = sign - zero;
    vec r[L];
    UNROLL for (int i = 0; i < L; i++) r[i] = LOAD(from + i * step);
    if (sign != 1) UNROLL for (int i = 0; i < L; i++) r[i] *= f;
    transpose_rows(r);
    UNROLL for (int i = 0; i < L; i++) VEC(to + i * ld) = r[i];
}

/* to (depth × width) = from (depth × n), whose element (p, j) is from[p rs + j cs]; padded with zero
 * columns */
static __attribute__((unused)) void pack(const T *from, int64_t rs, int64_t cs, int64_t depth, int64_t n,
                                         int64_t width, T *to)
{
    int64_t j = 0;
    if (cs == 1 && n == width && n % L == 0) {
        for (int64_t p = 0; p < depth; p++)
            for (int64_t l = 0; l < n; l += L) VEC(to + p * n + l) = LOAD(from + p * rs + l);
        return;
    }
    for (; rs == 1 && j + L <= n; j += L) {
        int64_t p = 0;
        for (; p + L <= depth; p += L) transpose_tile(from + p + j * cs, cs, to + p * width + j, width, 1);
        for (; p < depth; p++)
            for (int64_t l = j; l < j + L; l++) to[p * width + l] = from[p + l * cs];
    }
    for (int64_t p = 0; p < depth; p++)
        for (int64_t l = j; l < width; l++) to[p * width + l] = l < n ? from[p * rs + l * cs] : 0;
}

/* y_ji = sign x_ij: rows x cols into cols x rows */
static __attribute__((unused)) void transpose_signed(int64_t rows, int64_t cols, const T *x, int64_t ldx,
                                                     T *y, int64_t ldy, const T sign)
{
    const int64_t r = rows / L * L, c = cols / L * L;
    for (int64_t i = 0; i < r; i += L)
        for (int64_t j = 0; j < c; j += L) transpose_tile(x + i * ldx + j, ldx, y + j * ldy + i, ldy, sign);
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = j < c ? r : 0; i < rows; i++)
            y[j * ldy + i] = sign == 1 ? x[i * ldx + j] : sign * x[i * ldx + j];
}

#endif
