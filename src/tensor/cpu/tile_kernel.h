/* The diagonal tiles of factorisations, P x P in registers and first-level cache, for one dtype: T, NAME and MAD are
 * the includer's. Of a smaller tile the rest is the identity. */

/* c's columns: the lower triangle of a, n of P columns. */
CT__INLINE void NAME(load)(const T *a, int64_t lda, int64_t n, T (*c)[CT__TILE], const int P)
{
    for (int64_t j = 0; j < P; j++)
        for (int64_t i = 0; i < P; i++) c[j][i] = i < n && j <= i ? a[i * lda + j] : (T)(i == j);
}

/* V = C⁻¹ by forward substitution on the rows of the identity; C's columns, V's rows. */
CT__INLINE void NAME(invert)(T (*c)[CT__TILE], T (*v)[CT__TILE], const int P, const bool fused)
{
    for (int64_t i = 0; i < P; i++) {
        T x[CT__TILE];
        for (int64_t j = 0; j < P; j++) x[j] = (T)(i == j);
        for (int64_t k = 0; k < i; k++) {
            const T f = -c[k][i];
            for (int64_t j = 0; j < P; j++) x[j] = MAD(f, v[k][j], x[j], fused);
        }
        const T d = c[i][i];
        for (int64_t j = 0; j < P; j++) v[i][j] = x[j] / d;
    }
}

CT__INLINE void NAME(store)(T (*v)[CT__TILE], T *m, int64_t ldm, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) m[i * ldm + j] = v[i][j];
}

CT__INLINE int64_t NAME(cholesky)(T *a, int64_t lda, int64_t n, T *m, int64_t ldm, const int P,
                                  const bool fused)
{
    T c[CT__TILE][CT__TILE], v[CT__TILE][CT__TILE];
    NAME(load)(a, lda, n, c, P);
    for (int64_t k = 0; k < P; k++) {
        T x[CT__TILE];
        for (int64_t i = 0; i < P; i++) x[i] = c[k][i];
        for (int64_t j = 0; j < k; j++) {
            const T f = -c[j][k];
            for (int64_t i = 0; i < P; i++) x[i] = MAD(f, c[j][i], x[i], fused);
        }
        if (!(x[k] > 0 && x[k] < (T)INFINITY)) return k + 1;
        const T d = SQRT(x[k]);
        for (int64_t i = 0; i < P; i++) c[k][i] = i < k ? 0 : x[i] / d;
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) a[i * lda + j] = c[j][i];
    NAME(invert)(c, v, P, fused);
    NAME(store)(v, m, ldm, n);
    return 0;
}

CT__INLINE void NAME(triangle)(const T *a, int64_t lda, int64_t n, T *m, int64_t ldm, bool unit, const int P,
                               const bool fused)
{
    T c[CT__TILE][CT__TILE], v[CT__TILE][CT__TILE];
    NAME(load)(a, lda, n, c, P);
    for (int64_t i = 0; i < P && unit; i++) c[i][i] = 1;
    NAME(invert)(c, v, P, fused);
    NAME(store)(v, m, ldm, n);
}

#define TILE_OF(isa, target, fused)                                                                \
    target static int64_t NAME2(cholesky, isa)(T * a, int64_t lda, int64_t n, T * m, int64_t ldm)  \
    {                                                                                              \
        return n <= 8    ? NAME(cholesky)(a, lda, n, m, ldm, 8, fused)                             \
               : n <= 16 ? NAME(cholesky)(a, lda, n, m, ldm, 16, fused)                            \
                         : NAME(cholesky)(a, lda, n, m, ldm, CT__TILE, fused);                     \
    }                                                                                              \
    target static void NAME2(triangle, isa)(const T *a, int64_t lda, int64_t n, T *m, int64_t ldm, \
                                            bool unit)                                             \
    {                                                                                              \
        if (n <= 8)                                                                                \
            NAME(triangle)(a, lda, n, m, ldm, unit, 8, fused);                                     \
        else if (n <= 16)                                                                          \
            NAME(triangle)(a, lda, n, m, ldm, unit, 16, fused);                                    \
        else                                                                                       \
            NAME(triangle)(a, lda, n, m, ldm, unit, CT__TILE, fused);                              \
    }
ISAS(TILE_OF)
#undef TILE_OF
