/* Inverses, LU and determinants by elimination in long double. */
#include "reference.h"

#include <math.h>
#include <stdlib.h>

static long double *copy(const long double *from, int64_t n)
{
    long double *to = malloc((size_t)(n > 0 ? n : 1) * sizeof *to);
    if (!to) abort();
    for (int64_t i = 0; i < n; i++) to[i] = from[i];
    return to;
}

static void swap(long double *a, long double *b, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        long double x = a[j];
        a[j] = b[j];
        b[j] = x;
    }
}

/* X with A X = B in place of B (n×m), by Gauss and Jordan with row exchanges; returns det A. */
static long double eliminate(const long double *A, int64_t n, long double *B, int64_t m)
{
    long double *a = copy(A, n * n), det = 1;
    for (int64_t k = 0; k < n; k++) {
        int64_t best = k;
        for (int64_t i = k; i < n; i++)
            if (fabsl(a[i * n + k]) > fabsl(a[best * n + k])) best = i;
        if (best != k) {
            swap(a + best * n, a + k * n, n);
            if (m) swap(B + best * m, B + k * m, m);
            det = -det;
        }
        det *= a[k * n + k];
        for (int64_t i = 0; i < n; i++) {
            if (i == k || a[k * n + k] == 0) continue;
            long double f = a[i * n + k] / a[k * n + k];
            for (int64_t j = 0; j < n; j++) a[i * n + j] -= f * a[k * n + j];
            for (int64_t j = 0; j < m; j++) B[i * m + j] -= f * B[k * m + j];
        }
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) B[i * m + j] /= a[i * n + i];
    free(a);
    return det;
}

static long double *identity(int64_t n)
{
    long double *I = malloc((size_t)(n * n + 1) * sizeof *I);
    if (!I) abort();
    for (int64_t i = 0; i < n * n; i++) I[i] = i % (n + 1) == 0;
    return I;
}

/* Reads the lower triangle of a symmetric matrix, or all of a general one. */
static long double *whole(const long double *A, int64_t n, bool lower)
{
    long double *a = copy(A, n * n);
    for (int64_t i = 0; i < n && lower; i++)
        for (int64_t j = i + 1; j < n; j++) a[i * n + j] = a[j * n + i];
    return a;
}

static void invert(ref_call *c, bool lower)
{
    const ref_array *A = &c->in[0];
    int64_t n = ref_dim(A, -1);
    long double *y = ref_out(c, A->shape);
    for (int64_t o = 0; o < c->out.n; o += n * n) {
        long double *P = identity(n), *a = whole(A->x + o, n, lower);
        eliminate(a, n, P, n);
        for (int64_t i = 0; i < n * n; i++) y[o + i] = P[i];
        free(P);
        free(a);
    }
}

static void inverse_(ref_call *c) { invert(c, false); }
static void inverse_spd_(ref_call *c) { invert(c, true); }

static void part(ref_call *c, bool rows)
{
    const ref_array *A = &c->in[0], *q = &c->in[1];
    int64_t n = ref_dim(A, -1), r = ref_dim(q, 0);
    ct_shape batch = ref_batch(A, 2);
    long double *y = ref_out(c, ref_append(batch, 2, rows ? (int64_t[]){ r, n } : (int64_t[]){ n, r }));
    for (int64_t b = 0, members = ct_shape_count(batch); b < members && n; b++) {
        long double *P = identity(n);
        eliminate(A->x + b * n * n, n, P, n);
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = 0; k < r; k++) {
                int64_t at = (int64_t)q->x[k];
                y[b * n * r + (rows ? k * n + i : i * r + k)] = rows ? P[at * n + i] : P[i * n + at];
            }
        free(P);
    }
}

/* The block of A⁻¹ in rows q1 and columns q2, and its diagonal. */
static void inverse_block_(ref_call *c)
{
    const ref_array *A = &c->in[0], *rows = &c->in[1], *cols = &c->in[2];
    int64_t n = ref_dim(A, -1), r = ref_dim(rows, 0), q = ref_dim(cols, 0);
    ct_shape batch = ref_batch(A, 2);
    long double *y = ref_out(c, ref_append(batch, 2, (int64_t[]){ r, q }));
    for (int64_t b = 0, members = ct_shape_count(batch); b < members && n; b++) {
        long double *P = identity(n);
        eliminate(A->x + b * n * n, n, P, n);
        for (int64_t i = 0; i < r; i++)
            for (int64_t j = 0; j < q; j++)
                y[(b * r + i) * q + j] = P[(int64_t)rows->x[i] * n + (int64_t)cols->x[j]];
        free(P);
    }
}

static void diagonal(ref_call *c, bool lower)
{
    const ref_array *A = &c->in[0];
    int64_t n = ref_dim(A, -1);
    ct_shape batch = ref_batch(A, 2);
    long double *y = ref_out(c, ref_append(batch, 1, &n));
    for (int64_t b = 0, members = ct_shape_count(batch); b < members && n; b++) {
        long double *P = identity(n), *a = whole(A->x + b * n * n, n, lower);
        eliminate(a, n, P, n);
        for (int64_t i = 0; i < n; i++) y[b * n + i] = P[i * (n + 1)];
        free(P);
        free(a);
    }
}

static void inverse_diag_(ref_call *c) { diagonal(c, false); }
static void inverse_diag_spd_(ref_call *c) { diagonal(c, true); }
static void inverse_cols_(ref_call *c) { part(c, false); }
static void inverse_rows_(ref_call *c) { part(c, true); }

static void solve_(ref_call *c)
{
    const ref_array *A = &c->in[0], *B = &c->in[1];
    int64_t n = ref_dim(A, -1), m = ref_dim(B, -1);
    ct_shape batch = ct_shape_broadcast(ref_batch(A, 2), ref_batch(B, 2));
    long double *X = ref_out(c, ref_append(batch, 2, (int64_t[]){ n, m }));
    for (int64_t b = 0, members = ct_shape_count(batch); b < members; b++) {
        const long double *rhs = ref_member(B, 2, batch, b);
        for (int64_t i = 0; i < n * m; i++) X[b * n * m + i] = rhs[i];
        eliminate(ref_member(A, 2, batch, b), n, X + b * n * m, m);
    }
}

/* L and U in one matrix, the largest element of the column as pivot */
static void lu_(ref_call *c)
{
    const ref_array *A = &c->in[0];
    int64_t n = ref_dim(A, -1);
    long double *y = ref_out(c, A->shape);
    for (int64_t o = 0; o < c->out.n; o += n * n) {
        long double *a = y + o;
        for (int64_t i = 0; i < n * n; i++) a[i] = A->x[o + i];
        for (int64_t k = 0; k < n; k++) {
            int64_t best = k;
            for (int64_t i = k; i < n; i++)
                if (fabsl(a[i * n + k]) > fabsl(a[best * n + k])) best = i;
            if (best != k) swap(a + best * n, a + k * n, n);
            for (int64_t i = k + 1; i < n; i++) {
                a[i * n + k] /= a[k * n + k];
                for (int64_t j = k + 1; j < n; j++) a[i * n + j] -= a[i * n + k] * a[k * n + j];
            }
        }
    }
}

static void log_determinant(ref_call *c, bool absolute)
{
    const ref_array *A = &c->in[0];
    int64_t n = ref_dim(A, -1);
    long double *y = ref_out(c, ref_batch(A, 2));
    for (int64_t b = 0; b < c->out.n; b++) {
        long double det = eliminate(A->x + b * n * n, n, NULL, 0);
        y[b] = logl(absolute ? fabsl(det) : det);
    }
}

/* C = A B, n×n */
static void multiply(const long double *A, const long double *B, int64_t n, long double *C)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            C[i * n + j] = 0;
            for (int64_t k = 0; k < n; k++) C[i * n + j] += A[i * n + k] * B[k * n + j];
        }
}

/* exp of 2⁻¹² A by its series, squared 12 times */
static void expm_(ref_call *c)
{
    enum { SQUARINGS = 12, TERMS = 20 };
    const ref_array *A = &c->in[0];
    int64_t n = ref_dim(A, -1);
    long double *y = ref_out(c, A->shape), *t = identity(n), *u = identity(n);
    for (int64_t o = 0; o < c->out.n; o += n * n) {
        long double *a = copy(A->x + o, n * n), *sum = y + o;
        for (int64_t i = 0; i < n * n; i++) sum[i] = t[i] = i % (n + 1) == 0, a[i] = ldexpl(a[i], -SQUARINGS);
        for (int64_t k = 1; k <= TERMS; k++) {
            multiply(t, a, n, u);
            for (int64_t i = 0; i < n * n; i++) t[i] = u[i] / k, sum[i] += t[i];
        }
        for (int k = 0; k < SQUARINGS; k++) {
            multiply(sum, sum, n, u);
            for (int64_t i = 0; i < n * n; i++) sum[i] = u[i];
        }
        free(a);
    }
    free(t), free(u);
}

static void det_(ref_call *c)
{
    const ref_array *A = &c->in[0];
    int64_t n = ref_dim(A, -1);
    long double *y = ref_out(c, ref_batch(A, 2));
    for (int64_t b = 0; b < c->out.n; b++) y[b] = eliminate(A->x + b * n * n, n, NULL, 0);
}

static void slogdet_(ref_call *c) { log_determinant(c, true); }
static void logdet_(ref_call *c) { log_determinant(c, false); }

static void inv_quad_logdet_(ref_call *c)
{
    const ref_array *K = &c->in[0], *y = &c->in[1];
    int64_t n = ref_dim(K, -1);
    ct_shape batch = ct_shape_broadcast(ref_batch(K, 2), ref_batch(y, 2));
    long double *q = ref_out(c, batch);
    for (int64_t b = 0; b < c->out.n; b++) {
        const long double *v = ref_member(y, 2, batch, b);
        long double *a = whole(ref_member(K, 2, batch, b), n, true), *alpha = copy(v, n);
        eliminate(a, n, alpha, 1);
        q[b] = 0;
        for (int64_t i = 0; i < n; i++) q[b] += v[i] * alpha[i];
        free(a);
        free(alpha);
    }
}

static ref_part lower_first(const void *attr, int input)
{
    (void)attr;
    return input == 0 ? REF_LOWER : REF_ALL;
}

const reference reference_inverses[] = {
    { .name = "inverse", .compute = inverse_, .full_rank = 1 },
    { .name = "inverse_spd", .compute = inverse_spd_, .reads = lower_first },
    { .name = "inverse_cols", .compute = inverse_cols_, .full_rank = 1 },
    { .name = "inverse_rows", .compute = inverse_rows_, .full_rank = 1 },
    { .name = "inverse_block", .compute = inverse_block_, .full_rank = 1 },
    { .name = "inverse_diag", .compute = inverse_diag_, .full_rank = 1 },
    { .name = "inverse_diag_spd", .compute = inverse_diag_spd_, .reads = lower_first },
    { .name = "solve", .compute = solve_, .full_rank = 1 },
    { .name = "lu", .compute = lu_, .full_rank = 1 },
    { .name = "expm", .compute = expm_ },
    { .name = "det", .compute = det_ },
    { .name = "slogdet", .compute = slogdet_, .full_rank = 1 },
    { .name = "logdet", .compute = logdet_, .full_rank = 1 },
    { .name = "inv_quad_logdet", .compute = inv_quad_logdet_, .reads = lower_first },
    { 0 },
};
