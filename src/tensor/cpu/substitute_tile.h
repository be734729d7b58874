/* X = C⁻¹ X for one tile C, lower, in blocks of HIGH rows and WIDE vectors of columns held in registers: what
 * product_tile.h is for products, of which it takes types and constants. */

/* Rows [i, i + rows), those before being done:  x_i = (x_i - Σ_{k<i} c_ik x_k) / c_ii,  1/c_ii given. `vectors` is a constant
 * where it is called. */
TARGET CT__INLINE void NAME(substitute_rows)(const int vectors, int64_t i, int64_t rows, const T *c,
                                             int64_t rs, int64_t cs, const T *inverse, const T *divisor, T *x,
                                             int64_t ldx)
{
    NAME(vec) sum[HIGH][WIDE];
    const NAME(vec) zero = { 0 };
    const T *l[HIGH], *row = x;
    UNROLL for (int r = 0; r < HIGH; r++)
    {
        l[r] = c + (i + (r < rows ? r : 0)) * rs;
        UNROLL for (int v = 0; v < vectors; v++) sum[r][v] = zero;
    }
    for (int64_t k = 0; k < i; k++, row += ldx) {
        NAME(vec) done[WIDE];
        UNROLL for (int v = 0; v < vectors; v++) done[v] = *(const NAME(vec) *)(const void *)(row + v * L);
        UNROLL for (int r = 0; r < HIGH; r++)
        {
            const NAME(vec) s = l[r][k * cs] - zero;
            UNROLL for (int v = 0; v < vectors; v++) ADD(sum[r][v], s, done[v]);
        }
    }
    UNROLL for (int r = 0; r < HIGH; r++)
    {
        if (r >= rows) break;
        const NAME(vec) f = inverse[i + r] - zero;
        UNROLL for (int v = 0; v < vectors; v++)
        {
            NAME(vec) *to = (NAME(vec) *)(void *)(row + r * ldx + v * L);
            sum[r][v] = *to - sum[r][v];
            sum[r][v] = divisor ? sum[r][v] / divisor[i + r] : sum[r][v] * f;
            *to = sum[r][v];
        }
        UNROLL for (int q = r + 1; q < HIGH; q++)
        {
            const NAME(vec) s = l[q][(i + r) * cs] - zero;
            UNROLL for (int v = 0; v < vectors; v++) ADD(sum[q][v], s, sum[r][v]);
        }
    }
}

TARGET static void NAME(substitute)(const T *c, int64_t rs, int64_t cs, int64_t n, bool unit, T *x,
                                    int64_t ldx, int64_t cols)
{
    T inverse[CT__TILE], diagonal[CT__TILE], part[CT__TILE][L], *divisor = NULL;
    for (int64_t i = 0; i < n; i++) {
        diagonal[i] = unit ? 1 : c[i * (rs + cs)];
        inverse[i] = 1 / diagonal[i];
        if (!(inverse[i] - inverse[i] == 0)) divisor = diagonal;
    }
#define ROWS(vectors, x, ldx)             \
    for (int64_t i = 0; i < n; i += HIGH) \
    NAME(substitute_rows)(vectors, i, min(HIGH, n - i), c, rs, cs, inverse, divisor, x, ldx)
    for (; cols >= WIDTH; cols -= WIDTH, x += WIDTH) ROWS(WIDE, x, ldx);
#if WIDE == 3
    if (cols >= 2 * L) {
        ROWS(2, x, ldx);
        cols -= 2 * L, x += 2 * L;
    }
#endif
    if (cols >= L) {
        ROWS(1, x, ldx);
        cols -= L, x += L;
    }
    if (!cols) return;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < L; j++) part[i][j] = j < cols ? x[i * ldx + j] : 0;
    ROWS(1, part[0], L);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < cols; j++) x[i * ldx + j] = part[i][j];
#undef ROWS
}
