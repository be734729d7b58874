/* ctgp plot: what its files share. */
#ifndef CTGP_PLOT_H
#define CTGP_PLOT_H

#include "ctgp.h"

#include <math.h>

/* -- plot_gnuplot.c -- */

/* 'text' in single quotes. */
void quote(FILE *out, const char *text);
void write_header(FILE *script, const char *picture, bool png, const char *title);
int run_gnuplot(const char *script);

/* -- plot_axis.c -- */

/* Gnuplot loses digits of numbers that are nearly equal, or very large or small. It is sent shares of the
 * axis, in 0..1, and the tics with their labels. */
typedef struct axis {
    double lo, hi;
} axis;

static const axis empty_axis = { INFINITY, -INFINITY };

/* Extends the axis to the value, where that is finite. */
void cover(axis *a, double value);
/* Adds shares of its length at the ends. */
void widen(axis *a, double below, double above);
double share(const axis *a, double value);
/* The range, tics and label of axis `which`, 'x' or 'y'. */
int write_axis(FILE *script, char which, const axis *a, const char *name, const char *suffix);

/* -- plot_curve.c, plot_many.c: the data and the plot of a script -- */

int write_curve(FILE *script, ct_gp *gp, const prediction *p);
int write_scatter(FILE *script, const ct_gp *gp, const prediction *p);

#endif
