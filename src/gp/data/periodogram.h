/* The periodogram of a series with a trend. */
#ifndef CT_GP_PERIODOGRAM_H
#define CT_GP_PERIODOGRAM_H

#include <stdint.h>

/* A series and its residual r beside a basis: a trend, and perhaps waves. */
typedef struct ct__series {
    int64_t n;
    int columns;     /* of the basis */
    const double *t; /* [n], times from 0 to 1 */
    double *r;       /* [n], the series minus its projection on the basis */
    double *q;       /* [columns][n], orthonormal, with room for further columns */
    double *wave;    /* [4][n], workspace */
} ct__series;

/* Adds v (n), at q[columns], to the basis unless the basis spans it, and updates r. Overwrites v. */
void ct__series_join(ct__series *s);
/* power[k] = 1 - |r - its fit|² / |r|² for the best basis + a cos ωt + b sin ωt with ω = 2π (first + k step),
 * k < m; 0 if the basis spans the wave, or nothing is left of r.
 *     c, s: cos ωt and sin ωt without the basis,   Y_c = Σ r c, ..., C = Σ c², S = Σ s², X = Σ c s
 *     power = (S Y_c² + C Y_s² - 2 X Y_c Y_s) / (C S - X²) |r|²      [Zechmeister & Kürster 2009, eqs 4-5]
 * where theirs has a constant as the basis. */
void ct__periodogram(const ct__series *s, double first, double step, int64_t m, double *power);

#endif
