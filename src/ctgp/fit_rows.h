/* ctgp fit: the rows that it learns. */
#ifndef CTGP_FIT_ROWS_H
#define CTGP_FIT_ROWS_H

#include "ctgp.h"
#include "fit_columns.h"
#include "fit_options.h"
#include "frame.h"

/* Chooses the rows, holds some back, and refuses data of which no model can be made. With `missing` a row
 * needs the value of one of the targets only. Returns the number of complete rows if the model does not learn
 * them all, else 0. */
int64_t fit_choose_rows(ctgp *c, const settings *s, learned *t, int64_t targets, bool missing, frame *h);

#endif
