/* ctgp plot: rows of the table as points, which the model learned, which the fit held back, or neither. */
#ifndef CTGP_PLOT_POINTS_H
#define CTGP_PLOT_POINTS_H

#include <stdio.h>

#include "ctgp.h"
#include "learned.h"
#include "plot_axis.h"

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

#endif
