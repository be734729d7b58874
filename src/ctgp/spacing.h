/* The spacing of a series, and its next rows. */
#ifndef CTGP_SPACING_H
#define CTGP_SPACING_H

#include "ctgp.h"

typedef struct spacing {
    double step; /* between rows: in units of the column, or about that for months */
    int months;  /* calendar months between rows, 0 where the step is constant */
    bool at_end; /* each row is the last day of its month */
    bool even;   /* the rows have this spacing, all but those that are missing or repeated */
} spacing;

/* Of the values x [n], n >= 2, in ascending order, some of them different. */
spacing spacing_of(ctgp *c, const double *x, int64_t n, bool time);
/* The value `count` rows after x. */
double spacing_next(const spacing *s, double x, int64_t count);

#endif
