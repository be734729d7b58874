/* Solves with a distributed factor. */
#ifndef CT_GP_GRID_SOLVE_H
#define CT_GP_GRID_SOLVE_H

#include "factor.h"

/* B (m, n - first), equal on all processes, is replaced by B L⁻ᵀ or, with `trans`, B L⁻¹, for the rows and
 * columns of L from `first` on. `first` is a multiple of b, and 0 with `trans`. */
void ct__grid_solve(ct_call *c, const ct__factor *L, bool trans, int64_t first, ct_view B);

#endif
