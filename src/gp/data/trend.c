/* The basis of a trend on a model's data. With the expansion of h in standardised inputs s (expansion.c),
 *     h(x) = Eᵀ mono(s),   E = Q R1,   mono(S) Q = H R2,   HᵀH = n I
 * so that b(s) = (Q R2⁻¹)ᵀ mono(s) and h = (R2 R1)ᵀ b. Both steps are Gram-Schmidt with a second pass. The
 * first step acts on the coefficients. It preserves the span of 1, x, x² even if these columns are nearly
 * parallel on the data, as for years. [Giraud, Langou & Rozložník 2005, "The loss of orthogonality in the
 * Gram-Schmidt orthogonalization process"] */
#include "trend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A function counts as a combination of those before it if less than this share of its size is left: of its
 * coefficients, and on the data. */
#define SAME      1e-14
#define SAME_ROWS 1e-10

int64_t ct__trend_size(const ct_gp *gp) { return gp->trend ? gp->trend->basis.count : 0; }

uint64_t ct__trend_bytes(const ct_gp *gp)
{
    return 4 * (uint64_t)ct__trend_size(gp) * (uint64_t)gp->n * ct_dtype_size(gp->dtype);
}

/* -- Gram-Schmidt ---------------------------------------------------------------------------------------- */

static double product(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* Makes the rows of Q (p, n) orthogonal, with the squared length `length`: Q = Rᵀ Q', R (p, p) upper
 * triangular. Returns the first row of which less than the share `same` is left, or -1. */
static int64_t orthogonalize(double *Q, int64_t p, int64_t n, double length, double same, double *R)
{
    memset(R, 0, (size_t)(p * p) * sizeof *R);
    for (int64_t k = 0; k < p; k++) {
        double *q = Q + k * n, size = sqrt(product(q, q, n) / length);
        for (int pass = 0; pass < 2; pass++)
            for (int64_t j = 0; j < k; j++) {
                const double r = product(Q + j * n, q, n) / length;
                R[j * p + k] += r;
                for (int64_t i = 0; i < n; i++) q[i] -= r * Q[j * n + i];
            }
        const double left = sqrt(product(q, q, n) / length);
        if (!(left > same * size)) return k;
        R[k * p + k] = left;
        for (int64_t i = 0; i < n; i++) q[i] /= left;
    }
    return -1;
}

/* -- on the data ----------------------------------------------------------------------------------------- */

#define OUT_OF_RANGE "leaves the range of numbers: bring its columns to a scale near 1"

static ct_status refuse(ct_gp *gp, const ct__term *h, const char *why)
{
    char text[96];
    ct__term_print(h, gp->column, text, sizeof text);
    return ct_device_fail(gp->device, CT_EINVAL, "mean: the function %s %s", text, why);
}

/* H (p, n) = Qᵀ mono, for Q (p, monomials) */
static ct_status values(ct_gp *gp, const ct__trend *t, double *H)
{
    const int64_t n = gp->n, M = t->monomials;
    double *s = ct__gp_doubles(gp->X), *mono = ct__gp_alloc(gp->device, (uint64_t)M, sizeof *mono);
    ct_status status = s && mono ? CT_OK : ct_last_status(gp->device);
    for (int64_t i = 0; i < n && !status; i++) {
        ct__monomials_at(t, s + i * gp->d, mono);
        for (int64_t k = 0; k < t->basis.count && !status; k++) {
            H[k * n + i] = product(t->map + k * M, mono, M);
            if (!isfinite(H[k * n + i])) status = refuse(gp, &t->basis.term[k], OUT_OF_RANGE);
        }
    }
    free(s);
    free(mono);
    return status;
}

/* Lists the monomials and allocates the arrays. */
static ct_status prepare(ct_gp *gp, ct__trend *t)
{
    const int64_t p = t->basis.count;
    t->monomial = ct__gp_alloc(gp->device, CT__MOST_MONOMIALS, sizeof *t->monomial);
    if (!t->monomial) return CT_ENOMEM;
    for (int64_t k = 0; k < p; k++) {
        const double size = ct__term_size(gp, &t->basis.term[k]);
        if (!(size > 0 && isfinite(size))) return refuse(gp, &t->basis.term[k], OUT_OF_RANGE);
        if (!ct__term_expand(gp, t, k, NULL))
            return ct_device_fail(
                gp->device, CT_EINVAL,
                "mean: the functions expand to more than %d products of powers: take fewer, "
                "or lower powers",
                CT__MOST_MONOMIALS);
    }
    const uint64_t numbers = (uint64_t)(p * (t->monomials + p + 1));
    t->map = ct__gp_alloc(gp->device, numbers, sizeof *t->map);
    if (!t->map) return CT_ENOMEM;
    t->R = t->map + p * t->monomials;
    t->level = t->R + p * p;
    return CT_OK;
}

/* map = R2⁻ᵀ Q,  R = R2 R1 diag(c) */
static void combine(const ct_gp *gp, ct__trend *t, const double *R1, const double *R2)
{
    const int64_t p = t->basis.count, M = t->monomials;
    for (int64_t k = 0; k < p; k++) {
        double *row = t->map + k * M;
        for (int64_t j = 0; j < k; j++)
            for (int64_t i = 0; i < M; i++) row[i] -= R2[j * p + k] * t->map[j * M + i];
        for (int64_t i = 0; i < M; i++) row[i] /= R2[k * p + k];
        const double size = ct__term_size(gp, &t->basis.term[k]);
        for (int64_t i = 0; i <= k; i++) {
            double sum = 0;
            for (int64_t j = i; j <= k; j++) sum += R2[i * p + j] * R1[j * p + k];
            t->R[i * p + k] = sum * size;
        }
        t->log_volume += log(R2[k * p + k]) + log(R1[k * p + k]) + log(size);
    }
}

/* Fills t except its level, and H (p, n). *same: the first function that is a combination of those before it
 * on these rows, or -1. R1, R2: room for (p, p). */
static ct_status fill(ct_gp *gp, ct__trend *t, double *H, double *R1, double *R2, int64_t *same)
{
    const int64_t p = t->basis.count;
    ct_status s = prepare(gp, t);
    if (s) return s;
    for (int64_t k = 0; k < p; k++) ct__term_expand(gp, t, k, t->map + k * t->monomials);
    *same = orthogonalize(t->map, p, t->monomials, 1, SAME, R1);
    if (*same < 0) s = values(gp, t, H);
    if (!s && *same < 0) *same = orthogonalize(H, p, gp->n, (double)gp->n, SAME_ROWS, R2);
    if (!s && *same < 0) combine(gp, t, R1, R2);
    return s;
}

/* -- the trend ------------------------------------------------------------------------------------------- */

/* Splits y, given in r: y = H level + r */
static void detrend(const ct__trend *t, const double *H, int64_t n, double *r)
{
    for (int pass = 0; pass < 2; pass++)
        for (int64_t k = 0; k < t->basis.count; k++) {
            const double c = product(H + k * n, r, n) / (double)n;
            t->level[k] += c;
            for (int64_t i = 0; i < n; i++) r[i] -= c * H[k * n + i];
        }
}

/* Sets gp's H and detrended from H (p, n). */
static ct_status keep(ct_gp *gp, double *H)
{
    const int64_t n = gp->n, p = gp->trend->basis.count;
    double *r = ct__gp_doubles(gp->y),
           *transposed = ct__gp_alloc(gp->device, (uint64_t)(n * p), sizeof *transposed);
    if (r && transposed) {
        detrend(gp->trend, H, n, r);
        for (int64_t i = 0; i < n * p; i++) transposed[i] = H[i % p * n + i / p];
        gp->detrended = ct__gp_tensor(gp->device, gp->dtype, ct_shape2(n, 1), r);
        if (gp->detrended) gp->H = ct__gp_tensor(gp->device, gp->dtype, ct_shape2(n, p), transposed);
    }
    free(r);
    free(transposed);
    return gp->H ? CT_OK : ct_last_status(gp->device);
}

/* Makes the trend with the functions of `basis`, unless one is a combination of others (*same). */
static ct_status attempt(ct_gp *gp, const ct__basis *basis, int64_t *same)
{
    const uint64_t p = (uint64_t)basis->count, n = (uint64_t)gp->n;
    gp->trend = ct__gp_alloc(gp->device, 1, sizeof *gp->trend);
    double *H = ct__gp_alloc(gp->device, p * (n + 2 * p), sizeof *H);
    ct_status s = gp->trend && H ? CT_OK : CT_ENOMEM;
    if (!s) {
        gp->trend->basis = *basis;
        s = fill(gp, gp->trend, H, H + p * n, H + p * (n + p), same);
    }
    if (!s && *same < 0) s = keep(gp, H);
    free(H);
    if (!s && *same < 0) return s;
    ct__trend_drop(gp);
    return s;
}

ct_status ct__trend_make(ct_gp *gp, bool lenient)
{
    char message[CT__BASIS_MESSAGE];
    ct__basis basis;
    int64_t same = -1;
    gp->trend = NULL;
    gp->H = gp->detrended = NULL;
    ct_status s = ct__basis_parse(gp->basis, NULL, gp->d, &basis, message);
    if (s) return ct_device_fail(gp->device, s, "%s", message);
    if (basis.count >= gp->n && !lenient)
        return ct_device_fail(gp->device, CT_EINVAL,
                              "mean: %d functions for %lld row%s: it needs more rows than functions",
                              basis.count, (long long)gp->n, gp->n == 1 ? "" : "s");
    do {
        s = attempt(gp, &basis, &same);
        if (s || same < 0) return s;
        if (!lenient)
            return refuse(gp, &basis.term[same],
                          "is, to rounding, a combination of those before it in these rows: leave it out");
        memmove(basis.term + same, basis.term + same + 1,
                (size_t)(--basis.count - same) * sizeof *basis.term);
    } while (basis.count);
    return CT_OK;
}

/* Sets y_spread to the root mean square of what the trend leaves, unless the trend explains all of y. */
static ct_status take_spread(ct_gp *gp)
{
    double *r = ct__gp_doubles(gp->detrended);
    if (!r) return CT_ENOMEM;
    const double left = sqrt(product(r, r, gp->n) / (double)gp->n);
    if (left > 1e-8 * gp->y_spread) gp->y_spread = left;
    free(r);
    return CT_OK;
}

ct_status ct__trend_standardize(ct_gp *gp, const ct_tensor *y, bool outputs)
{
    double average, deviation, *given = ct__gp_doubles(y);
    if (!given) return CT_ENOMEM;
    ct__gp_column_moments(given, gp->n, 1, &average, &deviation);
    free(given);
    ct_status s = ct__trend_make(gp, false);
    if (!s) s = take_spread(gp);
    if (s) return s;
    if (outputs) gp->y_scale = gp->y_spread;
    if (outputs && ct__basis_constant(&gp->trend->basis)) gp->y_shift = average;
    ct__trend_drop(gp);
    ct_release(gp->y);
    gp->y = ct__gp_table(gp, y, ct_shape2(gp->n, 1), "y", &gp->y_shift, &gp->y_scale, NULL, false);
    return gp->y ? ct__trend_make(gp, false) : ct_last_status(gp->device);
}

ct_status ct__trend_read(ct_gp *gp, const char *text, const ct_column *columns)
{
    char message[CT__BASIS_MESSAGE];
    ct__basis basis;
    ct_status s = ct__basis_parse(text, columns, gp->d, &basis, message);
    if (s) return ct_device_fail(gp->device, s, "%s", message);
    const size_t length = ct__basis_print(&basis, NULL, 0) + 1;
    gp->basis = ct__gp_alloc(gp->device, length, 1);
    if (!gp->basis) return CT_ENOMEM;
    ct__basis_print(&basis, gp->basis, length);
    return CT_OK;
}

double ct__trend_constant(const ct_gp *gp)
{
    return gp->trend ? gp->trend->log_volume - (double)gp->trend->basis.count * log(gp->y_scale) : 0;
}
