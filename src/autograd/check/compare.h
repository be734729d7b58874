/* The comparisons that make a gradcheck, at one point. */
#ifndef CT_AUTOGRAD_COMPARE_H
#define CT_AUTOGRAD_COMPARE_H

#include "check.h"
#include "report.h"

/* What is computed once at x, and the curves that are followed from there. */
typedef struct ct__point {
    double *c, *v;                             /* M, N: a cotangent, a direction                 */
    double *x_bar, *h_x, *h_c;                 /* N, N, M: the first and the second derivatives  */
    const double *along, *cotangent_along;     /* N, M: the curve x + t along, c + t ...         */
    double *moved_x, *moved_y, *moved_c, *bar; /* N, M, M, N: work                               */
} ct__point;

/* The cotangent, the direction and the first gradient. */
bool ct__point_take(ct__check *k, ct__point *p);
/* Every comparison with differences; false where the check has failed. */
bool ct__compare_all(ct__check *k, ct__report *r, double tolerance, ct__point *p);
/* The sweeps in f32, against those in f64 from the same numbers. */
bool ct__compare_f32(ct__check *k, ct__report *r, double tolerance, const ct__point *reference);

#endif
