/* The losses of rows, and their score. */
#ifndef CTGP_SCORE_H
#define CTGP_SCORE_H

#include <math.h>

#include "ctgp.h"
#include "model.h"
#include "result.h"

/* Of a row: the target, squared error, minus the log density, and how many standard deviations lie between,
 * as z. NaN where the target has no value. */
typedef struct row_loss {
    double y, square, nlpd, sigmas;
} row_loss;

static const row_loss no_loss = { NAN, NAN, NAN, NAN };

/* Over the rows with a target. */
typedef struct score {
    int64_t n;
    double rmse, r2;              /* 1 - sum of squared errors / that of the rows' own mean */
    double mae, nlpd, coverage95; /* the share of z within 1.96 standard deviations */
} score;

score score_of(const row_loss *l, int64_t rows);
/* Of each chosen row. */
row_loss *prediction_losses(ctgp *c, const prediction *p);
score prediction_score(ctgp *c, const prediction *p);
/* The line n=20 rmse=0.1 ..., or these fields of JSON. */
void write_score(writer *w, score s);

/* 97.5 % quantile of the standard normal */
#define Z95 1.959963984540054

#endif
