/* Solutions with a packed factor. Right-hand sides are rows. */
#ifndef CT_GP_PACKED_SOLVE_H
#define CT_GP_PACKED_SOLVE_H

#include "packed.h"

/* B (m, n - first) = B L⁻ᵀ, or B L⁻¹, with the rows and columns of L from `first` on. */
void ct__packed_solve(ct_call *c, const ct__packed *L, int64_t first, ct_view B);
void ct__packed_solve_trans(ct_call *c, const ct__packed *L, int64_t first, ct_view B);

#endif
