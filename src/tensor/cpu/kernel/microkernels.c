/* Vector code: implements microkernels.h. */
#include "microkernels.h"
#include "vector.h"

#include "factor.h"
#include "multiply.h"
#include "substitute_rows.h"

static void substitute(const void *c_, int64_t rs, int64_t cs, int64_t n, bool unit, void *x_, int64_t ldx,
                       int64_t cols)
{
    const T *c = c_;
    T inverse[CT__TILE], diagonal[CT__TILE], part[CT__TILE * L], *x = x_, *divisor = NULL;
    for (int64_t i = 0; i < n; i++) {
        diagonal[i] = unit ? 1 : c[i * (rs + cs)];
        inverse[i] = 1 / diagonal[i];
        if (!(inverse[i] - inverse[i] == 0)) divisor = diagonal;
    }
#define ROWS(vectors, X, ld_)                                                       \
    for (int64_t i = 0; i < n; i += HIGH)                                           \
    substitute_rows(vectors, &(next_rows){ .rows = ct__min(HIGH, n - i),            \
                                           .depth = i,                              \
                                           .c = c + i * rs,                         \
                                           .done = X,                               \
                                           .rs = rs,                                \
                                           .cs = cs,                                \
                                           .ld = ld_,                               \
                                           .own = i * cs,                           \
                                           .inverse = inverse + i,                  \
                                           .divisor = divisor ? divisor + i : NULL, \
                                           .own_cs = cs,                            \
                                           .step = 1,                               \
                                           .b = X + i * ld_,                        \
                                           .x = X + i * ld_,                        \
                                           .ldx = ld_ })
    for (; cols >= WIDTH; cols -= WIDTH, x += WIDTH) ROWS(WIDE, x, ldx);
    if (WIDE == 3 && cols >= 2 * L) {
        ROWS(2, x, ldx);
        cols -= 2 * L, x += 2 * L;
    }
    if (cols >= L) {
        ROWS(1, x, ldx);
        cols -= L, x += L;
    }
    if (!cols) return;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < L; j++) part[i * L + j] = j < cols ? x[i * ldx + j] : 0;
    ROWS(1, part, L);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < cols; j++) x[i * ldx + j] = part[i * L + j];
#undef ROWS
}

static int64_t cholesky(void *a, int64_t lda, int64_t n)
{
    return n <= 8 && L <= 8    ? upper_factor(a, lda, n, 8)
           : n <= 16           ? upper_factor(a, lda, n, 16)
           : n <= 24 && L <= 8 ? upper_factor(a, lda, n, 24)
                               : upper_factor(a, lda, n, CT__TILE);
}

/* Left-looking, column by column: u_kj = a_kj - Σ_{p<k} l_kp u_pj, and below the diagonal the same divided by
 * the pivot. Rows from m to the next multiple of CT__STRIP, and one strip more, are padding. */
static void lu(void *c_, int64_t ld, int64_t m, int64_t n, int64_t *pivots)
{
    T *c = c_;
    for (int64_t j = 0; j < n; j++) {
        T *x = c + j * ld, best[CT__STRIP] = { 0 }, big = 0;
        for (int64_t k = 0; k < j; k++)
            for (int64_t i = k + 1; i < j; i++) x[i] = FN(ct__mad)(-x[k], c[k * ld + i], x[i], FUSED);
        for (int64_t i = j; i < m; i += CT__STRIP) {
            T s[CT__STRIP];
            for (int64_t r = 0; r < CT__STRIP; r++) s[r] = x[i + r];
            for (int64_t k = 0; k < j; k++) {
                const T f = -x[k], *l = c + k * ld + i;
                for (int64_t r = 0; r < CT__STRIP; r++) s[r] = FN(ct__mad)(f, l[r], s[r], FUSED);
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

static void transpose(int64_t rows, int64_t cols, const void *x, int64_t ldx, void *y, int64_t ldy)
{
    transpose_signed(rows, cols, x, ldx, y, ldy, 1);
}

/* s = ½(g + gᵀ), all of it or its lower tiles */
static void symmetric_part(bool lower, int64_t n, const void *g_, int64_t ldg, void *s_, int64_t lds)
{
    const T *g = g_;
    T *s = s_;
    const int64_t whole = n / L * L;
    for (int64_t i = 0; i < whole; i += L)
        for (int64_t j = 0; j <= i; j += L) {
            T transposed[L][L], sum[L][L];
            transpose_tile(g + j * ldg + i, ldg, transposed[0], L, 1);
            for (int r = 0; r < L; r++)
                VEC(sum[r]) = (T)0.5 * (LOAD(transposed[r]) + LOAD(g + (i + r) * ldg + j));
            if (!lower) transpose_tile(sum[0], L, s + j * lds + i, lds, 1);
            for (int r = 0; r < L; r++) VEC(s + (i + r) * lds + j) = LOAD(sum[r]);
        }
    for (int64_t i = whole; i < n; i++)
        for (int64_t j = 0; j <= i; j++)
            s[j * lds + i] = s[i * lds + j] = (T)0.5 * (g[i * ldg + j] + g[j * ldg + i]);
}

const ct__microkernels NAME(ct__microkernels) = {
    .dtype = F64 ? CT_F64 : CT_F32,
    .product = product,
    .substitute = substitute,
    .cholesky = cholesky,
    .lu = lu,
    .transpose = transpose,
    .symmetric_part = symmetric_part,
};
