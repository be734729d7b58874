/* What the likelihood in mixed precision (mixed.c) is made of: C = k(X, X) + diag(noise) in f64, computed
 * again whenever it is needed, and one triangle in f32 for its factor. The ops below take theta (P), X (n, d)
 * and vectors in f64 and have no gradient. */
#ifndef CT_GP_MIXED_H
#define CT_GP_MIXED_H

#include "gp/model/model.h"

typedef enum ct__mixed_solve { CT__SOLVE_FACTOR, CT__SOLVE_FACTOR_TRANS, CT__SOLVE_BOTH } ct__mixed_solve;

/* The attribute of them all; the pointers are the caller's while the op runs. */
typedef struct ct__mixed {
    const ct_cov_program *program;
    ct_tensor *triangle; /* f32, packed (packed.h): nothing, then L, then (L Lᵀ)⁻¹ */
    ct__mixed_solve solve;
    bool X_bar;
} ct__mixed;

/* theta, X, r (n, 1), noise (n) or (1), checked: triangle = L, the factor of C rounded -> diag L (n) */
extern const ct_op ct__op_mixed_factor;
/* theta, X, noise, V (n, m) -> C V, in f64 */
extern const ct_op ct__op_mixed_product;
/* V (n, m) -> L Lᵀ V, in f64 */
extern const ct_op ct__op_mixed_gram;
/* V (n, m) -> L⁻¹ V, L⁻ᵀ V or both, in f32 */
extern const ct_op ct__op_mixed_solve;
/* theta, X, alpha (n, 1): triangle = P = (L Lᵀ)⁻¹ -> with C̄ = ½ (P - ααᵀ) the theta_bar (P), 1: diag P (n),
 * 2: X_bar (n, d) where asked for */
extern const ct_op ct__op_mixed_slopes;

/* Bytes of the strip that any of them works in. */
uint64_t ct__mixed_room(int64_t n);

#endif
