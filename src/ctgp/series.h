/* The rows of a model of one feature, in its order. */
#ifndef CTGP_SERIES_H
#define CTGP_SERIES_H

#include "ctgp.h"
#include "spacing.h"

typedef struct series {
    int64_t n;
    double *x, *y; /* [n], x ascending */
    int64_t *row;  /* [n], of the model */
    spacing space;
    double period; /* of the model's season, in units of x; 0: it has none */
} series;

/* Fails for a model of several features, of a category, or of rows that are all at one place. */
series series_of(ctgp *c, ct_gp *gp);

#endif
