/* The diagonal tiles of factorisations, P x P in registers and first-level cache, for one dtype: T, NAME and
 * MAD are the includer's. Of a smaller tile the rest is the identity. */

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

/* Row k of R: r_k = (a_k - Σ_{j<k} r_jk r_j) / r_kk */
CT__INLINE int64_t NAME(cholesky)(T *a, int64_t lda, int64_t n, const int P, const bool fused)
{
    T c[CT__TILE][CT__TILE];
    for (int64_t k = 0; k < P; k++) {
        T x[CT__TILE];
        for (int64_t i = 0; i < P; i++) x[i] = k < n && k <= i && i < n ? a[k * lda + i] : (T)(i == k);
        for (int64_t j = 0; j < k; j++) {
            const T f = -c[j][k];
            for (int64_t i = 0; i < P; i++) x[i] = MAD(f, c[j][i], x[i], fused);
        }
        if (!(x[k] > 0 && x[k] < (T)INFINITY)) return k + 1;
        const T d = SQRT(x[k]);
        for (int64_t i = 0; i < P; i++) c[k][i] = i < k ? 0 : x[i] / d;
    }
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = 0; i < n; i++) a[k * lda + i] = c[k][i];
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

/* Column j of U and L after those before it: u_kj = a_kj - Σ_{p<k} l_kp u_pj, then below the diagonal,
 * divided by the pivot. Rows from m to the next multiple of CT__STRIP and another strip are zero, or at least
 * no use. */
CT__INLINE void NAME(panel)(T *c, int64_t ld, int64_t m, int64_t n, int64_t *pivots, const bool fused)
{
    for (int64_t j = 0; j < n; j++) {
        T *x = c + j * ld, best[CT__STRIP] = { 0 }, big = 0;
        for (int64_t k = 0; k < j; k++)
            for (int64_t i = k + 1; i < j; i++) x[i] = MAD(-x[k], c[k * ld + i], x[i], fused);
        for (int64_t i = j; i < m; i += CT__STRIP) {
            T s[CT__STRIP];
            for (int64_t r = 0; r < CT__STRIP; r++) s[r] = x[i + r];
            for (int64_t k = 0; k < j; k++) {
                const T f = -x[k], *l = c + k * ld + i;
                for (int64_t r = 0; r < CT__STRIP; r++) s[r] = MAD(f, l[r], s[r], fused);
            }
            for (int64_t r = 0; r < CT__STRIP; r++) {
                x[i + r] = s[r];
                const T size = s[r] < 0 ? -s[r] : s[r];
                best[r] = size > best[r] ? size : best[r];
            }
        }
        for (int64_t r = 0; r < CT__STRIP; r++) big = best[r] > big ? best[r] : big;
        int64_t p = j;
        for (int64_t i = j; i < m && big > 0; i++)
            if (x[i] == big || x[i] == -big) {
                p = i;
                break;
            }
        pivots[j] = p;
        for (int64_t k = 0; k < n && p != j; k++) {
            const T t = c[k * ld + j];
            c[k * ld + j] = c[k * ld + p];
            c[k * ld + p] = t;
        }
        const T d = x[j], inverse = 1 / d;
        if (d == 0) continue;
        if (inverse - inverse == 0)
            for (int64_t i = j + 1; i < m; i++) x[i] *= inverse;
        else
            for (int64_t i = j + 1; i < m; i++) x[i] /= d;
    }
}

#define TILE_OF(isa, target, fused)                                                                 \
    target static int64_t NAME2(cholesky, isa)(T * a, int64_t lda, int64_t n)                       \
    {                                                                                               \
        return n <= 8    ? NAME(cholesky)(a, lda, n, 8, fused)                                      \
               : n <= 16 ? NAME(cholesky)(a, lda, n, 16, fused)                                     \
               : n <= 24 ? NAME(cholesky)(a, lda, n, 24, fused)                                     \
                         : NAME(cholesky)(a, lda, n, CT__TILE, fused);                              \
    }                                                                                               \
    target static void NAME2(panel, isa)(T * c, int64_t ld, int64_t m, int64_t n, int64_t * pivots) \
    {                                                                                               \
        NAME(panel)(c, ld, m, n, pivots, fused);                                                    \
    }                                                                                               \
    target static void NAME2(triangle, isa)(const T *a, int64_t lda, int64_t n, T *m, int64_t ldm,  \
                                            bool unit)                                              \
    {                                                                                               \
        if (n <= 8)                                                                                 \
            NAME(triangle)(a, lda, n, m, ldm, unit, 8, fused);                                      \
        else if (n <= 16)                                                                           \
            NAME(triangle)(a, lda, n, m, ldm, unit, 16, fused);                                     \
        else                                                                                        \
            NAME(triangle)(a, lda, n, m, ldm, unit, CT__TILE, fused);                               \
    }
CT__ISAS(TILE_OF)
#undef TILE_OF
