/* Rows as predicted from the others. */
#ifndef CTGP_LOO_H
#define CTGP_LOO_H

#include "ctgp.h"
#include "score.h"

typedef struct left_out {
    int64_t n;
    double *mean, *std; /* of y */
    row_loss *loss;
} left_out;

/* Every row of the model as predicted from the rows of other folds; fold = NULL: from all others. */
left_out left_out_make(ctgp *c, ct_gp *gp, const int64_t *fold);
/* The same, with the status of the model instead of a failure. */
ct_status left_out_read(ctgp *c, left_out *l, ct_gp *gp, const int64_t *fold);

#endif
