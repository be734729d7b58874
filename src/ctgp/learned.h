/* The rows of a table that a model has learned. */
#ifndef CTGP_LEARNED_H
#define CTGP_LEARNED_H

#include "ctgp.h"
#include "frame.h"
#include "source.h"

/* The model's inputs (n, d), and its targets [n]. */
double *model_inputs(ctgp *c, ct_gp *gp);
double *model_targets(ctgp *c, ct_gp *gp);
/* Parses a table and chooses the rows of the model, in the model's order, which is that of the table.
 * CODE_DATA where the table does not have all of them. */
frame frame_learned(ctgp *c, ct_gp *gp, source *t);

typedef enum fate {
    ROW_UNSEEN,
    ROW_HELD, /* held back in the fit */
    ROW_LEARNED,
} fate;

/* What the fit did with each chosen row of frame_model's. A row is learned if it agrees with one of the
 * model, in any order. Another row is held back if it is among the first rows_of_table complete ones, and
 * most of the model's rows are there. */
fate *frame_fates(ctgp *c, const frame *f, ct_gp *gp);

#endif
