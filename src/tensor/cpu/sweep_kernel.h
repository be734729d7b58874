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
#undef WIDTH
