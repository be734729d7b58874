/* Where a matrix lies: on a grid of processes, or without one in memory. */
#ifndef CT_GP_PLACE_H
#define CT_GP_PLACE_H

#include "factor.h"

/* Rows up to which a new matrix may be a square: one block instead of three. */
enum { CT__SQUARE = 600 };

/* The factor in these numbers, packed or tiles. */
ct__factor ct__factor_of(const ct__grid *grid, ct_view numbers, int64_t n);
/* A new matrix in scratch memory; if `square`, a small one is stored as a square. */
ct__factor ct__factor_new(ct_call *c, const ct__grid *grid, int64_t n, ct_dtype dtype, bool square);

#endif
