/* Which rows are left out together. */
#ifndef CTGP_FOLDS_H
#define CTGP_FOLDS_H

#include "ctgp.h"
#include "frame.h"

/* [n]: 0, ..., n - 1 in an order that the seed draws; another stream gives an independent one. */
int64_t *rows_shuffled(ctgp *c, int64_t n, uint64_t seed, uint64_t stream);
/* [n]: numbers 0, ..., count - 1, drawn by the seed; how often each occurs differs by one at most. */
int64_t *folds_drawn(ctgp *c, int64_t n, int64_t count, uint64_t seed);
/* One for each text of the column in the chosen rows; *count: how many. */
int64_t *folds_by(ctgp *c, const frame *f, const char *column, int64_t *count);

#endif
