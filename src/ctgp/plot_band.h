/* ctgp plot: a prediction over one input, as a curve with its interval, or as bars of levels. */
#ifndef CTGP_PLOT_BAND_H
#define CTGP_PLOT_BAND_H

#include "plot_page.h"

/* Over input j. */
typedef struct band {
    side at;      /* n = 0: nothing is drawn */
    prediction p; /* there */
} band;

/* Predicts all levels, or values from lo to hi, at as many points as the kernel asks for. If they are too
 * many for so many pixels, nothing is drawn, and the header says so. */
band band_make(page *g, int64_t j, double lo, double hi, double pixels, bool noise);
/* Extends an axis to the ends of its 95 % interval. */
void band_cover(axis *y, const band *b);
/* Writes the data block `name`. */
void band_write(page *g, const char *name, const band *b, const axis *x, const axis *y);
/* Writes their parts of the plot command, which begin with ", ": the interval, and what lies over it. */
void band_plot_interval(page *g, const char *name, const band *b);
void band_plot_middle(page *g, const char *name, const band *b);
/* "median" if the target is transformed, else "mean". */
const char *middle_name(const ct_gp *gp);

#endif
