/* ctgp plot: an axis. */
#ifndef CTGP_PLOT_AXIS_H
#define CTGP_PLOT_AXIS_H

#include <math.h>

#include "ctgp.h"
#include "slice.h"

/* Gnuplot loses digits of numbers that are nearly equal, or very large or small. It is sent shares of the
 * axis, in 0..1, and the tics with their labels. */
typedef struct axis {
    double lo, hi; /* their logs on a logarithmic axis */
    bool log;
    const span *of; /* an input, whose times have dates and whose levels have names; NULL: numbers */
} axis;

static const axis empty_axis = { INFINITY, -INFINITY, false, NULL };

/* Extends the axis to a value that is finite. */
void cover(axis *a, double value);
/* Extends the axis by shares of its length. */
void widen(axis *a, double below, double above);
double share(const axis *a, double value);
/* The axis of an input in the table. One that has levels has them at 0, 1, 2, ... */
axis span_axis(const span *of);
/* The axis of a target on its own scale, on which it is drawn: logarithmic if the model learns its log. */
axis target_axis(const ct_gp *gp);

#endif
