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

#include "numbers.h"
#include "table.h"
#include "vectors.h"

/* A function counts as a combination of those before it if less than this share of its size is left: of its
 * coefficients, and on the data. */
#define SAME      1e-14
#define SAME_ROWS 1e-10

uint64_t ct__trend_bytes(const ct__trend *t)
{
    return t ? 4 * (uint64_t)ct_tensor_count(t->H) * ct_dtype_size(ct_tensor_dtype(t->H)) : 0;
}

double ct__trend_constant(const ct__trend *t, double y_scale)
{
    return t ? t->log_volume - (double)t->basis.count * log(y_scale) : 0;
}

void ct__trend_drop(ct__mean *mean)
{
    ct__trend *t = mean->trend;
    if (!t) return;
    free(t->mono.term);
    free(t->map);
    ct_release(t->H);
    ct_release(t->detrended);
    free(t);
    mean->trend = NULL;
}

/* -- Gram-Schmidt ---------------------------------------------------------------------------------------- */

/* Makes the rows of Q (p, n) orthogonal, with the squared length `length`: Q = Rᵀ Q', R (p, p) upper
 * triangular. Returns the first row of which less than the share `same` is left, or -1. */
static int64_t orthogonalize(double *Q, int64_t p, int64_t n, double length, double same, double *R)
{
    memset(R, 0, (size_t)(p * p) * sizeof *R);
    for (int64_t k = 0; k < p; k++) {
        double *q = Q + k * n;
        const double size = sqrt(ct__gp_dot(q, q, n) / length);
        ct__gp_project_out(Q, k, n, length, q, R + k, p);
        const double left = sqrt(ct__gp_dot(q, q, n) / length);
        if (!(left > same * size)) return k;
        R[k * p + k] = left;
        for (int64_t i = 0; i < n; i++) q[i] /= left;
    }
    return -1;
}

/* -- on the data ----------------------------------------------------------------------------------------- */

#define OUT_OF_RANGE "leaves the range of numbers: bring its columns to a scale near 1"

static ct_status refuse(const ct__data_rows *rows, const ct__term *h, const char *why)
{
    char text[96];
    ct__term_print(h, rows->column, text, sizeof text);
    return ct_device_fail(ct_tensor_device(rows->X), CT_EINVAL, "mean: the function %s %s", text, why);
}

/* H (p, n) = Qᵀ mono, for Q (p, monomials) */
static ct_status values(const ct__data_rows *rows, const ct__trend *t, double *H)
{
    const int64_t n = rows->n, M = t->mono.count;
    double *s = ct__gp_doubles(rows->X),
           *mono = ct__gp_alloc(ct_tensor_device(rows->X), (uint64_t)M, sizeof *mono);
    ct_status status = s && mono ? CT_OK : ct_last_status(ct_tensor_device(rows->X));
    for (int64_t i = 0; i < n && !status; i++) {
        ct__monomials_at(&t->mono, s + i * rows->d, mono);
        for (int64_t k = 0; k < t->basis.count && !status; k++) {
            H[k * n + i] = ct__gp_dot(t->map + k * M, mono, M);
            if (!isfinite(H[k * n + i])) status = refuse(rows, &t->basis.term[k], OUT_OF_RANGE);
        }
    }
    free(s);
    free(mono);
    return status;
}

/* Expands the functions: lists their monomials and sets map = Eᵀ. */
static ct_status expand(const ct__data_rows *rows, ct__trend *t)
{
    const int64_t p = t->basis.count;
    ct_device *device = ct_tensor_device(rows->X);
    t->mono.term = ct__gp_alloc(device, CT__MOST_MONOMIALS, sizeof *t->mono.term);
    if (!t->mono.term) return CT_ENOMEM;
    for (int64_t k = 0; k < p; k++) {
        const double size = ct__term_size(rows, &t->basis.term[k]);
        if (!(size > 0 && isfinite(size))) return refuse(rows, &t->basis.term[k], OUT_OF_RANGE);
        if (!ct__term_expand(rows, &t->mono, &t->basis.term[k], NULL))
            return ct_device_fail(device, CT_EINVAL,
                                  "mean: the functions expand to more than %d products of powers: take "
                                  "fewer, or lower powers",
                                  CT__MOST_MONOMIALS);
    }
    const int64_t M = t->mono.count;
    t->map = ct__gp_alloc(device, (uint64_t)(p * (M + p + 1)), sizeof *t->map);
    if (!t->map) return CT_ENOMEM;
    t->R = t->map + p * M;
    t->level = t->R + p * p;
    for (int64_t k = 0; k < p; k++) ct__term_expand(rows, &t->mono, &t->basis.term[k], t->map + k * M);
    return CT_OK;
}

/* map = R2⁻ᵀ Q,  R = R2 R1 diag(c) */
static void combine(const ct__data_rows *rows, ct__trend *t, const double *R1, const double *R2)
{
    const int64_t p = t->basis.count, M = t->mono.count;
    for (int64_t k = 0; k < p; k++) {
        double *row = t->map + k * M;
        for (int64_t j = 0; j < k; j++)
            for (int64_t i = 0; i < M; i++) row[i] -= R2[j * p + k] * t->map[j * M + i];
        for (int64_t i = 0; i < M; i++) row[i] /= R2[k * p + k];
        const double size = ct__term_size(rows, &t->basis.term[k]);
        for (int64_t i = 0; i <= k; i++) {
            double sum = 0;
            for (int64_t j = i; j <= k; j++) sum += R2[i * p + j] * R1[j * p + k];
            t->R[i * p + k] = sum * size;
        }
        t->log_volume += log(R2[k * p + k]) + log(R1[k * p + k]) + log(size);
    }
}

/* -- the trend ------------------------------------------------------------------------------------------- */

/* Sets t's H and detrended from H (p, n). */
static ct_status keep(const ct__data_rows *rows, ct__trend *t, const ct_tensor *y, double *H)
{
    const int64_t n = rows->n, p = t->basis.count;
    ct_device *device = ct_tensor_device(y);
    double *r = ct__gp_doubles(y), *transposed = ct__gp_alloc(device, (uint64_t)(n * p), sizeof *transposed);
    if (r && transposed) {
        ct__gp_project_out(H, p, n, (double)n, r, t->level, 1); /* y = H level + r */
        for (int64_t i = 0; i < n * p; i++) transposed[i] = H[i % p * n + i / p];
        t->detrended = ct__gp_tensor(device, rows->dtype, ct_shape2(n, 1), r);
        if (t->detrended) t->H = ct__gp_tensor(device, rows->dtype, ct_shape2(n, p), transposed);
    }
    free(r);
    free(transposed);
    return t->H ? CT_OK : ct_last_status(device);
}

/* Makes the trend with the functions of `basis`, unless one is a combination of those before it on these
 * rows: *same, else -1. */
static ct_status attempt(ct__mean *mean, const ct__data_rows *rows, const ct_tensor *y,
                         const ct__basis *basis, int64_t *same)
{
    const int64_t p = basis->count, n = rows->n;
    ct_device *device = ct_tensor_device(y);
    ct__trend *t = mean->trend = ct__gp_alloc(device, 1, sizeof *t);
    /* H (p, n), then R1 and R2 (p, p) */
    double *H = ct__gp_alloc(device, (uint64_t)(p * (n + 2 * p)), sizeof *H);
    ct_status s = t && H ? CT_OK : CT_ENOMEM;
    if (!s) t->basis = *basis;
    if (!s) s = expand(rows, t);
    if (!s) *same = orthogonalize(t->map, p, t->mono.count, 1, SAME, H + p * n);
    if (!s && *same < 0) s = values(rows, t, H);
    if (!s && *same < 0) *same = orthogonalize(H, p, n, (double)n, SAME_ROWS, H + p * (n + p));
    if (!s && *same < 0) combine(rows, t, H + p * n, H + p * (n + p));
    if (!s && *same < 0) s = keep(rows, t, y, H);
    free(H);
    if (s || *same >= 0) ct__trend_drop(mean);
    return s;
}

ct_status ct__trend_make(ct__mean *mean, const ct__data_rows *rows, const ct_tensor *y, bool lenient)
{
    ct__basis basis;
    ct_device *device = ct_tensor_device(y);
    int64_t same = -1;
    mean->trend = NULL;
    ct_status s = ct__basis_parse(device, mean->basis, NULL, rows->d, &basis);
    if (s) return s;
    if (basis.count >= rows->n && !lenient)
        return ct_device_fail(device, CT_EINVAL,
                              "mean: %d functions for %lld row%s: it needs more rows than functions",
                              basis.count, (long long)rows->n, rows->n == 1 ? "" : "s");
    do {
        s = attempt(mean, rows, y, &basis, &same);
        if (s || same < 0) return s;
        if (!lenient)
            return refuse(rows, &basis.term[same],
                          "is, to rounding, a combination of those before it in these rows: leave it out");
        memmove(basis.term + same, basis.term + same + 1,
                (size_t)(--basis.count - same) * sizeof *basis.term);
    } while (basis.count);
    return CT_OK;
}

/* Sets the spread to the root mean square of what the trend leaves, unless the trend explains all of y. */
static ct_status take_spread(const ct__trend *t, ct__target *target, int64_t n)
{
    double *r = ct__gp_doubles(t->detrended);
    if (!r) return CT_ENOMEM;
    const double left = sqrt(ct__gp_dot(r, r, n) / (double)n);
    if (left > 1e-8 * target->spread) target->spread = left;
    free(r);
    return CT_OK;
}

/* Whether 1 is among the functions. */
static bool has_constant(const ct__basis *b)
{
    for (int k = 0; k < b->count; k++)
        if (!b->term[k].degree) return true;
    return false;
}

ct_status ct__trend_standardize(ct__mean *mean, const ct__data_rows *rows, ct__target *target,
                                const ct_tensor *z, bool outputs)
{
    ct_device *device = ct_tensor_device(rows->X);
    double average, deviation, *given = ct__gp_doubles(z);
    if (!given) return CT_ENOMEM;
    ct__gp_column_moments(given, rows->n, 1, &average, &deviation);
    free(given);
    ct_status s = ct__trend_make(mean, rows, target->y, false);
    if (!s) s = take_spread(mean->trend, target, rows->n);
    if (s) return s;
    if (outputs) target->scale = target->spread;
    if (outputs && has_constant(&mean->trend->basis)) target->shift = average;
    ct__trend_drop(mean);
    ct_release(target->y);
    target->y = ct__table(device, rows->dtype, z, ct_shape2(rows->n, 1), "y",
                          (ct__units){ .shift = &target->shift, .scale = &target->scale });
    return target->y ? ct__trend_make(mean, rows, target->y, false) : ct_last_status(device);
}

ct_status ct__trend_read(ct__mean *mean, ct_device *device, const char *text, const ct_column *columns,
                         int64_t d)
{
    ct__basis basis;
    const ct_status s = ct__basis_parse(device, text, columns, d, &basis);
    if (s) return s;
    const size_t length = ct__basis_print(&basis, NULL, 0) + 1;
    mean->basis = ct__gp_alloc(device, length, 1);
    if (!mean->basis) return CT_ENOMEM;
    ct__basis_print(&basis, mean->basis, length);
    return CT_OK;
}
