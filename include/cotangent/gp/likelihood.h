/* Likelihoods of Gaussian processes as ops on the tape. */
#ifndef COTANGENT_GP_LIKELIHOOD_H
#define COTANGENT_GP_LIKELIHOOD_H

#include <cotangent/gp/kernel.h>

CT_BEGIN_DECLS

/* ½ rᵀC⁻¹r + ½ log det C + n/2 log 2π with C = k(X, X) + diag(noise), as an op on the tape: theta (..., P), X
 * (..., n, d), r (..., n) the residual y - m(X), noise (..., n) or (..., 1) -> (...). The batch dimensions
 * broadcast; r may also be a column (n, 1). theta, X, r and noise get gradients. The kernel must be bound,
 * and must not change while the tape uses it. If C is not positive definite, or has a pivot of rounding size
 * (16 units), the result is NaN and flagged (tape.h), in a batch only for that member. This op adds no
 * jitter. Memory: one packed triangle of n(n+1)/2 numbers, or a square of n² up to 600 rows, until the op
 * returns. If a gradient is wanted, it is computed at once from C̄ = ½ (C⁻¹ - ααᵀ), α = C⁻¹r, and a sweep
 * only scales it. A recorded sweep composes it from ops and takes some n×n arrays for each member. On the CPU
 * the threads share a batch's members of up to 1000 points, each with a triangle of its own. A member's value
 * and gradient have the same bits as in a call of its own. [Rasmussen & Williams 2006, eqs 2.30, 5.9] */
CT_API ct_var ct_gp_nlml(const ct_kernel *kernel, ct_var theta, ct_var X, ct_var r, ct_var noise);

/* The accuracy of a value in mixed precision, with C = L (I + E) Lᵀ and the factor L in f32. */
typedef struct ct_gp_mixed {
    double error;     /* absolute error of the value: three standard deviations of its random estimates */
    double deviation; /* |E|_F, estimated: rounding in f32 times the condition of C; at most 0.5 */
    double residual;  /* |r - Cα| / |r| in f64 */
    int steps;        /* products with C that refined α */
} ct_gp_mixed;

/* The same likelihood from a factor in f32: half the memory of ct_gp_nlml, and less time for thousands of
 * points. All inputs are f64, without batch dimensions. Conjugate gradients, with C recomputed in f64, make
 * the quadratic form, α and r_bar accurate to f64. 16 products with seeded random vectors correct the
 * log-determinant to second order in E; *report (may be NULL) gives the remaining error. The other gradients
 * are accurate to about deviation/√n of a row's share. Reads scalars, so it waits for the device. CT_ENUMERIC
 * if f32 cannot factorise C, or if the deviation is too large for a useful answer: use ct_gp_nlml, or raise
 * the noise. docs/gp.md has the derivation. [Higham 2002, Accuracy and stability of numerical algorithms, ch.
 * 12; Hutchinson 1990] */
CT_API ct_var ct_gp_nlml_mixed(const ct_kernel *kernel, ct_var theta, ct_var X, ct_var r, ct_var noise,
                               ct_gp_mixed *report);

/* -Σ_i log p(y_i | X, y without i), the negative leave-one-out log predictive density, with the inputs,
 * batches and gradients of ct_gp_nlml. This objective rewards good predictions, so a wrong kernel harms it
 * less than the likelihood. With its gradient it takes twice the work of the likelihood. Memory: one packed
 * triangle, held until the tape is reset; a panel of at most 32 MB (or 16 n numbers); and 256 numbers for
 * each row of the panel. [Rasmussen & Williams 2006, eqs 5.10-5.13] */
CT_API ct_var ct_gp_loo_nlpd(const ct_kernel *kernel, ct_var theta, ct_var X, ct_var r, ct_var noise);

/* The ops of Gaussian processes, which ct_op_list does not contain: cov, cov_diag, gp_nlml, gp_loo_nlpd,
 * nlml_shared and nlml_kronecker. Sets *n to their number. */
CT_API const struct ct_op *const *ct_gp_op_list(int *n);

CT_END_DECLS
#endif
