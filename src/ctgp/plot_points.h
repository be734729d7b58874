/* ctgp plot: rows of the table as points, which the model learned, which the fit held back, or neither. */
#ifndef CTGP_PLOT_POINTS_H
#define CTGP_PLOT_POINTS_H

#include "plot_page.h"

enum { FATES = ROW_LEARNED + 1 };
/* By fate: the block of the script, and the name of its colour. */
extern const char *const block_of[FATES];

typedef struct points {
    int64_t n;
    fate *fates;        /* [n] */
    double *x, *y;      /* [n] */
    double *low, *high; /* the ends of a bar, or a third value */
} points;

/* The rows of the page, whose y is their target, and room for more, which are learned ones. All else is NaN.
 */
points points_make(page *g, int64_t more);
/* Writes the data blocks $learned, $held and $others, low and high by axis z. A row that is not finite is
 * left out. */
void points_write(page *g, const points *q, const axis *x, const axis *y, const axis *z);
/* Writes their part of the plot command, which begins with ", ". */
void points_plot(page *g, const points *q, bool bars);

#endif
