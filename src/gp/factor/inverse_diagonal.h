/* The diagonal of an inverse, from the factor. */
#ifndef CT_GP_INVERSE_DIAGONAL_H
#define CT_GP_INVERSE_DIAGONAL_H

#include "factor.h"

/* out (n) = the diagonal of (L Lᵀ)⁻¹; n³/3 operations and a panel of scratch */
void ct__inverse_diagonal(ct_call *c, const ct__factor *L, ct_view out);
/* out_i = |row i of V|², for V (m, n) and out (m) */
void ct__row_squares(ct_call *c, ct_view V, ct_view out);

#endif
