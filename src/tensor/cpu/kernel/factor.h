/* The diagonal tiles of factorisations, in registers and first-level cache, for each type and instruction set
 * (each_isa.h). */

/* The upper triangle of c (n x n, rows ld >= P apart) becomes R of A = RᵀR, row by row: r_k = a_k / √a_kk, then
 * a_j -= r_kj r_k for all j > k at once, so that only row k + 1 has to wait. Below the diagonal c is undefined
 * then. Returns 0, or the minor that is not positive (from 1). P counts whole vectors. */
TARGET CT__INLINE int64_t NAME(eliminate)(T *c, const int64_t ld, int64_t n, const int P)
{
    const NAME(vec) zero = { 0 };
    for (int64_t k = 0; k < n; k++) {
        T *row = c + k * ld;
        const T pivot = row[k], inverse = 1 / FN(sqrt)(pivot);
        if (!(pivot > 0 && pivot < (T)INFINITY)) return k + 1;
        for (int64_t v = k / L * L; v < P; v += L) VEC(row + v) = LOAD(row + v) * inverse;
        for (int64_t j = k + 1; j < n; j++) {
            const NAME(vec) s = zero - row[j];
            for (int64_t v = j / L * L; v < P; v += L)
                VEC(c + j * ld + v) = MAD(s, LOAD(row + v), LOAD(c + j * ld + v));
        }
    }
    return 0;
}

/* The same for n <= P and any lda; the rest becomes zero. P is a constant where it is called. */
TARGET CT__INLINE int64_t NAME(upper_factor)(T *a, int64_t lda, int64_t n, const int P)
{
    T c[CT__TILE][CT__TILE];
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = 0; i < P; i++) c[k][i] = k <= i && i < n ? a[k * lda + i] : 0;
    const int64_t failed = NAME(eliminate)(c[0], CT__TILE, n, P);
    for (int64_t k = 0; k < n && !failed; k++)
        for (int64_t i = 0; i < n; i++) a[k * lda + i] = i < k ? 0 : c[k][i];
    return failed;
}
