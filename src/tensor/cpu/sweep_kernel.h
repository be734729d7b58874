/* What everything in sweep.c is made of, for each type and instruction set (each_vector.h): VECTORS vectors
 * by RANK numbers stay in registers. Rows of WIDTH numbers follow each other but where a leading dimension is
 * given. */
#define RANK    (ISA == 2 ? 8 : 4)
#define VECTORS (ISA == 0 || LANES == 16 ? 2 : 3)
#define WIDTH   (VECTORS * LANES)

/* c_rl = sign Σ_k b_kr a_kl (+ c_rl), k < depth, r < RANK, l < WIDTH */
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

/* x_r = (p_r - Σ_{k<depth} b_kr a_k - Σ l_kr x_k) / l_rr, r < RANK; the last sum is over the rows solved
 * before row r: those above, or where `back` those below. b and l: RANK numbers of a row; in the place of
 * l_rr stands -1 / l_rr. x may be p. */
TARGET CT__INLINE void NAME(solve_rows)(int64_t depth, const T *a, const T *b, const T *l, const T *p, T *x,
                                        const bool back)
{
    NAME(vec) sum[RANK][VECTORS];
    const NAME(vec) zero = { 0 };
#pragma GCC unroll 16
    for (int r = 0; r < RANK; r++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) sum[r][v] = zero;
    for (int64_t k = 0; k < depth; k++, a += WIDTH, b += WIDTH) {
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
#pragma GCC unroll 16
    for (int r = 0; r < RANK; r++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++)
            sum[r][v] -= *(const NAME(vec) *)(const void *)(p + r * WIDTH + v * LANES);
#pragma GCC unroll 16
    for (int i = 0; i < RANK; i++) {
        const int k = back ? RANK - 1 - i : i;
        const NAME(vec) f = l[k * WIDTH + k] - zero;
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) {
            sum[k][v] *= f;
            *(NAME(vec) *)(void *)(x + k * WIDTH + v * LANES) = sum[k][v];
        }
#pragma GCC unroll 16
        for (int r = 0; r < RANK; r++) {
            if (back ? r >= k : r <= k) continue;
            const NAME(vec) s = l[k * WIDTH + r] - zero;
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++) sum[r][v] = MAD(s, sum[k][v], sum[r][v]);
        }
    }
}

TARGET static void NAME(substitute)(int64_t depth, const T *a, const T *b, const T *l, const T *p, T *x)
{
    NAME(solve_rows)(depth, a, b, l, p, x, false);
}

TARGET static void NAME(substitute_back)(int64_t depth, const T *a, const T *b, const T *l, const T *p, T *x)
{
    NAME(solve_rows)(depth, a, b, l, p, x, true);
}

/* c, symmetric, WIDTH x WIDTH, becomes U = Lᵀ of c = L Lᵀ, what is below the diagonal no matter:
 * u_k = (c_k - Σ_{j<k} u_jk u_j) / u_kk. Returns the minor that is not positive (from 1), or 0. */
TARGET static int64_t NAME(cholesky)(T *c)
{
    const NAME(vec) zero = { 0 };
    for (int64_t k = 0; k < WIDTH; k++) {
        NAME(vec) sum[VECTORS], *row = (NAME(vec) *)(void *)(c + k * WIDTH);
        for (int v = 0; v < VECTORS; v++) sum[v] = row[v];
        for (int64_t j = 0; j < k; j++) {
            const NAME(vec) s = -(c[j * WIDTH + k] - zero);
            for (int v = 0; v < VECTORS; v++)
                sum[v] = MAD(s, *(const NAME(vec) *)(const void *)(c + j * WIDTH + v * LANES), sum[v]);
        }
        for (int v = 0; v < VECTORS; v++) row[v] = sum[v];
        const T pivot = c[k * WIDTH + k];
        if (!(pivot > 0 && pivot < (T)INFINITY)) return k + 1;
        const T root = (T)sqrt((double)pivot);
        for (int v = 0; v < VECTORS; v++) row[v] = sum[v] / root;
    }
    return 0;
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

/* y_kl = sign x_kl, k < rows, l < WIDTH */
TARGET static void NAME(copy)(int64_t rows, const T *x, int64_t ldx, T *y, int64_t ldy, T sign)
{
    const NAME(vec) zero = { 0 }, f = sign - zero;
    for (int64_t k = 0; k < rows; k++)
        for (int v = 0; v < VECTORS; v++)
            *(NAME(vec) *)(void *)(y + k * ldy + v * LANES) =
                f * *(const NAME(vec) *)(const void *)(x + k * ldx + v * LANES);
}

/* y_ji = sign x_ij for rows x cols of whole vectors; each block in log2 LANES rounds that interleave its
 * halves */
TARGET static void NAME(transpose)(int64_t rows, int64_t cols, const T *x, int64_t ldx, T *y, int64_t ldy,
                                   T sign)
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
#undef RANK
#undef VECTORS
