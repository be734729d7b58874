/* What missing cells cost. */
#ifndef CTGP_MISSING_H
#define CTGP_MISSING_H

#include "frame.h"

/* If rows are not chosen, prints `text` on standard error with their number and that of all rows, and the
 * columns whose values are missing; and where one of `cols` [n], those of features, costs a tenth of the
 * rows, what keeps them. */
void print_missing(ctgp *c, const frame *f, const int64_t *cols, int64_t n, const char *text);

#endif
