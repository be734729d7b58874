#include "reference.h"

#include <math.h>
#include <stdlib.h>

static ct_shape with_matrix(ct_shape batch, int64_t rows, int64_t cols)
{
    return ref_append(batch, 2, (int64_t[]){ rows, cols });
}

/* X with G X = B in place of B (n×k), G n×n overwritten: elimination with row exchanges */
static void eliminate(long double *G, int64_t n, long double *B, int64_t k)
{
    for (int64_t j = 0; j < n; j++) {
        int64_t pivot = j;
        for (int64_t i = j + 1; i < n; i++)
            if (fabsl(G[i * n + j]) > fabsl(G[pivot * n + j])) pivot = i;
        for (int64_t c = 0; c < n + k && pivot != j; c++) {
            long double *a = c < n ? &G[j * n + c] : &B[j * k + c - n],
                        *b = c < n ? &G[pivot * n + c] : &B[pivot * k + c - n], kept = *a;
            *a = *b;
            *b = kept;
        }
        for (int64_t i = 0; i < n; i++) {
            if (i == j) continue;
            long double f = G[i * n + j] / G[j * n + j];
            for (int64_t c = j; c < n; c++) G[i * n + c] -= f * G[j * n + c];
            for (int64_t c = 0; c < k; c++) B[i * k + c] -= f * B[j * k + c];
        }
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < k; c++) B[i * k + c] /= G[i * n + i];
}

/* G += a MᵀM, M rows×n */
static void add_gram(long double *G, long double a, const long double *M, int64_t rows, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t l = 0; l < rows; l++) G[i * n + j] += a * M[l * n + i] * M[l * n + j];
}

static long double *zeros(int64_t n)
{
    long double *x = calloc((size_t)n + 1, sizeof *x);
    if (!x) abort();
    return x;
}

static void lstsq_(ref_call *c)
{
    const ref_array *A = &c->in[0], *B = &c->in[1];
    int64_t m = ref_dim(A, -2), n = ref_dim(A, -1), k = ref_dim(B, -1);
    ct_shape batch = ct_shape_broadcast(ref_batch(A, 2), ref_batch(B, 2));
    long double *X = ref_out(c, with_matrix(batch, n, k)), *G = zeros(n * n);
    for (int64_t b = 0, members = ct_shape_count(batch); b < members; b++) {
        const long double *a = ref_member(A, 2, batch, b), *rhs = ref_member(B, 2, batch, b);
        long double *x = X + b * n * k;
        for (int64_t i = 0; i < n * n; i++) G[i] = 0;
        add_gram(G, 1, a, m, n);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < k; j++) {
                x[i * k + j] = 0;
                for (int64_t l = 0; l < m; l++) x[i * k + j] += a[l * n + i] * rhs[l * k + j];
            }
        eliminate(G, n, x, k);
    }
    free(G);
}

/* Q by Gram and Schmidt, each column twice. */
static void qr_(ref_call *c)
{
    const ref_array *A = &c->in[0];
    int64_t m = ref_dim(A, -2), n = ref_dim(A, -1), r = m < n ? m : n;
    long double *Q = ref_out(c, with_matrix(ref_batch(A, 2), m, r));
    for (int64_t b = 0, members = ct_shape_count(ref_batch(A, 2)); b < members; b++)
        for (int64_t j = 0; j < r; j++) {
            long double *q = Q + b * m * r + j, norm = 0;
            for (int64_t i = 0; i < m; i++) q[i * r] = A->x[(b * m + i) * n + j];
            for (int64_t pass = 0; pass < 2 * j; pass++) {
                const long double *p = Q + b * m * r + pass % j;
                long double dot = 0;
                for (int64_t i = 0; i < m; i++) dot += p[i * r] * q[i * r];
                for (int64_t i = 0; i < m; i++) q[i * r] -= dot * p[i * r];
            }
            for (int64_t i = 0; i < m; i++) norm += q[i * r] * q[i * r];
            for (int64_t i = 0; i < m; i++) q[i * r] /= sqrtl(norm);
        }
}

static void ridge_solve_(ref_call *c)
{
    const ref_array *B = &c->in[0], *D = &c->in[1], *lambda = &c->in[2];
    int64_t r = ref_dim(B, -2), n = ref_dim(B, -1), m = ref_dim(D, -2);
    ct_shape batch = ct_shape_broadcast(ref_batch(B, 2), ref_batch(D, 2));
    batch = ct_shape_broadcast(batch, lambda->shape);
    long double *P = ref_out(c, with_matrix(batch, n, r)), *G = zeros(n * n);
    for (int64_t b = 0, members = ct_shape_count(batch); b < members; b++) {
        const long double *x = ref_member(B, 2, batch, b);
        for (int64_t i = 0; i < n * n; i++) G[i] = 0;
        add_gram(G, 1, x, r, n);
        add_gram(G, *ref_member(lambda, 0, batch, b), ref_member(D, 2, batch, b), m, n);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < r; j++) P[(b * n + i) * r + j] = x[j * n + i];
        eliminate(G, n, P + b * n * r, r);
    }
    free(G);
}

const reference reference_least_squares[] = {
    { .name = "qr", .compute = qr_, .full_rank = 1 },
    { .name = "lstsq", .compute = lstsq_, .full_rank = 1 },
    { .name = "ridge_solve", .compute = ridge_solve_, .full_rank = 3 },
    { 0 },
};
