/* The model of all contenders of `./run bench mpi`, and their clock: f of covariance 1.3 exp(-½ r²), r² = Σ
 * ((x_j - z_j) / 0.7)², noise of variance 0.1, and the rows that mll.c draws. */
#ifndef RANKS_H
#define RANKS_H

#include <math.h>
#include <stdlib.h>
#include <time.h>

enum { RANKS_D = 8 };
#define RANKS_KERNEL "scale(1.3) * rbf(ard, lengthscale=0.7)"
static const double ranks_variance = 1.3, ranks_lengthscale = 0.7, ranks_noise = 0.1;

/* X (n, RANKS_D), then y (n); NULL without memory. Free with free. */
static inline double *ranks_data(int n)
{
    static const double prime[RANKS_D] = { 2, 3, 5, 7, 11, 13, 17, 19 };
    double *X = malloc((size_t)n * (RANKS_D + 1) * sizeof *X), *y = X + (size_t)n * RANKS_D;
    for (size_t i = 0; X && i < (size_t)n; i++) {
        for (size_t j = 0; j < RANKS_D; j++) X[i * RANKS_D + j] = fmod((double)(i + 1) * sqrt(prime[j]), 1);
        y[i] = sin(6 * X[i * RANKS_D]) + X[i * RANKS_D + 1] + 0.1 * sin(1000 * (double)(i + 1));
    }
    return X;
}

static inline double ranks_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
