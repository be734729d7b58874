/* ctgp plot: a curve, the middle of a prediction and the ends of its interval. */
#ifndef CTGP_PLOT_BAND_H
#define CTGP_PLOT_BAND_H

#include <stdio.h>

#include "ctgp.h"
#include "plot_axis.h"

/* At points of one input: the middle of a distribution, and the ends of its 95 % interval. */
typedef struct curve {
    int64_t n;
    double *x, *middle, *low, *high; /* [n]; the last three once they are predicted */
} curve;

curve curve_make(ctgp *c, int64_t n);
/* The place of point i of n between 0 and 1, at irregular distances: equal ones could show a slow wave that
 * is not there. */
double irregular(int64_t i, int64_t n);
/* Predicts with the noise or without; `inputs` (n, d). */
void curve_predict(ctgp *c, curve *of, ct_gp *gp, const double *inputs, bool noise);
/* Extends an axis to the band. */
void cover_band(axis *y, const curve *of);
/* Writes the data block of that name. */
void curve_write(FILE *script, const char *block, const curve *of, const axis *x, const axis *y);
/* "median" if the target is transformed, else "mean". */
const char *middle_name(const ct_gp *gp);

#endif
