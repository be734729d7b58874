/* The diagonal tiles of factorisations, in registers and first-level cache, for each type and instruction set
 * (each_isa.h). */

/* The upper triangle of a (n x n, n <= P) becomes R of A = RᵀR, the rest zero, row by row: r_k = a_k / √a_kk,
 * then a_j -= r_kj r_k for all j > k, at once, so that only row k + 1 has to wait. Returns 0, or the minor that
 * is not positive (from 1). P is a constant where it is called, and counts whole vectors. */
TARGET CT__INLINE int64_t NAME(upper_factor)(T *a, int64_t lda, int64_t n, const int P)
{
    const NAME(vec) zero = { 0 };
    T c[CT__TILE][CT__TILE];
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = 0; i < P; i++) c[k][i] = k <= i && i < n ? a[k * lda + i] : 0;
    for (int64_t k = 0; k < n; k++) {
        const T pivot = c[k][k], inverse = 1 / FN(sqrt)(pivot);
        if (!(pivot > 0 && pivot < (T)INFINITY)) return k + 1;
        for (int64_t v = k / L; v < P / L; v++) VEC(c[k] + v * L) = LOAD(c[k] + v * L) * inverse;
        for (int64_t j = k + 1; j < n; j++) {
            const NAME(vec) s = zero - c[k][j];
            for (int64_t v = j / L; v < P / L; v++)
                VEC(c[j] + v * L) = MAD(s, LOAD(c[k] + v * L), LOAD(c[j] + v * L));
        }
    }
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = 0; i < n; i++) a[k * lda + i] = i < k ? 0 : c[k][i];
    return 0;
}
