/* The product that everything in sweep.c is made of, for one type T and one instruction set: VECTORS vectors of LANES
 * numbers by RANK numbers stay in registers. */
#define WIDTH (VECTORS * LANES)

typedef T NAME(vec) __attribute__((vector_size(LANES * sizeof(T)), aligned(sizeof(T)), may_alias));

/* c_rl = sign Σ_k b_kr a_kl (+ c_rl), k < depth, r < RANK, l < WIDTH. a's rows are WIDTH apart. */
TARGET static void NAME(multiply)(int64_t depth, const T *a, const T *b, int64_t ldb, T *c, int64_t ldc,
                                  T sign, bool add)
{
    NAME(vec) sum[RANK][VECTORS];
    const NAME(vec) zero = { 0 };
#pragma GCC unroll 16
    for (int r = 0; r < RANK; r++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) sum[r][v] = zero;
    for (int r = 0; r < RANK && add; r++)
        for (int l = 0; l < WIDTH; l += 64 / (int)sizeof(T)) __builtin_prefetch(c + r * ldc + l, 1);
    for (int64_t k = 0; k < depth; k++, a += WIDTH, b += ldb) {
        NAME(vec) row[VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) row[v] = *(const NAME(vec) *)(const void *)(a + v * LANES);
#pragma GCC unroll 16
        for (int r = 0; r < RANK; r++) {
            const NAME(vec) s = b[r] - zero;
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++) sum[r][v] = MAD(s, row[v], sum[r][v]);
        }
    }
    const NAME(vec) f = sign - zero;
#pragma GCC unroll 16
    for (int r = 0; r < RANK; r++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) {
            NAME(vec) *to = (NAME(vec) *)(void *)(c + r * ldc + v * LANES);
            if (add)
                *to = MAD(f, sum[r][v], *to);
            else
                *to = f * sum[r][v];
        }
}

/* c_l += sign Σ_k b_k a_kl */
TARGET static void NAME(combine)(int64_t depth, const T *a, const T *b, T *c, T sign)
{
    NAME(vec) sum[VECTORS];
    const NAME(vec) zero = { 0 }, f = sign - zero;
    for (int v = 0; v < VECTORS; v++) sum[v] = zero;
    for (int64_t k = 0; k < depth; k++, a += WIDTH) {
        const NAME(vec) s = b[k] - zero;
        for (int v = 0; v < VECTORS; v++)
            sum[v] = MAD(s, *(const NAME(vec) *)(const void *)(a + v * LANES), sum[v]);
    }
    for (int v = 0; v < VECTORS; v++) {
        NAME(vec) *to = (NAME(vec) *)(void *)(c + v * LANES);
        *to = MAD(f, sum[v], *to);
    }
}

/* y_ji = sign x_ij for rows x cols of whole vectors; each block in log2 LANES rounds that interleave its halves */
TARGET static void NAME(turn)(int64_t rows, int64_t cols, const T *x, int64_t ldx, T *y, int64_t ldy, T sign)
{
    const NAME(vec) zero = { 0 }, f = sign - zero;
    for (int64_t j = 0; j < cols; j += LANES)
        for (int64_t i = 0; i < rows; i += LANES) {
            NAME(vec) r[LANES], next[LANES];
#pragma GCC unroll 16
            for (int l = 0; l < LANES; l++)
                r[l] = f * *(const NAME(vec) *)(const void *)(x + (i + l) * ldx + j);
#pragma GCC unroll 4
            for (int n = 1; n < LANES; n *= 2) {
#pragma GCC unroll 8
                for (int l = 0; l < LANES / 2; l++) {
                    next[2 * l] = ZIP(r[l], r[l + LANES / 2], 0);
                    next[2 * l + 1] = ZIP(r[l], r[l + LANES / 2], LANES / 2);
                }
#pragma GCC unroll 16
                for (int l = 0; l < LANES; l++) r[l] = next[l];
            }
#pragma GCC unroll 16
            for (int l = 0; l < LANES; l++) *(NAME(vec) *)(void *)(y + (j + l) * ldy + i) = r[l];
        }
}
#undef WIDTH
