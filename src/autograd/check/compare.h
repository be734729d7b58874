/* The comparisons of a gradcheck at one point. */
#ifndef CT_AUTOGRAD_COMPARE_H
#define CT_AUTOGRAD_COMPARE_H

#include "check.h"
#include "report.h"

/* What is computed once at x, and the curves that start there. */
typedef struct ct__point {
    double *c, *v;                             /* M, N: a cotangent, a direction                */
    double *x_bar, *h_x, *h_c;                 /* N, N, M: the first and the second derivatives */
    const double *along, *cotangent_along;     /* N, M: the curve x + t along, c + t ...        */
    double *moved_x, *moved_y, *moved_c, *bar; /* N, M, M, N: work                              */
} ct__point;

/* Draws the cotangent and the direction, and computes the first gradient. */
bool ct__point_take(ct__check *k, ct__point *p);
/* Makes every comparison with differences. Returns false if the check has failed. */
bool ct__compare_all(ct__check *k, ct__report *r, double tolerance, ct__point *p);
/* Compares the sweeps in f32 with those in f64 from the same numbers. */
bool ct__compare_f32(ct__check *k, ct__report *r, double tolerance, const ct__point *reference);

#endif
