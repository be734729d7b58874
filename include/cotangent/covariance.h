/* The primitives that evaluate a covariance kernel's program and contract its derivatives. */
#ifndef COTANGENT_COVARIANCE_H
#define COTANGENT_COVARIANCE_H

#include <cotangent/cov_program.h>
#include <cotangent/op.h>

CT_BEGIN_DECLS

/* theta (P), X (n, d) and Z (m, d) have one dtype, f64 or f32. No view for Z means Z = X: the matrix is then
 * symmetric, and white adds to its diagonal. No primitive here uses another n×m array. */

/* K_ij = k(x_i, z_j), into K (n, m) */
CT_API void ct_prim_covariance(ct_call *c, const ct_cov_program *program, ct_view theta, ct_view X, ct_view Z,
                               ct_view K);
/* K_ij = k(x_i, x_j) for j <= i. The strict upper triangle of K (n, n) is neither read nor written. */
CT_API void ct_prim_covariance_lower(ct_call *c, const ct_cov_program *program, ct_view theta, ct_view X,
                                     ct_view K);
/* Given K_bar (n, m):
 *     theta_bar_p = Σ_ij K_bar_ij ∂K_ij/∂theta_p,  X_bar_id = Σ_j K_bar_ij ∂k(x_i, z_j)/∂x_id
 * In the symmetric case K_bar need not be symmetric, and X_bar contains both arguments of k:
 *     X_bar_id = Σ_j (K_bar_ij + K_bar_ji) ∂k(x_i, x_j)/∂x_id
 * No view for theta_bar or X_bar: not wanted. For Z_bar exchange X and Z and transpose K_bar, since k is
 * symmetric. */
CT_API void ct_prim_covariance_bar(ct_call *c, const ct_cov_program *program, ct_view theta, ct_view X,
                                   ct_view Z, ct_view K_bar, ct_view theta_bar, ct_view X_bar);

/* As ct_prim_covariance_bar, but adds to what theta_bar and X_bar hold. */
CT_API void ct_prim_covariance_bar_add(ct_call *c, const ct_cov_program *program, ct_view theta, ct_view X,
                                       ct_view Z, const ct_cov_bar *K_bar, ct_view theta_bar, ct_view X_bar);

CT_END_DECLS
#endif
