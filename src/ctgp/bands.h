/* The columns of a prediction: mean, standard deviation, intervals and quantiles. */
#ifndef CTGP_BANDS_H
#define CTGP_BANDS_H

#include "ctgp.h"
#include "model.h"
#include "open.h"
#include "table.h"

/* Column `name` is the quantile that is z for a standard normal. */
typedef struct band {
    double z;
    char name[40];
} band;

typedef struct bands {
    band *at; /* [n] */
    int64_t n;
} bands;

/* The ends of the interval of each level, and the quantiles, of --level and --quantiles; either may be
 * NULL. */
bands read_bands(ctgp *c, const char *levels, const char *quantiles);
/* Adds the columns of each output: mean, std, with a transform median, and the bands. Those of several
 * outputs begin with the output's name. */
void add_outputs(ctgp *c, sheet *to, const model_file *m, const prediction *p, const bands *b);

#endif
