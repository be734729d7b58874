/* Eigenvalues of symmetric matrices by Jacobi's rotations; singular values by one-sided ones.
 * [Golub & Van Loan 2013, §8.5, §8.6] */
#include "reference.h"

#include <math.h>
#include <stdlib.h>

/* One rotation of rows and columns p and q, after which a_pq is 0. */
static void rotate(long double *a, int64_t n, int64_t p, int64_t q)
{
    const long double theta = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
    const long double t = (theta < 0 ? -1 : 1) / (fabsl(theta) + sqrtl(theta * theta + 1));
    const long double c = 1 / sqrtl(t * t + 1), s = t * c;
    for (int64_t k = 0; k < n; k++) {
        const long double x = a[k * n + p], y = a[k * n + q];
        a[k * n + p] = c * x - s * y, a[k * n + q] = s * x + c * y;
    }
    for (int64_t k = 0; k < n; k++) {
        const long double x = a[p * n + k], y = a[q * n + k];
        a[p * n + k] = c * x - s * y, a[q * n + k] = s * x + c * y;
    }
}

static int ascending(const void *a, const void *b)
{
    const long double x = *(const long double *)a, y = *(const long double *)b;
    return (x > y) - (x < y);
}

static void eigh_(ref_call *c)
{
    const ref_array *A = &c->in[0];
    const int64_t n = ref_dim(A, -1);
    const ct_shape batch = ref_batch(A, 2);
    long double *w = ref_out(c, ref_append(batch, 1, &n)), *a = malloc((size_t)(n * n + 1) * sizeof *a);
    if (!a) abort();
    for (int64_t b = 0, members = ct_shape_count(batch); b < members; b++) {
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) a[i * n + j] = A->x[b * n * n + (i > j ? i * n + j : j * n + i)];
        for (int sweep = 0; sweep < 20; sweep++)
            for (int64_t p = 0; p < n; p++)
                for (int64_t q = p + 1; q < n; q++)
                    if (a[p * n + q] != 0) rotate(a, n, p, q);
        for (int64_t i = 0; i < n; i++) w[b * n + i] = a[i * (n + 1)];
        if (n) qsort(w + b * n, (size_t)n, sizeof *w, ascending);
    }
    free(a);
}

/* Rotates columns p and q of a (m×n) so that they are orthogonal. */
static void separate(long double *a, int64_t m, int64_t n, int64_t p, int64_t q)
{
    long double pp = 0, qq = 0, pq = 0;
    for (int64_t k = 0; k < m; k++) {
        const long double x = a[k * n + p], y = a[k * n + q];
        pp += x * x, qq += y * y, pq += x * y;
    }
    if (pq == 0) return;
    const long double theta = (qq - pp) / (2 * pq);
    const long double t = (theta < 0 ? -1 : 1) / (fabsl(theta) + sqrtl(theta * theta + 1));
    const long double c = 1 / sqrtl(t * t + 1), s = t * c;
    for (int64_t k = 0; k < m; k++) {
        const long double x = a[k * n + p], y = a[k * n + q];
        a[k * n + p] = c * x - s * y, a[k * n + q] = s * x + c * y;
    }
}

static int descending(const void *a, const void *b) { return ascending(b, a); }

static void svd_(ref_call *c)
{
    const ref_array *A = &c->in[0];
    const int64_t rows = ref_dim(A, -2), cols = ref_dim(A, -1), r = rows < cols ? rows : cols,
                  m = rows + cols - r;
    const ct_shape batch = ref_batch(A, 2);
    long double *s = ref_out(c, ref_append(batch, 1, &r)), *a = malloc((size_t)(m * r + 1) * sizeof *a);
    if (!a) abort();
    for (int64_t b = 0, members = ct_shape_count(batch); b < members; b++) {
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < r; j++) /* A or Aᵀ, m×r */
                a[i * r + j] = A->x[b * m * r + (r == cols ? i * cols + j : j * cols + i)];
        for (int sweep = 0; sweep < 20; sweep++)
            for (int64_t p = 0; p < r; p++)
                for (int64_t q = p + 1; q < r; q++) separate(a, m, r, p, q);
        for (int64_t j = 0; j < r; j++) {
            long double sum = 0;
            for (int64_t i = 0; i < m; i++) sum += a[i * r + j] * a[i * r + j];
            s[b * r + j] = sqrtl(sum);
        }
        if (r) qsort(s + b * r, (size_t)r, sizeof *s, descending);
    }
    free(a);
}

static ref_part lower(const void *attr, int input)
{
    (void)attr, (void)input;
    return REF_LOWER;
}

const reference reference_eigen[] = {
    { .name = "eigh", .compute = eigh_, .reads = lower },
    { .name = "svd", .compute = svd_, .full_rank = 1 },
    { 0 },
};
