/* ctgp plot: an axis and its tics. */
#ifndef CTGP_PLOT_AXIS_H
#define CTGP_PLOT_AXIS_H

#include <math.h>
#include <stdio.h>

#include "ctgp.h"

/* Gnuplot loses digits of numbers that are nearly equal, or very large or small. It is sent shares of the
 * axis, in 0..1, and the tics with their labels. */
typedef struct axis {
    double lo, hi;
} axis;

static const axis empty_axis = { INFINITY, -INFINITY };

/* Extends the axis to a value that is finite. */
void cover(axis *a, double value);
/* Extends the axis by shares of its length. */
void widen(axis *a, double below, double above);
double share(const axis *a, double value);
/* Writes the range, about `most` tics and the label of axis `which`, 'x' or 'y'. */
void write_axis(ctgp *c, FILE *script, char which, const axis *a, int most, const char *name,
                const char *suffix);
/* The axis of an input with values in [lo, hi]; of a category it has all levels, at 0, 1, 2, ... */
axis column_axis(const ct_column *column, double lo, double hi);
/* The same for an input as x: a time has dates, a category the names of its levels. */
void write_column_axis(ctgp *c, FILE *script, const axis *a, int most, const ct_column *column);

#endif
