/* The diagonal tiles of factorisations, in registers and first-level cache, for each type and instruction set
 * (each_isa.h). */

/* The upper triangle of a (n x n, n <= P) becomes R of A = RᵀR, the rest zero, row by row: r_k = (a_k -
 * Σ_{j<k} r_jk r_j) / r_kk. Returns 0, or the minor that is not positive (from 1). P is a constant where it
 * is called, and counts whole vectors. */
TARGET CT__INLINE int64_t NAME(upper_factor)(T *a, int64_t lda, int64_t n, const int P)
{
    const NAME(vec) zero = { 0 };
    T c[CT__TILE][CT__TILE];
    for (int64_t k = 0; k < n; k++) {
        NAME(vec) x[CT__TILE / L];
        for (int64_t i = 0; i < P; i++) c[k][i] = k <= i && i < n ? a[k * lda + i] : 0;
        UNROLL for (int v = 0; v < P / L; v++) x[v] = LOAD(c[k] + v * L);
        for (int64_t j = 0; j < k; j++) {
            const NAME(vec) s = zero - c[j][k];
            UNROLL for (int v = 0; v < P / L; v++) x[v] = MAD(s, LOAD(c[j] + v * L), x[v]);
        }
        UNROLL for (int v = 0; v < P / L; v++) VEC(c[k] + v * L) = x[v];
        const T pivot = c[k][k], root = FN(sqrt)(pivot);
        if (!(pivot > 0 && pivot < (T)INFINITY)) return k + 1;
        UNROLL for (int v = 0; v < P / L; v++) VEC(c[k] + v * L) = x[v] / root;
    }
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = 0; i < n; i++) a[k * lda + i] = i < k ? 0 : c[k][i];
    return 0;
}
