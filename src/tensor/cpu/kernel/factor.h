/* Vector code: the factorisation of diagonal tiles, in registers and the first-level cache. */

/* Replaces the upper triangle of c (n x n, rows ld >= P apart) by R of A = RᵀR, right-looking: r_k = a_k /
 * √a_kk, then a_j -= r_kj r_k for all j > k, so that only row k + 1 waits for row k. The lower triangle of c
 * becomes undefined. With z (P numbers) also computes y = R⁻ᵀ z; z becomes undefined. Returns 0, or the
 * failing minor (from 1). Callers pass a constant P, a multiple of the vector length. */
CT__INLINE int64_t eliminate(T *c, const int64_t ld, int64_t n, const int P, T *z, T *y)
{
    const vec zero = { 0 };
    for (int64_t k = 0; k < n; k++) {
        T *row = c + k * ld;
        const T pivot = row[k], inverse = 1 / FN(sqrt)(pivot);
        vec x[CT__TILE / L];
        if (!(pivot > 0 && pivot < (T)INFINITY)) return k + 1;
        UNROLL for (int v = 0; v < P / L; v++)
        {
            x[v] = LOAD(row + v * L) * inverse;
            VEC(row + v * L) = x[v];
            x[v] = -x[v];
        }
        UNROLL for (int b = 0; b < P / L; b++)
        {
            const int64_t end = ct__min(n, b * L + L);
            for (int64_t j = ct__max(k + 1, b * L); j < end; j++) {
                const vec s = row[j] - zero;
                UNROLL for (int v = b; v < P / L; v++)
                {
                    T *to = c + j * ld + v * L;
                    VEC(to) = MAD(s, x[v], LOAD(to));
                }
            }
        }
        if (!z) continue;
        y[k] = z[k] * inverse;
        UNROLL for (int v = 0; v < P / L; v++) VEC(z + v * L) = MAD(y[k] - zero, x[v], LOAD(z + v * L));
    }
    return 0;
}

/* The same for n <= P and any lda. The strict lower triangle becomes zero. */
CT__INLINE int64_t upper_factor(T *a, int64_t lda, int64_t n, const int P)
{
    T c[CT__TILE][CT__TILE];
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = 0; i < P; i++) c[k][i] = k <= i && i < n ? a[k * lda + i] : 0;
    const int64_t failed = eliminate(c[0], CT__TILE, n, P, NULL, NULL);
    for (int64_t k = 0; k < n && !failed; k++)
        for (int64_t i = 0; i < n; i++) a[k * lda + i] = i < k ? 0 : c[k][i];
    return failed;
}
