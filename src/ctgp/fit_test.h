/* ctgp fit: rows that are held back, and the model's score on them. */
#ifndef CTGP_FIT_TEST_H
#define CTGP_FIT_TEST_H

#include "ctgp.h"
#include "fit_columns.h"
#include "fit_options.h"
#include "frame.h"
#include "score.h"

/* Moves rows of the table, which the model does not learn and is scored on, to *h, and says so on standard
 * error. */
void fit_hold_rows(ctgp *c, const settings *s, frame *f, frame *h);
/* Fails if a model of the table's rows cannot be scored on the rows that are held back. */
void fit_check_held(ctgp *c, const settings *s, const learned *t, const frame *h);
/* The model's score on them; n = 0 where there are none. */
score fit_score(ctgp *c, const learned *t, const frame *h, ct_gp *gp);

#endif
