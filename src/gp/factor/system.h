/* C = k(X, X) + diag(noise) = L Lᵀ and α = C⁻¹r from a kernel's program. One array holds C, then L, then
 * C⁻¹. */
#ifndef CT_GP_SYSTEM_H
#define CT_GP_SYSTEM_H

#include <cotangent/op.h>

#include "place.h"

/* k(X, X) + diag(noise) of a kernel's program. */
typedef struct ct__kernel_matrix {
    const ct_cov_program *program;
    ct_view theta, X, noise; /* (P), (n, d), (n) or (1) */
} ct__kernel_matrix;

/* B = C[row.., col..]. A block on the diagonal has row == col; with `lower` only its lower triangle. */
void ct__kernel_block(ct_call *c, const ct__kernel_matrix *C, int64_t row, int64_t col, bool lower,
                      ct_view B);

typedef struct ct__system {
    ct__kernel_matrix of;
    ct__factor C;            /* scratch                                               */
    ct_view alpha, diagonal; /* (n, p): r, then C⁻¹r;  scratch (n): the diagonal of L */
} ct__system;

/* A pivot L_ii² of at most this share of C_ii is only rounding: C is singular although its factorisation
 * succeeded. */
double ct__gp_rounding(ct_dtype dtype);
/* Prepares ct__system_solve: `alpha` (n, p), of contiguous columns, becomes r, which has as many elements.
 * On a grid p is 1, and the functions below are collective. in: theta, X, r, noise. If `square`, a small
 * matrix is stored as a square. */
ct__system ct__system_of(ct_call *c, const ct_cov_program *program, const ct_view in[4], ct_view alpha,
                         bool square, ct__grid grid);
/* Builds C and factorises it: the matrix becomes L, or, with `inverse`, C⁻¹; alpha and diagonal are filled.
 * False if a failure is known or the call has failed; the outputs are then undefined. If a failure becomes
 * known only later, alpha is NaN. */
bool ct__system_solve(ct_call *c, const ct__system *s, bool inverse);
/* With C̄ = weight (M - uuᵀ), where the matrix holds M, as a rule C⁻¹:
 *     theta_bar_p = Σ_ij C̄_ij ∂k_ij/∂theta_p,  X_bar_i = 2 Σ_j C̄_ij ∂k(x_i, x_j)/∂x_i
 * No view for u (n): zero; for X_bar: not wanted. On a grid the weight is ½ and u is α. */
void ct__system_contract(ct_call *c, const ct__system *s, double weight, ct_view u, ct_view theta_bar,
                         ct_view X_bar);

/* The contraction of ct__system_contract, with the symmetric M given block by block: the blocks on its
 * diagonal, and those on one side of it. */
typedef struct ct__slopes {
    const ct__kernel_matrix *of;
    ct_view u; /* (n); no view: zero */
    double weight;
    ct_view theta_bar, X_bar; /* (P), (n, d); no view for X_bar: not wanted */
} ct__slopes;

/* theta_bar = 0, X_bar = 0 */
void ct__slopes_clear(ct_call *c, const ct__slopes *s);
/* Adds the block M[row.., col..]. An off-diagonal block counts twice. A diagonal block has row == col, and
 * only its lower triangle is read. */
void ct__slopes_add(ct_call *c, const ct__slopes *s, ct_view M, int64_t row, int64_t col);

#endif
