/* ctgp plot: what its files share. */
#ifndef CTGP_PLOT_H
#define CTGP_PLOT_H

#include "ctgp.h"

#include <math.h>

/* -- plot_gnuplot.c -- */

/* Writes a text as a string of gnuplot's: a control character as a blank, all others as they are. */
void quote(FILE *out, const char *text);
/* The same for the label of a tic. */
void quote_tic(FILE *out, const char *text);
/* A text, or if it has more than `most` bytes its beginning and an ellipsis. */
const char *shortened(ctgp *c, const char *text, size_t most);
/* `below` (may be empty) stands below the title. If panels > 1, that many lie beside and below each other. */
void write_header(FILE *script, bool png, const char *title, const char *below, int64_t panels);
/* Runs gnuplot on a script, and returns the picture that it writes. */
memory_file *run_gnuplot(ctgp *c, const memory_file *script);

/* -- plot_axis.c -- */

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

/* -- plot_points.c: rows of the table as points -- */

typedef struct points {
    int64_t n;
    const fate *fates;  /* [n] */
    double *x, *y;      /* [n] */
    double *low, *high; /* the ends of a bar; y for no bar */
} points;

/* All values NaN. */
points points_make(ctgp *c, int64_t n, const fate *fates);
/* Writes the data blocks $learned, $held and $others. A row that is not finite is left out. */
void points_write(FILE *script, const points *q, const axis *x, const axis *y);
/* How many of the blocks have points, and so a line in the key. */
int points_kinds(const points *q);
/* Writes their part of the plot command, which begins with ", "; with or without bars and key. */
void points_plot(FILE *script, const points *q, bool bars, bool key);

/* -- plot_band.c: a curve with its band -- */

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

/* -- plot_curve.c: one input -- */

void write_curve(ctgp *c, FILE *script, ct_gp *gp, const prediction *p, const fate *fates);

/* -- plot_many.c, plot_effects.c: several inputs -- */

void write_scatter(ctgp *c, FILE *script, ct_gp *gp, const prediction *p, const fate *fates);

/* Panels of the effect of each input, at most MOST_EFFECTS, chosen by the range of the mean. */
enum { MOST_EFFECTS = 25 };
void write_effects(ctgp *c, FILE *script, ct_gp *gp, const prediction *p);

#endif
