/* The likelihood and its gradient in quadruple precision, in the plainest way. */
#ifndef TESTS_QUAD_NLML_H
#define TESTS_QUAD_NLML_H

#include "quad.h"

#ifdef QUAD

#    include <stdlib.h>

typedef enum quad_profile { QUAD_RBF, QUAD_MATERN32 } quad_profile;

/* k = theta_0 profile(r), r² = Σ_d (x_d - z_d)² / theta_{1+d}², and slope = (dk/dr) / r. */
static inline quad quad_kernel(quad_profile p, const double *theta, int d, const double *x, const double *z,
                               quad *slope)
{
    quad square = 0;
    for (int j = 0; j < d; j++) {
        quad t = ((quad)x[j] - z[j]) / theta[1 + j];
        square += t * t;
    }
    if (p == QUAD_RBF) {
        quad k = theta[0] * quad_exp(-square / 2);
        *slope = -k;
        return k;
    }
    quad root = quad_sqrt(3 * square), e = theta[0] * quad_exp(-root);
    *slope = -3 * e;
    return (1 + root) * e;
}

/* ½ rᵀC⁻¹r + ½ log det C + n/2 log 2π for C = k(X, X) + noise; gradients in theta (1 + d), noise, r (n) and X
 * (n, d), one after the other. */
static inline double quad_nlml(quad_profile p, const double *theta, int d, const double *X, const double *r,
                               int n, double noise, double *gradient)
{
    size_t square = (size_t)n * (size_t)n;
    quad *L = malloc((4 * square + (size_t)(n + 2 + d + n * d)) * sizeof *L), *slope = L + square;
    quad *W = slope + square, *K = W + square, *alpha = K + square, *bar = alpha + n;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            K[i * n + j] = quad_kernel(p, theta, d, X + i * d, X + j * d, &slope[i * n + j]);
    for (size_t i = 0; i < square; i++) L[i] = 0, W[i] = 0;
    const quad log_2pi = QUAD(1.83787706640934548356065947281123527);
    quad value = n * log_2pi / 2;
    for (int i = 0; i < n; i++) /* C = L Lᵀ */
        for (int j = 0; j <= i; j++) {
            quad s = K[i * n + j] + (i == j ? (quad)noise : 0);
            for (int k = 0; k < j; k++) s -= L[i * n + k] * L[j * n + k];
            L[i * n + j] = i == j ? quad_sqrt(s) : s / L[j * n + j];
            if (i == j) value += quad_log(s) / 2;
        }
    for (int c = 0; c < n; c++) /* W = L⁻¹ */
        for (int i = c; i < n; i++) {
            quad s = i == c;
            for (int k = c; k < i; k++) s -= L[i * n + k] * W[k * n + c];
            W[i * n + c] = s / L[i * n + i];
        }
    quad *inverse = L; /* WᵀW; L is done with */
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            quad s = 0;
            for (int k = i; k < n; k++) s += W[k * n + i] * W[k * n + j];
            inverse[i * n + j] = inverse[j * n + i] = s;
        }
    for (int i = 0; i < n; i++) {
        alpha[i] = 0;
        for (int j = 0; j < n; j++) alpha[i] += inverse[i * n + j] * r[j];
        value += alpha[i] * r[i] / 2;
    }
    for (int i = 0; i < 2 + d + n * d; i++) bar[i] = 0;
    quad *X_bar = bar + 2 + d;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            quad C_bar = (inverse[i * n + j] - alpha[i] * alpha[j]) / 2;
            bar[0] += C_bar * K[i * n + j] / theta[0];
            if (i == j) bar[1 + d] += C_bar;
            for (int k = 0; k < d; k++) {
                quad t = ((quad)X[i * d + k] - X[j * d + k]) / ((quad)theta[1 + k] * theta[1 + k]);
                quad x_bar = 2 * C_bar * slope[i * n + j] * t;
                X_bar[i * d + k] += x_bar;
                bar[1 + k] -=
                    C_bar * slope[i * n + j] * t * ((quad)X[i * d + k] - X[j * d + k]) / theta[1 + k];
            }
        }
    for (int i = 0; i < 2 + d; i++) gradient[i] = (double)bar[i];
    for (int i = 0; i < n; i++) gradient[2 + d + i] = (double)alpha[i];
    for (int i = 0; i < n * d; i++) gradient[2 + d + n + i] = (double)X_bar[i];
    free(L);
    return (double)value;
}

#endif
#endif
