/* Ridge solves with chosen conditions, and their answers in quadruple precision. */
#ifndef TESTS_RIDGE_PROBLEM_H
#define TESTS_RIDGE_PROBLEM_H

#include "check.h"
#include "quad.h"

#include <cotangent/cotangent.h>

enum { R = 6, N = 20 };

/* -- the reference: P and its derivatives along (dB, dD, dλ), by elimination ----------------------------- */

/* X with G X = B in place of B (n×k), G n×n overwritten. */
static void eliminate(quad *G, quad *B, int k)
{
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++) { /* G is positive definite: no exchanges */
            if (i == j) continue;
            quad f = G[i * N + j] / G[j * N + j];
            for (int c = j; c < N; c++) G[i * N + c] -= f * G[j * N + c];
            for (int c = 0; c < k; c++) B[i * k + c] -= f * B[j * k + c];
        }
    for (int i = 0; i < N; i++)
        for (int c = 0; c < k; c++) B[i * k + c] /= G[i * N + i];
}

/* G += a (MᵀK + KᵀM)/2 */
static void add_gram(quad *G, quad a, const double *M, const double *K, int rows)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int l = 0; l < rows; l++)
                G[i * N + j] +=
                    a / 2 * ((quad)M[l * N + i] * K[l * N + j] + (quad)K[l * N + i] * M[l * N + j]);
}

typedef struct problem {
    int m;                           /* rows of D */
    double B[R * N], *D, lambda;     /* D m×n     */
    double dB[R * N], *dD, d_lambda; /* a direction */
    double P_bar[N * R];
    quad P[N * R], dP[N * R], ddP[N * R];
} problem;

static void solve(problem *p)
{
    quad G[N * N] = { 0 }, copy[N * N], dG[N * N] = { 0 }, ddG[N * N] = { 0 };
    add_gram(G, 1, p->B, p->B, R);
    add_gram(G, p->lambda, p->D, p->D, p->m);
    add_gram(dG, 2, p->B, p->dB, R);
    add_gram(dG, 2 * (quad)p->lambda, p->D, p->dD, p->m);
    add_gram(dG, p->d_lambda, p->D, p->D, p->m);
    add_gram(ddG, 2, p->dB, p->dB, R);
    add_gram(ddG, 2 * (quad)p->lambda, p->dD, p->dD, p->m);
    add_gram(ddG, 4 * (quad)p->d_lambda, p->D, p->dD, p->m);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < R; j++) p->P[i * R + j] = p->B[j * N + i];
    for (int i = 0; i < N * N; i++) copy[i] = G[i];
    eliminate(copy, p->P, R);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < R; j++) {
            p->dP[i * R + j] = p->dB[j * N + i];
            for (int l = 0; l < N; l++) p->dP[i * R + j] -= dG[i * N + l] * p->P[l * R + j];
        }
    for (int i = 0; i < N * N; i++) copy[i] = G[i];
    eliminate(copy, p->dP, R);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < R; j++) { /* G d²P + 2 dG dP + d²G P = 0 */
            p->ddP[i * R + j] = 0;
            for (int l = 0; l < N; l++)
                p->ddP[i * R + j] -= 2 * dG[i * N + l] * p->dP[l * R + j] + ddG[i * N + l] * p->P[l * R + j];
        }
    eliminate(G, p->ddP, R);
}

/* -- the problems ---------------------------------------------------------------------------------------- */

static uint64_t state = 1;
static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0 - 0.5;
}

/* m×n (m >= n) with singular values from 1 down to 1/condition: Householder reflections of a diagonal. */
static void make_matrix(int m, double condition, double *D)
{
    for (int i = 0; i < m * N; i++) D[i] = 0;
    for (int i = 0; i < N; i++) D[i * N + i] = pow(condition, -(double)i / (N - 1));
    for (int side = 0; side < 2; side++)
        for (int round = 0; round < 3; round++) {
            int n = side ? N : m, others = side ? m : N, step = side ? 1 : N, other = side ? N : 1;
            double v[128], norm = 0;
            for (int i = 0; i < n; i++) v[i] = uniform(), norm += v[i] * v[i];
            for (int j = 0; j < others; j++) {
                double dot = 0;
                for (int i = 0; i < n; i++) dot += v[i] * D[i * step + j * other];
                for (int i = 0; i < n; i++) D[i * step + j * other] -= 2 * dot / norm * v[i];
            }
        }
}

static double rounded(double x, ct_dtype dtype) { return dtype == CT_F32 ? (double)(float)x : x; }

static void make_problem(problem *p, int m, double condition, double lambda, double size_of_B, ct_dtype dtype)
{
    p->m = m;
    p->lambda = rounded(lambda, dtype);
    p->D = calloc((size_t)(2 * m * N), sizeof *p->D);
    p->dD = p->D + m * N;
    assert_non_null(p->D);
    make_matrix(m, condition, p->D);
    for (int i = 0; i < m * N; i++) p->D[i] = rounded(p->D[i], dtype), p->dD[i] = rounded(uniform(), dtype);
    for (int i = 0; i < R * N; i++) {
        p->B[i] = rounded(size_of_B * uniform(), dtype);
        p->dB[i] = rounded(size_of_B * uniform(), dtype);
        p->P_bar[i] = rounded(uniform(), dtype);
    }
    p->d_lambda = rounded(p->lambda * uniform(), dtype);
    solve(p);
}

static ct_tensor *tensor(ct_device *device, ct_dtype dtype, ct_shape shape, const double *x)
{
    ct_tensor *wide = ct_from(device, CT_F64, shape, x), *t = ct_tensor_cast(wide, dtype);
    ct_release(wide);
    return t;
}

#endif
