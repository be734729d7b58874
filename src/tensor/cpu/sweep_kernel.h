/* Vector code: the inner kernels of sweep.c. A register tile has HIGH rows of VECTORS vectors, WIDTH numbers.
 * Rows are contiguous, WIDTH apart, unless a leading dimension is given. */
#include "kernel/factor.h"
#include "kernel/substitute_rows.h"

#define VECTORS (L == 16 ? 2 : WIDE)
#define WIDTH   (VECTORS * L)

/* c_rl = sign Σ_k b_kr a_kl (+ c_rl), k < depth, r < HIGH, l < WIDTH */
static void multiply(int64_t depth, const T *a, const T *b, int64_t ldb, T *c, int64_t ldc, T sign, bool add)
{
    vec sum[HIGH * VECTORS] = { 0 };
    const vec zero = { 0 }, f = sign - zero;
    const T *x[HIGH];
    UNROLL for (int r = 0; r < HIGH; r++) x[r] = b + r;
    for (int r = 0; r < HIGH && add; r++)
        for (int l = 0; l < WIDTH; l += 64 / (int)sizeof(T)) __builtin_prefetch(c + r * ldc + l, 1);
    accumulate(HIGH, VECTORS, true, depth, x, ldb, a, WIDTH, sum);
    UNROLL for (int r = 0; r < HIGH; r++) UNROLL for (int v = 0; v < VECTORS; v++)
    {
        vec *to = &VEC(c + r * ldc + v * L);
        if (add)
            *to = MAD(f, sum[r * VECTORS + v], *to);
        else
            *to = f * sum[r * VECTORS + v];
    }
}

/* c_l += sign Σ_k b_k a_kl */
static void combine(int64_t depth, const T *a, const T *b, T *c, T sign)
{
    vec sum[VECTORS] = { 0 };
    const vec zero = { 0 }, f = sign - zero;
    accumulate(1, VECTORS, true, depth, &b, 1, a, WIDTH, sum);
    for (int v = 0; v < VECTORS; v++) VEC(c + v * L) = MAD(f, sum[v], LOAD(c + v * L));
}

/* y_kl = sign x_kl, k < rows, l < WIDTH */
static void copy(int64_t rows, const T *x, int64_t ldx, T *y, int64_t ldy, T sign)
{
    const vec zero = { 0 }, f = sign - zero;
    for (int64_t k = 0; k < rows; k++)
        for (int v = 0; v < VECTORS; v++) VEC(y + k * ldy + v * L) = f * LOAD(x + k * ldx + v * L);
}
