/* Appends rows to a packed factor. */
#ifndef CT_GP_PACKED_APPEND_H
#define CT_GP_PACKED_APPEND_H

#include "factor.h"

/* From L (n, n) packed and the kernel at X = [X1; X2] (n + k, d), sets `to` (n + k, n + k), packed, to
 *     [ L    ]   B = k(X2, X1) L⁻ᵀ,   S Sᵀ = k(X2, X2) + diag(noise) - B Bᵀ;   noise (k) or (1)
 *     [ B  S ] */
void ct__packed_append(ct_call *c, const ct_cov_program *program, ct_view theta, ct_view X, ct_view noise,
                       const ct__factor *L, const ct__packed *to);

#endif
